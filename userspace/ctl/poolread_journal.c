// SPDX-License-Identifier: MIT
/*
 * Journal areas that are read offline: their headers and their rings. See
 * poolread.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "poolread.h"

/* --- headers --- */

static struct pr_where area_where(const struct pr_pool *p, u32 ag, u32 number,
				  u32 header)
{
	struct kvc_place place = kvc_place_area(&p->g, ag, number);
	struct pr_where w;

	place.block += header;
	w = pr_at(p, place);
	w.ag = ag;
	return w;
}

static bool read_header(struct pr_area *area, struct pr_pool *p, u32 ag,
			u32 number, u32 header, const u8 *block, bool quiet)
{
	struct kvc_place place = kvc_place_area(&p->g, ag, number);
	struct pr_where w = area_where(p, ag, number, header);
	struct kvc_area_info *info = &area->info[header];
	enum kvc_block_verdict v;

	place.block += header;
	v = kvc_block_verify(block, KVC_BLOCK_AREA, p->g.uuid, &place);
	area->verdict[header] = v;
	if (v == KVC_BLOCK_NEVER || v == KVC_BLOCK_CRC)
		return false;
	if (v != KVC_BLOCK_OK || kvc_area_decode(block, &p->g, info) ||
	    info->ag != ag) {
		if (!quiet)
			pr_found(p, PR_AREA_MALFORMED, PR_ERROR, &w,
				 "header %u of area %u is %s", header, number,
				 v != KVC_BLOCK_OK ? kvc_block_verdict_name(v) :
				 "malformed");
		return false;
	}
	w.epoch = info->epoch;
	if (info->epoch % KVC_NR_AREAS != number) {
		if (!quiet)
			pr_found(p, PR_AREA_EPOCH, PR_ERROR, &w,
				 "header %u of area %u is of epoch %llu, which is not for this area",
				 header, number, info->epoch);
		return false;
	}
	return true;
}

static bool counts_more(const struct kvc_area_info *a,
			const struct kvc_area_info *b)
{
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch;
	return a->sequence > b->sequence;
}

static void judge_pair(struct pr_area *area, struct pr_pool *p, u32 ag,
		       u32 number)
{
	const struct kvc_area_info *newer, *older;
	struct pr_where w;
	u32 bad;

	if (area->valid[0] && area->valid[1]) {
		newer = &area->info[area->best];
		older = &area->info[!area->best];
		w = area_where(p, ag, number, area->best);
		w.epoch = newer->epoch;
		if (newer->sequence != older->sequence + 1)
			pr_found(p, PR_AREA_PAIR, PR_ERROR, &w,
				 "the headers of area %u have the sequences %llu and %llu",
				 number, newer->sequence, older->sequence);
		else if (newer->epoch == older->epoch &&
			 (newer->head <= older->head ||
			  newer->checkpoint <= older->checkpoint))
			pr_found(p, PR_AREA_PAIR, PR_ERROR, &w,
				 "the newer header of area %u has head %llu and checkpoint %llu, the older one %llu and %llu",
				 number, newer->head, newer->checkpoint,
				 older->head, older->checkpoint);
		return;
	}
	for (bad = 0; bad < KVC_AREA_HEADERS; bad++) {
		if (area->verdict[bad] != KVC_BLOCK_CRC)
			continue;
		w = area_where(p, ag, number, bad);
		pr_found(p, PR_AREA_BAD, PR_INFO, &w,
			 "header %u of area %u has a wrong checksum", bad,
			 number);
	}
	/* One torn header alone may be the first that was ever written. */
	if (area->best == PR_NONE && area->verdict[0] == KVC_BLOCK_CRC &&
	    area->verdict[1] == KVC_BLOCK_CRC) {
		w = area_where(p, ag, number, 0);
		pr_found(p, PR_AREA_LOST, PR_WARNING, &w,
			 "both headers of area %u have a wrong checksum",
			 number);
	}
}

int pr_area_read(struct pr_area *area, struct pr_pool *p, u32 ag, u32 number,
		 bool quiet)
{
	struct pr_where w = area_where(p, ag, number, 0);
	u8 *blocks = pr_buffer(KVC_AREA_HEADERS);
	u32 i;
	int err;

	memset(area, 0, sizeof(*area));
	area->best = PR_NONE;
	if (!blocks)
		return -ENOMEM;
	err = quiet ? pr_read(p, kvc_place_area(&p->g, ag, number), blocks,
			      KVC_AREA_HEADERS) :
		      pr_read_reported(p, kvc_place_area(&p->g, ag, number),
				       blocks, KVC_AREA_HEADERS, &w);
	for (i = 0; !err && i < KVC_AREA_HEADERS; i++) {
		area->valid[i] = read_header(area, p, ag, number, i,
					     blocks + i * KVC_BLOCK_SIZE,
					     quiet);
		if (area->valid[i] &&
		    (area->best == PR_NONE ||
		     counts_more(&area->info[i], &area->info[area->best])))
			area->best = i;
	}
	free(blocks);
	if (!err && !quiet)
		judge_pair(area, p, ag, number);
	return err;
}

/* --- rings --- */

#define CHUNK_BLOCKS	64	/* read in one go */
#define CHUNK_UNREAD	0
#define CHUNK_READ	1
#define CHUNK_FAILED	2

