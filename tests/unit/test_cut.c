// SPDX-License-Identifier: MIT
/* The cut between direct and bounced I/O, against a model that looks at bytes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kvc_cut.h"

#define MAX_BYTES	(160 << 10)
#define MAX_FRAGMENTS	4096

struct fragment {
	u32 address;
	u64 bytes;
};

static struct fragment fragments[MAX_FRAGMENTS];
static unsigned int nr_fragments;

/* What the cut says about each byte of the object, and what the model says. */
enum { NOT_MOVED, DIRECT, BOUNCE };
static u8 told[MAX_BYTES + KVC_BLOCK_SIZE], expected[MAX_BYTES + KVC_BLOCK_SIZE];

/* The model's memory: address of each byte, and whether a gap is before it. */
static u32 address_of[MAX_BYTES];
static bool gap_before[MAX_BYTES];
static bool has_memory[MAX_BYTES + KVC_BLOCK_SIZE];

struct job {
	u64 bytes;
	u64 from;
	u64 want;
	bool write;
	bool whole;
	u32 block_mask;
	u32 dma_mask;
};

static u64 seed;

static u32 rnd(u32 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(seed >> 33) % below;
}

static void add(u32 address, u64 bytes)
{
	assert_true(nr_fragments < MAX_FRAGMENTS);
	fragments[nr_fragments++] = (struct fragment){ address, bytes };
}

static u64 take(const struct kvc_piece *piece, unsigned int n, u64 at, u64 hi)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_true(piece[i].end > at && piece[i].end <= hi);
		memset(told + at, piece[i].bounce ? BOUNCE : DIRECT,
		       piece[i].end - at);
		at = piece[i].end;
	}
	return at;
}

static void cut(const struct job *j)
{
	struct kvc_piece piece[3];
	struct kvc_cut c;
	unsigned int i, n;
	u64 at;

	memset(told, NOT_MOVED, sizeof(told));
	kvc_cut_begin(&c, j->bytes, j->from, j->want, j->write, j->whole,
		      j->block_mask, j->dma_mask);
	assert_true(c.hi <= sizeof(told));
	at = c.lo;
	for (i = 0; i < nr_fragments; i++) {
		n = kvc_cut_add(&c, fragments[i].address, fragments[i].bytes,
				piece);
		assert_true(n <= 2);
		at = take(piece, n, at, c.hi);
	}
	n = kvc_cut_end(&c, piece);
	assert_true(n <= 3);
	assert_true(take(piece, n, at, c.hi) == c.hi);
}

static void lay_out_memory(const struct job *j)
{
	u64 at = j->from, k;
	unsigned int i;

	memset(has_memory, 0, sizeof(has_memory));
	memset(gap_before, 0, sizeof(gap_before));
	for (i = 0; i < nr_fragments; i++) {
		const struct fragment *f = &fragments[i];

		if (i) {
			const struct fragment *g = f - 1;

			gap_before[at] = f->address % 4096 ||
					 (g->address + g->bytes) % 4096;
		}
		for (k = 0; k < f->bytes; k++, at++) {
			address_of[at] = (f->address + k) % 4096;
			has_memory[at] = true;
		}
	}
	assert_true(at == j->from + j->want);
}

static bool good_unit(const struct job *j, u64 at, u64 unit)
{
	u64 k;

	if (j->write && j->bytes % 4096 && at + unit > j->bytes / 4096 * 4096)
		return false;
	if (j->dma_mask >= 4096)
		return false;
	for (k = 0; k < unit; k++)
		if (!has_memory[at + k] || (k && gap_before[at + k]))
			return false;
	return !(address_of[at] & j->dma_mask);
}

static void model(const struct job *j)
{
	u64 unit = j->block_mask + 1ULL, lo, hi, at, end;

	if (j->dma_mask < 4096 && j->dma_mask + 1ULL > unit)
		unit = j->dma_mask + 1ULL;
	lo = j->write || j->whole ? 0 : j->from / unit * unit;
	hi = j->write || j->whole ? j->bytes : j->from + j->want;
	if (j->write)
		hi = (hi + 4095) / 4096 * 4096;
	hi = (hi + unit - 1) / unit * unit;

	lay_out_memory(j);
	memset(expected, NOT_MOVED, sizeof(expected));
	memset(expected + lo, BOUNCE, hi - lo);
	for (at = lo; at < hi; at = end) {
		end = at + unit;
		if (!good_unit(j, at, unit))
			continue;
		while (end < hi && good_unit(j, end, unit) && !gap_before[end])
			end += unit;
		if (end - at >= KVC_CUT_MIN || (at == lo && end == hi))
			memset(expected + at, DIRECT, end - at);
	}
}

