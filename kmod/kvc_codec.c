// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The codec of the media format: blocks; the records in them are kvc_record.c's.
 * See kvc_codec.h; every structure is described in Documentation/format.rst.
 *
 * What is decoded here is hostile. So every number is checked against its range
 * before it is used, reserved fields must be zero, unknown flags are refused,
 * and no counter that passes can overflow when its user adds to it
 * (KVC_MAX_POSITION, KVC_MAX_EPOCH). Blocks and records must be aligned to 8.
 */
#include "kvc_codec.h"

static_assert(sizeof(struct kvc_block_header) == 64);
static_assert(sizeof(struct kvc_label_member) == 48);
static_assert(sizeof(struct kvc_label_span) == 32);
static_assert(sizeof(struct kvc_label) == KVC_BLOCK_SIZE);
static_assert(offsetof(struct kvc_label, spans) == 264);
static_assert(offsetof(struct kvc_label, members) == 520);
static_assert(sizeof(struct kvc_slot_ag) == 24);
static_assert(sizeof(struct kvc_slot_block) == KVC_BLOCK_SIZE);
static_assert(offsetof(struct kvc_slot_block, ags) == 416);
static_assert(sizeof(struct kvc_area_block) == KVC_BLOCK_SIZE);
static_assert(sizeof(struct kvc_journal_block) == KVC_BLOCK_SIZE);
static_assert(offsetof(struct kvc_journal_block, data) == 88);
static_assert(sizeof(struct kvc_summary_block) == KVC_BLOCK_SIZE);
static_assert(offsetof(struct kvc_summary_block, data) == 88);
static_assert(KVC_JOURNAL_DATA % 8 == 0);
static_assert(KVC_SUMMARY_DATA == KVC_JOURNAL_DATA);

/* Are @n bytes zero? @p is aligned to 8, @n a multiple of 8. */
static bool words_zero(const void *p, size_t n)
{
	const u64 *word = p;
	u64 any = 0;

	for (; n; n -= 8)
		any |= *word++;
	return !any;
}

static bool bytes_zero(const u8 *p, size_t n)
{
	u8 any = 0;

	for (; n; n--)
		any |= *p++;
	return !any;
}

/* Is everything behind the NUL of a string zero, and is there a NUL? */
static bool string_sound(const u8 *s, size_t size)
{
	size_t i, len = strnlen((const char *)s, size);

	if (len == size)
		return false;
	for (i = 0; i < len; i++) {
		if (s[i] < ' ' || s[i] == 0x7f)
			return false;
	}
	for (; i < size; i++) {
		if (s[i])
			return false;
	}
	return true;
}

/* Copy a string; control characters can't be decoded, so they become '?'. */
static void string_pack(u8 *to, const char *from, size_t size)
{
	size_t i, len = strnlen(from, size - 1);

	for (i = 0; i < len; i++) {
		u8 c = from[i];

		to[i] = c < ' ' || c == 0x7f ? '?' : c;
	}
	memset(to + len, 0, size - len);
}

/* --- blocks --- */

static u32 crc_of_block(const void *block)
{
	const size_t at = offsetof(struct kvc_block_header, crc);
	static const __le32 zero;
	u32 crc;

	crc = crc32c(~0U, block, at);
	crc = crc32c(crc, &zero, sizeof(zero));
	return crc32c(crc, (const u8 *)block + at + sizeof(zero),
		      KVC_BLOCK_SIZE - at - sizeof(zero));
}

void kvc_block_finish(void *block, u8 type, const u8 *uuid,
		      struct kvc_place place, u64 sequence,
		      const struct kvc_writer *w)
{
	struct kvc_block_header *h = block;

	h->magic = cpu_to_le64(KVC_MAGIC);
	h->type = type;
	h->version = KVC_FORMAT_VERSION;
	h->reserved0 = 0;
	memcpy(h->pool_uuid, uuid, sizeof(h->pool_uuid));
	h->address = cpu_to_le64(kvc_address(place.member, place.block));
	h->sequence = cpu_to_le64(sequence);
	h->incarnation = cpu_to_le64(w->incarnation);
	h->slot = cpu_to_le32(w->slot);
	h->reserved1 = 0;
	h->crc = cpu_to_le32(crc_of_block(block));
}

