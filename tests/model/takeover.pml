/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One AG that goes from owner to owner. Epoch e is host e mod 2's, so that the
 * host of epoch 1 comes back with epoch 3; each shows its epoch in a slot on
 * three copies. An owner may lose its lease at any step, or give the AG up in
 * good order; what it has on its way lands at any time before Q. AREAS areas
 * stand for the four of the format: epoch e + AREAS uses that of epoch e. A
 * reader follows, and may begin anew.
 *
 * An area's ring has four places. Epoch 1 has gone round: its checkpoint is in
 * places 3 and 0, its records in 1 and 2. The others begin: a checkpoint in 0 and
 * 1, and a record in 2. A record is a bit, and what a checkpoint holds a set.
 *
 * Shown: every record that was answered is in every later epoch; what was retired
 * stays away; a reader knows what was answered before it was asked, and agrees
 * with the owner whose epoch it follows; no slot goes back.
 *
 * check:
 * check: -DEPOCHS=3 -DCOPIES=1
 * check: -DEPOCHS=3 -DMISSES=0 -DGIVE -DFIRST=2 -DBEAT
 * check: -DEPOCHS=4 -DMISSES=0
 * check: -DEPOCHS=3 -DMISSES=0 -DAREAS=3 -DFIRST=2 -DROT
 * soak: -DMISSES=2
 * soak: -DEPOCHS=3
 * soak: -DEPOCHS=3 -DCOPIES=1 -DGIVE -DFIRST=2 -DBEAT
 * soak: -DEPOCHS=3 -DCOPIES=1 -DAREAS=3 -DFIRST=2 -DROT
 * soak: -DEPOCHS=4 -DCOPIES=1
 * break R2_ANSWER 2: an answer is given although the lease has ended
 * break R2_ISSUE 2 -DEPOCHS=3 -DCOPIES=1 -DFIRST=2: a write is issued although the lease has ended
 * break R4_AREA 4 -DEPOCHS=3 -DCOPIES=1 -DFIRST=2: an area is used again while old writes may land
 * break R4_SLOT 4 -DEPOCHS=3 -DCOPIES=1 -DBEAT: a slot is granted again while old writes may land
 * break R5_KEEP 5: a new incarnation shows only epochs of its own
 * break R5_READ 5: a new incarnation reads one copy of its slot before it writes
 * break R10_NEWER 10 -DEPOCHS=3 -DCOPIES=1: a block of a newer epoch ends a journal
 * break R12_REPLACE 12: a new epoch is added to what was known
 * break R13_MAJORITY 13: one copy of a slot that can be read is enough
 * break R20_WHOLE 20 -DEPOCHS=3 -DMISSES=0: the base is the highest epoch with a header
 * break R20_END 20: the base's checkpoint is read and not its records
 * break R20_SHOW 20: puts are answered before a slot shows the epoch
 * break R20_DURABLE 20 -DEPOCHS=3 -DAREAS=3 -DMISSES=0: the epoch is shown before its checkpoint is durable
 * break R20_AREA 20 -DEPOCHS=4 -DMISSES=0: the base's own area is written
 * break R20_REFUSE 20 -DEPOCHS=3 -DMISSES=0 -DAREAS=3 -DFIRST=2 -DROT: a base below what a slot shows is taken
 * break R22_BLOCK 22 -DEPOCHS=3 -DCOPIES=1 -DFIRST=2: a block counts by its place alone
 * break R31_MAJORITY 31: a slot write counts when one copy is down
 * break R32_WAIT 32 -DMISSES=0 -DGIVE: an AG is given up with a record on its way
 */
#include "model.h"
#define R2_ANSWER 1
#define R2_ISSUE 2
#define R4_AREA 3
#define R4_SLOT 4
#define R5_KEEP 5
#define R5_READ 6
#define R10_NEWER 7
#define R12_REPLACE 8
#define R13_MAJORITY 9
#define R20_WHOLE 10
#define R20_END 11
#define R20_SHOW 12
#define R20_DURABLE 13
#define R20_AREA 14
#define R20_REFUSE 15
#define R22_BLOCK 16
#define R31_MAJORITY 17
#define R32_WAIT 18

