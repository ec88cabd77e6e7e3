// SPDX-License-Identifier: GPL-2.0
/*
 * A pool that grows, and shrinks, while hosts have it, in one kernel: what
 * was there stays, what is put is seen at once by every host, whether it knows the
 * new members or not, and whoever is cut short leaves a pool.
 *
 * usage: elastic [TEST...]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "hosts.h"

#define OLD		3
#define MORE		2
#define ALL		(OLD + MORE)
#define HOSTS		3
#define NR		60

static struct vt_object old[NR], more[HOSTS][NR];

static int grow(unsigned int host, const char *options)
{
	return hosts_tool("grow %s %u %s %s", options, hosts[host].number,
		    hosts_pool.path[OLD], hosts_pool.path[OLD + 1]);
}

/* The pool begins with the first members. */
static void format(const char *options)
{
	hosts_pool.nr = OLD;
	vt_format(&hosts_pool, options);
	hosts_pool.nr = ALL;
}

static const struct kvc_call brief = { .deadline_ms = 10000 };

#define TERMS "--name elastic --lease 8s --q 500ms --segment-size 1M --ags 6 --slots 6 --ring 256K"

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
	hosts_join(0, 0, OLD);
	hosts_put(0, old, NR, "old");
	before = hosts_info(0);
	vt_begin("a device that has something is not taken without --force");
	vt_expect(!hosts_tool("format --force --name other %s", hosts_pool.path[OLD]), "format");
	vt_expect(grow(0, "2>/dev/null") == 6, "status");
	vt_expect(hosts_tool("grow %u %s 2>/dev/null", hosts[0].number, hosts_pool.path[0]) == 6,
		  "a member");
	vt_expect(hosts_info(0).capacity == before.capacity, "capacity");
	vt_end();

	vt_begin("a pool that one host has grows while it is attached");
	vt_expect(!grow(0, "--force"), "grow");
	now = hosts_info(0);
	vt_expect(now.nr_members == ALL && now.nr_ags == 10 && now.owned_ags == 10 &&
		  now.capacity > before.capacity * 3 / 2,
		  "%u members, %u of %u AGs, %llu bytes after %llu", now.nr_members,
		  now.owned_ags, now.nr_ags, (unsigned long long)now.capacity,
		  (unsigned long long)before.capacity);
	hosts_hits(0, old, NR);
	hosts_put(0, more[0], NR, "new");
	hosts_hits(0, more[0], NR);
	vt_expect(written(0) > 100000, "%llu bytes on the new members",
		  (unsigned long long)written(0));
	vt_end();

	vt_begin("to refresh what has not changed does nothing");
	now = hosts_info(0);
	vt_expect(!hosts_refresh(0, ALL) && hosts_info(0).incarnation == now.incarnation, "refresh");
	vt_end();

	hosts_leave(0);
	vt_begin("what it holds is there after a detach, and fsck finds nothing");
	hosts_fsck(ALL, "after a detach");
	vt_expect(hosts_attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0, OLD) == -ENXIO,
		  "without the new members: %s", hosts_reason);
	hosts_join(0, 0, ALL);
	hosts_hits(0, old, NR);
	hosts_hits(0, more[0], NR);
	vt_end();

	vt_begin("and after a crash");
	hosts_crash(0);
	hosts_join(0, 0, ALL);
	hosts_hits(0, old, NR);
	hosts_hits(0, more[0], NR);
	hosts_leave(0);
	hosts_fsck(ALL, "after a crash");
	vt_end();
}

