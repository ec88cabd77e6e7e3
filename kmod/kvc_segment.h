/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The segment allocator: a segment's states, the space in an open one, and
 * which one to reclaim next. Pure: the caller locks, and writes the journal
 * records that make a transition last.
 */
#ifndef KVC_SEGMENT_H
#define KVC_SEGMENT_H

#include "kvc_codec.h"

/**
 * struct kvc_space - the space of an open segment, in 4 KiB blocks
 * @next: first block that is not given out
 * @blocks: of the whole segment
 * @summary_blocks: blocks that the summary of all that was given out needs
 * @summary_used: bytes used in the last of them
 *
 * Objects grow from the start; the summary will stand at the end. Records are
 * packed in the order of reservation, next-fit; leaving some out later (puts
 * that failed) never needs more blocks, since next-fit is monotonic.
 */
struct kvc_space {
	u32 next;
	u32 blocks;
	u32 summary_blocks;
	u32 summary_used;
};

void kvc_space_init(struct kvc_space *s, u32 blocks);

/**
 * kvc_space_reserve() - take a run for an object
 * @s: space
 * @bytes: length of the object, > 0
 * @key_len: of its key
 * @offset: set to the run's first block
 *
 * Return: true, or false if object and record do not fit any more.
 */
bool kvc_space_reserve(struct kvc_space *s, u64 bytes, u32 key_len,
		       u32 *offset);

static inline u32 kvc_bytes_to_blocks(u64 bytes)
{
	return (u32)((bytes + KVC_BLOCK_SIZE - 1) >> KVC_BLOCK_SHIFT);
}

/**
 * struct kvc_seg - what the media know of a segment
 * @number: segment
 * @state: enum kvc_segment_state
 * @generation: count of lives
 * @order: sealed: place in reclaim order; retired: position of the RETIRE
 * @summary_segment: sealed: where the summary is
 * @summary_offset: and its first block there
 * @summary_blocks: and its length
 * @summary_crc: and its CRC
 * @objects: records in it
 */
struct kvc_seg {
	u32 number;
	u32 state;
	u64 generation;
	u64 order;
	u32 summary_segment;
	u32 summary_offset;
	u32 summary_blocks;
	u32 summary_crc;
	u32 objects;
};

/**
 * kvc_seg_apply() - take a record's transition
 * @s: segment
 * @type: KVC_REC_OPEN, KVC_REC_SEAL, KVC_REC_RETIRE or KVC_REC_SEGMENT
 * @r: record
 *
 * OPEN wants a free or retired segment and a higher generation; SEAL an open
 * one and its generation; RETIRE an open or sealed one and its generation.
 * SEGMENT sets everything.
 *
 * Return: 0, or -EINVAL if the transition is not legal (nothing changed).
 */
int kvc_seg_apply(struct kvc_seg *s, u32 type, const struct kvc_segment_rec *r);

/* The record that tells a segment's present state (for a checkpoint). */
void kvc_seg_record(const struct kvc_seg *s, struct kvc_segment_rec *r);

/* First generation of an AG that starts empty with @epoch (protocol rule 30). */
static inline u64 kvc_first_generation(u64 epoch)
{
	return epoch << 32;
}

#endif