enum kvc_block_verdict kvc_block_verify(const void *block, u8 type,
					const u8 *uuid,
					const struct kvc_place *place)
{
	const struct kvc_block_header *h = block;

	if (le64_to_cpu(h->magic) != KVC_MAGIC)
		return KVC_BLOCK_NEVER;
	if (uuid && memcmp(h->pool_uuid, uuid, sizeof(h->pool_uuid)))
		return KVC_BLOCK_NEVER;
	if (le32_to_cpu(h->crc) != crc_of_block(block))
		return KVC_BLOCK_CRC;
	if (h->version != KVC_FORMAT_VERSION)
		return KVC_BLOCK_VERSION;
	if (h->type != type)
		return KVC_BLOCK_TYPE;
	if (place && le64_to_cpu(h->address) !=
		     kvc_address(place->member, place->block))
		return KVC_BLOCK_MISPLACED;
	return KVC_BLOCK_OK;
}

const char *kvc_block_verdict_name(enum kvc_block_verdict v)
{
	static const char * const names[] = {
		[KVC_BLOCK_OK]		= "ok",
		[KVC_BLOCK_NEVER]	= "never written",
		[KVC_BLOCK_CRC]		= "checksum mismatch",
		[KVC_BLOCK_MISPLACED]	= "misplaced",
		[KVC_BLOCK_TYPE]	= "wrong type",
		[KVC_BLOCK_VERSION]	= "unknown version",
	};

	return (u32)v < ARRAY_SIZE(names) ? names[v] : "unknown";
}

u32 kvc_block_crc(const void *block)
{
	const struct kvc_block_header *h = block;

	return le32_to_cpu(h->crc);
}

/* What kvc_block_verify() leaves open of a header. */
static bool header_sound(const struct kvc_block_header *h)
{
	return !h->reserved0 && !h->reserved1;
}

struct kvc_hash kvc_key_hash(const u8 *hash_key, u32 tenant, const void *key,
			     size_t len)
{
	return kvc_hash_key(hash_key, tenant, key, len);
}

/* --- label --- */

static void span_encode(struct kvc_label_span *to, const struct kvc_span *s)
{
	to->first_ag = cpu_to_le32(s->first_ag);
	to->nr_ags = cpu_to_le32(s->nr_ags);
	to->first_segment = cpu_to_le32(s->first_segment);
	to->nr_segments = cpu_to_le32(s->nr_segments);
	to->first_member = cpu_to_le16(s->first_member);
	to->nr_members = cpu_to_le16(s->nr_members);
	to->width = cpu_to_le16(s->width);
	to->first_lane = cpu_to_le32(s->first_lane);
	to->first_journal = cpu_to_le32(s->first_journal);
}

static void span_decode(struct kvc_span *s, const struct kvc_label_span *from)
{
	s->first_ag = le32_to_cpu(from->first_ag);
	s->nr_ags = le32_to_cpu(from->nr_ags);
	s->first_segment = le32_to_cpu(from->first_segment);
	s->nr_segments = le32_to_cpu(from->nr_segments);
	s->first_member = le16_to_cpu(from->first_member);
	s->nr_members = le16_to_cpu(from->nr_members);
	s->width = le16_to_cpu(from->width);
	s->first_lane = le32_to_cpu(from->first_lane);
	s->first_journal = le32_to_cpu(from->first_journal);
}

static void member_encode(struct kvc_label_member *to,
			  const struct kvc_member_info *m)
{
	memcpy(to->uuid, m->uuid, sizeof(to->uuid));
	to->blocks = cpu_to_le64(m->blocks);
	to->wwid_hash = cpu_to_le64(m->wwid_hash);
	to->state = cpu_to_le32(m->state);
	to->missing_since = cpu_to_le64(m->missing_since);
}

static void member_decode(struct kvc_member_info *m,
			  const struct kvc_label_member *from)
{
	memcpy(m->uuid, from->uuid, sizeof(m->uuid));
	m->blocks = le64_to_cpu(from->blocks);
	m->wwid_hash = le64_to_cpu(from->wwid_hash);
	m->state = le32_to_cpu(from->state);
	m->missing_since = le64_to_cpu(from->missing_since);
}

