// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <uapi/linux/kvcache.h>
#include "compat.h"
#include "node.h"
#include "pool.h"
#include "batch.h"
#include "presence.h"

/* In hundredths: how full a new table is, and when a larger one is wanted. */
#define KVC_TABLE_BEGIN		64
#define KVC_TABLE_FULL		80
#define KVC_TABLE_LINES_MIN	256U
#define KVC_TABLE_LINES_MAX	(1U << 25)	/* 2 GiB */

/**
 * struct kvc_table - a presence table
 * @ref: the pool's while it is its table, and each mapping's
 * @pool: whose; holds a reference
 * @mapped: mappings; under the pool's presence.lock
 * @lock: guards all that follows, the words, and @present of the entries. In any
 *	context, innermost
 * @head: mapped, of vmalloc_user()
 * @lines: behind the head
 * @nr: lines
 */
struct kvc_table {
	struct kref ref;
	struct kvc_pool *pool;
	unsigned int mapped;
	spinlock_t lock;
	struct kvcache_presence *head;
	u32 (*lines)[KVC_TAG_LINE];
	u32 nr;
};

static u64 kvc_table_bytes(u32 nr)
{
	return KVCACHE_PRESENCE_LINES +
	       PAGE_ALIGN((u64)nr * KVC_TAG_LINE * sizeof(u32));
}

static void kvc_table_free(struct kref *ref)
{
	struct kvc_table *t = container_of(ref, struct kvc_table, ref);

	/* Who has it mapped still has its pages. */
	vfree(t->head);
	kvc_pool_put(t->pool);
	kfree(t);
}

static void kvc_table_put(struct kvc_table *t)
{
	kref_put(&t->ref, kvc_table_free);
}

/* --- words; under the table's lock --- */

static u32 *kvc_line_find(u32 *line, u32 word)
{
	u32 i;

	for (i = 0; i < KVC_TAG_LINE; i++)
		if (line[i] == word)
			return &line[i];
	return NULL;
}

static u32 kvc_line_count(const u32 *line, u32 word)
{
	u32 i, n = 0;

	for (i = 0; i < KVC_TAG_LINE; i++)
		n += line[i] == word;
	return n;
}

static u32 kvc_entry_word(const struct kvc_entry *e)
{
	return kvc_tag_word(e->hash) | (e->expiry ? KVC_TAG_ASK : 0);
}

/* Into the emptier one of its two lines. */
static bool kvc_table_insert(struct kvc_table *t, const struct kvc_entry *e)
{
	u32 word = kvc_entry_word(e), one = kvc_tag_line(e->hash, t->nr);
	u32 *a = t->lines[one], *b = t->lines[kvc_tag_other(word, one, t->nr)];
	u32 *free;

	if (kvc_line_count(b, 0) > kvc_line_count(a, 0))
		swap(a, b);
	free = kvc_line_find(a, 0);
	if (!free)
		return false;
	WRITE_ONCE(*free, word);
	return true;
}

static void kvc_table_erase(struct kvc_table *t, const struct kvc_entry *e)
{
	struct kvcache_presence *h = t->head;
	u32 word = kvc_entry_word(e), one = kvc_tag_line(e->hash, t->nr);
	u32 other = kvc_tag_other(word, one, t->nr);
	u32 *a = t->lines[one], *b = t->lines[other], *place;
	u32 n = kvc_line_count(a, word);

	if (other != one)
		n += kvc_line_count(b, word);
	place = kvc_line_find(a, word) ?: kvc_line_find(b, word);
	if (WARN_ON_ONCE(!place))
		return;
	if (n == 1) {
		WRITE_ONCE(*place, 0);
		return;
	}
	/*
	 * Another has the same word: who looks for that may have passed its place
	 * when it was free, and come to this one when it is free.
	 */
	WRITE_ONCE(h->sequence, h->sequence + 1);
	smp_wmb();
	WRITE_ONCE(*place, 0);
	smp_wmb();
	WRITE_ONCE(h->sequence, h->sequence + 1);
}

