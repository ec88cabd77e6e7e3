// SPDX-License-Identifier: MIT
/* put, get, exists, delete: batches, and batches of one. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

/*
 * An array of struct iovec goes to the kernel as it is. That is right where
 * pointers and lengths have 64 bits, the only place this library is for.
 */
_Static_assert(sizeof(struct iovec) == sizeof(struct kvcache_iovec) &&
	       offsetof(struct iovec, iov_base) ==
			offsetof(struct kvcache_iovec, base) &&
	       offsetof(struct iovec, iov_len) ==
			offsetof(struct kvcache_iovec, len),
	       "libkvcache is for 64-bit programs");

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int kvc_submit(struct kvc *kvc, unsigned long command,
	       const struct kvc_call *call, uint32_t deadline_ms,
	       struct kvcache_io *ios, size_t count, uint32_t *done)
{
	struct kvcache_batch batch = {
		.size = sizeof(batch),
		.flags = call->flags & ~KVC_CALL_OURS,
		.pool = kvc->pool,
		.tenant = call->tenant,
		.ios = (uint64_t)(uintptr_t)ios,
		.count = (uint32_t)count,
		.io_size = sizeof(*ios),
		.deadline_ms = deadline_ms,
	};
	int error = kvc_ioctl(kvc, command, &batch);

	*done = batch.done;
	return error;
}

/* Give every key from here on a status without touching it. */
static void leave_out(struct kvcache_io *ios, size_t count, int status)
{
	size_t i;

	for (i = 0; i < count; i++)
		ios[i].status = status;
}

/* Did a signal or a detach end the call before its last key was begun? */
static bool was_cut_short(const struct kvcache_io *ios, size_t count)
{
	return ios[count - 1].status == -ECANCELED;
}

/* More keys than the kernel takes at a time, under one deadline. */
static ssize_t submit_parts(struct kvc *kvc, unsigned long command,
			    const struct kvc_call *call,
			    struct kvcache_io *ios, size_t count)
{
	uint32_t deadline_ms = call->deadline_ms ? call->deadline_ms :
					KVCACHE_DEADLINE_DEFAULT_MS;
	uint64_t end = now_ms() + deadline_ms;
	ssize_t total = 0;
	size_t at = 0;

	while (at < count) {
		size_t part = count - at < kvc->batch_max ? count - at :
							    kvc->batch_max;
		uint64_t now = now_ms();
		uint32_t done;
		int error;

		/* 0 would ask for the default. */
		if (at && now >= end) {
			leave_out(ios + at, count - at, -ETIMEDOUT);
			break;
		}
		error = kvc_submit(kvc, command, call,
				   at ? (uint32_t)(end - now) : deadline_ms,
				   ios + at, part, &done);
		if (error && !at)
			return error;
		if (error) {
			/*
			 * Keys before this part are done, so the call can't
			 * say that no key was touched.
			 */
			leave_out(ios + at, count - at,
				  error == -EINTR ? -ECANCELED : error);
			break;
		}
		total += done;
		at += part;
		if (at < count && was_cut_short(ios + at - part, part)) {
			leave_out(ios + at, count - at, -ECANCELED);
			break;
		}
	}
	return total;
}

static const struct kvc_call plain;

static ssize_t run(struct kvc *kvc, unsigned long command,
		   const struct kvc_call *call, struct kvcache_io *ios,
		   size_t count)
{
	ssize_t total;
	uint32_t done;
	int error;

	if (!call)
		call = &plain;
	if (!count || call->reserved)
		return -EINVAL;
	if (count > kvc->batch_max) {
		total = submit_parts(kvc, command, call, ios, count);
	} else {
		error = kvc_submit(kvc, command, call, call->deadline_ms, ios,
				   count, &done);
		total = error ? error : (ssize_t)done;
	}
	if (total < 0 || (size_t)total == count)
		return total;
	return total + (ssize_t)kvc_stage(kvc, command, call, ios, count);
}

ssize_t kvc_batch_put(struct kvc *kvc, const struct kvc_call *call,
		      struct kvcache_io *ios, size_t count)
{
	return run(kvc, KVCACHE_IOC_PUT, call, ios, count);
}

ssize_t kvc_batch_get(struct kvc *kvc, const struct kvc_call *call,
		      struct kvcache_io *ios, size_t count)
{
	return run(kvc, KVCACHE_IOC_GET, call, ios, count);
}

/* May the mapped table answer this call? What is malformed is the kernel's to say. */
static bool can_look(const struct kvc *kvc, const struct kvc_call *call)
{
	return kvc->view &&
	       (!call || !(call->reserved || call->flags & ~KVC_SETTLE));
}

