// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds a pool: a second attach of a pool in use is refused by name, a
 * crashed holder's pool is free after a lease of silence, labels that disagree
 * are refused, of two that attach at the same moment one wins at most, and a
 * holder whose slot is taken from it notices.
 *
 * usage: holder OTHER-PATH... [TEST...]
 *
 * The pool is on the first four of $KVC_MEMBERS, the other four are spare.
 * OTHER-PATH are the first four again, by another way.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "members.h"
#include "objects.h"

#define MEMBERS		4
#define OBJECTS		24
#define RACES		20

static struct vt_members pool;		/* the members */
static struct vt_members other;		/* the same, by another way */
static struct vt_members spare;
static struct kvc *kvc;
static struct vt_object objects[OBJECTS];

/* At the least: see measure(). */
static unsigned int lease_ms = 4000;	/* where time is compared with it */
static unsigned int short_ms = 1000;	/* where it only has to pass */

static char reason[1024];

/* --- helpers --- */

static void format(unsigned int lease)
{
	char options[128];

	snprintf(options, sizeof(options),
		 "--name hold --lease %ums --q 0 --segment-size 1M --ags 4 --slots 4 --ring 128K",
		 lease);
	vt_format(&pool, options);
}

static bool objects_hit(void)
{
	struct vt_tally tally;

	vt_objects_get(kvc, objects, OBJECTS, 30000, &tally);
	return vt_expect(tally.n[VT_HIT] == OBJECTS, "objects: %s",
			 vt_tally_text(&tally));
}

/* Attach and say so if it fails. */
static int attach(const struct vt_members *m, const char *node)
{
	int number = vt_attach(m, node, 0, reason, sizeof(reason));

	vt_expect(number > 0, "attach by %s: %d: %s", node, number, reason);
	return number;
}

static void detach(int number)
{
	int err;

	if (number <= 0)
		return;
	err = vt_detach((unsigned int)number);
	vt_expect(!err, "detach: %d", err);
}

/* Attach is to be refused with @error and a sentence that has all of @words. */
static void refused(const struct vt_members *m, unsigned int flags, int error,
		    const char *what, const char *words)
{
	char *copy = strdup(words), *at = copy, *word;
	int number;

	number = vt_attach(m, "beta", flags, reason, sizeof(reason));
	vt_expect(number == error, "%s: %d, not %d: %s", what, number, error,
		  reason);
	while ((word = strsep(&at, "|")))
		vt_expect(strstr(reason, word), "%s: does not say \"%s\": %s",
			  what, word, reason);
	if (number > 0)
		detach(number);
	free(copy);
}

/* Run kvcachectl; its exit status; what it says is in @reason. */
static int ctl(const char *fmt, ...)
{
	char command[4096];
	va_list args;
	size_t got;
	FILE *f;
	int at;

	at = snprintf(command, sizeof(command), "exec 2>&1; kvcachectl -q ");
	va_start(args, fmt);
	vsnprintf(command + at, sizeof(command) - (size_t)at, fmt, args);
	va_end(args);
	f = popen(command, "r");
	vt_need(f, "start a shell: %s", strerror(errno));
	got = fread(reason, 1, sizeof(reason) - 1, f);
	reason[got] = '\0';
	at = pclose(f);
	return WIFEXITED(at) ? WEXITSTATUS(at) : -1;
}

static const char *paths(const struct vt_members *m)
{
	static char text[4096];
	unsigned int i;
	size_t at = 0;

	for (i = 0; i < m->nr; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %s",
				       m->path[i]);
	return text;
}

/* Members of @a, but member @i from @b. */
static struct vt_members with(const struct vt_members *a, unsigned int i,
			      const struct vt_members *b, unsigned int k)
{
	struct vt_members m = *a;

	m.path[i] = b->path[k];
	return m;
}

static void copy_device(const struct vt_members *from, unsigned int i,
			const struct vt_members *to, unsigned int k)
{
	u8 *buf = vt_map(1 << 20);
	u64 at;

	for (at = 0; at < from->blocks[i]; at += 256) {
		struct kvc_place a = { i, at }, b = { k, at };

		vt_read(from, a, 256, buf);
		vt_write_blocks(to, b, 256, buf);
	}
}

