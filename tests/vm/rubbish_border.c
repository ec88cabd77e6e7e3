// SPDX-License-Identifier: GPL-2.0
/*
 * The border of /dev/kvcache: every ioctl with wrong sizes, unknown flags,
 * padding that is set, bad pointers, huge counts and strings without an end;
 * ioctls that don't exist; callers who may not.
 *
 * usage: rubbish_border POOL [TEST]
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vmtest.h"

#define PAGE 4096UL
#define NOWHERE 0x0000100000000000UL	/* nothing is mapped there */
#define KERNEL	0xffff888000000000UL
#define NO_POOL 4711

static int fd;
static unsigned int pool;
static uint8_t *arena;			/* two pages, then none */
static uint8_t *scratch;		/* what pointers in structures point to */

static int io(unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

/* --- one sound call of each kind --- */

union any {
	uint32_t size;
	struct kvcache_caps caps;
	struct kvcache_attach attach;
	struct kvcache_detach detach;
	struct kvcache_info info;
	struct kvcache_pools pools;
	struct kvcache_batch batch;
	struct kvcache_list list;
	struct kvcache_ags ags;
	struct kvcache_slots slots;
	struct kvcache_presence_map presence;
	struct kvcache_grow grow;
	struct kvcache_refresh refresh;
	struct kvcache_member member;
	uint8_t bytes[1024];
};

static struct kvcache_io keys[2];
static struct kvcache_attach_member member;
static const char key_bytes[] = "rubbish";

static void key_make(struct kvcache_io *k, unsigned long cmd)
{
	kvc_prep(k, key_bytes, 7);
	if (cmd == KVCACHE_IOC_PUT || cmd == KVCACHE_IOC_GET) {
		k->data = (uintptr_t)scratch;
		k->data_len = 100;
	}
}

static void make_caps(union any *a)
{
	(void)a;
}

static void make_attach(union any *a)
{
	member.path = (uintptr_t)"/dev/no-such-device";
	a->attach.members = (uintptr_t)&member;
	a->attach.nr_members = 1;
	strcpy((char *)a->attach.node, "rubbish");
	a->attach.reason = (uintptr_t)scratch;
	a->attach.reason_len = 200;
}

static void make_detach(union any *a)
{
	a->detach.pool = NO_POOL;
}

static void make_info(union any *a)
{
	a->info.pool = pool;
}

static void make_pools(union any *a)
{
	a->pools.count = 4;
	a->pools.pools = (uintptr_t)scratch;
}

static void make_batch(union any *a)
{
	a->batch.pool = pool;
	a->batch.ios = (uintptr_t)keys;
	a->batch.count = 1;
	a->batch.io_size = sizeof(keys[0]);
}

static void make_list(union any *a)
{
	a->list.pool = pool;
	a->list.buffer = (uintptr_t)scratch;
	a->list.buffer_len = 8192;
	a->list.deadline_ms = 30000;
	a->list.prefix = (uintptr_t)"no such prefix";
	a->list.prefix_len = 14;
}

static void make_ags(union any *a)
{
	a->ags.pool = pool;
	a->ags.ags = (uintptr_t)scratch;
	a->ags.count = 1;
}

static void make_slots(union any *a)
{
	a->slots.pool = pool;
	a->slots.slots = (uintptr_t)scratch;
	a->slots.count = 1;
}

static void make_presence(union any *a)
{
	a->presence.pool = pool;
}

/* Of a pool that isn't there: what changes a pool is not tried on this one. */
static void make_grow(union any *a)
{
	member.path = (uintptr_t)"/dev/no-such-device";
	a->grow.pool = NO_POOL;
	a->grow.members = (uintptr_t)&member;
	a->grow.nr_members = 1;
}

static void make_refresh(union any *a)
{
	member.path = (uintptr_t)"/dev/no-such-device";
	a->refresh.pool = NO_POOL;
	a->refresh.members = (uintptr_t)&member;
	a->refresh.nr_members = 1;
}

static void make_member(union any *a)
{
	a->member.pool = NO_POOL;
}

static const struct call {
	const char *name;
	unsigned long cmd;
	size_t size;
	void (*make)(union any *a);
	int answers;		/* of the sound call */
	size_t least;		/* size from which on it is sound */
	bool writes;		/* to its structure */
	size_t flags;		/* offset of a 32-bit field; 0: none */
	uint32_t known;		/* flags */
	size_t padding, padding_len;
} calls[] = {
	{ "caps", KVCACHE_IOC_CAPS, sizeof(struct kvcache_caps), make_caps, 0, 8,
	  true, 0, 0, offsetof(struct kvcache_caps, reserved), 4 },
	{ "attach", KVCACHE_IOC_ATTACH, sizeof(struct kvcache_attach), make_attach,
	  -ENOENT, offsetof(struct kvcache_attach, nqn), false,
	  offsetof(struct kvcache_attach, flags), KVCACHE_ATTACH_FLAGS,
	  offsetof(struct kvcache_attach, reserved), 4 },
	{ "detach", KVCACHE_IOC_DETACH, sizeof(struct kvcache_detach), make_detach,
	  -ENODEV, offsetof(struct kvcache_detach, timeout_ms), false,
	  offsetof(struct kvcache_detach, flags), 0, 0, 0 },
	{ "info", KVCACHE_IOC_INFO, sizeof(struct kvcache_info), make_info, 0, 8,
	  true, offsetof(struct kvcache_info, flags), 0,
	  offsetof(struct kvcache_info, reserved), 64 },
	{ "pools", KVCACHE_IOC_POOLS, sizeof(struct kvcache_pools), make_pools, 0,
	  16, true, 0, 0, 0, 0 },
	{ "put", KVCACHE_IOC_PUT, sizeof(struct kvcache_batch), make_batch, 0,
	  offsetof(struct kvcache_batch, deadline_ms), true,
	  offsetof(struct kvcache_batch, flags), KVCACHE_BATCH_FLAGS,
	  offsetof(struct kvcache_batch, reserved), 8 },
	{ "get", KVCACHE_IOC_GET, sizeof(struct kvcache_batch), make_batch, 0,
	  offsetof(struct kvcache_batch, deadline_ms), true,
	  offsetof(struct kvcache_batch, flags), KVCACHE_BATCH_FLAGS,
	  offsetof(struct kvcache_batch, reserved), 8 },
	{ "exists", KVCACHE_IOC_EXISTS, sizeof(struct kvcache_batch), make_batch, 0,
	  offsetof(struct kvcache_batch, deadline_ms), true,
	  offsetof(struct kvcache_batch, flags), KVCACHE_BATCH_FLAGS,
	  offsetof(struct kvcache_batch, reserved), 8 },
	{ "delete", KVCACHE_IOC_DELETE, sizeof(struct kvcache_batch), make_batch, 0,
	  offsetof(struct kvcache_batch, deadline_ms), true,
	  offsetof(struct kvcache_batch, flags), KVCACHE_BATCH_FLAGS,
	  offsetof(struct kvcache_batch, reserved), 8 },
	{ "ags", KVCACHE_IOC_AGS, sizeof(struct kvcache_ags), make_ags, 0,
	  offsetof(struct kvcache_ags, first), true,
	  offsetof(struct kvcache_ags, flags), 0, 0, 0 },
	{ "slots", KVCACHE_IOC_SLOTS, sizeof(struct kvcache_slots), make_slots, 0,
	  offsetof(struct kvcache_slots, first), true,
	  offsetof(struct kvcache_slots, flags), 0, 0, 0 },
	{ "presence", KVCACHE_IOC_PRESENCE, sizeof(struct kvcache_presence_map),
	  make_presence, 0, offsetof(struct kvcache_presence_map, bytes), true,
	  offsetof(struct kvcache_presence_map, flags), 0,
	  offsetof(struct kvcache_presence_map, reserved), 4 },
	{ "grow", KVCACHE_IOC_GROW, sizeof(struct kvcache_grow), make_grow, -ENODEV,
	  offsetof(struct kvcache_grow, nr_ags), false,
	  offsetof(struct kvcache_grow, flags), 0,
	  offsetof(struct kvcache_grow, reserved), 4 },
	{ "refresh", KVCACHE_IOC_REFRESH, sizeof(struct kvcache_refresh),
	  make_refresh, -ENODEV, offsetof(struct kvcache_refresh, reason), false,
	  offsetof(struct kvcache_refresh, flags), 0,
	  offsetof(struct kvcache_refresh, reserved), 4 },
	{ "member", KVCACHE_IOC_MEMBER, sizeof(struct kvcache_member), make_member,
	  -ENODEV, offsetof(struct kvcache_member, op), false,
	  offsetof(struct kvcache_member, flags), KVCACHE_MEMBER_FLAGS,
	  offsetof(struct kvcache_member, reserved), 4 },
	/* The last: see list_fields. */
	{ "list", KVCACHE_IOC_LIST, sizeof(struct kvcache_list), make_list, 0,
	  offsetof(struct kvcache_list, cookie), true,
	  offsetof(struct kvcache_list, flags), KVCACHE_LIST_FLAGS,
	  offsetof(struct kvcache_list, reserved), 4 },
};
#define NR_CALLS (sizeof(calls) / sizeof(*calls))

static void make(const struct call *c, union any *a)
{
	memset(a, 0, sizeof(*a));
	a->size = (uint32_t)c->size;
	c->make(a);
	key_make(&keys[0], c->cmd);
}

static void answer(const struct call *c, int got, int want, const char *what,
		   unsigned long detail)
{
	vt_expect(got == want, "%s, %s %lu: %d, not %d", c->name, what, detail, got,
		  want);
}

static void test_sizes(void)
{
	static const uint32_t bad[] = { 0, 1, 4, 7 };
	static const uint32_t huge[] = { 4097, 8192, 0x7fffffff, 0x80000000,
					 0xffffffff };
	uint8_t *big = vt_map(16384);
	const struct call *c;
	union any a;
	size_t n;
	int got;

	vt_begin("structures too short, shorter, longer, and longer with something in it");
	for (c = calls; c < calls + NR_CALLS; c++) {
		for (n = 0; n < sizeof(bad) / sizeof(*bad); n++) {
			make(c, &a);
			a.size = bad[n];
			answer(c, io(c->cmd, &a), -EINVAL, "size", bad[n]);
		}
		/* Shorter by any number of bytes: as if they were zero. */
		for (n = c->least; n <= c->size; n++) {
			make(c, &a);
			a.size = (uint32_t)n;
			memset(arena, 0xcc, 2 * PAGE);
			memcpy(arena + 2 * PAGE - n, &a, n);
			got = io(c->cmd, arena + 2 * PAGE - n);
			answer(c, got, c->answers, "size", n);
			vt_expect(vt_not_all(arena, 0xcc, 2 * PAGE - n) < 0,
				  "%s, size %zu: memory before it was written",
				  c->name, n);
			vt_expect(*(uint32_t *)(arena + 2 * PAGE - n) == n,
				  "%s: its own size was written", c->name);
		}
		/* Nothing behind a short structure is written. */
		n = c->least;
		make(c, &a);
		a.size = (uint32_t)n;
		memset(a.bytes + n, 0x5c, sizeof(a) - n);
		answer(c, io(c->cmd, &a), c->answers, "short", n);
		vt_expect(vt_not_all(a.bytes + n, 0x5c, sizeof(a) - n) < 0,
			  "%s: written behind its %zu bytes", c->name, n);
		/* Longer, with zeroes: as if it weren't. */
		for (n = c->size + 1; n <= PAGE; n += n < c->size + 9 ? 1 : 777) {
			make(c, &a);
			memset(big, 0, 16384);
			memcpy(big, &a, c->size);
			*(uint32_t *)big = (uint32_t)n;
			answer(c, io(c->cmd, big), c->answers, "long", n);
			/* With one bit somewhere: nothing is done. */
			memcpy(big, &a, c->size);
			*(uint32_t *)big = (uint32_t)n;
			big[c->size + n % (n - c->size)] = 1;
			answer(c, io(c->cmd, big), -E2BIG, "long with a bit", n);
			memset(big, 0, 16384);
			memcpy(big, &a, c->size);
			*(uint32_t *)big = (uint32_t)n;
			big[n - 1] = 0x80;
			answer(c, io(c->cmd, big), -E2BIG, "long with a last bit",
			       n);
		}
		/* More than a page is no structure. */
		memset(big, 0, 16384);
		for (n = 0; n < sizeof(huge) / sizeof(*huge); n++) {
			make(c, &a);
			memcpy(big, &a, c->size);
			*(uint32_t *)big = huge[n];
			answer(c, io(c->cmd, big), -E2BIG, "size", huge[n]);
		}
	}
	munmap(big, 16384);
	vt_end();
}

static void test_flags(void)
{
	const struct call *c;
	unsigned int bit;
	union any a;
	size_t n;

	vt_begin("unknown flags, and padding that is set: EINVAL, and nothing done");
	for (c = calls; c < calls + NR_CALLS; c++) {
		for (bit = 0; c->flags && bit < 32; bit++) {
			if (c->known >> bit & 1)
				continue;
			make(c, &a);
			*(uint32_t *)(a.bytes + c->flags) = 1U << bit;
			answer(c, io(c->cmd, &a), -EINVAL, "flag", bit);
		}
		for (n = 0; n < c->padding_len; n++) {
			make(c, &a);
			a.bytes[c->padding + n] = 1;
			answer(c, io(c->cmd, &a), -EINVAL, "padding", n);
		}
	}
	vt_end();
}

static void test_pointers(void)
{
	static const uintptr_t bad[] = { 0, 1, NOWHERE, KERNEL, 0x00007fffffffffffUL,
					 0x8000000000000000UL, ~0UL, ~7UL };
	const struct call *c;
	uint8_t *ro = vt_map(PAGE);
	union any a;
	unsigned int i;
	int got;

	vt_begin("structures nowhere, half nowhere, and where nothing may be written: EFAULT");
	for (c = calls; c < calls + NR_CALLS; c++) {
		for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
			answer(c, io(c->cmd, (void *)bad[i]), -EFAULT, "pointer", i);
		/* Its end isn't there. */
		for (i = 4; i < c->size; i += 4) {
			make(c, &a);
			memcpy(arena + 2 * PAGE - i, &a, i);
			answer(c, io(c->cmd, arena + 2 * PAGE - i), -EFAULT,
			       "missing from byte", i);
		}
		mprotect(ro, PAGE, PROT_READ | PROT_WRITE);
		make(c, &a);
		memcpy(ro, &a, c->size);
		mprotect(ro, PAGE, PROT_READ);
		got = io(c->cmd, ro);
		answer(c, got, c->writes ? -EFAULT : c->answers, "read-only", 0);
	}
	munmap(ro, PAGE);
	vt_end();
}

/* --- what is in them --- */

struct field {
	size_t offset;
	unsigned int size;
	uint64_t value;
	int answer;
};

static void set_field(void *p, const struct field *f)
{
	memcpy((uint8_t *)p + f->offset, &f->value, f->size);
}

#define FIELD(type, name, value, answer) \
	{ offsetof(struct type, name), sizeof(((struct type *)0)->name), value, answer }

static void test_batch_fields(void)
{
	static const struct field fields[] = {
		FIELD(kvcache_batch, count, 0, -EINVAL),
		FIELD(kvcache_batch, count, 4097, -EINVAL),
		FIELD(kvcache_batch, count, 0x80000000, -EINVAL),
		FIELD(kvcache_batch, count, 0xffffffff, -EINVAL),
		FIELD(kvcache_batch, io_size, 0, -EINVAL),
		FIELD(kvcache_batch, io_size, 8, -EINVAL),
		FIELD(kvcache_batch, io_size, sizeof(struct kvcache_io) - 8, -EINVAL),
		FIELD(kvcache_batch, io_size, sizeof(struct kvcache_io) + 8, -EINVAL),
		FIELD(kvcache_batch, io_size, 0xffffffff, -EINVAL),
		FIELD(kvcache_batch, deadline_ms, 600001, -EINVAL),
		FIELD(kvcache_batch, deadline_ms, 0xffffffff, -EINVAL),
		FIELD(kvcache_batch, deadline_ms, 600000, 0),
		FIELD(kvcache_batch, pool, NO_POOL, -ENODEV),
		FIELD(kvcache_batch, pool, 0xffffffff, -ENODEV),
		FIELD(kvcache_batch, ios, 0, -EFAULT),
		FIELD(kvcache_batch, ios, NOWHERE, -EFAULT),
		FIELD(kvcache_batch, ios, KERNEL, -EFAULT),
		FIELD(kvcache_batch, ios, ~0ULL, -EFAULT),
		FIELD(kvcache_batch, done, 77, 0),
	};
	const struct call *c;
	struct kvcache_io *ro = vt_map(2 * PAGE);
	struct kvcache_io *edge;
	union any a;
	unsigned int i;

	vt_begin("batches with counts, sizes and pointers that are out of bounds");
	for (c = calls; c < calls + NR_CALLS; c++) {
		if (c->make != make_batch)
			continue;
		for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
			make(c, &a);
			set_field(&a, &fields[i]);
			answer(c, io(c->cmd, &a), fields[i].answer, "field", i);
			vt_expect(fields[i].answer || keys[0].status != 12345,
				  "%s: no status", c->name);
		}
		/* An array that may be read and not be written. */
		mprotect(ro, 2 * PAGE, PROT_READ | PROT_WRITE);
		key_make(&ro[0], c->cmd);
		mprotect(ro, 2 * PAGE, PROT_READ);
		make(c, &a);
		a.batch.ios = (uintptr_t)ro;
		answer(c, io(c->cmd, &a), -EFAULT, "read-only array", 0);
		/* One that ends too early. */
		edge = (struct kvcache_io *)(arena + 2 * PAGE) - 1;
		key_make(edge, c->cmd);
		make(c, &a);
		a.batch.ios = (uintptr_t)edge;
		answer(c, io(c->cmd, &a), 0, "array at the edge", 1);
		a.batch.count = 2;
		answer(c, io(c->cmd, &a), -EFAULT, "array over the edge", 2);
		a.batch.count = 4096;
		answer(c, io(c->cmd, &a), -EFAULT, "array over the edge", 4096);
	}
	munmap(ro, 2 * PAGE);
	vt_end();
}

