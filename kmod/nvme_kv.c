// SPDX-License-Identifier: GPL-2.0
/*
 * Store, Retrieve, Delete and Exist, as NVM Express' Key Value Command Set has
 * them, and the ioctls that bring them.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <uapi/linux/kvcache.h>
#include "nvme_kv.h"
#include "node.h"

#define KVC_NVME_TIMEOUT_MS	30000	/* as nvme-core's io_timeout */
/*
 * How long a Retrieve waits for a member that is suspect. A native get answers
 * EAGAIN at once, and its caller knows what to do; who talks to a KV SSD takes a
 * status that it never saw for a failure of all that it asked for.
 */
#define KVC_NVME_SUSPECT_MS	2000

/* Options in command dword 11. Compression is not ours to choose: no matter. */
#define KVC_STORE_MUST_EXIST		BIT(0)
#define KVC_STORE_MUST_NOT_EXIST	BIT(1)
#define KVC_STORE_DONT_COMPRESS		BIT(2)
#define KVC_RETRIEVE_RAW		BIT(0)

/* --- checks --- */

static u8 kvc_nvme_options(const struct nvme_uring_cmd *c)
{
	return c->cdw11 >> 8;
}

static u8 kvc_nvme_known_options(u8 opcode)
{
	switch (opcode) {
	case KVC_NVME_STORE:
		return KVC_STORE_MUST_EXIST | KVC_STORE_MUST_NOT_EXIST |
		       KVC_STORE_DONT_COMPRESS;
	case KVC_NVME_RETRIEVE:
		return KVC_RETRIEVE_RAW;
	}
	return 0;
}

static int kvc_nvme_check(const struct nvme_uring_cmd *c)
{
	const u8 key_len = (u8)c->cdw11;

	switch (c->opcode) {
	case KVC_NVME_STORE:
	case KVC_NVME_RETRIEVE:
	case KVC_NVME_LIST:
		if (c->cdw10 > c->data_len)
			return KVC_NVME_INVALID_FIELD;
		break;
	case KVC_NVME_DELETE:
	case KVC_NVME_EXIST:
		break;
	default:
		return KVC_NVME_INVALID_OPCODE;
	}
	if (c->nsid != KVC_NVME_NSID)
		return KVC_NVME_INVALID_NS;
	/* Dwords 12 and 13 have no meaning here, and programs leave things there. */
	if (c->flags || c->metadata || c->metadata_len || c->cdw11 >> 16 ||
	    kvc_nvme_options(c) & ~kvc_nvme_known_options(c->opcode))
		return KVC_NVME_INVALID_FIELD;
	if (key_len > KVC_NVME_KEY_MAX ||
	    (!key_len && c->opcode != KVC_NVME_LIST))
		return KVC_NVME_INVALID_KEY_SIZE;
	return 0;
}

static void kvc_nvme_key(struct kvc_key *key, const struct nvme_uring_cmd *c)
{
	__le32 dwords[4] = {
		cpu_to_le32(c->cdw2), cpu_to_le32(c->cdw3),
		cpu_to_le32(c->cdw14), cpu_to_le32(c->cdw15),
	};

	BUILD_BUG_ON(sizeof(dwords) != KVC_NVME_KEY_MAX);
	memcpy(key->bytes, dwords, sizeof(dwords));
	key->len = (u8)c->cdw11;
}

static int kvc_nvme_memory(struct kvc_nvme_io *io)
{
	unsigned int dir = io->opcode == KVC_NVME_STORE ? ITER_SOURCE : ITER_DEST;

	if (io->size > MAX_RW_COUNT)
		return KVC_NVME_INVALID_VALUE_SIZE;
	if (!access_ok(io->addr, io->size))
		return -EFAULT;
	iov_iter_ubuf(&io->op.iter, dir, io->addr, io->size);
	return 0;
}

