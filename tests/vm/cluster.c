// SPDX-License-Identifier: GPL-2.0
/*
 * Hosts that share a pool, each a machine of its own: what one of them does, and
 * what two do together, agreeing by TCP over the fabric's network.
 *
 * usage: cluster serve
 *	  cluster shared PEER TEST...
 *	  cluster load PREFIX STOP-FILE
 *	  cluster verify PREFIX COUNT [PATIENCE-MS]
 *	  cluster delete PREFIX COUNT
 *	  cluster paused PREFIX COUNT GAP-MS
 *	  cluster lapsed PREFIX COUNT
 *	  cluster owns AGS PATIENCE-MS
 *
 * serve does what peers ask for, in the background. shared runs tests, at the
 * address PEER the other host's serve; the pool is attached on both. load puts one
 * object after the other until the file is there, and prints "committed N" when N
 * have been; verify wants so many to be hits. paused waits for the machine to stop
 * for longer than a lease, and lapsed for its lease to end while it runs: until the
 * host has joined anew, there must be no hits, and nothing is committed. owns waits
 * until the host owns so many AGs, 0 for all.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keyed.h"

#define PORT	7700
#define MAX_LEN	6000

/*
 * A load puts at most so many objects a second, whatever the machine could do:
 * what it has put shall be there to the end, and is not if the pool gets full.
 */
#define LOAD_PER_S	24

/* --- the other host --- */

static bool transfer(int fd, void *buf, size_t len, bool out)
{
	uint8_t *at = buf;

	while (len) {
		ssize_t n = out ? send(fd, at, len, MSG_NOSIGNAL) : read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static void *attend(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct kvc *kvc = NULL;
	struct keyed what;
	struct keyed_tally tally;

	while (transfer(fd, &what, sizeof(what), false)) {
		what.prefix[KEYED_PREFIX_MAX - 1] = '\0';
		keyed_do(&kvc, &what, &tally);
		if (!transfer(fd, &tally, sizeof(tally), true))
			break;
	}
	if (kvc)
		kvc_close(kvc);
	close(fd);
	return NULL;
}

static void serve(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	vt_need(!bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 16),
		"listen: %s", strerror(errno));
	/* Nobody waits for us. */
	if (fork())
		_exit(0);
	freopen("/tmp/serve.log", "w", stdout);
	for (;;) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (peer < 0)
			continue;
		setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (pthread_create(&thread, NULL, attend, (void *)(intptr_t)peer))
			close(peer);
		else
			pthread_detach(thread);
	}
}

/**
 * struct host - one of the two, as a thread sees it
 * @fd: connection to its serve; -1: it is us
 * @kvc: ours
 */
struct host {
	int fd;
	struct kvc *kvc;
};

static const char *peer_address;

static struct host us(void)
{
	return (struct host) { .fd = -1 };
}

static struct host peer(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
	};
	struct host h = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	int on = 1;

	vt_need(inet_pton(AF_INET, peer_address, &a.sin_addr) == 1 && h.fd >= 0 &&
		!connect(h.fd, (struct sockaddr *)&a, sizeof(a)),
		"connect to %s: %s", peer_address, strerror(errno));
	setsockopt(h.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return h;
}

static void done_with(struct host *h)
{
	if (h->fd >= 0)
		close(h->fd);
	if (h->kvc)
		kvc_close(h->kvc);
}

/* Returns when the host has done it: what it put has been put by then. */
static struct keyed_tally on(struct host *h, struct keyed what)
{
	struct keyed_tally tally;

	if (h->fd < 0)
		keyed_do(&h->kvc, &what, &tally);
	else
		vt_need(transfer(h->fd, &what, sizeof(what), true) &&
			transfer(h->fd, &tally, sizeof(tally), false),
			"the other host went away");
	return tally;
}

/* False: there is no pool now. */
static bool info_now(struct kvcache_info *info)
{
	struct kvc *kvc = kvc_open(NULL, 0);
	bool there = kvc && !kvc_info(kvc, info, NULL, 0);

	if (kvc)
		kvc_close(kvc);
	return there;
}

static struct kvcache_info info_of(void)
{
	struct kvcache_info info;

	vt_need(info_now(&info), "there is no pool");
	return info;
}

