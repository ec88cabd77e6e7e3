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
#include <linux/percpu-refcount.h>
#include <linux/workqueue.h>
#include "kvc_layout.h"
#include "pace.h"

enum kvc_health {
	KVC_HEALTH_LIVE		= 1,	/* KVCACHE_MEMBER_* of the uapi */
	KVC_HEALTH_SUSPECT	= 2,
	KVC_HEALTH_FAILED	= 3,
};

/*
 * How long what is written is expected to stay. A device that keeps data of a kind
 * together has less to copy when a segment is discarded as a whole.
 */
enum kvc_life {
	KVC_LIFE_SHORT,		/* metadata: rings that go round */
	KVC_LIFE_MEDIUM,	/* what is put: until CLOCK comes by */
	KVC_LIFE_LONG,		/* what was in use when it did */
};

/**
 * struct kvc_member - one member
 * @set: the set that it is in
 * @index: its number in the pool
 * @path: as given at attach; "" if it is missing from a degraded pool
 * @handle: what the kernel version needs to close the device; NULL: missing
 * @bdev: the device; NULL: missing, or it has gone and is awaited. A bio's
 *	count in @inflight or @discards keeps it, and so does RCU
 * @start_sector: at which it begins on its disk
 * @volatile_cache: it has one: durable writes carry REQ_FUA
 * @discard: it takes discards
 * @dma_mask: memory of direct I/O must be aligned to @dma_mask + 1
 * @block_mask: logical block size - 1 (at most KVC_BLOCK_SIZE - 1)
 * @streams: of data that it keeps apart, 0: it does not
 * @nowait: it takes REQ_NOWAIT
 * @max_bytes: the most that one request moves, multiple of KVC_BLOCK_SIZE
 * @max_segments: the most DMA segments in a request
 * @max_segment_bytes: the longest of them
 * @gap_mask: between two bvecs of a request, memory must be aligned to this + 1
 * @chunk_sectors: no request goes over a multiple of this; 0 for none
 * @health: enum kvc_health; read without lock, changed by cmpxchg() and xchg()
 * @inflight: reads and writes out
 * @discards: discards out
 * @last_done: jiffies at which one last ended (or the first went out)
 * @suspect_since: jiffies at which it became suspect
 * @stuck: of @inflight, how many were out when a probe came back: that they
 *	stay silent proves nothing about the member
 * @probed: jiffies at which the last probe went out
 * @probing: bit 0: a probe is out, and owns @probe_work
 * @probe_work: sends the probe
 * @errors: failed bios
 * @lost_write: jiffies at which a write last failed in a way that leaves open
 *	whether it lands yet; valid if @lost_writes
 * @lost_writes: there was one
 * @read_bytes: bytes that were asked of the device, padding and metadata
 *	included; to be read by percpu_counter_sum()
 * @written_bytes: likewise
 * @pace: how much data may be on its way to it
 */
struct kvc_member {
	struct kvc_member_set *set;
	u32 index;
	const char *path;
	void *handle;
	struct block_device *bdev;
	sector_t start_sector;
	bool volatile_cache;
	bool discard;
	unsigned int dma_mask;
	unsigned int block_mask;
	unsigned int streams;
	bool nowait;
	unsigned int max_bytes;
	unsigned int max_segments;
	unsigned int max_segment_bytes;
	unsigned long gap_mask;
	unsigned int chunk_sectors;
	int health;
	unsigned long suspect_since;
	struct percpu_counter read_bytes;
	struct percpu_counter written_bytes;

	/* Written by every bio: away from what every look-up reads. */
	atomic_t inflight ____cacheline_aligned_in_smp;
	atomic_t discards;
	unsigned int stuck;
	unsigned long last_done;
	atomic64_t errors;
	unsigned long lost_write;
	bool lost_writes;

	unsigned long probed;
	unsigned long probing;
	struct work_struct probe_work;

	struct kvc_pace pace;
};

