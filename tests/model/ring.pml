/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The journal of one epoch on media: a ring of blocks that goes round more than
 * once, checkpoints of two parts, two headers, trimming. One batch of up to two
 * blocks is in flight; its blocks land in any order, and one that is on its way
 * may be torn. A write may fail, is repeated, and may land all the same much
 * later. The owner may lose its lease at any step. A successor then reads what is
 * there; another host follows all the time, and begins by a load.
 *
 * Shown: the successor finds all that was answered; a follower's miss knows of
 * all that was answered before the miss came up, and a load is complete.
 *
 * check:
 * check: -DEND=12 -DFAILURES=1 -DMISSES=0
 * soak: -DEND=10 -DMISSES=2
 * soak: -DEND=12 -DFAILURES=1
 * break R8_AGAIN 8 -DEND=12 -DFAILURES=1 -DMISSES=0: a block whose write failed is left out
 * break R8_LATE 8 -DEND=12 -DFAILURES=1 -DMISSES=0: a place is written anew while a write to it may land yet
 * break R28_CHECKPOINT 28: the head moves to a checkpoint that is not durable
 * break R28_HEADER 28: blocks are overwritten before the new head is durable
 * break R28_TURN 28: always the same header is written
 * break R28_LATE 28 -DEND=12 -DFAILURES=1 -DMISSES=0: a header is written while an earlier write to it may land
 * break R20_END 20: a successor takes the checkpoint alone
 * break R6_WHOLE 6: a loader does not look whether the checkpoint is whole
 * break R6_END 6: any other block ends a load
 * break R10_OTHER 10: any other block is the end for a follower
 * break R10_AFTER 10: the headers are read before the block
 * break R10_PAIR 10: of the headers one is enough for a follower
 * break R14_LOAD 14: a follower that is behind the head goes on from there
 */
#include "model.h"
#define R8_AGAIN 1
#define R8_LATE 2
#define R28_CHECKPOINT 3
#define R28_HEADER 4
#define R28_TURN 5
#define R28_LATE 6
#define R20_END 7
#define R6_WHOLE 8
#define R6_END 9
#define R10_OTHER 10
#define R10_AFTER 11
#define R10_PAIR 12
#define R14_LOAD 13

#ifndef END
#define END 10			/* positions */
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef MISSES
#define MISSES 1
#endif
#define RING 5
#define CHECKPOINT 2		/* parts */
#define TORN 255

/* Places of the ring: the position that stands there plus one; 0: never written. */
byte ring[RING];
byte late[RING];		/* a write that failed and may land; likewise */
byte part[END];			/* of a checkpoint at this position: 1, 2; else 0 */

/* Headers: sequence, 0: never written; and the head that they tell. */
byte hseq[2], hhead[2];
byte hlate[2], hlate_head[2];

/* The owner. */
bool over;
byte next;			/* position */
byte durable;			/* all before it are, and were answered */
byte head;			/* all before it may be overwritten */
byte batch, left;		/* in flight: its first position plus one; bits */
byte checkpoint;		/* being written: its position plus one */
byte header = 1;		/* sequence of the last header that is down */
bool header_sent;
byte failures = FAILURES;

#define AT(p) ring[(p) % RING]
#define LATE(p) (late[(p) % RING] != 0 && late[(p) % RING] != (p) + 1)
#define HEADER (rule(R28_TURN) -> (header + 1) % 2 : 1)

#define BLOCK(i) \
	:: atomic { batch && (left & (1 << i)) && AT(batch - 1 + i) != TORN -> \
		AT(batch - 1 + i) = TORN } \
	:: atomic { batch && (left & (1 << i)) -> \
		AT(batch - 1 + i) = batch + i; left = left & ~(1 << i) } \
	:: atomic { batch && (left & (1 << i)) && failures -> \
		failures--; late[(batch - 1 + i) % RING] = batch + i; \
		if \
		:: rule(R8_AGAIN) \
		:: else -> left = left & ~(1 << i) \
		fi }

#define PLACE(p) \
	:: atomic { late[p] -> ring[p] = late[p]; late[p] = 0 } \
	:: atomic { late[p] -> late[p] = 0 }

proctype Fabric()
{
	do
	BLOCK(0)
	BLOCK(1)
	PLACE(0)
	PLACE(1)
	PLACE(2)
	PLACE(3)
	PLACE(4)
	:: atomic { header_sent && hseq[HEADER] != TORN && hseq[HEADER] != header + 1 ->
		hseq[HEADER] = TORN }
	:: atomic { header_sent && hseq[HEADER] != header + 1 ->
		hseq[HEADER] = header + 1; hhead[HEADER] = checkpoint - 1 }
	:: atomic { header_sent && hseq[HEADER] != header + 1 && failures && !hlate[HEADER] ->
		failures--; hlate[HEADER] = header + 1; hlate_head[HEADER] = checkpoint - 1 }
	:: atomic { hlate[0] -> hseq[0] = hlate[0]; hhead[0] = hlate_head[0]; hlate[0] = 0 }
	:: atomic { hlate[0] -> hlate[0] = 0 }
	:: atomic { hlate[1] -> hseq[1] = hlate[1]; hhead[1] = hlate_head[1]; hlate[1] = 0 }
	:: atomic { hlate[1] -> hlate[1] = 0 }
	od
}

