// SPDX-License-Identifier: GPL-2.0
/*
 * Damaged media: whatever rots, a get answers with exactly the bytes that were
 * put, or with a miss, or with EBADMSG; an attach succeeds, or is refused with a
 * sentence; damage stays where it is, in its object, segment or AG; and fsck says
 * what it is.
 *
 * There are some pools, each with a history (eviction and moves, deletes, keys
 * that were put anew, several epochs). The last was abandoned with segments
 * open, the others were detached. A trial damages blocks of one, attaches, asks
 * for every object, and puts the pool back as it was. Attaching waits a lot, so
 * this goes on in all pools at the same time.
 *
 * usage: media [-f FLIPS] [-b BLOCKS] [-s SEED] [-w POOLS] [TEST...]
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "members.h"
#include "objects.h"

#define MAX_WORLDS	12
#define MEMBERS		4
#define KEEP		40	/* objects that are put first, and kept by eviction */
#define LATE		40	/* put last */
#define GONE		12	/* of each, deleted */
#define ANEW		6	/* of those, put anew with other bytes */
#define OBJECTS		(KEEP + LATE)
#define FILL_BYTES	200000
#define FILL_STEP	20
#define MAX_FILL	1000
#define MOVES		20	/* that eviction makes */
#define DEADLINE_MS	20000
#define LEASE_MS	1000

/**
 * struct world - a pool at rest
 * @m: members
 * @node: who attaches it
 * @abandoned: it was left by a crash
 * @o: objects
 * @map: what stands where
 * @image: of its metadata
 * @former: of its metadata, some epochs ago
 * @all: all bytes of each member
 * @kvc: handle of its attachment
 * @number: of that, 0: none
 * @rng: random numbers
 * @findings: what fsck is to say of the damage, one of these; NULL: anything
 * @back: deleted objects that damage brought back
 * @lost: objects that damage made miss
 * @rotten: that it made answer EBADMSG
 */
struct world {
	struct vt_members m;
	const char *node;
	bool abandoned;
	struct vt_object o[OBJECTS];
	bool hurt[OBJECTS];
	struct vt_map map;
	struct vt_image image;
	struct vt_image former;
	u8 *all[MEMBERS];
	struct kvc *kvc;
	int number;
	struct vt_rng rng;
	const char *findings;
	unsigned int back;
	unsigned int lost;
	unsigned int rotten;
};

typedef u8 block_t[KVC_BLOCK_SIZE] __attribute__((aligned(8)));

static struct world worlds[MAX_WORLDS];
static unsigned int nr_worlds = 8;
static struct world *const detached = &worlds[0];

struct job {
	struct world *w;
	void (*run)(struct world *w, unsigned int times);
	unsigned int times;
};

static void *run_job(void *arg)
{
	struct job *job = arg;

	job->run(job->w, job->times);
	return NULL;
}

/* Do something to pools from @first on, every @step'th, at the same time. */
static void side_by_side(unsigned int first, unsigned int step,
			 void (*run)(struct world *w, unsigned int times),
			 unsigned int times)
{
	pthread_t thread[MAX_WORLDS];
	struct job job[MAX_WORLDS];
	unsigned int k;

	for (k = first; k < nr_worlds; k += step) {
		/* The last waits for a lease each time. */
		unsigned int last = times / (nr_worlds + 1);
		unsigned int each = (times - last) / (nr_worlds - 1);

		job[k] = (struct job) {
			.w = &worlds[k],
			.run = run,
			.times = k == nr_worlds - 1 ?
				 times - each * (nr_worlds - 1) : each,
		};
		vt_need(!pthread_create(&thread[k], NULL, run_job, &job[k]),
			"a thread");
	}
	for (k = first; k < nr_worlds; k += step)
		pthread_join(thread[k], NULL);
}

/* The first, which was detached, and the last, which was abandoned. */
static void both(void (*run)(struct world *w, unsigned int unused))
{
	side_by_side(0, nr_worlds - 1, run, 0);
}

/* --- attachments --- */

static int up(struct world *w, char *reason, size_t room)
{
	w->number = vt_attach(&w->m, w->node, 0, reason, room);
	if (w->number > 0) {
		w->kvc = kvc_open(NULL, (unsigned int)w->number);
		vt_need(w->kvc, "open pool %d: %s", w->number, strerror(errno));
	}
	return w->number;
}

static void must_up(struct world *w)
{
	char reason[1024];

	vt_need(up(w, reason, sizeof(reason)) > 0, "attach %s: %d: %s",
		w->node, w->number, reason);
}

static void down(struct world *w, bool abandon)
{
	int err;

	if (w->number <= 0)
		return;
	kvc_close(w->kvc);
	w->kvc = NULL;
	err = abandon ? vt_abandon((unsigned int)w->number) :
			vt_detach((unsigned int)w->number);
	vt_expect(!err, "%s: %d", abandon ? "abandon" : "detach", err);
	w->number = 0;
}

static struct kvcache_info info_of(struct world *w)
{
	struct kvcache_info info;
	int err = kvc_info(w->kvc, &info, NULL, 0);

	vt_need(!err, "info: %d", err);
	return info;
}

/* Has it held the pool since? This machine's slowness may end a lease. */
static bool lasted(struct world *w, u64 incarnation)
{
	struct kvcache_info info = info_of(w);

	return info.incarnation == incarnation && info.lease_left_ms;
}

/* Get all objects; what says "not now", or misses for a lapse, is asked again. */
static void get_all(struct world *w, struct vt_tally *tally)
{
	unsigned int tries;
	u64 incarnation;

	for (tries = 0; tries < 600; tries++) {
		incarnation = info_of(w).incarnation;
		vt_objects_get(w->kvc, w->o, OBJECTS, DEADLINE_MS, tally);
		if (!tally->n[VT_BUSY] && !tally->n[VT_LATE] &&
		    lasted(w, incarnation))
			return;
		vt_sleep_ms(100);
	}
}

/* --- making a world --- */

