// SPDX-License-Identifier: MIT
/* The agent of one pool on one host. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "log.h"

/* All in milliseconds. */
#define READ_SPACING	50	/* between two reads of the cluster */
#define READ_EVERY	5000	/* even if the watch tells nothing */
#define ETCD_RETRY	1000	/* while etcd does not answer */
#define MOVING_POLL	100	/* looks at the kernel while AGs move */
#define QUIET_POLL	2000	/* and when none does */
#define CLAIM_LOOK	1000	/* looks at the slots on media */
#define BUSY_RETRY	300
#define BACKOFF_MIN	1000
#define BACKOFF_MAX	30000
#define TTL_MAX_S	60	/* to which a lease grows when a join takes long */
#define WAIT_MAX	1000
#define REQUEST_MIN	500	/* for one request of etcd */
#define REQUEST_MAX	5000

uint64_t agent_boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t agent_boot_ms(void)
{
	return agent_boot_ns() / 1000000;
}

const char *agent_state_name(const struct agent *a)
{
	static const char *const names[] = {
		[AGENT_ATTACH] = "attach",
		[AGENT_CLAIM] = "claim",
		[AGENT_JOIN] = "join",
		[AGENT_UP] = "up",
		[AGENT_DETACH] = "detach",
	};

	return names[a->state];
}

const char *agent_key(const struct agent *a, char key[CLUSTER_KEY],
		      const char *name, int number)
{
	if (number < 0)
		snprintf(key, CLUSTER_KEY, "%s%s", a->prefix, name);
	else
		snprintf(key, CLUSTER_KEY, "%s%s/%d", a->prefix, name, number);
	return key;
}

/* --- what is wrong --- */

void agent_problem(struct agent *a, const char *fmt, ...)
{
	char text[sizeof(a->problem)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!strcmp(text, a->problem))
		return;
	memcpy(a->problem, text, sizeof(text));
	log_warning("%s", text);
}

void agent_no_problem(struct agent *a)
{
	a->problem[0] = '\0';
}

bool agent_etcd(struct agent *a, int error)
{
	uint64_t now = agent_boot_ms(), left;

	if (!error || error == -ENOENT) {
		if (!a->reachable && a->silent_since_ms)
			log_notice("etcd answers again, after %" PRIu64 " s",
				   (now - a->silent_since_ms) / 1000);
		if (!a->reachable) {
			a->stale = true;
			agent_no_problem(a);
		}
		a->reachable = true;
		a->silent_since_ms = 0;
		return !error;
	}
	if (error != -EHOSTUNREACH) {
		agent_problem(a, "etcd refuses: %s%s", etcd_error(a->etcd),
			      error == -ENOSPC ?
			      ". Compact and defragment it, then disarm the alarm" :
			      error == -EACCES ? ". Check 'user', 'password_file' and the role" :
			      "");
		return false;
	}
	/* Once: what is left of the grant is another text every second. */
	if (!a->reachable && a->silent_since_ms)
		return false;
	a->silent_since_ms = now;
	a->reachable = false;
	left = a->told_deadline_ns / 1000000;
	if (a->state == AGENT_UP && left > now)
		agent_problem(a, "etcd does not answer: %s. The pool goes on as it is for %" PRIu64 " s at most, then it misses",
			      etcd_error(a->etcd), (left - now + 999) / 1000);
	else
		agent_problem(a, "etcd does not answer: %s", etcd_error(a->etcd));
	return false;
}

/* --- the slot --- */

static void back_off(struct agent *a)
{
	uint32_t wait = a->backoff_ms;

	a->backoff_ms = wait ? wait * 2 : BACKOFF_MIN;
	if (a->backoff_ms > BACKOFF_MAX)
		a->backoff_ms = BACKOFF_MAX;
	a->retry_ms = agent_boot_ms() + wait;
}

/*
 * Without a slot from now on. @revoke: the kernel has no lease for sure, so the
 * others need not wait for the end of etcd's; the slot itself stays reserved.
 */
static void give_slot_up(struct agent *a, bool revoke)
{
	/* A host that was well for long is given a new chance at once. */
	if (a->state == AGENT_UP &&
	    agent_boot_ms() - a->up_since_ms > 3 * a->ttl_ms)
		a->backoff_ms = 0;
	if (revoke)
		a->old_lease = a->lease;
	a->lease = 0;
	a->reserved_lease = 0;
	a->deadline_ns = 0;
	a->nr_told = 0;
	a->told_version = 0;
	a->nr_slots = 0;
	free(a->report);
	a->report = NULL;
	a->state = AGENT_CLAIM;
	a->job_ms = 0;
	a->stale = true;
	back_off(a);
}

