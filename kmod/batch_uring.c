// SPDX-License-Identifier: GPL-2.0
/*
 * PUT, GET, EXISTS and DELETE as io_uring commands: see uring.h.
 *
 * Keys are carried out in windows, as by ioctl. A window is begun by the task;
 * when all that it has in flight has ended, the next step is due. What then has to
 * wait (a put for room, or for another put of its key; a get for what other hosts
 * did) is not the task's business: a work takes over, with the task's memory, and
 * does all that is left as an ioctl would. So it does if the task does not come
 * back to its ring.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "compat.h"
#include "batch.h"
#include "batch_impl.h"
#include "node.h"
#include "uring.h"

enum kvc_bu_step {
	KVC_BU_DATA,		/* transfers are in flight */
	KVC_BU_COMMIT,		/* records are */
	KVC_BU_WAIT,		/* a work is to take over */
};

/**
 * struct kvc_bu - a batch that has begun
 * @u: what all commands have
 * @step: what is in flight
 * @at: first key of the window
 * @n: keys in it
 * @mm: of the task
 * @task: which
 * @arg: the user's structure
 * @size: its size
 * @r: the batch
 */
struct kvc_bu {
	struct kvc_uring u;
	enum kvc_bu_step step;
	u32 at;
	u32 n;
	struct mm_struct *mm;
	struct task_struct *task;
	void __user *arg;
	u32 size;
	struct kvc_run r;
};

static struct kmem_cache *kvc_bu_cache;

static bool kvc_bu_puts(const struct kvc_bu *b)
{
	return b->r.nr == _IOC_NR(KVCACHE_IOC_PUT);
}

static void kvc_bu_told(struct kvc_op *op)
{
	struct kvc_window_key *w = container_of(op, struct kvc_window_key, op);
	struct kvc_bu *b = w->owner;

	kvc_uring_happened(&b->u);
}

/* --- windows --- */

/* Begin the keys from @at on, as many as fit; one more is left than in flight. */
static void kvc_bu_begin_window(struct kvc_bu *b)
{
	struct kvc_run *r = &b->r;
	struct blk_plug plug;
	u64 bytes = 0;
	u32 n = 0;

	b->step = KVC_BU_DATA;
	atomic_set(&b->u.left, 1);
	if (r->b.count > 1)
		blk_start_plug(&plug);
	while (b->at + n < r->b.count && n < KVC_WINDOW &&
	       bytes < KVC_WINDOW_BYTES) {
		struct kvc_window_key *w = &r->window[n];
		int err = kvc_window_set(r, w, &r->ios[b->at + n]);

		w->op.status = err;
		if (!err) {
			w->owner = b;
			w->op.notify = kvc_bu_told;
			/* It may be told before it has begun. */
			atomic_inc(&b->u.left);
			kvc_run_start(r, &w->op);
			if (w->op.status == -EINPROGRESS)
				bytes += w->op.bytes;
			else
				atomic_dec(&b->u.left);
		}
		/* A get: not known here, and to ask other hosts is to wait. */
		w->again = w->op.status == -EAGAIN && r->pool->join->share;
		n++;
	}
	if (r->b.count > 1)
		blk_finish_plug(&plug);
	b->n = n;
}

/* Data is down: journal. */
static void kvc_bu_record(struct kvc_bu *b)
{
	struct kvc_op *op;
	u32 i;

	b->step = KVC_BU_COMMIT;
	atomic_set(&b->u.left, 1);
	/* All records first, so that they share commits. */
	for (i = 0; i < b->n; i++) {
		op = &b->r.window[i].op;
		if (op->status != -EINPROGRESS)
			continue;
		atomic_inc(&b->u.left);
		kvc_put_record(op);
		if (op->status != -EINPROGRESS)
			atomic_dec(&b->u.left);
	}
	for (i = 0; i < b->n; i++) {
		op = &b->r.window[i].op;
		if (op->status == -EINPROGRESS)
			kvc_put_follow(op);
	}
}

static void kvc_bu_finish(struct kvc_bu *b)
{
	u32 i;

	for (i = 0; i < b->n; i++) {
		struct kvc_op *op = &b->r.window[i].op;

		if (kvc_bu_puts(b))
			kvc_put_finish(op);
		else if (b->r.nr == _IOC_NR(KVCACHE_IOC_GET))
			kvc_get_finish(op);
	}
}

