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
	l->sum_ns += ns;
	l->max_ns = max_t(u64, l->max_ns, ns);
}

void latency_merge(struct latency *into, const struct latency *from)
{
	u32 i;

	for (i = 0; i < LATENCY_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->count += from->count;
	into->sum_ns += from->sum_ns;
	into->max_ns = max_t(u64, into->max_ns, from->max_ns);
}

u64 latency_permille(const struct latency *l, u32 permille)
{
	u64 rank = (l->count * permille + 999) / 1000, seen = 0;
	u32 i;

	if (!l->count)
		return 0;
	for (i = 0; i < LATENCY_BUCKETS - 1; i++) {
		seen += l->buckets[i];
		if (seen >= rank)
			break;
	}
	return min_t(u64, top_of(i), l->max_ns);
}

bool latency_step(const struct latency *l, u32 *bucket, u64 *ns, u64 *calls)
{
	if (!*bucket)
		*calls = 0;
	while (*bucket < LATENCY_BUCKETS) {
		u32 i = (*bucket)++;

		if (!l->buckets[i])
			continue;
		*calls += l->buckets[i];
		*ns = min_t(u64, top_of(i), l->max_ns);
		return true;
	}
	return false;
}
