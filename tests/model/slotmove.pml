/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy of the host slots that moves from place 0 to place 3 (rule 38), by two
 * labels. Of the slot of one host: it writes, leaves, dies, and claims it again by
 * the label of that moment. Others read it, by labels that they take up at their own
 * time. One of the readers' places may be out of reach at any read; writes land in
 * any order, and those of a host that died may land until it claims again (rule 4).
 * What a slot says is a number, that of the write: a later one says more. Who writes
 * labels, and that one at a time does, is in "grow".
 *
 * Shown: whoever reads the slot sees nothing older than what counted when it began,
 * whatever labels the two go by.
 *
 * check:
 * soak: -DWRITES=4
 * soak: -DREADERS=2
 * break R38_BEFORE 38: by the first label a write counts when it is on most of the new places
 * break R38_AFTER 38: by the first label a write counts when it is on most of the old places
 * break R38_READ 38: by the first label most of the old places are enough to read
 * break R38_KNOW 38: the slots have moved before the host goes by the first label
 * break R38_OTHERS 38: the slots have moved before readers go by the first label
 * break R38_MOST 38: the host goes by it if one place says so
 * break R38_COPY 38: a slot that nobody writes is not copied
 * break R38_SHOW 38: whoever copies looks before it shows so
 * break R38_LOOK 38: whoever claims does not look whether slots are copied
 * break R34_JOIN 34: whoever claims does not look whether the labels have changed
 * break R38_AGAIN 38: it looks, and does not write the slot again
 */
#include "model.h"
#define R38_BEFORE 1
#define R38_AFTER 2
#define R38_READ 3
#define R38_KNOW 4
#define R38_OTHERS 5
#define R38_MOST 6
#define R38_COPY 7
#define R38_SHOW 8
#define R38_LOOK 9
#define R38_AGAIN 10
#define R34_JOIN 11

#ifndef READERS
#define READERS 1
#endif
#ifndef WRITES
#define WRITES 3
#endif
#define NONE 4

byte label;			/* 0, 1: on its way, 2: moved */
bool relabels;			/* as the mover's slot shows */

byte copy[4] = 1;		/* which write stands there; 0: none */
byte flying[4];			/* the host's, on its way there */
bool has[4];			/* its last one is there, by the answer that it got */
byte copying;			/* the mover's, to place 3; always the older one */

byte says[WRITES + 1];		/* of each write: the label that it shows */
bool used[WRITES + 1];		/* and whether the host is there */
byte last = 1, down = 1;	/* write; last write that counts */
bool alive = true;		/* the host has a lease, or claims */
byte known;			/* the label that it goes by */
byte reads[READERS];		/* those of readers */

/* Most of the places, of which a to d are 0 or 1. */
#define OLD(a, b, c, d) ((a) + (b) + (c) >= 2)
#define NEW(a, b, c, d) ((b) + (c) + (d) >= 2)
/* By label l, enough of them: to have written it, to have read it. */
#define WRITTEN(l, a, b, c, d) \
	(((l) == 2 || OLD(a, b, c, d) || ((l) == 1 && !rule(R38_BEFORE))) && \
	 ((l) == 0 || NEW(a, b, c, d) || ((l) == 1 && !rule(R38_AFTER))))
#define SEEN(l, a, b, c, d) \
	(((l) == 2 || OLD(a, b, c, d)) && \
	 ((l) == 0 || NEW(a, b, c, d) || ((l) == 1 && !rule(R38_READ))))
#define COUNTS WRITTEN(known, has[0], has[1], has[2], has[3])
#define SHOWS(p) (copy[p] && says[copy[p]] >= 1)

/* Is there a place that has not got the last write, and gets nothing now? */
#define FREE(p) (!flying[p] && !has[p])
#define CAN_SEND \
	((known < 2 && FREE(0)) || FREE(1) || FREE(2) || (known && FREE(3)))

proctype Fabric()
{
	do
	:: d_step { flying[0] -> has[0] = flying[0] == last; copy[0] = flying[0]; flying[0] = 0 }
	:: d_step { flying[1] -> has[1] = flying[1] == last; copy[1] = flying[1]; flying[1] = 0 }
	:: d_step { flying[2] -> has[2] = flying[2] == last; copy[2] = flying[2]; flying[2] = 0 }
	:: d_step { flying[3] -> has[3] = flying[3] == last; copy[3] = flying[3]; flying[3] = 0 }
	:: d_step { copying -> copy[3] = copying; copying = 0 }
	:: d_step { !alive && flying[0] -> flying[0] = 0 }
	:: d_step { !alive && flying[1] -> flying[1] = 0 }
	:: d_step { !alive && flying[2] -> flying[2] = 0 }
	:: d_step { !alive && flying[3] -> flying[3] = 0 }
	od
}

/* To each place that has none of ours on its way; the others get the next. */
inline send()
{
	if
	:: known < 2 && !flying[0] && !has[0] -> flying[0] = last
	:: else
	fi;
	if
	:: !flying[1] && !has[1] -> flying[1] = last
	:: else
	fi;
	if
	:: !flying[2] && !has[2] -> flying[2] = last
	:: else
	fi;
	if
	:: known > 0 && !flying[3] && !has[3] -> flying[3] = last
	:: else
	fi
}

