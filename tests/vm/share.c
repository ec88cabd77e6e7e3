// SPDX-License-Identifier: GPL-2.0
/*
 * A pool that several hosts share, as several attachments in one kernel: what one
 * puts any other gets, deletes go to the owner, space is used again only when
 * nobody reads it, hosts come, go and crash.
 *
 * usage: share [TEST...]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "again.h"
#include "members.h"
#include "objects.h"

#define MEMBERS		4
#define HOSTS_MAX	4
#define DEADLINE_MS	60000

static struct vt_members pool;
static int device;
static char reason[1024];
static const struct kvc_call call = { .deadline_ms = DEADLINE_MS };

/**
 * struct host - an attachment
 * @number: of the pool as it has it; 0: detached
 * @kvc: handle
 */
struct host {
	unsigned int number;
	struct kvc *kvc;
};

static struct host hosts[HOSTS_MAX];

/* --- attachments --- */

static int attach_as(unsigned int mode, unsigned int host, unsigned int nr)
{
	struct kvcache_attach_member m[MEMBERS] = {};
	struct kvcache_attach a = {
		.size = sizeof(a),
		.members = (uintptr_t)m,
		.nr_members = pool.nr,
		.reason = (uintptr_t)reason,
		.reason_len = sizeof(reason),
		.mode = mode,
		.host = host,
		.hosts = nr,
	};
	unsigned int i;

	for (i = 0; i < pool.nr; i++)
		m[i].path = (uintptr_t)pool.path[i];
	snprintf((char *)a.node, sizeof(a.node), "host-%u", host);
	snprintf((char *)a.nqn, sizeof(a.nqn), "nqn.2014-08.test:host-%u", host);
	/* Too slow for its own lease: a machine that gets no CPU. */
	for (i = 0; i < 5; i++) {
		reason[0] = '\0';
		if (!ioctl(device, KVCACHE_IOC_ATTACH, &a))
			return (int)a.pool;
		if (errno != ESTALE && errno != ETIMEDOUT)
			break;
		vt_note("attach of host %u: %d: %s", host, -errno, reason);
	}
	return -errno;
}

static void join(unsigned int host, unsigned int nr)
{
	int number = attach_as(KVCACHE_MODE_STATIC, host, nr);

	vt_need(number > 0, "attach host %u of %u: %d: %s", host, nr, number,
		reason);
	hosts[host].number = (unsigned int)number;
	hosts[host].kvc = kvc_open(NULL, (unsigned int)number);
	vt_need(hosts[host].kvc, "open pool %d", number);
}