#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef AREAS
#define AREAS 2
#endif
#ifndef COPIES
#define COPIES 3
#endif
#ifndef MISSES
#define MISSES 1
#endif
#ifndef FIRST
#define FIRST 1			/* records of epoch 1 */
#endif
#ifdef ROT
#define ROTTEN rotten
#else
#define ROTTEN false
#endif

/* Which epoch a header and each place of each area's ring are of. */
byte header[AREAS], ring[4 * AREAS];
byte slot[6];			/* host's slot, copy: the epoch that it shows */
/* On their way. */
byte slot_write[6];		/* the epoch plus one */
bool beat;			/* a heartbeat of host 1 in epoch 1, to its first copy */
bool header_write[EPOCHS + 1], part1_write[EPOCHS + 1], part2_write[EPOCHS + 1];
bool record_write[EPOCHS + 1];
byte record_nr[EPOCHS + 1];

bool given[EPOCHS + 1];
byte granted;			/* epoch; with that the lease of the one before ends */
bool rotten;

/* Of epoch e's checkpoint; what was answered. */
byte holds[EPOCHS + 1], answered;
bool retired;			/* record 1, by record 2, in epoch 2 */
hidden byte i;

#define AREA(e) ((e) % AREAS)
#define HOST(e) ((e) % 2)
#define RING(e, place) ring[4 * AREA(e) + (place)]
#define PART1(e) RING(e, ((e) == 1 -> 3 : 0))
#define PART2(e) RING(e, ((e) == 1 -> 0 : 1))
#define RECORDS(e) ((e) == 1 -> FIRST : 1)
#define RECORD(e, n) RING(e, ((e) == 1 -> 1 + (n) : 2))
#define BIT(e, n) (1 << ((e) == 1 -> (n) : (e)))
/* The record that is found in the n-th place of epoch e. */
#define FOUND(e, n) (RECORD(e, n) == (e) -> BIT(e, n) : \
		     (RECORD(e, n) == 1 -> BIT(1, 1) : BIT(RECORD(e, n), 0)))
#define IS_RECORD(e, n) ((n) < RECORDS(e) && (RECORD(e, n) == (e) || \
			 (RECORD(e, n) && !rule(R22_BLOCK))))
#define LEASE(e) (granted == (e) || given[e])
#define QUIET(e) (!header_write[e] && !part1_write[e] && !part2_write[e] && \
		  !record_write[e])
#define SLOT_QUIET(h) ((h == 0 || !beat) && !slot_write[3 * (h)] && !slot_write[3 * (h) + 1] && \
		       !slot_write[3 * (h) + 2])
/* What a slot shows on the two copies other than out. */
#if COPIES == 3
#define SEEN2(h, a, b) (slot[3 * (h) + a] > slot[3 * (h) + b] -> \
			slot[3 * (h) + a] : slot[3 * (h) + b])
#define SEEN1(h, a) slot[3 * (h) + a]
#define DOWN(h, e) ((slot[3 * (h)] == (e)) + (slot[3 * (h) + 1] == (e)) + \
		    (slot[3 * (h) + 2] == (e)) >= (rule(R31_MAJORITY) -> 2 : 1))
#else
#define SEEN2(h, a, b) slot[3 * (h)]
#define SEEN1(h, a) slot[3 * (h)]
#define DOWN(h, e) (slot[3 * (h)] == (e))
#endif

#define EPOCH(e) \
	:: d_step { header_write[e] -> header[AREA(e)] = e; header_write[e] = false } \
	:: d_step { part1_write[e] -> PART1(e) = e; part1_write[e] = false } \
	:: d_step { part2_write[e] -> PART2(e) = e; part2_write[e] = false } \
	:: d_step { record_write[e] -> RECORD(e, record_nr[e]) = e; record_write[e] = false }

#define COPY(c) \
	:: d_step { slot_write[c] -> \
		slot[c] = slot_write[c] - 1; slot_write[c] = 0 }

