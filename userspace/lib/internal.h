/* SPDX-License-Identifier: MIT */
/* What the files of libkvcache share. */
#ifndef KVC_LIB_INTERNAL_H
#define KVC_LIB_INTERNAL_H

#include "kvcache.h"

struct kvc_view;

/**
 * struct kvc - a handle; constant after kvc_open() and kvc_map()
 * @fd: of the character device
 * @pool: pool number of its calls, 0: the default pool
 * @batch_max: keys that the kernel takes in one call
 * @caps: as told by the kernel
 * @view: mapped presence table, NULL: none is wanted
 */
struct kvc {
	int fd;
	unsigned int pool;
	uint32_t batch_max;
	struct kvcache_caps caps;
	struct kvc_view *view;
};

/* Flags of struct kvc_call that the kernel does not know. */
#define KVC_CALL_OURS KVC_CALL_KERNEL

enum kvc_answer { KVC_ASK, KVC_HIT, KVC_MISS };

void kvc_view_close(struct kvc_view *view);

/* Is the key there, by the handle's view? KVC_ASK: that can't tell. */
enum kvc_answer kvc_view_look(struct kvc *kvc, uint32_t tenant, const void *key,
			      size_t key_len);

/*
 * The same of many. Status -EAGAIN: the kernel has to be asked. Return: how many
 * these are.
 */
size_t kvc_view_batch(struct kvc *kvc, uint32_t tenant, struct kvcache_io *ios,
		      size_t count, size_t *hits);

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
