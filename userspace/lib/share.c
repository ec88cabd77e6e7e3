// SPDX-License-Identifier: MIT
/* What a lock service grants, and what the kernel made of it. */
#include <errno.h>

#include "internal.h"

int kvc_grant(struct kvc *kvc, unsigned int slot, uint64_t incarnation,
	      uint64_t deadline_ns, const struct kvcache_grant_ag *ags,
	      unsigned int nr_ags)
{
	struct kvcache_grant grant = {
		.size = sizeof(grant),
		.pool = kvc->pool,
		.slot = slot,
		.incarnation = incarnation,
		.deadline_ns = deadline_ns,
		.ags = nr_ags ? (uint64_t)(uintptr_t)ags : 0,
		.nr_ags = nr_ags,
	};

	return kvc_ioctl(kvc, KVCACHE_IOC_GRANT, &grant);
}

int kvc_prolong(struct kvc *kvc, unsigned int slot, uint64_t incarnation,
		uint64_t deadline_ns)
{
	struct kvcache_grant grant = {
		.size = sizeof(grant),
		.flags = KVCACHE_GRANT_PROLONG,
		.pool = kvc->pool,
		.slot = slot,
		.incarnation = incarnation,
		.deadline_ns = deadline_ns,
	};

	return kvc_ioctl(kvc, KVCACHE_IOC_GRANT, &grant);
}

int kvc_ags(struct kvc *kvc, struct kvcache_ag_info *ags, unsigned int room)
{
	unsigned int done = 0;

	for (;;) {
		struct kvcache_ags ask = {
			.size = sizeof(ask),
			.pool = kvc->pool,
			.first = done,
			.ags = ags ? (uint64_t)(uintptr_t)(ags + done) : 0,
			.count = ags ? room - done : 0,
		};
		int error = kvc_ioctl(kvc, KVCACHE_IOC_AGS, &ask);

		if (error)
			return error;
		if (ask.total > INT32_MAX || (ags && ask.count > room - done))
			return -EPROTO;
		if (!ags || done + ask.count == room ||
		    done + ask.count >= ask.total)
			return (int)ask.total;
		/* The kernel may give less than there is room for. */
		if (!ask.count)
			return -EPROTO;
		done += ask.count;
	}
}

int kvc_slots(struct kvc *kvc, struct kvcache_slot_info *slots,
	      unsigned int room)
{
	unsigned int done = 0;

	for (;;) {
		struct kvcache_slots ask = {
			.size = sizeof(ask),
			.pool = kvc->pool,
			.first = done,
			.slots = slots ? (uint64_t)(uintptr_t)(slots + done) : 0,
			.count = slots ? room - done : 0,
		};
		int error = kvc_ioctl(kvc, KVCACHE_IOC_SLOTS, &ask);

		if (error)
			return error;
		if (ask.total > INT32_MAX || (slots && ask.count > room - done))
			return -EPROTO;
		if (!slots || done + ask.count == room ||
		    done + ask.count >= ask.total)
			return (int)ask.total;
		if (!ask.count)
			return -EPROTO;
		done += ask.count;
	}
}
