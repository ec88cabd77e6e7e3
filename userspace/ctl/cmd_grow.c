// SPDX-License-Identifier: MIT
/* kvcachectl grow: give an attached pool more members. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blanks.h"
#include "refresh.h"

enum {
	OPT_DRY_RUN = 1000,
	OPT_NO_REFRESH,
};

static const struct ctl_option options[] = {
	{ 'a', "ags", "N", "allocation groups on the new members (default: as many for each as the others have)" },
	{ 'w', "width", "N", "new members that one segment is striped over, a power of two (default: as on the others)" },
	{ 'f', "force", NULL, "wipe signatures and labels that are found, instead of refusing" },
	{ OPT_NO_REFRESH, "no-refresh", NULL, "leave it to 'kvcachectl refresh' that this host takes the members up" },
	{ OPT_DRY_RUN, "dry-run", NULL, "check and plan, but write nothing" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] POOL DEVICE...",
	.about = "Give a pool that is attached here more members, while this and other hosts use it.\n"
		 "Nothing that it holds moves. Every other host then runs 'kvcachectl refresh', one\n"
		 "after another; when all have, the new space is used. If it is cut short, run it\n"
		 "again with the same devices and --force.",
	.options = options,
};

/**
 * struct growing - a growth under way
 * @ctl: program
 * @refresh: take it up on this host
 * @text: pool as given
 * @nr_ags: asked for, or 0
 * @width: likewise
 * @b: new devices
 * @kvc: handle
 * @m: the pool as this host has it
 * @old: as its labels tell it
 * @g: as they shall
 */
struct growing {
	struct ctl *ctl;
	bool refresh;
	const char *text;
	u32 nr_ags;
	u32 width;
	struct blanks b;
	struct kvc *kvc;
	struct pool_members m;
	struct kvc_geometry old;
	struct kvc_geometry g;
};

static u32 number(struct ctl *ctl, const char *what, u64 max)
{
	u64 value;

	if (!ctl_parse_u64(ctl_optarg, max, &value) || !value)
		ctl_usage_error(ctl, "%s '%s' is not between 1 and %" PRIu64,
				what, ctl_optarg, (uint64_t)max);
	return (u32)value;
}

static void parse(struct growing *w, int argc, char **argv)
{
	struct ctl *ctl = w->ctl;
	int c;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		switch (c) {
		case 'a':
			w->nr_ags = number(ctl, "number of allocation groups",
						KVC_MAX_AGS);
			break;
		case 'w':
			w->width = number(ctl, "width", KVC_MAX_MEMBERS);
			break;
		case 'f':
			w->b.force = true;
			break;
		case OPT_NO_REFRESH:
			w->refresh = false;
			break;
		case OPT_DRY_RUN:
			w->b.dry_run = true;
			break;
		}
	}
	if (argc == ctl_optind)
		ctl_usage_error(ctl, "no pool is given: number, name or UUID");
	w->text = argv[ctl_optind++];
	w->b.nr = (u32)(argc - ctl_optind);
	if (!w->b.nr)
		ctl_usage_error(ctl, "no device is given");
	if (w->b.nr >= KVC_MAX_MEMBERS)
		ctl_usage_error(ctl, "%u devices are given, but a pool has at most %d members",
				w->b.nr, KVC_MAX_MEMBERS);
}

/*
 * Does this host know all that the labels tell? Else a device that is given may be
 * a member already, by what another host did. But what was cut short goes on.
 */
static int check_known(struct growing *w, const struct pool_probe *p)
{
	u32 i;

	if (p->g.nr_members == w->m.info.nr_members)
		return CTL_OK;
	for (i = 0; i < p->nr_devs; i++)
		if (p->devs[i].newest &&
		    p->devs[i].newest->g.nr_spans != p->g.nr_spans)
			return CTL_OK;
	ctl_err(w->ctl, w->text, "Run 'kvcachectl refresh' here first.",
		"the pool has grown since this host attached it");
	return CTL_REFUSED;
}

static int read_labels(struct growing *w)
{
	char *paths[KVC_MAX_MEMBERS];
	struct pool_probe p;
	int status = CTL_OK;
	u32 i, nr = 0;

	for (i = 0; i < w->m.info.nr_members && i < KVC_MAX_MEMBERS; i++)
		if (w->m.members[i].path[0])
			paths[nr++] = (char *)w->m.members[i].path;
	if (pool_probe(w->ctl, &p, paths, (int)nr, CTL_DEV_READ)) {
		status = CTL_FAIL;
	} else if (!p.found || memcmp(p.g.uuid, w->m.info.uuid, 16)) {
		ctl_err(w->ctl, w->text, NULL, "its members carry no label of it");
		status = CTL_DAMAGE;
	} else {
		status = check_known(w, &p);
		w->old = p.g;
	}
	pool_probe_free(&p);
	return status;
}