/* Every key of a tally was done, as far as @what counts. */
static bool all(const struct keyed_tally *t, uint32_t n, uint32_t got,
		const char *what)
{
	return vt_expect(got == n, "%s: %u of %u: %s", what, got, n,
			 keyed_text(t));
}

/* --- what is put on one host is there on the other --- */

#define RAW_BATCH	127
#define RAW_BATCHES	39	/* each way */
#define RAW_SINGLE	47	/* each way */

/* So many batches each way, and single objects. */
static void visible(uint32_t batches, uint32_t single)
{
	struct host hosts[2] = { us(), peer() };
	struct keyed_tally put, got, puts = { 0 }, gets = { 0 };
	struct kvcache_info before = info_of(), after;
	uint64_t put_ms[2] = { 0 }, get_ms[2] = { 0 }, from, to;
	uint32_t i, way, n, total = 0;

	vt_begin("what a put on one host has returned is a hit on the other at once: %u objects, both ways, no stale answer",
		 2 * (batches * RAW_BATCH + single));
	for (i = 0; i < batches + single; i++) {
		n = i < batches ? RAW_BATCH : 1;
		for (way = 0; way < 2; way++) {
			const char *prefix = way ? "raw-b" : "raw-a";

			from = vt_ms();
			put = on(&hosts[way], keyed_make(KEYED_PUT, prefix, total, n, MAX_LEN));
			to = vt_ms();
			put_ms[n == 1] += to - from;
			got = on(&hosts[!way], keyed_make(KEYED_GET, prefix, total, n, MAX_LEN));
			get_ms[n == 1] += vt_ms() - to;
			keyed_add(&puts, &put);
			keyed_add(&gets, &got);
		}
		total += n;
	}
	all(&puts, 2 * total, puts.done + puts.exists, "puts");
	all(&gets, 2 * total, gets.done, "gets");
	after = info_of();
	vt_note("%u objects each way; a put and a get of %u took %" PRIu64 " and %" PRIu64 " ms, of one %" PRIu64 " and %" PRIu64 " ms; puts: %s",
		total, RAW_BATCH, put_ms[0] / (2 * batches),
		get_ms[0] / (2 * batches), put_ms[1] / (2 * single),
		get_ms[1] / (2 * single), keyed_text(&puts));
	vt_note("gets: %s", keyed_text(&gets));
	vt_note("this host: %" PRIu64 " refreshes that read %" PRIu64 " blocks, %" PRIu64 " journal blocks taken in, %" PRIu64 " misses, lease still %u of %u ms",
		(uint64_t)(after.refreshes - before.refreshes),
		(uint64_t)(after.refresh_blocks - before.refresh_blocks),
		(uint64_t)(after.followed_blocks - before.followed_blocks),
		(uint64_t)(after.misses - before.misses), after.lease_left_ms,
		after.lease_ms);
	vt_end();

	vt_begin("once seen, they are hits on both");
	for (way = 0; way < 2; way++) {
		got = on(&hosts[way], keyed_make(KEYED_GET, "raw-a", 0, 400, MAX_LEN));
		all(&got, 400, got.done, way ? "there, put here" : "here, put here");
		got = on(&hosts[way], keyed_make(KEYED_GET, "raw-b", 0, 400, MAX_LEN));
		all(&got, 400, got.done, way ? "there, put there" : "here, put there");
	}
	vt_end();
	done_with(&hosts[0]);
	done_with(&hosts[1]);
}

static void test_visible(void)
{
	visible(RAW_BATCHES, RAW_SINGLE);
}

static void test_some(void)
{
	visible(4, 10);
}

/* --- the same keys at the same time --- */

#define RACES		20
#define RACE_KEYS	48
#define RACE_DELETED	40	/* by each host */

struct job {
	struct host *host;
	struct keyed what;
	struct keyed_tally tally;
};

static void *run_job(void *arg)
{
	struct job *j = arg;

	j->tally = on(j->host, j->what);
	return NULL;
}

/* Both hosts do something, side by side. */
static void both(struct host hosts[2], struct keyed what, struct keyed_tally out[2])
{
	struct job there = { &hosts[1], what, { 0 } };
	pthread_t thread;

	vt_need(!pthread_create(&thread, NULL, run_job, &there), "a thread");
	out[0] = on(&hosts[0], what);
	pthread_join(thread, NULL);
	out[1] = there.tally;
}

