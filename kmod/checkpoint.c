// SPDX-License-Identifier: GPL-2.0
/*
 * Checkpoints: every segment's state, every live object of unsealed segments,
 * every dead object of sealed ones. Built and given its place in the journal in
 * one critical section of the AG's lock.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ag.h"
#include "pool.h"
#include "tracepoints.h"

struct kvc_checkpoint_builder {
	struct kvc_ag *ag;
	u8 *buf;
	u32 blocks;
	u32 room;
	int error;
};

static void *kvc_builder_block(struct kvc_checkpoint_builder *b, u32 i)
{
	return b->buf + ((size_t)i << KVC_BLOCK_SHIFT);
}

static bool kvc_builder_extend(struct kvc_checkpoint_builder *b)
{
	struct kvc_record rec = {
		.type = KVC_REC_CHECKPOINT,
		.checkpoint = {
			.part = b->blocks,
			.next_order = b->ag->next_order,
		},
	};
	void *block;

	if (b->blocks == b->room)
		return false;
	block = kvc_builder_block(b, b->blocks++);
	kvc_journal_begin(block, b->ag->number, b->ag->journal.epoch);
	return kvc_journal_add(block, &rec);
}

static int kvc_builder_add(struct kvc_checkpoint_builder *b,
			   const struct kvc_record *rec)
{
	if (b->blocks &&
	    kvc_journal_add(kvc_builder_block(b, b->blocks - 1), rec))
		return 0;
	if (!kvc_builder_extend(b) ||
	    !kvc_journal_add(kvc_builder_block(b, b->blocks - 1), rec))
		return -ENOSPC;
	return 0;
}

static int kvc_builder_log_item(const struct kvc_log_item *item, void *arg)
{
	struct kvc_checkpoint_builder *b = arg;
	struct kvc_record rec;

	if (atomic_read(&item->entry->where) &
	    (KVC_ENTRY_DEAD | KVC_ENTRY_DYING))
		return 0;
	if (kvc_record_decode(item->record, item->length, b->ag->join->g,
			      &rec) < 0)
		return -EUCLEAN;
	return kvc_builder_add(b, &rec);
}

/* Objects that a sealed segment's summary lists and that are gone. */
static int kvc_builder_dead(struct kvc_checkpoint_builder *b,
			    struct kvc_segment *seg)
{
	struct kvc_record rec = {
		.type = KVC_REC_DELETE,
		.del = {
			.segment = seg->s.number,
			.generation = seg->s.generation,
		},
	};
	struct kvc_chunk *c;
	u32 i;
	int err;

	for (c = seg->chunks; c; c = c->next) {
		for (i = 0; i < c->used; i++) {
			struct kvc_entry *e = &c->entries[i];
			u32 where = atomic_read(&e->where);

			if (!(where & KVC_ENTRY_COMMITTED) ||
			    !(where & (KVC_ENTRY_DEAD | KVC_ENTRY_DYING)))
				continue;
			rec.del.hash = e->hash;
			rec.del.offset = where & KVC_ENTRY_OFFSET;
			err = kvc_builder_add(b, &rec);
			if (err)
				return err;
		}
	}
	return 0;
}

static int kvc_builder_fill(struct kvc_checkpoint_builder *b)
{
	struct kvc_ag *ag = b->ag;
	struct kvc_record rec = { .type = KVC_REC_SEGMENT };
	struct kvc_rec_checkpoint *head;
	u32 i;
	int err = 0;

	b->blocks = 0;
	for (i = 0; i < ag->nr && !err; i++) {
		kvc_seg_record(&ag->segments[i].s, &rec.seg);
		err = kvc_builder_add(b, &rec);
	}
	for (i = 0; i < ag->nr && !err; i++)
		if (ag->segments[i].s.state == KVC_SEG_OPEN)
			err = kvc_log_for_each(&ag->segments[i].log,
					       kvc_builder_log_item, b);
	for (i = 0; i < ag->nr && !err; i++)
		if (ag->segments[i].s.state == KVC_SEG_SEALED)
			err = kvc_builder_dead(b, &ag->segments[i]);
	if (err)
		return err;
	for (i = 0; i < b->blocks; i++) {
		struct kvc_journal_block *block = kvc_builder_block(b, i);

		head = (struct kvc_rec_checkpoint *)block->data;
		head->parts = cpu_to_le32(b->blocks);
	}
	return 0;
}

