// SPDX-License-Identifier: MIT
/* kvcachectl fsck: check the media of a pool that is not attached. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"
#include "poolread.h"
#include "poolsource.h"

/* As fsck(8) has it, not as the other commands do. */
enum {
	FSCK_CLEAN	= 0,
	FSCK_ERRORS	= 4,
	FSCK_FAILED	= 8,
};

#define SHOWN_PER_CODE	10	/* findings of one kind, without --verbose */

enum {
	OPT_DATA = 1000,
	OPT_JOURNAL_ONLY,
	OPT_FORCE,
	OPT_STRICT,
};

static const struct ctl_option options[] = {
	{ OPT_DATA, "data", NULL, "read all objects and check their data" },
	{ OPT_JOURNAL_ONLY, "journal-only", NULL, "don't read the summaries of sealed segments" },
	{ OPT_FORCE, "force", NULL, "check also a pool that a host holds, and don't wait to find out" },
	{ OPT_STRICT, "strict", NULL, "count warnings as errors" },
	{ 'v', "verbose", NULL, "show all findings, each with what it means" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] device...",
	.about = "Checks that the members of a pool keep to every rule of the format: labels,\n"
		 "host slots, journals, checkpoints, summaries, objects. It never writes.\n"
		 "Exit status: 0 clean, 4 errors were found, 8 it could not check.",
	.options = options,
};

/* What was seen of all allocation groups. */
struct totals {
	u32 ags;
	u32 ags_empty;
	u64 segments[KVC_SEG_RETIRED + 1];
	u64 objects;
	u64 object_bytes;
	u64 expired;
	u64 dead;
	u64 checked;
};

struct fsck {
	struct ctl *ctl;
	bool data;
	bool force;
	bool strict;
	bool verbose;
	struct pr_pool pool;
	struct pool_sources sources;
	struct ctl_json_array findings;
	u64 shown[PR_NR_CODES];
	u64 hidden[PR_NR_CODES];
	struct totals totals;
	struct ctl_progress progress;
};

/* --- findings --- */

static const char *device_name(const struct fsck *f, u32 dev)
{
	return dev == PR_NONE ? NULL : f->pool.devs[dev].source.name;
}

static void print_where(const struct fsck *f, const struct pr_where *w)
{
	const char *name = device_name(f, w->dev);

	if (name)
		printf("%s ", name);
	if (w->member != PR_NONE)
		printf(name ? "(member %u) " : "member %u ", w->member);
	if (w->block != PR_NONE64)
		printf("block %" PRIu64 " ", (uint64_t)w->block);
	if (w->slot != PR_NONE)
		printf("slot %u ", w->slot);
	if (w->ag != PR_NONE)
		printf("AG %u ", w->ag);
	if (w->epoch != PR_NONE64)
		printf("epoch %" PRIu64 " ", (uint64_t)w->epoch);
	if (w->position != PR_NONE64)
		printf("position %" PRIu64 " ", (uint64_t)w->position);
}

static void report_text(struct fsck *f, const struct pr_finding *finding)
{
	const struct pr_code_info *info = pr_code_info(finding->code);

	if (f->ctl->quiet && finding->severity == PR_INFO)
		return;
	if (!f->verbose && f->shown[finding->code] == SHOWN_PER_CODE) {
		f->hidden[finding->code]++;
		return;
	}
	printf("%s: ", pr_severity_name(finding->severity));
	print_where(f, &finding->where);
	printf("- %s [%s]\n", finding->text, info->name);
	if (!f->shown[finding->code]++ || f->verbose)
		printf("  %s\n  %s\n", info->means, info->next);
}

static void add_u32(cJSON *item, const char *name, u32 value)
{
	if (value != PR_NONE)
		cJSON_AddNumberToObject(item, name, value);
}

static void add_u64(cJSON *item, const char *name, u64 value)
{
	if (value != PR_NONE64)
		ctl_json_u64(item, name, value);
}

static void report_json(struct fsck *f, const struct pr_finding *finding)
{
	const struct pr_code_info *info = pr_code_info(finding->code);
	const struct pr_where *w = &finding->where;
	cJSON *item = cJSON_CreateObject();

	cJSON_AddStringToObject(item, "code", info->name);
	cJSON_AddStringToObject(item, "severity",
				pr_severity_name(finding->severity));
	cJSON_AddStringToObject(item, "text", finding->text);
	cJSON_AddStringToObject(item, "means", info->means);
	cJSON_AddStringToObject(item, "next", info->next);
	if (w->dev != PR_NONE)
		cJSON_AddStringToObject(item, "device", device_name(f, w->dev));
	add_u32(item, "member", w->member);
	add_u64(item, "block", w->block);
	add_u32(item, "slot", w->slot);
	add_u32(item, "ag", w->ag);
	add_u64(item, "epoch", w->epoch);
	add_u64(item, "position", w->position);
	add_u32(item, "segment", w->segment);
	ctl_json_array_item(&f->findings, item);
}

