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

	vt_begin("the same key put on both at the same time is deleted on both");
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

/* --- main --- */

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "visible", test_visible },	{ "refused", test_refused },
		{ "evict", test_evict },	{ "crash", test_crash },
	};
	uint64_t start;
	size_t i;
	int k;

	vt_members_env(&pool, 0, MEMBERS);
	device = open(KVC_DEVICE, O_RDWR | O_CLOEXEC);
	vt_need(device >= 0, "open " KVC_DEVICE ": %s", strerror(errno));
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		bool wanted = argc == 1;

		for (k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], tests[i].name);
		if (!wanted)
			continue;
		start = vt_ms();
		tests[i].run();
		vt_note("%s took %llu ms", tests[i].name,
			(unsigned long long)(vt_ms() - start));
	}
	vt_exit();
}
