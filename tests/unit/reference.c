// SPDX-License-Identifier: MIT
/*
 * A second implementation of the media format, written from
 * Documentation/format.rst and sharing nothing with the module's codec: every
 * number goes byte by byte to the offset that the page names.
 *
 * It makes the blocks that test_golden.c makes with the codec, so that neither
 * the codec nor the text can drift unnoticed.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK		4096
#define ROW		32
#define NR_RECORDS	11
#define NR_BLOCKS	5

static const char usage[] =
	"usage: reference --check DIR    do the files DIR/*.hex hold these blocks?\n"
	"       reference --write DIR    make them (a change of the format)\n"
	"       reference --seeds DIR    make the seed corpus of the fuzzers\n"
	"       reference --vectors      print what format.rst quotes\n";

/* A number of @size bytes, the lowest first. */
static void le(uint8_t *at, int size, uint64_t value)
{
	for (; size; size--, value >>= 8)
		*at++ = value & 0xff;
}

/* --- CRC32C and siphash --- */

static uint32_t crc32c(uint32_t crc, const uint8_t *data, size_t len)
{
	int bit;

	for (; len; len--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

struct hash {
	uint64_t low;
	uint64_t high;
};

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word = 0;
	int i;

	for (i = 7; i >= 0; i--)
		word = word << 8 | at[i];
	return word;
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t *v, int n)
{
	for (; n; n--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* siphash-1-3 with a result of 128 bits. */
static struct hash siphash(const uint8_t *key, const uint8_t *data, size_t len)
{
	uint64_t k0 = word_at(key), k1 = word_at(key + 8), word;
	uint64_t v[4] = {
		k0 ^ 0x736f6d6570736575,
		k1 ^ 0x646f72616e646f6d ^ 0xee,
		k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573,
	};
	uint8_t last[8] = { 0 };
	struct hash hash;
	size_t at;

	memcpy(last, data + len / 8 * 8, len % 8);
	last[7] = len & 0xff;
	for (at = 0; at <= len / 8 * 8; at += 8) {
		word = word_at(at + 8 <= len ? data + at : last);
		v[3] ^= word;
		sip_rounds(v, 1);
		v[0] ^= word;
	}
	v[2] ^= 0xee;
	sip_rounds(v, 3);
	hash.low = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	sip_rounds(v, 3);
	hash.high = v[0] ^ v[1] ^ v[2] ^ v[3];
	return hash;
}

/* --- pools --- */

struct member {
	uint8_t uuid[16];
	uint64_t blocks;
	uint64_t wwid_hash;
};

struct span {
	uint32_t first_ag;
	uint32_t nr_ags;
	uint32_t first_segment;
	uint32_t nr_segments;
	uint32_t first_member;
	uint32_t nr_members;
	uint32_t width;
	uint32_t first_lane;
	uint32_t first_journal;
};

struct pool {
	const char *name;
	uint8_t uuid[16];
	uint8_t hash_key[32];
	uint64_t created;
	uint32_t nr_members;
	uint32_t nr_spans;
	uint32_t nr_slots;
	uint32_t slot_copies;
	uint32_t slot_blocks;
	uint32_t segment_shift;
	uint32_t unit_shift;
	uint64_t slot_start;
	uint64_t journal_start;
	uint32_t ring_blocks;
	uint32_t nr_journals;
	uint64_t data_start;
	uint32_t nr_lanes;
	struct member members[5];
	struct span spans[2];
};

struct place {
	uint32_t member;
	uint64_t block;
};

struct writer {
	uint32_t slot;
	uint64_t incarnation;
};

/* The pool of kvc_fixture_options(): four members of 64 MiB. */
static struct pool small_pool(void)
{
	struct pool p = {
		.name = "pool", .created = 1767225600,
		.nr_members = 4, .nr_spans = 1,
		.nr_slots = 64, .slot_copies = 3, .slot_blocks = 1,
		.segment_shift = 20, .unit_shift = 18,
		.slot_start = 1, .journal_start = 65,
		.ring_blocks = 32, .nr_journals = 4,
		.data_start = 768, .nr_lanes = 121,
		.spans = {
			{ .nr_ags = 16, .nr_segments = 240,
			  .nr_members = 4, .width = 2 },
		},
	};
	unsigned int i;

	for (i = 0; i < 16; i++)
		p.uuid[i] = 0xa0 + i;
	for (i = 0; i < 32; i++)
		p.hash_key[i] = i;
	for (i = 0; i < p.nr_members; i++) {
		memset(p.members[i].uuid, 0x10, 15);
		p.members[i].uuid[15] = i;
		p.members[i].blocks = 16384;
		p.members[i].wwid_hash = 0x1111111111111111 * (i + 1);
	}
	return p;
}

/* The pool of kvc_fixture_two_spans(). */
static struct pool grown_pool(void)
{
	struct pool p = small_pool();
	unsigned int i;

	p.name = "grown";
	memset(p.uuid, 0x22, sizeof(p.uuid));
	memset(p.hash_key, 0, sizeof(p.hash_key));
	p.created = 0;
	p.nr_members = 5;
	p.nr_spans = 2;
	p.nr_slots = 3;
	p.journal_start = 4;
	p.nr_lanes = 124;
	for (i = 0; i < p.nr_members; i++) {
		memset(p.members[i].uuid, 0x30 + i, 16);
		p.members[i].blocks = 16384;
		p.members[i].wwid_hash = 0;
	}
	p.spans[0] = (struct span){
		.nr_ags = 4, .nr_segments = 48, .nr_members = 3, .width = 1,
	};
	p.spans[1] = (struct span){
		.first_ag = 4, .nr_ags = 5,
		.first_segment = 48, .nr_segments = 60,
		.first_member = 1, .nr_members = 4, .width = 4,
		.first_lane = 64, .first_journal = 2,
	};
	return p;
}

static struct hash key_hash(const struct pool *p, uint32_t tenant,
			    const char *key, size_t len)
{
	uint8_t message[512 + 4];

	assert(len <= 512);
	memcpy(message, key, len);
	le(message + len, 4, tenant);
	return siphash(p->hash_key, message, len + 4);
}

/* --- places; those of AGs and segments in the first span --- */

static struct place label_place(const struct pool *p, uint32_t member, int copy)
{
	return (struct place){ member, copy ? p->members[member].blocks - 1 : 0 };
}

static struct place slot_place(const struct pool *p, uint32_t slot,
			       uint32_t copy, uint32_t part)
{
	return (struct place){ copy, p->slot_start + slot * p->slot_blocks + part };
}

static struct place area_place(const struct pool *p, uint32_t ag, uint64_t epoch)
{
	const struct span *s = &p->spans[0];
	uint32_t i = ag - s->first_ag;
	uint32_t journal = s->first_journal + i / s->nr_members;
	uint32_t area_blocks = 2 + p->ring_blocks;

	return (struct place){
		s->first_member + i % s->nr_members,
		p->journal_start + journal * 4 * area_blocks +
			epoch % 4 * area_blocks,
	};
}

static struct place journal_place(const struct pool *p, uint32_t ag,
				  uint64_t epoch, uint64_t position)
{
	struct place place = area_place(p, ag, epoch);

	place.block += 2 + position % p->ring_blocks;
	return place;
}

static struct place data_place(const struct pool *p, uint32_t segment,
			       uint64_t offset)
{
	const struct span *s = &p->spans[0];
	uint64_t unit_bytes = 256 * 1024;
	uint64_t unit = offset / unit_bytes;
	uint64_t lane = unit % s->width, row = unit / s->width;
	uint64_t t = (segment - s->first_segment) * s->width + lane;
	uint64_t slot = s->first_lane + t / s->nr_members;
	uint64_t lane_blocks = ((uint64_t)1 << p->segment_shift) / s->width / BLOCK;

	return (struct place){
		s->first_member + t % s->nr_members,
		p->data_start + slot * lane_blocks + row * 64 +
			offset % unit_bytes / BLOCK,
	};
}

/* --- records --- */

struct record {
	const char *name;
	size_t length;
	uint8_t b[600];
};

struct object {
	uint32_t segment;
	uint64_t generation;
	uint32_t offset;
	const uint8_t *data;
	uint32_t bytes;
	uint32_t tenant;
	const char *key;
	uint16_t key_len;
	uint16_t depth;
	uint64_t expiry;
	uint64_t pin;
	bool moved;
	uint32_t old_segment;
	uint64_t old_generation;
	uint32_t old_offset;
};

struct state {
	uint32_t segment;
	uint64_t generation;
	uint64_t order;
	uint32_t summary_segment;
	uint32_t summary_offset;
	uint32_t summary_blocks;
	uint32_t summary_crc;
	uint32_t objects;
};

static void start(struct record *r, const char *name, uint8_t type,
		  uint8_t flags, uint32_t segment, size_t length)
{
	assert(length <= sizeof(r->b));
	memset(r, 0, sizeof(*r));
	r->name = name;
	r->length = length;
	r->b[0] = type;
	r->b[1] = flags;
	le(r->b + 2, 2, length);
	le(r->b + 4, 4, segment);
}

static void put_hash(uint8_t *at, struct hash hash)
{
	le(at, 8, hash.low);
	le(at + 8, 8, hash.high);
}

static void put(struct record *r, const char *name, const struct pool *p,
		const struct object *o)
{
	struct hash hash = key_hash(p, o->tenant, o->key, o->key_len);

	start(r, name, 1, o->moved ? 1 : 0, o->segment,
	      (88 + o->key_len + 7) / 8 * 8);
	put_hash(r->b + 8, hash);
	le(r->b + 24, 8, o->generation);
	le(r->b + 32, 4, o->offset);
	le(r->b + 36, 4, o->bytes);
	le(r->b + 40, 4, crc32c(hash.low & 0xffffffff, o->data, o->bytes));
	le(r->b + 44, 4, o->tenant);
	le(r->b + 48, 8, o->expiry);
	le(r->b + 56, 8, o->pin);
	le(r->b + 64, 2, o->key_len);
	le(r->b + 66, 2, o->depth);
	le(r->b + 68, 4, o->old_segment);
	le(r->b + 72, 8, o->old_generation);
	le(r->b + 80, 4, o->old_offset);
	memcpy(r->b + 88, o->key, o->key_len);
}

static void delete(struct record *r, const char *name, const struct pool *p,
		   const struct object *o)
{
	start(r, name, 2, 0, o->segment, 40);
	put_hash(r->b + 8, key_hash(p, o->tenant, o->key, o->key_len));
	le(r->b + 24, 8, o->generation);
	le(r->b + 32, 4, o->offset);
	le(r->b + 36, 4, o->tenant);
}

static void segment(struct record *r, const char *name, uint8_t type,
		    uint8_t flags, const struct state *s)
{
	start(r, name, type, flags, s->segment, 48);
	le(r->b + 8, 8, s->generation);
	le(r->b + 16, 8, s->order);
	le(r->b + 24, 4, s->summary_segment);
	le(r->b + 28, 4, s->summary_offset);
	le(r->b + 32, 4, s->summary_blocks);
	le(r->b + 36, 4, s->summary_crc);
	le(r->b + 40, 4, s->objects);
}

static void checkpoint(struct record *r, const char *name, uint32_t part,
		       uint32_t parts, uint64_t position, uint64_t next_order)
{
	start(r, name, 7, 0, part, 32);
	le(r->b + 8, 4, parts);
	le(r->b + 16, 8, position);
	le(r->b + 24, 8, next_order);
}

static void ask(struct record *r, const char *name, uint8_t kind,
		struct hash hash, uint32_t tenant, uint32_t ag, uint32_t count)
{
	start(r, name, 8, kind, 0xffffffff, 40);
	put_hash(r->b + 8, hash);
	le(r->b + 24, 4, tenant);
	le(r->b + 28, 4, ag);
	le(r->b + 32, 4, count);
}

/* The places of the two PUTs among the records. */
enum { PUT = 3, PUT_MOVED = 4 };

/* One of each, of AG 6, which has segments 90 to 104. */
static void make_records(struct record *r, const struct pool *p)
{
	static uint8_t long_data[5000];
	static char long_key[64];
	const struct object hello = {
		.segment = 92, .generation = 0x500000002, .offset = 17,
		.data = (const uint8_t *)"world", .bytes = 5,
		.tenant = 7, .key = "hello", .key_len = 5,
		.expiry = 1800000000, .pin = 1790000000, .depth = 3,
	};
	const struct object moved = {
		.segment = 92, .generation = 0x500000002, .offset = 18,
		.data = long_data, .bytes = sizeof(long_data),
		.tenant = 7, .key = long_key, .key_len = sizeof(long_key),
		.moved = true, .old_segment = 90,
		.old_generation = 0x500000001, .old_offset = 3,
	};
	const struct object bye = {
		.segment = 90, .generation = 0x500000001, .offset = 3,
		.tenant = 7, .key = "bye", .key_len = 3,
	};
	const struct state sealed = {
		.segment = 90, .generation = 0x500000001, .order = 11,
		.summary_segment = 90, .summary_offset = 255,
		.summary_blocks = 1, .summary_crc = 0x89abcdef, .objects = 2,
	};
	const struct state retired = {
		.segment = 91, .generation = 0x500000000, .order = 4700,
	};
	const struct state opens = {
		.segment = 93, .generation = 0x500000007,
	};
	const struct state seals = {
		.segment = 92, .generation = 0x500000002, .order = 12,
		.summary_segment = 92, .summary_offset = 254,
		.summary_blocks = 2, .summary_crc = 0x01234567, .objects = 41,
	};
	const struct state retires = {
		.segment = 90, .generation = 0x500000001, .order = 4711,
	};

	memset(long_data, 'w', sizeof(long_data));
	memset(long_key, '.', sizeof(long_key));
	memcpy(long_key, "long key", 8);

	checkpoint(&r[0], "checkpoint", 1, 2, 4710, 12);
	segment(&r[1], "segment-sealed", 6, 2, &sealed);
	segment(&r[2], "segment-retired", 6, 3, &retired);
	put(&r[PUT], "put", p, &hello);
	put(&r[PUT_MOVED], "put-moved", p, &moved);
	delete(&r[5], "delete", p, &bye);
	segment(&r[6], "open", 3, 1, &opens);
	segment(&r[7], "seal", 4, 2, &seals);
	segment(&r[8], "retire", 5, 3, &retires);
	ask(&r[9], "ask-delete", 1, key_hash(p, 7, "bye", 3), 7, 3, 0);
	ask(&r[10], "ask-touch", 2, key_hash(p, 7, "hello", 5), 7, 15, 1000);
}

/* --- blocks --- */

enum { LABEL = 1, SLOT, AREA, JOURNAL, SUMMARY };

struct block {
	const char *name;
	uint8_t b[BLOCK];
};

/* The header; the CRC comes last. */
static void finish(struct block *block, const char *name, const struct pool *p,
		   uint8_t type, struct place place, uint64_t sequence,
		   const struct writer *w)
{
	uint8_t *b = block->b;

	block->name = name;
	memcpy(b, "KVCACHE1", 8);
	b[12] = type;
	b[13] = 1;
	memcpy(b + 16, p->uuid, 16);
	le(b + 32, 8, (uint64_t)place.member << 48 | place.block);
	le(b + 40, 8, sequence);
	le(b + 48, 8, w->incarnation);
	le(b + 56, 4, w->slot);
	le(b + 8, 4, crc32c(0xffffffff, b, BLOCK));
}

static void label_span(uint8_t *b, const struct span *s)
{
	le(b, 4, s->first_ag);
	le(b + 4, 4, s->nr_ags);
	le(b + 8, 4, s->first_segment);
	le(b + 12, 4, s->nr_segments);
	le(b + 16, 2, s->first_member);
	le(b + 18, 2, s->nr_members);
	le(b + 20, 2, s->width);
	le(b + 24, 4, s->first_lane);
	le(b + 28, 4, s->first_journal);
}

static void make_label(struct block *block, const struct pool *p,
		       uint32_t member, int copy, uint64_t sequence,
		       const struct writer *w)
{
	uint8_t *b = block->b;
	uint32_t i;

	memset(block, 0, sizeof(*block));
	memcpy(b + 88, p->name, strlen(p->name));
	memcpy(b + 152, p->hash_key, 32);
	le(b + 184, 8, p->created);
	le(b + 196, 4, 5000);
	le(b + 200, 4, 1000);
	le(b + 204, 4, 60000);
	le(b + 208, 2, member);
	le(b + 210, 2, p->nr_members);
	le(b + 212, 2, p->nr_spans);
	le(b + 214, 2, p->nr_slots);
	le(b + 216, 1, p->slot_copies);
	le(b + 217, 1, p->slot_blocks);
	le(b + 218, 1, p->segment_shift);
	le(b + 219, 1, p->unit_shift);
	le(b + 224, 8, p->slot_start);
	le(b + 232, 8, p->journal_start);
	le(b + 240, 4, p->ring_blocks);
	le(b + 244, 4, p->nr_journals);
	le(b + 248, 8, p->data_start);
	le(b + 256, 4, p->nr_lanes);
	for (i = 0; i < p->nr_spans; i++)
		label_span(b + 264 + 32 * i, &p->spans[i]);
	for (i = 0; i < p->nr_members; i++) {
		uint8_t *m = b + 520 + 48 * i;

		memcpy(m, p->members[i].uuid, 16);
		le(m + 16, 8, p->members[i].blocks);
		le(m + 24, 8, p->members[i].wwid_hash);
		le(m + 32, 4, 1);
	}
	finish(block, "label", p, LABEL, label_place(p, member, copy), sequence,
	       w);
}

static void make_slot(struct block *block, const struct pool *p,
		      uint32_t number, uint64_t sequence,
		      const struct writer *w)
{
	static const char nqn[] = "nqn.2014-08.org.nvmexpress:uuid:1";
	uint32_t ag, nr_ags = p->spans[0].nr_ags;
	uint8_t *b = block->b;

	memset(block, 0, sizeof(*block));
	le(b + 64, 4, number);
	le(b + 72, 4, nr_ags);
	le(b + 76, 4, 2);
	le(b + 80, 8, w->incarnation);
	le(b + 88, 8, 1234);
	memset(b + 96, 0xb0, 16);
	memset(b + 112, 0xa7, 16);
	memcpy(b + 128, nqn, strlen(nqn));
	memcpy(b + 352, "gpu-17", 6);
	for (ag = 0; ag < nr_ags; ag++) {
		le(b + 416 + 24 * ag, 8, ag);
		le(b + 416 + 24 * ag + 8, 8, 2 * ag);
		le(b + 416 + 24 * ag + 16, 8, 1000 * ag);
	}
	finish(block, "slot", p, SLOT, slot_place(p, number, 0, 0), sequence, w);
}

static void make_area(struct block *block, const struct pool *p, uint32_t ag,
		      uint64_t epoch, uint64_t head, uint64_t position,
		      uint64_t sequence, const struct writer *w)
{
	uint8_t *b = block->b;

	memset(block, 0, sizeof(*block));
	le(b + 64, 4, ag);
	le(b + 68, 4, w->slot);
	le(b + 72, 8, w->incarnation);
	le(b + 80, 8, epoch);
	le(b + 88, 8, head);
	le(b + 96, 8, position);
	finish(block, "area", p, AREA, area_place(p, ag, epoch), sequence, w);
}

/* AG, count and used, and the records at 88: alike in journal and summary. */
static void put_records(uint8_t *b, uint32_t ag, const struct record *r,
			uint32_t nr)
{
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		assert(used + r[i].length <= BLOCK - 88);
		memcpy(b + 88 + used, r[i].b, r[i].length);
		used += r[i].length;
	}
	le(b + 64, 4, ag);
	le(b + 68, 2, nr);
	le(b + 70, 2, used);
}

static void make_journal(struct block *block, const struct pool *p, uint32_t ag,
			 uint64_t epoch, uint64_t position,
			 const struct writer *w, const struct record *r,
			 uint32_t nr)
{
	memset(block, 0, sizeof(*block));
	put_records(block->b, ag, r, nr);
	le(block->b + 72, 8, epoch);
	finish(block, "journal", p, JOURNAL,
	       journal_place(p, ag, epoch, position), position, w);
}

static void make_summary(struct block *block, const struct pool *p, uint32_t ag,
			 const struct state *s, uint32_t part,
			 const struct writer *w, const struct record *r,
			 uint32_t nr)
{
	struct place place = data_place(p, s->summary_segment,
			(uint64_t)(s->summary_offset + part) * BLOCK);

	memset(block, 0, sizeof(*block));
	put_records(block->b, ag, r, nr);
	le(block->b + 72, 4, s->segment);
	le(block->b + 76, 4, s->summary_blocks);
	le(block->b + 80, 8, s->generation);
	finish(block, "summary", p, SUMMARY, place, part, w);
}

static void make_blocks(struct block *blocks, const struct pool *p,
			const struct record *r)
{
	const struct writer w = { .slot = 5, .incarnation = 77 };
	const struct state summed = {
		.segment = 92, .generation = 0x500000002,
		.summary_segment = 92, .summary_offset = 254,
		.summary_blocks = 2,
	};

	make_label(&blocks[0], p, 2, 1, 3, &w);
	make_slot(&blocks[1], p, 5, 9, &w);
	make_area(&blocks[2], p, 15, 0xffffffff, 1000, 1010, 6, &w);
	make_journal(&blocks[3], p, 6, 12, 4711, &w, r, NR_RECORDS);
	make_summary(&blocks[4], p, 6, &summed, 0, &w, &r[PUT], 2);
}

/* --- files --- */

static void print_hex(FILE *f, const uint8_t *at, size_t len)
{
	for (; len; len--)
		fprintf(f, "%02x", *at++);
}

/* Rows of 32 bytes with their offset, without rows of zeroes. */
static void print_rows(FILE *f, const uint8_t *b)
{
	static const uint8_t zero[ROW];
	unsigned int at;

	for (at = 0; at < BLOCK; at += ROW) {
		if (!memcmp(b + at, zero, ROW))
			continue;
		fprintf(f, "%03x ", at);
		print_hex(f, b + at, ROW);
		fputc('\n', f);
	}
}

static FILE *open_in(const char *dir, const char *name, const char *suffix,
		     const char *mode)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	f = fopen(path, mode);
	if (!f) {
		fprintf(stderr, "reference: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return f;
}

static void close_written(FILE *f)
{
	if (ferror(f) | fclose(f)) {
		fprintf(stderr, "reference: could not write\n");
		exit(1);
	}
}

static void write_block(const char *dir, const struct block *block)
{
	FILE *f = open_in(dir, block->name, ".hex", "w");

	print_rows(f, block->b);
	close_written(f);
}

static bool check_block(const char *dir, const struct block *block)
{
	FILE *f = open_in(dir, block->name, ".hex", "r");
	char *want = NULL, *got;
	size_t size, n;
	FILE *text;
	bool same;

	text = open_memstream(&want, &size);
	assert(text);
	print_rows(text, block->b);
	close_written(text);
	got = malloc(size + 1);
	assert(got);
	n = fread(got, 1, size + 1, f);
	same = n == size && !memcmp(want, got, size);
	if (!same)
		printf("reference: %s.hex is another block\n", block->name);
	free(got);
	free(want);
	fclose(f);
	return same;
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST) {
		fprintf(stderr, "reference: %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

/*
 * A control byte comes first, see tests/fuzz/fuzz.h: 1 has the harness make
 * the header.
 */
static void write_seed(const char *dir, const char *target, const char *name,
		       const uint8_t *b, size_t len)
{
	char path[2048];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, target);
	make_dir(path);
	f = open_in(path, name, "", "w");
	fputc(1, f);
	fwrite(b, 1, len, f);
	close_written(f);
}

/* What a block ends in may be left out. */
static size_t without_zeroes(const uint8_t *b)
{
	size_t len = BLOCK;

	while (len && !b[len - 1])
		len--;
	return len;
}

static void write_seeds(const char *dir, const struct block *blocks,
			const struct record *records)
{
	const struct writer format = { .slot = 0xffffffff, .incarnation = 0 };
	struct pool grown = grown_pool();
	static struct block label;
	size_t i;

	make_dir(dir);
	for (i = 0; i < NR_BLOCKS; i++)
		write_seed(dir, blocks[i].name, blocks[i].name, blocks[i].b,
			   without_zeroes(blocks[i].b));
	make_label(&label, &grown, 4, 0, 1, &format);
	write_seed(dir, "label", "grown", label.b, without_zeroes(label.b));
	for (i = 0; i < NR_RECORDS; i++)
		write_seed(dir, "record", records[i].name, records[i].b,
			   records[i].length);
}

static void print_vectors(const struct pool *p, const struct block *blocks,
			  const struct record *records)
{
	struct hash hash = key_hash(p, 7, "hello", 5);
	struct place place = data_place(p, 7, 0x81000);
	size_t i;

	printf("hash of tenant 7, key 'hello': %016" PRIx64 " %016" PRIx64 "\n",
	       hash.low, hash.high);
	printf("data CRC of 'world' under it: %08" PRIx32 "\n",
	       crc32c(hash.low & 0xffffffff, (const uint8_t *)"world", 5));
	printf("member, block of segment 7, offset 0x81000: (%" PRIu32 ", %"
	       PRIu64 ")\n", place.member, place.block);
	for (i = 0; i < NR_BLOCKS; i++) {
		printf("%s: CRC ", blocks[i].name);
		print_hex(stdout, blocks[i].b + 8, 4);
		printf(" (%08" PRIx64 ")\n",
		       word_at(blocks[i].b + 8) & 0xffffffff);
	}
	for (i = 0; i < NR_RECORDS; i++) {
		printf("%s (%zu): ", records[i].name, records[i].length);
		print_hex(stdout, records[i].b, records[i].length);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	static struct record records[NR_RECORDS];
	static struct block blocks[NR_BLOCKS];
	const struct pool p = small_pool();
	const char *mode = argc > 1 ? argv[1] : "";
	bool same = true;
	int i;

	make_records(records, &p);
	make_blocks(blocks, &p, records);
	if (argc == 3 && !strcmp(mode, "--check")) {
		for (i = 0; i < NR_BLOCKS; i++)
			same &= check_block(argv[2], &blocks[i]);
	} else if (argc == 3 && !strcmp(mode, "--write")) {
		for (i = 0; i < NR_BLOCKS; i++)
			write_block(argv[2], &blocks[i]);
	} else if (argc == 3 && !strcmp(mode, "--seeds")) {
		write_seeds(argv[2], blocks, records);
	} else if (argc == 2 && !strcmp(mode, "--vectors")) {
		print_vectors(&p, blocks, records);
	} else {
		fputs(usage, stderr);
		return 2;
	}
	return same ? 0 : 1;
}
