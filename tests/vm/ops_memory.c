// SPDX-License-Identifier: GPL-2.0
/*
 * The caller's memory: every alignment, every kind, memory that isn't there,
 * and memory that changes, goes away or is forked under a call.
 *
 * usage: ops_memory POOL [TEST]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "again.h"

#define DEADLINE_MS 30000
#define PAGE	4096UL
#define HUGE	(2UL << 20)
#define GUARD	64

static struct kvc *kvc;
static struct kvcache_info info;
static const struct kvc_call call = { .deadline_ms = DEADLINE_MS };

static void get_info(void)
{
	int err = kvc_info(kvc, &info, NULL, 0);

	vt_need(!err, "info of the pool: %d", err);
}

static int put(const char *key, const void *data, size_t len)
{
	return again_put(kvc, &call, key, strlen(key), data, len);
}

static ssize_t get(const char *key, void *data, size_t len)
{
	return again_get(kvc, &call, key, strlen(key), data, len, NULL);
}

static int exists(const char *key)
{
	return again_exists(kvc, &call, key, strlen(key), NULL);
}

static int delete(const char *key)
{
	return again_delete(kvc, &call, key, strlen(key));
}

/* --- alignment --- */

#define SLOT (4 * PAGE)		/* of the buffers, one object each */
#define BATCH 64

struct residue {
	unsigned int from, to;	/* offset in a page that it is put from, got to */
	unsigned int len;
};

static void residue_batch(const struct residue *r, unsigned int n,
			  uint8_t *src, uint8_t *dst)
{
	struct kvcache_io ios[BATCH];
	char keys[BATCH][40];
	unsigned int i;
	ssize_t done;

	for (i = 0; i < n; i++) {
		uint8_t *p = src + i * SLOT + r[i].from;

		snprintf(keys[i], sizeof(keys[i]), "r%u-%u-%u", r[i].from, r[i].to,
			 r[i].len);
		/* What is beside it must not get onto media. */
		memset(src + i * SLOT, 0xee, SLOT);
		vt_fill(p, vt_mix(r[i].from, r[i].len), 0, r[i].len);
		kvc_prep_data(&ios[i], keys[i], strlen(keys[i]), p, r[i].len);
	}
	done = again_batch(kvc, KVCACHE_IOC_PUT, &call, ios, n);
	vt_expect(done == (ssize_t)n, "put: %zd of %u done, first %d", done, n,
		  ios[0].status);
	memset(dst, 0xa5, n * SLOT);
	for (i = 0; i < n; i++)
		kvc_prep_data(&ios[i], keys[i], strlen(keys[i]),
			      dst + i * SLOT + r[i].to, r[i].len);
	done = again_batch(kvc, KVCACHE_IOC_GET, &call, ios, n);
	vt_expect(done == (ssize_t)n, "get: %zd of %u done", done, n);
	for (i = 0; i < n; i++) {
		uint8_t *slot = dst + i * SLOT, *p = slot + r[i].to;

		if (ios[i].status) {
			vt_expect(false, "get %s: %d", keys[i], ios[i].status);
			continue;
		}
		vt_expect(vt_differs(p, vt_mix(r[i].from, r[i].len), 0,
				     r[i].len) < 0,
			  "%s: byte %zd is wrong", keys[i],
			  vt_differs(p, vt_mix(r[i].from, r[i].len), 0, r[i].len));
		vt_expect(vt_not_all(slot, 0xa5, r[i].to) < 0 &&
			  vt_not_all(p + r[i].len, 0xa5,
				     (size_t)(slot + SLOT - p) - r[i].len) < 0,
			  "%s: memory beside it was written", keys[i]);
	}
	for (i = 0; i < n; i++)
		kvc_prep(&ios[i], keys[i], strlen(keys[i]));
	done = again_batch(kvc, KVCACHE_IOC_DELETE, &call, ios, n);
	vt_expect(done == (ssize_t)n, "delete: %zd of %u done", done, n);
}

