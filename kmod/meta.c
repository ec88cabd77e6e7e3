// SPDX-License-Identifier: GPL-2.0
/* Metadata I/O and discards: what waits, or is told of, by itself. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/highmem.h>
#include <linux/vmalloc.h>
#include "member.h"
#include "compat.h"

/* Discards in pieces that a bio's 32-bit size can hold. */
#define KVC_DISCARD_BLOCKS	(1U << (30 - KVC_BLOCK_SHIFT))

static void kvc_meta_end(struct kvc_meta_io *io, int error)
{
	struct kvc_member_set *set = io->m->set;

	io->error = error;
	io->done(io);
	kvc_members_put(set);
}

static void kvc_meta_end_io(struct bio *bio)
{
	struct kvc_meta_io *io = bio->bi_private;
	const blk_status_t status = bio->bi_status;

	/* It was sent, and no answer came that says what became of it. */
	io->unsure = io->op == REQ_OP_WRITE && bio->bi_bdev &&
		     status != BLK_STS_AGAIN && kvc_status_accuses(status);
	kvc_member_done(io->m, bio, io->nr << KVC_BLOCK_SHIFT);
	if (io->op == REQ_OP_READ && is_vmalloc_addr(io->buf))
		invalidate_kernel_vmap_range(io->buf, io->nr << KVC_BLOCK_SHIFT);
	bio_put(bio);
	kvc_meta_end(io, kvc_member_errno(status));
}

void kvc_meta_submit(struct kvc_meta_io *io)
{
	const unsigned int bytes = io->nr << KVC_BLOCK_SHIFT;
	const bool vmalloced = is_vmalloc_addr(io->buf);
	blk_opf_t opf = io->op | REQ_META | REQ_SYNC |
			(io->patient ? 0 : KVC_FAILFAST);
	struct bio *bio;
	unsigned int i;

	kvc_members_get(io->m->set);
	io->unsure = false;
	if (WARN_ON_ONCE(!io->nr || io->nr > KVC_META_MAX_BLOCKS ||
			 offset_in_page(io->buf))) {
		kvc_meta_end(io, -EINVAL);
		return;
	}

	if (io->op == REQ_OP_WRITE) {
		opf |= REQ_IDLE;
		if (io->m->volatile_cache)
			opf |= REQ_FUA;
		if (vmalloced)
			flush_kernel_vmap_range(io->buf, bytes);
	}
	/* From a mempool, one at a time: this can't fail. */
	bio = bio_alloc(NULL, vmalloced ? DIV_ROUND_UP(bytes, PAGE_SIZE) : 1,
			opf, GFP_NOIO);
	bio->bi_iter.bi_sector = io->block << KVC_BLOCK_SECTORS_SHIFT;
	bio->bi_end_io = kvc_meta_end_io;
	bio->bi_private = io;
	if (io->op == REQ_OP_WRITE)
		kvc_bio_set_life(bio, KVC_LIFE_SHORT, io->m->streams);
	if (!vmalloced)
		__bio_add_page(bio, virt_to_page(io->buf), bytes, 0);
	else
		for (i = 0; i < bytes; i += PAGE_SIZE)
			__bio_add_page(bio, vmalloc_to_page(io->buf + i),
				       min_t(unsigned int, PAGE_SIZE, bytes - i),
				       0);
	kvc_member_submit(io->m, bio);
}

static void kvc_meta_wake(struct kvc_meta_io *io)
{
	complete(io->private);
}

static int kvc_meta_sync(struct kvc_member *m, enum req_op op, u64 block, u32 nr,
			 void *buf)
{
	u32 n;

	for (; nr; nr -= n, block += n, buf += (size_t)n << KVC_BLOCK_SHIFT) {
		DECLARE_COMPLETION_ONSTACK(done);
		struct kvc_meta_io io = {
			.m = m,
			.op = op,
			.block = block,
			.nr = n = min_t(u32, nr, KVC_META_MAX_BLOCKS),
			.buf = buf,
			.done = kvc_meta_wake,
			.private = &done,
		};

		kvc_meta_submit(&io);
		kvc_wait(&done);
		if (io.error)
			return io.error;
	}
	return 0;
}

int kvc_meta_read(struct kvc_member *m, u64 block, u32 nr, void *buf)
{
	return kvc_meta_sync(m, REQ_OP_READ, block, nr, buf);
}

int kvc_meta_write(struct kvc_member *m, u64 block, u32 nr, void *buf)
{
	return kvc_meta_sync(m, REQ_OP_WRITE, block, nr, buf);
}

struct kvc_discard {
	struct kvc_member *m;
	struct completion done;
	blk_status_t status;
};

static void kvc_discard_end_io(struct bio *bio)
{
	struct kvc_discard *d = bio->bi_private;

	kvc_member_done(d->m, bio, 0);
	d->status = bio->bi_status;
	bio_put(bio);
	complete(&d->done);
}

int kvc_member_discard(struct kvc_member *m, u64 block, u64 nr)
{
	struct kvc_discard d = { .m = m };
	struct bio *bio;
	u64 n;

	if (!m->discard)
		return 0;

	for (; nr; nr -= n, block += n) {
		n = min_t(u64, nr, KVC_DISCARD_BLOCKS);
		bio = bio_alloc(NULL, 0, REQ_OP_DISCARD | KVC_FAILFAST, GFP_NOIO);
		bio->bi_iter.bi_sector = block << KVC_BLOCK_SECTORS_SHIFT;
		bio->bi_iter.bi_size = n << KVC_BLOCK_SHIFT;
		bio->bi_end_io = kvc_discard_end_io;
		bio->bi_private = &d;
		init_completion(&d.done);
		kvc_member_submit(m, bio);
		kvc_wait(&d.done);
		if (!d.status)
			continue;
		if (d.status != BLK_STS_RESV_CONFLICT &&
		    !kvc_status_accuses(d.status))
			return 0;	/* it was not done; it is but advice */
		m->discard = false;
		return kvc_member_errno(d.status);
	}
	return 0;
}
