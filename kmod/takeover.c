// SPDX-License-Identifier: GPL-2.0
/*
 * Taking an AG over: its state is loaded from what its last owner left, and a new
 * epoch begins with a checkpoint of it (protocol rules 20, 21, 30). And giving
 * one up.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include "load.h"
#include "pool.h"

/* Protocol rule 30: every segment retired, above any generation ever used. */
static void kvc_takeover_empty(struct kvc_segset *set, u64 epoch,
			       unsigned long frozen_until)
{
	u32 i;

	for (i = 0; i < set->ag->nr; i++) {
		struct kvc_segment *seg = &set->segments[i];

		seg->s.state = KVC_SEG_RETIRED;
		seg->s.generation = kvc_first_generation(epoch);
		seg->s.order = 0;
		seg->ready_at = frozen_until;
	}
}

static bool kvc_takeover_area_doubt(const struct kvc_loader *l,
				    const struct kvc_takeover *t, u64 epoch)
{
	const struct kvc_area *a = &l->areas[epoch % KVC_NR_AREAS];

	return a->valid && !t->waited &&
	       t->in_doubt(l->ag->join, a->info.owner_slot,
			   a->info.owner_incarnation);
}

/*
 * May writes of an owner before the base's still land? Then a segment that is
 * retired may be one that the base's owner found open and that had to go early.
 */
static bool kvc_takeover_doubt(const struct kvc_loader *l,
			       const struct kvc_takeover *t)
{
	u32 i;

	for (i = 0; i < KVC_NR_AREAS; i++) {
		const struct kvc_area *a = &l->areas[i];

		if (a->valid && l->base && a->info.epoch < l->base->epoch &&
		    t->in_doubt(l->ag->join, a->info.owner_slot,
				a->info.owner_incarnation))
			return true;
	}
	return false;
}

/*
 * Protocol rule 21: what was open is never appended to again, and what is retired
 * or free gets a new grace period.
 */
static void kvc_takeover_roles(struct kvc_segset *set, bool doubt,
			       unsigned long frozen_until)
{
	struct kvc_ag *ag = set->ag;
	u64 live = 0;
	u32 i;

	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &set->segments[i];

		live += atomic_read(&seg->live);
		switch (seg->s.state) {
		case KVC_SEG_OPEN:
			seg->role = KVC_ROLE_FROZEN;
			seg->ready_at = frozen_until;
			break;
		case KVC_SEG_FREE:
			/* With no other host there is none to wait for. */
			if (!ag->join->share)
				break;
			fallthrough;
		case KVC_SEG_RETIRED:
			seg->role = KVC_ROLE_DRAINING;
			seg->retired_at = 0;
			seg->cookie = get_state_synchronize_rcu();
			if (doubt)
				seg->ready_at = frozen_until;
			break;
		}
	}
	ag->objects_found = live;
}

static bool kvc_takeover_fits(const struct kvc_loader *l,
			      const struct kvc_takeover *t, u64 epoch)
{
	/* Not over the base, the only whole checkpoint that there may be. */
	if (l->base && l->base->epoch % KVC_NR_AREAS == epoch % KVC_NR_AREAS)
		return false;
	return !kvc_takeover_area_doubt(l, t, epoch);
}

/* Choose the new epoch: its area is neither the base's nor in doubt (rule 4). */
static int kvc_takeover_choose(const struct kvc_loader *l,
			       struct kvc_takeover *t)
{
	u64 lowest = max(t->shown, kvc_load_highest(l)) + 1;
	u64 e;

	if (l->base && l->base->epoch % KVC_NR_AREAS == lowest % KVC_NR_AREAS)
		lowest++;
	if (t->epoch) {
		if (t->epoch >= lowest && kvc_takeover_fits(l, t, t->epoch))
			return 0;
		/* In doubt: the same one will do, when Q has passed. */
		if (t->epoch < lowest ||
		    !kvc_takeover_area_doubt(l, t, t->epoch))
			t->epoch = max(lowest, t->epoch + 1);
		return -EAGAIN;
	}
	for (e = lowest; e < lowest + KVC_NR_AREAS; e++) {
		if (!kvc_takeover_fits(l, t, e))
			continue;
		t->epoch = e;
		return 0;
	}
	return -EAGAIN;
}

/* The journal that was begun comes to nothing. */
static void kvc_takeover_undo(struct kvc_ag *ag)
{
	kvc_journal_kill(&ag->journal, -EIO);
	while (READ_ONCE(ag->journal.inflight))
		msleep(5);
	synchronize_rcu();	/* see kvc_batch_done() */
}

