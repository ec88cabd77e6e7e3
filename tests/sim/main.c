// SPDX-License-Identifier: MIT
/*
 * kvc-sim: replays a trace against object LRU, Belady's MIN, FIFO and the
 * module's policy.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <cjson/cJSON.h>

#include "kvc_clock.h"
#include "sim.h"

#define MAX_LIST	32
#define MIN_SEGMENTS	8	/* of an AG, as kvcachectl format makes it */

struct list {
	u32 n;
	u32 v[MAX_LIST];
};

struct options {
	const char *trace;
	u64 seed;
	u64 requests;
	struct list sizes;
	struct list percents;
	struct sim_pool pool;
	bool json;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "kvc-sim: %s: %s\n", what, why);
	exit(2);
}

void *sim_alloc(size_t n, size_t item)
{
	void *p = calloc(n ? n : 1, item);

	if (!p)
		die("memory", strerror(ENOMEM));
	return p;
}

/* --- the trace --- */

/* A set of hash ids that numbers them in the order in which they came. */
struct numbering {
	u64 *ids;
	u32 *numbers;	/* 0: free, else 1 + the number */
	u32 room;	/* power of two */
	u32 used;
};

static u32 *find(const struct numbering *s, u64 id)
{
	u32 i = (id * 0x9e3779b97f4a7c15 >> 32) & (s->room - 1);

	while (s->numbers[i] && s->ids[i] != id)
		i = (i + 1) & (s->room - 1);
	s->ids[i] = id;
	return &s->numbers[i];
}

static void widen(struct numbering *s)
{
	struct numbering old = *s;
	u32 i;

	s->room = old.room ? old.room * 2 : 1 << 16;
	s->ids = sim_alloc(s->room, sizeof(*s->ids));
	s->numbers = sim_alloc(s->room, sizeof(*s->numbers));
	for (i = 0; i < old.room; i++)
		if (old.numbers[i])
			*find(s, old.ids[i]) = old.numbers[i];
	free(old.ids);
	free(old.numbers);
}

static u32 number_of(struct numbering *s, u64 id)
{
	u32 *number;

	if (s->used >= s->room / 2)
		widen(s);
	number = find(s, id);
	if (!*number)
		*number = ++s->used;
	return *number - 1;
}

static u32 *with_room(u32 *array, u32 *room, u32 wanted)
{
	if (wanted <= *room)
		return array;
	while (*room < wanted)
		*room = *room ? *room * 2 : 1 << 16;
	array = realloc(array, *room * sizeof(*array));
	if (!array)
		die("memory", strerror(ENOMEM));
	return array;
}

/* @most: requests; 0: all. */
static void load(struct trace *source, const char *name, u64 most,
		 struct sim_trace *t)
{
	u32 refs_room = 0, first_room = 0, i;
	struct numbering numbering = {};
	struct trace_request r;
	int ret = 0;

	memset(t, 0, sizeof(*t));
	while ((!most || t->nr_requests < most) && (ret = trace_next(source, &r)) > 0) {
		t->first = with_room(t->first, &first_room, t->nr_requests + 2);
		t->refs = with_room(t->refs, &refs_room, t->nr_refs + r.nr_blocks);
		t->first[t->nr_requests++] = t->nr_refs;
		for (i = 0; i < r.nr_blocks; i++)
			t->refs[t->nr_refs++] = number_of(&numbering, r.hash_ids[i]);
		t->first[t->nr_requests] = t->nr_refs;
	}
	if (ret < 0)
		die(name, trace_error(source));
	if (!t->nr_refs)
		die(name, "no blocks");
	t->footprint = numbering.used;
	free(numbering.ids);
	free(numbering.numbers);
}

/* --- what is printed --- */

