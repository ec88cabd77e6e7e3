// SPDX-License-Identifier: GPL-2.0
/*
 * A full pool: puts go on while eviction makes room, for four times what the
 * pool holds and more; slower, but never at a stand; never past the capacity;
 * what is read often stays, what is not goes; every byte that is got is right.
 *
 * usage: full POOL [TIMES]
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "again.h"

#define WRITERS 4
#define TICK_MS 50
/* As long may pass without a put that is done; by a clock that stands still
 * while this machine does, as emulated ones do at times.
 */
#define STAND_TICKS (1000 / TICK_MS)

static struct kvc *kvc;
static struct kvcache_info info;
static const struct kvc_call call = { .deadline_ms = 30000 };

static uint64_t target;			/* bytes to put */
static uint64_t put_bytes, nr_puts, eagain;
static uint64_t last_put_tick, tick;
static bool stop;

#define LOAD(x)   __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define ADD(x, n) __atomic_add_fetch(&(x), n, __ATOMIC_RELAXED)

static void key_of(char *key, const char *name, unsigned int i)
{
	snprintf(key, 40, "%s-%u", name, i);
}

static size_t len_of(const char *key)
{
	uint64_t h = 7;

	while (*key)
		h = vt_mix(h, (uint8_t)*key++);
	/* Mostly some tens of KiB; some tiny, some the largest. */
	switch (h % 32) {
	case 0:
		return 1 + (h >> 8) % 4096;
	case 1:
		return info.max_object - (h >> 8) % 3;
	default:
		return 1 + (h >> 8) % 100000;
	}
}

static uint64_t seed_of(const char *key)
{
	uint64_t h = 3;

	while (*key)
		h = vt_mix(h, (uint8_t)*key++);
	return h;
}

/* --- the load --- */

static unsigned int next_key[WRITERS];

static void *writer(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;
	uint8_t *p = vt_map(info.max_object);
	char name[16], key[40];
	size_t len;
	int err;

	snprintf(name, sizeof(name), "w%u", number);
	while (LOAD(put_bytes) < target) {
		key_of(key, name, next_key[number]);
		len = len_of(key);
		vt_fill(p, seed_of(key), 0, len);
		err = kvc_put(kvc, &call, key, strlen(key), p, len);
		if (err == -EAGAIN) {
			ADD(eagain, 1);
			continue;
		}
		if (!vt_expect(!err, "put %s: %d", key, err))
			break;
		next_key[number]++;
		ADD(nr_puts, 1);
		ADD(put_bytes, (len + 4095) & ~4095UL);
		__atomic_store_n(&last_put_tick, LOAD(tick), __ATOMIC_RELAXED);
	}
	return NULL;
}

#define GROUP 64	/* objects that are read often, and as many that are not */

static struct {
	uint64_t reads;
	bool lost[GROUP];
} hot;

static void *reader(void *arg)
{
	uint8_t *p = vt_map(info.max_object);
	char key[40];
	unsigned int i;
	ssize_t got;

	(void)arg;
	while (!LOAD(stop)) {
		for (i = 0; i < GROUP && !LOAD(stop); i++) {
			if (hot.lost[i])
				continue;
			key_of(key, "hot", i);
			got = again_get(kvc, &call, key, strlen(key), p,
					info.max_object, NULL);
			hot.reads++;
			hot.lost[i] = got < 0;
			vt_expect(got == -ENOENT || (got == (ssize_t)len_of(key) &&
				  vt_differs(p, seed_of(key), 0, got) < 0),
				  "get %s: %zd, or wrong bytes", key, got);
		}
		vt_sleep_ms(10);
	}
	return NULL;
}

static uint64_t longest_stand;

/* What must hold at any time. */
static void *watcher(void *arg)
{
	uint64_t stand, slept;

	(void)arg;
	while (!LOAD(stop)) {
		struct kvcache_info i;
		int err = kvc_info(kvc, &i, NULL, 0);

		vt_expect(!err, "info: %d", err);
		vt_expect(i.used <= i.capacity && i.live <= i.used &&
			  i.free_segments <= i.nr_segments,
			  "used %llu, live %llu, capacity %llu",
			  (unsigned long long)i.used, (unsigned long long)i.live,
			  (unsigned long long)i.capacity);
		slept = vt_ms();
		vt_sleep_ms(TICK_MS);
		slept = vt_ms() - slept;
		/* A sleep that took longer is not the pool's fault. */
		if (slept < 3 * TICK_MS)
			ADD(tick, 1);
		stand = LOAD(tick) - LOAD(last_put_tick);
		if (stand > longest_stand)
			longest_stand = stand;
	}
	return NULL;
}

static void put_group(const char *name)
{
	uint8_t *p = vt_map(info.max_object);
	unsigned int i;
	char key[40];
	int err;

	for (i = 0; i < GROUP; i++) {
		key_of(key, name, i);
		vt_fill(p, seed_of(key), 0, len_of(key));
		err = again_put(kvc, &call, key, strlen(key), p, len_of(key));
		vt_expect(!err, "put %s: %d", key, err);
	}
}

