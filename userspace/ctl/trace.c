// SPDX-License-Identifier: MIT
/*
 * Traces of inference requests, read from a file or made up; see trace.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "prng.h"
#include "trace.h"

#define MOST_EXACT	(1ULL << 53)	/* cJSON's numbers are doubles */

struct prompt {
	u32 tokens;
	u64 first_id;	/* its full blocks have ids in a row */
	bool used;
};

struct session {
	u64 tokens;	/* of its last turn, with the answer */
	u64 *ids;	/* of its full blocks */
	u32 nr_ids;
	u32 room;
};

struct trace {
	/* of the current request */
	u64 *ids;
	u32 room;
	char error[128];

	/* from a file */
	FILE *file;
	char *line;
	u32 line_room;
	u64 line_number;

	/* made up */
	struct trace_shape shape;
	struct prng prng;
	struct prompt *prompts;
	u64 *popularity;	/* running sum of the prompts' weights */
	struct session *sessions;
	u32 live;
	u64 made;
	u64 now_ms;
	u64 next_id;
};

/* An array's memory with room for @wanted items, NULL: as it was, no memory. */
static void *grow(void *array, size_t item, u32 *room, u32 wanted)
{
	u32 more = *room ? *room : 64;

	if (array && wanted <= *room)
		return array;
	while (more < wanted)
		more *= 2;
	array = realloc(array, more * item);
	if (array)
		*room = more;
	return array;
}

static bool grow_ids(u64 **ids, u32 *room, u32 wanted)
{
	u64 *bigger = grow(*ids, sizeof(**ids), room, wanted);

	if (!bigger)
		return false;
	*ids = bigger;
	return true;
}

static int fail(struct trace *t, int error, const char *what)
{
	if (t->file)
		snprintf(t->error, sizeof(t->error), "line %llu: %s",
			 (unsigned long long)t->line_number, what);
	else
		snprintf(t->error, sizeof(t->error), "%s", what);
	return error;
}

/* --- from a file --- */

/* Return: 1, 0 at the end, -errno. @len: without the line's end. */
static int read_line(struct trace *t, u32 *len)
{
	char *line;
	int c;

	*len = 0;
	t->line_number++;
	while ((c = getc_unlocked(t->file)) != EOF && c != '\n') {
		if (*len == TRACE_MAX_LINE)
			continue;
		line = grow(t->line, 1, &t->line_room, *len + 1);
		if (!line)
			return fail(t, -ENOMEM, "out of memory");
		t->line = line;
		t->line[(*len)++] = (char)c;
	}
	if (ferror(t->file))
		return fail(t, -EIO, strerror(errno));
	if (*len == TRACE_MAX_LINE)
		return fail(t, -EINVAL, "longer than 16 MiB");
	return c != EOF || *len;
}

static bool blank(const char *line, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	return true;
}

static bool whole_number(const cJSON *item, u64 *out)
{
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) ||
	    item->valuedouble > MOST_EXACT)
		return false;
	*out = (u64)item->valuedouble;
	return *out == item->valuedouble;
}

static int parse_ids(struct trace *t, const cJSON *list, u32 *n)
{
	const cJSON *item;

	*n = 0;
	if (!cJSON_IsArray(list))
		return fail(t, -EINVAL, "no list \"hash_ids\"");
	cJSON_ArrayForEach(item, list) {
		if (*n == TRACE_MAX_BLOCKS)
			return fail(t, -EINVAL, "more than 65536 hash_ids");
		if (!grow_ids(&t->ids, &t->room, *n + 1))
			return fail(t, -ENOMEM, "out of memory");
		if (!whole_number(item, &t->ids[*n]))
			return fail(t, -EINVAL, "a hash id is not a whole number of 0 .. 2^53");
		++*n;
	}
	return 0;
}

