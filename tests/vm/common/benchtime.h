/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs that scripts/bench runs share: times, and how they are told. */
#ifndef KVC_BENCHTIME_H
#define KVC_BENCHTIME_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/**
 * struct bench_times - the time that each operation took
 * @ns: nanoseconds
 * @nr: how many
 * @room: for how many
 */
struct bench_times {
	uint64_t *ns;
	uint64_t nr;
	uint64_t room;
};

static inline uint64_t bench_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void bench_took(struct bench_times *t, uint64_t ns)
{
	if (t->nr < t->room)
		t->ns[t->nr++] = ns;
}

/* Room for @count of them, in memory that is there already. */
void bench_times_begin(struct bench_times *t, uint64_t count);

/* One line: @ops of @size bytes in @ns altogether, and what is in @t. */
void bench_report(struct bench_times *t, uint64_t ops, size_t size, uint64_t ns);

#endif
