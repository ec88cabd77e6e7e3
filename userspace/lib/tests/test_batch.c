// SPDX-License-Identifier: MIT
/* put, get, exists, delete: what goes to the kernel and what comes back. */
#include <errno.h>
#include <string.h>

#include "tests.h"

#define KEY "conversation/7"
#define KEY_LEN (sizeof(KEY) - 1)

static const char data[100];

/* --- one key --- */

/**
 * struct one - a call for one key
 * @want: the element that the kernel must see
 * @status: its answer
 * @length: its answer
 * @transferred: its answer
 * @out_flags: its answer
 * @seen: the key as the kernel saw it
 */
struct one {
	struct kvcache_io want;
	int32_t status;
	uint64_t length;
	uint64_t transferred;
	uint32_t out_flags;
	bool seen;
};

static void answer_one(void *argument, void *context)
{
	struct kvcache_batch *batch = argument;
	struct kvcache_io *io = (void *)(uintptr_t)batch->ios;
	struct one *one = context;

	assert_int_equal(batch->size, sizeof(*batch));
	assert_int_equal(batch->flags, 0);
	assert_int_equal(batch->count, 1);
	assert_int_equal(batch->io_size, sizeof(*io));
	assert_int_equal(batch->done, 0);
	assert_int_equal(batch->reserved, 0);
	assert_memory_equal((void *)(uintptr_t)io->key, KEY, KEY_LEN);
	one->want.key = io->key;
	one->want.key_len = KEY_LEN;
	assert_memory_equal(io, &one->want, sizeof(*io));
	io->status = one->status;
	io->length = one->length;
	io->transferred = one->transferred;
	io->out_flags = one->out_flags;
	batch->done = !one->status;
	one->seen = true;
}

/* Expect @command for KEY with the element and the answer in @one. */
static void expect_one(struct mock_call *call, unsigned long command,
		       struct one *one)
{
	*call = (struct mock_call) {
		.command = command,
		.answer = answer_one,
		.context = one,
	};
	mock_expect(call);
}

void test_put_passes_key_and_data(void **state)
{
	struct kvc *kvc = mock_handle(0);
	struct one one = { .want = {
		.data = (uintptr_t)data,
		.data_len = sizeof(data),
	} };
	struct mock_call call;

	(void)state;
	expect_one(&call, KVCACHE_IOC_PUT, &one);
	assert_int_equal(kvc_put(kvc, NULL, KEY, KEY_LEN, data, sizeof(data)), 0);
	mock_done();
	kvc_close(kvc);
}

void test_put_answers_the_keys_status(void **state)
{
	static const int errors[] = { EEXIST, EAGAIN, ETIMEDOUT, EDQUOT, EFBIG,
				      EIO, ESTALE, ECANCELED };
	struct kvc *kvc = mock_handle(0);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct one one = {
			.want = { .data = (uintptr_t)data, .data_len = 1 },
			.status = -errors[i],
		};
		struct mock_call call;

		expect_one(&call, KVCACHE_IOC_PUT, &one);
		assert_int_equal(kvc_put(kvc, NULL, KEY, KEY_LEN, data, 1),
				 -errors[i]);
	}
	mock_done();
	kvc_close(kvc);
}

void test_get_returns_bytes_and_length(void **state)
{
	struct kvc *kvc = mock_handle(0);
	char buffer[64];
	struct one one = {
		.want = { .data = (uintptr_t)buffer, .data_len = sizeof(buffer) },
		.length = 40,
		.transferred = 40,
	};
	struct mock_call call;
	uint64_t length = 0;

	(void)state;
	expect_one(&call, KVCACHE_IOC_GET, &one);
	assert_int_equal(kvc_get(kvc, NULL, KEY, KEY_LEN, buffer, sizeof(buffer),
				 &length), 40);
	assert_int_equal(length, 40);
	mock_done();
	kvc_close(kvc);
}

