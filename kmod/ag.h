/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: allocation groups: what this host owns
 *
 * An AG is a fixed set of segments and one journal. All that changes an AG goes
 * through its mutex, @lock, held for short times and never over I/O, and the
 * order "record appended to the journal, memory changed" is one critical
 * section of it, so that a checkpoint, which copies memory and takes its place in
 * the journal in one section too, agrees with the records around it.
 * What a record allows (reuse, an answer) waits until it is durable.
 *
 * One worker per AG does all that takes time: it seals full segments, opens
 * clean ones ahead of need, evicts, writes checkpoints. It is the only one
 * that opens, seals and retires, so these never race with each other.
 *
 * A segment's life: FREE -> (OPEN durable, discarded) standby -> open for puts or
 * rewrites -> full -> (no writer left, summary durable, SEAL) sealed -> victim
 * -> (moves, RETIRE durable) retired -> (entries gone, readers gone) FREE.
 */
#ifndef KVC_AG_H
#define KVC_AG_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "follow.h"
#include "grace.h"
#include "index.h"
#include "journal.h"
#include "kvc_clock.h"
#include "kvc_segment.h"

struct kvc_join;

/**
 * struct kvc_log_item - a PUT of an unsealed segment, kept for the summary
 * @entry: its entry
 * @length: of @record
 * @record: as in the journal
 */
struct kvc_log_item {
	struct kvc_entry *entry;
	u32 length;
	u32 reserved;
	u8 record[];
};

struct kvc_log_page {
	struct kvc_log_page *next;
	u32 used;
	u32 reserved;
	u8 data[];
};

#define KVC_LOG_PAGE_DATA ((u32)(PAGE_SIZE - sizeof(struct kvc_log_page)))

/**
 * struct kvc_log - the PUT records of an unsealed segment, in journal order
 * @first: pages
 * @last: page that takes the next record
 * @count: records
 * @bytes: of all records, for the checkpoint's size
 */
struct kvc_log {
	struct kvc_log_page *first;
	struct kvc_log_page *last;
	u32 count;
	u64 bytes;
};

/* Where a segment is within its life, beyond what media know. */
enum kvc_role {
	KVC_ROLE_NONE,		/* free, sealed, or retired, entries and all */
	KVC_ROLE_STANDBY,	/* OPEN is durable, nothing written yet */
	KVC_ROLE_ACTIVE,	/* ag->open[] points to it */
	KVC_ROLE_FULL,		/* takes no more; to be sealed */
	KVC_ROLE_FROZEN,	/* open at takeover; sealed after Q */
	KVC_ROLE_DRAINING,	/* retired and forgotten; readers may remain */
};

/**
 * struct kvc_segment - a segment in memory
 * @s: what media know; changes under the AG's lock, at append
 * @ag: AG
 * @role: enum kvc_role; under the AG's lock
 * @readers: reads in flight; taken under RCU together with the look-up
 *	(protocol rule 16)
 * @writers: puts whose outcome is not known; none at SEAL and RETIRE (rule 17)
 * @live: objects that can be hit
 * @live_blocks: their 4 KiB blocks
 * @dead: COMMITTED objects that can't be hit any more
 * @space: while ACTIVE
 * @chunks: entries; appended under the AG's lock
 * @log: while unsealed
 * @ready_at: jiffies before which nothing of it is written (Q)
 * @closed: jiffies at its SEAL or RETIRE: no write went out after that; valid
 *	if @was_open
 * @was_open: it was in use in this epoch
 * @members: bit per member that holds a lane
 * @retired_at: DRAINING: what slots have to show as drained (see grace.h)
 * @cookie: DRAINING: of the grace period after which no look-up is at its
 *	entries
 * @grace: DRAINING, of our own AG: how far the other hosts are
 */