int pr_ring_open(struct pr_ring *ring, struct pr_pool *p, u32 ag, u32 area)
{
	u32 nr = p->g.ring_blocks;

	memset(ring, 0, sizeof(*ring));
	ring->pool = p;
	ring->ag = ag;
	ring->area = area;
	ring->first = kvc_place_area(&p->g, ag, area);
	ring->first.block += KVC_AREA_HEADERS;
	ring->judged = calloc(nr, 1);
	ring->loaded = calloc(DIV_ROUND_UP(nr, CHUNK_BLOCKS), 1);
	/* Rings may be large, and as a rule a part of one is read. */
	ring->blocks = mmap(NULL, (size_t)nr << KVC_BLOCK_SHIFT,
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring->blocks == MAP_FAILED)
		ring->blocks = NULL;
	if (!ring->judged || !ring->loaded || !ring->blocks) {
		pr_ring_close(ring);
		return -ENOMEM;
	}
	return 0;
}

void pr_ring_close(struct pr_ring *ring)
{
	if (ring->blocks)
		munmap(ring->blocks,
		       (size_t)ring->pool->g.ring_blocks << KVC_BLOCK_SHIFT);
	free(ring->judged);
	free(ring->loaded);
	memset(ring, 0, sizeof(*ring));
}

static bool ring_load(struct pr_ring *ring, u32 chunk)
{
	u32 first = chunk * CHUNK_BLOCKS;
	struct kvc_place place = ring->first;
	struct pr_where w = pr_nowhere();
	u32 nr = min((u32)CHUNK_BLOCKS, ring->pool->g.ring_blocks - first);

	if (ring->loaded[chunk] != CHUNK_UNREAD)
		return ring->loaded[chunk] == CHUNK_READ;
	w.ag = ring->ag;
	place.block += first;
	ring->loaded[chunk] = CHUNK_FAILED;
	if (pr_read_reported(ring->pool, place,
			     ring->blocks + ((size_t)first << KVC_BLOCK_SHIFT),
			     nr, &w))
		return false;
	ring->loaded[chunk] = CHUNK_READ;
	return true;
}

/* The block at a ring index, judged; NULL if it can't be read. */
static const void *ring_block(struct pr_ring *ring, u32 index,
			      enum kvc_block_verdict *verdict)
{
	const u8 *block = ring->blocks + ((size_t)index << KVC_BLOCK_SHIFT);
	struct kvc_place place = ring->first;

	if (!ring_load(ring, index / CHUNK_BLOCKS))
		return NULL;
	if (!ring->judged[index]) {
		place.block += index;
		ring->judged[index] = 1 + kvc_block_verify(block,
			KVC_BLOCK_JOURNAL, ring->pool->g.uuid, &place);
	}
	*verdict = ring->judged[index] - 1;
	return block;
}

enum pr_standing pr_ring_look(struct pr_ring *ring, u64 epoch, u64 position,
			      struct kvc_journal_info *info,
			      struct kvc_records *records)
{
	enum kvc_block_verdict verdict;
	const void *block;
	u32 index;

	div_u64_rem(position, ring->pool->g.ring_blocks, &index);
	block = ring_block(ring, index, &verdict);
	if (!block)
		return PR_STANDS_UNREADABLE;
	switch (verdict) {
	case KVC_BLOCK_OK:
		break;
	case KVC_BLOCK_NEVER:
		return PR_STANDS_NEVER;
	case KVC_BLOCK_CRC:
		return PR_STANDS_TORN;
	default:
		return PR_STANDS_WRONG;
	}
	if (kvc_journal_open(block, &ring->pool->g, info, records) ||
	    info->ag != ring->ag ||
	    info->epoch % KVC_NR_AREAS != ring->area ||
	    (info->position - index) % ring->pool->g.ring_blocks)
		return PR_STANDS_WRONG;
	if (info->epoch > epoch)
		return PR_STANDS_NEWER;
	if (info->epoch < epoch || info->position < position)
		return PR_STANDS_OLDER;
	return info->position == position ? PR_STANDS : PR_STANDS_LATER;
}

bool pr_ring_may_be_new(struct pr_ring *ring, u32 index, u64 epoch, u64 from)
{
	const struct kvc_journal_block *b;
	u64 its_epoch;

	if (!ring_load(ring, index / CHUNK_BLOCKS))
		return false;
	b = (const void *)(ring->blocks + ((size_t)index << KVC_BLOCK_SHIFT));
	its_epoch = le64_to_cpu(b->epoch);
	return its_epoch > epoch ||
	       (its_epoch == epoch && le64_to_cpu(b->h.sequence) >= from);
}

/* Does part @part of a checkpoint that starts at @start stand in its place? */
static bool checkpoint_part(struct pr_ring *ring, u64 epoch, u64 start,
			    u32 part, struct kvc_checkpoint_rec *c)
{
	struct kvc_journal_info info;
	struct kvc_records records;
	struct kvc_record rec;

	if (pr_ring_look(ring, epoch, start + part, &info, &records) !=
	    PR_STANDS ||
	    kvc_records_next(&records, &rec) != 1 ||
	    rec.type != KVC_REC_CHECKPOINT)
		return false;
	*c = rec.checkpoint;
	return c->start == start && c->part == part;
}

u32 pr_ring_checkpoint(struct pr_ring *ring, u64 epoch, u64 start)
{
	struct kvc_checkpoint_rec first, c;
	u32 i;

	if (!checkpoint_part(ring, epoch, start, 0, &first))
		return 0;
	for (i = 1; i < first.parts; i++) {
		if (!checkpoint_part(ring, epoch, start, i, &c) ||
		    c.parts != first.parts ||
		    c.next_order != first.next_order)
			return 0;
	}
	return first.parts;
}