/* etcd calls the lease over. If that is true so does the kernel (A1). */
static void lease_is_over(struct agent *a)
{
	bool early = a->told_deadline_ns > agent_boot_ns();

	log_warning("pool %s: etcd has no lease of this host any more%s", a->pool.name,
		    early ? ", though it should: was it revoked, or has etcd lost data?" :
		    "");
	a->counters.lapses += a->state == AGENT_UP;
	a->give_back = early && a->state == AGENT_UP;
	give_slot_up(a, false);
}

/* A join may take longer than a lease: its grant grows with ours. */
static void prolong_join(struct agent *a)
{
	if (a->state != AGENT_JOIN || !worker_busy(a->worker) ||
	    a->job.kind != JOB_GRANT || a->job.incarnation != a->incarnation)
		return;
	if (!kernel_prolong(a->kernel, a->slot, a->incarnation, a->deadline_ns))
		a->joining_deadline_ns = a->deadline_ns;
}

static void renew(struct agent *a)
{
	uint64_t asked = agent_boot_ns(), ttl_ms, reserved_ms;
	int error;

	/* The slot's first: it must outlast what the kernel is told. */
	error = etcd_keep_alive(a->etcd, a->reserved_lease, &reserved_ms);
	if (!error)
		error = etcd_keep_alive(a->etcd, a->lease, &ttl_ms);
	if (!agent_etcd(a, error)) {
		a->counters.failed_renewals++;
		a->renew_ms = agent_boot_ms() + a->ttl_ms / 20 + 100;
		if (error == -ENOENT)
			lease_is_over(a);
		return;
	}
	a->counters.renewals++;
	a->ttl_ms = ttl_ms;
	a->deadline_ns = plan_deadline(asked, ttl_ms, reserved_ms, a->pool.q_ms);
	a->renew_ms = asked / 1000000 + ttl_ms / 3;
	prolong_join(a);
}

static void revoke_old(struct agent *a)
{
	int error = etcd_revoke(a->etcd, a->old_lease);

	if (agent_etcd(a, error) || error == -ENOENT)
		a->old_lease = 0;
}

/* --- taking a slot --- */

/*
 * The kernel has a grant, and etcd knows of it: an agent before this one was
 * killed. Its leases are this one's.
 */
static bool adopt(struct agent *a)
{
	const struct cluster_slot *s;

	if (a->pool.state != KVCACHE_POOL_UP || !a->pool.lease_left_ms ||
	    a->pool.slot >= CLUSTER_SLOTS)
		return false;
	s = &a->cluster.slots[a->pool.slot];
	if (!s->taken || !s->reserved || s->incarnation != a->pool.incarnation ||
	    strcmp(s->boot, a->boot) || strcmp(s->nqn, a->nqn) ||
	    strcmp(s->node, a->node))
		return false;
	a->slot = a->pool.slot;
	a->incarnation = s->incarnation;
	a->lease = s->lease;
	a->reserved_lease = s->reserved_lease;
	a->told_deadline_ns = 0;
	a->state = AGENT_UP;
	a->up_since_ms = agent_boot_ms();
	log_notice("pool %s: going on in slot %u with incarnation %" PRIu64,
		   a->pool.name, a->slot, a->incarnation);
	agent_no_problem(a);
	renew(a);
	return true;
}

static int choose_slot(struct agent *a)
{
	static struct plan_slot slots[CLUSTER_SLOTS];
	uint64_t now = agent_boot_ms();
	uint32_t i;

	for (i = 0; i < a->nr_slots; i++)
		slots[i] = (struct plan_slot) {
			.taken = a->cluster.slots[i].taken ||
				 a->cluster.slots[i].reserved,
			.state = a->slots[i].state,
			.incarnation = a->slots[i].incarnation,
			.still_ms = now - a->still[i].since_ms,
		};
	return plan_slot(slots, a->nr_slots,
			 (uint64_t)a->pool.lease_ms + a->pool.q_ms);
}

/* The highest that any slot shows, or this kernel was granted. */
static uint64_t highest_incarnation(const struct agent *a)
{
	uint64_t highest = a->pool.incarnation;
	uint32_t i;

	for (i = 0; i < a->nr_slots; i++)
		if (a->slots[i].incarnation > highest)
			highest = a->slots[i].incarnation;
	return highest;
}

