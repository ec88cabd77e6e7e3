// SPDX-License-Identifier: MIT
/* kvcachectl replay: the report. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "replay.h"

const char *const replay_steps[REPLAY_STEPS] = {
	[REPLAY_EXISTS] = "exists",
	[REPLAY_GET] = "get",
	[REPLAY_PUT] = "put",
};

const struct replay_percentile replay_percentiles[] = {
	{ 500, "p50" }, { 900, "p90" }, { 990, "p99" }, { 999, "p99.9" },
};

const u32 nr_replay_percentiles = ARRAY_SIZE(replay_percentiles);

/* --- the pool's counters --- */

bool replay_pool_read(struct replay *r, struct replay_pool *pool)
{
	struct kvcache_member_info members[KVCACHE_MEMBERS_MAX] = { 0 };
	u32 i;

	if (kvc_info(r->call.kvc, &pool->info, members, KVCACHE_MEMBERS_MAX))
		return false;
	pool->read_bytes = 0;
	pool->written_bytes = 0;
	for (i = 0; i < min_t(u32, pool->info.nr_members, KVCACHE_MEMBERS_MAX); i++) {
		pool->read_bytes += members[i].read_bytes;
		pool->written_bytes += members[i].written_bytes;
	}
	return true;
}

#define ROSE_BY(r, field) ((r)->after.field - (r)->before.field)

static u64 referenced_bytes(const struct replay_report *r)
{
	return r->counts.blocks * r->replay->object_bytes;
}

static double ratio(u64 part, u64 whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double replay_hit_rate(const struct replay_report *r)
{
	return ratio(r->counts.hits, r->counts.blocks);
}

double replay_writes(const struct replay_report *r)
{
	return ratio(ROSE_BY(r, written_bytes), referenced_bytes(r));
}

double replay_rewrites(const struct replay_report *r)
{
	return ratio(ROSE_BY(r, info.rewritten_objects), r->counts.blocks);
}

/* --- JSON --- */

static void counts_json(cJSON *all, const struct replay_report *r)
{
	const struct replay_counts *c = &r->counts;

	ctl_json_u64(all, "requests", c->requests);
	ctl_json_u64(all, "blocks", c->blocks);
	ctl_json_u64(all, "puts", c->puts);
	ctl_json_u64(all, "gets", c->gets);
	ctl_json_u64(all, "hits", c->hits);
	ctl_json_u64(all, "misses", c->misses);
	cJSON_AddNumberToObject(all, "hit_rate", replay_hit_rate(r));
	ctl_json_u64(all, "mismatches", c->mismatches);
	ctl_json_u64(all, "errors", c->errors);
	ctl_json_u64(all, "skipped", c->skipped);
	ctl_json_u64(all, "evicted_meanwhile", c->lost);
	ctl_json_u64(all, "put_exists", c->present);
}

static void bytes_json(cJSON *all, const struct replay_report *r)
{
	cJSON *bytes = cJSON_AddObjectToObject(all, "bytes");
	u64 size = r->replay->object_bytes;

	ctl_json_u64(bytes, "referenced", referenced_bytes(r));
	ctl_json_u64(bytes, "got", r->counts.gets * size);
	ctl_json_u64(bytes, "put", r->counts.puts * size);
}

static void latency_json(cJSON *all, const struct replay_report *r)
{
	cJSON *steps = cJSON_AddObjectToObject(all, "latency_ns");
	u32 i, p;

	for (i = 0; i < REPLAY_STEPS; i++) {
		cJSON *step = cJSON_AddObjectToObject(steps, replay_steps[i]);
		const struct latency *l = &r->latency[i];

		ctl_json_u64(step, "batches", l->count);
		ctl_json_u64(step, "mean", l->count ? l->sum_ns / l->count : 0);
		for (p = 0; p < nr_replay_percentiles; p++)
			ctl_json_u64(step, replay_percentiles[p].name,
				     latency_permille(l, replay_percentiles[p].permille));
		ctl_json_u64(step, "max", l->max_ns);
	}
}

/* What the pool did meanwhile; other users of it count, too. */
static void pool_json(cJSON *all, const struct replay_report *r)
{
	static const struct {
		const char *name;
		size_t field;
	} counters[] = {
#define COUNTER(name) { #name, offsetof(struct kvcache_info, name) }
		COUNTER(put_bytes), COUNTER(get_bytes), COUNTER(evicted_objects),
		COUNTER(evicted_bytes), COUNTER(rewritten_objects),
		COUNTER(rewritten_bytes), COUNTER(journal_blocks),
		COUNTER(checkpoints), COUNTER(timeouts), COUNTER(bad_data),
#undef COUNTER
	};
	char name[KVCACHE_NAME_MAX + 1] = "";
	cJSON *pool;
	u64 from, to;
	u32 i;

	if (!r->pool_known) {
		cJSON_AddNullToObject(all, "writes_per_reference");
		cJSON_AddNullToObject(all, "rewrites_per_reference");
		cJSON_AddNullToObject(all, "pool");
		return;
	}
	cJSON_AddNumberToObject(all, "writes_per_reference", replay_writes(r));
	cJSON_AddNumberToObject(all, "rewrites_per_reference", replay_rewrites(r));
	pool = cJSON_AddObjectToObject(all, "pool");
	memcpy(name, r->after.info.name, KVCACHE_NAME_MAX);
	cJSON_AddStringToObject(pool, "name", name);
	ctl_json_u64(pool, "members", r->after.info.nr_members);
	ctl_json_u64(pool, "capacity", r->after.info.capacity);
	ctl_json_u64(pool, "segment_bytes", r->after.info.segment_bytes);
	ctl_json_u64(pool, "objects_before", r->before.info.objects);
	ctl_json_u64(pool, "objects", r->after.info.objects);
	ctl_json_u64(pool, "read_bytes", ROSE_BY(r, read_bytes));
	ctl_json_u64(pool, "written_bytes", ROSE_BY(r, written_bytes));
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		memcpy(&from, (const char *)&r->before.info + counters[i].field,
		       sizeof(from));
		memcpy(&to, (const char *)&r->after.info + counters[i].field,
		       sizeof(to));
		ctl_json_u64(pool, counters[i].name, to - from);
	}
}

