// SPDX-License-Identifier: GPL-2.0
/*
 * A pool that grows, and shrinks, while hosts have it, in one kernel: what
 * was there stays, what is put is seen at once by every host, whether it knows the
 * new members or not, and whoever is cut short leaves a pool.
 *
 * usage: elastic [TEST...]
 */
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
#include "members.h"
#include "objects.h"

#define OLD		3
#define MORE		2
#define ALL		(OLD + MORE)
#define HOSTS		3
#define DEADLINE_MS	60000
#define NR		60

static struct vt_members pool;	/* all of them; the pool begins with OLD */
static int device;
static char reason[1024];
static struct vt_object old[NR], more[HOSTS][NR];

/**
 * struct host - an attachment
 * @number: of the pool as it has it; 0: detached
 * @kvc: handle
 */
static struct host {
	unsigned int number;
	struct kvc *kvc;
} hosts[HOSTS];

/* --- attachments --- */

static int attach_as(unsigned int mode, unsigned int host, unsigned int nr,
		     unsigned int members)
{
	struct kvcache_attach_member m[ALL] = {};
	struct kvcache_attach a = {
		.size = sizeof(a),
		.members = (uintptr_t)m,
		.nr_members = members,
		.reason = (uintptr_t)reason,
		.reason_len = sizeof(reason),
		.mode = mode,
		.host = host,
		.hosts = nr,
	};
	unsigned int i;

	for (i = 0; i < members; i++)
		m[i].path = (uintptr_t)pool.path[i];
	snprintf((char *)a.node, sizeof(a.node), "host-%u", host);
	/* Too slow for its own lease: a machine that gets no CPU. */
	for (i = 0; i < 5; i++) {
		reason[0] = '\0';
		if (!ioctl(device, KVCACHE_IOC_ATTACH, &a))
			return (int)a.pool;
		if (errno != ETIMEDOUT && (errno != ESTALE || strstr(reason, "changed")))
			break;
	}
	return -errno;
}

static void take(unsigned int host, int number)
{
	vt_need(number > 0, "attach host %u: %d: %s", host, number, reason);
	hosts[host].number = (unsigned int)number;
	hosts[host].kvc = kvc_open(NULL, (unsigned int)number);
	vt_need(hosts[host].kvc, "open pool %d", number);
}

static void join(unsigned int host, unsigned int nr, unsigned int members)
{
	take(host, attach_as(nr ? KVCACHE_MODE_STATIC : KVCACHE_MODE_EXCLUSIVE,
			     host, nr, members));
}

static void forget(unsigned int host)
{
	kvc_close(hosts[host].kvc);
	hosts[host] = (struct host) { 0 };
}

static void leave(unsigned int host)
{
	int err = vt_detach(hosts[host].number);

	vt_expect(!err, "detach of host %u: %d", host, err);
	forget(host);
}

static void crash(unsigned int host)
{
	int err = vt_abandon(hosts[host].number);

	vt_expect(!err, "abandon of host %u: %d", host, err);
	forget(host);
}

static struct kvcache_info info(unsigned int host)
{
	struct kvcache_info i = {};
	int err = kvc_info(hosts[host].kvc, &i, NULL, 0);

	vt_expect(!err, "info of host %u: %d", host, err);
	return i;
}

/* --- the tool --- */

