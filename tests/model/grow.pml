/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pool of two members that grows by a third, and the first owner of the AG that
 * comes with it. Each member has two copies of its label. Hosts attach with all
 * devices or with the two old ones, read labels at their own time, join, lose their
 * leases, join again by what they knew, leave, and pause at any step; any of them
 * may make the pool grow, go on with what was cut short, or attach alone. A label
 * write lands, or is torn, at any time before Q, or never. Hosts are slots; what a
 * slot shows is written at once ("slots" is about that), and a slot is granted again
 * when Q has passed (rule 4).
 *
 * A label is a number, that of who wrote it: it has a sequence and the growth that
 * it tells of, 0 for none. Two growths have nothing in common, not even if they are
 * by the same device.
 *
 * Shown: what a put returned in the new AG is never missed by a host that does not
 * know the AG; nobody goes by one growth while another goes by another, so the AG
 * is one; and whatever is cut short, labels are of a pool that can be attached, with
 * the new member or without.
 *
 * check:
 * check: -DLIVES=3 -DLABELS=4 -DEXCLUSIVE=2
 * check: -DHOSTS=3 -DLIVES=3 -DLAPSES=1 -DEXCLUSIVE=0
 * soak: -DLABELS=4 -DEXCLUSIVE=2
 * soak: -DHOSTS=3 -DLIVES=4
 * break R34_JOIN 34: who joins does not read labels again
 * break R34_CUT 34: who shares a pool joins while labels tell different things
 * break R34_LOOK 34 -DEXCLUSIVE=0: who writes labels does not look whether another does
 * break R34_SHOW 34 -DEXCLUSIVE=0: it looks before it shows that it is about to
 * break R34_Q 34 -DEXCLUSIVE=0: who is dead is not waited for until Q
 * break R34_ALONE 34: who attaches alone does not wait for Q
 * break R34_AGAIN 34: who attaches alone goes by the labels that it read before it joined
 * break R34_NEWEST 34 -DEXCLUSIVE=0: who writes labels begins with the one that it knows
 * break R34_ENDS 34: both labels of a member are written before the next one's
 * break R34_NEW 34: the old members' labels are written first
 * break R34_KEEP 34: a copy that is right is written again
 * break R34_START 34: a member is brought up only if both its labels are behind
 * break R35_LOOK 35: the new AG has an owner without a look at the slots
 * break R35_AFTER 35: slots that were read before the pool had grown count
 * break R35_UNKNOWN 35: a slot that can't be read counts as one that knows
 * break R35_SHOWN 35: an AG that a slot shows needs no look
 */
#include "model.h"
#define R34_JOIN 1
#define R34_CUT 2
#define R34_LOOK 3
#define R34_SHOW 4
#define R34_Q 5
#define R34_ALONE 6
#define R34_NEWEST 7
#define R34_ENDS 8
#define R34_NEW 9
#define R34_KEEP 10
#define R34_START 11
#define R34_AGAIN 12
#define R35_LOOK 13
#define R35_AFTER 14
#define R35_UNKNOWN 15
#define R35_SHOWN 16

#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef LABELS
#define LABELS 3		/* numbers of labels */
#endif
#ifndef LIVES
#define LIVES 5			/* memberships of all hosts */
#endif
#ifndef LAPSES
#define LAPSES 2
#endif
#ifndef EXCLUSIVE
#define EXCLUSIVE 1		/* attaches for one host alone */
#endif

/* A member's copies: at its start, at its end; 0: no sound label. */
#define START(m) (2 * (m))
#define END(m) (2 * (m) + 1)
byte label[6];
byte seq[LABELS + 1], growth[LABELS + 1];
byte labels = 1, growths;

/* By host: the write on its way. */
byte flying[HOSTS], at[HOSTS];

