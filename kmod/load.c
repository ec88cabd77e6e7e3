// SPDX-License-Identifier: GPL-2.0
/*
 * Loading an AG from media.
 *
 * Protocol rule 6: header, checkpoint, summaries of the segments that it calls
 * sealed, records in order to the first block that is not (this AG, this epoch,
 * this position, CRC right). All of it is hostile: a record that can't be is
 * skipped and counted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>
#include "load.h"
#include "pin.h"
#include "pool.h"

#define KVC_LOAD_BLOCKS	64

/*
 * Read blocks of the home member. A block that can't be read from a member that
 * lives is as good as one that was never written: it costs what it held, not the
 * attach.
 */
static int kvc_load_read(struct kvc_loader *l, u64 block, u32 nr, u8 *buf)
{
	u32 i;
	int err;

	err = kvc_meta_read(l->home, block, nr, buf);
	if (err != -EIO)
		return err;
	for (i = 0; i < nr; i++) {
		u8 *at = buf + ((size_t)i << KVC_BLOCK_SHIFT);

		err = kvc_meta_read(l->home, block + i, 1, at);
		if (!err)
			continue;
		if (err != -EIO ||
		    kvc_member_health(l->home) != KVC_HEALTH_LIVE)
			return err;
		pr_warn_ratelimited("ag %u: block %llu of its home member can't be read\n",
				    l->ag->number, block + i);
		memset(at, 0, KVC_BLOCK_SIZE);
	}
	return 0;
}

void kvc_loader_init(struct kvc_loader *l, struct kvc_ag *ag)
{
	memset(l, 0, sizeof(*l));
	l->ag = ag;
	l->g = ag->join->g;
	l->home = &ag->join->set->m[kvc_ag_home(l->g, ag->number)];
}

void kvc_loader_free(struct kvc_loader *l)
{
	kvfree(l->checkpoint);
	l->checkpoint = NULL;
}

void kvc_load_headers(struct kvc_loader *l, u32 area, const u8 *buf,
		      struct kvc_area *a)
{
	struct kvc_place p = kvc_place_area(l->g, l->ag->number, area);
	u32 i;

	memset(a, 0, sizeof(*a));
	for (i = 0; i < KVC_AREA_HEADERS; i++) {
		struct kvc_place hp = { p.member, p.block + i };
		const u8 *block = buf + ((size_t)i << KVC_BLOCK_SHIFT);
		struct kvc_area_info info;

		enum kvc_block_verdict v = kvc_block_verify(block,
					KVC_BLOCK_AREA, l->g->uuid, &hp);

		if (v == KVC_BLOCK_NEVER)
			continue;
		if (v != KVC_BLOCK_OK || kvc_area_decode(block, l->g, &info) ||
		    info.ag != l->ag->number ||
		    info.epoch % KVC_NR_AREAS != area) {
			a->torn = true;
			continue;
		}
		a->sequence = max(a->sequence, info.sequence);
		if (!a->valid || info.epoch > a->info.epoch ||
		    (info.epoch == a->info.epoch &&
		     info.sequence > a->info.sequence))
			a->info = info;
		a->valid = true;
	}
}

static int kvc_load_area(struct kvc_loader *l, u32 area, struct kvc_area *a)
{
	struct kvc_place p = kvc_place_area(l->g, l->ag->number, area);
	u8 *buf = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	int err;

	if (!buf)
		return -ENOMEM;
	err = kvc_load_read(l, p.block, KVC_AREA_HEADERS, buf);
	if (!err)
		kvc_load_headers(l, area, buf, a);
	free_pages((unsigned long)buf, 1);
	return err;
}

int kvc_load_areas(struct kvc_loader *l)
{
	u32 area;
	int err = 0;

	for (area = 0; area < KVC_NR_AREAS && !err; area++)
		err = kvc_load_area(l, area, &l->areas[area]);
	return err;
}

u64 kvc_load_highest(const struct kvc_loader *l)
{
	u64 epoch = 0;
	u32 i;

	for (i = 0; i < KVC_NR_AREAS; i++)
		if (l->areas[i].valid)
			epoch = max(epoch, l->areas[i].info.epoch);
	return epoch;
}

