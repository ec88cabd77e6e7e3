// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "journal.h"

#define KVC_RETRY_MS	50

static int kvc_batch_init(struct kvc_batch *b, struct kvc_journal *j, u32 room)
{
	b->buf = kvmalloc((size_t)room << KVC_BLOCK_SHIFT, GFP_KERNEL);
	if (!b->buf)
		return -ENOMEM;
	b->journal = j;
	b->room = room;
	b->io = b->inline_io;
	INIT_LIST_HEAD(&b->node);
	return 0;
}

static void kvc_batches_free(struct list_head *spent);

/*
 * An earlier epoch's journal begins anew. Lock and wait queue stay: somebody may
 * still be on the way out of a wait for what was killed.
 */
static void kvc_journal_reset(struct kvc_journal *j)
{
	struct kvc_batch *b, *n;
	LIST_HEAD(dynamic);
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	list_for_each_entry_safe(b, n, &j->queue, node) {
		list_del_init(&b->node);
		if (b->dynamic)
			list_add(&b->node, &dynamic);
	}
	list_splice_init(&j->spent, &dynamic);
	j->filling = &j->batch[0];
	j->idle = &j->batch[1];
	j->batch[0].blocks = 0;
	j->batch[1].blocks = 0;
	j->retry_at = jiffies;
	j->head = 0;
	j->durable = 0;
	j->next = 0;
	j->doubt_end = 0;
	memset(j->header_failed, 0, sizeof(j->header_failed));
	j->killed = 0;
	spin_unlock_irqrestore(&j->lock, flags);
	kvc_batches_free(&dynamic);
}

int kvc_journal_start(struct kvc_journal *j, struct kvc_member_set *set,
		      const struct kvc_geometry *g, const struct kvc_writer *w,
		      u32 ag, u64 epoch, u64 area_sequence)
{
	bool again = j->set;
	int i, err;

	j->set = set;
	j->g = g;
	j->writer = *w;
	j->ag = ag;
	j->epoch = epoch;
	j->home = &set->m[kvc_ag_home(g, ag)];
	j->area_sequence = area_sequence;
	if (again) {
		kvc_journal_reset(j);
		return 0;
	}
	spin_lock_init(&j->lock);
	INIT_LIST_HEAD(&j->queue);
	INIT_LIST_HEAD(&j->spent);
	INIT_LIST_HEAD(&j->commits);
	init_waitqueue_head(&j->wait);
	for (i = 0; i < 2; i++) {
		err = kvc_batch_init(&j->batch[i], j, KVC_BATCH_BLOCKS);
		if (err)
			return err;
	}
	j->filling = &j->batch[0];
	j->idle = &j->batch[1];
	return 0;
}

static void kvc_batch_free_dynamic(struct kvc_batch *b)
{
	if (b->io != b->inline_io)
		kvfree(b->io);
	kvfree(b->buf);
	kfree(b);
}

static void kvc_batches_free(struct list_head *spent)
{
	struct kvc_batch *b, *n;

	list_for_each_entry_safe(b, n, spent, node)
		kvc_batch_free_dynamic(b);
}

void kvc_journal_stop(struct kvc_journal *j)
{
	struct kvc_batch *b, *n;

	list_for_each_entry_safe(b, n, &j->queue, node)
		if (b->dynamic)
			kvc_batch_free_dynamic(b);
	kvc_batches_free(&j->spent);
	kvfree(j->batch[0].buf);
	kvfree(j->batch[1].buf);
	j->batch[0].buf = NULL;
	j->batch[1].buf = NULL;
}

int kvc_journal_write_header(struct kvc_journal *j, u64 position)
{
	struct kvc_area_info a = {
		.ag = j->ag,
		.owner_slot = j->writer.slot,
		.owner_incarnation = j->writer.incarnation,
		.epoch = j->epoch,
		.head = position,
		.checkpoint = position,
	};
	struct kvc_place p = kvc_place_area(j->g, j->ag,
					    j->epoch % KVC_NR_AREAS);
	void *block;
	u32 copy;
	int err;

	block = (void *)get_zeroed_page(GFP_KERNEL);
	if (!block)
		return -ENOMEM;
	a.sequence = j->area_sequence + 1;
	/* The two headers are written in turn (protocol rule 28). */
	copy = a.sequence % KVC_AREA_HEADERS;
	p.block += copy;
	/* protocol rule 28 */
	if (j->header_failed[copy] && j->header_failed[copy] != a.sequence &&
	    time_before(jiffies, j->header_doubt[copy])) {
		free_page((unsigned long)block);
		return -EAGAIN;
	}
	kvc_area_encode(block, &a);
	kvc_block_finish(block, KVC_BLOCK_AREA, j->g->uuid, p, a.sequence,
			 &j->writer);
	err = kvc_meta_write(j->home, p.block, 1, block);
	free_page((unsigned long)block);
	/*
	 * A failed write may have landed: the next one has the same place and a
	 * sequence of its own only after this one is known to be down.
	 */
	if (!err) {
		j->area_sequence = a.sequence;
	} else {
		j->header_failed[copy] = a.sequence;
		j->header_doubt[copy] = jiffies + msecs_to_jiffies(j->g->q_ms);
	}
	return err;
}

