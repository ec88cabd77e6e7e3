// SPDX-License-Identifier: MIT
/* The NVMe connections behind a member, and whether their time-outs fit. */
#include "nvme_path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long number(const char *sys, const char *controller, const char *name)
{
	char text[32], *end;
	long value;

	if (ctl_attribute(text, sizeof(text), "%s/class/nvme/%s/%s", sys,
			  controller, name) <= 0)
		return NVME_UNKNOWN;
	if (!strcmp(text, "off"))
		return NVME_OFF;
	value = strtol(text, &end, 10);
	if (*end)
		return NVME_UNKNOWN;
	return value < 0 ? NVME_OFF : value;
}

static void read_path(const char *sys, const char *controller,
		      const char *queue, struct nvme_paths *out)
{
	struct nvme_path *p;
	char text[32];

	if (out->count == NVME_PATHS_MAX ||
	    strlen(controller) >= sizeof(p->controller))
		return;
	p = &out->path[out->count++];
	memset(p, 0, sizeof(*p));
	strcpy(p->controller, controller);
	ctl_attribute(p->transport, sizeof(p->transport), "%s/class/nvme/%s/transport",
		      sys, controller);
	ctl_attribute(p->address, sizeof(p->address), "%s/class/nvme/%s/address",
		      sys, controller);
	ctl_attribute(p->state, sizeof(p->state), "%s/class/nvme/%s/state", sys,
		      controller);
	ctl_attribute(p->hostnqn, sizeof(p->hostnqn), "%s/class/nvme/%s/hostnqn",
		      sys, controller);
	p->t.fast_io_fail = number(sys, controller, "fast_io_fail_tmo");
	p->t.reconnect_delay = number(sys, controller, "reconnect_delay");
	p->t.keep_alive = number(sys, controller, "kato");
	p->t.ctrl_loss = number(sys, controller, "ctrl_loss_tmo");
	p->io_timeout_ms = NVME_UNKNOWN;
	if (ctl_attribute(text, sizeof(text), "%s/class/block/%s/queue/io_timeout",
			  sys, queue) > 0)
		p->io_timeout_ms = strtol(text, NULL, 10);
}

/* "nvme3" and nothing more? */
static bool is_controller(const char *name)
{
	if (strncmp(name, "nvme", 4) || !name[4])
		return false;
	for (name += 4; *name; name++)
		if (!isdigit((unsigned char)*name))
			return false;
	return true;
}

/*
 * The queue of a multipath namespace on one controller: for the head nvme1n2
 * and controller nvme3 that is nvme1c3n2.
 */
