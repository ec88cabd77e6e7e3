// SPDX-License-Identifier: MIT
/*
 * Devices, labels and slots of a pool that is read offline. See poolread.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "poolread.h"

/* --- findings --- */

struct pr_where pr_nowhere(void)
{
	struct pr_where w = {
		.dev = PR_NONE, .member = PR_NONE, .block = PR_NONE64,
		.slot = PR_NONE, .ag = PR_NONE, .epoch = PR_NONE64,
		.position = PR_NONE64, .segment = PR_NONE,
	};

	return w;
}

struct pr_where pr_at(const struct pr_pool *p, struct kvc_place place)
{
	struct pr_where w = pr_nowhere();

	w.dev = p->members[place.member];
	w.member = place.member;
	w.block = place.block;
	return w;
}

void pr_found(struct pr_pool *p, enum pr_code code, enum pr_severity severity,
	      const struct pr_where *where, const char *fmt, ...)
{
	struct pr_finding f = { code, severity, *where, NULL };
	char text[512];
	va_list args;

	p->found[severity]++;
	if (!p->report)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	f.text = text;
	p->report(p->report_private, &f);
}

/* --- reading --- */

void *pr_buffer(size_t nr)
{
	return aligned_alloc(KVC_BLOCK_SIZE, nr << KVC_BLOCK_SHIFT);
}

static int read_dev(struct pr_pool *p, u32 dev, u64 block, void *buf, u32 nr)
{
	const struct pr_source *s = &p->devs[dev].source;

	if (block > s->blocks || nr > s->blocks - block)
		return -ERANGE;
	p->blocks_read += nr;
	return s->read(s->private, block, buf, nr);
}

int pr_read(struct pr_pool *p, struct kvc_place place, void *buf, u32 nr)
{
	u32 dev = p->members[place.member];

	if (dev == PR_NONE)
		return -ENXIO;
	return read_dev(p, dev, place.block, buf, nr);
}

int pr_read_reported(struct pr_pool *p, struct kvc_place place, void *buf,
		     u32 nr, const struct pr_where *where)
{
	int err = pr_read(p, place, buf, nr);
	struct pr_where w = *where;

	/* An absent member was reported as such, once. */
	if (!err || err == -ENXIO)
		return err;
	w.dev = p->members[place.member];
	w.member = place.member;
	w.block = place.block;
	pr_found(p, PR_IO_ERROR, PR_ERROR, &w, "%u block%s can't be read: %s",
		 nr, nr == 1 ? "" : "s", strerror(-err));
	return err;
}

/* --- labels --- */

static void read_label(struct pr_pool *p, u32 dev, u32 copy, u64 block,
		       void *buf)
{
	struct pr_label *l = &p->devs[dev].label[copy];
	const struct kvc_block_header *h = buf;
	struct kvc_place place;

	memset(l, 0, sizeof(*l));
	l->block = block;
	l->error = read_dev(p, dev, block, buf, 1);
	if (l->error)
		return;
	l->verdict = kvc_block_verify(buf, KVC_BLOCK_LABEL, NULL, NULL);
	if (l->verdict != KVC_BLOCK_OK)
		return;
	if (kvc_label_decode(buf, &l->g, &l->member, &l->why))
		return;
	l->sequence = le64_to_cpu(h->sequence);
	l->incarnation = le64_to_cpu(h->incarnation);
	place = kvc_place_label(&l->g, l->member, copy);
	if (place.block != block ||
	    kvc_block_verify(buf, KVC_BLOCK_LABEL, NULL, &place) !=
	    KVC_BLOCK_OK) {
		l->why = "it was written for another place";
		return;
	}
	l->usable = true;
}

static void read_labels(struct pr_pool *p, u32 dev, void *buf)
{
	struct pr_dev *d = &p->devs[dev];
	u64 last = d->source.blocks ? d->source.blocks - 1 : 0;

	d->newest = PR_NONE;
	d->member = PR_NONE;
	read_label(p, dev, 0, 0, buf);
	if (d->label[0].usable)
		last = kvc_place_label(&d->label[0].g, d->label[0].member,
				       1).block;
	read_label(p, dev, 1, last, buf);
	if (d->label[0].usable)
		d->newest = 0;
	if (d->label[1].usable &&
	    (!d->label[0].usable ||
	     d->label[1].sequence > d->label[0].sequence))
		d->newest = 1;
}

