// SPDX-License-Identifier: GPL-2.0
/*
 * Eviction: reclaims the segment that was sealed longest ago. What the policy
 * (kvc_clock.h) keeps is moved into the open segment for rewrites by PUT records
 * that name the old place; the rest goes with the RETIRE.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "compat.h"
#include "ag.h"
#include "pin.h"
#include "pool.h"
#include "xfer.h"

#define KVC_COPY_BYTES	(1U << 20)	/* one nvme-rdma command */
#define KVC_MOVES	32		/* that share a commit */

/**
 * struct kvc_move - an object on its way to another segment
 * @put: its record; the key points into the victim's summary
 * @old: its entry in the victim
 * @r: its new place
 */
struct kvc_move {
	struct kvc_put put;
	struct kvc_entry *old;
	struct kvc_reservation r;
};

/**
 * struct kvc_victim - a segment that is being reclaimed
 * @ag: AG
 * @seg: segment
 * @s: what was known of it before it was retired
 * @summary: its verified summary
 * @n: objects in it
 * @objects: as the policy wants them
 * @entries: their entries, NULL if dead
 * @keep: bitmap of what to move
 * @at: object that the walk is at
 * @copy: KVC_COPY_BYTES
 * @moves: collected for the next commit
 * @nr_moves: how many
 * @dropped: bitmap of what goes, for those who follow it; or NULL
 * @anyway: what is pinned goes as well, if there is no place for it
 * @vacate: keep all that there is a place for, whatever the policy says
 */
struct kvc_victim {
	struct kvc_ag *ag;
	struct kvc_segment *seg;
	struct kvc_seg s;
	void *summary;
	u32 n;
	struct kvc_clock_object *objects;
	struct kvc_entry **entries;
	unsigned long *keep;
	u32 at;
	void *copy;
	struct kvc_move *moves;
	u32 nr_moves;
	unsigned long *dropped;
	bool anyway;
	bool vacate;
};

/*
 * The one sealed longest ago, but behind order @above; or, when dead objects
 * would make a checkpoint too large, the one with most of these. One without
 * live objects goes first.
 */
static struct kvc_segment *kvc_evict_choose(struct kvc_ag *ag, bool tight,
					    u64 above)
{
	struct kvc_segment *best = NULL;
	u32 i;

	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		/* On a member that is away it could not be used again. */
		if (seg->s.state != KVC_SEG_SEALED ||
		    !kvc_segment_healthy(seg))
			continue;
		if (!atomic_read(&seg->live))
			return seg;
		if (seg->s.order < above)
			continue;
		if (!best ||
		    (tight ? atomic_read(&seg->dead) > atomic_read(&best->dead) :
			     seg->s.order < best->s.order))
			best = seg;
	}
	return best;
}

static int kvc_evict_look(const struct kvc_put *put, void *arg)
{
	struct kvc_victim *v = arg;
	struct kvc_join *join = v->ag->join;
	struct kvc_exact exact = {
		.hash = put->hash,
		.segment = v->seg,
		.offset = put->offset,
	};
	struct kvc_clock_object *o;
	struct kvc_entry *e;
	u64 now = ktime_get_real_seconds();
	u32 where;

	if (v->at >= v->n)
		return -EBADMSG;
	o = &v->objects[v->at];
	rcu_read_lock();
	e = kvc_index_find_exact(&join->index, &exact);
	rcu_read_unlock();
	/* The worker alone forgets entries of this AG: @e stays valid. */
	where = e ? atomic_read(&e->where) : KVC_ENTRY_DEAD;
	v->entries[v->at++] = e;
	o->live = (where & KVC_ENTRY_LIVE) &&
		  !(where & (KVC_ENTRY_DEAD | KVC_ENTRY_DYING));
	if (!o->live)
		return 0;
	o->bytes = kvc_bytes_to_blocks(put->bytes) << KVC_BLOCK_SHIFT;
	o->depth = put->depth;
	o->touched = where & KVC_ENTRY_TOUCHED;
	o->expired = put->expiry && put->expiry <= now;
	o->pinned = kvc_pin_holds(e, now);
	return 0;
}

