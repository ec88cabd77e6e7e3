// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation and every answer that one caller sees, with every byte
 * compared: keys, sizes, ranges, pieces, batches, tenants, and threads that
 * put one key at the same time.
 *
 * usage: ops_basic POOL [TEST]
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "again.h"

#define GUARD	64		/* bytes behind an object that stay as they are */
#define DEADLINE_MS 30000	/* emulated machines are slow: no test of time */

static struct kvc *kvc;
static struct kvcache_info info;
static const struct kvc_call call = { .deadline_ms = DEADLINE_MS };
static uint8_t *big, *other;	/* two buffers of the largest object and more */
static size_t room;

static uint64_t seed_of(const void *key, size_t len, uint64_t version)
{
	const uint8_t *p = key;
	uint64_t h = version;
	size_t i;

	for (i = 0; i < len; i++)
		h = vt_mix(h, p[i]);
	return h;
}

static void get_info(void)
{
	int err = kvc_info(kvc, &info, NULL, 0);

	vt_need(!err, "info of the pool: %d", err);
}

static int put(const char *key, uint64_t version, size_t len)
{
	vt_fill(big, seed_of(key, strlen(key), version), 0, len);
	return again_put(kvc, &call, key, strlen(key), big, len);
}

/* Get all of it and compare, and see that nothing behind it was written. */
static bool same(const char *key, uint64_t version, size_t len)
{
	uint64_t length = 0;
	ssize_t got, bad;

	memset(other, 0xa5, len + GUARD);
	got = again_get(kvc, &call, key, strlen(key), other, len + GUARD, &length);
	if (!vt_expect(got == (ssize_t)len && length == len,
		       "get %s: %zd, length %llu, expected %zu", key, got,
		       (unsigned long long)length, len))
		return false;
	bad = vt_differs(other, seed_of(key, strlen(key), version), 0, len);
	return vt_expect(bad < 0, "%s: byte %zd of %zu is wrong", key, bad, len) &
	       vt_expect(vt_not_all(other + len, 0xa5, GUARD) < 0,
			 "%s: memory behind its %zu bytes was written", key, len);
}

static void gone(const char *key)
{
	ssize_t got = again_get(kvc, &call, key, strlen(key), other, room, NULL);
	int there = again_exists(kvc, &call, key, strlen(key), NULL);

	vt_expect(got == -ENOENT && there == -ENOENT, "%s is there: get %zd, exists %d",
		  key, got, there);
}

/* --- single calls --- */

static void test_caps(void)
{
	const struct kvcache_caps *c = kvc_caps(kvc);
	struct kvcache_member_info m[KVCACHE_MEMBERS_MAX];
	uint32_t pools[16];
	unsigned int i;
	int n;

	vt_begin("caps, pools and info say what there is");
	vt_expect(c->version == KVCACHE_API_VERSION, "version %u", c->version);
	vt_expect(c->key_max == KVCACHE_KEY_MAX && c->iov_max == KVCACHE_IOV_MAX &&
		  c->batch_max == KVCACHE_BATCH_MAX, "limits");
	vt_expect((c->features & 7) == 7, "features %llx",
		  (unsigned long long)c->features);
	n = kvc_pools(kvc, pools, 16);
	vt_expect(n >= 1 && n <= 16, "pools: %d", n);
	for (i = 0; (int)i < n; i++)
		if (pools[i] == kvc_pool(kvc))
			break;
	vt_expect((int)i < n, "pool %u is not among the pools", kvc_pool(kvc));
	vt_expect(kvc_pools(kvc, NULL, 0) == n, "pools with no room");
	n = kvc_info(kvc, &info, m, KVCACHE_MEMBERS_MAX);
	vt_expect(!n, "info with members: %d", n);
	vt_expect(info.pool == kvc_pool(kvc) && info.nr_members >= 1 &&
		  info.nr_ags >= 1 && info.owned_ags == info.nr_ags &&
		  info.max_object * 2 == info.segment_bytes &&
		  info.capacity == info.nr_segments * info.segment_bytes &&
		  info.used <= info.capacity && info.live <= info.used &&
		  info.lease_left_ms && info.lease_left_ms <= info.lease_ms,
		  "info is not sound");
	for (i = 0; i < info.nr_members; i++)
		vt_expect(m[i].index == i && m[i].path[0] == '/' &&
			  m[i].state == KVCACHE_MEMBER_LIVE && m[i].bytes &&
			  m[i].written_bytes && !m[i].errors,
			  "member %u: path %s state %u errors %llu", i, m[i].path,
			  m[i].state, (unsigned long long)m[i].errors);
	memset(m, 0x11, sizeof(m));
	n = kvc_info(kvc, &info, m, 1);
	vt_expect(!n && info.nr_members >= 1 && m[1].index == 0x11111111,
		  "info with room for one member");
	vt_end();
}

