// SPDX-License-Identifier: MIT
/* kvcachectl replay: one request. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "prng.h"
#include "replay.h"

#define MOST_MESSAGES	10

enum block_state {
	BLOCK_ABSENT,	/* to be put */
	BLOCK_PRESENT,	/* to be read */
	BLOCK_HIT,	/* read, and right */
	BLOCK_LEFT,	/* nothing more to do about it */
};

/* --- keys and contents --- */

size_t replay_key_room(const char *format)
{
	bool distinct = false;
	size_t room = 1;

	for (; *format; format++) {
		if (*format != '%') {
			room++;
			continue;
		}
		format++;
		if (*format == 'x')
			room += 16;
		else if (*format == 'd')
			room += 20;
		else if (*format == '%')
			room++;
		else
			return 0;
		distinct = distinct || *format != '%';
	}
	return distinct && room <= KVCACHE_KEY_MAX + 1 ? room : 0;
}

/* Returns the key's length. */
static size_t make_key(char *key, size_t room, const char *format, u64 id)
{
	size_t len = 0;

	for (; *format; format++) {
		if (*format != '%' || *++format == '%')
			key[len++] = *format;
		else if (*format == 'x')
			len += (size_t)snprintf(key + len, room - len, "%016" PRIx64,
						(uint64_t)id);
		else
			len += (size_t)snprintf(key + len, room - len, "%" PRIu64,
						(uint64_t)id);
	}
	return len;
}

void replay_begin(struct replay *r)
{
	const char *c;

	r->content = prng_mix(r->call.call.tenant);
	for (c = r->key_format; *c; c++)
		r->content = prng_mix(r->content ^ (u8)*c);
}

/*
 * Word i of an object. Seed and first word follow one to one from the hash id, so
 * no two objects of a replay begin alike.
 */
static u64 word(u64 seed, size_t i)
{
	return prng_mix(seed + i * PRNG_STEP);
}

static u64 content_seed(const struct replay *r, u64 id)
{
	return prng_mix(r->content ^ id);
}

static void fill(void *buffer, size_t bytes, u64 seed)
{
	u64 *words = buffer;
	size_t i;
	u64 last;

	for (i = 0; i < bytes / sizeof(u64); i++)
		words[i] = word(seed, i);
	last = word(seed, i);
	memcpy(&words[i], &last, bytes % sizeof(u64));
}

/* Where it differs from what fill() made; @bytes: nowhere. */
static size_t first_difference(const void *buffer, size_t bytes, u64 seed)
{
	size_t at;

	for (at = 0; at < bytes; at += sizeof(u64)) {
		size_t len = min_t(size_t, bytes - at, sizeof(u64)), i;
		const u8 *got = (const u8 *)buffer + at;
		u64 want = word(seed, at / sizeof(u64));

		if (!memcmp(got, &want, len))
			continue;
		for (i = 0; got[i] == ((u8 *)&want)[i]; i++)
			;
		return at + i;
	}
	return bytes;
}

/* --- workers --- */

static size_t stride(const struct replay *r)
{
	return round_up(r->object_bytes, (size_t)KVC_BLOCK_SIZE);
}

static void map_buffer(struct replay_worker *w)
{
	w->buffer = mmap(NULL, stride(w->replay) * w->replay->batch,
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->buffer != MAP_FAILED)
		return;
	ctl_err(w->replay->ctl, NULL, "Lower --batch, --threads or --object-size.",
		"no memory for a batch of objects");
	exit(CTL_FAIL);
}

static void unmap_buffer(struct replay_worker *w)
{
	munmap(w->buffer, stride(w->replay) * w->replay->batch);
}

void replay_worker_begin(struct replay_worker *w, struct replay *r)
{
	w->replay = r;
	map_buffer(w);
}

static void free_arrays(struct replay_worker *w)
{
	free(w->ids);
	free(w->keys);
	free(w->ios);
	free(w->blocks);
	free(w->states);
}

