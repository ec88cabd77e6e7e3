// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include "share.h"
#include "slot.h"

static size_t kvc_slot_bytes(const struct kvc_geometry *g)
{
	return (size_t)g->slot_blocks << KVC_BLOCK_SHIFT;
}

static void kvc_slots_bury_work(struct work_struct *work);
static void kvc_slot_scan(struct work_struct *work);

/*
 * Submission may sleep until the device has a request free. By a work for each
 * copy, one member that hangs with all of its requests out costs the heartbeat
 * just this copy.
 */
static void kvc_slot_send_copy(struct work_struct *work)
{
	kvc_meta_submit(&container_of(work, struct kvc_slot_copy, send)->io);
}

static void kvc_slot_send_look(struct work_struct *work)
{
	kvc_meta_submit(&container_of(work, struct kvc_slot_look, send)->io);
}

int kvc_slots_init(struct kvc_join *join)
{
	const struct kvc_geometry *g = join->g;
	u32 i, n = g->nr_slots * g->slot_blocks;
	struct kvc_slots *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	join->slots = s;
	s->join = join;
	s->nr_copies = kvc_slot_places(g);
	spin_lock_init(&s->lock);
	mutex_init(&s->parts_lock);
	init_waitqueue_head(&s->wait);
	INIT_WORK(&s->bury, kvc_slots_bury_work);
	for (i = 0; i < s->nr_copies; i++) {
		INIT_WORK(&s->copies[i].send, kvc_slot_send_copy);
		INIT_WORK(&s->looks[i].send, kvc_slot_send_look);
		INIT_WORK(&s->scans[i].work, kvc_slot_scan);
		s->scans[i].slots = s;
		s->scans[i].place = kvc_place_slot(g, 0, i, 0);
	}
	s->parts = kvcalloc(n, sizeof(*s->parts), GFP_KERNEL);
	s->writers = kvcalloc(n, sizeof(*s->writers), GFP_KERNEL);
	s->labels = kvcalloc(s->nr_copies * g->nr_slots, sizeof(*s->labels),
			     GFP_KERNEL);
	s->unknown = kcalloc(BITS_TO_LONGS(g->nr_slots), sizeof(long), GFP_KERNEL);
	s->dead = kcalloc(BITS_TO_LONGS(g->nr_slots), sizeof(long), GFP_KERNEL);
	if (!s->parts || !s->writers || !s->labels || !s->unknown || !s->dead)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		s->parts[i] = kzalloc(sizeof(**s->parts), GFP_KERNEL);
		if (!s->parts[i])
			return -ENOMEM;
		s->parts[i]->number = i / g->slot_blocks;
		s->parts[i]->first_ag = i % g->slot_blocks *
					KVC_AGS_PER_SLOT_BLOCK;
		s->parts[i]->nr_ags = kvc_slot_part_ags(g, i % g->slot_blocks);
	}
	for (i = 0; i < s->nr_copies; i++) {
		s->copies[i].slots = s;
		s->looks[i].slots = s;
		s->copies[i].buf = kvmalloc(kvc_slot_bytes(g), GFP_KERNEL);
		s->looks[i].buf = (void *)__get_free_page(GFP_KERNEL);
		s->scans[i].buf = kvmalloc(g->nr_slots * kvc_slot_bytes(g),
					   GFP_KERNEL);
		if (!s->copies[i].buf || !s->looks[i].buf || !s->scans[i].buf)
			return -ENOMEM;
	}
	return 0;
}