static void fill(struct world *w)
{
	static struct vt_object f[MAX_FILL];
	struct kvcache_info info;
	struct vt_tally tally;
	unsigned int n = 0;
	int err;

	vt_objects_make(f, MAX_FILL, "fill", w->rng.s, FILL_BYTES, FILL_BYTES);
	/* Until objects that were touched have been moved by eviction. */
	do {
		vt_objects_get(w->kvc, w->o, KEEP, DEADLINE_MS, &tally);
		vt_need(vt_objects_put(w->kvc, f + n, FILL_STEP) == FILL_STEP,
			"fill the pool");
		n += FILL_STEP;
		info = info_of(w);
	} while (info.rewritten_objects < MOVES && n + FILL_STEP <= MAX_FILL);
	vt_need(info.rewritten_objects >= MOVES, "eviction moved %llu objects",
		(unsigned long long)info.rewritten_objects);
	while (n--) {
		err = vt_object_delete(w->kvc, &f[n]);
		vt_need(!err || err == -ENOENT, "delete %s: %d", f[n].key, err);
	}
}

/* Which AGs have a record of an object, and which segment has it now. */
static void locate(struct world *w)
{
	unsigned int i;
	u32 k;

	for (i = 0; i < OBJECTS; i++) {
		struct vt_object *o = &w->o[i];
		struct kvc_hash h = kvc_key_hash(w->m.g.hash_key, 0, o->key,
						 strlen(o->key));

		o->ag = 0;
		o->segment = KVC_NO_SEGMENT;
		for (k = 0; k < w->map.nr_puts; k++) {
			const struct vt_put *p = &w->map.puts[k];

			if (p->hash.lo != h.lo || p->hash.hi != h.hi)
				continue;
			o->ag |= 1U << p->ag;
			if (p->current)
				o->segment = p->segment;
		}
	}
}

static void delete_some(struct world *w)
{
	unsigned int i, k, at;
	int err;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < GONE; i++) {
			at = (k ? KEEP : 0) + i * 3;
			err = vt_object_delete(w->kvc, &w->o[at]);
			vt_need(!err, "delete %s: %d", w->o[at].key, err);
			w->o[at].gone = true;
		}
		for (i = 0; i < ANEW; i++) {
			at = (k ? KEEP : 0) + i * 3;
			w->o[at].former = w->o[at].seed;
			w->o[at].seed = vt_mix(w->o[at].seed, 99) | 1;
			vt_need(vt_objects_put(w->kvc, &w->o[at], 1) == 1,
				"put anew: %d", w->o[at].status);
			w->o[at].gone = false;
		}
	}
}

static bool as_it_was(const struct world *w)
{
	unsigned int i;

	for (i = 0; i < OBJECTS; i++)
		if (w->o[i].answer != (w->o[i].gone ? VT_MISS : VT_HIT))
			return false;
	return true;
}

/* What all pools have behind them. */
static void make_history(struct world *w, u64 seed)
{
	char options[160];

	snprintf(options, sizeof(options),
		 "--name media --lease %ums --q 0 --segment-size 1M --ags 4 --slots 4 --ring 128K",
		 LEASE_MS);
	vt_format(&w->m, options);
	vt_objects_make(w->o, KEEP, "keep", seed + 1, 1, 40000);
	vt_objects_make(w->o + KEEP, LATE, "late", seed + 2, 1, 40000);
	must_up(w);
	vt_need(vt_objects_put(w->kvc, w->o, KEEP) == KEEP, "puts");
	fill(w);
	/* What eviction dropped all the same is put again. */
	vt_need(vt_objects_put(w->kvc, w->o, KEEP) <= KEEP, "puts");
	down(w, false);
	vt_image_save(&w->former, &w->m);
	must_up(w);
	vt_need(vt_objects_put(w->kvc, w->o + KEEP, LATE / 2) == LATE / 2, "puts");
	down(w, false);
}

static u8 *save_member(const struct world *w, u32 i)
{
	struct kvc_place p = { i, 0 };
	u8 *all = vt_map(w->m.blocks[i] << KVC_BLOCK_SHIFT);

	vt_read(&w->m, p, (u32)w->m.blocks[i], all);
	return all;
}

/* Give a pool the history of another. */
static void copy_history(struct world *w, const struct world *from)
{
	u32 i;

	for (i = 0; i < MEMBERS; i++) {
		struct kvc_place p = { i, 0 };
		u8 *all = save_member(from, i);

		vt_write_blocks(&w->m, p, (u32)from->m.blocks[i], all);
		munmap(all, from->m.blocks[i] << KVC_BLOCK_SHIFT);
	}
	w->m.g = from->m.g;
	memcpy(w->o, from->o, sizeof(w->o));
	w->former = from->former;
}

/* Then half of the late objects, in segments that are open, and the deletes. */
static void make_world(struct world *w, unsigned int unused)
{
	struct vt_tally tally;
	u32 i;

	(void)unused;
	must_up(w);
	vt_need(vt_objects_put(w->kvc, w->o + KEEP + LATE / 2, LATE / 2) ==
		LATE / 2, "puts");
	delete_some(w);
	get_all(w, &tally);
	vt_need(as_it_was(w), "a new pool: %s", vt_tally_text(&tally));
	down(w, w->abandoned);
	vt_image_save(&w->image, &w->m);
	for (i = 0; i < MEMBERS; i++)
		w->all[i] = save_member(w, i);
	vt_map_scan(&w->map, &w->m);
	locate(w);
}

/* Put the data of a segment back. */
static void restore_segment(struct world *w, u32 segment)
{
	const struct kvc_geometry *g = &w->m.g;
	u64 at, run;

	for (at = 0; at < kvc_segment_bytes(g); at += run) {
		struct kvc_place p;

		run = kvc_segment_bytes(g) - at;
		p = kvc_place_data(g, segment, at, &run);
		vt_write_blocks(&w->m, p, (u32)(run >> KVC_BLOCK_SHIFT),
				w->all[p.member] + (p.block << KVC_BLOCK_SHIFT));
	}
}

/*
 * The segments that were opened or sealed since the pool was at rest: of an
 * open one that the damage made of a sealed one, a summary is written anew.
 */
static void restore_written(struct world *w, u32 ag)
{
	const struct kvc_geometry *g = &w->m.g;
	u32 area, i, blocks = KVC_AREA_HEADERS + g->ring_blocks;
	u8 *buf = malloc((size_t)blocks << KVC_BLOCK_SHIFT);

	for (area = 0; area < KVC_NR_AREAS; area++) {
		struct kvc_place at = kvc_place_area(g, ag, area);

		vt_read(&w->m, at, blocks, buf);
		for (i = KVC_AREA_HEADERS; i < blocks; i++) {
			const void *block = buf + ((size_t)i << KVC_BLOCK_SHIFT);
			struct kvc_place p = { at.member, at.block + i };
			struct kvc_journal_info j;
			struct kvc_records it;
			struct kvc_record rec;

			if (kvc_block_verify(block, KVC_BLOCK_JOURNAL, g->uuid,
					     &p) != KVC_BLOCK_OK ||
			    kvc_journal_open(block, g, &j, &it) ||
			    j.ag != ag || j.epoch <= w->map.epoch[ag])
				continue;
			while (kvc_records_next(&it, &rec) == 1)
				if ((rec.type == KVC_REC_OPEN ||
				     rec.type == KVC_REC_SEAL) &&
				    (w->map.state[rec.seg.segment] == KVC_SEG_OPEN ||
				     w->map.state[rec.seg.segment] == KVC_SEG_SEALED))
					restore_segment(w, rec.seg.segment);
		}
	}
	free(buf);
}

