/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The codec of the media format: packs and unpacks blocks and records, and
 * takes every byte that it reads for hostile. It decides nothing: what a block
 * means is the business of its caller. Blocks and records are aligned to 8.
 */
#ifndef KVC_CODEC_H
#define KVC_CODEC_H

#include "kvc_hash.h"
#include "kvc_layout.h"

/* Who writes a block. */
struct kvc_writer {
	u32 slot;
	u64 incarnation;
};

/**
 * enum kvc_block_verdict - what a 4 KiB block turned out to be
 * @KVC_BLOCK_OK: a sound block of this pool, type, version and address
 * @KVC_BLOCK_NEVER: no block of this pool: never written since format
 * @KVC_BLOCK_CRC: carries magic and this pool's UUID, but its CRC is wrong
 * @KVC_BLOCK_MISPLACED: sound, but says it stands elsewhere
 * @KVC_BLOCK_TYPE: sound, of another type
 * @KVC_BLOCK_VERSION: sound, of a format version that is not known
 */
enum kvc_block_verdict {
	KVC_BLOCK_OK,
	KVC_BLOCK_NEVER,
	KVC_BLOCK_CRC,
	KVC_BLOCK_MISPLACED,
	KVC_BLOCK_TYPE,
	KVC_BLOCK_VERSION,
};

/**
 * kvc_block_finish() - fill in a block's header and CRC
 * @block: KVC_BLOCK_SIZE bytes aligned to 8, all but the header filled in
 * @type: enum kvc_block_type
 * @uuid: of the pool
 * @place: where it will be written
 * @sequence: see struct kvc_block_header
 * @w: writer
 *
 * A block that is written in two places is finished for each.
 */
void kvc_block_finish(void *block, u8 type, const u8 *uuid,
		      struct kvc_place place, u64 sequence,
		      const struct kvc_writer *w);

/**
 * kvc_block_verify() - judge a block that was read
 * @block: KVC_BLOCK_SIZE bytes
 * @type: expected type
 * @uuid: of the pool; NULL accepts any pool (label probing)
 * @place: where it was read; NULL accepts any address (label probing)
 */
enum kvc_block_verdict kvc_block_verify(const void *block, u8 type,
					const u8 *uuid,
					const struct kvc_place *place);

const char *kvc_block_verdict_name(enum kvc_block_verdict v);

/**
 * kvc_key_hash() - 128-bit hash of a key
 * @hash_key: from the label
 * @tenant: tenant
 * @key: 1 .. KVC_MAX_KEY bytes
 * @len: how many
 */
struct kvc_hash kvc_key_hash(const u8 *hash_key, u32 tenant, const void *key,
			     size_t len);

/* Initial value of an object's data CRC. */
static inline u32 kvc_data_crc_seed(struct kvc_hash h)
{
	return (u32)h.lo;
}

/* --- label --- */

/**
 * kvc_label_encode() - make the label of one member
 * @block: KVC_BLOCK_SIZE bytes, overwritten; not yet finished
 * @g: geometry
 * @member: whose label
 */
void kvc_label_encode(void *block, const struct kvc_geometry *g, u32 member);

/**
 * kvc_label_decode() - take a label apart
 * @block: passed kvc_block_verify()
 * @g: filled in; passed kvc_geometry_check()
 * @member: set to whose label it is
 * @why: on failure a clause for the user; may be NULL
 *
 * Return: 0, -EINVAL (malformed), -EOPNOTSUPP (unknown feature bits).
 */
int kvc_label_decode(const void *block, struct kvc_geometry *g, u32 *member,
		     const char **why);

/* --- slots --- */

/* struct kvc_slot_ag in host order. */
struct kvc_slot_ag_info {
	u64 owned_epoch;
	u64 followed_epoch;
	u64 drained;
};

/* struct kvc_slot_block in host order. */
struct kvc_slot_info {
	u32 number;
	u32 first_ag;
	u32 nr_ags;
	u32 state;
	u64 sequence;
	u64 incarnation;
	u64 heartbeat;
	u64 flags;
	u64 label_seq;
	u8 boot_id[16];
	u8 attach_id[16];
	char nqn[KVC_NQN_SIZE];
	char node[KVC_NAME_SIZE];
	struct kvc_slot_ag_info ags[KVC_AGS_PER_SLOT_BLOCK];
};

/*
 * Which copy of a slot's block is the newer one? A copy that was out of reach when
 * the slot was granted anew may hold a higher sequence of the earlier incarnation.
 */
static inline bool kvc_slot_newer(const struct kvc_slot_info *a,
				  const struct kvc_slot_info *b)
{
	if (a->incarnation != b->incarnation)
		return a->incarnation > b->incarnation;
	return a->sequence > b->sequence;
}

void kvc_slot_encode(void *block, const struct kvc_slot_info *s);
int kvc_slot_decode(const void *block, const struct kvc_geometry *g,
		    struct kvc_slot_info *s);	/* 0 or -EINVAL */

/* --- area headers --- */

struct kvc_area_info {
	u32 ag;
	u32 owner_slot;
	u64 owner_incarnation;
	u64 epoch;
	u64 head;
	u64 checkpoint;
	u64 sequence;
};

void kvc_area_encode(void *block, const struct kvc_area_info *a);
int kvc_area_decode(const void *block, const struct kvc_geometry *g,
		    struct kvc_area_info *a);	/* 0 or -EINVAL */

/* --- records --- */

/* struct kvc_rec_put in host order; @key points into the block. */
struct kvc_put {
	struct kvc_hash hash;
	u64 generation;
	u32 segment;
	u32 offset;
	u32 bytes;
	u32 data_crc;
	u32 tenant;
	u16 key_len;
	u16 depth;
	u64 expiry;
	u64 pin;
	bool moved;
	u32 old_segment;
	u32 old_offset;
	u64 old_generation;
	const u8 *key;
};

