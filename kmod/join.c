// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: joining a pool
 *
 * The embedded default, with no lock service: whoever attaches takes the whole
 * pool, if nobody else is alive in it. A pool that is shared is joined in the
 * same way, but only those matter who do not share, and whoever has the slot
 * that was assigned; AGs are loaded to be followed, and change hands later
 * (own.c).
 *
 *  1. Watch the slots for longer than a lease, unless all of them were left in
 *     good order. A slot that moves is alive: refused, by name.
 *  2. Claim a slot that nobody's writes can still reach: one never used or left
 *     in good order; else wait for Q and take a dead one. Incarnation = highest
 *     seen + 1.
 *  3. Wait, then read all slots again, and only then write anything more. From
 *     scan to claim takes less time than the wait, so whoever claims at the same
 *     time has written by now: in another slot, both see it; in the same one,
 *     all see who wrote last, and one at most has a majority of the copies.
 *  4. Take every AG over, or load it, side by side, heartbeat running.
 *  5. Show the epochs in the slot, and serve.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <uapi/linux/kvcache.h>
#include "fence.h"
#include "label.h"
#include "share.h"
#include "slot_move.h"

bool kvc_join_lease_ok(const struct kvc_join *join)
{
	return ktime_get_boottime_ns() < READ_ONCE(join->lease_until) &&
	       !READ_ONCE(join->set->refused);
}

static bool kvc_join_lease(void *arg)
{
	return kvc_join_lease_ok(arg);
}

/* Sleep in pieces, so that a signal to an attach is heard. */
static int kvc_join_sleep(struct kvc_join *join, unsigned long ms)
{
	if (READ_ONCE(join->pool->state) == KVC_POOL_CLOSING)
		return -ECANCELED;
	if (msleep_interruptible(ms) || signal_pending(current))
		return -EINTR;
	return 0;
}

static void kvc_join_name(struct kvc_join *join, char *reason, u32 slot,
			  const struct kvc_slot_info *s)
{
	kvc_reason(reason,
		   "pool %s is held by host %s%s%s%s (slot %u, boot %pUb, %s): detach it there first",
		   join->g->name, s->node[0] ? s->node : "(no name)",
		   s->nqn[0] ? " (" : "", s->nqn, s->nqn[0] ? ")" : "", slot,
		   s->boot_id,
		   s->state == KVC_SLOT_JOINING ? "attaching" : "alive");
}

void kvc_join_name_holder(struct kvc_join *join, char *reason, u32 slot)
{
	kvc_slots_lock(join);
	kvc_join_name(join, reason, slot, kvc_slot(join, slot));
	kvc_slots_unlock(join);
}

/* Would we be in each other's way? */
static bool kvc_join_rival(struct kvc_join *join, u32 slot)
{
	const struct kvc_slot_info *s = kvc_slot(join, slot);

	return !join->share || slot == join->wanted_slot ||
	       !(s->flags & KVC_SLOT_SHARED);
}

/* What a slot showed when the watch began. */
struct kvc_sighting {
	u64 sequence;
	u64 incarnation;
	u32 state;
};

static void kvc_join_sight(struct kvc_join *join, struct kvc_sighting *seen)
{
	u32 i;

	for (i = 0; i < join->g->nr_slots; i++) {
		const struct kvc_slot_info *s = kvc_slot(join, i);

		seen[i].sequence = s->sequence;
		seen[i].incarnation = s->incarnation;
		seen[i].state = s->state;
	}
}

/* Has any slot but ours moved since it was sighted, to one in use? */
static int kvc_join_moved(struct kvc_join *join,
			  const struct kvc_sighting *seen, char *reason)
{
	u32 i;

	for (i = 0; i < join->g->nr_slots; i++) {
		const struct kvc_slot_info *s = kvc_slot(join, i);

		if (i == join->writer.slot || !kvc_slot_in_use(s) ||
		    !kvc_join_rival(join, i) ||
		    (s->sequence == seen[i].sequence &&
		     s->incarnation == seen[i].incarnation))
			continue;
		kvc_join_name(join, reason, i, s);
		return -EBUSY;
	}
	return 0;
}

