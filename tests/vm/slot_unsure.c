// SPDX-License-Identifier: GPL-2.0
/*
 * A copy of the host's slot whose write failed on the way is left alone until
 * that write can't land any more (protocol rule 31), and used again then; and
 * with the others the lease goes on. Faults are injected: debug kernel. For a
 * pool with three copies, whose Q is longer than a few heartbeats.
 *
 * usage: slot_unsure POOL MEMBER...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "again.h"
#include "members.h"

static struct vt_members members;
static struct kvcache_info info;
static struct kvc *kvc;

static void fault(const char *file, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/kernel/debug/fail_make_request/%s", file);
	vt_need(!vt_write(path, text), "write %s to %s", text, path);
}

/* What a copy of our slot shows; 0: nothing that is sound. */
static u64 sequence(u32 copy)
{
	static u8 block[KVC_BLOCK_SIZE];
	struct kvc_place at = kvc_place_slot(&members.g, info.slot, copy, 0);
	struct kvc_slot_info slot;

	vt_read(&members, at, 1, block);
	if (kvc_block_verify(block, KVC_BLOCK_SLOT, members.g.uuid, &at) !=
		    KVC_BLOCK_OK ||
	    kvc_slot_decode(block, &members.g, &slot))
		return 0;
	return slot.sequence;
}

/* Every request to the member that has this copy fails, or no more. */
static void fail(u32 copy, const char *yes)
{
	struct kvc_place at = kvc_place_slot(&members.g, info.slot, copy, 0);
	char path[100];

	snprintf(path, sizeof(path), "/sys/class/block/%s/make-it-fail",
		 strrchr(members.path[at.member], '/') + 1);
	vt_need(!vt_write(path, yes), "write to %s", path);
}

int main(int argc, char **argv)
{
	const struct kvc_call call = { .deadline_ms = 5000 };
	uint64_t began, begun, ended, q;
	unsigned int beats = 0;
	u64 others, stays, incarnation;

	vt_need(argc >= 5, "usage: slot_unsure POOL MEMBER...");
	kvc = kvc_open(NULL, (unsigned int)atoi(argv[1]));
	vt_need(kvc && !kvc_info(kvc, &info, NULL, 0), "open the pool");
	incarnation = info.incarnation;
	vt_members_open(&members, argv + 2, (unsigned int)argc - 2);
	vt_members_load(&members);
	q = members.g.q_ms;
	vt_need(members.g.nr_slot_copies == 3 && q > 4 * members.g.heartbeat_ms,
		"a pool with three copies and a long Q");

	vt_begin("a copy of the slot whose write failed is left alone for Q, and the lease goes on");
	fault("task-filter", "N");
	fault("verbose", "0");
	fault("interval", "1");
	fault("times", "-1");
	fault("probability", "100");
	began = vt_ms();
	fail(1, "1");
	vt_sleep_ms(members.g.heartbeat_ms * 2);
	fail(1, "0");
	fault("probability", "0");
	ended = vt_ms();
	stays = sequence(1);
	others = sequence(0);
	vt_expect(stays && others > stays, "copy 0 shows %llu, copy 1 %llu",
		  (unsigned long long)others, (unsigned long long)stays);
	/* Its first write after @began failed, at the earliest at once. */
	while ((begun = vt_ms()) < began + q - members.g.heartbeat_ms / 2) {
		if (!vt_expect(sequence(1) == stays,
			       "copy 1 was written %llu ms after a write to it failed",
			       (unsigned long long)(begun - ended)))
			break;
		vt_sleep_ms(members.g.heartbeat_ms / 4);
	}
	vt_expect(sequence(0) > others && sequence(2) > others,
		  "the others stood still, too");
	/* A beat that begins behind it is written there again. */
	while (sequence(1) == stays && vt_ms() < ended + q + 20000)
		vt_sleep_ms(members.g.heartbeat_ms / 4);
	for (; beats < 100 && sequence(1) + 1 < sequence(0); beats++)
		vt_sleep_ms(members.g.heartbeat_ms / 4);
	vt_note("it was used again %llu ms after the last fault",
		(unsigned long long)(vt_ms() - ended));
	vt_expect(sequence(1) > others, "copy 1 is not used again");
	vt_expect(!kvc_info(kvc, &info, NULL, 0) && info.incarnation == incarnation,
		  "the lease ran out");
	vt_expect(again_put(kvc, &call, "afterwards", 10, "x", 1) == 0, "put");
	vt_end();
	vt_members_close(&members);
	vt_exit();
}
