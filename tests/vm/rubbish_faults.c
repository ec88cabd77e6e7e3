// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation with each of its allocations, and each of its accesses to
 * user memory, failing in turn (/proc/thread-self/fail-nth): the first call
 * fails at the first place that can fail, the next at the second, until one
 * goes through. What is answered must be documented, a put that was refused
 * must not be there, one that was not must be, to the byte, and afterwards
 * the same call without a fault must do its work.
 *
 * usage: rubbish_faults keys|attach|attach-all MEMBER...
 *
 * attach goes through its first 40 places and a few of those behind,
 * attach-all through every one, which takes long.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "again.h"

#define MOST 2000

static struct kvc *kvc;
static const struct kvc_call call = { .deadline_ms = 10000 };
static const char *const *members;
static unsigned int nr_members;
static uint8_t *buf, *got_buf;
static struct iovec *iov;
static int nth_fd;
static bool every;

static void nth(unsigned int n)
{
	ssize_t len;
	char text[16];

	len = snprintf(text, sizeof(text), "%u", n);
	/* The fault that is left over may be in this very write. */
	if (pwrite(nth_fd, text, (size_t)len, 0) != len &&
	    pwrite(nth_fd, text, (size_t)len, 0) != len)
		vt_not_ok("fail-nth: errno %d", errno);
}

/* Was the fault injected? And no more of them. */
static bool injected(void)
{
	char text[16] = "";
	ssize_t n = pread(nth_fd, text, sizeof(text) - 1, 0);

	nth(0);
	return n > 0 && atoi(text) == 0;
}

/* --- operations: each works on an object of its own --- */

struct op {
	const char *name;
	unsigned long cmd;
	size_t len;
	unsigned int pieces;	/* 0: one, without an array */
	unsigned int shift;	/* of memory, in bytes */
	unsigned int batch;
	bool range;
	bool pin;
};

static const struct op ops[] = {
	{ "put of 4 KiB", KVCACHE_IOC_PUT, 4096, 0, 0, 1, false, false },
	{ "put of 70000 unaligned bytes", KVCACHE_IOC_PUT, 70000, 0, 3, 1, false, false },
	{ "put of 400000 bytes", KVCACHE_IOC_PUT, 400000, 0, 0, 1, false, false },
	{ "put of 500 pieces", KVCACHE_IOC_PUT, 100000, 500, 1, 1, false, false },
	{ "put with a pin", KVCACHE_IOC_PUT, 100, 0, 0, 1, false, true },
	{ "put of 4 keys", KVCACHE_IOC_PUT, 2000, 0, 0, 4, false, false },
	{ "get of 4 KiB", KVCACHE_IOC_GET, 4096, 0, 0, 1, false, false },
	{ "get of 70000 unaligned bytes", KVCACHE_IOC_GET, 70000, 0, 3, 1, false, false },
	{ "get of 400000 bytes", KVCACHE_IOC_GET, 400000, 0, 0, 1, false, false },
	{ "get of 500 pieces", KVCACHE_IOC_GET, 100000, 500, 1, 1, false, false },
	{ "get of a range", KVCACHE_IOC_GET, 100000, 0, 5, 1, true, false },
	{ "get of 4 keys", KVCACHE_IOC_GET, 2000, 0, 0, 4, false, false },
	{ "exists", KVCACHE_IOC_EXISTS, 100, 0, 0, 1, false, false },
	{ "exists with a pin", KVCACHE_IOC_EXISTS, 100, 0, 0, 1, false, true },
	{ "exists of 4 keys", KVCACHE_IOC_EXISTS, 100, 0, 0, 4, false, false },
	{ "delete", KVCACHE_IOC_DELETE, 100, 0, 0, 1, false, false },
	{ "delete of 4 keys", KVCACHE_IOC_DELETE, 100, 0, 0, 4, false, false },
};

#define BATCH 4
static struct kvcache_io ios[BATCH];
static char keys[BATCH][64];

static uint64_t seed_of(unsigned int k, unsigned int n)
{
	return vt_mix(k, n);
}

/* Bytes that the object with number @k of this round is made of. */
static void fill(const struct op *op, unsigned int k, unsigned int n, uint8_t *p)
{
	size_t at;
	unsigned int i;

	if (!op->pieces) {
		vt_fill(p, seed_of(k, n), 0, op->len);
		return;
	}
	for (i = 0, at = 0; i < op->pieces; at += iov[i++].iov_len)
		vt_fill(iov[i].iov_base, seed_of(k, n), at, iov[i].iov_len);
}

