/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kvcache: key-value objects on block devices that many hosts share.
 *
 * One character device, /dev/kvcache, takes all commands. Structures are
 * versioned by size: the caller states the size of the structure that it
 * knows in @size; the kernel takes a shorter one as if the rest were zero, and
 * a longer one only if what it does not know is zero (else E2BIG). Unknown
 * flags, and padding or reserved fields that are not zero, are EINVAL and
 * nothing is done. All fields are in host byte order; pointers stand in 64-bit
 * fields, so that the layout is the same for 32-bit programs.
 *
 * Answers, per key and as errno of a call:
 *
 *   0		done
 *   ENOENT	miss: no such object (or it is on a member that is gone)
 *   EEXIST	already there: nothing was written
 *   EAGAIN	not this moment (no clean segment, no memory, member suspect):
 *		nothing is lost, try again or go on without
 *   ETIMEDOUT	the deadline passed; see KVCACHE_IO_BUSY. A put or delete may be
 *		done all the same
 *   EDQUOT	the tenant's quota is used up, or the room for pins
 *   EMSGSIZE	the buffer is smaller than the object; @length says its size
 *   EBADMSG	checksum: the object was dropped
 *   EIO	a member failed
 *   ESTALE	the lease is lost
 *   ENODEV	no such pool
 *   EINVAL	malformed: nothing was done
 *   EFBIG	larger than the pool's largest object
 *   ECANCELED	the batch ended before this key was begun (signal, detach)
 *   EFAULT	a pointer is bad
 *   ENOMEM	of a call: no memory for it
 */
#ifndef _UAPI_LINUX_KVCACHE_H
#define _UAPI_LINUX_KVCACHE_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define KVCACHE_API_VERSION	1

#define KVCACHE_KEY_MAX		512	/* bytes of a key */
#define KVCACHE_NAME_MAX	64	/* pool name, host name; with the NUL */
#define KVCACHE_NQN_MAX		224	/* host NQN; with the NUL */
#define KVCACHE_PATH_MAX	256	/* path of a member; with the NUL */
#define KVCACHE_BATCH_MAX	4096	/* keys in one batch */
#define KVCACHE_IOV_MAX		16384	/* pieces of one object's memory */
#define KVCACHE_MEMBERS_MAX	64
#define KVCACHE_TENANT_NVME	0xffffffffU /* of keys that NVMe KV commands name */
#define KVCACHE_DEADLINE_DEFAULT_MS	1000
#define KVCACHE_DEADLINE_MAX_MS		600000

/* What this kernel can do: struct kvcache_caps.features. */
#define KVCACHE_FEAT_PIN	(1ULL << 0)	/* pins with an expiry */
#define KVCACHE_FEAT_RANGE	(1ULL << 1)	/* byte-range get */
#define KVCACHE_FEAT_LIST	(1ULL << 2)
#define KVCACHE_FEAT_NVME_KV	(1ULL << 3)	/* NVMe KV commands */
#define KVCACHE_FEAT_WATCH	(1ULL << 4)	/* streams of what was dropped */
#define KVCACHE_FEAT_SETTLE	(1ULL << 5)	/* KVCACHE_BATCH_SETTLE */
#define KVCACHE_FEAT_SHARED	(1ULL << 6)	/* pools that many hosts share */
#define KVCACHE_FEAT_URING	(1ULL << 7)	/* struct kvcache_uring */
#define KVCACHE_FEAT_FENCE	(1ULL << 8)	/* KVCACHE_ATTACH_FENCE */
#define KVCACHE_FEAT_PRESENCE	(1ULL << 9)	/* KVCACHE_IOC_PRESENCE and mmap */
#define KVCACHE_FEAT_GROW	(1ULL << 10)	/* pools that get more members */

/**
 * struct kvcache_caps - KVCACHE_IOC_CAPS: what this kernel can do
 * @size: in: sizeof(struct kvcache_caps)
 * @version: out: KVCACHE_API_VERSION
 * @features: out: KVCACHE_FEAT_*
 * @key_max: out: KVCACHE_KEY_MAX
 * @batch_max: out: KVCACHE_BATCH_MAX
 * @iov_max: out: KVCACHE_IOV_MAX
 * @reserved: 0
 */
struct kvcache_caps {
	__u32	size;
	__u32	version;
	__u64	features;
	__u32	key_max;
	__u32	batch_max;
	__u32	iov_max;
	__u32	reserved;
};

/**
 * struct kvcache_attach_member - one member of the pool that is attached
 * @path: user pointer to the NUL-terminated path of the block device
 * @wwid_hash: hash of its world wide identifier as format stored it
 *	(libkvcache: kvc_wwid_hash()), 0: not known, not compared
 */
struct kvcache_attach_member {
	__u64	path;
	__u64	wwid_hash;
};

#define KVCACHE_ATTACH_DEGRADED	(1U << 0) /* members may be missing */
/*
 * Register with the members, as far as they have persistent reservations, so that
 * a host that is found dead is fenced. Then every host that attaches the pool must
 * say so: members refuse the writes of one that doesn't.
 */
#define KVCACHE_ATTACH_FENCE	(1U << 1)
#define KVCACHE_ATTACH_FLAGS	0x3U

