// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: host slots that move
 *
 * A member that is to leave may hold a copy of the host slots. Labels then say, in
 * the first of two changes, which other member the copy moves to. Whoever goes by
 * them reads and writes slots on enough places both without the new one and with it
 * instead of the old one, so that it meets whoever goes by older labels, and whoever
 * will go by later ones. When every host does, and what nobody writes any more has
 * been copied, the second change says that the copy has moved (protocol rule 38).
 *
 * A slot that somebody claims while it is copied would be overwritten by what it
 * showed before. So who copies first shows that it relabels, and then looks at who
 * is there; who claims looks for such after the claim, waits until they are through,
 * and writes the slot again. Either the claim is seen, or what overwrote it is over
 * by then.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "share.h"
#include "slot_move.h"

/* --- who copies --- */

/* Does somebody write the slot that we may not overwrite? */
static bool kvc_slot_lives(struct kvc_join *join, u32 slot)
{
	if (!join->share || slot == join->writer.slot)
		return slot == join->writer.slot;
	return !kvc_share_silent(join, slot) &&
	       (test_bit(slot, join->slots->unknown) ||
		kvc_slot_in_use(kvc_slot(join, slot)));
}

static int kvc_slots_all_know(struct kvc_join *join, char *reason)
{
	struct kvc_share *share = join->share;
	u32 i, behind = 0;
	int err;

	if (!share)
		return 0;
	err = kvc_share_wait(share, kvc_share_ticket(share),
			     jiffies + msecs_to_jiffies(join->g->lease_ms));
	if (err) {
		kvc_reason(reason, "the host slots of pool %s can't be read now (%d)",
			   join->g->name, err);
		return err;
	}
	kvc_slots_lock(join);
	for (i = 0; i < join->g->nr_slots; i++)
		behind += i != join->writer.slot && kvc_slot_lives(join, i) &&
			  !kvc_slot_shows_label(join, i,
						join->pool->label_sequence);
	kvc_slots_unlock(join);
	if (!behind)
		return 0;
	kvc_reason(reason, "%u other hosts have not taken up that the host slots of pool %s move: refresh it there",
		   behind, join->g->name);
	return -EBUSY;
}

/* One block of a slot that nobody writes, to where its copy moves. */
static int kvc_slot_copy_part(struct kvc_join *join, u32 slot, u32 part,
			      struct kvc_slot_info *info, void *block)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_place at = kvc_place_slot(g, slot, g->nr_slot_copies, part);
	u32 i = slot * g->slot_blocks + part;
	struct kvc_writer writer;
	bool copy;

	kvc_slots_lock(join);
	*info = *join->slots->parts[i];
	writer = join->slots->writers[i];
	copy = !kvc_slot_lives(join, slot) &&
	       !test_bit(slot, join->slots->unknown) && info->sequence;
	kvc_slots_unlock(join);
	if (!copy)
		return 0;
	kvc_slot_encode(block, info);
	kvc_block_finish(block, KVC_BLOCK_SLOT, g->uuid, at, info->sequence,
			 &writer);
	return kvc_meta_write(&join->set->m[at.member], at.block, 1, block);
}

static int kvc_slots_copy(struct kvc_join *join)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_slot_info *info = kmalloc(sizeof(*info), GFP_KERNEL);
	void *block = (void *)__get_free_page(GFP_KERNEL);
	int err = info && block ? 0 : -ENOMEM;
	u32 i;

	for (i = 0; i < g->nr_slots * g->slot_blocks && !err; i++)
		err = kvc_slot_copy_part(join, i / g->slot_blocks,
					 i % g->slot_blocks, info, block);
	free_page((unsigned long)block);
	kfree(info);
	return err;
}

int kvc_slots_finish_move(struct kvc_join *join, char *reason)
{
	const struct kvc_geometry *g = join->g;
	int err = kvc_slots_all_know(join, reason);

	if (err)
		return err;
	err = kvc_slots_copy(join);
	if (err)
		kvc_reason(reason, "member %u of pool %s, which host slots move to, can't be written (%d)",
			   g->slot_members[g->nr_slot_copies], g->name, err);
	return err;
}

/* --- who claims --- */

/* What a slot that may be copying others showed, and since when. */
struct kvc_sighted {
	u64 sequence;
	unsigned long since;
};

/* May a host be copying slots? One that died may have a write on its way until Q. */
static bool kvc_slots_copied(struct kvc_join *join, struct kvc_sighted *seen)
{
	const struct kvc_geometry *g = join->g;
	unsigned long still = msecs_to_jiffies(g->lease_ms + g->lease_ms / 8 +
					       g->q_ms);
	bool any = false;
	u32 i;

	kvc_slots_lock(join);
	for (i = 0; i < g->nr_slots; i++) {
		const struct kvc_slot_info *s = kvc_slot(join, i);

		if (i == join->writer.slot)
			continue;
		if (!seen[i].since || seen[i].sequence != s->sequence) {
			seen[i].sequence = s->sequence;
			seen[i].since = jiffies | 1;
		}
		any |= (test_bit(i, join->slots->unknown) ||
			(kvc_slot_in_use(s) && s->flags & KVC_SLOT_RELABELS)) &&
		       time_before(jiffies, seen[i].since + still);
	}
	kvc_slots_unlock(join);
	return any;
}

int kvc_slots_await_move(struct kvc_join *join, char *reason)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_sighted *seen;
	int err;

	if (!join->share || g->slot_leaves == KVC_NO_COPY)
		return 0;
	seen = kvcalloc(g->nr_slots, sizeof(*seen), GFP_KERNEL);
	if (!seen)
		return -ENOMEM;
	for (;;) {
		err = kvc_slots_read(join);
		if (err || !kvc_slots_copied(join, seen))
			break;
		if (READ_ONCE(join->pool->state) == KVC_POOL_CLOSING)
			err = -ECANCELED;
		else if (!kvc_join_lease_ok(join))
			err = -ESTALE;
		else if (msleep_interruptible(g->heartbeat_ms / 2 + 1) ||
			 signal_pending(current))
			err = -EINTR;
		if (err)
			break;
	}
	kvfree(seen);
	/* One that is through by now may have overwritten our claim, too. */
	if (!err)
		err = kvc_join_wait_shown(join);
	if (err)
		kvc_reason(reason, "the host slots of pool %s move to another member, and that did not end (%d)",
			   g->name, err);
	return err;
}
