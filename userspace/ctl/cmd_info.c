// SPDX-License-Identifier: MIT
/* kvcachectl info: attached pools, or the labels of devices. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "counters.h"
#include "geometry.h"

enum {
	OPT_SCAN = 1000,
};

static const struct ctl_option options[] = {
	{ 'p', "pool", "POOL", "only this attached pool: number, name or UUID" },
	{ OPT_SCAN, "scan", NULL, "look for pools on all block devices of this host" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] [DEVICE...]",
	.about = "Without devices: show the pools that are attached. With devices (or image\n"
		 "files): show the pool that they hold as their labels tell it; the module is not\n"
		 "needed for that.",
	.options = options,
};

/* --- attached pools --- */

static const char *pool_state_name(u32 state)
{
	switch (state) {
	case KVCACHE_POOL_UP:
		return "up";
	case KVCACHE_POOL_LAPSED:
		return "lapsed";
	case KVCACHE_POOL_CLOSING:
		return "closing";
	default:
		return "unknown";
	}
}

static const char *state_name(u32 state)
{
	switch (state) {
	case KVCACHE_MEMBER_LIVE:
		return "live";
	case KVCACHE_MEMBER_SUSPECT:
		return "suspect";
	case KVCACHE_MEMBER_FAILED:
		return "failed";
	default:
		return "unknown";
	}
}

static cJSON *attached_json(const struct kvcache_info *info,
			    const struct kvcache_member_info *members, u32 nr)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *array;
	u32 i;

	ctl_json_u64(object, "pool", info->pool);
	cJSON_AddStringToObject(object, "name", (const char *)info->name);
	ctl_json_uuid(object, "uuid", info->uuid);
	cJSON_AddStringToObject(object, "mode", call_mode_name(info->mode));
	cJSON_AddStringToObject(object, "state", pool_state_name(info->state));
	ctl_json_u64(object, "capacity", info->capacity);
	ctl_json_u64(object, "used", info->used);
	ctl_json_u64(object, "live", info->live);
	ctl_json_u64(object, "objects", info->objects);
	ctl_json_u64(object, "max_object", info->max_object);
	ctl_json_u64(object, "segment_bytes", info->segment_bytes);
	ctl_json_u64(object, "segments", info->nr_segments);
	ctl_json_u64(object, "free_segments", info->free_segments);
	ctl_json_u64(object, "ags", info->nr_ags);
	ctl_json_u64(object, "owned_ags", info->owned_ags);
	ctl_json_u64(object, "slot", info->slot);
	ctl_json_u64(object, "incarnation", info->incarnation);
	ctl_json_u64(object, "lease_ms", info->lease_ms);
	ctl_json_u64(object, "lease_left_ms", info->lease_left_ms);
	cJSON_AddBoolToObject(object, "data_crc",
			      !(info->flags_out & KVC_POOL_NO_DATA_CRC));
	ctl_json_u64(object, "index_bytes", info->index_bytes);
	ctl_json_u64(object, "attach_ns", info->attach_ns);
	ctl_json_u64(object, "attach_objects", info->attach_objects);
	counters_json(object, info);
	array = cJSON_AddArrayToObject(object, "members");
	for (i = 0; i < nr; i++) {
		const struct kvcache_member_info *m = &members[i];
		cJSON *item = cJSON_CreateObject();

		ctl_json_u64(item, "index", m->index);
		cJSON_AddStringToObject(item, "device", (const char *)m->path);
		ctl_json_uuid(item, "uuid", m->uuid);
		cJSON_AddStringToObject(item, "state", state_name(m->state));
		ctl_json_u64(item, "bytes", m->bytes);
		ctl_json_u64(item, "read_bytes", m->read_bytes);
		ctl_json_u64(item, "written_bytes", m->written_bytes);
		ctl_json_u64(item, "errors", m->errors);
		cJSON_AddBoolToObject(item, "volatile_cache", m->volatile_cache);
		cJSON_AddBoolToObject(item, "registered", m->registered);
		cJSON_AddItemToArray(array, item);
	}
	return object;
}

