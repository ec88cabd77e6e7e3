// SPDX-License-Identifier: MIT
/* A kernel for the library's tests. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "mock.h"

#define MOCK_CALLS_MAX 16

/* With 64-bit file offsets open() is open64(). */
int __wrap_ioctl(int fd, unsigned long command, void *argument);
int __wrap_open64(const char *path, int flags, mode_t mode);
int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_close(int fd);
int __real_close(int fd);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);

int mock_open_error;
const char *mock_opened;
int mock_closed;
uint32_t mock_batch_max;
uint64_t mock_features;
int mock_table = -1;

static const struct mock_call *calls[MOCK_CALLS_MAX];
static unsigned int nr_calls, made;

void mock_reset(void)
{
	nr_calls = 0;
	made = 0;
	mock_open_error = 0;
	mock_opened = NULL;
	mock_closed = 0;
	mock_batch_max = KVCACHE_BATCH_MAX;
	mock_features = KVCACHE_FEAT_RANGE;
	mock_table = -1;
}

void mock_expect(const struct mock_call *call)
{
	assert_true(nr_calls < MOCK_CALLS_MAX);
	calls[nr_calls++] = call;
}

void mock_done(void)
{
	assert_int_equal(made, nr_calls);
}

int __wrap_ioctl(int fd, unsigned long command, void *argument)
{
	const struct mock_call *call;

	assert_int_equal(fd, MOCK_FD);
	assert_true(made < nr_calls);
	call = calls[made++];
	assert_int_equal(command, call->command);
	if (call->want)
		assert_memory_equal(argument, call->want, call->len);
	if (call->answer)
		call->answer(argument, call->context);
	if (call->result) {
		errno = call->result;
		return -1;
	}
	return 0;
}

int __wrap_open64(const char *path, int flags, mode_t mode)
{
	if (strncmp(path, "/dev/", 5))
		return __real_open64(path, flags, mode);
	assert_int_equal(flags, O_RDWR | O_CLOEXEC);
	mock_opened = path;
	if (mock_open_error) {
		errno = mock_open_error;
		return -1;
	}
	return MOCK_FD;
}

int __wrap_close(int fd)
{
	if (fd != MOCK_FD)
		return __real_close(fd);
	mock_closed++;
	return 0;
}

void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fd != MOCK_FD)
		return __real_mmap64(at, len, prot, flags, fd, offset);
	assert_int_equal(prot, PROT_READ);
	assert_int_equal(flags, MAP_SHARED);
	return __real_mmap64(at, len, prot, flags, mock_table, 0);
}

static void answer_caps(void *argument, void *context)
{
	struct kvcache_caps *caps = argument;

	(void)context;
	caps->version = KVCACHE_API_VERSION;
	caps->features = mock_features;
	caps->key_max = KVCACHE_KEY_MAX;
	caps->batch_max = mock_batch_max;
	caps->iov_max = KVCACHE_IOV_MAX;
}

struct kvc *mock_handle(unsigned int pool)
{
	static const struct kvcache_caps want = { .size = sizeof(want) };
	static const struct mock_call call = {
		.command = KVCACHE_IOC_CAPS,
		.want = &want,
		.len = sizeof(want),
		.answer = answer_caps,
	};
	struct kvc *kvc;

	mock_expect(&call);
	kvc = kvc_open(NULL, pool);
	assert_non_null(kvc);
	return kvc;
}
