// SPDX-License-Identifier: MIT
/* kvcachectl attach: take a pool over and serve it. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "slots.h"

enum {
	OPT_DEGRADED = 1000,
	OPT_NUMBER,
	OPT_HOSTNQN,
	OPT_HOST,
	OPT_HOSTS,
	OPT_GRANTED,
	OPT_STALENESS,
	OPT_FENCE,
};

static const struct ctl_option options[] = {
	{ 'p', "pool", "POOL", "name or UUID: find its members among all block devices" },
	{ OPT_NUMBER, "number", "N", "number that the pool shall have (default: the lowest that is free)" },
	{ OPT_DEGRADED, "degraded", NULL, "attach although members are missing; their objects are lost if they stay away" },
	{ OPT_HOSTNQN, "hostnqn", "NQN", "host NQN (default: that of /etc/nvme/hostnqn)" },
	{ OPT_HOST, "host", "I", "share the pool: this is host I, from 0, of those that --hosts says" },
	{ OPT_HOSTS, "hosts", "N", "share the pool with so many hosts in all; every one must say the same" },
	{ OPT_GRANTED, "granted", NULL, "share the pool as kvcached or 'kvcachectl grant' says, and wait for that" },
	{ OPT_STALENESS, "max-staleness", "TIME", "shared: a miss may know nothing of what other hosts put so long ago, at most 1m (default 0: a get finds all that was put before)" },
	{ OPT_FENCE, "fence", NULL, "register with members that have persistent reservations, so that writes of a host that was found dead are refused; every host of the pool must" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] --pool POOL | DEVICE...",
	.about = "Take a pool over and serve it on this host. Unless all hosts left the pool in\n"
		 "good order, its host slots are watched for longer than a lease first. With --host\n"
		 "and --hosts, or --granted, other hosts have it as well.",
	.options = options,
};

/**
 * struct waiting - shows how long the kernel has been at it
 * @ctl: program
 * @expected_ms: how long it should take
 * @done: the kernel has answered
 */
struct waiting {
	struct ctl *ctl;
	u64 expected_ms;
	atomic_bool done;
};

static void *show_waiting(void *argument)
{
	struct waiting *w = argument;
	struct timespec tick = { .tv_nsec = 100000000 };
	struct ctl_progress progress;
	u64 waited;

	ctl_progress_begin(&progress, w->ctl, w->expected_ms ? "attaching" :
			   "attaching, seconds:", w->expected_ms);
	for (waited = 0; !w->done; waited += 100) {
		nanosleep(&tick, NULL);
		if (!w->expected_ms)
			ctl_progress_set(&progress, waited / 1000);
		else
			ctl_progress_set(&progress, waited < w->expected_ms ?
						    waited : w->expected_ms);
	}
	ctl_progress_end(&progress);
	return NULL;
}

/* Who was on the pool last, and so how long it will take: milliseconds. */
static u64 foretell(struct ctl *ctl, const struct pool_probe *p,
		    const struct kvc_attach_options *o)
{
	struct slot_view *slots;
	u64 wait = 0;
	u32 i;

	/* Opens the members only. */
	if (o->mode == KVCACHE_MODE_GRANTED)
		return 0;
	slots = slots_read(p);
	for (i = 0; i < p->g.nr_slots; i++) {
		if (!slot_is_up(&slots[i]))
			continue;
		/* The others' may well be up. */
		if (o->mode == KVCACHE_MODE_STATIC && i != o->host)
			continue;
		ctl_note(ctl, "slot %u: host %s holds the pool, or did not leave it in good order",
			 i, slots[i].info.node[0] ? slots[i].info.node : "(no name)");
		wait = p->g.lease_ms;
	}
	free(slots);
	if (wait)
		ctl_note(ctl, "watching the host slots for longer than a lease (%u ms)",
			 p->g.lease_ms);
	return wait;
}

static const char *advice(int error)
{
	switch (-error) {
	case EBUSY:
		return "If another host holds it, detach it there or wait until its lease has ended; if a device is in use here, see 'lsblk'.";
	case EUCLEAN:
		return "Look at the members with 'kvcachectl dump', check them with 'kvcachectl fsck'; leave the device out that does not belong.";
	case ENXIO:
		return "Connect what is missing with 'kvcachectl connect', or attach with --degraded.";
	case EOPNOTSUPP:
		return "The pool was made by a newer version: load a newer module.";
	case ENOENT:
		return "Check the devices' paths.";
	default:
		return kvc_next_step(error);
	}
}

