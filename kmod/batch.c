// SPDX-License-Identifier: GPL-2.0
/*
 * The border for PUT, GET, EXISTS and DELETE: takes the user's arrays apart,
 * checks everything before anything is done, and runs the keys in windows, so
 * that many are in flight and memory stays bounded.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/kvcache.h>
#include "compat.h"
#include "batch.h"
#include "batch_impl.h"
#include "node.h"
#include "tracepoints.h"
#include "uring.h"

/* Keys of a batch that is not large. */
#define KVC_IOS	128

static struct kmem_cache *kvc_ios_cache;

static bool kvc_io_has_data(unsigned int nr)
{
	return nr == _IOC_NR(KVCACHE_IOC_PUT) || nr == _IOC_NR(KVCACHE_IOC_GET);
}

unsigned long kvc_deadline(u32 ms)
{
	return jiffies + msecs_to_jiffies(ms ?: KVCACHE_DEADLINE_DEFAULT_MS);
}

/*
 * As copy_from_user(), but word by word: what that checks of the memory it copies
 * to costs more than to copy a key or a small structure does. @to is aligned to
 * words; @room is what there is of it.
 */
static __always_inline int kvc_words_in(void *to, size_t room,
					const void __user *from, size_t len)
{
	if (WARN_ON_ONCE(len > room) || !user_access_begin(from, len))
		return -EFAULT;
	for (; len >= sizeof(u64); len -= sizeof(u64)) {
		unsafe_get_user(*(u64 *)to, (const u64 __user *)from, fault);
		to += sizeof(u64);
		from += sizeof(u64);
	}
	for (; len; len--)
		unsafe_get_user(*(u8 *)to++, (const u8 __user *)from++, fault);
	user_access_end();
	return 0;

fault:
	user_access_end();
	return -EFAULT;
}

int kvc_struct_in(void *to, size_t known, void __user *from)
{
	u32 size;
	int err;

	if (get_user(size, (u32 __user *)from))
		return -EFAULT;
	if (size < 2 * sizeof(u32))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(to, known, from, size);
	/* It may have changed meanwhile: only this value was checked. */
	*(u32 *)to = size;
	return err;
}

int kvc_admin_struct_in(void *to, size_t known, void __user *from)
{
	return capable(CAP_SYS_ADMIN) ? kvc_struct_in(to, known, from) : -EPERM;
}

int kvc_struct_out(void __user *to, const void *from, size_t known, u32 callers)
{
	/* The first field is the caller's own size: it stays. */
	size_t n = min_t(size_t, known, callers);

	return copy_to_user(to + sizeof(u32), from + sizeof(u32),
			    n - sizeof(u32)) ? -EFAULT : 0;
}

/* --- checks --- */

/* The same as below, of what has the least to do besides. */
static bool kvc_io_plain_exists(const struct kvcache_io *io)
{
	return !(io->flags | io->reserved[0] | io->reserved[1] | io->depth |
		 io->offset | io->pin | io->expiry | io->data | io->data_len) &&
	       io->key_len - 1U < KVCACHE_KEY_MAX;
}

static int kvc_io_check(unsigned int nr, const struct kvcache_io *io)
{
	bool put = nr == _IOC_NR(KVCACHE_IOC_PUT);
	bool get = nr == _IOC_NR(KVCACHE_IOC_GET);
	bool exists = nr == _IOC_NR(KVCACHE_IOC_EXISTS);

	if (exists && likely(kvc_io_plain_exists(io)))
		return 0;
	if (io->flags & ~KVCACHE_IO_FLAGS || io->reserved[0] || io->reserved[1])
		return -EINVAL;
	if (!io->key_len || io->key_len > KVCACHE_KEY_MAX)
		return -EINVAL;
	if (io->flags & KVCACHE_IO_RANGE ? !get : io->offset)
		return -EINVAL;
	if (io->flags & KVCACHE_IO_PIN ? !(put || exists) || !io->pin : io->pin)
		return -EINVAL;
	if (!put && (io->depth || io->expiry))
		return -EINVAL;
	if (!kvc_io_has_data(nr))
		return io->data || io->data_len ||
				       io->flags & KVCACHE_IO_IOVEC ?
			       -EINVAL : 0;
	if (io->flags & KVCACHE_IO_IOVEC)
		return io->data_len && io->data_len <= KVCACHE_IOV_MAX ? 0 :
									-EINVAL;
	return put && !io->data_len ? -EINVAL : 0;
}

