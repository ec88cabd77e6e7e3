// SPDX-License-Identifier: GPL-2.0
/* Attachments: the registry, attach, detach, rejoin after a lapse. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <uapi/linux/kvcache.h>
#include "debugfs.h"
#include "grow.h"
#include "label.h"
#include "node.h"
#include "pool.h"

#define KVC_DETACH_MS	30000

/* Guards changes of kvc_pools, which is also read under RCU. */
static DEFINE_MUTEX(kvc_pools_lock);
static DEFINE_XARRAY_ALLOC1(kvc_pools);

static void kvc_pool_ops_gone(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct kvc_pool, ops)->ops_gone);
}

static void kvc_pool_free(struct kref *ref)
{
	struct kvc_pool *pool = container_of(ref, struct kvc_pool, ref);

	kvc_presence_destroy(pool);
	percpu_ref_exit(&pool->ops);
	free_percpu(pool->stats);
	kvfree_rcu(pool, rcu);		/* see kvc_pool_get() */
}

void kvc_pool_put(struct kvc_pool *pool)
{
	kref_put(&pool->ref, kvc_pool_free);
}

struct kvc_pool *kvc_pool_get(u32 number)
{
	struct kvc_pool *pool;
	unsigned long index = number;

	rcu_read_lock();
	if (number)
		pool = xa_load(&kvc_pools, number);
	else
		pool = xa_find(&kvc_pools, &index, ULONG_MAX, XA_PRESENT);
	if (pool && !kref_get_unless_zero(&pool->ref))
		pool = NULL;
	rcu_read_unlock();
	return pool;
}

u32 kvc_pool_numbers(u32 *numbers, u32 room)
{
	struct kvc_pool *pool;
	unsigned long index;
	u32 n = 0;

	mutex_lock(&kvc_pools_lock);
	xa_for_each(&kvc_pools, index, pool) {
		if (n < room)
			numbers[n] = index;
		n++;
	}
	mutex_unlock(&kvc_pools_lock);
	return n;
}

int kvc_pool_enter(struct kvc_pool *pool)
{
	if (likely(percpu_ref_tryget_live(&pool->ops)))
		return 0;
	return READ_ONCE(pool->state) == KVC_POOL_CLOSING ? -ENODEV : -ESTALE;
}

void kvc_pool_leave(struct kvc_pool *pool)
{
	percpu_ref_put(&pool->ops);
}

/* --- lapse and rejoin --- */

void kvc_pool_lapse(struct kvc_pool *pool)
{
	queue_delayed_work(system_unbound_wq, &pool->rejoin, 0);
}

/* No new operation enters; wait for those inside. */
static void kvc_pool_close_ops(struct kvc_pool *pool)
{
	if (percpu_ref_is_dying(&pool->ops))
		return;
	reinit_completion(&pool->ops_gone);
	/* DEAD at first and after a lapse: see kvc_pool_rejoin(). */
	percpu_ref_kill(&pool->ops);
}

/* What the membership was is gone: forget it. */
static void kvc_pool_end_join(struct kvc_pool *pool)
{
	WRITE_ONCE(pool->state, KVC_POOL_LAPSED);
	kvc_pool_close_ops(pool);
	kvc_join_cut(pool->join, -ESTALE);
	wait_for_completion(&pool->ops_gone);
	kvc_join_destroy(pool->join, false);
	pool->join = NULL;
}

/* A membership has begun: serve. */
static void kvc_pool_serve(struct kvc_pool *pool)
{
	pr_info("pool %s: joined: slot %u, incarnation %llu, %llu objects\n",
		pool->g.name, pool->join->writer.slot,
		pool->join->writer.incarnation, pool->join->load_objects);
	kvc_join_run(pool->join);
	WRITE_ONCE(pool->state, KVC_POOL_UP);
	percpu_ref_reinit(&pool->ops);
	/* Who is told can list it. */
	kvc_watch_rescan(&pool->watches);
}

