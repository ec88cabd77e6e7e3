/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: grace periods over hosts
 *
 * What an owner has retired it uses again when no host can read it any more
 * (protocol rules 15 and 18): RCU, with hosts for CPUs. A slot is past a RETIRE
 * in block p of epoch e if it shows that its host follows a later epoch, or e
 * with drained above p; if its host has left, is dead, or has begun anew since.
 * After a takeover it is past what was found when it shows the new epoch, for
 * then its host has dropped all that it knew (rule 21).
 */
#ifndef KVC_GRACE_H
#define KVC_GRACE_H

#include <linux/types.h>

struct kvc_segment;

/**
 * struct kvc_grace - the grace period of a retired segment
 * @ticket: pass over the slots that began after the RETIRE was durable, 0: not
 *	asked for yet
 * @seen: incarnation that each slot then showed, 0: it need not be waited for
 */
struct kvc_grace {
	u64 ticket;
	u64 *seen;
};

/**
 * kvc_grace_over() - may a retired segment be used again, for all other hosts?
 * @seg: of an AG of ours, its RETIRE durable; caller is the AG's worker
 *
 * Asks for what it needs to know, so to be called again until it says yes.
 */
bool kvc_grace_over(struct kvc_segment *seg);

void kvc_grace_clear(struct kvc_grace *grace);

#endif