/* A key's fields: refused for all calls but those in @fine. */
#define P 1
#define G 2
#define E 4
#define D 8

static void test_key_fields(void)
{
	static const struct {
		struct field f;
		unsigned int fine;	/* calls that don't say EINVAL */
	} fields[] = {
		{ FIELD(kvcache_io, key_len, 0, 0), 0 },
		{ FIELD(kvcache_io, key_len, 513, 0), 0 },
		{ FIELD(kvcache_io, key_len, 65535, 0), 0 },
		{ FIELD(kvcache_io, reserved[0], 1, 0), 0 },
		{ FIELD(kvcache_io, reserved[1], 1ULL << 63, 0), 0 },
		{ FIELD(kvcache_io, flags, KVCACHE_IO_RANGE, 0), G },
		{ FIELD(kvcache_io, flags, KVCACHE_IO_PIN, 0), 0 },
		{ FIELD(kvcache_io, flags, 8, 0), 0 },
		{ FIELD(kvcache_io, flags, 1U << 31, 0), 0 },
		{ FIELD(kvcache_io, flags, 0xffffffff, 0), 0 },
		{ FIELD(kvcache_io, offset, 1, 0), 0 },
		{ FIELD(kvcache_io, pin, 1, 0), 0 },
		{ FIELD(kvcache_io, depth, 1, 0), P },
		{ FIELD(kvcache_io, expiry, 1, 0), P },
	};
	const struct call *c;
	unsigned int i, bit = 1;
	union any a;

	vt_begin("keys with fields that their call doesn't take: EINVAL, and nothing done");
	for (c = calls; c < calls + NR_CALLS; c++) {
		if (c->make != make_batch)
			continue;
		for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
			if (fields[i].fine & bit)
				continue;
			make(c, &a);
			set_field(&keys[0], &fields[i].f);
			keys[0].status = 12345;
			answer(c, io(c->cmd, &a), -EINVAL, "key field", i);
			vt_expect(keys[0].status == 12345, "%s: a status", c->name);
			/* In a second key, it is no better. */
			make(c, &a);
			key_make(&keys[1], c->cmd);
			set_field(&keys[1], &fields[i].f);
			keys[0].status = 12345;
			a.batch.count = 2;
			answer(c, io(c->cmd, &a), -EINVAL, "second key field", i);
			vt_expect(keys[0].status == 12345, "%s: a status", c->name);
		}
		make(c, &a);
		keys[0].flags = KVCACHE_IO_IOVEC;
		keys[0].data_len = bit & (P | G) ? 0 : 1;
		answer(c, io(c->cmd, &a), -EINVAL, "pieces", 0);
		keys[0].data_len = KVCACHE_IOV_MAX + 1;
		answer(c, io(c->cmd, &a), -EINVAL, "pieces", KVCACHE_IOV_MAX + 1);
		keys[0].data_len = ~0ULL;
		answer(c, io(c->cmd, &a), -EINVAL, "pieces", ~0UL);
		if (bit & (E | D)) {
			make(c, &a);
			keys[0].data = (uintptr_t)scratch;
			answer(c, io(c->cmd, &a), -EINVAL, "data", 0);
			make(c, &a);
			keys[0].data_len = 1;
			answer(c, io(c->cmd, &a), -EINVAL, "data", 1);
		}
		bit <<= 1;
	}
	vt_end();
}