proctype Fabric()
{
	do
	EPOCH(1)
	EPOCH(2)
#if EPOCHS > 2
	EPOCH(3)
#endif
#if EPOCHS > 3
	EPOCH(4)
#endif
	COPY(0)
	COPY(3)
#if COPIES == 3
	COPY(1)
	COPY(2)
	COPY(4)
	COPY(5)
#endif
	:: d_step { beat -> beat = false; slot[3] = 1 }
	:: d_step { granted == EPOCHS -> granted++ }	/* the last lease ends */
#if WITHOUT == R5_KEEP
	/* Host 0 comes back without the AG. */
	:: d_step { SEEN2(0, 0, 1) == 2 && granted > 2 && SLOT_QUIET(0) ->
		slot[0] = 0; slot[1] = 0; slot[2] = 0 }
#elif WITHOUT == R5_READ
	/* It comes back, and looks at the one copy that its last write missed. */
	:: d_step { !slot[0] && slot[1] == 2 && slot[2] == 2 && granted > 2 ->
		slot_write[0] = 0; slot[1] = 0; slot[2] = 0 }
#endif
#ifdef ROT
	/* Epoch 2's checkpoint can't be read any more. */
	:: d_step { !rotten && DOWN(0, 2) && PART2(2) == 2 -> rotten = true; PART2(2) = 0 }
#endif
	od
}

proctype Owner(byte e)
{
	byte base, set, n, seen;

	atomic {
		granted == e - 1 &&
		(e < 3 || !rule(R4_SLOT) || SLOT_QUIET(HOST(e))) ->
		granted = e;
		if
		:: e == 1 -> goto puts
		:: else -> base = e - 1
		fi;
		seen = (SEEN2(0, 0, 1) > SEEN2(1, 0, 1) -> SEEN2(0, 0, 1) : SEEN2(1, 0, 1))
	};
	/* The base. */
	do
	:: atomic { base == 0 -> assert(ROTTEN); goto out }
	:: atomic { base && header[AREA(base)] != base -> base-- }
	:: atomic { base && header[AREA(base)] == base && !rule(R20_WHOLE) -> break }
	:: atomic { base && header[AREA(base)] == base && rule(R20_WHOLE) };
	   if
	   :: atomic { PART1(base) == base };
	      if
	      :: atomic { PART2(base) == base -> break }
	      :: atomic { PART2(base) != base -> base-- }
	      fi
	   :: atomic { PART1(base) != base -> base-- }
	   fi
	od;
	if
	:: atomic { base < seen && rule(R20_REFUSE) -> set = 0; n = 2 }
	:: atomic { base >= seen || !rule(R20_REFUSE) -> set = holds[base] }
	fi;
	do
	:: atomic { n < 2 && rule(R20_END) && IS_RECORD(base, n) ->
		set = set | FOUND(base, n); n++ }
	:: atomic { n == 2 || !rule(R20_END) || !IS_RECORD(base, n) -> break }
	od;
	atomic {
		n = 0;
		seen = 0;
		/* Not over its base: the next epoch is asked for. */
		if
		:: AREA(base) == AREA(e) && rule(R20_AREA) -> goto out
		:: else
		fi
	};
	atomic { LEASE(e) && (e <= AREAS || !rule(R4_AREA) || QUIET(e - AREAS)) ->
		header_write[e] = true };
	atomic { LEASE(e) && !header_write[e] ->
		part1_write[e] = true;
		part2_write[e] = true;
		holds[e] = set;
		assert(ROTTEN || (set & answered) == answered);
		assert(!retired || !(set & 2) || (set & 4)) };
	atomic { LEASE(e) && ((!part1_write[e] && !part2_write[e]) || !rule(R20_DURABLE)) ->
		for (i : 0 .. COPIES - 1) {
			slot_write[3 * HOST(e) + i] = e + 1
		}
		i = 0 };
	atomic { (DOWN(HOST(e), e) || !rule(R20_SHOW)) && QUIET(e) };
puts:	n = 0;
	do
	:: atomic { n < RECORDS(e) && (LEASE(e) || !rule(R2_ISSUE)) ->
		record_write[e] = true; record_nr[e] = n };
	   if
	   :: atomic {
		!record_write[e] ->
		if
		:: LEASE(e) || !rule(R2_ANSWER) ->
			answered = answered | BIT(e, n);
			if
			:: e == 2 -> retired = true
			:: else
			fi
		:: else -> goto out
		fi };
	      n++
#if WITHOUT == R32_WAIT
	   :: atomic { record_write[e] && !given[e] -> given[e] = true }
#endif
	   fi
#ifdef GIVE
	/* Given up in good order: all is down. */
	:: atomic { LEASE(e) && rule(R32_WAIT) -> given[e] = true; break }
#endif
	:: atomic { n == RECORDS(e) || !LEASE(e) -> break }
	od;
out:	atomic { base = 0; set = 0; n = 0; seen = 0 }
}

