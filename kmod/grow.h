/* SPDX-License-Identifier: GPL-2.0 */
/* A pool that grows while hosts have it. */
#ifndef KVC_GROW_H
#define KVC_GROW_H

#include "pool.h"

/**
 * struct kvc_grow_args - what a pool grows by, copied from the caller
 * @new: paths and identifiers of the new members; @new.reason gets a sentence on
 *	failure
 * @nr_ags: see struct kvc_grow_options
 * @width: likewise
 * @nr_members: out: members of the pool now
 * @total_ags: out: its AGs
 * @capacity: out: bytes
 */
struct kvc_grow_args {
	struct kvc_attach_args new;
	u32 nr_ags;
	u32 width;
	u32 nr_members;
	u32 total_ags;
	u64 capacity;
};

/**
 * kvc_pool_grow() - write labels that tell of new members and a span on them
 * @pool: attached, with a lease
 * @args: what by; the devices' metadata have been cleared
 *
 * This attachment goes on with what it knows; kvc_pool_refresh() takes the new
 * labels up. Protocol rules 34 and 35.
 *
 * Return: 0; -EBUSY: another host changes the labels; -ESTALE: no lease, or the
 * pool has grown and this host has not taken that up; -EEXIST: a device has a
 * label; -EINVAL, -ENOSPC: see kvc_geometry_grow(); -ENXIO: members are missing;
 * what opening and writing gave.
 */
int kvc_pool_grow(struct kvc_pool *pool, struct kvc_grow_args *args);

/**
 * kvc_relabel_begin() - nobody else writes labels from here on
 * @join: membership; its pool's @life is held
 * @reason: gets a sentence on failure; may be NULL
 *
 * Return: 0; -EBUSY: another host does; -ESTALE, -EAGAIN. kvc_relabel_end() in any
 * case.
 */
int kvc_relabel_begin(struct kvc_join *join, char *reason);
void kvc_relabel_end(struct kvc_join *join);

/* Write the labels to the end that @args' devices have; @pool goes by them. */
void kvc_relabel_heal(struct kvc_pool *pool, struct kvc_attach_args *args);

#endif
