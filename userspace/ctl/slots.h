/* SPDX-License-Identifier: MIT */
/* Who uses a pool, as its host slots on media tell. */
#ifndef KVC_CTL_SLOTS_H
#define KVC_CTL_SLOTS_H

#include "ctl.h"

/**
 * struct slot_view - one slot, from the copy with the highest sequence
 * @read: at least one copy could be read
 * @used: it was written since format
 * @info: its first block, if @used
 */
struct slot_view {
	bool read;
	bool used;
	struct kvc_slot_info info;
};

/* All slots of the pool: an array of p->g.nr_slots to free(). */
struct slot_view *slots_read(const struct pool_probe *p);

/* Does its host count itself in (joining or active)? */
bool slot_is_up(const struct slot_view *s);

/**
 * slots_watch() - does anybody use this pool right now?
 * @ctl: program
 * @p: probed pool
 * @who: set to a text that names the host, to free(); NULL: nobody does
 *
 * Watches for one and a half leases whether a slot that is up changes. A pool
 * whose slots are all down answers at once.
 *
 * Return: true, or false if no slot can be read.
 */
bool slots_watch(struct ctl *ctl, const struct pool_probe *p, char **who);

#endif