int kvc_nvme_io_init(struct kvc_nvme_io *io, struct kvc_pool *pool,
		     const struct nvme_uring_cmd *c, fmode_t mode)
{
	const u8 options = kvc_nvme_options(c);
	u32 ms = min(c->timeout_ms ?: KVC_NVME_TIMEOUT_MS,
		     (u32)KVCACHE_DEADLINE_MAX_MS);
	int err = kvc_nvme_check(c);

	io->result = 0;		/* also of a command that is refused */
	if (err)
		return err;
	if (!(mode & FMODE_WRITE) &&
	    (c->opcode == KVC_NVME_STORE || c->opcode == KVC_NVME_DELETE))
		return -EACCES;
	memset(&io->op, 0, sizeof(io->op));
	io->pool = pool;
	io->opcode = c->opcode;
	io->must_exist = false;
	io->must_not_exist = false;
	if (c->opcode == KVC_NVME_STORE) {
		io->must_exist = options & KVC_STORE_MUST_EXIST;
		io->must_not_exist = options & KVC_STORE_MUST_NOT_EXIST;
		if (io->must_exist && io->must_not_exist)
			return KVC_NVME_INVALID_FIELD;
		/* Before it replaces anything. */
		if (!c->cdw10 || c->cdw10 > kvc_max_object(&pool->g))
			return KVC_NVME_INVALID_VALUE_SIZE;
	}
	io->addr = u64_to_user_ptr(c->addr);
	io->size = c->cdw10;
	io->op.join = pool->join;
	io->op.key = &io->key;
	io->op.deadline = jiffies + msecs_to_jiffies(ms);
	/* Who sends such commands uses its memory again when they have ended. */
	io->op.settle = true;
	io->op.range = true;
	kvc_nvme_key(&io->key, c);
	if (io->key.len) {
		err = kvc_key_set(io->op.join, &io->key, KVCACHE_TENANT_NVME,
				  io->key.len);
		if (err)
			return err;
	}
	if (c->opcode == KVC_NVME_STORE || c->opcode == KVC_NVME_RETRIEVE)
		return kvc_nvme_memory(io);
	return 0;
}

/* --- answers --- */

static int kvc_nvme_status(const struct kvc_nvme_io *io, int err)
{
	const bool store = io->opcode == KVC_NVME_STORE;

	switch (err) {
	case -ENOENT:
		return KVC_NVME_NO_KEY;
	case -EEXIST:
		return KVC_NVME_KEY_EXISTS;
	case -EFBIG:
	case -EMSGSIZE:
		return KVC_NVME_INVALID_VALUE_SIZE;
	case -EDQUOT:
	case -ENOSPC:
		return KVC_NVME_CAPACITY_EXCEEDED;
	case -EAGAIN:
	case -EBUSY:
	case -ESTALE:
		return KVC_NVME_NOT_READY;	/* for now: try again */
	case -EBADMSG:
		return KVC_NVME_UNRECOVERED;
	case -EIO:
		return store ? KVC_NVME_WRITE_FAULT : KVC_NVME_UNRECOVERED;
	case -ETIMEDOUT:
	case -ECANCELED:
		return KVC_NVME_ABORTED_BY_HOST;
	case -EINVAL:
		return KVC_NVME_INTERNAL;	/* it was checked before */
	}
	return err;	/* 0, -EFAULT, -ENOMEM, -EINTR, -EIOCBQUEUED */
}

static int kvc_nvme_end(struct kvc_nvme_io *io)
{
	io->result = io->op.length;
	return kvc_nvme_status(io, io->op.status);
}

/* --- carrying out, waiting --- */

static int kvc_nvme_exist(struct kvc_nvme_io *io)
{
	kvc_exists_start(&io->op);
	kvc_exists_finish(&io->op);
	return kvc_nvme_end(io);
}

static int kvc_nvme_delete(struct kvc_nvme_io *io)
{
	kvc_delete_start(&io->op);
	kvc_delete_finish(&io->op);
	io->op.length = 0;
	return kvc_nvme_end(io);
}