static void forget(unsigned int host)
{
	kvc_close(hosts[host].kvc);
	hosts[host].kvc = NULL;
	hosts[host].number = 0;
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

static void format(const char *more)
{
	char options[256];

	snprintf(options, sizeof(options),
		 "--name shared --lease 8s --q 500ms --segment-size 1M --ags 4 --slots 6 --ring 256K %s",
		 more);
	vt_format(&pool, options);
}

static struct kvcache_info info(unsigned int host)
{
	struct kvcache_info i = {};

	vt_expect(!kvc_info(hosts[host].kvc, &i, NULL, 0), "info of host %u",
		  host);
	return i;
}

static void expect_hits(unsigned int host, struct vt_object *o, unsigned int n)
{
	struct vt_tally tally;

	vt_objects_get(hosts[host].kvc, o, n, DEADLINE_MS, &tally);
	vt_expect(tally.n[VT_HIT] == n, "host %u: %u objects: %s", host, n,
		  vt_tally_text(&tally));
}

static const struct kvc_call brief = { .deadline_ms = 10000 };

/* What an exists of nothing says: it rests on the ends of all journals. */
static int miss(unsigned int host)
{
	return kvc_exists(hosts[host].kvc, &brief, "nothing", 7, NULL);
}

/* --- tests --- */

static void test_visible(void)
{
	static struct vt_object o[2][100], late[2][40];
	struct kvcache_info i;
	unsigned int h, k;

	format("");
	join(0, 2);
	join(1, 2);
	vt_begin("what either host puts the other gets");
	for (h = 0; h < 2; h++) {
		vt_objects_make(o[h], 100, h ? "b" : "a", 7 + h, 1, 30000);
		vt_expect(vt_objects_put(hosts[h].kvc, o[h], 100) == 100,
			  "puts of host %u", h);
	}
	for (h = 0; h < 2; h++) {
		expect_hits(h, o[0], 100);
		expect_hits(h, o[1], 100);
	}
	vt_end();

	vt_begin("at once, one by one");
	for (h = 0; h < 2; h++)
		vt_objects_make(late[h], 40, h ? "lb" : "la", 70 + h, 1, 9000);
	for (k = 0; k < 40; k++) {
		for (h = 0; h < 2; h++) {
			vt_expect(vt_objects_put(hosts[h].kvc, &late[h][k], 1) == 1,
				  "put %u of host %u", k, h);
			expect_hits(!h, &late[h][k], 1);
		}
	}
	vt_end();

	vt_begin("a put of what another host has is EEXIST, a miss is a miss on both");
	for (h = 0; h < 2; h++) {
		expect_hits(h, late[!h], 40);
		vt_expect(kvc_put(hosts[h].kvc, &call, o[!h][0].key,
				  strlen(o[!h][0].key), "x", 1) == -EEXIST,
			  "put");
		vt_expect(kvc_exists(hosts[h].kvc, &call, "nothing", 7, NULL) ==
				  -ENOENT, "exists of nothing");
	}
	i = info(0);
	vt_expect(i.mode == KVCACHE_MODE_STATIC && i.owned_ags == 2 &&
		  i.refreshes && i.followed_blocks, "info: mode %u, %u AGs, %llu passes",
		  i.mode, i.owned_ags, (unsigned long long)i.refreshes);
	vt_end();

	vt_begin("a delete of another host's objects");
	for (k = 0; k < 20; k++) {
		int err = kvc_delete(hosts[1].kvc, &call, o[0][k].key,
				     strlen(o[0][k].key));

		vt_expect(!err, "delete %u: %d", k, err);
		o[0][k].gone = true;
		for (h = 0; h < 2; h++) {
			err = kvc_exists(hosts[h].kvc, &call, o[0][k].key,
					 strlen(o[0][k].key), NULL);
			vt_expect(err == -ENOENT, "exists on host %u: %d", h, err);
		}
	}
	vt_expect(kvc_delete(hosts[1].kvc, &call, o[0][0].key,
			     strlen(o[0][0].key)) == -ENOENT, "again");
	vt_end();

	leave(1);
	vt_begin("when a host has left, the other has its objects");
	expect_hits(0, o[1], 100);
	expect_hits(0, late[1], 40);
	vt_end();
	join(1, 2);
	vt_begin("a host that comes back finds all");
	expect_hits(1, o[0] + 20, 80);
	expect_hits(1, o[1], 100);
	expect_hits(1, late[0], 40);
	vt_end();
	leave(0);
	leave(1);
}

static void test_refused(void)
{
	int err;

	format("");
	join(0, 2);
	vt_begin("a slot that a host has is given to no other");
	err = attach_as(KVCACHE_MODE_STATIC, 0, 2);
	vt_expect(err == -EBUSY && strstr(reason, "host-0"), "%d: %s", err, reason);
	vt_end();
	vt_begin("a pool that is shared is not attached for one host alone");
	err = attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0);
	vt_expect(err == -EBUSY && strstr(reason, "host-0"), "%d: %s", err, reason);
	vt_end();
	vt_begin("who says that there are other hosts than there are is refused their AGs");
	err = attach_as(KVCACHE_MODE_STATIC, 2, 3);
	vt_expect(err == -EBUSY && strstr(reason, "host-0"), "%d: %s", err, reason);
	vt_end();
	leave(0);
	err = attach_as(KVCACHE_MODE_EXCLUSIVE, 0, 0);
	vt_begin("a pool that one host has alone is not shared");
	vt_expect(err > 0, "attach: %d: %s", err, reason);
	if (err > 0) {
		unsigned int number = (unsigned int)err;

		err = attach_as(KVCACHE_MODE_STATIC, 1, 2);
		vt_expect(err == -EBUSY && strstr(reason, "host-0"), "%d: %s",
			  err, reason);
		vt_expect(!vt_detach(number), "detach");
	}
	vt_end();
}

/* --- eviction --- */

struct reader {
	unsigned int host;
	struct vt_object *o;
	unsigned int n;
	bool stop;
	unsigned long long hits, misses;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	struct vt_rng rng = { .s = 99 };

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		struct vt_object o = r->o[vt_below(&rng, r->n)];

		switch (vt_object_get(hosts[r->host].kvc, &o, DEADLINE_MS)) {
		case VT_HIT:
			r->hits++;
			break;
		case VT_MISS:
		case VT_BUSY:
			r->misses++;
			break;
		default:
			vt_expect(false, "get %s: %s (%d)", o.key,
				  vt_answer_name[o.answer], o.status);
		}
	}
	return NULL;
}

