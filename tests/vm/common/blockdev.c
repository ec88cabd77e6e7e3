// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/loop.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "blockdev.h"
#include "vmtest.h"

static void wait_for(const char *path)
{
	unsigned int n;

	for (n = 0; access(path, F_OK) && n < 500; n++)
		vt_sleep_ms(10);
	vt_need(n < 500, "%s does not come", path);
}

static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *text(const char *fmt, ...)
{
	va_list args;
	char *s = NULL;

	va_start(args, fmt);
	vt_need(vasprintf(&s, fmt, args) > 0, "memory for a text");
	va_end(args);
	return s;
}

/* --- null_blk --- */

#define NULLB "/sys/kernel/config/nullb/"

static int nullb_set(const char *name, const char *what, unsigned int value)
{
	char *path = text(NULLB "%s/%s", name, what);
	char number[16];
	int error;

	snprintf(number, sizeof(number), "%u", value);
	error = vt_write(path, number);
	free(path);
	return error;
}

/* Newer kernels call the disk by its own name. */
static char *nullb_path(const char *name)
{
	char *path = text("/dev/%s", name), *old;
	unsigned int n;

	old = text(NULLB "%s/index", name);
	n = (unsigned int)vt_read_number(old);
	free(old);
	old = text("/dev/nullb%u", n);
	for (n = 0; access(path, F_OK) && access(old, F_OK) && n < 500; n++)
		vt_sleep_ms(10);
	vt_need(n < 500, "neither %s nor %s comes", path, old);
	if (!access(path, F_OK)) {
		free(old);
		return path;
	}
	free(path);
	return old;
}

char *nullb_make(const char *name, unsigned int mb, unsigned int cache_mb)
{
	char *dir = text(NULLB "%s", name);

	vt_need(!mkdir(dir, 0755), "make %s: %s", dir, strerror(errno));
	free(dir);
	vt_need(!nullb_set(name, "size", mb) &&
		!nullb_set(name, "blocksize", 512) &&
		!nullb_set(name, "memory_backed", 1) &&
		!nullb_set(name, "discard", 1) &&
		!nullb_set(name, "cache_size", cache_mb) &&
		!nullb_set(name, "power", 1), "set %s up", name);
	return nullb_path(name);
}

void nullb_remove(const char *name)
{
	char *dir = text(NULLB "%s", name);

	nullb_set(name, "power", 0);
	vt_need(!rmdir(dir), "remove %s: %s", dir, strerror(errno));
	free(dir);
}

void nullb_cycle(const char *name)
{
	vt_need(!nullb_set(name, "power", 0) && !nullb_set(name, "power", 1),
		"switch %s off and on", name);
	free(nullb_path(name));
}

/* --- device mapper --- */

struct dm_call {
	struct dm_ioctl head;
	char data[1024];
};

static void dm_begin(struct dm_call *c, const char *name)
{
	memset(c, 0, sizeof(*c));
	c->head.version[0] = DM_VERSION_MAJOR;
	c->head.data_size = sizeof(*c);
	c->head.data_start = sizeof(c->head);
	snprintf(c->head.name, sizeof(c->head.name), "%s", name);
}

static int dm_call(struct dm_call *c, unsigned long command)
{
	static int control = -1;

	if (control < 0)
		control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	vt_need(control >= 0, "open the device mapper: %s", strerror(errno));
	return ioctl(control, command, c) ? -errno : 0;
}

char *dm_make(const char *name, uint64_t sectors, const char *target,
	      const char *params)
{
	struct dm_call c;
	struct dm_target_spec *spec = (void *)c.data;
	char *path;
	int error;

	dm_begin(&c, name);
	error = dm_call(&c, DM_DEV_CREATE);
	vt_need(!error, "make %s: %s", name, strerror(-error));
	path = text("/dev/dm-%u", minor(c.head.dev));

	dm_begin(&c, name);
	c.head.target_count = 1;
	spec->length = sectors;
	snprintf(spec->target_type, sizeof(spec->target_type), "%s", target);
	strcpy((char *)(spec + 1), params);
	error = dm_call(&c, DM_TABLE_LOAD);
	vt_need(!error, "load %s as %s %s: %s", name, target, params,
		strerror(-error));

	dm_begin(&c, name);
	error = dm_call(&c, DM_DEV_SUSPEND);	/* without the flag: resume */
	vt_need(!error, "start %s: %s", name, strerror(-error));
	wait_for(path);
	return path;
}

void dm_remove(const char *name)
{
	struct dm_call c;
	int error, n = 0;

	do {
		dm_begin(&c, name);
		error = dm_call(&c, DM_DEV_REMOVE);
		if (error == -EBUSY)
			vt_sleep_ms(20);
	} while (error == -EBUSY && ++n < 250);
	vt_need(!error, "remove %s: %s", name, strerror(-error));
}

int dm_message(const char *name, const char *message)
{
	struct dm_call c;
	struct dm_target_msg *msg = (void *)c.data;

	dm_begin(&c, name);
	snprintf(msg->message, sizeof(c.data) - sizeof(*msg), "%s", message);
	return dm_call(&c, DM_TARGET_MSG);
}

/* --- loop --- */

char *loop_make(const char *file, uint64_t offset, uint64_t bytes)
{
	struct loop_config config = {
		.info.lo_offset = offset,
		.info.lo_sizelimit = bytes,
	};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int fd = open(file, O_RDWR | O_CLOEXEC), number, loop;
	char *path;

	vt_need(control >= 0 && fd >= 0, "open the loop driver and %s", file);
	number = ioctl(control, LOOP_CTL_GET_FREE);
	vt_need(number >= 0, "find a free loop device");
	path = text("/dev/loop%d", number);
	wait_for(path);
	loop = open(path, O_RDWR | O_CLOEXEC);
	config.fd = (uint32_t)fd;
	vt_need(loop >= 0 && !ioctl(loop, LOOP_CONFIGURE, &config),
		"set %s up: %s", path, strerror(errno));
	close(loop);
	close(fd);
	close(control);
	return path;
}

void loop_remove(const char *path)
{
	int loop = open(path, O_RDWR | O_CLOEXEC);

	vt_need(loop >= 0 && !ioctl(loop, LOOP_CLR_FD), "remove %s: %s", path,
		strerror(errno));
	close(loop);
}
