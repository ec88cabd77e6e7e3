// SPDX-License-Identifier: GPL-2.0
/*
 * Extent I/O: moves one object between memory and its run in a segment.
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
 *
 * Everything is pinned, allocated and copied before the first bio goes out:
 * a failure leaves nothing behind, and writes go out close to the look at the
 * lease.
 *
 * A caller has a deadline, and submit_bio() has none: it sleeps until the
 * device has a request free. So bios are cut to what a single request moves,
 * which makes REQ_NOWAIT work, and those that would have to wait are left to a
 * work, which may.
 */

#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/rcuwait.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "xfer.h"
#include "kvc_cut.h"
#include "compat.h"

#define KVC_FAILFAST	(REQ_FAILFAST_DEV | REQ_FAILFAST_TRANSPORT | \
			 REQ_FAILFAST_DRIVER)

/* Pages pinned at a time: the list of them stands on the stack. */
#define KVC_PIN_BATCH	64

/* Bounce memory comes in pieces of at most this: a stripe unit. */
#define KVC_BOUNCE_ORDER	(KVC_UNIT_SHIFT - PAGE_SHIFT)

/*
 * What fits without a further allocation: a block of memory at any address, and
 * larger objects in huge pages, on one member. More has I/O that takes longer
 * than an allocation, by far.
 */
#define KVC_INLINE_VECS		2

/* The least that a list grows to. */
#define KVC_MIN_VECS		8

/**
 * struct kvc_vecs - a list of bvecs that grows
 * @v: bvecs, in the transfer's inline room or kvmalloc()ed
 * @nr: how many are there
 * @room: how many fit
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
 * @iter: the bio's, as it was before it went out
 * @end: offset in the object at which it ends
 * @done: it has; x->error is set if it failed
 * @bio: bio
 */
struct kvc_part {
	struct kvc_xfer *x;
	struct kvc_member *m;
	struct llist_node later;
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
 * @crc: a CRC is wanted
 * @pinned: @mem is user memory
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
 * @mem: the caller's memory
 * @bounce: bounce pages; each a compound page of its own
 * @wire: what the device sees; the very list of @mem if nothing is bounced
 * @vmap: ITER_KVEC of vmalloc memory: its address, for cache maintenance
 * @nr_parts: parts
 * @parts: parts, kvmalloc()ed unless it is the one that follows the transfer
 * @later: parts that the work shall submit
 * @release: see struct kvc_xfer_desc
 * @release_arg: its argument
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
	bool crc;
	bool pinned;
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
	struct kvc_vecs bounce;
	struct kvc_vecs wire;
	void *vmap;
	u32 nr_parts;
	struct kvc_part *parts;
	struct llist_head later;
	void (*release)(void *arg);
	void *release_arg;
	struct work_struct work;

	struct bio_vec inline_mem[KVC_INLINE_VECS];
};

/*
 * No mempool behind it: a transfer that can't be had fails with -ENOMEM, and
 * no memory is ever reclaimed through one.
 */
static struct kmem_cache *kvc_xfer_cache;

static struct kvc_part *kvc_inline_part(struct kvc_xfer *x)
{
	return (struct kvc_part *)(x + 1);
}

/* --- lists of bvecs --- */

static void kvc_vecs_free(struct kvc_xfer *x, struct kvc_vecs *l)
{
	if (l->v != x->inline_mem)
		kvfree(l->v);
}

/*
 * Make room for @more bvecs, but for not too many at once: how many it takes is
 * known only when all pages are, and huge ones take few.
 */
static int kvc_vecs_grow(struct kvc_xfer *x, struct kvc_vecs *l, u64 more)
{
	const u32 base = max_t(u32, l->room, KVC_MIN_VECS);
	const u32 room = l->room + clamp_t(u64, more, base, 32 * base);
	struct bio_vec *v;

	v = kvmalloc_array(room, sizeof(*v), GFP_KERNEL_ACCOUNT);
	if (!v)
		return -ENOMEM;
	memcpy(v, l->v, l->nr * sizeof(*v));
	kvc_vecs_free(x, l);
	l->v = v;
	l->room = room;
	return 0;
}

