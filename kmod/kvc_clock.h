/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which objects of a segment that is reclaimed live on: CLOCK at segment
 * granularity.
 */
#ifndef KVC_CLOCK_H
#define KVC_CLOCK_H

#include "kvc_types.h"

/**
 * DOC: eviction
 *
 * Each AG reclaims its sealed segments in the order in which they were sealed.
 * Of the objects in such a segment those that were read since they were
 * written there are rewritten into an open segment, with their touch forgotten;
 * the others are dropped with the segment. A rewritten object so gets another
 * round, and a segment needs no more state than its objects' touch bits.
 *
 * Rewrites cost flash writes that no caller asked for. A budget bounds them to a
 * percentage of what callers put: puts earn, rewrites take. When it doesn't
 * last for all touched objects of a segment those nearer to the start of their
 * prefix go first, since no prefix can be hit without its head. Pinned objects
 * are rewritten whatever the budget says, and overdraw it: until puts have paid
 * that back, touched objects get nothing.
 *
 * Rewrites yield to puts: while the AG is pressed (its clean segments are nearly
 * used up) only pinned objects move.
 *
 * Everything here is plain arithmetic on the caller's memory. The caller
 * serializes calls on one budget.
 */

/*
 * Default budget in percent of put bytes, and how many segments it can save up;
 * Documentation/replay.rst says how they were chosen.
 */
#define KVC_BUDGET_PERCENT	25
#define KVC_BUDGET_SEGMENTS	4
#define KVC_BUDGET_PERCENT_MAX	1000

/**
 * struct kvc_budget - how much may be rewritten
 * @tokens: what puts have earned, in hundredths of a byte (so that nothing is
 *	lost to rounding)
 * @debt: what pinned objects took beyond that, in hundredths of a byte; puts
 *	pay it back before they earn. One of @tokens and @debt is 0
 * @cap: limit of each of the two, in hundredths of a byte: a quiet
 *	time can't save up for a burst, and a burst of pins can't end rewriting
 *	for good
 * @percent: share of a put's bytes that it earns
 */
struct kvc_budget {
	u64 tokens;
	u64 debt;
	u64 cap;
	u32 percent;
};

/**
 * kvc_budget_init() - start a budget, full
 * @b: budget
 * @percent: of put bytes, at most KVC_BUDGET_PERCENT_MAX; 0: touched objects
 *	are never rewritten (plain FIFO)
 * @cap: bytes that can be saved up: KVC_BUDGET_SEGMENTS segments
 */
void kvc_budget_init(struct kvc_budget *b, u32 percent, u64 cap);

/**
 * kvc_budget_percent() - change the percentage
 * @b: budget
 * @percent: as in kvc_budget_init()
 */
void kvc_budget_percent(struct kvc_budget *b, u32 percent);

/**
 * kvc_budget_earn() - a caller's put was written
 * @b: budget
 * @put_bytes: its bytes as written to media; never those of a rewrite
 */
void kvc_budget_earn(struct kvc_budget *b, u64 put_bytes);

/**
 * kvc_budget_left() - how much touched objects may take
 * @b: budget
 *
 * Return: bytes; never more than the cap.
 */
u64 kvc_budget_left(const struct kvc_budget *b);

/**
 * kvc_budget_take() - take bytes if the budget has them
 * @b: budget
 * @bytes: how many
 *
 * Return: whether they were taken; all or nothing.
 */
bool kvc_budget_take(struct kvc_budget *b, u64 bytes);

/**
 * kvc_budget_overdraw() - take bytes whether the budget has them or not
 * @b: budget
 * @bytes: how many
 */
void kvc_budget_overdraw(struct kvc_budget *b, u64 bytes);

/**
 * struct kvc_clock_object - what the policy wants to know of an object
 * @bytes: on media
 * @depth: place in its prefix, 0: first or unknown
 * @touched: was read since it was written here
 * @pinned: has a pin that has not run out
 * @expired: its time to live has passed
 * @live: the index points here (was not deleted, moved or replaced)
 */
struct kvc_clock_object {
	u32 bytes;
	u16 depth;
	bool touched;
	bool pinned;
	bool expired;
	bool live;
};

#define KVC_CLOCK_WORD_BITS	(8 * sizeof(unsigned long))

/* Words of the bitmap for n objects. */
#define KVC_CLOCK_WORDS(n)	DIV_ROUND_UP(n, KVC_CLOCK_WORD_BITS)

/* Is object @i to be kept? */
static inline bool kvc_clock_kept(const unsigned long *keep, u32 i)
{
	return keep[i / KVC_CLOCK_WORD_BITS] >> (i % KVC_CLOCK_WORD_BITS) & 1;
}

/**
 * kvc_clock_plan() - decide what of a segment is rewritten
 * @o: its objects
 * @n: how many
 * @b: budget; is charged for what is kept
 * @pressed: clean segments are nearly used up: keep only what is pinned
 * @keep: bitmap (as linux/bitmap.h has it) of KVC_CLOCK_WORDS(@n) words, every
 *	word is written; bit i: rewrite object i, else drop it
 *
 * Objects that are dead or have expired are never kept. Pinned ones always
 * are. Touched ones are while the budget lasts, by depth, and among those of
 * the depth at which it runs out, as many as fit, in their order.
 *
 * Takes four passes over @o, 20 where the budget does not last. A segment whose
 * live objects are all pinned yields nothing: the caller bounds pins.
 *
 * Return: bytes of the objects to rewrite.
 */
u64 kvc_clock_plan(const struct kvc_clock_object *o, u32 n,
		   struct kvc_budget *b, bool pressed, unsigned long *keep);

/**
 * DOC: reserve
 *
 * An AG keeps a few clean segments ahead, so that a put does not wait for
 * reclaim: reclaim begins when fewer than kvc_reserve_low() are clean, and goes
 * on until kvc_reserve_high() are. Segments that are retired and wait for
 * their grace period count as clean there, else reclaim would run ahead of the
 * grace period and evict too much; kvc_reserve_pressed() is about segments that
 * can be opened now.
 *
 * What is rewritten from one segment fits into one segment. So reclaim can
 * always go on if puts leave it the last clean segment. And reclaim must not be
 * content with that one, however few segments there are: puts would wait for ever.
 */

/* Begin to reclaim when fewer segments than this are clean or on the way. */
u32 kvc_reserve_low(u32 nr_segments);

/* Reclaim until this many are. */
u32 kvc_reserve_high(u32 nr_segments);

/* Are rewrites to yield to puts with @clean segments that can be opened now? */
bool kvc_reserve_pressed(u32 nr_segments, u32 clean);

#endif
