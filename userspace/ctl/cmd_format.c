// SPDX-License-Identifier: MIT
/* kvcachectl format: make a new pool out of block devices. */
#include <errno.h>
#include <inttypes.h>
#include <linux/pr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>

#include "ctl.h"
#include "geometry.h"
#include "kvcache.h"
#include "signature.h"
#include "slots.h"

#define CHUNK_BLOCKS 16384	/* zeroed at a time: 64 MiB */

enum {
	OPT_HEARTBEAT = 1000,
	OPT_NO_DATA_CRC,
	OPT_DRY_RUN,
};

static const struct ctl_option options[] = {
	{ 'n', "name", "NAME", "name of the pool: printable ASCII without blanks or '/' (default kvcache)" },
	{ 'f', "force", NULL, "wipe signatures and labels that are found, instead of refusing" },
	{ 'w', "width", "N", "members that one segment is striped over, a power of two (default 1 for fewer than 4 members, else up to 4)" },
	{ 'a', "ags", "N", "allocation groups (default 4 per member)" },
	{ 's', "segment-size", "SIZE", "unit of allocation and eviction, a power of two from 1M to 1G; half of it is the largest object (default 256M, less on small members)" },
	{ 'l', "lease", "TIME", "how long a silent host keeps the pool (default 5s)" },
	{ OPT_HEARTBEAT, "heartbeat", "TIME", "how often a host shows that it lives (default a fifth of the lease)" },
	{ 'Q', "q", "TIME", "longest life of a write after the lease's end, as the connections bound it; 0 for local devices (default 60s)" },
	{ 'S', "slots", "N", "hosts that can use the pool at a time (default 64)" },
	{ 'r', "ring", "SIZE", "journal ring of one epoch (default by the size of an allocation group)" },
	{ OPT_NO_DATA_CRC, "no-data-crc", NULL, "make and check no checksums of data" },
	{ OPT_DRY_RUN, "dry-run", NULL, "check and plan, but write nothing" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] DEVICE...",
	.about = "Make a new, empty pool out of block devices (or image files). A device that\n"
		 "carries anything is refused unless --force is given; one that a host uses as a\n"
		 "member right now, or that is mounted or held, is refused in any case.",
	.options = options,
};

/**
 * struct format - a format under way
 * @ctl: program
 * @force: wipe what is found
 * @dry_run: write nothing
 * @plan: what was asked for
 * @g: what came out
 * @devs: members, open
 * @old_end: per member where an old label says that its end is, else 0
 * @nr: how many
 */
struct format {
	struct ctl *ctl;
	bool force;
	bool dry_run;
	struct kvc_format_options plan;
	struct kvc_geometry g;
	struct ctl_dev *devs;
	u64 old_end[KVC_MAX_MEMBERS];
	u32 nr;
};

/* --- command line --- */

static u32 number(struct ctl *ctl, const char *what, u64 min, u64 max)
{
	u64 value;

	if (!ctl_parse_u64(ctl_optarg, max, &value) || value < min)
		ctl_usage_error(ctl, "%s '%s' is not between %" PRIu64 " and %" PRIu64,
				what, ctl_optarg, (uint64_t)min, (uint64_t)max);
	return (u32)value;
}

static u32 milliseconds(struct ctl *ctl, const char *what, u64 min, u64 max)
{
	u64 value;

	if (!ctl_parse_ms(ctl_optarg, 1000, &value) || value < min || value > max)
		ctl_usage_error(ctl, "%s '%s' is not a time between %" PRIu64 "ms and %" PRIu64 "s",
				what, ctl_optarg, (uint64_t)min,
				(uint64_t)max / 1000);
	return (u32)value;
}

static u32 segment_shift(struct ctl *ctl)
{
	u64 size;

	if (!ctl_parse_size(ctl_optarg, &size) || !size || size & (size - 1) ||
	    size < 1ULL << KVC_MIN_SEGMENT_SHIFT ||
	    size > 1ULL << KVC_MAX_SEGMENT_SHIFT)
		ctl_usage_error(ctl, "segment size '%s' is not a power of two between 1M and 1G",
				ctl_optarg);
	return (u32)__builtin_ctzll(size);
}

static u32 ring_blocks(struct ctl *ctl)
{
	u64 size;

	if (!ctl_parse_size(ctl_optarg, &size) || size % KVC_BLOCK_SIZE ||
	    size / KVC_BLOCK_SIZE < KVC_MIN_RING_BLOCKS ||
	    size / KVC_BLOCK_SIZE > KVC_MAX_RING_BLOCKS)
		ctl_usage_error(ctl, "ring '%s' is not a multiple of 4K between 128K and 256M",
				ctl_optarg);
	return (u32)(size / KVC_BLOCK_SIZE);
}

