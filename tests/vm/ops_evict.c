// SPDX-License-Identifier: GPL-2.0
/*
 * What keeps an object and what ends it: expiry, pins and their budget, depth;
 * and listings that are complete while objects move. For a small pool of its
 * own, which is filled many times over.
 *
 * usage: ops_evict POOL [TEST]
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "again.h"

#define DEADLINE_MS 30000

static struct kvc *kvc;
static struct kvcache_info info;
static const struct kvc_call call = { .deadline_ms = DEADLINE_MS };
static uint8_t *buf;

static void get_info(void)
{
	int err = kvc_info(kvc, &info, NULL, 0);

	vt_need(!err, "info of the pool: %d", err);
}

static uint64_t seed_of(const char *key)
{
	uint64_t h = 1;

	while (*key)
		h = vt_mix(h, (uint8_t)*key++);
	return h;
}

static int put_with(const char *key, size_t len, uint64_t expiry, uint64_t pin,
		    unsigned int depth)
{
	struct kvcache_io io;

	vt_fill(buf, seed_of(key), len, len);
	kvc_prep_data(&io, key, strlen(key), buf, len);
	kvc_set_expiry(&io, expiry);
	kvc_set_depth(&io, (uint16_t)depth);
	if (pin)
		kvc_set_pin(&io, pin);
	return again_one(kvc, KVCACHE_IOC_PUT, &call, &io);
}

static int put(const char *key, size_t len)
{
	return put_with(key, len, 0, 0, 0);
}

static int exists(const char *key)
{
	return again_exists(kvc, &call, key, strlen(key), NULL);
}

static int delete(const char *key)
{
	return again_delete(kvc, &call, key, strlen(key));
}

/* 0, or -errno; every byte is compared. */
static int get(const char *key, size_t len)
{
	ssize_t got = again_get(kvc, &call, key, strlen(key), buf,
				info.max_object, NULL);

	if (got < 0)
		return (int)got;
	vt_expect((size_t)got == len, "get %s: %zd, not %zu", key, got, len);
	vt_expect(vt_differs(buf, seed_of(key), len, len) < 0,
		  "%s: wrong bytes", key);
	return 0;
}

static int pin(const char *key, uint64_t until)
{
	struct kvcache_io io;

	kvc_prep(&io, key, strlen(key));
	kvc_set_pin(&io, until);
	return again_one(kvc, KVCACHE_IOC_EXISTS, &call, &io);
}

/* Put new objects until @bytes of them were put. */
static void flood(const char *name, uint64_t bytes)
{
	static unsigned int n;
	const size_t len = 60000;
	char key[40];
	uint64_t done;
	int err;

	for (done = 0; done < bytes; done += 65536) {
		snprintf(key, sizeof(key), "flood-%s-%u", name, n++);
		err = put(key, len);
		if (!vt_expect(!err, "put %s: %d", key, err))
			return;
	}
}

/* Nothing of the tests before: empty but for what is still pinned. */
static void clear(void)
{
	struct kvc_list *list = kvc_list_open(kvc, &call, NULL, 0, 0);
	char (*keys)[64] = calloc(65536, sizeof(*keys));
	unsigned int i, n = 0;
	struct kvc_object o;

	vt_need(list && keys, "open a listing");
	while (n < 65536 && kvc_list_next(list, &o) == 1)
		if (o.key_len < 64)
			memcpy(keys[n++], o.key, o.key_len);
	kvc_list_close(list);
	for (i = 0; i < n; i++)
		delete(keys[i]);
	free(keys);
}

static void wait_past(uint64_t when)
{
	while (vt_now() <= when)
		vt_sleep_ms(50);
}

/* --- expiry --- */

static bool is_listed(const char *name, uint64_t *expiry)
{
	struct kvc_list *list = kvc_list_open(kvc, &call, name, strlen(name), 0);
	struct kvc_object o;
	bool found = false;
	int err;

	vt_need(list, "open a listing");
	while ((err = kvc_list_next(list, &o)) == 1) {
		if (o.key_len != strlen(name))
			continue;
		found = true;
		if (expiry)
			*expiry = o.expiry;
	}
	vt_expect(!err, "list: %d", err);
	kvc_list_close(list);
	return found;
}