/*
 * Leases that this machine can keep, however slow or busy: an attach has to read
 * the slots and write its own in a quarter of one, and waits for as long before
 * it goes on.
 */
static void measure(void)
{
	unsigned int i, most = 0, took;
	uint64_t start;
	int number;

	format(lease_ms);
	for (i = 0; i < 3; i++) {
		start = vt_ms();
		number = attach(&pool, "alpha");
		took = (unsigned int)(vt_ms() - start);
		took -= took < lease_ms / 4 ? took : lease_ms / 4;
		most = took > most ? took : most;
		detach(number);
	}
	if (short_ms < 4 * most)
		short_ms = 4 * most;
	if (lease_ms < 2 * short_ms)
		lease_ms = 2 * short_ms;
	vt_note("an attach takes %u ms here: leases of %u and %u ms", most,
		short_ms, lease_ms);
}

/* --- a pool in use --- */

static void test_in_use(void)
{
	struct vt_members half = pool;
	struct vt_members links = pool;
	char name[MEMBERS][64];
	int number, fd;
	unsigned int i;

	vt_begin("a second attach of a pool in use is refused, and says who holds it");
	format(short_ms);
	number = attach(&pool, "alpha");
	vt_expect(vt_objects_put(kvc, objects, OBJECTS) == OBJECTS, "puts");

	refused(&pool, 0, -EBUSY, "by the same devices",
		"hold|is held by host alpha|boot|detach it there first");
	refused(&other, 0, -EBUSY, "by another controller", "is held by host alpha");
	for (i = 0; i < MEMBERS; i++) {
		snprintf(name[i], sizeof(name[i]), "/tmp/holder-link-%u", i);
		unlink(name[i]);
		vt_expect(!symlink(pool.path[i], name[i]), "symlink");
		links.path[i] = name[i];
	}
	refused(&links, 0, -EBUSY, "by symbolic links", "is held by host alpha");
	half.nr = 2;
	refused(&half, KVCACHE_ATTACH_DEGRADED, -EBUSY,
		"degraded, by half of its members", "is held by host alpha");
	half.path[0] = pool.path[2];
	half.path[1] = pool.path[3];
	refused(&half, KVCACHE_ATTACH_DEGRADED, -EIO,
		"degraded, by the half with one copy of the slots",
		"host slots|majority");
	objects_hit();
	vt_end();

	vt_begin("a member of an attached pool can't be opened exclusively, nor formatted");
	fd = open(pool.path[0], O_RDWR | O_EXCL);
	vt_expect(fd < 0 && errno == EBUSY, "exclusive open: %s",
		  fd < 0 ? strerror(errno) : "open");
	if (fd >= 0)
		close(fd);
	vt_expect(ctl("format --force --name x%s", paths(&pool)) != 0,
		  "format went through: %s", reason);
	objects_hit();
	vt_end();

	vt_begin("kvcachectl refuses a second attach, with a status and the reason");
	i = (unsigned int)ctl("attach%s", paths(&pool));
	vt_expect(i == 4 && strstr(reason, "attached already"),
		  "status %u: %s", i, reason);
	detach(number);
	vt_end();

	vt_begin("an attach of devices that something else has is refused");
	fd = open(pool.path[1], O_RDWR | O_EXCL);
	vt_expect(fd >= 0, "exclusive open: %s", strerror(errno));
	refused(&pool, 0, -EBUSY, "held by a program", pool.path[1]);
	refused(&pool, 0, -EBUSY, "held by a program", "in use by something else");
	close(fd);
	number = attach(&pool, "alpha");
	objects_hit();
	detach(number);
	vt_end();
}

/* --- a crash, and the lease --- */

static uint64_t timed_attach(const char *node, int *number)
{
	uint64_t start = vt_ms();

	*number = attach(&pool, node);
	return vt_ms() - start;
}

