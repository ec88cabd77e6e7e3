// SPDX-License-Identifier: MIT
/*
 * kvcachectl replay against a pool in memory that does what a pool may do, and
 * what it must never do: the replay has to notice the latter.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "call.h"
#include "latency.h"

/* --- the pool --- */

struct object {
	char key[64];
	void *data;
	u64 bytes;
	struct object *next;
};

#define NR_LISTS	4096

static struct {
	pthread_mutex_t lock;
	struct object *lists[NR_LISTS];
	u64 gets;
	u64 puts;
	u64 put_bytes;
	u32 most_keys;	/* in a batch */

	/* What goes wrong at the @at-th get or put, from 1. */
	u64 at;
	int get_status;
	int put_status;
	bool swap_objects;
	bool flip_last_bit;
	bool short_object;
	bool no_device;
	bool no_info;
	bool deep_first;	/* saw a depth that went down in a batch */
} pool;

static struct object **find(const struct kvcache_io *io)
{
	const char *key = (const char *)(uintptr_t)io->key;
	u32 hash = 5381, i;
	struct object **o;

	assert_in_range(io->key_len, 1, sizeof((*o)->key) - 1);
	for (i = 0; i < io->key_len; i++)
		hash = hash * 33 + (u8)key[i];
	for (o = &pool.lists[hash % NR_LISTS]; *o; o = &(*o)->next)
		if (strlen((*o)->key) == io->key_len &&
		    !memcmp((*o)->key, key, io->key_len))
			break;
	return o;
}

static struct object *any_other(const struct object *not)
{
	struct object *o;
	u32 i;

	for (i = 0; i < NR_LISTS; i++)
		for (o = pool.lists[i]; o; o = o->next)
			if (o != not)
				return o;
	return NULL;
}

static void forget_all(void)
{
	struct object *o;
	u32 i;

	for (i = 0; i < NR_LISTS; i++) {
		while ((o = pool.lists[i])) {
			pool.lists[i] = o->next;
			free(o->data);
			free(o);
		}
	}
}

static void get(struct kvcache_io *io)
{
	struct object *o = *find(io);
	u8 *to = (u8 *)(uintptr_t)io->data;
	bool now = ++pool.gets == pool.at;

	io->status = o ? 0 : -ENOENT;
	if (now && pool.get_status)
		io->status = pool.get_status;
	if (io->status)
		return;
	io->length = o->bytes;
	if (o->bytes > io->data_len) {
		io->status = -EMSGSIZE;
		return;
	}
	io->transferred = o->bytes;
	memcpy(to, now && pool.swap_objects ? any_other(o)->data : o->data, o->bytes);
	if (now && pool.flip_last_bit)
		to[o->bytes - 1] ^= 0x80;
	if (now && pool.short_object) {
		io->length--;
		io->transferred--;
	}
}

static void put(struct kvcache_io *io)
{
	struct object **place = find(io), *o;

	io->status = *place ? -EEXIST : 0;
	if (++pool.puts == pool.at && pool.put_status)
		io->status = pool.put_status;
	if (io->status)
		return;
	o = calloc(1, sizeof(*o));
	assert_non_null(o);
	memcpy(o->key, (void *)(uintptr_t)io->key, io->key_len);
	o->bytes = io->data_len;
	o->data = malloc(o->bytes);
	assert_non_null(o->data);
	memcpy(o->data, (void *)(uintptr_t)io->data, o->bytes);
	*place = o;
	pool.put_bytes += o->bytes;
}

static void exists(struct kvcache_io *io)
{
	struct object *o = *find(io);

	io->status = o ? 0 : -ENOENT;
	io->length = o ? o->bytes : 0;
}

static ssize_t batch(struct kvcache_io *ios, size_t count, void (*one)(struct kvcache_io *))
{
	ssize_t done = 0;
	size_t i;

	if (pool.no_device)
		return -ENODEV;
	pthread_mutex_lock(&pool.lock);
	if (one != exists)
		pool.most_keys = max_t(u32, pool.most_keys, count);
	for (i = 0; i < count; i++) {
		assert_false(ios[i].flags);
		if (i && ios[i].depth < ios[i - 1].depth)
			pool.deep_first = true;
		one(&ios[i]);
		done += !ios[i].status;
	}
	pthread_mutex_unlock(&pool.lock);
	return done;
}

