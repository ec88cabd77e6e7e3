/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: fencing by persistent reservations
 *
 * A lease is looked at before a write goes out, and what bounds how late the
 * write lands after that is Q. Nothing bounds it for a machine that was stopped
 * in between, clock and all. Where members have persistent reservations, and
 * whoever attached asked for it, their target refuses what comes too late:
 *
 *  - who joins registers a key made of pool, slot and incarnation on every member,
 *    before its first write, and all together hold one reservation there by which
 *    only who is registered may write;
 *  - whose slot has stood still for as long as makes its host dead (protocol rule
 *    15) has its key preempted by every host that sees that, and before an AG of
 *    it is taken over;
 *  - a write that a reservation refuses ends the membership as a lease does that
 *    ran out: the host joins anew, with a new incarnation and so a new key.
 *
 * A member that has none of this is used as if nobody had asked, and no wait of
 * the protocol gets shorter: Q counts from when the key was preempted, for what
 * the target had let in by then.
 *
 * A registration belongs to a host identifier (of NVMe: the host ID that it
 * connected with), so attachments that share one share a fate.
 */
#ifndef KVC_FENCE_H
#define KVC_FENCE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "kvc_layout.h"

struct kvc_join;
struct kvc_pool;

/**
 * struct kvc_fenced - the last incarnation of a slot that was fenced
 * @incarnation: 0: none was
 * @left: bit per member that does not know it yet
 */
struct kvc_fenced {
	u64 incarnation;
	u64 left;
};

/**
 * struct kvc_fence - an attachment's part in fencing
 * @wanted: it was asked for at attach
 * @lock: held over commands to members; guards all below but @members and @work
 * @join: the membership that registered, NULL: none; set and cleared by the join,
 *	while neither @work nor a takeover is at work
 * @key: that we registered last, 0: none
 * @members: bit per member that has our registration; changed under @lock, read
 *	without
 * @left_us: key of the incarnation that our slot showed before ours, 0: none
 * @slots: by slot
 * @work: fences hosts whose slots have stood still
 */
struct kvc_fence {
	bool wanted;
	struct mutex lock;
	struct kvc_join *join;
	u64 key;
	u64 members;
	u64 left_us;
	struct kvc_fenced slots[KVC_MAX_SLOTS];
	struct work_struct work;
};

void kvc_fence_init(struct kvc_fence *fence);

/**
 * kvc_fence_begin() - register, before the first write of a membership
 * @join: slot and incarnation are chosen, and the slots have been watched
 * @reason: see struct kvc_attach_args
 *
 * Does nothing unless it is wanted, or if a pool for one host alone has
 * reservations that hosts before it left behind.
 *
 * Return: 0; -EBUSY: somebody else's reservation keeps us from writing.
 */
int kvc_fence_begin(struct kvc_join *join, char *reason);

/*
 * Fence who had been there before: the slot is ours, and nobody claimed beside
 * it. Those that share the pool are left to kvc_fence_look().
 */
void kvc_fence_others(struct kvc_join *join);

/* After a look at the slots, under their mutex: fence who has stood still. */
void kvc_fence_look(struct kvc_join *join);

/**
 * kvc_fence_owner() - before an AG is taken over from a slot
 * @join: membership
 * @slot: who shows the AG, KVC_NO_SLOT: nobody
 *
 * Return: may its late writes still be let in, for all we know? Then the caller
 * allows for the time until its slot has stood still for long enough.
 */
bool kvc_fence_owner(struct kvc_join *join, u32 slot);

/* Has the host that a slot shows been fenced by us? Under the slots' mutex. */
bool kvc_fence_done(struct kvc_join *join, u32 slot);

/* Nobody is fenced by this membership any more. */
void kvc_fence_stop(struct kvc_join *join);

/* Take our registrations back. No write of ours is out. */
void kvc_fence_leave(struct kvc_pool *pool);

#endif
