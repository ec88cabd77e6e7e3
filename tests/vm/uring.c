// SPDX-License-Identifier: GPL-2.0
/*
 * The io_uring commands of /dev/kvcache: what they answer, beside the ioctls, and
 * what they refuse.
 *
 * usage: uring POOL
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <liburing.h>

#include "vmtest.h"

#ifndef IORING_URING_CMD_FIXED
#define IORING_URING_CMD_FIXED (1U << 0)
#endif

#define KEYS	300		/* several windows */
#define SIZE	8000

static struct kvc *kvc;
static int fd;
static char keys[KEYS][24];
static struct kvcache_io ios[KEYS];
static uint8_t *data;

static void name_keys(const char *prefix)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		snprintf(keys[i], sizeof(keys[i]), "%s-%u", prefix, i);
}

static void prep(bool with_data)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++) {
		if (with_data)
			kvc_prep_data(&ios[i], keys[i], strlen(keys[i]),
				      data + (size_t)i * SIZE, SIZE);
		else
			kvc_prep(&ios[i], keys[i], strlen(keys[i]));
	}
}

static void fill(uint64_t seed)
{
	vt_fill(data, seed, 0, (size_t)KEYS * SIZE);
}

/* --- the commands as they are --- */

struct command {
	uint32_t op;
	struct kvcache_uring u;
	uint32_t flags;		/* of the entry: uring_cmd_flags */
	uint8_t sqe_flags;
	uint16_t buffer;
};

static void put_entry(struct io_uring *ring, const struct command *c, uint64_t user)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	vt_need(sqe, "an entry");
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->flags = c->sqe_flags;
	sqe->cmd_op = c->op;
	sqe->rw_flags = (int)c->flags;
	sqe->buf_index = c->buffer;
	sqe->user_data = user;
	memcpy(sqe->cmd, &c->u, sizeof(c->u));
}

