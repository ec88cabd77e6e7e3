// SPDX-License-Identifier: GPL-2.0
/* Put of one key: look, reserve, send, record, commit. */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include "compat.h"
#include "object.h"
#include "pin.h"

/**
 * struct kvc_put_op - a put, which may outlive its caller
 * @commit: in the journal
 * @ref: the caller's, the transfer's, the commit's; with the last one goes the
 *	segment's writer
 * @join: attachment
 * @r: run and entry
 * @published: the entry is live
 * @error: of the commit
 * @done: the commit is settled
 * @op: with @op->notify: whom to tell of the commit
 * @followed: in the AG's list @watched, until @op is told
 * @settled: the commit is. It and @followed under the AG's @watch_lock
 * @deadline: @op's
 */
struct kvc_put_op {
	struct kvc_commit commit;
	struct kref ref;
	struct kvc_join *join;
	struct kvc_reservation r;
	bool published;
	int error;
	struct completion done;
	struct kvc_op *op;
	struct list_head followed;
	bool settled;
	unsigned long deadline;
};

static struct kmem_cache *kvc_put_cache;

static void kvc_put_free(struct kref *ref)
{
	struct kvc_put_op *put = container_of(ref, struct kvc_put_op, ref);

	if (!put->published)
		kvc_ag_release(&put->r);
	kmem_cache_free(kvc_put_cache, put);
}

static void kvc_put_xfer_released(void *arg)
{
	struct kvc_put_op *put = arg;

	kref_put(&put->ref, kvc_put_free);
}

/* The commit is settled: tell the op of it, unless that has given up. */
static void kvc_put_tell(struct kvc_put_op *put)
{
	struct kvc_ag *ag = put->r.segment->ag;
	unsigned long flags;
	bool tell;

	spin_lock_irqsave(&ag->watch_lock, flags);
	put->settled = true;
	tell = !list_empty(&put->followed);
	list_del_init(&put->followed);
	spin_unlock_irqrestore(&ag->watch_lock, flags);
	if (tell)
		put->op->notify(put->op);
}

/* From now on the op is told when the commit is settled, or too late. */
static void kvc_put_watch(struct kvc_put_op *put)
{
	struct kvc_ag *ag = put->r.segment->ag;
	unsigned long flags;
	bool settled;

	spin_lock_irqsave(&ag->watch_lock, flags);
	settled = put->settled;
	if (!settled)
		list_add_tail(&put->followed, &ag->watched);
	spin_unlock_irqrestore(&ag->watch_lock, flags);
	if (settled)
		put->op->notify(put->op);
}

/* A put whose deadline has passed, out of the list. */
static struct kvc_put_op *kvc_put_overdue(struct kvc_ag *ag)
{
	struct kvc_put_op *put, *found = NULL;

	spin_lock_irq(&ag->watch_lock);
	list_for_each_entry(put, &ag->watched, followed) {
		if (time_before(jiffies, put->deadline))
			continue;
		list_del_init(&put->followed);
		found = put;
		break;
	}
	spin_unlock_irq(&ag->watch_lock);
	return found;
}

void kvc_put_follow_work(struct work_struct *work)
{
	struct kvc_ag *ag = container_of(work, struct kvc_ag, watch);
	struct kvc_journal *j = &ag->journal;
	struct kvc_put_op *put;
	int err;

	do {
		err = kvc_journal_wait(j, kvc_journal_end(j),
				       jiffies + HZ / 10);
		/* The op, which is told, holds a reference of its own. */
		while ((put = kvc_put_overdue(ag)))
			put->op->notify(put->op);
	} while (err == -ETIMEDOUT);
}

void kvc_put_follow(struct kvc_op *op)
{
	struct kvc_ag *ag = op->put->r.segment->ag;

	queue_work(op->join->wq, &ag->watch);
}

