// SPDX-License-Identifier: GPL-2.0
/*
 * A guest's connection to a service of this machine: QEMU's user-mode network
 * starts one for each, with the connection as standard input and output.
 *
 * usage: relay PORT CUT-FILE
 *
 * PORT is one of 127.0.0.1. While CUT-FILE exists nothing passes, in either
 * direction, and no connection is made or ended: as behind a cable that is broken
 * somewhere on the way.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* How often to look whether the cable is broken. */
#define LOOK_MS 50

static const char *cut_file;

static bool cut(void)
{
	return !access(cut_file, F_OK);
}

/*
 * One direction's data. False: it has ended. What was read before the cut is
 * passed on: it was on the way behind the break.
 */
static bool pass(int from, int to)
{
	static char buf[65536];
	ssize_t got = read(from, buf, sizeof(buf)), done = 0, n;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	while (done < got) {
		n = write(to, buf + done, (size_t)(got - done));
		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { to, POLLOUT, 0 };

			poll(&p, 1, -1);
			continue;
		}
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? n : 0;
	}
	return got > 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: relay PORT CUT-FILE\n");
		return 2;
	}
	cut_file = argv[2];
	a.sin_port = htons((uint16_t)atoi(argv[1]));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while (cut())
		usleep(LOOK_MS * 1000);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return 1;
	for (;;) {
		struct pollfd p[] = {
			{ .fd = 0, .events = POLLIN }, { .fd = fd, .events = POLLIN },
		};

		if (cut()) {
			usleep(LOOK_MS * 1000);
			continue;
		}
		poll(p, 2, LOOK_MS);
		if (cut())
			continue;
		if (p[0].revents && !pass(0, fd))
			return 0;
		if (p[1].revents && !pass(fd, 1))
			return 0;
	}
}
