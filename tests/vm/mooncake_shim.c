// SPDX-License-Identifier: GPL-2.0
/*
 * libkvcache_mooncake: batches on scattered memory, scans, error codes.
 *
 * usage: mooncake_shim MEMBER...	members of the pool that is attached
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <kvcache_mooncake.h>
#include "vmtest.h"

#define COUNT 128
#define AGAIN_MS 30000
#define KEY_ROOM 160
/* Of a scan: more than it tells in two calls. */
#define SCANNED 600
/* Of a DeepSeek-V3 page, and of a block of Llama-3-70B with TP 8. */
#define PAGE_BYTES 4497408
#define BLOCK_BYTES 655360

static struct kvcm *store;
static char attach[4096] = "kvcachectl attach -q";

/* A busy machine may let a member look ill for a moment: ask again. */
static int64_t again(int64_t (*call)(struct kvcm *, struct kvcm_item *, size_t),
		     struct kvcm_item *items, size_t count)
{
	uint64_t end = vt_ms() + AGAIN_MS;
	bool late;
	size_t i;
	int64_t n;

	for (;;) {
		n = call(store, items, count);
		late = false;
		for (i = 0; i < count; i++)
			late |= items[i].result == KVCM_NO_AVAILABLE_HANDLE ||
				items[i].result == KVCM_TRANSFER_FAIL;
		if (!late || vt_ms() > end)
			return n;
		vt_sleep_ms(100);
	}
}

static struct kvcm_item one(const void *key, size_t key_len,
			    const struct iovec *slices, size_t n)
{
	return (struct kvcm_item) {
		.key = key, .key_len = key_len, .slices = slices, .nr_slices = n,
	};
}

static int64_t result(int64_t (*call)(struct kvcm *, struct kvcm_item *, size_t),
		      const char *key, void *data, size_t len)
{
	struct iovec slice = { data, len };
	struct kvcm_item item = one(key, strlen(key), &slice, 1);

	again(call, &item, 1);
	return item.result;
}

/* --- scattered memory --- */

/* Pieces of @len bytes in all, of random sizes, with gaps, in memory at @at. */
static size_t scatter(struct vt_rng *rng, uint8_t *at, size_t len, size_t most,
		      struct iovec *slices)
{
	size_t n = 0, piece;

	while (len) {
		piece = n + 1 == most ? len : 1 + vt_below(rng, 2 * len / (most - n));
		if (piece > len)
			piece = len;
		at += vt_below(rng, 64);
		slices[n++] = (struct iovec) { at, piece };
		at += piece;
		len -= piece;
	}
	return n;
}

static void fill_slices(const struct kvcm_item *item, uint64_t seed)
{
	uint64_t from = 0;
	size_t i;

	for (i = 0; i < item->nr_slices; i++) {
		vt_fill(item->slices[i].iov_base, seed, from,
			item->slices[i].iov_len);
		from += item->slices[i].iov_len;
	}
}

static bool slices_are(const struct kvcm_item *item, uint64_t seed)
{
	uint64_t from = 0;
	size_t i;

	for (i = 0; i < item->nr_slices; i++) {
		if (vt_differs(item->slices[i].iov_base, seed, from,
			       item->slices[i].iov_len) >= 0)
			return false;
		from += item->slices[i].iov_len;
	}
	return true;
}

