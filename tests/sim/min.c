// SPDX-License-Identifier: MIT
/*
 * Belady's MIN: what no policy can beat, as it knows what comes.
 *
 * Of all blocks, the one just put among them, the one whose next reference is
 * farthest goes. A block is known here by the place of its next reference, which
 * no other block has.
 */
#include <stdlib.h>

#include "sim.h"

#define NEVER	(~0U)

/**
 * struct min - the cache
 * @next: per reference: the next one to the same block
 * @cached: per reference: its block is in the cache at that time
 * @heap: next references of what is in the cache, the farthest first. Those
 *	that have been are left in it: they are the nearest, and so the last
 *	to come out of it
 * @heap_used: entries of it
 * @used: blocks in the cache
 */
struct min {
	u32 *next;
	bool *cached;
	u32 *heap;
	u32 heap_used;
	u32 used;
};

static void look_ahead(struct min *m, const struct sim_trace *t)
{
	u32 *seen = sim_alloc(t->footprint, sizeof(*seen));
	u32 i;

	memset(seen, 0xff, t->footprint * sizeof(*seen));
	for (i = t->nr_refs; i--;) {
		m->next[i] = seen[t->refs[i]];
		seen[t->refs[i]] = i;
	}
	free(seen);
}

static void heap_push(struct min *m, u32 value)
{
	u32 i = m->heap_used++;

	for (; i && m->heap[(i - 1) / 2] < value; i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = value;
}

static u32 heap_pop(struct min *m)
{
	u32 top = m->heap[0], value = m->heap[--m->heap_used], i = 0, child;

	while ((child = 2 * i + 1) < m->heap_used) {
		if (child + 1 < m->heap_used && m->heap[child + 1] > m->heap[child])
			child++;
		if (m->heap[child] <= value)
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = value;
	return top;
}

void sim_min(const struct sim_trace *t, const struct sim_pool *pool,
	     struct sim_result *r)
{
	struct min m = {
		.next = sim_alloc(t->nr_refs, sizeof(*m.next)),
		.cached = sim_alloc(t->nr_refs, sizeof(*m.cached)),
		.heap = sim_alloc(t->nr_refs, sizeof(*m.heap)),
	};
	u32 i;

	look_ahead(&m, t);
	for (i = 0; i < t->nr_refs; i++) {
		if (m.cached[i]) {
			r->hits++;
			m.used--;
		} else {
			r->puts++;
		}
		if (m.next[i] == NEVER)
			continue;
		m.cached[m.next[i]] = true;
		heap_push(&m, m.next[i]);
		if (++m.used > pool->blocks) {
			m.cached[heap_pop(&m)] = false;
			m.used--;
		}
	}
	free(m.next);
	free(m.cached);
	free(m.heap);
}