static void prepare(const struct op *op, unsigned int n)
{
	bool data = op->cmd == KVCACHE_IOC_PUT || op->cmd == KVCACHE_IOC_GET;
	unsigned int k, i;

	for (k = 0; k < op->batch; k++) {
		uint8_t *p = buf + k * 4096 + op->shift;

		/* A put is of a new key, all else of what there is. */
		if (op->cmd == KVCACHE_IOC_PUT)
			snprintf(keys[k], sizeof(keys[k]), "%s %u.%u", op->name, n, k);
		else
			snprintf(keys[k], sizeof(keys[k]), "there %s %u", op->name, k);
		kvc_prep(&ios[k], keys[k], strlen(keys[k]));
		ios[k].status = 12345;
		if (op->pin)
			kvc_set_pin(&ios[k], vt_now() + 1);
		if (!data)
			continue;
		for (i = 0; i < op->pieces; i++) {
			size_t each = op->len / op->pieces;

			iov[i].iov_base = p + i * (each + 24);
			iov[i].iov_len = each;
		}
		if (op->cmd == KVCACHE_IOC_PUT)
			fill(op, k, n, p);
		if (op->pieces)
			kvc_prep_iovec(&ios[k], keys[k], strlen(keys[k]), iov,
				       op->pieces);
		else
			kvc_prep_data(&ios[k], keys[k], strlen(keys[k]), p, op->len);
		if (op->range)
			kvc_set_range(&ios[k], 777);
		if (op->pin)
			kvc_set_pin(&ios[k], vt_now() + 1);
	}
}

/* What is to be got, looked for or deleted. */
static void put_there(const struct op *op)
{
	unsigned int k;
	int err;

	for (k = 0; k < op->batch; k++) {
		snprintf(keys[k], sizeof(keys[k]), "there %s %u", op->name, k);
		vt_fill(got_buf, seed_of(k, 0), 0, op->len);
		err = again_put(kvc, &call, keys[k], strlen(keys[k]), got_buf,
				op->len);
		vt_expect(!err || err == -EEXIST, "put %s: %d", keys[k], err);
	}
}

static ssize_t run(const struct op *op)
{
	switch (op->cmd) {
	case KVCACHE_IOC_PUT:
		return kvc_batch_put(kvc, &call, ios, op->batch);
	case KVCACHE_IOC_GET:
		return kvc_batch_get(kvc, &call, ios, op->batch);
	case KVCACHE_IOC_EXISTS:
		return kvc_batch_exists(kvc, &call, ios, op->batch);
	default:
		return kvc_batch_delete(kvc, &call, ios, op->batch);
	}
}

/* EFAULT is what a failed access to user memory must be. */
static bool allowed(int status)
{
	return !status || status == -EAGAIN || status == -EFAULT;
}

static bool key_is(const struct op *op, unsigned int k, unsigned int n, int *got)
{
	ssize_t len = again_get(kvc, &call, keys[k], strlen(keys[k]), got_buf,
				1 << 20, NULL);

	*got = (int)len;
	return len == (ssize_t)op->len &&
	       vt_differs(got_buf, seed_of(k, n), 0, op->len) < 0;
}

