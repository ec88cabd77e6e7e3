// SPDX-License-Identifier: MIT
/* A queue: batches that are carried out while their caller does other things. */
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdlib.h>

#include "internal.h"

/* Older headers than the kernels that this runs on. */
#ifndef IORING_URING_CMD_FIXED
#define IORING_URING_CMD_FIXED (1U << 0)
#endif

/**
 * struct slot - a call that is queued or under way
 * @batch: what the kernel gets
 * @user_data: the caller's
 * @next: free slot behind this one
 */
struct slot {
	struct kvcache_batch batch;
	uint64_t user_data;
	struct slot *next;
};

/**
 * struct kvc_queue - a queue; for one thread at a time
 * @kvc: handle
 * @ring: of its own
 * @slots: one for each call that may be under way
 * @free: those that are not in use
 * @pending: calls that are queued or under way
 * @memory: registered
 * @nr_memory: pieces of it
 */
struct kvc_queue {
	struct kvc *kvc;
	struct io_uring ring;
	struct slot *slots;
	struct slot *free;
	unsigned int pending;
	struct iovec *memory;
	unsigned int nr_memory;
};

static int ring_of_any(struct io_uring *ring, unsigned int depth)
{
	/* Any thread may enter it, if one at a time: no SINGLE_ISSUER. */
	return io_uring_queue_init(depth, ring, IORING_SETUP_COOP_TASKRUN);
}

static int ring_of_one(struct io_uring *ring, unsigned int depth)
{
	int error = io_uring_queue_init(depth, ring,
					IORING_SETUP_SINGLE_ISSUER |
					IORING_SETUP_DEFER_TASKRUN |
					IORING_SETUP_TASKRUN_FLAG);

	if (error)
		return ring_of_any(ring, depth);
	/* It spares a look-up at each call, and need not work. */
	io_uring_register_ring_fd(ring);
	return 0;
}

static struct kvc_queue *queue_open(struct kvc *kvc, unsigned int depth,
				    int (*open)(struct io_uring *ring,
						unsigned int depth))
{
	struct kvc_queue *q;
	unsigned int i;
	int error = -EINVAL;

	if (!(kvc->caps.features & KVCACHE_FEAT_URING))
		error = -EOPNOTSUPP;
	if (error == -EOPNOTSUPP || !depth || depth > 4096)
		goto failed;
	error = -ENOMEM;
	q = calloc(1, sizeof(*q));
	if (!q)
		goto failed;
	q->kvc = kvc;
	q->slots = calloc(depth, sizeof(*q->slots));
	if (!q->slots)
		goto free_queue;
	for (i = depth; i-- > 0;) {
		q->slots[i].next = q->free;
		q->free = &q->slots[i];
	}
	error = open(&q->ring, depth);
	if (error)
		goto free_slots;
	error = io_uring_register_files(&q->ring, &kvc->fd, 1);
	if (!error)
		return q;
	io_uring_queue_exit(&q->ring);
free_slots:
	free(q->slots);
free_queue:
	free(q);
failed:
	errno = -error;
	return NULL;
}

struct kvc_queue *kvc_queue_open(struct kvc *kvc, unsigned int depth)
{
	return queue_open(kvc, depth, ring_of_any);
}

struct kvc_queue *kvc_queue_open_thread(struct kvc *kvc, unsigned int depth)
{
	return queue_open(kvc, depth, ring_of_one);
}

void kvc_queue_close(struct kvc_queue *q)
{
	struct kvc_done done[16];

	if (!q)
		return;
	/* The kernel writes to what callers gave, and to slots, until the end. */
	while (q->pending)
		if (kvc_queue_wait(q, done, 16, 1, 0) < 0)
			break;
	io_uring_queue_exit(&q->ring);
	free(q->memory);
	free(q->slots);
	free(q);
}

int kvc_queue_fd(const struct kvc_queue *q)
{
	return q->ring.ring_fd;
}

int kvc_queue_register(struct kvc_queue *q, const struct iovec *memory,
		       unsigned int count)
{
	struct iovec *copy;
	int error;

	if (q->memory)
		return -EBUSY;
	copy = malloc(count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, memory, count * sizeof(*copy));
	error = io_uring_register_buffers(&q->ring, copy, count);
	if (error) {
		free(copy);
		return error;
	}
	q->memory = copy;
	q->nr_memory = count;
	return 0;
}

static bool inside(const struct iovec *memory, const struct kvcache_io *io)
{
	uint64_t start = (uint64_t)(uintptr_t)memory->iov_base;

	return !(io->flags & KVCACHE_IO_IOVEC) && io->data >= start &&
	       io->data_len <= memory->iov_len &&
	       io->data - start <= memory->iov_len - io->data_len;
}