static int tool(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int tool(const char *fmt, ...)
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

static int grow(unsigned int host, const char *options)
{
	return tool("grow %s %u %s %s", options, hosts[host].number,
		    pool.path[OLD], pool.path[OLD + 1]);
}

static int refresh(unsigned int host)
{
	return tool("refresh %u %s %s %s %s %s", hosts[host].number,
		    pool.path[0], pool.path[1], pool.path[2], pool.path[3],
		    pool.path[4]);
}

/* The pool begins with the first members. */
static void format(const char *options)
{
	pool.nr = OLD;
	vt_format(&pool, options);
	pool.nr = ALL;
}

static const struct kvc_call brief = { .deadline_ms = 10000 };

#define TERMS "--name elastic --lease 8s --q 500ms --segment-size 1M --ags 6 --slots 6 --ring 256K"

static void put(unsigned int host, struct vt_object *o, unsigned int n,
		const char *prefix)
{
	unsigned int done;

	vt_objects_make(o, n, prefix, 11 + host, 1, 60000);
	done = vt_objects_put(hosts[host].kvc, o, n);
	vt_expect(done == n, "puts of host %u: %u of %u", host, done, n);
}

static void hits(unsigned int host, struct vt_object *o, unsigned int n)
{
	struct vt_tally tally;

	vt_objects_get(hosts[host].kvc, o, n, DEADLINE_MS, &tally);
	vt_expect(tally.n[VT_HIT] == n, "host %u: %u objects: %s", host, n,
		  vt_tally_text(&tally));
}

static bool fsck(const char *when)
{
	int status = tool("fsck %s %s %s %s %s >/tmp/elastic-fsck 2>&1",
			  pool.path[0], pool.path[1], pool.path[2],
			  pool.path[3], pool.path[4]);

	if (status && system("cat /tmp/elastic-fsck"))
		vt_note("no output of fsck");
	return vt_expect(!status, "fsck %s: status %d", when, status);
}

/* Is each put on one host a hit on the others at once? */
static void at_once(unsigned int nr, const char *prefix, unsigned int rounds)
{
	struct vt_object o;
	unsigned int k, h, other;
	char name[32];

	for (k = 0; k < rounds; k++) {
		for (h = 0; h < nr; h++) {
			snprintf(name, sizeof(name), "%s-%u-%u", prefix, h, k);
			put(h, &o, 1, name);
			for (other = 0; other < nr; other++)
				hits(other, &o, 1);
		}
	}
}

/* Wait until a host owns so many AGs. */
static bool owns(unsigned int host, unsigned int ags, unsigned int ms)
{
	uint64_t end = vt_ms() + ms;
	struct kvcache_info i;

	do {
		i = info(host);
		if (i.owned_ags == ags)
			return true;
		vt_sleep_ms(50);
	} while (vt_ms() < end);
	return vt_expect(false, "host %u owns %u AGs, not %u", host,
			 i.owned_ags, ags);
}

/* Bytes that were written to the new members. */
static uint64_t written(unsigned int host)
{
	struct kvcache_member_info m[ALL] = {};
	struct kvcache_info i = {};

	vt_expect(!kvc_info(hosts[host].kvc, &i, m, ALL) && i.nr_members == ALL,
		  "host %u: %u members", host, i.nr_members);
	return m[OLD].written_bytes + m[OLD + 1].written_bytes;
}

/* --- tests --- */

static void test_alone(void)
{
	struct kvcache_info before, now;

	format(TERMS);
	join(0, 0, OLD);
	put(0, old, NR, "old");
	before = info(0);
	vt_begin("a device that has something is not taken without --force");
	vt_expect(!tool("format --force --name other %s", pool.path[OLD]), "format");
	vt_expect(grow(0, "2>/dev/null") == 6, "status");
	vt_expect(tool("grow %u %s 2>/dev/null", hosts[0].number, pool.path[0]) == 6,
		  "a member");
	vt_expect(info(0).capacity == before.capacity, "capacity");
	vt_end();

	vt_begin("a pool that one host has grows while it is attached");
	vt_expect(!grow(0, "--force"), "grow");
	now = info(0);
	vt_expect(now.nr_members == ALL && now.nr_ags == 10 && now.owned_ags == 10 &&
		  now.capacity > before.capacity * 3 / 2,
		  "%u members, %u of %u AGs, %llu bytes after %llu", now.nr_members,
		  now.owned_ags, now.nr_ags, (unsigned long long)now.capacity,
		  (unsigned long long)before.capacity);
	hits(0, old, NR);
	put(0, more[0], NR, "new");
	hits(0, more[0], NR);
	vt_expect(written(0) > 100000, "%llu bytes on the new members",
		  (unsigned long long)written(0));
	vt_end();

	vt_begin("to refresh what has not changed does nothing");
	now = info(0);
	vt_expect(!refresh(0) && info(0).incarnation == now.incarnation, "refresh");
	vt_end();

	leave(0);
	vt_begin("what it holds is there after a detach, and fsck finds nothing");
	fsck("after a detach");
	vt_expect(attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0, OLD) == -ENXIO,
		  "without the new members: %s", reason);
	join(0, 0, ALL);
	hits(0, old, NR);
	hits(0, more[0], NR);
	vt_end();

	vt_begin("and after a crash");
	crash(0);
	join(0, 0, ALL);
	hits(0, old, NR);
	hits(0, more[0], NR);
	leave(0);
	fsck("after a crash");
	vt_end();
}