static void test_round_trip(void)
{
	struct kvcache_info before;
	uint64_t length = 0;
	int err;

	vt_begin("put, get, exists, delete of one key, and what they count");
	get_info();
	before = info;
	gone("one");
	err = put("one", 1, 10000);
	vt_expect(!err, "put: %d", err);
	same("one", 1, 10000);
	err = again_exists(kvc, &call, "one", 3, &length);
	vt_expect(!err && length == 10000, "exists: %d, length %llu", err,
		  (unsigned long long)length);
	err = put("one", 2, 20000);
	vt_expect(err == -EEXIST, "put of a key that is there: %d", err);
	same("one", 1, 10000);
	err = again_delete(kvc, &call, "one", 3);
	vt_expect(!err, "delete: %d", err);
	gone("one");
	err = again_delete(kvc, &call, "one", 3);
	vt_expect(err == -ENOENT, "second delete: %d", err);
	err = put("one", 3, 777);
	vt_expect(!err, "put after delete: %d", err);
	same("one", 3, 777);
	get_info();
#define COUNTED(what, n) \
	vt_expect(info.what - before.what == (n), #what " went up by %llu", \
		  (unsigned long long)(info.what - before.what))
	COUNTED(puts, 2);
	COUNTED(put_bytes, 10777);
	COUNTED(put_exists, 1);
	COUNTED(gets, 3);
	COUNTED(get_bytes, 20777);
	COUNTED(misses, 2);
	COUNTED(exists_hits, 1);
	COUNTED(exists_misses, 2);
	COUNTED(deletes, 1);
	COUNTED(objects, 1);
	COUNTED(live, 4096);
	COUNTED(bad_data, 0);
	COUNTED(timeouts, 0);
	again_delete(kvc, &call, "one", 3);
	vt_end();
}

/* What one key of a batch answers, with the length it tells. */
static int one(unsigned long cmd, struct kvcache_io *io)
{
	ssize_t done = again_batch(kvc, cmd, &call, io, 1);

	if (done < 0)
		return (int)done;
	vt_expect(done == !io->status, "done is %zd, status %d", done, io->status);
	vt_expect(!io->out_flags, "out_flags %x", io->out_flags);
	return io->status;
}

static void test_answers(void)
{
	struct kvcache_io io;
	struct kvc *nowhere;
	uint64_t length;
	ssize_t got;
	int err;

	vt_begin("answers: EEXIST and EMSGSIZE with the length, EFBIG, EINVAL, ENODEV");
	err = put("answers", 1, 5000);
	vt_expect(!err, "put: %d", err);

	kvc_prep_data(&io, "answers", 7, big, 123);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(err == -EEXIST && io.length == 5000, "EEXIST: %d, length %llu",
		  err, (unsigned long long)io.length);
	memset(other, 0x3c, 5000);
	kvc_prep_data(&io, "answers", 7, other, 4999);
	err = one(KVCACHE_IOC_GET, &io);
	vt_expect(err == -EMSGSIZE && io.length == 5000 && !io.transferred,
		  "EMSGSIZE: %d, length %llu", err, (unsigned long long)io.length);
	kvc_prep_data(&io, "answers", 7, NULL, 0);
	err = one(KVCACHE_IOC_GET, &io);
	vt_expect(err == -EMSGSIZE && io.length == 5000, "get of no bytes: %d", err);
	vt_expect(vt_not_all(other, 0x3c, 5000) < 0, "EMSGSIZE wrote to memory");

	got = again_get_range(kvc, &call, "answers", 7, 5000, other, 1, &length);
	vt_expect(got == -EINVAL && length == 5000, "range at the end: %zd", got);
	got = again_get_range(kvc, &call, "answers", 7, UINT64_MAX, other, 1, NULL);
	vt_expect(got == -EINVAL, "range far behind the end: %zd", got);
	got = again_get_range(kvc, &call, "answers", 7, 0, other, 0, NULL);
	vt_expect(got == -EINVAL, "range of no bytes: %zd", got);
	got = again_get_range(kvc, &call, "answers-not", 11, 0, other, 1, NULL);
	vt_expect(got == -ENOENT, "range of what isn't there: %zd", got);

	err = again_put(kvc, &call, "huge", 4, big, info.max_object + 1);
	vt_expect(err == -EFBIG, "one byte too large: %d", err);
	gone("huge");
	err = again_put(kvc, &call, "none", 4, big, 0);
	vt_expect(err == -EINVAL, "no bytes: %d", err);
	err = again_put(kvc, &call, "", 0, big, 1);
	vt_expect(err == -EINVAL, "no key: %d", err);

	nowhere = kvc_open(NULL, 4711);
	vt_expect(nowhere, "open without a pool");
	vt_expect(again_put(nowhere, &call, "k", 1, big, 1) == -ENODEV &&
		  again_get(nowhere, &call, "k", 1, big, 1, NULL) == -ENODEV &&
		  again_exists(nowhere, &call, "k", 1, NULL) == -ENODEV &&
		  again_delete(nowhere, &call, "k", 1) == -ENODEV &&
		  kvc_info(nowhere, &info, NULL, 0) == -ENODEV &&
		  kvc_detach(nowhere, 4711, 0) == -ENODEV,
		  "a pool that isn't there does not say ENODEV");
	kvc_close(nowhere);
	get_info();
	same("answers", 1, 5000);
	again_delete(kvc, &call, "answers", 7);
	vt_end();
}

