/* SPDX-License-Identifier: MIT */
/*
 * Just enough of the kernel's KUnit on top of cmocka to run the suites of
 * kmod/tests in userspace, under the sanitizers. An expectation that fails ends
 * its case, as an assertion does.
 */
#ifndef KUNIT_TEST_H
#define KUNIT_TEST_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include "kvc_user.h"

struct kunit {
	void *priv;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function)	{ .run_case = function, .name = #function }

#define KUNIT_COMPARE(left, op, right)					\
	do {								\
		u64 kunit_left = (u64)(left), kunit_right = (u64)(right); \
		if (!(kunit_left op kunit_right)) {			\
			print_error("%s %s %s: %lld, %lld\n", #left, #op, \
				    #right, (long long)kunit_left,	\
				    (long long)kunit_right);		\
			_fail(__FILE__, __LINE__);			\
		}							\
	} while (0)

#define KUNIT_ASSERT_EQ(test, l, r)	KUNIT_COMPARE(l, ==, r)
#define KUNIT_ASSERT_NE(test, l, r)	KUNIT_COMPARE(l, !=, r)
#define KUNIT_ASSERT_LT(test, l, r)	KUNIT_COMPARE(l, <, r)
#define KUNIT_ASSERT_LE(test, l, r)	KUNIT_COMPARE(l, <=, r)
#define KUNIT_ASSERT_GT(test, l, r)	KUNIT_COMPARE(l, >, r)
#define KUNIT_ASSERT_GE(test, l, r)	KUNIT_COMPARE(l, >=, r)
#define KUNIT_ASSERT_TRUE(test, x)	assert_true(x)
#define KUNIT_ASSERT_FALSE(test, x)	assert_false(x)

#define KUNIT_EXPECT_EQ			KUNIT_ASSERT_EQ
#define KUNIT_EXPECT_NE			KUNIT_ASSERT_NE
#define KUNIT_EXPECT_LT			KUNIT_ASSERT_LT
#define KUNIT_EXPECT_LE			KUNIT_ASSERT_LE
#define KUNIT_EXPECT_GT			KUNIT_ASSERT_GT
#define KUNIT_EXPECT_GE			KUNIT_ASSERT_GE
#define KUNIT_EXPECT_TRUE		KUNIT_ASSERT_TRUE
#define KUNIT_EXPECT_FALSE		KUNIT_ASSERT_FALSE
#define KUNIT_EXPECT_PTR_EQ(test, l, r)	assert_ptr_equal(l, r)
#define KUNIT_EXPECT_NOT_NULL(test, p)	assert_non_null(p)
#define KUNIT_EXPECT_STREQ(test, l, r)	assert_string_equal(l, r)

/* Run all cases of a suite; returns how many failed. */
int kunit_run(struct kunit_suite *suite);

#endif
