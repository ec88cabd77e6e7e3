// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The eviction policy: the budget's arithmetic up to its limits, plans against
 * a model that sorts, and the reserve.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kvc_clock.h"

#define MANY	300

static void budget_earns_a_share_of_puts(void **state)
{
	struct kvc_budget b;
	int i;

	(void)state;
	kvc_budget_init(&b, 25, 1000);
	assert_int_equal(kvc_budget_left(&b), 1000);
	assert_true(kvc_budget_take(&b, 1000));
	assert_int_equal(kvc_budget_left(&b), 0);
	assert_false(kvc_budget_take(&b, 1));
	assert_true(kvc_budget_take(&b, 0));

	/* A quarter of a byte each: nothing is lost to rounding. */
	for (i = 0; i < 7; i++)
		kvc_budget_earn(&b, 1);
	assert_int_equal(kvc_budget_left(&b), 1);
	kvc_budget_earn(&b, 1);
	assert_int_equal(kvc_budget_left(&b), 2);
	assert_false(kvc_budget_take(&b, 3));
	assert_int_equal(kvc_budget_left(&b), 2);

	kvc_budget_earn(&b, 1 << 20);
	assert_int_equal(kvc_budget_left(&b), 1000);
}

static void budget_keeps_to_its_limits(void **state)
{
	struct kvc_budget b;

	(void)state;
	kvc_budget_init(&b, KVC_BUDGET_PERCENT_MAX + 1, U64_MAX);
	assert_int_equal(b.percent, KVC_BUDGET_PERCENT_MAX);
	assert_true(kvc_budget_left(&b) > 1ULL << 54);
	assert_false(kvc_budget_take(&b, U64_MAX));
	kvc_budget_earn(&b, U64_MAX);
	kvc_budget_overdraw(&b, U64_MAX);
	kvc_budget_overdraw(&b, U64_MAX);
	assert_int_equal(kvc_budget_left(&b), 0);
	assert_true(b.debt <= b.cap);
	kvc_budget_earn(&b, U64_MAX);
	assert_int_equal(b.debt, 0);
	assert_true(b.tokens <= b.cap);
}

static void zero_percent_never_rewrites(void **state)
{
	struct kvc_budget b;

	(void)state;
	kvc_budget_init(&b, 0, 1 << 20);
	assert_int_equal(kvc_budget_left(&b), 0);
	kvc_budget_earn(&b, 1 << 20);
	assert_int_equal(kvc_budget_left(&b), 0);
	kvc_budget_percent(&b, 10);
	kvc_budget_earn(&b, 1 << 10);
	assert_int_equal(kvc_budget_left(&b), 102);
}

static void debt_is_paid_before_tokens_are_earned(void **state)
{
	struct kvc_budget b;

	(void)state;
	kvc_budget_init(&b, 50, 1000);
	kvc_budget_overdraw(&b, 1600);
	assert_int_equal(kvc_budget_left(&b), 0);
	kvc_budget_earn(&b, 1200);
	assert_int_equal(kvc_budget_left(&b), 0);
	kvc_budget_earn(&b, 2);
	assert_int_equal(kvc_budget_left(&b), 1);

	/* A burst of pins takes back no more than the cap. */
	kvc_budget_overdraw(&b, 1 << 30);
	kvc_budget_earn(&b, 2002);
	assert_int_equal(kvc_budget_left(&b), 1);
}

static void nothing_to_plan(void **state)
{
	unsigned long keep[1] = { ~0UL };
	struct kvc_budget b;

	(void)state;
	kvc_budget_init(&b, 25, 1000);
	assert_int_equal(kvc_clock_plan(NULL, 0, &b, false, keep), 0);
	assert_int_equal(kvc_budget_left(&b), 1000);
}

static void depths_at_both_ends(void **state)
{
	static const struct kvc_clock_object o[] = {
		{ .bytes = 10, .depth = U16_MAX, .touched = true, .live = true },
		{ .bytes = 10, .depth = U16_MAX - 1, .touched = true, .live = true },
		{ .bytes = 10, .depth = 0, .touched = true, .live = true },
		{ .bytes = 10, .depth = 0, .touched = true, .live = true },
	};
	unsigned long keep[1];
	struct kvc_budget b;

	(void)state;
	kvc_budget_init(&b, 25, 39);
	assert_int_equal(kvc_clock_plan(o, 4, &b, false, keep), 30);
	assert_int_equal(keep[0], 0xe);
	kvc_budget_init(&b, 25, 19);
	assert_int_equal(kvc_clock_plan(o, 4, &b, false, keep), 10);
	assert_int_equal(keep[0], 0x4);
	kvc_budget_init(&b, 25, 9);
	assert_int_equal(kvc_clock_plan(o, 4, &b, false, keep), 0);
	assert_int_equal(keep[0], 0);
}

/* --- plans against a model --- */

static u64 seed = 1;

