// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The codec of the media format: records, and the walk over those of a block.
 * What is said in kvc_codec.c of hostile input and of alignment holds here, too.
 */
#include "kvc_codec.h"

static_assert(sizeof(struct kvc_rec_header) == 8);
static_assert(sizeof(struct kvc_rec_put) == 88);
static_assert(sizeof(struct kvc_rec_delete) == 40);
static_assert(sizeof(struct kvc_rec_segment) == 48);
static_assert(sizeof(struct kvc_rec_checkpoint) == 32);
static_assert(sizeof(struct kvc_rec_ask) == 40);
static_assert(sizeof(struct kvc_rec_put) + KVC_MAX_KEY <= KVC_JOURNAL_DATA);

static void rec_header_encode(struct kvc_rec_header *r, u8 type, u8 flags,
			      u32 length, u32 segment)
{
	r->type = type;
	r->flags = flags;
	r->length = cpu_to_le16(length);
	r->segment = cpu_to_le32(segment);
}

static void hash_encode(__le64 *to, struct kvc_hash hash)
{
	to[0] = cpu_to_le64(hash.lo);
	to[1] = cpu_to_le64(hash.hi);
}

static struct kvc_hash hash_decode(const __le64 *from)
{
	struct kvc_hash hash = {
		.lo = le64_to_cpu(from[0]),
		.hi = le64_to_cpu(from[1]),
	};

	return hash;
}

static u32 put_encode(void *buf, u32 room, const struct kvc_put *p)
{
	struct kvc_rec_put *r = buf;
	u32 length = kvc_put_length(p->key_len);

	if (length > room)
		return 0;
	/* The last word holds the padding, and the key goes over it. */
	memset((u8 *)buf + length - 8, 0, 8);
	memcpy(r + 1, p->key, p->key_len);
	rec_header_encode(&r->r, KVC_REC_PUT, p->moved ? KVC_PUT_MOVED : 0,
			  length, p->segment);
	hash_encode(r->hash, p->hash);
	r->generation = cpu_to_le64(p->generation);
	r->offset = cpu_to_le32(p->offset);
	r->bytes = cpu_to_le32(p->bytes);
	r->data_crc = cpu_to_le32(p->data_crc);
	r->tenant = cpu_to_le32(p->tenant);
	r->expiry = cpu_to_le64(p->expiry);
	r->pin = cpu_to_le64(p->pin);
	r->key_len = cpu_to_le16(p->key_len);
	r->depth = cpu_to_le16(p->depth);
	r->old_segment = cpu_to_le32(p->moved ? p->old_segment : 0);
	r->old_generation = cpu_to_le64(p->moved ? p->old_generation : 0);
	r->old_offset = cpu_to_le32(p->moved ? p->old_offset : 0);
	r->reserved0 = 0;
	return length;
}

/* Does an object of @bytes fit into a segment at block @offset? */
static bool object_fits(const struct kvc_geometry *g, u32 offset, u32 bytes)
{
	return ((u64)offset << KVC_BLOCK_SHIFT) + bytes <=
		kvc_segment_bytes(g);
}