static void judge_label_copy(struct pr_pool *p, u32 dev, u32 copy)
{
	const struct pr_dev *d = &p->devs[dev];
	const struct pr_label *l = &d->label[copy];
	struct pr_where w = pr_nowhere();
	const char *which = copy ? "at the end" : "at the start";

	w.dev = dev;
	w.block = l->block;
	if (d->label[!copy].usable)
		w.member = d->label[!copy].member;
	if (l->usable)
		return;
	if (l->error == -ERANGE)
		pr_found(p, PR_MEMBER_SIZE, PR_ERROR, &w,
			 "the device has %llu blocks and ends before its label %s",
			 d->source.blocks, which);
	else if (l->error)
		pr_found(p, PR_IO_ERROR, PR_ERROR, &w,
			 "the label %s can't be read: %s", which,
			 strerror(-l->error));
	else if (l->verdict == KVC_BLOCK_NEVER)
		pr_found(p, PR_LABEL_MISSING, PR_ERROR, &w,
			 "there is no label %s", which);
	else if (l->verdict == KVC_BLOCK_CRC)
		pr_found(p, PR_LABEL_BAD, PR_WARNING, &w,
			 "the label %s has a wrong checksum", which);
	else
		pr_found(p, PR_LABEL_MALFORMED, PR_ERROR, &w,
			 "the label %s can't be used: %s", which,
			 l->why ? l->why : kvc_block_verdict_name(l->verdict));
}

/* Do two labels say the same of the pool, but for members that went missing? */
static bool same_pool(const struct kvc_geometry *a,
		      const struct kvc_geometry *b, bool states, void *buf)
{
	struct kvc_geometry *c = buf;
	void *block_a = (u8 *)buf + 2 * KVC_BLOCK_SIZE;
	void *block_b = (u8 *)buf + 3 * KVC_BLOCK_SIZE;
	u32 i;

	static_assert(sizeof(struct kvc_geometry) <= 2 * KVC_BLOCK_SIZE);
	memcpy(c, a, sizeof(*c));
	if (!states) {
		for (i = 0; i < c->nr_members && i < b->nr_members; i++) {
			c->members[i].state = b->members[i].state;
			c->members[i].missing_since =
				b->members[i].missing_since;
		}
	}
	kvc_label_encode(block_a, c, 0);
	kvc_label_encode(block_b, b, 0);
	return !memcmp(block_a, block_b, KVC_BLOCK_SIZE);
}

/* An older label of a pool that has grown since tells of less. */
static bool may_say(const struct pr_pool *p, const struct pr_label *l, void *buf)
{
	return same_pool(&l->g, &p->g, l->sequence == p->sequence, buf) ||
	       (l->sequence < p->sequence && kvc_geometry_extends(&p->g, &l->g));
}

/*
 * The highest sequence at the start of a member. An attach writes the ends of
 * all members before the first start, so no member's newest label is older,
 * however many attaches were interrupted; one of its copies may be.
 */
static u64 highest_start(const struct pr_pool *p)
{
	u64 highest = 0;
	u32 i;

	for (i = 0; i < p->nr_devs; i++) {
		const struct pr_label *l = &p->devs[i].label[0];

		if (l->usable && l->sequence > highest &&
		    !memcmp(l->g.uuid, p->g.uuid, sizeof(p->g.uuid)))
			highest = l->sequence;
	}
	return highest;
}

static void judge_age(struct pr_pool *p, u32 dev, u32 copy,
		      const struct pr_where *w)
{
	const struct pr_label *l = &p->devs[dev].label[copy];
	bool newest = p->devs[dev].newest == copy;
	bool stray = newest && l->sequence < highest_start(p);

	pr_found(p, PR_LABEL_SEQUENCE, stray ? PR_ERROR : PR_INFO, w,
		 "the label's sequence is %llu, the pool's newest %llu%s",
		 l->sequence, p->sequence,
		 stray ? ", and the device has no newer one: attach refuses it" :
		 "");
}

