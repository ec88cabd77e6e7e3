/* SPDX-License-Identifier: MIT */
/*
 * Who owns which allocation group next: the agent's decisions, without etcd, a
 * kernel, a clock or memory of its own. All that is decided follows from what
 * stands in etcd, so any agent may be the one that decides.
 *
 * The map names an owner (slot and incarnation) and an epoch for each allocation
 * group (AG). An AG goes from one host to another in two steps, each a version of
 * the map:
 *
 *	owned by A --> A shall release it --> owned by B, with a higher epoch
 *
 * The second is made when A has told that its kernel has given the AG up, knowing
 * a version of the map not below that of the first step; or when A's lease is
 * over, and then there need not be a first step.
 */
#ifndef KVC_AGENT_PLAN_H
#define KVC_AGENT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_NOBODY	UINT32_MAX
/* Epoch e uses area e modulo this (format.rst). */
#define PLAN_AREAS	4
#define PLAN_EPOCH_MAX	UINT32_MAX
/* Epochs that may end in one step: what fits into one transaction of etcd. */
#define PLAN_ENDS_MAX	64

/**
 * struct plan_ag - an allocation group in the map
 * @slot: of its owner, or PLAN_NOBODY
 * @incarnation: of its owner
 * @epoch: the highest that was ever granted, 0: none
 * @since: version of the map in which this entry changed last
 * @release: its owner shall give it up
 */
struct plan_ag {
	uint32_t slot;
	uint64_t incarnation;
	uint64_t epoch;
	uint64_t since;
	bool release;
};

/**
 * struct plan_epoch - an AG and an epoch of it
 * @ag: its number
 * @epoch: epoch
 * @next: of a refused epoch: the lowest that the kernel would take
 */
struct plan_epoch {
	uint32_t ag;
	uint64_t epoch;
	uint64_t next;
};

/**
 * struct plan_host - a host whose lease holds
 * @slot: its slot
 * @incarnation: of the slot
 * @joined: its kernel has joined, so it can own AGs
 * @leaving: it wants to be rid of what it owns
 * @seen: version of the map that its kernel was told
 * @held: AGs that its kernel may write to
 * @nr_held: how many
 * @refused: AGs that its kernel can't take with the epoch granted
 * @nr_refused: how many
 */
struct plan_host {
	uint32_t slot;
	uint64_t incarnation;
	bool joined;
	bool leaving;
	uint64_t seen;
	const struct plan_epoch *held;
	uint32_t nr_held;
	const struct plan_epoch *refused;
	uint32_t nr_refused;
};

/**
 * struct plan_view - what is known when a step is planned
 * @hosts: all hosts whose lease holds
 * @nr_hosts: how many
 * @quiet: epochs that ended less than Q ago: their areas are left alone
 * @nr_quiet: how many
 * @q: Q is not 0: areas have to be left alone at all
 * @floors: per AG the lowest epoch that kernels would take, as far as known
 * @homes: per AG the member that its journals are on; NULL: not known
 * @lost: per AG: no host that has joined can reach that member, so none can own it
 *	(protocol rule 30); NULL: none is
 */
struct plan_view {
	const struct plan_host *hosts;
	uint32_t nr_hosts;
	const struct plan_epoch *quiet;
	uint32_t nr_quiet;
	bool q;
	const uint64_t *floors;
	const uint32_t *homes;
	const bool *lost;
};

/**
 * struct plan_step - what a step does
 * @changed: it does anything
 * @ended: epochs that end by it
 * @nr_ended: how many
 * @taken: AGs that get an owner
 * @released: AGs whose owner is told to give them up
 * @waiting: AGs without an owner since all areas have to be left alone
 */
struct plan_step {
	bool changed;
	struct plan_epoch ended[PLAN_ENDS_MAX];
	uint32_t nr_ended;
	uint32_t taken;
	uint32_t released;
	uint32_t waiting;
};

/*
 * The next version of the map of @nr_ags AGs, in place: @version is what it will
 * have. Each host that has joined and is not leaving gets its share, one AG more
 * or less; nothing moves that need not move for that. An AG that is lost is nobody's
 * share: it stays with the owner that it has, or without one.
 */
void plan_next(struct plan_ag *ags, uint32_t nr_ags, uint64_t version,
	       const struct plan_view *view, struct plan_step *step);

/**
 * struct plan_slot - a host slot, for the choice of a free one
 * @taken: somebody has it in etcd, or had it less than Q ago
 * @state: KVCACHE_SLOT_*, as media show it
 * @incarnation: as media show it
 * @still_ms: for how long this agent has seen it not to change
 */
struct plan_slot {
	bool taken;
	uint32_t state;
	uint64_t incarnation;
	uint64_t still_ms;
};

/*
 * A slot to take, or -1. One that was never used comes first, then one whose
 * host left in good order. One that looks alive though etcd knows nothing of it
 * must have stood still for @still_ms.
 */
int plan_slot(const struct plan_slot *slots, uint32_t nr_slots,
	      uint64_t still_ms);

/* The next incarnation: above the cluster's counter and all that slots show. */
uint64_t plan_incarnation(uint64_t counter, uint64_t shown);

/*
 * Until when a kernel may be told that its grant lasts (protocol assumption A1):
 * @asked_ns is the time before the request that made etcd begin both leases
 * anew, the host's of @ttl_ms and that which keeps its slot from others, which
 * must outlast the grant by Q.
 */
uint64_t plan_deadline(uint64_t asked_ns, uint64_t ttl_ms,
		       uint64_t reserved_ttl_ms, uint64_t q_ms);

/* Seconds that leases are asked for, for a pool with this lease and Q. */
uint32_t plan_ttl(uint32_t lease_ms);
uint32_t plan_reserved_ttl(uint32_t ttl_s, uint32_t q_ms);

#endif
