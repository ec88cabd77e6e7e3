/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The members of a pool as blocks: read, written, and known for what they are
 * by the module's own codec, so that a test can say which block to damage.
 *
 * Member i is the i'th device, as format was given them.
 */
#ifndef KVC_VT_MEMBERS_H
#define KVC_VT_MEMBERS_H

#include "kvc_codec.h"
#include "vmtest.h"

/**
 * struct vt_members - devices, and the pool that they hold
 * @nr: devices
 * @path: of each
 * @fd: open for direct I/O
 * @blocks: their sizes
 * @g: geometry, as vt_members_load() found it
 */
struct vt_members {
	unsigned int nr;
	char *path[KVC_MAX_MEMBERS];
	int fd[KVC_MAX_MEMBERS];
	u64 blocks[KVC_MAX_MEMBERS];
	struct kvc_geometry g;
};

/* Devices @first .. @first + @nr of $KVC_MEMBERS. */
void vt_members_env(struct vt_members *m, unsigned int first, unsigned int nr);
void vt_members_open(struct vt_members *m, char *const *paths, unsigned int nr);
void vt_members_close(struct vt_members *m);
/* Learn the geometry from the first sound label. */
void vt_members_load(struct vt_members *m);

/* Whole blocks; a failure ends the program. @buf has any alignment. */
void vt_read(const struct vt_members *m, struct kvc_place at, u32 nr, void *buf);
void vt_write_blocks(const struct vt_members *m, struct kvc_place at, u32 nr,
		     const void *buf);

/* --- what stands where --- */

/**
 * struct vt_block - a sound metadata block
 * @at: where
 * @type: enum kvc_block_type
 * @copy: label, slot: which copy; area: which header
 * @slot: slot: which
 * @ag: area, journal, summary: of which AG
 * @epoch: area, journal
 * @position: journal: full position; summary: number of the block
 * @segment: summary: of which segment
 * @generation: summary
 * @current: it counts: of an area or journal, it is of its AG's highest epoch
 *	and lies between head and end; of a slot, it was used; of a summary, its
 *	segment is sealed in that generation
 */
struct vt_block {
	struct kvc_place at;
	u8 type;
	u32 copy;
	u32 slot;
	u32 ag;
	u64 epoch;
	u64 position;
	u32 segment;
	u64 generation;
	bool current;
};

/* An object's record, wherever it was found. */
struct vt_put {
	struct kvc_hash hash;
	u32 ag;
	u32 segment;
	u64 generation;
	u32 offset;
	u32 bytes;
	bool current;	/* the object stands there now */
	bool sealed;	/* ... and its segment is sealed */
};

/* A place whose object is gone, by a DELETE or by a move. */
struct vt_dead {
	u32 segment;
	u64 generation;
	u32 offset;
};

/**
 * struct vt_map - all sound metadata blocks of a pool that nobody holds
 * @blocks: they
 * @nr_blocks: how many
 * @puts: all PUT records in them
 * @nr_puts: how many
 * @dead: all places that DELETE records and moves name
 * @nr_dead: how many
 * @state: enum kvc_segment_state per segment, as the last record says
 * @generation: per segment
 * @end: per AG: full position behind the journal's last block
 * @head: per AG
 * @epoch: per AG: the one that counts
 */
struct vt_map {
	struct vt_block *blocks;
	u32 nr_blocks;
	struct vt_put *puts;
	u32 nr_puts;
	struct vt_dead *dead;
	u32 nr_dead;
	u8 *state;
	u64 *generation;
	u64 *end;
	u64 *head;
	u64 *epoch;
};

/* Reads all of all members: for small pools. */
void vt_map_scan(struct vt_map *map, const struct vt_members *m);
void vt_map_free(struct vt_map *map);

/* --- images --- */

/*
 * All metadata before the data, and the end labels: what an attach changes
 * that matters, if nothing is evicted.
 */
struct vt_image {
	u8 *before[KVC_MAX_MEMBERS];
	u8 *last[KVC_MAX_MEMBERS];
};

void vt_image_save(struct vt_image *image, const struct vt_members *m);
void vt_image_restore(const struct vt_image *image, const struct vt_members *m);
void vt_image_free(struct vt_image *image, const struct vt_members *m);
/* A block as it is in an image; NULL: the image doesn't have it. */
const void *vt_image_block(const struct vt_image *image,
			   const struct vt_members *m, struct kvc_place at);

/* --- pools --- */

/* "kvcachectl format" with what @options says, and load the geometry. */
void vt_format(struct vt_members *m, const char *options);
/*
 * Attach as a host of that name; @reason may be NULL. Its number or -errno. An
 * attach that was too slow for its own lease is tried again.
 */
int vt_attach(const struct vt_members *m, const char *node, unsigned int flags,
	      char *reason, size_t room);
/* How often that happened. */
unsigned int vt_attaches_too_slow(void);
int vt_detach(unsigned int pool);
int vt_abandon(unsigned int pool);

#endif
