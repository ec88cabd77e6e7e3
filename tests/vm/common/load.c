// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "load.h"

#define LOOKS 64		/* for a key that will do */

struct load_thread {
	struct load *load;
	uint32_t number;
	struct vt_rng rng;
	bool dead;
	uint32_t tenant;
	uint32_t n;
	struct load_op op[LOAD_BATCH];
	uint8_t key[LOAD_BATCH][MODEL_KEY_MAX];
	struct kvcache_io io[LOAD_BATCH];
	uint8_t *memory;
	size_t room;
	size_t used;
};

enum load_outcome load_outcome(const struct load_op *op)
{
	switch (op->status) {
	case 0:
		return LOAD_DONE;
	case -EAGAIN:
	case -ECANCELED:
	case -ENOMEM:
	case -EEXIST:
	case -EDQUOT:
		return LOAD_NOT_DONE;
	default:
		return LOAD_UNKNOWN;
	}
}

void load_begun(struct model *m, const struct load_op *op)
{
	struct model_key *k = &m->keys[op->key];

	k->maybe = op->state;
	if (!op->state)
		return;
	k->version = op->state;
	k->expiry = op->expiry;
	k->pin = op->pin;
}

void load_ended(struct model *m, const struct load_op *op)
{
	struct model_key *k = &m->keys[op->key];

	switch (load_outcome(op)) {
	case LOAD_DONE:
		k->sure = op->state;
		k->round = m->round;
		k->maybe = MODEL_NONE;
		return;
	case LOAD_NOT_DONE:
		k->maybe = MODEL_NONE;
		return;
	case LOAD_UNKNOWN:
		return;
	}
}

static bool stopping(struct load_thread *t)
{
	return t->dead || __atomic_load_n(&t->load->stop, __ATOMIC_RELAXED);
}

static void mishap(struct load_thread *t, const struct load_op *op,
		   const char *what)
{
	const struct model_key *k = &t->load->m->keys[op->key];

	vt_fail(__FILE__, __LINE__,
		"round %u: key %u: %s (status %d); sure %u, newest %u, to be %u",
		  t->load->m->round, op->key, what, op->status, k->sure,
		  k->version, op->state);
	t->dead = true;
}

/* --- choosing --- */

enum want {
	WANT_ABSENT,
	WANT_PRESENT,
	WANT_ANY,
};

static bool suits(struct load_thread *t, uint32_t key, enum want want)
{
	const struct model_key *k = &t->load->m->keys[key];
	uint32_t i;

	if (model_tenant(key) != t->tenant || !model_settled(k) ||
	    model_expired(k, k->sure) < 0)
		return false;
	if (want == WANT_ABSENT && k->sure && !model_expired(k, k->sure) &&
	    (!t->load->m->evicts || k->expiry || vt_below(&t->rng, 8)))
		return false;
	if (want == WANT_PRESENT && !k->sure)
		return false;
	for (i = 0; i < t->n; i++)
		if (t->op[i].key == key)
			return false;
	return true;
}

/* A key of this thread's: false if none was found soon. */
static bool choose(struct load_thread *t, enum want want, uint32_t *key)
{
	uint32_t threads = t->load->threads, nr = t->load->m->nr / threads;
	uint32_t at = (uint32_t)vt_below(&t->rng, nr), i;

	for (i = 0; i < LOOKS; i++) {
		*key = (at + i) % nr * threads + t->number;
		if (suits(t, *key, want))
			return true;
	}
	return false;
}

static uint32_t how_many(struct load_thread *t)
{
	return vt_below(&t->rng, 2) ? 1 :
	       1 + (uint32_t)vt_below(&t->rng, LOAD_BATCH);
}

/* Memory at any alignment, most often a good one. */
static uint8_t *memory_for(struct load_thread *t, uint32_t len)
{
	static const uint32_t skew[] = { 0, 0, 0, 512, 1, 77 };
	uint8_t *p = t->memory + t->used + skew[vt_below(&t->rng, 6)];

	t->used += (len + 4096 + 512) & ~511UL;
	return p;
}

static void begin(struct load_thread *t)
{
	t->tenant = (uint32_t)vt_below(&t->rng, 3);
	t->n = 0;
	t->used = 0;
}

static bool fits(struct load_thread *t, uint32_t len)
{
	return t->n < LOAD_BATCH && t->used + len + 8192 <= t->room;
}

static void prepare(struct load_thread *t, uint32_t key, uint32_t state,
		    uint32_t len)
{
	struct load_op *op = &t->op[t->n];
	struct kvcache_io *io = &t->io[t->n];
	uint32_t key_len = model_key(t->load->m, key, t->key[t->n]);

	memset(op, 0, sizeof(*op));
	op->key = key;
	op->state = state;
	if (len)
		kvc_prep_data(io, t->key[t->n], key_len, memory_for(t, len),
			      len);
	else
		kvc_prep(io, t->key[t->n], key_len);
	t->n++;
}

