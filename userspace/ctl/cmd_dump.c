// SPDX-License-Identifier: MIT
/* kvcachectl dump: show what stands on the members of a pool. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"
#include "dump.h"
#include "poolread.h"
#include "poolsource.h"

enum {
	OPT_EPOCH = 1000,
};

static const struct ctl_option options[] = {
	{ OPT_EPOCH, "epoch", "N", "ag: show the journal of this epoch (default: the one that counts)" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] [WHAT] device...",
	.about = "Shows structures of a pool as they stand on its members. It reads only, and\n"
		 "also what is damaged. WHAT is one of\n"
		 "  label                the two labels of each member\n"
		 "  slots                host slots that were used\n"
		 "  ag N                 headers and journal of an allocation group\n"
		 "  segment N            a segment and its objects, also dead ones\n"
		 "  block MEMBER BLOCK   one 4 KiB block, decoded, or in hex\n"
		 "  objects              all objects that can be hit\n"
		 "or nothing, for an overview.",
	.options = options,
};

struct dump {
	struct ctl *ctl;
	struct dump_out out;
	struct pr_pool pool;
	struct pool_sources sources;
	u64 epoch;
	bool has_epoch;
	u64 args[2];
};

/* A word of the command line, what it takes, and who does it. */
struct what {
	const char *word;
	int nr_args;
	bool needs_layout;	/* no use of it while sizes contradict labels */
	int (*run)(struct dump *d);
};

static cJSON *item(const char *kind)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "kind", kind);
	return o;
}

/* --- overview --- */

static void emit_pool(struct dump *d)
{
	const struct kvc_geometry *g = &d->pool.g;
	cJSON *o = item("pool");

	dump_geometry(o, g);
	dump_emit(&d->out, o);
}

static void emit_members(struct dump *d)
{
	const struct kvc_geometry *g = &d->pool.g;
	u32 i;

	for (i = 0; i < g->nr_members; i++) {
		cJSON *o = item("member");
		u32 dev = d->pool.members[i];

		cJSON_AddNumberToObject(o, "member", i);
		cJSON_AddStringToObject(o, "device", dev == PR_NONE ? "absent" :
					d->pool.devs[dev].source.name);
		dump_member(o, &g->members[i]);
		dump_emit(&d->out, o);
	}
}

static void count_objects(cJSON *o, const struct pr_view *v)
{
	u64 objects = 0, bytes = 0;
	u32 i, states[KVC_SEG_RETIRED + 1] = {};

	for (i = 0; i < v->nr_segments; i++)
		states[v->segments[i].rec.state]++;
	for (i = 0; i < v->nr_objects; i++) {
		if (!pr_object_live(v, &v->objects[i]))
			continue;
		objects++;
		bytes += v->objects[i].bytes;
	}
	for (i = 0; i < ARRAY_SIZE(states); i++)
		cJSON_AddNumberToObject(o, pr_state_name(i), states[i]);
	ctl_json_u64(o, "objects", objects);
	ctl_json_u64(o, "bytes", bytes);
}

static int overview(struct dump *d)
{
	struct pr_ag a;
	u32 ag;
	int err = 0;

	emit_pool(d);
	emit_members(d);
	for (ag = 0; !err && ag < d->pool.g.nr_ags; ag++) {
		cJSON *o = item("ag");

		err = pr_ag_load(&a, &d->pool, ag);
		cJSON_AddNumberToObject(o, "ag", ag);
		cJSON_AddNumberToObject(o, "home", kvc_ag_home(&d->pool.g, ag));
		ctl_json_u64(o, "shown", d->pool.claims[ag].epoch);
		ctl_json_u64(o, "epoch", a.epoch);
		if (a.has_view) {
			ctl_json_u64(o, "checkpoint", a.checkpoint);
			ctl_json_u64(o, "end", a.end);
			count_objects(o, &a.view);
		}
		dump_emit(&d->out, o);
		pr_ag_free(&a);
	}
	return err;
}

/* --- labels and slots --- */

