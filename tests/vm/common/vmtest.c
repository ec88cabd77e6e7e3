// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "vmtest.h"

#define FAILS_SHOWN 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int failed;
static char case_text[512];
static unsigned int case_fails;

static void line(const char *prefix, const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	pthread_mutex_lock(&lock);
	printf("%s%s\n", prefix, text);
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

#define LINE(prefix) \
	do { va_list args; va_start(args, fmt); line(prefix, fmt, args); \
	     va_end(args); } while (0)

bool vt_ok(const char *fmt, ...)
{
	LINE("ok - ");
	return true;
}

bool vt_not_ok(const char *fmt, ...)
{
	LINE("not ok - ");
	__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
	return false;
}

void vt_skip(const char *fmt, ...)
{
	LINE("skip - ");
}

void vt_note(const char *fmt, ...)
{
	LINE("# ");
}

void vt_begin(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(case_text, sizeof(case_text), fmt, args);
	va_end(args);
	__atomic_store_n(&case_fails, 0, __ATOMIC_RELAXED);
}

bool vt_end(void)
{
	unsigned int fails = __atomic_load_n(&case_fails, __ATOMIC_RELAXED);

	if (fails > FAILS_SHOWN)
		vt_note("%u more of the same", fails - FAILS_SHOWN);
	return vt_result(!fails, "%s", case_text);
}

bool vt_fail(const char *file, int at, const char *fmt, ...)
{
	char text[900];
	va_list args;

	if (__atomic_fetch_add(&case_fails, 1, __ATOMIC_RELAXED) >= FAILS_SHOWN)
		return false;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (strrchr(file, '/'))
		file = strrchr(file, '/') + 1;
	vt_note("%s:%d: %s", file, at, text);
	return false;
}

static bool is_wanted(const struct vt_test *test, char *const *wanted, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(wanted[i], test->name))
			return true;
	return !nr;
}

void vt_run(const struct vt_test *tests, size_t n, char *const *wanted,
	    int nr_wanted)
{
	uint64_t start;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!is_wanted(&tests[i], wanted, nr_wanted))
			continue;
		start = vt_ms();
		tests[i].run();
		vt_note("%s took %llu ms", tests[i].name,
			(unsigned long long)(vt_ms() - start));
	}
}

void vt_exit(void)
{
	fflush(stdout);
	exit(__atomic_load_n(&failed, __ATOMIC_RELAXED) ? 1 : 0);
}

/* --- time --- */

uint64_t vt_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t vt_now(void)
{
	struct timespec t;

	/* As the kernel reads it: the other clock is up to a tick ahead. */
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (uint64_t)t.tv_sec;
}

void vt_sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* --- numbers and data --- */

uint64_t vt_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ULL + b;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

uint64_t vt_rand(struct vt_rng *r)
{
	return vt_mix(r->s++, 0x6b766361636865ULL);
}

/* Cheap, since emulated machines do it a lot; no word is like a near one. */
static uint64_t word(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed ^ i) * 0x9e3779b97f4a7c15ULL + i;

	return x ^ (x >> 29);
}

void vt_fill(void *buf, uint64_t seed, uint64_t from, size_t len)
{
	uint8_t *p = buf;
	uint64_t w, at = from, end = from + len;

	while (at < end) {
		size_t skip = at & 7;
		size_t n = end - at < 8 - skip ? end - at : 8 - skip;

		w = word(seed, at >> 3);
		memcpy(p, (uint8_t *)&w + skip, n);
		p += n;
		at += n;
	}
}

ssize_t vt_differs(const void *buf, uint64_t seed, uint64_t from, size_t len)
{
	const uint8_t *p = buf;
	uint64_t w, at = from, end = from + len;

	while (at < end) {
		size_t skip = at & 7;
		size_t n = end - at < 8 - skip ? end - at : 8 - skip, k;

		w = word(seed, at >> 3);
		if (memcmp(p, (uint8_t *)&w + skip, n)) {
			for (k = 0; p[k] == ((uint8_t *)&w)[skip + k]; k++)
				;
			return (ssize_t)(at - from + k);
		}
		p += n;
		at += n;
	}
	return -1;
}

ssize_t vt_not_all(const void *buf, uint8_t byte, size_t len)
{
	const uint8_t *p = buf;
	size_t i;

	if (!len || (p[0] == byte && !memcmp(p, p + 1, len - 1)))
		return -1;
	for (i = 0; p[i] == byte; i++)
		;
	return (ssize_t)i;
}

/* --- system --- */

void *vt_map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	vt_need(p != MAP_FAILED, "map %zu bytes", len);
	return p;
}

int vt_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = -errno;
	close(fd);
	return error;
}

unsigned int vt_kernel_said(const char *text)
{
	int size = klogctl(10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0);
	unsigned int n = 0;
	char *log, *at;

	vt_need(size > 0, "size of the kernel's log");
	log = calloc(1, (size_t)size + 1);
	vt_need(log && klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, size) >= 0,
		"read the kernel's log");
	for (at = log; (at = strstr(at, text)); n++) {
		at = strchr(at, '\n');
		if (!at)
			break;
	}
	free(log);
	return n;
}

long long vt_read_number(const char *path)
{
	char text[64];
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return got ? -errno : -ENODATA;
	text[got] = '\0';
	return atoll(text);
}
