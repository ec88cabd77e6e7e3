// SPDX-License-Identifier: GPL-2.0
/*
 * Load for a machine that is going to be killed. What is about to be done and
 * what was answered goes to a device of its own first, which outlives the
 * machine as the members do; the next boot reads it, looks the pool through,
 * and goes on.
 *
 * The ledger: a table of what is sure, twice, written in turn; then for each
 * thread a log of what came after the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crash.h"
#include "load.h"

#define SECTOR 512
#define MAGIC 0x7265676465636b76ULL
#define TABLE_ROOM (1ULL << 20)
#define LOG_ROOM (4ULL << 20)
#define LOG_START (2 * TABLE_ROOM)
#define THREADS 4

/**
 * struct table - followed by the keys
 * @magic: MAGIC
 * @sequence: number of the table; logs name the one that they follow
 * @seed: of the model
 * @nr: keys
 * @max_len: of an object
 * @round: boots
 * @formats: times that the pool was made anew
 * @check: over the keys
 */
struct table {
	uint64_t magic;
	uint64_t sequence;
	uint64_t seed;
	uint32_t nr;
	uint32_t max_len;
	uint32_t round;
	uint32_t formats;
	uint64_t check;
	uint8_t reserved[SECTOR - 48];
};

struct log_op {
	uint32_t key;
	uint32_t state;
	int32_t status;
	uint32_t reserved;
	uint64_t expiry;
};

enum kind {
	INTENT = 1,
	ANSWER = 2,
};

/* One sector: what is torn does not add up. */
struct log_record {
	uint64_t magic;
	uint64_t table;
	uint32_t number;
	uint16_t kind;
	uint16_t n;
	uint64_t check;
	struct log_op op[LOAD_BATCH];
};

_Static_assert(sizeof(struct table) == SECTOR, "table");
_Static_assert(sizeof(struct log_record) == SECTOR, "log_record");

struct ledger {
	int fd;
	struct table *table;
	size_t table_bytes;
	uint32_t number[THREADS];
	struct log_record *record[THREADS];
};

struct run {
	struct crash_pool pool;
	struct model m;
	struct load load;
	struct ledger l;
	uint32_t answers;
	uint32_t intents;
};

static uint64_t sum(const void *data, size_t len)
{
	const uint64_t *p = data;
	uint64_t s = len;

	for (; len >= 8; len -= 8)
		s = vt_mix(s, *p++);
	return s;
}

static uint64_t record_sum(struct log_record *r)
{
	uint64_t was = r->check, s;

	r->check = 0;
	s = sum(r, sizeof(*r));
	r->check = was;
	return s;
}

static uint64_t log_at(uint32_t thread, uint32_t number)
{
	return LOG_START + thread * LOG_ROOM + (uint64_t)number * SECTOR;
}

/* --- the table --- */

static void write_table(struct run *r)
{
	struct table *t = r->l.table;
	uint64_t at;

	t->magic = MAGIC;
	t->sequence++;
	t->seed = r->m.seed;
	t->nr = r->m.nr;
	t->max_len = r->m.max_len;
	t->round = r->m.round;
	memcpy(t + 1, r->m.keys, r->m.nr * sizeof(*r->m.keys));
	t->check = sum(t + 1, r->l.table_bytes - SECTOR) + t->sequence;
	at = t->sequence % 2 * TABLE_ROOM;
	vt_need(pwrite(r->l.fd, t, r->l.table_bytes, (off_t)at) ==
		(ssize_t)r->l.table_bytes, "write the ledger's table");
}

/* The newer of the two that are sound; false: there is none. */
static bool read_table(struct run *r)
{
	uint8_t *buf = vt_map(TABLE_ROOM);
	struct table *t = (void *)buf;
	bool found = false;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		vt_need(pread(r->l.fd, buf, r->l.table_bytes,
			      (off_t)(i * TABLE_ROOM)) ==
			(ssize_t)r->l.table_bytes, "read the ledger");
		if (t->magic != MAGIC || t->nr != r->m.nr ||
		    t->check != sum(t + 1, r->l.table_bytes - SECTOR) +
				t->sequence ||
		    (found && t->sequence < r->l.table->sequence))
			continue;
		memcpy(r->l.table, buf, r->l.table_bytes);
		found = true;
	}
	munmap(buf, TABLE_ROOM);
	if (!found)
		return false;
	r->m.seed = r->l.table->seed;
	r->m.max_len = r->l.table->max_len;
	r->m.round = r->l.table->round;
	memcpy(r->m.keys, r->l.table + 1, r->m.nr * sizeof(*r->m.keys));
	return true;
}