static void test_shared(void)
{
	unsigned int h, k;

	format(TERMS);
	for (h = 0; h < HOSTS; h++)
		join(h, HOSTS, OLD);
	put(0, old, NR, "old");
	vt_begin("a pool that three hosts share grows, and all go on as before");
	vt_expect(!grow(0, "--force --no-refresh"), "grow");
	at_once(HOSTS, "grown", 10);
	vt_expect(info(0).nr_members == OLD, "it was taken up");
	vt_end();

	vt_begin("a host that does not know of it can't grow it");
	vt_expect(grow(1, "--force 2>/dev/null") == 6, "status");
	vt_end();

	vt_begin("who takes it up first owns nothing new while others can't follow it");
	vt_expect(!refresh(0), "refresh");
	owns(0, 2, 60000);
	vt_expect(info(0).nr_ags == 10, "%u AGs", info(0).nr_ags);
	at_once(HOSTS, "first", 10);
	vt_expect(!refresh(1), "refresh");
	owns(1, 2, 60000);
	at_once(HOSTS, "second", 10);
	/* Many of its turns to take them, were it not to wait. */
	vt_sleep_ms(5000);
	vt_expect(info(0).owned_ags == 2 && info(1).owned_ags == 2,
		  "hosts own %u and %u", info(0).owned_ags, info(1).owned_ags);
	for (h = 0; h < HOSTS; h++)
		hits(h, old, NR);
	vt_end();

	vt_begin("when all have, the new AGs are owned, and used");
	vt_expect(!refresh(2), "refresh");
	/* AG a is host a modulo 3's. */
	owns(0, 4, 120000);
	owns(1, 3, 120000);
	owns(2, 3, 120000);
	for (h = 0; h < HOSTS; h++)
		put(h, more[h], NR, (const char *[]){ "a", "b", "c" }[h]);
	for (h = 0; h < HOSTS; h++) {
		hits(h, old, NR);
		for (k = 0; k < HOSTS; k++)
			hits(h, more[k], NR);
		vt_expect(written(h) > 10000, "host %u: nothing on the new members", h);
	}
	at_once(HOSTS, "all", 10);
	vt_end();

	vt_begin("each host leaves and comes back, without a lost object");
	for (h = 0; h < HOSTS; h++) {
		leave(h);
		join(h, HOSTS, ALL);
		for (k = 0; k < HOSTS; k++)
			hits(h, more[k], NR);
		hits(h, old, NR);
	}
	for (h = 0; h < HOSTS; h++)
		leave(h);
	fsck("when all have left");
	vt_end();
}

