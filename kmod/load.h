/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loading an AG from media (protocol rule 6), for whoever takes it over and for
 * whoever follows it.
 */
#ifndef KVC_LOAD_H
#define KVC_LOAD_H

#include "ag.h"

/**
 * struct kvc_area - what an area's headers say
 * @valid: one of them is sound
 * @info: the one that counts
 * @sequence: highest header sequence in the area
 * @torn: one of them is not sound, and may have been the newer one
 */
struct kvc_area {
	bool valid;
	struct kvc_area_info info;
	u64 sequence;
	bool torn;
};

/**
 * struct kvc_loader - a load, or the reading on of what was loaded
 * @ag: AG
 * @g: geometry
 * @home: its home member
 * @set: takes what is read: a fresh one, or with @live the AG's own
 * @follow: for a host that does not own the AG
 * @live: @set is in use, and the AG's lock is held while records are applied
 * @ask: with @live: called for every ASK, under the AG's lock; may be NULL
 * @areas: headers
 * @base: the epoch that is read
 * @checkpoint: its blocks
 * @parts: how many
 * @position: of the first block that was not applied
 * @next_order: the AG's
 * @rotten: records that could not be
 * @lost: sealed segments whose summary is not there
 * @retired: with @live: RETIREs applied
 * @again: with @live: what is there can't take a record: load anew
 */
struct kvc_loader {
	struct kvc_ag *ag;
	const struct kvc_geometry *g;
	struct kvc_member *home;
	struct kvc_segset *set;
	bool follow;
	bool live;
	void (*ask)(struct kvc_ag *ag, const struct kvc_ask_rec *ask);
	struct kvc_area areas[KVC_NR_AREAS];
	const struct kvc_area_info *base;
	u8 *checkpoint;
	u32 parts;
	u64 position;
	u64 next_order;
	u32 rotten;
	u32 lost;
	u32 retired;
	bool again;
};

void kvc_loader_init(struct kvc_loader *l, struct kvc_ag *ag);
void kvc_loader_free(struct kvc_loader *l);

/* Read the headers of all areas. Return: 0, -EIO, -ENOMEM, -ESTALE. */
int kvc_load_areas(struct kvc_loader *l);

/* The highest epoch that any area holds, 0: none. */
u64 kvc_load_highest(const struct kvc_loader *l);

/**
 * kvc_load_base() - choose the epoch to read, and read its checkpoint
 * @l: with its areas
 * @exact: this epoch and no other; 0: the highest with a whole checkpoint
 *
 * Return: 0; -ENOENT: there is none; -EBADMSG: @exact is not whole; errors.
 */
int kvc_load_base(struct kvc_loader *l, u64 exact);

/**
 * kvc_load_state() - fill the set: checkpoint, summaries, records to the end
 * @l: with its base
 * @moving: the epoch's owner may be at work: what is no block of the journal
 *	is the end of it only after another look at the header (rules 10, 14)
 *
 * Return: 0; -EAGAIN: the owner was faster, or a newer epoch begins: load
 * anew; errors.
 */
int kvc_load_state(struct kvc_loader *l, bool moving);

/* A sealed segment without its summary is retired: see load.c. */
void kvc_load_lost(struct kvc_loader *l);

/* Nothing but the set was loaded: roles are the owner's. */
void kvc_load_forget_roles(struct kvc_loader *l);

/* Open the journal block of an exact epoch and position. */
bool kvc_load_block(struct kvc_loader *l, u64 epoch, u64 position,
		    const void *block, struct kvc_records *it);

/* Apply a block's records. Return: 0, -ENOMEM. */
int kvc_load_apply(struct kvc_loader *l, struct kvc_records *it);

/**
 * kvc_load_hole() - is a block that is not the next one the journal's end?
 * @l: for its AG
 * @epoch: followed
 * @position: where the block stands
 * @block: as read
 *
 * Protocol rule 10. Return: true: yes; false: kvc_load_judge_header() tells.
 */
bool kvc_load_hole(struct kvc_loader *l, u64 epoch, u64 position,
		   const void *block);

/* Take an area's headers from the KVC_AREA_HEADERS blocks at @buf. */
void kvc_load_headers(struct kvc_loader *l, u32 area, const u8 *buf,
		      struct kvc_area *a);

/**
 * kvc_load_judge_header() - what an area's header says of such a block
 *
 * Return: 0: the journal ends at @position; -EAGAIN: a newer epoch is there, or
 * a header is not sound; -ESTALE: the head is past @position: load anew.
 */
int kvc_load_judge_header(const struct kvc_area *a, u64 epoch, u64 position);

#endif