static void test_race(void)
{
	struct host hosts[2] = { us(), peer() };
	struct keyed_tally t[2], sum[2] = { 0 };
	const uint32_t total = RACES * RACE_KEYS;
	uint32_t i, k, twice = 0;

	vt_begin("both hosts put the same keys at the same time: each is there, whole, on both");
	for (i = 0; i < RACES; i++) {
		struct keyed put = keyed_make(KEYED_PUT, "race", (uint64_t)i * RACE_KEYS,
					      RACE_KEYS, MAX_LEN);

		/* In few calls or in many, so that they meet in other ways. */
		put.batch = i % 3 ? 1 + i % 7 : RACE_KEYS;
		both(hosts, put, t);
		for (k = 0; k < 2; k++) {
			all(&t[k], RACE_KEYS, t[k].done + t[k].exists,
			    k ? "puts there" : "puts here");
			keyed_add(&sum[k], &t[k]);
		}
		vt_expect(t[0].done + t[1].done + t[0].again + t[1].again >= RACE_KEYS,
			  "round %u: %u and %u of %u keys were put", i, t[0].done,
			  t[1].done, RACE_KEYS);
		if (t[0].done + t[1].done > RACE_KEYS)
			twice += t[0].done + t[1].done - RACE_KEYS;
	}
	both(hosts, keyed_make(KEYED_GET, "race", 0, total, MAX_LEN), t);
	all(&t[0], total, t[0].done, "gets here");
	all(&t[1], total, t[1].done, "gets there");
	vt_note("of %u keys %u were put here and %u there, %u of them by both", total,
		sum[0].done, sum[1].done, twice);
	vt_end();

	vt_begin("a delete takes all copies of such a key away, on both hosts");
	t[0] = on(&hosts[0], keyed_make(KEYED_DELETE, "race", 0, RACE_DELETED, MAX_LEN));
	all(&t[0], RACE_DELETED, t[0].done + (t[0].again ? t[0].misses : 0), "deletes here");
	t[1] = on(&hosts[1], keyed_make(KEYED_DELETE, "race", RACE_DELETED, RACE_DELETED, MAX_LEN));
	all(&t[1], RACE_DELETED, t[1].done + (t[1].again ? t[1].misses : 0), "deletes there");
	/* A host other than the one that deleted may hit until its next refresh. */
	t[0] = on(&hosts[0], keyed_make(KEYED_GET, "race", 0, RACE_DELETED, MAX_LEN));
	all(&t[0], RACE_DELETED, t[0].misses, "gets where they were deleted, here");
	t[1] = on(&hosts[1], keyed_make(KEYED_GET, "race", RACE_DELETED, RACE_DELETED, MAX_LEN));
	all(&t[1], RACE_DELETED, t[1].misses, "gets where they were deleted, there");
	vt_end();
	done_with(&hosts[0]);
	done_with(&hosts[1]);
}

/* --- deletes --- */

#define DELETED	60

/* Until all of them miss; hits of what another host deleted end with a refresh. */
static void wait_gone(struct host *h, const char *prefix, const char *where)
{
	uint64_t end = vt_ms() + 60000;
	struct keyed_tally t;

	do {
		t = on(h, keyed_make(KEYED_GET, prefix, 0, DELETED, MAX_LEN));
	} while (t.misses != DELETED && vt_ms() < end);
	all(&t, DELETED, t.misses, where);
}

