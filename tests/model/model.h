/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the models share. A model says in its first comment how it is checked:
 *
 *	check: DEFINES		with all rules: no violation, in all states
 *	soak: DEFINES		the same, only in a long run
 *	break NAME RULE DEFINES: WHAT
 *				with that switch, rule RULE is broken as WHAT
 *				says, and a violation is found
 *
 * DEFINES are of the form -DX=Y. "rule(NAME)" is true unless NAME is broken,
 * which the program is told when it runs (without.h); or, where "#if WITHOUT ==
 * NAME" makes it another program, when it is made.
 */
#ifndef WITHOUT
#define WITHOUT 255		/* none of them */
#endif
#define rule(name) (WITHOUT != (name))
