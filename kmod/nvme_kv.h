/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The NVMe KV command set on a pool's node, with the kernel's own passthrough
 * interface (linux/nvme_ioctl.h): for programs that were made for KV SSDs.
 *
 * A pool is a namespace with NSID 1. Its keys live in a tenant of their own,
 * KVCACHE_TENANT_NVME.
 */
#ifndef KVC_NVME_KV_H
#define KVC_NVME_KV_H

#include <linux/nvme_ioctl.h>
#include "object.h"

#define KVC_NVME_NSID		1
#define KVC_NVME_KEY_MAX	16

/* Opcodes of the NVM Express Key Value Command Set 1.0, section 3. */
enum kvc_nvme_opcode {
	KVC_NVME_STORE		= 0x01,
	KVC_NVME_RETRIEVE	= 0x02,
	KVC_NVME_LIST		= 0x06,
	KVC_NVME_DELETE		= 0x10,
	KVC_NVME_EXIST		= 0x14,
};

/* Status codes, without "do not retry": generic, and of the KV command set. */
enum kvc_nvme_status {
	KVC_NVME_INVALID_OPCODE		= 0x01,
	KVC_NVME_INVALID_FIELD		= 0x02,
	KVC_NVME_INTERNAL		= 0x06,
	KVC_NVME_INVALID_NS		= 0x0b,
	KVC_NVME_CAPACITY_EXCEEDED	= 0x81,
	KVC_NVME_NOT_READY		= 0x82,
	KVC_NVME_INVALID_VALUE_SIZE	= 0x85,
	KVC_NVME_INVALID_KEY_SIZE	= 0x86,
	KVC_NVME_NO_KEY			= 0x87,
	KVC_NVME_UNRECOVERED		= 0x88,
	KVC_NVME_KEY_EXISTS		= 0x89,
	KVC_NVME_WRITE_FAULT		= 0x280,
	KVC_NVME_ABORTED_BY_HOST	= 0x371,
};

/**
 * struct kvc_nvme_io - a command of a pool's namespace that is carried out
 * @op: operation
 * @key: its key
 * @pool: entered
 * @opcode: enum kvc_nvme_opcode
 * @must_exist: store
 * @must_not_exist: store
 * @addr: data
 * @size: bytes of it
 * @result: of the completion: length of the stored value
 */
struct kvc_nvme_io {
	struct kvc_op op;
	struct kvc_key key;
	struct kvc_pool *pool;
	u8 opcode;
	bool must_exist;
	bool must_not_exist;
	void __user *addr;
	u32 size;
	u64 result;
};

/**
 * kvc_nvme_io_init() - check a command and get ready for it
 * @io: set up
 * @pool: pool, entered
 * @c: command, copied from user memory. It is also the start of the two other
 *	structures of linux/nvme_ioctl.h
 * @mode: file's
 *
 * Return: 0; a status of the command; -EFAULT, -EACCES.
 */
int kvc_nvme_io_init(struct kvc_nvme_io *io, struct kvc_pool *pool,
		     const struct nvme_uring_cmd *c, fmode_t mode);

/* Carry it out, and wait for it. Return: status, or -errno. */
int kvc_nvme_io_run(struct kvc_nvme_io *io);

/**
 * kvc_nvme_io_start() - begin it
 *
 * @op.notify is called when kvc_nvme_io_record() (of a Store) or
 * kvc_nvme_io_finish() won't wait.
 *
 * Return: -EIOCBQUEUED; -EAGAIN: can't be done without waiting, nothing is done;
 * the command's status, or another -errno.
 */
int kvc_nvme_io_start(struct kvc_nvme_io *io);

/* Store: the data is down. Return: -EIOCBQUEUED, for another @op.notify; or as above. */
int kvc_nvme_io_record(struct kvc_nvme_io *io);

/* The second half. Return: status, or -errno. */
int kvc_nvme_io_finish(struct kvc_nvme_io *io);

/* The ioctls of linux/nvme_ioctl.h. -ENOTTY: not one of them. */
long kvc_nvme_ioctl(struct file *file, unsigned int cmd, void __user *arg);

/* NVME_URING_CMD_ADMIN and the like: Identify. Return: status, or -errno. */
int kvc_nvme_admin(u32 number, const struct nvme_uring_cmd *c, u64 *result);

/* --- nvme_id.c --- */

/* Fill a page with what Identify tells. Return: status. */
int kvc_nvme_identify(struct kvc_pool *pool, const struct nvme_uring_cmd *c,
		      void *page);

/* --- nvme_list.c --- */

int kvc_nvme_list(struct kvc_nvme_io *io);

#endif
