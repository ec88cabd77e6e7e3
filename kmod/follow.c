// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "ask.h"
#include "load.h"
#include "pool.h"
#include "share.h"
#include "slot.h"

static struct kvc_member *kvc_follow_home(struct kvc_ag *ag)
{
	return &ag->join->set->m[kvc_ag_home(ag->join->g, ag->number)];
}

/* --- loading --- */

static int kvc_follow_fill(struct kvc_loader *l, u64 shown)
{
	struct kvc_follow *f = &l->ag->follow;
	u64 next;
	int err;

	err = kvc_load_areas(l);
	if (err)
		return err;
	next = max(shown, kvc_load_highest(l)) + 1;
	err = kvc_load_base(l, shown);
	if (!err && l->base->epoch % KVC_NR_AREAS == next % KVC_NR_AREAS)
		next++;
	f->next_epoch = next;
	/* protocol rule 6: shown, but not whole: not now, and never an older one */
	if (err == -EBADMSG)
		return -EAGAIN;
	/* Nobody ever had it: there is nothing in it. */
	if (err == -ENOENT)
		return 0;
	return err ?: kvc_load_state(l, true);
}

static int kvc_follow_load_with(struct kvc_loader *l, u64 shown)
{
	struct kvc_ag *ag = l->ag;
	struct kvc_follow *f = &ag->follow;
	int err;

	l->follow = true;
	l->set = kvc_segset_alloc(ag);
	if (!l->set)
		return -ENOMEM;
	err = kvc_follow_fill(l, shown);
	if (err) {
		kvc_segset_drop(l->set);
		return err;
	}
	kvc_load_forget_roles(l);
	ag->next_order = l->next_order;
	kvc_ag_install(ag, l->set);
	f->epoch = l->base ? l->base->epoch : 0;
	f->position = l->position;
	f->draining = 0;
	f->ahead = 2;
	f->behind = false;
	kvc_stat_inc(ag->join->pool->stats, KVC_STAT_LOADS);
	return 0;
}

int kvc_follow_load(struct kvc_ag *ag, u64 shown)
{
	struct kvc_loader *l = kmalloc(sizeof(*l), GFP_KERNEL);
	int err;

	lockdep_assert_held(&ag->follow.turn);
	if (!l)
		return -ENOMEM;
	kvc_loader_init(l, ag);
	err = kvc_follow_load_with(l, shown);
	kvc_loader_free(l);
	kfree(l);
	ag->follow.error = err;
	if (err)
		ag->follow.behind = true;
	return err;
}

static void kvc_follow_work(struct work_struct *work)
{
	struct kvc_ag *ag = container_of(work, struct kvc_ag, follow.load);
	struct kvc_share *share = ag->join->share;
	struct kvc_follow *f = &ag->follow;
	u64 shown;
	u32 slot;
	int err = 0;

	mutex_lock(&f->turn);
	shown = kvc_slots_shown(ag->join, ag->number, &slot);
	if (!ag->owned && f->behind && !READ_ONCE(share->stopping))
		err = kvc_follow_load(ag, shown);
	mutex_unlock(&f->turn);
	if (err && err != -EAGAIN)
		pr_warn_ratelimited("pool %s: ag %u can't be loaded (%d)\n",
				    ag->join->g->name, ag->number, err);
	if (!err)
		kvc_share_ticket(share);	/* whoever waits may go on */
}

/* --- probes --- */

static void kvc_follow_probed(struct kvc_meta_io *io)
{
	struct kvc_ag *ag = io->private;
	struct kvc_share *share = ag->join->share;
	unsigned long flags;

	spin_lock_irqsave(&share->lock, flags);
	ag->follow.busy = false;
	wake_up_all(&share->wait);
	spin_unlock_irqrestore(&share->lock, flags);
}

void kvc_follow_init(struct kvc_ag *ag)
{
	struct kvc_follow *f = &ag->follow;

	mutex_init(&f->turn);
	INIT_WORK(&f->load, kvc_follow_work);
	f->next_epoch = 1;
	f->ahead = 2;
}

void kvc_follow_stop(struct kvc_ag *ag)
{
	struct kvc_share *share = ag->join->share;

	cancel_work_sync(&ag->follow.load);
	wait_event(share->wait, !READ_ONCE(ag->follow.busy));
	/* A completion is done with us once it has let the lock go. */
	spin_lock_irq(&share->lock);
	spin_unlock_irq(&share->lock);
	kvfree(ag->follow.buf);
	ag->follow.buf = NULL;
}

static bool kvc_follow_busy(struct kvc_ag *ag)
{
	struct kvc_share *share = ag->join->share;
	bool busy;

	spin_lock_irq(&share->lock);
	busy = ag->follow.busy;
	spin_unlock_irq(&share->lock);
	return busy;
}