static void report(void *private, const struct pr_finding *finding)
{
	struct fsck *f = private;

	if (f->ctl->json)
		report_json(f, finding);
	else
		report_text(f, finding);
}

static void print_hidden(const struct fsck *f)
{
	u32 code;

	for (code = 0; code < PR_NR_CODES; code++) {
		if (f->hidden[code])
			printf("%s: %" PRIu64 " more of this kind; --verbose shows them\n",
			       pr_code_info(code)->name,
			       (uint64_t)f->hidden[code]);
	}
}

/* --- is it in use? --- */

static bool is_up(const struct pr_slot *s)
{
	return s->written && (s->s.state == KVC_SLOT_JOINING ||
			      s->s.state == KVC_SLOT_ACTIVE);
}

/* The first slot that was written to since @before, or NULL. */
static const struct pr_slot *moved(const struct pr_pool *p,
				   const struct pr_slot *before)
{
	u32 nr = (u32)p->g.nr_slots * p->g.slot_blocks, i;

	for (i = 0; i < nr; i++) {
		if (p->slots[i].written &&
		    p->slots[i].s.sequence > before[i].s.sequence)
			return &p->slots[i];
	}
	return NULL;
}

static bool any_up(const struct pr_pool *p)
{
	u32 nr = (u32)p->g.nr_slots * p->g.slot_blocks, i;

	for (i = 0; i < nr; i++) {
		if (is_up(&p->slots[i]))
			return true;
	}
	return false;
}

static struct pr_slot *copy_slots(const struct pr_pool *p)
{
	size_t nr = (size_t)p->g.nr_slots * p->g.slot_blocks;
	struct pr_slot *copy = ctl_alloc(nr * sizeof(*copy));

	memcpy(copy, p->slots, nr * sizeof(*copy));
	return copy;
}

static void sleep_ms(u64 ms)
{
	struct timespec t = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};

	nanosleep(&t, NULL);
}

/* Read the slots without a word. */
static int peek_slots(struct fsck *f)
{
	pr_report_fn say = f->pool.report;
	u64 found[PR_ERROR + 1];
	int err;

	memcpy(found, f->pool.found, sizeof(found));
	f->pool.report = NULL;
	err = pr_slots(&f->pool);
	f->pool.report = say;
	memcpy(f->pool.found, found, sizeof(found));
	return err;
}

#define LOOKS 8		/* at the slots, in two heartbeats' time */

/*
 * Does a host hold the pool? One that crashed left its slot as it was, so what
 * counts is whether a slot moves. 1: refused, 0: go on, -ENOMEM.
 */
static int watch_slots(struct fsck *f)
{
	u64 wait = 2ULL * f->pool.g.heartbeat_ms + 100;
	const struct pr_slot *who = NULL;
	struct pr_slot *before;
	int err, i;

	err = peek_slots(f);
	if (err || f->force || !any_up(&f->pool))
		return err;
	ctl_note(f->ctl, "a host slot is not down: watching it for %" PRIu64 " ms",
		 (uint64_t)wait);
	before = copy_slots(&f->pool);
	for (i = 0; !err && !who && i < LOOKS; i++) {
		sleep_ms(wait / LOOKS);
		err = peek_slots(f);
		who = moved(&f->pool, before);
	}
	if (who)
		ctl_err(f->ctl, f->pool.g.name,
			"Detach it there first, or use --force and don't trust the findings.",
			"the pool is in use by host \"%s\" in slot %u",
			who->s.node[0] ? who->s.node : who->s.nqn,
			who->s.number);
	free(before);
	return err ? err : who != NULL;
}

/* It was taken into use while it was being checked. */
static int look_again(struct fsck *f)
{
	struct pr_slot *before = copy_slots(&f->pool);
	struct pr_where w = pr_nowhere();
	const struct pr_slot *who;
	int err = peek_slots(f);

	who = err ? NULL : moved(&f->pool, before);
	if (who) {
		w.slot = who->s.number;
		pr_found(&f->pool, PR_POOL_LIVE, PR_WARNING, &w,
			 "host \"%s\" wrote to its slot during the check",
			 who->s.node[0] ? who->s.node : who->s.nqn);
	}
	free(before);
	return err;
}

/* --- the check --- */

