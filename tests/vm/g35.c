// SPDX-License-Identifier: GPL-2.0
/*
 * Long conversations served by two hosts, either of which may get a session's next
 * turn: how much of a turn's prefix is found, and how long it takes to fetch.
 *
 * usage: g35 serve INDEX PEER
 *	  g35 run --where pool|memory --users N [OPTION]... ADDRESS ADDRESS
 *
 * serve runs on each host, in the background: it does turns, and keeps one half of
 * the memory that is large enough. run has each user take one turn after the other
 * at one host or the other, and prints one line of JSON.
 *
 * A turn asks which blocks of its prefix are there, fetches those before the first
 * that is not, checks every byte, and puts the others: that is when its host would
 * have computed them. Which is what a pool makes of it, its own or a shared one;
 * the memory is a hash table on each host, half of the blocks in either, which the
 * other host reaches by TCP over the same network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "prng.h"
#include "trace.h"
#include "vmtest.h"

#define PORT		7701
#define BLOCKS_MAX	4096	/* of a turn */
#define BATCH		128	/* objects in one call */
#define BUCKETS		65536
#define PATIENCE_MS	60000

enum op {
	OP_TURN_POOL,	/* -> struct answer */
	OP_TURN_MEMORY,
	OP_FETCH,	/* -> a byte per block: it is there; then those */
	OP_STORE,	/* blocks follow -> struct answer */
	OP_FORGET,	/* -> struct answer: the memory is empty */
};

/* Followed by identities of @nr blocks. */
struct request {
	uint32_t op;
	uint32_t nr;
	uint32_t bytes;		/* of a block */
	uint32_t reserved;
};

/**
 * struct answer - what came of a turn
 * @hits: blocks before the first that was not there
 * @puts: blocks that were put
 * @wrong: blocks with other bytes than theirs
 * @errors: answers that were none of these, after asking again
 * @again: keys that had to be asked for again
 * @error: errno of the first of @errors
 * @fetch_ns: from the turn's begin until its prefix was in memory
 * @put_ns: and the puts
 */