struct kvc_segment {
	struct kvc_seg s;
	struct kvc_ag *ag;
	enum kvc_role role;
	atomic_t readers;
	atomic_t writers;
	atomic_t live;
	atomic_t live_blocks;
	atomic_t dead;
	struct kvc_space space;
	struct kvc_chunk *chunks;
	struct kvc_log log;
	unsigned long ready_at;
	unsigned long closed;
	bool was_open;
	u64 members;
	u64 retired_at;
	unsigned long cookie;
	struct kvc_grace grace;
};

/**
 * struct kvc_segset - the segments of an AG, as one load found them
 * @node: in the AG's @dropped, once another load has replaced it
 * @rcu: frees it
 * @ag: AG
 * @cookie: of the grace period after which no look-up is at its entries
 * @segments: by number - @ag->first
 *
 * A load fills a fresh set, whose entries are in the index beside those of the
 * set that is in use, and then takes its place (protocol rule 12). What it
 * replaced lives until the last read on it has ended.
 */
struct kvc_segset {
	struct list_head node;
	struct rcu_head rcu;
	struct kvc_ag *ag;
	unsigned long cookie;
	struct kvc_segment segments[];
};

enum kvc_stream {
	KVC_STREAM_PUT,
	KVC_STREAM_REWRITE,
	KVC_NR_STREAMS,
};

/**
 * struct kvc_ag - an allocation group
 * @join: attachment
 * @number: AG
 * @nr: segments
 * @wanted: epoch with which we shall own it, 0: not at all, KVC_EPOCH_ANY
 * @change: takes it over, or gives it up
 * @early: it waits for hosts that don't know it, as own.c's work saw last
 * @changing: @change is at it, and may own what is not wanted any more; under
 *	@lock
 * @doubted: jiffies at which a takeover first had to wait for Q, valid if
 *	@doubting; like @doubting under @follow.turn
 * @doubting: see @doubted
 * @graces: retired segments that wait for other hosts; the worker's
 * @set: its segments; replaced under @lock by a load, never while @owned
 * @segments: those in @set
 * @dropped: sets that were replaced; under @lock
 * @first: number of its first segment
 * @owned: takes puts; false: another host's, or nobody's
 * @claimed: epoch in which we own it, as our slot shows it; 0: none. Set once
 *	its checkpoint is durable, and @owned once the slot shows it
 * @releasing: being given up: no put is let in; under @lock
 * @follow: while not @owned
 * @lock: see DOC above. Order: @lock, then journal.lock
 * @journal: of this epoch
 * @open: segment per stream, or NULL
 * @standby: clean and opened, or NULL
 * @moving: victim whose moves are being journaled; deletes in it wait
 * @victim: segment that is being reclaimed; nothing in it is pinned any more
 * @next_order: next seal's place in reclaim order
 * @budget: for rewrites
 * @pinned_blocks: 4 KiB blocks of its pinned objects
 * @pins: pinned entries: entry address / 8 -> seconds since 1970; changed
 *	under @lock, or by whoever alone knows the entry
 * @pins_end: seconds since 1970 before which none of them runs out
 * @work: worker
 * @watch: waits for commits that nobody else waits for: kvc_put_follow()
 * @watched: puts that it tells of their deadlines
 * @watch_lock: guards @watched; innermost, irqs off
 * @wait: for @moving
 * @free_low: reclaim starts below it
 * @free_high: and goes on up to it
 * @objects_found: by the takeover
 * @log_bytes: of the records of all unsealed segments
 * @checkpoint_limit: bytes of records that a checkpoint may have
 */
struct kvc_ag {
	struct kvc_join *join;
	u32 number;
	u32 nr;
	u32 first;
	bool owned;
	u64 claimed;
	bool releasing;
	struct kvc_follow follow;
	u64 wanted;
	struct work_struct change;
	bool early;
	bool changing;
	unsigned long doubted;
	bool doubting;
	u32 graces;
	struct kvc_segset *set;
	struct kvc_segment *segments;
	struct list_head dropped;
	struct mutex lock;
	struct kvc_journal journal;
	struct kvc_segment *open[KVC_NR_STREAMS];
	struct kvc_segment *standby;
	struct kvc_segment *moving;
	struct kvc_segment *victim;
	u64 next_order;
	struct kvc_budget budget;
	atomic64_t pinned_blocks;
	struct xarray pins;
	u64 pins_end;
	struct delayed_work work;
	struct work_struct watch;
	struct list_head watched;
	spinlock_t watch_lock;
	wait_queue_head_t wait;
	u32 free_low;
	u32 free_high;
	u64 objects_found;
	atomic64_t log_bytes;
	u64 checkpoint_limit;
};