/* The kernel plans for itself: this is to say early what can't be, and --dry-run. */
static int plan(struct growing *w)
{
	struct kvc_grow_options o = {
		.nr_ags = w->nr_ags,
		.width = w->width,
		.nr_members = w->b.nr,
	};
	const char *why = "unknown reason";
	u32 i;
	int error;

	/* Of a growth that was cut short the labels tell already. */
	if (w->old.nr_members != w->m.info.nr_members) {
		w->g = w->old;
		return CTL_OK;
	}
	for (i = 0; i < w->b.nr; i++) {
		/* Any that differ. */
		memset(o.members[i].uuid, 0xff, sizeof(o.members[i].uuid));
		o.members[i].uuid[0] = (u8)i;
		o.members[i].blocks = w->b.devs[i].blocks;
	}
	error = kvc_geometry_grow(&w->old, &o, &w->g, &why);
	if (error)
		return ctl_err(w->ctl, w->text, error == -ENOSPC ?
			       "Use larger devices, or other --ags or --width." :
			       "Change the options.",
			       "can't grow the pool: %s", why);
	return CTL_OK;
}

static int clear(struct growing *w)
{
	struct ctl_progress progress;
	int status = CTL_OK;
	u32 i;

	ctl_progress_begin(&progress, w->ctl, "clearing metadata",
			   w->b.nr * w->old.data_start);
	for (i = 0; i < w->b.nr && !status; i++)
		status = blanks_wipe(&w->b, i);
	for (i = 0; i < w->b.nr && !status; i++)
		status = blanks_clear(&w->b, i, w->old.data_start, &progress);
	ctl_progress_end(&progress);
	return status;
}

static int write_labels(struct growing *w, char **paths)
{
	char reason[512] = "";
	struct kvc_grow_request request = {
		.paths = (const char *const *)paths,
		.wwid_hashes = w->b.wwid_hash,
		.nr_members = w->b.nr,
		.nr_ags = w->nr_ags,
		.width = w->width,
	};
	int error;

	/* The kernel wants the devices for itself. */
	blanks_close(&w->b);
	error = kvc_grow(w->kvc, &request, NULL, reason, sizeof(reason));
	return error ? pool_refused(w->ctl, w->text, "grow", error, reason) :
		       CTL_OK;
}

static int take_up(struct growing *w, char **paths)
{
	char *all[KVC_MAX_MEMBERS];
	u32 i, nr = 0;

	/* One that was removed has none. */
	for (i = 0; i < w->m.info.nr_members; i++)
		if (w->m.members[i].path[0])
			all[nr++] = (char *)w->m.members[i].path;
	for (i = 0; i < w->b.nr && nr < KVC_MAX_MEMBERS; i++)
		all[nr++] = paths[i];
	return pool_refresh(w->ctl, w->kvc, w->text, all, nr);
}

static void tell(const struct growing *w)
{
	const struct kvc_geometry *g = &w->g;
	const struct kvc_span *s = &g->spans[g->nr_spans - 1];
	u64 capacity = (u64)g->nr_segments << g->segment_shift;
	char size[CTL_TEXT];
	cJSON *object;

	if (!w->ctl->json) {
		if (w->ctl->quiet)
			return;
		printf("pool '%s' %s %u members, %u allocation groups, %s\n",
		       g->name, w->b.dry_run ? "would have" : "has",
		       g->nr_members, g->nr_ags, ctl_size(size, capacity));
		if (!w->b.dry_run && w->m.info.mode != KVCACHE_MODE_EXCLUSIVE)
			printf("now run 'kvcachectl refresh %s' on each of the other hosts\n",
			       g->name);
		return;
	}
	object = cJSON_CreateObject();
	ctl_json_u64(object, "pool", w->m.info.pool);
	cJSON_AddStringToObject(object, "name", g->name);
	cJSON_AddBoolToObject(object, "written", !w->b.dry_run);
	cJSON_AddBoolToObject(object, "refreshed", !w->b.dry_run && w->refresh);
	ctl_json_u64(object, "members", g->nr_members);
	ctl_json_u64(object, "ags", g->nr_ags);
	ctl_json_u64(object, "new_ags", s->nr_ags);
	ctl_json_u64(object, "width", s->width);
	ctl_json_u64(object, "capacity", capacity);
	ctl_json_print(object);
}

int cmd_grow(struct ctl *ctl, int argc, char **argv)
{
	static struct growing w = { .refresh = true };
	char **paths;
	int status;

	w.ctl = ctl;
	w.b.ctl = ctl;
	parse(&w, argc, argv);
	paths = argv + ctl_optind;
	status = pool_open(ctl, w.text, &w.kvc, &w.m);
	w.b.own = w.m.info.uuid;
	if (!status)
		status = read_labels(&w);
	if (!status)
		status = blanks_open(&w.b, paths);
	if (!status)
		status = blanks_check(&w.b, paths);
	if (!status)
		status = plan(&w);
	if (!status && !w.b.dry_run)
		status = clear(&w);
	if (!status && !w.b.dry_run)
		status = write_labels(&w, paths);
	if (!status && !w.b.dry_run && w.refresh)
		status = take_up(&w, paths);
	if (!status)
		tell(&w);
	blanks_close(&w.b);
	kvc_close(w.kvc);
	return status;
}