static int kvc_nvme_retrieve(struct kvc_nvme_io *io)
{
	struct kvc_op *op = &io->op;
	unsigned long until;

	if (!io->size)		/* only the length is wanted */
		return kvc_nvme_exist(io);
	until = jiffies + msecs_to_jiffies(KVC_NVME_SUSPECT_MS);
	if (time_after(until, op->deadline))
		until = op->deadline;
	for (;;) {
		kvc_get_start(op);
		kvc_get_finish(op);
		if (op->status != -EAGAIN || time_after_eq(jiffies, until) ||
		    READ_ONCE(io->pool->state) != KVC_POOL_UP ||
		    fatal_signal_pending(current))
			return kvc_nvme_end(io);
		schedule_timeout_killable(HZ / 50 + 1);
		/* The last try may have used it up. */
		kvc_nvme_memory(io);
	}
}

static void kvc_nvme_put(struct kvc_op *op)
{
	kvc_put_start(op);
	kvc_put_record(op);
	kvc_put_finish(op);
	kvc_put_retry(op);
}

/*
 * A value is replaced by deleting and storing: objects don't change. A crash, or
 * a Retrieve, between the two finds none, as if it had been evicted.
 */
static void kvc_nvme_replace(struct kvc_nvme_io *io)
{
	struct kvc_op *op = &io->op;

	/* Nothing is lost for a pointer that is bad. */
	if (fault_in_iov_iter_readable(&op->iter, io->size)) {
		op->status = -EFAULT;
		return;
	}
	do {
		int err = kvc_delete_of(op);

		if (err && err != -ENOENT) {
			op->status = err;
			return;
		}
		kvc_nvme_put(op);
	} while (op->status == -EEXIST && time_before(jiffies, op->deadline) &&
		 !fatal_signal_pending(current));
	if (op->status == -EEXIST)
		op->status = -EAGAIN;
}

static int kvc_nvme_store(struct kvc_nvme_io *io)
{
	if (io->must_exist) {
		kvc_exists_start(&io->op);
		kvc_exists_finish(&io->op);
		if (io->op.status)
			return kvc_nvme_end(io);
	} else {
		kvc_nvme_put(&io->op);
		if (io->must_not_exist || io->op.status != -EEXIST)
			return kvc_nvme_end(io);
	}
	kvc_nvme_replace(io);
	return kvc_nvme_end(io);
}

int kvc_nvme_io_run(struct kvc_nvme_io *io)
{
	switch (io->opcode) {
	case KVC_NVME_STORE:
		return kvc_nvme_store(io);
	case KVC_NVME_RETRIEVE:
		return kvc_nvme_retrieve(io);
	case KVC_NVME_DELETE:
		return kvc_nvme_delete(io);
	case KVC_NVME_EXIST:
		return kvc_nvme_exist(io);
	}
	return kvc_nvme_list(io);
}

/* --- in halves --- */

static int kvc_nvme_exist_start(struct kvc_nvme_io *io)
{
	kvc_exists_start(&io->op);
	/* Not known here: to ask for what other hosts did means to wait. */
	if (io->op.status == -EAGAIN)
		return -EAGAIN;
	return kvc_nvme_end(io);
}

int kvc_nvme_io_start(struct kvc_nvme_io *io)
{
	struct kvc_op *op = &io->op;

	switch (io->opcode) {
	case KVC_NVME_EXIST:
		return kvc_nvme_exist_start(io);
	case KVC_NVME_RETRIEVE:
		if (!io->size)
			return kvc_nvme_exist_start(io);
		kvc_get_start(op);
		if (op->status == -EAGAIN)
			return -EAGAIN;		/* to wait a little */
		break;
	case KVC_NVME_STORE:
		if (io->must_exist)
			return -EAGAIN;
		kvc_put_start(op);
		/* Wait for room, or replace. */
		if (op->status == -EAGAIN || op->status == -EBUSY ||
		    (op->status == -EEXIST && !io->must_not_exist))
			return -EAGAIN;
		break;
	default:
		return -EAGAIN;
	}
	return op->status == -EINPROGRESS ? -EIOCBQUEUED : kvc_nvme_end(io);
}

int kvc_nvme_io_record(struct kvc_nvme_io *io)
{
	kvc_put_record(&io->op);
	return io->op.status == -EINPROGRESS ? -EIOCBQUEUED : kvc_nvme_end(io);
}

