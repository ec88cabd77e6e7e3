// SPDX-License-Identifier: GPL-2.0
/*
 * Labels that a crash has left torn or of different ages. What can be told
 * apart attaches and is healed by that; what can't is refused, and the device
 * named.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/fs.h>
#include <unistd.h>

#include "crash.h"
#include "load.h"

#define BLOCK 4096
#define MEMBERS 4
#define SEQUENCE_AT 40		/* of struct kvc_block_header */

struct labels {
	uint8_t copy[MEMBERS][2][BLOCK];
};

struct scene {
	struct crash_pool pool;
	struct model m;
	struct load load;
	struct vt_rng rng;
	int fd[MEMBERS];
	uint64_t end[MEMBERS];		/* byte at which the second label is */
	struct labels now;
	uint8_t *buf;
};

static uint64_t label_at(const struct scene *s, uint32_t member, uint32_t copy)
{
	return copy ? s->end[member] : 0;
}

static void read_labels(struct scene *s, struct labels *l)
{
	uint32_t i, c;

	for (i = 0; i < MEMBERS; i++) {
		for (c = 0; c < 2; c++) {
			vt_need(pread(s->fd[i], s->buf, BLOCK,
				      (off_t)label_at(s, i, c)) == BLOCK,
				"read a label");
			memcpy(l->copy[i][c], s->buf, BLOCK);
		}
	}
}

static void write_label(struct scene *s, uint32_t member, uint32_t copy,
			const uint8_t *block)
{
	memcpy(s->buf, block, BLOCK);
	vt_need(pwrite(s->fd[member], s->buf, BLOCK,
		       (off_t)label_at(s, member, copy)) == BLOCK,
		"write a label");
}

static void write_labels(struct scene *s, const struct labels *l)
{
	uint32_t i, c;

	for (i = 0; i < MEMBERS; i++)
		for (c = 0; c < 2; c++)
			write_label(s, i, c, l->copy[i][c]);
}

static uint64_t sequence(const uint8_t *block)
{
	uint64_t v;

	memcpy(&v, block + SEQUENCE_AT, 8);
	return v;
}

/* Sectors of two blocks, as a write that was cut short leaves them. */
static void tear(struct scene *s, uint32_t member, uint32_t copy,
		 const uint8_t *old, const uint8_t *new)
{
	uint32_t sectors = 1 + (uint32_t)vt_below(&s->rng, 7);
	uint8_t block[BLOCK];

	memcpy(block, old, BLOCK);
	memcpy(block, new, sectors * 512);
	/* Both ends differ (checksum, sequence), the middle may not. */
	block[BLOCK - 1] ^= 0x55;
	write_label(s, member, copy, block);
}

/* --- what is to come of it --- */

static bool attaches(struct scene *s, const char *what)
{
	char reason[768] = "";
	struct model_seen seen;
	bool good;
	int error;

	error = crash_attach(&s->pool, reason);
	if (!vt_expect(!error, "%s: attach: %s: %s", what, strerror(-error),
		       reason))
		return false;
	good = vt_expect(model_verify(&s->m, s->pool.kvc, 2, &seen) &&
			 model_judge_gone(&s->m, &seen, 0, 0),
			 "%s: the look at it", what);
	good &= vt_expect(!crash_detach(&s->pool), "%s: detach", what);
	/* Healed: no label is torn, none lags. */
	good &= crash_fsck(&s->pool, what);
	read_labels(s, &s->now);
	return good;
}

static bool refused(struct scene *s, const char *what, const char *device)
{
	char reason[768] = "";
	int error = crash_attach(&s->pool, reason);

	vt_note("%s: %s", what, reason);
	if (!vt_expect(error == -EUCLEAN, "%s: attach: %d", what, error)) {
		if (!error)
			crash_detach(&s->pool);
		return false;
	}
	return vt_expect(strstr(reason, device), "%s: not named: %s", what,
			 reason);
}


static void torn_copies(struct scene *s)
{
	struct labels old = s->now;
	uint32_t i;
	bool good;

	vt_begin("a torn label at the start, or at the end, of one member, or of all");
	tear(s, 1, 0, old.copy[1][0], old.copy[2][0]);
	good = attaches(s, "start of one");
	old = s->now;
	tear(s, 2, 1, old.copy[2][1], old.copy[1][1]);
	good = good && attaches(s, "end of one");
	old = s->now;
	for (i = 0; i < MEMBERS && good; i++)
		tear(s, i, 0, old.copy[i][0], old.copy[(i + 1) % MEMBERS][0]);
	good = good && attaches(s, "start of all");
	old = s->now;
	for (i = 0; i < MEMBERS && good; i++)
		tear(s, i, i % 2, old.copy[i][0], old.copy[i][1]);
	good = good && attaches(s, "one of each");
	if (!vt_end() || !good)
		vt_exit();
}

static void both_torn(struct scene *s)
{
	struct labels old = s->now;
	bool good;

	vt_begin("both labels of one member torn: refused, and the member named");
	tear(s, 3, 0, old.copy[3][0], old.copy[0][0]);
	tear(s, 3, 1, old.copy[3][1], old.copy[0][1]);
	good = refused(s, "both labels torn", s->pool.members[3]);
	write_labels(s, &old);
	good = good && attaches(s, "put back");
	if (!vt_end() || !good)
		vt_exit();
}

