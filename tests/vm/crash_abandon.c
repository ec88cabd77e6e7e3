// SPDX-License-Identifier: GPL-2.0
/*
 * Crashes in one boot: a pool is loaded and abandoned, checked, attached and
 * looked through, again and again. It is abandoned at a random moment, at a
 * chosen write under load, at a chosen write of an attach, or right after one.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash.h"
#include "load.h"

/**
 * struct run - a run of crashes
 * @name: for the result
 * @pool: under test
 * @m: what it must hold
 * @load: on it
 * @rng: of all decisions
 * @seed: that it started with
 * @crashes: to make
 * @most_ms: longest load
 * @most_writes: longest planned load, in writes
 * @attach_writes: writes of an attach, about
 * @kept_puts: with eviction: so few puts of a round evict none of its own
 * @slack: objects that may be evicted between a look at the counters and an
 *	abandon
 * @power: members lose what they have not flushed
 * @format: options
 * @formats: times that the pool was made anew
 * @done: crashes so far
 * @kinds: of them, by kind
 * @total: counters of all attachments
 * @seen: of all looks
 * @attaches: that succeeded
 * @evicted: at most, in the attachment that crashed last
 * @kept: what was put in this round or later was not among these
 * @blind: crashes before which the counters could not be read
 */
struct run {
	const char *name;
	struct crash_pool pool;
	struct model m;
	struct load load;
	struct vt_rng rng;
	uint64_t seed;
	uint32_t crashes;
	uint32_t most_ms;
	uint32_t most_writes;
	uint32_t attach_writes;
	uint32_t kept_puts;
	uint32_t slack;
	bool power;
	const char **format;
	uint32_t formats;

	uint32_t done;
	uint32_t kinds[4];
	struct kvcache_info total;
	struct model_seen seen;
	uint32_t attaches;
	uint64_t evicted;
	uint32_t kept;
	uint32_t blind;
};

enum kind {
	TIMED,
	PLANNED,
	IDLE,
	ATTACHING,
};

/* --- a power cut, for members whose cache is volatile --- */

static void cut_power(struct run *r)
{
	char path[256];
	unsigned int i, n;

	for (i = 0; i < r->pool.nr; i++) {
		const char *name = strrchr(r->pool.members[i], '/') + 1;

		snprintf(path, sizeof(path),
			 "/sys/kernel/config/nullb/%s/power", name);
		vt_need(!vt_write(path, "0") && !vt_write(path, "1"),
			"switch %s off and on", name);
		for (n = 0; access(r->pool.members[i], F_OK) && n < 500; n++)
			vt_sleep_ms(10);
		vt_need(n < 500, "%s comes back", name);
	}
}

/* --- counters --- */

/* @exact: the pool stands still already. */
static void count(struct run *r, bool exact)
{
	struct kvcache_info i;

	r->evicted = exact ? 0 : r->slack;
	/* Its lease ran out just now: nobody can say what it has evicted. */
	if (kvc_info(r->pool.kvc, &i, NULL, 0) < 0) {
		r->blind++;
		r->evicted = r->m.nr;
		r->kept = r->m.round + 1;
		return;
	}
	r->evicted += i.evicted_objects;
	r->total.puts += i.puts;
	r->total.put_bytes += i.put_bytes;
	r->total.put_exists += i.put_exists;
	r->total.deletes += i.deletes;
	r->total.gets += i.gets;
	r->total.misses += i.misses;
	r->total.evicted_objects += i.evicted_objects;
	r->total.rewritten_objects += i.rewritten_objects;
	r->total.expired += i.expired;
	r->total.bad_data += i.bad_data;
	r->total.journal_blocks += i.journal_blocks;
	r->total.checkpoints += i.checkpoints;
	/* What was seen to be gone is not gone once more. */
	r->evicted -= r->load.gone < r->evicted ? r->load.gone : r->evicted;
	/*
	 * If nothing was evicted so far, nothing can be gone; if little was put
	 * in this round, nothing of that.
	 */
	if (!r->evicted)
		r->kept = 0;
	else
		r->kept = r->m.round + (r->load.puts + i.rewritten_objects >
					r->kept_puts);
}

