// SPDX-License-Identifier: MIT
/* The layout over many geometries: every place is in range and its own. */
#include "support.h"

static struct kvc_format_options o;
static struct kvc_geometry g;

static u8 *map;
static u64 map_blocks;

static void claim(struct kvc_place place, u64 blocks)
{
	u8 *at = map + place.member * map_blocks + place.block;

	assert_true(place.member < g.nr_members);
	assert_true(place.block < g.members[place.member].blocks);
	assert_true(blocks <= g.members[place.member].blocks - place.block);
	assert_true(blocks && !*at);
	assert_true(blocks == 1 || !memcmp(at, at + 1, blocks - 1));
	memset(at, 1, blocks);
}

/* kvc_place_data() by the words of its description, one block. */
static struct kvc_place place_by_words(u32 segment, u64 offset)
{
	const struct kvc_span *s = &g.spans[0];
	struct kvc_place place;
	u64 unit, row, lane, t;

	while (segment >= s->first_segment + s->nr_segments)
		s++;
	unit = offset / (256 << 10);
	lane = unit % s->width;
	row = unit / s->width;
	t = (u64)(segment - s->first_segment) * s->width + lane;
	place.member = s->first_member + t % s->nr_members;
	place.block = g.data_start + (s->first_lane + t / s->nr_members) *
			(kvc_segment_bytes(&g) / s->width / 4096) +
		      row * 64 + offset % (256 << 10) / 4096;
	return place;
}

static void walk_segment(u32 segment)
{
	u64 size = kvc_segment_bytes(&g), offset, bytes, members = 0;
	struct kvc_place place;

	for (offset = 0; offset < size; offset += bytes) {
		bytes = size - offset;
		place = kvc_place_data(&g, segment, offset, &bytes);
		assert_true(bytes && bytes <= size - offset);
		assert_true(bytes % KVC_BLOCK_SIZE == 0);
		claim(place, bytes / KVC_BLOCK_SIZE);
		members |= 1ULL << place.member;
	}
	assert_true(members == kvc_segment_members(&g, segment));
}

/* Any part of a segment is where the whole has it, and what it was asked. */
static void walk_parts(u64 *seed)
{
	u64 size = kvc_segment_bytes(&g), offset, bytes, wanted;
	struct kvc_place place, words;
	u32 i, segment;

	for (i = 0; i < 50; i++) {
		segment = kvc_fixture_random(seed) % g.nr_segments;
		offset = kvc_fixture_random(seed) % size & ~4095ULL;
		wanted = (kvc_fixture_random(seed) % (size - offset) & ~4095ULL)
			+ 4096;
		bytes = wanted;
		place = kvc_place_data(&g, segment, offset, &bytes);
		words = place_by_words(segment, offset);
		assert_int_equal(words.member, place.member);
		assert_true(words.block == place.block);
		assert_true(bytes && bytes <= wanted && bytes % 4096 == 0);
		words = place_by_words(segment, offset + bytes - 4096);
		assert_int_equal(words.member, place.member);
		assert_true(words.block == place.block + bytes / 4096 - 1);
		if (kvc_span_of_segment(&g, segment)->width == 1)
			assert_true(bytes == wanted);
		else
			assert_true(bytes == wanted ||
				    (offset + bytes) % (256 << 10) == 0);
	}
}

