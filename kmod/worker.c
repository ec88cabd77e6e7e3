// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: the worker of an AG
 *
 * Works through what is due, most pressing first, until nothing is, then
 * sleeps until it is kicked. What it can't do now (a member is away) it tries
 * again a little later.
 *
 * The journal's ring in eighths: ordinary records stop at 5, the worker's own
 * at 6, and the last 2 are a checkpoint's, which is written from 4 on and may
 * be 2 long. So a checkpoint always has room, and puts wait for it only if it
 * takes longer than one eighth of the ring takes to fill.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include "ag.h"
#include "pool.h"

#define KVC_WORKER_RETRY	(HZ / 10)
#define KVC_WORKER_IDLE		HZ

static bool kvc_checkpoint_due(struct kvc_ag *ag)
{
	return kvc_journal_used(&ag->journal) >= ag->join->g->ring_blocks / 2;
}

int kvc_segment_retire(struct kvc_segment *seg)
{
	struct kvc_segment_rec rec = { .generation = seg->s.generation };
	bool appended;
	int err;

	err = kvc_ag_transition(seg, KVC_REC_RETIRE, &rec, KVC_ROLE_NONE,
				&appended);
	/*
	 * Entries go only when the RETIRE is durable: were they gone before, a
	 * key could be put anew, acknowledged, and come back with its old
	 * bytes after a crash.
	 */
	if (err)
		return err;
	kvc_segment_forget(seg);
	/*
	 * protocol rule 16: look-up and reference are one RCU section, so after
	 * this every read that found an entry here shows in @readers.
	 */
	synchronize_rcu();
	/* Not before: what drains is emptied, so the index must not know it. */
	mutex_lock(&seg->ag->lock);
	kvc_grace_clear(&seg->grace);
	seg->retired_at = seg->s.order + 1;
	seg->cookie = get_state_synchronize_rcu();
	seg->role = KVC_ROLE_DRAINING;
	mutex_unlock(&seg->ag->lock);
	return 0;
}

/*
 * Protocol rule 17: a write that failed without an answer has an unknown outcome
 * until Q. What is retired may be used again only when none can hit it.
 */
static bool kvc_segment_unsure(const struct kvc_segment *seg)
{
	struct kvc_join *join = seg->ag->join;
	unsigned long q = msecs_to_jiffies(join->g->q_ms);
	u64 left = seg->members;

	if (!seg->was_open || time_after_eq(jiffies, seg->closed + q))
		return false;
	while (left) {
		if (kvc_member_unsure(&join->set->m[__ffs64(left)], q))
			return true;
		left &= left - 1;
	}
	return false;
}

/* Retired segments whose readers have gone on all hosts are free (rules 15, 18). */
static void kvc_ag_drain(struct kvc_ag *ag)
{
	bool freed = false;
	u32 i, graces = 0;

	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (seg->role != KVC_ROLE_DRAINING)
			continue;
		if (!kvc_grace_over(seg)) {
			graces++;
			continue;
		}
		if (atomic_read(&seg->readers) ||
		    time_before(jiffies, seg->ready_at) ||
		    kvc_segment_unsure(seg))
			continue;
		kvc_grace_clear(&seg->grace);
		kvc_segment_empty(seg);
		mutex_lock(&ag->lock);
		seg->role = KVC_ROLE_NONE;
		seg->s.state = KVC_SEG_FREE;
		seg->s.order = 0;
		mutex_unlock(&ag->lock);
		freed = true;
	}
	WRITE_ONCE(ag->graces, graces);
	if (freed)
		wake_up_all(&ag->join->space_wait);
}

/* Can it be opened now? One on a member that is away can't. */
static bool kvc_segment_usable(const struct kvc_segment *seg)
{
	return seg->s.state == KVC_SEG_FREE && seg->role == KVC_ROLE_NONE &&
	       kvc_segment_healthy(seg) && !kvc_segment_drains(seg);
}

