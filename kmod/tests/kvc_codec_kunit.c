// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "kvc_kunit.h"
#include "kvc_fixture.h"

/* Too large for the stack; suites run one after the other. */
static struct kvc_format_options options;
static struct kvc_geometry geometry, decoded;
static u8 block[KVC_BLOCK_SIZE] __aligned(8);
static u8 again[KVC_BLOCK_SIZE] __aligned(8);
static u8 key[KVC_MAX_KEY];
static struct kvc_slot_info slot, slot_again;
static struct kvc_record record;

static const struct kvc_writer writer = { .slot = 5, .incarnation = 77 };

static int init(struct kunit *test)
{
	kvc_fixture_options(&options, 4, 16384);
	memset(block, 0, sizeof(block));
	return kvc_geometry_plan(&options, &geometry, NULL);
}

static void block_verdicts(struct kunit *test)
{
	struct kvc_block_header *h = (void *)block;
	struct kvc_place place = { .member = 3, .block = 12345 };
	struct kvc_place elsewhere = { .member = 3, .block = 12346 };
	u8 other[16] = { 1 };
	u32 i;

#define VERDICT(expected, type, uuid, place)				\
	KUNIT_EXPECT_EQ(test, expected,					\
			kvc_block_verify(block, type, uuid, place))
	VERDICT(KVC_BLOCK_NEVER, KVC_BLOCK_AREA, NULL, NULL);
	memset(block + 64, 0x5a, sizeof(block) - 64);
	kvc_block_finish(block, KVC_BLOCK_AREA, geometry.uuid, place, 9,
			 &writer);
	VERDICT(KVC_BLOCK_OK, KVC_BLOCK_AREA, geometry.uuid, &place);
	VERDICT(KVC_BLOCK_OK, KVC_BLOCK_AREA, NULL, NULL);
	VERDICT(KVC_BLOCK_NEVER, KVC_BLOCK_AREA, other, &place);
	VERDICT(KVC_BLOCK_TYPE, KVC_BLOCK_SLOT, geometry.uuid, &place);
	VERDICT(KVC_BLOCK_MISPLACED, KVC_BLOCK_AREA, NULL, &elsewhere);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(h->crc), kvc_block_crc(block));
	for (i = 24; i < sizeof(block); i += 97) {
		block[i] ^= 0x10;
		VERDICT(KVC_BLOCK_CRC, KVC_BLOCK_AREA, NULL, &place);
		block[i] ^= 0x10;
	}
	VERDICT(KVC_BLOCK_OK, KVC_BLOCK_AREA, geometry.uuid, &place);
	h->version = 2;
	h->crc = 0;
	h->crc = cpu_to_le32(crc32c(~0U, block, sizeof(block)));
	VERDICT(KVC_BLOCK_VERSION, KVC_BLOCK_AREA, NULL, &place);
#undef VERDICT
	for (i = KVC_BLOCK_OK; i <= KVC_BLOCK_VERSION; i++)
		KUNIT_EXPECT_NOT_NULL(test, kvc_block_verdict_name(i));
	KUNIT_EXPECT_STREQ(test, "unknown", kvc_block_verdict_name(i));
}

/* The test vectors of Documentation/format.rst. */
#define HASH_LO		0x8e6c943a19ddecf5ULL
#define HASH_HI		0x0104385e2f2f6b0eULL
#define DATA_CRC	0x4cedb5a8U

static void key_hash(struct kunit *test)
{
	struct kvc_hash hash = kvc_key_hash(options.hash_key, 7, "hello", 5);

	KUNIT_EXPECT_EQ(test, hash.lo, HASH_LO);
	KUNIT_EXPECT_EQ(test, hash.hi, HASH_HI);
	KUNIT_EXPECT_EQ(test, kvc_data_crc_seed(hash), 0x19ddecf5U);
	KUNIT_EXPECT_EQ(test, DATA_CRC,
			crc32c(kvc_data_crc_seed(hash), "world", 5));
}

static void label(struct kunit *test)
{
	struct kvc_label *l = (void *)block;
	const char *why;
	u32 member;

	kvc_label_encode(block, &geometry, 2);
	kvc_block_finish(block, KVC_BLOCK_LABEL, geometry.uuid,
			 kvc_place_label(&geometry, 2, 1), 3, &writer);
	KUNIT_ASSERT_EQ(test, 0,
			kvc_label_decode(block, &decoded, &member, &why));
	KUNIT_EXPECT_EQ(test, 2, member);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&geometry, &decoded, sizeof(decoded)));

