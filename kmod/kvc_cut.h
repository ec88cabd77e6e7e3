/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which parts of an object go between memory and media as they are, and which
 * have to be bounced: pure arithmetic over the memory's addresses.
 *
 * Memory comes as a list of fragments, in the object's order. Two neighbours
 * are gapless if the first ends and the second begins at a multiple of
 * KVC_CUT_PAGE: this is what devices that take lists of pages (nvme over
 * anything) can chain in one command. A maximal gapless row of fragments is a
 * stretch. Of a stretch, the logical blocks that it covers from end to end go
 * as they are, provided that the memory of the first (and so of each) is
 * aligned as the device's DMA wants it. The block layer may then split a bio
 * at every gap, since each stands between two logical blocks. Everything else
 * is bounced: blocks that a stretch covers in part, and the whole of a stretch
 * whose address is not aligned. Memory at an odd address bounces throughout on
 * a device that wants four byte alignment; there is no way around that.
 */
#ifndef KVC_CUT_H
#define KVC_CUT_H

#include "kvc_layout.h"

#define KVC_CUT_PAGE	4096U

/*
 * A shorter stretch between two gaps is bounced even where it need not be: it
 * would cost a command of its own, which is more than copying it does.
 */
#define KVC_CUT_MIN	4096U

/**
 * struct kvc_cut - cuts an object into pieces
 * @lo: first byte of the object that is moved, a multiple of the unit
 * @hi: end of what is moved, a multiple of the unit
 * @limit: pieces that go as they are end here at the latest
 * @unit_mask: logical blocks, and DMA alignment, are at most this + 1
 * @dma_mask: what memory must be aligned to - 1
 *
 * The rest is private:
 *
 * @done: end of the last piece given out
 * @start: where the current stretch starts
 * @pos: end of the memory seen so far
 * @start_address: address of the stretch, modulo KVC_CUT_PAGE
 * @end_address: address of its end, likewise
 */
struct kvc_cut {
	u64 lo;
	u64 hi;
	u64 limit;
	u32 unit_mask;
	u32 dma_mask;
	u64 done;
	u64 start;
	u64 pos;
	u32 start_address;
	u32 end_address;
};

/**
 * struct kvc_piece - a part of the object that goes in one way
 * @end: where it ends; it starts where the one before ended, the first at @lo
 * @bounce: through kernel pages
 */
struct kvc_piece {
	u64 end;
	bool bounce;
};

/**
 * kvc_cut_begin() - begin to cut
 * @c: overwritten
 * @bytes: length of the object
 * @from: first byte that the memory is for
 * @want: how many bytes it is for; all of them when writing
 * @write: memory to media: then all is moved, and the last KVC_BLOCK_SIZE is
 *	one piece if the object does not fill it, since it needs padding
 * @whole: move all of the object, also what the memory is not for
 * @block_mask: logical block size - 1, below KVC_BLOCK_SIZE
 * @dma_mask: alignment that the device wants - 1; if it is KVC_BLOCK_SIZE or
 *	more, everything is bounced
 */
void kvc_cut_begin(struct kvc_cut *c, u64 bytes, u64 from, u64 want, bool write,
		   bool whole, u32 block_mask, u32 dma_mask);

/**
 * kvc_cut_add() - here comes the next fragment of memory
 * @c: cut
 * @address: its address, of which only the part in KVC_CUT_PAGE matters
 * @bytes: its length, > 0; no more in total than @want of kvc_cut_begin()
 * @piece: filled in with the pieces that are known now
 *
 * Return: how many, 0 to 2.
 */
unsigned int kvc_cut_add(struct kvc_cut *c, u32 address, u64 bytes,
			 struct kvc_piece *piece);

/**
 * kvc_cut_end() - that was the last fragment
 * @c: cut
 * @piece: filled in with the last pieces, the very last ending at @hi
 *
 * Return: how many, 0 to 3.
 */
unsigned int kvc_cut_end(struct kvc_cut *c, struct kvc_piece *piece);

/*
 * Would memory at @address, in one stretch of @want bytes, be one piece that goes
 * as it is? @from and @want as of kvc_cut_begin(), after which nothing was added.
 */
static inline bool kvc_cut_whole(const struct kvc_cut *c, u32 address, u64 from,
				 u64 want)
{
	return c->lo == from && c->hi == from + want && c->limit == c->hi &&
	       c->dma_mask < KVC_BLOCK_SIZE && !(address & c->dma_mask);
}

#endif
