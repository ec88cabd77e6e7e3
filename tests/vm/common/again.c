// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include "again.h"

static uint64_t asked_again;

uint64_t again_count(void)
{
	return __atomic_load_n(&asked_again, __ATOMIC_RELAXED);
}

static ssize_t batch(struct kvc *kvc, unsigned long cmd,
		     const struct kvc_call *call, struct kvcache_io *ios,
		     size_t count)
{
	switch (cmd) {
	case KVCACHE_IOC_PUT:
		return kvc_batch_put(kvc, call, ios, count);
	case KVCACHE_IOC_GET:
		return kvc_batch_get(kvc, call, ios, count);
	case KVCACHE_IOC_EXISTS:
		return kvc_batch_exists(kvc, call, ios, count);
	default:
		return kvc_batch_delete(kvc, call, ios, count);
	}
}

/* Ask once more for the keys that say EAGAIN; how many of them are done. */
static ssize_t once_more(struct kvc *kvc, unsigned long cmd,
			 const struct kvc_call *call, struct kvcache_io *ios,
			 size_t count, struct kvcache_io *some)
{
	size_t i, n = 0;
	ssize_t done;

	for (i = 0; i < count; i++)
		if (ios[i].status == -EAGAIN)
			some[n++] = ios[i];
	if (!n)
		return -EAGAIN;
	__atomic_add_fetch(&asked_again, n, __ATOMIC_RELAXED);
	done = batch(kvc, cmd, call, some, n);
	if (done < 0)
		return done == -EAGAIN ? 0 : done;
	for (i = 0, n = 0; i < count; i++)
		if (ios[i].status == -EAGAIN)
			ios[i] = some[n++];
	return done;
}

ssize_t again_batch(struct kvc *kvc, unsigned long cmd,
		    const struct kvc_call *call, struct kvcache_io *ios,
		    size_t count)
{
	uint64_t end = vt_ms() + AGAIN_MS;
	ssize_t more, done = batch(kvc, cmd, call, ios, count);
	struct kvcache_io *some = NULL;
	size_t i;

	if (done < 0)
		return done;
	for (i = 0; i < count && ios[i].status != -EAGAIN; i++)
		;
	if (i == count)
		return done;
	some = calloc(count, sizeof(*some));
	vt_need(some, "memory for %zu keys", count);
	while (vt_ms() < end) {
		vt_sleep_ms(20);
		more = once_more(kvc, cmd, call, ios, count, some);
		if (more < 0) {
			done = more == -EAGAIN ? done : more;
			break;
		}
		done += more;
	}
	free(some);
	return done;
}

int again_one(struct kvc *kvc, unsigned long cmd, const struct kvc_call *call,
	      struct kvcache_io *io)
{
	ssize_t done = again_batch(kvc, cmd, call, io, 1);

	return done < 0 ? (int)done : io->status;
}

int again_put(struct kvc *kvc, const struct kvc_call *call, const void *key,
	      size_t key_len, const void *data, size_t len)
{
	struct kvcache_io io;

	kvc_prep_data(&io, key, key_len, data, len);
	return again_one(kvc, KVCACHE_IOC_PUT, call, &io);
}

static ssize_t get(struct kvc *kvc, const struct kvc_call *call,
		   struct kvcache_io *io, uint64_t *length)
{
	int status = again_one(kvc, KVCACHE_IOC_GET, call, io);

	if (length)
		*length = io->length;
	return status ? status : (ssize_t)io->transferred;
}

ssize_t again_get(struct kvc *kvc, const struct kvc_call *call, const void *key,
		  size_t key_len, void *data, size_t len, uint64_t *length)
{
	struct kvcache_io io;

	kvc_prep_data(&io, key, key_len, data, len);
	return get(kvc, call, &io, length);
}

ssize_t again_get_range(struct kvc *kvc, const struct kvc_call *call,
			const void *key, size_t key_len, uint64_t offset,
			void *data, size_t len, uint64_t *length)
{
	struct kvcache_io io;

	kvc_prep_data(&io, key, key_len, data, len);
	kvc_set_range(&io, offset);
	return get(kvc, call, &io, length);
}

int again_exists(struct kvc *kvc, const struct kvc_call *call, const void *key,
		 size_t key_len, uint64_t *length)
{
	struct kvcache_io io;
	int status;

	kvc_prep(&io, key, key_len);
	status = again_one(kvc, KVCACHE_IOC_EXISTS, call, &io);
	if (length)
		*length = io.length;
	return status;
}

int again_delete(struct kvc *kvc, const struct kvc_call *call, const void *key,
		 size_t key_len)
{
	struct kvcache_io io;

	kvc_prep(&io, key, key_len);
	return again_one(kvc, KVCACHE_IOC_DELETE, call, &io);
}