#define REFUSED(error, change) do {					\
	memcpy(again, block, sizeof(block));				\
	change;								\
	why = NULL;							\
	KUNIT_EXPECT_EQ(test, -(error),					\
			kvc_label_decode(block, &decoded, &member, &why)); \
	KUNIT_EXPECT_NOT_NULL(test, why);				\
	memcpy(block, again, sizeof(block));				\
} while (0)
	REFUSED(EOPNOTSUPP, l->feature_incompat = cpu_to_le64(4));
	REFUSED(EOPNOTSUPP, l->feature_ro_compat = cpu_to_le64(1ULL << 63));
	REFUSED(EINVAL, l->h.reserved0 = cpu_to_le16(1));
	REFUSED(EINVAL, l->h.reserved1 = cpu_to_le32(1));
	REFUSED(EINVAL, l->slot_members[3] = 1);
	REFUSED(EINVAL, l->slot_leaves = KVC_NO_COPY);
	REFUSED(EINVAL, l->feature_incompat = cpu_to_le64(KVC_FEATURE_INCOMPAT_SLOTS));
	REFUSED(EINVAL, l->reserved1[2] = 1);
	REFUSED(EINVAL, l->reserved2[503] = 1);
	REFUSED(EINVAL, l->spans[0].reserved0 = cpu_to_le16(1));
	REFUSED(EINVAL, l->spans[1].width = cpu_to_le16(1));
	REFUSED(EINVAL, l->members[3].reserved0 = cpu_to_le32(1));
	REFUSED(EINVAL, l->members[4].uuid[0] = 1);
	REFUSED(EINVAL, l->name[5] = 'x');
	REFUSED(EINVAL, memset(l->name, 'x', sizeof(l->name)));
	REFUSED(EINVAL, l->name[0] = 0);
	REFUSED(EINVAL, l->flags = cpu_to_le32(2));
	REFUSED(EINVAL, l->member = cpu_to_le16(4));
	REFUSED(EINVAL, l->nr_members = cpu_to_le16(65));
	REFUSED(EINVAL, l->nr_spans = cpu_to_le16(9));
	REFUSED(EINVAL, l->data_start = 0);
	REFUSED(EINVAL, l->members[1].state = cpu_to_le32(KVC_MEMBER_MISSING);
		l->members[1].missing_since = cpu_to_le64(4));
#undef REFUSED
	/* A compatible feature may use what is reserved. */
	l->feature_compat = cpu_to_le64(1);
	l->reserved2[0] = 1;
	KUNIT_EXPECT_EQ(test, 0,
			kvc_label_decode(block, &decoded, &member, &why));
	l->members[1].state = cpu_to_le32(KVC_MEMBER_MISSING);
	l->members[1].missing_since = cpu_to_le64(3);
	KUNIT_EXPECT_EQ(test, 0,
			kvc_label_decode(block, &decoded, &member, &why));
	KUNIT_EXPECT_EQ(test, 3, decoded.members[1].missing_since);
}

static void slots(struct kunit *test)
{
	struct kvc_slot_block *b = (void *)block;

	kvc_fixture_slot(&slot, &geometry);
	kvc_slot_encode(block, &slot);
	kvc_block_finish(block, KVC_BLOCK_SLOT, geometry.uuid,
			 kvc_place_slot(&geometry, 5, 0, 0), slot.sequence,
			 &writer);
	memset(&slot_again, 0, sizeof(slot_again));
	KUNIT_ASSERT_EQ(test, 0,
			kvc_slot_decode(block, &geometry, &slot_again));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&slot, &slot_again, sizeof(slot)));

#define REFUSED(change) do {						\
	memcpy(again, block, sizeof(block));				\
	change;								\
	KUNIT_EXPECT_EQ(test, -EINVAL,					\
			kvc_slot_decode(block, &geometry, &slot_again)); \
	memcpy(block, again, sizeof(block));				\
} while (0)
	REFUSED(b->number = cpu_to_le32(geometry.nr_slots));
	REFUSED(b->first_ag = cpu_to_le32(1));
	REFUSED(b->first_ag = cpu_to_le32(128));
	REFUSED(b->nr_ags = cpu_to_le32(129));
	REFUSED(b->nr_ags = cpu_to_le32(U32_MAX));
	REFUSED(b->nr_ags = cpu_to_le32(geometry.nr_ags - 1));
	REFUSED(b->state = cpu_to_le32(4));
	REFUSED(b->nqn[3] = '\n');
	REFUSED(b->nqn[KVC_NQN_SIZE - 1] = 'x');
	REFUSED(memset(b->node, 'x', sizeof(b->node)));
	REFUSED(b->ags[3].owned_epoch = cpu_to_le64(1ULL << 32));
	REFUSED(b->ags[3].followed_epoch = cpu_to_le64(1ULL << 32));
	REFUSED(b->ags[3].drained = cpu_to_le64((1ULL << 62) + 1));
	REFUSED(b->ags[127].drained = cpu_to_le64(1));
	REFUSED(b->flags = cpu_to_le64(4));
	REFUSED(b->reserved0[591] = 1);
	REFUSED(b->h.reserved1 = cpu_to_le32(1));