static int kvc_join_reread(struct kvc_join *join, char *reason)
{
	int err = kvc_slots_read(join);

	if (err)
		kvc_reason(reason, "the host slots of pool %s can't be read on a majority of their members",
			   join->g->name);
	return err;
}

/* Step 1. Marks slots that are in use and silent as dead. */
static int kvc_join_watch(struct kvc_join *join, struct kvc_sighting *seen,
			  char *reason)
{
	const struct kvc_geometry *g = join->g;
	/* An eighth for the difference between two clocks' rates. */
	unsigned long lease = g->lease_ms + g->lease_ms / 8 + 10;
	unsigned long until, looked;
	u32 i, doubtful = 0;
	int err;

	err = kvc_join_reread(join, reason);
	if (err)
		return err;
	kvc_join_sight(join, seen);
	/* What was seen may be as young as the end of the look (rule 15). */
	join->started = jiffies;
	for (i = 0; i < g->nr_slots; i++)
		if (kvc_join_rival(join, i) &&
		    (kvc_slot_in_use(kvc_slot(join, i)) ||
		     test_bit(i, join->slots->unknown))) {
			__set_bit(i, join->slots->dead);
			doubtful++;
		}
	join->frozen_until = jiffies;
	if (!doubtful)
		return 0;
	join->frozen_until = join->started +
			     msecs_to_jiffies(lease + g->q_ms);
	until = join->started + msecs_to_jiffies(lease) + 1;
	do {
		err = kvc_join_sleep(join, clamp_t(long, g->heartbeat_ms / 2, 5,
						   lease));
		/* The last look begins when the time is over. */
		looked = jiffies;
		if (!err)
			err = kvc_join_reread(join, reason);
		if (!err)
			err = kvc_join_moved(join, seen, reason);
		if (err)
			return err;
	} while (time_before(looked, until));
	return 0;
}

/* Wait until Q has passed since the watch began. */
static int kvc_join_wait_q(struct kvc_join *join)
{
	int err = 0;

	while (!err && time_before(jiffies, join->frozen_until))
		err = kvc_join_sleep(join, 20);
	return err;
}

/* The lock service's incarnation, or one above all that were seen. */
static int kvc_join_incarnate(struct kvc_join *join, char *reason)
{
	const struct kvc_pool *pool = join->pool;
	u64 highest = 0;
	u32 i;

	for (i = 0; i < join->g->nr_slots; i++)
		highest = max(highest, kvc_slot(join, i)->incarnation);
	join->writer.incarnation = highest + 1;
	if (pool->mode != KVCACHE_MODE_GRANTED)
		return 0;
	if (pool->grant.incarnation <=
	    kvc_slot(join, pool->grant.slot)->incarnation) {
		kvc_reason(reason, "incarnation %llu of slot %u of pool %s is over: it shows %llu",
			   pool->grant.incarnation, pool->grant.slot,
			   join->g->name,
			   kvc_slot(join, pool->grant.slot)->incarnation);
		return -ESTALE;
	}
	join->writer.incarnation = pool->grant.incarnation;
	return 0;
}

/* Step 2: choose. Protocol rule 4: a dead host's slot only after Q. */
static int kvc_join_choose(struct kvc_join *join, char *reason)
{
	u32 i, nr = join->g->nr_slots;
	int err;

	err = kvc_join_incarnate(join, reason);
	if (err)
		return err;
	i = join->wanted_slot;
	if (i == KVC_NO_SLOT)
		i = find_first_zero_bit(join->slots->dead, nr);
	if (i == nr || test_bit(i, join->slots->dead)) {
		pr_info("pool %s: %s left by a crash: waiting %u ms for writes that may be on their way\n",
			join->g->name,
			i == nr ? "every host slot was" : "our host slot was",
			join->g->q_ms);
		err = kvc_join_wait_q(join);
		if (err)
			return err;
		i = i == nr ? 0 : i;
	}
	join->writer.slot = i;
	join->slot_sequence = kvc_slot(join, i)->sequence;
	join->heartbeat = kvc_slot(join, i)->heartbeat;
	return 0;
}

