// SPDX-License-Identifier: GPL-2.0
/*
 * Members that hold host slots leave a pool, while hosts use it, in one kernel: the
 * slots move, what they showed goes with them, and whoever is cut short leaves a
 * pool (protocol rule 38).
 *
 * usage: elastic_slots [TEST...]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "hosts.h"

#define MEMBERS		5
#define NR		40
#define TERMS		"--name slots --lease 4s --q 300ms --segment-size 1M --width 1 --slots 6 --ring 256K"

#define OK		0
#define BUSY		5
#define REFUSED		6

static struct vt_object objects[2][NR];

static void format(unsigned int members)
{
	hosts_pool.nr = members;
	vt_format(&hosts_pool, members == 1 ? TERMS " --ags 2 --max-ags 12" :
					      TERMS " --ags 10 --max-ags 12");
	hosts_pool.nr = MEMBERS;
}

/* The device of a member that was removed goes behind all others. */
static void behind(unsigned int at)
{
	struct vt_members *m = &hosts_pool;

	for (; at + 1 < MEMBERS; at++) {
		char *path = m->path[at];
		int fd = m->fd[at];
		u64 blocks = m->blocks[at];

		m->path[at] = m->path[at + 1];
		m->fd[at] = m->fd[at + 1];
		m->blocks[at] = m->blocks[at + 1];
		m->path[at + 1] = path;
		m->fd[at + 1] = fd;
		m->blocks[at + 1] = blocks;
	}
}

static void drain(unsigned int host, unsigned int member, int want)
{
	int status = hosts_tool("drain %u %u 2>/tmp/drain", hosts[host].number,
				member);

	if (!vt_expect(status == want, "drain member %u: status %d, not %d", member,
		       status, want) && system("cat /tmp/drain"))
		vt_note("no output");
}

static void remove_member(unsigned int host, const char *options,
			  unsigned int member, int want)
{
	int status = hosts_tool("remove %s %u %u 2>/tmp/remove", options,
				hosts[host].number, member);

	if (!vt_expect(status == want, "remove member %u: status %d, not %d",
		       member, status, want) && system("cat /tmp/remove"))
		vt_note("no output");
}

/* Where the labels have the slots now: "0 1 2", or "0 1 2: 0 to 3". */
static const char *places(void)
{
	static char text[64];
	const struct kvc_geometry *g = &hosts_pool.g;
	int at;

	vt_members_load(&hosts_pool);
	at = snprintf(text, sizeof(text), "%u %u %u", g->slot_members[0],
		      g->slot_members[1], g->slot_members[2]);
	if (g->slot_leaves != KVC_NO_COPY)
		snprintf(text + at, sizeof(text) - (size_t)at, ": %u to %u",
			 g->slot_members[g->slot_leaves],
			 g->slot_members[g->nr_slot_copies]);
	return text;
}

static void expect_places(const char *want)
{
	const char *is = places();

	vt_expect(!strcmp(is, want), "slots are on %s, not %s", is, want);
}

/* --- tests --- */

static void test_none(void)
{
	format(3);
	hosts_join(0, 0, 3);
	vt_begin("three members: none of them can leave before there is a fourth");
	drain(0, 1, REFUSED);
	vt_expect(hosts_look(0, 1).role == KVCACHE_ROLE_MEMBER, "role");
	expect_places("0 1 2");
	vt_expect(!hosts_tool("grow --force %u %s", hosts[0].number,
			      hosts_pool.path[3]), "grow");
	drain(0, 1, OK);
	expect_places("0 1 2: 1 to 3");
	vt_end();
	vt_begin("a member that slots move to stays, and one copy moves at a time");
	drain(0, 3, BUSY);
	drain(0, 2, BUSY);
	expect_places("0 1 2: 1 to 3");
	vt_end();
	vt_begin("a member that was drained is used again, with its slots");
	vt_expect(!hosts_tool("drain --keep %u 1", hosts[0].number), "keep");
	expect_places("0 1 2");
	hosts_put(0, objects[0], NR, "kept");
	hosts_hits(0, objects[0], NR);
	hosts_leave(0);
	hosts_fsck(4, "when it was kept");
	vt_end();
}

