/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What "durable" means while blocks are on their way, and what may rest on it.
 * Segment s holds an object of generation 1. Its owner writes, a block each: a
 * PUT elsewhere, RETIRE(s, 1), OPEN(s, 2), a PUT into (s, 2). It may be replaced
 * at any step; the next owner reads to the first hole, and what is on its way
 * then may land later. No other host lives, so grace periods are over at once.
 *
 * Shown: what the next owner finds is as it says: an object that lives has its
 * bytes and nothing is on its way over them; a segment that is retired has
 * nothing on its way to it; what was answered is there.
 *
 * check:
 * break R8_PREFIX 8: a record counts as durable when its own block is
 * break R8_DATA 8: a PUT is issued before its data are down
 * break R8_ANSWER 8: a put is answered before its PUT is durable
 * break R7_OPEN 7: data are written before the OPEN is durable
 */
#include "model.h"
#define R8_PREFIX 1
#define R8_DATA 2
#define R8_ANSWER 3
#define R7_OPEN 4

#define FIRST 0
#define RETIRE 1
#define OPEN 2
#define PUT 3
#define BLOCKS 4

bool issued[BLOCKS], down[BLOCKS], answered[BLOCKS];
bool data_issued, data_down;
byte content = 1;		/* generation of the bytes in s; 0: neither */
bool over;			/* the owner's time */

#define BEFORE(b) ((b < 1 || down[0]) && (b < 2 || down[1]) && (b < 3 || down[2]))
#define DURABLE(b) (down[b] && (BEFORE(b) || !rule(R8_PREFIX)))

#define LANDS(b) :: d_step { issued[b] && !down[b] -> down[b] = true }

active proctype Fabric()
{
	do
	LANDS(FIRST)
	LANDS(RETIRE)
	LANDS(OPEN)
	LANDS(PUT)
	:: d_step { data_issued && !data_down -> data_down = true; content = 2 }
	od
}

active proctype Owner()
{
	atomic { !over -> issued[FIRST] = true };
	atomic { !over -> issued[RETIRE] = true };
	/* The grace period begins, and ends, when the RETIRE is durable. */
	atomic { !over && DURABLE(RETIRE) -> issued[OPEN] = true };
	atomic { !over && (DURABLE(OPEN) || !rule(R7_OPEN)) ->
		data_issued = true; content = 0 };
	atomic { !over && (data_down || !rule(R8_DATA)) && DURABLE(OPEN) ->
		issued[PUT] = true };
	atomic { !over && (DURABLE(PUT) || !rule(R8_ANSWER)) ->
		answered[PUT] = true }
}

active proctype Answers()
{
	atomic { !over && DURABLE(FIRST) -> answered[FIRST] = true }
}

active proctype Next()
{
	byte at;
	byte live = 1;		/* generation of the object in s */
	bool open, first;

	over = true;
	do
	:: atomic {
		at < BLOCKS && down[at] ->
		if
		:: at == FIRST -> first = true
		:: at == RETIRE -> live = 0
		:: at == OPEN -> open = true
		:: at == PUT -> live = 2
		fi;
		at++
	   }
	:: atomic { at == BLOCKS || !down[at] -> break }
	od;
	atomic {
		assert(live == 0 || content == live);
		assert(live != 1 || !data_issued || data_down);
		assert(live != 0 || open || !data_issued);
		assert(!answered[FIRST] || first);
		assert(!answered[PUT] || live == 2)
	}
}
