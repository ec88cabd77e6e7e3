// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "kvc_segment.h"

void kvc_space_init(struct kvc_space *s, u32 blocks)
{
	s->next = 0;
	s->blocks = blocks;
	s->summary_blocks = 0;
	s->summary_used = KVC_SUMMARY_DATA;
}

bool kvc_space_reserve(struct kvc_space *s, u64 bytes, u32 key_len,
		       u32 *offset)
{
	u32 record = kvc_put_length(key_len);
	u32 summary_blocks = s->summary_blocks;
	u32 summary_used = s->summary_used + record;
	u64 need;

	if (!bytes || bytes > (u64)s->blocks << KVC_BLOCK_SHIFT)
		return false;
	if (summary_used > KVC_SUMMARY_DATA) {
		summary_blocks++;
		summary_used = record;
	}
	need = (u64)s->next + kvc_bytes_to_blocks(bytes) + summary_blocks;
	if (need > s->blocks)
		return false;

	*offset = s->next;
	s->next += kvc_bytes_to_blocks(bytes);
	s->summary_blocks = summary_blocks;
	s->summary_used = summary_used;
	return true;
}

static bool kvc_seg_may(const struct kvc_seg *s, u32 type,
			const struct kvc_segment_rec *r)
{
	switch (type) {
	case KVC_REC_OPEN:
		return (s->state == KVC_SEG_FREE ||
			s->state == KVC_SEG_RETIRED) &&
		       r->generation > s->generation;
	case KVC_REC_SEAL:
		return s->state == KVC_SEG_OPEN &&
		       r->generation == s->generation;
	case KVC_REC_RETIRE:
		return (s->state == KVC_SEG_OPEN ||
			s->state == KVC_SEG_SEALED) &&
		       r->generation == s->generation;
	case KVC_REC_SEGMENT:
		return true;
	}
	return false;
}

int kvc_seg_apply(struct kvc_seg *s, u32 type, const struct kvc_segment_rec *r)
{
	if (r->segment != s->number || !kvc_seg_may(s, type, r))
		return -EINVAL;
	s->state = r->state;
	s->generation = r->generation;
	s->order = r->order;
	s->summary_segment = r->summary_segment;
	s->summary_offset = r->summary_offset;
	s->summary_blocks = r->summary_blocks;
	s->summary_crc = r->summary_crc;
	s->objects = r->objects;
	return 0;
}

void kvc_seg_record(const struct kvc_seg *s, struct kvc_segment_rec *r)
{
	r->segment = s->number;
	r->state = s->state;
	r->generation = s->generation;
	r->order = s->order;
	r->summary_segment = s->summary_segment;
	r->summary_offset = s->summary_offset;
	r->summary_blocks = s->summary_blocks;
	r->summary_crc = s->summary_crc;
	r->objects = s->objects;
}