int kvc_nvme_io_finish(struct kvc_nvme_io *io)
{
	if (io->opcode == KVC_NVME_STORE)
		kvc_put_finish(&io->op);
	else
		kvc_get_finish(&io->op);
	return kvc_nvme_end(io);
}

/* --- ioctls --- */

static int kvc_nvme_do_io(struct file *file, const struct nvme_uring_cmd *c,
			  u64 *result)
{
	struct kvc_pool *pool = kvc_pool_get(kvc_node_pool(file));
	struct kvc_nvme_io io;	/* less than 1 KiB, and no allocation */
	int err;

	if (!pool)
		return -ENODEV;
	err = kvc_pool_enter(pool);
	if (!err) {
		err = kvc_nvme_io_init(&io, pool, c, file->f_mode);
		if (!err)
			err = kvc_nvme_io_run(&io);
		*result = err >= 0 ? io.result : 0;
		kvc_pool_leave(pool);
	} else if (err == -ESTALE) {
		/* Joining anew: see kvc_nvme_status(). */
		err = kvc_nvme_check(c) ?: KVC_NVME_NOT_READY;
	}
	kvc_pool_put(pool);
	return err;
}

int kvc_nvme_admin(u32 number, const struct nvme_uring_cmd *c, u64 *result)
{
	struct kvc_pool *pool;
	void *page;
	int err;

	if (c->opcode != 0x06)		/* Identify */
		return KVC_NVME_INVALID_OPCODE;
	if (c->data_len < KVC_BLOCK_SIZE || c->flags || c->metadata ||
	    c->metadata_len)
		return KVC_NVME_INVALID_FIELD;
	pool = kvc_pool_get(number);
	if (!pool)
		return -ENODEV;
	page = (void *)get_zeroed_page(GFP_KERNEL);
	err = page ? kvc_nvme_identify(pool, c, page) : -ENOMEM;
	if (!err && copy_to_user(u64_to_user_ptr(c->addr), page, KVC_BLOCK_SIZE))
		err = -EFAULT;
	free_page((unsigned long)page);
	kvc_pool_put(pool);
	*result = 0;
	return err;
}

static int kvc_nvme_put_result(unsigned int cmd, void __user *arg, u64 result)
{
	if (cmd == NVME_IOCTL_IO64_CMD || cmd == NVME_IOCTL_ADMIN64_CMD) {
		struct nvme_passthru_cmd64 __user *u = arg;

		return put_user(result, &u->result);
	} else {
		struct nvme_passthru_cmd __user *u = arg;

		return put_user((u32)result, &u->result);
	}
}

#define KVC_SAME_PLACE(type, field) \
	BUILD_BUG_ON(offsetof(type, field) != \
		     offsetof(struct nvme_uring_cmd, field))

long kvc_nvme_ioctl(struct file *file, unsigned int cmd, void __user *arg)
{
	struct nvme_uring_cmd c;
	u64 result = 0;
	int err;

	KVC_SAME_PLACE(struct nvme_passthru_cmd, data_len);
	KVC_SAME_PLACE(struct nvme_passthru_cmd, timeout_ms);
	KVC_SAME_PLACE(struct nvme_passthru_cmd64, data_len);
	KVC_SAME_PLACE(struct nvme_passthru_cmd64, timeout_ms);

	switch (cmd) {
	case NVME_IOCTL_ID:
		return KVC_NVME_NSID;
	case NVME_IOCTL_ADMIN_CMD:
	case NVME_IOCTL_ADMIN64_CMD:
	case NVME_IOCTL_IO_CMD:
	case NVME_IOCTL_IO64_CMD:
		break;
	default:
		return -ENOTTY;
	}
	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	if (cmd == NVME_IOCTL_IO_CMD || cmd == NVME_IOCTL_IO64_CMD)
		err = kvc_nvme_do_io(file, &c, &result);
	else
		err = kvc_nvme_admin(kvc_node_pool(file), &c, &result);
	if (err >= 0 && kvc_nvme_put_result(cmd, arg, result))
		err = -EFAULT;
	return err;
}