/* One to open, if there are more than @keep. */
static struct kvc_segment *kvc_ag_free_segment(struct kvc_ag *ag, u32 keep)
{
	u32 i;

	lockdep_assert_held(&ag->lock);
	for (i = 0; i < ag->nr; i++)
		if (kvc_segment_usable(&ag->segments[i]) && !keep--)
			return &ag->segments[i];
	return NULL;
}

static int kvc_segment_discard(struct kvc_segment *seg)
{
	struct kvc_join *join = seg->ag->join;
	const struct kvc_geometry *g = join->g;
	u64 left = seg->members, at = 0;
	u64 lane = kvc_segment_bytes(g) / hweight64(seg->members);
	bool any = false;
	int err;

	/* The first stripe unit of each lane is where its lane slot begins. */
	while (left) {
		u64 bytes = 1ULL << g->unit_shift;
		struct kvc_place p = kvc_place_data(g, seg->s.number, at,
						    &bytes);

		if (join->set->m[p.member].discard) {
			any = true;
			err = kvc_member_discard(&join->set->m[p.member], p.block,
						 lane >> KVC_BLOCK_SHIFT);
			if (err)
				return err;
		}
		at += 1ULL << g->unit_shift;
		left &= left - 1;
	}
	if (any)
		kvc_stat_inc(join->pool->stats, KVC_STAT_DISCARDS);
	return 0;
}

/* Return: 1: that one is no use, try another; else as kvc_ag_open_segment(). */
static int kvc_ag_open_one(struct kvc_ag *ag, u32 keep_free,
			   struct kvc_segment **out)
{
	struct kvc_segment_rec rec = {};
	struct kvc_segment *seg;
	bool appended;
	int err;

	mutex_lock(&ag->lock);
	seg = kvc_ag_free_segment(ag, keep_free);
	if (seg) {
		rec.generation = seg->s.generation + 1;
		kvc_space_init(&seg->space, kvc_segment_blocks(ag->join->g));
		seg->ready_at = jiffies;
	}
	mutex_unlock(&ag->lock);
	if (!seg)
		return -EAGAIN;

	/* Appended but not known to be durable: open, and full for now. */
	err = kvc_ag_transition(seg, KVC_REC_OPEN, &rec, KVC_ROLE_FULL,
				&appended);
	if (err)
		return err;
	/* protocol rule 7: OPEN is durable; now the first discard or write */
	err = kvc_segment_discard(seg);
	if (err)	/* it may land on what would be put here: full, too */
		return err == -ESTALE ? err : 1;
	mutex_lock(&ag->lock);
	seg->role = KVC_ROLE_STANDBY;
	mutex_unlock(&ag->lock);
	*out = seg;
	return 0;
}

int kvc_ag_open_segment(struct kvc_ag *ag, u32 keep_free,
			struct kvc_segment **out)
{
	int err;

	/* Not for ever: a member whose discard got no answer gets no other. */
	do {
		err = kvc_ag_open_one(ag, keep_free, out);
	} while (err > 0);
	return err;
}

/* Keep a clean segment ready for puts; the last free one is for rewrites. */
static int kvc_ag_stand_by(struct kvc_ag *ag)
{
	struct kvc_segment *seg;
	int err;

	if (ag->standby || kvc_ag_drains(ag))
		return 0;
	err = kvc_ag_open_segment(ag, 1, &seg);
	if (err)
		return err == -EAGAIN ? 0 : err;
	mutex_lock(&ag->lock);
	ag->standby = seg;
	mutex_unlock(&ag->lock);
	wake_up_all(&ag->join->space_wait);
	return 1;
}

static bool kvc_segment_takes_puts(const struct kvc_segment *seg)
{
	return kvc_segment_healthy(seg) && !kvc_segment_drains(seg) &&
	       !kvc_ag_drains(seg->ag);
}

/*
 * An open or standby segment with a member that is not live, or that is drained,
 * takes no puts: put it aside, so that another one can be opened.
 */