static void compare_label(struct pr_pool *p, u32 dev, u32 copy, void *buf)
{
	const struct pr_label *l = &p->devs[dev].label[copy];
	struct pr_where w = pr_nowhere();

	if (!l->usable)
		return;
	w.dev = dev;
	w.member = l->member;
	w.block = l->block;
	if (l->member != p->devs[dev].member)
		pr_found(p, PR_LABEL_DISAGREES, PR_ERROR, &w,
			 "the two labels of the device are of members %u and %u",
			 p->devs[dev].member, l->member);
	else if (memcmp(l->g.uuid, p->g.uuid, sizeof(p->g.uuid)))
		pr_found(p, PR_LABEL_DISAGREES, PR_ERROR, &w,
			 "the two labels of the device are of different pools");
	else if (!may_say(p, l, buf))
		pr_found(p, PR_LABEL_DISAGREES, PR_ERROR, &w,
			 "label %llu says other things of the pool than label %llu of %s",
			 l->sequence, p->sequence, p->devs[dev].source.name);
	else if (l->sequence == p->sequence && l->incarnation != p->incarnation)
		pr_found(p, PR_LABEL_DISAGREES, PR_ERROR, &w,
			 "label %llu was written by incarnation %llu, and elsewhere by %llu",
			 l->sequence, l->incarnation, p->incarnation);
	else if (l->sequence != p->sequence)
		judge_age(p, dev, copy, &w);
}

/* Give each device of the pool its member number. */
static void place_members(struct pr_pool *p)
{
	struct pr_where w = pr_nowhere();
	const struct pr_label *l;
	u32 i, m;

	for (i = 0; i < p->nr_devs; i++) {
		struct pr_dev *d = &p->devs[i];

		if (d->newest == PR_NONE)
			continue;
		l = &d->label[d->newest];
		w.dev = i;
		w.block = l->block;
		if (memcmp(l->g.uuid, p->g.uuid, sizeof(p->g.uuid))) {
			pr_found(p, PR_LABEL_FOREIGN, PR_ERROR, &w,
				 "the device belongs to the pool \"%s\"",
				 l->g.name);
			continue;
		}
		m = l->member;
		if (m >= p->g.nr_members)
			continue;
		w.member = m;
		d->member = m;
		if (p->members[m] != PR_NONE) {
			pr_found(p, PR_MEMBER_TWICE, PR_ERROR, &w,
				 "member %u was given before, as %s", m,
				 p->devs[p->members[m]].source.name);
			d->member = PR_NONE;
			continue;
		}
		p->members[m] = i;
		if (l->sequence < p->g.members[m].missing_since)
			pr_found(p, PR_MEMBER_STALE, PR_ERROR, &w,
				 "its label is %llu, and the pool has been without it since label %llu",
				 l->sequence, p->g.members[m].missing_since);
	}
}

/* The newest label of the first device's pool: it speaks for all. */
static bool choose_pool(struct pr_pool *p)
{
	const struct pr_label *best = NULL, *l;
	u32 i;

	for (i = 0; i < p->nr_devs; i++) {
		if (p->devs[i].newest == PR_NONE)
			continue;
		l = &p->devs[i].label[p->devs[i].newest];
		if (best && (memcmp(l->g.uuid, best->g.uuid,
				    sizeof(l->g.uuid)) ||
			     l->sequence <= best->sequence))
			continue;
		best = l;
	}
	if (!best)
		return false;
	p->g = best->g;
	p->sequence = best->sequence;
	p->incarnation = best->incarnation;
	return true;
}