/* What one key answers. */
static int key_answer(unsigned long cmd)
{
	union any a = { .batch = { .size = sizeof(a.batch) } };
	int err;

	make_batch(&a);
	err = io(cmd, &a);
	return err ? err : keys[0].status;
}

static void test_key_pointers(void)
{
	static const uint64_t bad[] = { 0, 1, NOWHERE, KERNEL, 0x00007fffffffff00UL,
					0x8000000000000000UL, ~0UL, ~99UL };
	static const uint64_t lens[] = { 1ULL << 31, 1ULL << 32, 1ULL << 47,
					 1ULL << 63, ~0ULL, ~4095ULL };
	static struct kvcache_iovec iov[3];
	const struct call *c;
	unsigned int i;
	int got;

	vt_begin("keys, memory and pieces nowhere, and lengths beyond all bounds");
	for (c = calls; c < calls + NR_CALLS; c++) {
		if (c->make != make_batch)
			continue;
		for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			key_make(&keys[0], c->cmd);
			keys[0].key = bad[i];
			answer(c, key_answer(c->cmd), -EFAULT, "key", i);
		}
	}
	/* There is an object to be got. */
	key_make(&keys[0], KVCACHE_IOC_PUT);
	got = key_answer(KVCACHE_IOC_PUT);
	vt_expect(!got || got == -EEXIST, "put: %d", got);
	for (c = calls; c < calls + NR_CALLS; c++) {
		if (c->cmd != KVCACHE_IOC_PUT && c->cmd != KVCACHE_IOC_GET)
			continue;
		for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			key_make(&keys[0], c->cmd);
			if (c->cmd == KVCACHE_IOC_PUT)
				keys[0].key = (uintptr_t)"not there";
			keys[0].key_len = c->cmd == KVCACHE_IOC_PUT ? 9 : 7;
			keys[0].data = bad[i];
			answer(c, key_answer(c->cmd), -EFAULT, "memory", i);
			keys[0].flags = KVCACHE_IO_IOVEC;
			keys[0].data_len = 3;
			answer(c, key_answer(c->cmd), -EFAULT, "pieces", i);
			keys[0].data = (uintptr_t)iov;
			iov[0] = (struct kvcache_iovec){ (uintptr_t)scratch, 50 };
			iov[1] = (struct kvcache_iovec){ bad[i], 50 };
			iov[2] = iov[0];
			answer(c, key_answer(c->cmd), -EFAULT, "a piece", i);
		}
		for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			key_make(&keys[0], c->cmd);
			keys[0].key = (uintptr_t)"not there";
			keys[0].key_len = 9;
			keys[0].data_len = lens[i];
			got = key_answer(c->cmd);
			vt_expect(got == -EINVAL || got == -EFBIG || got == -EFAULT,
				  "%s, length %u: %d", c->name, i, got);
			keys[0].data = (uintptr_t)iov;
			keys[0].data_len = 3;
			keys[0].flags = KVCACHE_IO_IOVEC;
			iov[1] = (struct kvcache_iovec){ (uintptr_t)scratch, lens[i] };
			got = key_answer(c->cmd);
			vt_expect(got == -EINVAL || got == -EFBIG || got == -EFAULT,
				  "%s, piece of length %u: %d", c->name, i, got);
			/* Each is fine, their sum is not. */
			iov[0].len = iov[1].len = iov[2].len = 0x7ffff000;
			got = key_answer(c->cmd);
			vt_expect(got == -EINVAL || got == -EFBIG || got == -EFAULT,
				  "%s, sum of pieces: %d", c->name, got);
			iov[0].len = iov[2].len = 50;
		}
	}
	key_make(&keys[0], KVCACHE_IOC_DELETE);
	key_answer(KVCACHE_IOC_DELETE);
	vt_end();
}

