// SPDX-License-Identifier: GPL-2.0
/*
 * The network of the lab's clusters: passes Ethernet frames between virtual
 * machines, each connected to a socket of its own by QEMU's "-netdev stream".
 * Nothing else is connected, so nothing leaves the machine.
 *
 * usage: switch DIRECTORY PORT...
 *
 * Port P is the socket DIRECTORY/P.sock; who connects anew takes the place of who
 * was there. While DIRECTORY/P.cut exists, frames from and to that port are
 * dropped without a word, as they are by a broken cable between two switches: the
 * machine's own link stays up.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PORTS_MAX	16
#define FRAME_MAX	(128u << 10)	/* with its length before it */
/*
 * What waits for a machine that is slow, or stopped. Soft-RoCE has some hundred
 * KiB under way and repeats all of it after a loss.
 */
#define QUEUE_MAX	(8u << 20)
#define MACS_MAX	64

/**
 * struct port - a place for a machine
 * @name: of its socket
 * @listener: for who comes
 * @fd: who is there, -1: nobody
 * @cut: frames are dropped
 * @in: a frame that is not yet complete, and what came after it
 * @in_len: bytes there
 * @out: frames that wait, a ring
 * @out_at: first byte that waits
 * @out_len: how many do
 * @dropped: frames for which there was no room
 */
struct port {
	const char *name;
	int listener;
	int fd;
	bool cut;
	uint8_t in[2 * FRAME_MAX];
	size_t in_len;
	uint8_t *out;
	size_t out_at;
	size_t out_len;
	unsigned long dropped;
};

struct mac {
	uint8_t address[6];
	struct port *port;
};

static struct port ports[PORTS_MAX];
static unsigned int nr_ports;
static struct mac macs[MACS_MAX];
static unsigned int nr_macs;

static void die(const char *what)
{
	fprintf(stderr, "switch: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- sockets --- */

static int listen_at(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s.sock", name) >=
	    (int)sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		die(name);
	}
	unlink(a.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 4))
		die(a.sun_path);
	return fd;
}

static void hang_up(struct port *p)
{
	close(p->fd);
	p->fd = -1;
	p->in_len = 0;
	p->out_len = 0;
}

static void take_call(struct port *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (p->fd >= 0)
		hang_up(p);
	p->fd = fd;
}

static void look_for_cuts(void)
{
	char path[64];
	unsigned int i;

	for (i = 0; i < nr_ports; i++) {
		snprintf(path, sizeof(path), "%.50s.cut", ports[i].name);
		ports[i].cut = !access(path, F_OK);
	}
}

/* --- frames --- */

static void push(struct port *p)
{
	while (p->out_len) {
		size_t n = QUEUE_MAX - p->out_at;
		ssize_t sent;

		if (n > p->out_len)
			n = p->out_len;
		sent = send(p->fd, p->out + p->out_at, n, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			if (errno != EAGAIN)
				hang_up(p);
			return;
		}
		p->out_at = (p->out_at + (size_t)sent) % QUEUE_MAX;
		p->out_len -= (size_t)sent;
	}
}

static void queue(struct port *p, const uint8_t *data, size_t len)
{
	size_t at = (p->out_at + p->out_len) % QUEUE_MAX;
	size_t first = QUEUE_MAX - at < len ? QUEUE_MAX - at : len;

	memcpy(p->out + at, data, first);
	memcpy(p->out, data + first, len - first);
	p->out_len += len;
}

static void forward(struct port *to, const uint8_t *data, size_t len)
{
	if (to->fd < 0 || to->cut)
		return;
	if (QUEUE_MAX - to->out_len < len) {
		to->dropped++;
		return;
	}
	queue(to, data, len);
	push(to);
}

static struct mac *find(const uint8_t *address)
{
	unsigned int i;

	for (i = 0; i < nr_macs; i++)
		if (!memcmp(macs[i].address, address, 6))
			return &macs[i];
	return NULL;
}