static bool put_decode(const void *buf, u32 length,
		       const struct kvc_geometry *g, struct kvc_put *p)
{
	const struct kvc_rec_put *r = buf;
	const __le64 *words = buf;
	u32 pad;

	if (length < sizeof(*r) || (r->r.flags & ~KVC_PUT_FLAGS_ALL) ||
	    r->reserved0)
		return false;
	p->segment = le32_to_cpu(r->r.segment);
	p->offset = le32_to_cpu(r->offset);
	p->bytes = le32_to_cpu(r->bytes);
	p->key_len = le16_to_cpu(r->key_len);
	if (p->segment >= g->nr_segments || !p->bytes ||
	    p->bytes > kvc_max_object(g) ||
	    !object_fits(g, p->offset, p->bytes))
		return false;
	if (!p->key_len || p->key_len > KVC_MAX_KEY ||
	    length != kvc_put_length(p->key_len))
		return false;
	pad = length - sizeof(*r) - p->key_len;
	if (pad && le64_to_cpu(words[length / 8 - 1]) >> (64 - 8 * pad))
		return false;

	p->moved = r->r.flags & KVC_PUT_MOVED;
	p->old_segment = le32_to_cpu(r->old_segment);
	p->old_offset = le32_to_cpu(r->old_offset);
	p->old_generation = le64_to_cpu(r->old_generation);
	if (!p->moved) {
		if (p->old_segment || p->old_offset || p->old_generation)
			return false;
	} else if (p->old_segment >= g->nr_segments ||
		   !object_fits(g, p->old_offset, p->bytes)) {
		return false;
	}

	p->hash = hash_decode(r->hash);
	p->generation = le64_to_cpu(r->generation);
	p->data_crc = le32_to_cpu(r->data_crc);
	p->tenant = le32_to_cpu(r->tenant);
	p->depth = le16_to_cpu(r->depth);
	p->expiry = le64_to_cpu(r->expiry);
	p->pin = le64_to_cpu(r->pin);
	p->key = (const u8 *)(r + 1);
	return true;
}

static u32 delete_encode(void *buf, u32 room, const struct kvc_delete *d)
{
	struct kvc_rec_delete *r = buf;

	if (sizeof(*r) > room)
		return 0;
	rec_header_encode(&r->r, KVC_REC_DELETE, 0, sizeof(*r), d->segment);
	hash_encode(r->hash, d->hash);
	r->generation = cpu_to_le64(d->generation);
	r->offset = cpu_to_le32(d->offset);
	r->tenant = cpu_to_le32(d->tenant);
	return sizeof(*r);
}

static bool delete_decode(const void *buf, u32 length,
			  const struct kvc_geometry *g, struct kvc_delete *d)
{
	const struct kvc_rec_delete *r = buf;

	if (length != sizeof(*r) || r->r.flags)
		return false;
	d->segment = le32_to_cpu(r->r.segment);
	d->offset = le32_to_cpu(r->offset);
	if (d->segment >= g->nr_segments || d->offset >= kvc_segment_blocks(g))
		return false;
	d->hash = hash_decode(r->hash);
	d->generation = le64_to_cpu(r->generation);
	d->tenant = le32_to_cpu(r->tenant);
	return true;
}

static u32 segment_encode(void *buf, u32 room, u32 type,
			  const struct kvc_segment_rec *s)
{
	struct kvc_rec_segment *r = buf;

	if (sizeof(*r) > room)
		return 0;
	memset(r, 0, sizeof(*r));
	rec_header_encode(&r->r, type, s->state, sizeof(*r), s->segment);
	r->generation = cpu_to_le64(s->generation);
	if (s->state == KVC_SEG_SEALED || s->state == KVC_SEG_RETIRED)
		r->order = cpu_to_le64(s->order);
	if (s->state == KVC_SEG_SEALED) {
		r->summary_segment = cpu_to_le32(s->summary_segment);
		r->summary_offset = cpu_to_le32(s->summary_offset);
		r->summary_blocks = cpu_to_le32(s->summary_blocks);
		r->summary_crc = cpu_to_le32(s->summary_crc);
		r->objects = cpu_to_le32(s->objects);
	}
	return sizeof(*r);
}

/* The most PUT records that a summary block holds. */
#define KVC_SUMMARY_PUTS	(KVC_SUMMARY_DATA / (sizeof(struct kvc_rec_put) + 8))

static bool summary_sound(const struct kvc_geometry *g,
			  const struct kvc_segment_rec *s)
{
	if (s->state != KVC_SEG_SEALED)
		return !s->summary_segment && !s->summary_offset &&
		       !s->summary_blocks && !s->summary_crc && !s->objects;
	return s->summary_segment < g->nr_segments &&
	       s->summary_offset <= kvc_segment_blocks(g) &&
	       s->summary_blocks <= kvc_segment_blocks(g) - s->summary_offset &&
	       s->objects <= s->summary_blocks * KVC_SUMMARY_PUTS;
}