/* --- keys and sizes --- */

static void test_keys(void)
{
	static const size_t lens[] = { 1, 2, 3, 7, 8, 15, 16, 17, 31, 63, 64, 65,
				       127, 255, 256, 257, 511, 512 };
	uint8_t key[KVCACHE_KEY_MAX + 1];
	unsigned int i, fill;
	ssize_t got, bad;
	int err;

	vt_begin("keys of 1 to 512 bytes, any bytes, each a prefix of the next");
	for (fill = 0; fill <= 255; fill += 255) {
		memset(key, (int)fill, sizeof(key));
		for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			vt_fill(big, seed_of(key, lens[i], 1), 0, 100 + i);
			err = again_put(kvc, &call, key, lens[i], big, 100 + i);
			vt_expect(!err, "put, key of %zu times %u: %d", lens[i],
				  fill, err);
		}
		for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			got = again_get(kvc, &call, key, lens[i], other, room, NULL);
			vt_expect(got == 100 + i, "get, key of %zu times %u: %zd",
				  lens[i], fill, got);
			bad = vt_differs(other, seed_of(key, lens[i], 1), 0,
					 100 + i);
			vt_expect(bad < 0, "key of %zu times %u: wrong bytes",
				  lens[i], fill);
		}
		vt_expect(again_exists(kvc, &call, key, 4, NULL) == -ENOENT,
			  "a key between those is there");
		for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			err = again_delete(kvc, &call, key, lens[i]);
			vt_expect(!err, "delete, key of %zu times %u: %d",
				  lens[i], fill, err);
		}
	}
	err = again_exists(kvc, &call, key, 513, NULL);
	vt_expect(err == -EINVAL, "key of 513 bytes: %d", err);
	vt_end();
}

static void test_sizes(void)
{
	const size_t unit = 256 << 10, max = info.max_object;
	const size_t sizes[] = {
		1, 2, 3, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025,
		4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536, 65537,
		unit - 1, unit, unit + 1, 2 * unit - 1, 2 * unit, 2 * unit + 1,
		4 * unit - 4097, 4 * unit - 1, 4 * unit, 4 * unit + 1,
		4 * unit + 4097, max - 4096, max - 1, max,
	};
	char key[32];
	unsigned int i;
	int err;

	vt_begin("sizes from 1 byte to the largest (%zu), around blocks and stripes", max);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (sizes[i] > max)
			continue;
		snprintf(key, sizeof(key), "size-%zu", sizes[i]);
		err = put(key, 1, sizes[i]);
		vt_expect(!err || err == -EEXIST, "put %s: %d", key, err);
		same(key, 1, sizes[i]);
	}
	/* And once more, when all of them are there. */
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (sizes[i] > max)
			continue;
		snprintf(key, sizeof(key), "size-%zu", sizes[i]);
		if (sizes[i] <= 2 * unit + 1)
			same(key, 1, sizes[i]);
		again_delete(kvc, &call, key, strlen(key));
		gone(key);
	}
	vt_end();
}

/* --- ranges --- */

static void range_of(const char *key, size_t size, uint64_t offset, size_t len,
		     unsigned int shift)
{
	size_t want = size - offset < len ? size - offset : len;
	uint64_t length = 0;
	uint8_t *to = other + shift;
	ssize_t got, bad;

	memset(to - GUARD, 0x77, want + 2 * GUARD);
	got = again_get_range(kvc, &call, key, strlen(key), offset, to, len, &length);
	if (!vt_expect(got == (ssize_t)want && length == size,
		       "%s: range %llu + %zu: %zd, length %llu", key,
		       (unsigned long long)offset, len, got,
		       (unsigned long long)length))
		return;
	bad = vt_differs(to, seed_of(key, strlen(key), 1), offset, want);
	vt_expect(bad < 0, "%s: range %llu + %zu: byte %zd is wrong", key,
		  (unsigned long long)offset, len, bad);
	vt_expect(vt_not_all(to - GUARD, 0x77, GUARD) < 0 &&
		  vt_not_all(to + want, 0x77, GUARD) < 0,
		  "%s: range %llu + %zu: memory beside it was written", key,
		  (unsigned long long)offset, len);
}

