// SPDX-License-Identifier: GPL-2.0
/*
 * DOC: listing while objects move
 *
 * AG by AG. First its sealed segments in the order of their seals, then, in one
 * go, all others: what is unsealed, and what was sealed since. Eviction moves an
 * object only from a sealed segment to an unsealed one, so to a place that
 * comes later or, in the second phase, from a place that has been listed. The
 * second phase goes by hash, since segments may be sealed under it.
 *
 * The cookie, from the top: AG + 1 (11 bits), phase (1 bit), then
 *	phase 0: order of the seal (34 bits), offset in the segment (18 bits)
 *	phase 1: order at which the phase began (32 bits), hash (20 bits)
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <uapi/linux/kvcache.h>
#include "list.h"
#include "object.h"

#define KVC_COOKIE_AG_SHIFT	53
#define KVC_COOKIE_PHASE	(1ULL << 52)
#define KVC_COOKIE_ORDER_SHIFT	18
#define KVC_COOKIE_HASH_BITS	20

/**
 * struct kvc_lister - a call
 * @join: attachment
 * @ag: AG that it is at
 * @a: what is wanted
 * @seg: segment that it is at
 * @moved: it has come further than where it began
 * @from: phase 0: offset to begin with
 * @stopped_at: phase 0: and that did not fit
 * @found: phase 1: what is found, sorted by hash before it is given out
 * @nr_found: how many
 * @max_found: room
 */
struct kvc_lister {
	struct kvc_join *join;
	struct kvc_ag *ag;
	struct kvc_list_args *a;
	struct kvc_segment *seg;
	bool moved;
	u32 from;
	u32 stopped_at;
	struct kvc_listed *found;
	u32 nr_found;
	u32 max_found;
};

struct kvc_listed {
	u64 hash;
	struct kvc_put put;
	u8 *key;
};

/* Has the call no more time? */
static int kvc_list_over(const struct kvc_list_args *a)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	return time_after_eq(jiffies, a->deadline) ? -ETIMEDOUT : 0;
}

/*
 * The call can't go on. What it got is given out, if that is anything: entries,
 * or a place further on. Return: 1, or @err.
 */
static int kvc_list_stop(struct kvc_lister *l, u64 cookie, int err)
{
	if (!l->a->count && !l->moved)
		return err;
	l->a->cookie = cookie;
	return 1;
}

static bool kvc_list_wants(const struct kvc_list_args *a,
			   const struct kvc_put *put)
{
	if (!a->all && put->tenant != a->tenant)
		return false;
	return put->key_len >= a->prefix_len &&
	       !memcmp(put->key, a->prefix, a->prefix_len);
}

static bool kvc_list_live(struct kvc_lister *l, const struct kvc_put *put)
{
	struct kvc_exact exact = {
		.hash = put->hash,
		.segment = l->seg,
		.offset = put->offset,
	};
	u64 now = ktime_get_real_seconds();
	struct kvc_entry *e;
	bool live;

	rcu_read_lock();
	e = kvc_index_find_exact(&l->join->index, &exact);
	live = e && (atomic_read(&e->where) &
		     (KVC_ENTRY_LIVE | KVC_ENTRY_DEAD)) == KVC_ENTRY_LIVE &&
	       !kvc_entry_expired(e, now);
	rcu_read_unlock();
	return live;
}

static bool kvc_list_emit(struct kvc_list_args *a, const struct kvc_put *put,
			  const u8 *key)
{
	u32 len = ALIGN(sizeof(struct kvcache_list_entry) + put->key_len, 8);
	struct kvcache_list_entry *e;

	if (a->used + len > a->room)
		return false;
	e = (struct kvcache_list_entry *)(a->buf + a->used);
	memset(e, 0, len);
	e->entry_len = len;
	e->key_len = put->key_len;
	e->depth = put->depth;
	e->tenant = put->tenant;
	e->length = put->bytes;
	e->expiry = put->expiry;
	memcpy(e + 1, key, put->key_len);
	a->used += len;
	a->count++;
	return true;
}

/* --- phase 0: sealed segments --- */

static int kvc_list_sealed_put(const struct kvc_put *put, void *arg)
{
	struct kvc_lister *l = arg;

	if (put->offset < l->from || !kvc_list_wants(l->a, put) ||
	    !kvc_list_live(l, put) || kvc_list_emit(l->a, put, put->key))
		return 0;
	l->stopped_at = put->offset;
	return -ENOSPC;
}