/* Does a piece of memory continue a bvec without a break in physical memory? */
static bool kvc_vec_continues(const struct bio_vec *v, const struct page *page,
			      u32 off, u32 len)
{
	const u32 end = v->bv_offset + v->bv_len;
	const u32 n = end >> PAGE_SHIFT;

	if (off != offset_in_page(end) || v->bv_len + len < len ||
	    end + len < len)
		return false;
	if (n && (is_zone_device_page(page) || is_zone_device_page(v->bv_page)))
		return false;
	return page == v->bv_page + n &&
	       page_to_pfn(page) == page_to_pfn(v->bv_page) + n;
}

/* Is there a gap between a bvec and the one before, for a device that minds? */
static bool kvc_vec_gap(const struct bio_vec *v, unsigned long mask)
{
	return (v->bv_offset | (v[-1].bv_offset + v[-1].bv_len)) & mask;
}

/*
 * Append memory, @off < PAGE_SIZE; some @more bvecs may follow, this included.
 * Return: 0 if it was appended, 1 if it only made the last bvec longer, -ENOMEM.
 */
static int kvc_vecs_add(struct kvc_xfer *x, struct kvc_vecs *l,
			struct page *page, u32 off, u32 len, u64 more)
{
	int ret;

	if (l->nr && kvc_vec_continues(&l->v[l->nr - 1], page, off, len)) {
		l->v[l->nr - 1].bv_len += len;
		return 1;
	}
	if (l->nr == l->room) {
		ret = kvc_vecs_grow(x, l, more);
		if (ret)
			return ret;
	}
	l->v[l->nr++] = (struct bio_vec){
		.bv_page = page,
		.bv_offset = off,
		.bv_len = len,
	};
	return 0;
}

/* Move on by @n bytes, which do not reach beyond the cursor's bvec. */
static void kvc_cursor_step(struct kvc_cursor *c, const struct kvc_vecs *l, u32 n)
{
	c->off += n;
	if (c->off == l->v[c->i].bv_len) {
		c->i++;
		c->off = 0;
	}
}

/* --- memory --- */

static void kvc_xfer_unpin(struct kvc_xfer *x)
{
	u32 i;

	if (!x->pinned)
		return;
	for (i = 0; i < x->mem.nr; i++) {
		const struct bio_vec *v = &x->mem.v[i];

		unpin_user_page_range_dirty_lock(v->bv_page,
				DIV_ROUND_UP(v->bv_offset + v->bv_len, PAGE_SIZE),
				!x->write);
	}
}

/*
 * List, and pin, the memory that @iter names. Each bvec holds one pin of each
 * page that it touches.
 */
static int kvc_xfer_pin(struct kvc_xfer *x, struct iov_iter *iter)
{
	struct page *pages[KVC_PIN_BATCH];
	u64 left = x->want;
	size_t off = 0;
	ssize_t got;
	u32 len, i;
	int ret;

	x->pinned = user_backed_iter(iter);
	for (; left; left -= got) {
		got = kvc_iter_extract(iter, pages, left, ARRAY_SIZE(pages), &off);
		if (unlikely(got <= 0))
			return got ?: -EFAULT;
		for (i = 0, len = 0; len < got; i++, off = 0) {
			const u32 n = min_t(size_t, PAGE_SIZE - off, got - len);

			ret = kvc_vecs_add(x, &x->mem, pages[i], off, n,
					   DIV_ROUND_UP(off + left - len, PAGE_SIZE));
			if (unlikely(ret < 0))
				goto unpin_rest;
			/* In the middle of a page: that one is pinned already. */
			if (ret && off && x->pinned)
				unpin_user_page(pages[i]);
			if (!ret && x->mem.nr > 1)
				x->gaps |= kvc_vec_gap(&x->mem.v[x->mem.nr - 1],
						       KVC_CUT_PAGE - 1);
			len += n;
		}
	}
	return 0;

unpin_rest:
	/* What is not in the list, kvc_xfer_unpin() can't see. */
	if (x->pinned)
		unpin_user_pages(&pages[i], DIV_ROUND_UP(off + got - len, PAGE_SIZE));
	return ret;
}

/* A compound page of *@order, or of less if that is all there is. */
static struct page *kvc_bounce_alloc(unsigned int *order)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	struct page *page;

	/* For larger ones nobody shall go out of his way. */
	for (; *order; --*order) {
		page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP |
				   __GFP_NORETRY, *order);
		if (page)
			return page;
	}
	return alloc_page(gfp);
}