#undef REFUSED
	/* Of a host that knows a newer label. */
	b->nr_ags = cpu_to_le32(geometry.nr_ags + 1);
	b->ags[geometry.nr_ags].owned_epoch = cpu_to_le64(7);
	KUNIT_ASSERT_EQ(test, 0, kvc_slot_decode(block, &geometry, &slot_again));
	KUNIT_EXPECT_EQ(test, geometry.nr_ags + 1, slot_again.nr_ags);
	KUNIT_EXPECT_EQ(test, 7, slot_again.ags[geometry.nr_ags].owned_epoch);
	/* A name that could not be read back is made harmless. */
	slot.node[1] = '\033';
	kvc_slot_encode(block, &slot);
	KUNIT_EXPECT_EQ(test, 0,
			kvc_slot_decode(block, &geometry, &slot_again));
	KUNIT_EXPECT_STREQ(test, "g?u-17", slot_again.node);
}

static void areas(struct kunit *test)
{
	struct kvc_area_info a = {
		.ag = 15, .owner_slot = 5, .owner_incarnation = 77,
		.epoch = 0xffffffff, .head = 1000, .checkpoint = 1010,
		.sequence = 6,
	};
	struct kvc_area_block *b = (void *)block;
	struct kvc_area_info a2 = { 0 };

	kvc_area_encode(block, &a);
	kvc_block_finish(block, KVC_BLOCK_AREA, geometry.uuid,
			 kvc_place_area(&geometry, 15, 3), a.sequence, &writer);
	KUNIT_ASSERT_EQ(test, 0, kvc_area_decode(block, &geometry, &a2));
	KUNIT_EXPECT_EQ(test, a.ag, a2.ag);
	KUNIT_EXPECT_EQ(test, a.owner_slot, a2.owner_slot);
	KUNIT_EXPECT_EQ(test, a.owner_incarnation, a2.owner_incarnation);
	KUNIT_EXPECT_EQ(test, a.epoch, a2.epoch);
	KUNIT_EXPECT_EQ(test, a.head, a2.head);
	KUNIT_EXPECT_EQ(test, a.checkpoint, a2.checkpoint);
	KUNIT_EXPECT_EQ(test, a.sequence, a2.sequence);

#define REFUSED(change) do {						\
	memcpy(again, block, sizeof(block));				\
	change;								\
	KUNIT_EXPECT_EQ(test, -EINVAL,					\
			kvc_area_decode(block, &geometry, &a2));	\
	memcpy(block, again, sizeof(block));				\
} while (0)
	REFUSED(b->ag = cpu_to_le32(geometry.nr_ags));
	REFUSED(b->owner_slot = cpu_to_le32(geometry.nr_slots));
	REFUSED(b->epoch = 0);
	REFUSED(b->epoch = cpu_to_le64(1ULL << 32));
	REFUSED(b->head = cpu_to_le64(1011));
	REFUSED(b->checkpoint = cpu_to_le64(1000 + geometry.ring_blocks));
	REFUSED(b->head = b->checkpoint = cpu_to_le64((1ULL << 62) + 1));
	REFUSED(b->reserved0[3991] = 1);
	REFUSED(b->h.reserved0 = cpu_to_le16(1));
#undef REFUSED
}

/* Encode, decode, encode: the same bytes, and every truncation is refused. */
static void record_round_trips(struct kunit *test)
{
	u64 state = 1;
	u32 i, type, length, room;

	for (i = 0; i < 400; i++) {
		type = KVC_REC_PUT + i % KVC_REC_ASK;
		kvc_fixture_record(&state, &geometry, i % geometry.nr_ags,
				   type, &record, key);
		length = kvc_record_encode(block, sizeof(block), &record);
		KUNIT_ASSERT_GT(test, length, 0);
		KUNIT_ASSERT_EQ(test, 0, length % 8);
		KUNIT_ASSERT_EQ(test, 0,
				kvc_record_encode(again, length - 8, &record));
		memset(&record, 0xff, sizeof(record));
		KUNIT_ASSERT_EQ(test, length,
				kvc_record_decode(block, length, &geometry,
						  &record));
		memset(again, 0xee, sizeof(again));
		KUNIT_ASSERT_EQ(test, length,
				kvc_record_encode(again, length, &record));
		KUNIT_ASSERT_EQ(test, 0, memcmp(block, again, length));
		for (room = 0; room < length; room++)
			KUNIT_ASSERT_EQ(test, -EINVAL,
					kvc_record_decode(block, room,
							  &geometry, &record));
	}
}

