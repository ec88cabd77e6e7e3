// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "kvc_fixture.h"

void kvc_fixture_options(struct kvc_format_options *o, u32 nr_members,
			 u64 blocks)
{
	u32 i;

	memset(o, 0, sizeof(*o));
	memcpy(o->name, "pool", 5);
	for (i = 0; i < sizeof(o->uuid); i++)
		o->uuid[i] = 0xa0 + i;
	for (i = 0; i < sizeof(o->hash_key); i++)
		o->hash_key[i] = i;
	o->created = 1767225600;
	o->nr_members = nr_members;
	for (i = 0; i < nr_members; i++) {
		memset(o->members[i].uuid, 0x10, sizeof(o->members[i].uuid));
		o->members[i].uuid[15] = i;
		o->members[i].blocks = blocks;
		o->members[i].wwid_hash = 0x1111111111111111ULL * (i + 1);
	}
}

void kvc_fixture_two_spans(struct kvc_geometry *g)
{
	static const struct kvc_span spans[2] = {
		{
			.nr_ags = 4,
			.nr_segments = 48,
			.nr_members = 3,
			.width = 1,
		}, {
			.first_ag = 4,
			.nr_ags = 5,
			.first_segment = 48,
			.nr_segments = 60,
			.first_member = 1,
			.nr_members = 4,
			.width = 4,
			/* 16 lanes of 1 MiB come first, these have 256 KiB. */
			.first_lane = 64,
			.first_journal = 2,
		}
	};
	u32 i;

	memset(g, 0, sizeof(*g));
	memset(g->uuid, 0x22, sizeof(g->uuid));
	memcpy(g->name, "grown", 6);
	g->lease_ms = 5000;
	g->heartbeat_ms = 1000;
	g->q_ms = 60000;
	g->nr_members = 5;
	g->nr_spans = 2;
	g->nr_slots = 3;
	g->nr_slot_copies = 3;
	for (i = 0; i < g->nr_slot_copies; i++)
		g->slot_members[i] = i;
	g->slot_leaves = KVC_NO_COPY;
	g->slot_blocks = 1;
	g->segment_shift = 20;
	g->unit_shift = KVC_UNIT_SHIFT;
	g->slot_start = 1;
	g->journal_start = 4;
	g->ring_blocks = KVC_MIN_RING_BLOCKS;
	g->nr_journals = 4;
	g->data_start = 768;
	g->nr_lanes = 124;
	g->nr_ags = 9;
	g->nr_segments = 108;
	memcpy(g->spans, spans, sizeof(spans));
	for (i = 0; i < g->nr_members; i++) {
		memset(g->members[i].uuid, 0x30 + i,
		       sizeof(g->members[i].uuid));
		g->members[i].blocks = 16384;
		g->members[i].state = KVC_MEMBER_PRESENT;
	}
}

void kvc_fixture_slot(struct kvc_slot_info *s, const struct kvc_geometry *g)
{
	static const char nqn[] = "nqn.2014-08.org.nvmexpress:uuid:1";
	u32 i;

	memset(s, 0, sizeof(*s));
	s->number = 5;
	s->nr_ags = g->nr_ags;
	s->state = KVC_SLOT_ACTIVE;
	s->sequence = 9;
	s->incarnation = 77;
	s->heartbeat = 1234;
	memset(s->boot_id, 0xb0, sizeof(s->boot_id));
	memset(s->attach_id, 0xa7, sizeof(s->attach_id));
	memcpy(s->nqn, nqn, sizeof(nqn));
	memcpy(s->node, "gpu-17", 7);
	for (i = 0; i < s->nr_ags; i++) {
		s->ags[i].owned_epoch = i;
		s->ags[i].followed_epoch = 2 * i;
		s->ags[i].drained = 1000 * i;
	}
}

u64 kvc_fixture_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Of 0 .. limit - 1. */
static u32 below(u64 *state, u64 limit)
{
	return (kvc_fixture_random(state) >> 32) * limit >> 32;
}

static struct kvc_hash random_hash(u64 *state)
{
	struct kvc_hash hash;

	hash.lo = kvc_fixture_random(state);
	hash.hi = kvc_fixture_random(state);
	return hash;
}

