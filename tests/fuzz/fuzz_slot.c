// SPDX-License-Identifier: MIT
/* A slot block that is accepted is in range, and encodes to itself. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fuzz_block block, copy;
	static struct kvc_slot_info s;
	const struct kvc_geometry *g;

	g = fuzz_input(data, size, KVC_BLOCK_SLOT, &block);
	if (!g || kvc_slot_decode(&block, g, &s))
		return 0;
	MUST(s.number < g->nr_slots);
	MUST(s.nr_ags <= KVC_AGS_PER_SLOT_BLOCK);
	/* Its host may know more AGs than this geometry: rule 35. */
	MUST(s.first_ag + s.nr_ags <= g->slot_blocks * KVC_AGS_PER_SLOT_BLOCK);
	MUST(strlen(s.nqn) < sizeof(s.nqn) && strlen(s.node) < sizeof(s.node));

	kvc_slot_encode(&copy, &s);
	MUST(!memcmp(copy.b + sizeof(struct kvc_block_header),
		     block.b + sizeof(struct kvc_block_header),
		     KVC_BLOCK_SIZE - sizeof(struct kvc_block_header)));
	return 0;
}