static void test_list_fields(void)
{
	static const struct field fields[] = {
		FIELD(kvcache_list, buffer_len, 0, -EINVAL),
		FIELD(kvcache_list, buffer_len, 4095, -EINVAL),
		FIELD(kvcache_list, buffer_len, 0xffffffff, 0),
		FIELD(kvcache_list, prefix_len, 513, -EINVAL),
		FIELD(kvcache_list, prefix_len, 0xffffffff, -EINVAL),
		FIELD(kvcache_list, prefix, 0, -EINVAL),
		FIELD(kvcache_list, prefix, NOWHERE, -EFAULT),
		FIELD(kvcache_list, prefix, KERNEL, -EFAULT),
		FIELD(kvcache_list, deadline_ms, 600001, -EINVAL),
		FIELD(kvcache_list, pool, NO_POOL, -ENODEV),
		FIELD(kvcache_list, cookie, ~0ULL, -EINVAL),
		FIELD(kvcache_list, cookie, 1, -EINVAL),
		FIELD(kvcache_list, used, 99, 0),
		FIELD(kvcache_list, count, 99, 0),
	};
	static const uint64_t bad[] = { 0, NOWHERE, KERNEL, ~0UL };
	const struct call *c = &calls[NR_CALLS - 1];
	struct vt_rng rng = { 5 };
	unsigned int i, fine = 0;
	union any a;
	int got;

	vt_begin("listings with fields out of bounds, and 3000 cookies from nowhere");
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		make(c, &a);
		set_field(&a, &fields[i]);
		answer(c, io(c->cmd, &a), fields[i].answer, "field", i);
	}
	key_make(&keys[0], KVCACHE_IOC_PUT);
	got = key_answer(KVCACHE_IOC_PUT);
	vt_expect(!got, "put: %d", got);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		make(c, &a);
		a.list.prefix_len = 0;
		a.list.buffer = bad[i];
		answer(c, io(c->cmd, &a), -EFAULT, "buffer", i);
	}
	for (i = 0; i < 3000; i++) {
		make(c, &a);
		a.list.prefix_len = 0;
		a.list.cookie = vt_rand(&rng) >> vt_below(&rng, 64);
		/* Of an AG that there is, half the time. */
		if (i & 1)
			a.list.cookie = (a.list.cookie & ((1ULL << 53) - 1)) |
					(1 + vt_below(&rng, 4)) << 53;
		got = io(c->cmd, &a);
		fine += !got;
		vt_expect(!got || got == -EINVAL, "cookie %llx: %d",
			  (unsigned long long)a.list.cookie, got);
		vt_expect(got || a.list.used <= 8192, "used %u", a.list.used);
	}
	vt_note("%u cookies were taken", fine);
	key_make(&keys[0], KVCACHE_IOC_DELETE);
	key_answer(KVCACHE_IOC_DELETE);
	vt_end();
}

