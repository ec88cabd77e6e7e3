// SPDX-License-Identifier: MIT
/* Connecting over NVMe-oF, by way of libnvme. */
#include "fabric.h"

#include <endian.h>
#include <errno.h>
#include <libnvme.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISCOVERY_RETRIES 10

/**
 * struct session - one use of libnvme
 * @target: where to
 * @cfg: its terms, for libnvme
 * @root: of libnvme's tree
 * @host: this host in it
 * @all: results
 */
struct session {
	const struct fabric_target *target;
	struct nvme_fabrics_config cfg;
	nvme_root_t root;
	nvme_host_t host;
	struct fabric_connections *all;
};

static bool is_already(int error)
{
	return error == ENVME_CONNECT_ALREADY || error == EALREADY;
}

/* Note what became of a subsystem. */
static void note(struct session *s, const char *nqn, nvme_ctrl_t c, int error)
{
	struct fabric_connections *all = s->all;
	struct fabric_connection *x;

	all->list = realloc(all->list, (all->count + 1) * sizeof(*all->list));
	if (!all->list)
		abort();
	x = &all->list[all->count++];
	memset(x, 0, sizeof(*x));
	snprintf(x->nqn, sizeof(x->nqn), "%s", nqn);
	if (c && nvme_ctrl_get_name(c))
		snprintf(x->controller, sizeof(x->controller), "%s",
			 nvme_ctrl_get_name(c));
	x->already = is_already(error);
	if (!x->already)
		x->error = error;
}

static nvme_ctrl_t make_controller(struct session *s, const char *nqn)
{
	return nvme_create_ctrl(s->root, nqn, s->target->transport,
				s->target->traddr, s->cfg.host_traddr,
				s->cfg.host_iface, s->target->trsvcid);
}

static void connect_one(struct session *s)
{
	nvme_ctrl_t c = make_controller(s, s->target->nqn);
	int error;

	if (!c) {
		note(s, s->target->nqn, NULL, errno);
		return;
	}
	if (nvmf_add_ctrl(s->host, c, &s->cfg)) {
		error = errno ? errno : EIO;
		nvme_free_ctrl(c);
		note(s, s->target->nqn, NULL, error);
		return;
	}
	note(s, s->target->nqn, c, 0);
}

/* One line of the discovery log. */
static void connect_entry(struct session *s, struct nvmf_disc_log_entry *entry)
{
	bool is_discovery = false;
	nvme_ctrl_t c;

	if (entry->subtype != NVME_NQN_NVME ||
	    strcmp(nvmf_trtype_str(entry->trtype), s->target->transport))
		return;
	errno = 0;
	c = nvmf_connect_disc_entry(s->host, entry, &s->cfg, &is_discovery);
	note(s, entry->subnqn, c, c ? 0 : errno ? errno : EIO);
}

static int connect_all(struct session *s)
{
	/* The discovery controller is only needed for a moment. */
	struct nvme_fabrics_config cfg = s->cfg;
	struct nvmf_discovery_log *log = NULL;
	unsigned long long count, i;
	nvme_ctrl_t c;
	int error = 0;

	cfg.nr_io_queues = 0;
	cfg.queue_size = 0;
	cfg.keep_alive_tmo = 0;
	c = make_controller(s, NVME_DISC_SUBSYS_NAME);
	if (!c)
		return errno;
	nvme_ctrl_set_discovery_ctrl(c, true);
	if (nvmf_add_ctrl(s->host, c, &cfg)) {
		error = errno ? errno : EIO;
		nvme_free_ctrl(c);
		return error;
	}
	if (nvmf_get_discovery_log(c, &log, DISCOVERY_RETRIES)) {
		error = errno ? errno : EIO;
	} else {
		count = le64toh(log->numrec);
		for (i = 0; i < count; i++)
			connect_entry(s, &log->entries[i]);
		free(log);
	}
	nvme_disconnect_ctrl(c);
	nvme_free_ctrl(c);
	return error;
}

int fabric_connect(const struct fabric_target *target,
		   struct fabric_connections *all)
{
	struct session s = { .target = target, .all = all };
	int error = 0;

	memset(all, 0, sizeof(*all));
	nvmf_default_config(&s.cfg);
	s.cfg.host_traddr = target->host_traddr;
	s.cfg.host_iface = target->host_iface;
	s.cfg.fast_io_fail_tmo = target->fast_io_fail;
	s.cfg.reconnect_delay = target->reconnect_delay;
	s.cfg.keep_alive_tmo = target->keep_alive;
	s.cfg.ctrl_loss_tmo = target->ctrl_loss;
	s.cfg.nr_io_queues = target->nr_io_queues;
	s.cfg.queue_size = target->queue_size;

	s.root = nvme_create_root(stderr, LOG_CRIT);
	if (!s.root)
		return ENOMEM;
	/* So that what is connected already is known. */
	nvme_scan_topology(s.root, NULL, NULL);
	s.host = nvme_lookup_host(s.root, target->hostnqn, target->hostid);
	if (!s.host)
		error = ENOMEM;
	else if (target->nqn)
		connect_one(&s);
	else
		error = connect_all(&s);
	nvme_free_tree(s.root);
	return error;
}

const char *fabric_strerror(int error)
{
	return error >= ENVME_CONNECT_RESOLVE ? nvme_errno_to_string(error) :
						strerror(error);
}

const char *fabric_advice(int error)
{
	switch (error) {
	case ENVME_CONNECT_OPEN:
	case ENOENT:
		return "Load the transport: 'modprobe nvme-rdma' (or nvme-tcp).";
	case ENVME_CONNECT_ADDRINUSE:
		return "Another controller uses this host ID under another NQN: give both --hostnqn and --hostid of this host.";
	case ENVME_CONNECT_CONNREFUSED:
	case ECONNREFUSED:
		return "Is the target's port up, and is this host NQN allowed there?";
	case ENVME_CONNECT_INVAL:
	case EINVAL:
		return "Check NQN, address and queue numbers; the kernel's log says more.";
	case EACCES:
	case EPERM:
		return "Run it as root.";
	default:
		return "Check the address and the fabric ('rdma link', 'ping'); the kernel's log says more.";
	}
}

char *fabric_hostnqn(void)
{
	return nvmf_hostnqn_from_file();
}

char *fabric_hostid(void)
{
	return nvmf_hostid_from_file();
}
