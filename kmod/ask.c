// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/slab.h>
#include "ask.h"
#include "object.h"
#include "share.h"

/* So many touches are sent every so often, and deletes asked of us kept. */
#define KVC_ASK_TOUCHES		128
#define KVC_ASK_TOUCH_MS	100
#define KVC_ASK_DELETES		1024
#define KVC_ASK_DELETE_MS	5000
#define KVC_ASK_WINDOW		16

/**
 * struct kvc_asks - requests to and from other hosts
 * @join: membership
 * @lock: guards all below but the works; innermost, irqs off
 * @touched: to be told to other owners; what there is no room for is not told
 * @nr_touched: how many
 * @deletes: asked of us; who asked asks again for what there is no room for
 * @nr_deletes: how many
 * @tell: sends @touched
 * @answer: carries out @deletes
 */
struct kvc_asks {
	struct kvc_join *join;
	spinlock_t lock;
	struct kvc_ask_rec touched[KVC_ASK_TOUCHES];
	u32 nr_touched;
	struct kvc_ask_rec deletes[KVC_ASK_DELETES];
	u32 nr_deletes;
	struct delayed_work tell;
	struct work_struct answer;
};

/* --- to other hosts --- */

/* Into the first journal of ours that takes it. */
static int kvc_ask_send(struct kvc_join *join, const struct kvc_ask_rec *ask)
{
	struct kvc_record rec = { .type = KVC_REC_ASK, .ask = *ask };
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++) {
		struct kvc_ag *ag = &join->ags[i];
		int err;

		/* That one may just have come to be ours. */
		if (i == ask->ag || !kvc_ag_takes_puts(ag))
			continue;
		mutex_lock(&ag->lock);
		err = ag->releasing ? -EAGAIN :
		      kvc_journal_append(&ag->journal, &rec, NULL,
					 kvc_ag_put_reserve(ag), NULL);
		mutex_unlock(&ag->lock);
		if (err)
			continue;
		return 0;
	}
	return -EAGAIN;
}

void kvc_asks_push(struct kvc_join *join)
{
	u32 i;

	for (i = 0; i < join->g->nr_ags; i++)
		if (kvc_ag_takes_puts(&join->ags[i]))
			kvc_journal_push(&join->ags[i].journal);
}

int kvc_ask_delete(struct kvc_join *join, struct kvc_hash hash, u32 tenant,
		   u32 ag)
{
	struct kvc_ask_rec ask = {
		.kind = KVC_ASK_DELETE,
		.hash = hash,
		.tenant = tenant,
		.ag = ag,
	};
	int err = kvc_ask_send(join, &ask);

	if (!err)
		kvc_stat_inc(join->pool->stats, KVC_STAT_ASKS);
	return err;
}

void kvc_ask_touch(struct kvc_join *join, struct kvc_hash hash, u32 ag)
{
	struct kvc_asks *asks = join->share->asks;
	unsigned long flags;

	spin_lock_irqsave(&asks->lock, flags);
	if (asks->nr_touched < KVC_ASK_TOUCHES) {
		asks->touched[asks->nr_touched++] = (struct kvc_ask_rec){
			.kind = KVC_ASK_TOUCH,
			.hash = hash,
			.ag = ag,
			.count = 1,
		};
		if (asks->nr_touched == 1 && !READ_ONCE(join->share->stopping))
			queue_delayed_work(join->share->wq, &asks->tell,
					   msecs_to_jiffies(KVC_ASK_TOUCH_MS));
	}
	spin_unlock_irqrestore(&asks->lock, flags);
}

static void kvc_ask_tell(struct work_struct *work)
{
	struct kvc_asks *asks = container_of(to_delayed_work(work),
					     struct kvc_asks, tell);
	struct kvc_ask_rec *told;
	u32 i, nr;

	told = kmalloc(sizeof(asks->touched), GFP_KERNEL);
	spin_lock_irq(&asks->lock);
	nr = told ? asks->nr_touched : 0;
	if (nr)
		memcpy(told, asks->touched, nr * sizeof(*told));
	asks->nr_touched = 0;
	spin_unlock_irq(&asks->lock);
	for (i = 0; i < nr && !kvc_ask_send(asks->join, &told[i]); i++)
		kvc_stat_inc(asks->join->pool->stats, KVC_STAT_TOUCHES);
	kvc_asks_push(asks->join);
	kfree(told);
}

/* --- from other hosts --- */