/* --- crashes --- */

static bool crashed(struct run *r, enum kind kind, const char *when)
{
	r->done++;
	r->kinds[kind]++;
	r->m.round++;
	if (r->power)
		cut_power(r);
	return crash_fsck(&r->pool, when);
}

/* Wait until the planned crash has come; one without writes comes late. */
static void await_plan(unsigned int ms)
{
	uint64_t until = vt_ms() + ms;

	while (crash_abandon_left() && vt_ms() < until)
		vt_sleep_ms(1);
}

/* A pool that is to be full is filled before the first crash. */
static void await_eviction(struct run *r)
{
	uint64_t until = vt_ms() + 120000;
	struct kvcache_info info = {};

	while (!kvc_info(r->pool.kvc, &info, NULL, 0) &&
	       !info.evicted_objects && vt_ms() < until)
		vt_sleep_ms(20);
}

static bool crash_under_load(struct run *r)
{
	uint32_t writes = 1 + (uint32_t)vt_below(&r->rng, r->most_writes);
	uint32_t ms = 5 + (uint32_t)vt_below(&r->rng, r->most_ms);
	uint32_t how = (uint32_t)vt_below(&r->rng, 5);
	char when[96];

	load_start(&r->load);
	if (r->m.evicts && !r->total.evicted_objects)
		await_eviction(r);
	if (how < 2) {
		crash_abandon_after(writes);
		await_plan(5000);
		snprintf(when, sizeof(when), "%s, crash %u, after %u writes",
			 r->name, r->done, writes);
	} else {
		vt_sleep_ms(ms);
		snprintf(when, sizeof(when), "%s, crash %u, after %u ms%s",
			 r->name, r->done, ms, how < 4 ? ", at a write" : "");
		if (how < 4) {
			crash_abandon_after(1);
			await_plan(1000);
		}
	}
	/* If it has stopped, nothing can happen behind the counters' back. */
	count(r, how < 4 && !crash_abandon_left());
	crash_abandon(&r->pool);
	crash_abandon_after(0);
	r->load.stop = true;
	load_join(&r->load);
	/* The load has gone on since the counters were read. */
	if (r->evicted && r->load.puts > r->kept_puts)
		r->kept = r->m.round + 1;
	return crashed(r, how < 2 ? PLANNED : TIMED, when);
}

static bool crash_idle(struct run *r)
{
	char when[80];

	snprintf(when, sizeof(when), "%s, crash %u, right after the attach",
		 r->name, r->done);
	r->load.puts = r->load.gone = 0;
	count(r, false);
	crash_abandon(&r->pool);
	return crashed(r, IDLE, when);
}

/* Does I/O still go on? With a key that the model does not know. */
static bool alive(struct run *r)
{
	struct kvc_call call = { .tenant = 7 };
	int error = kvc_put(r->pool.kvc, &call, "alive", 5, "alive", 5);

	if (error && error != -EEXIST)
		return false;
	return !kvc_delete(r->pool.kvc, &call, "alive", 5);
}

/* Crash in the midst of an attach. 1: the attach succeeded. */
static int crash_attaching(struct run *r)
{
	uint32_t writes = 1 + (uint32_t)vt_below(&r->rng, r->attach_writes);
	char when[80];
	int error;

	crash_abandon_after(writes);
	error = crash_attach_once(&r->pool, NULL);
	if (!error) {
		crash_abandon_after(0);
		if (alive(r))
			return 1;
		/* It may have evicted before that. */
		r->evicted += r->slack;
		r->kept = r->m.round;
		crash_abandon(&r->pool);
	}
	crash_abandon_after(0);
	snprintf(when, sizeof(when),
		 "%s, crash %u, at write %u of an attach (%d)", r->name,
		 r->done, writes, error);
	return crashed(r, ATTACHING, when) ? 0 : -1;
}

/* --- after a crash --- */

