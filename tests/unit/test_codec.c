// SPDX-License-Identifier: MIT
/* The codec against random, truncated, mutated and hostile input. */
#include "support.h"

static struct kvc_geometry pools[3];
static const struct kvc_writer writer = { .slot = 1, .incarnation = 3 };

static int setup(void **state)
{
	static struct kvc_format_options o;

	(void)state;
	kvc_fixture_options(&o, 1, 8192);
	if (kvc_geometry_plan(&o, &pools[0], NULL))
		return -1;
	kvc_fixture_options(&o, 64, 1ULL << 33);
	if (kvc_geometry_plan(&o, &pools[1], NULL))
		return -1;
	kvc_fixture_two_spans(&pools[2]);
	return 0;
}

/* A copy that ends where it ends, so that ASan sees reads beyond. */
static void *exact(const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, data, size);
	return copy;
}

static void every_record_round_trips(void **state)
{
	static u8 key[KVC_MAX_KEY];
	static struct block one, two;
	struct kvc_record rec;
	u32 i, ag, type, length;
	u64 seed = 1;
	void *copy;
	size_t p;

	(void)state;
	for (p = 0; p < ARRAY_SIZE(pools); p++) {
		for (i = 0; i < 20000; i++) {
			type = KVC_REC_PUT + i % KVC_REC_ASK;
			ag = kvc_fixture_random(&seed) % pools[p].nr_ags;
			kvc_fixture_record(&seed, &pools[p], ag, type, &rec,
					   key);
			length = kvc_record_encode(&one, sizeof(one), &rec);
			assert_true(length && length % 8 == 0);
			assert_int_equal(0, kvc_record_encode(&two, length - 1,
							      &rec));
			copy = exact(&one, length);
			assert_int_equal(length,
				kvc_record_decode(copy, length, &pools[p],
						  &rec));
			assert_int_equal(type, rec.type);
			assert_int_equal(length, kvc_record_encode(&two,
								   length,
								   &rec));
			assert_memory_equal(&one, &two, length);
			free(copy);
		}
	}
}

static void every_truncation_is_refused(void **state)
{
	static u8 key[KVC_MAX_KEY];
	static struct block block;
	struct kvc_record rec;
	u32 type, length, room;
	u64 seed = 2;
	void *copy;

	(void)state;
	for (type = KVC_REC_PUT; type <= KVC_REC_ASK; type++) {
		kvc_fixture_record(&seed, &pools[0], 0, type, &rec, key);
		length = kvc_record_encode(&block, sizeof(block), &rec);
		for (room = 0; room < length; room++) {
			copy = exact(&block, room);
			assert_fails(EINVAL, kvc_record_decode(copy, room,
							       &pools[0],
							       &rec));
			free(copy);
		}
	}
}

static void every_key_length(void **state)
{
	static struct block block;
	struct kvc_record rec = { .type = KVC_REC_PUT };
	u8 key[KVC_MAX_KEY + 8];
	u64 seed = 3;
	u32 len, i;

	(void)state;
	for (i = 0; i < sizeof(key); i++)
		key[i] = kvc_fixture_random(&seed);
	rec.put.bytes = 1;
	for (len = 1; len <= KVC_MAX_KEY; len++) {
		rec.put.key = key + len % 8;
		rec.put.key_len = len;
		assert_int_equal(kvc_put_length(len),
				 kvc_record_encode(&block, sizeof(block),
						   &rec));
		assert_int_equal(kvc_put_length(len),
				 kvc_record_decode(&block, sizeof(block),
						   &pools[0], &rec));
		assert_int_equal(len, rec.put.key_len);
		assert_memory_equal(key + len % 8, rec.put.key, len);
		/* Any byte of padding. */
		for (i = 88 + len; i < kvc_put_length(len); i++) {
			block.b[i] = 0x80;
			assert_fails(EINVAL,
				     kvc_record_decode(&block, sizeof(block),
						       &pools[0], &rec));
			block.b[i] = 0;
		}
	}
}

