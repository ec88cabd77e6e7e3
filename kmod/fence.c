// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "fence.h"
#include "share.h"
#include "slot.h"

/*
 * A key: 16 bits of the pool's UUID, of which one is always set so that no key is
 * 0; 8 bits of slot; 40 bits of incarnation.
 */
#define KVC_KEY_SLOT_SHIFT	40
#define KVC_KEY_POOL_SHIFT	48
#define KVC_KEY_INCARNATION	((1ULL << KVC_KEY_SLOT_SHIFT) - 1)

/* Room for keys that are read: each host may have left one from before. */
#define KVC_FENCE_KEYS		(2 * KVC_MAX_SLOTS)

static u64 kvc_fence_tag(const struct kvc_geometry *g)
{
	return 0x8000 | g->uuid[0] << 8 | g->uuid[1];
}

static u64 kvc_fence_key(const struct kvc_geometry *g, u32 slot,
			 u64 incarnation)
{
	BUILD_BUG_ON(KVC_MAX_SLOTS > 1 << (KVC_KEY_POOL_SHIFT -
					   KVC_KEY_SLOT_SHIFT));
	return kvc_fence_tag(g) << KVC_KEY_POOL_SHIFT |
	       (u64)slot << KVC_KEY_SLOT_SHIFT |
	       (incarnation & KVC_KEY_INCARNATION);
}

static const struct pr_ops *kvc_fence_ops(struct block_device *bdev)
{
	/* A reservation is of the whole device, which others may use in part. */
	return bdev_is_partition(bdev) ? NULL : bdev->bd_disk->fops->pr_ops;
}

/* --- one member --- */

static int kvc_fence_register_on(struct block_device *bdev,
				 const struct pr_ops *ops, u64 key)
{
	int err = ops->pr_register(bdev, 0, key, 0);

	/* An earlier incarnation of this host has left its key there. */
	if (kvc_pr_conflict(err))
		err = ops->pr_register(bdev, 1, key, PR_FL_IGNORE_KEY);
	return err;
}

/* Whoever came first holds it, and for all who are registered. */
static int kvc_fence_reserve_on(struct block_device *bdev,
				const struct pr_ops *ops, u64 key)
{
	int err = ops->pr_reserve(bdev, key, PR_WRITE_EXCLUSIVE_ALL_REGS, 0);
	u32 type;

	if (!kvc_pr_conflict(err))
		return err;
	err = kvc_pr_reservation(ops, bdev, &type);
	if (err == -EOPNOTSUPP)
		return 0;	/* then a write will tell */
	return err ?: type == PR_WRITE_EXCLUSIVE_ALL_REGS ? 0 : -EBUSY;
}

/* Our own key goes this way, too: not all drivers know how to unregister. */
static int kvc_fence_preempt_on(struct block_device *bdev, u64 key, u64 victim)
{
	const struct pr_ops *ops = kvc_fence_ops(bdev);

	/*
	 * The first is ours and the second goes, as drivers have it. Those who are
	 * registered hold the reservation by that, and go on holding it.
	 */
	return ops && ops->pr_preempt ?
		       ops->pr_preempt(bdev, key, victim,
				       PR_WRITE_EXCLUSIVE_ALL_REGS, false) :
		       -EOPNOTSUPP;
}

/* 0: it is registered; else it can't be had, or not now. */
static int kvc_fence_register(struct kvc_member *m, u64 key)
{
	struct block_device *bdev = kvc_member_hold(m);
	const struct pr_ops *ops = bdev ? kvc_fence_ops(bdev) : NULL;
	int err = -EOPNOTSUPP;

	if (ops && ops->pr_register && ops->pr_reserve && ops->pr_preempt)
		err = kvc_fence_register_on(bdev, ops, key);
	if (!err) {
		err = kvc_fence_reserve_on(bdev, ops, key);
		if (err)
			kvc_fence_preempt_on(bdev, key, key);
	}
	kvc_member_release(m);
	return err;
}

/* Is it certain that no write comes in by @victim any more? */
static bool kvc_fence_preempt(struct kvc_fence *f, u32 member, u64 victim,
			      bool *was_there)
{
	struct kvc_member *m = &f->join->set->m[member];
	struct block_device *bdev;
	int err = -EIO;

	if (kvc_member_health(m) != KVC_HEALTH_LIVE)
		return false;
	bdev = kvc_member_hold(m);
	if (bdev)
		err = kvc_fence_preempt_on(bdev, f->key, victim);
	kvc_member_release(m);
	*was_there |= !err;
	/* Nobody has that key, or we have lost our own and can't do it. */
	return !err || kvc_pr_conflict(err);
}

/* --- others --- */

/* Tell all members that don't know it. Return: somebody had it. */
static bool kvc_fence_key_of(struct kvc_fence *f, u64 victim, u64 *left)
{
	bool was_there = false;
	u32 i;

	lockdep_assert_held(&f->lock);
	for (i = 0; i < f->join->set->nr; i++)
		if (*left & BIT_ULL(i) &&
		    kvc_fence_preempt(f, i, victim, &was_there))
			*left &= ~BIT_ULL(i);
	return was_there;
}

