// SPDX-License-Identifier: MIT
/* kvcachectl replay: how a pool does under the requests of a trace. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"
#include "trace.h"

#define DEFAULT_OBJECT	(16U << 10)
#define MOST_OBJECT	(1ULL << 30)
#define DEFAULT_BATCH	128
#define MOST_THREADS	256

/* Options that have only a long form. */
enum {
	OPTION_REQUESTS = 1000,
	OPTION_OBJECT_SIZE,
	OPTION_THREADS,
	OPTION_BATCH,
	OPTION_KEY_FORMAT,
	OPTION_SPEED,
	OPTION_VERIFY,
	OPTION_NO_VERIFY,
	OPTION_PREFIX_STOP,
	OPTION_DEADLINE_MS,
	OPTION_LABEL,
	OPTION_TRACE,
	OPTION_REPORT,
	OPTION_PLOT,
	/* of the generator */
	OPTION_SEED,
	OPTION_SESSIONS,
	OPTION_INTERVAL,
	OPTION_NEW,
	OPTION_PROMPTS,
	OPTION_PROMPT_TOKENS,
	OPTION_FIRST_TOKENS,
	OPTION_TURN_TOKENS,
	OPTION_OUTPUT_TOKENS,
	OPTION_MAX_TOKENS,
};

static const struct ctl_option options[] = {
	{ OPTION_TRACE, "trace", "PATH", "trace to replay, - for standard input; without it one is made up" },
	{ OPTION_REQUESTS, "requests", "N", "do N requests (default: all of the trace, or 12000)" },
	{ OPTION_OBJECT_SIZE, "object-size", "SIZE", "size of a block's object (default 16k)" },
	{ OPTION_THREADS, "threads", "N", "requests in flight (default 1)" },
	{ OPTION_BATCH, "batch", "N", "objects in one batch of gets or puts (default 128)" },
	{ OPTION_KEY_FORMAT, "key-format", "TEXT", "keys: %x stands for the hash id in 16 hex digits, %d in decimal (default replay-%x)" },
	{ OPTION_SPEED, "speed", "FACTOR", "keep to the requests' times, FACTOR times as fast (default: as fast as possible)" },
	{ OPTION_VERIFY, "verify", NULL, "check every byte that is read (default)" },
	{ OPTION_NO_VERIFY, "no-verify", NULL, "check only the length of what is read" },
	{ OPTION_PREFIX_STOP, "prefix-stop", NULL, "read and count hits only up to a request's first miss (default: per block)" },
	{ OPTION_LABEL, "label", "TEXT", "first word of the last line (default replay)" },
	{ OPTION_REPORT, "report", "PATH", "write the whole report to a file, as JSON" },
	{ OPTION_PLOT, "plot", "PATH", "draw it: an SVG picture, by gnuplot" },
	CALL_OPTION_POOL,
	CALL_OPTION_TENANT,
	CALL_OPTION_DEADLINE,
	{ OPTION_DEADLINE_MS, "deadline-ms", "N", "the same in milliseconds" },
	{ OPTION_SEED, "seed", "N", "made-up trace: seed (default 1)" },
	{ OPTION_SESSIONS, "sessions", "N", "conversations at a time (default 700)" },
	{ OPTION_INTERVAL, "interval-ms", "N", "mean time between requests (default 300)" },
	{ OPTION_NEW, "new-percent", "N", "share of requests that begin a session (default 65)" },
	{ OPTION_PROMPTS, "prompts", "N", "system prompts (default 50)" },
	{ OPTION_PROMPT_TOKENS, "prompt-tokens", "N", "their mean length (default 1024)" },
	{ OPTION_FIRST_TOKENS, "first-tokens", "N", "mean input of a first turn (default 10000)" },
	{ OPTION_TURN_TOKENS, "turn-tokens", "N", "mean input that a later turn adds (default 2500)" },
	{ OPTION_OUTPUT_TOKENS, "output-tokens", "N", "mean output (default 384)" },
	{ OPTION_MAX_TOKENS, "max-tokens", "N", "longest session (default 131072)" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options]",
	.about =
		"Replays requests of an inference cluster against a pool: asks which of a\n"
		"request's blocks are there, reads those and checks every byte, and puts the\n"
		"others. What a block holds follows from its key, so that any wrong object is\n"
		"noticed. The last line of output sums up; the exit status is 0 only if nothing\n"
		"was wrong.",
	.options = options,
};

/* A file to be written at the end; @path NULL: none, @fd -1: not open. */
struct output {
	const char *path;
	int fd;
};

