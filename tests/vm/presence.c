// SPDX-License-Identifier: GPL-2.0
/*
 * The presence table: that it tells what the kernel would, while objects come and
 * go and the table grows; that it says when it can't; and mappings of all kinds.
 *
 * usage: presence POOL [TEST]...
 *
 * The pool is detached and attached again on the way.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "again.h"

#define BATCH	128
#define PAGE	4096UL
#define KEY	32

static unsigned int number;
static struct kvc *kvc;		/* mapped */
static const struct kvc_call call = { .deadline_ms = 60000 };
static const struct kvc_call kernel = {
	.deadline_ms = 60000,
	.flags = KVC_CALL_KERNEL,
};
static char data[32768];
static size_t size = 100;	/* of an object */
static bool evicting;		/* that is what is tested */

static uint64_t asked(void)
{
	struct kvcache_info info;

	vt_need(!kvc_info(kvc, &info, NULL, 0), "info");
	return info.exists_hits + info.exists_misses;
}

static struct kvc *open_mapped(void)
{
	struct kvc *k = kvc_open(NULL, number);
	int error;

	vt_need(k, "open: %s", strerror(errno));
	error = kvc_map(k, 0);
	vt_need(!error, "map: %d", error);
	return k;
}

static size_t key_of(char *key, const char *what, unsigned int who, uint64_t i)
{
	return (size_t)snprintf(key, KEY, "%s-%u-%llu", what, who,
				(unsigned long long)i);
}

static void put_prep(struct kvcache_io *io, const char *key, size_t len)
{
	kvc_prep_data(io, key, len, data, size);
	/* Segments full of what was deleted are evicted long before the pool is full. */
	if (!evicting)
		kvc_set_pin(io, vt_now() + 3600);
}

/* @count keys from @first on; each must have status @want, or @or. */
static void many(struct kvc *k, unsigned long cmd, const char *what,
		 unsigned int who, uint64_t first, unsigned int count, int want,
		 int or)
{
	struct kvcache_io ios[BATCH];
	char keys[BATCH][KEY];
	unsigned int i, n;
	ssize_t ret;

	for (; count; count -= n, first += n) {
		n = count < BATCH ? count : BATCH;
		for (i = 0; i < n; i++) {
			size_t len = key_of(keys[i], what, who, first + i);

			if (cmd == KVCACHE_IOC_PUT)
				put_prep(&ios[i], keys[i], len);
			else
				kvc_prep(&ios[i], keys[i], len);
		}
		ret = again_batch(k, cmd, &call, ios, n);
		vt_expect(ret >= 0, "%s: %zd", what, ret);
		for (i = 0; i < n && ret >= 0; i++) {
			if (ios[i].status == want || ios[i].status == or)
				continue;
			vt_expect(false, "%s: %d; the kernel says %d", keys[i],
				  ios[i].status,
				  again_exists(k, &kernel, keys[i], strlen(keys[i]),
					       NULL));
		}
	}
}

/* --- one thread --- */