static void test_admin_fields(void)
{
	static const struct field attach[] = {
		FIELD(kvcache_attach, nr_members, 0, -EINVAL),
		FIELD(kvcache_attach, nr_members, 65, -EINVAL),
		FIELD(kvcache_attach, nr_members, 0xffffffff, -EINVAL),
		FIELD(kvcache_attach, members, 0, -EFAULT),
		FIELD(kvcache_attach, members, NOWHERE, -EFAULT),
		FIELD(kvcache_attach, members, KERNEL, -EFAULT),
		FIELD(kvcache_attach, pool, 0x80000000, -EINVAL),
		FIELD(kvcache_attach, pool, 0xffffffff, -EINVAL),
		FIELD(kvcache_attach, reason, NOWHERE, -ENOENT),
		FIELD(kvcache_attach, reason, KERNEL, -ENOENT),
		FIELD(kvcache_attach, reason, 0, -ENOENT),
		FIELD(kvcache_attach, reason_len, 0, -ENOENT),
		FIELD(kvcache_attach, reason_len, 0xffffffff, -ENOENT),
	};
	static const uint64_t bad_paths[] = { 0, NOWHERE, KERNEL, ~0UL };
	static const char *const devices[] = {
		"", "/", "/dev", "/dev/null", "/dev/kvcache", "/proc/self/exe",
		"/dev/no/such/device", "relative", "/out", "/../../../nothing",
	};
	static struct kvcache_attach_member many[KVCACHE_MEMBERS_MAX];
	const struct call *c = &calls[1];
	char *path = (char *)vt_map(2 * PAGE);
	struct kvcache_member_info mi;
	union any a;
	unsigned int i;
	int got;

	vt_begin("attach, detach, info and pools with rubbish in them");
	for (i = 0; i < sizeof(attach) / sizeof(*attach); i++) {
		make(c, &a);
		set_field(&a, &attach[i]);
		memset(scratch, 0x77, 4096);
		answer(c, io(c->cmd, &a), attach[i].answer, "field", i);
	}
	/* The sentence ends with a NUL, also when it is cut. */
	for (i = 1; i < 30; i++) {
		make(c, &a);
		a.attach.reason_len = i;
		memset(scratch, 0x77, 4096);
		answer(c, io(c->cmd, &a), -ENOENT, "reason of", i);
		vt_expect(memchr(scratch, 0, i), "reason of %u bytes without an end",
			  i);
		vt_expect(scratch[i] == 0x77, "reason of %u bytes is longer", i);
	}
	make(c, &a);
	memset(a.attach.nqn, 'x', sizeof(a.attach.nqn));
	answer(c, io(c->cmd, &a), -EINVAL, "nqn without end", 0);
	make(c, &a);
	memset(a.attach.node, 'x', sizeof(a.attach.node));
	answer(c, io(c->cmd, &a), -EINVAL, "node without end", 0);
	memset(path, '/', PAGE);
	make(c, &a);
	member.path = (uintptr_t)path;
	answer(c, io(c->cmd, &a), -EINVAL, "path without end", 0);
	strcpy(path + 2 * PAGE - 9, "/dev/xyz");
	mprotect(path + PAGE, PAGE, PROT_NONE);
	make(c, &a);
	member.path = (uintptr_t)path + PAGE - 100;
	answer(c, io(c->cmd, &a), -EFAULT, "path over the edge", 0);
	for (i = 0; i < sizeof(bad_paths) / sizeof(*bad_paths); i++) {
		make(c, &a);
		member.path = bad_paths[i];
		answer(c, io(c->cmd, &a), -EFAULT, "path", i);
	}
	for (i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		make(c, &a);
		member.path = (uintptr_t)devices[i];
		got = io(c->cmd, &a);
		vt_expect(got == -ENOENT || got == -ENOTBLK || got == -EACCES ||
			  got == -EINVAL || got == -ENOTDIR,
			  "attach of '%s': %d", devices[i], got);
	}
	for (i = 0; i < KVCACHE_MEMBERS_MAX; i++)
		many[i].path = (uintptr_t)"/dev/no-such-device";
	make(c, &a);
	a.attach.members = (uintptr_t)many;
	a.attach.nr_members = KVCACHE_MEMBERS_MAX;
	answer(c, io(c->cmd, &a), -ENOENT, "members", KVCACHE_MEMBERS_MAX);

	c = &calls[2];
	make(c, &a);
	a.detach.pool = 0;
	answer(c, io(c->cmd, &a), -EINVAL, "pool", 0);
	a.detach.pool = 0xffffffff;
	answer(c, io(c->cmd, &a), -ENODEV, "pool", 0xffffffff);
	make(c, &a);
	a.detach.pool = pool;
	a.detach.timeout_ms = 600001;
	answer(c, io(c->cmd, &a), -EINVAL, "timeout", 600001);

	c = &calls[3];
	for (i = 0; i < sizeof(bad_paths) / sizeof(*bad_paths); i++) {
		make(c, &a);
		a.info.members = bad_paths[i];
		a.info.nr_members = 0xffffffff;
		answer(c, io(c->cmd, &a), bad_paths[i] ? -EFAULT : 0, "members", i);
		make(c, &a);
		a.info.members = bad_paths[i];
		answer(c, io(c->cmd, &a), 0, "no room, members", i);
	}
	make(c, &a);
	memset(&mi, 0x19, sizeof(mi));
	a.info.members = (uintptr_t)&mi;
	a.info.nr_members = 1;
	answer(c, io(c->cmd, &a), 0, "room for", 1);
	vt_expect(mi.path[0] == '/' && mi.registered <= 1, "no member");
	make(c, &a);
	a.info.pool = NO_POOL;
	answer(c, io(c->cmd, &a), -ENODEV, "pool", NO_POOL);

	c = &calls[4];
	for (i = 0; i < sizeof(bad_paths) / sizeof(*bad_paths); i++) {
		make(c, &a);
		a.pools.pools = bad_paths[i];
		answer(c, io(c->cmd, &a), -EFAULT, "pools", i);
		make(c, &a);
		a.pools.pools = bad_paths[i];
		a.pools.count = 0;
		answer(c, io(c->cmd, &a), 0, "no room, pools", i);
	}
	make(c, &a);
	a.pools.count = 0xffffffff;
	answer(c, io(c->cmd, &a), 0, "room for", 0xffffffff);
	munmap(path, 2 * PAGE);
	vt_end();
}