/* Put the pool back as it was when it came to rest, whatever was done to it. */
static void restore(struct world *w)
{
	u32 ag;

	for (ag = 0; ag < w->m.g.nr_ags; ag++)
		restore_written(w, ag);
	vt_image_restore(&w->image, &w->m);
}

/* --- a trial --- */

/**
 * struct damage - blocks that are changed, and what they were
 * @nr: how many
 * @at: where
 * @was: for the way back
 */
struct damage {
	unsigned int nr;
	struct kvc_place at[8];
	block_t was[8];
};

static void change(struct world *w, struct damage *d, struct kvc_place at,
		   const block_t now)
{
	vt_need(d->nr < ARRAY_SIZE(d->at), "too much damage");
	d->at[d->nr] = at;
	vt_read(&w->m, at, 1, d->was[d->nr++]);
	vt_write_blocks(&w->m, at, 1, now);
}

static void flip(struct world *w, struct damage *d, struct kvc_place at,
		 unsigned int bit)
{
	block_t block;

	vt_read(&w->m, at, 1, block);
	block[bit / 8] ^= (u8)(1U << bit % 8);
	change(w, d, at, block);
}

static void zero(struct world *w, struct damage *d, struct kvc_place at)
{
	static const block_t zeroes;

	change(w, d, at, zeroes);
}

/* Of a pool that is attached: the blocks alone. */
static void put_damage_back(struct world *w, struct damage *d)
{
	while (d->nr) {
		d->nr--;
		vt_write_blocks(&w->m, d->at[d->nr], 1, d->was[d->nr]);
	}
}

static void put_back(struct world *w, struct damage *d)
{
	restore(w);
	while (d->nr) {
		d->nr--;
		if (!vt_image_block(&w->image, &w->m, d->at[d->nr]))
			vt_write_blocks(&w->m, d->at[d->nr], 1, d->was[d->nr]);
	}
}

/* All objects with a record in these AGs may have been hurt. */
static void hurt_ags(struct world *w, u32 ags)
{
	unsigned int i;

	for (i = 0; i < OBJECTS; i++)
		w->hurt[i] = w->o[i].ag & ags;
}

/* Ask for all and judge. @second: what was rotten before is a miss now. */
static bool judge(struct world *w, const char *what, bool second)
{
	struct vt_tally tally;
	unsigned int i;
	bool good = true;

	get_all(w, &tally);
	for (i = 0; i < OBJECTS; i++) {
		const struct vt_object *o = &w->o[i];
		bool right = false;

		switch (o->answer) {
		case VT_HIT:
			right = !o->gone || w->hurt[i];
			w->back += o->gone && !second;
			break;
		case VT_MISS:
			right = o->gone || w->hurt[i];
			w->lost += !o->gone && !second;
			break;
		case VT_ROTTEN:
			right = w->hurt[i] && !second;
			w->rotten++;
			break;
		case VT_FORMER:
			right = w->hurt[i];
			w->back += !second;
			break;
		default:
			break;
		}
		good &= vt_expect(right, "%s: %s: %s%s is %s (%d)%s%s",
				  w->node, what, o->gone ? "deleted " : "",
				  o->key, vt_answer_name[o->answer], o->status,
				  w->hurt[i] ? "" : ", and nothing of its AG was changed",
				  second ? ", when asked again" : "");
	}
	if (!good) {
		struct kvcache_info info = info_of(w);

		vt_note("%s: %s: %llu evicted, %llu moved, %llu bad, %u free segments",
			w->node, what, (unsigned long long)info.evicted_objects,
			(unsigned long long)info.rewritten_objects,
			(unsigned long long)info.bad_data, info.free_segments);
	}
	return good;
}

/* The pool works: a new object can be put, got and deleted. */
static void works(struct world *w, const char *what)
{
	unsigned int tries = 0;
	struct vt_object o;
	u64 incarnation;
	int put, deleted;

	do {
		if (tries)
			vt_sleep_ms(100);
		incarnation = info_of(w).incarnation;
		vt_objects_make(&o, 1, "fresh", vt_rand(&w->rng), 1, 20000);
		vt_objects_put(w->kvc, &o, 1);
		put = o.status;
		vt_object_get(w->kvc, &o, DEADLINE_MS);
		deleted = vt_object_delete(w->kvc, &o);
	} while (!lasted(w, incarnation) && tries++ < 600);
	vt_expect(!put, "%s: %s: a put: %d", w->node, what, put);
	vt_expect(o.answer == VT_HIT, "%s: %s: a get: %s (%d)", w->node,
		  what, vt_answer_name[o.answer], o.status);
	vt_expect(!deleted, "%s: %s: a delete: %d", w->node, what, deleted);
}

static void list_all(struct world *w, const char *what)
{
	const struct kvc_call call = { .deadline_ms = DEADLINE_MS };
	struct kvc_list *list;
	struct kvc_object object;
	int err;

	list = kvc_list_open(w->kvc, &call, NULL, 0, 0);
	vt_need(list, "list");
	while ((err = kvc_list_next(list, &object)) > 0)
		;
	vt_expect(!err, "%s: %s: list: %d", w->node, what, err);
	kvc_list_close(list);
}

/*
 * Does an answer agree with that of the attachment before? What was hurt may be
 * found out later, as a summary that was not needed while the journal told all;
 * and of a former copy that came back beside a newer one either answers.
 */
static bool agrees(const struct world *w, unsigned int i, enum vt_answer before)
{
	enum vt_answer now = w->o[i].answer;

	if (!w->hurt[i])
		return now == before;
	return now == VT_MISS || now == before ||
	       ((now == VT_HIT || now == VT_FORMER) &&
		(before == VT_HIT || before == VT_FORMER));
}

