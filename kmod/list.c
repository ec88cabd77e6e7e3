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
#include <linux/slab.h>
#include <linux/sort.h>
#include <uapi/linux/kvcache.h>
#include "list.h"

#define KVC_COOKIE_AG_SHIFT	53
#define KVC_COOKIE_PHASE	(1ULL << 52)
#define KVC_COOKIE_ORDER_SHIFT	18
#define KVC_COOKIE_HASH_BITS	20

struct kvc_lister {
	struct kvc_join *join;
	struct kvc_ag *ag;
	struct kvc_list_args *a;
	struct kvc_segment *seg;
	u32 from;		/* phase 0: offset to begin with */
	u32 stopped_at;		/* and that did not fit */
	/* phase 1: what is found, sorted by hash before it is given out */
	struct kvc_listed *found;
	u32 nr_found;
	u32 max_found;
};

struct kvc_listed {
	u64 hash;
	struct kvc_put put;
	u8 *key;
};

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

/* Return: 1: buffer full, cookie set; 0: all sealed ones are through. */
static int kvc_list_sealed(struct kvc_lister *l, u64 *order, u32 offset)
{
	struct kvc_seg s;
	void *buf;
	int err;

	while ((l->seg = kvc_list_next_sealed(l->ag, *order, &s))) {
		l->from = s.order == *order ? offset : 0;
		offset = 0;	/* the next segment is listed from its start */
		err = kvc_summary_read(l->join, &s, &buf);
		if (!err) {
			err = kvc_summary_for_each(l->join, &s, buf,
						   kvc_list_sealed_put, l);
			kvfree(buf);
		}
		kvc_segment_put_reader(l->seg);
		if (err == -ENOMEM)
			return err;
		if (err == -ENOSPC) {
			l->a->cookie = kvc_cookie(l->ag->number, 0,
				s.order << KVC_COOKIE_ORDER_SHIFT | l->stopped_at);
			return 1;
		}
		/* A summary that is gone: its objects have no keys to list. */
		*order = s.order + 1;
		if (time_after(jiffies, l->a->deadline) && l->a->count) {
			l->a->cookie = kvc_cookie(l->ag->number, 0,
					*order << KVC_COOKIE_ORDER_SHIFT);
			return 1;
		}
	}
	return 0;
}

/* --- phase 1: the rest of the AG --- */

static int kvc_list_collect(struct kvc_lister *l, const struct kvc_put *put)
{
	struct kvc_listed *f;

	if (!kvc_list_wants(l->a, put) || !kvc_list_live(l, put))
		return 0;
	if (l->nr_found == l->max_found)
		return -ENOSPC;
	f = &l->found[l->nr_found];
	f->hash = put->hash.lo >> (64 - KVC_COOKIE_HASH_BITS);
	f->put = *put;
	f->key = kmemdup(put->key, put->key_len, GFP_NOFS);
	if (!f->key)
		return -ENOMEM;
	l->nr_found++;
	return 0;
}

static int kvc_list_collect_put(const struct kvc_put *put, void *arg)
{
	return kvc_list_collect(arg, put);
}

static int kvc_list_collect_item(const struct kvc_log_item *item, void *arg)
{
	struct kvc_lister *l = arg;
	struct kvc_record rec;

	if (kvc_record_decode(item->record, item->length, l->join->g, &rec) < 0)
		return -EUCLEAN;
	return kvc_list_collect(l, &rec.put);
}

/* All unsealed segments: their logs change under the AG's lock only. */
static int kvc_list_unsealed(struct kvc_lister *l)
{
	struct kvc_ag *ag = l->ag;
	u32 i;
	int err = 0;

	lockdep_assert_held(&ag->lock);
	for (i = 0; i < ag->nr && !err; i++) {
		l->seg = &ag->segments[i];
		if (l->seg->s.state == KVC_SEG_OPEN)
			err = kvc_log_for_each(&l->seg->log,
					       kvc_list_collect_item, l);
	}
	return err;
}

static u32 kvc_list_bound(struct kvc_ag *ag)
{
	u32 i, n = 0;

	lockdep_assert_held(&ag->lock);
	for (i = 0; i < ag->nr; i++)
		if (ag->segments[i].s.state == KVC_SEG_OPEN)
			n += ag->segments[i].log.count;
	return n;
}

/* Those sealed since the phase began; @order goes up, they are few. */
static int kvc_list_lately_sealed(struct kvc_lister *l, u64 order)
{
	struct kvc_listed *more;
	struct kvc_seg s;
	void *buf;
	int err;

	while ((l->seg = kvc_list_next_sealed(l->ag, order, &s))) {
		err = kvc_summary_read(l->join, &s, &buf);
		if (!err) {
			more = kvcalloc(l->nr_found + s.objects, sizeof(*more),
					GFP_KERNEL);
			if (more) {
				memcpy(more, l->found,
				       l->nr_found * sizeof(*more));
				kvfree(l->found);
				l->found = more;
				l->max_found = l->nr_found + s.objects;
				err = kvc_summary_for_each(l->join, &s, buf,
						kvc_list_collect_put, l);
			} else {
				err = -ENOMEM;
			}
			kvfree(buf);
		}
		kvc_segment_put_reader(l->seg);
		if (err == -ENOMEM || err == -ENOSPC)
			return err;
		order = s.order + 1;
	}
	return 0;
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
	struct kvc_ag *ag = l->ag;
	u32 i;
	int err;

	mutex_lock(&ag->lock);
	l->max_found = kvc_list_bound(ag);
	mutex_unlock(&ag->lock);
	do {
		l->max_found = l->max_found * 2 + 64;
		l->found = kvcalloc(l->max_found, sizeof(*l->found), GFP_KERNEL);
		if (!l->found)
			return -ENOMEM;
		l->nr_found = 0;
		mutex_lock(&ag->lock);
		err = kvc_list_unsealed(l);
		mutex_unlock(&ag->lock);
		if (!err)
			err = kvc_list_lately_sealed(l, order);
		if (!err)
			err = kvc_list_give_out(l, order, hash);
		for (i = 0; i < l->nr_found; i++)
			kfree(l->found[i].key);
		kvfree(l->found);
		l->found = NULL;
	} while (err == -ENOSPC);
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
		if (l.ag->owned) {
			err = kvc_list_ag(&l, cookie);
			if (err)
				return err == 1 ? 0 : err;
		}
		cookie = 0;
		if (a->count && time_after(jiffies, a->deadline) &&
		    ag + 1 < join->g->nr_ags) {
			a->cookie = kvc_cookie(ag + 1, 0, 0);
			return 0;
		}
	}
	a->cookie = 0;
	return 0;
}