/* Number of the piece of registered memory that all keys are in, or -1. */
static int registered(const struct kvc_queue *q, const struct kvcache_io *ios,
		      size_t count)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < q->nr_memory; i++) {
		for (k = 0; k < count && inside(&q->memory[i], &ios[k]); k++)
			;
		if (k == count)
			return (int)i;
	}
	return -1;
}

static int queue(struct kvc_queue *q, uint32_t command, const struct kvc_call *call,
		 struct kvcache_io *ios, size_t count, uint64_t user_data)
{
	static const struct kvc_call plain;
	struct io_uring_sqe *sqe;
	struct kvcache_uring *u;
	struct slot *slot = q->free;
	int memory = -1;

	if (!call)
		call = &plain;
	if (!count || count > q->kvc->batch_max || call->reserved)
		return -EINVAL;
	if (!slot)
		return -EAGAIN;
	sqe = io_uring_get_sqe(&q->ring);
	if (!sqe)
		return -EAGAIN;
	q->free = slot->next;
	q->pending++;
	slot->user_data = user_data;
	slot->batch = (struct kvcache_batch){
		.size = sizeof(slot->batch),
		.flags = call->flags & ~KVC_CALL_OURS,
		.pool = q->kvc->pool,
		.tenant = call->tenant,
		.ios = (uint64_t)(uintptr_t)ios,
		.count = (uint32_t)count,
		.io_size = sizeof(*ios),
		.deadline_ms = call->deadline_ms,
	};
	if (command == KVCACHE_IOC_PUT || command == KVCACHE_IOC_GET)
		memory = registered(q, ios, count);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->cmd_op = command;
	sqe->user_data = (uint64_t)(uintptr_t)slot;
	if (memory >= 0) {
		/* uring_cmd_flags, which older headers call by others' names */
		sqe->rw_flags = IORING_URING_CMD_FIXED;
		sqe->buf_index = (uint16_t)memory;
	}
	u = (struct kvcache_uring *)(void *)sqe->cmd;
	u->arg = (uint64_t)(uintptr_t)&slot->batch;
	u->flags = 0;
	u->reserved = 0;
	return 0;
}

int kvc_queue_put(struct kvc_queue *q, const struct kvc_call *call,
		  struct kvcache_io *ios, size_t count, uint64_t user_data)
{
	return queue(q, KVCACHE_IOC_PUT, call, ios, count, user_data);
}

int kvc_queue_get(struct kvc_queue *q, const struct kvc_call *call,
		  struct kvcache_io *ios, size_t count, uint64_t user_data)
{
	return queue(q, KVCACHE_IOC_GET, call, ios, count, user_data);
}

int kvc_queue_exists(struct kvc_queue *q, const struct kvc_call *call,
		     struct kvcache_io *ios, size_t count, uint64_t user_data)
{
	return queue(q, KVCACHE_IOC_EXISTS, call, ios, count, user_data);
}

int kvc_queue_delete(struct kvc_queue *q, const struct kvc_call *call,
		     struct kvcache_io *ios, size_t count, uint64_t user_data)
{
	return queue(q, KVCACHE_IOC_DELETE, call, ios, count, user_data);
}

int kvc_queue_submit(struct kvc_queue *q)
{
	return io_uring_submit(&q->ring);
}

unsigned int kvc_queue_pending(const struct kvc_queue *q)
{
	return q->pending;
}

/* What has completed, as far as there is room for it. */
static unsigned int take(struct kvc_queue *q, struct kvc_done *done,
			 unsigned int room)
{
	struct io_uring_cqe *cqe;
	unsigned int n = 0;

	while (n < room && !io_uring_peek_cqe(&q->ring, &cqe)) {
		struct slot *slot = (struct slot *)(uintptr_t)cqe->user_data;

		done[n].user_data = slot->user_data;
		done[n++].result = cqe->res;
		io_uring_cqe_seen(&q->ring, cqe);
		slot->next = q->free;
		q->free = slot;
		q->pending--;
	}
	return n;
}

int kvc_queue_wait(struct kvc_queue *q, struct kvc_done *done, unsigned int room,
		   unsigned int least, unsigned int timeout_ms)
{
	struct __kernel_timespec t = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = (long long)(timeout_ms % 1000) * 1000000,
	};
	struct io_uring_cqe *cqe;
	unsigned int n;
	int error;

	if (!room)
		return -EINVAL;
	if (least > room)
		least = room;
	if (least > q->pending)
		least = q->pending;
	if (least && timeout_ms)
		error = io_uring_submit_and_wait_timeout(&q->ring, &cqe, least, &t,
							 NULL);
	else
		error = io_uring_submit_and_wait(&q->ring, least);
	n = take(q, done, room);
	if (n || error >= 0 || error == -ETIME)
		return (int)n;
	return error;
}