/* What hosts have; what their slots show. */
byte known[HOSTS];		/* the label that it goes by */
bool lease[HOSTS], serves[HOSTS], alone[HOSTS];
bool in_use[HOSTS], relabels[HOSTS];
byte shows[HOSTS];		/* the growth */
byte lives = LIVES, lapses = LAPSES, exclusive = EXCLUSIVE;

/* The AG: whether a slot ever showed it as owned; the growth of what was put. */
bool ag_shown;
byte acked;
bool wiped;			/* the new device, to go on with a growth */

hidden byte i, newest, floor_, f, g;
hidden byte sound, missing, cut, lags, ragged;

#define GROWTH(h) growth[known[h]]
#define NEWER(m) (seq[label[END(m)]] > seq[label[START(m)]] -> \
		  label[END(m)] : label[START(m)])
/* Its lease is over, as whoever looks at the slot for long enough sees. */
#define DEAD(h) (!lease[h])
#define GONE(h) (!in_use[h] || (DEAD(h) && (!flying[h] || !rule(R34_Q))))
#define KNOWS(h) (!in_use[h] || DEAD(h) || shows[h])

/* What stands there is not written again: it may be all that the member has. */
#define HAS(c, id) (label[c] == (id) && rule(R34_KEEP))
#define BEHIND (rule(R34_START) -> ragged : lags)

/* Judge the labels of members 0 to last, as attach does. */
inline judge(last)
{
	newest = 0;
	floor_ = 0;
	sound = true;
	cut = false;
	lags = false;
	ragged = false;
	for (i : 0 .. last) {
		f = NEWER(i);
		sound = sound && f;
		newest = (seq[f] > seq[newest] -> f : newest);
		floor_ = (seq[label[START(i)]] > floor_ -> seq[label[START(i)]] : floor_)
	}
	for (i : 0 .. last) {
		f = NEWER(i);
		sound = sound && (f == newest ||
			(seq[f] < seq[newest] && seq[f] >= floor_ &&
			 (!growth[f] || growth[f] == growth[newest])));
		cut = cut || growth[f] != growth[newest];
		lags = lags || f != newest;
		ragged = ragged || label[START(i)] != newest
	}
	/* One that no label tells of is a stranger. */
	sound = sound && (last == 1 || growth[newest]);
	missing = (last == 1 && growth[newest]);
	i = 0;
	f = 0
}

/* If all ends here, is there a pool? Without a device that was wiped it is degraded. */
inline there_is_a_pool()
{
	judge(2);
	if
	:: sound
	:: !sound ->
		judge(1);
		assert(sound && (!missing || wiped))
	fi
}

inline check_hosts()
{
	g = 0;
	for (i : 0 .. HOSTS - 1) {
		if
		:: serves[i] && lease[i] ->
			/* A miss is answered from what it knows. */
			assert(!acked || GROWTH(i) == acked);
			assert(!g || !GROWTH(i) || GROWTH(i) == g);
			g = (GROWTH(i) -> GROWTH(i) : g)
		:: else
		fi
	}
	i = 0;
	g = 0
}

/* Of its members, what attach finds there, if that can be attached. */
inline read(last_)
{
	d_step {
		judge(last_);
		id = (sound && !missing -> newest : 0);
		next = cut && id;
		fresh = BEHIND && id
	}
}

proctype Fabric(byte h)
{
	do
	:: d_step { flying[h] -> label[at[h]] = flying[h]; flying[h] = 0; at[h] = 0;
		there_is_a_pool() }
	/* A dead host's: never, or in part. */
	:: d_step { flying[h] && !lease[h] -> flying[h] = 0; at[h] = 0 }
	:: d_step { flying[h] && !lease[h] -> label[at[h]] = 0; flying[h] = 0; at[h] = 0;
		there_is_a_pool() }
	:: d_step { lease[h] && lapses -> lapses--; lease[h] = false }
	od
}