/* Does our slot stand as we wrote it? 0, -EBUSY, -ETIMEDOUT, -ENOMEM. */
static int kvc_join_holds_slot(struct kvc_join *join, char *reason)
{
	struct kvc_slot_info *other;
	int err = 0;

	other = kmalloc(sizeof(*other), GFP_KERNEL);
	if (!other)
		return -ENOMEM;
	if (kvc_slot_ours(join, join->g->lease_ms / 4, other))
		goto ours;
	if (other->sequence) {
		kvc_join_name(join, reason, join->writer.slot, other);
		err = -EBUSY;
	} else {
		kvc_reason(reason, "the slot of pool %s can't be read back in time on a majority of its members",
			   join->g->name);
		err = -ETIMEDOUT;
	}
ours:
	kfree(other);
	return err;
}

static void kvc_join_unwritable(struct kvc_join *join, char *reason, int err)
{
	if (READ_ONCE(join->set->refused))
		kvc_reason(reason, "members of pool %s are reserved and refuse our writes: the hosts that share it attach with fencing, and so must this one",
			   join->g->name);
	else
		kvc_reason(reason, "the slot can't be written on a majority of its members (%d)",
			   err);
}

#define KVC_CLAIM_TRIES	20

/* Steps 2 and 3. */
static int kvc_join_claim(struct kvc_join *join, struct kvc_sighting *seen,
			  char *reason)
{
	unsigned long settle = max(join->g->lease_ms / 4, 20U);
	unsigned long scanned;
	int err, tries = 0;

	err = kvc_join_choose(join, reason);
	if (!err)
		err = kvc_fence_begin(join, reason);
	if (err)
		return err;
	do {
		if (tries++ == KVC_CLAIM_TRIES) {
			kvc_reason(reason,
				   "the members of pool %s answer too slowly for its lease of %u ms",
				   join->g->name, join->g->lease_ms);
			return -ETIMEDOUT;
		}
		scanned = jiffies;
		/* Not the first try: is it free but for our own claim? */
		err = join->state == KVC_SLOT_JOINING ?
			      kvc_join_holds_slot(join, reason) : 0;
		if (!err)
			err = kvc_join_reread(join, reason);
		if (!err)
			err = kvc_join_moved(join, seen, reason);
		if (err)
			return err;
		if (kvc_slot(join, join->writer.slot)->sequence !=
		    join->slot_sequence) {
			kvc_join_name(join, reason, join->writer.slot,
				      kvc_slot(join, join->writer.slot));
			return -EBUSY;
		}
		join->state = KVC_SLOT_JOINING;
		err = kvc_slot_beat(join, join->g->lease_ms / 2);
		if (err) {
			kvc_join_unwritable(join, reason, err);
			return err;
		}
		/*
		 * A rival's wait for us must have been longer than we took
		 * from scan to claim.
		 */
	} while (time_after_eq(jiffies, scanned + msecs_to_jiffies(settle)));

	return kvc_join_sleep(join, settle);
}

/* Step 3: is the claim still ours, and did nobody claim beside it? */
static int kvc_join_confirm(struct kvc_join *join,
			    const struct kvc_sighting *seen, char *reason)
{
	int err;

	err = kvc_join_holds_slot(join, reason);
	if (!err)
		err = kvc_join_reread(join, reason);
	return err ?: kvc_join_moved(join, seen, reason);
}

/* --- heartbeat --- */

