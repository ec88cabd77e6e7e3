// SPDX-License-Identifier: GPL-2.0
/* Allocation groups in memory: reservation, records, the life of an entry. */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ag.h"
#include "pin.h"
#include "pool.h"
#include "tracepoints.h"

/* --- the log of an unsealed segment --- */

void kvc_log_free(struct kvc_log *log)
{
	while (log->first) {
		struct kvc_log_page *p = log->first;

		log->first = p->next;
		free_page((unsigned long)p);
	}
	memset(log, 0, sizeof(*log));
}

static struct kvc_log_page *kvc_log_room(struct kvc_log *log, u32 bytes)
{
	struct kvc_log_page *p = log->last;

	if (p && p->used + bytes <= KVC_LOG_PAGE_DATA)
		return p;
	p = (struct kvc_log_page *)get_zeroed_page(GFP_NOFS);
	if (!p)
		return NULL;
	if (log->last)
		log->last->next = p;
	else
		log->first = p;
	log->last = p;
	return p;
}

int kvc_log_append(struct kvc_log *log, struct kvc_entry *entry,
		   const struct kvc_put *put)
{
	u32 length = kvc_put_length(put->key_len);
	struct kvc_record rec = { .type = KVC_REC_PUT, .put = *put };
	struct kvc_log_item *item;
	struct kvc_log_page *p;

	p = kvc_log_room(log, sizeof(*item) + length);
	if (!p)
		return -ENOMEM;
	item = (struct kvc_log_item *)(p->data + p->used);
	if (WARN_ON_ONCE(kvc_record_encode(item->record, length, &rec) != length))
		return -EINVAL;
	item->entry = entry;
	item->length = length;
	p->used += sizeof(*item) + length;
	log->count++;
	log->bytes += length;
	return 0;
}

/* Take the item back that was appended last. */
static void kvc_log_unappend(struct kvc_log *log, u32 length)
{
	log->last->used -= sizeof(struct kvc_log_item) + length;
	log->count--;
	log->bytes -= length;
}

int kvc_log_for_each(const struct kvc_log *log,
		     int (*fn)(const struct kvc_log_item *item, void *arg),
		     void *arg)
{
	const struct kvc_log_page *p;
	const struct kvc_log_item *item;
	u32 at;
	int err;

	for (p = log->first; p; p = p->next) {
		for (at = 0; at < p->used; at += sizeof(*item) + item->length) {
			item = (const struct kvc_log_item *)(p->data + at);
			err = fn(item, arg);
			if (err)
				return err;
		}
	}
	return 0;
}

/* --- AGs --- */

struct kvc_segset *kvc_segset_alloc(struct kvc_ag *ag)
{
	struct kvc_segset *set;
	u32 i;

	set = kvzalloc(struct_size(set, segments, ag->nr), GFP_KERNEL);
	if (!set)
		return NULL;
	INIT_LIST_HEAD(&set->node);
	set->ag = ag;
	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &set->segments[i];

		seg->ag = ag;
		seg->s.number = ag->first + i;
		seg->members = kvc_segment_members(ag->join->g, seg->s.number);
	}
	return set;
}

int kvc_ag_init(struct kvc_ag *ag, struct kvc_join *join, u32 number)
{
	const struct kvc_geometry *g = join->g;

	ag->join = join;
	ag->number = number;
	ag->nr = kvc_ag_nr_segments(g, number);
	ag->first = kvc_ag_first_segment(g, number);
	mutex_init(&ag->lock);
	init_waitqueue_head(&ag->wait);
	xa_init(&ag->pins);
	ag->pins_end = U64_MAX;
	INIT_DELAYED_WORK(&ag->work, kvc_ag_work);
	INIT_WORK(&ag->watch, kvc_put_follow_work);
	INIT_LIST_HEAD(&ag->watched);
	spin_lock_init(&ag->watch_lock);
	ag->free_low = kvc_reserve_low(ag->nr);
	ag->free_high = kvc_reserve_high(ag->nr);
	kvc_budget_init(&ag->budget, KVC_BUDGET_PERCENT,
			KVC_BUDGET_SEGMENTS * kvc_segment_bytes(g));
	/*
	 * A checkpoint may take a quarter of the ring (see worker.c); an eighth
	 * of that is left for what block boundaries and headers waste.
	 */
	ag->checkpoint_limit = (u64)(g->ring_blocks / 4) * KVC_JOURNAL_DATA / 8 * 7;
	kvc_follow_init(ag);
	INIT_LIST_HEAD(&ag->dropped);
	ag->set = kvc_segset_alloc(ag);
	if (!ag->set)
		return -ENOMEM;
	ag->segments = ag->set->segments;
	return 0;
}

