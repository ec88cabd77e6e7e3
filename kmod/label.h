/* SPDX-License-Identifier: GPL-2.0 */
/* Labels: which devices make up a pool, and whether they agree. */
#ifndef KVC_LABEL_H
#define KVC_LABEL_H

#include "pool.h"

/**
 * struct kvc_found_pool - what the labels of a pool's members say together
 * @g: the geometry that they agree on
 * @sequence: of the newest label
 * @writer: of the newest label
 * @lagging: some member's label is one behind: who wrote them was cut short
 * @ragged: some member has no such label at its start
 * @cut: and it does not tell of all spans, or of members that are drained or
 *	removed
 * @order: order[i] is the place among the given paths of member i, -1: missing
 */
struct kvc_found_pool {
	struct kvc_geometry g;
	u64 sequence;
	struct kvc_writer writer;
	bool lagging;
	bool ragged;
	bool cut;
	int order[KVC_MAX_MEMBERS];
};

/**
 * kvc_labels_read() - read the labels of the given devices and judge them
 * @args: paths and identifiers; @args->reason gets a sentence on failure
 * @pool: filled in
 *
 * Opens the devices for itself and closes them again.
 *
 * Return: 0, -EUCLEAN (no label, or they disagree), -ENXIO (members missing and
 * not degraded), -EOPNOTSUPP, or what opening gave.
 */
int kvc_labels_read(struct kvc_attach_args *args, struct kvc_found_pool *pool);

/**
 * kvc_labels_write() - write every present member's labels anew
 * @set: members, open
 * @g: what the labels shall say; as many members as @set has
 * @sequence: sequence
 * @w: writer
 * @skip: bit per member that is left alone
 *
 * Copy by copy, so that one sound label stands at any moment.
 */
int kvc_labels_write(struct kvc_member_set *set, const struct kvc_geometry *g,
		     u64 sequence, const struct kvc_writer *w, u64 skip);

/**
 * kvc_labels_check() - do the labels still say what this attachment knows?
 * @pool: attachment, members open
 * @reason: gets a sentence on failure; may be NULL
 *
 * Protocol rule 34: asked when our slot shows what we know.
 *
 * Return: 0; -ESTALE: they tell other things; -EIO: none can be read; -ENOMEM.
 */
int kvc_labels_check(struct kvc_pool *pool, char *reason);

/**
 * kvc_label_is_ours() - is this the label that this attachment knows?
 * @pool: attachment, with @pool->label_writer
 * @member: whose
 * @label: block 0 of a device
 *
 * Or one that the member got when the pool grew.
 */
bool kvc_label_is_ours(struct kvc_pool *pool, u32 member, const void *label);

#endif
