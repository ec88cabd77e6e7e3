/* SPDX-License-Identifier: GPL-2.0 */
/* Known objects: put, then got again and judged by every byte. */
#ifndef KVC_VT_OBJECTS_H
#define KVC_VT_OBJECTS_H

#include "vmtest.h"

enum vt_answer {
	VT_HIT,		/* exactly the bytes that were put */
	VT_MISS,	/* ENOENT */
	VT_ROTTEN,	/* EBADMSG */
	VT_BUSY,	/* EAGAIN */
	VT_LATE,	/* ETIMEDOUT */
	VT_ERROR,	/* any other error */
	VT_FORMER,	/* bytes of what was put under the key before */
	VT_WRONG,	/* other bytes, or another length */
	VT_NR_ANSWERS,
};

extern const char *const vt_answer_name[VT_NR_ANSWERS];

/**
 * struct vt_object - one object
 * @key: key, text
 * @seed: of its bytes
 * @former: seed of what was put under the key and deleted before; 0: nothing
 * @len: length of either
 * @gone: it was deleted, so it is to miss
 * @answer: of the last vt_objects_get()
 * @status: likewise
 * @ag: for the test
 * @segment: likewise
 */
struct vt_object {
	char key[40];
	uint64_t seed;
	uint64_t former;
	uint32_t len;
	bool gone;
	enum vt_answer answer;
	int status;
	uint32_t ag;
	uint32_t segment;
};

struct vt_tally {
	unsigned int n[VT_NR_ANSWERS];
};

/* Name @n objects "@prefix-N" with lengths from @min to @max. */
void vt_objects_make(struct vt_object *o, unsigned int n, const char *prefix,
		     uint64_t seed, uint32_t min, uint32_t max);
/* Put them, asking again where that helps. Those that could not be: VT_ERROR. How many were. */
unsigned int vt_objects_put(struct kvc *kvc, struct vt_object *o, unsigned int n);
/* 0 or -errno; it too asks again where that helps. */
int vt_object_delete(struct kvc *kvc, struct vt_object *o);
/* Get all of them, many in a call. */
void vt_objects_get(struct kvc *kvc, struct vt_object *o, unsigned int n,
		    unsigned int deadline_ms, struct vt_tally *tally);
/* One, by itself. */
enum vt_answer vt_object_get(struct kvc *kvc, struct vt_object *o,
			     unsigned int deadline_ms);
/* "12 HIT, 3 MISS": in a buffer of the thread's. */
const char *vt_tally_text(const struct vt_tally *tally);

#endif