static void kvc_segset_free(struct kvc_segset *set)
{
	struct kvc_ag *ag = set->ag;
	u32 i;

	for (i = 0; i < ag->nr; i++) {
		kvc_chunks_free(&ag->join->index, set->segments[i].chunks);
		kvc_log_free(&set->segments[i].log);
		kvc_grace_clear(&set->segments[i].grace);
	}
	/* See kvc_segment_put_reader(). */
	kvfree_rcu(set, rcu);
}

void kvc_ag_destroy(struct kvc_ag *ag)
{
	struct kvc_segset *set, *next;

	if (!ag->set)
		return;
	cancel_delayed_work_sync(&ag->work);
	if (ag->journal.set)
		kvc_journal_stop(&ag->journal);
	list_for_each_entry_safe(set, next, &ag->dropped, node)
		kvc_segset_free(set);
	kvc_segset_free(ag->set);
	xa_destroy(&ag->pins);
	ag->set = NULL;
	ag->segments = NULL;
}

void kvc_segset_drop(struct kvc_segset *set)
{
	struct kvc_ag *ag = set->ag;
	u32 i;

	for (i = 0; i < ag->nr; i++)
		kvc_segment_forget(&set->segments[i]);
	set->cookie = start_poll_synchronize_rcu();
	mutex_lock(&ag->lock);
	list_add_tail(&set->node, &ag->dropped);
	mutex_unlock(&ag->lock);
}

void kvc_ag_install(struct kvc_ag *ag, struct kvc_segset *fresh)
{
	struct kvc_segset *old = ag->set;

	mutex_lock(&ag->lock);
	ag->set = fresh;
	ag->segments = fresh->segments;
	mutex_unlock(&ag->lock);
	kvc_segset_drop(old);
}

/* Nobody reads from it, or writes to it, whoever has given up waiting. */
static bool kvc_segset_idle(struct kvc_segset *set)
{
	u32 i;

	if (!poll_state_synchronize_rcu(set->cookie))
		return false;
	for (i = 0; i < set->ag->nr; i++)
		if (atomic_read(&set->segments[i].readers) ||
		    atomic_read(&set->segments[i].writers))
			return false;
	return true;
}

bool kvc_ag_reap(struct kvc_ag *ag)
{
	struct kvc_segset *set, *next;
	LIST_HEAD(idle);
	bool left;

	mutex_lock(&ag->lock);
	list_for_each_entry_safe(set, next, &ag->dropped, node)
		if (kvc_segset_idle(set))
			list_move(&set->node, &idle);
	left = !list_empty(&ag->dropped);
	mutex_unlock(&ag->lock);
	list_for_each_entry_safe(set, next, &idle, node)
		kvc_segset_free(set);
	return left;
}

void kvc_ag_kick(struct kvc_ag *ag)
{
	if (READ_ONCE(ag->owned) && !READ_ONCE(ag->releasing) &&
	    !READ_ONCE(ag->join->stopping))
		mod_delayed_work(ag->join->wq, &ag->work, 0);
}

bool kvc_segment_healthy(const struct kvc_segment *seg)
{
	struct kvc_member_set *set = seg->ag->join->set;
	u64 left = seg->members;

	while (left) {
		u32 m = __ffs64(left);

		if (kvc_member_health(&set->m[m]) != KVC_HEALTH_LIVE)
			return false;
		left &= left - 1;
	}
	return true;
}

bool kvc_segment_suspect(const struct kvc_segment *seg)
{
	struct kvc_member_set *set = seg->ag->join->set;
	u64 left = seg->members;

	while (left) {
		if (kvc_member_health(&set->m[__ffs64(left)]) ==
		    KVC_HEALTH_SUSPECT)
			return true;
		left &= left - 1;
	}
	return false;
}

