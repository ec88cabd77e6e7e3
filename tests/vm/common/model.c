// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model.h"

#define LOOK_KEYS 128		/* of one batch */
#define LOOK_BYTES (4 << 20)
#define LOOK_MS 20000		/* until a key must have given an answer */

void model_init(struct model *m, uint64_t seed, uint32_t nr, uint32_t max_len)
{
	uint32_t i;

	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->nr = nr;
	m->max_len = max_len;
	m->keys = calloc(nr, sizeof(*m->keys));
	vt_need(m->keys, "memory for %u keys", nr);
	for (i = 0; i < nr; i++)
		m->keys[i].maybe = MODEL_NONE;
}

void model_free(struct model *m)
{
	free(m->keys);
	m->keys = NULL;
}

/* --- keys and bytes --- */

static uint64_t key_seed(const struct model *m, uint32_t key)
{
	return vt_mix(m->seed, key);
}

uint32_t model_key(const struct model *m, uint32_t key, uint8_t *bytes)
{
	uint64_t r = key_seed(m, key);
	/* Mostly short, some as long as they may be. */
	uint32_t len = r % 16 ? 9 + (uint32_t)(r >> 8) % 56 :
				9 + (uint32_t)(r >> 8) % (MODEL_KEY_MAX - 8);

	snprintf((char *)bytes, 10, "%08x:", key);
	vt_fill(bytes + 9, r, 0, len - 9);
	return len;
}

uint32_t model_tenant(uint32_t key)
{
	return key % 3;
}

uint32_t model_len(const struct model *m, uint32_t key, uint32_t version)
{
	static const uint32_t special[] = { 1, 511, 4095, 4096, 4097, 8192 };
	uint64_t r = vt_mix(key_seed(m, key), version);
	uint32_t len;

	/* Small ones, so that there are many records; and a few large ones. */
	if (r % 16 < 10)
		len = 1 + (uint32_t)(r >> 8) % 4096;
	else if (r % 16 < 12)
		len = special[(r >> 8) % 6];
	else if (r % 64 != 63)
		len = 1 + (uint32_t)(r >> 8) % 32768;
	else
		len = 1 + (uint32_t)(r >> 8) % m->max_len;
	return len < m->max_len ? len : m->max_len;
}

static uint64_t data_seed(const struct model *m, uint32_t key, uint32_t version)
{
	return vt_mix(key_seed(m, key) ^ 0x64617461, version);
}

void model_fill(const struct model *m, uint32_t key, uint32_t version,
		void *data)
{
	vt_fill(data, data_seed(m, key, version), 0,
		model_len(m, key, version));
}

bool model_is(const struct model *m, uint32_t key, uint32_t version,
	      const void *data, uint64_t len)
{
	return version && len == model_len(m, key, version) &&
	       vt_differs(data, data_seed(m, key, version), 0, len) < 0;
}

int model_expired(const struct model_key *k, uint32_t state)
{
	uint64_t now = vt_now();

	if (!state || state != k->version || !k->expiry || now + 1 < k->expiry)
		return 0;
	return now > k->expiry ? 1 : -1;
}

/* --- misses --- */

/* The attachment's incarnation while it has a lease, 0 if it has none. */
static uint64_t lease_holds(struct kvc *kvc)
{
	struct kvcache_info info;

	if (kvc_info(kvc, &info, NULL, 0) < 0 || !info.lease_left_ms)
		return 0;
	return info.incarnation;
}

int model_misses(const struct model *m, struct kvc *kvc, uint32_t key)
{
	struct kvc_call call = { .tenant = model_tenant(key) };
	uint8_t bytes[MODEL_KEY_MAX];
	uint32_t len = model_key(m, key, bytes);
	uint64_t before = lease_holds(kvc);
	int error;

	error = kvc_exists(kvc, &call, bytes, len, NULL);
	if (!error)
		return 0;
	if (error != -ENOENT)
		return error;
	return before && lease_holds(kvc) == before ? 1 : -ESTALE;
}

