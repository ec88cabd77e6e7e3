/* SPDX-License-Identifier: MIT */
/*
 * Messages: on stderr, one a line. Under systemd each begins with its level, as
 * the journal wants it, elsewhere with the time.
 */
#ifndef KVC_AGENT_LOG_H
#define KVC_AGENT_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR		= 3,	/* somebody has to do something */
	LOG_LEVEL_WARNING	= 4,	/* it does not go well, and may go on so */
	LOG_LEVEL_NOTICE	= 5,	/* the cluster changes */
	LOG_LEVEL_DEBUG		= 7,
};

/* @verbose: debugging messages as well. */
void log_open(const char *name, bool verbose);
void log_line(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...)		log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...)	log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)		log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_debug(...)		log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