static void *kvc_batch_block(struct kvc_batch *b, u32 i)
{
	return b->buf + ((size_t)i << KVC_BLOCK_SHIFT);
}

static void kvc_batch_open(struct kvc_batch *b, u64 position)
{
	b->position = position;
	b->blocks = 0;
	b->error = 0;
}

u64 kvc_journal_end(struct kvc_journal *j)
{
	unsigned long flags;
	u64 end;

	spin_lock_irqsave(&j->lock, flags);
	end = j->next;
	spin_unlock_irqrestore(&j->lock, flags);
	return end;
}

u64 kvc_journal_durable(struct kvc_journal *j)
{
	unsigned long flags;
	u64 durable;

	spin_lock_irqsave(&j->lock, flags);
	durable = j->durable;
	spin_unlock_irqrestore(&j->lock, flags);
	return durable;
}

u64 kvc_journal_used(struct kvc_journal *j)
{
	unsigned long flags;
	u64 used;

	spin_lock_irqsave(&j->lock, flags);
	used = j->next - j->head;
	spin_unlock_irqrestore(&j->lock, flags);
	return used;
}

/* May a write that failed still land where @blocks from @next on go? Lock held. */
static bool kvc_journal_doubtful(const struct kvc_journal *j, u32 blocks)
{
	u64 end = j->next + blocks;

	lockdep_assert_held(&j->lock);
	return j->doubt_end && end > j->g->ring_blocks &&
	       j->next < j->doubt_end + j->g->ring_blocks &&
	       time_before(jiffies, j->doubt_until);
}

/* Is there a block after the filling batch's last one? Lock held. */
static bool kvc_journal_extend(struct kvc_journal *j, u32 reserve)
{
	struct kvc_batch *b = j->filling;

	lockdep_assert_held(&j->lock);
	if (b->blocks == b->room ||
	    j->next - j->head + reserve >= j->g->ring_blocks ||
	    kvc_journal_doubtful(j, 1))
		return false;
	if (!b->blocks)
		kvc_batch_open(b, j->next);
	kvc_journal_begin(kvc_batch_block(b, b->blocks), j->ag, j->epoch);
	b->blocks++;
	j->next++;
	return true;
}

int kvc_journal_append(struct kvc_journal *j, const struct kvc_record *rec,
		       struct kvc_commit *c, u32 reserve, u64 *position)
{
	struct kvc_batch *b;
	unsigned long flags;
	int err = -EAGAIN;

	spin_lock_irqsave(&j->lock, flags);
	if (j->killed) {
		err = j->killed;
		goto out;
	}
	b = j->filling;
	if (!b)
		goto out;
	if (!b->blocks ||
	    !kvc_journal_add(kvc_batch_block(b, b->blocks - 1), rec)) {
		if (!kvc_journal_extend(j, reserve))
			goto out;
		if (WARN_ON_ONCE(!kvc_journal_add(
			    kvc_batch_block(b, b->blocks - 1), rec))) {
			err = -EINVAL;
			goto out;
		}
	}
	if (c) {
		c->position = j->next - 1;
		list_add_tail(&c->node, &j->commits);
	}
	if (position)
		*position = j->next - 1;
	err = 0;
out:
	spin_unlock_irqrestore(&j->lock, flags);
	return err;
}

/* Close the filling batch into the queue. Lock held. */
static void kvc_journal_close(struct kvc_journal *j)
{
	lockdep_assert_held(&j->lock);
	if (!j->filling || !j->filling->blocks)
		return;
	list_add_tail(&j->filling->node, &j->queue);
	j->filling = j->idle;
	j->idle = NULL;
	if (j->filling)
		kvc_batch_open(j->filling, j->next);
}