bool kvc_segment_drains(const struct kvc_segment *seg)
{
	return seg->members & READ_ONCE(seg->ag->join->set->draining);
}

bool kvc_ag_drains(const struct kvc_ag *ag)
{
	u64 draining = READ_ONCE(ag->join->set->draining);

	return unlikely(draining) &&
	       (draining >> kvc_ag_home(ag->join->g, ag->number)) & 1;
}

bool kvc_entry_is_ours(const struct kvc_entry *e)
{
	return READ_ONCE(kvc_entry_segment(e)->ag->owned);
}

bool kvc_entry_is_others(const struct kvc_entry *e)
{
	return !kvc_entry_is_ours(e);
}

bool kvc_ag_takes_puts(const struct kvc_ag *ag)
{
	/* Pairs with kvc_own_take(): what was loaded is seen. */
	return smp_load_acquire(&ag->owned) && !READ_ONCE(ag->journal.killed) &&
	       !READ_ONCE(ag->releasing) &&
	       kvc_member_health(ag->journal.home) == KVC_HEALTH_LIVE;
}

u32 kvc_ag_put_reserve(const struct kvc_ag *ag)
{
	return ag->join->g->ring_blocks / 8 * 3;
}

u32 kvc_ag_worker_reserve(const struct kvc_ag *ag)
{
	return ag->join->g->ring_blocks / 4;
}

/* The stream's segment takes no more: it is sealed when writers have gone. */
static void kvc_ag_close_stream(struct kvc_ag *ag, enum kvc_stream stream)
{
	lockdep_assert_held(&ag->lock);
	ag->open[stream]->role = KVC_ROLE_FULL;
	ag->open[stream] = NULL;
}

/* The standby is for puts; the worker opens what it needs for rewrites. */
static bool kvc_ag_next_open(struct kvc_ag *ag, enum kvc_stream stream)
{
	struct kvc_segment *seg = ag->standby;

	lockdep_assert_held(&ag->lock);
	if (!seg || stream != KVC_STREAM_PUT)
		return false;
	ag->standby = NULL;
	seg->role = KVC_ROLE_ACTIVE;
	ag->open[stream] = seg;
	return true;
}

/*
 * Records of unsealed segments must leave room in a checkpoint: at a third of it
 * a segment counts as full, so that the next can grow while it is being sealed.
 */
static bool kvc_ag_log_full(struct kvc_ag *ag, struct kvc_segment *seg)
{
	return seg->log.bytes > ag->checkpoint_limit / 3 || kvc_ag_logs_full(ag);
}

bool kvc_ag_logs_full(struct kvc_ag *ag)
{
	return (u64)atomic64_read(&ag->log_bytes) > ag->checkpoint_limit / 4 * 3;
}

static int kvc_ag_reserve_locked(struct kvc_ag *ag, enum kvc_stream stream,
				 u64 bytes, u32 key_len, u32 *offset,
				 struct kvc_segment **out)
{
	struct kvc_segment *seg;

	lockdep_assert_held(&ag->lock);
	if (ag->releasing || kvc_ag_drains(ag))
		return -EAGAIN;
	seg = ag->open[stream];
	/* protocol rule 36; the worker puts it aside */
	if (seg && (!kvc_segment_healthy(seg) || kvc_segment_drains(seg)))
		return -EAGAIN;
	if (seg && !kvc_ag_log_full(ag, seg) &&
	    kvc_space_reserve(&seg->space, bytes, key_len, offset)) {
		*out = seg;
		return 0;
	}
	if (seg)
		kvc_ag_close_stream(ag, stream);
	/* Another would be full with one object. */
	if (kvc_ag_logs_full(ag) || !kvc_ag_next_open(ag, stream))
		return -EAGAIN;
	seg = ag->open[stream];
	if (!kvc_segment_healthy(seg) || kvc_segment_drains(seg) ||
	    !kvc_space_reserve(&seg->space, bytes, key_len, offset))
		return -EAGAIN;
	*out = seg;
	return 0;
}

