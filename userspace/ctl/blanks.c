// SPDX-License-Identifier: MIT
/* Devices that shall become members: are they free, and clearing them. */
#include "blanks.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kvcache.h"
#include "signature.h"
#include "slots.h"

#define CHUNK_BLOCKS 16384	/* zeroed at a time: 64 MiB */

/* Two paths to one namespace would be written over one another. */
static int check_distinct(struct blanks *b)
{
	char wwid[KVC_MAX_MEMBERS][512];
	u32 i, j;

	for (i = 0; i < b->nr; i++) {
		ctl_wwid(&b->devs[i], wwid[i], sizeof(wwid[i]));
		b->wwid_hash[i] = kvc_wwid_hash(wwid[i]);
		for (j = 0; j < i; j++) {
			if (ctl_dev_same(&b->devs[i], &b->devs[j])) {
				ctl_err(b->ctl, b->devs[i].path, "Give each device once.",
					"is the same device as %s",
					b->devs[j].path);
				return CTL_REFUSED;
			}
			if (wwid[i][0] && !strcmp(wwid[i], wwid[j])) {
				ctl_err(b->ctl, b->devs[i].path,
					"Give each namespace once; use NVMe multipath for several paths.",
					"is the same namespace as %s (%s)",
					b->devs[j].path, wwid[i]);
				return CTL_REFUSED;
			}
		}
	}
	return CTL_OK;
}

int blanks_open(struct blanks *b, char **paths)
{
	u32 i;
	int error;

	b->devs = ctl_alloc(b->nr * sizeof(*b->devs));
	for (i = 0; i < b->nr; i++)
		b->devs[i].fd = -1;
	for (i = 0; i < b->nr; i++) {
		error = ctl_dev_open(b->ctl, &b->devs[i], paths[i],
				     CTL_DEV_WRITE | CTL_DEV_EXCL);
		if (error)
			return error == -EBUSY ? CTL_REFUSED : CTL_FAIL;
	}
	return check_distinct(b);
}

/* Foreign signatures: how many; -errno. */
static int find_signatures(struct blanks *b, const struct ctl_dev *dev)
{
	struct signatures found;
	int error = signatures_find(dev, &found);
	u32 i;

	if (error) {
		ctl_err(b->ctl, dev->path, "Look into the kernel's log.",
			"can't look for signatures: %s", strerror(-error));
		return error;
	}
	for (i = 0; i < found.count; i++) {
		if (b->force)
			ctl_note(b->ctl, "%s: %s %s at byte %" PRIu64, dev->path,
				 b->dry_run ? "would wipe" : "wiping",
				 found.list[i].what,
				 (uint64_t)found.list[i].offset);
		else
			ctl_err(b->ctl, dev->path, NULL, "is not empty: %s at byte %" PRIu64,
				found.list[i].what,
				(uint64_t)found.list[i].offset);
	}
	error = (int)found.count;
	signatures_free(&found);
	return error;
}

/* Our own labels, also damaged ones: how many; -errno. */
static int find_labels(struct blanks *b, const struct pool_dev *d)
{
	int i, count = 0;

	for (i = 0; i < 2; i++) {
		const struct pool_label *l = &d->label[i];
		const char *where = i ? "end" : "start";

		/* -ERANGE: the device has shrunk since, and the label is gone. */
		if (l->error && l->error != -ERANGE) {
			ctl_err(b->ctl, d->dev.path, "Look into the kernel's log.",
				"can't read its %s: %s", where,
				strerror(-l->error));
			return l->error;
		}
		if (l->verdict == KVC_BLOCK_NEVER)
			continue;
		count++;
		if (b->force)
			ctl_note(b->ctl, "%s: %s the label at its %s", d->dev.path,
				 b->dry_run ? "would wipe" : "wiping", where);
		else if (l->usable)
			ctl_err(b->ctl, d->dev.path, NULL, "is a member of pool '%s' (label at its %s)",
				l->g.name, where);
		else
			ctl_err(b->ctl, d->dev.path, NULL, "carries a kvcache label at its %s",
				where);
	}
	return count;
}

