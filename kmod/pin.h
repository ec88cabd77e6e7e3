/* SPDX-License-Identifier: GPL-2.0 */
/* Pins: objects that eviction keeps until a time, up to half of each AG. */
#ifndef KVC_PIN_H
#define KVC_PIN_H

#include "pool.h"

/**
 * kvc_pin_set() - pin an entry, or change its time
 * @e: entry; the caller holds its segment (a reader or a writer)
 * @until: seconds since 1970
 *
 * Return: 0, -EDQUOT, -ENOMEM, -EAGAIN (it is being moved, deleted or evicted).
 */
int kvc_pin_set(struct kvc_entry *e, u64 until);

/* Would an object of so many bytes in this AG find room among its pins? */
bool kvc_pin_may(struct kvc_ag *ag, u32 bytes);

/* Take a pin away. */
void kvc_pin_clear(struct kvc_entry *e);

/* Is it pinned now? */
bool kvc_pin_holds(struct kvc_entry *e, u64 now);

/* Eviction moved the object: its pin goes with it. */
void kvc_pin_move(struct kvc_entry *from, struct kvc_entry *to);

#endif
