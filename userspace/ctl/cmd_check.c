// SPDX-License-Identifier: MIT
/* kvcachectl check: is this host set up well? */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "call.h"
#include "nvme_path.h"

#define MODULE		"kvcache"
#define GROUP		"kvcache"
#define MEMLOCK_LOW	(64ULL << 20)
#define HOSTNQN_FILE	"/etc/nvme/hostnqn"
#define HOSTID_FILE	"/etc/nvme/hostid"

static const struct ctl_option options[] = {
	{ 'p', "pool", "POOL", "only this pool: number, name or UUID; a name or UUID also finds one that is not attached" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] [DEVICE...]",
	.about = "Check how this host is set up: the module, its device, limits, the host's NVMe\n"
		 "identity, and for every member of the pools that are attached (or of those on the\n"
		 "given devices) the connections' time-outs against the pool's lease and q. Exit\n"
		 "status 8 if a line says FAIL.",
	.options = options,
};

/**
 * struct check - what was found so far
 * @ctl: program
 * @array: findings, with -o json
 * @count: findings by verdict
 */
struct check {
	struct ctl *ctl;
	cJSON *array;
	u32 count[3];
};

static void tell(struct check *c, enum ctl_verdict verdict, const char *subject,
		 const char *next, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static void tell(struct check *c, enum ctl_verdict verdict, const char *subject,
		 const char *next, const char *fmt, ...)
{
	static const char *const names[] = { "OK", "WARN", "FAIL" };
	char text[512];
	va_list args;
	cJSON *item;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	c->count[verdict]++;
	if (c->array) {
		item = cJSON_CreateObject();
		cJSON_AddStringToObject(item, "level", names[verdict]);
		cJSON_AddStringToObject(item, "subject", subject);
		cJSON_AddStringToObject(item, "text", text);
		if (next && verdict)
			cJSON_AddStringToObject(item, "next", next);
		cJSON_AddItemToArray(c->array, item);
		return;
	}
	if (verdict == CTL_VERDICT_OK && c->ctl->quiet)
		return;
	printf("%-4s  %s: %s\n", names[verdict], subject, text);
	if (next && verdict)
		printf("      %s\n", next);
}

/* --- module and device --- */

/* Is there a line with "/NAME.ko" in one of the module lists of this kernel? */
static bool is_loadable(const char *release)
{
	static const char *const lists[] = { "modules.dep", "modules.builtin" };
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char path[512], *line = NULL;
		size_t room = 0;
		bool found = false;
		FILE *file;

		snprintf(path, sizeof(path), "/lib/modules/%s/%s", release,
			 lists[i]);
		file = fopen(path, "re");
		if (!file)
			continue;
		while (!found && getline(&line, &room, file) > 0)
			found = strstr(line, "/" MODULE ".ko") != NULL;
		free(line);
		fclose(file);
		if (found)
			return true;
	}
	return false;
}

static void check_module(struct check *c)
{
	struct utsname name;
	char version[64];

	if (!access("/sys/module/" MODULE, F_OK)) {
		ctl_attribute(version, sizeof(version),
			      "/sys/module/" MODULE "/version");
		tell(c, CTL_VERDICT_OK, "module", NULL, "loaded%s%s",
		     *version ? ", version " : "", version);
		return;
	}
	if (uname(&name))
		strcpy(name.release, "unknown");
	if (is_loadable(name.release))
		tell(c, CTL_VERDICT_FAIL, "module", "Load it with 'modprobe " MODULE "'.",
		     "installed for kernel %s, but not loaded", name.release);
	else
		tell(c, CTL_VERDICT_FAIL, "module",
		     "Install it for this kernel (DKMS does that at each kernel's update).",
		     "not installed for kernel %s", name.release);
}

