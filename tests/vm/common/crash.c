// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash.h"

#define ARGS 96

extern char **environ;

void crash_open(struct crash_pool *p, char **members, unsigned int nr)
{
	char *list = getenv("KVC_MEMBERS"), *word;
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->ctl = getenv("KVC_CTL") ?: "/kvc/userspace/kvcachectl";
	p->number = 1;
	p->members = calloc(64, sizeof(*p->members));
	vt_need(p->members, "memory for members");
	for (i = 0; i < nr; i++)
		p->members[p->nr++] = members[i];
	if (!nr && list)
		for (word = strtok(strdup(list), " "); word && p->nr < 64;
		     word = strtok(NULL, " "))
			p->members[p->nr++] = word;
	vt_need(p->nr, "no members");
	p->kvc = kvc_open(NULL, p->number);
	vt_need(p->kvc, "open /dev/kvcache: %s", strerror(errno));
}

static void print_file(int fd)
{
	char text[65536], *line, *rest = text;
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (*line)
			vt_note("| %s", line);
}

int crash_run(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	char path[] = "/tmp/output.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), status = -1;
	pid_t pid;

	vt_need(fd >= 0, "make %s", path);
	unlink(path);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 1);
	posix_spawn_file_actions_adddup2(&actions, fd, 2);
	if (!posix_spawn(&pid, argv[0], &actions, NULL,
			 (char *const *)(uintptr_t)argv, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&actions);
	if (status) {
		vt_note("%s %s: status %x", argv[0], argv[1], status);
		print_file(fd);
	}
	close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_tool(struct crash_pool *p, const char *command,
		    const char *const *options)
{
	const char *argv[ARGS] = { p->ctl, command };
	unsigned int n = 2, i;

	while (*options && n < ARGS / 4)
		argv[n++] = *options++;
	for (i = 0; i < p->nr; i++)
		argv[n++] = p->members[i];
	return crash_run(argv);
}

const char **crash_words(const char *line)
{
	const char **list = calloc(64, sizeof(*list));
	char *copy = strdup(line), *word;
	int n = 0;

	vt_need(list && copy, "memory for words");
	for (word = strtok(copy, " "); word && n < 63; word = strtok(NULL, " "))
		list[n++] = word;
	return list;
}

void crash_format(struct crash_pool *p, const char *const *options)
{
	vt_need(!run_tool(p, "format", options), "format the members");
}

bool crash_fsck(struct crash_pool *p, const char *when)
{
	/* Nobody else is there: no need to watch the slots. */
	static const char *const options[] = { "--force", "--strict", NULL };
	uint64_t start = vt_ms();
	int status = run_tool(p, "fsck", options);

	p->fsck_ms += vt_ms() - start;
	return vt_expect(!status, "fsck %s: status %d", when, status);
}

int crash_attach_once(struct crash_pool *p, char *reason)
{
	struct kvc_attach_options options = {
		.paths = p->members,
		.nr_members = p->nr,
		.pool = p->number,
		.nqn = "nqn.2014-08.org.nvmexpress:uuid:crash",
		.node = "crash",
	};
	char unread[768];
	uint64_t start = vt_ms();
	int got;

	got = kvc_attach(p->kvc, &options, reason ?: unread, 768);
	p->attach_ms += vt_ms() - start;
	return got < 0 ? got : 0;
}

int crash_attach(struct crash_pool *p, char *reason)
{
	int error, tries = 0;

	/* On a busy machine short leases run out; that is not what is tested. */
	while ((error = crash_attach_once(p, reason)) == -ESTALE &&
	       ++tries < 20)
		p->lapses++;
	return error;
}

int crash_detach(struct crash_pool *p)
{
	return kvc_detach(p->kvc, p->number, 0);
}

int crash_abandon_if(struct crash_pool *p)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", p->number);
	return vt_write(CRASH_DEBUGFS "abandon", number);
}

void crash_abandon(struct crash_pool *p)
{
	int error = crash_abandon_if(p);

	vt_need(!error, "abandon the pool: %s", strerror(-error));
}

void crash_abandon_after(unsigned int writes)
{
	char number[16];
	int error;

	snprintf(number, sizeof(number), "%u", writes);
	error = vt_write(CRASH_DEBUGFS "abandon_after", number);
	vt_need(!error, "plan to abandon the pool: %s", strerror(-error));
}

unsigned int crash_abandon_left(void)
{
	long long left = vt_read_number(CRASH_DEBUGFS "abandon_after");

	vt_need(left >= 0, "read what is left of the plan");
	return (unsigned int)left;
}
