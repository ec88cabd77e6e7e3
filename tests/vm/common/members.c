// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "members.h"

#define SCAN_BLOCKS 256

/* --- devices --- */

void vt_members_open(struct vt_members *m, char *const *paths, unsigned int nr)
{
	unsigned int i;
	u64 bytes;

	memset(m, 0, sizeof(*m));
	m->nr = nr;
	for (i = 0; i < nr; i++) {
		m->path[i] = strdup(paths[i]);
		m->fd[i] = open(paths[i], O_RDWR | O_DIRECT | O_CLOEXEC);
		vt_need(m->fd[i] >= 0 &&
			!ioctl(m->fd[i], BLKGETSIZE64, &bytes),
			"open %s: %s", paths[i], strerror(errno));
		m->blocks[i] = bytes >> KVC_BLOCK_SHIFT;
	}
}

void vt_members_env(struct vt_members *m, unsigned int first, unsigned int nr)
{
	const char *env = getenv("KVC_MEMBERS");
	char *text = strdup(env ? env : ""), *at = text, *word;
	char *paths[KVC_MAX_MEMBERS];
	unsigned int i = 0, n = 0;

	while (n < nr && (word = strsep(&at, " "))) {
		if (*word && i++ >= first)
			paths[n++] = word;
	}
	vt_need(n == nr, "%u devices from number %u on in $KVC_MEMBERS", nr,
		first);
	vt_members_open(m, paths, nr);
	free(text);
}

void vt_members_close(struct vt_members *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		close(m->fd[i]);
		free(m->path[i]);
	}
	memset(m, 0, sizeof(*m));
}

/* Direct I/O wants aligned memory; each thread has some. */
static void *scratch(void)
{
	static __thread void *buf;

	if (!buf)
		buf = vt_map((size_t)SCAN_BLOCKS << KVC_BLOCK_SHIFT);
	return buf;
}

void vt_read(const struct vt_members *m, struct kvc_place at, u32 nr, void *buf)
{
	u32 n;

	for (; nr; nr -= n, at.block += n, buf = (u8 *)buf + ((size_t)n << KVC_BLOCK_SHIFT)) {
		size_t len;

		n = min_t(u32, nr, SCAN_BLOCKS);
		len = (size_t)n << KVC_BLOCK_SHIFT;
		vt_need(pread(m->fd[at.member], scratch(), len,
			      (off_t)at.block << KVC_BLOCK_SHIFT) == (ssize_t)len,
			"read block %llu of %s: %s",
			(unsigned long long)at.block, m->path[at.member],
			strerror(errno));
		memcpy(buf, scratch(), len);
	}
}

void vt_write_blocks(const struct vt_members *m, struct kvc_place at, u32 nr,
		     const void *buf)
{
	u32 n;

	for (; nr; nr -= n, at.block += n, buf = (const u8 *)buf + ((size_t)n << KVC_BLOCK_SHIFT)) {
		size_t len;

		n = min_t(u32, nr, SCAN_BLOCKS);
		len = (size_t)n << KVC_BLOCK_SHIFT;
		memcpy(scratch(), buf, len);
		vt_need(pwrite(m->fd[at.member], scratch(), len,
			       (off_t)at.block << KVC_BLOCK_SHIFT) == (ssize_t)len,
			"write block %llu of %s: %s",
			(unsigned long long)at.block, m->path[at.member],
			strerror(errno));
	}
}

void vt_members_load(struct vt_members *m)
{
	u8 block[KVC_BLOCK_SIZE] __aligned(8);
	unsigned int i, copy;
	u32 member;

	for (i = 0; i < m->nr; i++) {
		for (copy = 0; copy < 2; copy++) {
			struct kvc_place p = { i, copy ? m->blocks[i] - 1 : 0 };

			vt_read(m, p, 1, block);
			if (kvc_block_verify(block, KVC_BLOCK_LABEL, NULL, NULL) ==
				    KVC_BLOCK_OK &&
			    !kvc_label_decode(block, &m->g, &member, NULL))
				return;
		}
	}
	vt_need(false, "no label on %s ...", m->path[0]);
}

