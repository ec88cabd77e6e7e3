/* SPDX-License-Identifier: MIT */
/*
 * How long many calls took: counts in buckets that are at most 1/32 of their
 * value wide, so that percentiles need neither the samples nor sorting.
 */
#ifndef KVC_LATENCY_H
#define KVC_LATENCY_H

#include <stdbool.h>

#include "kvc_types.h"

#define LATENCY_BUCKETS	(60 * 32)

/**
 * struct latency - a log histogram
 * @count: calls
 * @sum_ns: of all of them
 * @max_ns: of the one that took longest, exactly
 * @buckets: calls by their time
 */
struct latency {
	u64 count;
	u64 sum_ns;
	u64 max_ns;
	u64 buckets[LATENCY_BUCKETS];
};

/* Nanoseconds of the monotonic clock. */
u64 latency_now(void);

void latency_add(struct latency *l, u64 ns);
void latency_merge(struct latency *into, const struct latency *from);

/*
 * What @permille of the calls took at most, rounded up by 3 % but not above the
 * longest; 0: no calls.
 */
u64 latency_permille(const struct latency *l, u32 permille);

/**
 * latency_step() - walk through the distribution
 * @l: calls
 * @bucket: where to go on; 0 at first
 * @ns: set to a time
 * @calls: set to how many calls took no longer than that
 *
 * Return: false: all calls have been told.
 */
bool latency_step(const struct latency *l, u32 *bucket, u64 *ns, u64 *calls);

#endif