static void test_residues(void)
{
	static const unsigned int lens[] = {
		1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513,
		516, 1024, 1536, 4032, 4095, 4096, 4097, 4100, 4608, 8191, 8192,
		8193, 8255,
	};
	const unsigned int nr_lens = sizeof(lens) / sizeof(*lens);
	unsigned int at[200], nr_at = 0, i, k, n = 0, total = 0;
	struct residue r[BATCH];
	uint8_t *src = vt_map(BATCH * SLOT), *dst = vt_map(BATCH * SLOT);

	for (i = 0; i <= 64; i++)
		at[nr_at++] = i;
	for (i = 508; i <= 516; i++)
		at[nr_at++] = i;
	for (i = 1022; i <= 1026; i++)
		at[nr_at++] = i;
	for (i = 2044; i <= 2052; i += 2)
		at[nr_at++] = i;
	for (i = 3583; i <= 3585; i++)
		at[nr_at++] = i;
	for (i = 4028; i <= 4036; i += 4)
		at[nr_at++] = i;
	for (i = 4087; i <= 4095; i++)
		at[nr_at++] = i;

	vt_begin("%u offsets in a page times %u lengths, to other offsets, nothing beside touched",
		 nr_at, nr_lens);
	for (i = 0; i < nr_at; i++) {
		for (k = 0; k < nr_lens; k++) {
			r[n].from = at[i];
			/* Alike in one of four, for what need not be bounced. */
			r[n].to = k & 3 ? at[(i * 13 + k * 29) % nr_at] : at[i];
			r[n].len = lens[k];
			if (++n == BATCH) {
				residue_batch(r, n, src, dst);
				total += n;
				n = 0;
			}
		}
	}
	residue_batch(r, n, src, dst);
	total += n;
	vt_note("%u pairs of offset and length", total);
	vt_end();
	munmap(src, BATCH * SLOT);
	munmap(dst, BATCH * SLOT);
}

/* --- kinds of memory --- */

#define KIND_BYTES (4UL << 20)

struct kind {
	const char *name;
	uint8_t *p;
	int fd;		/* of the file that must show what was got, or -1 */
};

static uint8_t static_memory[1 << 20];

