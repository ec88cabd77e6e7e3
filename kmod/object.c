// SPDX-License-Identifier: GPL-2.0
/* Get and exists of one key. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "ask.h"
#include "object.h"
#include "pin.h"
#include "share.h"

int kvc_key_set(struct kvc_join *join, struct kvc_key *key, u32 tenant, u32 len)
{
	if (!len || len > KVC_MAX_KEY)
		return -EINVAL;
	key->tenant = tenant;
	key->len = len;
	key->hash = kvc_key_hash(join->g->hash_key, tenant, key->bytes, len);
	return 0;
}

void kvc_op_stat(struct kvc_op *op, enum kvc_stat which)
{
	kvc_stat_inc(op->join->pool->stats, which);
}

int kvc_run_health(struct kvc_join *join, const struct kvc_segment *seg,
			  u32 offset, u32 bytes)
{
	if (likely(kvc_segment_healthy(seg)))
		return 0;
	return kvc_place_health(join, seg->s.number, offset, bytes);
}

int kvc_place_health(struct kvc_join *join, u32 segment, u32 offset, u32 bytes)
{
	u64 at = (u64)offset << KVC_BLOCK_SHIFT;
	u64 left = (u64)kvc_bytes_to_blocks(bytes) << KVC_BLOCK_SHIFT;
	int err = 0;

	while (left) {
		u64 run = left;
		struct kvc_place p = kvc_place_data(join->g, segment, at,
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

void kvc_op_xfer_ended(void *arg)
{
	struct kvc_op *op = arg;

	op->notify(op);
}

unsigned long kvc_op_xfer_deadline(const struct kvc_op *op)
{
	return op->settle ? jiffies + MAX_JIFFY_OFFSET : op->deadline;
}

/* --- get --- */

static void kvc_get_released(void *arg)
{
	kvc_segment_put_reader(arg);
}

/*
 * The object is not known here. In a pool that is shared another host may have
 * put it: that is a miss only after another look (protocol rule 11). Return: there
 * will be one, or who does not wait has to come back waiting.
 */
static bool kvc_op_look_again(struct kvc_op *op)
{
	if (op->status != -ENOENT || op->looked || kvc_share_settled(op->join))
		return false;
	if (op->notify) {
		op->status = -EAGAIN;
		return true;
	}
	op->ticket = kvc_share_ticket(op->join->share);
	op->status = -EINPROGRESS;
	return true;
}

/* The second half of a miss: false: it is none, or not known. */
static bool kvc_op_looked(struct kvc_op *op)
{
	u64 ticket = op->ticket;
	int err;

	op->ticket = 0;
	err = kvc_share_wait(op->join->share, ticket, op->deadline);
	op->looked = !err;
	if (!err)
		return true;
	/* protocol rule 3: the lease is over, and that is a miss */
	op->status = err == -ESTALE ? -ENOENT : err == -EINTR ? -ETIMEDOUT : err;
	return false;
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
	/* It is LIVE, so its CRC is there: see kvc_ag_publish(). */
	where = atomic_read_acquire(&e->where);
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
	if (!(where & KVC_ENTRY_TOUCHED)) {
		atomic_or(KVC_ENTRY_TOUCHED, &e->where);
		if (join->share && !READ_ONCE(op->seg->ag->owned))
			kvc_ask_touch(join, op->key->hash, op->seg->ag->number);
	}
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
		.ended = op->notify ? kvc_op_xfer_ended : NULL,
		.ended_arg = op,
	};

	op->ticket = 0;
	op->status = kvc_get_find(op);
	if (op->status) {
		if (!kvc_op_look_again(op) && op->status == -ENOENT)
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

/* The caller may be gone by then. */
static void kvc_reread_released(void *arg)
{
	kvfree(arg);
}

/* Read a piece of the object into kernel memory, for the second look. */
static int kvc_reread_piece(struct kvc_op *op, u64 at, u32 piece, u32 *crc)
{
	void *buf = kvmalloc(piece, GFP_KERNEL);
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
		.release = kvc_reread_released,
		.release_arg = buf,
	};
	struct kvc_xfer *x;
	int err;

	if (!buf)
		return -ENOMEM;
	iov_iter_kvec(&iter, ITER_DEST, &kv, 1, piece);
	x = kvc_xfer_start(&d);
	if (IS_ERR(x)) {
		kvfree(buf);
		return PTR_ERR(x);
	}
	err = kvc_xfer_wait(x, kvc_op_xfer_deadline(op), NULL);
	if (!err)
		*crc = crc32c(*crc, buf, piece);
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
	int err = 0;

	for (at = 0; at < op->bytes && !err; at += piece) {
		piece = min(op->bytes - at, 1U << 20);
		err = kvc_reread_piece(op, at, piece, &crc);
	}
	if (err)
		return err;
	return crc == op->crc ? 0 : -EBADMSG;
}

/* An object whose bytes are rotten is deleted, so that it stays away. */
static void kvc_get_drop(struct kvc_op *op)
{
	pr_warn_ratelimited("pool %s: segment %u block %u: wrong checksum: the object is dropped\n",
			    op->join->g->name, op->seg->s.number, op->place);
	kvc_op_stat(op, KVC_STAT_BAD_DATA);
	kvc_forget_others(op, true);
	if (!kvc_delete_own_of(op) && kvc_watched(&op->join->pool->watches))
		kvc_watch_tell(&op->join->pool->watches, KVCACHE_EVENT_BAD_DATA,
			       op->key->tenant, op->key->bytes, op->key->len,
			       op->bytes);
}

void kvc_get_finish(struct kvc_op *op)
{
	u32 crc = op->crc;
	int err;

	if (op->status != -EINPROGRESS)
		return;
	if (op->ticket) {
		if (kvc_op_looked(op))
			kvc_get_start(op);
		if (op->status != -EINPROGRESS)
			return;
		crc = op->crc;
	}
	err = kvc_xfer_wait(op->xfer, kvc_op_xfer_deadline(op), &crc);
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
	if (err == -ESTALE || (!err && !kvc_join_lease_ok(op->join)))
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

static void kvc_exists_look(struct kvc_op *op)
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
		/* Eviction is the owner's, and so are pins. */
		if (!op->status && op->pin && !READ_ONCE(seg->ag->owned))
			op->status = -EDQUOT;
		if (!op->status && op->pin)
			atomic_inc(&seg->readers);
	}
	rcu_read_unlock();
	if (!op->status && op->pin) {
		op->status = kvc_pin_set(e, op->pin);
		kvc_segment_put_reader(seg);
	}
}

static void kvc_exists_end(struct kvc_op *op)
{
	kvc_op_stat(op, op->status ? KVC_STAT_EXISTS_MISSES :
				     KVC_STAT_EXISTS_HITS);
}

void kvc_exists_start(struct kvc_op *op)
{
	op->ticket = 0;
	kvc_exists_look(op);
	if (!kvc_op_look_again(op))
		kvc_exists_end(op);
}

void kvc_exists_finish(struct kvc_op *op)
{
	if (op->status != -EINPROGRESS)
		return;
	if (kvc_op_looked(op))
		kvc_exists_look(op);
	kvc_exists_end(op);
}

bool kvc_exists_hit(struct kvc_join *join, const struct kvc_key *key,
		    u64 live, u64 *length)
{
	struct kvc_entry *e;
	bool hit;

	rcu_read_lock();
	e = kvc_index_find(&join->index, &key->hash, ktime_get_real_seconds());
	hit = e && !(kvc_entry_segment(e)->members & ~live);
	if (hit)
		*length = e->bytes;
	rcu_read_unlock();
	return hit;
}