byte cur = 1, pos, known;	/* the reader's */

proctype Reader()
{
	byte must, shown, at, set, n, order;
	bool busy, again;

	do
	:: atomic { n < MISSES -> n++; must = answered; shown = 0; busy = false;
		if
		:: order = 0		/* slots first */
		:: order = 1		/* or last */
		fi };
	   if
	   :: atomic { order == 1 -> goto probe }
	   :: atomic { order == 0 }
	   fi;
slots:	   atomic {
		/* of both, one copy is out of reach */
		if
		:: !rule(R13_MAJORITY) -> shown = SEEN1(0, 0); at = SEEN1(1, 0)
		:: shown = SEEN2(0, 0, 1); at = SEEN2(1, 0, 1)
		:: shown = SEEN2(0, 0, 2); at = SEEN2(1, 0, 2)
		:: shown = SEEN2(0, 1, 2); at = SEEN2(1, 1, 2)
		fi;
		shown = (at > shown -> at : shown);
		at = 0;
		if
		:: order == 1 -> goto judge
		:: else
		fi };
probe:	   do
	   :: atomic { cur && pos < RECORDS(cur) && RECORD(cur, pos) == cur ->
		known = known | BIT(cur, pos); pos++ }
	   :: atomic { !cur || pos == RECORDS(cur) -> break }
	   :: atomic { cur && pos < RECORDS(cur) && RECORD(cur, pos) != cur ->
		busy = (rule(R10_NEWER) && RECORD(cur, pos) > cur); break }
	   od;
	   if
	   :: atomic { order == 1 -> goto slots }
	   :: atomic { order == 0 }
	   fi;
judge:	   if
	   :: atomic { shown <= cur };
	      if
	      :: atomic { busy -> goto not_now }
	      :: atomic { !busy }
	      fi
	   :: atomic { shown > cur -> at = shown; order = 0 };
	      /* Load: header, checkpoint, records. */
	      if
	      :: atomic { header[AREA(at)] == at && PART1(at) == at }
	      :: atomic { header[AREA(at)] != at || PART1(at) != at -> goto not_now }
	      fi;
	      if
	      :: atomic { PART2(at) == at ->
			set = (rule(R12_REPLACE) -> holds[at] : known | holds[at]) }
	      :: atomic { PART2(at) != at -> goto not_now }
	      fi;
	      do
	      :: atomic { IS_RECORD(at, order) -> set = set | FOUND(at, order); order++ }
	      :: atomic { order == 2 || !IS_RECORD(at, order) -> break }
	      od;
	      atomic { cur = at; pos = order; known = set; at = 0; set = 0;
		if
		:: rule(R10_NEWER) && pos < RECORDS(cur) && RECORD(cur, pos) > cur -> goto not_now
		:: else
		fi }
	   fi;
	   atomic {
		assert(!cur || ROTTEN || (known & must) == must);
		if
		:: cur > 1 -> assert(known == (holds[cur] | (pos -> BIT(cur, 0) : 0)))
		:: cur == 1 -> assert(known == (1 << pos) - 1)
		:: else
		fi };
not_now:   atomic { must = 0; shown = 0; at = 0; set = 0; order = 0; busy = false }
	/* Another incarnation: nothing is known. */
	:: atomic { !again && cur && n < MISSES -> again = true; cur = 0; pos = 0; known = 0 }
	od
}

init {
	atomic {
		/* Epoch 1 is in force. */
		header[AREA(1)] = 1;
		PART1(1) = 1;
		PART2(1) = 1;
		for (i : 3 .. 2 + COPIES) {
			slot[i] = 1
		}
		i = 0;
#ifdef BEAT
		beat = true;
#endif
		run Fabric();
		run Owner(1);
		run Owner(2);
#if EPOCHS > 2
		run Owner(3);
#endif
#if EPOCHS > 3
		run Owner(4);
#endif
		run Reader()
	}
}