/**
 * struct kvc_reservation - a run in an open segment, with its entry
 * @segment: counts one writer
 * @entry: fresh, not in the index
 * @offset: first 4 KiB block
 */
struct kvc_reservation {
	struct kvc_segment *segment;
	struct kvc_entry *entry;
	u32 offset;
};

#define KVC_EPOCH_ANY	U64_MAX

/* --- ag.c: memory and transitions --- */

int kvc_ag_init(struct kvc_ag *ag, struct kvc_join *join, u32 number);

/* Stop the worker, kill the journal, free all. No user is left. */
void kvc_ag_destroy(struct kvc_ag *ag);

struct kvc_segset *kvc_segset_alloc(struct kvc_ag *ag);

/* Take all that is in a set out of the index; it is freed by a later reap. */
void kvc_segset_drop(struct kvc_segset *set);

/* Put @fresh in the place of the set in use, and drop that. */
void kvc_ag_install(struct kvc_ag *ag, struct kvc_segset *fresh);

/**
 * kvc_ag_reap() - free dropped sets that nobody reads from any more
 *
 * Return: are some left?
 */
bool kvc_ag_reap(struct kvc_ag *ag);

/* No segment takes more until one has been sealed: a checkpoint has no room. */
bool kvc_ag_logs_full(struct kvc_ag *ag);

/* Wake the worker. Any context. */
void kvc_ag_kick(struct kvc_ag *ag);

static inline struct kvc_segment *kvc_ag_segment(struct kvc_ag *ag, u32 number)
{
	return &ag->segments[number - ag->first];
}

/* Owned, its journal sound, its home member live: it takes puts and deletes. */
bool kvc_ag_takes_puts(const struct kvc_ag *ag);

/* Is it a copy in an AG of ours? Under rcu_read_lock(). */
bool kvc_entry_is_ours(const struct kvc_entry *e);
bool kvc_entry_is_others(const struct kvc_entry *e);

/* All members of the segment are live. */
bool kvc_segment_healthy(const struct kvc_segment *seg);

/* Nothing new comes there: a member of the segment, or the AG's home, is drained. */
bool kvc_segment_drains(const struct kvc_segment *seg);
bool kvc_ag_drains(const struct kvc_ag *ag);

/* A member of the segment is suspect: what can't be done now may be soon. */
bool kvc_segment_suspect(const struct kvc_segment *seg);

/**
 * kvc_ag_reserve() - take a run for a new object
 * @ag: AG
 * @stream: which open segment
 * @hash: key hash
 * @key_len: of the key
 * @bytes: length
 * @depth: of the key in its prefix
 * @expiry: 0 or seconds
 * @r: filled in
 *
 * Return: 0; -EAGAIN: no clean segment here (the worker has been woken);
 * -ENOMEM.
 */
int kvc_ag_reserve(struct kvc_ag *ag, enum kvc_stream stream,
		   struct kvc_hash hash, u32 key_len, u64 bytes, u32 depth,
		   u64 expiry, struct kvc_reservation *r);

/**
 * kvc_ag_release() - give a reservation up whose object is not journaled
 *
 * The entry is dead (the caller takes it out of the index); its run is lost
 * until the segment is reclaimed. Any context.
 */
void kvc_ag_release(struct kvc_reservation *r);

/**
 * kvc_ag_append_put() - journal a PUT and log it for the summary
 * @ag: AG, locked
 * @put: record
 * @r: reservation
 * @c: commit or NULL
 * @reserve: see kvc_journal_append()
 *
 * Return: as kvc_journal_append(), or -ENOMEM.
 */