static void kvc_join_beat(struct work_struct *work)
{
	struct kvc_join *join = container_of(to_delayed_work(work),
					     struct kvc_join, beat);
	u32 ms = join->g->heartbeat_ms;
	u64 number;
	int err;

	if (READ_ONCE(join->stopping) || READ_ONCE(join->set->abandoned))
		return;
	if (!kvc_join_lease_ok(join) || kvc_slot_usurped(join)) {
		/* protocol rule 19 */
		kvc_join_lapse(join);
		return;
	}
	join->beaten = jiffies;
	number = join->beats_begun + 1;
	WRITE_ONCE(join->beats_begun, number);
	err = kvc_slot_beat(join, join->g->lease_ms / 4);
	if (!err) {
		WRITE_ONCE(join->beats_shown, number);
		wake_up_all(&join->slots->wait);
	}
	/* Who shares a pool comes back to its own slot. */
	if (!err && join->state == KVC_SLOT_ACTIVE && !join->share)
		kvc_slots_bury(join);
	if (err)
		ms = max(ms / 4, 1U);
	queue_delayed_work(join->beat_wq, &join->beat, msecs_to_jiffies(ms));
}

void kvc_join_lapse(struct kvc_join *join)
{
	WRITE_ONCE(join->lease_until, 0);
	kvc_presence_lease(join);
	kvc_pool_lapse(join->pool);
}

void kvc_join_beat_soon(struct kvc_join *join)
{
	unsigned long apart = msecs_to_jiffies(join->g->heartbeat_ms / 8) + 1;
	unsigned long next = READ_ONCE(join->beaten) + apart;

	if (READ_ONCE(join->state) != KVC_SLOT_ACTIVE ||
	    READ_ONCE(join->stopping))
		return;
	mod_delayed_work(join->beat_wq, &join->beat,
			 time_after(next, jiffies) ? next - jiffies : 0);
}

int kvc_join_wait_shown(struct kvc_join *join)
{
	/* Not one that is under way: it may have taken what was shown before. */
	u64 number = READ_ONCE(join->beats_begun) + 1;

	do {
		kvc_join_beat_soon(join);
		wait_event_timeout(join->slots->wait,
				   READ_ONCE(join->beats_shown) >= number,
				   msecs_to_jiffies(join->g->heartbeat_ms / 8) + 1);
		if (READ_ONCE(join->stopping) || !kvc_join_lease_ok(join))
			return -ESTALE;
	} while (READ_ONCE(join->beats_shown) < number);
	return 0;
}

static void kvc_join_stop_beat(struct kvc_join *join)
{
	cancel_delayed_work_sync(&join->beat);
}

/* --- taking the AGs over, or loading them --- */

struct kvc_join_load {
	struct work_struct work;
	struct kvc_ag *ag;
	bool waited;
	int error;
};

bool kvc_join_in_doubt(struct kvc_join *join, u32 slot, u64 incarnation)
{
	const struct kvc_slot_info *s;
	bool doubt;

	if (slot >= join->g->nr_slots)
		return false;
	if (!join->share)
		/* A slot that was granted again proves that Q had passed. */
		return test_bit(slot, join->slots->dead) &&
		       incarnation >= kvc_slot(join, slot)->incarnation;
	kvc_slots_lock(join);
	s = kvc_slot(join, slot);
	/* Likewise; and what we gave up ourselves had all of it written. */
	doubt = slot != join->writer.slot && kvc_slot_in_use(s) &&
		incarnation >= s->incarnation;
	kvc_slots_unlock(join);
	return doubt;
}

static void kvc_join_load(struct work_struct *work)
{
	struct kvc_join_load *t = container_of(work, struct kvc_join_load, work);
	struct kvc_ag *ag = t->ag;
	struct kvc_join *join = ag->join;
	struct kvc_takeover takeover = {
		.in_doubt = kvc_join_in_doubt,
		.waited = t->waited,
		.frozen_until = join->frozen_until,
	};
	u32 slot;

	takeover.shown = kvc_slots_shown(join, ag->number, &slot);
	if (!join->share) {
		t->error = kvc_ag_takeover(ag, &takeover);
		return;
	}
	mutex_lock(&ag->follow.turn);
	t->error = kvc_follow_load(ag, takeover.shown);
	mutex_unlock(&ag->follow.turn);
	/* Not now: then misses wait for it, and what was loaded serves. */
	if (t->error == -EAGAIN || t->error == -EIO)
		t->error = 0;
}

