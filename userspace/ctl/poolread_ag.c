// SPDX-License-Identifier: MIT
/*
 * One AG of a pool that is read offline: which epoch counts, where its journal
 * ends, and three views of it. See poolread.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include "poolread.h"

/*
 * Blocks that an owner writes at once at most, but for checkpoints. Behind a
 * hole, blocks of the same write may stand; what stands further away was
 * written after the hole had been durable.
 */

/* --- replay --- */

static struct pr_where journal_where(const struct pr_pool *p, u32 ag,
				     u64 epoch, u64 position)
{
	struct pr_where w = pr_at(p, kvc_place_journal(&p->g, ag, epoch,
						       position));

	w.ag = ag;
	w.epoch = epoch;
	w.position = position;
	return w;
}

/* Is the block at @position a part of a checkpoint? */
static bool is_checkpoint(struct pr_ring *ring, u64 epoch, u64 position,
			  struct kvc_checkpoint_rec *c)
{
	struct kvc_journal_info info;
	struct kvc_records records;
	struct kvc_record rec;

	if (pr_ring_look(ring, epoch, position, &info, &records) !=
	    PR_STANDS || kvc_records_next(&records, &rec) != 1 ||
	    rec.type != KVC_REC_CHECKPOINT)
		return false;
	*c = rec.checkpoint;
	return true;
}

static bool stands(struct pr_ring *ring, u64 epoch, u64 position)
{
	struct kvc_journal_info info;
	struct kvc_records records;

	return pr_ring_look(ring, epoch, position, &info, &records) ==
	       PR_STANDS;
}

static void compare_with(struct pr_view *v, struct pr_ring *ring, u64 position,
			 const struct pr_view *known)
{
	struct pr_where w = journal_where(v->pool, v->ag, v->epoch, position);
	struct pr_view said;

	if (pr_view_init(&said, v->pool, v->ag, v->epoch)) {
		v->no_memory = true;
		return;
	}
	said.owner = v->owner;
	said.quiet = true;
	pr_view_checkpoint(&said, ring, position, NULL);
	pr_compare(v, &said, known, false, &w);
	pr_view_free(&said);
}

/*
 * A checkpoint that is not whole: how many blocks of it there are. If the
 * journal goes on behind them, that is a mistake.
 */
static u32 skip_fragment(struct pr_view *v, struct pr_ring *ring, u64 position,
			 const struct kvc_checkpoint_rec *first)
{
	struct pr_where w = journal_where(v->pool, v->ag, v->epoch, position);
	struct kvc_checkpoint_rec c;
	u32 parts = 0;

	while (is_checkpoint(ring, v->epoch, position + parts, &c) &&
	       c.start == first->start && c.part == first->part + parts)
		parts++;
	parts = max(parts, 1U);
	if (v->quiet)
		return parts;
	if (first->part || first->start != position ||
	    stands(ring, v->epoch, position + parts))
		pr_found(v->pool, PR_CHECKPOINT_BROKEN, PR_ERROR, &w,
			 "parts %u to %u of %u of a checkpoint stand alone",
			 first->part, first->part + parts - 1, first->parts);
	else
		pr_found(v->pool, PR_CHECKPOINT_TORN, PR_INFO, &w,
			 "the journal ends behind %u of %u parts of a checkpoint",
			 parts, first->parts);
	return parts;
}

u64 pr_view_replay(struct pr_view *v, struct pr_ring *ring,
		   struct pr_replay *r)
{
	struct kvc_checkpoint_rec c;
	u64 position = r->from;
	bool quiet = v->quiet;
	u32 parts;

	while (position < r->until && stands(ring, v->epoch, position)) {
		v->quiet = quiet || position >= r->quiet_from;
		if (!is_checkpoint(ring, v->epoch, position, &c)) {
			pr_view_apply(v, ring, position++);
			continue;
		}
		parts = pr_ring_checkpoint(ring, v->epoch, position);
		if (!parts) {
			position += skip_fragment(v, ring, position, &c);
			continue;
		}
		r->checkpoints++;
		if (r->compare)
			compare_with(v, ring, position, r->known);
		position += parts;
	}
	v->quiet = quiet;
	return position;
}

/* --- the end of a journal --- */

/**
 * struct beyond - blocks of an epoch that stand behind its journal's end
 * @nr: how many
 * @far: of these, not of the write that the end cut through
 * @first_far: the first of them
 * @newer: blocks of a newer epoch
 */
struct beyond {
	u32 nr;
	u32 far;
	u64 first_far;
	u32 newer;
};

