// SPDX-License-Identifier: MIT
/*
 * A kernel that is none, for kvcached's tests: pool and hosts stand in one file
 * that all processes map, so that they outlive an agent that is killed, as a
 * kernel does. It does what it is told, checks what a kernel checks, and writes
 * down with the time what it was granted; tests/cluster looks at that.
 *
 * KVC_FAKE names a directory with a file "pool"; KVC_FAKE_HOST is this host's
 * number in it. With KVC_FAKE_MAKE the program makes that file, or changes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

#define FAKE_HOSTS	32
#define FAKE_AGS	64
#define FAKE_SLOTS	64

/**
 * struct fake_ag - an AG, as a host sees it
 * @state: KVCACHE_AG_*
 * @granted: epoch that it shall be owned with, 0: it shall not
 * @epoch: epoch of what is under way or owned
 * @ready_ns: when TAKING or RELEASING is over
 * @error: of the last takeover
 */
struct fake_ag {
	uint32_t state;
	int32_t error;
	uint64_t granted;
	uint64_t epoch;
	uint64_t ready_ns;
};

/**
 * struct fake_host - a host's kernel
 * @attached: the pool is attached
 * @tried: the highest incarnation that it was granted
 * @up: it has a lease
 * @slot: its slot
 * @incarnation: of it
 * @deadline_ns: end of the grant
 * @loaded_ns: when it knows what stands in the journals
 * @cut: it can't reach the media
 * @lost: somebody else detaches the pool
 * @joining: incarnation that joins just now; it and what follows without the lock,
 *	which is one for all threads
 * @prolonged_ns: deadline that its grant was moved to
 * @ags: AGs
 */
struct fake_host {
	uint32_t attached;
	uint32_t up;
	uint32_t slot;
	uint32_t reserved;
	uint64_t tried;
	uint64_t incarnation;
	uint64_t deadline_ns;
	uint64_t loaded_ns;
	uint32_t cut;
	uint32_t lost;
	uint64_t joining;
	uint64_t prolonged_ns;
	struct fake_ag ags[FAKE_AGS];
};

/**
 * struct fake_slot - a slot on media
 * @state: KVCACHE_SLOT_*
 * @host: whose it is or was
 * @incarnation: shown
 * @sequence: shown
 */
struct fake_slot {
	uint32_t state;
	uint32_t host;
	uint64_t incarnation;
	uint64_t sequence;
};

/**
 * struct fake_pool - all of it
 * @nr_ags: AGs
 * @nr_slots: slots
 * @lease_ms: of the label
 * @q_ms: of the label
 * @join_ms: how long a join takes
 * @gone: 1 + the member that is gone, 0: none is
 * @old: it knows no way to prolong a grant meanwhile
 * @load_ms: after a join, how long next_epoch is not known
 * @take_ms: how long a takeover takes
 * @release_ms: and giving up
 * @epochs: per AG, the highest on media
 * @slots: slots
 * @hosts: hosts
 */
struct fake_pool {
	uint32_t nr_ags;
	uint32_t nr_slots;
	uint32_t lease_ms;
	uint32_t q_ms;
	uint32_t join_ms;
	uint32_t old;
	uint32_t gone;
	uint32_t load_ms;
	uint32_t take_ms;
	uint32_t release_ms;
	uint64_t epochs[FAKE_AGS];
	struct fake_slot slots[FAKE_SLOTS];
	struct fake_host hosts[FAKE_HOSTS];
};