/*
 * The members of an old pool as far as this host has them: those among @p that
 * are to be formatted, and what a scan finds. An array to free with its paths.
 */
static char **find_siblings(struct blanks *b, const struct pool_probe *p,
			    const u8 *uuid, u32 *count)
{
	char text[CTL_TEXT];
	char **scanned, **all;
	int found = pool_scan(b->ctl, ctl_uuid(text, uuid), &scanned);
	struct ctl_dev dev;
	u32 i;
	int s;

	if (found < 0)
		found = 0;
	all = ctl_alloc((p->nr_devs + (u32)found) * sizeof(*all));
	*count = 0;
	for (i = 0; i < p->nr_devs; i++)
		if (p->devs[i].newest &&
		    !memcmp(p->devs[i].newest->g.uuid, uuid, 16))
			all[(*count)++] = ctl_strdup(p->devs[i].dev.path);
	for (s = 0; s < found; s++) {
		bool known = ctl_dev_open(b->ctl, &dev, scanned[s], CTL_DEV_QUIET);

		for (i = 0; i < p->nr_devs && !known; i++)
			known = ctl_dev_same(&p->devs[i].dev, &dev);
		ctl_dev_close(&dev);
		if (known)
			free(scanned[s]);
		else
			all[(*count)++] = scanned[s];
	}
	if (found)
		free(scanned);
	return all;
}

/*
 * A pool that is in use elsewhere can't be seen by O_EXCL, but its slots move.
 */
