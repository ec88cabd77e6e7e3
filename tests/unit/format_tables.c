// SPDX-License-Identifier: MIT
/*
 * Do the tables of Documentation/format.rst tell the structures as
 * kmod/kvc_format.h has them? Every row must be a field at this offset and of
 * this size, and the rows of a structure follow each other without gaps.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvc_format.h"

/* A structure, where @name is NULL, or a field of one. */
struct part {
	const char *of;
	const char *name;
	size_t offset;
	size_t size;
};

#define STRUCT(s)	{ #s, NULL, 0, sizeof(struct s) }
#define FIELD(s, f)	\
	{ #s, #f, offsetof(struct s, f), sizeof(((struct s *)NULL)->f) }

static const struct part parts[] = {
	STRUCT(kvc_block_header),
	FIELD(kvc_block_header, magic),
	FIELD(kvc_block_header, crc),
	FIELD(kvc_block_header, type),
	FIELD(kvc_block_header, version),
	FIELD(kvc_block_header, reserved0),
	FIELD(kvc_block_header, pool_uuid),
	FIELD(kvc_block_header, address),
	FIELD(kvc_block_header, sequence),
	FIELD(kvc_block_header, incarnation),
	FIELD(kvc_block_header, slot),
	FIELD(kvc_block_header, reserved1),
	STRUCT(kvc_label),
	FIELD(kvc_label, h),
	FIELD(kvc_label, feature_compat),
	FIELD(kvc_label, feature_ro_compat),
	FIELD(kvc_label, feature_incompat),
	FIELD(kvc_label, name),
	FIELD(kvc_label, hash_key),
	FIELD(kvc_label, created),
	FIELD(kvc_label, flags),
	FIELD(kvc_label, lease_ms),
	FIELD(kvc_label, heartbeat_ms),
	FIELD(kvc_label, q_ms),
	FIELD(kvc_label, member),
	FIELD(kvc_label, nr_members),
	FIELD(kvc_label, nr_spans),
	FIELD(kvc_label, nr_slots),
	FIELD(kvc_label, nr_slot_copies),
	FIELD(kvc_label, slot_blocks),
	FIELD(kvc_label, segment_shift),
	FIELD(kvc_label, unit_shift),
	FIELD(kvc_label, slot_members),
	FIELD(kvc_label, slot_start),
	FIELD(kvc_label, journal_start),
	FIELD(kvc_label, ring_blocks),
	FIELD(kvc_label, nr_journals),
	FIELD(kvc_label, data_start),
	FIELD(kvc_label, nr_lanes),
	FIELD(kvc_label, slot_leaves),
	FIELD(kvc_label, reserved1),
	FIELD(kvc_label, spans),
	FIELD(kvc_label, members),
	FIELD(kvc_label, reserved2),
	STRUCT(kvc_label_member),
	FIELD(kvc_label_member, uuid),
	FIELD(kvc_label_member, blocks),
	FIELD(kvc_label_member, wwid_hash),
	FIELD(kvc_label_member, state),
	FIELD(kvc_label_member, reserved0),
	FIELD(kvc_label_member, missing_since),
	STRUCT(kvc_label_span),
	FIELD(kvc_label_span, first_ag),
	FIELD(kvc_label_span, nr_ags),
	FIELD(kvc_label_span, first_segment),
	FIELD(kvc_label_span, nr_segments),
	FIELD(kvc_label_span, first_member),
	FIELD(kvc_label_span, nr_members),
	FIELD(kvc_label_span, width),
	FIELD(kvc_label_span, reserved0),
	FIELD(kvc_label_span, first_lane),
	FIELD(kvc_label_span, first_journal),
	STRUCT(kvc_slot_block),
	FIELD(kvc_slot_block, h),
	FIELD(kvc_slot_block, number),
	FIELD(kvc_slot_block, first_ag),
	FIELD(kvc_slot_block, nr_ags),
	FIELD(kvc_slot_block, state),
	FIELD(kvc_slot_block, incarnation),
	FIELD(kvc_slot_block, heartbeat),
	FIELD(kvc_slot_block, flags),
	FIELD(kvc_slot_block, label_seq),
	FIELD(kvc_slot_block, boot_id),
	FIELD(kvc_slot_block, attach_id),
	FIELD(kvc_slot_block, nqn),
	FIELD(kvc_slot_block, node),
	FIELD(kvc_slot_block, ags),
	FIELD(kvc_slot_block, reserved0),
	STRUCT(kvc_slot_ag),
	FIELD(kvc_slot_ag, owned_epoch),
	FIELD(kvc_slot_ag, followed_epoch),
	FIELD(kvc_slot_ag, drained),
	STRUCT(kvc_area_block),
	FIELD(kvc_area_block, h),
	FIELD(kvc_area_block, ag),
	FIELD(kvc_area_block, owner_slot),
	FIELD(kvc_area_block, owner_incarnation),
	FIELD(kvc_area_block, epoch),
	FIELD(kvc_area_block, head),
	FIELD(kvc_area_block, checkpoint),
	FIELD(kvc_area_block, reserved0),
	STRUCT(kvc_journal_block),
	FIELD(kvc_journal_block, h),
	FIELD(kvc_journal_block, ag),
	FIELD(kvc_journal_block, count),
	FIELD(kvc_journal_block, used),
	FIELD(kvc_journal_block, epoch),
	FIELD(kvc_journal_block, reserved0),
	FIELD(kvc_journal_block, data),
	STRUCT(kvc_rec_header),
	FIELD(kvc_rec_header, type),
	FIELD(kvc_rec_header, flags),
	FIELD(kvc_rec_header, length),
	FIELD(kvc_rec_header, segment),
	STRUCT(kvc_rec_put),
	FIELD(kvc_rec_put, r),
	FIELD(kvc_rec_put, hash),
	FIELD(kvc_rec_put, generation),
	FIELD(kvc_rec_put, offset),
	FIELD(kvc_rec_put, bytes),
	FIELD(kvc_rec_put, data_crc),
	FIELD(kvc_rec_put, tenant),
	FIELD(kvc_rec_put, expiry),
	FIELD(kvc_rec_put, pin),
	FIELD(kvc_rec_put, key_len),
	FIELD(kvc_rec_put, depth),
	FIELD(kvc_rec_put, old_segment),
	FIELD(kvc_rec_put, old_generation),
	FIELD(kvc_rec_put, old_offset),
	FIELD(kvc_rec_put, reserved0),
	STRUCT(kvc_rec_delete),
	FIELD(kvc_rec_delete, r),
	FIELD(kvc_rec_delete, hash),
	FIELD(kvc_rec_delete, generation),
	FIELD(kvc_rec_delete, offset),
	FIELD(kvc_rec_delete, tenant),
	STRUCT(kvc_rec_segment),
	FIELD(kvc_rec_segment, r),
	FIELD(kvc_rec_segment, generation),
	FIELD(kvc_rec_segment, order),
	FIELD(kvc_rec_segment, summary_segment),
	FIELD(kvc_rec_segment, summary_offset),
	FIELD(kvc_rec_segment, summary_blocks),
	FIELD(kvc_rec_segment, summary_crc),
	FIELD(kvc_rec_segment, objects),
	FIELD(kvc_rec_segment, reserved0),
	STRUCT(kvc_rec_checkpoint),
	FIELD(kvc_rec_checkpoint, r),
	FIELD(kvc_rec_checkpoint, parts),
	FIELD(kvc_rec_checkpoint, reserved0),
	FIELD(kvc_rec_checkpoint, start),
	FIELD(kvc_rec_checkpoint, next_order),
	STRUCT(kvc_rec_ask),
	FIELD(kvc_rec_ask, r),
	FIELD(kvc_rec_ask, hash),
	FIELD(kvc_rec_ask, tenant),
	FIELD(kvc_rec_ask, ag),
	FIELD(kvc_rec_ask, count),
	FIELD(kvc_rec_ask, reserved0),
	STRUCT(kvc_summary_block),
	FIELD(kvc_summary_block, h),
	FIELD(kvc_summary_block, ag),
	FIELD(kvc_summary_block, count),
	FIELD(kvc_summary_block, used),
	FIELD(kvc_summary_block, segment),
	FIELD(kvc_summary_block, nr_blocks),
	FIELD(kvc_summary_block, generation),
	FIELD(kvc_summary_block, data),
};

static bool has_table[ARRAY_SIZE(parts)];

/* The table that is being read. */
static const struct part *table;
static unsigned int size, end;
static bool bad;

static const struct part *find(const char *of, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strcmp(parts[i].of, of))
			continue;
		if (name ? parts[i].name && !strcmp(parts[i].name, name) :
			   !parts[i].name)
			return &parts[i];
	}
	return NULL;
}

