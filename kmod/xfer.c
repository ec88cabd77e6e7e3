// SPDX-License-Identifier: GPL-2.0
/*
 * A transfer's life: see xfer_impl.h for what it is made of.
 *
 * Everything is pinned, allocated and copied before the first bio goes out:
 * a failure leaves nothing behind, and writes go out close to the look at the
 * lease.
 */

#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/kref.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "xfer_impl.h"
#include "kvc_cut.h"
#include "compat.h"

#define KVC_XFER_SIZE	(sizeof(struct kvc_xfer) + sizeof(struct kvc_part))

/*
 * No mempool behind it: a transfer that can't be had fails with -ENOMEM, and
 * no memory is ever reclaimed through one.
 */
static struct kmem_cache *kvc_xfer_cache;

static void kvc_xfer_free(struct kvc_xfer *x)
{
	u32 i;

	for (i = 0; i < x->nr_parts; i++)
		bio_uninit(&x->parts[i].bio);
	kvc_parts_free(x);
	kvc_xfer_unpin(x);
	for (i = 0; i < x->bounce.nr; i++)
		put_page(x->bounce.v[i].bv_page);
	if (kvc_xfer_bounces(x))
		kvc_vecs_free(x, &x->wire);
	kvc_vecs_free(x, &x->bounce);
	kvc_vecs_free(x, &x->mem);
	kmem_cache_free(kvc_xfer_cache, x);
}

void kvc_xfer_last(struct kref *ref)
{
	struct kvc_xfer *x = container_of(ref, struct kvc_xfer, ref);
	struct kvc_member_set *set = x->set;

	if (x->release)
		x->release(x->release_arg);
	kvc_xfer_free(x);
	kvc_members_put(set);
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
	x->life = d->life;
	x->crc = d->crc;
	x->pinned = false;
	x->peer = false;
	x->gaps = false;
	x->state = d->crc_seed;
	x->bytes = d->bytes;
	x->from = d->from;
	x->want = d->want;
	x->mem = (struct kvc_vecs){ .v = x->inline_mem, .room = KVC_INLINE_VECS };
	x->mem_start = (struct kvc_cursor){};
	x->bounce = (struct kvc_vecs){};
	x->wire = (struct kvc_vecs){};
	x->vmap = NULL;
	x->nr_parts = 0;
	x->parts = kvc_inline_part(x);
	x->parts_room = 1;
	init_llist_head(&x->later);
	x->release = d->release;
	x->release_arg = d->release_arg;
	x->ended = d->ended;
	x->ended_arg = d->ended_arg;
	INIT_WORK(&x->work, kvc_xfer_work);
	return x;
}

struct kvc_xfer *kvc_xfer_start(const struct kvc_xfer_desc *d)
{
	struct kvc_xfer *x;
	struct kvc_cut cut __uninitialized;
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
	ret = kvc_xfer_wire(x, &cut);
	if (ret)
		goto free;
	kvc_xfer_rewind(x);
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

static bool kvc_part_done(const struct kvc_part *p)
{
	return smp_load_acquire(&p->done);	/* pairs with kvc_part_end() */
}

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
	memset(x, 0, KVC_XFER_SIZE);
}

int kvc_xfer_init(void)
{
	kvc_xfer_cache = kmem_cache_create("kvc_xfer", KVC_XFER_SIZE,
					   __alignof__(struct kvc_part),
					   SLAB_HWCACHE_ALIGN,
					   kvc_xfer_construct);
	if (!kvc_xfer_cache)
		return -ENOMEM;
	if (!kvc_parts_init())
		return 0;
	kmem_cache_destroy(kvc_xfer_cache);
	return -ENOMEM;
}

void kvc_xfer_exit(void)
{
	kvc_parts_exit();
	kmem_cache_destroy(kvc_xfer_cache);
}
