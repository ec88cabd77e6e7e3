/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The index: key hash to extent, in memory, read under RCU.
 *
 * Entries stand in page-sized chunks that belong to one segment, so that an
 * entry needs neither its segment's number nor a link to its siblings: the page
 * that it stands in tells both. A chunk lives as long as its segment's
 * generation and is freed a grace period after the segment was emptied.
 */
#ifndef KVC_INDEX_H
#define KVC_INDEX_H

#include <linux/rhashtable.h>
#include "kvc_codec.h"

struct kvc_segment;

/* struct kvc_entry.where: offset in 4 KiB blocks, state, depth. */
#define KVC_ENTRY_OFFSET	0x3ffffU	/* 18 bits: segments to 1 GiB */
#define KVC_ENTRY_LIVE		(1U << 18)	/* committed, may be hit */
#define KVC_ENTRY_DEAD		(1U << 19)	/* never hit again */
#define KVC_ENTRY_DYING		(1U << 20)	/* its DELETE is on the way */
#define KVC_ENTRY_TOUCHED	(1U << 21)	/* read since eviction passed */
#define KVC_ENTRY_PINNED	(1U << 22)	/* struct kvc_pin says until when */
#define KVC_ENTRY_COMMITTED	(1U << 23)	/* has a PUT that a load may find */
#define KVC_ENTRY_DEPTH_SHIFT	24
#define KVC_ENTRY_DEPTH_MAX	0xffU

/**
 * struct kvc_entry - an object in memory, 40 bytes
 * @node: in the hash table
 * @hash: of the key
 * @where: KVC_ENTRY_*. Readers set TOUCHED; all other bits change under the
 *	AG's lock, or in the journal's completion for an entry that nobody else
 *	may change. Neither LIVE nor DEAD: a put on its way
 * @bytes: length
 * @present: in the presence table; under its lock. Beside @bytes, which does not
 *	change any more when it does
 * @data_crc: CRC32C
 * @expiry: seconds since 1970 UTC, saturated; 0: never
 */
struct kvc_entry {
	struct rhash_head node;
	struct kvc_hash hash;
	atomic_t where;
	u32 bytes : 31;
	u32 present : 1;
	u32 data_crc;
	u32 expiry;
};

/**
 * struct kvc_chunk - a page of entries of one segment
 * @segment: segment
 * @next: older chunk of the segment
 * @used: entries given out
 * @rcu: frees the page
 */
struct kvc_chunk {
	struct kvc_segment *segment;
	struct kvc_chunk *next;
	struct rcu_head rcu;
	u32 used;
	struct kvc_entry entries[];
};

#define KVC_CHUNK_ENTRIES \
	((u32)((PAGE_SIZE - sizeof(struct kvc_chunk)) / sizeof(struct kvc_entry)))

/* Where one copy of an object stands: identifies an entry exactly. */
struct kvc_exact {
	struct kvc_hash hash;
	const struct kvc_segment *segment;
	u32 offset;
};

/**
 * struct kvc_index - the index of one attachment
 * @table: all entries that may be hit, and those on their way
 * @chunks: pages in use, for the memory figure
 */
struct kvc_index {
	struct rhashtable table;
	atomic_long_t chunks;
};

int kvc_index_init(struct kvc_index *x);
void kvc_index_destroy(struct kvc_index *x);

/* Memory of the index in bytes: chunks and buckets. */
u64 kvc_index_bytes(const struct kvc_index *x);

static inline struct kvc_chunk *kvc_entry_chunk(const struct kvc_entry *e)
{
	return (struct kvc_chunk *)((unsigned long)e & PAGE_MASK);
}

static inline struct kvc_segment *kvc_entry_segment(const struct kvc_entry *e)
{
	return kvc_entry_chunk(e)->segment;
}

static inline u32 kvc_entry_offset(const struct kvc_entry *e)
{
	return atomic_read(&e->where) & KVC_ENTRY_OFFSET;
}

static inline u32 kvc_entry_depth(const struct kvc_entry *e)
{
	return (u32)atomic_read(&e->where) >> KVC_ENTRY_DEPTH_SHIFT;
}

/**
 * kvc_entry_alloc() - a new entry in a segment's newest chunk
 * @x: index
 * @segment: segment
 * @chunks: head of its chunk list
 * @spare: a zeroed page that is used (and set to NULL) if the chunk is full
 *
 * Caller holds the AG's lock. Return: NULL if a page was needed and @spare is
 * NULL.
 */
struct kvc_entry *kvc_entry_alloc(struct kvc_index *x,
				  struct kvc_segment *segment,
				  struct kvc_chunk **chunks,
				  struct kvc_chunk **spare);

/* Fill in a fresh entry; it stays neither LIVE nor DEAD. */
void kvc_entry_init(struct kvc_entry *e, struct kvc_hash hash, u32 offset,
		    u32 bytes, u32 depth, u64 expiry);

/* Free a segment's chunks after a grace period; none of its entries is in
 * the table any more.
 */
void kvc_chunks_free(struct kvc_index *x, struct kvc_chunk *chunks);

/**
 * kvc_index_find() - find a copy of a key that can be hit
 * @x: index
 * @h: hash of the key
 * @now: seconds since 1970: copies that have expired are passed over
 *
 * Under rcu_read_lock(); the entry lives to the end of the RCU section, or as
 * long as a reader reference to its segment that was taken in it.
 */
struct kvc_entry *kvc_index_find(struct kvc_index *x, const struct kvc_hash *h,
				 u64 now);

/* The same of copies that @filter accepts. */
struct kvc_entry *kvc_index_find_if(struct kvc_index *x,
				    const struct kvc_hash *h, u64 now,
				    bool (*filter)(const struct kvc_entry *e));

/* Find any entry of a key, dead, on its way or live. Likewise. */
struct kvc_entry *kvc_index_find_any(struct kvc_index *x,
				     const struct kvc_hash *h);

static inline bool kvc_entry_expired(const struct kvc_entry *e, u64 now)
{
	return e->expiry && e->expiry <= now;
}

/* Find one exact copy. Under rcu_read_lock(). */
struct kvc_entry *kvc_index_find_exact(struct kvc_index *x,
				       const struct kvc_exact *e);

/**
 * kvc_index_claim() - insert an entry unless the key has one
 *
 * Return: NULL if inserted, the entry that is there (under rcu_read_lock()), or
 * ERR_PTR (-ENOMEM and the like).
 */
struct kvc_entry *kvc_index_claim(struct kvc_index *x, struct kvc_entry *e);

/*
 * Insert beside others of the same key (loading: protocol rule 26). Sleeps while
 * the table has to grow first.
 */
int kvc_index_add(struct kvc_index *x, struct kvc_entry *e);

/* Take an entry out; false if it was not in. */
bool kvc_index_remove(struct kvc_index *x, struct kvc_entry *e);

/**
 * kvc_index_walk() - visit all entries
 * @x: index
 * @fn: called under rcu_read_lock()
 * @arg: for it
 *
 * Visits at least once whatever is in from before to after. Sleeps between entries.
 * Return: 0; -EINTR: a fatal signal.
 */
int kvc_index_walk(struct kvc_index *x,
		   void (*fn)(struct kvc_entry *e, void *arg), void *arg);

/* Put @new in the place of @old, so that a reader finds one or the other. */
int kvc_index_replace(struct kvc_index *x, struct kvc_entry *old,
		      struct kvc_entry *new);

#endif