static void encode_put(struct kunit *test, u32 key_len, bool moved)
{
	struct kvc_put *p = &record.put;

	memset(&record, 0, sizeof(record));
	memset(key, 'k', sizeof(key));
	record.type = KVC_REC_PUT;
	p->segment = 3;
	p->bytes = 5000;
	p->offset = 254;
	p->key_len = key_len;
	p->key = key;
	p->moved = moved;
	KUNIT_ASSERT_EQ(test, kvc_put_length(key_len),
			kvc_record_encode(block, sizeof(block), &record));
	KUNIT_ASSERT_EQ(test, kvc_put_length(key_len),
			kvc_record_decode(block, sizeof(block), &geometry,
					  &record));
}

static void record_bounds(struct kunit *test)
{
	struct kvc_rec_checkpoint *c = (void *)block;
	struct kvc_rec_segment *s = (void *)block;
	struct kvc_rec_delete *d = (void *)block;
	struct kvc_rec_put *p = (void *)block;
	struct kvc_rec_ask *a = (void *)block;
	u32 nr = geometry.nr_segments;

	record.type = 9;
	KUNIT_EXPECT_EQ(test, 0, kvc_record_encode(block, 4096, &record));

#define REFUSED(change) do {						\
	memcpy(again, block, sizeof(block));				\
	change;								\
	KUNIT_EXPECT_EQ(test, -EINVAL,					\
			kvc_record_decode(block, sizeof(block),		\
					  &geometry, &record));		\
	memcpy(block, again, sizeof(block));				\
} while (0)
	encode_put(test, KVC_MAX_KEY, true);
	encode_put(test, 1, true);
	REFUSED(p->old_segment = cpu_to_le32(nr));
	REFUSED(p->old_offset = cpu_to_le32(255));
	encode_put(test, 3, false);
	REFUSED(p->r.type = 0);
	REFUSED(p->r.type = 9);
	REFUSED(p->r.type = 255);
	REFUSED(p->r.flags = 2);
	REFUSED(p->r.length = 0);
	REFUSED(p->r.length = cpu_to_le16(8));
	REFUSED(p->r.length = cpu_to_le16(95));
	REFUSED(p->r.length = cpu_to_le16(104));
	REFUSED(p->r.segment = cpu_to_le32(nr));
	REFUSED(p->r.segment = cpu_to_le32(U32_MAX));
	REFUSED(p->offset = cpu_to_le32(255));
	REFUSED(p->offset = cpu_to_le32(U32_MAX));
	REFUSED(p->bytes = 0);
	REFUSED(p->offset = 0; p->bytes = cpu_to_le32((1 << 19) + 1));
	REFUSED(p->bytes = cpu_to_le32(2 * 4096 + 1));
	REFUSED(p->key_len = 0);
	REFUSED(p->key_len = cpu_to_le16(9));
	REFUSED(p->key_len = cpu_to_le16(KVC_MAX_KEY + 1));
	REFUSED(p->key_len = cpu_to_le16(U16_MAX));
	REFUSED(p->old_segment = cpu_to_le32(1));
	REFUSED(p->old_generation = cpu_to_le64(1));
	REFUSED(p->old_offset = cpu_to_le32(1));
	REFUSED(p->reserved0 = cpu_to_le32(1));
	REFUSED(block[sizeof(*p) + 3] = 1);
	REFUSED(block[sizeof(*p) + 7] = 1);

	memset(&record, 0, sizeof(record));
	record.type = KVC_REC_DELETE;
	record.del.segment = nr - 1;
	record.del.offset = 255;
	KUNIT_ASSERT_EQ(test, sizeof(*d), kvc_record_encode(block, 4096, &record));
	KUNIT_ASSERT_EQ(test, sizeof(*d),
			kvc_record_decode(block, 4096, &geometry, &record));
	REFUSED(d->r.flags = 1);
	REFUSED(d->r.length = cpu_to_le16(48));
	REFUSED(d->r.segment = cpu_to_le32(nr));
	REFUSED(d->offset = cpu_to_le32(256));

	memset(&record, 0, sizeof(record));
	record.type = KVC_REC_SEAL;
	record.seg.state = KVC_SEG_SEALED;
	record.seg.summary_segment = nr - 1;
	record.seg.summary_offset = 254;
	record.seg.summary_blocks = 2;
	record.seg.objects = 82;
	record.seg.order = KVC_MAX_POSITION;
	KUNIT_ASSERT_EQ(test, sizeof(*s), kvc_record_encode(block, 4096, &record));
	KUNIT_ASSERT_EQ(test, sizeof(*s),
			kvc_record_decode(block, 4096, &geometry, &record));
	REFUSED(s->r.segment = cpu_to_le32(nr));
	REFUSED(s->r.flags = KVC_SEG_OPEN);
	REFUSED(s->r.flags = 4);
	REFUSED(s->r.type = KVC_REC_OPEN);
	REFUSED(s->r.type = KVC_REC_RETIRE);
	REFUSED(s->r.type = KVC_REC_SEGMENT; s->r.flags = 4);
	REFUSED(s->r.type = KVC_REC_SEGMENT; s->r.flags = KVC_SEG_RETIRED);
	REFUSED(s->r.length = cpu_to_le16(56));
	REFUSED(s->order = cpu_to_le64(KVC_MAX_POSITION + 1));
	REFUSED(s->summary_segment = cpu_to_le32(nr));
	REFUSED(s->summary_offset = cpu_to_le32(255));
	REFUSED(s->summary_offset = cpu_to_le32(257); s->summary_blocks = 0);
	REFUSED(s->summary_blocks = cpu_to_le32(3));
	REFUSED(s->summary_blocks = cpu_to_le32(U32_MAX));
	REFUSED(s->objects = cpu_to_le32(83));
	REFUSED(s->reserved0 = cpu_to_le32(1));
	record.type = KVC_REC_OPEN;
	record.seg.state = KVC_SEG_OPEN;
	KUNIT_ASSERT_EQ(test, sizeof(*s), kvc_record_encode(block, 4096, &record));
	KUNIT_ASSERT_EQ(test, sizeof(*s),
			kvc_record_decode(block, 4096, &geometry, &record));
	REFUSED(s->order = cpu_to_le64(1));
	REFUSED(s->summary_crc = cpu_to_le32(1));

	memset(&record, 0, sizeof(record));
	record.type = KVC_REC_CHECKPOINT;
	record.checkpoint.parts = geometry.ring_blocks;
	record.checkpoint.part = geometry.ring_blocks - 1;
	record.checkpoint.start = KVC_MAX_POSITION;
	KUNIT_ASSERT_EQ(test, sizeof(*c), kvc_record_encode(block, 4096, &record));
	KUNIT_ASSERT_EQ(test, sizeof(*c),
			kvc_record_decode(block, 4096, &geometry, &record));
	REFUSED(c->r.segment = cpu_to_le32(geometry.ring_blocks));
	REFUSED(c->parts = cpu_to_le32(geometry.ring_blocks + 1));
	REFUSED(c->r.segment = 0; c->parts = 0);
	REFUSED(c->start = cpu_to_le64(KVC_MAX_POSITION + 1));
	REFUSED(c->next_order = cpu_to_le64(KVC_MAX_POSITION + 1));
	REFUSED(c->reserved0 = cpu_to_le32(1));
	REFUSED(c->r.flags = 1);

	memset(&record, 0, sizeof(record));
	record.type = KVC_REC_ASK;
	record.ask.kind = KVC_ASK_DELETE;
	record.ask.ag = geometry.nr_ags - 1;
	KUNIT_ASSERT_EQ(test, sizeof(*a), kvc_record_encode(block, 4096, &record));
	KUNIT_ASSERT_EQ(test, sizeof(*a),
			kvc_record_decode(block, 4096, &geometry, &record));
	REFUSED(a->r.segment = 0);
	REFUSED(a->r.flags = 0);
	REFUSED(a->r.flags = 3);
	REFUSED(a->count = cpu_to_le32(1));
	REFUSED(a->ag = cpu_to_le32(geometry.nr_ags));
	REFUSED(a->reserved0 = cpu_to_le32(1));
