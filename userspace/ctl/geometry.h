/* SPDX-License-Identifier: MIT */
/* A pool's geometry for people and for scripts. */
#ifndef KVC_CTL_GEOMETRY_H
#define KVC_CTL_GEOMETRY_H

#include "ctl.h"

/* All but the members. */
void geometry_json(cJSON *object, const struct kvc_geometry *g);

/* Which members hold the host slots, and where a copy moves. */
void geometry_slots_json(cJSON *object, const struct kvc_geometry *g);
/* Of a member, as its label has it: "present" and so on. */
const char *geometry_member_state(u32 state);
/* Lines "capacity", "layout" and "terms", indented. */
void geometry_text(const struct kvc_geometry *g);

#endif