static void kvc_pool_rejoin(struct work_struct *work)
{
	struct kvc_pool *pool = container_of(to_delayed_work(work),
					     struct kvc_pool, rejoin);
	bool granted = pool->mode == KVCACHE_MODE_GRANTED;
	char *reason;
	int err;

	mutex_lock(&pool->life);
	if (pool->state == KVC_POOL_CLOSING)
		goto out;
	if (pool->join) {
		pr_warn("pool %s: the lease has run out: %s\n", pool->g.name,
			granted ? "waiting for a grant" : "joining anew");
		kvc_pool_end_join(pool);
	}
	if (granted)
		goto out;
	reason = kzalloc(KVC_REASON_SIZE, GFP_KERNEL);
	err = kvc_join_create(pool, reason, &pool->join);
	if (!err) {
		kvc_pool_serve(pool);
	} else if (err != -ECANCELED) {
		pr_warn_ratelimited("pool %s: can't join (%d): %s\n",
				    pool->g.name, err,
				    reason && reason[0] ? reason : "trying again");
		queue_delayed_work(system_unbound_wq, &pool->rejoin,
				   msecs_to_jiffies(pool->g.heartbeat_ms));
	}
	kfree(reason);
out:
	mutex_unlock(&pool->life);
}

/* --- attach --- */

static int kvc_pool_alloc(struct kvc_attach_args *args, struct kvc_pool **out)
{
	struct kvc_pool *pool;

	pool = kvzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return -ENOMEM;
	kref_init(&pool->ref);
	mutex_init(&pool->life);
	spin_lock_init(&pool->joining_lock);
	kvc_watches_init(&pool->watches);
	kvc_presence_init(pool);
	init_rwsem(&pool->members_lock);
	init_completion(&pool->ops_gone);
	INIT_DELAYED_WORK(&pool->rejoin, kvc_pool_rejoin);
	pool->id = args->id;
	get_random_bytes(pool->id.attach_id, sizeof(pool->id.attach_id));
	pool->degraded = args->degraded;
	kvc_fence_init(&pool->fence);
	pool->fence.wanted = args->fence;
	pool->mode = args->mode;
	pool->host = args->host;
	pool->hosts = args->hosts;
	pool->staleness_ms = args->staleness_ms;
	if (args->mode == KVCACHE_MODE_GRANTED)
		pool->state = KVC_POOL_LAPSED;
	pool->stats = alloc_percpu(struct kvc_stats);
	if (!pool->stats ||
	    percpu_ref_init(&pool->ops, kvc_pool_ops_gone,
			    PERCPU_REF_INIT_DEAD | PERCPU_REF_ALLOW_REINIT,
			    GFP_KERNEL)) {
		free_percpu(pool->stats);
		kvfree(pool);
		return -ENOMEM;
	}
	*out = pool;
	return 0;
}

/* Where nothing new is placed. */
static u64 kvc_pool_draining(const struct kvc_geometry *g)
{
	return kvc_geometry_in_state(g, KVC_MEMBER_DRAINING) |
	       kvc_geometry_in_state(g, KVC_MEMBER_REMOVED);
}

static int kvc_pool_open_members(struct kvc_pool *pool,
				 struct kvc_attach_args *args,
				 const struct kvc_found_pool *found)
{
	struct kvc_geometry *g = &pool->g;
	const int *order = found->order;
	u32 i;
	int err;

	err = kvc_members_init(&pool->set, g->nr_members);
	if (err)
		return err;
	kvc_presence_follow(pool);
	for (i = 0; i < g->nr_members; i++) {
		struct kvc_member_info *info = &g->members[i];

		if (order[i] < 0) {
			if (kvc_member_state_there(info->state)) {
				info->state = KVC_MEMBER_MISSING;
				info->missing_since = pool->label_sequence;
			}
			continue;
		}
		if (info->state != KVC_MEMBER_DRAINING)
			info->state = KVC_MEMBER_PRESENT;
		info->missing_since = 0;
		err = kvc_member_open(&pool->set, i, args->paths[order[i]]);
		if (!err && kvc_member_blocks(&pool->set.m[i]) < info->blocks) {
			kvc_reason(args->reason,
				   "%s is smaller than when it was formatted",
				   args->paths[order[i]]);
			err = -EUCLEAN;
		}
		if (err) {
			kvc_members_stop(&pool->set);
			return err;
		}
	}
	pool->set.draining = kvc_pool_draining(g);
	kvc_members_start(&pool->set);
	return 0;
}

static int kvc_pool_register(struct kvc_pool *pool, u32 number,
			     struct kvc_attach_args *args)
{
	int err;

