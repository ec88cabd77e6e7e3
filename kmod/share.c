// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include "ask.h"
#include "fence.h"
#include "share.h"
#include "slot.h"

/* --- who is there --- */

/* What the slots showed in a pass. Under the slots' mutex. */
static void kvc_share_feel(struct kvc_share *share, u64 now)
{
	struct kvc_join *join = share->join;
	u32 i;

	for (i = 0; i < join->g->nr_slots; i++) {
		const struct kvc_slot_info *s = kvc_slot(join, i);
		struct kvc_slot_pulse *p = &share->pulse[i];
		/* One that can't be read may have moved (protocol rule 13). */
		bool unknown = test_bit(i, join->slots->unknown);

		if (p->seen_ns && p->incarnation == s->incarnation &&
		    p->sequence == s->sequence && p->unknown == unknown)
			continue;
		p->unknown = unknown;
		p->incarnation = s->incarnation;
		p->sequence = s->sequence;
		p->seen_ns = now;
	}
}

static u64 kvc_share_silence_ns(struct kvc_join *join, u32 slot)
{
	struct kvc_share *share = join->share;
	u64 seen = share->pulse[slot].seen_ns;

	return seen && share->looked_ns > seen ? share->looked_ns - seen : 0;
}

/*
 * A lease is prolonged by writing the slot, and only while it holds. So one that
 * was seen not to change for as long has run out, and never comes back; an eighth
 * is for the difference between two clocks' rates.
 */
bool kvc_share_silent(struct kvc_join *join, u32 slot)
{
	u64 lease = (u64)join->g->lease_ms * NSEC_PER_MSEC;

	return kvc_share_silence_ns(join, slot) > lease + lease / 8;
}

u32 kvc_share_silence(struct kvc_join *join, u32 slot)
{
	return (u32)min_t(u64, U32_MAX,
			  div_u64(kvc_share_silence_ns(join, slot),
				  NSEC_PER_MSEC));
}

/* --- a pass --- */

/*
 * Protocol rule 13: a slot that can't be read is unknown. But one whose host was
 * silent for a lease has no news to tell.
 */
static int kvc_share_slots(struct kvc_share *share, unsigned long begun,
			   u64 start)
{
	struct kvc_join *join = share->join;
	u32 i;
	int err;

	err = kvc_slots_end_read(join, begun);
	if (err)
		return -EAGAIN;
	kvc_slots_lock(join);
	share->looked_ns = start;
	kvc_share_feel(share, ktime_get_boottime_ns());
	kvc_fence_look(join);
	for_each_set_bit(i, join->slots->unknown, join->g->nr_slots)
		if (i != join->writer.slot && !kvc_share_silent(join, i))
			err = -EAGAIN;
	kvc_slots_unlock(join);
	spin_lock_irq(&share->lock);
	share->looked = share->begun;
	spin_unlock_irq(&share->lock);
	return err;
}

static bool kvc_share_probed(struct kvc_share *share, const unsigned long *sent)
{
	struct kvc_join *join = share->join;
	u32 i;

	for_each_set_bit(i, sent, join->g->nr_ags)
		if (kvc_follow_awaited(&join->ags[i]))
			return false;
	return true;
}

/* Read on in every AG until each has come to its end. */
static void kvc_share_read(struct kvc_share *share)
{
	struct kvc_join *join = share->join;
	DECLARE_BITMAP(sent, KVC_MAX_AGS);
	u32 i;

	for (;;) {
		bitmap_zero(sent, KVC_MAX_AGS);
		for_each_set_bit(i, share->entered, join->g->nr_ags)
			if (kvc_follow_send(&join->ags[i]))
				__set_bit(i, sent);
		if (bitmap_empty(sent, KVC_MAX_AGS))
			return;
		/* In turns: a member may become suspect in between. */
		while (!wait_event_timeout(share->wait,
					   kvc_share_probed(share, sent),
					   msecs_to_jiffies(KVC_WATCH_MS)))
			;
		for_each_set_bit(i, sent, join->g->nr_ags)
			kvc_follow_take(&join->ags[i]);
	}
}

