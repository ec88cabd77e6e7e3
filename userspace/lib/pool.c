// SPDX-License-Identifier: MIT
/* Pools: attach, detach, info, and which there are. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

#define HOSTNQN_FILE "/etc/nvme/hostnqn"
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* First line of a small file without its end: length, or -errno. */
static int read_line(const char *path, char *line, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, line, room - 1);
	close(fd);
	if (got < 0)
		return -EIO;
	line[got] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return (int)strlen(line);
}

static int this_boot(uint8_t boot_id[16])
{
	char line[64];
	const char *at = line;
	int error = read_line(BOOT_ID_FILE, line, sizeof(line));
	int i;

	if (error < 0)
		return error;
	for (i = 0; i < 16; i++) {
		char digits[3];
		char *end;

		if (*at == '-')
			at++;
		if (!isxdigit((unsigned char)at[0]) ||
		    !isxdigit((unsigned char)at[1]))
			return -EINVAL;
		digits[0] = at[0];
		digits[1] = at[1];
		digits[2] = '\0';
		boot_id[i] = (uint8_t)strtoul(digits, &end, 16);
		at += 2;
	}
	return 0;
}

/* Who we are: 0 or -errno. */
static int identify(struct kvcache_attach *attach,
		    const struct kvc_attach_options *options)
{
	char nqn[512] = "";
	const char *name = options->nqn;

	if (!name) {
		/* None is legal: then boot and incarnation tell hosts apart. */
		if (read_line(HOSTNQN_FILE, nqn, sizeof(nqn)) < 0)
			nqn[0] = '\0';
		name = nqn;
	}
	if (strlen(name) >= sizeof(attach->nqn))
		return -ENAMETOOLONG;
	memcpy(attach->nqn, name, strlen(name));

	/* The node's name is only told to people: cut it if need be. */
	if (options->node)
		memcpy(attach->node, options->node,
		       strnlen(options->node, sizeof(attach->node) - 1));
	else if (gethostname((char *)attach->node, sizeof(attach->node) - 1))
		attach->node[0] = '\0';
	attach->node[sizeof(attach->node) - 1] = '\0';

	if (options->boot_id)
		memcpy(attach->boot_id, options->boot_id,
		       sizeof(attach->boot_id));
	else
		return this_boot(attach->boot_id);
	return 0;
}

int kvc_attach(struct kvc *kvc, const struct kvc_attach_options *options,
	       char *reason, size_t reason_len)
{
	struct kvcache_attach attach = {
		.size = sizeof(attach),
		.flags = options->flags & ~KVC_ATTACH_SHARED,
		.nr_members = options->nr_members,
		.pool = options->pool,
		.reason = (uint64_t)(uintptr_t)reason,
		.reason_len = reason ? (uint32_t)reason_len : 0,
	};
	struct kvcache_attach_member members[KVCACHE_MEMBERS_MAX] = { 0 };
	unsigned int i;
	int error;

	if (reason && reason_len)
		reason[0] = '\0';
	if (!options->nr_members || options->nr_members > KVCACHE_MEMBERS_MAX)
		return -EINVAL;
	for (i = 0; i < options->nr_members; i++) {
		members[i].path = (uint64_t)(uintptr_t)options->paths[i];
		if (options->wwid_hashes)
			members[i].wwid_hash = options->wwid_hashes[i];
	}
	attach.members = (uint64_t)(uintptr_t)members;
	if (options->flags & KVC_ATTACH_SHARED) {
		attach.mode = options->mode;
		attach.host = options->host;
		attach.hosts = options->hosts;
		attach.max_staleness_ms = options->max_staleness_ms;
	}
	error = identify(&attach, options);
	if (error)
		return error;
	error = kvc_ioctl(kvc, KVCACHE_IOC_ATTACH, &attach);
	if (reason && reason_len)
		reason[reason_len - 1] = '\0';
	return error ? error : (int)attach.pool;
}

int kvc_detach(struct kvc *kvc, unsigned int pool, unsigned int timeout_ms)
{
	struct kvcache_detach detach = {
		.size = sizeof(detach),
		.pool = pool,
		.timeout_ms = timeout_ms,
	};

	return kvc_ioctl(kvc, KVCACHE_IOC_DETACH, &detach);
}

int kvc_info(struct kvc *kvc, struct kvcache_info *info,
	     struct kvcache_member_info *members, unsigned int room)
{
	*info = (struct kvcache_info) {
		.size = sizeof(*info),
		.pool = kvc->pool,
		.nr_members = members ? room : 0,
		.members = (uint64_t)(uintptr_t)members,
	};
	return kvc_ioctl(kvc, KVCACHE_IOC_INFO, info);
}

int kvc_pools(struct kvc *kvc, uint32_t *pools, unsigned int room)
{
	struct kvcache_pools ask = {
		.size = sizeof(ask),
		.count = pools ? room : 0,
		.pools = (uint64_t)(uintptr_t)pools,
	};
	int error = kvc_ioctl(kvc, KVCACHE_IOC_POOLS, &ask);

	return error ? error : (int)ask.count;
}