static void kvc_ag_put_aside(struct kvc_ag *ag)
{
	int i;

	mutex_lock(&ag->lock);
	if (ag->standby && !kvc_segment_takes_puts(ag->standby)) {
		ag->standby->role = KVC_ROLE_FULL;
		ag->standby = NULL;
	}
	for (i = 0; i < KVC_NR_STREAMS; i++) {
		if (ag->open[i] && !kvc_segment_takes_puts(ag->open[i])) {
			ag->open[i]->role = KVC_ROLE_FULL;
			ag->open[i] = NULL;
		}
	}
	mutex_unlock(&ag->lock);
}

static bool kvc_segment_sealable(const struct kvc_segment *seg)
{
	if (seg->s.state != KVC_SEG_OPEN || atomic_read(&seg->writers))
		return false;
	return (seg->role == KVC_ROLE_FROZEN || seg->role == KVC_ROLE_FULL) &&
	       time_after_eq(jiffies, seg->ready_at);
}

/* Would a checkpoint take more than half of what it may? */
static bool kvc_ag_tight(struct kvc_ag *ag)
{
	bool tight;

	mutex_lock(&ag->lock);
	tight = kvc_ag_checkpoint_bytes(ag) > ag->checkpoint_limit / 2;
	mutex_unlock(&ag->lock);
	return tight;
}

/* Retire a segment as it is; what it holds is evicted. */
static int kvc_segment_give_up(struct kvc_segment *seg)
{
	struct kvc_pool *pool = seg->ag->join->pool;
	const bool any = atomic_read(&seg->live);
	int err;

	kvc_stat_add(pool->stats, KVC_STAT_EVICTED, atomic_read(&seg->live));
	kvc_stat_add(pool->stats, KVC_STAT_EVICTED_BYTES,
		     (u64)atomic_read(&seg->live_blocks) << KVC_BLOCK_SHIFT);
	err = kvc_segment_retire(seg);
	/* Its log, which had the keys, has gone with it. */
	if (!err && any)
		kvc_watch_rescan(&pool->watches);
	return err;
}

/*
 * What is open and can't be sealed now: found open at the takeover, and Q has not
 * passed, or on a member that is away. Its records take room in the checkpoint,
 * and in the end the room that new ones need.
 */
static bool kvc_segment_stuck(const struct kvc_segment *seg)
{
	return seg->s.state == KVC_SEG_OPEN && !atomic_read(&seg->writers) &&
	       (seg->role == KVC_ROLE_FROZEN || seg->role == KVC_ROLE_FULL) &&
	       (!kvc_segment_sealable(seg) || !kvc_segment_healthy(seg));
}

/* Do puts wait for room, or could the checkpoint come to have none? */
static bool kvc_ag_crowded(struct kvc_ag *ag)
{
	bool crowded;

	mutex_lock(&ag->lock);
	crowded = kvc_ag_logs_full(ag) ||
		  kvc_ag_checkpoint_bytes(ag) > ag->checkpoint_limit / 8 * 7;
	mutex_unlock(&ag->lock);
	return crowded;
}

/* Objects that were committed go with it, so one at a time, and the largest. */
static int kvc_ag_unstick(struct kvc_ag *ag)
{
	struct kvc_segment *most = NULL;
	u32 i;
	int err;

	if (!kvc_ag_crowded(ag))
		return 0;
	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (kvc_segment_stuck(seg) &&
		    (!most || seg->log.bytes > most->log.bytes))
			most = seg;
	}
	err = most ? kvc_segment_give_up(most) : 0;
	return err ?: !!most;
}

/* Seal what is full. A segment without objects is retired instead. */
static int kvc_ag_seal(struct kvc_ag *ag)
{
	int err, did = 0;
	u32 i;

	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (!kvc_segment_sealable(seg))
			continue;
		if (!seg->log.count)
			err = kvc_segment_retire(seg);
		else if (kvc_segment_healthy(seg))
			err = kvc_segment_seal(seg);
		else
			continue;
		/* A place that can't be written to must not end reclaim, too. */
		if (err == -EIO && !READ_ONCE(ag->journal.killed))
			continue;
		if (err)
			return err;
		did = 1;
	}
	return did ?: kvc_ag_unstick(ag);
}

