/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Host slots: who is there, who holds what, and the heartbeat that keeps a
 * lease alive.
 */
#ifndef KVC_SLOT_H
#define KVC_SLOT_H

#include <linux/wait.h>
#include "pool.h"

/* Say who has a slot, for a join that is refused. */
void kvc_join_name_holder(struct kvc_join *join, char *reason, u32 slot);

/*
 * One copy of our slot: at most one write to it at a time, and none while an
 * earlier one may land yet (protocol rule 31).
 */
struct kvc_slot_copy {
	struct kvc_meta_io io;
	struct work_struct send;
	struct kvc_slots *slots;
	bool busy;
	bool unsure;	/* a write failed that may land yet ... */
	unsigned long unsure_until;	/* ... until then, in jiffies */
	int error;
	u64 landed;	/* last beat that is known to be down */
	u64 beat;	/* beat that is being written */
	void *buf;
};

/* A look at one copy of our slot; one at a time. */
struct kvc_slot_look {
	struct kvc_meta_io io;
	struct work_struct send;
	struct kvc_slots *slots;
	bool busy;
	bool landed;	/* it was read */
	u64 sequence;	/* of our last write when the look began */
	u64 round;	/* in which it began */
	void *buf;
};

/* A read of one copy of all slots; one at a time. */
struct kvc_slot_scan {
	struct work_struct work;
	struct kvc_slots *slots;
	struct kvc_place place;
	bool busy;
	bool landed;	/* it was read */
	u8 *buf;
};

/**
 * struct kvc_slots - all slots as last read, and our own
 * @join: attachment
 * @nr_copies: places: copies, and while one moves where it goes
 * @parts: the blocks of each slot, of the highest sequence seen. Once the join
 *	serves under @parts_lock, but that others than the heartbeat don't change
 *	our own
 * @parts_lock: see kvc_slots_lock()
 * @writers: of @parts, as their headers tell. Likewise
 * @labels: the label sequence that each place showed of each slot when it was last
 *	read, 0: none. Under @parts_lock
 * @unknown: bit per slot: no sound copy, though something was written
 * @dead: bit per slot: not left in good order, and silent for a lease
 * @copies: of our own slot
 * @beat: number of the present beat
 * @wait: for copies
 * @looks: at the same
 * @scans: of all slots
 * @round: of looks; each kvc_slot_ours() begins one
 * @lock: guards busy, unsure, error and landed of copies, looks and scans
 * @buried: dead slots have been marked as left (after Q), or are being
 * @bury: does that
 */
struct kvc_slots {
	struct kvc_join *join;
	u32 nr_copies;
	struct kvc_slot_info **parts;	/* [slot * slot_blocks + part] */
	struct mutex parts_lock;
	struct kvc_writer *writers;
	u64 *labels;			/* [place * nr_slots + slot] */
	unsigned long *unknown;
	unsigned long *dead;
	struct kvc_slot_copy copies[KVC_MAX_SLOT_PLACES];
	u64 beat;
	wait_queue_head_t wait;
	spinlock_t lock;
	struct kvc_slot_look looks[KVC_MAX_SLOT_PLACES];
	u64 round;
	struct kvc_slot_scan scans[KVC_MAX_SLOT_PLACES];
	bool buried;
	struct work_struct bury;
};

int kvc_slots_init(struct kvc_join *join);
void kvc_slots_destroy(struct kvc_join *join);

/**
 * kvc_slots_read() - read every slot from all copies that can be read
 *
 * From all at the same time. One whose member is suspect, or becomes it, is
 * waited for as long as those of live members are not enough, but for no longer
 * than a lease.
 *
 * Keeps the highest sequence seen of each (protocol rule 13). Return: 0, or
 * -EIO if a majority of copies can't be read.
 */
int kvc_slots_read(struct kvc_join *join);

/* The same in halves; between them the caller may do something else. */
unsigned long kvc_slots_begin_read(struct kvc_join *join);
int kvc_slots_end_read(struct kvc_join *join, unsigned long begun);

/* While locked, what slots show does not change. */
static inline void kvc_slots_lock(struct kvc_join *join)
{
	mutex_lock(&join->slots->parts_lock);
}

static inline void kvc_slots_unlock(struct kvc_join *join)
{
	mutex_unlock(&join->slots->parts_lock);
}

/* What a slot shows for an AG. */
const struct kvc_slot_ag_info *kvc_slot_ag(struct kvc_join *join, u32 slot,
					   u32 ag);

static inline struct kvc_slot_info *kvc_slot(struct kvc_join *join, u32 slot)
{
	return join->slots->parts[slot * join->g->slot_blocks];
}

/*
 * Do enough places show that a slot's host goes by the label of that sequence, or a
 * later one? While locked.
 */
bool kvc_slot_shows_label(struct kvc_join *join, u32 slot, u64 sequence);

/* Has a host the slot, alive or dead, that has not left it in good order? */
static inline bool kvc_slot_in_use(const struct kvc_slot_info *s)
{
	return s->state == KVC_SLOT_JOINING || s->state == KVC_SLOT_ACTIVE;
}

/* Highest epoch that any slot shows as owned for an AG, 0: none; and which. */
u64 kvc_slots_shown(struct kvc_join *join, u32 ag, u32 *slot);

/**
 * kvc_slot_beat() - write our slot and wait for a majority
 * @join: attachment; slot and incarnation are set
 * @timeout_ms: how long to wait
 *
 * On success the lease holds for its length from the moment before the write. A
 * lease under which writes go out is only prolonged; once over it stays so.
 *
 * Return: 0, -ETIMEDOUT, -EIO, -ESTALE (it has run out).
 */
int kvc_slot_beat(struct kvc_join *join, unsigned int timeout_ms);

/**
 * kvc_slot_ours() - is our slot on media the one that we wrote?
 * @join: attachment; the slot was written in this incarnation
 * @timeout_ms: how long to wait for copies to be read
 * @other: if a copy shows that another wrote after us: what it shows; else
 *	zeroed
 *
 * What media hold counts, and not what we keep in mind of them: another's claim
 * may have the same sequence as ours. Not while the heartbeat runs.
 *
 * Return: is a majority of the copies ours?
 */
bool kvc_slot_ours(struct kvc_join *join, unsigned int timeout_ms,
		   struct kvc_slot_info *other);

/**
 * kvc_slot_usurped() - does another host write our slot (given out twice)?
 *
 * Judges what the reads that the last call began have brought, and begins the
 * next: so the heartbeat never waits for a member that is away.
 */
bool kvc_slot_usurped(struct kvc_join *join);

/*
 * After Q: mark dead slots as left, so that they can be granted again. By a
 * work, since that waits for every member that holds a copy.
 */
void kvc_slots_bury(struct kvc_join *join);

/* No bury is going on from here on. */
void kvc_slots_stop_bury(struct kvc_join *join);

#endif