/* Put the slot under these leases, unless somebody else was first. */
static bool take_slot(struct agent *a, uint32_t slot, uint64_t incarnation,
		      int64_t lease, int64_t reserved_lease)
{
	struct cluster_slot value = { .incarnation = incarnation };
	char keys[3][CLUSTER_KEY], number[24];
	const struct etcd_compare compares[] = {
		{ .key = agent_key(a, keys[0], "slots", (int)slot), .create = true },
		{ .key = agent_key(a, keys[1], "reserved", (int)slot), .create = true },
		{ .key = agent_key(a, keys[2], "incarnation", -1),
		  .revision = a->cluster.counter_mod },
	};
	struct etcd_op ops[] = {
		{ .key = keys[0], .lease = lease },
		{ .key = keys[1], .lease = reserved_lease },
		{ .key = keys[2], .value = number },
	};
	bool done;
	char *text;
	int error;

	snprintf(value.node, sizeof(value.node), "%s", a->node);
	snprintf(value.nqn, sizeof(value.nqn), "%s", a->nqn);
	snprintf(value.boot, sizeof(value.boot), "%s", a->boot);
	snprintf(number, sizeof(number), "%" PRIu64, incarnation);
	text = cluster_slot_value(&value);
	ops[0].value = text;
	ops[1].value = text;
	error = etcd_transact(a->etcd, compares, 3, ops, 3, &done);
	free(text);
	return agent_etcd(a, error) && done;
}

static void claim(struct agent *a)
{
	uint64_t asked, ttl_ms, reserved_ms, incarnation;
	int64_t lease = 0, reserved = 0;
	uint32_t ttl_s = a->asked_ttl_s;
	int slot, error;

	if (adopt(a))
		return;
	a->retry_ms = agent_boot_ms() + BUSY_RETRY;
	if (a->pool.state == KVCACHE_POOL_CLOSING || a->pool.lease_left_ms) {
		agent_problem(a, "pool %s: the kernel still has a grant that etcd knows nothing of, or is closing; waiting for its end",
			      a->pool.name);
		a->job_ms = 0;
		return;
	}
	slot = choose_slot(a);
	if (slot < 0) {
		agent_problem(a, "pool %s: none of its %u slots is free, or has been for Q (%u ms); waiting for one",
			      a->pool.name, a->nr_slots, a->pool.q_ms);
		return;
	}
	incarnation = plan_incarnation(a->cluster.counter,
				       highest_incarnation(a));
	if (!incarnation) {
		agent_problem(a, "pool %s: %sincarnation makes no sense, or there is no higher one",
			      a->pool.name, a->prefix);
		return;
	}
	asked = agent_boot_ns();
	error = etcd_grant(a->etcd, plan_reserved_ttl(ttl_s, a->pool.q_ms),
			   &reserved, &reserved_ms);
	if (!error)
		error = etcd_grant(a->etcd, ttl_s, &lease, &ttl_ms);
	a->stale = true;
	if (!agent_etcd(a, error))
		return;
	if (!take_slot(a, (uint32_t)slot, incarnation, lease, reserved)) {
		/* The kernel knows nothing of them. */
		etcd_revoke(a->etcd, lease);
		etcd_revoke(a->etcd, reserved);
		a->retry_ms = 0;
		return;
	}
	a->slot = (uint32_t)slot;
	a->incarnation = incarnation;
	a->lease = lease;
	a->reserved_lease = reserved;
	a->ttl_ms = ttl_ms;
	a->deadline_ns = plan_deadline(asked, ttl_ms, reserved_ms, a->pool.q_ms);
	a->told_deadline_ns = 0;
	a->renew_ms = asked / 1000000 + ttl_ms / 3;
	a->retry_ms = 0;
	a->state = AGENT_JOIN;
	log_notice("pool %s: joining in slot %d with incarnation %" PRIu64,
		   a->pool.name, slot, incarnation);
	agent_no_problem(a);
}

/* --- what the map says --- */

/* AGs that the map gives to this host: how many. */
static uint32_t wanted(const struct agent *a, struct kvcache_grant_ag *out)
{
	const struct cluster *c = &a->cluster;
	uint32_t i, n = 0;

	for (i = 0; i < c->nr_ags && i < a->pool.nr_ags; i++)
		if (c->ags[i].slot == a->slot &&
		    c->ags[i].incarnation == a->incarnation &&
		    !c->ags[i].release)
			out[n++] = (struct kvcache_grant_ag) {
				.ag = i,
				.epoch = c->ags[i].epoch,
			};
	return n;
}

static bool is_told(const struct agent *a, const struct kvcache_grant_ag *ags,
		    uint32_t nr)
{
	return nr == a->nr_told && !memcmp(ags, a->told, nr * sizeof(*ags));
}

static const struct kvcache_grant_ag *told_ag(const struct agent *a, uint32_t ag)
{
	uint32_t i;

	for (i = 0; i < a->nr_told; i++)
		if (a->told[i].ag == ag)
			return &a->told[i];
	return NULL;
}

