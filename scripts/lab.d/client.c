// SPDX-License-Identifier: GPL-2.0
/*
 * The host's end of the lab's channel: asks the guest behind a socket to run
 * a command, passes on what it prints, and exits as it did; 255 if the guest
 * went away before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "channel.h"

#define GONE 255

static int connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(a.sun_path, path);
	return fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) ? -1 : fd;
}

int main(int argc, char **argv)
{
	static char buf[CHANNEL_MAX];
	struct channel_frame f;
	uint32_t id = getpid() ^ time(NULL) << 16;
	size_t len = 0;
	int32_t status;
	int fd, i;

	if (argc < 3) {
		fprintf(stderr, "usage: client SOCKET COMMAND [ARGUMENT]...\n");
		return 2;
	}
	for (i = 2; i < argc; i++) {
		size_t n = strlen(argv[i]) + 1;

		if (len + n > sizeof(buf)) {
			fprintf(stderr, "client: the command is too long\n");
			return 2;
		}
		memcpy(buf + len, argv[i], n);
		len += n;
	}
	fd = connect_to(argv[1]);
	if (fd < 0) {
		fprintf(stderr, "client: %s: %s\n", argv[1], strerror(errno));
		return GONE;
	}
	if (channel_send(fd, CHANNEL_REQUEST, id, buf, len) != 1)
		return GONE;
	while (channel_read(fd, &f, sizeof(f)) == 1) {
		if (f.magic != CHANNEL_MAGIC || f.len > sizeof(buf) ||
		    channel_read(fd, buf, f.len) != 1)
			return GONE;
		if (f.id != id)
			continue;
		switch (f.type) {
		case CHANNEL_OUT:
			channel_write(1, buf, f.len);
			break;
		case CHANNEL_ERR:
			channel_write(2, buf, f.len);
			break;
		case CHANNEL_EXIT:
			memcpy(&status, buf, sizeof(status));
			return status;
		}
	}
	return GONE;
}
