// SPDX-License-Identifier: MIT
/*
 * Pools with one thing wrong: each kind of damage must be found, called by the
 * right name, and must not set off others.
 *
 *	test_damage		all cases
 *	test_damage NAME	one, with the texts of what was found
 *	test_damage -s NAME PREFIX
 *				only write its image to files
 *	test_damage -l	list the names of all findings
 *	test_damage -t TICKS DEVICE...
 *				be a host: write slot 0 every 20 ms, and put it
 *				back in the end
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

/**
 * struct scene - the pool that damage is done to
 * @img: pool of three members: two AGs, two epochs, the first with a crash
 * @a: AG 0, that has @sealed and @open; nothing is pending
 * @sealed: sealed in this epoch behind the checkpoint
 * @open: open, with objects
 * @live: index of a live object in @sealed
 * @dead: index of a deleted one in @sealed
 * @check: how to check
 * @other: another pool, if one was made
 */
struct scene {
	struct img img;
	struct img_ag *a;
	struct img_segment *sealed;
	struct img_segment *open;
	u32 live;
	u32 dead;
	struct check check;
	struct img other;
};

static struct img_object *object(struct scene *s, u32 i)
{
	return &s->a->objects[i];
}

static struct img_segment *unused(struct scene *s)
{
	struct img_segment *seg = img_find(s->a, KVC_SEG_RETIRED);

	return seg ? seg : img_find(s->a, KVC_SEG_FREE);
}

static struct img_segment *open_new(struct scene *s)
{
	struct img_segment *seg = unused(s);

	img_open(&s->img, s->a, seg);
	return seg;
}

/* Objects of three blocks; returns the index of the first. */
static u32 put_some(struct scene *s, struct img_segment *seg, u32 nr)
{
	u32 first = s->a->nr_objects;

	while (nr--)
		img_put(&s->img, s->a, seg, 3 * 4096 - 100);
	return first;
}

static void make_scene(struct scene *s, u32 flags)
{
	struct img_options o = { .seed = 5, .ring = 64, .flags = flags };
	struct img_segment *seg;

	memset(s, 0, sizeof(*s));
	img_make(&s->img, &o);
	s->a = &s->img.ags[0];
	img_attach(&s->img, 0, IMG_ATTACHED);
	img_work(&s->img, 200);
	img_crash(&s->img);
	img_attach(&s->img, 0, IMG_ATTACHED);
	img_work(&s->img, 60);
	img_flush(&s->img, &s->img.ags[1]);
	for (seg = img_find(s->a, KVC_SEG_OPEN); seg;
	     seg = img_find(s->a, KVC_SEG_OPEN))
		img_seal(&s->img, s->a, seg);
	img_checkpoint(&s->img, s->a, true);

	s->sealed = open_new(s);
	s->live = put_some(s, s->sealed, 60);
	s->dead = s->live + 7;
	img_seal(&s->img, s->a, s->sealed);
	img_delete(&s->img, s->a, object(s, s->dead));
	s->open = open_new(s);
	put_some(s, s->open, 3);
	img_flush(&s->img, s->a);
}

/* --- places --- */

static u8 *label(struct scene *s, u32 member, u32 copy)
{
	return img_block(&s->img, kvc_place_label(&s->img.g, member, copy));
}

static u8 *slot(struct scene *s, u32 number, u32 copy)
{
	return img_block(&s->img, kvc_place_slot(&s->img.g, number, copy, 0));
}

static struct kvc_slot_block *slot_block(struct scene *s, u32 copy)
{
	return (void *)slot(s, 0, copy);
}

/* Header of AG 0's present area: the newer or the older one. */
static u8 *header(struct scene *s, bool newer)
{
	u32 area = s->a->epoch % KVC_NR_AREAS;
	struct kvc_place p = kvc_place_area(&s->img.g, 0, area);

	p.block += (s->a->area_sequence[area] + !newer) % KVC_AREA_HEADERS;
	return img_block(&s->img, p);
}

static u8 *journal(struct scene *s, u64 position)
{
	return img_block(&s->img, kvc_place_journal(&s->img.g, 0, s->a->epoch,
						    position));
}

static u8 *record_at(u8 *block, u32 index)
{
	struct kvc_journal_block *b = (void *)block;
	u8 *at = b->data;

	while (index--)
		at += le16_to_cpu(((struct kvc_rec_header *)at)->length);
	return at;
}

/* First record of a type in a block, or NULL. */
static void *find_record(u8 *block, u32 type)
{
	struct kvc_journal_block *b = (void *)block;
	u8 *at = b->data;
	u32 i;

	for (i = 0; i < le16_to_cpu(b->count); i++) {
		struct kvc_rec_header *r = (void *)at;

		if (r->type == type)
			return at;
		at += le16_to_cpu(r->length);
	}
	return NULL;
}

static void wipe(u8 *block)
{
	memset(block, 0, KVC_BLOCK_SIZE);
}

static void rot(u8 *block)
{
	block[2000] ^= 4;
}

/* --- labels --- */

static void no_start_label(struct scene *s) { wipe(label(s, 1, 0)); }
static void no_end_label(struct scene *s) { wipe(label(s, 1, 1)); }
static void rotten_label(struct scene *s) { rot(label(s, 2, 1)); }

static void newer_label(struct scene *s)
{
	struct kvc_label *l = (void *)label(s, 1, 0);

	l->feature_incompat = cpu_to_le64(2);
	img_fix((u8 *)l);
}

static void other_lease(struct scene *s)
{
	u32 copy;

	for (copy = 0; copy < 2; copy++) {
		struct kvc_label *l = (void *)label(s, 2, copy);

		l->lease_ms = cpu_to_le32(1234);
		img_fix((u8 *)l);
	}
}

static void set_sequence(u8 *block, u64 sequence)
{
	struct kvc_block_header *h = (void *)block;

	h->sequence = cpu_to_le64(sequence);
	img_fix(block);
}

static void old_member(struct scene *s)
{
	set_sequence(label(s, 2, 0), s->img.sequence - 1);
	set_sequence(label(s, 2, 1), s->img.sequence - 1);
}

static void attach_cut_in_labels(struct scene *s)
{
	set_sequence(label(s, 0, 1), s->img.sequence + 1);
}

static void attach_cut_in_labels_twice(struct scene *s)
{
	set_sequence(label(s, 0, 1), s->img.sequence + 2);
	set_sequence(label(s, 1, 1), s->img.sequence + 1);
}

