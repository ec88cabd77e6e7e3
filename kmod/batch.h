/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVC_BATCH_H
#define KVC_BATCH_H

#include <linux/types.h>

/**
 * kvc_batch_ioctl() - PUT, GET, EXISTS, DELETE
 * @nr: number of the ioctl
 * @arg: user's struct kvcache_batch
 *
 * Return: 0 or a negative errno, as the uapi says.
 */
int kvc_batch_ioctl(struct file *file, unsigned int nr, void __user *arg);

/* Copy a structure in by its @size, and back; see the uapi. */
int kvc_struct_in(void *to, size_t known, void __user *from);
int kvc_struct_out(void __user *to, const void *from, size_t known,
		   u32 callers);

/* When a call that was given so many milliseconds ends, in jiffies. */
unsigned long kvc_deadline(u32 ms);

#endif