/**
 * struct kvc_member_set - the members of one attachment
 * @nr: members; once kvc_members_start() was called only kvc_members_add()
 *	changes it, while there is no I/O but the watch's
 * @m: members, by index
 * @dma_mask: the largest of the open members'
 * @block_mask: the largest of the open members'
 * @peer: all of the open members take peer memory
 * @draining: bit per member on which nothing new is placed: drained, or removed
 * @abandoned: a simulated crash: no bio is submitted any more
 * @refused: a write that a member's reservation refused: this host has been
 *	fenced. Set by completions, reset by who joins anew
 * @refusals: how many were
 * @watching: between kvc_members_start() and kvc_members_stop()
 * @lease_ok: asked before every write is submitted; false fails it with
 *	-ESTALE. Called with preemption disabled; may be NULL (before the join)
 * @lease_arg: its argument
 * @health_changed: a member has become suspect, or live again; in any context; may
 *	be NULL
 * @health_arg: its argument
 * @is_member: is this the label at the start of member @index, as this
 *	attachment wrote it? Asked of a device that is there again under its
 *	path. NULL before the labels are written
 * @is_member_arg: its argument
 * @watch: looks after health every KVC_WATCH_MS
 * @watched: jiffies at which it last did
 * @wq: watch, release of transfers whose caller gave up, and probes; unbound
 * @submit_wq: submission that might sleep for long; its own, since all of its
 *	workers may hang in a device at once and the watch must not
 * @probe_page: where probes read to; nobody looks at it
 * @users: bios, transfers and metadata I/O out; kvc_members_stop() waits for 0
 * @idle: completed when @users is 0
 * @suspect_ms: silence with I/O in flight that makes a member suspect
 * @fail_ms: time as suspect that makes it failed
 */
struct kvc_member_set {
	u32 nr;
	struct kvc_member m[KVC_MAX_MEMBERS];
	unsigned int dma_mask;
	unsigned int block_mask;
	bool peer;
	u64 draining;
	bool abandoned;
	bool refused;
	atomic64_t refusals;
	bool watching;
	bool (*lease_ok)(void *arg);
	void *lease_arg;
	void (*health_changed)(void *arg);
	void *health_arg;
	bool (*is_member)(void *arg, u32 index, const void *label);
	void *is_member_arg;
	struct delayed_work watch;
	unsigned long watched;
	struct workqueue_struct *wq;
	struct workqueue_struct *submit_wq;
	struct page *probe_page;
	struct percpu_ref users;
	struct completion idle;
	unsigned int suspect_ms;
	unsigned int fail_ms;
};

#define KVC_BLOCK_SECTORS_SHIFT	(KVC_BLOCK_SHIFT - SECTOR_SHIFT)

/* Does this status put the member itself, or the way to it, in doubt? */
bool kvc_status_accuses(blk_status_t status);

/* However long it takes: in turns, which the hung task detector allows. */
void kvc_wait(struct completion *done);

/* On every bio: rather an error than a wait. */
#define KVC_FAILFAST	(REQ_FAILFAST_DEV | REQ_FAILFAST_TRANSPORT | \
			 REQ_FAILFAST_DRIVER)

#define KVC_WATCH_MS	50
#define KVC_PROBE_MS	250
#define KVC_SUSPECT_MS	500	/* defaults of the set's */
#define KVC_FAIL_MS	30000

/**
 * kvc_members_init() - make an empty set
 * @set: overwritten
 * @nr: how many members the pool has; all are missing until opened
 *
 * Return: 0, -EINVAL, -ENOMEM. On 0, kvc_members_stop() undoes it.
 */
int kvc_members_init(struct kvc_member_set *set, u32 nr);

/**
 * kvc_members_add() - make a set larger
 * @set: set
 * @nr: how many members the pool has now; the new ones are missing until opened
 *
 * Return: 0, -ENOMEM: not all were added, and it may be tried again.
 */
int kvc_members_add(struct kvc_member_set *set, u32 nr);

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
 * larger than KVC_BLOCK_SIZE, or if it is zoned.
 */
int kvc_member_open(struct kvc_member_set *set, u32 index, const char *path);

/**
 * kvc_member_remove() - close a member for good
 * @m: member; there is no I/O to it but the watch's
 *
 * Waits for that, as long as the device takes. From then on it is missing.
 */