/*
 * The sealed segment with the lowest order from @order on. A reader reference
 * keeps its place from being used again while its summary is read.
 */
static struct kvc_segment *kvc_list_next_sealed(struct kvc_ag *ag, u64 order,
						struct kvc_seg *s)
{
	struct kvc_segment *best = NULL;
	u32 i;

	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (seg->s.state == KVC_SEG_SEALED && seg->s.order >= order &&
		    (!best || seg->s.order < best->s.order))
			best = seg;
	}
	if (best) {
		atomic_inc(&best->readers);
		*s = best->s;
	}
	mutex_unlock(&ag->lock);
	return best;
}

static u64 kvc_cookie(u32 ag, u64 phase, u64 rest)
{
	return (u64)(ag + 1) << KVC_COOKIE_AG_SHIFT | phase | rest;
}

/**
 * struct kvc_list_read - a summary that is being read, maybe longer than we wait
 * @seg: segment, which it holds by a reader
 * @buf: memory
 * @keep: whoever began it has the memory
 */
struct kvc_list_read {
	struct kvc_segment *seg;
	void *buf;
	bool keep;
};

static void kvc_list_released(void *arg)
{
	struct kvc_list_read *r = arg;

	kvc_segment_put_reader(r->seg);
	if (!r->keep)
		kvfree(r->buf);
	kfree(r);
}

static int kvc_list_fetch(struct kvc_lister *l, struct kvc_list_read *r,
			  const struct kvc_seg *s, u32 bytes)
{
	struct kvec kv = { .iov_base = r->buf, .iov_len = bytes };
	struct iov_iter iter;
	struct kvc_xfer_desc d = {
		.set = l->join->set,
		.g = l->join->g,
		.segment = s->summary_segment,
		.offset = (u64)s->summary_offset << KVC_BLOCK_SHIFT,
		.bytes = bytes,
		.want = bytes,
		.iter = &iter,
		.release = kvc_list_released,
		.release_arg = r,
	};
	struct kvc_xfer *x;
	int err;

	iov_iter_kvec(&iter, ITER_DEST, &kv, 1, bytes);
	x = kvc_xfer_start(&d);
	if (IS_ERR(x)) {
		kvc_list_released(r);
		return PTR_ERR(x);
	}
	err = kvc_xfer_wait(x, l->a->deadline, NULL);
	r->keep = !err;
	kvc_xfer_put(x);
	return err;
}

/* Read a summary, but not for longer than the call lasts. */
static int kvc_list_read(struct kvc_lister *l, const struct kvc_seg *s,
			 void **buf)
{
	u32 bytes = s->summary_blocks << KVC_BLOCK_SHIFT;
	struct kvc_list_read *r;
	int err;

	err = kvc_list_over(l->a) ?:
	      kvc_place_health(l->join, s->summary_segment, s->summary_offset,
			       bytes);
	if (err)
		return err;
	if (!bytes)
		return -ENOENT;
	*buf = kvmalloc(bytes, GFP_KERNEL);
	r = kmalloc(sizeof(*r), GFP_KERNEL);
	if (!*buf || !r) {
		kvfree(*buf);
		kfree(r);
		return -ENOMEM;
	}
	atomic_inc(&l->seg->readers);
	r->seg = l->seg;
	r->buf = *buf;
	r->keep = false;
	err = kvc_list_fetch(l, r, s, bytes);
	if (err)
		return err;
	err = kvc_summary_verify(l->join, s, *buf);
	if (err)
		kvfree(*buf);
	return err;
}

/*
 * Call @fn for each PUT of a sealed segment. Return: what @fn returned; 0 also
 * if the summary is gone: its objects have no keys to list; -EAGAIN: it can't be
 * read now; -ETIMEDOUT, -EINTR, -ENOMEM.
 */
static int kvc_list_summary(struct kvc_lister *l, const struct kvc_seg *s,
			    int (*fn)(const struct kvc_put *put, void *arg))
{
	void *buf;
	int err;

	err = kvc_list_read(l, s, &buf);
	if (err == -ENOENT || err == -EBADMSG)
		return 0;
	if (err)
		return err == -EIO ? -EAGAIN : err;
	err = kvc_summary_for_each(l->join, s, buf, fn, l);
	kvfree(buf);
	return err == -EBADMSG ? 0 : err;
}

