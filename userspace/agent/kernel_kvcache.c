// SPDX-License-Identifier: MIT
/* The kernel's side of a pool: the module. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ctl.h"
#include "kernel.h"
#include "kvcache.h"

#define POOLS_MAX 256

/**
 * struct kernel - the module and one pool of it
 * @config: settings
 * @kvc: handle of the pool, or without one before it is found
 * @ctl: for what kvcachectl's files have to say
 * @q_ms: of the pool's label
 * @nr_slots: of the pool's label
 */
struct kernel {
	const struct config *config;
	struct kvc *kvc;
	struct ctl ctl;
	uint32_t q_ms;
	uint32_t nr_slots;
};

static int explain(char reason[KERNEL_REASON], const char *what, int error)
{
	snprintf(reason, KERNEL_REASON, "%s: %s. %s", what, kvc_strerror(error),
		 kvc_next_step(error));
	return error;
}

struct kernel *kernel_open(const struct config *config,
			   char reason[KERNEL_REASON])
{
	struct kernel *k = ctl_alloc(sizeof(*k));

	k->config = config;
	k->ctl = (struct ctl) {
		.prog = "kvcached",
		.device = config->device,
		.quiet = true,
	};
	k->kvc = kvc_open(config->device, 0);
	if (!k->kvc) {
		if (errno == ENOENT || errno == ENXIO)
			snprintf(reason, KERNEL_REASON,
				 "%s is not there. Load the module: 'modprobe kvcache'.",
				 config->device);
		else
			explain(reason, config->device, -errno);
		free(k);
		return NULL;
	}
	if (!(kvc_caps(k->kvc)->features & KVCACHE_FEAT_SHARED)) {
		snprintf(reason, KERNEL_REASON,
			 "this kernel module can't share pools. Load a newer one.");
		kernel_close(k);
		return NULL;
	}
	return k;
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	kvc_close(k->kvc);
	free(k);
}

/* Work on pool @number from now on. */
static int use(struct kernel *k, unsigned int number)
{
	struct kvc *kvc = kvc_open(k->config->device, number);

	if (!kvc)
		return -errno;
	kvc_close(k->kvc);
	k->kvc = kvc;
	return 0;
}

/* Q and the number of slots stand in the labels only. */
static int read_label(struct kernel *k, char *const *paths, int count,
		      char reason[KERNEL_REASON])
{
	struct pool_probe p;
	int error = pool_probe(&k->ctl, &p, paths, count, CTL_DEV_QUIET);

	if (!error && !p.found)
		error = -EUCLEAN;
	if (!error) {
		k->q_ms = p.g.q_ms;
		k->nr_slots = p.g.nr_slots;
	} else {
		explain(reason, "can't read the members' labels", error);
	}
	pool_probe_free(&p);
	return error;
}

static int read_info(struct kernel *k, struct kernel_pool *pool,
		     struct kvcache_member_info *members, uint32_t *nr_members)
{
	struct kvcache_info info;
	int error = kvc_info(k->kvc, &info, members,
			     members ? KVCACHE_MEMBERS_MAX : 0);

	if (error)
		return error;
	*pool = (struct kernel_pool) {
		.number = info.pool,
		.mode = info.mode,
		.state = info.state,
		.slot = info.slot,
		.incarnation = info.incarnation,
		.lease_left_ms = info.lease_left_ms,
		.lease_ms = info.lease_ms,
		.q_ms = k->q_ms,
		.nr_ags = info.nr_ags,
		.nr_slots = k->nr_slots,
	};
	memcpy(pool->uuid, info.uuid, sizeof(pool->uuid));
	snprintf(pool->name, sizeof(pool->name), "%s", (char *)info.name);
	if (nr_members)
		*nr_members = info.nr_members < KVCACHE_MEMBERS_MAX ?
			      info.nr_members : KVCACHE_MEMBERS_MAX;
	return 0;
}

int kernel_info(struct kernel *k, struct kernel_pool *pool)
{
	return read_info(k, pool, NULL, NULL);
}

int kernel_find(struct kernel *k, struct kernel_pool *pool,
		char reason[KERNEL_REASON])
{
	static struct kvcache_member_info members[KVCACHE_MEMBERS_MAX];
	char *paths[KVCACHE_MEMBERS_MAX];
	uint32_t numbers[POOLS_MAX], nr_members, i;
	char uuid[CTL_TEXT];
	int count, n, at, error;

	count = kvc_pools(k->kvc, numbers, POOLS_MAX);
	if (count < 0)
		return explain(reason, k->config->device, count);
	for (at = 0; at < count && at < POOLS_MAX; at++) {
		/* With a number it is that one: a host may have a pool twice. */
		if (k->config->number && numbers[at] != k->config->number)
			continue;
		if (use(k, numbers[at]) ||
		    read_info(k, pool, members, &nr_members))
			continue;
		if (strcmp(pool->name, k->config->pool) &&
		    strcasecmp(ctl_uuid(uuid, pool->uuid), k->config->pool))
			continue;
		for (i = n = 0; i < nr_members; i++)
			if (members[i].path[0])
				paths[n++] = (char *)members[i].path;
		error = read_label(k, paths, n, reason);
		return error ? error : read_info(k, pool, NULL, NULL);
	}
	return -ENODEV;
}