void kvc_member_remove(struct kvc_member *m);

/* Begin to watch health. */
void kvc_members_start(struct kvc_member_set *set);

/*
 * Stop the watch, wait for all I/O to end (as long as the devices take), close
 * all devices, free. Nobody starts I/O any more.
 */
void kvc_members_stop(struct kvc_member_set *set);

static inline int kvc_member_health(const struct kvc_member *m)
{
	return READ_ONCE(m->health);
}

/* Bit per member that is live. */
static inline u64 kvc_members_live(const struct kvc_member_set *set)
{
	u64 live = 0;
	u32 i;

	for (i = 0; i < set->nr; i++)
		if (kvc_member_health(&set->m[i]) == KVC_HEALTH_LIVE)
			live |= 1ULL << i;
	return live;
}

/* Device size in 4 KiB blocks. */
u64 kvc_member_blocks(const struct kvc_member *m);

/**
 * kvc_member_hold() - keep a member's device from being closed
 * @m: member
 *
 * For commands that are no bios. kvc_member_release() in any case.
 *
 * Return: the device; NULL: there is none now, or the set was abandoned.
 */
struct block_device *kvc_member_hold(struct kvc_member *m);
void kvc_member_release(struct kvc_member *m);

/**
 * kvc_member_submit() - the one place where a member's bio goes out
 * @m: member
 * @bio: ready but for its device; end_io must call kvc_member_done() first
 *
 * A bio of a missing member or an abandoned set, and a write without a lease,
 * does not go out but is ended here with an error status.
 *
 * Protocol rule 2: the lease is looked at immediately before submit_bio(), and
 * not under any lock that holds until the device has the command: submit_bio()
 * may sleep for a free request. So a write may go out after its lease ended,
 * by as long as that takes, and Q has to cover this time as it covers the
 * initiator's retries.
 *
 * May sleep, as long as the device takes if it has no request free; a bio with
 * REQ_NOWAIT then ends with BLK_STS_AGAIN instead.
 */
void kvc_member_submit(struct kvc_member *m, struct bio *bio);

/**
 * kvc_member_done() - first thing in every end_io: counts, and feeds health
 * @m: member
 * @bio: bio
 * @bytes: of a read or a write: how long it was
 */
void kvc_member_done(struct kvc_member *m, struct bio *bio, unsigned int bytes);

/**
 * kvc_member_errno() - blk_status to errno as the uapi tells it
 * @status: of a bio that ended
 *
 * Return: 0; -ESTALE for a write that had no lease, or whose reservation the
 * target has taken away (which is how a fenced host learns of it); -EAGAIN if
 * this host was short of something; else -EIO.
 */
int kvc_member_errno(blk_status_t status);

/**
 * kvc_member_unsure() - may a write that failed still land?
 * @m: member
 * @q: Q in jiffies: the longest life of a write
 *
 * One that the device refused does not count, only one that got no answer: the
 * target may have it.
 */
static inline bool kvc_member_unsure(const struct kvc_member *m, unsigned long q)
{
	/* Pairs with kvc_member_done(). */
	return smp_load_acquire(&m->lost_writes) &&
	       time_before(jiffies, READ_ONCE(m->lost_write) + q);
}

/* Keep kvc_members_stop() waiting. */
static inline void kvc_members_get(struct kvc_member_set *set)
{
	percpu_ref_get(&set->users);
}

static inline void kvc_members_put(struct kvc_member_set *set)
{
	percpu_ref_put(&set->users);
}

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
 * @patient: if the path is lost, don't fail at once but let the transport keep
 *	it for when the path is back, within limits of its own
 * @error: 0 or negative errno, valid in @done
 * @unsure: likewise: it failed, but what was to be written may land yet
 *
 * The structure and @buf belong to the I/O from submit until @done.
 * kvc_meta_submit() may sleep.
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
	bool patient;
	int error;
	bool unsure;
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

/*
 * Discard blocks; a device that can't, or won't: 0. An error means that it may
 * still be carried out, and that no other discard will be sent. Waits.
 */
int kvc_member_discard(struct kvc_member *m, u64 block, u64 nr);

#endif