static void test_ranges(void)
{
	static const size_t sizes[] = { 1, 513, 4097, 20000, 600001 };
	static const size_t edges[] = { 0, 1, 8, 511, 512, 513, 4095, 4096, 4097,
					8191, 8192, 262143, 262144, 262145 };
	const unsigned int n = sizeof(edges) / sizeof(*edges);
	struct vt_rng rng = { 7 };
	char key[32];
	unsigned int i, k, m, count = 0;
	int err;

	vt_begin("range gets of many offsets and lengths, every byte compared");
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t size = sizes[i];

		snprintf(key, sizeof(key), "range-%zu", size);
		err = put(key, 1, size);
		vt_expect(!err, "put %s: %d", key, err);
		for (k = 0; k < n; k++) {
			if (edges[k] >= size)
				continue;
			/* From an edge to an edge, and up to the end. */
			for (m = k + 1; m < n; m++)
				if (m - k < 4 || !(m & 3))
					range_of(key, size, edges[k],
						 edges[m] - edges[k],
						 GUARD + (unsigned int)vt_below(&rng, 4096)),
					count++;
			range_of(key, size, edges[k], size + 5, GUARD);
			/* Before the end by as much, up to it and over it. */
			range_of(key, size, size - 1 - edges[k], edges[k] + 1, 4096);
			range_of(key, size, size - 1 - edges[k], edges[k] + 2,
				 4096 + 1);
			count += 3;
		}
		for (k = 0; k < 60; k++, count++)
			range_of(key, size, vt_below(&rng, size),
				 1 + vt_below(&rng, size < 30000 ? size : 30000),
				 GUARD + (unsigned int)vt_below(&rng, 9000));
		again_delete(kvc, &call, key, strlen(key));
	}
	vt_note("%u ranges", count);
	vt_end();
}

/* --- pieces --- */

/*
 * Cut @len bytes at @buf into @n pieces, some of them empty, with gaps of
 * @gap bytes between them; returns how many bytes of @buf they span.
 */
static size_t cut(struct iovec *iov, size_t n, uint8_t *buf, size_t len,
		  size_t gap, struct vt_rng *rng)
{
	size_t i, at = 0, left = len;

	for (i = 0; i < n; i++) {
		size_t mean = left / (n - i), take;

		take = i == n - 1 ? left : vt_below(rng, 2 * mean + 1);
		if (take > left)
			take = left;
		iov[i] = (struct iovec){ buf + at, take };
		at += take + gap;
		left -= take;
	}
	return at;
}

static bool pieces_same(const struct iovec *iov, size_t n, size_t len,
			uint64_t seed)
{
	size_t i, at = 0;

	for (i = 0; i < n && at < len; i++) {
		size_t k = iov[i].iov_len < len - at ? iov[i].iov_len : len - at;

		if (vt_differs(iov[i].iov_base, seed, at, k) >= 0)
			return false;
		at += k;
	}
	return at == len;
}

static void pieces(size_t n, size_t len, size_t gap, unsigned int shift,
		   struct vt_rng *rng)
{
	static struct iovec iov[KVCACHE_IOV_MAX];
	struct kvcache_io io;
	char key[48];
	uint64_t seed;
	size_t i, at, span;
	int err;

	snprintf(key, sizeof(key), "pieces-%zu-%zu-%zu-%u", n, len, gap, shift);
	seed = seed_of(key, strlen(key), 1);

	span = cut(iov, n, big + shift, len, gap, rng);
	vt_need(shift + span <= room, "room for pieces");
	memset(big + shift, 0x99, span);
	for (i = 0, at = 0; i < n; at += iov[i++].iov_len)
		vt_fill(iov[i].iov_base, seed, at, iov[i].iov_len);
	kvc_prep_iovec(&io, key, strlen(key), iov, n);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(!err && io.length == len, "put %s: %d", key, err);