static int kvc_join_loads(struct kvc_join *join, char *reason)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_join_load *t;
	bool waited = !time_before(jiffies, join->frozen_until);
	bool again;
	u32 i;
	int err = 0;

	t = kvcalloc(g->nr_ags, sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	for (i = 0; i < g->nr_ags; i++) {
		struct kvc_member *home = &join->set->m[kvc_ag_home(g, i)];

		INIT_WORK(&t[i].work, kvc_join_load);
		t[i].ag = &join->ags[i];
		/* protocol rule 30: its home is gone, and the AG with it */
		t[i].error = kvc_member_health(home) == KVC_HEALTH_FAILED ?
				     -ENODEV : -EAGAIN;
	}
	do {
		again = false;
		for (i = 0; i < g->nr_ags; i++) {
			t[i].waited = waited;
			if (t[i].error == -EAGAIN)
				queue_work(join->wq, &t[i].work);
		}
		for (i = 0; i < g->nr_ags; i++) {
			flush_work(&t[i].work);
			again |= t[i].error == -EAGAIN;
		}
		if (again && !waited) {
			pr_info("pool %s: several crashes in a row: waiting %u ms for writes that may be on their way\n",
				g->name, g->q_ms);
			err = kvc_join_wait_q(join);
			waited = true;
		} else if (again) {
			err = -EIO;
		}
	} while (again && !err);

	for (i = 0; i < g->nr_ags && !err; i++) {
		if (t[i].error && t[i].error != -ENODEV) {
			err = t[i].error;
			kvc_reason(reason, "AG %u of pool %s can't be loaded (%d)",
				   i, g->name, err);
		}
		join->load_objects += join->ags[i].objects_found;
	}
	kvfree(t);
	return err;
}

/* --- life --- */

