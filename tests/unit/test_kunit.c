// SPDX-License-Identifier: MIT
/* The KUnit suites of the pure files, run in userspace. */
#include "kvc_kunit.h"

static struct kunit test;

static void run(void **state)
{
	struct kunit_case *c = *state;

	c->run_case(&test);
}

int kunit_run(struct kunit_suite *suite)
{
	struct CMUnitTest *cases;
	struct kunit_case *c;
	size_t n = 0, i;
	int failed = 0;

	for (c = suite->test_cases; c->run_case; c++)
		n++;
	for (i = 0; i < n; i++) {
		c = &suite->test_cases[i];
		cases = &(struct CMUnitTest){
			.name = c->name, .test_func = run, .initial_state = c,
		};
		if (suite->init && suite->init(&test)) {
			print_error("%s: init failed\n", suite->name);
			failed++;
			continue;
		}
		failed += _cmocka_run_group_tests(suite->name, cases, 1, NULL,
						  NULL);
		if (suite->exit)
			suite->exit(&test);
	}
	return failed;
}

int main(void)
{
	return kunit_run(&kvc_layout_suite) + kunit_run(&kvc_codec_suite) +
	       kunit_run(&kvc_cut_suite) + kunit_run(&kvc_segment_suite);
}