static void kvc_fence_slot(struct kvc_fence *f, u32 slot, u64 incarnation)
{
	struct kvc_fenced *fenced = &f->slots[slot];
	struct kvc_join *join = f->join;

	mutex_lock(&f->lock);
	if (fenced->incarnation < incarnation) {
		fenced->incarnation = incarnation;
		fenced->left = f->members;
	}
	if (fenced->incarnation == incarnation &&
	    kvc_fence_key_of(f, kvc_fence_key(join->g, slot, incarnation),
			     &fenced->left)) {
		kvc_stat_inc(join->pool->stats, KVC_STAT_FENCED);
		pr_warn("pool %s: slot %u, incarnation %llu is fenced: what its host still writes is refused\n",
			join->g->name, slot, incarnation);
	}
	mutex_unlock(&f->lock);
}

/* Has its host stood still, and do we know that some member lets it in? */
static bool kvc_fence_due(struct kvc_join *join, u32 slot, u64 *incarnation)
{
	const struct kvc_fenced *fenced = &join->pool->fence.slots[slot];
	const struct kvc_slot_info *s = kvc_slot(join, slot);

	if (slot == join->writer.slot || !kvc_slot_in_use(s) ||
	    !kvc_share_silent(join, slot))
		return false;
	*incarnation = s->incarnation;
	return READ_ONCE(fenced->incarnation) < s->incarnation ||
	       READ_ONCE(fenced->left);
}

static void kvc_fence_work(struct work_struct *work)
{
	struct kvc_fence *f = container_of(work, struct kvc_fence, work);
	struct kvc_join *join = f->join;
	u64 incarnation;
	bool due;
	u32 i;

	for (i = 0; i < join->g->nr_slots && !READ_ONCE(join->stopping); i++) {
		kvc_slots_lock(join);
		due = kvc_fence_due(join, i, &incarnation);
		kvc_slots_unlock(join);
		if (due)
			kvc_fence_slot(f, i, incarnation);
	}
}

void kvc_fence_look(struct kvc_join *join)
{
	struct kvc_fence *f = &join->pool->fence;
	u64 incarnation;
	u32 i;

	if (!READ_ONCE(f->members))
		return;
	for (i = 0; i < join->g->nr_slots; i++)
		if (kvc_fence_due(join, i, &incarnation)) {
			queue_work(join->wq, &f->work);
			return;
		}
}

bool kvc_fence_owner(struct kvc_join *join, u32 slot)
{
	struct kvc_fence *f = &join->pool->fence;
	bool in_use, due, silent;
	u64 incarnation;

	if (!READ_ONCE(f->members) || slot == KVC_NO_SLOT ||
	    slot == join->writer.slot)
		return false;
	kvc_slots_lock(join);
	in_use = kvc_slot_in_use(kvc_slot(join, slot));
	silent = kvc_share_silent(join, slot);
	due = kvc_fence_due(join, slot, &incarnation);
	kvc_slots_unlock(join);
	if (due)
		kvc_fence_slot(f, slot, incarnation);
	return in_use && !silent;
}

bool kvc_fence_done(struct kvc_join *join, u32 slot)
{
	const struct kvc_fenced *fenced = &join->pool->fence.slots[slot];
	const struct kvc_slot_info *s = kvc_slot(join, slot);

	return READ_ONCE(join->pool->fence.members) && kvc_slot_in_use(s) &&
	       READ_ONCE(fenced->incarnation) == s->incarnation &&
	       !READ_ONCE(fenced->left);
}

/* Is that the key of a host that can't be there any more? */
static bool kvc_fence_key_over(struct kvc_join *join, u64 key)
{
	u64 incarnation = key & KVC_KEY_INCARNATION;
	u32 slot = key >> KVC_KEY_SLOT_SHIFT & (KVC_MAX_SLOTS - 1);
	const struct kvc_slot_info *s;
	bool over;
	u64 shown;

	if (key >> KVC_KEY_POOL_SHIFT != kvc_fence_tag(join->g) ||
	    key == join->pool->fence.key)
		return false;
	/* Alone: the slots were watched, and whoever joins will give way. */
	if (!join->share || slot >= join->g->nr_slots)
		return true;
	kvc_slots_lock(join);
	s = kvc_slot(join, slot);
	shown = s->incarnation & KVC_KEY_INCARNATION;
	over = incarnation < shown ||
	       (incarnation == shown && s->state == KVC_SLOT_DOWN);
	kvc_slots_unlock(join);
	return over;
}

/* What hosts have left on a member that will not come back by that name. */
static void kvc_fence_sweep(struct kvc_fence *f, u32 member, u64 *keys)
{
	struct kvc_member *m = &f->join->set->m[member];
	struct block_device *bdev = kvc_member_hold(m);
	int nr = 0, i;

	if (bdev)
		nr = kvc_pr_keys(kvc_fence_ops(bdev), bdev, keys,
				 KVC_FENCE_KEYS);
	for (i = 0; i < nr; i++)
		if (kvc_fence_key_over(f->join, keys[i]) &&
		    !kvc_fence_preempt_on(bdev, f->key, keys[i]))
			pr_info("%s (member %u): registration %016llx of a host that is gone is taken back\n",
				m->path, member, keys[i]);
	kvc_member_release(m);
}