#undef REFUSED
}

static void journal_blocks(struct kunit *test)
{
	struct kvc_journal_block *b = (void *)block;
	u32 added = 0, room = KVC_JOURNAL_DATA, i;
	struct kvc_journal_info j;
	struct kvc_records it;
	u64 state = 2;

	kvc_journal_begin(block, 6, 12);
	KUNIT_EXPECT_EQ(test, KVC_JOURNAL_DATA, kvc_journal_room(block));
	for (;;) {
		kvc_fixture_record(&state, &geometry, 6,
				   KVC_REC_PUT + added % KVC_REC_ASK, &record,
				   key);
		memcpy(again, block, sizeof(block));
		if (!kvc_journal_add(block, &record))
			break;
		added++;
		KUNIT_ASSERT_LT(test, kvc_journal_room(block), room);
		room = kvc_journal_room(block);
	}
	KUNIT_EXPECT_EQ(test, 0, memcmp(block, again, sizeof(block)));
	KUNIT_EXPECT_LT(test, room, kvc_put_length(KVC_MAX_KEY));
	kvc_block_finish(block, KVC_BLOCK_JOURNAL, geometry.uuid,
			 kvc_place_journal(&geometry, 6, 12, 4711), 4711,
			 &writer);

	KUNIT_ASSERT_EQ(test, 0, kvc_journal_open(block, &geometry, &j, &it));
	KUNIT_EXPECT_EQ(test, 6, j.ag);
	KUNIT_EXPECT_EQ(test, 12, j.epoch);
	KUNIT_EXPECT_EQ(test, 4711, j.position);
	KUNIT_EXPECT_EQ(test, added, j.count);
	KUNIT_EXPECT_EQ(test, 5, j.writer.slot);
	KUNIT_EXPECT_EQ(test, 77, j.writer.incarnation);
	for (i = 0; i < added; i++) {
		KUNIT_ASSERT_EQ(test, 1, kvc_records_next(&it, &record));
		KUNIT_EXPECT_EQ(test, KVC_REC_PUT + i % KVC_REC_ASK,
				record.type);
	}
	KUNIT_EXPECT_EQ(test, 0, kvc_records_next(&it, &record));
	KUNIT_EXPECT_EQ(test, 0, kvc_records_next(&it, &record));

	/* One record too many, or too few. */
	b->count = cpu_to_le16(added + 1);
	KUNIT_ASSERT_EQ(test, 0, kvc_journal_open(block, &geometry, &j, &it));
	for (i = 0; i < added; i++)
		KUNIT_ASSERT_EQ(test, 1, kvc_records_next(&it, &record));
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_records_next(&it, &record));
	b->count = cpu_to_le16(added - 1);
	KUNIT_ASSERT_EQ(test, 0, kvc_journal_open(block, &geometry, &j, &it));
	for (i = 0; i < added - 1; i++)
		KUNIT_ASSERT_EQ(test, 1, kvc_records_next(&it, &record));
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_records_next(&it, &record));
	b->count = cpu_to_le16(added);

