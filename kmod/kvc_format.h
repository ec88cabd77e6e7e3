/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The media format of a kvcache pool, version 1.
 *
 * Documentation/format.rst describes every structure and the order in which
 * they are written; this header is its exact counterpart. It is shared by the
 * module, the tools and the fuzzers, so it uses nothing but fixed-size
 * little-endian types. Everything is little-endian. Every metadata block is
 * KVC_BLOCK_SIZE bytes and starts with struct kvc_block_header.
 */
#ifndef KVC_FORMAT_H
#define KVC_FORMAT_H

#include "kvc_types.h"

#define KVC_BLOCK_SHIFT		12
#define KVC_BLOCK_SIZE		(1U << KVC_BLOCK_SHIFT)

#define KVC_MAGIC		0x314548434143564bULL	/* "KVCACHE1" */
#define KVC_FORMAT_VERSION	1

#define KVC_MAX_MEMBERS		64
#define KVC_MAX_SPANS		8
#define KVC_MAX_AGS		1024
#define KVC_MAX_SLOTS		256
#define KVC_MAX_SLOT_COPIES	3
#define KVC_MAX_SLOT_PLACES	4	/* one more while a copy moves */
#define KVC_NO_COPY		0xff
#define KVC_AGS_PER_SLOT_BLOCK	128
#define KVC_NR_AREAS		4
#define KVC_AREA_HEADERS	2
#define KVC_NAME_SIZE		64
#define KVC_NQN_SIZE		224
#define KVC_MAX_KEY		512
#define KVC_MIN_SEGMENT_SHIFT	20	/* 1 MiB */
#define KVC_MAX_SEGMENT_SHIFT	30	/* 1 GiB */
#define KVC_UNIT_SHIFT		18	/* stripe unit: 256 KiB */
#define KVC_MIN_RING_BLOCKS	32
#define KVC_MAX_RING_BLOCKS	65536

/*
 * An epoch shifted left by 32 is a generation (protocol rule 30), so epochs
 * have 32 bits. Full positions and orders beyond this limit are refused, so
 * that no sum of one and a length overflows.
 */
#define KVC_MAX_EPOCH		0xffffffffULL
#define KVC_MAX_POSITION	(1ULL << 62)

enum kvc_block_type {
	KVC_BLOCK_LABEL		= 1,
	KVC_BLOCK_SLOT		= 2,
	KVC_BLOCK_AREA		= 3,	/* header of a journal area */
	KVC_BLOCK_JOURNAL	= 4,
	KVC_BLOCK_SUMMARY	= 5,
};

/**
 * struct kvc_block_header - what every metadata block starts with
 * @magic: KVC_MAGIC
 * @crc: CRC32C (initial value ~0, no final inversion) of the whole block
 *	with this field zero
 * @type: enum kvc_block_type
 * @version: KVC_FORMAT_VERSION
 * @reserved0: 0
 * @pool_uuid: the pool that the block belongs to
 * @address: where the block stands: kvc_address(member, block)
 * @sequence: label, slot, area header: goes up by one with every write of
 *	that structure; journal block: its full position; summary block: its
 *	number in the summary, from 0
 * @incarnation: of the writer; 0 from format
 * @slot: of the writer; KVC_NO_SLOT from format
 * @reserved1: 0
 */
struct kvc_block_header {
	__le64	magic;
	__le32	crc;
	__u8	type;
	__u8	version;
	__le16	reserved0;
	__u8	pool_uuid[16];
	__le64	address;
	__le64	sequence;
	__le64	incarnation;
	__le32	slot;
	__le32	reserved1;
};

#define KVC_NO_SLOT		0xffffffffU
#define KVC_NO_SEGMENT		0xffffffffU

/* A block's address: member in the upper 16 bits, 4 KiB block below. */
#define KVC_ADDRESS_MEMBER_SHIFT	48

/*
 * Feature words. A reader ignores unknown compatible bits, attaches read-only
 * on unknown read-only compatible bits (this version refuses instead, having
 * no read-only attach) and refuses unknown incompatible bits.
 */