static bool may_write(const struct kvcache_ag_info *ag)
{
	return ag->state == KVCACHE_AG_TAKING || ag->state == KVCACHE_AG_OWNED ||
	       ag->state == KVCACHE_AG_RELEASING;
}

/* Is anything on its way between hosts? */
static bool moving(const struct agent *a)
{
	uint32_t i;

	for (i = 0; i < a->nr_ags; i++) {
		const struct kvcache_ag_info *ag = &a->ags[i];

		if ((told_ag(a, i) != NULL) != (ag->state == KVCACHE_AG_OWNED) &&
		    ag->state != KVCACHE_AG_LOST)
			return true;
	}
	return false;
}

/* Takeovers that fail are somebody's business. */
static void tell_errors(struct agent *a)
{
	uint32_t i;

	for (i = 0; i < a->nr_ags; i++) {
		int error = abs(a->ags[i].error);

		if (error == a->told_errors[i])
			continue;
		a->told_errors[i] = error;
		if (error && error != EAGAIN)
			log_warning("pool %s: allocation group %u: %s. See 'kvcachectl ags' and the kernel's log",
				    a->pool.name, i, strerror(error));
	}
}

/* --- the report --- */

static void fill_report(const struct agent *a, struct cluster_report *r)
{
	static struct plan_epoch held[KERNEL_AGS_MAX], refused[KERNEL_AGS_MAX],
		floors[KERNEL_AGS_MAX], lost[KERNEL_AGS_MAX];
	static struct kvcache_grant_ag ags[KERNEL_AGS_MAX];
	uint32_t i;

	*r = (struct cluster_report) {
		.host = {
			.slot = a->slot,
			.incarnation = a->incarnation,
			.joined = true,
			.leaving = a->leaving,
			.seen = is_told(a, ags, wanted(a, ags)) ?
				a->cluster.version : a->told_version,
		},
		.held = held,
		.refused = refused,
		.floors = floors,
		.lost = lost,
	};
	for (i = 0; i < a->nr_ags; i++) {
		const struct kvcache_ag_info *ag = &a->ags[i];
		const struct kvcache_grant_ag *told = told_ag(a, i);
		uint64_t epoch = i < a->cluster.nr_ags ? a->cluster.ags[i].epoch : 0;

		if (told || may_write(ag))
			held[r->host.nr_held++] = (struct plan_epoch) {
				.ag = i,
				.epoch = told ? told->epoch : ag->epoch,
			};
		/* Unless this very epoch is what the slot shows by now. */
		if (told && ag->state != KVCACHE_AG_OWNED &&
		    abs(ag->error) == EAGAIN && ag->next_epoch > told->epoch &&
		    (ag->slot != a->slot || ag->shown != told->epoch))
			refused[r->host.nr_refused++] = (struct plan_epoch) {
				.ag = i,
				.epoch = told->epoch,
				.next = ag->next_epoch,
			};
		if (ag->state == KVCACHE_AG_LOST)
			lost[r->nr_lost++] = (struct plan_epoch) { .ag = i };
		/* What the leader can't know by counting. */
		if (!told && ag->next_epoch > epoch + 1)
			floors[r->nr_floors++] = (struct plan_epoch) {
				.ag = i,
				.epoch = ag->next_epoch,
			};
	}
}

static void report(struct agent *a)
{
	struct cluster_report r;
	char key[CLUSTER_KEY];
	struct etcd_op op = {
		.key = agent_key(a, key, "hosts", (int)a->slot),
		.lease = a->lease,
	};
	bool done;
	char *text;
	int error;

	fill_report(a, &r);
	text = cluster_report_value(&r);
	if (a->report && !strcmp(text, a->report)) {
		free(text);
		return;
	}
	op.value = text;
	error = etcd_transact(a->etcd, NULL, 0, &op, 1, &done);
	if (agent_etcd(a, error)) {
		free(a->report);
		a->report = text;
		a->stale = true;
		return;
	}
	free(text);
	if (error == -ENOENT)
		lease_is_over(a);
}

/* --- the kernel --- */

static bool lock_pool(struct agent *a, const char *uuid)
{
	char path[512];

	if (a->lock_fd >= 0)
		return true;
	snprintf(path, sizeof(path), "%s/%s.%u.lock", a->config->run_dir, uuid,
		 a->pool.number);
	a->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (a->lock_fd < 0) {
		log_error("%s: can't make it: %s", path, strerror(errno));
		return false;
	}
	if (flock(a->lock_fd, LOCK_EX | LOCK_NB)) {
		log_error("pool %s: another kvcached serves it on this host (%s is locked)",
			  a->pool.name, path);
		/* Nor is the status file this one's. */
		close(a->lock_fd);
		a->lock_fd = -1;
		return false;
	}
	return true;
}