/* Kernel pages for the next @bytes of wire; all of them are needed. */
static int kvc_xfer_bounce(struct kvc_xfer *x, u64 bytes, struct kvc_cursor *c)
{
	unsigned int order;
	struct page *page;
	u32 n, off;
	int ret;

	while (bytes) {
		if (c->i == x->bounce.nr) {
			order = min_t(unsigned int, KVC_BOUNCE_ORDER,
				      get_order(min_t(u64, bytes, SZ_1G)));
			/* Rather many small ones than half of it for nothing. */
			if (order && bytes < PAGE_SIZE << order)
				order--;
			page = kvc_bounce_alloc(&order);
			if (!page)
				return -ENOMEM;
			if (x->bounce.nr == x->bounce.room &&
			    kvc_vecs_grow(x, &x->bounce, 1)) {
				put_page(page);
				return -ENOMEM;
			}
			x->bounce.v[x->bounce.nr++] = (struct bio_vec){
				.bv_page = page,
				.bv_len = PAGE_SIZE << order,
			};
		}
		n = min_t(u64, bytes, x->bounce.v[c->i].bv_len - c->off);
		off = x->bounce.v[c->i].bv_offset + c->off;
		ret = kvc_vecs_add(x, &x->wire,
				   x->bounce.v[c->i].bv_page + (off >> PAGE_SHIFT),
				   offset_in_page(off), n, 1);
		if (ret < 0)
			return ret;
		kvc_cursor_step(c, &x->bounce, n);
		bytes -= n;
	}
	return 0;
}

/* The next @bytes of mem go on the wire as they are. */
static int kvc_xfer_direct(struct kvc_xfer *x, u64 bytes, struct kvc_cursor *c)
{
	int ret;

	while (bytes) {
		const struct bio_vec *v = &x->mem.v[c->i];
		const u32 n = min_t(u64, bytes, v->bv_len - c->off);
		const u32 off = v->bv_offset + c->off;

		ret = kvc_vecs_add(x, &x->wire,
				   v->bv_page + (off >> PAGE_SHIFT),
				   offset_in_page(off), n, x->mem.nr - c->i);
		if (ret < 0)
			return ret;
		kvc_cursor_step(c, &x->mem, n);
		bytes -= n;
	}
	return 0;
}

static void kvc_cursor_skip(struct kvc_cursor *c, const struct kvc_vecs *l,
			    u64 bytes)
{
	while (bytes) {
		const u32 n = min_t(u64, bytes, l->v[c->i].bv_len - c->off);

		kvc_cursor_step(c, l, n);
		bytes -= n;
	}
}

/* Progress of kvc_xfer_wire(). */
struct kvc_wiring {
	u64 at;
	struct kvc_cursor mem;
	struct kvc_cursor bounce;
};

static int kvc_xfer_piece(struct kvc_xfer *x, struct kvc_wiring *w,
			  const struct kvc_piece *p)
{
	const u64 start = max(w->at, x->from);
	const u64 end = min(p->end, x->from + x->want);
	int ret;

	if (!p->bounce) {
		ret = kvc_xfer_direct(x, p->end - w->at, &w->mem);
	} else {
		ret = kvc_xfer_bounce(x, p->end - w->at, &w->bounce);
		if (!ret && start < end)
			kvc_cursor_skip(&w->mem, &x->mem, end - start);
	}
	w->at = p->end;
	return ret;
}

/* Put fragment *@i of mem to the cut, or the end; moves *@i on. */
static unsigned int kvc_xfer_cut(const struct kvc_xfer *x, struct kvc_cut *cut,
				 u32 *i, struct kvc_piece *piece)
{
	const struct bio_vec *v = &x->mem.v[*i];

	if (*i == x->mem.nr) {
		++*i;
		return kvc_cut_end(cut, piece);
	}
	if (x->gaps) {
		++*i;
		return kvc_cut_add(cut, v->bv_offset, v->bv_len, piece);
	}
	/* One stretch, as most are: its first address tells all. */
	*i = x->mem.nr;
	return kvc_cut_add(cut, v->bv_offset, x->want, piece);
}