static void emit_label(struct dump *d, const struct pr_dev *dev, u32 copy)
{
	const struct pr_label *l = &dev->label[copy];
	cJSON *o = item("label");

	cJSON_AddStringToObject(o, "device", dev->source.name);
	ctl_json_u64(o, "block", l->block);
	if (l->error) {
		cJSON_AddStringToObject(o, "error", strerror(-l->error));
	} else if (!l->usable) {
		cJSON_AddStringToObject(o, "verdict",
					kvc_block_verdict_name(l->verdict));
		if (l->why)
			cJSON_AddStringToObject(o, "why", l->why);
	} else {
		ctl_json_u64(o, "sequence", l->sequence);
		ctl_json_u64(o, "incarnation", l->incarnation);
		cJSON_AddNumberToObject(o, "member", l->member);
		dump_geometry(o, &l->g);
	}
	dump_emit(&d->out, o);
}

static int labels(struct dump *d)
{
	u32 i;

	for (i = 0; i < d->pool.nr_devs; i++) {
		emit_label(d, &d->pool.devs[i], 0);
		emit_label(d, &d->pool.devs[i], 1);
	}
	return 0;
}

static int slots(struct dump *d)
{
	u32 nr = (u32)d->pool.g.nr_slots * d->pool.g.slot_blocks, i;

	for (i = 0; i < nr; i++) {
		const struct pr_slot *s = &d->pool.slots[i];
		cJSON *o;

		if (!s->written && s->known)
			continue;
		o = item("slot");
		cJSON_AddNumberToObject(o, "slot", i / d->pool.g.slot_blocks);
		if (!s->known)
			cJSON_AddStringToObject(o, "problem",
						"no majority of copies can be read");
		if (s->written)
			dump_slot(o, &s->s, &s->writer);
		dump_emit(&d->out, o);
	}
	return 0;
}

/* --- an allocation group --- */

static void emit_area(struct dump *d, const struct pr_area *a, u32 ag,
		      u32 number)
{
	u32 i;

	for (i = 0; i < KVC_AREA_HEADERS; i++) {
		struct kvc_place p = kvc_place_area(&d->pool.g, ag, number);
		cJSON *o;

		if (a->verdict[i] == KVC_BLOCK_NEVER)
			continue;
		o = item("area");
		cJSON_AddNumberToObject(o, "area", number);
		cJSON_AddNumberToObject(o, "header", i);
		dump_place(o, (struct kvc_place){ p.member, p.block + i });
		if (a->valid[i])
			dump_area(o, &a->info[i]);
		else
			cJSON_AddStringToObject(o, "verdict",
						kvc_block_verdict_name(a->verdict[i]));
		dump_emit(&d->out, o);
	}
}

static int emit_journal(struct dump *d, u32 ag, const struct kvc_area_info *h)
{
	struct kvc_journal_info info;
	struct kvc_records records;
	struct pr_ring ring;
	u64 position;
	int err = pr_ring_open(&ring, &d->pool, ag, h->epoch % KVC_NR_AREAS);

	if (err)
		return err;
	for (position = h->head;
	     pr_ring_look(&ring, h->epoch, position, &info, &records) ==
	     PR_STANDS; position++) {
		cJSON *o = item("block");

		ctl_json_u64(o, "position", position);
		dump_place(o, kvc_place_journal(&d->pool.g, ag, h->epoch,
						position));
		dump_records(o, &records);
		dump_emit(&d->out, o);
	}
	pr_ring_close(&ring);
	return 0;
}

/* Which epoch to show: the one asked for, or the highest. */
static const struct kvc_area_info *choose(const struct dump *d,
					  const struct pr_area *areas)
{
	const struct kvc_area_info *best = NULL, *h;
	u32 i;

	for (i = 0; i < KVC_NR_AREAS; i++) {
		if (areas[i].best == PR_NONE)
			continue;
		h = &areas[i].info[areas[i].best];
		if (d->has_epoch ? h->epoch == d->epoch :
		    !best || h->epoch > best->epoch)
			best = h;
	}
	return best;
}

