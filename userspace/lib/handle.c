// SPDX-License-Identifier: MIT
/* The handle: open, close, and what the kernel can do. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

int kvc_ioctl(const struct kvc *kvc, unsigned long command, void *argument)
{
	return ioctl(kvc->fd, command, argument) < 0 ? -errno : 0;
}

struct kvc *kvc_open(const char *device, unsigned int pool)
{
	struct kvc *kvc = calloc(1, sizeof(*kvc));
	int error;

	if (!kvc)
		return NULL;
	kvc->pool = pool;
	kvc->fd = open(device ? device : KVC_DEVICE, O_RDWR | O_CLOEXEC);
	if (kvc->fd < 0) {
		error = -errno;
		goto free_handle;
	}
	kvc->caps.size = sizeof(kvc->caps);
	error = kvc_ioctl(kvc, KVCACHE_IOC_CAPS, &kvc->caps);
	if (error)
		goto close_device;
	kvc->batch_max = kvc->caps.batch_max;
	if (!kvc->batch_max || kvc->batch_max > KVCACHE_BATCH_MAX)
		kvc->batch_max = KVCACHE_BATCH_MAX;
	return kvc;

close_device:
	close(kvc->fd);
free_handle:
	free(kvc);
	errno = -error;
	return NULL;
}

void kvc_close(struct kvc *kvc)
{
	if (!kvc)
		return;
	kvc_view_close(kvc->view);
	close(kvc->fd);
	free(kvc);
}

int kvc_fd(const struct kvc *kvc)
{
	return kvc->fd;
}

unsigned int kvc_pool(const struct kvc *kvc)
{
	return kvc->pool;
}

const struct kvcache_caps *kvc_caps(const struct kvc *kvc)
{
	return &kvc->caps;
}
