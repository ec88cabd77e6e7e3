// SPDX-License-Identifier: GPL-2.0
/*
 * The NVMe KV command set on a pool's node: every command, option and status, by
 * ioctl and by io_uring, with every byte compared; malformed commands; hundreds
 * in flight; rings that are closed and programs that are killed meanwhile.
 *
 * usage: nvme_kv POOL
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvmekv.h"

#define GUARD	4096
#define MANY	256

static int fd;			/* the pool's node */
static char node[32];
static struct kvc *kvc;
static struct kvcache_info info;
static uint8_t *big, *other;
static size_t room;

/* How a command is sent: the same cases run by each way. */
static struct way {
	const char *name;
	int (*run)(struct nk_cmd *cmd);
	bool result;		/* it brings the completion's result */
} way;
static struct nk_ring ring;

static int by_ioctl(struct nk_cmd *cmd)
{
	return nk_ioctl(fd, cmd);
}

static int by_ioctl32(struct nk_cmd *cmd)
{
	return nk_ioctl32(fd, cmd);
}

static int by_ring(struct nk_cmd *cmd)
{
	return nk_ring_run(&ring, fd, cmd);
}

/* Again while the pool has no clean segment or a member is slow. */
static int run(struct nk_cmd *cmd)
{
	uint64_t until = vt_ms() + 30000;
	int status;

	do {
		status = way.run(cmd);
		if (status != NK_NOT_READY)
			break;
		vt_sleep_ms(10);
	} while (vt_ms() < until);
	return status;
}

static uint64_t seed_of(const void *key, size_t len, uint64_t version)
{
	const uint8_t *p = key;
	uint64_t h = version;
	size_t i;

	for (i = 0; i < len; i++)
		h = vt_mix(h, p[i]);
	return h;
}

static int store(const void *key, size_t key_len, uint64_t version, size_t len,
		 uint8_t options)
{
	struct nk_cmd cmd;

	vt_fill(big, seed_of(key, key_len, version), 0, len);
	nk_prep(&cmd, NK_STORE, key, key_len, big, (uint32_t)len);
	nk_options(&cmd, options);
	return run(&cmd);
}

/* Retrieve into @room bytes and compare; nothing else may be written to. */
static bool same(const void *key, size_t key_len, uint64_t version, size_t len,
		 size_t buffer)
{
	size_t want = buffer < len ? buffer : len;
	struct nk_cmd cmd;
	ssize_t bad;
	int status;

	memset(other, 0xa5, buffer + GUARD);
	nk_prep(&cmd, NK_RETRIEVE, key, key_len, other, (uint32_t)buffer);
	status = run(&cmd);
	if (!vt_expect(!status, "retrieve %zu of %zu bytes: status %x", buffer,
		       len, (unsigned int)status))
		return false;
	if (way.result &&
	    !vt_expect(cmd.c.result == len, "its result is %llu, not %zu",
		       (unsigned long long)cmd.c.result, len))
		return false;
	bad = vt_differs(other, seed_of(key, key_len, version), 0, want);
	if (!vt_expect(bad < 0, "byte %zd of %zu is wrong", bad, len))
		return false;
	bad = vt_not_all(other + want, 0xa5, buffer + GUARD - want);
	return vt_expect(bad < 0, "byte %zd behind the value was written to", bad);
}

static int simple(uint8_t opcode, const void *key, size_t key_len)
{
	struct nk_cmd cmd;

	nk_prep(&cmd, opcode, key, key_len, NULL, 0);
	return run(&cmd);
}

#define STATUS(call, expected) \
	({ int nk_got = (call); \
	   vt_expect(nk_got == (expected), "%s: status %x, expected %x", #call, \
		     (unsigned int)nk_got, (unsigned int)(expected)); })

/* --- commands --- */