cJSON *replay_json(const struct replay_report *r)
{
	cJSON *all = cJSON_CreateObject();

	cJSON_AddStringToObject(all, "label", r->label);
	cJSON_AddStringToObject(all, "trace", r->trace ? r->trace : "made-up");
	if (!r->trace)
		ctl_json_u64(all, "seed", r->seed);
	ctl_json_u64(all, "object_bytes", r->replay->object_bytes);
	ctl_json_u64(all, "batch", r->replay->batch);
	ctl_json_u64(all, "threads", r->threads);
	cJSON_AddBoolToObject(all, "verify", r->replay->verify);
	cJSON_AddBoolToObject(all, "prefix_stop", r->replay->prefix);
	counts_json(all, r);
	bytes_json(all, r);
	cJSON_AddNumberToObject(all, "seconds", r->seconds);
	pool_json(all, r);
	latency_json(all, r);
	return all;
}

/* --- for people --- */

static void latency_text(struct ctl *ctl, const char *name, const struct latency *l)
{
	char line[256];
	int len = 0;
	u32 p;

	for (p = 0; p < nr_replay_percentiles; p++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, ", %s %.1f",
				replay_percentiles[p].name,
				(double)latency_permille(l, replay_percentiles[p].permille) / 1e3);
	ctl_note(ctl, "%-6s %" PRIu64 " batches%s, longest %.1f us", name,
		 (uint64_t)l->count, line, (double)l->max_ns / 1e3);
}

void replay_text(const struct replay_report *r)
{
	const struct replay_counts *c = &r->counts;
	struct ctl *ctl = r->replay->ctl;
	char got[CTL_TEXT], put[CTL_TEXT], written[CTL_TEXT];
	u64 size = r->replay->object_bytes;
	int i;

	ctl_note(ctl, "%.1f s; %" PRIu64 " keys skipped (not this moment), %" PRIu64
		 " evicted before the get, %" PRIu64 " there before the put", r->seconds,
		 (uint64_t)c->skipped, (uint64_t)c->lost, (uint64_t)c->present);
	ctl_note(ctl, "%s got, %s put", ctl_size(got, c->gets * size),
		 ctl_size(put, c->puts * size));
	if (r->pool_known)
		ctl_note(ctl, "%s written to members, %.4f of what was referred to; %.4f objects moved per reference",
			 ctl_size(written, ROSE_BY(r, written_bytes)),
			 replay_writes(r), replay_rewrites(r));
	for (i = 0; i < REPLAY_STEPS; i++)
		latency_text(ctl, replay_steps[i], &r->latency[i]);
	printf("%s: requests=%" PRIu64 " puts=%" PRIu64 " gets=%" PRIu64
	       " hit_rate=%.4f mismatches=%" PRIu64 " errors=%" PRIu64 "\n",
	       r->label, (uint64_t)c->requests, (uint64_t)c->puts,
	       (uint64_t)c->gets, replay_hit_rate(r), (uint64_t)c->mismatches,
	       (uint64_t)c->errors);
}
