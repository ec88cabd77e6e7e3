// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's end of the lab's channel, and its process 1: runs what the host
 * asks for, one command at a time on each port given on the command line.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "channel.h"

/* Run by the shell, so that the environment is that of the fabric now. */
#define ENTER "/kvc-guest/enter"

static int hung_up(int port)
{
	struct pollfd p = { .fd = port };

	return poll(&p, 1, 0) < 0 || (p.revents & POLLHUP);
}

/*
 * A port without a host at its other end is always readable: wait for the
 * signal that tells of a connection. The limit only guards against a signal
 * that came before we waited.
 */
static void wait_for_host(int port)
{
	struct timespec limit = { .tv_sec = 1 };
	sigset_t io;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	while (hung_up(port))
		sigtimedwait(&io, NULL, &limit);
}

static pid_t start(char **argv, int out, int err)
{
	pid_t pid = fork();
	sigset_t none;

	if (pid)
		return pid;
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out, 1);
	dup2(err, 2);
	execv(ENTER, argv);
	dprintf(2, "%s: %s\n", ENTER, strerror(errno));
	_exit(127);
}

/* Passes on one pipe's data. Returns 0 at its end. */
static int pass_on(int port, uint32_t id, int type, int from)
{
	static char buf[CHANNEL_MAX];
	ssize_t n = read(from, buf, sizeof(buf));

	if (n > 0)
		channel_send(port, type, id, buf, n);
	return n > 0;
}

/*
 * Passes on the command's output until it has ended. What it left running in
 * the background may hold the pipes open: don't wait for that.
 */
static int attend(int port, uint32_t id, pid_t pid, int out, int err)
{
	struct pollfd p[] = {
		{ .fd = out, .events = POLLIN },
		{ .fd = err, .events = POLLIN },
		{ .fd = port, .events = POLLIN },
	};
	int status = 0, ended = 0;

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		int n = poll(p, 3, ended ? 0 : 50);

		if (n == 0 && ended)
			break;
		if (p[0].fd >= 0 && p[0].revents &&
		    !pass_on(port, id, CHANNEL_OUT, out))
			p[0].fd = -1;
		if (p[1].fd >= 0 && p[1].revents &&
		    !pass_on(port, id, CHANNEL_ERR, err))
			p[1].fd = -1;
		if (p[2].revents) {
			kill(-pid, SIGKILL);
			p[2].fd = -1;
		}
		if (!ended)
			ended = waitpid(pid, &status, WNOHANG) == pid;
	}
	if (!ended)
		waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static int run(int port, uint32_t id, char *args, size_t len)
{
	char *argv[4096] = { ENTER };
	int out[2], err[2], n = 1;
	size_t at;
	int32_t status;
	pid_t pid;

	for (at = 0; at < len && n < 4095; at += strlen(args + at) + 1)
		argv[n++] = args + at;
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	pid = start(argv, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	status = pid < 0 ? 127 : attend(port, id, pid, out[0], err[0]);
	close(out[0]);
	close(err[0]);
	return channel_send(port, CHANNEL_EXIT, id, &status,
			    sizeof(status));
}

static void serve(const char *name)
{
	static char args[CHANNEL_MAX + 1];
	int port = open(name, O_RDWR | O_CLOEXEC);

	if (port < 0) {
		perror(name);
		_exit(1);
	}
	fcntl(port, F_SETOWN, getpid());
	fcntl(port, F_SETFL, fcntl(port, F_GETFL) | O_ASYNC);
	for (;;) {
		struct channel_frame f;

		wait_for_host(port);
		if (channel_read(port, &f, sizeof(f)) != 1)
			continue;
		if (f.magic != CHANNEL_MAGIC || f.type != CHANNEL_REQUEST ||
		    f.len > CHANNEL_MAX)
			continue;
		if (channel_read(port, args, f.len) != 1)
			continue;
		args[f.len] = 0;
		run(port, f.id, args, f.len);
	}
}

int main(int argc, char **argv)
{
	sigset_t io;
	int i;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	sigprocmask(SIG_BLOCK, &io, NULL);
	for (i = 1; i < argc; i++)
		if (fork() == 0)
			serve(argv[i]);
	for (;;)
		if (wait(NULL) < 0)
			pause();
}