/* Does a key have to be tried again where waiting is allowed? */
static bool kvc_bu_try_again(const struct kvc_bu *b,
			     const struct kvc_window_key *w)
{
	const struct kvc_op *op = &w->op;

	if (kvc_bu_puts(b))
		return (op->status == -EBUSY || op->status == -EAGAIN) &&
		       !op->put;
	return w->again;
}

static bool kvc_bu_again(const struct kvc_bu *b)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		if (kvc_bu_try_again(b, &b->r.window[i]))
			return true;
	return false;
}

static void kvc_bu_results(struct kvc_bu *b)
{
	u32 i;

	for (i = 0; i < b->n; i++) {
		struct kvc_window_key *w = &b->r.window[i];

		if (w->op.status == -EBUSY)
			w->op.status = -EAGAIN;
		kvc_window_result(&b->r, w, &b->r.ios[b->at + i]);
		kvc_window_clear(w);
	}
	b->at += b->n;
	b->n = 0;
}

/* --- where waiting is allowed --- */

/* Neither detach nor the end of the task is in the way. */
static bool kvc_bu_go_on(const struct kvc_bu *b)
{
	return READ_ONCE(b->r.pool->state) != KVC_POOL_CLOSING &&
	       !fatal_signal_pending(b->task) &&
	       !(READ_ONCE(b->task->signal->flags) & SIGNAL_GROUP_EXIT);
}

/*
 * Puts that wait for a clean segment, or another put, in the task's memory. Not
 * kvc_put_retry(): a signal to the task is to end it.
 */
static void kvc_bu_retry_put(struct kvc_bu *b, struct kvc_window_key *w)
{
	struct kvc_op *op = &w->op;

	while (kvc_bu_try_again(b, w) && time_before(jiffies, op->deadline) &&
	       kvc_bu_go_on(b) &&
	       READ_ONCE(b->r.pool->state) == KVC_POOL_UP) {
		schedule_timeout_uninterruptible(HZ / 100 + 1);
		kvc_put_start(op);
		kvc_put_record(op);
		kvc_put_finish(op);
	}
}

static void kvc_bu_retry(struct kvc_bu *b, struct kvc_window_key *w)
{
	struct kvc_op *op = &w->op;

	op->notify = NULL;
	if (kvc_bu_puts(b)) {
		kvc_bu_retry_put(b, w);
		return;
	}
	op->looked = b->r.looked;
	kvc_get_start(op);
	kvc_get_finish(op);
	b->r.looked |= op->looked;
}

/* All that is left, in a work. */
static void kvc_bu_take_over(struct kvc_bu *b)
{
	u32 i;

	if (!mmget_not_zero(b->mm)) {
		kvc_bu_results(b);
		return;		/* the rest keeps its ECANCELED */
	}
	kthread_use_mm(b->mm);
	for (i = 0; i < b->n; i++)
		if (kvc_bu_try_again(b, &b->r.window[i]))
			kvc_bu_retry(b, &b->r.window[i]);
	kvc_bu_results(b);
	/* Not the registered buffer: see kvc_xfer_wait(), which may give up. */
	b->r.fixed = NULL;
	while (b->at < b->r.b.count && kvc_bu_go_on(b))
		b->at += kvc_run_next(&b->r, b->at);
	kthread_unuse_mm(b->mm);
	mmput(b->mm);
}

/* --- steps --- */

static void kvc_bu_leave(struct kvc_bu *b)
{
	kvc_pool_leave(b->r.pool);
}

static bool kvc_bu_advance(struct kvc_uring *u, bool task,
			   unsigned int issue_flags)
{
	struct kvc_bu *b = container_of(u, struct kvc_bu, u);

	if (b->step == KVC_BU_WAIT) {
		kvc_bu_take_over(b);
		kvc_bu_leave(b);
		return true;
	}
	b->r.issue_flags = issue_flags;
	for (;;) {
		if (kvc_bu_puts(b) && b->step == KVC_BU_DATA) {
			kvc_bu_record(b);
			if (!atomic_dec_and_test(&u->left))
				return false;
		}
		kvc_bu_finish(b);
		if (kvc_bu_again(b))
			break;
		kvc_bu_results(b);
		if (b->at == b->r.b.count || !kvc_bu_go_on(b)) {
			kvc_bu_leave(b);
			return true;
		}
		if (!task)
			break;
		kvc_bu_begin_window(b);
		if (!atomic_dec_and_test(&u->left))
			return false;
	}
	b->step = KVC_BU_WAIT;
	if (!task) {
		kvc_bu_take_over(b);
		kvc_bu_leave(b);
		return true;
	}
	kvc_uring_hand_over(u);
	return false;
}