void kvc_label_encode(void *block, const struct kvc_geometry *g, u32 member)
{
	struct kvc_label *l = block;
	u32 i;

	memset(l, 0, sizeof(*l));
	string_pack(l->name, g->name, sizeof(l->name));
	memcpy(l->hash_key, g->hash_key, sizeof(l->hash_key));
	l->created = cpu_to_le64(g->created);
	l->feature_incompat = cpu_to_le64(g->incompat);
	l->flags = cpu_to_le32(g->flags);
	l->lease_ms = cpu_to_le32(g->lease_ms);
	l->heartbeat_ms = cpu_to_le32(g->heartbeat_ms);
	l->q_ms = cpu_to_le32(g->q_ms);
	l->member = cpu_to_le16(member);
	l->nr_members = cpu_to_le16(g->nr_members);
	l->nr_spans = cpu_to_le16(g->nr_spans);
	l->nr_slots = cpu_to_le16(g->nr_slots);
	l->nr_slot_copies = g->nr_slot_copies;
	l->slot_blocks = g->slot_blocks;
	l->segment_shift = g->segment_shift;
	l->unit_shift = g->unit_shift;
	if (g->incompat & KVC_FEATURE_INCOMPAT_SLOTS) {
		memcpy(l->slot_members, g->slot_members, sizeof(l->slot_members));
		l->slot_leaves = g->slot_leaves;
	}
	l->slot_start = cpu_to_le64(g->slot_start);
	l->journal_start = cpu_to_le64(g->journal_start);
	l->ring_blocks = cpu_to_le32(g->ring_blocks);
	l->nr_journals = cpu_to_le32(g->nr_journals);
	l->data_start = cpu_to_le64(g->data_start);
	l->nr_lanes = cpu_to_le32(g->nr_lanes);
	for (i = 0; i < g->nr_spans; i++)
		span_encode(&l->spans[i], &g->spans[i]);
	for (i = 0; i < g->nr_members; i++)
		member_encode(&l->members[i], &g->members[i]);
}

static int refuse(const char **why, const char *clause)
{
	if (why)
		*why = clause;
	return -EINVAL;
}

static void slot_places_decode(struct kvc_geometry *g, const struct kvc_label *l)
{
	u32 i;

	if (g->incompat & KVC_FEATURE_INCOMPAT_SLOTS) {
		memcpy(g->slot_members, l->slot_members, sizeof(g->slot_members));
		g->slot_leaves = l->slot_leaves;
		return;
	}
	g->slot_leaves = KVC_NO_COPY;
	for (i = 0; i < KVC_MAX_SLOT_COPIES && i < g->nr_slot_copies; i++)
		g->slot_members[i] = i;
}

/* Are all fields and entries zero that this version has no use for? */
static bool label_reserved_zero(const struct kvc_label *l)
{
	u32 nr_members = le16_to_cpu(l->nr_members);
	u32 nr_spans = le16_to_cpu(l->nr_spans);
	u32 i;

	if (!header_sound(&l->h) || !bytes_zero(l->reserved1, sizeof(l->reserved1)) ||
	    !words_zero(l->reserved2, sizeof(l->reserved2)))
		return false;
	if (!(le64_to_cpu(l->feature_incompat) & KVC_FEATURE_INCOMPAT_SLOTS) &&
	    (l->slot_leaves ||
	     !bytes_zero(l->slot_members, sizeof(l->slot_members))))
		return false;
	for (i = 0; i < KVC_MAX_SPANS; i++) {
		if (i >= nr_spans ?
		    !words_zero(&l->spans[i], sizeof(l->spans[i])) :
		    l->spans[i].reserved0 != 0)
			return false;
	}
	for (i = 0; i < KVC_MAX_MEMBERS; i++) {
		if (i >= nr_members ?
		    !words_zero(&l->members[i], sizeof(l->members[i])) :
		    l->members[i].reserved0 != 0)
			return false;
	}
	return true;
}