/* Is every device as long as the labels say? Else arithmetic leads astray. */
static bool sizes_hold(struct pr_pool *p)
{
	struct pr_where w = pr_nowhere();
	bool hold = true;
	u32 i;

	for (i = 0; i < p->g.nr_members; i++) {
		const struct pr_dev *d;

		if (p->members[i] == PR_NONE) {
			bool known = p->g.members[i].state == KVC_MEMBER_MISSING;

			if (p->g.members[i].state == KVC_MEMBER_REMOVED)
				continue;
			w = pr_nowhere();
			w.member = i;
			pr_found(p, PR_MEMBER_ABSENT,
				 known ? PR_WARNING : PR_ERROR, &w,
				 "member %u of %u was not given%s", i,
				 p->g.nr_members,
				 known ? "; the pool was attached without it" : "");
			continue;
		}
		d = &p->devs[p->members[i]];
		if (d->source.blocks >= p->g.members[i].blocks)
			continue;
		hold = false;
		w.dev = p->members[i];
		w.member = i;
		if (d->label[0].error == -ERANGE || d->label[1].error == -ERANGE)
			continue;
		pr_found(p, PR_MEMBER_SIZE, PR_ERROR, &w,
			 "the device has %llu blocks, its label says %llu",
			 d->source.blocks, p->g.members[i].blocks);
	}
	return hold;
}

int pr_open(struct pr_pool *p, const struct pr_source *sources, u32 nr)
{
	u8 *buf;
	u32 i;

	for (i = 0; i < KVC_MAX_MEMBERS; i++)
		p->members[i] = PR_NONE;
	p->devs = calloc(nr, sizeof(*p->devs));
	buf = pr_buffer(4);
	if (!p->devs || !buf) {
		free(buf);
		return -ENOMEM;
	}
	p->nr_devs = nr;
	for (i = 0; i < nr; i++) {
		p->devs[i].source = sources[i];
		read_labels(p, i, buf);
		judge_label_copy(p, i, 0);
		judge_label_copy(p, i, 1);
	}
	if (!choose_pool(p)) {
		free(buf);
		return -ENOENT;
	}
	place_members(p);
	for (i = 0; i < nr; i++) {
		if (p->devs[i].member == PR_NONE)
			continue;
		compare_label(p, i, 0, buf);
		compare_label(p, i, 1, buf);
	}
	free(buf);
	return sizes_hold(p) ? 0 : -EUCLEAN;
}

void pr_close(struct pr_pool *p)
{
	free(p->devs);
	free(p->slots);
	free(p->claims);
	p->devs = NULL;
	p->slots = NULL;
	p->claims = NULL;
}

/* --- slots --- */

/**
 * struct slot_copies - the copies of all slots, as read
 * @blocks: per copy, nr_slots * slot_blocks of them; NULL: not readable
 * @error: per copy, for a report by slot
 */
struct slot_copies {
	u8 *blocks[KVC_MAX_SLOT_PLACES];
	int error[KVC_MAX_SLOT_PLACES];
};

static int read_slot_copies(struct pr_pool *p, struct slot_copies *c)
{
	u32 nr = (u32)p->g.nr_slots * p->g.slot_blocks;
	struct pr_where w = pr_nowhere();
	u32 copy;

	for (copy = 0; copy < kvc_slot_places(&p->g); copy++) {
		c->blocks[copy] = pr_buffer(nr);
		if (!c->blocks[copy])
			return -ENOMEM;
		c->error[copy] = pr_read_reported(p,
			kvc_place_slot(&p->g, 0, copy, 0), c->blocks[copy], nr,
			&w);
	}
	return 0;
}

static void free_slot_copies(struct slot_copies *c)
{
	u32 copy;

	for (copy = 0; copy < KVC_MAX_SLOT_PLACES; copy++)
		free(c->blocks[copy]);
}

/* Is what two copies hold the same, but for where they stand? */
static bool same_slot(const u8 *a, const u8 *b)
{
	const struct kvc_block_header *x = (const void *)a;
	const struct kvc_block_header *y = (const void *)b;
	const size_t body = sizeof(*x);

	return x->incarnation == y->incarnation && x->slot == y->slot &&
	       !memcmp(a + body, b + body, KVC_BLOCK_SIZE - body);
}