static void other_writer(struct scene *s)
{
	struct kvc_block_header *h = (void *)label(s, 1, 1);

	h->incarnation = cpu_to_le64(77);
	img_fix((u8 *)h);
}

static void member_twice(struct scene *s)
{
	s->check.order[0] = 0;
	s->check.order[1] = 1;
	s->check.order[2] = 2;
	s->check.order[3] = 1;
	s->check.nr = 4;
}

static void member_absent(struct scene *s)
{
	s->check.order[0] = 2;
	s->check.order[1] = 0;
	s->check.nr = 2;
}

static void devices_cut_short(struct scene *s) { s->check.cut = 10; }

static void member_left_behind(struct scene *s)
{
	s->img.g.members[2].state = KVC_MEMBER_MISSING;
	s->img.g.members[2].missing_since = s->img.sequence + 1;
	memcpy(s->img.g.name, "test", 4);
	s->img.sequence++;
	/* The member itself keeps the label that it had. */
	u8 *keep = malloc(2 * KVC_BLOCK_SIZE);

	memcpy(keep, label(s, 2, 0), KVC_BLOCK_SIZE);
	memcpy(keep + KVC_BLOCK_SIZE, label(s, 2, 1), KVC_BLOCK_SIZE);
	img_write_labels(&s->img);
	memcpy(label(s, 2, 0), keep, KVC_BLOCK_SIZE);
	memcpy(label(s, 2, 1), keep + KVC_BLOCK_SIZE, KVC_BLOCK_SIZE);
	free(keep);
}

static void stranger(struct scene *s)
{
	u32 copy;

	for (copy = 0; copy < 2; copy++) {
		struct kvc_label *l = (void *)label(s, 1, copy);

		l->h.pool_uuid[3] ^= 1;
		img_fix((u8 *)l);
	}
}

static void label_elsewhere(struct scene *s)
{
	memcpy(label(s, 1, 0), label(s, 1, 1), KVC_BLOCK_SIZE);
}

static void unreadable_label(struct scene *s)
{
	s->check.has_unreadable = true;
	s->check.unreadable = kvc_place_label(&s->img.g, 1, 0);
}

static void no_labels(struct scene *s)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		wipe(label(s, i, 0));
		wipe(label(s, i, 1));
	}
}

/* --- slots --- */

static void rotten_slot_copy(struct scene *s) { rot(slot(s, 0, 1)); }

static void rotten_slot(struct scene *s)
{
	rot(slot(s, 0, 1));
	rot(slot(s, 0, 2));
}

static void split_slot(struct scene *s)
{
	slot_block(s, 2)->heartbeat = cpu_to_le64(99);
	img_fix(slot(s, 0, 2));
}

static void slot_of_another(struct scene *s)
{
	slot_block(s, 1)->number = cpu_to_le32(1);
	img_fix(slot(s, 0, 1));
}

static void slot_reserved(struct scene *s)
{
	slot_block(s, 1)->reserved0[5] = 1;
	img_fix(slot(s, 0, 1));
}

static void free_slot_with_epochs(struct scene *s)
{
	u32 copy;

	for (copy = 0; copy < 3; copy++) {
		struct kvc_slot_block *b = (void *)slot(s, 3, copy);

		memcpy(b, slot(s, 0, copy), KVC_BLOCK_SIZE);
		b->number = cpu_to_le32(3);
		b->state = cpu_to_le32(KVC_SLOT_FREE);
		b->h.address = cpu_to_le64(kvc_address(copy,
			kvc_place_slot(&s->img.g, 3, copy, 0).block));
		img_fix((u8 *)b);
	}
}

static void slot_outlived(struct scene *s)
{
	struct kvc_slot_block *b = slot_block(s, 1);

	b->incarnation = cpu_to_le64(1);
	set_sequence((u8 *)b, le64_to_cpu(b->h.sequence) + 1);
}

static void slot_epoch_backwards(struct scene *s)
{
	struct kvc_slot_block *b = slot_block(s, 1);

	b->ags[1].owned_epoch = cpu_to_le64(1);
	set_sequence((u8 *)b, le64_to_cpu(b->h.sequence) + 1);
}

static void slot_copy_lags(struct scene *s)
{
	img_write_slot(&s->img, 0, 3);
}

static void slot_copy_erased(struct scene *s) { wipe(slot(s, 0, 2)); }

/* Another host's slot. */
static struct kvc_slot_info *second_slot(struct scene *s)
{
	struct kvc_slot_info *i = &s->img.slots[1];

	i->state = KVC_SLOT_ACTIVE;
	i->incarnation = 50;
	return i;
}

static void epoch_twice(struct scene *s)
{
	second_slot(s)->ags[1].owned_epoch = s->img.ags[1].epoch;
	img_write_slot(&s->img, 1, ~0U);
}

static void epoch_never_begun(struct scene *s)
{
	second_slot(s)->ags[1].owned_epoch = s->img.ags[1].epoch + 1;
	img_write_slot(&s->img, 1, ~0U);
}

static void epoch_of_another(struct scene *s)
{
	s->img.slots[0].ags[1].owned_epoch = 0;
	img_write_slot(&s->img, 0, ~0U);
	second_slot(s)->ags[1].owned_epoch = s->img.ags[1].epoch;
	img_write_slot(&s->img, 1, ~0U);
}

static void follows_the_future(struct scene *s)
{
	second_slot(s)->ags[0].followed_epoch = 9;
	img_write_slot(&s->img, 1, ~0U);
}

static void drained_too_far(struct scene *s)
{
	second_slot(s)->ags[0].followed_epoch = s->a->epoch;
	s->img.slots[1].ags[0].drained = s->a->next + 1;
	img_write_slot(&s->img, 1, ~0U);
}

/* --- area headers --- */

static void rotten_old_header(struct scene *s) { rot(header(s, false)); }

static void rotten_new_header(struct scene *s)
{
	/* The older one names a checkpoint that still stands. */
	rot(header(s, true));
}

static void rotten_headers(struct scene *s)
{
	rot(header(s, false));
	rot(header(s, true));
}

static void header_reserved(struct scene *s)
{
	u8 *block = header(s, false);

	block[4000] = 1;
	img_fix(block);
}

static void header_of_another_epoch(struct scene *s)
{
	struct kvc_area_block *b = (void *)header(s, false);

	b->epoch = cpu_to_le64(s->a->epoch + 1);
	img_fix((u8 *)b);
}