/* What the commands call of the library. */

ssize_t kvc_batch_get(struct kvc *kvc, const struct kvc_call *call,
		      struct kvcache_io *ios, size_t count)
{
	(void)kvc;
	(void)call;
	return batch(ios, count, get);
}

ssize_t kvc_batch_put(struct kvc *kvc, const struct kvc_call *call,
		      struct kvcache_io *ios, size_t count)
{
	(void)kvc;
	(void)call;
	return batch(ios, count, put);
}

ssize_t kvc_batch_exists(struct kvc *kvc, const struct kvc_call *call,
			 struct kvcache_io *ios, size_t count)
{
	(void)kvc;
	(void)call;
	return batch(ios, count, exists);
}

struct kvc *kvc_open(const char *device, unsigned int number)
{
	(void)device;
	(void)number;
	return (struct kvc *)&pool;
}

void kvc_close(struct kvc *kvc)
{
	(void)kvc;
}

int kvc_pools(struct kvc *kvc, uint32_t *pools, unsigned int room)
{
	(void)kvc;
	(void)pools;
	(void)room;
	return 0;
}

int kvc_info(struct kvc *kvc, struct kvcache_info *info,
	     struct kvcache_member_info *members, unsigned int room)
{
	u32 i;

	(void)kvc;
	memset(info, 0, sizeof(*info));
	if (pool.no_info)
		return -ENODEV;
	/* Of what is put each member gets a half, and as much again. */
	info->nr_members = 2;
	memcpy(info->name, "mock", 5);
	info->rewritten_objects = pool.puts / 2;
	info->journal_blocks = 7;
	for (i = 0; i < min_t(u32, room, 2); i++) {
		members[i].written_bytes = 50 + pool.put_bytes;
		members[i].read_bytes = 9;
	}
	return 0;
}

/* --- running the command --- */

#define MOST_ARGS	32

static char output[16384];

/*
 * Run "replay" with @args, split at blanks. What goes to stdout is kept in
 * @output, stderr is thrown away.
 */
static int run(bool json, const char *args)
{
	char text[512] = "replay ";
	struct ctl ctl = { .prog = "kvcachectl", .command = "replay", .json = json };
	char *argv[MOST_ARGS + 1] = {};
	int argc = 0, ret, out, saved[2];
	FILE *file = tmpfile();
	char *word, *rest = text;
	size_t len;

	assert_non_null(file);
	strncat(text, args, sizeof(text) - strlen(text) - 1);
	while ((word = strsep(&rest, " ")))
		if (*word && argc < MOST_ARGS)
			argv[argc++] = word;

	fflush(stdout);
	fflush(stderr);
	saved[0] = dup(1);
	saved[1] = dup(2);
	out = fileno(file);
	dup2(out, 1);
	assert_non_null(freopen("/dev/null", "w", stderr));
	optind = 0;
	ret = cmd_replay(&ctl, argc, argv);
	fflush(stdout);
	fflush(stderr);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);

	rewind(file);
	len = fread(output, 1, sizeof(output) - 1, file);
	output[len] = '\0';
	fclose(file);
	return ret;
}

/* The same with a small made-up trace. */
static int replay(bool json, const char *args)
{
	char all[512];

	snprintf(all, sizeof(all),
		 "--requests 150 --sessions 10 --first-tokens 3000 --object-size 1000 %s",
		 args);
	return run(json, all);
}

/* A number of the last line. */
static double said(const char *name)
{
	char wanted[32];
	const char *at;

	snprintf(wanted, sizeof(wanted), " %s=", name);
	at = strstr(output, wanted);
	if (!at)
		fail_msg("no %s in: %s", wanted, output);
	return atof(at + strlen(wanted));
}

static int fresh_pool(void **state)
{
	(void)state;
	forget_all();
	memset(&pool, 0, sizeof(pool));
	pthread_mutex_init(&pool.lock, NULL);
	return 0;
}

static int end_pool(void **state)
{
	(void)state;
	forget_all();
	return 0;
}

/* --- what a pool may do --- */