inline send(n)
{
	batch = next + 1;
	left = (1 << n) - 1;
	next = next + n
}

proctype Owner()
{
	do
	/* Records: there stays room for a checkpoint. */
	:: atomic {
		!over && !batch && next + 1 <= END &&
		next + 1 - head + CHECKPOINT <= RING &&
		!(rule(R8_LATE) && LATE(next)) -> send(1)
	   }
	:: atomic {
		!over && !batch && !checkpoint && next + CHECKPOINT <= END &&
		next + CHECKPOINT - head <= RING &&
		!(rule(R8_LATE) && (LATE(next) || LATE(next + 1))) ->
		checkpoint = next + 1;
		part[next] = 1;
		part[next + 1] = 2;
		send(2)
	   }
	:: atomic { !over && batch && !left -> batch = 0; durable = next }
	/* Trim. */
	:: atomic {
		!over && checkpoint && !header_sent &&
		(durable >= checkpoint + 1 || !rule(R28_CHECKPOINT)) &&
		!(rule(R28_LATE) && hlate[HEADER]) ->
		header_sent = true;
		if
		:: !rule(R28_HEADER) -> head = checkpoint - 1
		:: else
		fi
	   }
	:: atomic {
		!over && header_sent && hseq[HEADER] == header + 1 ->
		head = checkpoint - 1;
		header++;
		header_sent = false;
		checkpoint = 0
	   }
	:: atomic { !over -> over = true; break }
	od
}

/* Read both headers; the one that counts, and are both sound? */
inline read_headers(h, s, both)
{
	atomic {
		s = 0;
		both = true;
		if
		:: hseq[0] == TORN -> both = false
		:: else -> s = hseq[0]; h = hhead[0]
		fi
	};
	atomic {
		if
		:: hseq[1] == TORN -> both = false
		:: hseq[1] != TORN && hseq[1] > s -> s = hseq[1]; h = hhead[1]
		:: else
		fi
	}
}

proctype Successor()
{
	byte at, s;
	bool both;

	over;
	read_headers(at, s, both);
	assert(s > 0);
	atomic { assert(AT(at) == at + 1 && part[at] == 1) };
	atomic { assert(AT(at + 1) == at + 2 && part[at + 1] == 2); at = at + 2 };
	do
	:: atomic { at < END && AT(at) == at + 1 && rule(R20_END) -> at++ }
	:: atomic { at == END || AT(at) != at + 1 || !rule(R20_END) -> break }
	od;
	assert(at >= durable)
}

proctype Follower()
{
	byte pos, must, n;
	byte at, s;
	bool both, loaded, torn, lacks;

	do
	:: atomic { n < MISSES -> n++; must = durable };
	   if
	   :: atomic { pos == 0 -> torn = true };	/* it joins */
	      read_headers(at, s, both);
	      goto load
	   :: atomic { pos > 0 }
	   fi;
probe:	   skip;
#if WITHOUT == R10_AFTER
	   read_headers(at, s, both);
#endif
	   do
	   :: atomic { pos < END && AT(pos) == pos + 1 -> pos++ }
	   :: atomic { pos == END || AT(pos) != pos + 1 -> break }
	   od;
	   atomic {
		torn = (pos < END && AT(pos) > pos + 1 && rule(R10_OTHER) &&
			(rule(R6_END) || !loaded))
	   };
	   if
	   :: atomic { torn && rule(R10_AFTER) };
	      read_headers(at, s, both)
	   :: atomic { !torn || !rule(R10_AFTER) }
	   fi;
	   if
	   :: atomic { torn && ((rule(R10_PAIR) && !both) || !s) -> goto not_now }
	   :: atomic { torn && (!rule(R10_PAIR) || both) && s && at > pos -> skip };
load:	      if
	      :: atomic { !rule(R14_LOAD) && pos > 0 -> lacks = (at > pos); pos = at; goto probe }
	      :: atomic { rule(R14_LOAD) || !pos }
	      fi;
	      /* The checkpoint, part by part. */
	      if
	      :: atomic { !s || AT(at) != at + 1 || part[at] != 1 -> goto not_now }
	      :: atomic { s && AT(at) == at + 1 && part[at] == 1 }
	      fi;
	      if
	      :: atomic { AT(at + 1) == at + 2 && part[at + 1] == 2 }
	      :: atomic { AT(at + 1) != at + 2 || part[at + 1] != 2 ->
			if
			:: rule(R6_WHOLE) -> goto not_now
			:: else -> lacks = true
			fi }
	      fi;
	      atomic { pos = at + 2; loaded = true };
	      goto probe
	   :: atomic { !torn || (s && (!rule(R10_PAIR) || both) && at <= pos) };
	      atomic { assert(pos >= must && !lacks) }
	   fi;
not_now:   atomic { must = 0; at = 0; s = 0; both = false; loaded = false; torn = false }
	od
}

init {
	atomic {
		/* The epoch begins: header and checkpoint are down. */
		hseq[1] = 1;
		part[0] = 1;
		part[1] = 2;
		ring[0] = 1;
		ring[1] = 2;
		next = 2;
		durable = 2;
		run Fabric();
		run Owner();
		run Successor();
		run Follower()
	}
}