static void attached(struct agent *a)
{
	const uint8_t *u = a->pool.uuid;
	char uuid[40];
	uint32_t request_ms;

	if (a->job.error) {
		agent_problem(a, "pool %s: can't attach it: %s", a->config->pool,
			      *a->job.reason ? a->job.reason :
			      strerror(-a->job.error));
		if (!a->backoff_ms)
			a->backoff_ms = BACKOFF_MIN;
		back_off(a);
		return;
	}
	a->pool = a->job.pool;
	if (a->pool.mode != KVCACHE_MODE_GRANTED) {
		agent_problem(a, "pool %s: it is attached, but not to be granted. Detach it: 'kvcachectl detach %u'",
			      a->pool.name, a->pool.number);
		a->retry_ms = agent_boot_ms() + BACKOFF_MIN;
		return;
	}
	snprintf(uuid, sizeof(uuid),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9],
		 u[10], u[11], u[12], u[13], u[14], u[15]);
	if (!lock_pool(a, uuid)) {
		a->finished = true;
		a->status = 1;
		return;
	}
	a->attached = a->attached || a->job.attached || agent_attached_before(a);
	snprintf(a->prefix, sizeof(a->prefix), "%.150s/%s/", a->config->prefix,
		 uuid);
	if (!a->asked_ttl_s)
		a->asked_ttl_s = a->config->ttl_s ? a->config->ttl_s :
				 plan_ttl(a->pool.lease_ms);
	request_ms = a->asked_ttl_s * 1000 / 4;
	if (request_ms < REQUEST_MIN)
		request_ms = REQUEST_MIN;
	if (request_ms > REQUEST_MAX)
		request_ms = REQUEST_MAX;
	etcd_set_timeout(a->etcd, request_ms);
	a->state = AGENT_CLAIM;
	a->backoff_ms = 0;
	a->retry_ms = 0;
	a->job_ms = 0;
	a->stale = true;
	log_notice("pool %s (%s) is number %u%s: %u allocation groups, %u slots, lease %u ms, Q %u ms",
		   a->pool.name, uuid, a->pool.number,
		   a->job.attached ? "" : ", attached already", a->pool.nr_ags,
		   a->pool.nr_slots, a->pool.lease_ms, a->pool.q_ms);
	agent_no_problem(a);
}

/* Somebody has detached the pool. */
static void gone(struct agent *a)
{
	agent_problem(a, "pool %s: it was detached behind kvcached's back, and is attached again. To leave a pool stop kvcached",
		      a->pool.name);
	if (a->lease)
		give_slot_up(a, true);
	a->state = AGENT_ATTACH;
	a->attached = false;
	a->retry_ms = agent_boot_ms() + BACKOFF_MIN;
}

static void take_slots(struct agent *a)
{
	uint64_t now = agent_boot_ms();
	uint32_t i;

	a->nr_slots = (uint32_t)a->job.nr_slots;
	memcpy(a->slots, a->job.slots, a->nr_slots * sizeof(a->slots[0]));
	for (i = 0; i < a->nr_slots; i++) {
		struct agent_still *still = &a->still[i];

		if (still->since_ms && still->sequence == a->slots[i].sequence &&
		    still->incarnation == a->slots[i].incarnation)
			continue;
		*still = (struct agent_still) {
			.incarnation = a->slots[i].incarnation,
			.sequence = a->slots[i].sequence,
			.since_ms = now,
		};
	}
}

static void joined(struct agent *a)
{
	int error = a->job.error;

	if (a->job.incarnation != a->incarnation)
		return;
	if (error == -ESTALE && agent_boot_ns() >= a->joining_deadline_ns)
		error = -ETIMEDOUT;
	switch (-error) {
	case 0:
		break;
	case EBUSY:
		agent_problem(a, "pool %s: the kernel is busy with another grant, or slot %u is another host's",
			      a->pool.name, a->slot);
		a->retry_ms = agent_boot_ms() + BUSY_RETRY;
		return;
	case ETIMEDOUT:
		if (!a->config->ttl_s && a->asked_ttl_s < TTL_MAX_S)
			a->asked_ttl_s *= 2;
		agent_problem(a, "pool %s: joining takes longer than a lease in etcd; trying with %u s",
			      a->pool.name, a->asked_ttl_s);
		give_slot_up(a, true);
		return;
	case ESTALE:
		agent_problem(a, "pool %s: the kernel refuses incarnation %" PRIu64 " of slot %u: it has lapsed, or was used before",
			      a->pool.name, a->incarnation, a->slot);
		give_slot_up(a, true);
		return;
	default:
		agent_problem(a, "pool %s: can't join: %s. See 'kvcachectl info' and the kernel's log",
			      a->pool.name, strerror(-error));
		back_off(a);
		return;
	}
	a->counters.joins++;
	a->state = AGENT_UP;
	a->up_since_ms = agent_boot_ms();
	a->told_version = 0;
	a->told_deadline_ns = a->joining_deadline_ns;
	a->nr_told = 0;
	a->job_ms = 0;
	a->stale = true;
	log_notice("pool %s: joined in slot %u", a->pool.name, a->slot);
	agent_no_problem(a);
}

