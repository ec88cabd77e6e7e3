// SPDX-License-Identifier: GPL-2.0
/*
 * The eviction log: every object that goes is told to every reader, once, after
 * it can't be hit any more; nothing else is; a reader that is behind is told to
 * look again; streams end with the pool.
 *
 * usage: watch POOL
 *
 * For a small pool, which is filled many times over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "again.h"

#define TENANT		7
#define BYTES		65536
#define MAX_KEYS	100000

static struct kvc *kvc;
static struct kvcache_info info;
static const struct kvc_call mine = { .tenant = TENANT, .deadline_ms = 30000 };
static uint8_t data[BYTES];

/* What became of key N: bits. */
enum { PUT = 1, DELETED = 2, TOLD = 4, SHORT = 8 };
static uint8_t state[MAX_KEYS];
static unsigned int nr_keys;

/**
 * struct reader - a stream
 * @fd: file descriptor
 * @told: events by what they say
 * @strange: events that should not have come
 */
struct reader {
	int fd;
	unsigned int told[8];
	unsigned int strange;
};

static void key_of(char *key, unsigned int n)
{
	snprintf(key, 32, "object %u", n);
}

static bool hit(unsigned int n)
{
	char key[32];

	key_of(key, n);
	return !again_exists(kvc, &mine, key, strlen(key), NULL);
}

static void event(struct reader *r, const struct kvcache_event *e, bool judge)
{
	const char *key = kvc_event_key(e);
	char text[40] = {};
	unsigned int n;

	r->told[e->what & 7]++;
	if (e->what == KVCACHE_EVENT_RESCAN) {
		vt_expect(!e->key_len && e->entry_len == sizeof(*e),
			  "a RESCAN of %u bytes", e->entry_len);
		return;
	}
	memcpy(text, key, e->key_len < 32 ? e->key_len : 32);
	if (!vt_expect(e->tenant == TENANT && sscanf(text, "object %u", &n) == 1 &&
		       n < nr_keys && e->length == BYTES,
		       "an event of tenant %u for \"%s\"", e->tenant, text)) {
		r->strange++;
		return;
	}
	if (!judge)
		return;
	vt_expect(!(state[n] & TOLD), "\"%s\" was told twice", text);
	vt_expect(!(state[n] & DELETED), "\"%s\" was deleted, not dropped", text);
	vt_expect(e->what == (state[n] & SHORT ? KVCACHE_EVENT_EXPIRED :
						 KVCACHE_EVENT_EVICTED),
		  "\"%s\": what is %u", text, e->what);
	vt_expect(!hit(n), "\"%s\" was told, and is a hit", text);
	state[n] |= TOLD;
}

/* Read all that is there. Bytes, or -errno of the last read. */
static ssize_t drain(struct reader *r, bool judge)
{
	static uint8_t buffer[65536] __attribute__((aligned(8)));
	const struct kvcache_event *e;
	ssize_t got;

	while ((got = kvc_watch_read(r->fd, buffer, sizeof(buffer))) > 0)
		for (e = NULL; (e = kvc_event_next(buffer, (size_t)got, e));)
			event(r, e, judge);
	return got;
}

static void open_reader(struct reader *r, const struct kvc_call *call,
			unsigned int flags, unsigned int bytes)
{
	memset(r, 0, sizeof(*r));
	r->fd = kvc_watch(kvc, call, flags | KVC_WATCH_NONBLOCK, bytes);
	vt_need(r->fd >= 0, "kvc_watch: %d", r->fd);
}

static void put_one(uint64_t expiry)
{
	struct kvcache_io io;
	char key[32];
	int err;

	vt_need(nr_keys < MAX_KEYS, "room for keys");
	key_of(key, nr_keys);
	vt_fill(data, nr_keys, 0, BYTES);
	kvc_prep_data(&io, key, strlen(key), data, BYTES);
	kvc_set_expiry(&io, expiry);
	err = again_one(kvc, KVCACHE_IOC_PUT, &mine, &io);
	vt_expect(!err, "put %s: %d", key, err);
	state[nr_keys++] = PUT | (expiry ? SHORT : 0);
}

