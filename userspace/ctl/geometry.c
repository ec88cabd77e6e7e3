// SPDX-License-Identifier: MIT
/* A pool's geometry for people and for scripts. */
#include "geometry.h"

static u64 capacity(const struct kvc_geometry *g)
{
	return (u64)g->nr_segments << g->segment_shift;
}

static u64 ring_bytes(const struct kvc_geometry *g)
{
	return (u64)g->ring_blocks * KVC_BLOCK_SIZE;
}

static bool has_data_crc(const struct kvc_geometry *g)
{
	return !(g->flags & KVC_POOL_NO_DATA_CRC);
}

void geometry_slots_json(cJSON *object, const struct kvc_geometry *g)
{
	cJSON *members = cJSON_AddArrayToObject(object, "slot_members");
	u32 i;

	for (i = 0; i < g->nr_slot_copies; i++)
		cJSON_AddItemToArray(members,
				     cJSON_CreateNumber(g->slot_members[i]));
	if (g->slot_leaves == KVC_NO_COPY)
		return;
	ctl_json_u64(object, "slots_leave", g->slot_members[g->slot_leaves]);
	ctl_json_u64(object, "slots_move_to", g->slot_members[g->nr_slot_copies]);
}

void geometry_json(cJSON *object, const struct kvc_geometry *g)
{
	ctl_json_uuid(object, "uuid", g->uuid);
	cJSON_AddStringToObject(object, "name", g->name);
	ctl_json_u64(object, "created", g->created);
	ctl_json_u64(object, "capacity", capacity(g));
	ctl_json_u64(object, "segment_bytes", kvc_segment_bytes(g));
	ctl_json_u64(object, "segments", g->nr_segments);
	ctl_json_u64(object, "max_object", kvc_max_object(g));
	ctl_json_u64(object, "width", g->spans[0].width);
	ctl_json_u64(object, "ags", g->nr_ags);
	ctl_json_u64(object, "slots", g->nr_slots);
	ctl_json_u64(object, "slot_copies", g->nr_slot_copies);
	geometry_slots_json(object, g);
	ctl_json_u64(object, "ring_bytes", ring_bytes(g));
	ctl_json_u64(object, "lease_ms", g->lease_ms);
	ctl_json_u64(object, "heartbeat_ms", g->heartbeat_ms);
	ctl_json_u64(object, "q_ms", g->q_ms);
	cJSON_AddBoolToObject(object, "data_crc", has_data_crc(g));
}

void geometry_text(const struct kvc_geometry *g)
{
	char a[CTL_TEXT], b[CTL_TEXT], c[CTL_TEXT];

	printf("  capacity  %s in %u segments of %s, largest object %s\n",
	       ctl_size(a, capacity(g)), g->nr_segments,
	       ctl_size(b, kvc_segment_bytes(g)), ctl_size(c, kvc_max_object(g)));
	printf("  layout    %u allocation groups, width %u, %u host slots in %s, rings of %s\n",
	       g->nr_ags, g->spans[0].width, g->nr_slots,
	       g->nr_slot_copies == 1 ? "one copy" : "three copies",
	       ctl_size(a, ring_bytes(g)));
	printf("  terms     lease %u ms, heartbeat %u ms, q %u ms, data checksums %s\n",
	       g->lease_ms, g->heartbeat_ms, g->q_ms,
	       has_data_crc(g) ? "on" : "off");
}

const char *geometry_member_state(u32 state)
{
	static const char *const names[] = {
		[KVC_MEMBER_PRESENT] = "present",
		[KVC_MEMBER_MISSING] = "missing",
		[KVC_MEMBER_DRAINING] = "draining",
		[KVC_MEMBER_REMOVED] = "removed",
	};

	return state < sizeof(names) / sizeof(names[0]) && names[state] ?
		       names[state] : "unknown";
}