static int refused(struct ctl *ctl, const struct pool_probe *p, int error,
		   const char *reason)
{
	ctl_err(ctl, p->g.name, advice(error), "can't attach the pool: %s",
		*reason ? reason : kvc_strerror(error));
	switch (-error) {
	case EBUSY:
	case EUCLEAN:
	case EOPNOTSUPP:
	case ENXIO:
		return CTL_REFUSED;
	case EINTR:
		return CTL_BUSY;
	default:
		return CTL_FAIL;
	}
}

static void tell(struct ctl *ctl, const struct pool_probe *p,
		 const struct kvc_attach_options *o, unsigned int number,
		 double seconds)
{
	char uuid[CTL_TEXT];
	cJSON *object;

	if (!ctl->json) {
		if (!ctl->quiet)
			printf("pool '%s' is attached as number %u%s\n",
			       p->g.name, number,
			       o->mode == KVCACHE_MODE_GRANTED ?
			       "; it waits for a grant" : "");
		return;
	}
	object = cJSON_CreateObject();
	ctl_json_u64(object, "pool", number);
	cJSON_AddStringToObject(object, "name", p->g.name);
	cJSON_AddStringToObject(object, "uuid", ctl_uuid(uuid, p->g.uuid));
	ctl_json_u64(object, "members", p->nr_present);
	cJSON_AddStringToObject(object, "mode", call_mode_name(o->mode));
	cJSON_AddNumberToObject(object, "seconds", seconds);
	ctl_json_print(object);
}

/* What this program can see by itself, it can say better than the kernel. */
static int check_devices(struct ctl *ctl, const struct pool_probe *p)
{
	u32 i;

	for (i = 0; i < p->nr_devs; i++)
		if (!p->devs[i].dev.is_block)
			return ctl_err(ctl, p->devs[i].dev.path,
				       "Make a block device of it: 'losetup --find --show --direct-io=on FILE'.",
				       "is a file, and the kernel attaches block devices only");
	if (p->found)
		return CTL_OK;
	pool_probe_report(ctl, p);
	ctl_err(ctl, NULL, "Make a pool with 'kvcachectl format', or give the devices of one.",
		"no pool is on these devices");
	return CTL_MISS;
}

/* Is the pool attached already? Its number, or 0. */
static unsigned int attached_as(struct ctl *ctl, struct kvc *kvc,
				const struct pool_probe *p)
{
	char uuid[CTL_TEXT];
	u32 pools[256];
	int count = kvc_pools(kvc, pools, 256);
	int i;

	ctl_uuid(uuid, p->g.uuid);
	for (i = 0; i < count && i < 256; i++)
		if (call_pool_matches(ctl, pools[i], uuid))
			return pools[i];
	return 0;
}

static int attach(struct ctl *ctl, struct pool_probe *p,
		  struct kvc_attach_options *o)
{
	const char *paths[KVC_MAX_MEMBERS];
	uint64_t hashes[KVC_MAX_MEMBERS];
	struct waiting waiting = { .ctl = ctl };
	struct timespec begin, end;
	char reason[512] = "";
	unsigned int already;
	pthread_t thread;
	struct kvc *kvc;
	bool shown;
	int number, status;
	u32 i;