#define KVC_FEATURE_COMPAT_ALL		0ULL
#define KVC_FEATURE_RO_COMPAT_ALL	0ULL
#define KVC_FEATURE_INCOMPAT_ELASTIC	0x1ULL	/* labels change under hosts */
#define KVC_FEATURE_INCOMPAT_SLOTS	0x2ULL	/* slots are not where format put them */
#define KVC_FEATURE_INCOMPAT_ALL	0x3ULL

/* Pool flags, in the label. */
#define KVC_POOL_NO_DATA_CRC	0x1U	/* data checksums neither made nor checked */
#define KVC_POOL_FLAGS_ALL	0x1U

enum kvc_member_state {
	KVC_MEMBER_PRESENT	= 1,
	KVC_MEMBER_MISSING	= 2,	/* the pool was attached without it */
	KVC_MEMBER_DRAINING	= 3,	/* takes nothing new (elastic) */
	KVC_MEMBER_REMOVED	= 4,	/* it is no member any more (elastic) */
};

/**
 * struct kvc_label_member - one member, as every label lists it
 * @uuid: of the member, made by format
 * @blocks: size of the device in 4 KiB blocks
 * @wwid_hash: 64-bit hash of the device's world wide identifier, 0: had none
 * @state: enum kvc_member_state
 * @reserved0: 0
 * @missing_since: label sequence at which @state became MISSING or REMOVED, else 0
 */
struct kvc_label_member {
	__u8	uuid[16];
	__le64	blocks;
	__le64	wwid_hash;
	__le32	state;
	__le32	reserved0;
	__le64	missing_since;
};

/**
 * struct kvc_label_span - AGs and segments laid out in one go over some members
 * @first_ag: number of its first AG
 * @nr_ags: how many; AG i has its journals on home member
 *	first_member + (i - first_ag) % nr_members
 * @first_segment: number of its first segment
 * @nr_segments: how many; a multiple of @nr_ags, AG i owning the i'th run of
 *	nr_segments / nr_ags
 * @first_member: its members are a run in the member list
 * @nr_members: length of that run
 * @width: members that one segment is striped over; power of two <= nr_members
 * @reserved0: 0
 * @first_lane: first lane slot that it uses on each of its members
 * @first_journal: first journal place that it uses on each of its members
 */
struct kvc_label_span {
	__le32	first_ag;
	__le32	nr_ags;
	__le32	first_segment;
	__le32	nr_segments;
	__le16	first_member;
	__le16	nr_members;
	__le16	width;
	__le16	reserved0;
	__le32	first_lane;
	__le32	first_journal;
};

/**
 * struct kvc_label - start and end (block 0 and the last) of each member
 * @h: header; @h.sequence goes up at every attach
 * @feature_compat: see KVC_FEATURE_COMPAT_ALL
 * @feature_ro_compat: see KVC_FEATURE_RO_COMPAT_ALL
 * @feature_incompat: see KVC_FEATURE_INCOMPAT_ALL
 * @name: of the pool, NUL-terminated, printable ASCII without blanks or '/'
 * @hash_key: a key's 128-bit hash is siphash-1-3 with 128 bits of result, under
 *	the first 16 bytes of this, of the key followed by the little-endian
 *	32-bit tenant; the other 16 bytes are random, too, and not used
 * @created: seconds since 1970 UTC
 * @flags: KVC_POOL_*
 * @lease_ms: length of a lease
 * @heartbeat_ms: a holder writes its slot at least this often
 * @q_ms: Q, the longest life of a write after the lease's end
 * @member: this member's place in @members
 * @nr_members: members in use in @members
 * @nr_spans: spans in use in @spans
 * @nr_slots: host slots
 * @nr_slot_copies: 3, or 1 if the pool has fewer than 3 members
 * @slot_blocks: 4 KiB blocks per slot: at least ceil(AGs /
 *	KVC_AGS_PER_SLOT_BLOCK); more leave room to grow
 * @segment_shift: log2 of the segment size
 * @unit_shift: KVC_UNIT_SHIFT
 * @slot_members: member that has the copy, by copy; behind the last, while a copy
 *	moves, the member that it moves to; else 0. All 0 without
 *	KVC_FEATURE_INCOMPAT_SLOTS: copy i is on member i
 * @slot_start: block at which the slots start, on members that hold a copy
 * @journal_start: block at which the journal places start
 * @ring_blocks: blocks in the ring of one area
 * @nr_journals: journal places per member, each KVC_NR_AREAS areas
 * @data_start: block at which lane slots start
 * @nr_lanes: lane slots per member; one is segment size / width of its span,
 *	and spans of another width count in lane slots of their own size
 * @slot_leaves: copy that moves, KVC_NO_COPY: none. 0 without
 *	KVC_FEATURE_INCOMPAT_SLOTS
 * @reserved1: 0
 * @spans: see struct kvc_label_span
 * @members: see struct kvc_label_member
 * @reserved2: 0
 */