static bool segment_decode(const void *buf, u32 length,
			   const struct kvc_geometry *g,
			   struct kvc_segment_rec *s)
{
	const struct kvc_rec_segment *r = buf;

	if (length != sizeof(*r) || r->reserved0)
		return false;
	s->segment = le32_to_cpu(r->r.segment);
	s->state = r->r.flags;
	s->generation = le64_to_cpu(r->generation);
	s->order = le64_to_cpu(r->order);
	s->summary_segment = le32_to_cpu(r->summary_segment);
	s->summary_offset = le32_to_cpu(r->summary_offset);
	s->summary_blocks = le32_to_cpu(r->summary_blocks);
	s->summary_crc = le32_to_cpu(r->summary_crc);
	s->objects = le32_to_cpu(r->objects);
	if (s->segment >= g->nr_segments || s->order > KVC_MAX_POSITION)
		return false;

	switch (r->r.type) {
	case KVC_REC_OPEN:
		if (s->state != KVC_SEG_OPEN)
			return false;
		break;
	case KVC_REC_SEAL:
		if (s->state != KVC_SEG_SEALED)
			return false;
		break;
	case KVC_REC_RETIRE:
		if (s->state != KVC_SEG_RETIRED)
			return false;
		break;
	default:
		if (s->state > KVC_SEG_RETIRED)
			return false;
	}
	if (s->order && s->state != KVC_SEG_SEALED &&
	    s->state != KVC_SEG_RETIRED)
		return false;
	return summary_sound(g, s);
}

static u32 checkpoint_encode(void *buf, u32 room,
			     const struct kvc_checkpoint_rec *c)
{
	struct kvc_rec_checkpoint *r = buf;

	if (sizeof(*r) > room)
		return 0;
	rec_header_encode(&r->r, KVC_REC_CHECKPOINT, 0, sizeof(*r), c->part);
	r->parts = cpu_to_le32(c->parts);
	r->reserved0 = 0;
	r->start = cpu_to_le64(c->start);
	r->next_order = cpu_to_le64(c->next_order);
	return sizeof(*r);
}

static bool checkpoint_decode(const void *buf, u32 length,
			      const struct kvc_geometry *g,
			      struct kvc_checkpoint_rec *c)
{
	const struct kvc_rec_checkpoint *r = buf;

	if (length != sizeof(*r) || r->r.flags || r->reserved0)
		return false;
	c->part = le32_to_cpu(r->r.segment);
	c->parts = le32_to_cpu(r->parts);
	c->start = le64_to_cpu(r->start);
	c->next_order = le64_to_cpu(r->next_order);
	return c->part < c->parts && c->parts <= g->ring_blocks &&
	       c->start <= KVC_MAX_POSITION &&
	       c->next_order <= KVC_MAX_POSITION;
}

static u32 ask_encode(void *buf, u32 room, const struct kvc_ask_rec *a)
{
	struct kvc_rec_ask *r = buf;

	if (sizeof(*r) > room)
		return 0;
	rec_header_encode(&r->r, KVC_REC_ASK, a->kind, sizeof(*r),
			  KVC_NO_SEGMENT);
	hash_encode(r->hash, a->hash);
	r->tenant = cpu_to_le32(a->tenant);
	r->ag = cpu_to_le32(a->ag);
	r->count = cpu_to_le32(a->kind == KVC_ASK_TOUCH ? a->count : 0);
	r->reserved0 = 0;
	return sizeof(*r);
}

static bool ask_decode(const void *buf, u32 length,
		       const struct kvc_geometry *g, struct kvc_ask_rec *a)
{
	const struct kvc_rec_ask *r = buf;

	if (length != sizeof(*r) || r->reserved0 ||
	    le32_to_cpu(r->r.segment) != KVC_NO_SEGMENT)
		return false;
	a->hash = hash_decode(r->hash);
	a->kind = r->r.flags;
	a->tenant = le32_to_cpu(r->tenant);
	a->ag = le32_to_cpu(r->ag);
	a->count = le32_to_cpu(r->count);
	return a->ag < g->nr_ags &&
	       (a->kind == KVC_ASK_TOUCH ||
		(a->kind == KVC_ASK_DELETE && !a->count));
}

