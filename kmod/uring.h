/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: io_uring commands
 *
 * A command is begun where it is submitted and goes on in task work of who
 * submitted it: a get that hits has no thread of its own. What can't be begun
 * without waiting (no clean segment, a delete, a listing) is handed to io_uring's
 * workers, which wait as an ioctl does.
 *
 * A put has two steps behind its start: its data is down, and it journals its
 * record; its record is, and it is done.
 *
 * A task may be stopped, or not come back to its ring: pool and segments don't
 * wait for it. A step that has been due for a second is taken by a work, and all
 * that is left for the task is to see the answer.
 */
#ifndef KVC_URING_H
#define KVC_URING_H

#include <linux/workqueue.h>

struct io_uring_cmd;
struct iov_iter;
struct kvc_uring;
struct kvc_uring_due;

/**
 * struct kvc_uring_ops - what a kind of command does
 * @advance: take the next step, and those after it for which nothing has to be
 *	waited. In task work, or (@task false) in a work, without the submitter's
 *	memory. Return: it has ended, and has left the pool; else @u may be gone
 * @end: in task work, after that: the completion's res, and @result. Frees @u
 */
struct kvc_uring_ops {
	bool (*advance)(struct kvc_uring *u, bool task, unsigned int issue_flags);
	int (*end)(struct kvc_uring *u, u64 *result);
};

/**
 * struct kvc_uring - a command that has begun
 * @cmd: io_uring's
 * @ops: of its kind
 * @left: what must have happened before the next step: that the last one has
 *	returned, and that all that it left in flight has ended
 * @home: list for @due
 * @due: in @home's list: whoever takes it out takes the step
 * @since: jiffies at which it came there
 * @called: task work is on its way to the submitter
 * @ended: a work has taken the last step: only the answer is left
 * @work: takes a step in the submitter's place
 */
struct kvc_uring {
	struct io_uring_cmd *cmd;
	const struct kvc_uring_ops *ops;
	atomic_t left;
	struct kvc_uring_due *home;
	struct list_head due;
	unsigned long since;
	bool called;
	bool ended;
	struct work_struct work;
};

/* Begin: one thing is left, that the step which begins it returns. */
void kvc_uring_begin(struct kvc_uring *u, struct io_uring_cmd *cmd,
		     const struct kvc_uring_ops *ops);

/* One of the things that were left has happened; in any context. */
void kvc_uring_happened(struct kvc_uring *u);

/* The step that began it has returned: take those that are due already. */
void kvc_uring_begun(struct kvc_uring *u, unsigned int issue_flags);

/* Let the work go on in the task's place, at once. */
void kvc_uring_hand_over(struct kvc_uring *u);

/* Memory that is registered with the ring. Return: 0 or -errno. */
int kvc_uring_import(struct io_uring_cmd *cmd, u64 addr, u64 len, int rw,
		     struct iov_iter *iter, unsigned int issue_flags);

int kvc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

int kvc_uring_init(void);	/* module init: caches, workqueue */
void kvc_uring_exit(void);

#endif
