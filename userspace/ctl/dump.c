// SPDX-License-Identifier: MIT
/* Structures of the media for people and scripts. See dump.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "geometry.h"

/* --- output --- */

static bool is_nested(const cJSON *value)
{
	return cJSON_IsObject(value) || cJSON_IsArray(value);
}

static void print_scalar(const cJSON *value)
{
	char *text;

	if (cJSON_IsString(value)) {
		fputs(value->valuestring, stdout);
		return;
	}
	text = cJSON_PrintUnformatted(value);
	fputs(text ? text : "?", stdout);
	free(text);
}

/* A kind that is also the name of the field behind it: "slot slot 0". */
static bool says_kind(const cJSON *field)
{
	return !strcmp(field->string, "kind") && field->next &&
	       !strcmp(field->valuestring, field->next->string);
}

static void print_item(const cJSON *item, int indent)
{
	const cJSON *field, *element;
	bool any = false;

	printf("%*s", indent, "");
	if (!is_nested(item)) {
		print_scalar(item);
		putchar('\n');
		return;
	}
	cJSON_ArrayForEach(field, item) {
		if (is_nested(field) || says_kind(field))
			continue;
		if (any)
			putchar(' ');
		if (strcmp(field->string, "kind")) {
			fputs(field->string, stdout);
			putchar(' ');
		}
		print_scalar(field);
		any = true;
	}
	putchar('\n');
	cJSON_ArrayForEach(field, item) {
		if (!is_nested(field))
			continue;
		if (cJSON_IsObject(field)) {
			print_item(field, indent + 2);
			continue;
		}
		cJSON_ArrayForEach(element, field)
			print_item(element, indent + 2);
	}
}

void dump_begin(struct dump_out *out, bool json)
{
	out->json = json;
	if (json)
		ctl_json_array_begin(&out->array);
}

void dump_emit(struct dump_out *out, cJSON *item)
{
	if (out->json) {
		ctl_json_array_item(&out->array, item);
		return;
	}
	print_item(item, 0);
	cJSON_Delete(item);
}

void dump_end(struct dump_out *out)
{
	if (out->json)
		ctl_json_array_end(&out->array);
}

/* --- small things --- */

static const char *name_of(const char *const *names, size_t nr, u32 value)
{
	return value < nr && names[value] ? names[value] : "unknown";
}

static void add_hash(cJSON *o, struct kvc_hash h)
{
	char text[40];

	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64,
		 (uint64_t)h.hi, (uint64_t)h.lo);
	cJSON_AddStringToObject(o, "hash", text);
}

static void add_crc(cJSON *o, const char *name, u32 crc)
{
	char text[12];

	snprintf(text, sizeof(text), "0x%08" PRIx32, crc);
	cJSON_AddStringToObject(o, name, text);
}

static void add_slot(cJSON *o, const char *name, u32 slot)
{
	if (slot != KVC_NO_SLOT)
		cJSON_AddNumberToObject(o, name, slot);
}

void dump_place(cJSON *o, struct kvc_place p)
{
	cJSON_AddNumberToObject(o, "at_member", p.member);
	ctl_json_u64(o, "at_block", p.block);
}

/* --- labels --- */

void dump_member(cJSON *o, const struct kvc_member_info *m)
{
	ctl_json_uuid(o, "uuid", m->uuid);
	ctl_json_u64(o, "blocks", m->blocks);
	ctl_json_hex64(o, "wwid_hash", m->wwid_hash);
	cJSON_AddStringToObject(o, "state", geometry_member_state(m->state));
	if (m->missing_since)
		ctl_json_u64(o, "missing_since", m->missing_since);
}

