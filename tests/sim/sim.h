/* SPDX-License-Identifier: MIT */
/*
 * kvc-sim: what eviction policies would make of a trace.
 *
 * A reference is one block of one request. A reference that finds its block is
 * a hit; one that doesn't puts it. All blocks have the same size.
 */
#ifndef KVC_SIM_H
#define KVC_SIM_H

#include "kvc_types.h"
#include "trace.h"

/**
 * struct sim_trace - a trace in memory
 * @nr_requests: requests
 * @nr_refs: references
 * @footprint: different blocks; they are numbered from 0 here
 * @refs: per reference: its block
 * @first: per request: its first reference; one more entry at the end
 */
struct sim_trace {
	u32 nr_requests;
	u32 nr_refs;
	u32 footprint;
	u32 *refs;
	u32 *first;
};

/**
 * struct sim_pool - the cache
 * @blocks: it can hold
 * @segment_blocks: blocks of a segment
 * @groups: AGs; a request puts into one of them, in turn
 * @percent: write budget, 0: FIFO
 * @cap_segments: segments that the budget can save up
 * @prefix: a hit behind a miss of the same request doesn't count and touches
 *	nothing
 */
struct sim_pool {
	u32 blocks;
	u32 segment_blocks;
	u32 groups;
	u32 percent;
	u32 cap_segments;
	bool prefix;
};

/**
 * struct sim_result - what came of it
 * @hits: references that were hits
 * @puts: blocks written since they missed
 * @rewrites: blocks written again by eviction
 */
struct sim_result {
	u32 hits;
	u32 puts;
	u32 rewrites;
};

/* Out of memory ends the program. */
void *sim_alloc(size_t n, size_t item);

/* Object LRU. */
void sim_lru(const struct sim_trace *t, const struct sim_pool *pool,
	     struct sim_result *r);

/*
 * Belady's MIN. It minds nothing about prefixes: with @pool->prefix it is no bound.
 */
void sim_min(const struct sim_trace *t, const struct sim_pool *pool,
	     struct sim_result *r);

/* Segments in FIFO order with the policy of kmod/kvc_clock.c. */
void sim_segments(const struct sim_trace *t, const struct sim_pool *pool,
		  struct sim_result *r);

#endif