static void headers_not_in_turn(struct scene *s)
{
	set_sequence(header(s, false), 0);
}

static void header_backwards(struct scene *s)
{
	struct kvc_area_block *b = (void *)header(s, false);
	struct kvc_area_block *newer = (void *)header(s, true);

	b->head = newer->head;
	b->checkpoint = newer->checkpoint;
	img_fix((u8 *)b);
}

static void unreadable_header(struct scene *s)
{
	s->check.has_unreadable = true;
	s->check.unreadable = kvc_place_area(&s->img.g, 1,
					     s->img.ags[1].epoch % 4);
}

static void attach_cut_at_header(struct scene *s)
{
	img_attach(&s->img, 0, IMG_HEADER);
}

static void attach_cut_at_checkpoint(struct scene *s)
{
	img_attach(&s->img, 0, IMG_CHECKPOINT);
}

/* --- journal --- */

static void torn_tail(struct scene *s)
{
	u32 i;

	for (i = 0; i < 60; i++)
		img_put(&s->img, s->a, s->open, 100);
	img_flush_torn(&s->img, s->a, 0x6);
}

static void torn_block(struct scene *s)
{
	img_put(&s->img, s->a, s->open, 100);
	img_flush_torn(&s->img, s->a, 1);
	rot(journal(s, s->a->next));
}

/* Many blocks, each with a write of its own. */
static void many_blocks(struct scene *s, u32 nr)
{
	while (nr--) {
		img_put(&s->img, s->a, s->open, 100);
		img_flush(&s->img, s->a);
	}
}

static void hole(struct scene *s)
{
	many_blocks(s, 20);
	wipe(journal(s, s->a->next - 20));
}

static void rotten_hole(struct scene *s)
{
	many_blocks(s, 20);
	rot(journal(s, s->a->next - 20));
}

static void hole_after_detach(struct scene *s)
{
	many_blocks(s, 5);
	wipe(journal(s, s->a->next - 3));
	img_detach(&s->img, 0);
}

static void misplaced(struct scene *s)
{
	memcpy(journal(s, s->a->next), journal(s, s->a->next - 2),
	       KVC_BLOCK_SIZE);
}

/* A block at the end that says to be of another epoch or position. */
static void plant(struct scene *s, u64 epoch, u64 position)
{
	u8 *to = journal(s, s->a->next);
	struct kvc_place p = kvc_place_journal(&s->img.g, 0, s->a->epoch,
					       s->a->next);
	struct kvc_journal_block *b = (void *)to;

	memcpy(to, journal(s, s->a->next - 1), KVC_BLOCK_SIZE);
	b->h.address = cpu_to_le64(kvc_address(p.member, p.block));
	b->epoch = cpu_to_le64(epoch);
	set_sequence(to, position);
}

static void newer_epoch(struct scene *s)
{
	plant(s, s->a->epoch + KVC_NR_AREAS, s->a->next);
}

static void overrun(struct scene *s)
{
	plant(s, s->a->epoch, s->a->next + s->img.g.ring_blocks);
}

static void wrong_position(struct scene *s)
{
	plant(s, s->a->epoch, s->a->next + 5);
}

static void unreadable_ring(struct scene *s)
{
	s->check.has_unreadable = true;
	s->check.unreadable = kvc_place_journal(&s->img.g, 0, s->a->epoch,
						s->a->next);
}

/* The block of the last OPEN in the journal. */
static u8 *open_block(struct scene *s)
{
	u64 position = s->a->next;

	while (!find_record(journal(s, --position), KVC_REC_OPEN))
		;
	return journal(s, position);
}

static void malformed_record(struct scene *s)
{
	struct kvc_journal_block *b = (void *)open_block(s);
	u32 used = le16_to_cpu(b->used);
	struct kvc_rec_segment *r = (void *)(b->data + used);

	/* Behind all others, so that nothing that is sound is lost. */
	memcpy(r, find_record((u8 *)b, KVC_REC_OPEN), sizeof(*r));
	r->reserved0 = cpu_to_le32(1);
	b->used = cpu_to_le16(used + sizeof(*r));
	b->count = cpu_to_le16(le16_to_cpu(b->count) + 1);
	img_fix((u8 *)b);
}

static void block_of_another_writer(struct scene *s)
{
	struct kvc_journal_block *b = (void *)open_block(s);

	b->h.incarnation = cpu_to_le64(1);
	img_fix((u8 *)b);
}

static void segment_record(struct scene *s)
{
	struct kvc_record rec = { .type = KVC_REC_SEGMENT,
				  .seg = s->open->rec };

	img_append(&s->img, s->a, &rec);
	img_flush(&s->img, s->a);
}

static void ask_itself(struct scene *s)
{
	struct kvc_record rec = {
		.type = KVC_REC_ASK,
		.ask = { .kind = KVC_ASK_TOUCH, .ag = 0, .count = 3 },
	};

	img_append(&s->img, s->a, &rec);
	img_flush(&s->img, s->a);
}

/* --- checkpoints --- */

static void wiped_checkpoint(struct scene *s)
{
	wipe(journal(s, s->a->head));
}

static void cut_checkpoint(struct scene *s)
{
	img_checkpoint(&s->img, s->a, true);
	put_some(s, s->open, 60);
	img_checkpoint_cut(&s->img, s->a, 1);
}

static void fragment(struct scene *s)
{
	put_some(s, s->open, 60);
	img_checkpoint_cut(&s->img, s->a, 1);
	s->a->next++;
	put_some(s, s->open, 1);
	img_flush(&s->img, s->a);
}

static void segment_listed_twice(struct scene *s)
{
	u8 *block = journal(s, s->a->head);
	u32 last = s->a->nr_segments - 1;

	/* The last ones are free. */
	memcpy(record_at(block, 1 + last), record_at(block, last),
	       sizeof(struct kvc_rec_segment));
	img_fix(block);
}

/* Exchange two records that stand side by side. */
static void swap(u8 *a, u8 *b)
{
	u32 la = le16_to_cpu(((struct kvc_rec_header *)a)->length);
	u32 lb = le16_to_cpu(((struct kvc_rec_header *)b)->length);
	u8 keep[KVC_JOURNAL_DATA];

	memcpy(keep, a, la);
	memmove(a, b, lb);
	memcpy(a + lb, keep, la);
}