static void kvc_table_add(struct kvc_table *t, struct kvc_entry *e)
{
	struct kvcache_presence *h = t->head;
	u32 where = atomic_read(&e->where);

	if ((where & (KVC_ENTRY_LIVE | KVC_ENTRY_DEAD)) != KVC_ENTRY_LIVE ||
	    e->present)
		return;
	if (!kvc_table_insert(t, e)) {
		/* Until there is a larger one. */
		WRITE_ONCE(h->lost, h->lost + 1);
		WRITE_ONCE(h->wanted, 1);
		return;
	}
	e->present = 1;
	WRITE_ONCE(h->objects, h->objects + 1);
	if (unlikely(h->objects * 100 > (u64)t->nr * KVC_TAG_LINE * KVC_TABLE_FULL))
		WRITE_ONCE(h->wanted, 1);
}

void kvc_presence_entry_lives(struct kvc_pool *pool, struct kvc_entry *e)
{
	struct kvc_table *t;
	unsigned long flags;

	rcu_read_lock();
	t = rcu_dereference(pool->presence.table);
	if (t) {
		spin_lock_irqsave(&t->lock, flags);
		kvc_table_add(t, e);
		spin_unlock_irqrestore(&t->lock, flags);
	}
	rcu_read_unlock();
}

void kvc_presence_entry_died(struct kvc_pool *pool, struct kvc_entry *e)
{
	struct kvc_table *t;
	unsigned long flags;

	rcu_read_lock();
	t = rcu_dereference(pool->presence.table);
	if (t) {
		spin_lock_irqsave(&t->lock, flags);
		if (e->present) {
			kvc_table_erase(t, e);
			e->present = 0;
			WRITE_ONCE(t->head->objects, t->head->objects - 1);
		}
		spin_unlock_irqrestore(&t->lock, flags);
	}
	rcu_read_unlock();
}

/* --- what holds for the whole table --- */

static enum hrtimer_restart kvc_presence_lapsed(struct hrtimer *timer)
{
	struct kvc_pool *pool = container_of(timer, struct kvc_pool,
					     presence.lease);
	struct kvc_table *t;
	unsigned long flags;

	rcu_read_lock();
	t = rcu_dereference(pool->presence.table);
	if (t) {
		spin_lock_irqsave(&t->lock, flags);
		if (ktime_get_boottime_ns() >= t->head->lease_until_ns)
			WRITE_ONCE(t->head->lapsed, 1);
		spin_unlock_irqrestore(&t->lock, flags);
	}
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

void kvc_presence_lease(struct kvc_join *join)
{
	struct kvc_pool *pool = join->pool;
	struct kvc_table *t;
	unsigned long flags;
	u64 until;

	if (!rcu_access_pointer(pool->presence.table))
		return;
	rcu_read_lock();
	t = rcu_dereference(pool->presence.table);
	if (t) {
		spin_lock_irqsave(&t->lock, flags);
		until = READ_ONCE(join->lease_until);
		WRITE_ONCE(t->head->lease_until_ns, until);
		WRITE_ONCE(t->head->lapsed, until <= ktime_get_boottime_ns());
		spin_unlock_irqrestore(&t->lock, flags);
		/* So that who looks a key up need not read the clock. */
		if (until)
			hrtimer_start(&pool->presence.lease, ns_to_ktime(until),
				      HRTIMER_MODE_ABS_SOFT);
	}
	rcu_read_unlock();
}

void kvc_presence_health(struct kvc_pool *pool)
{
	u64 all = GENMASK_ULL(pool->set.nr - 1, 0);
	struct kvc_table *t;
	unsigned long flags;

	if (!rcu_access_pointer(pool->presence.table))
		return;
	rcu_read_lock();
	t = rcu_dereference(pool->presence.table);
	if (t) {
		spin_lock_irqsave(&t->lock, flags);
		WRITE_ONCE(t->head->ill, kvc_members_live(&pool->set) != all);
		spin_unlock_irqrestore(&t->lock, flags);
	}
	rcu_read_unlock();
}

u64 kvc_presence_bytes(struct kvc_pool *pool)
{
	struct kvc_table *t;
	u64 bytes = 0;

	rcu_read_lock();
	t = rcu_dereference(pool->presence.table);
	if (t)
		bytes = t->head->bytes;
	rcu_read_unlock();
	return bytes;
}

/* --- making one, and giving it up; under presence.lock --- */

static struct kvc_table *kvc_presence_table(struct kvc_pool *pool)
{
	return rcu_dereference_protected(pool->presence.table,
					 lockdep_is_held(&pool->presence.lock));
}

/* From here on the table stays as it is: @state says so first. */
static void kvc_presence_retire(struct kvc_pool *pool, u32 state)
{
	struct kvc_table *t = kvc_presence_table(pool);

	if (!t)
		return;
	WRITE_ONCE(t->head->state, state);
	smp_mb();
	rcu_assign_pointer(pool->presence.table, NULL);
	synchronize_rcu();
	kvc_table_put(t);
}

/* There is no table: nobody else looks at the mark. */
static void kvc_presence_unmark(struct kvc_entry *e, void *unused)
{
	e->present = 0;
}

static void kvc_presence_fill(struct kvc_entry *e, void *table)
{
	struct kvc_table *t = table;

	spin_lock_irq(&t->lock);
	kvc_table_add(t, e);
	spin_unlock_irq(&t->lock);
}

static struct kvc_table *kvc_table_alloc(struct kvc_pool *pool, u64 objects)
{
	u64 lines = div_u64(objects * 100, KVC_TAG_LINE * KVC_TABLE_BEGIN) + 1;
	struct kvc_table *t = kzalloc(sizeof(*t), GFP_KERNEL);
	struct kvcache_presence *h;

