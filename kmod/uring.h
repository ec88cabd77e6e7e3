/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: io_uring commands
 *
 * A command is begun where it is submitted and goes on in task work of who
 * submitted it: a Retrieve that hits has no thread of its own. What can't be
 * begun without waiting (no clean segment, a Delete, a listing) is handed to
 * io_uring's workers, which wait as an ioctl does.
 *
 * A Store has two steps behind its start: its data is down, and it journals its
 * record; its record is, and it is done.
 *
 * A task may be stopped, or not come back to its ring: pool and segments don't
 * wait for it. A step that has been due for a second is taken by a work, and all
 * that is left for the task is to see the answer.
 */
#ifndef KVC_URING_H
#define KVC_URING_H

struct io_uring_cmd;

int kvc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

int kvc_uring_init(void);	/* module init: cache, workqueue */
void kvc_uring_exit(void);

#endif