/* Has @text one of @words, which are separated by "|"? */
static bool has_one(const char *text, const char *words)
{
	char *copy = strdup(words), *at = copy, *word;
	bool has = false;

	while (!has && (word = strsep(&at, "|")))
		has = strstr(text, word);
	free(copy);
	return has;
}

/* fsck ends in good order, and names one of @findings. */
static void fsck_says(struct world *w, const char *what, const char *findings)
{
	char command[512], *text;
	const size_t room = 1 << 20;
	size_t got;
	FILE *f;
	int at, status;
	u32 i;

	at = snprintf(command, sizeof(command),
		      "exec kvcachectl fsck -v --force --data 2>&1");
	for (i = 0; i < MEMBERS; i++)
		at += snprintf(command + at, sizeof(command) - (size_t)at, " %s",
			       w->m.path[i]);
	text = malloc(room);
	f = popen(command, "re");
	vt_need(text && f, "start a shell: %s", strerror(errno));
	got = fread(text, 1, room - 1, f);
	text[got] = '\0';
	status = pclose(f);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	vt_expect(status == 0 || status == 4, "%s: %s: fsck ends with %d",
		  w->node, what, status);
	vt_expect(!findings || has_one(text, findings),
		  "%s: %s: fsck does not say %s:\n%.3000s", w->node, what,
		  findings, text);
	free(text);
}

#define TRIAL_LIST	1U	/* list as well */
#define TRIAL_AGAIN	2U	/* crash, attach, and ask again */
#define TRIAL_FSCK	4U	/* fsck says @w->findings first */

/*
 * Attach the damaged pool, judge it, and put it back. @w->hurt says what may
 * have been hurt.
 */
static void trial(struct world *w, const char *what, unsigned int flags)
{
	struct vt_object before[OBJECTS];
	char reason[1024];
	unsigned int i;

	if (flags & TRIAL_FSCK)
		fsck_says(w, what, w->findings);
	if (!vt_expect(up(w, reason, sizeof(reason)) > 0,
		       "%s: %s: attach: %d: %s", w->node, what, w->number,
		       reason))
		return;
	if (!judge(w, what, false)) {
		down(w, true);
		return;
	}
	judge(w, what, true);
	if (flags & TRIAL_LIST)
		list_all(w, what);
	works(w, what);
	if (!(flags & TRIAL_AGAIN)) {
		down(w, true);
		return;
	}
	/* What the attach made of it lasts. */
	memcpy(before, w->o, sizeof(before));
	down(w, true);
	must_up(w);
	judge(w, what, true);
	for (i = 0; i < OBJECTS; i++)
		vt_expect(agrees(w, i, before[i].answer),
			  "%s: %s: %s was %s, and after one more attach is %s",
			  w->node, what, w->o[i].key,
			  vt_answer_name[before[i].answer],
			  vt_answer_name[w->o[i].answer]);
	down(w, true);
}

/* An attach that is to be refused, with a sentence that has all of @words. */
static void refused(struct world *w, const char *what, int error,
		    const char *words)
{
	char *copy = strdup(words), *at = copy, *word;
	char reason[1024];

	vt_expect(up(w, reason, sizeof(reason)) == error,
		  "%s: attach: %d, not %d: %s", what, w->number, error, reason);
	while ((word = strsep(&at, "|")))
		vt_expect(strstr(reason, word), "%s: it does not say \"%s\": %s",
			  what, word, reason);
	if (w->number > 0)
		down(w, true);
	free(copy);
}

/* --- data --- */

/* The record of an object as it stands now. */
static const struct vt_put *find_put(const struct vt_map *map,
				     const struct vt_members *m,
				     const struct vt_object *o)
{
	struct kvc_hash h = kvc_key_hash(m->g.hash_key, 0, o->key,
					 strlen(o->key));
	u32 i;

	for (i = 0; i < map->nr_puts; i++) {
		const struct vt_put *p = &map->puts[i];

		if (p->current && p->hash.lo == h.lo && p->hash.hi == h.hi)
			return p;
	}
	vt_need(false, "no record of %s", o->key);
	return NULL;
}

/* Where byte @at of an object stands. */
static struct kvc_place place_of(const struct vt_members *m,
				 const struct vt_put *p, u32 at)
{
	u64 run = KVC_BLOCK_SIZE;

	return kvc_place_data(&m->g, p->segment,
			      ((u64)p->offset << KVC_BLOCK_SHIFT) +
				      round_down(at, KVC_BLOCK_SIZE), &run);
}

/* What rots: object @i, with @p its record; @other is one of the same length. */
struct rot {
	const char *what;
	void (*make)(struct world *w, struct damage *d, const struct vt_put *p,
		     const struct vt_put *other, u32 len);
	bool both;	/* the other one, too */
	bool harmless;
};

static void rot_first(struct world *w, struct damage *d, const struct vt_put *p,
		      const struct vt_put *other, u32 len)
{
	(void)other;
	(void)len;
	flip(w, d, place_of(&w->m, p, 0), 0);
}

static void rot_middle(struct world *w, struct damage *d, const struct vt_put *p,
		       const struct vt_put *other, u32 len)
{
	(void)other;
	flip(w, d, place_of(&w->m, p, len / 2),
	     (unsigned int)vt_below(&w->rng, KVC_BLOCK_SIZE * 8));
}

static void rot_last(struct world *w, struct damage *d, const struct vt_put *p,
		     const struct vt_put *other, u32 len)
{
	(void)other;
	flip(w, d, place_of(&w->m, p, len - 1),
	     (len - 1) % KVC_BLOCK_SIZE * 8 + 7);
}

/* Behind the object's last byte, in its last block: nobody's. */
static void rot_padding(struct world *w, struct damage *d,
			const struct vt_put *p, const struct vt_put *other,
			u32 len)
{
	(void)other;
	flip(w, d, place_of(&w->m, p, len - 1), len % KVC_BLOCK_SIZE * 8);
}

static void rot_zeroes(struct world *w, struct damage *d, const struct vt_put *p,
		       const struct vt_put *other, u32 len)
{
	(void)other;
	zero(w, d, place_of(&w->m, p, len / 2));
}

static void rot_swap(struct world *w, struct damage *d, const struct vt_put *p,
		     const struct vt_put *other, u32 len)
{
	struct kvc_place a = place_of(&w->m, p, 0);
	struct kvc_place b = place_of(&w->m, p, len / 2);
	block_t x, y;

	(void)other;
	vt_read(&w->m, a, 1, x);
	vt_read(&w->m, b, 1, y);
	change(w, d, a, y);
	change(w, d, b, x);
}

