// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: what this host owns in a pool that it shares
 *
 * What it shall own is said from outside: by the lock service, or once and for
 * all by "host i of n". Every AG whose owner is to change has a work that takes
 * it over or gives it up; until that went well it is tried again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/signal.h>
#include <uapi/linux/kvcache.h>
#include "fence.h"
#include "share.h"
#include "slot.h"

#define KVC_OWN_RETRY_MS	50

static bool kvc_own_settled(const struct kvc_ag *ag)
{
	u64 wanted = READ_ONCE(ag->wanted);

	if (!READ_ONCE(ag->owned))
		return !wanted;
	return wanted == KVC_EPOCH_ANY || wanted == ag->journal.epoch;
}

/* Is the host that shows the AG's highest epoch there? */
static bool kvc_own_held(struct kvc_ag *ag, u32 slot)
{
	struct kvc_join *join = ag->join;
	bool held;

	if (slot == KVC_NO_SLOT || slot == join->writer.slot)
		return false;
	kvc_slots_lock(join);
	held = kvc_slot_in_use(kvc_slot(join, slot)) &&
	       !kvc_share_silent(join, slot);
	kvc_slots_unlock(join);
	return held;
}

/*
 * When has Q passed since the last owner may have sent a write? @unfenced: and since
 * it will have been fenced, if it is dead: it has stood still for a lease, but not
 * yet for as long as we have to see that.
 */
static unsigned long kvc_own_frozen(struct kvc_ag *ag, u32 slot, bool unfenced)
{
	struct kvc_join *join = ag->join;
	u32 ms = join->g->q_ms + (unfenced ? join->g->lease_ms / 2 : 0);
	bool left;

	if (slot == KVC_NO_SLOT || slot == join->writer.slot)
		return join->frozen_until;
	kvc_slots_lock(join);
	left = kvc_slot(join, slot)->state == KVC_SLOT_DOWN;
	kvc_slots_unlock(join);
	return left ? jiffies : jiffies + msecs_to_jiffies(ms);
}

static bool kvc_own_waited(struct kvc_ag *ag)
{
	return ag->doubting &&
	       time_after(jiffies, ag->doubted +
				   msecs_to_jiffies(ag->join->g->q_ms));
}

/* Of an epoch that can't be had: which one can, or is Q to be waited for? */
static void kvc_own_refused(struct kvc_ag *ag, const struct kvc_takeover *t,
			    u64 wanted)
{
	if (t->epoch && t->epoch != wanted && wanted != KVC_EPOCH_ANY) {
		ag->follow.next_epoch = t->epoch;
		return;
	}
	if (!ag->doubting)
		ag->doubted = jiffies;
	ag->doubting = true;
}

/* Does a host that is there not know this AG, or may not? Under the slots' mutex. */
static bool kvc_own_unheard(struct kvc_ag *ag, u32 slot)
{
	struct kvc_join *join = ag->join;
	u32 part = ag->number / KVC_AGS_PER_SLOT_BLOCK;
	const struct kvc_slot_info *s =
		join->slots->parts[slot * join->g->slot_blocks + part];

	if (slot == join->writer.slot || kvc_share_silent(join, slot))
		return false;
	if (test_bit(slot, join->slots->unknown))
		return true;
	return kvc_slot_in_use(s) &&
	       s->nr_ags <= ag->number % KVC_AGS_PER_SLOT_BLOCK;
}

/*
 * Protocol rule 35: an AG that came when the pool grew has its first owner when
 * all hosts can follow it. The slots are to be read when ours shows that we know
 * it, which is so when passes begin.
 */
static bool kvc_own_early(struct kvc_ag *ag)
{
	struct kvc_join *join = ag->join;
	bool early = false;
	u32 i, slot;

	if (ag->number < join->g->spans[0].nr_ags ||
	    kvc_slots_shown(join, ag->number, &slot))
		return false;
	if (!kvc_share_looked(join->share, 1))
		return true;
	kvc_slots_lock(join);
	for (i = 0; i < join->g->nr_slots && !early; i++)
		early = kvc_own_unheard(ag, i);
	kvc_slots_unlock(join);
	return early;
}

