// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "kvc_kunit.h"
#include "kvc_fixture.h"

static struct kvc_format_options options;
static struct kvc_geometry geometry;

/* Every block of up to five members of 64 MiB: claimed by what? */
#define MAP_MEMBERS	5
#define MAP_BLOCKS	16384
static u8 map[MAP_MEMBERS][MAP_BLOCKS];

static void plan(struct kunit *test, u32 nr_members, u64 blocks)
{
	const char *why = "";

	kvc_fixture_options(&options, nr_members, blocks);
	KUNIT_ASSERT_EQ(test, 0, kvc_geometry_plan(&options, &geometry, &why));
}

static void plan_defaults(struct kunit *test)
{
	const struct kvc_span *s = &geometry.spans[0];

	plan(test, 1, 8192);	/* 32 MiB */
	KUNIT_EXPECT_EQ(test, geometry.nr_slot_copies, 1);
	KUNIT_EXPECT_EQ(test, s->width, 1);
	KUNIT_EXPECT_EQ(test, geometry.segment_shift, 20);

	plan(test, 2, 16384);	/* 64 MiB each */
	KUNIT_EXPECT_EQ(test, geometry.nr_slot_copies, 1);
	plan(test, 3, 16384);
	KUNIT_EXPECT_EQ(test, geometry.nr_slot_copies, 3);
	KUNIT_EXPECT_EQ(test, s->width, 1);

	plan(test, 4, 16384);
	KUNIT_EXPECT_EQ(test, geometry.nr_slot_copies, 3);
	KUNIT_EXPECT_EQ(test, s->width, 2);
	KUNIT_EXPECT_EQ(test, geometry.nr_ags, 16);
	KUNIT_EXPECT_GE(test, geometry.nr_segments, 128);
	KUNIT_EXPECT_EQ(test, geometry.lease_ms, 5000);
	KUNIT_EXPECT_EQ(test, geometry.heartbeat_ms, 1000);
	KUNIT_EXPECT_EQ(test, geometry.q_ms, 60000);
	KUNIT_EXPECT_EQ(test, geometry.nr_slots, 64);

	plan(test, 64, 7324218750ULL);	/* 30 TB each */
	KUNIT_EXPECT_EQ(test, geometry.segment_shift, 28);
	KUNIT_EXPECT_EQ(test, s->width, 4);
	KUNIT_EXPECT_EQ(test, geometry.nr_ags, 256);
	KUNIT_EXPECT_EQ(test, geometry.slot_blocks, 2);
	KUNIT_EXPECT_EQ(test, geometry.ring_blocks, 8192);
	KUNIT_EXPECT_GT(test, geometry.nr_segments, 7000000);
}