void test_get_of_a_small_buffer_tells_the_length(void **state)
{
	struct kvc *kvc = mock_handle(0);
	char buffer[8];
	struct one one = {
		.want = { .data = (uintptr_t)buffer, .data_len = sizeof(buffer) },
		.status = -EMSGSIZE,
		.length = 5ULL << 30,
	};
	struct mock_call call;
	uint64_t length = 0;

	(void)state;
	expect_one(&call, KVCACHE_IOC_GET, &one);
	assert_int_equal(kvc_get(kvc, NULL, KEY, KEY_LEN, buffer, sizeof(buffer),
				 &length), -EMSGSIZE);
	assert_int_equal(length, 5ULL << 30);
	mock_done();
	kvc_close(kvc);
}

/* A single call has no out_flags: memory under I/O is an error of its own. */
void test_get_tells_memory_under_io(void **state)
{
	struct kvc *kvc = mock_handle(0);
	char buffer[8];
	struct one one = {
		.want = { .data = (uintptr_t)buffer, .data_len = sizeof(buffer) },
		.status = -ETIMEDOUT,
		.out_flags = KVCACHE_IO_BUSY,
	};
	struct mock_call call;

	(void)state;
	expect_one(&call, KVCACHE_IOC_GET, &one);
	assert_int_equal(kvc_get(kvc, NULL, KEY, KEY_LEN, buffer, sizeof(buffer),
				 NULL), -EINPROGRESS);
	mock_done();
	kvc_close(kvc);
}

void test_get_range_sets_flag_and_offset(void **state)
{
	struct kvc *kvc = mock_handle(0);
	char buffer[8];
	struct one one = {
		.want = {
			.data = (uintptr_t)buffer,
			.data_len = sizeof(buffer),
			.flags = KVCACHE_IO_RANGE,
			.offset = 12345,
		},
		.length = 12350,
		.transferred = 5,
	};
	struct mock_call call;
	uint64_t length;

	(void)state;
	expect_one(&call, KVCACHE_IOC_GET, &one);
	assert_int_equal(kvc_get_range(kvc, NULL, KEY, KEY_LEN, 12345, buffer,
				       sizeof(buffer), &length), 5);
	assert_int_equal(length, 12350);
	mock_done();
	kvc_close(kvc);
}

void test_exists_moves_no_data(void **state)
{
	struct kvc *kvc = mock_handle(0);
	struct one one = { .length = 77 };
	struct mock_call call;
	uint64_t length = 0;

	(void)state;
	expect_one(&call, KVCACHE_IOC_EXISTS, &one);
	assert_int_equal(kvc_exists(kvc, NULL, KEY, KEY_LEN, &length), 0);
	assert_int_equal(length, 77);
	mock_done();
	kvc_close(kvc);
}

void test_pin_is_an_exists_with_a_pin(void **state)
{
	struct kvc *kvc = mock_handle(0);
	struct one one = {
		.want = { .flags = KVCACHE_IO_PIN, .pin = 1900000000 },
	};
	struct mock_call call;

	(void)state;
	expect_one(&call, KVCACHE_IOC_EXISTS, &one);
	assert_int_equal(kvc_pin(kvc, NULL, KEY, KEY_LEN, 1900000000), 0);
	mock_done();
	kvc_close(kvc);
}

void test_delete_of_a_miss_is_enoent(void **state)
{
	struct kvc *kvc = mock_handle(0);
	struct one one = { .status = -ENOENT };
	struct mock_call call;

	(void)state;
	expect_one(&call, KVCACHE_IOC_DELETE, &one);
	assert_int_equal(kvc_delete(kvc, NULL, KEY, KEY_LEN), -ENOENT);
	mock_done();
	kvc_close(kvc);
}

void test_a_call_that_is_refused_returns_its_errno(void **state)
{
	static const int errors[] = { EINVAL, ENODEV, EINTR, EFAULT };
	struct kvc *kvc = mock_handle(0);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct mock_call call = {
			.command = KVCACHE_IOC_PUT,
			.result = errors[i],
		};

		mock_expect(&call);
		assert_int_equal(kvc_put(kvc, NULL, KEY, KEY_LEN, data, 1),
				 -errors[i]);
	}
	mock_done();
	kvc_close(kvc);
}

/* --- what holds for the whole call --- */

