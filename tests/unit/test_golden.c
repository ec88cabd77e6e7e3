// SPDX-License-Identifier: MIT
/*
 * One block of each type, byte for byte as golden/ has it. reference.c makes
 * the same blocks without the codec. A test that fails here means that the
 * format has changed: pools that exist could no longer be read.
 */
#include "support.h"

static const struct kvc_writer writer = { .slot = 5, .incarnation = 77 };
static struct kvc_geometry g;
static struct block block;

static int setup(void **state)
{
	static struct kvc_format_options o;

	(void)state;
	kvc_fixture_options(&o, 4, 16384);
	return kvc_geometry_plan(&o, &g, NULL);
}

/* Rows of "offset bytes", in hex; what has no row is zero. */
static void load(const char *name, struct block *to)
{
	char path[4096], row[65];
	unsigned int at, i;
	FILE *f;

	snprintf(path, sizeof(path), GOLDEN "/%s.hex", name);
	f = fopen(path, "r");
	assert_non_null(f);
	memset(to, 0, sizeof(*to));
	while (fscanf(f, "%x %64s", &at, row) == 2) {
		assert_int_equal(64, strlen(row));
		assert_true(at <= KVC_BLOCK_SIZE - 32);
		for (i = 0; i < 32; i++)
			assert_int_equal(1, sscanf(row + 2 * i, "%2hhx",
						   &to->b[at + i]));
	}
	assert_true(feof(f));
	fclose(f);
}

static void finish(const char *name, u8 type, struct kvc_place place,
		   u64 sequence)
{
	static struct block golden;

	kvc_block_finish(&block, type, g.uuid, place, sequence, &writer);
	load(name, &golden);
	assert_memory_equal(&golden, &block, sizeof(block));
	assert_int_equal(KVC_BLOCK_OK,
			 kvc_block_verify(&golden, type, g.uuid, &place));
}

static void label(void **state)
{
	(void)state;
	kvc_label_encode(&block, &g, 2);
	finish("label", KVC_BLOCK_LABEL, kvc_place_label(&g, 2, 1), 3);
}

static void slot(void **state)
{
	static struct kvc_slot_info s;

	(void)state;
	kvc_fixture_slot(&s, &g);
	kvc_slot_encode(&block, &s);
	finish("slot", KVC_BLOCK_SLOT, kvc_place_slot(&g, 5, 0, 0), 9);
}

static void area(void **state)
{
	struct kvc_area_info a = {
		.ag = 15, .owner_slot = 5, .owner_incarnation = 77,
		.epoch = 0xffffffff, .head = 1000, .checkpoint = 1010,
	};

	(void)state;
	kvc_area_encode(&block, &a);
	finish("area", KVC_BLOCK_AREA, kvc_place_area(&g, 15, 3), 6);
}

static void make_put(struct kvc_record *rec, u32 offset, const void *key,
		     u32 key_len, const void *data, u32 bytes)
{
	memset(rec, 0, sizeof(*rec));
	rec->type = KVC_REC_PUT;
	rec->put.segment = 92;
	rec->put.generation = 0x500000002ULL;
	rec->put.offset = offset;
	rec->put.bytes = bytes;
	rec->put.tenant = 7;
	rec->put.hash = kvc_key_hash(g.hash_key, 7, key, key_len);
	rec->put.data_crc = crc32c(kvc_data_crc_seed(rec->put.hash), data,
				   bytes);
	rec->put.key = key;
	rec->put.key_len = key_len;
}

static void puts_of_golden(struct kvc_record *first, struct kvc_record *second)
{
	static char key[64], data[5000];

	make_put(first, 17, "hello", 5, "world", 5);
	first->put.expiry = 1800000000;
	first->put.pin = 1790000000;
	first->put.depth = 3;

	memset(key, '.', sizeof(key));
	memcpy(key, "long key", 8);
	memset(data, 'w', sizeof(data));
	make_put(second, 18, key, sizeof(key), data, sizeof(data));
	second->put.moved = true;
	second->put.old_segment = 90;
	second->put.old_generation = 0x500000001ULL;
	second->put.old_offset = 3;
}

static void journal(void **state)
{
	struct kvc_record put, moved;
	const struct kvc_record recs[] = {
		{ .type = KVC_REC_CHECKPOINT, .checkpoint = {
			.part = 1, .parts = 2, .start = 4710, .next_order = 12,
		} },
		{ .type = KVC_REC_SEGMENT, .seg = {
			.segment = 90, .state = KVC_SEG_SEALED,
			.generation = 0x500000001ULL, .order = 11,
			.summary_segment = 90, .summary_offset = 255,
			.summary_blocks = 1, .summary_crc = 0x89abcdef,
			.objects = 2,
		} },
		{ .type = KVC_REC_SEGMENT, .seg = {
			.segment = 91, .state = KVC_SEG_RETIRED,
			.generation = 0x500000000ULL, .order = 4700,
		} },
		{ .type = KVC_REC_DELETE, .del = {
			.hash = kvc_key_hash(g.hash_key, 7, "bye", 3),
			.generation = 0x500000001ULL, .segment = 90,
			.offset = 3, .tenant = 7,
		} },
		{ .type = KVC_REC_OPEN, .seg = {
			.segment = 93, .state = KVC_SEG_OPEN,
			.generation = 0x500000007ULL,
		} },
		{ .type = KVC_REC_SEAL, .seg = {
			.segment = 92, .state = KVC_SEG_SEALED,
			.generation = 0x500000002ULL, .order = 12,
			.summary_segment = 92, .summary_offset = 254,
			.summary_blocks = 2, .summary_crc = 0x01234567,
			.objects = 41,
		} },
		{ .type = KVC_REC_RETIRE, .seg = {
			.segment = 90, .state = KVC_SEG_RETIRED,
			.generation = 0x500000001ULL, .order = 4711,
		} },
		{ .type = KVC_REC_ASK, .ask = {
			.hash = kvc_key_hash(g.hash_key, 7, "bye", 3),
			.kind = KVC_ASK_DELETE, .tenant = 7, .ag = 3,
		} },
		{ .type = KVC_REC_ASK, .ask = {
			.hash = kvc_key_hash(g.hash_key, 7, "hello", 5),
			.kind = KVC_ASK_TOUCH, .tenant = 7, .ag = 15,
			.count = 1000,
		} },
	};
	size_t i;

	(void)state;
	puts_of_golden(&put, &moved);
	kvc_journal_begin(&block, 6, 12);
	for (i = 0; i < ARRAY_SIZE(recs); i++) {
		assert_true(kvc_journal_add(&block, &recs[i]));
		if (i == 2) {
			assert_true(kvc_journal_add(&block, &put));
			assert_true(kvc_journal_add(&block, &moved));
		}
	}
	finish("journal", KVC_BLOCK_JOURNAL,
	       kvc_place_journal(&g, 6, 12, 4711), 4711);
}

