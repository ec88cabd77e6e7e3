/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: the journal of one AG in one epoch
 *
 * An append-only ring on the AG's home member. Records are appended to the
 * batch that is filling; a batch goes out as one write, and only when the one
 * before it is durable, so that "durable" is always a prefix (protocol rule 8).
 * While one is in flight the next fills: that is the group commit, and many
 * puts share one write without a timer.
 *
 *	head <= durable <= next
 *
 * head: first position that the loader needs (moves by trim); durable: all
 * before it are on media; next: position of the next new block. A position is a
 * count of blocks and never wraps.
 *
 * Whoever waits for durability submits the batch when none is in flight: a
 * commit needs no thread of its own. A completion runs commits' callbacks in
 * order, in any context.
 *
 * A write that fails is written again, same bytes in the same place, until it
 * goes through or the journal is killed (protocol rule 8); meanwhile callers run
 * into their deadlines. The failed one may land later still, so its place takes
 * nothing else before Q has passed.
 */
#ifndef KVC_JOURNAL_H
#define KVC_JOURNAL_H

#include <linux/spinlock.h>
#include <linux/wait.h>
#include "member.h"
#include "kvc_codec.h"

/**
 * struct kvc_commit - who wants to know when a position is durable
 * @node: in the journal's list, in order of @position
 * @position: block that holds the record
 * @done: called once, in any context, under no lock: 0 or a negative errno
 *	(the journal was killed: outcome unknown to the media, final here)
 */
struct kvc_commit {
	struct list_head node;
	u64 position;
	void (*done)(struct kvc_commit *c, int error);
};

struct kvc_journal;

/**
 * struct kvc_batch - blocks that go out in one write
 * @journal: back pointer
 * @node: in the journal's queue when closed
 * @position: of the first block
 * @blocks: in use
 * @room: blocks that @buf holds
 * @dynamic: allocated for a checkpoint, freed when durable
 * @left: parts of the write still in flight (two at a wrap of the ring)
 * @error: of any part
 * @unsure: a part failed that may land yet
 * @io: the parts
 * @buf: page-aligned
 */
struct kvc_batch {
	struct kvc_journal *journal;
	struct list_head node;
	u64 position;
	u32 blocks;
	u32 room;
	bool dynamic;
	atomic_t left;
	int error;
	bool unsure;
	struct kvc_meta_io *io;
	struct kvc_meta_io inline_io[2];
	u8 *buf;
};

/**
 * struct kvc_journal - see above
 * @set: members
 * @g: geometry
 * @writer: this host
 * @ag: AG
 * @epoch: epoch
 * @home: member that the ring is on
 * @area_sequence: of the last area header written; only the AG's worker
 * @lock: guards all below it; taken in completions, so irqs off. Innermost lock
 * @filling: batch that takes records; NULL while both are on their way
 * @idle: batch that is free; NULL while it is not
 * @queue: closed batches in order; the first is in flight if @inflight
 * @spent: dynamic batches that are durable; the next push frees them
 * @batch: the two that records are appended to
 * @commits: waiting, in order of position
 * @inflight: the queue's first batch is being written
 * @killed: 0, or why no record is taken any more
 * @retry_at: jiffies before which a failed write is not sent again
 * @doubt_end: a write of blocks before this position failed and may land yet:
 *	their places take nothing else ...
 * @doubt_until: ... before then (jiffies); valid if @doubt_end
 * @header_doubt: the same of the two headers: until then a place takes but
 *	@header_failed
 * @header_failed: sequence of the header whose write failed, 0: none; like
 *	@header_doubt only of who writes headers
 * @head: see DOC
 * @durable: see DOC
 * @next: see DOC
 * @wait: for durability, space and batches
 * @blocks_written: statistics
 * @commits_written: statistics: batches
 */
struct kvc_journal {
	struct kvc_member_set *set;
	const struct kvc_geometry *g;
	struct kvc_writer writer;
	u32 ag;
	u64 epoch;
	struct kvc_member *home;
	u64 area_sequence;

