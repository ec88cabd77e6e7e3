// SPDX-License-Identifier: MIT
/*
 * What an AG holds, as its journal's records tell it, and whether the records
 * keep to the rules. See poolread.h.
 *
 * A record that breaks a rule is reported and then believed as far as that
 * makes sense, so that one mistake is told once.
 */
#include <stdio.h>
#include <stdlib.h>
#include "poolread.h"

/* Clocks of hosts differ: within this, an object may have expired or not. */
#define CLOCK_SKEW_S	300

/* --- memory --- */

#define CHUNK_BYTES	(64U << 10)

struct pr_chunk {
	struct pr_chunk *next;
	u32 used;
	u8 bytes[CHUNK_BYTES];
};

static const u8 *keep_key(struct pr_view *v, const u8 *key, u32 len)
{
	struct pr_chunk *c = v->keys;
	u8 *kept;

	if (!c || c->used + len > CHUNK_BYTES) {
		c = malloc(sizeof(*c));
		if (!c) {
			v->no_memory = true;
			return NULL;
		}
		c->next = v->keys;
		c->used = 0;
		v->keys = c;
	}
	kept = c->bytes + c->used;
	memcpy(kept, key, len);
	c->used += len;
	return kept;
}

/* --- findings --- */

static struct pr_where view_where(const struct pr_view *v, u64 position,
				  u32 segment)
{
	struct pr_where w = pr_nowhere();

	if (position != PR_NONE64)
		w = pr_at(v->pool, kvc_place_journal(&v->pool->g, v->ag,
						     v->epoch, position));
	w.ag = v->ag;
	w.epoch = v->epoch;
	w.position = position;
	w.segment = segment;
	return w;
}

#define found(v, code, where, ...) \
	found_as(v, code, pr_code_info(code)->severity, where, __VA_ARGS__)

#define found_as(v, code, severity, where, ...) do {			\
	struct pr_where found_at = (where);				\
	if (!(v)->quiet)						\
		pr_found((v)->pool, code, severity, &found_at,		\
			 __VA_ARGS__);					\
} while (0)

/* --- objects --- */

static bool holds_objects(const struct pr_segment *s)
{
	return s->rec.state == KVC_SEG_OPEN || s->rec.state == KVC_SEG_SEALED;
}

struct pr_segment *pr_view_segment(const struct pr_view *v, u32 segment)
{
	u32 index = segment - v->first_segment;

	return index < v->nr_segments ? &v->segments[index] : NULL;
}

