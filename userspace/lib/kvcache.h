/* SPDX-License-Identifier: MIT */
/*
 * libkvcache: what programs use of /dev/kvcache.
 *
 * A handle holds a file descriptor and a pool number and never changes after
 * kvc_open(), so any number of threads may use one at the same time. Functions
 * return 0 or a count, or a negative errno; kvc_strerror() and kvc_next_step()
 * put it into words. Nothing here retries by itself: a cache's caller has a
 * better idea of what its time is worth.
 *
 * Keys are 1 .. KVCACHE_KEY_MAX arbitrary bytes within a tenant. Objects do not
 * change: a put of a key that is there answers -EEXIST and moves no data.
 */
#ifndef KVCACHE_LIB_H
#define KVCACHE_LIB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <linux/kvcache.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KVC_DEVICE "/dev/kvcache"

struct kvc;

/**
 * struct kvc_call - what holds for all keys of one call
 * @tenant: tenant that the keys belong to
 * @deadline_ms: for the whole call; 0: KVCACHE_DEADLINE_DEFAULT_MS
 * @flags: KVC_SETTLE: put and get return only when the kernel is done with their
 *	memory, whatever the deadline; KVC_CALL_KERNEL: exists asks the kernel,
 *	not the mapped table; or 0
 * @reserved: 0
 *
 * NULL in its place means all zeroes.
 */
struct kvc_call {
	uint32_t tenant;
	uint32_t deadline_ms;
	uint32_t flags;
	uint32_t reserved;
};

#define KVC_SETTLE KVCACHE_BATCH_SETTLE
#define KVC_CALL_KERNEL (1U << 31)

/* --- handle: kvc_open(3) --- */

/* NULL for @device: KVC_DEVICE. @pool 0: the default pool. NULL and errno. */
struct kvc *kvc_open(const char *device, unsigned int pool);
void kvc_close(struct kvc *kvc);
int kvc_fd(const struct kvc *kvc);
unsigned int kvc_pool(const struct kvc *kvc);
/* As the kernel told it at kvc_open(). */
const struct kvcache_caps *kvc_caps(const struct kvc *kvc);

/* --- one key: kvc_put(3), kvc_get(3), kvc_exists(3), kvc_delete(3) --- */

int kvc_put(struct kvc *kvc, const struct kvc_call *call, const void *key,
	    size_t key_len, const void *data, size_t len);
/* Bytes read; @length, unless NULL, is set to the object's size, if known. */
ssize_t kvc_get(struct kvc *kvc, const struct kvc_call *call, const void *key,
		size_t key_len, void *data, size_t len, uint64_t *length);
ssize_t kvc_get_range(struct kvc *kvc, const struct kvc_call *call,
		      const void *key, size_t key_len, uint64_t offset,
		      void *data, size_t len, uint64_t *length);
int kvc_exists(struct kvc *kvc, const struct kvc_call *call, const void *key,
	       size_t key_len, uint64_t *length);
int kvc_pin(struct kvc *kvc, const struct kvc_call *call, const void *key,
	    size_t key_len, uint64_t until);
int kvc_delete(struct kvc *kvc, const struct kvc_call *call, const void *key,
	       size_t key_len);

/* --- many keys: kvc_batch(3) --- */

/*
 * An element of a batch is the kernel's own struct kvcache_io, so nothing is
 * copied on the way. The kvc_prep functions fill one in; keys and memory must
 * stay until the batch has returned.
 */
static inline void kvc_prep(struct kvcache_io *io, const void *key,
			    size_t key_len)
{
	memset(io, 0, sizeof(*io));
	io->key = (uint64_t)(uintptr_t)key;
	/* What does not fit becomes 0, which the kernel refuses. */
	io->key_len = key_len > KVCACHE_KEY_MAX ? 0 : (uint16_t)key_len;
}

/* put and get: one piece of memory */
static inline void kvc_prep_data(struct kvcache_io *io, const void *key,
				 size_t key_len, const void *data, size_t len)
{
	kvc_prep(io, key, key_len);
	io->data = (uint64_t)(uintptr_t)data;
	io->data_len = len;
}

