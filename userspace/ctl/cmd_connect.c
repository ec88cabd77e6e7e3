// SPDX-License-Identifier: MIT
/* kvcachectl connect: namespaces over NVMe-oF, with time-outs that fit a pool. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "fabric.h"
#include "nvme_path.h"

#define NAMESPACE_WAIT_MS	5000
#define NAMESPACE_QUIET_MS	500
#define NAMESPACE_TICK_MS	100

enum {
	OPT_HOSTNQN = 1000,
	OPT_HOSTID,
	OPT_FAST_IO_FAIL,
	OPT_RECONNECT,
	OPT_KEEP_ALIVE,
	OPT_CTRL_LOSS,
	OPT_IO_QUEUES,
	OPT_QUEUE_SIZE,
	OPT_FORCE,
};

static const struct ctl_option options[] = {
	{ 't', "transport", "NAME", "rdma (default) or tcp" },
	{ 'a', "traddr", "ADDRESS", "address of the target" },
	{ 's', "trsvcid", "PORT", "port of the target (default 4420, with --all 8009 for tcp)" },
	{ 'n', "nqn", "NQN", "subsystem to connect" },
	{ 'A', "all", NULL, "instead of --nqn: all subsystems that the target's discovery service names" },
	{ 'w', "host-traddr", "ADDRESS", "own address to connect from" },
	{ 'I', "host-iface", "NAME", "own network interface to connect from (tcp)" },
	{ OPT_HOSTNQN, "hostnqn", "NQN", "host NQN (default: that of /etc/nvme/hostnqn)" },
	{ OPT_HOSTID, "hostid", "UUID", "host ID (default: that of /etc/nvme/hostid)" },
	{ OPT_FAST_IO_FAIL, "fast-io-fail-tmo", "S", "fail I/O after so many seconds without a connection (default 3)" },
	{ OPT_RECONNECT, "reconnect-delay", "S", "seconds between attempts to reconnect (default 1)" },
	{ OPT_KEEP_ALIVE, "keep-alive-tmo", "S", "a silent connection is dead after so many seconds (default 2)" },
	{ OPT_CTRL_LOSS, "ctrl-loss-tmo", "S", "remove the device after so many seconds without a connection, -1: never (default 600)" },
	{ OPT_IO_QUEUES, "nr-io-queues", "N", "I/O queues (default: the kernel's)" },
	{ OPT_QUEUE_SIZE, "queue-size", "N", "entries of a queue (default: the kernel's)" },
	{ OPT_FORCE, "force", NULL, "use time-outs that are unsafe for a pool" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] --traddr ADDRESS --nqn NQN | --all",
	.about = "Connect NVMe namespaces over RDMA or TCP with time-outs that bound how long an\n"
		 "I/O can hang: the kernel's own defaults let it hang for ten minutes. Time-outs\n"
		 "that are unsafe for a pool are refused unless --force is given.",
	.options = options,
};

/**
 * struct request - what the command line asks for
 * @target: for fabric_connect()
 * @t: time-outs
 * @all: all that discovery names
 * @hostnqn: of this host, to free()
 * @hostid: of this host, to free()
 * @force: unsafe time-outs are wanted
 */
struct request {
	struct fabric_target target;
	struct nvme_timeouts t;
	bool all;
	char *hostnqn;
	char *hostid;
	bool force;
};

/* --- command line --- */

static long seconds(struct ctl *ctl, const char *what, bool may_be_off)
{
	u64 value;

	if (may_be_off && (!strcmp(ctl_optarg, "-1") || !strcmp(ctl_optarg, "off")))
		return NVME_OFF;
	if (!ctl_parse_u64(ctl_optarg, 86400, &value))
		ctl_usage_error(ctl, "%s '%s' is no number of seconds", what,
				ctl_optarg);
	return (long)value;
}

static int queue_number(struct ctl *ctl, const char *what, u64 max)
{
	u64 value;

	if (!ctl_parse_u64(ctl_optarg, max, &value) || !value)
		ctl_usage_error(ctl, "%s '%s' is not between 1 and %llu", what,
				ctl_optarg, (unsigned long long)max);
	return (int)value;
}

