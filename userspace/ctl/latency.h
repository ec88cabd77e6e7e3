/* SPDX-License-Identifier: MIT */
/*
 * How long many calls took: counts in buckets that are at most 1/32 of their
 * value wide, so that percentiles need neither the samples nor sorting.
 */
#ifndef KVC_LATENCY_H
#define KVC_LATENCY_H

#include "kvc_types.h"

#define LATENCY_BUCKETS	(60 * 32)

struct latency {
	u64 count;
	u64 buckets[LATENCY_BUCKETS];
};

/* Nanoseconds of the monotonic clock. */
u64 latency_now(void);

void latency_add(struct latency *l, u64 ns);
void latency_merge(struct latency *into, const struct latency *from);

/* What @percent of the calls took at most, rounded up by 3 %; 0: no calls. */
u64 latency_percentile(const struct latency *l, u32 percent);

#endif