static uint64_t gone_objects(void)
{
	vt_need(!kvc_info(kvc, &info, NULL, 0), "info");
	return info.evicted_objects + info.expired;
}

/* The worker goes on after the last put: wait until it has done. */
static void settle(void)
{
	uint64_t was = ~0ULL, now;

	while ((now = gone_objects()) != was) {
		was = now;
		vt_sleep_ms(300);
	}
}

static void test_all_told(void)
{
	struct reader r, other, all;
	struct pollfd p;
	unsigned int i, untold = 0, wrong = 0;
	const struct kvc_call theirs = { .tenant = TENANT + 1 };
	uint64_t capacity;

	vt_begin("every object that goes is told, once, after it is gone, and nothing else");
	vt_need(!kvc_info(kvc, &info, NULL, 0), "info");
	capacity = info.capacity / BYTES;
	open_reader(&r, &mine, 0, 16 << 20);
	open_reader(&other, &theirs, 0, 0);
	open_reader(&all, NULL, KVC_WATCH_ALL_TENANTS, 16 << 20);
	p = (struct pollfd){ .fd = r.fd, .events = POLLIN };
	vt_expect(!poll(&p, 1, 0), "something to read before anything has gone");
	vt_expect(drain(&r, true) == -EAGAIN, "a read of nothing");
	for (i = 0; i < capacity * 2; i++) {
		/* Some that expire, some that are deleted, some in other hands. */
		put_one(i % 10 == 3 ? vt_now() + 1 : 0);
		if (i % 10 == 7) {
			char key[32];

			key_of(key, nr_keys - 1);
			vt_expect(!again_delete(kvc, &mine, key, strlen(key)),
				  "delete %s", key);
			state[nr_keys - 1] |= DELETED;
		}
		if (i % 500 == 0)
			drain(&r, true);
	}
	settle();
	p.revents = 0;
	vt_expect(poll(&p, 1, 0) == 1 || r.told[KVCACHE_EVENT_EVICTED],
		  "nothing to read");
	vt_expect(drain(&r, true) == -EAGAIN, "the last read");
	for (i = 0; i < nr_keys; i++) {
		bool there = hit(i);

		if (!there && !(state[i] & (DELETED | TOLD | SHORT)))
			untold++;
		if (there && state[i] & TOLD)
			wrong++;
	}
	vt_expect(!untold, "%u objects have gone untold", untold);
	vt_expect(!wrong, "%u objects were told and are there", wrong);
	vt_expect(r.told[KVCACHE_EVENT_EVICTED] && r.told[KVCACHE_EVENT_EXPIRED],
		  "%u evicted, %u expired", r.told[KVCACHE_EVENT_EVICTED],
		  r.told[KVCACHE_EVENT_EXPIRED]);
	vt_expect(!r.told[KVCACHE_EVENT_RESCAN], "a reader that was never behind is told to look again");
	drain(&all, false);
	vt_expect(all.told[1] == r.told[1] && all.told[2] == r.told[2],
		  "a reader of all tenants was told %u and %u, not %u and %u",
		  all.told[1], all.told[2], r.told[1], r.told[2]);
	vt_expect(drain(&other, false) == -EAGAIN && !other.told[1] && !other.told[2],
		  "another tenant's reader was told something");
	vt_note("%u put; told: %u evicted, %u expired", nr_keys, r.told[1], r.told[2]);
	close(r.fd);
	close(other.fd);
	close(all.fd);
	vt_end();
}