/* struct kvcache_attach.mode: who says which AGs this host owns. */
#define KVCACHE_MODE_EXCLUSIVE	0 /* all of them, and no other host is let in */
#define KVCACHE_MODE_STATIC	1 /* AG a is host a modulo hosts' */
#define KVCACHE_MODE_GRANTED	2 /* KVCACHE_IOC_GRANT: until then there is no lease */

#define KVCACHE_HOSTS_MAX	256
#define KVCACHE_STALENESS_MAX_MS 60000

/**
 * struct kvcache_attach - KVCACHE_IOC_ATTACH: attach a pool (CAP_SYS_ADMIN)
 * @size: in: sizeof(struct kvcache_attach)
 * @flags: in: KVCACHE_ATTACH_*
 * @members: in: user pointer to struct kvcache_attach_member, in any order
 * @nr_members: in: how many
 * @pool: in: number that the attachment shall have, 0: the lowest that is
 *	free; out: its number, from 1
 * @nqn: in: host NQN, NUL-terminated, may be empty
 * @node: in: host name, NUL-terminated
 * @boot_id: in: of this boot of the host
 * @reason: in: user pointer to a buffer that gets a sentence for people if
 *	the pool is refused; may be 0
 * @reason_len: in: bytes there
 * @reserved: 0
 * @mode: in: KVCACHE_MODE_*
 * @host: in: KVCACHE_MODE_STATIC: which host this is, from 0, and so its slot;
 *	else 0
 * @hosts: in: KVCACHE_MODE_STATIC: how many there are, 1 .. slots of the pool;
 *	all must say the same; else 0
 * @max_staleness_ms: in: a miss may rest on what was read of the other hosts'
 *	journals up to so long before it, at most KVCACHE_STALENESS_MAX_MS; 0:
 *	on what was read after it, so that a get finds what any host has put
 *	before. Not with KVCACHE_MODE_EXCLUSIVE
 * @reserved2: 0
 *
 * Exclusive: takes the pool over: watches the host slots for longer than a lease
 * unless all left in good order. Static: the same of what this host shall own.
 * Granted: opens the members and returns; calls get ESTALE until there is a
 * grant. Interruptible. Errors: EBUSY (another host or
 * attachment holds it, or a device is in use), EUCLEAN (labels disagree or
 * media are malformed), EOPNOTSUPP (unknown features), ENXIO (members
 * missing), ESTALE (the lease ran out before all was loaded: try again),
 * ETIMEDOUT (a member is too slow for the lease), ENOENT, ENOTBLK, EACCES (of a
 * path), EIO, ENOMEM, EINTR; each with @reason.
 */
struct kvcache_attach {
	__u32	size;
	__u32	flags;
	__u64	members;
	__u32	nr_members;
	__u32	pool;
	__u8	nqn[KVCACHE_NQN_MAX];
	__u8	node[KVCACHE_NAME_MAX];
	__u8	boot_id[16];
	__u64	reason;
	__u32	reason_len;
	__u32	reserved;
	__u32	mode;
	__u32	host;
	__u32	hosts;
	__u32	max_staleness_ms;
	__u64	reserved2[4];
};

/**
 * struct kvcache_detach - KVCACHE_IOC_DETACH: detach a pool (CAP_SYS_ADMIN)
 * @size: in: sizeof(struct kvcache_detach)
 * @flags: in: 0
 * @pool: in: number; 0 is not taken here
 * @timeout_ms: in: how long calls in progress may take to end; 0: 30 s
 *
 * New calls get ENODEV, those in progress end, what is in memory is written,
 * the slot says that the host left. ETIMEDOUT: not drained, still attached.
 */
struct kvcache_detach {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	timeout_ms;
};

/* Where the memory of one object is. */
struct kvcache_iovec {
	__u64	base;	/* user address, any alignment */
	__u64	len;	/* bytes */
};

/* struct kvcache_io.flags, in */
#define KVCACHE_IO_IOVEC	(1U << 0) /* @data is an array of kvcache_iovec */
#define KVCACHE_IO_RANGE	(1U << 1) /* get: @offset and the buffer's length choose bytes */
#define KVCACHE_IO_PIN		(1U << 2) /* put, exists: keep until @pin */
#define KVCACHE_IO_FLAGS	0x7U

/* struct kvcache_io.out_flags, out */
#define KVCACHE_IO_BUSY		(1U << 0) /* pages of @data are still under I/O */

/**
 * struct kvcache_io - one key of a batch
 * @key: user pointer to the key
 * @key_len: its bytes, 1 .. KVCACHE_KEY_MAX
 * @depth: put: place in its prefix (of two cold objects the deeper one is
 *	evicted first), 0: first or unknown
 * @flags: KVCACHE_IO_*
 * @data: put, get: user pointer to the memory, or to an array of
 *	struct kvcache_iovec (KVCACHE_IO_IOVEC); else 0
 * @data_len: bytes at @data, or number of pieces (at most KVCACHE_IOV_MAX)
 * @offset: get with KVCACHE_IO_RANGE: first byte of the object; else 0
 * @expiry: put: seconds since 1970 UTC at which the object is gone, 0: never
 * @pin: with KVCACHE_IO_PIN: seconds since 1970 UTC until which eviction keeps
 *	the object; else 0
 * @length: out: get, exists, EMSGSIZE, EEXIST: the object's length in bytes
 * @transferred: out: get: bytes that were put into the caller's memory
 * @status: out: 0 or a negative errno
 * @out_flags: out: KVCACHE_IO_BUSY: the call gave up at its deadline while
 *	the memory is still under I/O; don't use it again until it is unmapped
 * @reserved: 0
 *
 * Get: without RANGE, memory smaller than the object is EMSGSIZE; larger
 * memory is left alone behind the object. With RANGE, bytes from @offset up to
 * the end of memory or object are read; an @offset at or behind the end is
 * EINVAL.
 */
