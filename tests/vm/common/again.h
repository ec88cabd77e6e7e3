/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The library's calls, but keys that answer EAGAIN (on a busy machine a member
 * may look ill for a moment, or a clean segment be missing) are asked for again
 * until they answer something else, for AGAIN_MS at most.
 */
#ifndef KVC_AGAIN_H
#define KVC_AGAIN_H

#include "vmtest.h"

#define AGAIN_MS 30000

/* Keys that had to be asked for again, so far. */
uint64_t again_count(void);

/* @cmd: KVCACHE_IOC_PUT, GET, EXISTS or DELETE. As kvc_batch_put() and so on. */
ssize_t again_batch(struct kvc *kvc, unsigned long cmd,
		    const struct kvc_call *call, struct kvcache_io *ios,
		    size_t count);
/* One key: its status, or why the call was refused. */
int again_one(struct kvc *kvc, unsigned long cmd, const struct kvc_call *call,
	      struct kvcache_io *io);

int again_put(struct kvc *kvc, const struct kvc_call *call, const void *key,
	      size_t key_len, const void *data, size_t len);
ssize_t again_get(struct kvc *kvc, const struct kvc_call *call, const void *key,
		  size_t key_len, void *data, size_t len, uint64_t *length);
ssize_t again_get_range(struct kvc *kvc, const struct kvc_call *call,
			const void *key, size_t key_len, uint64_t offset,
			void *data, size_t len, uint64_t *length);
int again_exists(struct kvc *kvc, const struct kvc_call *call, const void *key,
		 size_t key_len, uint64_t *length);
int again_delete(struct kvc *kvc, const struct kvc_call *call, const void *key,
		 size_t key_len);

#endif
