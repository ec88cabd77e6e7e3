// SPDX-License-Identifier: MIT
/* An area header that is accepted is in range, and encodes to itself. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fuzz_block block, copy;
	const struct kvc_geometry *g;
	struct kvc_area_info a;

	g = fuzz_input(data, size, KVC_BLOCK_AREA, &block);
	if (!g || kvc_area_decode(&block, g, &a))
		return 0;
	MUST(a.ag < g->nr_ags);
	MUST(a.epoch && a.epoch <= KVC_MAX_EPOCH);
	MUST(a.head <= a.checkpoint && a.checkpoint <= KVC_MAX_POSITION);
	MUST(a.checkpoint - a.head < g->ring_blocks);

	kvc_area_encode(&copy, &a);
	MUST(!memcmp(copy.b + sizeof(struct kvc_block_header),
		     block.b + sizeof(struct kvc_block_header),
		     KVC_BLOCK_SIZE - sizeof(struct kvc_block_header)));
	return 0;
}
