// SPDX-License-Identifier: MIT
/* Runs the unit tests of kvcached. */
#include "tests.h"

#define ENTRY(name) cmocka_unit_test(name),

int main(void)
{
	static const struct CMUnitTest tests[] = { ALL_TESTS(ENTRY) };

	return cmocka_run_group_tests_name("kvcached", tests, NULL, NULL);
}