static uint8_t *map_kind(int flags, int fd)
{
	uint8_t *p = mmap(NULL, KIND_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int shm_file(const char *name)
{
	int fd = memfd_create(name, 0);

	vt_need(fd >= 0 && !ftruncate(fd, KIND_BYTES), "a file in memory");
	return fd;
}

static unsigned int kinds(struct kind *k)
{
	unsigned int n = 0;
	uint8_t *p;
	int fd;

	k[n++] = (struct kind){ "anonymous", vt_map(KIND_BYTES), -1 };
	p = map_kind(MAP_SHARED | MAP_ANONYMOUS, -1);
	k[n++] = (struct kind){ "shared anonymous", p, -1 };
	k[n++] = (struct kind){ "static", static_memory, -1 };
	k[n++] = (struct kind){ "heap", malloc(KIND_BYTES), -1 };
	p = vt_map(KIND_BYTES + HUGE);
	p = (uint8_t *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	if (madvise(p, KIND_BYTES, MADV_HUGEPAGE))
		vt_skip("transparent huge pages: none here");
	else
		k[n++] = (struct kind){ "transparent huge pages", p, -1 };
	p = map_kind(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (p)
		k[n++] = (struct kind){ "huge pages", p, -1 };
	else
		vt_skip("huge pages: none are set aside (errno %d)", errno);
	fd = shm_file("shared");
	k[n++] = (struct kind){ "shared file", map_kind(MAP_SHARED, fd), fd };
	fd = shm_file("private");
	k[n++] = (struct kind){ "private mapping of a file",
				map_kind(MAP_PRIVATE, fd), -1 };
	fd = open("/out/mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd >= 0 && !ftruncate(fd, KIND_BYTES) && (p = map_kind(MAP_SHARED, fd)))
		k[n++] = (struct kind){ "shared file of a file system", p, fd };
	return n;
}

static void move(const struct kind *from, const struct kind *to, size_t len,
		 unsigned int off)
{
	uint64_t seed = vt_mix(len, off);
	static uint8_t file[1 << 20];
	char key[100];
	ssize_t got;
	int err;

	snprintf(key, sizeof(key), "%s to %s %zu+%u", from->name, to->name, len, off);
	vt_fill(from->p + off, seed, 0, len);
	err = put(key, from->p + off, len);
	vt_expect(!err, "put, %s: %d", key, err);
	/* Of the same kind it is the same memory. */
	memset(to->p, 0x5a, off + len + GUARD);
	got = get(key, to->p + off, len);
	vt_expect(got == (ssize_t)len, "get, %s: %zd", key, got);
	vt_expect(vt_differs(to->p + off, seed, 0, len) < 0, "%s: wrong bytes", key);
	vt_expect(vt_not_all(to->p, 0x5a, off) < 0 &&
		  vt_not_all(to->p + off + len, 0x5a, GUARD) < 0,
		  "%s: memory beside was written", key);
	if (to->fd >= 0) {
		got = msync(to->p, KIND_BYTES, MS_SYNC) ?:
		      pread(to->fd, file, len, off);
		vt_expect(got == (ssize_t)len && vt_differs(file, seed, 0, len) < 0,
			  "%s: not in the file", key);
	}
	delete(key);
}

static void test_kinds(void)
{
	static const size_t lens[] = { 1, 4096, 5003, 300001 };
	struct kind k[16];
	unsigned int i, j, n = kinds(k), l;

	for (i = 0; i < n; i++)
		vt_need(k[i].p, "%s memory", k[i].name);
	vt_begin("memory of %u kinds, each from and to each", n);
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			for (l = 0; l < 4; l++)
				if (i == j || l == (i + j) % 4)
					move(&k[i], &k[j], lens[l],
					     l & 1 ? 0 : (i * 512 + j * 8) % 4096);
		}
		/* Over the edge of a huge page. */
		if (k[i].p != static_memory)
			move(&k[i], &k[(i + 1) % n == 2 ? 3 : (i + 1) % n], 700000,
			     HUGE - 350000);
	}
	vt_end();
}

/* --- memory that isn't there --- */

/* @len bytes of good memory, and behind them none. */
static uint8_t *edge(size_t len, int prot_behind)
{
	size_t whole = (len + PAGE - 1) / PAGE * PAGE;
	uint8_t *p = vt_map(whole + PAGE);

	if (prot_behind < 0)
		munmap(p + whole, PAGE);
	else
		mprotect(p + whole, PAGE, prot_behind);
	return p + whole - len;
}

static void refuses(const char *what, void *p, size_t len, bool puts)
{
	static uint8_t good[3 * PAGE];
	struct iovec iov[3] = {
		{ good, 100 }, { p, len }, { good + 100, 100 },
	};
	struct kvcache_io io;
	char key[80];
	ssize_t err;

	snprintf(key, sizeof(key), "bad %s", what);
	if (puts) {
		err = put(key, p, len);
		vt_expect(err == -EFAULT, "put, %s: %zd", what, err);
		kvc_prep_iovec(&io, key, strlen(key), iov, 3);
		err = again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
		vt_expect(err == -EFAULT, "put with pieces, %s: %zd", what, err);
		err = exists(key);
		vt_expect(err == -ENOENT, "exists after it, %s: %zd", what, err);
	}
	err = get("there", p, len);
	vt_expect(err == -EFAULT, "get, %s: %zd", what, err);
	kvc_prep_iovec(&io, "there", 5, iov, 3);
	kvc_set_range(&io, 10);
	err = again_one(kvc, KVCACHE_IOC_GET, &call, &io);
	vt_expect(err == -EFAULT && !io.transferred, "get with pieces, %s: %zd",
		  what, err);
	/* It is the memory's fault, not the object's. */
	err = get("there", good, sizeof(good));
	vt_expect(err == 5000 && vt_differs(good, 99, 0, 5000) < 0,
		  "get into good memory, %s: %zd", what, err);
}

/* Memory that ends where the object does, and a byte before. */
static void test_edge(void)
{
	struct iovec iov[2];
	static uint8_t first[100];
	struct kvcache_io io;
	ssize_t err;
	int i;

	for (i = 0; i < 2; i++) {
		size_t len = 5000 - i;
		uint8_t *p = edge(len, -1);

		err = get("there", p, 5000);
		vt_expect(err == (i ? -EFAULT : 5000) &&
			  (i || vt_differs(p, 99, 0, 5000) < 0),
			  "get of 5000 bytes, %zu there: %zd", len, err);
		err = put("edge", p, 5000);
		vt_expect(err == (i ? -EFAULT : 0),
			  "put of 5000 bytes, %zu there: %zd", len, err);
		delete("edge");
		/* The second piece takes what is left behind the first. */
		p = edge(len - 110, -1);
		iov[0] = (struct iovec){ first, sizeof(first) };
		iov[1] = (struct iovec){ p, 5000 };
		kvc_prep_iovec(&io, "there", 5, iov, 2);
		kvc_set_range(&io, 10);
		err = again_one(kvc, KVCACHE_IOC_GET, &call, &io);
		vt_expect(err == (i ? -EFAULT : 0) &&
			  io.transferred == (i ? 0 : 4990) &&
			  (i || (vt_differs(first, 99, 10, 100) < 0 &&
				 vt_differs(p, 99, 110, 4890) < 0)),
			  "get of 4890 bytes into a piece, %zu there: %zd, %llu",
			  len - 110, err, (unsigned long long)io.transferred);
	}
}

static void test_bad_memory(void)
{
	static uint8_t good[8192];
	uint8_t *p, *page = vt_map(2 * PAGE);
	struct kvcache_io io;
	int fd, err;

	vt_begin("memory that isn't there, or is only to be read: EFAULT, and nothing done");
	vt_fill(good, 99, 0, 5000);
	err = put("there", good, 5000);
	vt_expect(!err, "put: %d", err);

	refuses("null", NULL, 6000, true);
	refuses("first page", (void *)100, 6000, true);
	refuses("kernel", (void *)0xffff888000000000UL, 6000, true);
	refuses("hole", (void *)0x0000900000000000UL, 6000, true);
	refuses("up to the hole", (void *)0x00007ffffffff000UL, 6000, true);
	refuses("wraps", (void *)-100UL, 6000, true);
	munmap(page, 2 * PAGE);
	refuses("unmapped", page, 6000, true);
	refuses("into unmapped", edge(4500, -1), 6000, true);
	test_edge();
	refuses("into what can't be read", edge(4096, PROT_NONE), 6000, true);

	p = edge(4096, PROT_READ);
	memset(p, 0x21, 4096);
	refuses("into what can't be written", p, 6000, false);
	err = put("read-only", p, 6000);
	vt_expect(!err, "put from what can't be written: %d", err);
	delete("read-only");
	p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	refuses("read-only zeroes", p, 6000, false);
	vt_expect(vt_not_all(p, 0, 2 * PAGE) < 0, "the zero page was written to");
	fd = open("/proc/self/exe", O_RDONLY);
	p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	refuses("this program", p, 6000, false);
	err = put("program", p, 2 * PAGE);
	vt_expect(!err, "put of a program: %d", err);
	vt_expect(get("program", good, sizeof(good)) == sizeof(good) &&
		  !memcmp(good, p, sizeof(good)), "get of a program");
	delete("program");
	close(fd);

	/* Keys, and the array of pieces. */
	kvc_prep_data(&io, edge(10, -1), 11, good, 100);
	err = again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
	vt_expect(err == -EFAULT, "key into unmapped memory: %d", err);
	kvc_prep_iovec(&io, "iov", 3, (struct iovec *)edge(16 * 5, -1), 6);
	err = again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
	vt_expect(err == -EFAULT, "pieces into unmapped memory: %d", err);
	kvc_prep_iovec(&io, "iov", 3, (struct iovec *)8, KVCACHE_IOV_MAX);
	err = again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
	vt_expect(err == -EFAULT, "pieces nowhere: %d", err);
	vt_expect(exists("iov") == -ENOENT, "a key without pieces is there");
	delete("there");
	get_info();
	vt_expect(!info.bad_data, "%llu objects were blamed",
		  (unsigned long long)info.bad_data);
	vt_end();
}

/* --- memory that changes --- */

static struct {
	uint8_t *p;
	size_t len;
	bool stop;
} scribble;

static void *scribbler(void *arg)
{
	struct vt_rng rng = { (uintptr_t)arg };
	size_t i;

	while (!__atomic_load_n(&scribble.stop, __ATOMIC_RELAXED)) {
		for (i = vt_below(&rng, 64); i < scribble.len; i += 512)
			__atomic_store_n(&scribble.p[i], (uint8_t)vt_rand(&rng),
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

static pthread_t scribble_begin(uint8_t *p, size_t len)
{
	pthread_t t;

	scribble.p = p;
	scribble.len = len;
	scribble.stop = false;
	pthread_create(&t, NULL, scribbler, NULL);
	return t;
}

static void scribble_end(pthread_t t)
{
	__atomic_store_n(&scribble.stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}

static void test_scribbled_get(void)
{
	static const size_t lens[] = { 3000, 65536, 500001 };
	uint8_t *p = vt_map(1 << 20);
	unsigned int i, k, fine = 0, again = 0;
	uint64_t bad, end;
	ssize_t got;
	pthread_t t;
	char key[32];

	vt_begin("memory written to under a get: done or EAGAIN, and the object stays");
	get_info();
	bad = info.bad_data;
	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "scribble-%zu", lens[i]);
		vt_fill(p + 7, i, 0, lens[i]);
		got = put(key, p + 7, lens[i]);
		vt_expect(!got, "put %s: %zd", key, got);
	}
	end = vt_ms() + 15000;
	for (k = 0; k < 40 || (again < 3 && vt_ms() < end); k++) {
		i = k % 3;
		snprintf(key, sizeof(key), "scribble-%zu", lens[i]);
		/* Aligned, so that devices write to it, and not. */
		t = scribble_begin(p + (k & 1) * 7, lens[i]);
		got = kvc_get(kvc, &call, key, strlen(key), p + (k & 1) * 7,
			      lens[i], NULL);
		scribble_end(t);
		if (got == -EAGAIN)
			again++;
		else if (vt_expect(got == (ssize_t)lens[i], "get %s: %zd", key, got))
			fine++;
	}
	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "scribble-%zu", lens[i]);
		got = get(key, p, 1 << 20);
		vt_expect(got == (ssize_t)lens[i] &&
			  vt_differs(p, i, 0, lens[i]) < 0,
			  "get %s in peace: %zd, or wrong bytes", key, got);
		delete(key);
	}
	get_info();
	vt_expect(info.bad_data == bad, "%llu objects were blamed",
		  (unsigned long long)(info.bad_data - bad));
	vt_expect(again > 0, "of %u gets none was disturbed", k);
	vt_note("%u gets were done, %u were disturbed", fine, again);
	vt_end();
	munmap(p, 1 << 20);
}

static void test_scribbled_put(void)
{
	uint8_t *p = vt_map(1 << 20);
	unsigned int i, fine = 0, rotten = 0;
	char key[32];
	pthread_t t;
	ssize_t got;
	int err;

	vt_begin("memory written to under a put: an object that reads, or EBADMSG and a miss");
	for (i = 0; i < 30; i++) {
		snprintf(key, sizeof(key), "scribbled-put-%u", i);
		t = scribble_begin(p + (i & 1) * 7, 300000);
		err = put(key, p + (i & 1) * 7, 300000);
		scribble_end(t);
		vt_expect(!err, "put %s: %d", key, err);
		got = get(key, p, 1 << 20);
		if (got == -EBADMSG) {
			rotten++;
			vt_expect(exists(key) == -ENOENT, "%s is still there", key);
			vt_fill(p, i, 0, 1000);
			err = put(key, p, 1000);
			vt_expect(!err, "put of %s again: %d", key, err);
			got = get(key, p, 1 << 20);
			vt_expect(got == 1000 && vt_differs(p, i, 0, 1000) < 0,
				  "get of %s again: %zd", key, got);
		} else {
			fine++;
			vt_expect(got == 300000, "get %s: %zd", key, got);
		}
		delete(key);
	}
	vt_note("%u objects read, %u were rotten", fine, rotten);
	vt_end();
	munmap(p, 1 << 20);
}

/* --- memory that goes away, and that is copied by fork() --- */

static bool remap_stop;

static void *remapper(void *arg)
{
	uint8_t *p = arg;
	unsigned int i;

	for (i = 0; !__atomic_load_n(&remap_stop, __ATOMIC_RELAXED); i++) {
		uint8_t *at = p + i % 16 * 16384;

		if (i & 1)
			munmap(at, 16384);
		else
			madvise(at, 16384, MADV_DONTNEED);
		if (mmap(at, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
	}
	return NULL;
}

static void test_unmap(void)
{
	uint8_t *p = vt_map(262144), *q = vt_map(262144);
	unsigned int i, ok = 0, fault = 0;
	pthread_t t;
	ssize_t got;
	int err;

	vt_begin("memory unmapped under put and get: done or EFAULT, and the object stays");
	vt_fill(q, 12, 0, 262144);
	err = put("unmap", q, 262144);
	vt_expect(!err, "put: %d", err);
	remap_stop = false;
	pthread_create(&t, NULL, remapper, p);
	for (i = 0; i < 100; i++) {
		got = get("unmap", p, 262144);
		vt_expect(got == 262144 || got == -EFAULT, "get: %zd", got);
		*(got < 0 ? &fault : &ok) += 1;
		/* Zeroes, or what is left of the object. */
		err = put("unmapped", p, 100000);
		vt_expect(!err || err == -EFAULT, "put: %d", err);
		*(err < 0 ? &fault : &ok) += 1;
		if (!err) {
			got = get("unmapped", q, 262144);
			vt_expect(got == 100000 || got == -EBADMSG,
				  "get of what was unmapped: %zd", got);
			delete("unmapped");
		} else {
			vt_expect(exists("unmapped") == -ENOENT,
				  "there after EFAULT");
		}
	}
	__atomic_store_n(&remap_stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	got = get("unmap", q, 262144);
	vt_expect(got == 262144 && vt_differs(q, 12, 0, 262144) < 0,
		  "get in the end: %zd, or wrong bytes", got);
	delete("unmap");
	vt_note("%u calls were done, %u faulted", ok, fault);
	vt_end();
	munmap(p, 262144);
	munmap(q, 262144);
}

static bool fork_stop;

static void *forker(void *arg)
{
	unsigned int *n = arg;
	pid_t pid;

	while (!__atomic_load_n(&fork_stop, __ATOMIC_RELAXED)) {
		pid = fork();
		if (!pid)
			_exit(0);
		if (pid > 0) {
			waitpid(pid, NULL, 0);
			++*n;
		}
	}
	return NULL;
}

static void test_fork(void)
{
	const size_t len = 200000;
	uint8_t *p = vt_map(1 << 20);
	unsigned int i, forks = 0;
	pthread_t t;
	ssize_t got;
	int err;

	vt_begin("a process that forks gets its bytes nevertheless");
	vt_fill(p, 77, 0, len);
	err = put("fork", p, len);
	vt_expect(!err, "put: %d", err);
	fork_stop = false;
	pthread_create(&t, NULL, forker, &forks);
	for (i = 0; i < 50 || (forks < 20 && i < 2000); i++) {
		uint8_t *at = p + i * 64 % 8192;

		memset(at, (int)i, len);
		got = get("fork", at, len);
		if (!vt_expect(got == (ssize_t)len &&
			       vt_differs(at, 77, 0, len) < 0,
			       "get: %zd, or wrong bytes", got))
			break;
	}
	__atomic_store_n(&fork_stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	vt_note("%u gets, %u forks", i, forks);
	delete("fork");
	vt_end();
	munmap(p, 1 << 20);
}

/* --- deadlines --- */

static void test_deadlines(void)
{
	const struct kvc_call hasty = { .deadline_ms = 1 };
	const size_t len = info.max_object;
	unsigned int i, late = 0, done = 0, busy = 0, there = 0;
	uint8_t *p = vt_map(len), *q = vt_map(len);
	struct kvcache_io io;
	uint64_t bad;
	char key[32];
	ssize_t got;
	int err;

	get_info();
	bad = info.bad_data;
	vt_begin("a deadline too short: ETIMEDOUT, no wrong bytes, and nothing lost");
	vt_fill(p, 1, 0, len);
	err = put("deadline", p, len);
	vt_expect(!err, "put: %d", err);
	for (i = 0; i < 12; i++) {
		uint8_t *to = vt_map(len);

		kvc_prep_data(&io, "deadline", 8, to, len);
		got = kvc_batch_get(kvc, &hasty, &io, 1);
		vt_expect(got >= 0 && (!io.status || io.status == -ETIMEDOUT ||
				       io.status == -EAGAIN),
			  "get: %zd, status %d", got, io.status);
		if (!io.status)
			vt_expect(vt_differs(to, 1, 0, len) < 0, "wrong bytes");
		vt_expect(!(io.out_flags & KVCACHE_IO_BUSY) ||
			  io.status == -ETIMEDOUT, "busy with status %d", io.status);
		*(io.status ? &late : &done) += 1;
		busy += io.out_flags & KVCACHE_IO_BUSY;
		munmap(to, len);
	}
	got = get("deadline", q, len);
	vt_expect(got == (ssize_t)len && vt_differs(q, 1, 0, len) < 0,
		  "get with time: %zd, or wrong bytes", got);
	delete("deadline");

	/* @p does not change while a put that gave up may still read it. */
	for (i = 0; i < 6; i++) {
		snprintf(key, sizeof(key), "hasty-%u", i);
		kvc_prep_data(&io, key, strlen(key), p, len);
		got = kvc_batch_put(kvc, &hasty, &io, 1);
		vt_expect(got >= 0 && (!io.status || io.status == -ETIMEDOUT ||
				       io.status == -EAGAIN),
			  "put: %zd, status %d", got, io.status);
		*(io.status ? &late : &done) += 1;
		busy += io.out_flags & KVCACHE_IO_BUSY;
	}
	vt_sleep_ms(1000);
	for (i = 0; i < 6; i++) {
		snprintf(key, sizeof(key), "hasty-%u", i);
		got = get(key, q, len);
		vt_expect(got == -ENOENT || (got == (ssize_t)len &&
					     vt_differs(q, 1, 0, len) < 0),
			  "get %s: %zd, or wrong bytes", key, got);
		there += got > 0;
		err = put(key, p, 5000);
		vt_expect(err == (got > 0 ? -EEXIST : 0), "put %s: %d", key, err);
		delete(key);
	}
	get_info();
	vt_expect(info.bad_data == bad, "an object was blamed");
	vt_expect(late > 0, "no call was late");
	vt_note("%u calls were late (%u with memory in use), %u were done; %u objects there",
		late, busy, done, there);
	vt_end();
	munmap(p, len);
	munmap(q, len);
}

static const struct vt_test tests[] = {
	{ "residues", test_residues },
	{ "kinds", test_kinds },
	{ "bad_memory", test_bad_memory },
	{ "scribbled_get", test_scribbled_get },
	{ "scribbled_put", test_scribbled_put },
	{ "unmap", test_unmap },
	{ "fork", test_fork },
	{ "deadlines", test_deadlines },
};

int main(int argc, char **argv)
{

	vt_need(argc >= 2, "usage: ops_memory POOL [TEST]");
	kvc = kvc_open(NULL, (unsigned int)atoi(argv[1]));
	vt_need(kvc, "open " KVC_DEVICE ": errno %d", errno);
	get_info();
	vt_run(tests, sizeof(tests) / sizeof(*tests), argv + 2, argc > 2 ? 1 : 0);
	vt_exit();
}