/* As kvc_struct_in(), of the structure that has the least to do besides. */
static int kvc_batch_in(struct kvcache_batch *b, void __user *arg)
{
	u32 size;
	int err;

	BUILD_BUG_ON(offsetof(struct kvcache_batch, size));
	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size != sizeof(*b))
		return kvc_struct_in(b, sizeof(*b), arg);
	err = kvc_words_in(b, sizeof(*b), arg, sizeof(*b));
	/* It may have changed meanwhile: only this value was checked. */
	b->size = size;
	return err;
}

static int kvc_run_copy_ios(struct kvc_run *r, void __user *arg)
{
	struct kvcache_batch *b = &r->b;
	u32 i;
	int err;

	err = kvc_batch_in(b, arg);
	if (err)
		return err;
	if (b->flags & ~KVCACHE_BATCH_FLAGS || b->reserved || !b->count ||
	    b->count > KVCACHE_BATCH_MAX ||
	    b->io_size != sizeof(struct kvcache_io) ||
	    b->deadline_ms > KVCACHE_DEADLINE_MAX_MS)
		return -EINVAL;
	r->ios = &r->one_io;
	if (b->count > KVC_IOS)
		r->ios = kvmalloc_array(b->count, sizeof(*r->ios), GFP_KERNEL);
	else if (b->count > 1)
		r->ios = kmem_cache_alloc(kvc_ios_cache, GFP_KERNEL);
	if (!r->ios)
		return -ENOMEM;
	if (b->count == 1)
		err = kvc_words_in(r->ios, sizeof(*r->ios),
				   u64_to_user_ptr(b->ios), sizeof(*r->ios));
	else if (copy_from_user(r->ios, u64_to_user_ptr(b->ios),
				b->count * sizeof(*r->ios)))
		err = -EFAULT;
	if (err)
		return err;
	for (i = 0; i < b->count; i++) {
		err = kvc_io_check(r->nr, &r->ios[i]);
		if (err)
			return err;
		r->ios[i].length = 0;
		r->ios[i].transferred = 0;
		r->ios[i].out_flags = 0;
		r->ios[i].status = -ECANCELED;
	}
	return 0;
}

/* --- memory of one key --- */

static int kvc_iov_copy(struct kvc_window_key *w, const struct kvcache_io *io)
{
	const struct kvcache_iovec __user *u = u64_to_user_ptr(io->data);
	struct kvcache_iovec piece;
	u64 total = 0;
	u32 i;

	w->iov = kvmalloc_array(io->data_len, sizeof(*w->iov), GFP_KERNEL);
	if (!w->iov)
		return -ENOMEM;
	for (i = 0; i < io->data_len; i++) {
		if (copy_from_user(&piece, &u[i], sizeof(piece)))
			return -EFAULT;
		if (piece.len > MAX_RW_COUNT ||
		    !access_ok(u64_to_user_ptr(piece.base), piece.len))
			return piece.len > MAX_RW_COUNT ? -EINVAL : -EFAULT;
		w->iov[i].iov_base = u64_to_user_ptr(piece.base);
		w->iov[i].iov_len = piece.len;
		total += piece.len;
		if (total > MAX_RW_COUNT)
			return -EINVAL;
	}
	return 0;
}

/* Registered memory: it stays pinned until the command has ended. */
static int kvc_io_registered(struct kvc_run *r, struct kvc_window_key *w,
			     const struct kvcache_io *io)
{
	if (io->flags & KVCACHE_IO_IOVEC || io->data_len > MAX_RW_COUNT)
		return -EINVAL;
	return kvc_uring_import(r->fixed, io->data, io->data_len,
				r->nr == _IOC_NR(KVCACHE_IOC_PUT) ? WRITE : READ,
				&w->op.iter, r->issue_flags);
}

static int kvc_io_memory(struct kvc_run *r, struct kvc_window_key *w,
			 const struct kvcache_io *io)
{
	unsigned int dir = r->nr == _IOC_NR(KVCACHE_IOC_PUT) ? ITER_SOURCE :
								ITER_DEST;
	u64 total = 0;
	u32 i;
	int err;

	if (r->fixed)
		return kvc_io_registered(r, w, io);
	if (!(io->flags & KVCACHE_IO_IOVEC)) {
		if (io->data_len > MAX_RW_COUNT)
			return -EINVAL;
		if (!access_ok(u64_to_user_ptr(io->data), io->data_len))
			return -EFAULT;
		iov_iter_ubuf(&w->op.iter, dir, u64_to_user_ptr(io->data),
			      io->data_len);
		return 0;
	}
	err = kvc_iov_copy(w, io);
	if (err)
		return err;
	for (i = 0; i < io->data_len; i++)
		total += w->iov[i].iov_len;
	iov_iter_init(&w->op.iter, dir, w->iov, io->data_len, total);
	return 0;
}

