/* SPDX-License-Identifier: MIT */
/*
 * Makes pools in memory, as a host would leave them on media: several AGs,
 * sealed segments, deletes, moves, checkpoints in mid-epoch, rings that wrapped,
 * takeovers, and what a crash leaves at any moment. It writes through the codec
 * and keeps a model of what must be found again.
 */
#ifndef KVC_TESTS_FSCK_IMAGE_H
#define KVC_TESTS_FSCK_IMAGE_H

#include "kvc_codec.h"

#define IMG_KEY		48	/* room for a key */
#define IMG_BATCH	16	/* journal blocks written at once */

/**
 * struct img_object - an object, alive or not
 * @put: its record; @put.key is not valid, see @key
 * @key: the key
 * @dead: deleted, moved away or retired
 * @forgotten: was dead in an open segment when a new owner came: nobody knows
 */
struct img_object {
	struct kvc_put put;
	u8 key[IMG_KEY];
	bool dead;
	bool forgotten;
};

/**
 * struct img_segment - a segment, as its owner sees it
 * @rec: state and so on
 * @used: blocks given out
 * @puts: records that its summary will have
 * @inherited: open since before this epoch
 */
struct img_segment {
	struct kvc_segment_rec rec;
	u32 used;
	u32 puts;
	bool inherited;
};

/**
 * struct img_ag - an AG, as its owner sees it
 * @epoch: highest that was begun, 0: never owned
 * @base: highest whose first checkpoint is whole
 * @next: position of the next block
 * @head: as the area header says
 * @area_sequence: per area: of the last header written
 * @pending: blocks that are filled and not written
 * @nr_pending: how many
 */
struct img_ag {
	u32 ag;
	u64 epoch;
	u64 base;
	struct kvc_writer writer;
	u64 next;
	u64 head;
	u64 area_sequence[KVC_NR_AREAS];
	u8 *pending;
	u32 nr_pending;
	u32 first_segment;
	u32 nr_segments;
	struct img_segment *segments;
	u64 next_order;
	struct img_object *objects;
	u32 nr_objects;
	u32 room_objects;
};

/**
 * struct img - a pool
 * @members: memory of each member
 * @sequence: of the labels
 * @slots: what each slot shows (AGs all in one block)
 * @ags: AGs
 * @random: state of img_random()
 */
struct img {
	struct kvc_geometry g;
	u8 *members[KVC_MAX_MEMBERS];
	u64 sequence;
	struct kvc_slot_info *slots;
	struct img_ag *ags;
	u64 random;
};

/* What a host got done of attaching before it crashed. */
enum img_attach_stage {
	IMG_ATTACHED,		/* all of it */
	IMG_JOINED,		/* the slot says JOINING */
	IMG_HEADER,		/* the first AG has its header */
	IMG_CHECKPOINT_CUT,	/* and a part of its checkpoint */
	IMG_CHECKPOINT,		/* and all of it, but it is not shown */
};

/**
 * struct img_options - 0: default
 * @members: 3
 * @width: 1
 * @ags: 2
 * @ring: 40 blocks
 * @flags: KVC_POOL_*
 * @seed: of img_random()
 */
struct img_options {
	u32 members;
	u32 width;
	u32 ags;
	u32 ring;
	u32 flags;
	u64 seed;
};

/* Out of memory or a geometry that can't be ends the program. */
void img_make(struct img *img, const struct img_options *o);
void img_free(struct img *img);

/* 0 .. below - 1 */
u32 img_random(struct img *img, u32 below);

/* --- whole pool --- */

void img_write_labels(struct img *img);
/* Write a slot; @copies is a bit per copy. */
void img_write_slot(struct img *img, u32 slot, u32 copies);
void img_attach(struct img *img, u32 slot, enum img_attach_stage stage);
void img_detach(struct img *img, u32 slot);

/* A host that stops at once: what is pending is lost, or part of it lands. */
void img_crash(struct img *img);

/* Random legal operations on all AGs. */
void img_work(struct img *img, u32 steps);

/* --- one AG --- */

/* Any record, as it is. */
void img_append(struct img *img, struct img_ag *a, const struct kvc_record *rec);
/* Write what is pending. */
void img_flush(struct img *img, struct img_ag *a);
/* Write only some of it: a bit per block; then the epoch is over. */
void img_flush_torn(struct img *img, struct img_ag *a, u32 blocks);

struct img_segment *img_segment(struct img_ag *a, u32 segment);
/* A segment in that state that can be used for its purpose, or NULL. */
struct img_segment *img_find(struct img_ag *a, u32 state);

void img_open(struct img *img, struct img_ag *a, struct img_segment *s);
void img_seal(struct img *img, struct img_ag *a, struct img_segment *s);
void img_retire(struct img *img, struct img_ag *a, struct img_segment *s);
/* NULL: no room in @s. The pointer is good until the next put. */
struct img_object *img_put(struct img *img, struct img_ag *a,
			   struct img_segment *s, u32 bytes);
/* Moves the object at index @i. */
struct img_object *img_move(struct img *img, struct img_ag *a,
			    struct img_segment *to, u32 i);
void img_delete(struct img *img, struct img_ag *a, struct img_object *o);
/* With @header false: as if it had crashed before the header was written. */
void img_checkpoint(struct img *img, struct img_ag *a, bool header);
/* Write only the first @parts blocks of a checkpoint. */
void img_checkpoint_cut(struct img *img, struct img_ag *a, u32 parts);

/* Write the PUT of an object as a record. */
void img_put_record(struct kvc_record *rec, const struct img_object *o);

/* --- to plant mistakes --- */

u8 *img_block(struct img *img, struct kvc_place place);
/* Make its CRC right again. */
void img_fix(u8 *block);
/* Where the @part'th block of a segment's summary stands. */
struct kvc_place img_summary_place(struct img *img, const struct img_segment *s,
				   u32 part);
struct kvc_place img_data_place(struct img *img, u32 segment, u32 offset);
/* Seal with a summary that is changed by @spoil before it is finished. */
void img_seal_spoiled(struct img *img, struct img_ag *a, struct img_segment *s,
		      void (*spoil)(struct kvc_record *rec, u32 index));

/* Write the members to files PREFIX.0, PREFIX.1, ... */
int img_save(const struct img *img, const char *prefix);

#endif