/* In the journal's completion, or when it is killed. */
static void kvc_put_committed(struct kvc_commit *c, int error)
{
	struct kvc_put_op *put = container_of(c, struct kvc_put_op, commit);
	struct kvc_join *join = put->join;

	put->error = error;
	/* The join is freed an RCU grace period after its last writer. */
	rcu_read_lock();
	if (error) {
		atomic_or(KVC_ENTRY_DEAD, &put->r.entry->where);
	} else {
		put->published = true;
		kvc_ag_publish(&put->r);
		kvc_presence_add(join->pool, put->r.entry);
	}
	if (wq_has_sleeper(&join->settle_wait))
		wake_up_all(&join->settle_wait);
	rcu_read_unlock();
	complete(&put->done);
	if (put->op)
		kvc_put_tell(put);
	kref_put(&put->ref, kvc_put_free);
}

/* The put fails before its record is journaled. */
static void kvc_put_abort(struct kvc_op *op, int error)
{
	struct kvc_put_op *put = op->put;
	struct kvc_join *join = op->join;

	op->status = error;
	op->put = NULL;
	kvc_pin_clear(put->r.entry);
	atomic_or(KVC_ENTRY_DEAD, &put->r.entry->where);
	kvc_index_remove(&join->index, put->r.entry);
	if (wq_has_sleeper(&join->settle_wait))
		wake_up_all(&join->settle_wait);
	kref_put(&put->ref, kvc_put_free);
}

/* How long is the queue that a put here would stand in? */
static unsigned int kvc_ag_queue(const struct kvc_ag *ag)
{
	const struct kvc_segment *seg = READ_ONCE(ag->open[KVC_STREAM_PUT]);
	struct kvc_member_set *set = ag->join->set;
	u64 left = seg ? seg->members : 0;
	unsigned int n = 0;

	while (left) {
		n += atomic_read(&set->m[__ffs64(left)].inflight);
		left &= left - 1;
	}
	return n;
}

/*
 * By CPU; another one, in turn, if its members have shorter queues. A CPU stays
 * with an AG until it has begun a segment there and then goes to the next, so
 * that all AGs fill, and later evict, at the same pace.
 */
static u32 kvc_put_first_ag(struct kvc_join *join)
{
	u32 nr = join->g->nr_ags;
	u32 a = (raw_smp_processor_id() +
		 this_cpu_read(*join->cpu_ag)) % nr;
	u32 b = (u32)atomic_inc_return(&join->next_ag) % nr;

	return kvc_ag_queue(&join->ags[b]) < kvc_ag_queue(&join->ags[a]) ? b : a;
}

static int kvc_put_reserve(struct kvc_op *op, struct kvc_reservation *r)
{
	struct kvc_join *join = op->join;
	u32 i, nr = join->g->nr_ags, first = kvc_put_first_ag(join);
	bool quota = false;
	int err = -EIO;

	for (i = 0; i < nr; i++) {
		struct kvc_ag *ag = &join->ags[(first + i) % nr];
		int ret;

		if (kvc_ag_drains(ag))
			continue;
		if (!kvc_ag_takes_puts(ag)) {
			/* Away for now, or for good? */
			if (ag->owned && !READ_ONCE(ag->journal.killed))
				err = -EAGAIN;
			continue;
		}
		/* Another AG may have room for its pin. */
		if (op->pin && !kvc_pin_may(ag, op->bytes)) {
			quota = true;
			continue;
		}
		ret = kvc_ag_reserve(ag, KVC_STREAM_PUT, op->key->hash,
				     op->key->len, op->bytes, op->depth,
				     op->expiry, r);
		if (!ret && !r->offset)
			this_cpu_inc(*join->cpu_ag);
		if (!ret && op->pin) {
			ret = kvc_pin_set(r->entry, op->pin);
			if (ret)
				kvc_ag_release(r);
			/* Another put was faster. */
			if (ret == -EDQUOT) {
				quota = true;
				continue;
			}
		}
		if (ret != -EAGAIN)
			return ret;
		err = -EAGAIN;
	}
	if (err == -EIO && READ_ONCE(join->stopping))
		return -ESTALE;		/* its journals were ended, not broken */
	/* Others have them all, for now. */
	if (err == -EIO && join->share && !quota)
		return -EAGAIN;
	return err == -EIO && quota ? -EDQUOT : err;
}

