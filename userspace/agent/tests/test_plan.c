// SPDX-License-Identifier: MIT
/* Who owns what next; slots, incarnations, deadlines. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kvcache.h>

#include "plan.h"
#include "tests.h"

#define AGS_MAX		128
#define HOSTS		8

/**
 * struct world - a cluster for tests
 * @ags: the map
 * @nr_ags: its length
 * @version: of the map
 * @hosts: hosts
 * @held: of each
 * @refused: of each
 * @floors: per AG
 * @view: made of these
 * @step: the last one
 */
struct world {
	struct plan_ag ags[AGS_MAX];
	uint32_t nr_ags;
	uint64_t version;
	struct plan_host hosts[HOSTS];
	struct plan_epoch held[HOSTS][AGS_MAX];
	struct plan_epoch refused[HOSTS][AGS_MAX];
	uint64_t floors[AGS_MAX];
	struct plan_view view;
	struct plan_step step;
};

static void world(struct world *w, uint32_t nr_ags)
{
	uint32_t i;

	memset(w, 0, sizeof(*w));
	w->nr_ags = nr_ags;
	for (i = 0; i < nr_ags; i++)
		w->ags[i].slot = PLAN_NOBODY;
	w->view.hosts = w->hosts;
	w->view.floors = w->floors;
}

static struct plan_host *add_host(struct world *w, uint32_t slot)
{
	struct plan_host *host = &w->hosts[w->view.nr_hosts];

	*host = (struct plan_host) {
		.slot = slot,
		.incarnation = 100 + slot,
		.joined = true,
		.held = w->held[w->view.nr_hosts],
		.refused = w->refused[w->view.nr_hosts],
	};
	w->view.nr_hosts++;
	return host;
}

static void remove_host(struct world *w, uint32_t index)
{
	uint32_t last = w->view.nr_hosts - 1;

	memcpy(w->held[index], w->held[last], sizeof(w->held[0]));
	memcpy(w->refused[index], w->refused[last], sizeof(w->refused[0]));
	w->hosts[index] = w->hosts[last];
	w->hosts[index].held = w->held[index];
	w->hosts[index].refused = w->refused[index];
	w->view.nr_hosts--;
}

static bool step(struct world *w)
{
	plan_next(w->ags, w->nr_ags, w->version + 1, &w->view, &w->step);
	w->version += w->step.changed;
	return w->step.changed;
}

static uint32_t owned(const struct world *w, uint32_t slot)
{
	uint32_t count = 0, i;

	for (i = 0; i < w->nr_ags; i++)
		count += w->ags[i].slot == slot;
	return count;
}

/* Every kernel does at once what the map says, and its agent reports it. */
static void obey(struct world *w)
{
	uint32_t i, j;

	for (i = 0; i < w->view.nr_hosts; i++) {
		struct plan_host *host = &w->hosts[i];

		host->seen = w->version;
		host->nr_held = 0;
		for (j = 0; j < w->nr_ags; j++)
			if (w->ags[j].slot == host->slot &&
			    w->ags[j].incarnation == host->incarnation &&
			    !w->ags[j].release)
				w->held[i][host->nr_held++] = (struct plan_epoch) {
					.ag = j,
					.epoch = w->ags[j].epoch,
				};
	}
}

/* Until nothing changes any more: how many AGs got an owner meanwhile. */
static uint32_t settle(struct world *w)
{
	uint32_t taken = 0;
	int turns = 0;

	while (step(w)) {
		taken += w->step.taken;
		obey(w);
		assert_true(++turns < 100);
	}
	return taken;
}

void test_plan_first_host_gets_all(void **state)
{
	struct world w;
	uint32_t i;

	(void)state;
	world(&w, 7);
	assert_false(step(&w));
	add_host(&w, 3);
	assert_true(step(&w));
	assert_int_equal(w.step.taken, 7);
	assert_int_equal(w.step.nr_ended, 0);
	for (i = 0; i < 7; i++) {
		assert_int_equal(w.ags[i].slot, 3);
		assert_int_equal(w.ags[i].incarnation, 103);
		assert_int_equal(w.ags[i].epoch, 1);
		assert_int_equal(w.ags[i].since, 1);
		assert_false(w.ags[i].release);
	}
	obey(&w);
	assert_false(step(&w));
}