static void judge_identity(struct fsck *f)
{
	struct pr_pool *p = &f->pool;
	struct pr_where w = pr_nowhere();
	u32 i;

	for (i = 0; i < p->nr_devs; i++) {
		u32 m = p->devs[i].member;
		u64 is = pool_sources_wwid(&f->sources, i);

		if (m == PR_NONE || !is || !p->g.members[m].wwid_hash ||
		    is == p->g.members[m].wwid_hash)
			continue;
		w.dev = i;
		w.member = m;
		pr_found(p, PR_MEMBER_CLONE, PR_ERROR, &w,
			 "the device's identifier has the hash %016llx, the label says %016llx",
			 is, p->g.members[m].wwid_hash);
	}
}

static void count_ag(struct fsck *f, const struct pr_ag *a)
{
	const struct pr_view *v = &a->view;
	struct totals *t = &f->totals;
	u32 i;

	t->ags++;
	if (!a->has_view) {
		t->ags_empty++;
		return;
	}
	for (i = 0; i < v->nr_segments; i++)
		t->segments[v->segments[i].rec.state]++;
	for (i = 0; i < v->nr_objects; i++) {
		const struct pr_object *o = &v->objects[i];
		const struct pr_segment *s = pr_view_segment(v, o->segment);

		if (pr_object_live(v, o)) {
			if (o->expiry && o->expiry <= f->pool.now)
				t->expired++;
			t->objects++;
			t->object_bytes += o->bytes;
		} else if (s->rec.generation == o->generation &&
			   (s->rec.state == KVC_SEG_OPEN ||
			    s->rec.state == KVC_SEG_SEALED)) {
			t->dead++;
		}
	}
}

static void progressed(void *private, u64 bytes)
{
	struct fsck *f = private;

	ctl_progress_add(&f->progress, bytes >> 20 ? bytes >> 20 : 1);
}

static int check_ags(struct fsck *f)
{
	struct pr_ag a;
	u32 ag;
	int err = 0;

	ctl_progress_begin(&f->progress, f->ctl, f->data ?
			   "checking, MiB of data" : "checking groups",
			   f->data ? 0 : f->pool.g.nr_ags);
	for (ag = 0; !err && ag < f->pool.g.nr_ags; ag++) {
		err = pr_ag_load(&a, &f->pool, ag);
		if (!err)
			count_ag(f, &a);
		if (!err && f->data)
			err = pr_ag_data(&a, progressed, f,
					 &f->totals.checked);
		pr_ag_free(&a);
		if (!f->data)
			ctl_progress_set(&f->progress, ag + 1);
	}
	ctl_progress_end(&f->progress);
	return err;
}

/* Positive: refused. */
static int check(struct fsck *f)
{
	int err;

	err = pr_open(&f->pool, f->sources.sources, f->sources.nr);
	if (err)
		return err;
	judge_identity(f);
	err = watch_slots(f);
	if (!err)
		err = pr_slots(&f->pool);
	if (!err)
		err = check_ags(f);
	if (!err)
		err = look_again(f);
	return err;
}

/* --- the result --- */

static void print_totals(const struct fsck *f)
{
	const struct totals *t = &f->totals;
	const struct kvc_geometry *g = &f->pool.g;
	char uuid[CTL_TEXT], size[CTL_TEXT];

	printf("pool \"%s\" (%s): %u member%s, %u allocation group%s, %u of them empty or not readable\n",
	       g->name, ctl_uuid(uuid, g->uuid), g->nr_members,
	       g->nr_members == 1 ? "" : "s", t->ags, t->ags == 1 ? "" : "s",
	       t->ags_empty);
	printf("segments: %" PRIu64 " free, %" PRIu64 " open, %" PRIu64 " sealed, %" PRIu64 " retired\n",
	       (uint64_t)t->segments[KVC_SEG_FREE],
	       (uint64_t)t->segments[KVC_SEG_OPEN],
	       (uint64_t)t->segments[KVC_SEG_SEALED],
	       (uint64_t)t->segments[KVC_SEG_RETIRED]);
	if (f->pool.journal_only)
		printf("objects: not counted without summaries\n");
	else
		printf("objects: %" PRIu64 " live (%s), %" PRIu64 " of them expired; %" PRIu64 " deleted or moved\n",
		       (uint64_t)t->objects, ctl_size(size, t->object_bytes),
		       (uint64_t)t->expired, (uint64_t)t->dead);
	if (f->verbose)
		printf("read: %s\n", ctl_size(size, f->pool.blocks_read <<
					      KVC_BLOCK_SHIFT));
	if (f->data)
		printf("data: %" PRIu64 " object%s checked%s\n",
		       (uint64_t)t->checked, t->checked == 1 ? "" : "s",
		       g->flags & KVC_POOL_NO_DATA_CRC ?
		       ": the pool has no data checksums" : "");
}

