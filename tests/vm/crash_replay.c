// SPDX-License-Identifier: GPL-2.0
/*
 * Crashes at a chosen write: a pool is used on devices that log all writes in
 * the order in which they became durable, with marks for what was begun and
 * what was answered. Then the log is replayed up to some point, the next write
 * torn; and the pool must hold all that was answered by then, and nothing that
 * was not begun.
 *
 * All members are parts of one device, so that the log knows the order of
 * writes to different members.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blockdev.h"
#include "crash.h"
#include "load.h"

#define MEMBERS 4
#define MANY_POINTS	40	/* of which some must show each thing */
#define SECTOR 512
#define BLOCK 4096

/* --- the log on media: drivers/md/dm-log-writes.c --- */

#define LOG_MAGIC 0x6a736677736872ULL

enum {
	LOG_FLUSH = 1,
	LOG_FUA = 2,
	LOG_DISCARD = 4,
	LOG_MARK = 8,
};

struct log_super {
	uint64_t magic;
	uint64_t version;
	uint64_t nr_entries;
	uint32_t sectorsize;
};

struct log_entry {
	uint64_t sector;
	uint64_t nr_sectors;
	uint64_t flags;
	uint64_t data_len;
	char data[];
};

/**
 * struct write - an entry of the log
 * @flags: LOG_*
 * @at: byte on the device
 * @bytes: how many
 * @data: what was written
 * @mark: LOG_MARK: its number
 * @phase: of the run that it was made in
 */
struct write {
	uint32_t flags;
	uint64_t at;
	uint64_t bytes;
	const uint8_t *data;
	uint32_t mark;
	uint32_t phase;
};

/* --- what was done, and when --- */

enum event_type {
	EVENT_INTENT,	/* about to be done */
	EVENT_ANSWER,	/* done, or not, or who knows */
	EVENT_SURE,	/* was looked at: it is so */
};

struct event {
	enum event_type type;
	uint32_t mark;
	struct load_op op;
};

enum phase {
	PHASE_FORMAT,
	PHASE_ATTACH,
	PHASE_LOAD,
	PHASE_END,	/* what comes now was never flushed: it may be lost */
	PHASES,
};

static const char *const phase_names[PHASES] = {
	"format", "attach", "load", "end",
};

struct replay {
	struct crash_pool pool;
	struct model m;
	struct load load;
	struct vt_rng rng;
	uint64_t seed;
	uint64_t member_bytes;

	pthread_mutex_t lock;
	struct event *events;
	uint32_t nr_events;
	uint32_t max_events;
	uint32_t nr_marks;
	/* by mark, the phase that begins with it, or -1 */
	int *phase_at;

	struct write *writes;
	uint32_t nr_writes;

	uint8_t *base;
	uint8_t *test;
	uint32_t tried[PHASES];
	uint32_t torn;
	struct model_seen seen;
};

#define MAX_MARKS 100000

/* Into the log; the lock is held. */
static uint32_t set_mark(struct replay *r)
{
	char text[32];
	int error;

	vt_need(r->nr_marks < MAX_MARKS, "too many marks");
	snprintf(text, sizeof(text), "mark %u", r->nr_marks);
	error = dm_message("crash-log", text);
	vt_need(!error, "set a mark: %s", strerror(-error));
	return r->nr_marks++;
}

static void add_event(struct replay *r, enum event_type type, uint32_t mark,
		      const struct load_op *op)
{
	struct event *e;

	if (r->nr_events == r->max_events) {
		r->max_events = r->max_events ? 2 * r->max_events : 1024;
		r->events = realloc(r->events,
				    r->max_events * sizeof(*r->events));
		vt_need(r->events, "memory for events");
	}
	e = &r->events[r->nr_events++];
	e->type = type;
	e->mark = mark;
	e->op = *op;
}

static void record(struct replay *r, enum event_type type,
		   const struct load_op *ops, uint32_t n)
{
	uint32_t mark, i;

	pthread_mutex_lock(&r->lock);
	mark = set_mark(r);
	for (i = 0; i < n; i++)
		add_event(r, type, mark, &ops[i]);
	pthread_mutex_unlock(&r->lock);
}

