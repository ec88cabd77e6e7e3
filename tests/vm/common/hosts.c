// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "hosts.h"

#define DEADLINE_MS	60000

struct vt_members hosts_pool;
struct host hosts[HOSTS_MAX];
char hosts_reason[1024];
static int device;

void hosts_begin(unsigned int members)
{
	vt_members_env(&hosts_pool, 0, members);
	device = open(KVC_DEVICE, O_RDWR | O_CLOEXEC);
	vt_need(device >= 0, "open " KVC_DEVICE ": %s", strerror(errno));
}

/* --- attachments --- */

int hosts_attach_as(unsigned int mode, unsigned int host, unsigned int nr,
		    unsigned int members)
{
	struct kvcache_attach_member m[KVC_MAX_MEMBERS] = {};
	struct kvcache_attach a = {
		.size = sizeof(a),
		.members = (uintptr_t)m,
		.nr_members = members,
		.reason = (uintptr_t)hosts_reason,
		.reason_len = sizeof(hosts_reason),
		.mode = mode,
		.host = host,
		.hosts = nr,
	};
	unsigned int i;

	for (i = 0; i < members; i++)
		m[i].path = (uintptr_t)hosts_pool.path[i];
	snprintf((char *)a.node, sizeof(a.node), "host-%u", host);
	/* Too slow for its own lease: a machine that gets no CPU. */
	for (i = 0; i < 5; i++) {
		hosts_reason[0] = '\0';
		if (!ioctl(device, KVCACHE_IOC_ATTACH, &a))
			return (int)a.pool;
		if (errno != ETIMEDOUT && (errno != ESTALE || strstr(hosts_reason, "changed")))
			break;
	}
	return -errno;
}

void hosts_take(unsigned int host, int number)
{
	vt_need(number > 0, "attach host %u: %d: %s", host, number, hosts_reason);
	hosts[host].number = (unsigned int)number;
	hosts[host].kvc = kvc_open(NULL, (unsigned int)number);
	vt_need(hosts[host].kvc, "open pool %d", number);
}

void hosts_join(unsigned int host, unsigned int nr, unsigned int members)
{
	hosts_take(host, hosts_attach_as(nr ? KVCACHE_MODE_STATIC :
					      KVCACHE_MODE_EXCLUSIVE,
					 host, nr, members));
}

static void hosts_forget(unsigned int host)
{
	kvc_close(hosts[host].kvc);
	hosts[host] = (struct host) { 0 };
}

void hosts_leave(unsigned int host)
{
	int err = vt_detach(hosts[host].number);

	vt_expect(!err, "detach of host %u: %d", host, err);
	hosts_forget(host);
}

void hosts_crash(unsigned int host)
{
	int err = vt_abandon(hosts[host].number);

	vt_expect(!err, "abandon of host %u: %d", host, err);
	hosts_forget(host);
}

struct kvcache_info hosts_info(unsigned int host)
{
	struct kvcache_info i = {};
	int err = kvc_info(hosts[host].kvc, &i, NULL, 0);

	vt_expect(!err, "info of host %u: %d", host, err);
	return i;
}

/* --- the tool --- */

int hosts_tool(const char *fmt, ...)
{
	char command[1024] = "kvcachectl -q ";
	size_t at = strlen(command);
	va_list args;
	int status;

	va_start(args, fmt);
	vsnprintf(command + at, sizeof(command) - at, fmt, args);
	va_end(args);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void hosts_put(unsigned int host, struct vt_object *o, unsigned int n,
	       const char *prefix)
{
	unsigned int done;

	vt_objects_make(o, n, prefix, 11 + host, 1, 60000);
	done = vt_objects_put(hosts[host].kvc, o, n);
	vt_expect(done == n, "puts of host %u: %u of %u", host, done, n);
}

void hosts_hits(unsigned int host, struct vt_object *o, unsigned int n)
{
	struct vt_tally tally;

	vt_objects_get(hosts[host].kvc, o, n, DEADLINE_MS, &tally);
	vt_expect(tally.n[VT_HIT] == n, "host %u: %u objects: %s", host, n,
		  vt_tally_text(&tally));
}

/* Paths of the first members. */
static const char *paths(unsigned int members)
{
	static char text[1024];
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < members; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 " %s", hosts_pool.path[i]);
	return text;
}