static void told(struct agent *a)
{
	int error = a->job.error;

	if (a->job.kind == JOB_GRANT && a->job.incarnation != a->incarnation)
		return;
	if (error == -ENODEV) {
		gone(a);
		return;
	}
	if (error == -ESTALE || error == -ETIMEDOUT ||
	    (!error && a->pool.state == KVCACHE_POOL_LAPSED)) {
		log_warning("pool %s: the kernel has lost its lease: %s. Joining anew",
			    a->pool.name,
			    agent_boot_ns() >= a->told_deadline_ns ?
			    "etcd was away, or this agent stood still, for too long" :
			    "its slot on media could not be written in time");
		a->counters.lapses++;
		give_slot_up(a, true);
		return;
	}
	if (error) {
		if (error != -EBUSY)
			agent_problem(a, "pool %s: the kernel does not take its grant: %s",
				      a->pool.name, strerror(-error));
		a->busy_ms = agent_boot_ms() + BUSY_RETRY;
		return;
	}
	if (a->job.kind == JOB_GRANT) {
		memcpy(a->told, a->job.grant, sizeof(a->told));
		a->nr_told = a->job.nr_grant;
		a->told_version = a->job.version;
		a->told_deadline_ns = a->job.deadline_ns;
	}
	tell_errors(a);
	a->job_ms = agent_boot_ms() + (moving(a) ? MOVING_POLL : QUIET_POLL);
}

static void detached(struct agent *a)
{
	a->finished = true;
	if (a->job.error) {
		log_error("pool %s: can't detach it: %s", a->pool.name,
			  a->job.error == -ETIMEDOUT ?
			  "calls are still in progress" : strerror(-a->job.error));
		a->status = 1;
		return;
	}
	log_notice("pool %s: detached", a->pool.name);
	a->attached = false;
	if (a->lease && a->reachable)
		etcd_revoke(a->etcd, a->lease);
	a->lease = 0;
}

static void job_done(struct agent *a)
{
	struct job *job = &a->job;

	if (job->kind == JOB_ATTACH) {
		attached(a);
		return;
	}
	if (job->kind == JOB_DETACH) {
		detached(a);
		return;
	}
	if (job->known) {
		a->pool = job->pool;
		a->nr_ags = (uint32_t)job->nr_ags;
		memcpy(a->ags, job->ags, a->nr_ags * sizeof(a->ags[0]));
	}
	if (job->kind == JOB_LOOK && !job->error) {
		a->look = false;
		take_slots(a);
	}
	switch (a->state) {
	case AGENT_CLAIM:
		if (job->error == -ENODEV)
			gone(a);
		else if (job->error && job->error != -EAGAIN &&
			 job->kind == JOB_LOOK)
			agent_problem(a, "pool %s: can't read its slots: %s",
				      a->pool.name, strerror(-job->error));
		a->job_ms = agent_boot_ms() + CLAIM_LOOK;
		break;
	case AGENT_JOIN:
		if (job->kind == JOB_GRANT)
			joined(a);
		break;
	case AGENT_UP:
		told(a);
		break;
	case AGENT_ATTACH:
	case AGENT_DETACH:
		break;
	}
}

static void grant(struct agent *a, const struct kvcache_grant_ag *ags,
		  uint32_t nr, uint64_t deadline_ns)
{
	struct job *job = &a->job;

	job->kind = JOB_GRANT;
	job->slot = a->slot;
	job->incarnation = a->incarnation;
	job->deadline_ns = deadline_ns;
	memset(job->grant, 0, sizeof(job->grant));
	memcpy(job->grant, ags, nr * sizeof(*ags));
	job->nr_grant = nr;
	job->version = a->cluster.version;
	worker_do(a->worker, job);
}

static void simple_job(struct agent *a, enum job_kind kind)
{
	a->job.kind = kind;
	worker_do(a->worker, &a->job);
}

