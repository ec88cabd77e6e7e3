// SPDX-License-Identifier: GPL-2.0
/*
 * The fabric goes away under load and comes back; one member goes away for
 * good. No call outlasts its deadline, no answer is one that it may not be, what
 * was committed is hit again when it can be, and what can go on goes on.
 *
 * usage: fabric [-l LEASE-MS] [TEST...]
 *
 * The pool's members are $KVC_MEMBERS, the devices behind the target
 * /dev/nullb0 and so on in the same order.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "members.h"
#include "objects.h"

#define MEMBERS		4
#define THREADS		4
#define KEPT		64	/* objects that are only read */
#define OWN		48	/* that each thread puts and deletes */
#define MAX_BYTES	40000
#define FILLER		250000	/* bytes put between the kept objects */
#define LOST		1	/* member that goes away: namespace 2 */
/*
 * A call may end later than its deadline by what it takes to run, and emulated
 * machines are slow: what is looked for are calls that wait for the fabric,
 * which take seconds more.
 */
#define SLACK_MS	1500
#define PATIENT_MS	60000	/* a deadline that is never reached */
#define BACK_MS		30000	/* until all is well again */
#define OUTAGE_Q_MS	60000

static struct vt_members pool;	/* as the host sees it */
static struct vt_members raw;	/* as the target does */
static struct kvc *kvc;
static int number;
static unsigned int lease_ms = 6000;
static struct vt_object kept[KEPT];

/* --- load --- */

enum fate {
	ABSENT,		/* a get is to miss */
	PRESENT,	/* a get is to hit, when all is well */
	UNKNOWN,	/* an answer was lost on the way: either */
};

/**
 * struct worker - a thread of load
 * @o: objects of its own
 * @fate: of each
 * @generation: of each: keys are never used for other bytes
 * @stop: end
 * @calls: how many
 * @late_ms: the most that a call took beyond its deadline
 * @late: what that was
 * @seen: answers by errno
 * @puts: that returned 0
 * @bad: answers that may not be
 */
struct worker {
	unsigned int id;
	struct vt_rng rng;
	struct vt_object o[OWN];
	enum fate fate[OWN];
	unsigned int generation[OWN];
	pthread_t thread;
	bool stop;
	unsigned int calls;
	long late_ms;
	char late[80];
	unsigned int seen[200];
	unsigned int puts;
	unsigned int bad;
};

static struct worker workers[THREADS];

static const char *const op_name[] = { "get", "put", "delete", "exists" };

static void note_call(struct worker *w, unsigned int op, int err,
		      unsigned int deadline, uint64_t took)
{
	long late = (long)took - (long)deadline;

	__atomic_add_fetch(&w->calls, 1, __ATOMIC_RELAXED);
	if (-err < (int)ARRAY_SIZE(w->seen))
		w->seen[-err]++;
	if (late > w->late_ms) {
		w->late_ms = late;
		snprintf(w->late, sizeof(w->late), "a %s of %u ms took %llu ms: %d",
			 op_name[op], deadline, (unsigned long long)took, err);
	}
}

static bool may_be(unsigned int op, int err)
{
	switch (err) {
	case 0:
	case -EAGAIN:
	case -ETIMEDOUT:
	case -EINPROGRESS:	/* the same, and memory is still under I/O */
	case -EIO:
		return true;
	case -ENOENT:
		return op != 1;
	case -ESTALE:
		return op == 1 || op == 2;
	}
	return false;
}

static void answer(struct worker *w, unsigned int op, const char *key, int err)
{
	if (may_be(op, err))
		return;
	w->bad++;
	vt_expect(false, "%s %s: %d", op_name[op], key, err);
}

/* A get of an object, of all or of a part, by itself or beside another. */
static void load_get(struct worker *w, struct vt_object *o, unsigned int deadline,
		     enum fate fate)
{
	struct vt_object copy = *o;
	uint64_t start = vt_ms();
	enum vt_answer a = vt_object_get(kvc, &copy, deadline);

	note_call(w, 0, copy.status, deadline, vt_ms() - start);
	answer(w, 0, o->key, copy.status);
	if (a == VT_WRONG || a == VT_FORMER || (a == VT_HIT && fate == ABSENT)) {
		w->bad++;
		vt_expect(false, "get %s: %s", o->key,
			  a == VT_HIT ? "it was deleted" : vt_answer_name[a]);
	}
}

