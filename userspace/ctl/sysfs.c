// SPDX-License-Identifier: MIT
/* What the kernel says about block devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctl.h"

int ctl_attribute(char *value, size_t room, const char *path, ...)
{
	char full[4096];
	va_list args;
	ssize_t got;
	int len, fd;

	value[0] = '\0';
	va_start(args, path);
	len = vsnprintf(full, sizeof(full), path, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, value, room - 1);
	close(fd);
	if (got < 0)
		return -EIO;
	value[got] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return (int)strlen(value);
}

bool ctl_sys_name(const struct ctl_dev *dev, char *name, size_t room)
{
	char link[64], target[4096];
	const char *last;
	ssize_t len;

	if (!dev->is_block)
		return false;
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev->id),
		 minor(dev->id));
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= room)
		return false;
	memcpy(name, last, strlen(last) + 1);
	return true;
}

void ctl_wwid(const struct ctl_dev *dev, char *wwid, size_t room)
{
	/* NVMe; SCSI; virtio; device mapper. A partition has none of its own. */
	static const char *const places[] = {
		"wwid", "device/wwid", "serial", "dm/uuid",
	};
	char name[256];
	size_t i;

	wwid[0] = '\0';
	if (!ctl_sys_name(dev, name, sizeof(name)))
		return;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (ctl_attribute(wwid, room, "/sys/class/block/%s/%s", name,
				  places[i]) > 0)
			return;
	}
	wwid[0] = '\0';
}