/* --- looking at all keys --- */

struct look {
	struct model *m;
	struct kvc *kvc;
	uint32_t first;
	uint32_t step;
	struct model_seen seen;
	bool bad;
	/* of the batch */
	uint64_t asked;
	uint32_t n;
	uint32_t key[LOOK_KEYS];
	uint8_t key_bytes[LOOK_KEYS][MODEL_KEY_MAX];
	struct kvcache_io io[LOOK_KEYS];
	uint8_t *data[LOOK_KEYS];
	uint8_t *memory;
	size_t used;
};

static void wrong(struct look *l, uint32_t key, const char *what, int status,
		  uint64_t length)
{
	struct model_key *k = &l->m->keys[key];

	l->bad = true;
	vt_fail(__FILE__, __LINE__,
		"round %u: key %u: %s (status %d, length %llu); sure %u (length %u, round %u), maybe %d, newest %u, expiry %llu, now %llu",
		  l->m->round, key, what, status, (unsigned long long)length,
		  k->sure, k->sure ? model_len(l->m, key, k->sure) : 0,
		  k->round, (int)k->maybe, k->version,
		  (unsigned long long)k->expiry, (unsigned long long)vt_now());
}

/* Which version is it? For the message alone. */
static const char *whose(const struct model *m, uint32_t key, const void *data,
			 uint64_t len, char *text, size_t room)
{
	uint32_t v;

	for (v = m->keys[key].version + 1; v; v--) {
		if (!model_is(m, key, v, data, len))
			continue;
		snprintf(text, room, "the bytes of version %u", v);
		return text;
	}
	return "bytes that were never put";
}

static void found(struct look *l, uint32_t key, uint32_t state)
{
	struct model_key *k = &l->m->keys[key];

	if (k->maybe != MODEL_NONE) {
		if (state == k->maybe)
			l->seen.new++;
		else
			l->seen.old++;
	}
	l->seen.hits += !!state;
	if (state != k->sure)
		k->round = l->m->round;
	k->sure = state;
	k->maybe = MODEL_NONE;
}

static void judge_hit(struct look *l, uint32_t key, const void *data,
		      uint64_t len)
{
	struct model_key *k = &l->m->keys[key];
	uint32_t state = k->sure;
	char text[64];

	if (!model_is(l->m, key, state, data, len))
		state = k->maybe;
	if (state == MODEL_NONE || !model_is(l->m, key, state, data, len)) {
		wrong(l, key, whose(l->m, key, data, len, text, sizeof(text)),
		      0, len);
		return;
	}
	if (state == k->version && k->expiry &&
	    k->expiry + MODEL_LATE < l->asked)
		wrong(l, key, "a hit after its expiry", 0, len);
	found(l, key, state);
}

static void judge_miss(struct look *l, uint32_t key)
{
	struct model_key *k = &l->m->keys[key];

	if (!k->sure || k->maybe == 0) {
		found(l, key, 0);
		return;
	}
	if (model_expired(k, k->sure) || model_expired(k, k->maybe)) {
		l->seen.expired++;
		found(l, key, 0);
		return;
	}
	if (l->m->evicts && k->pin > vt_now() && k->sure == k->version)
		wrong(l, key, "a miss of what is pinned", -ENOENT, 0);
	if (l->seen.gone < MODEL_GONE)
		l->seen.gone_key[l->seen.gone] = key;
	if (k->round > l->seen.gone_round)
		l->seen.gone_round = k->round;
	l->seen.gone++;
	found(l, key, 0);
}

/* Did it tell its state? */
static bool judge(struct look *l, uint32_t i)
{
	struct kvcache_io *io = &l->io[i];
	uint32_t key = l->key[i];
	int misses;

	switch (io->status) {
	case 0:
		judge_hit(l, key, l->data[i], io->length);
		return true;
	case -ENOENT:
		if (l->m->keys[key].sure || l->m->keys[key].maybe) {
			misses = model_misses(l->m, l->kvc, key);
			if (misses != 1)
				return false;
		}
		judge_miss(l, key);
		return true;
	case -EAGAIN:
	case -ETIMEDOUT:
	case -ESTALE:
	case -ECANCELED:
	case -EIO:
		return false;
	default:
		wrong(l, key, "an error", io->status, io->length);
		return true;
	}
}