/* Claim everything that a pool has, block by block. */
static void walk_pool(u64 seed)
{
	u32 i, j, k, first, segment = 0;
	u64 position;

	map_blocks = 0;
	for (i = 0; i < g.nr_members; i++)
		map_blocks = max(map_blocks, g.members[i].blocks);
	map = calloc(g.nr_members, map_blocks);
	assert_non_null(map);

	for (i = 0; i < g.nr_members; i++)
		for (j = 0; j < 2; j++)
			claim(kvc_place_label(&g, i, j), 1);
	for (i = 0; i < g.nr_slots; i++)
		for (j = 0; j < g.nr_slot_copies; j++)
			for (k = 0; k < g.slot_blocks; k++)
				claim(kvc_place_slot(&g, i, j, k), 1);
	for (i = 0; i < g.nr_ags; i++) {
		for (j = 0; j < KVC_NR_AREAS; j++) {
			claim(kvc_place_area(&g, i, j), KVC_AREA_HEADERS);
			position = kvc_fixture_random(&seed) >> 2;
			for (k = 0; k < g.ring_blocks; k++)
				claim(kvc_place_journal(&g, i, 4 * seed + j,
							position + k), 1);
			assert_int_equal(kvc_ag_home(&g, i),
					 kvc_place_area(&g, i, j).member);
		}
		first = kvc_ag_first_segment(&g, i);
		assert_int_equal(segment, first);
		assert_true(kvc_ag_nr_segments(&g, i) > 0);
		for (; segment < first + kvc_ag_nr_segments(&g, i); segment++) {
			assert_int_equal(i, kvc_segment_ag(&g, segment));
			walk_segment(segment);
		}
	}
	assert_int_equal(segment, g.nr_segments);
	walk_parts(&seed);
	free(map);
}

static void plan(const char *what)
{
	const char *why = "";
	int err = kvc_geometry_plan(&o, &g, &why);

	if (err)
		print_error("%s: %s\n", what, why);
	assert_int_equal(0, err);
}

static void every_width_and_member_count(void **state)
{
	u32 members, shift, width;

	(void)state;
	for (members = 1; members <= KVC_MAX_MEMBERS; members++) {
		for (shift = 0; 1u << shift <= members; shift++) {
			width = 1u << shift;
			/* About eight segments a member, odd sizes. */
			kvc_fixture_options(&o, members, 300 +
				((8 + members % 3) << (shift < 2 ? 8 : 6 + shift))
				+ members % 7);
			o.width = width;
			o.segment_shift = shift < 2 ? 20 : 18 + shift;
			o.nr_ags = 1 + members / 2;
			o.nr_slots = 1 + members;
			plan("width");
			walk_pool(members);
		}
	}
}

/* One span cut in two: what a pool looks like that was extended. */
static void two_spans(void **state)
{
	struct kvc_span *a = &g.spans[0], *b = &g.spans[1];
	u32 members, cut, per_ag, lanes, more, i;
	const char *why;

	(void)state;
	for (members = 1; members <= 12; members++) {
		kvc_fixture_options(&o, members, 9000 + members);
		o.segment_shift = 20;
		o.nr_ags = 4;
		plan("two spans");
		for (cut = 1; cut < 4; cut++) {
			plan("two spans");
			per_ag = a->nr_segments / a->nr_ags;
			g.nr_spans = 2;
			*b = *a;
			a->nr_ags = cut;
			a->nr_segments = cut * per_ag;
			b->first_ag = cut;
			b->nr_ags = 4 - cut;
			b->first_segment = a->nr_segments;
			b->nr_segments = b->nr_ags * per_ag;
			lanes = DIV_ROUND_UP(a->nr_segments * a->width,
					     members);
			b->first_lane = lanes;
			b->first_journal = DIV_ROUND_UP(cut, members);
			g.nr_lanes += 1;
			g.nr_journals += 1;
			more = 4 * (2 + g.ring_blocks);
			g.data_start += more;
			for (i = 0; i < members; i++)
				g.members[i].blocks += more + 256;
			assert_int_equal(0, kvc_geometry_check(&g, &why));
			walk_pool(cut);

			b->first_lane = lanes - 1;
			assert_fails(EINVAL, kvc_geometry_check(&g, &why));
			b->first_lane = lanes;
			b->first_journal--;
			assert_fails(EINVAL, kvc_geometry_check(&g, &why));
		}
	}
	kvc_fixture_two_spans(&g);
	walk_pool(99);
}