int kvc_label_decode(const void *block, struct kvc_geometry *g, u32 *member,
		     const char **why)
{
	const struct kvc_label *l = block;
	u32 i;
	int err;

	if (le64_to_cpu(l->feature_incompat) & ~KVC_FEATURE_INCOMPAT_ALL) {
		refuse(why, "the pool uses incompatible features that this version does not know");
		return -EOPNOTSUPP;
	}
	if (le64_to_cpu(l->feature_ro_compat) & ~KVC_FEATURE_RO_COMPAT_ALL) {
		refuse(why, "the pool uses features that this version can't write");
		return -EOPNOTSUPP;
	}
	if (le16_to_cpu(l->nr_members) > KVC_MAX_MEMBERS ||
	    le16_to_cpu(l->nr_spans) > KVC_MAX_SPANS)
		return refuse(why, "there are more members or spans than a label holds");
	/* A compatible feature may use what is reserved here. */
	if (!(le64_to_cpu(l->feature_compat) & ~KVC_FEATURE_COMPAT_ALL) &&
	    !label_reserved_zero(l))
		return refuse(why, "a reserved field is not zero");
	if (!string_sound(l->name, sizeof(l->name)))
		return refuse(why, "the pool name is not a string");

	memset(g, 0, sizeof(*g));
	memcpy(g->uuid, l->h.pool_uuid, sizeof(g->uuid));
	memcpy(g->name, l->name, sizeof(g->name));
	memcpy(g->hash_key, l->hash_key, sizeof(g->hash_key));
	g->created = le64_to_cpu(l->created);
	g->incompat = le64_to_cpu(l->feature_incompat);
	g->flags = le32_to_cpu(l->flags);
	g->lease_ms = le32_to_cpu(l->lease_ms);
	g->heartbeat_ms = le32_to_cpu(l->heartbeat_ms);
	g->q_ms = le32_to_cpu(l->q_ms);
	g->nr_members = le16_to_cpu(l->nr_members);
	g->nr_spans = le16_to_cpu(l->nr_spans);
	g->nr_slots = le16_to_cpu(l->nr_slots);
	g->nr_slot_copies = l->nr_slot_copies;
	g->slot_blocks = l->slot_blocks;
	g->segment_shift = l->segment_shift;
	g->unit_shift = l->unit_shift;
	slot_places_decode(g, l);
	g->slot_start = le64_to_cpu(l->slot_start);
	g->journal_start = le64_to_cpu(l->journal_start);
	g->ring_blocks = le32_to_cpu(l->ring_blocks);
	g->nr_journals = le32_to_cpu(l->nr_journals);
	g->data_start = le64_to_cpu(l->data_start);
	g->nr_lanes = le32_to_cpu(l->nr_lanes);
	for (i = 0; i < g->nr_spans; i++) {
		span_decode(&g->spans[i], &l->spans[i]);
		g->nr_ags += g->spans[i].nr_ags;
		g->nr_segments += g->spans[i].nr_segments;
	}
	for (i = 0; i < g->nr_members; i++) {
		member_decode(&g->members[i], &l->members[i]);
		if (g->members[i].missing_since > le64_to_cpu(l->h.sequence))
			return refuse(why, "a member is missing since a later label");
	}
	err = kvc_geometry_check(g, why);
	if (err)
		return err;
	*member = le16_to_cpu(l->member);
	if (*member >= g->nr_members)
		return refuse(why, "the label is of a member that is not in its list");
	return 0;
}

/* --- slots --- */

void kvc_slot_encode(void *block, const struct kvc_slot_info *s)
{
	struct kvc_slot_block *b = block;
	u32 i;

	memset(b, 0, sizeof(*b));
	b->number = cpu_to_le32(s->number);
	b->first_ag = cpu_to_le32(s->first_ag);
	b->nr_ags = cpu_to_le32(s->nr_ags);
	b->state = cpu_to_le32(s->state);
	b->incarnation = cpu_to_le64(s->incarnation);
	b->heartbeat = cpu_to_le64(s->heartbeat);
	b->flags = cpu_to_le64(s->flags);
	b->label_seq = cpu_to_le64(s->label_seq);
	memcpy(b->boot_id, s->boot_id, sizeof(b->boot_id));
	memcpy(b->attach_id, s->attach_id, sizeof(b->attach_id));
	string_pack(b->nqn, s->nqn, sizeof(b->nqn));
	string_pack(b->node, s->node, sizeof(b->node));
	for (i = 0; i < s->nr_ags; i++) {
		b->ags[i].owned_epoch = cpu_to_le64(s->ags[i].owned_epoch);
		b->ags[i].followed_epoch =
			cpu_to_le64(s->ags[i].followed_epoch);
		b->ags[i].drained = cpu_to_le64(s->ags[i].drained);
	}
}

int kvc_slot_decode(const void *block, const struct kvc_geometry *g,
		    struct kvc_slot_info *s)
{
	const struct kvc_slot_block *b = block;
	u32 i;