/* --- scan --- */

/* Room for one more at the end of an array that doubles. */
static void *one_more(void *array, u32 nr, size_t size)
{
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * nr : 1) * size);
	vt_need(array, "memory");
	return array;
}

static void add_put(struct vt_map *map, u32 ag, const struct kvc_put *put)
{
	map->puts = one_more(map->puts, map->nr_puts, sizeof(*map->puts));
	map->puts[map->nr_puts++] = (struct vt_put) {
		.hash = put->hash,
		.ag = ag,
		.segment = put->segment,
		.generation = put->generation,
		.offset = put->offset,
		.bytes = put->bytes,
	};
}

static void add_dead(struct vt_map *map, u32 segment, u64 generation, u32 offset)
{
	map->dead = one_more(map->dead, map->nr_dead, sizeof(*map->dead));
	map->dead[map->nr_dead++] = (struct vt_dead) {
		.segment = segment,
		.generation = generation,
		.offset = offset,
	};
}

static struct vt_block *add_block(struct vt_map *map, u8 type, struct kvc_place at)
{
	struct vt_block *b;

	map->blocks = one_more(map->blocks, map->nr_blocks, sizeof(*map->blocks));
	b = &map->blocks[map->nr_blocks++];
	*b = (struct vt_block) { .at = at, .type = type };
	return b;
}

static void take_records(struct vt_map *map, u32 ag, struct kvc_records *it)
{
	struct kvc_record rec;

	while (kvc_records_next(it, &rec) == 1) {
		if (rec.type == KVC_REC_PUT) {
			add_put(map, ag, &rec.put);
			if (rec.put.moved)
				add_dead(map, rec.put.old_segment,
					 rec.put.old_generation,
					 rec.put.old_offset);
		} else if (rec.type == KVC_REC_DELETE) {
			add_dead(map, rec.del.segment, rec.del.generation,
				 rec.del.offset);
		}
	}
}

static void take_block(struct vt_map *map, const struct vt_members *m,
		       const void *block, struct kvc_place at)
{
	const struct kvc_block_header *h = block;
	const struct kvc_geometry *g = &m->g;
	struct kvc_journal_info j;
	struct kvc_summary_info s;
	struct kvc_slot_info *slot;
	struct kvc_area_info a;
	struct kvc_records it;
	struct vt_block *b;

	if (le64_to_cpu(h->magic) != KVC_MAGIC ||
	    kvc_block_verify(block, h->type, g->uuid, &at) != KVC_BLOCK_OK)
		return;
	switch (h->type) {
	case KVC_BLOCK_LABEL:
		b = add_block(map, h->type, at);
		b->copy = at.block != 0;
		b->current = true;
		break;
	case KVC_BLOCK_SLOT:
		slot = malloc(sizeof(*slot));
		if (!kvc_slot_decode(block, g, slot)) {
			b = add_block(map, h->type, at);
			b->slot = slot->number;
			b->copy = at.member;	/* copies are on 0, 1, 2 */
			b->current = slot->state != KVC_SLOT_FREE;
		}
		free(slot);
		break;
	case KVC_BLOCK_AREA:
		if (kvc_area_decode(block, g, &a))
			break;
		b = add_block(map, h->type, at);
		b->ag = a.ag;
		b->epoch = a.epoch;
		b->position = a.head;
		if (a.epoch > map->epoch[a.ag] ||
		    (a.epoch == map->epoch[a.ag] && a.head > map->head[a.ag])) {
			map->epoch[a.ag] = a.epoch;
			map->head[a.ag] = a.head;
		}
		break;
	case KVC_BLOCK_JOURNAL:
		if (kvc_journal_open(block, g, &j, &it))
			break;
		b = add_block(map, h->type, at);
		b->ag = j.ag;
		b->epoch = j.epoch;
		b->position = j.position;
		take_records(map, j.ag, &it);
		break;
	case KVC_BLOCK_SUMMARY:
		if (kvc_summary_open(block, g, &s, &it))
			break;
		b = add_block(map, h->type, at);
		b->ag = s.ag;
		b->segment = s.segment;
		b->generation = s.generation;
		b->position = s.part;
		take_records(map, s.ag, &it);
		break;
	}
}