static void start_job(struct agent *a)
{
	static struct kvcache_grant_ag ags[KERNEL_AGS_MAX];
	uint64_t now = agent_boot_ms();
	uint32_t nr;

	if (worker_busy(a->worker) || a->finished)
		return;
	if (a->give_back) {
		/* The lease ends with the deadline; what is owned ends now. */
		a->give_back = false;
		grant(a, ags, 0, a->told_deadline_ns);
		return;
	}
	switch (a->state) {
	case AGENT_ATTACH:
		if (now >= a->retry_ms)
			simple_job(a, JOB_ATTACH);
		break;
	case AGENT_CLAIM:
		if (now >= a->job_ms)
			simple_job(a, JOB_LOOK);
		break;
	case AGENT_JOIN:
		if (now >= a->retry_ms) {
			a->joining_deadline_ns = a->deadline_ns;
			grant(a, ags, 0, a->deadline_ns);
		}
		break;
	case AGENT_UP:
		nr = wanted(a, ags);
		if (now >= a->busy_ms &&
		    (a->told_deadline_ns < a->deadline_ns || !is_told(a, ags, nr)))
			grant(a, ags, nr, a->deadline_ns);
		else if (a->look)
			simple_job(a, JOB_LOOK);
		else if (now >= a->job_ms)
			simple_job(a, JOB_POLL);
		break;
	case AGENT_DETACH:
		a->job.timeout_ms = a->config->leave_ms;
		simple_job(a, JOB_DETACH);
		break;
	}
}

/* --- the cluster --- */

static uint64_t newest(const struct etcd_kvs *kvs)
{
	uint64_t sum = kvs->count;
	size_t i;

	for (i = 0; i < kvs->count; i++)
		sum = sum * 31 + (uint64_t)kvs->kvs[i].mod;
	return sum;
}

static bool due_to_read(const struct agent *a)
{
	uint64_t since = agent_boot_ms() - a->read_ms;

	if (!*a->prefix)
		return false;
	if (!a->reachable)
		/* With a lease its renewal is what looks for etcd. */
		return since >= ETCD_RETRY && (!a->lease || !a->cluster_known);
	return a->stale ? since >= READ_SPACING : since >= READ_EVERY;
}

static void read_cluster(struct agent *a)
{
	struct etcd_kvs kvs;
	bool unasked = !a->stale && a->cluster_known;
	uint64_t mark;
	int error;

	a->read_ms = agent_boot_ms();
	a->stale = false;
	error = etcd_read(a->etcd, a->prefix, &kvs);
	if (!agent_etcd(a, error)) {
		a->stale = true;
		return;
	}
	mark = newest(&kvs);
	cluster_free(&a->cluster);
	cluster_parse(&a->cluster, a->prefix, &kvs);
	etcd_kvs_free(&kvs);
	a->stale = false;
	/* There was a change that the watch has not told of. */
	if (unasked && mark != a->mark)
		log_debug("the watch missed a change: beginning it anew");
	if (!etcd_watching(a->etcd) || (unasked && mark != a->mark)) {
		etcd_watch(a->etcd, a->prefix, a->cluster.revision + 1);
		a->counters.watches++;
	}
	a->mark = mark;
	a->cluster_known = true;
}

/* --- the end --- */

static bool has_anything(const struct agent *a)
{
	const struct cluster *c = &a->cluster;
	uint32_t i;

	for (i = 0; i < c->nr_ags; i++)
		if (c->ags[i].slot == a->slot &&
		    c->ags[i].incarnation == a->incarnation)
			return true;
	for (i = 0; i < a->nr_ags; i++)
		if (may_write(&a->ags[i]))
			return true;
	return false;
}

static void end(struct agent *a)
{
	bool detach = a->config->detach == CONFIG_DETACH_YES ||
		      (a->config->detach == CONFIG_DETACH_AUTO && a->attached);

	if (detach && a->state != AGENT_ATTACH) {
		a->state = AGENT_DETACH;
		return;
	}
	/* The lease, if there is one, ends by itself, after the kernel's. */
	a->finished = true;
}

static void leave(struct agent *a)
{
	switch (a->state) {
	case AGENT_ATTACH:
		end(a);
		break;
	case AGENT_CLAIM:
		if (!worker_busy(a->worker))
			end(a);
		break;
	case AGENT_JOIN:
		if (agent_boot_ms() >= a->leave_by_ms)
			end(a);
		break;
	case AGENT_UP:
		if (!a->reachable) {
			log_warning("pool %s: etcd does not answer: leaving without handing over",
				    a->pool.name);
			end(a);
		} else if (a->report && !has_anything(a)) {
			log_notice("pool %s: all is handed over", a->pool.name);
			end(a);
		} else if (agent_boot_ms() >= a->leave_by_ms) {
			log_warning("pool %s: not all could be handed over in %u s: leaving all the same",
				    a->pool.name, a->config->leave_ms / 1000);
			end(a);
		}
		break;
	case AGENT_DETACH:
		break;
	}
}