/* Read @nr blocks of an epoch's ring from a full position on. */
static int kvc_load_ring(struct kvc_loader *l, u64 epoch, u64 position, u32 nr,
			 u8 *buf)
{
	u32 ring = l->g->ring_blocks;

	while (nr) {
		struct kvc_place p = kvc_place_journal(l->g, l->ag->number,
						       epoch, position);
		u32 run = min(nr, ring - (u32)(position % ring));
		int err = kvc_load_read(l, p.block, run, buf);

		if (err)
			return err;
		position += run;
		nr -= run;
		buf += (size_t)run << KVC_BLOCK_SHIFT;
	}
	return 0;
}

bool kvc_load_block(struct kvc_loader *l, u64 epoch, u64 position,
		    const void *block, struct kvc_records *it)
{
	struct kvc_place p = kvc_place_journal(l->g, l->ag->number, epoch,
					       position);
	struct kvc_journal_info j;

	return kvc_block_verify(block, KVC_BLOCK_JOURNAL, l->g->uuid, &p) ==
		       KVC_BLOCK_OK &&
	       !kvc_journal_open(block, l->g, &j, it) &&
	       j.ag == l->ag->number && j.epoch == epoch &&
	       j.position == position;
}

bool kvc_load_hole(struct kvc_loader *l, u64 epoch, u64 position,
		   const void *block)
{
	struct kvc_place p = kvc_place_journal(l->g, l->ag->number, epoch,
					       position);
	enum kvc_block_verdict v = kvc_block_verify(block, KVC_BLOCK_JOURNAL,
						    l->g->uuid, &p);
	struct kvc_journal_info j;
	struct kvc_records it;

	if (v == KVC_BLOCK_NEVER)
		return true;
	if (v != KVC_BLOCK_OK || kvc_journal_open(block, l->g, &j, &it) ||
	    j.ag != l->ag->number)
		return false;
	return j.epoch < epoch || (j.epoch == epoch && j.position < position);
}

int kvc_load_judge_header(const struct kvc_area *a, u64 epoch, u64 position)
{
	if (!a->valid || a->torn || a->info.epoch != epoch)
		return -EAGAIN;
	return a->info.head > position ? -ESTALE : 0;
}

/* Is this block part @part of a checkpoint that begins at @start? */
static bool kvc_load_part(struct kvc_loader *l, const struct kvc_area_info *a,
			  u32 part, const void *block, u32 *parts)
{
	struct kvc_records it;
	struct kvc_record rec;

	if (!kvc_load_block(l, a->epoch, a->checkpoint + part, block, &it) ||
	    kvc_records_next(&it, &rec) != 1 ||
	    rec.type != KVC_REC_CHECKPOINT || rec.checkpoint.part != part ||
	    rec.checkpoint.start != a->checkpoint)
		return false;
	if (part && rec.checkpoint.parts != *parts)
		return false;
	*parts = rec.checkpoint.parts;
	return *parts && *parts <= l->g->ring_blocks;
}