static void check(const struct job *j)
{
	u64 i;

	cut(j);
	model(j);
	for (i = 0; i < sizeof(told); i++)
		if (told[i] != expected[i])
			fail_msg("byte %llu of %llu (+%llu, %llu; write %d, whole %d, masks %x, %x): %d, not %d",
				 (unsigned long long)i, (unsigned long long)j->bytes,
				 (unsigned long long)j->from,
				 (unsigned long long)j->want, j->write, j->whole,
				 j->block_mask, j->dma_mask, told[i], expected[i]);
}

/* All of it goes in one way. */
static void check_all(const struct job *j, int way, u64 lo, u64 hi)
{
	u64 i;

	check(j);
	for (i = 0; i < sizeof(told); i++)
		assert_int_equal(told[i], i >= lo && i < hi ? way : NOT_MOVED);
}

/* Aligned memory is never bounced, however its pages are strewn. */
static void aligned(void **state)
{
	static const u32 blocks[] = { 511, 1023, 4095 };
	struct job j = { .bytes = 128 << 10, .want = 128 << 10, .dma_mask = 3 };
	unsigned int b, i, write, whole;

	for (b = 0; b < ARRAY_SIZE(blocks); b++)
		for (write = 0; write < 2; write++)
			for (whole = 0; whole < 2; whole++) {
				j.block_mask = blocks[b];
				j.write = write;
				j.whole = whole;
				nr_fragments = 0;
				add(0, j.want);
				check_all(&j, DIRECT, 0, j.bytes);
				nr_fragments = 0;
				for (i = 0; i < 32; i++)
					add(0, 4096);
				check_all(&j, DIRECT, 0, j.bytes);
			}
}

/* Every address modulo the page: direct where DMA can take it, else nowhere. */
static void addresses(void **state)
{
	static const u32 dma[] = { 0, 3, 31, 511, 4095, 8191 };
	struct job j = { .bytes = 64 << 10, .want = 64 << 10, .block_mask = 511 };
	unsigned int d;
	u32 address;

	for (d = 0; d < ARRAY_SIZE(dma); d++) {
		j.dma_mask = dma[d];
		for (address = 0; address < 4096; address += 1 + address % 9) {
			nr_fragments = 0;
			/* As pages: the head of one, whole ones, a tail. */
			add(address, 4096 - address);
			add(0, 15 * 4096);
			if (address)
				add(0, address);
			check_all(&j, address & dma[d] || dma[d] > 4095 ?
				  BOUNCE : DIRECT, 0, j.bytes);
		}
	}
}

/* Only the blocks at the edges of a seam are bounced. */
static void seams(void **state)
{
	struct job j = {
		.bytes = 48 << 10, .want = 48 << 10,
		.block_mask = 511, .dma_mask = 3,
	};

	nr_fragments = 0;
	add(100, 16000);			/* up to the middle of block 31 */
	add(0x200 - (16000 & 511), 16000);
	add(4, (48 << 10) - 32000);
	check(&j);
	assert_int_equal(told[15871], DIRECT);
	assert_int_equal(told[15872], BOUNCE);
	assert_int_equal(told[16383], BOUNCE);
	assert_int_equal(told[16384], DIRECT);
	assert_int_equal(told[31743], DIRECT);
	assert_int_equal(told[31744], BOUNCE);
	/* The third fragment starts 256 bytes into a block, at address 4. */
	assert_int_equal(told[32255], BOUNCE);
	assert_int_equal(told[32256], DIRECT);
}

/* A put's last block is padded; a get's ends where a logical block does. */
static void tails(void **state)
{
	struct job j = {
		.bytes = 8192 + 512, .want = 8192 + 512,
		.block_mask = 511, .dma_mask = 511,
	};

	nr_fragments = 0;
	add(0, j.want);
	check_all(&j, DIRECT, 0, j.bytes);
	j.write = true;
	check(&j);
	assert_int_equal(told[8191], DIRECT);
	assert_int_equal(told[8192], BOUNCE);
	assert_int_equal(told[12287], BOUNCE);
	assert_int_equal(told[12288], NOT_MOVED);

	j.bytes = j.want = 1;
	nr_fragments = 0;
	add(0, 1);
	check_all(&j, BOUNCE, 0, 4096);
	j.write = false;
	check_all(&j, BOUNCE, 0, 512);
	j.whole = true;
	check_all(&j, BOUNCE, 0, 512);
}

