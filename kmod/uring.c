// SPDX-License-Identifier: GPL-2.0
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <uapi/linux/kvcache.h>
#include "compat.h"
#include "batch.h"
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
 * struct kvc_uring_nvme - an NVMe KV command
 * @u: what all commands have
 * @recorded: Store: its record is journaled
 * @ret: status, or -errno
 * @io: the command
 */
struct kvc_uring_nvme {
	struct kvc_uring u;
	bool recorded;
	int ret;
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

static void kvc_uring_answer(struct kvc_uring *u, unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = u->cmd;
	u64 result = 0;
	int ret = u->ops->end(u, &result);

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
	if (mine ? u->ops->advance(u, true, issue_flags) : ended)
		kvc_uring_answer(u, issue_flags);
}

KVC_URING_TASK_WORK(kvc_uring_step)

void kvc_uring_happened(struct kvc_uring *u)
{
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

	if (!u->ops->advance(u, false, 0))
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

void kvc_uring_hand_over(struct kvc_uring *u)
{
	queue_work(kvc_uring_wq, &u->work);
}

/* --- submission --- */

void kvc_uring_begin(struct kvc_uring *u, struct io_uring_cmd *cmd,
		     const struct kvc_uring_ops *ops)
{
	u->cmd = cmd;
	u->ops = ops;
	u->home = raw_cpu_ptr(&kvc_uring_dues);
	INIT_LIST_HEAD(&u->due);
	u->called = false;
	u->ended = false;
	INIT_WORK(&u->work, kvc_uring_work);
	atomic_set(&u->left, 1);
	*kvc_uring_of(cmd) = u;
}

void kvc_uring_begun(struct kvc_uring *u, unsigned int issue_flags)
{
	if (atomic_dec_and_test(&u->left) &&
	    u->ops->advance(u, true, issue_flags))
		kvc_uring_answer(u, issue_flags);
}

/* --- NVMe KV commands --- */

static void kvc_uring_nvme_told(struct kvc_op *op)
{
	kvc_uring_happened(&container_of(op, struct kvc_uring_nvme, io.op)->u);
}

static bool kvc_uring_nvme_advance(struct kvc_uring *u, bool task,
				   unsigned int issue_flags)
{
	struct kvc_uring_nvme *n = container_of(u, struct kvc_uring_nvme, u);

	if (n->io.opcode == KVC_NVME_STORE && !n->recorded) {
		n->recorded = true;
		atomic_set(&u->left, 2);
		n->ret = kvc_nvme_io_record(&n->io);
		if (n->ret == -EIOCBQUEUED) {
			kvc_put_follow(&n->io.op);
			if (!atomic_dec_and_test(&u->left))
				return false;
			n->ret = kvc_nvme_io_finish(&n->io);
		}
	} else {
		n->ret = kvc_nvme_io_finish(&n->io);
	}
	kvc_pool_leave(n->io.pool);
	kvc_pool_put(n->io.pool);
	return true;
}

static int kvc_uring_nvme_end(struct kvc_uring *u, u64 *result)
{
	struct kvc_uring_nvme *n = container_of(u, struct kvc_uring_nvme, u);
	const int ret = n->ret;

	*result = ret >= 0 ? n->io.result : 0;
	kmem_cache_free(kvc_uring_cache, n);
	return ret;
}

static const struct kvc_uring_ops kvc_uring_nvme_ops = {
	.advance = kvc_uring_nvme_advance,
	.end = kvc_uring_nvme_end,
};

/* As kvc_nvme_io_start(): a status, or -errno. */
static int kvc_uring_nvme_begin(struct kvc_uring_nvme *n,
				struct io_uring_cmd *cmd,
				const struct nvme_uring_cmd *c,
				unsigned int issue_flags)
{
	int ret;

	ret = kvc_nvme_io_init(&n->io, n->io.pool, c, cmd->file->f_mode);
	if (ret)
		return ret;
	if (!(issue_flags & IO_URING_F_NONBLOCK))
		return kvc_nvme_io_run(&n->io);
	n->io.op.notify = kvc_uring_nvme_told;
	n->recorded = false;
	kvc_uring_begin(&n->u, cmd, &kvc_uring_nvme_ops);
	atomic_inc(&n->u.left);
	return kvc_nvme_io_start(&n->io);
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
	struct kvc_uring_nvme *n;
	int ret;

	if (!pool)
		return -ENODEV;
	ret = kvc_pool_enter(pool);
	if (ret)
		return kvc_uring_lapsed(pool, ret);
	/* It must outlive this call, and a key has no room in @cmd. */
	n = kmem_cache_alloc(kvc_uring_cache, GFP_KERNEL);
	if (!n) {
		kvc_pool_leave(pool);
		kvc_pool_put(pool);
		return -ENOMEM;
	}
	n->io.pool = pool;
	ret = kvc_uring_nvme_begin(n, cmd, c, issue_flags);
	if (ret == -EIOCBQUEUED) {
		kvc_uring_begun(&n->u, issue_flags);
		return ret;
	}
	*result = n->io.result;
	kvc_pool_leave(pool);
	kvc_pool_put(pool);
	kmem_cache_free(kvc_uring_cache, n);
	return ret;
}

static int kvc_uring_nvme(struct io_uring_cmd *cmd, u64 *result,
			  unsigned int issue_flags)
{
	struct nvme_uring_cmd c;

	if (!(issue_flags & IO_URING_F_SQE128))
		return -EOPNOTSUPP;
	/* User memory, which may change: from here on this copy counts. */
	memcpy(&c, kvc_uring_payload(cmd), sizeof(c));
	if (c.rsvd2 || c.rsvd1)
		return KVC_NVME_INVALID_FIELD;
	if (cmd->cmd_op == NVME_URING_CMD_ADMIN)
		return kvc_nvme_admin(kvc_node_pool(cmd->file), &c, result);
	return kvc_uring_io(cmd, &c, result, issue_flags);
}

/* --- the commands of our own interface --- */

static int kvc_uring_native(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct kvcache_uring c;

	memcpy(&c, kvc_uring_payload(cmd), sizeof(c));
	if (c.flags || c.reserved)
		return -EINVAL;
	switch (_IOC_NR(cmd->cmd_op)) {
	case _IOC_NR(KVCACHE_IOC_PUT):
	case _IOC_NR(KVCACHE_IOC_GET):
	case _IOC_NR(KVCACHE_IOC_EXISTS):
	case _IOC_NR(KVCACHE_IOC_DELETE):
		return kvc_batch_uring(cmd, _IOC_NR(cmd->cmd_op),
				       u64_to_user_ptr(c.arg), issue_flags);
	case _IOC_NR(KVCACHE_IOC_LIST):
		if (issue_flags & IO_URING_F_NONBLOCK)
			return -EAGAIN;
		return kvc_list_ioctl(cmd->file, u64_to_user_ptr(c.arg));
	}
	return -ENOTTY;
}

int kvc_uring_import(struct io_uring_cmd *cmd, u64 addr, u64 len, int rw,
		     struct iov_iter *iter, unsigned int issue_flags)
{
	if (!len) {
		iov_iter_bvec(iter, rw, NULL, 0, 0);
		return 0;
	}
	return kvc_uring_import_fixed(addr, len, rw, iter, cmd, issue_flags);
}

int kvc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	u64 result = 0;
	int ret = -ENOTTY;

	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	if (cmd->cmd_op == NVME_URING_CMD_IO ||
	    cmd->cmd_op == NVME_URING_CMD_ADMIN)
		ret = kvc_uring_nvme(cmd, &result, issue_flags);
	else if (_IOC_TYPE(cmd->cmd_op) == 'K')
		ret = kvc_uring_native(cmd, issue_flags);
	else
		return ret;
	if (ret == -EIOCBQUEUED)
		return ret;
	if (ret == -EAGAIN && issue_flags & IO_URING_F_NONBLOCK) {
		kvc_uring_keep_payload(cmd, issue_flags);
		return ret;
	}
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
	kvc_uring_cache = KMEM_CACHE(kvc_uring_nvme, SLAB_HWCACHE_ALIGN);
	if (!kvc_uring_cache)
		goto no_cache;
	if (!kvc_batch_uring_init())
		return 0;
	kmem_cache_destroy(kvc_uring_cache);
no_cache:
	destroy_workqueue(kvc_uring_wq);
	return -ENOMEM;
}

void kvc_uring_exit(void)
{
	cancel_delayed_work_sync(&kvc_uring_watch);
	destroy_workqueue(kvc_uring_wq);
	kvc_batch_uring_exit();
	kmem_cache_destroy(kvc_uring_cache);
}
