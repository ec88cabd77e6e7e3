// SPDX-License-Identifier: MIT
/*
 * The mapped presence table: exists without a call of the kernel.
 *
 * A look-up is wait-free, and any number of threads make them. What the table can't
 * tell (KVC_ASK) the kernel is asked for, so nothing here need ever succeed. Where a
 * table has lost its validity one thread maps the next; an old one's addresses stay
 * taken until kvc_close(), since others may be looking there, but its memory is given
 * back: they find zeroes, which is no valid table.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "internal.h"
#include "kvc_hash.h"

#define TRIES		8	/* at a table that changes meanwhile */
#define PAUSE_MS	100	/* between two tries to map the next one */

/**
 * struct table - a table that is mapped, or was
 * @head: where
 * @lines: behind it
 * @bytes: of both
 * @nr: lines
 * @hash_key: of the pool
 * @older: the one before it
 */
struct table {
	const struct kvcache_presence *head;
	const uint32_t *lines;
	size_t bytes;
	uint32_t nr;
	uint8_t hash_key[16];
	struct table *older;
};

/**
 * struct kvc_view - what a handle has mapped
 * @now: the newest table; NULL: none yet
 * @lock: who maps the next one
 * @tried_ms: when that was tried last; under @lock
 */
struct kvc_view {
	_Atomic(struct table *) now;
	pthread_mutex_t lock;
	uint64_t tried_ms;
};

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* --- mapping --- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct table *table_map(struct kvc *kvc, int *error)
{
	struct kvcache_presence_map m = { .size = sizeof(m), .pool = kvc->pool };
	struct table *t = calloc(1, sizeof(*t));
	void *at;

	*error = t ? kvc_ioctl(kvc, KVCACHE_IOC_PRESENCE, &m) : -ENOMEM;
	if (*error)
		goto free_table;
	at = mmap(NULL, m.bytes, PROT_READ, MAP_SHARED, kvc->fd, (off_t)m.offset);
	if (at == MAP_FAILED) {
		*error = -errno;
		goto free_table;
	}
	t->head = at;
	t->bytes = m.bytes;
	t->lines = (const uint32_t *)((const char *)at + KVCACHE_PRESENCE_LINES);
	t->nr = t->head->nr_lines;
	memcpy(t->hash_key, t->head->hash_key, sizeof(t->hash_key));
	if (t->head->version == KVCACHE_PRESENCE_VERSION && t->nr &&
	    t->nr <= (t->bytes - KVCACHE_PRESENCE_LINES) / sizeof(uint32_t) /
			    KVCACHE_PRESENCE_LINE)
		return t;
	munmap(at, t->bytes);
	*error = -EOPNOTSUPP;
free_table:
	free(t);
	return NULL;
}

/* Map a table, in the place of the one that is there. Under the lock. */
static int view_renew(struct kvc *kvc, struct kvc_view *v)
{
	struct table *old = atomic_load(&v->now), *t;
	int error;

	__atomic_store_n(&v->tried_ms, now_ms(), __ATOMIC_RELAXED);
	t = table_map(kvc, &error);
	/* There may be another between call and mapping: the kernel says ENXIO. */
	if (!t && error == -ENXIO)
		t = table_map(kvc, &error);
	if (!t)
		return error;
	t->older = old;
	atomic_store(&v->now, t);
	/* The kernel need not keep the old one any more. */
	if (old && mmap((void *)(uintptr_t)old->head, old->bytes, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			-1, 0) == MAP_FAILED)
		return -errno;
	return 0;
}

/* The table is not valid, or not for long. Somebody will do. */
static void view_wanting(struct kvc *kvc, struct kvc_view *v)
{
	if (now_ms() - __atomic_load_n(&v->tried_ms, __ATOMIC_RELAXED) < PAUSE_MS ||
	    pthread_mutex_trylock(&v->lock))
		return;
	if (now_ms() - v->tried_ms >= PAUSE_MS)
		view_renew(kvc, v);
	pthread_mutex_unlock(&v->lock);
}

int kvc_map(struct kvc *kvc, unsigned int flags)
{
	struct kvc_view *v;
	int error;

	if (flags)
		return -EINVAL;
	if (!(kvc->caps.features & KVCACHE_FEAT_PRESENCE))
		return -EOPNOTSUPP;
	if (kvc->view)
		return -EBUSY;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	pthread_mutex_init(&v->lock, NULL);
	error = view_renew(kvc, v);
	if (error) {
		pthread_mutex_destroy(&v->lock);
		free(v);
		return error;
	}
	kvc->view = v;
	return 0;
}