struct kvcache_io {
	__u64	key;
	__u16	key_len;
	__u16	depth;
	__u32	flags;
	__u64	data;
	__u64	data_len;
	__u64	offset;
	__u64	expiry;
	__u64	pin;
	__u64	length;
	__u64	transferred;
	__s32	status;
	__u32	out_flags;
	__u64	reserved[2];
};

/*
 * struct kvcache_batch.flags. The deadline does not end the wait for I/O on the
 * callers' memory: when the call returns, none is under way (KVCACHE_IO_BUSY is
 * never set, unless a fatal signal came). For memory that can't be given up: the
 * transport's own limits then bound the call.
 */
#define KVCACHE_BATCH_SETTLE	(1U << 0)
#define KVCACHE_BATCH_FLAGS	(1U << 0)

/**
 * struct kvcache_batch - PUT, GET, EXISTS, DELETE: one call, many keys
 * @size: in: sizeof(struct kvcache_batch)
 * @flags: in: KVCACHE_BATCH_*
 * @pool: in: pool number, 0: the default pool (the lowest that is attached)
 * @tenant: in: tenant that the keys belong to
 * @ios: in: user pointer to an array of struct kvcache_io
 * @count: in: how many, 1 .. KVCACHE_BATCH_MAX
 * @io_size: in: sizeof(struct kvcache_io): the array's stride
 * @deadline_ms: in: for the whole call, 0: KVCACHE_DEADLINE_DEFAULT_MS
 * @done: out: keys whose status is 0
 * @reserved: 0
 *
 * Returns 0 if every key has a status, whatever it says; an error if the call
 * itself was refused, and then no key was touched.
 */
struct kvcache_batch {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	tenant;
	__u64	ios;
	__u32	count;
	__u32	io_size;
	__u32	deadline_ms;
	__u32	done;
	__u64	reserved;
};

/**
 * struct kvcache_list_entry - one object of a listing, followed by its key
 * @entry_len: bytes to the next entry (a multiple of 8)
 * @key_len: bytes of the key that follows
 * @depth: as put
 * @tenant: tenant
 * @flags: 0
 * @length: bytes of the object
 * @expiry: as put
 */
struct kvcache_list_entry {
	__u16	entry_len;
	__u16	key_len;
	__u16	depth;
	__u16	reserved;
	__u32	tenant;
	__u32	flags;
	__u64	length;
	__u64	expiry;
};

#define KVCACHE_LIST_ALL_TENANTS	(1U << 0)
#define KVCACHE_LIST_FLAGS		(1U << 0)

/**
 * struct kvcache_list - KVCACHE_IOC_LIST: keys, a bufferful a call
 * @size: in: sizeof(struct kvcache_list)
 * @flags: in: KVCACHE_LIST_*
 * @pool: in: pool number, 0: the default pool
 * @tenant: in: whose objects, unless KVCACHE_LIST_ALL_TENANTS
 * @buffer: in: user pointer to memory for struct kvcache_list_entry
 * @buffer_len: in: bytes there, at least 4096
 * @used: out: bytes that were filled
 * @count: out: entries
 * @deadline_ms: in: as in struct kvcache_batch
 * @cookie: in: 0 to begin, then what the last call returned; out: where to
 *	go on, 0: the listing is complete
 * @prefix: in: user pointer to bytes that keys must begin with; may be 0
 * @prefix_len: in: how many, at most KVCACHE_KEY_MAX
 * @reserved: 0
 *
 * Keys stand on media, so this reads: it is for management, not for hot
 * paths. An object that is there from before the first call until after the
 * last one is listed at least once; one that eviction moves may be listed
 * twice.
 *
 * A call ends at its deadline with what it has found, which may be nothing, and
 * where to go on; with ETIMEDOUT if it came no further. EAGAIN likewise: keys
 * stand on a member that is suspect. Keys on members that are gone are left out.
 */
struct kvcache_list {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	tenant;
	__u64	buffer;
	__u32	buffer_len;
	__u32	used;
	__u32	count;
	__u32	deadline_ms;
	__u64	cookie;
	__u64	prefix;
	__u32	prefix_len;
	__u32	reserved;
};

/* struct kvcache_event.what */
#define KVCACHE_EVENT_EVICTED	1	/* to make room */
#define KVCACHE_EVENT_EXPIRED	2	/* its time was over, and its room was wanted */
#define KVCACHE_EVENT_BAD_DATA	3	/* its checksum was wrong */
#define KVCACHE_EVENT_RESCAN	4	/* unknown objects are gone: no key */

/**
 * struct kvcache_event - an object that the pool dropped, followed by its key
 * @entry_len: bytes to the next event (a multiple of 8)
 * @key_len: bytes of the key that follows; 0 with KVCACHE_EVENT_RESCAN
 * @what: KVCACHE_EVENT_*
 * @tenant: tenant
 * @reserved: 0
 * @length: bytes of the object
 */
struct kvcache_event {
	__u16	entry_len;
	__u16	key_len;
	__u32	what;
	__u32	tenant;
	__u32	reserved;
	__u64	length;
};

