// SPDX-License-Identifier: GPL-2.0
/*
 * Threads of random operations on a limited set of keys, against a model of
 * what a cache may answer.
 *
 * All threads use all keys, so operations on one key overlap. Every put has a
 * version of its own, and its length and bytes follow from key and version. A
 * logical clock ticks at each call's begin and end, so what is known is: this
 * happened at some moment between its begin and its end. From that follows
 * for each version from when on it may be seen (begin of its put), from when on
 * it surely is there (end of its put, or of the first call that saw it), and
 * from when on it can't be seen any more (end of the first call that shows it
 * gone: a delete, a miss, or a put of another version, begun when it was surely
 * there). An object may vanish only by a delete, by its expiry, or by eviction,
 * which the pool counts; it never comes back; and its bytes are exactly those
 * of one put.
 *
 * usage: random_ops [-f] POOL OPERATIONS SEED [MEMBER...]
 *
 * With members the pool is left and attached again in the end, and must hold
 * what it held. With -f faults are injected meanwhile, into allocations of
 * these calls and requests to these members (debug kernel): EIO is an answer,
 * and EAGAIN as common as any.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "again.h"

#define THREADS		4
#define KEYS		500
#define VERSIONS	64	/* of a key, that are remembered */
#define DELETES		32
#define BATCH		8
#define NEVER		UINT64_MAX
#define GUARD		32

enum state { UNUSED, FLYING, PUT, DOUBT };

struct version {
	enum state state;
	uint32_t number;
	uint64_t begin;		/* may be seen by calls that end after it */
	uint64_t sure;		/* is there, for calls that begin after it */
	uint64_t dead;		/* can't be seen by calls that begin after it */
	uint64_t expiry;
};

struct key {
	pthread_mutex_t lock;	/* of what is known, not held over calls */
	uint32_t next;
	struct version versions[VERSIONS];
	struct { uint64_t begin, end; } deletes[DELETES];
};

static struct kvc *kvc;
static struct kvcache_info info;	/* at the begin */
static const struct kvc_call call = { .deadline_ms = 60000 };
static struct key keys[KEYS];
static uint64_t ticks = 1;
static uint64_t seed0;
static uint64_t budget;			/* operations left */
static size_t max_len;
static bool faults;

static uint64_t count[9];		/* by what was answered */
enum { C_PUT, C_EXISTS, C_GET, C_HIT, C_MISS, C_DELETE, C_LIST, C_AGAIN, C_EIO };
#define COUNT(what) __atomic_add_fetch(&count[what], 1, __ATOMIC_RELAXED)