/* --- logs --- */

static void take_record(struct run *r, const struct log_record *rec)
{
	uint32_t i;

	for (i = 0; i < rec->n && i < LOAD_BATCH; i++) {
		struct load_op op = {
			.key = rec->op[i].key,
			.state = rec->op[i].state,
			.expiry = rec->op[i].expiry,
			.status = rec->op[i].status,
		};

		vt_need(op.key < r->m.nr, "a key in the ledger");
		if (rec->kind == INTENT)
			load_begun(&r->m, &op);
		else
			load_ended(&r->m, &op);
	}
	r->intents += rec->kind == INTENT;
	r->answers += rec->kind == ANSWER;
}

static void read_logs(struct run *r)
{
	uint8_t *buf = vt_map(LOG_ROOM);
	uint32_t t, i;

	for (t = 0; t < THREADS; t++) {
		vt_need(pread(r->l.fd, buf, LOG_ROOM, (off_t)log_at(t, 0)) ==
			(ssize_t)LOG_ROOM, "read the ledger's log");
		for (i = 0; i < LOG_ROOM / SECTOR; i++) {
			struct log_record *rec = (void *)(buf + i * SECTOR);

			if (rec->magic != MAGIC || rec->number != i ||
			    rec->table != r->l.table->sequence ||
			    rec->check != record_sum(rec))
				break;
			take_record(r, rec);
		}
	}
	munmap(buf, LOG_ROOM);
}

static bool log_ops(struct run *r, uint32_t thread, enum kind kind,
		    const struct load_op *ops, uint32_t n)
{
	struct log_record *rec = r->l.record[thread];
	uint32_t i;

	memset(rec, 0, sizeof(*rec));
	rec->magic = MAGIC;
	rec->table = r->l.table->sequence;
	rec->number = r->l.number[thread]++;
	rec->kind = (uint16_t)kind;
	rec->n = (uint16_t)n;
	for (i = 0; i < n; i++) {
		rec->op[i].key = ops[i].key;
		rec->op[i].state = ops[i].state;
		rec->op[i].status = ops[i].status;
		rec->op[i].expiry = ops[i].expiry;
	}
	rec->check = record_sum(rec);
	vt_need(pwrite(r->l.fd, rec, SECTOR,
		       (off_t)log_at(thread, rec->number)) == SECTOR,
		"write to the ledger");
	return rec->number + 2 < LOG_ROOM / SECTOR;
}

static bool intent(void *arg, uint32_t thread, const struct load_op *ops,
		   uint32_t n)
{
	return log_ops(arg, thread, INTENT, ops, n);
}

static bool answered(void *arg, uint32_t thread, const struct load_op *ops,
		     uint32_t n)
{
	return log_ops(arg, thread, ANSWER, ops, n);
}

static void open_ledger(struct run *r, const char *path)
{
	uint32_t i;

	r->l.fd = open(path, O_RDWR | O_DIRECT | O_DSYNC | O_CLOEXEC);
	vt_need(r->l.fd >= 0, "open the ledger %s: %s", path, strerror(errno));
	r->l.table_bytes = SECTOR + ((r->m.nr * sizeof(*r->m.keys) + SECTOR - 1) &
				     ~(size_t)(SECTOR - 1));
	vt_need(r->l.table_bytes <= TABLE_ROOM, "too many keys for the ledger");
	r->l.table = vt_map(TABLE_ROOM);
	for (i = 0; i < THREADS; i++)
		r->l.record[i] = vt_map(4096);
}

/* --- a boot --- */

static bool roomy(struct run *r)
{
	struct kvcache_info info;

	vt_need(!kvc_info(r->pool.kvc, &info, NULL, 0), "read the counters");
	return info.free_segments > info.nr_segments / 5 * 2;
}

