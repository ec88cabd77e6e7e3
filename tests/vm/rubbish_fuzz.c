// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that call the device with sound structures of which some fields are
 * changed at random. The kernel must bear it, answer only what is documented,
 * and harm no object that stands beside.
 *
 * usage: rubbish_fuzz POOL SECONDS SEED
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "again.h"

#define THREADS 4
#define PAGE 4096UL
#define BYSTANDERS 40

static int fd;
static unsigned int pool;
static uint64_t end_ms;
static struct kvcache_info info;

struct fuzzer {
	struct vt_rng rng;
	uint8_t *rw;		/* 1 MiB, then nothing */
	uint8_t *ro;		/* 64 KiB, only to be read */
	struct kvcache_io *ios;
	struct kvcache_iovec *iov;
	uint64_t calls, fine, keys_fine;
};

#define RW_BYTES (1UL << 20)
#define RO_BYTES (64UL << 10)
#define NR_IOS 64
#define NR_IOV 256

/* --- what may be in a field --- */

static uint64_t number(struct fuzzer *f)
{
	static const uint64_t some[] = {
		0, 1, 2, 3, 7, 8, 16, 63, 64, 65, 104, 511, 512, 513, 4095, 4096,
		4097, 16384, 16385, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff, 600000, 600001,
	};

	switch (vt_below(&f->rng, 4)) {
	case 0:
		return vt_rand(&f->rng) >> vt_below(&f->rng, 64);
	case 1:
		return vt_below(&f->rng, 64);
	default:
		return some[vt_below(&f->rng, sizeof(some) / sizeof(*some))];
	}
}

/*
 * Never anywhere but in memory of our own, or where there is none: what is got
 * is written there.
 */
static uint64_t pointer(struct fuzzer *f)
{
	switch (vt_below(&f->rng, 12)) {
	case 0:
		return 0;
	case 1:
		return vt_below(&f->rng, PAGE);
	case 2:
		return 0xffff888000000000UL + vt_below(&f->rng, 1UL << 32);
	case 3:
		return 0xffffffff81000000UL + vt_below(&f->rng, 1UL << 24);
	case 4:
		return 0x0000800000000000UL | vt_rand(&f->rng) << 48;
	case 5:
		return ~vt_below(&f->rng, PAGE);
	case 6:
		return (uintptr_t)f->ro + vt_below(&f->rng, RO_BYTES);
	case 7:		/* near the end */
		return (uintptr_t)f->rw + RW_BYTES - vt_below(&f->rng, 6000);
	default:
		return (uintptr_t)f->rw + vt_below(&f->rng, RW_BYTES);
	}
}

static bool rarely(struct fuzzer *f, unsigned int one_in)
{
	return !vt_below(&f->rng, one_in);
}

/* --- structures --- */

