// SPDX-License-Identifier: MIT
/* Who owns which allocation group next. */
#include <stdlib.h>
#include <string.h>
#include <linux/kvcache.h>

#include "plan.h"

#define HOSTS_MAX	KVCACHE_HOSTS_MAX
#define HOMES_MAX	KVCACHE_MEMBERS_MAX

/**
 * struct share - a host that takes part
 * @host: which
 * @keep: AGs that it owns and shall go on to own
 * @quota: AGs that it should own
 * @of_home: of @keep, those whose journals are on each member
 */
struct share {
	const struct plan_host *host;
	uint32_t keep;
	uint32_t quota;
	uint32_t of_home[HOMES_MAX];
};

/**
 * struct planning - a step in the making
 * @ags: the map
 * @nr_ags: its length
 * @version: of the map that it becomes
 * @view: what is known
 * @step: what it does
 * @shares: hosts that take part
 * @nr_shares: how many
 */
struct planning {
	struct plan_ag *ags;
	uint32_t nr_ags;
	uint64_t version;
	const struct plan_view *view;
	struct plan_step *step;
	struct share shares[HOSTS_MAX];
	uint32_t nr_shares;
};

static const struct plan_host *owner_of(const struct planning *p,
					const struct plan_ag *ag)
{
	uint32_t i;

	if (ag->slot == PLAN_NOBODY)
		return NULL;
	for (i = 0; i < p->view->nr_hosts; i++)
		if (p->view->hosts[i].slot == ag->slot &&
		    p->view->hosts[i].incarnation == ag->incarnation)
			return &p->view->hosts[i];
	return NULL;
}

static const struct plan_epoch *find(const struct plan_epoch *list, uint32_t nr,
				     uint32_t ag)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (list[i].ag == ag)
			return &list[i];
	return NULL;
}

static void touch(struct planning *p, struct plan_ag *ag)
{
	ag->since = p->version;
	p->step->changed = true;
}

/* The lease of its epoch is over, or its owner gave it up. */
static bool end_epoch(struct planning *p, uint32_t number)
{
	struct plan_step *step = p->step;

	if (step->nr_ended == PLAN_ENDS_MAX)
		return false;	/* the next step's */
	step->ended[step->nr_ended++] = (struct plan_epoch) {
		.ag = number,
		.epoch = p->ags[number].epoch,
	};
	touch(p, &p->ags[number]);
	return true;
}

static bool area_is_quiet(const struct planning *p, uint32_t ag, uint64_t epoch)
{
	const struct plan_epoch *lists[2] = { p->view->quiet, p->step->ended };
	uint32_t counts[2] = { p->view->nr_quiet, p->step->nr_ended };
	uint32_t i, j;

	if (!p->view->q)
		return false;
	for (i = 0; i < 2; i++)
		for (j = 0; j < counts[i]; j++)
			if (lists[i][j].ag == ag &&
			    lists[i][j].epoch % PLAN_AREAS == epoch % PLAN_AREAS)
				return true;
	return false;
}

/* An epoch to grant the AG with; 0: none until Q has passed (protocol rule 4). */
static uint64_t next_epoch(const struct planning *p, uint32_t number,
			   uint64_t least)
{
	uint64_t epoch = p->ags[number].epoch + 1;
	int i;

	if (epoch < least)
		epoch = least;
	if (epoch < p->view->floors[number])
		epoch = p->view->floors[number];
	for (i = 0; i < PLAN_AREAS && epoch <= PLAN_EPOCH_MAX; i++, epoch++)
		if (!area_is_quiet(p, number, epoch))
			return epoch;
	return 0;
}

/*
 * AGs whose owner is no more, or has given them up; and epochs that the owner's
 * kernel can't take, which are replaced by higher ones.
 */
