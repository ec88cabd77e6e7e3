/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a pool must hold after a crash.
 *
 * A key is in a state: 0 (absent), or the number of the version that was put.
 * What an operation that was answered has led to is sure; one that was not
 * answered may have happened or not, and the key is left alone until the next
 * look at the pool has told. Bytes follow from key and version, so no byte can
 * be another version's or another key's by chance.
 */
#ifndef KVC_MODEL_H
#define KVC_MODEL_H

#include "vmtest.h"

#define MODEL_NONE UINT32_MAX

/*
 * Seconds for which the kernel may still give what has expired: on an emulated
 * machine that gets no CPU its coarse clock runs behind.
 */
#define MODEL_LATE 5

/**
 * struct model_key - what is known of a key
 * @version: the newest that was ever begun
 * @sure: state, unless @maybe holds
 * @maybe: the other state that it may be in, or MODEL_NONE
 * @round: in which @sure was put
 * @expiry: of @version, or 0
 * @pin: of @version, or 0
 */
struct model_key {
	uint32_t version;
	uint32_t sure;
	uint32_t maybe;
	uint32_t round;
	uint64_t expiry;
	uint64_t pin;
};

/**
 * struct model - keys and how they are used
 * @seed: of keys, lengths and bytes
 * @nr: keys
 * @max_len: of an object
 * @evicts: the pool is too small for all of them: pins count, and a put over an
 *	object finds out whether it has been evicted
 * @round: crashes so far
 * @keys: keys
 */
struct model {
	uint64_t seed;
	uint32_t nr;
	uint32_t max_len;
	bool evicts;
	uint32_t round;
	struct model_key *keys;
};

#define MODEL_KEY_MAX 512

void model_init(struct model *m, uint64_t seed, uint32_t nr, uint32_t max_len);
void model_free(struct model *m);

/* The bytes of a key: its length. */
uint32_t model_key(const struct model *m, uint32_t key, uint8_t *bytes);
uint32_t model_tenant(uint32_t key);
uint32_t model_len(const struct model *m, uint32_t key, uint32_t version);
void model_fill(const struct model *m, uint32_t key, uint32_t version,
		void *data);
/* Are these @len bytes exactly that version? */
bool model_is(const struct model *m, uint32_t key, uint32_t version,
	      const void *data, uint64_t len);

/* Is its state known? */
static inline bool model_settled(const struct model_key *k)
{
	return k->maybe == MODEL_NONE;
}

/* Is it past its expiry? 1: surely, 0: surely not, -1: about now. */
int model_expired(const struct model_key *k, uint32_t state);

/*
 * Is a miss of a key that should be there a miss, and not for want of a
 * lease? 1: it is, 0: it is there, -errno: nobody can tell now.
 */
int model_misses(const struct model *m, struct kvc *kvc, uint32_t key);

#define MODEL_GONE 8

/**
 * struct model_seen - what a look at all keys has found
 * @hits: objects that were there
 * @gone: objects that were not: evicted, if the counters say so
 * @gone_key: some of them
 * @gone_round: the latest round that one of them was put in
 * @expired: objects that expired
 * @old: operations in flight that had not happened
 * @new: those that had
 */
struct model_seen {
	uint32_t hits;
	uint32_t gone;
	uint32_t gone_key[MODEL_GONE];
	uint32_t gone_round;
	uint32_t expired;
	uint32_t old;
	uint32_t new;
};

/*
 * Get every key that was ever used: each must be in a state that it may be in,
 * which then is sure. Counts what is wrong with vt_expect(); false if anything
 * is. @threads look side by side.
 */
bool model_verify(struct model *m, struct kvc *kvc, uint32_t threads,
		  struct model_seen *seen);

/* Is nothing gone that was put in round @kept or later, and at most @most? */
bool model_judge_gone(const struct model *m, const struct model_seen *seen,
		      uint64_t most, uint32_t kept);

/* Every key that is surely there is listed, and none that surely is not. */
bool model_verify_list(struct model *m, struct kvc *kvc);

#endif
