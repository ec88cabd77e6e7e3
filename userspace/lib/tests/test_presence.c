// SPDX-License-Identifier: MIT
/* Exists by the mapped presence table. The table here is a file. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests.h"

#define LINES	8
#define BYTES	(KVCACHE_PRESENCE_LINES + 4096)

/* Of the key "there" of tenant 0 under a hash key of zeroes, by the kernel's code. */
#define WORD	0x43593af4U
#define LINE	5

static struct kvcache_presence *head;
static uint32_t *words;

/* A table that holds nothing. */
static void begin(void)
{
	mock_features |= KVCACHE_FEAT_PRESENCE;
	mock_table = memfd_create("table", 0);
	assert_int_equal(ftruncate(mock_table, BYTES), 0);
	head = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, mock_table, 0);
	assert_true(head != MAP_FAILED);
	words = (uint32_t *)((char *)head + KVCACHE_PRESENCE_LINES);
	head->version = KVCACHE_PRESENCE_VERSION;
	head->state = KVCACHE_PRESENCE_VALID;
	head->nr_lines = LINES;
}

static void end(struct kvc *kvc)
{
	mock_done();
	kvc_close(kvc);
	munmap(head, BYTES);
	close(mock_table);
}

static void answer_map(void *argument, void *context)
{
	struct kvcache_presence_map *m = argument;

	(void)context;
	assert_int_equal(m->size, sizeof(*m));
	assert_int_equal(m->flags, 0);
	assert_int_equal(m->pool, 7);
	m->bytes = BYTES;
	m->offset = 7ULL << KVCACHE_PRESENCE_POOL_SHIFT;
}

static const struct mock_call map_call = {
	.command = KVCACHE_IOC_PRESENCE,
	.answer = answer_map,
};

static void answer_exists(void *argument, void *context)
{
	struct kvcache_batch *b = argument;
	struct kvcache_io *ios = (struct kvcache_io *)(uintptr_t)b->ios;

	assert_int_equal(b->count, 1);
	assert_int_equal(b->flags, 0);
	ios[0].status = *(int *)context;
	ios[0].length = 100;
	b->done = !ios[0].status;
}

static struct kvc *map(void)
{
	struct kvc *kvc = mock_handle(7);

	mock_expect(&map_call);
	assert_int_equal(kvc_map(kvc, 0), 0);
	return kvc;
}

static int ask(struct kvc *kvc)
{
	return kvc_exists(kvc, NULL, "there", 5, NULL);
}

void test_map_needs_a_kernel_that_can(void **state)
{
	struct kvc *kvc = mock_handle(7);

	(void)state;
	assert_int_equal(kvc_map(kvc, 0), -EOPNOTSUPP);
	kvc_close(kvc);
	mock_features |= KVCACHE_FEAT_PRESENCE;
	kvc = mock_handle(7);
	assert_int_equal(kvc_map(kvc, 1), -EINVAL);
	mock_done();
	kvc_close(kvc);
}

void test_map_answers_by_the_table(void **state)
{
	struct kvcache_io ios[2];
	struct kvc *kvc;

	(void)state;
	begin();
	kvc = map();
	assert_int_equal(kvc_map(kvc, 0), -EBUSY);
	assert_int_equal(ask(kvc), -ENOENT);
	words[LINE * KVCACHE_PRESENCE_LINE + 15] = WORD;
	assert_int_equal(ask(kvc), 0);
	kvc_prep(&ios[0], "absent", 6);
	kvc_prep(&ios[1], "there", 5);
	assert_int_equal(kvc_batch_exists(kvc, NULL, ios, 2), 1);
	assert_int_equal(ios[0].status, -ENOENT);
	assert_int_equal(ios[1].status, 0);
	end(kvc);
}

void test_map_asks_where_the_table_can_not_tell(void **state)
{
	static const struct kvc_call kernel = { .flags = KVC_CALL_KERNEL };
	int status = 0, miss = -ENOENT;
	const struct mock_call there = {
		.command = KVCACHE_IOC_EXISTS,
		.answer = answer_exists,
		.context = &status,
	}, absent = {
		.command = KVCACHE_IOC_EXISTS,
		.answer = answer_exists,
		.context = &miss,
	};
	struct kvcache_io ios[3];
	uint32_t *why[] = { NULL, NULL, NULL };
	uint64_t length;
	struct kvc *kvc;
	unsigned int i;

	(void)state;
	begin();
	kvc = map();
	/* Not there, but that need not be so. */
	why[0] = &head->shared;
	why[1] = &head->lost;
	why[2] = &head->lapsed;
	for (i = 0; i < 3; i++) {
		*why[i] = 1;
		mock_expect(&absent);
		assert_int_equal(ask(kvc), -ENOENT);
		*why[i] = 0;
	}
	head->sequence = 1;
	mock_expect(&absent);
	assert_int_equal(ask(kvc), -ENOENT);
	head->sequence = 2;
	/* There, but. */
	words[LINE * KVCACHE_PRESENCE_LINE] = WORD | 1;
	mock_expect(&there);
	assert_int_equal(ask(kvc), 0);
	words[LINE * KVCACHE_PRESENCE_LINE] = WORD;
	head->ill = 1;
	mock_expect(&there);
	assert_int_equal(ask(kvc), 0);
	head->ill = 0;
	mock_expect(&there);
	assert_int_equal(kvc_exists(kvc, NULL, "there", 5, &length), 0);
	assert_int_equal(length, 100);
	mock_expect(&there);
	assert_int_equal(kvc_exists(kvc, &kernel, "there", 5, NULL), 0);
	/* One of three. */
	for (i = 0; i < 3; i++)
		kvc_prep(&ios[i], "there", 5);
	kvc_set_pin(&ios[1], 1);
	mock_expect(&there);
	assert_int_equal(kvc_batch_exists(kvc, NULL, ios, 3), 3);
	assert_int_equal(ios[0].length, 0);
	assert_int_equal(ios[1].length, 100);
	end(kvc);
}

void test_map_finds_the_next_table(void **state)
{
	static const struct timespec pause = { .tv_nsec = 150000000 };
	int status = 0;
	const struct mock_call there = {
		.command = KVCACHE_IOC_EXISTS,
		.answer = answer_exists,
		.context = &status,
	};
	struct kvc *kvc;

	(void)state;
	begin();
	kvc = map();
	nanosleep(&pause, NULL);
	head->state = KVCACHE_PRESENCE_MOVED;
	mock_expect(&map_call);
	mock_expect(&there);
	assert_int_equal(ask(kvc), 0);
	/* Not again at once. */
	mock_expect(&there);
	assert_int_equal(ask(kvc), 0);
	head->state = KVCACHE_PRESENCE_VALID;
	assert_int_equal(ask(kvc), -ENOENT);
	end(kvc);
}

void test_map_does_not_trust_the_number_of_lines(void **state)
{
	struct kvc *kvc = NULL;
	uint32_t bad[] = { 0, 4096 / 64 + 1, 0xffffffff };
	unsigned int i;

	(void)state;
	begin();
	kvc = mock_handle(7);
	for (i = 0; i < 3; i++) {
		head->nr_lines = bad[i];
		mock_expect(&map_call);
		assert_int_equal(kvc_map(kvc, 0), -EOPNOTSUPP);
	}
	end(kvc);
}