void test_plan_hosts_that_have_not_joined_get_nothing(void **state)
{
	struct world w;

	(void)state;
	world(&w, 8);
	add_host(&w, 0);
	add_host(&w, 1)->joined = false;
	settle(&w);
	assert_int_equal(owned(&w, 0), 8);
	w.hosts[1].joined = true;
	settle(&w);
	assert_int_equal(owned(&w, 1), 4);
}

void test_plan_join_moves_only_the_share(void **state)
{
	static const uint32_t moves[] = { 16, 8, 5, 4, 3, 2 };
	struct world w;
	uint32_t i;

	(void)state;
	world(&w, 16);
	for (i = 0; i < 6; i++) {
		add_host(&w, i);
		assert_int_equal(settle(&w), moves[i]);
	}
}

void test_plan_release_waits_for_the_owner(void **state)
{
	struct world w;

	(void)state;
	world(&w, 2);
	add_host(&w, 0);
	settle(&w);
	add_host(&w, 1);
	assert_true(step(&w));
	assert_int_equal(w.step.released, 1);
	assert_int_equal(w.step.taken, 0);
	assert_true(w.ags[1].release);
	assert_int_equal(w.ags[1].slot, 0);
	/* Nothing new until the owner says so. */
	assert_false(step(&w));
	obey(&w);
	assert_true(step(&w));
	assert_int_equal(w.ags[1].slot, 1);
	assert_int_equal(w.ags[1].epoch, 2);
	assert_int_equal(w.step.nr_ended, 1);
	assert_int_equal(w.step.ended[0].ag, 1);
	assert_int_equal(w.step.ended[0].epoch, 1);
}

/* It does not hold the AG, but does not know either that it shall not. */
void test_plan_a_stale_report_confirms_nothing(void **state)
{
	struct world w;

	(void)state;
	world(&w, 2);
	add_host(&w, 0);
	step(&w);
	add_host(&w, 1);
	assert_true(step(&w));
	assert_true(w.ags[1].release);
	w.hosts[0].seen = 1;
	w.hosts[0].nr_held = 0;
	assert_false(step(&w));
	w.hosts[0].seen = 2;
	assert_true(step(&w));
	assert_int_equal(w.ags[1].slot, 1);
}