	BUILD_BUG_ON(sizeof(*h) != 80);
	BUILD_BUG_ON(KVCACHE_PRESENCE_LINE != KVC_TAG_LINE);
	BUILD_BUG_ON(KVCACHE_PRESENCE_LINES % PAGE_SIZE);
	if (!t)
		return NULL;
	t->nr = clamp_t(u64, lines, KVC_TABLE_LINES_MIN, KVC_TABLE_LINES_MAX);
	h = vmalloc_user(kvc_table_bytes(t->nr));
	if (!h) {
		kfree(t);
		return NULL;
	}
	kref_init(&t->ref);
	kref_get(&pool->ref);
	t->pool = pool;
	spin_lock_init(&t->lock);
	t->head = h;
	t->lines = (void *)h + KVCACHE_PRESENCE_LINES;
	h->version = KVCACHE_PRESENCE_VERSION;
	h->shared = pool->join->share != NULL;
	h->nr_lines = t->nr;
	h->bytes = kvc_table_bytes(t->nr);
	h->lapsed = 1;
	memcpy(h->hash_key, pool->g.hash_key, sizeof(h->hash_key));
	return t;
}

static int kvc_presence_make(struct kvc_pool *pool)
{
	struct kvc_presence *p = &pool->presence;
	struct kvc_index *x = &pool->join->index;
	struct kvc_table *t;
	int err = 0;

	kvc_presence_retire(pool, KVCACHE_PRESENCE_MOVED);
	if (p->marked)
		err = kvc_index_walk(x, kvc_presence_unmark, NULL);
	if (err)
		return err;
	t = kvc_table_alloc(pool, atomic_read(&x->table.nelems));
	if (!t)
		return -ENOMEM;
	p->marked = true;
	rcu_assign_pointer(p->table, t);
	/* See the order above; and the lease, and health, likewise. */
	synchronize_rcu();
	kvc_presence_lease(pool->join);
	kvc_presence_health(pool);
	err = kvc_index_walk(x, kvc_presence_fill, t);
	if (err) {
		kvc_presence_retire(pool, KVCACHE_PRESENCE_NONE);
		return err;
	}
	smp_store_release(&t->head->state, KVCACHE_PRESENCE_VALID);
	return 0;
}

void kvc_presence_gone(struct kvc_pool *pool)
{
	mutex_lock(&pool->presence.lock);
	kvc_presence_retire(pool, KVCACHE_PRESENCE_GONE);
	/* The next membership's entries are others. */
	pool->presence.marked = false;
	mutex_unlock(&pool->presence.lock);
}

static void kvc_presence_health_changed(void *pool)
{
	kvc_presence_health(pool);
}

void kvc_presence_follow(struct kvc_pool *pool)
{
	pool->set.health_changed = kvc_presence_health_changed;
	pool->set.health_arg = pool;
}

void kvc_presence_init(struct kvc_pool *pool)
{
	mutex_init(&pool->presence.lock);
	kvc_hrtimer_init(&pool->presence.lease, kvc_presence_lapsed,
			 CLOCK_BOOTTIME, HRTIMER_MODE_ABS_SOFT);
}

void kvc_presence_destroy(struct kvc_pool *pool)
{
	hrtimer_cancel(&pool->presence.lease);
}

/* --- the border --- */

static int kvc_presence_see(struct kvc_pool *pool, u64 *bytes)
{
	struct kvc_table *t;
	int err;

	err = mutex_lock_killable(&pool->presence.lock);
	if (err)
		return err;
	t = kvc_presence_table(pool);
	if (!t || (READ_ONCE(t->head->wanted) && t->nr < KVC_TABLE_LINES_MAX))
		err = kvc_presence_make(pool);
	if (!err)
		*bytes = kvc_presence_table(pool)->head->bytes;
	mutex_unlock(&pool->presence.lock);
	return err;
}

long kvc_presence_ioctl(struct file *file, void __user *arg)
{
	struct kvcache_presence_map m;
	struct kvc_pool *pool;
	u32 size;
	int err = kvc_struct_in(&m, sizeof(m), arg);

	if (err)
		return err;
	size = m.size;
	if (m.flags || m.reserved)
		return -EINVAL;
	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
	err = kvc_node_choose(file, &m.pool);
	if (err)
		return err;
	pool = kvc_pool_get(m.pool);
	if (!pool)
		return -ENODEV;
	err = kvc_pool_enter(pool);
	if (!err) {
		err = kvc_presence_see(pool, &m.bytes);
		kvc_pool_leave(pool);
	}
	m.pool = pool->number;
	m.offset = (u64)pool->number << KVCACHE_PRESENCE_POOL_SHIFT;
	kvc_pool_put(pool);
	return err ?: kvc_struct_out(arg, &m, sizeof(m), size);
}

static void kvc_presence_opened(struct vm_area_struct *vma)
{
	struct kvc_table *t = vma->vm_private_data;

	kref_get(&t->ref);
	mutex_lock(&t->pool->presence.lock);
	t->mapped++;
	mutex_unlock(&t->pool->presence.lock);
}

/* Nobody looks at it any more: it need not be kept up to date. */
static void kvc_presence_closed(struct vm_area_struct *vma)
{
	struct kvc_table *t = vma->vm_private_data;
	struct kvc_pool *pool = t->pool;

	mutex_lock(&pool->presence.lock);
	if (!--t->mapped && kvc_presence_table(pool) == t)
		kvc_presence_retire(pool, KVCACHE_PRESENCE_NONE);
	mutex_unlock(&pool->presence.lock);
	kvc_table_put(t);
}

static const struct vm_operations_struct kvc_presence_vm_ops = {
	.open = kvc_presence_opened,
	.close = kvc_presence_closed,
};

static int kvc_presence_map(struct kvc_pool *pool, struct vm_area_struct *vma)
{
	struct kvc_table *t;
	int err = -ENXIO;

	mutex_lock(&pool->presence.lock);
	t = kvc_presence_table(pool);
	if (t && vma->vm_end - vma->vm_start == t->head->bytes)
		err = remap_vmalloc_range(vma, t->head, 0);
	if (!err) {
		kref_get(&t->ref);
		t->mapped++;
		vma->vm_private_data = t;
		vma->vm_ops = &kvc_presence_vm_ops;
	}
	mutex_unlock(&pool->presence.lock);
	return err;
}

int kvc_presence_mmap(struct file *file, struct vm_area_struct *vma)
{
	const unsigned int shift = KVCACHE_PRESENCE_POOL_SHIFT - PAGE_SHIFT;
	u64 number = vma->vm_pgoff >> shift;
	struct kvc_pool *pool;
	int err;
	u32 n;

	/* Of a file that can't be written to no mapping is VM_SHARED. */
	if (number > INT_MAX || vma->vm_pgoff & GENMASK_ULL(shift - 1, 0) ||
	    !(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC) ||
	    !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	n = number;
	err = kvc_node_choose(file, &n);
	if (err)
		return err;
	pool = kvc_pool_get(n);
	if (!pool)
		return -ENODEV;
	err = kvc_pool_enter(pool);
	if (!err) {
		kvc_vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
		err = kvc_presence_map(pool, vma);
		kvc_pool_leave(pool);
	}
	kvc_pool_put(pool);
	return err;
}