static void plan_refuses(struct kunit *test)
{
	const char *why;

#define REFUSED(errno, change) do {					\
	kvc_fixture_options(&options, 4, 16384);			\
	why = NULL;							\
	change;								\
	KUNIT_EXPECT_EQ(test, -(errno),					\
			kvc_geometry_plan(&options, &geometry, &why));	\
	KUNIT_EXPECT_NOT_NULL(test, why);				\
} while (0)
	REFUSED(EINVAL, options.nr_members = 0);
	REFUSED(EINVAL, options.nr_members = 65);
	REFUSED(EINVAL, options.name[0] = 0);
	REFUSED(EINVAL, options.name[0] = ' ');
	REFUSED(EINVAL, options.name[1] = '/');
	REFUSED(EINVAL, options.name[1] = ' ');
	REFUSED(EINVAL, options.name[1] = 0x7f);
	REFUSED(EINVAL, options.name[0] = '.');
	REFUSED(EINVAL, memset(options.name, 'a', sizeof(options.name)));
	REFUSED(EINVAL, memset(options.uuid, 0, sizeof(options.uuid)));
	REFUSED(EINVAL, options.flags = 0x80);
	REFUSED(EINVAL, options.lease_ms = 99);
	REFUSED(EINVAL, options.lease_ms = 600001);
	REFUSED(EINVAL, options.heartbeat_ms = 5000);
	REFUSED(EINVAL, options.q_ms = 86400001);
	REFUSED(EINVAL, options.nr_slots = 257);
	REFUSED(EINVAL, options.segment_shift = 19);
	REFUSED(EINVAL, options.segment_shift = 31);
	REFUSED(EINVAL, options.width = 3);
	REFUSED(EINVAL, options.width = 8);
	REFUSED(EINVAL, options.nr_ags = 1025);
	REFUSED(EINVAL, options.ring_blocks = 31);
	REFUSED(EINVAL, options.ring_blocks = 65537);
	REFUSED(EINVAL, options.members[2].uuid[15] = 0);
	REFUSED(EINVAL, options.members[3].uuid[15] = 2);
	REFUSED(EINVAL, memset(options.members[3].uuid, 0, 16));
	REFUSED(EINVAL, options.members[1].blocks = (1ULL << 48));
	REFUSED(ENOSPC, options.members[1].blocks = 0);
	REFUSED(ENOSPC, options.members[1].blocks = 300);
	REFUSED(ENOSPC, options.segment_shift = 28);
	REFUSED(ENOSPC, options.nr_ags = 1024);
	/* Ring too small for the AG's segments: 240 of them need 52. */
	kvc_fixture_options(&options, 1, 16384 * 64);
	options.segment_shift = 20;
	options.nr_ags = 1;
	options.ring_blocks = 32;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kvc_geometry_plan(&options, &geometry, &why));
	options.ring_blocks = 0;
	KUNIT_EXPECT_EQ(test, 0, kvc_geometry_plan(&options, &geometry, &why));
}