static int kvc_window_key(struct kvc_run *r, struct kvc_window_key *w,
			  const struct kvcache_io *io)
{
	int err;

	BUILD_BUG_ON(offsetof(struct kvc_key, bytes) % sizeof(u64));
	w->key.hash = (struct kvc_hash){};
	err = kvc_words_in(w->key.bytes, sizeof(w->key.bytes),
			   u64_to_user_ptr(io->key), io->key_len);
	if (err)
		return err;
	return kvc_key_set(r->pool->join, &w->key, r->b.tenant, io->key_len);
}

static void kvc_window_op(struct kvc_run *r, struct kvc_window_key *w,
			  const struct kvcache_io *io)
{
	memset(&w->op, 0, sizeof(w->op));
	w->iov = NULL;
	w->op.join = r->pool->join;
	w->op.key = &w->key;
	w->op.deadline = r->deadline;
	w->op.looked = r->looked;
	w->op.settle = r->settle;
	w->op.range = io->flags & KVCACHE_IO_RANGE;
	w->op.offset = io->offset;
	w->op.depth = io->depth;
	w->op.expiry = io->expiry;
	w->op.pin = io->pin;
}

int kvc_window_set(struct kvc_run *r, struct kvc_window_key *w,
		   const struct kvcache_io *io)
{
	int err;

	kvc_window_op(r, w, io);
	err = kvc_window_key(r, w, io);
	if (!err && kvc_io_has_data(r->nr))
		err = kvc_io_memory(r, w, io);
	return err;
}

void kvc_window_clear(struct kvc_window_key *w)
{
	kvfree(w->iov);
	w->iov = NULL;
}

void kvc_window_result(struct kvc_run *r, struct kvc_window_key *w,
		       struct kvcache_io *io)
{
	trace_kvcache_op_end(&w->op, r->nr);
	r->looked |= w->op.looked;
	/* Short of memory: nothing is lost, and it may go better later. */
	io->status = w->op.status == -ENOMEM ? -EAGAIN : w->op.status;
	io->length = w->op.length;
	io->transferred = w->op.transferred;
	io->out_flags = w->op.busy ? KVCACHE_IO_BUSY : 0;
	if (!io->status)
		r->b.done++;
}

/* --- running --- */

void kvc_run_start(const struct kvc_run *r, struct kvc_op *op)
{
	const unsigned int nr = r->nr;

	trace_kvcache_op_start(op, nr);
	if (nr == _IOC_NR(KVCACHE_IOC_GET))
		kvc_get_start(op);
	else if (nr == _IOC_NR(KVCACHE_IOC_PUT))
		kvc_put_start(op);
	else if (nr == _IOC_NR(KVCACHE_IOC_EXISTS))
		kvc_exists_start(op);
	else
		kvc_delete_start(op);
}

static void kvc_finish_deletes(struct kvc_window_key *w, u32 n)
{
	struct kvc_op *ops[KVC_WINDOW];
	u32 i;

	BUILD_BUG_ON(KVC_WINDOW > KVC_DELETES_MAX);
	for (i = 0; i < n; i++)
		ops[i] = &w[i].op;
	kvc_deletes_finish(ops, n);
}

static void kvc_finish(unsigned int nr, struct kvc_window_key *w, u32 n)
{
	u32 i;

	if (nr == _IOC_NR(KVCACHE_IOC_DELETE)) {
		kvc_finish_deletes(w, n);
		return;
	}

	if (nr == _IOC_NR(KVCACHE_IOC_PUT)) {
		/* All records first, so that they share commits. */
		for (i = 0; i < n; i++)
			kvc_put_record(&w[i].op);
		for (i = 0; i < n; i++)
			kvc_put_finish(&w[i].op);
		for (i = 0; i < n; i++)
			kvc_put_retry(&w[i].op);
		return;
	}
	for (i = 0; i < n; i++) {
		if (nr == _IOC_NR(KVCACHE_IOC_GET))
			kvc_get_finish(&w[i].op);
		else
			kvc_exists_finish(&w[i].op);
	}
}

