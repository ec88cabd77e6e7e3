// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/kvcache.h>
#include "batch.h"
#include "cluster.h"
#include "fence.h"
#include "node.h"
#include "share.h"
#include "slot.h"

/* --- grants --- */

/* The user's list, as an epoch for every AG of the pool. */
static int kvc_grant_epochs(const struct kvcache_grant *u, u32 nr_ags,
			    u64 *epochs)
{
	const struct kvcache_grant_ag __user *from = u64_to_user_ptr(u->ags);
	struct kvcache_grant_ag a;
	u32 i, next = 0;

	for (i = 0; i < u->nr_ags; i++) {
		if (copy_from_user(&a, &from[i], sizeof(a)))
			return -EFAULT;
		if (a.reserved || a.ag < next || a.ag >= nr_ags || !a.epoch ||
		    a.epoch > KVC_MAX_EPOCH)
			return -EINVAL;
		epochs[a.ag] = a.epoch;
		next = a.ag + 1;
	}
	return 0;
}

static int kvc_grant_pool(struct kvc_pool *pool, const struct kvcache_grant *u)
{
	struct kvc_grant grant = {
		.slot = u->slot,
		.incarnation = u->incarnation,
		.until = u->deadline_ns,
	};
	u32 nr_ags = READ_ONCE(pool->g.nr_ags);
	int err;

	if (u->nr_ags > nr_ags)
		return -EINVAL;
	/* For all that there can be: the pool may grow meanwhile. */
	grant.epochs = kvcalloc(KVC_MAX_AGS, sizeof(*grant.epochs), GFP_KERNEL);
	if (!grant.epochs)
		return -ENOMEM;
	err = kvc_grant_epochs(u, nr_ags, grant.epochs) ?:
	      kvc_pool_grant(pool, &grant);
	kvfree(grant.epochs);
	return err;
}

static int kvc_grant_prolong(struct kvc_pool *pool,
			     const struct kvcache_grant *u)
{
	const struct kvc_grant grant = {
		.slot = u->slot,
		.incarnation = u->incarnation,
		.until = u->deadline_ns,
	};

	if (u->ags || u->nr_ags)
		return -EINVAL;
	return kvc_pool_prolong(pool, &grant);
}

long kvc_cluster_grant(void __user *arg)
{
	struct kvcache_grant u;
	struct kvc_pool *pool;
	int err;

	err = kvc_admin_struct_in(&u, sizeof(u), arg);
	if (err)
		return err;
	if (u.flags & ~KVCACHE_GRANT_FLAGS || u.reserved || !u.pool ||
	    !u.incarnation)
		return -EINVAL;
	pool = kvc_pool_get(u.pool);
	if (!pool)
		return -ENODEV;
	err = u.flags & KVCACHE_GRANT_PROLONG ? kvc_grant_prolong(pool, &u) :
						kvc_grant_pool(pool, &u);
	kvc_pool_put(pool);
	return err;
}

/* --- AGs --- */

static u32 kvc_ag_state(const struct kvc_ag *ag)
{
	const struct kvc_follow *f = &ag->follow;
	u64 wanted = READ_ONCE(ag->wanted);
	u32 home = kvc_ag_home(ag->join->g, ag->number);

	lockdep_assert_held(&ag->lock);
	if (READ_ONCE(ag->releasing))
		return KVCACHE_AG_RELEASING;
	if (READ_ONCE(ag->owned))
		return !ag->join->share || wanted == KVC_EPOCH_ANY ||
				       wanted == ag->journal.epoch ?
			       KVCACHE_AG_OWNED : KVCACHE_AG_RELEASING;
	/* By an earlier grant, and no longer wanted: see kvc_own_begin(). */
	if (ag->changing && !wanted)
		return KVCACHE_AG_RELEASING;
	if (kvc_member_health(&ag->join->set->m[home]) == KVC_HEALTH_FAILED)
		return KVCACHE_AG_LOST;
	if (wanted)
		return KVCACHE_AG_TAKING;
	if (READ_ONCE(f->behind))
		return f->epoch ? KVCACHE_AG_LOADING : KVCACHE_AG_UNKNOWN;
	return KVCACHE_AG_FOLLOWED;
}

static void kvc_ag_tell(struct kvc_ag *ag, struct kvcache_ag_info *i)
{
	struct kvc_join *join = ag->join;
	struct kvc_follow *f = &ag->follow;
	u32 k;

	memset(i, 0, sizeof(*i));
	i->ag = ag->number;
	i->home = kvc_ag_home(join->g, ag->number);
	i->shown = kvc_slots_shown(join, ag->number, &i->slot);
	if (READ_ONCE(ag->owned)) {
		i->epoch = ag->journal.epoch;
		i->position = kvc_journal_end(&ag->journal);
	} else {
		i->epoch = READ_ONCE(f->epoch);
		i->position = READ_ONCE(f->position);
	}
	i->next_epoch = max3(READ_ONCE(f->next_epoch), i->epoch + 1,
			     i->shown + 1);
	i->error = -READ_ONCE(f->error);
	mutex_lock(&ag->lock);
	i->state = kvc_ag_state(ag);
	for (k = 0; k < ag->nr; k++)
		i->objects += atomic_read(&ag->segments[k].live);
	mutex_unlock(&ag->lock);
}