/* A block of another object: the same place in it, so that bytes alone tell. */
static void rot_exchange(struct world *w, struct damage *d,
			 const struct vt_put *p, const struct vt_put *other,
			 u32 len)
{
	struct kvc_place a = place_of(&w->m, p, len / 2);
	struct kvc_place b = place_of(&w->m, other, len / 2);
	block_t x, y;

	vt_read(&w->m, a, 1, x);
	vt_read(&w->m, b, 1, y);
	change(w, d, a, y);
	change(w, d, b, x);
}

/* All of another object: right bytes, but under the wrong key. */
static void rot_whole(struct world *w, struct damage *d, const struct vt_put *p,
		      const struct vt_put *other, u32 len)
{
	block_t block;
	u32 at;

	for (at = 0; at < len; at += KVC_BLOCK_SIZE) {
		vt_read(&w->m, place_of(&w->m, other, at), 1, block);
		change(w, d, place_of(&w->m, p, at), block);
	}
}

static const struct rot rots[] = {
	{ "a bit of its first byte", rot_first, false, false },
	{ "a bit of its middle", rot_middle, false, false },
	{ "a bit of its last byte", rot_last, false, false },
	{ "a bit behind its end", rot_padding, false, true },
	{ "a block of zeroes", rot_zeroes, false, false },
	{ "two blocks exchanged", rot_swap, false, false },
	{ "a block exchanged with another object's", rot_exchange, true, false },
	{ "all of another object", rot_whole, false, false },
};

/* One object rots while the pool is attached. */
static void rot_one(struct world *w, const struct vt_map *map,
		    const struct rot *rot, struct vt_object *o,
		    struct vt_object *other, struct vt_object *next, bool range)
{
	const struct kvc_call call = { .deadline_ms = DEADLINE_MS };
	const struct vt_put *p = find_put(map, &w->m, o);
	const char *where = p->sealed ? "sealed" : "open";
	u64 was = info_of(w).bad_data, now;
	struct damage d = { 0 };
	uint8_t some[1000];
	ssize_t got;
	int err;

	rot->make(w, &d, p, find_put(map, &w->m, other), o->len);
	if (range) {
		/* Bytes that are not damaged: right, or refused as a whole. */
		got = kvc_get_range(w->kvc, &call, o->key, strlen(o->key),
				    o->len / 4, some, sizeof(some), NULL);
		if (!vt_expect(got == -EBADMSG ||
			       (got == (ssize_t)sizeof(some) &&
				vt_differs(some, o->seed, o->len / 4, sizeof(some)) < 0),
			       "%s, %s: a range: %zd", rot->what, where, got))
			return;
		if (got == -EBADMSG)
			goto dropped;
	}
	if (rot->harmless) {
		vt_expect(vt_object_get(w->kvc, o, DEADLINE_MS) == VT_HIT,
			  "%s, %s: %s (%d)", rot->what, where,
			  vt_answer_name[o->answer], o->status);
		put_damage_back(w, &d);
		return;
	}
	vt_expect(vt_object_get(w->kvc, o, DEADLINE_MS) == VT_ROTTEN,
		  "%s, %s: %s (%d), not rotten", rot->what, where,
		  vt_answer_name[o->answer], o->status);
dropped:
	vt_expect(vt_object_get(w->kvc, o, DEADLINE_MS) == VT_MISS,
		  "%s, %s: asked again: %s (%d), not a miss", rot->what, where,
		  vt_answer_name[o->answer], o->status);
	now = info_of(w).bad_data;
	vt_expect(now == was + 1, "%s, %s: %llu objects counted as bad, not one",
		  rot->what, where, (unsigned long long)(now - was));
	if (rot->both)
		vt_expect(vt_object_get(w->kvc, other, DEADLINE_MS) == VT_ROTTEN,
			  "%s, %s: the other: %s (%d), not rotten", rot->what,
			  where, vt_answer_name[other->answer], other->status);
	else
		vt_expect(vt_object_get(w->kvc, other, DEADLINE_MS) == VT_HIT,
			  "%s, %s: the other: %s (%d)", rot->what, where,
			  vt_answer_name[other->answer], other->status);
	vt_expect(vt_object_get(w->kvc, next, DEADLINE_MS) == VT_HIT,
		  "%s, %s: its neighbour: %s (%d)", rot->what, where,
		  vt_answer_name[next->answer], next->status);
	/* Sound again, but dropped: it stays away, and the key is free. */
	put_damage_back(w, &d);
	vt_expect(vt_object_get(w->kvc, o, DEADLINE_MS) == VT_MISS,
		  "%s, %s: after the repair: %s (%d)", rot->what, where,
		  vt_answer_name[o->answer], o->status);
	err = kvc_exists(w->kvc, &call, o->key, strlen(o->key), NULL);
	vt_expect(err == -ENOENT, "%s, %s: exists: %d", rot->what, where, err);
}

/* Three objects for each kind of rot: it, another of its length, and one more. */
static void rot_all(struct world *w, struct vt_object o[][3], const char *prefix,
		    bool sealed)
{
	struct vt_map map;
	char name[32];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(rots); i++) {
		snprintf(name, sizeof(name), "%s%u", prefix, i);
		vt_objects_make(o[i], 3, name, vt_rand(&w->rng), 21000, 28000);
		o[i][1].len = o[i][0].len;
		vt_need(vt_objects_put(w->kvc, o[i], 3) == 3, "puts");
	}
	if (sealed) {
		down(w, false);
		must_up(w);
	}
	vt_map_scan(&map, &w->m);
	for (i = 0; i < ARRAY_SIZE(rots); i++) {
		for (k = 0; k < 3; k++)
			vt_expect(find_put(&map, &w->m, &o[i][k])->sealed == sealed,
				  "%s is %ssealed", o[i][k].key,
				  sealed ? "not " : "");
		rot_one(w, &map, &rots[i], &o[i][0], &o[i][1], &o[i][2],
			i % 2 == sealed);
	}
	vt_map_free(&map);
}

