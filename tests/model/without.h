/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a search program is compiled with: the number of the rule that is broken,
 * 0 for none, is told when it runs, as WITHOUT in the environment. So one program
 * does for all searches with the same bounds.
 */
#include <stdlib.h>

static int without;

__attribute__((constructor)) static void get_without(void)
{
	const char *s = getenv("WITHOUT");

	without = s ? atoi(s) : 0;
}