/* --- calls that change something --- */

static void announce(struct load_thread *t)
{
	struct load *load = t->load;
	uint32_t i;

	for (i = 0; i < t->n; i++)
		load_begun(load->m, &t->op[i]);
	if (load->intent && !load->intent(load->arg, t->number, t->op, t->n))
		t->dead = true;
}

/* It is known what the key is now. */
static void settle(struct load_thread *t, struct load_op *op, uint32_t state)
{
	struct model_key *k = &t->load->m->keys[op->key];

	k->sure = state;
	k->maybe = MODEL_NONE;
	k->round = t->load->m->round;
}

/* A key that should be there is not: expired, or evicted if counters say so. */
static void settle_gone(struct load_thread *t, struct load_op *op)
{
	struct load *load = t->load;
	struct model_key *k = &load->m->keys[op->key];
	struct kvcache_info info;
	uint64_t gone;

	if (!model_expired(k, k->sure)) {
		gone = __atomic_add_fetch(&load->gone, 1, __ATOMIC_RELAXED);
		if (!kvc_info(load->kvc, &info, NULL, 0) &&
		    gone > info.evicted_objects)
			mishap(t, op, "what is there is not there");
	}
	settle(t, op, 0);
}

static void settle_put(struct load_thread *t, struct load_op *op, uint64_t len)
{
	struct load *load = t->load;
	struct model_key *k = &load->m->keys[op->key];

	switch (load_outcome(op)) {
	case LOAD_DONE:
		if (k->sure)
			settle_gone(t, op);
		settle(t, op, op->state);
		__atomic_add_fetch(&load->puts, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&load->bytes, (len + 4095) & ~4095ULL,
				   __ATOMIC_RELAXED);
		return;
	case LOAD_NOT_DONE:
		if (op->status == -EEXIST && !k->sure)
			mishap(t, op, "what is not there is there already");
		k->maybe = MODEL_NONE;
		return;
	case LOAD_UNKNOWN:
		if (op->status == -EINVAL || op->status == -EMSGSIZE ||
		    op->status == -EBADMSG || op->status == -ENOENT)
			mishap(t, op, "an answer that a put does not give");
		__atomic_add_fetch(&load->doubts, 1, __ATOMIC_RELAXED);
	}
}

static void settle_delete(struct load_thread *t, struct load_op *op)
{
	struct load *load = t->load;
	struct model_key *k = &load->m->keys[op->key];

	switch (load_outcome(op)) {
	case LOAD_DONE:
		settle(t, op, 0);
		__atomic_add_fetch(&load->deletes, 1, __ATOMIC_RELAXED);
		return;
	case LOAD_NOT_DONE:
		k->maybe = MODEL_NONE;
		return;
	case LOAD_UNKNOWN:
		if (op->status != -ENOENT) {
			__atomic_add_fetch(&load->doubts, 1, __ATOMIC_RELAXED);
			return;
		}
		/* There is none: evicted, expired, or for want of a lease. */
		if (model_misses(load->m, load->kvc, op->key) != 1)
			return;
		settle_gone(t, op);
	}
}

/* Run a batch that was prepared; false if the pool is gone. */
static void change(struct load_thread *t, bool put)
{
	struct kvc_call call = { .tenant = t->tenant, .deadline_ms = 3000 };
	struct load *load = t->load;
	ssize_t done;
	uint32_t i;

	announce(t);
	if (stopping(t))
		return;
	done = put ? kvc_batch_put(load->kvc, &call, t->io, t->n) :
		     kvc_batch_delete(load->kvc, &call, t->io, t->n);
	__atomic_add_fetch(&load->calls, 1, __ATOMIC_RELAXED);
	for (i = 0; i < t->n; i++) {
		/* An error of the whole call: no key was touched. */
		t->op[i].status = done < 0 ? -ECANCELED : t->io[i].status;
		if (put)
			settle_put(t, &t->op[i], t->io[i].data_len);
		else
			settle_delete(t, &t->op[i]);
	}
	if (load->answered &&
	    !load->answered(load->arg, t->number, t->op, t->n))
		t->dead = true;
	if (done == -ENODEV)
		t->dead = true;
	else if (done < 0 && done != -ESTALE)
		mishap(t, &t->op[0], "a call was refused");
}

