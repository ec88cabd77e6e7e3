/* SPDX-License-Identifier: MIT */
/*
 * The agent of one pool on one host.
 *
 *	ATTACH	the pool is not attached
 *	CLAIM	it has no slot: the leases are asked for and a slot is taken
 *	JOIN	the kernel is told of the slot, and joins
 *	UP	the grant is prolonged, and follows the map
 *	DETACH	all is given up, and the pool is detached
 *
 * What is true stands in etcd and in the kernel; an agent that is killed loses
 * nothing but time, and the next one goes on where it was.
 */
#ifndef KVC_AGENT_AGENT_H
#define KVC_AGENT_AGENT_H

#include "cluster.h"
#include "config.h"
#include "etcd.h"
#include "kernel.h"
#include "worker.h"

enum agent_state {
	AGENT_ATTACH,
	AGENT_CLAIM,
	AGENT_JOIN,
	AGENT_UP,
	AGENT_DETACH,
};

/**
 * struct agent_still - for how long a slot on media has not changed
 * @incarnation: seen
 * @sequence: seen
 * @since_ms: boot time since when; 0: not seen yet
 */
struct agent_still {
	uint64_t incarnation;
	uint64_t sequence;
	uint64_t since_ms;
};

/**
 * struct agent_counters - what happened since the agent was started
 * @joins: times that the kernel joined
 * @lapses: times that its lease was lost
 * @renewals: times that the leases were prolonged
 * @failed_renewals: and could not be
 * @steps: versions of the map that this agent made
 * @watches: times that the watch was begun
 */
struct agent_counters {
	uint64_t joins;
	uint64_t lapses;
	uint64_t renewals;
	uint64_t failed_renewals;
	uint64_t steps;
	uint64_t watches;
};

/**
 * struct agent - the agent
 * @config: settings
 * @etcd: client
 * @worker: for the kernel
 * @kernel: its side
 * @job: for the worker, one at a time
 * @state: see above
 * @leaving: it was asked to end
 * @finished: it has ended
 * @status: with this exit status
 * @leave_by_ms: boot time until when AGs may be handed over
 * @attached: this agent, or one before it, attached the pool
 * @lock_fd: locked while an agent has this pool
 * @boot: this boot
 * @node: this host's name
 * @nqn: and its NQN
 * @prefix: of the pool's keys, with the slash at the end
 * @pool: state of the kernel as last seen
 * @ags: its AGs as last seen
 * @nr_ags: how many
 * @slots: slots as last seen
 * @nr_slots: how many, 0: not looked at yet
 * @still: for how long each has not changed
 * @cluster: as last read
 * @cluster_known: it was read at all
 * @stale: it may have changed
 * @mark: of what was read last, to see a change
 * @read_ms: boot time of the last read
 * @reachable: etcd answered last time
 * @silent_since_ms: boot time since when it does not
 * @lease: the host's, 0: none
 * @reserved_lease: its slot's
 * @old_lease: one to be revoked when etcd can be reached
 * @ttl_ms: of the lease
 * @asked_ttl_s: that is asked for
 * @deadline_ns: boot time until when the kernel may be told that it lasts
 * @slot: taken
 * @incarnation: of it
 * @told: AGs that the kernel was told last, and took
 * @nr_told: how many
 * @told_version: of the map for which that is right
 * @told_deadline_ns: and the deadline
 * @joining_deadline_ns: that of the grant by which the kernel is joining
 * @give_back: it shall be told that nothing is owned any more
 * @report: as it stands in etcd, NULL: none
 * @backoff_ms: before the next try to attach or to join
 * @up_since_ms: boot time of the last join
 * @renew_ms: boot time of the next renewal
 * @retry_ms: boot time of the next try of whatever failed
 * @job_ms: boot time of the next look at the kernel
 * @busy_ms: boot time of the next grant after one that the kernel did not take
 * @look: slots are to be looked at
 * @problem: what is wrong, as it was logged; empty: nothing
 * @told_errors: errors of AGs that were logged
 * @counters: see above
 * @status_text: as it stands in the status file
 */
struct agent {
	const struct config *config;
	struct etcd *etcd;
	struct worker *worker;
	struct kernel *kernel;
	struct job job;
	enum agent_state state;
	bool leaving;
	bool finished;
	int status;
	uint64_t leave_by_ms;
	bool attached;
	int lock_fd;
	char boot[CLUSTER_BOOT];
	char node[KVCACHE_NAME_MAX];
	char nqn[KVCACHE_NQN_MAX];
	char prefix[CLUSTER_PREFIX];
	struct kernel_pool pool;
	struct kvcache_ag_info ags[KERNEL_AGS_MAX];
	uint32_t nr_ags;
	struct kvcache_slot_info slots[KVCACHE_HOSTS_MAX];
	uint32_t nr_slots;
	struct agent_still still[KVCACHE_HOSTS_MAX];
	struct cluster cluster;
	bool cluster_known;
	bool stale;
	uint64_t mark;
	uint64_t read_ms;
	bool reachable;
	uint64_t silent_since_ms;
	int64_t lease;
	int64_t reserved_lease;
	int64_t old_lease;
	uint64_t ttl_ms;
	uint32_t asked_ttl_s;
	uint64_t deadline_ns;
	uint32_t slot;
	uint64_t incarnation;
	struct kvcache_grant_ag told[KERNEL_AGS_MAX];
	uint32_t nr_told;
	uint64_t told_version;
	uint64_t told_deadline_ns;
	uint64_t joining_deadline_ns;
	bool give_back;
	char *report;
	uint32_t backoff_ms;
	uint64_t up_since_ms;
	uint64_t renew_ms;
	uint64_t retry_ms;
	uint64_t job_ms;
	uint64_t busy_ms;
	bool look;
	char problem[512];
	int told_errors[KERNEL_AGS_MAX];
	struct agent_counters counters;
	char *status_text;
};

/* Until it is told to end; @stop_fd is a signalfd. The exit status. */
int agent_run(const struct config *config, struct kernel *kernel, int stop_fd);

/* --- what its files share --- */

uint64_t agent_boot_ns(void);
uint64_t agent_boot_ms(void);
const char *agent_state_name(const struct agent *a);

/* Log what is wrong, unless that is what was wrong before. */
void agent_problem(struct agent *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void agent_no_problem(struct agent *a);

/* A key of the pool: @name, or @name/@number. */
const char *agent_key(const struct agent *a, char key[CLUSTER_KEY],
		      const char *name, int number);

/* How a call of etcd ended: is it there? True if @error is 0. */
bool agent_etcd(struct agent *a, int error);

/* Is this the agent's own lease that holds the leader's key? */
bool agent_leads(const struct agent *a);

/* lead.c: become the leader if there is none, and make the next map. */
void agent_lead(struct agent *a);

/* status.c */
void agent_write_status(struct agent *a);
/* Did an agent before this one attach the pool, in this boot? */
bool agent_attached_before(const struct agent *a);
/* kvcached --status: print what the agent with these settings wrote. */
int agent_print_status(const struct config *config);

#endif