static void scan_beyond(struct pr_ring *ring, u64 epoch, u64 end,
			struct beyond *b)
{
	u32 ring_blocks = ring->pool->g.ring_blocks, index;
	struct kvc_checkpoint_rec c;
	struct kvc_journal_info info;
	struct kvc_records records;

	memset(b, 0, sizeof(*b));
	b->first_far = PR_NONE64;
	for (index = 0; index < ring_blocks; index++) {
		/* What has this index and comes next at or behind the end. */
		u64 position = end + (index + ring_blocks -
				      end % ring_blocks) % ring_blocks;
		enum pr_standing s;

		if (!pr_ring_may_be_new(ring, index, epoch, end))
			continue;
		s = pr_ring_look(ring, epoch, position, &info, &records);
		if (s == PR_STANDS_NEWER)
			b->newer++;
		if (s != PR_STANDS && s != PR_STANDS_LATER)
			continue;
		b->nr++;
		if (info.position - end < KVC_BATCH_BLOCKS ||
		    (is_checkpoint(ring, epoch, info.position, &c) &&
		     c.start <= end))
			continue;
		b->far++;
		b->first_far = min(b->first_far, info.position);
	}
}

static void judge_end(struct pr_ag *a, struct pr_ring *ring)
{
	struct pr_pool *p = a->pool;
	const struct pr_claim *claim = &p->claims[a->ag];
	const struct pr_area *area = &a->areas[a->epoch % KVC_NR_AREAS];
	const struct kvc_area_info *header = &area->info[area->best];
	struct pr_where w = journal_where(p, a->ag, a->epoch, a->end);
	struct kvc_journal_info info;
	struct kvc_records records;
	enum pr_standing standing;
	struct beyond b;
	bool clean;

	standing = pr_ring_look(ring, a->epoch, a->end, &info, &records);
	scan_beyond(ring, a->epoch, a->end, &b);
	/*
	 * Whoever left in good order waited for its last write. A slot that was
	 * left by a crash is set down by the next host.
	 */
	clean = claim->epoch == a->epoch && claim->state == KVC_SLOT_DOWN &&
		claim->writer.slot == claim->slot &&
		claim->incarnation == header->owner_incarnation;
	if (standing == PR_STANDS_WRONG)
		pr_found(p, PR_JOURNAL_MISPLACED, PR_ERROR, &w,
			 "position %llu has a sound block that does not belong there",
			 a->end);
	else if (standing == PR_STANDS_LATER)
		pr_found(p, PR_JOURNAL_OVERRUN, PR_ERROR, &w,
			 "position %llu has been written over with position %llu",
			 a->end, info.position);
	if (b.newer)
		pr_found(p, PR_JOURNAL_NEWER, PR_ERROR, &w,
			 "the ring has %u block%s of a newer epoch", b.newer,
			 b.newer == 1 ? "" : "s");
	if (standing == PR_STANDS_LATER || standing == PR_STANDS_UNREADABLE)
		return;
	if (b.far)
		pr_found(p, PR_JOURNAL_HOLE, PR_ERROR, &w,
			 "position %llu is missing, and %u later block%s there, position %llu among them",
			 a->end, b.nr, b.nr == 1 ? " is" : "s are",
			 b.first_far);
	else if (b.nr && clean)
		pr_found(p, PR_JOURNAL_HOLE, PR_WARNING, &w,
			 "position %llu is missing, and %u later block%s there, though the host left in good order",
			 a->end, b.nr, b.nr == 1 ? " is" : "s are");
	else if (b.nr || standing == PR_STANDS_TORN)
		pr_found(p, PR_JOURNAL_TORN, PR_INFO, &w,
			 "the journal ends at position %llu%s; %u later block%s of the same write",
			 a->end, standing == PR_STANDS_TORN ?
			 " with a torn block" : "", b.nr,
			 b.nr == 1 ? "" : "s");
}

/* What slots say of this AG's journal. */
static void judge_followers(struct pr_ag *a, u64 newest)
{
	struct pr_pool *p = a->pool;
	u32 part = a->ag / KVC_AGS_PER_SLOT_BLOCK;
	u32 entry = a->ag % KVC_AGS_PER_SLOT_BLOCK;
	u32 slot;

	for (slot = 0; slot < p->g.nr_slots; slot++) {
		const struct pr_slot *s = &p->slots[slot * p->g.slot_blocks +
						    part];
		const struct kvc_slot_ag_info *f = &s->s.ags[entry];
		struct pr_where w = pr_nowhere();

		if (!s->written || entry >= s->s.nr_ags)
			continue;
		w.slot = slot;
		w.ag = a->ag;
		w.epoch = f->followed_epoch;
		if (f->followed_epoch > newest)
			pr_found(p, PR_EPOCH_FOLLOWED, PR_ERROR, &w,
				 "the slot follows epoch %llu, and the newest is %llu",
				 f->followed_epoch, newest);
		else if (a->epoch && f->followed_epoch == a->epoch &&
			 f->drained > a->end)
			pr_found(p, PR_DRAINED_BEYOND, PR_ERROR, &w,
				 "the slot has drained position %llu, and the journal ends at %llu",
				 f->drained, a->end);
	}
}

