// SPDX-License-Identifier: MIT
/* Runs the library's tests. */
#include "tests.h"

#define ENTRY(name) cmocka_unit_test_setup(name, set_up),

static int set_up(void **state)
{
	(void)state;
	mock_reset();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = { ALL_TESTS(ENTRY) };

	return cmocka_run_group_tests_name("libkvcache", tests, NULL, NULL);
}
