/* SPDX-License-Identifier: MIT */
/* What else may be on a device that is to become a member. */
#ifndef KVC_CTL_SIGNATURE_H
#define KVC_CTL_SIGNATURE_H

#include "ctl.h"

/**
 * struct signature - something found on a device
 * @what: "ext4 file system \"home\"", "gpt partition table", ...
 * @offset: of its magic, in bytes
 */
struct signature {
	char *what;
	u64 offset;
};

/**
 * struct signatures - all of them
 * @list: in the order of finding
 * @count: how many
 */
struct signatures {
	struct signature *list;
	u32 count;
};

/* File systems, RAID, partition tables, crypto, swap: 0 or -errno. */
int signatures_find(const struct ctl_dev *dev, struct signatures *found);
/* Destroy all of them, and what shows up behind them: 0 or -errno. */
int signatures_wipe(const struct ctl_dev *dev);
void signatures_free(struct signatures *found);

#endif
