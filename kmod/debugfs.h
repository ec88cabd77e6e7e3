/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVC_DEBUGFS_H
#define KVC_DEBUGFS_H

#include <linux/atomic.h>
#include <linux/bio.h>

/* Writes that may still go out, plus one; not above 0: no plan, or it is done. */
extern atomic_t kvc_abandon_left;

/*
 * Is this the first write that does not go out any more? See abandon_after in
 * debugfs.c.
 */
static inline bool kvc_abandon_due(const struct bio *bio)
{
	return unlikely(atomic_read(&kvc_abandon_left) > 0) &&
	       op_is_write(bio_op(bio)) &&
	       atomic_dec_return(&kvc_abandon_left) == 0;
}

void kvc_debugfs_init(void);
void kvc_debugfs_exit(void);

#endif