#define KVCACHE_WATCH_ALL_TENANTS	(1U << 0)
#define KVCACHE_WATCH_NONBLOCK		(1U << 1) /* read() returns EAGAIN, not waits */
#define KVCACHE_WATCH_FLAGS		0x3U

#define KVCACHE_WATCH_MIN	4096U		/* bytes that a stream may hold */
#define KVCACHE_WATCH_DEFAULT	(1U << 20)
#define KVCACHE_WATCH_MAX	(64U << 20)

/**
 * struct kvcache_watch - KVCACHE_IOC_WATCH: follow what the pool drops
 * @size: in: sizeof(struct kvcache_watch)
 * @flags: in: KVCACHE_WATCH_*
 * @pool: in: pool number, 0: the default pool
 * @tenant: in: whose objects, unless KVCACHE_WATCH_ALL_TENANTS
 * @buffer_len: in: bytes that are kept for a reader that is behind,
 *	KVCACHE_WATCH_MIN .. KVCACHE_WATCH_MAX, 0: KVCACHE_WATCH_DEFAULT;
 *	rounded up to a power of two
 * @reserved: 0
 *
 * Returns a file descriptor of a stream of its own: poll() it, and read() whole
 * struct kvcache_event from it. It tells of objects that the pool dropped by
 * itself since then: each after it can't be hit any more, unless it was put
 * anew meanwhile. Deletes are not told. A reader that is too far behind, and one
 * whose pool lost track (its lease ran out; a segment's keys could not be read),
 * gets KVCACHE_EVENT_RESCAN where events are missing: list the pool. An object
 * that was put at the very moment of the call may be dropped untold; list the
 * pool after the call, not before it. When the pool is detached, what was told
 * before can be read, and then the stream ends: read() returns 0, poll()
 * EPOLLHUP. Memory smaller than the next event is EINVAL.
 */
struct kvcache_watch {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	tenant;
	__u32	buffer_len;
	__u32	reserved;
};

/* struct kvcache_info.state */
#define KVCACHE_POOL_UP		0
#define KVCACHE_POOL_LAPSED	1	/* no lease: calls get ESTALE */
#define KVCACHE_POOL_CLOSING	2

/* struct kvcache_member_info.state */
#define KVCACHE_MEMBER_LIVE	1
#define KVCACHE_MEMBER_SUSPECT	2	/* errors or silence: being probed */
#define KVCACHE_MEMBER_FAILED	3	/* its objects miss until it comes back */

/**
 * struct kvcache_member_info - a member, as KVCACHE_IOC_INFO tells it
 * @path: as given at attach; empty if it was missing
 * @uuid: of the member
 * @state: KVCACHE_MEMBER_*
 * @index: its number in the pool
 * @bytes: size of the device
 * @read_bytes: data and metadata read since attach
 * @written_bytes: data and metadata written since attach
 * @errors: failed I/Os since attach
 * @volatile_cache: 1 if it has a volatile write cache
 * @registered: 1 if this host is registered with it, and so under a reservation
 *	(KVCACHE_ATTACH_FENCE)
 */
struct kvcache_member_info {
	__u8	path[KVCACHE_PATH_MAX];
	__u8	uuid[16];
	__u32	state;
	__u32	index;
	__u64	bytes;
	__u64	read_bytes;
	__u64	written_bytes;
	__u64	errors;
	__u32	volatile_cache;
	__u32	registered;
};

/**
 * struct kvcache_info - KVCACHE_IOC_INFO: a pool, its state and its counters
 * @size: in: sizeof(struct kvcache_info)
 * @flags: in: 0
 * @pool: in: pool number, 0: the default pool; out: its number
 * @nr_members: in: room at @members; out: members of the pool
 * @members: in: user pointer to struct kvcache_member_info, may be 0
 * @uuid: out: pool UUID
 * @name: out: pool name
 * @capacity: out: bytes of all segments
 * @used: out: bytes of segments that hold objects
 * @live: out: bytes of objects that can be hit, rounded up to 4 KiB each
 * @objects: out: objects that can be hit
 * @max_object: out: largest object in bytes
 * @segment_bytes: out: size of a segment
 * @nr_segments: out: segments
 * @free_segments: out: segments that are clean
 * @nr_ags: out: allocation groups
 * @owned_ags: out: of these, held and able to take puts
 * @slot: out: host slot
 * @flags_out: out: pool flags as in the label
 * @incarnation: out: of this attachment
 * @lease_ms: out: length of a lease
 * @lease_left_ms: out: what is left of it, 0: lost
 * @index_bytes: out: memory of the index, with the presence table if there is one
 * @attach_ns: out: time that attach spent on loading, in nanoseconds
 * @attach_objects: out: objects that attach found
 * @puts: out: puts that returned 0
 * @put_bytes: out: their bytes
 * @put_exists: out: puts that returned EEXIST
 * @gets: out: gets that returned 0
 * @get_bytes: out: their bytes
 * @misses: out: gets that returned ENOENT
 * @exists_hits: out: exists that found the object
 * @exists_misses: out: exists that did not
 * @deletes: out: deletes that returned 0
 * @evicted_objects: out: objects dropped by eviction
 * @evicted_bytes: out: their bytes
 * @rewritten_objects: out: objects that eviction moved
 * @rewritten_bytes: out: their bytes
 * @expired: out: objects dropped since they had expired
 * @bad_data: out: objects dropped for their checksum
 * @timeouts: out: calls that passed their deadline
 * @journal_blocks: out: journal blocks written
 * @journal_commits: out: writes that they were grouped in
 * @checkpoints: out: checkpoints written
 * @discards: out: segments discarded
 * @reserved: 0
 * @mode: out: KVCACHE_MODE_*
 * @state: out: KVCACHE_POOL_*
 * @refreshes: out: passes over the other hosts' slots and journals
 * @refresh_blocks: out: 4 KiB blocks of journals that were read for these, and
 *	to follow the journals between them
 * @followed_blocks: out: journal blocks of other hosts that were taken in
 * @loads: out: AGs of other hosts loaded from their checkpoints
 * @rotten_blocks: out: journal blocks of other hosts that were dropped
 * @asks: out: requests sent to other hosts: deletes
 * @touches: out: and touches
 * @fenced: out: hosts whose registration this one has taken away, as they were
 *	dead
 * @refused: out: writes of this host that a member's reservation refused
 */