static void test_answers(void)
{
	uint64_t before, length;

	vt_begin("exists asks the kernel only for what the table can't tell");
	many(kvc, KVCACHE_IOC_PUT, "answers", 0, 0, 2000, 0, 0);
	before = asked();
	many(kvc, KVCACHE_IOC_EXISTS, "answers", 0, 0, 2000, 0, 0);
	many(kvc, KVCACHE_IOC_EXISTS, "absent", 0, 0, 2000, -ENOENT, -ENOENT);
	vt_expect(!kvc_exists(kvc, NULL, "answers-0-5", 11, NULL), "one");
	vt_expect(kvc_exists(kvc, NULL, "answers-0-x", 11, &length) == -ENOENT, "none");
	vt_expect(asked() == before, "the kernel was asked %llu times",
		  (unsigned long long)(asked() - before));
	vt_expect(!kvc_exists(kvc, NULL, "answers-0-5", 11, &length) &&
		  length == size, "the length");
	vt_expect(!kvc_exists(kvc, &kernel, "answers-0-5", 11, NULL), "by the kernel");
	vt_expect(!kvc_pin(kvc, &call, "answers-0-5", 11, vt_now() + 1), "pin");
	vt_expect(asked() == before + 3, "length, flag and pin: %llu calls",
		  (unsigned long long)(asked() - before));
	vt_expect(kvc_exists(kvc, NULL, "answers-0-5", 0, NULL) == -EINVAL, "no key");
	vt_expect(kvc_exists(kvc, &(struct kvc_call){ .tenant = 7 }, "answers-0-5",
			     11, NULL) == -ENOENT, "another tenant");
	many(kvc, KVCACHE_IOC_DELETE, "answers", 0, 0, 1000, 0, 0);
	before = asked();
	many(kvc, KVCACHE_IOC_EXISTS, "answers", 0, 0, 1000, -ENOENT, -ENOENT);
	many(kvc, KVCACHE_IOC_EXISTS, "answers", 0, 1000, 1000, 0, 0);
	vt_expect(asked() == before, "the kernel was asked after deletes");
	many(kvc, KVCACHE_IOC_DELETE, "answers", 0, 1000, 1000, 0, 0);
	vt_end();
}

static void test_expiry(void)
{
	struct kvcache_io io;
	uint64_t until;

	vt_begin("an object that has expired is gone");
	kvc_prep_data(&io, "expires", 7, data, size);
	until = vt_now() + 3;
	kvc_set_expiry(&io, until);
	vt_expect(!again_one(kvc, KVCACHE_IOC_PUT, &call, &io), "put");
	vt_expect(!kvc_exists(kvc, NULL, "expires", 7, NULL) || vt_now() >= until,
		  "it is there");
	while (vt_now() < until)
		vt_sleep_ms(100);
	vt_expect(kvc_exists(kvc, NULL, "expires", 7, NULL) == -ENOENT, "it is gone");
	vt_end();
}

static void test_batch(void)
{
	struct kvcache_io ios[4];
	ssize_t ret;

	vt_begin("a batch, part of which the kernel has to be asked for");
	many(kvc, KVCACHE_IOC_PUT, "batch", 0, 0, 2, 0, 0);
	kvc_prep(&ios[0], "batch-0-0", 9);
	kvc_prep(&ios[1], "batch-0-1", 9);
	kvc_set_pin(&ios[1], vt_now() + 1);
	kvc_prep(&ios[2], "batch-0-2", 9);
	kvc_prep(&ios[3], "batch-0-1", 9);
	ret = again_batch(kvc, KVCACHE_IOC_EXISTS, &call, ios, 4);
	vt_expect(ret == 3, "%zd", ret);
	vt_expect(!ios[0].status && !ios[1].status && ios[2].status == -ENOENT &&
		  !ios[3].status, "%d %d %d %d", ios[0].status, ios[1].status,
		  ios[2].status, ios[3].status);
	vt_expect(!ios[0].length && ios[1].length == size, "lengths");
	ios[1].data = 8;
	ret = kvc_batch_exists(kvc, &call, ios, 4);
	vt_expect(ret == -EINVAL || ios[1].status == -EINVAL, "malformed: %zd, %d",
		  ret, ios[1].status);
	many(kvc, KVCACHE_IOC_DELETE, "batch", 0, 0, 2, 0, 0);
	vt_end();
}