static void ends_with_one_line(void **state)
{
	u64 puts, gets, blocks;
	double hit_rate;
	char label[16];
	int end = 0;

	(void)state;
	assert_int_equal(replay(false, "--label demo"), CTL_OK);
	assert_int_equal(sscanf(output,
				"%15s requests=150 puts=%llu gets=%llu hit_rate=%lf mismatches=0 errors=0\n%n",
				label, &puts, &gets, &hit_rate, &end), 4);
	assert_string_equal(label, "demo:");
	assert_int_equal(end, strlen(output));
	assert_int_equal(puts, pool.puts);
	assert_int_equal(gets, pool.gets);
	assert_true(puts && gets);
	blocks = puts + gets;
	assert_true(hit_rate > (double)gets / blocks - 0.0001 &&
		    hit_rate < (double)gets / blocks + 0.0001);
	assert_false(pool.deep_first);

	/* The same once more: all of it is there. */
	assert_int_equal(replay(false, ""), CTL_OK);
	assert_int_equal(strncmp(output, "replay: ", 8), 0);
	assert_true(said("puts") == 0);
	assert_true(said("gets") == (double)blocks);
	assert_true(said("hit_rate") == 1);
}

static void skips_what_is_busy(void **state)
{
	(void)state;
	pool.at = 5;
	pool.put_status = -EAGAIN;
	assert_int_equal(replay(true, ""), CTL_OK);
	assert_non_null(strstr(output, "\"skipped\":\t1"));
	assert_int_equal(fresh_pool(NULL), 0);
	pool.at = 5;
	pool.get_status = -EAGAIN;
	assert_int_equal(replay(true, ""), CTL_OK);
	assert_non_null(strstr(output, "\"skipped\":\t1"));
}

static void counts_evicted_objects_as_misses(void **state)
{
	u64 gets;

	(void)state;
	pool.at = 7;
	pool.get_status = -ENOENT;
	assert_int_equal(replay(true, ""), CTL_OK);
	assert_non_null(strstr(output, "\"evicted_meanwhile\":\t1"));
	/* It is put again, which this pool answers with "there already". */
	assert_non_null(strstr(output, "\"put_exists\":\t1"));
	gets = pool.gets;
	assert_int_equal(fresh_pool(NULL), 0);
	assert_int_equal(replay(false, ""), CTL_OK);
	assert_int_equal(said("gets"), gets);
}

static void keeps_batches_small(void **state)
{
	(void)state;
	assert_int_equal(replay(false, "--batch 3"), CTL_OK);
	assert_int_equal(pool.most_keys, 3);
}

static void stops_at_the_first_miss(void **state)
{
	u64 gets, hits;

	(void)state;
	assert_int_equal(replay(false, ""), CTL_OK);
	gets = said("gets");
	assert_int_equal(fresh_pool(NULL), 0);
	assert_int_equal(replay(false, "--prefix-stop"), CTL_OK);
	assert_int_equal(said("gets"), gets);

	/* A hole in the first hit of a request takes what is behind it along. */
	assert_int_equal(fresh_pool(NULL), 0);
	pool.at = 1;
	pool.get_status = -ENOENT;
	assert_int_equal(replay(true, "--prefix-stop"), CTL_OK);
	assert_int_equal(sscanf(strstr(output, "\"gets\""),
				"\"gets\":\t%llu,\n\t\"hits\":\t%llu", &gets, &hits), 2);
	assert_true(hits < gets);
}

static void works_in_threads(void **state)
{
	(void)state;
	assert_int_equal(replay(false, "--threads 8 --requests 1000"), CTL_OK);
	assert_int_equal(said("requests"), 1000);
	assert_true(said("gets") > 0);
}

static void keeps_to_the_time(void **state)
{
	(void)state;
	/* 20 requests, 100 ms apart on average, ten times as fast. */
	assert_int_equal(replay(true, "--requests 20 --interval-ms 100 --speed 10"), CTL_OK);
	assert_true(atof(strstr(output, "\"seconds\":") + strlen("\"seconds\":")) > 0.05);
}

static double number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!cJSON_IsNumber(item))
		fail_msg("no number \"%s\" in: %s", name, output);
	return item->valuedouble;
}

