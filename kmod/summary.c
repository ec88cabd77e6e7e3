// SPDX-License-Identifier: GPL-2.0
/* Segment summaries: written at the seal, read at attach, eviction and listing. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "ag.h"
#include "pool.h"

struct kvc_seal {
	const struct kvc_log_item **items;
	u32 n;
};

/*
 * What is dead is not listed. It could not be told from what lives: a checkpoint
 * since its DELETE has left out both, for a segment that was open then, so
 * whoever loads from there knows of no dead object to list in his own.
 */
static int kvc_seal_collect(const struct kvc_log_item *item, void *arg)
{
	struct kvc_seal *seal = arg;

	if (atomic_read(&item->entry->where) &
	    (KVC_ENTRY_DEAD | KVC_ENTRY_DYING)) {
		kvc_entry_unlist(item->entry);
		return 0;
	}
	seal->items[seal->n++] = item;
	return 0;
}

static int kvc_seal_cmp(const void *a, const void *b)
{
	u32 x = kvc_entry_offset((*(const struct kvc_log_item **)a)->entry);
	u32 y = kvc_entry_offset((*(const struct kvc_log_item **)b)->entry);

	return x < y ? -1 : x > y;
}

/* Pack the records; @nr is how many blocks there are, and set to those used. */
static int kvc_seal_pack(struct kvc_segment *seg, struct kvc_seal *seal,
			 u8 *buf, u32 *nr)
{
	const struct kvc_geometry *g = seg->ag->join->g;
	struct kvc_record rec;
	u32 i, used = 0;

	for (i = 0; i < seal->n; i++) {
		if (kvc_record_decode(seal->items[i]->record,
				      seal->items[i]->length, g, &rec) < 0)
			return -EUCLEAN;
		if (used &&
		    kvc_summary_add(buf + ((size_t)(used - 1) << KVC_BLOCK_SHIFT),
				    &rec))
			continue;
		if (used == *nr)
			return -ENOSPC;
		kvc_summary_begin(buf + ((size_t)used << KVC_BLOCK_SHIFT),
				  seg->ag->number, seg->s.number,
				  seg->s.generation, 0);
		used++;
		if (!kvc_summary_add(buf + ((size_t)(used - 1) << KVC_BLOCK_SHIFT),
				     &rec))
			return -EUCLEAN;
	}
	*nr = used;
	return 0;
}

/* Finish each block for its place and write them; @crc over their CRCs. */
static int kvc_seal_write(struct kvc_segment *seg, u8 *buf, u32 nr, u32 *crc)
{
	struct kvc_join *join = seg->ag->join;
	const struct kvc_geometry *g = join->g;
	u64 at = kvc_segment_bytes(g) - ((u64)nr << KVC_BLOCK_SHIFT);
	u32 i = 0, k;
	int err;

	*crc = ~0U;
	while (i < nr) {
		u64 bytes = (u64)(nr - i) << KVC_BLOCK_SHIFT;
		struct kvc_place p = kvc_place_data(g, seg->s.number, at, &bytes);
		u32 run = (u32)(bytes >> KVC_BLOCK_SHIFT);

		for (k = 0; k < run; k++) {
			void *block = buf + ((size_t)(i + k) << KVC_BLOCK_SHIFT);
			struct kvc_summary_block *sb = block;
			struct kvc_place bp = { p.member, p.block + k };
			__le32 c;

			sb->nr_blocks = cpu_to_le32(nr);
			kvc_block_finish(block, KVC_BLOCK_SUMMARY, g->uuid, bp,
					 i + k, &join->writer);
			c = cpu_to_le32(kvc_block_crc(block));
			*crc = crc32c(*crc, &c, sizeof(c));
		}
		err = kvc_meta_write(&join->set->m[p.member], p.block, run,
				     buf + ((size_t)i << KVC_BLOCK_SHIFT));
		if (err)
			return err;
		i += run;
		at += bytes;
	}
	return 0;
}

static int kvc_seal_record(struct kvc_segment *seg, u32 nr, u32 crc, u32 n)
{
	struct kvc_segment_rec rec = {
		.generation = seg->s.generation,
		.summary_segment = seg->s.number,
		.summary_offset = kvc_segment_blocks(seg->ag->join->g) - nr,
		.summary_blocks = nr,
		.summary_crc = crc,
		.objects = n,
	};
	bool appended;
	int err;

	err = kvc_ag_transition(seg, KVC_REC_SEAL, &rec, KVC_ROLE_NONE,
				&appended);
	if (appended)
		kvc_segment_drop_log(seg);
	return err;
}

