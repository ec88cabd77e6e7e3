/* SPDX-License-Identifier: MIT */
/*
 * The cluster as it stands in etcd. All keys of a pool begin with
 * /kvcache/UUID/; numbers that may need 64 bits are text in JSON.
 *
 *	slots/N		who has slot N; bound to the lease of that host, so it is
 *			gone when that lease is over
 *	reserved/N	slot N is not free; bound to a second lease of that host,
 *			which ends Q later than the first (protocol rule 4)
 *	hosts/N		what the host in slot N reports; bound to its lease
 *	leader		who plans; bound to the lease of that host
 *	incarnation	the highest that was ever given
 *	map		who owns what, written by the leader
 *	quiet/AG/EPOCH	that epoch ended less than Q ago, so its area is left
 *			alone (rule 4); bound to a lease of length Q
 *
 * So etcd's leases are the only clock by which Q is measured, and no two hosts'
 * clocks are ever compared.
 */
#ifndef KVC_AGENT_CLUSTER_H
#define KVC_AGENT_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/kvcache.h>

#include "etcd.h"
#include "plan.h"

#define CLUSTER_SLOTS	KVCACHE_HOSTS_MAX
#define CLUSTER_KEY	320
#define CLUSTER_PREFIX	240
#define CLUSTER_BOOT	40

/**
 * struct cluster_slot - what etcd says of a slot
 * @taken: a host has it
 * @reserved: nobody may take it
 * @incarnation: of that host
 * @lease: that slots/N is bound to
 * @reserved_lease: that reserved/N is bound to
 * @node: name of the host
 * @nqn: and its NQN
 * @boot: and its boot
 */
struct cluster_slot {
	bool taken;
	bool reserved;
	uint64_t incarnation;
	int64_t lease;
	int64_t reserved_lease;
	char node[KVCACHE_NAME_MAX];
	char nqn[KVCACHE_NQN_MAX];
	char boot[CLUSTER_BOOT];
};

/**
 * struct cluster_report - what a host reports, beyond its struct plan_host
 * @there: it has reported
 * @host: for plan_next()
 * @held: for @host
 * @refused: for @host
 * @floors: epochs that its kernel would take, where above the map's
 * @nr_floors: how many
 * @lost: AGs whose home its kernel can't reach; of these epochs nothing is said
 * @nr_lost: how many
 */
struct cluster_report {
	bool there;
	struct plan_host host;
	struct plan_epoch *held;
	struct plan_epoch *refused;
	struct plan_epoch *floors;
	uint32_t nr_floors;
	struct plan_epoch *lost;
	uint32_t nr_lost;
};

/**
 * struct cluster - all of it, at one revision
 * @revision: of etcd
 * @slots: host slots
 * @reports: of the host in each slot; only if it is of that incarnation
 * @counter: the highest incarnation that was ever given
 * @counter_mod: revision of that key, 0: not there
 * @leader_create: revision that made the leader, 0: there is none
 * @leader_lease: that the leader is bound to
 * @leader_slot: and its slot
 * @map_mod: revision of the map, 0: there is none
 * @bad: map or slots make no sense: nobody may plan by them
 * @version: of the map
 * @ags: the map
 * @nr_ags: its length
 * @quiet: epochs that ended less than Q ago
 * @nr_quiet: how many
 */
struct cluster {
	int64_t revision;
	struct cluster_slot slots[CLUSTER_SLOTS];
	struct cluster_report reports[CLUSTER_SLOTS];
	uint64_t counter;
	int64_t counter_mod;
	int64_t leader_create;
	int64_t leader_lease;
	uint32_t leader_slot;
	int64_t map_mod;
	bool bad;
	uint64_t version;
	struct plan_ag *ags;
	uint32_t nr_ags;
	struct plan_epoch *quiet;
	uint32_t nr_quiet;
};

/* What stands in @kvs, whose keys begin with @prefix, which ends with a slash. */
void cluster_parse(struct cluster *c, const char *prefix,
		   const struct etcd_kvs *kvs);
void cluster_free(struct cluster *c);

/* Values, to free(). */
char *cluster_slot_value(const struct cluster_slot *slot);
char *cluster_leader_value(uint32_t slot, uint64_t incarnation);
char *cluster_report_value(const struct cluster_report *report);
char *cluster_map_value(uint64_t version, const struct plan_ag *ags,
			uint32_t nr_ags);

#endif