	mutex_lock(&kvc_pools_lock);
	/* Not there before it knows its number: see kvc_pool_get(). */
	if (number)
		err = xa_insert(&kvc_pools, number, NULL, GFP_KERNEL);
	else
		err = xa_alloc(&kvc_pools, &number, NULL, xa_limit_31b,
			       GFP_KERNEL);
	if (!err) {
		pool->number = number;
		xa_store(&kvc_pools, number, pool, GFP_KERNEL);
	}
	mutex_unlock(&kvc_pools_lock);
	if (err == -EBUSY)
		kvc_reason(args->reason, "number %u is taken by another pool",
			   number);
	if (err)
		return err;
	pool->node = kvc_node_add(number);
	if (IS_ERR(pool->node))
		pr_warn("pool %s: there will be no /dev/kvcache%u (%ld); /dev/kvcache serves it\n",
			pool->g.name, number, PTR_ERR(pool->node));
	return 0;
}

static void kvc_pool_unregister(struct kvc_pool *pool)
{
	if (!IS_ERR(pool->node))
		kvc_node_del(pool->node);
	mutex_lock(&kvc_pools_lock);
	xa_erase(&kvc_pools, pool->number);
	mutex_unlock(&kvc_pools_lock);
}

static bool kvc_pool_is_member(void *arg, u32 index, const void *label)
{
	return kvc_label_is_ours(arg, index, label);
}

/* Nobody changes the labels of a pool that others use as well. */
static void kvc_pool_take_labels(struct kvc_pool *pool, u64 sequence,
				 const struct kvc_writer *writer)
{
	pool->label_sequence = sequence;
	pool->label_writer = *writer;
	pool->set.is_member_arg = pool;
	smp_store_release(&pool->set.is_member, kvc_pool_is_member);
}

static int kvc_pool_join_shared(struct kvc_pool *pool,
				struct kvc_attach_args *args,
				const struct kvc_found_pool *found)
{
	if (args->mode == KVCACHE_MODE_STATIC && args->hosts > pool->g.nr_slots) {
		kvc_reason(args->reason,
			   "pool %s has %u host slots, not %u: format it with more",
			   pool->g.name, pool->g.nr_slots, args->hosts);
		return -EINVAL;
	}
	/*
	 * Protocol rule 34: a host that reads the labels after us would not
	 * surely find what we found, and nobody here may write them.
	 */
	if (found->cut) {
		kvc_reason(args->reason,
			   "who changed the labels of pool %s was cut short: let a host that has it do it again, or attach it once for one host alone",
			   pool->g.name);
		return -EUCLEAN;
	}
	kvc_pool_take_labels(pool, found->sequence, &found->writer);
	if (args->mode == KVCACHE_MODE_GRANTED)
		return 0;
	return kvc_join_create(pool, args->reason, &pool->join);
}

static int kvc_pool_join_first(struct kvc_pool *pool,
			       struct kvc_attach_args *args,
			       const struct kvc_found_pool *found)
{
	int err;

	if (args->mode != KVCACHE_MODE_EXCLUSIVE)
		return kvc_pool_join_shared(pool, args, found);
	err = kvc_join_create(pool, args->reason, &pool->join);
	if (err)
		return err;
	/*
	 * Members that a crash left behind first catch up, or a second crash
	 * would leave them two behind, as only a snapshot is.
	 */
	if (found->lagging)
		err = kvc_labels_write(&pool->set, &found->g, found->sequence,
				       &found->writer, 0);
	if (!err)
		err = kvc_labels_write(&pool->set, &pool->g,
				       pool->label_sequence,
				       &pool->join->writer, 0);
	if (err) {
		kvc_reason(args->reason, "the labels of pool %s can't be written (%d)",
			   pool->g.name, err);
		kvc_join_destroy(pool->join, true);
		pool->join = NULL;
		return err;
	}
	kvc_pool_take_labels(pool, pool->label_sequence, &pool->join->writer);
	return 0;
}

static void kvc_pool_attached(struct kvc_pool *pool)
{
	struct kvc_join *join = pool->join;

	if (!join) {
		pr_info("pool %s attached as %u: waiting for a grant\n",
			pool->g.name, pool->number);
		return;
	}
	kvc_join_run(join);
	percpu_ref_reinit(&pool->ops);
	pr_info("pool %s attached as %u: slot %u, incarnation %llu, %llu objects loaded in %llu us\n",
		pool->g.name, pool->number, join->writer.slot,
		join->writer.incarnation, join->load_objects,
		join->load_ns / NSEC_PER_USEC);
}

