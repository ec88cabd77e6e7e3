// SPDX-License-Identifier: MIT
/* How long many calls took; see latency.h. */
#include <time.h>

#include "latency.h"

#define SHIFT	5
#define FINE	(1U << SHIFT)	/* buckets for each power of two */

static u32 bucket_of(u64 ns)
{
	u32 power;

	if (ns < FINE)
		return (u32)ns;
	power = (u32)ilog2(ns);
	return (power - SHIFT) * FINE + (u32)(ns >> (power - SHIFT));
}

/* The largest value that falls into a bucket. */
static u64 top_of(u32 bucket)
{
	u32 power;

	if (bucket < FINE)
		return bucket;
	power = bucket / FINE - 1;
	return ((u64)(bucket % FINE + FINE + 1) << power) - 1;
}

u64 latency_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

void latency_add(struct latency *l, u64 ns)
{
	l->buckets[bucket_of(ns)]++;
	l->count++;
}

void latency_merge(struct latency *into, const struct latency *from)
{
	u32 i;

	for (i = 0; i < LATENCY_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->count += from->count;
}

u64 latency_percentile(const struct latency *l, u32 percent)
{
	u64 rank = (l->count * percent + 99) / 100, seen = 0;
	u32 i;

	if (!l->count)
		return 0;
	for (i = 0; i < LATENCY_BUCKETS - 1; i++) {
		seen += l->buckets[i];
		if (seen >= rank)
			break;
	}
	return top_of(i);
}