/* --- which epoch counts --- */

/**
 * struct rings - the rings of an AG's areas
 * @ring: by area
 * @open: which of them are open
 */
struct rings {
	struct pr_ring ring[KVC_NR_AREAS];
	bool open[KVC_NR_AREAS];
};

static const struct kvc_area_info *best_header(const struct pr_area *area)
{
	return area->best == PR_NONE ? NULL : &area->info[area->best];
}

/* Read all headers, and find out which of their checkpoints are whole. */
static int read_areas(struct pr_ag *a, struct rings *r)
{
	const struct kvc_area_info *h;
	u32 i;
	int err;

	for (i = 0; i < KVC_NR_AREAS; i++) {
		err = pr_area_read(&a->areas[i], a->pool, a->ag, i, false);
		if (err == -ENOMEM)
			return err;
		h = best_header(&a->areas[i]);
		if (!h)
			continue;
		err = pr_ring_open(&r->ring[i], a->pool, a->ag, i);
		if (err)
			return err;
		r->open[i] = true;
		a->areas[i].parts = pr_ring_checkpoint(&r->ring[i], h->epoch,
						       h->checkpoint);
	}
	return 0;
}

/* The highest epoch below @below whose checkpoint is whole; 0: none. */
static u64 highest_whole(const struct pr_ag *a, u64 below)
{
	const struct kvc_area_info *h;
	u64 epoch = 0;
	u32 i;

	for (i = 0; i < KVC_NR_AREAS; i++) {
		h = best_header(&a->areas[i]);
		if (h && a->areas[i].parts && h->epoch < below)
			epoch = max(epoch, h->epoch);
	}
	return epoch;
}

/* Highest epoch that anything speaks of. */
static u64 newest_epoch(const struct pr_ag *a)
{
	u64 epoch = a->pool->claims[a->ag].epoch;
	const struct kvc_area_info *h;
	u32 i;

	for (i = 0; i < KVC_NR_AREAS; i++) {
		h = best_header(&a->areas[i]);
		if (h)
			epoch = max(epoch, h->epoch);
	}
	return epoch;
}

static void judge_owner(struct pr_ag *a, const struct kvc_area_info *h)
{
	const struct pr_claim *claim = &a->pool->claims[a->ag];
	struct pr_where w;

	if (claim->epoch != h->epoch ||
	    (claim->slot == h->owner_slot &&
	     claim->incarnation >= h->owner_incarnation))
		return;
	w = pr_at(a->pool, kvc_place_area(&a->pool->g, a->ag,
					  h->epoch % KVC_NR_AREAS));
	w.ag = a->ag;
	w.epoch = h->epoch;
	pr_found(a->pool, PR_EPOCH_OWNER, PR_ERROR, &w,
		 "epoch %llu is shown by slot %u, incarnation %llu, and its header says slot %u, incarnation %llu",
		 h->epoch, claim->slot, claim->incarnation, h->owner_slot,
		 h->owner_incarnation);
}

/* Areas whose checkpoint is not whole, though something relies on it. */
static void judge_broken(struct pr_ag *a, u64 current)
{
	const struct pr_claim *claim = &a->pool->claims[a->ag];
	const struct kvc_area_info *h;
	struct pr_where w;
	u32 i;

	for (i = 0; i < KVC_NR_AREAS; i++) {
		h = best_header(&a->areas[i]);
		if (!h || a->areas[i].parts || h->epoch < current)
			continue;
		w = journal_where(a->pool, a->ag, h->epoch, h->checkpoint);
		/* Only the first checkpoint is written behind its header. */
		if (h->epoch > claim->epoch && !h->checkpoint)
			pr_found(a->pool, PR_TAKEOVER_UNFINISHED, PR_INFO, &w,
				 "epoch %llu has a header and no whole checkpoint",
				 h->epoch);
		else
			pr_found(a->pool, PR_CHECKPOINT_LOST, PR_ERROR, &w,
				 "the checkpoint of epoch %llu at position %llu is not whole",
				 h->epoch, h->checkpoint);
	}
}