static void test_expiry(void)
{
	uint64_t when = vt_now() + 6, told = 0;
	unsigned int i;
	char key[32];
	int err;

	vt_begin("an object is there until its expiry and not after, and can be put again");
	for (i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "expires-%u", i);
		err = put_with(key, 3000 + i, when, 0, 0);
		vt_expect(!err, "put %s: %d", key, err);
	}
	err = put_with("never", 100, UINT64_MAX, 0, 0);
	vt_expect(!err, "put never: %d", err);
	err = put_with("stale", 100, vt_now() - 10, 0, 0);
	vt_expect(!err, "put of what has expired: %d", err);
	vt_expect(exists("stale") == -ENOENT, "what had expired is there");
	if (vt_now() < when) {
		vt_expect(is_listed("expires-3", &told) && told == when,
			  "listed with expiry %llu", (unsigned long long)told);
		for (i = 0; i < 20; i++) {
			snprintf(key, sizeof(key), "expires-%u", i);
			err = get(key, 3000 + i);
			vt_expect(!err || vt_now() >= when, "get %s early: %d", key,
				  err);
		}
	}
	wait_past(when);
	for (i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "expires-%u", i);
		vt_expect(exists(key) == -ENOENT, "%s is there too long", key);
		vt_expect(get(key, 0) == -ENOENT, "%s can be got", key);
		vt_expect(!is_listed(key, NULL), "%s is listed", key);
		vt_expect(delete(key) == -ENOENT, "%s can be deleted", key);
	}
	/* Again, of another length, from two batches' worth of one call. */
	for (i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "expires-%u", i);
		err = put_with(key, 500 + i, i & 1 ? vt_now() + 1000 : 0, 0, 0);
		vt_expect(!err, "put %s again: %d", key, err);
		err = get(key, 500 + i);
		vt_expect(!err, "get %s again: %d", key, err);
		err = put(key, 700);
		vt_expect(err == -EEXIST, "put %s a third time: %d", key, err);
		delete(key);
	}
	vt_expect(!get("never", 100), "what never expires is gone");
	delete("never");
	vt_end();
}

/* --- pins --- */

static void test_pins(void)
{
	const size_t len = 50000;
	const unsigned int n = (unsigned int)(info.capacity / 8 / 53248);
	uint64_t until = vt_now() + 3600, soon;
	unsigned int i, gone, there;
	char key[32];
	int err;

	vt_begin("pinned objects outlive eviction, others do not; and not for longer");
	clear();
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "pinned-%u", i);
		/* Half of them by the put, half of them later. */
		err = put_with(key, len, 0, i & 1 ? until : 0, 0);
		vt_expect(!err, "put %s: %d", key, err);
		if (!(i & 1)) {
			err = pin(key, until);
			vt_expect(!err, "pin %s: %d", key, err);
		}
		snprintf(key, sizeof(key), "loose-%u", i);
		err = put(key, len);
		vt_expect(!err, "put %s: %d", key, err);
	}
	err = pin("nothing", until);
	vt_expect(err == -ENOENT, "pin of nothing: %d", err);
	flood("pins", 2 * info.capacity);
	for (i = 0, gone = 0; i < n; i++) {
		snprintf(key, sizeof(key), "pinned-%u", i);
		err = get(key, len);
		vt_expect(!err, "get %s: %d", key, err);
		snprintf(key, sizeof(key), "loose-%u", i);
		gone += exists(key) == -ENOENT;
	}
	vt_expect(gone > n * 9 / 10, "only %u of %u that were not pinned are gone",
		  gone, n);

	/* Until now or soon: they go like others. */
	soon = vt_now() + 2;
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "pinned-%u", i);
		err = pin(key, soon);
		vt_expect(!err, "pin %s anew: %d", key, err);
	}
	wait_past(soon);
	flood("unpinned", 3 * info.capacity);
	for (i = 0, there = 0; i < n; i++) {
		snprintf(key, sizeof(key), "pinned-%u", i);
		there += !exists(key);
	}
	vt_expect(there < n / 4, "%u of %u are there long after their pin's end",
		  there, n);
	vt_end();
}

