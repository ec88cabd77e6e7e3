// SPDX-License-Identifier: GPL-2.0
/*
 * The commands that Mooncake's nvme_kv_storage_backend sends, in its order and
 * with its flags: objects in one value or in chunks with a root that is stored
 * last, always "if absent"; loads that read a header first and then ask again
 * with memory as large as the value; an object that is stored twice; keys that
 * collide; absent objects, for which all its slots are looked at; what it cleans
 * up. By ioctl from many threads, and by io_uring with its queue depth.
 *
 * usage: mooncake_kv POOL
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nvmekv.h"

#define ALIGNMENT	4096		/* of transfers */
#define UNIT		512		/* dword 12 counts these, less one */
#define CHUNK		270336		/* its runtime transfer limit */
#define HEADER		4096
#define SLOTS		64		/* for one identity */
#define DEPTH		256
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MAGIC		0x4e564b56U

static int fd;

/* How one command is run: by ioctl, or by the thread's own ring. */
struct client {
	bool ring;
	struct nk_ring r;
	uint64_t commands;
	uint8_t *memory;	/* a value, padded */
	size_t room;
};

/* What a root says: at the start of its value. */
struct root {
	uint32_t magic;
	uint32_t chunks;	/* 0: the value follows the header */
	uint64_t bytes;		/* of the object */
	uint64_t identity;
};

