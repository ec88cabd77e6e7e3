// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Where everything of a pool stands. See kvc_layout.h, and
 * Documentation/format.rst for the picture.
 */
#include "kvc_layout.h"

/* Label copy 0 is block 0 of a member, copy 1 its last block. */
#define KVC_LABEL_BLOCKS	1

/* Data starts at a multiple of this, in blocks: 1 MiB. */
#define KVC_DATA_ALIGN		256

/* SEGMENT records that fit into one block of a checkpoint. */
#define KVC_SEGMENTS_PER_BLOCK						\
	((KVC_JOURNAL_DATA - sizeof(struct kvc_rec_checkpoint)) /	\
	 sizeof(struct kvc_rec_segment))

/* Ring blocks that a plan gives an AG by default, whatever its size. */
#define KVC_DEFAULT_MAX_RING	8192	/* 32 MiB */

#define KVC_MAX_LEASE_MS	600000U
#define KVC_MAX_Q_MS		86400000U	/* a day */

static int refuse(const char **why, const char *clause)
{
	if (why)
		*why = clause;
	return -EINVAL;
}

static u32 ceil_div(u32 n, u32 by)
{
	return n / by + (n % by != 0);
}

/* Blocks of one lane of a segment that is striped over @width members. */
static u32 lane_blocks(u32 segment_shift, u32 width)
{
	return 1U << (segment_shift - KVC_BLOCK_SHIFT - ilog2(width));
}

/* Blocks of an AG's journal: all its areas. */
static u32 journal_blocks(u32 ring_blocks)
{
	return KVC_NR_AREAS * (KVC_AREA_HEADERS + ring_blocks);
}

/*
 * The least ring for an AG. A checkpoint may take a quarter of it, and the table
 * of segments shall leave more than half of that to objects.
 */
static u32 least_ring(u32 segments_per_ag)
{
	return max_t(u32, KVC_MIN_RING_BLOCKS,
		     10 * ceil_div(segments_per_ag, KVC_SEGMENTS_PER_BLOCK) + 22);
}

/*
 * What lets a segment be filled with objects of 16 KiB: the records of an open
 * one are part of each checkpoint until it is sealed.
 */
static u32 default_ring(u32 segment_shift, u64 blocks_per_ag, u32 least)
{
	u64 ring = 1U << (segment_shift - KVC_BLOCK_SHIFT - 3);

	ring = max_t(u64, ring, blocks_per_ag >> 8);
	ring = min_t(u64, ring, KVC_DEFAULT_MAX_RING);
	return max_t(u32, ring, least);
}

/* Lane slots that a span takes on the fullest of its members. */
static u32 span_lanes(const struct kvc_span *s)
{
	return ceil_div(s->nr_segments * s->width, s->nr_members);
}

/* Journal places that a span takes on the fullest of its members. */
static u32 span_journals(const struct kvc_span *s)
{
	return ceil_div(s->nr_ags, s->nr_members);
}

/* --- is a geometry sound? --- */

static bool all_zero(const u8 *p, size_t n)
{
	while (n--) {
		if (*p++)
			return false;
	}
	return true;
}

static int check_name(const char *name, const char **why)
{
	size_t i;

	if (!name[0])
		return refuse(why, "the pool name is empty");
	if (name[0] == '.')
		return refuse(why, "the pool name starts with a dot");
	for (i = 0; i < KVC_NAME_SIZE && name[i]; i++) {
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return refuse(why, "the pool name must be printable, no blank, no slash");
	}
	if (i == KVC_NAME_SIZE)
		return refuse(why, "the pool name is longer than 63 characters");
	return 0;
}

static int check_terms(const struct kvc_geometry *g, const char **why)
{
	if (all_zero(g->uuid, sizeof(g->uuid)))
		return refuse(why, "the pool UUID is zero");
	if (g->flags & ~KVC_POOL_FLAGS_ALL)
		return refuse(why, "unknown pool flags are set");
	if (g->lease_ms < 100 || g->lease_ms > KVC_MAX_LEASE_MS)
		return refuse(why, "the lease is not between 100 ms and 600 s");
	if (!g->heartbeat_ms || g->heartbeat_ms >= g->lease_ms)
		return refuse(why, "the heartbeat is not shorter than the lease");
	if (g->q_ms > KVC_MAX_Q_MS)
		return refuse(why, "the longest life of a write is more than a day");
	return check_name(g->name, why);
}