bool kvc_follow_awaited(struct kvc_ag *ag)
{
	return READ_ONCE(ag->follow.busy) &&
	       kvc_member_health(kvc_follow_home(ag)) == KVC_HEALTH_LIVE;
}

bool kvc_follow_enter(struct kvc_ag *ag)
{
	struct kvc_follow *f = &ag->follow;

	if (!mutex_trylock(&f->turn))
		return false;
	if (ag->owned) {
		mutex_unlock(&f->turn);
		return false;
	}
	if (!f->buf)
		f->buf = kvmalloc(KVC_PROBE_BLOCKS << KVC_BLOCK_SHIFT,
				  GFP_KERNEL);
	f->result = -EAGAIN;
	f->probe = KVC_PROBE_NONE;
	if (kvc_member_health(kvc_follow_home(ag)) == KVC_HEALTH_FAILED)
		f->result = 0;	/* protocol rule 30: there is no more to learn */
	else if (!f->epoch && !f->behind)
		f->result = 0;	/* nobody has it, unless the slots tell */
	else if (f->buf && !f->behind && !kvc_follow_busy(ag) &&
		 kvc_member_health(kvc_follow_home(ag)) == KVC_HEALTH_LIVE)
		f->probe = KVC_PROBE_RING;
	return true;
}

static void kvc_follow_place(struct kvc_ag *ag)
{
	const struct kvc_geometry *g = ag->join->g;
	struct kvc_follow *f = &ag->follow;
	u32 to_end = g->ring_blocks - (u32)(f->position % g->ring_blocks);
	struct kvc_place p;

	if (f->probe == KVC_PROBE_HEADER) {
		p = kvc_place_area(g, ag->number, f->epoch % KVC_NR_AREAS);
		f->io.nr = KVC_AREA_HEADERS;
	} else {
		p = kvc_place_journal(g, ag->number, f->epoch, f->position);
		f->io.nr = min3(f->ahead, (u32)KVC_PROBE_BLOCKS, to_end);
	}
	f->io.block = p.block;
}

bool kvc_follow_send(struct kvc_ag *ag)
{
	struct kvc_share *share = ag->join->share;
	struct kvc_follow *f = &ag->follow;

	if (f->probe == KVC_PROBE_NONE)
		return false;
	kvc_follow_place(ag);
	f->io.m = kvc_follow_home(ag);
	f->io.op = REQ_OP_READ;
	f->io.buf = f->buf;
	f->io.done = kvc_follow_probed;
	f->io.private = ag;
	spin_lock_irq(&share->lock);
	f->busy = true;
	spin_unlock_irq(&share->lock);
	kvc_stat_add(ag->join->pool->stats, KVC_STAT_REFRESH_BLOCKS, f->io.nr);
	kvc_meta_submit(&f->io);
	return true;
}

static void kvc_follow_rotten(struct kvc_ag *ag, u64 position)
{
	struct kvc_follow *f = &ag->follow;

	kvc_stat_inc(ag->join->pool->stats, KVC_STAT_ROTTEN_BLOCKS);
	pr_warn_ratelimited("pool %s: ag %u: journal block %llu of epoch %llu is rotten: what it held is dropped\n",
			    ag->join->g->name, ag->number, position, f->epoch);
	/* Once: what a load finds rotten it passes over, as this did. */
	if (f->again_at == position + 1)
		return;
	f->again_at = position + 1;
	f->behind = true;
}

/* Apply the block at the position. False: it is none. */
static bool kvc_follow_block(struct kvc_loader *l, const void *block)
{
	struct kvc_ag *ag = l->ag;
	struct kvc_follow *f = &ag->follow;
	struct kvc_records it;
	unsigned int flags;
	int err;

	if (!kvc_load_block(l, f->epoch, f->position, block, &it))
		return false;
	l->rotten = 0;
	l->position = f->position;
	flags = memalloc_nofs_save();
	mutex_lock(&ag->lock);
	err = kvc_load_apply(l, &it);
	mutex_unlock(&ag->lock);
	memalloc_nofs_restore(flags);
	f->position++;
	f->draining += l->retired;
	l->retired = 0;
	ag->next_order = max(ag->next_order, l->next_order);
	if (l->rotten)
		kvc_follow_rotten(ag, f->position - 1);
	if (err || l->again)
		f->behind = true;
	ag->join->share->blocks++;
	kvc_stat_inc(ag->join->pool->stats, KVC_STAT_FOLLOWED_BLOCKS);
	return true;
}