/**
 * struct run - a whole replay
 * @replay: what the workers share
 * @path: trace file, NULL: made up
 * @shape: of a made-up trace
 * @shaped: first option of the generator on the command line, NULL: none
 * @most: requests to do, 0: all
 * @threads: workers
 * @speed: factor, 0: as fast as possible
 * @label: first word of the last line
 * @report: file for the report
 * @plot: file for the picture
 * @trace: source of requests
 * @taken: requests taken
 * @errors: of the trace, and threads that could not be started
 * @progress: in requests
 * @begun_ns: when the replay began
 *
 * What changes while workers run does so under @replay.lock.
 */
struct run {
	struct replay replay;
	const char *path;
	struct trace_shape shape;
	const char *shaped;
	u64 most;
	u32 threads;
	double speed;
	const char *label;
	struct output report;
	struct output plot;
	struct trace *trace;
	u64 taken;
	u64 errors;
	struct ctl_progress progress;
	u64 begun_ns;
};

struct thread {
	pthread_t id;
	struct run *run;
	struct replay_worker worker;
};

/* --- the command line --- */

static u64 number(struct ctl *ctl, const char *name, u64 least, u64 most)
{
	u64 value;

	if (!ctl_parse_u64(ctl_optarg, most, &value) || value < least)
		ctl_usage_error(ctl, "--%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
				name, (uint64_t)least, (uint64_t)most, ctl_optarg);
	return value;
}

static double factor(struct ctl *ctl)
{
	char *end;
	double value = strtod(ctl_optarg, &end);

	if (end == ctl_optarg || *end || !(value >= 1e-3) || value > 1e6)
		ctl_usage_error(ctl, "--speed takes a factor from 0.001 to 1000000, not '%s'",
				ctl_optarg);
	return value;
}

static size_t object_size(struct ctl *ctl)
{
	u64 bytes;

	/* Below that contents can't all be different. */
	if (!ctl_parse_size(ctl_optarg, &bytes) || bytes < sizeof(u64) ||
	    bytes > MOST_OBJECT)
		ctl_usage_error(ctl, "--object-size takes 8 to 1G, not '%s'", ctl_optarg);
	return bytes;
}

static void shape_option(struct ctl *ctl, struct run *run, int c)
{
	const struct {
		int option;
		const char *name;
		u32 *field;
	} fields[] = {
		{ OPTION_SESSIONS, "sessions", &run->shape.sessions },
		{ OPTION_INTERVAL, "interval-ms", &run->shape.interval_ms },
		{ OPTION_NEW, "new-percent", &run->shape.new_percent },
		{ OPTION_PROMPTS, "prompts", &run->shape.prompts },
		{ OPTION_PROMPT_TOKENS, "prompt-tokens", &run->shape.prompt_tokens },
		{ OPTION_FIRST_TOKENS, "first-tokens", &run->shape.first_tokens },
		{ OPTION_TURN_TOKENS, "turn-tokens", &run->shape.turn_tokens },
		{ OPTION_OUTPUT_TOKENS, "output-tokens", &run->shape.output_tokens },
		{ OPTION_MAX_TOKENS, "max-tokens", &run->shape.max_tokens },
	};
	u32 i;

	if (c == OPTION_SEED) {
		run->shape.seed = number(ctl, "seed", 0, U64_MAX);
		run->shaped = "seed";
		return;
	}
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].option != c)
			continue;
		*fields[i].field = (u32)number(ctl, fields[i].name, 1, U32_MAX);
		run->shaped = fields[i].name;
		return;
	}
}

static void take_option(struct ctl *ctl, struct run *run, int c)
{
	struct replay *r = &run->replay;

	switch (c) {
	case OPTION_TRACE:
		run->path = ctl_optarg;
		break;
	case OPTION_REQUESTS:
		run->most = number(ctl, "requests", 1, U64_MAX);
		break;
	case OPTION_OBJECT_SIZE:
		r->object_bytes = object_size(ctl);
		break;
	case OPTION_THREADS:
		run->threads = (u32)number(ctl, "threads", 1, MOST_THREADS);
		break;
	case OPTION_BATCH:
		r->batch = (u32)number(ctl, "batch", 1, KVCACHE_BATCH_MAX);
		break;
	case OPTION_KEY_FORMAT:
		r->key_format = ctl_optarg;
		break;
	case OPTION_SPEED:
		run->speed = factor(ctl);
		break;
	case OPTION_VERIFY:
		r->verify = true;
		break;
	case OPTION_NO_VERIFY:
		r->verify = false;
		break;
	case OPTION_PREFIX_STOP:
		r->prefix = true;
		break;
	case OPTION_DEADLINE_MS:
		r->call.call.deadline_ms = (u32)number(ctl, "deadline-ms", 1,
						       KVCACHE_DEADLINE_MAX_MS);
		break;
	case OPTION_LABEL:
		run->label = ctl_optarg;
		break;
	case OPTION_REPORT:
		run->report.path = ctl_optarg;
		break;
	case OPTION_PLOT:
		run->plot.path = ctl_optarg;
		break;
	default:
		if (!call_option(ctl, &r->call, c))
			shape_option(ctl, run, c);
	}
}

