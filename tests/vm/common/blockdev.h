/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Block devices for tests: null_blk, device mapper, loop. Whatever fails ends
 * the program. Paths are to be freed.
 */
#ifndef KVC_BLOCKDEV_H
#define KVC_BLOCKDEV_H

#include <stdint.h>

/* Memory-backed; with @cache_mb above 0 its write cache is volatile. */
char *nullb_make(const char *name, unsigned int mb, unsigned int cache_mb);
void nullb_remove(const char *name);
/* Off and on: what was in the volatile cache is gone. */
void nullb_cycle(const char *name);

/* A mapped device of one target. */
char *dm_make(const char *name, uint64_t sectors, const char *target,
	      const char *params);
void dm_remove(const char *name);
/* 0 or -errno. */
int dm_message(const char *name, const char *text);

/* A part of a file as a block device. */
char *loop_make(const char *file, uint64_t offset, uint64_t bytes);
void loop_remove(const char *path);

#endif
