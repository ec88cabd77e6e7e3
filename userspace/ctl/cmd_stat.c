// SPDX-License-Identifier: MIT
/* kvcachectl stat: counters, or their rates. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "counters.h"

#define LINES_PER_HEADING 20

static const struct ctl_option options[] = {
	CALL_OPTION_POOL,
	{ 'i', "interval", "TIME", "print rates, each time after so long" },
	{ 'c', "count", "N", "end after so many (default: never)" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options]",
	.about = "Print a pool's counters since attach; with --interval what they rose by per\n"
		 "second, line by line.",
	.options = options,
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static int read_info(struct ctl *ctl, struct call *call,
		     struct kvcache_info *info)
{
	int error = kvc_info(call->kvc, info, NULL, 0);

	return error ? call_failed(ctl, call->pool, error) : CTL_OK;
}

static int print_totals(struct ctl *ctl, struct call *call)
{
	struct kvcache_info info;
	char text[CTL_TEXT];
	cJSON *object;
	u32 i;
	int status = read_info(ctl, call, &info);

	if (status)
		return status;
	if (ctl->json) {
		object = cJSON_CreateObject();
		ctl_json_u64(object, "pool", info.pool);
		cJSON_AddStringToObject(object, "name", (char *)info.name);
		counters_json(object, &info);
		ctl_json_print(object);
		return CTL_OK;
	}
	for (i = 0; i < nr_counters; i++) {
		u64 value = counter_value(&info, &counters[i]);

		printf("%-18s %20" PRIu64 "  %s", counters[i].name,
		       (uint64_t)value, counters[i].help);
		if (counters[i].bytes && value >= 1024)
			printf(" (%s)", ctl_size(text, value));
		putchar('\n');
	}
	return CTL_OK;
}

static double rate(const struct kvcache_info *before,
		   const struct kvcache_info *now, size_t field, double seconds)
{
	struct counter c = { .offset = field };

	return (double)(counter_value(now, &c) - counter_value(before, &c)) /
		seconds;
}

#define RATE(field) rate(before, now, offsetof(struct kvcache_info, field), seconds)

static void rates_text(const struct kvcache_info *before,
		       const struct kvcache_info *now, double seconds, u64 line)
{
	double hits = RATE(gets), misses = RATE(misses);

	if (line % LINES_PER_HEADING == 0)
		printf("%10s %10s %6s %10s %10s %10s %10s %8s %8s\n", "get/s",
		       "get MiB/s", "hit %", "put/s", "put MiB/s", "evict/s",
		       "move MiB/s", "late/s", "bad/s");
	printf("%10.0f %10.1f %6.1f %10.0f %10.1f %10.0f %10.1f %8.0f %8.0f\n",
	       hits + misses, RATE(get_bytes) / 1048576,
	       hits + misses > 0 ? 100 * hits / (hits + misses) : 0.0,
	       RATE(puts), RATE(put_bytes) / 1048576, RATE(evicted_objects),
	       RATE(rewritten_bytes) / 1048576, RATE(timeouts), RATE(bad_data));
	fflush(stdout);
}

static void rates_json(struct ctl_json_array *array,
		       const struct kvcache_info *before,
		       const struct kvcache_info *now, double seconds)
{
	cJSON *item = cJSON_CreateObject();
	u32 i;

	ctl_json_u64(item, "time", (u64)time(NULL));
	cJSON_AddNumberToObject(item, "seconds", seconds);
	for (i = 0; i < nr_counters; i++)
		cJSON_AddNumberToObject(item, counters[i].name,
					rate(before, now, counters[i].offset,
					     seconds));
	ctl_json_array_item(array, item);
	fflush(stdout);
}

static int print_rates(struct ctl *ctl, struct call *call, u64 interval_ms,
		       u64 count)
{
	struct sigaction action = { .sa_handler = stop };
	struct timespec pause = {
		.tv_sec = (time_t)(interval_ms / 1000),
		.tv_nsec = (long)(interval_ms % 1000) * 1000000,
	};
	struct kvcache_info before, now;
	struct ctl_json_array array;
	u64 began, ended, line;
	int status = read_info(ctl, call, &before);

	if (status)
		return status;
	/* So that the JSON array is closed. */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (ctl->json)
		ctl_json_array_begin(&array);
	began = now_ns();
	for (line = 0; !stopped && (!count || line < count); line++) {
		double seconds;

		nanosleep(&pause, NULL);
		if (stopped)
			break;
		status = read_info(ctl, call, &now);
		if (status)
			break;
		ended = now_ns();
		seconds = (double)(ended - began) / 1e9;
		if (ctl->json)
			rates_json(&array, &before, &now, seconds);
		else
			rates_text(&before, &now, seconds, line);
		before = now;
		began = ended;
	}
	if (ctl->json)
		ctl_json_array_end(&array);
	return status;
}

int cmd_stat(struct ctl *ctl, int argc, char **argv)
{
	u64 interval_ms = 0, count = 0;
	struct call call = { 0 };
	int c, status;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		if (call_option(ctl, &call, c))
			continue;
		if (c == 'i' && (!ctl_parse_ms(ctl_optarg, 1000, &interval_ms) ||
				 interval_ms < 10 || interval_ms > 86400000))
			ctl_usage_error(ctl, "'%s' is no time between 10ms and a day",
					ctl_optarg);
		if (c == 'c' && (!ctl_parse_u64(ctl_optarg, U64_MAX, &count) || !count))
			ctl_usage_error(ctl, "'%s' is no count", ctl_optarg);
	}
	if (argc > ctl_optind)
		ctl_usage_error(ctl, "'%s' is one argument too many",
				argv[ctl_optind]);
	if (count && !interval_ms)
		interval_ms = 1000;
	status = call_open(ctl, &call);
	if (!status)
		status = interval_ms ?
			 print_rates(ctl, &call, interval_ms, count) :
			 print_totals(ctl, &call);
	call_close(&call);
	return status;
}
