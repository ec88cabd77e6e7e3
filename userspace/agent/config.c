// SPDX-License-Identifier: MIT
/* What kvcached is told. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kvcache.h>

#include "config.h"

#define LEAVE_MS	30000
#define LEAVE_MAX_MS	3600000
#define TTL_MAX		3600

enum kind {
	KIND_TEXT,	/* char * */
	KIND_LIST,	/* struct config_list: may be given many times */
	KIND_COUNT,	/* uint32_t */
	KIND_SECONDS,	/* uint32_t: whole seconds */
	KIND_MS,	/* uint32_t: milliseconds */
	KIND_YES,	/* bool */
	KIND_DETACH,	/* enum config_detach */
};

/**
 * struct key - a setting
 * @name: in the file
 * @kind: of its value
 * @offset: in struct config
 * @max: of a number
 */
struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	uint32_t max;
};

#define KEY(field, kind, max) { #field, kind, offsetof(struct config, field), max }

static const struct key keys[] = {
	KEY(pool, KIND_TEXT, 0),
	{ "member", KIND_LIST, offsetof(struct config, members), 0 },
	{ "subsystem", KIND_LIST, offsetof(struct config, subsystems), 0 },
	KEY(etcd, KIND_LIST, 0),
	KEY(prefix, KIND_TEXT, 0),
	KEY(cacert, KIND_TEXT, 0),
	KEY(cert, KIND_TEXT, 0),
	KEY(key, KIND_TEXT, 0),
	KEY(user, KIND_TEXT, 0),
	KEY(password_file, KIND_TEXT, 0),
	{ "ttl", KIND_SECONDS, offsetof(struct config, ttl_s), TTL_MAX },
	KEY(node, KIND_TEXT, 0),
	KEY(hostnqn, KIND_TEXT, 0),
	{ "max_staleness", KIND_MS, offsetof(struct config, max_staleness_ms),
	  KVCACHE_STALENESS_MAX_MS },
	KEY(degraded, KIND_YES, 0),
	KEY(fence, KIND_YES, 0),
	KEY(number, KIND_COUNT, INT32_MAX),
	KEY(device, KIND_TEXT, 0),
	KEY(run_dir, KIND_TEXT, 0),
	{ "leave_timeout", KIND_MS, offsetof(struct config, leave_ms),
	  LEAVE_MAX_MS },
	KEY(detach, KIND_DETACH, 0),
	KEY(verbose, KIND_YES, 0),
};

static bool wrong(char error[CONFIG_ERROR], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool wrong(char error[CONFIG_ERROR], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, CONFIG_ERROR, fmt, args);
	va_end(args);
	return false;
}

static char *copy(const char *text)
{
	char *s = strdup(text);

	if (!s)
		abort();
	return s;
}

void config_init(struct config *c)
{
	*c = (struct config) {
		.prefix = copy("/kvcache"),
		.device = copy("/dev/kvcache"),
		.run_dir = copy("/run/kvcached"),
		.leave_ms = LEAVE_MS,
	};
}

void config_free(struct config *c)
{
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *field = (char *)c + keys[i].offset;
		struct config_list *list = (struct config_list *)(void *)field;

		if (keys[i].kind == KIND_TEXT)
			free(*(char **)(void *)field);
		if (keys[i].kind == KIND_LIST)
			while (list->count)
				free(list->values[--list->count]);
	}
	memset(c, 0, sizeof(*c));
}

/* "10", "500ms", "10s", "2m": milliseconds; a bare number counts seconds. */
static bool parse_time(const char *text, uint64_t *ms)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || value > UINT32_MAX)
		return false;
	if (!*end || !strcmp(end, "s"))
		value *= 1000;
	else if (!strcmp(end, "m"))
		value *= 60000;
	else if (strcmp(end, "ms"))
		return false;
	*ms = value;
	return true;
}

static bool parse_count(const char *text, uint64_t *count)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*count = strtoull(text, &end, 10);
	return !errno && !*end;
}

static bool add_values(struct config_list *list, char *value, const char *name,
		       char error[CONFIG_ERROR])
{
	char *at, *rest = value;

	while ((at = strsep(&rest, ", \t"))) {
		if (!*at)
			continue;
		if (list->count == CONFIG_LIST_MAX)
			return wrong(error, "more than %d values of '%s'",
				     CONFIG_LIST_MAX, name);
		list->values[list->count++] = copy(at);
	}
	return true;
}