/*
 * The key has an entry that can't be hit: a dead one is taken out of the way,
 * an expired one is killed first. Return: 0: try again; -EBUSY: a put of the
 * key is on its way; -EAGAIN: it is being moved or deleted.
 */
static int kvc_put_clear_way(struct kvc_op *op, struct kvc_entry *e,
			     struct kvc_segment *seg)
{
	struct kvc_join *join = op->join;
	struct kvc_ag *ag = seg->ag;
	u32 where = atomic_read(&e->where);
	int err = 0;

	if (where & KVC_ENTRY_DEAD) {
		kvc_index_remove(&join->index, e);
		return 0;
	}
	if (!(where & KVC_ENTRY_LIVE))
		return -EBUSY;
	if (!kvc_entry_expired(e, ktime_get_real_seconds()))
		return 0;
	mutex_lock(&ag->lock);
	/* Being moved. A DELETE on its way makes no difference. */
	if (ag->moving == seg &&
	    (atomic_read(&e->where) & KVC_ENTRY_DYING)) {
		err = -EBUSY;
	} else {
		kvc_pin_clear(e);
		kvc_ag_entry_died(e);
		kvc_index_remove(&join->index, e);
		kvc_op_stat(op, KVC_STAT_EXPIRED);
	}
	mutex_unlock(&ag->lock);
	return err;
}

/* Is the object there? 0: no; -EEXIST; -EAGAIN: on a member that is away. */
static int kvc_put_look(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	struct kvc_entry *e;
	int err = 0;

	rcu_read_lock();
	e = kvc_index_find(&join->index, &op->key->hash,
			   ktime_get_real_seconds());
	if (e) {
		op->length = e->bytes;
		err = kvc_run_health(join, kvc_entry_segment(e),
				     kvc_entry_offset(e), e->bytes) ?: -EEXIST;
	}
	rcu_read_unlock();
	if (err != -ENOENT)
		return err;
	/* On a member that is gone: a get misses, so a put may have the key. */
	kvc_forget_others(op, false);
	err = kvc_delete_own_of(op);
	return err && err != -ENOENT ? -EAGAIN : 0;
}

static int kvc_put_claim(struct kvc_op *op, struct kvc_entry *mine)
{
	struct kvc_join *join = op->join;
	struct kvc_segment *seg;
	struct kvc_entry *e;
	int err;

	for (;;) {
		rcu_read_lock();
		e = kvc_index_claim(&join->index, mine);
		if (IS_ERR_OR_NULL(e)) {
			rcu_read_unlock();
			return e ? -EAGAIN : 0;
		}
		seg = kvc_entry_segment(e);
		atomic_inc(&seg->readers);
		rcu_read_unlock();
		err = kvc_put_look(op) ?: kvc_put_clear_way(op, e, seg);
		kvc_segment_put_reader(seg);
		if (err)
			return err;
	}
}

static int kvc_put_send(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	struct kvc_put_op *put = op->put;
	struct iov_iter iter = op->iter;	/* it may be sent again */
	struct kvc_xfer_desc d = {
		.set = join->set,
		.g = join->g,
		.write = true,
		.life = KVC_LIFE_MEDIUM,
		.crc = !(join->g->flags & KVC_POOL_NO_DATA_CRC),
		.crc_seed = kvc_data_crc_seed(op->key->hash),
		.segment = put->r.segment->s.number,
		.offset = (u64)put->r.offset << KVC_BLOCK_SHIFT,
		.bytes = op->bytes,
		.want = op->bytes,
		.iter = &iter,
		.release = kvc_put_xfer_released,
		.release_arg = put,
		.ended = op->notify ? kvc_op_xfer_ended : NULL,
		.ended_arg = op,
	};

	kref_get(&put->ref);
	op->xfer = kvc_xfer_start(&d);
	if (!IS_ERR(op->xfer))
		return 0;
	kref_put(&put->ref, kvc_put_free);
	return PTR_ERR(op->xfer);
}

