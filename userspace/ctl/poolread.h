/* SPDX-License-Identifier: MIT */
/*
 * Reads a pool offline: labels, slots, journals, summaries, data.
 *
 * DOC: how fsck and dump see a pool
 *
 * This is a second reader of the media format, written from the format's and
 * the protocol's rules and not from the module's loader, so that each can find
 * the other's mistakes. It shares only the codec and the layout with it. It
 * never writes, takes every byte for hostile, and runs on devices, on image
 * files and on memory.
 *
 * It works in steps, each of which reports what it finds:
 *
 *   pr_open()	labels of all devices -> geometry, members
 *   pr_slots()	host slots by majority -> which epoch each AG is in
 *   pr_ag_load()	one AG: area headers, the epoch that counts, its journal
 *		from the checkpoint to the first hole, summaries -> objects
 *   pr_ag_data()	data checksums of the objects of one AG
 *
 * An AG's journal is read up to three times, as three views (struct pr_view):
 *
 *   - the loader's: from the checkpoint that the area's header names. It alone
 *     says which objects are there;
 *   - history: from the oldest checkpoint that still stands in the ring, up
 *     to the one that the header names. Replaying must lead to just what
 *     every later checkpoint says;
 *   - the epoch before, whose area is still intact: its end must be what the
 *     first checkpoint of the present epoch says.
 *
 * Severity: what a crash may leave is PR_INFO; what can't come from a crash
 * but costs nothing is PR_WARNING; what breaks a rule is PR_ERROR.
 */
#ifndef KVC_POOLREAD_H
#define KVC_POOLREAD_H

#include "kvc_codec.h"

enum pr_severity {
	PR_INFO,
	PR_WARNING,
	PR_ERROR,
};

/* What can be found; poolread_findings.c has name, meaning and next step. */
enum pr_code {
	/* devices and labels */
	PR_IO_ERROR,
	PR_LABEL_MISSING,
	PR_LABEL_BAD,
	PR_LABEL_MALFORMED,
	PR_LABEL_FOREIGN,
	PR_LABEL_DISAGREES,
	PR_LABEL_SEQUENCE,
	PR_MEMBER_ABSENT,
	PR_MEMBER_TWICE,
	PR_MEMBER_SIZE,
	PR_MEMBER_STALE,
	PR_MEMBER_CLONE,
	/* slots */
	PR_POOL_LIVE,
	PR_SLOT_COPY_BAD,
	PR_SLOT_COPIES_DIFFER,
	PR_SLOT_SPLIT,
	PR_SLOT_MAJORITY,
	PR_SLOT_MALFORMED,
	PR_SLOT_BACKWARDS,
	PR_EPOCH_TWICE,
	PR_EPOCH_LOST,
	PR_EPOCH_OWNER,
	PR_EPOCH_FOLLOWED,
	PR_DRAINED_BEYOND,
	/* area headers */
	PR_AREA_BAD,
	PR_AREA_LOST,
	PR_AREA_MALFORMED,
	PR_AREA_EPOCH,
	PR_AREA_PAIR,
	PR_TAKEOVER_UNFINISHED,
	PR_TAKEOVER_UNSHOWN,
	/* journal */
	PR_JOURNAL_TORN,
	PR_JOURNAL_HOLE,
	PR_JOURNAL_OVERRUN,
	PR_JOURNAL_NEWER,
	PR_JOURNAL_MISPLACED,
	PR_JOURNAL_MALFORMED,
	PR_JOURNAL_WRITER,
	PR_RECORD_UNEXPECTED,
	/* checkpoints */
	PR_CHECKPOINT_LOST,
	PR_CHECKPOINT_TORN,
	PR_CHECKPOINT_BROKEN,
	PR_CHECKPOINT_ORDER,
	PR_CHECKPOINT_SEGMENTS,
	PR_CHECKPOINT_ENTRY,
	PR_CHECKPOINT_DIFFERS,
	PR_EPOCH_DIFFERS,
	PR_EPOCH_OBJECT_LOST,
	PR_EPOCH_OBJECT_BACK,
	/* records */
	PR_GENERATION,
	PR_OPEN_STATE,
	PR_SEAL_STATE,
	PR_SEAL_ORDER,
	PR_RETIRE_STATE,
	PR_RETIRE_ORDER,
	PR_PUT_UNOPENED,
	PR_PUT_INHERITED,
	PR_DELETE_UNKNOWN,
	PR_MOVE_STALE,
	PR_MOVE_DIFFERS,
	/* objects */
	PR_OBJECT_OVERLAP,
	PR_OBJECT_IN_SUMMARY,
	PR_OBJECT_CRC_UNWANTED,
	PR_KEY_HASH,
	PR_KEY_TWICE,
	/* summaries */
	PR_SUMMARY_PLACE,
	PR_SUMMARY_LOST,
	PR_SUMMARY_CRC,
	PR_SUMMARY_MALFORMED,
	PR_SUMMARY_ORDER,
	PR_SUMMARY_COUNT,
	PR_SUMMARY_MISSES,
	PR_SUMMARY_EXTRA,
	PR_SUMMARY_DIFFERS,
	/* data */
	PR_DATA_CRC,
	PR_NR_CODES
};