/* --- what doesn't exist --- */

static void test_unknown(void)
{
	unsigned int nr, type, i;
	uint8_t mem[8192] = { 0 };
	struct iovec iov = { mem, 100 };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned int known[256] = { 0 };
	int got;

	vt_begin("ioctls that don't exist are ENOTTY, and there is nothing but ioctls");
	for (i = 0; i < NR_CALLS; i++)
		known[_IOC_NR(calls[i].cmd)] = 1;
	known[_IOC_NR(KVCACHE_IOC_WATCH)] = 1;
	known[_IOC_NR(KVCACHE_IOC_GRANT)] = 1;
	for (nr = 0; nr < 256; nr++) {
		for (type = 0; type < 256; type++) {
			if (type == 'K' && known[nr])
				continue;
			/* Those that any file takes: FIOCLEX and the like. */
			if (type == 'T' || type == 'f' || type == 'X' || type == 'F')
				continue;
			if (type <= 2)
				continue;
			got = io(_IOC(_IOC_READ | _IOC_WRITE, type, nr, 48), mem);
			if (!vt_expect(got == -ENOTTY, "type %u number %u: %d",
				       type, nr, got))
				break;
		}
	}
	/* A known number goes by its structure's size field alone. */
	for (i = 0; i < 4; i++) {
		union any a;

		make(&calls[0], &a);
		got = io(_IOC(i, 'K', _IOC_NR(KVCACHE_IOC_CAPS), i * 100), &a);
		vt_expect(!got && a.caps.version == KVCACHE_API_VERSION,
			  "caps with other bits in its number: %d", got);
	}
	vt_expect(read(fd, mem, 10) == -1 && errno == EINVAL, "read: %d", errno);
	vt_expect(write(fd, mem, 10) == -1 && errno == EINVAL, "write: %d", errno);
	vt_expect(readv(fd, &iov, 1) == -1, "readv");
	vt_expect(pread(fd, mem, 10, 0) == -1, "pread");
	vt_expect(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED &&
		  errno == ENXIO, "mmap of what is no table: %d", errno);
	vt_expect(ftruncate(fd, 0) == -1, "ftruncate");
	vt_expect(fallocate(fd, 0, 0, 4096) == -1, "fallocate");
	poll(&p, 1, 0);
	lseek(fd, 4711, SEEK_SET);
	vt_expect(!fsync(fd) || errno == EINVAL, "fsync: %d", errno);
	vt_end();
}