static void test_lease(void)
{
	uint64_t ms, best = UINT64_MAX;
	int number, err;
	unsigned int i;

	vt_begin("after a detach an attach does not wait for a lease");
	format(lease_ms);
	number = attach(&pool, "alpha");
	vt_expect(vt_objects_put(kvc, objects, OBJECTS) == OBJECTS, "puts");
	/* The best of three: the machine may have other things to do. */
	for (i = 0; i < 3 && best >= lease_ms; i++) {
		detach(number);
		ms = timed_attach("beta", &number);
		best = ms < best ? ms : best;
	}
	vt_expect(best < lease_ms, "it took %llu ms, and a lease is %u",
		  (unsigned long long)best, lease_ms);
	objects_hit();
	vt_end();

	vt_begin("after a crash an attach succeeds when a lease of silence has passed, not before");
	for (i = 0; i < 2; i++) {
		err = vt_abandon((unsigned int)number);
		vt_expect(!err, "abandon: %d", err);
		ms = timed_attach(i ? "alpha" : "gamma", &number);
		vt_expect(ms >= lease_ms, "it took only %llu ms, and a lease is %u",
			  (unsigned long long)ms, lease_ms);
		objects_hit();
		vt_note("attach after a crash: %llu ms, after a detach: %llu ms, the lease: %u ms",
			(unsigned long long)ms, (unsigned long long)best, lease_ms);
	}
	detach(number);
	vt_end();
}

/* --- clones --- */

static void test_clone(void)
{
	struct vt_members m;
	unsigned int i;
	int number, status;

	vt_begin("a clone of a member, or of all, is refused and named");
	format(short_ms);
	number = attach(&pool, "alpha");
	vt_objects_put(kvc, objects, OBJECTS);
	for (i = 0; i < MEMBERS; i++)
		copy_device(&pool, i, &spare, i);
	/* Their labels agree, their identifiers don't; kvcachectl looks. */
	detach(number);
	status = ctl("attach%s", paths(&spare));
	vt_expect(status == 1 || status == 6 || status == 7,
		  "all clones: status %d: %s", status, reason);
	vt_expect(strstr(reason, spare.path[0]) && strstr(reason, "identifier"),
		  "all clones: does not name %s: %s", spare.path[0], reason);
	/* The labels are of before the detach, and nothing has changed them. */
	m = with(&pool, 2, &spare, 2);
	status = ctl("attach%s", paths(&m));
	vt_expect(status && strstr(reason, spare.path[2]) &&
		  strstr(reason, "identifier"),
		  "one clone: status %d: %s", status, reason);
	vt_end();

	vt_begin("a clone whose identifier is unknown is refused when its siblings moved on");
	number = attach(&pool, "alpha");
	detach(number);
	for (i = 0; i < MEMBERS; i++) {
		m = with(&pool, i, &spare, i);
		refused(&m, 0, -EUCLEAN, "one clone", spare.path[i]);
		refused(&m, 0, -EUCLEAN, "one clone", "older than its siblings");
	}
	vt_end();

	vt_begin("one namespace under two names, and a device given twice, are refused");
	m = with(&pool, 1, &other, 0);
	refused(&m, 0, -EUCLEAN, "two names", "both member 0");
	refused(&m, 0, -EUCLEAN, "two names", pool.path[0]);
	refused(&m, 0, -EUCLEAN, "two names", other.path[0]);
	m = with(&pool, 3, &pool, 2);
	refused(&m, 0, -EUCLEAN, "given twice", "both member 2");
	m = pool;
	m.nr = MEMBERS + 1;
	m.path[MEMBERS] = other.path[3];
	refused(&m, 0, -EUCLEAN, "one too many", "both member 3");
	number = attach(&pool, "alpha");
	objects_hit();
	detach(number);
	vt_end();
}

/* --- labels --- */

typedef u8 block_t[KVC_BLOCK_SIZE] __attribute__((aligned(8)));

static void read_label(unsigned int member, u32 copy, block_t block)
{
	vt_read(&pool, kvc_place_label(&pool.g, member, copy), 1, block);
}

static void write_label(unsigned int member, u32 copy, const block_t block)
{
	vt_write_blocks(&pool, kvc_place_label(&pool.g, member, copy), 1, block);
}

static void save_labels(block_t kept[MEMBERS][2])
{
	unsigned int i, c;

	for (i = 0; i < MEMBERS; i++)
		for (c = 0; c < 2; c++)
			read_label(i, c, kept[i][c]);
}

static void put_labels_back(block_t kept[MEMBERS][2])
{
	unsigned int i, c;

	for (i = 0; i < MEMBERS; i++)
		for (c = 0; c < 2; c++)
			write_label(i, c, kept[i][c]);
}