/* Take the blocks of the ring; what to read next is left in @probe. */
static void kvc_follow_ring(struct kvc_loader *l)
{
	struct kvc_ag *ag = l->ag;
	struct kvc_follow *f = &ag->follow;
	u32 i;

	for (i = 0; i < f->io.nr && !f->behind; i++) {
		const u8 *block = f->buf + ((size_t)i << KVC_BLOCK_SHIFT);

		if (kvc_follow_block(l, block))
			continue;
		/* So many at once, and the end with them, the next time. */
		f->ahead = clamp(i + 1, 2U, (u32)KVC_PROBE_BLOCKS);
		f->probe = KVC_PROBE_HEADER;
		if (kvc_load_hole(l, f->epoch, f->position, block)) {
			f->probe = KVC_PROBE_NONE;
			f->result = 0;
		}
		return;
	}
	f->probe = f->behind ? KVC_PROBE_NONE : KVC_PROBE_RING;
	f->ahead = KVC_PROBE_BLOCKS;
}

/* What was no block at the position: is it the end all the same? */
static void kvc_follow_header(struct kvc_loader *l)
{
	struct kvc_follow *f = &l->ag->follow;
	struct kvc_area a;
	int err;

	f->probe = KVC_PROBE_NONE;
	kvc_load_headers(l, f->epoch % KVC_NR_AREAS, f->buf, &a);
	err = kvc_load_judge_header(&a, f->epoch, f->position);
	if (err == -ESTALE)
		f->behind = true;	/* protocol rule 14 */
	else
		f->result = err;
}

void kvc_follow_take(struct kvc_ag *ag)
{
	struct kvc_follow *f = &ag->follow;
	enum kvc_probe was = f->probe;
	struct kvc_loader l;

	if (was == KVC_PROBE_NONE)
		return;
	if (kvc_follow_busy(ag) || f->io.error) {
		f->probe = KVC_PROBE_NONE;
		return;
	}
	kvc_loader_init(&l, ag);
	l.follow = true;
	l.live = true;
	l.set = ag->set;
	l.ask = kvc_ask_take;
	if (was == KVC_PROBE_HEADER)
		kvc_follow_header(&l);
	else
		kvc_follow_ring(&l);
}

/* --- what our slot shows --- */

/* Free what nobody reads any more; the lowest position that is not drained. */
static u64 kvc_follow_drain(struct kvc_ag *ag)
{
	struct kvc_follow *f = &ag->follow;
	u64 drained = f->position;
	u32 i, left = 0;

	if (!f->draining)
		return drained;
	mutex_lock(&ag->lock);
	for (i = 0; i < ag->nr; i++) {
		struct kvc_segment *seg = &ag->segments[i];

		if (seg->role != KVC_ROLE_DRAINING)
			continue;
		if (kvc_segment_drained(seg)) {
			kvc_segment_empty(seg);
			seg->role = KVC_ROLE_NONE;
			continue;
		}
		left++;
		/* Of an epoch of our own that is over: it has no place in this. */
		drained = min(drained, max(seg->retired_at, 1ULL) - 1);
	}
	mutex_unlock(&ag->lock);
	f->draining = left;
	return drained;
}

static void kvc_follow_publish(struct kvc_ag *ag)
{
	struct kvc_share *share = ag->join->share;
	struct kvc_follow *f = &ag->follow;
	bool had = f->draining, news;
	u64 drained;

	if (!f->epoch || f->behind)
		return;
	drained = kvc_follow_drain(ag);
	/* protocol rule 16: a load counts as a RETIRE of all that it dropped */
	if (kvc_ag_reap(ag))
		return;
	spin_lock_irq(&share->lock);
	news = f->drained_epoch != f->epoch || (had && f->drained != drained);
	f->drained_epoch = f->epoch;
	f->drained = drained;
	spin_unlock_irq(&share->lock);
	if (news)
		kvc_join_beat_soon(ag->join);
}

int kvc_follow_leave(struct kvc_ag *ag, u64 shown)
{
	struct kvc_share *share = ag->join->share;
	struct kvc_follow *f = &ag->follow;
	int result;

	/* protocol rule 12 */
	if (shown > f->epoch)
		f->behind = true;
	kvc_follow_publish(ag);
	spin_lock_irq(&share->lock);
	f->read_epoch = f->epoch;
	f->read = f->position;
	spin_unlock_irq(&share->lock);
	result = f->result;
	if (kvc_member_health(kvc_follow_home(ag)) == KVC_HEALTH_FAILED) {
		result = 0;
	} else if (f->behind) {
		result = -EAGAIN;
		queue_work(share->wq, &f->load);
	}
	mutex_unlock(&f->turn);
	return result;
}