/* The last data block, label and lane of a geometry are where they may be. */
static void check_corners(void)
{
	u64 size = kvc_segment_bytes(&g), bytes = 4096;
	u32 last = g.nr_segments - 1, i;
	struct kvc_place place;

	for (i = 0; i < 64; i++, last -= last > 0) {
		bytes = 4096;
		place = kvc_place_data(&g, last, size - 4096, &bytes);
		assert_true(place.member < g.nr_members);
		assert_true(place.block >= g.data_start);
		assert_true(place.block < g.members[place.member].blocks - 1);
		assert_int_equal(4096, bytes);
	}
	place = kvc_place_journal(&g, g.nr_ags - 1, 3, KVC_MAX_POSITION);
	assert_true(place.block >= g.journal_start &&
		    place.block < g.data_start);
	place = kvc_place_area(&g, g.nr_ags - 1, 3);
	assert_true(place.block + 2 + g.ring_blocks <= g.data_start);
	place = kvc_place_slot(&g, g.nr_slots - 1, g.nr_slot_copies - 1,
			       g.slot_blocks - 1);
	assert_true(place.block < g.journal_start);
}

static void check_planned(u64 blocks)
{
	static struct kvc_geometry decoded;
	const struct kvc_writer w = { .slot = KVC_NO_SLOT };
	u32 per_ag = g.nr_segments / g.nr_ags, member;
	static struct block block;
	const char *why;
	double used;

	assert_int_equal(0, kvc_geometry_check(&g, &why));
	assert_int_equal(0, g.nr_segments % g.nr_ags);
	assert_true(per_ag >= 4);
	assert_true(g.ring_blocks >= 10 * ((per_ag + 81) / 82) + 22);
	check_corners();

	kvc_label_encode(&block, &g, g.nr_members - 1);
	kvc_block_finish(&block, KVC_BLOCK_LABEL, g.uuid,
			 kvc_place_label(&g, g.nr_members - 1, 1), 1, &w);
	assert_int_equal(0, kvc_label_decode(&block, &decoded, &member, &why));
	assert_memory_equal(&g, &decoded, sizeof(g));

	/* Defaults waste little. */
	if (!o.segment_shift && !o.nr_ags && !o.width && !o.ring_blocks) {
		assert_true(per_ag >= 8 || g.nr_ags == 1);
		used = (double)g.nr_segments * kvc_segment_blocks(&g) /
			((double)blocks * g.nr_members);
		if (blocks >= 1u << 24)
			assert_true(used > 0.97);
		else if (blocks >= 4096)
			assert_true(used > 0.75);
	}
}

static void plan_sweep(void **state)
{
	static const u32 shifts[] = { 0, 20, 24, 28, 30 };
	static const u32 widths[] = { 0, 1, 2, 8, 64 };
	static const u32 ags[] = { 0, 1, 7, 1024 };
	static const u32 counts[] = { 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 63, 64 };
	u32 members, n, i, j, k, fits = 0, all = 0;
	const char *why;
	u64 blocks;
	int err;

	(void)state;
	for (n = 0; n < ARRAY_SIZE(counts); n++) {
		members = counts[n];
		for (blocks = 1; blocks < 1ULL << 35;
		     blocks += 1 + blocks / 3) {
			for (i = 0; i < ARRAY_SIZE(shifts); i++)
			for (j = 0; j < ARRAY_SIZE(widths); j++)
			for (k = 0; k < ARRAY_SIZE(ags); k++) {
				kvc_fixture_options(&o, members, blocks);
				o.segment_shift = shifts[i];
				o.width = widths[j];
				o.nr_ags = ags[k];
				why = NULL;
				err = kvc_geometry_plan(&o, &g, &why);
				all++;
				if (!err) {
					fits++;
					check_planned(blocks);
					continue;
				}
				assert_non_null(why);
				assert_true(err == -EINVAL || err == -ENOSPC);
				/* Defaults fit from 16 MiB to 128 TiB. */
				assert_false(!shifts[i] && !widths[j] &&
					     !ags[k] && blocks >= 4096);
			}
		}
	}
	print_message("%u of %u combinations fit\n", fits, all);
	assert_true(fits > all / 4);
}

/* Members of different size: the smallest counts, each has its own end. */
static void unequal_members(void **state)
{
	u32 i;

	(void)state;
	kvc_fixture_options(&o, 3, 16384);
	o.members[0].blocks = 20001;
	o.members[1].blocks = 8192;
	plan("unequal");
	for (i = 0; i < 3; i++)
		assert_true(kvc_place_label(&g, i, 1).block ==
			    o.members[i].blocks - 1);
	walk_pool(5);
}

