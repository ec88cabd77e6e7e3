// SPDX-License-Identifier: GPL-2.0
/* Reads first: see pace.h. */
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include "kvc_format.h"
#include "pace.h"

#define KVC_PACE_UNIT	16		/* of slowness: as usual */
#define KVC_PACE_WORST	(1U << 12)	/* one sample counts for no more */
#define KVC_PACE_DRIFT	6		/* a slower read moves @usual by 1/64 */
#define KVC_PACE_QUIET	20		/* looks, of 50 ms each */
#define KVC_PACE_MOST	(64U << 20)	/* a limit above is none */

static bool kvc_reads_first = true;
module_param_named(reads_first, kvc_reads_first, bool, 0644);
MODULE_PARM_DESC(reads_first, "hold back puts and rewrites that slow down gets from the same member (default: Y)");

static void kvc_pace_send(struct work_struct *work)
{
	struct kvc_pace *pace = container_of(work, struct kvc_pace, work);
	struct kvc_paced *w;

	for (;;) {
		spin_lock_irq(&pace->lock);
		w = list_first_entry_or_null(&pace->held, struct kvc_paced, node);
		/* However long it is, one may always be on its way. */
		if (w && atomic_read(&pace->writing) &&
		    pace->limit != KVC_PACE_OPEN &&
		    (u32)atomic_read(&pace->writing) + w->bytes > pace->limit)
			w = NULL;
		if (w) {
			list_del_init(&w->node);
			atomic_add(w->bytes, &pace->writing);
		}
		spin_unlock_irq(&pace->lock);
		if (!w)
			return;
		w->send(w);
	}
}

void kvc_pace_init(struct kvc_pace *pace, struct workqueue_struct *wq)
{
	pace->limit = KVC_PACE_OPEN;
	pace->wq = wq;
	spin_lock_init(&pace->lock);
	INIT_LIST_HEAD(&pace->held);
	INIT_WORK(&pace->work, kvc_pace_send);
}

bool kvc_pace_write(struct kvc_pace *pace, struct kvc_paced *w)
{
	unsigned long flags;
	bool go = true;

	INIT_LIST_HEAD(&w->node);
	if (likely(READ_ONCE(pace->limit) == KVC_PACE_OPEN)) {
		atomic_add(w->bytes, &pace->writing);
		return true;
	}
	spin_lock_irqsave(&pace->lock, flags);
	if (pace->limit != KVC_PACE_OPEN) {
		u32 writing = (u32)atomic_read(&pace->writing);

		go = list_empty(&pace->held) &&
		     (!writing || writing + w->bytes <= pace->limit);
	}
	if (go) {
		atomic_add(w->bytes, &pace->writing);
	} else {
		list_add_tail(&w->node, &pace->held);
		pace->held_back++;
	}
	spin_unlock_irqrestore(&pace->lock, flags);
	return go;
}

void kvc_pace_wrote(struct kvc_pace *pace, u32 bytes)
{
	atomic_sub_return(bytes, &pace->writing);
	/*
	 * Ordered behind the subtraction, which returns a value. Should the
	 * last write all the same be gone when another is held back,
	 * kvc_pace_look() finds that one.
	 */
	if (unlikely(!list_empty_careful(&pace->held)))
		queue_work(pace->wq, &pace->work);
}

u64 kvc_pace_read(struct kvc_pace *pace)
{
	if (likely(READ_ONCE(pace->sampled) == jiffies))
		return 0;
	WRITE_ONCE(pace->sampled, jiffies);
	return ktime_get_ns();
}

static unsigned int kvc_pace_class(u32 bytes)
{
	return min_t(unsigned int, ilog2((bytes >> KVC_BLOCK_SHIFT) | 1),
		     KVC_PACE_CLASSES - 1);
}

void kvc_pace_took(struct kvc_pace *pace, u32 bytes, u64 begun)
{
	u32 *usual = &pace->usual[kvc_pace_class(bytes)];
	u64 took = ktime_get_ns() - begun;
	u32 ns = clamp_t(u64, took, 1, U32_MAX);
	u32 known = READ_ONCE(*usual);

	/*
	 * The quickest is what there was nothing in the way of. It may become
	 * slower with time, which shows only when there are no writes to blame.
	 */
	if (!known || ns < known)
		WRITE_ONCE(*usual, ns);
	else if (!atomic_read(&pace->writing))
		WRITE_ONCE(*usual, known + ((ns - known) >> KVC_PACE_DRIFT));
	if (!known)
		return;
	atomic_add(min_t(u64, div_u64((u64)ns * KVC_PACE_UNIT, known),
			 KVC_PACE_WORST), &pace->slowness);
	atomic_inc(&pace->samples);
}

static u32 kvc_pace_next(const struct kvc_pace *pace, bool slow)
{
	u32 now = min_t(u32, pace->limit, atomic_read(&pace->writing));

	if (slow)
		return max(now / 2, KVC_PACE_STEP);
	if (pace->limit >= KVC_PACE_MOST)
		return KVC_PACE_OPEN;
	return pace->limit + KVC_PACE_STEP;
}

void kvc_pace_look(struct kvc_pace *pace, bool live)
{
	u32 samples = (u32)atomic_xchg(&pace->samples, 0);
	u32 slowness = (u32)atomic_xchg(&pace->slowness, 0);
	bool slow = slowness > samples * KVC_PACE_SLOW * KVC_PACE_UNIT;

	pace->quiet = samples ? 0 : pace->quiet + 1;
	/* Nothing to do, as mostly. */
	if (pace->limit == KVC_PACE_OPEN && list_empty_careful(&pace->held) &&
	    (!slow || !atomic_read(&pace->writing) || !live))
		return;
	spin_lock_irq(&pace->lock);
	/* What hangs is not quicker for our waiting, and callers give up. */
	if (!live || pace->quiet >= KVC_PACE_QUIET || !READ_ONCE(kvc_reads_first))
		WRITE_ONCE(pace->limit, KVC_PACE_OPEN);
	else if (samples)
		WRITE_ONCE(pace->limit, kvc_pace_next(pace, slow));
	spin_unlock_irq(&pace->lock);
	if (!list_empty_careful(&pace->held))
		queue_work(pace->wq, &pace->work);
}