static void test_behind(void)
{
	struct reader r;
	unsigned int i, before;
	uint8_t one[48] __attribute__((aligned(8))), small[8];
	ssize_t got;

	vt_begin("a reader that is behind gets what fits, then RESCAN once, then what follows");
	open_reader(&r, &mine, 0, 4096);
	for (i = 0; i < info.capacity / BYTES; i++)
		put_one(0);
	settle();
	vt_expect(kvc_watch_read(r.fd, small, sizeof(small)) == -EINVAL,
		  "memory that is too small");
	/* Event by event up to the RESCAN, for which there is no room either. */
	do {
		got = kvc_watch_read(r.fd, one, sizeof(one));
		if (got > 0)
			event(&r, (struct kvcache_event *)one, false);
	} while (got > 0 && !r.told[KVCACHE_EVENT_RESCAN] &&
		 kvc_watch_read(r.fd, small, sizeof(small)) == -EINVAL);
	vt_expect(r.told[KVCACHE_EVENT_RESCAN] == 1,
		  "before RESCAN a read says %zd, or one into too little memory succeeds",
		  got);
	drain(&r, false);
	before = r.told[KVCACHE_EVENT_EVICTED];
	vt_expect(before > 0 && before <= 4096 / sizeof(struct kvcache_event),
		  "%u events came of 4096 bytes", before);
	vt_expect(r.told[KVCACHE_EVENT_RESCAN] == 1, "%u RESCANs",
		  r.told[KVCACHE_EVENT_RESCAN]);
	for (i = 0; i < info.capacity / BYTES; i++) {
		put_one(0);
		drain(&r, false);
	}
	vt_expect(r.told[KVCACHE_EVENT_EVICTED] > before, "nothing more came");
	close(r.fd);
	vt_end();
}

static void test_refused(void)
{
	struct kvcache_watch w = { .size = sizeof(w), .tenant = TENANT };
	int fd = kvc_fd(kvc);

	vt_begin("malformed calls are refused");
	w.flags = 0x80;
	vt_expect(ioctl(fd, KVCACHE_IOC_WATCH, &w) < 0 && errno == EINVAL, "flags");
	w.flags = 0;
	w.reserved = 1;
	vt_expect(ioctl(fd, KVCACHE_IOC_WATCH, &w) < 0 && errno == EINVAL, "reserved");
	w.reserved = 0;
	w.buffer_len = KVCACHE_WATCH_MIN - 1;
	vt_expect(ioctl(fd, KVCACHE_IOC_WATCH, &w) < 0 && errno == EINVAL, "small");
	w.buffer_len = KVCACHE_WATCH_MAX + 1;
	vt_expect(ioctl(fd, KVCACHE_IOC_WATCH, &w) < 0 && errno == EINVAL, "large");
	w.buffer_len = 0;
	w.pool = info.pool + 1;
	vt_expect(ioctl(fd, KVCACHE_IOC_WATCH, &w) < 0 && errno == ENODEV, "pool");
	vt_expect(ioctl(fd, KVCACHE_IOC_WATCH, NULL) < 0 && errno == EFAULT, "address");
	vt_end();
}

static void *waits(void *arg)
{
	struct reader *r = arg;
	uint8_t buffer[4096];
	ssize_t got;

	while ((got = kvc_watch_read(r->fd, buffer, sizeof(buffer))) > 0)
		;
	r->strange = (unsigned int)-got;
	return NULL;
}

static void test_end(void)
{
	struct reader r, blocking = {};
	struct pollfd p;
	pthread_t thread;
	int err;

	vt_begin("when the pool is detached streams end, also for who waits in read()");
	open_reader(&r, &mine, 0, 0);
	blocking.fd = kvc_watch(kvc, &mine, 0, 0);
	vt_need(!pthread_create(&thread, NULL, waits, &blocking), "a thread");
	vt_sleep_ms(200);
	err = kvc_detach(kvc, info.pool, 0);
	vt_expect(!err, "detach: %d", err);
	pthread_join(thread, NULL);
	vt_expect(!blocking.strange, "who waited got %u", blocking.strange);
	p = (struct pollfd){ .fd = r.fd, .events = POLLIN };
	vt_expect(poll(&p, 1, 0) == 1 && p.revents & POLLHUP, "poll: %x", p.revents);
	vt_expect(!drain(&r, false), "the read at the end");
	vt_expect(kvc_watch(kvc, &mine, 0, 0) == -ENODEV, "a new stream");
	close(r.fd);
	close(blocking.fd);
	vt_end();
}

int main(int argc, char **argv)
{
	kvc = kvc_open(NULL, argc > 1 ? (unsigned int)atoi(argv[1]) : 1);
	vt_need(kvc, "open /dev/kvcache: %s", strerror(errno));
	test_all_told();
	test_behind();
	test_refused();
	test_end();
	vt_exit();
}