/* Run the commits that are due. */
static void kvc_journal_settle(struct kvc_journal *j)
{
	struct kvc_commit *c;
	LIST_HEAD(due);
	unsigned long flags;
	int error;

	spin_lock_irqsave(&j->lock, flags);
	error = j->killed;
	while ((c = list_first_entry_or_null(&j->commits, struct kvc_commit,
					     node))) {
		if (!error && c->position >= j->durable)
			break;
		list_move_tail(&c->node, &due);
	}
	spin_unlock_irqrestore(&j->lock, flags);

	while ((c = list_first_entry_or_null(&due, struct kvc_commit, node))) {
		list_del_init(&c->node);
		c->done(c, c->position < READ_ONCE(j->durable) ? 0 : error);
	}
}

static void kvc_batch_done(struct kvc_batch *b)
{
	struct kvc_journal *j = b->journal;
	const int error = b->error;	/* another may send it next */
	unsigned long flags;

	/* The journal is freed an RCU grace period after nothing is in flight. */
	rcu_read_lock();
	spin_lock_irqsave(&j->lock, flags);
	j->inflight = false;
	if (error) {
		j->retry_at = jiffies + msecs_to_jiffies(KVC_RETRY_MS);
		if (b->unsure) {
			j->doubt_end = b->position + b->blocks;
			j->doubt_until = jiffies + msecs_to_jiffies(j->g->q_ms);
		}
	} else {
		j->durable = b->position + b->blocks;
		j->blocks_written += b->blocks;
		j->commits_written++;
		list_del_init(&b->node);
		if (b->dynamic) {
			/* vfree() is not for every context that this runs in. */
			list_add(&b->node, &j->spent);
		} else if (j->filling) {
			j->idle = b;
		} else {
			kvc_batch_open(b, j->next);
			j->filling = b;
			b->blocks = 0;
		}
	}
	spin_unlock_irqrestore(&j->lock, flags);

	if (!error)
		kvc_journal_settle(j);
	else if (READ_ONCE(j->set->abandoned))
		kvc_journal_kill(j, -ESTALE);	/* it can't go through any more */
	wake_up_all(&j->wait);
	rcu_read_unlock();
}

static void kvc_batch_part_done(struct kvc_meta_io *io)
{
	struct kvc_batch *b = io->private;

	if (io->error)
		WRITE_ONCE(b->error, io->error);
	if (io->unsure)
		WRITE_ONCE(b->unsure, true);
	if (atomic_dec_and_test(&b->left))
		kvc_batch_done(b);
}

/* Blocks from @at on that can be written in one go: up to the ring's end. */
static u32 kvc_batch_run(const struct kvc_batch *b, u32 at)
{
	u32 ring = b->journal->g->ring_blocks;
	u32 to_end = ring - (u32)((b->position + at) % ring);

	return min3(b->blocks - at, (u32)KVC_META_MAX_BLOCKS, to_end);
}

static u32 kvc_batch_parts(const struct kvc_batch *b)
{
	u32 at, parts = 0;

	for (at = 0; at < b->blocks; at += kvc_batch_run(b, at))
		parts++;
	return parts;
}

static void kvc_batch_finish(struct kvc_batch *b)
{
	struct kvc_journal *j = b->journal;
	u32 i;

	for (i = 0; i < b->blocks; i++) {
		u64 position = b->position + i;
		struct kvc_place p = kvc_place_journal(j->g, j->ag, j->epoch,
						       position);

		kvc_block_finish(kvc_batch_block(b, i), KVC_BLOCK_JOURNAL,
				 j->g->uuid, p, position, &j->writer);
	}
}

static void kvc_batch_submit(struct kvc_batch *b)
{
	struct kvc_journal *j = b->journal;
	u32 at = 0, i, parts = kvc_batch_parts(b);

	kvc_batch_finish(b);
	b->error = 0;
	b->unsure = false;
	atomic_set(&b->left, parts);
	/* The last part's completion may free the batch: count in a local. */
	for (i = 0; i < parts; i++) {
		struct kvc_meta_io *io = &b->io[i];

		io->m = j->home;
		io->op = REQ_OP_WRITE;
		io->block = kvc_place_journal(j->g, j->ag, j->epoch,
					      b->position + at).block;
		io->nr = kvc_batch_run(b, at);
		io->buf = kvc_batch_block(b, at);
		io->done = kvc_batch_part_done;
		io->private = b;
		io->error = 0;
		at += io->nr;
		kvc_meta_submit(io);
	}
}

void kvc_journal_push(struct kvc_journal *j)
{
	struct kvc_batch *b = NULL;
	unsigned long flags;
	LIST_HEAD(spent);

	spin_lock_irqsave(&j->lock, flags);
	list_splice_init(&j->spent, &spent);
	if (j->inflight || j->killed)
		goto out;
	if (list_empty(&j->queue))
		kvc_journal_close(j);
	b = list_first_entry_or_null(&j->queue, struct kvc_batch, node);
	if (b && b->error && time_before(jiffies, j->retry_at))
		b = NULL;
	if (b)
		j->inflight = true;
out:
	spin_unlock_irqrestore(&j->lock, flags);
	if (b)
		kvc_batch_submit(b);
	kvc_batches_free(&spent);
}