void kvc_slots_destroy(struct kvc_join *join)
{
	struct kvc_slots *s = join->slots;
	u32 i;

	if (!s)
		return;
	for (i = 0; i < s->nr_copies; i++)
		wait_event(s->wait, !READ_ONCE(s->copies[i].busy) &&
				    !READ_ONCE(s->looks[i].busy) &&
				    !READ_ONCE(s->scans[i].busy));
	/* A completion is done with us once it has let the lock go. */
	spin_lock_irq(&s->lock);
	spin_unlock_irq(&s->lock);
	for (i = 0; i < s->nr_copies; i++) {
		cancel_work_sync(&s->copies[i].send);
		cancel_work_sync(&s->looks[i].send);
		cancel_work_sync(&s->scans[i].work);
		kvfree(s->copies[i].buf);
		free_page((unsigned long)s->looks[i].buf);
		kvfree(s->scans[i].buf);
	}
	for (i = 0; s->parts && i < join->g->nr_slots * join->g->slot_blocks; i++)
		kfree(s->parts[i]);
	kvfree(s->parts);
	kvfree(s->writers);
	kvfree(s->labels);
	kfree(s->unknown);
	kfree(s->dead);
	kfree(s);
	join->slots = NULL;
}

/* Take a copy's block for what it tells; count what it is. */
static void kvc_slot_take(struct kvc_join *join, u32 copy, u32 i,
			  struct kvc_slot_info *info, bool *sound, bool *rotten)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_slots *s = join->slots;
	u32 slot = i / g->slot_blocks, part = i % g->slot_blocks;
	struct kvc_place p = kvc_place_slot(g, slot, copy, part);
	const void *block = s->scans[copy].buf + ((size_t)i << KVC_BLOCK_SHIFT);
	const struct kvc_block_header *h = block;
	enum kvc_block_verdict v;

	v = kvc_block_verify(block, KVC_BLOCK_SLOT, g->uuid, &p);
	if (v == KVC_BLOCK_NEVER)
		return;
	if (v != KVC_BLOCK_OK || kvc_slot_decode(block, g, info) ||
	    info->number != slot ||
	    info->first_ag != s->parts[i]->first_ag) {
		*rotten = true;
		return;
	}
	*sound = true;
	if (!part)
		s->labels[copy * g->nr_slots + slot] = info->label_seq;
	/* Once we write it, our own is what we last wrote: see kvc_slot_ours(). */
	if (slot == join->writer.slot && join->state == KVC_SLOT_ACTIVE)
		return;
	if (!kvc_slot_newer(info, s->parts[i]))
		return;
	*s->parts[i] = *info;
	s->writers[i].slot = le32_to_cpu(h->slot);
	s->writers[i].incarnation = le64_to_cpu(h->incarnation);
}

static void kvc_slot_scan(struct work_struct *work)
{
	struct kvc_slot_scan *c = container_of(work, struct kvc_slot_scan, work);
	struct kvc_slots *s = c->slots;
	const struct kvc_geometry *g = s->join->g;
	int err;

	err = kvc_meta_read(&s->join->set->m[c->place.member], c->place.block,
			    g->nr_slots * g->slot_blocks, c->buf);
	spin_lock_irq(&s->lock);
	c->landed = !err;
	WRITE_ONCE(c->busy, false);
	wake_up_all(&s->wait);
	spin_unlock_irq(&s->lock);
}

unsigned long kvc_slots_begin_read(struct kvc_join *join)
{
	struct kvc_slots *s = join->slots;
	unsigned long begun = 0;
	u32 i;

	for (i = 0; i < s->nr_copies; i++) {
		struct kvc_slot_scan *c = &s->scans[i];

		/* One that is still out from before would show what was before. */
		if (READ_ONCE(c->busy) ||
		    kvc_member_health(&join->set->m[c->place.member]) ==
			    KVC_HEALTH_FAILED)
			continue;
		c->landed = false;
		c->busy = true;
		begun |= BIT(i);
		queue_work(join->beat_wq, &c->work);
	}
	return begun;
}

/*
 * Have all copies been read that are on live members, and most of all? Or will no
 * more be? @landed: those that have, as bits.
 */
