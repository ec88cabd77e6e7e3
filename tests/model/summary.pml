/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands for an object when its segment is sealed, its AG's journal trimmed
 * and its owner replaced. One segment with two objects, in two lives; two owners,
 * each of which may die at any step, and a third that loads what is there. What
 * is on its way when an owner dies (its caches count as that) is lost, or lands
 * at any time before Q; of journal records a prefix lands, and before the next
 * owner reads, or else it does not count. An owner that finds the segment open
 * seals it in place, with a summary of its own.
 *
 * Shown: every owner finds each object that was answered and that nobody wanted
 * to be gone, with its bytes; none whose delete was answered; none of a life that
 * is over.
 *
 * check:
 * soak: -DRECORDS=12
 * break R8_DATA 8: a PUT is issued before its data are durable
 * break R8_ANSWER 8: a put or delete is answered before its record is durable
 * break R17_WRITERS 17: a segment is sealed while a put is under way
 * break R7_OPEN 7: data are written before the OPEN is durable
 * break R21_SEAL 21: what was open is sealed before Q
 * break R21_REUSE 21: what was open is used again before Q
 * break R28_CHECKPOINT 28: the head moves to a checkpoint that is not durable
 * break R29_SUMMARY 29: SEAL is issued before the summary is durable
 * break R29_SEALED 29: a summary counts whatever is said of its segment
 * break R29_DEAD 29: a summary lists what was dead at the last checkpoint
 * break R33_STATE 33: a checkpoint does not tell states and generations
 * break R33_OPEN 33: a checkpoint does not list the objects of open segments
 * break R33_DEAD 33: a checkpoint does not list what is dead of sealed segments
 */
#include "model.h"
#define R8_DATA 1
#define R8_ANSWER 2
#define R17_WRITERS 3
#define R7_OPEN 4
#define R21_SEAL 5
#define R21_REUSE 6
#define R28_CHECKPOINT 7
#define R29_SUMMARY 8
#define R29_SEALED 9
#define R29_DEAD 10
#define R33_STATE 11
#define R33_OPEN 12
#define R33_DEAD 13

#ifndef RECORDS
#define RECORDS 9
#endif
#define GENERATIONS 2

/* The journal of the present epoch: type, generation, object, or what a
 * CHECKPOINT tells: state, generation, objects, summary.
 */
#define CHECKPOINT 0
#define OPEN 2
#define PUT 3
#define DELETE 4
#define SEAL 5
#define RETIRE 6
byte type[RECORDS], gen[RECORDS], arg[RECORDS], st[RECORDS], sum[RECORDS];
byte next = 1, durable = 1;
byte head;			/* the checkpoint that the header tells */
byte head_sent;			/* the header on its way tells that; 0: none */

#define FREE 0
#define OPENED 1
#define SEALED 2
#define RETIRED 3

/* Media. */
byte bytes[2];			/* of which generation's object; 0: neither */
byte sum_gen, sum_list, sum_id;
/* On their way, by epoch. */
byte data[4];			/* [2 * (epoch - 1) + object]: generation */
byte sw_gen[2], sw_list[2], sw_id[2];

/* The owner. */
byte epoch = 1;
bool over;			/* the present owner's time */
byte state, generation, summary;
byte live, ever;		/* objects: live, known of in this life */
bool frozen;			/* found open, or with something on its way */
byte putting;			/* an object's bit */
bool deleting, busy, sealing;
byte ids, checkpoints = 1, deletes = 1;

/* What was promised: generation under which an object was answered; gone. */
byte answered[2];
byte gone;			/* generation in which the first object was deleted */
byte retired;
byte unwanted;			/* a delete was begun, or eviction; bits */
hidden byte i, k;

#define Q_OVER (epoch == 1 || (!data[0] && !data[1] && !sw_id[0]))

inline append(t, g, a)
{
	type[next] = t;
	gen[next] = g;
	arg[next] = a;
	next++
}

inline checkpoint()
{
	st[next] = (rule(R33_STATE) -> state : FREE);
	sum[next] = summary;
	if
	:: state == OPENED && rule(R33_OPEN) -> k = live
	:: state == SEALED && rule(R33_DEAD) -> k = ever & ~live
	:: else -> k = 0
	fi;
	append(CHECKPOINT, generation, k);
	if
	:: !rule(R33_STATE) -> gen[next - 1] = 0
	:: else
	fi;
	k = 0
}

