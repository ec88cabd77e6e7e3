// SPDX-License-Identifier: MIT
/* kvcachectl replay: the report as a picture, drawn by gnuplot. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay.h"

/* Marks of the x axis: so many calls, of which one took longer. */
#define MOST_NINES	7

extern char **environ;

/* --- gnuplot --- */

/*
 * Run it with these for standard input and output; @in -1: only ask for its
 * version. Its exit status, or -errno: it can't be run.
 */
static int run_gnuplot(int in, int out)
{
	/* -d: without what the user set for other plots. */
	char *argv[] = { (char *)"gnuplot",
			 (char *)(in < 0 ? "--version" : "-d"), NULL };
	posix_spawn_file_actions_t actions;
	int error, status;
	pid_t pid;

	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return -error;
	if (in < 0)
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&actions, in, 0);
	if (out < 0)
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&actions, out, 1);
	error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return -error;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool replay_can_plot(struct ctl *ctl)
{
	int ret = run_gnuplot(-1, -1);

	if (ret >= 0 && ret != 127)
		return true;
	ctl_err(ctl, "--plot", "Install it (Debian: gnuplot-nox), or take --report and draw that elsewhere.",
		"gnuplot draws the picture, and it is not here");
	return false;
}

/* --- what it is to draw --- */

/* A text in single quotes; what could end it, or is no ASCII, is left out. */
static void quote(FILE *script, const char *text)
{
	for (; *text; text++)
		if (*text >= ' ' && *text <= '~' && *text != '\'')
			putc(*text, script);
}

static void title(FILE *script, const struct replay_report *r)
{
	fputs("set title '", script);
	quote(script, r->label);
	fprintf(script, ": %" PRIu64 " requests, %" PRIu64 " references, hit rate %.4f",
		(uint64_t)r->counts.requests, (uint64_t)r->counts.blocks,
		replay_hit_rate(r));
	if (r->pool_known)
		fprintf(script, ", writes per reference %.4f", replay_writes(r));
	fputs("'\n", script);
}

static void axes(FILE *script, u64 calls)
{
	u64 x = 10;
	u32 i;

	fputs("set logscale xy\n"
	      "set grid\n"
	      "set key left top\n"
	      "set xlabel 'share of the batches that took no longer'\n"
	      "set ylabel 'time of a batch (us)'\n"
	      "set format y '%g'\n"
	      /* Labels of an axis are formats. */
	      "set xtics ('0' 1, '50 %%' 2, '90 %%' 10", script);
	for (i = 0; i < MOST_NINES - 2; i++) {
		x *= 10;
		fprintf(script, ", '99%s%.*s %%%%' %" PRIu64, i ? "." : "", (int)i,
			"999999", (uint64_t)x);
	}
	fprintf(script, ")\nset xrange [1:%" PRIu64 "]\n",
		(uint64_t)max_t(u64, calls, 10));
}

/* Where all but one of x calls took no longer, x is the place. */
static void points(FILE *script, const struct latency *l)
{
	u64 ns, calls, before = 0;
	u32 bucket = 0;

	while (latency_step(l, &bucket, &ns, &calls)) {
		fprintf(script, "%g %g\n",
			(double)l->count / (double)(l->count - before),
			(double)ns / 1e3);
		before = calls;
	}
	/* The longest, as far as there are calls to tell. */
	fprintf(script, "%g %g\ne\n", (double)l->count, (double)l->max_ns / 1e3);
}

static void write_script(FILE *script, const struct replay_report *r)
{
	const char *separator = "plot";
	u64 calls = 0;
	u32 i;

	for (i = 0; i < REPLAY_STEPS; i++)
		calls = max_t(u64, calls, r->latency[i].count);
	fputs("set terminal svg size 960,540 noenhanced background 'white'\n", script);
	title(script, r);
	axes(script, calls);
	if (!calls) {
		/* There must be something to plot. */
		fputs("set yrange [1:10]\nplot NaN notitle\n", script);
		return;
	}
	for (i = 0; i < REPLAY_STEPS; i++) {
		if (!r->latency[i].count)
			continue;
		fprintf(script, "%s '-' using 1:2 with steps linewidth 2 title '%s'",
			separator, replay_steps[i]);
		separator = ",";
	}
	putc('\n', script);
	for (i = 0; i < REPLAY_STEPS; i++)
		if (r->latency[i].count)
			points(script, &r->latency[i]);
}

int replay_plot(const struct replay_report *r, const char *path, int fd)
{
	/* A file, as a pipe would end us if gnuplot ended early. */
	FILE *script = tmpfile();
	int ret = script ? 0 : -errno;

	if (script) {
		write_script(script, r);
		if (fflush(script) || lseek(fileno(script), 0, SEEK_SET))
			ret = -errno;
		else
			ret = run_gnuplot(fileno(script), fd);
		fclose(script);
	}
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret)
		return CTL_OK;
	if (ret < 0)
		return ctl_err(r->replay->ctl, path, NULL, "can't draw the picture: %s",
			       strerror(-ret));
	return ctl_err(r->replay->ctl, path, "See above for what it says.",
		       "gnuplot could not draw the picture");
}