/* Two hosts that know each other's labels, or don't: each sees what the other puts. */
static void test_shared(void)
{
	unsigned int kept;

	format(MEMBERS);
	hosts_join(0, 2, MEMBERS);
	hosts_join(1, 2, MEMBERS);
	hosts_put(0, objects[0], NR, "a");
	hosts_put(1, objects[1], NR, "b");

	vt_begin("a member with host slots is drained, and they are on their way");
	drain(0, 1, OK);
	expect_places("0 1 2: 1 to 3");
	vt_expect(hosts_look(0, 1).behind == 1, "%u behind", hosts_look(0, 1).behind);
	hosts_at_once(2, "one", 4);
	vt_end();
	vt_begin("they don't arrive while another host does not write there");
	remove_member(0, "", 1, BUSY);
	expect_places("0 1 2: 1 to 3");
	vt_end();
	vt_begin("when it does they have moved, and the member is still there");
	vt_expect(!hosts_refresh(1, MEMBERS), "refresh");
	hosts_at_once(2, "two", 4);
	remove_member(0, "", 1, BUSY);
	expect_places("0 3 2");
	vt_expect(hosts_look(0, 1).role == KVCACHE_ROLE_DRAINING, "role");
	hosts_at_once(2, "three", 4);
	remove_member(0, "", 1, BUSY);
	vt_end();
	vt_begin("when all know that, and nothing is left there, it is removed");
	vt_expect(!hosts_refresh(1, MEMBERS), "refresh");
	vt_expect(!hosts_tool("drain --wait %u 1", hosts[0].number), "wait");
	hosts_agree(objects[0], NR);
	hosts_agree(objects[1], NR);
	kept = hosts_there(0, objects[0], NR) + hosts_there(0, objects[1], NR);
	vt_expect(kept >= NR, "%u objects are left", kept);
	remove_member(0, "", 1, OK);
	behind(1);
	vt_expect(!hosts_refresh(1, MEMBERS - 1), "refresh");
	hosts_at_once(2, "four", 4);
	vt_end();

	vt_begin("its device holds nothing that is needed");
	vt_expect(!hosts_tool("format --name other %s >/dev/null",
			      hosts_pool.path[MEMBERS - 1]), "format");
	hosts_crash(1);
	hosts_join(1, 2, MEMBERS - 1);
	hosts_at_once(2, "five", 4);
	hosts_leave(1);
	hosts_join(1, 2, MEMBERS - 1);
	vt_expect(hosts_there(1, objects[0], NR) + hosts_there(1, objects[1], NR) ==
		  kept, "objects are lost");
	vt_end();

	vt_begin("another of them leaves likewise, and the last three stay");
	drain(1, 0, OK);
	expect_places("0 3 2: 0 to 4");
	vt_expect(!hosts_refresh(0, MEMBERS - 1), "refresh");
	remove_member(0, "", 0, BUSY);
	expect_places("4 3 2");
	vt_expect(!hosts_refresh(1, MEMBERS - 1), "refresh");
	vt_expect(!hosts_tool("drain --wait %u 0", hosts[0].number), "wait");
	remove_member(1, "", 0, OK);
	behind(0);
	vt_expect(!hosts_refresh(0, MEMBERS - 2), "refresh");
	drain(0, 2, REFUSED);
	hosts_at_once(2, "six", 4);
	hosts_leave(0);
	hosts_leave(1);
	hosts_fsck(MEMBERS - 2, "of what is left");
	hosts_join(0, 0, MEMBERS - 2);
	hosts_put(0, objects[0], NR, "alone");
	hosts_hits(0, objects[0], NR);
	hosts_leave(0);
	vt_end();
}

/* Does a slot's block on one place show what it shows on the others? */
static bool same_everywhere(unsigned int slot)
{
	const struct kvc_geometry *g = &hosts_pool.g;
	static u8 block[KVC_BLOCK_SIZE];
	struct kvc_slot_info first = {}, s;
	unsigned int i;

	for (i = 0; i < kvc_slot_places(g); i++) {
		vt_read(&hosts_pool, kvc_place_slot(g, slot, i, 0), 1, block);
		if (kvc_slot_decode(block, g, &s))
			return vt_expect(false, "slot %u: place %u shows nothing",
					 slot, i);
		if (i && (s.sequence != first.sequence ||
			  s.incarnation != first.incarnation ||
			  memcmp(s.ags, first.ags, sizeof(s.ags))))
			return vt_expect(false, "slot %u: place %u shows something else",
					 slot, i);
		first = s;
	}
	return true;
}