static void parse(struct format *f, int argc, char **argv)
{
	struct kvc_format_options *o = &f->plan;
	struct ctl *ctl = f->ctl;
	int c;

	strcpy(o->name, "kvcache");
	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		switch (c) {
		case 'n':
			if (!*ctl_optarg || strlen(ctl_optarg) >= sizeof(o->name))
				ctl_usage_error(ctl, "the name must have 1 to %zu characters",
						sizeof(o->name) - 1);
			memset(o->name, 0, sizeof(o->name));
			strcpy(o->name, ctl_optarg);
			break;
		case 'f':
			f->force = true;
			break;
		case 'w':
			o->width = number(ctl, "width", 1, KVC_MAX_MEMBERS);
			break;
		case 'a':
			o->nr_ags = number(ctl, "number of allocation groups", 1,
					   KVC_MAX_AGS);
			break;
		case 's':
			o->segment_shift = segment_shift(ctl);
			break;
		case 'l':
			o->lease_ms = milliseconds(ctl, "lease", 100, 600000);
			break;
		case OPT_HEARTBEAT:
			o->heartbeat_ms = milliseconds(ctl, "heartbeat", 1, 600000);
			break;
		case 'Q':
			o->q_ms = milliseconds(ctl, "q", 0, 86400000);
			/* In the plan 0 asks for the default. */
			if (!o->q_ms)
				o->q_ms = U32_MAX;
			break;
		case 'S':
			o->nr_slots = number(ctl, "number of slots", 1, KVC_MAX_SLOTS);
			break;
		case 'r':
			o->ring_blocks = ring_blocks(ctl);
			break;
		case OPT_NO_DATA_CRC:
			o->flags |= KVC_POOL_NO_DATA_CRC;
			break;
		case OPT_DRY_RUN:
			f->dry_run = true;
			break;
		}
	}
	f->nr = (u32)(argc - ctl_optind);
	if (!f->nr)
		ctl_usage_error(ctl, "no device is given");
	if (f->nr > KVC_MAX_MEMBERS)
		ctl_usage_error(ctl, "%u devices are given, but a pool has at most %d members",
				f->nr, KVC_MAX_MEMBERS);
}

/* --- is it ours to take? --- */

/* Two paths to one namespace would be written over one another. */
static int check_distinct(struct format *f)
{
	char wwid[KVC_MAX_MEMBERS][512];
	u32 i, j;

	for (i = 0; i < f->nr; i++) {
		ctl_wwid(&f->devs[i], wwid[i], sizeof(wwid[i]));
		f->plan.members[i].wwid_hash = kvc_wwid_hash(wwid[i]);
		for (j = 0; j < i; j++) {
			if (ctl_dev_same(&f->devs[i], &f->devs[j])) {
				ctl_err(f->ctl, f->devs[i].path, "Give each device once.",
					"is the same device as %s",
					f->devs[j].path);
				return CTL_REFUSED;
			}
			if (wwid[i][0] && !strcmp(wwid[i], wwid[j])) {
				ctl_err(f->ctl, f->devs[i].path,
					"Give each namespace once; use NVMe multipath for several paths.",
					"is the same namespace as %s (%s)",
					f->devs[j].path, wwid[i]);
				return CTL_REFUSED;
			}
		}
	}
	return CTL_OK;
}

static int open_all(struct format *f, char **paths)
{
	u32 i;
	int error;

	f->devs = ctl_alloc(f->nr * sizeof(*f->devs));
	for (i = 0; i < f->nr; i++)
		f->devs[i].fd = -1;
	for (i = 0; i < f->nr; i++) {
		error = ctl_dev_open(f->ctl, &f->devs[i], paths[i],
				     CTL_DEV_WRITE | CTL_DEV_EXCL);
		if (error)
			return error == -EBUSY ? CTL_REFUSED : CTL_FAIL;
	}
	return check_distinct(f);
}

/* Foreign signatures: how many; -errno. */
static int find_signatures(struct format *f, const struct ctl_dev *dev)
{
	struct signatures found;
	int error = signatures_find(dev, &found);
	u32 i;

	if (error) {
		ctl_err(f->ctl, dev->path, "Look into the kernel's log.",
			"can't look for signatures: %s", strerror(-error));
		return error;
	}
	for (i = 0; i < found.count; i++) {
		if (f->force)
			ctl_note(f->ctl, "%s: %s %s at byte %" PRIu64, dev->path,
				 f->dry_run ? "would wipe" : "wiping",
				 found.list[i].what,
				 (uint64_t)found.list[i].offset);
		else
			ctl_err(f->ctl, dev->path, NULL, "is not empty: %s at byte %" PRIu64,
				found.list[i].what,
				(uint64_t)found.list[i].offset);
	}
	error = (int)found.count;
	signatures_free(&found);
	return error;
}