static void checkpoint_out_of_order(struct scene *s)
{
	u8 *block, *put;

	img_checkpoint(&s->img, s->a, true);
	block = journal(s, s->a->head);
	put = find_record(block, KVC_REC_PUT);
	swap(put - sizeof(struct kvc_rec_segment), put);
	img_fix(block);
}

static void put_for_sealed(struct scene *s)
{
	struct kvc_rec_put *r;
	u8 *block;

	img_checkpoint(&s->img, s->a, true);
	block = journal(s, s->a->head);
	r = find_record(block, KVC_REC_PUT);
	r->generation = cpu_to_le64(le64_to_cpu(r->generation) + 1);
	img_fix(block);
}

static void checkpoint_forgets(struct scene *s)
{
	object(s, s->a->nr_objects - 1)->forgotten = true;
	img_checkpoint(&s->img, s->a, true);
}

static void checkpoint_revives(struct scene *s)
{
	object(s, s->dead)->dead = false;
	img_checkpoint(&s->img, s->a, true);
}

static void checkpoint_kills(struct scene *s)
{
	object(s, s->live)->dead = true;
	img_checkpoint(&s->img, s->a, true);
}

static void checkpoint_makes_up(struct scene *s)
{
	/* In the model, not in the journal. */
	put_some(s, s->open, 1);
	s->a->nr_pending = 0;
	img_checkpoint(&s->img, s->a, true);
}

static void checkpoint_state(struct scene *s)
{
	s->sealed->rec.state = KVC_SEG_RETIRED;
	img_checkpoint(&s->img, s->a, true);
}

static void attach_forgets(struct scene *s)
{
	object(s, s->a->nr_objects - 1)->forgotten = true;
	img_attach(&s->img, 0, IMG_ATTACHED);
}

static void attach_revives(struct scene *s)
{
	object(s, s->dead)->dead = false;
	img_attach(&s->img, 0, IMG_ATTACHED);
}

static void reseal(struct scene *s, void (*spoil)(struct kvc_record *, u32))
{
	img_flush(&s->img, s->a);
	img_seal_spoiled(&s->img, s->a, s->open, spoil);
	img_flush(&s->img, s->a);
}

/* One that was dead at the checkpoint, which so does not tell of it. */
static void summary_revives(struct scene *s)
{
	u32 dead = put_some(s, s->open, 2);

	img_delete(&s->img, s->a, object(s, dead));
	img_checkpoint(&s->img, s->a, true);
	object(s, dead)->dead = false;
	reseal(s, NULL);
	object(s, dead)->dead = true;
}

/* The next owner goes on from a summary that lists the dead, and believes it. */
static void attach_revives_listed(struct scene *s)
{
	summary_revives(s);
	object(s, s->a->nr_objects - 2)->forgotten = true;
	img_attach(&s->img, 0, IMG_ATTACHED);
}

static void attach_retires(struct scene *s)
{
	s->sealed->rec = (struct kvc_segment_rec){
		.segment = s->sealed->rec.segment, .state = KVC_SEG_RETIRED,
		.generation = s->sealed->rec.generation,
	};
	img_attach(&s->img, 0, IMG_ATTACHED);
}

static void attach_ages(struct scene *s)
{
	unused(s)->rec.generation++;
	img_attach(&s->img, 0, IMG_ATTACHED);
}

static void attach_starts_empty(struct scene *s)
{
	u32 i;

	for (i = 0; i < s->a->nr_segments; i++)
		s->a->segments[i].rec = (struct kvc_segment_rec){
			.segment = s->a->first_segment + i,
			.state = KVC_SEG_RETIRED,
			.generation = (s->a->epoch + 1) << 32,
		};
	img_attach(&s->img, 0, IMG_ATTACHED);
}

static void wrapped_and_lost(struct scene *s)
{
	u64 head = s->a->head;

	/* The newest header rots, and the older one's checkpoint is overwritten. */
	while (s->a->next < head + s->img.g.ring_blocks + 3) {
		many_blocks(s, 10);
		img_checkpoint(&s->img, s->a, true);
	}
	many_blocks(s, 3);
	rot(header(s, true));
	wipe(journal(s, le64_to_cpu(((struct kvc_area_block *)
				     header(s, false))->checkpoint)));
}

/* --- records --- */

static void append_segment(struct scene *s, u32 type,
			   const struct kvc_segment_rec *seg)
{
	struct kvc_record rec = { .type = type, .seg = *seg };

	img_append(&s->img, s->a, &rec);
	img_flush(&s->img, s->a);
}

static void open_same_generation(struct scene *s)
{
	struct kvc_segment_rec r = unused(s)->rec;

	r.state = KVC_SEG_OPEN;
	r.order = 0;
	append_segment(s, KVC_REC_OPEN, &r);
}

static void open_skips_a_generation(struct scene *s)
{
	struct kvc_segment_rec r = unused(s)->rec;

	r.state = KVC_SEG_OPEN;
	r.order = 0;
	r.generation += 2;
	append_segment(s, KVC_REC_OPEN, &r);
}

static void open_future_generation(struct scene *s)
{
	struct kvc_segment_rec r = unused(s)->rec;

	r.state = KVC_SEG_OPEN;
	r.order = 0;
	r.generation = 77ULL << 32;
	append_segment(s, KVC_REC_OPEN, &r);
}

static void open_sealed(struct scene *s)
{
	struct kvc_segment_rec r = {
		.segment = s->sealed->rec.segment, .state = KVC_SEG_OPEN,
		.generation = s->sealed->rec.generation + 1,
	};

	append_segment(s, KVC_REC_OPEN, &r);
}

static void seal_retired(struct scene *s)
{
	struct img_segment *seg = unused(s);

	img_seal(&s->img, s->a, seg);
	img_flush(&s->img, s->a);
}

static void seal_order(struct scene *s)
{
	s->a->next_order -= 2;
	img_seal(&s->img, s->a, s->open);
	img_flush(&s->img, s->a);
}

static void retire_twice(struct scene *s)
{
	img_retire(&s->img, s->a, unused(s));
}

static void retire_order(struct scene *s)
{
	struct kvc_segment_rec r = {
		.segment = s->open->rec.segment, .state = KVC_SEG_RETIRED,
		.generation = s->open->rec.generation, .order = 1,
	};

	append_segment(s, KVC_REC_RETIRE, &r);
}

static void put_unopened(struct scene *s)
{
	img_put(&s->img, s->a, unused(s), 5000);
	img_flush(&s->img, s->a);
}

