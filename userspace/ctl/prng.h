/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same on every machine: splitmix64 and
 * xoshiro256** (Blackman and Vigna), integers only.
 */
#ifndef KVC_PRNG_H
#define KVC_PRNG_H

#include "kvc_types.h"

struct prng {
	u64 s[4];
};

#define PRNG_STEP	0x9e3779b97f4a7c15ULL

/* One to one: different numbers stay different. */
static inline u64 prng_mix(u64 x)
{
	x += PRNG_STEP;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static inline void prng_seed(struct prng *p, u64 seed)
{
	int i;

	for (i = 0; i < 4; i++)
		p->s[i] = prng_mix(seed + i * PRNG_STEP);
}

static inline u64 prng_rotate(u64 x, int by)
{
	return x << by | x >> (64 - by);
}

static inline u64 prng_next(struct prng *p)
{
	u64 result = prng_rotate(p->s[1] * 5, 7) * 9;
	u64 t = p->s[1] << 17;

	p->s[2] ^= p->s[0];
	p->s[3] ^= p->s[1];
	p->s[1] ^= p->s[2];
	p->s[0] ^= p->s[3];
	p->s[2] ^= t;
	p->s[3] = prng_rotate(p->s[3], 45);
	return result;
}

/* One of 0 .. @n - 1. */
static inline u32 prng_below(struct prng *p, u32 n)
{
	return (prng_next(p) >> 32) * n >> 32;
}

#endif