static void kvc_victim_free(struct kvc_victim *v)
{
	kvfree(v->summary);
	kvfree(v->objects);
	kvfree(v->entries);
	kvfree(v->keep);
	kvfree(v->copy);
	kvfree(v->moves);
	kvfree(v->dropped);
}

/*
 * A member that is away may have the summary when it is back. If all are there,
 * blocks of it can't be read any more, and waiting would end reclaim for good.
 */
static int kvc_victim_read(struct kvc_victim *v)
{
	int err, tries;

	for (tries = 0; tries < 3; tries++) {
		err = kvc_summary_read(v->ag->join, &v->seg->s, &v->summary);
		if (err != -EIO || !kvc_segment_healthy(v->seg))
			return err;
	}
	return -EBADMSG;
}

static int kvc_victim_init(struct kvc_victim *v)
{
	int err;

	err = kvc_victim_read(v);
	if (err)
		return err;
	v->n = v->seg->s.objects;
	v->objects = kvcalloc(v->n, sizeof(*v->objects), GFP_KERNEL);
	v->entries = kvcalloc(v->n, sizeof(*v->entries), GFP_KERNEL);
	v->keep = kvcalloc(KVC_CLOCK_WORDS(v->n), sizeof(*v->keep), GFP_KERNEL);
	v->copy = kvmalloc(KVC_COPY_BYTES, GFP_KERNEL);
	v->moves = kvcalloc(KVC_MOVES, sizeof(*v->moves), GFP_KERNEL);
	if (!v->objects || !v->entries || !v->keep || !v->copy || !v->moves)
		return -ENOMEM;
	return kvc_summary_for_each(v->ag->join, &v->seg->s, v->summary,
				    kvc_evict_look, v);
}

static int kvc_copy_piece(struct kvc_victim *v, bool write, u32 segment,
			  u64 offset, u32 bytes)
{
	struct kvec kv = { .iov_base = v->copy, .iov_len = bytes };
	struct iov_iter iter;
	struct kvc_xfer_desc d = {
		.set = v->ag->join->set,
		.g = v->ag->join->g,
		.write = write,
		.life = KVC_LIFE_LONG,
		.segment = segment,
		.offset = offset,
		.bytes = bytes,
		.want = bytes,
		.iter = &iter,
	};
	struct kvc_xfer *x;
	int err;

	iov_iter_kvec(&iter, write ? ITER_SOURCE : ITER_DEST, &kv, 1, bytes);
	x = kvc_xfer_start(&d);
	if (IS_ERR(x))
		return PTR_ERR(x);
	/* @copy is ours alone, so there is no giving up while it is in flight. */
	do {
		err = kvc_xfer_wait(x, jiffies + HZ, NULL);
	} while (err == -ETIMEDOUT);
	kvc_xfer_put(x);
	return err;
}

static int kvc_move_copy(struct kvc_victim *v, struct kvc_move *m)
{
	u64 from = (u64)m->put.offset << KVC_BLOCK_SHIFT;
	u64 to = (u64)m->r.offset << KVC_BLOCK_SHIFT;
	u32 crc = kvc_data_crc_seed(m->put.hash);
	u32 done, piece;
	int err;

	for (done = 0; done < m->put.bytes; done += piece) {
		piece = min(m->put.bytes - done, KVC_COPY_BYTES);
		err = kvc_copy_piece(v, false, v->seg->s.number, from + done,
				     piece);
		if (err)
			return err;
		crc = crc32c(crc, v->copy, piece);
		err = kvc_copy_piece(v, true, m->r.segment->s.number,
				     to + done, piece);
		if (err)
			return err;
	}
	if (!(v->ag->join->g->flags & KVC_POOL_NO_DATA_CRC) &&
	    crc != m->put.data_crc) {
		kvc_stat_inc(v->ag->join->pool->stats, KVC_STAT_BAD_DATA);
		return -EBADMSG;
	}
	return 0;
}