static void check_refuses(struct kunit *test)
{
	struct kvc_geometry *g = &geometry;
	const char *why;

	kvc_fixture_two_spans(g);
	KUNIT_ASSERT_EQ(test, 0, kvc_geometry_check(g, &why));
#undef REFUSED
#define REFUSED(change) do {						\
	kvc_fixture_two_spans(g);					\
	why = NULL;							\
	change;								\
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_geometry_check(g, &why));	\
	KUNIT_EXPECT_NOT_NULL(test, why);				\
} while (0)
	REFUSED(g->flags = 2);
	REFUSED(g->nr_members = 0);
	REFUSED(g->nr_members = 65);
	REFUSED(g->members[0].state = 0);
	REFUSED(g->members[0].state = KVC_MEMBER_DRAINING);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_ELASTIC;
		g->members[0].state = 5);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_ELASTIC;
		g->members[0].state = KVC_MEMBER_DRAINING;
		g->members[0].missing_since = 1);
	REFUSED(g->members[0].missing_since = 1);
	REFUSED(g->members[0].blocks = 700);
	REFUSED(g->members[4].blocks = 8000);
	REFUSED(g->members[4].blocks = 0);
	REFUSED(g->members[4].blocks = U64_MAX);
	REFUSED(g->segment_shift = 19);
	REFUSED(g->segment_shift = 31);
	REFUSED(g->segment_shift = 255);
	REFUSED(g->unit_shift = 17);
	REFUSED(g->ring_blocks = 31);
	REFUSED(g->ring_blocks = 65537);
	REFUSED(g->nr_slots = 0);
	REFUSED(g->nr_slots = 4);
	REFUSED(g->nr_slot_copies = 0);
	REFUSED(g->nr_slot_copies = 2);
	REFUSED(g->nr_slot_copies = 4);
	REFUSED(g->slot_members[1] = 0);
	REFUSED(g->slot_members[1] = 3);
	REFUSED(g->slot_members[3] = 4);
	REFUSED(g->slot_leaves = 0; g->slot_members[3] = 4);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_SLOTS; g->slot_members[1] = 2);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_SLOTS; g->slot_members[1] = 5);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_SLOTS; g->slot_members[3] = 4);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_SLOTS; g->slot_leaves = 3);
	REFUSED(g->incompat = KVC_FEATURE_INCOMPAT_SLOTS; g->slot_leaves = 0;
		g->slot_members[3] = 1);
	REFUSED(g->slot_blocks = 0);
	REFUSED(g->slot_blocks = 9);
	REFUSED(g->slot_start = 0);
	REFUSED(g->slot_start = 2);
	REFUSED(g->slot_start = U64_MAX);
	REFUSED(g->journal_start = 0);
	REFUSED(g->journal_start = 768);
	REFUSED(g->journal_start = U64_MAX);
	REFUSED(g->nr_journals = 3);
	REFUSED(g->nr_journals = 6);
	REFUSED(g->nr_journals = U32_MAX);
	REFUSED(g->data_start = 4 + 4 * 136 - 1);
	REFUSED(g->data_start = 16383 - 7936 + 1);
	REFUSED(g->data_start = U64_MAX);
	REFUSED(g->nr_lanes = 123);
	REFUSED(g->nr_spans = 0);
	REFUSED(g->nr_spans = 1);
	REFUSED(g->nr_spans = 3);
	REFUSED(g->nr_spans = 9);
	REFUSED(g->nr_ags = 10);
	REFUSED(g->nr_segments = 109);
	REFUSED(g->spans[0].first_ag = 1);
	REFUSED(g->spans[1].first_ag = 3);
	REFUSED(g->spans[1].first_segment = 49);
	REFUSED(g->spans[0].nr_ags = 0);
	REFUSED(g->spans[0].nr_ags = U32_MAX);
	REFUSED(g->spans[1].nr_ags = 7);
	REFUSED(g->spans[0].nr_segments = 0);
	REFUSED(g->spans[1].nr_segments = 0x40000000);
	REFUSED(g->spans[1].nr_segments = U32_MAX);
	REFUSED(g->spans[1].nr_members = 0);
	REFUSED(g->spans[1].nr_members = 5);
	REFUSED(g->spans[1].nr_members = U16_MAX);
	REFUSED(g->spans[1].first_member = 2);
	REFUSED(g->spans[1].first_member = U16_MAX);
	REFUSED(g->spans[1].width = 0);
	REFUSED(g->spans[1].width = 3);
	REFUSED(g->spans[1].width = 8);
	REFUSED(g->spans[1].first_lane = 63);
	REFUSED(g->spans[1].first_lane = 65);
	REFUSED(g->spans[1].first_lane = U32_MAX);
	REFUSED(g->spans[1].first_journal = 1);
	REFUSED(g->spans[1].first_journal = 3);
	REFUSED(g->spans[1].first_journal = U32_MAX);
#undef REFUSED
}

/* What stands exactly at a limit is accepted. */
static void limits_are_inclusive(struct kunit *test)
{
#define ACCEPTED(change) do {						\
	kvc_fixture_options(&options, 4, 16384);			\
	change;								\
	KUNIT_EXPECT_EQ(test, 0,					\
			kvc_geometry_plan(&options, &geometry, NULL));	\
} while (0)
	ACCEPTED(memset(options.name, '~', 63));
	ACCEPTED(memset(options.name, '!', 63));
	ACCEPTED(options.lease_ms = 100);
	ACCEPTED(options.lease_ms = 600000);
	ACCEPTED(options.heartbeat_ms = 4999);
	ACCEPTED(options.q_ms = 86400000);
	ACCEPTED(options.q_ms = U32_MAX);
	KUNIT_EXPECT_EQ(test, 0, geometry.q_ms);
	ACCEPTED(options.nr_slots = 1);
	ACCEPTED(options.nr_slots = 256);
	ACCEPTED(options.width = 4);
	ACCEPTED(options.ring_blocks = 32);
	ACCEPTED(options.members[3].blocks = (1ULL << 48) - 1);
	ACCEPTED(kvc_fixture_options(&options, 64, 1 << 24);
		 options.nr_ags = 1024; options.segment_shift = 20);
	ACCEPTED(kvc_fixture_options(&options, 64, 1 << 24);
		 options.nr_ags = 64; options.segment_shift = 30;
		 options.ring_blocks = 65536);