/* Without the CRC, a range moves only its blocks; with it, the whole object. */
static void ranges(void **state)
{
	struct job j = {
		.bytes = 40000, .from = 5000, .want = 9000,
		.block_mask = 511, .dma_mask = 3,
	};

	nr_fragments = 0;
	add(5000 % 4096, 9000);
	check(&j);
	assert_int_equal(told[4607], NOT_MOVED);
	assert_int_equal(told[4608], BOUNCE);
	assert_int_equal(told[5119], BOUNCE);
	assert_int_equal(told[5120], DIRECT);
	assert_int_equal(told[13823], DIRECT);
	assert_int_equal(told[13824], BOUNCE);
	assert_int_equal(told[14335], BOUNCE);
	assert_int_equal(told[14336], NOT_MOVED);

	j.whole = true;
	check(&j);
	assert_int_equal(told[0], BOUNCE);
	assert_int_equal(told[5120], DIRECT);
	assert_int_equal(told[40447], BOUNCE);
	assert_int_equal(told[40448], NOT_MOVED);
}

/* Pieces below KVC_CUT_MIN are not worth a command of their own. */
static void crumbs(void **state)
{
	struct job j = {
		.bytes = 64 << 10, .want = 64 << 10,
		.block_mask = 511, .dma_mask = 3,
	};
	unsigned int i;

	nr_fragments = 0;
	for (i = 0; i < 128; i++)
		add(512 * (i % 3) + 4, 512);
	check_all(&j, BOUNCE, 0, j.bytes);

	j.bytes = j.want = 512;
	nr_fragments = 0;
	add(512, 512);
	check_all(&j, DIRECT, 0, 512);
}

static void random_fragments(u64 want, u32 style)
{
	u64 n, left;
	u32 address = 0;

	nr_fragments = 0;
	for (left = want; left; left -= n) {
		switch (nr_fragments > MAX_FRAGMENTS - 8 ? 9 : style) {
		case 0:		/* anything */
			n = 1 + rnd(10000);
			address = rnd(4096);
			break;
		case 1:		/* aligned to 512 */
			n = 512 * (1 + rnd(20));
			address = 512 * rnd(8);
			break;
		case 2:		/* pages of one buffer, some in a row */
			n = 4096 - address;
			break;
		case 3:		/* small ones */
			n = 1 + rnd(100);
			address = 4 * rnd(1024);
			break;
		case 4:		/* long ones, with a crumb now and then */
			n = rnd(4) ? 4096 * (1 + rnd(8)) + 512 * rnd(2) : 1 + rnd(5);
			address = rnd(2) ? 0 : 4 * rnd(1024);
			break;
		default:
			n = left;
			break;
		}
		if (n > left)
			n = left;
		add(address, n);
		if (style == 2)
			address = rnd(8) ? 0 : 4 * rnd(1024);
	}
}

static void random_jobs(void **state)
{
	static const u32 blocks[] = { 511, 511, 1023, 2047, 4095 };
	static const u32 dma[] = { 0, 1, 3, 3, 7, 63, 511, 1023, 4095, 65535 };
	unsigned int i;
	struct job j;

	for (i = 0; i < 2000; i++) {
		seed = i;
		j.bytes = 1 + rnd(rnd(3) ? MAX_BYTES : 20000);
		j.write = rnd(2);
		j.whole = rnd(2);
		j.from = 0;
		j.want = j.bytes;
		if (!j.write && rnd(2)) {
			j.from = rnd(j.bytes);
			j.want = 1 + rnd(j.bytes - j.from);
		}
		j.block_mask = blocks[rnd(ARRAY_SIZE(blocks))];
		j.dma_mask = dma[rnd(ARRAY_SIZE(dma))];
		random_fragments(j.want, rnd(6));
		check(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligned),
		cmocka_unit_test(addresses),
		cmocka_unit_test(seams),
		cmocka_unit_test(tails),
		cmocka_unit_test(ranges),
		cmocka_unit_test(crumbs),
		cmocka_unit_test(random_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