static void test_evict(void)
{
	static struct vt_object o[2600];
	struct reader r = { .host = 1, .o = o, .n = 2600 };
	struct kvcache_info i;
	unsigned int k, put = 0;
	pthread_t thread;

	format("");
	join(0, 2);
	join(1, 2);
	vt_objects_make(o, 2600, "e", 5, 40000, 80000);
	vt_begin("one host evicts while the other reads, and every byte is right");
	pthread_create(&thread, NULL, read_all, &r);
	for (k = 0; k < 2600; k += 20)
		put += vt_objects_put(hosts[0].kvc, o + k, 20);
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	i = info(0);
	vt_expect(put == 2600, "%u puts", put);
	vt_expect(i.evicted_objects > 100 && r.hits > 10,
		  "%llu evicted, %llu hits, %llu misses",
		  (unsigned long long)i.evicted_objects, r.hits, r.misses);
	vt_end();
	vt_note("%llu evicted, %llu hits, %llu misses, %llu touches",
		(unsigned long long)i.evicted_objects, r.hits, r.misses,
		(unsigned long long)info(1).touches);
	leave(1);
	leave(0);
}

static void test_crash(void)
{
	static struct vt_object o[2][100], more[100];
	unsigned int h;

	format("");
	join(0, 2);
	join(1, 2);
	for (h = 0; h < 2; h++) {
		vt_objects_make(o[h], 100, h ? "cb" : "ca", 17 + h, 1, 30000);
		vt_expect(vt_objects_put(hosts[h].kvc, o[h], 100) == 100,
			  "puts of host %u", h);
	}
	vt_begin("a host crashes: its objects are hits on the other, which goes on");
	crash(0);
	expect_hits(1, o[0], 100);
	vt_objects_make(more, 100, "m", 23, 1, 30000);
	vt_expect(vt_objects_put(hosts[1].kvc, more, 100) == 100, "puts");
	vt_end();
	join(0, 2);
	vt_begin("it comes back and finds all that was put");
	expect_hits(0, o[0], 100);
	expect_hits(0, o[1], 100);
	expect_hits(0, more, 100);
	vt_end();
	leave(0);
	leave(1);
}

/* --- grants --- */

/**
 * struct grantee - what the lock service of these tests has granted to a host
 * @slot: slot
 * @incarnation: of it
 * @epochs: by AG; 0: not its own
 */
struct grantee {
	unsigned int slot;
	unsigned long long incarnation;
	unsigned long long epochs[16];
};

static unsigned long long boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (unsigned long long)t.tv_sec * 1000000000ULL + (unsigned long long)t.tv_nsec;
}

static int grant_until(unsigned int host, const struct grantee *g,
		       unsigned long long until)
{
	struct kvcache_grant_ag ags[16] = {};
	struct kvcache_grant u = {
		.size = sizeof(u),
		.pool = hosts[host].number,
		.slot = g->slot,
		.incarnation = g->incarnation,
		.deadline_ns = until,
		.ags = (uintptr_t)ags,
	};
	unsigned int i;

	for (i = 0; i < 16; i++) {
		if (!g->epochs[i])
			continue;
		ags[u.nr_ags].ag = i;
		ags[u.nr_ags++].epoch = g->epochs[i];
	}
	return ioctl(device, KVCACHE_IOC_GRANT, &u) ? -errno : 0;
}

static int grant(unsigned int host, const struct grantee *g)
{
	return grant_until(host, g, boot_ns() + 600000000000ULL);
}

static struct kvcache_ag_info ag_info(unsigned int host, unsigned int ag)
{
	struct kvcache_ag_info info = {};
	struct kvcache_ags u = {
		.size = sizeof(u),
		.pool = hosts[host].number,
		.first = ag,
		.ags = (uintptr_t)&info,
		.count = 1,
	};
	int err = ioctl(device, KVCACHE_IOC_AGS, &u) ? -errno : 0;

	vt_expect(!err && u.count == 1 && info.ag == ag, "ag %u of host %u: %d",
		  ag, host, err);
	return info;
}

/* Grant, and wait until the host owns what it was granted. */
static void granted(unsigned int host, struct grantee *g)
{
	uint64_t until = vt_ms() + 120000;
	struct kvcache_ag_info info;
	unsigned int i;
	int err;

	err = grant(host, g);
	if (!vt_expect(!err, "grant to host %u: %d", host, err))
		return;
	for (i = 0; i < 4; i++) {
		for (;;) {
			info = ag_info(host, i);
			if (g->epochs[i] ? info.state == KVCACHE_AG_OWNED &&
						   info.epoch == g->epochs[i] :
					   info.state == KVCACHE_AG_FOLLOWED)
				break;
			/* An epoch that can't be had is given back. */
			if (g->epochs[i] && info.error == EAGAIN &&
			    info.next_epoch > g->epochs[i]) {
				g->epochs[i] = info.next_epoch;
				err = grant(host, g);
				vt_expect(!err, "grant to host %u: %d", host, err);
			}
			if (!vt_expect(vt_ms() < until,
				       "ag %u of host %u: state %u, epoch %llu, error %d",
				       i, host, info.state,
				       (unsigned long long)info.epoch, info.error))
				return;
			vt_sleep_ms(20);
		}
	}
}

