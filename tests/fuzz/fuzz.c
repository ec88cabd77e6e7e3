// SPDX-License-Identifier: MIT
#include "fuzz.h"

const struct kvc_geometry *fuzz_pool(u8 control)
{
	static struct kvc_geometry pools[4];
	static bool made;

	if (!made) {
		static struct kvc_format_options o;

		/* The first is the pool that the seeds are of. */
		kvc_fixture_options(&o, 4, 16384);
		MUST(!kvc_geometry_plan(&o, &pools[0], NULL));
		kvc_fixture_options(&o, 1, 8192);
		MUST(!kvc_geometry_plan(&o, &pools[1], NULL));
		kvc_fixture_options(&o, 64, 1ULL << 33);
		MUST(!kvc_geometry_plan(&o, &pools[2], NULL));
		kvc_fixture_two_spans(&pools[3]);
		made = true;
	}
	return &pools[control >> 1 & 3];
}

const struct kvc_geometry *fuzz_input(const u8 *data, size_t size, u8 type,
				      struct fuzz_block *block)
{
	struct kvc_block_header *h = (void *)block;
	const struct kvc_geometry *g;
	enum kvc_block_verdict v;
	struct kvc_place place;
	u64 address;

	if (!size)
		return NULL;
	memset(block, 0, sizeof(*block));
	memcpy(block, data + 1, min_t(size_t, size - 1, sizeof(*block)));
	g = fuzz_pool(data[0]);
	if (data[0] & FUZZ_FIX) {
		h->magic = cpu_to_le64(KVC_MAGIC);
		h->type = type;
		h->version = KVC_FORMAT_VERSION;
		if (type != KVC_BLOCK_LABEL)
			memcpy(h->pool_uuid, g->uuid, sizeof(h->pool_uuid));
		h->crc = 0;
		h->crc = cpu_to_le32(crc32c(~0U, block, sizeof(*block)));
	}

	/* Read where it says that it stands, and next to it. */
	address = le64_to_cpu(h->address);
	place.member = address >> KVC_ADDRESS_MEMBER_SHIFT;
	place.block = address & ((1ULL << KVC_ADDRESS_MEMBER_SHIFT) - 1);
	place.block ^= data[0] >> 7;
	v = kvc_block_verify(block, type, h->pool_uuid, &place);
	MUST(v <= KVC_BLOCK_VERSION);
	if (data[0] & FUZZ_FIX)
		MUST(v == (data[0] >> 7 ? KVC_BLOCK_MISPLACED : KVC_BLOCK_OK));
	return g;
}