static void parse(struct ctl *ctl, struct run *run, int argc, char **argv)
{
	struct replay *r = &run->replay;
	int c;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1)
		take_option(ctl, run, c);
	if (ctl_optind < argc)
		ctl_usage_error(ctl, "there is nothing to be done with '%s'",
				argv[ctl_optind]);
	if (run->path && run->shaped)
		ctl_usage_error(ctl, "--%s is of a made-up trace and does not go with --trace",
				run->shaped);
	r->key_room = replay_key_room(r->key_format);
	if (!r->key_room)
		ctl_usage_error(ctl, "--key-format takes a text of at most %d bytes with %%x or %%d in it",
				KVCACHE_KEY_MAX);
}

/* --- the trace --- */

static int open_trace(struct ctl *ctl, struct run *run)
{
	if (run->path) {
		run->trace = trace_open(run->path);
		if (!run->trace)
			return ctl_err(ctl, run->path, NULL, "can't open the trace: %s",
				       strerror(errno));
		return CTL_OK;
	}
	run->shape.requests = run->most;
	run->trace = trace_generate(&run->shape);
	if (!run->trace)
		return ctl_err(ctl, NULL, "See kvcachectl-replay(8) for the ranges of its options.",
			       "can't make a trace up: %s", errno == EINVAL ?
			       "a number is too large" : strerror(errno));
	run->most = run->shape.requests;
	return CTL_OK;
}