static void join_granted(unsigned int host, struct grantee *g)
{
	int number = attach_as(KVCACHE_MODE_GRANTED, 0, 0);

	vt_need(number > 0, "attach, to be granted: %d: %s", number, reason);
	hosts[host].number = (unsigned int)number;
	hosts[host].kvc = kvc_open(NULL, (unsigned int)number);
	vt_need(hosts[host].kvc, "open pool %d", number);
	if (g)
		granted(host, g);
}

static unsigned int live_slots(unsigned int host, struct kvcache_slot_info *slots)
{
	struct kvcache_slots u = {
		.size = sizeof(u),
		.pool = hosts[host].number,
		.slots = (uintptr_t)slots,
		.count = 6,
	};
	unsigned int i, n = 0;
	int err = ioctl(device, KVCACHE_IOC_SLOTS, &u) ? -errno : 0;

	vt_expect(!err && u.count == 6 && u.total == 6, "slots: %d", err);
	for (i = 0; i < 6; i++)
		n += slots[i].state == KVCACHE_SLOT_ACTIVE;
	return n;
}

static void test_grants(void)
{
	static struct vt_object o[2][100], more[200];
	struct grantee g[2] = {
		{ .slot = 2, .incarnation = 10, .epochs = { 1, 1, 0, 0 } },
		{ .slot = 4, .incarnation = 11, .epochs = { 0, 0, 1, 1 } },
	};
	struct kvcache_slot_info slots[6];
	struct kvcache_info i;
	struct vt_tally tally;
	unsigned int h;
	int err;

	format("");
	vt_begin("without a grant there is no lease, and nothing but ESTALE and misses");
	join_granted(0, NULL);
	vt_objects_make(o[0], 100, "ga", 31, 1, 30000);
	err = kvc_put(hosts[0].kvc, &call, "x", 1, "x", 1);
	vt_expect(err == -ESTALE, "put: %d", err);
	vt_objects_get(hosts[0].kvc, o[0], 100, 1000, &tally);
	vt_expect(tally.n[VT_MISS] == 100, "gets: %s", vt_tally_text(&tally));
	i = info(0);
	vt_expect(i.mode == KVCACHE_MODE_GRANTED && i.state == KVCACHE_POOL_LAPSED,
		  "info: mode %u, state %u", i.mode, i.state);
	vt_expect(live_slots(0, slots) == 0, "slots");
	vt_end();

	vt_begin("with one the host has what it was granted, and no more");
	granted(0, &g[0]);
	i = info(0);
	vt_expect(i.slot == 2 && i.incarnation == 10 && i.owned_ags == 2 &&
		  i.state == KVCACHE_POOL_UP, "slot %u, incarnation %llu, %u AGs",
		  i.slot, (unsigned long long)i.incarnation, i.owned_ags);
	join_granted(1, &g[1]);
	for (h = 0; h < 2; h++) {
		vt_objects_make(o[h], 100, h ? "gb" : "ga", 31 + h, 1, 30000);
		vt_expect(vt_objects_put(hosts[h].kvc, o[h], 100) == 100, "puts");
	}
	for (h = 0; h < 2; h++) {
		expect_hits(h, o[0], 100);
		expect_hits(h, o[1], 100);
	}
	vt_expect(live_slots(1, slots) == 2 && slots[2].incarnation == 10 &&
		  slots[4].incarnation == 11, "slots");
	vt_end();

	vt_begin("grants that can't be are refused");
	vt_expect(grant_until(0, &g[0], boot_ns()) == -ETIMEDOUT, "that are over");
	g[0].slot = 3;
	vt_expect(grant(0, &g[0]) == -ESTALE, "of another slot");
	g[0].slot = 6;
	vt_expect(grant(0, &g[0]) == -EINVAL, "of no slot");
	g[0].slot = 2;
	g[0].incarnation = 9;
	vt_expect(grant(0, &g[0]) == -ESTALE, "of an older incarnation");
	g[0].incarnation = 10;
	g[0].epochs[5] = 1;
	vt_expect(grant(0, &g[0]) == -EINVAL, "of no AG");
	g[0].epochs[5] = 0;
	vt_end();

	vt_begin("an AG changes hands, and everything stays a hit");
	g[0].epochs[1] = 0;
	granted(0, &g[0]);
	g[1].epochs[1] = 1;	/* can't be had: it was granted before */
	granted(1, &g[1]);
	vt_expect(g[1].epochs[1] > 1, "epoch 1 was had twice");
	for (h = 0; h < 2; h++) {
		expect_hits(h, o[0], 100);
		expect_hits(h, o[1], 100);
	}
	vt_objects_make(more, 200, "gm", 77, 1, 30000);
	vt_expect(vt_objects_put(hosts[0].kvc, more, 100) == 100 &&
		  vt_objects_put(hosts[1].kvc, more + 100, 100) == 100, "puts");
	for (h = 0; h < 2; h++)
		expect_hits(h, more, 200);
	vt_expect(info(0).owned_ags == 1 && info(1).owned_ags == 3, "AGs owned");
	vt_end();

	vt_begin("a host crashes, and another takes its AGs over");
	crash(0);
	g[1].epochs[0] = 1;
	granted(1, &g[1]);
	expect_hits(1, o[0], 100);
	expect_hits(1, o[1], 100);
	expect_hits(1, more, 200);
	vt_expect(info(1).owned_ags == 4, "AGs owned");
	vt_end();

	vt_begin("a grant that ends ends the lease: misses, ESTALE, and a new incarnation joins");
	g[0] = (struct grantee){ .slot = 2, .incarnation = 20 };
	join_granted(0, NULL);
	err = grant_until(0, &g[0], boot_ns() + 20000000000ULL);
	vt_expect(!err, "grant: %d", err);
	expect_hits(0, more, 200);
	while (info(0).state == KVCACHE_POOL_UP)
		vt_sleep_ms(100);
	err = kvc_put(hosts[0].kvc, &call, "x", 1, "x", 1);
	vt_expect(err == -ESTALE, "put: %d", err);
	vt_objects_get(hosts[0].kvc, more, 200, 1000, &tally);
	vt_expect(tally.n[VT_MISS] == 200, "gets: %s", vt_tally_text(&tally));
	vt_expect(grant(0, &g[0]) == -ESTALE, "the same incarnation again");
	g[0].incarnation = 21;
	granted(0, &g[0]);
	expect_hits(0, more, 200);
	vt_end();
	leave(0);
	leave(1);
}

