/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a miss may rest on. An owner answers puts in order, a block each; another
 * owner follows with epoch 2, whose checkpoint has all that was found. A reader
 * refreshes for misses, which share refreshes, while it also polls in the
 * background; either may load epoch 2, which takes its time. The blocks of an
 * epoch are counted here; their places are the ring model's business.
 *
 * Shown: whoever answers a miss knows of every put that was answered before the
 * miss came up.
 *
 * check:
 * soak: -DBLOCKS=3 -DMISSES=1
 * break R8_ORDER 8: puts are answered out of order
 * break R10_HOLE 10: a refresh steps over a hole
 * break R10_SLOTS 10: a refresh does not read the slots
 * break R11_SHARE 11: a miss shares a refresh that has begun
 * break R11_LOAD 11: a miss rests on a load that began before it
 * break R11_SLOTS 11: the slots that an earlier refresh read count
 * break R12_WAIT 12: a miss is answered while the new epoch is being loaded
 */
#include "model.h"
#define R8_ORDER 1
#define R10_HOLE 2
#define R10_SLOTS 3
#define R11_SHARE 4
#define R11_LOAD 5
#define R11_SLOTS 6
#define R12_WAIT 7

#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef MISSES
#define MISSES 2
#endif

/* Blocks of both epochs: BLOCKS of epoch 1, then BLOCKS of epoch 2. */
bool down[2 * BLOCKS], answered[2 * BLOCKS];
byte issued, issued2;
bool over;			/* epoch 1 */
byte shown = 1;			/* by the slots */
byte cut;			/* blocks of epoch 1 that epoch 2 found */

#define PREVIOUS(b) (b == 0 || answered[b - 1])
#define LANDS(b) :: d_step { b < issued && !down[b] -> down[b] = true }

active proctype Owner()
{
	byte b;

	do
	:: atomic { !over && issued < BLOCKS -> issued++ }
	LANDS(0)
	LANDS(1)
#if BLOCKS > 2
	LANDS(2)
#endif
	:: atomic {
		!over ->
		select (b : 0 .. BLOCKS - 1);
		if
		:: down[b] && !answered[b] &&
		   (PREVIOUS(b) || !rule(R8_ORDER)) -> answered[b] = true
		:: else
		fi;
		b = 0
	   }
	/* The next owner reads to the first hole, writes its checkpoint ... */
	:: atomic {
		!over -> over = true;
		do
		:: cut < BLOCKS && down[cut] -> cut++
		:: else -> break
		od
	   }
	/* ... and shows its epoch. */
	:: atomic { over && shown == 1 -> shown = 2 }
	:: atomic {
		shown == 2 && issued2 < BLOCKS &&
		(issued2 == 0 || answered[BLOCKS + issued2 - 1]) ->
		down[BLOCKS + issued2] = true;
		issued2++
	   }
	:: atomic {
		issued2 && !answered[BLOCKS + issued2 - 1] ->
		answered[BLOCKS + issued2 - 1] = true
	   }
	od
}

/* The reader's index: an epoch, and how far it has read there. */
byte cur = 1, pos;
byte skipped;			/* blocks that it stepped over, as bits */
bool loading;			/* one load at a time */
byte begun, ended;		/* refreshes */

#define THERE(e, p) (p < BLOCKS && down[(e - 1) * BLOCKS + p])

/* Read epoch 2 to its end as it is now, block by block. */
inline load(at)
{
	do
	:: atomic { THERE(2, at) -> at++ }
	:: atomic { !THERE(2, at) -> break }
	od;
	atomic { cur = 2; pos = at; skipped = 0; loading = false; at = 0 }
}

active proctype Poll()
{
	byte at;

	atomic { shown == 2 && cur == 1 && !loading -> loading = true };
	load(at)
}

inline look()
{
	atomic {
		if
		:: rule(R10_SLOTS) && rule(R11_SLOTS) -> seen = shown
		:: rule(R10_SLOTS) && !rule(R11_SLOTS) -> seen = before; before = shown
		:: !rule(R10_SLOTS) -> seen = 1
		fi
	}
}

active proctype Refresh()
{
	byte epoch, seen, at, before = 1;

	do
	:: atomic { begun < MISSES + 1 -> begun++ };
again:	   atomic { epoch = cur; seen = 0 };
	   if
	   :: look()						/* slots first */
	   :: skip						/* or last */
	   fi;
	   do
	   :: atomic { cur == epoch && THERE(epoch, pos) -> pos++ }
	   :: atomic {
		!rule(R10_HOLE) && cur == 1 && epoch == 1 &&
		pos + 1 < BLOCKS && !down[pos] && down[pos + 1] ->
		skipped = skipped | (1 << pos);
		pos++
	      }
	   /* In the meantime the poll may have loaded another epoch. */
	   :: atomic { cur != epoch || !THERE(epoch, pos) -> break }
	   od;
	   if
	   :: seen == 0 -> look()
	   :: seen > 0
	   fi;
	   if
	   :: atomic { seen <= epoch && cur == epoch }
	   :: atomic { seen <= epoch && cur != epoch -> goto again }
	   :: atomic { seen > epoch && !rule(R12_WAIT) }
	   :: atomic { seen > epoch && rule(R12_WAIT) };
		/* Load it, or wait for whoever does. */
		if
		:: atomic { !loading && cur == 1 -> loading = true };
		   load(at)
		:: atomic { loading };
		   atomic { !loading }
		:: atomic { !loading && cur == 2 }
		fi;
		if
		:: atomic { rule(R11_LOAD) -> goto again }
		:: atomic { !rule(R11_LOAD) }
		fi
	   fi;
	   atomic { ended = begun; epoch = 0; seen = 0 }
	od
}

active proctype Get()
{
	byte b, need, n;
	bool must;

	do
	:: atomic {
		n < MISSES -> n++;
		select (b : 0 .. 2 * BLOCKS - 1);
		must = answered[b];
		need = begun + 1;
		if
		:: !rule(R11_SHARE) && begun > ended -> need = begun
		:: else
		fi
	   };
	   atomic {
		ended >= need ->
		assert(!must ||
		       (b < BLOCKS && cur == 1 && b < pos &&
			!(skipped & (1 << b))) ||
		       (b < BLOCKS && cur == 2 && b < cut) ||
		       (b >= BLOCKS && cur == 2 && b - BLOCKS < pos));
		must = false;
		b = 0;
		need = 0
	   }
	od
}
