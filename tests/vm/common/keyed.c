// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "keyed.h"

#define KEY_MAX	64

typedef ssize_t (*batch_call)(struct kvc *kvc, const struct kvc_call *call,
			      struct kvcache_io *ios, size_t count);

static const batch_call calls[] = {
	[KEYED_PUT] = kvc_batch_put,
	[KEYED_GET] = kvc_batch_get,
	[KEYED_EXISTS] = kvc_batch_exists,
	[KEYED_DELETE] = kvc_batch_delete,
};

/**
 * struct slot - a key of the call
 * @key: text
 * @seed: of its bytes
 * @number: of the key
 * @len: bytes
 * @status: last answer
 * @tried: it was asked for before
 */
struct slot {
	char key[KEY_MAX];
	uint64_t seed;
	uint64_t number;
	uint32_t len;
	int status;
	bool tried;
};

static uint64_t seed_of(const char *prefix, uint64_t number)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *prefix; prefix++)
		h = (h ^ (uint8_t)*prefix) * 0x100000001b3ULL;
	return vt_mix(h, number) | 1;
}

static uint32_t len_of(uint64_t seed, uint32_t max)
{
	return 1 + (uint32_t)(vt_mix(seed, 1) % max);
}

uint32_t keyed_len(const struct keyed *what, uint64_t number)
{
	return len_of(seed_of(what->prefix, number), what->max_len);
}

/* Memory for a call's objects; each thread has some, which only grows. */
static uint8_t *room_for(size_t len)
{
	static __thread uint8_t *room;
	static __thread size_t size;

	if (len > size) {
		free(room);
		size = len;
		room = malloc(len);
		vt_need(room, "%zu bytes of memory", len);
	}
	return room;
}

static bool again_helps(int status)
{
	switch (status) {
	case -EAGAIN:
	case -ETIMEDOUT:
	case -ESTALE:
	case -EIO:
	case -ENODEV:
	case -ECANCELED:
		return true;
	}
	return false;
}

/* Is what was read the object? */
static bool right(const struct slot *s, const struct kvcache_io *io,
		  const uint8_t *buf)
{
	ssize_t at;

	if (io->length != s->len || io->transferred != s->len)
		return vt_expect(false, "%s has %llu bytes (%llu came), not %u",
				 s->key, (unsigned long long)io->length,
				 (unsigned long long)io->transferred, s->len);
	at = vt_differs(buf, s->seed, 0, s->len);
	return vt_expect(at < 0, "%s: wrong from byte %zd of %u on", s->key, at,
			 s->len);
}

/* The incarnation in which the host holds a lease, 0: it doesn't. */
static uint64_t incarnation(struct kvc *kvc)
{
	struct kvcache_info info;

	if (!kvc || kvc_info(kvc, &info, NULL, 0) ||
	    info.state != KVCACHE_POOL_UP || !info.lease_left_ms)
		return 0;
	return info.incarnation;
}

/* One call for those of @slots that want another answer. False: none does. */
static bool call(struct kvc **kvc, const struct keyed *what, struct slot *slots,
		 uint32_t n, struct keyed_tally *tally)
{
	const struct kvc_call how = {
		.deadline_ms = what->deadline_ms,
		/* So that memory can be used again whatever happens. */
		.flags = what->op == KEYED_PUT || what->op == KEYED_GET ?
			 KVC_SETTLE : 0,
	};
	struct kvcache_io ios[KEYED_BATCH_MAX];
	struct slot *asked[KEYED_BATCH_MAX];
	size_t room = 0;
	uint64_t start, before = 0;
	uint32_t i, k = 0;
	bool lapsed;
	ssize_t ret;
	uint8_t *at;

	for (i = 0; i < n; i++) {
		if (slots[i].tried && !again_helps(slots[i].status))
			continue;
		tally->again += slots[i].tried;
		asked[k++] = &slots[i];
		room += slots[i].len;
	}
	if (!k)
		return false;
	at = room_for(room);
	for (i = 0; i < k; at += asked[i]->len, i++) {
		struct slot *s = asked[i];

		if (what->op == KEYED_PUT)
			vt_fill(at, s->seed, 0, s->len);
		else if (what->op == KEYED_GET)
			memset(at, 0xa5, s->len);
		kvc_prep_data(&ios[i], s->key, strlen(s->key), at, s->len);
		if (what->op != KEYED_PUT && what->op != KEYED_GET)
			kvc_prep(&ios[i], s->key, strlen(s->key));
	}
	if (!*kvc)
		*kvc = kvc_open(NULL, 0);
	if (what->op == KEYED_GET || what->op == KEYED_EXISTS)
		before = incarnation(*kvc);
	start = vt_ms();
	ret = *kvc ? calls[what->op](*kvc, &how, ios, k) : -ENODEV;
	start = vt_ms() - start;
	if (start > tally->longest_ms)
		tally->longest_ms = (uint32_t)start;
	/*
	 * Without a lease a host knows of no objects: on a machine with much to do
	 * it may lose one, and that is not what is looked for.
	 */
	lapsed = (what->op == KEYED_GET || what->op == KEYED_EXISTS) &&
		 (!before || incarnation(*kvc) != before);
	for (i = 0; i < k; i++) {
		struct slot *s = asked[i];

		s->tried = true;
		s->status = ret < 0 ? (int)ret : ios[i].status;
		if (s->status == -ENOENT && lapsed)
			s->status = -ESTALE;
		if (!s->status && what->op == KEYED_GET &&
		    !right(s, &ios[i], (const uint8_t *)(uintptr_t)ios[i].data))
			s->status = -EBADE;
	}
	if (ret == -ENODEV && *kvc) {
		/* The module may want to go. */
		kvc_close(*kvc);
		*kvc = NULL;
	}
	return true;
}