static bool look(struct run *r)
{
	uint64_t before = r->evicted;
	struct kvcache_info info = {};
	struct model_seen seen;
	bool good = model_verify(&r->m, r->pool.kvc, 2, &seen);

	r->seen.hits += seen.hits;
	r->seen.gone += seen.gone;
	r->seen.expired += seen.expired;
	r->seen.old += seen.old;
	r->seen.new += seen.new;
	kvc_info(r->pool.kvc, &info, NULL, 0);
	/* An attach may find the pool full and begin to evict at once. */
	good &= model_judge_gone(&r->m, &seen, before + info.evicted_objects,
				 info.evicted_objects && r->kept < r->m.round ?
				 r->m.round : r->kept);
	good &= vt_expect(!info.bad_data, "%s, crash %u: %llu wrong checksums",
			  r->name, r->done, (unsigned long long)info.bad_data);
	if (!vt_below(&r->rng, 4))
		good &= model_verify_list(&r->m, r->pool.kvc);
	return good;
}

/*
 * Crashes use segments up, full or not. Without eviction there must be enough of
 * them left, or what misses is not lost: then begin anew.
 */
static bool roomy(struct run *r)
{
	struct kvcache_info info;

	if (r->m.evicts || kvc_info(r->pool.kvc, &info, NULL, 0) < 0)
		return true;
	return info.free_segments > info.nr_segments / 5 * 2;
}

static void begin(struct run *r)
{
	uint64_t seed = vt_mix(r->seed, 10 + r->formats++);
	uint32_t round = r->m.round, nr = r->m.nr, max_len = r->m.max_len;
	bool evicts = r->m.evicts;

	model_free(&r->m);
	model_init(&r->m, seed, nr, max_len);
	r->m.round = round;
	r->m.evicts = evicts;
	r->evicted = 0;
	crash_format(&r->pool, r->format);
}

static bool attach(struct run *r)
{
	char reason[768] = "";
	int error, state;

	while (r->done < r->crashes && !vt_below(&r->rng, 5)) {
		state = crash_attaching(r);
		if (state < 0)
			return false;
		if (state)
			goto attached;
	}
	error = crash_attach(&r->pool, reason);
	if (!vt_expect(!error, "%s, crash %u: attach: %s: %s", r->name,
		       r->done, strerror(-error), reason))
		return false;
attached:
	r->attaches++;
	if (!look(r))
		return false;
	if (roomy(r))
		return true;
	if (!vt_expect(!crash_detach(&r->pool), "detach") ||
	    !crash_fsck(&r->pool, "of a pool that is full"))
		return false;
	begin(r);
	return attach(r);
}

/* A pool that is full may have gone on to evict since it was looked at. */
static bool detach(struct run *r)
{
	r->load.puts = r->load.gone = 0;
	count(r, false);
	return vt_expect(!crash_detach(&r->pool), "detach");
}

static bool crash(struct run *r)
{
	if (!vt_below(&r->rng, 8))
		return crash_idle(r);
	return crash_under_load(r);
}

static void tell(const struct run *r, uint64_t start)
{
	vt_note("%s: seed %llu; %u crashes: %u at a moment, %u at a write, %u idle, %u attaching; %u attaches, %u formats; %u blind",
		r->name, (unsigned long long)r->seed, r->done,
		r->kinds[TIMED], r->kinds[PLANNED], r->kinds[IDLE],
		r->kinds[ATTACHING], r->attaches, r->formats, r->blind);
	vt_note("%s: %llu puts (%llu KiB), %llu deletes, %llu gets, %llu journal blocks, %llu checkpoints, %llu evicted, %llu rewritten",
		r->name, (unsigned long long)r->total.puts,
		(unsigned long long)r->total.put_bytes >> 10,
		(unsigned long long)r->total.deletes,
		(unsigned long long)r->total.gets,
		(unsigned long long)r->total.journal_blocks,
		(unsigned long long)r->total.checkpoints,
		(unsigned long long)r->total.evicted_objects,
		(unsigned long long)r->total.rewritten_objects);
	vt_note("%s: looks: %u hits, %u gone, %u expired; in flight: %u had happened, %u had not",
		r->name, r->seen.hits, r->seen.gone, r->seen.expired,
		r->seen.new, r->seen.old);
	vt_note("%s: %llu ms in all, %llu in fsck, %llu in attach (%u lapsed)",
		r->name,
		(unsigned long long)(vt_ms() - start),
		(unsigned long long)r->pool.fsck_ms,
		(unsigned long long)r->pool.attach_ms, r->pool.lapses);
}