static bool kvc_slots_scanned(struct kvc_join *join, unsigned long begun,
			      unsigned long *landed)
{
	struct kvc_slots *s = join->slots;
	u32 i, busy = 0, live = 0;

	*landed = 0;
	spin_lock_irq(&s->lock);
	for_each_set_bit(i, &begun, s->nr_copies) {
		struct kvc_slot_scan *c = &s->scans[i];

		if (!c->busy) {
			*landed |= c->landed ? BIT(i) : 0;
			continue;
		}
		busy++;
		live += kvc_member_health(&join->set->m[c->place.member]) ==
			KVC_HEALTH_LIVE;
	}
	spin_unlock_irq(&s->lock);
	return !busy || (!live && kvc_slot_most(join->g, *landed));
}

static unsigned long kvc_slots_scan(struct kvc_join *join, unsigned long begun)
{
	unsigned long end = jiffies + msecs_to_jiffies(join->g->lease_ms) + 1;
	unsigned long landed;

	/* In turns: a member may become suspect in between. */
	while (!wait_event_timeout(join->slots->wait,
				   kvc_slots_scanned(join, begun, &landed),
				   msecs_to_jiffies(KVC_WATCH_MS)) &&
	       time_before(jiffies, end))
		;
	return landed;
}

/* What was found of a block: sound copies, a bit each; whether another is rotten. */
#define KVC_SLOT_SOUND	(BIT(KVC_MAX_SLOT_PLACES) - 1)
#define KVC_SLOT_ROTTEN	BIT(KVC_MAX_SLOT_PLACES)

/*
 * Alone in a pool, one sound copy is enough, since who watches sees it move.
 * Else a minority may be older than what another host saw (protocol rule 13):
 * what most copies don't tell, though something was written, is unknown.
 */
static bool kvc_slot_block_unknown(struct kvc_join *join, u8 found)
{
	if (!(found & KVC_SLOT_ROTTEN))
		return false;
	return join->share ? !kvc_slot_most(join->g, found & KVC_SLOT_SOUND) :
			     !(found & KVC_SLOT_SOUND);
}

static void kvc_slots_judge(struct kvc_join *join, const u8 *found)
{
	const struct kvc_geometry *g = join->g;
	u32 i, k;

	for (i = 0; i < g->nr_slots; i++) {
		bool unknown = false;

		for (k = 0; k < g->slot_blocks; k++)
			unknown |= kvc_slot_block_unknown(join,
					found[i * g->slot_blocks + k]);
		if (unknown)
			__set_bit(i, join->slots->unknown);
		else
			__clear_bit(i, join->slots->unknown);
	}
}

int kvc_slots_end_read(struct kvc_join *join, unsigned long begun)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_slots *s = join->slots;
	u32 n = g->nr_slots * g->slot_blocks;
	struct kvc_slot_info *info;
	unsigned long landed;
	u32 copy, i;
	u8 *found;

	landed = kvc_slots_scan(join, begun);
	info = kmalloc(sizeof(*info), GFP_KERNEL);
	found = kvcalloc(n, 1, GFP_KERNEL);
	if (!info || !found) {
		kfree(info);
		kvfree(found);
		return -ENOMEM;
	}
	kvc_slots_lock(join);
	memset(s->labels, 0, s->nr_copies * g->nr_slots * sizeof(*s->labels));
	for_each_set_bit(copy, &landed, s->nr_copies) {
		for (i = 0; i < n; i++) {
			bool sound = false, rotten = false;

			kvc_slot_take(join, copy, i, info, &sound, &rotten);
			if (sound)
				found[i] |= BIT(copy);
			if (rotten)
				found[i] |= KVC_SLOT_ROTTEN;
		}
	}
	kvc_slots_judge(join, found);
	kvc_slots_unlock(join);
	kfree(info);
	kvfree(found);
	return kvc_slot_most(g, landed) ? 0 : -EIO;
}

int kvc_slots_read(struct kvc_join *join)
{
	return kvc_slots_end_read(join, kvc_slots_begin_read(join));
}