static int parse_request(struct trace *t, const cJSON *o, struct trace_request *r)
{
	const struct {
		const char *name;
		u64 *value;
		const char *error;
	} numbers[] = {
		{ "timestamp", &r->timestamp_ms, "no whole number \"timestamp\"" },
		{ "input_length", &r->input_length, "no whole number \"input_length\"" },
		{ "output_length", &r->output_length, "no whole number \"output_length\"" },
	};
	int ret;
	u32 i;

	if (!cJSON_IsObject(o))
		return fail(t, -EINVAL, "not a JSON object");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!whole_number(cJSON_GetObjectItemCaseSensitive(o, numbers[i].name),
				  numbers[i].value))
			return fail(t, -EINVAL, numbers[i].error);
	ret = parse_ids(t, cJSON_GetObjectItemCaseSensitive(o, "hash_ids"), &r->nr_blocks);
	r->hash_ids = t->ids;
	return ret;
}

static int read_request(struct trace *t, struct trace_request *r)
{
	const char *end = NULL;
	cJSON *o;
	u32 len;
	int ret;

	do {
		ret = read_line(t, &len);
		if (ret <= 0)
			return ret;
	} while (blank(t->line, len));

	o = cJSON_ParseWithLengthOpts(t->line, len, &end, 0);
	if (!o)
		return fail(t, -EINVAL, "not JSON");
	if (blank(end, t->line + len - end))
		ret = parse_request(t, o, r);
	else
		ret = fail(t, -EINVAL, "something after the JSON object");
	cJSON_Delete(o);
	return ret ? ret : 1;
}

struct trace *trace_open(const char *path)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!t->file) {
		free(t);
		return NULL;
	}
	return t;
}

/* --- made up --- */

/*
 * -log2((x + 1) / 2^64) in units of 1 / 65536, by squaring: integers, so that
 * no C library rounds otherwise.
 */
static u32 minus_log2(u64 x)
{
	u32 whole, fraction = 0, i;
	u64 m;

	if (x == U64_MAX)
		return 0;
	x++;
	whole = __builtin_clzll(x);
	m = x << whole >> 32;		/* 2^31 .. 2^32 */
	for (i = 0; i < 16; i++) {
		m = m * m >> 31;
		fraction <<= 1;
		if (m >> 32) {
			fraction |= 1;
			m >>= 1;
		}
	}
	return ((whole + 1) << 16) - fraction;
}

#define LN2	45426	/* of 65536 */

static u64 exponential(struct prng *p, u32 mean)
{
	return ((u64)mean * minus_log2(prng_next(p)) >> 16) * LN2 >> 16;
}

