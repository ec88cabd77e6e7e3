/* SPDX-License-Identifier: MIT */
/*
 * Traces of inference requests, read from a file or made up.
 */
#ifndef KVC_TRACE_H
#define KVC_TRACE_H

#include "kvc_types.h"

/**
 * DOC: the format
 *
 * One JSON object a line, as Mooncake publishes its traces:
 *
 *	{"timestamp": 277, "input_length": 1100, "output_length": 92,
 *	 "hash_ids": [198, 199, 200]}
 *
 * The timestamp is in milliseconds from the start. A hash id stands for one
 * block of 512 tokens together with all that comes before it: two requests that
 * share an id share the whole prefix up to it. Other members are ignored.
 */

#define TRACE_BLOCK_TOKENS	512

/* A longer line or list is malformed. */
#define TRACE_MAX_LINE		(16U << 20)
#define TRACE_MAX_BLOCKS	65536U

/**
 * struct trace_request - one request
 * @timestamp_ms: when it arrived
 * @input_length: tokens
 * @output_length: tokens
 * @hash_ids: its blocks, in order; belongs to the trace, until the next call
 * @nr_blocks: how many
 */
struct trace_request {
	u64 timestamp_ms;
	u64 input_length;
	u64 output_length;
	const u64 *hash_ids;
	u32 nr_blocks;
};

/**
 * struct trace_shape - what a made-up trace looks like; 0: the default
 * @seed: the same seed and shape give the same trace on every machine
 * @requests: how many
 * @sessions: conversations that go on at the same time
 * @interval_ms: mean time from one request to the next
 * @new_percent: share of the requests that begin a session; the others
 *	continue one, so that a session has 100 / @new_percent turns on average
 * @prompts: system prompts that sessions choose from
 * @prompt_tokens: mean length of a system prompt
 * @first_tokens: mean input of a session's first turn, after its system prompt
 * @turn_tokens: mean input that a later turn adds
 * @output_tokens: mean output
 * @max_tokens: a session that would grow longer ends
 *
 * The n-th system prompt is chosen in proportion to 1 / n (Zipf). Requests
 * arrive as a Poisson process. Which session a request continues, and which
 * one ends when another begins, is chosen evenly: the time between two turns of
 * a session is then exponential, with mean @sessions * @interval_ms. All
 * lengths are exponential. A turn's input is all that the session's earlier
 * turns got and answered, and what it adds. Its full blocks are the next
 * turn's prefix; the last block, if it is not full, is nobody else's.
 */
struct trace_shape {
	u64 seed;
	u64 requests;
	u32 sessions;
	u32 interval_ms;
	u32 new_percent;
	u32 prompts;
	u32 prompt_tokens;
	u32 first_tokens;
	u32 turn_tokens;
	u32 output_tokens;
	u32 max_tokens;
};

struct trace;

/**
 * trace_open() - read a trace from a file
 * @path: file, "-": standard input
 *
 * Return: the trace, or NULL with errno.
 */
struct trace *trace_open(const char *path);

/**
 * trace_generate() - make a trace up
 * @shape: its shape; fields that are 0 get their default in place
 *
 * Return: the trace, or NULL with errno: ENOMEM, EINVAL (a field is too large).
 */
struct trace *trace_generate(struct trace_shape *shape);

/**
 * trace_next() - the next request
 * @t: trace
 * @r: filled in
 *
 * Empty lines are passed over.
 *
 * Return: 1; 0 at the end; -EINVAL for a malformed line (the next call goes on
 * with the line after it), another -errno if no more can be read; then
 * trace_error() says what and where.
 */
int trace_next(struct trace *t, struct trace_request *r);

/* What was wrong, with the line's number: "line 12: no hash_ids". */
const char *trace_error(const struct trace *t);

void trace_close(struct trace *t);

#endif