	status = check_devices(ctl, p);
	if (status)
		return status;
	kvc = call_device(ctl);
	if (!kvc)
		return CTL_FAIL;
	already = attached_as(ctl, kvc, p);
	if (already) {
		ctl_err(ctl, p->g.name, "Use it as it is, or detach it first.",
			"the pool is attached already, as number %u", already);
		kvc_close(kvc);
		return CTL_EXISTS;
	}
	for (i = 0; i < p->nr_devs; i++) {
		paths[i] = p->devs[i].dev.path;
		hashes[i] = p->devs[i].wwid_hash;
	}
	o->paths = paths;
	o->wwid_hashes = hashes;
	o->nr_members = p->nr_devs;
	waiting.expected_ms = foretell(ctl, p, o);
	/* The kernel wants the devices for itself. */
	for (i = 0; i < p->nr_devs; i++) {
		close(p->devs[i].dev.fd);
		p->devs[i].dev.fd = -1;
	}
	shown = !pthread_create(&thread, NULL, show_waiting, &waiting);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	number = kvc_attach(kvc, o, reason, sizeof(reason));
	clock_gettime(CLOCK_MONOTONIC, &end);
	waiting.done = true;
	if (shown)
		pthread_join(thread, NULL);
	kvc_close(kvc);
	if (number < 0) {
		/* Our own view of the labels may say more. */
		pool_probe_report(ctl, p);
		return refused(ctl, p, number, reason);
	}
	tell(ctl, p, o, (unsigned int)number,
	     (double)(end.tv_sec - begin.tv_sec) +
	     (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return CTL_OK;
}

/* Take an option that says how the pool is shared; false: it is none. */
static bool shared_option(struct ctl *ctl, struct kvc_attach_options *o, int id)
{
	u64 value;

	switch (id) {
	case OPT_HOST:
		if (!ctl_parse_u64(ctl_optarg, KVCACHE_HOSTS_MAX - 1, &value))
			ctl_usage_error(ctl, "'%s' is no host's number from 0 to %d",
					ctl_optarg, KVCACHE_HOSTS_MAX - 1);
		o->host = (unsigned int)value;
		return true;
	case OPT_HOSTS:
		if (!ctl_parse_u64(ctl_optarg, KVCACHE_HOSTS_MAX, &value) || !value)
			ctl_usage_error(ctl, "'%s' is no number of hosts from 1 to %d",
					ctl_optarg, KVCACHE_HOSTS_MAX);
		o->hosts = (unsigned int)value;
		return true;
	case OPT_GRANTED:
		o->mode = KVCACHE_MODE_GRANTED;
		return true;
	case OPT_STALENESS:
		if (!ctl_parse_ms(ctl_optarg, 1000, &value) ||
		    value > KVCACHE_STALENESS_MAX_MS)
			ctl_usage_error(ctl, "'%s' is no time of at most 1m",
					ctl_optarg);
		o->max_staleness_ms = (unsigned int)value;
		return true;
	}
	return false;
}

static void check_shared(struct ctl *ctl, struct kvc_attach_options *o,
			 bool host_given)
{
	if (host_given != (o->hosts != 0))
		ctl_usage_error(ctl, "give --host and --hosts together");
	if (o->hosts && o->mode == KVCACHE_MODE_GRANTED)
		ctl_usage_error(ctl, "give --host and --hosts, or --granted, not both");
	if (o->hosts && o->host >= o->hosts)
		ctl_usage_error(ctl, "of %u hosts the last is number %u",
				o->hosts, o->hosts - 1);
	if (o->hosts)
		o->mode = KVCACHE_MODE_STATIC;
	if (o->max_staleness_ms && o->mode == KVCACHE_MODE_EXCLUSIVE)
		ctl_usage_error(ctl, "--max-staleness is for shared pools: give --host and --hosts, or --granted");
	/* An older module knows no modes, and need not be told of this one. */
	if (o->mode != KVCACHE_MODE_EXCLUSIVE)
		o->flags |= KVC_ATTACH_SHARED;
}

int cmd_attach(struct ctl *ctl, int argc, char **argv)
{
	struct kvc_attach_options o = { 0 };
	const char *pool = NULL;
	bool host_given = false;
	struct pool_probe p;
	char **paths = NULL;
	int count, status, c, i;
	u64 number;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		host_given |= c == OPT_HOST;
		if (shared_option(ctl, &o, c))
			continue;
		switch (c) {
		case 'p':
			pool = ctl_optarg;
			break;
		case OPT_NUMBER:
			if (!ctl_parse_u64(ctl_optarg, INT32_MAX, &number) || !number)
				ctl_usage_error(ctl, "'%s' is no pool number",
						ctl_optarg);
			o.pool = (unsigned int)number;
			break;
		case OPT_DEGRADED:
			o.flags |= KVCACHE_ATTACH_DEGRADED;
			break;
		case OPT_FENCE:
			o.flags |= KVCACHE_ATTACH_FENCE;
			break;
		case OPT_HOSTNQN:
			if (strlen(ctl_optarg) >= KVCACHE_NQN_MAX)
				ctl_usage_error(ctl, "the host NQN is longer than %d bytes",
						KVCACHE_NQN_MAX - 1);
			o.nqn = ctl_optarg;
			break;
		}
	}
	check_shared(ctl, &o, host_given);
	count = argc - ctl_optind;
	if (pool && count)
		ctl_usage_error(ctl, "give devices or --pool, not both");
	if (!pool && !count)
		ctl_usage_error(ctl, "neither devices nor --pool is given");
	if (pool) {
		count = pool_scan(ctl, pool, &paths);
		if (count < 0)
			return CTL_FAIL;
		if (!count) {
			ctl_err(ctl, pool, "Connect its members with 'kvcachectl connect'.",
				"no member of such a pool is among the block devices of this host");
			return CTL_MISS;
		}
	}
	if (count > KVC_MAX_MEMBERS)
		ctl_usage_error(ctl, "%d devices, but a pool has at most %d members",
				count, KVC_MAX_MEMBERS);
	if (pool_probe(ctl, &p, paths ? paths : argv + ctl_optind, count,
		       CTL_DEV_READ))
		status = CTL_FAIL;
	else
		status = attach(ctl, &p, &o);
	pool_probe_free(&p);
	for (i = 0; paths && i < count; i++)
		free(paths[i]);
	free(paths);
	return status;
}
