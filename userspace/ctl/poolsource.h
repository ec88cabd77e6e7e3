/* SPDX-License-Identifier: MIT */
/* Devices and image files as sources of a pool that is read offline. */
#ifndef KVC_POOLSOURCE_H
#define KVC_POOLSOURCE_H

#include "ctl.h"
#include "poolread.h"

/**
 * struct pool_sources - devices that were opened for reading
 * @devs: devices
 * @sources: the same, as poolread wants them
 * @nr: how many
 */
struct pool_sources {
	struct ctl_dev *devs;
	struct pr_source *sources;
	u32 nr;
};

/* 0, or -errno with a message and nothing open. */
int pool_sources_open(struct ctl *ctl, struct pool_sources *s,
		      char *const *paths, int nr);
void pool_sources_close(struct pool_sources *s);

/* Hash of a device's world wide identifier, 0: it has none. */
u64 pool_sources_wwid(const struct pool_sources *s, u32 dev);

#endif