struct kvc_delete {
	struct kvc_hash hash;
	u64 generation;
	u32 segment;
	u32 offset;
	u32 tenant;
};

/* struct kvc_rec_segment in host order, for four record types. */
struct kvc_segment_rec {
	u32 segment;
	u32 state;
	u64 generation;
	u64 order;
	u32 summary_segment;
	u32 summary_offset;
	u32 summary_blocks;
	u32 summary_crc;
	u32 objects;
};

struct kvc_checkpoint_rec {
	u32 part;
	u32 parts;
	u64 start;
	u64 next_order;
};

struct kvc_ask_rec {
	struct kvc_hash hash;
	u32 kind;
	u32 tenant;
	u32 ag;
	u32 count;
};

struct kvc_record {
	u32 type;		/* enum kvc_record_type */
	union {
		struct kvc_put put;
		struct kvc_delete del;
		struct kvc_segment_rec seg;	/* OPEN SEAL RETIRE SEGMENT */
		struct kvc_checkpoint_rec checkpoint;
		struct kvc_ask_rec ask;
	};
};

/* Bytes that a record takes, without the need to encode it. */
static inline u32 kvc_put_length(u32 key_len)
{
	return (sizeof(struct kvc_rec_put) + key_len + 7) & ~7U;
}

#define KVC_DELETE_LENGTH	((u32)sizeof(struct kvc_rec_delete))
#define KVC_SEGMENT_LENGTH	((u32)sizeof(struct kvc_rec_segment))
#define KVC_CHECKPOINT_LENGTH	((u32)sizeof(struct kvc_rec_checkpoint))

/**
 * kvc_record_encode() - append a record
 * @buf: where to
 * @room: bytes there
 * @rec: what; every field in range (a bug in the caller otherwise)
 *
 * Return: bytes taken (a multiple of 8), 0 if it does not fit.
 */
u32 kvc_record_encode(void *buf, u32 room, const struct kvc_record *rec);

/**
 * kvc_record_decode() - take the next record apart
 * @buf: bytes that remain
 * @room: how many
 * @g: geometry, for range checks: segment exists, object lies inside it, sane
 *	lengths, no unknown flags, key padding zero
 * @rec: filled in
 *
 * The key's hash is not recomputed: that is fsck's business.
 *
 * Return: bytes consumed, or -EINVAL.
 */
int kvc_record_decode(const void *buf, u32 room, const struct kvc_geometry *g,
		      struct kvc_record *rec);

/**
 * struct kvc_records - walks over the records of a journal or summary block
 * @at: next record
 * @left: bytes that remain
 * @count: records that remain
 * @first_segment: records may only name segments from here on: of the block's
 *	AG, or the segment that is summed up
 * @nr_segments: as many
 * @generation: summary: of the segment; every record must name it
 * @summary: a summary, so that all records are PUTs
 * @g: geometry
 *
 * Usage: kvc_journal_open() or kvc_summary_open(), then kvc_records_next()
 * until it returns 0 (end) or -EINVAL (malformed).
 */
struct kvc_records {
	const u8 *at;
	u32 left;
	u32 count;
	u32 first_segment;
	u32 nr_segments;
	u64 generation;
	bool summary;
	const struct kvc_geometry *g;
};

int kvc_records_next(struct kvc_records *it, struct kvc_record *rec); /* 1, 0, -EINVAL */

/**
 * kvc_records_open() - set up a walk over a block's records
 * @it: its range of segments, generation and kind are the caller's to fill in
 * @g: geometry
 * @data: first record
 * @count: records, as the block says
 * @used: bytes that they take, as the block says
 *
 * Return: false if @count and @used can't be true.
 */
bool kvc_records_open(struct kvc_records *it, const struct kvc_geometry *g,
		      const u8 *data, u32 count, u32 used);

/* --- journal blocks --- */

struct kvc_journal_info {
	u32 ag;
	u64 epoch;
	u64 position;
	u32 count;
	u32 used;
	struct kvc_writer writer;
};

/**
 * kvc_journal_begin() - start an empty journal block
 * @block: KVC_BLOCK_SIZE bytes, zeroed here
 * @ag: AG
 * @epoch: epoch
 */
void kvc_journal_begin(void *block, u32 ag, u64 epoch);

/* Append; Return: true, or false if it does not fit (block unchanged). */
bool kvc_journal_add(void *block, const struct kvc_record *rec);

/* Bytes still free for records. */
u32 kvc_journal_room(const void *block);

/**
 * kvc_journal_open() - take the header of a journal block apart
 * @block: passed kvc_block_verify()
 * @g: geometry
 * @j: filled in
 * @it: set up to walk over the block's records
 *
 * Return: 0 or -EINVAL.
 */
int kvc_journal_open(const void *block, const struct kvc_geometry *g,
		     struct kvc_journal_info *j, struct kvc_records *it);

/* --- summaries --- */

struct kvc_summary_info {
	u32 ag;
	u32 segment;
	u64 generation;
	u32 part;
	u32 nr_blocks;
	u32 count;
	u32 used;
};

void kvc_summary_begin(void *block, u32 ag, u32 segment, u64 generation,
		       u32 nr_blocks);
bool kvc_summary_add(void *block, const struct kvc_record *rec);
int kvc_summary_open(const void *block, const struct kvc_geometry *g,
		     struct kvc_summary_info *s, struct kvc_records *it);

/* CRC of a finished block, as it stands in its header. */
u32 kvc_block_crc(const void *block);

#endif
