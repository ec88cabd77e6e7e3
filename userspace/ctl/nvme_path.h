/* SPDX-License-Identifier: MIT */
/* The NVMe connections behind a member, and whether their time-outs fit. */
#ifndef KVC_CTL_NVME_PATH_H
#define KVC_CTL_NVME_PATH_H

#include "ctl.h"

/* A time-out that is switched off, or an attribute that is not there. */
#define NVME_OFF	(-1L)
#define NVME_UNKNOWN	(-2L)

/* What connect sets, in seconds. */
#define NVME_FAST_IO_FAIL_TMO	3
#define NVME_RECONNECT_DELAY	1
#define NVME_KEEP_ALIVE_TMO	2
#define NVME_CTRL_LOSS_TMO	600

/**
 * struct nvme_timeouts - of one connection, in seconds
 * @fast_io_fail: after so long without a connection, I/O fails
 * @reconnect_delay: between two attempts to reconnect
 * @keep_alive: a connection that is silent for so long is dead
 * @ctrl_loss: after so long without a connection, the device goes away
 */
struct nvme_timeouts {
	long fast_io_fail;
	long reconnect_delay;
	long keep_alive;
	long ctrl_loss;
};

/**
 * struct nvme_path - one controller through which a namespace is reached
 * @controller: "nvme0"
 * @transport: "rdma", "tcp", "pcie", "loop", ...
 * @address: "traddr=...,trsvcid=..."
 * @state: "live", "connecting", ...
 * @hostnqn: that it was connected with; may be empty
 * @t: time-outs
 * @io_timeout_ms: of the block queue
 */
struct nvme_path {
	char controller[32];
	char transport[16];
	char address[256];
	char state[32];
	char hostnqn[KVC_NQN_SIZE];
	struct nvme_timeouts t;
	long io_timeout_ms;
};

#define NVME_PATHS_MAX 16

/**
 * struct nvme_paths - all of them
 * @count: how many; 0: not an NVMe device
 * @multipath: the device is a multipath head
 * @path: each
 */
struct nvme_paths {
	u32 count;
	bool multipath;
	struct nvme_path path[NVME_PATHS_MAX];
};

/* @sys: "/sys", or another root for tests; @name: "nvme0n1". */
void nvme_paths_read(const char *sys, const char *name, struct nvme_paths *out);

bool nvme_is_fabric(const struct nvme_path *path);

enum ctl_verdict {
	CTL_VERDICT_OK,
	CTL_VERDICT_WARN,
	CTL_VERDICT_FAIL,
};

/**
 * struct nvme_finding - what is to be said about a connection
 * @verdict: how bad
 * @text: a clause
 * @next: what to do about it
 */
struct nvme_finding {
	enum ctl_verdict verdict;
	char text[200];
	char next[200];
};

#define NVME_FINDINGS_MAX 8

/**
 * nvme_judge_timeouts() - are these time-outs safe for a member?
 * @t: time-outs; NVME_UNKNOWN is not judged
 * @lease_ms: of the pool; 0: not known
 * @out: findings, none of them OK
 *
 * Return: how many.
 */
u32 nvme_judge_timeouts(const struct nvme_timeouts *t, u32 lease_ms,
			struct nvme_finding out[NVME_FINDINGS_MAX]);

/**
 * nvme_write_life_ms() - how long a write can be under way, at most
 * @path: connection
 *
 * Return: milliseconds, 0: without bound.
 */
u64 nvme_write_life_ms(const struct nvme_path *path);

#endif
