/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The object layer: put, get, exists, delete of one key each, in two halves, so
 * that a batch has the I/O of many keys in flight before it waits for the first.
 */
#ifndef KVC_OBJECT_H
#define KVC_OBJECT_H

#include <linux/uio.h>
#include "pool.h"
#include "xfer.h"

/**
 * struct kvc_key - a key, ready to be hashed
 * @len: of @bytes
 * @tenant: tenant
 * @hash: hash
 * @bytes: key
 */
struct kvc_key {
	u32 tenant;
	u32 len;
	struct kvc_hash hash;
	u8 bytes[KVC_MAX_KEY];
};

/**
 * struct kvc_op - one key of a call
 * @join: attachment; the caller is inside (kvc_pool_enter())
 * @key: key
 * @iter: caller's memory
 * @range: get: only part of the object
 * @settle: memory must not be under I/O when the op ends: @deadline does not
 *	end the wait for a transfer
 * @depth: put
 * @offset: get with @range
 * @expiry: put
 * @pin: put, exists: 0 or until when
 * @deadline: jiffies
 * @length: set to the object's length
 * @transferred: set to the bytes that reached memory
 * @busy: set if memory may still be under I/O
 * @status: result so far; -EINPROGRESS between the halves
 * @xfer: in flight
 * @put: in flight
 * @del: in flight; NULL if another delete's is waited for
 * @seg: get: whose reader reference the transfer holds; delete: held, NULL
 *	while no copy of ours is being deleted
 * @entry: delete: what is deleted; valid as long as @seg is held
 * @position: delete: what must be durable, in full positions
 * @crc: expected
 * @bytes: length of the object
 * @place: get: offset in the segment, in 4 KiB blocks
 * @ticket: get, exists: a miss, unless it is found after this pass over the
 *	other hosts' journals (share.h); 0: what was found stands
 * @own: delete: no copies but those in AGs of ours
 * @looked: that pass is over
 * @notify: for a caller that does not wait: called once when what a half left
 *	in flight has ended, so that the next half won't wait for it: the
 *	transfer that a first half began; the commit of kvc_put_record(). In any
 *	context, perhaps before that half has returned. NULL: the caller waits
 */
struct kvc_op {
	struct kvc_join *join;
	struct kvc_key *key;
	struct iov_iter iter;
	bool range;
	bool settle;
	u16 depth;
	u64 offset;
	u64 expiry;
	u64 pin;
	unsigned long deadline;

	u64 length;
	u64 transferred;
	bool busy;
	int status;

	struct kvc_xfer *xfer;
	struct kvc_put_op *put;
	struct kvc_delete_op *del;
	struct kvc_segment *seg;
	struct kvc_entry *entry;
	u64 position;
	u32 crc;
	u32 bytes;
	u32 place;
	u64 ticket;
	bool own;
	bool looked;
	void (*notify)(struct kvc_op *op);
};

void kvc_op_stat(struct kvc_op *op, enum kvc_stat which);

/**
 * kvc_run_health() - can an object's run be read?
 * @join: attachment
 * @seg: segment
 * @offset: in the segment, in 4 KiB blocks
 * @bytes: of the object
 *
 * Return: 0; -EAGAIN: a member that is needed is suspect; -ENOENT: it is gone
 * (and the object may come back with it).
 */
int kvc_run_health(struct kvc_join *join, const struct kvc_segment *seg,
		   u32 offset, u32 bytes);

/* The same of a segment by its number. */
int kvc_place_health(struct kvc_join *join, u32 segment, u32 offset, u32 bytes);

/* Hash a key whose bytes are in place. Return: 0 or -EINVAL. */
int kvc_key_set(struct kvc_join *join, struct kvc_key *key, u32 tenant, u32 len);

/* First halves: start; second: wait. A negative status ends an op early. */
void kvc_get_start(struct kvc_op *op);
void kvc_get_finish(struct kvc_op *op);

/**
 * kvc_put_start() - look, reserve, send the data
 *
 * Status -EBUSY: another put of the key is on its way (it may be one of the
 * same batch): finish what is in flight, then try again. -EAGAIN likewise: no
 * clean segment now.
 */
void kvc_put_start(struct kvc_op *op);

/* Wait for the data, journal the record; then wait for its commit. */
void kvc_put_record(struct kvc_op *op);
void kvc_put_finish(struct kvc_op *op);

/* See that a put's commit goes on with nobody waiting for it: after a record. */
void kvc_put_follow(struct kvc_op *op);

/* A put that must wait, alone, is tried again until its deadline. */
void kvc_put_retry(struct kvc_op *op);

void kvc_exists_start(struct kvc_op *op);
void kvc_exists_finish(struct kvc_op *op);

/*
 * Is it there beyond doubt? No look at the lease, no statistics, no pin; if not,
 * kvc_exists_start() tells. @live: bit per member that is.
 */
bool kvc_exists_hit(struct kvc_join *join, const struct kvc_key *key,
		    u64 live, u64 *length);

void kvc_delete_start(struct kvc_op *op);
void kvc_delete_finish(struct kvc_op *op);

/*
 * The second half of several, of one membership and with one deadline, at most
 * KVC_DELETES_MAX: they share looks at what other hosts do, and the proof that it
 * counts.
 */
#define KVC_DELETES_MAX	64
void kvc_deletes_finish(struct kvc_op **ops, u32 n);

/* Delete the copies of a key in AGs of ours. Return: status. */
int kvc_delete_own_of(const struct kvc_op *op);

/*
 * Forget the copies of a key in other hosts' AGs, as far as they are known here.
 * @ask: and have their owners delete them.
 */
void kvc_forget_others(const struct kvc_op *op, bool ask);

/* Delete what stands under the key of another op, and wait for it. Return: status. */
int kvc_delete_of(const struct kvc_op *op);

/* --- for object.c and put.c --- */

/* End of a transfer, for @notify. */
void kvc_op_xfer_ended(void *op);

/* How long to wait for a transfer. */
unsigned long kvc_op_xfer_deadline(const struct kvc_op *op);

int kvc_put_init(void);	/* module init: cache */
void kvc_put_exit(void);

#endif