static void test_delete(void)
{
	struct host hosts[2] = { us(), peer() };
	struct keyed_tally t;
	uint64_t start;
	uint32_t way;

	vt_begin("a host deletes what the other has put: when the delete returns it misses there, and soon on all");
	for (way = 0; way < 2; way++) {
		const char *prefix = way ? "del-b" : "del-a";

		t = on(&hosts[way], keyed_make(KEYED_PUT, prefix, 0, DELETED, MAX_LEN));
		all(&t, DELETED, t.done + t.exists, "puts");
		start = vt_ms();
		t = on(&hosts[!way], keyed_make(KEYED_DELETE, prefix, 0, DELETED, MAX_LEN));
		vt_note("%u deletes of the other host's objects took %" PRIu64 " ms: %s",
			DELETED, vt_ms() - start, keyed_text(&t));
		all(&t, DELETED, t.done + (t.again ? t.misses : 0), "deletes");
		t = on(&hosts[!way], keyed_make(KEYED_GET, prefix, 0, DELETED, MAX_LEN));
		all(&t, DELETED, t.misses, "gets where they were deleted");
		wait_gone(&hosts[way], prefix, "gets where they had been put");
		t = on(&hosts[!way], keyed_make(KEYED_DELETE, prefix, 0, DELETED, MAX_LEN));
		all(&t, DELETED, t.misses, "deletes of what is gone");
	}
	vt_end();

	vt_begin("deleted keys can be put again, by either host");
	for (way = 0; way < 2; way++) {
		const char *prefix = way ? "del-b" : "del-a";

		t = on(&hosts[!way], keyed_make(KEYED_PUT, prefix, 0, DELETED, MAX_LEN));
		all(&t, DELETED, t.done + (t.again ? t.exists : 0), "puts");
		t = on(&hosts[way], keyed_make(KEYED_GET, prefix, 0, DELETED, MAX_LEN));
		all(&t, DELETED, t.done, "gets");
	}
	vt_end();
	done_with(&hosts[0]);
	done_with(&hosts[1]);
}

/* --- one host evicts while the other reads --- */

#define EVICT_LEN	48000
#define EVICT_BATCH	48
#define HOT		64	/* keys 0 .. HOT - 1 are read all the time */

struct reader {
	struct host host;
	pthread_t thread;
	uint64_t put;		/* keys below that have been put */
	bool stop;
	struct keyed_tally sum;
};

static void *read_all_the_time(void *arg)
{
	struct reader *r = arg;
	struct vt_rng rng = { 1 };
	struct keyed_tally t;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint64_t put = __atomic_load_n(&r->put, __ATOMIC_ACQUIRE);
		struct keyed get;

		if (put < 2 * HOT + 16)
			continue;
		get = keyed_make(KEYED_GET, "ev", vt_below(&rng, put - 16), 16, EVICT_LEN);
		/* The cold ones are to stay so. */
		if (get.first + 16 > HOT && get.first < 2 * HOT)
			get.first = 2 * HOT;
		t = on(&r->host, get);
		keyed_add(&r->sum, &t);
		t = on(&r->host, keyed_make(KEYED_GET, "ev", 0, HOT, EVICT_LEN));
		keyed_add(&r->sum, &t);
	}
	return NULL;
}

static void test_evict(void)
{
	struct host here = us(), there = peer();
	struct kvcache_info before = info_of(), after;
	uint64_t bytes = 0, want, start = vt_ms();
	struct reader r = { .host = peer() };
	struct keyed_tally put, sum = { 0 }, hot, cold;
	uint32_t i;

	vt_begin("a host evicts while the other reads: every byte that is read is right");
	want = before.capacity / before.nr_ags * before.owned_ags;
	want += want / 4;
	vt_need(!pthread_create(&r.thread, NULL, read_all_the_time, &r), "a thread");
	while (bytes < want && vt_ms() - start < 120000) {
		struct keyed what = keyed_make(KEYED_PUT, "ev", r.put, EVICT_BATCH,
					       EVICT_LEN);

		put = on(&here, what);
		keyed_add(&sum, &put);
		for (i = 0; i < EVICT_BATCH; i++)
			bytes += keyed_len(&what, r.put + i) + 2048;
		__atomic_store_n(&r.put, r.put + EVICT_BATCH, __ATOMIC_RELEASE);
	}
	hot = on(&there, keyed_make(KEYED_GET, "ev", 0, HOT, EVICT_LEN));
	cold = on(&there, keyed_make(KEYED_GET, "ev", HOT, HOT, EVICT_LEN));
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	pthread_join(r.thread, NULL);
	after = info_of();
	all(&sum, (uint32_t)r.put, sum.done + sum.exists, "puts");
	vt_expect(after.evicted_objects > before.evicted_objects,
		  "nothing was evicted");
	vt_expect(!r.sum.wrong && !r.sum.errors && !r.sum.stale && r.sum.done,
		  "gets: %s", keyed_text(&r.sum));
	vt_note("%" PRIu64 " MiB put in %" PRIu64 " ms: %s; %" PRIu64 " objects evicted, %" PRIu64 " moved",
		bytes >> 20, vt_ms() - start, keyed_text(&sum),
		(uint64_t)(after.evicted_objects - before.evicted_objects),
		(uint64_t)(after.rewritten_objects - before.rewritten_objects));
	vt_note("gets meanwhile: %s", keyed_text(&r.sum));
	vt_end();

	vt_begin("what the other host reads again and again counts as used: it outlives what nobody reads");
	vt_note("of %u objects that were read %u are left, of as many that were not %u",
		HOT, hot.done, cold.done);
	vt_expect(hot.done > cold.done, "read: %s; not read: %s", keyed_text(&hot),
		  keyed_text(&cold));
	vt_end();
	done_with(&here);
	done_with(&there);
	done_with(&r.host);
}

