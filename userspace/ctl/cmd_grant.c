// SPDX-License-Identifier: MIT
/* kvcachectl grant: stand in for the lock service. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"

enum {
	OPT_SLOT = 1000,
	OPT_INCARNATION,
	OPT_FOR,
};

static const struct ctl_option options[] = {
	{ OPT_SLOT, "slot", "N", "host slot that this host has" },
	{ OPT_INCARNATION, "incarnation", "N", "of the slot: above all that it ever showed" },
	{ 'e', "epoch", "AG=EPOCH", "own this allocation group, with this epoch; may be given many times" },
	{ OPT_FOR, "for", "TIME", "how long the grant lasts from now on, as 10s or 5m" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] POOL",
	.about = "Say what this host is and owns of a pool that was attached with --granted, and for\n"
		 "how long. This is what kvcached does in a cluster; by hand it is for tests and for\n"
		 "people without an agent, who then answer for it that no two hosts have one slot or\n"
		 "one allocation group at the same time, and that no epoch is used twice.",
	.options = options,
};

/**
 * struct request - what the command line asks for
 * @slot: of this host
 * @incarnation: of the slot
 * @ms: how long it lasts
 * @ags: what it shall own
 * @nr_ags: how many
 */
struct request {
	u64 slot;
	u64 incarnation;
	u64 ms;
	struct kvcache_grant_ag ags[KVC_MAX_AGS];
	u32 nr_ags;
};

static void add_ag(struct ctl *ctl, struct request *r, const char *text)
{
	const char *sign = strchr(text, '=');
	char number[24];
	u64 ag, epoch;

	snprintf(number, sizeof(number), "%.*s",
		 sign && sign - text < 20 ? (int)(sign - text) : 0, text);
	if (!sign || !ctl_parse_u64(number, KVC_MAX_AGS - 1, &ag) ||
	    !ctl_parse_u64(sign + 1, KVC_MAX_EPOCH, &epoch) || !epoch)
		ctl_usage_error(ctl, "'%.60s' is no AG=EPOCH, as in 3=17", text);
	if (r->nr_ags == KVC_MAX_AGS)
		ctl_usage_error(ctl, "more than %d allocation groups",
				KVC_MAX_AGS);
	r->ags[r->nr_ags++] = (struct kvcache_grant_ag) {
		.ag = (u32)ag,
		.epoch = epoch,
	};
}

static int by_number(const void *a, const void *b)
{
	const struct kvcache_grant_ag *one = a, *other = b;

	return (one->ag > other->ag) - (one->ag < other->ag);
}

/* The kernel wants them in order, each once. */
static void sort_ags(struct ctl *ctl, struct request *r)
{
	u32 i;

	qsort(r->ags, r->nr_ags, sizeof(*r->ags), by_number);
	for (i = 1; i < r->nr_ags; i++)
		if (r->ags[i].ag == r->ags[i - 1].ag)
			ctl_usage_error(ctl, "allocation group %u is given twice",
					r->ags[i].ag);
}

static u64 boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static void tell(const struct request *r, unsigned int pool, u64 deadline_ns)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *array;
	u32 i;

	ctl_json_u64(object, "pool", pool);
	ctl_json_u64(object, "slot", r->slot);
	ctl_json_u64(object, "incarnation", r->incarnation);
	ctl_json_u64(object, "deadline_ns", deadline_ns);
	array = cJSON_AddArrayToObject(object, "ags");
	for (i = 0; i < r->nr_ags; i++) {
		cJSON *item = cJSON_CreateObject();

		ctl_json_u64(item, "ag", r->ags[i].ag);
		ctl_json_u64(item, "epoch", r->ags[i].epoch);
		cJSON_AddItemToArray(array, item);
	}
	ctl_json_print(object);
}

static int refused(struct ctl *ctl, const char *pool, int error)
{
	switch (-error) {
	case ESTALE:
		ctl_err(ctl, pool, "Give a higher one than 'kvcachectl slots' shows for this slot.",
			"this incarnation has lapsed, or the slot shows a higher one");
		return CTL_REFUSED;
	case EBUSY:
		ctl_err(ctl, pool, "Try again, or look for the slot's host with 'kvcachectl slots'.",
			"another grant is being carried out, or the slot is another host's");
		return CTL_BUSY;
	case EINVAL:
		ctl_err(ctl, pool, "Attach it with --granted; 'kvcachectl info' and 'kvcachectl ags' show how many slots and groups it has.",
			"the pool was not attached for grants, or has no such slot or group");
		return CTL_FAIL;
	default:
		return call_failed(ctl, pool, error);
	}
}

static int grant(struct ctl *ctl, const struct request *r, const char *text)
{
	struct kvc *kvc = call_device(ctl);
	unsigned int pool;
	u64 deadline_ns;
	int error;

	if (!kvc)
		return CTL_FAIL;
	pool = call_find_pool(ctl, kvc, text);
	kvc_close(kvc);
	if (!pool)
		return CTL_MISS;
	kvc = kvc_open(ctl->device, pool);
	if (!kvc)
		return call_failed(ctl, ctl->device, errno);
	deadline_ns = boot_ns() + r->ms * 1000000;
	error = kvc_grant(kvc, (unsigned int)r->slot, r->incarnation,
			  deadline_ns, r->ags, r->nr_ags);
	kvc_close(kvc);
	if (error)
		return refused(ctl, text, error);
	if (ctl->json)
		tell(r, pool, deadline_ns);
	return CTL_OK;
}

int cmd_grant(struct ctl *ctl, int argc, char **argv)
{
	static struct request r = { .slot = U64_MAX };
	int c;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		switch (c) {
		case OPT_SLOT:
			if (!ctl_parse_u64(ctl_optarg, KVCACHE_HOSTS_MAX - 1, &r.slot))
				ctl_usage_error(ctl, "'%s' is no slot from 0 to %d",
						ctl_optarg, KVCACHE_HOSTS_MAX - 1);
			break;
		case OPT_INCARNATION:
			if (!ctl_parse_u64(ctl_optarg, U64_MAX, &r.incarnation) ||
			    !r.incarnation)
				ctl_usage_error(ctl, "'%s' is no incarnation from 1 on",
						ctl_optarg);
			break;
		case 'e':
			add_ag(ctl, &r, ctl_optarg);
			break;
		case OPT_FOR:
			if (!ctl_parse_ms(ctl_optarg, 1000, &r.ms) || !r.ms ||
			    r.ms > 86400000)
				ctl_usage_error(ctl, "'%s' is no time between 1ms and a day",
						ctl_optarg);
			break;
		}
	}
	if (argc - ctl_optind != 1)
		ctl_usage_error(ctl, "give one pool: number, name or UUID");
	if (r.slot == U64_MAX || !r.incarnation || !r.ms)
		ctl_usage_error(ctl, "--slot, --incarnation and --for are all needed");
	sort_ags(ctl, &r);
	return grant(ctl, &r, argv[ctl_optind]);
}