static void learn(const uint8_t *address, struct port *p)
{
	struct mac *m = find(address);

	if (!m) {
		if (nr_macs == MACS_MAX)
			return;
		m = &macs[nr_macs++];
		memcpy(m->address, address, 6);
	}
	m->port = p;
}

/* A frame with its length before it. */
static void handle(struct port *from, const uint8_t *data, size_t len)
{
	const uint8_t *to = data + 4, *sender = data + 10;
	struct mac *m;
	unsigned int i;

	if (len < 4 + 14 || from->cut)
		return;
	if (!(sender[0] & 1))
		learn(sender, from);
	m = to[0] & 1 ? NULL : find(to);
	if (m) {
		if (m->port != from)
			forward(m->port, data, len);
		return;
	}
	for (i = 0; i < nr_ports; i++)
		if (&ports[i] != from)
			forward(&ports[i], data, len);
}

static void take_frames(struct port *p)
{
	ssize_t got = read(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len);
	size_t at = 0;

	if (got <= 0) {
		if (!got || (errno != EAGAIN && errno != EINTR))
			hang_up(p);
		return;
	}
	p->in_len += (size_t)got;
	while (p->in_len - at >= 4) {
		uint32_t len;

		memcpy(&len, p->in + at, 4);
		len = ntohl(len);
		if (len > FRAME_MAX - 4) {
			fprintf(stderr, "switch: %s: a frame of %u bytes\n",
				p->name, len);
			hang_up(p);
			return;
		}
		if (p->in_len - at < 4 + len)
			break;
		handle(p, p->in + at, 4 + len);
		at += 4 + len;
	}
	p->in_len -= at;
	memmove(p->in, p->in + at, p->in_len);
}

int main(int argc, char **argv)
{
	struct pollfd polls[2 * PORTS_MAX + 1];
	char events[4096];
	unsigned int i;
	int notify;

	if (argc < 3 || argc - 2 > PORTS_MAX) {
		fprintf(stderr, "usage: switch DIRECTORY PORT...\n");
		return 2;
	}
	if (chdir(argv[1]))
		die(argv[1]);
	notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (notify < 0 ||
	    inotify_add_watch(notify, ".", IN_CREATE | IN_DELETE | IN_MOVE) < 0)
		die("watch the directory");
	for (i = 2; i < (unsigned int)argc; i++) {
		struct port *p = &ports[nr_ports++];

		p->name = argv[i];
		p->fd = -1;
		p->out = malloc(QUEUE_MAX);
		if (!p->out)
			die("memory");
		p->listener = listen_at(p->name);
	}
	look_for_cuts();
	for (;;) {
		for (i = 0; i < nr_ports; i++) {
			polls[2 * i].fd = ports[i].listener;
			polls[2 * i].events = POLLIN;
			polls[2 * i + 1].fd = ports[i].fd;
			polls[2 * i + 1].events = (short)
				(POLLIN | (ports[i].out_len ? POLLOUT : 0));
		}
		polls[2 * i].fd = notify;
		polls[2 * i].events = POLLIN;
		if (poll(polls, 2 * nr_ports + 1, -1) < 0 && errno != EINTR)
			die("poll");
		if (polls[2 * nr_ports].revents) {
			while (read(notify, events, sizeof(events)) > 0)
				;
			look_for_cuts();
		}
		for (i = 0; i < nr_ports; i++) {
			struct port *p = &ports[i];
			int fd = polls[2 * i + 1].fd;

			if (fd >= 0 && p->fd == fd && polls[2 * i + 1].revents & POLLOUT)
				push(p);
			if (fd >= 0 && p->fd == fd &&
			    polls[2 * i + 1].revents & (POLLIN | POLLHUP | POLLERR))
				take_frames(p);
			if (polls[2 * i].revents)
				take_call(p);
		}
	}
}