bool kvc_slot_shows_label(struct kvc_join *join, u32 slot, u64 sequence)
{
	struct kvc_slots *s = join->slots;
	unsigned long places = 0;
	u32 i;

	for (i = 0; i < s->nr_copies; i++)
		if (s->labels[i * join->g->nr_slots + slot] >= sequence)
			places |= BIT(i);
	return kvc_slot_most(join->g, places);
}

const struct kvc_slot_ag_info *kvc_slot_ag(struct kvc_join *join, u32 slot,
					   u32 ag)
{
	u32 part = ag / KVC_AGS_PER_SLOT_BLOCK;

	return &join->slots->parts[slot * join->g->slot_blocks + part]
			->ags[ag % KVC_AGS_PER_SLOT_BLOCK];
}

u64 kvc_slots_shown(struct kvc_join *join, u32 ag, u32 *slot)
{
	u64 shown = 0;
	u32 i;

	*slot = KVC_NO_SLOT;
	kvc_slots_lock(join);
	for (i = 0; i < join->g->nr_slots; i++) {
		u64 epoch = kvc_slot_ag(join, i, ag)->owned_epoch;

		if (epoch <= shown)
			continue;
		shown = epoch;
		*slot = i;
	}
	kvc_slots_unlock(join);
	return shown;
}

/* What our slot shows of one AG. */
static void kvc_slot_update_ag(struct kvc_join *join, u32 number,
			       struct kvc_slot_ag_info *a)
{
	struct kvc_ag *ag = &join->ags[number];
	u64 claimed = READ_ONCE(ag->claimed);

	/* Else what earlier incarnations showed stays (protocol rule 5). */
	if (join->state == KVC_SLOT_ACTIVE && claimed)
		a->owned_epoch = claimed;
	/* Nothing is drained until it was loaded (likewise). */
	a->followed_epoch = 0;
	a->drained = 0;
	if (!join->share)
		return;
	/* Of our own: what certainly counts (protocol rule 24). */
	if (READ_ONCE(ag->owned)) {
		a->followed_epoch = ag->journal.epoch;
		a->drained = kvc_journal_durable(&ag->journal);
		return;
	}
	spin_lock_irq(&join->share->lock);
	a->followed_epoch = ag->follow.drained_epoch;
	a->drained = ag->follow.drained;
	spin_unlock_irq(&join->share->lock);
}

/* Bring what our slot shows up to date; the sequence goes on (rule 5). */
static void kvc_slot_update(struct kvc_join *join)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_slots *s = join->slots;
	u32 part, i;

	join->slot_sequence++;
	join->heartbeat++;
	kvc_slots_lock(join);
	for (part = 0; part < g->slot_blocks; part++) {
		struct kvc_slot_info *p =
			s->parts[join->writer.slot * g->slot_blocks + part];

		p->state = join->state;
		p->sequence = join->slot_sequence;
		p->incarnation = join->writer.incarnation;
		p->heartbeat = join->heartbeat;
		p->flags = join->share ? KVC_SLOT_SHARED : 0;
		if (READ_ONCE(join->relabels))
			p->flags |= KVC_SLOT_RELABELS;
		p->label_seq = 0;
		if (g->incompat & KVC_FEATURE_INCOMPAT_ELASTIC)
			p->label_seq =
				READ_ONCE(join->pool->label_sequence);
		/* What an earlier incarnation wrote may know fewer. */
		p->nr_ags = kvc_slot_part_ags(g, part);
		memcpy(p->boot_id, join->pool->id.boot_id, 16);
		memcpy(p->attach_id, join->pool->id.attach_id, 16);
		memcpy(p->nqn, join->pool->id.nqn, sizeof(p->nqn));
		memcpy(p->node, join->pool->id.node, sizeof(p->node));
		for (i = 0; i < p->nr_ags; i++)
			kvc_slot_update_ag(join, p->first_ag + i, &p->ags[i]);
	}
	kvc_slots_unlock(join);
}