#define REFUSED(change) do {						\
	memcpy(again, block, sizeof(block));				\
	change;								\
	KUNIT_EXPECT_EQ(test, -EINVAL,					\
			kvc_journal_open(block, &geometry, &j, &it));	\
	memcpy(block, again, sizeof(block));				\
} while (0)
	REFUSED(b->ag = cpu_to_le32(geometry.nr_ags));
	REFUSED(b->epoch = 0);
	REFUSED(b->epoch = cpu_to_le64(1ULL << 32));
	REFUSED(b->h.sequence = cpu_to_le64(KVC_MAX_POSITION + 1));
	REFUSED(b->h.slot = cpu_to_le32(geometry.nr_slots));
	REFUSED(b->used = cpu_to_le16(KVC_JOURNAL_DATA + 8));
	REFUSED(b->used = cpu_to_le16(U16_MAX));
	REFUSED(b->used = cpu_to_le16(44));
	REFUSED(b->used = 0);
	REFUSED(b->count = 0);
	REFUSED(b->used = cpu_to_le16(8); b->count = cpu_to_le16(2));
	REFUSED(b->reserved0 = cpu_to_le64(1));
	REFUSED(b->h.reserved0 = cpu_to_le16(1));
#undef REFUSED

	/* The same records in another AG's journal name segments not its own. */
	b->ag = cpu_to_le32(7);
	KUNIT_ASSERT_EQ(test, 0, kvc_journal_open(block, &geometry, &j, &it));
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_records_next(&it, &record));

	/* Nor can an object have moved here from another AG. */
	kvc_fixture_record(&state, &geometry, 6, KVC_REC_PUT, &record, key);
	record.put.moved = true;
	record.put.old_offset = 0;
	for (i = 6; i <= 7; i++) {
		record.put.old_segment = kvc_ag_first_segment(&geometry, i);
		kvc_journal_begin(block, 6, 12);
		KUNIT_ASSERT_TRUE(test, kvc_journal_add(block, &record));
		KUNIT_ASSERT_EQ(test, 0,
				kvc_journal_open(block, &geometry, &j, &it));
		KUNIT_EXPECT_EQ(test, i == 6 ? 1 : -EINVAL,
				kvc_records_next(&it, &record));
	}
}

static void summary_blocks(struct kunit *test)
{
	u32 segment = kvc_ag_first_segment(&geometry, 4) + 1, i;
	struct kvc_summary_block *b = (void *)block;
	struct kvc_summary_info s;
	struct kvc_records it;
	u64 state = 3;

	kvc_summary_begin(block, 4, segment, 0x500000002ULL, 3);
	for (i = 0; i < 5; i++) {
		kvc_fixture_record(&state, &geometry, 4, KVC_REC_PUT, &record,
				   key);
		record.put.segment = segment;
		record.put.generation = 0x500000002ULL;
		KUNIT_ASSERT_TRUE(test, kvc_summary_add(block, &record));
	}
	kvc_fixture_record(&state, &geometry, 4, KVC_REC_DELETE, &record, key);
	KUNIT_EXPECT_FALSE(test, kvc_summary_add(block, &record));
	kvc_block_finish(block, KVC_BLOCK_SUMMARY, geometry.uuid,
			 (struct kvc_place){ 0, 1 }, 2, &writer);

	KUNIT_ASSERT_EQ(test, 0, kvc_summary_open(block, &geometry, &s, &it));
	KUNIT_EXPECT_EQ(test, 4, s.ag);
	KUNIT_EXPECT_EQ(test, segment, s.segment);
	KUNIT_EXPECT_EQ(test, 0x500000002ULL, s.generation);
	KUNIT_EXPECT_EQ(test, 2, s.part);
	KUNIT_EXPECT_EQ(test, 3, s.nr_blocks);
	KUNIT_EXPECT_EQ(test, 5, s.count);
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, 1, kvc_records_next(&it, &record));
	KUNIT_EXPECT_EQ(test, 0, kvc_records_next(&it, &record));

