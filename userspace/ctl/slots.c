// SPDX-License-Identifier: MIT
/* Who uses a pool, as its host slots on media tell. */
#include "slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 100

static void read_slot(const struct pool_probe *p, u32 number, void *buf,
		      struct slot_view *s)
{
	struct kvc_slot_info info;
	u32 copy;

	*s = (struct slot_view) { 0 };
	for (copy = 0; copy < kvc_slot_places(&p->g); copy++) {
		struct kvc_place place = kvc_place_slot(&p->g, number, copy, 0);
		enum kvc_block_verdict verdict;

		if (pool_read(p, place, buf, 1))
			continue;
		verdict = kvc_block_verify(buf, KVC_BLOCK_SLOT, p->g.uuid, &place);
		if (verdict == KVC_BLOCK_NEVER)
			s->read = true;
		if (verdict != KVC_BLOCK_OK || kvc_slot_decode(buf, &p->g, &info))
			continue;
		s->read = true;
		if (!s->used || kvc_slot_newer(&info, &s->info))
			s->info = info;
		s->used = true;
	}
}

struct slot_view *slots_read(const struct pool_probe *p)
{
	struct slot_view *slots = ctl_alloc(p->g.nr_slots * sizeof(*slots));
	void *buf = ctl_buffer(1);
	u32 i;

	for (i = 0; i < p->g.nr_slots; i++)
		read_slot(p, i, buf, &slots[i]);
	free(buf);
	return slots;
}

bool slot_is_up(const struct slot_view *s)
{
	return s->used && (s->info.state == KVC_SLOT_JOINING ||
			   s->info.state == KVC_SLOT_ACTIVE);
}

static bool any_up(const struct slot_view *slots, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (slot_is_up(&slots[i]))
			return true;
	return false;
}

static bool any_read(const struct slot_view *slots, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (slots[i].read)
			return true;
	return false;
}

/* The slot that was written between two readings, or -1. */
static int changed(const struct slot_view *before, const struct slot_view *now,
		   u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (now[i].used &&
		    (!before[i].used ||
		     now[i].info.sequence != before[i].info.sequence))
			return (int)i;
	return -1;
}

bool slots_watch(struct ctl *ctl, const struct pool_probe *p, char **who)
{
	u32 count = p->g.nr_slots;
	u64 wait_ms = p->g.lease_ms + p->g.lease_ms / 2;
	struct slot_view *before = slots_read(p);
	struct ctl_progress progress;
	u64 waited = 0;

	*who = NULL;
	if (!any_up(before, count)) {
		bool any = any_read(before, count);

		free(before);
		return any;
	}
	ctl_progress_begin(&progress, ctl, "watching for a host that uses the pool",
			   wait_ms);
	while (waited < wait_ms && !*who) {
		struct slot_view *now;
		int slot;

		usleep(TICK_MS * 1000);
		waited += TICK_MS;
		ctl_progress_set(&progress, waited);
		/* A heartbeat is far longer than a tick. */
		if (waited % (p->g.heartbeat_ms / 2 + TICK_MS) >= TICK_MS &&
		    waited < wait_ms)
			continue;
		now = slots_read(p);
		slot = changed(before, now, count);
		if (slot >= 0)
			*who = ctl_printf("host %s%s%s%s (slot %d)",
					  now[slot].info.node,
					  now[slot].info.nqn[0] ? " [" : "",
					  now[slot].info.nqn,
					  now[slot].info.nqn[0] ? "]" : "", slot);
		free(now);
	}
	ctl_progress_end(&progress);
	free(before);
	return true;
}