static void kvc_slot_landed(struct kvc_meta_io *io)
{
	struct kvc_slot_copy *c = io->private;
	struct kvc_slots *s = c->slots;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	c->error = io->error;
	if (!io->error)
		c->landed = c->beat;
	if (io->unsure) {
		c->unsure = true;
		c->unsure_until = jiffies +
				  msecs_to_jiffies(s->join->g->q_ms);
	}
	WRITE_ONCE(c->busy, false);
	wake_up_all(&s->wait);
	spin_unlock_irqrestore(&s->lock, flags);
}

static void kvc_slot_send(struct kvc_join *join, u32 copy)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_slots *s = join->slots;
	struct kvc_slot_copy *c = &s->copies[copy];
	u32 part;

	for (part = 0; part < g->slot_blocks; part++) {
		struct kvc_place p = kvc_place_slot(g, join->writer.slot, copy,
						    part);
		void *block = c->buf + ((size_t)part << KVC_BLOCK_SHIFT);

		kvc_slot_encode(block,
				s->parts[join->writer.slot * g->slot_blocks + part]);
		kvc_block_finish(block, KVC_BLOCK_SLOT, g->uuid, p,
				 join->slot_sequence, &join->writer);
		if (!part) {
			c->io.m = &join->set->m[p.member];
			c->io.block = p.block;
		}
	}
	c->io.op = REQ_OP_WRITE;
	c->io.nr = g->slot_blocks;
	c->io.buf = c->buf;
	c->io.done = kvc_slot_landed;
	c->io.private = c;
	/* One that fails on its way costs the copy until Q (protocol rule 31). */
	c->io.patient = true;
	c->beat = s->beat;
	c->busy = true;
	queue_work(join->beat_wq, &c->send);
}

/* Copies that have the present beat; @open: those that may still get it. */
static unsigned long kvc_slot_beaten(struct kvc_slots *s, unsigned long *open)
{
	unsigned long landed = 0;
	u32 i;

	*open = 0;
	spin_lock_irq(&s->lock);
	for (i = 0; i < s->nr_copies; i++) {
		if (s->copies[i].landed == s->beat)
			landed |= BIT(i);
		else if (s->copies[i].busy && s->copies[i].beat == s->beat)
			*open |= BIT(i);
	}
	spin_unlock_irq(&s->lock);
	return landed;
}

static bool kvc_slot_decided(struct kvc_slots *s)
{
	unsigned long open, landed = kvc_slot_beaten(s, &open);

	return kvc_slot_most(s->join->g, landed) ||
	       !kvc_slot_most(s->join->g, landed | open);
}

/* May a copy be written now? */
static bool kvc_slot_copy_free(struct kvc_slots *s, struct kvc_slot_copy *c)
{
	bool is_free;

	spin_lock_irq(&s->lock);
	if (c->unsure && time_after_eq(jiffies, c->unsure_until))
		c->unsure = false;
	is_free = !c->busy && !c->unsure;
	spin_unlock_irq(&s->lock);
	return is_free;
}

int kvc_slot_beat(struct kvc_join *join, unsigned int timeout_ms)
{
	struct kvc_slots *s = join->slots;
	u64 start = ktime_get_boottime_ns();
	unsigned long open;
	u32 i;

	s->beat++;
	kvc_slot_update(join);
	for (i = 0; i < s->nr_copies; i++)
		if (kvc_slot_copy_free(s, &s->copies[i]))
			kvc_slot_send(join, i);
	wait_event_timeout(s->wait, kvc_slot_decided(s),
			   msecs_to_jiffies(timeout_ms));
	if (!kvc_slot_most(join->g, kvc_slot_beaten(s, &open)))
		return open ? -ETIMEDOUT : -EIO;
	/*
	 * Did the last lease hold until this was down? If not, another host may
	 * have seen the slot stand still for long enough and have taken over:
	 * then no write brings the lease back (protocol rules 3 and 19).
	 */
	if (join->set->lease_ok && !kvc_join_lease_ok(join))
		return -ESTALE;
	WRITE_ONCE(join->lease_until,
		   min(start + (u64)join->g->lease_ms * NSEC_PER_MSEC,
		       READ_ONCE(join->granted_until)));
	kvc_presence_lease(join);
	return 0;
}

