// SPDX-License-Identifier: GPL-2.0
/*
 * Members: the block devices of a pool, their health, and metadata I/O.
 *
 * Health is fed from two sides. Every bio that ends says whether the device
 * answered, and the watch looks for members that have I/O out and say
 * nothing. Either makes a live member suspect at once, which costs little: a
 * probe follows immediately, and a device that answers it is live again.
 *
 *	live ----- path error, or silence -----> suspect
 *	suspect -- for fail_ms ----------------> failed
 *	suspect, failed -- probe answered -----> live
 *
 * A disk that the kernel has given up (its namespace or controller has gone)
 * never answers again. It is closed, so that its name is free, and the member's
 * path is opened anew, as often as it would be probed, until there is a device
 * with the label that the attachment wrote.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "member.h"
#include "compat.h"
#include "debugfs.h"

/* Bytes that a CPU may keep to itself before it takes the counter's lock. */
#define KVC_COUNTER_BATCH	(16 << 20)

/* Before a device is looked at again that is not the member. */
#define KVC_REOPEN_MS		5000

/* Who holds our block devices: the module, whichever attachment it is. */
static char kvc_bdev_holder;

static const char *kvc_health_name(int health)
{
	switch (health) {
	case KVC_HEALTH_LIVE:
		return "live";
	case KVC_HEALTH_SUSPECT:
		return "suspect";
	default:
		return "failed";
	}
}