/**
 * struct pr_code_info - what a code tells
 * @name: for scripts: "label-missing"
 * @severity: as a rule; some are less severe in places that say so
 * @means: what it means for who uses the pool
 * @next: what to do about it
 */
struct pr_code_info {
	const char *name;
	enum pr_severity severity;
	const char *means;
	const char *next;
};

const struct pr_code_info *pr_code_info(enum pr_code code);
const char *pr_severity_name(enum pr_severity severity);

/* Of a segment: "free", "open" and so on. */
const char *pr_state_name(u32 state);

#define PR_NONE		0xffffffffU	/* in the 32-bit fields of pr_where */
#define PR_NONE64	(~0ULL)		/* in the 64-bit fields of pr_where */

/**
 * struct pr_where - what a finding is about; unused fields are PR_NONE*
 * @dev: index of the device
 * @member: member number
 * @block: 4 KiB block on it
 * @slot: host slot
 * @ag: AG
 * @epoch: epoch of @ag
 * @position: in the journal of @epoch
 * @segment: segment
 */
struct pr_where {
	u32 dev;
	u32 member;
	u64 block;
	u32 slot;
	u32 ag;
	u64 epoch;
	u64 position;
	u32 segment;
};

struct pr_where pr_nowhere(void);

/**
 * struct pr_finding - one thing that was found
 * @code: what
 * @severity: how bad
 * @where: where
 * @text: a clause for people, without the place
 */
struct pr_finding {
	enum pr_code code;
	enum pr_severity severity;
	struct pr_where where;
	const char *text;
};

typedef void (*pr_report_fn)(void *private, const struct pr_finding *finding);

/**
 * struct pr_source - a device, an image file or memory that is read
 * @read: @nr blocks from @block on to @buf (aligned to a block); 0 or -errno
 * @private: for @read
 * @name: for messages
 * @blocks: whole 4 KiB blocks that it has
 */
struct pr_source {
	int (*read)(void *private, u64 block, void *buf, u32 nr);
	void *private;
	const char *name;
	u64 blocks;
};

/**
 * struct pr_label - one of a device's two labels
 * @error: 0 or -errno of the read
 * @verdict: for any pool and place
 * @usable: sound, in its place, decoded
 * @why: if not @usable but sound: why
 * @block: where it was read
 * @sequence: if @usable
 * @incarnation: of its writer, if @usable
 * @member: if @usable: whose label it says it is
 * @g: if @usable
 */
struct pr_label {
	int error;
	enum kvc_block_verdict verdict;
	bool usable;
	const char *why;
	u64 block;
	u64 sequence;
	u64 incarnation;
	u32 member;
	struct kvc_geometry g;
};

/**
 * struct pr_dev - a device
 * @source: how to read it
 * @label: at its start and at its end
 * @newest: index of the usable label with the higher sequence; PR_NONE: none
 * @member: its member number in the pool, PR_NONE: it is no member of it
 */
struct pr_dev {
	struct pr_source source;
	struct pr_label label[2];
	u32 newest;
	u32 member;
};

/**
 * struct pr_slot - one block of a host slot
 * @known: a majority of copies could be read; else nothing is known of it
 * @written: it was ever written; else @s is zero
 * @writer: of the copy that counts
 * @s: the copy that counts
 */
struct pr_slot {
	bool known;
	bool written;
	struct kvc_writer writer;
	struct kvc_slot_info s;
};