/* Returns the epoch that the next attach goes on from, 0: none. */
static u64 choose_epoch(struct pr_ag *a)
{
	const struct pr_claim *claim = &a->pool->claims[a->ag];
	u64 current = highest_whole(a, PR_NONE64);
	struct pr_where w = pr_nowhere();
	const struct kvc_area_info *h;

	judge_broken(a, current);
	w.ag = a->ag;
	w.slot = claim->slot;
	if (claim->epoch > current) {
		w.epoch = claim->epoch;
		pr_found(a->pool, PR_EPOCH_LOST, PR_ERROR, &w,
			 "slot %u shows epoch %llu, and the newest that can be read is %llu",
			 claim->slot, claim->epoch, current);
		return 0;
	}
	if (!current)
		return 0;
	w.epoch = current;
	if (current > claim->epoch && a->pool->slots_complete)
		pr_found(a->pool, PR_TAKEOVER_UNSHOWN, PR_INFO, &w,
			 "epoch %llu is complete, and slots show %llu",
			 current, claim->epoch);
	h = best_header(&a->areas[current % KVC_NR_AREAS]);
	judge_owner(a, h);
	return current;
}

/* --- the three views --- */

/* A view that begins at a checkpoint and has not been replayed. */
static int start_view(struct pr_view *v, struct pr_ag *a, struct pr_ring *ring,
		      u64 epoch, u64 checkpoint, const struct pr_view *final,
		      bool quiet)
{
	const struct kvc_area_info *h =
		best_header(&a->areas[epoch % KVC_NR_AREAS]);
	int err = pr_view_init(v, a->pool, a->ag, epoch);

	if (err)
		return err;
	v->owner.slot = h->owner_slot;
	v->owner.incarnation = h->owner_incarnation;
	v->quiet = quiet;
	pr_view_checkpoint(v, ring, checkpoint, final);
	return 0;
}

/* Read summaries of segments that were sealed behind the checkpoint. */
static void compare_summaries(struct pr_view *v)
{
	u32 i;

	for (i = 0; i < v->nr_segments; i++) {
		struct pr_segment *s = &v->segments[i];

		if (s->rec.state == KVC_SEG_SEALED && s->sealed_here)
			pr_summary_load(v, s, true);
	}
}

/*
 * The loader's view. Two passes: the first finds out which segments are still
 * sealed at the end, since only their summaries can be read.
 */
static int load_view(struct pr_ag *a, struct pr_ring *ring, u32 *checkpoints)
{
	struct pr_replay r = {
		.from = a->checkpoint + a->areas[a->epoch % KVC_NR_AREAS].parts,
		.until = PR_NONE64, .quiet_from = PR_NONE64,
	};
	struct pr_view first;
	int err;

	err = start_view(&first, a, ring, a->epoch, a->checkpoint, NULL, true);
	if (err)
		return err;
	a->end = pr_view_replay(&first, ring, &r);
	err = start_view(&a->view, a, ring, a->epoch, a->checkpoint,
			 a->pool->journal_only ? NULL : &first, false);
	if (err)
		goto out;
	a->has_view = true;
	r.checkpoints = 0;
	pr_view_replay(&a->view, ring, &r);
	*checkpoints = r.checkpoints;
	if (!a->pool->journal_only)
		compare_summaries(&a->view);
	pr_view_finish(&a->view);
	if (first.no_memory || a->view.no_memory)
		err = -ENOMEM;
out:
	pr_view_free(&first);
	return err;
}

/* The oldest whole checkpoint from which all blocks up to now still stand. */
static u64 oldest_checkpoint(struct pr_ag *a, struct pr_ring *ring)
{
	u64 position = a->checkpoint;

	while (position && stands(ring, a->epoch, position - 1))
		position--;
	while (position < a->checkpoint &&
	       !pr_ring_checkpoint(ring, a->epoch, position))
		position++;
	return position;
}

/* Replay from there; every checkpoint on the way must agree. */
static int check_history(struct pr_ag *a, struct pr_ring *ring,
			 u32 checkpoints)
{
	u64 oldest = oldest_checkpoint(a, ring);
	struct pr_replay r = {
		.from = oldest + pr_ring_checkpoint(ring, a->epoch, oldest),
		.until = PR_NONE64, .quiet_from = a->checkpoint,
		.compare = true, .known = &a->view,
	};
	struct pr_view v;
	int err;

	if (oldest == a->checkpoint && !checkpoints)
		return 0;
	err = start_view(&v, a, ring, a->epoch, oldest, NULL,
			 oldest == a->checkpoint);
	if (err)
		return err;
	v.quiet = false;
	pr_view_replay(&v, ring, &r);
	err = v.no_memory ? -ENOMEM : 0;
	pr_view_free(&v);
	return err;
}

