// SPDX-License-Identifier: GPL-2.0
/*
 * What one object costs by each way in: native ioctl, NVMe KV by ioctl, NVMe KV
 * by io_uring; and a key of a batch of exists. For virtual time, in which a
 * nanosecond is an instruction.
 *
 * usage: cost POOL
 *
 * Prints "name: ns", each the mean over many, after a warm-up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvmekv.h"

#define WARM	4

static struct kvc *kvc;
static int fd;
static struct nk_ring ring;
static uint8_t *data;
static const struct kvc_call nvme = { .tenant = KVCACHE_TENANT_NVME };

static uint64_t ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void key_of(char *key, const char *what, unsigned int i)
{
	snprintf(key, 17, "%.4s%012u", what, i);
}

static void native(bool put, const char *key, size_t bytes)
{
	ssize_t got = put ? kvc_put(kvc, &nvme, key, 16, data, bytes) :
			    kvc_get(kvc, &nvme, key, 16, data, bytes, NULL);

	vt_need(got == (put ? 0 : (ssize_t)bytes), "%s: %zd", put ? "put" : "get", got);
}

static void by_ioctl(bool put, const char *key, size_t bytes)
{
	struct nk_cmd cmd;

	nk_prep(&cmd, put ? NK_STORE : NK_RETRIEVE, key, 16, data, (uint32_t)bytes);
	if (put)
		nk_options(&cmd, NK_MUST_NOT_EXIST);
	nk_ioctl(fd, &cmd);
	vt_need(!cmd.status, "%s: status %x", put ? "store" : "retrieve",
		(unsigned int)cmd.status);
}

static void by_ring(bool put, const char *key, size_t bytes)
{
	struct nk_cmd cmd;

	nk_prep(&cmd, put ? NK_STORE : NK_RETRIEVE, key, 16, data, (uint32_t)bytes);
	if (put)
		nk_options(&cmd, NK_MUST_NOT_EXIST);
	nk_ring_run(&ring, fd, &cmd);
	vt_need(!cmd.status, "%s: status %x", put ? "store" : "retrieve",
		(unsigned int)cmd.status);
}

static const struct {
	const char *name;
	void (*run)(bool put, const char *key, size_t bytes);
} ways[] = {
	{ "native", native }, { "nvme_ioctl", by_ioctl }, { "nvme_uring", by_ring },
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* One after the other in turn, so that all meet the same pool. */
static void measure(bool put, size_t bytes, unsigned int times)
{
	uint64_t sum[WAYS] = {}, start;
	unsigned int w, i;
	char key[17];

	for (i = 0; i < times + WARM; i++) {
		for (w = 0; w < WAYS; w++) {
			key_of(key, ways[w].name + (w > 1 ? 5 : 0),
			       i + (unsigned int)(bytes >> 12) * 1000);
			start = ns();
			ways[w].run(put, key, bytes);
			if (i >= WARM)
				sum[w] += ns() - start;
		}
	}
	for (w = 0; w < WAYS; w++)
		printf("%s_%s_%zuk_ns: %llu (%+.2f %%)\n", put ? "store" : "retrieve",
		       ways[w].name, bytes >> 10,
		       (unsigned long long)(sum[w] / times),
		       100.0 * ((double)sum[w] / (double)sum[0] - 1));
}

static void measure_exists(void)
{
	static struct kvcache_io ios[128];
	static char keys[128][17];
	struct nk_cmd cmd;
	unsigned int i, r;
	uint64_t start;

	for (i = 0; i < 128; i++) {
		key_of(keys[i], i % 2 ? "native" : "absent", i / 2 + 64 * 1000);
		kvc_prep(&ios[i], keys[i], 16);
	}
	for (r = 0; r < WARM; r++)
		kvc_batch_exists(kvc, &nvme, ios, 128);
	start = ns();
	for (r = 0; r < 100; r++)
		kvc_batch_exists(kvc, &nvme, ios, 128);
	printf("exists_batch128_ns: %llu\n",
	       (unsigned long long)((ns() - start) / 12800));
	start = ns();
	for (r = 0; r < 1000; r++) {
		nk_prep(&cmd, NK_EXIST, keys[r % 128], 16, NULL, 0);
		nk_ioctl(fd, &cmd);
	}
	printf("exist_nvme_ioctl_ns: %llu\n", (unsigned long long)((ns() - start) / 1000));
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 4096, 262144, 4194304 };
	char node[32];
	size_t i;
	int err;

	snprintf(node, sizeof(node), "/dev/kvcache%s", argc > 1 ? argv[1] : "");
	kvc = kvc_open(node, 0);
	fd = open(node, O_RDWR | O_CLOEXEC);
	vt_need(kvc && fd >= 0, "open %s: %s", node, strerror(errno));
	err = nk_ring_open(&ring, 8, IORING_SETUP_CQE32 | IORING_SETUP_SINGLE_ISSUER |
			   IORING_SETUP_DEFER_TASKRUN);
	vt_need(!err, "a ring: %s", strerror(-err));
	data = vt_map(4194304);
	vt_fill(data, 1, 0, 4194304);
	for (i = 0; i < 3; i++) {
		unsigned int times = sizes[i] > 1000000 ? 12 : 60;

		measure(true, sizes[i], times);
		measure(false, sizes[i], times);
	}
	measure_exists();
	vt_exit();
}