static void path_queue(const char *head, const char *controller, char *queue,
		       size_t room)
{
	const char *namespace = strchr(head + 4, 'n');

	snprintf(queue, room, "%.*sc%s%s",
		 namespace ? (int)(namespace - head) : 0, head, controller + 4,
		 namespace ? namespace : "");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static void read_subsystem(const char *sys, const char *name,
			   const char *subsystem, struct nvme_paths *out)
{
	char path[1200], queue[64];
	struct dirent **entries;
	int count, i;

	out->multipath = true;
	snprintf(path, sizeof(path), "%s/class/nvme-subsystem/%s", sys, subsystem);
	count = scandir(path, &entries, NULL, by_name);
	if (count < 0)
		return;
	for (i = 0; i < count; i++) {
		if (is_controller(entries[i]->d_name)) {
			path_queue(name, entries[i]->d_name, queue, sizeof(queue));
			read_path(sys, entries[i]->d_name, queue, out);
		}
		free(entries[i]);
	}
	free(entries);
}

void nvme_paths_read(const char *sys, const char *name, struct nvme_paths *out)
{
	char link[512], target[512];
	const char *parent;
	ssize_t len;

	memset(out, 0, sizeof(*out));
	if (strncmp(name, "nvme", 4))
		return;
	snprintf(link, sizeof(link), "%s/class/block/%s/device", sys, name);
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return;
	target[len] = '\0';
	parent = strrchr(target, '/');
	parent = parent ? parent + 1 : target;
	if (!strncmp(parent, "nvme-subsys", 11))
		read_subsystem(sys, name, parent, out);
	else if (is_controller(parent))
		read_path(sys, parent, name, out);
}

bool nvme_is_fabric(const struct nvme_path *path)
{
	return !strcmp(path->transport, "rdma") ||
	       !strcmp(path->transport, "tcp") ||
	       !strcmp(path->transport, "fc");
}

/* --- judging --- */

#define FAST_IO_FAIL_LONG	10
#define CTRL_LOSS_SHORT		60

/**
 * struct findings - being filled
 * @list: where to
 * @count: so far
 */
struct findings {
	struct nvme_finding *list;
	u32 count;
};

static void find(struct findings *f, enum ctl_verdict verdict,
		 const char *setting, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void find(struct findings *f, enum ctl_verdict verdict,
		 const char *setting, const char *fmt, ...)
{
	struct nvme_finding *x = &f->list[f->count++];
	va_list args;

	x->verdict = verdict;
	va_start(args, fmt);
	vsnprintf(x->text, sizeof(x->text), fmt, args);
	va_end(args);
	snprintf(x->next, sizeof(x->next), "Use %s.", setting);
}

u32 nvme_judge_timeouts(const struct nvme_timeouts *t, u32 lease_ms,
			struct nvme_finding out[NVME_FINDINGS_MAX])
{
	struct findings f = { .list = out };

	if (t->fast_io_fail == NVME_OFF)
		find(&f, CTL_VERDICT_FAIL, "fast_io_fail_tmo=3",
		     "fast_io_fail_tmo is off: I/O hangs until the target is back or ctrl_loss_tmo has passed");
	else if (t->fast_io_fail > FAST_IO_FAIL_LONG)
		find(&f, CTL_VERDICT_WARN, "fast_io_fail_tmo=3",
		     "fast_io_fail_tmo is %ld s: calls wait so long for a target that is gone",
		     t->fast_io_fail);
	if (t->keep_alive == 0 || t->keep_alive == NVME_OFF)
		find(&f, CTL_VERDICT_FAIL, "keep_alive_tmo=2",
		     "keep-alive is off: a dead target is not noticed before an I/O times out");
	else if (t->keep_alive > 0 && lease_ms &&
		 (u64)t->keep_alive * 1000 >= lease_ms)
		find(&f, CTL_VERDICT_WARN, "keep_alive_tmo=2",
		     "keep_alive_tmo is %ld s, not shorter than the pool's lease (%u ms)",
		     t->keep_alive, lease_ms);
	if (t->reconnect_delay == NVME_OFF)
		find(&f, CTL_VERDICT_FAIL, "reconnect_delay=1",
		     "reconnecting is off: a member that drops out stays out");
	else if (t->reconnect_delay > 0 && lease_ms &&
		 (u64)t->reconnect_delay * 1000 >= lease_ms)
		find(&f, CTL_VERDICT_WARN, "reconnect_delay=1",
		     "reconnect_delay is %ld s, not shorter than the pool's lease (%u ms): a short outage costs the lease",
		     t->reconnect_delay, lease_ms);
	if (t->ctrl_loss >= 0 && t->fast_io_fail >= 0 &&
	    t->ctrl_loss <= t->fast_io_fail)
		find(&f, CTL_VERDICT_FAIL, "ctrl_loss_tmo=600",
		     "ctrl_loss_tmo is %ld s, not longer than fast_io_fail_tmo: the device goes away at once",
		     t->ctrl_loss);
	else if (t->ctrl_loss >= 0 && t->ctrl_loss < CTRL_LOSS_SHORT)
		find(&f, CTL_VERDICT_WARN, "ctrl_loss_tmo=600",
		     "ctrl_loss_tmo is %ld s: after that the device goes away and must be connected by hand",
		     t->ctrl_loss);
	return f.count;
}

u64 nvme_write_life_ms(const struct nvme_path *path)
{
	u64 noticed, keep_alive;

	if (path->t.fast_io_fail < 0 || path->t.keep_alive <= 0 ||
	    path->io_timeout_ms <= 0)
		return 0;
	/*
	 * A dead connection is noticed by the keep-alive, a hanging command by
	 * its own time-out. Then it waits for fast_io_fail_tmo. The target may
	 * execute what it has taken in until its own keep-alive ends.
	 */
	keep_alive = (u64)path->t.keep_alive * 1000;
	noticed = 2 * keep_alive;
	if (noticed < (u64)path->io_timeout_ms)
		noticed = (u64)path->io_timeout_ms;
	return noticed + (u64)path->t.fast_io_fail * 1000 + keep_alive;
}