void kvc_put_start(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	u64 bytes = iov_iter_count(&op->iter);
	struct kvc_put_op *put;
	struct kvc_reservation r;
	int err;

	op->xfer = NULL;
	op->put = NULL;
	op->status = -EINVAL;
	if (!bytes)
		return;
	op->status = -EFBIG;
	if (bytes > kvc_max_object(join->g))
		return;
	op->bytes = (u32)bytes;
	op->status = -ESTALE;
	if (!kvc_join_lease_ok(join))
		return;
	op->status = kvc_put_look(op);
	if (op->status)
		goto out;

	/* It may outlive the call (deadline), so it can't be on the stack. */
	put = kmem_cache_zalloc(kvc_put_cache, GFP_KERNEL);
	op->status = -ENOMEM;
	if (!put)
		return;
	op->status = kvc_put_reserve(op, &r);
	if (op->status) {
		kmem_cache_free(kvc_put_cache, put);
		return;
	}
	kref_init(&put->ref);
	init_completion(&put->done);
	INIT_LIST_HEAD(&put->followed);
	put->join = join;
	put->r = r;
	err = kvc_put_claim(op, r.entry);
	if (err) {
		kvc_pin_clear(r.entry);
		kref_put(&put->ref, kvc_put_free);
		op->status = err;
		goto out;
	}
	op->put = put;
	err = kvc_put_send(op);
	if (err)
		kvc_put_abort(op, err);
	else
		op->status = -EINPROGRESS;
	return;
out:
	if (op->status == -EEXIST)
		kvc_op_stat(op, KVC_STAT_PUT_EXISTS);
}

/* Append the record; wait for room in the ring if need be. */
static int kvc_put_append(struct kvc_op *op, const struct kvc_put *rec)
{
	struct kvc_put_op *put = op->put;
	struct kvc_ag *ag = put->r.segment->ag;
	struct kvc_journal *j = &ag->journal;
	u32 reserve = kvc_ag_put_reserve(ag);
	int err;

	kref_get(&put->ref);
	put->commit.done = kvc_put_committed;
	put->op = op->notify ? op : NULL;
	put->deadline = op->deadline;
	for (;;) {
		mutex_lock(&ag->lock);
		err = kvc_ag_append_put(ag, rec, &put->r, &put->commit, reserve);
		if (!err)
			kvc_budget_earn(&ag->budget, op->bytes);
		mutex_unlock(&ag->lock);
		/*
		 * Who gives the AG up waits for us, with its worker stopped, so
		 * there will be no room: another AG may have some.
		 */
		if (err != -EAGAIN || READ_ONCE(ag->releasing))
			break;
		if (time_after_eq(jiffies, op->deadline) ||
		    fatal_signal_pending(current)) {
			err = -ETIMEDOUT;
			break;
		}
		err = kvc_journal_make_room(j, op->deadline);
		if (err == -ENOSPC) {
			/* Until the worker's checkpoint has trimmed the ring. */
			kvc_ag_kick(ag);
			wait_event_killable_timeout(j->wait,
					kvc_journal_used(j) + reserve <
							op->join->g->ring_blocks ||
						READ_ONCE(j->killed),
					min_t(long, HZ / 10,
					      max_t(long, 1, op->deadline - jiffies)));
			err = 0;
		}
		if (err)
			break;
	}
	/* The journal has ended, without this: the AG was given up. */
	if (err == -EIO)
		err = -EAGAIN;
	if (err)
		kref_put(&put->ref, kvc_put_free);
	else if (put->op)
		kvc_put_watch(put);
	return err;
}

void kvc_put_record(struct kvc_op *op)
{
	struct kvc_put_op *put = op->put;
	struct kvc_put rec = {
		.hash = op->key->hash,
		.bytes = op->bytes,
		.tenant = op->key->tenant,
		.key_len = op->key->len,
		.depth = op->depth,
		.expiry = op->expiry,
		.pin = op->pin,
		.key = op->key->bytes,
	};
	int err;

	if (op->status != -EINPROGRESS)
		return;
	err = kvc_xfer_wait(op->xfer, kvc_op_xfer_deadline(op), &rec.data_crc);
	op->busy = kvc_xfer_busy(op->xfer);
	kvc_xfer_put(op->xfer);
	op->xfer = NULL;
	if (!err && !kvc_join_lease_ok(op->join))
		err = -ESTALE;
	if (!err) {
		/* protocol rule 8: data durable, then its journal block */
		put->r.entry->data_crc = rec.data_crc;
		rec.segment = put->r.segment->s.number;
		rec.generation = put->r.segment->s.generation;
		rec.offset = put->r.offset;
		err = kvc_put_append(op, &rec);
	}
	if (err) {
		if (err == -ETIMEDOUT)
			kvc_op_stat(op, KVC_STAT_TIMEOUTS);
		kvc_put_abort(op, err);
	}
}

