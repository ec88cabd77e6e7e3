// SPDX-License-Identifier: MIT
/*
 * LRU and MIN against known figures, and MIN against all that a policy could do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim.h"

#define BLOCKS	5
#define REFS	12

void *sim_alloc(size_t n, size_t item)
{
	void *p = calloc(n ? n : 1, item);

	assert_non_null(p);
	return p;
}

static struct sim_result run(void (*policy)(const struct sim_trace *,
					    const struct sim_pool *, struct sim_result *),
			     u32 *refs, u32 nr, u32 footprint, u32 blocks)
{
	u32 first[] = { 0, nr };
	const struct sim_trace t = {
		.nr_requests = 1, .nr_refs = nr, .footprint = footprint,
		.refs = refs, .first = first,
	};
	const struct sim_pool pool = { .blocks = blocks };
	struct sim_result r = {};

	policy(&t, &pool, &r);
	assert_int_equal(r.hits + r.puts, nr);
	assert_int_equal(r.rewrites, 0);
	return r;
}

/* The example of the textbooks: three frames. */
static void lru_and_min_of_the_textbooks(void **state)
{
	u32 refs[] = { 7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1 };

	(void)state;
	assert_int_equal(run(sim_lru, refs, ARRAY_SIZE(refs), 8, 3).puts, 12);
	/* 9 there, as each page has to be taken in: the 4 pushes another out. */
	assert_int_equal(run(sim_min, refs, ARRAY_SIZE(refs), 8, 3).puts, 8);
}

static void everything_fits(void **state)
{
	u32 refs[] = { 0, 1, 2, 0, 1, 2, 2, 1, 0 };

	(void)state;
	assert_int_equal(run(sim_lru, refs, ARRAY_SIZE(refs), 3, 3).hits, 6);
	assert_int_equal(run(sim_min, refs, ARRAY_SIZE(refs), 3, 3).hits, 6);
}

/* The most hits from here on with this set of blocks in the cache. */
static u32 most_hits(const u32 *refs, u32 nr, u32 held, u32 blocks)
{
	u32 hit, best, with, i;

	if (!nr)
		return 0;
	hit = held >> *refs & 1;
	best = most_hits(refs + 1, nr - 1, held, blocks);
	with = held | 1U << *refs;
	if (!hit && (u32)__builtin_popcount(with) <= blocks)
		best = max_t(u32, best, most_hits(refs + 1, nr - 1, with, blocks));
	for (i = 0; !hit && i < BLOCKS; i++)
		if (held >> i & 1)
			best = max_t(u32, best,
				     most_hits(refs + 1, nr - 1, with & ~(1U << i), blocks));
	return hit + best;
}

static void nothing_beats_min(void **state)
{
	u32 refs[REFS], seed = 1, round, i, blocks;

	(void)state;
	for (round = 0; round < 300; round++) {
		for (i = 0; i < REFS; i++) {
			seed = seed * 1664525 + 1013904223;
			refs[i] = (seed >> 16) % BLOCKS;
		}
		for (blocks = 1; blocks < BLOCKS; blocks++) {
			struct sim_result min = run(sim_min, refs, REFS, BLOCKS, blocks);

			assert_int_equal(min.hits, most_hits(refs, REFS, 0, blocks));
			assert_true(run(sim_lru, refs, REFS, BLOCKS, blocks).hits <= min.hits);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lru_and_min_of_the_textbooks),
		cmocka_unit_test(everything_fits),
		cmocka_unit_test(nothing_beats_min),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
