// SPDX-License-Identifier: MIT
/* kvcachectl detach: leave a pool in good order. */
#include <errno.h>

#include "call.h"

static const struct ctl_option options[] = {
	{ 't', "timeout", "TIME", "how long calls in progress may take to end (default 30s)" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] POOL",
	.about = "Leave a pool, given by number, name or UUID. New calls are refused, those in\n"
		 "progress end, what is in memory is written, and the host slot says that the host\n"
		 "left, so that the next attach need not wait for a lease.",
	.options = options,
};

int cmd_detach(struct ctl *ctl, int argc, char **argv)
{
	unsigned int pool;
	u64 timeout = 0;
	struct kvc *kvc;
	cJSON *object;
	int c, error;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1)
		if (c == 't' && (!ctl_parse_ms(ctl_optarg, 1000, &timeout) ||
				 !timeout || timeout > 3600000))
			ctl_usage_error(ctl, "'%s' is no time between 1ms and 1h",
					ctl_optarg);
	if (argc - ctl_optind != 1)
		ctl_usage_error(ctl, "give one pool: number, name or UUID");
	kvc = call_device(ctl);
	if (!kvc)
		return CTL_FAIL;
	pool = call_find_pool(ctl, kvc, argv[ctl_optind]);
	if (!pool) {
		kvc_close(kvc);
		return CTL_MISS;
	}
	error = kvc_detach(kvc, pool, (unsigned int)timeout);
	kvc_close(kvc);
	if (error == -ETIMEDOUT) {
		ctl_err(ctl, argv[ctl_optind],
			"Stop the programs that use it, or give a longer --timeout.",
			"calls are still in progress; the pool is still attached");
		return CTL_BUSY;
	}
	if (error)
		return call_failed(ctl, argv[ctl_optind], error);
	if (ctl->json) {
		object = cJSON_CreateObject();
		ctl_json_u64(object, "pool", pool);
		cJSON_AddTrueToObject(object, "detached");
		ctl_json_print(object);
	}
	return CTL_OK;
}