static void attached_text(const struct kvcache_info *info,
			  const struct kvcache_member_info *members, u32 nr)
{
	char a[CTL_TEXT], b[CTL_TEXT], c[CTL_TEXT];
	u32 i;

	printf("pool %u '%s' %s\n", info->pool, info->name,
	       ctl_uuid(a, info->uuid));
	printf("  capacity  %s, used %s, live %s in %" PRIu64 " objects\n",
	       ctl_size(a, info->capacity), ctl_size(b, info->used),
	       ctl_size(c, info->live), (uint64_t)info->objects);
	printf("  segments  %u of %s, %u free; largest object %s\n",
	       info->nr_segments, ctl_size(a, info->segment_bytes),
	       info->free_segments, ctl_size(b, info->max_object));
	printf("  sharing   %s, slot %u, %u of %u allocation groups owned, ",
	       call_mode_name(info->mode), info->slot, info->owned_ags,
	       info->nr_ags);
	if (info->state == KVCACHE_POOL_CLOSING)
		printf("being detached\n");
	else if (info->lease_left_ms)
		printf("lease %u ms (%u ms left)\n", info->lease_ms,
		       info->lease_left_ms);
	else
		printf("lease LOST\n");
	printf("  index     %s; attach loaded %" PRIu64 " objects in %.3f s\n",
	       ctl_size(a, info->index_bytes), (uint64_t)info->attach_objects,
	       (double)info->attach_ns / 1e9);
	printf("  checksums %s\n",
	       info->flags_out & KVC_POOL_NO_DATA_CRC ? "off" : "on");
	for (i = 0; i < nr; i++)
		printf("  member %-2u %-9s %s (%s), %" PRIu64 " errors%s\n",
		       members[i].index, state_name(members[i].state),
		       members[i].path[0] ? (const char *)members[i].path :
					    "(missing)",
		       ctl_size(a, members[i].bytes),
		       (uint64_t)members[i].errors,
		       members[i].registered ? ", registered" : "");
}

/* One attached pool; *item is set with -o json. */
static int show_pool(struct ctl *ctl, unsigned int pool, cJSON **item)
{
	struct kvcache_member_info members[KVCACHE_MEMBERS_MAX] = { 0 };
	struct kvcache_info info;
	struct kvc *kvc = kvc_open(ctl->device, pool);
	char text[16];
	int error;
	u32 nr;

	snprintf(text, sizeof(text), "pool %u", pool);
	if (!kvc)
		return call_failed(ctl, ctl->device, errno);
	error = kvc_info(kvc, &info, members, KVCACHE_MEMBERS_MAX);
	kvc_close(kvc);
	if (error)
		return call_failed(ctl, text, error);
	nr = info.nr_members < KVCACHE_MEMBERS_MAX ? info.nr_members :
						     KVCACHE_MEMBERS_MAX;
	if (ctl->json)
		*item = attached_json(&info, members, nr);
	else
		attached_text(&info, members, nr);
	return CTL_OK;
}

static int show_attached(struct ctl *ctl, const char *pool)
{
	cJSON *array = ctl->json ? cJSON_CreateArray() : NULL;
	u32 pools[256];
	int count, status = CTL_OK, one, i;
	struct kvc *kvc = call_device(ctl);

	if (!kvc) {
		cJSON_Delete(array);
		return CTL_FAIL;
	}
	if (pool) {
		count = 1;
		pools[0] = call_find_pool(ctl, kvc, pool);
		if (!pools[0])
			status = CTL_MISS;
	} else {
		count = kvc_pools(kvc, pools, 256);
		if (count < 0)
			status = call_failed(ctl, ctl->device, count);
		if (count > 256)
			count = 256;
	}
	kvc_close(kvc);
	if (status) {
		cJSON_Delete(array);
		return status;
	}
	if (!count && !ctl->json)
		ctl_note(ctl, "no pool is attached; 'kvcachectl info --scan' looks for pools on this host's devices");
	for (i = 0; i < count; i++) {
		cJSON *item = NULL;

		one = show_pool(ctl, pools[i], &item);
		/* It may be detached in between: that is no error. */
		if (one && (pool || one != CTL_MISS))
			status = one;
		if (item)
			cJSON_AddItemToArray(array, item);
	}
	if (ctl->json)
		ctl_json_print(array);
	return status;
}

/* --- labels --- */