static void add_spans(cJSON *o, const struct kvc_geometry *g)
{
	cJSON *spans = cJSON_AddArrayToObject(o, "spans");
	u32 i;

	for (i = 0; i < g->nr_spans; i++) {
		const struct kvc_span *s = &g->spans[i];
		cJSON *span = cJSON_CreateObject();

		cJSON_AddStringToObject(span, "kind", "span");
		cJSON_AddNumberToObject(span, "first_ag", s->first_ag);
		cJSON_AddNumberToObject(span, "ags", s->nr_ags);
		cJSON_AddNumberToObject(span, "first_segment",
					s->first_segment);
		cJSON_AddNumberToObject(span, "segments", s->nr_segments);
		cJSON_AddNumberToObject(span, "first_member",
					s->first_member);
		cJSON_AddNumberToObject(span, "members", s->nr_members);
		cJSON_AddNumberToObject(span, "width", s->width);
		cJSON_AddNumberToObject(span, "first_lane", s->first_lane);
		cJSON_AddNumberToObject(span, "first_journal",
					s->first_journal);
		cJSON_AddItemToArray(spans, span);
	}
}

void dump_geometry(cJSON *o, const struct kvc_geometry *g)
{
	cJSON_AddStringToObject(o, "name", g->name);
	ctl_json_uuid(o, "pool_uuid", g->uuid);
	ctl_json_u64(o, "created", g->created);
	cJSON_AddBoolToObject(o, "data_crc",
			      !(g->flags & KVC_POOL_NO_DATA_CRC));
	cJSON_AddNumberToObject(o, "lease_ms", g->lease_ms);
	cJSON_AddNumberToObject(o, "heartbeat_ms", g->heartbeat_ms);
	cJSON_AddNumberToObject(o, "q_ms", g->q_ms);
	cJSON_AddNumberToObject(o, "members", g->nr_members);
	cJSON_AddNumberToObject(o, "ags", g->nr_ags);
	cJSON_AddNumberToObject(o, "segments", g->nr_segments);
	ctl_json_u64(o, "segment_bytes", kvc_segment_bytes(g));
	cJSON_AddNumberToObject(o, "slots", g->nr_slots);
	cJSON_AddNumberToObject(o, "slot_copies", g->nr_slot_copies);
	geometry_slots_json(o, g);
	cJSON_AddNumberToObject(o, "slot_blocks", g->slot_blocks);
	ctl_json_u64(o, "slot_start", g->slot_start);
	ctl_json_u64(o, "journal_start", g->journal_start);
	cJSON_AddNumberToObject(o, "ring_blocks", g->ring_blocks);
	cJSON_AddNumberToObject(o, "journals", g->nr_journals);
	ctl_json_u64(o, "data_start", g->data_start);
	cJSON_AddNumberToObject(o, "lanes", g->nr_lanes);
	add_spans(o, g);
}

/* --- slots --- */

void dump_slot(cJSON *o, const struct kvc_slot_info *s,
	       const struct kvc_writer *w)
{
	static const char * const states[] = {
		[KVC_SLOT_FREE] = "free", [KVC_SLOT_JOINING] = "joining",
		[KVC_SLOT_ACTIVE] = "active", [KVC_SLOT_DOWN] = "down",
	};
	cJSON *ags;
	u32 i;

	cJSON_AddStringToObject(o, "state",
				name_of(states, ARRAY_SIZE(states), s->state));
	ctl_json_u64(o, "sequence", s->sequence);
	ctl_json_u64(o, "incarnation", s->incarnation);
	ctl_json_u64(o, "heartbeat", s->heartbeat);
	cJSON_AddBoolToObject(o, "shared", s->flags & KVC_SLOT_SHARED);
	if (s->flags & KVC_SLOT_RELABELS)
		cJSON_AddBoolToObject(o, "relabels", true);
	if (s->label_seq)
		ctl_json_u64(o, "label_sequence", s->label_seq);
	cJSON_AddStringToObject(o, "node", s->node);
	cJSON_AddStringToObject(o, "nqn", s->nqn);
	ctl_json_uuid(o, "boot_id", s->boot_id);
	ctl_json_uuid(o, "attach_id", s->attach_id);
	add_slot(o, "writer_slot", w->slot);
	ctl_json_u64(o, "writer_incarnation", w->incarnation);
	ags = cJSON_AddArrayToObject(o, "ags");
	for (i = 0; i < s->nr_ags; i++) {
		const struct kvc_slot_ag_info *a = &s->ags[i];
		cJSON *ag;

		if (!a->owned_epoch && !a->followed_epoch)
			continue;
		ag = cJSON_CreateObject();
		cJSON_AddNumberToObject(ag, "ag", s->first_ag + i);
		ctl_json_u64(ag, "owned_epoch", a->owned_epoch);
		ctl_json_u64(ag, "followed_epoch", a->followed_epoch);
		ctl_json_u64(ag, "drained", a->drained);
		cJSON_AddItemToArray(ags, ag);
	}
}