static int check_members(const struct kvc_geometry *g, const char **why)
{
	const struct kvc_member_info *m;
	u32 i, j;

	if (!g->nr_members || g->nr_members > KVC_MAX_MEMBERS)
		return refuse(why, "the number of members is not between 1 and 64");
	for (i = 0; i < g->nr_members; i++) {
		m = &g->members[i];
		if (all_zero(m->uuid, sizeof(m->uuid)))
			return refuse(why, "a member's UUID is zero");
		for (j = 0; j < i; j++) {
			if (!memcmp(m->uuid, g->members[j].uuid,
				    sizeof(m->uuid)))
				return refuse(why, "two members have the same UUID");
		}
		if (m->state < KVC_MEMBER_PRESENT ||
		    m->state > KVC_MEMBER_REMOVED ||
		    (m->state > KVC_MEMBER_MISSING &&
		     !(g->incompat & KVC_FEATURE_INCOMPAT_ELASTIC)))
			return refuse(why, "a member's state is unknown");
		if (m->missing_since && kvc_member_state_there(m->state))
			return refuse(why, "a member is both present and missing");
		if (m->blocks >> KVC_ADDRESS_MEMBER_SHIFT)
			return refuse(why, "a member is too large to be addressed");
	}
	return 0;
}

static int check_span(const struct kvc_geometry *g, const struct kvc_span *s,
		      const char **why)
{
	u64 end;
	u32 i;

	if (!s->nr_members || s->nr_members > g->nr_members ||
	    s->first_member > g->nr_members - s->nr_members)
		return refuse(why, "a span reaches beyond the members");
	if (!is_power_of_2(s->width) || s->width > s->nr_members)
		return refuse(why, "a span's width is not a power of two <= its members");
	if (g->segment_shift - ilog2(s->width) < g->unit_shift)
		return refuse(why, "a segment has no 256 KiB for every member of its width");
	if (!s->nr_ags || !s->nr_segments || s->nr_segments % s->nr_ags)
		return refuse(why, "a span's segments are not a multiple of its AGs");
	if (s->nr_segments > U32_MAX / s->width)
		return refuse(why, "a span has too many lanes");
	if (g->ring_blocks < least_ring(s->nr_segments / s->nr_ags))
		return refuse(why, "the journal ring is too small for the AGs' segments");
	if (span_journals(s) > g->nr_journals ||
	    s->first_journal > g->nr_journals - span_journals(s))
		return refuse(why, "a span has more journals than its members have places");
	if (span_lanes(s) > g->nr_lanes ||
	    s->first_lane > g->nr_lanes - span_lanes(s))
		return refuse(why, "a span has more lanes than its members have places");

	/* Below 2^32 lane slots of at most 2^18 blocks: can't overflow. */
	end = (u64)(s->first_lane + span_lanes(s)) *
		lane_blocks(g->segment_shift, s->width);
	for (i = 0; i < s->nr_members; i++) {
		u64 blocks = g->members[s->first_member + i].blocks;

		if (blocks < KVC_LABEL_BLOCKS ||
		    end > blocks - KVC_LABEL_BLOCKS ||
		    g->data_start > blocks - KVC_LABEL_BLOCKS - end)
			return refuse(why, "a member is smaller than the lanes on it");
	}
	return 0;
}

/* Do two spans claim the same place on a member? */
static bool spans_collide(const struct kvc_geometry *g,
			  const struct kvc_span *a, const struct kvc_span *b)
{
	u64 a_lane = lane_blocks(g->segment_shift, a->width);
	u64 b_lane = lane_blocks(g->segment_shift, b->width);

	if (a->first_member >= b->first_member + b->nr_members ||
	    b->first_member >= a->first_member + a->nr_members)
		return false;
	if (a->first_journal < b->first_journal + span_journals(b) &&
	    b->first_journal < a->first_journal + span_journals(a))
		return true;
	return a->first_lane * a_lane <
			(b->first_lane + span_lanes(b)) * b_lane &&
	       b->first_lane * b_lane <
			(a->first_lane + span_lanes(a)) * a_lane;
}