static void check(const struct op *op, unsigned int n, ssize_t done)
{
	unsigned int k;
	int got;

	/* The call was refused, or did its work and could not say so. */
	if (done < 0) {
		vt_expect(done == -ENOMEM || done == -EFAULT, "%s, fault %u: %zd",
			  op->name, n, done);
		for (k = 0; k < op->batch && op->cmd == KVCACHE_IOC_PUT; k++) {
			bool right = key_is(op, k, n, &got);

			vt_expect(right || got == -ENOENT,
				  "%s, fault %u: get: %d, or wrong bytes", op->name,
				  n, got);
			vt_expect(got == -ENOENT || done != -ENOMEM,
				  "%s, fault %u: there after ENOMEM", op->name, n);
		}
		return;
	}
	for (k = 0; k < op->batch; k++) {
		int status = ios[k].status;

		vt_expect(allowed(status), "%s, fault %u: status %d", op->name, n,
			  status);
		switch (op->cmd) {
		case KVCACHE_IOC_PUT:
			vt_expect(key_is(op, k, n, &got) == !status &&
				  (!status || got == -ENOENT),
				  "%s, fault %u: status %d, and get says %d",
				  op->name, n, status, got);
			break;
		case KVCACHE_IOC_GET:
			if (status)
				break;
			if (op->pieces) {
				size_t at = 0;
				unsigned int i;

				for (i = 0; i < op->pieces; at += iov[i++].iov_len)
					if (!vt_expect(vt_differs(iov[i].iov_base,
							seed_of(k, 0), at,
							iov[i].iov_len) < 0,
						       "%s, fault %u: wrong bytes",
						       op->name, n))
						break;
			} else {
				vt_expect(vt_differs(buf + k * 4096 + op->shift,
						     seed_of(k, 0),
						     op->range ? 777 : 0,
						     ios[k].transferred) < 0,
					  "%s, fault %u: wrong bytes", op->name, n);
			}
			break;
		case KVCACHE_IOC_DELETE:
			got = again_exists(kvc, &call, keys[k], strlen(keys[k]),
					   NULL);
			vt_expect(got == (status ? 0 : -ENOENT),
				  "%s, fault %u: status %d, and exists says %d",
				  op->name, n, status, got);
			break;
		}
	}
}

static void clean(const struct op *op)
{
	unsigned int k;

	for (k = 0; k < op->batch; k++)
		again_delete(kvc, &call, keys[k], strlen(keys[k]));
}

static void test_op(const struct op *op)
{
	unsigned int n, refused = 0;
	ssize_t done;
	bool hit;

	vt_begin("%s: every fault in turn is borne", op->name);
	for (n = 1; n < MOST; n++) {
		if (op->cmd != KVCACHE_IOC_PUT)
			put_there(op);
		prepare(op, n);
		nth(n);
		done = run(op);
		hit = injected();
		if (!hit) {
			vt_expect(done == op->batch, "%s without a fault: %zd",
				  op->name, done);
			break;
		}
		refused += done != op->batch;
		check(op, n, done);
		if (op->cmd == KVCACHE_IOC_PUT)
			clean(op);
	}
	/* A look at one key takes no memory that it could not do without. */
	if (op->cmd != KVCACHE_IOC_EXISTS || op->batch > 1) {
		vt_expect(n > 2, "%u faults", n - 1);
		vt_expect(refused, "none of %u faults was seen", n - 1);
	}
	vt_expect(n < MOST, "%u faults", n - 1);
	/* A get without its memory may have been told so, the object not. */
	if (op->cmd == KVCACHE_IOC_GET)
		check(op, 0, done);
	clean(op);
	vt_note("%s: %u places, %u of them were felt", op->name, n - 1, refused);
	vt_end();
}

/* --- calls that are not about keys --- */

static int do_caps(void)
{
	struct kvc *other = kvc_open(NULL, 0);

	if (!other)
		return -errno;
	kvc_close(other);
	return 0;
}

static int do_info(void)
{
	struct kvcache_member_info m[8];
	struct kvcache_info info;

	return kvc_info(kvc, &info, m, 8);
}

static int do_pools(void)
{
	uint32_t pools[8];
	int n = kvc_pools(kvc, pools, 8);

	return n < 0 ? n : 0;
}

static int do_list(void)
{
	struct kvc_list *list = kvc_list_open(kvc, &call, "there", 5, 0);
	struct kvc_object o;
	int n = 0, err;

	if (!list)
		return -errno;
	while ((err = kvc_list_next(list, &o)) == 1)
		n++;
	kvc_list_close(list);
	return err ? err : n == 100 ? 0 : -ENODATA;
}

static int do_detach(void)
{
	return kvc_detach(kvc, 1, 10000);
}

static int do_attach(void)
{
	struct kvc_attach_options o = {
		.paths = members,
		.nr_members = nr_members,
		.pool = 1,
		.nqn = "nqn.2014-08.org.nvmexpress:faults",
		.node = "faults",
		.boot_id = (const uint8_t *)"0123456789abcde",
	};
	char reason[768];
	int got = kvc_attach(kvc, &o, reason, sizeof(reason));

	return got < 0 ? got : 0;
}

static bool attached(void)
{
	return kvc_pools(kvc, NULL, 0) > 0;
}

/* Another lease may have to run out first. */
static void attach_again(void)
{
	uint64_t end = vt_ms() + 30000;
	int err = 0;

	while (!attached() && (err = do_attach()) && vt_ms() < end)
		;
	vt_expect(!err, "attach again: %d", err);
}

