// SPDX-License-Identifier: MIT
/* How far long work has come. */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define SECOND		1000000000ULL
#define BAR_WIDTH	30

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * SECOND + (u64)t.tv_nsec;
}

void ctl_progress_begin(struct ctl_progress *p, struct ctl *ctl,
			const char *what, u64 total)
{
	*p = (struct ctl_progress) {
		.ctl = ctl,
		.what = what,
		.total = total,
		.begun_ns = now_ns(),
		.terminal = isatty(STDERR_FILENO),
	};
	p->shown_ns = p->begun_ns;
}

static void draw(struct ctl_progress *p)
{
	unsigned int percent = p->total ? (unsigned int)((double)p->done * 100 /
							 (double)p->total) : 0;
	int filled = (int)(percent * BAR_WIDTH / 100);

	if (filled > BAR_WIDTH)
		filled = BAR_WIDTH;
	if (!p->terminal && p->total)
		fprintf(stderr, "%s: %u %%\n", p->what, percent);
	else if (!p->terminal)
		fprintf(stderr, "%s %" PRIu64 "\n", p->what, (uint64_t)p->done);
	else if (p->total)
		fprintf(stderr, "\r\033[K%s [%.*s%*s] %u %%", p->what, filled,
			"##############################", BAR_WIDTH - filled, "",
			percent);
	else
		fprintf(stderr, "\r\033[K%s %" PRIu64, p->what, (uint64_t)p->done);
	fflush(stderr);
	p->drawn = true;
}

void ctl_progress_set(struct ctl_progress *p, u64 done)
{
	u64 now;

	p->done = done;
	if (p->ctl->quiet || p->ctl->json)
		return;
	now = now_ns();
	if (now - p->begun_ns < SECOND)
		return;
	if (now - p->shown_ns < (p->terminal ? SECOND / 5 : 10 * SECOND))
		return;
	p->shown_ns = now;
	draw(p);
}

void ctl_progress_add(struct ctl_progress *p, u64 more)
{
	ctl_progress_set(p, p->done + more);
}

void ctl_progress_end(struct ctl_progress *p)
{
	if (p->drawn && p->terminal) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
}
