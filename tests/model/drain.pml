/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A member that is drained and removed while hosts put. An AG goes from owner to
 * owner; its owner opens a segment there, writes data, and then the record; what is
 * said of a segment there holds as well for one in an AG whose home is there. Hosts
 * take labels up at their own time, change them one at a time (as in "grow"), keep
 * the member after all, remove it, lose their leases, join again by what they knew,
 * leave, and pause at any step. Data, records and all else that is on its way to the
 * member land at any time before Q. Hosts are slots; what a slot shows is written at
 * once, and a slot is granted again when Q has passed (rule 4). Two other members
 * have labels, one copy each. A label is its sequence.
 *
 * Shown: from the moment that a label calls the member removed nothing is placed
 * there, no data land there, and no record says that something is there; so what a
 * put returned is not lost. Nothing at all lands there once its device is used for
 * something else.
 *
 * check:
 * check: -DLABELS=5 -DLIVES=2 -DLAPSES=0 -DFAILURES=0
 * check: -DHOSTS=3 -DLAPSES=0 -DFAILURES=0
 * soak: -DLIVES=4
 * soak: -DLABELS=5
 * soak: -DHOSTS=3 -DFAILURES=0
 * break R36_RESERVE 36: a host that goes by a label which calls the member draining places something there
 * break R36_SETTLE 36: a slot shows the label while a put is on its way there
 * break R36_OUTCOME 36: a slot shows the label while a write that failed may land there
 * break R36_LOOK 36: the member is removed without a look at the slots
 * break R36_UNKNOWN 36: a slot that can't be read counts as one that knows
 * break R36_NEWEST 36 -DLABELS=5 -DLIVES=2 -DLAPSES=0 -DFAILURES=0: slots are compared with a label that is not the newest
 * break R36_DEAD 36: who is dead is not waited for until Q
 * break R36_REFRESH 36: what is there was looked at before the slots
 * break R36_EMPTY 36: the member is removed with what is there
 * break R36_REUSE 36: the device is used again before all hosts know that it was removed
 * break R34_JOIN 34: who joins does not read labels again
 */
#include "model.h"
#define R36_RESERVE 1
#define R36_SETTLE 2
#define R36_OUTCOME 3
#define R36_LOOK 4
#define R36_UNKNOWN 5
#define R36_NEWEST 6
#define R36_DEAD 7
#define R36_REFRESH 8
#define R36_EMPTY 9
#define R36_REUSE 10
#define R34_JOIN 11

#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef LABELS
#define LABELS 3
#endif
#ifndef LIVES
#define LIVES 3			/* memberships of all hosts */
#endif
#ifndef LAPSES
#define LAPSES 1
#endif
#ifndef FAILURES
#define FAILURES 1		/* of data writes */
#endif

/* What a label says of the member. */
#define PRESENT 0
#define DRAINING 1
#define REMOVED 2
byte says[LABELS + 1], label[2] = 1, labels = 1;
byte relabels;			/* host plus one: it writes labels */
bool removed, reused;

/* What hosts have; what their slots show. */
byte known[HOSTS] = 1;		/* the label that it goes by */
bool lease[HOSTS], serves[HOSTS];
bool drains[HOSTS];		/* it places nothing there */
bool in_use[HOSTS];
byte shows[HOSTS];
byte lives = LIVES, lapses = LAPSES, failures = FAILURES;

/* The AG: its owner plus one; what its journal says; what was answered. */
byte owner;
bool opened, object;

/* A host's put, or move. */
#define RESERVED 1
#define OPENING 2
#define WRITING 3
#define TELLING 4
#define VACATING 5
byte stage[HOSTS];
/* On its way: data, those of a put that failed, a record. */
bool data[HOSTS], late[HOSTS];
#define OPEN 1
#define PUT 2
#define RETIRE 3		/* with all that was moved */
byte record[HOSTS];
byte other;			/* host plus one: what else goes there */

#define SAYS(h) says[known[h]]
#define OWNS(h) (serves[h] && lease[h] && owner == (h) + 1)
#define NEWEST (label[0] > label[1] -> label[0] : label[1])
#define QUIET(h) (!data[h] && !late[h] && !record[h] && other != (h) + 1)
#define DEAD(h) (!lease[h] && (QUIET(h) || !rule(R36_DEAD)))