void kvc_view_close(struct kvc_view *v)
{
	struct table *t, *older;

	if (!v)
		return;
	for (t = atomic_load(&v->now); t; t = older) {
		older = t->older;
		munmap((void *)(uintptr_t)t->head, t->bytes);
		free(t);
	}
	pthread_mutex_destroy(&v->lock);
	free(v);
}

/* --- looking --- */

/*
 * A line four words at a time. A word is read whole, which is all that is asked for:
 * words beside each other have nothing to do with each other.
 */
typedef uint32_t words __attribute__((vector_size(16)));

#define STEPS (KVCACHE_PRESENCE_LINE * sizeof(uint32_t) / sizeof(words))

static bool any(words w)
{
	uint64_t half[2];

	memcpy(half, &w, sizeof(half));
	return half[0] | half[1];
}

/* Does the word stand there? KVC_ASK: with KVC_TAG_ASK alone; KVC_MISS: it does not. */
static enum kvc_answer line_find(const struct table *t, uint32_t line, uint32_t word)
{
	const volatile words *at = (const volatile words *)(const volatile void *)
		(t->lines + (size_t)line * KVCACHE_PRESENCE_LINE);
	words hit = { 0 }, ask = { 0 };
	size_t i;

	for (i = 0; i < STEPS; i++) {
		words here = at[i];

		hit |= (words)(here == word);
		ask |= (words)(here == (word | KVC_TAG_ASK));
	}
	if (any(hit))
		return KVC_HIT;
	return any(ask) ? KVC_ASK : KVC_MISS;
}

static enum kvc_answer table_find(const struct table *t, struct kvc_hash hash)
{
	uint32_t word = kvc_tag_word(hash), one = kvc_tag_line(hash, t->nr);
	enum kvc_answer found = line_find(t, one, word);

	if (found != KVC_MISS)
		return found;
	return line_find(t, kvc_tag_other(word, one, t->nr), word);
}

static enum kvc_answer table_look(const struct table *t, struct kvc_hash hash,
				  bool *wanting)
{
	const struct kvcache_presence *h = t->head;
	unsigned int tries;

	for (tries = 0; tries < TRIES; tries++) {
		uint32_t sequence = __atomic_load_n(&h->sequence, __ATOMIC_ACQUIRE);
		enum kvc_answer found = table_find(t, hash);

		/* What was found counts if the table was valid behind it. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		*wanting = load(&h->wanted);
		if (load(&h->state) != KVCACHE_PRESENCE_VALID) {
			*wanting = true;
			return KVC_ASK;
		}
		if (load(&h->lapsed))
			return KVC_ASK;
		if (found != KVC_MISS)
			return load(&h->ill) ? KVC_ASK : found;
		if (sequence & 1 || load(&h->sequence) != sequence)
			continue;
		return load(&h->lost) || load(&h->shared) ? KVC_ASK : KVC_MISS;
	}
	return KVC_ASK;
}

enum kvc_answer kvc_view_look(struct kvc *kvc, uint32_t tenant, const void *key,
			      size_t key_len)
{
	struct kvc_view *v = kvc->view;
	struct table *t = atomic_load_explicit(&v->now, memory_order_acquire);
	enum kvc_answer answer;
	bool wanting;

	if (!key_len || key_len > KVCACHE_KEY_MAX)
		return KVC_ASK;
	answer = table_look(t, kvc_hash_key(t->hash_key, tenant, key, key_len),
			    &wanting);
	if (__builtin_expect(wanting, 0))
		view_wanting(kvc, v);
	return answer;
}

/* --- batches --- */

/* Nothing that the kernel would refuse, or that is more than to look. */
static bool is_plain(const struct kvcache_io *io)
{
	return !(io->flags || io->data || io->data_len || io->offset ||
		 io->expiry || io->pin || io->reserved[0] || io->reserved[1]);
}

size_t kvc_view_batch(struct kvc *kvc, uint32_t tenant, struct kvcache_io *ios,
		      size_t count, size_t *hits)
{
	size_t i, asks = 0;

	*hits = 0;
	for (i = 0; i < count; i++) {
		struct kvcache_io *io = &ios[i];
		enum kvc_answer answer = KVC_ASK;

		if (is_plain(io))
			answer = kvc_view_look(kvc, tenant,
					       (const void *)(uintptr_t)io->key,
					       io->key_len);
		io->length = 0;
		io->transferred = 0;
		io->out_flags = 0;
		io->status = answer == KVC_HIT ? 0 : answer == KVC_MISS ? -ENOENT :
									  -EAGAIN;
		*hits += answer == KVC_HIT;
		asks += answer == KVC_ASK;
	}
	return asks;
}
