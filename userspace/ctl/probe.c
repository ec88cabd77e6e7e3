// SPDX-License-Identifier: MIT
/* Which pool do these devices hold, and do their labels agree? */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "kvcache.h"

/* --- problems --- */

static void problem(struct pool_probe *p, bool error, int dev, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));

static void problem(struct pool_probe *p, bool error, int dev, const char *fmt,
		    ...)
{
	struct pool_problem *grown;
	va_list args;
	char *text;
	u32 at;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		abort();
	va_end(args);
	grown = realloc(p->problems, (p->nr_problems + 1) * sizeof(*grown));
	if (!grown)
		abort();
	p->problems = grown;
	/* Errors stand before remarks, each in the order of their finding. */
	at = error ? p->nr_errors : p->nr_problems;
	memmove(&grown[at + 1], &grown[at],
		(p->nr_problems - at) * sizeof(*grown));
	grown[at] = (struct pool_problem) {
		.error = error,
		.dev = dev,
		.text = text,
	};
	p->nr_problems++;
	p->nr_errors += error;
}

void pool_probe_report(struct ctl *ctl, const struct pool_probe *p)
{
	u32 i;

	for (i = 0; i < p->nr_problems; i++) {
		const struct pool_problem *x = &p->problems[i];
		const char *subject = x->dev >= 0 ? p->devs[x->dev].dev.path :
				      p->found ? p->g.name : NULL;

		if (x->error)
			ctl_err(ctl, subject, NULL, "%s", x->text);
		else
			ctl_warn(ctl, subject, NULL, "%s", x->text);
	}
}

cJSON *pool_probe_json(const struct pool_probe *p)
{
	cJSON *array = cJSON_CreateArray();
	u32 i;

	for (i = 0; i < p->nr_problems; i++) {
		const struct pool_problem *x = &p->problems[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "level",
					x->error ? "error" : "warning");
		if (x->dev >= 0)
			cJSON_AddStringToObject(item, "device",
						p->devs[x->dev].dev.path);
		cJSON_AddStringToObject(item, "text", x->text);
		cJSON_AddItemToArray(array, item);
	}
	return array;
}

/* --- labels --- */

static void read_label(const struct ctl_dev *dev, u64 block,
		       struct pool_label *label, void *buf)
{
	const struct kvc_block_header *h = buf;
	u32 member;

	*label = (struct pool_label) { .verdict = KVC_BLOCK_NEVER };
	label->error = ctl_dev_read(dev, block, buf, 1);
	if (label->error) {
		label->why = "it can't be read";
		return;
	}
	label->verdict = kvc_block_verify(buf, KVC_BLOCK_LABEL, NULL, NULL);
	if (label->verdict != KVC_BLOCK_OK) {
		label->why = kvc_block_verdict_name(label->verdict);
		return;
	}
	label->sequence = le64_to_cpu(h->sequence);
	label->incarnation = le64_to_cpu(h->incarnation);
	label->why = "it is malformed";
	if (kvc_label_decode(buf, &label->g, &member, &label->why))
		return;
	label->member = member;
	if (le64_to_cpu(h->address) != kvc_address(member, block)) {
		label->verdict = KVC_BLOCK_MISPLACED;
		label->why = kvc_block_verdict_name(label->verdict);
		return;
	}
	label->usable = true;
	label->why = NULL;
}

static void read_labels(struct pool_dev *d)
{
	void *buf = ctl_buffer(1);
	u64 end = d->dev.blocks ? d->dev.blocks - 1 : 0;

	read_label(&d->dev, 0, &d->label[0], buf);
	/* A device that has grown has its end label where its end was. */
	if (d->label[0].usable)
		end = d->label[0].g.members[d->label[0].member].blocks - 1;
	read_label(&d->dev, end, &d->label[1], buf);
	free(buf);

	if (d->label[0].usable && d->label[1].usable)
		d->newest = &d->label[d->label[1].sequence > d->label[0].sequence];
	else if (d->label[0].usable || d->label[1].usable)
		d->newest = &d->label[d->label[1].usable];
}

/* --- which pool --- */

static bool same_pool(const struct pool_label *a, const struct pool_label *b)
{
	return !memcmp(a->g.uuid, b->g.uuid, sizeof(a->g.uuid));
}

/* The pool of most devices, of these the newest label; NULL: there is none. */
static struct pool_dev *choose(struct pool_probe *p)
{
	struct pool_dev *best = NULL;
	u32 most = 0, i, j;

