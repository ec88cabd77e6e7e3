// SPDX-License-Identifier: MIT
/* Labels of image files that agree or do not. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

#define MEMBERS 3
#define BLOCKS 16384	/* 64 MiB */

/**
 * struct images - members of a pool as files
 * @dir: where they are
 * @path: of each, and one more for a stranger
 * @g: their pool
 */
struct images {
	char dir[64];
	char *path[MEMBERS + 1];
	struct kvc_geometry g;
};

static struct ctl ctl = { .prog = "test", .quiet = true };

static void plan(struct kvc_geometry *g, u8 pool)
{
	struct kvc_format_options o = { .name = "pool", .nr_members = MEMBERS };
	const char *why = "";
	u32 i;

	memset(o.uuid, pool, sizeof(o.uuid));
	for (i = 0; i < MEMBERS; i++) {
		memset(o.members[i].uuid, (int)(pool + i + 1), 16);
		o.members[i].blocks = BLOCKS;
		o.members[i].state = KVC_MEMBER_PRESENT;
	}
	assert_int_equal(kvc_geometry_plan(&o, g, &why), 0);
}

/* Write one label of member @m to file @file. */
static void write_label(const char *file, const struct kvc_geometry *g, u32 m,
			u32 copy, u64 sequence, u64 incarnation)
{
	const struct kvc_writer w = { .slot = 0, .incarnation = incarnation };
	struct kvc_place place = kvc_place_label(g, m, copy);
	void *block = ctl_buffer(1);
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)BLOCKS * KVC_BLOCK_SIZE), 0);
	kvc_label_encode(block, g, m);
	kvc_block_finish(block, KVC_BLOCK_LABEL, g->uuid, place, sequence, &w);
	assert_int_equal(pwrite(fd, block, KVC_BLOCK_SIZE,
				(off_t)place.block * KVC_BLOCK_SIZE),
			 KVC_BLOCK_SIZE);
	close(fd);
	free(block);
}

static void write_labels(const char *file, const struct kvc_geometry *g, u32 m,
			 u64 sequence, u64 incarnation)
{
	write_label(file, g, m, 0, sequence, incarnation);
	write_label(file, g, m, 1, sequence, incarnation);
}

static void set_up(struct images *im)
{
	u32 i;

	strcpy(im->dir, "/tmp/kvcachectl-probe-XXXXXX");
	assert_non_null(mkdtemp(im->dir));
	plan(&im->g, 1);
	for (i = 0; i <= MEMBERS; i++)
		im->path[i] = ctl_printf("%s/%u", im->dir, i);
	for (i = 0; i < MEMBERS; i++)
		write_labels(im->path[i], &im->g, i, 7, 100);
}

static void tear_down(struct images *im)
{
	u32 i;

	for (i = 0; i <= MEMBERS; i++) {
		unlink(im->path[i]);
		free(im->path[i]);
	}
	rmdir(im->dir);
}

static void probe(struct images *im, struct pool_probe *p, int count)
{
	assert_int_equal(pool_probe(&ctl, p, im->path, count, CTL_DEV_READ), 0);
	assert_true(p->found);
}

/* Exactly one problem, of this kind, about this device, with this text. */
static void assert_problem(const struct pool_probe *p, bool error, int dev,
			   const char *part)
{
	assert_int_equal(p->nr_problems, 1);
	assert_int_equal(p->nr_errors, error);
	assert_int_equal(p->problems[0].error, error);
	assert_int_equal(p->problems[0].dev, dev);
	assert_non_null(strstr(p->problems[0].text, part));
}

void test_probe_of_a_sound_pool(void **state)
{
	struct images im;
	struct pool_probe p;
	void *block = ctl_buffer(1);
	u32 i;

	(void)state;
	set_up(&im);
	probe(&im, &p, MEMBERS);
	assert_int_equal(p.nr_problems, 0);
	assert_int_equal(p.nr_present, MEMBERS);
	assert_int_equal(p.sequence, 7);
	assert_string_equal(p.g.name, "pool");
	for (i = 0; i < MEMBERS; i++)
		assert_ptr_equal(p.members[i], &p.devs[i]);
	assert_int_equal(pool_read(&p, kvc_place_label(&p.g, 2, 1), block, 1), 0);
	assert_int_equal(pool_read(&p, (struct kvc_place) { 2, BLOCKS }, block, 1),
			 -ERANGE);
	pool_probe_free(&p);
	probe(&im, &p, 1);
	assert_int_equal(p.nr_errors, MEMBERS - 1);
	assert_int_equal(pool_read(&p, kvc_place_label(&p.g, 2, 1), block, 1),
			 -ENXIO);
	pool_probe_free(&p);
	tear_down(&im);
	free(block);
}