	/* In one piece, and in other pieces than it was put. */
	same(key, 1, len);
	span = cut(iov, n, other + shift, len + GUARD, gap, rng);
	memset(other + shift, 0x66, span);
	kvc_prep_iovec(&io, key, strlen(key), iov, n);
	err = one(KVCACHE_IOC_GET, &io);
	vt_expect(!err && io.transferred == len && pieces_same(iov, n, len, seed),
		  "get %s: %d, or wrong bytes", key, err);
	/* Nothing in the gaps was written. */
	for (i = 0; gap && i < n; i++)
		if (!vt_expect(vt_not_all((uint8_t *)iov[i].iov_base +
					  iov[i].iov_len, 0x66, gap) < 0,
			       "get %s: a gap was written", key))
			break;
	/* A range, too. */
	at = vt_below(rng, len);
	span = cut(iov, n, other + shift, len - at, gap, rng);
	memset(other + shift, 0x66, span);
	kvc_prep_iovec(&io, key, strlen(key), iov, n);
	kvc_set_range(&io, at);
	err = one(KVCACHE_IOC_GET, &io);
	vt_expect(!err && io.transferred == len - at, "range %s: %d", key, err);
	for (i = 0; i < n; at += iov[i++].iov_len)
		if (!vt_expect(vt_differs(iov[i].iov_base, seed, at,
					  iov[i].iov_len) < 0,
			       "range %s: wrong bytes", key))
			break;
	again_delete(kvc, &call, key, strlen(key));
}

static void test_pieces(void)
{
	static const size_t counts[] = { 1, 2, 3, 7, 8, 9, 63, 64, 65, 255, 256,
					 257, 1000, 4096, 16383, 16384 };
	struct vt_rng rng = { 11 };
	struct kvcache_io io;
	struct iovec *many;
	unsigned int i;
	int err;

	vt_begin("1 to 16384 pieces, empty ones among them, of odd lengths, anywhere");
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		size_t n = counts[i];

		pieces(n, 70001, 0, 0, &rng);
		if (n <= 4096)
			pieces(n, 70001, 1, 3, &rng);
		/* Fewer bytes than pieces: most are empty. */
		pieces(n, n / 2 + 1, 5, 1, &rng);
		if (n <= 64)
			pieces(n, 300000, 4096, 512, &rng);
	}
	pieces(300, 1000000 < info.max_object ? 1000000 : info.max_object, 16, 0, &rng);

	/* Whole pages, in an order of their own. */
	many = calloc(KVCACHE_IOV_MAX + 1, sizeof(*many));
	for (i = 0; i < 64; i++)
		many[i] = (struct iovec){ big + (i * 37 % 64) * 4096, 4096 };
	for (i = 0; i < 64; i++)
		vt_fill(many[i].iov_base, seed_of("pages", 5, 1), i * 4096, 4096);
	kvc_prep_iovec(&io, "pages", 5, many, 64);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(!err, "put of pages: %d", err);
	same("pages", 1, 64 * 4096);
	again_delete(kvc, &call, "pages", 5);

	/* One page over and over is as good as any. */
	vt_fill(big, 5, 0, 4096);
	for (i = 0; i < 100; i++)
		many[i] = (struct iovec){ big, 4096 };
	kvc_prep_iovec(&io, "again", 5, many, 100);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(!err, "put of one page many times: %d", err);
	err = (int)again_get(kvc, &call, "again", 5, other, room, NULL);
	vt_expect(err == 409600, "get of it: %d", err);
	for (i = 0; i < 100; i++)
		if (!vt_expect(vt_differs(other + i * 4096, 5, 0, 4096) < 0,
			       "page %u of it is wrong", i))
			break;
	again_delete(kvc, &call, "again", 5);

	memset(many, 0, (KVCACHE_IOV_MAX + 1) * sizeof(*many));
	kvc_prep_iovec(&io, "empty", 5, many, 100);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(err == -EINVAL, "put of empty pieces: %d", err);
	kvc_prep_iovec(&io, "empty", 5, many, KVCACHE_IOV_MAX + 1);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(err == -EINVAL, "one piece too many: %d", err);
	kvc_prep_iovec(&io, "empty", 5, many, 0);
	err = one(KVCACHE_IOC_PUT, &io);
	vt_expect(err == -EINVAL, "no pieces: %d", err);
	gone("empty");
	free(many);
	vt_end();
}

/* --- batches --- */