static int check_spans(const struct kvc_geometry *g, const char **why)
{
	u32 ags = 0, segments = 0;
	const struct kvc_span *s;
	u32 i, j;
	int err;

	if (!g->nr_spans || g->nr_spans > KVC_MAX_SPANS)
		return refuse(why, "the number of spans is not between 1 and 8");
	for (i = 0; i < g->nr_spans; i++) {
		s = &g->spans[i];
		if (s->first_ag != ags || s->first_segment != segments)
			return refuse(why, "a span does not go on where the one before it ends");
		if (s->nr_ags > KVC_MAX_AGS - ags)
			return refuse(why, "there are more than 1024 AGs");
		if (s->nr_segments > KVC_NO_SEGMENT - segments)
			return refuse(why, "there are too many segments");
		err = check_span(g, s, why);
		if (err)
			return err;
		for (j = 0; j < i; j++) {
			if (spans_collide(g, s, &g->spans[j]))
				return refuse(why, "two spans overlap on a member");
		}
		ags += s->nr_ags;
		segments += s->nr_segments;
	}
	if (ags != g->nr_ags || segments != g->nr_segments)
		return refuse(why, "the spans don't add up");
	return 0;
}

static int check_slot_places(const struct kvc_geometry *g, const char **why)
{
	u32 i, k, n = g->nr_slot_copies;

	if (g->slot_leaves != KVC_NO_COPY && g->slot_leaves >= n)
		return refuse(why, "the slots have no copy of the number that moves");
	for (i = 0; i < KVC_MAX_SLOT_PLACES; i++) {
		u32 member = g->slot_members[i];

		if (i >= kvc_slot_places(g)) {
			if (member)
				return refuse(why, "slots have a place too many");
			continue;
		}
		if (member >= g->nr_members ||
		    g->members[member].state == KVC_MEMBER_REMOVED)
			return refuse(why, "slots are on a member that is none");
		for (k = 0; k < i; k++) {
			if (g->slot_members[k] == member)
				return refuse(why, "two copies of the slots are on one member");
		}
		if (member != i && !(g->incompat & KVC_FEATURE_INCOMPAT_SLOTS))
			return refuse(why, "slots have moved, and the label has no word of it");
	}
	if (kvc_slot_places(g) > n && !(g->incompat & KVC_FEATURE_INCOMPAT_SLOTS))
		return refuse(why, "slots move, and the label has no word of it");
	return 0;
}

int kvc_geometry_check(const struct kvc_geometry *g, const char **why)
{
	u64 blocks;
	u32 i;
	int err;

	err = check_terms(g, why);
	if (err)
		return err;
	err = check_members(g, why);
	if (err)
		return err;
	if (g->segment_shift < KVC_MIN_SEGMENT_SHIFT ||
	    g->segment_shift > KVC_MAX_SEGMENT_SHIFT)
		return refuse(why, "the segment size is not between 1 MiB and 1 GiB");
	if (g->unit_shift != KVC_UNIT_SHIFT)
		return refuse(why, "the stripe unit is not 256 KiB");
	if (g->ring_blocks < KVC_MIN_RING_BLOCKS ||
	    g->ring_blocks > KVC_MAX_RING_BLOCKS)
		return refuse(why, "the journal ring is not between 32 and 65536 blocks");

	/* Slots, then journals, then data, on every member alike. */
	if (!g->nr_slots || g->nr_slots > KVC_MAX_SLOTS)
		return refuse(why, "the number of slots is not between 1 and 256");
	if ((g->nr_slot_copies != 1 &&
	     g->nr_slot_copies != KVC_MAX_SLOT_COPIES) ||
	    g->nr_slot_copies > g->nr_members)
		return refuse(why, "the number of slot copies is not 1, or 3 of 3 members");
	err = check_slot_places(g, why);
	if (err)
		return err;
	if (!g->slot_blocks ||
	    g->slot_blocks > KVC_MAX_AGS / KVC_AGS_PER_SLOT_BLOCK ||
	    g->slot_blocks < ceil_div(g->nr_ags, KVC_AGS_PER_SLOT_BLOCK))
		return refuse(why, "a slot has too few or too many blocks");
	blocks = (u64)g->nr_slots * g->slot_blocks;
	if (g->slot_start < KVC_LABEL_BLOCKS ||
	    g->journal_start < blocks ||
	    g->slot_start > g->journal_start - blocks)
		return refuse(why, "the slots overlap the label or the journals");
	blocks = (u64)g->nr_journals * journal_blocks(g->ring_blocks);
	if (g->data_start < blocks ||
	    g->journal_start > g->data_start - blocks)
		return refuse(why, "the journals overlap the data");
	for (i = 0; i < g->nr_members; i++) {
		if (g->data_start >= g->members[i].blocks)
			return refuse(why, "a member is smaller than slots and journals");
	}
	return check_spans(g, why);
}