static void count(const struct slot *s, struct keyed_tally *tally)
{
	switch (s->status) {
	case 0:
		tally->done++;
		return;
	case -EEXIST:
		tally->exists++;
		break;
	case -ENOENT:
		tally->misses++;
		break;
	case -ESTALE:
		tally->stale++;
		break;
	case -EAGAIN:
	case -ETIMEDOUT:
		tally->busy++;
		break;
	case -EBADE:
		tally->wrong++;
		break;
	default:
		tally->errors++;
	}
	if (!tally->error) {
		tally->error = s->status;
		tally->worst = s->number;
	}
}

void keyed_do(struct kvc **kvc, const struct keyed *what,
	      struct keyed_tally *tally)
{
	static __thread struct slot slots[KEYED_BATCH_MAX];
	uint32_t at, i, n, batch = what->batch;
	uint64_t end;

	memset(tally, 0, sizeof(*tally));
	if (!batch || batch > KEYED_BATCH_MAX)
		batch = KEYED_BATCH_MAX;
	for (at = 0; at < what->count; at += n) {
		n = what->count - at < batch ? what->count - at : batch;
		for (i = 0; i < n; i++) {
			struct slot *s = &slots[i];

			s->number = what->first + at + i;
			s->seed = seed_of(what->prefix, s->number);
			s->len = len_of(s->seed, what->max_len);
			s->tried = false;
			snprintf(s->key, sizeof(s->key), "%.*s-%" PRIu64,
				 KEYED_PREFIX_MAX - 1, what->prefix, s->number);
		}
		end = vt_ms() + what->patience_ms;
		while (call(kvc, what, slots, n, tally)) {
			for (i = 0; i < n && !again_helps(slots[i].status); i++)
				;
			if (i == n || vt_ms() >= end)
				break;
			vt_sleep_ms(20);
		}
		for (i = 0; i < n; i++)
			count(&slots[i], tally);
	}
}

void keyed_add(struct keyed_tally *to, const struct keyed_tally *from)
{
	to->done += from->done;
	to->exists += from->exists;
	to->misses += from->misses;
	to->stale += from->stale;
	to->busy += from->busy;
	to->errors += from->errors;
	to->wrong += from->wrong;
	to->again += from->again;
	if (from->longest_ms > to->longest_ms)
		to->longest_ms = from->longest_ms;
	if (!to->error) {
		to->error = from->error;
		to->worst = from->worst;
	}
}

const char *keyed_text(const struct keyed_tally *t)
{
	static __thread char text[256];
	const struct {
		const char *name;
		uint32_t n;
	} parts[] = {
		{ "done", t->done },	 { "there", t->exists },
		{ "misses", t->misses }, { "stale", t->stale },
		{ "busy", t->busy },	 { "errors", t->errors },
		{ "WRONG", t->wrong },	 { "asked again", t->again },
	};
	size_t at = 0, i;

	text[0] = '\0';
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].n)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u %s",
					       at ? ", " : "", parts[i].n,
					       parts[i].name);
	if (t->error)
		snprintf(text + at, sizeof(text) - at, "%skey %" PRIu64 ": %s",
			 at ? "; " : "", t->worst,
			 strerrorname_np(-t->error) ? strerrorname_np(-t->error) : "?");
	return text;
}