static bool intent(void *arg, uint32_t thread, const struct load_op *ops,
		   uint32_t n)
{
	(void)thread;
	record(arg, EVENT_INTENT, ops, n);
	return true;
}

static bool answered(void *arg, uint32_t thread, const struct load_op *ops,
		     uint32_t n)
{
	(void)thread;
	record(arg, EVENT_ANSWER, ops, n);
	return true;
}

static void begin_phase(struct replay *r, enum phase phase)
{
	pthread_mutex_lock(&r->lock);
	r->phase_at[set_mark(r)] = phase;
	pthread_mutex_unlock(&r->lock);
}

/* After a look at the pool all is sure. */
static void record_sure(struct replay *r)
{
	struct load_op op;
	uint32_t mark, i;

	pthread_mutex_lock(&r->lock);
	mark = set_mark(r);
	for (i = 0; i < r->m.nr; i++) {
		op = (struct load_op){ .key = i, .state = r->m.keys[i].sure };
		if (r->m.keys[i].version)
			add_event(r, EVENT_SURE, mark, &op);
	}
	pthread_mutex_unlock(&r->lock);
}

static void apply_event(struct model *m, const struct event *e)
{
	switch (e->type) {
	case EVENT_INTENT:
		load_begun(m, &e->op);
		return;
	case EVENT_ANSWER:
		load_ended(m, &e->op);
		return;
	case EVENT_SURE:
		m->keys[e->op.key].sure = e->op.state;
		m->keys[e->op.key].maybe = MODEL_NONE;
		return;
	}
}

/* --- making the log --- */

/*
 * For so long, or so many calls: with more the small ring would be tight, and
 * something evicted.
 */
#define CALLS 120

static void load_for(const struct replay *r, uint32_t ms)
{
	uint64_t end = vt_ms() + ms;

	while (vt_ms() < end &&
	       __atomic_load_n(&r->load.calls, __ATOMIC_RELAXED) < CALLS)
		vt_sleep_ms(1);
}

/* What is gone after a crash would not tell whether it was lost. */
static void nothing_evicted(const struct replay *r)
{
	struct kvcache_info info;

	vt_need(!kvc_info(r->pool.kvc, &info, NULL, 0), "info");
	vt_need(!info.evicted_objects,
		"the pool is too small for the load: %llu objects evicted",
		(unsigned long long)info.evicted_objects);
}

static void use_pool(struct replay *r, uint32_t cycles, uint32_t ms)
{
	uint32_t i;

	for (i = 0; i < cycles; i++) {
		char reason[768] = "";
		struct model_seen seen;
		int error;

		begin_phase(r, PHASE_ATTACH);
		error = crash_attach(&r->pool, reason);
		vt_need(!error, "attach for the log: %s: %s", strerror(-error),
			reason);
		if (i) {
			vt_need(model_verify(&r->m, r->pool.kvc, 2, &seen),
				"look at the pool while it is logged");
			record_sure(r);
		}
		begin_phase(r, PHASE_LOAD);
		r->m.round++;
		load_start(&r->load);
		load_for(r, ms);
		nothing_evicted(r);
		/* The last time it is left in good order. */
		if (i + 1 < cycles) {
			crash_abandon(&r->pool);
			r->load.stop = true;
			load_join(&r->load);
			continue;
		}
		r->load.stop = true;
		load_join(&r->load);
		nothing_evicted(r);
		error = crash_detach(&r->pool);
		vt_need(!error, "detach for the log: %s", strerror(-error));
	}
}

/* The path of the log. */
static char *make_log(struct replay *r, uint32_t member_mb, uint32_t cycles,
		      uint32_t ms, const char *const *format)
{
	uint64_t sectors = (uint64_t)member_mb << 11;
	char *data, *log, params[256], name[32];
	uint32_t i;

	data = nullb_make("crash-data", member_mb * MEMBERS, 16);
	log = nullb_make("crash-log", 1024, 0);
	snprintf(params, sizeof(params), "%s %s", data, log);
	free(data);
	data = dm_make("crash-log", sectors * MEMBERS, "log-writes", params);
	for (i = 0; i < MEMBERS; i++) {
		snprintf(params, sizeof(params), "%s %llu", data,
			 (unsigned long long)(sectors * i));
		snprintf(name, sizeof(name), "crash-member%u", i);
		r->pool.members[i] = dm_make(name, sectors, "linear", params);
	}
	r->pool.nr = MEMBERS;
	begin_phase(r, PHASE_FORMAT);
	crash_format(&r->pool, format);
	use_pool(r, cycles, ms);
	begin_phase(r, PHASE_END);
	for (i = 0; i < MEMBERS; i++) {
		snprintf(name, sizeof(name), "crash-member%u", i);
		dm_remove(name);
	}
	dm_remove("crash-log");
	nullb_remove("crash-data");
	free(data);
	return log;
}

