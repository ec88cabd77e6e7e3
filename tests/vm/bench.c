// SPDX-License-Identifier: GPL-2.0
/*
 * One measurement of a pool, for scripts/bench.
 *
 * Prints one line of "name=value": operations, time, operations and bytes a
 * second, and of the time of one operation mean, median and 99th percentile. With
 * --way call that is the time of the call alone, as fio's lat is; what chooses the
 * key is outside. The other ways keep --depth operations in flight and do all that
 * a program has to do. With --mapped exists looks in the presence table, and there is
 * a line before, with what the index then takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "benchtime.h"
#include "nvmekv.h"

#define KEY_SIZE	64
#define BATCH_MAX	128

enum op { PUT, GET, EXISTS };
enum way { CALL, BATCH, NVME, QUEUE };

static struct options {
	unsigned int pool;
	enum op op;
	enum way way;
	size_t size;
	unsigned int depth;
	uint64_t count;
	uint64_t objects;
	uint64_t first;
	unsigned int threads;
	bool zipf;
	bool absent;
	bool zero;
	bool mapped;
	char tag;
} o = { .pool = 1, .op = GET, .size = 4096, .depth = 1, .count = 1000,
	.objects = 1000, .tag = 'k' };

static double *zipf_sums;
static struct bench_times times;
static uint64_t started, ended_at;	/* all being set up, nothing taken down */

/* Cheap, for it is part of what is measured. */
static void key_of(char *key, size_t len, uint64_t n)
{
	static const char hex[] = "0123456789abcdef";
	size_t i;

	for (i = len; i-- > len - 12; n >>= 4)
		key[i] = hex[n & 15];
}

static void key_begin(char *key, size_t len)
{
	memset(key, o.absent ? '-' : o.tag, len);
}