u32 kvc_ag_usable(struct kvc_ag *ag)
{
	u32 i, n = !!ag->standby;

	for (i = 0; i < ag->nr; i++)
		n += kvc_segment_usable(&ag->segments[i]);
	return n;
}

/* Usable segments, and those that will be once their readers have gone. */
static u32 kvc_ag_clean(struct kvc_ag *ag)
{
	u32 i, n = kvc_ag_usable(ag);

	for (i = 0; i < ag->nr; i++)
		n += ag->segments[i].role == KVC_ROLE_DRAINING &&
		     kvc_segment_healthy(&ag->segments[i]) &&
		     !kvc_segment_drains(&ag->segments[i]);
	return n;
}

static int kvc_ag_reclaim(struct kvc_ag *ag)
{
	bool tight = kvc_ag_tight(ag);
	int err;

	/* With room for what is moved; or with none to be had, for all goes. */
	if ((kvc_ag_clean(ag) >= ag->free_low && !tight) || kvc_ag_drains(ag))
		return kvc_ag_vacate(ag);
	do {
		err = kvc_ag_evict(ag, tight);
		kvc_ag_drain(ag);
		if (!err && kvc_checkpoint_due(ag))
			return 1;
	} while (!err && kvc_ag_clean(ag) < ag->free_high &&
		 !READ_ONCE(ag->join->stopping));
	/* If it has no place for what must move: there is when more is sealed. */
	if (err == -EAGAIN)
		return kvc_ag_seal(ag);
	return err ?: 1;
}

/* One round. Return: 1 if there may be more to do, 0, or an error. */
static int kvc_ag_round(struct kvc_ag *ag)
{
	int err = READ_ONCE(ag->journal.killed);

	/* What a killed journal left half done must not be built upon. */
	if (err)
		return err;
	kvc_journal_push(&ag->journal);
	if (kvc_checkpoint_due(ag)) {
		err = kvc_ag_checkpoint(ag);
		if (err)
			return err;
		wake_up_all(&ag->join->space_wait);
	}
	kvc_ag_put_aside(ag);
	kvc_ag_drain(ag);
	err = kvc_ag_stand_by(ag);
	if (err)
		return err;
	err = kvc_ag_seal(ag);
	if (err)
		return err;
	return kvc_ag_reclaim(ag);
}

/* Detached, or given up: nothing is begun any more. */
static bool kvc_ag_ends(const struct kvc_ag *ag)
{
	return READ_ONCE(ag->join->stopping) || READ_ONCE(ag->releasing);
}

void kvc_ag_work(struct work_struct *work)
{
	struct kvc_ag *ag = container_of(to_delayed_work(work), struct kvc_ag,
					 work);
	unsigned long next = KVC_WORKER_IDLE;
	int err = 0;

	while (!kvc_ag_ends(ag)) {
		err = kvc_ag_round(ag);
		if (err <= 0)
			break;
	}
	if (kvc_ag_ends(ag))
		return;
	if (err < 0) {
		next = KVC_WORKER_RETRY;
		pr_debug("ag %u: worker: %d\n", ag->number, err);
	}
	queue_delayed_work(ag->join->wq, &ag->work, next);
}

void kvc_ag_quiesce(struct kvc_ag *ag)
{
	int i;

	if (!ag->owned)
		return;
	mutex_lock(&ag->lock);
	for (i = 0; i < KVC_NR_STREAMS; i++) {
		if (ag->open[i])
			ag->open[i]->role = KVC_ROLE_FULL;
		ag->open[i] = NULL;
	}
	if (ag->standby)
		ag->standby->role = KVC_ROLE_FULL;
	ag->standby = NULL;
	mutex_unlock(&ag->lock);
	if (kvc_ag_seal(ag) < 0)
		pr_warn("ag %u: not all segments could be sealed; the next attach does it\n",
			ag->number);
}