/* --- looking after our own slot --- */

static void kvc_slot_looked(struct kvc_meta_io *io)
{
	struct kvc_slot_look *l = io->private;
	struct kvc_slots *s = l->slots;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	l->landed = !io->error;
	WRITE_ONCE(l->busy, false);
	wake_up_all(&s->wait);
	spin_unlock_irqrestore(&s->lock, flags);
}

/*
 * Begin to read our slot's first block from every copy whose member is not in a
 * worse state than @health.
 */
static void kvc_slot_look(struct kvc_join *join, int health)
{
	struct kvc_slots *s = join->slots;
	u32 i;

	for (i = 0; i < s->nr_copies; i++) {
		struct kvc_place p = kvc_place_slot(join->g, join->writer.slot,
						    i, 0);
		struct kvc_slot_look *l = &s->looks[i];

		if (READ_ONCE(l->busy))
			continue;	/* since the last look */
		l->landed = false;
		if (kvc_member_health(&join->set->m[p.member]) > health)
			continue;
		l->sequence = join->slot_sequence;
		l->round = s->round;
		l->io.m = &join->set->m[p.member];
		l->io.op = REQ_OP_READ;
		l->io.block = p.block;
		l->io.nr = 1;
		l->io.buf = l->buf;
		l->io.done = kvc_slot_looked;
		l->io.private = l;
		l->busy = true;
		queue_work(join->beat_wq, &l->send);
	}
}

/* Can the looks be judged: are most of them back, or all that can be? */
static bool kvc_slot_seen(struct kvc_slots *s)
{
	unsigned long landed = 0;
	u32 i, busy = 0;

	spin_lock_irq(&s->lock);
	for (i = 0; i < s->nr_copies; i++) {
		if (s->looks[i].busy)
			busy++;
		else if (s->looks[i].landed && s->looks[i].round == s->round)
			landed |= BIT(i);
	}
	spin_unlock_irq(&s->lock);
	return !busy || kvc_slot_most(s->join->g, landed);
}

enum kvc_slot_sight {
	KVC_SIGHT_NONE,		/* not read, or rotten */
	KVC_SIGHT_OURS,
	KVC_SIGHT_OLDER,	/* our writes did not reach it */
	KVC_SIGHT_OTHER,	/* another wrote after us */
};

/* What the last look at a copy found; @info is what the copy shows. */
static enum kvc_slot_sight kvc_slot_see(struct kvc_join *join, u32 copy,
					struct kvc_slot_info *info)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_place p = kvc_place_slot(g, join->writer.slot, copy, 0);
	struct kvc_slots *s = join->slots;
	struct kvc_slot_look *l = &s->looks[copy];
	bool landed;

	spin_lock_irq(&s->lock);
	landed = !l->busy && l->landed;
	spin_unlock_irq(&s->lock);
	if (!landed ||
	    kvc_block_verify(l->buf, KVC_BLOCK_SLOT, g->uuid, &p) !=
		    KVC_BLOCK_OK ||
	    kvc_slot_decode(l->buf, g, info))
		return KVC_SIGHT_NONE;
	if (info->incarnation == join->writer.incarnation &&
	    !memcmp(info->attach_id, join->pool->id.attach_id, 16))
		return KVC_SIGHT_OURS;
	/* Two that claim at the same time write the same sequence. */
	return info->sequence >= l->sequence ||
	       info->incarnation > join->writer.incarnation ?
		       KVC_SIGHT_OTHER : KVC_SIGHT_OLDER;
}