/* Pin objects until there is no more budget for it; how many. */
static unsigned int pin_all(const char *name, uint64_t until)
{
	const size_t len = 60000;
	unsigned int i;
	char key[40];
	int err;

	for (i = 0; i < 100000; i++) {
		snprintf(key, sizeof(key), "%s-%u", name, i);
		err = put_with(key, len, 0, until, 0);
		if (err == -EDQUOT)
			break;
		if (!vt_expect(!err, "put %s: %d", key, err))
			break;
	}
	err = exists(key);
	vt_expect(err == -ENOENT, "what was refused is there: %d", err);
	return i;
}

static void test_pin_budget(void)
{
	const uint64_t most = info.capacity / 2;
	uint64_t until = vt_now() + 3600, soon;
	unsigned int i, n, again;
	char key[40];
	int err;

	vt_begin("pins take half of the pool, then EDQUOT; what is unpinned is given back");
	clear();
	n = pin_all("budget", until);
	vt_expect(n * 61440ULL <= most && (n + 2) * 61440ULL > most,
		  "%u objects were pinned, half of the pool is %llu", n,
		  (unsigned long long)most);
	err = put("loose", 60000);
	vt_expect(!err, "put without a pin: %d", err);
	err = pin("loose", until);
	vt_expect(err == -EDQUOT, "pin of what is there: %d", err);
	vt_expect(!get("loose", 60000), "get of what could not be pinned");
	err = pin("budget-0", until + 1);
	vt_expect(!err, "longer pin of what is pinned: %d", err);
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "budget-%u", i);
		err = get(key, 60000);
		vt_expect(!err, "get %s: %d", key, err);
	}

	/* Deleted: their budget is free at once. */
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "budget-%u", i);
		err = delete(key);
		vt_expect(!err, "delete %s: %d", key, err);
	}
	again = pin_all("anew", until);
	vt_expect(again + 2 >= n, "after deletes only %u of %u can be pinned", again, n);

	/* Run out: theirs, too. */
	soon = vt_now() + 2;
	for (i = 0; i < again; i++) {
		snprintf(key, sizeof(key), "anew-%u", i);
		err = pin(key, soon);
		vt_expect(!err, "pin %s anew: %d", key, err);
	}
	wait_past(soon);
	again = pin_all("later", until);
	vt_expect(again + 2 >= n, "after pins' end only %u of %u can be pinned",
		  again, n);
	flood("after", info.capacity);
	for (i = 0; i < again; i++) {
		snprintf(key, sizeof(key), "later-%u", i);
		err = get(key, 60000);
		vt_expect(!err, "get %s: %d", key, err);
		delete(key);
	}
	vt_end();
}

/* --- depth --- */

static void test_depth(void)
{
	const size_t len = 30000;
	const unsigned int n = (unsigned int)(info.capacity / 32768);
	unsigned int i, shallow = 0, deep = 0;
	uint64_t before;
	char key[32];
	int err;

	vt_begin("of objects that were read, the deeper ones go first");
	clear();
	get_info();
	before = info.rewritten_objects;
	/* As much as the pool holds, all read: more than may be rewritten. */
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "depth-%u", i);
		err = put_with(key, len, 0, 0, i & 1 ? 1 : 200);
		vt_expect(!err, "put %s: %d", key, err);
		get(key, len);
	}
	flood("depth", info.capacity);
	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "depth-%u", i);
		if (!exists(key))
			*(i & 1 ? &shallow : &deep) += 1;
	}
	get_info();
	vt_expect(info.rewritten_objects > before, "nothing was rewritten");
	vt_expect(shallow > 2 * deep && shallow,
		  "%u of depth 1 are there, and %u of depth 200", shallow, deep);
	vt_note("%u of %u of depth 1 are there, and %u of depth 200", shallow,
		n / 2, deep);
	vt_end();
}

/* --- listings while objects move --- */

static struct {
	bool stop;
	unsigned int next;	/* of the keys that are put */
	unsigned int kept;	/* hot ones: 0 .. kept - 1 */
} churn;

static size_t churn_len(unsigned int i)
{
	return 1 + i * 7919UL % 40000;
}

