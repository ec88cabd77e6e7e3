// SPDX-License-Identifier: GPL-2.0
/*
 * Gets while puts go on, for scripts/bench: bench_beside PUTTERS GETS
 *
 * One thread gets objects of 64 KiB, one after the other. PUTTERS threads put
 * objects of 1 MiB and delete what they put before, so that nothing has to be
 * evicted. Prints what bench prints of the gets, and "put_bytes_per_s=N".
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchtime.h"
#include "kvcache.h"
#include "vmtest.h"

#define GET_BYTES	65536
#define PUT_BYTES	(1U << 20)
#define OBJECTS		64
#define KEPT		2		/* by each thread that puts */
#define WARM_MS		1000		/* until the module knows what it deals with */

static atomic_bool stop;
static atomic_uint_fast64_t put_bytes;

static const struct kvc_call call = { .deadline_ms = 60000 };

static void *put_on(void *arg)
{
	struct kvc *kvc = kvc_open(NULL, 1);
	uint8_t *data = vt_map(PUT_BYTES);
	uint64_t thread = (uint64_t)(uintptr_t)arg, i;
	char key[32];
	int got;

	vt_need(kvc, "open: %s", strerror(errno));
	memset(data, 0x5a, PUT_BYTES);
	for (i = 0; !stop; i++) {
		snprintf(key, sizeof(key), "put-%" PRIu64 "-%" PRIu64, thread, i);
		got = kvc_put(kvc, &call, key, strlen(key), data, PUT_BYTES);
		vt_need(!got, "put %s: %s", key, strerror(-got));
		put_bytes += PUT_BYTES;
		if (i < KEPT)
			continue;
		snprintf(key, sizeof(key), "put-%" PRIu64 "-%" PRIu64, thread, i - KEPT);
		got = kvc_delete(kvc, &call, key, strlen(key));
		vt_need(!got, "delete %s: %s", key, strerror(-got));
	}
	kvc_close(kvc);
	return NULL;
}

static void key_of(char *key, size_t size, uint64_t n)
{
	snprintf(key, size, "get-%" PRIu64, n % OBJECTS);
}

static void get_one(struct kvc *kvc, uint8_t *data, uint64_t n)
{
	char key[32];
	ssize_t got;

	key_of(key, sizeof(key), n);
	got = kvc_get(kvc, &call, key, strlen(key), data, GET_BYTES, NULL);
	vt_need(got == GET_BYTES, "get %s: %zd", key, got);
}

int main(int argc, char **argv)
{
	unsigned int i, putters = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	uint64_t gets = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000, n, from, bytes;
	struct kvc *kvc = kvc_open(NULL, 1);
	uint8_t *data = vt_map(GET_BYTES);
	pthread_t threads[64];
	struct bench_times t;
	uint64_t warm;
	char key[32];
	int got;

	vt_need(kvc && putters <= 64 && gets, "bench_beside PUTTERS GETS, and a pool");
	for (i = 0; i < OBJECTS; i++) {
		key_of(key, sizeof(key), i);
		got = kvc_put(kvc, &call, key, strlen(key), data, GET_BYTES);
		vt_need(!got || got == -EEXIST, "put %s: %s", key, strerror(-got));
	}
	for (i = 0; i < putters; i++)
		vt_need(!pthread_create(&threads[i], NULL, put_on,
					(void *)(uintptr_t)i), "a thread");
	bench_times_begin(&t, gets);
	warm = vt_ms() + WARM_MS;
	for (n = 0; vt_ms() < warm; n++)
		get_one(kvc, data, n);
	bytes = put_bytes;
	from = bench_ns();
	for (n = 0; n < gets; n++) {
		uint64_t start = bench_ns();

		get_one(kvc, data, vt_mix(n, 1));
		bench_took(&t, bench_ns() - start);
	}
	from = bench_ns() - from;
	bytes = put_bytes - bytes;
	stop = true;
	for (i = 0; i < putters; i++)
		pthread_join(threads[i], NULL);
	printf("put_bytes_per_s=%.0f ", (double)bytes * 1e9 / (double)from);
	bench_report(&t, gets, GET_BYTES, from);
	kvc_close(kvc);
	return 0;
}