static void batch_of(size_t n)
{
	struct kvcache_io *ios = calloc(n, sizeof(*ios));
	char (*keys)[48] = calloc(n, sizeof(*keys));
	size_t i, size = n > 1000 ? 64 : 600, off;
	ssize_t done;

	vt_need(ios && keys && n * size <= room, "memory for %zu keys", n);
	for (i = 0; i < n; i++) {
		snprintf(keys[i], sizeof(keys[i]), "b%zu-%zu", n, i);
		vt_fill(big + i * size, i, n, size - i % 7);
		kvc_prep_data(&ios[i], keys[i], strlen(keys[i]), big + i * size,
			      size - i % 7);
	}
	done = again_batch(kvc, KVCACHE_IOC_EXISTS, &call, ios, 1);
	vt_expect(done == -EINVAL, "exists with data: %zd", done);
	done = again_batch(kvc, KVCACHE_IOC_PUT, &call, ios, n);
	vt_expect(done == (ssize_t)n, "put %zu: %zd done", n, done);
	for (i = 0; i < n; i++)
		vt_expect(!ios[i].status, "put %zu: key %zu: %d", n, i,
			  ios[i].status);
	for (i = 0; i < n; i++)
		kvc_prep(&ios[i], keys[i], strlen(keys[i]));
	done = again_batch(kvc, KVCACHE_IOC_EXISTS, &call, ios, n);
	vt_expect(done == (ssize_t)n, "exists %zu: %zd done", n, done);
	for (i = 0; i < n; i++)
		vt_expect(!ios[i].status && ios[i].length == size - i % 7,
			  "exists %zu: key %zu: %d", n, i, ios[i].status);

	/* Every third key isn't there: the others are not harmed. */
	memset(other, 0, n * size);
	for (i = 0; i < n; i++)
		kvc_prep_data(&ios[i], keys[i], i % 3 ? strlen(keys[i]) : 1,
			      other + i * size, size);
	done = again_batch(kvc, KVCACHE_IOC_GET, &call, ios, n);
	vt_expect(done == (ssize_t)(n - (n + 2) / 3), "get %zu: %zd done", n, done);
	for (i = 0; i < n; i++) {
		off = i * size;
		if (i % 3)
			vt_expect(!ios[i].status &&
				  ios[i].transferred == size - i % 7 &&
				  vt_differs(other + off, i, n, size - i % 7) < 0,
				  "get %zu: key %zu: %d, or wrong bytes", n, i,
				  ios[i].status);
		else
			vt_expect(ios[i].status == -ENOENT &&
				  vt_not_all(other + off, 0, size) < 0,
				  "get %zu: key %zu isn't there: %d", n, i,
				  ios[i].status);
	}
	for (i = 0; i < n; i++)
		kvc_prep(&ios[i], keys[i], strlen(keys[i]));
	done = again_batch(kvc, KVCACHE_IOC_DELETE, &call, ios, n);
	vt_expect(done == (ssize_t)n, "delete %zu: %zd done", n, done);
	for (i = 0; i < n; i++)
		vt_expect(!ios[i].status, "delete %zu: key %zu: %d", n, i,
			  ios[i].status);
	done = again_batch(kvc, KVCACHE_IOC_EXISTS, &call, ios, n);
	vt_expect(!done, "exists after delete %zu: %zd done", n, done);
	free(ios);
	free(keys);
}

static void test_batches(void)
{
	static const size_t counts[] = { 1, 2, 63, 64, 65, 128, 200, 4096 };
	struct kvcache_io *ios;
	unsigned int i;
	ssize_t done;

	vt_begin("batches of 1 to 4096 keys, over many windows, a status per key");
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		batch_of(counts[i]);
	/* The library cuts up what the kernel doesn't take at a time. */
	batch_of(4097);
	ios = calloc(200, sizeof(*ios));
	for (i = 0; i < 200; i++)
		kvc_prep_data(&ios[i], "window", 6, big, 600);
	/* Bad keys here and there: EFAULT for them alone. */
	for (i = 0; i < 200; i += 50)
		ios[i].key = 8;
	ios[7].data = 16;
	done = again_batch(kvc, KVCACHE_IOC_PUT, &call, ios, 200);
	vt_expect(done == 1, "put with bad pointers among them: %zd done", done);
	for (i = 0; i < 200; i++)
		vt_expect(ios[i].status == (i % 50 == 0 ? -EFAULT :
					    i == 1 ? 0 : -EEXIST) ||
			  (i == 7 && ios[i].status == -EFAULT),
			  "key %u: %d", i, ios[i].status);
	/* One malformed key: none is touched. */
	again_delete(kvc, &call, "window", 6);
	for (i = 0; i < 200; i++) {
		kvc_prep_data(&ios[i], "window", 6, big, 600);
		ios[i].status = 12345;
	}
	ios[199].reserved[1] = 1;
	done = again_batch(kvc, KVCACHE_IOC_PUT, &call, ios, 200);
	vt_expect(done == -EINVAL && ios[0].status == 12345,
		  "put with one malformed key: %zd", done);
	gone("window");
	free(ios);
	vt_end();
}