static void make_pool(struct run *r, const char *const *format, uint64_t seed)
{
	uint32_t i;

	crash_format(&r->pool, format);
	r->m.seed = seed;
	memset(r->m.keys, 0, r->m.nr * sizeof(*r->m.keys));
	for (i = 0; i < r->m.nr; i++)
		r->m.keys[i].maybe = MODEL_NONE;
	r->l.table->formats++;
	write_table(r);
}

static void attach(struct run *r)
{
	char reason[768] = "";
	int error = crash_attach(&r->pool, reason);

	vt_need(!error, "boot %u: attach: %s: %s", r->m.round,
		strerror(-error), reason);
}

static void look(struct run *r)
{
	struct kvcache_info info = {};
	struct model_seen seen;
	bool good;

	good = crash_fsck(&r->pool, "after a kill");
	attach(r);
	good &= model_verify(&r->m, r->pool.kvc, 2, &seen);
	kvc_info(r->pool.kvc, &info, NULL, 0);
	/* Nothing was evicted before: there was room; see roomy(). */
	good &= model_judge_gone(&r->m, &seen, info.evicted_objects,
				 info.evicted_objects ? r->m.round : 0);
	good &= model_verify_list(&r->m, r->pool.kvc);
	vt_need(good, "boot %u: what was answered is there, nothing else is",
		r->m.round);
	vt_note("boot %u: %u calls begun and %u answered before the kill; %u hits, %u expired; in flight: %u had happened, %u had not; fsck %llu ms, attach %llu ms",
		r->m.round, r->intents, r->answers, seen.hits, seen.expired,
		seen.new, seen.old, (unsigned long long)r->pool.fsck_ms,
		(unsigned long long)r->pool.attach_ms);
}

static void usage(void)
{
	fprintf(stderr, "usage: crash_kill --ledger DEVICE [--seed N] [--keys N] [--max BYTES] [--seconds N] [--format OPTIONS] MEMBER...\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ledger", 1, NULL, 'l' }, { "seed", 1, NULL, 's' },
		{ "keys", 1, NULL, 'k' }, { "max", 1, NULL, 'm' },
		{ "seconds", 1, NULL, 'S' }, { "format", 1, NULL, 'f' }, {}
	};
	const char **format = crash_words("--force --q 0 --lease 500ms");
	uint32_t keys = 800, max_len = 131072, seconds = 60;
	const char *ledger = NULL;
	struct run r = {};
	uint64_t seed = 1;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'l': ledger = optarg; break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'k': keys = (uint32_t)atoi(optarg); break;
		case 'm': max_len = (uint32_t)atoi(optarg); break;
		case 'S': seconds = (uint32_t)atoi(optarg); break;
		case 'f': format = crash_words(optarg); break;
		default: usage();
		}
	}
	if (!ledger || optind == argc)
		usage();
	crash_open(&r.pool, argv + optind, (unsigned int)(argc - optind));
	model_init(&r.m, seed, keys, max_len);
	open_ledger(&r, ledger);
	if (read_table(&r)) {
		read_logs(&r);
		r.m.round++;
		vt_note("looking");
		look(&r);
		if (roomy(&r)) {
			write_table(&r);
		} else {
			vt_need(!crash_detach(&r.pool), "detach");
			make_pool(&r, format, vt_mix(seed, r.m.round));
			attach(&r);
		}
	} else {
		make_pool(&r, format, seed);
		attach(&r);
	}
	r.load.m = &r.m;
	r.load.kvc = r.pool.kvc;
	r.load.threads = THREADS;
	r.load.seed = vt_mix(seed, r.m.round);
	r.load.intent = intent;
	r.load.answered = answered;
	r.load.arg = &r;
	vt_begin("load until the kill");
	vt_note("loading");
	load_start(&r.load);
	vt_sleep_ms(1000 * seconds);
	r.load.stop = true;
	load_join(&r.load);
	vt_need(!crash_detach(&r.pool), "detach");
	vt_need(crash_fsck(&r.pool, "after a detach"), "fsck");
	vt_note("left in good order after %llu calls",
		(unsigned long long)r.load.calls);
	vt_exit();
}