/* --- a new pool --- */

/*
 * Lay a pool out with one span of segments of 1 << @shift bytes, @width wide.
 *
 * Return: segments that each of @nr_ags AGs gets, 0 if that is none, -EINVAL.
 */
static int plan_span(const struct kvc_format_options *o,
		     struct kvc_geometry *g, u64 member_blocks, u32 shift,
		     u32 width, u32 nr_ags, const char **why)
{
	u64 all = member_blocks * o->nr_members;	/* < 2^54 */
	u64 per_ag = div_u64(all, nr_ags);
	u32 lane = lane_blocks(shift, width);
	struct kvc_span *s = &g->spans[0];
	u64 segments = per_ag >> (shift - KVC_BLOCK_SHIFT);
	u64 end, aligned, lanes;
	u32 least;

	if (segments >= U32_MAX / KVC_MAX_AGS / width)
		return refuse(why, "the segments are too small for that much space");
	least = least_ring(segments);
	if (least > KVC_MAX_RING_BLOCKS)
		return refuse(why, "the AGs have too many segments for a journal ring");
	g->ring_blocks = o->ring_blocks;
	if (!g->ring_blocks)
		g->ring_blocks = default_ring(shift, per_ag, least);
	g->segment_shift = shift;
	g->nr_ags = nr_ags;
	g->slot_blocks = ceil_div(max_t(u32, nr_ags, o->max_ags),
				  KVC_AGS_PER_SLOT_BLOCK);
	g->slot_start = KVC_LABEL_BLOCKS;
	g->journal_start = g->slot_start + (u64)g->nr_slots * g->slot_blocks;
	g->nr_journals = ceil_div(nr_ags, o->nr_members);
	g->data_start = round_up(g->journal_start + (u64)g->nr_journals *
				 journal_blocks(g->ring_blocks),
				 (u64)KVC_DATA_ALIGN);
	end = member_blocks - KVC_LABEL_BLOCKS;
	if (g->data_start >= end)
		return 0;
	lanes = (end - g->data_start) >> ilog2(lane);

	/* Align to the lanes themselves where that costs none of them. */
	aligned = round_up(g->data_start, (u64)lane);
	if (aligned < end && (end - aligned) >> ilog2(lane) == lanes)
		g->data_start = aligned;

	/* No more than @segments by AG, which has been found to fit 32 bits. */
	g->nr_lanes = lanes;
	s->nr_ags = nr_ags;
	s->nr_members = o->nr_members;
	s->width = width;
	s->nr_segments = div_u64(lanes * o->nr_members >> ilog2(width), nr_ags) *
		nr_ags;
	g->nr_segments = s->nr_segments;
	return s->nr_segments / nr_ags;
}

#define KVC_DEFAULT_SEGMENT_SHIFT	28
#define KVC_DEFAULT_AGS_PER_MEMBER	4
#define KVC_WANTED_SEGMENTS_PER_AG	8
#define KVC_LEAST_SEGMENTS_PER_AG	4

static u32 default_width(u32 nr_members)
{
	if (nr_members < 4)
		return 1;
	return min_t(u32, 4, 1U << ilog2(nr_members / 2));
}