static void do_put(struct load_thread *t)
{
	struct model *m = t->load->m;
	uint32_t want = how_many(t), key, state, len, r;

	begin(t);
	while (t->n < want && choose(t, WANT_ABSENT, &key)) {
		/* Else: has it been evicted? */
		if (model_expired(&m->keys[key], m->keys[key].sure) == 1)
			m->keys[key].sure = 0;
		state = m->keys[key].version + 1;
		len = model_len(m, key, state);
		if (!fits(t, len))
			break;
		prepare(t, key, state, len);
		model_fill(m, key, state,
			   (void *)(uintptr_t)t->io[t->n - 1].data);
		r = (uint32_t)vt_below(&t->rng, 128);
		if (r < 6 && !t->load->no_expiry) {
			t->op[t->n - 1].expiry = vt_now() + 2 + r / 2;
			kvc_set_expiry(&t->io[t->n - 1],
				       t->op[t->n - 1].expiry);
		}
		if (r == 6 && m->evicts && !vt_below(&t->rng, 4)) {
			t->op[t->n - 1].pin = vt_now() + 1000;
			kvc_set_pin(&t->io[t->n - 1], t->op[t->n - 1].pin);
		}
		kvc_set_depth(&t->io[t->n - 1], (uint16_t)(key % 7));
	}
	if (t->n)
		change(t, true);
}

static void do_delete(struct load_thread *t)
{
	uint32_t want = how_many(t), key;

	begin(t);
	while (t->n < want && choose(t, WANT_PRESENT, &key))
		prepare(t, key, 0, 0);
	if (t->n)
		change(t, false);
}

/* --- gets --- */

static void judge_get(struct load_thread *t, uint32_t i, uint64_t asked)
{
	struct load *load = t->load;
	struct load_op *op = &t->op[i];
	struct model_key *k = &load->m->keys[op->key];

	op->status = t->io[i].status;
	switch (op->status) {
	case 0:
		if (!model_is(load->m, op->key, k->sure,
			      (void *)(uintptr_t)t->io[i].data,
			      t->io[i].length))
			mishap(t, op, "other bytes");
		else if (k->sure == k->version && k->expiry &&
			 k->expiry + MODEL_LATE < asked)
			mishap(t, op, "a hit after its expiry");
		return;
	case -ENOENT:
		if (!k->sure ||
		    model_misses(load->m, load->kvc, op->key) != 1)
			return;
		settle_gone(t, op);
		return;
	case -EAGAIN:
	case -ETIMEDOUT:
	case -ESTALE:
	case -ECANCELED:
	case -EIO:
		return;
	default:
		mishap(t, op, "an answer that a get does not give");
	}
}

static void do_get(struct load_thread *t)
{
	struct kvc_call call = { .deadline_ms = 3000 };
	struct model *m = t->load->m;
	uint32_t want = how_many(t), key, len, i;
	uint64_t asked = vt_now();

	begin(t);
	while (t->n < want && choose(t, WANT_ANY, &key)) {
		len = model_len(m, key, m->keys[key].version);
		if (m->keys[key].sure &&
		    model_len(m, key, m->keys[key].sure) > len)
			len = model_len(m, key, m->keys[key].sure);
		if (!fits(t, len))
			break;
		prepare(t, key, 0, len);
	}
	call.tenant = t->tenant;
	if (!t->n || kvc_batch_get(t->load->kvc, &call, t->io, t->n) < 0)
		return;
	__atomic_add_fetch(&t->load->calls, 1, __ATOMIC_RELAXED);
	for (i = 0; i < t->n && !t->dead; i++)
		judge_get(t, i, asked);
}

static void *work(void *arg)
{
	struct load_thread *t = arg;
	uint64_t r;

	while (!stopping(t)) {
		r = vt_below(&t->rng, 16);
		if (r < 8)
			do_put(t);
		else if (r < 12)
			do_delete(t);
		else
			do_get(t);
		if (t->load->pause_us)
			usleep((useconds_t)vt_below(&t->rng,
						    t->load->pause_us));
	}
	return NULL;
}

void load_start(struct load *load)
{
	uint32_t i;

	load->stop = false;
	load->calls = load->puts = load->bytes = 0;
	load->deletes = load->doubts = load->gone = 0;
	if (!load->private) {
		load->private = calloc(load->threads, sizeof(*load->private));
		vt_need(load->private && load->threads <= LOAD_THREADS,
			"memory for %u threads", load->threads);
	}
	for (i = 0; i < load->threads; i++) {
		struct load_thread *t = &load->private[i];

		t->load = load;
		t->number = i;
		t->dead = false;
		t->rng.s = vt_mix(load->seed, i) + ((uint64_t)load->m->round << 32);
		if (!t->memory) {
			t->room = (size_t)load->m->max_len * 4 + (1 << 20);
			t->memory = vt_map(t->room);
		}
		vt_need(!pthread_create(&load->thread[i], NULL, work, t),
			"start a thread");
	}
}

void load_join(struct load *load)
{
	uint32_t i;

	for (i = 0; i < load->threads; i++)
		pthread_join(load->thread[i], NULL);
}
