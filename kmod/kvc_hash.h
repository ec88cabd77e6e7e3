/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The hash of a key, and where the presence table (presence.h) has it: pure, for
 * the module and for libkvcache, which looks keys up in the table itself.
 */
#ifndef KVC_HASH_H
#define KVC_HASH_H

#include "kvc_types.h"

/* 128-bit hash of (tenant, key). */
struct kvc_hash {
	u64 lo;
	u64 hi;
};

static __always_inline u64 load_le64(const u8 *p)
{
	__le64 x;

	memcpy(&x, p, sizeof(x));
	return le64_to_cpu(x);
}

/* --- hash of a key: siphash-1-3 with 128 bits of result --- */

struct sip {
	u64 v0;
	u64 v1;
	u64 v2;
	u64 v3;
};

static __always_inline u64 rotate(u64 x, int by)
{
	return x << by | x >> (64 - by);
}

static __always_inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static __always_inline void sip_word(struct sip *s, u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static __always_inline u64 sip_result(struct sip *s)
{
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The last @left < 8 bytes of a key, as the low bytes of a word. */
static __always_inline u64 key_tail(const u8 *key, size_t len, size_t left)
{
	u64 tail = 0;

	if (!left)
		return 0;
	if (len >= 8)
		return load_le64(key + len - 8) >> (64 - 8 * left);
	while (left--)
		tail = tail << 8 | key[left];
	return tail;
}

/* See kvc_key_hash(). Only 16 bytes of @hash_key are looked at. */
static __always_inline struct kvc_hash
kvc_hash_key(const u8 *hash_key, u32 tenant, const void *key, size_t len)
{
	u64 k0 = load_le64(hash_key), k1 = load_le64(hash_key + 8);
	struct sip s = {
		.v0 = k0 ^ 0x736f6d6570736575ULL,
		.v1 = k1 ^ 0x646f72616e646f6dULL ^ 0xee,
		.v2 = k0 ^ 0x6c7967656e657261ULL,
		.v3 = k1 ^ 0x7465646279746573ULL,
	};
	size_t left = len % 8;
	struct kvc_hash hash;
	const u8 *at = key;
	u64 tail;

	for (; at != (const u8 *)key + len - left; at += 8)
		sip_word(&s, load_le64(at));
	/* Then the tenant, and the length in the last word's last byte. */
	tail = key_tail(key, len, left) | (u64)tenant << 8 * left;
	if (left >= 4) {
		sip_word(&s, tail);
		tail = (u64)tenant >> 8 * (8 - left);
	}
	sip_word(&s, tail | (u64)(len + sizeof(tenant)) << 56);
	s.v2 ^= 0xee;
	hash.lo = sip_result(&s);
	s.v1 ^= 0xdd;
	hash.hi = sip_result(&s);
	return hash;
}

/* --- the presence table: cache lines of 16 words, two lines for a key --- */

#define KVC_TAG_LINE		16	/* words of a line */
#define KVC_TAG_ASK		1U	/* it has an expiry: only the kernel knows */

/* What of a key stands in the table: never 0, which is a free place. */
static inline u32 kvc_tag_word(struct kvc_hash h)
{
	u32 tag = (u32)(h.lo >> 32) & ~KVC_TAG_ASK;

	return tag ? tag : 2;
}

/* A number below @nr from a random one. */
static inline u32 kvc_tag_scale(u32 random, u32 nr)
{
	return (u32)((u64)random * nr >> 32);
}

/* The key's first line of @nr. */
static inline u32 kvc_tag_line(struct kvc_hash h, u32 nr)
{
	return kvc_tag_scale((u32)h.lo, nr);
}

/*
 * The other line of a tag that may be in @line; and of that one @line is the
 * other. So two keys that have the tag and one line in common have both in common,
 * and it does not matter whose place of the two is freed.
 */
static inline u32 kvc_tag_other(u32 tag, u32 line, u32 nr)
{
	u32 sum = kvc_tag_scale((tag & ~KVC_TAG_ASK) * 0x9e3779b1U, nr);

	return sum >= line ? sum - line : sum + nr - line;
}

#endif