/* A host that dies before it has taken the new members up. */
static void test_dead(void)
{
	format(TERMS);
	join(0, 2, OLD);
	join(1, 2, OLD);
	put(1, old, NR, "old");
	vt_expect(!grow(0, "--force"), "grow");
	owns(0, 3, 60000);
	vt_begin("a host that died does not hold the new AGs up");
	vt_sleep_ms(2000);
	vt_expect(info(0).owned_ags == 3, "%u AGs", info(0).owned_ags);
	crash(1);
	owns(0, 5, 120000);
	vt_end();
	vt_begin("it comes back with the new members, and finds what is there");
	put(0, more[0], NR, "a");
	join(1, 2, ALL);
	owns(1, 5, 120000);
	hits(1, old, NR);
	hits(1, more[0], NR);
	at_once(2, "back", 5);
	vt_end();
	leave(0);
	leave(1);
	vt_begin("fsck finds nothing then");
	fsck("after a death");
	vt_end();
}

static uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Without AGs: what is asked is whether it may join at all. */
static int granted(unsigned int host, unsigned int slot, uint64_t incarnation)
{
	struct kvcache_grant u = {
		.size = sizeof(u),
		.pool = hosts[host].number,
		.slot = slot,
		.incarnation = incarnation,
		.deadline_ns = boot_ns() + 600000000000ULL,
	};

	return ioctl(device, KVCACHE_IOC_GRANT, &u) ? -errno : 0;
}

/* A host whose labels were read before the pool grew, and that joins after that. */
static void test_outdated(void)
{
	int err;

	format(TERMS);
	join(0, 2, OLD);
	put(0, old, NR, "old");
	take(1, attach_as(KVCACHE_MODE_GRANTED, 0, 0, OLD));
	vt_expect(!grow(0, "--force"), "grow");
	vt_begin("who read the labels before it grew joins no more with them");
	err = granted(1, 1, 1000);
	vt_expect(err == -ESTALE, "grant: %d", err);
	vt_end();
	vt_begin("but when it has taken up what they say");
	vt_expect(!refresh(1), "refresh");
	err = granted(1, 1, 1001);
	vt_expect(!err, "grant: %d", err);
	hits(1, old, NR);
	owns(0, 5, 120000);
	put(0, more[0], NR, "a");
	hits(1, more[0], NR);
	vt_end();
	leave(1);
	leave(0);
}

/* Objects that are there, and no wrong one: the others may have been evicted. */
static unsigned int there(unsigned int host, struct vt_object *o, unsigned int n)
{
	struct vt_tally tally;

	vt_objects_get(hosts[host].kvc, o, n, DEADLINE_MS, &tally);
	vt_expect(tally.n[VT_HIT] + tally.n[VT_MISS] == n, "host %u: %s", host,
		  vt_tally_text(&tally));
	return tally.n[VT_HIT];
}

static struct kvcache_member look(unsigned int host, unsigned int member)
{
	struct kvcache_member seen = {};
	int err = kvc_member(hosts[host].kvc, member, KVCACHE_MEMBER_LOOK, 0,
			     &seen, reason, sizeof(reason));

	vt_expect(!err, "host %u: look at member %u: %d: %s", host, member, err,
		  reason);
	return seen;
}

/* Are objects the same on both hosts? */
static void agree(struct vt_object *o, unsigned int n)
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

static int refresh_all(unsigned int host, unsigned int members)
{
	char paths[512] = "";
	unsigned int i;

	for (i = 0; i < members; i++)
		snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths),
			 " %s", pool.path[i]);
	return tool("refresh %u%s", hosts[host].number, paths);
}

