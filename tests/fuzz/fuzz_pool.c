// SPDX-License-Identifier: MIT
/* fuzz-link: the reader (userspace/ctl/poolread*.c), tests/fsck/image.c */
/*
 * The offline reader on a pool some of whose blocks were changed: it must come
 * to an end, whatever it finds, and say something of damage that it can't miss.
 *
 * An input is a control byte (bit 0: read the data as well; bit 1: no summaries)
 * and then changes. A change is a block's number (two bytes, among the blocks
 * that are in use), what to do with it (one byte) and what that takes:
 *
 *	0	an offset (two bytes), a length (one) and as many bytes: put them
 *		there, and make the CRC right
 *	1	the same, but leave the CRC alone
 *	2	zeroes all over
 *	3	another block's number (two bytes): put a copy of it here
 *	4	the same, and make address and CRC right
 */
#include "fuzz.h"
#include "image.h"
#include "poolread.h"

#define MOST_CHANGES	64

static struct img img;
static struct kvc_place *used;	/* blocks that may be changed */
static u32 nr_used;

static bool is_used(u32 member, u64 block)
{
	const u8 *b = img.members[member] + (block << KVC_BLOCK_SHIFT);
	const struct kvc_block_header *h = (const void *)b;

	return le64_to_cpu(h->magic) == KVC_MAGIC;
}

/* A pool with some life behind it, and a list of its metadata. */
static void make_pool(void)
{
	static const struct img_options o = { .seed = 7, .ring = 40 };
	u64 block;
	u32 i;

	img_make(&img, &o);
	img_attach(&img, 0, IMG_ATTACHED);
	img_work(&img, 500);
	img_crash(&img);
	img_attach(&img, 0, IMG_ATTACHED);
	img_work(&img, 700);
	img_checkpoint(&img, &img.ags[0], false);
	img_crash(&img);
	for (i = 0; i < img.g.nr_members; i++)
		nr_used += img.g.members[i].blocks;
	used = calloc(nr_used, sizeof(*used));
	MUST(used);
	nr_used = 0;
	for (i = 0; i < img.g.nr_members; i++) {
		for (block = 0; block < img.g.members[i].blocks; block++) {
			if (is_used(i, block))
				used[nr_used++] = (struct kvc_place){ i, block };
		}
	}
}

/* --- changes --- */

struct input {
	const u8 *at;
	size_t left;
};

static u32 take(struct input *in, u32 bytes)
{
	u32 value = 0, i;

	for (i = 0; i < bytes && in->left; i++, in->at++, in->left--)
		value |= (u32)*in->at << (8 * i);
	return value;
}

/* What a block was before it was changed. */
struct saved {
	struct kvc_place place;
	u8 block[KVC_BLOCK_SIZE];
};

static struct saved saved[MOST_CHANGES];
static u32 nr_saved;

static u8 *pick(struct input *in)
{
	struct kvc_place p = used[take(in, 2) % nr_used];
	struct saved *s = &saved[nr_saved++];

	s->place = p;
	memcpy(s->block, img_block(&img, p), KVC_BLOCK_SIZE);
	return img_block(&img, p);
}

static void restore(void)
{
	while (nr_saved) {
		struct saved *s = &saved[--nr_saved];

		memcpy(img_block(&img, s->place), s->block, KVC_BLOCK_SIZE);
	}
}

static void put_bytes(struct input *in, u8 *block)
{
	u32 offset = take(in, 2) % KVC_BLOCK_SIZE;
	u32 length = take(in, 1);

	for (; length && offset < KVC_BLOCK_SIZE && in->left; length--)
		block[offset++] = (u8)take(in, 1);
}

/* The CRC alone: img_fix() would also put the magic right. */
static void fix_crc(u8 *block)
{
	struct kvc_block_header *h = (void *)block;

	h->crc = 0;
	h->crc = cpu_to_le32(crc32c(~0U, block, KVC_BLOCK_SIZE));
}

static void change(struct input *in)
{
	u8 *block = pick(in);
	struct kvc_block_header *h = (void *)block;
	struct kvc_place p = saved[nr_saved - 1].place;
	u32 how = take(in, 1) % 5;

	switch (how) {
	case 0:
	case 1:
		put_bytes(in, block);
		break;
	case 2:
		memset(block, 0, KVC_BLOCK_SIZE);
		break;
	default:
		memcpy(block, img_block(&img, used[take(in, 2) % nr_used]),
		       KVC_BLOCK_SIZE);
		if (how == 4)
			h->address = cpu_to_le64(kvc_address(p.member,
							     p.block));
	}
	if (how == 0 || how == 4)
		fix_crc(block);
}

/* --- reading --- */

static int read_member(void *private, u64 block, void *buf, u32 nr)
{
	memcpy(buf, (u8 *)private + (block << KVC_BLOCK_SHIFT),
	       (size_t)nr << KVC_BLOCK_SHIFT);
	return 0;
}

static void report(void *private, const struct pr_finding *f)
{
	const struct pr_pool *p = private;

	MUST((u32)f->code < PR_NR_CODES && f->text && f->text[0]);
	MUST(pr_code_info(f->code)->name);
	MUST(f->where.dev == PR_NONE || f->where.dev < p->nr_devs);
}

static int check(struct pr_pool *p, bool data)
{
	struct pr_ag a;
	u64 objects = 0;
	u32 ag;
	int err;

	err = pr_slots(p);
	for (ag = 0; !err && ag < p->g.nr_ags; ag++) {
		err = pr_ag_load(&a, p, ag);
		if (!err && data)
			err = pr_ag_data(&a, NULL, NULL, &objects);
		pr_ag_free(&a);
	}
	return err;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct pr_source sources[KVC_MAX_MEMBERS];
	struct pr_pool pool = { .report = report, .report_private = &pool };
	u32 i, control = take(&in, 1);
	int err;

	if (!nr_used)
		make_pool();
	while (in.left && nr_saved < MOST_CHANGES)
		change(&in);
	for (i = 0; i < img.g.nr_members; i++)
		sources[i] = (struct pr_source){
			.read = read_member, .private = img.members[i],
			.name = "member", .blocks = img.g.members[i].blocks,
		};
	pool.now = 1000;
	pool.journal_only = control & 2;
	err = pr_open(&pool, sources, img.g.nr_members);
	if (!err)
		err = check(&pool, control & 1);
	MUST(!err || err == -ENOENT || err == -EUCLEAN);
	/* Nothing was changed: there is nothing to find. */
	if (size <= 1)
		MUST(!pool.found[PR_ERROR] && !pool.found[PR_WARNING]);
	pr_close(&pool);
	restore();
	return 0;
}