static void fuzz_io(struct fuzzer *f, struct kvcache_io *k, unsigned long cmd,
		    unsigned int wild)
{
	bool data = cmd == KVCACHE_IOC_PUT || cmd == KVCACHE_IOC_GET;
	unsigned int i, n;

	memset(k, 0, sizeof(*k));
	/* Two bytes of key: some are there already. */
	k->key = (uintptr_t)f->rw + 2 * vt_below(&f->rng, 400);
	k->key_len = rarely(f, 20) ? (uint16_t)(1 + vt_below(&f->rng, 512)) : 2;
	if (data) {
		k->data = (uintptr_t)f->rw + 4096 + vt_below(&f->rng, RW_BYTES / 2);
		k->data_len = 1 + vt_below(&f->rng, rarely(f, 8) ? 200000 : 9000);
	}
	if (data && rarely(f, 3)) {
		n = 1 + (unsigned int)vt_below(&f->rng, 8);
		k->flags |= KVCACHE_IO_IOVEC;
		k->data = (uintptr_t)(f->iov + vt_below(&f->rng, NR_IOV - 8));
		k->data_len = n;
		for (i = 0; i < n; i++) {
			struct kvcache_iovec *v = (void *)(uintptr_t)k->data;

			v[i].base = rarely(f, 30) ? pointer(f) : (uintptr_t)f->rw +
				4096 + vt_below(&f->rng, RW_BYTES / 2);
			v[i].len = rarely(f, 30) ? number(f) :
						   vt_below(&f->rng, 5000);
		}
	}
	if (cmd == KVCACHE_IOC_GET && rarely(f, 3)) {
		k->flags |= KVCACHE_IO_RANGE;
		k->offset = vt_below(&f->rng, 10000);
	}
	if (cmd == KVCACHE_IOC_PUT) {
		k->depth = (uint16_t)vt_below(&f->rng, 65536);
		if (rarely(f, 8))
			k->expiry = rarely(f, 4) ? number(f) :
						   vt_now() + vt_below(&f->rng, 3);
	}
	if ((cmd == KVCACHE_IOC_PUT || cmd == KVCACHE_IOC_EXISTS) && rarely(f, 20)) {
		k->flags |= KVCACHE_IO_PIN;
		k->pin = rarely(f, 4) ? number(f) : vt_now() + 1;
	}
	if (!rarely(f, wild))
		return;
	switch (vt_below(&f->rng, 12)) {
	case 0: k->key = pointer(f); break;
	case 1: k->key_len = (uint16_t)number(f); break;
	case 2: k->depth = (uint16_t)number(f); break;
	case 3: k->flags = (uint32_t)number(f); break;
	case 4: k->flags ^= 1U << vt_below(&f->rng, 32); break;
	case 5: k->data = pointer(f); break;
	case 6: k->data_len = number(f); break;
	case 7: k->offset = number(f); break;
	case 8: k->expiry = number(f); break;
	case 9: k->pin = number(f); break;
	case 10: k->reserved[vt_below(&f->rng, 2)] = number(f); break;
	case 11: k->length = k->transferred = number(f); break;
	}
	/* Lengths must not lead out of our memory. */
	if (!(k->flags & KVCACHE_IO_IOVEC) && k->data >= (uintptr_t)f->iov &&
	    k->data < (uintptr_t)(f->iov + NR_IOV))
		k->data = (uintptr_t)f->rw;
}

static void fuzz_batch(struct fuzzer *f, unsigned long cmd,
		       struct kvcache_batch *b)
{
	unsigned int i, n = rarely(f, 4) ? 1 + (unsigned int)vt_below(&f->rng, NR_IOS) :
					   1 + (unsigned int)vt_below(&f->rng, 3);

	*b = (struct kvcache_batch) {
		.size = sizeof(*b),
		.pool = pool,
		.tenant = rarely(f, 4) ? 0 : 1000 + (uint32_t)vt_below(&f->rng, 3),
		.ios = (uintptr_t)f->ios,
		.count = n,
		.io_size = sizeof(*f->ios),
		.deadline_ms = rarely(f, 8) ? 1 + (uint32_t)vt_below(&f->rng, 20) : 0,
	};
	for (i = 0; i < n; i++)
		fuzz_io(f, &f->ios[i], cmd, 40 * n);
	if (!rarely(f, 4))
		return;
	switch (vt_below(&f->rng, 8)) {
	case 0: b->flags = (uint32_t)number(f); break;
	case 1: b->pool = (uint32_t)number(f); break;
	case 2: b->tenant = (uint32_t)number(f); break;
	case 3: b->ios = pointer(f); break;
	case 4: b->count = (uint32_t)number(f); break;
	case 5: b->io_size = (uint32_t)number(f); break;
	case 6: b->deadline_ms = (uint32_t)number(f); break;
	case 7: b->reserved = number(f); break;
	}
}

