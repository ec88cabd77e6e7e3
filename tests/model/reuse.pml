/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One segment of one AG, and when its space may be used again. Host 0 owns the AG
 * in epoch 1, host 1 may own it in epoch 2: when host 0's lease has ended, or
 * when host 0 has given the AG up in good order and goes on as a reader. All
 * hosts read, lose their leases, join again, leave in good order, and pause at
 * any step. Data writes and slot writes land at any time before Q. The journals
 * are one list here, with a record where epoch 2 begins; positions and drained
 * positions are places in it, and a drained position is an exclusive end.
 *
 * Each life of the segment (a generation) holds one object, and the bytes of the
 * segment are named for the object that they are of.
 *
 * Shown: what a get returns are the bytes of the object that it asked for; and a
 * generation names one life.
 *
 * check:
 * check: -DTAKE -DLEAVES=0
 * check: -DGIVE -DLEAVES=0
 * check: -DTAKE -DLOSS -DLEAVES=0
 * soak: -DTAKE
 * soak: -DTAKE -DLAPSES=2 -DLEAVES=0
 * soak: -DGIVE
 * soak: -DTAKE -DLOSS
 * soak: -DHOSTS=3 -DGETS=1 -DLEAVES=0
 * break R3_LEASE 3: what was read is returned although the lease has ended
 * break R4_SLOT 4: a slot is granted again while old writes may land
 * break R5_ORDER 5: an AG is loaded before the slot is written
 * break R15_AFTER 15: the slots were read before the RETIRE
 * break R15_END 15: a drained position includes the block that it names
 * break R15_INCARNATION 15: a slot counts as past when an earlier holder is dead
 * break R15_DOWN 15: a slot says that its host has left while reads go on
 * break R16_WAIT 16: drained is shown while reads on what was retired go on
 * break R16_LOAD 16 -DTAKE -DLEAVES=0: drained is shown while reads on what a load dropped go on
 * break R16_SECTION 16: looking up and taking the reference are apart
 * break R16_OWN 16: an owner does not wait for its own reads
 * break R17_UNKNOWN 17: a segment is retired with a write of unknown outcome
 * break R18_GRACE 18: the next OPEN does not wait for the grace period
 * break R7_OPEN 7 -DTAKE -DLEAVES=0: OPEN is not written
 * break R21_Q 21 -DTAKE -DLEAVES=0: what was open is used again before Q
 * break R21_APPEND 21 -DTAKE -DLEAVES=0: what was open is appended to
 * break R21_GRACE 21 -DTAKE -DLEAVES=0: what was retired gets no new grace period
 * break R32_WRITES 32 -DGIVE -DLEAVES=0: an AG is given up with a write of unknown outcome
 * break R32_READS 32 -DGIVE -DLEAVES=0: who gave the AG up does not wait for reads on what it retired
 * break R30_GRACE 30 -DTAKE -DLOSS -DLEAVES=0: an AG that starts empty has free segments
 * break R30_GENERATION 30 -DTAKE -DLOSS -DLEAVES=0: an AG that starts empty counts generations anew
 */
#include "model.h"
#define R3_LEASE 1
#define R4_SLOT 2
#define R5_ORDER 3
#define R7_OPEN 4
#define R15_AFTER 5
#define R15_END 6
#define R15_INCARNATION 7
#define R15_DOWN 8
#define R16_WAIT 9
#define R16_LOAD 10
#define R16_SECTION 11
#define R16_OWN 12
#define R17_UNKNOWN 13
#define R18_GRACE 14
#define R21_Q 15
#define R21_APPEND 16
#define R21_GRACE 17
#define R30_GRACE 18
#define R30_GENERATION 19
#define R32_WRITES 20
#define R32_READS 21

#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef LAPSES
#define LAPSES 1
#endif
#ifndef LEAVES
#define LEAVES 1
#endif
#ifndef GETS
#define GETS 2
#endif
#if defined(TAKE) || defined(GIVE)
#define LOG 5
#else
#define LOG 4
#endif
#define GENERATIONS 2
#define FIRST_OF_2 3		/* an empty epoch 2 counts from there */
#define MAXINC 2

/* Records. */
#define OPEN 1
#define PUT 2
#define RETIRE 3
#define EPOCH 4
byte type[LOG], what[LOG], end;

byte content;			/* the object whose bytes stand there; 0: none */
byte write[2];			/* by host, on its way: the object */
byte late;			/* one of host 0 that failed, and may land */
bool issuing;			/* host 0 has checked its lease and will issue */
byte put_sent;			/* host 0's PUT on its way */
byte void_put;			/* it landed too late to count */
byte failures = 1;