static void kvc_ask_touched(struct kvc_join *join, const struct kvc_ask_rec *ask)
{
	struct kvc_entry *e;

	rcu_read_lock();
	e = kvc_index_find_if(&join->index, &ask->hash,
			      ktime_get_real_seconds(), kvc_entry_is_ours);
	if (e)
		atomic_or(KVC_ENTRY_TOUCHED, &e->where);
	rcu_read_unlock();
}

void kvc_ask_take(struct kvc_ag *ag, const struct kvc_ask_rec *ask)
{
	struct kvc_join *join = ag->join;
	struct kvc_asks *asks = join->share->asks;
	bool kept = false;

	/* Who deletes waits for all owners to show what counts (rule 24). */
	if (ask->kind == KVC_ASK_DELETE)
		kvc_join_beat_soon(join);
	if (ask->ag >= join->g->nr_ags || !READ_ONCE(join->ags[ask->ag].owned))
		return;
	if (ask->kind == KVC_ASK_TOUCH) {
		kvc_ask_touched(join, ask);
		return;
	}
	spin_lock_irq(&asks->lock);
	if (asks->nr_deletes < KVC_ASK_DELETES) {
		asks->deletes[asks->nr_deletes++] = *ask;
		kept = true;
	}
	spin_unlock_irq(&asks->lock);
	if (kept && !READ_ONCE(join->share->stopping))
		queue_work(join->share->wq, &asks->answer);
}

/**
 * struct kvc_ask_deletes - some of what was asked of us, being carried out
 * @asks: what
 * @ops: their operations
 * @ptrs: the same, as kvc_deletes_finish() wants them
 * @keys: their keys
 */
struct kvc_ask_deletes {
	struct kvc_ask_rec asks[KVC_ASK_WINDOW];
	struct kvc_op ops[KVC_ASK_WINDOW];
	struct kvc_op *ptrs[KVC_ASK_WINDOW];
	struct kvc_key keys[KVC_ASK_WINDOW];
};

/* All DELETEs are begun before the first is waited for: they share commits. */
static void kvc_ask_carry_out(struct kvc_join *join, struct kvc_ask_deletes *d,
			      u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		d->keys[i].hash = d->asks[i].hash;
		d->keys[i].tenant = d->asks[i].tenant;
		d->ptrs[i] = &d->ops[i];
		d->ops[i] = (struct kvc_op){
			.join = join,
			.key = &d->keys[i],
			.deadline = jiffies + msecs_to_jiffies(KVC_ASK_DELETE_MS),
			.own = true,
		};
		kvc_delete_start(&d->ops[i]);
	}
	kvc_deletes_finish(d->ptrs, nr);
	kvc_join_beat_soon(join);
}

static u32 kvc_ask_next(struct kvc_asks *asks, struct kvc_ask_deletes *d)
{
	u32 nr;

	spin_lock_irq(&asks->lock);
	nr = min_t(u32, asks->nr_deletes, KVC_ASK_WINDOW);
	asks->nr_deletes -= nr;
	memcpy(d->asks, &asks->deletes[asks->nr_deletes],
	       nr * sizeof(*d->asks));
	spin_unlock_irq(&asks->lock);
	return nr;
}

static void kvc_ask_answer(struct work_struct *work)
{
	struct kvc_asks *asks = container_of(work, struct kvc_asks, answer);
	struct kvc_ask_deletes *d;
	u32 nr;

	d = kvzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return;		/* who asked asks again */
	do {
		nr = kvc_ask_next(asks, d);
		if (nr)
			kvc_ask_carry_out(asks->join, d, nr);
	} while (nr && !READ_ONCE(asks->join->share->stopping));
	kvfree(d);
}

/* --- life --- */

int kvc_asks_init(struct kvc_join *join)
{
	struct kvc_asks *asks = kvzalloc(sizeof(*asks), GFP_KERNEL);

	if (!asks)
		return -ENOMEM;
	join->share->asks = asks;
	asks->join = join;
	spin_lock_init(&asks->lock);
	INIT_DELAYED_WORK(&asks->tell, kvc_ask_tell);
	INIT_WORK(&asks->answer, kvc_ask_answer);
	return 0;
}

void kvc_asks_stop(struct kvc_join *join)
{
	struct kvc_asks *asks = join->share->asks;

	if (!asks)
		return;
	cancel_delayed_work_sync(&asks->tell);
	cancel_work_sync(&asks->answer);
}

void kvc_asks_destroy(struct kvc_join *join)
{
	kvfree(join->share->asks);
	join->share->asks = NULL;
}