	for (i = 0; i < p->nr_devs; i++) {
		const struct pool_label *a = p->devs[i].newest;
		u32 count = 0;

		if (!a)
			continue;
		for (j = 0; j < p->nr_devs; j++)
			if (p->devs[j].newest && same_pool(a, p->devs[j].newest))
				count++;
		if (count > most ||
		    (best && count == most && same_pool(a, best->newest) &&
		     a->sequence > best->newest->sequence)) {
			most = count;
			best = &p->devs[i];
		}
	}
	return best;
}

/* --- agreement --- */

static void check_pair(struct pool_probe *p, int i)
{
	const struct pool_dev *d = &p->devs[i];
	const struct pool_label *start = &d->label[0], *end = &d->label[1];

	if (!start->usable)
		problem(p, false, i, "the label at the start is unusable: %s",
			start->why);
	else if (!end->usable)
		problem(p, false, i, "the label at the end is unusable: %s",
			end->why);
	else if (!same_pool(start, end))
		problem(p, true, i, "the labels at start and end are of different pools");
	else if (start->member != end->member)
		problem(p, true, i, "the labels at start and end are of different members");
	else if (start->sequence != end->sequence)
		problem(p, false, i, "the labels at start and end differ in sequence (%" PRIu64 " and %" PRIu64 "): an attach was interrupted",
			(uint64_t)start->sequence, (uint64_t)end->sequence);
}

/*
 * The highest sequence at the start of a member. An attach writes the ends of
 * all members before the first start: no member's newest label may be older.
 */
static u64 highest_start(const struct pool_probe *p)
{
	u64 highest = 0;
	u32 i;

	for (i = 0; i < p->nr_devs; i++) {
		const struct pool_label *l = &p->devs[i].label[0];

		if (l->usable && l->sequence > highest &&
		    same_pool(l, p->devs[p->source].newest))
			highest = l->sequence;
	}
	return highest;
}

/* Is a label a sibling of the newest one? As the kernel judges it. */
static void check_sibling(struct pool_probe *p, int i)
{
	const struct pool_label *l = p->devs[i].newest;
	const struct pool_label *newest = p->devs[p->source].newest;
	const struct kvc_member_info *m = &p->g.members[l->member];
	u64 floor = highest_start(p);

	if (!kvc_geometry_same(&l->g, &newest->g) &&
	    (l->sequence == newest->sequence ||
	     !kvc_geometry_extends(&newest->g, &l->g))) {
		problem(p, true, i, "its label lays the pool out differently from its siblings");
		return;
	}
	if (l->sequence == newest->sequence) {
		if (l->incarnation != newest->incarnation ||
		    memcmp(l->g.members, newest->g.members,
			   sizeof(l->g.members)))
			problem(p, true, i, "its label has the same sequence as its siblings' but another writer: it lived on apart from them (a clone?)");
		return;
	}
	if (!kvc_member_state_there(m->state))
		problem(p, true, i, "the pool was used without it since sequence %" PRIu64 ", its label is of %" PRIu64,
			(uint64_t)m->missing_since, (uint64_t)l->sequence);
	else if (l->sequence >= floor)
		problem(p, false, i, "its label is behind (sequence %" PRIu64 "): %s was interrupted",
			(uint64_t)l->sequence,
			kvc_geometry_differs(&l->g, &newest->g) ?
			"changing the pool" : "an attach");
	else
		problem(p, true, i, "its label is old (sequence %" PRIu64 ", the pool is at %" PRIu64 "): a copy or a snapshot from the past",
			(uint64_t)l->sequence, (uint64_t)p->sequence);
}