static uint64_t choose(uint64_t i)
{
	uint64_t lo = 0, hi = o.objects - 1;
	double want;

	if (o.op == PUT)
		return o.first + i;
	if (!o.zipf)
		return vt_mix(i, 1) % o.objects;
	want = (double)(vt_mix(i, 2) >> 11) / 9007199254740992.0 *
	       zipf_sums[o.objects - 1];
	while (lo < hi) {
		uint64_t mid = (lo + hi) / 2;

		if (zipf_sums[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* The most wanted do not stand side by side. */
	return vt_mix(lo, 3) % o.objects;
}

static void zipf_begin(void)
{
	double sum = 0;
	uint64_t i;

	zipf_sums = malloc(o.objects * sizeof(*zipf_sums));
	vt_need(zipf_sums, "memory");
	for (i = 0; i < o.objects; i++) {
		sum += 1.0 / (double)(i + 1);
		zipf_sums[i] = sum;
	}
}

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	vt_need(p != MAP_FAILED, "map %zu bytes", bytes);
	if (!o.zero)
		memset(p, 0x5a, bytes);
	return p;
}

static void status_is(ssize_t got, ssize_t want)
{
	vt_need(got == want, "%s: %zd (%s)", o.op == PUT ? "put" :
		o.op == GET ? "get" : "exists", got,
		got < 0 ? strerror((int)-got) : "not what was expected");
}

/* --- one after the other --- */

static void run_call(struct kvc *kvc, uint64_t from, uint64_t to, bool timed)
{
	static const struct kvc_call call = { .deadline_ms = 60000 };
	uint8_t *data = memory(o.size);
	char key[KEY_SIZE];
	uint64_t i, start;

	key_begin(key, KEY_SIZE);
	for (i = from; i < to; i++) {
		ssize_t got;

		key_of(key, KEY_SIZE, choose(i));
		start = bench_ns();
		if (o.op == PUT)
			got = kvc_put(kvc, &call, key, KEY_SIZE, data, o.size);
		else if (o.op == GET)
			got = kvc_get(kvc, &call, key, KEY_SIZE, data, o.size, NULL);
		else
			got = kvc_exists(kvc, &call, key, KEY_SIZE, NULL);
		if (timed)
			bench_took(&times, bench_ns() - start);
		status_is(got, o.op == GET ? (ssize_t)o.size :
			       o.absent ? -ENOENT : 0);
	}
	munmap(data, o.size);
}

/* --- batches --- */

static void run_batch(struct kvc *kvc)
{
	static const struct kvc_call call = { .deadline_ms = 60000 };
	static struct kvcache_io ios[BATCH_MAX];
	static char keys[BATCH_MAX][KEY_SIZE];
	uint8_t *data = o.op == EXISTS ? NULL : memory(o.size * o.depth);
	uint64_t i, start;
	unsigned int k, n;

	for (k = 0; k < o.depth; k++)
		key_begin(keys[k], KEY_SIZE);
	started = bench_ns();
	for (i = 0; i < o.count; i += n) {
		ssize_t got;

		n = o.count - i < o.depth ? (unsigned int)(o.count - i) : o.depth;
		for (k = 0; k < n; k++) {
			key_of(keys[k], KEY_SIZE, choose(i + k));
			if (data)
				kvc_prep_data(&ios[k], keys[k], KEY_SIZE,
					      data + k * o.size, o.size);
			else
				kvc_prep(&ios[k], keys[k], KEY_SIZE);
		}
		start = bench_ns();
		got = o.op == PUT ? kvc_batch_put(kvc, &call, ios, n) :
		      o.op == GET ? kvc_batch_get(kvc, &call, ios, n) :
				    kvc_batch_exists(kvc, &call, ios, n);
		bench_took(&times, (bench_ns() - start) / n);
		status_is(got, o.absent ? 0 : n);
	}
}

/* --- NVMe KV commands by io_uring --- */

static void run_nvme(void)
{
	struct nk_cmd *cmds = calloc(o.depth, sizeof(*cmds));
	uint8_t *data = memory(o.size * o.depth);
	uint64_t *starts = calloc(o.depth, sizeof(*starts));
	uint64_t begun = 0, ended = 0;
	struct io_uring_cqe *cqe;
	struct nk_ring ring;
	char node[32], key[16];
	unsigned int k;
	int fd, ret;

	snprintf(node, sizeof(node), "/dev/kvcache%u", o.pool);
	fd = open(node, O_RDWR | O_CLOEXEC);
	vt_need(fd >= 0 && cmds && starts, "open %s: %s", node, strerror(errno));
	ret = nk_ring_open(&ring, o.depth * 2, IORING_SETUP_CQE32 |
			   IORING_SETUP_SINGLE_ISSUER |
			   IORING_SETUP_DEFER_TASKRUN);
	vt_need(!ret, "a ring: %s", strerror(-ret));
	vt_need(!io_uring_register_files(&ring.ring, &fd, 1), "register the file");
	key_begin(key, sizeof(key));
	for (k = 0; k < o.depth; k++)
		cmds[k].done = true;
	started = bench_ns();
	while (ended < o.count) {
		for (k = 0; k < o.depth && begun < o.count; k++) {
			struct io_uring_sqe *sqe;

			if (!cmds[k].done)
				continue;
			key_of(key, sizeof(key), choose(begun++));
			starts[k] = bench_ns();
			nk_prep(&cmds[k], o.op == PUT ? NK_STORE : NK_RETRIEVE,
				key, sizeof(key), data + k * o.size,
				(uint32_t)o.size);
			if (o.op == PUT)
				nk_options(&cmds[k], NK_MUST_NOT_EXIST);
			sqe = nk_ring_queue(&ring, 0, &cmds[k]);
			sqe->flags |= IOSQE_FIXED_FILE;
		}
		ret = io_uring_submit_and_wait(&ring.ring, 1);
		vt_need(ret >= 0, "submit: %s", strerror(-ret));
		while (!io_uring_peek_cqe(&ring.ring, &cqe)) {
			struct nk_cmd *cmd = (void *)(uintptr_t)cqe->user_data;

			status_is(cqe->res, 0);
			cmd->done = true;
			bench_took(&times, bench_ns() - starts[cmd - cmds]);
			io_uring_cqe_seen(&ring.ring, cqe);
			ended++;
		}
	}
	ended_at = bench_ns();
	nk_ring_close(&ring);
	close(fd);
}

/* --- the library's queue: io_uring, with registered memory --- */

static void run_queue(struct kvc *kvc)
{
	static const struct kvc_call call = { .deadline_ms = 60000 };
	struct kvc_queue *queue = kvc_queue_open_thread(kvc, o.depth);
	struct kvcache_io *ios = calloc(o.depth, sizeof(*ios));
	char (*keys)[KEY_SIZE] = calloc(o.depth, KEY_SIZE);
	struct kvc_done done[BATCH_MAX];
	uint64_t *starts = calloc(o.depth, sizeof(*starts));
	uint64_t begun = 0, ended = 0;
	struct iovec iov;
	unsigned int k;
	int i, n, err;

	vt_need(queue && ios && keys && starts, "a queue: %s", strerror(errno));
	iov.iov_len = o.size * o.depth;
	iov.iov_base = memory(iov.iov_len);
	err = kvc_queue_register(queue, &iov, 1);
	vt_need(!err, "register %zu bytes: %s", iov.iov_len, strerror(-err));
	for (k = 0; k < o.depth; k++)
		key_begin(keys[k], KEY_SIZE);
	started = bench_ns();
	while (ended < o.count) {
		for (k = 0; k < o.depth && begun < o.count; k++) {
			if (starts[k])
				continue;
			key_of(keys[k], KEY_SIZE, choose(begun++));
			starts[k] = bench_ns();
			kvc_prep_data(&ios[k], keys[k], KEY_SIZE,
				      (char *)iov.iov_base + k * o.size, o.size);
			err = o.op == PUT ? kvc_queue_put(queue, &call, &ios[k], 1, k) :
					    kvc_queue_get(queue, &call, &ios[k], 1, k);
			vt_need(!err, "queue: %s", strerror(-err));
		}
		n = kvc_queue_wait(queue, done, BATCH_MAX, 1, 0);
		vt_need(n > 0, "wait: %s", strerror(-n));
		for (i = 0; i < n; i++) {
			k = (unsigned int)done[i].user_data;
			status_is(done[i].result < 0 ? (ssize_t)done[i].result :
							ios[k].status, 0);
			bench_took(&times, bench_ns() - starts[k]);
			starts[k] = 0;
			ended++;
		}
	}
	ended_at = bench_ns();
	kvc_queue_close(queue);
}

/* --- several threads --- */

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	uint64_t at = (uint64_t)(uintptr_t)arg * o.count;
	struct kvc *kvc = kvc_open(NULL, o.pool);

	vt_need(kvc, "open: %s", strerror(errno));
	run_call(kvc, at, at + 16, false);
	pthread_barrier_wait(&barrier);
	run_call(kvc, at, at + o.count, false);
	pthread_barrier_wait(&barrier);
	kvc_close(kvc);
	return NULL;
}

static uint64_t run_threads(void)
{
	pthread_t threads[64];
	uint64_t start;
	unsigned int i;

	vt_need(o.threads <= 64, "too many threads");
	pthread_barrier_init(&barrier, NULL, o.threads + 1);
	for (i = 0; i < o.threads; i++)
		vt_need(!pthread_create(&threads[i], NULL, thread,
					(void *)(uintptr_t)i), "a thread");
	pthread_barrier_wait(&barrier);
	start = bench_ns();
	pthread_barrier_wait(&barrier);
	start = bench_ns() - start;
	for (i = 0; i < o.threads; i++)
		pthread_join(threads[i], NULL);
	return start;
}

/* --- what to do --- */

static unsigned int one_of(const char *value, const char *const *names)
{
	unsigned int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(value, names[i]))
			return i;
	fprintf(stderr, "bench: what is '%s'?\n", value);
	exit(2);
}