static int check_options(const struct kvc_format_options *o, const char **why)
{
	if (!o->nr_members || o->nr_members > KVC_MAX_MEMBERS)
		return refuse(why, "the number of members is not between 1 and 64");
	if (o->nr_slots > KVC_MAX_SLOTS)
		return refuse(why, "the number of slots is not between 1 and 256");
	if (o->segment_shift && (o->segment_shift < KVC_MIN_SEGMENT_SHIFT ||
				 o->segment_shift > KVC_MAX_SEGMENT_SHIFT))
		return refuse(why, "the segment size is not between 1 MiB and 1 GiB");
	if (o->width && (o->width > o->nr_members || !is_power_of_2(o->width)))
		return refuse(why, "the width is not a power of two within the members");
	if (o->width && o->segment_shift &&
	    o->segment_shift - ilog2(o->width) < KVC_UNIT_SHIFT)
		return refuse(why, "a segment has no 256 KiB for every member of its width");
	if (o->nr_ags > KVC_MAX_AGS || o->max_ags > KVC_MAX_AGS)
		return refuse(why, "there are more than 1024 AGs");
	if (o->ring_blocks && (o->ring_blocks < KVC_MIN_RING_BLOCKS ||
			       o->ring_blocks > KVC_MAX_RING_BLOCKS))
		return refuse(why, "the journal ring is not between 32 and 65536 blocks");
	return 0;
}

static void plan_terms(const struct kvc_format_options *o,
		       struct kvc_geometry *g)
{
	u32 i;

	memset(g, 0, sizeof(*g));
	memcpy(g->uuid, o->uuid, sizeof(g->uuid));
	memcpy(g->name, o->name, sizeof(g->name));
	memcpy(g->hash_key, o->hash_key, sizeof(g->hash_key));
	g->created = o->created;
	g->flags = o->flags;
	g->lease_ms = o->lease_ms ? o->lease_ms : 5000;
	g->heartbeat_ms = o->heartbeat_ms ? o->heartbeat_ms : g->lease_ms / 5;
	g->q_ms = o->q_ms ? o->q_ms : 60000;
	if (o->q_ms == U32_MAX)
		g->q_ms = 0;
	g->nr_members = o->nr_members;
	g->nr_spans = 1;
	g->nr_slots = o->nr_slots ? o->nr_slots : 64;
	g->nr_slot_copies = o->nr_members < KVC_MAX_SLOT_COPIES ?
		1 : KVC_MAX_SLOT_COPIES;
	for (i = 0; i < g->nr_slot_copies; i++)
		g->slot_members[i] = i;
	g->slot_leaves = KVC_NO_COPY;
	g->unit_shift = KVC_UNIT_SHIFT;
	for (i = 0; i < o->nr_members; i++) {
		memcpy(g->members[i].uuid, o->members[i].uuid,
		       sizeof(g->members[i].uuid));
		g->members[i].blocks = o->members[i].blocks;
		g->members[i].wwid_hash = o->members[i].wwid_hash;
		g->members[i].state = KVC_MEMBER_PRESENT;
	}
}

int kvc_geometry_plan(const struct kvc_format_options *o,
		      struct kvc_geometry *g, const char **why)
{
	u32 shift, least_shift, width, nr_ags, i;
	u64 blocks = U64_MAX;
	int got;

	got = check_options(o, why);
	if (got)
		return got;
	plan_terms(o, g);
	got = check_terms(g, why);
	if (got)
		return got;
	got = check_members(g, why);
	if (got)
		return got;

	for (i = 0; i < o->nr_members; i++)
		blocks = min(blocks, o->members[i].blocks);
	width = o->width ? o->width : default_width(o->nr_members);
	if (!o->width && o->segment_shift)
		width = min_t(u32, width,
			      1U << (o->segment_shift - KVC_UNIT_SHIFT));
	shift = o->segment_shift ? o->segment_shift : KVC_DEFAULT_SEGMENT_SHIFT;
	least_shift = o->segment_shift ? o->segment_shift :
		max_t(u32, KVC_MIN_SEGMENT_SHIFT, KVC_UNIT_SHIFT + ilog2(width));
	nr_ags = o->nr_ags ? o->nr_ags :
		o->nr_members * KVC_DEFAULT_AGS_PER_MEMBER;

	/* Small pools take smaller segments first, and then fewer AGs. */
	for (;;) {
		got = blocks > KVC_LABEL_BLOCKS ?
			plan_span(o, g, blocks, shift, width, nr_ags, why) : 0;
		if (got < 0)
			return got;
		if (got >= KVC_WANTED_SEGMENTS_PER_AG)
			break;
		if (shift > least_shift)
			shift--;
		else if (!o->nr_ags && nr_ags > o->nr_members)
			nr_ags -= o->nr_members;
		else if (!o->nr_ags && nr_ags > 1)
			nr_ags--;
		else
			break;
	}
	if (got < KVC_LEAST_SEGMENTS_PER_AG) {
		refuse(why, "the smallest member has no room for four segments of each AG");
		return -ENOSPC;
	}
	return kvc_geometry_check(g, why);
}