/* Without a lease nothing is known of them but how many there are. */
static int kvc_ags_fill(struct kvc_pool *pool, struct kvcache_ags *a)
{
	struct kvcache_ag_info __user *to = u64_to_user_ptr(a->ags);
	struct kvcache_ag_info info;
	u32 i, room = a->count;
	int err;

	a->total = pool->g.nr_ags;
	a->count = 0;
	err = kvc_pool_enter(pool);
	if (err)
		return err;
	for (i = a->first; i < a->total && a->count < room && !err; i++) {
		kvc_ag_tell(&pool->join->ags[i], &info);
		if (copy_to_user(&to[a->count++], &info, sizeof(info)))
			err = -EFAULT;
	}
	kvc_pool_leave(pool);
	return err;
}

long kvc_cluster_ags(struct file *file, void __user *arg)
{
	struct kvcache_ags a;
	struct kvc_pool *pool;
	int err;

	err = kvc_struct_in(&a, sizeof(a), arg);
	if (!err && a.flags)
		err = -EINVAL;
	err = err ?: kvc_node_choose(file, &a.pool);
	if (err)
		return err;
	pool = kvc_pool_get(a.pool);
	if (!pool)
		return -ENODEV;
	a.pool = pool->number;
	err = kvc_ags_fill(pool, &a);
	kvc_pool_put(pool);
	return err ?: kvc_struct_out(arg, &a, sizeof(a), a.size);
}

/* --- slots --- */

static u32 kvc_slot_state(struct kvc_join *join, u32 slot)
{
	if (test_bit(slot, join->slots->unknown))
		return KVCACHE_SLOT_UNKNOWN;
	return kvc_slot(join, slot)->state;
}

static void kvc_slot_tell(struct kvc_join *join, u32 slot,
			  struct kvcache_slot_info *i)
{
	const struct kvc_slot_info *s = kvc_slot(join, slot);

	memset(i, 0, sizeof(*i));
	i->slot = slot;
	i->state = kvc_slot_state(join, slot);
	i->incarnation = s->incarnation;
	i->sequence = s->sequence;
	if (join->share && join->state == KVC_SLOT_ACTIVE)
		i->silent_ms = kvc_share_silence(join, slot);
	i->fenced = kvc_fence_done(join, slot);
	memcpy(i->nqn, s->nqn, sizeof(i->nqn));
	memcpy(i->node, s->node, sizeof(i->node));
}

static int kvc_slots_fill(struct kvc_join *join, struct kvcache_slots *a)
{
	struct kvcache_slot_info __user *to = u64_to_user_ptr(a->slots);
	struct kvcache_slot_info *info = kmalloc(sizeof(*info), GFP_KERNEL);
	u32 i, room = a->count;
	int err = 0;

	if (!info)
		return -ENOMEM;
	a->count = 0;
	for (i = a->first; i < a->total && a->count < room && !err; i++) {
		kvc_slots_lock(join);
		kvc_slot_tell(join, i, info);
		kvc_slots_unlock(join);
		if (copy_to_user(&to[a->count++], info, sizeof(*info)))
			err = -EFAULT;
	}
	kfree(info);
	return err;
}

/* With no membership: by one that is made for this and never begins. */
static int kvc_slots_peek(struct kvc_pool *pool, struct kvcache_slots *a)
{
	struct kvc_join *join;
	int err;

	if (mutex_lock_killable(&pool->life))
		return -EINTR;
	if (pool->state == KVC_POOL_CLOSING) {
		err = -ENODEV;
	} else if (pool->join) {
		err = -EAGAIN;	/* it has just begun, or is about to end */
	} else {
		err = kvc_join_peek(pool, &join);
		if (!err) {
			err = kvc_slots_fill(join, a);
			kvc_join_unpeek(join);
		}
	}
	mutex_unlock(&pool->life);
	return err;
}

static int kvc_slots_tell(struct kvc_pool *pool, struct kvcache_slots *a)
{
	int err;

	a->total = pool->g.nr_slots;
	err = kvc_pool_enter(pool);
	if (err == -ESTALE)
		return kvc_slots_peek(pool, a);
	if (err)
		return err;
	/* A pass reads them; alone, nobody else has written since the attach. */
	if (pool->join->share)
		err = kvc_share_wait(pool->join->share,
				     kvc_share_ticket(pool->join->share),
				     kvc_deadline(0));
	/* That a pass was not good is no news of slots. */
	if (err != -ESTALE)
		err = kvc_slots_fill(pool->join, a);
	kvc_pool_leave(pool);
	return err;
}

long kvc_cluster_slots(struct file *file, void __user *arg)
{
	struct kvcache_slots a;
	struct kvc_pool *pool;
	int err;

	err = kvc_struct_in(&a, sizeof(a), arg);
	if (!err && a.flags)
		err = -EINVAL;
	err = err ?: kvc_node_choose(file, &a.pool);
	if (err)
		return err;
	pool = kvc_pool_get(a.pool);
	if (!pool)
		return -ENODEV;
	a.pool = pool->number;
	err = kvc_slots_tell(pool, &a);
	kvc_pool_put(pool);
	return err ?: kvc_struct_out(arg, &a, sizeof(a), a.size);
}