/* @count objects of @size bytes in up to @most pieces: put, and got elsewhere. */
static void scattered(const char *what, size_t count, size_t size, size_t most)
{
	size_t room = size + 64 * (most + 1), i;
	struct iovec *slices = calloc(count * most, sizeof(*slices));
	struct kvcm_item *items = calloc(count, sizeof(*items));
	char (*keys)[KEY_ROOM] = calloc(count, sizeof(*keys));
	uint8_t *memory = vt_map(count * room);
	struct vt_rng rng = { size };
	int64_t n;

	vt_begin("%s: %zu objects of %zu bytes in up to %zu pieces", what, count,
		 size, most);
	for (i = 0; i < count; i++) {
		snprintf(keys[i], KEY_ROOM, "tenant/%s/%090zu", what, i);
		items[i] = one(keys[i], strlen(keys[i]), slices + i * most, 0);
		items[i].nr_slices = scatter(&rng, memory + i * room, size, most,
					     slices + i * most);
		fill_slices(&items[i], i);
	}
	n = again(kvcm_batch_exists, items, count);
	vt_expect(!n && !items[0].result, "exists before: %lld", (long long)n);
	n = again(kvcm_batch_put, items, count);
	vt_expect(n == (int64_t)count && !items[0].result, "put: %lld", (long long)n);
	n = again(kvcm_batch_put, items, count);
	vt_expect(n == (int64_t)count && !items[0].result && items[0].size == size,
		  "put again: %lld", (long long)n);
	n = again(kvcm_batch_exists, items, count);
	vt_expect(n == (int64_t)count && items[0].result == 1 &&
		  items[0].size == size, "exists: %lld", (long long)n);
	memset(memory, 0, count * room);
	for (i = 0; i < count; i++)
		items[i].nr_slices = scatter(&rng, memory + i * room, size, most,
					     slices + i * most);
	n = again(kvcm_batch_get, items, count);
	vt_expect(n == (int64_t)count, "get: %lld", (long long)n);
	for (i = 0; i < count; i++)
		vt_expect(items[i].result == (int64_t)size &&
			  slices_are(&items[i], i), "object %zu: %lld, or wrong bytes",
			  i, (long long)items[i].result);

	n = again(kvcm_batch_delete, items + count / 2, 1);
	vt_expect(n == 1, "delete: %lld", (long long)n);
	n = again(kvcm_prefix, items, count);
	vt_expect(n == (int64_t)count / 2, "prefix: %lld", (long long)n);
	n = again(kvcm_batch_get, items, count);
	vt_expect(n == (int64_t)count - 1 &&
		  items[count / 2].result == KVCM_OBJECT_NOT_FOUND,
		  "get without one: %lld", (long long)n);
	vt_end();
	munmap(memory, count * room);
	free(slices);
	free(items);
	free(keys);
}

/* --- error codes --- */

