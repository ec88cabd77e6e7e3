// SPDX-License-Identifier: MIT
/* Pools in memory. See image.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "image.h"

static void die(const char *why)
{
	fprintf(stderr, "image: %s\n", why);
	abort();
}

static void *zeroed(size_t nr, size_t size)
{
	void *p = calloc(nr, size);

	if (!p)
		die("out of memory");
	return p;
}

u32 img_random(struct img *img, u32 below)
{
	u64 x = img->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (u32)((x ^ x >> 31) >> 16) % below;
}

/* --- blocks --- */

u8 *img_block(struct img *img, struct kvc_place place)
{
	if (place.block >= img->g.members[place.member].blocks)
		die("a block behind the end");
	return img->members[place.member] + (place.block << KVC_BLOCK_SHIFT);
}

void img_fix(u8 *block)
{
	struct kvc_block_header *h = (void *)block;
	struct kvc_writer w = {
		.slot = le32_to_cpu(h->slot),
		.incarnation = le64_to_cpu(h->incarnation),
	};
	u64 address = le64_to_cpu(h->address);
	struct kvc_place place = {
		.member = address >> KVC_ADDRESS_MEMBER_SHIFT,
		.block = address & ((1ULL << KVC_ADDRESS_MEMBER_SHIFT) - 1),
	};
	u8 uuid[16];

	memcpy(uuid, h->pool_uuid, sizeof(uuid));
	kvc_block_finish(block, h->type, uuid, place, le64_to_cpu(h->sequence),
			 &w);
}

static void write_block(struct img *img, struct kvc_place place, u8 type,
			u64 sequence, const struct kvc_writer *w, u8 *block)
{
	kvc_block_finish(block, type, img->g.uuid, place, sequence, w);
	memcpy(img_block(img, place), block, KVC_BLOCK_SIZE);
}

/* --- the pool --- */

void img_make(struct img *img, const struct img_options *o)
{
	struct kvc_format_options f = {
		.name = "test", .created = 1, .lease_ms = 1000,
		.heartbeat_ms = 100, .q_ms = U32_MAX, .nr_slots = 4,
		.segment_shift = KVC_MIN_SEGMENT_SHIFT,
		.flags = o->flags,
		.width = o->width ? o->width : 1,
		.nr_ags = o->ags ? o->ags : 2,
		.ring_blocks = o->ring ? o->ring : 40,
		.nr_members = o->members ? o->members : 3,
	};
	const char *why = "?";
	u32 i, j;

	memset(img, 0, sizeof(*img));
	img->random = o->seed;
	for (i = 0; i < 16; i++)
		f.uuid[i] = 0xa0 + i;
	for (i = 0; i < 32; i++)
		f.hash_key[i] = i * 7 + 1;
	for (i = 0; i < f.nr_members; i++) {
		memset(f.members[i].uuid, i + 1, 16);
		/* Journals, labels, slots, and nine segments for each AG. */
		f.members[i].blocks = 300 +
			(4 * (2 + f.ring_blocks) + 9 * 256) * f.nr_ags /
			f.nr_members + 2048;
	}
	if (kvc_geometry_plan(&f, &img->g, &why))
		die(why);
	for (i = 0; i < img->g.nr_members; i++)
		img->members[i] = zeroed(img->g.members[i].blocks,
					 KVC_BLOCK_SIZE);
	img->slots = zeroed(img->g.nr_slots, sizeof(*img->slots));
	for (i = 0; i < img->g.nr_slots; i++) {
		img->slots[i].number = i;
		img->slots[i].nr_ags = img->g.nr_ags;
	}
	img->ags = zeroed(img->g.nr_ags, sizeof(*img->ags));
	for (i = 0; i < img->g.nr_ags; i++) {
		struct img_ag *a = &img->ags[i];

		a->ag = i;
		a->first_segment = kvc_ag_first_segment(&img->g, i);
		a->nr_segments = kvc_ag_nr_segments(&img->g, i);
		a->segments = zeroed(a->nr_segments, sizeof(*a->segments));
		for (j = 0; j < a->nr_segments; j++)
			a->segments[j].rec.segment = a->first_segment + j;
		a->pending = zeroed(IMG_BATCH, KVC_BLOCK_SIZE);
		a->next_order = 1;
	}
	img->sequence = 1;
	img_write_labels(img);
}