void test_pool_tenant_and_deadline_are_passed(void **state)
{
	struct kvc *kvc = mock_handle(9);
	struct kvc_call how = { .tenant = 42, .deadline_ms = 250 };
	struct kvcache_io io;
	const struct kvcache_batch want = {
		.size = sizeof(want),
		.pool = 9,
		.tenant = 42,
		.ios = (uintptr_t)&io,
		.count = 1,
		.io_size = sizeof(io),
		.deadline_ms = 250,
	};
	const struct mock_call call = {
		.command = KVCACHE_IOC_EXISTS,
		.want = &want,
		.len = sizeof(want),
	};

	(void)state;
	kvc_prep(&io, KEY, KEY_LEN);
	mock_expect(&call);
	assert_int_equal(kvc_batch_exists(kvc, &how, &io, 1), 0);
	mock_done();
	kvc_close(kvc);
}

void test_reserved_fields_and_empty_batches_are_refused(void **state)
{
	struct kvc *kvc = mock_handle(0);
	struct kvc_call how = { .reserved = 1 };
	struct kvcache_io io;

	(void)state;
	kvc_prep(&io, KEY, KEY_LEN);
	assert_int_equal(kvc_batch_exists(kvc, &how, &io, 1), -EINVAL);
	assert_int_equal(kvc_batch_exists(kvc, NULL, &io, 0), -EINVAL);
	mock_done();
	kvc_close(kvc);
}

/* --- elements --- */

void test_prep_fills_in_every_field(void **state)
{
	static const struct iovec iov[3];
	const struct kvcache_io want = {
		.key = (uintptr_t)KEY,
		.key_len = KEY_LEN,
		.depth = 17,
		.flags = KVCACHE_IO_IOVEC | KVCACHE_IO_PIN,
		.data = (uintptr_t)iov,
		.data_len = 3,
		.expiry = 2000000000,
		.pin = 1900000000,
	};
	struct kvcache_io io;

	(void)state;
	memset(&io, 0xff, sizeof(io));
	kvc_prep_iovec(&io, (const void *)want.key, KEY_LEN, iov, 3);
	kvc_set_depth(&io, 17);
	kvc_set_expiry(&io, 2000000000);
	kvc_set_pin(&io, 1900000000);
	assert_memory_equal(&io, &want, sizeof(io));
}

/* A length that would be cut by 16 bits must not become a legal one. */
void test_prep_refuses_keys_that_are_too_long(void **state)
{
	static char key[70000];
	struct kvcache_io io;

	(void)state;
	kvc_prep(&io, key, KVCACHE_KEY_MAX);
	assert_int_equal(io.key_len, KVCACHE_KEY_MAX);
	kvc_prep(&io, key, KVCACHE_KEY_MAX + 1);
	assert_int_equal(io.key_len, 0);
	kvc_prep(&io, key, 65536 + 5);
	assert_int_equal(io.key_len, 0);
}

/* --- more keys than the kernel takes at a time --- */

#define MANY 10

/**
 * struct part - one part of a batch that is split
 * @ios: where the whole batch is
 * @first: the part's first key
 * @count: its keys
 * @status: for each of them; of the last one, @last
 * @last: status of its last key
 */
struct part {
	struct kvcache_io *ios;
	uint32_t first;
	uint32_t count;
	int32_t status;
	int32_t last;
};

static void answer_part(void *argument, void *context)
{
	struct kvcache_batch *batch = argument;
	const struct part *part = context;
	uint32_t i;

	assert_int_equal(batch->count, part->count);
	assert_ptr_equal((void *)(uintptr_t)batch->ios,
			 part->ios + part->first);
	/* The deadline is one for all parts. */
	assert_in_range(batch->deadline_ms, 1, 5000);
	batch->done = 0;
	for (i = 0; i < part->count; i++) {
		part->ios[part->first + i].status =
			i == part->count - 1 ? part->last : part->status;
		batch->done += !part->ios[part->first + i].status;
	}
}

/**
 * struct split - a batch that is split in parts of four keys
 * @kvc: handle
 * @how: tenant and deadline
 * @ios: keys
 * @parts: 4 + 4 + 2 of them
 * @calls: the calls expected
 */
struct split {
	struct kvc *kvc;
	struct kvc_call how;
	struct kvcache_io ios[MANY];
	struct part parts[3];
	struct mock_call calls[3];
};

