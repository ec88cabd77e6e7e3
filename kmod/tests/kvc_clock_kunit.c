// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The eviction policy inside the kernel: one case for each thing that it
 * promises. tests/unit/test_clock.c compares it with a model.
 */
#include <linux/bitmap.h>

#include "kvc_kunit.h"
#include "../kvc_clock.h"

#define BLOCK	4096

/* A touched, a cold, a pinned, an expired and a deleted one, twice each. */
static const struct kvc_clock_object mixed[] = {
	{ .bytes = BLOCK, .depth = 9, .touched = true, .live = true },
	{ .bytes = BLOCK, .depth = 0, .live = true },
	{ .bytes = 2 * BLOCK, .depth = 3, .pinned = true, .live = true },
	{ .bytes = BLOCK, .touched = true, .pinned = true, .expired = true, .live = true },
	{ .bytes = BLOCK, .touched = true, .pinned = true },
	{ .bytes = BLOCK, .depth = 1, .touched = true, .live = true },
	{ .bytes = BLOCK, .depth = 7, .live = true },
	{ .bytes = 2 * BLOCK, .depth = 8, .touched = true, .pinned = true, .live = true },
	{ .bytes = BLOCK, .touched = true, .expired = true, .live = true },
	{ .bytes = BLOCK, .touched = true },
};

static void check_plan(struct kunit *test, struct kvc_budget *b, bool pressed,
		       unsigned long expected, u64 bytes)
{
	DECLARE_BITMAP(keep, ARRAY_SIZE(mixed));

	BUILD_BUG_ON(sizeof(keep) != KVC_CLOCK_WORDS(ARRAY_SIZE(mixed)) * sizeof(long));
	bitmap_fill(keep, ARRAY_SIZE(mixed));
	KUNIT_EXPECT_EQ(test, kvc_clock_plan(mixed, ARRAY_SIZE(mixed), b, pressed, keep),
			bytes);
	KUNIT_EXPECT_EQ(test, keep[0], expected);
	/* The bitmap is the kernel's kind. */
	KUNIT_EXPECT_EQ(test, (bool)test_bit(5, keep), kvc_clock_kept(keep, 5));
}

static void clock_keeps_touched_and_pinned(struct kunit *test)
{
	struct kvc_budget b;

	kvc_budget_init(&b, 25, 100 * BLOCK);
	check_plan(test, &b, false, BIT(0) | BIT(2) | BIT(5) | BIT(7), 6 * BLOCK);
	KUNIT_EXPECT_EQ(test, kvc_budget_left(&b), 94ULL * BLOCK);
}

static void clock_prefers_shallow_objects(struct kunit *test)
{
	struct kvc_budget b;

	kvc_budget_init(&b, 25, 5 * BLOCK);
	check_plan(test, &b, false, BIT(2) | BIT(5) | BIT(7), 5 * BLOCK);
	KUNIT_EXPECT_EQ(test, kvc_budget_left(&b), 0ULL);
}

static void clock_pins_overdraw_the_budget(struct kunit *test)
{
	struct kvc_budget b;

	kvc_budget_init(&b, 50, 3 * BLOCK);
	check_plan(test, &b, false, BIT(2) | BIT(7), 4 * BLOCK);
	kvc_budget_earn(&b, 2 * BLOCK);
	KUNIT_EXPECT_EQ(test, kvc_budget_left(&b), 0ULL);
	kvc_budget_earn(&b, 2 * BLOCK);
	KUNIT_EXPECT_EQ(test, kvc_budget_left(&b), (u64)BLOCK);
}

static void clock_yields_when_pressed(struct kunit *test)
{
	struct kvc_budget b;

	kvc_budget_init(&b, 25, 100 * BLOCK);
	check_plan(test, &b, true, BIT(2) | BIT(7), 4 * BLOCK);
}

static void clock_budget_is_a_share_of_puts(struct kunit *test)
{
	struct kvc_budget b;
	int i;

	kvc_budget_init(&b, 30, 1000);
	KUNIT_EXPECT_TRUE(test, kvc_budget_take(&b, 1000));
	for (i = 0; i < 10; i++)
		kvc_budget_earn(&b, 1);
	KUNIT_EXPECT_FALSE(test, kvc_budget_take(&b, 4));
	KUNIT_EXPECT_TRUE(test, kvc_budget_take(&b, 3));
	kvc_budget_earn(&b, U64_MAX);
	KUNIT_EXPECT_EQ(test, kvc_budget_left(&b), 1000ULL);
	kvc_budget_overdraw(&b, U64_MAX);
	KUNIT_EXPECT_EQ(test, kvc_budget_left(&b), 0ULL);
}

static void clock_reserve_fits_small_and_large_groups(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kvc_reserve_low(8), 2U);
	KUNIT_EXPECT_EQ(test, kvc_reserve_high(8), 3U);
	KUNIT_EXPECT_EQ(test, kvc_reserve_low(256), 4U);
	KUNIT_EXPECT_EQ(test, kvc_reserve_high(256), 6U);
	KUNIT_EXPECT_EQ(test, kvc_reserve_low(U32_MAX), 16U);
	KUNIT_EXPECT_EQ(test, kvc_reserve_high(U32_MAX), 24U);
	KUNIT_EXPECT_TRUE(test, kvc_reserve_pressed(8, 0));
	KUNIT_EXPECT_FALSE(test, kvc_reserve_pressed(8, 1));
	KUNIT_EXPECT_TRUE(test, kvc_reserve_pressed(U32_MAX, 7));
	KUNIT_EXPECT_FALSE(test, kvc_reserve_pressed(U32_MAX, 8));
}

static struct kunit_case kvc_clock_cases[] = {
	KUNIT_CASE(clock_keeps_touched_and_pinned),
	KUNIT_CASE(clock_prefers_shallow_objects),
	KUNIT_CASE(clock_pins_overdraw_the_budget),
	KUNIT_CASE(clock_yields_when_pressed),
	KUNIT_CASE(clock_budget_is_a_share_of_puts),
	KUNIT_CASE(clock_reserve_fits_small_and_large_groups),
	{}
};

struct kunit_suite kvc_clock_suite = {
	.name = "kvc_clock",
	.test_cases = kvc_clock_cases,
};
