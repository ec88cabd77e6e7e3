// SPDX-License-Identifier: MIT
/* kvcachectl format: make a new pool out of block devices. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "blanks.h"
#include "geometry.h"
#include "kvcache.h"

enum {
	OPT_HEARTBEAT = 1000,
	OPT_MAX_AGS,
	OPT_NO_DATA_CRC,
	OPT_DRY_RUN,
};

static const struct ctl_option options[] = {
	{ 'n', "name", "NAME", "name of the pool: printable ASCII without blanks or '/' (default kvcache)" },
	{ 'f', "force", NULL, "wipe signatures and labels that are found, instead of refusing" },
	{ 'w', "width", "N", "members that one segment is striped over, a power of two (default 1 for fewer than 4 members, else up to 4)" },
	{ 'a', "ags", "N", "allocation groups (default 4 per member)" },
	{ OPT_MAX_AGS, "max-ags", "N", "allocation groups that the pool may grow to, at most 1024 (default the next multiple of 128)" },
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
 * @dry_run: write nothing
 * @plan: what was asked for
 * @g: what came out
 * @b: the devices
 */
struct format {
	struct ctl *ctl;
	bool dry_run;
	struct kvc_format_options plan;
	struct kvc_geometry g;
	struct blanks b;
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
			f->b.force = true;
			break;
		case 'w':
			o->width = number(ctl, "width", 1, KVC_MAX_MEMBERS);
			break;
		case 'a':
			o->nr_ags = number(ctl, "number of allocation groups", 1,
					   KVC_MAX_AGS);
			break;
		case OPT_MAX_AGS:
			o->max_ags = number(ctl, "number of allocation groups", 1,
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
	f->b.nr = (u32)(argc - ctl_optind);
	if (!f->b.nr)
		ctl_usage_error(ctl, "no device is given");
	if (f->b.nr > KVC_MAX_MEMBERS)
		ctl_usage_error(ctl, "%u devices are given, but a pool has at most %d members",
				f->b.nr, KVC_MAX_MEMBERS);
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
	o->nr_members = f->b.nr;
	for (i = 0; i < f->b.nr; i++) {
		if (make_uuid(o->members[i].uuid))
			error = -EIO;
		o->members[i].blocks = f->b.devs[i].blocks;
		o->members[i].wwid_hash = f->b.wwid_hash[i];
		o->members[i].state = KVC_MEMBER_PRESENT;
	}
	if (error)
		return ctl_err(f->ctl, NULL, NULL, "the kernel gives no random numbers");
	error = kvc_geometry_plan(o, &f->g, &why);
	if (error)
		return ctl_err(f->ctl, f->b.nr == 1 ? f->b.devs[0].path : NULL,
			       error == -ENOSPC ?
			       "Use larger devices, or smaller --segment-size, --slots, --ags or --ring." :
			       "Change the options.",
			       "can't lay out the pool: %s", why);
	return CTL_OK;
}

/* --- writing --- */

static int write_label(struct format *f, u32 member, u32 copy, void *buf)
{
	static const struct kvc_writer nobody = { .slot = KVC_NO_SLOT };
	struct kvc_place place = kvc_place_label(&f->g, member, copy);
	const struct ctl_dev *dev = &f->b.devs[member];
	void *back;
	int error;

	kvc_label_encode(buf, &f->g, member);
	kvc_block_finish(buf, KVC_BLOCK_LABEL, f->g.uuid, place, 1, &nobody);
	error = ctl_dev_write(dev, place.block, buf, 1);
	if (!error)
		error = ctl_dev_flush(dev);
	if (error)
		return blanks_failed(&f->b, member, "write its label", error);
	back = ctl_buffer(1);
	error = ctl_dev_read(dev, place.block, back, 1);
	if (!error && memcmp(buf, back, KVC_BLOCK_SIZE))
		error = -EIO;
	free(back);
	return error ? blanks_failed(&f->b, member, "read its label back", error) : CTL_OK;
}

static int write_pool(struct format *f)
{
	struct ctl_progress progress;
	void *buf = ctl_buffer(1);
	int status = CTL_OK;
	u32 i;

	ctl_progress_begin(&progress, f->ctl, "clearing metadata",
			   f->b.nr * f->g.data_start);
	for (i = 0; i < f->b.nr && !status; i++)
		status = blanks_wipe(&f->b, i);
	for (i = 0; i < f->b.nr && !status; i++)
		status = blanks_clear(&f->b, i, f->g.data_start,
					      &progress);
	ctl_progress_end(&progress);
	/* Labels come last, the start label of each member last of all. */
	for (i = 0; i < f->b.nr && !status; i++) {
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
	for (i = 0; i < f->b.nr; i++) {
		cJSON *m = cJSON_CreateObject();

		cJSON_AddStringToObject(m, "device", f->b.devs[i].path);
		ctl_json_uuid(m, "uuid", g->members[i].uuid);
		ctl_json_u64(m, "bytes", f->b.devs[i].bytes);
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
	for (i = 0; i < f->b.nr; i++)
		printf("  member %-2u %s (%s)\n", i, f->b.devs[i].path,
		       ctl_size(a, f->b.devs[i].bytes));
}

int cmd_format(struct ctl *ctl, int argc, char **argv)
{
	struct format f = { .ctl = ctl, .b.ctl = ctl };
	char **paths;
	int status;

	parse(&f, argc, argv);
	f.b.dry_run = f.dry_run;
	paths = argv + ctl_optind;
	status = blanks_open(&f.b, paths);
	if (!status)
		status = blanks_check(&f.b, paths);
	if (!status)
		status = plan(&f);
	if (!status && !f.dry_run)
		status = write_pool(&f);
	if (!status && ctl->json)
		tell_json(&f);
	else if (!status && !ctl->quiet)
		tell_text(&f);
	blanks_close(&f.b);
	return status;
}