bool hosts_fsck(unsigned int members, const char *when)
{
	int status = hosts_tool("fsck%s >/tmp/hosts-fsck 2>&1", paths(members));

	if (status && system("cat /tmp/hosts-fsck"))
		vt_note("no output of fsck");
	return vt_expect(!status, "fsck %s: status %d", when, status);
}

/* Is each put on one host a hit on the others at once? */
void hosts_at_once(unsigned int nr, const char *prefix, unsigned int rounds)
{
	struct vt_object o;
	unsigned int k, h, other;
	char name[32];

	for (k = 0; k < rounds; k++) {
		for (h = 0; h < nr; h++) {
			snprintf(name, sizeof(name), "%s-%u-%u", prefix, h, k);
			hosts_put(h, &o, 1, name);
			for (other = 0; other < nr; other++)
				hosts_hits(other, &o, 1);
		}
	}
}

/* Wait until a host owns so many AGs. */
bool hosts_owns(unsigned int host, unsigned int ags, unsigned int ms)
{
	uint64_t end = vt_ms() + ms;
	struct kvcache_info i;

	do {
		i = hosts_info(host);
		if (i.owned_ags == ags)
			return true;
		vt_sleep_ms(50);
	} while (vt_ms() < end);
	return vt_expect(false, "host %u owns %u AGs, not %u", host,
			 i.owned_ags, ags);
}

/* Objects that are there, and no wrong one: the others may have been evicted. */
unsigned int hosts_there(unsigned int host, struct vt_object *o, unsigned int n)
{
	struct vt_tally tally;

	vt_objects_get(hosts[host].kvc, o, n, DEADLINE_MS, &tally);
	vt_expect(tally.n[VT_HIT] + tally.n[VT_MISS] == n, "host %u: %s", host,
		  vt_tally_text(&tally));
	return tally.n[VT_HIT];
}

struct kvcache_member hosts_look(unsigned int host, unsigned int member)
{
	struct kvcache_member seen = {};
	int err = kvc_member(hosts[host].kvc, member, KVCACHE_MEMBER_LOOK, 0,
			     &seen, hosts_reason, sizeof(hosts_reason));

	vt_expect(!err, "host %u: look at member %u: %d: %s", host, member, err,
		  hosts_reason);
	return seen;
}

/* Are objects the same on both hosts? */
void hosts_agree(struct vt_object *o, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < n; k++) {
		enum vt_answer a = vt_object_get(hosts[0].kvc, &o[k], DEADLINE_MS);
		enum vt_answer b = vt_object_get(hosts[1].kvc, &o[k], DEADLINE_MS);

		vt_expect(a == b && (a == VT_HIT || a == VT_MISS),
			  "%s: %s and %s", o[k].key, vt_answer_name[a],
			  vt_answer_name[b]);
	}
}

int hosts_refresh(unsigned int host, unsigned int members)
{
	return hosts_tool("refresh %u%s", hosts[host].number, paths(members));
}

int hosts_grant(unsigned int host, unsigned int slot, uint64_t incarnation)
{
	struct timespec t;
	struct kvcache_grant u = {
		.size = sizeof(u),
		.pool = hosts[host].number,
		.slot = slot,
		.incarnation = incarnation,
	};

	clock_gettime(CLOCK_BOOTTIME, &t);
	u.deadline_ns = ((uint64_t)t.tv_sec + 600) * 1000000000;
	return ioctl(device, KVCACHE_IOC_GRANT, &u) ? -errno : 0;
}
