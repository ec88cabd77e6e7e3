/* SPDX-License-Identifier: GPL-2.0 */
/* Listing keys: reads summaries, since keys stand on media only. */
#ifndef KVC_LIST_H
#define KVC_LIST_H

#include "pool.h"

/**
 * struct kvc_list_args - what to list, and where to
 * @tenant: whose, unless @all
 * @all: of every tenant
 * @prefix: keys begin with it
 * @prefix_len: bytes of it
 * @buf: kernel memory for struct kvcache_list_entry
 * @room: bytes there
 * @used: set to bytes filled
 * @count: set to entries
 * @cookie: where to begin; set to where to go on, 0: complete
 * @deadline: jiffies
 */
struct kvc_list_args {
	u32 tenant;
	bool all;
	u8 prefix[KVC_MAX_KEY];
	u32 prefix_len;
	u8 *buf;
	u32 room;
	u32 used;
	u32 count;
	u64 cookie;
	unsigned long deadline;
};

/*
 * Return: 0, -EINVAL (cookie), -ENOMEM; -EAGAIN: a member that is needed is
 * suspect; -ETIMEDOUT; -EINTR (fatal signal). The last four only if nothing was
 * found before.
 */
int kvc_list(struct kvc_join *join, struct kvc_list_args *a);

#endif
