// SPDX-License-Identifier: MIT
/* The counters of struct kvcache_info, as a table. */
#include "counters.h"

#include <string.h>

#define COUNTER(field, text) \
	{ #field, text, offsetof(struct kvcache_info, field), false }
#define BYTES(field, text) \
	{ #field, text, offsetof(struct kvcache_info, field), true }

const struct counter counters[] = {
	COUNTER(puts, "puts"),
	BYTES(put_bytes, "bytes put"),
	COUNTER(put_exists, "puts of a key that was there"),
	COUNTER(gets, "gets that hit"),
	BYTES(get_bytes, "bytes got"),
	COUNTER(misses, "gets that missed"),
	COUNTER(exists_hits, "exists that hit"),
	COUNTER(exists_misses, "exists that missed"),
	COUNTER(deletes, "deletes"),
	COUNTER(evicted_objects, "objects evicted"),
	BYTES(evicted_bytes, "bytes evicted"),
	COUNTER(rewritten_objects, "objects that eviction moved"),
	BYTES(rewritten_bytes, "bytes that eviction moved"),
	COUNTER(expired, "objects that expired"),
	COUNTER(bad_data, "objects with bad checksums"),
	COUNTER(timeouts, "calls past their deadline"),
	COUNTER(journal_blocks, "journal blocks written"),
	COUNTER(journal_commits, "journal writes"),
	COUNTER(checkpoints, "checkpoints"),
	COUNTER(discards, "segments discarded"),
	COUNTER(refreshes, "passes over other hosts' slots and journals"),
	COUNTER(refresh_blocks, "blocks read by them"),
	COUNTER(followed_blocks, "journal blocks of other hosts taken in"),
	COUNTER(loads, "allocation groups of other hosts loaded"),
	COUNTER(rotten_blocks, "journal blocks of other hosts dropped"),
	COUNTER(asks, "deletes asked of other hosts"),
	COUNTER(touches, "touches told to other hosts"),
	COUNTER(fenced, "dead hosts whose registration was taken away"),
	COUNTER(refused, "writes that a reservation refused"),
};

const u32 nr_counters = sizeof(counters) / sizeof(counters[0]);

u64 counter_value(const struct kvcache_info *info, const struct counter *c)
{
	__u64 value;

	memcpy(&value, (const char *)info + c->offset, sizeof(value));
	return value;
}

void counters_json(cJSON *object, const struct kvcache_info *info)
{
	u32 i;

	for (i = 0; i < nr_counters; i++)
		ctl_json_u64(object, counters[i].name,
			     counter_value(info, &counters[i]));
}
