// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "index.h"

#define KVC_INDEX_TRIES	1000
#define KVC_WALK_BUCKETS 256	/* in one go */

static u32 kvc_index_hash(const void *data, u32 len, u32 seed)
{
	const struct kvc_hash *h = data;

	/* The hash is keyed and random already; the seed only has to mix in. */
	return (u32)(h->hi >> 32) ^ seed;
}

static u32 kvc_index_hash_entry(const void *data, u32 len, u32 seed)
{
	return kvc_index_hash(&((const struct kvc_entry *)data)->hash, len, seed);
}

static int kvc_index_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct kvc_hash *h = arg->key;
	const struct kvc_entry *e = obj;

	return h->lo != e->hash.lo || h->hi != e->hash.hi;
}

static int kvc_index_cmp_exact(struct rhashtable_compare_arg *arg,
			       const void *obj)
{
	const struct kvc_exact *x = arg->key;
	const struct kvc_entry *e = obj;

	return x->hash.lo != e->hash.lo || x->hash.hi != e->hash.hi ||
	       x->offset != kvc_entry_offset(e) ||
	       x->segment != kvc_entry_segment(e);
}

/* A key to search for, and what time it is. */
struct kvc_wanted {
	struct kvc_hash hash;
	u64 now;
	bool (*filter)(const struct kvc_entry *e);
};

static int kvc_index_cmp_live(struct rhashtable_compare_arg *arg,
			      const void *obj)
{
	const struct kvc_wanted *w = arg->key;
	const struct kvc_entry *e = obj;

	return w->hash.lo != e->hash.lo || w->hash.hi != e->hash.hi ||
	       (atomic_read(&e->where) & (KVC_ENTRY_LIVE | KVC_ENTRY_DEAD)) !=
		       KVC_ENTRY_LIVE ||
	       kvc_entry_expired(e, w->now);
}

static int kvc_index_cmp_if(struct rhashtable_compare_arg *arg,
			    const void *obj)
{
	const struct kvc_wanted *w = arg->key;

	return kvc_index_cmp_live(arg, obj) || !w->filter(obj);
}

/*
 * One table and four ways to search it: any entry of the key, one that can be
 * hit, one of these that somebody chooses, one exact copy. All their keys begin
 * with the hash.
 */
#define KVC_INDEX_PARAMS(cmp)						\
	{								\
		.head_offset = offsetof(struct kvc_entry, node),	\
		.key_offset = offsetof(struct kvc_entry, hash),		\
		.key_len = sizeof(struct kvc_hash),			\
		.hashfn = kvc_index_hash,				\
		.obj_hashfn = kvc_index_hash_entry,			\
		.obj_cmpfn = cmp,					\
		.automatic_shrinking = true,				\
	}

static const struct rhashtable_params kvc_index_params =
	KVC_INDEX_PARAMS(kvc_index_cmp);
static const struct rhashtable_params kvc_index_live_params =
	KVC_INDEX_PARAMS(kvc_index_cmp_live);
static const struct rhashtable_params kvc_index_if_params =
	KVC_INDEX_PARAMS(kvc_index_cmp_if);
static const struct rhashtable_params kvc_index_exact_params =
	KVC_INDEX_PARAMS(kvc_index_cmp_exact);

int kvc_index_init(struct kvc_index *x)
{
	BUILD_BUG_ON(sizeof(struct kvc_entry) != 40);
	BUILD_BUG_ON(offsetof(struct kvc_exact, hash) != 0);
	BUILD_BUG_ON(offsetof(struct kvc_wanted, hash) != 0);
	atomic_long_set(&x->chunks, 0);
	return rhashtable_init(&x->table, &kvc_index_params);
}

void kvc_index_destroy(struct kvc_index *x)
{
	rhashtable_destroy(&x->table);
}

u64 kvc_index_bytes(const struct kvc_index *x)
{
	const struct bucket_table *tbl;
	u64 bytes = (u64)atomic_long_read(&x->chunks) << PAGE_SHIFT;

	rcu_read_lock();
	tbl = rcu_dereference(x->table.tbl);
	bytes += sizeof(*tbl) + (u64)tbl->size * sizeof(tbl->buckets[0]);
	rcu_read_unlock();
	return bytes;
}

struct kvc_entry *kvc_entry_alloc(struct kvc_index *x,
				  struct kvc_segment *segment,
				  struct kvc_chunk **chunks,
				  struct kvc_chunk **spare)
{
	struct kvc_chunk *c = *chunks;

	if (!c || c->used == KVC_CHUNK_ENTRIES) {
		c = *spare;
		if (!c)
			return NULL;
		*spare = NULL;
		c->segment = segment;
		c->next = *chunks;
		*chunks = c;
		atomic_long_inc(&x->chunks);
	}
	return &c->entries[c->used++];
}