#define REFUSED(change) do {						\
	memcpy(again, block, sizeof(block));				\
	change;								\
	KUNIT_EXPECT_EQ(test, -EINVAL,					\
			kvc_summary_open(block, &geometry, &s, &it));	\
	memcpy(block, again, sizeof(block));				\
} while (0)
	REFUSED(b->ag = cpu_to_le32(5));
	REFUSED(b->segment = cpu_to_le32(geometry.nr_segments));
	REFUSED(b->h.sequence = cpu_to_le64(3));
	REFUSED(b->h.sequence = cpu_to_le64(1ULL << 32));
	REFUSED(b->nr_blocks = 0);
	REFUSED(b->nr_blocks = cpu_to_le32(257));
	REFUSED(b->used = cpu_to_le16(KVC_SUMMARY_DATA + 8));
	REFUSED(b->count = cpu_to_le16(U16_MAX));
	REFUSED(b->h.reserved1 = cpu_to_le32(1));
#undef REFUSED

	/* Records of another generation or another segment don't belong. */
	b->generation = cpu_to_le64(0x500000003ULL);
	KUNIT_ASSERT_EQ(test, 0, kvc_summary_open(block, &geometry, &s, &it));
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_records_next(&it, &record));
	b->generation = cpu_to_le64(0x500000002ULL);
	b->segment = cpu_to_le32(segment + 1);
	KUNIT_ASSERT_EQ(test, 0, kvc_summary_open(block, &geometry, &s, &it));
	KUNIT_EXPECT_EQ(test, -EINVAL, kvc_records_next(&it, &record));
}

/* What stands exactly at a limit is accepted. */
static void limits_are_inclusive(struct kunit *test)
{
	struct kvc_area_info a = {
		.epoch = KVC_MAX_EPOCH, .owner_slot = KVC_NO_SLOT,
		.head = KVC_MAX_POSITION, .checkpoint = KVC_MAX_POSITION,
	};
	u32 blocks = kvc_segment_blocks(&geometry);
	struct kvc_summary_info s;
	struct kvc_journal_info j;
	struct kvc_records it;
	u32 i;

	kvc_area_encode(block, &a);
	KUNIT_EXPECT_EQ(test, 0, kvc_area_decode(block, &geometry, &a));

	kvc_fixture_slot(&slot, &geometry);
	slot.number = geometry.nr_slots - 1;
	slot.state = KVC_SLOT_DOWN;
	slot.node[0] = ' ';
	slot.ags[0].owned_epoch = KVC_MAX_EPOCH;
	slot.ags[0].followed_epoch = KVC_MAX_EPOCH;
	slot.ags[0].drained = KVC_MAX_POSITION;
	kvc_slot_encode(block, &slot);
	KUNIT_ASSERT_EQ(test, 0, kvc_slot_decode(block, &geometry, &slot));
	KUNIT_EXPECT_STREQ(test, " pu-17", slot.node);
	block[offsetof(struct kvc_slot_block, node)] = '\t';
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kvc_slot_decode(block, &geometry, &slot));

	/* The second block of a slot, if there is one. */
	slot.first_ag = 128;
	slot.nr_ags = 72;
	kvc_slot_encode(block, &slot);
	for (i = 1; i <= 2; i++) {
		geometry.slot_blocks = i;
		KUNIT_EXPECT_EQ(test, i == 2 ? 0 : -EINVAL,
				kvc_slot_decode(block, &geometry,
						&slot_again));
	}
	init(test);

	memset(&record, 0, sizeof(record));
	record.type = KVC_REC_PUT;
	record.put.segment = geometry.nr_segments - 1;
	record.put.bytes = 1 << 19;
	record.put.offset = blocks / 2;
	record.put.key = key;
	record.put.key_len = 1;
	kvc_record_encode(block, sizeof(block), &record);
	KUNIT_EXPECT_EQ(test, 96,
			kvc_record_decode(block, 96, &geometry, &record));

	memset(&record, 0, sizeof(record));
	record.type = KVC_REC_CHECKPOINT;
	record.checkpoint.parts = 1;
	record.checkpoint.start = KVC_MAX_POSITION;
	record.checkpoint.next_order = KVC_MAX_POSITION;
	kvc_journal_begin(block, 15, KVC_MAX_EPOCH);
	KUNIT_ASSERT_TRUE(test, kvc_journal_add(block, &record));
	kvc_block_finish(block, KVC_BLOCK_JOURNAL, geometry.uuid,
			 (struct kvc_place){ 0, 0 }, KVC_MAX_POSITION,
			 &writer);
	KUNIT_ASSERT_EQ(test, 0, kvc_journal_open(block, &geometry, &j, &it));
	KUNIT_EXPECT_EQ(test, 1, kvc_records_next(&it, &record));

	kvc_summary_begin(block, 15, geometry.nr_segments - 1, 1, blocks);
	kvc_block_finish(block, KVC_BLOCK_SUMMARY, geometry.uuid,
			 (struct kvc_place){ 0, 0 }, blocks - 1, &writer);
	KUNIT_ASSERT_EQ(test, 0, kvc_summary_open(block, &geometry, &s, &it));
	KUNIT_EXPECT_EQ(test, 0, kvc_records_next(&it, &record));
}

