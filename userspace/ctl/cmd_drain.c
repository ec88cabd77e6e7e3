// SPDX-License-Identifier: MIT
/* kvcachectl drain, kvcachectl remove: members that leave a pool. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "refresh.h"

enum {
	OPT_WAIT = 1000,
	OPT_KEEP,
	OPT_LOST,
};

static const struct ctl_option drain_options[] = {
	{ OPT_WAIT, "wait", NULL, "return when nothing is left on it" },
	{ OPT_KEEP, "keep", NULL, "the other way round: use the member again" },
	{}
};

static const struct ctl_usage drain_usage = {
	.args = "[options] POOL MEMBER",
	.about = "Empty a member (its number, or its device) of a pool that is attached here, while\n"
		 "hosts use it: nothing new is placed there, what is there moves to other members as\n"
		 "far as there is room, and the rest is evicted. Then run 'kvcachectl refresh' on each\n"
		 "of the other hosts. Once more it only tells how far it is.",
	.options = drain_options,
};

static const struct ctl_option remove_options[] = {
	{ OPT_LOST, "lost", NULL, "give up what it still holds: of a device that has failed" },
	{}
};

static const struct ctl_usage remove_usage = {
	.args = "[options] POOL MEMBER",
	.about = "Let a member (its number, or its device) that was drained leave a pool that is\n"
		 "attached here, for good. Then run 'kvcachectl refresh' on each of the other hosts,\n"
		 "before its device is used for something else. If it holds host slots these move to\n"
		 "another member first, and it has to be called once more when the others know.",
	.options = remove_options,
};

/* A number, or the path of its device. */
static int find_member(struct ctl *ctl, const struct pool_members *m,
		       const char *text, u32 *member)
{
	u64 number;
	u32 i;

	if (ctl_parse_u64(text, KVC_MAX_MEMBERS - 1, &number)) {
		*member = (u32)number;
		if (number < m->info.nr_members)
			return CTL_OK;
	}
	for (i = 0; i < m->info.nr_members && i < KVC_MAX_MEMBERS; i++) {
		*member = i;
		if (!strcmp((const char *)m->members[i].path, text))
			return CTL_OK;
	}
	ctl_err(ctl, text, "See 'kvcachectl info'.",
		"pool '%s' has no such member", (const char *)m->info.name);
	return CTL_MISS;
}

static const char *role_name(u32 role)
{
	switch (role) {
	case KVCACHE_ROLE_MEMBER:
		return "member";
	case KVCACHE_ROLE_MISSING:
		return "missing";
	case KVCACHE_ROLE_DRAINING:
		return "draining";
	case KVCACHE_ROLE_REMOVED:
		return "removed";
	default:
		return "unknown";
	}
}

static void tell(struct ctl *ctl, const char *pool, const struct kvcache_member *m)
{
	char size[CTL_TEXT];
	cJSON *object;

	if (!ctl->json) {
		if (ctl->quiet)
			return;
		printf("member %u of pool '%s': %s, %" PRIu64 " objects (%s) in %u segments\n",
		       m->member, pool, role_name(m->role),
		       (uint64_t)m->objects, ctl_size(size, m->bytes),
		       m->segments);
		if (m->behind)
			printf("%u other hosts have not taken that up: run 'kvcachectl refresh %s' there\n",
			       m->behind, pool);
		return;
	}
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "name", pool);
	ctl_json_u64(object, "member", m->member);
	cJSON_AddStringToObject(object, "role", role_name(m->role));
	ctl_json_u64(object, "objects", m->objects);
	ctl_json_u64(object, "bytes", m->bytes);
	ctl_json_u64(object, "segments", m->segments);
	ctl_json_u64(object, "hosts_behind", m->behind);
	ctl_json_print(object);
}

static int failed(struct ctl *ctl, const char *text, const char *what, int error,
		  const char *reason)
{
	/* What can't be done to this member is no error of the program's caller. */
	if (error == -EINVAL) {
		ctl_err(ctl, text, NULL, "can't %s it: %s", what,
			*reason ? reason : kvc_strerror(error));
		return CTL_REFUSED;
	}
	if (error == -EBUSY) {
		ctl_err(ctl, text, "See 'kvcachectl drain', and try again.",
			"can't %s it: %s", what,
			*reason ? reason : kvc_strerror(error));
		return CTL_BUSY;
	}
	return pool_refused(ctl, text, what, error, reason);
}

/* Until nothing is left: as long as it takes. */
static int wait_empty(struct ctl *ctl, struct kvc *kvc, const char *text,
		      struct kvcache_member *m)
{
	struct timespec tick = { .tv_nsec = 200000000 };
	u64 first = m->segments;
	struct ctl_progress progress;
	char reason[512];
	int error = 0;

