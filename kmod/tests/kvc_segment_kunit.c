// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "kvc_kunit.h"
#include "kvc_fixture.h"
#include "kvc_segment.h"

static void space_hands_out_runs_in_order(struct kunit *test)
{
	struct kvc_space s;
	u32 offset;

	kvc_space_init(&s, 256);
	KUNIT_EXPECT_TRUE(test, kvc_space_reserve(&s, 1, 8, &offset));
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_EXPECT_TRUE(test, kvc_space_reserve(&s, 4096, 8, &offset));
	KUNIT_EXPECT_EQ(test, offset, 1);
	KUNIT_EXPECT_TRUE(test, kvc_space_reserve(&s, 4097, 8, &offset));
	KUNIT_EXPECT_EQ(test, offset, 2);
	KUNIT_EXPECT_EQ(test, s.next, 4);
	KUNIT_EXPECT_EQ(test, s.summary_blocks, 1);
}

static void space_leaves_room_for_the_summary(struct kunit *test)
{
	struct kvc_space s;
	u32 offset;

	kvc_space_init(&s, 256);
	KUNIT_EXPECT_FALSE(test, kvc_space_reserve(&s, 0, 8, &offset));
	/* All 256 blocks for data: no block is left for the summary. */
	KUNIT_EXPECT_FALSE(test, kvc_space_reserve(&s, 256 * 4096, 8, &offset));
	KUNIT_EXPECT_FALSE(test, kvc_space_reserve(&s, ~0ULL, 8, &offset));
	KUNIT_EXPECT_TRUE(test, kvc_space_reserve(&s, 255 * 4096, 8, &offset));
	KUNIT_EXPECT_FALSE(test, kvc_space_reserve(&s, 1, 8, &offset));
	KUNIT_EXPECT_EQ(test, s.next, 255);
}

/*
 * The reservation's count of summary blocks against a real packing: of all
 * records, and of all but some that failed.
 */
static void pack(struct kunit *test, u64 *state, u32 skip_of)
{
	struct kvc_space s;
	u32 offset, key_len, n = 0, blocks = 0, used = KVC_SUMMARY_DATA;

	kvc_space_init(&s, 4096);
	for (;;) {
		key_len = 1 + kvc_fixture_random(state) % KVC_MAX_KEY;
		if (!kvc_space_reserve(&s, 1 + kvc_fixture_random(state) % 9000,
				       key_len, &offset))
			break;
		n++;
		if (skip_of && kvc_fixture_random(state) % skip_of == 0)
			continue;
		if (used + kvc_put_length(key_len) > KVC_SUMMARY_DATA) {
			blocks++;
			used = 0;
		}
		used += kvc_put_length(key_len);
	}
	KUNIT_EXPECT_GT(test, n, 100);
	KUNIT_EXPECT_LE(test, s.next + s.summary_blocks, 4096);
	if (skip_of)
		KUNIT_EXPECT_LE(test, blocks, s.summary_blocks);
	else
		KUNIT_EXPECT_EQ(test, blocks, s.summary_blocks);
}

static void space_counts_as_the_packing_does(struct kunit *test)
{
	u64 state = 1;
	int i;

	for (i = 0; i < 50; i++)
		pack(test, &state, i % 5);
}

static int apply(struct kvc_seg *s, u32 type, u32 state, u64 generation)
{
	struct kvc_segment_rec r = {
		.segment = 7,
		.state = state,
		.generation = generation,
		.order = 3,
	};

	return kvc_seg_apply(s, type, &r);
}

static void segments_live_in_order(struct kunit *test)
{
	struct kvc_seg s = { .number = 7, .generation = 4 };

	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_SEAL, KVC_SEG_SEALED, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_RETIRE, KVC_SEG_RETIRED, 4));
	/* Never the same generation again. */
	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_OPEN, KVC_SEG_OPEN, 4));
	KUNIT_EXPECT_EQ(test, 0, apply(&s, KVC_REC_OPEN, KVC_SEG_OPEN, 5));
	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_OPEN, KVC_SEG_OPEN, 6));
	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_SEAL, KVC_SEG_SEALED, 4));
	KUNIT_EXPECT_EQ(test, 0, apply(&s, KVC_REC_SEAL, KVC_SEG_SEALED, 5));
	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_SEAL, KVC_SEG_SEALED, 5));
	KUNIT_EXPECT_EQ(test, 0, apply(&s, KVC_REC_RETIRE, KVC_SEG_RETIRED, 5));
	KUNIT_EXPECT_EQ(test, 0, apply(&s, KVC_REC_OPEN, KVC_SEG_OPEN, 9));
	/* One that was never sealed may be retired. */
	KUNIT_EXPECT_EQ(test, 0, apply(&s, KVC_REC_RETIRE, KVC_SEG_RETIRED, 9));
	s.number = 8;
	KUNIT_EXPECT_EQ(test, -EINVAL, apply(&s, KVC_REC_OPEN, KVC_SEG_OPEN, 10));
}

static void segments_tell_their_state(struct kunit *test)
{
	struct kvc_seg s = {
		.number = 7, .state = KVC_SEG_SEALED, .generation = 5,
		.order = 11, .summary_segment = 7, .summary_offset = 250,
		.summary_blocks = 6, .summary_crc = 0x1234, .objects = 99,
	};
	struct kvc_seg copy = { .number = 7 };
	struct kvc_segment_rec r;

	kvc_seg_record(&s, &r);
	KUNIT_EXPECT_EQ(test, 0, kvc_seg_apply(&copy, KVC_REC_SEGMENT, &r));
	/* Less the padding behind the last field. */
	KUNIT_EXPECT_EQ(test, 0,
			memcmp(&copy, &s, offsetof(struct kvc_seg, objects) +
						  sizeof(copy.objects)));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(space_hands_out_runs_in_order),
	KUNIT_CASE(space_leaves_room_for_the_summary),
	KUNIT_CASE(space_counts_as_the_packing_does),
	KUNIT_CASE(segments_live_in_order),
	KUNIT_CASE(segments_tell_their_state),
	{}
};

struct kunit_suite kvc_segment_suite = {
	.name = "kvc_segment",
	.test_cases = cases,
};