	s->number = le32_to_cpu(b->number);
	s->first_ag = le32_to_cpu(b->first_ag);
	s->nr_ags = le32_to_cpu(b->nr_ags);
	s->state = le32_to_cpu(b->state);
	s->sequence = le64_to_cpu(b->h.sequence);
	s->incarnation = le64_to_cpu(b->incarnation);
	s->heartbeat = le64_to_cpu(b->heartbeat);
	s->flags = le64_to_cpu(b->flags);
	s->label_seq = le64_to_cpu(b->label_seq);

	if (!header_sound(&b->h) ||
	    !words_zero(b->reserved0, sizeof(b->reserved0)))
		return -EINVAL;
	if (s->number >= g->nr_slots || s->state > KVC_SLOT_DOWN ||
	    s->flags & ~KVC_SLOT_FLAGS_ALL)
		return -EINVAL;
	/* Its host may know AGs that this label does not tell of (rule 35). */
	if (s->first_ag % KVC_AGS_PER_SLOT_BLOCK ||
	    s->first_ag / KVC_AGS_PER_SLOT_BLOCK >= g->slot_blocks ||
	    s->nr_ags > KVC_AGS_PER_SLOT_BLOCK)
		return -EINVAL;
	if (!string_sound(b->nqn, sizeof(b->nqn)) ||
	    !string_sound(b->node, sizeof(b->node)))
		return -EINVAL;
	if (!words_zero(&b->ags[s->nr_ags], sizeof(b->ags[0]) *
			(KVC_AGS_PER_SLOT_BLOCK - s->nr_ags)))
		return -EINVAL;

	memcpy(s->boot_id, b->boot_id, sizeof(s->boot_id));
	memcpy(s->attach_id, b->attach_id, sizeof(s->attach_id));
	memcpy(s->nqn, b->nqn, sizeof(s->nqn));
	memcpy(s->node, b->node, sizeof(s->node));
	memset(s->ags, 0, sizeof(s->ags));
	for (i = 0; i < s->nr_ags; i++) {
		struct kvc_slot_ag_info *a = &s->ags[i];

		a->owned_epoch = le64_to_cpu(b->ags[i].owned_epoch);
		a->followed_epoch = le64_to_cpu(b->ags[i].followed_epoch);
		a->drained = le64_to_cpu(b->ags[i].drained);
		if (a->owned_epoch > KVC_MAX_EPOCH ||
		    a->followed_epoch > KVC_MAX_EPOCH ||
		    a->drained > KVC_MAX_POSITION)
			return -EINVAL;
	}
	return 0;
}

/* --- area headers --- */

/* A slot number that may stand in a block: of a host, or of format. */
static bool slot_sound(const struct kvc_geometry *g, u32 slot)
{
	return slot < g->nr_slots || slot == KVC_NO_SLOT;
}

static bool epoch_sound(u64 epoch)
{
	return epoch && epoch <= KVC_MAX_EPOCH;
}

void kvc_area_encode(void *block, const struct kvc_area_info *a)
{
	struct kvc_area_block *b = block;

	memset(b, 0, sizeof(*b));
	b->ag = cpu_to_le32(a->ag);
	b->owner_slot = cpu_to_le32(a->owner_slot);
	b->owner_incarnation = cpu_to_le64(a->owner_incarnation);
	b->epoch = cpu_to_le64(a->epoch);
	b->head = cpu_to_le64(a->head);
	b->checkpoint = cpu_to_le64(a->checkpoint);
}

int kvc_area_decode(const void *block, const struct kvc_geometry *g,
		    struct kvc_area_info *a)
{
	const struct kvc_area_block *b = block;

	a->ag = le32_to_cpu(b->ag);
	a->owner_slot = le32_to_cpu(b->owner_slot);
	a->owner_incarnation = le64_to_cpu(b->owner_incarnation);
	a->epoch = le64_to_cpu(b->epoch);
	a->head = le64_to_cpu(b->head);
	a->checkpoint = le64_to_cpu(b->checkpoint);
	a->sequence = le64_to_cpu(b->h.sequence);

	if (!header_sound(&b->h) ||
	    !words_zero(b->reserved0, sizeof(b->reserved0)))
		return -EINVAL;
	if (a->ag >= g->nr_ags || !slot_sound(g, a->owner_slot) ||
	    !epoch_sound(a->epoch))
		return -EINVAL;
	if (a->checkpoint > KVC_MAX_POSITION || a->checkpoint < a->head ||
	    a->checkpoint - a->head >= g->ring_blocks)
		return -EINVAL;
	return 0;
}

