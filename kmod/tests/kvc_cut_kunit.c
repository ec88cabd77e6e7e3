// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which memory goes to the device as it is: one case for each thing that the
 * cut promises. tests/unit/test_cut.c compares it with a model.
 */
#include "kvc_kunit.h"
#include "../kvc_cut.h"

#define KIB	1024ULL

struct fragment {
	u32 address;
	u64 bytes;
};

struct expected {
	u64 end;
	bool bounce;
};

struct cut_case {
	struct fragment in[8];		/* up to the first of no bytes */
	struct expected out[8];		/* likewise */
	u64 bytes;
	u64 from;
	bool write;
	bool whole;
	u32 block_mask;
	u32 dma_mask;
};

/* Neighbours that go the same way may come as one piece or as two. */
static unsigned int merge(struct expected *got, unsigned int nr,
			  const struct kvc_piece *piece, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && nr < 8; i++) {
		if (nr && got[nr - 1].bounce == piece[i].bounce)
			nr--;
		got[nr++] = (struct expected){ piece[i].end, piece[i].bounce };
	}
	return nr;
}

static void check(struct kunit *test, const struct cut_case *t)
{
	struct expected got[9] = {};
	struct kvc_piece piece[3];
	struct kvc_cut c;
	unsigned int nr = 0, i;
	u64 want = 0;

	for (i = 0; i < 8 && t->in[i].bytes; i++)
		want += t->in[i].bytes;
	kvc_cut_begin(&c, t->bytes, t->from, want, t->write, t->whole,
		      t->block_mask, t->dma_mask);
	for (i = 0; i < 8 && t->in[i].bytes; i++)
		nr = merge(got, nr, piece,
			   kvc_cut_add(&c, t->in[i].address, t->in[i].bytes,
				       piece));
	nr = merge(got, nr, piece, kvc_cut_end(&c, piece));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, got[i].end, t->out[i].end);
		KUNIT_EXPECT_EQ(test, got[i].bounce, t->out[i].bounce);
	}
}

/* Whole pages, strewn, and then the same memory four bytes further on. */
static void cut_aligned(struct kunit *test)
{
	struct cut_case t = {
		.in = { { 0, 4 * KIB }, { 0, 8 * KIB }, { 0, 4 * KIB } },
		.out = { { 16 * KIB, false } },
		.bytes = 16 * KIB,
		.block_mask = 511,
		.dma_mask = 3,
	};

	check(test, &t);
	t.write = true;
	check(test, &t);
	t.in[0] = (struct fragment){ 4, 4092 };
	t.in[3] = (struct fragment){ 0, 4 };
	check(test, &t);
	t.dma_mask = 511;
	t.out[0].bounce = true;
	check(test, &t);
}

static void cut_odd_address(struct kunit *test)
{
	static const struct cut_case t = {
		.in = { { 1, 4095 }, { 0, 60 * KIB + 1 } },
		.out = { { 64 * KIB, true } },
		.bytes = 64 * KIB,
		.block_mask = 511,
		.dma_mask = 3,
	};

	check(test, &t);
}

static void cut_seam(struct kunit *test)
{
	static const struct cut_case t = {
		.in = { { 0, 8 * KIB + 100 }, { 256 + 100, 8 * KIB - 100 } },
		.out = {
			{ 8 * KIB, false },
			{ 8 * KIB + 512, true },
			{ 16 * KIB, false },
		},
		.bytes = 16 * KIB,
		.block_mask = 511,
		.dma_mask = 3,
	};

	check(test, &t);
}

/* The last block of a put needs padding, and is one piece. */
static void cut_tail(struct kunit *test)
{
	struct cut_case t = {
		.in = { { 0, 9 * KIB } },
		.out = { { 9 * KIB, false } },
		.bytes = 9 * KIB,
		.block_mask = 511,
		.dma_mask = 3,
	};

	check(test, &t);
	t.write = true;
	t.out[0].end = 8 * KIB;
	t.out[1] = (struct expected){ 12 * KIB, true };
	check(test, &t);
}

static void cut_range(struct kunit *test)
{
	struct cut_case t = {
		.in = { { 512, 4 * KIB + 100 } },
		.out = { { 5 * KIB, false }, { 5 * KIB + 512, true } },
		.bytes = 20 * KIB,
		.from = 1 * KIB,
		.block_mask = 511,
		.dma_mask = 3,
	};

	check(test, &t);
	t.whole = true;
	t.out[0] = (struct expected){ 1 * KIB, true };
	t.out[1] = (struct expected){ 5 * KIB, false };
	t.out[2] = (struct expected){ 20 * KIB, true };
	check(test, &t);
}

/* Too short for a command of its own, unless it is all there is. */
static void cut_crumbs(struct kunit *test)
{
	struct cut_case t = {
		.in = { { 0, 512 }, { 0, 512 }, { 512, 2 * KIB } },
		.out = { { 3 * KIB, true } },
		.bytes = 3 * KIB,
		.block_mask = 511,
		.dma_mask = 511,
	};

	check(test, &t);
	t.in[0].bytes = 3 * KIB;
	t.in[1].bytes = 0;
	t.out[0].bounce = false;
	check(test, &t);
}

static struct kunit_case cut_cases[] = {
	KUNIT_CASE(cut_aligned),
	KUNIT_CASE(cut_odd_address),
	KUNIT_CASE(cut_seam),
	KUNIT_CASE(cut_tail),
	KUNIT_CASE(cut_range),
	KUNIT_CASE(cut_crumbs),
	{}
};

struct kunit_suite kvc_cut_suite = {
	.name = "kvc_cut",
	.test_cases = cut_cases,
};