static void tells_latencies_in_json(void **state)
{
	static const char *const steps[] = { "exists", "get", "put" };
	static const char *const rising[] = { "p50", "p90", "p99", "p99.9", "max" };
	cJSON *all, *step;
	u32 i, p;

	(void)state;
	assert_int_equal(replay(true, "--label x"), CTL_OK);
	all = cJSON_Parse(output);
	assert_non_null(all);
	assert_string_equal(cJSON_GetObjectItem(all, "label")->valuestring, "x");
	assert_int_equal(number_of(all, "requests"), 150);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		step = cJSON_GetObjectItem(cJSON_GetObjectItem(all, "latency_ns"), steps[i]);
		assert_true(number_of(step, "batches") > 0);
		assert_true(number_of(step, "p50") > 0);
		for (p = 1; p < ARRAY_SIZE(rising); p++)
			assert_true(number_of(step, rising[p]) >=
				    number_of(step, rising[p - 1]));
		assert_true(number_of(step, "mean") <= number_of(step, "max"));
	}
	cJSON_Delete(all);
}

/* --- the report --- */

/* The whole of a file; free() it. */
static char *contents_of(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

/* A path that nothing is at, for --report and --plot. */
static const char *fresh_path(void)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/kvc-replay-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	return path;
}

static void counts_add_up(void **state)
{
	double blocks;
	cJSON *all;

	(void)state;
	pool.at = 7;
	pool.get_status = -ENOENT;
	assert_int_equal(replay(true, ""), CTL_OK);
	all = cJSON_Parse(output);
	assert_non_null(all);
	blocks = number_of(all, "blocks");
	assert_true(number_of(all, "hits") > 0);
	assert_true(number_of(all, "hits") + number_of(all, "misses") == blocks);
	assert_true(number_of(all, "puts") + number_of(all, "put_exists") ==
		    number_of(all, "misses"));
	assert_int_equal(number_of(all, "put_exists"), 1);
	assert_true(number_of(cJSON_GetObjectItem(all, "bytes"), "referenced") ==
		    1000 * blocks);
	assert_true(number_of(cJSON_GetObjectItem(all, "bytes"), "got") ==
		    1000 * number_of(all, "hits"));
	assert_true(number_of(cJSON_GetObjectItem(all, "bytes"), "put") ==
		    1000 * number_of(all, "puts"));
	cJSON_Delete(all);
}

static void tells_writes_per_reference(void **state)
{
	double blocks, puts, off;
	cJSON *all, *counters;
	u32 round;

	(void)state;
	/* Once more with another tenant: what was before doesn't count. */
	for (round = 0; round < 2; round++) {
		assert_int_equal(replay(true, round ? "--key-format more-%x" : ""), CTL_OK);
		all = cJSON_Parse(output);
		assert_non_null(all);
		counters = cJSON_GetObjectItem(all, "pool");
		blocks = number_of(all, "blocks");
		puts = number_of(all, "puts");
		assert_true(puts > 0);
		assert_true(number_of(counters, "written_bytes") == 2 * 1000 * puts);
		assert_true(number_of(counters, "read_bytes") == 0);
		assert_true(number_of(counters, "journal_blocks") == 0);
		off = number_of(all, "writes_per_reference") - 2 * puts / blocks;
		assert_true(off > -1e-9 && off < 1e-9);
		off = number_of(all, "rewrites_per_reference") - puts / 2 / blocks;
		assert_true(off > -1e-3 && off < 1e-3);
		assert_string_equal(cJSON_GetObjectItem(counters, "name")->valuestring,
				    "mock");
		cJSON_Delete(all);
	}
	pool.no_info = true;
	assert_int_equal(replay(true, ""), CTL_OK);
	all = cJSON_Parse(output);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(all, "pool")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(all, "writes_per_reference")));
	cJSON_Delete(all);
}

static void writes_the_report_to_a_file(void **state)
{
	const char *path = fresh_path();
	char args[128], *text;
	FILE *file = fopen(path, "w");
	cJSON *all;
	u32 i;

	(void)state;
	/* Longer than the report: nothing of it may be left. */
	for (i = 0; i < 20000; i++)
		putc('x', file);
	fclose(file);
	snprintf(args, sizeof(args), "--report %s", path);
	assert_int_equal(replay(false, args), CTL_OK);
	assert_int_equal(strncmp(output, "replay: requests=150 ", 21), 0);
	text = contents_of(path);
	all = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(all);
	assert_int_equal(number_of(all, "requests"), 150);
	cJSON_Delete(all);
	free(text);

	/* With -o json both are the same. */
	pool.no_info = true;
	assert_int_equal(replay(true, args), CTL_OK);
	text = contents_of(path);
	assert_string_equal(text, output);
	free(text);
	unlink(path);
}

