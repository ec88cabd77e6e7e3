// SPDX-License-Identifier: MIT
/* kvcachectl slots: the hosts of an attached pool, as its host slots tell. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

static const struct ctl_option options[] = {
	CALL_OPTION_POOL,
	{ 'a', "all", NULL, "also slots that were never used" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options]",
	.about = "Show the hosts of a pool. Each has a slot on media with its incarnation and a\n"
		 "sequence that goes up with every heartbeat; a slot that has been silent for longer\n"
		 "than a lease is that of a host that is gone. This reads from media.",
	.options = options,
};

static const char *state_name(u32 state)
{
	static const char *const names[] = {
		[KVCACHE_SLOT_FREE] = "free",
		[KVCACHE_SLOT_JOINING] = "joining",
		[KVCACHE_SLOT_ACTIVE] = "active",
		[KVCACHE_SLOT_DOWN] = "down",
		[KVCACHE_SLOT_UNKNOWN] = "unknown",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "other";
}

/* Text from another host, of which nothing may be believed. */
static const char *clean(char *text, size_t room)
{
	size_t i;

	text[room - 1] = '\0';
	for (i = 0; text[i]; i++)
		if (text[i] <= ' ' || text[i] > '~')
			text[i] = '?';
	return text;
}

static void tell_json(const struct kvcache_slot_info *slots, int count, bool all)
{
	cJSON *array = cJSON_CreateArray();
	int i;

	for (i = 0; i < count; i++) {
		struct kvcache_slot_info s = slots[i];
		cJSON *item;

		if (!all && s.state == KVCACHE_SLOT_FREE)
			continue;
		item = cJSON_CreateObject();
		ctl_json_u64(item, "slot", s.slot);
		cJSON_AddStringToObject(item, "state", state_name(s.state));
		ctl_json_u64(item, "incarnation", s.incarnation);
		ctl_json_u64(item, "sequence", s.sequence);
		ctl_json_u64(item, "silent_ms", s.silent_ms);
		cJSON_AddBoolToObject(item, "fenced", s.fenced);
		cJSON_AddStringToObject(item, "node",
					clean((char *)s.node, sizeof(s.node)));
		cJSON_AddStringToObject(item, "nqn",
					clean((char *)s.nqn, sizeof(s.nqn)));
		cJSON_AddItemToArray(array, item);
	}
	ctl_json_print(array);
}

static void tell_text(const struct kvcache_slot_info *slots, int count, bool all)
{
	int i;

	printf("%4s %-8s %20s %12s %9s %-20s %s\n", "SLOT", "STATE",
	       "INCARNATION", "SEQUENCE", "SILENT", "HOST", "NQN");
	for (i = 0; i < count; i++) {
		struct kvcache_slot_info s = slots[i];
		char silent[24];

		if (!all && s.state == KVCACHE_SLOT_FREE)
			continue;
		snprintf(silent, sizeof(silent), "%u ms", s.silent_ms);
		printf("%4u %-8s %20" PRIu64 " %12" PRIu64 " %9s %-20s %s\n",
		       s.slot, s.fenced ? "fenced" : state_name(s.state),
		       (uint64_t)s.incarnation,
		       (uint64_t)s.sequence, silent,
		       s.node[0] ? clean((char *)s.node, sizeof(s.node)) : "-",
		       s.nqn[0] ? clean((char *)s.nqn, sizeof(s.nqn)) : "-");
	}
}

int cmd_slots(struct ctl *ctl, int argc, char **argv)
{
	struct kvcache_slot_info *slots = NULL;
	struct call call = { 0 };
	int c, status, count, room = 0;
	bool all = false;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		if (call_option(ctl, &call, c))
			continue;
		if (c == 'a')
			all = true;
	}
	if (argc > ctl_optind)
		ctl_usage_error(ctl, "'%s' is one argument too many",
				argv[ctl_optind]);
	status = call_open(ctl, &call);
	if (status)
		return status;
	count = kvc_slots(call.kvc, NULL, 0);
	if (count > 0) {
		room = count;
		slots = ctl_alloc((size_t)room * sizeof(*slots));
		count = kvc_slots(call.kvc, slots, (unsigned int)room);
	}
	call_close(&call);
	if (count < 0) {
		status = call_failed(ctl, call.pool, count);
	} else {
		if (count > room)
			count = room;
		if (ctl->json)
			tell_json(slots, count, all);
		else
			tell_text(slots, count, all);
	}
	free(slots);
	return status;
}
