/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pool that crashes: format, check, attach, abandon. The tool is run as a
 * process, all else is done in this one.
 */
#ifndef KVC_CRASH_H
#define KVC_CRASH_H

#include "vmtest.h"

#define CRASH_DEBUGFS "/sys/kernel/debug/kvcache/"

/**
 * struct crash_pool - the pool under test
 * @ctl: path of kvcachectl
 * @members: paths
 * @nr: how many
 * @number: that it is attached as
 * @kvc: handle
 * @fsck_ms: time that checks took
 * @attach_ms: time that attaching took
 * @lapses: attaches that were tried again, since the lease ran out meanwhile
 */
struct crash_pool {
	const char *ctl;
	const char **members;
	unsigned int nr;
	unsigned int number;
	struct kvc *kvc;
	uint64_t fsck_ms;
	uint64_t attach_ms;
	unsigned int lapses;
};

/* Members from the environment's KVC_MEMBERS, or from @members. */
void crash_open(struct crash_pool *p, char **members, unsigned int nr);

/* Run a program; its output is kept and printed if it fails. Its status. */
int crash_run(const char *const *argv);

/* Cut options into words. */
const char **crash_words(const char *line);

/* Format the members, with options; must succeed. */
void crash_format(struct crash_pool *p, const char *const *options);

/* Nothing is wrong with the pool's media: counts with vt_expect(). */
bool crash_fsck(struct crash_pool *p, const char *when);

/* 0 or -errno; @reason (of 768 bytes) may be NULL. */
int crash_attach_once(struct crash_pool *p, char *reason);
/* The same, again if the lease runs out meanwhile. */
int crash_attach(struct crash_pool *p, char *reason);

int crash_detach(struct crash_pool *p);

/* All I/O stops, all is forgotten. */
void crash_abandon(struct crash_pool *p);
/* The same, if it is attached. 0 or -errno. */
int crash_abandon_if(struct crash_pool *p);

/* Let so many writes go out, and then none (0: no such plan). */
void crash_abandon_after(unsigned int writes);
unsigned int crash_abandon_left(void);

#endif