static uint32_t longer(const struct model *m, uint32_t key, uint32_t version,
		       uint32_t than)
{
	uint32_t len = version && version != MODEL_NONE ?
		       model_len(m, key, version) : 0;

	return len > than ? len : than;
}

static void prepare(struct look *l, uint32_t key)
{
	struct model_key *k = &l->m->keys[key];
	uint32_t len = 4096, i = l->n++;

	/* Room for whichever it may be. */
	len = longer(l->m, key, k->version, len);
	len = longer(l->m, key, k->sure, len);
	len = longer(l->m, key, k->maybe, len);
	len = (len + 4095) & ~4095U;
	l->key[i] = key;
	l->data[i] = l->memory + l->used;
	l->used += len;
	kvc_prep_data(&l->io[i], l->key_bytes[i],
		      model_key(l->m, key, l->key_bytes[i]), l->data[i], len);
}

/* Keys come sorted by tenant, one call for each. */
static void get_all(struct look *l)
{
	struct kvc_call call = { .deadline_ms = 10000 };
	uint32_t from, to, i;
	ssize_t got;

	l->asked = vt_now();
	for (from = 0; from < l->n; from = to) {
		call.tenant = model_tenant(l->key[from]);
		for (to = from + 1; to < l->n; to++)
			if (model_tenant(l->key[to]) != call.tenant)
				break;
		got = kvc_batch_get(l->kvc, &call, &l->io[from], to - from);
		for (i = from; i < to && got < 0; i++)
			l->io[i].status = (int)got;
	}
}

/* One that gave no answer: again, alone, until it does. */
static void insist(struct look *l, uint32_t i)
{
	struct kvc_call call = { .tenant = model_tenant(l->key[i]) };
	uint64_t until = vt_ms() + LOOK_MS;

	while (!judge(l, i)) {
		if (vt_ms() > until) {
			wrong(l, l->key[i], "no answer", l->io[i].status, 0);
			return;
		}
		vt_sleep_ms(20);
		l->asked = vt_now();
		if (kvc_batch_get(l->kvc, &call, &l->io[i], 1) < 0)
			l->io[i].status = -ESTALE;
	}
}

static void look_batch(struct look *l)
{
	uint32_t i;

	get_all(l);
	for (i = 0; i < l->n; i++)
		insist(l, i);
	l->n = 0;
	l->used = 0;
}

static void *look(void *arg)
{
	struct look *l = arg;
	size_t most = ((size_t)l->m->max_len + 4095) & ~4095UL;
	uint32_t tenant, key;

	l->memory = vt_map(LOOK_BYTES + most);
	for (tenant = 0; tenant < 3; tenant++) {
		for (key = l->first; key < l->m->nr; key += l->step) {
			if (model_tenant(key) != tenant ||
			    !l->m->keys[key].version)
				continue;
			prepare(l, key);
			if (l->n == LOOK_KEYS || l->used > LOOK_BYTES)
				look_batch(l);
		}
		look_batch(l);
	}
	munmap(l->memory, LOOK_BYTES + most);
	return NULL;
}

static void add_gone(struct model_seen *to, const struct model_seen *from)
{
	uint32_t i;

	for (i = 0; i < from->gone && i < MODEL_GONE; i++)
		if (to->gone + i < MODEL_GONE)
			to->gone_key[to->gone + i] = from->gone_key[i];
	to->gone += from->gone;
	if (from->gone_round > to->gone_round)
		to->gone_round = from->gone_round;
}

