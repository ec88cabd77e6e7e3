/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lease that its holder prolongs by writing its slot, and an observer that
 * takes a slot that stands still for dead. In units of an eighth of a lease, and
 * with the worst clocks that are permitted: a lease ends 9 units after it began,
 * by a slow clock; a fast one takes 8 for a lease, 9 for a lease and an eighth.
 * Every write of the slot lands, and is answered, after any time; reading a slot
 * takes any time, or fails; holder and observer may pause at any step.
 *
 * Shown: who is taken for dead holds no lease, and never gets it back.
 *
 * check:
 * soak: -DCAP=24
 * break R19_END 19: a host that can't write its slot goes on
 * break R3_LATE 3: a slot write that comes down after the end revives the lease
 * break R2_START 2: a lease counts from the answer to the slot write, not from before
 * break R13_UNKNOWN 13: a look that finds the slot unknown counts as one at which it stood still
 * break R15_EIGHTH 15: an observer waits for just a lease
 * break R15_BEGIN 15: an observer's wait begins before it has read the slot
 * break R15_LAST 15: the last look began before the wait was over
 */
#include "model.h"
#define R19_END 1
#define R3_LATE 2
#define R2_START 3
#define R15_EIGHTH 4
#define R15_BEGIN 5
#define R15_LAST 6
#define R13_UNKNOWN 7

#define LEASE 9
#define WATCH (rule(R15_EIGHTH) -> 9 : 8)
#ifndef CAP
#define CAP 13
#endif

bool moved;			/* the slot, since the observer's first look */
byte age;			/* of the lease: since before the write that it rests on */
byte beat;			/* since the present slot write was begun */
byte watch;			/* of the observer */
bool flying, landed;
bool up = true;			/* the holder thinks that it goes on */
bool dead;			/* the observer's verdict */

#define HOLDS (up && (age < LEASE || !rule(R19_END)))

active proctype Time()
{
	do
	:: d_step {
		age = (age < CAP -> age + 1 : CAP);
		beat = (flying && beat < CAP -> beat + 1 : beat);
		watch = (watch < CAP -> watch + 1 : CAP)
	   }
	od
}

active proctype Holder()
{
	do
	:: d_step { up && !flying -> flying = true; beat = 0 }
	:: d_step { flying && !landed -> landed = true; moved = true }
	:: d_step {
		up && landed ->
		if
		:: age < LEASE || !rule(R3_LATE) || !rule(R19_END) ->
			age = (rule(R2_START) -> beat : 0)
		:: else -> up = false
		fi;
		flying = false;
		landed = false;
		beat = 0;
		assert(!dead || !HOLDS)
	   }
	:: d_step { up && age >= LEASE && rule(R19_END) && rule(R3_LATE) -> up = false }
	od
}

active proctype Observer()
{
	bool seen;

again:	atomic { watch = 0 };		/* a read begins */
	atomic { moved = false };
	atomic {
		if
		:: rule(R15_BEGIN) -> watch = 0
		:: else
		fi
	};
	do
	:: atomic { rule(R13_UNKNOWN) -> goto again }	/* it can't be read */
	:: atomic { !rule(R13_UNKNOWN) && watch >= WATCH -> break }
	:: atomic { watch >= WATCH || !rule(R15_LAST) -> seen = moved };
	   atomic {
		if
		:: seen -> seen = false; goto again
		:: !seen && watch >= WATCH -> break
		:: else
		fi
	   }
	od;
	atomic { dead = true; assert(!HOLDS) }
}
