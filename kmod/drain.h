/* SPDX-License-Identifier: GPL-2.0 */
/* Members that are emptied and leave the pool, while hosts use it. */
#ifndef KVC_DRAIN_H
#define KVC_DRAIN_H

#include "pool.h"

/**
 * struct kvc_drain_args - what is to be done with a member, copied from the caller
 * @op: KVCACHE_MEMBER_*
 * @member: which
 * @lost: what it still holds is given up
 * @reason: KVC_REASON_SIZE bytes for a sentence on failure
 * @role: out: KVCACHE_ROLE_*
 * @objects: out: live objects that would be lost without it
 * @bytes: out: theirs
 * @segments: out: segments in use that stand on it
 * @behind: out: hosts that don't go by the newest labels yet
 */
struct kvc_drain_args {
	u32 op;
	u32 member;
	bool lost;
	char *reason;
	u32 role;
	u64 objects;
	u64 bytes;
	u32 segments;
	u32 behind;
};

/**
 * kvc_pool_member() - look at a member, drain it, or remove it
 * @pool: attached, with a lease
 * @args: what
 *
 * Protocol rules 34 and 36. Return: 0; -EBUSY: it holds objects, hosts don't know
 * yet that it is drained, or another host changes the labels; -EINVAL; -ESTALE: no
 * lease, or the labels were changed and that was not taken up; -EUCLEAN; -EIO.
 */
int kvc_pool_member(struct kvc_pool *pool, struct kvc_drain_args *args);

#endif