/* A slot that was written before the pool grew tells of fewer AGs. */
static bool tells_of_enough(const struct pr_pool *p,
			    const struct kvc_slot_info *s, u32 part)
{
	u32 first = part * KVC_AGS_PER_SLOT_BLOCK, known = 0, i, ags;

	for (i = 0; i < p->g.nr_spans; i++) {
		known += p->g.spans[i].nr_ags;
		ags = known > first ? known - first : 0;
		if (s->nr_ags == min_t(u32, ags, KVC_AGS_PER_SLOT_BLOCK))
			return true;
	}
	return false;
}

static const char *slot_nonsense(const struct pr_pool *p,
				 const struct kvc_slot_info *s, u32 slot,
				 u32 part)
{
	u32 first = part * KVC_AGS_PER_SLOT_BLOCK;
	u32 i;

	if (s->number != slot)
		return "it says that it is another slot";
	if (s->first_ag != first)
		return "it says that it is for other allocation groups";
	if (!tells_of_enough(p, s, part))
		return "it is not for all the allocation groups that it should be for";
	if (s->state == KVC_SLOT_FREE) {
		for (i = 0; i < s->nr_ags; i++) {
			if (s->ags[i].owned_epoch || s->ags[i].followed_epoch)
				return "it was never used and yet shows epochs";
		}
	} else if (!s->incarnation) {
		return "it is in use and has no incarnation";
	}
	return NULL;
}

/* Judge a newer copy against an older one of the same slot. */
static void compare_ages(struct pr_pool *p, const struct kvc_slot_info *newer,
			 const struct kvc_slot_info *older,
			 const struct pr_where *w)
{
	u32 i;

	for (i = 0; i < newer->nr_ags && i < older->nr_ags; i++) {
		if (newer->ags[i].owned_epoch >= older->ags[i].owned_epoch)
			continue;
		pr_found(p, PR_SLOT_BACKWARDS, PR_ERROR, w,
			 "sequence %llu shows epoch %llu of AG %u, and sequence %llu %llu",
			 newer->sequence, newer->ags[i].owned_epoch,
			 newer->first_ag + i, older->sequence,
			 older->ags[i].owned_epoch);
		return;
	}
}