static void parse(struct ctl *ctl, struct request *r, int argc, char **argv)
{
	struct fabric_target *to = &r->target;
	int c;

	to->transport = "rdma";
	r->t = (struct nvme_timeouts) {
		.fast_io_fail = NVME_FAST_IO_FAIL_TMO,
		.reconnect_delay = NVME_RECONNECT_DELAY,
		.keep_alive = NVME_KEEP_ALIVE_TMO,
		.ctrl_loss = NVME_CTRL_LOSS_TMO,
	};
	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		switch (c) {
		case 't':
			if (strcmp(ctl_optarg, "rdma") && strcmp(ctl_optarg, "tcp"))
				ctl_usage_error(ctl, "unknown transport '%s'; there are rdma and tcp",
						ctl_optarg);
			to->transport = ctl_optarg;
			break;
		case 'a':
			to->traddr = ctl_optarg;
			break;
		case 's':
			to->trsvcid = ctl_optarg;
			break;
		case 'n':
			to->nqn = ctl_optarg;
			break;
		case 'A':
			r->all = true;
			break;
		case 'w':
			to->host_traddr = ctl_optarg;
			break;
		case 'I':
			to->host_iface = ctl_optarg;
			break;
		case OPT_HOSTNQN:
			free(r->hostnqn);
			r->hostnqn = ctl_strdup(ctl_optarg);
			break;
		case OPT_HOSTID:
			free(r->hostid);
			r->hostid = ctl_strdup(ctl_optarg);
			break;
		case OPT_FAST_IO_FAIL:
			r->t.fast_io_fail = seconds(ctl, "fast-io-fail-tmo", true);
			break;
		case OPT_RECONNECT:
			r->t.reconnect_delay = seconds(ctl, "reconnect-delay", false);
			break;
		case OPT_KEEP_ALIVE:
			r->t.keep_alive = seconds(ctl, "keep-alive-tmo", false);
			break;
		case OPT_CTRL_LOSS:
			r->t.ctrl_loss = seconds(ctl, "ctrl-loss-tmo", true);
			break;
		case OPT_IO_QUEUES:
			to->nr_io_queues = queue_number(ctl, "nr-io-queues", 65535);
			break;
		case OPT_QUEUE_SIZE:
			to->queue_size = queue_number(ctl, "queue-size", 65535);
			break;
		case OPT_FORCE:
			r->force = true;
			break;
		}
	}
	if (argc > ctl_optind)
		ctl_usage_error(ctl, "'%s' is one argument too many",
				argv[ctl_optind]);
	if (!to->traddr)
		ctl_usage_error(ctl, "the target's address is missing: --traddr");
	if (!to->nqn == !r->all)
		ctl_usage_error(ctl, "give one of --nqn and --all");
	if (!to->trsvcid)
		to->trsvcid = r->all && !strcmp(to->transport, "tcp") ? "8009" :
								      "4420";
	if (!r->t.reconnect_delay)
		ctl_usage_error(ctl, "reconnect-delay must be at least 1 second");
}

/* The time-outs must bound how long an I/O hangs. */
static int check_timeouts(struct ctl *ctl, struct request *r)
{
	struct nvme_finding findings[NVME_FINDINGS_MAX];
	u32 count = nvme_judge_timeouts(&r->t, 0, findings);
	bool unsafe = false;
	u32 i;

	for (i = 0; i < count; i++) {
		if (findings[i].verdict == CTL_VERDICT_FAIL && !r->force) {
			ctl_err(ctl, r->target.traddr, findings[i].next, "%s",
				findings[i].text);
			unsafe = true;
		} else {
			ctl_warn(ctl, r->target.traddr, findings[i].next, "%s",
				 findings[i].text);
		}
	}
	if (unsafe) {
		ctl_err(ctl, r->target.traddr, "Leave the time-outs out for safe ones, or give --force.",
			"these time-outs are not safe for a pool; nothing was connected");
		return CTL_REFUSED;
	}
	r->target.fast_io_fail = (int)r->t.fast_io_fail;
	r->target.reconnect_delay = (int)r->t.reconnect_delay;
	r->target.keep_alive = (int)r->t.keep_alive;
	r->target.ctrl_loss = (int)r->t.ctrl_loss;
	return CTL_OK;
}

/*
 * Without them a name would be made up at every connection, and then nobody
 * could tell hosts apart.
 */
static int find_identity(struct ctl *ctl, struct request *r)
{
	static const char uuid_mark[] = ":uuid:";
	const char *uuid;

	if (!r->hostnqn)
		r->hostnqn = fabric_hostnqn();
	if (!r->hostnqn)
		return ctl_err(ctl, "/etc/nvme/hostnqn",
			       "Make one: 'nvme gen-hostnqn > /etc/nvme/hostnqn', or give --hostnqn.",
			       "this host has no NQN");
	if (!r->hostid)
		r->hostid = fabric_hostid();
	if (!r->hostid) {
		uuid = strstr(r->hostnqn, uuid_mark);
		if (uuid)
			r->hostid = ctl_strdup(uuid + strlen(uuid_mark));
	}
	if (!r->hostid)
		return ctl_err(ctl, "/etc/nvme/hostid",
			       "Make one: 'uuidgen > /etc/nvme/hostid', or give --hostid.",
			       "this host has no host ID, and its NQN contains no UUID");
	r->target.hostnqn = r->hostnqn;
	r->target.hostid = r->hostid;
	return CTL_OK;
}