/* Make the labels of device @dev anew, as those of @member and of @g. */
static void relabel(unsigned int dev, const struct kvc_geometry *g, u32 member,
		    unsigned int copies, u64 sequence_add, u64 incarnation_add)
{
	block_t block;
	u32 c;

	for (c = 0; c < 2; c++) {
		const struct kvc_block_header *h = (const void *)block;
		struct kvc_place at = kvc_place_label(&pool.g, dev, c);
		struct kvc_writer w;
		u64 sequence;

		if (!(copies & (1U << c)))
			continue;
		read_label(dev, c, block);
		sequence = le64_to_cpu(h->sequence) + sequence_add;
		w.slot = le32_to_cpu(h->slot);
		w.incarnation = le64_to_cpu(h->incarnation) + incarnation_add;
		kvc_label_encode(block, g, member);
		/* Where it says that it stands. */
		at.member = member;
		kvc_block_finish(block, KVC_BLOCK_LABEL, g->uuid, at, sequence, &w);
		write_label(dev, c, block);
	}
}

/* Change bytes of both labels of a device, with a right CRC. */
static void poke_labels(unsigned int dev, size_t offset, u8 value)
{
	block_t block;
	u32 c;

	for (c = 0; c < 2; c++) {
		const struct kvc_block_header *h = (const void *)block;
		struct kvc_writer w;

		read_label(dev, c, block);
		w.slot = le32_to_cpu(h->slot);
		w.incarnation = le64_to_cpu(h->incarnation);
		block[offset] = value;
		kvc_block_finish(block, KVC_BLOCK_LABEL, pool.g.uuid,
				 kvc_place_label(&pool.g, dev, c),
				 le64_to_cpu(h->sequence), &w);
		write_label(dev, c, block);
	}
}

