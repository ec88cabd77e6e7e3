// SPDX-License-Identifier: MIT
/*
 * A record that is accepted is in range and encodes to the same bytes. The input
 * is a buffer of its own, so that a read beyond it is seen. FUZZ_FIX makes the
 * record's length that of the input.
 */
#include "fuzz.h"

static void check_put(const struct kvc_geometry *g, const struct kvc_put *p,
		      const u8 *from, const u8 *to)
{
	MUST(p->segment < g->nr_segments);
	MUST(p->bytes && p->bytes <= kvc_max_object(g));
	MUST((u64)p->offset * KVC_BLOCK_SIZE + p->bytes <=
	     kvc_segment_bytes(g));
	MUST(p->key_len && p->key_len <= KVC_MAX_KEY);
	MUST(p->key >= from && p->key + p->key_len <= to);
	if (p->moved)
		MUST(p->old_segment < g->nr_segments &&
		     (u64)p->old_offset * KVC_BLOCK_SIZE + p->bytes <=
		     kvc_segment_bytes(g));
}

static void check_segment(const struct kvc_geometry *g,
			  const struct kvc_segment_rec *s)
{
	MUST(s->segment < g->nr_segments);
	MUST(s->state <= KVC_SEG_RETIRED);
	MUST(s->order <= KVC_MAX_POSITION);
	MUST(s->summary_segment < g->nr_segments);
	MUST((u64)s->summary_offset + s->summary_blocks <=
	     kvc_segment_blocks(g));
	MUST(s->state == KVC_SEG_SEALED || !s->summary_blocks);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const struct kvc_geometry *g;
	struct kvc_record rec;
	int length;
	u8 *in, *out;

	if (!size)
		return 0;
	g = fuzz_pool(data[0]);
	size--;
	in = malloc(size ? size : 1);
	MUST(in);
	memcpy(in, data + 1, size);
	if (data[0] & FUZZ_FIX && size >= sizeof(struct kvc_rec_header)) {
		in[2] = size & 0xf8;
		in[3] = size >> 8;
	}

	length = kvc_record_decode(in, size, g, &rec);
	if (length >= 0) {
		MUST(length >= 8 && length % 8 == 0 && (size_t)length <= size);
		switch (rec.type) {
		case KVC_REC_PUT:
			check_put(g, &rec.put, in, in + length);
			break;
		case KVC_REC_DELETE:
			MUST(rec.del.segment < g->nr_segments);
			MUST(rec.del.offset < kvc_segment_blocks(g));
			break;
		case KVC_REC_CHECKPOINT:
			MUST(rec.checkpoint.part < rec.checkpoint.parts);
			MUST(rec.checkpoint.parts <= g->ring_blocks);
			break;
		case KVC_REC_ASK:
			MUST(rec.ask.ag < g->nr_ags);
			break;
		default:
			check_segment(g, &rec.seg);
		}
		out = malloc(length);
		MUST(out);
		MUST(!kvc_record_encode(out, length - 8, &rec));
		MUST(kvc_record_encode(out, length, &rec) == (u32)length);
		MUST(!memcmp(in, out, length));
		free(out);
	} else {
		MUST(length == -EINVAL);
	}
	free(in);
	return 0;
}