struct kvcache_info {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	nr_members;
	__u64	members;
	__u8	uuid[16];
	__u8	name[KVCACHE_NAME_MAX];
	__u64	capacity;
	__u64	used;
	__u64	live;
	__u64	objects;
	__u64	max_object;
	__u64	segment_bytes;
	__u32	nr_segments;
	__u32	free_segments;
	__u32	nr_ags;
	__u32	owned_ags;
	__u32	slot;
	__u32	flags_out;
	__u64	incarnation;
	__u32	lease_ms;
	__u32	lease_left_ms;
	__u64	index_bytes;
	__u64	attach_ns;
	__u64	attach_objects;
	__u64	puts;
	__u64	put_bytes;
	__u64	put_exists;
	__u64	gets;
	__u64	get_bytes;
	__u64	misses;
	__u64	exists_hits;
	__u64	exists_misses;
	__u64	deletes;
	__u64	evicted_objects;
	__u64	evicted_bytes;
	__u64	rewritten_objects;
	__u64	rewritten_bytes;
	__u64	expired;
	__u64	bad_data;
	__u64	timeouts;
	__u64	journal_blocks;
	__u64	journal_commits;
	__u64	checkpoints;
	__u64	discards;
	__u64	reserved[8];
	__u32	mode;
	__u32	state;
	__u64	refreshes;
	__u64	refresh_blocks;
	__u64	followed_blocks;
	__u64	loads;
	__u64	rotten_blocks;
	__u64	asks;
	__u64	touches;
	__u64	fenced;
	__u64	refused;
};

/**
 * struct kvcache_pools - KVCACHE_IOC_POOLS: numbers of the attached pools
 * @size: in: sizeof(struct kvcache_pools)
 * @count: in: room at @pools; out: how many are attached
 * @pools: in: user pointer to __u32
 */
struct kvcache_pools {
	__u32	size;
	__u32	count;
	__u64	pools;
};

/**
 * struct kvcache_grant_ag - an AG that a host shall own
 * @ag: its number
 * @reserved: 0
 * @epoch: with which epoch; never granted before, to anybody
 */
struct kvcache_grant_ag {
	__u32	ag;
	__u32	reserved;
	__u64	epoch;
};

/*
 * struct kvcache_grant.flags: the host is still joining by an earlier call, which
 * may take longer than a lease of the service: prolong that grant. Says nothing of
 * AGs, waits for nothing, and changes nothing else.
 */
#define KVCACHE_GRANT_PROLONG	(1U << 0)
#define KVCACHE_GRANT_FLAGS	(1U << 0)

/**
 * struct kvcache_grant - KVCACHE_IOC_GRANT: what a lock service says that this
 *	host is and owns (CAP_SYS_ADMIN; KVCACHE_MODE_GRANTED)
 * @size: in: sizeof(struct kvcache_grant)
 * @flags: in: KVCACHE_GRANT_*
 * @pool: in: pool number; 0 is not taken here
 * @slot: in: the host's slot
 * @incarnation: in: of the slot: new at every grant of it to a host, and above
 *	all that it ever showed (KVCACHE_IOC_SLOTS)
 * @deadline_ns: in: CLOCK_BOOTTIME at which the grant ends
 * @ags: in: user pointer to struct kvcache_grant_ag: all that the host shall
 *	own, each AG once, in ascending order
 * @nr_ags: in: how many; may be 0
 * @reserved: 0
 *
 * Without a lease, and after it lapsed, a new incarnation makes the host join;
 * the call returns when it has joined. After that calls with the same slot and
 * incarnation prolong the grant and change what is owned, and return at once:
 * KVCACHE_IOC_AGS tells when an AG has been taken over or given up. An AG that is
 * owned with another epoch than the granted one is given up first.
 *
 * With KVCACHE_GRANT_PROLONG, and no AGs, while another call with this slot and
 * incarnation is joining: moves that one's deadline. EAGAIN: there is none.
 *
 * Errors: ESTALE: this incarnation has lapsed, or is not above what the slot
 * shows: get another; EBUSY: the slot is another host's, or the pool is
 * somebody's alone; EINVAL; ENODEV; ETIMEDOUT: @deadline_ns has passed; and
 * those of KVCACHE_IOC_ATTACH.
 */
struct kvcache_grant {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	slot;
	__u64	incarnation;
	__u64	deadline_ns;
	__u64	ags;
	__u32	nr_ags;
	__u32	reserved;
};

