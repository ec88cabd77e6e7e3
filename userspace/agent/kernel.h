/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of a pool, as the agent needs it. kernel_kvcache.c has it
 * from the module; the tests' fake_kernel.c stands in for it. Functions return 0
 * or a negative errno, and may block.
 */
#ifndef KVC_AGENT_KERNEL_H
#define KVC_AGENT_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <linux/kvcache.h>

#include "config.h"

#define KERNEL_AGS_MAX		1024
#define KERNEL_REASON		512

/**
 * struct kernel_pool - a pool that is attached
 * @number: its number
 * @uuid: of the pool
 * @name: its name
 * @mode: KVCACHE_MODE_*
 * @state: KVCACHE_POOL_*
 * @slot: host slot
 * @incarnation: of it, 0: never had one
 * @lease_left_ms: until the kernel's lease ends
 * @lease_ms: length of a lease
 * @q_ms: longest life of a write
 * @nr_ags: allocation groups
 * @nr_slots: host slots
 */
struct kernel_pool {
	unsigned int number;
	uint8_t uuid[16];
	char name[KVCACHE_NAME_MAX];
	uint32_t mode;
	uint32_t state;
	uint32_t slot;
	uint64_t incarnation;
	uint32_t lease_left_ms;
	uint32_t lease_ms;
	uint32_t q_ms;
	uint32_t nr_ags;
	uint32_t nr_slots;
};

struct kernel;

/* NULL and a sentence. */
struct kernel *kernel_open(const struct config *config,
			   char reason[KERNEL_REASON]);
void kernel_close(struct kernel *k);

/* Is the pool attached? -ENODEV: no. */
int kernel_find(struct kernel *k, struct kernel_pool *pool,
		char reason[KERNEL_REASON]);
/* Attach it, to be granted. */
int kernel_attach(struct kernel *k, struct kernel_pool *pool,
		  char reason[KERNEL_REASON]);
int kernel_detach(struct kernel *k, unsigned int timeout_ms);

/* The pool that was found or attached. */
int kernel_info(struct kernel *k, struct kernel_pool *pool);
int kernel_grant(struct kernel *k, uint32_t slot, uint64_t incarnation,
		 uint64_t deadline_ns, const struct kvcache_grant_ag *ags,
		 uint32_t nr_ags);
/*
 * While a kernel_grant() of another thread joins: move its deadline. Does not
 * block. -EAGAIN: none does; -EINVAL: this kernel can't.
 */
int kernel_prolong(struct kernel *k, uint32_t slot, uint64_t incarnation,
		   uint64_t deadline_ns);
/* How many there are, at most @room. */
int kernel_ags(struct kernel *k, struct kvcache_ag_info *ags, uint32_t room);
int kernel_slots(struct kernel *k, struct kvcache_slot_info *slots,
		 uint32_t room);

#endif
