// SPDX-License-Identifier: MIT
/*
 * Does a checkpoint say what the records before it lead to? See poolread.h.
 */
#include <stdio.h>
#include "poolread.h"

/**
 * struct tally - objects with one kind of mistake: told once, with a count
 * @nr: how many
 * @segment: of the first
 * @offset: of the first
 */
struct tally {
	u64 nr;
	u32 segment;
	u32 offset;
};

static void count(struct tally *t, const struct pr_object *o)
{
	if (!t->nr++) {
		t->segment = o->segment;
		t->offset = o->offset;
	}
}

/**
 * struct comparison - one run of pr_compare()
 * @r: what replaying led to
 * @c: what the checkpoint says
 * @known: who knows what summaries list, or NULL
 * @across: of different epochs
 * @where: of the checkpoint
 * @lost: live when replayed, not so in the checkpoint
 * @back: dead when replayed, live in the checkpoint
 * @extra: in the checkpoint, never heard of
 * @other: live in both, and not the same
 */
struct comparison {
	const struct pr_view *r;
	const struct pr_view *c;
	const struct pr_view *known;
	bool across;
	const struct pr_where *where;
	struct tally lost;
	struct tally back;
	struct tally extra;
	struct tally other;
};

static bool holds_objects(u32 state)
{
	return state == KVC_SEG_OPEN || state == KVC_SEG_SEALED;
}

static bool same_summary(const struct kvc_segment_rec *a,
			 const struct kvc_segment_rec *b)
{
	return a->order == b->order &&
	       a->summary_segment == b->summary_segment &&
	       a->summary_offset == b->summary_offset &&
	       a->summary_blocks == b->summary_blocks &&
	       a->summary_crc == b->summary_crc && a->objects == b->objects;
}

/* May a checkpoint have @b where replaying led to @a? */
static bool may_follow(const struct comparison *k,
		       const struct kvc_segment_rec *a,
		       const struct kvc_segment_rec *b)
{
	if (a->generation != b->generation)
		return false;
	if (a->state == b->state)
		return a->state != KVC_SEG_SEALED || same_summary(a, b);
	/* Grace ends without a record; a new owner waits for it once more. */
	if (!holds_objects(a->state) && !holds_objects(b->state))
		return k->across || b->state == KVC_SEG_FREE;
	/* A new owner may retire what it finds, and seal what was left open. */
	return k->across && holds_objects(a->state) &&
	       b->state != KVC_SEG_OPEN && b->state != KVC_SEG_FREE;
}

static bool is_empty(const struct pr_view *v, const struct pr_segment *s)
{
	u32 i;

	if (s->opaque)
		return false;
	for (i = s->first; i != PR_NONE; i = v->objects[i].next_segment) {
		if (!v->objects[i].dead && !pr_expired(v->pool, &v->objects[i]))
			return false;
	}
	return true;
}

static void compare_segments(struct comparison *k)
{
	struct pr_pool *p = k->r->pool;
	u32 i, dropped = 0, first_dropped = 0;
	struct pr_where w = *k->where;

	for (i = 0; i < k->r->nr_segments; i++) {
		const struct pr_segment *r = &k->r->segments[i];
		const struct pr_segment *c = &k->c->segments[i];

		if (!c->listed || !r->listed)
			continue;
		w.segment = r->rec.segment;
		if (!may_follow(k, &r->rec, &c->rec))
			pr_found(p, k->across ? PR_EPOCH_DIFFERS :
				 PR_CHECKPOINT_DIFFERS, PR_ERROR, &w,
				 "segment %u is in state %u with generation %llx and order %llu, and the checkpoint says %u, %llx, %llu",
				 r->rec.segment, r->rec.state,
				 r->rec.generation, r->rec.order, c->rec.state,
				 c->rec.generation, c->rec.order);
		else if (holds_objects(r->rec.state) &&
			 !holds_objects(c->rec.state) &&
			 !is_empty(k->r, r) && !dropped++)
			first_dropped = r->rec.segment;
	}
	if (!dropped)
		return;
	w.segment = first_dropped;
	pr_found(p, PR_EPOCH_OBJECT_LOST, PR_WARNING, &w,
		 "%u segment%s with objects, segment %u first, were retired when the epoch began",
		 dropped, dropped == 1 ? "" : "s", first_dropped);
}

/* Both have the object's segment in @state, in the object's generation. */
static bool both_have(const struct comparison *k, const struct pr_object *o,
		      u32 state)
{
	const struct pr_segment *r = pr_view_segment(k->r, o->segment);
	const struct pr_segment *c = pr_view_segment(k->c, o->segment);

	return r->listed && c->listed && r->rec.state == state &&
	       c->rec.state == state && r->rec.generation == o->generation &&
	       c->rec.generation == o->generation;
}

/* What the loader's view knows of an object in a sealed segment, or NULL. */
static const struct pr_object *in_summary(const struct comparison *k,
					  const struct pr_object *o)
{
	const struct pr_object *found;

	if (!k->known)
		return NULL;
	found = pr_view_find(k->known, o->hash, o->segment, o->generation,
			     o->offset);
	return found && found->in_summary ? found : NULL;
}