/* --- who may --- */

static int in_child(uid_t uid, gid_t gid, int (*what)(void))
{
	int status;
	pid_t pid = fork();

	vt_need(pid >= 0, "fork");
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(gid, gid, gid) ||
		    setresuid(uid, uid, uid))
			_exit(200);
		_exit(what());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int child_open(void)
{
	return open(KVC_DEVICE, O_RDWR) < 0 ? errno : 0;
}

static int child_inherited(void)
{
	union any a;

	/* Who has the file may use it; administration asks who it is. */
	key_make(&keys[0], KVCACHE_IOC_EXISTS);
	if (key_answer(KVCACHE_IOC_EXISTS) != -ENOENT)
		return 101;
	make(&calls[1], &a);
	if (io(KVCACHE_IOC_ATTACH, &a) != -EPERM)
		return 102;
	make(&calls[2], &a);
	a.detach.pool = pool;
	if (io(KVCACHE_IOC_DETACH, &a) != -EPERM)
		return 103;
	/* Before anything is looked at. */
	if (io(KVCACHE_IOC_ATTACH, NULL) != -EPERM)
		return 104;
	make(&calls[3], &a);
	if (io(KVCACHE_IOC_INFO, &a))
		return 105;
	return 0;
}

static int child_group(void)
{
	int error = child_open();

	return error ? error : child_inherited();
}