/* By the table, and those that it can't tell by the kernel. */
static ssize_t look(struct kvc *kvc, const struct kvc_call *call,
		    struct kvcache_io *ios, size_t count)
{
	size_t hits, i, n = 0;
	size_t asks = kvc_view_batch(kvc, call ? call->tenant : 0, ios, count, &hits);
	struct kvcache_io *rest;
	ssize_t done;

	if (!asks)
		return (ssize_t)hits;
	rest = asks < count ? malloc(asks * sizeof(*rest)) : NULL;
	if (!rest)
		return run(kvc, KVCACHE_IOC_EXISTS, call, ios, count);
	for (i = 0; i < count; i++)
		if (ios[i].status == -EAGAIN)
			rest[n++] = ios[i];
	done = run(kvc, KVCACHE_IOC_EXISTS, call, rest, n);
	for (i = 0, n = 0; i < count && done >= 0; i++)
		if (ios[i].status == -EAGAIN)
			ios[i] = rest[n++];
	free(rest);
	return done < 0 ? done : done + (ssize_t)hits;
}

ssize_t kvc_batch_exists(struct kvc *kvc, const struct kvc_call *call,
			 struct kvcache_io *ios, size_t count)
{
	if (!can_look(kvc, call) || !count)
		return run(kvc, KVCACHE_IOC_EXISTS, call, ios, count);
	return look(kvc, call, ios, count);
}

ssize_t kvc_batch_delete(struct kvc *kvc, const struct kvc_call *call,
			 struct kvcache_io *ios, size_t count)
{
	return run(kvc, KVCACHE_IOC_DELETE, call, ios, count);
}

/*
 * A batch of one: 0 or -errno. A caller that sees only a number must still be
 * told that its memory is not its own again: that is -EINPROGRESS.
 */
static int run_one(struct kvc *kvc, unsigned long command,
		   const struct kvc_call *call, struct kvcache_io *io)
{
	ssize_t done = run(kvc, command, call, io, 1);

	if (done < 0)
		return (int)done;
	if (io->out_flags & KVCACHE_IO_BUSY)
		return -EINPROGRESS;
	return io->status;
}

int kvc_put(struct kvc *kvc, const struct kvc_call *call, const void *key,
	    size_t key_len, const void *data, size_t len)
{
	struct kvcache_io io;

	kvc_prep_data(&io, key, key_len, data, len);
	return run_one(kvc, KVCACHE_IOC_PUT, call, &io);
}

static ssize_t get_one(struct kvc *kvc, const struct kvc_call *call,
		       struct kvcache_io *io, uint64_t *length)
{
	int error = run_one(kvc, KVCACHE_IOC_GET, call, io);

	if (length)
		*length = io->length;
	return error ? error : (ssize_t)io->transferred;
}

ssize_t kvc_get(struct kvc *kvc, const struct kvc_call *call, const void *key,
		size_t key_len, void *data, size_t len, uint64_t *length)
{
	struct kvcache_io io;

	kvc_prep_data(&io, key, key_len, data, len);
	return get_one(kvc, call, &io, length);
}

ssize_t kvc_get_range(struct kvc *kvc, const struct kvc_call *call,
		      const void *key, size_t key_len, uint64_t offset,
		      void *data, size_t len, uint64_t *length)
{
	struct kvcache_io io;

	kvc_prep_data(&io, key, key_len, data, len);
	kvc_set_range(&io, offset);
	return get_one(kvc, call, &io, length);
}

int kvc_exists(struct kvc *kvc, const struct kvc_call *call, const void *key,
	       size_t key_len, uint64_t *length)
{
	struct kvcache_io io;
	int error;

	if (can_look(kvc, call)) {
		enum kvc_answer answer = kvc_view_look(kvc, call ? call->tenant : 0,
						       key, key_len);

		if (answer == KVC_HIT && !length)
			return 0;
		if (answer == KVC_MISS && length)
			*length = 0;
		if (answer == KVC_MISS)
			return -ENOENT;
	}
	kvc_prep(&io, key, key_len);
	error = run_one(kvc, KVCACHE_IOC_EXISTS, call, &io);
	if (length)
		*length = io.length;
	return error;
}

int kvc_pin(struct kvc *kvc, const struct kvc_call *call, const void *key,
	    size_t key_len, uint64_t until)
{
	struct kvcache_io io;

	kvc_prep(&io, key, key_len);
	kvc_set_pin(&io, until);
	return run_one(kvc, KVCACHE_IOC_EXISTS, call, &io);
}

int kvc_delete(struct kvc *kvc, const struct kvc_call *call, const void *key,
	       size_t key_len)
{
	struct kvcache_io io;

	kvc_prep(&io, key, key_len);
	return run_one(kvc, KVCACHE_IOC_DELETE, call, &io);
}
