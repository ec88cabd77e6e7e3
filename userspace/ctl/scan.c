// SPDX-License-Identifier: MIT
/* The members of a pool among all block devices of this host. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

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

/*
 * Reading a device that something else is stacked upon would find the same
 * label twice.
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
	return !has_entries(path);
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