bool model_judge_gone(const struct model *m, const struct model_seen *seen,
		      uint64_t most, uint32_t kept)
{
	uint32_t i;

	if (!seen->gone || (seen->gone <= most && seen->gone_round < kept))
		return true;
	vt_fail(__FILE__, __LINE__,
		"round %u: %u objects are gone, the latest put in round %u; at most %llu have been evicted, none that was put from round %u on",
		m->round, seen->gone, seen->gone_round,
		(unsigned long long)most, kept);
	for (i = 0; i < seen->gone && i < MODEL_GONE; i++)
		vt_note("gone: key %u, length %u, newest version %u",
			seen->gone_key[i],
			model_len(m, seen->gone_key[i],
				  m->keys[seen->gone_key[i]].version),
			m->keys[seen->gone_key[i]].version);
	return false;
}

bool model_verify(struct model *m, struct kvc *kvc, uint32_t threads,
		  struct model_seen *seen)
{
	struct look *l = calloc(threads, sizeof(*l));
	pthread_t thread[8];
	bool good = true;
	uint32_t i;

	vt_need(l && threads <= 8, "memory for %u threads", threads);
	for (i = 0; i < threads; i++) {
		l[i].m = m;
		l[i].kvc = kvc;
		l[i].first = i;
		l[i].step = threads;
		vt_need(!pthread_create(&thread[i], NULL, look, &l[i]),
			"start a thread");
	}
	memset(seen, 0, sizeof(*seen));
	for (i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		good &= !l[i].bad;
		seen->hits += l[i].seen.hits;
		add_gone(seen, &l[i].seen);
		seen->expired += l[i].seen.expired;
		seen->old += l[i].seen.old;
		seen->new += l[i].seen.new;
	}
	free(l);
	return good;
}

/* --- listing --- */

static bool list_one(struct model *m, const struct kvc_object *o,
		     uint8_t *listed)
{
	uint8_t bytes[MODEL_KEY_MAX];
	struct model_key *k;
	uint32_t key;
	char text[9];

	memcpy(text, o->key, o->key_len < 8 ? o->key_len : 8);
	text[o->key_len < 8 ? o->key_len : 8] = '\0';
	key = (uint32_t)strtoul(text, NULL, 16);
	if (!vt_expect(key < m->nr && o->key_len == model_key(m, key, bytes) &&
		       !memcmp(bytes, o->key, o->key_len) &&
		       o->tenant == model_tenant(key),
		       "round %u: a key is listed that was never put",
		       m->round))
		return false;
	k = &m->keys[key];
	listed[key] = 1;
	if (model_expired(k, k->sure))
		return true;
	return vt_expect(k->sure && o->length == model_len(m, key, k->sure),
			 "round %u: key %u is listed with length %llu, and is version %u",
			 m->round, key, (unsigned long long)o->length, k->sure);
}

bool model_verify_list(struct model *m, struct kvc *kvc)
{
	struct kvcache_info info;
	uint8_t *listed = calloc(m->nr, 1);
	struct kvc_list *list;
	struct kvc_object o;
	uint64_t until = vt_ms() + LOOK_MS;
	bool good = true;
	uint32_t i;
	int got;

	vt_need(listed, "memory for a list");
	list = kvc_list_open(kvc, NULL, NULL, 0, KVC_LIST_ALL_TENANTS);
	vt_need(list, "open a list");
	while ((got = kvc_list_next(list, &o))) {
		if (got > 0) {
			good &= list_one(m, &o, listed);
			continue;
		}
		if (vt_ms() > until)
			break;
		vt_sleep_ms(20);
	}
	kvc_list_close(list);
	good &= vt_expect(!got, "round %u: listing: error %d", m->round, got);
	/* What is evicted since it was looked at is not listed. */
	if (kvc_info(kvc, &info, NULL, 0) || info.evicted_objects)
		i = m->nr;
	else
		i = 0;
	for (; i < m->nr && good; i++)
		good = vt_expect(!m->keys[i].sure || listed[i] ||
				 model_expired(&m->keys[i], m->keys[i].sure),
				 "round %u: key %u is there and not listed",
				 m->round, i);
	free(listed);
	return good;
}