active proctype Fabric()
{
	do
	:: d_step { durable < next -> durable++ }
	:: d_step { head_sent -> head = head_sent - 1; head_sent = 0 }
	:: d_step { data[0] -> bytes[0] = data[0]; data[0] = 0 }
	:: d_step { data[1] -> bytes[1] = data[1]; data[1] = 0 }
	:: d_step { data[2] -> bytes[0] = data[2]; data[2] = 0 }
	:: d_step { data[3] -> bytes[1] = data[3]; data[3] = 0 }
	:: d_step { sw_id[0] -> sum_gen = sw_gen[0]; sum_list = sw_list[0];
		sum_id = sw_id[0]; sw_id[0] = 0; sw_gen[0] = 0; sw_list[0] = 0 }
	:: d_step { sw_id[1] -> sum_gen = sw_gen[1]; sum_list = sw_list[1];
		sum_id = sw_id[1]; sw_id[1] = 0; sw_gen[1] = 0; sw_list[1] = 0 }
	/* Lost with its owner. */
	:: d_step { epoch == 2 && data[0] -> data[0] = 0 }
	:: d_step { epoch == 2 && data[1] -> data[1] = 0 }
	:: d_step { epoch == 2 && sw_id[0] -> sw_id[0] = 0; sw_gen[0] = 0; sw_list[0] = 0 }
	:: d_step { !over && epoch < 3 -> over = true }
	od
}

#define MY(o) data[2 * (epoch - 1) + (o)]
#define MY_SUMMARY sw_id[epoch - 1]
#define DURABLE(p) (durable > (p))

/* Puts: an object each, in order. */
active proctype Put()
{
	byte at;

	do
	:: atomic {
		!over && epoch < 3 && state == OPENED && !frozen && !sealing &&
		ever != 3 && next < RECORDS - 2 ->
		putting = (ever & 1 -> 2 : 1);
		MY(putting - 1) = generation;
		bytes[putting - 1] = 0
	   };
	   if
	   :: atomic { over -> goto died }
	   :: atomic {
		!over && (!MY(putting - 1) || !rule(R8_DATA)) ->
		at = next;
		append(PUT, generation, putting - 1);
		ever = ever | putting;
		live = live | putting
	      }
	   fi;
	   if
	   :: atomic { over -> goto died }
	   :: atomic {
		!over && (DURABLE(at) || !rule(R8_ANSWER)) ->
		answered[putting - 1] = generation;
		unwanted = unwanted & ~putting
	      }
	   fi;
died:	   atomic { putting = 0; at = 0 }
	od
}

/* Deletes: the first object. */
active proctype Delete()
{
	byte at;

	do
	:: atomic {
		!over && epoch < 3 && deletes && (live & 1) && !(putting & 1) &&
		next < RECORDS - 1 ->
		deletes--;
		deleting = true;
		live = live & ~1;
		unwanted = unwanted | 1;
		at = next;
		append(DELETE, generation, 0)
	   };
	   if
	   :: atomic { over }
	   :: atomic { !over && DURABLE(at) -> gone = gen[at] }
	   fi;
	   atomic { deleting = false; at = 0 }
	od
}

