// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: a pool that grows
 *
 * Labels tell of one more span, over new members; nothing that exists moves. They
 * are written by a host that has the pool, under its lease, and one at a time:
 * a host that is about to shows so in its slot, and then looks whether another
 * does (protocol rule 34). Hosts go on with what they know, and take the new labels
 * up one after another.
 *
 * The end copies come first, of the new members before the others: until one of
 * the old members' is written, the pool without the new ones is what it was; from
 * then on it is the pool with them, whatever copies still lag.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include "grow.h"
#include "label.h"
#include "share.h"
#include "slot.h"

/**
 * struct kvc_growth - a growth under way
 * @pool: pool; its @life is held
 * @args: what by
 * @old: the members that it has
 * @found: what their labels say
 * @o: the plan's options
 * @g: what the labels shall say
 * @set: all members, the new ones behind the others; open for this alone
 */
struct kvc_growth {
	struct kvc_pool *pool;
	struct kvc_grow_args *args;
	struct kvc_attach_args old;
	struct kvc_found_pool found;
	struct kvc_grow_options o;
	struct kvc_geometry g;
	struct kvc_member_set set;
};

/* --- one at a time --- */

/*
 * May another host be writing labels? One that was, and died, may have a write on
 * its way until Q has passed since its lease ended.
 */
static bool kvc_slot_relabels(struct kvc_join *join, u32 slot)
{
	const struct kvc_geometry *g = join->g;
	const struct kvc_slot_info *s = kvc_slot(join, slot);

	if (slot == join->writer.slot)
		return false;
	if (test_bit(slot, join->slots->unknown))
		return !kvc_share_silent(join, slot);
	if (!kvc_slot_in_use(s) || !(s->flags & KVC_SLOT_RELABELS))
		return false;
	return kvc_share_silence(join, slot) <=
	       g->lease_ms + g->lease_ms / 8 + g->q_ms;
}

static int kvc_relabel_alone(struct kvc_join *join, char *reason)
{
	struct kvc_share *share = join->share;
	u32 i, other = KVC_NO_SLOT;
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
	for (i = 0; i < join->g->nr_slots && other == KVC_NO_SLOT; i++)
		if (kvc_slot_relabels(join, i))
			other = i;
	kvc_slots_unlock(join);
	if (other == KVC_NO_SLOT)
		return 0;
	kvc_reason(reason, "the host in slot %u changes the labels of pool %s, or died when it did",
		   other, join->g->name);
	return -EBUSY;
}

/* Protocol rule 34: show it, then look. */
int kvc_relabel_begin(struct kvc_join *join, char *reason)
{
	int err;

	WRITE_ONCE(join->relabels, true);
	err = kvc_join_wait_shown(join);
	if (err)
		kvc_reason(reason, "pool %s: the lease ran out", join->g->name);
	return err ?: kvc_relabel_alone(join, reason);
}

void kvc_relabel_end(struct kvc_join *join)
{
	WRITE_ONCE(join->relabels, false);
	kvc_join_beat_soon(join);
}

void kvc_relabel_heal(struct kvc_pool *pool, struct kvc_attach_args *args)
{
	struct kvc_found_pool *found = kvzalloc(sizeof(*found), GFP_KERNEL);
	int err = found ? kvc_relabel_begin(pool->join, NULL) : -ENOMEM;

	if (!err)
		err = kvc_labels_read(args, found);
	/* Else somebody has written others since. */
	if (!err && found->ragged && found->sequence == pool->label_sequence)
		err = kvc_labels_write(&pool->set, &found->g, found->sequence,
				       &found->writer, 0);
	if (found)
		kvc_relabel_end(pool->join);
	if (err)
		pr_warn("pool %s: who wrote its labels was cut short, and they can't be written to the end now (%d)\n",
			pool->g.name, err);
	kvfree(found);
}

/* --- what there is --- */

