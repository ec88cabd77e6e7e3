// SPDX-License-Identifier: GPL-2.0
/*
 * Pins stand beside the index, since few objects have one and an entry has no
 * room for a time. All changes are made under the AG's lock, or by whoever
 * alone knows the entry (a put on its way).
 */
#include <linux/ktime.h>
#include "pin.h"

static unsigned long kvc_pin_index(const struct kvc_entry *e)
{
	return (unsigned long)e / 8;
}

/*
 * By AG, since each reclaims for itself: one that held nothing but pinned objects
 * could rewrite them for ever and free nothing.
 */
static bool kvc_pin_room(const struct kvc_ag *ag, u32 bytes)
{
	u64 blocks = (u64)ag->nr * kvc_segment_blocks(ag->join->g);

	return atomic64_read(&ag->pinned_blocks) + kvc_bytes_to_blocks(bytes) <=
	       blocks / 2;
}

/* Take back what pins hold whose time is over. */
static void kvc_pin_sweep(struct kvc_ag *ag, u64 now)
{
	unsigned long index = 0;
	u64 end = U64_MAX;
	void *pin;

	lockdep_assert_held(&ag->lock);
	do {
		/* Entries of a retired segment may be on their way out. */
		rcu_read_lock();
		pin = xa_find_after(&ag->pins, &index, ULONG_MAX, XA_PRESENT);
		if (pin && xa_to_value(pin) <= now)
			kvc_pin_clear((struct kvc_entry *)(index * 8));
		else if (pin)
			end = min_t(u64, end, xa_to_value(pin));
		rcu_read_unlock();
		cond_resched();
	} while (pin);
	ag->pins_end = end;
}

/* Nobody looks after pins that have run out, until their room is wanted. */
static bool kvc_pin_fits(struct kvc_ag *ag, u32 bytes)
{
	u64 now = ktime_get_real_seconds();

	if (kvc_pin_room(ag, bytes))
		return true;
	if (ag->pins_end > now)
		return false;
	kvc_pin_sweep(ag, now);
	return kvc_pin_room(ag, bytes);
}

static int kvc_pin_locked(struct kvc_entry *e, u64 until)
{
	struct kvc_segment *seg = kvc_entry_segment(e);
	struct kvc_ag *ag = seg->ag;
	u32 where = atomic_read(&e->where);
	int err;

	lockdep_assert_held(&ag->lock);
	if (where & (KVC_ENTRY_DEAD | KVC_ENTRY_DYING))
		return -EAGAIN;
	/* What eviction does not keep it has chosen already. */
	if (ag->victim == seg || seg->s.state == KVC_SEG_RETIRED)
		return -EAGAIN;
	until &= LONG_MAX;
	if (!(where & KVC_ENTRY_PINNED) && !kvc_pin_fits(ag, e->bytes))
		return -EDQUOT;
	err = xa_err(xa_store(&ag->pins, kvc_pin_index(e), xa_mk_value(until),
			      GFP_NOFS));
	if (err)
		return err;
	ag->pins_end = min(ag->pins_end, until);
	if (!(atomic_fetch_or(KVC_ENTRY_PINNED, &e->where) & KVC_ENTRY_PINNED))
		atomic64_add(kvc_bytes_to_blocks(e->bytes), &ag->pinned_blocks);
	return 0;
}

bool kvc_pin_may(struct kvc_ag *ag, u32 bytes)
{
	bool may;

	mutex_lock(&ag->lock);
	may = kvc_pin_fits(ag, bytes);
	mutex_unlock(&ag->lock);
	return may;
}

int kvc_pin_set(struct kvc_entry *e, u64 until)
{
	struct kvc_ag *ag = kvc_entry_segment(e)->ag;
	int err;

	mutex_lock(&ag->lock);
	err = kvc_pin_locked(e, until);
	mutex_unlock(&ag->lock);
	return err;
}

void kvc_pin_clear(struct kvc_entry *e)
{
	struct kvc_ag *ag = kvc_entry_segment(e)->ag;

	if (!(atomic_fetch_andnot(KVC_ENTRY_PINNED, &e->where) &
	      KVC_ENTRY_PINNED))
		return;
	xa_erase(&ag->pins, kvc_pin_index(e));
	atomic64_sub(kvc_bytes_to_blocks(e->bytes), &ag->pinned_blocks);
}

bool kvc_pin_holds(struct kvc_entry *e, u64 now)
{
	void *pin;

	if (!(atomic_read(&e->where) & KVC_ENTRY_PINNED))
		return false;
	pin = xa_load(&kvc_entry_segment(e)->ag->pins, kvc_pin_index(e));
	return pin && xa_to_value(pin) > now;
}

void kvc_pin_move(struct kvc_entry *from, struct kvc_entry *to)
{
	struct kvc_ag *ag = kvc_entry_segment(to)->ag;
	void *pin;

	if (!(atomic_read(&from->where) & KVC_ENTRY_PINNED))
		return;
	/* In one section, or another pin may take what this one leaves. */
	mutex_lock(&ag->lock);
	pin = xa_load(&ag->pins, kvc_pin_index(from));
	kvc_pin_clear(from);
	if (pin)
		kvc_pin_locked(to, xa_to_value(pin));
	mutex_unlock(&ag->lock);
}
