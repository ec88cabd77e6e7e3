// SPDX-License-Identifier: GPL-2.0
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "batch.h"
#include "node.h"
#include "pool.h"
#include "watch.h"

/**
 * struct kvc_watch - one reader's stream
 * @node: in the pool's list
 * @pool: whose reference it holds
 * @reading: held by who reads; memory that is read to may take its time
 * @lock: guards all below; eviction takes it, so it is not held over that
 * @tenant: whose objects, unless @all
 * @all: of every tenant
 * @lost: events did not fit: a RESCAN follows what is in @buf, and what comes
 *	before it was read is covered by it
 * @size: bytes of @buf, a power of two
 * @head: bytes that were written so far
 * @tail: bytes that were read so far; changes under @reading as well
 * @buf: events, over the end and on from the start
 * @wait: for events, or the end
 */
struct kvc_watch {
	struct list_head node;
	struct kvc_pool *pool;
	struct mutex reading;
	struct mutex lock;
	u32 tenant;
	bool all;
	bool lost;
	u32 size;
	u64 head;
	u64 tail;
	u8 *buf;
	wait_queue_head_t wait;
};

void kvc_watches_init(struct kvc_watches *w)
{
	mutex_init(&w->lock);
	INIT_LIST_HEAD(&w->readers);
}

/* --- writing --- */

static void kvc_watch_write(struct kvc_watch *r, const void *data, u32 n)
{
	u32 at = r->head & (r->size - 1);
	u32 first = min(n, r->size - at);

	memcpy(r->buf + at, data, first);
	memcpy(r->buf, data + first, n - first);
	r->head += n;
}

static u32 kvc_event_bytes(u32 key_len)
{
	return ALIGN(sizeof(struct kvcache_event) + key_len, 8);
}

static void kvc_watch_add(struct kvc_watch *r, const struct kvcache_event *e,
			  const u8 *key)
{
	static const u8 zeroes[8];
	u32 pad = e->entry_len - sizeof(*e) - e->key_len;

	mutex_lock(&r->lock);
	if (!r->lost && r->head - r->tail + e->entry_len <= r->size) {
		kvc_watch_write(r, e, sizeof(*e));
		kvc_watch_write(r, key, e->key_len);
		kvc_watch_write(r, zeroes, pad);
	} else {
		r->lost = true;
	}
	mutex_unlock(&r->lock);
	wake_up_interruptible_poll(&r->wait, EPOLLIN | EPOLLRDNORM);
}

void kvc_watch_tell(struct kvc_watches *w, u32 what, u32 tenant, const u8 *key,
		    u32 key_len, u64 length)
{
	struct kvcache_event e = {
		.entry_len = kvc_event_bytes(key_len),
		.key_len = key_len,
		.what = what,
		.tenant = tenant,
		.length = length,
	};
	struct kvc_watch *r;

	mutex_lock(&w->lock);
	list_for_each_entry(r, &w->readers, node)
		if (r->all || r->tenant == tenant)
			kvc_watch_add(r, &e, key);
	mutex_unlock(&w->lock);
}

void kvc_watch_rescan(struct kvc_watches *w)
{
	struct kvc_watch *r;

	mutex_lock(&w->lock);
	list_for_each_entry(r, &w->readers, node) {
		mutex_lock(&r->lock);
		r->lost = true;
		mutex_unlock(&r->lock);
		wake_up_interruptible_poll(&r->wait, EPOLLIN | EPOLLRDNORM);
	}
	mutex_unlock(&w->lock);
}

void kvc_watch_end(struct kvc_watches *w)
{
	struct kvc_watch *r;

	mutex_lock(&w->lock);
	WRITE_ONCE(w->ended, true);
	list_for_each_entry(r, &w->readers, node)
		wake_up_interruptible_poll(&r->wait, EPOLLIN | EPOLLHUP);
	mutex_unlock(&w->lock);
}

/* --- reading --- */

/* Is there something to read, or nothing ever again? */
static bool kvc_watch_ready(struct kvc_watch *r)
{
	return READ_ONCE(r->head) != READ_ONCE(r->tail) || READ_ONCE(r->lost) ||
	       READ_ONCE(r->pool->watches.ended);
}

static void kvc_watch_peek(const struct kvc_watch *r, u64 at, void *to, u32 n)
{
	u32 from = at & (r->size - 1);
	u32 first = min(n, r->size - from);

	memcpy(to, r->buf + from, first);
	memcpy(to + first, r->buf, n - first);
}

/* Whole events from the tail up to @head that fit in @room, as bytes. */
static u32 kvc_watch_fits(const struct kvc_watch *r, u64 head, size_t room)
{
	struct kvcache_event e;
	u64 at = r->tail;

	while (at != head) {
		kvc_watch_peek(r, at, &e, sizeof(e));
		if (at + e.entry_len - r->tail > room)
			break;
		at += e.entry_len;
	}
	return at - r->tail;
}

static int kvc_watch_copy(struct kvc_watch *r, char __user *to, u32 n)
{
	u32 from = r->tail & (r->size - 1);
	u32 first = min(n, r->size - from);

	if (copy_to_user(to, r->buf + from, first) ||
	    copy_to_user(to + first, r->buf, n - first))
		return -EFAULT;
	return 0;
}