static int kvc_join_alloc(struct kvc_pool *pool, struct kvc_join **out)
{
	struct kvc_join *join;
	u32 i;
	int err;

	join = kzalloc(sizeof(*join), GFP_KERNEL);
	if (!join)
		return -ENOMEM;
	*out = join;
	join->pool = pool;
	join->set = &pool->set;
	join->g = &pool->g;
	join->writer.slot = KVC_NO_SLOT;
	join->wanted_slot = KVC_NO_SLOT;
	join->granted_until = U64_MAX;
	if (pool->mode == KVCACHE_MODE_STATIC)
		join->wanted_slot = pool->host;
	if (pool->mode == KVCACHE_MODE_GRANTED) {
		join->wanted_slot = pool->grant.slot;
		join->granted_until = pool->grant.until;
	}
	init_waitqueue_head(&join->space_wait);
	init_waitqueue_head(&join->settle_wait);
	INIT_DELAYED_WORK(&join->beat, kvc_join_beat);
	err = kvc_index_init(&join->index);
	if (err) {
		kfree(join);
		*out = NULL;
		return err;
	}
	join->wq = alloc_workqueue("kvcache_ag", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	join->beat_wq = alloc_workqueue("kvcache_beat",
					WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM,
					1 + 3 * KVC_MAX_SLOT_PLACES);
	join->ags = kvcalloc(join->g->nr_ags, sizeof(*join->ags), GFP_KERNEL);
	join->cpu_ag = alloc_percpu(u32);
	if (!join->wq || !join->beat_wq || !join->ags || !join->cpu_ag)
		return -ENOMEM;
	for (i = 0; i < join->g->nr_ags; i++) {
		err = kvc_ag_init(&join->ags[i], join, i);
		if (err)
			return err;
	}
	kvc_own_init(join);
	if (pool->mode != KVCACHE_MODE_EXCLUSIVE) {
		err = kvc_share_init(join, pool->staleness_ms);
		if (err)
			return err;
	}
	return kvc_slots_init(join);
}

static void kvc_join_free(struct kvc_join *join)
{
	u32 i;

	synchronize_rcu();	/* see kvc_segment_put_reader() */
	/* Before its entries: the table may be growing or shrinking in a work. */
	kvc_index_destroy(&join->index);
	for (i = 0; join->ags && i < join->g->nr_ags; i++)
		kvc_ag_destroy(&join->ags[i]);
	kvfree(join->ags);
	free_percpu(join->cpu_ag);
	kvc_slots_destroy(join);
	kvc_share_destroy(join);
	if (join->wq)
		destroy_workqueue(join->wq);
	if (join->beat_wq)
		destroy_workqueue(join->beat_wq);
	kfree(join);
}

/* Nobody reads, writes or commits any more, whoever has given up waiting. */
static bool kvc_ag_idle(struct kvc_ag *ag)
{
	u32 i;

	if (READ_ONCE(ag->journal.inflight) || kvc_ag_reap(ag))
		return false;
	for (i = 0; i < ag->nr; i++)
		if (atomic_read(&ag->segments[i].readers) ||
		    atomic_read(&ag->segments[i].writers))
			return false;
	return true;
}

void kvc_join_cut(struct kvc_join *join, int error)
{
	u32 i;

	WRITE_ONCE(join->stopping, true);
	for (i = 0; i < join->g->nr_ags; i++)
		if (join->ags[i].journal.set)
			kvc_journal_kill(&join->ags[i].journal, error);
	wake_up_all(&join->space_wait);
	wake_up_all(&join->settle_wait);
	if (join->share)
		wake_up_all(&join->share->wait);
}

static void kvc_join_kill(struct kvc_join *join, int error)
{
	u32 i;

	kvc_join_cut(join, error);
	for (i = 0; i < join->g->nr_ags; i++) {
		cancel_delayed_work_sync(&join->ags[i].work);
		cancel_work_sync(&join->ags[i].watch);
		while (!kvc_ag_idle(&join->ags[i]))
			msleep(5);
	}
}

static void kvc_join_quiesce(struct kvc_join *join)
{
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++)
		cancel_delayed_work_sync(&join->ags[i].work);
	for (i = 0; i < join->g->nr_ags; i++)
		kvc_ag_quiesce(&join->ags[i]);
}

bool kvc_join_unsure(struct kvc_join *join)
{
	unsigned long q = msecs_to_jiffies(join->g->q_ms);
	u32 i;

	for (i = 0; i < join->set->nr; i++)
		if (kvc_member_unsure(&join->set->m[i], q))
			return true;
	return false;
}

void kvc_join_destroy(struct kvc_join *join, bool leave)
{
	WRITE_ONCE(join->stopping, true);
	kvc_presence_gone(join->pool);
	wake_up_all(&join->space_wait);
	kvc_own_stop(join);
	kvc_share_stop(join);
	kvc_fence_stop(join);
	if (leave)
		kvc_join_quiesce(join);
	kvc_join_stop_beat(join);
	kvc_slots_stop_bury(join);	/* which the beat begins */
	kvc_join_kill(join, leave ? -ENODEV : -ESTALE);
	/* A claim that another overwrote is the other's. */
	if (leave && kvc_join_unsure(join)) {
		pr_warn("pool %s: writes that got no answer may still land: the next attach waits, as after a crash\n",
			join->g->name);
	} else if (leave && kvc_join_lease_ok(join) &&
		   !kvc_join_holds_slot(join, NULL)) {
		/* Everything is known to be down: nothing can land late. */
		join->state = KVC_SLOT_DOWN;
		if (kvc_slot_beat(join, join->g->lease_ms / 2))
			pr_warn("pool %s: the slot could not say that this host left; the next attach waits for a lease\n",
				join->g->name);
	}
	join->set->lease_ok = NULL;
	kvc_join_free(join);
}