/* Another slot shows an AG of ours with a higher epoch: it is no more ours. */
static void kvc_share_check_own(struct kvc_ag *ag, u64 shown)
{
	struct kvc_join *join = ag->join;

	if (!READ_ONCE(ag->owned) || shown <= ag->journal.epoch)
		return;
	pr_err("pool %s: ag %u is shown by another slot with epoch %llu above our %llu: the lease is given up\n",
	       join->g->name, ag->number, shown, ag->journal.epoch);
	kvc_join_lapse(join);
}

/* What the slots show of an AG, as they were read last. */
static u64 kvc_share_shown(struct kvc_ag *ag, bool whole)
{
	u32 slot;

	if (whole)
		ag->follow.shown = kvc_slots_shown(ag->join, ag->number, &slot);
	return ag->follow.shown;
}

static int kvc_share_leave(struct kvc_share *share, bool whole)
{
	struct kvc_join *join = share->join;
	int err = 0;
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++) {
		struct kvc_ag *ag = &join->ags[i];
		u64 shown = kvc_share_shown(ag, whole);

		if (test_bit(i, share->entered))
			err = kvc_follow_leave(ag, shown) ?: err;
		else if (!READ_ONCE(ag->owned))
			err = -EAGAIN;	/* being loaded, or changing hands */
		else
			kvc_share_check_own(ag, shown);
	}
	return err;
}

/* @whole: with the slots; else only what journals tell is learnt. */
static int kvc_share_pass(struct kvc_share *share, bool whole)
{
	struct kvc_join *join = share->join;
	u64 start = ktime_get_boottime_ns();
	unsigned long begun = 0;
	u32 i;
	int err = 0;

	bitmap_zero(share->entered, KVC_MAX_AGS);
	if (whole)
		begun = kvc_slots_begin_read(join);
	for (i = 0; i < join->g->nr_ags; i++)
		if (kvc_follow_enter(&join->ags[i]))
			__set_bit(i, share->entered);
	kvc_share_read(share);
	if (whole)
		err = kvc_share_slots(share, begun, start);
	return kvc_share_leave(share, whole) ?: err;
}

/* There is more to read soon if there was now. */
static void kvc_share_pace(struct kvc_share *share, bool news)
{
	if (news)
		share->interval_ms = max(share->interval_ms / 4,
					 (u32)KVC_PASS_MIN_MS);
	else
		share->interval_ms = min(share->interval_ms * 2,
					 (u32)KVC_PASS_MAX_MS);
}

/* Those who wait for other hosts may go on now. */
static void kvc_share_graces(struct kvc_share *share)
{
	struct kvc_join *join = share->join;
	bool some = false;
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++) {
		if (!READ_ONCE(join->ags[i].graces))
			continue;
		some = true;
		kvc_ag_kick(&join->ags[i]);
	}
	share->graces = some;
}

/*
 * Slots are read for whoever has a ticket, and else as often as hosts write them;
 * more often while a segment waits for what they show.
 */
static bool kvc_share_whole(struct kvc_share *share)
{
	u32 ms = share->graces ? KVC_PASS_MAX_MS :
				 share->join->g->heartbeat_ms;

	return share->wanted > share->begun || !share->begun ||
	       time_after_eq(jiffies, share->whole_at + msecs_to_jiffies(ms));
}

static bool kvc_share_one(struct kvc_share *share)
{
	u64 start = ktime_get_boottime_ns();
	u64 blocks = share->blocks;
	bool more, whole;
	int err;

	spin_lock_irq(&share->lock);
	whole = kvc_share_whole(share);
	share->begun += whole;
	spin_unlock_irq(&share->lock);
	if (whole)
		share->whole_at = jiffies;
	err = kvc_share_pass(share, whole);
	kvc_stat_add(share->join->pool->stats, KVC_STAT_REFRESHES, whole);
	kvc_share_pace(share, share->blocks != blocks);
	kvc_share_graces(share);
	spin_lock_irq(&share->lock);
	share->done = share->begun;
	if (whole && !err) {
		share->good = share->begun;
		share->good_ns = start;
	}
	more = share->wanted > share->begun && !share->stopping;
	wake_up_all(&share->wait);
	spin_unlock_irq(&share->lock);
	return more;
}

/*
 * A pass over many hosts' slots reads much. However many miss, passes take no
 * more than about a gigabyte a second: then more misses share each.
 */