/* struct kvcache_ag_info.state */
#define KVCACHE_AG_UNKNOWN	0	/* nothing is known of it yet */
#define KVCACHE_AG_LOADING	1	/* its checkpoint is being read */
#define KVCACHE_AG_FOLLOWED	2	/* another host's, or nobody's */
#define KVCACHE_AG_TAKING	3	/* being taken over */
#define KVCACHE_AG_OWNED	4
#define KVCACHE_AG_RELEASING	5	/* being given up */
#define KVCACHE_AG_LOST		6	/* its home member is gone */

/**
 * struct kvcache_ag_info - an AG, as KVCACHE_IOC_AGS tells it
 * @ag: its number
 * @state: KVCACHE_AG_*
 * @epoch: epoch in memory: owned or followed; 0: none
 * @shown: the highest epoch that any slot shows for it
 * @next_epoch: the lowest epoch that it may be granted with
 * @slot: slot that shows @shown; ~0: none
 * @home: member that its journals are on
 * @position: journal position in memory: of its end, or up to where it was read
 * @objects: objects of it that can be hit
 * @error: errno of the last takeover or load, 0: none: EAGAIN: granted with an
 *	epoch below @next_epoch, or Q is being waited for
 * @reserved: 0
 */
struct kvcache_ag_info {
	__u32	ag;
	__u32	state;
	__u64	epoch;
	__u64	shown;
	__u64	next_epoch;
	__u32	slot;
	__u32	home;
	__u64	position;
	__u64	objects;
	__s32	error;
	__u32	reserved;
};

/**
 * struct kvcache_ags - KVCACHE_IOC_AGS: the AGs of a pool
 * @size: in: sizeof(struct kvcache_ags)
 * @flags: in: 0
 * @pool: in: pool number, 0: the default pool
 * @first: in: AG to begin with
 * @ags: in: user pointer to struct kvcache_ag_info
 * @count: in: room there; out: filled in
 * @total: out: AGs of the pool
 */
struct kvcache_ags {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	first;
	__u64	ags;
	__u32	count;
	__u32	total;
};

/* struct kvcache_slot_info.state */
#define KVCACHE_SLOT_FREE	0	/* never used */
#define KVCACHE_SLOT_JOINING	1
#define KVCACHE_SLOT_ACTIVE	2
#define KVCACHE_SLOT_DOWN	3	/* left in good order */
#define KVCACHE_SLOT_UNKNOWN	4	/* can't be read on most of its members */

/**
 * struct kvcache_slot_info - a host slot, as KVCACHE_IOC_SLOTS tells it
 * @slot: its number
 * @state: KVCACHE_SLOT_*
 * @incarnation: that it shows
 * @sequence: goes up with every write
 * @silent_ms: for how long it has been seen not to change; 0 without a lease
 * @fenced: 1 if this host has taken the registration of that incarnation away
 *	from members, as it was dead (KVCACHE_ATTACH_FENCE)
 * @nqn: host NQN
 * @node: host name
 */
struct kvcache_slot_info {
	__u32	slot;
	__u32	state;
	__u64	incarnation;
	__u64	sequence;
	__u32	silent_ms;
	__u32	fenced;
	__u8	nqn[KVCACHE_NQN_MAX];
	__u8	node[KVCACHE_NAME_MAX];
};

/**
 * struct kvcache_slots - KVCACHE_IOC_SLOTS: the host slots of a pool
 * @size: in: sizeof(struct kvcache_slots)
 * @flags: in: 0
 * @pool: in: pool number, 0: the default pool
 * @first: in: slot to begin with
 * @slots: in: user pointer to struct kvcache_slot_info
 * @count: in: room there; out: filled in
 * @total: out: slots of the pool
 *
 * Reads them from media.
 */
struct kvcache_slots {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	first;
	__u64	slots;
	__u32	count;
	__u32	total;
};

/* struct kvcache_presence.state */
#define KVCACHE_PRESENCE_NONE	0	/* not yet, or no such table any more */
#define KVCACHE_PRESENCE_VALID	1
#define KVCACHE_PRESENCE_MOVED	2	/* another has taken its place: map that */
#define KVCACHE_PRESENCE_GONE	3	/* its membership in the pool has ended */

#define KVCACHE_PRESENCE_VERSION	1
#define KVCACHE_PRESENCE_LINES		4096	/* where the lines begin */
#define KVCACHE_PRESENCE_LINE		16	/* words of 32 bits of a line */
#define KVCACHE_PRESENCE_POOL_SHIFT	32	/* offset for mmap: pool's number << this */

/**
 * struct kvcache_presence - the head of a mapped presence table
 * @version: KVCACHE_PRESENCE_VERSION
 * @state: KVCACHE_PRESENCE_*
 * @sequence: odd while a word is taken away of which there are two
 * @lapsed: 1: the lease has run out: nothing here counts
 * @shared: 1: other hosts put, too: what is not here may be there all the same
 * @ill: 1: not all members are live: what is here may not be readable
 * @lost: objects that found no place: if there are any, what is not here may be
 *	there all the same
 * @wanted: 1: it is nearly full: KVCACHE_IOC_PRESENCE makes a larger one
 * @nr_lines: lines
 * @lease_until_ns: CLOCK_BOOTTIME at which the lease runs out
 * @objects: words that are in use
 * @bytes: of the table with its head, whole pages
 * @hash_key: of the keys' hash
 *
 * Lines of KVCACHE_PRESENCE_LINE words begin KVCACHE_PRESENCE_LINES bytes from
 * here. Documentation/uapi.rst tells how a key is looked up.
 */