static struct prompt *pick_prompt(struct trace *t)
{
	u32 low = 0, high = t->shape.prompts - 1;
	u64 x = prng_next(&t->prng) % t->popularity[high];

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (x < t->popularity[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return &t->prompts[low];
}

/* Bring the session's list up to its full blocks. */
static bool extend(struct trace *t, struct session *s)
{
	u32 full = s->tokens / TRACE_BLOCK_TOKENS;

	if (!grow_ids(&s->ids, &s->room, full))
		return false;
	while (s->nr_ids < full)
		s->ids[s->nr_ids++] = t->next_id++;
	return true;
}

static bool begin_session(struct trace *t, struct session *s)
{
	struct prompt *p = pick_prompt(t);
	u32 full = p->tokens / TRACE_BLOCK_TOKENS;

	if (!p->used) {
		p->used = true;
		p->first_id = t->next_id;
		t->next_id += full;
	}
	if (!grow_ids(&s->ids, &s->room, full))
		return false;
	for (s->nr_ids = 0; s->nr_ids < full; s->nr_ids++)
		s->ids[s->nr_ids] = p->first_id + s->nr_ids;
	s->tokens = p->tokens + exponential(&t->prng, t->shape.first_tokens) + 1;
	s->tokens = min_t(u64, s->tokens, t->shape.max_tokens);
	return extend(t, s);
}

/* Which session has its turn; its blocks are up to date. */
static struct session *next_turn(struct trace *t)
{
	const struct trace_shape *shape = &t->shape;
	struct session *s;

	if (!t->live || prng_below(&t->prng, 100) < shape->new_percent) {
		if (t->live < shape->sessions)
			s = &t->sessions[t->live++];
		else
			s = &t->sessions[prng_below(&t->prng, t->live)];
		return begin_session(t, s) ? s : NULL;
	}
	s = &t->sessions[prng_below(&t->prng, t->live)];
	s->tokens += exponential(&t->prng, shape->turn_tokens) + 1;
	if (s->tokens > shape->max_tokens)
		return begin_session(t, s) ? s : NULL;
	return extend(t, s) ? s : NULL;
}

static int make_request(struct trace *t, struct trace_request *r)
{
	struct session *s;

	if (t->made == t->shape.requests)
		return 0;
	if (t->made++)
		t->now_ms += exponential(&t->prng, t->shape.interval_ms);

	s = next_turn(t);
	if (!s || !grow_ids(&t->ids, &t->room, s->nr_ids + 1))
		return fail(t, -ENOMEM, "out of memory");
	if (s->nr_ids)
		memcpy(t->ids, s->ids, s->nr_ids * sizeof(*t->ids));
	r->timestamp_ms = t->now_ms;
	r->input_length = s->tokens;
	r->output_length = exponential(&t->prng, t->shape.output_tokens) + 1;
	r->hash_ids = t->ids;
	r->nr_blocks = s->nr_ids;
	if (s->tokens % TRACE_BLOCK_TOKENS)
		t->ids[r->nr_blocks++] = t->next_id++;
	s->tokens += r->output_length;
	return 1;
}

static bool set_shape(struct trace_shape *shape)
{
	const struct {
		u32 *value;
		u32 normal, most;
	} fields[] = {
		{ &shape->sessions, 700, 1 << 20 },
		{ &shape->interval_ms, 300, 1 << 30 },
		{ &shape->new_percent, 65, 100 },
		{ &shape->prompts, 50, 1 << 16 },
		{ &shape->prompt_tokens, 1024, 1 << 20 },
		{ &shape->first_tokens, 10000, 1 << 20 },
		{ &shape->turn_tokens, 2500, 1 << 20 },
		{ &shape->output_tokens, 384, 1 << 20 },
		{ &shape->max_tokens, 128 << 10, 1 << 24 },
	};
	u32 i;

	if (!shape->requests)
		shape->requests = 12000;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!*fields[i].value)
			*fields[i].value = fields[i].normal;
		if (*fields[i].value > fields[i].most)
			return false;
	}
	return true;
}

static void make_prompts(struct trace *t)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < t->shape.prompts; i++) {
		struct prompt *p = &t->prompts[i];

		p->tokens = min_t(u64, exponential(&t->prng, t->shape.prompt_tokens),
				  t->shape.max_tokens - 1);
		sum += (1ULL << 32) / (i + 1);
		t->popularity[i] = sum;
	}
}

struct trace *trace_generate(struct trace_shape *shape)
{
	struct trace *t;

	if (!set_shape(shape)) {
		errno = EINVAL;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->shape = *shape;
	t->prompts = calloc(shape->prompts, sizeof(*t->prompts));
	t->popularity = calloc(shape->prompts, sizeof(*t->popularity));
	t->sessions = calloc(shape->sessions, sizeof(*t->sessions));
	if (!t->prompts || !t->popularity || !t->sessions) {
		trace_close(t);
		errno = ENOMEM;
		return NULL;
	}
	prng_seed(&t->prng, shape->seed);
	make_prompts(t);
	return t;
}

/* --- both --- */

int trace_next(struct trace *t, struct trace_request *r)
{
	return t->file ? read_request(t, r) : make_request(t, r);
}

const char *trace_error(const struct trace *t)
{
	return t->error;
}

void trace_close(struct trace *t)
{
	u32 i;

	if (!t)
		return;
	if (t->file && t->file != stdin)
		fclose(t->file);
	for (i = 0; i < t->live; i++)
		free(t->sessions[i].ids);
	free(t->sessions);
	free(t->popularity);
	free(t->prompts);
	free(t->line);
	free(t->ids);
	free(t);
}