/* --- a pool that grows --- */

bool kvc_geometry_same(const struct kvc_geometry *a,
		       const struct kvc_geometry *b)
{
	u32 i;

	if (memcmp(a, b, offsetof(struct kvc_geometry, members)))
		return false;
	for (i = 0; i < a->nr_members; i++) {
		if (memcmp(a->members[i].uuid, b->members[i].uuid,
			   sizeof(a->members[i].uuid)) ||
		    a->members[i].blocks != b->members[i].blocks)
			return false;
	}
	return true;
}

bool kvc_geometry_extends(const struct kvc_geometry *newer,
			  const struct kvc_geometry *older)
{
	u32 i;

	if (memcmp(newer, older, offsetof(struct kvc_geometry, incompat)) ||
	    older->incompat & ~newer->incompat ||
	    newer->nr_spans < older->nr_spans ||
	    newer->nr_members < older->nr_members ||
	    newer->nr_lanes < older->nr_lanes ||
	    memcmp(newer->spans, older->spans,
		   older->nr_spans * sizeof(older->spans[0])))
		return false;
	for (i = 0; i < older->nr_members; i++) {
		if (memcmp(newer->members[i].uuid, older->members[i].uuid,
			   sizeof(older->members[i].uuid)) ||
		    newer->members[i].blocks != older->members[i].blocks)
			return false;
	}
	return true;
}

/* The most segments that an AG can have with the pool's rings. */
static u32 most_segments(u32 ring_blocks)
{
	return ring_blocks < 32 ? 0 :
		(ring_blocks - 22) / 10 * KVC_SEGMENTS_PER_BLOCK;
}

/* Fill in the new span's AGs and segments; segments of each AG. */
static u32 grow_span(const struct kvc_geometry *old, struct kvc_span *s,
		     u64 lanes, u32 nr_ags)
{
	u64 all = lanes * s->nr_members >> ilog2(s->width);
	u64 per_ag = div_u64(all, nr_ags);

	per_ag = min_t(u64, per_ag, most_segments(old->ring_blocks));
	/* Numbers of segments and of lanes have 32 bits. */
	per_ag = min_t(u64, per_ag,
		       (KVC_NO_SEGMENT - old->nr_segments) / nr_ags / s->width);
	s->nr_ags = nr_ags;
	s->nr_segments = (u32)per_ag * nr_ags;
	return (u32)per_ag;
}

static int check_growth(const struct kvc_geometry *old,
			const struct kvc_grow_options *o, const char **why)
{
	if (old->nr_spans == KVC_MAX_SPANS) {
		refuse(why, "it has grown seven times, and a label holds no more");
		return -ENOSPC;
	}
	if (!o->nr_members || o->nr_members + old->nr_members > KVC_MAX_MEMBERS) {
		refuse(why, "the number of members would not be between 1 and 64");
		return o->nr_members ? -ENOSPC : -EINVAL;
	}
	if (o->width && (o->width > o->nr_members || !is_power_of_2(o->width)))
		return refuse(why, "the width is not a power of two within the new members");
	return 0;
}

static u32 growth_width(const struct kvc_geometry *old,
			const struct kvc_grow_options *o)
{
	return o->width ? o->width :
		min_t(u32, old->spans[0].width, 1U << ilog2(o->nr_members));
}

static int grow_ags(const struct kvc_geometry *old,
		    const struct kvc_grow_options *o, struct kvc_span *s,
		    u64 lanes, const char **why)
{
	u32 room = old->slot_blocks * KVC_AGS_PER_SLOT_BLOCK - old->nr_ags;
	u32 places = old->nr_journals * o->nr_members;
	u32 nr_ags = o->nr_ags ? o->nr_ags : min(room, places);

	if (!nr_ags || nr_ags > room) {
		refuse(why, "the host slots have no room for so many more AGs (format: max_ags)");
		return -ENOSPC;
	}
	if (nr_ags > places) {
		refuse(why, "the new members have no place for so many journals");
		return -ENOSPC;
	}
	while (grow_span(old, s, lanes, nr_ags) < KVC_LEAST_SEGMENTS_PER_AG) {
		if (o->nr_ags || nr_ags == 1) {
			refuse(why, "the smallest new member has no room for four segments of each AG");
			return -ENOSPC;
		}
		nr_ags--;
	}
	return 0;
}