struct kvcache_presence {
	__u32	version;
	__u32	state;
	__u32	sequence;
	__u32	lapsed;
	__u32	shared;
	__u32	ill;
	__u32	lost;
	__u32	wanted;
	__u32	nr_lines;
	__u32	reserved;
	__u64	lease_until_ns;
	__u64	objects;
	__u64	bytes;
	__u8	hash_key[16];
};

/**
 * struct kvcache_presence_map - KVCACHE_IOC_PRESENCE: see that there is a table
 * @size: in: sizeof(struct kvcache_presence_map)
 * @flags: in: 0
 * @pool: in: pool number, 0: the default pool; out: its number
 * @reserved: 0
 * @bytes: out: of the table with its head
 * @offset: out: for mmap
 *
 * Makes a table if there is none, and a larger one if it is nearly full, which
 * takes as long as it takes to look at all objects. Then
 * mmap(NULL, @bytes, PROT_READ, MAP_SHARED, fd, @offset) of the same device, which
 * must be open for writing, too: who knows the hash key can make keys whose hashes
 * collide. A table lives as long as somebody has it mapped. Errors: ESTALE (the
 * pool is joining anew), ENODEV, ENOMEM, EINTR, EINVAL, EACCES; of mmap also
 * ENXIO: there is no table, or another of another size: call this (again).
 */
struct kvcache_presence_map {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	reserved;
	__u64	bytes;
	__u64	offset;
};

/**
 * struct kvcache_grow - KVCACHE_IOC_GROW: give a pool more members (CAP_SYS_ADMIN)
 * @size: in: sizeof(struct kvcache_grow)
 * @flags: in: 0
 * @pool: in: number; 0 is not taken here
 * @nr_members: in: how many; out: members that the pool has now
 * @members: in: user pointer to struct kvcache_attach_member: the new ones. All of
 *	each device before the pool's data, and its last block, have been cleared
 * @nr_ags: in: AGs that they get, 0: as many for each as other members have; out:
 *	AGs that the pool has now
 * @width: in: members that one of their segments is striped over, a power of two;
 *	0: as on the other members
 * @capacity: out: bytes of the pool now
 * @reason: in: user pointer to a buffer that gets a sentence for people if it
 *	can't be done; may be 0
 * @reason_len: in: bytes there
 * @reserved: 0
 *
 * Writes new labels on all members, new and old, under the lease of this
 * attachment, which itself goes on with the members that it knows: it and the other
 * hosts take the labels up by KVCACHE_IOC_REFRESH, or by an attach, one after
 * another. When all have, the new AGs are owned.
 *
 * If it is cut short the pool can be attached with old and new members by one host
 * alone, or this is done again with the same devices.
 *
 * Errors: EBUSY (another host changes the labels, or a device is in use), EEXIST
 * (a device has a label), EINVAL, ENOSPC (devices too small, no room in the label
 * or in host slots), ENXIO (members are missing), ESTALE (no lease, or what other
 * hosts did was not taken up), EUCLEAN (labels disagree), EIO, ENOMEM, EINTR,
 * ENODEV, and those of a path; with @reason.
 */
struct kvcache_grow {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	nr_members;
	__u64	members;
	__u32	nr_ags;
	__u32	width;
	__u64	capacity;
	__u64	reason;
	__u32	reason_len;
	__u32	reserved;
};

/**
 * struct kvcache_refresh - KVCACHE_IOC_REFRESH: take up that a pool has grown
 *	(CAP_SYS_ADMIN)
 * @size: in: sizeof(struct kvcache_refresh)
 * @flags: in: 0
 * @pool: in: number; 0 is not taken here
 * @nr_members: in: how many
 * @members: in: user pointer to struct kvcache_attach_member: all members of the
 *	pool, in any order
 * @reason: in: as in struct kvcache_grow
 * @reason_len: in: likewise
 * @reserved: 0
 *
 * The host leaves the pool in good order and joins anew; until then calls get
 * ESTALE, and other hosts go on. An attachment that is granted what it owns then
 * waits for a grant, with a higher incarnation. If nothing has changed nothing is
 * done.
 *
 * Errors: those of KVCACHE_IOC_ATTACH; ETIMEDOUT: calls in progress did not end,
 * nothing was done. Of a membership that was ended the next is tried again until
 * it is there.
 */
struct kvcache_refresh {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	nr_members;
	__u64	members;
	__u64	reason;
	__u32	reason_len;
	__u32	reserved;
};

/* struct kvcache_member.op */
#define KVCACHE_MEMBER_LOOK	0	/* tell, and do nothing */
#define KVCACHE_MEMBER_DRAIN	1	/* place nothing new on it, and empty it */
#define KVCACHE_MEMBER_KEEP	2	/* use it again: it is not drained any more */
#define KVCACHE_MEMBER_REMOVE	3	/* for good */

/* struct kvcache_member.flags */
#define KVCACHE_MEMBER_LOST	(1U << 0) /* remove: what it still holds is lost */
#define KVCACHE_MEMBER_FLAGS	(1U << 0)

/* struct kvcache_member.role */
#define KVCACHE_ROLE_MEMBER	1
#define KVCACHE_ROLE_MISSING	2	/* the pool was attached without it */
#define KVCACHE_ROLE_DRAINING	3
#define KVCACHE_ROLE_REMOVED	4