static void usage(void)
{
	fprintf(stderr, "usage: crash_abandon --name NAME --crashes N [--seed N] [--keys N] [--max BYTES]\n"
		"       [--threads N] [--ms N] [--writes N] [--attach-writes N]\n"
		"       [--kept-puts N --slack N] [--power] [--format OPTIONS] [MEMBER...]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "name", 1, NULL, 'n' }, { "crashes", 1, NULL, 'c' },
		{ "seed", 1, NULL, 's' }, { "keys", 1, NULL, 'k' },
		{ "max", 1, NULL, 'm' }, { "threads", 1, NULL, 't' },
		{ "ms", 1, NULL, 'M' }, { "writes", 1, NULL, 'w' },
		{ "attach-writes", 1, NULL, 'a' }, { "power", 0, NULL, 'p' },
		{ "kept-puts", 1, NULL, 'K' }, { "slack", 1, NULL, 'S' },
		{ "format", 1, NULL, 'f' }, {}
	};
	struct run r = {
		.name = "run", .crashes = 20, .most_ms = 200,
		.most_writes = 300, .attach_writes = 40, .slack = 100,
		.load.threads = 4,
		.format = crash_words("--force --q 0 --lease 300ms"),
	};
	uint32_t keys = 600, max_len = 65536;
	uint64_t start = vt_ms();
	bool good = true;
	int c;

	r.seed = vt_mix((uint64_t)vt_now(), (uint64_t)getpid()) % 1000000;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n': r.name = optarg; break;
		case 'c': r.crashes = (uint32_t)atoi(optarg); break;
		case 's': r.seed = strtoull(optarg, NULL, 0); break;
		case 'k': keys = (uint32_t)atoi(optarg); break;
		case 'm': max_len = (uint32_t)atoi(optarg); break;
		case 't': r.load.threads = (uint32_t)atoi(optarg); break;
		case 'M': r.most_ms = (uint32_t)atoi(optarg); break;
		case 'w': r.most_writes = (uint32_t)atoi(optarg); break;
		case 'a': r.attach_writes = (uint32_t)atoi(optarg); break;
		case 'K': r.kept_puts = (uint32_t)atoi(optarg); break;
		case 'S': r.slack = (uint32_t)atoi(optarg); break;
		case 'p': r.power = true; break;
		case 'f': r.format = crash_words(optarg); break;
		default: usage();
		}
	}
	crash_open(&r.pool, argv + optind, (unsigned int)(argc - optind));
	r.m.nr = keys;
	r.m.max_len = max_len;
	r.m.evicts = r.kept_puts;
	r.rng.s = vt_mix(r.seed, 1);
	r.load.m = &r.m;
	r.load.kvc = r.pool.kvc;
	r.load.seed = vt_mix(r.seed, 2);

	vt_begin("%s: %u crashes, nothing lost, nothing back, nothing else",
		 r.name, r.crashes);
	begin(&r);
	while (good && r.done < r.crashes)
		good = attach(&r) && crash(&r);
	/* The last crash, too, is looked at; and a detach in good order. */
	good = good && attach(&r) && detach(&r) &&
	       crash_fsck(&r.pool, "after the detach") && attach(&r);
	/* What failed is not in the way of what follows. */
	if (good)
		crash_detach(&r.pool);
	else
		crash_abandon_if(&r.pool);
	tell(&r, start);
	(void)vt_expect(!r.m.evicts || !good || r.total.evicted_objects,
		  "nothing was evicted: the load is too small");
	(void)vt_expect(!good || r.blind * 4 <= r.crashes,
			"%u of %u leases ran out: too busy a machine to tell anything",
			r.blind, r.crashes);
	if (!vt_end())
		vt_note("to repeat it as far as that goes: --seed %llu",
			(unsigned long long)r.seed);
	model_free(&r.m);
	vt_exit();
}