static void load_put(struct worker *w, unsigned int i, unsigned int deadline)
{
	const struct kvc_call call = { .deadline_ms = deadline };
	static __thread uint8_t *data;
	struct vt_object *o = &w->o[i];
	uint64_t start;
	int err;

	snprintf(o->key, sizeof(o->key), "w%u-%u-%u", w->id, i, w->generation[i]++);
	o->seed = vt_rand(&w->rng) | 1;
	o->len = 1 + (uint32_t)vt_below(&w->rng, MAX_BYTES);
	if (!data)
		data = vt_map(MAX_BYTES);
	vt_fill(data, o->seed, 0, o->len);
	start = vt_ms();
	err = kvc_put(kvc, &call, o->key, strlen(o->key), data, o->len);
	note_call(w, 1, err, deadline, vt_ms() - start);
	if (err == -EINPROGRESS)
		data = NULL;
	answer(w, 1, o->key, err);
	w->fate[i] = err ? UNKNOWN : PRESENT;
	if (!err)
		__atomic_add_fetch(&w->puts, 1, __ATOMIC_RELAXED);
}

static void load_delete(struct worker *w, unsigned int i, unsigned int deadline)
{
	const struct kvc_call call = { .deadline_ms = deadline };
	struct vt_object *o = &w->o[i];
	uint64_t start = vt_ms();
	int err;

	err = kvc_delete(kvc, &call, o->key, strlen(o->key));
	note_call(w, 2, err, deadline, vt_ms() - start);
	answer(w, 2, o->key, err);
	if (!err)
		w->fate[i] = ABSENT;
	else if (w->fate[i] != ABSENT)
		w->fate[i] = UNKNOWN;
}

static void load_exists(struct worker *w, struct vt_object *o, unsigned int deadline)
{
	const struct kvc_call call = { .deadline_ms = deadline };
	uint64_t start = vt_ms();
	int err;

	err = kvc_exists(kvc, &call, o->key, strlen(o->key), NULL);
	note_call(w, 3, err, deadline, vt_ms() - start);
	answer(w, 3, o->key, err);
}

static void *work(void *arg)
{
	static const unsigned int deadlines[] = { 200, 500, 1000 };
	struct worker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		unsigned int i = (unsigned int)vt_below(&w->rng, OWN);
		/* One doesn't mind waiting; nobody is to wait for it. */
		unsigned int deadline = w->id ? deadlines[vt_below(&w->rng, 3)] :
						PATIENT_MS;
		struct vt_object *o = &kept[vt_below(&w->rng, KEPT)];

		switch (vt_below(&w->rng, 8)) {
		case 0:
		case 1:
			load_get(w, o, deadline, PRESENT);
			break;
		case 2:
			load_exists(w, o, deadline);
			break;
		case 3:
		case 4:
			if (w->o[i].key[0])
				load_get(w, &w->o[i], deadline, w->fate[i]);
			break;
		default:
			/* A key that may be there is deleted before the next. */
			if (w->fate[i] != ABSENT)
				load_delete(w, i, deadline);
			if (w->fate[i] == ABSENT)
				load_put(w, i, deadline);
			break;
		}
		vt_sleep_ms(5);
	}
	return NULL;
}

static void load_start(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		w->id = i;
		w->rng.s += i * 7919 + 1;
		w->stop = false;
		w->calls = 0;
		w->late_ms = -1000000;
		w->puts = 0;
		w->bad = 0;
		memset(w->seen, 0, sizeof(w->seen));
		vt_need(!pthread_create(&w->thread, NULL, work, w), "a thread");
	}
}

static unsigned int load_puts(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < THREADS; i++)
		n += __atomic_load_n(&workers[i].puts, __ATOMIC_RELAXED);
	return n;
}

static void load_stop(const char *what)
{
	unsigned int i, e, calls = 0, seen;
	long late = -1000000;
	char text[256];
	size_t at = 0;

	for (i = 0; i < THREADS; i++)
		__atomic_store_n(&workers[i].stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		pthread_join(w->thread, NULL);
		calls += w->calls;
		vt_expect(w->late_ms <= SLACK_MS, "%s: %s", what, w->late);
		late = w->late_ms > late ? w->late_ms : late;
	}
	text[0] = '\0';
	for (e = 0; e < ARRAY_SIZE(workers[0].seen); e++) {
		for (i = 0, seen = 0; i < THREADS; i++)
			seen += workers[i].seen[e];
		if (seen)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       ", %u %s", seen,
					       e ? strerrorname_np((int)e) : "done");
	}
	vt_note("%s: %u calls%s; the latest ended %ld ms after its deadline",
		what, calls, text, late);
}