/* --- journals --- */

void dump_area(cJSON *o, const struct kvc_area_info *a)
{
	cJSON_AddNumberToObject(o, "ag", a->ag);
	ctl_json_u64(o, "epoch", a->epoch);
	ctl_json_u64(o, "sequence", a->sequence);
	add_slot(o, "owner_slot", a->owner_slot);
	ctl_json_u64(o, "owner_incarnation", a->owner_incarnation);
	ctl_json_u64(o, "head", a->head);
	ctl_json_u64(o, "checkpoint", a->checkpoint);
}

void dump_segment(cJSON *o, const struct kvc_segment_rec *r)
{
	cJSON_AddNumberToObject(o, "segment", r->segment);
	cJSON_AddStringToObject(o, "state", pr_state_name(r->state));
	ctl_json_hex64(o, "generation", r->generation);
	if (r->order)
		ctl_json_u64(o, "order", r->order);
	if (r->state != KVC_SEG_SEALED)
		return;
	cJSON_AddNumberToObject(o, "summary_segment", r->summary_segment);
	cJSON_AddNumberToObject(o, "summary_offset", r->summary_offset);
	cJSON_AddNumberToObject(o, "summary_blocks", r->summary_blocks);
	add_crc(o, "summary_crc", r->summary_crc);
	cJSON_AddNumberToObject(o, "objects", r->objects);
}

static void dump_put(cJSON *o, const struct kvc_put *p)
{
	ctl_json_key(o, p->key, p->key_len);
	cJSON_AddNumberToObject(o, "tenant", p->tenant);
	add_hash(o, p->hash);
	cJSON_AddNumberToObject(o, "segment", p->segment);
	ctl_json_hex64(o, "generation", p->generation);
	cJSON_AddNumberToObject(o, "offset", p->offset);
	cJSON_AddNumberToObject(o, "bytes", p->bytes);
	add_crc(o, "data_crc", p->data_crc);
	if (p->depth)
		cJSON_AddNumberToObject(o, "depth", p->depth);
	if (p->expiry)
		ctl_json_u64(o, "expiry", p->expiry);
	if (p->pin)
		ctl_json_u64(o, "pin", p->pin);
	if (!p->moved)
		return;
	cJSON_AddNumberToObject(o, "old_segment", p->old_segment);
	ctl_json_hex64(o, "old_generation", p->old_generation);
	cJSON_AddNumberToObject(o, "old_offset", p->old_offset);
}

static void dump_delete(cJSON *o, const struct kvc_delete *d)
{
	cJSON_AddNumberToObject(o, "tenant", d->tenant);
	add_hash(o, d->hash);
	cJSON_AddNumberToObject(o, "segment", d->segment);
	ctl_json_hex64(o, "generation", d->generation);
	cJSON_AddNumberToObject(o, "offset", d->offset);
}

static void dump_checkpoint(cJSON *o, const struct kvc_checkpoint_rec *c)
{
	cJSON_AddNumberToObject(o, "part", c->part);
	cJSON_AddNumberToObject(o, "parts", c->parts);
	ctl_json_u64(o, "start", c->start);
	ctl_json_u64(o, "next_order", c->next_order);
}

static void dump_ask(cJSON *o, const struct kvc_ask_rec *a)
{
	cJSON_AddStringToObject(o, "asks", a->kind == KVC_ASK_DELETE ?
				"delete" : "touch");
	cJSON_AddNumberToObject(o, "ag", a->ag);
	cJSON_AddNumberToObject(o, "tenant", a->tenant);
	add_hash(o, a->hash);
	cJSON_AddNumberToObject(o, "count", a->count);
}

