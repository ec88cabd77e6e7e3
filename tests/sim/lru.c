// SPDX-License-Identifier: MIT
/*
 * Object LRU: the yardstick.
 */
#include <stdlib.h>

#include "sim.h"

#define ABSENT	(~0U)

/* A ring through all blocks that are cached, from the one last used on. */
struct lru {
	u32 *next;
	u32 *prev;	/* ABSENT: not cached */
	u32 head;	/* index of the ring's anchor */
	u32 used;
};

static void unlink_block(struct lru *l, u32 block)
{
	l->next[l->prev[block]] = l->next[block];
	l->prev[l->next[block]] = l->prev[block];
	l->prev[block] = ABSENT;
	l->used--;
}

static void push_block(struct lru *l, u32 block)
{
	u32 second = l->next[l->head];

	l->next[block] = second;
	l->prev[block] = l->head;
	l->next[l->head] = block;
	l->prev[second] = block;
	l->used++;
}

void sim_lru(const struct sim_trace *t, const struct sim_pool *pool,
	     struct sim_result *r)
{
	struct lru l = {
		.next = sim_alloc(t->footprint + 1, sizeof(*l.next)),
		.prev = sim_alloc(t->footprint + 1, sizeof(*l.prev)),
		.head = t->footprint,
	};
	u32 request, i;

	memset(l.prev, 0xff, t->footprint * sizeof(*l.prev));
	l.next[l.head] = l.head;
	l.prev[l.head] = l.head;

	for (request = 0; request < t->nr_requests; request++) {
		bool counts = true;

		for (i = t->first[request]; i < t->first[request + 1]; i++) {
			u32 block = t->refs[i];

			if (l.prev[block] == ABSENT) {
				counts = counts && !pool->prefix;
				r->puts++;
				if (l.used == pool->blocks)
					unlink_block(&l, l.prev[l.head]);
			} else if (counts) {
				r->hits++;
				unlink_block(&l, block);
			} else {
				continue;
			}
			push_block(&l, block);
		}
	}
	free(l.next);
	free(l.prev);
}