/* Our own labels, also damaged ones: how many; -errno. */
static int find_labels(struct format *f, const struct pool_dev *d)
{
	int i, count = 0;

	for (i = 0; i < 2; i++) {
		const struct pool_label *l = &d->label[i];
		const char *where = i ? "end" : "start";

		/* -ERANGE: the device has shrunk since, and the label is gone. */
		if (l->error && l->error != -ERANGE) {
			ctl_err(f->ctl, d->dev.path, "Look into the kernel's log.",
				"can't read its %s: %s", where,
				strerror(-l->error));
			return l->error;
		}
		if (l->verdict == KVC_BLOCK_NEVER)
			continue;
		count++;
		if (f->force)
			ctl_note(f->ctl, "%s: %s the label at its %s", d->dev.path,
				 f->dry_run ? "would wipe" : "wiping", where);
		else if (l->usable)
			ctl_err(f->ctl, d->dev.path, NULL, "is a member of pool '%s' (label at its %s)",
				l->g.name, where);
		else
			ctl_err(f->ctl, d->dev.path, NULL, "carries a kvcache label at its %s",
				where);
	}
	return count;
}

/*
 * The members of an old pool as far as this host has them: those among @p that
 * are to be formatted, and what a scan finds. An array to free with its paths.
 */
static char **find_siblings(struct format *f, const struct pool_probe *p,
			    const u8 *uuid, u32 *count)
{
	char text[CTL_TEXT];
	char **scanned, **all;
	int found = pool_scan(f->ctl, ctl_uuid(text, uuid), &scanned);
	struct ctl_dev dev;
	u32 i;
	int s;

	if (found < 0)
		found = 0;
	all = ctl_alloc((p->nr_devs + (u32)found) * sizeof(*all));
	*count = 0;
	for (i = 0; i < p->nr_devs; i++)
		if (p->devs[i].newest &&
		    !memcmp(p->devs[i].newest->g.uuid, uuid, 16))
			all[(*count)++] = ctl_strdup(p->devs[i].dev.path);
	for (s = 0; s < found; s++) {
		bool known = ctl_dev_open(f->ctl, &dev, scanned[s], CTL_DEV_QUIET);

		for (i = 0; i < p->nr_devs && !known; i++)
			known = ctl_dev_same(&p->devs[i].dev, &dev);
		ctl_dev_close(&dev);
		if (known)
			free(scanned[s]);
		else
			all[(*count)++] = scanned[s];
	}
	if (found)
		free(scanned);
	return all;
}

/*
 * A pool that is in use elsewhere can't be seen by O_EXCL, but its slots move.
 */