int kvc_pool_attach(struct kvc_attach_args *args, u32 *number)
{
	struct kvc_found_pool *found;
	struct kvc_pool *pool;
	int err;

	found = kvzalloc(sizeof(*found), GFP_KERNEL);
	err = found ? kvc_pool_alloc(args, &pool) : -ENOMEM;
	if (err)
		goto free_found;
	err = kvc_labels_read(args, found);
	if (err)
		goto put;
	pool->g = found->g;
	pool->label_sequence = found->sequence + 1;
	err = kvc_pool_open_members(pool, args, found);
	if (err)
		goto put;
	mutex_lock(&pool->life);	/* a lapse waits until we are through */
	err = kvc_pool_join_first(pool, args, found);
	if (!err)
		err = kvc_pool_register(pool, args->number, args);
	if (err)
		goto stop;
	*number = pool->number;
	kvc_pool_attached(pool);
	mutex_unlock(&pool->life);
	kvfree(found);
	return 0;

stop:
	WRITE_ONCE(pool->state, KVC_POOL_CLOSING);
	if (pool->join)
		kvc_join_destroy(pool->join, true);
	mutex_unlock(&pool->life);
	cancel_delayed_work_sync(&pool->rejoin);
	kvc_fence_leave(pool);
	kvc_members_stop(&pool->set);
put:
	kvc_pool_put(pool);
free_found:
	kvfree(found);
	return err;
}

/* --- a pool whose labels have been changed --- */

/* Go by what they say. */
static void kvc_pool_take_found(struct kvc_pool *pool,
				const struct kvc_found_pool *found)
{
	const size_t fixed = offsetof(struct kvc_geometry, incompat);

	/* The rest is the same, and may be in use. */
	memcpy((u8 *)&pool->g + fixed, (const u8 *)&found->g + fixed,
	       sizeof(pool->g) - fixed);
	kvc_pool_take_labels(pool, found->sequence, &found->writer);
}

/* With members that came or went. No membership, so no I/O but the watch's. */
static int kvc_pool_take_members(struct kvc_pool *pool,
				 struct kvc_attach_args *args,
				 const struct kvc_found_pool *found)
{
	u32 i, nr = found->g.nr_members;
	int err;

	down_write(&pool->members_lock);
	for (i = 0; i < pool->g.nr_members; i++)
		if (found->g.members[i].state == KVC_MEMBER_REMOVED)
			kvc_member_remove(&pool->set.m[i]);
	err = kvc_members_add(&pool->set, nr);
	for (i = pool->g.nr_members; i < nr && !err; i++) {
		/* Open since an attempt that came to nothing, or missing. */
		if (pool->set.m[i].path[0] || found->order[i] < 0)
			continue;
		err = kvc_member_open(&pool->set, i,
				      args->paths[found->order[i]]);
		if (err)
			kvc_reason(args->reason, "%s: can't be opened (%d)",
				   args->paths[found->order[i]], err);
	}
	if (!err) {
		WRITE_ONCE(pool->set.draining, kvc_pool_draining(&found->g));
		kvc_pool_take_found(pool, found);
	}
	up_write(&pool->members_lock);
	return err;
}

/*
 * Only what may be placed where has changed: the membership goes on. Our slot says
 * so when nothing more is on its way to where nothing may come (protocol rule 36).
 */
static int kvc_pool_take_states(struct kvc_pool *pool,
				const struct kvc_found_pool *found)
{
	int err = 0;

	WRITE_ONCE(pool->set.draining, kvc_pool_draining(&found->g));
	if (pool->join)
		err = kvc_join_settle_drain(pool->join);
	if (err)
		return err;
	down_write(&pool->members_lock);
	kvc_pool_take_found(pool, found);
	up_write(&pool->members_lock);
	if (pool->join)
		kvc_join_beat_soon(pool->join);
	return 0;
}

/* End the membership in good order, if there is one; others go on. */
static int kvc_pool_pause(struct kvc_pool *pool)
{
	int was = pool->state;

	if (!pool->join)
		return 0;
	WRITE_ONCE(pool->state, KVC_POOL_LAPSED);
	kvc_pool_close_ops(pool);
	if (!wait_for_completion_timeout(&pool->ops_gone,
					 msecs_to_jiffies(KVC_DETACH_MS))) {
		percpu_ref_resurrect(&pool->ops);
		WRITE_ONCE(pool->state, was);
		return -ETIMEDOUT;
	}
	kvc_join_destroy(pool->join, true);
	pool->join = NULL;
	return 0;
}