int kvc_member_errno(blk_status_t status)
{
	switch (status) {
	case BLK_STS_OK:
		return 0;
	case BLK_STS_RESV_CONFLICT:
		return -ESTALE;
	case BLK_STS_AGAIN:
	case BLK_STS_RESOURCE:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

/* Does this status put the member itself, or the way to it, in doubt? */
bool kvc_status_accuses(blk_status_t status)
{
	switch (status) {
	case BLK_STS_OK:
	case BLK_STS_AGAIN:
	case BLK_STS_RESOURCE:
#ifdef BLK_STS_INVAL
	case BLK_STS_INVAL:
#endif
		return false;
	default:
		return blk_path_error(status);
	}
}

static void kvc_member_changed(struct kvc_member *m)
{
	if (m->set->health_changed)
		m->set->health_changed(m->set->health_arg);
}

static void kvc_member_suspect(struct kvc_member *m, const char *why)
{
	struct kvc_member_set *set = m->set;

	if (kvc_member_health(m) != KVC_HEALTH_LIVE)
		return;
	/* Before the state, which makes the watch read it. */
	WRITE_ONCE(m->suspect_since, jiffies);
	if (cmpxchg(&m->health, KVC_HEALTH_LIVE, KVC_HEALTH_SUSPECT) !=
	    KVC_HEALTH_LIVE)
		return;
	kvc_member_changed(m);
	pr_warn_ratelimited("%s (member %u): suspect: %s\n", m->path, m->index,
			    why);
	/* Probe now, not at the watch's next turn. */
	if (READ_ONCE(set->watching))
		mod_delayed_work(set->wq, &set->watch, 0);
}

struct block_device *kvc_member_hold(struct kvc_member *m)
{
	kvc_members_get(m->set);
	/* As a discard is, which may take its time as well. */
	atomic_inc_return(&m->discards);	/* full barrier */
	/* Counted first: see kvc_member_close(). */
	return READ_ONCE(m->set->abandoned) ? NULL : READ_ONCE(m->bdev);
}

void kvc_member_release(struct kvc_member *m)
{
	atomic_dec(&m->discards);
	kvc_members_put(m->set);
}

void kvc_member_submit(struct kvc_member *m, struct bio *bio)
{
	struct kvc_member_set *set = m->set;
	blk_status_t status = BLK_STS_OK;
	struct block_device *bdev;

	kvc_members_get(set);
	if (bio_op(bio) != REQ_OP_DISCARD) {
		/*
		 * Silence is counted from here if nothing is out. If something
		 * is, its end counts, and will have written last_done itself.
		 */
		if (!atomic_read(&m->inflight))
			WRITE_ONCE(m->last_done, jiffies);
		atomic_inc_return(&m->inflight);	/* full barrier */
	} else {
		atomic_inc_return(&m->discards);	/* likewise */
	}
	/* Counted first: see kvc_member_close(). */
	bdev = READ_ONCE(m->bdev);
	if (likely(bdev))
		bio_set_dev(bio, bdev);
	else
		status = BLK_STS_OFFLINE;

	if (kvc_abandon_due(bio))
		WRITE_ONCE(set->abandoned, true);

	preempt_disable();
	if (READ_ONCE(set->abandoned))
		status = BLK_STS_OFFLINE;
	else if (op_is_write(bio_op(bio)) && set->lease_ok &&
		 !set->lease_ok(set->lease_arg))
		status = BLK_STS_RESV_CONFLICT;
	preempt_enable();

	if (unlikely(status != BLK_STS_OK)) {
		/* No device: kvc_member_done() shall not blame the member. */
		bio->bi_bdev = NULL;
		bio->bi_status = status;
		bio_endio(bio);
		return;
	}
	submit_bio(bio);
}

/* Who is fenced has no lease any more, whatever its clock says (rule 3). */
static void kvc_member_refused(struct kvc_member *m)
{
	struct kvc_member_set *set = m->set;

	atomic64_inc(&set->refusals);
	if (xchg(&set->refused, true))
		return;
	pr_warn_ratelimited("%s (member %u): it refuses our writes: they come under a reservation that is not ours any more\n",
			    m->path, m->index);
}

void kvc_member_done(struct kvc_member *m, struct bio *bio, unsigned int bytes)
{
	struct kvc_member_set *set = m->set;
	const blk_status_t status = bio->bi_status;

	/* Did it get as far as the device? */
	if (likely(bio->bi_bdev && status != BLK_STS_AGAIN)) {
		if (bio_op(bio) != REQ_OP_DISCARD)
			WRITE_ONCE(m->last_done, jiffies);
		if (bio_op(bio) == REQ_OP_READ)
			percpu_counter_add_batch(&m->read_bytes, bytes,
						 KVC_COUNTER_BATCH);
		else if (bio_op(bio) == REQ_OP_WRITE)
			percpu_counter_add_batch(&m->written_bytes, bytes,
						 KVC_COUNTER_BATCH);
		if (unlikely(status != BLK_STS_OK)) {
			if (status != BLK_STS_NOTSUPP)
				atomic64_inc(&m->errors);
			if (status == BLK_STS_RESV_CONFLICT)
				kvc_member_refused(m);
			if (kvc_status_accuses(status)) {
				if (op_is_write(bio_op(bio))) {
					WRITE_ONCE(m->lost_write, jiffies);
					smp_store_release(&m->lost_writes, true);
				}
				kvc_member_suspect(m, "path error");
			}
		}
	}
	if (bio_op(bio) != REQ_OP_DISCARD) {
		smp_mb__before_atomic();	/* last_done, then inflight */
		atomic_dec(&m->inflight);
	} else {
		atomic_dec(&m->discards);
	}
	kvc_members_put(set);
}

/* --- probes and the watch --- */

static void kvc_member_probed(struct bio *bio)
{
	struct kvc_member *m = bio->bi_private;
	struct kvc_member_set *set = m->set;
	const bool refused = !bio->bi_bdev;
	const blk_status_t status = bio->bi_status;
	int was;

	kvc_member_done(m, bio, KVC_BLOCK_SIZE);
	/* An answer is an answer, even if block 0 can't be read. */
	if (!refused && (!status || !kvc_status_accuses(status))) {
		WRITE_ONCE(m->stuck, atomic_read(&m->inflight));
		was = xchg(&m->health, KVC_HEALTH_LIVE);
		if (was != KVC_HEALTH_LIVE) {
			kvc_member_changed(m);
			pr_warn_ratelimited("%s (member %u): live, was %s\n",
					    m->path, m->index,
					    kvc_health_name(was));
		}
	}
	bio_put(bio);
	clear_bit_unlock(0, &m->probing);
	kvc_members_put(set);
}

/* A disk that was deleted: whatever comes back is another one. */
static bool kvc_member_deleted(const struct kvc_member *m)
{
	struct block_device *bdev;
	bool deleted;

	rcu_read_lock();	/* see kvc_member_close() */
	bdev = READ_ONCE(m->bdev);
	deleted = !bdev || test_bit(GD_DEAD, &bdev->bd_disk->state);
	rcu_read_unlock();
	return deleted;
}

/* Close a deleted disk once nobody uses it any more. Only from the probe. */
static bool kvc_member_close(struct kvc_member *m)
{
	if (!m->handle)
		return true;
	WRITE_ONCE(m->bdev, NULL);
	/* Who is not counted now will see that there is no device. */
	smp_mb();
	if (atomic_read(&m->inflight) || atomic_read(&m->discards))
		return false;
	synchronize_rcu();	/* kvc_member_blocks(), kvc_member_deleted() */
	kvc_bdev_close(m->handle);
	m->handle = NULL;
	return true;
}

/* Is this a device that a member can be on? */
static bool kvc_bdev_fits(struct block_device *bdev)
{
	return bdev_logical_block_size(bdev) <= KVC_BLOCK_SIZE &&
	       !bdev_is_zoned(bdev);
}

/*
 * Does it take the bios that have been cut for the member? None may need more
 * than the member was known to need.
 */
static bool kvc_bdev_fits_again(const struct kvc_member *m,
				struct block_device *bdev)
{
	const struct kvc_member_set *set = m->set;

	return kvc_bdev_fits(bdev) &&
	       !(bdev_dma_alignment(bdev) & ~set->dma_mask) &&
	       !((bdev_logical_block_size(bdev) - 1) & ~set->block_mask) &&
	       (bdev_nowait(bdev) || !m->nowait) &&
	       (kvc_bdev_takes_peer(bdev) || !set->peer) &&
	       (!bdev_write_cache(bdev) || m->volatile_cache);
}

/* Does the label at its start say that it is the member? 0, -EUCLEAN, -EIO.. */
static int kvc_bdev_check_label(struct kvc_member *m, struct block_device *bdev)
{
	struct kvc_member_set *set = m->set;
	struct page *page = alloc_page(GFP_KERNEL);
	struct bio *bio;
	int err;

	if (!page)
		return -ENOMEM;
	bio = bio_alloc(bdev, 1, REQ_OP_READ | REQ_SYNC | REQ_META | KVC_FAILFAST,
			GFP_KERNEL);
	__bio_add_page(bio, page, KVC_BLOCK_SIZE, 0);
	err = submit_bio_wait(bio);
	if (!err && !set->is_member(set->is_member_arg, m->index,
				    page_address(page)))
		err = -EUCLEAN;
	bio_put(bio);
	__free_page(page);
	return err;
}

/* Use a device. */
static void kvc_member_take(struct kvc_member *m, void *handle,
			    struct block_device *bdev)
{
	const struct queue_limits *lim = &bdev_get_queue(bdev)->limits;

	m->volatile_cache |= bdev_write_cache(bdev);
	m->discard = bdev_max_discard_sectors(bdev);
	m->dma_mask = bdev_dma_alignment(bdev);
	m->block_mask = bdev_logical_block_size(bdev) - 1;
	m->streams = kvc_write_streams(bdev);
	m->nowait = bdev_nowait(bdev);
	m->max_bytes = max(round_down(min(lim->max_sectors, 1U << 20) <<
				      SECTOR_SHIFT, KVC_BLOCK_SIZE),
			   KVC_BLOCK_SIZE);
	m->max_segments = lim->max_segments;
	m->max_segment_bytes = lim->max_segment_size;
	m->gap_mask = lim->virt_boundary_mask & (KVC_BLOCK_SIZE - 1);
	WRITE_ONCE(m->chunk_sectors, lim->chunk_sectors);
	m->start_sector = get_start_sect(bdev);
	m->handle = handle;
	smp_store_release(&m->bdev, bdev);
}

/* Is there a device under the member's path again, and is it the member? */
static void kvc_member_reopen(struct kvc_member *m)
{
	struct block_device *bdev;
	void *handle;
	int err;

	if (READ_ONCE(m->set->abandoned) ||
	    !smp_load_acquire(&m->set->is_member) || !kvc_member_close(m))
		return;
	handle = kvc_bdev_open_in_work(m->path, &kvc_bdev_holder, &bdev);
	if (IS_ERR(handle))
		return;
	err = kvc_bdev_fits_again(m, bdev) ? kvc_bdev_check_label(m, bdev) :
					     -EINVAL;
	if (!err) {
		kvc_member_take(m, handle, bdev);
		pr_info("%s (member %u) is there again\n", m->path, m->index);
		return;
	}
	kvc_bdev_close(handle);
	if (err != -EINVAL && err != -EUCLEAN)
		return;
	pr_warn_ratelimited("%s is there again, but %s member %u as it was: if it is, attach the pool anew\n",
			    m->path, err == -EINVAL ? "takes other I/O than" :
						      "its label is not that of",
			    m->index);
	/* It is somebody else's, for all we know: leave it alone for a while. */
	WRITE_ONCE(m->probed, jiffies + msecs_to_jiffies(KVC_REOPEN_MS));
}

/* A work of its own, since submit_bio() may hang as long as the device does. */
static void kvc_member_probe(struct work_struct *work)
{
	struct kvc_member *m = container_of(work, struct kvc_member, probe_work);
	struct bio *bio;

	if (kvc_member_deleted(m))
		kvc_member_reopen(m);
	if (!m->bdev) {
		clear_bit_unlock(0, &m->probing);
		kvc_members_put(m->set);
		return;
	}
	bio = bio_alloc(NULL, 1, REQ_OP_READ | REQ_SYNC | KVC_FAILFAST, GFP_NOIO);
	__bio_add_page(bio, m->set->probe_page, KVC_BLOCK_SIZE, 0);
	bio->bi_end_io = kvc_member_probed;
	bio->bi_private = m;
	kvc_member_submit(m, bio);
}

/* Has a member I/O out and said nothing for too long? */
static bool kvc_member_silent(struct kvc_member *m, unsigned long now)
{
	const unsigned int inflight = atomic_read(&m->inflight);
	const unsigned int stuck = READ_ONCE(m->stuck);

	if (inflight <= stuck) {
		if (inflight < stuck)
			cmpxchg(&m->stuck, stuck, inflight);
		return false;
	}
	smp_rmb();	/* inflight, then last_done: see kvc_member_submit() */
	return time_after(now, READ_ONCE(m->last_done) +
			  msecs_to_jiffies(m->set->suspect_ms));
}

static void kvc_member_watch(struct kvc_member *m, unsigned long now, bool late)
{
	if (!READ_ONCE(m->path)[0])
		return;

	switch (kvc_member_health(m)) {
	case KVC_HEALTH_LIVE:
		/* Soon, so that its name is free for what comes back. */
		if (kvc_member_deleted(m))
			kvc_member_suspect(m, "its device has gone");
		else if (!late && kvc_member_silent(m, now))
			kvc_member_suspect(m, "no answer");
		break;
	case KVC_HEALTH_SUSPECT:
		if (time_after(now, READ_ONCE(m->suspect_since) +
			       msecs_to_jiffies(m->set->fail_ms)) &&
		    cmpxchg(&m->health, KVC_HEALTH_SUSPECT,
			    KVC_HEALTH_FAILED) == KVC_HEALTH_SUSPECT)
			pr_warn_ratelimited("%s (member %u): failed: suspect for %u ms\n",
					    m->path, m->index, m->set->fail_ms);
		break;
	}

	if (kvc_member_health(m) == KVC_HEALTH_LIVE ||
	    time_before(now, READ_ONCE(m->probed) +
			     msecs_to_jiffies(KVC_PROBE_MS)) ||
	    test_and_set_bit_lock(0, &m->probing))
		return;
	/* Until the probe has ended. A set that is being stopped sends none. */
	if (!percpu_ref_tryget_live(&m->set->users)) {
		clear_bit_unlock(0, &m->probing);
		return;
	}
	WRITE_ONCE(m->probed, now);
	queue_work(m->set->wq, &m->probe_work);
}

static void kvc_members_watch(struct work_struct *work)
{
	struct kvc_member_set *set = container_of(to_delayed_work(work),
						  struct kvc_member_set, watch);
	const unsigned long now = jiffies;
	/*
	 * A watch that comes late found no CPU for a while, and completions
	 * will have fared no better: give them one more turn.
	 */
	const bool late = time_after(now, set->watched +
				     msecs_to_jiffies(4 * KVC_WATCH_MS));
	u32 i, nr = smp_load_acquire(&set->nr);	/* kvc_members_add() */

	set->watched = now;
	for (i = 0; i < nr; i++) {
		kvc_member_watch(&set->m[i], now, late);
		kvc_pace_look(&set->m[i].pace,
			      kvc_member_health(&set->m[i]) == KVC_HEALTH_LIVE);
	}
	if (READ_ONCE(set->watching))
		queue_delayed_work(set->wq, &set->watch,
				   msecs_to_jiffies(KVC_WATCH_MS));
}

/* --- opening and closing --- */

static void kvc_members_idle(struct percpu_ref *users)
{
	complete(&container_of(users, struct kvc_member_set, users)->idle);
}

/* Free what kvc_members_init() made; any part of it may be missing. */
static void kvc_members_free(struct kvc_member_set *set)
{
	u32 i;

	for (i = 0; i < set->nr; i++) {
		percpu_counter_destroy(&set->m[i].read_bytes);
		percpu_counter_destroy(&set->m[i].written_bytes);
	}
	percpu_ref_exit(&set->users);
	if (set->probe_page)
		__free_page(set->probe_page);
	if (set->submit_wq)
		destroy_workqueue(set->submit_wq);
	if (set->wq)
		destroy_workqueue(set->wq);
}

/* A member that is missing. */
static int kvc_member_init(struct kvc_member_set *set, u32 index)
{
	struct kvc_member *m = &set->m[index];
	int err;

	m->set = set;
	m->index = index;
	m->path = "";
	m->health = KVC_HEALTH_FAILED;
	m->probed = jiffies - msecs_to_jiffies(KVC_PROBE_MS);
	/* A bio for a missing member fails at once. */
	m->nowait = true;
	m->max_bytes = SZ_1M;
	m->max_segments = BIO_MAX_VECS;
	m->max_segment_bytes = UINT_MAX;
	INIT_WORK(&m->probe_work, kvc_member_probe);
	kvc_pace_init(&m->pace, set->submit_wq);
	err = percpu_counter_init(&m->read_bytes, 0, GFP_KERNEL);
	if (err)
		return err;
	err = percpu_counter_init(&m->written_bytes, 0, GFP_KERNEL);
	if (err)
		percpu_counter_destroy(&m->read_bytes);
	return err;
}

int kvc_members_init(struct kvc_member_set *set, u32 nr)
{
	u32 i;

	if (!nr || nr > KVC_MAX_MEMBERS)
		return -EINVAL;

	memset(set, 0, sizeof(*set));
	set->nr = nr;
	set->peer = true;
	set->suspect_ms = KVC_SUSPECT_MS;
	set->fail_ms = KVC_FAIL_MS;
	INIT_DELAYED_WORK(&set->watch, kvc_members_watch);
	init_completion(&set->idle);

	set->wq = alloc_workqueue("kvcache", WQ_UNBOUND, 0);
	set->submit_wq = alloc_workqueue("kvcache_submit", WQ_UNBOUND, 0);
	set->probe_page = alloc_page(GFP_KERNEL);
	if (!set->wq || !set->submit_wq || !set->probe_page)
		goto no_memory;
	if (percpu_ref_init(&set->users, kvc_members_idle, 0, GFP_KERNEL))
		goto no_memory;

	for (i = 0; i < nr; i++)
		if (kvc_member_init(set, i))
			goto no_memory;
	return 0;

no_memory:
	kvc_members_free(set);
	return -ENOMEM;
}

int kvc_members_add(struct kvc_member_set *set, u32 nr)
{
	int err = 0;

	while (set->nr < nr && !err) {
		err = kvc_member_init(set, set->nr);
		/* To be seen by the watch when it is made. */
		if (!err)
			smp_store_release(&set->nr, set->nr + 1);
	}
	return err;
}

int kvc_member_open(struct kvc_member_set *set, u32 index, const char *path)
{
	struct kvc_member *m = &set->m[index];
	struct block_device *bdev;
	const char *name;
	void *handle;
	int ret;

	name = kstrdup(path, GFP_KERNEL);
	if (!name)
		return -ENOMEM;

	handle = kvc_bdev_open(path, &kvc_bdev_holder, &bdev);
	if (IS_ERR(handle)) {
		ret = PTR_ERR(handle);
		goto free_name;
	}

	ret = -EINVAL;
	if (!kvc_bdev_fits(bdev))
		goto close;

	m->path = name;
	kvc_member_take(m, handle, bdev);
	set->dma_mask = max(set->dma_mask, m->dma_mask);
	set->block_mask = max(set->block_mask, m->block_mask);
	set->peer &= kvc_bdev_takes_peer(bdev);
	WRITE_ONCE(m->health, KVC_HEALTH_LIVE);
	kvc_member_changed(m);
	return 0;

close:
	kvc_bdev_close(handle);
free_name:
	kfree(name);
	return ret;
}

u64 kvc_member_blocks(const struct kvc_member *m)
{
	struct block_device *bdev;
	u64 blocks;

	/* See kvc_member_close(). */
	rcu_read_lock();
	bdev = READ_ONCE(m->bdev);
	blocks = bdev ? bdev_nr_sectors(bdev) >> KVC_BLOCK_SECTORS_SHIFT : 0;
	rcu_read_unlock();
	return blocks;
}

/*
 * However long a device takes: in turns, which the hung task detector takes no
 * offence at.
 */
void kvc_wait(struct completion *done)
{
	while (!wait_for_completion_io_timeout(done, 30 * HZ))
		;
}

void kvc_member_remove(struct kvc_member *m)
{
	const char *path = m->path;

	if (!path[0])
		return;
	WRITE_ONCE(m->path, "");
	WRITE_ONCE(m->health, KVC_HEALTH_FAILED);
	/* A watch that saw the path may have begun a probe. */
	flush_delayed_work(&m->set->watch);
	while (test_bit(0, &m->probing) || !kvc_member_close(m))
		msleep(1);
	WRITE_ONCE(m->health, KVC_HEALTH_FAILED);
	kfree(path);
}

void kvc_members_start(struct kvc_member_set *set)
{
	set->watched = jiffies;
	WRITE_ONCE(set->watching, true);
	mod_delayed_work(set->wq, &set->watch, 0);
}

void kvc_members_stop(struct kvc_member_set *set)
{
	u32 i;

	WRITE_ONCE(set->watching, false);
	cancel_delayed_work_sync(&set->watch);
	percpu_ref_kill(&set->users);
	kvc_wait(&set->idle);
	/* A bio that failed meanwhile may have called the watch once more. */
	cancel_delayed_work_sync(&set->watch);

	for (i = 0; i < set->nr; i++) {
		struct kvc_member *m = &set->m[i];

		if (m->handle)
			kvc_bdev_close(m->handle);
		if (m->path[0])
			kfree(m->path);
	}
	kvc_members_free(set);
	memset(set, 0, sizeof(*set));
}