static void shared(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "visible", test_visible }, { "some", test_some },
		{ "race", test_race },	     { "delete", test_delete },
		{ "evict", test_evict },
	};

	peer_address = argv[0];
	vt_run(tests, sizeof(tests) / sizeof(*tests), argv + 1, argc - 1);
}

/* --- a host by itself --- */

/* A miss of what was evicted is the test's fault, any other the pool's. */
static void note_evictions(void)
{
	struct kvcache_info info;

	if (info_now(&info))
		vt_note("this attachment has evicted %" PRIu64 " objects",
			(uint64_t)info.evicted_objects);
}

static void load(const char *prefix, const char *stop)
{
	struct kvc *kvc = NULL;
	struct keyed_tally t;
	struct vt_rng rng = { 3 };
	uint64_t n = 0, start = vt_ms();
	uint32_t again = 0, misses = 0;

	while (access(stop, F_OK)) {
		struct keyed what = keyed_make(KEYED_PUT, prefix, n, 8, MAX_LEN);

		/* Whoever wants it to end may have to wait for one such. */
		what.patience_ms = 90000;
		what.deadline_ms = 2000;
		keyed_do(&kvc, &what, &t);
		again += t.again;
		if (t.done + t.exists != 8) {
			vt_note("%s: puts from %" PRIu64 " on: %s", prefix, n,
				keyed_text(&t));
			continue;
		}
		n += 8;
		printf("committed %" PRIu64 " at %" PRIu64 "\n", n, vt_ms() - start);
		fflush(stdout);
		if (vt_ms() - start < n * 1000 / LOAD_PER_S)
			vt_sleep_ms(8 * 1000 / LOAD_PER_S);
		what = keyed_make(KEYED_GET, prefix, vt_below(&rng, n - 7), 8, MAX_LEN);
		what.patience_ms = 90000;
		what.deadline_ms = 2000;
		keyed_do(&kvc, &what, &t);
		again += t.again;
		misses += t.misses;
		if (t.wrong)
			vt_not_ok("%s: gets from %" PRIu64 " on: %s", prefix,
				  what.first, keyed_text(&t));
	}
	vt_note("%s: %" PRIu64 " objects in %" PRIu64 " ms, %u keys asked for again",
		prefix, n, vt_ms() - start, again);
	if (!misses)
		return;
	vt_not_ok("%s: %u misses of what had been put", prefix, misses);
	note_evictions();
}

static void verify(const char *prefix, uint32_t count, uint32_t patience,
		   enum keyed_op op)
{
	struct keyed what = keyed_make(op, prefix, 0, count, MAX_LEN);
	struct kvc *kvc = NULL;
	uint64_t start = vt_ms();
	struct keyed_tally t;

	what.patience_ms = patience;
	keyed_do(&kvc, &what, &t);
	printf("%s: %s in %" PRIu64 " ms\n", prefix, keyed_text(&t), vt_ms() - start);
	if (t.done != count)
		note_evictions();
	fflush(stdout);
	exit(t.done != count);
}

/* --- a lease that ends --- */

/*
 * Look until a lease has ended, and on until the host has joined anew and hits
 * all. @gap_ms: the lease ends while we don't run, for so long; 0: we do.
 */