/* Is the device a namespace of one of the subsystems that are set? */
static bool wanted(const struct kernel *k, const char *path)
{
	const char *name = strrchr(path, '/');
	char nqn[256];
	unsigned int i;

	if (!k->config->subsystems.count)
		return true;
	if (ctl_attribute(nqn, sizeof(nqn), "/sys/class/block/%s/device/subsysnqn",
			  name ? name + 1 : path) <= 0)
		return false;
	for (i = 0; i < k->config->subsystems.count; i++)
		if (!strcmp(nqn, k->config->subsystems.values[i]))
			return true;
	return false;
}

static int find_members(struct kernel *k, char ***paths,
			char reason[KERNEL_REASON])
{
	const struct config_list *members = &k->config->members;
	char **found;
	int count, kept = 0, i;

	if (members->count) {
		*paths = ctl_alloc(members->count * sizeof(**paths));
		for (i = 0; i < (int)members->count; i++)
			(*paths)[i] = ctl_strdup(members->values[i]);
		return (int)members->count;
	}
	count = pool_scan(&k->ctl, k->config->pool, &found);
	if (count < 0)
		return explain(reason, "can't look for members", count);
	for (i = 0; i < count; i++) {
		if (wanted(k, found[i]))
			found[kept++] = found[i];
		else
			free(found[i]);
	}
	*paths = found;
	if (!kept)
		snprintf(reason, KERNEL_REASON,
			 "no member of pool '%s' is among the block devices of this host. Connect them with 'kvcachectl connect'.",
			 k->config->pool);
	return kept;
}

static int attach(struct kernel *k, struct pool_probe *p,
		  char reason[KERNEL_REASON])
{
	const char *devices[KVCACHE_MEMBERS_MAX];
	uint64_t hashes[KVCACHE_MEMBERS_MAX];
	struct kvc_attach_options options = {
		.paths = devices,
		.wwid_hashes = hashes,
		.flags = KVC_ATTACH_SHARED |
			 (k->config->degraded ? KVCACHE_ATTACH_DEGRADED : 0) |
			 (k->config->fence ? KVCACHE_ATTACH_FENCE : 0),
		.pool = k->config->number,
		.nqn = k->config->hostnqn,
		.node = k->config->node,
		.mode = KVCACHE_MODE_GRANTED,
		.max_staleness_ms = k->config->max_staleness_ms,
	};
	char why[KERNEL_REASON - 128] = "";
	int number;
	uint32_t i;

	if (p->nr_devs > KVCACHE_MEMBERS_MAX)
		return -EINVAL;
	for (i = 0; i < p->nr_devs; i++) {
		devices[i] = p->devs[i].dev.path;
		hashes[i] = p->devs[i].wwid_hash;
		/* The kernel wants the devices for itself. */
		close(p->devs[i].dev.fd);
		p->devs[i].dev.fd = -1;
	}
	options.nr_members = p->nr_devs;
	k->q_ms = p->g.q_ms;
	k->nr_slots = p->g.nr_slots;
	number = kvc_attach(k->kvc, &options, why, sizeof(why));
	if (number < 0) {
		if (*why)
			snprintf(reason, KERNEL_REASON, "%s. %s", why,
				 kvc_next_step(number));
		else
			explain(reason, "attach", number);
		return number;
	}
	return use(k, (unsigned int)number);
}

int kernel_attach(struct kernel *k, struct kernel_pool *pool,
		  char reason[KERNEL_REASON])
{
	char **paths = NULL;
	struct pool_probe p;
	int count = find_members(k, &paths, reason), error, i;

	if (count <= 0) {
		free(paths);
		return count ? count : -ENXIO;
	}
	error = pool_probe(&k->ctl, &p, paths, count, CTL_DEV_QUIET);
	if (!error && !p.found)
		error = -EUCLEAN;
	if (error)
		explain(reason, "can't read the members", error);
	else
		error = attach(k, &p, reason);
	pool_probe_free(&p);
	for (i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
	return error ? error : kernel_info(k, pool);
}

int kernel_detach(struct kernel *k, unsigned int timeout_ms)
{
	return kvc_detach(k->kvc, kvc_pool(k->kvc), timeout_ms);
}

int kernel_grant(struct kernel *k, uint32_t slot, uint64_t incarnation,
		 uint64_t deadline_ns, const struct kvcache_grant_ag *ags,
		 uint32_t nr_ags)
{
	return kvc_grant(k->kvc, slot, incarnation, deadline_ns, ags, nr_ags);
}

int kernel_prolong(struct kernel *k, uint32_t slot, uint64_t incarnation,
		   uint64_t deadline_ns)
{
	return kvc_prolong(k->kvc, slot, incarnation, deadline_ns);
}

int kernel_ags(struct kernel *k, struct kvcache_ag_info *ags, uint32_t room)
{
	int count = kvc_ags(k->kvc, ags, room);

	return count > (int)room ? (int)room : count;
}

int kernel_slots(struct kernel *k, struct kvcache_slot_info *slots,
		 uint32_t room)
{
	int count = kvc_slots(k->kvc, slots, room);

	return count > (int)room ? (int)room : count;
}