static void test_duplicates(void)
{
	struct kvcache_io ios[150];
	unsigned int i, zero, where = 0;
	ssize_t done;

	vt_begin("a key many times in one batch: one put is done, the others EEXIST");
	for (i = 0; i < 150; i++) {
		vt_fill(big + i * 4096, seed_of("dup", 3, i), 0, 3000);
		kvc_prep_data(&ios[i], "dup", 3, big + i * 4096, 3000 - i);
	}
	done = again_batch(kvc, KVCACHE_IOC_PUT, &call, ios, 150);
	vt_expect(done == 1, "put: %zd done", done);
	for (i = 0, zero = 0; i < 150; i++) {
		if (!ios[i].status) {
			zero++;
			where = i;
		} else {
			vt_expect(ios[i].status == -EEXIST, "put %u: %d", i,
				  ios[i].status);
		}
	}
	vt_expect(zero == 1, "%u puts were done", zero);
	for (i = 0; i < 150; i++)
		vt_expect(ios[i].status || ios[i].length == 3000 - where,
			  "put %u: length %llu", i,
			  (unsigned long long)ios[i].length);
	for (i = 0; i < 150; i++)
		kvc_prep_data(&ios[i], "dup", 3, other + i * 4096, 4096);
	done = again_batch(kvc, KVCACHE_IOC_GET, &call, ios, 150);
	vt_expect(done == 150, "get: %zd done", done);
	for (i = 0; i < 150; i++)
		vt_expect(ios[i].transferred == 3000 - where &&
			  vt_differs(other + i * 4096, seed_of("dup", 3, where), 0,
				     3000 - where) < 0, "get %u: wrong bytes", i);
	for (i = 0; i < 150; i++)
		kvc_prep(&ios[i], "dup", 3);
	done = again_batch(kvc, KVCACHE_IOC_DELETE, &call, ios, 150);
	vt_expect(done >= 1 && !ios[0].status, "delete: %zd done", done);
	for (i = 0; i < 150; i++)
		vt_expect(!ios[i].status || ios[i].status == -ENOENT,
			  "delete %u: %d", i, ios[i].status);
	gone("dup");
	vt_end();
}

/* --- two threads, one key --- */

#define RACERS 4
#define ROUNDS 150

static struct racer {
	unsigned int number;
	unsigned int threads;
	int status[ROUNDS];
	uint64_t length[ROUNDS];
} racers[RACERS];
static pthread_barrier_t barrier;

static size_t race_size(unsigned int round, unsigned int racer)
{
	static const size_t sizes[] = { 1, 600, 4096, 5000, 40000, 130000 };

	return sizes[round % 6] + racer * 3;
}

static void *race(void *arg)
{
	struct racer *r = arg;
	uint8_t *buf = vt_map(200000);
	struct kvcache_io io;
	char key[24];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		size_t len = race_size(i, r->number);

		snprintf(key, sizeof(key), "race%u-%u", r->threads, i);
		vt_fill(buf, seed_of(key, strlen(key), r->number), 0, len);
		kvc_prep_data(&io, key, strlen(key), buf, len);
		pthread_barrier_wait(&barrier);
		r->status[i] = (int)kvc_batch_put(kvc, &call, &io, 1);
		if (r->status[i] >= 0)
			r->status[i] = io.status;
		r->length[i] = io.length;
	}
	return NULL;
}

static void test_races(unsigned int n)
{
	pthread_t threads[RACERS];
	unsigned int i, k, won;
	char key[24];
	bool ill;

	vt_begin("%u threads put one key at once: one is done, the others say EEXIST", n);
	pthread_barrier_init(&barrier, NULL, n);
	for (i = 0; i < n; i++) {
		racers[i].number = i;
		racers[i].threads = n;
		pthread_create(&threads[i], NULL, race, &racers[i]);
	}
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	/* Then EAGAIN is an answer, too. */
	ill = vt_kernel_said(": suspect:") != 0;
	for (i = 0; i < ROUNDS; i++) {
		unsigned int winner = 0;
		bool excused = false;

		for (k = 0, won = 0; k < n; k++) {
			if (!racers[k].status[i]) {
				winner = k;
				won++;
			} else if (racers[k].status[i] == -EAGAIN && ill) {
				excused = true;
			} else {
				vt_expect(racers[k].status[i] == -EEXIST,
					  "round %u, thread %u: %d", i, k,
					  racers[k].status[i]);
			}
		}
		vt_expect(won == 1 || (!won && excused),
			  "round %u: %u puts were done", i, won);
		for (k = 0; k < n && won; k++)
			vt_expect(racers[k].status[i] == -EAGAIN ||
				  racers[k].length[i] == race_size(i, winner),
				  "round %u, thread %u: length %llu, not that of thread %u",
				  i, k, (unsigned long long)racers[k].length[i],
				  winner);
		snprintf(key, sizeof(key), "race%u-%u", n, i);
		if (won)
			same(key, winner, race_size(i, winner));
		again_delete(kvc, &call, key, strlen(key));
	}
	pthread_barrier_destroy(&barrier);
	vt_end();
}

