// SPDX-License-Identifier: GPL-2.0
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "node.h"
#include "nvme_kv.h"
#include "uring.h"

/* How long a step may wait for its task before a work takes it. */
#define KVC_URING_PATIENCE	HZ

/**
 * struct kvc_uring_due - commands whose next step is due, by CPU of submission
 * @lock: guards @list, and @called and @ended of its commands
 * @list: struct kvc_uring.due, the longest due first
 */
struct kvc_uring_due {
	spinlock_t lock;
	struct list_head list;
};

/**
 * struct kvc_uring - a command that has begun
 * @cmd: io_uring's
 * @left: what must have happened before the next step: that the last one has
 *	returned, and that what it left in flight has ended
 * @recorded: Store: its record is journaled
 * @home: list for @due
 * @due: in @home's list: whoever takes it out takes the step
 * @since: jiffies at which it came there
 * @called: task work is on its way to the submitter
 * @ended: a work has taken the last step: only the answer is left
 * @ret: status, or -errno
 * @work: takes a step in the submitter's place
 * @io: the command
 */
struct kvc_uring {
	struct io_uring_cmd *cmd;
	atomic_t left;
	bool recorded;
	struct kvc_uring_due *home;
	struct list_head due;
	unsigned long since;
	bool called;
	bool ended;
	int ret;
	struct work_struct work;
	struct kvc_nvme_io io;
};

static DEFINE_PER_CPU(struct kvc_uring_due, kvc_uring_dues);
static struct kmem_cache *kvc_uring_cache;
static struct workqueue_struct *kvc_uring_wq;

static void kvc_uring_look(struct work_struct *work);
static DECLARE_DELAYED_WORK(kvc_uring_watch, kvc_uring_look);

static struct kvc_uring **kvc_uring_of(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct kvc_uring *) > sizeof(cmd->pdu));
	return (struct kvc_uring **)cmd->pdu;
}

static void kvc_uring_leave(struct kvc_uring *u)
{
	kvc_pool_leave(u->io.pool);
	kvc_pool_put(u->io.pool);
}

/*
 * Take the next step, and the one after it if nothing has to be waited for. In
 * task work, or in a work, without the submitter's memory. Return: it has ended,
 * and the pool is left.
 */
static bool kvc_uring_advance(struct kvc_uring *u)
{
	if (u->io.opcode == KVC_NVME_STORE && !u->recorded) {
		u->recorded = true;
		atomic_set(&u->left, 2);
		u->ret = kvc_nvme_io_record(&u->io);
		if (u->ret == -EIOCBQUEUED) {
			kvc_put_follow(&u->io.op);
			if (!atomic_dec_and_test(&u->left))
				return false;
			u->ret = kvc_nvme_io_finish(&u->io);
		}
	} else {
		u->ret = kvc_nvme_io_finish(&u->io);
	}
	kvc_uring_leave(u);
	return true;
}

static void kvc_uring_answer(struct kvc_uring *u, unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = u->cmd;
	const u64 result = u->ret >= 0 ? u->io.result : 0;
	const int ret = u->ret;

	kmem_cache_free(kvc_uring_cache, u);
	kvc_uring_done(cmd, ret, result, issue_flags);
}

static void kvc_uring_step_do(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct kvc_uring *u = *kvc_uring_of(cmd);
	struct kvc_uring_due *home = u->home;
	bool mine, ended;

	spin_lock_irq(&home->lock);
	u->called = false;
	mine = !list_empty(&u->due);
	list_del_init(&u->due);
	ended = u->ended;
	spin_unlock_irq(&home->lock);
	/* Neither: a work is at it, and calls again. @u may be gone. */
	if (mine ? kvc_uring_advance(u) : ended)
		kvc_uring_answer(u, issue_flags);
}

KVC_URING_TASK_WORK(kvc_uring_step)

static void kvc_uring_notify(struct kvc_op *op)
{
	struct kvc_uring *u = container_of(op, struct kvc_uring, io.op);
	struct kvc_uring_due *home = u->home;
	struct io_uring_cmd *cmd = u->cmd;
	unsigned long flags;
	bool call;

	if (!atomic_dec_and_test(&u->left))
		return;
	spin_lock_irqsave(&home->lock, flags);
	u->since = jiffies;
	list_add_tail(&u->due, &home->list);
	call = !u->called;
	u->called = true;
	if (!delayed_work_pending(&kvc_uring_watch))
		queue_delayed_work(kvc_uring_wq, &kvc_uring_watch,
				   KVC_URING_PATIENCE);
	spin_unlock_irqrestore(&home->lock, flags);
	/* Else @cmd may have ended. */
	if (call)
		io_uring_cmd_complete_in_task(cmd, kvc_uring_step);
}

/* --- steps that their task does not take --- */

static void kvc_uring_work(struct work_struct *work)
{
	struct kvc_uring *u = container_of(work, struct kvc_uring, work);
	struct kvc_uring_due *home = u->home;
	struct io_uring_cmd *cmd = u->cmd;
	bool call;

	if (!kvc_uring_advance(u))
		return;
	spin_lock_irq(&home->lock);
	u->ended = true;
	call = !u->called;
	u->called = true;
	spin_unlock_irq(&home->lock);
	if (call)
		io_uring_cmd_complete_in_task(cmd, kvc_uring_step);
}