/* The worker. */
active proctype Worker()
{
	byte at;

	do
	:: atomic {
		!over && epoch < 3 && checkpoints && next < RECORDS ->
		checkpoints--;
		busy = true;
		at = next;
		checkpoint()
	   };
	   if
	   :: atomic { over -> goto died }
	   :: atomic { !over && (DURABLE(at) || !rule(R28_CHECKPOINT)) ->
		head_sent = at + 1 }
	   fi;
	   atomic { over || !head_sent -> goto died }
	:: atomic {
		!over && epoch < 3 && state == OPENED &&
		(live || !rule(R29_DEAD)) && ever &&
		(!putting || !rule(R17_WRITERS)) && next < RECORDS &&
		(!frozen || Q_OVER || !rule(R21_SEAL)) ->
		busy = true;
		sealing = true;
		ids++;
		sw_gen[epoch - 1] = generation;
		sw_list[epoch - 1] = (rule(R29_DEAD) -> live : ever);
		sw_id[epoch - 1] = ids
	   };
	   if
	   :: atomic { over -> goto died }
	   :: atomic {
		!over && (!MY_SUMMARY || !rule(R29_SUMMARY)) && next < RECORDS ->
		append(SEAL, generation, ids);
		state = SEALED;
		summary = ids
	      }
	   fi;
	   goto died
	/* Eviction, or what is open has to go. */
	:: atomic {
		!over && epoch < 3 && next < RECORDS && !putting &&
		(state == SEALED || (state == OPENED && frozen)) ->
		busy = true;
		at = next;
		append(RETIRE, generation, 0);
		unwanted = unwanted | live;
		live = 0;
		ever = 0;
		state = RETIRED
	   };
	   if
	   :: atomic { over -> goto died }
	   :: atomic { !over && DURABLE(at) -> retired = generation }
	   fi;
	   goto died
	:: atomic {
		!over && epoch < 3 && next < RECORDS && generation < GENERATIONS &&
		(state == FREE || (state == RETIRED && retired == generation)) &&
		(!frozen || Q_OVER || !rule(R21_REUSE)) ->
		busy = true;
		frozen = false;
		at = next;
		append(OPEN, generation + 1, 0);
		if
		:: !rule(R7_OPEN) -> generation++; state = OPENED
		:: else
		fi
	   };
	   if
	   :: atomic { over -> goto died }
	   :: atomic {
		!over && DURABLE(at) ->
		if
		:: rule(R7_OPEN) -> generation++; state = OPENED
		:: else
		fi
	      }
	   fi;
died:	   atomic { busy = false; sealing = false; at = 0 }
	od
}

/* The next owner, in one step: what is there does not change under it. */
active proctype Takeover()
{
	do
	:: atomic {
		over && epoch < 3 && !putting && !busy && !deleting ->
		assert(durable > head && type[head] == CHECKPOINT);
		k = head;
		state = st[k];
		generation = gen[k];
		summary = sum[k];
		live = 0;
		ever = 0;
		if
		:: state == OPENED -> live = arg[k]; ever = live
		:: (state == SEALED && sum_id == summary && sum_gen == generation) ||
		   (state != OPENED && sum_gen && !rule(R29_SEALED)) ->
			/* What is dead stays known: it is told of again. */
			ever = sum_list;
			live = ever & ~arg[k]
		:: else
		fi;
		k++;
		do
		:: k < durable ->
			if
			:: type[k] == OPEN ->
				state = OPENED; generation = gen[k]; live = 0; ever = 0
			:: type[k] == PUT && state == OPENED ->
				live = live | (1 << arg[k]); ever = ever | live
			:: type[k] == DELETE && gen[k] == generation ->
				live = live & ~1
			:: type[k] == SEAL -> state = SEALED; summary = arg[k]
			:: type[k] == RETIRE -> state = RETIRED; live = 0; ever = 0
			:: else
			fi;
			k++
		:: else -> break
		od;
		/* A summary that is not there: as good as retired. */
		if
		:: state == SEALED && !ever -> state = RETIRED
		:: else
		fi;
		for (i : 0 .. 1) {
			if
			:: live & (1 << i) ->
				assert(bytes[i] == generation);
				assert(generation > retired);
				assert(i == 1 || gone != generation)
			:: else
			fi;
			if
			:: answered[i] && !(unwanted & (1 << i)) ->
				assert((live & (1 << i)) && generation == answered[i])
			:: else
			fi
		}
		i = 0;
		/* A new journal, from its checkpoint on. */
		epoch++;
		over = false;
		frozen = (state == OPENED);
		for (i : 0 .. RECORDS - 1) {
			type[i] = 0; gen[i] = 0; arg[i] = 0; st[i] = 0; sum[i] = 0
		}
		i = 0;
		next = 0;
		head = 0;
		head_sent = 0;
		checkpoints = 1;
		checkpoint();
		durable = 1;
		if
		:: state == RETIRED -> retired = generation
		:: else
		fi;
		k = 0
	   }
	od
}