static void put_inherited(struct scene *s)
{
	img_attach(&s->img, 0, IMG_ATTACHED);
	img_put(&s->img, s->a, s->open, 5000);
	img_flush(&s->img, s->a);
}

static void delete_unknown(struct scene *s)
{
	struct img_object o = *object(s, s->live);

	o.put.offset++;
	img_delete(&s->img, s->a, &o);
	img_flush(&s->img, s->a);
}

static void delete_twice(struct scene *s)
{
	img_delete(&s->img, s->a, object(s, s->dead));
	img_flush(&s->img, s->a);
}

static void delete_late(struct scene *s)
{
	struct img_object o = *object(s, s->a->nr_objects - 1);

	img_retire(&s->img, s->a, s->open);
	img_delete(&s->img, s->a, &o);
	img_flush(&s->img, s->a);
}

static void put_object(struct scene *s, const struct img_object *o)
{
	struct kvc_record rec;

	img_put_record(&rec, o);
	img_append(&s->img, s->a, &rec);
	img_flush(&s->img, s->a);
}

/* A PUT that says that it moved the object at @i. */
static struct img_object moved(struct scene *s, u32 i)
{
	struct img_object o = *object(s, i);

	o.put.moved = true;
	o.put.old_segment = o.put.segment;
	o.put.old_generation = o.put.generation;
	o.put.old_offset = o.put.offset;
	o.put.segment = s->open->rec.segment;
	o.put.generation = s->open->rec.generation;
	o.put.offset = s->open->used;
	return o;
}

static void move_from_another_group(struct scene *s)
{
	struct img_object o = moved(s, s->live);

	o.put.old_segment = s->img.ags[1].first_segment;
	put_object(s, &o);
}

static void move_dead(struct scene *s)
{
	struct img_object o = moved(s, s->dead);

	put_object(s, &o);
}

static void move_from_nowhere(struct scene *s)
{
	struct img_object o = moved(s, s->dead);

	o.put.old_offset++;
	put_object(s, &o);
}

static void move_from_retired(struct scene *s)
{
	struct img_object o = moved(s, s->live);

	img_retire(&s->img, s->a, s->sealed);
	put_object(s, &o);
}

static void move_changes(struct scene *s)
{
	struct img_object o = moved(s, s->live);

	o.put.data_crc ^= 1;
	put_object(s, &o);
}

/* --- objects --- */

static void overlap(struct scene *s)
{
	s->open->used--;
	img_put(&s->img, s->a, s->open, 5000);
	img_flush(&s->img, s->a);
}

static void overlap_in_retired(struct scene *s)
{
	overlap(s);
	img_retire(&s->img, s->a, s->open);
}

static void object_in_summary(struct scene *s)
{
	s->open->used = kvc_segment_blocks(&s->img.g) - 5;
	img_put(&s->img, s->a, s->open, 3 * 4096);
	object(s, s->a->nr_objects - 1)->put.bytes = 5 * 4096;
	/* Journal what the model says now. */
	s->a->nr_pending = 0;
	put_object(s, object(s, s->a->nr_objects - 1));
	img_seal(&s->img, s->a, s->open);
	img_flush(&s->img, s->a);
}

static void unwanted_crc(struct scene *s)
{
	struct img_object *o = img_put(&s->img, s->a, s->open, 100);

	s->a->nr_pending = 0;
	o->put.data_crc = 5;
	put_object(s, o);
}

static void wrong_hash(struct scene *s)
{
	struct img_object *o = img_put(&s->img, s->a, s->open, 100);

	s->a->nr_pending = 0;
	o->put.hash.hi ^= 1;
	put_object(s, o);
}

static void key_twice(struct scene *s)
{
	struct img_object o = moved(s, s->live);

	o.put.moved = false;
	o.put.old_segment = 0;
	o.put.old_generation = 0;
	o.put.old_offset = 0;
	put_object(s, &o);
}

static void key_twice_in_checkpoint(struct scene *s)
{
	key_twice(s);
	/* Known to the model, too: it stands in the checkpoint. */
	img_put(&s->img, s->a, s->open, 100);
	s->a->nr_pending = 0;
	s->a->objects[s->a->nr_objects - 1].put = moved(s, s->live).put;
	s->a->objects[s->a->nr_objects - 1].put.offset = s->open->used - 1;
	memcpy(s->a->objects[s->a->nr_objects - 1].key,
	       object(s, s->live)->key, IMG_KEY);
	img_checkpoint(&s->img, s->a, true);
}

/* The former may have been gone when the later one was put. */
static void put_over_expired(struct scene *s)
{
	struct img_object *o = img_put(&s->img, s->a, s->open, 100);
	struct img_object again;

	s->a->nr_pending = 0;
	o->put.expiry = 1000;
	put_object(s, o);
	again = *o;
	again.put.expiry = 0;
	again.put.offset = s->open->used++;
	put_object(s, &again);
	s->check.now = 2000;
}

static void put_over_expiring(struct scene *s)
{
	put_over_expired(s);
	s->check.now = 500;
}

/* --- summaries --- */

static void wiped_summary(struct scene *s)
{
	wipe(img_block(&s->img, img_summary_place(&s->img, s->sealed, 0)));
}

static void rotten_summary(struct scene *s)
{
	rot(img_block(&s->img, img_summary_place(&s->img, s->sealed, 1)));
}

static void unreadable_summary(struct scene *s)
{
	s->check.has_unreadable = true;
	s->check.unreadable = img_summary_place(&s->img, s->sealed, 0);
}

/* In a checkpoint, not behind it. */
static void rotten_old_summary(struct scene *s)
{
	img_checkpoint(&s->img, s->a, true);
	rotten_summary(s);
}

static struct kvc_rec_segment *seal_record(struct scene *s, u8 **block)
{
	u64 position = s->a->next;
	struct kvc_rec_segment *r;

	do {
		*block = journal(s, --position);
		r = find_record(*block, KVC_REC_SEAL);
	} while (!r);
	return r;
}

static void other_summary_crc(struct scene *s)
{
	u8 *block;
	struct kvc_rec_segment *r = seal_record(s, &block);

	r->summary_crc = cpu_to_le32(le32_to_cpu(r->summary_crc) ^ 1);
	img_fix(block);
}

static void other_summary_count(struct scene *s)
{
	u8 *block;
	struct kvc_rec_segment *r = seal_record(s, &block);

	r->objects = cpu_to_le32(le32_to_cpu(r->objects) + 1);
	img_fix(block);
}