static void test_shared(void)
{
	unsigned int h, k;

	format(TERMS);
	for (h = 0; h < HOSTS; h++)
		hosts_join(h, HOSTS, OLD);
	hosts_put(0, old, NR, "old");
	vt_begin("a pool that three hosts share grows, and all go on as before");
	vt_expect(!grow(0, "--force --no-refresh"), "grow");
	hosts_at_once(HOSTS, "grown", 10);
	vt_expect(hosts_info(0).nr_members == OLD, "it was taken up");
	vt_end();

	vt_begin("a host that does not know of it can't grow it");
	vt_expect(grow(1, "--force 2>/dev/null") == 6, "status");
	vt_end();

	vt_begin("who takes it up first owns nothing new while others can't follow it");
	vt_expect(!hosts_refresh(0, ALL), "refresh");
	hosts_owns(0, 2, 60000);
	vt_expect(hosts_info(0).nr_ags == 10, "%u AGs", hosts_info(0).nr_ags);
	hosts_at_once(HOSTS, "first", 10);
	vt_expect(!hosts_refresh(1, ALL), "refresh");
	hosts_owns(1, 2, 60000);
	hosts_at_once(HOSTS, "second", 10);
	/* Many of its turns to take them, were it not to wait. */
	vt_sleep_ms(5000);
	vt_expect(hosts_info(0).owned_ags == 2 && hosts_info(1).owned_ags == 2,
		  "hosts own %u and %u", hosts_info(0).owned_ags, hosts_info(1).owned_ags);
	for (h = 0; h < HOSTS; h++)
		hosts_hits(h, old, NR);
	vt_end();

	vt_begin("when all have, the new AGs are owned, and used");
	vt_expect(!hosts_refresh(2, ALL), "refresh");
	/* AG a is host a modulo 3's. */
	hosts_owns(0, 4, 120000);
	hosts_owns(1, 3, 120000);
	hosts_owns(2, 3, 120000);
	for (h = 0; h < HOSTS; h++)
		hosts_put(h, more[h], NR, (const char *[]){ "a", "b", "c" }[h]);
	for (h = 0; h < HOSTS; h++) {
		hosts_hits(h, old, NR);
		for (k = 0; k < HOSTS; k++)
			hosts_hits(h, more[k], NR);
		vt_expect(written(h) > 10000, "host %u: nothing on the new members", h);
	}
	hosts_at_once(HOSTS, "all", 10);
	vt_end();

	vt_begin("each host leaves and comes back, without a lost object");
	for (h = 0; h < HOSTS; h++) {
		hosts_leave(h);
		hosts_join(h, HOSTS, ALL);
		for (k = 0; k < HOSTS; k++)
			hosts_hits(h, more[k], NR);
		hosts_hits(h, old, NR);
	}
	for (h = 0; h < HOSTS; h++)
		hosts_leave(h);
	hosts_fsck(ALL, "when all have left");
	vt_end();
}

/* A host that dies before it has taken the new members up. */
static void test_dead(void)
{
	format(TERMS);
	hosts_join(0, 2, OLD);
	hosts_join(1, 2, OLD);
	hosts_put(1, old, NR, "old");
	vt_expect(!grow(0, "--force"), "grow");
	hosts_owns(0, 3, 60000);
	vt_begin("a host that died does not hold the new AGs up");
	vt_sleep_ms(2000);
	vt_expect(hosts_info(0).owned_ags == 3, "%u AGs", hosts_info(0).owned_ags);
	hosts_crash(1);
	hosts_owns(0, 5, 120000);
	vt_end();
	vt_begin("it comes back with the new members, and finds what is there");
	hosts_put(0, more[0], NR, "a");
	hosts_join(1, 2, ALL);
	hosts_owns(1, 5, 120000);
	hosts_hits(1, old, NR);
	hosts_hits(1, more[0], NR);
	hosts_at_once(2, "back", 5);
	vt_end();
	hosts_leave(0);
	hosts_leave(1);
	vt_begin("fsck finds nothing then");
	hosts_fsck(ALL, "after a death");
	vt_end();
}

/* A host whose labels were read before the pool grew, and that joins after that. */
static void test_outdated(void)
{
	int err;

	format(TERMS);
	hosts_join(0, 2, OLD);
	hosts_put(0, old, NR, "old");
	hosts_take(1, hosts_attach_as(KVCACHE_MODE_GRANTED, 0, 0, OLD));
	vt_expect(!grow(0, "--force"), "grow");
	vt_begin("who read the labels before it grew joins no more with them");
	err = hosts_grant(1, 1, 1000);
	vt_expect(err == -ESTALE, "grant: %d", err);
	vt_end();
	vt_begin("but when it has taken up what they say");
	vt_expect(!hosts_refresh(1, ALL), "refresh");
	err = hosts_grant(1, 1, 1001);
	vt_expect(!err, "grant: %d", err);
	hosts_hits(1, old, NR);
	hosts_owns(0, 5, 120000);
	hosts_put(0, more[0], NR, "a");
	hosts_hits(1, more[0], NR);
	vt_end();
	hosts_leave(1);
	hosts_leave(0);
}

