// SPDX-License-Identifier: MIT
/*
 * Whatever comes out of a summary block are PUTs of its segment and generation,
 * and make up the same block again.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fuzz_block block, copy;
	const struct kvc_geometry *g;
	struct kvc_summary_info s;
	struct kvc_records it;
	struct kvc_record rec;
	int more;

	g = fuzz_input(data, size, KVC_BLOCK_SUMMARY, &block);
	if (!g || kvc_summary_open(&block, g, &s, &it))
		return 0;
	MUST(s.segment < g->nr_segments);
	MUST(s.ag == kvc_segment_ag(g, s.segment));
	MUST(s.part < s.nr_blocks && s.nr_blocks <= kvc_segment_blocks(g));
	kvc_summary_begin(&copy, s.ag, s.segment, s.generation, s.nr_blocks);
	while ((more = kvc_records_next(&it, &rec)) > 0) {
		MUST(rec.type == KVC_REC_PUT);
		MUST(rec.put.segment == s.segment);
		MUST(rec.put.generation == s.generation);
		MUST(kvc_summary_add(&copy, &rec));
	}
	if (more < 0)
		return 0;
	MUST(!memcmp(copy.b + sizeof(struct kvc_block_header),
		     block.b + sizeof(struct kvc_block_header),
		     offsetof(struct kvc_summary_block, data) -
		     sizeof(struct kvc_block_header) + s.used));
	return 0;
}