/* Hosts that were dead when this one came, to a pool that it has for itself. */
static void kvc_fence_dead(struct kvc_join *join)
{
	u32 i;

	for_each_set_bit(i, join->slots->dead, join->g->nr_slots)
		if (i != join->writer.slot)
			kvc_fence_slot(&join->pool->fence, i,
				       kvc_slot(join, i)->incarnation);
}

void kvc_fence_others(struct kvc_join *join)
{
	struct kvc_fence *f = &join->pool->fence;
	unsigned long q = msecs_to_jiffies(join->g->q_ms);
	u64 left = f->members;
	u64 *keys;
	u32 i;

	if (!left)
		return;
	mutex_lock(&f->lock);
	if (f->left_us)
		kvc_fence_key_of(f, f->left_us, &left);
	mutex_unlock(&f->lock);
	if (!join->share)
		kvc_fence_dead(join);
	keys = kvcalloc(KVC_FENCE_KEYS, sizeof(*keys), GFP_KERNEL);
	mutex_lock(&f->lock);
	for (i = 0; keys && i < join->set->nr; i++)
		if (f->members & BIT_ULL(i))
			kvc_fence_sweep(f, i, keys);
	mutex_unlock(&f->lock);
	kvfree(keys);
	/* What was let in before that may take until then to land. */
	if (time_before(join->frozen_until, jiffies + q) &&
	    !bitmap_empty(join->slots->dead, join->g->nr_slots))
		join->frozen_until = jiffies + q;
}

/* --- our own --- */

/* A pool for one host alone: has anybody left a reservation on a member? */
static bool kvc_fence_found(struct kvc_join *join)
{
	bool found = false;
	u32 i, type;

	for (i = 0; i < join->set->nr && !found; i++) {
		struct kvc_member *m = &join->set->m[i];
		struct block_device *bdev = kvc_member_hold(m);
		const struct pr_ops *ops = bdev ? kvc_fence_ops(bdev) : NULL;

		found = ops && !kvc_pr_reservation(ops, bdev, &type) && type;
		kvc_member_release(m);
	}
	return found;
}

static int kvc_fence_register_all(struct kvc_fence *f, char *reason)
{
	struct kvc_join *join = f->join;
	u32 i;
	int err;

	lockdep_assert_held(&f->lock);
	for (i = 0; i < join->set->nr; i++) {
		struct kvc_member *m = &join->set->m[i];

		if (kvc_member_health(m) == KVC_HEALTH_FAILED)
			continue;
		err = kvc_fence_register(m, f->key);
		if (err == -EBUSY) {
			kvc_reason(reason, "%s is reserved by something else than pool %s",
				   m->path, join->g->name);
			return err;
		}
		if (!err)
			WRITE_ONCE(f->members, f->members | BIT_ULL(i));
	}
	return 0;
}

int kvc_fence_begin(struct kvc_join *join, char *reason)
{
	struct kvc_fence *f = &join->pool->fence;
	const struct kvc_slot_info *s = kvc_slot(join, join->writer.slot);
	int err;

	if (!f->wanted && (join->share || !kvc_fence_found(join)))
		return 0;
	mutex_lock(&f->lock);
	f->join = join;
	f->key = kvc_fence_key(join->g, join->writer.slot,
			       join->writer.incarnation);
	f->left_us = s->incarnation ?
		     kvc_fence_key(join->g, join->writer.slot, s->incarnation) : 0;
	WRITE_ONCE(f->members, 0);
	err = kvc_fence_register_all(f, reason);
	mutex_unlock(&f->lock);
	if (!err && f->members)
		pr_info("pool %s: registered as %016llx on %u of %u members: they refuse the writes of a host that was found dead\n",
			join->g->name, f->key, (u32)hweight64(f->members),
			join->set->nr);
	return err;
}

void kvc_fence_stop(struct kvc_join *join)
{
	struct kvc_fence *f = &join->pool->fence;

	if (f->join != join)
		return;
	cancel_work_sync(&f->work);
	f->join = NULL;
}

void kvc_fence_leave(struct kvc_pool *pool)
{
	struct kvc_fence *f = &pool->fence;
	u32 i;

	mutex_lock(&f->lock);
	for (i = 0; i < pool->set.nr; i++) {
		struct kvc_member *m = &pool->set.m[i];
		struct block_device *bdev;

		/* One that is away would keep us, and a new key replaces it. */
		if (!(f->members & BIT_ULL(i)) ||
		    kvc_member_health(m) != KVC_HEALTH_LIVE)
			continue;
		bdev = kvc_member_hold(m);
		if (bdev && kvc_fence_preempt_on(bdev, f->key, f->key))
			pr_info("%s (member %u): our registration could not be taken back\n",
				m->path, i);
		kvc_member_release(m);
	}
	WRITE_ONCE(f->members, 0);
	mutex_unlock(&f->lock);
}

void kvc_fence_init(struct kvc_fence *f)
{
	mutex_init(&f->lock);
	INIT_WORK(&f->work, kvc_fence_work);
}