static struct kvcache_info info_of(struct kvcache_member_info *members)
{
	struct kvcache_info info;
	int err = kvc_info(kvc, &info, members, members ? MEMBERS : 0);

	vt_need(!err, "info: %d", err);
	return info;
}

/* --- whether all is well --- */

/* Are all objects that are to be there hit? What is amiss in @why. */
static bool all_well(char *why, size_t room)
{
	/* On a fast machine the load fills the pool. */
	const uint64_t evicted = info_of(NULL).evicted_objects;
	struct vt_tally tally;
	unsigned int i, k, lost;

	vt_objects_get(kvc, kept, KEPT, 5000, &tally);
	lost = tally.n[VT_MISS];
	if (tally.n[VT_HIT] + lost != KEPT || lost > evicted) {
		snprintf(why, room, "%s", vt_tally_text(&tally));
		vt_expect(!tally.n[VT_WRONG], "wrong bytes: %s", why);
		return false;
	}
	for (i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		for (k = 0; k < OWN; k++) {
			enum vt_answer a;

			if (!w->o[k].key[0])
				continue;
			a = vt_object_get(kvc, &w->o[k], 5000);
			vt_expect(a != VT_WRONG, "%s: wrong bytes", w->o[k].key);
			if (a == VT_HIT ? w->fate[k] != ABSENT :
			    a == VT_MISS ? w->fate[k] != PRESENT ||
					   ++lost <= evicted : false)
				continue;
			snprintf(why, room, "%.40s, which is %s: %s (%d)", w->o[k].key,
				 w->fate[k] == PRESENT ? "there" :
				 w->fate[k] == ABSENT ? "deleted" : "in doubt",
				 vt_answer_name[a], w->o[k].status);
			return false;
		}
	}
	return true;
}

/* How long it took until all was well; -1 if it never was. */
static long wait_well(const char *what)
{
	uint64_t start = vt_ms();
	char why[300] = "";

	while (!all_well(why, sizeof(why))) {
		if (vt_ms() - start > BACK_MS + OUTAGE_Q_MS) {
			vt_expect(false, "%s: after %u ms not yet: %s; %llu objects were evicted",
				  what, BACK_MS + OUTAGE_Q_MS, why,
				  (unsigned long long)info_of(NULL).evicted_objects);
			return -1;
		}
		vt_sleep_ms(100);
	}
	return (long)(vt_ms() - start);
}

static void shell(const char *command)
{
	int status = system(command);

	vt_need(!status, "%s: status %d", command, status);
}

static void attach(void)
{
	char reason[1024];

	number = vt_attach(&pool, "fabric", 0, reason, sizeof(reason));
	vt_need(number > 0, "attach: %d: %s", number, reason);
}

static void make_pool(const char *q)
{
	static struct vt_object filler[KEPT];
	struct vt_members open;
	char options[128];
	unsigned int i;

	snprintf(options, sizeof(options),
		 "--name fabric --lease %ums --q %s --segment-size 1M --ags 8 --slots 4 --ring 512K",
		 lease_ms, q);
	vt_members_env(&open, 0, MEMBERS);
	vt_format(&open, options);
	vt_members_close(&open);
	memset(workers, 0, sizeof(workers));
	attach();
	vt_objects_make(kept, KEPT, "kept", 7, 1, MAX_BYTES);
	vt_objects_make(filler, KEPT, "filler", 8, FILLER, FILLER);
	/* In many segments, that is, and so on all members. */
	for (i = 0; i < KEPT; i++)
		vt_need(vt_objects_put(kvc, &kept[i], 1) &&
			vt_objects_put(kvc, &filler[i], 1), "puts");
}

/* --- the fabric goes away and comes back --- */