static void finish_table(void)
{
	if (table && end != size) {
		printf("struct %s: rows end at %u, not at %u\n", table->of, end,
		       size);
		bad = true;
	}
	table = NULL;
}

static void start_table(const char *name, unsigned int bytes)
{
	finish_table();
	table = find(name, NULL);
	size = bytes;
	end = 0;
	if (!table) {
		printf("struct %s: in no header, or not known to this test\n",
		       name);
		bad = true;
		return;
	}
	has_table[table - parts] = true;
	if (table->size != bytes) {
		printf("struct %s: %zu bytes, not %u\n", name, table->size,
		       bytes);
		bad = true;
	}
}

static void check_row(unsigned int offset, unsigned int length,
		      const char *name)
{
	const struct part *field = find(table->of, name);

	if (offset != end) {
		printf("struct %s: gap or overlap before %s\n", table->of, name);
		bad = true;
	}
	end = offset + length;
	if (!field) {
		printf("struct %s: no field %s, or not known to this test\n",
		       table->of, name);
		bad = true;
	} else if (field->offset != offset || field->size != length) {
		printf("struct %s: %s is %zu bytes at %zu, not %u at %u\n",
		       table->of, name, field->size, field->offset, length,
		       offset);
		bad = true;
	}
}

static void read_page(FILE *page)
{
	unsigned int offset, length;
	char line[1024], name[64];
	int tail;

	while (fgets(line, sizeof(line), page)) {
		tail = 0;
		sscanf(line, "``struct %63[a-z0-9_]``, %u bytes:%n", name,
		       &length, &tail);
		if (tail && line[tail] == '\n') {
			start_table(name, length);
			continue;
		}
		tail = 0;
		sscanf(line, "%u %u ``%63[a-z0-9_]``%n", &offset, &length, name,
		       &tail);
		if (tail && line[tail] == ' ' && isdigit(line[0]) && table)
			check_row(offset, length, name);
	}
	finish_table();
}

/* Is every structure of the header in the page? */
static void read_header(FILE *header)
{
	const struct part *part;
	char line[1024], name[64];
	int tail;

	while (fgets(line, sizeof(line), header)) {
		tail = 0;
		sscanf(line, "struct %63[A-Za-z0-9_] {%n", name, &tail);
		if (!tail)
			continue;
		part = find(name, NULL);
		if (!part || !has_table[part - parts]) {
			printf("struct %s has no table\n", name);
			bad = true;
		}
	}
}

static void read_file(const char *path, void (*read)(FILE *file))
{
	FILE *file = fopen(path, "r");

	if (!file) {
		perror(path);
		exit(1);
	}
	read(file);
	fclose(file);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: format_tables FORMAT.RST KVC_FORMAT.H\n", stderr);
		return 2;
	}
	read_file(argv[1], read_page);
	read_file(argv[2], read_header);
	return bad ? 1 : 0;
}
