/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pools: an attachment, and the joins that it goes through.
 *
 * struct kvc_pool is the attachment: number, members, who it is for. struct
 * kvc_join is one membership: slot, incarnation, lease, index, AGs. When a
 * lease lapses the join is torn down as soon as its last user has gone, and a
 * new one begins (protocol rule 3). So whoever holds a reference in @ops may use
 * @join without a lock, and nothing of two joins ever overlaps.
 */
#ifndef KVC_POOL_H
#define KVC_POOL_H

#include <linux/percpu-refcount.h>
#include <linux/idr.h>
#include "watch.h"
#include "ag.h"
#include "fence.h"
#include "index.h"
#include "member.h"
#include "presence.h"
#include "stats.h"

#define KVC_REASON_SIZE	768

/**
 * struct kvc_identity - whom an attachment is for
 * @nqn: host NQN, may be empty
 * @node: host name
 * @boot_id: of this boot
 * @attach_id: random
 */
struct kvc_identity {
	char nqn[KVC_NQN_SIZE];
	char node[KVC_NAME_SIZE];
	u8 boot_id[16];
	u8 attach_id[16];
};

/**
 * struct kvc_grant - what a lock service grants to a host
 * @slot: slot
 * @incarnation: and its incarnation; 0: none was granted yet
 * @until: boot time in ns at which the grant ends
 * @epochs: by AG, KVC_MAX_AGS of them: with which epoch it is to be owned, 0: it
 *	is not; owned by whoever passes the structure
 */
struct kvc_grant {
	u32 slot;
	u64 incarnation;
	u64 until;
	u64 *epochs;
};

/**
 * struct kvc_join - one membership in a pool
 * @pool: attachment
 * @set: its members
 * @g: its geometry
 * @writer: slot and incarnation
 * @index: index
 * @ags: AGs, g->nr_ags of them
 * @wq: AG workers
 * @beat_wq: heartbeat, so that no AG's work delays it
 * @lease_until: boot time in ns at which the lease runs out
 * @slot_sequence: of our slot's blocks; the heartbeat's alone
 * @heartbeat: counter in the slot
 * @state: enum kvc_slot_state to show; heartbeat and join
 * @beat: heartbeat
 * @slots: all slots
 * @stopping: detach or lapse: no worker starts anything
 * @cpu_ag: per CPU, segments begun: moves the AG that its puts go to
 * @next_ag: the other AG that a put considers
 * @space_wait: puts that wait for a clean segment
 * @settle_wait: puts that wait for another put of the same key
 * @started: jiffies at which the first look at the slots was complete
 * @frozen_until: jiffies before which segments found open are not written (Q)
 * @share: the other hosts; NULL: there are none (KVCACHE_MODE_EXCLUSIVE)
 * @wanted_slot: slot that it is to have, KVC_NO_SLOT: any that is free
 * @granted_until: boot time in ns at which the lock service's grant ends;
 *	U64_MAX without one. Only goes up
 * @beats_begun: heartbeats, as they begin; the heartbeat's alone
 * @beats_shown: the last of them that is down on a majority
 * @beaten: jiffies at which one last began
 * @own: brings what we own in line with what we shall own
 * @relabels: our slot says that we change the labels; under the pool's @life
 * @load_ns: time that loading took
 * @load_objects: objects found
 */
struct kvc_join {
	struct kvc_pool *pool;
	struct kvc_member_set *set;
	const struct kvc_geometry *g;
	struct kvc_writer writer;
	struct kvc_index index;
	struct kvc_ag *ags;
	struct workqueue_struct *wq;
	struct workqueue_struct *beat_wq;
	u64 lease_until;
	u64 slot_sequence;
	u64 heartbeat;
	u32 state;
	struct delayed_work beat;
	struct kvc_slots *slots;
	bool stopping;
	u32 __percpu *cpu_ag;
	atomic_t next_ag;
	wait_queue_head_t space_wait;
	wait_queue_head_t settle_wait;
	unsigned long started;
	unsigned long frozen_until;
	struct kvc_share *share;
	u32 wanted_slot;
	u64 granted_until;
	u64 beats_begun;
	u64 beats_shown;
	unsigned long beaten;
	struct delayed_work own;
	bool relabels;
	u64 load_ns;
	u64 load_objects;
};

enum kvc_pool_state {
	KVC_POOL_UP,		/* @join serves */
	KVC_POOL_LAPSED,	/* no join: the lease ran out */
	KVC_POOL_CLOSING,	/* detach */
};