void img_free(struct img *img)
{
	u32 i;

	for (i = 0; i < img->g.nr_members; i++)
		free(img->members[i]);
	for (i = 0; i < img->g.nr_ags; i++) {
		free(img->ags[i].segments);
		free(img->ags[i].objects);
		free(img->ags[i].pending);
	}
	free(img->ags);
	free(img->slots);
	memset(img, 0, sizeof(*img));
}

void img_write_labels(struct img *img)
{
	static const struct kvc_writer nobody = { .slot = KVC_NO_SLOT };
	u8 block[KVC_BLOCK_SIZE] __attribute__((aligned(8)));
	u32 i, copy;

	for (i = 0; i < img->g.nr_members; i++) {
		for (copy = 0; copy < 2; copy++) {
			kvc_label_encode(block, &img->g, i);
			write_block(img, kvc_place_label(&img->g, i, copy),
				    KVC_BLOCK_LABEL, img->sequence, &nobody,
				    block);
		}
	}
}

void img_write_slot(struct img *img, u32 slot, u32 copies)
{
	u8 block[KVC_BLOCK_SIZE] __attribute__((aligned(8)));
	struct kvc_slot_info *s = &img->slots[slot];
	struct kvc_writer w = {
		.slot = slot, .incarnation = s->incarnation,
	};
	u32 copy;

	s->sequence++;
	s->heartbeat++;
	for (copy = 0; copy < img->g.nr_slot_copies; copy++) {
		if (!(copies & 1U << copy))
			continue;
		kvc_slot_encode(block, s);
		write_block(img, kvc_place_slot(&img->g, slot, copy, 0),
			    KVC_BLOCK_SLOT, s->sequence, &w, block);
	}
}

/* --- the journal --- */

static u8 *last_pending(struct img_ag *a)
{
	return a->pending + (a->nr_pending - 1) * KVC_BLOCK_SIZE;
}

static void write_pending(struct img *img, struct img_ag *a, u32 i)
{
	u64 position = a->next + i;

	write_block(img, kvc_place_journal(&img->g, a->ag, a->epoch, position),
		    KVC_BLOCK_JOURNAL, position, &a->writer,
		    a->pending + i * KVC_BLOCK_SIZE);
}

void img_flush(struct img *img, struct img_ag *a)
{
	u32 i;

	for (i = 0; i < a->nr_pending; i++)
		write_pending(img, a, i);
	a->next += a->nr_pending;
	a->nr_pending = 0;
	if (a->next - a->head > img->g.ring_blocks)
		die("the ring is overrun");
}

void img_flush_torn(struct img *img, struct img_ag *a, u32 blocks)
{
	u32 i;

	for (i = 0; i < a->nr_pending; i++) {
		if (blocks & 1U << i)
			write_pending(img, a, i);
	}
	a->nr_pending = 0;
}

void img_append(struct img *img, struct img_ag *a, const struct kvc_record *rec)
{
	if (a->nr_pending && kvc_journal_add(last_pending(a), rec))
		return;
	if (a->nr_pending == IMG_BATCH)
		img_flush(img, a);
	a->nr_pending++;
	kvc_journal_begin(last_pending(a), a->ag, a->epoch);
	if (!kvc_journal_add(last_pending(a), rec))
		die("a record does not fit into a block");
}

static void write_header(struct img *img, struct img_ag *a, u64 position)
{
	u8 block[KVC_BLOCK_SIZE] __attribute__((aligned(8)));
	u32 area = a->epoch % KVC_NR_AREAS;
	struct kvc_area_info info = {
		.ag = a->ag, .owner_slot = a->writer.slot,
		.owner_incarnation = a->writer.incarnation,
		.epoch = a->epoch, .head = position, .checkpoint = position,
	};
	u64 sequence = ++a->area_sequence[area];
	struct kvc_place place = kvc_place_area(&img->g, a->ag, area);

	place.block += sequence % KVC_AREA_HEADERS;
	kvc_area_encode(block, &info);
	write_block(img, place, KVC_BLOCK_AREA, sequence, &a->writer, block);
	a->head = position;
}