	spinlock_t lock;
	struct kvc_batch batch[2];
	struct kvc_batch *filling;
	struct kvc_batch *idle;
	struct list_head queue;
	struct list_head spent;
	struct list_head commits;
	bool inflight;
	int killed;
	unsigned long retry_at;
	u64 doubt_end;
	unsigned long doubt_until;
	unsigned long header_doubt[KVC_AREA_HEADERS];
	u64 header_failed[KVC_AREA_HEADERS];
	u64 head;
	u64 durable;
	u64 next;
	wait_queue_head_t wait;
	u64 blocks_written;
	u64 commits_written;
};

/**
 * kvc_journal_start() - begin an epoch's journal, in memory
 * @j: journal, zeroed, or killed with nothing in flight
 * @set: members
 * @g: geometry
 * @w: this host
 * @ag: AG
 * @epoch: new epoch
 * @area_sequence: highest header sequence that the area shows, 0: none
 *
 * Return: 0 or -ENOMEM.
 */
int kvc_journal_start(struct kvc_journal *j, struct kvc_member_set *set,
		      const struct kvc_geometry *g, const struct kvc_writer *w,
		      u32 ag, u64 epoch, u64 area_sequence);

/* Free it; nothing is in flight, no commit waits. */
void kvc_journal_stop(struct kvc_journal *j);

/*
 * Write an area header with @head = @checkpoint = @position; waits. -EAGAIN: its
 * place may be written by an earlier one yet.
 */
int kvc_journal_write_header(struct kvc_journal *j, u64 position);

/**
 * kvc_journal_append() - add a record
 * @j: journal
 * @rec: record
 * @c: commit that is queued for the record's position, or NULL
 * @reserve: blocks that must stay free behind it (ordinary callers leave room
 *	for the worker, the worker for a checkpoint)
 * @position: set to the block's position, or NULL
 *
 * Does not sleep. Return: 0; -EAGAIN (ring full or both batches out: wait on
 * @j->wait and try again); -EIO or -ESTALE (killed).
 */
int kvc_journal_append(struct kvc_journal *j, const struct kvc_record *rec,
		       struct kvc_commit *c, u32 reserve, u64 *position);

/* All before it is known to be durable. */
u64 kvc_journal_durable(struct kvc_journal *j);

/* Position of the next new block: all records so far are before it. */
u64 kvc_journal_end(struct kvc_journal *j);

/* Blocks of the ring that are in use, and how many there are. */
u64 kvc_journal_used(struct kvc_journal *j);

/**
 * kvc_journal_push() - send what is filling, if nothing is in flight
 *
 * To be called by whoever appended, from a context that may sleep.
 */
void kvc_journal_push(struct kvc_journal *j);

/**
 * kvc_journal_wait() - wait until all before @position are durable
 *
 * Pushes as needed. @deadline in jiffies. Killable: a fatal signal ends the wait
 * as a deadline would, with -EINTR. Return: 0, -ETIMEDOUT, -EINTR, or why the
 * journal was killed.
 */
int kvc_journal_wait(struct kvc_journal *j, u64 position,
		     unsigned long deadline);

/**
 * kvc_journal_make_room() - wait until an append that got -EAGAIN may succeed
 *
 * Return: 0: try again; -ENOSPC: the ring is full, only a checkpoint helps;
 * -ETIMEDOUT; -EINTR; why the journal was killed.
 */
int kvc_journal_make_room(struct kvc_journal *j, unsigned long deadline);

/**
 * kvc_journal_checkpoint() - queue finished checkpoint blocks
 * @j: journal
 * @buf: vmalloc memory of @blocks blocks, journal blocks with their records
 *	(a CHECKPOINT record first, whose start is filled in here); owned by the
 *	journal afterwards, also on error
 * @blocks: how many
 * @start: set to the position of the first
 *
 * Return: 0; -ENOSPC, -ENOMEM, or why the journal was killed.
 */
int kvc_journal_checkpoint(struct kvc_journal *j, void *buf, u32 blocks,
			   u64 *start);

/* Trim: blocks before @position are not needed any more. After the header. */
void kvc_journal_trim(struct kvc_journal *j, u64 position);

/* No more records; waiting commits end with @error. */
void kvc_journal_kill(struct kvc_journal *j, int error);

#endif