static int kvc_takeover_begin(struct kvc_loader *l, u64 epoch)
{
	struct kvc_ag *ag = l->ag;
	struct kvc_join *join = ag->join;
	int err;

	err = kvc_journal_start(&ag->journal, join->set, join->g, &join->writer,
				ag->number, epoch,
				l->areas[epoch % KVC_NR_AREAS].sequence);
	if (!err)
		err = kvc_ag_begin_epoch(ag);
	if (err) {
		kvc_takeover_undo(ag);
		return err;
	}
	WRITE_ONCE(ag->claimed, epoch);
	return 0;
}

static int kvc_takeover_load(struct kvc_loader *l, struct kvc_takeover *t)
{
	struct kvc_ag *ag = l->ag;
	int err = 0;

	l->set = kvc_segset_alloc(ag);
	if (!l->set)
		return -ENOMEM;
	if (l->base) {
		err = kvc_load_state(l, false);
		kvc_load_lost(l);
	} else {
		kvc_takeover_empty(l->set, t->epoch, t->frozen_until);
	}
	if (err) {
		kvc_segset_drop(l->set);
		return err;
	}
	kvc_takeover_roles(l->set, kvc_takeover_doubt(l, t), t->frozen_until);
	ag->next_order = l->next_order;
	kvc_ag_install(ag, l->set);
	err = kvc_takeover_begin(l, t->epoch);
	/* Not to be begun anew with this epoch: its area has been written to. */
	return err == -EAGAIN ? -EIO : err;
}

static int kvc_takeover_base(struct kvc_loader *l, struct kvc_takeover *t)
{
	int err;

	err = kvc_load_areas(l);
	if (err)
		return err;
	err = kvc_load_base(l, 0);
	if (err && err != -ENOENT)
		return err;
	if (l->base && l->base->epoch < t->shown) {
		pr_warn("ag %u: epoch %llu can't be read, %llu is too old: starting empty\n",
			l->ag->number, t->shown, l->base->epoch);
		l->base = NULL;
	}
	return kvc_takeover_choose(l, t);
}

int kvc_ag_takeover(struct kvc_ag *ag, struct kvc_takeover *t)
{
	struct kvc_loader *l = kmalloc(sizeof(*l), GFP_KERNEL);
	int err;

	if (!l)
		return -ENOMEM;
	kvc_loader_init(l, ag);
	err = kvc_takeover_base(l, t);
	if (!err)
		err = kvc_takeover_load(l, t);
	kvc_loader_free(l);
	kfree(l);
	return err;
}

/* --- giving up --- */

static bool kvc_ag_written(struct kvc_ag *ag)
{
	u32 i;

	for (i = 0; i < ag->nr; i++)
		if (atomic_read(&ag->segments[i].writers))
			return false;
	return true;
}

/* Its owner's roles become those of one who follows. */
static void kvc_ag_follow_own(struct kvc_ag *ag)
{
	u32 i, draining = 0;

	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		kvc_grace_clear(&seg->grace);
		if (seg->role == KVC_ROLE_DRAINING)
			draining++;
		else
			seg->role = KVC_ROLE_NONE;
	}
	mutex_unlock(&ag->lock);
	ag->follow.epoch = ag->journal.epoch;
	ag->follow.position = kvc_journal_end(&ag->journal);
	ag->follow.draining = draining;
	ag->follow.behind = false;
}

int kvc_ag_give_up(struct kvc_ag *ag)
{
	struct kvc_join *join = ag->join;
	unsigned long end = jiffies + msecs_to_jiffies(join->g->lease_ms);
	int err;

	mutex_lock(&ag->lock);
	ag->releasing = true;
	mutex_unlock(&ag->lock);
	cancel_delayed_work_sync(&ag->work);
	while (!kvc_ag_written(ag) && time_before(jiffies, end) &&
	       !READ_ONCE(join->stopping))
		msleep(1);
	kvc_ag_quiesce(ag);
	err = kvc_journal_wait(&ag->journal, kvc_journal_end(&ag->journal), end);
	if (!err && !kvc_ag_written(ag))
		err = -ETIMEDOUT;
	/*
	 * protocol rule 32: nothing is answered any more, and what may land yet
	 * lands, before the next owner begins
	 */
	kvc_takeover_undo(ag);
	if (kvc_join_unsure(join))
		msleep(join->g->q_ms);
	WRITE_ONCE(ag->owned, false);
	kvc_ag_follow_own(ag);
	/* Else what was cut off is read from media, as far as it came. */
	if (err)
		ag->follow.behind = true;
	mutex_lock(&ag->lock);
	ag->releasing = false;
	mutex_unlock(&ag->lock);
	return err;
}