static bool same_hash(struct kvc_hash a, struct kvc_hash b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/*
 * Where an object's chain begins. What is live is looked for by its hash, what
 * is dead only by its place: a key that is put and deleted again and again
 * leaves many dead objects of one hash.
 */
static u32 *chain_live(const struct pr_view *v, struct kvc_hash hash)
{
	return &v->live[(hash.lo ^ hash.hi) & (v->nr_buckets - 1)];
}

static u32 *chain_dead(const struct pr_view *v, u32 segment, u64 generation,
		       u32 offset)
{
	u64 x = ((u64)segment << 32 | offset) ^ generation << 20;

	x *= 0x9e3779b97f4a7c15ULL;
	return &v->dead[x >> 32 & (v->nr_buckets - 1)];
}

static u32 *chain_of(const struct pr_view *v, const struct pr_object *o)
{
	return o->dead ?
		chain_dead(v, o->segment, o->generation, o->offset) :
		chain_live(v, o->hash);
}

static struct pr_object *find_in(const struct pr_view *v, u32 i,
				 struct kvc_hash hash, u32 segment,
				 u64 generation, u32 offset)
{
	for (; i != PR_NONE; i = v->objects[i].next_hash) {
		struct pr_object *o = &v->objects[i];

		if (same_hash(o->hash, hash) && o->segment == segment &&
		    o->generation == generation && o->offset == offset)
			return o;
	}
	return NULL;
}

struct pr_object *pr_view_find(const struct pr_view *v, struct kvc_hash hash,
			       u32 segment, u64 generation, u32 offset)
{
	struct pr_object *o;

	o = find_in(v, *chain_live(v, hash), hash, segment, generation,
		    offset);
	if (!o)
		o = find_in(v, *chain_dead(v, segment, generation, offset),
			    hash, segment, generation, offset);
	return o;
}

static void set_dead(struct pr_view *v, struct pr_object *o)
{
	u32 index = o - v->objects;
	u32 *link;

	if (o->dead)
		return;
	for (link = chain_live(v, o->hash); *link != index;
	     link = &v->objects[*link].next_hash)
		;
	*link = o->next_hash;
	o->dead = true;
	link = chain_of(v, o);
	o->next_hash = *link;
	*link = index;
}

bool pr_expired(const struct pr_pool *p, const struct pr_object *o)
{
	return o->expiry && p->now && o->expiry <= p->now + CLOCK_SKEW_S;
}

bool pr_object_live(const struct pr_view *v, const struct pr_object *o)
{
	const struct pr_segment *s = pr_view_segment(v, o->segment);

	return !o->dead && s && s->rec.generation == o->generation &&
	       holds_objects(s);
}

/* Another object that is there under the same key, or NULL. */
static struct pr_object *find_live(const struct pr_view *v,
				   struct kvc_hash hash)
{
	u32 i = *chain_live(v, hash);

	for (; i != PR_NONE; i = v->objects[i].next_hash) {
		struct pr_object *o = &v->objects[i];

		if (same_hash(o->hash, hash) && pr_object_live(v, o))
			return o;
	}
	return NULL;
}

/* Tables of chains without objects; keeps the old ones if there is no memory. */
static bool new_buckets(struct pr_view *v, u32 nr)
{
	u32 *live = malloc(nr * sizeof(*live));
	u32 *dead = malloc(nr * sizeof(*dead));

	if (!live || !dead) {
		free(live);
		free(dead);
		return false;
	}
	memset(live, 0xff, nr * sizeof(*live));
	memset(dead, 0xff, nr * sizeof(*dead));
	free(v->live);
	free(v->dead);
	v->live = live;
	v->dead = dead;
	v->nr_buckets = nr;
	return true;
}

static void grow_buckets(struct pr_view *v)
{
	u32 i, *chain;

	if (v->nr_buckets > U32_MAX / 2 || !new_buckets(v, v->nr_buckets * 2))
		return;		/* longer chains, no more */
	for (i = 0; i < v->nr_objects; i++) {
		chain = chain_of(v, &v->objects[i]);
		v->objects[i].next_hash = *chain;
		*chain = i;
	}
}

#define FEWEST_BUCKETS	1024

int pr_view_init(struct pr_view *v, struct pr_pool *p, u32 ag, u64 epoch)
{
	u32 i;

	memset(v, 0, sizeof(*v));
	v->pool = p;
	v->ag = ag;
	v->epoch = epoch;
	v->first_segment = kvc_ag_first_segment(&p->g, ag);
	v->nr_segments = kvc_ag_nr_segments(&p->g, ag);
	v->segments = calloc(v->nr_segments, sizeof(*v->segments));
	if (!v->segments || !new_buckets(v, FEWEST_BUCKETS)) {
		pr_view_free(v);
		return -ENOMEM;
	}
	for (i = 0; i < v->nr_segments; i++) {
		v->segments[i].rec.segment = v->first_segment + i;
		v->segments[i].first = PR_NONE;
	}
	return 0;
}

void pr_view_free(struct pr_view *v)
{
	struct pr_chunk *c, *next;

	for (c = v->keys; c; c = next) {
		next = c->next;
		free(c);
	}
	free(v->segments);
	free(v->objects);
	free(v->live);
	free(v->dead);
	memset(v, 0, sizeof(*v));
}

static struct pr_object *add_object(struct pr_view *v,
				    const struct pr_object *object)
{
	struct pr_segment *s = pr_view_segment(v, object->segment);
	struct pr_object *o;
	u32 *chain;

	if (v->nr_objects == v->room_objects) {
		u32 room = v->room_objects ? v->room_objects * 2 : 256;

		if (room < v->room_objects)
			o = NULL;
		else
			o = reallocarray(v->objects, room, sizeof(*o));
		if (!o) {
			v->no_memory = true;
			return NULL;
		}
		v->objects = o;
		v->room_objects = room;
	}
	if (v->nr_objects >= v->nr_buckets)
		grow_buckets(v);
	o = &v->objects[v->nr_objects];
	*o = *object;
	chain = chain_of(v, o);
	o->next_hash = *chain;
	*chain = v->nr_objects;
	o->next_segment = s->first;
	s->first = v->nr_objects++;
	return o;
}

static struct pr_object *add_put(struct pr_view *v, const struct kvc_put *p,
				 u64 position)
{
	struct pr_object o = {
		.hash = p->hash,
		.generation = p->generation,
		.expiry = p->expiry,
		.pin = p->pin,
		.position = position,
		.segment = p->segment,
		.offset = p->offset,
		.bytes = p->bytes,
		.data_crc = p->data_crc,
		.tenant = p->tenant,
		.key_len = p->key_len,
		.depth = p->depth,
	};

	o.key = keep_key(v, p->key, p->key_len);
	return o.key ? add_object(v, &o) : NULL;
}

/* Remember that something is dead of which nothing else is known. */
static void add_dead(struct pr_view *v, struct kvc_hash hash, u32 tenant,
		     u32 segment, u64 generation, u32 offset, u64 position)
{
	struct pr_object o = {
		.hash = hash,
		.generation = generation,
		.position = position,
		.segment = segment,
		.offset = offset,
		.tenant = tenant,
		.dead = true,
	};

	add_object(v, &o);
}

static u32 object_blocks(const struct pr_object *o)
{
	return DIV_ROUND_UP((u64)o->bytes, KVC_BLOCK_SIZE);
}

/* What holds of every PUT, wherever it stands. */
static void judge_put(struct pr_view *v, const struct kvc_put *p,
		      struct pr_where w)
{
	struct kvc_hash hash;

	if (v->quiet)
		return;
	hash = kvc_key_hash(v->pool->g.hash_key, p->tenant, p->key,
			    p->key_len);
	if (!same_hash(hash, p->hash))
		found(v, PR_KEY_HASH, w,
		      "the object at segment %u, block %u has the hash %016llx%016llx, its key %016llx%016llx",
		      p->segment, p->offset, p->hash.hi, p->hash.lo, hash.hi,
		      hash.lo);
	if ((v->pool->g.flags & KVC_POOL_NO_DATA_CRC) && p->data_crc)
		found(v, PR_OBJECT_CRC_UNWANTED, w,
		      "the object at segment %u, block %u has the checksum %08x",
		      p->segment, p->offset, p->data_crc);
}

/* --- extents --- */

struct extent {
	u32 first;
	u32 blocks;
	u32 object;	/* PR_NONE: a summary */
};

static int by_first(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void tell_overlap(struct pr_view *v, const struct pr_segment *s,
			 const struct extent *a, const struct extent *b)
{
	const struct pr_object *o;

	if (a->object == PR_NONE || b->object == PR_NONE) {
		o = &v->objects[a->object == PR_NONE ? b->object : a->object];
		found(v, PR_OBJECT_IN_SUMMARY,
		      view_where(v, o->position, s->rec.segment),
		      "the object at block %u, %u blocks long, reaches into a summary at block %u",
		      o->offset, object_blocks(o),
		      a->object == PR_NONE ? a->first : b->first);
		return;
	}
	o = &v->objects[b->object];
	found(v, PR_OBJECT_OVERLAP,
	      view_where(v, o->position, s->rec.segment),
	      "the objects at blocks %u to %u and %u to %u overlap",
	      a->first, a->first + a->blocks - 1, b->first,
	      b->first + b->blocks - 1);
}

/* Does anything else keep its summary in this segment? */
static bool is_summary_of_another(const struct pr_segment *other,
				  const struct pr_segment *s)
{
	return other != s && other->rec.state == KVC_SEG_SEALED &&
	       other->rec.summary_segment == s->rec.segment &&
	       other->rec.summary_blocks;
}

/*
 * No two objects of one life of a segment overlap, dead ones included, and
 * none reaches into a summary.
 */
static void judge_extents(struct pr_view *v, const struct pr_segment *s,
			  bool foreign_summaries)
{
	struct extent *e;
	u32 nr = 0, room = 1, i, last;

	if (v->quiet)
		return;
	for (i = s->first; i != PR_NONE; i = v->objects[i].next_segment)
		room++;
	if (foreign_summaries)
		room += v->nr_segments;
	e = malloc(room * sizeof(*e));
	if (!e) {
		v->no_memory = true;
		return;
	}
	for (i = s->first; i != PR_NONE; i = v->objects[i].next_segment) {
		const struct pr_object *o = &v->objects[i];

		if (o->key && o->generation == s->rec.generation)
			e[nr++] = (struct extent){ o->offset, object_blocks(o),
						   i };
	}
	if (s->rec.state == KVC_SEG_SEALED && s->rec.summary_blocks &&
	    s->rec.summary_segment == s->rec.segment)
		e[nr++] = (struct extent){ s->rec.summary_offset,
					   s->rec.summary_blocks, PR_NONE };
	for (i = 0; foreign_summaries && i < v->nr_segments; i++) {
		const struct kvc_segment_rec *r = &v->segments[i].rec;

		if (is_summary_of_another(&v->segments[i], s))
			e[nr++] = (struct extent){ r->summary_offset,
						   r->summary_blocks, PR_NONE };
	}
	qsort(e, nr, sizeof(*e), by_first);
	for (i = 1, last = 0; i < nr; i++) {
		if (e[i].first < e[last].first + e[last].blocks &&
		    (e[i].object != PR_NONE || e[last].object != PR_NONE))
			tell_overlap(v, s, &e[last], &e[i]);
		if (e[i].first + e[i].blocks > e[last].first + e[last].blocks)
			last = i;
	}
	free(e);
}

/* --- records of the journal --- */

static void judge_generation(struct pr_view *v, const struct pr_segment *s,
			     const struct kvc_segment_rec *r, struct pr_where w)
{
	if (r->generation >> 32 > v->epoch)
		found(v, PR_GENERATION, w,
		      "segment %u has the generation %llx, of an epoch that has not been",
		      r->segment, r->generation);
	else if (s && r->generation <= s->rec.generation)
		found(v, PR_GENERATION, w,
		      "segment %u is opened with generation %llx, and had %llx before",
		      r->segment, r->generation, s->rec.generation);
	else if (s && r->generation != s->rec.generation + 1)
		found_as(v, PR_GENERATION, PR_WARNING, w,
			 "segment %u is opened with generation %llx after %llx",
			 r->segment, r->generation, s->rec.generation);
}

static void kill_objects(struct pr_view *v, const struct pr_segment *s)
{
	u32 i;

	for (i = s->first; i != PR_NONE; i = v->objects[i].next_segment)
		set_dead(v, &v->objects[i]);
}

static void take_open(struct pr_view *v, const struct kvc_segment_rec *r,
		      u64 position)
{
	struct pr_segment *s = pr_view_segment(v, r->segment);
	struct pr_where w = view_where(v, position, r->segment);

	if (s->rec.state != KVC_SEG_FREE && s->rec.state != KVC_SEG_RETIRED)
		found(v, PR_OPEN_STATE, w,
		      "segment %u is opened while it is %s with generation %llx",
		      r->segment, pr_state_name(s->rec.state),
		      s->rec.generation);
	judge_generation(v, s, r, w);
	kill_objects(v, s);
	s->rec = *r;
	s->first = PR_NONE;
	s->opaque = false;
	s->partial = false;
	s->inherited = false;
	s->sealed_here = false;
	s->summary_bad = false;
}

/* Is a summary where one may be? */
static void judge_summary_place(struct pr_view *v,
				const struct kvc_segment_rec *r,
				struct pr_where w)
{
	if (r->summary_blocks && r->summary_segment == r->segment &&
	    r->summary_offset + r->summary_blocks !=
	    kvc_segment_blocks(&v->pool->g))
		found(v, PR_SUMMARY_PLACE, w,
		      "the summary of segment %u takes blocks %u to %u, which is not its end",
		      r->segment, r->summary_offset,
		      r->summary_offset + r->summary_blocks - 1);
}

static void take_seal(struct pr_view *v, const struct kvc_segment_rec *r,
		      u64 position)
{
	struct pr_segment *s = pr_view_segment(v, r->segment);
	struct pr_where w = view_where(v, position, r->segment);

	if (s->rec.state != KVC_SEG_OPEN ||
	    s->rec.generation != r->generation)
		found(v, PR_SEAL_STATE, w,
		      "segment %u is sealed with generation %llx while it is %s with %llx",
		      r->segment, r->generation, pr_state_name(s->rec.state),
		      s->rec.generation);
	if (r->order < v->next_order)
		found(v, PR_SEAL_ORDER, w,
		      "segment %u is sealed with order %llu, and %llu was taken before",
		      r->segment, r->order, v->next_order - 1);
	else
		v->next_order = r->order + 1;
	judge_summary_place(v, r, w);
	s->rec = *r;
	s->sealed_here = true;
}

static void take_retire(struct pr_view *v, const struct kvc_segment_rec *r,
			u64 position)
{
	struct pr_segment *s = pr_view_segment(v, r->segment);
	struct pr_where w = view_where(v, position, r->segment);

	if (!holds_objects(s) || s->rec.generation != r->generation)
		found(v, PR_RETIRE_STATE, w,
		      "segment %u is retired with generation %llx while it is %s with %llx",
		      r->segment, r->generation, pr_state_name(s->rec.state),
		      s->rec.generation);
	/* The writer may not know the position before the record is placed. */
	if (r->order && r->order != position)
		found(v, PR_RETIRE_ORDER, w,
		      "segment %u is retired at position %llu, and its RETIRE says %llu",
		      r->segment, position, r->order);
	judge_extents(v, s, false);
	kill_objects(v, s);
	s->rec = *r;
	s->first = PR_NONE;
}

static void take_move(struct pr_view *v, const struct kvc_put *p, u64 position)
{
	struct pr_segment *s = pr_view_segment(v, p->old_segment);
	struct pr_where w = view_where(v, position, p->segment);
	struct pr_object *o;

	if (!s)
		return;		/* the codec refuses that */
	if (!holds_objects(s) || s->rec.generation != p->old_generation) {
		found(v, PR_MOVE_STALE, w,
		      "the object at segment %u, block %u came from segment %u, generation %llx, which is %s with %llx",
		      p->segment, p->offset, p->old_segment,
		      p->old_generation, pr_state_name(s->rec.state),
		      s->rec.generation);
		return;
	}
	o = pr_view_find(v, p->hash, p->old_segment, p->old_generation,
			 p->old_offset);
	if (!o) {
		if (!s->opaque)
			found(v, PR_MOVE_STALE, w,
			      "the object at segment %u, block %u came from segment %u, block %u, where it never was",
			      p->segment, p->offset, p->old_segment,
			      p->old_offset);
		add_dead(v, p->hash, p->tenant, p->old_segment,
			 p->old_generation, p->old_offset, position);
		return;
	}
	if (o->dead && !pr_expired(v->pool, o))
		found(v, PR_MOVE_STALE, w,
		      "the object at segment %u, block %u came from segment %u, block %u, where it was dead",
		      p->segment, p->offset, p->old_segment, p->old_offset);
	if (o->key && (o->bytes != p->bytes || o->data_crc != p->data_crc ||
		       o->tenant != p->tenant || o->key_len != p->key_len ||
		       memcmp(o->key, p->key, p->key_len)))
		found(v, PR_MOVE_DIFFERS, w,
		      "the object at segment %u, block %u has %u bytes and checksum %08x, and had %u and %08x at segment %u, block %u",
		      p->segment, p->offset, p->bytes, p->data_crc, o->bytes,
		      o->data_crc, p->old_segment, p->old_offset);
	set_dead(v, o);
}

/* A key that is there already makes a second copy, unless that has expired. */
static void judge_twice(struct pr_view *v, struct kvc_hash hash, u32 segment,
			u32 offset, struct pr_where w)
{
	struct pr_object *o = find_live(v, hash);

	if (!o)
		return;
	if (!pr_expired(v->pool, o))
		found_as(v, PR_KEY_TWICE,
			 o->expiry ? PR_WARNING : PR_ERROR, w,
			 "the object at segment %u, block %u is also at segment %u, block %u",
			 segment, offset, o->segment, o->offset);
	set_dead(v, o);
}

static void take_put(struct pr_view *v, const struct kvc_put *p, u64 position)
{
	struct pr_segment *s = pr_view_segment(v, p->segment);
	struct pr_where w = view_where(v, position, p->segment);

	judge_put(v, p, w);
	if (p->moved)
		take_move(v, p, position);
	if (s->rec.state != KVC_SEG_OPEN ||
	    s->rec.generation != p->generation) {
		found(v, PR_PUT_UNOPENED, w,
		      "an object is put to segment %u with generation %llx while it is %s with %llx",
		      p->segment, p->generation, pr_state_name(s->rec.state),
		      s->rec.generation);
		return;
	}
	if (s->inherited)
		found(v, PR_PUT_INHERITED, w,
		      "an object is put to segment %u, which was open when epoch %llu began",
		      p->segment, v->epoch);
	judge_twice(v, p->hash, p->segment, p->offset, w);
	add_put(v, p, position);
}

/*
 * Take a DELETE for a segment that has objects, in the right generation. A
 * checkpoint may delete what the summary does not list: whoever has loaded the
 * segment from the records before its SEAL could not know that.
 */
static void kill(struct pr_view *v, const struct pr_segment *s,
		 const struct kvc_delete *d, u64 position, bool checkpoint)
{
	const char *who = checkpoint ? "the checkpoint" : "the journal";
	struct pr_where w = view_where(v, position, d->segment);
	struct pr_object *o;

	o = pr_view_find(v, d->hash, d->segment, d->generation, d->offset);
	if (o) {
		if (o->dead && !pr_expired(v->pool, o))
			found(v, PR_DELETE_UNKNOWN, w,
			      "%s deletes the object at segment %u, block %u, which is dead",
			      who, d->segment, d->offset);
		set_dead(v, o);
		return;
	}
	if (!s->opaque && !checkpoint)
		found(v, PR_DELETE_UNKNOWN, w,
		      "%s deletes an object at segment %u, block %u, where there is no such one",
		      who, d->segment, d->offset);
	add_dead(v, d->hash, d->tenant, d->segment, d->generation, d->offset,
		 position);
}

static void take_delete(struct pr_view *v, const struct kvc_delete *d,
			u64 position)
{
	struct pr_segment *s = pr_view_segment(v, d->segment);
	/* Deleted while the RETIRE was under way, or later: no matter. */
	bool late = d->generation <= s->rec.generation;

	if (holds_objects(s) && s->rec.generation == d->generation)
		kill(v, s, d, position, false);
	else
		found_as(v, PR_DELETE_UNKNOWN, late ? PR_INFO : PR_WARNING,
			 view_where(v, position, d->segment),
			 "a DELETE is for segment %u, generation %llx, which is %s with %llx",
			 d->segment, d->generation,
			 pr_state_name(s->rec.state), s->rec.generation);
}

static void judge_ask(struct pr_view *v, const struct kvc_ask_rec *a,
		      u64 position)
{
	if (a->ag == v->ag)
		found(v, PR_RECORD_UNEXPECTED,
		      view_where(v, position, PR_NONE),
		      "an ASK is for the group in whose journal it stands");
}

static void take_record(struct pr_view *v, const struct kvc_record *rec,
			u64 position)
{
	switch (rec->type) {
	case KVC_REC_OPEN:
		take_open(v, &rec->seg, position);
		break;
	case KVC_REC_SEAL:
		take_seal(v, &rec->seg, position);
		break;
	case KVC_REC_RETIRE:
		take_retire(v, &rec->seg, position);
		break;
	case KVC_REC_PUT:
		take_put(v, &rec->put, position);
		break;
	case KVC_REC_DELETE:
		take_delete(v, &rec->del, position);
		break;
	case KVC_REC_ASK:
		judge_ask(v, &rec->ask, position);
		break;
	default:
		found(v, PR_RECORD_UNEXPECTED,
		      view_where(v, position, PR_NONE),
		      "a %s record stands outside of a checkpoint",
		      rec->type == KVC_REC_SEGMENT ? "SEGMENT" : "CHECKPOINT");
	}
}

static void judge_writer(struct pr_view *v, const struct kvc_writer *w,
			 u64 position)
{
	if (w->slot != v->owner.slot || w->incarnation != v->owner.incarnation)
		found(v, PR_JOURNAL_WRITER, view_where(v, position, PR_NONE),
		      "the block was written by slot %u, incarnation %llu, and the area's owner is slot %u, incarnation %llu",
		      w->slot, w->incarnation, v->owner.slot,
		      v->owner.incarnation);
}

void pr_view_apply(struct pr_view *v, struct pr_ring *ring, u64 position)
{
	struct kvc_journal_info info;
	struct kvc_records records;
	struct kvc_record rec;
	int got;

	if (pr_ring_look(ring, v->epoch, position, &info, &records) !=
	    PR_STANDS)
		return;
	judge_writer(v, &info.writer, position);
	while ((got = kvc_records_next(&records, &rec)) == 1)
		take_record(v, &rec, position);
	if (got < 0)
		found(v, PR_JOURNAL_MALFORMED,
		      view_where(v, position, PR_NONE),
		      "record %u of %u can't be taken apart",
		      info.count - records.count + 1, info.count);
}

/* --- checkpoints --- */

/* Order of the records in a checkpoint. */
enum {
	SEGMENTS,
	PUTS,
	DELETES,
};

static void list_segment(struct pr_view *v, const struct kvc_segment_rec *r,
			 bool first_of_epoch, const struct pr_view *final,
			 u64 position)
{
	struct pr_segment *s = pr_view_segment(v, r->segment);
	struct pr_where w = view_where(v, position, r->segment);
	const struct pr_segment *last;

	if (s->listed) {
		found(v, PR_CHECKPOINT_SEGMENTS, w,
		      "the checkpoint lists segment %u twice", r->segment);
		return;
	}
	s->listed = true;
	s->rec = *r;
	judge_generation(v, NULL, r, w);
	switch (r->state) {
	case KVC_SEG_OPEN:
		s->partial = true;
		s->inherited = first_of_epoch;
		break;
	case KVC_SEG_SEALED:
		if (r->order >= v->next_order)
			found(v, PR_SEAL_ORDER, w,
			      "segment %u is sealed with order %llu, and the next one to be taken is %llu",
			      r->segment, r->order, v->next_order);
		judge_summary_place(v, r, w);
		/* What has been opened again since can't be read any more. */
		last = final ? pr_view_segment(final, r->segment) : NULL;
		s->opaque = !last || last->rec.state != KVC_SEG_SEALED ||
			    last->rec.generation != r->generation;
		if (!s->opaque)
			pr_summary_load(v, s, false);
		break;
	}
}

static void list_put(struct pr_view *v, const struct kvc_put *p, u64 position)
{
	const struct pr_segment *s = pr_view_segment(v, p->segment);
	struct pr_where w = view_where(v, position, p->segment);

	judge_put(v, p, w);
	if (!s->listed || s->rec.state != KVC_SEG_OPEN ||
	    s->rec.generation != p->generation) {
		found(v, PR_CHECKPOINT_ENTRY, w,
		      "the checkpoint has an object of segment %u, generation %llx, which is %s with %llx",
		      p->segment, p->generation, pr_state_name(s->rec.state),
		      s->rec.generation);
		return;
	}
	add_put(v, p, position);
}

static void list_delete(struct pr_view *v, const struct kvc_delete *d,
			u64 position)
{
	const struct pr_segment *s = pr_view_segment(v, d->segment);

	if (s->listed && s->rec.state == KVC_SEG_SEALED &&
	    s->rec.generation == d->generation)
		kill(v, s, d, position, true);
	else
		found(v, PR_CHECKPOINT_ENTRY,
		      view_where(v, position, d->segment),
		      "the checkpoint has a DELETE for segment %u, generation %llx, which is %s with %llx",
		      d->segment, d->generation,
		      pr_state_name(s->rec.state), s->rec.generation);
}

static void list_record(struct pr_view *v, const struct kvc_record *rec,
			u32 *stage, bool first_of_epoch,
			const struct pr_view *final, u64 position)
{
	u32 mine;

	switch (rec->type) {
	case KVC_REC_SEGMENT:
		mine = SEGMENTS;
		break;
	case KVC_REC_PUT:
		mine = PUTS;
		break;
	case KVC_REC_DELETE:
		mine = DELETES;
		break;
	default:
		found(v, PR_RECORD_UNEXPECTED,
		      view_where(v, position, PR_NONE),
		      "a record of type %u stands in a checkpoint", rec->type);
		return;
	}
	if (mine < *stage)
		found(v, PR_CHECKPOINT_ORDER,
		      view_where(v, position, PR_NONE),
		      "the checkpoint has a %s record behind %s records",
		      mine == SEGMENTS ? "SEGMENT" : "PUT",
		      *stage == PUTS ? "PUT" : "DELETE");
	*stage = max(*stage, mine);
	if (mine == SEGMENTS)
		list_segment(v, &rec->seg, first_of_epoch, final, position);
	else if (mine == PUTS)
		list_put(v, &rec->put, position);
	else
		list_delete(v, &rec->del, position);
}

static int by_order(const void *a, const void *b)
{
	const struct kvc_segment_rec *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Every segment once; no two sealed ones with one order. */
static void judge_segments(struct pr_view *v, u64 position)
{
	struct kvc_segment_rec *sealed;
	u32 i, nr = 0, missing = 0, first = PR_NONE;

	if (v->quiet)
		return;
	sealed = calloc(v->nr_segments, sizeof(*sealed));
	if (!sealed) {
		v->no_memory = true;
		return;
	}
	for (i = 0; i < v->nr_segments; i++) {
		const struct pr_segment *s = &v->segments[i];

		if (!s->listed) {
			if (!missing++)
				first = s->rec.segment;
		} else if (s->rec.state == KVC_SEG_SEALED) {
			sealed[nr++] = s->rec;
		}
	}
	if (missing)
		found(v, PR_CHECKPOINT_SEGMENTS, view_where(v, position, first),
		      "the checkpoint does not list %u segment%s, segment %u first",
		      missing, missing == 1 ? "" : "s", first);
	qsort(sealed, nr, sizeof(*sealed), by_order);
	for (i = 1; i < nr; i++) {
		if (sealed[i].order == sealed[i - 1].order)
			found(v, PR_SEAL_ORDER,
			      view_where(v, position, sealed[i].segment),
			      "segments %u and %u are both sealed with order %llu",
			      sealed[i - 1].segment, sealed[i].segment,
			      sealed[i].order);
	}
	free(sealed);
}

/* A key that is live twice, once everything of a checkpoint is known. */
static void judge_keys(struct pr_view *v, u64 position)
{
	u32 b, i, j;

	for (b = 0; b < v->nr_buckets; b++) {
		for (i = v->live[b]; i != PR_NONE;
		     i = v->objects[i].next_hash) {
			struct pr_object *o = &v->objects[i];

			if (!pr_object_live(v, o))
				continue;
			for (j = o->next_hash; j != PR_NONE;
			     j = v->objects[j].next_hash) {
				struct pr_object *other = &v->objects[j];

				if (!same_hash(o->hash, other->hash) ||
				    !pr_object_live(v, other))
					continue;
				if (pr_expired(v->pool, o) ||
				    pr_expired(v->pool, other))
					continue;
				found_as(v, PR_KEY_TWICE,
					 o->expiry || other->expiry ?
					 PR_WARNING : PR_ERROR,
					 view_where(v, position, o->segment),
					 "the object at segment %u, block %u is also at segment %u, block %u",
					 o->segment, o->offset,
					 other->segment, other->offset);
			}
		}
	}
}

void pr_view_checkpoint(struct pr_view *v, struct pr_ring *ring, u64 start,
			const struct pr_view *final)
{
	u32 parts = pr_ring_checkpoint(ring, v->epoch, start);
	struct kvc_journal_info info;
	struct kvc_records records;
	struct kvc_record rec;
	u32 i, stage = SEGMENTS;
	int got;

	for (i = 0; i < parts; i++) {
		if (pr_ring_look(ring, v->epoch, start + i, &info, &records) !=
		    PR_STANDS || kvc_records_next(&records, &rec) != 1)
			return;
		judge_writer(v, &info.writer, start + i);
		v->next_order = rec.checkpoint.next_order;
		while ((got = kvc_records_next(&records, &rec)) == 1)
			list_record(v, &rec, &stage, !start, final, start + i);
		if (got < 0)
			found(v, PR_JOURNAL_MALFORMED,
			      view_where(v, start + i, PR_NONE),
			      "record %u of %u can't be taken apart",
			      info.count - records.count + 1, info.count);
	}
	judge_segments(v, start);
	judge_keys(v, start);
}

/* --- summaries --- */

/**
 * struct summary_walk - a summary that is being read
 * @v: view
 * @s: segment
 * @where: of the block that is read
 * @crc: over the blocks so far
 * @records: so far
 * @end: end of the record before, in blocks
 * @compare: the view knows the segment's objects
 * @bad: it can't be taken
 */
struct summary_walk {
	struct pr_view *v;
	struct pr_segment *s;
	struct pr_where where;
	u32 crc;
	u32 records;
	u32 end;
	bool compare;
	bool bad;
};

static void compare_put(struct summary_walk *k, const struct kvc_put *p)
{
	struct pr_view *v = k->v;
	struct pr_object *o, *added;

	o = pr_view_find(v, p->hash, p->segment, p->generation, p->offset);
	if (!o) {
		/* Nor does whoever loads from here: he does not delete it. */
		found(v, PR_SUMMARY_EXTRA, k->where,
		      "the summary of segment %u lists an object at block %u that the journal does not know%s",
		      p->segment, p->offset, k->s->partial ?
		      ", if it was not dead before the checkpoint" : "");
		added = add_put(v, p, PR_FROM_SUMMARY);
		if (added) {
			set_dead(v, added);
			added->in_summary = true;
		}
		return;
	}
	if (o->in_summary)
		found(v, PR_SUMMARY_EXTRA, k->where,
		      "the summary of segment %u lists the object at block %u twice",
		      p->segment, p->offset);
	o->in_summary = true;
	if (o->key && (o->bytes != p->bytes || o->data_crc != p->data_crc ||
		       o->tenant != p->tenant || o->expiry != p->expiry ||
		       o->depth != p->depth || o->key_len != p->key_len ||
		       memcmp(o->key, p->key, p->key_len)))
		found(v, PR_SUMMARY_DIFFERS, k->where,
		      "the summary of segment %u says of the object at block %u: %u bytes, checksum %08x, key of %u bytes; its PUT: %u, %08x, %u",
		      p->segment, p->offset, p->bytes, p->data_crc, p->key_len,
		      o->bytes, o->data_crc, o->key_len);
}

static void walk_put(struct summary_walk *k, const struct kvc_put *p)
{
	struct pr_object *o;

	k->records++;
	judge_put(k->v, p, k->where);
	if (p->offset < k->end)
		found(k->v, PR_SUMMARY_ORDER, k->where,
		      "the summary of segment %u lists block %u behind an object that ends at block %u",
		      p->segment, p->offset, k->end);
	k->end = max_t(u32, k->end, p->offset +
		       DIV_ROUND_UP((u64)p->bytes, KVC_BLOCK_SIZE));
	if (k->compare) {
		compare_put(k, p);
		return;
	}
	o = add_put(k->v, p, PR_FROM_SUMMARY);
	if (o)
		o->in_summary = true;
}

static void walk_summary_block(struct summary_walk *k, const u8 *block,
			       struct kvc_place place, u32 part)
{
	const struct kvc_block_header *h = (const void *)block;
	struct pr_view *v = k->v;
	struct kvc_summary_info info;
	struct kvc_records records;
	enum kvc_block_verdict verdict;
	struct kvc_record rec;
	int got;

	k->where = pr_at(v->pool, place);
	k->where.ag = v->ag;
	k->where.epoch = v->epoch;
	k->where.segment = k->s->rec.segment;
	verdict = kvc_block_verify(block, KVC_BLOCK_SUMMARY, v->pool->g.uuid,
				   &place);
	if (verdict != KVC_BLOCK_OK) {
		found(v, PR_SUMMARY_LOST, k->where,
		      "block %u of the summary of segment %u is not there: %s",
		      part, k->s->rec.segment,
		      kvc_block_verdict_name(verdict));
		k->bad = true;
		return;
	}
	k->crc = crc32c(k->crc, &h->crc, sizeof(h->crc));
	if (kvc_summary_open(block, &v->pool->g, &info, &records) ||
	    info.ag != v->ag || info.segment != k->s->rec.segment ||
	    info.generation != k->s->rec.generation || info.part != part ||
	    info.nr_blocks != k->s->rec.summary_blocks) {
		found(v, PR_SUMMARY_MALFORMED, k->where,
		      "block %u of the summary of segment %u, generation %llx, says that it is block %u of %u of segment %u, generation %llx",
		      part, k->s->rec.segment, k->s->rec.generation, info.part,
		      info.nr_blocks, info.segment, info.generation);
		k->bad = true;
		return;
	}
	while ((got = kvc_records_next(&records, &rec)) == 1)
		walk_put(k, &rec.put);
	if (got < 0) {
		found(v, PR_SUMMARY_MALFORMED, k->where,
		      "record %u of %u of block %u of the summary of segment %u can't be taken apart",
		      info.count - records.count + 1, info.count, part,
		      k->s->rec.segment);
		k->bad = true;
	}
}

#define SUMMARY_CHUNK	256	/* blocks that are read in one go */

/* Returns false if a block can't be read. */
static bool walk_summary(struct summary_walk *k)
{
	const struct kvc_segment_rec *r = &k->s->rec;
	const struct kvc_geometry *g = &k->v->pool->g;
	u32 done, nr, i, chunk = min_t(u32, r->summary_blocks, SUMMARY_CHUNK);
	struct kvc_place place;
	u8 *blocks;
	u64 bytes;

	blocks = pr_buffer(chunk);
	if (!blocks) {
		k->v->no_memory = true;
		return false;
	}
	for (done = 0; done < r->summary_blocks; done += nr) {
		bytes = (u64)min(r->summary_blocks - done, chunk) <<
			KVC_BLOCK_SHIFT;
		place = kvc_place_data(g, r->summary_segment,
			(u64)(r->summary_offset + done) << KVC_BLOCK_SHIFT,
			&bytes);
		nr = bytes >> KVC_BLOCK_SHIFT;
		k->where.segment = r->segment;
		if (k->v->quiet ? pr_read(k->v->pool, place, blocks, nr) :
				  pr_read_reported(k->v->pool, place, blocks,
						   nr, &k->where)) {
			k->bad = true;
			break;
		}
		for (i = 0; i < nr; i++) {
			walk_summary_block(k, blocks + i * KVC_BLOCK_SIZE,
					   place, done + i);
			place.block++;
		}
	}
	free(blocks);
	return !k->bad;
}

/* Forget objects from @nr on: they are the newest in all their lists. */
static void drop_objects(struct pr_view *v, u32 nr)
{
	while (v->nr_objects > nr) {
		struct pr_object *o = &v->objects[--v->nr_objects];

		*chain_of(v, o) = o->next_hash;
		pr_view_segment(v, o->segment)->first = o->next_segment;
	}
}

/* Is everything that is live in the summary? */
static void judge_missing(struct pr_view *v, const struct pr_segment *s)
{
	u32 i;

	for (i = s->first; i != PR_NONE; i = v->objects[i].next_segment) {
		const struct pr_object *o = &v->objects[i];

		/* What has expired may be forgotten without a word. */
		if (!o->dead && !o->in_summary && !pr_expired(v->pool, o))
			found(v, PR_SUMMARY_MISSES,
			      view_where(v, o->position, s->rec.segment),
			      "the summary of segment %u does not list the object at block %u",
			      s->rec.segment, o->offset);
	}
}

void pr_summary_load(struct pr_view *v, struct pr_segment *s, bool compare)
{
	struct summary_walk k = {
		.v = v, .s = s, .where = pr_nowhere(), .crc = ~0U,
		.compare = compare,
	};
	u32 nr = v->nr_objects;

	k.where.ag = v->ag;
	if (s->rec.summary_blocks && pr_view_segment(v, s->rec.summary_segment))
		walk_summary(&k);
	else if (s->rec.summary_blocks)
		k.bad = true;
	if (!k.bad && k.crc != s->rec.summary_crc) {
		found(v, PR_SUMMARY_CRC, view_where(v, PR_NONE64,
						    s->rec.segment),
		      "the summary of segment %u has checksum %08x, and was sealed with %08x",
		      s->rec.segment, k.crc, s->rec.summary_crc);
		k.bad = true;
	}
	if (!k.bad && k.records != s->rec.objects) {
		found(v, PR_SUMMARY_COUNT,
		      view_where(v, PR_NONE64, s->rec.segment),
		      "the summary of segment %u has %u entries, and was sealed with %u",
		      s->rec.segment, k.records, s->rec.objects);
		k.bad = true;
	}
	if (k.bad) {
		s->summary_bad = true;
		if (!compare) {
			drop_objects(v, nr);
			s->opaque = true;
		}
		return;
	}
	if (compare)
		judge_missing(v, s);
}

/* --- the end --- */

/* A summary in another segment goes when that is used again. */
static void judge_summary_host(struct pr_view *v, const struct pr_segment *s)
{
	const struct pr_segment *host =
		pr_view_segment(v, s->rec.summary_segment);

	if (host && !holds_objects(host))
		found(v, PR_SUMMARY_PLACE,
		      view_where(v, PR_NONE64, s->rec.segment),
		      "the summary of segment %u stands in segment %u, which is %s",
		      s->rec.segment, host->rec.segment,
		      pr_state_name(host->rec.state));
}

void pr_view_finish(struct pr_view *v)
{
	bool foreign = false;
	u32 i;

	for (i = 0; i < v->nr_segments; i++) {
		struct pr_segment *s = &v->segments[i];

		if (s->rec.state != KVC_SEG_SEALED || !s->rec.summary_blocks ||
		    s->rec.summary_segment == s->rec.segment)
			continue;
		foreign = true;
		judge_summary_host(v, s);
	}
	for (i = 0; i < v->nr_segments; i++) {
		if (holds_objects(&v->segments[i]))
			judge_extents(v, &v->segments[i], foreign);
	}
}