static uint64_t tick(void)
{
	return __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

/* --- what keys and versions look like --- */

static size_t key_text(char *text, unsigned int k)
{
	/* Short ones and long ones. */
	static const char tail[] = "................................................................";

	return (size_t)sprintf(text, "%s/%u/%.*s", k % 5 ? "a" : "bb", k,
			       (int)(k * 7 % 64), tail);
}

static size_t len_of(unsigned int k, uint32_t v)
{
	uint64_t h = vt_mix(seed0 + k, v);

	switch (h % 16) {
	case 0 ... 3:
		return 1 + (h >> 8) % 200;
	case 4 ... 9:
		return 1 + (h >> 8) % 9000;
	case 10:
		return 4096 * (1 + (h >> 8) % 8);
	case 11 ... 13:
		return 1 + (h >> 8) % 40000;
	case 14:
		return 1 + (h >> 8) % 150000;
	default:
		return h >> 60 ? 1 + (h >> 8) % 3000 : 1 + (h >> 8) % max_len;
	}
}

static uint64_t bytes_of(unsigned int k, uint32_t v)
{
	return vt_mix(vt_mix(seed0, k), v);
}

/* --- what is known --- */

/* May misses be none's fault but the cache's? Asked when one looks wrong. */
static bool excused(void)
{
	struct kvcache_info now;

	if (kvc_info(kvc, &now, NULL, 0))
		return false;
	return now.evicted_objects != info.evicted_objects ||
	       now.incarnation != info.incarnation;
}

static struct version *new_version(unsigned int k, uint64_t begin, uint64_t expiry)
{
	struct key *key = &keys[k];
	struct version *v, *best = NULL;
	unsigned int i;

	pthread_mutex_lock(&key->lock);
	for (i = 0; i < VERSIONS; i++) {
		v = &key->versions[i];
		if (v->state == UNUSED) {
			best = v;
			break;
		}
		if (v->state != FLYING && v->dead != NEVER &&
		    (!best || v->dead < best->dead))
			best = v;
	}
	vt_need(best, "key %u: more versions than are remembered", k);
	*best = (struct version) {
		.state = FLYING,
		.number = key->next++,
		.begin = begin,
		.sure = NEVER,
		.dead = NEVER,
		.expiry = expiry,
	};
	pthread_mutex_unlock(&key->lock);
	return best;
}

/* Something shows that the key was absent, or another's, in [begin, end]. */
static void gone(struct key *key, const struct version *but, uint64_t begin,
		 uint64_t end)
{
	unsigned int i;

	for (i = 0; i < VERSIONS; i++) {
		struct version *v = &key->versions[i];

		if (v->state != UNUSED && v != but && v->sure < begin &&
		    v->dead > end)
			v->dead = end;
	}
}

/* Could this version have been there at a moment of [begin, end]? */
static bool possible(const struct version *v, uint64_t begin, uint64_t end)
{
	return v->state != UNUSED && v->begin < end && v->dead > begin;
}

static void describe(unsigned int k, uint64_t begin, uint64_t end)
{
	const struct key *key = &keys[k];
	unsigned int i;

	vt_note("key %u in [%llu, %llu]:", k, (unsigned long long)begin,
		(unsigned long long)end);
	for (i = 0; i < VERSIONS; i++) {
		const struct version *v = &key->versions[i];

		if (v->state != UNUSED && (v->dead > begin || v->dead > end - 2000))
			vt_note("  version %u state %d length %zu: begin %lld sure %lld dead %lld expiry %lld",
				v->number, v->state, len_of(k, v->number),
				(long long)v->begin, (long long)v->sure,
				(long long)v->dead, (long long)v->expiry);
	}
	for (i = 0; i < DELETES; i++)
		if (key->deletes[i].begin && key->deletes[i].end > begin)
			vt_note("  delete [%lld, %lld]",
				(long long)key->deletes[i].begin,
				(long long)key->deletes[i].end);
}

/*
 * A miss in [begin, end]: fine, unless a version was surely there before and
 * nothing can have taken it away.
 */
static void check_miss(unsigned int k, const char *what, uint64_t begin,
		       uint64_t end)
{
	struct key *key = &keys[k];
	unsigned int i, d;

	for (i = 0; i < VERSIONS; i++) {
		struct version *v = &key->versions[i];
		bool fine = false;

		if (v->state == UNUSED || v->sure >= begin || v->dead <= end)
			continue;
		if (v->expiry && vt_now() >= v->expiry)
			continue;
		for (d = 0; d < DELETES && !fine; d++)
			fine = key->deletes[d].begin &&
			       key->deletes[d].begin < end &&
			       key->deletes[d].end > v->begin;
		if (fine || excused())
			continue;
		vt_expect(false, "%s: key %u version %u is missing", what, k,
			  v->number);
		describe(k, begin, end);
	}
	gone(key, NULL, begin, end);
}

/*
 * A version was seen in [begin, end]: of this length, and if @data, of these
 * @n bytes from @from on.
 */
static void check_seen(unsigned int k, const char *what, uint64_t begin,
		       uint64_t end, uint64_t length, const void *data,
		       uint64_t from, size_t n, uint64_t asked_at)
{
	struct key *key = &keys[k];
	struct version *v = NULL;
	ssize_t bad = -1;
	unsigned int i;

	for (i = 0; i < VERSIONS; i++) {
		struct version *c = &key->versions[i];

		if (!possible(c, begin, end) || len_of(k, c->number) != length)
			continue;
		if (data) {
			bad = vt_differs(data, bytes_of(k, c->number), from, n);
			if (bad >= 0)
				continue;
		}
		v = c;
		break;
	}
	if (!v) {
		vt_expect(false, "%s: key %u: %llu bytes are no version that may be there (first wrong byte %zd)",
			  what, k, (unsigned long long)length, bad);
		describe(k, begin, end);
		return;
	}
	vt_expect(!v->expiry || asked_at < v->expiry,
		  "%s: key %u version %u is there after its expiry", what, k,
		  v->number);
	/* Its put has not returned yet: now it is known to have been done. */
	if (v->sure > end)
		v->sure = end;
}

/* --- operations --- */

struct op {
	unsigned int k;
	char key[128];
	size_t key_len;
	struct version *v;
	uint32_t number;
	size_t len;		/* of the memory */
	uint64_t from;		/* of the range */
	uint8_t *p;
	struct iovec iov[64];
	unsigned int nr_iov;
	unsigned int del;
};

struct thread {
	struct vt_rng rng;
	uint8_t *mem;		/* BATCH slots */
	uint8_t *flat;
	struct op ops[BATCH];
	struct kvcache_io ios[BATCH];
};

static size_t slot_size;

static void choose_key(struct thread *t, struct op *op)
{
	uint64_t a = vt_below(&t->rng, KEYS), b = vt_below(&t->rng, KEYS);

	/* Some are used more than others. */
	op->k = (unsigned int)(a < b ? a : b);
	op->key_len = key_text(op->key, op->k);
}

/* Memory for @len bytes at any address, in one piece or in several. */
static void choose_memory(struct thread *t, struct op *op, unsigned int i,
			  size_t len)
{
	size_t at = vt_below(&t->rng, 4) ? vt_below(&t->rng, 4096) :
					   512 * vt_below(&t->rng, 8);
	size_t left = len, take;
	uint8_t *p;

	op->len = len;
	op->p = t->mem + i * slot_size + at;
	op->nr_iov = 0;
	if (vt_below(&t->rng, 3))
		return;
	op->nr_iov = 1 + (unsigned int)vt_below(&t->rng, 64);
	for (i = 0, p = op->p; i < op->nr_iov; i++) {
		take = i + 1 == op->nr_iov ? left :
		       vt_below(&t->rng, 2 * left / (op->nr_iov - i) + 1);
		if (take > left)
			take = left;
		if (i + 1 < op->nr_iov && take > 512 && !vt_below(&t->rng, 4))
			take &= ~511UL;
		op->iov[i] = (struct iovec){ p, take };
		p += take + vt_below(&t->rng, 16);
		left -= take;
	}
}

static void prepare_data(struct op *op, struct kvcache_io *io)
{
	if (op->nr_iov)
		kvc_prep_iovec(io, op->key, op->key_len, op->iov, op->nr_iov);
	else
		kvc_prep_data(io, op->key, op->key_len, op->p, op->len);
}

static void scatter(struct op *op, uint64_t seed)
{
	size_t at = 0;
	unsigned int i;

	if (!op->nr_iov)
		vt_fill(op->p, seed, 0, op->len);
	for (i = 0; i < op->nr_iov; at += op->iov[i++].iov_len)
		vt_fill(op->iov[i].iov_base, seed, at, op->iov[i].iov_len);
}

/* The first @n bytes, in one piece. */
static const uint8_t *gather(struct thread *t, struct op *op, size_t n)
{
	size_t at = 0, k;
	unsigned int i;

	if (!op->nr_iov)
		return op->p;
	for (i = 0; i < op->nr_iov && at < n; i++, at += k) {
		k = op->iov[i].iov_len < n - at ? op->iov[i].iov_len : n - at;
		memcpy(t->flat + at, op->iov[i].iov_base, k);
	}
	return t->flat;
}

/* What every kind of call may answer. */
static bool harmless(int status)
{
	if (status == -EAGAIN)
		COUNT(C_AGAIN);
	if (status == -EIO)
		COUNT(C_EIO);
	return status == -EAGAIN ||
	       (faults && (status == -EIO || status == -ENOMEM));
}

static void do_puts(struct thread *t, unsigned int n)
{
	uint64_t begin = tick(), end, expiry;
	unsigned int i;
	ssize_t done;

	for (i = 0; i < n; i++) {
		struct op *op = &t->ops[i];

		choose_key(t, op);
		expiry = vt_below(&t->rng, 20) ? 0 : vt_now() + 1 + vt_below(&t->rng, 4);
		op->v = new_version(op->k, begin, expiry);
		op->number = op->v->number;
		choose_memory(t, op, i, len_of(op->k, op->number));
		scatter(op, bytes_of(op->k, op->number));
		prepare_data(op, &t->ios[i]);
		kvc_set_expiry(&t->ios[i], expiry);
	}
	done = kvc_batch_put(kvc, &call, t->ios, n);
	end = tick();
	vt_expect(done >= 0 || harmless((int)done), "put of %u keys: %zd", n, done);
	for (i = 0; i < n; i++) {
		struct op *op = &t->ops[i];
		struct key *key = &keys[op->k];
		struct kvcache_io *io = &t->ios[i];
		int status = done < 0 ? (int)done : io->status;

		pthread_mutex_lock(&key->lock);
		switch (status) {
		case 0:
			COUNT(C_PUT);
			op->v->state = PUT;
			if (op->v->sure > end)
				op->v->sure = end;
			gone(key, op->v, begin, end);
			vt_expect(io->length == op->len, "put: length %llu of %zu",
				  (unsigned long long)io->length, op->len);
			break;
		case -EEXIST:
			COUNT(C_EXISTS);
			op->v->state = UNUSED;
			check_seen(op->k, "EEXIST", begin, end, io->length, NULL, 0,
				   0, 0);
			break;
		default:
			vt_expect(harmless(status), "put of %zu bytes: %d",
				  op->len, status);
			op->v->state = status == -EAGAIN || status == -ENOMEM ?
				       UNUSED : DOUBT;
		}
		pthread_mutex_unlock(&key->lock);
	}
}

static void choose_get(struct thread *t, struct op *op, unsigned int i,
		       struct kvcache_io *io)
{
	struct key *key = &keys[op->k];
	size_t len;

	/* As long as some version of late, or not. */
	len = len_of(op->k, key->next - 1 - (uint32_t)vt_below(&t->rng, 3));
	op->from = NEVER;
	switch (vt_below(&t->rng, 8)) {
	case 0 ... 1:
		op->from = vt_below(&t->rng, len);
		len = 1 + vt_below(&t->rng, len);
		break;
	case 2:
		break;		/* likely too little */
	default:
		len = max_len;
	}
	choose_memory(t, op, i, len);
	prepare_data(op, io);
	if (op->from != NEVER)
		kvc_set_range(io, op->from);
	if (!op->nr_iov)
		memset(op->p + len, 0xa5, GUARD);
}

static void check_get(struct thread *t, struct op *op, struct kvcache_io *io,
		      uint64_t begin, uint64_t end, uint64_t asked_at)
{
	struct key *key = &keys[op->k];
	uint64_t from = op->from == NEVER ? 0 : op->from;
	const uint8_t *data = NULL;

	if (!io->status)
		data = gather(t, op, io->transferred);
	pthread_mutex_lock(&key->lock);
	switch (io->status) {
	case 0:
		COUNT(C_HIT);
		vt_expect(io->transferred ==
			  (op->from == NEVER ? io->length :
			   io->length - from < op->len ? io->length - from : op->len),
			  "get of %zu from %llu of %llu: %llu bytes", op->len,
			  (unsigned long long)from, (unsigned long long)io->length,
			  (unsigned long long)io->transferred);
		check_seen(op->k, "get", begin, end, io->length, data, from,
			   io->transferred, asked_at);
		vt_expect(op->nr_iov || vt_not_all(op->p + op->len, 0xa5, GUARD) < 0,
			  "get wrote behind the memory");
		break;
	case -EMSGSIZE:
		vt_expect(op->from == NEVER && io->length > op->len,
			  "EMSGSIZE for %zu bytes of %llu", op->len,
			  (unsigned long long)io->length);
		check_seen(op->k, "EMSGSIZE", begin, end, io->length, NULL, 0, 0,
			   asked_at);
		break;
	case -EINVAL:
		vt_expect(op->from != NEVER && op->from >= io->length,
			  "EINVAL for range %llu + %zu of %llu",
			  (unsigned long long)op->from, op->len,
			  (unsigned long long)io->length);
		check_seen(op->k, "EINVAL", begin, end, io->length, NULL, 0, 0,
			   asked_at);
		break;
	case -ENOENT:
		COUNT(C_MISS);
		check_miss(op->k, "get", begin, end);
		break;
	default:
		vt_expect(harmless(io->status), "get: %d", io->status);
	}
	pthread_mutex_unlock(&key->lock);
}

static void do_gets(struct thread *t, unsigned int n)
{
	uint64_t begin, end, asked_at;
	unsigned int i;
	ssize_t done;

	for (i = 0; i < n; i++) {
		choose_key(t, &t->ops[i]);
		choose_get(t, &t->ops[i], i, &t->ios[i]);
	}
	asked_at = vt_now();
	begin = tick();
	done = kvc_batch_get(kvc, &call, t->ios, n);
	end = tick();
	vt_expect(done >= 0 || harmless((int)done), "get of %u keys: %zd", n, done);
	for (i = 0; i < n && done >= 0; i++) {
		COUNT(C_GET);
		check_get(t, &t->ops[i], &t->ios[i], begin, end, asked_at);
	}
}

static void do_exists(struct thread *t, unsigned int n)
{
	uint64_t begin, end, asked_at = vt_now();
	unsigned int i;
	ssize_t done;

	for (i = 0; i < n; i++) {
		choose_key(t, &t->ops[i]);
		kvc_prep(&t->ios[i], t->ops[i].key, t->ops[i].key_len);
	}
	begin = tick();
	done = kvc_batch_exists(kvc, &call, t->ios, n);
	end = tick();
	vt_expect(done >= 0 || harmless((int)done), "exists of %u keys: %zd", n,
		  done);
	for (i = 0; i < n && done >= 0; i++) {
		struct op *op = &t->ops[i];

		pthread_mutex_lock(&keys[op->k].lock);
		if (!t->ios[i].status)
			check_seen(op->k, "exists", begin, end, t->ios[i].length,
				   NULL, 0, 0, asked_at);
		else if (t->ios[i].status == -ENOENT)
			check_miss(op->k, "exists", begin, end);
		else
			vt_expect(harmless(t->ios[i].status), "exists: %d",
				  t->ios[i].status);
		pthread_mutex_unlock(&keys[op->k].lock);
	}
}

static void begin_delete(struct op *op, uint64_t begin)
{
	struct key *key = &keys[op->k];
	unsigned int i, best = DELETES;

	pthread_mutex_lock(&key->lock);
	for (i = 0; i < DELETES; i++)
		if (key->deletes[i].end != NEVER &&
		    (best == DELETES || key->deletes[i].end < key->deletes[best].end))
			best = i;
	vt_need(best < DELETES, "key %u: more deletes than are remembered", op->k);
	key->deletes[best].begin = begin;
	key->deletes[best].end = NEVER;
	op->del = best;
	pthread_mutex_unlock(&key->lock);
}

static void do_deletes(struct thread *t, unsigned int n)
{
	uint64_t begin = tick(), end;
	unsigned int i;
	ssize_t done;

	for (i = 0; i < n; i++) {
		choose_key(t, &t->ops[i]);
		kvc_prep(&t->ios[i], t->ops[i].key, t->ops[i].key_len);
		begin_delete(&t->ops[i], begin);
	}
	done = kvc_batch_delete(kvc, &call, t->ios, n);
	end = tick();
	vt_expect(done >= 0 || harmless((int)done), "delete of %u keys: %zd", n,
		  done);
	for (i = 0; i < n; i++) {
		struct op *op = &t->ops[i];
		struct key *key = &keys[op->k];
		int status = done < 0 ? (int)done : t->ios[i].status;

		pthread_mutex_lock(&key->lock);
		key->deletes[op->del].end = end;
		switch (status) {
		case 0:
			COUNT(C_DELETE);
			gone(key, NULL, begin, end);
			break;
		case -ENOENT:
			check_miss(op->k, "delete", begin, end);
			break;
		default:
			vt_expect(harmless(status), "delete: %d", status);
		}
		pthread_mutex_unlock(&key->lock);
	}
}

/* All keys with a prefix: each listed version may be there, and none lacks. */
static void do_list(struct thread *t)
{
	const char *prefix = vt_below(&t->rng, 2) ? "bb/" : "";
	uint64_t begin = tick(), end, asked_at = vt_now();
	uint8_t seen[KEYS] = { 0 };
	uint64_t length[KEYS];
	struct kvc_object o;
	struct kvc_list *list;
	char text[128];
	unsigned int k, i, d;
	int err;

	list = kvc_list_open(kvc, &call, prefix, strlen(prefix), 0);
	if (!list && faults)
		return;
	vt_need(list, "open a listing");
	while ((err = kvc_list_next(list, &o)) == 1) {
		const char *slash = memchr(o.key, '/', o.key_len);

		k = slash ? (unsigned int)atoi(slash + 1) : KEYS;
		if (!vt_expect(k < KEYS && key_text(text, k) == o.key_len &&
			       !memcmp(text, o.key, o.key_len),
			       "list: a key that was never put"))
			continue;
		seen[k] = 1;
		length[k] = o.length;
	}
	kvc_list_close(list);
	end = tick();
	if (err && harmless(err))
		return;
	vt_expect(!err, "list: %d", err);
	COUNT(C_LIST);
	for (k = 0; k < KEYS; k++) {
		struct key *key = &keys[k];

		key_text(text, k);
		if (strncmp(text, prefix, strlen(prefix))) {
			vt_expect(!seen[k], "list: a key without the prefix");
			continue;
		}
		pthread_mutex_lock(&key->lock);
		if (seen[k])
			check_seen(k, "list", begin, end, length[k], NULL, 0, 0,
				   asked_at);
		for (i = 0; i < VERSIONS && !seen[k]; i++) {
			struct version *v = &key->versions[i];
			bool fine = false;

			if (v->state == UNUSED || v->sure >= begin ||
			    v->dead != NEVER || v->expiry)
				continue;
			for (d = 0; d < DELETES && !fine; d++)
				fine = key->deletes[d].begin &&
				       key->deletes[d].begin < end &&
				       key->deletes[d].end > v->begin;
			if (fine || excused())
				continue;
			vt_expect(false, "list: key %u version %u is missing", k,
				  v->number);
			describe(k, begin, end);
		}
		pthread_mutex_unlock(&key->lock);
	}
}

static bool take(unsigned int n)
{
	uint64_t left = __atomic_load_n(&budget, __ATOMIC_RELAXED);

	do {
		if (!left)
			return false;
	} while (!__atomic_compare_exchange_n(&budget, &left,
					      left > n ? left - n : 0, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* This thread's own calls are to fail, or no more; that may take several. */
static void fail_me(const char *yes)
{
	unsigned int tries = 0;
	int err;

	do {
		err = vt_write("/proc/thread-self/make-it-fail", yes);
	} while (err && ++tries < 1000);
	vt_expect(!err, "make-it-fail: %d", err);
}

static void *run(void *arg)
{
	struct thread *t = arg;

	if (faults)
		fail_me("1");
	for (;;) {
		unsigned int n = vt_below(&t->rng, 2) ? 1 :
				 1 + (unsigned int)vt_below(&t->rng, BATCH);
		unsigned int what = (unsigned int)vt_below(&t->rng, 1000);

		if (!take(n))
			break;
		if (what < 330)
			do_puts(t, n);
		else if (what < 700)
			do_gets(t, n);
		else if (what < 820)
			do_exists(t, n);
		else if (what < 998)
			do_deletes(t, n);
		else
			do_list(t);
	}
	if (faults)
		fail_me("0");
	return NULL;
}

/* --- the end --- */

static unsigned int look_at_all(const char *when, struct thread *t)
{
	uint64_t hits = count[C_HIT], asked_at;
	unsigned int k;

	for (k = 0; k < KEYS; k++) {
		struct op *op = &t->ops[0];
		struct kvcache_io *io = &t->ios[0];
		uint64_t begin, end;

		op->k = k;
		op->key_len = key_text(op->key, k);
		op->from = NEVER;
		op->p = t->mem;
		op->len = max_len;
		op->nr_iov = 0;
		memset(op->p + op->len, 0xa5, GUARD);
		kvc_prep_data(io, op->key, op->key_len, op->p, op->len);
		asked_at = vt_now();
		begin = tick();
		again_one(kvc, KVCACHE_IOC_GET, &call, io);
		end = tick();
		check_get(t, op, io, begin, end, asked_at);
	}
	hits = count[C_HIT] - hits;
	vt_note("%s %llu of %d keys are there", when, (unsigned long long)hits, KEYS);
	return (unsigned int)hits;
}

static void attach_again(char **members, unsigned int n, struct thread *t)
{
	struct kvc_attach_options o = {
		.paths = (const char *const *)members,
		.nr_members = n,
		.pool = kvc_pool(kvc),
	};
	unsigned int before, after;
	char reason[768] = "";
	int err;

	vt_begin("after detach and attach the same objects are there, and no others");
	before = look_at_all("before the detach", t);
	err = kvc_detach(kvc, kvc_pool(kvc), 30000);
	vt_expect(!err, "detach: %d", err);
	err = kvc_attach(kvc, &o, reason, sizeof(reason));
	vt_need(err == (int)kvc_pool(kvc), "attach: %d %s", err, reason);
	/* Counters began anew. */
	kvc_info(kvc, &info, NULL, 0);
	vt_expect(info.attach_objects >= before || !before,
		  "attach found %llu objects, there were %u",
		  (unsigned long long)info.attach_objects, before);
	after = look_at_all("after the attach", t);
	vt_expect(after <= before, "%u objects came back", after - before);
	vt_end();
}

/* --- faults --- */

static void fault_set(const char *where, const char *file, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", where, file);
	vt_need(!vt_write(path, text), "write %s to %s", text, path);
}

/*
 * Allocations fail in our own calls only, requests for whoever makes them: the
 * workers of the module, too. Both rarely enough that the pool lives.
 */
static void inject(bool on, char **paths, unsigned int nr_paths)
{
	static const char *const what[] = { "failslab", "fail_page_alloc",
					    "fail_make_request" };
	char path[100];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		fault_set(what[i], "probability", "0");
		if (!on)
			continue;
		fault_set(what[i], "verbose", "0");
		fault_set(what[i], "times", "-1");
		/* One in so many, of those that the probability is for. */
		fault_set(what[i], "interval", i < 2 ? "50" : "100");
		fault_set(what[i], "task-filter", i < 2 ? "Y" : "N");
		if (i < 2)
			fault_set(what[i], "ignore-gfp-wait", "N");
	}
	if (on)
		fault_set("fail_page_alloc", "min-order", "0");
	for (i = 0; i < nr_paths; i++) {
		snprintf(path, sizeof(path), "/sys/class/block/%s/make-it-fail",
			 strrchr(paths[i], '/') + 1);
		vt_need(!vt_write(path, on ? "1" : "0"), "write to %s", path);
	}
	for (i = 0; on && i < 3; i++)
		fault_set(what[i], "probability", "50");
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS];
	pthread_t ids[THREADS];
	struct kvcache_info now;
	uint64_t start, operations;
	unsigned int i;

	if (argc > 1 && !strcmp(argv[1], "-f")) {
		faults = true;
		argc--;
		argv++;
	}
	vt_need(argc >= 4, "usage: random_ops [-f] POOL OPERATIONS SEED [MEMBER...]");
	kvc = kvc_open(NULL, (unsigned int)atoi(argv[1]));
	operations = budget = strtoull(argv[2], NULL, 0);
	seed0 = strtoull(argv[3], NULL, 0);
	vt_need(kvc && !kvc_info(kvc, &info, NULL, 0), "open the pool");
	max_len = info.max_object;
	/* Bytes, pieces' gaps, offset in the page, guard. */
	slot_size = (max_len + 64 * 16 + 4096 + GUARD + 4095) & ~4095UL;
	for (i = 0; i < KEYS; i++)
		pthread_mutex_init(&keys[i].lock, NULL);
	for (i = 0; i < THREADS; i++) {
		threads[i].rng.s = vt_mix(seed0, i);
		threads[i].mem = vt_map(BATCH * slot_size);
		threads[i].flat = vt_map(slot_size);
	}

	vt_begin("%llu random operations by %d threads, every byte as a cache may answer",
		 (unsigned long long)operations, THREADS);
	start = vt_ms();
	if (faults)
		inject(true, argv + 4, (unsigned int)argc - 4);
	for (i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, run, &threads[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	if (faults)
		inject(false, argv + 4, (unsigned int)argc - 4);
	kvc_info(kvc, &now, NULL, 0);
	vt_note("%llu ms, seed %llu: %llu put, %llu there already, %llu gets (%llu hits, %llu misses), %llu deleted, %llu listings, %llu EAGAIN, %llu EIO",
		(unsigned long long)(vt_ms() - start), (unsigned long long)seed0,
		(unsigned long long)count[C_PUT], (unsigned long long)count[C_EXISTS],
		(unsigned long long)count[C_GET], (unsigned long long)count[C_HIT],
		(unsigned long long)count[C_MISS],
		(unsigned long long)count[C_DELETE],
		(unsigned long long)count[C_LIST],
		(unsigned long long)count[C_AGAIN],
		(unsigned long long)count[C_EIO]);
	vt_note("%llu evicted, %llu rewritten, %llu expired, %llu checkpoints, incarnation %llu then %llu",
		(unsigned long long)now.evicted_objects,
		(unsigned long long)now.rewritten_objects,
		(unsigned long long)now.expired,
		(unsigned long long)now.checkpoints,
		(unsigned long long)info.incarnation,
		(unsigned long long)now.incarnation);
	vt_expect(!now.bad_data, "%llu objects were blamed",
		  (unsigned long long)now.bad_data);
	vt_expect(count[C_AGAIN] * 20 <= operations || faults ||
		  vt_kernel_said(": suspect:"),
		  "EAGAIN %llu times", (unsigned long long)count[C_AGAIN]);
	vt_end();
	if (argc > 4)
		attach_again(argv + 4, (unsigned int)argc - 4, &threads[0]);
	vt_exit();
}