u32 kvc_record_encode(void *buf, u32 room, const struct kvc_record *rec)
{
	switch (rec->type) {
	case KVC_REC_PUT:
		return put_encode(buf, room, &rec->put);
	case KVC_REC_DELETE:
		return delete_encode(buf, room, &rec->del);
	case KVC_REC_OPEN:
	case KVC_REC_SEAL:
	case KVC_REC_RETIRE:
	case KVC_REC_SEGMENT:
		return segment_encode(buf, room, rec->type, &rec->seg);
	case KVC_REC_CHECKPOINT:
		return checkpoint_encode(buf, room, &rec->checkpoint);
	case KVC_REC_ASK:
		return ask_encode(buf, room, &rec->ask);
	default:
		return 0;
	}
}

int kvc_record_decode(const void *buf, u32 room, const struct kvc_geometry *g,
		      struct kvc_record *rec)
{
	const struct kvc_rec_header *r = buf;
	u32 length;
	bool sound;

	if (room < sizeof(*r))
		return -EINVAL;
	length = le16_to_cpu(r->length);
	if (length > room || length % 8)
		return -EINVAL;
	rec->type = r->type;
	switch (r->type) {
	case KVC_REC_PUT:
		sound = put_decode(buf, length, g, &rec->put);
		break;
	case KVC_REC_DELETE:
		sound = delete_decode(buf, length, g, &rec->del);
		break;
	case KVC_REC_OPEN:
	case KVC_REC_SEAL:
	case KVC_REC_RETIRE:
	case KVC_REC_SEGMENT:
		sound = segment_decode(buf, length, g, &rec->seg);
		break;
	case KVC_REC_CHECKPOINT:
		sound = checkpoint_decode(buf, length, g, &rec->checkpoint);
		break;
	case KVC_REC_ASK:
		sound = ask_decode(buf, length, g, &rec->ask);
		break;
	default:
		sound = false;
	}
	return sound ? (int)length : -EINVAL;
}

/* May this record stand in the block that is walked? */
static bool record_belongs(const struct kvc_records *it,
			   const struct kvc_record *rec)
{
	switch (rec->type) {
	case KVC_REC_PUT:
		if (rec->put.segment - it->first_segment >= it->nr_segments)
			return false;
		if (it->summary)
			return rec->put.generation == it->generation;
		return !rec->put.moved ||
		       rec->put.old_segment - it->first_segment <
				it->nr_segments;
	case KVC_REC_DELETE:
		return !it->summary &&
		       rec->del.segment - it->first_segment < it->nr_segments;
	case KVC_REC_OPEN:
	case KVC_REC_SEAL:
	case KVC_REC_RETIRE:
	case KVC_REC_SEGMENT:
		if (it->summary ||
		    rec->seg.segment - it->first_segment >= it->nr_segments)
			return false;
		return rec->seg.state != KVC_SEG_SEALED ||
		       rec->seg.summary_segment - it->first_segment <
				it->nr_segments;
	default:
		return !it->summary;
	}
}

int kvc_records_next(struct kvc_records *it, struct kvc_record *rec)
{
	int length;

	if (!it->count)
		return it->left ? -EINVAL : 0;
	length = kvc_record_decode(it->at, it->left, it->g, rec);
	if (length < 0)
		return length;
	if (!record_belongs(it, rec))
		return -EINVAL;
	it->at += length;
	it->left -= length;
	it->count--;
	return 1;
}

bool kvc_records_open(struct kvc_records *it, const struct kvc_geometry *g,
		      const u8 *data, u32 count, u32 used)
{
	it->at = data;
	it->left = used;
	it->count = count;
	it->g = g;
	return used <= KVC_JOURNAL_DATA && used % 8 == 0 &&
	       count <= used / sizeof(struct kvc_rec_header) &&
	       !count == !used;
}
