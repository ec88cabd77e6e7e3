/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Where everything of a pool stands: pure arithmetic over the geometry that
 * the label holds. No function here can fail on a geometry that
 * kvc_geometry_check() accepted and on arguments within its ranges.
 */
#ifndef KVC_LAYOUT_H
#define KVC_LAYOUT_H

#include "kvc_format.h"

/* struct kvc_label_span in host order. */
struct kvc_span {
	u32 first_ag;
	u32 nr_ags;
	u32 first_segment;
	u32 nr_segments;
	u16 first_member;
	u16 nr_members;
	u16 width;
	u32 first_lane;
	u32 first_journal;
};

/* struct kvc_label_member in host order. */
struct kvc_member_info {
	u8 uuid[16];
	u64 blocks;
	u64 wwid_hash;
	u32 state;
	u64 missing_since;
};

/*
 * The label in host order, less what differs by member. The name is
 * NUL-terminated, nr_ags and nr_segments are sums over the spans; incompat is
 * feature_incompat; slot_members and slot_leaves have what holds without
 * KVC_FEATURE_INCOMPAT_SLOTS, too; all other fields are as in struct kvc_label.
 */
struct kvc_geometry {
	u8 uuid[16];
	char name[KVC_NAME_SIZE];
	u8 hash_key[32];
	u64 created;
	u32 flags;
	u32 lease_ms;
	u32 heartbeat_ms;
	u32 q_ms;
	u16 nr_slots;
	u8 nr_slot_copies;
	u8 slot_blocks;
	u8 segment_shift;
	u8 unit_shift;
	u64 slot_start;
	u64 journal_start;
	u32 ring_blocks;
	u32 nr_journals;
	u64 data_start;

	/* What may change while the pool is in use; all above stays as it is. */
	u64 incompat;
	u16 nr_members;
	u16 nr_spans;
	u32 nr_lanes;
	u32 nr_ags;
	u32 nr_segments;
	u8 slot_members[KVC_MAX_SLOT_PLACES];
	u8 slot_leaves;
	struct kvc_span spans[KVC_MAX_SPANS];
	struct kvc_member_info members[KVC_MAX_MEMBERS];
};

/**
 * struct kvc_place - a run of blocks on one member
 * @member: member number
 * @block: first 4 KiB block on that member
 */
struct kvc_place {
	u32 member;
	u64 block;
};

/**
 * struct kvc_format_options - what kvcachectl format may choose; 0: default
 * @name: pool name
 * @uuid: pool UUID (given by the caller, random)
 * @hash_key: given by the caller, random
 * @created: seconds since 1970
 * @flags: KVC_POOL_*
 * @lease_ms: default 5000; 100 .. 600000
 * @heartbeat_ms: default lease / 5
 * @q_ms: default 60000; 0xffffffff for none (0 ms, tests on local devices)
 * @nr_slots: default 64
 * @segment_shift: default 28, lowered until each AG has at least 8 segments
 * @width: default 1 for fewer than 4 members, else the largest power of two
 *	<= nr_members / 2, at most 4: losing a member leaves whole segments
 * @nr_ags: default 4 per member, less if segments are few
 * @max_ags: AGs that the pool may grow to: slots get room for them; default what
 *	the blocks that they need anyway hold, a multiple of 128
 * @ring_blocks: default: 1/256 of an AG's data or 1/8 of a segment, whichever
 *	is more, 128 KiB .. 32 MiB; more if the AGs have very many segments
 * @nr_members: how many @members are filled in (uuid, blocks, wwid_hash)
 * @members: members
 */
struct kvc_format_options {
	char name[KVC_NAME_SIZE];
	u8 uuid[16];
	u8 hash_key[32];
	u64 created;
	u32 flags;
	u32 lease_ms;
	u32 heartbeat_ms;
	u32 q_ms;
	u32 nr_slots;
	u32 segment_shift;
	u32 width;
	u32 nr_ags;
	u32 max_ags;
	u32 ring_blocks;
	u32 nr_members;
	struct kvc_member_info members[KVC_MAX_MEMBERS];
};

/**
 * kvc_geometry_plan() - lay out a new pool
 * @o: options
 * @g: filled in; passes kvc_geometry_check()
 * @why: on failure a clause for the user ("the pool name is empty"); may be NULL
 *
 * The smallest member decides how many lane slots all of them have.
 *
 * Return: 0, -EINVAL (option out of range), -ENOSPC (members too small).
 */
