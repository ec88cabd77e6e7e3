/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between kernel versions: Debian's 6.1, 6.12 and 7.x.
 */
#ifndef KVC_COMPAT_H
#define KVC_COMPAT_H

#include <linux/version.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/hrtimer.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pr.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

/* 6.3 renamed the status of a reservation conflict. */
#ifndef BLK_STS_RESV_CONFLICT
#define BLK_STS_RESV_CONFLICT	BLK_STS_NEXUS
#endif

/*
 * Persistent reservations. Until 6.4 drivers answered with whatever status their
 * commands have (of NVMe: status code in the lower 11 bits), and keys and holder
 * could not be read.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
static inline bool kvc_pr_conflict(int status)
{
	return status == PR_STS_RESERVATION_CONFLICT;
}

/* @type: enum pr_type, 0: nobody holds one. 0 or an error. */
static inline int kvc_pr_reservation(const struct pr_ops *ops,
				     struct block_device *bdev, u32 *type)
{
	struct pr_held_reservation held = {};
	int err;

	if (!ops || !ops->pr_read_reservation)
		return -EOPNOTSUPP;
	err = ops->pr_read_reservation(bdev, &held);
	*type = held.type;
	return err;
}

/* How many of the registered keys were read, at most @room, or an error. */
static inline int kvc_pr_keys(const struct pr_ops *ops,
			      struct block_device *bdev, u64 *keys, u32 room)
{
	struct pr_keys *info;
	int err;

	if (!ops || !ops->pr_read_keys)
		return -EOPNOTSUPP;
	info = kvzalloc(struct_size(info, keys, room), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	info->num_keys = room;
	err = ops->pr_read_keys(bdev, info);
	if (!err) {
		err = min(info->num_keys, room);
		memcpy(keys, info->keys, err * sizeof(*keys));
	} else if (err > 0) {
		err = -EIO;
	}
	kvfree(info);
	return err;
}
#else
static inline bool kvc_pr_conflict(int status)
{
	return status > 0 && (status & 0x7ff) == 0x83;
}

static inline int kvc_pr_reservation(const struct pr_ops *ops,
				     struct block_device *bdev, u32 *type)
{
	return -EOPNOTSUPP;
}

static inline int kvc_pr_keys(const struct pr_ops *ops,
			      struct block_device *bdev, u64 *keys, u32 room)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * Opening a block device for reading and writing, exclusively for @holder: a
 * handle to close it with, or an ERR_PTR().
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
static inline void *kvc_bdev_open(const char *path, void *holder,
				  struct block_device **bdev)
{
	struct file *file;

	file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE,
				      holder, NULL);
	if (!IS_ERR(file))
		*bdev = file_bdev(file);
	return file;
}

static inline void kvc_bdev_close(void *handle)
{
	bdev_fput(handle);
}
#else
#define KVC_BDEV_MODE	(FMODE_READ | FMODE_WRITE | FMODE_EXCL)

static inline void *kvc_bdev_open(const char *path, void *holder,
				  struct block_device **bdev)
{
	struct block_device *b = blkdev_get_by_path(path, KVC_BDEV_MODE, holder);

	if (!IS_ERR(b))
		*bdev = b;
	return b;
}

static inline void kvc_bdev_close(void *handle)
{
	blkdev_put(handle, KVC_BDEV_MODE);
}
#endif

/*
 * The same from a work: paths are init's. Kernel threads used to share them,
 * until 7.x gave them an empty root.
 */
static inline void *kvc_bdev_open_in_work(const char *path, void *holder,
					  struct block_device **bdev)
{
#ifdef scoped_with_init_fs
	scoped_with_init_fs()
		return kvc_bdev_open(path, holder, bdev);
#else
	return kvc_bdev_open(path, holder, bdev);
#endif
}

/*
 * How long what a bio writes is expected to stay: @life is 0 (short), 1 or 2 (long).
 * Hints came back in 6.9; 6.16 gave devices with data placement streams, of which
 * this one has @streams.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
static inline unsigned int kvc_write_streams(struct block_device *bdev)
{
	return bdev_max_write_streams(bdev);
}

static inline void kvc_bio_set_life(struct bio *bio, unsigned int life,
				    unsigned int streams)
{
	bio->bi_write_hint = WRITE_LIFE_SHORT + life;
	/* From 1 on; 0 is none. */
	bio->bi_write_stream = streams ? min(life + 1, streams) : 0;
}
#else
static inline unsigned int kvc_write_streams(struct block_device *bdev)
{
	return 0;
}

static inline void kvc_bio_set_life(struct bio *bio, unsigned int life,
				    unsigned int streams)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	bio->bi_write_hint = WRITE_LIFE_SHORT + life;
#endif
}
#endif

/*
 * Peer memory: that of a PCI device, in a user's mapping. Before 6.3 there is none
 * that can be pinned.
 */
#if defined(CONFIG_PCI_P2PDMA) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
static inline bool kvc_page_is_peer(const struct page *page)
{
	return is_pci_p2pdma_page(page);
}

static inline bool kvc_bdev_takes_peer(struct block_device *bdev)
{
	return blk_queue_pci_p2pdma(bdev_get_queue(bdev));
}

/* May they stand in one request? */
static inline bool kvc_pages_alike(const struct page *a, const struct page *b)
{
	return zone_device_pages_have_same_pgmap(a, b);
}
#else
static inline bool kvc_page_is_peer(const struct page *page)
{
	return false;
}

static inline bool kvc_bdev_takes_peer(struct block_device *bdev)
{
	return false;
}

static inline bool kvc_pages_alike(const struct page *a, const struct page *b)
{
	return true;
}
#endif

