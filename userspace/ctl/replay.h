/* SPDX-License-Identifier: MIT */
/* kvcachectl replay: the requests of a trace against a pool. */
#ifndef KVC_REPLAY_H
#define KVC_REPLAY_H

#include <pthread.h>

#include "call.h"
#include "latency.h"

enum replay_step {
	REPLAY_EXISTS,
	REPLAY_GET,
	REPLAY_PUT,
	REPLAY_STEPS
};

/**
 * struct replay_counts - what came of requests
 * @requests: requests
 * @blocks: blocks that they referred to
 * @hits: blocks that were found, read and right
 * @misses: blocks that were not there, or no longer when they were read
 * @gets: objects read (without --prefix-stop the same as @hits)
 * @puts: objects stored
 * @present: puts that found the key there already
 * @skipped: keys for which the pool answered "not this moment"
 * @lost: objects that were evicted between exists and get
 * @mismatches: objects that were not what had been put under their key
 * @errors: all other answers, and calls that were refused
 */
struct replay_counts {
	u64 requests;
	u64 blocks;
	u64 hits;
	u64 misses;
	u64 gets;
	u64 puts;
	u64 present;
	u64 skipped;
	u64 lost;
	u64 mismatches;
	u64 errors;
};

/**
 * struct replay - what all workers share; only @told and @stop change
 * @ctl: program
 * @call: pool, tenant and deadline
 * @key_format: of keys, see replay_key_room()
 * @key_room: bytes that a key takes at most
 * @content: seed of all contents
 * @object_bytes: of every object
 * @batch: objects in a batch of gets or puts
 * @verify: compare what was read
 * @prefix: hits end at the first miss
 * @lock: guards @told and @stop
 * @told: messages about objects so far
 * @stop: a call was refused: no use to go on
 */
struct replay {
	struct ctl *ctl;
	struct call call;
	const char *key_format;
	size_t key_room;
	u64 content;
	size_t object_bytes;
	u32 batch;
	bool verify;
	bool prefix;
	pthread_mutex_t lock;
	u32 told;
	bool stop;
};

/**
 * struct replay_worker - one that does requests, one after the other
 * @replay: what it shares with others
 * @counts: of its requests
 * @latency: of its batches
 * @buffer: room for @replay->batch objects, each on pages of its own
 * @room: requests of so many blocks fit into the arrays
 * @ids: hash ids of the request's blocks; filled in by the caller
 * @keys: their keys
 * @ios: elements of the batch
 * @blocks: per element of the batch: which block it is about
 * @states: per block: enum block_state
 */
struct replay_worker {
	struct replay *replay;
	struct replay_counts counts;
	struct latency latency[REPLAY_STEPS];
	u8 *buffer;
	u32 room;
	u64 *ids;
	char *keys;
	struct kvcache_io *ios;
	u32 *blocks;
	u8 *states;
};

/**
 * replay_key_room() - check a key format
 * @format: text in which %x stands for a hash id in 16 hex digits, %d for the
 *	same in decimal, %% for a percent sign
 *
 * Return: bytes that a key takes at most, with its NUL; 0: malformed, longer
 * than a key may be, or without a hash id, so that all keys would be one.
 */
size_t replay_key_room(const char *format);

/* Prepare: seed the contents from tenant and format. */
void replay_begin(struct replay *r);

void replay_worker_begin(struct replay_worker *w, struct replay *r);
void replay_worker_end(struct replay_worker *w);

/* Make room for a request of @n blocks. */
void replay_worker_reserve(struct replay_worker *w, u32 n);

/* Do one request: exists, then get what is there, then put what is not. */
void replay_request(struct replay_worker *w, u32 n);

/* --- what came of it (replay_report.c) --- */

/**
 * struct replay_pool - a pool's counters
 * @info: of the pool
 * @read_bytes: read from its members, metadata included
 * @written_bytes: written to its members, metadata included
 */
struct replay_pool {
	struct kvcache_info info;
	u64 read_bytes;
	u64 written_bytes;
};

/**
 * struct replay_report - a whole replay
 * @replay: what was to be done
 * @label: of the replay
 * @trace: file, NULL: made up
 * @seed: of a made-up trace
 * @threads: workers
 * @counts: of all workers
 * @latency: of their batches
 * @seconds: that it took
 * @pool_known: @before and @after could be read
 * @before: pool's counters at the start
 * @after: pool's counters at the end
 */
struct replay_report {
	const struct replay *replay;
	const char *label;
	const char *trace;
	u64 seed;
	u32 threads;
	struct replay_counts counts;
	struct latency latency[REPLAY_STEPS];
	double seconds;
	bool pool_known;
	struct replay_pool before;
	struct replay_pool after;
};

/* Names of the steps: "exists", "get", "put". */
extern const char *const replay_steps[REPLAY_STEPS];

/**
 * struct replay_percentile - one that is reported
 * @permille: calls that took no longer
 * @name: "p99.9"
 */
struct replay_percentile {
	u32 permille;
	const char *name;
};

extern const struct replay_percentile replay_percentiles[];
extern const u32 nr_replay_percentiles;

/* False: the pool doesn't tell. */
bool replay_pool_read(struct replay *r, struct replay_pool *pool);

double replay_hit_rate(const struct replay_report *r);

/*
 * Bytes written to members by bytes that the requests referred to, and objects
 * that eviction moved by such objects; only if @pool_known.
 */
double replay_writes(const struct replay_report *r);
double replay_rewrites(const struct replay_report *r);

cJSON *replay_json(const struct replay_report *r);
void replay_text(const struct replay_report *r);

/* --- as a picture (replay_plot.c) --- */

/* False, with a message: there is no gnuplot. */
bool replay_can_plot(struct ctl *ctl);

/* Write an SVG picture to @fd, which is closed; @path is for messages. */
int replay_plot(const struct replay_report *r, const char *path, int fd);

#endif
