/* SPDX-License-Identifier: MIT */
/*
 * Connecting over NVMe-oF, by way of libnvme. Its headers define byte order
 * helpers under the same names as ours do, so nothing else of the tool is
 * included here.
 */
#ifndef KVC_CTL_FABRIC_H
#define KVC_CTL_FABRIC_H

#include <stdbool.h>

/**
 * struct fabric_target - where to, who we are, and on what terms
 * @transport: "rdma" or "tcp"
 * @traddr: address of the target
 * @trsvcid: port of the target
 * @nqn: subsystem; NULL: all that the discovery service names
 * @host_traddr: own address, may be NULL
 * @host_iface: own interface, may be NULL
 * @hostnqn: host NQN
 * @hostid: host ID
 * @fast_io_fail: seconds, -1: off
 * @reconnect_delay: seconds
 * @keep_alive: seconds
 * @ctrl_loss: seconds, -1: off
 * @nr_io_queues: 0: the kernel's choice
 * @queue_size: 0: the kernel's choice
 */
struct fabric_target {
	const char *transport;
	const char *traddr;
	const char *trsvcid;
	const char *nqn;
	char *host_traddr;
	char *host_iface;
	const char *hostnqn;
	const char *hostid;
	int fast_io_fail;
	int reconnect_delay;
	int keep_alive;
	int ctrl_loss;
	int nr_io_queues;
	int queue_size;
};

/**
 * struct fabric_connection - one subsystem
 * @controller: "nvme0"; empty if @already or @error
 * @nqn: of the subsystem
 * @already: it was connected before
 * @error: 0, or why it could not be connected, for fabric_strerror()
 */
struct fabric_connection {
	char controller[32];
	char nqn[256];
	bool already;
	int error;
};

/**
 * struct fabric_connections - what became of each subsystem
 * @list: to free()
 * @count: how many
 */
struct fabric_connections {
	struct fabric_connection *list;
	unsigned int count;
};

/* 0, or the error of the discovery service; @all is filled in, too. */
int fabric_connect(const struct fabric_target *target,
		   struct fabric_connections *all);

const char *fabric_strerror(int error);
const char *fabric_advice(int error);

/* As /etc/nvme tells them, to free(); NULL: not there. */
char *fabric_hostnqn(void);
char *fabric_hostid(void);

#endif
