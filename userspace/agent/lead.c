// SPDX-License-Identifier: MIT
/* What the leader does: it makes maps. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "log.h"

/* A slot on media that changed less than so many leases ago may be alive. */
#define FOREIGN_LEASES 2

/**
 * struct leading - a map in the making
 * @ags: the map
 * @nr_ags: its length
 * @hosts: all whose lease holds
 * @floors: per AG
 * @homes: per AG
 * @lost: per AG
 * @view: made of these
 * @step: what is done
 */
struct leading {
	struct plan_ag ags[KERNEL_AGS_MAX];
	uint32_t nr_ags;
	struct plan_host hosts[KVCACHE_HOSTS_MAX];
	uint64_t floors[KERNEL_AGS_MAX];
	uint32_t homes[KERNEL_AGS_MAX];
	bool lost[KERNEL_AGS_MAX];
	struct plan_view view;
	struct plan_step step;
};

bool agent_leads(const struct agent *a)
{
	return a->lease && a->cluster.leader_lease == a->lease;
}

static void become_leader(struct agent *a)
{
	char key[CLUSTER_KEY];
	char *value = cluster_leader_value(a->slot, a->incarnation);
	const struct etcd_compare compare = {
		.key = agent_key(a, key, "leader", -1),
		.create = true,
	};
	const struct etcd_op op = {
		.key = key,
		.value = value,
		.lease = a->lease,
	};
	bool done;
	int error = etcd_transact(a->etcd, &compare, 1, &op, 1, &done);

	free(value);
	if (agent_etcd(a, error) && done)
		log_notice("pool %s: this host leads now", a->pool.name);
	a->stale = true;
}

/*
 * A pool without a map is a new one, or etcd has lost what it knew. Then hosts
 * that it knew may still write: their slots on media change.
 */
static bool nobody_else_is_there(struct agent *a)
{
	uint64_t silence = (uint64_t)a->pool.lease_ms * FOREIGN_LEASES;
	uint32_t i;

	if (!a->nr_slots) {
		a->look = true;
		return false;
	}
	for (i = 0; i < a->nr_slots; i++) {
		const struct kvcache_slot_info *s = &a->slots[i];

		if (a->cluster.slots[i].taken || a->cluster.slots[i].reserved ||
		    (s->state != KVCACHE_SLOT_ACTIVE &&
		     s->state != KVCACHE_SLOT_JOINING) ||
		    s->silent_ms >= silence)
			continue;
		agent_problem(a, "pool %s: host %.63s has slot %u on media, but etcd knows nothing of it. Waiting until it is silent; stop what attached it there, if that is not kvcached",
			      a->pool.name, (const char *)s->node, i);
		a->look = true;
		return false;
	}
	return true;
}

/* Lost is what every host that has joined calls lost. */
static void collect_lost(const struct agent *a, struct leading *l)
{
	uint32_t calls[KERNEL_AGS_MAX] = { 0 }, hosts = 0, i, j;

	for (i = 0; i < CLUSTER_SLOTS; i++) {
		const struct cluster_report *r = &a->cluster.reports[i];

		if (!a->cluster.slots[i].taken || !r->there || !r->host.joined)
			continue;
		hosts++;
		for (j = 0; j < r->nr_lost; j++)
			if (r->lost[j].ag < l->nr_ags)
				calls[r->lost[j].ag]++;
	}
	for (i = 0; i < l->nr_ags; i++)
		l->lost[i] = hosts && calls[i] == hosts;
}

static void collect_hosts(const struct agent *a, struct leading *l)
{
	uint32_t i, j, n = 0;

	for (i = 0; i < CLUSTER_SLOTS; i++) {
		const struct cluster_report *r = &a->cluster.reports[i];

		if (!a->cluster.slots[i].taken)
			continue;
		if (r->there)
			l->hosts[n] = r->host;
		else
			l->hosts[n] = (struct plan_host) {
				.slot = i,
				.incarnation = a->cluster.slots[i].incarnation,
			};
		n++;
		for (j = 0; j < r->nr_floors; j++)
			if (r->floors[j].ag < l->nr_ags &&
			    r->floors[j].epoch > l->floors[r->floors[j].ag])
				l->floors[r->floors[j].ag] = r->floors[j].epoch;
	}
	l->view = (struct plan_view) {
		.hosts = l->hosts,
		.nr_hosts = n,
		.quiet = a->cluster.quiet,
		.nr_quiet = a->cluster.nr_quiet,
		.q = a->pool.q_ms != 0,
		.floors = l->floors,
		.homes = l->homes,
		.lost = l->lost,
	};
	collect_lost(a, l);
}