/* Return: 1: the call ends here, cookie set; 0: all sealed ones are through. */
static int kvc_list_sealed(struct kvc_lister *l, u64 *order, u32 offset)
{
	struct kvc_seg s;
	int err;

	while ((l->seg = kvc_list_next_sealed(l->ag, *order, &s))) {
		l->from = s.order == *order ? offset : 0;
		offset = 0;	/* the next segment is listed from its start */
		err = kvc_list_summary(l, &s, kvc_list_sealed_put);
		kvc_segment_put_reader(l->seg);
		if (err == -ENOSPC)
			return kvc_list_stop(l, kvc_cookie(l->ag->number, 0,
				s.order << KVC_COOKIE_ORDER_SHIFT |
				l->stopped_at), -E2BIG);
		if (err)
			return kvc_list_stop(l, kvc_cookie(l->ag->number, 0,
				s.order << KVC_COOKIE_ORDER_SHIFT | l->from),
				err);
		*order = s.order + 1;
		l->moved = true;
	}
	return 0;
}

/* --- phase 1: the rest of the AG --- */

static int kvc_list_more(struct kvc_lister *l)
{
	u32 max = max(64U, l->max_found * 2);
	struct kvc_listed *more = kvcalloc(max, sizeof(*more), GFP_KERNEL);

	if (!more)
		return -ENOMEM;
	if (l->nr_found)
		memcpy(more, l->found, l->nr_found * sizeof(*more));
	kvfree(l->found);
	l->found = more;
	l->max_found = max;
	return 0;
}

static int kvc_list_collect(const struct kvc_put *put, void *arg)
{
	struct kvc_lister *l = arg;
	struct kvc_listed *f;

	if (!kvc_list_wants(l->a, put) || !kvc_list_live(l, put))
		return 0;
	if (l->nr_found == l->max_found && kvc_list_more(l))
		return -ENOMEM;
	f = &l->found[l->nr_found];
	f->hash = put->hash.lo >> (64 - KVC_COOKIE_HASH_BITS);
	f->put = *put;
	f->key = kmemdup(put->key, put->key_len, GFP_KERNEL);
	if (!f->key)
		return -ENOMEM;
	l->nr_found++;
	return 0;
}

/**
 * struct kvc_log_look - a page of an unsealed segment's log, as it was
 * @seg: segment
 * @page: page, which we hold
 * @used: bytes of it that were in use: these don't change any more
 */
struct kvc_log_look {
	struct kvc_segment *seg;
	struct kvc_log_page *page;
	u32 used;
};

/*
 * All pages of all logs at one moment: what moves from one segment to another
 * later is in one of them. Taking them is all that is done under the AG's lock.
 * Return: how many there are; none are taken if that is more than @room.
 */
static u32 kvc_list_look(struct kvc_ag *ag, struct kvc_log_look *looks, u32 room)
{
	struct kvc_log_page *p;
	u32 i, n = 0, k = 0;

	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr; i++)
		if (ag->segments[i].s.state == KVC_SEG_OPEN)
			for (p = ag->segments[i].log.first; p; p = p->next)
				n++;
	for (i = 0; i < ag->nr && n <= room; i++) {
		if (ag->segments[i].s.state != KVC_SEG_OPEN)
			continue;
		for (p = ag->segments[i].log.first; p; p = p->next) {
			get_page(virt_to_page(p));
			looks[k].seg = &ag->segments[i];
			looks[k].page = p;
			looks[k++].used = p->used;
		}
	}
	mutex_unlock(&ag->lock);
	return n;
}

static int kvc_list_log_page(struct kvc_lister *l, const struct kvc_log_look *look)
{
	const struct kvc_log_item *item;
	struct kvc_record rec;
	u32 at;
	int err;

	l->seg = look->seg;
	for (at = 0; at < look->used; at += sizeof(*item) + item->length) {
		item = (const struct kvc_log_item *)(look->page->data + at);
		if (kvc_record_decode(item->record, item->length, l->join->g,
				      &rec) < 0)
			return -EUCLEAN;
		err = kvc_list_collect(&rec.put, l);
		if (err)
			return err;
	}
	return 0;
}

static int kvc_list_unsealed(struct kvc_lister *l)
{
	struct kvc_log_look *looks;
	u32 i, n, room = 16;
	int err = 0;

	for (;;) {
		looks = kvcalloc(room, sizeof(*looks), GFP_KERNEL);
		if (!looks)
			return -ENOMEM;
		n = kvc_list_look(l->ag, looks, room);
		if (n <= room)
			break;
		kvfree(looks);
		room = n + n / 4;
	}
	for (i = 0; i < n; i++) {
		if (!err)
			err = kvc_list_over(l->a) ?:
			      kvc_list_log_page(l, &looks[i]);
		free_page((unsigned long)looks[i].page);
		cond_resched();
	}
	kvfree(looks);
	return err;
}

