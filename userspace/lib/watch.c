// SPDX-License-Identifier: MIT
/* Streams of what a pool drops by itself. */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

int kvc_watch(struct kvc *kvc, const struct kvc_call *call, unsigned int flags,
	      unsigned int buffer_len)
{
	struct kvcache_watch ask = {
		.size = sizeof(ask),
		.flags = flags,
		.pool = kvc->pool,
		.tenant = call ? call->tenant : 0,
		.buffer_len = buffer_len,
	};

	int fd;

	if (call && call->reserved)
		return -EINVAL;
	fd = ioctl(kvc->fd, KVCACHE_IOC_WATCH, &ask);
	return fd < 0 ? -errno : fd;
}

ssize_t kvc_watch_read(int fd, void *buffer, size_t len)
{
	ssize_t got = read(fd, buffer, len);

	return got < 0 ? -errno : got;
}
