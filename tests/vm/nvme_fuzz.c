// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that send NVMe KV commands whose fields are sound or not, at random, by
 * ioctl and by io_uring. The kernel must bear it, answer only what is documented,
 * and harm no object of another tenant.
 *
 * usage: nvme_fuzz POOL SECONDS SEED
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "again.h"
#include "nvmekv.h"

#define THREADS		4
#define DEPTH		32
#define BYSTANDERS	32
#define ROOM		(1UL << 20)

static int fd;
static uint64_t end_ms;

struct fuzzer {
	pthread_t thread;
	struct vt_rng rng;
	bool ring;
	uint8_t *memory;	/* ROOM, then nothing */
	uint64_t commands;
	uint64_t fine;
};

static bool rarely(struct fuzzer *f, unsigned int n)
{
	return !vt_below(&f->rng, n);
}

static uint32_t number(struct fuzzer *f)
{
	static const uint32_t some[] = {
		0, 1, 15, 16, 17, 255, 256, 511, 512, 4095, 4096, 4097, 65536,
		ROOM, ROOM + 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	};

	if (rarely(f, 3))
		return (uint32_t)vt_rand(&f->rng) >> vt_below(&f->rng, 32);
	return some[vt_below(&f->rng, sizeof(some) / sizeof(some[0]))];
}

static uint64_t address(struct fuzzer *f)
{
	switch (vt_below(&f->rng, 8)) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000UL + vt_below(&f->rng, 1UL << 32);
	case 2:
		return (uint64_t)(uintptr_t)f->memory + ROOM - vt_below(&f->rng, 8192);
	case 3:
		return ~0UL - vt_below(&f->rng, 8192);
	default:
		return (uint64_t)(uintptr_t)f->memory + vt_below(&f->rng, ROOM / 2);
	}
}

static void make(struct fuzzer *f, struct nk_cmd *cmd)
{
	static const uint8_t opcodes[] = {
		NK_STORE, NK_STORE, NK_STORE, NK_RETRIEVE, NK_RETRIEVE, NK_RETRIEVE,
		NK_DELETE, NK_EXIST, NK_LIST,
	};
	uint8_t opcode = opcodes[vt_below(&f->rng, sizeof(opcodes))];
	char key[16];
	int n = snprintf(key, sizeof(key), "f%u", (unsigned int)vt_below(&f->rng, 60));

	nk_prep(cmd, opcode, key, (size_t)n, f->memory + vt_below(&f->rng, 8192),
		(uint32_t)vt_below(&f->rng, ROOM / 2));
	nk_options(cmd, (uint8_t)vt_below(&f->rng, 3));
	cmd->c.timeout_ms = 500;
	while (rarely(f, 3)) {
		switch (vt_below(&f->rng, 15)) {
		case 0: cmd->c.opcode = (uint8_t)number(f); break;
		case 1: cmd->c.flags = (uint8_t)number(f); break;
		case 2: cmd->c.rsvd1 = (uint16_t)number(f); break;
		case 3: cmd->c.nsid = number(f); break;
		case 4: cmd->c.cdw2 = number(f); break;
		case 5: cmd->c.cdw14 = number(f); break;
		case 6: cmd->c.metadata = rarely(f, 2) ? 0 : number(f); break;
		case 7: cmd->c.addr = address(f); break;
		case 8: cmd->c.metadata_len = number(f); break;
		case 9: cmd->c.data_len = number(f); break;
		case 10: cmd->c.cdw10 = number(f); break;
		case 11: cmd->c.cdw11 = number(f); break;
		case 12: cmd->c.cdw11 ^= 1U << vt_below(&f->rng, 32); break;
		case 13: cmd->c.cdw12 = number(f); break;
		case 14: cmd->c.timeout_ms = 1 + number(f) % 1000; break;
		}
	}
	/* Memory that the kernel may take for data but that is not ours: none. */
	if (cmd->c.addr >= (uint64_t)(uintptr_t)f->memory + ROOM)
		return;
	if (cmd->c.addr >= (uint64_t)(uintptr_t)f->memory)
		return;	/* what is behind ROOM is not mapped */
	cmd->c.addr = 0;
}