static cJSON *dump_record(const struct kvc_record *rec)
{
	static const char * const names[] = {
		[KVC_REC_PUT] = "PUT", [KVC_REC_DELETE] = "DELETE",
		[KVC_REC_OPEN] = "OPEN", [KVC_REC_SEAL] = "SEAL",
		[KVC_REC_RETIRE] = "RETIRE", [KVC_REC_SEGMENT] = "SEGMENT",
		[KVC_REC_CHECKPOINT] = "CHECKPOINT", [KVC_REC_ASK] = "ASK",
	};
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "kind", name_of(names, ARRAY_SIZE(names),
						   rec->type));
	switch (rec->type) {
	case KVC_REC_PUT:
		dump_put(o, &rec->put);
		break;
	case KVC_REC_DELETE:
		dump_delete(o, &rec->del);
		break;
	case KVC_REC_CHECKPOINT:
		dump_checkpoint(o, &rec->checkpoint);
		break;
	case KVC_REC_ASK:
		dump_ask(o, &rec->ask);
		break;
	default:
		dump_segment(o, &rec->seg);
	}
	return o;
}

void dump_records(cJSON *o, struct kvc_records *records)
{
	cJSON *array = cJSON_AddArrayToObject(o, "records");
	struct kvc_record rec;
	int got;

	while ((got = kvc_records_next(records, &rec)) == 1)
		cJSON_AddItemToArray(array, dump_record(&rec));
	if (got < 0)
		cJSON_AddStringToObject(o, "problem",
					"a record can't be taken apart");
}

/* --- objects --- */

void dump_object(cJSON *o, const struct pr_object *p)
{
	struct kvc_put put = {
		.hash = p->hash, .generation = p->generation,
		.segment = p->segment, .offset = p->offset, .bytes = p->bytes,
		.data_crc = p->data_crc, .tenant = p->tenant,
		.key_len = p->key_len, .depth = p->depth,
		.expiry = p->expiry, .pin = p->pin, .key = p->key,
	};
	struct kvc_delete dead = {
		.hash = p->hash, .generation = p->generation,
		.segment = p->segment, .offset = p->offset,
		.tenant = p->tenant,
	};

	if (p->key)
		dump_put(o, &put);
	else
		dump_delete(o, &dead);
}

void dump_lanes(cJSON *o, const struct kvc_geometry *g, u32 segment)
{
	cJSON *lanes = cJSON_AddArrayToObject(o, "lanes");
	u32 width = kvc_span_of_segment(g, segment)->width, i;

	for (i = 0; i < width; i++) {
		u64 bytes = KVC_BLOCK_SIZE;
		cJSON *lane = cJSON_CreateObject();

		cJSON_AddStringToObject(lane, "kind", "lane");
		dump_place(lane, kvc_place_data(g, segment,
						(u64)i << g->unit_shift,
						&bytes));
		cJSON_AddItemToArray(lanes, lane);
	}
}

/* --- any block --- */

#define ROW 16

static void add_hex(cJSON *o, const u8 *block)
{
	cJSON *rows = cJSON_AddArrayToObject(o, "hex");
	static const u8 zero[ROW];
	char text[8 + 3 * ROW + 1];
	u32 at, i;
	int n;

	for (at = 0; at < KVC_BLOCK_SIZE; at += ROW) {
		if (!memcmp(block + at, zero, ROW))
			continue;	/* rows of zeroes are left out */
		n = snprintf(text, sizeof(text), "%04x:", at);
		for (i = 0; i < ROW; i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      " %02x", block[at + i]);
		cJSON_AddItemToArray(rows, cJSON_CreateString(text));
	}
}