/**
 * struct kvcache_member - KVCACHE_IOC_MEMBER: empty a member, and let it leave the
 *	pool (CAP_SYS_ADMIN)
 * @size: in: sizeof(struct kvcache_member)
 * @flags: in: KVCACHE_MEMBER_LOST
 * @pool: in: number; 0 is not taken here
 * @member: in: its number in the pool
 * @op: in: KVCACHE_MEMBER_LOOK, DRAIN, KEEP or REMOVE
 * @role: out: KVCACHE_ROLE_*, as this host goes by it
 * @objects: out: live objects that would be lost without it
 * @bytes: out: bytes of these, in whole 4 KiB
 * @segments: out: segments that are in use and stand on it, or whose journal does
 * @behind: out: other hosts that don't go by the pool's newest labels yet
 * @reason: in: user pointer to a buffer that gets a sentence for people if it
 *	can't be done; may be 0
 * @reason_len: in: bytes there
 * @reserved: 0
 *
 * Changes labels as KVCACHE_IOC_GROW does, and this host goes by them at once; to
 * remove a member ends its membership for that, as KVCACHE_IOC_REFRESH does. Other
 * hosts take them up by KVCACHE_IOC_REFRESH. A member is removed when it is
 * drained, every live host goes by that, and nothing is left on it.
 *
 * A member that holds host slots gives them to another one first. To drain it begins
 * that (EINVAL without another one), and to remove it is done in steps, of which
 * each but the last succeeds with @role as it was: call again when @behind is 0.
 *
 * Errors: EBUSY (it holds objects, hosts are behind, or another host changes the
 * labels), EINVAL (no such member, or one that can't leave), ENXIO (others are
 * missing), and as KVCACHE_IOC_GROW; with @reason.
 */
struct kvcache_member {
	__u32	size;
	__u32	flags;
	__u32	pool;
	__u32	member;
	__u32	op;
	__u32	role;
	__u64	objects;
	__u64	bytes;
	__u32	segments;
	__u32	behind;
	__u64	reason;
	__u32	reason_len;
	__u32	reserved;
};

#define KVCACHE_IOC_CAPS	_IOWR('K', 0xe0, struct kvcache_caps)
#define KVCACHE_IOC_ATTACH	_IOWR('K', 0xe1, struct kvcache_attach)
#define KVCACHE_IOC_DETACH	_IOW('K', 0xe2, struct kvcache_detach)
#define KVCACHE_IOC_INFO	_IOWR('K', 0xe3, struct kvcache_info)
#define KVCACHE_IOC_POOLS	_IOWR('K', 0xe4, struct kvcache_pools)
#define KVCACHE_IOC_GRANT	_IOW('K', 0xe5, struct kvcache_grant)
#define KVCACHE_IOC_AGS		_IOWR('K', 0xe6, struct kvcache_ags)
#define KVCACHE_IOC_SLOTS	_IOWR('K', 0xe7, struct kvcache_slots)
#define KVCACHE_IOC_PUT		_IOWR('K', 0xe8, struct kvcache_batch)
#define KVCACHE_IOC_GET		_IOWR('K', 0xe9, struct kvcache_batch)
#define KVCACHE_IOC_EXISTS	_IOWR('K', 0xea, struct kvcache_batch)
#define KVCACHE_IOC_DELETE	_IOWR('K', 0xeb, struct kvcache_batch)
#define KVCACHE_IOC_LIST	_IOWR('K', 0xec, struct kvcache_list)
#define KVCACHE_IOC_WATCH	_IOW('K', 0xed, struct kvcache_watch)
#define KVCACHE_IOC_PRESENCE	_IOWR('K', 0xee, struct kvcache_presence_map)
#define KVCACHE_IOC_GROW	_IOWR('K', 0xef, struct kvcache_grow)
#define KVCACHE_IOC_REFRESH	_IOW('K', 0xf0, struct kvcache_refresh)
#define KVCACHE_IOC_MEMBER	_IOWR('K', 0xf1, struct kvcache_member)

/**
 * struct kvcache_uring - an io_uring command: what the ioctl does, asynchronously
 * @arg: user pointer to the structure that the ioctl takes; it and all that it
 *	points to must stay until the command has completed
 * @flags: 0
 * @reserved: 0
 *
 * Stands in the payload (the last 16 bytes) of an entry with opcode
 * IORING_OP_URING_CMD whose cmd_op is KVCACHE_IOC_PUT, GET, EXISTS, DELETE or
 * LIST. The completion's res is a negative errno, as the ioctl's, or how many keys
 * have status 0 (of a list 0).
 *
 * KVCACHE_BATCH_SETTLE is implied: memory is not under I/O when the command has
 * completed, and the transport bounds how long that takes. A command that has been
 * begun can't be cancelled before that; one that waits for another's doing (a put
 * for room, a delete, a list) ends at its deadline.
 *
 * With IORING_URING_CMD_FIXED in the entry's uring_cmd_flags, all @data of a put
 * or get lies in the registered buffer that buf_index names, and KVCACHE_IO_IOVEC
 * is EINVAL: the key's status.
 */
struct kvcache_uring {
	__u64	arg;
	__u32	flags;
	__u32	reserved;
};

#endif /* _UAPI_LINUX_KVCACHE_H */
