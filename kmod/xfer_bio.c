// SPDX-License-Identifier: GPL-2.0
/*
 * A transfer's bios: cut, sent, ended.
 *
 * A caller has a deadline, and submit_bio() has none: it sleeps until the
 * device has a request free. So bios are cut to what a single request moves,
 * which makes REQ_NOWAIT work, and those that would have to wait are left to a
 * work, which may.
 */

#include <linux/blkdev.h>
#include <linux/llist.h>
#include <linux/slab.h>
#include "compat.h"
#include "xfer_impl.h"

/*
 * Parts of a transfer that has more than one, but not many: an object of 1 MiB over
 * four members. Those of more are allocated as they come.
 */
#define KVC_PARTS_CACHED	16

static struct kmem_cache *kvc_parts_cache;

static void kvc_part_end(struct kvc_part *p, int error)
{
	struct kvc_xfer *x = p->x;
	void (*ended)(void *arg) = x->ended;
	void *arg = x->ended_arg;

	if (x->write)
		kvc_pace_wrote(&p->m->pace, p->iter.bi_size);
	else if (unlikely(p->begun) && !error)
		kvc_pace_took(&p->m->pace, p->iter.bi_size, p->begun);
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
	if (ended)
		ended(arg);	/* x may be gone with it */
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

/* Of peer memory: the device, or the way to it, can't reach that. */
static bool kvc_status_is_unreachable(blk_status_t status)
{
#ifdef BLK_STS_INVAL
	if (status == BLK_STS_INVAL)
		return true;
#endif
	return status == BLK_STS_TARGET;
}

/* An attachment that was given up has lost its lease: no member is to blame. */
static int kvc_part_errno(struct kvc_part *p, struct bio *bio)
{
	if (bio->bi_status && !bio->bi_bdev && READ_ONCE(p->x->set->abandoned))
		return -ESTALE;
	if (unlikely(p->x->peer) && kvc_status_is_unreachable(bio->bi_status))
		return -EOPNOTSUPP;
	return kvc_member_errno(bio->bi_status);
}

static void kvc_part_end_io(struct bio *bio)
{
	struct kvc_part *p = container_of(bio, struct kvc_part, bio);
	const blk_status_t status = bio->bi_status;
	const int error = kvc_part_errno(p, bio);

	kvc_member_done(p->m, bio, p->iter.bi_size);
	if (unlikely(status == BLK_STS_AGAIN && (bio->bi_opf & REQ_NOWAIT)))
		kvc_part_later(p);
	else
		kvc_part_end(p, error);
}

/* --- cutting into bios --- */

/* Bytes up to the next multiple of a device's chunk. */
static u64 kvc_chunk_left(const struct kvc_member *m, u32 chunk, sector_t sector)
{
	u32 rest;

	div_u64_rem(m->start_sector + sector, chunk, &rest);
	return (u64)(chunk - rest) << SECTOR_SHIFT;
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
	/* The block layer looks at a request's first page only. */
	if (unlikely(p->x->peer))
		opf |= REQ_NOMERGE;
	bio_init(&p->bio, NULL, NULL, 0, opf | KVC_FAILFAST | flags);
	p->bio.bi_end_io = kvc_part_end_io;
	p->bio.bi_iter = p->iter;
	/* As bio_iov_bvec_set() does: the list is not the bio's. */
	p->bio.bi_io_vec = v;
	p->bio.bi_vcnt = nr;
	bio_set_flag(&p->bio, BIO_CLONED);
	if (p->x->write)
		kvc_bio_set_life(&p->bio, p->x->life, p->m->streams);
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

	/* As small objects, and huge pages, are. */
	if (run <= x->wire.v[c->i].bv_len - c->off &&
	    run <= m->max_segment_bytes) {
		kvc_cursor_step(c, &x->wire, run);
		return run;
	}

	while (len < run && c->i - start.i < BIO_MAX_VECS) {
		const struct bio_vec *v = &x->wire.v[c->i];

		/* Both are between two blocks. */
		if (x->gaps && len && kvc_vec_gap(v, m->gap_mask))
			return len;
		if (unlikely(x->peer) && len &&
		    !kvc_pages_alike(v->bv_page, v[-1].bv_page))
			return len;
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

void kvc_parts_free(struct kvc_xfer *x)
{
	if (x->parts_room == KVC_PARTS_CACHED)
		kmem_cache_free(kvc_parts_cache, x->parts);
	else if (x->parts != kvc_inline_part(x))
		kvfree(x->parts);
}

/* Make room for @more parts, but at least for as many as there are. */
static int kvc_parts_grow(struct kvc_xfer *x, u64 more)
{
	u32 room = x->parts_room + max_t(u64, more, x->parts_room);
	struct kvc_part *parts;

	if (room <= KVC_PARTS_CACHED) {
		room = KVC_PARTS_CACHED;
		parts = kmem_cache_alloc(kvc_parts_cache, GFP_KERNEL);
	} else {
		parts = kvmalloc_array(room, sizeof(*parts), GFP_KERNEL_ACCOUNT);
	}
	if (!parts)
		return -ENOMEM;
	/* A bio that has not been anywhere may be moved. */
	memcpy(parts, x->parts, x->nr_parts * sizeof(*parts));
	kvc_parts_free(x);
	x->parts = parts;
	x->parts_room = room;
	return 0;
}

/* Make one bio for each request that the run takes. */
int kvc_xfer_carve(struct kvc_xfer *x, const struct kvc_xfer_desc *d)
{
	struct kvc_cursor c = kvc_wire_start(x);
	u64 at = x->lo;

	while (at < x->hi) {
		const u32 skip = at & (KVC_BLOCK_SIZE - 1);
		u64 run = round_up(x->hi, KVC_BLOCK_SIZE) - (at - skip);
		const struct kvc_cursor start = c;
		const struct kvc_member *m;
		struct kvc_place place;
		struct kvc_part *p;
		sector_t sector;
		u32 len, chunk, most;

		place = kvc_place_data(d->g, d->segment, d->offset + at - skip,
				       &run);
		if (WARN_ON_ONCE(place.member >= x->set->nr || run <= skip))
			return -EINVAL;
		m = &x->set->m[place.member];
		sector = (place.block << (KVC_BLOCK_SHIFT - SECTOR_SHIFT)) +
			 (skip >> SECTOR_SHIFT);
		most = x->write ? kvc_pace_cut(&m->pace, m->max_bytes) :
				  m->max_bytes;
		run = min3(run - skip, x->hi - at, (u64)most);
		chunk = READ_ONCE(m->chunk_sectors);
		if (chunk)
			run = min_t(u64, run, kvc_chunk_left(m, chunk, sector));
		len = kvc_part_length(x, m, at, run, &c);

		/* The others will be about as long. */
		if (x->nr_parts == x->parts_room &&
		    kvc_parts_grow(x, DIV_ROUND_UP(x->hi - at, (u64)len)))
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
		if (start.off)
			bvec_iter_advance(x->wire.v + start.i, &p->iter,
					  start.off);
		kvc_part_prepare(p, x->wire.v + start.i,
				 c.i - start.i + !!c.off, REQ_NOWAIT);
		at += len;
	}
	return 0;
}

/* --- sending them --- */

/* It was held back. By now its caller may have given up. */
static void kvc_part_send(struct kvc_paced *w)
{
	struct kvc_part *p = container_of(w, struct kvc_part, paced);

	if (READ_ONCE(p->x->gave_up))
		kvc_part_end(p, -ETIMEDOUT);
	else
		kvc_member_submit(p->m, &p->bio);
}

/* May it go out now? Writes let reads go first. */
static bool kvc_part_may(struct kvc_part *p)
{
	if (likely(!p->x->write)) {
		p->begun = kvc_pace_read(&p->m->pace);
		return true;
	}
	p->paced.bytes = p->iter.bi_size;
	p->paced.send = kvc_part_send;
	return kvc_pace_write(&p->m->pace, &p->paced);
}

/* Submit all parts, as far as that goes without waiting for the device. */
void kvc_xfer_submit(struct kvc_xfer *x)
{
	struct blk_plug plug __uninitialized;
	u32 i;

	if (x->nr_parts > 1)
		blk_start_plug(&plug);
	for (i = 0; i < x->nr_parts; i++) {
		struct kvc_part *p = &x->parts[i];

		if (unlikely(!kvc_part_may(p)))
			continue;
		/* Once one has to wait, those after it don't overtake it. */
		if (likely(p->m->nowait && llist_empty(&x->later)))
			kvc_member_submit(p->m, &p->bio);
		else
			kvc_part_later(p);
	}
	if (x->nr_parts > 1)
		blk_finish_plug(&plug);
}

void kvc_xfer_work(struct work_struct *work)
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

/* Against zeroing, as kvc_xfer_construct(). */
static void kvc_parts_construct(void *parts)
{
	memset(parts, 0, KVC_PARTS_CACHED * sizeof(struct kvc_part));
}

int kvc_parts_init(void)
{
	kvc_parts_cache = kmem_cache_create("kvc_parts", KVC_PARTS_CACHED *
							 sizeof(struct kvc_part),
					    __alignof__(struct kvc_part),
					    SLAB_HWCACHE_ALIGN,
					    kvc_parts_construct);
	return kvc_parts_cache ? 0 : -ENOMEM;
}

void kvc_parts_exit(void)
{
	kmem_cache_destroy(kvc_parts_cache);
}
