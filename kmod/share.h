/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: sharing a pool: what other hosts do
 *
 * A pass reads, side by side, all host slots and the next blocks of the journal of
 * every AG that another host owns (protocol rule 10). Passes are made at
 * intervals that follow how much there is to read, and at once when somebody
 * misses: a miss rests on a pass that began after it (rule 11). Passes are
 * numbered; who needs one takes the number of the next to begin as a ticket,
 * so all that miss while one is under way share the next.
 *
 * Without a ticket a pass reads the slots only as often as they are written; one
 * that does not has no number, and no miss rests on it.
 *
 * A pass is good if it saw the end of every journal, in the epoch that the slots
 * showed; else a miss is "not now".
 */
#ifndef KVC_SHARE_H
#define KVC_SHARE_H

#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "kvc_codec.h"

struct kvc_ag;
struct kvc_join;
struct kvc_op;

#define KVC_PASS_MIN_MS		1
#define KVC_PASS_MAX_MS		100

/* A slot that is watched for signs of life. */
struct kvc_slot_pulse {
	u64 incarnation;
	u64 sequence;
	bool unknown;	/* it could not be read */
	u64 seen_ns;	/* boot time at which it had certainly come to that */
};

/**
 * struct kvc_share - the other hosts of a pool
 * @join: our membership
 * @staleness_ns: how old a pass may be on which a miss rests
 * @wq: passes and loads
 * @pass: makes passes
 * @lock: guards all below it but @pulse; innermost, taken in completions
 * @begun: passes over slots and journals that have begun
 * @done: number of the last that has ended
 * @good: number of the last good one
 * @looked: number of the last that read the slots
 * @good_ns: boot time at which that began
 * @wanted: the highest ticket that was taken
 * @wait: for passes, and for probes
 * @interval_ms: until the next pass
 * @stopping: no more passes
 * @pulse: of each slot; only a pass changes it, under the slots' mutex
 * @looked_ns: boot time at which the last pass began that read the slots;
 *	likewise
 * @entered: AGs whose turn the pass has
 * @blocks: journal blocks that passes have taken in
 * @graces: segments of ours wait for what slots show
 * @whole_at: jiffies at which the last pass with the slots began
 * @ask: requests to and from other hosts
 */
struct kvc_share {
	struct kvc_join *join;
	u64 staleness_ns;
	struct workqueue_struct *wq;
	struct delayed_work pass;
	spinlock_t lock;
	u64 begun;
	u64 done;
	u64 good;
	u64 looked;
	u64 good_ns;
	u64 wanted;
	wait_queue_head_t wait;
	u32 interval_ms;
	bool stopping;
	struct kvc_slot_pulse *pulse;
	u64 looked_ns;
	DECLARE_BITMAP(entered, KVC_MAX_AGS);
	u64 blocks;
	bool graces;
	unsigned long whole_at;
	struct kvc_asks *asks;
};

int kvc_share_init(struct kvc_join *join, u32 staleness_ms);

/* Begin to make passes: every AG was loaded, or tried to be. */
void kvc_share_start(struct kvc_join *join);

/* No pass, probe or load is at work from here on; waiters are told. */
void kvc_share_stop(struct kvc_join *join);
void kvc_share_destroy(struct kvc_join *join);

/* Number of the next pass to begin, which is asked for at once. */
u64 kvc_share_ticket(struct kvc_share *share);

/* Has that pass, or a later one, read the slots? */
bool kvc_share_looked(struct kvc_share *share, u64 ticket);

/* As a ticket, but without haste: that pass comes when it is due. */
u64 kvc_share_next(struct kvc_share *share);

/**
 * kvc_share_settled() - is a miss a miss without another look?
 *
 * True if nobody else is there, or if what was read last is new enough for this
 * attachment (max_staleness_ms).
 */
bool kvc_share_settled(struct kvc_join *join);

/**
 * kvc_share_wait() - wait for a good pass
 * @share: share
 * @ticket: that, or a later one
 * @deadline: jiffies
 *
 * Return: 0; -EAGAIN: not by @deadline; -ESTALE: the membership ends; -EINTR.
 */
int kvc_share_wait(struct kvc_share *share, u64 ticket, unsigned long deadline);

/**
 * struct kvc_proof - how far every other owner's journal was read, and whether
 *	what was read counts
 * @taken: the positions were taken
 * @looked: it was looked what the proof shall be for
 * @epochs: sum of the AGs' epochs when it began
 * @at: by AG: epoch, and position that its owner has yet to show; 0: it has
 *
 * A record that was read need not count: its writer's lease may have ended before
 * it landed (protocol rule 24). An owner shows in its slot up to where its
 * journal is durable.
 */
struct kvc_proof {
	bool taken;
	bool looked;
	u64 epochs;
	struct {
		u64 epoch;
		u64 position;
	} at[];
};

struct kvc_proof *kvc_proof_alloc(struct kvc_join *join);

static inline void kvc_proof_reset(struct kvc_proof *proof)
{
	proof->taken = false;
	proof->looked = false;
}

/* Before it is looked what the proof shall be for. */
void kvc_proof_begin(struct kvc_join *join, struct kvc_proof *proof);

/*
 * After a good pass: does all that was read count that was read when this was
 * called for the first time since a reset? If an AG has another owner since the
 * proof began it begins anew: what that one found may be something else. @ag: set
 * to one whose owner has yet to show it, if there is any.
 */
bool kvc_proof_complete(struct kvc_join *join, struct kvc_proof *proof,
			u32 *ag);

/* Has a slot stood still for longer than a lease? Under the slots' mutex. */
bool kvc_share_silent(struct kvc_join *join, u32 slot);

/* For how long, in ms. Likewise. */
u32 kvc_share_silence(struct kvc_join *join, u32 slot);

#endif
