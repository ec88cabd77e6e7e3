/* SPDX-License-Identifier: MIT */
/*
 * A thread for what may block: calls into the kernel. A join reads all journals,
 * and media may be away; the leases in etcd have to be kept alive meanwhile.
 */
#ifndef KVC_AGENT_WORKER_H
#define KVC_AGENT_WORKER_H

#include <stdbool.h>

#include "kernel.h"

enum job_kind {
	JOB_ATTACH,	/* find the pool, attach it if need be */
	JOB_LOOK,	/* state, AGs, and the slots on media */
	JOB_POLL,	/* state and AGs */
	JOB_GRANT,	/* tell the kernel what it is granted; then as JOB_POLL */
	JOB_DETACH,
};

/**
 * struct job - something to do, and what came of it
 * @kind: what
 * @slot: JOB_GRANT
 * @incarnation: JOB_GRANT
 * @deadline_ns: JOB_GRANT
 * @grant: JOB_GRANT: AGs
 * @nr_grant: how many
 * @version: JOB_GRANT: of the map that says so
 * @timeout_ms: JOB_DETACH
 * @error: of the call that it is about
 * @reason: JOB_ATTACH: a sentence
 * @attached: JOB_ATTACH: it was not attached before
 * @known: the state was told
 * @pool: state
 * @ags: AGs
 * @nr_ags: how many; 0 without a lease, for then nothing is known of them
 * @slots: JOB_LOOK: slots
 * @nr_slots: how many; -errno
 */
struct job {
	enum job_kind kind;
	uint32_t slot;
	uint64_t incarnation;
	uint64_t deadline_ns;
	struct kvcache_grant_ag grant[KERNEL_AGS_MAX];
	uint32_t nr_grant;
	uint64_t version;
	unsigned int timeout_ms;
	int error;
	char reason[KERNEL_REASON];
	bool attached;
	bool known;
	struct kernel_pool pool;
	struct kvcache_ag_info ags[KERNEL_AGS_MAX];
	int nr_ags;
	struct kvcache_slot_info slots[KVCACHE_HOSTS_MAX];
	int nr_slots;
};

struct worker;

struct worker *worker_start(struct kernel *kernel);
/* Waits for what it is doing. */
void worker_stop(struct worker *w);
/* Readable when a job is done. */
int worker_fd(const struct worker *w);
bool worker_busy(const struct worker *w);
/* Only if it is not busy. @job is the worker's until worker_done() returns it. */
void worker_do(struct worker *w, struct job *job);
struct job *worker_done(struct worker *w);

#endif