struct kvc_label {
	struct kvc_block_header h;
	__le64	feature_compat;
	__le64	feature_ro_compat;
	__le64	feature_incompat;
	__u8	name[KVC_NAME_SIZE];
	__u8	hash_key[32];
	__le64	created;
	__le32	flags;
	__le32	lease_ms;
	__le32	heartbeat_ms;
	__le32	q_ms;
	__le16	member;
	__le16	nr_members;
	__le16	nr_spans;
	__le16	nr_slots;
	__u8	nr_slot_copies;
	__u8	slot_blocks;
	__u8	segment_shift;
	__u8	unit_shift;
	__u8	slot_members[KVC_MAX_SLOT_PLACES];
	__le64	slot_start;
	__le64	journal_start;
	__le32	ring_blocks;
	__le32	nr_journals;
	__le64	data_start;
	__le32	nr_lanes;
	__u8	slot_leaves;
	__u8	reserved1[3];
	struct kvc_label_span spans[KVC_MAX_SPANS];
	struct kvc_label_member members[KVC_MAX_MEMBERS];
	__u8	reserved2[504];
};

enum kvc_slot_state {
	KVC_SLOT_FREE		= 0,	/* never used */
	KVC_SLOT_JOINING	= 1,	/* claimed; owns nothing yet */
	KVC_SLOT_ACTIVE		= 2,
	KVC_SLOT_DOWN		= 3,	/* left in good order */
};

#define KVC_SLOT_SHARED		0x1ULL	/* its host lets others in */
#define KVC_SLOT_RELABELS	0x2ULL	/* its host changes the labels */
#define KVC_SLOT_FLAGS_ALL	0x3ULL

/**
 * struct kvc_slot_ag - what a slot shows for one AG
 * @owned_epoch: the slot owns the AG with this epoch; 0: it never did
 * @followed_epoch: the slot's host follows this epoch of the AG
 * @drained: position in @followed_epoch: it is done with all that was retired
 *	in blocks before it
 */
struct kvc_slot_ag {
	__le64	owned_epoch;
	__le64	followed_epoch;
	__le64	drained;
};

/**
 * struct kvc_slot_block - one self-standing block of a host slot
 * @h: header; @h.sequence goes up with every write, over incarnations too
 * @number: of the slot
 * @first_ag: AG that @ags[0] is for; a multiple of KVC_AGS_PER_SLOT_BLOCK
 * @nr_ags: entries in use in @ags
 * @state: enum kvc_slot_state
 * @incarnation: new at every grant of the slot, ever increasing
 * @heartbeat: goes up with every heartbeat
 * @boot_id: of the host
 * @attach_id: random, of this attachment
 * @nqn: host NQN, NUL-terminated; empty if it has none
 * @node: host name, NUL-terminated
 * @ags: per AG
 * @flags: KVC_SLOT_SHARED, KVC_SLOT_RELABELS
 * @label_seq: sequence of the label that its host goes by; 0 unless the pool is elastic
 * @reserved0: 0
 */