void test_plan_death_moves_only_the_dead_hosts(void **state)
{
	struct world w;
	uint32_t i;

	(void)state;
	world(&w, 12);
	for (i = 0; i < 4; i++)
		add_host(&w, i);
	settle(&w);
	assert_int_equal(owned(&w, 1), 3);
	remove_host(&w, 1);
	/* In one step: there is nobody to wait for. */
	assert_true(step(&w));
	assert_int_equal(w.step.taken, 3);
	assert_int_equal(w.step.nr_ended, 3);
	assert_int_equal(w.step.released, 0);
	assert_int_equal(owned(&w, 1), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(owned(&w, w.hosts[i].slot), 4);
	obey(&w);
	assert_false(step(&w));
}

void test_plan_lost_groups_are_nobodys_share(void **state)
{
	bool lost[12] = { false };
	struct world w;
	uint32_t i;

	(void)state;
	world(&w, 12);
	w.view.lost = lost;
	for (i = 0; i < 3; i++)
		add_host(&w, i);
	settle(&w);
	for (i = 0; i < 12; i++)
		lost[i] = w.ags[i].slot == 1;
	/* They stay with who has them, who gets a share of the others. */
	assert_int_equal(settle(&w), 2);
	assert_int_equal(owned(&w, 1), 6);
	/* When their owner is gone they get no other. */
	remove_host(&w, 1);
	assert_int_equal(settle(&w), 2);
	assert_int_equal(owned(&w, PLAN_NOBODY), 4);
	/* Who comes gets a share of the others. */
	add_host(&w, 3);
	settle(&w);
	for (i = 0; i < 3; i++)
		assert_in_range(owned(&w, w.hosts[i].slot), 2, 3);
	assert_int_equal(owned(&w, PLAN_NOBODY), 4);
	/* When they are found again all have equal shares. */
	memset(lost, 0, sizeof(lost));
	settle(&w);
	for (i = 0; i < 3; i++)
		assert_int_equal(owned(&w, w.hosts[i].slot), 4);
}

void test_plan_a_new_incarnation_is_another_host(void **state)
{
	struct world w;
	uint32_t i;

	(void)state;
	world(&w, 4);
	add_host(&w, 0);
	settle(&w);
	w.hosts[0].incarnation++;
	assert_true(step(&w));
	assert_int_equal(w.step.nr_ended, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(w.ags[i].epoch, 2);
		assert_int_equal(w.ags[i].incarnation, 101);
	}
}

void test_plan_leave_hands_over(void **state)
{
	struct world w;

	(void)state;
	world(&w, 6);
	add_host(&w, 0);
	add_host(&w, 1);
	add_host(&w, 2);
	settle(&w);
	w.hosts[1].leaving = true;
	assert_true(step(&w));
	assert_int_equal(w.step.released, 2);
	assert_int_equal(w.step.taken, 0);
	obey(&w);
	assert_int_equal(settle(&w), 2);
	assert_int_equal(owned(&w, 0), 3);
	assert_int_equal(owned(&w, 1), 0);
	assert_int_equal(owned(&w, 2), 3);
}

void test_plan_the_last_host_may_leave(void **state)
{
	struct world w;

	(void)state;
	world(&w, 6);
	add_host(&w, 0);
	settle(&w);
	w.hosts[0].leaving = true;
	settle(&w);
	assert_int_equal(owned(&w, PLAN_NOBODY), 6);
	assert_int_equal(w.ags[0].epoch, 1);
	remove_host(&w, 0);
	assert_false(step(&w));
	add_host(&w, 5);
	settle(&w);
	assert_int_equal(w.ags[0].epoch, 2);
}

/* Whoever has one more keeps it, whatever the order of hosts. */
void test_plan_equal_shares_stay(void **state)
{
	struct plan_host first;
	struct world w;

	(void)state;
	world(&w, 7);
	add_host(&w, 4);
	settle(&w);
	add_host(&w, 2);
	settle(&w);
	add_host(&w, 0);
	settle(&w);
	first = w.hosts[0];
	w.hosts[0] = w.hosts[2];
	w.hosts[2] = first;
	assert_false(step(&w));
}

void test_plan_refused_epochs_go_up(void **state)
{
	struct world w;

	(void)state;
	world(&w, 3);
	add_host(&w, 0);
	settle(&w);
	w.refused[0][0] = (struct plan_epoch) { .ag = 1, .epoch = 1, .next = 9 };
	w.hosts[0].nr_refused = 1;
	assert_true(step(&w));
	assert_int_equal(w.ags[1].epoch, 9);
	assert_int_equal(w.ags[1].slot, 0);
	assert_int_equal(w.ags[0].epoch, 1);
	assert_int_equal(w.step.nr_ended, 1);
	/* The report is of the epoch before. */
	assert_false(step(&w));
}

void test_plan_refusal_of_another_epoch_is_old(void **state)
{
	struct world w;

	(void)state;
	world(&w, 1);
	add_host(&w, 0);
	settle(&w);
	w.hosts[0].nr_refused = 1;
	w.refused[0][0] = (struct plan_epoch) { .ag = 0, .epoch = 7, .next = 9 };
	assert_false(step(&w));
	/* Q is being waited for, and this epoch will do then. */
	w.refused[0][0] = (struct plan_epoch) { .ag = 0, .epoch = 1, .next = 1 };
	assert_false(step(&w));
}

void test_plan_floors_are_kept(void **state)
{
	struct world w;

	(void)state;
	world(&w, 2);
	w.floors[1] = 1000;
	add_host(&w, 0);
	settle(&w);
	assert_int_equal(w.ags[0].epoch, 1);
	assert_int_equal(w.ags[1].epoch, 1000);
}

void test_plan_quiet_areas_are_left_alone(void **state)
{
	static const struct plan_epoch quiet[] = {
		{ .ag = 0, .epoch = 6 }, { .ag = 0, .epoch = 7 },
		{ .ag = 1, .epoch = 8 },
	};
	struct world w;

	(void)state;
	world(&w, 2);
	w.view.q = true;
	w.view.quiet = quiet;
	w.view.nr_quiet = 3;
	w.ags[0].epoch = 9;
	w.ags[1].epoch = 9;
	add_host(&w, 0);
	settle(&w);
	/* 10 and 11 would use the areas of 6 and 7. */
	assert_int_equal(w.ags[0].epoch, 12);
	assert_int_equal(w.ags[1].epoch, 10);
	/* What ends by this very step counts as well. */
	w.floors[1] = 14;
	w.hosts[0].incarnation++;
	assert_true(step(&w));
	assert_int_equal(w.ags[1].epoch, 15);
}

void test_plan_waits_when_all_areas_are_quiet(void **state)
{
	static const struct plan_epoch quiet[] = {
		{ .ag = 0, .epoch = 6 }, { .ag = 0, .epoch = 7 },
		{ .ag = 0, .epoch = 8 }, { .ag = 0, .epoch = 9 },
	};
	struct world w;

	(void)state;
	world(&w, 1);
	w.view.q = true;
	w.view.quiet = quiet;
	w.view.nr_quiet = 4;
	w.ags[0].epoch = 9;
	add_host(&w, 0);
	assert_false(step(&w));
	assert_int_equal(w.step.waiting, 1);
	assert_int_equal(w.ags[0].slot, PLAN_NOBODY);
	w.view.quiet++;
	w.view.nr_quiet--;
	assert_true(step(&w));
	assert_int_equal(w.ags[0].epoch, 10);
}

void test_plan_without_q_no_area_is_quiet(void **state)
{
	struct world w;

	(void)state;
	world(&w, 1);
	add_host(&w, 0);
	settle(&w);
	w.floors[0] = 5;
	w.hosts[0].incarnation++;
	assert_true(step(&w));
	assert_int_equal(w.ags[0].epoch, 5);
}

/* Each host shall have journals on as many members as can be. */
void test_plan_spreads_homes(void **state)
{
	static const uint32_t homes[] = { 0, 0, 0, 0, 1, 1, 1, 1,
					  2, 2, 2, 2, 3, 3, 3, 3 };
	struct world w;
	uint32_t slot, home, count, i;

	(void)state;
	world(&w, 16);
	w.view.homes = homes;
	for (slot = 0; slot < 4; slot++) {
		add_host(&w, slot);
		settle(&w);
	}
	for (slot = 0; slot < 4; slot++)
		for (home = 0; home < 4; home++) {
			count = 0;
			for (i = 0; i < 16; i++)
				count += w.ags[i].slot == slot && homes[i] == home;
			assert_in_range(count, 0, 2);
		}
}

void test_plan_large_steps_are_cut(void **state)
{
	struct world w;

	(void)state;
	world(&w, AGS_MAX);
	w.view.q = true;
	add_host(&w, 0);
	add_host(&w, 1);
	settle(&w);
	w.hosts[0].incarnation++;
	w.hosts[1].incarnation++;
	assert_true(step(&w));
	assert_int_equal(w.step.nr_ended, PLAN_ENDS_MAX);
	obey(&w);
	settle(&w);
	assert_int_equal(owned(&w, 0), AGS_MAX / 2);
	assert_int_equal(owned(&w, 1), AGS_MAX / 2);
}

/* What must hold from one version of the map to the next. */
static void check_step(const struct world *w, const struct plan_ag *before)
{
	uint32_t i, j;

	for (i = 0; i < w->nr_ags; i++) {
		const struct plan_ag *a = &before[i], *b = &w->ags[i];
		bool alive = false, holds = true, moved;

		assert_true(b->epoch >= a->epoch);
		moved = a->slot != b->slot || a->incarnation != b->incarnation;
		if (b->slot != PLAN_NOBODY && moved)
			assert_true(b->epoch > a->epoch);
		if (!moved || a->slot == PLAN_NOBODY)
			continue;
		/* Nobody loses an AG while it lives and may write to it. */
		for (j = 0; j < w->view.nr_hosts; j++) {
			const struct plan_host *h = &w->hosts[j];
			uint32_t k;

			if (h->slot != a->slot || h->incarnation != a->incarnation)
				continue;
			alive = true;
			holds = h->seen < a->since;
			for (k = 0; k < h->nr_held; k++)
				holds |= h->held[k].ag == i;
		}
		assert_true(!alive || (a->release && !holds));
	}
}

/* Hosts come, go, die and are slow, at random. */
void test_plan_random_clusters(void **state)
{
	struct plan_ag before[AGS_MAX];
	uint32_t slot = 0;
	struct world w;
	int round, i;

	(void)state;
	srandom(7);
	for (round = 0; round < 50; round++) {
		world(&w, 1 + (uint32_t)random() % 40);
		for (i = 0; i < 200; i++) {
			switch (random() % 8) {
			case 0:
				if (w.view.nr_hosts < HOSTS)
					add_host(&w, slot++ % 256);
				break;
			case 1:
				if (w.view.nr_hosts)
					remove_host(&w, (uint32_t)random() %
							w.view.nr_hosts);
				break;
			case 2:
				if (w.view.nr_hosts)
					w.hosts[random() % w.view.nr_hosts].leaving =
						random() % 2;
				break;
			case 3:
			case 4:
				obey(&w);
				break;
			}
			memcpy(before, w.ags, sizeof(before));
			step(&w);
			check_step(&w, before);
		}
		/* When things calm down, all is shared equally. */
		for (i = 0; i < (int)w.view.nr_hosts; i++)
			w.hosts[i].leaving = false;
		obey(&w);
		settle(&w);
		for (i = 0; i < (int)w.view.nr_hosts; i++)
			assert_in_range(owned(&w, w.hosts[i].slot),
					w.nr_ags / w.view.nr_hosts,
					(w.nr_ags + w.view.nr_hosts - 1) /
						w.view.nr_hosts);
	}
}

/* --- slots, incarnations, deadlines --- */

void test_slot_prefers_unused_ones(void **state)
{
	struct plan_slot slots[] = {
		{ .taken = true },
		{ .state = KVCACHE_SLOT_DOWN, .incarnation = 5 },
		{ .state = KVCACHE_SLOT_ACTIVE, .incarnation = 6, .still_ms = 99 },
		{ .state = KVCACHE_SLOT_UNKNOWN, .still_ms = 99 },
		{ .state = KVCACHE_SLOT_FREE },
		{ .state = KVCACHE_SLOT_FREE },
	};

	(void)state;
	assert_int_equal(plan_slot(slots, 6, 50), 4);
	assert_int_equal(plan_slot(slots, 4, 50), 1);
	slots[1].taken = true;
	assert_int_equal(plan_slot(slots, 4, 50), 2);
	slots[2].taken = true;
	assert_int_equal(plan_slot(slots, 4, 50), -1);
	assert_int_equal(plan_slot(slots, 0, 0), -1);
}

void test_slot_waits_for_strangers_to_stand_still(void **state)
{
	struct plan_slot slot = {
		.state = KVCACHE_SLOT_ACTIVE,
		.still_ms = 99,
	};

	(void)state;
	assert_int_equal(plan_slot(&slot, 1, 100), -1);
	slot.state = KVCACHE_SLOT_JOINING;
	assert_int_equal(plan_slot(&slot, 1, 100), -1);
	slot.still_ms = 100;
	assert_int_equal(plan_slot(&slot, 1, 100), 0);
	/* No higher incarnation is left for this one. */
	slot.incarnation = UINT64_MAX;
	assert_int_equal(plan_slot(&slot, 1, 100), -1);
}

void test_incarnations_only_increase(void **state)
{
	(void)state;
	assert_true(plan_incarnation(0, 0) == 1);
	assert_true(plan_incarnation(7, 3) == 8);
	assert_true(plan_incarnation(3, 1ULL << 60) == (1ULL << 60) + 1);
}

void test_deadline_is_before_the_leases_end(void **state)
{
	(void)state;
	assert_true(plan_deadline(1000, 10000, 100000, 60000) ==
		    1000 + 9000000000ULL);
	assert_true(plan_deadline(1000, 0, 100000, 60000) == 1000);
}

/* A slot must stay reserved until Q after the grant's end. */
void test_deadline_leaves_q_to_the_slot(void **state)
{
	(void)state;
	assert_true(plan_deadline(0, 10000, 65000, 60000) == 4500000000ULL);
	assert_true(plan_deadline(0, 10000, 60000, 60000) == 0);
	assert_true(plan_deadline(0, 10000, 1000, 60000) == 0);
}

void test_ttl_covers_lease_and_q(void **state)
{
	(void)state;
	assert_int_equal(plan_ttl(1000), 5);
	assert_int_equal(plan_ttl(9001), 10);
	assert_int_equal(plan_reserved_ttl(10, 60000), 71);
	assert_int_equal(plan_reserved_ttl(10, 1), 12);
}