static bool kvc_journal_reached(struct kvc_journal *j, u64 position)
{
	return READ_ONCE(j->durable) >= position || READ_ONCE(j->killed);
}

int kvc_journal_wait(struct kvc_journal *j, u64 position,
		     unsigned long deadline)
{
	while (!kvc_journal_reached(j, position)) {
		long left;

		/* Also for who has no time left: its record is not to lie about. */
		kvc_journal_push(j);
		left = deadline - jiffies;
		if (left <= 0)
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		/*
		 * Woken by every completion, to send the next batch; a failed
		 * write is sent again after a moment, with nobody to wake us.
		 */
		wait_event_killable_timeout(j->wait,
				kvc_journal_reached(j, position) ||
					!READ_ONCE(j->inflight),
				min_t(long, left, msecs_to_jiffies(KVC_RETRY_MS)));
		if (!kvc_journal_reached(j, position) &&
		    !READ_ONCE(j->inflight) &&
		    time_before(jiffies, READ_ONCE(j->retry_at)))
			schedule_timeout_uninterruptible(1);
	}
	return READ_ONCE(j->durable) >= position ? 0 : READ_ONCE(j->killed);
}

int kvc_journal_make_room(struct kvc_journal *j, unsigned long deadline)
{
	unsigned long flags;
	bool pending;
	u64 durable;

	spin_lock_irqsave(&j->lock, flags);
	durable = j->durable;
	pending = durable < j->next;
	spin_unlock_irqrestore(&j->lock, flags);
	/* With nothing on its way, it is the ring that has no room. */
	return pending ? kvc_journal_wait(j, durable + 1, deadline) : -ENOSPC;
}

/* Give every part of the checkpoint its place. Lock held. */
static void kvc_checkpoint_fix(struct kvc_batch *b)
{
	struct kvc_journal_block *block;
	struct kvc_rec_checkpoint *rec;
	u32 i;

	for (i = 0; i < b->blocks; i++) {
		block = kvc_batch_block(b, i);
		rec = (struct kvc_rec_checkpoint *)block->data;
		rec->start = cpu_to_le64(b->position);
	}
}

int kvc_journal_checkpoint(struct kvc_journal *j, void *buf, u32 blocks,
			   u64 *start)
{
	struct kvc_batch *b;
	unsigned long flags;
	u32 parts;
	int err = 0;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b) {
		kvfree(buf);
		return -ENOMEM;
	}
	b->journal = j;
	b->buf = buf;
	b->dynamic = true;
	b->blocks = blocks;
	b->room = blocks;
	b->io = b->inline_io;
	INIT_LIST_HEAD(&b->node);
	/* One more part than full ones: the cut at the end of the ring. */
	parts = DIV_ROUND_UP(blocks, KVC_META_MAX_BLOCKS) + 1;
	if (parts > ARRAY_SIZE(b->inline_io)) {
		b->io = kvcalloc(parts, sizeof(*b->io), GFP_KERNEL);
		if (!b->io) {
			b->io = b->inline_io;
			kvc_batch_free_dynamic(b);
			return -ENOMEM;
		}
	}

	spin_lock_irqsave(&j->lock, flags);
	if (j->killed)
		err = j->killed;
	else if (j->next - j->head + blocks >= j->g->ring_blocks ||
		 kvc_journal_doubtful(j, blocks))
		err = -ENOSPC;
	if (!err) {
		kvc_journal_close(j);
		b->position = j->next;
		j->next += blocks;
		if (j->filling)
			kvc_batch_open(j->filling, j->next);
		kvc_checkpoint_fix(b);
		list_add_tail(&b->node, &j->queue);
		*start = b->position;
	}
	spin_unlock_irqrestore(&j->lock, flags);
	if (err)
		kvc_batch_free_dynamic(b);
	return err;
}

void kvc_journal_trim(struct kvc_journal *j, u64 position)
{
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	j->head = position;
	spin_unlock_irqrestore(&j->lock, flags);
	wake_up_all(&j->wait);
}

void kvc_journal_kill(struct kvc_journal *j, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&j->lock, flags);
	if (!j->killed)
		WRITE_ONCE(j->killed, error);
	spin_unlock_irqrestore(&j->lock, flags);
	kvc_journal_settle(j);
	wake_up_all(&j->wait);
}
