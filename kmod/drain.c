// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: a member that leaves the pool
 *
 * First it is drained: labels say so, hosts take that up, and then none places
 * anything new on it. Owners move what is there to other segments, as far as these
 * have room, and evict the rest, and all of those AGs whose journals stand there
 * (worker.c). When nothing is left, and every live host goes by these labels, it
 * is removed: the labels call it so for good, its own are wiped, and what it would
 * be needed for is not used any more.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <uapi/linux/kvcache.h>
#include "drain.h"
#include "grow.h"
#include "label.h"
#include "share.h"
#include "slot_move.h"

#define KVC_SETTLE_MS	30000

/* --- nothing more comes --- */

static bool kvc_ag_settled(struct kvc_ag *ag)
{
	const bool all = kvc_ag_drains(ag);
	bool settled = true;
	u32 i;

	/* Under it reservations are made: later ones see what is drained. */
	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr && settled; i++) {
		const struct kvc_segment *seg = &ag->segments[i];

		if (all || kvc_segment_drains(seg))
			settled = !atomic_read(&seg->writers);
	}
	mutex_unlock(&ag->lock);
	return settled;
}

int kvc_join_settle_drain(struct kvc_join *join)
{
	unsigned long end = jiffies + msecs_to_jiffies(KVC_SETTLE_MS);
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++) {
		while (!kvc_ag_settled(&join->ags[i])) {
			if (READ_ONCE(join->stopping))
				return -ESTALE;
			if (time_after(jiffies, end))
				return -ETIMEDOUT;
			msleep(5);
		}
		kvc_ag_kick(&join->ags[i]);
	}
	return 0;
}

/* --- what it holds --- */

static void kvc_drain_count_ag(struct kvc_ag *ag, struct kvc_drain_args *args)
{
	const bool home = kvc_ag_home(ag->join->g, ag->number) == args->member;
	u32 i;

	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr; i++) {
		const struct kvc_segment *seg = &ag->segments[i];
		u32 state = seg->s.state;

		if (!home && !((seg->members >> args->member) & 1))
			continue;
		args->objects += atomic_read(&seg->live);
		args->bytes += (u64)atomic_read(&seg->live_blocks)
			       << KVC_BLOCK_SHIFT;
		args->segments += state == KVC_SEG_OPEN || state == KVC_SEG_SEALED;
	}
	mutex_unlock(&ag->lock);
}

/* Does a host that is there not go by our labels, or may not? */
static bool kvc_slot_behind(struct kvc_join *join, u32 slot)
{
	const struct kvc_slot_info *s = kvc_slot(join, slot);

	if (slot == join->writer.slot || kvc_share_silent(join, slot))
		return false;
	if (test_bit(slot, join->slots->unknown))
		return true;
	return kvc_slot_in_use(s) &&
	       s->label_seq < join->pool->label_sequence;
}

/*
 * As the other hosts have it now. First the slots are read, then the journals to
 * their ends: who goes by our labels in the one has all in the other.
 */
static int kvc_drain_look(struct kvc_join *join, struct kvc_drain_args *args)
{
	u32 i, tries;
	int err = 0;

	args->objects = 0;
	args->bytes = 0;
	args->segments = 0;
	args->behind = 0;
	for (tries = 0; join->share && tries < 2 && !err; tries++) {
		unsigned long end = jiffies + msecs_to_jiffies(join->g->lease_ms);

		err = kvc_share_wait(join->share, kvc_share_ticket(join->share),
				     end);
		if (err || tries)
			break;
		kvc_slots_lock(join);
		for (i = 0; i < join->g->nr_slots; i++)
			args->behind += kvc_slot_behind(join, i);
		kvc_slots_unlock(join);
	}
	if (err) {
		kvc_reason(args->reason, "what other hosts of pool %s do can't be seen now (%d)",
			   join->g->name, err);
		return err;
	}
	for (i = 0; i < join->g->nr_ags; i++)
		kvc_drain_count_ag(&join->ags[i], args);
	return 0;
}

/* --- labels --- */

/**
 * struct kvc_relabel - a change of members' states under way
 * @pool: pool; its @life is held
 * @args: what
 * @old: members that are there
 * @found: what labels say; then what they shall say
 */
