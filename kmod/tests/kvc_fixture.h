/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the tests of the media format share, in the kernel and in userspace:
 * geometries, and records with random but valid content.
 */
#ifndef KVC_FIXTURE_H
#define KVC_FIXTURE_H

#include "../kvc_codec.h"

/**
 * kvc_fixture_options() - options of a pool of equal members
 * @o: filled in, with UUIDs that follow from the member numbers
 * @nr_members: how many
 * @blocks: size of each
 */
void kvc_fixture_options(struct kvc_format_options *o, u32 nr_members,
			 u64 blocks);

/**
 * kvc_fixture_two_spans() - a pool that grew: two spans on shared members
 * @g: five members of 64 MiB; span 0 on members 0 to 2, 1 wide; span 1 on
 *	members 1 to 4, 4 wide, in the places behind
 */
void kvc_fixture_two_spans(struct kvc_geometry *g);

/* What a host shows in slot 5: AG i owned with epoch i, all AGs followed. */
void kvc_fixture_slot(struct kvc_slot_info *s, const struct kvc_geometry *g);

/* The next number of a pseudorandom sequence (splitmix64). */
u64 kvc_fixture_random(u64 *state);

/**
 * kvc_fixture_record() - a record with random content
 * @state: of kvc_fixture_random()
 * @g: geometry
 * @ag: AG in whose journal it could stand
 * @type: enum kvc_record_type
 * @rec: filled in
 * @key: KVC_MAX_KEY bytes, used for a PUT's key
 */
void kvc_fixture_record(u64 *state, const struct kvc_geometry *g, u32 ag,
			u32 type, struct kvc_record *rec, u8 *key);

#endif
