// SPDX-License-Identifier: GPL-2.0
/* Put, get, exists and delete of one key. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mm.h>
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
 */
struct kvc_put_op {
	struct kvc_commit commit;
	struct kref ref;
	struct kvc_join *join;
	struct kvc_reservation r;
	bool published;
	int error;
	struct completion done;
};

static struct kmem_cache *kvc_put_cache;

int kvc_key_set(struct kvc_join *join, struct kvc_key *key, u32 tenant, u32 len)
{
	if (!len || len > KVC_MAX_KEY)
		return -EINVAL;
	key->tenant = tenant;
	key->len = len;
	key->hash = kvc_key_hash(join->g->hash_key, tenant, key->bytes, len);
	return 0;
}

static void kvc_op_stat(struct kvc_op *op, enum kvc_stat which)
{
	kvc_stat_inc(op->join->pool->stats, which);
}

/*
 * Can this run be read? 0; -EAGAIN: a member that is needed is suspect;
 * -ENOENT: it is gone (and the object may come back with it).
 */
static int kvc_run_health(struct kvc_join *join, const struct kvc_segment *seg,
			  u32 offset, u32 bytes)
{
	u64 at = (u64)offset << KVC_BLOCK_SHIFT;
	u64 left = (u64)kvc_bytes_to_blocks(bytes) << KVC_BLOCK_SHIFT;
	int err = 0;

	if (likely(kvc_segment_healthy(seg)))
		return 0;
	while (left) {
		u64 run = left;
		struct kvc_place p = kvc_place_data(join->g, seg->s.number, at,
						    &run);
		int health = kvc_member_health(&join->set->m[p.member]);

		if (health == KVC_HEALTH_FAILED)
			return -ENOENT;
		if (health == KVC_HEALTH_SUSPECT)
			err = -EAGAIN;
		at += run;
		left -= run;
	}
	return err;
}

/* --- get --- */

static void kvc_get_released(void *arg)
{
	kvc_segment_put_reader(arg);
}

/* Find the object and take a reader; protocol rule 16: one RCU section. */
static int kvc_get_find(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	struct kvc_entry *e;
	u32 where;
	int err = -ENOENT;

	rcu_read_lock();
	e = kvc_index_find(&join->index, &op->key->hash,
			   ktime_get_real_seconds());
	if (!e || !kvc_join_lease_ok(join))	/* protocol rule 3 */
		goto out;
	where = atomic_read(&e->where);
	op->seg = kvc_entry_segment(e);
	op->place = where & KVC_ENTRY_OFFSET;
	op->bytes = e->bytes;
	op->crc = e->data_crc;
	op->length = e->bytes;
	err = kvc_run_health(join, op->seg, op->place, op->bytes);
	if (err)
		goto out;
	atomic_inc(&op->seg->readers);
	/* A shared line is written once per eviction pass, not per get. */
	if (!(where & KVC_ENTRY_TOUCHED))
		atomic_or(KVC_ENTRY_TOUCHED, &e->where);
out:
	rcu_read_unlock();
	return err;
}

static int kvc_get_range(struct kvc_op *op, u64 *from, u64 *want)
{
	u64 room = iov_iter_count(&op->iter);

	*from = 0;
	*want = op->bytes;
	if (!op->range)
		return room < op->bytes ? -EMSGSIZE : 0;
	if (op->offset >= op->bytes || !room)
		return -EINVAL;
	*from = op->offset;
	*want = min_t(u64, room, op->bytes - op->offset);
	return 0;
}

void kvc_get_start(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	struct kvc_xfer_desc d = {
		.set = join->set,
		.g = join->g,
		.crc = !(join->g->flags & KVC_POOL_NO_DATA_CRC),
		.crc_seed = kvc_data_crc_seed(op->key->hash),
		.iter = &op->iter,
		.release = kvc_get_released,
	};

	op->status = kvc_get_find(op);
	if (op->status) {
		if (op->status == -ENOENT)
			kvc_op_stat(op, KVC_STAT_MISSES);
		return;
	}
	op->status = kvc_get_range(op, &d.from, &d.want);
	if (op->status)
		goto put_reader;
	iov_iter_truncate(&op->iter, d.want);
	op->transferred = d.want;
	d.segment = op->seg->s.number;
	d.offset = (u64)op->place << KVC_BLOCK_SHIFT;
	d.bytes = op->bytes;
	d.release_arg = op->seg;
	op->xfer = kvc_xfer_start(&d);
	if (!IS_ERR(op->xfer)) {
		op->status = -EINPROGRESS;
		return;
	}
	op->status = PTR_ERR(op->xfer);
	op->xfer = NULL;
	op->transferred = 0;
put_reader:
	kvc_segment_put_reader(op->seg);
}