static bool set(struct config *c, const struct key *key, char *value,
		char error[CONFIG_ERROR])
{
	void *field = (char *)c + key->offset;
	uint64_t number = 0;

	switch (key->kind) {
	case KIND_TEXT:
		free(*(char **)field);
		*(char **)field = copy(value);
		return true;
	case KIND_LIST:
		return add_values(field, value, key->name, error);
	case KIND_COUNT:
		if (!parse_count(value, &number) || !number || number > key->max)
			return wrong(error, "'%s' must be a number from 1 to %u, not '%.60s'",
				     key->name, key->max, value);
		*(uint32_t *)field = (uint32_t)number;
		return true;
	case KIND_SECONDS:
		if (!parse_time(value, &number) || !number || number % 1000 ||
		    number / 1000 > key->max)
			return wrong(error, "'%s' must be a time of whole seconds, as 10s, at most %us, not '%.60s'",
				     key->name, key->max, value);
		*(uint32_t *)field = (uint32_t)(number / 1000);
		return true;
	case KIND_MS:
		if (!parse_time(value, &number) || number > key->max)
			return wrong(error, "'%s' must be a time as 500ms or 10s, at most %us, not '%.60s'",
				     key->name, key->max / 1000, value);
		*(uint32_t *)field = (uint32_t)number;
		return true;
	case KIND_YES:
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return wrong(error, "'%s' must be yes or no, not '%.60s'",
				     key->name, value);
		*(bool *)field = !strcmp(value, "yes");
		return true;
	case KIND_DETACH:
		if (!strcmp(value, "auto"))
			*(enum config_detach *)field = CONFIG_DETACH_AUTO;
		else if (!strcmp(value, "yes"))
			*(enum config_detach *)field = CONFIG_DETACH_YES;
		else if (!strcmp(value, "no"))
			*(enum config_detach *)field = CONFIG_DETACH_NO;
		else
			return wrong(error, "'%s' must be auto, yes or no, not '%.60s'",
				     key->name, value);
		return true;
	}
	return false;
}

/* Without the blanks around it, in place. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	return text;
}

bool config_line(struct config *c, const char *line, char error[CONFIG_ERROR])
{
	char *text = copy(line), *name = trim(text), *value;
	bool good = true;
	size_t i;

	if (!*name || *name == '#')
		goto done;
	value = strchr(name, '=');
	if (!value) {
		good = wrong(error, "'%.60s' is not of the form key = value", name);
		goto done;
	}
	*value++ = '\0';
	name = trim(name);
	value = trim(value);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i].name, name))
			break;
	if (i == sizeof(keys) / sizeof(keys[0]))
		good = wrong(error, "there is no setting '%.60s'", name);
	else if (!*value)
		good = wrong(error, "'%s' has no value", name);
	else
		good = set(c, &keys[i], value, error);
done:
	free(text);
	return good;
}

bool config_file(struct config *c, const char *path, char error[CONFIG_ERROR])
{
	FILE *file = fopen(path, "re");
	char what[CONFIG_ERROR];
	char *line = NULL;
	size_t room = 0;
	unsigned int number = 0;
	bool good = true;

	if (!file)
		return wrong(error, "%.150s: can't read it: %s", path,
			     strerror(errno));
	while (good && getline(&line, &room, file) >= 0) {
		number++;
		good = config_line(c, line, what);
	}
	if (!good)
		wrong(error, "%.100s:%u: %.140s", path, number, what);
	else if (ferror(file))
		good = wrong(error, "%.150s: can't read it", path);
	free(line);
	fclose(file);
	return good;
}

bool config_finish(struct config *c, char error[CONFIG_ERROR])
{
	unsigned int i;

	if (!c->pool)
		return wrong(error, "no pool is named: set 'pool' to a name or UUID");
	if (strchr(c->pool, '/') || *c->pool == '.')
		return wrong(error, "'%.60s' is no name of a pool", c->pool);
	if (!c->etcd.count)
		c->etcd.values[c->etcd.count++] = copy("http://127.0.0.1:2379");
	for (i = 0; i < c->etcd.count; i++)
		if (strncmp(c->etcd.values[i], "http://", 7) &&
		    strncmp(c->etcd.values[i], "https://", 8))
			return wrong(error, "'etcd' must be URLs as http://HOST:2379, not '%.60s'",
				     c->etcd.values[i]);
	if (c->prefix[0] != '/' || c->prefix[strlen(c->prefix) - 1] == '/')
		return wrong(error, "'prefix' must begin and not end with a slash, not '%.60s'",
			     c->prefix);
	if (!c->cert != !c->key)
		return wrong(error, "'cert' and 'key' need each other");
	if (!c->user != !c->password_file)
		return wrong(error, "'user' and 'password_file' need each other");
	if (c->node && strlen(c->node) >= KVCACHE_NAME_MAX)
		return wrong(error, "'node' is longer than %d bytes",
			     KVCACHE_NAME_MAX - 1);
	if (c->hostnqn && strlen(c->hostnqn) >= KVCACHE_NQN_MAX)
		return wrong(error, "'hostnqn' is longer than %d bytes",
			     KVCACHE_NQN_MAX - 1);
	return true;
}
