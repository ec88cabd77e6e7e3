/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host slot on three copies. Its host writes it, may die at any step with
 * writes on their way, and comes back as another incarnation; writes fail and
 * land nevertheless; one copy may be lost for good; to a reader any copy may be
 * out of reach. What a slot says (incarnation, epochs, drained positions) is a
 * number here, that of the write: a later one says more.
 *
 * Shown: whoever reads a slot sees nothing older than what was down when he
 * began, nor older than what he saw before; epochs stay shown.
 *
 * check:
 * check: -DWRITES=4 -DFAILURES=0 -DLOSSES=0
 * soak: -DREADERS=2 -DFAILURES=0 -DLOSSES=0 -DWRITES=2
 * soak: -DWRITES=4 -DFAILURES=2
 * break R31_MAJORITY 31: a write counts when one copy is down
 * break R31_ONE 31: a copy is written while an earlier write may land yet
 * break R13_MAJORITY 13: one copy that can be read is enough
 * break R13_TORN 13: a copy that is torn counts as read
 * break R13_KEEP 13: a reader forgets what it saw of a slot
 * break R10_HIGHEST 10: of the copies read, any counts
 * break R10_INCARNATION 10 -DWRITES=4 -DFAILURES=0 -DLOSSES=0: of the copies read, that of the highest sequence counts
 * break R5_READ 5: the slot is not read on a majority before it is written
 * break R5_EPOCHS 5: a new incarnation shows only epochs of its own
 */
#include "model.h"
#define R31_MAJORITY 1
#define R31_ONE 2
#define R13_MAJORITY 3
#define R13_KEEP 4
#define R10_HIGHEST 5
#define R5_READ 7
#define R10_INCARNATION 8
#define R5_EPOCHS 9
#define R13_TORN 10

#ifndef READERS
#define READERS 1
#endif
#ifndef WRITES
#define WRITES 3
#endif
#define NONE 3

byte inc[WRITES + 1];		/* of each write: its incarnation */
byte seq[WRITES + 1];		/* its sequence */
byte epoch[WRITES + 1];		/* and the epoch that it shows */
byte copy[3] = 1;		/* which write stands there; 0: none */
byte flying[3];			/* on its way, with an answer to come */
byte late[3];			/* failed, but may land */
bool lost[3];
bool dead;			/* the host, with what it had on its way */
byte last = 1;			/* write */
byte down = 1;			/* last write that counts */
#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
byte losses = LOSSES, failures = FAILURES;
hidden byte i, n;

#define NEWER(a, b) ((rule(R10_INCARNATION) && inc[a] > inc[b]) || \
		     ((!rule(R10_INCARNATION) || inc[a] == inc[b]) && \
		      seq[a] > seq[b]))

#define COPY(c) \
	:: atomic { flying[c] && !lost[c] -> copy[c] = flying[c]; flying[c] = 0 } \
	:: atomic { late[c] && !lost[c] -> copy[c] = late[c]; late[c] = 0 } \
	:: atomic { late[c] -> late[c] = 0 }	/* it never lands */ \
	:: atomic { dead && flying[c] -> flying[c] = 0 } \
	:: atomic { flying[c] && !late[c] && failures -> \
		failures--; late[c] = flying[c]; flying[c] = 0 } \
	:: atomic { losses && !lost[c] -> \
		losses--; lost[c] = true; copy[c] = 0; flying[c] = 0; late[c] = 0 }

proctype Fabric()
{
	do
	COPY(0)
	COPY(1)
	COPY(2)
	od
}

inline send()
{
	for (i : 0 .. 2) {
		if
		:: lost[i] || flying[i] -> skip
		:: !lost[i] && !flying[i] && (!late[i] || !rule(R31_ONE)) ->
			flying[i] = last
		:: else
		fi
	}
	i = 0
}

/* The write of the highest sequence on all copies but one. */
inline look(without, found, readable)
{
	found = 0;
	readable = 0;
	for (i : 0 .. 2) {
		if
		:: i == without || lost[i]
		:: else ->
			readable++;
			if
			:: NEWER(copy[i], found) -> found = copy[i]
			:: else
			fi
		fi
	}
	i = 0
}

proctype Host()
{
	byte top, out, readable;
	bool again;

life:	do
	:: atomic {
		last < WRITES && down == last ->
		last++;
		inc[last] = inc[last - 1];
		seq[last] = seq[last - 1] + 1;
		epoch[last] = epoch[last - 1] + 1;
		send()
	   }
	:: atomic { last > down -> send() }	/* again, where it failed */
	:: atomic {
		last > down ->
		n = 0;
		for (i : 0 .. 2) {
			if
			:: copy[i] == last -> n++
			:: else
			fi
		}
		i = 0;
		if
		:: n >= 2 || (n == 1 && !rule(R31_MAJORITY)) -> down = last
		:: else
		fi;
		n = 0
	   }
	:: atomic { !again && last < WRITES -> again = true; dead = true; break }
	:: atomic { again && last == WRITES && down == last -> goto end }
	od;

	/* Another incarnation, by a grant. */
	atomic {
		/* protocol rule 4; "takeover" and "reuse" show what for */
		!(flying[0] || flying[1] || flying[2] ||
		  late[0] || late[1] || late[2]) ->
		for (i : 0 .. 2) {
			/* What the old one had on its way has no answer now. */
			if
			:: flying[i] && !late[i] -> late[i] = flying[i]
			:: else
			fi;
			flying[i] = 0
		}
		i = 0
	};
	atomic {
		if
		:: out = 0
		:: out = 1
		:: out = 2
		:: out = NONE
		fi;
		look(out, top, readable);
		if
		:: !rule(R5_READ) ->
			/* the first copy that can be read */
			top = (copy[0] -> copy[0] : copy[1])
		:: rule(R5_READ) && readable < 2 -> goto end
		:: else
		fi;
		dead = false;
		last++;
		inc[last] = 2;
		seq[last] = seq[top] + 1;
		epoch[last] = (rule(R5_EPOCHS) -> epoch[top] : 0);
		top = 0;
		out = 0;
		readable = 0;
		send()
	};
	goto life;
end:	skip
}

byte kept[READERS];		/* what a reader knows */

proctype Reader(byte me)
{
	byte must, prev, found, at, readable;

	do
	:: atomic { must = down; prev = kept[me] };
	   do
	   :: atomic {
		at < 3 && !lost[at] ->
		readable++;
		if
		:: NEWER(copy[at], found) || !rule(R10_HIGHEST) ->
			found = copy[at]
		:: else
		fi;
		at++
	      }
	   :: atomic { at < 3 -> at++ }		/* out of reach, lost, torn */
#if WITHOUT == R13_TORN
	   :: atomic { at < 3 && flying[at] -> readable++; at++ }
#endif
	   :: atomic { at == 3 -> break }
	   od;
	   atomic {
		if
		:: readable >= 2 || (readable && !rule(R13_MAJORITY)) ->
			if
			:: rule(R13_KEEP) && NEWER(kept[me], found) ->
				found = kept[me]
			:: else
			fi;
			kept[me] = found;
			assert(found >= must);
			assert(epoch[found] >= epoch[must]);
			assert(!NEWER(prev, found))
		:: else			/* unknown */
		fi;
		must = 0;
		prev = 0;
		found = 0;
		at = 0;
		readable = 0
	   }
	od
}

init {
	atomic {
		inc[1] = 1;
		seq[1] = 1;
		epoch[1] = 1;
		run Fabric();
		run Host();
		run Reader(0);
#if READERS > 1
		run Reader(1)
#endif
	}
}