static bool collect(struct agent *a, struct leading *l)
{
	uint32_t i;

	if (a->cluster.map_mod && a->cluster.nr_ags > a->pool.nr_ags) {
		agent_problem(a, "pool %s: the map in etcd has %u allocation groups, the pool here %u: if it has grown run 'kvcachectl refresh', if it was formatted anew delete %smap",
			      a->pool.name, a->cluster.nr_ags, a->pool.nr_ags,
			      a->prefix);
		return false;
	}
	memset(l, 0, sizeof(*l));
	l->nr_ags = a->pool.nr_ags;
	for (i = 0; i < l->nr_ags; i++) {
		/* A pool that has grown has AGs that are nobody's yet. */
		if (i < a->cluster.nr_ags)
			l->ags[i] = a->cluster.ags[i];
		else
			l->ags[i].slot = PLAN_NOBODY;
		if (i < a->nr_ags) {
			l->homes[i] = a->ags[i].home;
			l->floors[i] = a->ags[i].next_epoch;
		}
	}
	collect_hosts(a, l);
	return true;
}

/* Put the map in place, and the epochs that end by it out of reach for Q. */
static void commit(struct agent *a, struct leading *l)
{
	struct etcd_op ops[PLAN_ENDS_MAX + 1];
	char keys[PLAN_ENDS_MAX + 1][CLUSTER_KEY], leader[CLUSTER_KEY];
	const struct etcd_compare compares[] = {
		{ .key = agent_key(a, keys[0], "map", -1),
		  .revision = a->cluster.map_mod },
		{ .key = agent_key(a, leader, "leader", -1), .create = true,
		  .revision = a->cluster.leader_create },
	};
	uint64_t version = a->cluster.version + 1, ttl_ms;
	uint32_t nr_ops = 0, i;
	int64_t quiet = 0;
	bool done;
	char *map;
	int error;

	if (l->step.nr_ended && a->pool.q_ms) {
		error = etcd_grant(a->etcd, (a->pool.q_ms + 999) / 1000 + 1,
				   &quiet, &ttl_ms);
		if (!agent_etcd(a, error))
			return;
	}
	map = cluster_map_value(version, l->ags, l->nr_ags);
	ops[nr_ops++] = (struct etcd_op) { .key = keys[0], .value = map };
	for (i = 0; quiet && i < l->step.nr_ended; i++) {
		snprintf(keys[i + 1], CLUSTER_KEY, "%squiet/%u/%" PRIu64,
			 a->prefix, l->step.ended[i].ag, l->step.ended[i].epoch);
		ops[nr_ops++] = (struct etcd_op) {
			.key = keys[i + 1],
			.value = "",
			.lease = quiet,
		};
	}
	error = etcd_transact(a->etcd, compares, 2, ops, nr_ops, &done);
	free(map);
	a->stale = true;
	if (!agent_etcd(a, error) || !done)
		return;
	a->counters.steps++;
	log_notice("pool %s: map %" PRIu64 ": %u allocation groups given to hosts, %u to be given up, %u epochs ended",
		   a->pool.name, version, l->step.taken, l->step.released,
		   l->step.nr_ended);
}

void agent_lead(struct agent *a)
{
	static struct leading l;

	if (a->cluster.bad) {
		agent_problem(a, "pool %s: what stands in etcd under %s makes no sense: nothing moves until that is put right",
			      a->pool.name, a->prefix);
		return;
	}
	if (!a->cluster.leader_create) {
		become_leader(a);
		return;
	}
	if (!agent_leads(a) || !collect(a, &l))
		return;
	if (!a->cluster.map_mod && !nobody_else_is_there(a))
		return;
	plan_next(l.ags, l.nr_ags, a->cluster.version + 1, &l.view, &l.step);
	if (l.step.waiting)
		log_debug("pool %s: %u allocation groups wait for Q", a->pool.name,
			  l.step.waiting);
	if (l.step.changed)
		commit(a, &l);
}