static void set_up_split(struct split *s, unsigned int nr_calls)
{
	unsigned int i;

	memset(s, 0, sizeof(*s));
	mock_batch_max = 4;
	s->kvc = mock_handle(0);
	s->how.deadline_ms = 5000;
	for (i = 0; i < MANY; i++) {
		kvc_prep(&s->ios[i], KEY, KEY_LEN);
		s->ios[i].status = 12345;
	}
	for (i = 0; i < 3; i++) {
		s->parts[i] = (struct part) {
			.ios = s->ios,
			.first = 4 * i,
			.count = i < 2 ? 4 : 2,
		};
		s->calls[i] = (struct mock_call) {
			.command = KVCACHE_IOC_GET,
			.answer = answer_part,
			.context = &s->parts[i],
		};
		if (i < nr_calls)
			mock_expect(&s->calls[i]);
	}
}

void test_large_batches_are_split(void **state)
{
	struct split s;

	(void)state;
	set_up_split(&s, 3);
	s.parts[1].status = -ENOENT;
	assert_int_equal(kvc_batch_get(s.kvc, &s.how, s.ios, MANY), 7);
	mock_done();
	kvc_close(s.kvc);
}

void test_split_refused_at_once_touches_no_key(void **state)
{
	struct split s;
	int i;

	(void)state;
	set_up_split(&s, 1);
	s.calls[0].result = EINVAL;
	s.calls[0].answer = NULL;
	assert_int_equal(kvc_batch_get(s.kvc, &s.how, s.ios, MANY), -EINVAL);
	for (i = 0; i < MANY; i++)
		assert_int_equal(s.ios[i].status, 12345);
	mock_done();
	kvc_close(s.kvc);
}

/* Later on it can't say that no key was touched: the rest gets the error. */
void test_split_refused_later_marks_the_rest(void **state)
{
	struct split s;
	int i;

	(void)state;
	set_up_split(&s, 2);
	s.calls[1].result = ENODEV;
	s.calls[1].answer = NULL;
	assert_int_equal(kvc_batch_get(s.kvc, &s.how, s.ios, MANY), 4);
	for (i = 0; i < MANY; i++)
		assert_int_equal(s.ios[i].status, i < 4 ? 0 : -ENODEV);
	mock_done();
	kvc_close(s.kvc);
}

void test_split_stops_at_a_signal_between_parts(void **state)
{
	struct split s;
	int i;

	(void)state;
	set_up_split(&s, 2);
	s.calls[1].result = EINTR;
	s.calls[1].answer = NULL;
	assert_int_equal(kvc_batch_get(s.kvc, &s.how, s.ios, MANY), 4);
	for (i = 0; i < MANY; i++)
		assert_int_equal(s.ios[i].status, i < 4 ? 0 : -ECANCELED);
	mock_done();
	kvc_close(s.kvc);
}

void test_split_stops_at_a_part_cut_short(void **state)
{
	struct split s;
	int i;

	(void)state;
	set_up_split(&s, 1);
	s.parts[0].last = -ECANCELED;
	assert_int_equal(kvc_batch_get(s.kvc, &s.how, s.ios, MANY), 3);
	for (i = 0; i < MANY; i++)
		assert_int_equal(s.ios[i].status, i < 3 ? 0 : -ECANCELED);
	mock_done();
	kvc_close(s.kvc);
}

static void answer_slowly(void *argument, void *context)
{
	struct timespec pause = { .tv_nsec = 60000000 };

	answer_part(argument, context);
	nanosleep(&pause, NULL);
}

void test_split_ends_at_the_deadline(void **state)
{
	struct split s;
	int i;

	(void)state;
	set_up_split(&s, 1);
	s.how.deadline_ms = 20;
	s.calls[0].answer = answer_slowly;
	assert_int_equal(kvc_batch_get(s.kvc, &s.how, s.ios, MANY), 4);
	for (i = 0; i < MANY; i++)
		assert_int_equal(s.ios[i].status, i < 4 ? 0 : -ETIMEDOUT);
	mock_done();
	kvc_close(s.kvc);
}