static void test_sizes(void)
{
	static const size_t sizes[] = { 1, 511, 512, 4095, 4096, 4097, 100028,
					262144, 1048604 };
	size_t i, len, largest = (size_t)info.max_object;
	char key[16];

	vt_begin("%s: values of all sizes, to the pool's largest, whole and in part",
		 way.name);
	for (i = 0; i <= sizeof(sizes) / sizeof(sizes[0]); i++) {
		int n = snprintf(key, sizeof(key), "size%zu", i);

		len = i < sizeof(sizes) / sizeof(sizes[0]) ? sizes[i] : largest;
		STATUS(store(key, (size_t)n, 1, len, NK_MUST_NOT_EXIST), 0);
		same(key, (size_t)n, 1, len, len);
		same(key, (size_t)n, 1, len, len + 3000);
		same(key, (size_t)n, 1, len, len > 4096 ? 4096 : len / 2 + 1);
		same(key, (size_t)n, 1, len, 0);
		STATUS(simple(NK_EXIST, key, (size_t)n), 0);
		STATUS(simple(NK_DELETE, key, (size_t)n), 0);
		STATUS(simple(NK_EXIST, key, (size_t)n), NK_NO_KEY);
	}
	STATUS(store("huge", 4, 1, largest + 1, 0), NK_INVALID_VALUE_SIZE);
	STATUS(simple(NK_EXIST, "huge", 4), NK_NO_KEY);
	STATUS(store("empty", 5, 1, 0, 0), NK_INVALID_VALUE_SIZE);
	vt_end();
}

static void test_options(void)
{
	struct nk_cmd cmd;

	vt_begin("%s: store if absent, if present, and to replace", way.name);
	STATUS(store("opt", 3, 1, 5000, NK_MUST_EXIST), NK_NO_KEY);
	STATUS(simple(NK_EXIST, "opt", 3), NK_NO_KEY);
	STATUS(store("opt", 3, 1, 5000, NK_MUST_NOT_EXIST), 0);
	STATUS(store("opt", 3, 2, 6000, NK_MUST_NOT_EXIST), NK_KEY_EXISTS);
	same("opt", 3, 1, 5000, 5000);
	STATUS(store("opt", 3, 3, 7000, NK_MUST_EXIST), 0);
	same("opt", 3, 3, 7000, 7000);
	STATUS(store("opt", 3, 4, 300, 0), 0);
	same("opt", 3, 4, 300, 300);
	STATUS(store("opt", 3, 5, (size_t)info.max_object + 1, NK_MUST_EXIST),
	       NK_INVALID_VALUE_SIZE);
	nk_prep(&cmd, NK_STORE, "opt", 3, NULL, 300);
	STATUS(run(&cmd), -EFAULT);
	nk_options(&cmd, NK_MUST_EXIST);
	STATUS(run(&cmd), -EFAULT);
	same("opt", 3, 4, 300, 300);	/* it is still there */
	STATUS(store("opt", 3, 5, 300, NK_MUST_EXIST | NK_MUST_NOT_EXIST),
	       NK_INVALID_FIELD);
	STATUS(store("opt", 3, 5, 300, 0x4), 0);	/* don't compress */
	same("opt", 3, 5, 300, 300);
	STATUS(store("opt", 3, 6, 300, 0x8), NK_INVALID_FIELD);
	STATUS(store("opt", 3, 6, 300, 0x80), NK_INVALID_FIELD);
	nk_prep(&cmd, NK_RETRIEVE, "opt", 3, other, 300);
	nk_options(&cmd, 0x1);				/* as it is stored */
	STATUS(run(&cmd), 0);
	nk_prep(&cmd, NK_RETRIEVE, "opt", 3, other, 300);
	nk_options(&cmd, 0x2);
	STATUS(run(&cmd), NK_INVALID_FIELD);
	same("opt", 3, 5, 300, 300);
	STATUS(simple(NK_DELETE, "opt", 3), 0);
	STATUS(simple(NK_DELETE, "opt", 3), NK_NO_KEY);
	vt_end();
}

static void test_keys(void)
{
	uint8_t key[17] = { 0 };
	size_t n;

	vt_begin("%s: keys of 1 to 16 bytes of any value", way.name);
	for (n = 1; n <= 16; n++) {
		key[n - 1] = (uint8_t)(n * 37);
		STATUS(store(key, n, n, 100 + n, NK_MUST_NOT_EXIST), 0);
	}
	for (n = 1; n <= 16; n++)
		same(key, n, n, 100 + n, 200);
	for (n = 1; n <= 16; n++)
		STATUS(simple(NK_DELETE, key, n), 0);
	STATUS(simple(NK_EXIST, key, 0), NK_INVALID_KEY_SIZE);
	STATUS(simple(NK_EXIST, key, 17), NK_INVALID_KEY_SIZE);
	STATUS(simple(NK_EXIST, key, 255), NK_INVALID_KEY_SIZE);
	STATUS(store(key, 0, 1, 100, 0), NK_INVALID_KEY_SIZE);
	vt_end();
}