static int check_unused(struct blanks *b, const struct pool_probe *given,
			const struct pool_dev *d)
{
	const struct kvc_geometry *g = &d->newest->g;
	struct pool_probe p;
	char **paths, *who;
	int status = CTL_OK;
	u32 count, i;

	paths = find_siblings(b, given, g->uuid, &count);
	if (pool_probe(b->ctl, &p, paths, (int)count, CTL_DEV_READ)) {
		status = CTL_FAIL;
	} else if (!slots_watch(b->ctl, &p, &who)) {
		ctl_warn(b->ctl, d->dev.path, "Connect the first members of that pool to be sure.",
			 "can't tell whether another host uses its pool '%s': the host slots are on members that are not here",
			 g->name);
	} else if (who) {
		ctl_err(b->ctl, d->dev.path,
			"Detach the pool there first: 'kvcachectl detach'.",
			"its pool '%s' is in use by %s", g->name, who);
		free(who);
		status = CTL_REFUSED;
	}
	pool_probe_free(&p);
	for (i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
	return status;
}

/* The same for every pool that a device belongs to, each once. */
static int check_all_unused(struct blanks *b, const struct pool_probe *p)
{
	int status = CTL_OK;
	u32 i, j;

	for (i = 0; i < p->nr_devs && !status; i++) {
		const struct pool_label *l = p->devs[i].newest;

		if (!l)
			continue;
		for (j = 0; j < i; j++)
			if (p->devs[j].newest &&
			    !memcmp(p->devs[j].newest->g.uuid, l->g.uuid, 16))
				break;
		/* The pool that they are for is in use, and they are none of it yet. */
		if (j == i && (!b->own || memcmp(l->g.uuid, b->own, 16)))
			status = check_unused(b, p, &p->devs[i]);
	}
	return status;
}

int blanks_check(struct blanks *b, char **paths)
{
	struct pool_probe p;
	int found = 0, status = CTL_OK;
	u32 i;

	if (pool_probe(b->ctl, &p, paths, (int)b->nr, CTL_DEV_READ))
		status = CTL_FAIL;
	for (i = 0; i < b->nr && !status; i++) {
		int foreign = find_signatures(b, &b->devs[i]);
		int own = foreign < 0 ? foreign : find_labels(b, &p.devs[i]);

		if (own < 0) {
			status = CTL_FAIL;
			break;
		}
		found += foreign + own;
		/* On a device that has grown, not its last block. */
		if (p.devs[i].newest)
			b->old_end[i] = p.devs[i].newest->g.members[
					p.devs[i].newest->member].blocks - 1;
	}
	if (!status && found && !b->force) {
		ctl_err(b->ctl, NULL, "If nothing on them is needed any more, give --force.",
			"the devices are not empty; nothing was written");
		status = CTL_REFUSED;
	}
	if (!status)
		status = check_all_unused(b, &p);
	pool_probe_free(&p);
	return status;
}

int blanks_failed(struct blanks *b, u32 member, const char *what, int error)
{
	return ctl_err(b->ctl, b->devs[member].path,
		       error == -EBADE ?
		       "Another host has reserved it: give --force if that is over." :
		       "Look into the kernel's log; run it again with --force when the device works.",
		       "can't %s: %s", what, strerror(-error));
}

/*
 * Hosts of the pool that was there may have left a reservation (kvcachectl attach
 * --fence), by which nobody but them may write. By a registration of our own all of
 * it can be cleared. What has no reservations says so, and what can't be cleared
 * shows when it is written to.
 */
static void clear_reservation(const struct ctl_dev *dev)
{
	struct pr_registration mine = {
		.new_key = 0x6b76636163686531,
		.flags = PR_FL_IGNORE_KEY,
	};
	struct pr_clear clear = { .key = mine.new_key };

	if (!dev->is_block)
		return;
	/* To replace a key of this host one has to be named, whichever. */
	if (ioctl(dev->fd, IOC_PR_REGISTER, &mine)) {
		mine.old_key = 1;
		if (ioctl(dev->fd, IOC_PR_REGISTER, &mine))
			return;
	}
	(void)ioctl(dev->fd, IOC_PR_CLEAR, &clear);
}

int blanks_wipe(struct blanks *b, u32 member)
{
	const struct ctl_dev *dev = &b->devs[member];
	int error;

	if (b->force)
		clear_reservation(dev);
	error = signatures_wipe(dev);
	/* The start label goes first: a member without one is none. */
	if (!error)
		error = ctl_dev_zero(dev, 0, 1);
	if (!error)
		error = ctl_dev_zero(dev, dev->blocks - 1, 1);
	if (!error && b->old_end[member] < dev->blocks)
		error = ctl_dev_zero(dev, b->old_end[member], 1);
	if (!error)
		error = ctl_dev_flush(dev);
	return error ? blanks_failed(b, member, "wipe it", error) : CTL_OK;
}

int blanks_clear(struct blanks *b, u32 member, u64 data_start,
		 struct ctl_progress *progress)
{
	const struct ctl_dev *dev = &b->devs[member];
	u64 block = 0;
	int error;

	while (block < data_start) {
		u64 part = data_start - block;

		if (part > CHUNK_BLOCKS)
			part = CHUNK_BLOCKS;
		error = ctl_dev_zero(dev, block, part);
		if (error)
			return blanks_failed(b, member, "clear its metadata", error);
		block += part;
		ctl_progress_add(progress, part);
	}
	/* What is behind the last lane: less than a lane, at least the label. */
	block = dev->blocks - 1 > 255 ? dev->blocks - 256 : 0;
	if (block < data_start)
		block = data_start;
	error = ctl_dev_zero(dev, block, dev->blocks - block);
	if (!error)
		error = ctl_dev_flush(dev);
	return error ? blanks_failed(b, member, "clear its metadata", error) : CTL_OK;
}

void blanks_close(struct blanks *b)
{
	u32 i;

	for (i = 0; b->devs && i < b->nr; i++)
		ctl_dev_close(&b->devs[i]);
	free(b->devs);
	b->devs = NULL;
}
