/* SPDX-License-Identifier: MIT */
/* Runs the checker on a pool in memory and collects what it finds. */
#ifndef KVC_TESTS_FSCK_CHECK_H
#define KVC_TESTS_FSCK_CHECK_H

#include "image.h"
#include "poolread.h"

/**
 * struct seen - what a check found
 * @nr: findings by code and severity
 * @text: the first text by code
 * @objects: live objects
 * @checked: objects whose data was checked
 * @model: how the loader's view differs from the image's model; "": not
 * @result: of pr_open()
 */
struct seen {
	u32 nr[PR_NR_CODES][PR_ERROR + 1];
	char text[PR_NR_CODES][200];
	u64 objects;
	u64 checked;
	char model[200];
	int result;
};

/**
 * struct check - how to check
 * @order: members to give, by number, up to @nr; may repeat
 * @nr: how many; 0: all, in order
 * @cut: blocks that are cut off each member's end
 * @unreadable: a place that can't be read, if @has_unreadable
 * @now: time, 0: nothing has expired
 * @data: check data
 * @journal_only: don't read summaries
 * @compare: compare with the model
 */
struct check {
	u32 order[8];
	u32 nr;
	u64 cut;
	struct kvc_place unreadable;
	bool has_unreadable;
	u64 now;
	bool data;
	bool journal_only;
	bool compare;
};

void check_image(struct img *img, const struct check *c, struct seen *seen);

/* "data-crc(error) io-error(error)", sorted by code; without remarks. */
void seen_names(const struct seen *seen, bool remarks, char *buf, size_t room);

#endif