/* The last of the members is emptied and leaves; two hosts have the pool. */
static void test_drain(void)
{
	unsigned int last = ALL - 1, kept, k;
	struct kvcache_member seen;
	uint64_t before;

	vt_format(&hosts_pool, TERMS " --width 1 --ags 10");
	hosts_join(0, 2, ALL);
	hosts_join(1, 2, ALL);
	hosts_put(0, more[0], NR, "a");
	hosts_put(1, more[1], NR, "b");
	vt_begin("one that was not drained can't be removed");
	vt_expect(hosts_tool("remove %u %u 2>/dev/null", hosts[0].number, last) == 6,
		  "status");
	vt_end();

	vt_begin("a host drains a member, and others go on");
	vt_expect(!hosts_tool("drain %u %u", hosts[0].number, last), "drain");
	seen = hosts_look(0, last);
	vt_expect(seen.role == KVCACHE_ROLE_DRAINING && seen.behind == 1,
		  "role %u, %u behind", seen.role, seen.behind);
	vt_expect(hosts_look(1, last).role == KVCACHE_ROLE_MEMBER, "the other host");
	vt_expect(hosts_tool("remove %u %u 2>/dev/null", hosts[0].number, last) == 5,
		  "it can be removed");
	hosts_at_once(2, "one", 5);
	hosts_agree(more[0], NR);
	hosts_agree(more[1], NR);
	vt_end();

	vt_begin("when the other has taken it up nothing is left there");
	vt_expect(!hosts_refresh(1, ALL), "refresh");
	vt_expect(!hosts_tool("drain --wait %u %s", hosts[0].number, hosts_pool.path[last]),
		  "wait");
	seen = hosts_look(0, last);
	vt_expect(!seen.objects && !seen.segments && !seen.behind,
		  "%llu objects, %u segments, %u behind",
		  (unsigned long long)seen.objects, seen.segments, seen.behind);
	hosts_agree(more[0], NR);
	hosts_agree(more[1], NR);
	kept = hosts_there(0, more[0], NR) + hosts_there(0, more[1], NR);
	/* One in five of the AGs has its journal there; all else has room. */
	vt_expect(kept >= NR, "%u of %u objects are left", kept, 2 * NR);
	before = hosts_look(0, last).objects;
	hosts_at_once(2, "two", 10);
	vt_expect(hosts_look(1, last).objects == before, "something was put there");
	vt_end();
	vt_note("%u of %u objects are left", kept, 2 * NR);

	vt_begin("it is removed, and the hosts go on without it");
	vt_expect(!hosts_tool("remove %u %u", hosts[0].number, last), "remove");
	vt_expect(hosts_look(0, last).role == KVCACHE_ROLE_REMOVED, "role");
	hosts_at_once(2, "three", 5);
	vt_expect(!hosts_refresh(1, ALL - 1), "refresh");
	vt_expect(hosts_look(1, last).role == KVCACHE_ROLE_REMOVED, "role");
	hosts_at_once(2, "four", 10);
	for (k = 0; k < 2; k++)
		vt_expect(hosts_there(k, more[0], NR) + hosts_there(k, more[1], NR) == kept,
			  "host %u lost objects", k);
	vt_end();

	vt_begin("its device is free for something else");
	vt_expect(!hosts_tool("format --name other %s >/dev/null", hosts_pool.path[last]),
		  "format");
	vt_end();

	vt_begin("hosts come back without it, and fsck finds nothing");
	hosts_leave(0);
	hosts_join(0, 2, ALL - 1);
	hosts_leave(1);
	hosts_join(1, 2, ALL - 1);
	vt_expect(hosts_there(0, more[0], NR) + hosts_there(1, more[1], NR) == kept,
		  "objects are lost");
	hosts_at_once(2, "five", 5);
	hosts_leave(0);
	hosts_leave(1);
	vt_expect(!hosts_tool("fsck %s %s %s %s >/tmp/elastic-fsck 2>&1 || ! cat /tmp/elastic-fsck",
			hosts_pool.path[0], hosts_pool.path[1], hosts_pool.path[2], hosts_pool.path[3]),
		  "fsck");
	vt_end();

	vt_begin("and the pool grows again by it");
	hosts_join(0, 0, ALL - 1);
	vt_expect(!hosts_tool("grow --force %u %s", hosts[0].number, hosts_pool.path[last]),
		  "grow");
	vt_expect(hosts_info(0).nr_members == ALL + 1 && hosts_info(0).owned_ags == 10,
		  "%u members, %u AGs owned", hosts_info(0).nr_members,
		  hosts_info(0).owned_ags);
	vt_expect(hosts_there(0, more[0], NR) + hosts_there(0, more[1], NR) == kept,
		  "objects are lost");
	hosts_leave(0);
	vt_end();
}