int kvc_geometry_plan(const struct kvc_format_options *o,
		      struct kvc_geometry *g, const char **why);

/**
 * kvc_geometry_check() - is this geometry whole and free of overlaps?
 * @g: from media, hostile
 * @why: on failure a clause that says what is wrong; may be NULL
 *
 * Checks every range and product for overflow: areas lie within every
 * member, spans neither overlap nor leave gaps in AG and segment numbers, no
 * two spans share a lane slot or a journal place of a member.
 *
 * Return: 0 or -EINVAL.
 */
int kvc_geometry_check(const struct kvc_geometry *g, const char **why);

/**
 * struct kvc_grow_options - what a pool grows by; 0: default
 * @nr_ags: AGs on the new members; default: as many for each as a member has
 *	journal places, less if slots have no room for them or segments are few
 * @width: default that of the first span, or what the new members allow
 * @nr_members: how many @members are filled in (uuid, blocks, wwid_hash)
 * @members: the new ones
 */
struct kvc_grow_options {
	u32 nr_ags;
	u32 width;
	u32 nr_members;
	struct kvc_member_info members[KVC_MAX_MEMBERS];
};

/**
 * kvc_geometry_grow() - lay a pool out anew, with another span on new members
 * @old: passed kvc_geometry_check()
 * @o: what it grows by
 * @g: filled in; passes kvc_geometry_check(), and extends @old
 * @why: on failure a clause for the user; may be NULL
 *
 * Nothing that exists moves. The smallest new member decides how many lane slots
 * all of them use.
 *
 * Return: 0, -EINVAL (option out of range), -ENOSPC (members too small, or no
 * room in the label or in the slots).
 */
int kvc_geometry_grow(const struct kvc_geometry *old,
		      const struct kvc_grow_options *o,
		      struct kvc_geometry *g, const char **why);

/* Do two labels lay the pool out alike? Members' states may differ. */
bool kvc_geometry_same(const struct kvc_geometry *a,
		       const struct kvc_geometry *b);

/* Is @newer what @older may have become: the same, or grown? States may differ. */
bool kvc_geometry_extends(const struct kvc_geometry *newer,
			  const struct kvc_geometry *older);

/* Is a member in this state to be there? */
static inline bool kvc_member_state_there(u32 state)
{
	return state == KVC_MEMBER_PRESENT || state == KVC_MEMBER_DRAINING;
}

/* Bit per member in this state. */
static inline u64 kvc_geometry_in_state(const struct kvc_geometry *g, u32 state)
{
	u64 bits = 0;
	u32 i;

	for (i = 0; i < g->nr_members; i++) {
		if (g->members[i].state == state)
			bits |= 1ULL << i;
	}
	return bits;
}

/* Does more differ than which members take nothing new? Else memberships go on. */
static inline bool kvc_geometry_moves(const struct kvc_geometry *a,
				      const struct kvc_geometry *b)
{
	return a->nr_spans != b->nr_spans || a->slot_leaves != b->slot_leaves ||
	       memcmp(a->slot_members, b->slot_members,
		      sizeof(a->slot_members)) ||
	       kvc_geometry_in_state(a, KVC_MEMBER_REMOVED) !=
		       kvc_geometry_in_state(b, KVC_MEMBER_REMOVED);
}

/*
 * Does what hosts do differ by what two labels of one pool say: spans, where slots
 * are, and which members take nothing new or are no more?
 */
static inline bool kvc_geometry_differs(const struct kvc_geometry *a,
					const struct kvc_geometry *b)
{
	return a->incompat != b->incompat || kvc_geometry_moves(a, b) ||
	       kvc_geometry_in_state(a, KVC_MEMBER_DRAINING) !=
		       kvc_geometry_in_state(b, KVC_MEMBER_DRAINING);
}

/* AGs that block @part of a slot is for: 0 if none of its AGs is there. */
static inline u32 kvc_slot_part_ags(const struct kvc_geometry *g, u32 part)
{
	u32 first = part * KVC_AGS_PER_SLOT_BLOCK;

	return g->nr_ags > first ?
		min_t(u32, KVC_AGS_PER_SLOT_BLOCK, g->nr_ags - first) : 0;
}

/* Length of a segment in bytes, and in 4 KiB blocks. */
static inline u64 kvc_segment_bytes(const struct kvc_geometry *g)
{
	return 1ULL << g->segment_shift;
}