static void parse(int argc, char **argv)
{
	static const char *const ops[] = { "put", "get", "exists", NULL };
	static const char *const ways[] = { "call", "batch", "nvme", "queue", NULL };
	static const struct option options[] = {
		{ "pool", required_argument, NULL, 'p' },
		{ "op", required_argument, NULL, 'o' },
		{ "way", required_argument, NULL, 'w' },
		{ "size", required_argument, NULL, 's' },
		{ "depth", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ "objects", required_argument, NULL, 'n' },
		{ "first", required_argument, NULL, 'f' },
		{ "threads", required_argument, NULL, 't' },
		{ "zipf", no_argument, NULL, 'z' },
		{ "absent", no_argument, NULL, 'a' },
		{ "zero", no_argument, NULL, '0' },
		{ "mapped", no_argument, NULL, 'm' },
		{ "tag", required_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p': o.pool = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 'o': o.op = (enum op)one_of(optarg, ops); break;
		case 'w': o.way = (enum way)one_of(optarg, ways); break;
		case 's': o.size = strtoull(optarg, NULL, 0); break;
		case 'd': o.depth = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 'c': o.count = strtoull(optarg, NULL, 0); break;
		case 'n': o.objects = strtoull(optarg, NULL, 0); break;
		case 'f': o.first = strtoull(optarg, NULL, 0); break;
		case 't': o.threads = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 'z': o.zipf = true; break;
		case 'a': o.absent = true; break;
		case '0': o.zero = true; break;
		case 'm': o.mapped = true; break;
		case 'g': o.tag = optarg[0]; break;
		default: exit(2);
		}
	}
	if (!o.depth || o.depth > BATCH_MAX || !o.size || !o.count || !o.objects ||
	    (o.way >= NVME && o.op == EXISTS))
		exit(2);
}

static void tell_index(struct kvc *kvc)
{
	struct kvcache_info info;

	vt_need(!kvc_info(kvc, &info, NULL, 0), "info of the pool");
	printf("index_bytes=%llu objects=%llu\n",
	       (unsigned long long)info.index_bytes,
	       (unsigned long long)info.objects);
}

int main(int argc, char **argv)
{
	struct kvc *kvc;
	uint64_t start;

	parse(argc, argv);
	kvc = kvc_open(NULL, o.pool);
	vt_need(kvc, "open: %s", strerror(errno));
	if (o.mapped)
		vt_need(!kvc_map(kvc, 0), "no presence table");
	bench_times_begin(&times, o.count);
	if (o.zipf)
		zipf_begin();
	if (o.threads) {
		start = run_threads();
		bench_report(&times, o.count * o.threads, o.size, start);
		return 0;
	}
	/* The first of its kind finds cold caches and pages not yet there. */
	if (o.way == CALL && o.op != PUT)
		run_call(kvc, 0, o.count < 32 ? o.count : 32, false);
	started = bench_ns();
	if (o.way == CALL)
		run_call(kvc, 0, o.count, true);
	else if (o.way == BATCH)
		run_batch(kvc);
	else if (o.way == NVME)
		run_nvme();
	else
		run_queue(kvc);
	if (o.way == CALL || o.way == BATCH)
		ended_at = bench_ns();
	if (o.mapped)
		tell_index(kvc);
	bench_report(&times, o.count, o.size, ended_at - started);
	kvc_close(kvc);
	return 0;
}