/* Make the wire of mem and bounce pages. */
static int kvc_xfer_wire(struct kvc_xfer *x, struct kvc_cut *cut)
{
	struct kvc_wiring w = { .at = cut->lo };
	struct kvc_cut probe = *cut;
	struct kvc_piece piece[3];
	unsigned int n, k;
	bool bounce = false;
	u32 i;
	int ret;

	for (i = 0; i <= x->mem.nr && !bounce;) {
		n = kvc_xfer_cut(x, &probe, &i, piece);
		for (k = 0; k < n; k++)
			bounce |= piece[k].bounce;
	}
	if (!bounce) {
		x->wire = x->mem;
		return 0;
	}

	for (i = 0; i <= x->mem.nr;) {
		n = kvc_xfer_cut(x, cut, &i, piece);
		for (k = 0; k < n; k++) {
			ret = kvc_xfer_piece(x, &w, &piece[k]);
			if (ret)
				return ret;
		}
	}
	x->gaps = true;
	return 0;
}

static bool kvc_xfer_bounces(const struct kvc_xfer *x)
{
	return x->wire.v != x->mem.v;
}

/* The page that byte @off of a bvec is in; @off becomes the offset in it. */
static struct page *kvc_vec_page(const struct bio_vec *v, u32 *off)
{
	const u32 at = v->bv_offset + *off;

	*off = offset_in_page(at);
	return v->bv_page + (at >> PAGE_SHIFT);
}

/* Sum up the wire from x->at to @end, which is not beyond the object. */
static void kvc_xfer_sum(struct kvc_xfer *x, u64 end)
{
	while (x->at < end) {
		const struct bio_vec *v = &x->wire.v[x->wire_at.i];
		u32 off = x->wire_at.off;
		u32 n = min_t(u64, end - x->at, v->bv_len - off);
		struct page *page = kvc_vec_page(v, &off);
		char *p;

		/* Without high memory, all of a bvec is mapped. */
		if (IS_ENABLED(CONFIG_HIGHMEM))
			n = min_t(u32, n, PAGE_SIZE - off);
		else
			n = min_t(u32, n, SZ_32K);

		p = kmap_local_page(page);
		x->state = crc32c(x->state, p + off, n);
		kunmap_local(p);

		kvc_cursor_step(&x->wire_at, &x->wire, n);
		x->at += n;
		cond_resched();
	}
}

/*
 * Copy what is bounced from x->at to @end: to the wire on a write, with zeroes
 * for what the caller has no memory for, and to the caller's memory on a read,
 * which is summed up on the way if @sum.
 */
static void kvc_xfer_copy(struct kvc_xfer *x, u64 end, bool sum)
{
	const u64 mem_end = x->from + x->want;

	while (x->at < end) {
		const struct bio_vec *v = &x->wire.v[x->wire_at.i];
		const bool inside = x->at >= x->from && x->at < mem_end;
		u32 off = x->wire_at.off, mem_off = x->mem_at.off;
		u32 n = min_t(u64, end - x->at, v->bv_len - off);
		struct page *page = kvc_vec_page(v, &off), *mem_page = NULL;
		char *p, *q;

		n = min_t(u32, n, PAGE_SIZE - off);
		/* Not over the edges of what the caller has memory for. */
		if (x->at < x->from)
			n = min_t(u64, n, x->from - x->at);
		if (inside) {
			n = min_t(u64, n, mem_end - x->at);
			v = &x->mem.v[x->mem_at.i];
			n = min_t(u32, n, v->bv_len - mem_off);
			mem_page = kvc_vec_page(v, &mem_off);
			n = min_t(u32, n, PAGE_SIZE - mem_off);
		}

		p = kmap_local_page(page);
		if (sum && x->at < x->bytes)
			x->state = crc32c(x->state, p + off,
					  min_t(u64, n, x->bytes - x->at));
		if (inside && (mem_page != page || mem_off != off)) {
			q = kmap_local_page(mem_page);
			if (x->write) {
				memcpy(p + off, q + mem_off, n);
			} else {
				memcpy(q + mem_off, p + off, n);
				flush_dcache_page(mem_page);
			}
			kunmap_local(q);
		} else if (!inside && x->write) {
			memset(p + off, 0, n);
		}
		kunmap_local(p);

		kvc_cursor_step(&x->wire_at, &x->wire, n);
		if (inside)
			kvc_cursor_step(&x->mem_at, &x->mem, n);
		x->at += n;
		cond_resched();
	}
}