/* The last of the members is emptied and leaves; two hosts have the pool. */
static void test_drain(void)
{
	unsigned int last = ALL - 1, kept, k;
	struct kvcache_member seen;
	uint64_t before;

	vt_format(&pool, TERMS " --width 1 --ags 10");
	join(0, 2, ALL);
	join(1, 2, ALL);
	put(0, more[0], NR, "a");
	put(1, more[1], NR, "b");
	vt_begin("a member that holds host slots can't be drained");
	vt_expect(tool("drain %u 0 2>/dev/null", hosts[0].number) == 6, "status");
	vt_end();
	vt_begin("one that was not drained can't be removed");
	vt_expect(tool("remove %u %u 2>/dev/null", hosts[0].number, last) == 6,
		  "status");
	vt_end();

	vt_begin("a host drains a member, and others go on");
	vt_expect(!tool("drain %u %u", hosts[0].number, last), "drain");
	seen = look(0, last);
	vt_expect(seen.role == KVCACHE_ROLE_DRAINING && seen.behind == 1,
		  "role %u, %u behind", seen.role, seen.behind);
	vt_expect(look(1, last).role == KVCACHE_ROLE_MEMBER, "the other host");
	vt_expect(tool("remove %u %u 2>/dev/null", hosts[0].number, last) == 5,
		  "it can be removed");
	at_once(2, "one", 5);
	agree(more[0], NR);
	agree(more[1], NR);
	vt_end();

	vt_begin("when the other has taken it up nothing is left there");
	vt_expect(!refresh_all(1, ALL), "refresh");
	vt_expect(!tool("drain --wait %u %s", hosts[0].number, pool.path[last]),
		  "wait");
	seen = look(0, last);
	vt_expect(!seen.objects && !seen.segments && !seen.behind,
		  "%llu objects, %u segments, %u behind",
		  (unsigned long long)seen.objects, seen.segments, seen.behind);
	agree(more[0], NR);
	agree(more[1], NR);
	kept = there(0, more[0], NR) + there(0, more[1], NR);
	/* One in five of the AGs has its journal there; all else has room. */
	vt_expect(kept >= NR, "%u of %u objects are left", kept, 2 * NR);
	before = look(0, last).objects;
	at_once(2, "two", 10);
	vt_expect(look(1, last).objects == before, "something was put there");
	vt_end();
	vt_note("%u of %u objects are left", kept, 2 * NR);

	vt_begin("it is removed, and the hosts go on without it");
	vt_expect(!tool("remove %u %u", hosts[0].number, last), "remove");
	vt_expect(look(0, last).role == KVCACHE_ROLE_REMOVED, "role");
	at_once(2, "three", 5);
	vt_expect(!refresh_all(1, ALL - 1), "refresh");
	vt_expect(look(1, last).role == KVCACHE_ROLE_REMOVED, "role");
	at_once(2, "four", 10);
	for (k = 0; k < 2; k++)
		vt_expect(there(k, more[0], NR) + there(k, more[1], NR) == kept,
			  "host %u lost objects", k);
	vt_end();

	vt_begin("its device is free for something else");
	vt_expect(!tool("format --name other %s >/dev/null", pool.path[last]),
		  "format");
	vt_end();

	vt_begin("hosts come back without it, and fsck finds nothing");
	leave(0);
	join(0, 2, ALL - 1);
	leave(1);
	join(1, 2, ALL - 1);
	vt_expect(there(0, more[0], NR) + there(1, more[1], NR) == kept,
		  "objects are lost");
	at_once(2, "five", 5);
	leave(0);
	leave(1);
	vt_expect(!tool("fsck %s %s %s %s >/tmp/elastic-fsck 2>&1 || ! cat /tmp/elastic-fsck",
			pool.path[0], pool.path[1], pool.path[2], pool.path[3]),
		  "fsck");
	vt_end();

	vt_begin("and the pool grows again by it");
	join(0, 0, ALL - 1);
	vt_expect(!tool("grow --force %u %s", hosts[0].number, pool.path[last]),
		  "grow");
	vt_expect(info(0).nr_members == ALL + 1 && info(0).owned_ags == 10,
		  "%u members, %u AGs owned", info(0).nr_members,
		  info(0).owned_ags);
	vt_expect(there(0, more[0], NR) + there(0, more[1], NR) == kept,
		  "objects are lost");
	leave(0);
	vt_end();
}