int kvc_ag_reserve(struct kvc_ag *ag, enum kvc_stream stream,
		   struct kvc_hash hash, u32 key_len, u64 bytes, u32 depth,
		   u64 expiry, struct kvc_reservation *r)
{
	struct kvc_index *x = &ag->join->index;
	struct kvc_chunk *spare = NULL;
	struct kvc_segment *seg;
	struct kvc_entry *e;
	bool kick;
	int err;

	mutex_lock(&ag->lock);
	err = kvc_ag_reserve_locked(ag, stream, bytes, key_len, &r->offset,
				    &seg);
	if (!err) {
		/* One page per hundred objects, and only when one is full. */
		if (!seg->chunks || seg->chunks->used == KVC_CHUNK_ENTRIES)
			spare = (struct kvc_chunk *)get_zeroed_page(GFP_NOFS);
		e = kvc_entry_alloc(x, seg, &seg->chunks, &spare);
		if (!e)
			err = -ENOMEM;
	}
	if (!err) {
		kvc_entry_init(e, hash, r->offset, (u32)bytes, depth, expiry);
		atomic_inc(&seg->writers);
		r->segment = seg;
		r->entry = e;
	}
	kick = !ag->standby || err;
	mutex_unlock(&ag->lock);
	if (kick)
		kvc_ag_kick(ag);
	return err;
}

void kvc_segment_drop_log(struct kvc_segment *seg)
{
	atomic64_sub(seg->log.bytes, &seg->ag->log_bytes);
	kvc_log_free(&seg->log);
}

static void kvc_segment_put_writer(struct kvc_segment *seg)
{
	struct kvc_ag *ag = seg->ag;

	/* The join is freed an RCU grace period after its last writer. */
	rcu_read_lock();
	if (atomic_dec_and_test(&seg->writers) &&
	    READ_ONCE(seg->role) == KVC_ROLE_FULL)
		kvc_ag_kick(ag);
	rcu_read_unlock();
}

void kvc_ag_release(struct kvc_reservation *r)
{
	atomic_or(KVC_ENTRY_DEAD, &r->entry->where);
	kvc_segment_put_writer(r->segment);
}

int kvc_ag_append_put(struct kvc_ag *ag, const struct kvc_put *put,
		      struct kvc_reservation *r, struct kvc_commit *c,
		      u32 reserve)
{
	struct kvc_record rec = { .type = KVC_REC_PUT, .put = *put };
	int err;

	lockdep_assert_held(&ag->lock);
	err = kvc_log_append(&r->segment->log, r->entry, put);
	if (err)
		return err;
	err = kvc_journal_append(&ag->journal, &rec, c, reserve, NULL);
	if (err)
		kvc_log_unappend(&r->segment->log,
				 kvc_put_length(put->key_len));
	else
		atomic64_add(kvc_put_length(put->key_len), &ag->log_bytes);
	return err;
}

void kvc_ag_publish(struct kvc_reservation *r)
{
	struct kvc_segment *seg = r->segment;

	atomic_inc(&seg->live);
	atomic_add(kvc_bytes_to_blocks(r->entry->bytes), &seg->live_blocks);
	/* Whoever sees LIVE sees the CRC (written before the append). */
	smp_mb__before_atomic();
	atomic_or(KVC_ENTRY_LIVE | KVC_ENTRY_COMMITTED, &r->entry->where);
	kvc_segment_put_writer(seg);
}

void kvc_ag_entry_died(struct kvc_entry *e)
{
	struct kvc_segment *seg = kvc_entry_segment(e);
	u32 was = atomic_fetch_or(KVC_ENTRY_DEAD, &e->where);

	if (was & KVC_ENTRY_DEAD)
		return;
	if (was & KVC_ENTRY_LIVE) {
		atomic_dec(&seg->live);
		atomic_sub(kvc_bytes_to_blocks(e->bytes), &seg->live_blocks);
		kvc_presence_remove(seg->ag->join->pool, e);
	}
	if (was & KVC_ENTRY_COMMITTED)
		atomic_inc(&seg->dead);
}

