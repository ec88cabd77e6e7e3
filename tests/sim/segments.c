// SPDX-License-Identifier: MIT
/*
 * AGs of segments that are sealed, reclaimed in this order and opened again, as
 * the module does it: the policy and the reserve are the module's own code.
 * Grace periods take no time here.
 */
#include <stdlib.h>

#include "kvc_clock.h"
#include "sim.h"

#define ABSENT		(~0U)
#define BLOCK_BYTES	4096U

/* Puts and rewrites have segments of their own. */
enum stream {
	STREAM_PUT,
	STREAM_REWRITE,
	STREAMS
};

/**
 * struct group - an AG
 * @budget: of its rewrites
 * @clean: segments that are clean (a stack)
 * @nr_clean: how many
 * @sealed: ring of sealed segments, oldest at @oldest
 * @nr_sealed: how many
 * @open: per stream the segment that takes its blocks, ABSENT: none yet
 */
struct group {
	struct kvc_budget budget;
	u32 *clean;
	u32 nr_clean;
	u32 *sealed;
	u32 oldest;
	u32 nr_sealed;
	u32 open[STREAMS];
};

/**
 * struct cache - all of it
 * @slots: per place of each segment: the block that was written there
 * @used: per segment: places used
 * @place: per block: where it is, ABSENT: nowhere
 * @touched: per block: read since it was written
 * @depth: per block: position in the first request that put it
 * @object: of the segment that is reclaimed
 * @keep: of the segment that is reclaimed
 */
struct cache {
	const struct sim_pool *pool;
	struct sim_result *result;
	u32 group_segments;
	struct group *groups;
	u32 *slots;
	u32 *used;
	u32 *place;
	bool *touched;
	u16 *depth;
	struct kvc_clock_object *objects;
	unsigned long *keep;
};

static void append(struct cache *c, struct group *g, enum stream stream, u32 block)
{
	u32 size = c->pool->segment_blocks;
	u32 *open = &g->open[stream];

	if (*open == ABSENT || c->used[*open] == size) {
		if (*open != ABSENT)
			g->sealed[(g->oldest + g->nr_sealed++) % c->group_segments] = *open;
		*open = g->clean[--g->nr_clean];
	}
	c->place[block] = *open * size + c->used[*open];
	c->slots[c->place[block]] = block;
	c->used[*open]++;
	c->touched[block] = false;
}

static void reclaim_segment(struct cache *c, struct group *g)
{
	u32 segment = g->sealed[g->oldest];
	u32 first = segment * c->pool->segment_blocks;
	u32 n = c->used[segment];
	bool pressed;
	u32 i;

	g->oldest = (g->oldest + 1) % c->group_segments;
	g->nr_sealed--;

	for (i = 0; i < n; i++) {
		u32 block = c->slots[first + i];

		c->objects[i] = (struct kvc_clock_object) {
			.bytes = BLOCK_BYTES,
			.depth = c->depth[block],
			.touched = c->touched[block],
			.live = c->place[block] == first + i,
		};
	}
	pressed = kvc_reserve_pressed(c->group_segments, g->nr_clean);
	kvc_clock_plan(c->objects, n, &g->budget, pressed, c->keep);
	for (i = 0; i < n; i++) {
		u32 block = c->slots[first + i];

		if (kvc_clock_kept(c->keep, i)) {
			append(c, g, STREAM_REWRITE, block);
			c->result->rewrites++;
		} else if (c->objects[i].live) {
			c->place[block] = ABSENT;
		}
	}
	c->used[segment] = 0;
	g->clean[g->nr_clean++] = segment;
}

static void put(struct cache *c, struct group *g, u32 block, u32 depth)
{
	c->depth[block] = min_t(u32, depth, U16_MAX);
	append(c, g, STREAM_PUT, block);
	kvc_budget_earn(&g->budget, BLOCK_BYTES);
	c->result->puts++;
	if (g->nr_clean >= kvc_reserve_low(c->group_segments))
		return;
	while (g->nr_clean < kvc_reserve_high(c->group_segments))
		reclaim_segment(c, g);
}

static void begin(struct cache *c, const struct sim_trace *t)
{
	const struct sim_pool *pool = c->pool;
	u32 nr, i, j;

	c->group_segments = pool->blocks / pool->segment_blocks / pool->groups;
	nr = c->group_segments * pool->groups;

	c->groups = sim_alloc(pool->groups, sizeof(*c->groups));
	c->slots = sim_alloc(nr * pool->segment_blocks, sizeof(*c->slots));
	c->used = sim_alloc(nr, sizeof(*c->used));
	c->place = sim_alloc(t->footprint, sizeof(*c->place));
	c->touched = sim_alloc(t->footprint, sizeof(*c->touched));
	c->depth = sim_alloc(t->footprint, sizeof(*c->depth));
	c->objects = sim_alloc(pool->segment_blocks, sizeof(*c->objects));
	c->keep = sim_alloc(KVC_CLOCK_WORDS(pool->segment_blocks), sizeof(*c->keep));

	memset(c->place, 0xff, t->footprint * sizeof(*c->place));
	for (i = 0; i < pool->groups; i++) {
		struct group *g = &c->groups[i];

		g->clean = sim_alloc(c->group_segments, sizeof(*g->clean));
		g->sealed = sim_alloc(c->group_segments, sizeof(*g->sealed));
		for (j = 0; j < c->group_segments; j++)
			g->clean[g->nr_clean++] = i * c->group_segments + j;
		memset(g->open, 0xff, sizeof(g->open));
		kvc_budget_init(&g->budget, pool->percent,
				(u64)pool->cap_segments * pool->segment_blocks * BLOCK_BYTES);
	}
}

static void end(struct cache *c)
{
	u32 i;

	for (i = 0; i < c->pool->groups; i++) {
		free(c->groups[i].clean);
		free(c->groups[i].sealed);
	}
	free(c->groups);
	free(c->slots);
	free(c->used);
	free(c->place);
	free(c->touched);
	free(c->depth);
	free(c->objects);
	free(c->keep);
}

void sim_segments(const struct sim_trace *t, const struct sim_pool *pool,
		  struct sim_result *r)
{
	struct cache c = { .pool = pool, .result = r };
	u32 request, i;

	begin(&c, t);
	for (request = 0; request < t->nr_requests; request++) {
		struct group *g = &c.groups[request % pool->groups];
		bool counts = true;

		for (i = t->first[request]; i < t->first[request + 1]; i++) {
			u32 block = t->refs[i];

			if (c.place[block] == ABSENT) {
				counts = counts && !pool->prefix;
				put(&c, g, block, i - t->first[request]);
			} else if (counts) {
				r->hits++;
				c.touched[block] = true;
			}
		}
	}
	end(&c);
}