static void churn_key(char *key, size_t room, unsigned int i)
{
	snprintf(key, room, "churn-%u-%.*s", i, (int)(i % 40),
		 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghij");
}

/* Puts new objects, and reads old ones so that they are moved. */
static void *churner(void *arg)
{
	uint8_t *p = vt_map(65536);
	struct vt_rng rng = { (uintptr_t)arg };
	char key[64];
	unsigned int i, k;

	while (!__atomic_load_n(&churn.stop, __ATOMIC_RELAXED)) {
		i = churn.next;
		churn_key(key, sizeof(key), i);
		vt_fill(p, seed_of(key), churn_len(i), churn_len(i));
		if (!again_put(kvc, &call, key, strlen(key), p, churn_len(i)))
			__atomic_store_n(&churn.next, i + 1, __ATOMIC_RELEASE);
		for (k = 0; k < 3; k++) {
			churn_key(key, sizeof(key),
				  (unsigned int)vt_below(&rng, churn.kept));
			again_exists(kvc, &call, key, strlen(key), NULL);
			again_get_range(kvc, &call, key, strlen(key), 0, p, 1, NULL);
		}
	}
	return NULL;
}

/* Which of 0 .. n - 1 are there? */
static void which(uint8_t *there, unsigned int n)
{
	struct kvcache_io *ios = calloc(1024, sizeof(*ios));
	char (*keys)[64] = calloc(1024, sizeof(*keys));
	unsigned int i, k, m;

	for (i = 0; i < n; i += m) {
		m = n - i < 1024 ? n - i : 1024;
		for (k = 0; k < m; k++) {
			churn_key(keys[k], sizeof(keys[k]), i + k);
			kvc_prep(&ios[k], keys[k], strlen(keys[k]));
		}
		vt_expect(again_batch(kvc, KVCACHE_IOC_EXISTS, &call, ios, m) >= 0,
			  "exists of %u keys", m);
		for (k = 0; k < m; k++)
			there[i + k] = !ios[k].status;
	}
	free(ios);
	free(keys);
}

/* Every entry of a listing is sound; counts it in @seen. Calls it took. */
static unsigned int list_all(uint32_t buffer_len, const char *prefix,
			     uint8_t *seen, unsigned int room)
{
	uint8_t *mem = vt_map(buffer_len);
	struct kvcache_list ask;
	unsigned int calls = 0, i, entries;
	uint64_t cookie = 0;
	uint32_t at;
	char key[64];

	do {
		ask = (struct kvcache_list) {
			.size = sizeof(ask),
			.pool = kvc_pool(kvc),
			.buffer = (uintptr_t)mem,
			.buffer_len = buffer_len,
			.deadline_ms = DEADLINE_MS,
			.cookie = cookie,
			.prefix = (uintptr_t)prefix,
			.prefix_len = (uint32_t)strlen(prefix),
		};
		if (!vt_expect(!ioctl(kvc_fd(kvc), KVCACHE_IOC_LIST, &ask),
			       "list, call %u: errno %d", calls, errno))
			break;
		calls++;
		vt_expect(ask.used <= buffer_len, "used %u of %u", ask.used,
			  buffer_len);
		for (at = 0, entries = 0; at < ask.used; entries++) {
			const struct kvcache_list_entry *e = (void *)(mem + at);
			char want[64];

			if (!vt_expect(e->entry_len >= sizeof(*e) + e->key_len &&
				       e->entry_len % 8 == 0 &&
				       at + e->entry_len <= ask.used &&
				       e->key_len && e->key_len < sizeof(key),
				       "an entry is malformed"))
				goto out;
			memcpy(key, e + 1, e->key_len);
			key[e->key_len] = '\0';
			at += e->entry_len;
			vt_expect(!strncmp(key, prefix, strlen(prefix)),
				  "%s has not the prefix %s", key, prefix);
			if (sscanf(key, "churn-%u-", &i) != 1)
				continue;
			churn_key(want, sizeof(want), i);
			if (!vt_expect(i <= __atomic_load_n(&churn.next,
							    __ATOMIC_ACQUIRE) &&
				       !strcmp(key, want) &&
				       e->length == churn_len(i) && !e->tenant &&
				       !e->flags && !e->depth && !e->expiry &&
				       !e->reserved,
				       "%s of %llu bytes was never put", key,
				       (unsigned long long)e->length))
				continue;
			if (i < room && seen[i] < 255)
				seen[i]++;
		}
		vt_expect(entries == ask.count, "%u entries, said to be %u",
			  entries, ask.count);
		cookie = ask.cookie;
	} while (cookie);
out:
	munmap(mem, buffer_len);
	return calls;
}

static void list_once(uint32_t buffer_len, const char *prefix)
{
	unsigned int n = __atomic_load_n(&churn.next, __ATOMIC_ACQUIRE);
	uint8_t *before = calloc(1, n), *after = calloc(1, n), *seen = calloc(1, n);
	unsigned int i, calls, throughout = 0, twice = 0, listed = 0;
	uint64_t start = vt_ms();
	char key[64];

	vt_need(before && after && seen, "memory for %u keys", n);
	which(before, n);
	calls = list_all(buffer_len, prefix, seen, n);
	which(after, n);
	for (i = 0; i < n; i++) {
		churn_key(key, sizeof(key), i);
		if (strncmp(key, prefix, strlen(prefix))) {
			vt_expect(!seen[i], "%s was listed", key);
			continue;
		}
		listed += seen[i] > 0;
		twice += seen[i] > 1;
		if (!before[i] || !after[i])
			continue;
		throughout++;
		vt_expect(seen[i], "%s was there throughout and was not listed", key);
	}
	vt_expect(throughout > 0, "nothing was there throughout");
	vt_note("buffer %u, prefix '%s': %u calls, %llu ms, %u objects, %u there throughout, %u listed more than once",
		buffer_len, prefix, calls, (unsigned long long)(vt_ms() - start),
		listed, throughout, twice);
	free(before);
	free(after);
	free(seen);
}

static void test_list(void)
{
	unsigned int i, n = (unsigned int)(info.capacity / 22000);
	uint64_t evicted, moved;
	pthread_t t;

	vt_begin("listings are complete while eviction moves objects, in buffers of any size");
	clear();
	churn.stop = false;
	churn.next = 0;
	churn.kept = n / 4;
	pthread_create(&t, NULL, churner, (void *)3UL);
	while (__atomic_load_n(&churn.next, __ATOMIC_ACQUIRE) < n)
		vt_sleep_ms(20);
	get_info();
	evicted = info.evicted_objects;
	moved = info.rewritten_objects;
	for (i = 0; i < 3; i++) {
		list_once(4096, "");
		list_once(4096, "churn-1");
		list_once(20000, "churn-");
		list_once(1 << 20, "");
	}
	list_once(4 << 20, "c");
	__atomic_store_n(&churn.stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	get_info();
	vt_expect(info.evicted_objects > evicted && info.rewritten_objects > moved,
		  "eviction stood still: %llu evicted, %llu moved",
		  (unsigned long long)(info.evicted_objects - evicted),
		  (unsigned long long)(info.rewritten_objects - moved));
	vt_note("meanwhile %llu objects were evicted and %llu moved",
		(unsigned long long)(info.evicted_objects - evicted),
		(unsigned long long)(info.rewritten_objects - moved));
	vt_end();

	vt_begin("a listing of what stands still has every object once");
	{
		uint8_t *seen = calloc(1, churn.next), *there = calloc(1, churn.next);
		unsigned int calls;

		/* What eviction has begun, let it end. */
		vt_sleep_ms(1500);
		calls = list_all(4096, "", seen, churn.next);
		which(there, churn.next);
		for (i = 0; i < churn.next; i++)
			vt_expect(seen[i] == there[i], "key %u: listed %u times, there %u",
				  i, seen[i], there[i]);
		vt_note("%u calls", calls);
		free(seen);
		free(there);
	}
	vt_end();
}

static const struct vt_test tests[] = {
	{ "expiry", test_expiry },
	{ "pins", test_pins },
	{ "pin_budget", test_pin_budget },
	{ "depth", test_depth },
	{ "list", test_list },
};

int main(int argc, char **argv)
{

	vt_need(argc >= 2, "usage: ops_evict POOL [TEST]");
	kvc = kvc_open(NULL, (unsigned int)atoi(argv[1]));
	vt_need(kvc, "open " KVC_DEVICE ": errno %d", errno);
	get_info();
	buf = vt_map(info.max_object);
	vt_run(tests, sizeof(tests) / sizeof(*tests), argv + 2, argc > 2 ? 1 : 0);
	get_info();
	vt_result(!info.bad_data, "no object was found rotten");
	vt_exit();
}
