/* SPDX-License-Identifier: GPL-2.0 */
/* Labels: which devices make up a pool, and whether they agree. */
#ifndef KVC_LABEL_H
#define KVC_LABEL_H

#include "pool.h"

/**
 * kvc_labels_read() - read the labels of the given devices and judge them
 * @args: paths and identifiers; @args->reason gets a sentence on failure
 * @g: the geometry that they agree on
 * @sequence: set to the label's sequence
 * @order: order[i] is the place in @args->paths of member i, -1: missing
 *
 * Opens the devices for itself and closes them again.
 *
 * Return: 0, -EUCLEAN (no label, or they disagree), -ENXIO (members missing and
 * not degraded), -EOPNOTSUPP, or what opening gave.
 */
int kvc_labels_read(struct kvc_attach_args *args, struct kvc_geometry *g,
		    u64 *sequence, int *order);

/**
 * kvc_labels_write() - write every present member's labels anew
 * @pool: members open; @pool->g says which are missing
 * @sequence: new sequence
 * @w: writer
 *
 * Copy by copy, so that one sound label stands at any moment.
 */
int kvc_labels_write(struct kvc_pool *pool, u64 sequence,
		     const struct kvc_writer *w);

#endif
