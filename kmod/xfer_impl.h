/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the extent I/O share, and nobody else:
 *
 *	xfer.c		a transfer's life
 *	xfer_mem.c	its memory: pinned, bounced, copied, summed up
 *	xfer_bio.c	its bios: cut, sent, ended
 *
 * Three lists of bvecs describe a transfer:
 *
 *	mem	the caller's memory, for the bytes that it wants
 *	bounce	kernel pages, for what can't go straight to the device
 *	wire	what the device sees: all that is moved, in the object's order,
 *		made of slices of the other two
 *
 * Mostly nothing is bounced, and wire is mem itself. Bios don't copy their
 * slice of wire but point into it, as bios of io_uring's registered buffers
 * do, so one list serves all. Where wire and mem name different memory for the
 * same byte, that byte is copied: before a write is submitted, and by the
 * waiter after a read.
 */
#ifndef KVC_XFER_IMPL_H
#define KVC_XFER_IMPL_H

#include <linux/bvec.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/rcuwait.h>
#include <linux/workqueue.h>
#include "xfer.h"

struct kvc_cut;

/*
 * What fits without a further allocation: a block of memory at any address, and
 * larger objects in huge pages, on one member. More has I/O that takes longer
 * than an allocation, by far.
 */
#define KVC_INLINE_VECS		2

/**
 * struct kvc_vecs - a list of bvecs that grows
 * @v: bvecs, in the transfer's inline room or kvmalloc()ed; or, of @mem alone,
 *	those that the transfer was given, which it doesn't write to
 * @nr: how many are there
 * @room: how many fit; 0: none, or it is not the transfer's
 */
struct kvc_vecs {
	struct bio_vec *v;
	u32 nr;
	u32 room;
};

/**
 * struct kvc_cursor - a place in a list of bvecs
 * @i: bvec
 * @off: bytes of it that are behind
 */
struct kvc_cursor {
	u32 i;
	u32 off;
};

/**
 * struct kvc_part - what one bio moves
 * @x: the transfer that it belongs to
 * @m: member
 * @later: in the transfer's list of that name
 * @paced: a write: what may hold it back
 * @begun: a read: when it went out, if it is timed, or 0
 * @iter: the bio's, as it was before it went out
 * @end: offset in the object at which it ends
 * @done: it has; x->error is set if it failed
 * @bio: bio
 */
struct kvc_part {
	struct kvc_xfer *x;
	struct kvc_member *m;
	struct llist_node later;
	union {
		struct kvc_paced paced;
		u64 begun;
	};
	struct bvec_iter iter;
	u64 end;
	bool done;
	struct bio bio;
};

/**
 * struct kvc_xfer - one transfer
 * @ref: the caller, the bios together, and the submitting work hold one each
 * @pending: parts that have not ended
 * @error: the first error of a part
 * @gave_up: the caller did: what is not submitted yet need not be
 * @waiter: who sleeps in kvc_xfer_wait()
 * @set: members
 * @write: memory to media
 * @life: of what is written
 * @crc: a CRC is wanted
 * @pinned: @mem is user memory
 * @peer: some of @mem is peer memory
 * @gaps: @mem, and then @wire, is not one stretch: see kvc_cut.h
 * @state: value of the CRC up to @at
 * @bytes: length of the object
 * @from: where in the object the caller's memory starts
 * @want: how many bytes it is for
 * @lo: where in the object the wire starts
 * @hi: where it ends
 * @at: end of what has been summed up and copied; only for the waiter
 * @wire_at: @at in @wire
 * @mem_at: likewise in @mem, or its start or end if @at is outside of it
 * @mem: the caller's memory; the last bvec may be longer
 * @mem_start: where in @mem it begins: in a list that is not the transfer's
 * @bounce: bounce pages; each a compound page of its own
 * @wire: what the device sees; the very list of @mem if nothing is bounced
 * @vmap: ITER_KVEC of vmalloc memory: its address, for cache maintenance
 * @nr_parts: parts
 * @parts: parts: the one that follows the transfer, or allocated
 * @parts_room: how many fit
 * @later: parts that the work shall submit
 * @release: see struct kvc_xfer_desc
 * @release_arg: its argument
 * @ended: likewise
 * @ended_arg: its argument
 * @work: submits parts of @later; drops a reference, perhaps the last
 * @inline_mem: first room of @mem
 *
 * Room for one part follows.
 */