/* The AG as its owner has it. */
#define FREE 0
#define OPENED 1		/* write not issued yet */
#define WRITING 2
#define LIVE 3
#define ABANDONED 4		/* the put was given up */
#define RETIRED 5
byte state, generation, object, grace_from;
byte retired_by[HOSTS];		/* incarnations shown right after the RETIRE */
bool snapped;			/* by a broken rule */
bool taken, given, frozen, q_over;
byte taker;			/* host 1's incarnation then */
byte epoch_at;			/* place of the EPOCH record */
byte lives;			/* generations that were written to, as bits */

/* Slots: incarnation, drained, left; the write on its way; an old one. */
byte s_inc[HOSTS], s_drained[HOSTS];
bool s_left[HOSTS];
byte f_inc[HOSTS], f_drained[HOSTS];
bool f_left[HOSTS], flying[HOSTS];
byte o_inc[HOSTS], o_drained[HOSTS];
bool o_flying[HOSTS];

byte inc[HOSTS];
bool lease[HOSTS], dead[HOSTS * (MAXINC + 1)];
byte lapses = LAPSES, leaves = LEAVES;

/* A host's index: the object it knows in the segment; how far it has read. */
byte entry[HOSTS], at[HOSTS], shown[HOSTS];
bool from_void[HOSTS];
/* Its read: of which object, since which incarnation, what came; why dropped. */
byte reading[HOSTS], since[HOSTS], got[HOSTS], dropped[HOSTS], gets[HOSTS];
#define BY_RETIRE 1
#define BY_LOAD 2
#define BY_OWNER 3
bool joining[HOSTS], leaving[HOSTS];

hidden byte i, k;

inline log(t, w)
{
	type[end] = t;
	what[end] = w;
	end++
}

#define OWNS(h) ((h == 0 && !taken && !given && inc[0] == 1) || \
		 (h == 1 && taken && inc[1] == taker))
#define ACTS(h) (lease[h] && !joining[h] && OWNS(h))
#define NEEDED (rule(R15_END) -> grace_from : grace_from - 1)
#define DEAD(h) (dead[(h) * (MAXINC + 1) + s_inc[h]] || \
		 (!rule(R15_INCARNATION) && dead[(h) * (MAXINC + 1) + 1]))
#define PAST(h) (s_inc[h] == 0 || s_left[h] || DEAD(h) || \
		 s_drained[h] >= NEEDED || s_inc[h] > retired_by[h])
/* Its own reads on what is not there any more. */
#define DRAINED(h) (!reading[h] || !rule(R16_OWN) || reading[h] == entry[h])

inline grace(ok, me)
{
	ok = true;
	for (i : 0 .. HOSTS - 1) {
		if
		:: i != me && !PAST(i) -> ok = false
		:: i == me && !DRAINED(i) -> ok = false
		:: else
		fi
	}
	i = 0
}

/* What was known of the segment goes; reads on it may still be under way. */
inline drop(h, why)
{
	if
	:: reading[h] && reading[h] == entry[h] -> dropped[h] = why
	:: else
	fi;
	entry[h] = 0;
	from_void[h] = false
}

active proctype Fabric()
{
	do
	:: d_step { write[0] -> content = write[0]; write[0] = 0 }
	:: d_step { write[1] -> content = write[1]; write[1] = 0 }
	:: d_step { failures && write[0] -> failures--; late = write[0]; write[0] = 0 }
	:: d_step { late -> content = late; late = 0 }
	:: d_step {
		put_sent ->
		if
		:: !taken -> log(PUT, put_sent)
		:: else -> void_put = put_sent
		fi;
		put_sent = 0
	   }
	:: d_step { taken && put_sent -> put_sent = 0 }
	:: d_step { taken && !q_over && !write[0] && !late && !issuing -> q_over = true }
	od
}

active [HOSTS] proctype Slot()
{
	byte h = _pid - 1;

	do
	:: d_step { flying[h] -> flying[h] = false;
		s_inc[h] = f_inc[h]; s_drained[h] = f_drained[h]; s_left[h] = f_left[h] }
	:: d_step { o_flying[h] -> o_flying[h] = false;
		s_inc[h] = o_inc[h]; s_drained[h] = o_drained[h]; s_left[h] = false }
	:: d_step { lease[h] && lapses -> lapses--; lease[h] = false }
	:: d_step { !lease[h] && inc[h] && !dead[h * (MAXINC + 1) + inc[h]] ->
		dead[h * (MAXINC + 1) + inc[h]] = true }
	od
}