static void check_member(struct pool_probe *p, int i)
{
	struct pool_dev *d = &p->devs[i];
	const struct pool_label *l = d->newest;
	const struct kvc_member_info *m, *own;

	if (l->member >= p->g.nr_members) {
		problem(p, true, i, "says it is member %" PRIu32 ", but the pool has only %u",
			(uint32_t)l->member, p->g.nr_members);
		return;
	}
	m = &p->g.members[l->member];
	own = &l->g.members[l->member];
	if (memcmp(m->uuid, own->uuid, sizeof(m->uuid))) {
		problem(p, true, i, "says it is member %" PRIu32 ", but under a different UUID than the pool's",
			(uint32_t)l->member);
		return;
	}
	if (p->members[l->member]) {
		const struct pool_dev *other = p->members[l->member];

		if (ctl_dev_same(&other->dev, &d->dev))
			problem(p, true, i, "is given twice (also as %s)",
				other->dev.path);
		else
			problem(p, true, i, "is member %" PRIu32 ", and so is %s: a copy, or one namespace under two names",
				(uint32_t)l->member, other->dev.path);
		return;
	}
	d->member = (int)l->member;
	p->members[l->member] = d;
	p->nr_present++;

	check_pair(p, i);
	check_sibling(p, i);
	if (d->dev.blocks < m->blocks)
		problem(p, true, i, "is smaller than it was: %" PRIu64 " blocks of 4 KiB instead of %" PRIu64,
			(uint64_t)d->dev.blocks, (uint64_t)m->blocks);
	else if (d->dev.blocks > m->blocks)
		problem(p, false, i, "has grown since it was formatted; the rest is not used");
	if (m->wwid_hash && d->wwid_hash && m->wwid_hash != d->wwid_hash)
		problem(p, true, i, "is not the device that was formatted: its identifier (wwid) is another one");
}

static void check_all(struct pool_probe *p)
{
	char uuid[CTL_TEXT];
	u32 i;

	for (i = 0; i < p->nr_devs; i++) {
		const struct pool_dev *d = &p->devs[i];

		if (!d->newest) {
			if (!d->label[0].error && !d->label[1].error &&
			    d->label[0].verdict == KVC_BLOCK_NEVER &&
			    d->label[1].verdict == KVC_BLOCK_NEVER)
				problem(p, true, (int)i, "carries no label: not a member of a pool");
			else
				problem(p, true, (int)i, "both labels are unusable: at the start %s, at the end %s",
					d->label[0].why, d->label[1].why);
		} else if (memcmp(d->newest->g.uuid, p->g.uuid,
				  sizeof(p->g.uuid))) {
			problem(p, true, (int)i, "belongs to another pool: %s, %s",
				d->newest->g.name,
				ctl_uuid(uuid, d->newest->g.uuid));
		} else {
			check_member(p, (int)i);
		}
	}
	for (i = 0; p->found && i < p->g.nr_members; i++)
		if (!p->members[i] &&
		    p->g.members[i].state != KVC_MEMBER_REMOVED)
			problem(p, kvc_member_state_there(p->g.members[i].state), -1,
				"member %" PRIu32 " (%s) is missing",
				(uint32_t)i, ctl_uuid(uuid, p->g.members[i].uuid));
}

int pool_probe(struct ctl *ctl, struct pool_probe *p, char *const *paths,
	       int nr, unsigned int flags)
{
	struct pool_dev *best;
	char wwid[512];
	int error, i;

	*p = (struct pool_probe) { 0 };
	p->devs = ctl_alloc((size_t)nr * sizeof(*p->devs));
	for (i = 0; i < nr; i++) {
		struct pool_dev *d = &p->devs[i];

		d->member = -1;
		error = ctl_dev_open(ctl, &d->dev, paths[i], flags);
		if (error)
			return error;
		p->nr_devs++;
		ctl_wwid(&d->dev, wwid, sizeof(wwid));
		d->wwid_hash = kvc_wwid_hash(wwid);
		read_labels(d);
	}
	best = choose(p);
	if (best) {
		p->found = true;
		p->g = best->newest->g;
		p->sequence = best->newest->sequence;
		p->source = (u32)(best - p->devs);
	}
	check_all(p);
	return 0;
}

void pool_probe_free(struct pool_probe *p)
{
	u32 i;

	for (i = 0; i < p->nr_devs; i++)
		ctl_dev_close(&p->devs[i].dev);
	for (i = 0; i < p->nr_problems; i++)
		free(p->problems[i].text);
	free(p->problems);
	free(p->devs);
	*p = (struct pool_probe) { 0 };
}

int pool_read(const struct pool_probe *p, struct kvc_place place, void *buf,
	      size_t blocks)
{
	if (place.member >= KVC_MAX_MEMBERS || !p->members[place.member])
		return -ENXIO;
	return ctl_dev_read(&p->members[place.member]->dev, place.block, buf,
			    blocks);
}

int pool_write(const struct pool_probe *p, struct kvc_place place,
	       const void *buf, size_t blocks)
{
	if (place.member >= KVC_MAX_MEMBERS || !p->members[place.member])
		return -ENXIO;
	return ctl_dev_write(&p->members[place.member]->dev, place.block, buf,
			     blocks);
}