static void check_device(struct check *c)
{
	const char *path = c->ctl->device;
	struct group *group = getgrnam(GROUP);
	struct stat st;
	struct kvc *kvc;

	if (stat(path, &st)) {
		tell(c, CTL_VERDICT_FAIL, path, "It comes with the module, through devtmpfs or udev.",
		     "%s", errno == ENOENT ? "not there" : strerror(errno));
		return;
	}
	if (!S_ISCHR(st.st_mode)) {
		tell(c, CTL_VERDICT_FAIL, path, "Remove it and load the module again.",
		     "not a character device");
		return;
	}
	if (!group)
		tell(c, CTL_VERDICT_WARN, path, "Make it with 'groupadd --system " GROUP "'.",
		     "there is no group '" GROUP "': only root can use the device");
	else if (st.st_gid != group->gr_gid)
		tell(c, CTL_VERDICT_WARN, path, "Install the project's udev rule, then 'udevadm trigger'.",
		     "does not belong to the group '" GROUP "'");
	if (st.st_mode & 0007)
		tell(c, CTL_VERDICT_WARN, path, "Set it to 0660: whoever opens it can read and delete every object.",
		     "mode %04o lets everybody in", st.st_mode & 07777);
	kvc = kvc_open(path, 0);
	if (!kvc) {
		tell(c, CTL_VERDICT_FAIL, path, kvc_next_step(errno),
		     "can't open: %s", kvc_strerror(errno));
		return;
	}
	if (kvc_caps(kvc)->version < KVCACHE_API_VERSION)
		tell(c, CTL_VERDICT_WARN, path, "Load the module that belongs to this program.",
		     "the module's interface has version %u, this program knows %u",
		     kvc_caps(kvc)->version, KVCACHE_API_VERSION);
	else
		tell(c, CTL_VERDICT_OK, path, NULL, "mode %04o, interface version %u",
		     st.st_mode & 07777, kvc_caps(kvc)->version);
	kvc_close(kvc);
}

static void check_memlock(struct check *c)
{
	struct rlimit limit;
	char text[CTL_TEXT];

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		tell(c, CTL_VERDICT_OK, "memlock", NULL, "unlimited");
	else if (limit.rlim_cur < MEMLOCK_LOW)
		tell(c, CTL_VERDICT_WARN, "memlock",
		     "Raise it for the engine: LimitMEMLOCK=infinity in its unit, or /etc/security/limits.d.",
		     "%s: too little for registered buffers",
		     ctl_size(text, limit.rlim_cur));
	else
		tell(c, CTL_VERDICT_OK, "memlock", NULL, "%s",
		     ctl_size(text, limit.rlim_cur));
}

/* --- the host's NVMe identity --- */

static void check_identity(struct check *c, char *nqn, size_t room)
{
	char id[64];

	if (ctl_attribute(nqn, room, HOSTNQN_FILE) <= 0)
		tell(c, CTL_VERDICT_WARN, HOSTNQN_FILE,
		     "Make one: 'nvme gen-hostnqn > " HOSTNQN_FILE "'.",
		     "no host NQN: hosts are told apart by boot and incarnation only");
	else if (strncmp(nqn, "nqn.", 4))
		tell(c, CTL_VERDICT_FAIL, HOSTNQN_FILE,
		     "Make a new one: 'nvme gen-hostnqn > " HOSTNQN_FILE "'.",
		     "'%.80s' is no NQN", nqn);
	else
		tell(c, CTL_VERDICT_OK, HOSTNQN_FILE, NULL, "%s", nqn);
	if (ctl_attribute(id, sizeof(id), HOSTID_FILE) <= 0)
		tell(c, CTL_VERDICT_WARN, HOSTID_FILE,
		     "Make one: 'uuidgen > " HOSTID_FILE "'; it must differ between hosts.",
		     "no host ID: newer kernels refuse one ID under two NQNs");
	else
		tell(c, CTL_VERDICT_OK, HOSTID_FILE, NULL, "%s", id);
}

static void check_multipath(struct check *c)
{
	char text[8];

	if (ctl_attribute(text, sizeof(text),
			  "/sys/module/nvme_core/parameters/multipath") <= 0)
		return;
	tell(c, CTL_VERDICT_OK, "nvme multipath", NULL, "%s",
	     !strcmp(text, "Y") ? "on: a namespace with several paths is one device" :
				  "off: give each namespace once");
}

/* --- members --- */

/**
 * struct terms - what of a pool the connections are held against
 * @name: of the pool
 * @lease_ms: lease
 * @q_ms: longest life of a write
 */
struct terms {
	const char *name;
	u32 lease_ms;
	u32 q_ms;
};

