// SPDX-License-Identifier: MIT
/*
 * Data of a pool that is read offline: reads runs of segments and checks what
 * objects' checksums say. See poolread.h.
 */
#include <stdlib.h>
#include "poolread.h"

#define WINDOW_BLOCKS	1024	/* 4 MiB: what is read of a segment at once */
#define GAP_BLOCKS	16	/* what is rather read than skipped */

/* --- reading --- */

/**
 * struct lane_run - stripe units of one lane that follow one another
 * @place: first block
 * @blocks: length
 */
struct lane_run {
	struct kvc_place place;
	u32 blocks;
};

/* Copy the units of a lane out of @from, which holds them back to back. */
static void scatter(struct pr_pool *p, u32 segment, u64 offset, u64 bytes,
		    u32 lane, u32 width, const u8 *from, u8 *buf)
{
	u64 at = offset, end = offset + bytes, piece;

	for (; at < end; at += piece) {
		piece = end - at;
		kvc_place_data(&p->g, segment, at, &piece);
		if ((at >> p->g.unit_shift) % width != lane)
			continue;
		memcpy(buf + (at - offset), from, piece);
		from += piece;
	}
}

/* Where the units of one lane stand: one run, since rows follow one another. */
static struct lane_run lane_of(struct pr_pool *p, u32 segment, u64 offset,
			       u64 bytes, u32 lane, u32 width)
{
	u64 at = offset, end = offset + bytes, piece;
	struct lane_run run = {};
	struct kvc_place place;

	for (; at < end; at += piece) {
		piece = end - at;
		place = kvc_place_data(&p->g, segment, at, &piece);
		if ((at >> p->g.unit_shift) % width != lane)
			continue;
		if (!run.blocks)
			run.place = place;
		run.blocks += piece >> KVC_BLOCK_SHIFT;
	}
	return run;
}

int pr_read_segment(struct pr_pool *p, u32 segment, u64 offset, u64 bytes,
		    void *buf)
{
	u32 width = kvc_span_of_segment(&p->g, segment)->width;
	u64 all = bytes;
	struct lane_run run;
	u8 *lane_buf;
	u32 lane;
	int err = 0;

	if (width == 1)
		return pr_read(p, kvc_place_data(&p->g, segment, offset, &all),
			       buf, bytes >> KVC_BLOCK_SHIFT);
	lane_buf = pr_buffer(bytes >> KVC_BLOCK_SHIFT);
	if (!lane_buf)
		return -ENOMEM;
	for (lane = 0; !err && lane < width; lane++) {
		run = lane_of(p, segment, offset, bytes, lane, width);
		if (!run.blocks)
			continue;
		err = pr_read(p, run.place, lane_buf, run.blocks);
		if (!err)
			scatter(p, segment, offset, bytes, lane, width,
				lane_buf, buf);
	}
	free(lane_buf);
	return err;
}

/* --- checking --- */

/**
 * struct data_walk - the data of one AG, in the order in which they stand
 * @a: AG
 * @order: live objects by segment and offset
 * @nr: how many
 * @window: blocks of a segment
 * @segment: which
 * @first: first block in @window
 * @blocks: how many
 */
struct data_walk {
	struct pr_ag *a;
	const struct pr_object **order;
	u32 nr;
	u8 *window;
	u32 segment;
	u32 first;
	u32 blocks;
	void (*progress)(void *private, u64 bytes);
	void *private;
};

static u32 blocks_of(const struct pr_object *o)
{
	return DIV_ROUND_UP((u64)o->bytes, KVC_BLOCK_SIZE);
}