#undef ACCEPTED
	/* Regions that follow each other without a gap. */
	kvc_fixture_two_spans(&geometry);
	geometry.data_start = 4 + 4 * 4 * 34;
	geometry.members[4].blocks = geometry.data_start + 124 * 64 + 1;
	KUNIT_EXPECT_EQ(test, 0, kvc_geometry_check(&geometry, NULL));
	geometry.members[4].blocks--;
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_geometry_check(&geometry, NULL));
}

/* Claim a block, which nobody may have claimed before. */
static void claim(struct kunit *test, struct kvc_place place)
{
	KUNIT_ASSERT_LT(test, place.member, geometry.nr_members);
	KUNIT_ASSERT_LT(test, place.block,
			geometry.members[place.member].blocks);
	KUNIT_ASSERT_EQ(test, 0, map[place.member][place.block]);
	map[place.member][place.block] = 1;
}

static void claim_all(struct kunit *test)
{
	const struct kvc_geometry *g = &geometry;
	u64 offset, bytes, position;
	u32 i, j, k, unit;

	memset(map, 0, sizeof(map));
	for (i = 0; i < g->nr_members; i++) {
		claim(test, kvc_place_label(g, i, 0));
		claim(test, kvc_place_label(g, i, 1));
	}
	for (i = 0; i < g->nr_slots; i++)
		for (j = 0; j < g->nr_slot_copies; j++)
			for (k = 0; k < g->slot_blocks; k++)
				claim(test, kvc_place_slot(g, i, j, k));
	for (i = 0; i < g->nr_ags; i++) {
		for (j = 0; j < KVC_NR_AREAS; j++) {
			struct kvc_place area = kvc_place_area(g, i, j);

			KUNIT_ASSERT_EQ(test, area.member, kvc_ag_home(g, i));
			claim(test, area);
			area.block++;
			claim(test, area);
			/* Anywhere in the epoch's life, one lap of the ring. */
			position = 1000000007ULL * (i + 1);
			for (k = 0; k < g->ring_blocks; k++)
				claim(test, kvc_place_journal(g, i, j + 4000,
							      position + k));
		}
	}
	for (i = 0; i < g->nr_segments; i++) {
		for (offset = 0; offset < kvc_segment_bytes(g);
		     offset += bytes) {
			struct kvc_place place;

			bytes = kvc_segment_bytes(g) - offset;
			place = kvc_place_data(g, i, offset, &bytes);
			KUNIT_ASSERT_GT(test, bytes, 0);
			unit = bytes >> KVC_BLOCK_SHIFT;
			KUNIT_ASSERT_TRUE(test, kvc_segment_members(g, i) >>
						place.member & 1);
			for (k = 0; k < unit; k++, place.block++)
				claim(test, place);
		}
		KUNIT_ASSERT_EQ(test, offset, kvc_segment_bytes(g));
	}
}

/* Spans may use the same places on other members, and other ones on the same. */
static void spans_collide_where_they_meet(struct kunit *test)
{
	struct kvc_span *a = &geometry.spans[0], *b = &geometry.spans[1];

#define CHECKED(expected)						\
	KUNIT_EXPECT_EQ(test, expected, kvc_geometry_check(&geometry, NULL))
	/* Member 0 alone, and members 1 to 4, from the same places on. */
	kvc_fixture_two_spans(&geometry);
	a->nr_members = 1;
	b->first_lane = 0;
	b->first_journal = 0;
	CHECKED(0);
	claim_all(test);
	a->nr_members = 2;
	CHECKED(-EINVAL);
	/* Members 2 to 4, and members 0 and 1. */
	kvc_fixture_two_spans(&geometry);
	a->first_member = 2;
	b->first_member = 0;
	b->nr_members = 2;
	b->width = 1;
	b->nr_segments = 30;
	b->first_lane = 0;
	b->first_journal = 0;
	geometry.nr_segments = 78;
	CHECKED(0);
	a->first_member = 1;
	CHECKED(-EINVAL);
	/* The second one's lanes before the first one's. */
	kvc_fixture_two_spans(&geometry);
	a->first_lane = 15;
	b->first_lane = 0;
	CHECKED(0);
	a->first_lane = 14;
	CHECKED(-EINVAL);
	/* Likewise its journals. */
	kvc_fixture_two_spans(&geometry);
	a->first_journal = 2;
	b->first_journal = 0;
	CHECKED(0);
	a->first_journal = 1;
	CHECKED(-EINVAL);
#undef CHECKED
}