/* --- checkpoints --- */

/* Blocks of a checkpoint that is being made. */
struct checkpoint {
	struct img *img;
	struct img_ag *a;
	u8 *blocks;
	u32 nr;
};

static void checkpoint_block(struct checkpoint *c)
{
	struct kvc_record rec = {
		.type = KVC_REC_CHECKPOINT,
		/* How many there will be is not known yet. */
		.checkpoint = { .part = c->nr, .parts = c->nr + 1,
				.start = c->a->next,
				.next_order = c->a->next_order },
	};
	u8 *block = c->blocks + c->nr++ * KVC_BLOCK_SIZE;

	if (c->nr > c->img->g.ring_blocks)
		die("the checkpoint is longer than the ring");
	kvc_journal_begin(block, c->a->ag, c->a->epoch);
	kvc_journal_add(block, &rec);
}

static void checkpoint_add(struct checkpoint *c, const struct kvc_record *rec)
{
	if (kvc_journal_add(c->blocks + (c->nr - 1) * KVC_BLOCK_SIZE, rec))
		return;
	checkpoint_block(c);
	kvc_journal_add(c->blocks + (c->nr - 1) * KVC_BLOCK_SIZE, rec);
}

void img_put_record(struct kvc_record *rec, const struct img_object *o)
{
	rec->type = KVC_REC_PUT;
	rec->put = o->put;
	rec->put.key = o->key;
}

static bool is_of(const struct img_object *o, const struct img_segment *s)
{
	return o->put.segment == s->rec.segment &&
	       o->put.generation == s->rec.generation && !o->forgotten;
}

static void checkpoint_fill(struct checkpoint *c)
{
	struct img_ag *a = c->a;
	struct kvc_rec_checkpoint *r;
	struct kvc_record rec;
	u32 i;

	checkpoint_block(c);
	for (i = 0; i < a->nr_segments; i++) {
		rec.type = KVC_REC_SEGMENT;
		rec.seg = a->segments[i].rec;
		checkpoint_add(c, &rec);
	}
	for (i = 0; i < a->nr_objects; i++) {
		const struct img_object *o = &a->objects[i];
		const struct img_segment *s = img_segment(a, o->put.segment);

		if (!is_of(o, s) || s->rec.state != KVC_SEG_OPEN || o->dead)
			continue;
		img_put_record(&rec, o);
		checkpoint_add(c, &rec);
	}
	for (i = 0; i < a->nr_objects; i++) {
		const struct img_object *o = &a->objects[i];
		const struct img_segment *s = img_segment(a, o->put.segment);

		if (!is_of(o, s) || s->rec.state != KVC_SEG_SEALED || !o->dead)
			continue;
		rec.type = KVC_REC_DELETE;
		rec.del = (struct kvc_delete){
			.hash = o->put.hash, .generation = o->put.generation,
			.segment = o->put.segment, .offset = o->put.offset,
			.tenant = o->put.tenant,
		};
		checkpoint_add(c, &rec);
	}
	for (i = 0; i < c->nr; i++) {
		r = (void *)((struct kvc_journal_block *)
			     (c->blocks + i * KVC_BLOCK_SIZE))->data;
		r->parts = cpu_to_le32(c->nr);
	}
}

/* Write at most @most blocks of a checkpoint at the next position. */
static u32 write_checkpoint(struct img *img, struct img_ag *a, u32 most)
{
	struct checkpoint c = { .img = img, .a = a };
	u32 i;

	c.blocks = zeroed(img->g.ring_blocks + 1, KVC_BLOCK_SIZE);
	checkpoint_fill(&c);
	if (a->next + c.nr - a->head > img->g.ring_blocks)
		die("no room for the checkpoint");
	for (i = 0; i < c.nr && i < most; i++)
		write_block(img, kvc_place_journal(&img->g, a->ag, a->epoch,
						   a->next + i),
			    KVC_BLOCK_JOURNAL, a->next + i, &a->writer,
			    c.blocks + i * KVC_BLOCK_SIZE);
	free(c.blocks);
	return c.nr;
}