static void test_permissions(void)
{
	struct stat st;
	int got;

	vt_begin("others than root: EACCES; of the group, all but attach and detach");
	vt_expect(!stat(KVC_DEVICE, &st) && S_ISCHR(st.st_mode) &&
		  (st.st_mode & 07777) == 0660, "mode %o", st.st_mode);
	got = in_child(65534, 65534, child_open);
	vt_expect(got == EACCES, "open by nobody: %d", got);
	got = in_child(65534, 65534, child_inherited);
	vt_expect(!got, "nobody with an open file: %d", got);
	vt_expect(!chown(KVC_DEVICE, 0, 4242), "chown");
	got = in_child(65534, 4242, child_group);
	vt_expect(!got, "a member of the group: %d", got);
	got = in_child(65534, 65534, child_open);
	vt_expect(got == EACCES, "open by nobody: %d", got);
	vt_expect(!chown(KVC_DEVICE, 0, st.st_gid), "chown");
	vt_end();
}

/* --- a structure that changes while it is read --- */

static struct {
	union any a;
	bool stop;
} shared;

static void *flipper(void *arg)
{
	const struct call *c = arg;
	static const uint32_t sizes[] = { 0, 2, 3, 8, 16, 4096, 0xffffffff };
	unsigned int i = 0, k;

	while (!__atomic_load_n(&shared.stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(&shared.a.size, sizes[i++ % 7], __ATOMIC_RELAXED);
		for (k = 0; k < i % 16; k++)
			__asm__ volatile("" ::: "memory");
		__atomic_store_n(&shared.a.size, (uint32_t)c->size, __ATOMIC_RELAXED);
		for (k = 0; k < i % 64; k++)
			__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

static void test_double_fetch(void)
{
	const struct call *c;
	unsigned int i, fine;
	uint64_t end;
	pthread_t t;
	int got;

	vt_begin("a structure whose size changes while it is read: no harm is done");
	for (c = calls; c < calls + NR_CALLS; c++) {
		make(c, &shared.a);
		shared.stop = false;
		pthread_create(&t, NULL, flipper, (void *)c);
		end = vt_ms() + 700;
		for (i = 0, fine = 0; vt_ms() < end; i++) {
			got = io(c->cmd, &shared.a);
			fine += got == c->answers;
			vt_expect(got == c->answers || got == -EINVAL ||
				  got == -E2BIG || got == -EFAULT ||
				  got == -ENODEV || got == -EEXIST,
				  "%s: %d", c->name, got);
			make(c, &shared.a);
		}
		__atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
		pthread_join(t, NULL);
		vt_note("%s: %u of %u calls went through", c->name, fine, i);
	}
	key_make(&keys[0], KVCACHE_IOC_DELETE);
	key_answer(KVCACHE_IOC_DELETE);
	vt_end();
}

static const struct vt_test tests[] = {
	{ "sizes", test_sizes },
	{ "flags", test_flags },
	{ "pointers", test_pointers },
	{ "batch_fields", test_batch_fields },
	{ "key_fields", test_key_fields },
	{ "key_pointers", test_key_pointers },
	{ "list_fields", test_list_fields },
	{ "admin_fields", test_admin_fields },
	{ "unknown", test_unknown },
	{ "permissions", test_permissions },
	{ "double_fetch", test_double_fetch },
};

int main(int argc, char **argv)
{

	vt_need(argc >= 2, "usage: rubbish_border POOL [TEST]");
	pool = (unsigned int)atoi(argv[1]);
	fd = open(KVC_DEVICE, O_RDWR);
	vt_need(fd >= 0, "open " KVC_DEVICE ": errno %d", errno);
	arena = vt_map(3 * PAGE);
	/* Not unmapped: something else might come there. */
	mprotect(arena + 2 * PAGE, PAGE, PROT_NONE);
	scratch = vt_map(1 << 20);
	vt_run(tests, sizeof(tests) / sizeof(*tests), argv + 2, argc > 2 ? 1 : 0);
	vt_exit();
}