/* --- what has come of it --- */

/*
 * Block devices of a controller: "nvme0n1" stands below it, or below its
 * subsystem when multipath is on, where "nvme0c1n1" below it tells the name.
 */
static cJSON *namespaces(const char *controller)
{
	cJSON *array = cJSON_CreateArray();
	char path[512], device[300];
	struct dirent **entries;
	int count, i;

	snprintf(path, sizeof(path), "/sys/class/nvme/%s", controller);
	count = scandir(path, &entries, NULL, versionsort);
	for (i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		unsigned int subsystem, path_number, number;
		char rest;

		if (sscanf(name, "nvme%uc%un%u%c", &subsystem, &path_number,
			   &number, &rest) == 3)
			snprintf(device, sizeof(device), "/dev/nvme%un%u",
				 subsystem, number);
		else if (sscanf(name, "nvme%un%u%c", &subsystem, &number, &rest) == 2)
			snprintf(device, sizeof(device), "/dev/%s", name);
		else
			device[0] = '\0';
		if (device[0] && !access(device, F_OK))
			cJSON_AddItemToArray(array, cJSON_CreateString(device));
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return array;
}

/*
 * The kernel looks for namespaces after connect has returned, one by one: wait
 * until no more have come for a while.
 */
static cJSON *wait_for_namespaces(const char *controller)
{
	cJSON *array = namespaces(controller);
	int waited, quiet = 0, before, now = cJSON_GetArraySize(array);

	for (waited = 0; waited < NAMESPACE_WAIT_MS; waited += NAMESPACE_TICK_MS) {
		if (now && quiet >= NAMESPACE_QUIET_MS)
			break;
		usleep(NAMESPACE_TICK_MS * 1000);
		before = now;
		cJSON_Delete(array);
		array = namespaces(controller);
		now = cJSON_GetArraySize(array);
		quiet = now == before ? quiet + NAMESPACE_TICK_MS : 0;
	}
	return array;
}

static void tell(struct ctl *ctl, const struct fabric_connections *all)
{
	cJSON *array = cJSON_CreateArray();
	const cJSON *device;
	u32 i;

	for (i = 0; i < all->count; i++) {
		const struct fabric_connection *x = &all->list[i];
		cJSON *item, *devices;

		if (x->error)
			continue;
		item = cJSON_CreateObject();
		devices = *x->controller ? wait_for_namespaces(x->controller) :
					   cJSON_CreateArray();
		cJSON_AddStringToObject(item, "nqn", x->nqn);
		cJSON_AddStringToObject(item, "controller", x->controller);
		cJSON_AddBoolToObject(item, "already", x->already);
		cJSON_AddItemToObject(item, "devices", devices);
		cJSON_AddItemToArray(array, item);
		if (x->already)
			ctl_note(ctl, "%s is connected already; 'kvcachectl check' looks at its time-outs",
				 x->nqn);
		if (ctl->json || ctl->quiet || x->already)
			continue;
		printf("%s %s", x->controller, x->nqn);
		cJSON_ArrayForEach(device, devices)
			printf(" %s", device->valuestring);
		printf("%s\n", cJSON_GetArraySize(devices) ? "" :
						" (no namespace yet)");
	}
	if (ctl->json)
		ctl_json_print(array);
	else
		cJSON_Delete(array);
}

static int connect_failed(struct ctl *ctl, const char *subject, int error)
{
	return ctl_err(ctl, subject, fabric_advice(error), "can't connect: %s",
		       fabric_strerror(error));
}

static int run(struct ctl *ctl, const struct fabric_target *to)
{
	struct fabric_connections all;
	int error = fabric_connect(to, &all);
	int status = CTL_OK;
	u32 i;

	if (error)
		status = connect_failed(ctl, to->traddr, error);
	for (i = 0; i < all.count; i++)
		if (all.list[i].error)
			status = connect_failed(ctl, all.list[i].nqn,
						all.list[i].error);
	if (!error && !all.count) {
		ctl_err(ctl, to->traddr, "Check the target's ports and allowed hosts.",
			"the discovery service names no subsystem for %s",
			to->transport);
		status = CTL_MISS;
	}
	tell(ctl, &all);
	free(all.list);
	return status;
}

int cmd_connect(struct ctl *ctl, int argc, char **argv)
{
	struct request r = { 0 };
	int status;

	parse(ctl, &r, argc, argv);
	status = check_timeouts(ctl, &r);
	if (!status)
		status = find_identity(ctl, &r);
	if (!status)
		status = run(ctl, &r.target);
	free(r.hostnqn);
	free(r.hostid);
	return status;
}