void img_checkpoint(struct img *img, struct img_ag *a, bool header)
{
	u64 start;

	img_flush(img, a);
	start = a->next;
	a->next += write_checkpoint(img, a, U32_MAX);
	if (header)
		write_header(img, a, start);
}

void img_checkpoint_cut(struct img *img, struct img_ag *a, u32 parts)
{
	img_flush(img, a);
	write_checkpoint(img, a, parts);
}

/* --- segments --- */

struct img_segment *img_segment(struct img_ag *a, u32 segment)
{
	return &a->segments[segment - a->first_segment];
}

struct img_segment *img_find(struct img_ag *a, u32 state)
{
	u32 i;

	for (i = 0; i < a->nr_segments; i++) {
		if (a->segments[i].rec.state == state &&
		    !(state == KVC_SEG_OPEN && a->segments[i].inherited))
			return &a->segments[i];
	}
	return NULL;
}

static void append_segment(struct img *img, struct img_ag *a, u32 type,
			   const struct img_segment *s)
{
	struct kvc_record rec = { .type = type, .seg = s->rec };

	img_append(img, a, &rec);
}

void img_open(struct img *img, struct img_ag *a, struct img_segment *s)
{
	s->rec = (struct kvc_segment_rec){
		.segment = s->rec.segment, .state = KVC_SEG_OPEN,
		.generation = s->rec.generation + 1,
	};
	s->used = 0;
	s->puts = 0;
	s->inherited = false;
	append_segment(img, a, KVC_REC_OPEN, s);
	/* Durable before the first write to it. */
	img_flush(img, a);
}

struct kvc_place img_data_place(struct img *img, u32 segment, u32 offset)
{
	u64 bytes = KVC_BLOCK_SIZE;

	return kvc_place_data(&img->g, segment, (u64)offset << KVC_BLOCK_SHIFT,
			      &bytes);
}

struct kvc_place img_summary_place(struct img *img, const struct img_segment *s,
				   u32 part)
{
	return img_data_place(img, s->rec.summary_segment,
			      s->rec.summary_offset + part);
}

static int by_offset(const void *a, const void *b)
{
	const struct img_object *const *x = a, *const *y = b;

	return (*x)->put.offset < (*y)->put.offset ? -1 :
	       (*x)->put.offset > (*y)->put.offset;
}

void img_seal_spoiled(struct img *img, struct img_ag *a, struct img_segment *s,
		      void (*spoil)(struct kvc_record *rec, u32 index))
{
	const struct img_object **order = zeroed(a->nr_objects + 1,
						 sizeof(*order));
	u8 *blocks = zeroed(64, KVC_BLOCK_SIZE);
	u32 nr = 0, i, n = 0, crc = ~0U;
	struct kvc_summary_block *b;
	struct kvc_record rec;
	__le32 block_crc;
	u8 *block;

	/* The dead are not listed: see format.rst. */
	for (i = 0; i < a->nr_objects; i++) {
		if (is_of(&a->objects[i], s) && !a->objects[i].dead)
			order[n++] = &a->objects[i];
	}
	qsort(order, n, sizeof(*order), by_offset);
	for (i = 0; i < n; i++) {
		img_put_record(&rec, order[i]);
		if (spoil)
			spoil(&rec, i);
		if (!rec.type)
			continue;
		if (nr && kvc_summary_add(blocks + (nr - 1) * KVC_BLOCK_SIZE,
					  &rec))
			continue;
		if (++nr > 64)
			die("a summary of more than 64 blocks");
		block = blocks + (nr - 1) * KVC_BLOCK_SIZE;
		kvc_summary_begin(block, a->ag, s->rec.segment,
				  s->rec.generation, 0);
		kvc_summary_add(block, &rec);
	}
	free(order);
	s->rec.state = KVC_SEG_SEALED;
	s->rec.order = a->next_order++;
	s->rec.summary_segment = s->rec.segment;
	s->rec.summary_offset = kvc_segment_blocks(&img->g) - nr;
	s->rec.summary_blocks = nr;
	s->rec.objects = 0;
	for (i = 0; i < nr; i++) {
		b = (void *)(blocks + i * KVC_BLOCK_SIZE);
		b->nr_blocks = cpu_to_le32(nr);
		s->rec.objects += le16_to_cpu(b->count);
		write_block(img, img_summary_place(img, s, i),
			    KVC_BLOCK_SUMMARY, i, &a->writer, (u8 *)b);
		block_crc = cpu_to_le32(kvc_block_crc(b));
		crc = crc32c(crc, &block_crc, sizeof(block_crc));
	}
	s->rec.summary_crc = crc;
	free(blocks);
	append_segment(img, a, KVC_REC_SEAL, s);
}