static void places_are_disjoint(struct kunit *test)
{
	plan(test, 1, 16384);
	claim_all(test);
	plan(test, 4, 16384);
	claim_all(test);
	plan(test, 5, 16384);
	claim_all(test);
	kvc_fixture_two_spans(&geometry);
	claim_all(test);
}

static void ags_share_out_segments(struct kunit *test)
{
	const struct kvc_geometry *g = &geometry;
	u32 ag, i, segment = 0;

	kvc_fixture_two_spans(&geometry);
	for (ag = 0; ag < g->nr_ags; ag++) {
		KUNIT_ASSERT_EQ(test, segment, kvc_ag_first_segment(g, ag));
		for (i = 0; i < kvc_ag_nr_segments(g, ag); i++, segment++)
			KUNIT_ASSERT_EQ(test, ag, kvc_segment_ag(g, segment));
	}
	KUNIT_EXPECT_EQ(test, segment, g->nr_segments);
	KUNIT_EXPECT_PTR_EQ(test, &g->spans[0], kvc_span_of_segment(g, 47));
	KUNIT_EXPECT_PTR_EQ(test, &g->spans[1], kvc_span_of_segment(g, 48));
	KUNIT_EXPECT_PTR_EQ(test, &g->spans[0], kvc_span_of_ag(g, 3));
	KUNIT_EXPECT_PTR_EQ(test, &g->spans[1], kvc_span_of_ag(g, 4));
	KUNIT_EXPECT_EQ(test, 0, kvc_ag_home(g, 3));
	KUNIT_EXPECT_EQ(test, 1, kvc_ag_home(g, 4));
	KUNIT_EXPECT_EQ(test, 4, kvc_ag_home(g, 7));
	KUNIT_EXPECT_EQ(test, 1, kvc_ag_home(g, 8));
}

/* The example of Documentation/format.rst. */
static void striping_example(struct kunit *test)
{
	struct kvc_place place;
	u64 bytes = 0x7f000;

	kvc_fixture_options(&options, 5, 16384);
	options.segment_shift = 20;
	options.width = 2;
	options.nr_ags = 5;
	KUNIT_ASSERT_EQ(test, 0, kvc_geometry_plan(&options, &geometry, NULL));
	place = kvc_place_data(&geometry, 7, 0x81000, &bytes);
	/* Unit 2: lane 0, row 1; lane number 14: member 4, lane slot 2. */
	KUNIT_EXPECT_EQ(test, 4, place.member);
	KUNIT_EXPECT_EQ(test, geometry.data_start + 2 * 128 + 64 + 1,
			place.block);
	KUNIT_EXPECT_EQ(test, 0x3f000, bytes);
}

static struct kvc_grow_options grow;
static struct kvc_geometry grown;

static void grow_by(u32 nr, u64 blocks)
{
	u32 i;

	memset(&grow, 0, sizeof(grow));
	grow.nr_members = nr;
	for (i = 0; i < nr; i++) {
		memset(grow.members[i].uuid, 0x80 + i,
		       sizeof(grow.members[i].uuid));
		grow.members[i].blocks = blocks;
	}
}