struct kvc_slot_block {
	struct kvc_block_header h;
	__le32	number;
	__le32	first_ag;
	__le32	nr_ags;
	__le32	state;
	__le64	incarnation;
	__le64	heartbeat;
	__u8	boot_id[16];
	__u8	attach_id[16];
	__u8	nqn[KVC_NQN_SIZE];
	__u8	node[KVC_NAME_SIZE];
	struct kvc_slot_ag ags[KVC_AGS_PER_SLOT_BLOCK];
	__le64	flags;
	__le64	label_seq;
	__u8	reserved0[592];
};

/**
 * struct kvc_area_block - one of the two headers of a journal area
 * @h: header; the valid one with the higher (@epoch, @h.sequence) counts
 * @ag: AG
 * @owner_slot: who writes this epoch
 * @owner_incarnation: and in which incarnation
 * @epoch: e; e % KVC_NR_AREAS is the area's number
 * @head: full position of the first block that counts
 * @checkpoint: full position of the checkpoint's first block, >= @head
 * @reserved0: 0
 */
struct kvc_area_block {
	struct kvc_block_header h;
	__le32	ag;
	__le32	owner_slot;
	__le64	owner_incarnation;
	__le64	epoch;
	__le64	head;
	__le64	checkpoint;
	__u8	reserved0[3992];
};

/* Blocks of records that an owner has in flight at most, beside a checkpoint. */
#define KVC_BATCH_BLOCKS	16

#define KVC_JOURNAL_DATA	(4096 - 88)

/**
 * struct kvc_journal_block - a block of the ring, or of a checkpoint in it
 * @h: header; @h.sequence is the full position: 0 for the epoch's first
 *	block, then + 1 for each; it stands at ring index position % ring_blocks
 * @ag: AG
 * @count: records in it
 * @used: bytes of @data that they take
 * @reserved0: 0
 * @epoch: epoch
 * @data: whole records, back to back
 */
struct kvc_journal_block {
	struct kvc_block_header h;
	__le32	ag;
	__le16	count;
	__le16	used;
	__le64	epoch;
	__le64	reserved0;
	__u8	data[KVC_JOURNAL_DATA];
};

#define KVC_SUMMARY_DATA	(4096 - 88)

/**
 * struct kvc_summary_block - one block of a segment's summary
 * @h: header; @h.sequence is the block's number in the summary
 * @ag: AG
 * @count: records in it
 * @used: bytes of @data that they take
 * @segment: segment that is summed up
 * @nr_blocks: blocks of the whole summary
 * @generation: of @segment
 * @data: PUT records, back to back, in order of their offset
 */
struct kvc_summary_block {
	struct kvc_block_header h;
	__le32	ag;
	__le16	count;
	__le16	used;
	__le32	segment;
	__le32	nr_blocks;
	__le64	generation;
	__u8	data[KVC_SUMMARY_DATA];
};

enum kvc_record_type {
	KVC_REC_PUT		= 1,
	KVC_REC_DELETE		= 2,
	KVC_REC_OPEN		= 3,
	KVC_REC_SEAL		= 4,
	KVC_REC_RETIRE		= 5,
	KVC_REC_SEGMENT		= 6,	/* a segment's state, in a checkpoint */
	KVC_REC_CHECKPOINT	= 7,	/* first record of each checkpoint block */
	KVC_REC_ASK		= 8,
};

/**
 * struct kvc_rec_header - what every record starts with
 * @type: enum kvc_record_type
 * @flags: by type
 * @length: of the whole record, a multiple of 8
 * @segment: segment concerned; by type
 */
struct kvc_rec_header {
	__u8	type;
	__u8	flags;
	__le16	length;
	__le32	segment;
};

#define KVC_PUT_MOVED		0x1	/* the @old_* fields hold */
#define KVC_PUT_FLAGS_ALL	0x1

/**
 * struct kvc_rec_put - an object
 * @r: header
 * @hash: 128-bit key hash, low half first
 * @generation: of the segment
 * @offset: in the segment, in 4 KiB blocks
 * @bytes: length of the object
 * @data_crc: CRC32C of the data with the low 32 bits of the hash as initial
 *	value and no final inversion; 0 under KVC_POOL_NO_DATA_CRC
 * @tenant: tenant
 * @expiry: seconds since 1970 UTC at which it is gone, 0: never
 * @pin: seconds since 1970 UTC until which eviction keeps it, 0: not pinned
 * @key_len: bytes of the key behind this structure, 1 .. KVC_MAX_KEY
 * @depth: place in its prefix, 0: unknown or first
 * @old_segment: where the object stood before eviction moved it, in the same AG
 * @old_generation: and the generation of that segment then
 * @old_offset: and its offset there
 * @reserved0: 0
 *
 * The key follows, padded with zeroes to a multiple of 8.
 */