static void kvc_bu_free(struct kvc_bu *b)
{
	kvc_run_free(&b->r);
	mmdrop(b->mm);
	put_task_struct(b->task);
	kmem_cache_free(kvc_bu_cache, b);
}

static int kvc_bu_end(struct kvc_uring *u, u64 *result)
{
	struct kvc_bu *b = container_of(u, struct kvc_bu, u);
	int ret = b->r.b.done;

	/* A ring whose task has gone ends in a kernel thread. */
	if (current->mm != b->mm)
		ret = -ECANCELED;
	else if (kvc_run_out(&b->r, b->arg, b->size))
		ret = -EFAULT;
	kvc_bu_free(b);
	return ret;
}

static const struct kvc_uring_ops kvc_bu_ops = {
	.advance = kvc_bu_advance,
	.end = kvc_bu_end,
};

/* --- submission --- */

/* Is nothing of the first window under way, and some of it has to wait? */
static bool kvc_bu_futile(const struct kvc_bu *b)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		if (b->r.window[i].op.status == -EINPROGRESS)
			return false;
	return kvc_bu_again(b);
}

static int kvc_bu_begin(struct kvc_bu *b, unsigned int issue_flags)
{
	int err;
	u32 i;

	b->r.pool = kvc_pool_get(b->r.b.pool);
	if (!b->r.pool)
		return -ENODEV;
	err = kvc_pool_enter(b->r.pool);
	if (err == -ESTALE) {
		kvc_run_lapsed(&b->r);
		return 0;
	}
	if (err)
		return err;
	err = kvc_run_window_alloc(&b->r);
	if (err) {
		kvc_bu_leave(b);
		return err;
	}
	b->r.issue_flags = issue_flags;
	kvc_bu_begin_window(b);
	if (!kvc_bu_futile(b))
		return -EIOCBQUEUED;
	for (i = 0; i < b->n; i++)
		kvc_window_clear(&b->r.window[i]);
	kvc_bu_leave(b);
	return -EAGAIN;
}

int kvc_batch_uring(struct io_uring_cmd *cmd, unsigned int nr, void __user *arg,
		    unsigned int issue_flags)
{
	struct kvc_bu *b;
	int ret;

	if (!(issue_flags & IO_URING_F_NONBLOCK))
		return kvc_batch_run(cmd->file, nr, arg, KVC_BATCH_SETTLE);
	/* No I/O: done here and now. */
	if (nr == _IOC_NR(KVCACHE_IOC_EXISTS))
		return kvc_batch_run(cmd->file, nr, arg, KVC_BATCH_NOWAIT);
	if (nr == _IOC_NR(KVCACHE_IOC_DELETE))
		return -EAGAIN;
	b = kmem_cache_alloc(kvc_bu_cache, GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	b->mm = current->mm;
	mmgrab(b->mm);
	b->task = get_task_struct(current);
	b->arg = arg;
	b->at = 0;
	b->n = 0;
	kvc_uring_begin(&b->u, cmd, &kvc_bu_ops);
	ret = kvc_run_prepare(&b->r, cmd->file, nr, arg, &b->size);
	if (!ret) {
		b->r.settle = true;
		if (cmd->flags & IORING_URING_CMD_FIXED)
			b->r.fixed = cmd;
		ret = kvc_bu_begin(b, issue_flags);
	}
	if (ret == -EIOCBQUEUED) {
		kvc_uring_begun(&b->u, issue_flags);
		return ret;
	}
	if (!ret)
		ret = kvc_run_out(&b->r, arg, b->size) ?: b->r.b.done;
	kvc_bu_free(b);
	return ret;
}

/*
 * Having a constructor, batches are not zeroed where init_on_alloc is on: all of
 * one that is read was written before.
 */
static void kvc_bu_construct(void *b)
{
	memset(b, 0, sizeof(struct kvc_bu));
}

int kvc_batch_uring_init(void)
{
	/* Keys, and the batch itself, are copied to and from user memory. */
	kvc_bu_cache = kmem_cache_create_usercopy("kvcache_batch",
						  sizeof(struct kvc_bu), 0,
						  SLAB_HWCACHE_ALIGN,
						  offsetof(struct kvc_bu, r),
						  sizeof(struct kvc_run),
						  kvc_bu_construct);
	return kvc_bu_cache ? 0 : -ENOMEM;
}

void kvc_batch_uring_exit(void)
{
	kmem_cache_destroy(kvc_bu_cache);
}