struct kvc_relabel {
	struct kvc_pool *pool;
	struct kvc_drain_args *args;
	struct kvc_attach_args old;
	struct kvc_found_pool found;
};

/* Members that can be read; one that is to go need not be. */
static int kvc_relabel_read(struct kvc_relabel *r)
{
	struct kvc_pool *pool = r->pool;
	u32 i, nr = pool->g.nr_members;
	int err;

	r->old.paths = kcalloc(nr, sizeof(*r->old.paths), GFP_KERNEL);
	r->old.wwid_hashes = kcalloc(nr, sizeof(*r->old.wwid_hashes), GFP_KERNEL);
	if (!r->old.paths || !r->old.wwid_hashes)
		return -ENOMEM;
	r->old.reason = r->args->reason;
	r->old.degraded = true;
	for (i = 0; i < nr; i++) {
		struct kvc_member *m = &pool->set.m[i];

		if (!m->path[0] || (i == r->args->member &&
				    kvc_member_health(m) == KVC_HEALTH_FAILED))
			continue;
		r->old.paths[r->old.nr++] = (char *)m->path;
	}
	if (!r->old.nr)
		return -ENXIO;
	err = kvc_labels_read(&r->old, &r->found);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		if (r->found.order[i] >= 0 || i == r->args->member ||
		    !kvc_member_state_there(r->found.g.members[i].state))
			continue;
		kvc_reason(r->args->reason, "member %u of pool %s is missing", i,
			   pool->g.name);
		return -ENXIO;
	}
	return 0;
}

/* Its copy of the host slots, KVC_NO_COPY: it has none. */
static u32 kvc_relabel_copy(const struct kvc_geometry *g, u32 member)
{
	u32 place = kvc_slot_place_of(g, member);

	return place < g->nr_slot_copies ? place : KVC_NO_COPY;
}

/* Let the member's copy of the host slots move to one that is live. */
static int kvc_relabel_move(struct kvc_relabel *r)
{
	struct kvc_geometry *g = &r->found.g;
	u32 member = r->args->member, i;
	u64 live = 0;

	if (g->slot_leaves != KVC_NO_COPY) {
		kvc_reason(r->args->reason, "the host slots of pool %s are moving from member %u already: remove that one first",
			   g->name, g->slot_members[g->slot_leaves]);
		return -EBUSY;
	}
	for (i = 0; i < g->nr_members; i++)
		if (kvc_member_health(&r->pool->set.m[i]) == KVC_HEALTH_LIVE)
			live |= BIT_ULL(i);
	if (!kvc_slots_plan_move(g, kvc_relabel_copy(g, member), live))
		return 0;
	kvc_reason(r->args->reason, "member %u of pool %s holds host slots, and no other member can take them: grow the pool first",
		   member, g->name);
	return -EINVAL;
}

/*
 * The next change on the way to what is asked for. A copy of the host slots leaves
 * a member before the member leaves the pool. Return: 1: @found.g has changed, 0:
 * there is nothing to change, errors.
 */
static int kvc_relabel_step(struct kvc_relabel *r)
{
	struct kvc_geometry *g = &r->found.g;
	struct kvc_member_info *info = &g->members[r->args->member];
	u32 copy = kvc_relabel_copy(g, r->args->member);
	const bool moves = copy != KVC_NO_COPY && copy == g->slot_leaves;
	int err = 0;

	switch (r->args->op) {
	case KVCACHE_MEMBER_DRAIN:
		if (info->state == KVC_MEMBER_DRAINING)
			return 0;
		info->state = KVC_MEMBER_DRAINING;
		if (copy != KVC_NO_COPY)
			err = kvc_relabel_move(r);
		break;
	case KVCACHE_MEMBER_KEEP:
		if (info->state == KVC_MEMBER_PRESENT)
			return 0;
		info->state = KVC_MEMBER_PRESENT;
		if (moves)
			kvc_slots_end_move(g, false);
		break;
	default:
		if (info->state == KVC_MEMBER_REMOVED)
			return 0;
		if (moves)
			kvc_slots_end_move(g, true);
		else if (copy != KVC_NO_COPY)
			err = kvc_relabel_move(r);
		else
			info->state = KVC_MEMBER_REMOVED;
	}
	return err ?: 1;
}