static void take_signal(struct agent *a, int stop_fd)
{
	struct signalfd_siginfo info;

	if (read(stop_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (a->leaving) {
		log_warning("asked to end a second time: ending at once");
		a->finished = true;
		a->status = 1;
		return;
	}
	log_notice("leaving");
	a->leaving = true;
	a->leave_by_ms = agent_boot_ms() + a->config->leave_ms;
}

/* --- the loop --- */

static void act(struct agent *a)
{
	if (a->leaving)
		leave(a);
	if (a->finished || !a->reachable || !a->cluster_known)
		return;
	if (a->state == AGENT_CLAIM && !a->leaving && !a->stale && a->nr_slots &&
	    !worker_busy(a->worker) && agent_boot_ms() >= a->retry_ms)
		claim(a);
	/* Not of what only an agent before this one has told the kernel. */
	if (a->state == AGENT_UP && a->told_deadline_ns)
		report(a);
	if (a->state == AGENT_UP && !a->stale)
		agent_lead(a);
}

static void sooner(uint64_t *when, uint64_t other)
{
	if (other < *when)
		*when = other;
}

static int until_next(const struct agent *a)
{
	uint64_t now = agent_boot_ms(), when = now + WAIT_MAX;

	if (a->lease)
		sooner(&when, a->renew_ms);
	if (!worker_busy(a->worker)) {
		if (a->state == AGENT_ATTACH || a->state == AGENT_JOIN)
			sooner(&when, a->retry_ms);
		else
			sooner(&when, a->job_ms);
	}
	if (a->state == AGENT_CLAIM && a->retry_ms > now)
		sooner(&when, a->retry_ms);
	if (*a->prefix && a->reachable)
		sooner(&when, a->read_ms + (a->stale ? READ_SPACING : READ_EVERY));
	/* Never in a circle, whatever went wrong above. */
	return when <= now ? 5 : (int)(when - now);
}

static void identify(struct agent *a)
{
	FILE *file;

	if (a->config->node)
		snprintf(a->node, sizeof(a->node), "%s", a->config->node);
	else if (gethostname(a->node, sizeof(a->node) - 1))
		strcpy(a->node, "?");
	if (a->config->hostnqn) {
		snprintf(a->nqn, sizeof(a->nqn), "%s", a->config->hostnqn);
	} else if ((file = fopen("/etc/nvme/hostnqn", "re"))) {
		if (fgets(a->nqn, sizeof(a->nqn), file))
			a->nqn[strcspn(a->nqn, "\r\n")] = '\0';
		fclose(file);
	}
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file) {
		if (fgets(a->boot, sizeof(a->boot), file))
			a->boot[strcspn(a->boot, "\r\n")] = '\0';
		fclose(file);
	}
}

int agent_run(const struct config *config, struct kernel *kernel, int stop_fd)
{
	struct agent *a = calloc(1, sizeof(*a));
	int status, fds[2];

	if (!a)
		abort();
	a->config = config;
	a->kernel = kernel;
	a->lock_fd = -1;
	a->reachable = true;
	a->stale = true;
	identify(a);
	if (mkdir(config->run_dir, 0755) && errno != EEXIST) {
		log_error("%s: can't make it: %s", config->run_dir, strerror(errno));
		free(a);
		return 1;
	}
	a->etcd = etcd_open(config, REQUEST_MIN);
	a->worker = worker_start(kernel);
	fds[0] = stop_fd;
	fds[1] = worker_fd(a->worker);
	while (!a->finished) {
		take_signal(a, stop_fd);
		if (worker_done(a->worker))
			job_done(a);
		if (a->old_lease && a->reachable)
			revoke_old(a);
		if (a->lease && agent_boot_ms() >= a->renew_ms)
			renew(a);
		if (due_to_read(a))
			read_cluster(a);
		act(a);
		start_job(a);
		if (a->lock_fd >= 0)
			agent_write_status(a);
		if (!a->finished && etcd_wait(a->etcd, fds, 2, until_next(a)))
			a->stale = true;
	}
	status = a->status;
	/* What is in the kernel can't be waited for. */
	if (worker_busy(a->worker))
		_exit(status);
	worker_stop(a->worker);
	etcd_close(a->etcd);
	cluster_free(&a->cluster);
	free(a->report);
	free(a->status_text);
	if (a->lock_fd >= 0)
		close(a->lock_fd);
	free(a);
	return status;
}