static void test_labels(void)
{
	static block_t now[MEMBERS][2], before[MEMBERS][2], long_ago[MEMBERS][2];
	struct kvc_geometry g;
	struct vt_members m;
	char name[32] = "";
	char command[256];
	block_t block;
	int number;
	FILE *f;

	vt_begin("a member that is older than its siblings is refused, by one attach or by more");
	format(short_ms);
	number = attach(&pool, "alpha");
	vt_objects_put(kvc, objects, OBJECTS);
	detach(number);
	save_labels(long_ago);
	detach(attach(&pool, "alpha"));
	save_labels(before);
	detach(attach(&pool, "alpha"));
	save_labels(now);
	write_label(2, 0, before[2][0]);
	write_label(2, 1, before[2][1]);
	refused(&pool, 0, -EUCLEAN, "by one attach", pool.path[2]);
	refused(&pool, 0, -EUCLEAN, "by one attach", "older than its siblings'|snapshot");
	write_label(2, 0, long_ago[2][0]);
	write_label(2, 1, long_ago[2][1]);
	refused(&pool, 0, -EUCLEAN, "by two", pool.path[2]);
	refused(&pool, 0, -EUCLEAN, "by two", "older than its siblings'|snapshot");
	/* And a single new one among old ones: they are the old ones. */
	put_labels_back(before);
	write_label(1, 0, now[1][0]);
	write_label(1, 1, now[1][1]);
	refused(&pool, 0, -EUCLEAN, "three of four", "older than its siblings'");
	vt_end();

	vt_begin("an attach that was cut short between labels is none of these");
	/* The ends of all come first: members 0 and 1 have the new one there. */
	put_labels_back(before);
	write_label(0, 1, now[0][1]);
	write_label(1, 1, now[1][1]);
	number = attach(&pool, "alpha");
	objects_hit();
	detach(number);
	/* All ends, and some starts. */
	save_labels(now);
	detach(attach(&pool, "alpha"));
	save_labels(before);
	put_labels_back(now);
	for (number = 0; number < MEMBERS; number++)
		write_label((unsigned int)number, 1, before[number][1]);
	write_label(0, 0, before[0][0]);
	number = attach(&pool, "alpha");
	objects_hit();
	detach(number);
	vt_end();

	save_labels(now);
	vt_begin("the same sequence of another writer is refused");
	relabel(1, &pool.g, 1, 3, 0, 7);
	refused(&pool, 0, -EUCLEAN, "another writer", pool.path[1]);
	refused(&pool, 0, -EUCLEAN, "another writer", "another writer|clone");
	put_labels_back(now);
	vt_end();

	vt_begin("another member's label, whole or in one copy, is refused");
	relabel(0, &pool.g, 1, 3, 0, 0);
	refused(&pool, 0, -EUCLEAN, "the label of member 1 on member 0",
		"both member 1");
	put_labels_back(now);
	relabel(0, &pool.g, 1, 1, 0, 0);
	refused(&pool, 0, -EUCLEAN, "its start only", pool.path[0]);
	refused(&pool, 0, -EUCLEAN, "its start only", "different members");
	put_labels_back(now);
	/* A copied block says that it stands elsewhere. */
	read_label(3, 1, block);
	write_label(3, 0, block);
	number = attach(&pool, "alpha");
	detach(number);
	save_labels(now);
	vt_end();

	vt_begin("a member of another pool is refused");
	vt_format(&spare, "--name strange --lease 1s --q 0 --segment-size 1M --ags 4 --slots 4 --ring 128K");
	m = with(&pool, 3, &spare, 3);
	refused(&m, 0, -EUCLEAN, "in the place of member 3", spare.path[3]);
	refused(&m, 0, -EUCLEAN, "in the place of member 3",
		"another pool|strange|hold");
	m = with(&pool, 0, &spare, 0);
	refused(&m, 0, -EUCLEAN, "in the place of member 0", "another pool");
	m = pool;
	m.nr = MEMBERS + 1;
	m.path[MEMBERS] = spare.path[0];
	refused(&m, 0, -EUCLEAN, "beside them", spare.path[0]);
	vt_end();

	vt_begin("another geometry is refused");
	g = pool.g;
	g.q_ms += 1000;
	relabel(2, &g, 2, 3, 0, 0);
	refused(&pool, 0, -EUCLEAN, "another q", pool.path[2]);
	refused(&pool, 0, -EUCLEAN, "another q", "differently");
	put_labels_back(now);
	g = pool.g;
	g.members[3].uuid[5] ^= 1;
	relabel(3, &g, 3, 3, 0, 0);
	refused(&pool, 0, -EUCLEAN, "another member list", "differently");
	put_labels_back(now);
	g = pool.g;
	g.members[1].state = KVC_MEMBER_MISSING;
	g.members[1].missing_since = 1;
	relabel(3, &g, 3, 3, 0, 0);
	refused(&pool, 0, -EUCLEAN, "other states of members", "lived on apart");
	put_labels_back(now);
	vt_end();

	vt_begin("unknown features are refused as such");
	poke_labels(0, offsetof(struct kvc_label, feature_incompat) + 7, 0x80);
	refused(&pool, 0, -EOPNOTSUPP, "an incompatible feature", pool.path[0]);
	refused(&pool, 0, -EOPNOTSUPP, "an incompatible feature", "feature");
	put_labels_back(now);
	poke_labels(1, offsetof(struct kvc_label, feature_ro_compat), 1);
	refused(&pool, 0, -EOPNOTSUPP, "a read-only compatible feature", "feature");
	put_labels_back(now);
	poke_labels(1, offsetof(struct kvc_label, feature_compat), 1);
	number = attach(&pool, "alpha");
	objects_hit();
	detach(number);
	save_labels(now);
	vt_end();

	vt_begin("a device that became smaller is refused");
	snprintf(command, sizeof(command),
		 "losetup --find --show --sizelimit %llu %s",
		 (unsigned long long)(pool.blocks[1] - 8) << KVC_BLOCK_SHIFT,
		 pool.path[1]);
	f = popen(command, "r");
	if (vt_expect(f && fgets(name, sizeof(name), f), "%s", command)) {
		name[strcspn(name, "\n")] = '\0';
		m = pool;
		m.path[1] = name;
		refused(&m, 0, -EUCLEAN, "cut by 32 KiB", name);
		refused(&m, 0, -EUCLEAN, "cut by 32 KiB", "smaller");
	}
	if (f)
		pclose(f);
	snprintf(command, sizeof(command), "losetup -d %s", name);
	vt_expect(!system(command), "%s", command);
	vt_end();

	vt_begin("members that are missing are told, and one that comes back from before is refused");
	m = pool;
	m.nr = 3;
	refused(&m, 0, -ENXIO, "three of four", "1 of them are missing|member 3");
	number = vt_attach(&m, "alpha", KVCACHE_ATTACH_DEGRADED, reason,
			   sizeof(reason));
	vt_expect(number > 0, "degraded: %d: %s", number, reason);
	detach(number);
	refused(&pool, 0, -EUCLEAN, "all again", pool.path[3]);
	refused(&pool, 0, -EUCLEAN, "all again", "used without it");
	put_labels_back(now);
	number = attach(&pool, "alpha");
	detach(number);
	vt_end();
}