static void end_what_is_over(struct planning *p)
{
	uint32_t i;

	for (i = 0; i < p->nr_ags; i++) {
		struct plan_ag *ag = &p->ags[i];
		const struct plan_host *host = owner_of(p, ag);
		const struct plan_epoch *refused;
		uint64_t epoch;

		if (ag->slot == PLAN_NOBODY)
			continue;
		if (!host || (ag->release && host->seen >= ag->since &&
			      !find(host->held, host->nr_held, i))) {
			if (!end_epoch(p, i))
				return;
			ag->slot = PLAN_NOBODY;
			ag->incarnation = 0;
			ag->release = false;
			continue;
		}
		refused = find(host->refused, host->nr_refused, i);
		if (ag->release || !refused || refused->epoch != ag->epoch ||
		    refused->next <= ag->epoch)
			continue;
		/* It stays where it is: that host has nothing of it to give up. */
		epoch = next_epoch(p, i, refused->next);
		if (!epoch)
			p->step->waiting++;
		else if (end_epoch(p, i))
			ag->epoch = epoch;
	}
}

static void order_release(struct planning *p, uint32_t number)
{
	p->ags[number].release = true;
	p->step->released++;
	touch(p, &p->ags[number]);
}

static int by_keep(const void *a, const void *b)
{
	const struct share *one = a, *other = b;

	if (one->keep != other->keep)
		return one->keep < other->keep ? 1 : -1;
	return (one->host->slot > other->host->slot) -
	       (one->host->slot < other->host->slot);
}

static uint32_t home_of(const struct planning *p, uint32_t number)
{
	return p->view->homes ? p->view->homes[number] % HOMES_MAX : 0;
}

/* Can nobody own it now? */
static bool is_lost(const struct planning *p, uint32_t number)
{
	return p->view->lost && p->view->lost[number];
}

/* Does this host own the AG, and go on to own it? */
static bool keeps(const struct planning *p, const struct share *share,
		  uint32_t number)
{
	const struct plan_ag *ag = &p->ags[number];

	return ag->slot == share->host->slot && !ag->release &&
	       ag->incarnation == share->host->incarnation &&
	       !is_lost(p, number);
}

/*
 * Equal shares. Where they can't be equal, who has more now keeps one more: so
 * the fewest AGs move.
 */
static void make_shares(struct planning *p)
{
	uint32_t i, j, nr_ags = 0;

	for (i = 0; i < p->nr_ags; i++)
		nr_ags += !is_lost(p, i);
	for (i = 0; i < p->view->nr_hosts && p->nr_shares < HOSTS_MAX; i++) {
		const struct plan_host *host = &p->view->hosts[i];
		struct share *share = &p->shares[p->nr_shares];

		if (!host->joined || host->leaving)
			continue;
		*share = (struct share) { .host = host };
		for (j = 0; j < p->nr_ags; j++) {
			if (!keeps(p, share, j))
				continue;
			share->keep++;
			share->of_home[home_of(p, j)]++;
		}
		p->nr_shares++;
	}
	if (!p->nr_shares)
		return;
	qsort(p->shares, p->nr_shares, sizeof(p->shares[0]), by_keep);
	for (i = 0; i < p->nr_shares; i++)
		p->shares[i].quota = nr_ags / p->nr_shares +
				     (i < nr_ags % p->nr_shares);
}

/* Of a host with too many, those go whose homes it has most of. */
static void shed(struct planning *p, struct share *share)
{
	while (share->keep > share->quota) {
		uint32_t worst = PLAN_NOBODY, most = 0, i;

		for (i = 0; i < p->nr_ags; i++) {
			uint32_t weight = share->of_home[home_of(p, i)];

			if (keeps(p, share, i) && weight >= most) {
				most = weight;
				worst = i;
			}
		}
		if (worst == PLAN_NOBODY)
			return;
		order_release(p, worst);
		share->keep--;
		share->of_home[home_of(p, worst)]--;
	}
}

/* Who is furthest from its share; of several, who has fewest with this home. */
static struct share *neediest(struct planning *p, uint32_t number)
{
	uint32_t home = home_of(p, number);
	struct share *best = NULL;
	uint32_t i;