/*
 * iov_iter_extract_pages() of 6.3: pages of user memory are pinned, those of
 * kernel memory are not. Advances @i. Without @peer, peer memory is -EREMOTEIO.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
static inline ssize_t kvc_iter_extract(struct iov_iter *i, struct page **pages,
				       size_t bytes, unsigned int nr, bool peer,
				       size_t *offset)
{
	return iov_iter_extract_pages(i, &pages, bytes, nr,
				      peer ? ITER_ALLOW_P2PDMA : 0, offset);
}
#else
static inline ssize_t kvc_iter_extract(struct iov_iter *i, struct page **pages,
				       size_t bytes, unsigned int nr, bool peer,
				       size_t *offset)
{
	unsigned long address;
	const char *p;
	int k, got;

	iov_iter_advance(i, 0);		/* over empty segments */
	bytes = min(bytes, iov_iter_single_seg_count(i));
	if (!bytes)
		return 0;
	if (iov_iter_is_bvec(i)) {
		size_t start = i->bvec->bv_offset + i->iov_offset;

		*offset = offset_in_page(start);
		got = min_t(size_t, nr, DIV_ROUND_UP(*offset + bytes, PAGE_SIZE));
		for (k = 0; k < got; k++)
			pages[k] = i->bvec->bv_page + (start >> PAGE_SHIFT) + k;
	} else if (iov_iter_is_kvec(i)) {
		p = i->kvec->iov_base + i->iov_offset;
		*offset = offset_in_page(p);
		got = min_t(size_t, nr, DIV_ROUND_UP(*offset + bytes, PAGE_SIZE));
		p -= *offset;
		for (k = 0; k < got; k++, p += PAGE_SIZE)
			pages[k] = is_vmalloc_addr(p) ?
				   vmalloc_to_page(p) : virt_to_page(p);
	} else if (user_backed_iter(i)) {
		address = (unsigned long)(iter_is_ubuf(i) ? i->ubuf :
					  i->iov->iov_base) + i->iov_offset;
		*offset = offset_in_page(address);
		got = min_t(size_t, nr, DIV_ROUND_UP(*offset + bytes, PAGE_SIZE));
		got = pin_user_pages_fast(address & PAGE_MASK, got,
					  i->data_source ? 0 : FOLL_WRITE, pages);
		if (got <= 0)
			return got ?: -EFAULT;
	} else {
		return -EFAULT;
	}
	bytes = min(bytes, got * PAGE_SIZE - *offset);
	iov_iter_advance(i, bytes);
	return bytes;
}
#endif

/*
 * io_uring commands. 6.7 gave them a header of their own; 6.19 changed how they
 * end and how task work calls back.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#include <linux/io_uring/cmd.h>
#include <linux/io_uring_types.h>
#else
#include <linux/io_uring.h>
#endif

#ifdef IO_URING_CMD_TASK_WORK_ISSUE_FLAGS
#define KVC_URING_TASK_WORK(name)					\
static void name(struct io_tw_req req, io_tw_token_t tw)		\
{									\
	name##_do(io_uring_cmd_from_tw(req),				\
		  IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);			\
}

static inline void kvc_uring_done(struct io_uring_cmd *cmd, int ret, u64 res2,
				  unsigned int issue_flags)
{
	io_uring_cmd_done32(cmd, ret, res2, issue_flags);
}
#else
#define KVC_URING_TASK_WORK(name)					\
static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)	\
{									\
	name##_do(cmd, issue_flags);					\
}

static inline void kvc_uring_done(struct io_uring_cmd *cmd, int ret, u64 res2,
				  unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, ret, res2, issue_flags);
}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define kvc_uring_import_fixed(addr, len, rw, iter, cmd, flags) \
	io_uring_cmd_import_fixed(addr, len, rw, iter, cmd, flags)
#else
#define kvc_uring_import_fixed(addr, len, rw, iter, cmd, flags) \
	io_uring_cmd_import_fixed(addr, len, rw, iter, cmd)
#endif

/* What stands in the submission entry; user memory that may change meanwhile. */
static inline const void *kvc_uring_payload(const struct io_uring_cmd *cmd)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return cmd->sqe->cmd;
#else
	return cmd->cmd;
#endif
}

/*
 * To be called before a command answers -EAGAIN, to be issued again by a worker.
 * From 6.9 to 6.13 io_uring copies the entry then, but the command goes on to point
 * into the ring, where another entry may stand by the time that it is issued again.
 */
static inline void kvc_uring_keep_payload(struct io_uring_cmd *cmd,
					  unsigned int issue_flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	const bool large = issue_flags & IO_URING_F_SQE128;
	void *copy = cmd_to_io_kiocb(cmd)->async_data;

	if (cmd->sqe == copy)
		return;
	memcpy(copy, cmd->sqe, sizeof(*cmd->sqe) << large);
	cmd->sqe = copy;
#endif
}

/* Not set to zero where the compiler is told to do that with all that is on stacks. */
#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized	__attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

/* 6.3 made a mapping's flags private; 6.13 merged the two halves of making a timer. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define kvc_vm_flags_clear(vma, flags)	vm_flags_clear(vma, flags)
#else
#define kvc_vm_flags_clear(vma, flags)	((vma)->vm_flags &= ~(flags))
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define kvc_hrtimer_init(timer, fn, clock, mode) \
	hrtimer_setup(timer, fn, clock, mode)
#else
#define kvc_hrtimer_init(timer, fn, clock, mode)			\
	do {								\
		hrtimer_init(timer, clock, mode);			\
		(timer)->function = (fn);				\
	} while (0)
#endif

/* Positions and lease ends are read without a lock. */
#ifndef CONFIG_64BIT
#error "kvcache wants a 64-bit kernel"
#endif

#endif
