/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: the presence table
 *
 * A word of 32 bits for each object that can be hit, in memory that userspace maps
 * to look whether a key is there without a call. There is none until somebody asks
 * for it, and none any more when nobody has it mapped.
 *
 * It has what the index has: an entry is put in as soon as it is LIVE and taken
 * out as soon as it is DEAD, by whoever made it so. An entry's bit @present tells
 * whether it is in; it, the words and the counts change under the table's lock
 * alone, so it does not matter who comes first when a table is filled from the
 * index while entries live and die: whoever finds an entry that is live and not in
 * puts it in.
 *
 * A table never changes its size: a larger one takes its place, and the old one,
 * which says so in its head, stays as it is for those who still have it mapped.
 *
 * Order: who makes an entry live or dead does so, then looks for a table; who
 * begins one publishes it, then looks at all entries. So one of them sees the other.
 */
#ifndef KVC_PRESENCE_H
#define KVC_PRESENCE_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct file;
struct kvc_entry;
struct kvc_join;
struct kvc_pool;
struct kvc_table;
struct vm_area_struct;

/**
 * struct kvc_presence - the presence table of an attachment
 * @lock: one makes, maps or retires a table at a time. Inside mmap_lock
 * @table: the one that is kept up to date, NULL: nobody wants one; read under RCU
 * @marked: entries of the present membership may be marked from a former table;
 *	under @lock
 * @lease: says in the table that the lease has run out
 */
struct kvc_presence {
	struct mutex lock;
	struct kvc_table __rcu *table;
	bool marked;
	struct hrtimer lease;
};

void kvc_presence_init(struct kvc_pool *pool);

/* The pool has members, not yet open: follow their health. */
void kvc_presence_follow(struct kvc_pool *pool);

/* With the pool's last reference. */
void kvc_presence_destroy(struct kvc_pool *pool);

void kvc_presence_entry_lives(struct kvc_pool *pool, struct kvc_entry *e);
void kvc_presence_entry_died(struct kvc_pool *pool, struct kvc_entry *e);

/*
 * The entry is LIVE, and in the index: not before, or a mark may stay behind where
 * who takes away all marks does not look. Any context, under RCU if it may be freed.
 */
#define kvc_presence_add(pool, e)					\
	do {								\
		smp_mb();						\
		if (unlikely(rcu_access_pointer((pool)->presence.table))) \
			kvc_presence_entry_lives(pool, e);		\
	} while (0)

/* It is DEAD, by an atomic operation that returned a value. Any context. */
#define kvc_presence_remove(pool, e)					\
	do {								\
		if (unlikely(rcu_access_pointer((pool)->presence.table))) \
			kvc_presence_entry_died(pool, e);		\
	} while (0)

/* The lease has been prolonged, or has run out. Any context. */
void kvc_presence_lease(struct kvc_join *join);

/* A member has become ill or well. Any context. */
void kvc_presence_health(struct kvc_pool *pool);

/* The membership ends, and its index with it. */
void kvc_presence_gone(struct kvc_pool *pool);

/* Memory of the table, 0: there is none. */
u64 kvc_presence_bytes(struct kvc_pool *pool);

long kvc_presence_ioctl(struct file *file, void __user *arg);
int kvc_presence_mmap(struct file *file, struct vm_area_struct *vma);

#endif