void test_probe_finds_a_clone(void **state)
{
	struct images im;
	struct pool_probe p;

	(void)state;
	set_up(&im);
	write_labels(im.path[3], &im.g, 1, 7, 100);
	probe(&im, &p, MEMBERS + 1);
	assert_problem(&p, true, 3, "a copy, or one namespace under two names");
	assert_int_equal(p.nr_present, MEMBERS);
	pool_probe_free(&p);
	tear_down(&im);
}

void test_probe_finds_an_old_copy(void **state)
{
	struct images im;
	struct pool_probe p;

	(void)state;
	set_up(&im);
	write_labels(im.path[2], &im.g, 2, 4, 90);
	probe(&im, &p, MEMBERS);
	assert_problem(&p, true, 2, "is old (sequence 4, the pool is at 7)");
	pool_probe_free(&p);
	tear_down(&im);
}

/* The kernel writes all end labels first, then all start labels. */
void test_probe_tolerates_an_interrupted_attach(void **state)
{
	struct images im;
	struct pool_probe p;
	u32 i;

	(void)state;
	set_up(&im);
	write_label(im.path[0], &im.g, 0, 1, 8, 101);
	probe(&im, &p, MEMBERS);
	assert_int_equal(p.sequence, 8);
	assert_int_equal(p.source, 0);
	assert_int_equal(p.nr_errors, 0);
	assert_int_equal(p.nr_problems, MEMBERS);
	for (i = 0; i < MEMBERS; i++)
		assert_non_null(strstr(p.problems[i].text, "interrupted"));
	pool_probe_free(&p);
	tear_down(&im);
}

/* Two halves that were each attached without the other. */
void test_probe_finds_a_pool_that_split(void **state)
{
	struct images im;
	struct pool_probe p;
	struct kvc_geometry alone;

	(void)state;
	set_up(&im);
	write_labels(im.path[2], &im.g, 2, 7, 999);
	probe(&im, &p, MEMBERS);
	assert_problem(&p, true, 2, "lived on apart");
	pool_probe_free(&p);

	alone = im.g;
	alone.members[2].state = KVC_MEMBER_MISSING;
	alone.members[2].missing_since = 8;
	write_labels(im.path[0], &alone, 0, 8, 101);
	write_labels(im.path[1], &alone, 1, 8, 101);
	write_labels(im.path[2], &im.g, 2, 7, 100);
	probe(&im, &p, MEMBERS);
	assert_problem(&p, true, 2, "used without it since sequence 8");
	pool_probe_free(&p);
	/* Without the one that was left behind all is well. */
	probe(&im, &p, 2);
	assert_problem(&p, false, -1, "is missing");
	pool_probe_free(&p);
	tear_down(&im);
}

static void spoil(const char *file, u64 block)
{
	int fd = open(file, O_WRONLY);

	assert_int_equal(pwrite(fd, "x", 1, (off_t)(block * KVC_BLOCK_SIZE) + 200),
			 1);
	close(fd);
}

void test_probe_uses_the_sound_label(void **state)
{
	struct images im;
	struct pool_probe p;

	(void)state;
	set_up(&im);
	spoil(im.path[1], 0);
	probe(&im, &p, MEMBERS);
	assert_problem(&p, false, 1, "label at the start is unusable");
	assert_int_equal(p.nr_present, MEMBERS);
	pool_probe_free(&p);
	spoil(im.path[1], BLOCKS - 1);
	probe(&im, &p, MEMBERS);
	assert_int_equal(p.nr_errors, 2);	/* that, and a member is missing */
	assert_non_null(strstr(p.problems[0].text, "both labels are unusable"));
	pool_probe_free(&p);
	tear_down(&im);
}

void test_probe_tells_pools_apart(void **state)
{
	struct images im;
	struct pool_probe p;
	struct kvc_geometry other;

	(void)state;
	set_up(&im);
	plan(&other, 50);
	write_labels(im.path[3], &other, 0, 1000, 5);
	probe(&im, &p, MEMBERS + 1);
	assert_memory_equal(p.g.uuid, im.g.uuid, 16);
	assert_problem(&p, true, 3, "belongs to another pool");
	assert_int_equal(p.devs[3].member, -1);
	pool_probe_free(&p);
	tear_down(&im);
}
