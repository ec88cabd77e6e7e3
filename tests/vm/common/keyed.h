/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects whose length and bytes follow from their keys, "PREFIX-NUMBER", so that
 * whoever reads one can judge it, on whatever host it was put.
 */
#ifndef KVC_KEYED_H
#define KVC_KEYED_H

#include "vmtest.h"

#define KEYED_PREFIX_MAX 24
#define KEYED_BATCH_MAX 128

enum keyed_op {
	KEYED_PUT,
	KEYED_GET,
	KEYED_EXISTS,
	KEYED_DELETE,
};

/**
 * struct keyed - what to do with which objects; goes over the network as it is
 * @prefix: of their keys
 * @first: number of the first
 * @count: how many
 * @max_len: they have 1 to so many bytes
 * @op: enum keyed_op
 * @batch: in one call, at most KEYED_BATCH_MAX
 * @patience_ms: keys that answer EAGAIN, ETIMEDOUT, ESTALE, EIO or ENODEV are asked
 *	for again for so long; 0: never
 * @deadline_ms: of a call, 0: KVCACHE_DEADLINE_DEFAULT_MS
 */
struct keyed {
	char prefix[KEYED_PREFIX_MAX];
	uint64_t first;
	uint32_t count;
	uint32_t max_len;
	uint32_t op;
	uint32_t batch;
	uint32_t patience_ms;
	uint32_t deadline_ms;
};

/**
 * struct keyed_tally - answers, each key's last one
 * @done: 0; of gets only if all bytes were right
 * @exists: EEXIST
 * @misses: ENOENT, and the host had a lease
 * @stale: ESTALE, and a miss for want of a lease
 * @busy: EAGAIN, ETIMEDOUT
 * @errors: any other
 * @wrong: other bytes, or another length, than the key's
 * @again: keys that had to be asked for again
 * @error: errno of the first key that was not done, or of a call that was refused
 * @worst: number of that key
 * @longest_ms: the call that took longest
 */
struct keyed_tally {
	uint32_t done;
	uint32_t exists;
	uint32_t misses;
	uint32_t stale;
	uint32_t busy;
	uint32_t errors;
	uint32_t wrong;
	uint32_t again;
	int32_t error;
	uint32_t longest_ms;
	uint64_t worst;
};

/*
 * The pool is opened anew when it went away, so that it and the module can be
 * exchanged under a load: NULL at first, each thread has its own.
 */
void keyed_do(struct kvc **kvc, const struct keyed *what,
	      struct keyed_tally *tally);
void keyed_add(struct keyed_tally *to, const struct keyed_tally *from);
/* "12 done, 3 misses; first: error 2 of key 7": in a buffer of the thread's. */
const char *keyed_text(const struct keyed_tally *tally);

static inline struct keyed keyed_make(enum keyed_op op, const char *prefix,
				      uint64_t first, uint32_t count,
				      uint32_t max_len)
{
	struct keyed k = {
		.first = first, .count = count, .max_len = max_len, .op = op,
		.batch = 64, .patience_ms = 60000, .deadline_ms = 20000,
	};

	for (size_t i = 0; i < sizeof(k.prefix) - 1 && prefix[i]; i++)
		k.prefix[i] = prefix[i];
	return k;
}

uint32_t keyed_len(const struct keyed *what, uint64_t number);

#endif