int kvc_ag_append_put(struct kvc_ag *ag, const struct kvc_put *put,
		      struct kvc_reservation *r, struct kvc_commit *c,
		      u32 reserve);

/**
 * kvc_ag_settle() - wait for a record of the worker's, however long it takes
 *
 * The worker can't go on without knowing: it waits out a home member that is
 * away. Return: 0, why the journal was killed, or -ETIMEDOUT when stopping.
 */
int kvc_ag_settle(struct kvc_ag *ag, u64 position);

/**
 * kvc_ag_transition() - journal an OPEN, SEAL or RETIRE and wait for it
 * @seg: segment
 * @type: KVC_REC_OPEN, KVC_REC_SEAL or KVC_REC_RETIRE
 * @rec: segment and state are filled in here; SEAL: so is the order
 * @role: that the segment has from the append on
 *
 * For the worker. Memory changes at the append; an error behind that point
 * means that the journal was killed or that the AG is being torn down.
 *
 * Return: 0, or a negative errno; *@appended tells whether memory changed.
 */
int kvc_ag_transition(struct kvc_segment *seg, u32 type,
		      struct kvc_segment_rec *rec, enum kvc_role role,
		      bool *appended);

/* The put's record is durable: the object can be hit. Any context. */
void kvc_ag_publish(struct kvc_reservation *r);

/* An entry can't be hit any more: count it. Any context; once per entry. */
void kvc_ag_entry_died(struct kvc_entry *e);

/* Its segment's summary does not list it, so it needs no DELETE there. */
void kvc_entry_unlist(struct kvc_entry *e);

/* No read is at a segment whose entries are out of the index. */
static inline bool kvc_segment_drained(const struct kvc_segment *seg)
{
	return poll_state_synchronize_rcu(seg->cookie) &&
	       !atomic_read(&seg->readers);
}

/* Drop a segment's reader. Any context. */
void kvc_segment_put_reader(struct kvc_segment *seg);

/* Ring blocks that ordinary records and the worker's leave free. */
u32 kvc_ag_put_reserve(const struct kvc_ag *ag);
u32 kvc_ag_worker_reserve(const struct kvc_ag *ag);

/* Take all entries of a segment out of the index (its RETIRE is durable). */
void kvc_segment_forget(struct kvc_segment *seg);

/* Free the entries of a forgotten segment: no reader is left either. */
void kvc_segment_empty(struct kvc_segment *seg);

/* A sealed or retired segment's records are not needed any more. */
void kvc_segment_drop_log(struct kvc_segment *seg);

void kvc_log_free(struct kvc_log *log);
int kvc_log_append(struct kvc_log *log, struct kvc_entry *entry,
		   const struct kvc_put *put);

/**
 * kvc_log_for_each() - call @fn for every item in order until it returns
 *	non-zero, and return that
 */
int kvc_log_for_each(const struct kvc_log *log,
		     int (*fn)(const struct kvc_log_item *item, void *arg),
		     void *arg);

/* --- checkpoint.c --- */

/**
 * kvc_ag_checkpoint() - write a checkpoint, then the header, then trim
 * @ag: AG; called by its worker, or by takeover before it serves
 *
 * Protocol rules 20 and 28. Return: 0 or negative errno.
 */
int kvc_ag_checkpoint(struct kvc_ag *ag);

/* Header of a new epoch, then its first checkpoint (protocol rule 20). */
int kvc_ag_begin_epoch(struct kvc_ag *ag);

/* Bytes of records that a checkpoint would have now. */
u64 kvc_ag_checkpoint_bytes(struct kvc_ag *ag);

/* --- summary.c --- */

/* Write the summary of a full segment and its SEAL (rules 17, 29). */
int kvc_segment_seal(struct kvc_segment *seg);

