/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVC_DEBUGFS_H
#define KVC_DEBUGFS_H

#include <linux/bio.h>
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(kvc_abandon_planned);
bool kvc_abandon_countdown(void);

/*
 * Is this the first write that does not go out any more? See abandon_after in
 * debugfs.c; without such a plan this costs nothing.
 */
static inline bool kvc_abandon_due(const struct bio *bio)
{
	return static_branch_unlikely(&kvc_abandon_planned) &&
	       op_is_write(bio_op(bio)) && kvc_abandon_countdown();
}

void kvc_debugfs_init(void);
void kvc_debugfs_exit(void);

#endif