/* --- races --- */

struct racer {
	const struct vt_members *m;
	char node[16];
	unsigned int delay_ms;
	int number;
	char reason[1024];
	pthread_barrier_t *start;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	const struct kvc_attach_options o = {
		.paths = (const char *const *)r->m->path,
		.nr_members = r->m->nr,
		.nqn = "",
		.node = r->node,
	};
	struct kvc *mine = kvc_open(NULL, 0);

	vt_need(mine, "open the module's device");
	pthread_barrier_wait(r->start);
	vt_sleep_ms(r->delay_ms);
	r->number = kvc_attach(mine, &o, r->reason, sizeof(r->reason));
	kvc_close(mine);
	return NULL;
}

static void test_race(void)
{
	unsigned int i, k, nr, won, wins = 0, none = 0, slow = 0;
	struct racer r[3];
	struct vt_rng rng = { 4711 };
	pthread_barrier_t start;
	pthread_t thread[3];

	vt_begin("of hosts that attach at the same moment one wins at most, %u times",
		 RACES);
	format(short_ms);
	for (i = 0; i < RACES; i++) {
		nr = 2 + i % 2;
		won = 0;
		pthread_barrier_init(&start, NULL, nr);
		for (k = 0; k < nr; k++) {
			memset(&r[k], 0, sizeof(r[k]));
			r[k].m = k == 1 ? &other : &pool;
			snprintf(r[k].node, sizeof(r[k].node), "racer%u", k);
			/* Half of the time at once, else by up to two waits. */
			r[k].delay_ms = i % 4 < 2 ? 0 :
					(unsigned int)vt_below(&rng, short_ms / 4);
			r[k].start = &start;
			pthread_create(&thread[k], NULL, race, &r[k]);
		}
		for (k = 0; k < nr; k++) {
			pthread_join(thread[k], NULL);
			won += r[k].number > 0;
		}
		pthread_barrier_destroy(&start);
		vt_expect(won <= 1, "round %u: %u of %u won", i, won, nr);
		for (k = 0; k < nr; k++) {
			if (r[k].number > 0)
				continue;
			/* On a busy machine its own lease may run out. */
			if (r[k].number == -ESTALE || r[k].number == -ETIMEDOUT) {
				slow++;
				continue;
			}
			vt_expect(r[k].number == -EBUSY &&
				  strstr(r[k].reason, "held by host racer"),
				  "round %u: %s: %d: %s", i, r[k].node,
				  r[k].number, r[k].reason);
		}
		/* The winner can work, and goes on to do so. */
		for (k = 0; k < nr; k++) {
			struct kvcache_info info;

			if (r[k].number <= 0)
				continue;
			wins++;
			vt_objects_put(kvc, objects, 4);
			vt_sleep_ms(short_ms / 4);
			vt_expect(!kvc_info(kvc, &info, NULL, 0) &&
				  info.lease_left_ms > 0 && info.owned_ags == 4,
				  "round %u: the winner has %u ms left of its lease, %u AGs",
				  i, info.lease_left_ms, info.owned_ags);
			detach(r[k].number);
		}
		none += !won;
	}
	vt_note("%u rounds with a winner, %u with none; %u were too slow for the lease",
		wins, none, slow);
	vt_expect(wins > 0, "nobody ever won");
	vt_end();
}

/* --- a slot that is taken away --- */

struct thief {
	struct kvc_slot_info info;
	u32 slot;
	u64 sequence;
};

static void thief_write(struct thief *t)
{
	struct kvc_writer w = { t->slot, t->info.incarnation };
	block_t block;
	u32 c;

	for (c = 0; c < pool.g.nr_slot_copies; c++) {
		struct kvc_place at = kvc_place_slot(&pool.g, t->slot, c, 0);

		kvc_slot_encode(block, &t->info);
		kvc_block_finish(block, KVC_BLOCK_SLOT, pool.g.uuid, at,
				 t->sequence, &w);
		vt_write_blocks(&pool, at, 1, block);
	}
}

