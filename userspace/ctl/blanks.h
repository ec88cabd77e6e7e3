/* SPDX-License-Identifier: MIT */
/* Devices that shall become members: are they free, and clearing them. */
#ifndef KVC_CTL_BLANKS_H
#define KVC_CTL_BLANKS_H

#include "ctl.h"

/**
 * struct blanks - devices that shall become members of a pool
 * @ctl: program
 * @force: wipe what is found
 * @dry_run: write nothing
 * @own: UUID of the pool that they are for if it is there already, else NULL
 * @devs: they, open
 * @wwid_hash: of each its identifier's hash
 * @old_end: of each where an old label says that its end is, else 0
 * @nr: how many
 */
struct blanks {
	struct ctl *ctl;
	bool force;
	bool dry_run;
	const u8 *own;
	struct ctl_dev *devs;
	uint64_t wwid_hash[KVC_MAX_MEMBERS];
	u64 old_end[KVC_MAX_MEMBERS];
	u32 nr;
};

/* Open them for this program alone; each once. An enum ctl_exit, like the next. */
int blanks_open(struct blanks *b, char **paths);
void blanks_close(struct blanks *b);

/* Refuse what is not empty, or tell what will be wiped; refuse what is in use. */
int blanks_check(struct blanks *b, char **paths);

/* Wipe signatures and labels. */
int blanks_wipe(struct blanks *b, u32 member);

/*
 * Then all before the data, and the last blocks: without a label, a slot or a
 * journal zeroes it is.
 */
int blanks_clear(struct blanks *b, u32 member, u64 data_start,
		 struct ctl_progress *progress);

/* An I/O error: CTL_FAIL, with a message. */
int blanks_failed(struct blanks *b, u32 member, const char *what, int error);

#endif