static void check_path(struct check *c, const char *device,
		       const struct nvme_path *path, const struct terms *terms,
		       const char *hostnqn)
{
	struct nvme_finding findings[NVME_FINDINGS_MAX];
	char subject[400], next[320];
	u32 count, i;
	u64 life;

	snprintf(subject, sizeof(subject), "%s over %s (%s)", device,
		 path->controller, path->transport);
	if (strcmp(path->state, "live"))
		tell(c, CTL_VERDICT_WARN, subject,
		     "Check the target and the fabric; it reconnects by itself.",
		     "the connection is %s", path->state[0] ? path->state : "gone");
	if (!nvme_is_fabric(path)) {
		tell(c, CTL_VERDICT_OK, subject, NULL, "a local device");
		return;
	}
	if (*hostnqn && path->hostnqn[0] && strcmp(hostnqn, path->hostnqn))
		tell(c, CTL_VERDICT_WARN, subject,
		     "Reconnect with 'kvcachectl connect'.",
		     "connected under another host NQN (%s) than this host's",
		     path->hostnqn);
	count = nvme_judge_timeouts(&path->t, terms->lease_ms, findings);
	for (i = 0; i < count; i++) {
		snprintf(next, sizeof(next), "%s Disconnect it and use 'kvcachectl connect'.",
			 findings[i].next);
		tell(c, findings[i].verdict, subject, next, "%s", findings[i].text);
	}
	life = nvme_write_life_ms(path);
	if (!life)
		tell(c, CTL_VERDICT_FAIL, subject,
		     "Disconnect it and use 'kvcachectl connect'.",
		     "nothing bounds the life of a write, but pool '%s' counts on %u ms (q)",
		     terms->name, terms->q_ms);
	else if (life > terms->q_ms)
		tell(c, CTL_VERDICT_FAIL, subject,
		     "Make the pool anew with a longer --q, or lower queue/io_timeout of the device.",
		     "a write can live for %" PRIu64 " ms, longer than pool '%s' counts on (q %u ms)",
		     (uint64_t)life, terms->name, terms->q_ms);
	else if (!count)
		tell(c, CTL_VERDICT_OK, subject, NULL,
		     "%s; a write lives at most %" PRIu64 " ms (q %u ms)",
		     path->address, (uint64_t)life, terms->q_ms);
}

static void check_member(struct check *c, const struct ctl_dev *dev,
			 const struct terms *terms, const char *hostnqn)
{
	struct nvme_paths paths;
	char name[256];
	u32 i, fabrics = 0;

	if (!ctl_sys_name(dev, name, sizeof(name))) {
		tell(c, CTL_VERDICT_OK, dev->path, NULL, "a file: for offline work only");
		return;
	}
	nvme_paths_read("/sys", name, &paths);
	if (!paths.count) {
		tell(c, CTL_VERDICT_OK, dev->path, NULL, "not an NVMe device");
		return;
	}
	for (i = 0; i < paths.count; i++) {
		check_path(c, dev->path, &paths.path[i], terms, hostnqn);
		fabrics += nvme_is_fabric(&paths.path[i]);
	}
	if (paths.multipath && fabrics == 1)
		tell(c, CTL_VERDICT_OK, dev->path, NULL,
		     "a multipath device with one path: I/O waits for fast_io_fail_tmo when it drops out");
}

static void check_devices(struct check *c, char **paths, int count,
			  const char *hostnqn)
{
	struct pool_probe p;
	struct terms terms;
	u32 i;

	if (pool_probe(c->ctl, &p, paths, count, CTL_DEV_READ | CTL_DEV_QUIET)) {
		/* What has been opened is closed; the one that failed is next. */
		i = p.nr_devs;
		pool_probe_free(&p);
		tell(c, CTL_VERDICT_FAIL, paths[i], "Run it as root; check that the device is there.",
		     "can't be opened");
		return;
	}
	for (i = 0; i < p.nr_problems; i++) {
		const struct pool_problem *x = &p.problems[i];

		tell(c, x->error ? CTL_VERDICT_FAIL : CTL_VERDICT_WARN,
		     x->dev >= 0 ? p.devs[x->dev].dev.path : p.g.name, NULL, "%s",
		     x->text);
	}
	terms = (struct terms) {
		.name = p.g.name,
		.lease_ms = p.g.lease_ms,
		.q_ms = p.g.q_ms,
	};
	for (i = 0; p.found && i < p.nr_devs; i++)
		if (p.devs[i].member >= 0)
			check_member(c, &p.devs[i].dev, &terms, hostnqn);
	pool_probe_free(&p);
}