/* Back to the start. */
static void kvc_xfer_rewind(struct kvc_xfer *x)
{
	x->at = x->lo;
	x->wire_at = (struct kvc_cursor){};
	x->mem_at = (struct kvc_cursor){};
}

/* --- life and death --- */

static void kvc_xfer_free(struct kvc_xfer *x)
{
	u32 i;

	for (i = 0; i < x->nr_parts; i++)
		bio_uninit(&x->parts[i].bio);
	if (x->parts != kvc_inline_part(x))
		kvfree(x->parts);
	kvc_xfer_unpin(x);
	for (i = 0; i < x->bounce.nr; i++)
		put_page(x->bounce.v[i].bv_page);
	if (kvc_xfer_bounces(x))
		kvc_vecs_free(x, &x->wire);
	kvc_vecs_free(x, &x->bounce);
	kvc_vecs_free(x, &x->mem);
	kmem_cache_free(kvc_xfer_cache, x);
}

static void kvc_xfer_last(struct kref *ref)
{
	struct kvc_xfer *x = container_of(ref, struct kvc_xfer, ref);
	struct kvc_member_set *set = x->set;

	if (x->release)
		x->release(x->release_arg);
	kvc_xfer_free(x);
	kvc_members_put(set);
}

static void kvc_part_end(struct kvc_part *p, int error)
{
	struct kvc_xfer *x = p->x;

	if (error)
		cmpxchg(&x->error, 0, error);
	smp_store_release(&p->done, true);	/* pairs with kvc_part_done() */
	/* Only a summing reader follows the parts one by one. */
	if (x->crc && !x->write)
		rcuwait_wake_up(&x->waiter);
	if (!atomic_dec_and_test(&x->pending))
		return;				/* x may be gone now */
	rcuwait_wake_up(&x->waiter);
	/*
	 * The bios' reference. If it is the very last one, the caller gave up;
	 * unpinning may sleep, so a work takes the reference over.
	 */
	if (!refcount_dec_not_one(&x->ref.refcount))
		queue_work(x->set->wq, &x->work);
}

/* Let the work submit a part, this time or again. */
static void kvc_part_later(struct kvc_part *p)
{
	struct kvc_xfer *x = p->x;

	kref_get(&x->ref);		/* the work's */
	if (!llist_add(&p->later, &x->later) ||
	    !queue_work(x->set->submit_wq, &x->work))
		/* It has one, and takes this part too. Bios hold another. */
		kref_put(&x->ref, kvc_xfer_last);
}

static void kvc_part_end_io(struct bio *bio)
{
	struct kvc_part *p = container_of(bio, struct kvc_part, bio);
	const blk_status_t status = bio->bi_status;

	kvc_member_done(p->m, bio, p->iter.bi_size);
	if (unlikely(status == BLK_STS_AGAIN && (bio->bi_opf & REQ_NOWAIT)))
		kvc_part_later(p);
	else
		kvc_part_end(p, kvc_member_errno(status));
}

static bool kvc_part_done(const struct kvc_part *p)
{
	return smp_load_acquire(&p->done);	/* pairs with kvc_part_end() */
}

/* --- cutting into bios, and sending them --- */

/* Bytes up to the next multiple of a device's chunk. */
static u64 kvc_chunk_left(const struct kvc_member *m, sector_t sector)
{
	u32 rest;

	div_u64_rem(get_start_sect(m->bdev) + sector, m->chunk_sectors, &rest);
	return (u64)(m->chunk_sectors - rest) << SECTOR_SHIFT;
}

/* Make a part's bio, a first time or again. */
static void kvc_part_prepare(struct kvc_part *p, struct bio_vec *v,
			     unsigned short nr, blk_opf_t flags)
{
	blk_opf_t opf = REQ_OP_READ;

	if (p->x->write) {
		opf = REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
		if (p->m->volatile_cache)
			opf |= REQ_FUA;
	}
	bio_init(&p->bio, NULL, NULL, 0, opf | KVC_FAILFAST | flags);
	p->bio.bi_end_io = kvc_part_end_io;
	p->bio.bi_iter = p->iter;
	/* As bio_iov_bvec_set() does: the list is not the bio's. */
	p->bio.bi_io_vec = v;
	p->bio.bi_vcnt = nr;
	bio_set_flag(&p->bio, BIO_CLONED);
}

