// SPDX-License-Identifier: GPL-2.0
/*
 * Delete of a key, or of several at once. The DELETE of a copy is settled when it is durable, also if
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
			/* Nothing was begun: a time-out would say it may be done yet. */
			if (err == -ETIMEDOUT)
				err = -EAGAIN;
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

/* --- what other hosts own --- */

/**
 * struct kvc_deletes - deletes that wait for other hosts, all of them together
 * @join: membership
 * @ops: their operations
 * @deadline: jiffies
 * @pending: bit per operation that has no status yet
 * @some: there were copies
 * @left: another host's AG holds one still
 * @proving: none was left when the proof began, and none came back
 * @moved: jiffies at which one of @left was last seen to have gone
 * @proof: that what was read of @proving counts
 * @shown: jiffies at which an owner was last asked to show that
 * @asked: by operation: jiffies at which the owner of a copy was last asked
 * @ag: by operation: whose AG holds a copy, KVC_MAX_AGS: nobody's
 */
struct kvc_deletes {
	struct kvc_join *join;
	struct kvc_op **ops;
	unsigned long deadline;
	u64 pending;
	u64 some;
	u64 left;
	u64 proving;
	unsigned long moved;
	struct kvc_proof *proof;
	unsigned long shown;
	unsigned long asked[KVC_DELETES_MAX];
	u32 ag[KVC_DELETES_MAX];
};

#define kvc_for_each_delete(i, bits)					\
	for (i = 0; i < KVC_DELETES_MAX; i++)				\
		if ((bits) & BIT_ULL(i))

static void kvc_deletes_end(struct kvc_deletes *d, u32 i, int status)
{
	d->ops[i]->status = status;
	d->pending &= ~BIT_ULL(i);
	d->proving &= ~BIT_ULL(i);
	d->left &= ~BIT_ULL(i);
}

/* Is it time to ask an owner (again)? */
static bool kvc_deletes_ask_due(unsigned long *asked)
{
	if (time_before(jiffies, *asked + msecs_to_jiffies(KVC_DELETE_ASK_MS)))
		return false;
	*asked = jiffies;
	return true;
}

/* What there is of a key here and with others, after a look at them. */
static void kvc_deletes_judge(struct kvc_deletes *d, u32 i)
{
	struct kvc_op *op = d->ops[i];
	int err = op->seg ? kvc_delete_copies(op) :
		  op->status == -ENOENT ? 0 : op->status;

	if (err < 0) {
		kvc_deletes_end(d, i, err);
		return;
	}
	d->ag[i] = kvc_delete_elsewhere(op);
	if (err || d->ag[i] != KVC_MAX_AGS)
		d->some |= BIT_ULL(i);
	if (d->ag[i] != KVC_MAX_AGS) {
		d->left |= BIT_ULL(i);
		return;
	}
	if (d->left & BIT_ULL(i))
		d->moved = jiffies;
	d->left &= ~BIT_ULL(i);
}

/* One round: look at what other hosts did, delete what is ours. */
static void kvc_deletes_look(struct kvc_deletes *d)
{
	struct kvc_share *share = d->join->share;
	u32 i;
	int err;

	err = kvc_share_wait(share, kvc_share_ticket(share), d->deadline);
	kvc_for_each_delete(i, err ? d->pending : 0)
		kvc_deletes_end(d, i, err == -EINTR ? -EAGAIN : err);
	/* Some may have been put here meanwhile, or come to be ours. */
	kvc_for_each_delete(i, d->pending)
		kvc_delete_begin(d->ops[i]);
	kvc_for_each_delete(i, d->pending)
		kvc_deletes_judge(d, i);
}

/* Ask the owners of what is left. */
static void kvc_deletes_ask(struct kvc_deletes *d)
{
	bool some = false;
	int err;
	u32 i;

	kvc_for_each_delete(i, d->left) {
		if (!kvc_deletes_ask_due(&d->asked[i]))
			continue;
		err = kvc_ask_delete(d->join, d->ops[i]->key->hash,
				     d->ops[i]->key->tenant, d->ag[i]);
		if (err)
			kvc_deletes_end(d, i, err);
		some |= !err;
	}
	/* In one journal block, if they fit. */
	if (some)
		kvc_asks_push(d->join);
}

/* Those whose proof it was are done. */
static void kvc_deletes_proved(struct kvc_deletes *d)
{
	u32 i;

	kvc_for_each_delete(i, d->proving)
		kvc_deletes_end(d, i, d->some & BIT_ULL(i) ? 0 : -ENOENT);
	kvc_proof_reset(d->proof);
}

