// SPDX-License-Identifier: MIT
/* kvcachectl ags: the allocation groups of an attached pool. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

static const struct ctl_option options[] = {
	CALL_OPTION_POOL,
	{}
};

static const struct ctl_usage usage = {
	.args = "[options]",
	.about = "Show the allocation groups (AGs) of a pool: whether this host owns or follows\n"
		 "each, its epoch in memory, the highest epoch that a host slot shows and whose slot\n"
		 "that is, the lowest epoch that it may be granted with, the member that its journals\n"
		 "are on, and why the last takeover or load failed.",
	.options = options,
};

static const char *state_name(u32 state)
{
	static const char *const names[] = {
		[KVCACHE_AG_UNKNOWN] = "unknown",
		[KVCACHE_AG_LOADING] = "loading",
		[KVCACHE_AG_FOLLOWED] = "followed",
		[KVCACHE_AG_TAKING] = "taking",
		[KVCACHE_AG_OWNED] = "owned",
		[KVCACHE_AG_RELEASING] = "releasing",
		[KVCACHE_AG_LOST] = "lost",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "other";
}

static const char *error_name(s32 error)
{
	const char *name = error ? strerrorname_np(abs(error)) : "";

	return name ? name : "?";
}

static void tell_json(const struct kvcache_ag_info *ags, int count)
{
	cJSON *array = cJSON_CreateArray();
	int i;

	for (i = 0; i < count; i++) {
		const struct kvcache_ag_info *a = &ags[i];
		cJSON *item = cJSON_CreateObject();

		ctl_json_u64(item, "ag", a->ag);
		cJSON_AddStringToObject(item, "state", state_name(a->state));
		ctl_json_u64(item, "epoch", a->epoch);
		ctl_json_u64(item, "shown", a->shown);
		ctl_json_u64(item, "next_epoch", a->next_epoch);
		if (a->slot == U32_MAX)
			cJSON_AddNullToObject(item, "slot");
		else
			ctl_json_u64(item, "slot", a->slot);
		ctl_json_u64(item, "home", a->home);
		ctl_json_u64(item, "position", a->position);
		ctl_json_u64(item, "objects", a->objects);
		if (a->error)
			cJSON_AddStringToObject(item, "error",
						error_name(a->error));
		else
			cJSON_AddNullToObject(item, "error");
		cJSON_AddItemToArray(array, item);
	}
	ctl_json_print(array);
}

static void tell_text(const struct kvcache_ag_info *ags, int count)
{
	char slot[16];
	int i;

	printf("%4s %-9s %8s %8s %8s %4s %4s %12s %12s %s\n", "AG", "STATE",
	       "EPOCH", "SHOWN", "NEXT", "SLOT", "HOME", "POSITION", "OBJECTS",
	       "ERROR");
	for (i = 0; i < count; i++) {
		const struct kvcache_ag_info *a = &ags[i];

		if (a->slot == U32_MAX)
			strcpy(slot, "-");
		else
			snprintf(slot, sizeof(slot), "%u", a->slot);
		printf("%4u %-9s %8" PRIu64 " %8" PRIu64 " %8" PRIu64
		       " %4s %4u %12" PRIu64 " %12" PRIu64 " %s\n", a->ag,
		       state_name(a->state), (uint64_t)a->epoch,
		       (uint64_t)a->shown, (uint64_t)a->next_epoch, slot,
		       a->home, (uint64_t)a->position, (uint64_t)a->objects,
		       a->error ? error_name(a->error) : "-");
	}
}

int cmd_ags(struct ctl *ctl, int argc, char **argv)
{
	struct kvcache_ag_info *ags = NULL;
	struct call call = { 0 };
	int c, status, count, room = 0;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1)
		call_option(ctl, &call, c);
	if (argc > ctl_optind)
		ctl_usage_error(ctl, "'%s' is one argument too many",
				argv[ctl_optind]);
	status = call_open(ctl, &call);
	if (status)
		return status;
	/* Their number does not change while the pool is attached. */
	count = kvc_ags(call.kvc, NULL, 0);
	if (count > 0) {
		room = count;
		ags = ctl_alloc((size_t)room * sizeof(*ags));
		count = kvc_ags(call.kvc, ags, (unsigned int)room);
	}
	call_close(&call);
	if (count < 0) {
		status = call_failed(ctl, call.pool, count);
	} else {
		if (count > room)
			count = room;
		if (ctl->json)
			tell_json(ags, count);
		else
			tell_text(ags, count);
	}
	free(ags);
	return status;
}