/* One that can't be written to is left alone: it is behind, and refused one day. */
static u64 kvc_relabel_skip(const struct kvc_relabel *r)
{
	u32 member = r->args->member;

	return r->found.g.members[member].state == KVC_MEMBER_REMOVED ||
	       kvc_member_health(&r->pool->set.m[member]) == KVC_HEALTH_FAILED ?
		       1ULL << member : 0;
}

static int kvc_relabel_write(struct kvc_relabel *r)
{
	struct kvc_pool *pool = r->pool;
	struct kvc_member_info *info = &r->found.g.members[r->args->member];
	const bool differs = kvc_geometry_differs(&r->found.g, &pool->g);
	int err = 0;

	if (r->found.cut && r->found.g.nr_spans != pool->g.nr_spans) {
		kvc_reason(r->args->reason, "growing pool %s was cut short: grow it again first",
			   pool->g.name);
		return -EUCLEAN;
	}
	/* What was cut short is finished before anything else. */
	if (r->found.lagging)
		err = kvc_labels_write(&pool->set, &r->found.g,
				       r->found.sequence, &r->found.writer,
				       kvc_relabel_skip(r));
	if (err)
		return err;
	/* What is missing here may be in use elsewhere. */
	if (r->args->op == KVCACHE_MEMBER_REMOVE &&
	    info->state == KVC_MEMBER_PRESENT) {
		kvc_reason(r->args->reason, "member %u of pool %s is missing here only: attach the pool with it, and drain it",
			   r->args->member, pool->g.name);
		return -EINVAL;
	}
	err = kvc_relabel_step(r);
	if (err <= 0)
		return err;
	if (differs) {
		kvc_reason(r->args->reason, "the labels of pool %s have been changed since this host attached it: refresh it here first",
			   pool->g.name);
		return -ESTALE;
	}
	r->found.g.incompat |= KVC_FEATURE_INCOMPAT_ELASTIC;
	r->found.sequence++;
	r->found.writer = pool->join->writer;
	if (info->state == KVC_MEMBER_REMOVED)
		info->missing_since = r->found.sequence;
	else if (info->state != KVC_MEMBER_MISSING)
		info->missing_since = 0;
	return kvc_labels_write(&pool->set, &r->found.g, r->found.sequence,
				&r->found.writer, kvc_relabel_skip(r));
}

/* A member that was removed carries no label: nothing finds it any more. */
static void kvc_relabel_wipe(struct kvc_relabel *r)
{
	struct kvc_pool *pool = r->pool;
	struct kvc_member *m = &pool->set.m[r->args->member];
	void *zeroes = (void *)get_zeroed_page(GFP_KERNEL);
	u32 copy;

	for (copy = 0; copy < 2 && zeroes; copy++) {
		struct kvc_place p = kvc_place_label(&pool->g, r->args->member,
						     copy);

		if (kvc_member_health(m) != KVC_HEALTH_LIVE ||
		    kvc_meta_write(m, p.block, 1, zeroes))
			pr_warn("pool %s: the label of member %u, which was removed, can't be wiped\n",
				pool->g.name, r->args->member);
	}
	free_page((unsigned long)zeroes);
}

/* --- what may be done --- */

static int kvc_drain_may(struct kvc_pool *pool, struct kvc_drain_args *args)
{
	const struct kvc_geometry *g = &pool->g;
	u32 state = g->members[args->member].state, i, others = 0;

	if (kvc_slot_place_of(g, args->member) == g->nr_slot_copies) {
		kvc_reason(args->reason, "host slots are moving to member %u of pool %s: remove member %u first",
			   args->member, g->name, g->slot_members[g->slot_leaves]);
		return -EBUSY;
	}
	if (state == KVC_MEMBER_REMOVED) {
		kvc_reason(args->reason, "member %u of pool %s was removed",
			   args->member, pool->g.name);
		return -EINVAL;
	}
	if (args->op != KVCACHE_MEMBER_REMOVE && state == KVC_MEMBER_MISSING) {
		kvc_reason(args->reason, "member %u of pool %s is missing: it can only be removed",
			   args->member, pool->g.name);
		return -EINVAL;
	}
	for (i = 0; i < pool->g.nr_members; i++)
		others += i != args->member &&
			  pool->g.members[i].state == KVC_MEMBER_PRESENT;
	if (!others) {
		kvc_reason(args->reason, "no other member of pool %s would be left",
			   pool->g.name);
		return -EINVAL;
	}
	return 0;
}