static int one(struct io_uring *ring, const struct command *c)
{
	struct io_uring_cqe *cqe;
	int ret;

	put_entry(ring, c, 7);
	ret = io_uring_submit_and_wait(ring, 1);
	vt_need(ret >= 0, "submit: %s", strerror(-ret));
	ret = io_uring_wait_cqe(ring, &cqe);
	vt_need(!ret, "wait: %s", strerror(-ret));
	vt_expect(cqe->user_data == 7, "another's completion");
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static void batch_of(struct kvcache_batch *b, unsigned int count)
{
	memset(b, 0, sizeof(*b));
	b->size = sizeof(*b);
	b->ios = (uint64_t)(uintptr_t)ios;
	b->count = count;
	b->io_size = sizeof(*ios);
	b->deadline_ms = 30000;
	b->pool = kvc_pool(kvc);
}

static unsigned int ring_flags[] = {
	0,
	IORING_SETUP_COOP_TASKRUN,
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
	IORING_SETUP_SQPOLL,
};

/* Everything there is, on every kind of ring, with and without IOSQE_ASYNC. */
static void test_round(unsigned int flags, uint8_t sqe_flags, bool fixed)
{
	struct io_uring ring;
	struct kvcache_batch b;
	struct command c = { .u.arg = (uint64_t)(uintptr_t)&b, .sqe_flags = sqe_flags };
	struct iovec iov = { data, (size_t)KEYS * SIZE };
	unsigned int i;
	int ret;

	vt_begin("put, get, exists, delete of %u keys: ring %x, entry %x%s", KEYS,
		 flags, sqe_flags, fixed ? ", registered memory" : "");
	ret = io_uring_queue_init(8, &ring, flags);
	vt_need(!ret, "a ring: %s", strerror(-ret));
	name_keys("round");
	if (fixed) {
		ret = io_uring_register_buffers(&ring, &iov, 1);
		vt_need(!ret, "register: %s", strerror(-ret));
		c.flags = IORING_URING_CMD_FIXED;
	}

	fill(11);
	prep(true);
	batch_of(&b, KEYS);
	c.op = KVCACHE_IOC_PUT;
	ret = one(&ring, &c);
	vt_expect(ret == KEYS && b.done == KEYS, "put: %d, done %u", ret, b.done);
	for (i = 0; i < KEYS; i++)
		vt_expect(!ios[i].status, "put %u: %d", i, ios[i].status);
	ret = one(&ring, &c);
	vt_expect(!ret, "put again: %d", ret);
	vt_expect(ios[5].status == -EEXIST && ios[5].length == SIZE,
		  "put again: %d, %llu", ios[5].status,
		  (unsigned long long)ios[5].length);

	memset(data, 0, (size_t)KEYS * SIZE);
	prep(true);
	batch_of(&b, KEYS);
	c.op = KVCACHE_IOC_GET;
	ret = one(&ring, &c);
	vt_expect(ret == KEYS, "get: %d", ret);
	vt_expect(vt_differs(data, 11, 0, (size_t)KEYS * SIZE) < 0, "other bytes");
	for (i = 0; i < KEYS; i++)
		vt_expect(!ios[i].status && ios[i].transferred == SIZE &&
			  ios[i].length == SIZE && !ios[i].out_flags,
			  "get %u: %d, %llu bytes", i, ios[i].status,
			  (unsigned long long)ios[i].transferred);

	/* Some are not there, some have no room. */
	memset(data, 0, (size_t)KEYS * SIZE);
	prep(true);
	for (i = 0; i < KEYS; i += 3)
		keys[i][0] = 'n';
	ios[1].data_len = 10;
	kvc_set_range(&ios[2], 100);
	batch_of(&b, KEYS);
	ret = one(&ring, &c);
	vt_expect(ret == KEYS - KEYS / 3 - 1, "mixed get: %d", ret);
	vt_expect(ios[0].status == -ENOENT, "absent: %d", ios[0].status);
	vt_expect(ios[1].status == -EMSGSIZE && ios[1].length == SIZE,
		  "no room: %d", ios[1].status);
	vt_expect(!ios[2].status && ios[2].transferred == SIZE - 100 &&
		  vt_differs(data + 2 * SIZE, 11, 2 * SIZE + 100, SIZE - 100) < 0,
		  "range: %d, %llu bytes", ios[2].status,
		  (unsigned long long)ios[2].transferred);

	prep(false);
	batch_of(&b, KEYS);
	c.op = KVCACHE_IOC_EXISTS;
	c.flags = 0;
	ret = one(&ring, &c);
	vt_expect(ret == KEYS - KEYS / 3, "exists: %d", ret);
	name_keys("round");
	c.op = KVCACHE_IOC_DELETE;
	batch_of(&b, KEYS);
	ret = one(&ring, &c);
	vt_expect(ret == KEYS, "delete: %d", ret);
	c.op = KVCACHE_IOC_EXISTS;
	batch_of(&b, KEYS);
	ret = one(&ring, &c);
	vt_expect(!ret, "exists after delete: %d", ret);
	vt_end();
	io_uring_queue_exit(&ring);
}

static void test_list(void)
{
	static char buffer[65536];
	struct io_uring ring;
	struct kvcache_list l = {
		.size = sizeof(l),
		.pool = kvc_pool(kvc),
		.buffer = (uint64_t)(uintptr_t)buffer,
		.buffer_len = sizeof(buffer),
		.deadline_ms = 30000,
		.prefix = (uint64_t)(uintptr_t)"listed",
		.prefix_len = 6,
	};
	struct command c = { .op = KVCACHE_IOC_LIST, .u.arg = (uint64_t)(uintptr_t)&l };
	uint32_t found = 0;
	int ret;

	vt_begin("a list");
	vt_need(!io_uring_queue_init(4, &ring, 0), "a ring");
	name_keys("listed");
	prep(true);
	ret = (int)kvc_batch_put(kvc, NULL, ios, 20);
	vt_expect(ret == 20, "put: %d", ret);
	do {
		ret = one(&ring, &c);
		vt_expect(!ret, "list: %d", ret);
		found += l.count;
	} while (!ret && l.cookie);
	vt_expect(found == 20, "%u found", found);
	prep(false);
	kvc_batch_delete(kvc, NULL, ios, 20);
	vt_end();
	io_uring_queue_exit(&ring);
}

static void refused(struct io_uring *ring, const char *what, struct command c, int error)
{
	int ret = one(ring, &c);

	vt_expect(ret == error, "%s: %d instead of %d", what, ret, error);
}

static void test_refused(void)
{
	struct kvcache_batch b;
	struct command good = { .op = KVCACHE_IOC_GET, .u.arg = (uint64_t)(uintptr_t)&b };
	struct command c;
	struct io_uring ring;

	vt_begin("what is malformed is refused");
	vt_need(!io_uring_queue_init(4, &ring, 0), "a ring");
	name_keys("refused");
	prep(true);
	batch_of(&b, 2);
	c = good;
	c.u.flags = 1;
	refused(&ring, "an unknown flag", c, -EINVAL);
	c = good;
	c.u.reserved = 1;
	refused(&ring, "a reserved field", c, -EINVAL);
	c = good;
	c.u.arg = 8;
	refused(&ring, "a bad pointer", c, -EFAULT);
	c = good;
	c.op = KVCACHE_IOC_INFO;
	refused(&ring, "another command", c, -ENOTTY);
	c.op = KVCACHE_IOC_ATTACH;
	refused(&ring, "attach", c, -ENOTTY);
	c.op = 0x12345678;
	refused(&ring, "another driver's", c, -ENOTTY);
	b.flags = 0x80;
	refused(&ring, "an unknown flag of the batch", good, -EINVAL);
	batch_of(&b, 2);
	b.count = 0;
	refused(&ring, "no keys", good, -EINVAL);
	b.count = KVCACHE_BATCH_MAX + 1;
	refused(&ring, "too many keys", good, -EINVAL);
	batch_of(&b, 2);
	b.ios = 16;
	refused(&ring, "keys at a bad pointer", good, -EFAULT);
	batch_of(&b, 2);
	ios[1].flags = 0x8000;
	refused(&ring, "an unknown flag of a key", good, -EINVAL);
	prep(true);
	b.pool = 4711;
	refused(&ring, "another pool than the node's", good, -EINVAL);
	batch_of(&b, 2);
	ios[0].key = 16;
	refused(&ring, "one key at a bad pointer", good, 0);
	vt_expect(ios[0].status == -EFAULT && ios[1].status == -ENOENT,
		  "statuses %d, %d", ios[0].status, ios[1].status);
	vt_end();

	vt_begin("memory that is not registered, or not all of it, is refused");
	name_keys("fixed");
	fill(3);
	prep(true);
	vt_expect(kvc_batch_put(kvc, NULL, ios, 2) == 2, "put");
	c = good;
	c.flags = IORING_URING_CMD_FIXED;
	batch_of(&b, 2);
	/* Newer kernels look for the buffer when it is wanted, for each key. */
	{
		int ret = one(&ring, &c);

		vt_expect(ret == -EFAULT || (!ret && ios[0].status == -EFAULT),
			  "no registered memory: %d: %d", ret, ios[0].status);
	}
	{
		struct iovec iov = { data, SIZE };
		struct kvcache_iovec piece = { (uint64_t)(uintptr_t)data, SIZE };
		int ret = io_uring_register_buffers(&ring, &iov, 1);

		vt_need(!ret, "register: %s", strerror(-ret));
		ret = one(&ring, &c);
		vt_expect(ret == 1 && !ios[0].status && ios[1].status == -EFAULT,
			  "%d: %d, %d", ret, ios[0].status, ios[1].status);
		ios[0].data = (uint64_t)(uintptr_t)&piece;
		ios[0].data_len = 1;
		ios[0].flags = KVCACHE_IO_IOVEC;
		ret = one(&ring, &c);
		vt_expect(!ret && ios[0].status == -EINVAL, "pieces: %d: %d", ret,
			  ios[0].status);
		c.buffer = 5;
		ret = one(&ring, &c);
		vt_expect(ret <= 0, "another's number: %d", ret);
	}
	prep(false);
	kvc_batch_delete(kvc, NULL, ios, 2);
	vt_end();
	io_uring_queue_exit(&ring);
}

#define TAKEN	32

/*
 * An entry is the user's again once it is submitted, whoever carries it out: what
 * stands in it then is another command's, or nobody's.
 */
static void test_taken(unsigned int flags)
{
	const struct command decoy = { .op = KVCACHE_IOC_DELETE, .u.arg = 8 };
	struct command c = { .op = KVCACHE_IOC_DELETE };
	struct kvcache_batch batches[TAKEN];
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	unsigned int i, done = 0;
	int ret;

	vt_begin("entries may be used again once they are submitted: ring %x", flags);
	ret = io_uring_queue_init(TAKEN, &ring, flags);
	vt_need(!ret, "ring: %s", strerror(-ret));
	name_keys("taken");
	fill(17);
	prep(true);
	vt_expect(kvc_batch_put(kvc, NULL, ios, TAKEN) == TAKEN, "put");
	prep(false);
	for (i = 0; i < TAKEN; i++) {
		batch_of(&batches[i], 1);
		batches[i].ios = (uint64_t)(uintptr_t)&ios[i];
		c.u.arg = (uint64_t)(uintptr_t)&batches[i];
		put_entry(&ring, &c, i);
	}
	vt_expect(io_uring_submit(&ring) == TAKEN, "submit");
	/* Not submitted: only what now stands in the ring. */
	for (i = 0; i < TAKEN; i++)
		put_entry(&ring, &decoy, TAKEN);
	for (i = 0; i < TAKEN; i++) {
		ret = io_uring_wait_cqe(&ring, &cqe);
		vt_need(!ret, "wait: %s", strerror(-ret));
		vt_expect(cqe->res == 1, "delete %llu: %d",
			  (unsigned long long)cqe->user_data, cqe->res);
		done += cqe->user_data < TAKEN;
		io_uring_cqe_seen(&ring, cqe);
	}
	vt_expect(done == TAKEN, "%u of %d ended", done, TAKEN);
	for (i = 0; i < TAKEN; i++)
		vt_expect(kvc_exists(kvc, NULL, keys[i], strlen(keys[i]), NULL) ==
			  -ENOENT, "%s is there", keys[i]);
	io_uring_queue_exit(&ring);
	vt_end();
}

/* --- the library's queue --- */

#define DEPTH	32
#define ROUNDS	400

static void test_queue(bool registered)
{
	/* One of each kind. */
	struct kvc_queue *q = registered ? kvc_queue_open_thread(kvc, DEPTH) :
					   kvc_queue_open(kvc, DEPTH);
	struct iovec iov = { data, (size_t)KEYS * SIZE };
	struct kvc_done done[8];
	struct pollfd poll_fd;
	unsigned int begun = 0, ended = 0, i;
	int n, k;

	vt_begin("%u puts, then gets, %u at a time%s", KEYS, DEPTH,
		 registered ? ", registered memory" : "");
	vt_need(q, "a queue: %s", strerror(errno));
	if (registered)
		vt_expect(!kvc_queue_register(q, &iov, 1), "register");
	name_keys(registered ? "queue" : "queued");
	fill(21);
	prep(true);
	while (ended < KEYS) {
		while (begun < KEYS) {
			n = kvc_queue_put(q, NULL, &ios[begun], 1, begun);
			if (n == -EAGAIN)
				break;
			vt_need(!n, "queue: %d", n);
			begun++;
		}
		n = kvc_queue_wait(q, done, 8, 1, 20000);
		vt_need(n > 0, "wait: %d", n);
		for (k = 0; k < n; k++)
			vt_expect(done[k].result == 1, "put %llu: %lld (%d)",
				  (unsigned long long)done[k].user_data,
				  (long long)done[k].result,
				  ios[done[k].user_data].status);
		ended += (unsigned int)n;
	}
	memset(data, 0, (size_t)KEYS * SIZE);
	prep(true);
	for (begun = ended = 0; ended < KEYS;) {
		while (begun < KEYS &&
		       !kvc_queue_get(q, NULL, &ios[begun], 1, begun))
			begun++;
		vt_expect(kvc_queue_submit(q) >= 0, "submit");
		poll_fd = (struct pollfd){ .fd = kvc_queue_fd(q), .events = POLLIN };
		vt_expect(poll(&poll_fd, 1, 20000) == 1, "nothing to be read");
		n = kvc_queue_wait(q, done, 8, 1, 20000);
		vt_need(n > 0, "wait: %d", n);
		for (k = 0; k < n; k++) {
			i = (unsigned int)done[k].user_data;
			vt_expect(done[k].result == 1 &&
				  vt_differs(data + (size_t)i * SIZE, 21,
					     (uint64_t)i * SIZE, SIZE) < 0,
				  "get %u: %lld (%d)", i, (long long)done[k].result,
				  ios[i].status);
		}
		ended += (unsigned int)n;
	}
	prep(false);
	vt_expect(!kvc_queue_exists(q, NULL, ios, KEYS, 1) &&
		  kvc_queue_wait(q, done, 8, 8, 20000) == 1 &&
		  done[0].result == KEYS, "exists: %lld", (long long)done[0].result);
	vt_expect(!kvc_queue_delete(q, NULL, ios, KEYS, 2) &&
		  kvc_queue_pending(q) == 1 &&
		  kvc_queue_wait(q, done, 8, 8, 20000) == 1 &&
		  done[0].result == KEYS && done[0].user_data == 2,
		  "delete: %lld", (long long)done[0].result);
	vt_expect(kvc_queue_wait(q, done, 8, 1, 1) == 0, "nothing is under way");
	vt_expect(kvc_queue_get(q, NULL, ios, 0, 0) == -EINVAL, "no keys");
	kvc_queue_close(q);
	vt_end();
}

/* Two puts of one key at a time, and more objects than there is room for. */
static void test_wait(void)
{
	struct kvc_queue *q = kvc_queue_open(kvc, DEPTH);
	const struct kvc_call call = { .deadline_ms = 60000 };
	struct kvc_done done[DEPTH];
	struct kvcache_info info;
	unsigned int i, put = 0, busy = 0;
	uint64_t evicted;
	int n, k;

	vt_begin("puts of one key at a time: one is done, the others find it");
	vt_need(q, "a queue");
	for (i = 0; i < 16; i++) {
		kvc_prep_data(&ios[i], "same key", 8, data, SIZE);
		vt_expect(!kvc_queue_put(q, &call, &ios[i], 1, i), "queue");
	}
	n = kvc_queue_wait(q, done, DEPTH, 16, 0);
	vt_expect(n == 16, "%d completed", n);
	for (i = 0; i < 16; i++) {
		put += !ios[i].status;
		busy += ios[i].status == -EEXIST;
	}
	vt_expect(put == 1 && busy == 15, "%u done, %u found", put, busy);
	for (i = 0; i < 16; i++)
		kvc_prep_data(&ios[i], "one batch", 9, data, SIZE);
	vt_expect(!kvc_queue_put(q, &call, ios, 16, 1), "queue");
	n = kvc_queue_wait(q, done, DEPTH, 1, 0);
	vt_expect(n == 1 && done[0].result == 1, "%d: %lld", n,
		  (long long)done[0].result);
	for (i = 0; i < 16; i++)
		vt_expect(ios[i].status == (i ? -EEXIST : 0), "%u: %d", i, ios[i].status);
	vt_end();

	vt_begin("puts go on in a pool that is full");
	vt_expect(!kvc_info(kvc, &info, NULL, 0), "info");
	evicted = info.evicted_objects;
	for (i = 0; i < 4000; i += 200) {
		unsigned int b;

		for (b = 0; b < 4; b++) {
			for (k = 0; k < 50; k++) {
				unsigned int at = b * 50 + (unsigned int)k;

				snprintf(keys[at], sizeof(keys[at]), "full-%u", i + at);
				kvc_prep_data(&ios[at], keys[at], strlen(keys[at]),
					      data, 65536);
			}
			vt_expect(!kvc_queue_put(q, &call, &ios[b * 50], 50, b), "queue");
		}
		n = kvc_queue_wait(q, done, DEPTH, 4, 0);
		vt_expect(n == 4, "%d completed", n);
		for (k = 0; k < n; k++)
			vt_expect(done[k].result == 50, "%lld of 50 (%d)",
				  (long long)done[k].result,
				  ios[done[k].user_data * 50].status);
	}
	vt_expect(!kvc_info(kvc, &info, NULL, 0) && info.evicted_objects > evicted,
		  "nothing was evicted: make the pool smaller");
	vt_end();
	kvc_queue_close(q);
}

/* Killed and closed with commands under way: nothing hangs, nothing is lost. */
static void test_killed(void)
{
	unsigned int round;

	vt_begin("tasks that are killed, or leave, with commands under way");
	for (round = 0; round < 40; round++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			struct kvc *k = kvc_open(NULL, kvc_pool(kvc));
			struct kvc_queue *q = round % 2 ?
						      kvc_queue_open_thread(k, DEPTH) :
						      kvc_queue_open(k, DEPTH);
			unsigned int i, n = round % 3 ? 1 : 70;

			if (!q)
				_exit(1);
			for (i = 0; i < DEPTH && i * n < KEYS - n; i++) {
				struct kvcache_io *io = &ios[i * n];
				unsigned int j;

				for (j = 0; j < n; j++) {
					snprintf(keys[i * n + j], sizeof(keys[0]),
						 "killed-%u-%u", round, i * n + j);
					kvc_prep_data(&io[j], keys[i * n + j],
						      strlen(keys[i * n + j]),
						      data, SIZE);
				}
				if (round & 1)
					kvc_queue_get(q, NULL, io, n, i);
				else
					kvc_queue_put(q, NULL, io, n, i);
			}
			kvc_queue_submit(q);
			if (round % 4 == 2)
				raise(SIGKILL);
			if (round % 4 == 3)
				_exit(0);
			for (;;)
				pause();
		}
		vt_sleep_ms(round % 4 < 2 ? 5 + round : 0);
		if (round % 4 < 2)
			kill(pid, SIGKILL);
		vt_expect(waitpid(pid, &status, 0) == pid, "it ended");
	}
	vt_end();

	/* Nobody comes to see the answer: what it holds is let go all the same. */
	vt_begin("a ring that nobody looks at does not stop a detach");
	{
		struct kvc_queue *q = kvc_queue_open_thread(kvc, DEPTH);
		struct kvc_done done[DEPTH];
		int n;

		name_keys("ring");
		prep(true);
		vt_need(q, "a queue");
		vt_expect(!kvc_queue_put(q, NULL, ios, KEYS, 1), "queue");
		vt_expect(kvc_queue_submit(q) == 1, "submit");
		n = kvc_detach(kvc, kvc_pool(kvc), 20000);
		vt_expect(!n, "detach: %d", n);
		n = kvc_queue_wait(q, done, DEPTH, 1, 0);
		vt_expect(n == 1, "wait: %d", n);
		prep(false);
		vt_expect(!kvc_queue_exists(q, NULL, ios, 1, 1) &&
			  kvc_queue_wait(q, done, DEPTH, 1, 0) == 1 &&
			  done[0].result == -ENODEV, "after it: %lld",
			  (long long)done[0].result);
		kvc_queue_close(q);
	}
	vt_end();
}