/* The n-th copy that is written: ends, of new members first; then starts. */
#define NTH(n) (rule(R34_ENDS) -> \
		(rule(R34_NEW) -> \
		 ((n) < 3 -> END(2 - (n)) : START(5 - (n))) : \
		 ((n) < 3 -> END(n) : START((n) - 3))) : \
		((n) % 2 -> START(2 - (n) / 2) : END(2 - (n) / 2)))

#if HOSTS == 2
#define NO_RIVAL(h) (!lease[1 - (h)] || (!alone[h] && !alone[1 - (h)]))
#define QUIET(h) (!relabels[1 - (h)] || GONE(1 - (h)))
#else
#define RIVAL(h, o) ((o) != (h) && lease[o] && (alone[h] || alone[o]))
#define NO_RIVAL(h) (!RIVAL(h, 0) && !RIVAL(h, 1) && !RIVAL(h, 2))
#define IS_QUIET(h, o) ((o) == (h) || !relabels[o] || GONE(o))
#define QUIET(h) (IS_QUIET(h, 0) && IS_QUIET(h, 1) && IS_QUIET(h, 2))
#endif

proctype Host(byte me)
{
	byte id, last, n;
	bool next, fresh, early;

again:	do
	/* By what it knew, when its lease has lapsed. */
	:: atomic { known[me] && !alone[me] -> break }
	:: atomic {
		if
		:: read(2)
		:: read(1)
		fi;
		if
		:: id && (!next || !rule(R34_CUT)) ->
			known[me] = id; alone[me] = false;
			id = 0; next = false; fresh = false;
			break
		:: id && exclusive ->
			known[me] = id; alone[me] = true;
			id = 0; next = false;
			exclusive--;
			break
		:: else -> id = 0; next = false; fresh = false
		fi }
	od;
	/* The slot. */
	atomic { lives && !flying[me] && NO_RIVAL(me) ->
		lives--;
		lease[me] = true;
		in_use[me] = true;
		relabels[me] = alone[me];
		shows[me] = GROWTH(me) };
	do
	:: atomic { n <= 1 + (GROWTH(me) != 0) && rule(R34_JOIN) ->
		if
		:: lease[me] && !GROWTH(me) &&
		   ((growth[label[START(n)]] && seq[label[START(n)]] >= seq[known[me]] + alone[me]) ||
		    (growth[label[END(n)]] && seq[label[END(n)]] >= seq[known[me]] + alone[me])) ->
			n = 0;
			known[me] = 0;
			goto leave
		:: else -> n++
		fi }
	:: atomic { n == 2 + (GROWTH(me) != 0) || !rule(R34_JOIN) -> n = 0; break }
	od;
	if
	:: atomic { !alone[me] }
	:: atomic { alone[me] && lease[me] ->
		/* Its slot shows what it owns: all. */
		ag_shown = (ag_shown || GROWTH(me)) };
	   atomic { !lease[me] || QUIET(me) || !rule(R34_ALONE) ->
		if
		:: rule(R34_AGAIN) -> read(1 + (GROWTH(me) != 0)); next = false
		:: else -> id = known[me]
		fi;
		if
		:: id != known[me] ->
			id = 0;
			fresh = false;
			known[me] = 0;
			goto leave
		:: else
		fi;
		last = 1 + (GROWTH(me) != 0);
		n = (fresh -> 0 : 6);
		fresh = false;
		next = true;
		goto write }
	:: atomic { alone[me] && !lease[me] -> fresh = false }
	fi;

serve:	atomic {
		if
		:: lease[me] -> serves[me] = true; d_step { check_hosts() }
		:: else -> goto again
		fi };

work:	do
	:: atomic { !lease[me] -> serves[me] = false; goto again }
	:: atomic { lease[me] -> serves[me] = false; goto leave }
#if WITHOUT == R35_AFTER
	:: atomic { lease[me] && !GROWTH(me) && KNOWS(1 - me) -> early = true }
#endif
	/* Own the new AG, and put. */
	:: atomic { lease[me] && GROWTH(me) && acked != GROWTH(me) ->
		n = (!rule(R35_LOOK) || early || alone[me] ||
		     (ag_shown && !rule(R35_SHOWN)) -> HOSTS : 0) };
	   do
	   :: atomic { n < HOSTS && (n == me || KNOWS(n) || !rule(R35_UNKNOWN)) -> n++ }
	   :: atomic { n < HOSTS && n != me && !KNOWS(n) -> n = 0; break }
	   :: atomic { n == HOSTS -> n = 0;
		if
		:: lease[me] ->
			assert(!acked || acked == GROWTH(me));
			ag_shown = true;
			acked = GROWTH(me);
			d_step { check_hosts() }
		:: else
		fi;
		break }
	   od
	/* Write labels: show it, then look. */
	:: atomic { lease[me] && labels < LABELS -> relabels[me] = rule(R34_SHOW) };
	   do
	   :: atomic { n < HOSTS && (n == me || !relabels[n] || GONE(n) || !rule(R34_LOOK)) -> n++ }
	   :: atomic { n < HOSTS && n != me && relabels[n] && !GONE(n) && rule(R34_LOOK) -> n = 0; goto done }
	   :: atomic { n == HOSTS ->
		n = 0;
		relabels[me] = lease[me];
		d_step {
			judge((GROWTH(me) -> 2 : 1));
			id = (rule(R34_NEWEST) -> newest : known[me]);
			if
			:: !lease[me] || !sound || labels == LABELS -> id = 0
			:: GROWTH(me) && (!ragged || seq[id] != seq[known[me]]) -> id = 0
			:: !GROWTH(me) && growth[id] && !cut -> id = 0
			:: else -> last = BEHIND
			fi
		};
		if
		:: !id -> goto done
		:: id && !growth[id] ->
			label[START(2)] = 0;
			label[END(2)] = 0;
			n = (last -> 0 : 6);
			last = 1;
			fresh = true;
			next = true
		:: growth[id] && !GROWTH(me) ->
			/* Go on, with a device that is to be empty. */
			wiped = true;
			label[START(2)] = 0;
			label[END(2)] = 0;
			d_step { there_is_a_pool() };
			last = 2
		:: growth[id] && GROWTH(me) -> last = 2
		fi;
		goto write }
	   od
	od;

write:	do
	:: atomic { n < 6 && (NTH(n) / 2 > last || HAS(NTH(n), id)) -> n++ }
	:: atomic { n < 6 && NTH(n) / 2 <= last && !HAS(NTH(n), id) && lease[me] ->
		flying[me] = id; at[me] = NTH(n); n++ };
	   atomic { !flying[me] || !lease[me] }
	:: atomic { n < 6 && !lease[me] -> break }
	:: atomic { n == 6 -> break }
	od;
	atomic {
		n = 0;
		if
		:: lease[me] && next && labels < LABELS ->
			next = false;
			labels++;
			seq[labels] = seq[id] + 1;
			if
			:: fresh -> growths++; growth[labels] = growths; last = 2
			:: else -> growth[labels] = growth[id]
			fi;
			fresh = false;
			id = labels;
			if
			:: alone[me] && !serves[me] -> known[me] = id
			:: else
			fi;
			goto write
		:: else
		fi };
done:	atomic {
		id = 0;
		last = 0;
		next = false;
		fresh = false;
		relabels[me] = (relabels[me] && !lease[me]);
		if
		:: serves[me] -> goto work
		:: else -> goto serve
		fi };

leave:	atomic {
		if
		:: lease[me] ->
			lease[me] = false;
			in_use[me] = false;
			relabels[me] = false
		:: else
		fi;
		goto again }
}

init {
	atomic {
		seq[1] = 1;
		label[START(0)] = 1;
		label[END(0)] = 1;
		label[START(1)] = 1;
		label[END(1)] = 1;
		for (i : 0 .. HOSTS - 1) {
			run Fabric(i);
			run Host(i)
		}
		i = 0
	}
}