/* Members of an attached pool, as the kernel tells them. */
static void check_attached(struct check *c, unsigned int pool,
			   const char *hostnqn)
{
	struct kvcache_member_info members[KVCACHE_MEMBERS_MAX] = { 0 };
	char *paths[KVCACHE_MEMBERS_MAX];
	struct kvcache_info info;
	struct kvc *kvc = kvc_open(c->ctl->device, pool);
	int count = 0;
	u32 i;

	if (!kvc || kvc_info(kvc, &info, members, KVCACHE_MEMBERS_MAX)) {
		kvc_close(kvc);
		return;		/* detached in between */
	}
	kvc_close(kvc);
	if (info.lease_left_ms)
		tell(c, CTL_VERDICT_OK, (char *)info.name, NULL,
		     "attached as number %u, lease of %u ms holds", info.pool,
		     info.lease_ms);
	else
		tell(c, CTL_VERDICT_FAIL, (char *)info.name,
		     "Look into the kernel's log for why; detach and attach it again.",
		     "attached as number %u, but the lease is lost", info.pool);
	for (i = 0; i < info.nr_members && i < KVCACHE_MEMBERS_MAX; i++) {
		struct kvcache_member_info *m = &members[i];

		if (m->state != KVCACHE_MEMBER_LIVE)
			tell(c, CTL_VERDICT_FAIL,
			     m->path[0] ? (char *)m->path : (char *)info.name,
			     "Check the target and the fabric; what comes back is used again.",
			     "member %u is %s", m->index,
			     m->state == KVCACHE_MEMBER_SUSPECT ? "suspect" :
								  "failed");
		if (m->path[0])
			paths[count++] = (char *)m->path;
	}
	if (count)
		check_devices(c, paths, count, hostnqn);
}

/* Which attached pools does the user mean? All, without a name. */
static u32 check_all_attached(struct check *c, const char *pool,
			      const char *hostnqn)
{
	struct kvc *kvc = kvc_open(c->ctl->device, 0);
	u32 pools[256], checked = 0;
	int count, i;
	u64 number;

	if (!kvc)
		return 0;
	count = kvc_pools(kvc, pools, 256);
	kvc_close(kvc);
	for (i = 0; i < count && i < 256; i++) {
		if (pool && ctl_parse_u64(pool, U32_MAX, &number) ?
		    number != pools[i] :
		    pool && !call_pool_matches(c->ctl, pools[i], pool))
			continue;
		check_attached(c, pools[i], hostnqn);
		checked++;
	}
	return checked;
}

int cmd_check(struct ctl *ctl, int argc, char **argv)
{
	struct check c = { .ctl = ctl };
	const char *pool = NULL;
	char hostnqn[KVC_NQN_SIZE];
	char **paths;
	int count, o, i;

	while ((o = ctl_getopt(ctl, &usage, argc, argv)) != -1)
		if (o == 'p')
			pool = ctl_optarg;
	count = argc - ctl_optind;
	if (pool && count)
		ctl_usage_error(ctl, "give devices or --pool, not both");
	if (count > KVC_MAX_MEMBERS)
		ctl_usage_error(ctl, "%d devices, but a pool has at most %d members",
				count, KVC_MAX_MEMBERS);
	if (ctl->json)
		c.array = cJSON_CreateArray();
	check_module(&c);
	check_device(&c);
	check_memlock(&c);
	check_identity(&c, hostnqn, sizeof(hostnqn));
	check_multipath(&c);
	if (count) {
		check_devices(&c, argv + ctl_optind, count, hostnqn);
	} else if (!check_all_attached(&c, pool, hostnqn) && pool) {
		count = pool_scan(ctl, pool, &paths);
		if (count > 0)
			check_devices(&c, paths, count, hostnqn);
		else
			tell(&c, CTL_VERDICT_FAIL, pool,
			     "Connect its members with 'kvcachectl connect'.",
			     "neither attached nor on the block devices of this host");
		for (i = 0; i < count; i++)
			free(paths[i]);
		if (count >= 0)
			free(paths);
	}
	if (ctl->json)
		ctl_json_print(c.array);
	else if (!ctl->quiet)
		printf("%u ok, %u warnings, %u failures\n", c.count[0], c.count[1],
		       c.count[2]);
	return c.count[CTL_VERDICT_FAIL] ? CTL_UNFIT : CTL_OK;
}