inline write_slot(h, left)
{
	flying[h] = true;
	f_inc[h] = inc[h];
	f_drained[h] = at[h];
	f_left[h] = left;
	shown[h] = at[h]
}

proctype Owner(byte h)
{
	bool ok;
	byte limit = GENERATIONS;

	if
	:: h == 0
	:: h == 1;
	   atomic {
#ifdef GIVE
		given &&
#else
		!(lease[0] && inc[0] == 1) &&
#endif
		lease[1] && !joining[1] && !leaving[1] && inc[0] && end < LOG ->
		taken = true;
		taker = inc[1];
		state = FREE;
		for (i : 0 .. LOG - 1) {
			if
			:: i < end && type[i] == OPEN ->
				state = OPENED; generation = what[i]
			:: i < end && type[i] == PUT ->
				state = LIVE; object = what[i]
			:: i < end && type[i] == RETIRE -> state = RETIRED
			:: else
			fi
		}
		i = 0;
		if
		:: state == OPENED || state == WRITING ->
			state = ABANDONED; frozen = true
		:: state == FREE -> state = RETIRED
		:: else
		fi;
#ifdef LOSS
		state = RETIRED;
		frozen = true;
		generation = (rule(R30_GENERATION) -> FIRST_OF_2 : 0);
		limit = generation + 1;
		if
		:: !rule(R30_GRACE) -> state = FREE
		:: else
		fi;
#endif
		if
		:: state == RETIRED && !rule(R21_GRACE) -> state = FREE
		:: else
		fi;
		epoch_at = end;
		log(EPOCH, 0);
		grace_from = end;
		for (i : 0 .. HOSTS - 1) {
			retired_by[i] = s_inc[i]
		}
		i = 0;
		if
		:: entry[1] && !(state == LIVE && entry[1] == object) -> drop(1, BY_LOAD)
		:: else
		fi;
		if
		:: state == LIVE -> entry[1] = object
		:: else
		fi;
		from_void[1] = false;
		at[1] = end;
		if
		:: given -> q_over = true
		:: else
		fi
	   }
	fi;
	do
	:: atomic {
		ACTS(h) && generation < limit && (end < LOG || !rule(R7_OPEN)) &&
		(state == FREE || (state == RETIRED && !rule(R18_GRACE))) ->
		generation++;
		state = OPENED;
		if
		:: rule(R7_OPEN) -> log(OPEN, generation)
		:: else
		fi
	   }
	/* The lease is checked, and the write is issued: maybe much later. */
	:: atomic {
		ACTS(h) && state == OPENED && !(frozen && rule(R21_Q) && !q_over) ->
		if
		:: h == 0 -> issuing = true
		:: else
		fi
	   };
	   atomic {
		content = 0;
		write[h] = generation;
		assert(!(lives & (1 << generation)));
		lives = lives | (1 << generation);
		if
		:: h == 0 -> issuing = false
		:: else
		fi;
		if
		:: OWNS(h) -> state = WRITING
		:: else
		fi
	   }
	:: atomic {
		ACTS(h) && state == WRITING && !write[h] && content == generation && end < LOG ->
		object = generation;
		state = LIVE;
		if
		:: h == 0 -> put_sent = object
		:: else -> log(PUT, object)
		fi
	   }
	/* There was no answer: the put is given up. */
	:: atomic { h == 0 && ACTS(0) && state == WRITING && late -> state = ABANDONED }
	:: atomic {
		ACTS(h) && end < LOG && at[h] == end &&
		((state == LIVE && !put_sent) || state == ABANDONED) &&
		!write[h] && (!late || h == 1 || !rule(R17_UNKNOWN)) ->
		if
		:: !rule(R15_AFTER) -> grace_from = end + 1; grace(snapped, h)
		:: else
		fi;
		log(RETIRE, generation);
		grace_from = end;
		for (i : 0 .. HOSTS - 1) {
			retired_by[i] = s_inc[i]
		}
		i = 0;
		drop(h, BY_OWNER);
		at[h] = end;
		state = RETIRED
	   }
	:: atomic {
		ACTS(h) && state == RETIRED && (!frozen || q_over || !rule(R21_Q)) ->
		grace(ok, h);
		if
		:: ok || snapped -> state = FREE; snapped = false
		:: else
		fi;
		ok = false
	   }
#ifdef TAKE
	:: atomic {
		!rule(R21_APPEND) && h == 1 && ACTS(1) && frozen && state == ABANDONED &&
		end < LOG ->
		object = generation + 8;
		content = object;
		log(PUT, object);
		state = LIVE
	   }
#endif
#ifdef GIVE
	:: atomic {
		h == 0 && ACTS(0) && !issuing && !put_sent && state != WRITING &&
		!write[0] && (!late || !rule(R32_WRITES)) -> given = true; break
	   }
#endif
	:: atomic { !OWNS(h) -> break }
	od
}