static int kvc_own_take(struct kvc_ag *ag, u64 wanted)
{
	struct kvc_join *join = ag->join;
	struct kvc_takeover t = {
		.epoch = wanted == KVC_EPOCH_ANY ? 0 : wanted,
		.in_doubt = kvc_join_in_doubt,
		.waited = kvc_own_waited(ag),
	};
	bool unfenced;
	u32 slot;
	int err;

	t.shown = kvc_slots_shown(join, ag->number, &slot);
	/* The lock service knows; "host i of n" has nobody else to ask. */
	if (join->pool->mode != KVCACHE_MODE_GRANTED && kvc_own_held(ag, slot))
		return -EBUSY;
	unfenced = kvc_fence_owner(join, slot);
	t.frozen_until = kvc_own_frozen(ag, slot, unfenced);
	err = kvc_ag_takeover(ag, &t);
	if (err == -EAGAIN)
		kvc_own_refused(ag, &t, wanted);
	if (err) {
		ag->follow.behind = true;
		return err;
	}
	ag->doubting = false;
	/* protocol rule 20: only when the slot shows it */
	err = kvc_join_wait_shown(join);
	if (err)
		return err;
	smp_store_release(&ag->owned, true);
	kvc_ag_kick(ag);
	return 0;
}

/*
 * What is wanted, for a change that begins. Whoever is told after a grant that the
 * AG is not ours must not find later that it is, since it was still being taken
 * over by what an earlier grant said: until the end of the change it is being
 * given up.
 */
static u64 kvc_own_begin(struct kvc_ag *ag)
{
	u64 wanted;

	mutex_lock(&ag->lock);
	ag->changing = true;
	wanted = READ_ONCE(ag->wanted);
	mutex_unlock(&ag->lock);
	return wanted;
}

static void kvc_own_end(struct kvc_ag *ag)
{
	mutex_lock(&ag->lock);
	ag->changing = false;
	mutex_unlock(&ag->lock);
}

static void kvc_own_change(struct work_struct *work)
{
	struct kvc_ag *ag = container_of(work, struct kvc_ag, change);
	struct kvc_follow *f = &ag->follow;
	u64 wanted;
	int err = 0;

	mutex_lock(&f->turn);
	wanted = kvc_own_begin(ag);
	if (ag->owned && !kvc_own_settled(ag)) {
		err = kvc_ag_give_up(ag);
		if (err)
			pr_warn("pool %s: ag %u was not given up in good order (%d)\n",
				ag->join->g->name, ag->number, err);
	}
	if (!ag->owned && wanted && !READ_ONCE(ag->join->stopping))
		err = kvc_own_take(ag, wanted);
	f->error = err;
	kvc_own_end(ag);
	mutex_unlock(&f->turn);
	if (err && err != -EAGAIN && err != -EBUSY && err != -ESTALE)
		pr_warn_ratelimited("pool %s: ag %u can't be taken over (%d)\n",
				    ag->join->g->name, ag->number, err);
	/* Who waits for it, or for the end of what it kept misses from. */
	wake_up_all(&ag->join->space_wait);
	kvc_share_ticket(ag->join->share);
}

static bool kvc_own_home_gone(const struct kvc_ag *ag)
{
	struct kvc_join *join = ag->join;
	u32 home = kvc_ag_home(join->g, ag->number);

	return kvc_member_health(&join->set->m[home]) == KVC_HEALTH_FAILED;
}