static void fuzz_list(struct fuzzer *f, struct kvcache_list *l)
{
	*l = (struct kvcache_list) {
		.size = sizeof(*l),
		.flags = (uint32_t)vt_below(&f->rng, 2),
		.pool = pool,
		.tenant = 1000,
		.buffer = (uintptr_t)f->rw + 65536,
		.buffer_len = 4096 + (uint32_t)vt_below(&f->rng, 60000),
		.cookie = rarely(f, 2) ? 0 : (1 + vt_below(&f->rng, 4)) << 53 |
					     vt_below(&f->rng, 1UL << 53),
		.prefix = rarely(f, 2) ? 0 : (uintptr_t)f->rw,
	};
	l->prefix_len = l->prefix ? (uint32_t)vt_below(&f->rng, 3) : 0;
	if (!rarely(f, 2))
		return;
	switch (vt_below(&f->rng, 9)) {
	case 0: l->flags = (uint32_t)number(f); break;
	case 1: l->pool = (uint32_t)number(f); break;
	case 2: l->buffer = pointer(f); break;
	case 3: l->buffer_len = (uint32_t)number(f); break;
	case 4: l->deadline_ms = (uint32_t)number(f); break;
	case 5: l->cookie = number(f); break;
	case 6: l->prefix = pointer(f); break;
	case 7: l->prefix_len = (uint32_t)number(f); break;
	case 8: l->reserved = (uint32_t)number(f); break;
	}
	/* At most this much is written, so not behind our memory by chance. */
	if (l->buffer >= (uintptr_t)f->rw && l->buffer < (uintptr_t)f->rw + RW_BYTES &&
	    l->buffer_len > 200000)
		l->buffer_len = 200000;
}

static void fuzz_info(struct fuzzer *f, struct kvcache_info *i)
{
	memset(i, 0, sizeof(*i));
	i->size = sizeof(*i);
	i->pool = pool;
	i->members = rarely(f, 2) ? (uintptr_t)f->rw + 65536 : pointer(f);
	i->nr_members = rarely(f, 2) ? (uint32_t)number(f) : 2;
	switch (vt_below(&f->rng, 8)) {
	case 0: i->flags = (uint32_t)number(f); break;
	case 1: i->pool = (uint32_t)number(f); break;
	case 2: i->reserved[vt_below(&f->rng, 8)] = number(f); break;
	}
}

static void fuzz_pools(struct fuzzer *f, struct kvcache_pools *p)
{
	*p = (struct kvcache_pools) {
		.size = sizeof(*p),
		.count = (uint32_t)number(f),
		.pools = pointer(f),
	};
}

/* Never one that would succeed: the chaos test is for that. */
static void fuzz_attach(struct fuzzer *f, struct kvcache_attach *a)
{
	static const char *const paths[] = { "/dev/null", "/dev/none", "", "/",
					     "/proc/self/mem", "/dev/kvcache" };
	struct kvcache_attach_member *m = (void *)(f->rw + 32768);
	unsigned int i;

	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->members = (uintptr_t)m;
	a->nr_members = 1 + (uint32_t)vt_below(&f->rng, 8);
	for (i = 0; i < 8; i++) {
		m[i].path = rarely(f, 4) ? pointer(f) :
			    (uintptr_t)paths[vt_below(&f->rng, 6)];
		m[i].wwid_hash = number(f);
	}
	a->reason = pointer(f);
	a->reason_len = (uint32_t)number(f) % 1000;
	switch (vt_below(&f->rng, 10)) {
	case 0: a->flags = (uint32_t)number(f); break;
	case 1: a->members = pointer(f); break;
	case 2: a->nr_members = (uint32_t)number(f); break;
	case 3: a->pool = (uint32_t)number(f); break;
	case 4: memset(a->nqn, (int)number(f), sizeof(a->nqn)); break;
	case 5: memset(a->node, (int)number(f), sizeof(a->node)); break;
	case 6: a->reserved = (uint32_t)number(f); break;
	}
}

static void fuzz_detach(struct fuzzer *f, struct kvcache_detach *d)
{
	*d = (struct kvcache_detach) {
		.size = sizeof(*d),
		.flags = rarely(f, 2) ? 0 : (uint32_t)number(f),
		.pool = (uint32_t)number(f),
		.timeout_ms = (uint32_t)number(f),
	};
	if (d->pool == pool)
		d->pool = 0;
}

/* --- what may be answered --- */

