/* SPDX-License-Identifier: GPL-2.0 */
/* A batch of keys in the kernel: what batch.c and batch_uring.c share. */
#ifndef KVC_BATCH_IMPL_H
#define KVC_BATCH_IMPL_H

#include <linux/uio.h>
#include <uapi/linux/kvcache.h>
#include "object.h"

struct io_uring_cmd;

/* Keys in flight at a time, and bytes: what one call may pin. */
#define KVC_WINDOW		64
#define KVC_WINDOW_BYTES	(256ULL << 20)

/**
 * struct kvc_window_key - a key that is being worked on
 * @op: operation
 * @iov: pieces of memory, kvmalloc()ed; NULL if there is but one
 * @owner: batch_uring.c: whom @op.notify is to tell
 * @again: batch_uring.c: it has to be tried again, waiting
 * @key: key
 */
struct kvc_window_key {
	struct kvc_op op;
	struct iovec *iov;
	void *owner;
	bool again;
	struct kvc_key key;
};

/**
 * struct kvc_run - a batch that is carried out
 * @nr: of the ioctl
 * @b: as the user gave it
 * @ios: its keys: copied, or @one_io
 * @pool: entered
 * @window: keys that are being worked on: allocated, or @one
 * @deadline: jiffies
 * @looked: at what other hosts did, since the call began
 * @settle: memory is not under I/O when it ends
 * @nowait: exists: don't wait for what other hosts did
 * @error: -EAGAIN: it would have to
 * @fixed: of an io_uring command on registered memory, else NULL
 * @issue_flags: with which it is carried out just now
 * @one_io: of a batch of one
 * @one: of a batch of one
 */
struct kvc_run {
	unsigned int nr;
	struct kvcache_batch b;
	struct kvcache_io *ios;
	struct kvc_pool *pool;
	struct kvc_window_key *window;
	unsigned long deadline;
	bool looked;
	bool settle;
	bool nowait;
	int error;
	struct io_uring_cmd *fixed;
	unsigned int issue_flags;
	struct kvcache_io one_io;
	struct kvc_window_key one;
};

/*
 * Copy a batch and its keys in and check them; @r need not be initialised before.
 * @size: the user's size of the structure. Whatever is returned: kvc_run_free().
 */
int kvc_run_prepare(struct kvc_run *r, struct file *file, unsigned int nr,
		    void __user *arg, u32 *size);
int kvc_run_window_alloc(struct kvc_run *r);
void kvc_run_free(struct kvc_run *r);

/* Get a key ready: user memory is looked at. Return: 0, or its status. */
int kvc_window_set(struct kvc_run *r, struct kvc_window_key *w,
		   const struct kvcache_io *io);
void kvc_run_start(const struct kvc_run *r, struct kvc_op *op);
void kvc_window_result(struct kvc_run *r, struct kvc_window_key *w,
		       struct kvcache_io *io);
void kvc_window_clear(struct kvc_window_key *w);

/* A window of keys from @at on, waiting; the pool is entered. Return: how many. */
u32 kvc_run_next(struct kvc_run *r, u32 at);

/* Every key gets the status of a pool that is joining anew. */
void kvc_run_lapsed(struct kvc_run *r);

/* Copy statuses out. */
int kvc_run_out(struct kvc_run *r, void __user *arg, u32 size);

#endif