/* What is wrong in one command; it must do nothing. */
static void refuse(const char *what, const struct nk_cmd *cmd, int status)
{
	struct nk_cmd c = *cmd;

	c.c.result = ~0ULL;
	vt_expect(way.run(&c) == status, "%s: status %x, expected %x", what,
		  (unsigned int)c.status, (unsigned int)status);
	vt_expect(status < 0 || !way.result || !c.c.result,
		  "%s: a result, %llx", what, (unsigned long long)c.c.result);
	STATUS(simple(NK_EXIST, "bad", 3), NK_NO_KEY);
}

static void test_malformed(void)
{
	struct nk_cmd good, c;
	unsigned int op;

	vt_begin("%s: malformed commands get their status, and do nothing", way.name);
	nk_prep(&good, NK_STORE, "bad", 3, big, 4096);
	for (op = 0; op < 256; op++) {
		if (op == NK_STORE || op == NK_RETRIEVE || op == NK_LIST ||
		    op == NK_DELETE || op == NK_EXIST)
			continue;
		c = good;
		c.c.opcode = (uint8_t)op;
		refuse("unknown opcode", &c, NK_INVALID_OPCODE);
	}
	c = good; c.c.nsid = 0; refuse("namespace 0", &c, NK_INVALID_NS);
	c = good; c.c.nsid = 2; refuse("namespace 2", &c, NK_INVALID_NS);
	c = good; c.c.nsid = 0xffffffff; refuse("all namespaces", &c, NK_INVALID_NS);
	c = good; c.c.flags = 1; refuse("a fused command", &c, NK_INVALID_FIELD);
	c = good; c.c.metadata = 4096; refuse("metadata", &c, NK_INVALID_FIELD);
	c = good; c.c.metadata_len = 8; refuse("metadata", &c, NK_INVALID_FIELD);
	c = good; c.c.cdw10 = 4097; refuse("more than memory", &c, NK_INVALID_FIELD);
	c = good; c.c.cdw11 |= 0x10000; refuse("reserved bits", &c, NK_INVALID_FIELD);
	c = good; c.c.addr = 0; refuse("no memory", &c, -EFAULT);
	c = good; c.c.addr = ~0ULL - 4096; refuse("kernel memory", &c, -EFAULT);
	/* Programs leave their own things in these. */
	c = good; c.c.cdw12 = 7; c.c.cdw13 = 9;
	STATUS(way.run(&c), 0);
	STATUS(simple(NK_DELETE, "bad", 3), 0);
	STATUS(store("bad2", 4, 1, 8192, 0), 0);
	nk_prep(&c, NK_RETRIEVE, "bad2", 4, NULL, 4096);
	STATUS(way.run(&c), -EFAULT);
	STATUS(simple(NK_DELETE, "bad2", 4), 0);
	vt_end();
}

/* --- listing --- */

#define LISTED 300

static void key_of(unsigned int i, char *key, size_t *len)
{
	*len = (size_t)sprintf(key, "k%0*u", i % 3 ? 9 : 4, i);
}

/* Ask for all keys, so many bytes at a time: how many came, in order? */
static unsigned int list_all(uint32_t bytes, unsigned int *calls)
{
	uint8_t last[16] = {}, *p;
	unsigned int total = 0, n, i;
	size_t last_len = 0, len;
	struct nk_cmd cmd;

	for (*calls = 0; *calls < 2 * LISTED + 10; ++*calls) {
		memset(other, 0xa5, bytes + GUARD);
		nk_prep(&cmd, NK_LIST, last, last_len, other, bytes);
		if (!STATUS(run(&cmd), 0))
			return 0;
		vt_expect(vt_not_all(other + bytes, 0xa5, GUARD) < 0,
			  "memory behind the list was written to");
		memcpy(&n, other, 4);
		p = other + 4;
		/* The first is the last of before, if that is there. */
		for (i = 0; i < n; i++, p += (2 + len + 3) / 4 * 4) {
			int diff;

			len = p[0] | p[1] << 8;
			if (!vt_expect(len >= 1 && len <= 16 &&
				       p + 2 + len <= other + bytes,
				       "key %u of the list: length %zu", i, len))
				return 0;
			diff = memcmp(p + 2, last, len < last_len ? len : last_len);
			diff = diff ? diff : (int)len - (int)last_len;
			if (!diff && last_len)
				continue;
			vt_expect(diff > 0, "key %u of the list is out of order", i);
			memcpy(last, p + 2, len);
			last_len = len;
			total++;
		}
		if (n <= 1 && *calls)
			break;
		if (!n)
			break;
	}
	return total;
}