static int kvc_remove_may(struct kvc_pool *pool, struct kvc_drain_args *args)
{
	u32 state = pool->g.members[args->member].state;
	int err;

	if (state == KVC_MEMBER_PRESENT) {
		kvc_reason(args->reason, "member %u of pool %s is not drained: drain it first",
			   args->member, pool->g.name);
		return -EINVAL;
	}
	if (kvc_relabel_copy(&pool->g, args->member) != KVC_NO_COPY)
		return pool->g.slot_leaves == KVC_NO_COPY ? 0 :
			       kvc_slots_finish_move(pool->join, args->reason);
	err = kvc_drain_look(pool->join, args);
	if (err)
		return err;
	if (args->behind) {
		kvc_reason(args->reason, "%u other hosts have not taken up that member %u of pool %s is drained: refresh it there",
			   args->behind, args->member, pool->g.name);
		return -EBUSY;
	}
	if ((args->objects || args->segments) && !args->lost) {
		kvc_reason(args->reason, "member %u of pool %s holds %llu objects in %u segments",
			   args->member, pool->g.name, args->objects,
			   args->segments);
		return -EBUSY;
	}
	return 0;
}

static int kvc_relabel_do(struct kvc_pool *pool, struct kvc_drain_args *args)
{
	struct kvc_relabel *r = kvzalloc(sizeof(*r), GFP_KERNEL);
	int err;

	if (!r)
		return -ENOMEM;
	r->pool = pool;
	r->args = args;
	err = kvc_relabel_read(r) ?: kvc_relabel_write(r);
	if (!err && r->found.g.members[args->member].state == KVC_MEMBER_REMOVED)
		kvc_relabel_wipe(r);
	kvc_relabel_end(pool->join);
	if (!err) {
		r->found.cut = false;
		err = kvc_pool_refresh_found(pool, &r->old, &r->found);
	}
	kfree(r->old.paths);
	kfree(r->old.wwid_hashes);
	kvfree(r);
	return err;
}

static int kvc_member_change(struct kvc_pool *pool, struct kvc_drain_args *args)
{
	int err = kvc_drain_may(pool, args);

	if (err)
		return err;
	err = kvc_relabel_begin(pool->join, args->reason);
	if (!err && args->op == KVCACHE_MEMBER_REMOVE)
		err = kvc_remove_may(pool, args);
	if (err) {
		kvc_relabel_end(pool->join);
		return err;
	}
	return kvc_relabel_do(pool, args);
}

int kvc_pool_member(struct kvc_pool *pool, struct kvc_drain_args *args)
{
	static const u32 roles[] = {
		[KVC_MEMBER_PRESENT] = KVCACHE_ROLE_MEMBER,
		[KVC_MEMBER_MISSING] = KVCACHE_ROLE_MISSING,
		[KVC_MEMBER_DRAINING] = KVCACHE_ROLE_DRAINING,
		[KVC_MEMBER_REMOVED] = KVCACHE_ROLE_REMOVED,
	};
	int err = 0;

	if (mutex_lock_killable(&pool->life))
		return -EINTR;
	if (pool->state == KVC_POOL_CLOSING)
		err = -ENODEV;
	else if (!pool->join || !kvc_join_lease_ok(pool->join))
		err = -ESTALE;
	else if (args->member >= pool->g.nr_members)
		err = -EINVAL;
	else if (args->op != KVCACHE_MEMBER_LOOK)
		err = kvc_member_change(pool, args);
	if (!err)
		args->role = roles[pool->g.members[args->member].state];
	/* A member that went ended the membership; who waits for a grant has none. */
	if (!err && pool->join)
		err = kvc_drain_look(pool->join, args);
	mutex_unlock(&pool->life);
	return err;
}