/* Read an epoch's checkpoint. Return: 0, -EBADMSG if it is not whole, -EIO. */
static int kvc_load_checkpoint(struct kvc_loader *l,
			       const struct kvc_area_info *a)
{
	u8 *first, *buf;
	u32 i, parts = 0;
	int err;

	first = (u8 *)__get_free_page(GFP_KERNEL);
	if (!first)
		return -ENOMEM;
	err = kvc_load_ring(l, a->epoch, a->checkpoint, 1, first);
	if (!err && !kvc_load_part(l, a, 0, first, &parts))
		err = -EBADMSG;
	free_page((unsigned long)first);
	if (err)
		return err;

	buf = kvmalloc((size_t)parts << KVC_BLOCK_SHIFT, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	err = kvc_load_ring(l, a->epoch, a->checkpoint, parts, buf);
	for (i = 0; i < parts && !err; i++)
		if (!kvc_load_part(l, a, i,
				   buf + ((size_t)i << KVC_BLOCK_SHIFT), &parts))
			err = -EBADMSG;
	if (err) {
		kvfree(buf);
		return err;
	}
	l->checkpoint = buf;
	l->parts = parts;
	return 0;
}

static int kvc_load_exact(struct kvc_loader *l, u64 epoch)
{
	const struct kvc_area *a = &l->areas[epoch % KVC_NR_AREAS];
	int err;

	if (!a->valid || a->info.epoch != epoch)
		return -EBADMSG;
	err = kvc_load_checkpoint(l, &a->info);
	if (!err)
		l->base = &a->info;
	return err;
}

int kvc_load_base(struct kvc_loader *l, u64 exact)
{
	bool tried[KVC_NR_AREAS] = {};
	int i, best, err;

	if (exact)
		return kvc_load_exact(l, exact);
	for (;;) {
		best = -1;
		for (i = 0; i < KVC_NR_AREAS; i++)
			if (l->areas[i].valid && !tried[i] &&
			    (best < 0 || l->areas[i].info.epoch >
						 l->areas[best].info.epoch))
				best = i;
		if (best < 0)
			return -ENOENT;
		tried[best] = true;
		err = kvc_load_checkpoint(l, &l->areas[best].info);
		if (!err)
			l->base = &l->areas[best].info;
		if (err != -EBADMSG)
			return err;
	}
}

/* --- applying records --- */

static bool kvc_load_mine(struct kvc_loader *l, u32 segment)
{
	return segment - l->ag->first < l->ag->nr;
}

static struct kvc_segment *kvc_load_segment(struct kvc_loader *l, u32 segment)
{
	return &l->set->segments[segment - l->ag->first];
}

static int kvc_load_entry(struct kvc_loader *l, struct kvc_segment *seg,
			  const struct kvc_put *put)
{
	struct kvc_index *x = &l->ag->join->index;
	struct kvc_chunk *spare = NULL;
	struct kvc_entry *e;
	int err;

	if (!seg->chunks || seg->chunks->used == KVC_CHUNK_ENTRIES) {
		spare = (struct kvc_chunk *)get_zeroed_page(GFP_KERNEL);
		if (!spare)
			return -ENOMEM;
	}
	e = kvc_entry_alloc(x, seg, &seg->chunks, &spare);
	kvc_entry_init(e, put->hash, put->offset, put->bytes, put->depth,
		       put->expiry);
	e->data_crc = put->data_crc;
	err = kvc_index_add(x, e);
	if (err)
		return err;
	if (seg->s.state == KVC_SEG_OPEN) {
		err = kvc_log_append(&seg->log, e, put);
		if (err)
			return err;
		atomic64_add(kvc_put_length(put->key_len), &l->ag->log_bytes);
	}
	/* Of others' AGs they are the owner's business. */
	if (!l->follow && put->pin > (u64)ktime_get_real_seconds())
		kvc_pin_set(e, put->pin);	/* if it may */
	atomic_inc(&seg->live);
	atomic_add(kvc_bytes_to_blocks(e->bytes), &seg->live_blocks);
	atomic_or(KVC_ENTRY_LIVE | KVC_ENTRY_COMMITTED, &e->where);
	kvc_presence_add(l->ag->join->pool, e);
	return 0;
}

static void kvc_load_kill(struct kvc_loader *l, struct kvc_hash hash,
			  u32 segment, u64 generation, u32 offset)
{
	struct kvc_join *join = l->ag->join;
	struct kvc_exact exact = { .hash = hash, .offset = offset };
	struct kvc_segment *seg;
	struct kvc_entry *e;

	if (!kvc_load_mine(l, segment)) {
		l->rotten++;
		return;
	}
	seg = kvc_load_segment(l, segment);
	if (seg->s.generation != generation)
		return;		/* that life is over */
	exact.segment = seg;
	rcu_read_lock();
	e = kvc_index_find_exact(&join->index, &exact);
	rcu_read_unlock();
	if (!e)
		return;
	kvc_index_remove(&join->index, e);
	kvc_ag_entry_died(e);
}

static int kvc_load_put(struct kvc_loader *l, const struct kvc_put *put)
{
	struct kvc_segment *seg;
	int err;

	if (!kvc_load_mine(l, put->segment) ||
	    (put->moved && !kvc_load_mine(l, put->old_segment))) {
		l->rotten++;
		return 0;
	}
	seg = kvc_load_segment(l, put->segment);
	if (seg->s.state != KVC_SEG_OPEN ||
	    seg->s.generation != put->generation) {
		l->rotten++;
		return 0;
	}
	/* The new copy first: look-ups find one or the other. */
	err = kvc_load_entry(l, seg, put);
	if (!err && put->moved)
		kvc_load_kill(l, put->hash, put->old_segment,
			      put->old_generation, put->old_offset);
	return err;
}

/* The segment begins another life: nothing may be left of the last. */
static void kvc_load_opened(struct kvc_loader *l, struct kvc_segment *seg)
{
	if (l->live && seg->role == KVC_ROLE_DRAINING) {
		/*
		 * Its owner does not wait for reads of a host that it takes for
		 * dead. Their entries must not be mixed with the new ones.
		 */
		if (kvc_segment_drained(seg))
			kvc_segment_empty(seg);
		else
			l->again = true;
	}
	/* Its summary of an earlier life does not matter any more. */
	seg->role = KVC_ROLE_NONE;
}

static void kvc_load_retired(struct kvc_loader *l, struct kvc_segment *seg)
{
	kvc_segment_forget(seg);
	if (!l->live) {
		kvc_segment_empty(seg);
		return;
	}
	/* protocol rule 16: readers may be at it */
	l->retired++;
	seg->retired_at = l->position + 1;
	seg->cookie = start_poll_synchronize_rcu();
	seg->role = KVC_ROLE_DRAINING;
}

static void kvc_load_transition(struct kvc_loader *l, u32 type,
				const struct kvc_segment_rec *rec)
{
	struct kvc_segment *seg;

	if (!kvc_load_mine(l, rec->segment)) {
		l->rotten++;
		return;
	}
	seg = kvc_load_segment(l, rec->segment);
	if (kvc_seg_apply(&seg->s, type, rec)) {
		l->rotten++;
		return;
	}
	if (type == KVC_REC_OPEN)
		kvc_load_opened(l, seg);
	if (type == KVC_REC_SEAL) {
		kvc_segment_drop_log(seg);
		l->next_order = max(l->next_order, rec->order + 1);
	}
	if (type == KVC_REC_RETIRE)
		kvc_load_retired(l, seg);
}

static int kvc_load_record(struct kvc_loader *l, const struct kvc_record *rec)
{
	switch (rec->type) {
	case KVC_REC_PUT:
		return kvc_load_put(l, &rec->put);
	case KVC_REC_DELETE:
		kvc_load_kill(l, rec->del.hash, rec->del.segment,
			      rec->del.generation, rec->del.offset);
		return 0;
	case KVC_REC_OPEN:
	case KVC_REC_SEAL:
	case KVC_REC_RETIRE:
		kvc_load_transition(l, rec->type, &rec->seg);
		return 0;
	case KVC_REC_ASK:
		if (l->ask)
			l->ask(l->ag, &rec->ask);
		return 0;
	}
	l->rotten++;
	return 0;
}

struct kvc_load_summary {
	struct kvc_loader *l;
	struct kvc_segment *seg;
};

static int kvc_load_summary_put(const struct kvc_put *put, void *arg)
{
	struct kvc_load_summary *s = arg;

	return kvc_load_entry(s->l, s->seg, put);
}

/*
 * A summary that is not sound is no error yet: the journal behind the checkpoint
 * may say that the segment was retired and used again. One whose member does
 * not answer now is: it may be sound.
 */
static int kvc_load_summary_read(struct kvc_loader *l, struct kvc_segment *seg,
				 void **buf)
{
	struct kvc_join *join = l->ag->join;
	int tries, err = 0;

	for (tries = 0; tries < 3; tries++) {
		err = kvc_summary_read(join, &seg->s, buf);
		if (err != -EIO)
			return err;
		if (kvc_segment_suspect(seg))
			return -EAGAIN;
	}
	/* The member lives, or is gone, and so are the blocks. */
	return err;
}

static int kvc_load_summaries(struct kvc_loader *l)
{
	struct kvc_load_summary s = { .l = l };
	void *buf;
	u32 i;
	int err;

	for (i = 0; i < l->ag->nr; i++) {
		s.seg = &l->set->segments[i];
		if (s.seg->s.state != KVC_SEG_SEALED)
			continue;
		err = kvc_load_summary_read(l, s.seg, &buf);
		if (err == -ENOMEM || err == -ESTALE)
			return err;
		if (err == -EAGAIN)
			return -EIO;
		if (err) {
			s.seg->role = KVC_ROLE_FULL;	/* marks it as lost */
			continue;
		}
		err = kvc_summary_for_each(l->ag->join, &s.seg->s, buf,
					   kvc_load_summary_put, &s);
		kvfree(buf);
		if (err)
			return err;
	}
	return 0;
}

void kvc_load_forget_roles(struct kvc_loader *l)
{
	u32 i;

	for (i = 0; i < l->ag->nr; i++)
		l->set->segments[i].role = KVC_ROLE_NONE;
}

/*
 * A sealed segment without its summary is retired: were it left, the next
 * checkpoint would not tell what of it is deleted, and a summary that can be
 * read again one day would bring that back.
 */
void kvc_load_lost(struct kvc_loader *l)
{
	u32 i;

	for (i = 0; i < l->ag->nr; i++) {
		struct kvc_segment *seg = &l->set->segments[i];

		if (seg->role == KVC_ROLE_FULL &&
		    seg->s.state == KVC_SEG_SEALED) {
			seg->s.state = KVC_SEG_RETIRED;
			seg->s.order = 0;
		}
	}
	kvc_load_forget_roles(l);
}

static u32 kvc_load_count_lost(struct kvc_loader *l)
{
	u32 i, n = 0;

	for (i = 0; i < l->ag->nr; i++)
		n += l->set->segments[i].role == KVC_ROLE_FULL &&
		     l->set->segments[i].s.state == KVC_SEG_SEALED;
	return n;
}

/* Go over the checkpoint's records of some types. */
static int kvc_load_pass(struct kvc_loader *l, bool segments)
{
	const struct kvc_area_info *a = l->base;
	struct kvc_records it;
	struct kvc_record rec;
	u32 i;
	int err;

	for (i = 0; i < l->parts; i++) {
		if (!kvc_load_block(l, a->epoch, a->checkpoint + i,
				    l->checkpoint + ((size_t)i << KVC_BLOCK_SHIFT),
				    &it))
			return -EBADMSG;
		while ((err = kvc_records_next(&it, &rec)) == 1) {
			if (rec.type == KVC_REC_CHECKPOINT) {
				l->next_order = max(l->next_order,
						    rec.checkpoint.next_order);
				continue;
			}
			if ((rec.type == KVC_REC_SEGMENT) != segments)
				continue;
			if (segments)
				kvc_load_transition(l, rec.type, &rec.seg);
			else
				err = kvc_load_record(l, &rec);
			if (err < 0)
				return err;
		}
		if (err)
			return -EBADMSG;
	}
	return 0;
}

int kvc_load_apply(struct kvc_loader *l, struct kvc_records *it)
{
	struct kvc_record rec;
	int err;

	while ((err = kvc_records_next(it, &rec)) == 1) {
		/* A later checkpoint: what it says is known. */
		if (rec.type == KVC_REC_CHECKPOINT)
			return 0;
		err = kvc_load_record(l, &rec);
		if (err)
			return err;
	}
	if (err == -EINVAL)
		l->rotten++;
	return 0;
}

static int kvc_load_ended(struct kvc_loader *l, const void *block)
{
	u64 epoch = l->base->epoch;
	struct kvc_area a;
	int err;

	if (kvc_load_hole(l, epoch, l->position, block))
		return 0;
	err = kvc_load_area(l, epoch % KVC_NR_AREAS, &a);
	if (!err)
		err = kvc_load_judge_header(&a, epoch, l->position);
	return err == -ESTALE ? -EAGAIN : err;
}

/* Records behind the checkpoint, to the first hole (protocol rule 10). */
static int kvc_load_records(struct kvc_loader *l, bool moving)
{
	const struct kvc_area_info *a = l->base;
	u64 end = a->head + l->g->ring_blocks;
	struct kvc_records it;
	u8 *buf;
	u32 i, nr;
	int err = 0;

	l->position = a->checkpoint + l->parts;
	buf = kvmalloc(KVC_LOAD_BLOCKS << KVC_BLOCK_SHIFT, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	while (l->position < end && !err) {
		nr = min_t(u64, KVC_LOAD_BLOCKS, end - l->position);
		err = kvc_load_ring(l, a->epoch, l->position, nr, buf);
		for (i = 0; i < nr && !err; i++, l->position++) {
			u8 *block = buf + ((size_t)i << KVC_BLOCK_SHIFT);

			if (!kvc_load_block(l, a->epoch, l->position, block,
					    &it)) {
				err = moving ? kvc_load_ended(l, block) : 0;
				goto out;
			}
			err = kvc_load_apply(l, &it);
		}
	}
out:
	kvfree(buf);
	return err;
}

int kvc_load_state(struct kvc_loader *l, bool moving)
{
	int err;

	err = kvc_load_pass(l, true);
	if (!err)
		err = kvc_load_summaries(l);
	if (!err)
		err = kvc_load_pass(l, false);
	if (!err)
		err = kvc_load_records(l, moving);
	l->lost = kvc_load_count_lost(l);
	if (l->rotten || l->lost)
		pr_warn("ag %u: %u records that can't be were skipped, %u sealed segments have lost their summary and objects\n",
			l->ag->number, l->rotten, l->lost);
	return err;
}

