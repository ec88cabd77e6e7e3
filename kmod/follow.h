/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: following an AG that another host owns
 *
 * A pass (share.h) reads the blocks behind @position in the journal of the epoch
 * that is followed and applies those that are there, to the first that is not
 * (protocol rule 10). If the owner has trimmed what was still to be read (rule
 * 14), or a slot shows a newer epoch (rule 12), the AG is @behind: it is loaded
 * anew, in a work of its own, and until then no miss can rest on it.
 *
 * Whoever changes an AG that is not owned has its @turn: a pass, a load, a
 * takeover, a giving up.
 */
#ifndef KVC_FOLLOW_H
#define KVC_FOLLOW_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "member.h"

struct kvc_ag;

#define KVC_PROBE_BLOCKS	16

enum kvc_probe {
	KVC_PROBE_NONE,
	KVC_PROBE_RING,		/* blocks behind the position */
	KVC_PROBE_HEADER,	/* of the area, after a block that is none */
};

/**
 * struct kvc_follow - an AG that is followed
 * @turn: see DOC; the mutexes of several AGs are taken by mutex_trylock() alone
 * @epoch: that is followed, 0: nothing is known. This and all below it but the
 *	last six under @turn
 * @position: of the next block
 * @next_epoch: the lowest that a takeover may have, as the last load saw it
 * @behind: to be loaded anew
 * @error: of the last load or takeover
 * @again_at: position at which a rotten block has led to a load
 * @draining: retired segments whose readers may not have gone
 * @ahead: blocks that a probe reads
 * @probe: what @io reads next, or has read
 * @result: of this pass: 0: the end of the journal was seen
 * @io: probe
 * @buf: of KVC_PROBE_BLOCKS
 * @load: loads it
 * @busy: @io is out. Under the share's lock, with all below it but @shown
 * @read_epoch: what the last pass had read of it ...
 * @read: ... and up to where
 * @shown: the highest epoch that a slot showed in the last pass that read them;
 *	the pass's alone
 * @drained_epoch: what our slot is to show
 * @drained: likewise
 */
struct kvc_follow {
	struct mutex turn;
	u64 epoch;
	u64 position;
	u64 next_epoch;
	bool behind;
	int error;
	u64 again_at;
	u32 draining;
	u32 ahead;
	enum kvc_probe probe;
	int result;
	struct kvc_meta_io io;
	u8 *buf;
	struct work_struct load;

	bool busy;
	u64 read_epoch;
	u64 read;
	u64 shown;
	u64 drained_epoch;
	u64 drained;
};

void kvc_follow_init(struct kvc_ag *ag);

/* No probe is out any more, and no load is at work. */
void kvc_follow_stop(struct kvc_ag *ag);

/**
 * kvc_follow_load() - load an AG from what its owner has written
 * @ag: AG; its turn is held
 * @shown: epoch that slots show, 0: none does
 *
 * Return: 0, also for an AG that nobody ever had; -EAGAIN: not now; errors.
 */
int kvc_follow_load(struct kvc_ag *ag, u64 shown);

/*
 * A pass over one AG: enter it (false: somebody else has its turn), send what is
 * to be read (false: nothing), take what was read, and leave it with whether a
 * miss may rest on it: 0 or -EAGAIN.
 */
bool kvc_follow_enter(struct kvc_ag *ag);
bool kvc_follow_send(struct kvc_ag *ag);
void kvc_follow_take(struct kvc_ag *ag);
int kvc_follow_leave(struct kvc_ag *ag, u64 shown);

/* Is what was sent still out, on a member that is expected to answer? */
bool kvc_follow_awaited(struct kvc_ag *ag);

#endif
