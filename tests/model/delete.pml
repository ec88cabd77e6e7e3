/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deleting a key that has copies in two AGs. Host 0 owns AG 0, host 1 owns AG 1;
 * host 2 owns neither and asks, by an ASK in the journal of an AG of its own,
 * which it may trim at any time. Puts, evictions that move a copy, and deletes
 * go on meanwhile. Host 0 may lose its lease at any step; then host 1 takes AG 0
 * over, and a record that was on its way lands before it, after it, or never. A
 * copy has a place, and a move gives it another.
 *
 * Shown: when the asker is told that the key is deleted, no copy that was there
 * when it began is left, and none comes back; and a move loses nothing. Rules 25
 * and 27 allow a hit on what is deleted, or an EEXIST on what is about to go,
 * until the next refresh; that is all that they allow.
 *
 * check:
 * soak: -DRECORDS=6 -DMOVES=2
 * break R23_OWNER 23: the asker deletes by a record of its own
 * break R23_LOCK 23: a move is made although the copy has gone meanwhile
 * break R16_PLACE 16: a RETIRE removes what has moved elsewhere
 * break R24_REFRESH 24: the asker does not refresh before it looks for copies
 * break R24_MOVED 24: the asker waits for the places to go that it has seen
 * break R24_READ 24: the asker is done when the owners have read its ASK
 * break R24_SHOWN 24: the asker rests on records that their owner has not shown
 * break R24_AGAIN 24: that a new epoch was loaded settles it, with no other look
 * break R24_DEADLINE 24: at the deadline the asker is told that it is done
 * break R26_BOTH 26: an index keeps one copy of a key
 */
#include "model.h"
#define R23_OWNER 1
#define R23_LOCK 2
#define R16_PLACE 3
#define R24_REFRESH 4
#define R24_MOVED 5
#define R24_READ 6
#define R24_SHOWN 7
#define R24_DEADLINE 8
#define R26_BOTH 9
#define R24_AGAIN 10

#ifndef RECORDS
#define RECORDS 4
#endif
#ifndef MOVES
#define MOVES 1
#endif

#define PUT 1
#define MOVE 2			/* a PUT that names the old place */
#define DELETE 3
#define RETIRE 4		/* of the old place */

/* The journals: records that are down. Those of AG 0 from start on: epoch 2. */
byte type[2 * RECORDS], place[2 * RECORDS], nr[2];
byte start, start_copy;
/* What they come to: the copy, 0: none; was it there when the asker began? */
byte copy[2];
bool old[2];
byte moving[2], moved[2];	/* the copy that is being moved; that has to go */
bool moving_old[2];
byte next = 1;			/* place */
byte moves = MOVES, puts = 2;

byte sent, sent_place;		/* AG 0, epoch 1: on its way */
bool over;			/* host 0's lease */
bool taken, shown2;		/* host 1 has read AG 0; shows epoch 2 */
byte shown;			/* records of AG 0 that host 0's slot shows as down */

bool asked, trimmed, answered;
bool has_read[2];		/* the owners: the ASK */
hidden byte x;

inline log(g, t, p)
{
	type[g * RECORDS + nr[g]] = t;
	place[g * RECORDS + nr[g]] = p;
	nr[g]++
}

/* A record is down and counts. */
inline counts(g, t, p)
{
	log(g, t, p);
	if
	:: t == PUT -> copy[g] = p; old[g] = false
	:: t == MOVE -> copy[g] = p; old[g] = moving_old[g]; moved[g] = moving[g]; moving[g] = 0
	:: t == DELETE -> copy[g] = 0; old[g] = false
	:: t == RETIRE ->
		moved[g] = 0;
		if
		:: !rule(R16_PLACE) -> assert(!copy[g]); copy[g] = 0
		:: else
		fi
	fi;
	assert(!answered || !old[g])
}

/* An owner issues a record: one at a time. */
inline issue(g, t, p)
{
	if
	:: g == 0 && !taken -> sent = t; sent_place = p
	:: else -> counts(g, t, p)
	fi
}

#define MAY(g) (nr[g] < RECORDS && (g == 1 || shown2 || (!over && !sent)))

active proctype Fabric()
{
	do
	:: atomic {
		sent && !shown2 ->
		if
		:: !taken -> counts(0, sent, sent_place)
		:: else -> log(0, sent, sent_place)	/* void */
		fi;
		sent = 0;
		sent_place = 0
	   }
	/* Host 0's slot, written under its lease. */
	:: atomic { !over && shown < nr[0] -> shown = nr[0] }
	:: atomic { !over -> over = true }
	/* Host 1 reads AG 0 to its end, and shows its epoch. */
	:: atomic { over && !taken -> taken = true; has_read[0] = false;
		moving[0] = 0; moved[0] = 0 }
	:: atomic { taken && !shown2 -> shown2 = true; start = nr[0]; start_copy = copy[0] }
	:: atomic { asked && !trimmed -> trimmed = true }
	od
}

