// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which objects of a segment that is reclaimed live on; see kvc_clock.h.
 */
#include "kvc_clock.h"

#define HUNDREDTHS	100

/* Bytes beyond which hundredths would not fit; no device holds as many. */
#define MOST_BYTES	(~0ULL / KVC_BUDGET_PERCENT_MAX)

#define RESERVE_SHARE	64	/* one clean segment in so many */
#define RESERVE_MIN	2	/* one for puts, and the last for rewrites */
#define RESERVE_MAX	16

static u64 hundredths(u64 bytes)
{
	return min_t(u64, bytes, MOST_BYTES) * HUNDREDTHS;
}

void kvc_budget_percent(struct kvc_budget *b, u32 percent)
{
	b->percent = min_t(u32, percent, KVC_BUDGET_PERCENT_MAX);
}

void kvc_budget_init(struct kvc_budget *b, u32 percent, u64 cap)
{
	kvc_budget_percent(b, percent);
	b->cap = hundredths(cap);
	b->tokens = b->percent ? b->cap : 0;
	b->debt = 0;
}

void kvc_budget_earn(struct kvc_budget *b, u64 put_bytes)
{
	u64 earned = min_t(u64, put_bytes, MOST_BYTES) * b->percent;
	u64 back = min_t(u64, earned, b->debt);

	b->debt -= back;
	earned -= back;
	b->tokens += min_t(u64, earned, b->cap - b->tokens);
}

u64 kvc_budget_left(const struct kvc_budget *b)
{
	return div_u64(b->tokens, HUNDREDTHS);
}

bool kvc_budget_take(struct kvc_budget *b, u64 bytes)
{
	if (bytes > MOST_BYTES || hundredths(bytes) > b->tokens)
		return false;
	b->tokens -= hundredths(bytes);
	return true;
}

void kvc_budget_overdraw(struct kvc_budget *b, u64 bytes)
{
	u64 wanted = hundredths(bytes);
	u64 there = min_t(u64, wanted, b->tokens);

	b->tokens -= there;
	wanted -= there;
	b->debt += min_t(u64, wanted, b->cap - b->debt);
}

static bool may_live(const struct kvc_clock_object *o)
{
	return o->live && !o->expired;
}

static bool wants_round(const struct kvc_clock_object *o)
{
	return may_live(o) && !o->pinned && o->touched;
}

/* Bytes of the touched objects whose depth is less than @depth. */
static u64 touched_below(const struct kvc_clock_object *o, u32 n, u32 depth)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < n; i++)
		if (wants_round(&o[i]) && o[i].depth < depth)
			bytes += o[i].bytes;
	return bytes;
}

/* The greatest depth such that the budget lasts for all below it. */
static u32 affordable_depth(const struct kvc_clock_object *o, u32 n, u64 left)
{
	u32 low = 0, high = U16_MAX + 1;

	if (touched_below(o, n, high) <= left)
		return high;
	/* All below low fit, all below high don't. */
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (touched_below(o, n, middle) <= left)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void mark(unsigned long *keep, u32 i)
{
	keep[i / KVC_CLOCK_WORD_BITS] |= 1UL << (i % KVC_CLOCK_WORD_BITS);
}

u64 kvc_clock_plan(const struct kvc_clock_object *o, u32 n,
		   struct kvc_budget *b, bool pressed, unsigned long *keep)
{
	u64 kept = 0;
	u32 depth, i;

	memset(keep, 0, KVC_CLOCK_WORDS(n) * sizeof(*keep));

	for (i = 0; i < n; i++) {
		if (!may_live(&o[i]) || !o[i].pinned)
			continue;
		mark(keep, i);
		kept += o[i].bytes;
	}
	kvc_budget_overdraw(b, kept);
	if (pressed)
		return kept;

	depth = affordable_depth(o, n, kvc_budget_left(b));
	for (i = 0; i < n; i++) {
		if (!wants_round(&o[i]) || o[i].depth >= depth)
			continue;
		mark(keep, i);
		kept += o[i].bytes;
		kvc_budget_take(b, o[i].bytes);
	}
	for (i = 0; i < n; i++) {
		if (!wants_round(&o[i]) || o[i].depth != depth ||
		    !kvc_budget_take(b, o[i].bytes))
			continue;
		mark(keep, i);
		kept += o[i].bytes;
	}
	return kept;
}

u32 kvc_reserve_low(u32 nr_segments)
{
	u32 low = nr_segments / RESERVE_SHARE;

	return clamp_t(u32, low, RESERVE_MIN, RESERVE_MAX);
}

u32 kvc_reserve_high(u32 nr_segments)
{
	u32 low = kvc_reserve_low(nr_segments);

	/* Of very few segments half are to hold objects. */
	return clamp_t(u32, nr_segments / 2, low, low + (low + 1) / 2);
}

bool kvc_reserve_pressed(u32 nr_segments, u32 clean)
{
	return 2ULL * clean < kvc_reserve_low(nr_segments);
}