void img_seal(struct img *img, struct img_ag *a, struct img_segment *s)
{
	/* What the summary lists is durable before it is. */
	img_flush(img, a);
	img_seal_spoiled(img, a, s, NULL);
}

void img_retire(struct img *img, struct img_ag *a, struct img_segment *s)
{
	u32 i;

	/* Alone in its write, so that its position is known. */
	img_flush(img, a);
	s->rec = (struct kvc_segment_rec){
		.segment = s->rec.segment, .state = KVC_SEG_RETIRED,
		.generation = s->rec.generation, .order = a->next,
	};
	append_segment(img, a, KVC_REC_RETIRE, s);
	img_flush(img, a);
	for (i = 0; i < a->nr_objects; i++) {
		if (is_of(&a->objects[i], s))
			a->objects[i].dead = true;
	}
}

/* --- objects --- */

static struct img_object *new_object(struct img_ag *a)
{
	if (a->nr_objects == a->room_objects) {
		a->room_objects = a->room_objects ? a->room_objects * 2 : 64;
		a->objects = reallocarray(a->objects, a->room_objects,
					  sizeof(*a->objects));
		if (!a->objects)
			die("out of memory");
	}
	memset(&a->objects[a->nr_objects], 0, sizeof(*a->objects));
	return &a->objects[a->nr_objects++];
}

/* A run for an object and room for its record in the summary. */
static bool reserve(struct img *img, struct img_segment *s, u32 bytes,
		    u32 *offset)
{
	u32 blocks = DIV_ROUND_UP(bytes, KVC_BLOCK_SIZE);
	u32 summary = (s->puts + 1) / 20 + 1;

	if (s->used + blocks + summary > kvc_segment_blocks(&img->g))
		return false;
	*offset = s->used;
	s->used += blocks;
	s->puts++;
	return true;
}

static u8 data_byte(const struct img_object *o, u32 i)
{
	return (u8)(o->put.hash.lo >> (i % 8 * 8)) ^ (u8)(i >> 3);
}

/* Write the data, and say so in the record. */
static void write_data(struct img *img, struct img_object *o)
{
	u32 i, left = o->put.bytes, offset = o->put.offset;
	u32 crc = kvc_data_crc_seed(o->put.hash);
	u8 *block;

	for (i = 0; left; offset++) {
		block = img_block(img, img_data_place(img, o->put.segment,
						      offset));
		u32 n = min_t(u32, left, KVC_BLOCK_SIZE), j;

		for (j = 0; j < n; j++)
			block[j] = data_byte(o, i++);
		crc = crc32c(crc, block, n);
		left -= n;
	}
	if (!(img->g.flags & KVC_POOL_NO_DATA_CRC))
		o->put.data_crc = crc;
}

static void append_put(struct img *img, struct img_ag *a,
		       const struct img_object *o)
{
	struct kvc_record rec;

	img_put_record(&rec, o);
	img_append(img, a, &rec);
}

struct img_object *img_put(struct img *img, struct img_ag *a,
			   struct img_segment *s, u32 bytes)
{
	struct img_object *o;
	u32 offset;