/**
 * struct pr_claim - the highest epoch that any slot shows for an AG
 * @epoch: 0: shown nowhere
 * @slot: who shows it
 * @incarnation: of that slot now
 * @state: of that slot: enum kvc_slot_state
 * @writer: who wrote that slot last
 */
struct pr_claim {
	u64 epoch;
	u32 slot;
	u64 incarnation;
	u32 state;
	struct kvc_writer writer;
};

/**
 * struct pr_pool - a pool that is read
 * @devs: devices given
 * @nr_devs: how many
 * @g: geometry, from the newest label
 * @sequence: of that label
 * @incarnation: of its writer
 * @members: per member: index in @devs, PR_NONE: absent
 * @slots: nr_slots * slot_blocks, block p of slot s at s * slot_blocks + p
 * @claims: per AG
 * @slots_complete: every slot is known
 * @now: seconds since 1970, for expiry; 0: nothing has expired
 * @journal_only: don't read summaries
 * @report: where findings go
 * @report_private: its argument
 * @found: how many findings, by severity
 * @blocks_read: how much was read
 */
struct pr_pool {
	struct pr_dev *devs;
	u32 nr_devs;
	struct kvc_geometry g;
	u64 sequence;
	u64 incarnation;
	u32 members[KVC_MAX_MEMBERS];
	struct pr_slot *slots;
	struct pr_claim *claims;
	bool slots_complete;
	u64 now;
	bool journal_only;
	pr_report_fn report;
	void *report_private;
	u64 found[PR_ERROR + 1];
	u64 blocks_read;
};

/**
 * pr_open() - find the pool that devices hold
 * @p: @report and @now set, the rest zero
 * @sources: devices in any order
 * @nr: how many
 *
 * Return: 0; -ENOENT: no usable label anywhere; -EUCLEAN: labels leave no
 * geometry that could be trusted with reading further; -ENOMEM. Findings say
 * more. pr_close() it in any case.
 */
int pr_open(struct pr_pool *p, const struct pr_source *sources, u32 nr);
void pr_close(struct pr_pool *p);

/* Read and judge the slots. 0 or -ENOMEM. May be called again. */
int pr_slots(struct pr_pool *p);