/* One row. @rows: NULL: as text. */
static void report(cJSON *rows, const struct sim_trace *t, u32 size,
		   const char *policy, const struct sim_pool *pool,
		   const struct sim_result *r)
{
	bool budgeted = !strcmp(policy, "clock");
	double hit_rate = (double)r->hits / t->nr_refs;
	double writes = ((double)r->puts + r->rewrites) / t->nr_refs;
	cJSON *row;

	if (!rows) {
		char budget[16] = "-";

		if (budgeted)
			snprintf(budget, sizeof(budget), "%u", pool->percent);
		printf("%4u  %-6s  %6s  %8.4f  %10.4f  %12.4f\n", size, policy,
		       budget, hit_rate, writes, (double)r->rewrites / t->nr_refs);
		return;
	}
	row = cJSON_CreateObject();
	cJSON_AddNumberToObject(row, "size_percent", size);
	cJSON_AddStringToObject(row, "policy", policy);
	if (strcmp(policy, "lru") && strcmp(policy, "min"))
		cJSON_AddNumberToObject(row, "segment_blocks", pool->segment_blocks);
	if (budgeted)
		cJSON_AddNumberToObject(row, "budget_percent", pool->percent);
	cJSON_AddNumberToObject(row, "hit_rate", hit_rate);
	cJSON_AddNumberToObject(row, "writes_per_reference", writes);
	cJSON_AddNumberToObject(row, "puts", r->puts);
	cJSON_AddNumberToObject(row, "rewrites", r->rewrites);
	cJSON_AddItemToArray(rows, row);
}

static void simulate_size(const struct options *o, cJSON *rows,
			  const struct sim_trace *t, u32 size)
{
	struct sim_pool pool = o->pool;
	struct sim_result r = {};
	u32 i;

	pool.blocks = (u64)t->footprint * size / 100;
	pool.segment_blocks = min(pool.segment_blocks,
				  pool.blocks / (MIN_SEGMENTS * pool.groups));
	if (!pool.segment_blocks)
		die("--sizes", "the trace is too small for this size");

	sim_lru(t, &pool, &r);
	report(rows, t, size, "lru", &pool, &r);

	if (!pool.prefix) {
		r = (struct sim_result) {};
		sim_min(t, &pool, &r);
		report(rows, t, size, "min", &pool, &r);
	}

	pool.percent = 0;
	r = (struct sim_result) {};
	sim_segments(t, &pool, &r);
	report(rows, t, size, "fifo", &pool, &r);

	for (i = 0; i < o->percents.n; i++) {
		pool.percent = o->percents.v[i];
		r = (struct sim_result) {};
		sim_segments(t, &pool, &r);
		report(rows, t, size, "clock", &pool, &r);
	}
}

static void simulate(const struct options *o, const char *name,
		     const struct sim_trace *t)
{
	cJSON *all = NULL, *rows = NULL;
	char *text;
	u32 i;

	if (o->json) {
		all = cJSON_CreateObject();
		cJSON_AddStringToObject(all, "trace", name);
		cJSON_AddNumberToObject(all, "requests", t->nr_requests);
		cJSON_AddNumberToObject(all, "references", t->nr_refs);
		cJSON_AddNumberToObject(all, "footprint", t->footprint);
		cJSON_AddNumberToObject(all, "ideal_hit_rate",
					1 - (double)t->footprint / t->nr_refs);
		cJSON_AddNumberToObject(all, "groups", o->pool.groups);
		rows = cJSON_AddArrayToObject(all, "results");
	} else {
		printf("# %s: %u requests, %u references, %u blocks; ideal hit rate %.4f\n",
		       name, t->nr_requests, t->nr_refs, t->footprint,
		       1 - (double)t->footprint / t->nr_refs);
		puts("size  policy  budget  hit_rate  writes/ref  rewrites/ref");
	}
	for (i = 0; i < o->sizes.n; i++)
		simulate_size(o, rows, t, o->sizes.v[i]);
	if (!o->json)
		return;
	text = cJSON_Print(all);
	if (!text)
		die("memory", strerror(ENOMEM));
	puts(text);
	cJSON_free(text);
	cJSON_Delete(all);
}

/* --- the command line --- */