/**
 * struct kvc_pool - an attachment
 * @number: from 1
 * @id: whom for
 * @set: members
 * @g: geometry. Between two memberships it may grow, under @life and
 *	@members_lock; who has either, or is inside @ops, can rely on it
 * @label_sequence: of the label, as attach wrote it
 * @label_writer: likewise
 * @node: character node, or an ERR_PTR()
 * @join: present membership; valid under a reference of @ops
 * @ops: calls in progress
 * @ops_gone: completed when @ops has drained
 * @state: enum kvc_pool_state
 * @rejoin: tears a lapsed join down and begins a new one
 * @life: serialises rejoin, detach and abandon; held over a join
 * @members_lock: held by who looks at members without being inside @ops
 * @degraded: attached without all members
 * @mode: KVCACHE_MODE_*, and what attach said with it
 * @host: see @mode
 * @hosts: likewise
 * @staleness_ms: likewise
 * @grant: KVCACHE_MODE_GRANTED: of the present or the last membership; under
 *	@life
 * @joining_lock: guards @joining
 * @joining: the membership that @grant is to become, while it is no more than
 *	that; a call that prolongs it can't wait for @life
 * @fence: registrations with the members, and who lost theirs
 * @stats: counters since attach
 * @gone: its members are closed
 * @watches: who follows what is dropped
 * @presence: what userspace looks keys up in
 * @detaching: one detach or abandon at a time
 * @ref: the registry's and those of callers (kvc_pool_get())
 * @rcu: frees it
 */
struct kvc_pool {
	u32 number;
	struct rcu_head rcu;		/* near the start: see kvfree_rcu() */
	struct kvc_identity id;
	struct kvc_member_set set;
	struct kvc_geometry g;
	u64 label_sequence;
	struct kvc_writer label_writer;
	struct kvc_node *node;
	struct kvc_join *join;
	struct percpu_ref ops;
	struct completion ops_gone;
	int state;
	struct delayed_work rejoin;
	struct mutex life;
	struct rw_semaphore members_lock;
	bool degraded;
	u32 mode;
	u32 host;
	u32 hosts;
	u32 staleness_ms;
	struct kvc_grant grant;
	spinlock_t joining_lock;
	struct kvc_join *joining;
	struct kvc_fence fence;
	struct kvc_stats __percpu *stats;
	int detaching;
	bool gone;
	struct kvc_watches watches;
	struct kvc_presence presence;
	struct kref ref;
};

/* --- pool.c --- */

/**
 * struct kvc_attach_args - what attach needs, copied from the caller
 * @number: wanted, 0: lowest free
 * @degraded: members may be missing
 * @fence: register with the members, so that hosts can be fenced
 * @mode: KVCACHE_MODE_*
 * @host: KVCACHE_MODE_STATIC: which
 * @hosts: KVCACHE_MODE_STATIC: of how many
 * @staleness_ms: see uapi
 * @id: identity, less attach_id
 * @nr: members given
 * @paths: their paths
 * @wwid_hashes: their identifiers' hashes, 0: unknown
 * @reason: KVC_REASON_SIZE bytes for a sentence on failure
 */
struct kvc_attach_args {
	u32 number;
	bool degraded;
	bool fence;
	u32 mode;
	u32 host;
	u32 hosts;
	u32 staleness_ms;
	struct kvc_identity id;
	u32 nr;
	char **paths;
	u64 *wwid_hashes;
	char *reason;
};

int kvc_pool_attach(struct kvc_attach_args *args, u32 *number);
int kvc_pool_detach(u32 number, unsigned int timeout_ms);

/**
 * kvc_pool_grant() - carry out what a lock service grants
 * @pool: attached with KVCACHE_MODE_GRANTED
 * @grant: what; its epochs stay the caller's
 *
 * Joins with a new incarnation, or prolongs the present one and changes what it
 * owns. Return: as KVCACHE_IOC_GRANT.
 */
int kvc_pool_grant(struct kvc_pool *pool, const struct kvc_grant *grant);

/**
 * kvc_pool_prolong() - move the end of a grant that is being joined by
 * @pool: any
 * @grant: which, and until when; the rest is not looked at
 *
 * Doesn't wait. Return: 0; -EAGAIN: no such join is in progress; -ETIMEDOUT: that
 * time has passed.
 */
int kvc_pool_prolong(struct kvc_pool *pool, const struct kvc_grant *grant);

/* The membership that a grant is being joined by has begun, or (NULL) is over. */
void kvc_pool_joining(struct kvc_pool *pool, struct kvc_join *join);

