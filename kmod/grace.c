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

/* Who was in a slot after the RETIRE was not to be seen yet. */
#define KVC_GRACE_UNSEEN	U64_MAX

static int kvc_grace_begin(struct kvc_segment *seg)
{
	u32 i, nr = seg->ag->join->g->nr_slots;
	u64 *seen = kvcalloc(nr, sizeof(*seen), GFP_KERNEL);

	if (!seen)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		seen[i] = KVC_GRACE_UNSEEN;
	seg->grace.seen = seen;
	return 0;
}

/* Is this slot to be waited for? @seen: who was there, right after the RETIRE. */
static bool kvc_grace_waits(struct kvc_segment *seg, u32 slot, u64 *seen)
{
	struct kvc_join *join = seg->ag->join;
	u64 incarnation = kvc_slot(join, slot)->incarnation;

	if (!*seen)
		return false;
	if (kvc_grace_past(seg, slot))
		*seen = 0;
	else if (*seen == KVC_GRACE_UNSEEN)
		/* What was kept of it may be older than the RETIRE. */
		*seen = test_bit(slot, join->slots->unknown) ? *seen :
							       incarnation;
	else if (incarnation > *seen)
		*seen = 0;	/* it has dropped what the older one knew */
	return *seen;
}

static bool kvc_grace_look(struct kvc_segment *seg)
{
	u32 i, waiting = 0;

	if (!seg->grace.seen && kvc_grace_begin(seg))
		return false;
	for (i = 0; i < seg->ag->join->g->nr_slots; i++)
		waiting += kvc_grace_waits(seg, i, &seg->grace.seen[i]);
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
	/* protocol rule 15: the RETIRE is durable, then the slots are read */
	if (!kvc_share_looked(join->share, seg->grace.ticket))
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