static void older(struct scene *s)
{
	struct labels before = s->now, between, after;
	uint32_t i;
	bool good;

	vt_begin("labels of different ages: one behind attaches, two behind is refused");
	good = attaches(s, "another attach");
	between = s->now;
	good = good && attaches(s, "and another");
	after = s->now;
	good = good && vt_expect(sequence(after.copy[0][0]) ==
				 sequence(before.copy[0][0]) + 2,
				 "sequences %llu and %llu",
				 (unsigned long long)sequence(before.copy[0][0]),
				 (unsigned long long)sequence(after.copy[0][0]));
	write_label(s, 2, 0, before.copy[2][0]);
	write_label(s, 2, 1, before.copy[2][1]);
	good = good && refused(s, "two behind", s->pool.members[2]);
	write_labels(s, &after);
	/* An attach got as far as the end labels of some members. */
	for (i = 0; i < MEMBERS; i++) {
		write_label(s, i, 0, between.copy[i][0]);
		if (i > 1)
			write_label(s, i, 1, between.copy[i][1]);
	}
	good = good && attaches(s, "end labels of some");
	if (!vt_end() || !good)
		vt_exit();
}

/* How many labels are of the newest sequence, and how many of an older one? */
static void ages(struct scene *s, uint32_t *new, uint32_t *old)
{
	uint64_t newest = 0;
	uint32_t i, c;

	read_labels(s, &s->now);
	for (i = 0; i < MEMBERS; i++)
		for (c = 0; c < 2; c++)
			if (sequence(s->now.copy[i][c]) > newest)
				newest = sequence(s->now.copy[i][c]);
	*new = *old = 0;
	for (i = 0; i < MEMBERS; i++)
		for (c = 0; c < 2; c++)
			*(sequence(s->now.copy[i][c]) == newest ? new : old) += 1;
}

/*
 * Attaches that crash while they write labels, one after the other, each a
 * little further than the one before.
 */
static void crashes(struct scene *s)
{
	uint32_t writes, new, old, within = 0, total = 0;
	char reason[768], what[64];
	bool good = true;
	int error;

	vt_begin("attaches that crash while they write labels, several in a row");
	for (writes = 6; good && writes < 200; writes++) {
		crash_abandon_after(writes);
		error = crash_attach_once(&s->pool, reason);
		if (!error) {
			/* It was through, or the heartbeat ran into it. */
			crash_abandon(&s->pool);
			crash_abandon_after(0);
			break;
		}
		crash_abandon_after(0);
		good = vt_expect(error == -EIO || error == -ESTALE,
				 "crash at write %u: %d: %s", writes, error,
				 reason);
		ages(s, &new, &old);
		total++;
		if (!old)
			continue;
		/* Twice at the same write, or not. */
		within++;
		snprintf(what, sizeof(what), "crash at write %u", writes);
		good = good && crash_fsck(&s->pool, what);
		if (vt_below(&s->rng, 2))
			writes--;
		if (within > 24)
			break;
	}
	good = good && attaches(s, "after all that");
	(void)vt_expect(within >= 4, "only %u of %u crashes among the labels",
			within, total);
	vt_note("%u crashes of attaches, %u with labels of two ages", total,
		within);
	if (!vt_end() || !good)
		vt_exit();
}

int main(int argc, char **argv)
{
	static const char *const format[] = {
		"--force", "--name", "labels", "--lease", "200ms", "--q", "0",
		"--segment-size", "1M", "--slots", "4", "--ags", "4", NULL
	};
	struct scene s = {};
	uint64_t seed = vt_mix((uint64_t)vt_now(), (uint64_t)getpid()) % 1000000;
	uint32_t i;

	if (argc == 3 && !strcmp(argv[1], "--seed")) {
		seed = strtoull(argv[2], NULL, 0);
		argc -= 2;
	}
	crash_open(&s.pool, NULL, 0);
	vt_need(argc == 1 && s.pool.nr >= MEMBERS, "four members");
	s.pool.nr = MEMBERS;
	s.rng.s = seed;
	vt_note("labels: seed %llu", (unsigned long long)seed);
	s.buf = vt_map(BLOCK);
	model_init(&s.m, seed, 200, 32768);
	s.load.m = &s.m;
	s.load.kvc = s.pool.kvc;
	s.load.threads = 2;
	s.load.no_expiry = true;
	for (i = 0; i < MEMBERS; i++) {
		uint64_t bytes;

		s.fd[i] = open(s.pool.members[i], O_RDWR | O_DIRECT | O_DSYNC |
			       O_CLOEXEC);
		vt_need(s.fd[i] >= 0 && !ioctl(s.fd[i], BLKGETSIZE64, &bytes),
			"open %s", s.pool.members[i]);
		s.end[i] = bytes / BLOCK * BLOCK - BLOCK;
	}
	crash_format(&s.pool, format);
	vt_need(!crash_attach(&s.pool, NULL), "attach");
	vt_begin("some load");
	load_start(&s.load);
	vt_sleep_ms(200);
	s.load.stop = true;
	load_join(&s.load);
	vt_need(!crash_detach(&s.pool), "detach");
	read_labels(&s, &s.now);

	torn_copies(&s);
	both_torn(&s);
	older(&s);
	crashes(&s);
	vt_exit();
}