static void test_races_of_2(void)
{
	test_races(2);
}

static void test_races_of_4(void)
{
	test_races(4);
}

/* --- tenants --- */

static unsigned int listed(uint32_t tenant, unsigned int flags,
			   const char *prefix, uint32_t *tenants)
{
	struct kvc_call c = { .tenant = tenant, .deadline_ms = DEADLINE_MS };
	struct kvc_list *list = kvc_list_open(kvc, &c, prefix, strlen(prefix), flags);
	struct kvc_object o;
	unsigned int n = 0;
	int err;

	vt_need(list, "open a listing");
	while ((err = kvc_list_next(list, &o)) == 1) {
		if (tenants && n < 16)
			tenants[n] = o.tenant;
		n++;
	}
	vt_expect(!err, "list of tenant %u: %d", tenant, err);
	kvc_list_close(list);
	return n;
}

static void test_tenants(void)
{
	static const uint32_t tenants[] = { 0, 1, 2, 0x80000000, 0xffffffff };
	struct kvc_call c = { .deadline_ms = DEADLINE_MS };
	uint32_t seen[16];
	unsigned int i, n;
	ssize_t got;
	int err;

	vt_begin("tenants do not see one another's keys");
	for (i = 0; i < 5; i++) {
		c.tenant = tenants[i];
		err = again_exists(kvc, &c, "tenant", 6, NULL);
		vt_expect(err == -ENOENT, "tenant %x sees another's: %d",
			  tenants[i], err);
		vt_fill(big, tenants[i], 0, 1000 + i);
		err = again_put(kvc, &c, "tenant", 6, big, 1000 + i);
		vt_expect(!err, "put of tenant %x: %d", tenants[i], err);
	}
	for (i = 0; i < 5; i++) {
		c.tenant = tenants[i];
		got = again_get(kvc, &c, "tenant", 6, other, room, NULL);
		vt_expect(got == 1000 + i &&
			  vt_differs(other, tenants[i], 0, 1000 + i) < 0,
			  "get of tenant %x: %zd, or another's bytes", tenants[i], got);
		n = listed(tenants[i], 0, "tenant", seen);
		vt_expect(n == 1 && seen[0] == tenants[i],
			  "list of tenant %x: %u", tenants[i], n);
	}
	n = listed(77, KVC_LIST_ALL_TENANTS, "tenant", seen);
	vt_expect(n == 5, "list of all tenants: %u", n);
	n = listed(77, 0, "", NULL);
	vt_expect(!n, "list of a tenant without objects: %u", n);
	c.tenant = 1;
	err = again_delete(kvc, &c, "tenant", 6);
	vt_expect(!err, "delete of tenant 1: %d", err);
	for (i = 0; i < 5; i++) {
		c.tenant = tenants[i];
		err = again_exists(kvc, &c, "tenant", 6, NULL);
		vt_expect(err == (i == 1 ? -ENOENT : 0),
			  "tenant %x after another's delete: %d", tenants[i], err);
		again_delete(kvc, &c, "tenant", 6);
	}
	vt_end();
}

static const struct vt_test tests[] = {
	{ "caps", test_caps },
	{ "round_trip", test_round_trip },
	{ "answers", test_answers },
	{ "keys", test_keys },
	{ "sizes", test_sizes },
	{ "ranges", test_ranges },
	{ "pieces", test_pieces },
	{ "batches", test_batches },
	{ "duplicates", test_duplicates },
	{ "races_of_2", test_races_of_2 },
	{ "races_of_4", test_races_of_4 },
	{ "tenants", test_tenants },
};

int main(int argc, char **argv)
{

	vt_need(argc >= 2, "usage: ops_basic POOL [TEST]");
	kvc = kvc_open(NULL, (unsigned int)atoi(argv[1]));
	vt_need(kvc, "open " KVC_DEVICE ": errno %d", errno);
	get_info();
	room = info.max_object + (4 << 20);
	big = vt_map(room);
	other = vt_map(room);

	vt_run(tests, sizeof(tests) / sizeof(*tests), argv + 2, argc > 2 ? 1 : 0);
	get_info();
	vt_result(!info.bad_data && !info.timeouts,
		  "no object was found rotten, and no call passed its deadline");
	vt_result(!again_count() || vt_kernel_said(": suspect:"),
		  "EAGAIN only while a member was suspect (%llu times)",
		  (unsigned long long)again_count());
	vt_exit();
}