static void test_grows(void)
{
	const struct kvcache_presence *head;
	struct kvcache_presence_map m = { .size = sizeof(m), .pool = number };
	uint64_t before;

	vt_begin("a table that is full is followed by a larger one");
	many(kvc, KVCACHE_IOC_PUT, "grows", 0, 0, 100, 0, 0);
	vt_need(!ioctl(kvc_fd(kvc), KVCACHE_IOC_PRESENCE, &m), "ioctl");
	head = mmap(NULL, m.bytes, PROT_READ, MAP_SHARED, kvc_fd(kvc),
		    (off_t)m.offset);
	vt_need(head != MAP_FAILED, "mmap: %s", strerror(errno));
	many(kvc, KVCACHE_IOC_PUT, "grows", 0, 100, 3900, 0, 0);
	vt_expect(head->wanted, "no larger one is wanted");
	/* By itself, when somebody looks. */
	vt_sleep_ms(200);
	many(kvc, KVCACHE_IOC_EXISTS, "grows", 0, 0, 4000, 0, 0);
	vt_expect(head->state == KVCACHE_PRESENCE_MOVED, "state %u", head->state);
	before = asked();
	many(kvc, KVCACHE_IOC_EXISTS, "grows", 0, 0, 4000, 0, 0);
	many(kvc, KVCACHE_IOC_EXISTS, "absent", 0, 0, 1000, -ENOENT, -ENOENT);
	vt_expect(asked() == before, "the kernel was asked");
	munmap((void *)(uintptr_t)head, m.bytes);
	many(kvc, KVCACHE_IOC_DELETE, "grows", 0, 0, 4000, 0, 0);
	vt_end();
}

/* --- threads --- */

#define THREADS	4

static atomic_bool stop;
static unsigned int rounds;

/* Puts and deletes keys of its own, and looks at once. */
static void *come_and_go(void *arg)
{
	unsigned int who = (unsigned int)(uintptr_t)arg, r;

	for (r = 0; r < rounds; r++) {
		many(kvc, KVCACHE_IOC_PUT, "go", who, r % 3 * 200, 400, 0, -EEXIST);
		many(kvc, KVCACHE_IOC_EXISTS, "go", who, r % 3 * 200, 400, 0, 0);
		many(kvc, KVCACHE_IOC_DELETE, "go", who, r % 2 * 400, 400, 0, -ENOENT);
		many(kvc, KVCACHE_IOC_EXISTS, "go", who, r % 2 * 400, 400, -ENOENT,
		     -ENOENT);
	}
	return NULL;
}

/*
 * Has the only mapping that there is, again and again: the table is made anew from
 * the index while others put and delete.
 */
static void *map_anew(void *arg)
{
	while (!stop) {
		struct kvc *k = open_mapped();

		many(k, KVCACHE_IOC_EXISTS, "stays", 0, 0, 1000, 0, 0);
		many(k, KVCACHE_IOC_EXISTS, "never", 0, 0, 1000, -ENOENT, -ENOENT);
		kvc_close(k);
	}
	return arg;
}