static void kvc_share_rest(struct kvc_share *share)
{
	const struct kvc_geometry *g = share->join->g;
	u64 bytes = ((u64)g->nr_slots * g->slot_blocks * kvc_slot_places(g) +
		     2ULL * g->nr_ags) << KVC_BLOCK_SHIFT;
	unsigned long end = share->whole_at + nsecs_to_jiffies(bytes);

	if (time_before(jiffies, end))
		schedule_timeout_uninterruptible(end - jiffies);
	cond_resched();
}

static void kvc_share_work(struct work_struct *work)
{
	struct kvc_share *share = container_of(to_delayed_work(work),
					       struct kvc_share, pass);

	while (kvc_share_one(share))
		kvc_share_rest(share);
	if (READ_ONCE(share->stopping) ||
	    READ_ONCE(share->join->set->abandoned))
		return;
	/* Not if a ticket has asked for one at once. */
	queue_delayed_work(share->wq, &share->pass,
			   msecs_to_jiffies(share->interval_ms));
}

/* --- tickets --- */

u64 kvc_share_next(struct kvc_share *share)
{
	u64 ticket;

	spin_lock_irq(&share->lock);
	ticket = share->begun + 1;
	spin_unlock_irq(&share->lock);
	return ticket;
}

u64 kvc_share_ticket(struct kvc_share *share)
{
	u64 ticket;

	spin_lock_irq(&share->lock);
	ticket = share->begun + 1;
	share->wanted = max(share->wanted, ticket);
	if (!share->stopping)
		mod_delayed_work(share->wq, &share->pass, 0);
	spin_unlock_irq(&share->lock);
	return ticket;
}

/* Has that pass ended? */
static bool kvc_share_passed(struct kvc_share *share, u64 ticket)
{
	bool passed;

	spin_lock_irq(&share->lock);
	passed = share->done >= ticket;
	spin_unlock_irq(&share->lock);
	return passed;
}

bool kvc_share_looked(struct kvc_share *share, u64 ticket)
{
	bool looked;

	spin_lock_irq(&share->lock);
	looked = share->looked >= ticket;
	spin_unlock_irq(&share->lock);
	return looked;
}

static bool kvc_share_good(struct kvc_share *share, u64 ticket)
{
	bool good;

	spin_lock_irq(&share->lock);
	good = share->good >= ticket;
	spin_unlock_irq(&share->lock);
	return good;
}

bool kvc_share_settled(struct kvc_join *join)
{
	struct kvc_share *share = join->share;
	bool settled;

	if (!share)
		return true;
	if (!share->staleness_ns)
		return false;
	spin_lock_irq(&share->lock);
	settled = share->good_ns &&
		  share->good_ns + share->staleness_ns >=
			  ktime_get_boottime_ns();
	spin_unlock_irq(&share->lock);
	return settled;
}

int kvc_share_wait(struct kvc_share *share, u64 ticket, unsigned long deadline)
{
	for (;;) {
		long left = deadline - jiffies;

		if (kvc_share_good(share, ticket))
			return 0;
		if (READ_ONCE(share->join->stopping))
			return -ESTALE;
		if (left <= 0)
			return -EAGAIN;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!kvc_share_passed(share, ticket)) {
			wait_event_killable_timeout(share->wait,
				kvc_share_passed(share, ticket) ||
					READ_ONCE(share->join->stopping), left);
			continue;
		}
		/* It was not good: what keeps it so takes a moment to end. */
		schedule_timeout_killable(min_t(long, left, HZ / 100 + 1));
		if (!kvc_share_good(share, ticket))
			ticket = kvc_share_ticket(share);
	}
}

/* --- proofs --- */

struct kvc_proof *kvc_proof_alloc(struct kvc_join *join)
{
	struct kvc_proof *proof;

	return kvzalloc(struct_size(proof, at, join->g->nr_ags), GFP_KERNEL);
}

/* Epochs only go up: as long as the sum is the same, so is each of them. */
static u64 kvc_proof_epochs(struct kvc_join *join)
{
	u64 epochs = 0;
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++) {
		const struct kvc_ag *ag = &join->ags[i];

		epochs += READ_ONCE(ag->owned) ? ag->journal.epoch :
						 READ_ONCE(ag->follow.epoch);
	}
	return epochs;
}

void kvc_proof_begin(struct kvc_join *join, struct kvc_proof *proof)
{
	if (!proof->taken && !proof->looked)
		proof->epochs = kvc_proof_epochs(join);
}