static void outage(unsigned int down_ms, bool longer)
{
	u64 incarnation = info_of(NULL).incarnation;
	struct kvcache_info info;
	uint64_t start, back;

	load_start();
	vt_sleep_ms(700);
	shell("kvc-fabric-down");
	start = vt_ms();
	vt_sleep_ms(down_ms);
	shell("kvc-fabric-up");
	back = vt_ms();
	start = back - start;
	/* Under load for a while, then see. */
	vt_sleep_ms(1500);
	load_stop(longer ? "longer than a lease" : "shorter than a lease");
	wait_well(longer ? "longer than a lease" : "shorter than a lease");
	back = vt_ms() - back;
	info = info_of(NULL);
	vt_note("down for %llu ms; all was well %llu ms after its end%s",
		(unsigned long long)start, (unsigned long long)back,
		info.incarnation == incarnation ? "" : ", in a new incarnation");
	/*
	 * Heartbeats wait for the path to come back, so that a short outage does
	 * not take the slot's copies out of use for Q (protocol rule 31).
	 */
	if (!longer && start < lease_ms / 4)
		vt_expect(info.incarnation == incarnation,
			  "the lease of %u ms ran out in %llu ms", lease_ms,
			  (unsigned long long)start);
	if (longer)
		vt_expect(info.incarnation > incarnation,
			  "the lease of %u ms did not run out in %llu ms", lease_ms,
			  (unsigned long long)start);
	/*
	 * To join anew takes a lease and a half, and the path has to be back. A ring
	 * that comes round to where a write failed waits for Q (protocol rule 8).
	 */
	vt_expect(back < 3 * lease_ms + 5000 + OUTAGE_Q_MS,
		  "all was well only after %llu ms", (unsigned long long)back);
}

static void test_outages(void)
{
	unsigned int i;

	vt_begin("the fabric goes away under load for less than a lease: no call outlasts its deadline, and all is hit again");
	make_pool("60s");
	for (i = 0; i < 3; i++)
		outage(400 + 700 * i, false);
	vt_expect(!vt_detach((unsigned int)number), "detach");
	vt_end();

	make_pool("0");
	vt_begin("and for longer than a lease: the pool joins anew by itself, and all is hit again");
	for (i = 0; i < 2; i++)
		outage(lease_ms + 2500, true);
	vt_end();

	vt_begin("after that the pool can be detached, and is clean");
	vt_expect(!vt_detach((unsigned int)number), "detach");
	vt_expect(!system("kvcachectl -q fsck --data $KVC_MEMBERS"), "fsck");
	vt_end();
}

/* --- detach while it is away --- */

static void test_detach_down(void)
{
	uint64_t start;
	long long ms;
	int err;

	vt_begin("a pool whose fabric is away is detached in bounded time, and can be attached again when it is back");
	make_pool("0");
	load_start();
	vt_sleep_ms(500);
	shell("kvc-fabric-down");
	vt_sleep_ms(300);
	load_stop("before the detach");
	start = vt_ms();
	err = vt_detach((unsigned int)number);
	ms = (long long)(vt_ms() - start);
	vt_note("detach took %lld ms: %d", ms, err);
	vt_expect(!err, "detach: %d", err);
	/* The initiator gives I/O up after 3 s; then some of it is tried again. */
	vt_expect(ms < 30000, "it took %lld ms", ms);
	shell("kvc-fabric-up");
	for (start = vt_ms(); vt_ms() - start < BACK_MS;) {
		char reason[1024];

		number = vt_attach(&pool, "fabric", 0, reason, sizeof(reason));
		if (number > 0)
			break;
		vt_sleep_ms(200);
	}
	vt_expect(number > 0, "attach: %d", number);
	wait_well("attached again");
	vt_expect(!vt_detach((unsigned int)number), "detach");
	vt_end();
}

/* --- a member is gone --- */

/**
 * struct need - what an object needs
 * @members: bit per member that has a part of it
 * @reload: and of those that a load needs to know of it: its AG's home, and if
 *	its segment is sealed where the summary stands
 * @home: home of its AG
 */
struct need {
	u64 members;
	u64 reload;
	u32 home;
};

static struct need needs[KEPT];

