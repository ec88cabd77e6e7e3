/* SPDX-License-Identifier: GPL-2.0 */
/* A copy of the host slots that moves to another member (protocol rule 38). */
#ifndef KVC_SLOT_MOVE_H
#define KVC_SLOT_MOVE_H

#include "slot.h"

/**
 * kvc_slots_finish_move() - make the place that slots move to as good as theirs
 * @join: membership; its slot shows that it relabels
 * @reason: gets a sentence on failure
 *
 * Waits for I/O. Return: 0: the label may say that they have moved; -EBUSY: a host
 * does not write there yet; -EIO; -ESTALE; -ENOMEM.
 */
int kvc_slots_finish_move(struct kvc_join *join, char *reason);

/**
 * kvc_slots_await_move() - our slot was claimed: is it not being copied?
 * @join: joining; the heartbeat runs
 * @reason: gets a sentence on failure
 *
 * Return: 0: it has been written since whoever copied slots was through; -ESTALE,
 * -EINTR, -ECANCELED, -EIO, -ENOMEM.
 */
int kvc_slots_await_move(struct kvc_join *join, char *reason);

#endif