/* Return: its bytes, or -errno. */
static ssize_t kvc_watch_copy_rescan(char __user *to, size_t room)
{
	const struct kvcache_event rescan = {
		.entry_len = sizeof(rescan),
		.what = KVCACHE_EVENT_RESCAN,
	};

	if (room < sizeof(rescan))
		return -EINVAL;
	if (copy_to_user(to, &rescan, sizeof(rescan)))
		return -EFAULT;
	return sizeof(rescan);
}

static ssize_t kvc_watch_take(struct kvc_watch *r, char __user *to, size_t room)
{
	ssize_t n, rescan = 0;
	bool lost;
	u64 head;

	lockdep_assert_held(&r->reading);
	mutex_lock(&r->lock);
	head = r->head;
	lost = r->lost;
	mutex_unlock(&r->lock);

	/* Nobody writes between tail and head, and nothing at all if @lost. */
	n = kvc_watch_fits(r, head, room);
	if (!n && head != r->tail)
		return -EINVAL;		/* no room for one event */
	if (n && kvc_watch_copy(r, to, n))
		return -EFAULT;
	if (lost && r->tail + n == head) {
		rescan = kvc_watch_copy_rescan(to + n, room - n);
		if (rescan < 0 && !n)
			return rescan;
	}

	mutex_lock(&r->lock);
	r->tail += n;
	if (rescan > 0)
		r->lost = false;
	mutex_unlock(&r->lock);
	return rescan > 0 ? n + rescan : n;
}

static ssize_t kvc_watch_read(struct file *file, char __user *to, size_t room,
			      loff_t *pos)
{
	struct kvc_watch *r = file->private_data;
	ssize_t got;

	for (;;) {
		/* Before the look: what came before the end is still told. */
		const bool ended = READ_ONCE(r->pool->watches.ended);

		if (mutex_lock_interruptible(&r->reading))
			return -ERESTARTSYS;
		got = kvc_watch_take(r, to, room);
		mutex_unlock(&r->reading);
		if (got || ended)
			return got;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(r->wait, kvc_watch_ready(r)))
			return -ERESTARTSYS;
	}
}

static __poll_t kvc_watch_poll(struct file *file, poll_table *table)
{
	struct kvc_watch *r = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &r->wait, table);
	if (kvc_watch_ready(r))
		events |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(r->pool->watches.ended))
		events |= EPOLLHUP;
	return events;
}

static void kvc_watch_free(struct kvc_watch *r)
{
	kvc_pool_put(r->pool);
	kvfree(r->buf);
	kfree(r);
}

static int kvc_watch_release(struct inode *inode, struct file *file)
{
	struct kvc_watch *r = file->private_data;

	mutex_lock(&r->pool->watches.lock);
	list_del(&r->node);
	mutex_unlock(&r->pool->watches.lock);
	kvc_watch_free(r);
	return 0;
}

static const struct file_operations kvc_watch_fops = {
	.owner = THIS_MODULE,
	.read = kvc_watch_read,
	.poll = kvc_watch_poll,
	.release = kvc_watch_release,
	.llseek = noop_llseek,
};

/* --- beginning --- */

static struct kvc_watch *kvc_watch_alloc(const struct kvcache_watch *w)
{
	struct kvc_watch *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->size = roundup_pow_of_two(w->buffer_len ?: KVCACHE_WATCH_DEFAULT);
	r->buf = kvmalloc(r->size, GFP_KERNEL_ACCOUNT);
	if (!r->buf) {
		kfree(r);
		return NULL;
	}
	r->tenant = w->tenant;
	r->all = w->flags & KVCACHE_WATCH_ALL_TENANTS;
	mutex_init(&r->reading);
	mutex_init(&r->lock);
	init_waitqueue_head(&r->wait);
	return r;
}

static int kvc_watch_begin(struct kvc_pool *pool, struct kvc_watch *r)
{
	struct kvc_watches *w = &pool->watches;
	int err = 0;

	mutex_lock(&w->lock);
	if (w->ended)
		err = -ENODEV;
	else
		list_add_tail(&r->node, &w->readers);
	mutex_unlock(&w->lock);
	return err;
}

long kvc_watch_ioctl(struct file *file, void __user *arg)
{
	struct kvcache_watch w;
	struct kvc_pool *pool;
	struct kvc_watch *r;
	int err, fd;

	err = kvc_struct_in(&w, sizeof(w), arg);
	if (err)
		return err;
	if (w.flags & ~KVCACHE_WATCH_FLAGS || w.reserved ||
	    (w.buffer_len && w.buffer_len < KVCACHE_WATCH_MIN) ||
	    w.buffer_len > KVCACHE_WATCH_MAX)
		return -EINVAL;
	err = kvc_node_choose(file, &w.pool);
	if (err)
		return err;
	pool = kvc_pool_get(w.pool);
	if (!pool)
		return -ENODEV;
	r = kvc_watch_alloc(&w);
	if (!r) {
		kvc_pool_put(pool);
		return -ENOMEM;
	}
	r->pool = pool;
	err = kvc_watch_begin(pool, r);
	if (err) {
		kvc_watch_free(r);
		return err;
	}
	fd = anon_inode_getfd("[kvcache-watch]", &kvc_watch_fops, r,
			      O_RDONLY | O_CLOEXEC |
			      (w.flags & KVCACHE_WATCH_NONBLOCK ? O_NONBLOCK : 0));
	if (fd < 0) {
		mutex_lock(&pool->watches.lock);
		list_del(&r->node);
		mutex_unlock(&pool->watches.lock);
		kvc_watch_free(r);
	}
	return fd;
}
