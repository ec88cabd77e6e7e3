// SPDX-License-Identifier: MIT
/*
 * A label that is accepted describes a pool whose every place is within its
 * members and not where something else is, and encodes to itself.
 */
#include "fuzz.h"

static void within(const struct kvc_geometry *g, struct kvc_place place,
		   u64 from, u64 blocks, u64 to)
{
	MUST(place.member < g->nr_members);
	MUST(to < g->members[place.member].blocks);
	MUST(place.block >= from);
	MUST(place.block <= to && blocks <= to - place.block);
}

static void check_places(const struct kvc_geometry *g, u64 seed)
{
	u64 offset, bytes, wanted;
	struct kvc_place place;
	u32 i, ag, segment;

	for (i = 0; i < g->nr_members; i++) {
		within(g, kvc_place_label(g, i, 0), 0, 1, 1);
		MUST(kvc_place_label(g, i, 1).block ==
		     g->members[i].blocks - 1);
	}
	for (i = 0; i < 32; i++) {
		ag = kvc_fixture_random(&seed) % g->nr_ags;
		within(g, kvc_place_area(g, ag, i % KVC_NR_AREAS),
		       g->journal_start, KVC_AREA_HEADERS + g->ring_blocks,
		       g->data_start);
		within(g, kvc_place_journal(g, ag, i, kvc_fixture_random(&seed)),
		       g->journal_start + KVC_AREA_HEADERS, 1, g->data_start);
		MUST(kvc_ag_home(g, ag) == kvc_place_area(g, ag, 0).member);

		within(g, kvc_place_slot(g, kvc_fixture_random(&seed) %
					 g->nr_slots, i % kvc_slot_places(g),
					 i % g->slot_blocks),
		       1, 1, g->journal_start);

		segment = kvc_ag_first_segment(g, ag) +
			kvc_fixture_random(&seed) % kvc_ag_nr_segments(g, ag);
		MUST(segment < g->nr_segments);
		MUST(kvc_segment_ag(g, segment) == ag);
		offset = kvc_fixture_random(&seed) % kvc_segment_bytes(g) &
			~4095ULL;
		wanted = kvc_segment_bytes(g) - offset;
		bytes = wanted;
		place = kvc_place_data(g, segment, offset, &bytes);
		MUST(bytes && bytes <= wanted && bytes % KVC_BLOCK_SIZE == 0);
		within(g, place, g->data_start, bytes >> KVC_BLOCK_SHIFT,
		       g->members[place.member].blocks - 1);
		MUST(kvc_segment_members(g, segment) >> place.member & 1);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct kvc_geometry g, again;
	static struct fuzz_block block, copy;
	const struct kvc_writer w = { .slot = KVC_NO_SLOT };
	const char *why = NULL;
	u32 member, member_again;
	u64 sequence;
	int err;

	if (!fuzz_input(data, size, KVC_BLOCK_LABEL, &block))
		return 0;
	err = kvc_label_decode(&block, &g, &member, &why);
	if (err) {
		MUST((err == -EINVAL || err == -EOPNOTSUPP) && why);
		return 0;
	}
	MUST(member < g.nr_members);
	MUST(!kvc_geometry_check(&g, &why));
	check_places(&g, size);

	sequence = le64_to_cpu(((struct kvc_block_header *)&block)->sequence);
	kvc_label_encode(&copy, &g, member);
	kvc_block_finish(&copy, KVC_BLOCK_LABEL, g.uuid,
			 kvc_place_label(&g, member, 1), sequence, &w);
	MUST(!kvc_label_decode(&copy, &again, &member_again, &why));
	MUST(member == member_again && !memcmp(&g, &again, sizeof(g)));
	return 0;
}