/* Have works take what has been due for too long. Return: more is due. */
static bool kvc_uring_take(struct kvc_uring_due *home)
{
	struct kvc_uring *u, *next;
	bool more = false;

	spin_lock_irq(&home->lock);
	list_for_each_entry_safe(u, next, &home->list, due) {
		more = time_before(jiffies, u->since + KVC_URING_PATIENCE);
		if (more)
			break;
		list_del_init(&u->due);
		queue_work(kvc_uring_wq, &u->work);
	}
	spin_unlock_irq(&home->lock);
	return more;
}

static void kvc_uring_look(struct work_struct *work)
{
	bool more = false;
	int cpu;

	for_each_possible_cpu(cpu)
		more |= kvc_uring_take(per_cpu_ptr(&kvc_uring_dues, cpu));
	if (more)
		queue_delayed_work(kvc_uring_wq, &kvc_uring_watch,
				   KVC_URING_PATIENCE / 2);
}

/* --- submission --- */

/* As kvc_nvme_io_start(): a status, or -errno. */
static int kvc_uring_begin(struct kvc_uring *u, const struct nvme_uring_cmd *c,
			   unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = u->cmd;
	int ret;

	ret = kvc_nvme_io_init(&u->io, u->io.pool, c, cmd->file->f_mode);
	if (ret)
		return ret;
	if (!(issue_flags & IO_URING_F_NONBLOCK))
		return kvc_nvme_io_run(&u->io);
	u->io.op.notify = kvc_uring_notify;
	u->recorded = false;
	u->home = raw_cpu_ptr(&kvc_uring_dues);
	INIT_LIST_HEAD(&u->due);
	u->called = false;
	u->ended = false;
	INIT_WORK(&u->work, kvc_uring_work);
	atomic_set(&u->left, 2);
	*kvc_uring_of(cmd) = u;
	return kvc_nvme_io_start(&u->io);
}

static int kvc_uring_lapsed(struct kvc_pool *pool, int err)
{
	kvc_pool_put(pool);
	return err == -ESTALE ? KVC_NVME_NOT_READY : err;
}

static int kvc_uring_io(struct io_uring_cmd *cmd, const struct nvme_uring_cmd *c,
			u64 *result, unsigned int issue_flags)
{
	struct kvc_pool *pool = kvc_pool_get(kvc_node_pool(cmd->file));
	struct kvc_uring *u;
	int ret;

	if (!pool)
		return -ENODEV;
	ret = kvc_pool_enter(pool);
	if (ret)
		return kvc_uring_lapsed(pool, ret);
	/* It must outlive this call, and a key has no room in @cmd. */
	u = kmem_cache_alloc(kvc_uring_cache, GFP_KERNEL);
	if (!u) {
		kvc_pool_leave(pool);
		kvc_pool_put(pool);
		return -ENOMEM;
	}
	u->cmd = cmd;
	u->io.pool = pool;
	ret = kvc_uring_begin(u, c, issue_flags);
	if (ret == -EIOCBQUEUED) {
		if (atomic_dec_and_test(&u->left) && kvc_uring_advance(u))
			kvc_uring_answer(u, issue_flags);
		return ret;
	}
	*result = u->io.result;
	kvc_uring_leave(u);
	kmem_cache_free(kvc_uring_cache, u);
	return ret;
}

int kvc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct nvme_uring_cmd c;
	u64 result = 0;
	int ret;

	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	if (cmd->cmd_op != NVME_URING_CMD_IO &&
	    cmd->cmd_op != NVME_URING_CMD_ADMIN)
		return -ENOTTY;
	if (!(issue_flags & IO_URING_F_SQE128))
		return -EOPNOTSUPP;
	/* User memory, which may change: from here on this copy counts. */
	memcpy(&c, kvc_uring_payload(cmd), sizeof(c));
	if (c.rsvd2 || c.rsvd1)
		ret = KVC_NVME_INVALID_FIELD;
	else if (cmd->cmd_op == NVME_URING_CMD_ADMIN)
		ret = kvc_nvme_admin(kvc_node_pool(cmd->file), &c, &result);
	else
		ret = kvc_uring_io(cmd, &c, &result, issue_flags);
	if (ret == -EIOCBQUEUED || ret == -EAGAIN)
		return ret;
	kvc_uring_done(cmd, ret, result, issue_flags);
	return -EIOCBQUEUED;
}

int kvc_uring_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct kvc_uring_due *due = per_cpu_ptr(&kvc_uring_dues, cpu);

		spin_lock_init(&due->lock);
		INIT_LIST_HEAD(&due->list);
	}
	kvc_uring_wq = alloc_workqueue("kvcache_uring", WQ_UNBOUND, 0);
	if (!kvc_uring_wq)
		return -ENOMEM;
	kvc_uring_cache = KMEM_CACHE(kvc_uring, SLAB_HWCACHE_ALIGN);
	if (kvc_uring_cache)
		return 0;
	destroy_workqueue(kvc_uring_wq);
	return -ENOMEM;
}

void kvc_uring_exit(void)
{
	cancel_delayed_work_sync(&kvc_uring_watch);
	destroy_workqueue(kvc_uring_wq);
	kmem_cache_destroy(kvc_uring_cache);
}
