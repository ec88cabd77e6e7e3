// SPDX-License-Identifier: MIT
/*
 * Whatever records come out of a journal block name segments of the block's AG
 * only, and make up the same block again.
 */
#include "fuzz.h"

static void in_ag(const struct kvc_geometry *g, u32 ag, u32 segment)
{
	MUST(segment < g->nr_segments && kvc_segment_ag(g, segment) == ag);
}

static void check(const struct kvc_geometry *g, u32 ag,
		  const struct kvc_record *rec)
{
	switch (rec->type) {
	case KVC_REC_PUT:
		in_ag(g, ag, rec->put.segment);
		if (rec->put.moved)
			in_ag(g, ag, rec->put.old_segment);
		break;
	case KVC_REC_DELETE:
		in_ag(g, ag, rec->del.segment);
		break;
	case KVC_REC_CHECKPOINT:
	case KVC_REC_ASK:
		break;
	default:
		in_ag(g, ag, rec->seg.segment);
		if (rec->seg.state == KVC_SEG_SEALED)
			in_ag(g, ag, rec->seg.summary_segment);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fuzz_block block, copy;
	const struct kvc_geometry *g;
	struct kvc_journal_info j;
	struct kvc_records it;
	struct kvc_record rec;
	u32 n = 0;
	int more;

	g = fuzz_input(data, size, KVC_BLOCK_JOURNAL, &block);
	if (!g || kvc_journal_open(&block, g, &j, &it))
		return 0;
	MUST(j.ag < g->nr_ags);
	kvc_journal_begin(&copy, j.ag, j.epoch);
	while ((more = kvc_records_next(&it, &rec)) > 0) {
		check(g, j.ag, &rec);
		MUST(kvc_journal_add(&copy, &rec));
		n++;
	}
	if (more < 0)
		return 0;
	MUST(n == j.count);
	MUST(kvc_journal_room(&copy) == KVC_JOURNAL_DATA - j.used);
	MUST(!memcmp(copy.b + sizeof(struct kvc_block_header),
		     block.b + sizeof(struct kvc_block_header),
		     offsetof(struct kvc_journal_block, data) -
		     sizeof(struct kvc_block_header) + j.used));
	return 0;
}