static void codes(void)
{
	static char data[5000], key[514];
	struct kvcm_usage usage;
	struct iovec slice = { data, sizeof(data) };
	struct kvcm_item item;
	struct kvcm *none;
	void *large;

	vt_begin("every error has Mooncake's code");
	memset(key, 'k', sizeof(key));
#define is(expected, call, ...) \
	do { \
		int64_t got = result(call, __VA_ARGS__); \
		vt_expect(got == (expected), #call " " #__VA_ARGS__ ": %s, not %s", \
			  kvcm_strerror(got), #expected); \
	} while (0)
	is(KVCM_OBJECT_NOT_FOUND, kvcm_batch_get, "codes", data, sizeof(data));
	is(KVCM_OBJECT_NOT_FOUND, kvcm_batch_delete, "codes", NULL, 0);
	is(0, kvcm_batch_exists, "codes", NULL, 0);
	is(KVCM_OK, kvcm_batch_put, "codes", data, sizeof(data));
	is(1, kvcm_batch_exists, "codes", NULL, 0);
	is(KVCM_OK, kvcm_batch_put, "codes", data, sizeof(data));
	is(KVCM_OBJECT_ALREADY_EXISTS, kvcm_batch_put, "codes", data, 4999);
	is(KVCM_BUFFER_OVERFLOW, kvcm_batch_get, "codes", data, 4999);
	is(KVCM_INVALID_KEY, kvcm_batch_put, "", data, 1);
	key[513] = '\0';
	is(KVCM_INVALID_KEY, kvcm_batch_put, key, data, 1);
	is(KVCM_INVALID_KEY, kvcm_batch_exists, key, NULL, 0);
	key[512] = '\0';
	is(KVCM_OK, kvcm_batch_put, key, data, 1);
	is(KVCM_INVALID_PARAMS, kvcm_batch_put, "bad memory", (void *)64, 5000);
	is(KVCM_INVALID_PARAMS, kvcm_batch_get, "codes", (void *)64, 5000);
	vt_expect(!kvcm_usage(store, &usage), "usage");
	large = vt_map(usage.max_object + 1);
	is(KVCM_INVALID_PARAMS, kvcm_batch_put, "large", large,
	   usage.max_object + 1);
	munmap(large, usage.max_object + 1);
	is(KVCM_OK, kvcm_batch_delete, "codes", NULL, 0);

	item = one("sizes", 5, &slice, 1);
	again(kvcm_batch_put, &item, 1);
	slice.iov_len = 10;
	again(kvcm_batch_get, &item, 1);
	vt_expect(item.result == KVCM_BUFFER_OVERFLOW && item.size == 5000,
		  "size of an object that does not fit: %llu",
		  (unsigned long long)item.size);
	item.nr_slices = 0;
	again(kvcm_batch_get, &item, 1);
	vt_expect(item.result < 0, "get into nothing: %lld", (long long)item.result);
	vt_expect(!kvcm_batch_get(store, NULL, 0), "no items");
	vt_expect(kvcm_open(&(struct kvcm_options) { .device = "/none" }, &none) ==
		  KVCM_FILE_OPEN_FAIL && !none, "open");
	vt_expect(!strcmp(kvcm_strerror(KVCM_OBJECT_NOT_FOUND), "OBJECT_NOT_FOUND") &&
		  !strcmp(kvcm_strerror(-12345), "unknown error"), "words");
	vt_end();
}

/* --- scans --- */

struct found {
	unsigned int seen[SCANNED];
	unsigned int other;
	unsigned int calls;
	int stop;
};

/* Binary keys: a number, then zeroes, of lengths up to the longest. */
static size_t scan_key(uint8_t key[512], unsigned int i)
{
	memset(key, 0, 512);
	memcpy(key, "scan", 4);
	key[4] = (uint8_t)i;
	key[5] = (uint8_t)(i >> 8);
	return 6 + i * 506 / (SCANNED - 1);
}

static int scan_one(void *context, const struct kvcm_entry *entries, size_t count)
{
	struct found *found = context;
	uint8_t key[512];
	unsigned int n;
	size_t i;

	found->calls++;
	for (i = 0; i < count; i++) {
		const uint8_t *k = entries[i].key;

		n = entries[i].key_len > 5 ? k[4] | k[5] << 8 : SCANNED;
		if (n < SCANNED && entries[i].key_len == scan_key(key, n) &&
		    !memcmp(k, key, entries[i].key_len) &&
		    entries[i].size == n + 1)
			found->seen[n]++;
		else
			found->other++;
	}
	return found->stop;
}

static void expect_found(const char *when, const void *prefix, size_t len)
{
	struct found found = { .stop = 0 };
	unsigned int i, missing = 0;
	int err = kvcm_scan(store, prefix, len, scan_one, &found);

	for (i = 0; i < SCANNED; i++)
		missing += !found.seen[i];
	vt_expect(!err && !missing && (!len || !found.other),
		  "%s: %s, %u missing, %u others", when, kvcm_strerror(err), missing,
		  found.other);
}

static void scans(void)
{
	static uint8_t keys[SCANNED][512], data[SCANNED];
	static struct iovec slices[SCANNED];
	static struct kvcm_item items[SCANNED];
	struct found found = { .stop = -701 };
	struct kvcm_usage before, after;
	unsigned int i;
	int64_t n;

	vt_begin("a scan tells all objects with their sizes, after a restart, too");
	vt_expect(!kvcm_usage(store, &before), "usage");
	for (i = 0; i < SCANNED; i++) {
		slices[i] = (struct iovec) { data, i + 1 };
		items[i] = one(keys[i], scan_key(keys[i], i), &slices[i], 1);
	}
	n = again(kvcm_batch_put, items, SCANNED);
	vt_expect(n == SCANNED, "put: %lld", (long long)n);
	vt_expect(!kvcm_usage(store, &after) &&
		  after.objects == before.objects + SCANNED &&
		  after.live == before.live + SCANNED * 4096 &&
		  after.used >= after.live && after.capacity >= after.used,
		  "usage: %llu objects, %llu live", (unsigned long long)after.objects,
		  (unsigned long long)after.live);
	expect_found("by prefix", "scan", 4);
	expect_found("all", NULL, 0);
	vt_expect(kvcm_scan(store, "scan", 4, scan_one, &found) == found.stop &&
		  found.calls == 1, "a handler ends the scan");
	vt_expect(!system("kvcachectl detach 1 >/dev/null"), "detach");
	vt_expect(kvcm_scan(store, NULL, 0, scan_one, &found) ==
		  KVCM_SEGMENT_NOT_FOUND &&
		  kvcm_usage(store, &after) == KVCM_SEGMENT_NOT_FOUND &&
		  kvcm_remove_all(store, NULL, 0) == KVCM_SEGMENT_NOT_FOUND &&
		  again(kvcm_batch_put, items, SCANNED) == 0 &&
		  items[SCANNED - 1].result == KVCM_SEGMENT_NOT_FOUND &&
		  again(kvcm_prefix, items, SCANNED) == 0, "detached");
	vt_expect(!system(attach), "attach");
	expect_found("after a restart", "scan", 4);
	n = kvcm_remove_all(store, "scan", 4);
	vt_expect(n == SCANNED, "remove: %lld", (long long)n);
	vt_expect(again(kvcm_batch_exists, items, SCANNED) == 0 &&
		  result(kvcm_batch_exists, "sizes", NULL, 0) == 1,
		  "what else there was is there");
	vt_expect(kvcm_remove_all(store, NULL, 0) > 0 &&
		  !kvcm_usage(store, &after) && !after.objects,
		  "all removed: %llu left", (unsigned long long)after.objects);
	vt_end();
}

/* --- memory --- */

static void memory(void)
{
	size_t len = 1 << 20;
	uint8_t *m = vt_map(len), there[256];
	struct iovec slice = { m + 5, len - 10 };
	struct kvcm_item item = one("memory", 6, &slice, 1);

	vt_begin("memory that is registered is there, and is used like any other");
	vt_expect(!kvcm_register_buffer(store, m + 5, len - 10), "register");
	vt_expect(!mincore(m, len, there) && (there[0] & 1) && (there[255] & 1),
		  "it is not there");
	vt_expect(kvcm_register_buffer(store, m + 5, 1) == KVCM_INVALID_PARAMS &&
		  kvcm_register_buffer(store, m, 0) == KVCM_INVALID_PARAMS &&
		  kvcm_register_buffer(store, (void *)4096, 4096) ==
						KVCM_INVALID_PARAMS &&
		  kvcm_unregister_buffer(store, m) == KVCM_INVALID_PARAMS,
		  "what can't be is refused");
	fill_slices(&item, 77);
	vt_expect(again(kvcm_batch_put, &item, 1) == 1, "put");
	memset(m, 0, len);
	vt_expect(again(kvcm_batch_get, &item, 1) == 1 && slices_are(&item, 77),
		  "get");
	vt_expect(!kvcm_unregister_buffer(store, m + 5) &&
		  kvcm_unregister_buffer(store, m + 5) == KVCM_INVALID_PARAMS,
		  "unregister");
	vt_expect(!kvcm_register_buffer(store, m, len), "left to close");
	vt_end();
}

/* --- threads --- */

#define ROUNDS 40
#define SHARED 24

static void *work(void *arg)
{
	struct vt_rng rng = { (uintptr_t)arg };
	char keys[SHARED][16];
	struct iovec slices[SHARED][3];
	struct kvcm_item items[SHARED];
	size_t size = 30000, room = size + 256;
	uint8_t *m = vt_map(SHARED * room);
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < SHARED; i++) {
			snprintf(keys[i], sizeof(keys[i]), "shared-%u", i);
			items[i] = one(keys[i], strlen(keys[i]), slices[i], 0);
			items[i].nr_slices = scatter(&rng, m + i * room, size, 3,
						     slices[i]);
			fill_slices(&items[i], i);
		}
		i = (unsigned int)vt_below(&rng, SHARED);
		switch (vt_below(&rng, 3)) {
		case 0:
			kvcm_batch_put(store, items + i, SHARED - i);
			break;
		case 1:
			kvcm_batch_delete(store, items + i, SHARED / 4 < SHARED - i ?
					  SHARED / 4 : SHARED - i);
			break;
		default:
			memset(m, 0, SHARED * room);
			kvcm_batch_get(store, items, SHARED);
			for (i = 0; i < SHARED; i++)
				vt_expect(items[i].result < 0 ||
					  (items[i].result == (int64_t)size &&
					   slices_are(&items[i], i)),
					  "object %u: wrong bytes", i);
		}
	}
	munmap(m, SHARED * room);
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	uintptr_t i;

	vt_begin("four threads put, get and delete the same objects");
	for (i = 0; i < 4; i++)
		vt_expect(!pthread_create(&t[i], NULL, work, (void *)(i + 1)),
			  "thread");
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	vt_end();
}

int main(int argc, char **argv)
{
	int i, err;

	for (i = 1; i < argc; i++)
		snprintf(attach + strlen(attach), sizeof(attach) - strlen(attach),
			 " %s", argv[i]);
	strcat(attach, " >/dev/null");
	err = kvcm_open(NULL, &store);
	vt_need(!err, "open: %s", kvcm_strerror(err));
	scattered("DeepSeek-V3 page", 4, PAGE_BYTES, 1);
	scattered("DeepSeek-V3 page by layers", 4, PAGE_BYTES, 61);
	scattered("Llama-3-70B block", 16, BLOCK_BYTES, 160);
	scattered("small", COUNT, 70272, 61);
	scattered("odd", COUNT, 4123, 7);
	codes();
	scans();
	memory();
	threads();
	kvcm_close(store);
	vt_exit();
}
