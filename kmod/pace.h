/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads first: while a host reads from a member, how much of its own data may
 * be on its way there.
 *
 * A device works through what it was given more or less in order, so a get
 * waits for the puts and rewrites that went out before it. Nothing is held back
 * while nobody reads. While somebody does, the time of reads is sampled and
 * compared with what reads of that length take without writes: as long as it is
 * more than KVC_PACE_SLOW times that, the bytes of data in flight to the member
 * are halved at every look (each KVC_WATCH_MS), down to KVC_PACE_STEP; else they
 * grow by as much. What is held back goes out, in order, as writes end, and is
 * cut into requests of that length.
 *
 * Journal blocks, headers and summaries are never held back.
 */
#ifndef KVC_PACE_H
#define KVC_PACE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define KVC_PACE_OPEN		UINT_MAX	/* no limit */
#define KVC_PACE_STEP		(256U << 10)
#define KVC_PACE_SLOW		2
#define KVC_PACE_CLASSES	9		/* 4 KiB .. 1 MiB and more */

/**
 * struct kvc_pace - one member's
 * @limit: bytes of data writes that may be in flight, at least one write
 *	whatever its length; KVC_PACE_OPEN; changed under @lock
 * @writing: bytes of data writes in flight
 * @samples: reads that were timed since the last look
 * @slowness: sum over them of the time that each took, in sixteenths of what it
 *	takes without writes
 * @sampled: jiffies at which the last one was begun
 * @usual: ns that a read of a class takes without writes, 0: unknown. Racing
 *	updates lose a sample at worst
 * @quiet: looks since the last that had samples
 * @lock: of @held, and of @limit while it is not KVC_PACE_OPEN
 * @held: struct kvc_paced that are held back, in the order in which they came
 * @held_back: how many were, ever
 * @work: sends them
 * @wq: where it runs; a write that is sent may sleep for long
 */
struct kvc_pace {
	u32 limit;
	atomic_t writing;
	atomic_t samples;
	atomic_t slowness;
	unsigned long sampled;
	u32 usual[KVC_PACE_CLASSES];
	u32 quiet;

	spinlock_t lock;
	struct list_head held;
	u64 held_back;
	struct work_struct work;
	struct workqueue_struct *wq;
};

/**
 * struct kvc_paced - a data write
 * @node: in a member's list @held
 * @bytes: its length
 * @send: sends it, after it was held back; in process context
 */
struct kvc_paced {
	struct list_head node;
	u32 bytes;
	void (*send)(struct kvc_paced *w);
};

void kvc_pace_init(struct kvc_pace *pace, struct workqueue_struct *wq);

/* The longest request for a data write now, if the member takes @max bytes. */
static inline u32 kvc_pace_cut(const struct kvc_pace *pace, u32 max)
{
	return likely(READ_ONCE(pace->limit) == KVC_PACE_OPEN) ?
		max : min(max, KVC_PACE_STEP);
}

/**
 * kvc_pace_write() - a data write is ready to go out
 * @pace: its member's
 * @w: the write; @bytes and @send are set
 *
 * Return: true if it may go now; false: it is held back, and @w belongs to the
 * pace until it calls @send. After either kvc_pace_wrote() is called once.
 */
bool kvc_pace_write(struct kvc_pace *pace, struct kvc_paced *w);

/* A data write has ended. In any context. */
void kvc_pace_wrote(struct kvc_pace *pace, u32 bytes);

/**
 * kvc_pace_read() - shall a read that goes out now be timed?
 * @pace: its member's
 *
 * One in a jiffy is, so that it costs others no more than a look.
 *
 * Return: the time for kvc_pace_took(), 0: no.
 */
u64 kvc_pace_read(struct kvc_pace *pace);

/* A read of @bytes that was begun at @begun has ended well. In any context. */
void kvc_pace_took(struct kvc_pace *pace, u32 bytes, u64 begun);

/**
 * kvc_pace_look() - look after the limit; every KVC_WATCH_MS
 * @pace: a member's
 * @live: the member is
 */
void kvc_pace_look(struct kvc_pace *pace, bool live);

#endif