/* --- a join that takes longer than its grant --- */

#define BRIEF_NS	8000000000ULL	/* less than the join takes */

/**
 * struct prolonger - a thread that does what an agent does during a join
 * @g: the grant
 * @stop: it has joined
 * @times: how often it was prolonged
 * @error: first that was neither that nor EAGAIN
 */
struct prolonger {
	struct grantee g;
	bool stop;
	unsigned int times;
	int error;
};

static void *prolong_it(void *argument)
{
	struct prolonger *p = argument;

	while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
		int err = kvc_prolong(hosts[0].kvc, p->g.slot, p->g.incarnation,
				      boot_ns() + BRIEF_NS);

		p->times += !err;
		if (err && err != -EAGAIN && !p->error)
			p->error = err;
		vt_sleep_ms(100);
	}
	return NULL;
}

static void test_prolong(void)
{
	struct prolonger p = { .g = { .slot = 2, .incarnation = 1 } };
	pthread_t thread;
	int err;

	format("");
	join_granted(0, &p.g);
	crash(0);
	vt_begin("a join that takes longer than its grant: it is prolonged meanwhile");
	/* The slot of a dead host: it is watched for a lease, and then for Q. */
	p.g.incarnation = 2;
	join_granted(0, NULL);
	err = kvc_prolong(hosts[0].kvc, p.g.slot, p.g.incarnation,
			  boot_ns() + BRIEF_NS);
	vt_expect(err == -EAGAIN, "prolonging what is not granted: %d", err);
	vt_need(!pthread_create(&thread, NULL, prolong_it, &p), "a thread");
	err = grant_until(0, &p.g, boot_ns() + BRIEF_NS);
	__atomic_store_n(&p.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	vt_expect(!err && p.times && !p.error, "grant: %d, prolonged %u times: %d",
		  err, p.times, p.error);
	vt_expect(info(0).incarnation == 2, "incarnation");
	err = kvc_prolong(hosts[0].kvc, p.g.slot, p.g.incarnation,
			  boot_ns() + BRIEF_NS);
	vt_expect(err == -EAGAIN, "prolonging what has joined: %d", err);
	vt_end();
	leave(0);
}

static bool may_write(const struct kvcache_ag_info *info)
{
	return info->state == KVCACHE_AG_TAKING ||
	       info->state == KVCACHE_AG_OWNED ||
	       info->state == KVCACHE_AG_RELEASING;
}

/*
 * Once a host says that it does not have an AG any more the lock service gives it
 * to another: it must not turn out to have been about to own it.
 */
static void test_recall(void)
{
	struct grantee g = { .slot = 0, .incarnation = 10 };
	struct kvcache_ag_info info = { .next_epoch = 1 };
	struct vt_rng rng = { .s = 5 };
	uint64_t until = vt_ms() + 300000;
	unsigned int i, n, taken = 0;
	int err;

	format("");
	join_granted(0, &g);
	vt_begin("an AG that is taken back during its takeover is told as given up when it is");
	for (i = 0; i < 40; i++) {
		g.epochs[0] = ag_info(0, 0).next_epoch;
		err = grant(0, &g);
		vt_expect(!err, "grant: %d", err);
		vt_sleep_ms((unsigned int)vt_below(&rng, 20));
		g.epochs[0] = 0;
		err = grant(0, &g);
		vt_expect(!err, "grant of nothing: %d", err);
		for (;;) {
			info = ag_info(0, 0);
			if (!may_write(&info))
				break;
			taken += info.state == KVCACHE_AG_RELEASING;
			if (!vt_expect(vt_ms() < until, "still state %u", info.state))
				goto out;
			vt_sleep_ms(1);
		}
		for (n = 0; n < 30; n++) {
			vt_sleep_ms(5);
			info = ag_info(0, 0);
			if (!vt_expect(!may_write(&info), "round %u: state %u again",
				       i, info.state))
				goto out;
		}
	}
	vt_expect(taken, "no AG was on its way: this shows nothing");
out:
	vt_end();
	leave(0);
}

/* --- one key, several hosts --- */

struct rival {
	unsigned int host;
	struct vt_object *o;
	unsigned int n, put, there;
};

static void *put_same(void *arg)
{
	struct rival *r = arg;
	static __thread uint8_t data[40000];
	unsigned int i;
	int err;

	for (i = 0; i < r->n; i++) {
		vt_fill(data, r->o[i].seed, 0, r->o[i].len);
		err = again_put(hosts[r->host].kvc, &call, r->o[i].key,
				strlen(r->o[i].key), data, r->o[i].len);
		vt_expect(!err || err == -EEXIST, "put %s on host %u: %d",
			  r->o[i].key, r->host, err);
		r->put += !err;
		r->there += err == -EEXIST;
	}
	return NULL;
}

static void test_same(void)
{
	static struct vt_object o[120];
	struct rival r[3];
	pthread_t threads[3];
	unsigned int h, i, put = 0;
	int err;

	format("");
	for (h = 0; h < 3; h++)
		join(h, 3);
	vt_objects_make(o, 120, "s", 3, 1, 20000);
	vt_begin("three hosts put the same keys at the same time, each gets them all");
	for (h = 0; h < 3; h++) {
		r[h] = (struct rival){ .host = h, .o = o, .n = 120 };
		pthread_create(&threads[h], NULL, put_same, &r[h]);
	}
	for (h = 0; h < 3; h++) {
		pthread_join(threads[h], NULL);
		put += r[h].put;
	}
	vt_expect(put >= 120, "%u puts", put);
	for (h = 0; h < 3; h++)
		expect_hits(h, o, 120);
	vt_end();
	vt_note("120 keys, %u copies", put);
	vt_begin("a delete on one host deletes all copies on all");
	for (i = 0; i < 40; i++) {
		err = again_delete(hosts[i % 3].kvc, &call, o[i].key,
				   strlen(o[i].key));
		vt_expect(!err, "delete %s: %d", o[i].key, err);
		err = again_exists(hosts[i % 3].kvc, &call, o[i].key,
				   strlen(o[i].key), NULL);
		vt_expect(err == -ENOENT, "exists %s where it was deleted: %d",
			  o[i].key, err);
	}
	/* protocol rule 25: another host hits it until it has heard of it */
	for (h = 0; h < 3; h++) {
		vt_expect(miss(h) == -ENOENT, "a look at what others did");
		for (i = 0; i < 40; i++) {
			err = again_exists(hosts[h].kvc, &call, o[i].key,
					   strlen(o[i].key), NULL);
			vt_expect(err == -ENOENT, "exists %s on host %u: %d",
				  o[i].key, h, err);
		}
		expect_hits(h, o + 40, 80);
	}
	vt_end();
	for (h = 0; h < 3; h++)
		leave(h);
}

/* --- deletes of many keys in one call --- */

#define MANY	60

/*
 * Of what the other host has, of what is here, and of what nobody has. Prints what
 * it took: with --icount in virtual time.
 */
static void test_many(void)
{
	static struct vt_object theirs[MANY], ours[MANY], nobodys[MANY];
	struct kvcache_io ios[3 * MANY];
	struct kvcache_info before, after;
	unsigned int h, k, n = 0;
	uint64_t start;
	ssize_t done;

	format("");
	join(0, 2);
	join(1, 2);
	vt_objects_make(theirs, MANY, "theirs", 1, 1, 6000);
	vt_objects_make(ours, MANY, "ours", 2, 1, 6000);
	vt_objects_make(nobodys, MANY, "nobodys", 3, 1, 6000);
	vt_begin("one call deletes many keys of the other host, of this one, and of nobody");
	vt_expect(vt_objects_put(hosts[0].kvc, theirs, MANY) == MANY, "puts there");
	vt_expect(vt_objects_put(hosts[1].kvc, ours, MANY) == MANY, "puts here");
	expect_hits(1, theirs, MANY);
	for (k = 0; k < MANY; k++) {
		kvc_prep(&ios[n++], theirs[k].key, strlen(theirs[k].key));
		kvc_prep(&ios[n++], ours[k].key, strlen(ours[k].key));
		kvc_prep(&ios[n++], nobodys[k].key, strlen(nobodys[k].key));
	}
	before = info(1);
	start = vt_ms();
	done = kvc_batch_delete(hosts[1].kvc, &call, ios, n);
	start = vt_ms() - start;
	after = info(1);
	vt_expect(done == 2 * MANY, "%zd keys deleted", done);
	for (k = 0; k < n; k++)
		vt_expect(ios[k].status == (k % 3 == 2 ? -ENOENT : 0),
			  "delete %u: %d", k, ios[k].status);
	for (h = 0; h < 2; h++)
		vt_expect(miss(h) == -ENOENT, "a look at what others did");
	for (k = 0; k < n; k++)
		for (h = 0; h < 2; h++)
			vt_expect(kvc_exists(hosts[h].kvc, &call,
					     (const void *)(uintptr_t)ios[k].key,
					     ios[k].key_len, NULL) == -ENOENT,
				  "key %u is a hit on host %u", k, h);
	vt_note("%u deletes, %u of them of the other host's objects: %llu ms, %llu passes, %llu requests, %llu journal blocks in %llu writes",
		n, MANY, (unsigned long long)start,
		(unsigned long long)(after.refreshes - before.refreshes),
		(unsigned long long)(after.asks - before.asks),
		(unsigned long long)(after.journal_blocks - before.journal_blocks),
		(unsigned long long)(after.journal_commits - before.journal_commits));
	vt_end();
	leave(1);
	leave(0);
}

/* --- AGs that change hands under load --- */

struct churn {
	unsigned int host;
	struct vt_object *o;
	unsigned int n, put;
	bool stop;
	unsigned long long gets;
};

static void *put_and_get(void *arg)
{
	struct churn *c = arg;
	struct vt_rng rng = { .s = c->host + 7 };
	struct vt_object o;

	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		if (c->put < c->n && !vt_below(&rng, 3)) {
			if (vt_objects_put(hosts[c->host].kvc, &c->o[c->put], 1) != 1) {
				vt_expect(false, "put %u of host %u: %d", c->put,
					  c->host, c->o[c->put].status);
				break;
			}
			__atomic_add_fetch(&c->put, 1, __ATOMIC_RELEASE);
			continue;
		}
		if (!c->put)
			continue;
		/* Its own: the other's put may be in another state. */
		o = c->o[vt_below(&rng, c->put)];
		if (vt_object_get(hosts[vt_below(&rng, 2)].kvc, &o, DEADLINE_MS) !=
		    VT_HIT)
			vt_expect(o.answer == VT_BUSY, "get %s: %s (%d)", o.key,
				  vt_answer_name[o.answer], o.status);
		c->gets++;
	}
	return NULL;
}