/* What only a geometry of the right size shows. */
static void narrow_refusals(void **state)
{
	const char *why;
	u32 i;

	(void)state;
	/* Lanes of half a unit. */
	kvc_fixture_options(&o, 8, 16384);
	o.width = 8;
	o.segment_shift = 21;
	plan("narrow");
	g.segment_shift = 20;
	assert_fails(EINVAL, kvc_geometry_check(&g, &why));
	assert_non_null(strstr(why, "256 KiB"));

	/* 2^32 lanes are none, by arithmetic on 32 bits. */
	kvc_fixture_options(&o, 8, 1ULL << 33);
	o.width = 8;
	o.nr_ags = 1024;
	o.ring_blocks = KVC_MAX_RING_BLOCKS;
	plan("narrow");
	g.segment_shift = 21;
	for (i = 0; i < 8; i++)
		g.members[i].blocks = 1ULL << 47;
	g.nr_lanes = U32_MAX;
	g.nr_segments = (1U << 29) - 1024;
	g.spans[0].nr_segments = g.nr_segments;
	assert_int_equal(0, kvc_geometry_check(&g, &why));
	g.nr_segments = 1U << 29;
	g.spans[0].nr_segments = g.nr_segments;
	assert_fails(EINVAL, kvc_geometry_check(&g, &why));
	assert_non_null(strstr(why, "too many lanes"));
}

static void set(void *field, size_t size, u64 value)
{
	memcpy(field, &value, size);
}

/*
 * Geometries with fields of random content: whatever the check lets pass has
 * all its places within the members.
 */
static void hostile_geometries(void **state)
{
#define FIELD(f) { offsetof(struct kvc_geometry, f), sizeof(g.f) }
	static const struct {
		size_t at, size;
	} fields[] = {
		FIELD(nr_members), FIELD(nr_spans), FIELD(nr_slots),
		FIELD(nr_slot_copies), FIELD(slot_blocks),
		FIELD(segment_shift), FIELD(unit_shift), FIELD(slot_start),
		FIELD(journal_start), FIELD(ring_blocks), FIELD(nr_journals),
		FIELD(data_start), FIELD(nr_lanes), FIELD(nr_ags),
		FIELD(nr_segments), FIELD(spans[0].nr_ags),
		FIELD(spans[0].nr_segments), FIELD(spans[0].first_member),
		FIELD(spans[0].nr_members), FIELD(spans[0].width),
		FIELD(spans[0].first_lane), FIELD(spans[0].first_journal),
		FIELD(spans[1].first_ag), FIELD(spans[1].nr_ags),
		FIELD(spans[1].first_segment), FIELD(spans[1].nr_segments),
		FIELD(spans[1].first_member), FIELD(spans[1].nr_members),
		FIELD(spans[1].width), FIELD(spans[1].first_lane),
		FIELD(spans[1].first_journal), FIELD(members[2].blocks),
		FIELD(slot_members), FIELD(slot_leaves), FIELD(incompat),
		FIELD(members[1].state),
	};
	u32 round, change, field, passed = 0;
	u64 seed = 7, value;
	const char *why;

	(void)state;
	for (round = 0; round < 400000; round++) {
		kvc_fixture_two_spans(&g);
		for (change = 0; change < 1 + round % 3; change++) {
			field = kvc_fixture_random(&seed) % ARRAY_SIZE(fields);
			value = kvc_fixture_random(&seed);
			value >>= kvc_fixture_random(&seed) % 64;
			set((u8 *)&g + fields[field].at, fields[field].size,
			    value);
		}
		if (kvc_geometry_check(&g, &why))
			continue;
		passed++;
		check_corners();
	}
	print_message("%u of %u geometries passed\n", passed, round);
	assert_true(passed > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_width_and_member_count),
		cmocka_unit_test(two_spans),
		cmocka_unit_test(plan_sweep),
		cmocka_unit_test(unequal_members),
		cmocka_unit_test(narrow_refusals),
		cmocka_unit_test(hostile_geometries),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