	if (!reserve(img, s, bytes, &offset))
		return NULL;
	o = new_object(a);
	o->put.segment = s->rec.segment;
	o->put.generation = s->rec.generation;
	o->put.offset = offset;
	o->put.bytes = bytes;
	o->put.tenant = img_random(img, 2);
	o->put.key_len = 9 + img_random(img, 30);
	snprintf((char *)o->key, IMG_KEY, "key-%u-%u-%08x-padding-to-be-cut-off",
		 a->ag, a->nr_objects, img_random(img, U32_MAX));
	/* Cut keys must differ: their number stands at the front. */
	memcpy(o->key + 4, &a->nr_objects, sizeof(a->nr_objects));
	o->key[8] = (u8)a->ag;
	o->put.depth = img_random(img, 100);
	o->put.hash = kvc_key_hash(img->g.hash_key, o->put.tenant, o->key,
				   o->put.key_len);
	write_data(img, o);
	append_put(img, a, o);
	return o;
}

struct img_object *img_move(struct img *img, struct img_ag *a,
			    struct img_segment *to, u32 i)
{
	struct img_object *o, *old;
	u32 offset;

	if (!reserve(img, to, a->objects[i].put.bytes, &offset))
		return NULL;
	o = new_object(a);
	old = &a->objects[i];
	*o = *old;
	o->put.moved = true;
	o->put.old_segment = old->put.segment;
	o->put.old_generation = old->put.generation;
	o->put.old_offset = old->put.offset;
	o->put.segment = to->rec.segment;
	o->put.generation = to->rec.generation;
	o->put.offset = offset;
	write_data(img, o);
	append_put(img, a, o);
	old->dead = true;
	return o;
}

void img_delete(struct img *img, struct img_ag *a, struct img_object *o)
{
	struct kvc_record rec = {
		.type = KVC_REC_DELETE,
		.del = { .hash = o->put.hash, .generation = o->put.generation,
			 .segment = o->put.segment, .offset = o->put.offset,
			 .tenant = o->put.tenant },
	};

	img_append(img, a, &rec);
	o->dead = true;
}

/* --- attach, detach, crash --- */

/* What a new owner does not learn. */
static void forget(struct img_ag *a)
{
	struct img_segment *s;
	u32 i;

	for (i = 0; i < a->nr_objects; i++) {
		struct img_object *o = &a->objects[i];

		s = img_segment(a, o->put.segment);
		if (o->dead && s->rec.state == KVC_SEG_OPEN)
			o->forgotten = true;
	}
	for (i = 0; i < a->nr_segments; i++) {
		s = &a->segments[i];
		s->inherited = s->rec.state == KVC_SEG_OPEN;
		/* A new owner starts the grace period anew. */
		if (s->rec.state == KVC_SEG_FREE)
			s->rec.state = KVC_SEG_RETIRED;
	}
}

static void start_empty(struct img_ag *a, u64 epoch)
{
	u32 i;

	for (i = 0; i < a->nr_segments; i++) {
		a->segments[i].rec = (struct kvc_segment_rec){
			.segment = a->first_segment + i,
			.state = KVC_SEG_RETIRED, .generation = epoch << 32,
		};
	}
}

static void take_over(struct img *img, struct img_ag *a, u32 slot,
		      enum img_attach_stage stage)
{
	u64 epoch = a->epoch + 1;
	u32 parts;

	if (a->base && epoch % KVC_NR_AREAS == a->base % KVC_NR_AREAS)
		epoch++;
	if (a->base)
		forget(a);
	else
		start_empty(a, epoch);
	a->epoch = epoch;
	a->writer.slot = slot;
	a->writer.incarnation = img->slots[slot].incarnation;
	a->next = 0;
	a->nr_pending = 0;
	write_header(img, a, 0);
	if (stage == IMG_HEADER)
		return;
	parts = write_checkpoint(img, a, 0);
	if (stage == IMG_CHECKPOINT_CUT) {
		write_checkpoint(img, a, img_random(img, parts));
		return;
	}
	a->next += write_checkpoint(img, a, U32_MAX);
	a->base = epoch;
}

