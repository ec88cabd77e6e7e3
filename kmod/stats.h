/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of an attachment, per CPU. */
#ifndef KVC_STATS_H
#define KVC_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum kvc_stat {
	KVC_STAT_PUTS,
	KVC_STAT_PUT_BYTES,
	KVC_STAT_PUT_EXISTS,
	KVC_STAT_GETS,
	KVC_STAT_GET_BYTES,
	KVC_STAT_MISSES,
	KVC_STAT_EXISTS_HITS,
	KVC_STAT_EXISTS_MISSES,
	KVC_STAT_DELETES,
	KVC_STAT_EVICTED,
	KVC_STAT_EVICTED_BYTES,
	KVC_STAT_REWRITTEN,
	KVC_STAT_REWRITTEN_BYTES,
	KVC_STAT_EXPIRED,
	KVC_STAT_BAD_DATA,
	KVC_STAT_TIMEOUTS,
	KVC_STAT_CHECKPOINTS,
	KVC_STAT_DISCARDS,
	KVC_STAT_REFRESHES,
	KVC_STAT_REFRESH_BLOCKS,
	KVC_STAT_FOLLOWED_BLOCKS,
	KVC_STAT_LOADS,
	KVC_STAT_ROTTEN_BLOCKS,
	KVC_STAT_ASKS,
	KVC_STAT_TOUCHES,
	KVC_STAT_FENCED,
	KVC_NR_STATS,
};

struct kvc_stats {
	u64 count[KVC_NR_STATS];
};

static inline void kvc_stat_add(struct kvc_stats __percpu *stats,
				enum kvc_stat which, u64 n)
{
	this_cpu_add(stats->count[which], n);
}

static inline void kvc_stat_inc(struct kvc_stats __percpu *stats,
				enum kvc_stat which)
{
	kvc_stat_add(stats, which, 1);
}

static inline u64 kvc_stat_sum(struct kvc_stats __percpu *stats,
			       enum kvc_stat which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(stats, cpu)->count[which];
	return sum;
}

#endif