void replay_worker_end(struct replay_worker *w)
{
	unmap_buffer(w);
	free_arrays(w);
}

void replay_worker_reserve(struct replay_worker *w, u32 n)
{
	if (n <= w->room)
		return;
	free_arrays(w);
	w->room = max_t(u32, n, 2 * w->room);
	w->ids = ctl_alloc(w->room * sizeof(*w->ids));
	w->keys = ctl_alloc(w->room * w->replay->key_room);
	w->ios = ctl_alloc(w->room * sizeof(*w->ios));
	w->blocks = ctl_alloc(w->room * sizeof(*w->blocks));
	w->states = ctl_alloc(w->room * sizeof(*w->states));
}

/* --- what went wrong --- */

/* Say it, for the first few objects. */
static void tell(struct replay_worker *w, u32 block, const char *next,
		 const char *text)
{
	struct replay *r = w->replay;

	pthread_mutex_lock(&r->lock);
	if (r->told++ < MOST_MESSAGES)
		ctl_err(r->ctl, w->keys + block * r->key_room, next, "%s", text);
	else if (r->told == MOST_MESSAGES + 1)
		ctl_note(r->ctl, "(more messages of this kind are left out)");
	pthread_mutex_unlock(&r->lock);
}

static void mismatch(struct replay_worker *w, u32 block, const char *next,
		     const char *text)
{
	w->counts.mismatches++;
	w->states[block] = BLOCK_LEFT;
	tell(w, block, next, text);
}

/* Answers that mean the same to every step. */
static void failed(struct replay_worker *w, u32 block, int error)
{
	w->states[block] = BLOCK_LEFT;
	if (error == -EAGAIN) {
		w->counts.skipped++;
		return;
	}
	if (error == -EBADMSG) {
		mismatch(w, block, kvc_next_step(error), kvc_strerror(error));
		return;
	}
	w->counts.errors++;
	tell(w, block, kvc_next_step(error), kvc_strerror(error));
}

/* --- the steps --- */

/* Send the first @n elements down. False: refused, there is no going on. */
static bool send_batch(struct replay_worker *w, enum replay_step step, u32 n)
{
	static ssize_t (*const calls[])(struct kvc *, const struct kvc_call *,
					struct kvcache_io *, size_t) = {
		[REPLAY_EXISTS] = kvc_batch_exists,
		[REPLAY_GET] = kvc_batch_get,
		[REPLAY_PUT] = kvc_batch_put,
	};
	struct replay *r = w->replay;
	u64 begun = latency_now();
	ssize_t ret = calls[step](r->call.kvc, &r->call.call, w->ios, n);

	latency_add(&w->latency[step], latency_now() - begun);
	if (ret >= 0)
		return true;
	w->counts.errors++;
	pthread_mutex_lock(&r->lock);
	if (!r->stop)
		call_failed(r->ctl, r->ctl->device, (int)ret);
	r->stop = true;
	pthread_mutex_unlock(&r->lock);
	return false;
}

/* Memory that is still under I/O must not be touched again. */
static void replace_busy_buffer(struct replay_worker *w, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (w->ios[i].out_flags & KVCACHE_IO_BUSY) {
			unmap_buffer(w);
			map_buffer(w);
			return;
		}
	}
}

static void prepare(struct replay_worker *w, u32 element, u32 block, void *data)
{
	struct replay *r = w->replay;
	char *key = w->keys + block * r->key_room;

	w->blocks[element] = block;
	kvc_prep_data(&w->ios[element], key,
		      make_key(key, r->key_room, r->key_format, w->ids[block]),
		      data, data ? r->object_bytes : 0);
	key[w->ios[element].key_len] = '\0';
}