void pr_found(struct pr_pool *p, enum pr_code code, enum pr_severity severity,
	      const struct pr_where *where, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Read blocks of a member: 0, -ENXIO (absent), -ERANGE, -errno. */
int pr_read(struct pr_pool *p, struct kvc_place place, void *buf, u32 nr);

/* Read, and report a failure. */
int pr_read_reported(struct pr_pool *p, struct kvc_place place, void *buf,
		     u32 nr, const struct pr_where *where);

/* @nr blocks of memory aligned to a block; free() it. NULL: none left. */
void *pr_buffer(size_t nr);

/* Where as a place on a member. */
struct pr_where pr_at(const struct pr_pool *p, struct kvc_place place);

/* --- a journal area --- */

/**
 * struct pr_area - an area's headers
 * @verdict: per header block
 * @valid: per header block: sound, decoded and of this AG and area
 * @info: per header block, if @valid
 * @best: index of the one that counts, PR_NONE: none is valid
 * @parts: blocks of the checkpoint that the best header names, 0: not whole
 */
struct pr_area {
	enum kvc_block_verdict verdict[KVC_AREA_HEADERS];
	bool valid[KVC_AREA_HEADERS];
	struct kvc_area_info info[KVC_AREA_HEADERS];
	u32 best;
	u32 parts;
};

enum pr_standing {
	PR_STANDS,		/* the block that should be here */
	PR_STANDS_NEVER,	/* never written */
	PR_STANDS_OLDER,	/* of an older epoch, or of an older position */
	PR_STANDS_TORN,		/* CRC wrong */
	PR_STANDS_LATER,	/* of this epoch, but of a later position */
	PR_STANDS_NEWER,	/* of a newer epoch */
	PR_STANDS_WRONG,	/* sound, but nothing that belongs here */
	PR_STANDS_UNREADABLE,
};

/**
 * struct pr_ring - the ring of one area, read as needed
 * @pool: pool
 * @ag: AG
 * @area: area
 * @first: place of ring index 0
 * @blocks: ring_blocks of them, mapped
 * @judged: per ring index: 0: not yet, else enum kvc_block_verdict + 1
 * @loaded: per chunk: 0: not yet, 1: read, 2: could not be read
 */
struct pr_ring {
	struct pr_pool *pool;
	u32 ag;
	u32 area;
	struct kvc_place first;
	u8 *blocks;
	u8 *judged;
	u8 *loaded;
};

int pr_ring_open(struct pr_ring *ring, struct pr_pool *p, u32 ag, u32 area);
void pr_ring_close(struct pr_ring *ring);

/**
 * pr_ring_look() - what stands where the block of a position should
 * @ring: ring
 * @epoch: epoch
 * @position: full position
 * @info: filled in if it returns PR_STANDS, LATER, OLDER or NEWER and the
 *	block is sound
 * @records: set up if it returns PR_STANDS
 */
enum pr_standing pr_ring_look(struct pr_ring *ring, u64 epoch, u64 position,
			      struct kvc_journal_info *info,
			      struct kvc_records *records);

/*
 * A quick look, without checksums: may the block at a ring index be of a newer
 * epoch than this, or of this one and of a position at or behind @from?
 */
bool pr_ring_may_be_new(struct pr_ring *ring, u32 index, u64 epoch, u64 from);

/* Blocks of the whole checkpoint that starts at @start; 0: there is none. */
u32 pr_ring_checkpoint(struct pr_ring *ring, u64 epoch, u64 start);

/* --- what an AG holds --- */

/* @position of an object that was read from a summary */
#define PR_FROM_SUMMARY	PR_NONE64

/**
 * struct pr_object - a PUT, or what a DELETE or a move says of one
 * @hash: of its key
 * @generation: of its segment
 * @expiry: as in struct kvc_put, and so on down to @depth
 * @position: journal position of the PUT, or PR_FROM_SUMMARY
 * @key: NULL: only known to be dead
 * @dead: deleted, moved away or retired
 * @in_summary: the segment's summary lists it
 * @next_hash: next in its chain of live or dead ones, PR_NONE: the last
 * @next_segment: next of its segment, PR_NONE: the last
 */
struct pr_object {
	struct kvc_hash hash;
	u64 generation;
	u64 expiry;
	u64 pin;
	u64 position;
	const u8 *key;
	u32 segment;
	u32 offset;
	u32 bytes;
	u32 data_crc;
	u32 tenant;
	u16 key_len;
	u16 depth;
	bool dead;
	bool in_summary;
	u32 next_hash;
	u32 next_segment;
};

/**
 * struct pr_segment - a segment in a view
 * @rec: state, generation and so on
 * @listed: the checkpoint has it
 * @opaque: sealed, and its summary was not read: its objects are not known
 * @partial: came as OPEN from a checkpoint: objects that were dead then are
 *	not known
 * @inherited: was left open by an earlier epoch
 * @sealed_here: its SEAL stands in the journal that is read
 * @summary_bad: its summary could not be taken
 * @first: its first object, PR_NONE: none
 */
struct pr_segment {
	struct kvc_segment_rec rec;
	bool listed;
	bool opaque;
	bool partial;
	bool inherited;
	bool sealed_here;
	bool summary_bad;
	u32 first;
};

struct pr_chunk;

/**
 * struct pr_view - an AG's state as records tell it
 * @pool: pool
 * @ag: AG
 * @epoch: of the journal that is read
 * @owner: who may have written it
 * @first_segment: number of segments[0]
 * @nr_segments: segments of the AG
 * @segments: them
 * @objects: every object that was met, also dead ones
 * @nr_objects: how many
 * @room_objects: room in @objects
 * @live: hash table of the live objects, by hash
 * @dead: hash table of the dead ones, by place
 * @nr_buckets: of both; a power of two
 * @keys: memory of the keys
 * @next_order: next order that a SEAL may take
 * @quiet: report nothing
 * @no_memory: an allocation failed; the view is not complete
 */
struct pr_view {
	struct pr_pool *pool;
	u32 ag;
	u64 epoch;
	struct kvc_writer owner;
	u32 first_segment;
	u32 nr_segments;
	struct pr_segment *segments;
	struct pr_object *objects;
	u32 nr_objects;
	u32 room_objects;
	u32 *live;
	u32 *dead;
	u32 nr_buckets;
	struct pr_chunk *keys;
	u64 next_order;
	bool quiet;
	bool no_memory;
};

int pr_view_init(struct pr_view *v, struct pr_pool *p, u32 ag, u64 epoch);
void pr_view_free(struct pr_view *v);

/* The segment, or NULL if it is not one of this AG's. */
struct pr_segment *pr_view_segment(const struct pr_view *v, u32 segment);

/* An object that the view knows at just that place, or NULL. */
struct pr_object *pr_view_find(const struct pr_view *v, struct kvc_hash hash,
			       u32 segment, u64 generation, u32 offset);

/* May it have expired, given clocks that differ a little? */
bool pr_expired(const struct pr_pool *p, const struct pr_object *o);

/**
 * pr_view_checkpoint() - start a view from a checkpoint
 * @v: empty view
 * @ring: ring of its epoch
 * @start: position of a checkpoint that is whole
 * @final: the segments as they are at the end of the journal, which tells
 *	whose summaries can still be read; NULL: read no summaries
 */
void pr_view_checkpoint(struct pr_view *v, struct pr_ring *ring, u64 start,
			const struct pr_view *final);

/* Take the records of the block at @position, which stands. */
void pr_view_apply(struct pr_view *v, struct pr_ring *ring, u64 position);

/* What is left to judge when the journal has been read to its end. */
void pr_view_finish(struct pr_view *v);

/**
 * pr_summary_load() - read a segment's summary into a view
 * @v: view
 * @s: sealed segment
 * @compare: the view knows the segment's objects from the journal: compare;
 *	else add what the summary lists
 */
void pr_summary_load(struct pr_view *v, struct pr_segment *s, bool compare);

/**
 * struct pr_ag - one AG, loaded
 * @pool: pool
 * @ag: AG
 * @areas: its areas
 * @epoch: the epoch that counts, 0: the AG is empty or could not be read
 * @checkpoint: position from which it was read
 * @end: position of the first hole
 * @view: what it holds
 * @has_view: @view is there
 */
struct pr_ag {
	struct pr_pool *pool;
	u32 ag;
	struct pr_area areas[KVC_NR_AREAS];
	u64 epoch;
	u64 checkpoint;
	u64 end;
	struct pr_view view;
	bool has_view;
};

/* Load and check an AG. 0 or -ENOMEM. pr_ag_free() it in any case. */
int pr_ag_load(struct pr_ag *a, struct pr_pool *p, u32 ag);
void pr_ag_free(struct pr_ag *a);

/* Only the headers, for dump. */
int pr_area_read(struct pr_area *area, struct pr_pool *p, u32 ag, u32 number,
		 bool quiet);

/**
 * struct pr_replay - a part of a journal to be taken record by record
 * @from: first position
 * @until: position to stop at, PR_NONE64: go on to the first hole
 * @quiet_from: position from which on nothing is reported (it was, before)
 * @compare: compare with the checkpoints that are met
 * @known: see pr_compare()
 * @checkpoints: counts those that were met
 */
struct pr_replay {
	u64 from;
	u64 until;
	u64 quiet_from;
	bool compare;
	const struct pr_view *known;
	u32 checkpoints;
};

/* Returns where it stopped. */
u64 pr_view_replay(struct pr_view *v, struct pr_ring *ring,
		   struct pr_replay *r);

/* Is an object there for readers? */
bool pr_object_live(const struct pr_view *v, const struct pr_object *o);

/**
 * pr_compare() - does a checkpoint say what replaying leads to?
 * @replayed: view that was replayed to where the checkpoint starts
 * @said: view that was only started from the checkpoint
 * @known: the loader's view if it is complete: knows what summaries list;
 *	may be NULL
 * @across: the two are of different epochs
 * @where: of the checkpoint
 */
void pr_compare(const struct pr_view *replayed, const struct pr_view *said,
		const struct pr_view *known, bool across,
		const struct pr_where *where);

/**
 * pr_ag_data() - check the data of an AG's live objects
 * @a: loaded AG
 * @progress: called with bytes read since the last call; may be NULL
 * @private: its argument
 * @objects: counts objects whose data was checked
 *
 * Return: 0 or -ENOMEM.
 */
int pr_ag_data(struct pr_ag *a, void (*progress)(void *private, u64 bytes),
	       void *private, u64 *objects);

/* Read a run of a segment, from stripe units on all its members. */
int pr_read_segment(struct pr_pool *p, u32 segment, u64 offset, u64 bytes,
		    void *buf);

#endif