/* Nothing moves, and the new members are used to their ends. */
static void growth_extends(struct kunit *test)
{
	const struct kvc_span *s;

	kvc_fixture_options(&options, 4, 1 << 18);
	options.segment_shift = 22;
	KUNIT_ASSERT_EQ(test, 0, kvc_geometry_plan(&options, &geometry, NULL));
	grow_by(3, 1 << 19);
	KUNIT_ASSERT_EQ(test, 0,
			kvc_geometry_grow(&geometry, &grow, &grown, NULL));
	KUNIT_EXPECT_TRUE(test, kvc_geometry_extends(&grown, &geometry));
	KUNIT_EXPECT_FALSE(test, kvc_geometry_extends(&geometry, &grown));
	KUNIT_EXPECT_TRUE(test, kvc_geometry_extends(&grown, &grown));
	KUNIT_EXPECT_FALSE(test, kvc_geometry_same(&grown, &geometry));
	KUNIT_EXPECT_TRUE(test, kvc_geometry_same(&grown, &grown));
	s = &grown.spans[1];
	KUNIT_EXPECT_EQ(test, geometry.nr_ags, s->first_ag);
	KUNIT_EXPECT_EQ(test, 12, s->nr_ags);
	KUNIT_EXPECT_EQ(test, 2, s->width);
	KUNIT_EXPECT_EQ(test, KVC_FEATURE_INCOMPAT_ELASTIC, grown.incompat);
	/* Twice as large, three for four: half as many segments again. */
	KUNIT_EXPECT_GE(test, s->nr_segments, geometry.nr_segments * 3 / 2 - 12);
	/* And once more. */
	geometry = grown;
	grow_by(1, 1 << 18);
	grow.members[0].uuid[0] = 0x99;
	KUNIT_ASSERT_EQ(test, 0,
			kvc_geometry_grow(&geometry, &grow, &grown, NULL));
	KUNIT_EXPECT_EQ(test, 1, grown.spans[2].width);
	KUNIT_EXPECT_EQ(test, 8, grown.nr_members);
	/* What is told otherwise is no growth. */
	grown.spans[0].width = 1;
	KUNIT_EXPECT_FALSE(test, kvc_geometry_extends(&grown, &geometry));
	grown.spans[0].width = geometry.spans[0].width;
	grown.members[6].blocks++;
	KUNIT_EXPECT_FALSE(test, kvc_geometry_extends(&grown, &geometry));
	grown.members[6].blocks--;
	grown.hash_key[31] ^= 1;
	KUNIT_EXPECT_FALSE(test, kvc_geometry_extends(&grown, &geometry));
}

/* Any two sets of places that are enough have one in common, over one change. */
static void enough_slots_meet(struct kunit *test, const struct kvc_geometry *a,
			      const struct kvc_geometry *b)
{
	unsigned long x, y, at_b;
	u32 i, k;

	for (x = 0; x < 16; x++) {
		if (!kvc_slot_most(a, x))
			continue;
		for (at_b = 0, i = 0; i < kvc_slot_places(b); i++)
			for (k = 0; k < kvc_slot_places(a); k++)
				if (x & BIT(k) &&
				    a->slot_members[k] == b->slot_members[i])
					at_b |= BIT(i);
		for (y = 0; y < BIT(kvc_slot_places(b)); y++)
			if (kvc_slot_most(b, y))
				KUNIT_EXPECT_TRUE(test, at_b & y);
	}
}

static void slots_move(struct kunit *test)
{
	struct kvc_geometry *moving = &grown, *g = &geometry;
	u32 copy, members, i;
	u64 have;

	for (members = 2; members < 6; members++) {
		kvc_fixture_options(&options, members, 1 << 18);
		KUNIT_ASSERT_EQ(test, 0, kvc_geometry_plan(&options, g, NULL));
		enough_slots_meet(test, g, g);
		for (copy = 0; copy < g->nr_slot_copies; copy++) {
			*moving = *g;
			for (have = 0, i = 0; i < g->nr_slot_copies; i++)
				have |= BIT_ULL(g->slot_members[i]);
			KUNIT_EXPECT_EQ(test, -ENOSPC,
					kvc_slots_plan_move(moving, copy, have));
			if (members == 3)
				continue;
			KUNIT_ASSERT_EQ(test, 0,
					kvc_slots_plan_move(moving, copy, ~0ULL));
			KUNIT_EXPECT_EQ(test, 0, kvc_geometry_check(moving, NULL));
			KUNIT_EXPECT_TRUE(test, kvc_geometry_extends(moving, g));
			KUNIT_EXPECT_TRUE(test, kvc_geometry_differs(moving, g));
			KUNIT_EXPECT_EQ(test, g->nr_slot_copies + 1U,
					kvc_slot_places(moving));
			enough_slots_meet(test, moving, moving);
			enough_slots_meet(test, g, moving);
			*g = *moving;
			kvc_slots_end_move(g, true);
			KUNIT_EXPECT_EQ(test, 0, kvc_geometry_check(g, NULL));
			KUNIT_EXPECT_EQ(test, (u32)KVC_NO_COPY,
					kvc_slot_place_of(g, moving->slot_members[copy]));
			enough_slots_meet(test, moving, g);
			/* Back again, and given up. */
			*moving = *g;
			KUNIT_ASSERT_EQ(test, 0,
					kvc_slots_plan_move(moving, copy, ~0ULL));
			kvc_slots_end_move(moving, false);
			KUNIT_EXPECT_FALSE(test, kvc_geometry_differs(moving, g));
		}
	}
}