static void test_list(void)
{
	unsigned int i, calls, got;
	char key[16];
	size_t len;

	vt_begin("%s: keys are listed in order, in pieces of any size", way.name);
	for (i = 0; i < LISTED; i++) {
		key_of(i, key, &len);
		STATUS(store(key, len, i, 64, NK_MUST_NOT_EXIST), 0);
	}
	got = list_all(65536, &calls);
	vt_expect(got == LISTED && calls <= 2, "%u keys in %u calls", got, calls);
	got = list_all(128, &calls);
	vt_expect(got == LISTED, "%u keys in %u calls", got, calls);
	got = list_all(1001, &calls);
	vt_expect(got == LISTED, "%u keys in %u calls", got, calls);
	for (i = 0; i < LISTED; i += 2) {
		key_of(i, key, &len);
		STATUS(simple(NK_DELETE, key, len), 0);
	}
	got = list_all(65536, &calls);
	vt_expect(got == LISTED / 2, "%u keys when half were deleted", got);
	for (i = 1; i < LISTED; i += 2) {
		key_of(i, key, &len);
		STATUS(simple(NK_DELETE, key, len), 0);
	}
	got = list_all(4096, &calls);
	vt_expect(!got, "%u keys when all were deleted", got);
	vt_end();
}

static void by(const char *name, int (*how)(struct nk_cmd *cmd), bool result)
{
	way = (struct way){ name, how, result };
	test_sizes();
	test_options();
	test_keys();
	test_malformed();
	test_list();
}

/* --- identify --- */