#define OWNER(g) \
	:: atomic { MAY(g) && puts && !copy[g] -> \
		puts--; issue(g, PUT, next); next++ } \
	/* Eviction: choose, copy the data; then, if it is still there, move it. */ \
	:: atomic { moves && copy[g] && !moving[g] && !moved[g] -> \
		moves--; moving[g] = copy[g]; moving_old[g] = old[g] } \
	:: atomic { MAY(g) && moving[g] -> \
		if \
		:: copy[g] == moving[g] || !rule(R23_LOCK) -> \
			issue(g, MOVE, next); next++ \
		:: else -> moving[g] = 0 \
		fi } \
	:: atomic { MAY(g) && moved[g] -> issue(g, RETIRE, moved[g]) } \
	/* What host 1 has read counts for what it takes over, or does not. */ \
	:: atomic { MAY(g) && copy[g] && rule(R23_OWNER) && \
		    (has_read[g] || (g == 0 && shown2 && has_read[1])) -> \
		issue(g, DELETE, copy[g]) }

active proctype Owner0()
{
	do
	:: atomic { asked && !trimmed && !has_read[0] && !over -> has_read[0] = true }
	OWNER(0)
	od
}

active proctype Owner1()
{
	do
	:: atomic { asked && !trimmed && !has_read[1] -> has_read[1] = true }
	OWNER(1)
	od
}

/* The asker's index. */
byte known[2], at[2];
bool epoch2;

inline take(g)
{
	x = g * RECORDS + at[g];
	if
	:: type[x] == PUT || type[x] == MOVE ->
		known[g] = place[x];
		if
		:: !rule(R26_BOTH) -> known[1 - g] = 0
		:: else
		fi
	:: type[x] == DELETE && known[g] == place[x] -> known[g] = 0
	:: type[x] == RETIRE && known[g] == place[x] -> known[g] = 0
	:: else
	fi;
	at[g]++
}

inline refresh()
{
	if
	:: shown2 && !epoch2 ->
		epoch2 = true;
		known[0] = start_copy;
		at[0] = start
	:: else
	fi;
	do
	:: at[0] < nr[0] -> take(0)
	:: at[0] == nr[0] && at[1] < nr[1] -> take(1)
	:: else -> break
	od;
	x = 0
}

active proctype Asker()
{
	byte seen[2];
#if WITHOUT == R24_AGAIN
	bool none;
#endif

	/* It has followed the journals, to somewhere. */
	do
	:: atomic { at[0] < nr[0] && !epoch2 -> take(0); x = 0 }
	:: atomic { at[1] < nr[1] -> take(1); x = 0 }
	:: break
	od;
	atomic {
		old[0] = (copy[0] -> true : false);
		old[1] = (copy[1] -> true : false);
		if
		:: moving[0] -> moving_old[0] = old[0]
		:: else
		fi;
		if
		:: moving[1] -> moving_old[1] = old[1]
		:: else
		fi
	};
	atomic {
		if
		:: rule(R24_REFRESH) -> refresh()
		:: else
		fi;
		seen[0] = known[0];
		seen[1] = known[1];
		asked = true
	};
	do
	:: atomic {
		if
		:: rule(R24_REFRESH) || known[0] || known[1] -> refresh()
		:: else
		fi;
#if WITHOUT == R23_OWNER
		/* Whoever reads it drops that place; it is not read twice. */
		if
		:: copy[0] == seen[0] && !taken -> copy[0] = 0; old[0] = false
		:: else
		fi;
		if
		:: copy[1] == seen[1] -> copy[1] = 0; old[1] = false
		:: else
		fi;
		known[0] = 0;
		known[1] = 0;
#endif
		if
#if WITHOUT == R24_AGAIN
		:: !epoch2 && at[0] > shown -> none = (!known[0] && !known[1])
		:: epoch2 && none -> break
#else
		:: rule(R24_SHOWN) && !epoch2 && at[0] > shown
#endif
		:: else ->
			if
			:: !known[0] && !known[1] -> break
			:: !rule(R24_MOVED) && (!seen[0] || known[0] != seen[0]) &&
			   (!seen[1] || known[1] != seen[1]) -> break
			:: !rule(R24_READ) && has_read[1] &&
			   (has_read[0] || taken) -> break
			:: else
			fi
		fi
	   }
	:: atomic { !rule(R24_DEADLINE) -> break }
	:: goto end			/* its deadline: not now */
	od;
	atomic {
		answered = true;
		assert(!old[0] && !old[1]);
		/* and who refreshes now does not hit it */
		refresh();
		assert(known[0] == copy[0] || (taken && !shown2));
		assert(known[1] == copy[1])
	};
end:	skip
}