/* What hosts that died or left showed stays known, without the old place. */
static void test_dead(void)
{
	uint64_t before;

	format(MEMBERS);
	hosts_join(0, 3, MEMBERS);
	hosts_join(1, 3, MEMBERS);
	hosts_join(2, 3, MEMBERS);
	hosts_put(1, objects[0], NR, "a");
	hosts_leave(2);
	hosts_crash(1);
	vt_begin("slots of hosts that left or died move, too");
	drain(0, 2, OK);
	/* Each membership finds out for itself that the other host is dead. */
	vt_sleep_ms(6000);
	remove_member(0, "--lost", 2, BUSY);
	expect_places("0 1 3");
	same_everywhere(1);
	same_everywhere(2);
	vt_sleep_ms(6000);
	remove_member(0, "--lost", 2, OK);
	behind(2);
	vt_end();
	vt_begin("they come back, as the incarnations that they are");
	before = hosts_info(0).incarnation;
	hosts_join(1, 3, MEMBERS - 1);
	hosts_join(2, 3, MEMBERS - 1);
	vt_expect(hosts_info(1).incarnation > 1 && hosts_info(2).incarnation > 1 &&
		  hosts_info(0).incarnation == before, "incarnations");
	hosts_at_once(3, "back", 4);
	hosts_there(2, objects[0], NR);
	hosts_leave(0);
	hosts_leave(1);
	hosts_leave(2);
	hosts_fsck(MEMBERS - 1, "when all have left");
	vt_end();
}

/* A member that is away for good, and held slots. */
static void test_lost(void)
{
	struct vt_members left = { .nr = MEMBERS - 1 };
	int number;

	format(MEMBERS);
	hosts_join(0, 0, MEMBERS);
	hosts_put(0, objects[0], NR, "old");
	hosts_leave(0);
	behind(0);
	memcpy(left.path, hosts_pool.path, sizeof(left.path));
	vt_begin("a member that is away for good, with host slots, is removed");
	number = vt_attach(&left, "host-0", KVCACHE_ATTACH_DEGRADED, hosts_reason,
			   sizeof(hosts_reason));
	hosts_take(0, number);
	vt_expect(hosts_look(0, 0).role == KVCACHE_ROLE_MISSING, "role");
	remove_member(0, "--lost", 0, OK);
	hosts_put(0, objects[1], NR, "new");
	hosts_leave(0);
	hosts_join(0, 0, MEMBERS - 1);
	hosts_hits(0, objects[1], NR);
	hosts_leave(0);
	hosts_fsck(MEMBERS - 1, "without it");
	vt_end();
}

/* A pool of one member, then of two, and the first leaves: one copy of the slots. */
static void test_single(void)
{
	format(1);
	hosts_join(0, 2, 1);
	hosts_put(0, objects[0], NR, "old");
	vt_begin("the only copy of the slots moves");
	vt_expect(!hosts_tool("grow --force %u %s", hosts[0].number,
			      hosts_pool.path[1]), "grow");
	hosts_join(1, 2, 2);
	drain(0, 0, OK);
	vt_expect(!hosts_refresh(1, 2), "refresh");
	vt_expect(!hosts_tool("drain --wait %u 0", hosts[0].number), "wait");
	hosts_at_once(2, "moving", 4);
	remove_member(0, "", 0, BUSY);
	vt_expect(!hosts_refresh(1, 2), "refresh");
	remove_member(0, "", 0, OK);
	behind(0);
	vt_expect(!hosts_refresh(1, 1), "refresh");
	hosts_at_once(2, "moved", 4);
	hosts_leave(0);
	hosts_leave(1);
	hosts_fsck(1, "of the one that is left");
	vt_end();
}

/* --- crashes --- */

#define WRITES_MAX	400

/* Each takes a moment: not all of the writes, unless there is time. */
static unsigned int every(void)
{
	const char *n = getenv("KVC_CUT_EVERY");

	return n && atoi(n) > 0 ? (unsigned int)atoi(n) : 1;
}

/* Drain and remove, cut short after so many writes: false if it was through. */
static bool cut_after(unsigned int writes)
{
	unsigned int left;

	format(MEMBERS - 1);
	hosts_join(0, 1, MEMBERS - 1);
	hosts_put(0, objects[0], 8, "old");
	crash_abandon_after(writes);
	if (!hosts_tool("drain %u 1 >/dev/null 2>&1", hosts[0].number))
		hosts_tool("remove --lost %u 1 >/dev/null 2>&1", hosts[0].number);
	left = crash_abandon_left();
	crash_abandon_after(0);
	return !left;
}