/* A member that is drained and then kept; one that is away for good. */
static void test_lost(void)
{
	unsigned int last = ALL - 1;
	int number;

	vt_format(&pool, TERMS " --width 1 --ags 10");
	join(0, 0, ALL);
	put(0, old, NR, "old");
	vt_begin("a member that was drained is used again");
	vt_expect(!tool("drain --wait %u %u", hosts[0].number, last), "drain");
	vt_expect(!tool("drain --keep %u %u", hosts[0].number, last), "keep");
	vt_expect(look(0, last).role == KVCACHE_ROLE_MEMBER, "role");
	put(0, more[0], NR, "a");
	vt_expect(look(0, last).objects, "nothing comes there");
	hits(0, more[0], NR);
	leave(0);
	fsck("after a member was kept");
	vt_end();

	vt_begin("one that is away for good is removed");
	number = vt_attach(&(struct vt_members){ .nr = ALL - 1, .path = {
			pool.path[0], pool.path[1], pool.path[2],
			pool.path[3] } }, "host-0", KVCACHE_ATTACH_DEGRADED,
			reason, sizeof(reason));
	take(0, number);
	vt_expect(look(0, last).role == KVCACHE_ROLE_MISSING, "role");
	vt_expect(!tool("remove --lost %u %u", hosts[0].number, last), "remove");
	leave(0);
	join(0, 0, ALL - 1);
	there(0, more[0], NR);
	put(0, more[1], NR, "b");
	hits(0, more[1], NR);
	leave(0);
	vt_expect(attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0, ALL) == -EUCLEAN,
		  "it comes back: %s", reason);
	vt_end();
}

/* A lease that a test which waits for it many times can afford. */
#define BRIEF "--name elastic --lease 3s --q 100ms --segment-size 1M --ags 6 --slots 6 --ring 256K"
#define WRITES_MAX 60

/* Each takes seconds: not all of the writes, unless there is time. */
static unsigned int every(void)
{
	const char *n = getenv("KVC_CUT_EVERY");

	return n && atoi(n) > 0 ? (unsigned int)atoi(n) : 1;
}

enum cut {
	CUT_NOT,	/* it did not write so much */
	CUT_GROWING,	/* what growing wrote ended */
	CUT_ALL,	/* or the pool's own writes, too */
};

/* Grow a fresh pool, of which I/O ends when so many writes went out. */
static enum cut cut_after(unsigned int writes)
{
	unsigned int left, tries;
	int status;

	for (tries = 0; tries < 5; tries++) {
		format(BRIEF);
		join(0, 1, OLD);
		put(0, old, NR, "old");
		crash_abandon_after(writes);
		status = grow(0, "--force --no-refresh >/dev/null 2>&1");
		left = crash_abandon_left();
		crash_abandon_after(0);
		if (!left)
			return kvc_exists(hosts[0].kvc, &brief, "nothing", 7,
					  NULL) == -ENOENT ? CUT_GROWING : CUT_ALL;
		if (!status)
			return CUT_NOT;
		/* A lease that ran out: a machine that gets no CPU. */
		leave(0);
	}
	vt_need(false, "grow fails before write %u: status %d", writes, status);
	return CUT_NOT;
}

/* Do these members make a pool, for one host alone? It keeps what was put. */
static bool holds(unsigned int members, unsigned int writes)
{
	int number = attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0, members);

	if (number < 0)
		return false;
	take(0, number);
	hits(0, old, NR);
	vt_expect(info(0).nr_members == members, "after %u writes: %u members",
		  writes, info(0).nr_members);
	leave(0);
	return true;
}

/* What became of pools whose growing was cut short. */
struct cuts {
	unsigned int whole;	/* attached as grown */
	unsigned int healed;	/* when labels had been mended */
	unsigned int without;	/* without the new members */
};