static int kvc_move_reserve(struct kvc_victim *v, struct kvc_move *m)
{
	struct kvc_ag *ag = v->ag;
	struct kvc_segment *seg;
	int err;

	err = kvc_ag_reserve(ag, KVC_STREAM_REWRITE, m->put.hash,
			     m->put.key_len, m->put.bytes, m->put.depth,
			     m->put.expiry, &m->r);
	if (err != -EAGAIN || kvc_ag_logs_full(ag))
		return err;
	mutex_lock(&ag->lock);
	if (ag->open[KVC_STREAM_REWRITE]) {
		ag->open[KVC_STREAM_REWRITE]->role = KVC_ROLE_FULL;
		ag->open[KVC_STREAM_REWRITE] = NULL;
	}
	mutex_unlock(&ag->lock);
	err = kvc_ag_open_segment(ag, 0, &seg);
	if (err)
		return err;
	mutex_lock(&ag->lock);
	seg->role = KVC_ROLE_ACTIVE;
	ag->open[KVC_STREAM_REWRITE] = seg;
	mutex_unlock(&ag->lock);
	return kvc_ag_reserve(ag, KVC_STREAM_REWRITE, m->put.hash,
			      m->put.key_len, m->put.bytes, m->put.depth,
			      m->put.expiry, &m->r);
}

/* Journal one move, if its object is still there (protocol rule 23). */
static int kvc_move_append(struct kvc_ag *ag, struct kvc_move *m)
{
	struct kvc_put put = m->put;
	u32 where;
	int err;

	put.moved = true;
	put.old_segment = m->put.segment;
	put.old_offset = m->put.offset;
	put.old_generation = m->put.generation;
	put.segment = m->r.segment->s.number;
	put.offset = m->r.offset;
	put.generation = m->r.segment->s.generation;
	for (;;) {
		mutex_lock(&ag->lock);
		where = atomic_read(&m->old->where);
		if (where & (KVC_ENTRY_DEAD | KVC_ENTRY_DYING)) {
			err = -ENOENT;
		} else {
			err = kvc_ag_append_put(ag, &put, &m->r, NULL,
						kvc_ag_worker_reserve(ag));
			if (!err)
				atomic_or(KVC_ENTRY_DYING, &m->old->where);
		}
		mutex_unlock(&ag->lock);
		if (err != -EAGAIN)
			return err;
		err = kvc_journal_make_room(&ag->journal, jiffies + HZ);
		if (err && err != -ETIMEDOUT)
			return err;
		if (READ_ONCE(ag->join->stopping))
			return -ECANCELED;
	}
}

/* The moves are durable: readers find the new place from here on. */
static void kvc_moves_publish(struct kvc_victim *v)
{
	struct kvc_join *join = v->ag->join;
	u32 i;

	for (i = 0; i < v->nr_moves; i++) {
		struct kvc_move *m = &v->moves[i];

		kvc_pin_move(m->old, m->r.entry);
		kvc_ag_publish(&m->r);
		if (kvc_index_replace(&join->index, m->old, m->r.entry) &&
		    kvc_index_add(&join->index, m->r.entry))
			kvc_ag_entry_died(m->r.entry);
		else
			kvc_presence_add(join->pool, m->r.entry);
		kvc_ag_entry_died(m->old);
		kvc_stat_inc(join->pool->stats, KVC_STAT_REWRITTEN);
		kvc_stat_add(join->pool->stats, KVC_STAT_REWRITTEN_BYTES,
			     m->put.bytes);
	}
}

/*
 * Whether the moves are on media is not known, and all goes soon. Nothing may
 * be built upon them, and nobody may wait for their writers any more.
 */
static void kvc_moves_abandon(struct kvc_victim *v)
{
	u32 i;

	kvc_journal_kill(&v->ag->journal, -EIO);
	for (i = 0; i < v->nr_moves; i++)
		kvc_ag_release(&v->moves[i].r);
}