static void test_cut(void)
{
	unsigned int writes, alone = 0, gone = 0;
	int number;

	vt_begin("slots that move are cut short by a crash, after one in %u of the writes",
		 every());
	for (writes = 1; writes < WRITES_MAX; writes += every()) {
		if (!cut_after(writes)) {
			hosts_leave(0);
			break;
		}
		hosts_crash(0);
		/* Who shares it refuses labels that tell different things. */
		number = hosts_attach_as(KVCACHE_MODE_STATIC, 0, 1, MEMBERS - 1);
		if (number < 0) {
			alone++;
			number = hosts_attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0,
						 MEMBERS - 1);
		}
		/* Without it, if it was removed; then the device may have a label. */
		if (number < 0) {
			gone++;
			behind(1);
			number = hosts_attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0,
						 MEMBERS - 2);
		}
		if (!vt_expect(number > 0, "after %u writes: %d: %s", writes, number,
			       hosts_reason))
			break;
		hosts_take(0, number);
		hosts_there(0, objects[0], 8);
		/* And it goes on from there. */
		if (hosts_look(0, 1).role != KVCACHE_ROLE_REMOVED) {
			drain(0, 1, OK);
			remove_member(0, "--lost", 1, OK);
			behind(1);
		}
		hosts_put(0, objects[1], 8, "new");
		hosts_leave(0);
		if (!hosts_fsck(MEMBERS - 2, "after a move that was cut short"))
			vt_note("after %u writes", writes);
	}
	vt_expect(writes < WRITES_MAX, "it does not end");
	vt_expect(alone, "it was never cut between two labels");
	vt_end();
	vt_note("%u writes: attached %u times alone, %u times without the member",
		writes, alone, gone);
}

/* Does the host of a slot show, on all places, that it writes labels? */
static bool shows_relabels(unsigned int slot)
{
	const struct kvc_geometry *g = &hosts_pool.g;
	static u8 block[KVC_BLOCK_SIZE];
	struct kvc_slot_info s;
	unsigned int i, n = 0;

	vt_members_load(&hosts_pool);
	for (i = 0; i < kvc_slot_places(g); i++) {
		vt_read(&hosts_pool, kvc_place_slot(g, slot, i, 0), 1, block);
		n += !kvc_slot_decode(block, g, &s) && s.flags & KVC_SLOT_RELABELS;
	}
	return g->slot_leaves != KVC_NO_COPY && n == kvc_slot_places(g);
}

/*
 * A host dies when it is about to copy slots: who joins then can't know whether a
 * copy of its own is on its way, and waits.
 */
static void test_joiner(void)
{
	unsigned int writes;
	uint64_t start;
	int status;

	vt_begin("who joins while slots are copied waits for whoever does that");
	/* A heartbeat is as many writes as there are places, and not all say so. */
	for (writes = 6; writes < 24; writes++) {
		format(MEMBERS);
		hosts_join(0, 2, MEMBERS);
		drain(0, 1, OK);
		crash_abandon_after(writes);
		status = hosts_tool("remove --lost %u 1 2>/dev/null",
				    hosts[0].number);
		vt_expect(status, "it was not cut short");
		crash_abandon_after(0);
		hosts_crash(0);
		if (shows_relabels(0))
			break;
	}
	vt_expect(writes < 24, "it was never cut in between");
	start = vt_ms();
	hosts_join(1, 2, MEMBERS);
	start = vt_ms() - start;
	vt_expect(start > 4000, "it has waited for %u ms", (unsigned int)start);
	hosts_put(1, objects[0], NR, "a");
	hosts_hits(1, objects[0], NR);
	hosts_join(0, 2, MEMBERS);
	hosts_at_once(2, "both", 4);
	hosts_leave(0);
	hosts_leave(1);
	vt_end();
	vt_note("cut after %u writes, it waited for %u ms", writes,
		(unsigned int)start);
}

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "none", test_none },		{ "shared", test_shared },
		{ "dead", test_dead },		{ "lost", test_lost },
		{ "single", test_single },	{ "joiner", test_joiner },
		{ "cut", test_cut },
	};

	hosts_begin(MEMBERS);
	vt_run(tests, sizeof(tests) / sizeof(tests[0]), argv + 1, argc - 1);
	hosts_pool.nr = MEMBERS;
	vt_format(&hosts_pool, TERMS);
	vt_exit();
}
