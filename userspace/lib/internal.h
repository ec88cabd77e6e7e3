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

#endif
