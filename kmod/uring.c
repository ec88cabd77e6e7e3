// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include "compat.h"
#include "node.h"
#include "nvme_kv.h"
#include "uring.h"

/**
 * struct kvc_uring - a command that has begun
 * @cmd: io_uring's
 * @left: what must have happened before the next step: that the last one has
 *	returned, and that what it left in flight has ended
 * @recorded: Store: its record is journaled
 * @io: the command
 */
struct kvc_uring {
	struct io_uring_cmd *cmd;
	atomic_t left;
	bool recorded;
	struct kvc_nvme_io io;
};

static struct kmem_cache *kvc_uring_cache;

static struct kvc_uring **kvc_uring_of(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct kvc_uring *) > sizeof(cmd->pdu));
	return (struct kvc_uring **)cmd->pdu;
}

static void kvc_uring_free(struct kvc_uring *u)
{
	struct kvc_pool *pool = u->io.pool;

	kmem_cache_free(kvc_uring_cache, u);
	kvc_pool_leave(pool);
	kvc_pool_put(pool);
}

/* Take the next step, and the one after it if nothing has to be waited for. */
static void kvc_uring_step_do(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct kvc_uring *u = *kvc_uring_of(cmd);
	u64 result;
	int ret;

	if (u->io.opcode == KVC_NVME_STORE && !u->recorded) {
		u->recorded = true;
		atomic_set(&u->left, 2);
		ret = kvc_nvme_io_record(&u->io);
		if (ret == -EIOCBQUEUED) {
			kvc_put_follow(&u->io.op);
			if (!atomic_dec_and_test(&u->left))
				return;
			ret = kvc_nvme_io_finish(&u->io);
		}
	} else {
		ret = kvc_nvme_io_finish(&u->io);
	}
	result = ret >= 0 ? u->io.result : 0;
	kvc_uring_free(u);
	kvc_uring_done(cmd, ret, result, issue_flags);
}

KVC_URING_TASK_WORK(kvc_uring_step)

static void kvc_uring_notify(struct kvc_op *op)
{
	struct kvc_uring *u = container_of(op, struct kvc_uring, io.op);

	if (atomic_dec_and_test(&u->left))
		io_uring_cmd_complete_in_task(u->cmd, kvc_uring_step);
}

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
		if (atomic_dec_and_test(&u->left))
			kvc_uring_step_do(cmd, issue_flags);
		return ret;
	}
	*result = u->io.result;
	kvc_uring_free(u);
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
	kvc_uring_cache = KMEM_CACHE(kvc_uring, SLAB_HWCACHE_ALIGN);
	return kvc_uring_cache ? 0 : -ENOMEM;
}

void kvc_uring_exit(void)
{
	kmem_cache_destroy(kvc_uring_cache);
}