static void print_verdict(const struct fsck *f, const char *verdict)
{
	printf("%s: %" PRIu64 " errors, %" PRIu64 " warnings, %" PRIu64 " remarks\n",
	       verdict, (uint64_t)f->pool.found[PR_ERROR],
	       (uint64_t)f->pool.found[PR_WARNING],
	       (uint64_t)f->pool.found[PR_INFO]);
}

static void print_member(const char *name, cJSON *value)
{
	char *text = cJSON_PrintUnformatted(value);

	printf(",\n\"%s\": %s", name, text ? text : "null");
	free(text);
	cJSON_Delete(value);
}

static cJSON *totals_json(const struct fsck *f)
{
	const struct totals *t = &f->totals;
	cJSON *o = cJSON_CreateObject();
	cJSON *segments = cJSON_AddObjectToObject(o, "segments");
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t->segments); i++)
		ctl_json_u64(segments, pr_state_name(i), t->segments[i]);
	cJSON_AddNumberToObject(o, "ags", t->ags);
	cJSON_AddNumberToObject(o, "ags_empty", t->ags_empty);
	if (!f->pool.journal_only) {
		ctl_json_u64(o, "objects", t->objects);
		ctl_json_u64(o, "object_bytes", t->object_bytes);
		ctl_json_u64(o, "expired", t->expired);
		ctl_json_u64(o, "dead", t->dead);
	}
	if (f->data)
		ctl_json_u64(o, "data_checked", t->checked);
	return o;
}

static void print_json_end(struct fsck *f, bool found, const char *verdict)
{
	cJSON *o;

	ctl_json_array_end(&f->findings);
	if (found) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "name", f->pool.g.name);
		ctl_json_uuid(o, "uuid", f->pool.g.uuid);
		cJSON_AddNumberToObject(o, "members", f->pool.g.nr_members);
		cJSON_AddNumberToObject(o, "ags", f->pool.g.nr_ags);
		print_member("pool", o);
		print_member("totals", totals_json(f));
	}
	o = cJSON_CreateObject();
	ctl_json_u64(o, "error", f->pool.found[PR_ERROR]);
	ctl_json_u64(o, "warning", f->pool.found[PR_WARNING]);
	ctl_json_u64(o, "info", f->pool.found[PR_INFO]);
	print_member("counts", o);
	printf(",\n\"result\": \"%s\"}\n", verdict);
}

static int conclude(struct fsck *f, int err)
{
	int status = FSCK_FAILED;
	const char *verdict = "not checked";

	if (!err) {
		status = f->pool.found[PR_ERROR] ||
			 (f->strict && f->pool.found[PR_WARNING]) ?
			FSCK_ERRORS : FSCK_CLEAN;
		verdict = status == FSCK_CLEAN ? "clean" : "damaged";
	} else if (err == -EUCLEAN) {
		status = FSCK_ERRORS;
		verdict = "damaged";
	}
	if (f->ctl->json) {
		print_json_end(f, !err, verdict);
	} else {
		print_hidden(f);
		if (!err && !f->ctl->quiet)
			print_totals(f);
		if (!f->ctl->quiet || status != FSCK_CLEAN)
			print_verdict(f, verdict);
	}
	if (err == -ENOENT)
		ctl_err(f->ctl, NULL, "Make a pool with 'kvcachectl format', or give other devices.",
			"none of the devices has a usable pool label");
	else if (err < 0 && err != -EUCLEAN)
		ctl_err(f->ctl, NULL, NULL, "the check did not end: %s",
			strerror(-err));
	return status;
}

int cmd_fsck(struct ctl *ctl, int argc, char **argv)
{
	struct fsck *f = ctl_alloc(sizeof(*f));
	int c, status;

	f->ctl = ctl;
	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		switch (c) {
		case OPT_DATA:
			f->data = true;
			break;
		case OPT_JOURNAL_ONLY:
			f->pool.journal_only = true;
			break;
		case OPT_FORCE:
			f->force = true;
			break;
		case OPT_STRICT:
			f->strict = true;
			break;
		case 'v':
			f->verbose = true;
			break;
		}
	}
	if (ctl_optind == argc)
		ctl_usage_error(ctl, "no device is given");
	if (f->data && f->pool.journal_only)
		ctl_usage_error(ctl, "--data and --journal-only exclude each other");
	if (pool_sources_open(ctl, &f->sources, argv + ctl_optind,
			      argc - ctl_optind)) {
		free(f);
		return FSCK_FAILED;
	}
	f->pool.report = report;
	f->pool.report_private = f;
	f->pool.now = (u64)time(NULL);
	if (ctl->json) {
		printf("{\"findings\": ");
		ctl_json_array_begin(&f->findings);
	}
	status = conclude(f, check(f));
	pr_close(&f->pool);
	pool_sources_close(&f->sources);
	free(f);
	return status;
}