/* Read a piece of the object into kernel memory, for the second look. */
static int kvc_reread_piece(struct kvc_op *op, void *buf, u64 at, u32 piece)
{
	struct kvec kv = { .iov_base = buf, .iov_len = piece };
	struct iov_iter iter;
	struct kvc_xfer_desc d = {
		.set = op->join->set,
		.g = op->join->g,
		.segment = op->seg->s.number,
		.offset = ((u64)op->place << KVC_BLOCK_SHIFT) + at,
		.bytes = piece,
		.want = piece,
		.iter = &iter,
	};
	struct kvc_xfer *x;
	int err;

	iov_iter_kvec(&iter, ITER_DEST, &kv, 1, piece);
	x = kvc_xfer_start(&d);
	if (IS_ERR(x))
		return PTR_ERR(x);
	do {
		err = kvc_xfer_wait(x, jiffies + HZ, NULL);
	} while (err == -ETIMEDOUT || err == -EINTR);
	kvc_xfer_put(x);
	return err;
}

/*
 * The CRC was wrong in the caller's memory, which is the caller's to write to.
 * Read again into our own before the object is blamed. Return: 0 if the object
 * is sound, -EBADMSG if it is not, or an error of the second read.
 */
static int kvc_get_confirm(struct kvc_op *op)
{
	u32 crc = kvc_data_crc_seed(op->key->hash);
	u32 at, piece;
	void *buf;
	int err = 0;

	buf = kvmalloc(1U << 20, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	for (at = 0; at < op->bytes && !err; at += piece) {
		piece = min(op->bytes - at, 1U << 20);
		err = kvc_reread_piece(op, buf, at, piece);
		if (!err)
			crc = crc32c(crc, buf, piece);
	}
	kvfree(buf);
	if (err)
		return err;
	return crc == op->crc ? 0 : -EBADMSG;
}

/* An object whose bytes are rotten is deleted, so that it stays away. */
static void kvc_get_drop(struct kvc_op *op)
{
	struct kvc_op del = {
		.join = op->join,
		.key = op->key,
		.deadline = op->deadline,
	};

	pr_warn_ratelimited("pool %s: segment %u block %u: wrong checksum: the object is dropped\n",
			    op->join->g->name, op->seg->s.number, op->place);
	kvc_op_stat(op, KVC_STAT_BAD_DATA);
	kvc_delete_start(&del);
	kvc_delete_finish(&del);
}

void kvc_get_finish(struct kvc_op *op)
{
	u32 crc = op->crc;
	int err;

	if (op->status != -EINPROGRESS)
		return;
	err = kvc_xfer_wait(op->xfer, op->deadline, &crc);
	if (!err && !(op->join->g->flags & KVC_POOL_NO_DATA_CRC) &&
	    unlikely(crc != op->crc)) {
		err = kvc_get_confirm(op);
		/* Sound on media: memory was written to under the get. */
		if (!err)
			err = -EAGAIN;
		else if (err == -EBADMSG)
			kvc_get_drop(op);
	}
	/* protocol rule 3: a read counts only if the lease held throughout */
	if (!kvc_join_lease_ok(op->join) && (!err || err == -ESTALE))
		err = -ENOENT;
	op->busy = kvc_xfer_busy(op->xfer);
	kvc_xfer_put(op->xfer);
	op->xfer = NULL;
	op->status = err;
	if (err) {
		op->transferred = 0;
		if (err == -ENOENT)
			kvc_op_stat(op, KVC_STAT_MISSES);
		if (err == -ETIMEDOUT)
			kvc_op_stat(op, KVC_STAT_TIMEOUTS);
		return;
	}
	kvc_op_stat(op, KVC_STAT_GETS);
	kvc_stat_add(op->join->pool->stats, KVC_STAT_GET_BYTES,
		     op->transferred);
}

/* --- exists --- */

void kvc_exists(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	struct kvc_segment *seg = NULL;
	struct kvc_entry *e;

	op->status = -ENOENT;
	rcu_read_lock();
	e = kvc_index_find(&join->index, &op->key->hash,
			   ktime_get_real_seconds());
	if (e && kvc_join_lease_ok(join)) {
		seg = kvc_entry_segment(e);
		op->length = e->bytes;
		op->status = kvc_run_health(join, seg, kvc_entry_offset(e),
					    e->bytes);
		if (!op->status && op->pin)
			atomic_inc(&seg->readers);
	}
	rcu_read_unlock();
	if (!op->status && op->pin) {
		op->status = kvc_pin_set(join, e, op->pin);
		kvc_segment_put_reader(seg);
	}
	kvc_op_stat(op, op->status ? KVC_STAT_EXISTS_MISSES :
				     KVC_STAT_EXISTS_HITS);
}

/* --- put --- */

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

/* In the journal's completion, or when it is killed. */
static void kvc_put_committed(struct kvc_commit *c, int error)
{
	struct kvc_put_op *put = container_of(c, struct kvc_put_op, commit);
	struct kvc_join *join = put->join;

	put->error = error;
	if (error)
		atomic_or(KVC_ENTRY_DEAD, &put->r.entry->where);
	if (wq_has_sleeper(&join->settle_wait))
		wake_up_all(&join->settle_wait);
	if (!error) {
		put->published = true;
		kvc_ag_publish(&put->r);
	}
	complete(&put->done);
	kref_put(&put->ref, kvc_put_free);
}

/* The put fails before its record is journaled. */
static void kvc_put_abort(struct kvc_op *op, int error)
{
	struct kvc_put_op *put = op->put;
	struct kvc_join *join = op->join;

	op->status = error;
	op->put = NULL;
	kvc_pin_clear(join, put->r.entry);
	atomic_or(KVC_ENTRY_DEAD, &put->r.entry->where);
	kvc_index_remove(&join->index, put->r.entry);
	if (wq_has_sleeper(&join->settle_wait))
		wake_up_all(&join->settle_wait);
	kref_put(&put->ref, kvc_put_free);
}

static bool kvc_ag_takes_puts(const struct kvc_ag *ag)
{
	return ag->owned && !READ_ONCE(ag->journal.killed) &&
	       kvc_member_health(ag->journal.home) == KVC_HEALTH_LIVE;
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
	int err = -EIO;

	for (i = 0; i < nr; i++) {
		struct kvc_ag *ag = &join->ags[(first + i) % nr];
		int ret;

		if (!kvc_ag_takes_puts(ag)) {
			/* Away for now, or for good? */
			if (ag->owned && !READ_ONCE(ag->journal.killed))
				err = -EAGAIN;
			continue;
		}
		ret = kvc_ag_reserve(ag, KVC_STREAM_PUT, op->key->hash,
				     op->key->len, op->bytes, op->depth,
				     op->expiry, r);
		if (!ret && !r->offset)
			this_cpu_inc(*join->cpu_ag);
		if (ret != -EAGAIN)
			return ret;
		err = -EAGAIN;
	}
	return err;
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
	if (atomic_read(&e->where) & KVC_ENTRY_DYING) {
		err = -EBUSY;
	} else {
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
	struct kvc_op del = {
		.join = join,
		.key = op->key,
		.deadline = op->deadline,
	};
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
	kvc_delete_start(&del);
	kvc_delete_finish(&del);
	return del.status && del.status != -ENOENT ? -EAGAIN : 0;
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
	struct kvc_xfer_desc d = {
		.set = join->set,
		.g = join->g,
		.write = true,
		.crc = !(join->g->flags & KVC_POOL_NO_DATA_CRC),
		.crc_seed = kvc_data_crc_seed(op->key->hash),
		.segment = put->r.segment->s.number,
		.offset = (u64)put->r.offset << KVC_BLOCK_SHIFT,
		.bytes = op->bytes,
		.want = op->bytes,
		.iter = &op->iter,
		.release = kvc_put_xfer_released,
		.release_arg = put,
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
	put->join = join;
	put->r = r;
	err = kvc_put_claim(op, r.entry);
	if (err) {
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
	for (;;) {
		mutex_lock(&ag->lock);
		err = kvc_ag_append_put(ag, rec, &put->r, &put->commit, reserve);
		if (!err)
			kvc_budget_earn(&ag->budget, op->bytes);
		mutex_unlock(&ag->lock);
		if (err != -EAGAIN)
			break;
		if (time_after_eq(jiffies, op->deadline)) {
			err = -ETIMEDOUT;
			break;
		}
		err = kvc_journal_make_room(j, op->deadline);
		if (err == -ENOSPC) {
			/* Until the worker's checkpoint has trimmed the ring. */
			kvc_ag_kick(ag);
			wait_event_timeout(j->wait,
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
	if (err)
		kref_put(&put->ref, kvc_put_free);
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
	err = kvc_xfer_wait(op->xfer, op->deadline, &rec.data_crc);
	op->busy = kvc_xfer_busy(op->xfer);
	kvc_xfer_put(op->xfer);
	op->xfer = NULL;
	if (!err && !kvc_join_lease_ok(op->join))
		err = -ESTALE;
	if (!err && op->pin)
		err = kvc_pin_set(op->join, put->r.entry, op->pin);
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
	if (err != -ETIMEDOUT) {
		/* Settled, or about to be by whoever made it durable. */
		wait_for_completion(&put->done);
		err = put->error;
		if (err)
			kvc_index_remove(&op->join->index, put->r.entry);
	} else {
		kvc_op_stat(op, KVC_STAT_TIMEOUTS);
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
		    READ_ONCE(join->ags[i].standby))
			return true;
	return READ_ONCE(join->stopping);
}

void kvc_put_wait(struct kvc_op *op)
{
	struct kvc_join *join = op->join;
	/* In pieces: the wake-up may be for another's benefit. */
	long left = min_t(long, op->deadline - jiffies, HZ / 20 + 1);

	if (left <= 0)
		return;
	if (op->status == -EBUSY)
		wait_event_killable_timeout(join->settle_wait,
					    kvc_put_settled(op), left);
	else
		wait_event_killable_timeout(join->space_wait,
					    kvc_put_space(join), left);
}

/* --- delete --- */

/* Find a copy and hold its segment; the entry stays valid with it. */
static struct kvc_entry *kvc_delete_find(struct kvc_op *op)
{
	struct kvc_entry *e;

	rcu_read_lock();
	e = kvc_index_find(&op->join->index, &op->key->hash,
			   ktime_get_real_seconds());
	if (e) {
		op->seg = kvc_entry_segment(e);
		atomic_inc(&op->seg->readers);
	}
	rcu_read_unlock();
	return e;
}

/* Journal the DELETE. -EBUSY: the object is being moved: look again. */
static int kvc_delete_append(struct kvc_op *op, struct kvc_entry *e)
{
	struct kvc_segment *seg = op->seg;
	struct kvc_ag *ag = seg->ag;
	struct kvc_record rec = {
		.type = KVC_REC_DELETE,
		.del = {
			.hash = op->key->hash,
			.segment = seg->s.number,
			.generation = seg->s.generation,
			.offset = kvc_entry_offset(e),
			.tenant = op->key->tenant,
		},
	};
	u32 where;
	int err = 0;

	mutex_lock(&ag->lock);
	where = atomic_read(&e->where);
	if (where & KVC_ENTRY_DEAD) {
		err = -EBUSY;
	} else if (where & KVC_ENTRY_DYING) {
		/* Moving: it will be elsewhere. Else another delete: join in. */
		if (ag->moving == seg)
			err = -EBUSY;
		else
			op->position = kvc_journal_end(&ag->journal);
	} else {
		err = kvc_journal_append(&ag->journal, &rec, NULL,
					 kvc_ag_put_reserve(ag), &op->position);
		op->position++;
		if (!err)
			atomic_or(KVC_ENTRY_DYING, &e->where);
	}
	mutex_unlock(&ag->lock);
	return err;
}

void kvc_delete_start(struct kvc_op *op)
{
	struct kvc_entry *e;
	struct kvc_ag *ag;
	int err;

	for (;;) {
		op->status = -ENOENT;
		if (!kvc_join_lease_ok(op->join))
			op->status = -ESTALE;
		else if ((e = kvc_delete_find(op)))
			op->status = -EINPROGRESS;
		if (op->status != -EINPROGRESS)
			return;
		op->entry = e;
		ag = op->seg->ag;
		/* protocol rule 30: no deletes while the home member is away */
		err = kvc_ag_takes_puts(ag) ? kvc_delete_append(op, e) :
					      -EIO;
		if (!err)
			return;
		if (err == -EBUSY)
			wait_event_timeout(ag->wait,
					   READ_ONCE(ag->moving) != op->seg, 1);
		if (err == -EAGAIN) {
			err = kvc_journal_make_room(&ag->journal, op->deadline);
			if (!err || err == -ENOSPC) {
				kvc_ag_kick(ag);
				schedule_timeout_uninterruptible(1);
				err = -EAGAIN;
			}
		}
		kvc_segment_put_reader(op->seg);
		op->status = err == -EIO ? -EAGAIN : err;
		if ((err != -EBUSY && err != -EAGAIN) ||
		    time_after_eq(jiffies, op->deadline))
			return;
	}
}

void kvc_delete_finish(struct kvc_op *op)
{
	int err;

	if (op->status != -EINPROGRESS)
		return;
	err = kvc_journal_wait(&op->seg->ag->journal, op->position,
			       op->deadline);
	if (!err) {
		kvc_index_remove(&op->join->index, op->entry);
		kvc_ag_entry_died(op->entry);
		if (!kvc_join_lease_ok(op->join))
			err = -ESTALE;
	}
	kvc_segment_put_reader(op->seg);
	op->status = err;
	if (!err)
		kvc_op_stat(op, KVC_STAT_DELETES);
	if (err == -ETIMEDOUT)
		kvc_op_stat(op, KVC_STAT_TIMEOUTS);
}

int kvc_object_init(void)
{
	kvc_put_cache = kmem_cache_create("kvcache_put",
					  sizeof(struct kvc_put_op), 0,
					  SLAB_HWCACHE_ALIGN, NULL);
	return kvc_put_cache ? 0 : -ENOMEM;
}

void kvc_object_exit(void)
{
	kmem_cache_destroy(kvc_put_cache);
}