static void test_data(void)
{
	struct world *w = detached;
	static struct vt_object open[ARRAY_SIZE(rots)][3];
	static struct vt_object sealed[ARRAY_SIZE(rots)][3];
	struct vt_tally tally;
	char command[512];
	unsigned int i, k;
	int at;

	vt_begin("data that rots under an attached pool: EBADMSG once, then a miss; what stands beside it is hit");
	must_up(w);
	rot_all(w, sealed, "sealed", true);
	rot_all(w, open, "open", false);
	get_all(w, &tally);
	vt_expect(as_it_was(w), "all others: %s", vt_tally_text(&tally));
	vt_end();

	vt_begin("what was dropped for its checksum stays away after a crash; the pool is clean");
	down(w, true);
	must_up(w);
	for (i = 0; i < ARRAY_SIZE(rots); i++) {
		for (k = 0; k < 3; k++) {
			struct vt_object *o[2] = { &open[i][k], &sealed[i][k] };
			bool gone = !rots[i].harmless &&
				    (!k || (k == 1 && rots[i].both));

			for (at = 0; at < 2; at++)
				vt_expect(vt_object_get(w->kvc, o[at], DEADLINE_MS) ==
					  (gone ? VT_MISS : VT_HIT), "%s: %s",
					  o[at]->key, vt_answer_name[o[at]->answer]);
		}
	}
	get_all(w, &tally);
	vt_expect(as_it_was(w), "all others: %s", vt_tally_text(&tally));
	down(w, false);
	at = snprintf(command, sizeof(command), "kvcachectl -q fsck --data");
	for (i = 0; i < MEMBERS; i++)
		at += snprintf(command + at, sizeof(command) - (size_t)at, " %s",
			       w->m.path[i]);
	vt_expect(!system(command), "%s", command);
	restore(w);
	vt_end();
}

/* --- labels --- */

static struct kvc_place label(const struct world *w, u32 member, u32 copy)
{
	return kvc_place_label(&w->m.g, member, copy);
}

static void test_labels(void)
{
	struct world *w = detached;
	struct damage d = { 0 };
	u32 i, copy;

	memset(w->hurt, 0, sizeof(w->hurt));
	w->findings = "[label-";
	vt_begin("one rotten label of each member hurts nothing");
	for (copy = 0; copy < 2; copy++) {
		for (i = 0; i < MEMBERS; i++)
			flip(w, &d, label(w, i, copy), 999 * (i + 1));
		trial(w, copy ? "all end labels" : "all start labels", TRIAL_FSCK);
		put_back(w, &d);
	}
	for (i = 0; i < MEMBERS; i++)
		zero(w, &d, label(w, i, i % 2));
	trial(w, "one label of each member zeroed", TRIAL_FSCK);
	put_back(w, &d);
	vt_end();

	vt_begin("both labels of a member, or of all: the attach is refused, and says which");
	for (i = 0; i < MEMBERS; i++) {
		flip(w, &d, label(w, i, 0), 4000);
		flip(w, &d, label(w, i, 1), 31);
		fsck_says(w, "both labels of a member", "[label-|no label|not a member");
		refused(w, "both labels of a member", -EUCLEAN, w->m.path[i]);
		refused(w, "both labels of a member", -EUCLEAN, "no sound label");
		put_back(w, &d);
	}
	for (i = 0; i < MEMBERS; i++) {
		zero(w, &d, label(w, i, 0));
		zero(w, &d, label(w, i, 1));
	}
	refused(w, "all labels", -EUCLEAN, "no sound label|kvcachectl");
	put_back(w, &d);
	trial(w, "put back", 0);
	put_back(w, &d);
	vt_end();
}

/* --- slots --- */

static void do_slots(struct world *w, unsigned int unused)
{
	struct damage d;
	u32 copy, slot;

	(void)unused;
	memset(w->hurt, 0, sizeof(w->hurt));
	for (copy = 1; copy <= 3; copy++) {
		u32 c;

		memset(&d, 0, sizeof(d));
		for (slot = 0; slot < 2; slot++)
			for (c = 0; c < copy; c++)
				flip(w, &d, kvc_place_slot(&w->m.g, slot, c, 0),
				     700 + 77 * c);
		w->findings = copy == 1 ? "[slot-copy-bad]" : "[slot-majority]";
		trial(w, copy == 3 ? "all copies of two slots" :
		      "some copies of two slots", TRIAL_FSCK);
		put_back(w, &d);
	}
}

static void test_slots(void)
{
	vt_begin("rotten host slots, in some copies or in all, hurt nothing");
	both(do_slots);
	vt_end();
}

/* --- areas, journals, summaries --- */

/* The current blocks of a type in an AG; @want of them at most. */
static u32 pick(const struct world *w, u8 type, u32 ag, const struct vt_block **b,
		u32 want)
{
	u32 i, n = 0;

	for (i = 0; i < w->map.nr_blocks && n < want; i++) {
		const struct vt_block *x = &w->map.blocks[i];

		if (x->type == type && x->ag == ag && x->current)
			b[n++] = x;
	}
	return n;
}

static void do_areas(struct world *w, unsigned int unused)
{
	const struct vt_block *b[2];
	struct damage d = { 0 };
	u32 ag, i, n;

	(void)unused;
	for (ag = 0; ag < 2; ag++) {
		hurt_ags(w, 1U << ag);
		n = pick(w, KVC_BLOCK_AREA, ag, b, 2);
		vt_expect(n, "no header of AG %u", ag);
		for (i = 0; i < n; i++)
			flip(w, &d, b[i]->at, 1234);
		w->findings = "[area-|[epoch-lost]";
		trial(w, "all headers of the present area",
		      TRIAL_FSCK | (ag ? 0 : TRIAL_AGAIN));
		put_back(w, &d);
	}
	hurt_ags(w, 1U << 2);
	for (i = 0; i < KVC_NR_AREAS * KVC_AREA_HEADERS; i++) {
		struct kvc_place at = kvc_place_area(&w->m.g, 2, i / 2);

		at.block += i % 2;
		zero(w, &d, at);
	}
	w->findings = "[epoch-lost]";
	trial(w, "all headers of an AG zeroed", TRIAL_FSCK | TRIAL_AGAIN);
	put_back(w, &d);
}

static void test_areas(void)
{
	vt_begin("rotten area headers cost at most the objects of their AG");
	both(do_areas);
	vt_end();
}

static const struct vt_block *journal_block(const struct world *w, u32 ag,
					    u64 position)
{
	u32 i;

	for (i = 0; i < w->map.nr_blocks; i++) {
		const struct vt_block *b = &w->map.blocks[i];

		if (b->type == KVC_BLOCK_JOURNAL && b->ag == ag && b->current &&
		    b->position == position)
			return b;
	}
	return NULL;
}