int kvc_geometry_grow(const struct kvc_geometry *old,
		      const struct kvc_grow_options *o,
		      struct kvc_geometry *g, const char **why)
{
	u64 blocks = U64_MAX, end = old->data_start + KVC_LABEL_BLOCKS;
	struct kvc_span *s;
	u32 lane, i;
	int err;

	err = check_growth(old, o, why);
	if (err)
		return err;
	*g = *old;
	g->incompat |= KVC_FEATURE_INCOMPAT_ELASTIC;
	for (i = 0; i < o->nr_members; i++) {
		struct kvc_member_info *m = &g->members[g->nr_members++];

		*m = o->members[i];
		m->state = KVC_MEMBER_PRESENT;
		m->missing_since = 0;
		blocks = min(blocks, m->blocks);
	}
	s = &g->spans[g->nr_spans++];
	s->first_ag = old->nr_ags;
	s->first_segment = old->nr_segments;
	s->first_member = old->nr_members;
	s->nr_members = o->nr_members;
	s->width = growth_width(old, o);
	if (old->segment_shift - ilog2(s->width) < old->unit_shift)
		return refuse(why, "a segment has no 256 KiB for every member of its width");
	lane = lane_blocks(old->segment_shift, s->width);
	err = grow_ags(old, o, s, blocks > end ? (blocks - end) >> ilog2(lane) : 0,
		       why);
	if (err)
		return err;
	g->nr_ags += s->nr_ags;
	g->nr_segments += s->nr_segments;
	g->nr_lanes = max_t(u32, g->nr_lanes, span_lanes(s));
	return kvc_geometry_check(g, why);
}

/* --- slots that move --- */

bool kvc_slot_most(const struct kvc_geometry *g, unsigned long places)
{
	u32 n = g->nr_slot_copies;
	unsigned long before = BIT(n) - 1;
	unsigned long after = before;

	if (g->slot_leaves != KVC_NO_COPY)
		after = (before & ~BIT(g->slot_leaves)) | BIT(n);
	return hweight_long(places & before) > n / 2 &&
	       hweight_long(places & after) > n / 2;
}

u32 kvc_slot_place_of(const struct kvc_geometry *g, u32 member)
{
	u32 i;

	for (i = 0; i < kvc_slot_places(g); i++) {
		if (g->slot_members[i] == member)
			return i;
	}
	return KVC_NO_COPY;
}

int kvc_slots_plan_move(struct kvc_geometry *g, u32 copy, u64 usable)
{
	u32 i;

	for (i = 0; i < g->nr_members; i++) {
		if (!(usable >> i & 1) ||
		    g->members[i].state != KVC_MEMBER_PRESENT ||
		    kvc_slot_place_of(g, i) != KVC_NO_COPY)
			continue;
		g->slot_members[g->nr_slot_copies] = i;
		g->slot_leaves = copy;
		g->incompat |= KVC_FEATURE_INCOMPAT_SLOTS;
		return 0;
	}
	return -ENOSPC;
}

void kvc_slots_end_move(struct kvc_geometry *g, bool moved)
{
	u8 *next = &g->slot_members[g->nr_slot_copies];

	if (moved)
		g->slot_members[g->slot_leaves] = *next;
	*next = 0;
	g->slot_leaves = KVC_NO_COPY;
}

/* --- where is it? --- */

const struct kvc_span *kvc_span_of_segment(const struct kvc_geometry *g,
					   u32 segment)
{
	const struct kvc_span *s = g->spans;

	while (unlikely(segment - s->first_segment >= s->nr_segments) &&
	       s < &g->spans[g->nr_spans - 1])
		s++;
	return s;
}

const struct kvc_span *kvc_span_of_ag(const struct kvc_geometry *g, u32 ag)
{
	const struct kvc_span *s = g->spans;

	while (unlikely(ag - s->first_ag >= s->nr_ags) &&
	       s < &g->spans[g->nr_spans - 1])
		s++;
	return s;
}

