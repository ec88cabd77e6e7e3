// SPDX-License-Identifier: MIT
/* Messages. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "log.h"

static const char *program = "kvcached";
static bool journal, debugging;

void log_open(const char *name, bool verbose)
{
	program = name;
	debugging = verbose;
	journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const words[] = {
		[LOG_LEVEL_ERROR] = "error: ",
		[LOG_LEVEL_WARNING] = "warning: ",
		[LOG_LEVEL_NOTICE] = "",
		[LOG_LEVEL_DEBUG] = "debug: ",
	};
	char text[1024], when[32];
	struct timespec now;
	struct tm tm;
	va_list args;

	if (level == LOG_LEVEL_DEBUG && !debugging)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (journal) {
		fprintf(stderr, "<%d>%s\n", level, text);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	fprintf(stderr, "%s.%03ld %s: %s%s\n", when, now.tv_nsec / 1000000,
		program, words[level], text);
}