/* Start keys from @at on, as many as fit in a window. Return: how many. */
static u32 kvc_run_window(struct kvc_run *r, u32 at)
{
	u64 bytes = 0;
	u32 n = 0;

	while (at + n < r->b.count && n < KVC_WINDOW &&
	       bytes < KVC_WINDOW_BYTES) {
		struct kvc_window_key *w = &r->window[n];
		int err = kvc_window_set(r, w, &r->ios[at + n]);

		if (err)
			w->op.status = err;
		else
			kvc_run_start(r, &w->op);
		if (w->op.status == -EINPROGRESS)
			bytes += w->op.bytes;
		n++;
	}
	return n;
}

static void kvc_run_told(struct kvc_op *op)
{
}

/*
 * One exists, in the way that all operations go. Return: -EAGAIN if it had to wait
 * for what other hosts did, and must not.
 */
static int kvc_run_exists_one(struct kvc_run *r, struct kvcache_io *io)
{
	struct kvc_window_key *w = r->window;

	kvc_window_op(r, w, io);
	w->op.notify = r->nowait ? kvc_run_told : NULL;
	kvc_run_start(r, &w->op);
	if (r->nowait && w->op.status == -EAGAIN)
		return -EAGAIN;
	kvc_exists_finish(&w->op);
	kvc_window_result(r, w, io);
	return 0;
}

/*
 * A window of exists. Most hit, and then need nothing of what an operation is made
 * of but the key. Return: how many.
 */
static u32 kvc_run_exists(struct kvc_run *r, u32 at)
{
	struct kvc_join *join = r->pool->join;
	const u64 live = kvc_members_live(join->set);
	struct kvc_window_key *w = r->window;
	u32 i, n = min_t(u32, r->b.count - at, KVC_WINDOW);
	u64 hits = 0;

	for (i = 0; i < n; i++) {
		struct kvcache_io *io = &r->ios[at + i];

		io->status = kvc_window_key(r, w, io);
		if (io->status)
			continue;
		if (io->pin || trace_kvcache_op_start_enabled() ||
		    trace_kvcache_op_end_enabled() ||
		    !kvc_exists_hit(join, &w->key, live, &io->length)) {
			r->error = kvc_run_exists_one(r, io);
			if (r->error)
				return 0;
		} else {
			hits |= BIT_ULL(i);
		}
	}
	/* protocol rule 3: they count if the lease holds behind them */
	if (likely(kvc_join_lease_ok(join))) {
		r->b.done += hweight64(hits);
		kvc_stat_add(r->pool->stats, KVC_STAT_EXISTS_HITS,
			     hweight64(hits));
		return n;
	}
	kvc_stat_add(r->pool->stats, KVC_STAT_EXISTS_MISSES, hweight64(hits));
	for (i = 0; i < n; i++) {
		if (!(hits & BIT_ULL(i)))
			continue;
		r->ios[at + i].status = -ENOENT;
		r->ios[at + i].length = 0;
	}
	return n;
}

u32 kvc_run_next(struct kvc_run *r, u32 at)
{
	u32 i, n;

	if (r->nr == _IOC_NR(KVCACHE_IOC_EXISTS)) {
		n = kvc_run_exists(r, at);
		cond_resched();
		return n;
	}
	n = kvc_run_window(r, at);
	kvc_finish(r->nr, r->window, n);
	for (i = 0; i < n; i++) {
		kvc_window_result(r, &r->window[i], &r->ios[at + i]);
		kvc_window_clear(&r->window[i]);
	}
	cond_resched();
	return n;
}

static void kvc_run_all(struct kvc_run *r)
{
	u32 at = 0;

	/* What is not begun then keeps its ECANCELED. */
	while (at < r->b.count && !r->error && !fatal_signal_pending(current) &&
	       READ_ONCE(r->pool->state) != KVC_POOL_CLOSING)
		at += kvc_run_next(r, at);
}

/* The lease is lost, and the pool is joining anew: no key is there now. */
void kvc_run_lapsed(struct kvc_run *r)
{
	bool reads = r->nr == _IOC_NR(KVCACHE_IOC_GET) ||
		     r->nr == _IOC_NR(KVCACHE_IOC_EXISTS);
	u32 i;

	for (i = 0; i < r->b.count; i++)
		r->ios[i].status = reads ? -ENOENT : -ESTALE;
}