void img_attach(struct img *img, u32 slot, enum img_attach_stage stage)
{
	struct kvc_slot_info *s = &img->slots[slot];
	u32 i;

	img->sequence++;
	img_write_labels(img);
	s->incarnation++;
	s->state = KVC_SLOT_JOINING;
	memset(s->boot_id, 0xb0 + s->incarnation, sizeof(s->boot_id));
	memset(s->attach_id, s->incarnation, sizeof(s->attach_id));
	strcpy(s->nqn, "nqn.2014-08.org.nvmexpress:uuid:test");
	strcpy(s->node, "host");
	for (i = 0; i < img->g.nr_ags; i++) {
		s->ags[i].followed_epoch = 0;
		s->ags[i].drained = 0;
	}
	img_write_slot(img, slot, ~0U);
	if (stage == IMG_JOINED)
		return;
	for (i = 0; i < img->g.nr_ags; i++) {
		take_over(img, &img->ags[i], slot, stage);
		if (stage != IMG_ATTACHED)
			return;
	}
	for (i = 0; i < img->g.nr_ags; i++) {
		s->ags[i].owned_epoch = img->ags[i].epoch;
		s->ags[i].followed_epoch = img->ags[i].epoch;
	}
	s->state = KVC_SLOT_ACTIVE;
	img_write_slot(img, slot, ~0U);
}

void img_detach(struct img *img, u32 slot)
{
	u32 i;

	for (i = 0; i < img->g.nr_ags; i++)
		img_flush(img, &img->ags[i]);
	img->slots[slot].state = KVC_SLOT_DOWN;
	img_write_slot(img, slot, ~0U);
}

/* What of the pending records is lost is undone in the model. */
static void undo_pending(struct img *img, struct img_ag *a, u32 kept)
{
	struct kvc_journal_info info;
	struct kvc_records it;
	struct kvc_record rec;
	u32 i, j;

	for (i = kept; i < a->nr_pending; i++) {
		u8 *block = a->pending + i * KVC_BLOCK_SIZE;

		/* It has no header yet, and needs one to be read. */
		kvc_block_finish(block, KVC_BLOCK_JOURNAL, img->g.uuid,
				 kvc_place_journal(&img->g, a->ag, a->epoch,
						   a->next + i),
				 a->next + i, &a->writer);
		if (kvc_journal_open(block, &img->g, &info, &it))
			die("a pending block can't be read");
		while (kvc_records_next(&it, &rec) == 1) {
			for (j = 0; j < a->nr_objects; j++) {
				struct img_object *o = &a->objects[j];

				if (rec.type == KVC_REC_PUT &&
				    o->put.segment == rec.put.segment &&
				    o->put.generation == rec.put.generation &&
				    o->put.offset == rec.put.offset)
					o->forgotten = o->dead = true;
				if (rec.type == KVC_REC_PUT && rec.put.moved &&
				    o->put.segment == rec.put.old_segment &&
				    o->put.generation == rec.put.old_generation &&
				    o->put.offset == rec.put.old_offset &&
				    !o->forgotten)
					o->dead = false;
				if (rec.type == KVC_REC_DELETE &&
				    o->put.segment == rec.del.segment &&
				    o->put.generation == rec.del.generation &&
				    o->put.offset == rec.del.offset &&
				    !o->forgotten)
					o->dead = false;
			}
			if (rec.type == KVC_REC_SEAL) {
				struct img_segment *s =
					img_segment(a, rec.seg.segment);

				s->rec = (struct kvc_segment_rec){
					.segment = rec.seg.segment,
					.state = KVC_SEG_OPEN,
					.generation = rec.seg.generation,
				};
			}
		}
	}
}

void img_crash(struct img *img)
{
	u32 i, kept, landed;

	for (i = 0; i < img->g.nr_ags; i++) {
		struct img_ag *a = &img->ags[i];

		if (!a->nr_pending)
			continue;
		landed = img_random(img, 1U << a->nr_pending);
		for (kept = 0; landed & 1U << kept; kept++)
			;
		undo_pending(img, a, kept);
		img_flush_torn(img, a, landed);
	}
}