/* Fill a journal block of AG @ag; returns the number of records. */
static u32 fill(struct block *block, const struct kvc_geometry *g, u32 ag,
		u64 *seed)
{
	static u8 key[KVC_MAX_KEY];
	struct kvc_record rec;
	u32 n = 0;

	kvc_journal_begin(block, ag, 9);
	do {
		kvc_fixture_record(seed, g, ag, KVC_REC_PUT +
				   kvc_fixture_random(seed) % KVC_REC_ASK,
				   &rec, key);
		n++;
	} while (kvc_journal_add(block, &rec));
	kvc_block_finish(block, KVC_BLOCK_JOURNAL, g->uuid,
			 kvc_place_journal(g, ag, 9, 1000), 1000, &writer);
	return n - 1;
}

/* Walk a block; what comes out goes into another one, which is the same. */
static bool walk_journal(const struct block *block,
			 const struct kvc_geometry *g)
{
	static struct block copy;
	struct kvc_journal_info j;
	struct kvc_records it;
	struct kvc_record rec;
	int more;

	if (kvc_journal_open(block, g, &j, &it))
		return false;
	kvc_journal_begin(&copy, j.ag, j.epoch);
	while ((more = kvc_records_next(&it, &rec)) == 1)
		assert_true(kvc_journal_add(&copy, &rec));
	if (more)
		return false;
	assert_int_equal(KVC_JOURNAL_DATA - j.used, kvc_journal_room(&copy));
	assert_memory_equal(copy.b + 64, block->b + 64, 24 + j.used);
	return true;
}

static void journals_survive_and_bound(void **state)
{
	static struct block block, bad;
	u32 i, k, at, passed = 0;
	u64 seed = 5;
	size_t p;

	(void)state;
	for (p = 0; p < ARRAY_SIZE(pools); p++) {
		for (i = 0; i < 200; i++) {
			u32 ag = kvc_fixture_random(&seed) % pools[p].nr_ags;

			assert_true(fill(&block, &pools[p], ag, &seed) >= 6);
			assert_true(walk_journal(&block, &pools[p]));
			for (k = 0; k < 200; k++) {
				bad = block;
				at = 64 + kvc_fixture_random(&seed) % 4032;
				bad.b[at] = kvc_fixture_random(&seed);
				passed += walk_journal(&bad, &pools[p]);
			}
		}
	}
	assert_true(passed > 1000);
}

static void six_largest_puts_fill_a_block(void **state)
{
	static u8 key[KVC_MAX_KEY] = "k";
	static struct block block;
	struct kvc_record rec = { .type = KVC_REC_PUT };
	u32 n = 0;

	(void)state;
	rec.put.bytes = 1;
	rec.put.key = key;
	rec.put.key_len = KVC_MAX_KEY;
	kvc_journal_begin(&block, 0, 1);
	while (kvc_journal_add(&block, &rec))
		n++;
	assert_int_equal(6, n);
	assert_int_equal(4008 - 6 * 600, kvc_journal_room(&block));
	kvc_summary_begin(&block, 0, 0, 1, 1);
	for (n = 0, rec.put.key_len = 1; kvc_summary_add(&block, &rec); n++)
		;
	assert_int_equal(41, n);
}