/* Does that view know what the summary lists? It is not kept after a RETIRE. */
static bool knows_summary(const struct comparison *k,
			  const struct pr_object *o)
{
	const struct pr_segment *s;

	if (!k->known)
		return false;
	s = pr_view_segment(k->known, o->segment);
	return s && !s->opaque && s->rec.state == KVC_SEG_SEALED &&
	       s->rec.generation == o->generation;
}

static bool may_have_expired(const struct comparison *k,
			     const struct pr_object *o)
{
	const struct pr_object *listed = in_summary(k, o);

	return pr_expired(k->r->pool, o) ||
	       (listed && pr_expired(k->r->pool, listed));
}

/* Everything that replaying knows must be in the checkpoint. */
static void compare_replayed(struct comparison *k)
{
	u32 i;

	for (i = 0; i < k->r->nr_objects; i++) {
		const struct pr_object *o = &k->r->objects[i], *said;

		if (!o->dead && both_have(k, o, KVC_SEG_OPEN)) {
			said = pr_view_find(k->c, o->hash, o->segment,
					    o->generation, o->offset);
			if (!said && !pr_expired(k->r->pool, o))
				count(&k->lost, o);
			else if (said && (said->bytes != o->bytes ||
					  said->data_crc != o->data_crc ||
					  said->tenant != o->tenant))
				count(&k->other, o);
		} else if (o->dead && both_have(k, o, KVC_SEG_SEALED)) {
			said = pr_view_find(k->c, o->hash, o->segment,
					    o->generation, o->offset);
			if (!said && in_summary(k, o) &&
			    !may_have_expired(k, o))
				count(&k->back, o);
		}
	}
}

/* Everything in the checkpoint must come from what was replayed. */
static void compare_said(struct comparison *k)
{
	u32 i;

	for (i = 0; i < k->c->nr_objects; i++) {
		const struct pr_object *o = &k->c->objects[i], *was;
		const struct pr_segment *s;

		was = pr_view_find(k->r, o->hash, o->segment, o->generation,
				   o->offset);
		s = pr_view_segment(k->r, o->segment);
		if (!o->dead && both_have(k, o, KVC_SEG_OPEN)) {
			if (!was)
				count(&k->extra, o);
			else if (was->dead && !pr_expired(k->r->pool, was))
				count(&k->back, o);
		} else if (o->dead && both_have(k, o, KVC_SEG_SEALED)) {
			/*
			 * What was dead in an open segment was never listed.
			 * What has expired may die without a DELETE.
			 */
			if ((was ? !was->dead :
			     !s->partial && knows_summary(k, o)) &&
			    !may_have_expired(k, was ?: o))
				count(&k->lost, o);
		}
	}
}

/*
 * What a summary lists, and replaying from a checkpoint before its SEAL does not
 * know, was dead at that checkpoint. Whoever loads from there can't know it
 * either, and must not let it come back.
 */
static void compare_listed(struct comparison *k)
{
	u32 i;

	for (i = 0; k->known && i < k->known->nr_objects; i++) {
		const struct pr_object *o = &k->known->objects[i];

		if (!o->in_summary || !both_have(k, o, KVC_SEG_SEALED) ||
		    !pr_view_segment(k->r, o->segment)->sealed_here ||
		    pr_expired(k->r->pool, o))
			continue;
		if (!pr_view_find(k->r, o->hash, o->segment, o->generation,
				  o->offset) &&
		    !pr_view_find(k->c, o->hash, o->segment, o->generation,
				  o->offset))
			count(&k->back, o);
	}
}

static void tell(const struct comparison *k, const struct tally *t,
		 enum pr_code code, enum pr_severity severity, const char *what)
{
	struct pr_where w = *k->where;

	if (!t->nr)
		return;
	w.segment = t->segment;
	pr_found(k->r->pool, code, severity, &w,
		 "objects %s: %llu, the first at segment %u, block %u", what,
		 t->nr, t->segment, t->offset);
}

void pr_compare(const struct pr_view *replayed, const struct pr_view *said,
		const struct pr_view *known, bool across,
		const struct pr_where *where)
{
	struct comparison k = {
		.r = replayed, .c = said, .known = known, .across = across,
		.where = where,
	};

	if (replayed->no_memory || said->no_memory)
		return;
	compare_segments(&k);
	compare_replayed(&k);
	compare_said(&k);
	compare_listed(&k);
	tell(&k, &k.lost, across ? PR_EPOCH_OBJECT_LOST : PR_CHECKPOINT_DIFFERS,
	     across ? PR_WARNING : PR_ERROR,
	     "that should be there and are not in the checkpoint");
	tell(&k, &k.back, across ? PR_EPOCH_OBJECT_BACK : PR_CHECKPOINT_DIFFERS,
	     PR_ERROR, "that should be dead and are live in the checkpoint");
	tell(&k, &k.extra, across ? PR_EPOCH_OBJECT_BACK : PR_CHECKPOINT_DIFFERS,
	     PR_ERROR, "that were never put and are in the checkpoint");
	tell(&k, &k.other, across ? PR_EPOCH_DIFFERS : PR_CHECKPOINT_DIFFERS,
	     PR_ERROR, "that are other ones in the checkpoint");
}
