// SPDX-License-Identifier: MIT
/* The members of a pool among all block devices of this host. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

#define EXPORTED \
	"/sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path"

/**
 * struct scan - a scan under way
 * @paths: what was found
 * @uuids: and of which pool each is
 * @count: how many
 */
struct scan {
	char **paths;
	u8 (*uuids)[16];
	u32 count;
};

/* Is there something in this directory? */
static bool has_entries(const char *path)
{
	struct dirent *entry;
	bool any = false;
	DIR *dir = opendir(path);

	if (!dir)
		return false;
	while (!any && (entry = readdir(dir)))
		any = entry->d_name[0] != '.';
	closedir(dir);
	return any;
}

/* Does this host's own NVMe target export the device? */
static bool is_exported(const char *name)
{
	char path[4096], want[300], real[PATH_MAX];
	bool exported = false;
	glob_t found;
	size_t i;

	if (glob(EXPORTED, 0, NULL, &found))
		return false;
	snprintf(want, sizeof(want), "/dev/%s", name);
	for (i = 0; i < found.gl_pathc && !exported; i++)
		exported = ctl_attribute(path, sizeof(path), "%s",
					 found.gl_pathv[i]) > 0 &&
			   realpath(path, real) && !strcmp(real, want);
	globfree(&found);
	return exported;
}

/*
 * A device that something else is stacked upon, or that is exported and then
 * connected by the same host, would show the same label twice.
 */
static bool worth_reading(const char *name)
{
	char text[64], path[512];

	if (!strncmp(name, "ram", 3) || !strncmp(name, "zram", 4))
		return false;
	if (ctl_attribute(text, sizeof(text), "/sys/class/block/%s/size", name) <= 0 ||
	    !strcmp(text, "0"))
		return false;
	snprintf(path, sizeof(path), "/sys/class/block/%s/holders", name);
	return !has_entries(path) && !is_exported(name);
}

static void add(struct scan *s, const char *path, const u8 *uuid)
{
	s->paths = realloc(s->paths, (s->count + 1) * sizeof(*s->paths));
	s->uuids = realloc(s->uuids, (s->count + 1) * sizeof(*s->uuids));
	if (!s->paths || !s->uuids)
		abort();
	s->paths[s->count] = ctl_strdup(path);
	memcpy(s->uuids[s->count], uuid, 16);
	s->count++;
}

static void look_at(struct ctl *ctl, struct scan *s, const char *path,
		    const char *name, const u8 *uuid)
{
	struct pool_probe p;
	char *const paths[] = { (char *)path };

	if (!pool_probe(ctl, &p, paths, 1, CTL_DEV_QUIET) && p.found &&
	    (!name || !strcmp(name, p.g.name)) &&
	    (!uuid || !memcmp(uuid, p.g.uuid, 16)))
		add(s, path, p.g.uuid);
	pool_probe_free(&p);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Two pools of one name: which? */
static int check_one_pool(struct ctl *ctl, const struct scan *s, const char *pool)
{
	char first[CTL_TEXT], other[CTL_TEXT];
	u32 i;

	for (i = 1; i < s->count; i++)
		if (memcmp(s->uuids[0], s->uuids[i], 16)) {
			ctl_err(ctl, pool, "Give the UUID instead of the name.",
				"two pools have this name: %s and %s",
				ctl_uuid(first, s->uuids[0]),
				ctl_uuid(other, s->uuids[i]));
			return -ENOTUNIQ;
		}
	return 0;
}

static void free_paths(char **paths, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
}

int pool_scan(struct ctl *ctl, const char *pool, char ***paths)
{
	struct scan s = { 0 };
	struct dirent **names;
	u8 uuid[16];
	bool by_uuid = pool && ctl_parse_uuid(pool, uuid);
	int count, i, error = 0;

	*paths = NULL;
	count = scandir("/sys/class/block", &names, NULL, compare_names);
	if (count < 0) {
		error = -errno;
		ctl_err(ctl, "/sys/class/block", "Mount sysfs.",
			"can't list block devices: %s", strerror(-error));
		return error;
	}
	for (i = 0; i < count; i++) {
		char path[300];
		char *slash;

		snprintf(path, sizeof(path), "/dev/%s", names[i]->d_name);
		/* In sysfs a '!' stands for a '/' in the name. */
		while ((slash = strchr(path, '!')))
			*slash = '/';
		if (names[i]->d_name[0] != '.' &&
		    worth_reading(names[i]->d_name) && !access(path, F_OK))
			look_at(ctl, &s, path, by_uuid ? NULL : pool,
				by_uuid ? uuid : NULL);
		free(names[i]);
	}
	free(names);
	if (pool)
		error = check_one_pool(ctl, &s, pool);
	free(s.uuids);
	if (error) {
		free_paths(s.paths, s.count);
		return error;
	}
	*paths = s.paths;
	return (int)s.count;
}