static void learn_needs(void)
{
	struct vt_map map;
	unsigned int i;
	u32 k;

	/* The target's side, which is the faster. */
	vt_members_load(&raw);
	vt_map_scan(&map, &raw);
	for (i = 0; i < KEPT; i++) {
		struct kvc_hash h = kvc_key_hash(raw.g.hash_key, 0, kept[i].key,
						 strlen(kept[i].key));

		needs[i].members = 0;
		for (k = 0; k < map.nr_puts; k++) {
			const struct vt_put *p = &map.puts[k];
			u64 at = (u64)p->offset << KVC_BLOCK_SHIFT, run;
			u64 end = at + round_up((u64)p->bytes, KVC_BLOCK_SIZE);

			if (!p->current || p->hash.lo != h.lo || p->hash.hi != h.hi)
				continue;
			needs[i].home = kvc_ag_home(&raw.g, p->ag);
			run = KVC_BLOCK_SIZE;
			needs[i].reload = 1ULL << needs[i].home;
			/* A summary of one block, since objects are few. */
			if (p->sealed)
				needs[i].reload |= 1ULL <<
					kvc_place_data(&raw.g, p->segment,
						       kvc_segment_bytes(&raw.g) -
						       KVC_BLOCK_SIZE, &run).member;
			for (; at < end; at += run) {
				run = end - at;
				needs[i].members |= 1ULL <<
					kvc_place_data(&raw.g, p->segment, at,
						       &run).member;
			}
		}
		vt_need(needs[i].members, "no record of %s", kept[i].key);
	}
	vt_map_free(&map);
}

/*
 * Judge the kept objects with member LOST away: those that don't need it are
 * hit, the others answer @away. @reloaded: the pool was attached without it.
 */
static bool judge_away(int away, bool reloaded, char *why, size_t room)
{
	struct vt_tally tally;
	unsigned int i, served = 0, gone = 0;
	bool good = true;

	vt_objects_get(kvc, kept, KEPT, 5000, &tally);
	for (i = 0; i < KEPT; i++) {
		bool needed = (needs[i].members |
			       (reloaded ? needs[i].reload : 0)) & (1ULL << LOST);

		vt_expect(kept[i].answer != VT_WRONG, "%s: wrong bytes", kept[i].key);
		needed ? gone++ : served++;
		if (needed ? kept[i].status == away : kept[i].answer == VT_HIT)
			continue;
		if (good)
			snprintf(why, room, "%.40s, which is %s it: %s (%d)",
				 kept[i].key, needed ? "on" : "not on",
				 vt_answer_name[kept[i].answer], kept[i].status);
		good = false;
	}
	vt_expect(gone >= KEPT / 8 && served >= KEPT / 8,
		  "%u objects need the member, %u don't: too few", gone, served);
	if (good)
		vt_note("%u objects need the member that is away: %s; %u don't: hit",
			gone, strerrorname_np(-away), served);
	return good;
}

static bool wait_away(int away, bool reloaded, unsigned int ms)
{
	uint64_t start = vt_ms();
	char why[300];

	while (!judge_away(away, reloaded, why, sizeof(why))) {
		if (vt_ms() - start > ms)
			return vt_expect(false, "after %u ms: %s", ms, why);
		vt_sleep_ms(100);
	}
	return true;
}

/* Puts of the load go on. */
static void puts_go_on(const char *what)
{
	unsigned int was = load_puts(), now;
	uint64_t start = vt_ms();

	while ((now = load_puts()) < was + 20 && vt_ms() - start < 20000)
		vt_sleep_ms(50);
	vt_expect(now >= was + 20, "%s: %u puts in 20 s", what, now - was);
	vt_note("%s: 20 puts in %llu ms", what, (unsigned long long)(vt_ms() - start));
}

/* Deletes of what can be reached work. */
static void delete_reachable(unsigned int n)
{
	const struct kvc_call call = { .deadline_ms = 5000 };
	unsigned int i, done = 0;
	int err;

	for (i = 0; i < KEPT && done < n; i++) {
		if (needs[i].members & (1ULL << LOST) || needs[i].home == LOST)
			continue;
		err = kvc_delete(kvc, &call, kept[i].key, strlen(kept[i].key));
		vt_expect(!err, "delete %s: %d", kept[i].key, err);
		err = kvc_get(kvc, &call, kept[i].key, strlen(kept[i].key), NULL, 0,
			      NULL);
		vt_expect(err == -ENOENT, "get %s after its delete: %d", kept[i].key,
			  err);
		/* Put it again, that it may be counted on. */
		vt_expect(vt_objects_put(kvc, &kept[i], 1) == 1, "put %s again: %d",
			  kept[i].key, kept[i].status);
		done++;
	}
	vt_expect(done == n, "only %u objects could be deleted", done);
}

static bool wait_state(unsigned int state, unsigned int ms)
{
	struct kvcache_member_info m[MEMBERS];
	uint64_t start = vt_ms();

	do {
		info_of(m);
		if (m[LOST].state == state)
			return true;
		vt_sleep_ms(50);
	} while (vt_ms() - start < ms);
	return vt_expect(false, "member %d is in state %u after %u ms", LOST,
			 m[LOST].state, ms);
}