/* Have the owner of @ag show what counts: any request does that. */
static void kvc_deletes_ask_to_show(struct kvc_deletes *d, u32 ag)
{
	u32 i = __ffs64(d->proving);
	int err;

	if (!kvc_deletes_ask_due(&d->shown))
		return;
	err = kvc_ask_delete(d->join, d->ops[i]->key->hash,
			     d->ops[i]->key->tenant, ag);
	if (!err)
		kvc_asks_push(d->join);
	else
		kvc_for_each_delete(i, d->proving)
			kvc_deletes_end(d, i, err);
}

/*
 * A proof is for all of which no copy was left when it began; one that comes back
 * is left out of it. It waits for others that may be gone in a moment, but not for
 * an owner that does not answer.
 */
static void kvc_deletes_prove(struct kvc_deletes *d)
{
	u64 gone = d->pending & ~d->left;
	u32 ag = KVC_MAX_AGS;

	d->proving &= gone;
	if (!d->proving) {
		kvc_proof_reset(d->proof);
		if (d->left && time_before(jiffies, d->moved +
					   msecs_to_jiffies(KVC_DELETE_ASK_MS)))
			return;
		d->proving = gone;
	}
	if (!d->proving)
		return;
	if (kvc_proof_complete(d->join, d->proof, &ag))
		kvc_deletes_proved(d);
	else if (ag != KVC_MAX_AGS)
		kvc_deletes_ask_to_show(d, ag);
}

/*
 * Protocol rule 24: a delete is done when after a look at what other hosts did no
 * copy is left, and each owner has shown that what was read of it then counts.
 */
static void kvc_deletes_shared(struct kvc_deletes *d)
{
	u32 i;

	d->moved = jiffies;
	d->shown = jiffies - HZ;
	for (i = 0; i < KVC_DELETES_MAX; i++)
		d->asked[i] = jiffies - HZ;
	while (d->pending) {
		kvc_proof_begin(d->join, d->proof);
		kvc_deletes_look(d);
		kvc_deletes_ask(d);
		kvc_deletes_prove(d);
		if (d->pending)
			schedule_timeout_killable(1);
	}
}

/* The copies of ours that a start has begun with. Return: may others have some? */
static bool kvc_delete_finish_own(struct kvc_op *op, bool *some)
{
	int err = kvc_delete_copies(op);

	*some = err > 0;
	op->status = err > 0 ? 0 : err ?: -ENOENT;
	return err >= 0 && op->join->share && !op->own;
}

static struct kvc_deletes *kvc_deletes_alloc(struct kvc_op **ops)
{
	struct kvc_deletes *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return NULL;
	d->join = ops[0]->join;
	d->ops = ops;
	d->deadline = ops[0]->deadline;
	d->proof = kvc_proof_alloc(d->join);
	if (d->proof)
		return d;
	kfree(d);
	return NULL;
}

void kvc_delete_start(struct kvc_op *op)
{
	op->seg = NULL;
	kvc_delete_begin(op);
	if (op->status == -ENOENT && op->join->share && !op->own)
		op->status = -EINPROGRESS;
}

void kvc_deletes_finish(struct kvc_op **ops, u32 n)
{
	struct kvc_deletes *d = NULL;
	u64 begun = 0;
	bool some;
	u32 i;

	for (i = 0; i < n; i++)
		if (ops[i]->status == -EINPROGRESS)
			begun |= BIT_ULL(i);
	kvc_for_each_delete(i, begun) {
		if (!kvc_delete_finish_own(ops[i], &some))
			continue;
		if (!d)
			d = kvc_deletes_alloc(ops);
		if (!d) {
			ops[i]->status = -ENOMEM;
			continue;
		}
		d->pending |= BIT_ULL(i);
		d->some |= some ? BIT_ULL(i) : 0;
	}
	if (d) {
		kvc_deletes_shared(d);
		kvfree(d->proof);
		kfree(d);
	}
	kvc_for_each_delete(i, begun) {
		if (!ops[i]->status)
			kvc_op_stat(ops[i], KVC_STAT_DELETES);
		if (ops[i]->status == -ETIMEDOUT)
			kvc_op_stat(ops[i], KVC_STAT_TIMEOUTS);
	}
}

void kvc_delete_finish(struct kvc_op *op)
{
	kvc_deletes_finish(&op, 1);
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
		if (ask && !kvc_ask_delete(join, op->key->hash, op->key->tenant,
					   seg->ag->number))
			kvc_asks_push(join);
		kvc_ag_entry_died(e);
		kvc_index_remove(&join->index, e);
		kvc_segment_put_reader(seg);
	}
}
