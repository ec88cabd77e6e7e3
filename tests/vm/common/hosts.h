/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Several attachments of one pool in one kernel, as if each were a host, for tests
 * of what hosts see of each other while the pool changes. What goes wrong is told,
 * as by vt_expect().
 */
#ifndef KVC_VT_HOSTS_H
#define KVC_VT_HOSTS_H

#include "members.h"
#include "objects.h"

#define HOSTS_MAX	4

/**
 * struct host - an attachment
 * @number: of the pool as it has it; 0: detached
 * @kvc: handle
 */
struct host {
	unsigned int number;
	struct kvc *kvc;
};

extern struct vt_members hosts_pool;	/* devices; "members" are the first of them */
extern struct host hosts[HOSTS_MAX];
extern char hosts_reason[1024];		/* why the last attach or member call failed */

void hosts_begin(unsigned int devices);

/* The pool's number, or an error. @mode: KVCACHE_MODE_*, host @host of @nr. */
int hosts_attach_as(unsigned int mode, unsigned int host, unsigned int nr,
		    unsigned int members);
/* @number, as attaching gave it, is that host's from here on. */
void hosts_take(unsigned int host, int number);
/* Static; @nr 0: alone. */
void hosts_join(unsigned int host, unsigned int nr, unsigned int members);
void hosts_leave(unsigned int host);
void hosts_crash(unsigned int host);
struct kvcache_info hosts_info(unsigned int host);
/* Without AGs: what is asked is whether it may join at all. */
int hosts_grant(unsigned int host, unsigned int slot, uint64_t incarnation);

/* kvcachectl -q with these arguments: its exit status. */
int hosts_tool(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int hosts_refresh(unsigned int host, unsigned int members);
bool hosts_fsck(unsigned int members, const char *when);
struct kvcache_member hosts_look(unsigned int host, unsigned int member);

void hosts_put(unsigned int host, struct vt_object *o, unsigned int n,
	       const char *prefix);
/* All are hits. */
void hosts_hits(unsigned int host, struct vt_object *o, unsigned int n);
/* Objects that are there, and no wrong one: the others may have been evicted. */
unsigned int hosts_there(unsigned int host, struct vt_object *o, unsigned int n);
/* Are objects the same on the first two hosts? */
void hosts_agree(struct vt_object *o, unsigned int n);
/* Is each put on one of the first @nr hosts a hit on the others at once? */
void hosts_at_once(unsigned int nr, const char *prefix, unsigned int rounds);
/* Wait until a host owns so many AGs. */
bool hosts_owns(unsigned int host, unsigned int ags, unsigned int ms);

#endif