inline take(h)
{
	if
	:: type[at[h]] == PUT -> entry[h] = what[at[h]]
	:: type[at[h]] == RETIRE -> drop(h, BY_RETIRE)
	:: type[at[h]] == EPOCH ->
		/* a load: only what epoch 2 found stays */
#ifdef LOSS
		drop(h, BY_LOAD)
#else
		if
		:: from_void[h] -> drop(h, BY_LOAD)
		:: else
		fi
#endif
	:: else
	fi;
	at[h]++
}

#define MUST_WAIT(h) (reading[h] && since[h] == inc[h] && 		      (got[h] || rule(R16_SECTION)) && 		      ((dropped[h] == BY_RETIRE && rule(R16_WAIT)) || 		       (dropped[h] == BY_LOAD && rule(R16_LOAD)) || 		       (dropped[h] == BY_OWNER && rule(R32_READS))))

proctype Host(byte h)
{
	do
	/* Follow. */
	:: atomic { lease[h] && !joining[h] && at[h] < end -> take(h) }
	:: atomic {
		lease[h] && !joining[h] && void_put && at[h] == epoch_at &&
		!entry[h] -> entry[h] = void_put; from_void[h] = true
	   }
	:: atomic {
		lease[h] && !joining[h] && !leaving[h] && !OWNS(h) && !flying[h] &&
		at[h] > shown[h] && !MUST_WAIT(h) -> write_slot(h, false)
	   }
	/* Get. */
	:: atomic {
		lease[h] && !joining[h] && !leaving[h] && entry[h] && !reading[h] &&
		gets[h] < GETS ->
		reading[h] = entry[h];
		since[h] = inc[h];
		gets[h]++
	   }
	:: atomic { reading[h] && !got[h] -> got[h] = 1 + content }
	:: atomic {
		reading[h] && got[h] ->
		if
		:: (lease[h] && since[h] == inc[h]) || !rule(R3_LEASE) ->
			assert(got[h] == 1 + reading[h])
		:: else		/* a miss */
		fi;
		reading[h] = 0;
		since[h] = 0;
		got[h] = 0;
		dropped[h] = 0
	   }
	/* Leave in good order. */
	:: atomic {
		leaves && lease[h] && !joining[h] && !leaving[h] && !OWNS(h) &&
		!flying[h] && (!reading[h] || !rule(R15_DOWN)) ->
		leaves--;
		leaving[h] = true;
		write_slot(h, true)
	   }
	:: atomic { leaving[h] && !flying[h] -> leaving[h] = false; lease[h] = false }
	/* Join anew. */
	:: atomic {
		!lease[h] && !leaving[h] && inc[h] && inc[h] < MAXINC &&
		(dead[h * (MAXINC + 1) + inc[h]] || s_left[h]) &&
		(!rule(R4_SLOT) || (!flying[h] && !o_flying[h])) ->
		if
		:: flying[h] ->
			o_flying[h] = true;
			o_inc[h] = f_inc[h];
			o_drained[h] = f_drained[h];
			flying[h] = false
		:: else
		fi;
		inc[h]++;
		lease[h] = true;
		joining[h] = true;
		entry[h] = 0;
		from_void[h] = false;
		at[h] = 0;
		shown[h] = 0;
		if
		:: rule(R5_ORDER) -> write_slot(h, false)
		:: else
		fi
	   };
	   atomic {
		!flying[h] ->
		do
		:: at[h] < end -> take(h)
		:: else -> break
		od
	   };
	   if
	   :: atomic { rule(R5_ORDER) }
	   :: atomic { !rule(R5_ORDER) -> write_slot(h, false) };
	      atomic { !flying[h] }
	   fi;
	   atomic { joining[h] = false }
	od
}

init {
	atomic {
		for (i : 0 .. HOSTS - 1) {
			inc[i] = 1;
			s_inc[i] = 1;
			lease[i] = true
		}
		i = 0;
		run Owner(0);
#if defined(TAKE) || defined(GIVE)
		run Owner(1);
#endif
		for (k : 0 .. HOSTS - 1) {
			run Host(k)
		}
		k = 0
	}
}