static void judge(struct fuzzer *f, const struct nk_cmd *cmd)
{
	f->commands++;
	switch (cmd->status) {
	case 0:
		f->fine++;
		return;
	case 0x01: case 0x02: case 0x0b: case 0x81: case 0x82: case 0x85:
	case 0x86: case 0x87: case 0x88: case 0x89: case 0x371:
	case -EFAULT: case -ENOMEM:
		return;
	}
	vt_expect(false, "opcode %x: status %d", cmd->c.opcode, cmd->status);
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	struct nk_cmd cmds[DEPTH];
	struct nk_ring ring;
	unsigned int i;

	f->memory = vt_map(ROOM + 4096);
	munmap(f->memory + ROOM, 4096);
	if (f->ring && nk_ring_open(&ring, DEPTH, IORING_SETUP_CQE32))
		vt_need(false, "a ring");
	while (vt_ms() < end_ms) {
		for (i = 0; i < DEPTH; i++) {
			make(f, &cmds[i]);
			if (f->ring)
				nk_ring_queue(&ring, fd, &cmds[i]);
			else if (rarely(f, 10))
				nk_ioctl_admin(fd, &cmds[i]);
			else
				nk_ioctl(fd, &cmds[i]);
		}
		if (f->ring)
			nk_ring_wait(&ring, DEPTH);
		for (i = 0; i < DEPTH; i++)
			judge(f, &cmds[i]);
	}
	if (f->ring)
		nk_ring_close(&ring);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct fuzzer fuzzers[THREADS];
	static uint8_t data[5000];
	const struct kvc_call call = { .deadline_ms = 30000 };
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	uint64_t commands = 0, fine = 0;
	unsigned int i, pool = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	struct kvc *kvc = kvc_open(NULL, pool);
	struct kvcache_io io;
	char text[32];
	ssize_t got;
	int err;

	snprintf(text, sizeof(text), "/dev/kvcache%u", pool);
	fd = open(text, O_RDWR | O_CLOEXEC);
	vt_need(kvc && fd >= 0, "open %s: %s", text, strerror(errno));
	for (i = 0; i < BYSTANDERS; i++) {
		/* The same names as in the commands, but another tenant's. */
		snprintf(text, sizeof(text), "f%u", i);
		vt_fill(data, i, 0, sizeof(data));
		/* A fast machine fills the pool: what is pinned stays. */
		kvc_prep_data(&io, text, strlen(text), data, sizeof(data));
		kvc_set_pin(&io, vt_now() + 86400);
		err = again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
		vt_need(!err, "put a bystander: %d", err);
	}
	vt_begin("NVMe KV commands with fields changed at random, seed %llu",
		 (unsigned long long)seed);
	end_ms = vt_ms() + 1000 * (argc > 2 ? (uint64_t)atoi(argv[2]) : 10);
	for (i = 0; i < THREADS; i++) {
		fuzzers[i].rng.s = vt_mix(seed, i);
		fuzzers[i].ring = i % 2;
		vt_need(!pthread_create(&fuzzers[i].thread, NULL, fuzz, &fuzzers[i]),
			"a thread");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(fuzzers[i].thread, NULL);
		commands += fuzzers[i].commands;
		fine += fuzzers[i].fine;
	}
	vt_note("%llu commands, %llu succeeded", (unsigned long long)commands,
		(unsigned long long)fine);
	vt_expect(fine > commands / 20, "hardly any was sound");
	for (i = 0; i < BYSTANDERS; i++) {
		snprintf(text, sizeof(text), "f%u", i);
		memset(data, 0, sizeof(data));
		got = again_get(kvc, &call, text, strlen(text), data, sizeof(data),
				NULL);
		vt_expect(got == sizeof(data) &&
			  vt_differs(data, i, 0, sizeof(data)) < 0,
			  "bystander %u: %zd, or wrong bytes", i, got);
	}
	vt_end();
	vt_exit();
}