struct kernel {
	const struct config *config;
	struct fake_pool *pool;
	struct fake_host *me;
	uint32_t number;
	int fd;
	FILE *log;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void say(struct kernel *k, uint64_t when, const char *what,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* A line of JSON, whole whoever writes at the same time. */
static void say(struct kernel *k, uint64_t when, const char *what,
		const char *fmt, ...)
{
	char text[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(k->log, "{\"t\":%" PRIu64 ",\"host\":%u,\"slot\":%u,\"incarnation\":%" PRIu64 ",\"what\":\"%s\"%s}\n",
		when, k->number, k->me->slot, k->me->incarnation, what, text);
	fflush(k->log);
}

static void lock(struct kernel *k)
{
	while (flock(k->fd, LOCK_EX))
		;
}

static void unlock(struct kernel *k)
{
	flock(k->fd, LOCK_UN);
}

/* The lowest epoch that may be granted: rules 6 and 20. */
static uint64_t next_epoch(const struct kernel *k, uint32_t ag)
{
	return k->pool->epochs[ag] + 1;
}

static void lose_lease(struct kernel *k, uint64_t when)
{
	uint32_t i;

	k->me->up = 0;
	for (i = 0; i < k->pool->nr_ags; i++)
		k->me->ags[i] = (struct fake_ag) { .state = KVCACHE_AG_UNKNOWN };
	say(k, when, "lapse", "%s", "");
}

#define FAKE_MEMBERS 4

/* Protocol rule 30: the member that an AG's journals are on. */
static bool home_is_gone(const struct kernel *k, uint32_t number)
{
	return k->pool->gone && number % FAKE_MEMBERS == k->pool->gone - 1;
}

static void begin_ag(struct kernel *k, uint32_t number, uint64_t now)
{
	struct fake_ag *ag = &k->me->ags[number];

	if (!ag->granted || ag->state == KVCACHE_AG_TAKING ||
	    ag->state == KVCACHE_AG_OWNED || ag->state == KVCACHE_AG_RELEASING ||
	    home_is_gone(k, number))
		return;
	if (now < k->me->loaded_ns || ag->granted < next_epoch(k, number)) {
		ag->error = EAGAIN;
		return;
	}
	ag->error = 0;
	ag->state = KVCACHE_AG_TAKING;
	ag->epoch = ag->granted;
	ag->ready_ns = now + (uint64_t)k->pool->take_ms * 1000000;
	say(k, now, "take", ",\"ag\":%u,\"epoch\":%" PRIu64, number, ag->epoch);
}

/* What the passing of time has brought about. */
static void tick(struct kernel *k)
{
	struct fake_host *me = k->me;
	uint64_t now = now_ns();
	uint32_t i;

	if (me->lost) {
		if (me->up)
			lose_lease(k, now < me->deadline_ns ? now : me->deadline_ns);
		me->attached = 0;
		me->lost = 0;
		say(k, now, "detach", "%s", "");
		return;
	}
	if (me->up && (now >= me->deadline_ns || me->cut)) {
		/* Nobody may say what it owned after that. */
		lose_lease(k, now < me->deadline_ns ? now : me->deadline_ns);
		return;
	}
	if (!me->up)
		return;
	if (!me->cut)
		k->pool->slots[me->slot].sequence++;
	for (i = 0; i < k->pool->nr_ags; i++) {
		struct fake_ag *ag = &me->ags[i];

		if (ag->state == KVCACHE_AG_UNKNOWN && now >= me->loaded_ns)
			ag->state = KVCACHE_AG_FOLLOWED;
		if (ag->state == KVCACHE_AG_TAKING && now >= ag->ready_ns) {
			ag->state = KVCACHE_AG_OWNED;
			if (k->pool->epochs[i] < ag->epoch)
				k->pool->epochs[i] = ag->epoch;
			say(k, ag->ready_ns, "own", ",\"ag\":%u,\"epoch\":%" PRIu64,
			    i, ag->epoch);
		}
		if (ag->state == KVCACHE_AG_RELEASING && now >= ag->ready_ns) {
			ag->state = KVCACHE_AG_FOLLOWED;
			say(k, ag->ready_ns, "released", ",\"ag\":%u,\"epoch\":%" PRIu64,
			    i, ag->epoch);
			ag->epoch = 0;
		}
		begin_ag(k, i, now);
	}
}

struct kernel *kernel_open(const struct config *config,
			   char reason[KERNEL_REASON])
{
	struct kernel *k = calloc(1, sizeof(*k));
	const char *where = getenv("KVC_FAKE"), *who = getenv("KVC_FAKE_HOST");
	char path[512];

	if (!k || !where || !who)
		abort();
	k->config = config;
	k->number = (uint32_t)atoi(who);
	snprintf(path, sizeof(path), "%s/pool", where);
	k->fd = open(path, O_RDWR | O_CLOEXEC);
	if (k->fd < 0) {
		snprintf(reason, KERNEL_REASON, "%.300s: %s", path, strerror(errno));
		free(k);
		return NULL;
	}
	k->pool = mmap(NULL, sizeof(*k->pool), PROT_READ | PROT_WRITE,
		       MAP_SHARED, k->fd, 0);
	snprintf(path, sizeof(path), "%s/log", where);
	k->log = fopen(path, "ae");
	if (k->pool == MAP_FAILED || !k->log || k->number >= FAKE_HOSTS)
		abort();
	k->me = &k->pool->hosts[k->number];
	return k;
}

void kernel_close(struct kernel *k)
{
	munmap(k->pool, sizeof(*k->pool));
	fclose(k->log);
	close(k->fd);
	free(k);
}

static void fill(struct kernel *k, struct kernel_pool *pool)
{
	const struct fake_host *me = k->me;
	uint64_t now = now_ns();

	*pool = (struct kernel_pool) {
		.number = 1,
		.name = "fake",
		.uuid = { 0xfa, 0xce },
		.mode = KVCACHE_MODE_GRANTED,
		.state = me->up ? KVCACHE_POOL_UP : KVCACHE_POOL_LAPSED,
		.slot = me->slot,
		.incarnation = me->incarnation,
		.lease_left_ms = me->up && me->deadline_ns > now ?
			(uint32_t)((me->deadline_ns - now) / 1000000) : 0,
		.lease_ms = k->pool->lease_ms,
		.q_ms = k->pool->q_ms,
		.nr_ags = k->pool->nr_ags,
		.nr_slots = k->pool->nr_slots,
	};
}

int kernel_info(struct kernel *k, struct kernel_pool *pool)
{
	int error = 0;

	lock(k);
	tick(k);
	if (k->me->attached)
		fill(k, pool);
	else
		error = -ENODEV;
	unlock(k);
	return error;
}

int kernel_find(struct kernel *k, struct kernel_pool *pool,
		char reason[KERNEL_REASON])
{
	(void)reason;
	return kernel_info(k, pool);
}

int kernel_attach(struct kernel *k, struct kernel_pool *pool,
		  char reason[KERNEL_REASON])
{
	if (strcmp(k->config->pool, "fake")) {
		snprintf(reason, KERNEL_REASON, "there is no such pool");
		return -ENXIO;
	}
	lock(k);
	k->me->attached = 1;
	say(k, now_ns(), "attach", "%s", "");
	unlock(k);
	return kernel_info(k, pool);
}

int kernel_detach(struct kernel *k, unsigned int timeout_ms)
{
	(void)timeout_ms;
	lock(k);
	tick(k);
	if (k->me->up) {
		k->pool->slots[k->me->slot].state = KVCACHE_SLOT_DOWN;
		lose_lease(k, now_ns());
	}
	k->me->attached = 0;
	say(k, now_ns(), "detach", "%s", "");
	unlock(k);
	return 0;
}

/* It takes its time. Return: the deadline that its grant has by then. */
static uint64_t be_joining(struct kernel *k, uint64_t incarnation,
			   uint64_t deadline_ns)
{
	uint64_t end = now_ns() + (uint64_t)k->pool->join_ms * 1000000;
	uint64_t prolonged;

	__atomic_store_n(&k->me->prolonged_ns, deadline_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&k->me->joining, incarnation, __ATOMIC_SEQ_CST);
	/* What has run out in between has run out. */
	do {
		usleep(10000);
		prolonged = __atomic_load_n(&k->me->prolonged_ns, __ATOMIC_SEQ_CST);
	} while (now_ns() < end && now_ns() < prolonged);
	__atomic_store_n(&k->me->joining, 0, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&k->me->prolonged_ns, __ATOMIC_SEQ_CST);
}

int kernel_prolong(struct kernel *k, uint32_t slot, uint64_t incarnation,
		   uint64_t deadline_ns)
{
	(void)slot;
	if (k->pool->old)
		return -EINVAL;
	if (now_ns() >= deadline_ns)
		return -ETIMEDOUT;
	if (__atomic_load_n(&k->me->joining, __ATOMIC_SEQ_CST) != incarnation)
		return -EAGAIN;
	__atomic_store_n(&k->me->prolonged_ns, deadline_ns, __ATOMIC_SEQ_CST);
	return 0;
}

static int join(struct kernel *k, uint32_t slot, uint64_t incarnation,
		uint64_t *deadline_ns)
{
	struct fake_slot *s = &k->pool->slots[slot];
	uint32_t i;

	if (incarnation <= s->incarnation || incarnation <= k->me->tried)
		return -ESTALE;
	k->me->tried = incarnation;
	for (i = 0; i < FAKE_HOSTS; i++) {
		const struct fake_host *h = &k->pool->hosts[i];

		if (h != k->me && h->up && h->slot == slot &&
		    h->deadline_ns > now_ns()) {
			say(k, now_ns(), "clash", ",\"other\":%u", i);
			return -EBUSY;
		}
	}
	if (k->me->cut)
		return -EIO;
	/* It blocks, and takes no other grant meanwhile. */
	unlock(k);
	*deadline_ns = be_joining(k, incarnation, *deadline_ns);
	lock(k);
	*s = (struct fake_slot) {
		.state = KVCACHE_SLOT_ACTIVE,
		.host = k->number,
		.incarnation = incarnation,
		.sequence = s->sequence + 1,
	};
	if (now_ns() >= *deadline_ns)
		return -ESTALE;
	k->me->up = 1;
	k->me->slot = slot;
	k->me->incarnation = incarnation;
	k->me->loaded_ns = now_ns() + (uint64_t)k->pool->load_ms * 1000000;
	say(k, now_ns(), "join", ",\"deadline\":%" PRIu64, *deadline_ns);
	return 0;
}

static void release(struct kernel *k, uint32_t number)
{
	struct fake_ag *ag = &k->me->ags[number];

	if (ag->state != KVCACHE_AG_OWNED && ag->state != KVCACHE_AG_TAKING)
		return;
	ag->state = KVCACHE_AG_RELEASING;
	ag->ready_ns = now_ns() + (uint64_t)k->pool->release_ms * 1000000;
}

static void apply(struct kernel *k, const struct kvcache_grant_ag *ags,
		  uint32_t nr)
{
	char text[2048] = "";
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < k->pool->nr_ags; i++)
		k->me->ags[i].granted = 0;
	for (i = 0; i < nr; i++) {
		k->me->ags[ags[i].ag].granted = ags[i].epoch;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s[%u,%" PRIu64 "]",
					i ? "," : "", ags[i].ag,
					(uint64_t)ags[i].epoch);
	}
	say(k, now_ns(), "grant", ",\"deadline\":%" PRIu64 ",\"ags\":[%s]",
	    k->me->deadline_ns, text);
	for (i = 0; i < k->pool->nr_ags; i++) {
		struct fake_ag *ag = &k->me->ags[i];

		if (ag->granted != ag->epoch)
			release(k, i);
	}
	tick(k);
}

int kernel_grant(struct kernel *k, uint32_t slot, uint64_t incarnation,
		 uint64_t deadline_ns, const struct kvcache_grant_ag *ags,
		 uint32_t nr_ags)
{
	struct fake_host *me = k->me;
	uint32_t i;
	int error = 0;

	lock(k);
	tick(k);
	if (!me->attached)
		error = -ENODEV;
	else if (slot >= k->pool->nr_slots)
		error = -EINVAL;
	else if (now_ns() >= deadline_ns)
		error = -ETIMEDOUT;
	for (i = 0; i < nr_ags && !error; i++)
		if (ags[i].ag >= k->pool->nr_ags || ags[i].reserved ||
		    !ags[i].epoch || (i && ags[i].ag <= ags[i - 1].ag))
			error = -EINVAL;
	if (error)
		goto out;
	if (me->up) {
		if (me->slot != slot || me->incarnation != incarnation)
			error = -EBUSY;
	} else {
		error = join(k, slot, incarnation, &deadline_ns);
	}
	if (error)
		goto out;
	if (deadline_ns > me->deadline_ns || me->slot != slot)
		me->deadline_ns = deadline_ns;
	apply(k, ags, nr_ags);
out:
	if (error == -EINVAL)
		say(k, now_ns(), "malformed", "%s", "");
	unlock(k);
	return error;
}

int kernel_ags(struct kernel *k, struct kvcache_ag_info *ags, uint32_t room)
{
	uint32_t i;

	lock(k);
	tick(k);
	if (!k->me->up) {
		unlock(k);
		return -ESTALE;
	}
	for (i = 0; i < k->pool->nr_ags && i < room; i++) {
		const struct fake_ag *ag = &k->me->ags[i];
		bool known = k->me->up && now_ns() >= k->me->loaded_ns;

		ags[i] = (struct kvcache_ag_info) {
			.ag = i,
			.state = ag->state == KVCACHE_AG_FOLLOWED &&
				 home_is_gone(k, i) ? KVCACHE_AG_LOST : ag->state,
			.epoch = ag->epoch,
			.shown = known ? k->pool->epochs[i] : 0,
			.next_epoch = known ? next_epoch(k, i) : 0,
			.home = i % FAKE_MEMBERS,
			.error = ag->error,
		};
	}
	unlock(k);
	return (int)i;
}

int kernel_slots(struct kernel *k, struct kvcache_slot_info *slots,
		 uint32_t room)
{
	uint64_t now = now_ns();
	uint32_t i;

	lock(k);
	tick(k);
	if (k->me->cut) {
		unlock(k);
		return -EIO;
	}
	for (i = 0; i < k->pool->nr_slots && i < room; i++) {
		struct fake_slot *s = &k->pool->slots[i];
		const struct fake_host *h = &k->pool->hosts[s->host];
		bool alive = s->state == KVCACHE_SLOT_ACTIVE && h->up &&
			     h->slot == i && h->incarnation == s->incarnation;

		/* Its kernel writes its heartbeat while the grant lasts. */
		if (alive && now < h->deadline_ns)
			s->sequence++;
		slots[i] = (struct kvcache_slot_info) {
			.slot = i,
			.state = s->state,
			.incarnation = s->incarnation,
			.sequence = s->sequence,
			.silent_ms = alive && now > h->deadline_ns ?
				(uint32_t)((now - h->deadline_ns) / 1000000) :
				alive ? 0 : 1000000,
		};
		snprintf((char *)slots[i].node, sizeof(slots[i].node), "host%u",
			 s->host);
	}
	unlock(k);
	return (int)i;
}

/* "kvcached-fake" with KVC_FAKE_MAKE: make a pool, or change one. */
__attribute__((constructor)) static void make(void)
{
	const char *what = getenv("KVC_FAKE_MAKE"), *where = getenv("KVC_FAKE");
	struct fake_pool *pool;
	char path[512], word[32];
	int fd, used;
	uint64_t value;

	if (!what)
		return;
	snprintf(path, sizeof(path), "%s/pool", where);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, sizeof(*pool)))
		abort();
	pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED)
		abort();
	while (sscanf(what, " %31[a-z_]=%" SCNu64 "%n", word, &value, &used) == 2) {
		uint32_t i, v = (uint32_t)value;

		what += used;
		if (!strcmp(word, "ags"))
			pool->nr_ags = v;
		else if (!strcmp(word, "slots"))
			pool->nr_slots = v;
		else if (!strcmp(word, "lease"))
			pool->lease_ms = v;
		else if (!strcmp(word, "q"))
			pool->q_ms = v;
		else if (!strcmp(word, "join"))
			pool->join_ms = v;
		else if (!strcmp(word, "gone"))
			pool->gone = v;
		else if (!strcmp(word, "old"))
			pool->old = v;
		else if (!strcmp(word, "load"))
			pool->load_ms = v;
		else if (!strcmp(word, "take"))
			pool->take_ms = v;
		else if (!strcmp(word, "release"))
			pool->release_ms = v;
		else if (!strcmp(word, "cut"))
			pool->hosts[v].cut = 1;
		else if (!strcmp(word, "mend"))
			pool->hosts[v].cut = 0;
		else if (!strcmp(word, "lose"))
			pool->hosts[v].lost = 1;
		else if (!strcmp(word, "epoch"))
			for (i = 0; i < FAKE_AGS; i++)
				pool->epochs[i] = value;
		else
			abort();
	}
	_exit(0);
}