/* A member that is drained and then kept; one that is away for good. */
static void test_lost(void)
{
	unsigned int last = ALL - 1, k;
	int number;

	vt_format(&hosts_pool, TERMS " --width 1 --ags 10");
	hosts_join(0, 0, ALL);
	hosts_put(0, old, NR, "old");
	vt_begin("a member that was drained is used again");
	vt_expect(!hosts_tool("drain --wait %u %u", hosts[0].number, last), "drain");
	vt_expect(!hosts_tool("drain --keep %u %u", hosts[0].number, last), "keep");
	vt_expect(hosts_look(0, last).role == KVCACHE_ROLE_MEMBER, "role");
	/* Segments that are open are on other members: until they are full. */
	for (k = 0; k < 20 && !hosts_look(0, last).objects; k++) {
		char prefix[8];

		snprintf(prefix, sizeof(prefix), "a%u", k);
		hosts_put(0, more[0], NR, prefix);
	}
	vt_expect(hosts_look(0, last).objects, "nothing comes there");
	hosts_hits(0, more[0], NR);
	hosts_leave(0);
	hosts_fsck(ALL, "after a member was kept");
	vt_end();

	vt_begin("one that is away for good is removed");
	number = vt_attach(&(struct vt_members){ .nr = ALL - 1, .path = {
			hosts_pool.path[0], hosts_pool.path[1], hosts_pool.path[2],
			hosts_pool.path[3] } }, "host-0", KVCACHE_ATTACH_DEGRADED,
			hosts_reason, sizeof(hosts_reason));
	hosts_take(0, number);
	vt_expect(hosts_look(0, last).role == KVCACHE_ROLE_MISSING, "role");
	vt_expect(!hosts_tool("remove --lost %u %u", hosts[0].number, last), "remove");
	hosts_leave(0);
	hosts_join(0, 0, ALL - 1);
	hosts_there(0, more[0], NR);
	hosts_put(0, more[1], NR, "b");
	hosts_hits(0, more[1], NR);
	hosts_leave(0);
	vt_expect(hosts_attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0, ALL) == -EUCLEAN,
		  "it comes back: %s", hosts_reason);
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
		hosts_join(0, 1, OLD);
		hosts_put(0, old, NR, "old");
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
		hosts_leave(0);
	}
	vt_need(false, "grow fails before write %u: status %d", writes, status);
	return CUT_NOT;
}

/* Do these members make a pool, for one host alone? It keeps what was put. */
static bool holds(unsigned int members, unsigned int writes)
{
	int number = hosts_attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0, members);

	if (number < 0)
		return false;
	hosts_take(0, number);
	hosts_hits(0, old, NR);
	vt_expect(hosts_info(0).nr_members == members, "after %u writes: %u members",
		  writes, hosts_info(0).nr_members);
	hosts_leave(0);
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
		hosts_leave(0);
		return false;
	}
	hosts_crash(0);
	/* A host that shares it writes no labels: it says what to do. */
	number = hosts_attach_as(KVCACHE_MODE_STATIC, 0, 1, ALL);
	if (number > 0) {
		c->whole++;
		hosts_take(0, number);
		hosts_hits(0, old, NR);
		hosts_leave(0);
		return true;
	}
	vt_expect(number == -EUCLEAN, "after %u writes: %d: %s", writes, number,
		  hosts_reason);
	/* With the new members, or without if none tells of them. */
	if (holds(ALL, writes)) {
		c->healed++;
		hosts_fsck(ALL, "after a growth that was cut short");
	} else if (holds(OLD, writes)) {
		c->without++;
	} else {
		vt_expect(false, "after %u writes: no pool: %s", writes, hosts_reason);
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
		hosts_leave(0);
		return false;
	}
	if (cut == CUT_ALL) {
		hosts_crash(0);
		return true;
	}
	++*again;
	status = grow(0, "--force >/dev/null 2>&1");
	/* All members had been told: then that is to be taken up. */
	if (status == 6)
		status = hosts_refresh(0, ALL);
	vt_expect(!status, "after %u writes: status %d", writes, status);
	hosts_owns(0, 10, 60000);
	hosts_hits(0, old, NR);
	hosts_leave(0);
	hosts_fsck(ALL, "after a growth that went on");
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

	hosts_begin(ALL);
	vt_run(tests, sizeof(tests) / sizeof(tests[0]), argv + 1, argc - 1);
	/* All of the devices are of one pool again. */
	vt_format(&hosts_pool, TERMS);
	vt_exit();
}