/* --- random work --- */

static u32 random_live(struct img *img, struct img_ag *a)
{
	u32 tries, i;

	for (tries = 0; a->nr_objects && tries < 20; tries++) {
		i = img_random(img, a->nr_objects);
		if (!a->objects[i].dead)
			return i;
	}
	return U32_MAX;
}

/* An open segment that takes puts; opens one if there is a free one. */
static struct img_segment *open_segment(struct img *img, struct img_ag *a)
{
	struct img_segment *s = img_find(a, KVC_SEG_OPEN);

	if (s)
		return s;
	s = img_find(a, KVC_SEG_FREE);
	if (!s)
		s = img_find(a, KVC_SEG_RETIRED);
	if (s)
		img_open(img, a, s);
	return s;
}

/* The sealed segment with the lowest order. */
static struct img_segment *oldest(struct img_ag *a)
{
	struct img_segment *s = NULL;
	u32 i;

	for (i = 0; i < a->nr_segments; i++) {
		if (a->segments[i].rec.state == KVC_SEG_SEALED &&
		    (!s || a->segments[i].rec.order < s->rec.order))
			s = &a->segments[i];
	}
	return s;
}

static void evict(struct img *img, struct img_ag *a)
{
	struct img_segment *s = oldest(a), *to = img_find(a, KVC_SEG_OPEN);
	u32 i, nr = a->nr_objects;

	if (!s)
		return;
	for (i = 0; to && i < nr; i++) {
		if (is_of(&a->objects[i], s) && !a->objects[i].dead &&
		    !img_random(img, 4))
			img_move(img, a, to, i);
	}
	img_retire(img, a, s);
}

static void work_step(struct img *img, struct img_ag *a)
{
	struct img_segment *s;
	u32 i, what = img_random(img, 100);

	/* Room for what is pending, a checkpoint and a batch. */
	if (a->next + a->nr_pending - a->head > img->g.ring_blocks / 2)
		img_checkpoint(img, a, true);
	s = open_segment(img, a);
	if (what < 70) {
		if (!s)
			evict(img, a);
		else if (!img_put(img, a, s, 1 + img_random(img, 6 * 4096)))
			img_seal(img, a, s);
	} else if (what < 80) {
		i = random_live(img, a);
		if (i != U32_MAX)
			img_delete(img, a, &a->objects[i]);
	} else if (what < 85) {
		i = random_live(img, a);
		if (s && i != U32_MAX)
			img_move(img, a, s, i);
	} else if (what < 95) {
		img_flush(img, a);
	} else if (what < 97) {
		for (i = 0; i < a->nr_segments; i++) {
			s = &a->segments[i];
			if (s->rec.state == KVC_SEG_RETIRED)
				s->rec.state = KVC_SEG_FREE;
			if (s->rec.state == KVC_SEG_FREE)
				s->rec.order = 0;
		}
		img_checkpoint(img, a, true);
	} else if (what < 98) {
		/* Seal what a crash left open. */
		for (i = 0; i < a->nr_segments; i++) {
			s = &a->segments[i];
			if (s->rec.state == KVC_SEG_OPEN && s->inherited) {
				img_seal(img, a, s);
				break;
			}
		}
	} else {
		evict(img, a);
	}
}

void img_work(struct img *img, u32 steps)
{
	while (steps--)
		work_step(img, &img->ags[img_random(img, img->g.nr_ags)]);
}

int img_save(const struct img *img, const char *prefix)
{
	char name[512];
	FILE *file;
	u32 i;

	for (i = 0; i < img->g.nr_members; i++) {
		snprintf(name, sizeof(name), "%s.%u", prefix, i);
		file = fopen(name, "w");
		if (!file)
			return -errno;
		if (fwrite(img->members[i], KVC_BLOCK_SIZE,
			   img->g.members[i].blocks, file) !=
		    img->g.members[i].blocks) {
			fclose(file);
			return -EIO;
		}
		if (fclose(file))
			return -errno;
	}
	return 0;
}