/* Those sealed since the phase began; @order goes up, they are few. */
static int kvc_list_lately_sealed(struct kvc_lister *l, u64 order)
{
	struct kvc_seg s;
	int err = 0;

	while (!err && (l->seg = kvc_list_next_sealed(l->ag, order, &s))) {
		err = kvc_list_summary(l, &s, kvc_list_collect);
		kvc_segment_put_reader(l->seg);
		order = s.order + 1;
	}
	return err;
}

static int kvc_listed_cmp(const void *a, const void *b)
{
	u64 x = ((const struct kvc_listed *)a)->hash;
	u64 y = ((const struct kvc_listed *)b)->hash;

	return x < y ? -1 : x > y;
}

/* Return: 1: buffer full, cookie set; 0: done; -E2BIG: one hash fills it. */
static int kvc_list_give_out(struct kvc_lister *l, u64 order, u64 hash)
{
	u32 i, start_used = 0, start_count = 0;
	u64 group = ~0ULL, first = ~0ULL;

	sort(l->found, l->nr_found, sizeof(*l->found), kvc_listed_cmp, NULL);
	for (i = 0; i < l->nr_found; i++) {
		struct kvc_listed *f = &l->found[i];

		if (f->hash < hash)
			continue;
		if (f->hash != group) {
			group = f->hash;
			start_used = l->a->used;
			start_count = l->a->count;
			if (first == ~0ULL)
				first = group;
		}
		if (kvc_list_emit(l->a, &f->put, f->key))
			continue;
		/* Objects with the same bits of hash go out together. */
		if (!start_used)
			return -E2BIG;
		l->a->used = start_used;
		l->a->count = start_count;
		l->a->cookie = kvc_cookie(l->ag->number, KVC_COOKIE_PHASE,
			(order & U32_MAX) << KVC_COOKIE_HASH_BITS | group);
		return 1;
	}
	return 0;
}

static int kvc_list_rest(struct kvc_lister *l, u64 order, u64 hash)
{
	u32 i;
	int err;

	l->nr_found = 0;
	err = kvc_list_unsealed(l) ?: kvc_list_lately_sealed(l, order);
	if (err)
		err = kvc_list_stop(l, kvc_cookie(l->ag->number, KVC_COOKIE_PHASE,
			(order & U32_MAX) << KVC_COOKIE_HASH_BITS | hash), err);
	else
		err = kvc_list_give_out(l, order, hash);
	for (i = 0; i < l->nr_found; i++)
		kfree(l->found[i].key);
	kvfree(l->found);
	l->found = NULL;
	l->max_found = 0;
	return err;
}

static int kvc_list_ag(struct kvc_lister *l, u64 cookie)
{
	u64 order = (cookie & (KVC_COOKIE_PHASE - 1)) >> KVC_COOKIE_ORDER_SHIFT;
	u64 hash = 0;
	int err;

	if (cookie & KVC_COOKIE_PHASE) {
		order = (cookie & (KVC_COOKIE_PHASE - 1)) >>
			KVC_COOKIE_HASH_BITS;
		hash = cookie & ((1ULL << KVC_COOKIE_HASH_BITS) - 1);
	} else {
		err = kvc_list_sealed(l, &order, cookie & KVC_ENTRY_OFFSET);
		if (err)
			return err;
	}
	return kvc_list_rest(l, order, hash);
}

int kvc_list(struct kvc_join *join, struct kvc_list_args *a)
{
	u64 first = a->cookie >> KVC_COOKIE_AG_SHIFT;
	u64 cookie = a->cookie;
	struct kvc_lister l = { .join = join, .a = a };
	u32 ag;
	int err;

	a->used = 0;
	a->count = 0;
	if (cookie && (!first || first > join->g->nr_ags))
		return -EINVAL;
	for (ag = first ? first - 1 : 0; ag < join->g->nr_ags; ag++) {
		l.ag = &join->ags[ag];
		err = kvc_list_ag(&l, cookie);
		if (err)
			return err == 1 ? 0 : err;
		l.moved = true;
		cookie = 0;
	}
	a->cookie = 0;
	return 0;
}