static int by_place(const void *a, const void *b)
{
	const struct pr_object *x = *(const struct pr_object *const *)a;
	const struct pr_object *y = *(const struct pr_object *const *)b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* End of the run of live data that object @i is in, from there on. */
static u32 run_end(const struct data_walk *w, u32 i)
{
	const struct pr_object *o = w->order[i];
	u32 end = o->offset + blocks_of(o), segment = o->segment;

	while (++i < w->nr && w->order[i]->segment == segment &&
	       w->order[i]->offset <= end + GAP_BLOCKS &&
	       end - o->offset < WINDOW_BLOCKS)
		end = max(end, w->order[i]->offset + blocks_of(w->order[i]));
	return end;
}

/* Make the window begin at a block of object @i, and reach as far as it can. */
static int move_window(struct data_walk *w, u32 i, u32 block)
{
	const struct pr_object *o = w->order[i];
	u32 nr = min(run_end(w, i) - block, (u32)WINDOW_BLOCKS);
	struct pr_pool *p = w->a->pool;
	u64 bytes;
	int err;

	w->blocks = 0;
	w->segment = o->segment;
	w->first = block;
	bytes = (u64)nr << KVC_BLOCK_SHIFT;
	err = pr_read_segment(p, o->segment, (u64)block << KVC_BLOCK_SHIFT,
			      bytes, w->window);
	if (err && block + nr > o->offset + blocks_of(o)) {
		/* Only this object may be blamed for what is not readable. */
		nr = o->offset + blocks_of(o) - block;
		bytes = (u64)nr << KVC_BLOCK_SHIFT;
		err = pr_read_segment(p, o->segment,
				      (u64)block << KVC_BLOCK_SHIFT, bytes,
				      w->window);
	}
	if (err)
		return err;
	w->blocks = nr;
	if (w->progress)
		w->progress(w->private, bytes);
	return 0;
}

static struct pr_where object_where(const struct data_walk *w,
				    const struct pr_object *o)
{
	u64 bytes = KVC_BLOCK_SIZE;
	struct pr_where at = pr_at(w->a->pool,
		kvc_place_data(&w->a->pool->g, o->segment,
			       (u64)o->offset << KVC_BLOCK_SHIFT, &bytes));

	at.ag = w->a->ag;
	at.epoch = w->a->epoch;
	at.segment = o->segment;
	return at;
}

/* 1: checked, 0: a member is absent or a block can't be read, -ENOMEM. */
static int check_object(struct data_walk *w, u32 i)
{
	const struct pr_object *o = w->order[i];
	u32 block = o->offset, left = o->bytes, crc, part, skip;
	struct pr_where at = object_where(w, o);
	int err;

	crc = kvc_data_crc_seed(o->hash);
	while (left) {
		if (o->segment != w->segment || block < w->first ||
		    block - w->first >= w->blocks) {
			err = move_window(w, i, block);
			if (err == -ENOMEM)
				return err;
			if (err && err != -ENXIO)
				pr_found(w->a->pool, PR_IO_ERROR, PR_ERROR, &at,
					 "the data of the object at segment %u, block %u, %u bytes, can't be read: %s",
					 o->segment, o->offset, o->bytes,
					 strerror(-err));
			if (err)
				return 0;
		}
		skip = block - w->first;
		part = min_t(u64, left,
			     (u64)(w->blocks - skip) << KVC_BLOCK_SHIFT);
		crc = crc32c(crc, w->window + ((size_t)skip << KVC_BLOCK_SHIFT),
			     part);
		left -= part;
		block += part >> KVC_BLOCK_SHIFT;
	}
	if (crc != o->data_crc)
		pr_found(w->a->pool, PR_DATA_CRC, PR_ERROR, &at,
			 "the object at segment %u, block %u, %u bytes, has checksum %08x, and was put with %08x",
			 o->segment, o->offset, o->bytes, crc, o->data_crc);
	return 1;
}

int pr_ag_data(struct pr_ag *a, void (*progress)(void *private, u64 bytes),
	       void *private, u64 *objects)
{
	struct data_walk w = {
		.a = a, .segment = PR_NONE, .progress = progress,
		.private = private,
	};
	const struct pr_view *v = &a->view;
	int got = 0;
	u32 i;

	if (!a->has_view || (a->pool->g.flags & KVC_POOL_NO_DATA_CRC))
		return 0;
	w.order = calloc(v->nr_objects + 1, sizeof(*w.order));
	w.window = pr_buffer(WINDOW_BLOCKS);
	if (!w.order || !w.window)
		got = -ENOMEM;
	for (i = 0; got >= 0 && i < v->nr_objects; i++) {
		if (pr_object_live(v, &v->objects[i]))
			w.order[w.nr++] = &v->objects[i];
	}
	if (w.nr)
		qsort(w.order, w.nr, sizeof(*w.order), by_place);
	for (i = 0; got >= 0 && i < w.nr; i++) {
		got = check_object(&w, i);
		if (got > 0)
			++*objects;
	}
	free(w.order);
	free(w.window);
	return got < 0 ? got : 0;
}
