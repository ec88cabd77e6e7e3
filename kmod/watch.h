/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The eviction log: streams of the keys that a pool dropped by itself, for
 * programs that keep a list of what is there. Nothing is gathered while nobody
 * reads: keys stand on media, and only eviction has them at hand.
 */
#ifndef KVC_WATCH_H
#define KVC_WATCH_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <uapi/linux/kvcache.h>

struct kvc_pool;

/**
 * struct kvc_watches - a pool's readers
 * @lock: guards @readers
 * @readers: struct kvc_watch
 * @ended: no pool any more
 */
struct kvc_watches {
	struct mutex lock;
	struct list_head readers;
	bool ended;
};

void kvc_watches_init(struct kvc_watches *w);

/* Is anybody reading? Without a lock: who has just begun may miss an event. */
static inline bool kvc_watched(const struct kvc_watches *w)
{
	return !list_empty_careful(&w->readers);
}

/**
 * kvc_watch_tell() - an object has gone: tell those who want to know
 * @w: readers
 * @what: KVCACHE_EVENT_*
 * @tenant: tenant
 * @key: key
 * @key_len: bytes of it
 * @length: of the object
 *
 * After it can't be hit any more. May sleep.
 */
void kvc_watch_tell(struct kvc_watches *w, u32 what, u32 tenant, const u8 *key,
		    u32 key_len, u64 length);

/* Something has gone, and nobody can say what: readers must look again. */
void kvc_watch_rescan(struct kvc_watches *w);

/* The pool is detached: readers come to the end of their stream. */
void kvc_watch_end(struct kvc_watches *w);

/* KVCACHE_IOC_WATCH. */
long kvc_watch_ioctl(struct file *file, void __user *arg);

#endif
