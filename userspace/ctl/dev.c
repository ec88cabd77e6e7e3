// SPDX-License-Identifier: MIT
/* Members as devices: open, read, write, zero, flush. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#define ZERO_CHUNK 256	/* blocks written at a time: 1 MiB */

static const char *open_advice(int error)
{
	switch (error) {
	case ENOENT:
		return "Look at 'lsblk', or connect it with 'kvcachectl connect'.";
	case EACCES:
	case EPERM:
		return "Run it as root.";
	case EBUSY:
		return "It is mounted, held by another device, or a member of an attached pool: see 'lsblk' and 'kvcachectl info'.";
	case ENXIO:
	case ENODEV:
		return "The device is gone: reconnect it with 'kvcachectl connect'.";
	default:
		return NULL;
	}
}

/* Fill in size and identity: 0 or -errno; @why names what is unfit. */
static int look_at(struct ctl_dev *dev, const char **why)
{
	struct stat st;
	u64 bytes = 0;
	int sector = 0;

	if (fstat(dev->fd, &st))
		return -errno;
	dev->is_block = S_ISBLK(st.st_mode);
	dev->ino_dev = st.st_dev;
	dev->ino = st.st_ino;
	if (dev->is_block) {
		dev->id = st.st_rdev;
		if (ioctl(dev->fd, BLKGETSIZE64, &bytes) ||
		    ioctl(dev->fd, BLKSSZGET, &sector))
			return -errno;
		if (sector > (int)KVC_BLOCK_SIZE) {
			*why = "its logical blocks are larger than 4096 bytes";
			return -EINVAL;
		}
	} else if (S_ISREG(st.st_mode)) {
		bytes = (u64)st.st_size;
	} else {
		*why = "it is neither a block device nor a regular file";
		return -ENOTBLK;
	}
	dev->bytes = bytes;
	dev->blocks = bytes >> KVC_BLOCK_SHIFT;
	return 0;
}

/* Does a loop device use this file? O_EXCL says nothing about that. */
static bool backs_a_loop_device(const struct ctl_dev *dev, char *loop,
				size_t room)
{
	glob_t found;
	bool held = false;
	size_t i;

	if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &found))
		return false;
	for (i = 0; i < found.gl_pathc && !held; i++) {
		char file[4096];
		struct stat st;

		if (ctl_attribute(file, sizeof(file), "%s", found.gl_pathv[i]) > 0 &&
		    !stat(file, &st) && st.st_dev == dev->ino_dev &&
		    st.st_ino == dev->ino) {
			snprintf(loop, room, "/dev/%.*s",
				 (int)strcspn(found.gl_pathv[i] + 11, "/"),
				 found.gl_pathv[i] + 11);
			held = true;
		}
	}
	globfree(&found);
	return held;
}

int ctl_dev_open(struct ctl *ctl, struct ctl_dev *dev, const char *path,
		 unsigned int flags)
{
	int how = (flags & CTL_DEV_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC;
	const char *why = NULL;
	struct stat st;
	char loop[64];
	int error;

	*dev = (struct ctl_dev) { .fd = -1 };
	/* O_EXCL means something only for block devices. */
	if (flags & CTL_DEV_EXCL && !stat(path, &st) && S_ISBLK(st.st_mode))
		how |= O_EXCL;
	dev->fd = open(path, how | O_DIRECT);
	if (dev->fd < 0 && errno == EINVAL)
		dev->fd = open(path, how);	/* tmpfs, for one */
	if (dev->fd < 0) {
		error = -errno;
		goto fail;
	}
	error = look_at(dev, &why);
	if (error)
		goto fail_close;
	if (flags & CTL_DEV_EXCL && !dev->is_block &&
	    backs_a_loop_device(dev, loop, sizeof(loop))) {
		if (!(flags & CTL_DEV_QUIET))
			ctl_err(ctl, path, "Use the loop device, or detach it with 'losetup -d'.",
				"the file is in use as %s", loop);
		ctl_dev_close(dev);
		return -EBUSY;
	}
	dev->path = ctl_strdup(path);
	dev->writable = flags & CTL_DEV_WRITE;
	return 0;

fail_close:
	close(dev->fd);
	dev->fd = -1;
fail:
	if (!(flags & CTL_DEV_QUIET))
		ctl_err(ctl, path, open_advice(-error), "can't use the device: %s",
			why ? why : strerror(-error));
	return error;
}

void ctl_dev_close(struct ctl_dev *dev)
{
	if (dev->fd >= 0)
		close(dev->fd);
	free(dev->path);
	*dev = (struct ctl_dev) { .fd = -1 };
}

bool ctl_dev_same(const struct ctl_dev *a, const struct ctl_dev *b)
{
	if (a->is_block != b->is_block)
		return false;
	if (a->is_block)
		return a->id == b->id;
	return a->ino_dev == b->ino_dev && a->ino == b->ino;
}

static int check_range(const struct ctl_dev *dev, u64 block, u64 blocks)
{
	return block > dev->blocks || blocks > dev->blocks - block ? -ERANGE : 0;
}

int ctl_dev_read(const struct ctl_dev *dev, u64 block, void *buf, size_t blocks)
{
	size_t left = blocks * KVC_BLOCK_SIZE;
	off_t at = (off_t)(block << KVC_BLOCK_SHIFT);
	char *to = buf;

	if (check_range(dev, block, blocks))
		return -ERANGE;
	while (left) {
		ssize_t got = pread(dev->fd, to, left, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EIO;	/* shorter than it said */
		to += got;
		at += got;
		left -= (size_t)got;
	}
	return 0;
}

int ctl_dev_write(const struct ctl_dev *dev, u64 block, const void *buf,
		  size_t blocks)
{
	size_t left = blocks * KVC_BLOCK_SIZE;
	off_t at = (off_t)(block << KVC_BLOCK_SHIFT);
	const char *from = buf;

	if (check_range(dev, block, blocks))
		return -ERANGE;
	while (left) {
		ssize_t put = pwrite(dev->fd, from, left, at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		from += put;
		at += put;
		left -= (size_t)put;
	}
	return 0;
}

int ctl_dev_zero(const struct ctl_dev *dev, u64 block, u64 blocks)
{
	u64 range[2] = { block << KVC_BLOCK_SHIFT, blocks << KVC_BLOCK_SHIFT };
	void *zeroes;
	int error = 0;

	if (check_range(dev, block, blocks))
		return -ERANGE;
	if (!blocks)
		return 0;
	/* The device's own way first; not all have one. */
	if (dev->is_block && !ioctl(dev->fd, BLKZEROOUT, range))
		return 0;
	if (!dev->is_block &&
	    !fallocate(dev->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		       (off_t)range[0], (off_t)range[1]))
		return 0;
	zeroes = ctl_buffer(ZERO_CHUNK);
	while (blocks && !error) {
		size_t part = blocks < ZERO_CHUNK ? (size_t)blocks : ZERO_CHUNK;

		error = ctl_dev_write(dev, block, zeroes, part);
		block += part;
		blocks -= part;
	}
	free(zeroes);
	return error;
}

int ctl_dev_flush(const struct ctl_dev *dev)
{
	return fsync(dev->fd) ? -errno : 0;
}
