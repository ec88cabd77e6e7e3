// SPDX-License-Identifier: MIT
/*
 * Memory that members can't reach: it takes the way through ordinary memory.
 *
 * The kernel moves objects between members and the caller's memory itself. Memory
 * of another PCI device is beyond some members; the kernel says EOPNOTSUPP then,
 * and what the caller can read and write we copy.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Pieces of the caller's memory for one object. */
struct pieces {
	const struct kvcache_iovec *v;
	uint64_t nr;
	struct kvcache_iovec one;
};

static void pieces_of(struct pieces *p, const struct kvcache_io *io)
{
	p->one.base = io->data;
	p->one.len = io->data_len;
	p->v = &p->one;
	p->nr = 1;
	if (!(io->flags & KVCACHE_IO_IOVEC))
		return;
	p->v = (const struct kvcache_iovec *)(uintptr_t)io->data;
	p->nr = io->data_len;
}

/* Their length, 0 if that is more than an object can have. */
static uint64_t pieces_length(const struct pieces *p, uint64_t most)
{
	uint64_t i, sum = 0;

	for (i = 0; i < p->nr; i++) {
		if (p->v[i].len > most - sum)
			return 0;
		sum += p->v[i].len;
	}
	return sum;
}

static void pieces_copy(const struct pieces *p, uint8_t *stage, uint64_t len,
			bool out)
{
	uint64_t i, n;

	for (i = 0; i < p->nr && len; i++, stage += n, len -= n) {
		void *at = (void *)(uintptr_t)p->v[i].base;

		n = p->v[i].len < len ? p->v[i].len : len;
		if (out)
			memcpy(at, stage, n);
		else
			memcpy(stage, at, n);
	}
}

/* One object; @io gets what the kernel says of it. */
static void stage_one(struct kvc *kvc, unsigned long command,
		      const struct kvc_call *call, struct kvcache_io *io)
{
	/* Larger objects there are none; a get's memory may be larger. */
	const uint64_t most = 1ULL << 31;
	struct kvcache_io staged = *io;
	struct pieces p;
	uint32_t done;
	void *stage;
	int error;

	pieces_of(&p, io);
	staged.data_len = pieces_length(&p, most);
	if (!staged.data_len)
		return;
	/* A get has been told how long the object is. */
	if (command == KVCACHE_IOC_GET && !(io->flags & KVCACHE_IO_RANGE) &&
	    io->length && io->length < staged.data_len)
		staged.data_len = io->length;
	if (posix_memalign(&stage, (size_t)sysconf(_SC_PAGESIZE), staged.data_len)) {
		io->status = -ENOMEM;
		return;
	}
	staged.data = (uint64_t)(uintptr_t)stage;
	staged.flags &= ~KVCACHE_IO_IOVEC;
	staged.length = 0;
	staged.transferred = 0;
	staged.status = 0;
	staged.out_flags = 0;
	if (command == KVCACHE_IOC_PUT)
		pieces_copy(&p, stage, staged.data_len, false);
	error = kvc_submit(kvc, command, call, call->deadline_ms, &staged, 1,
			   &done);
	io->status = error ? error : staged.status;
	io->length = staged.length;
	io->transferred = staged.transferred;
	if (!io->status && command == KVCACHE_IOC_GET)
		pieces_copy(&p, stage, staged.transferred, true);
	/* Given up: the device may still use our memory, but not the caller's. */
	if (!error && (staged.out_flags & KVCACHE_IO_BUSY))
		return;
	free(stage);
}

size_t kvc_stage(struct kvc *kvc, unsigned long command,
		 const struct kvc_call *call, struct kvcache_io *ios, size_t count)
{
	size_t i, done = 0;

	if (command != KVCACHE_IOC_PUT && command != KVCACHE_IOC_GET)
		return 0;
	for (i = 0; i < count; i++) {
		if (ios[i].status != -EOPNOTSUPP)
			continue;
		stage_one(kvc, command, call, &ios[i]);
		done += !ios[i].status;
	}
	return done;
}
