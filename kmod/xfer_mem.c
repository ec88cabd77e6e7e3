// SPDX-License-Identifier: GPL-2.0
/*
 * A transfer's memory: pinned, bounced where it must be, copied, summed up.
 */

#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "xfer_impl.h"
#include "kvc_cut.h"
#include "compat.h"

/* Pages pinned at a time: the list of them stands on the stack. */
#define KVC_PIN_BATCH	64

/* Bounce memory comes in pieces of at most this: a stripe unit. */
#define KVC_BOUNCE_ORDER	(KVC_UNIT_SHIFT - PAGE_SHIFT)

/* The least that a list grows to. */
#define KVC_MIN_VECS		8

/* --- lists of bvecs --- */

void kvc_vecs_free(struct kvc_xfer *x, struct kvc_vecs *l)
{
	/* Without room it is a list of somebody else's. */
	if (l->room && l->v != x->inline_mem)
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

/* --- memory --- */

void kvc_xfer_unpin(struct kvc_xfer *x)
{
	u32 i;

	if (!x->pinned)
		return;
	for (i = 0; i < x->mem.nr; i++) {
		const struct bio_vec *v = &x->mem.v[i];
		const u32 nr = DIV_ROUND_UP(v->bv_offset + v->bv_len, PAGE_SIZE);

		unpin_user_page_range_dirty_lock(v->bv_page, nr, !x->write);
	}
}

/*
 * Take a list of bvecs as it is, if it is one stretch: whoever made it keeps
 * both it and its pages until the transfer has ended. Return: false if it has
 * gaps.
 */
static bool kvc_xfer_borrow(struct kvc_xfer *x, const struct iov_iter *iter)
{
	const struct bio_vec *v = iter->bvec;
	size_t off = iter->iov_offset;
	u64 left = x->want;
	u32 n = 0;

	while (off >= v->bv_len)
		off -= v++->bv_len;
	x->mem.v = (struct bio_vec *)v;
	x->mem_start = (struct kvc_cursor){ .off = off };
	left += off;
	for (; v->bv_len < left; n++) {
		left -= v++->bv_len;
		if (kvc_vec_gap(v, KVC_CUT_PAGE - 1))
			goto gap;
	}
	x->mem.nr = n + 1;
	x->mem.room = 0;
	return true;
gap:
	x->mem.v = x->inline_mem;
	x->mem_start = (struct kvc_cursor){};
	return false;
}

/* How many pages follow each other in physical memory, from the first on? */
static u32 kvc_page_run(struct page **pages, u32 nr)
{
	u32 n;

	if (is_zone_device_page(pages[0]))
		return 1;
	for (n = 1; n < nr; n++)
		if (pages[n] != pages[0] + n ||
		    page_to_pfn(pages[n]) != page_to_pfn(pages[0]) + n ||
		    is_zone_device_page(pages[n]))
			break;
	return n;
}

/*
 * List, and pin, the memory that @iter names. Each bvec holds one pin of each
 * page that it touches.
 */
static int kvc_xfer_pin_pages(struct kvc_xfer *x, struct iov_iter *iter)
{
	struct page *pages[KVC_PIN_BATCH] __uninitialized;
	u64 left = x->want;
	size_t off = 0;
	ssize_t got;
	u32 len, i, run;
	int ret;

	x->pinned = user_backed_iter(iter);
	for (; left; left -= got) {
		got = kvc_iter_extract(iter, pages, left, ARRAY_SIZE(pages),
				       x->set->peer, &off);
		/* Peer memory, and there is a member that can't reach it. */
		if (unlikely(got == -EREMOTEIO))
			return -EOPNOTSUPP;
		if (unlikely(got <= 0))
			return got ?: -EFAULT;
		for (i = 0, len = 0; len < got; i += run, off = 0) {
			u32 n = DIV_ROUND_UP(off + got - len, PAGE_SIZE);

			x->peer |= kvc_page_is_peer(pages[i]);
			run = kvc_page_run(&pages[i], n);
			n = min_t(size_t, run * PAGE_SIZE - off, got - len);

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

int kvc_xfer_pin(struct kvc_xfer *x, struct iov_iter *iter)
{
	if (iov_iter_is_bvec(iter) && kvc_xfer_borrow(x, iter))
		return 0;
	return kvc_xfer_pin_pages(x, iter);
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

void kvc_cursor_skip(struct kvc_cursor *c, const struct kvc_vecs *l, u64 bytes)
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
	return kvc_cut_add(cut, v->bv_offset + x->mem_start.off, x->want, piece);
}

/* Make the wire of mem and bounce pages. */
static int kvc_xfer_wire_cut(struct kvc_xfer *x, struct kvc_cut *cut)
{
	struct kvc_wiring w = { .at = cut->lo, .mem = x->mem_start };
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

int kvc_xfer_wire(struct kvc_xfer *x, struct kvc_cut *cut)
{
	if (x->gaps ||
	    !kvc_cut_whole(cut, x->mem.v->bv_offset + x->mem_start.off,
			   x->from, x->want))
		return kvc_xfer_wire_cut(x, cut);
	x->wire = x->mem;
	return 0;
}

/* The page that byte @off of a bvec is in; @off becomes the offset in it. */
static struct page *kvc_vec_page(const struct bio_vec *v, u32 *off)
{
	const u32 at = v->bv_offset + *off;

	*off = offset_in_page(at);
	return v->bv_page + (at >> PAGE_SHIFT);
}

/* Sum up the wire from x->at to @end, which is not beyond the object. */
void kvc_xfer_sum(struct kvc_xfer *x, u64 end)
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
void kvc_xfer_copy(struct kvc_xfer *x, u64 end, bool sum)
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
void kvc_xfer_rewind(struct kvc_xfer *x)
{
	x->at = x->lo;
	x->wire_at = kvc_wire_start(x);
	x->mem_at = x->mem_start;
}
