/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: asking the owner
 *
 * Only an AG's owner deletes in it (protocol rule 23). Another host writes an ASK
 * record into a journal of its own; the owner follows that journal and answers
 * with its DELETE, which the one who asked then sees (rule 24). Likewise a host
 * that reads an object of another's tells, once for each entry, that it was
 * touched, so that the owner's eviction counts it.
 *
 * An ASK is not repeated on media: what a load finds behind a checkpoint is not
 * answered, and who asked for a delete asks again until its deadline.
 */
#ifndef KVC_ASK_H
#define KVC_ASK_H

#include "kvc_codec.h"

struct kvc_ag;
struct kvc_entry;
struct kvc_join;

int kvc_asks_init(struct kvc_join *join);
void kvc_asks_stop(struct kvc_join *join);
void kvc_asks_destroy(struct kvc_join *join);

/**
 * kvc_ask_delete() - ask the owner of an AG to delete a key in it
 *
 * Return: 0: the request goes out with the next that our journals write, or by
 * kvc_asks_push(); -EAGAIN: no AG of ours takes records.
 */
int kvc_ask_delete(struct kvc_join *join, struct kvc_hash hash, u32 tenant,
		   u32 ag);

/* Send what was asked, all of it together. */
void kvc_asks_push(struct kvc_join *join);

/* An object of another host was read for the first time. Any context. */
void kvc_ask_touch(struct kvc_join *join, struct kvc_hash hash, u32 ag);

/* An ASK stands in the journal of a followed AG, whose lock is held. */
void kvc_ask_take(struct kvc_ag *ag, const struct kvc_ask_rec *ask);

#endif