static void run_threads(void *(*beside)(void *))
{
	pthread_t t[THREADS], b;
	uintptr_t i;

	stop = false;
	if (beside)
		pthread_create(&b, NULL, beside, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, come_and_go, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	stop = true;
	if (beside)
		pthread_join(b, NULL);
}

static void delete_all(void)
{
	unsigned int who;

	for (who = 0; who < THREADS; who++)
		many(kvc, KVCACHE_IOC_DELETE, "go", who, 0, 800, 0, -ENOENT);
}

static void test_threads(void)
{
	vt_begin("%u threads put and delete, and find what they did", THREADS);
	rounds = 6;
	run_threads(NULL);
	delete_all();
	vt_end();
}

static void test_anew(void)
{
	vt_begin("tables are made anew meanwhile");
	many(kvc, KVCACHE_IOC_PUT, "stays", 0, 0, 1000, 0, 0);
	kvc_close(kvc);
	kvc = kvc_open(NULL, number);	/* not mapped */
	vt_need(kvc, "open");
	rounds = 6;
	run_threads(map_anew);
	kvc_close(kvc);
	kvc = open_mapped();
	delete_all();
	many(kvc, KVCACHE_IOC_EXISTS, "stays", 0, 0, 1000, 0, 0);
	many(kvc, KVCACHE_IOC_DELETE, "stays", 0, 0, 1000, 0, 0);
	vt_end();
}

/* Nothing is put while this looks: what was there before and after was there. */
static void compare(unsigned int who, uint64_t n, unsigned int *hits)
{
	char key[KEY];
	uint64_t i;

	for (i = 0; i < n; i++) {
		size_t len = key_of(key, "evict", who, i);
		int before = again_exists(kvc, &kernel, key, len, NULL);
		int found = again_exists(kvc, &call, key, len, NULL);
		int after = again_exists(kvc, &kernel, key, len, NULL);

		vt_expect(found == before || found == after,
			  "%s: %d by the table, %d and %d by the kernel", key,
			  found, before, after);
		*hits += !found;
	}
}

/* Of each thread: all together are more than there is room for. */
#define PUTS	2500

static void *fill_up(void *arg)
{
	unsigned int who = (unsigned int)(uintptr_t)arg;

	many(kvc, KVCACHE_IOC_PUT, "evict", who, 0, PUTS, 0, -EEXIST);
	return NULL;
}

static void *look_meanwhile(void *arg)
{
	unsigned int hits = 0;

	while (!stop)
		compare(THREADS + 1, 200, &hits);
	vt_expect(hits, "none was there");
	return arg;
}

static void test_evict(void)
{
	struct kvcache_info info;
	unsigned int hits = 0;
	pthread_t t[THREADS], b;
	uintptr_t i;

	vt_begin("what is evicted is gone, what is moved is there");
	size = sizeof(data);
	evicting = true;
	many(kvc, KVCACHE_IOC_PUT, "evict", THREADS + 1, 0, 200, 0, -EEXIST);
	stop = false;
	pthread_create(&b, NULL, look_meanwhile, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, fill_up, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	stop = true;
	pthread_join(b, NULL);
	vt_need(!kvc_info(kvc, &info, NULL, 0), "info");
	vt_expect(info.evicted_objects, "nothing was evicted of %llu",
		  (unsigned long long)info.objects);
	size = 100;
	evicting = false;
	for (i = 0; i < THREADS; i++)
		compare((unsigned int)i, PUTS, &hits);
	vt_expect(hits && hits < THREADS * PUTS, "%u are there", hits);
	vt_end();
}

/* --- mappings --- */

static void refused_map(const char *what, int fd, size_t bytes, int prot, int flags,
			uint64_t offset, int error)
{
	void *at = mmap(NULL, bytes, prot, flags, fd, (off_t)offset);
	int got = at == MAP_FAILED ? errno : 0;

	vt_expect(got == error, "%s: %s, not %s", what, strerror(got), strerror(error));
	if (!got)
		munmap(at, bytes);
}

static void refused_ioctl(const char *what, int fd, struct kvcache_presence_map m,
			  int error)
{
	int got = ioctl(fd, KVCACHE_IOC_PRESENCE, &m) ? errno : 0;

	vt_expect(got == error, "%s: %s, not %s", what, strerror(got), strerror(error));
}

static void test_refused(void)
{
	struct kvcache_presence_map m = { .size = sizeof(m), .pool = number }, bad;
	int fd = kvc_fd(kvc), ro = open("/dev/kvcache", O_RDONLY | O_CLOEXEC);
	uint64_t pool = 1ULL << KVCACHE_PRESENCE_POOL_SHIFT;
	char *at;

	vt_begin("what is malformed is refused");
	vt_need(!ioctl(fd, KVCACHE_IOC_PRESENCE, &m), "ioctl");
	bad = m, bad.flags = 1;
	refused_ioctl("an unknown flag", fd, bad, EINVAL);
	bad = m, bad.reserved = 1;
	refused_ioctl("a reserved field", fd, bad, EINVAL);
	bad = m, bad.size = 0;
	refused_ioctl("a size", fd, bad, EINVAL);
	bad = m, bad.pool = 4711;
	refused_ioctl("a pool", fd, bad, ENODEV);
	refused_ioctl("a device that can't be written to", ro, m, EACCES);
	vt_expect(ioctl(fd, KVCACHE_IOC_PRESENCE, 8) && errno == EFAULT, "a pointer");

	refused_map("to write", fd, m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    m.offset, EACCES);
	refused_map("to execute", fd, m.bytes, PROT_READ | PROT_EXEC, MAP_SHARED,
		    m.offset, EACCES);
	refused_map("private", fd, m.bytes, PROT_READ, MAP_PRIVATE, m.offset, EINVAL);
	refused_map("by who may not write", ro, m.bytes, PROT_READ, MAP_SHARED,
		    m.offset, EACCES);
	refused_map("too much", fd, m.bytes + PAGE, PROT_READ, MAP_SHARED, m.offset,
		    ENXIO);
	refused_map("too little", fd, PAGE, PROT_READ, MAP_SHARED, m.offset, ENXIO);
	refused_map("a huge size", fd, 1UL << 40, PROT_READ, MAP_SHARED, m.offset,
		    ENXIO);
	refused_map("a part", fd, m.bytes - PAGE, PROT_READ, MAP_SHARED,
		    m.offset + PAGE, EINVAL);
	refused_map("another pool", fd, m.bytes, PROT_READ, MAP_SHARED, 4711 * pool,
		    ENODEV);
	refused_map("no pool's number", fd, m.bytes, PROT_READ, MAP_SHARED,
		    0x80000000 * pool, EINVAL);
	at = mmap(NULL, m.bytes, PROT_READ, MAP_SHARED, fd, (off_t)m.offset);
	vt_need(at != MAP_FAILED, "mmap: %s", strerror(errno));
	vt_expect(mprotect(at, PAGE, PROT_READ | PROT_WRITE) && errno == EACCES,
		  "made writable");
	vt_expect(mremap(at, m.bytes, 2 * m.bytes, MREMAP_MAYMOVE) == MAP_FAILED,
		  "made larger");
	munmap(at, m.bytes);
	close(ro);
	vt_end();
}

static uint64_t sum(const void *at, size_t bytes)
{
	const volatile uint64_t *word = at;
	uint64_t s = 0;
	size_t i;

	for (i = 0; i < bytes / sizeof(*word); i++)
		s += word[i];
	return s;
}

static void test_mappings(void)
{
	struct kvcache_presence_map m = { .size = sizeof(m), .pool = number };
	const struct kvcache_presence *head;
	int fd = kvc_fd(kvc), status = -1;
	char *at;
	pid_t pid;

	vt_begin("mappings are moved, split and inherited");
	many(kvc, KVCACHE_IOC_PUT, "map", 0, 0, 100, 0, -EEXIST);
	kvc_close(kvc);		/* the last but these */
	fd = open("/dev/kvcache", O_RDWR | O_CLOEXEC);
	vt_need(!ioctl(fd, KVCACHE_IOC_PRESENCE, &m), "ioctl");
	at = mmap(NULL, m.bytes, PROT_READ, MAP_SHARED, fd, (off_t)m.offset);
	vt_need(at != MAP_FAILED, "mmap: %s", strerror(errno));
	close(fd);
	at = mremap(at, m.bytes, m.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		    at + (1UL << 32));
	vt_need(at != MAP_FAILED, "mremap: %s", strerror(errno));
	head = (void *)at;
	vt_expect(head->state == KVCACHE_PRESENCE_VALID && head->objects >= 100,
		  "moved: state %u", head->state);
	pid = fork();
	if (!pid) {
		sum(at, m.bytes);
		munmap(at + m.bytes / 2 / PAGE * PAGE, PAGE);
		_exit(head->state == KVCACHE_PRESENCE_VALID ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	vt_expect(!status, "the child ended with %x", status);
	vt_expect(head->state == KVCACHE_PRESENCE_VALID, "after it: %u", head->state);
	munmap(at + m.bytes - PAGE, PAGE);
	munmap(at + PAGE, PAGE);
	vt_expect(head->state == KVCACHE_PRESENCE_VALID, "after parts: %u",
		  head->state);
	munmap(at, PAGE);
	if (m.bytes > 3 * PAGE)
		munmap(at + 2 * PAGE, m.bytes - 3 * PAGE);
	/* Nobody has it: there is none. */
	fd = open("/dev/kvcache", O_RDWR | O_CLOEXEC);
	refused_map("without a table", fd, m.bytes, PROT_READ, MAP_SHARED, m.offset,
		    ENXIO);
	close(fd);
	kvc = open_mapped();
	many(kvc, KVCACHE_IOC_EXISTS, "map", 0, 0, 100, 0, 0);
	vt_end();
}

static int shell(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_detach(void)
{
	struct kvcache_presence_map m = { .size = sizeof(m), .pool = number };
	const struct kvcache_presence *head;
	uint64_t before;
	int ret;

	vt_begin("a mapping outlives the pool, and the library finds the next");
	many(kvc, KVCACHE_IOC_PUT, "detach", 0, 0, 100, 0, -EEXIST);
	vt_need(!ioctl(kvc_fd(kvc), KVCACHE_IOC_PRESENCE, &m), "ioctl");
	head = mmap(NULL, m.bytes, PROT_READ, MAP_SHARED, kvc_fd(kvc),
		    (off_t)m.offset);
	vt_need(head != MAP_FAILED, "mmap: %s", strerror(errno));
	vt_need(!shell("kvcachectl detach 1 >/dev/null"), "detach");
	vt_expect(head->state == KVCACHE_PRESENCE_GONE, "state %u", head->state);
	sum(head, m.bytes);
	ret = kvc_exists(kvc, NULL, "detach-0-1", 10, NULL);
	vt_expect(ret == -ENODEV, "exists: %d", ret);
	refused_map("of a pool that is gone", kvc_fd(kvc), m.bytes, PROT_READ,
		    MAP_SHARED, m.offset, ENODEV);
	vt_need(!shell("kvcachectl attach -q $KVC_MEMBERS >/dev/null"), "attach");
	vt_sleep_ms(200);
	vt_expect(!again_exists(kvc, &call, "detach-0-1", 10, NULL), "exists again");
	before = asked();
	many(kvc, KVCACHE_IOC_EXISTS, "detach", 0, 0, 100, 0, 0);
	many(kvc, KVCACHE_IOC_EXISTS, "absent", 0, 0, 100, -ENOENT, -ENOENT);
	vt_expect(asked() == before, "the kernel was asked");
	vt_expect(head->state == KVCACHE_PRESENCE_GONE, "the old one: %u",
		  head->state);
	munmap((void *)(uintptr_t)head, m.bytes);
	vt_end();
}

/* --- a pool that others have, too --- */

static void test_shared(void)
{
	uint64_t before;
	int ret;

	vt_begin("in a shared pool a miss is the kernel's to tell");
	kvc_close(kvc);
	vt_need(!shell("kvcachectl detach 1 >/dev/null"), "detach");
	vt_need(!shell("kvcachectl attach -q --host 0 --hosts 1 $KVC_MEMBERS >/dev/null"),
		"attach");
	kvc = open_mapped();
	many(kvc, KVCACHE_IOC_PUT, "shared", 0, 0, 100, 0, -EEXIST);
	before = asked();
	many(kvc, KVCACHE_IOC_EXISTS, "shared", 0, 0, 100, 0, 0);
	vt_expect(asked() == before, "for hits the kernel was asked");
	ret = again_exists(kvc, &call, "absent", 6, NULL);
	vt_expect(ret == -ENOENT, "absent: %d", ret);
	vt_expect(asked() == before + 1, "for a miss it was asked %llu times",
		  (unsigned long long)(asked() - before));
	vt_end();
}

static const struct vt_test tests[] = {
	{ "answers", test_answers },
	{ "expiry", test_expiry },
	{ "batch", test_batch },
	{ "grows", test_grows },
	{ "threads", test_threads },
	{ "anew", test_anew },
	{ "refused", test_refused },
	{ "mappings", test_mappings },
	{ "evict", test_evict },
	{ "detach", test_detach },
	{ "shared", test_shared },
};

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: presence POOL [TEST]...\n");
		return 2;
	}
	number = (unsigned int)strtoul(argv[1], NULL, 0);
	memset(data, 0x5a, sizeof(data));
	kvc = open_mapped();
	vt_run(tests, sizeof(tests) / sizeof(tests[0]), argv + 2, argc - 2);
	kvc_close(kvc);
	vt_exit();
}