static void summary(void **state)
{
	struct kvc_record put, moved;
	u64 bytes = KVC_BLOCK_SIZE;

	(void)state;
	puts_of_golden(&put, &moved);
	kvc_summary_begin(&block, 6, 92, 0x500000002ULL, 2);
	assert_true(kvc_summary_add(&block, &put));
	assert_true(kvc_summary_add(&block, &moved));
	finish("summary", KVC_BLOCK_SUMMARY,
	       kvc_place_data(&g, 92, 254 << KVC_BLOCK_SHIFT, &bytes), 0);
}

/* What is in the golden journal is what comes out of it, field by field. */
static void journal_decoded(void **state)
{
	struct kvc_journal_info j;
	struct kvc_records it;
	struct kvc_record r;
	int n;

	(void)state;
	load("journal", &block);
	assert_int_equal(0, kvc_journal_open(&block, &g, &j, &it));
	assert_int_equal(6, j.ag);
	assert_int_equal(12, j.epoch);
	assert_int_equal(4711, j.position);
	assert_int_equal(5, j.writer.slot);
	assert_int_equal(77, j.writer.incarnation);
	for (n = 0; kvc_records_next(&it, &r) == 1; n++) {
		switch (n) {
		case 0:
			assert_int_equal(KVC_REC_CHECKPOINT, r.type);
			assert_int_equal(1, r.checkpoint.part);
			assert_int_equal(2, r.checkpoint.parts);
			assert_int_equal(4710, r.checkpoint.start);
			assert_int_equal(12, r.checkpoint.next_order);
			break;
		case 1:
			assert_int_equal(KVC_REC_SEGMENT, r.type);
			assert_int_equal(90, r.seg.segment);
			assert_int_equal(KVC_SEG_SEALED, r.seg.state);
			assert_true(r.seg.generation == 0x500000001ULL);
			assert_int_equal(11, r.seg.order);
			assert_int_equal(90, r.seg.summary_segment);
			assert_int_equal(255, r.seg.summary_offset);
			assert_int_equal(1, r.seg.summary_blocks);
			assert_int_equal(0x89abcdef, r.seg.summary_crc);
			assert_int_equal(2, r.seg.objects);
			break;
		case 4:
			assert_int_equal(KVC_REC_PUT, r.type);
			assert_int_equal(92, r.put.segment);
			assert_true(r.put.generation == 0x500000002ULL);
			assert_int_equal(18, r.put.offset);
			assert_int_equal(5000, r.put.bytes);
			assert_int_equal(7, r.put.tenant);
			assert_int_equal(64, r.put.key_len);
			assert_memory_equal("long key...", r.put.key, 11);
			assert_true(r.put.moved);
			assert_int_equal(90, r.put.old_segment);
			assert_int_equal(3, r.put.old_offset);
			assert_true(r.put.old_generation == 0x500000001ULL);
			break;
		case 3:
			assert_int_equal(1800000000, r.put.expiry);
			assert_int_equal(1790000000, r.put.pin);
			assert_int_equal(3, r.put.depth);
			assert_false(r.put.moved);
			assert_int_equal(0x4cedb5a8, r.put.data_crc);
			assert_true(r.put.hash.lo == 0x8e6c943a19ddecf5ULL);
			assert_true(r.put.hash.hi == 0x0104385e2f2f6b0eULL);
			break;
		case 5:
			assert_int_equal(KVC_REC_DELETE, r.type);
			assert_int_equal(90, r.del.segment);
			assert_true(r.del.generation == 0x500000001ULL);
			assert_int_equal(3, r.del.offset);
			assert_int_equal(7, r.del.tenant);
			break;
		case 10:
			assert_int_equal(KVC_REC_ASK, r.type);
			assert_int_equal(KVC_ASK_TOUCH, r.ask.kind);
			assert_int_equal(7, r.ask.tenant);
			assert_int_equal(15, r.ask.ag);
			assert_int_equal(1000, r.ask.count);
			break;
		}
	}
	assert_int_equal(11, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label),
		cmocka_unit_test(slot),
		cmocka_unit_test(area),
		cmocka_unit_test(journal),
		cmocka_unit_test(summary),
		cmocka_unit_test(journal_decoded),
	};

	return cmocka_run_group_tests_name("golden", tests, setup, NULL);
}