/* put and get: up to KVCACHE_IOV_MAX pieces */
static inline void kvc_prep_iovec(struct kvcache_io *io, const void *key,
				  size_t key_len, const struct iovec *iov,
				  size_t count)
{
	kvc_prep_data(io, key, key_len, iov, count);
	io->flags |= KVCACHE_IO_IOVEC;
}

/* get: from byte @offset up to the end of memory or object */
static inline void kvc_set_range(struct kvcache_io *io, uint64_t offset)
{
	io->flags |= KVCACHE_IO_RANGE;
	io->offset = offset;
}

/* put, exists: eviction keeps it until @until, seconds since 1970 UTC */
static inline void kvc_set_pin(struct kvcache_io *io, uint64_t until)
{
	io->flags |= KVCACHE_IO_PIN;
	io->pin = until;
}

/* put: gone at @expiry, seconds since 1970 UTC; 0: never */
static inline void kvc_set_expiry(struct kvcache_io *io, uint64_t expiry)
{
	io->expiry = expiry;
}

/* put: place in its prefix; of two cold objects the deeper one goes first */
static inline void kvc_set_depth(struct kvcache_io *io, uint16_t depth)
{
	io->depth = depth;
}

/*
 * Number of keys whose status is 0, every key having a status; or a negative
 * errno, and then no key was touched. Any @count: what is more than the kernel
 * takes at a time goes down in several calls, under one deadline.
 */
ssize_t kvc_batch_put(struct kvc *kvc, const struct kvc_call *call,
		      struct kvcache_io *ios, size_t count);
ssize_t kvc_batch_get(struct kvc *kvc, const struct kvc_call *call,
		      struct kvcache_io *ios, size_t count);
ssize_t kvc_batch_exists(struct kvc *kvc, const struct kvc_call *call,
			 struct kvcache_io *ios, size_t count);
ssize_t kvc_batch_delete(struct kvc *kvc, const struct kvc_call *call,
			 struct kvcache_io *ios, size_t count);

/* --- exists without a call: kvc_map(3) --- */

/*
 * Map the presence table of the handle's pool: from then on kvc_exists() and
 * kvc_batch_exists() look there, and ask the kernel only for what that can't tell. A
 * length that is not asked of the kernel is 0. Once, before other threads use the
 * handle. @flags: 0. -EOPNOTSUPP where the kernel has no such table.
 */
int kvc_map(struct kvc *kvc, unsigned int flags);

/* --- many calls at a time, by io_uring: kvc_queue(3) --- */

struct kvc_queue;

/**
 * struct kvc_done - a call that has completed
 * @user_data: as given with it
 * @result: as the kvc_batch functions return it
 */
struct kvc_done {
	uint64_t user_data;
	int64_t result;
};

/*
 * A queue is for one thread at a time. Up to @depth (4096) calls may be under way;
 * link with liburing where libkvcache is linked statically. NULL and errno,
 * EOPNOTSUPP where the kernel has no such commands.
 */
struct kvc_queue *kvc_queue_open(struct kvc *kvc, unsigned int depth);
/*
 * The same for the calling thread alone, which it costs less: calls of other
 * threads are refused with EEXIST.
 */
struct kvc_queue *kvc_queue_open_thread(struct kvc *kvc, unsigned int depth);
/* Waits for what is under way. */
void kvc_queue_close(struct kvc_queue *queue);
/* To poll(): it can be read when something has completed. */
int kvc_queue_fd(const struct kvc_queue *queue);
/*
 * Memory that is pinned once, at most 1 GiB a piece; calls all of whose memory is
 * in one piece of it use it by themselves. Once in a queue's life.
 */
int kvc_queue_register(struct kvc_queue *queue, const struct iovec *memory,
		       unsigned int count);

/*
 * Queue a call: 0, -EAGAIN if @depth are under way, or -EINVAL. @ios and what it
 * points to must stay until it has completed. KVC_SETTLE is implied.
 */
int kvc_queue_put(struct kvc_queue *queue, const struct kvc_call *call,
		  struct kvcache_io *ios, size_t count, uint64_t user_data);
int kvc_queue_get(struct kvc_queue *queue, const struct kvc_call *call,
		  struct kvcache_io *ios, size_t count, uint64_t user_data);
int kvc_queue_exists(struct kvc_queue *queue, const struct kvc_call *call,
		     struct kvcache_io *ios, size_t count, uint64_t user_data);