/* --- reading it --- */

#define LOG_ROOM (1ULL << 30)

struct reader {
	int fd;
	uint8_t *log;
	uint64_t have;
};

/* The log up to some byte, as it is read. */
static const uint8_t *log_at(struct reader *l, uint64_t at, uint64_t len)
{
	vt_need(at + len <= LOG_ROOM, "the log is too long");
	while (l->have < at + len) {
		ssize_t got = pread(l->fd, l->log + l->have, 1 << 20,
				    (off_t)l->have);

		vt_need(got > 0, "read the log: %s", strerror(errno));
		l->have += (uint64_t)got;
	}
	return l->log + at;
}

static void read_write(struct replay *r, struct write *w,
		       const struct log_entry *e, enum phase *phase)
{
	char text[16] = "";
	uint32_t n = e->data_len < 15 ? (uint32_t)e->data_len : 15;

	w->flags = (uint32_t)e->flags;
	w->at = e->sector * SECTOR;
	w->bytes = e->nr_sectors * SECTOR;
	w->mark = UINT32_MAX;
	if ((e->flags & LOG_MARK) && n && e->data[0] <= '9') {
		memcpy(text, e->data, n);
		w->mark = (uint32_t)strtoul(text, NULL, 10);
		if (r->phase_at[w->mark] >= 0)
			*phase = (enum phase)r->phase_at[w->mark];
	}
	w->phase = *phase;
}

static void read_log(struct replay *r, const char *path)
{
	struct reader l = { .log = vt_map(LOG_ROOM) };
	const struct log_super *super;
	const struct log_entry *e;
	enum phase phase = PHASE_FORMAT;
	uint64_t at = SECTOR, nr, i;

	l.fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	vt_need(l.fd >= 0, "open the log: %s", strerror(errno));
	super = (const void *)log_at(&l, 0, SECTOR);
	vt_need(super->magic == LOG_MAGIC && super->version == 1 &&
		super->sectorsize == SECTOR, "the log's super block");
	nr = super->nr_entries;
	r->writes = calloc(nr, sizeof(*r->writes));
	vt_need(r->writes, "memory for %llu writes", (unsigned long long)nr);
	for (i = 0; i < nr; i++) {
		struct write *w = &r->writes[i];

		e = (const void *)log_at(&l, at, SECTOR);
		at += SECTOR;
		read_write(r, w, e, &phase);
		if (phase == PHASE_END)
			break;
		if (w->flags & (LOG_DISCARD | LOG_MARK))
			continue;
		w->data = log_at(&l, at, w->bytes);
		at += w->bytes;
		vt_need(w->at + w->bytes <= MEMBERS * r->member_bytes,
			"entry %llu of the log", (unsigned long long)i);
	}
	close(l.fd);
	r->nr_writes = (uint32_t)i;
}

/* --- replaying it --- */

static bool is_write(const struct write *w)
{
	return w->bytes && !(w->flags & LOG_MARK);
}

static void apply_write(uint8_t *image, const struct write *w)
{
	if (w->flags & LOG_MARK)
		return;
	if (w->flags & LOG_DISCARD)
		memset(image + w->at, 0, w->bytes);
	else
		memcpy(image + w->at, w->data, w->bytes);
}

