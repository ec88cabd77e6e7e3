// SPDX-License-Identifier: GPL-2.0
/*
 * Puts many objects and says what they cost: bytes written to members for each
 * byte put, memory of the index, time of the last attach.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <kvcache.h>

#define KEY_SIZE	64
#define MAX_THREADS	64

static struct options {
	uint64_t count;
	size_t size;
	unsigned int batch;
	unsigned int threads;
	const char *prefix;
	bool exists;
} o = { 1000, 4096, 32, 1, "fill", false };

static atomic_uint_fast64_t next_key, failed;

static struct kvc *open_pool(void)
{
	struct kvc *kvc = kvc_open(NULL, 0);

	if (!kvc) {
		perror("fill: /dev/kvcache");
		exit(1);
	}
	return kvc;
}

/* A put that finds no clean segment waits for one: it is only slowed down. */
static void put_all(struct kvc *kvc, struct kvcache_io *ios, unsigned int n)
{
	const struct kvc_call call = { .deadline_ms = 60000 };
	unsigned int i;
	ssize_t done;

	done = o.exists ? kvc_batch_exists(kvc, &call, ios, n) :
			  kvc_batch_put(kvc, &call, ios, n);
	if (done < 0) {
		fprintf(stderr, "fill: %s\n", strerror((int)-done));
		exit(1);
	}
	for (i = 0; i < n; i++) {
		if (!ios[i].status)
			continue;
		if (!atomic_fetch_add(&failed, 1))
			fprintf(stderr, "fill: first failure: %s\n",
				strerror(-ios[i].status));
	}
}

static void *run(void *arg)
{
	struct kvcache_io *ios = calloc(o.batch, sizeof(*ios));
	char (*keys)[KEY_SIZE + 1] = calloc(o.batch, sizeof(*keys));
	struct kvc *kvc = open_pool();
	unsigned int i, n;
	char *data;

	(void)arg;
	if (!ios || !keys || posix_memalign((void **)&data, 4096, o.size))
		abort();
	memset(data, 0x5a, o.size);
	for (;;) {
		uint64_t first = atomic_fetch_add(&next_key, o.batch);

		if (first >= o.count)
			break;
		n = o.count - first < o.batch ? o.count - first : o.batch;
		for (i = 0; i < n; i++) {
			snprintf(keys[i], sizeof(keys[i]), "%s-%0*" PRIu64,
				 o.prefix,
				 (int)(KEY_SIZE - 1 - strlen(o.prefix)),
				 first + i);
			if (o.exists)
				kvc_prep(&ios[i], keys[i], KEY_SIZE);
			else
				kvc_prep_data(&ios[i], keys[i], KEY_SIZE, data,
					      o.size);
		}
		put_all(kvc, ios, n);
	}
	kvc_close(kvc);
	free(data);
	free(keys);
	free(ios);
	return NULL;
}

static uint64_t written(struct kvc *kvc, struct kvcache_info *info)
{
	static struct kvcache_member_info members[KVCACHE_MEMBERS_MAX];
	uint64_t bytes = 0;
	unsigned int i;

	if (kvc_info(kvc, info, members, KVCACHE_MEMBERS_MAX)) {
		fprintf(stderr, "fill: no info\n");
		exit(1);
	}
	for (i = 0; i < info->nr_members; i++)
		bytes += members[i].written_bytes;
	return bytes;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const struct kvcache_info *before,
		   const struct kvcache_info *after, uint64_t written_bytes,
		   double seconds)
{
	unsigned long long puts = after->puts - before->puts;
	unsigned long long put_bytes = after->put_bytes - before->put_bytes;

	printf("puts=%llu failed=%llu seconds=%.3f per_key_ns=%.0f", puts,
	       (unsigned long long)atomic_load(&failed), seconds,
	       seconds * 1e9 / (double)o.count);
	if (put_bytes)
		printf(" put_bytes=%llu written_bytes=%llu amplification=%.5f",
		       put_bytes, (unsigned long long)written_bytes,
		       (double)written_bytes / (double)put_bytes);
	if (after->objects)
		printf(" objects=%llu index_bytes_per_object=%.2f",
		       (unsigned long long)after->objects,
		       (double)after->index_bytes / (double)after->objects);
	printf(" attach_objects=%llu attach_ms=%.3f journal_blocks=%llu checkpoints=%llu\n",
	       (unsigned long long)after->attach_objects,
	       (double)after->attach_ns / 1e6,
	       (unsigned long long)(after->journal_blocks -
				    before->journal_blocks),
	       (unsigned long long)(after->checkpoints - before->checkpoints));
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "size", required_argument, NULL, 's' },
		{ "batch", required_argument, NULL, 'b' },
		{ "threads", required_argument, NULL, 't' },
		{ "prefix", required_argument, NULL, 'p' },
		{ "exists", no_argument, NULL, 'e' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c': o.count = strtoull(optarg, NULL, 0); break;
		case 's': o.size = strtoull(optarg, NULL, 0); break;
		case 'b': o.batch = strtoul(optarg, NULL, 0); break;
		case 't': o.threads = strtoul(optarg, NULL, 0); break;
		case 'p': o.prefix = optarg; break;
		case 'e': o.exists = true; break;
		default:
			fprintf(stderr, "usage: fill [--count N] [--size BYTES] [--batch N] [--threads N] [--prefix TEXT] [--exists]\n");
			exit(2);
		}
	}
	if (!o.batch || !o.size || !o.threads || o.threads > MAX_THREADS)
		exit(2);
}

int main(int argc, char **argv)
{
	struct kvcache_info before, after;
	pthread_t threads[MAX_THREADS];
	struct kvc *kvc;
	uint64_t bytes;
	unsigned int i;
	double start;

	parse(argc, argv);
	kvc = open_pool();
	bytes = written(kvc, &before);
	start = now();
	for (i = 0; i < o.threads; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			abort();
	for (i = 0; i < o.threads; i++)
		pthread_join(threads[i], NULL);
	start = now() - start;
	bytes = written(kvc, &after) - bytes;
	report(&before, &after, bytes, start);
	kvc_close(kvc);
	return atomic_load(&failed) ? 1 : 0;
}