static int kvc_moves_commit(struct kvc_victim *v)
{
	struct kvc_ag *ag = v->ag;
	u32 i, kept = 0;
	int err = 0;
	u64 position;

	if (!v->nr_moves)
		return 0;
	mutex_lock(&ag->lock);
	ag->moving = v->seg;
	mutex_unlock(&ag->lock);
	for (i = 0; i < v->nr_moves; i++) {
		if (!err)
			err = kvc_move_append(ag, &v->moves[i]);
		if (!err)
			v->moves[kept++] = v->moves[i];
		else
			kvc_ag_release(&v->moves[i].r);
		if (err == -ENOENT)
			err = 0;
	}
	v->nr_moves = kept;
	if (kept) {
		position = kvc_journal_end(&ag->journal);
		if (!kvc_ag_settle(ag, position - 1)) {
			kvc_moves_publish(v);
		} else {
			kvc_moves_abandon(v);
			err = -EIO;
		}
	}
	v->nr_moves = 0;
	mutex_lock(&ag->lock);
	ag->moving = NULL;
	mutex_unlock(&ag->lock);
	wake_up_all(&ag->wait);
	return err;
}

static int kvc_evict_move(const struct kvc_put *put, void *arg)
{
	struct kvc_victim *v = arg;
	u32 i = v->at++;
	struct kvc_move *m = &v->moves[v->nr_moves];
	int err;

	if (!kvc_clock_kept(v->keep, i))
		return READ_ONCE(v->ag->join->stopping) ? -ECANCELED : 0;
	m->put = *put;
	m->old = v->entries[i];
	err = kvc_move_reserve(v, m);
	if (err == -EAGAIN || err == -ENOMEM) {
		/* No place to keep it: it is dropped, unless it is pinned. */
		if (!v->objects[i].pinned || v->anyway)
			return 0;
		return -EAGAIN;
	}
	if (err)
		return err;
	m->r.entry->data_crc = put->data_crc;
	err = kvc_move_copy(v, m);
	if (err) {
		kvc_ag_release(&m->r);
		return err == -ESTALE ? err : 0;
	}
	if (++v->nr_moves == KVC_MOVES)
		return kvc_moves_commit(v);
	return 0;
}

static void kvc_evict_count(struct kvc_victim *v)
{
	struct kvc_stats __percpu *stats = v->ag->join->pool->stats;
	u32 i;

	for (i = 0; i < v->n; i++) {
		struct kvc_entry *e = v->entries[i];

		if (!e || (atomic_read(&e->where) & KVC_ENTRY_DEAD))
			continue;
		if (v->dropped)
			__set_bit(i, v->dropped);
		if (v->objects[i].expired) {
			kvc_stat_inc(stats, KVC_STAT_EXPIRED);
			continue;
		}
		kvc_stat_inc(stats, KVC_STAT_EVICTED);
		kvc_stat_add(stats, KVC_STAT_EVICTED_BYTES, e->bytes);
	}
}

/* --- those who follow --- */

static void kvc_evict_follow(struct kvc_victim *v)
{
	if (v->n && kvc_watched(&v->ag->join->pool->watches))
		v->dropped = kvcalloc(BITS_TO_LONGS(v->n),
				      sizeof(*v->dropped), GFP_KERNEL);
}

static int kvc_evict_tell_one(const struct kvc_put *put, void *arg)
{
	struct kvc_victim *v = arg;
	struct kvc_join *join = v->ag->join;
	const u32 i = v->at++;
	bool anew;

	if (!test_bit(i, v->dropped))
		return 0;
	rcu_read_lock();
	anew = kvc_index_find(&join->index, &put->hash,
			      ktime_get_real_seconds());
	rcu_read_unlock();
	if (!anew)
		kvc_watch_tell(&join->pool->watches,
			       v->objects[i].expired ? KVCACHE_EVENT_EXPIRED :
						       KVCACHE_EVENT_EVICTED,
			       put->tenant, put->key, put->key_len, put->bytes);
	return 0;
}

/* Tell what went with a segment, now that it can't be hit any more. */
static void kvc_evict_tell(struct kvc_victim *v)
{
	struct kvc_watches *w = &v->ag->join->pool->watches;

	v->at = 0;
	if (v->dropped)
		kvc_summary_for_each(v->ag->join, &v->s, v->summary,
				     kvc_evict_tell_one, v);
	else if (kvc_watched(w))
		kvc_watch_rescan(w);	/* no keys, or no memory for them */
}