static void do_journal(struct world *w, unsigned int unused)
{
	struct damage d = { 0 };
	unsigned int c;
	u32 ag;

	(void)unused;
	for (c = 0; c < 4; c++) {
		const struct vt_block *b;
		u64 head, end, at;

		ag = c;
		head = w->map.head[ag];
		end = w->map.end[ag];
		at = c == 0 ? head : c == 1 ? end - 1 : (head + end) / 2;
		b = journal_block(w, ag, at);
		if (!vt_expect(b, "AG %u has no block %llu", ag,
			       (unsigned long long)at))
			continue;
		hurt_ags(w, 1U << ag);
		w->findings = c == 0 ? "[checkpoint-" : "[journal-";
		if (c == 3)
			zero(w, &d, b->at);
		else
			flip(w, &d, b->at, 8 * 100 + c);
		trial(w, c == 0 ? "the first part of the checkpoint" :
		      c == 1 ? "the journal's last block" :
		      c == 2 ? "a block in the journal's middle" :
		      "a zeroed block in the journal's middle",
		      TRIAL_FSCK | (c % 2 ? TRIAL_AGAIN : TRIAL_LIST));
		put_back(w, &d);
	}
}

static void test_journal(void)
{
	vt_begin("rotten journal blocks, first, middle or last, cost at most objects of their AG");
	both(do_journal);
	vt_end();
}

static void do_summaries(struct world *w, unsigned int unused)
{
	const struct vt_block *b[64];
	struct damage d = { 0 };
	unsigned int i;
	u32 ag, n;

	(void)unused;
	for (ag = 0; ag < 4; ag++) {
		n = pick(w, KVC_BLOCK_SUMMARY, ag, b, ARRAY_SIZE(b));
		if (!vt_expect(n, "no summary in AG %u", ag))
			continue;
		n = (u32)vt_below(&w->rng, n);
		for (i = 0; i < OBJECTS; i++)
			w->hurt[i] = w->o[i].segment == b[n]->segment;
		if (ag % 2)
			flip(w, &d, b[n]->at, 5000);
		else
			zero(w, &d, b[n]->at);
		w->findings = "[summary-";
		trial(w, "a summary", TRIAL_FSCK | TRIAL_AGAIN | TRIAL_LIST);
		put_back(w, &d);
	}
}

static void test_summaries(void)
{
	vt_begin("a rotten summary costs the objects of its segment, and no others");
	both(do_summaries);
	vt_end();
}

/* --- at random --- */

/* What may a change to a block hurt? */
static u32 ags_of(const struct vt_block *b)
{
	if (!b->current)
		return 0;
	switch (b->type) {
	case KVC_BLOCK_AREA:
	case KVC_BLOCK_JOURNAL:
	case KVC_BLOCK_SUMMARY:
		return 1U << b->ag;
	}
	return 0;
}

/* What will fsck find if a block can't be read any more? */
static const char *findings_of(const struct vt_block *b)
{
	if (!b->current)
		return NULL;
	switch (b->type) {
	case KVC_BLOCK_LABEL:
		return "[label-";
	case KVC_BLOCK_SLOT:
		return "[slot-";
	case KVC_BLOCK_AREA:
		return "[area-";
	case KVC_BLOCK_JOURNAL:
		return "[journal-|[checkpoint-";
	case KVC_BLOCK_SUMMARY:
		return "[summary-";
	}
	return NULL;
}

static const char *type_name(u8 type)
{
	static const char *const names[] = {
		[KVC_BLOCK_LABEL] = "label", [KVC_BLOCK_SLOT] = "slot",
		[KVC_BLOCK_AREA] = "area header",
		[KVC_BLOCK_JOURNAL] = "journal block",
		[KVC_BLOCK_SUMMARY] = "summary block",
	};

	return names[type];
}

/* A metadata block: a type first, so that the rare ones get their share. */
static const struct vt_block *any_block(struct world *w)
{
	static const u8 share[] = {
		KVC_BLOCK_LABEL, KVC_BLOCK_SLOT, KVC_BLOCK_AREA, KVC_BLOCK_AREA,
		KVC_BLOCK_JOURNAL, KVC_BLOCK_JOURNAL, KVC_BLOCK_JOURNAL,
		KVC_BLOCK_SUMMARY, KVC_BLOCK_SUMMARY,
	};
	u8 type = share[vt_below(&w->rng, ARRAY_SIZE(share))];
	/* Blocks in use, but for a few of an older epoch. */
	bool in_use = vt_below(&w->rng, 8);
	u32 i, n = 0, which;

	for (i = 0; i < w->map.nr_blocks; i++)
		n += w->map.blocks[i].type == type &&
		     w->map.blocks[i].current >= in_use;
	which = (u32)vt_below(&w->rng, n);
	for (i = 0; i < w->map.nr_blocks; i++)
		if (w->map.blocks[i].type == type &&
		    w->map.blocks[i].current >= in_use && !which--)
			return &w->map.blocks[i];
	return &w->map.blocks[0];
}

/* What one thing is done to a pool at a time, and what it is called. */
typedef void (*harm_t)(struct world *w, unsigned int i, struct damage *d,
		       char *what, size_t room);

static harm_t harm;

static void harm_often(struct world *w, unsigned int times)
{
	struct damage d;
	char what[160];
	unsigned int i;

	for (i = 0; i < times; i++) {
		memset(&d, 0, sizeof(d));
		w->findings = NULL;
		harm(w, i, &d, what, sizeof(what));
		trial(w, what, (i % 8 == 3 ? TRIAL_AGAIN : 0) |
			       (i % 8 == 5 ? TRIAL_LIST : 0) |
			       (i % 4 == 1 ? TRIAL_FSCK : 0));
		put_back(w, &d);
	}
}

static unsigned int harm_all(unsigned int times, harm_t one)
{
	unsigned int k, back = 0, lost = 0, rotten = 0;

	harm = one;
	for (k = 0; k < nr_worlds; k++)
		worlds[k].back = worlds[k].lost = worlds[k].rotten = 0;
	side_by_side(0, 1, harm_often, times);
	for (k = 0; k < nr_worlds; k++) {
		back += worlds[k].back;
		lost += worlds[k].lost;
		rotten += worlds[k].rotten;
	}
	vt_note("%u objects were lost, %u rotten; %u that had been deleted came back, with the bytes that were theirs",
		lost, rotten, back);
	return rotten;
}