int kvc_pool_refresh_found(struct kvc_pool *pool, struct kvc_attach_args *args,
			   const struct kvc_found_pool *found)
{
	int err;

	lockdep_assert_held(&pool->life);
	if (pool->state == KVC_POOL_CLOSING)
		return -ENODEV;
	if (!kvc_geometry_differs(&found->g, &pool->g))
		return 0;
	if (!kvc_geometry_extends(&found->g, &pool->g) || found->cut) {
		kvc_reason(args->reason, found->cut ?
			   "who changed the labels of pool %s was cut short: do it again" :
			   "what the labels say is not what pool %s can have become",
			   pool->g.name);
		return -EUCLEAN;
	}
	if (!kvc_geometry_moves(&found->g, &pool->g))
		return kvc_pool_take_states(pool, found);
	err = kvc_pool_pause(pool);
	if (err)
		return err;
	err = kvc_pool_take_members(pool, args, found);
	if (pool->mode == KVCACHE_MODE_GRANTED)
		return err;	/* and then there is a grant */
	err = err ?: kvc_join_create(pool, args->reason, &pool->join);
	if (!err)
		kvc_pool_serve(pool);
	else
		queue_delayed_work(system_unbound_wq, &pool->rejoin,
				   msecs_to_jiffies(pool->g.heartbeat_ms));
	return err;
}

int kvc_pool_refresh(struct kvc_pool *pool, struct kvc_attach_args *args)
{
	struct kvc_found_pool *found = kvzalloc(sizeof(*found), GFP_KERNEL);
	int err;

	if (!found)
		return -ENOMEM;
	args->degraded = pool->degraded;
	err = kvc_labels_read(args, found);
	if (!err && memcmp(found->g.uuid, pool->g.uuid, sizeof(pool->g.uuid))) {
		kvc_reason(args->reason, "the devices are of pool %s, not of %s",
			   found->g.name, pool->g.name);
		err = -EUCLEAN;
	}
	if (!err && mutex_lock_killable(&pool->life))
		err = -EINTR;
	if (!err) {
		err = kvc_pool_refresh_found(pool, args, found);
		if (!err && found->ragged && pool->join)
			kvc_relabel_heal(pool, args);
		mutex_unlock(&pool->life);
	}
	kvfree(found);
	return err;
}

/* --- grants --- */

static int kvc_pool_join_granted(struct kvc_pool *pool,
				 const struct kvc_grant *grant)
{
	char *reason;
	int err;

	if (grant->incarnation <= pool->grant.incarnation)
		return -ESTALE;
	reason = kzalloc(KVC_REASON_SIZE, GFP_KERNEL);
	pool->grant.slot = grant->slot;
	pool->grant.incarnation = grant->incarnation;
	pool->grant.until = grant->until;
	err = kvc_join_create(pool, reason, &pool->join);
	if (!err)
		kvc_pool_serve(pool);
	else
		pr_warn("pool %s: can't join as slot %u, incarnation %llu (%d): %s\n",
			pool->g.name, grant->slot, grant->incarnation, err,
			reason ? reason : "");
	kfree(reason);
	return err;
}

void kvc_pool_joining(struct kvc_pool *pool, struct kvc_join *join)
{
	spin_lock(&pool->joining_lock);
	pool->joining = join;
	spin_unlock(&pool->joining_lock);
}

static void kvc_join_prolong(struct kvc_join *join, u64 until)
{
	WRITE_ONCE(join->granted_until, max(join->granted_until, until));
}

int kvc_pool_prolong(struct kvc_pool *pool, const struct kvc_grant *grant)
{
	struct kvc_join *join;
	int err = -EAGAIN;

	if (grant->until <= ktime_get_boottime_ns())
		return -ETIMEDOUT;
	spin_lock(&pool->joining_lock);
	join = pool->joining;
	/* What was granted stands still as long as it is being joined by. */
	if (join && pool->grant.slot == grant->slot &&
	    pool->grant.incarnation == grant->incarnation) {
		kvc_join_prolong(join, grant->until);
		err = 0;
	}
	spin_unlock(&pool->joining_lock);
	return err;
}