/*
 * How much of @run bytes, from the cursor on, will one request of a member
 * move? Moves the cursor over it. More or less than what the block layer would
 * put into one does no harm, but that it then splits the bio, or has little
 * to do for each.
 */
static u32 kvc_part_length(const struct kvc_xfer *x, const struct kvc_member *m,
			   u64 at, u64 run, struct kvc_cursor *c)
{
	const struct kvc_cursor start = *c;
	u32 len = 0, segments = 0, n;
	u64 end;

	while (len < run && c->i - start.i < BIO_MAX_VECS) {
		const struct bio_vec *v = &x->wire.v[c->i];

		if (x->gaps && len && kvc_vec_gap(v, m->gap_mask))
			return len;		/* between two blocks */
		n = min_t(u64, run - len, v->bv_len - c->off);
		segments += n <= m->max_segment_bytes ? 1 :
			    DIV_ROUND_UP(n, m->max_segment_bytes);
		if (segments > m->max_segments)
			break;
		kvc_cursor_step(c, &x->wire, n);
		len += n;
	}
	if (len == run)
		return len;

	/* End with a block, most likely inside of a bvec. */
	end = round_down(at + len, KVC_BLOCK_SIZE);
	if (end <= at)
		end = min(at + run, round_down(at, KVC_BLOCK_SIZE) + KVC_BLOCK_SIZE);
	*c = start;
	kvc_cursor_skip(c, &x->wire, end - at);
	return end - at;
}

/* Make room for @more parts, but at least for as many as there are. */
static int kvc_parts_grow(struct kvc_xfer *x, u32 *room, u64 more)
{
	struct kvc_part *parts;

	*room += max_t(u64, more, *room);
	parts = kvmalloc_array(*room, sizeof(*parts), GFP_KERNEL_ACCOUNT);
	if (!parts)
		return -ENOMEM;
	/* A bio that has not been anywhere may be moved. */
	memcpy(parts, x->parts, x->nr_parts * sizeof(*parts));
	if (x->parts != kvc_inline_part(x))
		kvfree(x->parts);
	x->parts = parts;
	return 0;
}

/* Make one bio for each request that the run takes. */
static int kvc_xfer_carve(struct kvc_xfer *x, const struct kvc_xfer_desc *d)
{
	struct kvc_cursor c = {};
	u64 at = x->lo;
	u32 room = 1;

	while (at < x->hi) {
		const u32 skip = at & (KVC_BLOCK_SIZE - 1);
		u64 run = round_up(x->hi, KVC_BLOCK_SIZE) - (at - skip);
		const struct kvc_cursor start = c;
		const struct kvc_member *m;
		struct kvc_place place;
		struct kvc_part *p;
		sector_t sector;
		u32 len;

		place = kvc_place_data(d->g, d->segment, d->offset + at - skip,
				       &run);
		if (WARN_ON_ONCE(place.member >= x->set->nr || run <= skip))
			return -EINVAL;
		m = &x->set->m[place.member];
		sector = (place.block << (KVC_BLOCK_SHIFT - SECTOR_SHIFT)) +
			 (skip >> SECTOR_SHIFT);
		run = min3(run - skip, x->hi - at, (u64)m->max_bytes);
		if (m->chunk_sectors)
			run = min_t(u64, run, kvc_chunk_left(m, sector));
		len = kvc_part_length(x, m, at, run, &c);

		/* The others will be about as long. */
		if (x->nr_parts == room &&
		    kvc_parts_grow(x, &room, DIV_ROUND_UP(x->hi - at, (u64)len)))
			return -ENOMEM;
		p = &x->parts[x->nr_parts++];
		p->x = x;
		p->m = &x->set->m[place.member];
		p->end = at + len;
		p->done = false;
		p->iter = (struct bvec_iter){
			.bi_sector = sector,
			.bi_size = start.off + len,
		};
		bvec_iter_advance(x->wire.v + start.i, &p->iter, start.off);
		kvc_part_prepare(p, x->wire.v + start.i,
				 c.i - start.i + !!c.off, REQ_NOWAIT);
		at += len;
	}
	return 0;
}