/* Read our slot, and be another host that was given it, too. */
static void thief_begin(struct thief *t, u32 slot, u64 ahead, u64 incarnations)
{
	block_t block;

	memset(t, 0, sizeof(*t));
	t->slot = slot;
	vt_read(&pool, kvc_place_slot(&pool.g, slot, 0, 0), 1, block);
	vt_need(!kvc_slot_decode(block, &pool.g, &t->info), "decode the slot");
	t->sequence = t->info.sequence + ahead;
	t->info.incarnation += incarnations;
	memset(t->info.node, 0, sizeof(t->info.node));
	memcpy(t->info.node, "thief", 5);
	memset(t->info.attach_id, 0x77, sizeof(t->info.attach_id));
}

static bool holds(void)
{
	struct kvcache_info info;

	return !kvc_info(kvc, &info, NULL, 0) && info.lease_left_ms > 0 &&
	       info.owned_ags == pool.g.nr_ags;
}

static bool wait_holds(bool wanted, unsigned int ms)
{
	uint64_t end = vt_ms() + ms;

	while (holds() != wanted) {
		if (vt_ms() > end)
			return false;
		vt_sleep_ms(10);
	}
	return true;
}

static void test_usurper(void)
{
	static const struct {
		u64 ahead;
		u64 incarnations;
		const char *what;
	} ways[] = {
		{ 5, 1, "a higher sequence and a new incarnation" },
		{ 1000, 0, "a higher sequence in the same incarnation" },
	};
	const struct kvc_call call = { .deadline_ms = 2000 };
	struct vt_object fresh[2];
	struct kvcache_info info;
	struct vt_tally tally;
	struct thief t;
	unsigned int i, k;
	int number, err;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		vt_begin("a holder whose slot another writes, with %s, fences itself, and joins anew after the other's silence",
			 ways[i].what);
		format(short_ms);
		number = attach(&pool, "alpha");
		vt_objects_put(kvc, objects, OBJECTS);
		vt_need(!kvc_info(kvc, &info, NULL, 0), "info");
		thief_begin(&t, info.slot, ways[i].ahead, ways[i].incarnations);
		thief_write(&t);
		vt_expect(wait_holds(false, 10 * short_ms),
			  "it does not notice");
		/* While the thief is alive: misses and ESTALE, nothing else. */
		for (k = 0; k < 30; k++) {
			t.sequence++;
			t.info.heartbeat++;
			thief_write(&t);
			vt_sleep_ms(short_ms / 20);
			if (k % 3)
				continue;
			vt_objects_get(kvc, objects, OBJECTS, 2000, &tally);
			vt_expect(tally.n[VT_MISS] == OBJECTS, "gets: %s",
				  vt_tally_text(&tally));
			vt_objects_make(fresh, 1, "fresh", 77 + k, 100, 5000);
			err = kvc_put(kvc, &call, fresh[0].key,
				      strlen(fresh[0].key), &fresh, 100);
			vt_expect(err == -ESTALE, "put: %d", err);
		}
		vt_expect(wait_holds(true, 60000), "it does not join anew");
		objects_hit();
		detach(number);
		vt_end();
	}
}

/* --- main --- */

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "in_use", test_in_use },	{ "lease", test_lease },
		{ "clone", test_clone },	{ "labels", test_labels },
		{ "race", test_race },		{ "usurper", test_usurper },
	};

	vt_need(argc >= 1 + MEMBERS, "usage: holder OTHER-PATH... [TEST...]");
	vt_members_env(&pool, 0, MEMBERS);
	vt_members_env(&spare, MEMBERS, MEMBERS);
	vt_members_open(&other, argv + 1, MEMBERS);
	kvc = kvc_open(NULL, 0);
	vt_need(kvc, "open the module's device: %s", strerror(errno));
	vt_objects_make(objects, OBJECTS, "held", 42, 1, 40000);
	measure();
	vt_run(tests, sizeof(tests) / sizeof(tests[0]), argv + 1 + MEMBERS, argc - (1 + MEMBERS));
	vt_exit();
}