/* The slot shows what is owned: from here on it counts (protocol rule 20). */
static int kvc_join_show(struct kvc_join *join, char *reason)
{
	int err;

	kvc_join_stop_beat(join);
	join->state = KVC_SLOT_ACTIVE;
	for (;;) {
		err = kvc_slot_beat(join, join->g->lease_ms / 4);
		if (!err || !kvc_join_lease_ok(join))
			break;
		msleep(join->g->heartbeat_ms / 4);
	}
	if (!err)
		return 0;
	kvc_reason(reason, "pool %s: the lease ran out while joining (%d)",
		   join->g->name, err);
	return -ESTALE;
}

static int kvc_join_do(struct kvc_join *join, char *reason)
{
	struct kvc_sighting *seen;
	u64 start;
	int err;
	u32 i;

	seen = kvcalloc(join->g->nr_slots, sizeof(*seen), GFP_KERNEL);
	if (!seen)
		return -ENOMEM;
	WRITE_ONCE(join->set->refused, false);
	err = kvc_join_watch(join, seen, reason);
	if (!err)
		err = kvc_join_claim(join, seen, reason);
	if (!err)
		err = kvc_join_confirm(join, seen, reason);
	kvfree(seen);
	if (err)
		return err;

	/* From here on every write is under the lease (protocol rule 2). */
	join->set->lease_arg = join;
	smp_store_release(&join->set->lease_ok, kvc_join_lease);
	queue_delayed_work(join->beat_wq, &join->beat, 0);
	kvc_fence_others(join);

	err = kvc_slots_await_move(join, reason);
	if (err)
		return err;
	start = ktime_get_ns();
	err = kvc_join_loads(join, reason);
	join->load_ns = ktime_get_ns() - start;
	/* protocol rule 34: the slot has shown what we know */
	if (!err)
		err = kvc_labels_check(join->pool, reason);
	if (!err)
		err = kvc_join_show(join, reason);
	if (err)
		return err;
	for (i = 0; i < join->g->nr_ags; i++)
		WRITE_ONCE(join->ags[i].owned, join->ags[i].claimed);
	queue_delayed_work(join->beat_wq, &join->beat,
			   msecs_to_jiffies(join->g->heartbeat_ms));
	if (!join->share)
		return 0;
	kvc_share_start(join);
	if (join->pool->mode != KVCACHE_MODE_STATIC)
		return 0;
	kvc_own_want(join, NULL);
	return kvc_own_settle(join, reason);
}

void kvc_join_run(struct kvc_join *join)
{
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++)
		kvc_ag_kick(&join->ags[i]);
}

int kvc_join_peek(struct kvc_pool *pool, struct kvc_join **out)
{
	struct kvc_join *join = NULL;
	int err;

	err = kvc_join_alloc(pool, &join);
	if (!err)
		err = kvc_slots_read(join);
	if (!err)
		*out = join;
	else if (join)
		kvc_join_free(join);
	return err;
}

void kvc_join_unpeek(struct kvc_join *join)
{
	kvc_join_free(join);
}

int kvc_join_create(struct kvc_pool *pool, char *reason,
		    struct kvc_join **out)
{
	struct kvc_join *join = NULL;
	int err;

	err = kvc_join_alloc(pool, &join);
	if (err) {
		/* Nothing of it has begun, and not all of it may be there. */
		if (join)
			kvc_join_free(join);
		return err;
	}
	if (pool->mode == KVCACHE_MODE_GRANTED)
		kvc_pool_joining(pool, join);
	err = kvc_join_do(join, reason);
	kvc_pool_joining(pool, NULL);
	if (!err) {
		*out = join;
		return 0;
	}
	/* A claim that was made is given back. */
	kvc_join_destroy(join, join->state != KVC_SLOT_FREE);
	return err;
}
