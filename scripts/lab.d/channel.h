/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the lab's two ends talk over a virtio-serial port.
 *
 * The host sends one request: a frame of type REQUEST whose payload is the
 * argument vector, each argument closed by a zero byte. The guest answers with
 * any number of OUT and ERR frames, then one EXIT frame with a 32-bit status.
 * The host hanging up means: end the command. So does a new request, since a
 * port doesn't tell of a short absence; the identity that the host gives to a
 * request, and finds in each answer, tells what is left of an old one.
 */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#define CHANNEL_MAGIC	0x4b56
#define CHANNEL_MAX	(1u << 16)

enum {
	CHANNEL_REQUEST = 1,
	CHANNEL_OUT,
	CHANNEL_ERR,
	CHANNEL_EXIT,
};

struct channel_frame {
	uint16_t magic;
	uint16_t type;
	uint32_t id;
	uint32_t len;
};

/* Both return 1, 0 at the end of the stream, -1 on an error. */
static inline int channel_read(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n;
		p += n;
		len -= n;
	}
	return 1;
}

static inline int channel_write(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n;
		p += n;
		len -= n;
	}
	return 1;
}

static inline int channel_send(int fd, int type, uint32_t id, const void *buf,
			       size_t len)
{
	struct channel_frame f = {
		.magic = CHANNEL_MAGIC, .type = type, .id = id, .len = len,
	};
	int ret = channel_write(fd, &f, sizeof(f));

	return ret == 1 && len ? channel_write(fd, buf, len) : ret;
}

#endif