static bool documented(int error)
{
	switch (-error) {
	case 0:
	case ENOENT:
	case EEXIST:
	case EAGAIN:
	case ETIMEDOUT:
	case EDQUOT:
	case EMSGSIZE:
	case EINVAL:
	case EFBIG:
	case EFAULT:
		return true;
	}
	return false;
}

/* Of calls, in addition. */
static bool refused(int error, unsigned long cmd)
{
	if (documented(error))
		return true;
	switch (-error) {
	case E2BIG:
	case ENODEV:
		return true;
	case EACCES:
	case ENOTBLK:
	case ENOTDIR:
		return cmd == KVCACHE_IOC_ATTACH;
	}
	return false;
}

static void check_keys(struct fuzzer *f, const struct kvcache_batch *b)
{
	unsigned int i, done = 0;

	if (b->ios != (uintptr_t)f->ios || b->count > NR_IOS)
		return;
	for (i = 0; i < b->count; i++) {
		const struct kvcache_io *k = &f->ios[i];

		done += !k->status;
		vt_expect(documented(k->status), "a key's status: %d", k->status);
		vt_expect(!(k->out_flags & ~KVCACHE_IO_BUSY), "out_flags %x",
			  k->out_flags);
		/* Memory under I/O must be left alone: let it be ours no more. */
		if (k->out_flags & KVCACHE_IO_BUSY)
			vt_sleep_ms(20);
	}
	f->keys_fine += done;
	vt_expect(done == b->done, "%u keys are done, %u said to be", done, b->done);
}

static void fuzz_once(struct fuzzer *f)
{
	static const unsigned long cmds[] = {
		KVCACHE_IOC_PUT, KVCACHE_IOC_PUT, KVCACHE_IOC_PUT, KVCACHE_IOC_GET,
		KVCACHE_IOC_GET, KVCACHE_IOC_GET, KVCACHE_IOC_EXISTS,
		KVCACHE_IOC_DELETE, KVCACHE_IOC_DELETE, KVCACHE_IOC_LIST,
		KVCACHE_IOC_INFO, KVCACHE_IOC_POOLS, KVCACHE_IOC_ATTACH,
		KVCACHE_IOC_DETACH, KVCACHE_IOC_CAPS,
	};
	unsigned long cmd = cmds[vt_below(&f->rng, sizeof(cmds) / sizeof(*cmds))];
	union {
		uint32_t size;
		struct kvcache_caps caps;
		struct kvcache_attach attach;
		struct kvcache_detach detach;
		struct kvcache_info info;
		struct kvcache_pools pools;
		struct kvcache_batch batch;
		struct kvcache_list list;
		uint8_t bytes[8192];
	} a;
	bool batch = _IOC_NR(cmd) >= 0xe8 && _IOC_NR(cmd) <= 0xeb;
	size_t known = _IOC_SIZE(cmd);
	int got;

	memset(&a, 0, sizeof(a));
	switch (cmd) {
	case KVCACHE_IOC_LIST: fuzz_list(f, &a.list); break;
	case KVCACHE_IOC_INFO: fuzz_info(f, &a.info); break;
	case KVCACHE_IOC_POOLS: fuzz_pools(f, &a.pools); break;
	case KVCACHE_IOC_ATTACH: fuzz_attach(f, &a.attach); break;
	case KVCACHE_IOC_DETACH: fuzz_detach(f, &a.detach); break;
	case KVCACHE_IOC_CAPS: a.size = sizeof(a.caps); break;
	default: fuzz_batch(f, cmd, &a.batch); break;
	}
	if (rarely(f, 12)) {
		a.size = rarely(f, 3) ? (uint32_t)number(f) :
					(uint32_t)vt_below(&f->rng, 2 * known);
		if (rarely(f, 2))
			a.bytes[known + vt_below(&f->rng, 64)] = (uint8_t)number(f);
		/* A detach or an attach must not become another by that. */
		if (cmd == KVCACHE_IOC_DETACH && a.detach.pool == pool)
			a.detach.pool = 0;
	}
	got = ioctl(fd, cmd, rarely(f, 50) ? (void *)pointer(f) : (void *)&a) < 0 ?
	      -errno : 0;
	f->calls++;
	f->fine += !got;
	vt_expect(refused(got, cmd), "ioctl %lx: %d", cmd, got);
	if (batch && !got && a.batch.size >= offsetof(struct kvcache_batch, reserved))
		check_keys(f, &a.batch);
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	unsigned int i;

	while (vt_ms() < end_ms) {
		/* What was got may have written over it. */
		if (f->calls % 64 == 0)
			for (i = 0; i < 800; i++)
				f->rw[i] = (uint8_t)(i * 7 + i / 256);
		fuzz_once(f);
	}
	return NULL;
}