static u32 random_segment(u64 *state, const struct kvc_geometry *g, u32 ag)
{
	return kvc_ag_first_segment(g, ag) +
		below(state, kvc_ag_nr_segments(g, ag));
}

static void random_put(u64 *state, const struct kvc_geometry *g, u32 ag,
		       struct kvc_put *p, u8 *key)
{
	u32 blocks = kvc_segment_blocks(g), i, used;

	p->hash = random_hash(state);
	p->generation = kvc_fixture_random(state);
	p->segment = random_segment(state, g, ag);
	p->bytes = 1 + below(state, kvc_max_object(g));
	used = (p->bytes + KVC_BLOCK_SIZE - 1) >> KVC_BLOCK_SHIFT;
	p->offset = below(state, blocks - used + 1);
	p->data_crc = kvc_fixture_random(state);
	p->tenant = kvc_fixture_random(state);
	p->key_len = 1 + below(state, KVC_MAX_KEY);
	p->depth = kvc_fixture_random(state);
	p->expiry = kvc_fixture_random(state);
	p->pin = kvc_fixture_random(state);
	p->moved = below(state, 2);
	if (p->moved) {
		p->old_segment = random_segment(state, g, ag);
		p->old_offset = below(state, blocks - used + 1);
		p->old_generation = kvc_fixture_random(state);
	}
	for (i = 0; i < p->key_len; i++)
		key[i] = kvc_fixture_random(state);
	p->key = key;
}

static void random_segment_rec(u64 *state, const struct kvc_geometry *g,
			       u32 ag, u32 type, struct kvc_segment_rec *s)
{
	u32 blocks = kvc_segment_blocks(g);

	switch (type) {
	case KVC_REC_OPEN:
		s->state = KVC_SEG_OPEN;
		break;
	case KVC_REC_SEAL:
		s->state = KVC_SEG_SEALED;
		break;
	case KVC_REC_RETIRE:
		s->state = KVC_SEG_RETIRED;
		break;
	default:
		s->state = below(state, KVC_SEG_RETIRED + 1);
	}
	s->segment = random_segment(state, g, ag);
	s->generation = kvc_fixture_random(state);
	if (s->state == KVC_SEG_SEALED || s->state == KVC_SEG_RETIRED)
		s->order = kvc_fixture_random(state) >> 2;
	if (s->state == KVC_SEG_SEALED) {
		s->summary_segment = random_segment(state, g, ag);
		s->summary_blocks = 1 + below(state, blocks / 8);
		s->summary_offset = blocks - s->summary_blocks;
		s->summary_crc = kvc_fixture_random(state);
		s->objects = below(state, 41 * s->summary_blocks + 1);
	}
}

void kvc_fixture_record(u64 *state, const struct kvc_geometry *g, u32 ag,
			u32 type, struct kvc_record *rec, u8 *key)
{
	memset(rec, 0, sizeof(*rec));
	rec->type = type;
	switch (type) {
	case KVC_REC_PUT:
		random_put(state, g, ag, &rec->put, key);
		break;
	case KVC_REC_DELETE:
		rec->del.hash = random_hash(state);
		rec->del.generation = kvc_fixture_random(state);
		rec->del.segment = random_segment(state, g, ag);
		rec->del.offset = below(state, kvc_segment_blocks(g));
		rec->del.tenant = kvc_fixture_random(state);
		break;
	case KVC_REC_CHECKPOINT:
		rec->checkpoint.parts = 1 + below(state, g->ring_blocks);
		rec->checkpoint.part = below(state, rec->checkpoint.parts);
		rec->checkpoint.start = kvc_fixture_random(state) >> 2;
		rec->checkpoint.next_order = kvc_fixture_random(state) >> 2;
		break;
	case KVC_REC_ASK:
		rec->ask.hash = random_hash(state);
		rec->ask.kind = KVC_ASK_DELETE + below(state, 2);
		rec->ask.tenant = kvc_fixture_random(state);
		rec->ask.ag = below(state, g->nr_ags);
		if (rec->ask.kind == KVC_ASK_TOUCH)
			rec->ask.count = kvc_fixture_random(state);
		break;
	default:
		random_segment_rec(state, g, ag, type, &rec->seg);
	}
}