/* Submit all parts, as far as that goes without waiting for the device. */
static void kvc_xfer_submit(struct kvc_xfer *x)
{
	struct blk_plug plug;
	u32 i;

	if (x->nr_parts > 1)
		blk_start_plug(&plug);
	for (i = 0; i < x->nr_parts; i++) {
		struct kvc_part *p = &x->parts[i];

		/* Once one has to wait, those after it don't overtake it. */
		if (likely(p->m->nowait && llist_empty(&x->later)))
			kvc_member_submit(p->m, &p->bio);
		else
			kvc_part_later(p);
	}
	if (x->nr_parts > 1)
		blk_finish_plug(&plug);
}

static void kvc_xfer_work(struct work_struct *work)
{
	struct kvc_xfer *x = container_of(work, struct kvc_xfer, work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&x->later));
	struct kvc_part *p, *next;
	struct blk_plug plug;

	blk_start_plug(&plug);
	llist_for_each_entry_safe(p, next, list, later) {
		if (READ_ONCE(x->gave_up)) {
			kvc_part_end(p, -ETIMEDOUT);
			continue;
		}
		bio_uninit(&p->bio);
		kvc_part_prepare(p, p->bio.bi_io_vec, p->bio.bi_vcnt, 0);
		kvc_member_submit(p->m, &p->bio);
	}
	blk_finish_plug(&plug);
	kref_put(&x->ref, kvc_xfer_last);
}

static bool kvc_xfer_sane(const struct kvc_xfer_desc *d)
{
	if (d->segment >= d->g->nr_segments ||
	    !d->bytes || d->bytes > kvc_segment_bytes(d->g) ||
	    d->offset & (KVC_BLOCK_SIZE - 1) ||
	    d->offset > kvc_segment_bytes(d->g) -
			round_up(d->bytes, KVC_BLOCK_SIZE))
		return false;
	if (!d->want || d->want > d->bytes || d->from > d->bytes - d->want ||
	    (d->write && d->want != d->bytes))
		return false;
	return iov_iter_count(d->iter) >= d->want &&
	       iov_iter_rw(d->iter) == (d->write ? WRITE : READ);
}

static struct kvc_xfer *kvc_xfer_alloc(const struct kvc_xfer_desc *d)
{
	struct kvc_xfer *x = kmem_cache_alloc(kvc_xfer_cache, GFP_KERNEL);

	if (!x)
		return NULL;
	/* Every field: nothing is zeroed. */
	kref_init(&x->ref);
	x->error = 0;
	x->gave_up = false;
	rcuwait_init(&x->waiter);
	x->set = d->set;
	x->write = d->write;
	x->crc = d->crc;
	x->pinned = false;
	x->gaps = false;
	x->state = d->crc_seed;
	x->bytes = d->bytes;
	x->from = d->from;
	x->want = d->want;
	x->mem = (struct kvc_vecs){ .v = x->inline_mem, .room = KVC_INLINE_VECS };
	x->bounce = (struct kvc_vecs){};
	x->wire = (struct kvc_vecs){};
	x->vmap = NULL;
	x->nr_parts = 0;
	x->parts = kvc_inline_part(x);
	init_llist_head(&x->later);
	x->release = d->release;
	x->release_arg = d->release_arg;
	INIT_WORK(&x->work, kvc_xfer_work);
	return x;
}

struct kvc_xfer *kvc_xfer_start(const struct kvc_xfer_desc *d)
{
	struct kvc_xfer *x;
	struct kvc_cut cut;
	int ret;

	if (!kvc_xfer_sane(d))
		return ERR_PTR(-EINVAL);

	x = kvc_xfer_alloc(d);
	if (!x)
		return ERR_PTR(-ENOMEM);

	if (iov_iter_is_kvec(d->iter) &&
	    is_vmalloc_addr(d->iter->kvec->iov_base)) {
		x->vmap = d->iter->kvec->iov_base + d->iter->iov_offset;
		ret = -EINVAL;
		if (iov_iter_single_seg_count(d->iter) < d->want)
			goto free;
		if (d->write)
			flush_kernel_vmap_range(x->vmap, d->want);
	}