/* How many of a group are there; every byte is compared. */
static unsigned int survivors(const char *name, unsigned int n, uint64_t *bytes)
{
	uint8_t *p = vt_map(info.max_object);
	unsigned int i, there = 0;
	char key[40];
	ssize_t got;

	for (i = 0; i < n; i++) {
		key_of(key, name, i);
		if (again_exists(kvc, &call, key, strlen(key), NULL) == -ENOENT)
			continue;
		got = again_get(kvc, &call, key, strlen(key), p, info.max_object,
				NULL);
		if (got == -ENOENT)
			continue;
		there++;
		vt_expect(got == (ssize_t)len_of(key) &&
			  vt_differs(p, seed_of(key), 0, got) < 0,
			  "get %s: %zd, or wrong bytes", key, got);
		if (bytes && got > 0)
			*bytes += (got + 4095) & ~4095UL;
	}
	return there;
}

int main(int argc, char **argv)
{
	pthread_t writers[WRITERS], r, w;
	unsigned int i, there, hot_there, cold_there, last_there, last = 0;
	uint64_t start, took, bytes = 0, times;
	char name[16];

	vt_need(argc >= 2, "usage: full POOL [TIMES]");
	times = argc > 2 ? (uint64_t)atoi(argv[2]) : 4;
	kvc = kvc_open(NULL, (unsigned int)atoi(argv[1]));
	vt_need(kvc && !kvc_info(kvc, &info, NULL, 0), "open the pool");
	target = times * info.capacity + info.capacity / 4;

	vt_begin("4 threads put %llu times what the pool holds: done, or EAGAIN",
		 (unsigned long long)times);
	put_group("hot");
	put_group("cold");
	start = vt_ms();
	pthread_create(&r, NULL, reader, NULL);
	pthread_create(&w, NULL, watcher, NULL);
	for (i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, writer, (void *)(uintptr_t)i);
	for (i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(r, NULL);
	pthread_join(w, NULL);
	took = vt_ms() - start;
	kvc_info(kvc, &info, NULL, 0);
	vt_note("%llu puts, %llu MiB in %llu ms, %llu EAGAIN; longest stand %llu ms",
		(unsigned long long)nr_puts, (unsigned long long)(put_bytes >> 20),
		(unsigned long long)took, (unsigned long long)eagain,
		(unsigned long long)longest_stand * TICK_MS);
	vt_note("evicted %llu objects, rewrote %llu (%llu MiB); %llu checkpoints, %llu discards",
		(unsigned long long)info.evicted_objects,
		(unsigned long long)info.rewritten_objects,
		(unsigned long long)(info.rewritten_bytes >> 20),
		(unsigned long long)info.checkpoints,
		(unsigned long long)info.discards);
	vt_expect(put_bytes >= target, "only %llu of %llu bytes were put",
		  (unsigned long long)put_bytes, (unsigned long long)target);
	vt_end();
	vt_result(eagain * 10 <= nr_puts, "EAGAIN is the exception: %llu in %llu puts",
		  (unsigned long long)eagain, (unsigned long long)nr_puts);
	vt_result(longest_stand <= STAND_TICKS,
		  "puts were slowed, not switched off: never %d ms without one",
		  STAND_TICKS * TICK_MS);
	vt_result(info.evicted_objects && info.rewritten_objects,
		  "eviction dropped objects and kept others");

	vt_begin("what is there is right, to the byte, and not more than the pool holds");
	for (i = 0, there = 0; i < WRITERS; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		there += survivors(name, next_key[i], &bytes);
	}
	hot_there = survivors("hot", GROUP, &bytes);
	cold_there = survivors("cold", GROUP, &bytes);
	vt_expect(bytes <= info.capacity, "%llu bytes are there, the pool holds %llu",
		  (unsigned long long)bytes, (unsigned long long)info.capacity);
	vt_note("%u objects with %llu MiB of %llu MiB are there", there,
		(unsigned long long)(bytes >> 20),
		(unsigned long long)(info.capacity >> 20));
	vt_end();
	vt_result(bytes >= info.capacity / 2, "the pool is well used: %llu %%",
		  (unsigned long long)(bytes * 100 / info.capacity));
	/* The last ones can't have been evicted. */
	for (i = 0, last_there = 0; i < WRITERS; i++) {
		uint8_t *p = vt_map(info.max_object);
		unsigned int k, n = next_key[i] < 10 ? next_key[i] : 10;
		char key[40];

		snprintf(name, sizeof(name), "w%u", i);
		for (k = next_key[i] - n; k < next_key[i]; k++, last++) {
			key_of(key, name, k);
			last_there += again_get(kvc, &call, key, strlen(key), p,
						info.max_object, NULL) > 0;
		}
	}
	vt_result(last_there == last, "the last %u objects are all there", last);
	vt_result(hot_there >= GROUP / 4 && hot_there >= 3 * cold_there,
		  "read often (%llu reads), %u of %d stay; never read, %u",
		  (unsigned long long)hot.reads, hot_there, GROUP, cold_there);
	kvc_info(kvc, &info, NULL, 0);
	vt_result(!info.bad_data && !info.timeouts,
		  "no object was found rotten, no call passed its deadline");
	vt_exit();
}