/* The state of an AG's segments: its journal from the head on, in order. */
static void follow_journal(struct vt_map *map, const struct vt_members *m, u32 ag)
{
	u8 block[KVC_BLOCK_SIZE] __aligned(8);
	const struct kvc_geometry *g = &m->g;
	u64 epoch = map->epoch[ag], position = map->head[ag];
	struct kvc_journal_info j;
	struct kvc_records it;
	struct kvc_record rec;

	for (;; position++) {
		struct kvc_place p = kvc_place_journal(g, ag, epoch, position);

		vt_read(m, p, 1, block);
		if (kvc_block_verify(block, KVC_BLOCK_JOURNAL, g->uuid, &p) !=
			    KVC_BLOCK_OK ||
		    kvc_journal_open(block, g, &j, &it) || j.ag != ag ||
		    j.epoch != epoch || j.position != position)
			break;
		while (kvc_records_next(&it, &rec) == 1) {
			switch (rec.type) {
			case KVC_REC_OPEN:
			case KVC_REC_SEAL:
			case KVC_REC_RETIRE:
			case KVC_REC_SEGMENT:
				map->state[rec.seg.segment] = (u8)rec.seg.state;
				map->generation[rec.seg.segment] =
					rec.seg.generation;
				break;
			}
		}
	}
	map->end[ag] = position;
}

static void judge(struct vt_map *map)
{
	u32 i, k;

	for (i = 0; i < map->nr_blocks; i++) {
		struct vt_block *b = &map->blocks[i];

		switch (b->type) {
		case KVC_BLOCK_AREA:
			b->current = b->epoch == map->epoch[b->ag];
			break;
		case KVC_BLOCK_JOURNAL:
			b->current = b->epoch == map->epoch[b->ag] &&
				     b->position >= map->head[b->ag] &&
				     b->position < map->end[b->ag];
			break;
		case KVC_BLOCK_SUMMARY:
			b->current = map->state[b->segment] == KVC_SEG_SEALED &&
				     map->generation[b->segment] == b->generation;
			break;
		}
	}
	for (i = 0; i < map->nr_puts; i++) {
		struct vt_put *p = &map->puts[i];

		p->sealed = map->state[p->segment] == KVC_SEG_SEALED;
		p->current = map->generation[p->segment] == p->generation &&
			     (p->sealed || map->state[p->segment] == KVC_SEG_OPEN);
		for (k = 0; k < map->nr_dead && p->current; k++) {
			const struct vt_dead *d = &map->dead[k];

			p->current = d->segment != p->segment ||
				     d->generation != p->generation ||
				     d->offset != p->offset;
		}
	}
}

void vt_map_scan(struct vt_map *map, const struct vt_members *m)
{
	u8 *buf = vt_map((size_t)SCAN_BLOCKS << KVC_BLOCK_SHIFT);
	unsigned int i;
	u32 ag, k, n;
	u64 at;

	*map = (struct vt_map) { 0 };
	map->state = calloc(m->g.nr_segments, sizeof(*map->state));
	map->generation = calloc(m->g.nr_segments, sizeof(*map->generation));
	map->end = calloc(m->g.nr_ags, sizeof(*map->end));
	map->head = calloc(m->g.nr_ags, sizeof(*map->head));
	map->epoch = calloc(m->g.nr_ags, sizeof(*map->epoch));
	for (i = 0; i < m->nr; i++) {
		for (at = 0; at < m->blocks[i]; at += n) {
			struct kvc_place p = { i, at };

			n = min_t(u64, SCAN_BLOCKS, m->blocks[i] - at);
			vt_read(m, p, n, buf);
			for (k = 0; k < n; k++) {
				struct kvc_place bp = { i, at + k };

				take_block(map, m,
					   buf + ((size_t)k << KVC_BLOCK_SHIFT),
					   bp);
			}
		}
	}
	for (ag = 0; ag < m->g.nr_ags; ag++)
		follow_journal(map, m, ag);
	judge(map);
	munmap(buf, (size_t)SCAN_BLOCKS << KVC_BLOCK_SHIFT);
}