bool kvc_slot_ours(struct kvc_join *join, unsigned int timeout_ms,
		   struct kvc_slot_info *other)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	struct kvc_slots *s = join->slots;
	struct kvc_slot_info *info;
	unsigned long ours;
	u32 i;

	memset(other, 0, sizeof(*other));
	info = kmalloc(sizeof(*info), GFP_NOIO);
	if (!info)
		return false;
	/* A look that is still out from before shows what was before. */
	s->round++;
	for (;;) {
		kvc_slot_look(join, KVC_HEALTH_SUSPECT);
		wait_event_timeout(s->wait, kvc_slot_seen(s),
				   max_t(long, end - jiffies, 1));
		for (i = 0, ours = 0; i < s->nr_copies; i++) {
			enum kvc_slot_sight sight = kvc_slot_see(join, i, info);

			if (sight == KVC_SIGHT_OURS &&
			    s->looks[i].round == s->round)
				ours |= BIT(i);
			if (sight == KVC_SIGHT_OTHER &&
			    info->sequence > other->sequence)
				*other = *info;
		}
		/* Neither yes nor no: a member may be back in a moment. */
		if (kvc_slot_most(join->g, ours) || other->sequence ||
		    time_after_eq(jiffies, end))
			break;
		schedule_timeout_uninterruptible(1);
	}
	kfree(info);
	return kvc_slot_most(join->g, ours);
}

bool kvc_slot_usurped(struct kvc_join *join)
{
	struct kvc_slot_info *info;
	bool usurped = false;
	u32 i;

	info = kmalloc(sizeof(*info), GFP_NOIO);
	if (!info)
		return false;
	for (i = 0; i < join->slots->nr_copies && !usurped; i++)
		usurped = kvc_slot_see(join, i, info) == KVC_SIGHT_OTHER;
	if (usurped)
		pr_err("pool %s: slot %u is written by host %s: the lease is given up\n",
		       join->g->name, join->writer.slot,
		       info->node[0] ? info->node : "(no name)");
	kfree(info);
	kvc_slot_look(join, KVC_HEALTH_LIVE);
	return usurped;
}

static void kvc_slot_bury(struct kvc_join *join, u32 slot)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_slots *s = join->slots;
	u32 part, copy;
	void *block;

	block = (void *)__get_free_page(GFP_KERNEL);
	if (!block)
		return;
	for (part = 0; part < g->slot_blocks; part++) {
		struct kvc_slot_info *p = s->parts[slot * g->slot_blocks + part];

		p->state = KVC_SLOT_DOWN;
		p->sequence++;
		s->writers[slot * g->slot_blocks + part] = join->writer;
		for (copy = 0; copy < s->nr_copies; copy++) {
			struct kvc_place at = kvc_place_slot(g, slot, copy, part);

			kvc_slot_encode(block, p);
			kvc_block_finish(block, KVC_BLOCK_SLOT, g->uuid, at,
					 p->sequence, &join->writer);
			kvc_meta_write(&join->set->m[at.member], at.block, 1,
				       block);
		}
	}
	free_page((unsigned long)block);
}

static void kvc_slots_bury_work(struct work_struct *work)
{
	struct kvc_slots *s = container_of(work, struct kvc_slots, bury);
	struct kvc_join *join = s->join;
	u32 i;

	for_each_set_bit(i, s->dead, join->g->nr_slots)
		if (i != join->writer.slot && !READ_ONCE(join->stopping))
			kvc_slot_bury(join, i);
}

void kvc_slots_bury(struct kvc_join *join)
{
	struct kvc_slots *s = join->slots;

	if (s->buried || time_before(jiffies, join->frozen_until))
		return;
	s->buried = true;
	queue_work(join->wq, &s->bury);
}

void kvc_slots_stop_bury(struct kvc_join *join)
{
	if (join->slots)
		cancel_work_sync(&join->slots->bury);
}