/* What is to be moved off a member that is drained: all that counts. */
static void kvc_vacate_plan(struct kvc_victim *v)
{
	u32 i;

	if (kvc_ag_drains(v->ag))
		return;
	for (i = 0; i < v->n; i++)
		if (v->objects[i].live && !v->objects[i].expired)
			__set_bit(i, v->keep);
}

static int kvc_evict_keep(struct kvc_victim *v)
{
	struct kvc_ag *ag = v->ag;
	bool pressed;
	int err;

	mutex_lock(&ag->lock);
	pressed = kvc_reserve_pressed(ag->nr, kvc_ag_usable(ag));
	if (v->vacate)
		kvc_vacate_plan(v);
	else
		kvc_clock_plan(v->objects, v->n, &ag->budget, pressed, v->keep);
	mutex_unlock(&ag->lock);
	v->at = 0;
	err = kvc_summary_for_each(ag->join, &v->seg->s, v->summary,
				   kvc_evict_move, v);
	return kvc_moves_commit(v) ?: err;
}

/* Pins that were set before are seen by kvc_evict_look(), later ones refused. */
static void kvc_evict_claim(struct kvc_ag *ag, struct kvc_segment *victim)
{
	mutex_lock(&ag->lock);
	ag->victim = victim;
	mutex_unlock(&ag->lock);
}

/* -EAGAIN: something in it is pinned, and there is no place for it. */
static int kvc_evict_segment(struct kvc_segment *seg, bool anyway, bool vacate)
{
	struct kvc_ag *ag = seg->ag;
	struct kvc_victim v = {
		.ag = ag,
		.seg = seg,
		.anyway = anyway,
		.vacate = vacate,
	};
	int err;

	if (!atomic_read(&seg->live))
		return kvc_segment_retire(seg);

	kvc_evict_claim(ag, seg);
	err = kvc_victim_init(&v);
	if (err == -EIO || err == -ESTALE || err == -ENOMEM)
		goto out;	/* not this moment */
	if (err)
		pr_warn_ratelimited("segment %u: its summary can't be read (%d): nothing of it is kept\n",
				    seg->s.number, err);
	else
		err = kvc_evict_keep(&v);
	if (err == -EBADMSG || err == -EIO)
		err = READ_ONCE(ag->journal.killed);
	if (err)
		goto out;
	v.s = seg->s;
	kvc_evict_follow(&v);
	kvc_evict_count(&v);
	err = kvc_segment_retire(seg);
	if (!err)
		kvc_evict_tell(&v);
out:
	kvc_evict_claim(ag, NULL);
	kvc_victim_free(&v);
	return err;
}

/*
 * What is pinned needs a place to go to. There may be none, since the journal
 * has no room for more records of unsealed segments: then some must be sealed
 * first. Or a crash has left no clean segment: then a segment goes in which
 * nothing is pinned, and if there is none, the oldest with all that it has, since
 * else nothing could be put any more.
 */
int kvc_ag_evict(struct kvc_ag *ag, bool tight)
{
	struct kvc_segment *seg = kvc_evict_choose(ag, tight, 0);
	int err;

	if (!seg)
		return -EAGAIN;
	while (seg) {
		err = kvc_evict_segment(seg, false, false);
		if (err != -EAGAIN || kvc_ag_logs_full(ag))
			return err;
		seg = kvc_evict_choose(ag, false, tight ? 0 : seg->s.order + 1);
		tight = false;
	}
	seg = kvc_evict_choose(ag, false, 0);
	return seg ? kvc_evict_segment(seg, true, false) : -EAGAIN;
}

int kvc_ag_vacate(struct kvc_ag *ag)
{
	const bool all = kvc_ag_drains(ag);
	u32 i;

	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (seg->s.state == KVC_SEG_SEALED && kvc_segment_healthy(seg) &&
		    (all || kvc_segment_drains(seg)))
			return kvc_evict_segment(seg, true, true) ?: 1;
	}
	return 0;
}
