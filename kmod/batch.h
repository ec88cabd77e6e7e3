/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVC_BATCH_H
#define KVC_BATCH_H

#include <linux/bits.h>
#include <linux/types.h>

struct file;
struct io_uring_cmd;

/**
 * kvc_batch_ioctl() - PUT, GET, EXISTS, DELETE
 * @nr: number of the ioctl
 * @arg: user's struct kvcache_batch
 *
 * Return: 0 or a negative errno, as the uapi says.
 */
int kvc_batch_ioctl(struct file *file, unsigned int nr, void __user *arg);

/* As if KVCACHE_BATCH_SETTLE were set. */
#define KVC_BATCH_SETTLE	BIT(0)
/* -EAGAIN if an exists had to wait for what other hosts did. */
#define KVC_BATCH_NOWAIT	BIT(1)

/* Likewise, but return how many keys have status 0. @how: KVC_BATCH_* */
int kvc_batch_run(struct file *file, unsigned int nr, void __user *arg,
		  unsigned int how);

/**
 * kvc_batch_uring() - the same as an io_uring command
 *
 * Return: how many keys have status 0; -EIOCBQUEUED: it will complete; -EAGAIN:
 * to be called again where it may wait; or another negative errno.
 */
int kvc_batch_uring(struct io_uring_cmd *cmd, unsigned int nr, void __user *arg,
		    unsigned int issue_flags);

/* LIST; in chardev.c. */
int kvc_list_ioctl(struct file *file, void __user *arg);

int kvc_batch_init(void);	/* module init: cache */
void kvc_batch_exit(void);

int kvc_batch_uring_init(void);	/* module init: cache */
void kvc_batch_uring_exit(void);

/* Copy a structure in by its @size, and back; see the uapi. */
int kvc_struct_in(void *to, size_t known, void __user *from);

/* The same, of a call that is CAP_SYS_ADMIN's alone: else -EPERM. */
int kvc_admin_struct_in(void *to, size_t known, void __user *from);
int kvc_struct_out(void __user *to, const void *from, size_t known,
		   u32 callers);

/* When a call that was given so many milliseconds ends, in jiffies. */
unsigned long kvc_deadline(u32 ms);

#endif
