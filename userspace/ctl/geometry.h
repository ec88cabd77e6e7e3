/* SPDX-License-Identifier: MIT */
/* A pool's geometry for people and for scripts. */
#ifndef KVC_CTL_GEOMETRY_H
#define KVC_CTL_GEOMETRY_H

#include "ctl.h"

/* All but the members. */
void geometry_json(cJSON *object, const struct kvc_geometry *g);
/* Lines "capacity", "layout" and "terms", indented. */
void geometry_text(const struct kvc_geometry *g);

#endif