struct answer {
	uint32_t hits;
	uint32_t puts;
	uint32_t wrong;
	uint32_t errors;
	uint32_t again;
	int32_t error;
	uint64_t fetch_ns;
	uint64_t put_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- connections --- */

static bool give(int fd, const void *buf, size_t len)
{
	const uint8_t *at = buf;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool take(int fd, void *buf, size_t len)
{
	return !len || recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len;
}

static int connect_to(const char *address)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	vt_need(inet_pton(AF_INET, address, &a.sin_addr) == 1 && fd >= 0 &&
		!connect(fd, (struct sockaddr *)&a, sizeof(a)),
		"connect to %s: %s", address, strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* --- memory that is large enough --- */

struct block {
	struct block *next;
	uint64_t id;
	uint8_t data[];
};

static struct block *buckets[BUCKETS];
static pthread_mutex_t buckets_lock = PTHREAD_MUTEX_INITIALIZER;

static struct block **bucket(uint64_t id)
{
	return &buckets[prng_mix(id) >> 16 & (BUCKETS - 1)];
}

/* Blocks never change and stay until all are forgotten. */
static struct block *look_up(uint64_t id)
{
	struct block *b;

	pthread_mutex_lock(&buckets_lock);
	for (b = *bucket(id); b && b->id != id; b = b->next)
		;
	pthread_mutex_unlock(&buckets_lock);
	return b;
}

static void keep(uint64_t id, const void *data, uint32_t bytes)
{
	struct block *b;

	if (look_up(id))
		return;
	b = malloc(sizeof(*b) + bytes);
	vt_need(b, "memory for a block");
	b->id = id;
	memcpy(b->data, data, bytes);
	pthread_mutex_lock(&buckets_lock);
	b->next = *bucket(id);
	*bucket(id) = b;
	pthread_mutex_unlock(&buckets_lock);
}

static void forget(void)
{
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		while (buckets[i]) {
			struct block *b = buckets[i];

			buckets[i] = b->next;
			free(b);
		}
	}
}

/* --- turns --- */

static unsigned int own_index;
static const char *peer_address;

/**
 * struct server - serves one connection
 * @fd: connection
 * @peer: to the other host, -1: not yet
 * @kvc: pool, or NULL
 * @r: what is to be done
 * @ids: blocks
 * @data: of all blocks of the turn
 * @room: bytes there
 */
struct server {
	int fd;
	int peer;
	struct kvc *kvc;
	struct request r;
	uint64_t ids[BLOCKS_MAX];
	uint8_t *data;
	size_t room;
};

static uint64_t seed_of(uint64_t id)
{
	return vt_mix(id, 35) | 1;
}

static uint8_t *place(const struct server *s, uint32_t block)
{
	return s->data + (size_t)block * s->r.bytes;
}

static bool is_right(struct server *s, uint32_t block, struct answer *a)
{
	if (vt_differs(place(s, block), seed_of(s->ids[block]), 0, s->r.bytes) < 0)
		return true;
	a->wrong++;
	return false;
}

typedef ssize_t (*batch_call)(struct kvc *kvc, const struct kvc_call *call,
			      struct kvcache_io *ios, size_t count);

static bool again_helps(int status)
{
	return status == -EAGAIN || status == -ETIMEDOUT || status == -ESTALE ||
	       status == -EIO;
}

/*
 * One batch of blocks @from .. @from + @n; what says "not this moment" is asked for
 * again, since a miss would be counted for what is none.
 */
static void send_batch(struct server *s, batch_call call, bool data, uint32_t from,
		       uint32_t n, int *status, struct answer *a)
{
	const struct kvc_call how = {
		.deadline_ms = 20000, .flags = data ? KVC_SETTLE : 0,
	};
	uint64_t end = vt_ms() + PATIENCE_MS;
	struct kvcache_io ios[BATCH];
	uint32_t which[BATCH], i, k;
	char keys[BATCH][24];
	bool first = true;
	ssize_t ret;

	for (i = 0; i < n; i++)
		status[i] = -EAGAIN;
	do {
		for (i = 0, k = 0; i < n; i++) {
			if (!again_helps(status[i]))
				continue;
			snprintf(keys[k], sizeof(keys[k]), "g35-%016" PRIx64,
				 s->ids[from + i]);
			kvc_prep_data(&ios[k], keys[k], strlen(keys[k]),
				      place(s, from + i), s->r.bytes);
			if (!data)
				kvc_prep(&ios[k], keys[k], strlen(keys[k]));
			else if (call == kvc_batch_put)
				kvc_set_depth(&ios[k], (uint16_t)(from + i));
			which[k++] = i;
		}
		if (!first) {
			a->again += k;
			vt_sleep_ms(10);
		}
		first = false;
		ret = k ? call(s->kvc, &how, ios, k) : 0;
		for (i = 0; i < k; i++)
			status[which[i]] = ret < 0 ? (int)ret : ios[i].status;
	} while (k && vt_ms() < end);
}

static void note_error(struct answer *a, int status)
{
	if (!a->errors++)
		a->error = status;
}

static void pool_turn(struct server *s, struct answer *a)
{
	uint32_t nr = s->r.nr, there = 0, at, i, n;
	static __thread int status[BLOCKS_MAX];
	uint64_t start = now_ns();

	if (!s->kvc)
		s->kvc = kvc_open(NULL, 0);
	if (!s->kvc) {
		note_error(a, -errno);
		return;
	}
	for (at = 0; at < nr; at += n) {
		n = nr - at < BATCH ? nr - at : BATCH;
		send_batch(s, kvc_batch_exists, false, at, n, status + at, a);
	}
	for (i = 0; i < nr; i++)
		if (status[i] && status[i] != -ENOENT)
			note_error(a, status[i]);
	while (there < nr && !status[there])
		there++;
	for (at = 0; at < there; at += n) {
		n = there - at < BATCH ? there - at : BATCH;
		send_batch(s, kvc_batch_get, true, at, n, status + at, a);
	}
	a->fetch_ns = now_ns() - start;
	/* Time of its own: an engine does not do it. */
	for (i = 0; i < there && !status[i] && is_right(s, i, a); i++)
		;
	a->hits = i;
	/* It may have been evicted since. */
	if (i < there && status[i] && status[i] != -ENOENT)
		note_error(a, status[i]);
	for (i = a->hits; i < nr; i++)
		vt_fill(place(s, i), seed_of(s->ids[i]), 0, s->r.bytes);
	start = now_ns();
	for (at = a->hits; at < nr; at += n) {
		n = nr - at < BATCH ? nr - at : BATCH;
		send_batch(s, kvc_batch_put, true, at, n, status + at, a);
		for (i = at; i < at + n; i++) {
			a->puts += !status[i];
			if (status[i] && status[i] != -EEXIST)
				note_error(a, status[i]);
		}
	}
	a->put_ns = now_ns() - start;
}

static bool ours(uint64_t id)
{
	return (prng_mix(id) & 1) == own_index;
}

/* Those of the turn's blocks that the other host has, as a request. */
static uint32_t theirs(struct server *s, uint32_t from, uint64_t *ids, uint32_t *which)
{
	uint32_t i, n = 0;

	for (i = from; i < s->r.nr; i++) {
		if (ours(s->ids[i]))
			continue;
		which[n] = i;
		ids[n++] = s->ids[i];
	}
	return n;
}

static bool memory_turn(struct server *s, struct answer *a)
{
	static __thread uint64_t ids[BLOCKS_MAX];
	static __thread uint32_t which[BLOCKS_MAX];
	static __thread uint8_t there[BLOCKS_MAX], present[BLOCKS_MAX];
	struct request r = { .op = OP_FETCH, .bytes = s->r.bytes };
	uint64_t start = now_ns();
	struct answer stored;
	struct block *b;
	uint32_t i;

	if (s->peer < 0)
		s->peer = connect_to(peer_address);
	r.nr = theirs(s, 0, ids, which);
	if (!give(s->peer, &r, sizeof(r)) || !give(s->peer, ids, r.nr * sizeof(*ids)))
		return false;
	memset(there, 0, s->r.nr);
	for (i = 0; i < s->r.nr; i++) {
		b = ours(s->ids[i]) ? look_up(s->ids[i]) : NULL;
		there[i] = b != NULL;
		if (b)
			memcpy(place(s, i), b->data, s->r.bytes);
	}
	if (!take(s->peer, present, r.nr))
		return false;
	for (i = 0; i < r.nr; i++) {
		there[which[i]] = present[i];
		if (present[i] && !take(s->peer, place(s, which[i]), s->r.bytes))
			return false;
	}
	a->fetch_ns = now_ns() - start;
	for (i = 0; i < s->r.nr && there[i] && is_right(s, i, a); i++)
		;
	a->hits = i;
	a->puts = s->r.nr - i;
	for (i = a->hits; i < s->r.nr; i++)
		vt_fill(place(s, i), seed_of(s->ids[i]), 0, s->r.bytes);
	start = now_ns();
	r.op = OP_STORE;
	r.nr = theirs(s, a->hits, ids, which);
	if (!give(s->peer, &r, sizeof(r)) || !give(s->peer, ids, r.nr * sizeof(*ids)))
		return false;
	for (i = 0; i < r.nr; i++)
		if (!give(s->peer, place(s, which[i]), s->r.bytes))
			return false;
	for (i = a->hits; i < s->r.nr; i++)
		if (ours(s->ids[i]))
			keep(s->ids[i], place(s, i), s->r.bytes);
	if (!take(s->peer, &stored, sizeof(stored)))
		return false;
	a->put_ns = now_ns() - start;
	return true;
}

static bool fetch(struct server *s)
{
	static __thread struct block *found[BLOCKS_MAX];
	static __thread uint8_t present[BLOCKS_MAX];
	uint32_t i;

	for (i = 0; i < s->r.nr; i++) {
		found[i] = look_up(s->ids[i]);
		present[i] = found[i] != NULL;
	}
	if (!give(s->fd, present, s->r.nr))
		return false;
	for (i = 0; i < s->r.nr; i++)
		if (found[i] && !give(s->fd, found[i]->data, s->r.bytes))
			return false;
	return true;
}

static bool store(struct server *s)
{
	uint32_t i;

	for (i = 0; i < s->r.nr; i++) {
		if (!take(s->fd, s->data, s->r.bytes))
			return false;
		keep(s->ids[i], s->data, s->r.bytes);
	}
	return true;
}

static bool serve_one(struct server *s)
{
	struct answer a = { 0 };
	size_t need;

	if (!take(s->fd, &s->r, sizeof(s->r)) || s->r.nr > BLOCKS_MAX ||
	    !take(s->fd, s->ids, s->r.nr * sizeof(*s->ids)))
		return false;
	need = (size_t)(s->r.nr ? s->r.nr : 1) * s->r.bytes;
	if (need > s->room) {
		free(s->data);
		s->room = need;
		s->data = aligned_alloc(4096, (need + 4095) & ~4095UL);
		vt_need(s->data, "%zu bytes of memory", need);
	}
	switch (s->r.op) {
	case OP_TURN_POOL:
		pool_turn(s, &a);
		break;
	case OP_TURN_MEMORY:
		if (!memory_turn(s, &a))
			return false;
		break;
	case OP_FETCH:
		return fetch(s);
	case OP_STORE:
		if (!store(s))
			return false;
		break;
	case OP_FORGET:
		forget();
		break;
	}
	return give(s->fd, &a, sizeof(a));
}

static void *attend(void *arg)
{
	struct server *s = arg;

	while (serve_one(s))
		;
	close(s->fd);
	if (s->peer >= 0)
		close(s->peer);
	if (s->kvc)
		kvc_close(s->kvc);
	free(s->data);
	free(s);
	return NULL;
}

static void serve(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	vt_need(!bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 256),
		"listen: %s", strerror(errno));
	if (fork())
		_exit(0);
	for (;;) {
		struct server *s;
		pthread_t thread;
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0)
			continue;
		setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		s = calloc(1, sizeof(*s));
		vt_need(s, "memory");
		s->fd = peer;
		s->peer = -1;
		vt_need(!pthread_create(&thread, NULL, attend, s), "a thread");
		pthread_detach(thread);
	}
}