static int identify(uint8_t cns, uint32_t nsid, uint8_t csi, uint8_t *page)
{
	struct nk_cmd cmd = { .c = {
		.opcode = 0x06, .nsid = nsid, .cdw10 = cns,
		.cdw11 = (uint32_t)csi << 24, .data_len = 4096,
		.addr = (uint64_t)(uintptr_t)page,
	} };

	memset(page, 0xee, 4096);
	return nk_ioctl_admin(fd, &cmd);
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static void test_identify(void)
{
	struct nk_cmd cmd = { .c = { .opcode = 0x06, .data_len = 4096 } };
	uint8_t page[4096];

	vt_begin("Identify: controller, namespace with its KV format, lists");
	vt_expect(ioctl(fd, NVME_IOCTL_ID) == 1, "the namespace's ID is not 1");
	STATUS(identify(0x01, 0, 0, page), 0);
	vt_expect(!memcmp(page + 24, "kvcache pool", 12), "model number");
	vt_expect(le32(page + 516) == 1, "number of namespaces: %u", le32(page + 516));
	vt_expect(!memcmp(page + 768, "nqn.2014-08.org.nvmexpress:uuid:", 32), "NQN");
	STATUS(identify(0x02, 0, 0, page), 0);
	vt_expect(le32(page) == 1 && !le32(page + 4), "active namespaces");
	STATUS(identify(0x02, 1, 0, page), 0);
	vt_expect(!le32(page), "active namespaces after 1");
	STATUS(identify(0x02, 0xffffffff, 0, page), NK_INVALID_NS);
	STATUS(identify(0x07, 0, 1, page), 0);
	vt_expect(le32(page) == 1, "active KV namespaces");
	STATUS(identify(0x03, 1, 0, page), 0);
	vt_expect(page[0] == 3 && page[1] == 16 && page[20] == 4 && page[24] == 1,
		  "namespace descriptors");
	STATUS(identify(0x05, 1, 1, page), 0);
	vt_expect(!memcmp(page + 48, info.uuid, 16), "NGUID");
	vt_expect(le32(page) == (uint32_t)info.capacity, "size: %u", le32(page));
	vt_expect(page[25] == 0 && page[72] == 16 && page[73] == 0,
		  "key format: %u formats, keys of %u", page[25], page[72]);
	vt_expect(le32(page + 76) == info.max_object, "largest value: %u",
		  le32(page + 76));
	STATUS(identify(0x05, 2, 1, page), NK_INVALID_NS);
	STATUS(identify(0x05, 1, 0, page), NK_INVALID_FIELD);
	STATUS(identify(0x00, 1, 0, page), NK_INVALID_FIELD);
	STATUS(identify(0x06, 0, 1, page), 0);
	STATUS(identify(0x06, 0, 2, page), NK_INVALID_FIELD);
	STATUS(identify(0x08, 1, 0, page), 0);
	STATUS(identify(0x1c, 0, 0, page), 0);
	vt_expect(page[0] == 2, "command sets: %x", page[0]);
	STATUS(identify(0x55, 1, 0, page), NK_INVALID_FIELD);
	cmd.c.cdw10 = 0x01;
	STATUS(nk_ioctl_admin(fd, &cmd), -EFAULT);	/* to no address */
	cmd.c.data_len = 4095;
	STATUS(nk_ioctl_admin(fd, &cmd), NK_INVALID_FIELD);
	cmd.c.opcode = 0x02;		/* a log page */
	STATUS(nk_ioctl_admin(fd, &cmd), NK_INVALID_OPCODE);
	vt_expect(ioctl(fd, NVME_IOCTL_RESET) < 0 && errno == ENOTTY, "a reset");
	vt_expect(ioctl(fd, NVME_IOCTL_IO64_CMD, NULL) < 0 && errno == EFAULT,
		  "a command at no address");
	vt_end();
}

/* --- nodes, tenants --- */

static void test_nodes(void)
{
	uint64_t length = 0;
	struct nk_cmd cmd;
	int other_fd;

	way = (struct way){ "ioctl", by_ioctl, true };
	vt_begin("keys are in a tenant of their own, on the default node as well");
	STATUS(store("tenant", 6, 1, 5000, 0), 0);
	vt_expect(kvc_exists(kvc, NULL, "tenant", 6, NULL) == -ENOENT,
		  "tenant 0 has it");
	vt_expect(!kvc_exists(kvc, &(struct kvc_call){ .tenant = KVCACHE_TENANT_NVME },
			      "tenant", 6, &length) && length == 5000,
		  "its own tenant has not");
	other_fd = open("/dev/kvcache", O_RDWR | O_CLOEXEC);
	nk_prep(&cmd, NK_EXIST, "tenant", 6, NULL, 0);
	STATUS(nk_ioctl(other_fd, &cmd), 0);
	close(other_fd);
	vt_end();

	vt_begin("a node that is open for reading takes no Store and no Delete");
	other_fd = open(node, O_RDONLY | O_CLOEXEC);
	nk_prep(&cmd, NK_EXIST, "tenant", 6, NULL, 0);
	STATUS(nk_ioctl(other_fd, &cmd), 0);
	nk_prep(&cmd, NK_DELETE, "tenant", 6, NULL, 0);
	STATUS(nk_ioctl(other_fd, &cmd), -EACCES);
	nk_prep(&cmd, NK_STORE, "tenant2", 7, big, 4096);
	STATUS(nk_ioctl(other_fd, &cmd), -EACCES);
	close(other_fd);
	STATUS(simple(NK_DELETE, "tenant", 6), 0);
	vt_end();

	vt_begin("a pool's node serves that pool and no other");
	{
		struct kvc *mine = kvc_open(node, 0);
		struct kvc *wrong = kvc_open(node, info.pool + 1);

		vt_expect(mine && !kvc_put(mine, NULL, "by node", 7, big, 100),
			  "a put on %s", node);
		vt_expect(!kvc_exists(kvc, NULL, "by node", 7, NULL), "a look at it");
		vt_expect(!kvc_delete(kvc, NULL, "by node", 7), "its delete");
		vt_expect(!wrong || kvc_exists(wrong, NULL, "by node", 7, NULL) ==
			  -EINVAL, "another pool's number");
		kvc_close(mine);
		if (wrong)
			kvc_close(wrong);
	}
	vt_end();
}

/* --- many in flight --- */

static void many(const char *what, unsigned int flags)
{
	static struct nk_cmd cmds[MANY];
	const size_t each = 20000;
	uint8_t *data = vt_map(MANY * each);
	unsigned int i, bad = 0;
	char key[16];
	int err;

	vt_begin("%u commands in flight on one ring: %s", MANY, what);
	err = nk_ring_open(&ring, MANY, flags);
	if (!vt_expect(!err, "open the ring: %s", strerror(-err)))
		goto out;
	for (i = 0; i < MANY; i++) {
		int n = snprintf(key, sizeof(key), "many%u", i);

		vt_fill(data + i * each, i, 0, each);
		nk_prep(&cmds[i], NK_STORE, key, (size_t)n, data + i * each,
			(uint32_t)(each - i));
		nk_options(&cmds[i], NK_MUST_NOT_EXIST);
		nk_ring_queue(&ring, fd, &cmds[i]);
	}
	nk_ring_wait(&ring, MANY);
	for (i = 0; i < MANY; i++) {
		while (cmds[i].status == NK_NOT_READY) {
			vt_sleep_ms(10);
			nk_ring_run(&ring, fd, &cmds[i]);
		}
		vt_expect(!cmds[i].status, "store %u: status %x", i,
			  (unsigned int)cmds[i].status);
	}
	memset(data, 0, MANY * each);
	/* Every other of the keys is not there. */
	for (i = 0; i < MANY; i++) {
		int n = snprintf(key, sizeof(key), "many%u", i % 2 ? i : i + 1000);

		nk_prep(&cmds[i], NK_RETRIEVE, key, (size_t)n, data + i * each,
			(uint32_t)each);
		nk_ring_queue(&ring, fd, &cmds[i]);
	}
	nk_ring_wait(&ring, MANY);
	for (i = 0; i < MANY; i++) {
		if (i % 2) {
			bad += cmds[i].status ||
			       (ring.big && cmds[i].c.result != each - i) ||
			       vt_differs(data + i * each, i, 0, each - i) >= 0 ||
			       vt_not_all(data + (i + 1) * each - i, 0, i) >= 0;
		} else {
			bad += cmds[i].status != NK_NO_KEY;
		}
	}
	vt_expect(!bad, "%u answers are wrong", bad);
	for (i = 0; i < MANY; i++) {
		int n = snprintf(key, sizeof(key), "many%u", i);

		nk_prep(&cmds[i], NK_DELETE, key, (size_t)n, NULL, 0);
		nk_ring_queue(&ring, fd, &cmds[i]);
	}
	nk_ring_wait(&ring, MANY);
	for (i = 0; i < MANY; i++)
		vt_expect(!cmds[i].status, "delete %u: status %x", i,
			  (unsigned int)cmds[i].status);
	nk_ring_close(&ring);
out:
	munmap(data, MANY * each);
	vt_end();
}

/* --- what ends in the middle --- */

/* Begin a load of both kinds and end without waiting for it. */
static void child(unsigned int round)
{
	static struct nk_cmd cmds[128];
	uint8_t *data = vt_map(128 * 65536);
	unsigned int i;
	char key[16];

	if (nk_ring_open(&ring, 128, round & 1 ? IORING_SETUP_CQE32 : 0))
		_exit(1);
	for (i = 0; i < 128; i++) {
		int n = snprintf(key, sizeof(key), "mid%u", i % 64);

		nk_prep(&cmds[i], i < 64 ? NK_STORE : NK_RETRIEVE, key, (size_t)n,
			data + i * 65536, 65536);
		nk_ring_queue(&ring, fd, &cmds[i]);
	}
	if (io_uring_submit(&ring.ring) < 0)
		_exit(1);
	switch (round % 3) {
	case 0:
		nk_ring_close(&ring);
		_exit(0);
	case 1:
		_exit(0);
	default:
		for (;;)
			pause();
	}
}

static void test_middle(void)
{
	unsigned int round;
	int status;
	pid_t pid;

	vt_begin("rings that are closed, programs that exit or are killed with commands in flight");
	for (round = 0; round < 9; round++) {
		pid = fork();
		vt_need(pid >= 0, "fork");
		if (!pid)
			child(round);
		if (round % 3 == 2) {
			vt_sleep_ms(5 * round);
			kill(pid, SIGKILL);
		}
		waitpid(pid, &status, 0);
		vt_expect(round % 3 == 2 ? WIFSIGNALED(status) :
			  WIFEXITED(status) && !WEXITSTATUS(status),
			  "round %u: status %x", round, (unsigned int)status);
	}
	way = (struct way){ "ioctl", by_ioctl, true };
	for (round = 0; round < 64; round++) {
		char key[16];
		int n = snprintf(key, sizeof(key), "mid%u", round);

		status = simple(NK_DELETE, key, (size_t)n);
		vt_expect(!status || status == NK_NO_KEY, "delete: status %x",
			  (unsigned int)status);
	}
	vt_end();
}

/* Begin commands of both kinds on a ring that is never looked at again. */
static void absent(int ready)
{
	static struct nk_cmd cmds[32];
	uint8_t *data = vt_map(32 * 65536);
	unsigned int i;
	char key[16];

	if (nk_ring_open(&ring, 32, IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN))
		_exit(1);
	for (i = 0; i < 32; i++) {
		int n = snprintf(key, sizeof(key), "absent%u", i & 1 ? i : 0);

		nk_prep(&cmds[i], i & 1 ? NK_STORE : NK_RETRIEVE, key, (size_t)n,
			data + i * 65536, 65536);
		nk_ring_queue(&ring, fd, &cmds[i]);
	}
	if (io_uring_submit(&ring.ring) != 32 || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The pool goes while a file is open; commands say so. */
static void test_gone(unsigned int number)
{
	struct nk_cmd cmd;
	uint64_t until;
	int err, ready[2];
	pid_t pid;
	char c;

	way = (struct way){ "ioctl", by_ioctl, true };
	vt_begin("a program that does not look at its ring keeps no pool attached");
	STATUS(store("absent0", 7, 1, 65536, 0), 0);
	vt_need(!pipe(ready), "pipe");
	pid = fork();
	vt_need(pid >= 0, "fork");
	if (!pid)
		absent(ready[1]);
	close(ready[1]);
	vt_expect(read(ready[0], &c, 1) == 1, "its commands were not taken");
	close(ready[0]);
	err = kvc_detach(kvc, number, 0);
	vt_expect(!err, "detach: %d", err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	vt_end();

	vt_begin("when the pool is detached, open files say so, and the node goes");
	until = vt_ms() + 10000;
	nk_prep(&cmd, NK_EXIST, "gone", 4, NULL, 0);
	STATUS(nk_ioctl(fd, &cmd), -ENODEV);
	err = nk_ring_open(&ring, 4, 0);
	vt_expect(!err, "open the ring: %s", strerror(-err));
	STATUS(nk_ring_run(&ring, fd, &cmd), -ENODEV);
	nk_ring_close(&ring);
	while (!access(node, F_OK) && vt_ms() < until)
		vt_sleep_ms(20);
	vt_expect(access(node, F_OK), "%s is still there", node);
	vt_end();
}

int main(int argc, char **argv)
{
	unsigned int number = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	unsigned int tries;

	kvc = kvc_open(NULL, number);
	vt_need(kvc, "open /dev/kvcache: %s", strerror(errno));
	vt_need(!kvc_info(kvc, &info, NULL, 0), "info of pool %u", number);
	snprintf(node, sizeof(node), "/dev/kvcache%u", info.pool);
	for (tries = 0; access(node, F_OK) && tries < 100; tries++)
		vt_sleep_ms(20);
	fd = open(node, O_RDWR | O_CLOEXEC);
	vt_need(fd >= 0, "open %s: %s", node, strerror(errno));
	room = (size_t)info.max_object + 4 * GUARD;
	big = vt_map(room);
	other = vt_map(room);

	test_identify();
	by("ioctl", by_ioctl, true);
	by("ioctl, narrow result", by_ioctl32, true);
	vt_need(!nk_ring_open(&ring, 8, IORING_SETUP_CQE32), "a ring");
	by("io_uring, large completions", by_ring, true);
	nk_ring_close(&ring);
	vt_need(!nk_ring_open(&ring, 8, 0), "a ring");
	by("io_uring, small completions", by_ring, false);
	nk_ring_close(&ring);
	test_nodes();
	many("small completions", 0);
	many("large completions", IORING_SETUP_CQE32);
	many("task work deferred", IORING_SETUP_CQE32 | IORING_SETUP_SINGLE_ISSUER |
	     IORING_SETUP_DEFER_TASKRUN);
	many("submitted by the kernel's thread", IORING_SETUP_SQPOLL);
	test_middle();
	test_gone(number);
	close(fd);
	vt_exit();
}