static void add_header(cJSON *o, const u8 *block)
{
	const struct kvc_block_header *h = (const void *)block;
	cJSON *header = cJSON_AddObjectToObject(o, "header");
	u64 address = le64_to_cpu(h->address);

	cJSON_AddStringToObject(header, "kind", "header");
	cJSON_AddNumberToObject(header, "type", h->type);
	cJSON_AddNumberToObject(header, "version", h->version);
	dump_place(header, (struct kvc_place){
		.member = (u32)(address >> KVC_ADDRESS_MEMBER_SHIFT),
		.block = address & ((1ULL << KVC_ADDRESS_MEMBER_SHIFT) - 1),
	});
	ctl_json_u64(header, "sequence", le64_to_cpu(h->sequence));
	add_slot(header, "writer_slot", le32_to_cpu(h->slot));
	ctl_json_u64(header, "writer_incarnation",
		     le64_to_cpu(h->incarnation));
	add_crc(header, "crc", le32_to_cpu(h->crc));
}

/* Decode a sound block; false if its contents are not sound. */
static bool add_contents(cJSON *o, const struct kvc_geometry *g,
			 const u8 *block)
{
	const struct kvc_block_header *h = (const void *)block;
	struct kvc_writer w = {
		.slot = le32_to_cpu(h->slot),
		.incarnation = le64_to_cpu(h->incarnation),
	};
	struct kvc_summary_info summary;
	struct kvc_journal_info journal;
	struct kvc_slot_info slot;
	struct kvc_area_info area;
	struct kvc_geometry other;
	struct kvc_records records;
	const char *why = NULL;
	u32 member;

	switch (h->type) {
	case KVC_BLOCK_LABEL:
		if (kvc_label_decode(block, &other, &member, &why))
			break;
		cJSON_AddNumberToObject(o, "member", member);
		dump_geometry(o, &other);
		return true;
	case KVC_BLOCK_SLOT:
		if (kvc_slot_decode(block, g, &slot))
			break;
		cJSON_AddNumberToObject(o, "slot", slot.number);
		dump_slot(o, &slot, &w);
		return true;
	case KVC_BLOCK_AREA:
		if (kvc_area_decode(block, g, &area))
			break;
		dump_area(o, &area);
		return true;
	case KVC_BLOCK_JOURNAL:
		if (kvc_journal_open(block, g, &journal, &records))
			break;
		cJSON_AddNumberToObject(o, "ag", journal.ag);
		ctl_json_u64(o, "epoch", journal.epoch);
		ctl_json_u64(o, "position", journal.position);
		dump_records(o, &records);
		return true;
	case KVC_BLOCK_SUMMARY:
		if (kvc_summary_open(block, g, &summary, &records))
			break;
		cJSON_AddNumberToObject(o, "ag", summary.ag);
		cJSON_AddNumberToObject(o, "segment", summary.segment);
		ctl_json_hex64(o, "generation", summary.generation);
		cJSON_AddNumberToObject(o, "part", summary.part);
		cJSON_AddNumberToObject(o, "parts", summary.nr_blocks);
		dump_records(o, &records);
		return true;
	}
	cJSON_AddStringToObject(o, "problem", why ? why : "malformed");
	return false;
}

void dump_block(cJSON *o, const struct kvc_geometry *g, struct kvc_place p,
		const u8 *block)
{
	static const char * const types[] = {
		[KVC_BLOCK_LABEL] = "label", [KVC_BLOCK_SLOT] = "slot",
		[KVC_BLOCK_AREA] = "area header",
		[KVC_BLOCK_JOURNAL] = "journal", [KVC_BLOCK_SUMMARY] = "summary",
	};
	const struct kvc_block_header *h = (const void *)block;
	enum kvc_block_verdict v =
		kvc_block_verify(block, h->type, g->uuid, &p);

	if (v == KVC_BLOCK_NEVER) {
		cJSON_AddStringToObject(o, "type", "no metadata of this pool");
		add_hex(o, block);
		return;
	}
	cJSON_AddStringToObject(o, "type", name_of(types, ARRAY_SIZE(types),
						   h->type));
	cJSON_AddStringToObject(o, "verdict", kvc_block_verdict_name(v));
	add_header(o, block);
	if ((v != KVC_BLOCK_OK && v != KVC_BLOCK_MISPLACED) ||
	    !add_contents(o, g, block))
		add_hex(o, block);
}