proctype Fabric(byte h)
{
	do
	:: d_step { data[h] -> data[h] = false; assert(!removed) }
	:: d_step { late[h] -> late[h] = false; assert(!removed) }
	:: d_step { other == h + 1 -> other = 0; assert(!reused) }
	:: d_step { record[h] ->
		if
		:: record[h] == OPEN -> opened = true; assert(!removed)
		:: record[h] == PUT -> object = true; assert(!removed)
		:: record[h] == RETIRE -> opened = false; object = false
		fi;
		record[h] = 0 }
	/* A dead host's may never land. */
	:: d_step { record[h] && !lease[h] -> record[h] = 0 }
	:: d_step { lease[h] && lapses -> lapses--; lease[h] = false }
	od
}

proctype Owner(byte me)
{
	do
	/* Its base is what stands there; nothing counts that lands later. */
	:: d_step { serves[me] && lease[me] && owner != me + 1 && !stage[me] &&
		    (!owner || !lease[owner - 1]) ->
		if
		:: owner -> record[owner - 1] = 0
		:: else
		fi;
		owner = me + 1 }
	:: d_step { OWNS(me) && !stage[me] && SAYS(me) != REMOVED &&
		    (!drains[me] || !rule(R36_RESERVE)) ->
		stage[me] = RESERVED;
		assert(!removed) }
	:: d_step { stage[me] == RESERVED && lease[me] && !opened ->
		record[me] = OPEN; stage[me] = OPENING }
	:: d_step { (stage[me] == RESERVED && lease[me] && opened) ||
		    (stage[me] == OPENING && lease[me] && !record[me]) ->
		data[me] = true; stage[me] = WRITING }
	:: d_step { stage[me] == WRITING && lease[me] && data[me] && failures && !late[me] ->
		failures--; data[me] = false; late[me] = true; stage[me] = 0 }
	:: d_step { stage[me] == WRITING && lease[me] && !data[me] ->
		record[me] = PUT; stage[me] = TELLING }
	/* Here the put returns, or the segment is retired. */
	:: d_step { stage[me] >= TELLING && lease[me] && !record[me] -> stage[me] = 0 }
	:: d_step { OWNS(me) && !stage[me] && drains[me] && opened ->
		record[me] = RETIRE; stage[me] = VACATING }
	:: d_step { serves[me] && lease[me] && SAYS(me) != REMOVED && !other ->
		other = me + 1 }
	od
}