static void finds_out_first_that_it_cannot_write(void **state)
{
	(void)state;
	assert_int_equal(replay(false, "--report /nowhere/report"), CTL_FAIL);
	assert_int_equal(replay(false, "--plot /nowhere/picture"), CTL_FAIL);
	assert_int_equal(pool.puts, 0);
	assert_int_equal(replay(false, "--report /dev/full"), CTL_FAIL);
	assert_true(pool.puts > 0);
}

static void finds_out_first_that_it_cannot_draw(void **state)
{
	const char *path = fresh_path();
	char args[128], *saved = strdup(getenv("PATH"));
	int ret;

	(void)state;
	snprintf(args, sizeof(args), "--plot %s", path);
	setenv("PATH", "/nowhere", 1);
	ret = replay(false, args);
	setenv("PATH", saved, 1);
	free(saved);
	assert_int_equal(ret, CTL_FAIL);
	assert_int_equal(pool.puts, 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void draws_a_picture(void **state)
{
	const char *path = fresh_path();
	char args[128], *text;
	u32 i;

	(void)state;
	if (system("gnuplot --version >/dev/null 2>&1"))
		skip();
	/* A label that would end a text of gnuplot's, and of XML. */
	for (i = 0; i < 2; i++) {
		snprintf(args, sizeof(args), "--label a'<&%%s\n --plot %s%s", path,
			 i ? " --trace /dev/null" : "");
		if (i)
			assert_int_equal(run(false, args), CTL_OK);
		else
			assert_int_equal(replay(false, args), CTL_OK);
		text = contents_of(path);
		assert_int_equal(strncmp(text, "<?xml ", 6), 0);
		assert_string_equal(text + strlen(text) - 8, "</svg>\n\n");
		assert_non_null(strstr(text, "a&lt;&amp;%s:"));
		assert_true(i || strstr(text, ">exists<"));
		free(text);
	}
	unlink(path);
}

static void measures_percentiles(void **state)
{
	struct latency *l = calloc(2, sizeof(*l));
	u64 ns, top, calls;
	u32 bucket = 0;

	(void)state;
	assert_non_null(l);
	assert_int_equal(latency_permille(l, 500), 0);
	for (ns = 1; ns <= 100; ns++)
		latency_add(&l[ns % 2], ns * 1000);
	latency_merge(&l[0], &l[1]);
	assert_int_equal(l[0].count, 100);
	assert_in_range(latency_permille(l, 500), 50000, 51600);
	assert_in_range(latency_permille(l, 900), 90000, 92900);
	assert_in_range(latency_permille(l, 990), 99000, 100000);
	assert_int_equal(latency_permille(l, 999), 100000);
	assert_int_equal(l->max_ns, 100000);
	assert_int_equal(l->sum_ns, 5050000);
	for (ns = 0; latency_step(l, &bucket, &top, &calls); ns = top)
		assert_true(top > ns && calls >= top / 1033);
	assert_int_equal(ns, 100000);
	assert_int_equal(calls, 100);

	/* Every value falls below its bucket's top, by 1/32 at most. */
	for (ns = 1; ns < 1ULL << 62; ns += ns / 7 + 1) {
		memset(l, 0, sizeof(*l));
		latency_add(l, ns);
		assert_true(latency_permille(l, 990) == ns);
		/* One that took longer, so that the bucket's top shows. */
		latency_add(l, U64_MAX);
		top = latency_permille(l, 500);
		assert_true(top >= ns && top - ns <= ns / 32);
	}
	memset(l, 0, sizeof(*l));
	latency_add(l, U64_MAX);
	assert_true(latency_permille(l, 500) == U64_MAX);
	free(l);
}

/* --- what it must never do --- */

static void notices_another_object(void **state)
{
	(void)state;
	pool.at = 9;
	pool.swap_objects = true;
	assert_int_equal(replay(false, ""), CTL_DAMAGE);
	assert_true(said("mismatches") == 1);
	assert_true(said("errors") == 0);
}

static void notices_a_flipped_bit(void **state)
{
	(void)state;
	pool.at = 9;
	pool.flip_last_bit = true;
	assert_int_equal(replay(false, "--object-size 1003"), CTL_DAMAGE);
	assert_true(said("mismatches") == 1);
	assert_int_equal(fresh_pool(NULL), 0);
	pool.at = 9;
	pool.flip_last_bit = true;
	assert_int_equal(replay(false, "--no-verify"), CTL_OK);
}

static void notices_wrong_lengths(void **state)
{
	(void)state;
	pool.at = 9;
	pool.short_object = true;
	assert_int_equal(replay(false, "--no-verify"), CTL_DAMAGE);
	assert_true(said("mismatches") == 1);
	assert_int_equal(replay(false, "--object-size 999"), CTL_DAMAGE);
	assert_true(said("gets") == 0);
}

static void notices_the_objects_of_another_tenant(void **state)
{
	(void)state;
	/* This pool mixes tenants up. */
	assert_int_equal(replay(false, "--tenant 1"), CTL_OK);
	assert_int_equal(replay(false, "--tenant 2"), CTL_DAMAGE);
	assert_true(said("gets") == 0);
}

static void counts_bad_checksums_as_mismatches(void **state)
{
	(void)state;
	pool.at = 2;
	pool.get_status = -EBADMSG;
	assert_int_equal(replay(false, ""), CTL_DAMAGE);
	assert_true(said("mismatches") == 1);
	assert_true(said("errors") == 0);
}

static void counts_other_answers_as_errors(void **state)
{
	(void)state;
	pool.at = 2;
	pool.get_status = -EIO;
	pool.put_status = -ETIMEDOUT;
	assert_int_equal(replay(false, ""), CTL_FAIL);
	assert_true(said("errors") == 2);
	assert_true(said("requests") == 150);
}

static void stops_when_a_call_is_refused(void **state)
{
	(void)state;
	pool.no_device = true;
	assert_int_equal(replay(false, "--threads 4"), CTL_FAIL);
	assert_true(said("errors") >= 1);
	assert_true(said("requests") <= 4);
}

static void stops_at_a_malformed_line(void **state)
{
	static const char text[] =
		"{\"timestamp\":1,\"input_length\":2,\"output_length\":3,\"hash_ids\":[4]}\nno\n";
	char path[] = "/tmp/kvc-replay-XXXXXX", args[64];
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	snprintf(args, sizeof(args), "--key-format %%d/%%x/%%%% --trace %s", path);
	assert_int_equal(run(false, args), CTL_FAIL);
	assert_string_equal(output,
			    "replay: requests=1 puts=1 gets=0 hit_rate=0.0000 mismatches=0 errors=1\n");
	assert_string_equal(any_other(NULL)->key, "4/0000000000000004/%");
	unlink(path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ends_with_one_line, fresh_pool),
		cmocka_unit_test_setup(skips_what_is_busy, fresh_pool),
		cmocka_unit_test_setup(counts_evicted_objects_as_misses, fresh_pool),
		cmocka_unit_test_setup(keeps_batches_small, fresh_pool),
		cmocka_unit_test_setup(stops_at_the_first_miss, fresh_pool),
		cmocka_unit_test_setup(works_in_threads, fresh_pool),
		cmocka_unit_test_setup(keeps_to_the_time, fresh_pool),
		cmocka_unit_test_setup(tells_latencies_in_json, fresh_pool),
		cmocka_unit_test(measures_percentiles),
		cmocka_unit_test_setup(counts_add_up, fresh_pool),
		cmocka_unit_test_setup(tells_writes_per_reference, fresh_pool),
		cmocka_unit_test_setup(writes_the_report_to_a_file, fresh_pool),
		cmocka_unit_test_setup(finds_out_first_that_it_cannot_write, fresh_pool),
		cmocka_unit_test_setup(finds_out_first_that_it_cannot_draw, fresh_pool),
		cmocka_unit_test_setup(draws_a_picture, fresh_pool),
		cmocka_unit_test_setup(notices_another_object, fresh_pool),
		cmocka_unit_test_setup(notices_a_flipped_bit, fresh_pool),
		cmocka_unit_test_setup(notices_wrong_lengths, fresh_pool),
		cmocka_unit_test_setup(notices_the_objects_of_another_tenant, fresh_pool),
		cmocka_unit_test_setup(counts_bad_checksums_as_mismatches, fresh_pool),
		cmocka_unit_test_setup(counts_other_answers_as_errors, fresh_pool),
		cmocka_unit_test_setup(stops_when_a_call_is_refused, fresh_pool),
		cmocka_unit_test_setup(stops_at_a_malformed_line, fresh_pool),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, end_pool);
}
