// SPDX-License-Identifier: GPL-2.0
/*
 * The journal on a disk of memory. Writes wait until a test lets them go, or
 * fail, so that every order can be had.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kvc_kunit.h"
#include "kvc_fixture.h"
#include "journal.h"

#define BLOCKS	16384	/* of one member */

static struct kvc_format_options options;
static struct kvc_geometry geometry;
static struct kvc_member_set *set;
static struct kvc_journal *j;
static u8 *disk;
static struct kvc_meta_io *waiting[8];
static u32 nr_waiting;
static bool hold;
static u32 writes;

/* --- doubles of what member.c offers --- */

void kvc_meta_submit(struct kvc_meta_io *io)
{
	writes++;
	if (hold) {
		waiting[nr_waiting++] = io;
		return;
	}
	memcpy(disk + (io->block << KVC_BLOCK_SHIFT), io->buf,
	       (size_t)io->nr << KVC_BLOCK_SHIFT);
	io->error = 0;
	io->done(io);
}

int kvc_meta_write(struct kvc_member *m, u64 block, u32 nr, void *buf)
{
	memcpy(disk + (block << KVC_BLOCK_SHIFT), buf,
	       (size_t)nr << KVC_BLOCK_SHIFT);
	return 0;
}

static void let_go(int error)
{
	u32 i, n = nr_waiting;
	struct kvc_meta_io *ios[8];

	memcpy(ios, waiting, sizeof(ios));
	nr_waiting = 0;
	for (i = 0; i < n; i++) {
		if (!error)
			memcpy(disk + (ios[i]->block << KVC_BLOCK_SHIFT),
			       ios[i]->buf,
			       (size_t)ios[i]->nr << KVC_BLOCK_SHIFT);
		ios[i]->error = error;
		ios[i]->done(ios[i]);
	}
}

/* --- fixture --- */

static int setup(struct kunit *test)
{
	struct kvc_writer w = { .slot = 1, .incarnation = 2 };
	const char *why;

	kvc_fixture_options(&options, 1, BLOCKS);
	options.ring_blocks = 64;
	if (kvc_geometry_plan(&options, &geometry, &why))
		return -EINVAL;
	disk = vzalloc((size_t)BLOCKS << KVC_BLOCK_SHIFT);
	set = kvzalloc(sizeof(*set), GFP_KERNEL);
	j = kzalloc(sizeof(*j), GFP_KERNEL);
	if (!disk || !set || !j)
		return -ENOMEM;
	hold = false;
	nr_waiting = 0;
	writes = 0;
	return kvc_journal_start(j, set, &geometry, &w, 0, 5, 0);
}

static void teardown(struct kunit *test)
{
	kvc_journal_kill(j, -EIO);
	let_go(0);
	kvc_journal_stop(j);
	kfree(j);
	kvfree(set);
	vfree(disk);
}

struct waiter {
	struct kvc_commit c;
	int called;
	int error;
};

static void committed(struct kvc_commit *c, int error)
{
	struct waiter *w = container_of(c, struct waiter, c);

	w->called++;
	w->error = error;
}

static int append(struct waiter *w, u32 offset, u32 reserve)
{
	struct kvc_record rec = {
		.type = KVC_REC_DELETE,
		.del = { .generation = 1, .offset = offset },
	};

	if (w)
		w->c.done = committed;
	return kvc_journal_append(j, &rec, w ? &w->c : NULL, reserve, NULL);
}

/* Records in the block at a position; -1: not a block of this epoch. */
static int records_at(u64 position)
{
	struct kvc_place p = kvc_place_journal(&geometry, 0, 5, position);
	const void *block = disk + (p.block << KVC_BLOCK_SHIFT);
	struct kvc_journal_info info;
	struct kvc_records it;

	if (kvc_block_verify(block, KVC_BLOCK_JOURNAL, geometry.uuid, &p) !=
		    KVC_BLOCK_OK ||
	    kvc_journal_open(block, &geometry, &info, &it) ||
	    info.position != position || info.epoch != 5)
		return -1;
	return info.count;
}

/* --- cases --- */