/* Did the epoch start with nothing, as protocol rule 30 has it? */
static bool started_empty(const struct pr_view *v)
{
	u32 i;

	for (i = 0; i < v->nr_segments; i++) {
		if (v->segments[i].rec.state != KVC_SEG_RETIRED ||
		    v->segments[i].rec.generation != v->epoch << 32)
			return false;
	}
	return true;
}

/* The highest epoch below @below that a slot shows: what it had to go on from. */
static u64 shown_below(const struct pr_ag *a, u64 below)
{
	const struct pr_pool *p = a->pool;
	u32 part = a->ag / KVC_AGS_PER_SLOT_BLOCK;
	u32 entry = a->ag % KVC_AGS_PER_SLOT_BLOCK;
	u64 shown = 0, epoch;
	u32 slot;

	for (slot = 0; slot < p->g.nr_slots; slot++) {
		epoch = p->slots[slot * p->g.slot_blocks + part].s
			.ags[entry].owned_epoch;
		if (epoch < below)
			shown = max(shown, epoch);
	}
	return shown;
}

/* The end of the epoch before must be the beginning of this one. */
static int check_takeover(struct pr_ag *a, struct rings *rings)
{
	u64 before = highest_whole(a, a->epoch);
	struct pr_ring *ring = &rings->ring[a->epoch % KVC_NR_AREAS];
	struct pr_ring *base_ring = &rings->ring[before % KVC_NR_AREAS];
	const struct pr_area *base = &a->areas[before % KVC_NR_AREAS];
	struct pr_where w = journal_where(a->pool, a->ag, a->epoch, 0);
	struct pr_replay r = {
		.until = PR_NONE64, .quiet_from = PR_NONE64,
	};
	struct pr_view old, now;
	int err;

	if (!before || !pr_ring_checkpoint(ring, a->epoch, 0))
		return 0;
	err = start_view(&now, a, ring, a->epoch, 0, NULL, true);
	if (err)
		return err;
	err = start_view(&old, a, base_ring, before, best_header(base)->checkpoint,
			 NULL, true);
	if (err)
		goto out_now;
	if (started_empty(&now)) {
		/* A base older than what was shown is refused (rule 20). */
		if (shown_below(a, a->epoch) <= before)
			pr_found(a->pool, PR_EPOCH_OBJECT_LOST, PR_WARNING, &w,
				 "epoch %llu was started empty, though epoch %llu can be read",
				 a->epoch, before);
		goto out_old;
	}
	r.from = best_header(base)->checkpoint + base->parts;
	pr_view_replay(&old, base_ring, &r);
	pr_compare(&old, &now, &a->view, true, &w);
	if (old.no_memory || now.no_memory)
		err = -ENOMEM;
out_old:
	pr_view_free(&old);
out_now:
	pr_view_free(&now);
	return err;
}

static int load_epoch(struct pr_ag *a, struct rings *rings)
{
	struct pr_ring *ring = &rings->ring[a->epoch % KVC_NR_AREAS];
	u32 checkpoints = 0;
	int err;

	a->checkpoint = best_header(&a->areas[a->epoch % KVC_NR_AREAS])->checkpoint;
	err = load_view(a, ring, &checkpoints);
	if (err)
		return err;
	judge_end(a, ring);
	err = check_history(a, ring, checkpoints);
	if (err)
		return err;
	return check_takeover(a, rings);
}

int pr_ag_load(struct pr_ag *a, struct pr_pool *p, u32 ag)
{
	struct rings rings = {};
	u32 i;
	int err = 0;

	memset(a, 0, sizeof(*a));
	a->pool = p;
	a->ag = ag;
	for (i = 0; i < KVC_NR_AREAS; i++)
		a->areas[i].best = PR_NONE;
	/* Its member is absent: that was said once. */
	if (p->members[kvc_ag_home(&p->g, ag)] == PR_NONE)
		return 0;
	err = read_areas(a, &rings);
	if (!err)
		a->epoch = choose_epoch(a);
	if (!err && a->epoch)
		err = load_epoch(a, &rings);
	if (!err)
		judge_followers(a, newest_epoch(a));
	for (i = 0; i < KVC_NR_AREAS; i++) {
		if (rings.open[i])
			pr_ring_close(&rings.ring[i]);
	}
	return err;
}

void pr_ag_free(struct pr_ag *a)
{
	if (a->has_view)
		pr_view_free(&a->view);
	a->has_view = false;
}