struct kvc_xfer {
	struct kref ref;
	atomic_t pending;
	int error;
	bool gave_up;
	struct rcuwait waiter;
	struct kvc_member_set *set;
	bool write;
	enum kvc_life life;
	bool crc;
	bool pinned;
	bool peer;
	bool gaps;
	u32 state;
	u64 bytes;
	u64 from;
	u64 want;
	u64 lo;
	u64 hi;
	u64 at;
	struct kvc_cursor wire_at;
	struct kvc_cursor mem_at;
	struct kvc_vecs mem;
	struct kvc_cursor mem_start;
	struct kvc_vecs bounce;
	struct kvc_vecs wire;
	void *vmap;
	u32 nr_parts;
	struct kvc_part *parts;
	u32 parts_room;
	struct llist_head later;
	void (*release)(void *arg);
	void *release_arg;
	void (*ended)(void *arg);
	void *ended_arg;
	struct work_struct work;

	struct bio_vec inline_mem[KVC_INLINE_VECS];
};

/* The part that a transfer has room for. */
static inline struct kvc_part *kvc_inline_part(struct kvc_xfer *x)
{
	return (struct kvc_part *)(x + 1);
}

/* Is any of it bounced? */
static inline bool kvc_xfer_bounces(const struct kvc_xfer *x)
{
	return x->wire.v != x->mem.v;
}

/* Where in @wire the first byte stands that is moved. */
static inline struct kvc_cursor kvc_wire_start(const struct kvc_xfer *x)
{
	return kvc_xfer_bounces(x) ? (struct kvc_cursor){} : x->mem_start;
}

/* Is there a gap between a bvec and the one before, for a device that minds? */
static inline bool kvc_vec_gap(const struct bio_vec *v, unsigned long mask)
{
	return (v->bv_offset | (v[-1].bv_offset + v[-1].bv_len)) & mask;
}

/* Move on by @n bytes, which do not reach beyond the cursor's bvec. */
static inline void kvc_cursor_step(struct kvc_cursor *c,
				   const struct kvc_vecs *l, u32 n)
{
	c->off += n;
	if (c->off == l->v[c->i].bv_len) {
		c->i++;
		c->off = 0;
	}
}

/* --- xfer_mem.c --- */

int kvc_xfer_pin(struct kvc_xfer *x, struct iov_iter *iter);
void kvc_xfer_unpin(struct kvc_xfer *x);
int kvc_xfer_wire(struct kvc_xfer *x, struct kvc_cut *cut);
void kvc_xfer_sum(struct kvc_xfer *x, u64 end);
void kvc_xfer_copy(struct kvc_xfer *x, u64 end, bool sum);
void kvc_xfer_rewind(struct kvc_xfer *x);
void kvc_vecs_free(struct kvc_xfer *x, struct kvc_vecs *l);
void kvc_cursor_skip(struct kvc_cursor *c, const struct kvc_vecs *l, u64 bytes);

/* --- xfer_bio.c --- */

int kvc_xfer_carve(struct kvc_xfer *x, const struct kvc_xfer_desc *d);
void kvc_parts_free(struct kvc_xfer *x);
int kvc_parts_init(void);	/* module init: cache */
void kvc_parts_exit(void);
void kvc_xfer_submit(struct kvc_xfer *x);
void kvc_xfer_work(struct work_struct *work);

/* --- xfer.c --- */

void kvc_xfer_last(struct kref *ref);

#endif
