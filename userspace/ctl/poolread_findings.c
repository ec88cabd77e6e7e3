// SPDX-License-Identifier: MIT
/*
 * What can be found in a pool: names, severities, what it means, what to do.
 */
#include "poolread.h"

#define NOTHING		"Nothing needs to be done."
#define REPORT		"This breaks a rule of the format: keep an image of the metadata (kvcachectl dump) and report a bug."
#define DROP_AG		"The next attach that can't read it starts the group empty; its objects have to be computed again."
#define DEVICE		"Check the device's health and its log; replace it if it goes on."

static const struct pr_code_info infos[PR_NR_CODES] = {
	/* devices and labels */
	[PR_IO_ERROR] = {
		"io-error", PR_ERROR,
		"A block can't be read: what stands there is lost for now.",
		DEVICE,
	},
	[PR_LABEL_MISSING] = {
		"label-missing", PR_ERROR,
		"One of a member's two labels is not there. The other still says what the member is.",
		"Find out what wrote over the device; the next attach writes the label again.",
	},
	[PR_LABEL_BAD] = {
		"label-bad", PR_WARNING,
		"One of a member's two labels is torn or rotten. The other still says what the member is.",
		"The next attach writes the label again. If no crash explains it, check the device's health.",
	},
	[PR_LABEL_MALFORMED] = {
		"label-malformed", PR_ERROR,
		"A label is sound but can't be used: it was written by a newer version, or by a bug.",
		"Use a version of the tools that knows its features; else report a bug.",
	},
	[PR_LABEL_FOREIGN] = {
		"label-foreign", PR_ERROR,
		"The device belongs to another pool and was left out.",
		"Give just the members of one pool.",
	},
	[PR_LABEL_DISAGREES] = {
		"label-disagrees", PR_ERROR,
		"Labels contradict each other: a clone, a snapshot, or half of a pool that lived on alone. Attach refuses it.",
		"Find out which devices belong together; leave the stray one out.",
	},
	[PR_LABEL_SEQUENCE] = {
		"label-sequence", PR_INFO,
		"Labels are of different ages: an attach was interrupted, or a member was restored from a copy.",
		"The next attach brings them in line. What lags by more than one is refused: find out whether it is the right device.",
	},
	[PR_MEMBER_ABSENT] = {
		"member-absent", PR_ERROR,
		"A member was not given: what stands on it was not checked, and its objects miss.",
		"Give all members, or connect the one that is missing.",
	},
	[PR_MEMBER_TWICE] = {
		"member-twice", PR_ERROR,
		"Two devices say that they are the same member: one namespace under two names, or a clone. Attach refuses it.",
		"Leave one of them out.",
	},
	[PR_MEMBER_SIZE] = {
		"member-size", PR_ERROR,
		"A device is smaller than its label says: the end of it is gone.",
		"Restore the namespace's size. What stood behind its end has to be computed again.",
	},
	[PR_MEMBER_STALE] = {
		"member-stale", PR_ERROR,
		"A member was missing while the pool was in use: what stands on it is out of date.",
		"Don't attach with it before it was formatted into the pool anew.",
	},
	[PR_MEMBER_CLONE] = {
		"member-clone", PR_ERROR,
		"A device's identifier is not the one that it had when the pool was formatted: a clone, or a copy on another device. Attach refuses it.",
		"Give the original device.",
	},
	/* slots */
	[PR_POOL_LIVE] = {
		"pool-live", PR_WARNING,
		"A host holds the pool: it changes while it is read, so findings may be false.",
		"Detach the pool and check again.",
	},
	[PR_SLOT_COPY_BAD] = {
		"slot-copy-bad", PR_INFO,
		"One copy of a host slot is torn or rotten; enough others are sound.",
		NOTHING " The host's next write heals it.",
	},
	[PR_SLOT_COPIES_DIFFER] = {
		"slot-copies-differ", PR_INFO,
		"Copies of a host slot are of different ages: its last write was cut short.",
		NOTHING " The newest counts.",
	},
	[PR_SLOT_SPLIT] = {
		"slot-split", PR_ERROR,
		"Two copies of a host slot have the same sequence and different contents.",
		REPORT,
	},
	[PR_SLOT_MAJORITY] = {
		"slot-majority", PR_ERROR,
		"A host slot can't be read on a majority of its copies: what the host owns is not known, so attach refuses.",
		"Connect the members that hold the copies; if they are damaged for good, the pool has to be formatted anew.",
	},
	[PR_SLOT_MALFORMED] = {
		"slot-malformed", PR_ERROR,
		"A slot block is sound but says what can't be.",
		REPORT,
	},
	[PR_SLOT_BACKWARDS] = {
		"slot-backwards", PR_ERROR,
		"A slot's newer copy shows an older epoch: a host wrote after it had lost the slot.",
		REPORT,
	},
	[PR_EPOCH_TWICE] = {
		"epoch-twice", PR_ERROR,
		"Two hosts show the same epoch of an allocation group: it may have had two writers.",
		REPORT,
	},
	[PR_EPOCH_LOST] = {
		"epoch-lost", PR_ERROR,
		"The epoch that a slot shows can't be read: the objects of this allocation group are lost.",
		DROP_AG,
	},
	[PR_EPOCH_OWNER] = {
		"epoch-owner", PR_ERROR,
		"An epoch's journal was written by another host than the one that shows it.",
		REPORT,
	},
	[PR_EPOCH_FOLLOWED] = {
		"epoch-followed", PR_ERROR,
		"A host follows an epoch that was never begun.",
		REPORT,
	},
	[PR_DRAINED_BEYOND] = {
		"drained-beyond", PR_ERROR,
		"A host says that it has read further than the journal reaches: blocks at its end were lost, and objects with them.",
		DEVICE " Objects put last may be gone; nothing else needs to be done.",
	},
	/* area headers */
	[PR_AREA_BAD] = {
		"area-bad", PR_INFO,
		"One of an area's two headers is torn or rotten.",
		NOTHING " The other one counts, and the next write heals it.",
	},
	[PR_AREA_LOST] = {
		"area-lost", PR_WARNING,
		"No header of a journal area is usable, though it was in use.",
		DEVICE,
	},
	[PR_AREA_MALFORMED] = {
		"area-malformed", PR_ERROR,
		"A header is sound but says what can't be.",
		REPORT,
	},
	[PR_AREA_EPOCH] = {
		"area-epoch", PR_ERROR,
		"A header stands in an area that its epoch does not use.",
		REPORT,
	},
	[PR_AREA_PAIR] = {
		"area-pair", PR_ERROR,
		"The two headers of an area were not written in turn, so a torn write could cost both.",
		REPORT,
	},
	[PR_TAKEOVER_UNFINISHED] = {
		"takeover-unfinished", PR_INFO,
		"An attach was cut short before its checkpoint was complete.",
		NOTHING " The epoch before it still counts.",
	},
	[PR_TAKEOVER_UNSHOWN] = {
		"takeover-unshown", PR_INFO,
		"An attach was cut short between its checkpoint and the slot that shows it.",
		NOTHING " The next attach goes on from it.",
	},
	/* journal */
	[PR_JOURNAL_TORN] = {
		"journal-torn", PR_INFO,
		"The journal's last write was cut short; no answer rested on it.",
		NOTHING,
	},
	[PR_JOURNAL_HOLE] = {
		"journal-hole", PR_ERROR,
		"A block is missing in the midst of a journal: all that follows it is lost, objects that were answered for among it.",
		DEVICE " Objects that were put later miss; nothing else needs to be done.",
	},
	[PR_JOURNAL_OVERRUN] = {
		"journal-overrun", PR_ERROR,
		"The ring was written over before the header said that its old blocks are not needed.",
		REPORT,
	},
	[PR_JOURNAL_NEWER] = {
		"journal-newer", PR_ERROR,
		"The ring holds blocks of a newer epoch than its header: the newer header is lost.",
		DEVICE,
	},
	[PR_JOURNAL_MISPLACED] = {
		"journal-misplaced", PR_ERROR,
		"A sound block stands where it does not belong: a misdirected write.",
		DEVICE,
	},
	[PR_JOURNAL_MALFORMED] = {
		"journal-malformed", PR_ERROR,
		"A journal block is sound but can't be taken apart.",
		REPORT,
	},
	[PR_JOURNAL_WRITER] = {
		"journal-writer", PR_ERROR,
		"A journal block was written by another host than the area's owner.",
		REPORT,
	},
	[PR_RECORD_UNEXPECTED] = {
		"record-unexpected", PR_ERROR,
		"A record stands where its type has no place.",
		REPORT,
	},
	/* checkpoints */
	[PR_CHECKPOINT_LOST] = {
		"checkpoint-lost", PR_ERROR,
		"The checkpoint that a header names can't be read whole, so the journal behind it has no start.",
		DEVICE " " DROP_AG,
	},
	[PR_CHECKPOINT_TORN] = {
		"checkpoint-torn", PR_INFO,
		"The journal ends within a checkpoint that was cut short.",
		NOTHING " The checkpoint before it still counts.",
	},
	[PR_CHECKPOINT_BROKEN] = {
		"checkpoint-broken", PR_ERROR,
		"A checkpoint has parts missing, and records follow it.",
		REPORT,
	},
	[PR_CHECKPOINT_ORDER] = {
		"checkpoint-order", PR_ERROR,
		"A checkpoint's records are not in the order that readers rely on.",
		REPORT,
	},
	[PR_CHECKPOINT_SEGMENTS] = {
		"checkpoint-segments", PR_ERROR,
		"A checkpoint does not list every segment exactly once.",
		REPORT,
	},
	[PR_CHECKPOINT_ENTRY] = {
		"checkpoint-entry", PR_ERROR,
		"A checkpoint has an entry for a segment that is not in a state to have it.",
		REPORT,
	},
	[PR_CHECKPOINT_DIFFERS] = {
		"checkpoint-differs", PR_ERROR,
		"A checkpoint does not say what the records before it lead to: a load from it sees other objects.",
		REPORT,
	},
	[PR_EPOCH_DIFFERS] = {
		"epoch-differs", PR_ERROR,
		"An epoch's first checkpoint does not follow from the end of the epoch before.",
		REPORT,
	},
	[PR_EPOCH_OBJECT_LOST] = {
		"epoch-object-lost", PR_WARNING,
		"Objects that the epoch before had are missing in the present one. They miss.",
		"Unless a member was away or a late write landed, report a bug.",
	},
	[PR_EPOCH_OBJECT_BACK] = {
		"epoch-object-back", PR_ERROR,
		"An object that was dead at the end of the epoch before is back.",
		REPORT,
	},
	/* records */
	[PR_GENERATION] = {
		"generation", PR_ERROR,
		"A segment's generation can't be: it does not go up by one, or is of an epoch that has not been.",
		REPORT,
	},
	[PR_OPEN_STATE] = {
		"open-state", PR_ERROR,
		"A segment was opened while it still held objects.",
		REPORT,
	},
	[PR_SEAL_STATE] = {
		"seal-state", PR_ERROR,
		"A segment was sealed that was not open in that generation.",
		REPORT,
	},
	[PR_SEAL_ORDER] = {
		"seal-order", PR_ERROR,
		"The order in which segments are reclaimed is not strictly rising.",
		REPORT,
	},
	[PR_RETIRE_STATE] = {
		"retire-state", PR_ERROR,
		"A segment was retired that was neither open nor sealed in that generation.",
		REPORT,
	},
	[PR_RETIRE_ORDER] = {
		"retire-order", PR_WARNING,
		"A retired segment does not name the position of its RETIRE.",
		REPORT,
	},
	[PR_PUT_UNOPENED] = {
		"put-unopened", PR_ERROR,
		"An object was put into a segment that was not open in that generation; readers may find other bytes there.",
		REPORT,
	},
	[PR_PUT_INHERITED] = {
		"put-inherited", PR_ERROR,
		"An object was put into a segment that an earlier owner had left open; a late write may still land there.",
		REPORT,
	},
	[PR_DELETE_UNKNOWN] = {
		"delete-unknown", PR_WARNING,
		"An object was deleted that was not there.",
		REPORT,
	},
	[PR_MOVE_STALE] = {
		"move-stale", PR_ERROR,
		"An object was moved from a place where it was no more: a deleted object may be back.",
		REPORT,
	},
	[PR_MOVE_DIFFERS] = {
		"move-differs", PR_ERROR,
		"A moved object is not the one that stood at its old place.",
		REPORT,
	},
	/* objects */
	[PR_OBJECT_OVERLAP] = {
		"object-overlap", PR_ERROR,
		"Two objects of a segment share blocks: one of them has wrong bytes. With data checksums its get answers EBADMSG.",
		REPORT,
	},
	[PR_OBJECT_IN_SUMMARY] = {
		"object-in-summary", PR_ERROR,
		"An object reaches into the summary of a segment: its end was written over.",
		REPORT,
	},
	[PR_OBJECT_CRC_UNWANTED] = {
		"object-crc-unwanted", PR_WARNING,
		"An object has a data checksum in a pool that has none.",
		REPORT,
	},
	[PR_KEY_HASH] = {
		"key-hash", PR_ERROR,
		"An object's hash is not its key's: it can't be found under its key, and may be found under another.",
		REPORT,
	},
	[PR_KEY_TWICE] = {
		"key-twice", PR_ERROR,
		"A key is there twice in one allocation group.",
		REPORT,
	},
	/* summaries */
	[PR_SUMMARY_PLACE] = {
		"summary-place", PR_ERROR,
		"A segment's summary does not stand where one may.",
		REPORT,
	},
	[PR_SUMMARY_LOST] = {
		"summary-lost", PR_ERROR,
		"A block of a sealed segment's summary can't be read: the segment's objects miss after the next load.",
		DEVICE " The segment's objects have to be computed again.",
	},
	[PR_SUMMARY_CRC] = {
		"summary-crc", PR_ERROR,
		"A summary's blocks are sound but not those that were sealed: the segment's objects miss after the next load.",
		DEVICE " The segment's objects have to be computed again.",
	},
	[PR_SUMMARY_MALFORMED] = {
		"summary-malformed", PR_ERROR,
		"A summary's block is sound but is of another segment or generation, or can't be taken apart.",
		REPORT,
	},
	[PR_SUMMARY_ORDER] = {
		"summary-order", PR_ERROR,
		"A summary's entries are not in order of their offset.",
		REPORT,
	},
	[PR_SUMMARY_COUNT] = {
		"summary-count", PR_ERROR,
		"A summary does not have as many entries as its segment was sealed with.",
		REPORT,
	},
	[PR_SUMMARY_MISSES] = {
		"summary-misses", PR_ERROR,
		"A live object is not in its segment's summary: it misses after the next load.",
		REPORT,
	},
	[PR_SUMMARY_EXTRA] = {
		"summary-extra", PR_ERROR,
		"A summary lists an object that was never put, or that was dead at the last checkpoint before the seal: a get may answer with other bytes, or a deleted object come back.",
		REPORT,
	},
	[PR_SUMMARY_DIFFERS] = {
		"summary-differs", PR_ERROR,
		"A summary says other things of an object than its PUT.",
		REPORT,
	},
	/* data */
	[PR_DATA_CRC] = {
		"data-crc", PR_ERROR,
		"An object's data are not what was put: a get answers EBADMSG and drops it.",
		DEVICE " The object has to be computed again.",
	},
};

const struct pr_code_info *pr_code_info(enum pr_code code)
{
	return &infos[code];
}

const char *pr_severity_name(enum pr_severity severity)
{
	static const char * const names[] = { "info", "warning", "error" };

	return names[severity];
}

const char *pr_state_name(u32 state)
{
	static const char * const names[] = {
		[KVC_SEG_FREE] = "free", [KVC_SEG_OPEN] = "open",
		[KVC_SEG_SEALED] = "sealed", [KVC_SEG_RETIRED] = "retired",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}
