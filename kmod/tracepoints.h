/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: the life of each operation, and what the workers do.
 *
 * kvcache_op_start and kvcache_op_end frame one key of a call and are matched
 * by pool and hash; kvcache_segment tells each step of a segment's life.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvcache

#if !defined(KVC_TRACEPOINTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define KVC_TRACEPOINTS_H

#include <linux/tracepoint.h>
#include "object.h"

#define kvc_show_op(nr)							\
	__print_symbolic(nr, { 0xe8, "put" }, { 0xe9, "get" },		\
			     { 0xea, "exists" }, { 0xeb, "delete" })

TRACE_EVENT(kvcache_op_start,
	TP_PROTO(const struct kvc_op *op, unsigned int nr),
	TP_ARGS(op, nr),
	TP_STRUCT__entry(
		__field(u32, pool)
		__field(u32, nr)
		__field(u64, lo)
		__field(u64, hi)
		__field(u64, room)
	),
	TP_fast_assign(
		__entry->pool = op->join->pool->number;
		__entry->nr = nr;
		__entry->lo = op->key->hash.lo;
		__entry->hi = op->key->hash.hi;
		__entry->room = iov_iter_count(&op->iter);
	),
	TP_printk("pool=%u op=%s hash=%016llx%016llx memory=%llu",
		  __entry->pool, kvc_show_op(__entry->nr), __entry->hi,
		  __entry->lo, __entry->room)
);

TRACE_EVENT(kvcache_op_end,
	TP_PROTO(const struct kvc_op *op, unsigned int nr),
	TP_ARGS(op, nr),
	TP_STRUCT__entry(
		__field(u32, pool)
		__field(u32, nr)
		__field(u64, lo)
		__field(u64, hi)
		__field(u64, length)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->pool = op->join->pool->number;
		__entry->nr = nr;
		__entry->lo = op->key->hash.lo;
		__entry->hi = op->key->hash.hi;
		__entry->length = op->length;
		__entry->status = op->status;
	),
	TP_printk("pool=%u op=%s hash=%016llx%016llx length=%llu status=%d",
		  __entry->pool, kvc_show_op(__entry->nr), __entry->hi,
		  __entry->lo, __entry->length, __entry->status)
);

TRACE_EVENT(kvcache_segment,
	TP_PROTO(const struct kvc_segment *seg, u32 type),
	TP_ARGS(seg, type),
	TP_STRUCT__entry(
		__field(u32, pool)
		__field(u32, ag)
		__field(u32, segment)
		__field(u32, type)
		__field(u64, generation)
		__field(int, live)
	),
	TP_fast_assign(
		__entry->pool = seg->ag->join->pool->number;
		__entry->ag = seg->ag->number;
		__entry->segment = seg->s.number;
		__entry->type = type;
		__entry->generation = seg->s.generation;
		__entry->live = atomic_read(&seg->live);
	),
	TP_printk("pool=%u ag=%u segment=%u %s generation=%llu live=%d",
		  __entry->pool, __entry->ag, __entry->segment,
		  __print_symbolic(__entry->type, { KVC_REC_OPEN, "open" },
				   { KVC_REC_SEAL, "seal" },
				   { KVC_REC_RETIRE, "retire" }),
		  __entry->generation, __entry->live)
);

TRACE_EVENT(kvcache_checkpoint,
	TP_PROTO(const struct kvc_ag *ag, u64 start, u32 blocks),
	TP_ARGS(ag, start, blocks),
	TP_STRUCT__entry(
		__field(u32, pool)
		__field(u32, ag)
		__field(u64, epoch)
		__field(u64, start)
		__field(u32, blocks)
	),
	TP_fast_assign(
		__entry->pool = ag->join->pool->number;
		__entry->ag = ag->number;
		__entry->epoch = ag->journal.epoch;
		__entry->start = start;
		__entry->blocks = blocks;
	),
	TP_printk("pool=%u ag=%u epoch=%llu start=%llu blocks=%u",
		  __entry->pool, __entry->ag, __entry->epoch, __entry->start,
		  __entry->blocks)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE tracepoints
#include <trace/define_trace.h>