/* A write that was under way: some of its sectors or blocks. */
static const char *tear(struct replay *r, const struct write *w)
{
	static const char *const how[] = {
		"up to a sector", "up to a block", "some sectors",
		"some blocks",
	};
	uint32_t kind = (uint32_t)vt_below(&r->rng, 4);
	uint64_t unit = kind & 1 ? BLOCK : SECTOR;
	uint64_t nr = (w->bytes + unit - 1) / unit, i, cut;

	if (!is_write(w) || (w->flags & LOG_DISCARD))
		return "whole";
	cut = vt_below(&r->rng, nr + 1);
	for (i = 0; i < nr; i++) {
		uint64_t from = i * unit, len = w->bytes - from;

		if (kind < 2 ? i >= cut : !vt_below(&r->rng, 2))
			continue;
		memcpy(r->test + w->at + from, w->data + from,
		       len < unit ? len : unit);
	}
	r->torn++;
	return how[kind];
}

/* The pool, as it was when the first @upto entries had been done. */
static bool try(struct replay *r, uint32_t upto)
{
	struct model m = r->m;
	struct model_seen seen = {};
	const char *how = "whole";
	char what[128], reason[768] = "";
	bool good;
	int error;

	memcpy(r->test, r->base, MEMBERS * r->member_bytes);
	if (upto < r->nr_writes && vt_below(&r->rng, 4))
		how = tear(r, &r->writes[upto]);
	snprintf(what, sizeof(what), "write %u of %u (%s), the next one %s",
		 upto, r->nr_writes, phase_names[r->writes[upto - 1].phase],
		 how);
	m.keys = malloc(m.nr * sizeof(*m.keys));
	vt_need(m.keys, "memory for keys");
	memcpy(m.keys, r->m.keys, m.nr * sizeof(*m.keys));
	m.round = upto;

	good = crash_fsck(&r->pool, what);
	error = crash_attach(&r->pool, reason);
	good &= vt_expect(!error, "attach at %s: %s: %s", what,
			  strerror(-error), reason);
	if (!error) {
		good &= vt_expect(model_verify(&m, r->pool.kvc, 2, &seen) &&
				  model_judge_gone(&m, &seen, 0, 0),
				  "the look at %s", what);
		good &= model_verify_list(&m, r->pool.kvc);
		/* In good order, so that the next attach need not wait. */
		good &= vt_expect(!crash_detach(&r->pool), "detach at %s",
				  what);
		if (!vt_below(&r->rng, 4))
			good &= crash_fsck(&r->pool, "after that");
	}
	r->seen.hits += seen.hits;
	r->seen.old += seen.old;
	r->seen.new += seen.new;
	r->tried[r->writes[upto - 1].phase]++;
	free(m.keys);
	return good;
}

static uint8_t *map_file(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint8_t *p;

	vt_need(fd >= 0 && !ftruncate(fd, (off_t)bytes), "make %s", path);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	vt_need(p != MAP_FAILED, "map %s", path);
	close(fd);
	return p;
}

/* How likely is a crash here? In thousandths of what all should add up to. */
static uint32_t count_of(const struct replay *r, enum phase phase)
{
	uint32_t i, n = 0;

	for (i = 0; i < r->nr_writes; i++)
		n += r->writes[i].phase == phase && is_write(&r->writes[i]);
	return n ? n : 1;
}

/*
 * @points crashes, as many in attaches as under load, though attaches have far
 * fewer writes.
 */
static bool replay(struct replay *r, uint32_t points)
{
	uint32_t chance[PHASES], next_event = 0, i;
	const char *file = "/dev/shm/crash-replay";
	bool good = true;

	for (i = 0; i < PHASES; i++)
		chance[i] = (uint32_t)((uint64_t)points * 500000 /
				       count_of(r, i));
	chance[PHASE_FORMAT] = chance[PHASE_END] = 0;
	memset(r->m.keys, 0, r->m.nr * sizeof(*r->m.keys));
	for (i = 0; i < r->m.nr; i++)
		r->m.keys[i].maybe = MODEL_NONE;
	r->base = vt_map(MEMBERS * r->member_bytes);
	r->test = map_file(file, MEMBERS * r->member_bytes);
	for (i = 0; i < MEMBERS; i++)
		r->pool.members[i] = loop_make(file, i * r->member_bytes,
					       r->member_bytes);
	for (i = 0; i < r->nr_writes && good; i++) {
		const struct write *w = &r->writes[i];

		apply_write(r->base, w);
		while (w->mark != UINT32_MAX && next_event < r->nr_events &&
		       r->events[next_event].mark <= w->mark)
			apply_event(&r->m, &r->events[next_event++]);
		if ((is_write(w) &&
		     vt_below(&r->rng, 1000000) < chance[w->phase]) ||
		    i + 1 == r->nr_writes)
			good = try(r, i + 1);
	}
	for (i = 0; i < MEMBERS; i++)
		loop_remove(r->pool.members[i]);
	unlink(file);
	return good;
}