static int kvc_growth_members(struct kvc_growth *w)
{
	struct kvc_pool *pool = w->pool;
	char *reason = w->args->new.reason;
	u32 i, nr = pool->g.nr_members;

	w->old.paths = kcalloc(nr, sizeof(*w->old.paths), GFP_KERNEL);
	w->old.wwid_hashes = kcalloc(nr, sizeof(*w->old.wwid_hashes), GFP_KERNEL);
	if (!w->old.paths || !w->old.wwid_hashes)
		return -ENOMEM;
	w->old.reason = reason;
	/* New ones may be missing: see kvc_growth_found(). */
	w->old.degraded = true;
	for (i = 0; i < nr; i++)
		if (pool->set.m[i].path[0])
			w->old.paths[w->old.nr++] =
				(char *)pool->set.m[i].path;
	return kvc_labels_read(&w->old, &w->found);
}

/* Is what the labels say what we know, or a growth from there cut short? */
static int kvc_growth_found(struct kvc_growth *w)
{
	struct kvc_pool *pool = w->pool;
	char *reason = w->args->new.reason;
	u32 i;

	for (i = 0; i < pool->g.nr_members; i++) {
		u32 state = w->found.g.members[i].state;

		if (state == KVC_MEMBER_REMOVED ||
		    (w->found.order[i] >= 0 && kvc_member_state_there(state)))
			continue;
		kvc_reason(reason, "member %u of pool %s is not under its path, or its label calls it missing",
			   i, pool->g.name);
		return -ENXIO;
	}
	if (!kvc_geometry_differs(&w->found.g, &pool->g))
		return 0;
	if (w->found.cut && w->found.g.nr_spans > pool->g.nr_spans &&
	    kvc_geometry_extends(&w->found.g, &pool->g))
		return 0;
	kvc_reason(reason, "the labels of pool %s have been changed since this host attached it: refresh it here first",
		   pool->g.name);
	return -ESTALE;
}

/* --- the new members --- */

static int kvc_growth_blank(struct kvc_growth *w, u32 index)
{
	struct kvc_member *m = &w->set.m[index];
	u64 blocks = kvc_member_blocks(m);
	void *block = (void *)__get_free_page(GFP_KERNEL);
	int err = block ? 0 : -ENOMEM;
	u32 copy;

	for (copy = 0; copy < 2 && !err; copy++) {
		err = kvc_meta_read(m, copy ? blocks - 1 : 0, 1, block);
		if (!err && kvc_block_verify(block, KVC_BLOCK_LABEL, NULL, NULL) ==
				    KVC_BLOCK_OK)
			err = -EEXIST;
	}
	if (err)
		kvc_reason(w->args->new.reason, err == -EEXIST ?
			   "%s carries the label of a pool" :
			   "%s can't be read", m->path);
	free_page((unsigned long)block);
	return err;
}

static int kvc_growth_open(struct kvc_growth *w)
{
	struct kvc_attach_args *new = &w->args->new;
	u32 i, nr = w->pool->g.nr_members;
	int err;

	for (i = 0; i < nr + new->nr; i++) {
		const char *path = i < nr ? w->pool->set.m[i].path :
					    new->paths[i - nr];

		if (!path[0])
			continue;	/* it was removed */
		err = kvc_member_open(&w->set, i, path);
		if (err) {
			kvc_reason(new->reason, "%s: can't be opened (%d)%s", path,
				   err, err == -EBUSY ?
				   ": mounted, or in use by something else" : "");
			return err;
		}
		if (i < nr)
			continue;
		if (!kvc_member_blocks(&w->set.m[i]))
			return -ENOSPC;
		err = kvc_growth_blank(w, i);
		if (err)
			return err;
	}
	/* protocol rule 2 */
	w->set.lease_arg = w->pool->set.lease_arg;
	w->set.lease_ok = w->pool->set.lease_ok;
	return 0;
}

