/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Extent I/O: moves one object between memory and its run in a segment.
 *
 * A transfer pins the caller's pages (or takes kernel memory), cuts the run
 * where it changes members and where a request would become too large, sends
 * one bio per cut straight from or to those pages, and bounces only the blocks
 * that memory covers in pieces that the device can't take (unaligned edges). It
 * computes the object's CRC in order as cuts end.
 *
 * Lifetime: refcounted. The caller holds one reference, bios in flight hold
 * one together. When a caller gives up at its deadline it just drops its
 * reference: pages stay pinned and @release (which drops the segment's reader
 * reference) is called only when the last bio has ended.
 */
#ifndef KVC_XFER_H
#define KVC_XFER_H

#include <linux/kref.h>
#include <linux/uio.h>
#include "member.h"

struct kvc_xfer;

/**
 * struct kvc_xfer_desc - what a transfer shall do
 * @set: members
 * @g: geometry
 * @write: put (memory to media) or get
 * @life: put: how long it is expected to stay
 * @segment: segment
 * @offset: byte offset of the object in the segment, multiple of 4 KiB
 * @bytes: length of the object, > 0
 * @from: get: first byte that the caller wants, 0 for all
 * @want: get: how many bytes of it (@from + @want <= @bytes); put: @bytes
 * @iter: the caller's memory, at least @want bytes: ITER_UBUF/ITER_IOVEC (is
 *	pinned here), ITER_KVEC or ITER_BVEC (kernel memory, outlives the
 *	transfer, and so do an ITER_BVEC's bvecs; vmalloc memory in one piece).
 *	Its direction is that of the transfer. Not kept after kvc_xfer_start()
 *	returns
 * @crc: compute the CRC. A get with @want < @bytes then reads the whole
 *	object, the rest into scratch pages, since the CRC covers all of it;
 *	without @crc only the blocks wanted are read
 * @crc_seed: initial value
 * @release: called once, in process context, when no bio is left and the
 *	caller has put the transfer; may be NULL
 * @release_arg: its argument
 * @ended: called once when no bio is left, in any context, perhaps before
 *	kvc_xfer_start() returns; kvc_xfer_wait() does not wait for a device
 *	then. The caller has not put the transfer before. NULL: it will wait
 * @ended_arg: its argument
 */
struct kvc_xfer_desc {
	struct kvc_member_set *set;
	const struct kvc_geometry *g;
	bool write;
	bool crc;
	enum kvc_life life;
	u32 segment;
	u32 crc_seed;
	u64 offset;
	u64 bytes;
	u64 from;
	u64 want;
	struct iov_iter *iter;
	void (*release)(void *arg);
	void *release_arg;
	void (*ended)(void *arg);
	void *ended_arg;
};

/**
 * kvc_xfer_start() - pin, cut and submit
 * @d: what
 *
 * A write pads the object's last block with zeroes, and carries REQ_FUA to
 * members with a volatile cache. The caller has checked members' health. Bios
 * of one call go out under one plug. Pinning may sleep, but nothing here waits
 * for a device.
 *
 * Return: the transfer, or ERR_PTR(-EFAULT, -ENOMEM, -EINVAL; -EOPNOTSUPP for
 * peer memory that members can't reach): then nothing was submitted and @release was NOT called.
 */
struct kvc_xfer *kvc_xfer_start(const struct kvc_xfer_desc *d);

/**
 * kvc_xfer_wait() - wait for the end, computing the CRC as cuts end
 * @x: transfer
 * @deadline: jiffies
 * @crc: set to the CRC (when asked for)
 *
 * Killable: a fatal signal ends the wait as a deadline would, with -EINTR.
 * After either, nothing but bios that are out writes to the caller's memory. It
 * may wait again.
 *
 * Return: 0; the first error of a bio (-EIO, -ESTALE, -EAGAIN); -ETIMEDOUT;
 * -EINTR. On 0 and on an error of a bio, none is left in flight; on 0, bounced
 * bytes are in the caller's memory.
 */
int kvc_xfer_wait(struct kvc_xfer *x, unsigned long deadline, u32 *crc);

/* May its memory still be under I/O? For KVCACHE_IO_BUSY. */
bool kvc_xfer_busy(struct kvc_xfer *x);

/*
 * Drop the caller's reference. May sleep. What has not been submitted then (the
 * device had no request free) won't be.
 */
void kvc_xfer_put(struct kvc_xfer *x);

int kvc_xfer_init(void);	/* module init: caches */
void kvc_xfer_exit(void);

#endif
