// SPDX-License-Identifier: GPL-2.0
/*
 * What makes a set of devices a pool: every label tells all members, so a
 * stranger, a clone, a snapshot and a half that lived on alone give themselves
 * away. Nothing is repaired here and nothing is guessed: what disagrees is
 * refused by name.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "label.h"

/**
 * struct kvc_found - the label of one device
 * @g: geometry in it
 * @member: which member it says to be
 * @sequence: label sequence
 * @writer: who wrote it
 * @start: sequence of the label at the start, 0: it is not sound
 */
struct kvc_found {
	struct kvc_geometry g;
	u32 member;
	u64 sequence;
	struct kvc_writer writer;
	u64 start;
};

/* Take a copy's block if it is a better label than the one found so far. */
static int kvc_label_take(const void *block, struct kvc_place where,
			  struct kvc_found *f, bool *have, const char **why)
{
	const struct kvc_block_header *h = block;
	enum kvc_block_verdict v;
	struct kvc_geometry *g;
	u32 member;
	int err;

	v = kvc_block_verify(block, KVC_BLOCK_LABEL, NULL, NULL);
	if (v != KVC_BLOCK_OK) {
		*why = kvc_block_verdict_name(v);
		return v == KVC_BLOCK_VERSION ? -EOPNOTSUPP : -EUCLEAN;
	}
	g = kmalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return -ENOMEM;
	err = kvc_label_decode(block, g, &member, why);
	if (!err && le64_to_cpu(h->address) !=
			    kvc_address(member, where.block)) {
		*why = "a label that was made for another place (a device that changed its size?)";
		err = -EUCLEAN;
	}
	if (!err && *have &&
	    (member != f->member || memcmp(g->uuid, f->g.uuid, 16))) {
		*why = "the labels at its start and end are of different members";
		err = -EUCLEAN;
		*have = false;
	} else if (!err && (!*have || le64_to_cpu(h->sequence) > f->sequence)) {
		f->g = *g;
		f->member = member;
		f->sequence = le64_to_cpu(h->sequence);
		f->writer.slot = le32_to_cpu(h->slot);
		f->writer.incarnation = le64_to_cpu(h->incarnation);
		*have = true;
	}
	if (!err && !where.block)
		f->start = f->sequence;
	kfree(g);
	return err;
}

static int kvc_label_probe(struct kvc_attach_args *args, u32 i,
			   struct kvc_member *m, struct kvc_found *f)
{
	u64 blocks = kvc_member_blocks(m);
	const char *why = "no label";
	bool have = false;
	void *buf;
	int copy, err = 0, bad = 0;

	buf = (void *)__get_free_page(GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	for (copy = 0; copy < 2; copy++) {
		struct kvc_place p = { 0, copy ? blocks - 1 : 0 };

		err = blocks ? kvc_meta_read(m, p.block, 1, buf) : -ENXIO;
		if (!err)
			err = kvc_label_take(buf, p, f, &have, &why);
		else
			why = "its label can't be read";
		if (err && !bad)
			bad = err;
	}
	free_page((unsigned long)buf);
	if (have) {
		if (bad)
			pr_warn("%s: one of its two labels is not sound (%s); the other is used\n",
				args->paths[i], why);
		return 0;
	}
	kvc_reason(args->reason,
		   "%s: no sound label (%s): not a member of a pool, or not formatted (kvcachectl format, kvcachectl dump label)",
		   args->paths[i], why);
	return bad;
}

/*
 * @floor: the highest sequence at a start. The ends of all members are written
 * before the first start, so no member's newest label may be older.
 */
static int kvc_label_sibling(struct kvc_attach_args *args, u32 i,
			     const struct kvc_found *f,
			     const struct kvc_found *newest, u64 floor)
{
	const struct kvc_member_info *mine = &newest->g.members[f->member];
	const char *path = args->paths[i];

	if (memcmp(f->g.uuid, newest->g.uuid, 16)) {
		kvc_reason(args->reason, "%s belongs to another pool (%s, not %s)",
			   path, f->g.name, newest->g.name);
		return -EUCLEAN;
	}
	/* Protocol rule 34: who writes labels anew may have been cut short. */
	if (!kvc_geometry_same(&f->g, &newest->g) &&
	    (f->sequence == newest->sequence ||
	     !kvc_geometry_extends(&newest->g, &f->g))) {
		kvc_reason(args->reason,
			   "%s: its label lays pool %s out differently from its siblings",
			   path, f->g.name);
		return -EUCLEAN;
	}
	if (f->sequence == newest->sequence) {
		if (f->writer.incarnation != newest->writer.incarnation ||
		    memcmp(f->g.members, newest->g.members,
			   sizeof(f->g.members))) {
			kvc_reason(args->reason,
				   "%s: its label has the same sequence as its siblings' but another writer: it lived on apart from them (a clone?)",
				   path);
			return -EUCLEAN;
		}
	} else if (f->sequence < floor || !kvc_member_state_there(mine->state)) {
		kvc_reason(args->reason,
			   "%s: its label is older than its siblings' (sequence %llu, not %llu): a snapshot, or the pool was used without it",
			   path, f->sequence, newest->sequence);
		return -EUCLEAN;
	}
	if (args->wwid_hashes[i] && mine->wwid_hash &&
	    args->wwid_hashes[i] != mine->wwid_hash) {
		kvc_reason(args->reason,
			   "%s carries the label of member %u, but is another device (its identifier differs): a clone",
			   path, f->member);
		return -EUCLEAN;
	}
	return 0;
}

static int kvc_labels_judge(struct kvc_attach_args *args,
			    const struct kvc_found *found,
			    struct kvc_found_pool *pool)
{
	int *order = pool->order;
	const struct kvc_found *newest = &found[0];
	u32 i, missing = 0, first = 0;
	u64 floor = 0;
	int err;