static void test_churn(void)
{
	static struct vt_object o[2][900];
	struct grantee g[2] = {
		{ .slot = 0, .incarnation = 10, .epochs = { 1, 1, 0, 0 } },
		{ .slot = 1, .incarnation = 11, .epochs = { 0, 0, 1, 1 } },
	};
	struct churn c[2];
	pthread_t threads[2];
	unsigned int h, i, ag, from;

	format("");
	for (h = 0; h < 2; h++)
		join_granted(h, &g[h]);
	vt_begin("AGs change hands under load, and nothing is lost");
	for (h = 0; h < 2; h++) {
		vt_objects_make(o[h], 900, h ? "tb" : "ta", 55 + h, 1, 30000);
		c[h] = (struct churn){ .host = h, .o = o[h], .n = 900 };
		pthread_create(&threads[h], NULL, put_and_get, &c[h]);
	}
	for (i = 0; i < 16; i++) {
		ag = i % 4;
		from = !g[0].epochs[ag];
		g[!from].epochs[ag] = g[from].epochs[ag] + 1;
		g[from].epochs[ag] = 0;
		granted(from, &g[from]);
		granted(!from, &g[!from]);
	}
	for (h = 0; h < 2; h++) {
		__atomic_store_n(&c[h].stop, true, __ATOMIC_RELEASE);
		pthread_join(threads[h], NULL);
	}
	for (h = 0; h < 2; h++) {
		expect_hits(0, o[h], c[h].put);
		expect_hits(1, o[h], c[h].put);
		vt_expect(c[h].put > 10 && c[h].gets > 10, "%u puts, %llu gets",
			  c[h].put, c[h].gets);
	}
	vt_end();
	vt_note("%u and %u puts, %llu and %llu gets, 16 changes", c[0].put, c[1].put,
		c[0].gets, c[1].gets);
	leave(0);
	leave(1);
}