void vt_map_free(struct vt_map *map)
{
	free(map->blocks);
	free(map->puts);
	free(map->dead);
	free(map->state);
	free(map->generation);
	free(map->end);
	free(map->head);
	free(map->epoch);
	*map = (struct vt_map) { 0 };
}

/* --- images --- */

void vt_image_save(struct vt_image *image, const struct vt_members *m)
{
	size_t bytes = (size_t)m->g.data_start << KVC_BLOCK_SHIFT;
	u32 i;

	for (i = 0; i < m->nr; i++) {
		struct kvc_place p = { i, 0 };

		if (!image->before[i]) {
			image->before[i] = malloc(bytes);
			image->last[i] = malloc(KVC_BLOCK_SIZE);
		}
		vt_read(m, p, (u32)m->g.data_start, image->before[i]);
		p.block = m->blocks[i] - 1;
		vt_read(m, p, 1, image->last[i]);
	}
}

void vt_image_restore(const struct vt_image *image, const struct vt_members *m)
{
	u32 i;

	for (i = 0; i < m->nr; i++) {
		struct kvc_place p = { i, 0 };

		vt_write_blocks(m, p, (u32)m->g.data_start, image->before[i]);
		p.block = m->blocks[i] - 1;
		vt_write_blocks(m, p, 1, image->last[i]);
	}
}

void vt_image_free(struct vt_image *image, const struct vt_members *m)
{
	u32 i;

	for (i = 0; i < m->nr; i++) {
		free(image->before[i]);
		free(image->last[i]);
	}
	memset(image, 0, sizeof(*image));
}

const void *vt_image_block(const struct vt_image *image,
			   const struct vt_members *m, struct kvc_place at)
{
	if (at.block < m->g.data_start)
		return image->before[at.member] + (at.block << KVC_BLOCK_SHIFT);
	return at.block == m->blocks[at.member] - 1 ? image->last[at.member] : NULL;
}

/* --- pools --- */

void vt_format(struct vt_members *m, const char *options)
{
	char command[8192];
	int at, i, status;

	at = snprintf(command, sizeof(command),
		      "kvcachectl -q format --force %s", options);
	for (i = 0; i < (int)m->nr; i++)
		at += snprintf(command + at, sizeof(command) - (size_t)at, " %s",
			       m->path[i]);
	status = system(command);
	vt_need(!status, "%s: status %d", command, status);
	vt_members_load(m);
}

static struct kvc *device(void)
{
	static __thread struct kvc *kvc;

	if (!kvc)
		kvc = kvc_open(NULL, 0);
	vt_need(kvc, "open the module's device: %s", strerror(errno));
	return kvc;
}

static unsigned int slow;

unsigned int vt_attaches_too_slow(void)
{
	return __atomic_load_n(&slow, __ATOMIC_RELAXED);
}

int vt_attach(const struct vt_members *m, const char *node, unsigned int flags,
	      char *reason, size_t room)
{
	const struct kvc_attach_options o = {
		.paths = (const char *const *)m->path,
		.nr_members = m->nr,
		.flags = flags,
		.nqn = "",
		.node = node,
	};
	int tries, err = 0;

	for (tries = 0; tries < 10; tries++) {
		err = kvc_attach(device(), &o, reason, room);
		if (err != -ESTALE && err != -ETIMEDOUT && err != -EAGAIN)
			break;
		__atomic_add_fetch(&slow, 1, __ATOMIC_RELAXED);
	}
	return err;
}

int vt_detach(unsigned int pool)
{
	return kvc_detach(device(), pool, 60000);
}

int vt_abandon(unsigned int pool)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", pool);
	return vt_write("/sys/kernel/debug/kvcache/abandon", number);
}