int kvc_queue_delete(struct kvc_queue *queue, const struct kvc_call *call,
		     struct kvcache_io *ios, size_t count, uint64_t user_data);
/* Begin what is queued; kvc_queue_wait() does it, too. How many, or -errno. */
int kvc_queue_submit(struct kvc_queue *queue);
/* Calls that are queued or under way. */
unsigned int kvc_queue_pending(const struct kvc_queue *queue);
/*
 * Wait until @least calls have completed (all, if fewer are under way) or
 * @timeout_ms have passed, 0: for ever. How many are in @done, or -errno.
 */
int kvc_queue_wait(struct kvc_queue *queue, struct kvc_done *done,
		   unsigned int room, unsigned int least,
		   unsigned int timeout_ms);

/* --- listing: kvc_list(3) --- */

struct kvc_list;

/* One object; @key is good until the next call for the same listing. */
struct kvc_object {
	const void *key;
	size_t key_len;
	uint64_t length;
	uint64_t expiry;
	uint32_t tenant;
	uint16_t depth;
};

#define KVC_LIST_ALL_TENANTS KVCACHE_LIST_ALL_TENANTS

/* One listing is for one thread at a time. NULL and errno. */
struct kvc_list *kvc_list_open(struct kvc *kvc, const struct kvc_call *call,
			       const void *prefix, size_t prefix_len,
			       unsigned int flags);
/* 1: @object is filled in; 0: the end; -errno, and it may be called again. */
int kvc_list_next(struct kvc_list *list, struct kvc_object *object);
void kvc_list_close(struct kvc_list *list);

/* --- what the pool drops: kvc_watch(3) --- */

#define KVC_WATCH_ALL_TENANTS	KVCACHE_WATCH_ALL_TENANTS
#define KVC_WATCH_NONBLOCK	KVCACHE_WATCH_NONBLOCK

/*
 * A file descriptor to poll() and to read events from, until close(); or -errno.
 * @buffer_len: bytes of events kept for a reader that is behind, 0: 1 MiB.
 */
int kvc_watch(struct kvc *kvc, const struct kvc_call *call, unsigned int flags,
	      unsigned int buffer_len);
/* Bytes of whole events; 0: the pool was detached; -errno (-EAGAIN: none now). */
ssize_t kvc_watch_read(int fd, void *buffer, size_t len);

/* The event behind @event, with NULL the first, of @len bytes; NULL: no more. */
static inline const struct kvcache_event *
kvc_event_next(const void *buffer, size_t len, const struct kvcache_event *event)
{
	const char *at = event ? (const char *)event + event->entry_len :
				 (const char *)buffer;

	return at < (const char *)buffer + len ?
		       (const struct kvcache_event *)(const void *)at : NULL;
}

static inline const void *kvc_event_key(const struct kvcache_event *event)
{
	return event + 1;
}

/* --- pools: kvc_attach(3), kvc_detach(3), kvc_info(3), kvc_pools(3) --- */

/*
 * In struct kvc_attach_options.flags, and for the library alone: the fields
 * from @mode on are there. Programs from before them have none and don't set it.
 */
#define KVC_ATTACH_SHARED	(1U << 31)

/**
 * struct kvc_attach_options - which pool, and who is attaching it
 * @paths: its members, in any order
 * @wwid_hashes: per member kvc_wwid_hash() of its identifier; NULL: not known
 * @nr_members: how many
 * @flags: KVCACHE_ATTACH_*, KVC_ATTACH_SHARED
 * @pool: number that it shall have; 0: the lowest that is free
 * @nqn: host NQN; NULL: that of /etc/nvme/hostnqn, empty if there is none
 * @node: host name; NULL: of gethostname()
 * @boot_id: 16 bytes; NULL: of this boot
 * @mode: KVCACHE_MODE_*: who says which AGs this host owns
 * @host: KVCACHE_MODE_STATIC: which host this is, from 0; else 0
 * @hosts: KVCACHE_MODE_STATIC: how many there are; else 0
 * @max_staleness_ms: how old may be what a miss rests on; 0: promise that a get
 *	finds what any host has put before
 *
 * The last four count only with KVC_ATTACH_SHARED in @flags. Without it the
 * pool is attached for this host alone (KVCACHE_MODE_EXCLUSIVE).
 */