static bool ask(struct replay_worker *w, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		w->states[i] = BLOCK_ABSENT;
		prepare(w, i, i, NULL);
	}
	if (!send_batch(w, REPLAY_EXISTS, n))
		return false;
	for (i = 0; i < n; i++) {
		if (!w->ios[i].status)
			w->states[i] = BLOCK_PRESENT;
		else if (w->ios[i].status == -ENOENT)
			w->counts.misses++;
		else
			failed(w, i, w->ios[i].status);
	}
	return true;
}

/* An object was read into memory: is it the right one? */
static void judge(struct replay_worker *w, const struct kvcache_io *io, u32 block)
{
	const struct replay *r = w->replay;
	size_t at;
	char text[128];

	if (io->length != r->object_bytes || io->transferred != r->object_bytes) {
		snprintf(text, sizeof(text), "%llu bytes of %llu came, %zu were put",
			 (unsigned long long)io->transferred,
			 (unsigned long long)io->length, r->object_bytes);
		mismatch(w, block, "If an earlier replay had another --object-size, take another tenant.",
			 text);
		return;
	}
	at = r->object_bytes;
	if (r->verify)
		at = first_difference((void *)(uintptr_t)io->data, r->object_bytes,
				      content_seed(r, w->ids[block]));
	if (at < r->object_bytes) {
		snprintf(text, sizeof(text), "wrong data from byte %zu on", at);
		mismatch(w, block, NULL, text);
		return;
	}
	w->states[block] = BLOCK_HIT;
	w->counts.gets++;
}

static void judge_get(struct replay_worker *w, const struct kvcache_io *io, u32 block)
{
	switch (io->status) {
	case 0:
	case -EMSGSIZE:
		judge(w, io, block);
		break;
	case -ENOENT:
		w->counts.lost++;
		w->counts.misses++;
		w->states[block] = BLOCK_ABSENT;
		break;
	default:
		failed(w, block, io->status);
	}
}

static void judge_put(struct replay_worker *w, const struct kvcache_io *io, u32 block)
{
	switch (io->status) {
	case 0:
		w->counts.puts++;
		break;
	case -EEXIST:
		w->counts.present++;
		break;
	default:
		failed(w, block, io->status);
	}
}

/* Get or put all blocks among the first @n that are in a state. */
static bool move(struct replay_worker *w, enum replay_step step,
		 enum block_state state, u32 n)
{
	struct replay *r = w->replay;
	u32 block = 0, i, k;

	while (block < n) {
		for (k = 0; block < n && k < r->batch; block++) {
			u8 *data = w->buffer + k * stride(r);

			if (w->states[block] != state)
				continue;
			prepare(w, k, block, data);
			if (step == REPLAY_PUT) {
				kvc_set_depth(&w->ios[k], (u16)min_t(u32, block, U16_MAX));
				fill(data, r->object_bytes, content_seed(r, w->ids[block]));
			}
			k++;
		}
		if (!k)
			return true;
		if (!send_batch(w, step, k))
			return false;
		for (i = 0; i < k; i++) {
			if (step == REPLAY_PUT)
				judge_put(w, &w->ios[i], w->blocks[i]);
			else
				judge_get(w, &w->ios[i], w->blocks[i]);
		}
		replace_busy_buffer(w, k);
	}
	return true;
}

static u32 leading(const struct replay_worker *w, enum block_state state, u32 n)
{
	u32 i;

	for (i = 0; i < n && w->states[i] == state; i++)
		;
	return i;
}

void replay_request(struct replay_worker *w, u32 n)
{
	u32 read = n, i;

	w->counts.requests++;
	w->counts.blocks += n;
	if (!n || !ask(w, n))
		return;
	if (w->replay->prefix)
		read = leading(w, BLOCK_PRESENT, n);
	if (!move(w, REPLAY_GET, BLOCK_PRESENT, read))
		return;
	if (w->replay->prefix) {
		w->counts.hits += leading(w, BLOCK_HIT, read);
	} else {
		for (i = 0; i < n; i++)
			w->counts.hits += w->states[i] == BLOCK_HIT;
	}
	move(w, REPLAY_PUT, BLOCK_ABSENT, n);
}