/* --- journal blocks --- */

void kvc_journal_begin(void *block, u32 ag, u64 epoch)
{
	struct kvc_journal_block *b = block;

	memset(b, 0, sizeof(*b));
	b->ag = cpu_to_le32(ag);
	b->epoch = cpu_to_le64(epoch);
}

u32 kvc_journal_room(const void *block)
{
	const struct kvc_journal_block *b = block;

	return KVC_JOURNAL_DATA - le16_to_cpu(b->used);
}

bool kvc_journal_add(void *block, const struct kvc_record *rec)
{
	struct kvc_journal_block *b = block;
	u32 used = le16_to_cpu(b->used);
	u32 length = kvc_record_encode(b->data + used, KVC_JOURNAL_DATA - used,
				       rec);

	if (!length)
		return false;
	b->used = cpu_to_le16(used + length);
	b->count = cpu_to_le16(le16_to_cpu(b->count) + 1);
	return true;
}

int kvc_journal_open(const void *block, const struct kvc_geometry *g,
		     struct kvc_journal_info *j, struct kvc_records *it)
{
	const struct kvc_journal_block *b = block;

	j->ag = le32_to_cpu(b->ag);
	j->epoch = le64_to_cpu(b->epoch);
	j->position = le64_to_cpu(b->h.sequence);
	j->count = le16_to_cpu(b->count);
	j->used = le16_to_cpu(b->used);
	j->writer.slot = le32_to_cpu(b->h.slot);
	j->writer.incarnation = le64_to_cpu(b->h.incarnation);

	if (!header_sound(&b->h) || b->reserved0)
		return -EINVAL;
	if (j->ag >= g->nr_ags || !epoch_sound(j->epoch) ||
	    j->position > KVC_MAX_POSITION || !slot_sound(g, j->writer.slot))
		return -EINVAL;
	it->summary = false;
	it->first_segment = kvc_ag_first_segment(g, j->ag);
	it->nr_segments = kvc_ag_nr_segments(g, j->ag);
	it->generation = 0;
	if (!kvc_records_open(it, g, b->data, j->count, j->used))
		return -EINVAL;
	return 0;
}

/* --- summaries --- */

void kvc_summary_begin(void *block, u32 ag, u32 segment, u64 generation,
		       u32 nr_blocks)
{
	struct kvc_summary_block *b = block;

	memset(b, 0, sizeof(*b));
	b->ag = cpu_to_le32(ag);
	b->segment = cpu_to_le32(segment);
	b->nr_blocks = cpu_to_le32(nr_blocks);
	b->generation = cpu_to_le64(generation);
}

bool kvc_summary_add(void *block, const struct kvc_record *rec)
{
	struct kvc_summary_block *b = block;
	u32 used = le16_to_cpu(b->used);
	u32 length;

	if (rec->type != KVC_REC_PUT)
		return false;
	length = kvc_record_encode(b->data + used, KVC_SUMMARY_DATA - used, rec);
	if (!length)
		return false;
	b->used = cpu_to_le16(used + length);
	b->count = cpu_to_le16(le16_to_cpu(b->count) + 1);
	return true;
}

int kvc_summary_open(const void *block, const struct kvc_geometry *g,
		     struct kvc_summary_info *s, struct kvc_records *it)
{
	const struct kvc_summary_block *b = block;
	u64 part = le64_to_cpu(b->h.sequence);

	s->ag = le32_to_cpu(b->ag);
	s->segment = le32_to_cpu(b->segment);
	s->generation = le64_to_cpu(b->generation);
	s->part = part;
	s->nr_blocks = le32_to_cpu(b->nr_blocks);
	s->count = le16_to_cpu(b->count);
	s->used = le16_to_cpu(b->used);

	if (!header_sound(&b->h))
		return -EINVAL;
	if (s->segment >= g->nr_segments ||
	    s->ag != kvc_segment_ag(g, s->segment))
		return -EINVAL;
	if (part >= s->nr_blocks || s->nr_blocks > kvc_segment_blocks(g))
		return -EINVAL;
	it->summary = true;
	it->first_segment = s->segment;
	it->nr_segments = 1;
	it->generation = s->generation;
	if (!kvc_records_open(it, g, b->data, s->count, s->used))
		return -EINVAL;
	return 0;
}