/* --- users --- */

static struct trace_shape shape = {
	.seed = 1,
	.requests = 20,
	.sessions = 1,
	.new_percent = 1,
	.prompts = 1,
	.prompt_tokens = 1024,
	.first_tokens = 10000,
	.turn_tokens = 8000,
	.output_tokens = 384,
	.max_tokens = 160000,
};

static enum op turn_op = OP_TURN_POOL;
static unsigned int nr_users = 8, think_ms = 500;
static uint32_t block_bytes = 16384, block_tokens = 2048;
/* Prefill: of a token by itself, and of a token for each token before it. */
static double token_us = 40, pair_ns = 0.25;
static const char *addresses[2];

/**
 * struct turn - one turn of a user
 * @blocks: of its prefix
 * @tokens: of its input
 * @answer: what came of it
 */
struct turn {
	uint32_t blocks;
	uint32_t tokens;
	struct answer answer;
};

struct user {
	unsigned int number;
	pthread_t thread;
	struct turn *turns;
	unsigned int nr_turns;
};

static void think(struct prng *p)
{
	/* Exponential. */
	double x = (double)(prng_next(p) >> 11) / (double)(1ULL << 53);

	vt_sleep_ms((unsigned int)(-log(1 - x) * think_ms));
}

static void *be_user(void *arg)
{
	struct user *u = arg;
	int hosts[2] = { connect_to(addresses[0]), connect_to(addresses[1]) };
	static __thread uint64_t ids[BLOCKS_MAX];
	struct trace_shape own = shape;
	struct trace_request r;
	struct trace *trace;
	struct prng prng;

	own.seed = shape.seed * 1000 + u->number;
	prng_seed(&prng, own.seed ^ 35);
	trace = trace_generate(&own);
	vt_need(trace, "make a trace up");
	think(&prng);
	while (trace_next(trace, &r) > 0) {
		struct turn *t = &u->turns[u->nr_turns];
		struct request q = { .op = turn_op, .bytes = block_bytes };
		const uint32_t per = block_tokens / TRACE_BLOCK_TOKENS;
		int fd = hosts[prng_below(&prng, 2)];
		uint32_t i;

		/* A block that is not full is nobody's prefix. */
		q.nr = (uint32_t)(r.input_length / block_tokens);
		vt_need(q.nr <= BLOCKS_MAX && q.nr * per <= r.nr_blocks, "%u blocks", q.nr);
		/* The last id in it stands for all before. */
		for (i = 0; i < q.nr; i++)
			ids[i] = r.hash_ids[(i + 1) * per - 1] |
				 (uint64_t)(u->number + 1) << 40;
		t->blocks = q.nr;
		t->tokens = (uint32_t)r.input_length;
		vt_need(give(fd, &q, sizeof(q)) && give(fd, ids, q.nr * sizeof(*ids)) &&
			take(fd, &t->answer, sizeof(t->answer)),
			"a host went away");
		u->nr_turns++;
		think(&prng);
	}
	trace_close(trace);
	close(hosts[0]);
	close(hosts[1]);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Mean and the value that 99 % don't exceed; sorts. */
static void tell_times(const char *name, double *s, unsigned int n)
{
	double sum = 0;
	unsigned int i, at = (unsigned int)ceil(0.99 * n);

	for (i = 0; i < n; i++)
		sum += s[i];
	qsort(s, n, sizeof(*s), compare);
	printf(", \"%smean_s\": %.6f, \"%sp50_s\": %.6f, \"%sp99_s\": %.6f", name,
	       n ? sum / n : 0, name, n ? s[(n - 1) / 2] : 0, name,
	       n ? s[at ? at - 1 : 0] : 0);
}

/* Seconds until the first token: what is fetched need not be computed. */
static double first_token(const struct turn *t)
{
	double have = (double)t->answer.hits * block_tokens;
	double rest = t->tokens - have;

	return (double)t->answer.fetch_ns / 1e9 + rest * token_us / 1e6 +
	       rest * (have + rest / 2) * pair_ns / 1e9;
}

static void forget_all(void)
{
	struct request q = { .op = OP_FORGET, .bytes = 1 };
	struct answer a;
	int i;

	for (i = 0; i < 2; i++) {
		int fd = connect_to(addresses[i]);

		vt_need(give(fd, &q, sizeof(q)) && take(fd, &a, sizeof(a)),
			"a host went away");
		close(fd);
	}
}

static void run(void)
{
	struct user *users = calloc(nr_users, sizeof(*users));
	unsigned int i, k, turns = 0;
	uint64_t start, blocks = 0, hits = 0, puts = 0, wrong = 0, errors = 0;
	uint64_t again = 0, longest = 0;
	int error = 0;
	double *fetch, *first, *put;

	vt_need(users, "memory");
	if (turn_op == OP_TURN_MEMORY)
		forget_all();
	start = vt_ms();
	for (i = 0; i < nr_users; i++) {
		users[i].number = i;
		users[i].turns = calloc(shape.requests, sizeof(*users[i].turns));
		vt_need(users[i].turns && !pthread_create(&users[i].thread, NULL,
							  be_user, &users[i]),
			"a user");
	}
	for (i = 0; i < nr_users; i++)
		pthread_join(users[i].thread, NULL);
	start = vt_ms() - start;
	fetch = calloc(3 * nr_users * shape.requests, sizeof(*fetch));
	vt_need(fetch, "memory");
	first = fetch + nr_users * shape.requests;
	put = first + nr_users * shape.requests;
	for (i = 0; i < nr_users; i++) {
		for (k = 0; k < users[i].nr_turns; k++) {
			const struct turn *t = &users[i].turns[k];

			fetch[turns] = (double)t->answer.fetch_ns / 1e9;
			put[turns] = (double)t->answer.put_ns / 1e9;
			first[turns++] = first_token(t);
			blocks += t->blocks;
			hits += t->answer.hits;
			puts += t->answer.puts;
			wrong += t->answer.wrong;
			errors += t->answer.errors;
			error = error ? error : t->answer.error;
			again += t->answer.again;
			longest = t->tokens > longest ? t->tokens : longest;
		}
	}
	printf("{ \"users\": %u, \"turns\": %u, \"longest_tokens\": %" PRIu64
	       ", \"blocks\": %" PRIu64 ", \"hits\": %" PRIu64
	       ", \"puts\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"errors\": %" PRIu64
	       ", \"asked_again\": %" PRIu64 ", \"seconds\": %.3f, \"hit_rate\": %.6f",
	       nr_users, turns, longest, blocks, hits, puts, wrong, errors, again,
	       (double)start / 1e3, blocks ? (double)hits / (double)blocks : 0);
	tell_times("", fetch, turns);
	tell_times("put_", put, turns);
	tell_times("ttft_", first, turns);
	printf(" }\n");
	fflush(stdout);
	if (error)
		fprintf(stderr, "g35: the first error: %s\n", strerror(-error));
	if (wrong || errors)
		exit(1);
}

static const struct option options[] = {
	{ "where", required_argument, NULL, 'w' },
	{ "users", required_argument, NULL, 'u' },
	{ "turns", required_argument, NULL, 't' },
	{ "seed", required_argument, NULL, 's' },
	{ "block-bytes", required_argument, NULL, 'b' },
	{ "block-tokens", required_argument, NULL, 'o' },
	{ "think-ms", required_argument, NULL, 'k' },
	{ "first-tokens", required_argument, NULL, 'f' },
	{ "turn-tokens", required_argument, NULL, 'n' },
	{ "max-tokens", required_argument, NULL, 'm' },
	{ "token-us", required_argument, NULL, 'p' },
	{ "pair-ns", required_argument, NULL, 'q' },
	{ 0 },
};

static bool parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		unsigned int n = optarg ? (unsigned int)atoi(optarg) : 0;

		switch (c) {
		case 'w':
			turn_op = strcmp(optarg, "memory") ? OP_TURN_POOL :
							     OP_TURN_MEMORY;
			break;
		case 'u':
			nr_users = n;
			break;
		case 't':
			shape.requests = n;
			break;
		case 's':
			shape.seed = n;
			break;
		case 'b':
			block_bytes = n;
			break;
		case 'o':
			block_tokens = n;
			break;
		case 'k':
			think_ms = n;
			break;
		case 'f':
			shape.first_tokens = n;
			break;
		case 'n':
			shape.turn_tokens = n;
			break;
		case 'm':
			shape.max_tokens = n;
			break;
		case 'p':
			token_us = atof(optarg);
			break;
		case 'q':
			pair_ns = atof(optarg);
			break;
		default:
			return false;
		}
	}
	if (optind + 2 != argc || !block_tokens || block_tokens % TRACE_BLOCK_TOKENS)
		return false;
	addresses[0] = argv[optind];
	addresses[1] = argv[optind + 1];
	return true;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "serve")) {
		own_index = (unsigned int)atoi(argv[2]);
		peer_address = argv[3];
		serve();
	}
	if (argc < 2 || strcmp(argv[1], "run") || !parse(argc - 1, argv + 1))
		return 2;
	run();
	return 0;
}