proctype Host(byte me)
{
	byte n, new, want;

again:	atomic {
		serves[me] = false;
		stage[me] = 0;
		late[me] = (late[me] || data[me]);
		data[me] = false
	};
	do
	/* Labels are read, unless it goes by what it knew. */
	:: atomic { label[0] == label[1] && known[me] != label[0] -> known[me] = label[0] }
	:: atomic { lives && QUIET(me) ->
		lives--;
		owner = (owner == me + 1 -> 0 : owner);
		relabels = (relabels == me + 1 -> 0 : relabels);
		lease[me] = true;
		in_use[me] = true;
		shows[me] = known[me];
		drains[me] = SAYS(me) != PRESENT;
		break }
	od;
	do
	:: atomic { n < 2 && rule(R34_JOIN) ->
		if
		:: label[n] > known[me] && says[label[n]] != SAYS(me) -> n = 0; goto leave
		:: else -> n++
		fi }
	:: atomic { n == 2 || !rule(R34_JOIN) -> n = 0; break }
	od;
	atomic {
		if
		:: lease[me] -> serves[me] = true
		:: else -> goto again
		fi
	};

work:	do
	:: atomic { !lease[me] -> goto again }
	:: atomic { lease[me] -> goto leave }
	/* Take labels up. */
	:: atomic { lease[me] && label[0] == label[1] && label[0] > known[me] ->
		new = label[0];
take:		if
		:: says[new] == REMOVED -> known[me] = new; new = 0; goto leave
		:: says[new] != REMOVED -> drains[me] = says[new] == DRAINING
		fi };
	   if
	   :: atomic { !lease[me] -> new = 0 }
	   :: atomic { lease[me] && (!drains[me] || ((!stage[me] || !rule(R36_SETTLE)) &&
						     (!late[me] || !rule(R36_OUTCOME)))) ->
		known[me] = new;
		shows[me] = new;
		new = 0 }
	   fi
	/* Change them. */
	:: atomic { lease[me] && labels < LABELS && SAYS(me) != REMOVED &&
		    (!relabels || !lease[relabels - 1]) ->
		relabels = me + 1;
		want = (SAYS(me) == PRESENT -> DRAINING : PRESENT) }
	   goto change
	:: atomic { lease[me] && labels < LABELS && SAYS(me) == DRAINING &&
		    (!relabels || !lease[relabels - 1]) ->
		relabels = me + 1;
		want = REMOVED };
	   /* The slots, then what is there. */
	   if
	   :: atomic { !rule(R36_REFRESH) && (opened || object) -> goto done }
	   :: atomic { rule(R36_REFRESH) || (!opened && !object) }
	   fi;
	   do
	   :: atomic { n < HOSTS && (n == me || !in_use[n] || DEAD(n) || shows[n] >= known[me] ||
				     !rule(R36_LOOK) || !rule(R36_UNKNOWN)) -> n++ }
	   :: atomic { n < HOSTS && n != me && in_use[n] && !DEAD(n) && shows[n] < known[me] &&
		       rule(R36_LOOK) -> n = 0; goto done }
	   :: atomic { n == HOSTS -> n = 0; break }
	   od;
	   if
	   :: atomic { (opened || object) && rule(R36_REFRESH) && rule(R36_EMPTY) -> goto done }
	   :: atomic { (!opened && !object) || !rule(R36_REFRESH) || !rule(R36_EMPTY) -> goto change }
	   fi
	od;

	/* What lags is brought up; then the next one is written. */
change:	atomic {
		new = NEWEST;
		if
		:: !lease[me] -> goto done
		:: lease[me] && label[0] != label[1] -> n = 0
		:: lease[me] && label[0] == label[1] -> n = 2
		fi
	};
	do
	:: atomic { n < 2 && lease[me] -> label[n] = new; n++ }
	:: atomic { n == 2 || !lease[me] -> n = 0; break }
	od;
	atomic {
		if
		:: !lease[me] || says[new] == want || says[new] != SAYS(me) || labels == LABELS ||
		   (want == REMOVED && new != known[me] && rule(R36_NEWEST)) -> goto done
		:: else ->
			labels++;
			new = labels;
			says[new] = want
		fi
	};
	do
	:: atomic { n < 2 && lease[me] ->
		label[n] = new;
		n++;
		if
		:: want == REMOVED -> removed = true; assert(!opened && !object)
		:: else
		fi }
	:: atomic { n == 2 && lease[me] -> n = 0; want = 0; relabels = 0; goto take }
	:: atomic { !lease[me] -> n = 0; break }
	od;
done:	atomic {
		new = 0;
		want = 0;
		relabels = (relabels == me + 1 && lease[me] -> 0 : relabels);
		goto work
	};

	/* In good order, when all is down. */
leave:	atomic { serves[me] = false };
	atomic { !lease[me] || (!stage[me] && QUIET(me)) ->
		if
		:: lease[me] ->
			lease[me] = false;
			in_use[me] = false;
			owner = (owner == me + 1 -> 0 : owner)
		:: else
		fi;
		goto again
	}
}

/* Whose device it is looks whether all hosts know. */
proctype Operator()
{
	byte n;

	atomic { removed && label[0] == label[1] && says[label[0]] == REMOVED };
	do
	:: atomic { n < HOSTS && (!in_use[n] || DEAD(n) || shows[n] == label[0] ||
				  !rule(R36_REUSE)) -> n++ }
	:: atomic { n == HOSTS -> reused = true; n = 0; break }
	od
}

init {
	byte n;

	atomic {
		says[1] = PRESENT;
		for (n : 0 .. HOSTS - 1) {
			run Fabric(n);
			run Owner(n);
			run Host(n)
		}
		n = 0;
		run Operator()
	}
}