/* Records may name segments of their AG: from its first up to its last. */
static void records_stay_in_their_ag(struct kunit *test)
{
	u32 first = kvc_ag_first_segment(&geometry, 6), type, at;
	u32 end = kvc_ag_first_segment(&geometry, 7);
	u32 segments[] = { first, end - 1, first - 1, end };
	struct kvc_journal_info j;
	struct kvc_records it;
	u64 state = 4;

	/* Behind the types: where a SEAL says that its summary is. */
	for (type = KVC_REC_PUT; type <= KVC_REC_SEGMENT + 1; type++) {
		for (at = 0; at < ARRAY_SIZE(segments); at++) {
			kvc_fixture_record(&state, &geometry, 6,
					   type <= KVC_REC_SEGMENT ? type :
					   KVC_REC_SEAL, &record, key);
			if (type == KVC_REC_PUT)
				record.put.segment = segments[at];
			else if (type == KVC_REC_DELETE)
				record.del.segment = segments[at];
			else if (type <= KVC_REC_SEGMENT)
				record.seg.segment = segments[at];
			else
				record.seg.summary_segment = segments[at];
			kvc_journal_begin(block, 6, 1);
			KUNIT_ASSERT_TRUE(test,
					  kvc_journal_add(block, &record));
			KUNIT_ASSERT_EQ(test, 0,
					kvc_journal_open(block, &geometry, &j,
							 &it));
			KUNIT_EXPECT_EQ(test, at < 2 ? 1 : -EINVAL,
					kvc_records_next(&it, &record));
		}
	}
}

/* A summary holds PUTs of its segment and nothing else. */
static void summaries_hold_puts(struct kunit *test)
{
	u32 segment = kvc_ag_first_segment(&geometry, 4), type, i;
	struct kvc_summary_block *b = (void *)block;
	struct kvc_summary_info s;
	struct kvc_records it;
	u64 state = 5;

	for (type = KVC_REC_PUT; type <= KVC_REC_ASK; type++) {
		for (i = 0; i <= 1; i++) {
			kvc_summary_begin(block, 4, segment, 1, 1);
			kvc_fixture_record(&state, &geometry, 4, type, &record,
					   key);
			if (type == KVC_REC_PUT) {
				record.put.segment = segment + i;
				record.put.generation = 1;
			} else if (type == KVC_REC_DELETE) {
				record.del.segment = segment;
			} else if (type <= KVC_REC_SEGMENT) {
				record.seg.segment = segment;
				record.seg.summary_segment = segment;
			}
			b->count = cpu_to_le16(1);
			b->used = cpu_to_le16(kvc_record_encode(b->data,
								sizeof(b->data),
								&record));
			KUNIT_ASSERT_EQ(test, 0,
					kvc_summary_open(block, &geometry, &s,
							 &it));
			KUNIT_EXPECT_EQ(test,
					type == KVC_REC_PUT && !i ? 1 : -EINVAL,
					kvc_records_next(&it, &record));
		}
	}
}

static struct kunit_case kvc_codec_cases[] = {
	KUNIT_CASE(block_verdicts),
	KUNIT_CASE(key_hash),
	KUNIT_CASE(label),
	KUNIT_CASE(slots),
	KUNIT_CASE(areas),
	KUNIT_CASE(record_round_trips),
	KUNIT_CASE(record_bounds),
	KUNIT_CASE(journal_blocks),
	KUNIT_CASE(summary_blocks),
	KUNIT_CASE(limits_are_inclusive),
	KUNIT_CASE(records_stay_in_their_ag),
	KUNIT_CASE(summaries_hold_puts),
	{}
};

struct kunit_suite kvc_codec_suite = {
	.name = "kvc_codec",
	.init = init,
	.test_cases = kvc_codec_cases,
};
