// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which parts of an object go between memory and media as they are, and which
 * have to be bounced: see kvc_cut.h.
 */

#include "kvc_cut.h"

static u64 kvc_cut_down(u64 x, u64 mask)
{
	return x & ~mask;
}

static u64 kvc_cut_up(u64 x, u64 mask)
{
	return (x + mask) & ~mask;
}

void kvc_cut_begin(struct kvc_cut *c, u64 bytes, u64 from, u64 want, bool write,
		   bool whole, u32 block_mask, u32 dma_mask)
{
	const u64 last_mask = write ? KVC_BLOCK_SIZE - 1 : block_mask;

	c->dma_mask = dma_mask;
	/*
	 * A bio may be split between any two logical blocks, so if DMA wants
	 * more alignment than that, blocks are taken by as many as it takes.
	 */
	c->unit_mask = block_mask;
	if (dma_mask < KVC_BLOCK_SIZE)
		c->unit_mask |= dma_mask;

	if (write || whole) {
		c->lo = 0;
		c->hi = kvc_cut_up(bytes, last_mask | c->unit_mask);
	} else {
		c->lo = kvc_cut_down(from, c->unit_mask);
		c->hi = kvc_cut_up(from + want, c->unit_mask);
	}
	c->limit = write ? kvc_cut_down(bytes, KVC_BLOCK_SIZE - 1) : c->hi;
	c->done = c->lo;
	c->start = from;
	c->pos = from;
	c->start_address = 0;
	c->end_address = 0;
}

/* The stretch from start to pos is over: what is there for the device? */
static unsigned int kvc_cut_close(struct kvc_cut *c, struct kvc_piece *piece)
{
	u64 start = kvc_cut_up(c->start, c->unit_mask);
	u64 end = kvc_cut_down(c->pos < c->limit ? c->pos : c->limit,
			       c->unit_mask);
	unsigned int n = 0;

	if (start >= end || c->dma_mask >= KVC_BLOCK_SIZE)
		return 0;
	if ((c->start_address + (u32)(start - c->start)) & c->dma_mask)
		return 0;
	if (end - start < KVC_CUT_MIN && (start != c->lo || end != c->hi))
		return 0;

	if (start > c->done)
		piece[n++] = (struct kvc_piece){ .end = start, .bounce = true };
	piece[n++] = (struct kvc_piece){ .end = end, .bounce = false };
	c->done = end;
	return n;
}

unsigned int kvc_cut_add(struct kvc_cut *c, u32 address, u64 bytes,
			 struct kvc_piece *piece)
{
	unsigned int n = 0;

	address &= KVC_CUT_PAGE - 1;
	if (c->pos == c->start) {
		c->start_address = address;
	} else if (address || c->end_address) {
		n = kvc_cut_close(c, piece);
		c->start = c->pos;
		c->start_address = address;
	}
	c->pos += bytes;
	c->end_address = (address + (u32)bytes) & (KVC_CUT_PAGE - 1);
	return n;
}

unsigned int kvc_cut_end(struct kvc_cut *c, struct kvc_piece *piece)
{
	unsigned int n = kvc_cut_close(c, piece);

	if (c->done < c->hi) {
		piece[n++] = (struct kvc_piece){ .end = c->hi, .bounce = true };
		c->done = c->hi;
	}
	return n;
}