	for (i = 1; i < args->nr; i++)
		if (found[i].sequence > newest->sequence &&
		    !memcmp(found[i].g.uuid, newest->g.uuid, 16))
			newest = &found[i];
	for (i = 0; i < args->nr; i++)
		if (!memcmp(found[i].g.uuid, newest->g.uuid, 16))
			floor = max(floor, found[i].start);
	memset(order, -1, sizeof(pool->order));
	for (i = 0; i < args->nr; i++) {
		err = kvc_label_sibling(args, i, &found[i], newest, floor);
		if (err)
			return err;
		if (order[found[i].member] >= 0) {
			kvc_reason(args->reason,
				   "%s and %s are both member %u: one is a clone, or one namespace under two names",
				   args->paths[order[found[i].member]],
				   args->paths[i], found[i].member);
			return -EUCLEAN;
		}
		order[found[i].member] = i;
		pool->lagging |= found[i].sequence != newest->sequence;
		pool->ragged |= found[i].start != newest->sequence;
		pool->cut |= kvc_geometry_differs(&found[i].g, &newest->g);
	}
	for (i = 0; i < newest->g.nr_members; i++) {
		if (order[i] >= 0 ||
		    newest->g.members[i].state == KVC_MEMBER_REMOVED)
			continue;
		if (!missing++)
			first = i;
	}
	if (missing && !args->degraded) {
		kvc_reason(args->reason,
			   "pool %s has %u members and %u of them are missing (the first is member %u, uuid %pUb); attach it degraded to go on without their objects",
			   newest->g.name, newest->g.nr_members, missing, first,
			   newest->g.members[first].uuid);
		return -ENXIO;
	}
	pool->g = newest->g;
	pool->sequence = newest->sequence;
	pool->writer = newest->writer;
	return 0;
}

int kvc_labels_read(struct kvc_attach_args *args, struct kvc_found_pool *pool)
{
	struct kvc_member_set *set;
	struct kvc_found *found;
	u32 i;
	int err;

	set = kvzalloc(sizeof(*set), GFP_KERNEL);
	found = kvcalloc(args->nr, sizeof(*found), GFP_KERNEL);
	if (!set || !found) {
		err = -ENOMEM;
		goto free;
	}
	err = kvc_members_init(set, args->nr);
	if (err)
		goto free;
	for (i = 0; i < args->nr && !err; i++) {
		err = kvc_member_open(set, i, args->paths[i]);
		if (err) {
			kvc_reason(args->reason, "%s: can't be opened (%d)%s",
				   args->paths[i], err,
				   err == -EBUSY ? ": mounted, or in use by something else" : "");
			break;
		}
		err = kvc_label_probe(args, i, &set->m[i], &found[i]);
	}
	kvc_members_stop(set);
	if (!err)
		err = kvc_labels_judge(args, found, pool);
free:
	kvfree(found);
	kvfree(set);
	return err;
}

int kvc_labels_write(struct kvc_member_set *set, const struct kvc_geometry *g,
		     u64 sequence, const struct kvc_writer *w, u64 skip)
{
	void *block;
	u32 i, copy;
	int err = 0;

	block = (void *)__get_free_page(GFP_KERNEL);
	if (!block)
		return -ENOMEM;
	/*
	 * All end copies, then all start copies: each member keeps a sound one.
	 * New members first, or the others would tell of one that is none yet.
	 */
	for (copy = 2; copy-- > 0 && !err;) {
		for (i = g->nr_members; i-- > 0 && !err;) {
			struct kvc_place p = kvc_place_label(g, i, copy);

			if (!READ_ONCE(set->m[i].bdev) || (skip >> i) & 1)
				continue;
			kvc_label_encode(block, g, i);
			kvc_block_finish(block, KVC_BLOCK_LABEL, g->uuid, p,
					 sequence, w);
			err = kvc_meta_write(&set->m[i], p.block, 1, block);
		}
	}
	free_page((unsigned long)block);
	return err;
}

/*
 * Is this block a label of a member that tells other things than what this
 * attachment goes by, and later? One that does not tells nothing.
 */
static bool kvc_label_changed(struct kvc_pool *pool, u32 member, const void *block,
			      struct kvc_geometry *g)
{
	const struct kvc_block_header *h = block;
	u32 says;