void kvc_entry_unlist(struct kvc_entry *e)
{
	u32 was = atomic_fetch_andnot(KVC_ENTRY_COMMITTED, &e->where);

	if ((was & KVC_ENTRY_COMMITTED) && (was & KVC_ENTRY_DEAD))
		atomic_dec(&kvc_entry_segment(e)->dead);
}

void kvc_segment_put_reader(struct kvc_segment *seg)
{
	struct kvc_ag *ag = seg->ag;

	/* The join is freed an RCU grace period after its last reader. */
	rcu_read_lock();
	if (atomic_dec_and_test(&seg->readers) &&
	    READ_ONCE(seg->role) == KVC_ROLE_DRAINING)
		kvc_ag_kick(ag);
	rcu_read_unlock();
}

void kvc_segment_forget(struct kvc_segment *seg)
{
	struct kvc_join *join = seg->ag->join;
	struct kvc_chunk *c;
	u32 i;

	for (c = seg->chunks; c; c = c->next) {
		for (i = 0; i < c->used; i++) {
			struct kvc_entry *e = &c->entries[i];

			kvc_index_remove(&join->index, e);
			kvc_pin_clear(e);
			kvc_ag_entry_died(e);
		}
		cond_resched();
	}
	kvc_segment_drop_log(seg);
}

void kvc_segment_empty(struct kvc_segment *seg)
{
	kvc_chunks_free(&seg->ag->join->index, seg->chunks);
	seg->chunks = NULL;
	atomic_set(&seg->live, 0);
	atomic_set(&seg->live_blocks, 0);
	atomic_set(&seg->dead, 0);
}

/* --- transitions --- */

static const u32 kvc_state_after[] = {
	[KVC_REC_OPEN] = KVC_SEG_OPEN,
	[KVC_REC_SEAL] = KVC_SEG_SEALED,
	[KVC_REC_RETIRE] = KVC_SEG_RETIRED,
};

static int kvc_ag_transition_locked(struct kvc_segment *seg, u32 type,
				    struct kvc_record *rec, enum kvc_role role,
				    u64 *position)
{
	struct kvc_ag *ag = seg->ag;
	int err;

	lockdep_assert_held(&ag->lock);
	/* protocol rule 17 */
	if (type != KVC_REC_OPEN && atomic_read(&seg->writers))
		return -EBUSY;
	if (type == KVC_REC_SEAL)
		rec->seg.order = ag->next_order;
	err = kvc_journal_append(&ag->journal, rec, NULL,
				 kvc_ag_worker_reserve(ag), position);
	if (err)
		return err;
	if (type == KVC_REC_SEAL)
		ag->next_order++;
	if (type == KVC_REC_RETIRE)
		rec->seg.order = *position;
	if (type != KVC_REC_OPEN && seg->s.state == KVC_SEG_OPEN) {
		seg->closed = jiffies;
		seg->was_open = true;
	}
	WARN_ON_ONCE(kvc_seg_apply(&seg->s, type, &rec->seg));
	seg->role = role;
	trace_kvcache_segment(seg, type);
	return 0;
}

int kvc_ag_settle(struct kvc_ag *ag, u64 position)
{
	int err;

	do {
		err = kvc_journal_wait(&ag->journal, position + 1,
				       jiffies + HZ);
	} while (err == -ETIMEDOUT && !READ_ONCE(ag->join->stopping));
	return err;
}

int kvc_ag_transition(struct kvc_segment *seg, u32 type,
		      struct kvc_segment_rec *r, enum kvc_role role,
		      bool *appended)
{
	struct kvc_ag *ag = seg->ag;
	struct kvc_record rec = { .type = type, .seg = *r };
	u64 position;
	int err;

	rec.seg.segment = seg->s.number;
	rec.seg.state = kvc_state_after[type];
	*appended = false;
	for (;;) {
		mutex_lock(&ag->lock);
		err = kvc_ag_transition_locked(seg, type, &rec, role,
					       &position);
		mutex_unlock(&ag->lock);
		if (err != -EAGAIN)
			break;
		err = kvc_journal_make_room(&ag->journal, jiffies + HZ);
		if (err)
			return err;
	}
	if (err)
		return err;
	*appended = true;
	return kvc_ag_settle(ag, position);
}