static void summary_elsewhere(struct scene *s)
{
	u8 *block;
	struct kvc_rec_segment *r = seal_record(s, &block);

	r->summary_offset = cpu_to_le32(le32_to_cpu(r->summary_offset) - 3);
	img_fix(block);
}

static void summary_in_free(struct scene *s)
{
	u8 *block;
	struct kvc_rec_segment *r = seal_record(s, &block);

	r->summary_segment = cpu_to_le32(unused(s)->rec.segment);
	img_fix(block);
}

static void summary_of_another_life(struct scene *s)
{
	u8 *block = img_block(&s->img,
			      img_summary_place(&s->img, s->sealed, 0));
	struct kvc_summary_block *b = (void *)block;

	b->generation = cpu_to_le64(s->sealed->rec.generation - 1);
	img_fix(block);
}

static void summary_record(struct scene *s)
{
	u8 *block = img_block(&s->img,
			      img_summary_place(&s->img, s->sealed, 0));
	struct kvc_rec_put *r = (void *)((struct kvc_summary_block *)
					 block)->data;

	r->reserved0 = cpu_to_le32(1);
	img_fix(block);
}

static void spoil_order(struct kvc_record *rec, u32 index)
{
	static struct kvc_record first;

	/* The first two change places. */
	if (!index) {
		first = *rec;
		rec->type = 0;
	} else if (index == 1) {
		*rec = first;
	}
}

static void spoil_first(struct kvc_record *rec, u32 index)
{
	if (!index)
		rec->type = 0;
}

static void spoil_bytes(struct kvc_record *rec, u32 index)
{
	if (index == 1)
		rec->put.bytes++;
}

static void summary_misses_two(struct scene *s) { reseal(s, spoil_first); }
static void summary_differs(struct scene *s) { reseal(s, spoil_bytes); }
static void summary_repeats(struct scene *s) { reseal(s, spoil_order); }

static void summary_out_of_order(struct scene *s)
{
	u8 *block = img_block(&s->img,
			      img_summary_place(&s->img, s->sealed, 0));
	struct kvc_rec_segment *r;
	u32 crc = ~0U, i;
	u8 *seal;

	swap(record_at(block, 1), record_at(block, 2));
	img_fix(block);
	for (i = 0; i < s->sealed->rec.summary_blocks; i++) {
		__le32 c = cpu_to_le32(kvc_block_crc(img_block(&s->img,
			img_summary_place(&s->img, s->sealed, i))));

		crc = crc32c(crc, &c, sizeof(c));
	}
	r = seal_record(s, &seal);
	r->summary_crc = cpu_to_le32(crc);
	img_fix(seal);
}

static void summary_extra(struct scene *s)
{
	put_some(s, s->open, 1);
	s->a->nr_pending = 0;
	reseal(s, NULL);
}

/* --- data --- */

static void rotten_data(struct scene *s)
{
	const struct kvc_put *p = &object(s, s->live)->put;

	img_block(&s->img, img_data_place(&s->img, p->segment,
					  p->offset + 1))[17] ^= 0x20;
	s->check.data = true;
}

static void rotten_dead_data(struct scene *s)
{
	const struct kvc_put *p = &object(s, s->dead)->put;

	img_block(&s->img, img_data_place(&s->img, p->segment,
					  p->offset))[0] ^= 1;
	s->check.data = true;
}

static void unreadable_data(struct scene *s)
{
	const struct kvc_put *p = &object(s, s->live)->put;

	s->check.has_unreadable = true;
	s->check.unreadable = img_data_place(&s->img, p->segment,
					     p->offset + 2);
	s->check.data = true;
}

static void no_data_crc(struct scene *s) { rotten_data(s); }

static void nothing(struct scene *s)
{
	s->check.data = true;
	s->check.compare = true;
}

/* --- the cases --- */

struct damage {
	const char *name;
	void (*plant)(struct scene *s);
	const char *found;	/* remarks, too */
	u32 flags;		/* of the pool */
	int result;
};