static void usage(void)
{
	fprintf(stderr, "usage: crash_replay [--points N] [--cycles N] [--ms N] [--seed N] [--keys N] [--mb N] [--format OPTIONS]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "points", 1, NULL, 'p' }, { "cycles", 1, NULL, 'c' },
		{ "ms", 1, NULL, 'M' }, { "seed", 1, NULL, 's' },
		{ "keys", 1, NULL, 'k' }, { "mb", 1, NULL, 'b' },
		{ "format", 1, NULL, 'f' }, {}
	};
	struct replay r = { .lock = PTHREAD_MUTEX_INITIALIZER };
	uint32_t points = 60, cycles = 3, ms = 150, keys = 300, mb = 24, i;
	const char **format = crash_words("--q 0 --lease 300ms");
	uint64_t start = vt_ms(), logged;
	char *log;
	bool good;
	int c;

	r.seed = vt_mix((uint64_t)vt_now(), (uint64_t)getpid()) % 1000000;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p': points = (uint32_t)atoi(optarg); break;
		case 'c': cycles = (uint32_t)atoi(optarg); break;
		case 'M': ms = (uint32_t)atoi(optarg); break;
		case 's': r.seed = strtoull(optarg, NULL, 0); break;
		case 'k': keys = (uint32_t)atoi(optarg); break;
		case 'b': mb = (uint32_t)atoi(optarg); break;
		case 'f': format = crash_words(optarg); break;
		default: usage();
		}
	}
	r.member_bytes = (uint64_t)mb << 20;
	r.phase_at = malloc(MAX_MARKS * sizeof(*r.phase_at));
	vt_need(r.phase_at, "memory for marks");
	for (i = 0; i < MAX_MARKS; i++)
		r.phase_at[i] = -1;
	crash_open(&r.pool, (char *[]){ "" }, 1);
	model_init(&r.m, r.seed, keys, 32768);
	r.rng.s = vt_mix(r.seed, 1);
	r.load.m = &r.m;
	r.load.kvc = r.pool.kvc;
	r.load.threads = 4;
	r.load.seed = vt_mix(r.seed, 2);
	r.load.no_expiry = true;
	r.load.intent = intent;
	r.load.answered = answered;
	r.load.arg = &r;

	vt_begin("replayed writes: what was answered by then is there, nothing else is");
	log = make_log(&r, mb, cycles, ms, format);
	read_log(&r, log);
	nullb_remove("crash-log");
	logged = vt_ms();
	vt_note("seed %llu: %u entries, %u marks, %u events; in %llu ms",
		(unsigned long long)r.seed, r.nr_writes, r.nr_marks,
		r.nr_events, (unsigned long long)(logged - start));
	good = replay(&r, points);
	vt_note("%u crashes in attaches, %u under load, the next write torn at %u; hits %u, in flight: %u had happened, %u had not; %llu ms, %llu in fsck, %llu in attach",
		r.tried[PHASE_ATTACH], r.tried[PHASE_LOAD], r.torn,
		r.seen.hits, r.seen.new, r.seen.old,
		(unsigned long long)(vt_ms() - logged),
		(unsigned long long)r.pool.fsck_ms,
		(unsigned long long)r.pool.attach_ms);
	/* Where they fall is chance: a few need not have met with everything. */
	(void)vt_expect(!good || (points < MANY_POINTS ?
				  r.tried[PHASE_ATTACH] + r.tried[PHASE_LOAD] :
				  r.tried[PHASE_ATTACH] && r.tried[PHASE_LOAD] &&
				  r.torn && r.seen.new && r.seen.old),
			"that was too little to show anything");
	if (!vt_end())
		vt_note("to repeat it as far as that goes: --seed %llu",
			(unsigned long long)r.seed);
	vt_exit();
}
