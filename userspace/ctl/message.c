// SPDX-License-Identifier: MIT
/* Errors, warnings and remarks; memory that never fails. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

static void tell_json(struct ctl *ctl, const char *level, const char *subject,
		      const char *next, const char *text)
{
	cJSON *object = cJSON_CreateObject();
	char *line;

	cJSON_AddStringToObject(object, "level", level);
	if (ctl->command)
		cJSON_AddStringToObject(object, "command", ctl->command);
	if (subject)
		cJSON_AddStringToObject(object, "subject", subject);
	cJSON_AddStringToObject(object, "message", text);
	if (next && *next)
		cJSON_AddStringToObject(object, "next", next);
	line = cJSON_PrintUnformatted(object);
	if (line)
		fprintf(stderr, "%s\n", line);
	free(line);
	cJSON_Delete(object);
}

static void tell(struct ctl *ctl, const char *level, const char *subject,
		 const char *next, const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	fflush(stdout);
	if (ctl->json) {
		tell_json(ctl, level, subject, next, text);
		return;
	}
	/* Over what is left of a progress bar. */
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	fprintf(stderr, "%s", ctl->prog);
	if (ctl->command)
		fprintf(stderr, " %s", ctl->command);
	fprintf(stderr, ": ");
	if (strcmp(level, "error"))
		fprintf(stderr, "%s: ", level);
	if (subject)
		fprintf(stderr, "%s: ", subject);
	fprintf(stderr, "%s\n", text);
	if (next && *next)
		fprintf(stderr, "  %s\n", next);
}

int ctl_err(struct ctl *ctl, const char *subject, const char *next,
	    const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(ctl, "error", subject, next, fmt, args);
	va_end(args);
	return CTL_FAIL;
}

void ctl_warn(struct ctl *ctl, const char *subject, const char *next,
	      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(ctl, "warning", subject, next, fmt, args);
	va_end(args);
}

void ctl_note(struct ctl *ctl, const char *fmt, ...)
{
	va_list args;

	if (ctl->quiet || ctl->json)
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void out_of_memory(void)
{
	fprintf(stderr, "kvcachectl: out of memory\n");
	exit(CTL_FAIL);
}

void *ctl_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

char *ctl_strdup(const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		out_of_memory();
	return copy;
}

char *ctl_printf(const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		out_of_memory();
	return text;
}

void *ctl_buffer(size_t blocks)
{
	void *p = aligned_alloc(KVC_BLOCK_SIZE, blocks * KVC_BLOCK_SIZE);

	if (!p)
		out_of_memory();
	memset(p, 0, blocks * KVC_BLOCK_SIZE);
	return p;
}