static void tell(char *what, size_t room, const char *how, const struct vt_block *b)
{
	snprintf(what, room, "%s%s %s: member %u block %llu, AG %u, epoch %llu, position %llu, segment %u",
		 how, b->current ? "" : " old", type_name(b->type), b->at.member,
		 (unsigned long long)b->at.block, b->ag,
		 (unsigned long long)b->epoch, (unsigned long long)b->position,
		 b->segment);
}

static void one_flip(struct world *w, unsigned int i, struct damage *d, char *what,
		     size_t room)
{
	const struct vt_block *b = any_block(w);
	unsigned int bit = (unsigned int)vt_below(&w->rng, KVC_BLOCK_SIZE * 8);
	char how[40];

	(void)i;
	snprintf(how, sizeof(how), "bit %u of", bit);
	tell(what, room, how, b);
	hurt_ags(w, ags_of(b));
	w->findings = findings_of(b);
	/* Where it says what and whose it is: that may be of a former pool. */
	if (b->type == KVC_BLOCK_AREA &&
	    bit / 8 < offsetof(struct kvc_block_header, sequence))
		w->findings = NULL;
	flip(w, d, b->at, bit);
}

static unsigned int flips = 300, moves = 60;

static void test_flips(void)
{
	vt_begin("%u times a random bit of metadata flips: an attach succeeds, and damage stays in its AG",
		 flips);
	harm_all(flips, one_flip);
	vt_end();
}

/* A block is zeroed, replaced by another, by a former version, or by noise. */
static void one_block(struct world *w, unsigned int i, struct damage *d, char *what,
		      size_t room)
{
	const struct vt_block *b = any_block(w), *c;
	const void *former;
	block_t block, other;
	unsigned int k;

	hurt_ags(w, ags_of(b));
	switch (i % 4) {
	case 0:
		tell(what, room, "zeroes over", b);
		zero(w, d, b->at);
		return;
	case 1:
		/* Not both labels of a member, which an attach may not bear. */
		do {
			c = any_block(w);
		} while (c->type == KVC_BLOCK_LABEL && b->type == c->type);
		tell(what, room, "exchanged with another of its kind:", b);
		hurt_ags(w, ags_of(b) | ags_of(c));
		vt_read(&w->m, b->at, 1, block);
		vt_read(&w->m, c->at, 1, other);
		change(w, d, b->at, other);
		change(w, d, c->at, block);
		return;
	case 2:
		/* Of those that have another version, that is. */
		for (k = 0; k < 200; k++) {
			former = vt_image_block(&w->former, &w->m, b->at);
			vt_read(&w->m, b->at, 1, block);
			if (former && memcmp(former, block, sizeof(block)))
				break;
			b = any_block(w);
		}
		former = vt_image_block(&w->former, &w->m, b->at);
		hurt_ags(w, ags_of(b));
		tell(what, room, "a former version of", b);
		if (former) {
			memcpy(block, former, sizeof(block));
			change(w, d, b->at, block);
		}
		return;
	default:
		tell(what, room, "noise over", b);
		vt_fill(block, vt_rand(&w->rng), 0, sizeof(block));
		change(w, d, b->at, block);
	}
}

static void test_blocks(void)
{
	vt_begin("%u times a metadata block is zeroed, exchanged, of former times or noise: the same",
		 moves);
	harm_all(moves, one_block);
	vt_end();
}

/* Data of an object that is not gone; nothing else is hurt. */
static void one_data(struct world *w, unsigned int i, struct damage *d, char *what,
		     size_t room)
{
	unsigned int k = (unsigned int)vt_below(&w->rng, OBJECTS);
	struct kvc_place at;
	u32 byte;

	(void)i;
	while (w->o[k].gone)
		k = (k + 1) % OBJECTS;
	memset(w->hurt, 0, sizeof(w->hurt));
	w->hurt[k] = true;
	byte = (u32)vt_below(&w->rng, w->o[k].len);
	at = place_of(&w->m, find_put(&w->map, &w->m, &w->o[k]), byte);
	w->findings = "[data-crc]";
	snprintf(what, room, "byte %u of %s", byte, w->o[k].key);
	flip(w, d, at, byte % KVC_BLOCK_SIZE * 8 + byte % 8);
}

static void test_rot(void)
{
	unsigned int times = moves / 3, rotten;

	vt_begin("%u times a bit of an object flips while nobody is attached: EBADMSG, then a miss, and no other object is hurt",
		 times);
	rotten = harm_all(times, one_data);
	vt_expect(rotten == times, "%u objects were rotten", rotten);
	vt_end();
}

/* --- main --- */

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "labels", test_labels },	{ "slots", test_slots },
		{ "areas", test_areas },	{ "journal", test_journal },
		{ "summaries", test_summaries }, { "flips", test_flips },
		{ "blocks", test_blocks },	{ "rot", test_rot },
		{ "data", test_data },
	};
	static const char *const names[MAX_WORLDS] = {
		"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta",
		"theta", "iota", "kappa", "lambda", "mu",
	};
	u64 seed = 20240601, start = vt_ms();
	unsigned int k;
	int c;

	while ((c = getopt(argc, argv, "f:b:s:w:")) != -1) {
		switch (c) {
		case 'f':
			flips = (unsigned int)atoi(optarg);
			break;
		case 'b':
			moves = (unsigned int)atoi(optarg);
			break;
		case 'w':
			nr_worlds = (unsigned int)atoi(optarg);
			vt_need(nr_worlds > 1 && nr_worlds <= MAX_WORLDS,
				"-w %s", optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	for (k = 0; k < nr_worlds; k++) {
		worlds[k].node = names[k];
		worlds[k].rng.s = seed + (u64)k * 1000;
		vt_members_env(&worlds[k].m, k * MEMBERS, MEMBERS);
	}
	worlds[nr_worlds - 1].abandoned = true;
	make_history(&worlds[0], seed);
	for (k = 1; k < nr_worlds; k++)
		copy_history(&worlds[k], &worlds[0]);
	side_by_side(0, 1, make_world, 0);
	vt_note("%d pools were made in %llu ms; seed %llu", nr_worlds,
		(unsigned long long)(vt_ms() - start), (unsigned long long)seed);
	vt_run(tests, ARRAY_SIZE(tests), argv + optind, argc - optind);
	vt_note("%u attaches took longer than their lease, and were made again",
		vt_attaches_too_slow());
	vt_exit();
}