	return kvc_block_verify(block, KVC_BLOCK_LABEL, pool->g.uuid, NULL) ==
		       KVC_BLOCK_OK &&
	       !kvc_label_decode(block, g, &says, NULL) && says == member &&
	       le64_to_cpu(h->sequence) >= READ_ONCE(pool->label_sequence) &&
	       kvc_geometry_extends(g, &pool->g) &&
	       kvc_geometry_differs(g, &pool->g);
}

bool kvc_label_is_ours(struct kvc_pool *pool, u32 member, const void *label)
{
	void *block = (void *)__get_free_page(GFP_KERNEL);
	struct kvc_geometry *g;
	bool same;

	if (!block)
		return false;
	/* All of it: a clone or a snapshot differs in something. */
	kvc_label_encode(block, &pool->g, member);
	kvc_block_finish(block, KVC_BLOCK_LABEL, pool->g.uuid,
			 kvc_place_label(&pool->g, member, 0),
			 pool->label_sequence, &pool->label_writer);
	same = !memcmp(block, label, KVC_BLOCK_SIZE);
	free_page((unsigned long)block);
	if (same)
		return true;
	g = kmalloc(sizeof(*g), GFP_KERNEL);
	same = g && kvc_label_changed(pool, member, label, g) &&
	       kvc_member_state_there(g->members[member].state);
	kfree(g);
	return same;
}

/* 0; -ESTALE: a member's label tells other things than we know; -EIO. */
static int kvc_labels_look(struct kvc_pool *pool, void *block,
			   struct kvc_geometry *g)
{
	u32 i, copy, read = 0;

	for (i = 0; i < pool->g.nr_members; i++) {
		struct kvc_member *m = &pool->set.m[i];

		for (copy = 0; copy < 2; copy++) {
			struct kvc_place p = kvc_place_label(&pool->g, i, copy);

			if (kvc_member_health(m) != KVC_HEALTH_LIVE ||
			    kvc_meta_read(m, p.block, 1, block))
				continue;
			if (kvc_label_changed(pool, i, block, g))
				return -ESTALE;
			read++;
		}
	}
	return read ? 0 : -EIO;
}

int kvc_labels_check(struct kvc_pool *pool, char *reason)
{
	struct kvc_geometry *g = kmalloc(sizeof(*g), GFP_KERNEL);
	void *block = (void *)__get_free_page(GFP_KERNEL);
	int err = g && block ? kvc_labels_look(pool, block, g) : -ENOMEM;

	if (err == -ESTALE)
		kvc_reason(reason, "the labels of pool %s have been changed since they were read (%u members, %u AGs): attach it anew, with all its members",
			   pool->g.name, g->nr_members, g->nr_ags);
	else if (err == -EIO)
		kvc_reason(reason, "no label of pool %s can be read",
			   pool->g.name);
	free_page((unsigned long)block);
	kfree(g);
	return err;
}