static int group(struct dump *d)
{
	struct pr_area areas[KVC_NR_AREAS];
	const struct kvc_area_info *h;
	u32 ag = (u32)d->args[0], i;
	cJSON *o;

	if (d->args[0] >= d->pool.g.nr_ags)
		ctl_usage_error(d->ctl, "the pool has only %u allocation groups",
				d->pool.g.nr_ags);
	o = item("ag");
	cJSON_AddNumberToObject(o, "ag", ag);
	cJSON_AddNumberToObject(o, "home", kvc_ag_home(&d->pool.g, ag));
	ctl_json_u64(o, "shown", d->pool.claims[ag].epoch);
	cJSON_AddNumberToObject(o, "first_segment",
				kvc_ag_first_segment(&d->pool.g, ag));
	cJSON_AddNumberToObject(o, "segments",
				kvc_ag_nr_segments(&d->pool.g, ag));
	dump_emit(&d->out, o);
	for (i = 0; i < KVC_NR_AREAS; i++) {
		int err = pr_area_read(&areas[i], &d->pool, ag, i, false);

		if (err == -ENOMEM)
			return err;
		emit_area(d, &areas[i], ag, i);
	}
	h = choose(d, areas);
	if (h)
		return emit_journal(d, ag, h);
	if (d->has_epoch)
		ctl_warn(d->ctl, NULL, NULL, "no area holds epoch %" PRIu64,
			 (uint64_t)d->epoch);
	return 0;
}

/* --- segments and objects --- */

static int by_offset(const void *a, const void *b)
{
	const struct pr_object *const *x = a, *const *y = b;

	return (*x)->offset < (*y)->offset ? -1 :
	       (*x)->offset > (*y)->offset;
}

static void emit_object(struct dump *d, const struct pr_view *v,
			const struct pr_object *p)
{
	cJSON *o = item("object");
	u64 bytes = KVC_BLOCK_SIZE;

	cJSON_AddNumberToObject(o, "ag", v->ag);
	dump_object(o, p);
	dump_place(o, kvc_place_data(&d->pool.g, p->segment,
				     (u64)p->offset << KVC_BLOCK_SHIFT,
				     &bytes));
	if (!pr_object_live(v, p))
		cJSON_AddTrueToObject(o, "dead");
	dump_emit(&d->out, o);
}

static void emit_segment(struct dump *d, const struct pr_ag *a,
			 const struct pr_segment *s)
{
	const struct pr_object **order =
		ctl_alloc((a->view.nr_objects + 1) * sizeof(*order));
	cJSON *o = item("segment");
	u32 nr = 0, i;

	dump_segment(o, &s->rec);
	cJSON_AddNumberToObject(o, "ag", a->ag);
	if (s->summary_bad)
		cJSON_AddStringToObject(o, "problem",
					"its summary can't be read");
	dump_lanes(o, &d->pool.g, s->rec.segment);
	dump_emit(&d->out, o);
	for (i = s->first; i != PR_NONE; i = a->view.objects[i].next_segment)
		order[nr++] = &a->view.objects[i];
	qsort(order, nr, sizeof(*order), by_offset);
	for (i = 0; i < nr; i++)
		emit_object(d, &a->view, order[i]);
	free(order);
}

static int segment(struct dump *d)
{
	u32 number = (u32)d->args[0];
	struct pr_ag a;
	cJSON *o;
	int err;

	if (d->args[0] >= d->pool.g.nr_segments)
		ctl_usage_error(d->ctl, "the pool has only %u segments",
				d->pool.g.nr_segments);
	err = pr_ag_load(&a, &d->pool, kvc_segment_ag(&d->pool.g, number));
	if (!err && a.has_view) {
		emit_segment(d, &a, pr_view_segment(&a.view, number));
	} else if (!err) {
		o = item("segment");
		cJSON_AddNumberToObject(o, "segment", number);
		cJSON_AddNumberToObject(o, "ag", a.ag);
		cJSON_AddStringToObject(o, "problem",
					"its allocation group is empty or can't be read");
		dump_lanes(o, &d->pool.g, number);
		dump_emit(&d->out, o);
	}
	pr_ag_free(&a);
	return err;
}

static int objects(struct dump *d)
{
	struct pr_ag a;
	u32 ag, i;
	int err = 0;

	for (ag = 0; !err && ag < d->pool.g.nr_ags; ag++) {
		err = pr_ag_load(&a, &d->pool, ag);
		for (i = 0; !err && a.has_view && i < a.view.nr_objects; i++) {
			if (pr_object_live(&a.view, &a.view.objects[i]))
				emit_object(d, &a.view, &a.view.objects[i]);
		}
		pr_ag_free(&a);
	}
	return err;
}