static size_t padded(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A physical key: hashed, with the command set in the top byte of dword 14. */
static void key_of(uint64_t identity, uint32_t chunk, uint32_t slot, uint8_t *key)
{
	uint64_t words[2] = {
		vt_mix(vt_mix(identity, chunk), slot),
		vt_mix(vt_mix(identity, chunk + 1000003), slot + 7),
	};

	memcpy(key, words, 16);
	key[11] = 1;
}

static void prep(struct nk_cmd *cmd, uint8_t opcode, const uint8_t *key,
		 void *data, size_t bytes)
{
	nk_prep(cmd, opcode, key, 16, data, (uint32_t)padded(bytes));
	if (opcode == NK_STORE)
		nk_options(cmd, NK_MUST_NOT_EXIST);
	if (bytes)
		cmd->c.cdw12 = (uint32_t)(padded(bytes) / UNIT - 1);
	cmd->c.timeout_ms = 30000;
}

static int run(struct client *c, struct nk_cmd *cmd)
{
	do {
		c->commands++;
		if (c->ring)
			nk_ring_run(&c->r, fd, cmd);
		else
			nk_ioctl32(fd, cmd);
	} while (cmd->status == NK_NOT_READY);
	return cmd->status;
}

/* Many at a time where the transport can. */
static void run_all(struct client *c, struct nk_cmd *cmds, unsigned int n)
{
	unsigned int i;

	if (c->ring) {
		for (i = 0; i < n; i++)
			nk_ring_queue(&c->r, fd, &cmds[i]);
		nk_ring_wait(&c->r, n);
		c->commands += n;
	}
	for (i = 0; i < n; i++)
		if (!c->ring || cmds[i].status == NK_NOT_READY)
			run(c, &cmds[i]);
}

/* Does the value under a key start with this root? 1, 0, or -status. */
static int is_ours(struct client *c, const uint8_t *key, uint64_t identity)
{
	uint8_t header[HEADER] __attribute__((aligned(4096)));
	struct root root;
	struct nk_cmd cmd;

	prep(&cmd, NK_RETRIEVE, key, header, HEADER);
	if (run(c, &cmd))
		return -cmd.status;
	memcpy(&root, header, sizeof(root));
	return root.magic == MAGIC && root.identity == identity;
}

/*
 * Store an object in its first slot that is free or has it. @slot is set to it,
 * @fresh to whether anything was written. 0 or a status.
 */
static int offload(struct client *c, uint64_t identity, size_t bytes, bool chunked,
		   uint32_t *slot, bool *fresh)
{
	struct root root = { MAGIC, 0, bytes, identity };
	static __thread struct nk_cmd cmds[DEPTH];
	uint8_t key[16], keys[DEPTH][16];
	struct nk_cmd cmd;
	uint32_t i;
	int status;

	*fresh = false;
	memset(c->memory, 0, HEADER);
	vt_fill(c->memory + HEADER, identity, 0, bytes);
	memset(c->memory + HEADER + bytes, 0, padded(bytes) - bytes);
	if (chunked)
		root.chunks = (uint32_t)((bytes + CHUNK - 1) / CHUNK);
	memcpy(c->memory, &root, sizeof(root));
	for (i = 0; i < root.chunks; i++) {
		size_t at = (size_t)i * CHUNK;

		key_of(identity, i + 1, 0, keys[i]);
		prep(&cmds[i], NK_STORE, keys[i], c->memory + HEADER + at,
		     bytes - at < CHUNK ? bytes - at : CHUNK);
	}
	run_all(c, cmds, root.chunks);
	for (i = 0; i < root.chunks; i++) {
		if (cmds[i].status && cmds[i].status != NK_KEY_EXISTS)
			return cmds[i].status;
		*fresh |= !cmds[i].status;
	}
	for (*slot = 0; *slot < SLOTS; ++*slot) {
		key_of(identity & ~0xffULL, 0, *slot, key);
		prep(&cmd, NK_STORE, key, c->memory,
		     root.chunks ? HEADER : HEADER + bytes);
		status = run(c, &cmd);
		if (!status) {
			*fresh = true;
			return 0;
		}
		if (status != NK_KEY_EXISTS)
			return status;
		status = is_ours(c, key, identity);
		if (status < 0)
			return -status;
		if (status)
			return 0;
	}
	return NK_KEY_EXISTS;
}

/* Find the root and read all of it into memory. 0 or a status. */
static int load(struct client *c, uint64_t identity, size_t bytes)
{
	static __thread struct nk_cmd cmds[DEPTH];
	uint8_t key[16], keys[DEPTH][16];
	struct nk_cmd cmd;
	struct root root;
	uint32_t slot, i;
	size_t total;

	for (slot = 0; slot < SLOTS; slot++) {
		key_of(identity & ~0xffULL, 0, slot, key);
		memset(c->memory, 0, HEADER);
		prep(&cmd, NK_RETRIEVE, key, c->memory, HEADER);
		if (run(c, &cmd) == NK_NO_KEY)
			continue;
		if (cmd.status)
			return cmd.status;
		memcpy(&root, c->memory, sizeof(root));
		if (root.magic == MAGIC && root.identity == identity)
			break;
	}
	if (slot == SLOTS)
		return NK_NO_KEY;
	vt_expect(root.bytes == bytes, "the root says %llu bytes",
		  (unsigned long long)root.bytes);
	total = HEADER + (root.chunks ? 0 : padded(bytes));
	if (!c->ring || c->r.big)
		vt_expect(cmd.c.result == total, "length of the root: %llu, not %zu",
			  (unsigned long long)cmd.c.result, total);
	if (!root.chunks) {
		/* Its buffer was too small: again with one that is not. */
		prep(&cmd, NK_RETRIEVE, key, c->memory, total);
		if (run(c, &cmd))
			return cmd.status;
	}
	for (i = 0; i < root.chunks; i++) {
		size_t at = (size_t)i * CHUNK;

		key_of(identity, i + 1, 0, keys[i]);
		prep(&cmds[i], NK_RETRIEVE, keys[i], c->memory + HEADER + at,
		     bytes - at < CHUNK ? bytes - at : CHUNK);
	}
	run_all(c, cmds, root.chunks);
	for (i = 0; i < root.chunks; i++)
		if (cmds[i].status)
			return cmds[i].status;
	i = (uint32_t)(vt_differs(c->memory + HEADER, identity, 0, bytes) + 1);
	vt_expect(!i, "byte %u of %zu is wrong", i - 1, bytes);
	return 0;
}

/* What it wrote when a later write fails: chunks, then the root's slots. */
static void clean_up(struct client *c, uint64_t identity, size_t bytes,
		     bool chunked, uint32_t slot)
{
	uint32_t i, n = chunked ? (uint32_t)((bytes + CHUNK - 1) / CHUNK) : 0;
	struct nk_cmd cmd;
	uint8_t key[16];

	for (i = 0; i < n; i++) {
		key_of(identity, i + 1, 0, key);
		prep(&cmd, NK_DELETE, key, NULL, 0);
		vt_expect(!run(c, &cmd), "delete chunk %u: status %x", i,
			  (unsigned int)cmd.status);
	}
	key_of(identity & ~0xffULL, 0, slot, key);
	prep(&cmd, NK_DELETE, key, NULL, 0);
	vt_expect(!run(c, &cmd), "delete the root: status %x",
		  (unsigned int)cmd.status);
}

static void client_open(struct client *c, int how, size_t room)
{
	int err;

	memset(c, 0, sizeof(*c));
	c->ring = how;
	c->room = room;
	c->memory = vt_map(room);
	if (!how)
		return;
	err = nk_ring_open(&c->r, DEPTH, how > 1 ? IORING_SETUP_CQE32 : 0);
	vt_need(!err, "a ring: %s", strerror(-err));
}

static void client_close(struct client *c)
{
	if (c->ring)
		nk_ring_close(&c->r);
}

static const char *const way_name[] = {
	"ioctl", "io_uring", "io_uring, large completions",
};

/* --- cases --- */

/* Sizes of one object: SGLang's and LMCache's pages, odd ones among them. */
static const size_t sizes[] = { 100028, 655360, 1310720, 4497408, 33554460 };

static uint64_t identity_of(unsigned int how, unsigned int i, unsigned int low)
{
	return (vt_mix(how + 1, i + 77) & ~0xffULL) | low;
}

static void one_object(struct client *c, unsigned int how, unsigned int i,
		       bool chunked)
{
	uint64_t identity = identity_of(how, i + 100 * chunked, 1);
	size_t bytes = chunked ? padded(sizes[i]) : sizes[i];
	uint64_t commands;
	uint32_t slot;
	bool fresh;
	int status;

	status = offload(c, identity, bytes, chunked, &slot, &fresh);
	vt_expect(!status && fresh && !slot, "offload %zu bytes: status %x, slot %u",
		  bytes, (unsigned int)status, slot);
	status = load(c, identity, bytes);
	vt_expect(!status, "load %zu bytes: status %x", bytes, (unsigned int)status);
	status = offload(c, identity, bytes, chunked, &slot, &fresh);
	vt_expect(!status && !fresh && !slot,
		  "offload it again: status %x, slot %u%s", (unsigned int)status,
		  slot, fresh ? ", something was written" : "");
	/* One whose hash is the same, but nothing else. */
	status = offload(c, identity + 1, 5000, false, &slot, &fresh);
	vt_expect(!status && fresh && slot == 1, "one that collides: status %x, slot %u",
		  (unsigned int)status, slot);
	status = load(c, identity + 1, 5000);
	vt_expect(!status, "load that: status %x", (unsigned int)status);
	clean_up(c, identity + 1, 5000, false, 1);
	status = load(c, identity, bytes);
	vt_expect(!status, "load the first: status %x", (unsigned int)status);
	clean_up(c, identity, bytes, chunked, 0);
	commands = c->commands;
	status = load(c, identity, bytes);
	vt_expect(status == NK_NO_KEY && c->commands == commands + SLOTS,
		  "load what is not there: status %x", (unsigned int)status);
}

static void test_objects(int how, size_t room)
{
	struct client c;
	unsigned int i;

	client_open(&c, how, room);
	vt_begin("%s: objects in one value, of engines' sizes", way_name[how]);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		one_object(&c, (unsigned int)how, i, false);
	vt_end();
	vt_begin("%s: objects in chunks of %u bytes", way_name[how], CHUNK);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		one_object(&c, (unsigned int)how, i, true);
	vt_end();
	client_close(&c);
	munmap(c.memory, c.room);
}

#define THREADS		12
#define EACH		24

struct thread {
	pthread_t thread;
	unsigned int number;
	int how;
	unsigned int loaded;
};

static void *work(void *arg)
{
	struct thread *t = arg;
	struct client c;
	unsigned int i;
	uint32_t slot;
	bool fresh;
	int status;

	client_open(&c, t->how, HEADER + (1 << 20));
	for (i = 0; i < EACH; i++) {
		/* Half of the objects are every thread's, at the same time. */
		uint64_t id = identity_of(50 + (unsigned int)t->how,
					  i % 2 ? i : i + 1000 * (t->number + 1), 1);
		size_t bytes = 10000 + 20000 * (size_t)i;

		status = offload(&c, id, bytes, i % 3 == 0, &slot, &fresh);
		vt_expect(!status && !slot, "offload: status %x, slot %u",
			  (unsigned int)status, slot);
		status = load(&c, id, i % 3 ? bytes : bytes);
		if (vt_expect(!status, "load: status %x", (unsigned int)status))
			t->loaded++;
	}
	client_close(&c);
	munmap(c.memory, c.room);
	return NULL;
}

static void test_threads(int how)
{
	static struct thread threads[THREADS];
	unsigned int i, loaded = 0;

	vt_begin("%s: %u threads offload and load, half of it the same objects",
		 way_name[how], THREADS);
	for (i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .number = i, .how = how };
		vt_need(!pthread_create(&threads[i].thread, NULL, work, &threads[i]),
			"a thread");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		loaded += threads[i].loaded;
	}
	vt_expect(loaded == THREADS * EACH, "%u objects were loaded", loaded);
	vt_end();
}

int main(int argc, char **argv)
{
	char node[32];
	int how;

	snprintf(node, sizeof(node), "/dev/kvcache%s", argc > 1 ? argv[1] : "");
	fd = open(node, O_RDWR | O_CLOEXEC);
	vt_need(fd >= 0, "open %s: %s", node, strerror(errno));
	for (how = 0; how < 3; how++) {
		test_objects(how, HEADER + padded(33554460) + ALIGNMENT);
		test_threads(how);
	}
	vt_exit();
}
