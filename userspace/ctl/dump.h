/* SPDX-License-Identifier: MIT */
/*
 * Structures of the media for people and scripts.
 *
 * What is shown is a sequence of items. An item is a JSON object with a "kind";
 * for people, it is a line that begins with its kind and goes on with its
 * fields, and a line for each thing that it holds, further in.
 */
#ifndef KVC_DUMP_H
#define KVC_DUMP_H

#include "ctl.h"
#include "poolread.h"

/**
 * struct dump_out - where items go
 * @json: as one JSON array, else as text
 * @array: the array
 */
struct dump_out {
	bool json;
	struct ctl_json_array array;
};

void dump_begin(struct dump_out *out, bool json);
void dump_emit(struct dump_out *out, cJSON *item);	/* frees it */
void dump_end(struct dump_out *out);

/* Each of these adds fields to an item. */
void dump_place(cJSON *o, struct kvc_place p);
void dump_geometry(cJSON *o, const struct kvc_geometry *g);
void dump_member(cJSON *o, const struct kvc_member_info *m);
void dump_slot(cJSON *o, const struct kvc_slot_info *s,
	       const struct kvc_writer *w);
void dump_area(cJSON *o, const struct kvc_area_info *a);
void dump_segment(cJSON *o, const struct kvc_segment_rec *r);
void dump_object(cJSON *o, const struct pr_object *p);
void dump_lanes(cJSON *o, const struct kvc_geometry *g, u32 segment);

/* An array "records". */
void dump_records(cJSON *o, struct kvc_records *records);

/* Whatever it is. */
void dump_block(cJSON *o, const struct kvc_geometry *g, struct kvc_place p,
		const u8 *block);

#endif