static inline u32 kvc_segment_blocks(const struct kvc_geometry *g)
{
	return 1U << (g->segment_shift - KVC_BLOCK_SHIFT);
}

/* The largest object: half a segment. */
static inline u64 kvc_max_object(const struct kvc_geometry *g)
{
	return 1ULL << (g->segment_shift - 1);
}

static inline u64 kvc_address(u32 member, u64 block)
{
	return (u64)member << KVC_ADDRESS_MEMBER_SHIFT | block;
}

/* Span that a segment or an AG belongs to. */
const struct kvc_span *kvc_span_of_segment(const struct kvc_geometry *g, u32 segment);
const struct kvc_span *kvc_span_of_ag(const struct kvc_geometry *g, u32 ag);

/* AG that a segment belongs to; first segment of an AG and how many it has. */
u32 kvc_segment_ag(const struct kvc_geometry *g, u32 segment);
u32 kvc_ag_first_segment(const struct kvc_geometry *g, u32 ag);
u32 kvc_ag_nr_segments(const struct kvc_geometry *g, u32 ag);

/* Home member of an AG. */
u32 kvc_ag_home(const struct kvc_geometry *g, u32 ag);

/**
 * kvc_place_area() - first block (header 0) of an AG's area for an epoch
 * @g: geometry
 * @ag: AG
 * @area: epoch % KVC_NR_AREAS
 *
 * Blocks 0 and 1 of an area are its headers, ring index i is block 2 + i.
 */
struct kvc_place kvc_place_area(const struct kvc_geometry *g, u32 ag, u32 area);

/* Place of the journal block at a full position. */
struct kvc_place kvc_place_journal(const struct kvc_geometry *g, u32 ag,
				   u64 epoch, u64 position);

/*
 * Places that slots have: their copies, and while one moves where it goes, as the
 * last.
 */
static inline u32 kvc_slot_places(const struct kvc_geometry *g)
{
	return g->nr_slot_copies + (g->slot_leaves != KVC_NO_COPY);
}

/*
 * Are these places, a bit each, enough to know what a slot shows, or to have shown
 * it? While a copy moves they are if they are without it, and with it (rule 38).
 */
bool kvc_slot_most(const struct kvc_geometry *g, unsigned long places);

/* Which place of the slots is this member? KVC_NO_COPY: none. */
u32 kvc_slot_place_of(const struct kvc_geometry *g, u32 member);

/**
 * kvc_slots_plan_move() - let a copy of the slots move to another member
 * @g: changed if there is one; none moves
 * @copy: which
 * @usable: bit per member that it could move to
 *
 * Return: 0, -ENOSPC (all of @usable have one, or are not simply present).
 */
int kvc_slots_plan_move(struct kvc_geometry *g, u32 copy, u64 usable);

/* The copy that moves has moved; or it stays where it is. */
void kvc_slots_end_move(struct kvc_geometry *g, bool moved);

/* Place of block @part of a slot's copy @copy < kvc_slot_places(). */
struct kvc_place kvc_place_slot(const struct kvc_geometry *g, u32 slot,
				u32 copy, u32 part);

/* Place of label copy 0 (start) or 1 (end) of a member. */
struct kvc_place kvc_place_label(const struct kvc_geometry *g, u32 member,
				 u32 copy);

/**
 * kvc_place_data() - where bytes of a segment's address space stand
 * @g: geometry
 * @segment: segment
 * @offset: byte offset in the segment, multiple of KVC_BLOCK_SIZE
 * @bytes: in: wanted length, > 0, multiple of KVC_BLOCK_SIZE, @offset + @bytes
 *	within the segment; out: the part of it that is contiguous on one member
 *	from there (up to the end of the stripe unit; to the end of @bytes when
 *	the span's width is 1)
 *
 * Segment s of a span has lanes 0 .. width - 1. Lane j is the span's lane
 * number t = (s - first_segment) * width + j, which stands on member
 * first_member + t % nr_members in lane slot first_lane + t / nr_members.
 * Stripe unit u of the segment is on lane u % width, row u / width.
 */
struct kvc_place kvc_place_data(const struct kvc_geometry *g, u32 segment,
				u64 offset, u64 *bytes);

/* Bit per member that holds a lane of the segment. */
u64 kvc_segment_members(const struct kvc_geometry *g, u32 segment);

#endif