/**
 * kvc_summary_read() - read a sealed segment's summary
 * @join: attachment
 * @s: what media know of the segment
 * @buf: set to @s->summary_blocks blocks, to be kvfree()d
 *
 * All blocks are verified, with the SEAL's CRC and the generation (rule 29).
 *
 * Return: 0, -ENOMEM, -EIO, -EBADMSG.
 */
int kvc_summary_read(struct kvc_join *join, const struct kvc_seg *s,
		     void **buf);

/**
 * kvc_summary_verify() - is this a sealed segment's summary, and whole?
 *
 * Return: 0 or -EBADMSG.
 */
int kvc_summary_verify(struct kvc_join *join, const struct kvc_seg *s,
		       const void *buf);

/**
 * kvc_summary_for_each() - call @fn for each PUT of verified summary blocks
 *	until it returns non-zero, and return that; -EBADMSG: malformed
 */
int kvc_summary_for_each(struct kvc_join *join, const struct kvc_seg *s,
			 const void *buf,
			 int (*fn)(const struct kvc_put *put, void *arg),
			 void *arg);

/* --- worker.c, evict.c --- */

void kvc_ag_work(struct work_struct *work);

/* --- put.c --- */

void kvc_put_follow_work(struct work_struct *work);

/**
 * kvc_ag_evict() - reclaim one segment
 * @ag: AG
 * @tight: not the oldest, but the one with most dead objects
 *
 * Return: 0, -EAGAIN (nothing to reclaim), errors.
 */
int kvc_ag_evict(struct kvc_ag *ag, bool tight);

/**
 * kvc_ag_vacate() - clear one segment of a member that is drained
 * @ag: AG; the worker's
 *
 * What is live moves to other segments of the AG as far as these have room, and
 * the rest is evicted; so is all of an AG whose home is drained.
 *
 * Return: 1: one was; 0: there is none; errors.
 */
int kvc_ag_vacate(struct kvc_ag *ag);

/* Segments that can be opened or are, clean and on live members. */
u32 kvc_ag_usable(struct kvc_ag *ag);

/* Make a clean segment ready and hand it out; for the worker only. */
int kvc_ag_open_segment(struct kvc_ag *ag, u32 keep_free,
			struct kvc_segment **out);

/* RETIRE a segment and forget it; for the worker only. */
int kvc_segment_retire(struct kvc_segment *seg);

/* Seal everything that is open, for a detach in good order. */
void kvc_ag_quiesce(struct kvc_ag *ag);

/* --- takeover.c --- */

/**
 * struct kvc_takeover - how an AG is to be taken over
 * @shown: highest epoch that any slot shows for it, 0: none
 * @epoch: in: the new epoch, 0: the lowest that there may be; out: the new
 *	epoch, or with -EAGAIN the lowest that there may be
 * @in_doubt: may writes of this owner (slot, incarnation) still land?
 * @waited: no: Q has passed since they could last be sent
 * @frozen_until: jiffies before which what is found open is not written (Q)
 */
struct kvc_takeover {
	u64 shown;
	u64 epoch;
	bool (*in_doubt)(struct kvc_join *join, u32 slot, u64 incarnation);
	bool waited;
	unsigned long frozen_until;
};

/**
 * kvc_ag_takeover() - load an AG and begin a new epoch in it
 * @ag: not owned; its @follow.turn is held, or nobody else is there yet
 * @t: how
 *
 * Protocol rules 6, 20, 21, 30. On success @ag->claimed is the epoch, and it can
 * be owned when our slot shows that.
 *
 * Return: 0; -EAGAIN: the epoch can't be had, or every area that could take
 * one is in doubt: call again when Q has passed; errors.
 */
int kvc_ag_takeover(struct kvc_ag *ag, struct kvc_takeover *t);

/**
 * kvc_ag_give_up() - give an AG up, in good order
 *
 * Puts are not let in any more, those inside end, what is open is sealed, and
 * all of it is durable; from then on the AG is followed. Return: 0, or an error:
 * its journal has been ended all the same.
 */
int kvc_ag_give_up(struct kvc_ag *ag);

#endif