int kvc_segment_seal(struct kvc_segment *seg)
{
	struct kvc_seal seal = {};
	u32 nr, crc, n, writers;
	u8 *buf = NULL;
	int err = -ENOMEM;

	/*
	 * protocol rule 17. No writer comes any more, and what those that left
	 * have logged is seen under the lock; from then on the log is ours.
	 */
	mutex_lock(&seg->ag->lock);
	writers = atomic_read(&seg->writers);
	n = seg->log.count;
	mutex_unlock(&seg->ag->lock);
	if (writers)
		return -EAGAIN;
	nr = (u32)DIV_ROUND_UP(seg->log.bytes, KVC_SUMMARY_DATA -
			       kvc_put_length(KVC_MAX_KEY)) + 1;
	seal.items = kvcalloc(n + 1, sizeof(*seal.items), GFP_KERNEL);
	buf = kvmalloc((size_t)nr << KVC_BLOCK_SHIFT, GFP_KERNEL);
	if (!seal.items || !buf)
		goto out;
	kvc_log_for_each(&seg->log, kvc_seal_collect, &seal);
	if (!seal.n) {
		err = kvc_segment_retire(seg);	/* nothing to list */
		goto out;
	}
	sort(seal.items, seal.n, sizeof(*seal.items), kvc_seal_cmp, NULL);
	err = kvc_seal_pack(seg, &seal, buf, &nr);
	if (err)
		goto out;
	/* protocol rule 29: the summary is durable, then the SEAL is issued */
	err = kvc_seal_write(seg, buf, nr, &crc);
	if (!err)
		err = kvc_seal_record(seg, nr, crc, seal.n);
	else
		/* The next may list less, and this one land upon it: after Q. */
		seg->ready_at = jiffies +
				msecs_to_jiffies(seg->ag->join->g->q_ms);
out:
	kvfree(buf);
	kvfree(seal.items);
	return err;
}

static int kvc_summary_fetch(struct kvc_join *join, const struct kvc_seg *s,
			     u8 *buf)
{
	u64 at = (u64)s->summary_offset << KVC_BLOCK_SHIFT;
	u32 i = 0;
	int err;

	while (i < s->summary_blocks) {
		u64 bytes = (u64)(s->summary_blocks - i) << KVC_BLOCK_SHIFT;
		struct kvc_place p = kvc_place_data(join->g, s->summary_segment,
						    at, &bytes);
		struct kvc_member *m = &join->set->m[p.member];
		u32 run = (u32)(bytes >> KVC_BLOCK_SHIFT);

		if (kvc_member_health(m) == KVC_HEALTH_FAILED)
			return -EIO;
		err = kvc_meta_read(m, p.block, run,
				    buf + ((size_t)i << KVC_BLOCK_SHIFT));
		if (err)
			return err;
		i += run;
		at += bytes;
	}
	return 0;
}

int kvc_summary_verify(struct kvc_join *join, const struct kvc_seg *s,
		       const void *buf)
{
	const struct kvc_geometry *g = join->g;
	struct kvc_summary_info info;
	struct kvc_records it;
	u32 i, crc = ~0U, count = 0;

	for (i = 0; i < s->summary_blocks; i++) {
		const void *block = buf + ((size_t)i << KVC_BLOCK_SHIFT);
		u64 at = (u64)(s->summary_offset + i) << KVC_BLOCK_SHIFT;
		u64 bytes = KVC_BLOCK_SIZE;
		struct kvc_place p = kvc_place_data(g, s->summary_segment, at,
						    &bytes);
		__le32 c;

		if (kvc_block_verify(block, KVC_BLOCK_SUMMARY, g->uuid, &p) !=
			    KVC_BLOCK_OK ||
		    kvc_summary_open(block, g, &info, &it) ||
		    info.segment != s->number ||
		    info.generation != s->generation || info.part != i ||
		    info.nr_blocks != s->summary_blocks)
			return -EBADMSG;
		c = cpu_to_le32(kvc_block_crc(block));
		crc = crc32c(crc, &c, sizeof(c));
		count += info.count;
	}
	return crc == s->summary_crc && count == s->objects ? 0 : -EBADMSG;
}

int kvc_summary_read(struct kvc_join *join, const struct kvc_seg *s,
		     void **buf)
{
	void *b;
	int err;

	b = kvmalloc(max_t(size_t, (size_t)s->summary_blocks << KVC_BLOCK_SHIFT,
			   KVC_BLOCK_SIZE), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	err = kvc_summary_fetch(join, s, b);
	if (!err)
		err = kvc_summary_verify(join, s, b);
	if (err) {
		kvfree(b);
		return err;
	}
	*buf = b;
	return 0;
}

int kvc_summary_for_each(struct kvc_join *join, const struct kvc_seg *s,
			 const void *buf,
			 int (*fn)(const struct kvc_put *put, void *arg),
			 void *arg)
{
	struct kvc_summary_info info;
	struct kvc_records it;
	struct kvc_record rec;
	u32 i;
	int err;

	for (i = 0; i < s->summary_blocks; i++) {
		if (kvc_summary_open(buf + ((size_t)i << KVC_BLOCK_SHIFT),
				     join->g, &info, &it))
			return -EBADMSG;
		while ((err = kvc_records_next(&it, &rec)) == 1) {
			if (rec.type != KVC_REC_PUT ||
			    rec.put.segment != s->number ||
			    rec.put.generation != s->generation)
				return -EBADMSG;
			err = fn(&rec.put, arg);
			if (err)
				return err;
		}
		if (err)
			return -EBADMSG;
		/* Lets the index grow, too, which is a work's business. */
		cond_resched();
	}
	return 0;
}
