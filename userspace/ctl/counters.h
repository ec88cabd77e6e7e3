/* SPDX-License-Identifier: MIT */
/* The counters of struct kvcache_info, as a table. */
#ifndef KVC_CTL_COUNTERS_H
#define KVC_CTL_COUNTERS_H

#include "ctl.h"
#include "kvcache.h"

/**
 * struct counter - one counter
 * @name: of the field
 * @help: what it counts
 * @offset: of the field
 * @bytes: it counts bytes
 */
struct counter {
	const char *name;
	const char *help;
	size_t offset;
	bool bytes;
};

extern const struct counter counters[];
extern const u32 nr_counters;

u64 counter_value(const struct kvcache_info *info, const struct counter *c);
void counters_json(cJSON *object, const struct kvcache_info *info);

#endif
