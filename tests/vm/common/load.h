/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Load on a pool, from several threads, each of which has keys of its own: puts
 * (one and many), deletes, gets; what is answered goes into a model.
 */
#ifndef KVC_LOAD_H
#define KVC_LOAD_H

#include <pthread.h>
#include "model.h"

#define LOAD_BATCH 20		/* keys of one call, at most */
#define LOAD_THREADS 8

/**
 * struct load_op - what one key of a call is to become
 * @key: key
 * @state: 0 (delete), or the version that is put
 * @expiry: of the version, or 0
 * @pin: of the version, or 0
 * @status: as answered
 */
struct load_op {
	uint32_t key;
	uint32_t state;
	uint64_t expiry;
	uint64_t pin;
	int status;
};

/* What load_op.status tells: has it happened? */
enum load_outcome {
	LOAD_DONE,
	LOAD_NOT_DONE,
	LOAD_UNKNOWN,
};

enum load_outcome load_outcome(const struct load_op *op);

/* Into a model, what was recorded of an operation: its intent, its answer. */
void load_begun(struct model *m, const struct load_op *op);
void load_ended(struct model *m, const struct load_op *op);

/**
 * struct load - a load
 * @m: model
 * @kvc: pool
 * @threads: how many
 * @pause_us: after each call, at most
 * @seed: of what is done
 * @no_expiry: nothing expires
 * @intent: called before a call that changes something, or NULL; false: stop
 * @answered: called when it has returned, or NULL; false: stop
 * @arg: for them
 * @stop: set it and the threads end
 * @calls: that were made
 * @puts: that were answered with 0
 * @bytes: of these, what they take on media
 * @deletes: likewise
 * @doubts: keys that are not settled
 * @gone: objects that were found to be evicted
 */
struct load {
	struct model *m;
	struct kvc *kvc;
	uint32_t threads;
	uint32_t pause_us;
	uint64_t seed;
	bool no_expiry;
	bool (*intent)(void *arg, uint32_t thread, const struct load_op *ops,
		       uint32_t n);
	bool (*answered)(void *arg, uint32_t thread, const struct load_op *ops,
			 uint32_t n);
	void *arg;
	bool stop;
	uint64_t calls;
	uint64_t puts;
	uint64_t bytes;
	uint64_t deletes;
	uint64_t doubts;
	uint64_t gone;
	pthread_t thread[LOAD_THREADS];
	struct load_thread *private;
};

void load_start(struct load *load);
/* Wait for the threads: until @stop is set, or the pool is gone. */
void load_join(struct load *load);

#endif