/* One flipped bit anywhere: never a good block. */
static void every_bit_counts(void **state)
{
	static struct block block;
	struct kvc_place place = kvc_place_journal(&pools[2], 4, 9, 1000);
	enum kvc_block_verdict v;
	u64 seed = 6;
	u32 bit;

	(void)state;
	fill(&block, &pools[2], 4, &seed);
	assert_int_equal(KVC_BLOCK_OK,
			 kvc_block_verify(&block, KVC_BLOCK_JOURNAL,
					  pools[2].uuid, &place));
	for (bit = 0; bit < 8 * sizeof(block); bit++) {
		block.b[bit / 8] ^= 1 << bit % 8;
		v = kvc_block_verify(&block, KVC_BLOCK_JOURNAL, pools[2].uuid,
				     &place);
		/* The magic and the UUID say whether it is ours at all. */
		if (bit < 64 || (bit >= 128 && bit < 256))
			assert_int_equal(KVC_BLOCK_NEVER, v);
		else
			assert_int_equal(KVC_BLOCK_CRC, v);
		block.b[bit / 8] ^= 1 << bit % 8;
	}
}

/* Garbage in every parser: ASan and UBSan watch, ranges must hold. */
static void garbage(void **state)
{
	static struct kvc_geometry decoded;
	static struct kvc_slot_info slot;
	static struct block block;
	struct kvc_summary_info s;
	struct kvc_journal_info j;
	struct kvc_area_info area;
	struct kvc_records it;
	struct kvc_record rec;
	u32 round, i, member, room;
	const char *why;
	u64 seed = 8;
	void *copy;
	size_t p;

	(void)state;
	for (round = 0; round < 20000; round++) {
		for (i = 0; i < sizeof(block); i += 8) {
			u64 x = kvc_fixture_random(&seed);

			/* Sparse, so that some of it passes for numbers. */
			if (round % 4)
				x &= 0x0101010101ULL << round % 8;
			memcpy(block.b + i, &x, 8);
		}
		p = round % ARRAY_SIZE(pools);
		kvc_label_decode(&block, &decoded, &member, &why);
		kvc_slot_decode(&block, &pools[p], &slot);
		kvc_area_decode(&block, &pools[p], &area);
		if (!kvc_journal_open(&block, &pools[p], &j, &it))
			while (kvc_records_next(&it, &rec) == 1)
				;
		if (!kvc_summary_open(&block, &pools[p], &s, &it))
			while (kvc_records_next(&it, &rec) == 1)
				;
		room = kvc_fixture_random(&seed) % 640;
		block.b[0] = 1 + round % 8;
		block.b[2] = room & ~7;
		block.b[3] = room >> 8;
		copy = exact(&block, room);
		kvc_record_decode(copy, room, &pools[p], &rec);
		free(copy);
	}
}

/* Slots of pools with more AGs than a block holds. */
static void slots_in_parts(void **state)
{
	static struct kvc_slot_info s, back;
	static struct block block;
	u32 part, i;

	(void)state;
	assert_int_equal(256, pools[1].nr_ags);
	assert_int_equal(2, pools[1].slot_blocks);
	for (part = 0; part < 2; part++) {
		memset(&s, 0, sizeof(s));
		s.number = 63;
		s.first_ag = part * 128;
		s.nr_ags = 128;
		s.incarnation = U64_MAX;
		for (i = 0; i < 128; i++)
			s.ags[i].drained = part * 1000 + i;
		memset(s.nqn, 'n', sizeof(s.nqn) - 1);
		memset(s.node, 'h', sizeof(s.node) - 1);
		kvc_slot_encode(&block, &s);
		memset(&block, 0, sizeof(struct kvc_block_header));
		assert_int_equal(0, kvc_slot_decode(&block, &pools[1], &back));
		assert_memory_equal(&s, &back, sizeof(s));
		/* The one-member pool may grow to so many AGs, but has no part 1. */
		if (!part)
			assert_int_equal(0, kvc_slot_decode(&block, &pools[0],
							    &back));
		else
			assert_fails(EINVAL, kvc_slot_decode(&block, &pools[0],
							     &back));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_round_trips),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_key_length),
		cmocka_unit_test(journals_survive_and_bound),
		cmocka_unit_test(six_largest_puts_fill_a_block),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(garbage),
		cmocka_unit_test(slots_in_parts),
	};

	return cmocka_run_group_tests_name("codec", tests, setup, NULL);
}