struct kvc_rec_put {
	struct kvc_rec_header r;
	__le64	hash[2];
	__le64	generation;
	__le32	offset;
	__le32	bytes;
	__le32	data_crc;
	__le32	tenant;
	__le64	expiry;
	__le64	pin;
	__le16	key_len;
	__le16	depth;
	__le32	old_segment;
	__le64	old_generation;
	__le32	old_offset;
	__le32	reserved0;
};

/**
 * struct kvc_rec_delete - one copy of an object is gone
 * @r: header
 * @hash: key hash
 * @generation: of the segment
 * @offset: which copy: offset in the segment, in 4 KiB blocks
 * @tenant: tenant
 */
struct kvc_rec_delete {
	struct kvc_rec_header r;
	__le64	hash[2];
	__le64	generation;
	__le32	offset;
	__le32	tenant;
};

enum kvc_segment_state {
	KVC_SEG_FREE	= 0,
	KVC_SEG_OPEN	= 1,
	KVC_SEG_SEALED	= 2,
	KVC_SEG_RETIRED	= 3,
};

/**
 * struct kvc_rec_segment - OPEN, SEAL, RETIRE and (in a checkpoint) SEGMENT
 * @r: header; @r.flags is the enum kvc_segment_state that holds from here on
 * @generation: the segment's count of lives; OPEN names the new one
 * @order: sealed: place in the AG's reclaim order, going up by seal;
 *	retired: in a SEGMENT record of the epoch that retired it the full
 *	position of the RETIRE, which itself has 0; else 0
 * @summary_segment: sealed: segment that holds the summary, as a rule itself
 * @summary_offset: its first block there, in 4 KiB blocks
 * @summary_blocks: its length in blocks
 * @summary_crc: CRC32C (initial value ~0) over the @h.crc fields, in order, of
 *	the summary's blocks as they stand on media
 * @objects: PUT records in the summary
 * @reserved0: 0
 */
struct kvc_rec_segment {
	struct kvc_rec_header r;
	__le64	generation;
	__le64	order;
	__le32	summary_segment;
	__le32	summary_offset;
	__le32	summary_blocks;
	__le32	summary_crc;
	__le32	objects;
	__le32	reserved0;
};

/**
 * struct kvc_rec_checkpoint - this block is part i of n of a checkpoint
 * @r: header; @r.segment is the part's number, from 0
 * @parts: how many; part i stands at full position @start + i
 * @reserved0: 0
 * @start: full position of part 0
 * @next_order: the next @order that a SEAL will take
 *
 * The block's other records are SEGMENT (every segment of the AG once), PUT
 * (every live object of segments that are open) and DELETE (objects deleted
 * in live sealed segments), in that order over the whole checkpoint.
 */
struct kvc_rec_checkpoint {
	struct kvc_rec_header r;
	__le32	parts;
	__le32	reserved0;
	__le64	start;
	__le64	next_order;
};

enum kvc_ask_kind {
	KVC_ASK_DELETE	= 1,
	KVC_ASK_TOUCH	= 2,
};

/**
 * struct kvc_rec_ask - a request to the owner of another AG
 * @r: header; @r.flags is an enum kvc_ask_kind, @r.segment is KVC_NO_SEGMENT
 * @hash: key hash
 * @tenant: tenant
 * @ag: AG that is asked
 * @count: touches counted, for KVC_ASK_TOUCH; else 0
 * @reserved0: 0
 */
struct kvc_rec_ask {
	struct kvc_rec_header r;
	__le64	hash[2];
	__le32	tenant;
	__le32	ag;
	__le32	count;
	__le32	reserved0;
};

#endif