int kvc_run_window_alloc(struct kvc_run *r)
{
	u32 n = min_t(u32, r->b.count, KVC_WINDOW);

	r->window = &r->one;
	if (n > 1)
		r->window = kvmalloc_array(n, sizeof(*r->window), GFP_KERNEL);
	return r->window ? 0 : -ENOMEM;
}

static int kvc_run_pool(struct kvc_run *r)
{
	int err;

	r->pool = kvc_pool_get(r->b.pool);
	if (!r->pool)
		return -ENODEV;
	err = kvc_pool_enter(r->pool);
	if (err == -ESTALE) {
		kvc_run_lapsed(r);
		return 0;
	}
	if (err)
		return err;
	err = kvc_run_window_alloc(r);
	if (!err) {
		kvc_run_all(r);
		err = r->error;
	}
	kvc_pool_leave(r->pool);
	return err;
}

/* Only what is the kernel's to say; otherwise as kvc_words_in() does. */
static int kvc_io_out(struct kvcache_io __user *to, const struct kvcache_io *io)
{
	if (!user_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(io->length, &to->length, fault);
	unsafe_put_user(io->transferred, &to->transferred, fault);
	unsafe_put_user(io->status, &to->status, fault);
	unsafe_put_user(io->out_flags, &to->out_flags, fault);
	user_access_end();
	return 0;

fault:
	user_access_end();
	return -EFAULT;
}

int kvc_run_out(struct kvc_run *r, void __user *arg, u32 size)
{
	struct kvcache_io __user *ios = u64_to_user_ptr(r->b.ios);
	struct kvcache_batch __user *b = arg;

	if (r->b.count == 1 ? kvc_io_out(ios, r->ios) :
	    copy_to_user(ios, r->ios, r->b.count * sizeof(*r->ios)))
		return -EFAULT;
	if (size < offsetofend(struct kvcache_batch, done))
		return 0;
	return put_user(r->b.done, &b->done);
}

void kvc_run_free(struct kvc_run *r)
{
	if (r->pool)
		kvc_pool_put(r->pool);
	if (r->window != &r->one)
		kvfree(r->window);
	if (r->ios == &r->one_io || !r->ios)
		return;
	if (r->b.count > KVC_IOS)
		kvfree(r->ios);
	else
		kmem_cache_free(kvc_ios_cache, r->ios);
}

int kvc_run_prepare(struct kvc_run *r, struct file *file, unsigned int nr,
		    void __user *arg, u32 *size)
{
	int err;

	/* Not all of it: it is large. */
	r->nr = nr;
	r->ios = NULL;
	r->pool = NULL;
	r->window = NULL;
	r->fixed = NULL;
	r->looked = false;
	r->settle = false;
	r->nowait = false;
	r->error = 0;
	err = kvc_run_copy_ios(r, arg) ?: kvc_node_choose(file, &r->b.pool);
	if (err)
		return err;
	*size = r->b.size;
	r->settle = r->b.flags & KVCACHE_BATCH_SETTLE;
	r->deadline = kvc_deadline(r->b.deadline_ms);
	r->b.done = 0;
	return 0;
}

int kvc_batch_run(struct file *file, unsigned int nr, void __user *arg,
		  unsigned int how)
{
	struct kvc_run r __uninitialized;	/* 1 KiB: one key without allocation */
	u32 size;
	int err;

	err = kvc_run_prepare(&r, file, nr, arg, &size);
	r.settle |= how & KVC_BATCH_SETTLE;
	r.nowait = how & KVC_BATCH_NOWAIT;
	err = err ?: kvc_run_pool(&r) ?: kvc_run_out(&r, arg, size);
	kvc_run_free(&r);
	return err ?: r.b.done;
}

int kvc_batch_ioctl(struct file *file, unsigned int nr, void __user *arg)
{
	return min(kvc_batch_run(file, nr, arg, 0), 0);
}

/*
 * Having a constructor, arrays are not zeroed where init_on_alloc is on: they are
 * copied over as a whole.
 */
static void kvc_ios_construct(void *ios)
{
	memset(ios, 0, KVC_IOS * sizeof(struct kvcache_io));
}

int kvc_batch_init(void)
{
	const size_t size = KVC_IOS * sizeof(struct kvcache_io);

	kvc_ios_cache = kmem_cache_create_usercopy("kvcache_ios", size, 0,
						   SLAB_HWCACHE_ALIGN, 0, size,
						   kvc_ios_construct);
	return kvc_ios_cache ? 0 : -ENOMEM;
}

void kvc_batch_exit(void)
{
	kmem_cache_destroy(kvc_ios_cache);
}