static void test_call(const char *name, int (*run_it)(void), bool want_attached)
{
	unsigned int n, refused = 0;
	bool hit;
	int got;

	vt_begin("%s: every fault in turn is borne", name);
	for (n = 1; n < MOST; n += run_it == do_attach && n > 40 && !every ?
				   1 + n / 20 : 1) {
		/* In the state that it is to begin with. */
		if (want_attached)
			attach_again();
		if (!want_attached && attached())
			vt_expect(!do_detach(), "detach again");
		nth(n);
		got = run_it();
		hit = injected();
		if (!hit) {
			vt_expect(!got, "%s without a fault: %d", name, got);
			break;
		}
		refused += got != 0;
		vt_expect(!got || got == -ENOMEM || got == -EFAULT ||
			  got == -EAGAIN || got == -EIO ||
			  (run_it == do_attach &&
			   (got == -EBUSY || got == -ESTALE ||
			    got == -ETIMEDOUT)),
			  "%s, fault %u: %d", name, n, got);
	}
	vt_expect(n > 1 && n < MOST, "%u faults", n - 1);
	vt_note("%s: %u places, %u of them were felt", name, n - 1, refused);
	vt_end();
}

static void setup(const char *file, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", file);
	vt_need(!vt_write(path, text), "write %s to %s", text, path);
}

int main(int argc, char **argv)
{
	unsigned int i;
	uint64_t start;
	int err;

	vt_need(argc >= 3, "usage: rubbish_faults keys|attach|attach-all MEMBER...");
	every = !strcmp(argv[1], "attach-all");
	members = (const char *const *)argv + 2;
	nr_members = (unsigned int)argc - 2;
	/* Of no probability of their own: only fail-nth counts. */
	setup("failslab/probability", "0");
	setup("failslab/ignore-gfp-wait", "0");
	setup("failslab/verbose", "0");
	setup("fail_page_alloc/probability", "0");
	setup("fail_page_alloc/ignore-gfp-wait", "0");
	setup("fail_page_alloc/ignore-gfp-highmem", "0");
	setup("fail_page_alloc/min-order", "0");
	setup("fail_page_alloc/verbose", "0");
	setup("fail_usercopy/probability", "0");
	setup("fail_usercopy/verbose", "0");
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	vt_need(nth_fd >= 0, "open fail-nth: errno %d", errno);

	kvc = kvc_open(NULL, 1);
	vt_need(kvc, "open " KVC_DEVICE ": errno %d", errno);
	buf = vt_map(1 << 20);
	got_buf = vt_map(1 << 20);
	iov = vt_map(1000 * sizeof(*iov));
	/* A fault that the compiler's memory would take is not ours. */
	memset(buf, 1, 1 << 20);
	memset(got_buf, 1, 1 << 20);
	memset(iov, 1, 1000 * sizeof(*iov));

	start = vt_ms();
	err = attached() ? 0 : do_attach();
	vt_need(!err, "attach: %d", err);
	for (i = 0; i < sizeof(ops) / sizeof(*ops) && !strcmp(argv[1], "keys"); i++)
		test_op(&ops[i]);
	for (i = 0; i < 100; i++) {
		char key[40];

		snprintf(key, sizeof(key), "there for the list %u", i);
		vt_fill(buf, i, 0, 3000);
		err = again_put(kvc, &call, key, strlen(key), buf, 3000);
		vt_need(!err, "put: %d", err);
	}
	if (!strcmp(argv[1], "keys")) {
		test_call("caps", do_caps, true);
		test_call("info", do_info, true);
		test_call("pools", do_pools, true);
		test_call("list", do_list, true);
	} else {
		test_call("detach", do_detach, true);
		test_call("attach", do_attach, false);
	}
	vt_begin("what was put is there after all of that");
	for (i = 0; i < 100; i++) {
		char key[40];
		ssize_t got;

		snprintf(key, sizeof(key), "there for the list %u", i);
		got = again_get(kvc, &call, key, strlen(key), got_buf, 1 << 20,
				NULL);
		vt_expect(got == 3000 && vt_differs(got_buf, i, 0, 3000) < 0,
			  "get %s: %zd, or wrong bytes", key, got);
	}
	vt_end();
	err = do_detach();
	vt_result(!err, "detach in the end");
	vt_note("%llu ms", (unsigned long long)(vt_ms() - start));
	vt_exit();
}