int main(int argc, char **argv)
{
	struct rlimit memory = { RLIM_INFINITY, RLIM_INFINITY };
	char node[32];
	size_t i;

	kvc = kvc_open(NULL, argc > 1 ? (unsigned int)atoi(argv[1]) : 1);
	snprintf(node, sizeof(node), "/dev/kvcache%u", argc > 1 ? (unsigned int)atoi(argv[1]) : 1);
	fd = open(node, O_RDWR | O_CLOEXEC);
	vt_need(kvc && fd >= 0, "open: %s", strerror(errno));
	setrlimit(RLIMIT_MEMLOCK, &memory);
	data = vt_map((size_t)KEYS * SIZE);
	vt_result(kvc_caps(kvc)->features & KVCACHE_FEAT_URING, "the kernel says that it can");
	for (i = 0; i < sizeof(ring_flags) / sizeof(ring_flags[0]); i++) {
		test_round(ring_flags[i], 0, false);
		test_round(ring_flags[i], 0, true);
	}
	test_round(0, IOSQE_ASYNC, false);
	test_round(0, IOSQE_ASYNC, true);
	test_list();
	test_refused();
	test_taken(0);
	test_taken(IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	test_queue(false);
	test_queue(true);
	test_wait();
	test_killed();
	vt_exit();
}