static int kvc_growth_plan(struct kvc_growth *w)
{
	struct kvc_attach_args *new = &w->args->new;
	const char *why = "";
	uuid_t uuid;
	u32 i;
	int err;

	w->o.nr_ags = w->args->nr_ags;
	w->o.width = w->args->width;
	w->o.nr_members = new->nr;
	for (i = 0; i < new->nr; i++) {
		struct kvc_member_info *m = &w->o.members[i];

		uuid_gen(&uuid);
		export_uuid(m->uuid, &uuid);
		m->blocks = kvc_member_blocks(&w->set.m[w->pool->g.nr_members + i]);
		m->wwid_hash = new->wwid_hashes[i];
	}
	err = kvc_geometry_grow(&w->found.g, &w->o, &w->g, &why);
	if (err)
		kvc_reason(new->reason, "pool %s can't grow so: %s",
			   w->pool->g.name, why);
	return err;
}

/* --- labels --- */

/* A growth that was cut short goes on, with devices like those it began with. */
static int kvc_growth_finish(struct kvc_growth *w)
{
	struct kvc_attach_args *new = &w->args->new;
	const struct kvc_geometry *g = &w->found.g;
	u32 i, nr = w->pool->g.nr_members;
	bool fit = g->nr_members == nr + new->nr;

	for (i = 0; fit && i < new->nr; i++) {
		const struct kvc_member_info *m = &g->members[nr + i];

		fit = m->blocks == kvc_member_blocks(&w->set.m[nr + i]) &&
		      m->wwid_hash == new->wwid_hashes[i];
	}
	if (!fit) {
		kvc_reason(new->reason, "growing pool %s by %u other members was cut short: grow it by these first, in the same order",
			   g->name, g->nr_members - nr);
		return -EUCLEAN;
	}
	w->g = *g;
	return kvc_labels_write(&w->set, g, w->found.sequence, &w->found.writer, 0);
}

static int kvc_growth_write(struct kvc_growth *w)
{
	int err = kvc_growth_plan(w);

	/* Who lags catches up: two behind is what a snapshot is. */
	if (!err && w->found.lagging)
		err = kvc_labels_write(&w->set, &w->found.g, w->found.sequence,
				       &w->found.writer, 0);
	if (err)
		return err;
	return kvc_labels_write(&w->set, &w->g, w->found.sequence + 1,
				&w->pool->join->writer, 0);
}

static int kvc_growth_do(struct kvc_growth *w)
{
	struct kvc_pool *pool = w->pool;
	bool finish;
	int err;

	err = kvc_growth_members(w) ?: kvc_growth_found(w);
	if (err)
		return err;
	finish = w->found.g.nr_spans != pool->g.nr_spans;
	if (pool->g.nr_members + w->args->new.nr > KVC_MAX_MEMBERS)
		return -ENOSPC;
	err = kvc_members_init(&w->set, pool->g.nr_members + w->args->new.nr);
	if (err)
		return err;
	err = kvc_growth_open(w);
	if (!err)
		err = finish ? kvc_growth_finish(w) : kvc_growth_write(w);
	kvc_members_stop(&w->set);
	if (err)
		return err;
	w->args->nr_members = w->g.nr_members;
	w->args->total_ags = w->g.nr_ags;
	w->args->capacity = (u64)w->g.nr_segments << w->g.segment_shift;
	pr_info("pool %s has grown to %u members and %u AGs\n", w->g.name,
		w->g.nr_members, w->g.nr_ags);
	return 0;
}

int kvc_pool_grow(struct kvc_pool *pool, struct kvc_grow_args *args)
{
	struct kvc_growth *w = kvzalloc(sizeof(*w), GFP_KERNEL);
	int err;

	if (!w)
		return -ENOMEM;
	w->pool = pool;
	w->args = args;
	/* The membership stays as long as this is held. */
	if (mutex_lock_killable(&pool->life)) {
		kvfree(w);
		return -EINTR;
	}
	if (pool->state == KVC_POOL_CLOSING) {
		err = -ENODEV;
	} else if (!pool->join || !kvc_join_lease_ok(pool->join)) {
		err = -ESTALE;
	} else {
		err = kvc_relabel_begin(pool->join, args->new.reason);
		if (!err)
			err = kvc_growth_do(w);
		kvc_relabel_end(pool->join);
	}
	mutex_unlock(&pool->life);
	kfree(w->old.paths);
	kfree(w->old.wwid_hashes);
	kvfree(w);
	return err;
}
