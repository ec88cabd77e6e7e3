// SPDX-License-Identifier: MIT
/* Does somebody use the pool? A host that writes its slot does. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slots.h"
#include "tests.h"

#define BLOCKS 16384

/**
 * struct image - a pool of one member, and a host that may be on it
 * @path: file
 * @g: geometry
 * @p: probed
 */
struct image {
	char path[64];
	struct kvc_geometry g;
	struct pool_probe p;
};

static struct ctl ctl = { .prog = "test", .quiet = true };

static void write_block(struct image *im, void *block, u8 type,
			struct kvc_place place, u64 sequence)
{
	const struct kvc_writer w = { .slot = 3, .incarnation = 5 };
	int fd = open(im->path, O_WRONLY);

	kvc_block_finish(block, type, im->g.uuid, place, sequence, &w);
	assert_int_equal(pwrite(fd, block, KVC_BLOCK_SIZE,
				(off_t)place.block * KVC_BLOCK_SIZE),
			 KVC_BLOCK_SIZE);
	close(fd);
}

static void write_slot(struct image *im, u32 state, u64 sequence)
{
	struct kvc_slot_info info = {
		.number = 3,
		.nr_ags = im->g.nr_ags,
		.state = state,
		.incarnation = 5,
		.heartbeat = sequence,
		.node = "node-7",
		.nqn = "nqn.2014-08.org.example:seven",
	};
	void *block = ctl_buffer(1);

	kvc_slot_encode(block, &info);
	write_block(im, block, KVC_BLOCK_SLOT, kvc_place_slot(&im->g, 3, 0, 0),
		    sequence);
	free(block);
}

static void set_up(struct image *im)
{
	struct kvc_format_options o = {
		.name = "pool",
		.nr_members = 1,
		.lease_ms = 400,
	};
	char *const paths[] = { im->path };
	void *block = ctl_buffer(1);
	const char *why = "";
	int fd;

	strcpy(im->path, "/tmp/kvcachectl-slots-XXXXXX");
	fd = mkstemp(im->path);
	assert_int_equal(ftruncate(fd, (off_t)BLOCKS * KVC_BLOCK_SIZE), 0);
	close(fd);
	memset(o.uuid, 9, sizeof(o.uuid));
	memset(o.members[0].uuid, 8, sizeof(o.members[0].uuid));
	o.members[0].blocks = BLOCKS;
	o.members[0].state = KVC_MEMBER_PRESENT;
	assert_int_equal(kvc_geometry_plan(&o, &im->g, &why), 0);
	kvc_label_encode(block, &im->g, 0);
	write_block(im, block, KVC_BLOCK_LABEL, kvc_place_label(&im->g, 0, 0), 1);
	free(block);
	assert_int_equal(pool_probe(&ctl, &im->p, paths, 1, CTL_DEV_READ), 0);
	assert_true(im->p.found);
}

static void tear_down(struct image *im)
{
	pool_probe_free(&im->p);
	unlink(im->path);
}

void test_slots_of_a_fresh_pool_are_unused(void **state)
{
	struct slot_view *slots;
	struct image im;
	char *who;
	u32 i;

	(void)state;
	set_up(&im);
	slots = slots_read(&im.p);
	for (i = 0; i < im.g.nr_slots; i++)
		assert_true(slots[i].read && !slots[i].used);
	free(slots);
	assert_true(slots_watch(&ctl, &im.p, &who));
	assert_null(who);
	tear_down(&im);
}

/* One that left in good order, one that died: neither is using the pool. */
void test_slots_that_stand_still_use_nothing(void **state)
{
	struct slot_view *slots;
	struct image im;
	char *who;

	(void)state;
	set_up(&im);
	write_slot(&im, KVC_SLOT_DOWN, 8);
	slots = slots_read(&im.p);
	assert_true(slots[3].used && !slot_is_up(&slots[3]));
	assert_string_equal(slots[3].info.node, "node-7");
	free(slots);
	assert_true(slots_watch(&ctl, &im.p, &who));
	assert_null(who);
	write_slot(&im, KVC_SLOT_ACTIVE, 9);
	assert_true(slots_watch(&ctl, &im.p, &who));
	assert_null(who);
	tear_down(&im);
}

static void *beat(void *argument)
{
	usleep(150000);
	write_slot(argument, KVC_SLOT_ACTIVE, 10);
	return NULL;
}

void test_slots_that_move_name_their_host(void **state)
{
	struct image im;
	pthread_t host;
	char *who;

	(void)state;
	set_up(&im);
	write_slot(&im, KVC_SLOT_ACTIVE, 9);
	assert_int_equal(pthread_create(&host, NULL, beat, &im), 0);
	assert_true(slots_watch(&ctl, &im.p, &who));
	pthread_join(host, NULL);
	assert_non_null(who);
	assert_string_equal(who, "host node-7 [nqn.2014-08.org.example:seven] (slot 3)");
	free(who);
	tear_down(&im);
}
