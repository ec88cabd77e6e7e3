/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that run in the VM share: results in the form that
 * tests/run reads, and data of which every wrong byte shows.
 */
#ifndef KVC_VMTEST_H
#define KVC_VMTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kvcache.h>

/* --- results: one line each, whole, whatever thread prints it --- */

/* true */
bool vt_ok(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* false */
bool vt_not_ok(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void vt_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "ok" or "not ok", and which it was. */
#define vt_result(good, ...) \
	((good) ? vt_ok(__VA_ARGS__) : vt_not_ok(__VA_ARGS__))

/*
 * A case is what one line tells: vt_begin(), any number of vt_expect() that
 * say what went wrong (only the first few are printed), vt_end(). One case at
 * a time, in any number of threads.
 */
void vt_begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool vt_end(void);
#define vt_expect(good, ...) \
	({ bool vt_good = (good); \
	   vt_good ? vt_good : vt_fail(__FILE__, __LINE__, __VA_ARGS__); })
bool vt_fail(const char *file, int at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What was expected, in a setting-up without which nothing can go on. */
#define vt_need(good, ...) \
	do { if (!(good)) { vt_not_ok(__VA_ARGS__); vt_exit(); } } while (0)

/* A test of a program that has several. */
struct vt_test {
	const char *name;
	void (*run)(void);
};

/*
 * Run the tests that @wanted names, all if it names none, and say how long each
 * took.
 */
void vt_run(const struct vt_test *tests, size_t n, char *const *wanted,
	    int nr_wanted);

/* Ends the program: status 0 if nothing was "not ok". */
void vt_exit(void) __attribute__((noreturn));

/* --- time --- */

uint64_t vt_ms(void);			/* monotonic */
uint64_t vt_now(void);			/* seconds since 1970, as expiry is */
void vt_sleep_ms(unsigned int ms);

/* --- random numbers: one state per thread --- */

struct vt_rng {
	uint64_t s;
};

uint64_t vt_rand(struct vt_rng *r);
/* 0 .. n - 1 */
static inline uint64_t vt_below(struct vt_rng *r, uint64_t n)
{
	return n ? vt_rand(r) % n : 0;
}

/* --- data: byte i of a stream follows from its seed --- */

/* Bytes @from .. @from + @len of stream @seed. */
void vt_fill(void *buf, uint64_t seed, uint64_t from, size_t len);
/* Index in @buf of the first byte that differs, or -1. */
ssize_t vt_differs(const void *buf, uint64_t seed, uint64_t from, size_t len);
/* Are all bytes @byte? Index of the first that isn't, or -1. */
ssize_t vt_not_all(const void *buf, uint8_t byte, size_t len);
uint64_t vt_mix(uint64_t a, uint64_t b);

/* --- system --- */

/* Memory from mmap(); never NULL. */
void *vt_map(size_t len);
/* Write a string to a file (sysfs, debugfs): 0 or -errno. */
int vt_write(const char *path, const char *text);
/* How many lines of the kernel's log hold @text. */
unsigned int vt_kernel_said(const char *text);
/* First number in a file, or -errno. */
long long vt_read_number(const char *path);

#endif