static const struct damage cases[] = {
	{ "nothing", nothing, "" },
	/* labels */
	{ "no label at the start", no_start_label, "label-missing(error)" },
	{ "no label at the end", no_end_label, "label-missing(error)" },
	{ "rotten label", rotten_label, "label-bad(warning)" },
	{ "label with unknown features", newer_label, "label-malformed(error)" },
	{ "label of another place", label_elsewhere, "label-malformed(error)" },
	{ "label that can't be read", unreadable_label, "io-error(error)" },
	{ "labels that differ", other_lease, "label-disagrees(error)" },
	{ "labels of two writers", other_writer, "label-disagrees(error)" },
	{ "member of an older label", old_member,
	  "label-sequence(info) label-sequence(error)" },
	{ "attach cut short in the labels", attach_cut_in_labels,
	  "label-sequence(info)" },
	{ "attaches cut short in the labels", attach_cut_in_labels_twice,
	  "label-sequence(info)" },
	{ "member given twice", member_twice, "member-twice(error)" },
	{ "member not given", member_absent, "member-absent(error)" },
	{ "devices cut short", devices_cut_short, "member-size(error)", 0,
	  -EUCLEAN },
	{ "member left behind", member_left_behind,
	  "label-sequence(info) label-sequence(error) member-stale(error)" },
	{ "member of another pool", stranger,
	  "label-foreign(error) member-absent(error)" },
	{ "no label anywhere", no_labels, "label-missing(error)", 0, -ENOENT },
	/* slots */
	{ "rotten copy of a slot", rotten_slot_copy, "slot-copy-bad(info)" },
	{ "rotten slot", rotten_slot,
	  "slot-copy-bad(info) slot-majority(error)" },
	{ "slot copies with one sequence", split_slot, "slot-split(error)" },
	{ "slot of another number", slot_of_another, "slot-malformed(error)" },
	{ "slot with a reserved field", slot_reserved, "slot-malformed(error)" },
	{ "free slot that shows epochs", free_slot_with_epochs,
	  "slot-majority(error) slot-malformed(error)" },
	{ "slot copy of an earlier incarnation, with a higher sequence",
	  slot_outlived, "slot-copies-differ(info)" },
	{ "slot's epoch goes back", slot_epoch_backwards,
	  "slot-copies-differ(info) slot-backwards(error) takeover-unshown(info)" },
	{ "slot copy that lags", slot_copy_lags, "slot-copies-differ(info)" },
	{ "slot copy that was erased", slot_copy_erased,
	  "slot-copies-differ(info)" },
	{ "epoch of two slots", epoch_twice, "epoch-twice(error)" },
	{ "epoch that was never begun", epoch_never_begun,
	  "epoch-lost(error)" },
	{ "epoch of another slot", epoch_of_another, "epoch-owner(error)" },
	{ "slot that follows the future", follows_the_future,
	  "epoch-followed(error)" },
	{ "slot that drained too far", drained_too_far,
	  "drained-beyond(error)" },
	/* area headers */
	{ "rotten older header", rotten_old_header, "area-bad(info)" },
	{ "rotten newer header", rotten_new_header, "area-bad(info)" },
	{ "rotten headers", rotten_headers,
	  "epoch-lost(error) area-bad(info) area-lost(warning)" },
	{ "header with a reserved field", header_reserved,
	  "area-malformed(error)" },
	{ "header of another epoch", header_of_another_epoch,
	  "area-epoch(error)" },
	{ "headers not written in turn", headers_not_in_turn,
	  "area-pair(error)" },
	{ "header that does not advance", header_backwards,
	  "area-pair(error)" },
	{ "header that can't be read", unreadable_header,
	  "io-error(error) epoch-lost(error)" },
	{ "attach cut short at a header", attach_cut_at_header,
	  "takeover-unfinished(info)" },
	{ "attach cut short at a checkpoint", attach_cut_at_checkpoint,
	  "takeover-unshown(info)" },
	/* journal */
	{ "torn batch", torn_tail, "journal-torn(info)" },
	{ "torn block", torn_block, "journal-torn(info)" },
	{ "hole in the journal", hole, "journal-hole(error)" },
	{ "rotten block in the journal", rotten_hole, "journal-hole(error)" },
	{ "hole after a detach", hole_after_detach, "journal-hole(warning)" },
	{ "misplaced block", misplaced, "journal-misplaced(error)" },
	{ "block of another position", wrong_position,
	  "journal-misplaced(error)" },
	{ "block of a newer epoch", newer_epoch, "journal-newer(error)" },
	{ "ring that was overrun", overrun, "journal-overrun(error)" },
	{ "ring that can't be read", unreadable_ring,
	  "io-error(error) epoch-lost(error) checkpoint-lost(error)" },
	{ "malformed record", malformed_record, "journal-malformed(error)" },
	{ "block of another writer", block_of_another_writer,
	  "journal-writer(error)" },
	{ "SEGMENT in the journal", segment_record,
	  "record-unexpected(error)" },
	{ "ASK for itself", ask_itself, "record-unexpected(error)" },
	/* checkpoints */
	{ "wiped checkpoint", wiped_checkpoint,
	  "epoch-lost(error) checkpoint-lost(error)" },
	{ "wrapped ring, lost header", wrapped_and_lost,
	  "epoch-lost(error) area-bad(info) checkpoint-lost(error)" },
	{ "torn checkpoint", cut_checkpoint, "checkpoint-torn(info)" },
	{ "fragment of a checkpoint", fragment, "checkpoint-broken(error)" },
	{ "segment listed twice", segment_listed_twice,
	  "checkpoint-segments(error)" },
	{ "checkpoint out of order", checkpoint_out_of_order,
	  "checkpoint-order(error)" },
	{ "checkpoint's PUT for no open segment", put_for_sealed,
	  "checkpoint-entry(error) checkpoint-differs(error)" },
	{ "checkpoint that forgets", checkpoint_forgets,
	  "checkpoint-differs(error)" },
	{ "checkpoint that revives", checkpoint_revives,
	  "checkpoint-differs(error)" },
	{ "checkpoint that kills", checkpoint_kills,
	  "checkpoint-differs(error)" },
	{ "checkpoint that makes up", checkpoint_makes_up,
	  "checkpoint-differs(error)" },
	{ "checkpoint with another state", checkpoint_state,
	  "checkpoint-differs(error)" },
	{ "attach that forgets", attach_forgets,
	  "epoch-object-lost(warning)" },
	{ "attach that revives", attach_revives, "epoch-object-back(error)" },
	{ "attach that revives what a summary lists", attach_revives_listed,
	  "epoch-object-back(error)" },
	{ "attach that retires", attach_retires,
	  "epoch-object-lost(warning)" },
	{ "attach with other generations", attach_ages,
	  "epoch-differs(error)" },
	{ "attach that starts empty", attach_starts_empty,
	  "epoch-object-lost(warning)" },
	/* records */
	{ "OPEN with the same generation", open_same_generation,
	  "generation(error)" },
	{ "OPEN that skips a generation", open_skips_a_generation,
	  "generation(warning)" },
	{ "OPEN with a future generation", open_future_generation,
	  "generation(error)" },
	{ "OPEN of a sealed segment", open_sealed, "open-state(error)" },
	{ "SEAL of a retired segment", seal_retired, "seal-state(error)" },
	{ "SEAL out of order", seal_order, "seal-order(error)" },
	{ "RETIRE of a retired segment", retire_twice,
	  "retire-state(error)" },
	{ "RETIRE with another position", retire_order,
	  "retire-order(warning)" },
	{ "PUT to a retired segment", put_unopened, "put-unopened(error)" },
	{ "PUT to an inherited segment", put_inherited,
	  "put-inherited(error)" },
	{ "DELETE of nothing", delete_unknown, "delete-unknown(warning)" },
	{ "DELETE of the dead", delete_twice, "delete-unknown(warning)" },
	{ "DELETE that came late", delete_late, "delete-unknown(info)" },
	{ "move from another group", move_from_another_group,
	  "journal-malformed(error)" },
	{ "move of the dead", move_dead, "move-stale(error)" },
	{ "move from nowhere", move_from_nowhere, "move-stale(error)" },
	{ "move from a retired segment", move_from_retired,
	  "move-stale(error)" },
	{ "move that changes", move_changes, "move-differs(error)" },
	/* objects */
	{ "overlap", overlap, "object-overlap(error)" },
	{ "overlap in a former life", overlap_in_retired,
	  "object-overlap(error)" },
	{ "object in the summary", object_in_summary,
	  "object-in-summary(error)" },
	{ "checksum that is not wanted", unwanted_crc,
	  "object-crc-unwanted(warning)", KVC_POOL_NO_DATA_CRC },
	{ "hash of another key", wrong_hash, "key-hash(error)" },
	{ "key that is there twice", key_twice, "key-twice(error)" },
	{ "PUT over an expired object", put_over_expired, "" },
	{ "PUT over one that will expire", put_over_expiring,
	  "key-twice(warning)" },
	/* summaries */
	{ "wiped summary", wiped_summary, "summary-lost(error)" },
	{ "rotten summary", rotten_summary, "summary-lost(error)" },
	{ "rotten summary of a checkpoint", rotten_old_summary,
	  "summary-lost(error)" },
	{ "summary that can't be read", unreadable_summary,
	  "io-error(error)" },
	{ "summary of another checksum", other_summary_crc,
	  "summary-crc(error)" },
	{ "summary of another count", other_summary_count,
	  "summary-count(error)" },
	{ "summary elsewhere", summary_elsewhere,
	  "summary-place(error) summary-lost(error)" },
	{ "summary in a free segment", summary_in_free,
	  "summary-place(error) summary-lost(error)" },
	{ "summary of another life", summary_of_another_life,
	  "summary-malformed(error)" },
	{ "malformed summary record", summary_record,
	  "summary-malformed(error)" },
	{ "summary out of order", summary_out_of_order,
	  "summary-order(error)" },
	{ "summary that misses one", summary_misses_two,
	  "summary-misses(error)" },
	{ "summary that repeats one", summary_repeats,
	  "summary-misses(error)" },
	{ "summary with one more", summary_extra, "summary-extra(error)" },
	{ "summary that revives", summary_revives, "summary-extra(error)" },
	{ "summary that differs", summary_differs,
	  "summary-differs(error)" },
	/* data */
	{ "rotten data", rotten_data, "data-crc(error)" },
	{ "rotten data of the dead", rotten_dead_data, "" },
	{ "data that can't be read", unreadable_data, "io-error(error)" },
	{ "pool without data checksums", no_data_crc, "",
	  KVC_POOL_NO_DATA_CRC },
	{ "key twice in a checkpoint", key_twice_in_checkpoint,
	  "checkpoint-differs(error) key-twice(error)" },
};

