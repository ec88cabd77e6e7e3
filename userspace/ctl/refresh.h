/* SPDX-License-Identifier: MIT */
/* Taking up that a pool has grown: of grow and refresh. */
#ifndef KVC_CTL_REFRESH_H
#define KVC_CTL_REFRESH_H

#include "call.h"

/* Members of an attached pool as this host has them. */
struct pool_members {
	struct kvcache_info info;
	struct kvcache_member_info members[KVC_MAX_MEMBERS];
};

/* A handle of an attached pool, and its members; an enum ctl_exit. */
int pool_open(struct ctl *ctl, const char *text, struct kvc **kvc,
	      struct pool_members *m);

/* Take up what the labels of these devices, all members, say. */
int pool_refresh(struct ctl *ctl, struct kvc *kvc, const char *text,
		 char *const *paths, u32 nr);

/* The exit code of an error of the kernel's, with its reason. */
int pool_refused(struct ctl *ctl, const char *text, const char *what, int error,
		 const char *reason);

#endif