	ctl_progress_begin(&progress, ctl, "draining, segments:", first);
	while (m->role == KVCACHE_ROLE_DRAINING &&
	       (m->objects || m->segments || m->behind)) {
		nanosleep(&tick, NULL);
		error = kvc_member(kvc, m->member, KVCACHE_MEMBER_LOOK, 0, m,
				   reason, sizeof(reason));
		/* Not this moment. */
		if (error == -EAGAIN || error == -ESTALE)
			continue;
		if (error)
			break;
		ctl_progress_set(&progress, m->segments < first ?
					    first - m->segments : 0);
	}
	ctl_progress_end(&progress);
	return error ? failed(ctl, text, "look at", error, reason) : CTL_OK;
}

/* A copy of the host slots moves in two steps, before its member leaves. */
#define STEPS_MAX	3
/* Where a service grants leases, each step ends the host's: until it has another. */
#define LEASE_TICKS	600

/* One step, or more if no other host must take it up before. */
static int change(struct kvc *kvc, u32 member, unsigned int op, unsigned int flags,
		  struct kvcache_member *seen, char *reason, size_t size)
{
	struct timespec tick = { .tv_nsec = 100000000 };
	unsigned int steps = 0, ticks = 0;
	int error;

	for (;;) {
		error = kvc_member(kvc, member, op, flags, seen, reason, size);
		if (error == -ESTALE && steps && ticks++ < LEASE_TICKS)
			nanosleep(&tick, NULL);
		else if (error || op != KVCACHE_MEMBER_REMOVE ||
			 seen->role == KVCACHE_ROLE_REMOVED || seen->behind ||
			 ++steps == STEPS_MAX)
			return error;
	}
}

/* It is not removed yet: others have something to take up. */
static int remove_waits(struct ctl *ctl, const char *text,
			const struct kvcache_member *m)
{
	ctl_err(ctl, text, "Run 'kvcachectl refresh' there, and then this again.",
		"its host slots move to another member, and %u other hosts have not taken that up",
		m->behind);
	return CTL_BUSY;
}

static int run(struct ctl *ctl, char **argv, unsigned int op, unsigned int flags,
	       bool wait)
{
	static const char *const names[] = {
		[KVCACHE_MEMBER_DRAIN] = "drain",
		[KVCACHE_MEMBER_KEEP] = "keep",
		[KVCACHE_MEMBER_REMOVE] = "remove",
	};
	struct kvcache_member seen = { 0 };
	struct pool_members m;
	char reason[512] = "";
	struct kvc *kvc;
	u32 member = 0;
	int status, error;

	status = pool_open(ctl, argv[0], &kvc, &m);
	if (!status)
		status = find_member(ctl, &m, argv[1], &member);
	if (!status) {
		error = change(kvc, member, op, flags, &seen, reason,
			       sizeof(reason));
		if (error)
			status = failed(ctl, argv[0], names[op], error, reason);
	}
	if (!status && op == KVCACHE_MEMBER_REMOVE &&
	    seen.role != KVCACHE_ROLE_REMOVED)
		status = remove_waits(ctl, argv[0], &seen);
	if (!status && wait)
		status = wait_empty(ctl, kvc, argv[0], &seen);
	if (!status)
		tell(ctl, (const char *)m.info.name, &seen);
	kvc_close(kvc);
	return status;
}

static void two_arguments(struct ctl *ctl, int argc)
{
	if (argc - ctl_optind != 2)
		ctl_usage_error(ctl, "give a pool and one of its members");
}

int cmd_drain(struct ctl *ctl, int argc, char **argv)
{
	unsigned int op = KVCACHE_MEMBER_DRAIN;
	bool wait = false;
	int c;

	while ((c = ctl_getopt(ctl, &drain_usage, argc, argv)) != -1) {
		if (c == OPT_KEEP)
			op = KVCACHE_MEMBER_KEEP;
		else
			wait = true;
	}
	two_arguments(ctl, argc);
	if (wait && op == KVCACHE_MEMBER_KEEP)
		ctl_usage_error(ctl, "give --wait or --keep, not both");
	return run(ctl, argv + ctl_optind, op, 0, wait);
}

int cmd_remove(struct ctl *ctl, int argc, char **argv)
{
	unsigned int flags = 0;

	while (ctl_getopt(ctl, &remove_usage, argc, argv) != -1)
		flags = KVCACHE_MEMBER_LOST;
	two_arguments(ctl, argc);
	return run(ctl, argv + ctl_optind, KVCACHE_MEMBER_REMOVE, flags, false);
}