void kvc_put_finish(struct kvc_op *op)
{
	struct kvc_put_op *put = op->put;
	int err;

	if (op->status != -EINPROGRESS)
		return;
	err = kvc_journal_wait(&put->r.segment->ag->journal,
			       put->commit.position + 1, op->deadline);
	if (err == -ETIMEDOUT) {
		kvc_op_stat(op, KVC_STAT_TIMEOUTS);
	} else if (err != -EINTR) {
		/* Settled, or about to be by whoever made it durable. */
		wait_for_completion(&put->done);
		err = put->error;
		if (err)
			kvc_index_remove(&op->join->index, put->r.entry);
	}
	/* protocol rule 2 */
	if (!err && !kvc_join_lease_ok(op->join))
		err = -ESTALE;
	op->put = NULL;
	op->status = err;
	kref_put(&put->ref, kvc_put_free);
	if (err)
		return;
	op->length = op->bytes;
	kvc_op_stat(op, KVC_STAT_PUTS);
	kvc_stat_add(op->join->pool->stats, KVC_STAT_PUT_BYTES, op->bytes);
}

static bool kvc_put_settled(struct kvc_op *op)
{
	struct kvc_entry *e;
	bool settled = true;

	rcu_read_lock();
	e = kvc_index_find_any(&op->join->index, &op->key->hash);
	if (e)
		settled = atomic_read(&e->where) &
			  (KVC_ENTRY_LIVE | KVC_ENTRY_DEAD);
	rcu_read_unlock();
	return settled;
}

static bool kvc_put_space(struct kvc_join *join)
{
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++)
		if (kvc_ag_takes_puts(&join->ags[i]) &&
		    !kvc_ag_drains(&join->ags[i]) &&
		    READ_ONCE(join->ags[i].standby))
			return true;
	return READ_ONCE(join->stopping);
}

/* Sleep until a put that got -EBUSY or -EAGAIN is worth another try. */
static void kvc_put_wait(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	/* In pieces: the wake-up may be for another's benefit. */
	long left = min_t(long, op->deadline - jiffies, HZ / 20 + 1);

	if (left <= 0)
		return;
	/* What it waits for is there, but did not help: don't spin. */
	if (op->status == -EBUSY ? kvc_put_settled(op) : kvc_put_space(join))
		schedule_timeout_killable(1);
	else if (op->status == -EBUSY)
		wait_event_killable_timeout(join->settle_wait,
					    kvc_put_settled(op), left);
	else
		wait_event_killable_timeout(join->space_wait,
					    kvc_put_space(join), left);
}

static bool kvc_put_again(const struct kvc_op *op)
{
	return (op->status == -EBUSY || op->status == -EAGAIN) && !op->put;
}

void kvc_put_retry(struct kvc_op *op)
{
	while (kvc_put_again(op) && time_before(jiffies, op->deadline) &&
	       READ_ONCE(op->join->pool->state) == KVC_POOL_UP &&
	       !fatal_signal_pending(current)) {
		kvc_put_wait(op);
		kvc_put_start(op);
		kvc_put_record(op);
		kvc_put_finish(op);
	}
	if (op->status == -EBUSY)
		op->status = -EAGAIN;
}

int kvc_put_init(void)
{
	kvc_put_cache = kmem_cache_create("kvcache_put",
					  sizeof(struct kvc_put_op), 0,
					  SLAB_HWCACHE_ALIGN, NULL);
	return kvc_put_cache ? 0 : -ENOMEM;
}

void kvc_put_exit(void)
{
	kmem_cache_destroy(kvc_put_cache);
}