int kvc_pool_grant(struct kvc_pool *pool, const struct kvc_grant *grant)
{
	struct kvc_join *join;
	int err = 0;

	if (pool->mode != KVCACHE_MODE_GRANTED ||
	    grant->slot >= pool->g.nr_slots)
		return -EINVAL;
	/* Held over a join, and until what was before it is torn down. */
	if (mutex_lock_killable(&pool->life))
		return -EINTR;
	if (pool->state == KVC_POOL_CLOSING)
		err = -ENODEV;
	else if (grant->until <= ktime_get_boottime_ns())
		err = -ETIMEDOUT;
	else if (!pool->join)
		err = kvc_pool_join_granted(pool, grant);
	if (err)
		goto out;
	join = pool->join;
	if (join->writer.slot != grant->slot ||
	    join->writer.incarnation != grant->incarnation ||
	    !kvc_join_lease_ok(join)) {
		err = -ESTALE;
		goto out;
	}
	kvc_join_prolong(join, grant->until);
	kvc_own_want(join, grant->epochs);
out:
	mutex_unlock(&pool->life);
	return err;
}

/* --- detach --- */

static int kvc_pool_drain(struct kvc_pool *pool, unsigned int timeout_ms,
			  bool killable)
{
	unsigned long timeout = msecs_to_jiffies(timeout_ms);
	int was = pool->state;
	long left;

	/* First the state: it ends a rejoin that is waiting. */
	WRITE_ONCE(pool->state, KVC_POOL_CLOSING);
	mutex_lock(&pool->life);
	WRITE_ONCE(pool->state, KVC_POOL_CLOSING);
	if (percpu_ref_is_dying(&pool->ops))
		return 0;	/* lapsed: nobody is inside */
	kvc_pool_close_ops(pool);
	left = killable ?
		wait_for_completion_killable_timeout(&pool->ops_gone, timeout) :
		wait_for_completion_timeout(&pool->ops_gone, timeout);
	if (left > 0)
		return 0;
	percpu_ref_resurrect(&pool->ops);
	WRITE_ONCE(pool->state, was);
	mutex_unlock(&pool->life);
	return left ? -EINTR : -ETIMEDOUT;
}

static void kvc_pool_shutdown(struct kvc_pool *pool, bool leave)
{
	lockdep_assert_held(&pool->life);
	kvc_pool_unregister(pool);
	if (pool->join)
		kvc_join_destroy(pool->join, leave);
	pool->join = NULL;
	mutex_unlock(&pool->life);
	cancel_delayed_work_sync(&pool->rejoin);
	kvc_fence_leave(pool);
	down_write(&pool->members_lock);
	kvc_members_stop(&pool->set);
	WRITE_ONCE(pool->gone, true);
	kvc_watch_end(&pool->watches);
	up_write(&pool->members_lock);
	kvc_pool_put(pool);		/* the registry's */
}

static int kvc_pool_do_detach(u32 number, unsigned int timeout_ms, bool killable)
{
	struct kvc_pool *pool = number ? kvc_pool_get(number) : NULL;
	int err;

	if (!pool)
		return -ENODEV;
	if (xchg(&pool->detaching, 1)) {
		kvc_pool_put(pool);
		return -EBUSY;
	}
	err = kvc_pool_drain(pool, timeout_ms ?: KVC_DETACH_MS, killable);
	if (err) {
		xchg(&pool->detaching, 0);
	} else {
		pr_info("pool %s (%u) detached\n", pool->g.name, number);
		kvc_pool_shutdown(pool, true);
	}
	kvc_pool_put(pool);
	return err;
}

int kvc_pool_detach(u32 number, unsigned int timeout_ms)
{
	return kvc_pool_do_detach(number, timeout_ms, true);
}

int kvc_pool_abandon(struct kvc_pool *pool)
{
	if (xchg(&pool->detaching, 1))
		return -EBUSY;
	WRITE_ONCE(pool->set.abandoned, true);
	WRITE_ONCE(pool->state, KVC_POOL_CLOSING);
	mutex_lock(&pool->life);
	if (pool->join)
		kvc_join_cut(pool->join, -ESTALE);
	if (!percpu_ref_is_dying(&pool->ops)) {
		kvc_pool_close_ops(pool);
		wait_for_completion(&pool->ops_gone);
	}
	pr_info("pool %s (%u) abandoned, as a crash would\n", pool->g.name,
		pool->number);
	kvc_pool_shutdown(pool, false);
	return 0;
}

void kvc_pools_exit(void)
{
	struct kvc_pool *pool;

	while ((pool = kvc_pool_get(0))) {
		u32 number = pool->number;

		kvc_pool_put(pool);
		if (kvc_pool_do_detach(number, 0, false) == -ETIMEDOUT)
			pr_warn("pool %u: still draining\n", number);
	}
	xa_destroy(&kvc_pools);
}