static void sleep_until(u64 ns)
{
	const struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* The next request's blocks into the worker; false: there is none. */
static bool take_request(struct run *run, struct replay_worker *w, u32 *n,
			 u64 *timestamp_ms)
{
	struct trace_request request;
	int ret;

	if (run->replay.stop || (run->most && run->taken == run->most))
		return false;
	ret = trace_next(run->trace, &request);
	if (ret < 0) {
		ctl_err(run->replay.ctl, run->path, NULL, "%s", trace_error(run->trace));
		run->errors++;
		run->replay.stop = true;
	}
	if (ret <= 0)
		return false;
	run->taken++;
	*timestamp_ms = request.timestamp_ms;
	*n = request.nr_blocks;
	replay_worker_reserve(w, *n);
	if (*n)
		memcpy(w->ids, request.hash_ids, *n * sizeof(*w->ids));
	ctl_progress_add(&run->progress, 1);
	return true;
}

static void *work(void *arg)
{
	struct thread *t = arg;
	struct run *run = t->run;
	u64 timestamp_ms;
	bool more;
	u32 n;

	for (;;) {
		pthread_mutex_lock(&run->replay.lock);
		more = take_request(run, &t->worker, &n, &timestamp_ms);
		pthread_mutex_unlock(&run->replay.lock);
		if (!more)
			return NULL;
		if (run->speed > 0)
			sleep_until(run->begun_ns +
				    (u64)((double)timestamp_ms * 1e6 / run->speed));
		replay_request(&t->worker, n);
	}
}

/* --- the report --- */

static void add_counts(struct replay_counts *sum, const struct replay_counts *c)
{
	sum->requests += c->requests;
	sum->blocks += c->blocks;
	sum->hits += c->hits;
	sum->misses += c->misses;
	sum->gets += c->gets;
	sum->puts += c->puts;
	sum->present += c->present;
	sum->skipped += c->skipped;
	sum->lost += c->lost;
	sum->mismatches += c->mismatches;
	sum->errors += c->errors;
}

/*
 * Before the replay, which may take hours, not after it. What the file holds
 * goes only when there is something to replace it.
 */
static int open_output(struct ctl *ctl, struct output *o)
{
	if (!o->path)
		return CTL_OK;
	o->fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return ctl_err(ctl, o->path, NULL, "can't write to it: %s",
			       strerror(errno));
	return CTL_OK;
}

static int open_outputs(struct ctl *ctl, struct run *run)
{
	int ret;

	if (run->plot.path && !replay_can_plot(ctl))
		return CTL_FAIL;
	ret = open_output(ctl, &run->report);
	return ret ? ret : open_output(ctl, &run->plot);
}

static void close_output(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

/* The file, emptied; it is the caller's now. */
static int take_output(struct output *o)
{
	int fd = o->fd;

	/* What can't be emptied, as a pipe, needn't be. */
	if (ftruncate(fd, 0) && errno != EINVAL)
		return -1;
	o->fd = -1;
	return fd;
}

static int write_json(struct run *run, const cJSON *json)
{
	int fd = take_output(&run->report);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	char *text = cJSON_Print(json);
	bool good = file && text && fprintf(file, "%s\n", text) > 0;

	free(text);
	if (file)
		good = !fclose(file) && good;
	return good ? CTL_OK : ctl_err(run->replay.ctl, run->report.path, NULL,
				       "can't write the report: %s", strerror(errno));
}

static int write_plot(struct run *run, const struct replay_report *r)
{
	int fd = take_output(&run->plot);

	if (fd < 0)
		return ctl_err(run->replay.ctl, run->plot.path, NULL,
			       "can't write the picture: %s", strerror(errno));
	return replay_plot(r, run->plot.path, fd);
}

static int report(struct run *run, const struct replay_report *r)
{
	cJSON *json = replay_json(r);
	int ret = CTL_OK, plotted;

	if (run->report.path)
		ret = write_json(run, json);
	if (run->plot.path) {
		plotted = write_plot(run, r);
		ret = ret ? ret : plotted;
	}
	if (run->replay.ctl->json) {
		ctl_json_print(json);
		return ret;
	}
	cJSON_Delete(json);
	replay_text(r);
	return ret;
}

/* --- all of it --- */

static void run_threads(struct ctl *ctl, struct run *run, struct replay_report *r)
{
	struct thread *threads = ctl_alloc(run->threads * sizeof(*threads));
	u32 i, step, started;

	for (started = 0; started < run->threads; started++) {
		struct thread *t = &threads[started];

		t->run = run;
		replay_worker_begin(&t->worker, &run->replay);
		if (!pthread_create(&t->id, NULL, work, t))
			continue;
		replay_worker_end(&t->worker);
		ctl_warn(ctl, NULL, NULL, "only %u threads can be started", started);
		pthread_mutex_lock(&run->replay.lock);
		run->errors++;
		pthread_mutex_unlock(&run->replay.lock);
		break;
	}
	for (i = 0; i < started; i++) {
		pthread_join(threads[i].id, NULL);
		replay_worker_end(&threads[i].worker);
		add_counts(&r->counts, &threads[i].worker.counts);
		for (step = 0; step < REPLAY_STEPS; step++)
			latency_merge(&r->latency[step], &threads[i].worker.latency[step]);
	}
	r->threads = started;
	free(threads);
}

static int replay(struct ctl *ctl, struct run *run)
{
	struct replay_report *r = ctl_alloc(sizeof(*r));
	int ret;

	r->replay = &run->replay;
	r->label = run->label;
	r->trace = run->path;
	r->seed = run->shape.seed;
	r->pool_known = replay_pool_read(&run->replay, &r->before);
	ctl_progress_begin(&run->progress, ctl, "replaying requests", run->most);
	run->begun_ns = latency_now();
	run_threads(ctl, run, r);
	r->seconds = (double)(latency_now() - run->begun_ns) / 1e9;
	ctl_progress_end(&run->progress);
	r->counts.errors += run->errors;
	r->pool_known = r->pool_known && replay_pool_read(&run->replay, &r->after);
	ret = report(run, r);
	if (r->counts.mismatches)
		ret = CTL_DAMAGE;
	else if (r->counts.errors)
		ret = CTL_FAIL;
	free(r);
	return ret;
}

int cmd_replay(struct ctl *ctl, int argc, char **argv)
{
	struct run run = {
		.replay = {
			.ctl = ctl,
			.key_format = "replay-%x",
			.object_bytes = DEFAULT_OBJECT,
			.batch = DEFAULT_BATCH,
			.verify = true,
			.lock = PTHREAD_MUTEX_INITIALIZER,
		},
		.shape = { .seed = 1 },
		.threads = 1,
		.label = "replay",
		.report.fd = -1,
		.plot.fd = -1,
	};
	int ret;

	parse(ctl, &run, argc, argv);
	replay_begin(&run.replay);
	ret = open_trace(ctl, &run);
	if (ret)
		return ret;
	ret = call_open(ctl, &run.replay.call);
	if (!ret) {
		ret = open_outputs(ctl, &run);
		if (!ret)
			ret = replay(ctl, &run);
		call_close(&run.replay.call);
	}
	close_output(&run.report);
	close_output(&run.plot);
	trace_close(run.trace);
	return ret;
}