/* Grow with a crash after so many writes. Return: false: it does not write so much. */
static bool cut_and_look(unsigned int writes, struct cuts *c)
{
	int number;

	if (cut_after(writes) == CUT_NOT) {
		leave(0);
		return false;
	}
	crash(0);
	/* A host that shares it writes no labels: it says what to do. */
	number = attach_as(KVCACHE_MODE_STATIC, 0, 1, ALL);
	if (number > 0) {
		c->whole++;
		take(0, number);
		hits(0, old, NR);
		leave(0);
		return true;
	}
	vt_expect(number == -EUCLEAN, "after %u writes: %d: %s", writes, number,
		  reason);
	/* With the new members, or without if none tells of them. */
	if (holds(ALL, writes)) {
		c->healed++;
		fsck("after a growth that was cut short");
	} else if (holds(OLD, writes)) {
		c->without++;
	} else {
		vt_expect(false, "after %u writes: no pool: %s", writes, reason);
	}
	return true;
}

/* After writes that growing does, the host crashes. */
static void test_cut(void)
{
	unsigned int writes = 0, first;
	struct cuts c = {};

	vt_begin("growing is cut short by a crash, after one in %u of its writes",
		 every());
	/*
	 * Heartbeats are among the writes, so which of them a label is depends on
	 * how long things take: until all that can become of it was seen.
	 */
	for (first = 1; first <= every() && !(c.healed && c.without); first++) {
		for (writes = first; writes < WRITES_MAX; writes += every())
			if (!cut_and_look(writes, &c))
				break;
		vt_expect(writes < WRITES_MAX, "it does not end");
	}
	/* Ends and starts of all labels, less the first write and the last. */
	vt_expect((c.whole + c.healed + c.without) * every() >= 2 * ALL && c.healed &&
		  c.without,
		  "%u writes: attached %u times as grown, %u times when healed, %u times without the new members",
		  writes, c.whole, c.healed, c.without);
	vt_end();
	vt_note("%u writes: attached %u times as grown, %u times when healed, %u times without the new members",
		writes, c.whole, c.healed, c.without);
}

/* As cut_and_look(), but the host is still there, and does it again. */
static bool cut_and_go_on(unsigned int writes, unsigned int *again)
{
	enum cut cut = cut_after(writes);
	int status;

	if (cut == CUT_NOT) {
		leave(0);
		return false;
	}
	if (cut == CUT_ALL) {
		crash(0);
		return true;
	}
	++*again;
	status = grow(0, "--force >/dev/null 2>&1");
	/* All members had been told: then that is to be taken up. */
	if (status == 6)
		status = refresh(0);
	vt_expect(!status, "after %u writes: status %d", writes, status);
	owns(0, 10, 60000);
	hits(0, old, NR);
	leave(0);
	fsck("after a growth that went on");
	return true;
}

static void test_again(void)
{
	unsigned int writes, first, again = 0;

	vt_begin("what was cut short goes on on the host that began it");
	for (first = 2; first < 2 + every() && again * every() < ALL; first++) {
		for (writes = first; writes < WRITES_MAX; writes += every())
			if (!cut_and_go_on(writes, &again))
				break;
		vt_expect(writes < WRITES_MAX, "it does not end");
	}
	vt_expect(again * every() >= ALL, "%u times again", again);
	vt_end();
	vt_note("%u times again", again);
}

/* --- main --- */

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "alone", test_alone },	{ "shared", test_shared },
		{ "dead", test_dead },		{ "outdated", test_outdated },
		{ "drain", test_drain },	{ "lost", test_lost },
		{ "cut", test_cut },		{ "again", test_again },
	};

	vt_members_env(&pool, 0, ALL);
	device = open(KVC_DEVICE, O_RDWR | O_CLOEXEC);
	vt_need(device >= 0, "open " KVC_DEVICE ": %s", strerror(errno));
	vt_run(tests, sizeof(tests) / sizeof(tests[0]), argv + 1, argc - 1);
	/* All of the devices are of one pool again. */
	vt_format(&pool, TERMS);
	vt_exit();
}