static void kvc_own_work(struct work_struct *work)
{
	struct kvc_join *join = container_of(to_delayed_work(work),
					     struct kvc_join, own);
	bool more = false, early = false;
	unsigned long apart = HZ;
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++) {
		struct kvc_ag *ag = &join->ags[i];

		/* protocol rule 30: its home is gone, and the AG with it */
		if (kvc_own_settled(ag) || kvc_own_home_gone(ag))
			continue;
		WRITE_ONCE(ag->early, kvc_own_early(ag));
		if (ag->early) {
			early = true;
			continue;
		}
		more = true;
		queue_work(join->wq, &ag->change);
	}
	/* Seldom if there is none: a member may come back. */
	if (more)
		apart = msecs_to_jiffies(KVC_OWN_RETRY_MS);
	else if (early)
		apart = msecs_to_jiffies(join->g->heartbeat_ms) + 1;
	if (!READ_ONCE(join->stopping))
		queue_delayed_work(join->wq, &join->own, apart);
}

void kvc_own_init(struct kvc_join *join)
{
	u32 i;

	INIT_DELAYED_WORK(&join->own, kvc_own_work);
	for (i = 0; i < join->g->nr_ags; i++)
		INIT_WORK(&join->ags[i].change, kvc_own_change);
}

static u64 kvc_own_by_mode(const struct kvc_pool *pool, u32 ag)
{
	if (pool->mode == KVCACHE_MODE_STATIC)
		return ag % pool->hosts == pool->host ? KVC_EPOCH_ANY : 0;
	return 0;
}

void kvc_own_want(struct kvc_join *join, const u64 *epochs)
{
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++)
		WRITE_ONCE(join->ags[i].wanted,
			   epochs ? epochs[i] : kvc_own_by_mode(join->pool, i));
	if (!READ_ONCE(join->stopping))
		mod_delayed_work(join->wq, &join->own, 0);
}

void kvc_own_stop(struct kvc_join *join)
{
	u32 i;

	if (!join->share)
		return;
	cancel_delayed_work_sync(&join->own);
	for (i = 0; i < join->g->nr_ags; i++)
		cancel_work_sync(&join->ags[i].change);
}

/*
 * An AG that is not owned yet though it can be; KVC_NO_SLOT: none. Who waits does
 * not wait for hosts that don't know an AG yet. Doesn't sleep.
 */
static u32 kvc_own_missing(struct kvc_join *join)
{
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++)
		if (!kvc_own_settled(&join->ags[i]) &&
		    !kvc_own_home_gone(&join->ags[i]) &&
		    !READ_ONCE(join->ags[i].early))
			return i;
	return KVC_NO_SLOT;
}

int kvc_own_settle(struct kvc_join *join, char *reason)
{
	const struct kvc_geometry *g = join->g;
	/* For a holder to prove dead, for Q, and for what loading may take. */
	unsigned long end = jiffies + msecs_to_jiffies(2 * g->lease_ms +
						       2 * g->q_ms) + 120 * HZ;
	unsigned long holder_end = jiffies + msecs_to_jiffies(2 * g->lease_ms);
	u32 ag, slot;

	while ((ag = kvc_own_missing(join)) != KVC_NO_SLOT) {
		if (READ_ONCE(join->stopping) || !kvc_join_lease_ok(join))
			return -ESTALE;
		if (READ_ONCE(join->pool->state) == KVC_POOL_CLOSING)
			return -ECANCELED;
		kvc_slots_shown(join, ag, &slot);
		if (time_after(jiffies, holder_end) &&
		    kvc_own_held(&join->ags[ag], slot)) {
			kvc_join_name_holder(join, reason, slot);
			return -EBUSY;
		}
		if (time_after(jiffies, end)) {
			kvc_reason(reason, "AG %u of pool %s can't be taken over in time (%d)",
				   ag, g->name, join->ags[ag].follow.error);
			return -ETIMEDOUT;
		}
		wait_event_interruptible_timeout(join->space_wait,
				kvc_own_missing(join) == KVC_NO_SLOT ||
					READ_ONCE(join->stopping), HZ / 20 + 1);
		if (signal_pending(current))
			return -EINTR;
	}
	return 0;
}