/* --- rotten and hostile journals --- */

static void test_rotten(void)
{
	static struct vt_object o[60], mine[60];
	static uint8_t old[4096] __attribute__((aligned(4096)));
	static uint8_t block[4096] __attribute__((aligned(4096)));
	struct kvc_journal_block *j = (struct kvc_journal_block *)block;
	struct kvc_writer writer = { .slot = 0, .incarnation = 1 };
	struct kvcache_ag_info at;
	struct kvc_place p, next;
	struct vt_rng rng = { .s = 3 };
	unsigned long long rotten;
	unsigned int i, k;
	int err;

	format("");
	join(0, 2);
	join(1, 2);
	vt_objects_make(o, 60, "ra", 8, 1, 30000);
	vt_objects_make(mine, 60, "rb", 9, 1, 30000);
	vt_expect(vt_objects_put(hosts[0].kvc, o, 60) == 60 &&
		  vt_objects_put(hosts[1].kvc, mine, 60) == 60, "puts");
	expect_hits(1, o, 60);
	crash(0);

	vt_begin("a journal block of another host that is no sound block is its end");
	at = ag_info(1, 0);
	p = kvc_place_journal(&pool.g, 0, at.epoch, at.position);
	vt_read(&pool, p, 1, old);
	for (k = 0; k < sizeof(block); k++)
		block[k] = (uint8_t)vt_rand(&rng);
	vt_write_blocks(&pool, p, 1, block);
	vt_expect(miss(1) == -ENOENT, "noise");
	kvc_journal_begin(block, 0, at.epoch);
	kvc_block_finish(block, KVC_BLOCK_JOURNAL, pool.g.uuid, p, at.position,
			 &writer);
	block[2000] ^= 1;
	vt_write_blocks(&pool, p, 1, block);
	vt_expect(miss(1) == -ENOENT, "a wrong checksum");
	expect_hits(1, o, 60);
	vt_end();

	vt_begin("a block of an epoch that no slot shows: not now, and no miss");
	kvc_journal_begin(block, 0, at.epoch + 4);
	kvc_block_finish(block, KVC_BLOCK_JOURNAL, pool.g.uuid, p, at.position,
			 &writer);
	vt_write_blocks(&pool, p, 1, block);
	/* Its area's header is of the epoch that is followed: so it is the end. */
	vt_expect(miss(1) == -ENOENT, "with the old header");
	vt_end();

	vt_begin("records that can't be are dropped and counted, and what is there stays");
	for (i = 0; i < 24; i++) {
		at = ag_info(1, 0);
		p = kvc_place_journal(&pool.g, 0, at.epoch, at.position);
		next = kvc_place_journal(&pool.g, 0, at.epoch, at.position + 1);
		rotten = info(1).rotten_blocks;
		kvc_journal_begin(block, 0, at.epoch);
		for (k = 0; k < KVC_JOURNAL_DATA; k++)
			j->data[k] = (uint8_t)vt_rand(&rng);
		j->data[0] = (uint8_t)(1 + i % 8);	/* types that there are */
		j->data[2] = (uint8_t)(8 * (2 + i));
		j->data[3] = 0;
		j->count = (uint16_t)(1 + i % 5);
		j->used = (uint16_t)(i % 3 ? 8 * (2 + i) : KVC_JOURNAL_DATA);
		kvc_block_finish(block, KVC_BLOCK_JOURNAL, pool.g.uuid, p,
				 at.position, &writer);
		memset(old, 0, sizeof(old));
		vt_write_blocks(&pool, next, 1, old);
		vt_write_blocks(&pool, p, 1, block);
		err = miss(1);
		vt_expect(err == -ENOENT, "round %u: %d", i, err);
		if (ag_info(1, 0).position == at.position)
			continue;	/* no block at all */
		vt_expect(info(1).rotten_blocks > rotten, "round %u: not counted",
			  i);
	}
	expect_hits(1, o, 60);
	expect_hits(1, mine, 60);
	vt_end();
	vt_note("%llu blocks dropped, %llu loads",
		(unsigned long long)info(1).rotten_blocks,
		(unsigned long long)info(1).loads);
	leave(1);
	/* What was written over the journal is not what fsck is for. */
	format("");
}

/* --- main --- */

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "visible", test_visible },	{ "refused", test_refused },
		{ "evict", test_evict },	{ "crash", test_crash },
		{ "grants", test_grants },	{ "prolong", test_prolong },
		{ "recall", test_recall },
		{ "same", test_same },		{ "churn", test_churn },
		{ "rotten", test_rotten },	{ "many", test_many },
	};

	vt_members_env(&pool, 0, MEMBERS);
	device = open(KVC_DEVICE, O_RDWR | O_CLOEXEC);
	vt_need(device >= 0, "open " KVC_DEVICE ": %s", strerror(errno));
	vt_run(tests, sizeof(tests) / sizeof(tests[0]), argv + 1, argc - 1);
	vt_exit();
}