static cJSON *label_json(const struct pool_probe *p)
{
	const struct kvc_geometry *g = &p->g;
	cJSON *object = cJSON_CreateObject();
	cJSON *array;
	u32 i;

	if (!p->found) {
		cJSON_AddNullToObject(object, "uuid");
		cJSON_AddItemToObject(object, "problems", pool_probe_json(p));
		return object;
	}
	geometry_json(object, g);
	ctl_json_u64(object, "label_sequence", p->sequence);
	array = cJSON_AddArrayToObject(object, "members");
	for (i = 0; i < g->nr_members; i++) {
		cJSON *item = cJSON_CreateObject();

		ctl_json_u64(item, "index", i);
		ctl_json_uuid(item, "uuid", g->members[i].uuid);
		if (p->members[i])
			cJSON_AddStringToObject(item, "device",
						p->members[i]->dev.path);
		else
			cJSON_AddNullToObject(item, "device");
		cJSON_AddStringToObject(item, "state",
					geometry_member_state(g->members[i].state));
		ctl_json_u64(item, "bytes", g->members[i].blocks * KVC_BLOCK_SIZE);
		ctl_json_hex64(item, "wwid_hash", g->members[i].wwid_hash);
		cJSON_AddItemToArray(array, item);
	}
	cJSON_AddItemToObject(object, "problems", pool_probe_json(p));
	return object;
}

static void label_text(const struct pool_probe *p)
{
	const struct kvc_geometry *g = &p->g;
	char a[CTL_TEXT], when[64];
	time_t created = (time_t)g->created;
	struct tm tm;
	u32 i;

	if (!p->found)
		return;
	if (!gmtime_r(&created, &tm) ||
	    !strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm))
		strcpy(when, "at an impossible time");
	printf("pool '%s' %s\n", g->name, ctl_uuid(a, g->uuid));
	printf("  created   %s; label sequence %" PRIu64 "\n", when,
	       (uint64_t)p->sequence);
	geometry_text(g);
	for (i = 0; i < g->nr_members; i++)
		printf("  member %-2u %s (%s)\n", i,
		       p->members[i] ? p->members[i]->dev.path : "(not given)",
		       ctl_size(a, g->members[i].blocks * KVC_BLOCK_SIZE));
}

static int show_labels(struct ctl *ctl, char **paths, int count)
{
	struct pool_probe p;
	int status;

	if (pool_probe(ctl, &p, paths, count, CTL_DEV_READ)) {
		pool_probe_free(&p);
		return CTL_FAIL;
	}
	if (ctl->json) {
		ctl_json_print(label_json(&p));
	} else {
		label_text(&p);
		fflush(stdout);
		pool_probe_report(ctl, &p);
	}
	status = p.found ? CTL_OK : CTL_MISS;
	pool_probe_free(&p);
	return status;
}

/* --- scan --- */

/* The pools that these devices hold, one after the other. */
static int show_scan(struct ctl *ctl)
{
	cJSON *array = ctl->json ? cJSON_CreateArray() : NULL;
	char **paths, **rest;
	int left, i, n;

	left = pool_scan(ctl, NULL, &paths);
	if (left < 0) {
		cJSON_Delete(array);
		return CTL_FAIL;
	}
	rest = ctl_alloc((size_t)(left + 1) * sizeof(*rest));
	if (!left)
		ctl_note(ctl, "no pool is on the block devices of this host");
	while (left) {
		struct pool_probe p, q;

		/* One pool's devices first, then that pool by itself. */
		if (pool_probe(ctl, &p, paths, left, CTL_DEV_QUIET) || !p.found) {
			pool_probe_free(&p);
			break;
		}
		for (i = n = 0; i < left; i++)
			if (p.devs[i].newest &&
			    !memcmp(p.devs[i].newest->g.uuid, p.g.uuid, 16))
				rest[n++] = paths[i];
		if (!pool_probe(ctl, &q, rest, n, CTL_DEV_QUIET)) {
			if (ctl->json)
				cJSON_AddItemToArray(array, label_json(&q));
			else
				label_text(&q);
		}
		pool_probe_free(&q);
		for (i = n = 0; i < left; i++) {
			if (p.devs[i].newest &&
			    !memcmp(p.devs[i].newest->g.uuid, p.g.uuid, 16))
				free(paths[i]);
			else
				paths[n++] = paths[i];
		}
		left = n;
		pool_probe_free(&p);
	}
	for (i = 0; i < left; i++)
		free(paths[i]);
	free(paths);
	free(rest);
	if (ctl->json)
		ctl_json_print(array);
	return CTL_OK;
}

int cmd_info(struct ctl *ctl, int argc, char **argv)
{
	const char *pool = NULL;
	bool scan = false;
	int c;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		if (c == 'p')
			pool = ctl_optarg;
		else if (c == OPT_SCAN)
			scan = true;
	}
	if ((pool != NULL) + scan + (argc > ctl_optind) > 1)
		ctl_usage_error(ctl, "give one of --pool, --scan and devices");
	if (scan)
		return show_scan(ctl);
	if (argc > ctl_optind)
		return show_labels(ctl, argv + ctl_optind, argc - ctl_optind);
	return show_attached(ctl, pool);
}
