// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include "share.h"
#include "slot.h"

/* Protocol rule 15: is this slot past what was retired? */
static bool kvc_grace_past(struct kvc_segment *seg, u32 slot)
{
	struct kvc_ag *ag = seg->ag;
	struct kvc_join *join = ag->join;
	const struct kvc_slot_info *s = kvc_slot(join, slot);
	const struct kvc_slot_ag_info *a = kvc_slot_ag(join, slot, ag->number);

	if (slot == join->writer.slot)
		return true;	/* our own readers are counted */
	if (kvc_share_silent(join, slot))
		return true;
	if (test_bit(slot, join->slots->unknown))
		return false;
	if (s->state == KVC_SLOT_FREE || s->state == KVC_SLOT_DOWN)
		return true;
	if (a->followed_epoch != ag->journal.epoch)
		return a->followed_epoch > ag->journal.epoch;
	return a->drained >= seg->retired_at;
}

/* Note who is there, right after the RETIRE. */
static int kvc_grace_begin(struct kvc_segment *seg)
{
	struct kvc_join *join = seg->ag->join;
	u32 i, nr = join->g->nr_slots;
	u64 *seen = kvcalloc(nr, sizeof(*seen), GFP_KERNEL);

	if (!seen)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (!kvc_grace_past(seg, i))
			seen[i] = kvc_slot(join, i)->incarnation;
	seg->grace.seen = seen;
	return 0;
}

static bool kvc_grace_look(struct kvc_segment *seg)
{
	struct kvc_join *join = seg->ag->join;
	u32 i, waiting = 0;

	if (!seg->grace.seen && kvc_grace_begin(seg))
		return false;
	for (i = 0; i < join->g->nr_slots; i++) {
		u64 *seen = &seg->grace.seen[i];

		/* A newer incarnation has dropped what the older one knew. */
		if (*seen && (kvc_grace_past(seg, i) ||
			      kvc_slot(join, i)->incarnation > *seen))
			*seen = 0;
		waiting += !!*seen;
	}
	return !waiting;
}

bool kvc_grace_over(struct kvc_segment *seg)
{
	struct kvc_join *join = seg->ag->join;
	bool over;

	if (!join->share)
		return true;
	if (!seg->grace.ticket) {
		seg->grace.ticket = kvc_share_next(join->share);
		return false;
	}
	if (!kvc_share_passed(join->share, seg->grace.ticket))
		return false;
	kvc_slots_lock(join);
	over = kvc_grace_look(seg);
	kvc_slots_unlock(join);
	return over;
}

void kvc_grace_clear(struct kvc_grace *grace)
{
	kvfree(grace->seen);
	grace->seen = NULL;
	grace->ticket = 0;
}