static void kvc_proof_take(struct kvc_join *join, struct kvc_proof *proof)
{
	struct kvc_share *share = join->share;
	u32 i;

	spin_lock_irq(&share->lock);
	for (i = 0; i < join->g->nr_ags; i++) {
		struct kvc_ag *ag = &join->ags[i];

		/* Of our own AGs we know. */
		proof->at[i].epoch = READ_ONCE(ag->owned) ? 0 :
							   ag->follow.read_epoch;
		proof->at[i].position = ag->follow.read;
	}
	spin_unlock_irq(&share->lock);
	proof->taken = true;
}

/* Has the owner of an AG shown the position that was taken? */
static bool kvc_proof_shown(struct kvc_join *join, struct kvc_proof *proof,
			    u32 number)
{
	const struct kvc_slot_ag_info *a;
	u64 shown;
	u32 slot;

	shown = kvc_slots_shown(join, number, &slot);
	if (slot == KVC_NO_SLOT)
		return true;
	/* Another owner, whose epoch will have to be looked at. */
	if (shown != proof->at[number].epoch)
		return false;
	kvc_slots_lock(join);
	a = kvc_slot_ag(join, slot, number);
	/* Who left in good order knew that all was durable. */
	if (kvc_slot(join, slot)->state == KVC_SLOT_DOWN)
		shown = U64_MAX;
	else
		shown = a->followed_epoch == shown ? a->drained : 0;
	kvc_slots_unlock(join);
	return shown >= proof->at[number].position;
}

bool kvc_proof_complete(struct kvc_join *join, struct kvc_proof *proof,
			u32 *ag)
{
	bool complete = true;
	u32 i;

	if (!proof->looked) {
		/*
		 * A pass that was under way may have shown more than it says to
		 * have read; when the next has ended it is all said.
		 */
		proof->looked = true;
		return false;
	}
	if (!proof->taken)
		kvc_proof_take(join, proof);
	/* Another owner began with what it found: that is to be looked at. */
	if (kvc_proof_epochs(join) != proof->epochs) {
		kvc_proof_reset(proof);
		return false;
	}
	for (i = 0; i < join->g->nr_ags; i++) {
		if (!proof->at[i].epoch)
			continue;
		if (kvc_proof_shown(join, proof, i)) {
			proof->at[i].epoch = 0;
		} else {
			complete = false;
			*ag = i;
		}
	}
	return complete;
}

/* --- life --- */

int kvc_share_init(struct kvc_join *join, u32 staleness_ms)
{
	struct kvc_share *share = kzalloc(sizeof(*share), GFP_KERNEL);

	if (!share)
		return -ENOMEM;
	join->share = share;
	share->join = join;
	share->staleness_ns = (u64)staleness_ms * NSEC_PER_MSEC;
	share->interval_ms = KVC_PASS_MAX_MS;
	spin_lock_init(&share->lock);
	init_waitqueue_head(&share->wait);
	INIT_DELAYED_WORK(&share->pass, kvc_share_work);
	share->wq = alloc_workqueue("kvcache_share",
				    WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	share->pulse = kvcalloc(join->g->nr_slots, sizeof(*share->pulse),
				GFP_KERNEL);
	if (!share->wq || !share->pulse)
		return -ENOMEM;
	return kvc_asks_init(join);
}

void kvc_share_start(struct kvc_join *join)
{
	kvc_share_ticket(join->share);
}

void kvc_share_stop(struct kvc_join *join)
{
	struct kvc_share *share = join->share;
	u32 i;

	if (!share)
		return;
	spin_lock_irq(&share->lock);
	share->stopping = true;
	wake_up_all(&share->wait);
	spin_unlock_irq(&share->lock);
	cancel_delayed_work_sync(&share->pass);
	for (i = 0; join->ags && i < join->g->nr_ags; i++)
		if (join->ags[i].join)
			kvc_follow_stop(&join->ags[i]);
	kvc_asks_stop(join);
}

void kvc_share_destroy(struct kvc_join *join)
{
	struct kvc_share *share = join->share;

	if (!share)
		return;
	if (share->wq)
		destroy_workqueue(share->wq);
	kvfree(share->pulse);
	kvc_asks_destroy(join);
	kfree(share);
	join->share = NULL;
}