void kvc_entry_init(struct kvc_entry *e, struct kvc_hash hash, u32 offset,
		    u32 bytes, u32 depth, u64 expiry)
{
	e->hash = hash;
	e->bytes = bytes;
	e->data_crc = 0;
	e->expiry = min_t(u64, expiry, U32_MAX);
	atomic_set(&e->where, offset | min(depth, KVC_ENTRY_DEPTH_MAX) <<
					       KVC_ENTRY_DEPTH_SHIFT);
}

static void kvc_chunk_free_rcu(struct rcu_head *rcu)
{
	free_page((unsigned long)container_of(rcu, struct kvc_chunk, rcu));
}

void kvc_chunks_free(struct kvc_index *x, struct kvc_chunk *chunks)
{
	while (chunks) {
		struct kvc_chunk *c = chunks;

		chunks = c->next;
		atomic_long_dec(&x->chunks);
		call_rcu(&c->rcu, kvc_chunk_free_rcu);
	}
}

struct kvc_entry *kvc_index_find(struct kvc_index *x, const struct kvc_hash *h,
				 u64 now)
{
	const struct kvc_wanted w = { .hash = *h, .now = now };

	return rhashtable_lookup(&x->table, &w, kvc_index_live_params);
}

struct kvc_entry *kvc_index_find_if(struct kvc_index *x,
				    const struct kvc_hash *h, u64 now,
				    bool (*filter)(const struct kvc_entry *e))
{
	const struct kvc_wanted w = { .hash = *h, .now = now, .filter = filter };

	return rhashtable_lookup(&x->table, &w, kvc_index_if_params);
}

struct kvc_entry *kvc_index_find_any(struct kvc_index *x,
				     const struct kvc_hash *h)
{
	return rhashtable_lookup(&x->table, h, kvc_index_params);
}

struct kvc_entry *kvc_index_find_exact(struct kvc_index *x,
				       const struct kvc_exact *e)
{
	return rhashtable_lookup(&x->table, e, kvc_index_exact_params);
}

struct kvc_entry *kvc_index_claim(struct kvc_index *x, struct kvc_entry *e)
{
	return rhashtable_lookup_get_insert_key(&x->table, &e->hash, &e->node,
						kvc_index_params);
}

int kvc_index_add(struct kvc_index *x, struct kvc_entry *e)
{
	int err, tries = 0;

	/*
	 * The table grows in a work of its own. While that is under way, or waits
	 * for memory, a table that fills up meanwhile takes nothing.
	 */
	do {
		err = rhashtable_insert_fast(&x->table, &e->node,
					     kvc_index_params);
		if (err != -EBUSY && err != -ENOMEM)
			break;
		msleep(1);
	} while (++tries < KVC_INDEX_TRIES);
	return err;
}

bool kvc_index_remove(struct kvc_index *x, struct kvc_entry *e)
{
	return !rhashtable_remove_fast(&x->table, &e->node, kvc_index_params);
}

int kvc_index_replace(struct kvc_index *x, struct kvc_entry *old,
		      struct kvc_entry *new)
{
	return rhashtable_replace_fast(&x->table, &old->node, &new->node,
				       kvc_index_params);
}

/*
 * Some buckets of a table. Return: where to go on. The chain of an entry that is
 * moved to the next table meanwhile leads on into that: it was the chain's last.
 */
static u32 kvc_index_walk_some(const struct bucket_table *tbl, u32 at,
			       void (*fn)(struct kvc_entry *e, void *arg),
			       void *arg)
{
	struct rhash_head *pos;
	struct kvc_entry *e;
	u32 n;

	for (n = 0; n < KVC_WALK_BUCKETS && at < tbl->size; n++, at++)
		rht_for_each_entry_rcu(e, pos, tbl, at, node)
			fn(e, arg);
	return at;
}

/*
 * rhashtable's own walk may miss entries behind one that is removed while it is
 * not under RCU. Entries move to a table's @future_tbl, so that is walked after it;
 * when all have moved it becomes the index's, and all begins again.
 */
int kvc_index_walk(struct kvc_index *x,
		   void (*fn)(struct kvc_entry *e, void *arg), void *arg)
{
	struct bucket_table *first, *tbl;
	u32 at, rnd;

begin:
	rcu_read_lock();
	first = rcu_dereference(x->table.tbl);
	rnd = first->hash_rnd;
	for (tbl = first; tbl; tbl = rcu_dereference(tbl->future_tbl)) {
		for (at = 0; at < tbl->size;) {
			at = kvc_index_walk_some(tbl, at, fn, arg);
			rcu_read_unlock();
			cond_resched();
			if (fatal_signal_pending(current))
				return -EINTR;
			rcu_read_lock();
			/* As long as this is the index's, @tbl is there, too. */
			if (rcu_dereference(x->table.tbl) == first &&
			    first->hash_rnd == rnd)
				continue;
			rcu_read_unlock();
			goto begin;
		}
	}
	rcu_read_unlock();
	return 0;
}