/**
 * kvc_pool_refresh() - take up labels that tell of more members
 * @pool: attachment
 * @args: all its members
 *
 * The membership ends in good order and a new one begins; calls get -ESTALE
 * meanwhile. With KVCACHE_MODE_GRANTED it begins with the next grant.
 *
 * Return: 0, also if nothing has changed; -ETIMEDOUT: calls in progress did not
 * end; -EUCLEAN; -ENODEV; -EINTR; as kvc_pool_attach() of the new membership,
 * which is tried again until it is there.
 */
int kvc_pool_refresh(struct kvc_pool *pool, struct kvc_attach_args *args);

struct kvc_found_pool;

/* The same with labels that were read already; @life is held. */
int kvc_pool_refresh_found(struct kvc_pool *pool, struct kvc_attach_args *args,
			   const struct kvc_found_pool *found);

/* Pool by number, 0: the lowest. NULL if there is none. */
struct kvc_pool *kvc_pool_get(u32 number);
void kvc_pool_put(struct kvc_pool *pool);

/* Numbers of the attached pools: fills at most @room, returns how many. */
u32 kvc_pool_numbers(u32 *numbers, u32 room);

/**
 * kvc_pool_enter() - begin an operation
 *
 * Return: 0 (end it with kvc_pool_leave()); -ESTALE: lapsed, joining anew;
 * -ENODEV: closing.
 */
int kvc_pool_enter(struct kvc_pool *pool);
void kvc_pool_leave(struct kvc_pool *pool);

/* Simulated crash: all I/O stops, all state is forgotten, nothing is written. */
int kvc_pool_abandon(struct kvc_pool *pool);

/* The lease is over: begin the rejoin. Any context. */
void kvc_pool_lapse(struct kvc_pool *pool);

void kvc_pools_exit(void);

/* --- join.c --- */

/**
 * kvc_join_create() - claim a slot, load every AG
 * @pool: attachment, members open
 * @reason: see struct kvc_attach_args
 * @out: the join
 *
 * Sleeps for as long as the watch takes; a signal ends it with -EINTR.
 */
int kvc_join_create(struct kvc_pool *pool, char *reason,
		    struct kvc_join **out);

/* A join that never begins, to see what slots show; and the end of it. */
int kvc_join_peek(struct kvc_pool *pool, struct kvc_join **out);
void kvc_join_unpeek(struct kvc_join *join);

/*
 * Let the AGs' workers begin: they evict, and a join that comes to nothing must
 * not have done that.
 */
void kvc_join_run(struct kvc_join *join);

/* Tear down. @leave: in good order (detach), with the slot saying so. */
void kvc_join_destroy(struct kvc_join *join, bool leave);

/* End what is in progress, so that calls come back: nothing commits any more. */
void kvc_join_cut(struct kvc_join *join, int error);

/* The lease is over, or has to be given up: begin anew. Any context. */
void kvc_join_lapse(struct kvc_join *join);

/* Our slot has news that others wait for: don't wait for the next heartbeat. */
void kvc_join_beat_soon(struct kvc_join *join);

/**
 * kvc_join_wait_shown() - wait until our slot shows what is true now
 *
 * Return: 0; -ESTALE: the membership ends.
 */
int kvc_join_wait_shown(struct kvc_join *join);

/* May a write of ours that failed still land? Then who is next waits for Q. */
bool kvc_join_unsure(struct kvc_join *join);

/* May writes of this owner still be on their way? For takeovers. */
bool kvc_join_in_doubt(struct kvc_join *join, u32 slot, u64 incarnation);

/* --- drain.c --- */

/**
 * kvc_join_settle_drain() - wait until nothing more comes to drained members
 *
 * What is open there is put aside, and puts on their way there have ended.
 * Return: 0; -ETIMEDOUT; -ESTALE: the membership ends.
 */
int kvc_join_settle_drain(struct kvc_join *join);

/* --- own.c --- */

void kvc_own_init(struct kvc_join *join);

/* What is to be owned (@epochs by AG, NULL: as the mode says) has changed. */
void kvc_own_want(struct kvc_join *join, const u64 *epochs);

/* Nothing changes hands any more. */
void kvc_own_stop(struct kvc_join *join);

/**
 * kvc_own_settle() - wait until all is owned that is wanted
 *
 * Return: 0; -EBUSY: another host holds some of it (see @reason); -EINTR;
 * -ESTALE; -ETIMEDOUT.
 */
int kvc_own_settle(struct kvc_join *join, char *reason);

/* Does the lease hold now? Any context. */
bool kvc_join_lease_ok(const struct kvc_join *join);

#define kvc_reason(buf, fmt, ...)					\
	do {								\
		if (buf)						\
			snprintf(buf, KVC_REASON_SIZE, fmt, ##__VA_ARGS__); \
	} while (0)

#endif
