/* SPDX-License-Identifier: MIT */
/* What the files of libkvcache share. */
#ifndef KVC_LIB_INTERNAL_H
#define KVC_LIB_INTERNAL_H

#include "kvcache.h"

/**
 * struct kvc - a handle; constant after kvc_open()
 * @fd: of the character device
 * @pool: pool number of its calls, 0: the default pool
 * @batch_max: keys that the kernel takes in one call
 * @caps: as told by the kernel
 */
struct kvc {
	int fd;
	unsigned int pool;
	uint32_t batch_max;
	struct kvcache_caps caps;
};

/* ioctl() with the errno as return value. */
int kvc_ioctl(const struct kvc *kvc, unsigned long command, void *argument);

/* --- batch.c --- */

/* One call of the kernel, which says in @done how many keys: 0 or -errno. */
int kvc_submit(struct kvc *kvc, unsigned long command,
	       const struct kvc_call *call, uint32_t deadline_ms,
	       struct kvcache_io *ios, size_t count, uint32_t *done);

/* --- stage.c --- */

/*
 * Puts and gets that the kernel refused with EOPNOTSUPP, through memory of ours;
 * each has the call's deadline for itself. Returns how many that did.
 */
size_t kvc_stage(struct kvc *kvc, unsigned long command,
		 const struct kvc_call *call, struct kvcache_io *ios,
		 size_t count);

#endif