static void read_slot(struct pr_pool *p, const struct slot_copies *copies,
		      u32 slot, u32 part)
{
	u32 index = slot * p->g.slot_blocks + part;
	u32 erased = PR_NONE, copy, best = PR_NONE;
	unsigned long readable = 0;
	struct pr_slot *s = &p->slots[index];
	struct kvc_slot_info info, other;
	const struct kvc_block_header *h;
	struct pr_where w, at_best;
	const u8 *block;

	memset(s, 0, sizeof(*s));
	for (copy = 0; copy < kvc_slot_places(&p->g); copy++) {
		struct kvc_place place = kvc_place_slot(&p->g, slot, copy, part);
		enum kvc_block_verdict v;
		const char *nonsense;

		if (copies->error[copy])
			continue;
		block = copies->blocks[copy] + ((size_t)index << KVC_BLOCK_SHIFT);
		w = pr_at(p, place);
		w.slot = slot;
		v = kvc_block_verify(block, KVC_BLOCK_SLOT, p->g.uuid, &place);
		if (v == KVC_BLOCK_NEVER) {
			readable |= BIT(copy);
			erased = copy;
			continue;
		}
		if (v == KVC_BLOCK_CRC) {
			pr_found(p, PR_SLOT_COPY_BAD, PR_INFO, &w,
				 "copy %u of the slot has a wrong checksum",
				 copy);
			continue;
		}
		if (v != KVC_BLOCK_OK || kvc_slot_decode(block, &p->g, &info)) {
			pr_found(p, PR_SLOT_MALFORMED, PR_ERROR, &w,
				 "copy %u of the slot is %s", copy,
				 v == KVC_BLOCK_OK ? "malformed" :
				 kvc_block_verdict_name(v));
			continue;
		}
		nonsense = slot_nonsense(p, &info, slot, part);
		if (nonsense) {
			pr_found(p, PR_SLOT_MALFORMED, PR_ERROR, &w,
				 "copy %u of the slot: %s", copy, nonsense);
			continue;
		}
		readable |= BIT(copy);
		if (best == PR_NONE) {
			best = copy;
			at_best = w;
			s->s = info;
			continue;
		}
		if (info.sequence == s->s.sequence &&
		    info.incarnation == s->s.incarnation) {
			if (!same_slot(block, copies->blocks[best] +
				       ((size_t)index << KVC_BLOCK_SHIFT)))
				pr_found(p, PR_SLOT_SPLIT, PR_ERROR, &w,
					 "copies %u and %u have sequence %llu and different contents",
					 best, copy, info.sequence);
			continue;
		}
		pr_found(p, PR_SLOT_COPIES_DIFFER, PR_INFO, &w,
			 "copy %u has incarnation %llu, sequence %llu, copy %u %llu, %llu",
			 copy, info.incarnation, info.sequence, best,
			 s->s.incarnation, s->s.sequence);
		if (kvc_slot_newer(&s->s, &info)) {
			compare_ages(p, &s->s, &info, &at_best);
			continue;
		}
		other = s->s;
		best = copy;
		at_best = w;
		s->s = info;
		compare_ages(p, &s->s, &other, &w);
	}
	s->known = kvc_slot_most(&p->g, readable);
	if (best != PR_NONE && erased != PR_NONE) {
		w = pr_at(p, kvc_place_slot(&p->g, slot, erased, part));
		w.slot = slot;
		pr_found(p, PR_SLOT_COPIES_DIFFER, PR_INFO, &w,
			 "copy %u was never written, copy %u has sequence %llu",
			 erased, best, s->s.sequence);
	}
	if (best != PR_NONE) {
		h = (const void *)(copies->blocks[best] +
				   ((size_t)index << KVC_BLOCK_SHIFT));
		s->writer.slot = le32_to_cpu(h->slot);
		s->writer.incarnation = le64_to_cpu(h->incarnation);
		s->written = true;
	}
	if (!s->known) {
		w = pr_nowhere();
		w.slot = slot;
		pr_found(p, PR_SLOT_MAJORITY, PR_ERROR, &w,
			 "only %u of %u copies can be read", hweight_long(readable),
			 kvc_slot_places(&p->g));
		p->slots_complete = false;
	}
}

/* Collect who shows which epoch. */
static void collect_claims(struct pr_pool *p, u32 slot, u32 part)
{
	const struct pr_slot *s = &p->slots[slot * p->g.slot_blocks + part];
	struct pr_where w = pr_nowhere();
	u32 i;

	if (!s->written)
		return;
	w.slot = slot;
	for (i = 0; i < s->s.nr_ags; i++) {
		struct pr_claim *c = &p->claims[s->s.first_ag + i];
		u64 epoch = s->s.ags[i].owned_epoch;

		if (!epoch || epoch < c->epoch)
			continue;
		if (epoch == c->epoch) {
			w.ag = s->s.first_ag + i;
			w.epoch = epoch;
			pr_found(p, PR_EPOCH_TWICE, PR_ERROR, &w,
				 "slots %u and %u both show epoch %llu",
				 c->slot, slot, epoch);
			continue;
		}
		c->epoch = epoch;
		c->slot = slot;
		c->incarnation = s->s.incarnation;
		c->state = s->s.state;
		c->writer = s->writer;
	}
}

int pr_slots(struct pr_pool *p)
{
	struct slot_copies copies = {};
	u32 slot, part;
	int err;

	if (!p->slots) {
		p->slots = calloc((size_t)p->g.nr_slots * p->g.slot_blocks,
				  sizeof(*p->slots));
		p->claims = calloc(p->g.nr_ags, sizeof(*p->claims));
	}
	if (!p->slots || !p->claims)
		return -ENOMEM;
	memset(p->claims, 0, p->g.nr_ags * sizeof(*p->claims));
	p->slots_complete = true;
	err = read_slot_copies(p, &copies);
	for (slot = 0; !err && slot < p->g.nr_slots; slot++) {
		for (part = 0; part < p->g.slot_blocks; part++) {
			read_slot(p, &copies, slot, part);
			collect_claims(p, slot, part);
		}
	}
	free_slot_copies(&copies);
	return err;
}