static void growth_refuses(struct kunit *test)
{
	u32 i;

	kvc_fixture_options(&options, 4, 1 << 18);
	options.segment_shift = 20;
	options.nr_ags = 126;
	options.ring_blocks = 128;
	KUNIT_ASSERT_EQ(test, 0, kvc_geometry_plan(&options, &geometry, NULL));

#define REFUSED(error, change) do {					\
	grow_by(2, 1 << 18);						\
	change;								\
	KUNIT_EXPECT_EQ(test, -(error),					\
			kvc_geometry_grow(&geometry, &grow, &grown, NULL)); \
} while (0)
	REFUSED(EINVAL, grow.nr_members = 0);
	REFUSED(ENOSPC, grow.nr_members = 61);
	REFUSED(EINVAL, grow.width = 3);
	REFUSED(EINVAL, grow.width = 4);
	REFUSED(EINVAL, memcpy(grow.members[1].uuid,
			       geometry.members[0].uuid, 16));
	REFUSED(ENOSPC, grow.members[1].blocks = 1);
	REFUSED(ENOSPC, grow.members[1].blocks = geometry.data_start + 1);
	/* Slots of one block have room for two more AGs. */
	REFUSED(ENOSPC, grow.nr_ags = 3);
#undef REFUSED
	grow_by(2, 1 << 18);
	KUNIT_ASSERT_EQ(test, 0,
			kvc_geometry_grow(&geometry, &grow, &grown, NULL));
	KUNIT_EXPECT_EQ(test, 128, grown.nr_ags);

	/* More room by format. */
	options.max_ags = 1024;
	KUNIT_ASSERT_EQ(test, 0, kvc_geometry_plan(&options, &geometry, NULL));
	KUNIT_EXPECT_EQ(test, 8, geometry.slot_blocks);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, i ? 0 : 126,
				kvc_slot_part_ags(&geometry, i));
	for (i = 1; i < KVC_MAX_SPANS; i++) {
		grow_by(1, 1 << 18);
		grow.members[0].uuid[15] = i;
		KUNIT_ASSERT_EQ(test, 0, kvc_geometry_grow(&geometry, &grow,
							   &grown, NULL));
		geometry = grown;
	}
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			kvc_geometry_grow(&geometry, &grow, &grown, NULL));
}

static struct kunit_case kvc_layout_cases[] = {
	KUNIT_CASE(plan_defaults),
	KUNIT_CASE(plan_refuses),
	KUNIT_CASE(check_refuses),
	KUNIT_CASE(limits_are_inclusive),
	KUNIT_CASE(spans_collide_where_they_meet),
	KUNIT_CASE(places_are_disjoint),
	KUNIT_CASE(ags_share_out_segments),
	KUNIT_CASE(striping_example),
	KUNIT_CASE(slots_move),
	KUNIT_CASE(growth_extends),
	KUNIT_CASE(growth_refuses),
	{}
};

struct kunit_suite kvc_layout_suite = {
	.name = "kvc_layout",
	.test_cases = kvc_layout_cases,
};