static u32 below(u32 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

static void make_objects(struct kvc_clock_object *o, u32 n, u32 depths)
{
	u32 i;

	for (i = 0; i < n; i++)
		o[i] = (struct kvc_clock_object) {
			.bytes = 1 + below(1000),
			.depth = below(depths),
			.touched = below(2),
			.pinned = !below(8),
			.expired = !below(8),
			.live = below(8),
		};
}

struct candidate {
	u32 depth;
	u32 index;
};

static int shallow_first(const void *a, const void *b)
{
	const struct candidate *l = a, *r = b;

	if (l->depth != r->depth)
		return l->depth < r->depth ? -1 : 1;
	return l->index < r->index ? -1 : 1;
}

/*
 * Keep what is pinned; then go through the touched ones by depth, and leave
 * the depth at which the budget does not last as the last one looked at.
 */
static u64 model(const struct kvc_clock_object *o, u32 n, u64 left, bool *keep)
{
	struct candidate order[MANY];
	u32 touched = 0, last = U32_MAX, i;
	u64 kept = 0;

	for (i = 0; i < n; i++) {
		keep[i] = o[i].live && !o[i].expired && o[i].pinned;
		if (keep[i])
			kept += o[i].bytes;
		else if (o[i].live && !o[i].expired && o[i].touched)
			order[touched++] = (struct candidate) { o[i].depth, i };
	}
	left -= min_t(u64, left, kept);
	qsort(order, touched, sizeof(order[0]), shallow_first);
	for (i = 0; i < touched && order[i].depth <= last; i++) {
		u32 bytes = o[order[i].index].bytes;

		if (bytes > left) {
			last = order[i].depth;
			continue;
		}
		left -= bytes;
		kept += bytes;
		keep[order[i].index] = true;
	}
	return kept;
}

static void plans_as_the_model_does(void **state)
{
	struct kvc_clock_object o[MANY];
	unsigned long keep[KVC_CLOCK_WORDS(MANY) + 1];
	bool expected[MANY];
	struct kvc_budget b;
	u32 round, i;

	(void)state;
	for (round = 0; round < 3000; round++) {
		u32 n = below(MANY + 1);
		u64 cap = below(n * 400 + 1), kept;

		make_objects(o, n, round % 3 ? 12 : U16_MAX + 1);
		memset(keep, 0xff, sizeof(keep));
		kvc_budget_init(&b, 25, cap);
		kept = model(o, n, cap, expected);
		assert_int_equal(kvc_clock_plan(o, n, &b, false, keep), kept);
		for (i = 0; i < n; i++)
			assert_int_equal(kvc_clock_kept(keep, i), expected[i]);
		/* The word behind the bitmap is somebody else's. */
		assert_true(keep[KVC_CLOCK_WORDS(n)] == ~0UL);
		assert_int_equal(kvc_budget_left(&b), cap - min_t(u64, cap, kept));
	}
}

static void pressed_keeps_the_pinned_ones_alone(void **state)
{
	struct kvc_clock_object o[MANY];
	unsigned long keep[KVC_CLOCK_WORDS(MANY)];
	struct kvc_budget b;
	u32 round, i;

	(void)state;
	for (round = 0; round < 100; round++) {
		u64 kept = 0;

		make_objects(o, MANY, 12);
		kvc_budget_init(&b, 25, 1 << 30);
		for (i = 0; i < MANY; i++)
			if (o[i].live && !o[i].expired && o[i].pinned)
				kept += o[i].bytes;
		assert_int_equal(kvc_clock_plan(o, MANY, &b, true, keep), kept);
		assert_int_equal(kvc_budget_left(&b), (1 << 30) - kept);
		for (i = 0; i < MANY; i++)
			if (kvc_clock_kept(keep, i))
				assert_true(o[i].pinned);
	}
}

/* --- the reserve --- */

static void reserve_fits_every_size(void **state)
{
	u32 nr, low, high, last = 0;

	(void)state;
	for (nr = 0; nr < 5000; nr++) {
		low = kvc_reserve_low(nr);
		high = kvc_reserve_high(nr);
		/* Content with one, it would have none for puts. */
		assert_in_range(low, 2, 16);
		assert_true(low >= last);
		assert_in_range(high, low, 24);
		if (nr >= 4)
			assert_true(high * 2 <= nr);
		if (nr >= 6)
			assert_true(high > low);
		assert_true(kvc_reserve_pressed(nr, 0));
		assert_false(kvc_reserve_pressed(nr, low - low / 2));
		last = low;
	}
	assert_int_equal(kvc_reserve_low(8), 2);
	assert_int_equal(kvc_reserve_high(8), 3);
	assert_int_equal(kvc_reserve_low(U32_MAX), 16);
	assert_int_equal(kvc_reserve_high(U32_MAX), 24);
	assert_false(kvc_reserve_pressed(U32_MAX, U32_MAX));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_earns_a_share_of_puts),
		cmocka_unit_test(budget_keeps_to_its_limits),
		cmocka_unit_test(zero_percent_never_rewrites),
		cmocka_unit_test(debt_is_paid_before_tokens_are_earned),
		cmocka_unit_test(nothing_to_plan),
		cmocka_unit_test(depths_at_both_ends),
		cmocka_unit_test(plans_as_the_model_does),
		cmocka_unit_test(pressed_keeps_the_pinned_ones_alone),
		cmocka_unit_test(reserve_fits_every_size),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
