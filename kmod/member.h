/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Members: the block devices of a pool, their health, and metadata I/O.
 *
 * A member set belongs to one attachment. Everything above asks a member's
 * state before it starts I/O, so that only what is already in flight ever
 * waits for a device that has gone quiet.
 */
#ifndef KVC_MEMBER_H
#define KVC_MEMBER_H

#include <linux/blkdev.h>
#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/percpu_counter.h>
#include <linux/workqueue.h>
#include "kvc_layout.h"

enum kvc_health {
	KVC_HEALTH_LIVE		= 1,	/* KVCACHE_MEMBER_* of the uapi */
	KVC_HEALTH_SUSPECT	= 2,
	KVC_HEALTH_FAILED	= 3,
};

/**
 * struct kvc_member - one member
 * @set: the set that it is in
 * @index: its number in the pool
 * @path: as given at attach; "" if it is missing from a degraded pool
 * @handle: what the kernel version needs to close the device; NULL: missing
 * @bdev: the device; valid while @handle is
 * @volatile_cache: it has one: durable writes carry REQ_FUA
 * @discard: it takes discards
 * @dma_mask: memory of direct I/O must be aligned to @dma_mask + 1
 * @block_mask: logical block size - 1 (at most KVC_BLOCK_SIZE - 1)
 * @health: enum kvc_health; read without lock
 * @inflight: bios out
 * @last_done: jiffies at which one last ended (or the first went out)
 * @suspect_since: jiffies at which it became suspect
 * @errors: failed bios
 * @read_bytes: read so far
 * @written_bytes: written so far
 */
struct kvc_member {
	struct kvc_member_set *set;
	u32 index;
	char *path;
	void *handle;
	struct block_device *bdev;
	bool volatile_cache;
	bool discard;
	unsigned int dma_mask;
	unsigned int block_mask;
	int health;
	atomic_t inflight;
	unsigned long last_done;
	unsigned long suspect_since;
	atomic64_t errors;
	struct percpu_counter read_bytes;
	struct percpu_counter written_bytes;
};

/**
 * struct kvc_member_set - the members of one attachment
 * @nr: members; fixed once kvc_members_start() was called
 * @m: members, by index
 * @abandoned: a simulated crash: no bio is submitted any more
 * @lease_ok: asked before every write is submitted; false fails it with
 *	-ESTALE. Called with preemption disabled; may be NULL (before the join)
 * @lease_arg: its argument
 * @watch: looks after health every KVC_WATCH_MS
 * @wq: for release work and probes; unbound, may sleep
 * @users: bios and transfers out; kvc_members_stop() waits for 0
 * @suspect_ms: silence with I/O in flight that makes a member suspect
 * @fail_ms: time as suspect that makes it failed
 */
struct kvc_member_set {
	u32 nr;
	struct kvc_member m[KVC_MAX_MEMBERS];
	bool abandoned;
	bool (*lease_ok)(void *arg);
	void *lease_arg;
	struct delayed_work watch;
	struct workqueue_struct *wq;
	atomic_t users;
	wait_queue_head_t idle;
	unsigned int suspect_ms;
	unsigned int fail_ms;
};

#define KVC_WATCH_MS	50

int kvc_members_init(struct kvc_member_set *set, u32 nr);

/**
 * kvc_member_open() - open a member's device
 * @set: set
 * @index: which
 * @path: device path
 *
 * The device is claimed for the module as a whole, so that a second
 * attachment in the same kernel may open it and be refused by the slots, with
 * the holder's name, but nothing else can mount or format it.
 *
 * Return: 0, or a negative errno of the open; -EINVAL if its logical block is
 * larger than KVC_BLOCK_SIZE.
 */
int kvc_member_open(struct kvc_member_set *set, u32 index, const char *path);

/* Begin to watch health. */
void kvc_members_start(struct kvc_member_set *set);

/* Stop the watch, wait for all I/O to end, close all devices, free. */
void kvc_members_stop(struct kvc_member_set *set);

static inline int kvc_member_health(const struct kvc_member *m)
{
	return READ_ONCE(m->health);
}

/* Device size in 4 KiB blocks. */
u64 kvc_member_blocks(const struct kvc_member *m);

/**
 * kvc_member_submit() - the one place where a bio goes out
 * @m: member
 * @bio: ready but for its device; end_io must call kvc_member_done() first
 *
 * Counts it, checks health of the set (abandoned), and, for writes, the lease
 * and submits with preemption... see protocol rule 2; a bio that may not go
 * out is ended with an error status.
 */
void kvc_member_submit(struct kvc_member *m, struct bio *bio);

/* First thing in every end_io: counts, and feeds health. */
void kvc_member_done(struct kvc_member *m, struct bio *bio);

/* blk_status to errno as the uapi tells it: -EIO, or -ESTALE, -EAGAIN. */
int kvc_member_errno(blk_status_t status);

/**
 * struct kvc_meta_io - asynchronous metadata I/O of whole blocks
 * @m: member
 * @op: REQ_OP_READ or REQ_OP_WRITE; writes are made durable (FUA where the
 *	member has a volatile cache)
 * @block: first block
 * @nr: blocks, 1 .. KVC_META_MAX_BLOCKS
 * @buf: page-aligned kernel memory (kmalloc or vmalloc), @nr blocks
 * @done: called in any context when it has ended; may free the structure
 * @private: for the caller
 * @error: 0 or negative errno, valid in @done
 *
 * The structure and @buf belong to the I/O from submit until @done.
 */
#define KVC_META_MAX_BLOCKS	256
struct kvc_meta_io {
	struct kvc_member *m;
	enum req_op op;
	u64 block;
	u32 nr;
	void *buf;
	void (*done)(struct kvc_meta_io *io);
	void *private;
	int error;
};

void kvc_meta_submit(struct kvc_meta_io *io);

/**
 * kvc_meta_read() / kvc_meta_write() - the same, waiting for it
 *
 * Not interruptible and without a deadline of their own: for paths (attach,
 * heartbeat, eviction) that may sleep as long as the device takes. Larger
 * @nr than KVC_META_MAX_BLOCKS is cut up.
 */
int kvc_meta_read(struct kvc_member *m, u64 block, u32 nr, void *buf);
int kvc_meta_write(struct kvc_member *m, u64 block, u32 nr, void *buf);

/* Discard blocks; a device that can't: 0. Waits. */
int kvc_member_discard(struct kvc_member *m, u64 block, u64 nr);

#endif