static int check_unused(struct format *f, const struct pool_probe *given,
			const struct pool_dev *d)
{
	const struct kvc_geometry *g = &d->newest->g;
	struct pool_probe p;
	char **paths, *who;
	int status = CTL_OK;
	u32 count, i;

	paths = find_siblings(f, given, g->uuid, &count);
	if (pool_probe(f->ctl, &p, paths, (int)count, CTL_DEV_READ)) {
		status = CTL_FAIL;
	} else if (!slots_watch(f->ctl, &p, &who)) {
		ctl_warn(f->ctl, d->dev.path, "Connect the first members of that pool to be sure.",
			 "can't tell whether another host uses its pool '%s': the host slots are on members that are not here",
			 g->name);
	} else if (who) {
		ctl_err(f->ctl, d->dev.path,
			"Detach the pool there first: 'kvcachectl detach'.",
			"its pool '%s' is in use by %s", g->name, who);
		free(who);
		status = CTL_REFUSED;
	}
	pool_probe_free(&p);
	for (i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
	return status;
}

/* The same for every pool that a device belongs to, each once. */
static int check_all_unused(struct format *f, const struct pool_probe *p)
{
	int status = CTL_OK;
	u32 i, j;

	for (i = 0; i < p->nr_devs && !status; i++) {
		const struct pool_label *l = p->devs[i].newest;

		if (!l)
			continue;
		for (j = 0; j < i; j++)
			if (p->devs[j].newest &&
			    !memcmp(p->devs[j].newest->g.uuid, l->g.uuid, 16))
				break;
		if (j == i)
			status = check_unused(f, p, &p->devs[i]);
	}
	return status;
}

static int check_contents(struct format *f, char **paths)
{
	struct pool_probe p;
	int found = 0, status = CTL_OK;
	u32 i;

	if (pool_probe(f->ctl, &p, paths, (int)f->nr, CTL_DEV_READ))
		status = CTL_FAIL;
	for (i = 0; i < f->nr && !status; i++) {
		int foreign = find_signatures(f, &f->devs[i]);
		int own = foreign < 0 ? foreign : find_labels(f, &p.devs[i]);

		if (own < 0) {
			status = CTL_FAIL;
			break;
		}
		found += foreign + own;
		/* On a device that has grown, not its last block. */
		if (p.devs[i].newest)
			f->old_end[i] = p.devs[i].newest->g.members[
					p.devs[i].newest->member].blocks - 1;
	}
	if (!status && found && !f->force) {
		ctl_err(f->ctl, NULL, "If nothing on them is needed any more, give --force.",
			"the devices are not empty; nothing was written");
		status = CTL_REFUSED;
	}
	if (!status)
		status = check_all_unused(f, &p);
	pool_probe_free(&p);
	return status;
}

/* --- planning --- */

/* A version 4 UUID. */
static int make_uuid(u8 uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return -EIO;
	uuid[6] = (u8)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (u8)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

static int plan(struct format *f)
{
	struct kvc_format_options *o = &f->plan;
	const char *why = "unknown reason";
	u32 i;
	int error;

	o->created = (u64)time(NULL);
	error = make_uuid(o->uuid);
	if (getrandom(o->hash_key, sizeof(o->hash_key), 0) !=
	    (ssize_t)sizeof(o->hash_key))
		error = -EIO;
	o->nr_members = f->nr;
	for (i = 0; i < f->nr; i++) {
		if (make_uuid(o->members[i].uuid))
			error = -EIO;
		o->members[i].blocks = f->devs[i].blocks;
		o->members[i].state = KVC_MEMBER_PRESENT;
	}
	if (error)
		return ctl_err(f->ctl, NULL, NULL, "the kernel gives no random numbers");
	error = kvc_geometry_plan(o, &f->g, &why);
	if (error)
		return ctl_err(f->ctl, f->nr == 1 ? f->devs[0].path : NULL,
			       error == -ENOSPC ?
			       "Use larger devices, or smaller --segment-size, --slots, --ags or --ring." :
			       "Change the options.",
			       "can't lay out the pool: %s", why);
	return CTL_OK;
}

/* --- writing --- */

static int io_failed(struct format *f, u32 member, const char *what, int error)
{
	return ctl_err(f->ctl, f->devs[member].path,
		       error == -EBADE ?
		       "Another host has reserved it: give --force if that is over." :
		       "Look into the kernel's log; run format again with --force when the device works.",
		       "can't %s: %s", what, strerror(-error));
}

/*
 * Hosts of the pool that was there may have left a reservation (kvcachectl attach
 * --fence), by which nobody but them may write. By a registration of our own all of
 * it can be cleared. What has no reservations says so, and what can't be cleared
 * shows when it is written to.
 */
static void clear_reservation(const struct ctl_dev *dev)
{
	struct pr_registration mine = {
		.new_key = 0x6b76636163686531,
		.flags = PR_FL_IGNORE_KEY,
	};
	struct pr_clear clear = { .key = mine.new_key };

	if (!dev->is_block)
		return;
	/* To replace a key of this host one has to be named, whichever. */
	if (ioctl(dev->fd, IOC_PR_REGISTER, &mine)) {
		mine.old_key = 1;
		if (ioctl(dev->fd, IOC_PR_REGISTER, &mine))
			return;
	}
	(void)ioctl(dev->fd, IOC_PR_CLEAR, &clear);
}

static int wipe(struct format *f, u32 member)
{
	const struct ctl_dev *dev = &f->devs[member];
	int error;

	if (f->force)
		clear_reservation(dev);
	error = signatures_wipe(dev);
	/* The start label goes first: a member without one is none. */
	if (!error)
		error = ctl_dev_zero(dev, 0, 1);
	if (!error)
		error = ctl_dev_zero(dev, dev->blocks - 1, 1);
	if (!error && f->old_end[member] < dev->blocks)
		error = ctl_dev_zero(dev, f->old_end[member], 1);
	if (!error)
		error = ctl_dev_flush(dev);
	return error ? io_failed(f, member, "wipe it", error) : CTL_OK;
}

/*
 * Label, slots and journals; and what is left behind the last lane. A fresh
 * pool has no journal at all, so zeroes it is.
 */
static int zero_metadata(struct format *f, u32 member,
			 struct ctl_progress *progress)
{
	const struct ctl_dev *dev = &f->devs[member];
	u64 block = 0;
	int error;

	while (block < f->g.data_start) {
		u64 part = f->g.data_start - block;

		if (part > CHUNK_BLOCKS)
			part = CHUNK_BLOCKS;
		error = ctl_dev_zero(dev, block, part);
		if (error)
			return io_failed(f, member, "clear its metadata", error);
		block += part;
		ctl_progress_add(progress, part);
	}
	/* What is behind the last lane: less than a lane, at least the label. */
	block = dev->blocks - 1 > 255 ? dev->blocks - 256 : 0;
	if (block < f->g.data_start)
		block = f->g.data_start;
	error = ctl_dev_zero(dev, block, dev->blocks - block);
	if (!error)
		error = ctl_dev_flush(dev);
	return error ? io_failed(f, member, "clear its metadata", error) : CTL_OK;
}

static int write_label(struct format *f, u32 member, u32 copy, void *buf)
{
	static const struct kvc_writer nobody = { .slot = KVC_NO_SLOT };
	struct kvc_place place = kvc_place_label(&f->g, member, copy);
	const struct ctl_dev *dev = &f->devs[member];
	void *back;
	int error;

	kvc_label_encode(buf, &f->g, member);
	kvc_block_finish(buf, KVC_BLOCK_LABEL, f->g.uuid, place, 1, &nobody);
	error = ctl_dev_write(dev, place.block, buf, 1);
	if (!error)
		error = ctl_dev_flush(dev);
	if (error)
		return io_failed(f, member, "write its label", error);
	back = ctl_buffer(1);
	error = ctl_dev_read(dev, place.block, back, 1);
	if (!error && memcmp(buf, back, KVC_BLOCK_SIZE))
		error = -EIO;
	free(back);
	return error ? io_failed(f, member, "read its label back", error) : CTL_OK;
}

static int write_pool(struct format *f)
{
	struct ctl_progress progress;
	void *buf = ctl_buffer(1);
	int status = CTL_OK;
	u32 i;

	ctl_progress_begin(&progress, f->ctl, "clearing metadata",
			   f->nr * f->g.data_start);
	for (i = 0; i < f->nr && !status; i++)
		status = wipe(f, i);
	for (i = 0; i < f->nr && !status; i++)
		status = zero_metadata(f, i, &progress);
	ctl_progress_end(&progress);
	/* Labels come last, the start label of each member last of all. */
	for (i = 0; i < f->nr && !status; i++) {
		status = write_label(f, i, 1, buf);
		if (!status)
			status = write_label(f, i, 0, buf);
	}
	free(buf);
	return status;
}

/* --- telling --- */

static void tell_json(const struct format *f)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *members = cJSON_AddArrayToObject(object, "members");
	const struct kvc_geometry *g = &f->g;
	u32 i;

	geometry_json(object, g);
	cJSON_AddBoolToObject(object, "written", !f->dry_run);
	for (i = 0; i < f->nr; i++) {
		cJSON *m = cJSON_CreateObject();

		cJSON_AddStringToObject(m, "device", f->devs[i].path);
		ctl_json_uuid(m, "uuid", g->members[i].uuid);
		ctl_json_u64(m, "bytes", f->devs[i].bytes);
		cJSON_AddItemToArray(members, m);
	}
	ctl_json_print(object);
}

static void tell_text(const struct format *f)
{
	const struct kvc_geometry *g = &f->g;
	char a[CTL_TEXT];
	u32 i;

	printf("%s '%s' %s\n", f->dry_run ? "would make pool" : "pool", g->name,
	       ctl_uuid(a, g->uuid));
	geometry_text(g);
	for (i = 0; i < f->nr; i++)
		printf("  member %-2u %s (%s)\n", i, f->devs[i].path,
		       ctl_size(a, f->devs[i].bytes));
}

int cmd_format(struct ctl *ctl, int argc, char **argv)
{
	struct format f = { .ctl = ctl };
	char **paths;
	int status;
	u32 i;

	parse(&f, argc, argv);
	paths = argv + ctl_optind;
	status = open_all(&f, paths);
	if (!status)
		status = check_contents(&f, paths);
	if (!status)
		status = plan(&f);
	if (!status && !f.dry_run)
		status = write_pool(&f);
	if (!status && ctl->json)
		tell_json(&f);
	else if (!status && !ctl->quiet)
		tell_text(&f);
	for (i = 0; f.devs && i < f.nr; i++)
		ctl_dev_close(&f.devs[i]);
	free(f.devs);
	return status;
}