static void lapse(const char *prefix, uint32_t count, uint32_t gap_ms)
{
	struct kvcache_info first = info_of(), after;
	uint64_t then = vt_ms(), lapsed = 0, end = then + 180000, back;
	struct keyed_tally t, sum = { 0 };
	struct kvc *kvc = NULL;
	bool grown = false;

	vt_begin(gap_ms ? "a machine that stood still for longer than its lease answers no hits and commits nothing until it has joined anew" :
			  "a host whose lease has ended answers no hits and commits nothing until it has joined anew");
	printf("watching\n");
	fflush(stdout);
	for (;;) {
		struct keyed what = keyed_make(KEYED_GET, prefix, 0, 8, MAX_LEN);
		uint64_t now;
		bool gap;

		what.patience_ms = 0;
		what.deadline_ms = 500;
		keyed_do(&kvc, &what, &t);
		after = info_of();
		now = vt_ms();
		gap = gap_ms && now - then >= gap_ms;
		then = now;
		vt_expect(!t.wrong, "%s", keyed_text(&t));
		if (now > end) {
			vt_expect(false, "%s", lapsed ? "it did not join anew" :
							"its lease did not end");
			break;
		}
		if (!lapsed) {
			/* This very call may have been answered before. */
			if (gap || after.state == KVCACHE_POOL_LAPSED) {
				lapsed = now;
				first = after;
			}
			continue;
		}
		/* So it was without a lease when it answered, too. */
		if (after.incarnation != first.incarnation)
			break;
		keyed_add(&sum, &t);
		vt_expect(!t.done, "hits without a lease: %s", keyed_text(&t));
		if (!grown && (after.puts != first.puts ||
			       after.deletes != first.deletes))
			grown = !vt_expect(false, "without a lease it has answered %" PRIu64 " puts and %" PRIu64 " deletes",
					   (uint64_t)(after.puts - first.puts),
					   (uint64_t)(after.deletes - first.deletes));
		vt_sleep_ms(10);
	}
	back = vt_ms();
	vt_note("joined anew after %" PRIu64 " ms; answers until then: %s",
		back - lapsed, keyed_text(&sum));
	vt_end();
	if (kvc)
		kvc_close(kvc);
	vt_begin("then it hits again what it had put");
	{
		struct keyed what = keyed_make(KEYED_GET, prefix, 0, count, MAX_LEN);

		kvc = NULL;
		keyed_do(&kvc, &what, &t);
		all(&t, count, t.done, "gets");
	}
	vt_end();
}

static void owns(uint32_t ags, uint32_t patience)
{
	struct kvcache_info info = { 0 };
	uint64_t start = vt_ms();

	do {
		if (info_now(&info) &&
		    info.owned_ags == (ags ? ags : info.nr_ags)) {
			printf("owns %u AGs after %" PRIu64 " ms\n", info.owned_ags,
			       vt_ms() - start);
			return;
		}
		vt_sleep_ms(50);
	} while (vt_ms() - start < patience);
	printf("owns %u of %u AGs, state %u, lease left %u ms\n", info.owned_ags,
	       info.nr_ags, info.state, info.lease_left_ms);
	exit(1);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	uint32_t n[3] = { 0 };
	int i;

	for (i = 3; i < argc && i < 6; i++)
		n[i - 3] = (uint32_t)atoi(argv[i]);
	if (!strcmp(verb, "serve"))
		serve();
	else if (!strcmp(verb, "shared") && argc > 3)
		shared(argc - 2, argv + 2);
	else if (!strcmp(verb, "load") && argc == 4)
		load(argv[2], argv[3]);
	else if (!strcmp(verb, "verify") && argc > 3)
		verify(argv[2], n[0], argc > 4 ? n[1] : 60000, KEYED_GET);
	else if (!strcmp(verb, "delete") && argc > 3)
		verify(argv[2], n[0], 60000, KEYED_DELETE);
	else if (!strcmp(verb, "paused") && argc == 5)
		lapse(argv[2], n[0], n[1]);
	else if (!strcmp(verb, "lapsed") && argc == 4)
		lapse(argv[2], n[0], 0);
	else if (!strcmp(verb, "owns") && argc == 4)
		owns((uint32_t)atoi(argv[2]), n[0]);
	else
		return 2;
	vt_exit();
}