struct kvc_attach_options {
	const char *const *paths;
	const uint64_t *wwid_hashes;
	unsigned int nr_members;
	unsigned int flags;
	unsigned int pool;
	const char *nqn;
	const char *node;
	const uint8_t *boot_id;
	unsigned int mode;
	unsigned int host;
	unsigned int hosts;
	unsigned int max_staleness_ms;
};

/* The pool's number; @reason, unless NULL, gets the kernel's sentence. */
int kvc_attach(struct kvc *kvc, const struct kvc_attach_options *options,
	       char *reason, size_t reason_len);
int kvc_detach(struct kvc *kvc, unsigned int pool, unsigned int timeout_ms);
/* @info->nr_members says how many there are, also if @room was less. */
int kvc_info(struct kvc *kvc, struct kvcache_info *info,
	     struct kvcache_member_info *members, unsigned int room);
/* How many are attached, also if @room was less. */
int kvc_pools(struct kvc *kvc, uint32_t *pools, unsigned int room);

/* --- sharing: kvc_grant(3), kvc_ags(3) --- */

/*
 * Tell the handle's pool (which must be attached with KVCACHE_MODE_GRANTED) what
 * a lock service granted: slot, incarnation, until when (nanoseconds of
 * CLOCK_BOOTTIME), and all AGs, in ascending order. A new incarnation makes the
 * host join, and the call returns when it has.
 */
int kvc_grant(struct kvc *kvc, unsigned int slot, uint64_t incarnation,
	      uint64_t deadline_ns, const struct kvcache_grant_ag *ags,
	      unsigned int nr_ags);
/*
 * While a kvc_grant() in another thread is still joining: move its deadline.
 * -EAGAIN: there is none that joins.
 */
int kvc_prolong(struct kvc *kvc, unsigned int slot, uint64_t incarnation,
		uint64_t deadline_ns);
/* How many AGs, or slots, the pool has, also if @room was less. */
int kvc_ags(struct kvc *kvc, struct kvcache_ag_info *ags, unsigned int room);
int kvc_slots(struct kvc *kvc, struct kvcache_slot_info *slots,
	      unsigned int room);

/* --- growing and shrinking: kvc_grow(3), kvc_refresh(3), kvc_member(3) --- */

/**
 * struct kvc_grow_request - what the handle's pool grows by
 * @paths: of the new members' devices, which have been cleared
 * @wwid_hashes: of each its identifier's hash; NULL: not known
 * @nr_members: how many
 * @nr_ags: allocation groups on them, 0: as many for each as other members have
 * @width: of a segment there, 0: as on the other members
 */
struct kvc_grow_request {
	const char *const *paths;
	const uint64_t *wwid_hashes;
	unsigned int nr_members;
	unsigned int nr_ags;
	unsigned int width;
};

/*
 * Write labels that tell of new members. @grown, which may be NULL, gets members,
 * AGs and capacity of the pool now; @reason a sentence if it can't be done.
 */
int kvc_grow(struct kvc *kvc, const struct kvc_grow_request *request,
	     struct kvcache_grow *grown, char *reason, size_t reason_len);
/* Take up here that the pool has grown: @paths of all its members, in any order. */
int kvc_refresh(struct kvc *kvc, const char *const *paths,
		const uint64_t *wwid_hashes, unsigned int nr_members,
		char *reason, size_t reason_len);

/*
 * Look at a member of the handle's pool, drain it, keep it, or remove it: @op is
 * KVCACHE_MEMBER_*, @flags KVCACHE_MEMBER_LOST. @seen, which may be NULL, gets what
 * stands there now; @reason a sentence if it can't be done.
 */
int kvc_member(struct kvc *kvc, unsigned int member, unsigned int op,
	       unsigned int flags, struct kvcache_member *seen, char *reason,
	       size_t reason_len);

/* --- words: kvc_strerror(3), kvc_wwid_hash(3) --- */

/* What a (positive or negative) errno means here; never NULL. */
const char *kvc_strerror(int error);
/* What to do about it: a sentence; never NULL, may be empty. */
const char *kvc_next_step(int error);

/* Hash of a world wide identifier as labels keep it; 0: of an empty one. */
uint64_t kvc_wwid_hash(const char *wwid);

#ifdef __cplusplus
}
#endif
#endif