static int block(struct dump *d)
{
	struct kvc_place p = {
		.member = (u32)d->args[0], .block = d->args[1],
	};
	cJSON *o;
	u8 *buf;
	int err;

	if (d->args[0] >= d->pool.g.nr_members)
		ctl_usage_error(d->ctl, "the pool has only %u members",
				d->pool.g.nr_members);
	buf = ctl_buffer(1);
	err = pr_read(&d->pool, p, buf, 1);
	if (err == -ERANGE)
		ctl_usage_error(d->ctl, "member %u has only %" PRIu64 " blocks",
				p.member,
				(uint64_t)d->pool.g.members[p.member].blocks);
	if (err) {
		free(buf);
		return err;
	}
	o = item("block");
	dump_place(o, p);
	dump_block(o, &d->pool.g, p, buf);
	dump_emit(&d->out, o);
	free(buf);
	return 0;
}

static const struct what whats[] = {
	{ "label", 0, false, labels },
	{ "slots", 0, true, slots },
	{ "ag", 1, true, group },
	{ "segment", 1, true, segment },
	{ "block", 2, false, block },
	{ "objects", 0, true, objects },
};

/* --- the command --- */

/* Takes the words off the front of the arguments. */
static struct what parse_what(struct dump *d, char **argv, int argc, int *used)
{
	struct what what = { "", 0, true, overview };
	size_t i;
	int k;

	for (i = 0; argc && i < ARRAY_SIZE(whats); i++) {
		if (strcmp(argv[0], whats[i].word))
			continue;
		what = whats[i];
		*used = 1;
	}
	for (k = 0; k < what.nr_args; k++, ++*used) {
		if (*used >= argc ||
		    !ctl_parse_u64(argv[*used], U64_MAX, &d->args[k]))
			ctl_usage_error(d->ctl, "%s needs %s", what.word,
					what.nr_args == 1 ? "a number" :
					"the numbers of a member and a block");
	}
	return what;
}

static int run(struct dump *d, const struct what *what)
{
	int err = pr_open(&d->pool, d->sources.sources, d->sources.nr);

	if (err == -ENOENT) {
		labels(d);
		return err;
	}
	if (err == -EUCLEAN && !what->needs_layout)
		err = 0;
	if (!err && what->needs_layout)
		err = pr_slots(&d->pool);
	return err ? err : what->run(d);
}

static int conclude(struct dump *d, int err)
{
	switch (err) {
	case 0:
		break;
	case -ENOENT:
		return ctl_err(d->ctl, NULL, "Make a pool with 'kvcachectl format', or give other devices.",
			       "none of the devices has a usable pool label");
	case -EUCLEAN:
		ctl_err(d->ctl, d->pool.g.name, "See 'kvcachectl fsck'; 'dump label' and 'dump block' work.",
			"a device is smaller than its label says");
		return CTL_DAMAGE;
	case -ENXIO:
		return ctl_err(d->ctl, d->pool.g.name, "Give all members of the pool.",
			       "the member was not given");
	default:
		return ctl_err(d->ctl, d->pool.g.name, NULL, "%s", strerror(-err));
	}
	if (!d->pool.found[PR_ERROR])
		return CTL_OK;
	ctl_warn(d->ctl, d->pool.g.name, "See 'kvcachectl fsck'.",
		 "what was read has %" PRIu64 " errors",
		 (uint64_t)d->pool.found[PR_ERROR]);
	return CTL_DAMAGE;
}

int cmd_dump(struct ctl *ctl, int argc, char **argv)
{
	struct dump *d = ctl_alloc(sizeof(*d));
	struct what what;
	int c, used = 0, status = CTL_FAIL;

	d->ctl = ctl;
	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		if (c != OPT_EPOCH)
			continue;
		d->has_epoch = true;
		if (!ctl_parse_u64(ctl_optarg, KVC_MAX_EPOCH, &d->epoch))
			ctl_usage_error(ctl, "\"%s\" is no epoch", ctl_optarg);
	}
	argv += ctl_optind;
	argc -= ctl_optind;
	what = parse_what(d, argv, argc, &used);
	if (used >= argc)
		ctl_usage_error(ctl, "no device is given");
	if (!pool_sources_open(ctl, &d->sources, argv + used, argc - used)) {
		d->pool.now = (u64)time(NULL);
		dump_begin(&d->out, ctl->json);
		c = run(d, &what);
		dump_end(&d->out);
		status = conclude(d, c);
		pr_close(&d->pool);
		pool_sources_close(&d->sources);
	}
	free(d);
	return status;
}