/* --- those beside --- */

static void bystanders(struct kvc *kvc, bool put)
{
	const struct kvc_call call = { .deadline_ms = 30000 };
	uint8_t *p = vt_map(200000);
	unsigned int i, gone = 0;
	char key[40];
	ssize_t got;
	size_t len;

	for (i = 0; i < BYSTANDERS; i++) {
		snprintf(key, sizeof(key), "a bystander of the fuzzers, %u", i);
		len = 1 + vt_mix(i, 9) % 200000;
		if (put) {
			struct kvcache_io io;

			/* Pinned, since the fuzzers fill the pool. */
			vt_fill(p, i, 0, len);
			kvc_prep_data(&io, key, strlen(key), p, len);
			kvc_set_pin(&io, vt_now() + 3600);
			got = again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
			vt_expect(!got, "put %s: %zd", key, got);
			continue;
		}
		got = again_get(kvc, &call, key, strlen(key), p, 200000, NULL);
		gone += got == -ENOENT;
		vt_expect(got == (ssize_t)len && vt_differs(p, i, 0, len) < 0,
			  "get %s: %zd, or wrong bytes", key, got);
	}
	munmap(p, 200000);
	if (gone)
		vt_note("%u bystanders are gone", gone);
}

int main(int argc, char **argv)
{
	static struct fuzzer fuzzers[THREADS];
	pthread_t threads[THREADS];
	uint64_t calls = 0, fine = 0, keys = 0, bad;
	struct kvc *kvc;
	unsigned int i;

	vt_need(argc == 4, "usage: rubbish_fuzz POOL SECONDS SEED");
	pool = (unsigned int)atoi(argv[1]);
	kvc = kvc_open(NULL, pool);
	vt_need(kvc && !kvc_info(kvc, &info, NULL, 0), "open the pool");
	fd = kvc_fd(kvc);
	bad = info.bad_data;
	for (i = 0; i < THREADS; i++) {
		struct fuzzer *f = &fuzzers[i];

		f->rng.s = vt_mix(strtoull(argv[3], NULL, 0), i);
		f->rw = vt_map(RW_BYTES + PAGE);
		mprotect(f->rw + RW_BYTES, PAGE, PROT_NONE);
		f->ro = vt_map(RO_BYTES);
		mprotect(f->ro, RO_BYTES, PROT_READ);
		f->ios = vt_map(NR_IOS * sizeof(*f->ios));
		f->iov = vt_map(NR_IOV * sizeof(*f->iov));
	}
	vt_begin("%s s of calls with fields changed at random, by %d threads", argv[2],
		 THREADS);
	bystanders(kvc, true);
	end_ms = vt_ms() + (uint64_t)atoi(argv[2]) * 1000;
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fuzz, &fuzzers[i]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		calls += fuzzers[i].calls;
		fine += fuzzers[i].fine;
		keys += fuzzers[i].keys_fine;
	}
	bystanders(kvc, false);
	vt_note("%llu calls, of which %llu were not refused; %llu keys were done; seed %s",
		(unsigned long long)calls, (unsigned long long)fine,
		(unsigned long long)keys, argv[3]);
	kvc_info(kvc, &info, NULL, 0);
	/* Threads read and write the same memory only by themselves. */
	vt_expect(info.bad_data == bad, "%llu objects were blamed",
		  (unsigned long long)(info.bad_data - bad));
	vt_expect(calls > 100 && fine > calls / 10 && keys > calls / 20,
		  "the fuzzers got nowhere");
	vt_end();
	vt_exit();
}
