// SPDX-License-Identifier: GPL-2.0
/*
 * Delete of one key. The DELETE of a copy is settled when it is durable, also if
 * the caller has given up by then: what is deleted on media must not be hit.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "ask.h"
#include "object.h"
#include "pin.h"
#include "share.h"

/* So long after an owner was asked for a delete it is asked again. */
#define KVC_DELETE_ASK_MS	250

/**
 * struct kvc_delete_op - a DELETE on its way, which may outlive its caller
 * @commit: in the journal
 * @ref: the caller's, the commit's
 * @work: last steps, if the caller has given up
 * @join: attachment
 * @entry: what is deleted
 * @seg: its segment, which it holds by a reader
 * @settled: nothing is left to be done but to free it
 */
struct kvc_delete_op {
	struct kvc_commit commit;
	struct kref ref;
	struct work_struct work;
	struct kvc_join *join;
	struct kvc_entry *entry;
	struct kvc_segment *seg;
	bool settled;
};

/* The DELETE is durable. */
static void kvc_delete_settle(struct kvc_join *join, struct kvc_entry *e)
{
	kvc_index_remove(&join->index, e);
	kvc_pin_clear(e);
	kvc_ag_entry_died(e);
}

static void kvc_delete_free(struct kvc_delete_op *d)
{
	kvc_segment_put_reader(d->seg);
	kfree(d);
}

static void kvc_delete_work(struct work_struct *work)
{
	struct kvc_delete_op *d = container_of(work, struct kvc_delete_op, work);

	kvc_delete_settle(d->join, d->entry);
	kvc_delete_free(d);
}

/* The last reference, with the caller's or the commit's, is gone. */
static void kvc_delete_release(struct kref *ref)
{
	struct kvc_delete_op *d = container_of(ref, struct kvc_delete_op, ref);

	/* Index and pins are not for every context that this runs in. */
	if (d->settled)
		kvc_delete_free(d);
	else
		queue_work(d->join->wq, &d->work);
}

/* In the journal's completion, or when it is killed. */
static void kvc_delete_committed(struct kvc_commit *c, int error)
{
	struct kvc_delete_op *d = container_of(c, struct kvc_delete_op, commit);

	/* The join is freed an RCU grace period after its last reader. */
	rcu_read_lock();
	/* Killed: media may have it or not, and nobody may build upon either. */
	if (error)
		d->settled = true;
	else
		kvc_ag_entry_died(d->entry);
	kref_put(&d->ref, kvc_delete_release);
	rcu_read_unlock();
}

static struct kvc_delete_op *kvc_delete_alloc(struct kvc_op *op,
					   struct kvc_entry *e)
{
	struct kvc_delete_op *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return NULL;
	kref_init(&d->ref);
	kref_get(&d->ref);	/* the commit's */
	INIT_WORK(&d->work, kvc_delete_work);
	d->commit.done = kvc_delete_committed;
	d->join = op->join;
	d->entry = e;
	d->seg = op->seg;
	atomic_inc(&d->seg->readers);
	return d;
}

/* Find a copy of ours and hold its segment; the entry stays valid with it. */
static struct kvc_entry *kvc_delete_find(struct kvc_op *op)
{
	struct kvc_entry *e;

	rcu_read_lock();
	e = kvc_index_find_if(&op->join->index, &op->key->hash,
			      ktime_get_real_seconds(), kvc_entry_is_ours);
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
	struct kvc_delete_op *d = kvc_delete_alloc(op, e);
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

	if (!d)
		return -ENOMEM;
	mutex_lock(&ag->lock);
	where = atomic_read(&e->where);
	if (ag->releasing || !ag->owned) {
		err = -EAGAIN;
	} else if (where & KVC_ENTRY_DEAD) {
		err = -EBUSY;
	} else if (where & KVC_ENTRY_DYING) {
		/* Moving: it will be elsewhere. Else another delete: join in. */
		if (ag->moving == seg)
			err = -EBUSY;
		else
			op->position = kvc_journal_end(&ag->journal);
	} else {
		err = kvc_journal_append(&ag->journal, &rec, &d->commit,
					 kvc_ag_put_reserve(ag), &op->position);
		op->position++;
		if (!err) {
			op->del = d;
			atomic_or(KVC_ENTRY_DYING, &e->where);
		}
	}
	mutex_unlock(&ag->lock);
	if (!op->del)
		kvc_delete_free(d);
	return err;
}

/* Begin with a copy of ours. -ENOENT: there is none. */
static void kvc_delete_begin(struct kvc_op *op)
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
		op->seg = NULL;
		op->status = err == -EIO ? -EAGAIN : err;
		if (err != -EBUSY && err != -EAGAIN)
			return;
		op->status = -EAGAIN;
		if (time_after_eq(jiffies, op->deadline) ||
		    fatal_signal_pending(current))
			return;
	}
}

/* Wait for the DELETE of one copy. */
static int kvc_delete_copy(struct kvc_op *op)
{
	int err;

	err = kvc_journal_wait(&op->seg->ag->journal, op->position,
			       op->deadline);
	if (!err)
		kvc_delete_settle(op->join, op->entry);
	if (op->del) {
		if (!err)
			op->del->settled = true;
		kref_put(&op->del->ref, kvc_delete_release);
		op->del = NULL;
	}
	if (!err && !kvc_join_lease_ok(op->join))
		err = -ESTALE;
	kvc_segment_put_reader(op->seg);
	op->seg = NULL;
	return err;
}