u64 kvc_ag_checkpoint_bytes(struct kvc_ag *ag)
{
	u64 bytes = (u64)ag->nr * KVC_SEGMENT_LENGTH;
	u32 i;

	lockdep_assert_held(&ag->lock);
	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (seg->s.state == KVC_SEG_OPEN)
			bytes += seg->log.bytes;
		else if (seg->s.state == KVC_SEG_SEALED)
			bytes += (u64)max(atomic_read(&seg->dead), 0) *
				 KVC_DELETE_LENGTH;
	}
	return bytes;
}

/* Blocks for so many bytes of records, at worst. */
static u32 kvc_checkpoint_room(u64 bytes)
{
	u32 usable = KVC_JOURNAL_DATA - KVC_CHECKPOINT_LENGTH -
		     kvc_put_length(KVC_MAX_KEY);

	return (u32)DIV_ROUND_UP(bytes, usable) + 4;
}

static int kvc_checkpoint_queue(struct kvc_ag *ag, u64 *start, u32 *blocks)
{
	struct kvc_checkpoint_builder b = { .ag = ag };
	int err;

	mutex_lock(&ag->lock);
	b.room = kvc_checkpoint_room(kvc_ag_checkpoint_bytes(ag));
	mutex_unlock(&ag->lock);
	/* What comes to be between here and the lock: a batch at most. */
	b.room += 2 * KVC_BATCH_BLOCKS;
	b.buf = kvmalloc((size_t)b.room << KVC_BLOCK_SHIFT, GFP_KERNEL);
	if (!b.buf)
		return -ENOMEM;

	mutex_lock(&ag->lock);
	err = kvc_builder_fill(&b);
	if (!err) {
		*blocks = b.blocks;
		err = kvc_journal_checkpoint(&ag->journal, b.buf, b.blocks,
					     start);
		b.buf = NULL;
	}
	mutex_unlock(&ag->lock);
	kvfree(b.buf);
	return err;
}

/*
 * A header write that failed may still land, so it is repeated with the same
 * bytes until it is known to be down: no other may take its place before.
 */
static int kvc_ag_write_header(struct kvc_ag *ag, u64 start)
{
	int err;

	for (;;) {
		err = kvc_journal_write_header(&ag->journal, start);
		if (!err || READ_ONCE(ag->join->stopping) ||
		    READ_ONCE(ag->journal.killed) || !ag->owned)
			return err;
		msleep(50);
	}
}

int kvc_ag_begin_epoch(struct kvc_ag *ag)
{
	u64 start;
	u32 blocks;
	int err;

	err = kvc_journal_write_header(&ag->journal, 0);
	if (err)
		return err;
	err = kvc_checkpoint_queue(ag, &start, &blocks);
	if (err)
		return err;
	return kvc_journal_wait(&ag->journal, start + blocks,
				jiffies + 30 * HZ);
}

int kvc_ag_checkpoint(struct kvc_ag *ag)
{
	u64 start;
	u32 blocks;
	int err;

	err = kvc_checkpoint_queue(ag, &start, &blocks);
	if (err)
		return err;
	/*
	 * Not to be given up: with no header that points to it, it would only
	 * fill the ring, and when the home member is back after a few of these
	 * there would be no room for another.
	 */
	err = kvc_ag_settle(ag, start + blocks - 1);
	if (err)
		return err;
	/* protocol rule 28: checkpoint, header, and only then reuse */
	err = kvc_ag_write_header(ag, start);
	if (err)
		return err;
	kvc_journal_trim(&ag->journal, start);
	trace_kvcache_checkpoint(ag, start, blocks);
	kvc_stat_inc(ag->join->pool->stats, KVC_STAT_CHECKPOINTS);
	return 0;
}
