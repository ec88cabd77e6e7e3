/* SPDX-License-Identifier: MIT */
/*
 * kvcache as Mooncake's store needs it: batches on scattered memory, and a scan
 * of all that is there, answered with Mooncake's error codes.
 *
 * Functions return 0 or more, or a negative value of Mooncake's ErrorCode. Any
 * number of threads may use a store at the same time. The names of the codes
 * are Mooncake's; only those that occur are here.
 */
#ifndef KVCACHE_MOONCAKE_H
#define KVCACHE_MOONCAKE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kvcm_error {
	KVCM_OK				= 0,
	KVCM_INTERNAL_ERROR		= -1,
	KVCM_BUFFER_OVERFLOW		= -10,	/* memory is too small */
	KVCM_SEGMENT_NOT_FOUND		= -101,	/* no such pool */
	KVCM_NO_AVAILABLE_HANDLE	= -200,	/* no room at this moment */
	KVCM_INVALID_KEY		= -400,
	KVCM_INVALID_PARAMS		= -600,
	KVCM_OBJECT_NOT_FOUND		= -704,
	KVCM_OBJECT_ALREADY_EXISTS	= -705,	/* and is of another size */
	KVCM_TRANSFER_FAIL		= -800,	/* not at this moment, or late */
	KVCM_CHECKSUM_MISMATCH		= -801,	/* it rotted and was dropped */
	KVCM_FILE_OPEN_FAIL		= -1101,
	KVCM_FILE_READ_FAIL		= -1102,
	KVCM_FILE_WRITE_FAIL		= -1103,
};

/* A constant string, for any value. */
const char *kvcm_strerror(int64_t error);

/**
 * struct kvcm_options - where the objects are
 * @device: NULL: /dev/kvcache
 * @pool: number of the pool, 0: the lowest that is attached
 * @tenant: whose objects
 * @get_deadline_ms: of a batch of gets, 0: a minute. Whatever it says, a call
 *	returns only when the kernel is done with the memory that it was given
 * @put_deadline_ms: of any other call, 0: 10 s
 *
 * NULL in its place means all zeroes.
 */
struct kvcm_options {
	const char *device;
	uint32_t pool;
	uint32_t tenant;
	uint32_t get_deadline_ms;
	uint32_t put_deadline_ms;
};

struct kvcm;

int kvcm_open(const struct kvcm_options *options, struct kvcm **store);
void kvcm_close(struct kvcm *store);

/**
 * struct kvcm_item - one object of a batch
 * @key: 1 .. 512 arbitrary bytes
 * @key_len: how many
 * @slices: put, get: its memory; a Mooncake Slice is laid out as an iovec
 * @nr_slices: how many, at most 16384
 * @size: out: bytes of the object, where known
 * @result: out: put, delete: 0; get: bytes read; exists: 1 or 0; or an error
 * @reserved: 0
 */
struct kvcm_item {
	const void *key;
	size_t key_len;
	const struct iovec *slices;
	size_t nr_slices;
	uint64_t size;
	int64_t result;
	uint64_t reserved;
};

/*
 * Each returns for how many items the result is what was asked for (stored or
 * there with the same size, read, there, deleted); the others say why not. It
 * returns an error only if there was no memory to ask with.
 *
 * An object never changes: to replace it, delete it first.
 */
int64_t kvcm_batch_put(struct kvcm *store, struct kvcm_item *items, size_t count);
int64_t kvcm_batch_get(struct kvcm *store, struct kvcm_item *items, size_t count);
int64_t kvcm_batch_exists(struct kvcm *store, struct kvcm_item *items,
			  size_t count);
int64_t kvcm_batch_delete(struct kvcm *store, struct kvcm_item *items,
			  size_t count);
/* How many items from the first on are there; fills in as kvcm_batch_exists(). */
int64_t kvcm_prefix(struct kvcm *store, struct kvcm_item *items, size_t count);

/* An object that a scan found. */
struct kvcm_entry {
	const void *key;
	size_t key_len;
	uint64_t size;
};

/* Other than 0 ends the scan, and is what it returns. */
typedef int (*kvcm_scan_handler)(void *context, const struct kvcm_entry *entries,
				 size_t count);

/*
 * Tell all objects whose keys begin with @prefix, some hundreds at a time: what
 * any host put, also before a restart. One that eviction moves meanwhile may be
 * told twice. This reads media.
 */
int kvcm_scan(struct kvcm *store, const void *prefix, size_t prefix_len,
	      kvcm_scan_handler handler, void *context);
/* Delete all objects whose keys begin with @prefix: how many were deleted. */
int64_t kvcm_remove_all(struct kvcm *store, const void *prefix,
			size_t prefix_len);

/* Keys that have gone; other than 0 ends the call, and is what it returns. */
typedef int (*kvcm_gone_handler)(void *context, const void *key, size_t key_len);

/*
 * Tell the keys that the pool dropped by itself (evicted, expired, rotted) since
 * the call before; the first call begins to follow, and tells none. Returns 0, or
 * 1: others have gone that nobody can name: ask for each whether it is there. One
 * thread at a time.
 */
int kvcm_gone(struct kvcm *store, kvcm_gone_handler handler, void *context);

/**
 * struct kvcm_usage - how full the pool is; of all tenants
 * @capacity: bytes of all segments
 * @used: bytes of segments that hold objects
 * @live: bytes of objects that can be hit
 * @objects: how many
 * @max_object: largest object in bytes
 */
struct kvcm_usage {
	uint64_t capacity;
	uint64_t used;
	uint64_t live;
	uint64_t objects;
	uint64_t max_object;
};

int kvcm_usage(struct kvcm *store, struct kvcm_usage *usage);

/*
 * Make memory ready for batches: its pages are there and stay, so that no call
 * has to wait for them. Any memory may be used without that. Where the
 * process may not lock that much, pages are only made to be there.
 */
int kvcm_register_buffer(struct kvcm *store, void *address, size_t len);
/* @address: as it was registered. kvcm_close() does it for what is left. */
int kvcm_unregister_buffer(struct kvcm *store, void *address);

#ifdef __cplusplus
}
#endif
#endif