/*
 * A key may have copies in several AGs (protocol rule 26), say if one was away
 * when it was put anew. Return: 1: there were some of ours, and none is left; 0:
 * there was none; errors.
 */
static int kvc_delete_copies(struct kvc_op *op)
{
	int err = 0, some = 0;

	while (op->seg && !err) {
		some = 1;
		err = kvc_delete_copy(op);
		if (!err)
			kvc_delete_begin(op);
		if (!err && !op->seg && op->status != -ENOENT)
			err = op->status;
	}
	return err ?: some;
}

/* Another host's AG that a copy is in, KVC_MAX_AGS: there is none. */
static u32 kvc_delete_elsewhere(struct kvc_op *op)
{
	u32 ag = KVC_MAX_AGS;
	struct kvc_entry *e;

	rcu_read_lock();
	e = kvc_index_find_if(&op->join->index, &op->key->hash,
			      ktime_get_real_seconds(), kvc_entry_is_others);
	if (e)
		ag = kvc_entry_segment(e)->ag->number;
	rcu_read_unlock();
	return ag;
}

/* Ask the owner of @ag to delete, or to show what counts. */
static int kvc_delete_ask(struct kvc_op *op, u32 ag, unsigned long *asked)
{
	if (ag == KVC_MAX_AGS ||
	    time_before(jiffies, *asked + msecs_to_jiffies(KVC_DELETE_ASK_MS)))
		return 0;
	*asked = jiffies;
	return kvc_ask_delete(op->join, op->key->hash, op->key->tenant, ag);
}

/*
 * One round of a delete: look at what other hosts did, delete what is ours.
 * Return: 1: there were copies; 0: there was none; errors. *@ag: another host's
 * that holds one still, or KVC_MAX_AGS.
 */
static int kvc_delete_round(struct kvc_op *op, u32 *ag)
{
	struct kvc_share *share = op->join->share;
	int err;

	err = kvc_share_wait(share, kvc_share_ticket(share), op->deadline);
	if (err)
		return err == -EINTR ? -EAGAIN : err;
	/* It may have been put here meanwhile, or come to be ours. */
	kvc_delete_begin(op);
	err = op->seg ? kvc_delete_copies(op) :
	      op->status == -ENOENT ? 0 : op->status;
	*ag = kvc_delete_elsewhere(op);
	return err;
}

/*
 * Protocol rule 24: done when after a look at what other hosts did no copy is
 * left, and each owner has shown that what was read of it then counts. Return: 1:
 * there were copies; 0: there was none; errors.
 */
static int kvc_delete_shared(struct kvc_op *op, int some)
{
	unsigned long asked = jiffies - HZ;
	struct kvc_proof *proof;
	bool proved = false;
	int err = 0;
	u32 ag;

	proof = kvc_proof_alloc(op->join);
	if (!proof)
		return -ENOMEM;
	while (!proved && err >= 0) {
		kvc_proof_begin(op->join, proof);
		err = kvc_delete_round(op, &ag);
		if (err < 0)
			break;
		some |= err || ag != KVC_MAX_AGS;
		/* Of what is gone now; with a copy left, it begins anew. */
		if (ag != KVC_MAX_AGS)
			kvc_proof_reset(proof);
		else
			proved = kvc_proof_complete(op->join, proof, &ag);
		if (!proved)
			err = kvc_delete_ask(op, ag, &asked);
		if (!proved && !err)
			schedule_timeout_killable(1);
	}
	kvfree(proof);
	return err < 0 ? err : some;
}

void kvc_delete_start(struct kvc_op *op)
{
	op->seg = NULL;
	kvc_delete_begin(op);
	if (op->status == -ENOENT && op->join->share && !op->own)
		op->status = -EINPROGRESS;
}

void kvc_delete_finish(struct kvc_op *op)
{
	int err;

	if (op->status != -EINPROGRESS)
		return;
	err = kvc_delete_copies(op);
	if (err >= 0 && op->join->share && !op->own)
		err = kvc_delete_shared(op, err);
	op->status = err > 0 ? 0 : err ?: -ENOENT;
	if (!op->status)
		kvc_op_stat(op, KVC_STAT_DELETES);
	if (op->status == -ETIMEDOUT)
		kvc_op_stat(op, KVC_STAT_TIMEOUTS);
}

static int kvc_delete_like(const struct kvc_op *op, bool own)
{
	struct kvc_op del = {
		.join = op->join,
		.key = op->key,
		.deadline = op->deadline,
		.own = own,
	};

	kvc_delete_start(&del);
	kvc_delete_finish(&del);
	return del.status;
}

int kvc_delete_of(const struct kvc_op *op)
{
	return kvc_delete_like(op, false);
}

int kvc_delete_own_of(const struct kvc_op *op)
{
	return kvc_delete_like(op, true);
}

void kvc_forget_others(const struct kvc_op *op, bool ask)
{
	struct kvc_join *join = op->join;
	struct kvc_segment *seg;
	struct kvc_entry *e;

	while (join->share) {
		rcu_read_lock();
		e = kvc_index_find_if(&join->index, &op->key->hash,
				      ktime_get_real_seconds(),
				      kvc_entry_is_others);
		if (e) {
			seg = kvc_entry_segment(e);
			atomic_inc(&seg->readers);
		}
		rcu_read_unlock();
		if (!e)
			return;
		if (ask)
			kvc_ask_delete(join, op->key->hash, op->key->tenant,
				       seg->ag->number);
		kvc_ag_entry_died(e);
		kvc_index_remove(&join->index, e);
		kvc_segment_put_reader(seg);
	}
}