	for (i = 0; i < p->nr_shares; i++) {
		struct share *share = &p->shares[i];
		uint32_t need = share->quota - share->keep;

		if (share->keep >= share->quota)
			continue;
		if (!best || need > best->quota - best->keep ||
		    (need == best->quota - best->keep &&
		     share->of_home[home] < best->of_home[home]))
			best = share;
	}
	return best;
}

static void hand_out(struct planning *p)
{
	uint32_t i;

	for (i = 0; i < p->nr_ags; i++) {
		struct plan_ag *ag = &p->ags[i];
		struct share *share;
		uint64_t epoch;

		if (ag->slot != PLAN_NOBODY || is_lost(p, i))
			continue;
		share = neediest(p, i);
		if (!share)
			continue;
		epoch = next_epoch(p, i, 1);
		if (!epoch) {
			p->step->waiting++;
			continue;
		}
		ag->slot = share->host->slot;
		ag->incarnation = share->host->incarnation;
		ag->epoch = epoch;
		share->keep++;
		share->of_home[home_of(p, i)]++;
		p->step->taken++;
		touch(p, ag);
	}
}

void plan_next(struct plan_ag *ags, uint32_t nr_ags, uint64_t version,
	       const struct plan_view *view, struct plan_step *step)
{
	struct planning p = {
		.ags = ags,
		.nr_ags = nr_ags,
		.version = version,
		.view = view,
		.step = step,
	};
	uint32_t i;

	memset(step, 0, sizeof(*step));
	end_what_is_over(&p);
	for (i = 0; i < nr_ags; i++) {
		const struct plan_host *host = owner_of(&p, &ags[i]);

		if (host && host->leaving && !ags[i].release)
			order_release(&p, i);
	}
	make_shares(&p);
	for (i = 0; i < p.nr_shares; i++)
		shed(&p, &p.shares[i]);
	hand_out(&p);
}

int plan_slot(const struct plan_slot *slots, uint32_t nr_slots,
	      uint64_t still_ms)
{
	int best = -1, best_rank = 0;
	uint32_t i;

	for (i = 0; i < nr_slots; i++) {
		int rank = 0;

		if (slots[i].taken || slots[i].incarnation == UINT64_MAX)
			continue;
		switch (slots[i].state) {
		case KVCACHE_SLOT_FREE:
			rank = 3;
			break;
		case KVCACHE_SLOT_DOWN:
			rank = 2;
			break;
		case KVCACHE_SLOT_JOINING:
		case KVCACHE_SLOT_ACTIVE:
			if (slots[i].still_ms >= still_ms)
				rank = 1;
			break;
		}
		if (rank > best_rank) {
			best = (int)i;
			best_rank = rank;
		}
	}
	return best;
}

uint64_t plan_incarnation(uint64_t counter, uint64_t shown)
{
	return (counter > shown ? counter : shown) + 1;
}

uint64_t plan_deadline(uint64_t asked_ns, uint64_t ttl_ms,
		       uint64_t reserved_ttl_ms, uint64_t q_ms)
{
	uint64_t ms = ttl_ms, outlast;

	outlast = reserved_ttl_ms > q_ms ? reserved_ttl_ms - q_ms : 0;
	if (ms > outlast)
		ms = outlast;
	/* For clocks that don't run alike, and for what is not thought of. */
	ms -= ms / 10;
	return asked_ns + ms * 1000000;
}

uint32_t plan_ttl(uint32_t lease_ms)
{
	uint32_t seconds = (lease_ms + 999) / 1000;

	/* What etcd may be away for, or choose another leader in. */
	return seconds < 5 ? 5 : seconds;
}

uint32_t plan_reserved_ttl(uint32_t ttl_s, uint32_t q_ms)
{
	/* One more, so that the host's own lease is what bounds the grant. */
	return ttl_s + (q_ms + 999) / 1000 + 1;
}
