// SPDX-License-Identifier: MIT
/* What else may be on a device that is to become a member: libblkid's view. */
#include "signature.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More signatures than that on one device are a fault, not a finding. */
#define MAX_ROUNDS 256

/*
 * libblkid reads and writes as it likes, which O_DIRECT would refuse: it gets
 * a second description of the same open file.
 */
static int open_probe(const struct ctl_dev *dev, blkid_probe *out)
{
	blkid_probe probe;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dev->fd);
	fd = open(path, (dev->writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	probe = blkid_new_probe();
	if (!probe || blkid_probe_set_device(probe, fd, 0, 0)) {
		blkid_free_probe(probe);
		close(fd);
		return -EIO;
	}
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe,
			BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_TYPE |
			BLKID_SUBLKS_USAGE | BLKID_SUBLKS_LABEL |
			BLKID_SUBLKS_UUID | BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_partitions_flags(probe,
			BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	*out = probe;
	return 0;
}

/* 0 or -errno: what was wiped is wiped on the device, too. */
static int close_probe(blkid_probe probe, bool flush)
{
	int fd = blkid_probe_get_fd(probe);
	int error = flush && fsync(fd) ? -errno : 0;

	blkid_free_probe(probe);
	close(fd);
	return error;
}

static const char *value(blkid_probe probe, const char *name)
{
	const char *data;

	return blkid_probe_lookup_value(probe, name, &data, NULL) ? NULL : data;
}

static char *describe(blkid_probe probe)
{
	const char *type = value(probe, "TYPE");
	const char *table = value(probe, "PTTYPE");
	const char *usage = value(probe, "USAGE");
	const char *label = value(probe, "LABEL");
	const char *kind;

	if (!type && table)
		return ctl_printf("%s partition table", table);
	if (!usage)
		kind = "signature";
	else if (!strcmp(usage, "filesystem"))
		kind = "file system";
	else if (!strcmp(usage, "raid"))
		kind = "RAID or volume manager member";
	else if (!strcmp(usage, "crypto"))
		kind = "encrypted volume";
	else if (type && !strcmp(type, "swap"))
		kind = "space";
	else
		kind = "signature";
	return label ? ctl_printf("%s %s \"%s\"", type ? type : "unknown", kind,
				  label) :
		       ctl_printf("%s %s", type ? type : "unknown", kind);
}

static u64 offset_of(blkid_probe probe)
{
	const char *text = value(probe, "SBMAGIC_OFFSET");

	if (!text)
		text = value(probe, "PTMAGIC_OFFSET");
	return text ? strtoull(text, NULL, 10) : 0;
}

int signatures_find(const struct ctl_dev *dev, struct signatures *found)
{
	blkid_probe probe;
	int error, result;

	*found = (struct signatures) { 0 };
	error = open_probe(dev, &probe);
	if (error)
		return error;
	/* Each step goes on behind what the last one found. */
	while (!(result = blkid_do_probe(probe))) {
		found->list = realloc(found->list, (found->count + 1) *
						   sizeof(*found->list));
		if (!found->list)
			abort();
		found->list[found->count++] = (struct signature) {
			.what = describe(probe),
			.offset = offset_of(probe),
		};
		if (found->count == MAX_ROUNDS)
			break;
	}
	if (result < 0)
		error = -EIO;
	close_probe(probe, false);
	return error;
}

int signatures_wipe(const struct ctl_dev *dev)
{
	blkid_probe probe;
	int error, result, rounds = 0;

	error = open_probe(dev, &probe);
	if (error)
		return error;
	while (!(result = blkid_do_probe(probe))) {
		if (blkid_do_wipe(probe, 0) || ++rounds == MAX_ROUNDS) {
			error = -EIO;
			break;
		}
	}
	if (result < 0)
		error = -EIO;
	result = close_probe(probe, true);
	return error ? error : result;
}

void signatures_free(struct signatures *found)
{
	u32 i;

	for (i = 0; i < found->count; i++)
		free(found->list[i].what);
	free(found->list);
	*found = (struct signatures) { 0 };
}