static const char usage[] =
"Usage: kvc-sim [options]\n"
"Replay a trace against object LRU, Belady's MIN (which knows what comes; not\n"
"with --prefix), segment FIFO and the module's own policy (segment CLOCK with a\n"
"write budget).\n"
"  --trace PATH          trace to replay; default: a made-up one\n"
"  --seed N              of the made-up one (default 1)\n"
"  --requests N          of the made-up one; of a trace: its first N\n"
"  --sizes LIST          cache sizes in percent of the trace's different blocks\n"
"                        (default 5,10,20)\n"
"  --budget LIST         write budgets in percent of what is put\n"
"  --budget-segments N   segments that a budget can save up\n"
"  --segment-blocks N    blocks of a segment (default 64; less if the cache would\n"
"                        have fewer than 8 segments per group)\n"
"  --groups N            allocation groups (default 1)\n"
"  --prefix              count a hit only if all blocks before it are hits\n"
"  -o json               print JSON\n";

static u64 number(const char *option, const char *s, u64 least, u64 most)
{
	char *end;
	u64 v;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || v < least || v > most)
		die(option, "not a number in its range");
	return v;
}

static void numbers(const char *option, char *s, u32 least, u32 most,
		    struct list *list)
{
	char *item;

	list->n = 0;
	while ((item = strsep(&s, ","))) {
		if (list->n == MAX_LIST)
			die(option, "too many numbers");
		list->v[list->n++] = number(option, item, least, most);
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	enum { TRACE = 1, SEED, REQUESTS, SIZES, BUDGET, BUDGET_SEGMENTS,
	       SEGMENT_BLOCKS, GROUPS, PREFIX, HELP };
	static const struct option options[] = {
		{ "trace", required_argument, NULL, TRACE },
		{ "seed", required_argument, NULL, SEED },
		{ "requests", required_argument, NULL, REQUESTS },
		{ "sizes", required_argument, NULL, SIZES },
		{ "budget", required_argument, NULL, BUDGET },
		{ "budget-segments", required_argument, NULL, BUDGET_SEGMENTS },
		{ "segment-blocks", required_argument, NULL, SEGMENT_BLOCKS },
		{ "groups", required_argument, NULL, GROUPS },
		{ "prefix", no_argument, NULL, PREFIX },
		{ "help", no_argument, NULL, HELP },
		{}
	};
	int c;

	while ((c = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			if (strcmp(optarg, "json"))
				die("-o", "only \"json\" is known");
			o->json = true;
			break;
		case TRACE:
			o->trace = optarg;
			break;
		case SEED:
			o->seed = number("--seed", optarg, 0, U64_MAX);
			break;
		case REQUESTS:
			o->requests = number("--requests", optarg, 1, 1 << 24);
			break;
		case SIZES:
			numbers("--sizes", optarg, 1, 100, &o->sizes);
			break;
		case BUDGET:
			numbers("--budget", optarg, 0, KVC_BUDGET_PERCENT_MAX, &o->percents);
			break;
		case BUDGET_SEGMENTS:
			o->pool.cap_segments = number("--budget-segments", optarg, 0, 1 << 16);
			break;
		case SEGMENT_BLOCKS:
			o->pool.segment_blocks = number("--segment-blocks", optarg, 1, 1 << 16);
			break;
		case GROUPS:
			o->pool.groups = number("--groups", optarg, 1, 1 << 16);
			break;
		case PREFIX:
			o->pool.prefix = true;
			break;
		case HELP:
			fputs(usage, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		die(argv[optind], "takes no arguments");
}

int main(int argc, char **argv)
{
	struct options o = {
		.seed = 1,
		.sizes = { 3, { 5, 10, 20 } },
		.percents = { 1, { KVC_BUDGET_PERCENT } },
		.pool = { .segment_blocks = 64, .groups = 1, .cap_segments = KVC_BUDGET_SEGMENTS },
	};
	struct trace_shape shape = {};
	struct trace *source;
	struct sim_trace t;
	const char *name;

	parse(&o, argc, argv);
	shape.seed = o.seed;
	shape.requests = o.requests;
	name = o.trace ? o.trace : "made-up";
	source = o.trace ? trace_open(o.trace) : trace_generate(&shape);
	if (!source)
		die(name, strerror(errno));
	load(source, name, o.requests, &t);
	trace_close(source);
	simulate(&o, name, &t);
	free(t.refs);
	free(t.first);
	return 0;
}