static void commits_in_order(struct kunit *test)
{
	struct waiter a = {}, b = {};

	hold = true;
	KUNIT_EXPECT_EQ(test, 0, append(&a, 1, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, 1, nr_waiting);
	/* While one is in flight the next fills, and is not sent. */
	KUNIT_EXPECT_EQ(test, 0, append(&b, 2, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, 1, nr_waiting);
	KUNIT_EXPECT_EQ(test, 0, a.called);
	let_go(0);
	KUNIT_EXPECT_EQ(test, 1, a.called);
	KUNIT_EXPECT_EQ(test, 0, a.error);
	KUNIT_EXPECT_EQ(test, 0, b.called);
	kvc_journal_push(j);
	let_go(0);
	KUNIT_EXPECT_EQ(test, 1, b.called);
	KUNIT_EXPECT_EQ(test, 1, records_at(0));
	KUNIT_EXPECT_EQ(test, 1, records_at(1));
	KUNIT_EXPECT_EQ(test, -1, records_at(2));
}

static void shares_a_write(struct kunit *test)
{
	struct waiter w[40] = {};
	int i;

	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, 0, append(&w[i], i, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, 1, writes);
	KUNIT_EXPECT_EQ(test, 40, records_at(0));
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ(test, 1, w[i].called);
}

static void writes_again_what_failed(struct kunit *test)
{
	struct waiter a = {};
	u8 before[64];
	struct kvc_meta_io *io;

	hold = true;
	KUNIT_EXPECT_EQ(test, 0, append(&a, 1, 0));
	kvc_journal_push(j);
	io = waiting[0];
	memcpy(before, io->buf, sizeof(before));
	let_go(-EIO);
	KUNIT_EXPECT_EQ(test, 0, a.called);
	/* Not at once; then the same bytes in the same place. */
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, 0, nr_waiting);
	j->retry_at = jiffies;
	kvc_journal_push(j);
	KUNIT_ASSERT_EQ(test, 1, nr_waiting);
	KUNIT_EXPECT_EQ(test, 0, memcmp(before, waiting[0]->buf, sizeof(before)));
	let_go(0);
	KUNIT_EXPECT_EQ(test, 1, a.called);
	KUNIT_EXPECT_EQ(test, 0, a.error);
	KUNIT_EXPECT_EQ(test, 1, records_at(0));
}

static void tells_waiters_when_killed(struct kunit *test)
{
	struct waiter a = {}, b = {};

	hold = true;
	KUNIT_EXPECT_EQ(test, 0, append(&a, 1, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, 0, append(&b, 2, 0));
	kvc_journal_kill(j, -ESTALE);
	KUNIT_EXPECT_EQ(test, -ESTALE, a.error);
	KUNIT_EXPECT_EQ(test, -ESTALE, b.error);
	KUNIT_EXPECT_EQ(test, -ESTALE, append(NULL, 3, 0));
	let_go(0);
	KUNIT_EXPECT_EQ(test, 1, a.called);
}

static void stops_at_the_ring_and_goes_on_when_trimmed(struct kunit *test)
{
	u32 per_block = KVC_JOURNAL_DATA / KVC_DELETE_LENGTH;
	u32 i, n = 0;

	for (i = 0; i < 64 * per_block; i++) {
		int err = append(NULL, i % 1000, 16);

		if (err == -EAGAIN) {
			kvc_journal_push(j);
			err = append(NULL, i % 1000, 16);
		}
		if (err)
			break;
		n++;
	}
	/* 64 blocks less the reserve, all full. */
	KUNIT_EXPECT_EQ(test, n, 48 * per_block);
	KUNIT_EXPECT_EQ(test, kvc_journal_used(j), 48);
	/* Who may use the reserve still can. */
	KUNIT_EXPECT_EQ(test, 0, append(NULL, 1, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, j->durable, 49);
	KUNIT_EXPECT_EQ(test, -ENOSPC, kvc_journal_make_room(j, jiffies));
	kvc_journal_trim(j, 40);
	for (i = 0; i < 30 * per_block; i++) {
		if (append(NULL, 1, 16) == -EAGAIN) {
			kvc_journal_push(j);
			KUNIT_ASSERT_EQ(test, 0, append(NULL, 1, 16));
		}
	}
	kvc_journal_push(j);
	/* It went around: position 64 stands at index 0. */
	KUNIT_EXPECT_EQ(test, records_at(64), per_block);
	KUNIT_EXPECT_EQ(test, records_at(0), -1);
}

static void headers_take_turns(struct kunit *test)
{
	struct kvc_place p = kvc_place_area(&geometry, 0, 5 % KVC_NR_AREAS);
	struct kvc_area_info a[2];
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, kvc_journal_write_header(j, 0));
	KUNIT_EXPECT_EQ(test, 0, kvc_journal_write_header(j, 17));
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, 0, kvc_area_decode(
			disk + ((p.block + i) << KVC_BLOCK_SHIFT), &geometry,
			&a[i]));
	KUNIT_EXPECT_EQ(test, a[1].sequence, 1);
	KUNIT_EXPECT_EQ(test, a[1].checkpoint, 0);
	KUNIT_EXPECT_EQ(test, a[0].sequence, 2);
	KUNIT_EXPECT_EQ(test, a[0].head, 17);
}

static void checkpoints_are_contiguous(struct kunit *test)
{
	struct kvc_record rec = {
		.type = KVC_REC_CHECKPOINT,
		.checkpoint = { .parts = 3 },
	};
	u64 start = 0;
	u8 *buf;
	u32 i;

	hold = true;
	KUNIT_EXPECT_EQ(test, 0, append(NULL, 1, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, 0, append(NULL, 2, 0));
	buf = kvmalloc(3 << KVC_BLOCK_SHIFT, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < 3; i++) {
		rec.checkpoint.part = i;
		kvc_journal_begin(buf + ((size_t)i << KVC_BLOCK_SHIFT), 0, 5);
		KUNIT_EXPECT_TRUE(test, kvc_journal_add(
			buf + ((size_t)i << KVC_BLOCK_SHIFT), &rec));
	}
	KUNIT_EXPECT_EQ(test, 0, kvc_journal_checkpoint(j, buf, 3, &start));
	KUNIT_EXPECT_EQ(test, start, 2);
	/* In order: what was there, the checkpoint, what comes behind. */
	while (nr_waiting) {
		let_go(0);
		kvc_journal_push(j);
	}
	hold = false;
	KUNIT_EXPECT_EQ(test, 0, append(NULL, 3, 0));
	kvc_journal_push(j);
	KUNIT_EXPECT_EQ(test, j->durable, 6);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, 1, records_at(i));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(commits_in_order),
	KUNIT_CASE(shares_a_write),
	KUNIT_CASE(writes_again_what_failed),
	KUNIT_CASE(tells_waiters_when_killed),
	KUNIT_CASE(stops_at_the_ring_and_goes_on_when_trimmed),
	KUNIT_CASE(headers_take_turns),
	KUNIT_CASE(checkpoints_are_contiguous),
	{}
};

struct kunit_suite kvc_journal_suite = {
	.name = "kvc_journal",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};