/*
 * The host, too, has given the device up, and the module has closed it: only then
 * is its name free for when it comes back. A namespace that is back sooner gets
 * another name, and a member that was attached by the old one is not found.
 */
static void wait_name_free(void)
{
	uint64_t until = vt_ms() + 20000;

	while (!access(pool.path[LOST], F_OK) && vt_ms() < until)
		vt_sleep_ms(20);
	vt_expect(access(pool.path[LOST], F_OK), "%s is still there",
		  pool.path[LOST]);
	vt_sleep_ms(1500);
}

static void test_gone(void)
{
	struct vt_members three;
	char reason[1024];
	uint64_t start;
	unsigned int i;
	long well;

	vt_begin("a member goes away under load: what needs it answers EAGAIN, all else is hit, puts and deletes go on");
	make_pool("0");
	learn_needs();
	load_start();
	vt_sleep_ms(500);
	shell("kvc-ns-gone 2");
	wait_state(KVCACHE_MEMBER_SUSPECT, 10000);
	wait_away(-EAGAIN, false, 10000);
	puts_go_on("with a suspect member");
	delete_reachable(4);
	load_stop("a member goes away");
	vt_end();

	vt_begin("it comes back: all is hit again");
	wait_name_free();
	shell("kvc-ns-back 2");
	start = vt_ms();
	well = wait_well("the member is back");
	vt_note("all was well %ld ms after it was back", well);
	wait_state(KVCACHE_MEMBER_LIVE, 1000);
	vt_end();

	vt_begin("it goes away for good: what needs it is a miss in the end, puts go on");
	learn_needs();
	load_start();
	shell("kvc-ns-gone 2");
	start = vt_ms();
	wait_state(KVCACHE_MEMBER_FAILED, 60000);
	vt_note("it counted as failed after %llu ms",
		(unsigned long long)(vt_ms() - start));
	wait_away(-ENOENT, false, 10000);
	puts_go_on("with a failed member");
	delete_reachable(4);
	load_stop("a member has failed");
	vt_end();

	vt_begin("it comes back even so: all is hit again");
	wait_name_free();
	shell("kvc-ns-back 2");
	well = wait_well("the member is back");
	vt_note("all was well %ld ms after it was back", well);
	vt_end();

	vt_begin("a pool with a member gone is detached, and attached without it: the same, less what journals and summaries on it told");
	shell("kvc-ns-gone 2");
	wait_state(KVCACHE_MEMBER_SUSPECT, 10000);
	start = vt_ms();
	vt_expect(!vt_detach((unsigned int)number), "detach");
	vt_note("detach took %llu ms", (unsigned long long)(vt_ms() - start));
	learn_needs();
	three = pool;
	three.nr = MEMBERS - 1;
	for (i = LOST; i < MEMBERS - 1; i++)
		three.path[i] = pool.path[i + 1];
	number = vt_attach(&three, "fabric", 0, reason, sizeof(reason));
	vt_expect(number == -ENXIO, "attach without it: %d: %s", number, reason);
	number = vt_attach(&three, "fabric", KVCACHE_ATTACH_DEGRADED, reason,
			   sizeof(reason));
	vt_need(number > 0, "degraded attach: %d: %s", number, reason);
	wait_away(-ENOENT, true, 10000);
	load_start();
	puts_go_on("degraded");
	load_stop("degraded");
	delete_reachable(4);
	vt_expect(!vt_detach((unsigned int)number), "detach");
	vt_end();
}

/* --- main --- */

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "outages", test_outages },	{ "detach", test_detach_down },
		{ "gone", test_gone },
	};
	char *backing[MEMBERS] = { "/dev/nullb0", "/dev/nullb1", "/dev/nullb2",
				   "/dev/nullb3" };
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "l:")) != -1) {
		if (c != 'l')
			return 2;
		lease_ms = (unsigned int)atoi(optarg);
	}
	vt_members_env(&pool, 0, MEMBERS);
	/* If we held them open, what comes back would get another name. */
	for (i = 0; i < MEMBERS; i++)
		close(pool.fd[i]);
	vt_members_open(&raw, backing, MEMBERS);
	kvc = kvc_open(NULL, 0);
	vt_need(kvc, "open the module's device: %s", strerror(errno));
	vt_run(tests, ARRAY_SIZE(tests), argv + optind, argc - optind);
	vt_exit();
}