	ret = kvc_xfer_pin(x, d->iter);
	if (ret)
		goto free;

	kvc_cut_begin(&cut, d->bytes, d->from, d->want, d->write, d->crc,
		      d->set->block_mask, d->set->dma_mask);
	x->lo = cut.lo;
	x->hi = cut.hi;
	kvc_xfer_rewind(x);
	ret = kvc_xfer_wire(x, &cut);
	if (ret)
		goto free;
	ret = kvc_xfer_carve(x, d);
	if (ret)
		goto free;

	if (x->write && kvc_xfer_bounces(x)) {
		kvc_xfer_copy(x, x->hi, false);
		kvc_xfer_rewind(x);
	}

	atomic_set(&x->pending, x->nr_parts);
	kref_get(&x->ref);		/* the bios' */
	kvc_members_get(x->set);
	kvc_xfer_submit(x);
	return x;

free:
	kvc_xfer_free(x);
	return ERR_PTR(ret);
}

/* --- waiting --- */

/* Wait for a part, or with @p NULL for all. */
static int kvc_xfer_await(struct kvc_xfer *x, const struct kvc_part *p,
			  unsigned long deadline)
{
	int ret = 0;

	for (;;) {
		const unsigned long now = jiffies;

		set_current_state(TASK_KILLABLE);
		if (p ? kvc_part_done(p) : !atomic_read_acquire(&x->pending))
			break;
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		if (time_after_eq(now, deadline)) {
			ret = -ETIMEDOUT;
			break;
		}
		io_schedule_timeout(deadline - now);
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

/* Follow a read: sum up and copy part by part if summing, else all at its end. */
static int kvc_xfer_follow(struct kvc_xfer *x, unsigned long deadline)
{
	u32 i;
	int ret;

	for (i = 0; i < x->nr_parts; i++) {
		const struct kvc_part *p = &x->parts[i];

		ret = kvc_xfer_await(x, x->crc ? p : NULL, deadline);
		if (ret)
			return ret;
		if (READ_ONCE(x->error))
			return 0;
		if (x->vmap)
			invalidate_kernel_vmap_range(x->vmap, x->want);
		if (kvc_xfer_bounces(x))
			kvc_xfer_copy(x, p->end, x->crc);
		else
			kvc_xfer_sum(x, min(p->end, x->bytes));
	}
	return 0;
}

int kvc_xfer_wait(struct kvc_xfer *x, unsigned long deadline, u32 *crc)
{
	int ret = 0;

	prepare_to_rcuwait(&x->waiter);
	if (!x->write && (x->crc || kvc_xfer_bounces(x)))
		ret = kvc_xfer_follow(x, deadline);
	else if (x->crc)
		kvc_xfer_sum(x, x->bytes);	/* while it is written */
	if (!ret)
		ret = kvc_xfer_await(x, NULL, deadline);
	finish_rcuwait(&x->waiter);

	if (ret)
		return ret;
	if (x->error)
		return x->error;
	if (x->vmap && !x->write)
		invalidate_kernel_vmap_range(x->vmap, x->want);
	if (x->crc && crc)
		*crc = x->state;
	return 0;
}

bool kvc_xfer_busy(struct kvc_xfer *x)
{
	return atomic_read_acquire(&x->pending);
}

void kvc_xfer_put(struct kvc_xfer *x)
{
	WRITE_ONCE(x->gave_up, true);
	kref_put(&x->ref, kvc_xfer_last);
}

/*
 * Having a constructor, transfers are not zeroed where init_on_alloc is on,
 * which would cost as much as all of kvc_xfer_alloc() does.
 */
static void kvc_xfer_construct(void *x)
{
	memset(x, 0, sizeof(struct kvc_xfer) + sizeof(struct kvc_part));
}

int kvc_xfer_init(void)
{
	kvc_xfer_cache = kmem_cache_create("kvc_xfer",
			sizeof(struct kvc_xfer) + sizeof(struct kvc_part),
			__alignof__(struct kvc_part), SLAB_HWCACHE_ALIGN,
			kvc_xfer_construct);
	return kvc_xfer_cache ? 0 : -ENOMEM;
}

void kvc_xfer_exit(void)
{
	kmem_cache_destroy(kvc_xfer_cache);
}