u32 kvc_segment_ag(const struct kvc_geometry *g, u32 segment)
{
	const struct kvc_span *s = kvc_span_of_segment(g, segment);

	return s->first_ag +
		(segment - s->first_segment) / (s->nr_segments / s->nr_ags);
}

u32 kvc_ag_first_segment(const struct kvc_geometry *g, u32 ag)
{
	const struct kvc_span *s = kvc_span_of_ag(g, ag);

	return s->first_segment +
		(ag - s->first_ag) * (s->nr_segments / s->nr_ags);
}

u32 kvc_ag_nr_segments(const struct kvc_geometry *g, u32 ag)
{
	const struct kvc_span *s = kvc_span_of_ag(g, ag);

	return s->nr_segments / s->nr_ags;
}

u32 kvc_ag_home(const struct kvc_geometry *g, u32 ag)
{
	const struct kvc_span *s = kvc_span_of_ag(g, ag);

	return s->first_member + (ag - s->first_ag) % s->nr_members;
}

struct kvc_place kvc_place_area(const struct kvc_geometry *g, u32 ag, u32 area)
{
	const struct kvc_span *s = kvc_span_of_ag(g, ag);
	u32 number = ag - s->first_ag;
	struct kvc_place place;

	place.member = s->first_member + number % s->nr_members;
	place.block = g->journal_start +
		(u64)(s->first_journal + number / s->nr_members) *
		journal_blocks(g->ring_blocks) +
		area * (KVC_AREA_HEADERS + g->ring_blocks);
	return place;
}

struct kvc_place kvc_place_journal(const struct kvc_geometry *g, u32 ag,
				   u64 epoch, u64 position)
{
	struct kvc_place place = kvc_place_area(g, ag, epoch % KVC_NR_AREAS);
	u32 index;

	div_u64_rem(position, g->ring_blocks, &index);
	place.block += KVC_AREA_HEADERS + index;
	return place;
}

struct kvc_place kvc_place_slot(const struct kvc_geometry *g, u32 slot,
				u32 copy, u32 part)
{
	struct kvc_place place = {
		.member = g->slot_members[copy],
		.block = g->slot_start + slot * g->slot_blocks + part,
	};

	return place;
}

struct kvc_place kvc_place_label(const struct kvc_geometry *g, u32 member,
				 u32 copy)
{
	struct kvc_place place = {
		.member = member,
		.block = copy ? g->members[member].blocks - 1 : 0,
	};

	return place;
}

/* Member and first block of lane @lane of a segment. */
static struct kvc_place place_lane(const struct kvc_geometry *g,
				   const struct kvc_span *s, u32 segment,
				   u32 lane)
{
	u32 number = (segment - s->first_segment) * s->width + lane;
	struct kvc_place place;

	place.member = s->first_member + number % s->nr_members;
	place.block = g->data_start +
		(u64)(s->first_lane + number / s->nr_members) *
		lane_blocks(g->segment_shift, s->width);
	return place;
}

struct kvc_place kvc_place_data(const struct kvc_geometry *g, u32 segment,
				u64 offset, u64 *bytes)
{
	const struct kvc_span *s = kvc_span_of_segment(g, segment);
	u32 unit_bytes = 1U << g->unit_shift;
	u32 width_shift = ilog2(s->width);
	struct kvc_place place;
	u32 unit, in_unit;

	if (!width_shift) {
		place = place_lane(g, s, segment, 0);
		place.block += offset >> KVC_BLOCK_SHIFT;
		return place;
	}
	unit = offset >> g->unit_shift;
	in_unit = offset & (unit_bytes - 1);
	place = place_lane(g, s, segment, unit & (s->width - 1));
	place.block += (((u64)(unit >> width_shift) << g->unit_shift) +
			in_unit) >> KVC_BLOCK_SHIFT;
	if (*bytes > unit_bytes - in_unit)
		*bytes = unit_bytes - in_unit;
	return place;
}

u64 kvc_segment_members(const struct kvc_geometry *g, u32 segment)
{
	const struct kvc_span *s = kvc_span_of_segment(g, segment);
	u32 number = (segment - s->first_segment) * s->width;
	u64 members = 0;
	u32 lane;

	for (lane = 0; lane < s->width; lane++)
		members |= 1ULL << (s->first_member +
				    (number + lane) % s->nr_members);
	return members;
}