inline write(there)
{
	last++;
	has[0] = 0;
	has[1] = 0;
	has[2] = 0;
	has[3] = 0;
	says[last] = known;
	used[last] = there;
	send()
}

proctype Host()
{
	bool claims, again;

life:	do
	:: atomic { !claims && last < WRITES && down == last -> write(true) }
	:: atomic { last > down && !COUNTS && CAN_SEND -> send() }
	:: atomic { !claims && last > down && COUNTS -> down = last }
	/* Written again when nobody copies what stood there; and by these labels. */
	:: atomic {
		claims && COUNTS && (known != 1 || !relabels || !rule(R38_LOOK)) ->
		if
		:: known == 1 && !again && rule(R38_AGAIN) ->
			again = true;
			if
			:: last < WRITES -> write(true)
			:: else -> goto end
			fi
		:: (known != 1 || again || !rule(R38_AGAIN)) &&
		   (known == label || !rule(R34_JOIN)) ->
			claims = false;
			down = last
		:: else ->
			alive = false;
			claims = false;
			goto gone
		fi
	   }
	/* It dies; or it leaves in good order. */
	:: atomic { last < WRITES -> alive = false; claims = false; goto gone }
	:: atomic {
		!claims && last < WRITES && down == last -> write(false);
		goto leaves
	   }
	od;

leaves:	do
	:: atomic { COUNTS -> down = last; alive = false; break }
	:: atomic { !COUNTS && CAN_SEND -> send() }
	od;

	/* By the label of now, what it showed goes on: rules 4 and 5. */
gone:	atomic {
		last < WRITES && !flying[0] && !flying[1] && !flying[2] &&
		!flying[3] ->
		known = label;
		alive = true;
		claims = true;
		again = false;
		write(true)
	};
	goto life;
end:	skip
}

proctype Mover()
{
	byte out, found, tries = 1;
	bool b, c;

	label = 1;
again:	if
	:: rule(R38_SHOW) -> relabels = true
	:: else
	fi;
	do
	:: atomic {
		if
		:: out = 1
		:: out = 2
		:: out = NONE
		fi;
		b = out != 1;
		c = out != 2;
		if
		:: copy[0] > found -> found = copy[0]
		:: else
		fi;
		if
		:: b && copy[1] > found -> found = copy[1]
		:: else
		fi;
		if
		:: c && copy[2] > found -> found = copy[2]
		:: else
		fi;
		if
		:: copy[3] > found -> found = copy[3]
		:: else
		fi;
		if
		:: used[found] && alive ->
			/* Somebody writes it. */
			if
			:: !rule(R38_KNOW) -> break
			:: !rule(R38_MOST) && (SHOWS(0) || (b && SHOWS(1)) ||
					      (c && SHOWS(2)) || SHOWS(3)) -> break
			:: SEEN(1, SHOWS(0), b && SHOWS(1), c && SHOWS(2), SHOWS(3)) ->
				break
			:: else
			fi
		:: else ->
			if
			:: rule(R38_COPY) && copy[3] < found -> copying = found
			:: else
			fi;
			break
		fi;
		out = 0;
		found = 0;
		b = 0;
		c = 0
	   }
	od;
	atomic { out = 0; found = 0; b = 0; c = 0 };
	if
	:: !rule(R38_SHOW) -> relabels = true
	:: else
	fi;
	!copying;
	/* It comes to nothing, and somebody does it again. */
	if
	:: tries -> tries--; relabels = false; goto again
	:: skip
	fi;
	atomic {
		(reads[0] && (READERS == 1 || reads[READERS - 1])) || !rule(R38_OTHERS) ->
		label = 2
	};
	relabels = false
}

proctype Reader(byte me)
{
	byte must, found, at, out;

	do
	/* A new membership. */
	:: atomic { reads[me] < label -> reads[me] = label }
	:: atomic {
		must = down;
		if
		:: out = 0
		:: out = 1
		:: out = 2
		:: out = 3
		:: out = NONE
		fi
	   };
	   do
	   :: atomic {
		at < 4 ->
		if
		:: at == out || (at == 3 && reads[me] == 0) || (at == 0 && reads[me] == 2)
		:: else ->
			found = (copy[at] > found -> copy[at] : found)
		fi;
		at++
	      }
	   :: atomic { at == 4 -> break }
	   od;
	   atomic {
		assert(found >= must ||
		       !SEEN(reads[me], reads[me] < 2 && out != 0, out != 1, out != 2,
			     reads[me] && out != 3));
		must = 0;
		found = 0;
		at = 0;
		out = 0
	   }
	od
}

init {
	atomic {
		copy[3] = 0;
		used[1] = true;
		run Fabric();
		run Host();
		run Mover();
		run Reader(0);
#if READERS > 1
		run Reader(1)
#endif
	}
}