static void print_texts(const struct seen *seen)
{
	u32 i;

	for (i = 0; i < PR_NR_CODES; i++) {
		if (seen->text[i][0])
			printf("# %s: %s\n", pr_code_info(i)->name,
			       seen->text[i]);
	}
}

static bool try_case(const struct damage *d, bool verbose,
		     bool covered[PR_NR_CODES])
{
	static struct seen seen;
	struct scene s;
	char names[1000];
	bool ok;
	u32 i;

	make_scene(&s, d->flags);
	d->plant(&s);
	check_image(&s.img, &s.check, &seen);
	seen_names(&seen, true, names, sizeof(names));
	ok = !strcmp(names, d->found) && seen.result == d->result &&
	     !seen.model[0];
	for (i = 0; i < PR_NR_CODES; i++)
		covered[i] |= seen.text[i][0] != 0;
	printf("%s - %s\n", ok ? "ok" : "not ok", d->name);
	if (!ok)
		printf("# found \"%s\", result %d %s\n# wanted \"%s\", %d\n",
		       names, seen.result, seen.model, d->found, d->result);
	if (!ok || verbose)
		print_texts(&seen);
	img_free(&s.img);
	return ok;
}

/* What these cases can't bring about. */
static bool elsewhere(enum pr_code code)
{
	return code == PR_POOL_LIVE ||		/* tests/suites/fsck */
	       code == PR_MEMBER_CLONE;		/* block devices only */
}

static int save(const char *name, const char *prefix)
{
	struct scene s;
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i].name, name))
			continue;
		make_scene(&s, cases[i].flags);
		cases[i].plant(&s);
		err = img_save(&s.img, prefix);
		img_free(&s.img);
		return err ? 1 : 0;
	}
	fprintf(stderr, "no case \"%s\"\n", name);
	return 2;
}

static int tick(u32 ticks, char **paths, u32 nr)
{
	u8 keep[3][KVC_BLOCK_SIZE] __attribute__((aligned(8)));
	u8 block[KVC_BLOCK_SIZE] __attribute__((aligned(8)));
	struct kvc_geometry g;
	int fds[3], failed = 0;
	u32 i, t, member;
	off_t at;

	if (nr != 3)
		return 2;
	for (i = 0; i < nr; i++)
		fds[i] = open(paths[i], O_RDWR);
	failed |= pread(fds[0], block, sizeof(block), 0) != sizeof(block) ||
		  kvc_label_decode(block, &g, &member, NULL);
	if (failed)
		return 1;
	at = (off_t)(kvc_place_slot(&g, 0, 0, 0).block << KVC_BLOCK_SHIFT);
	for (i = 0; i < nr; i++)
		failed |= pread(fds[i], keep[i], sizeof(block), at) < 0;
	for (t = 1; !failed && t <= ticks; t++) {
		for (i = 0; i < nr; i++) {
			struct kvc_block_header *h = (void *)block;

			memcpy(block, keep[i], sizeof(block));
			set_sequence(block, le64_to_cpu(h->sequence) + t);
			failed |= pwrite(fds[i], block, sizeof(block), at) < 0;
		}
		usleep(20000);
	}
	for (i = 0; i < nr; i++) {
		failed |= pwrite(fds[i], keep[i], sizeof(block), at) < 0;
		close(fds[i]);
	}
	return failed;
}

int main(int argc, char **argv)
{
	bool covered[PR_NR_CODES] = {};
	bool ok = true, one = argc > 1;
	u32 i;

	for (i = 0; argc == 2 && !strcmp(argv[1], "-l"); i++) {
		if (i == PR_NR_CODES)
			return 0;
		puts(pr_code_info(i)->name);
	}
	if (argc == 4 && !strcmp(argv[1], "-s"))
		return save(argv[2], argv[3]);
	if (argc > 3 && !strcmp(argv[1], "-t"))
		return tick(strtoul(argv[2], NULL, 0), argv + 3, argc - 3);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!one || !strcmp(argv[1], cases[i].name))
			ok &= try_case(&cases[i], one, covered);
	}
	for (i = 0; !one && i < PR_NR_CODES; i++) {
		if (covered[i] || elsewhere(i))
			continue;
		printf("not ok - no case finds %s\n", pr_code_info(i)->name);
		ok = false;
	}
	return ok ? 0 : 1;
}
