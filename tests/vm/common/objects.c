// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "again.h"
#include "objects.h"

#define BATCH 64

const char *const vt_answer_name[VT_NR_ANSWERS] = {
	"hit", "miss", "rotten", "busy", "late", "error", "former", "WRONG",
};

void vt_objects_make(struct vt_object *o, unsigned int n, const char *prefix,
		     uint64_t seed, uint32_t min, uint32_t max)
{
	struct vt_rng rng = { seed };
	unsigned int i;

	for (i = 0; i < n; i++) {
		memset(&o[i], 0, sizeof(o[i]));
		snprintf(o[i].key, sizeof(o[i].key), "%s-%u", prefix, i);
		o[i].seed = vt_rand(&rng) | 1;
		o[i].len = min + (uint32_t)vt_below(&rng, max - min + 1);
	}
}

static __thread uint8_t *scratch;
static __thread size_t scratch_room;

/* Memory that only grows, for one thread. */
static uint8_t *room_for(size_t len)
{
	if (len > scratch_room) {
		free(scratch);
		scratch_room = len;
		scratch = malloc(len);
		vt_need(scratch, "%zu bytes of memory", len);
	}
	return scratch;
}

/*
 * A call gave up, and the memory is still under I/O: it is never used again, or
 * that I/O would end in what another call has read there.
 */
static void leave_room(void)
{
	scratch = NULL;
	scratch_room = 0;
}

/*
 * One command; a lease that ran out, on a busy machine, is waited for. What it
 * had begun may be done then: that is @done.
 */
static int stubborn(struct kvc *kvc, unsigned long cmd, struct kvcache_io *io,
		    int done)
{
	const struct kvc_call call = { .deadline_ms = 30000 };
	uint64_t end = vt_ms() + AGAIN_MS;
	int err = again_one(kvc, cmd, &call, io);
	bool again = false;

	while (err == -ESTALE && vt_ms() < end) {
		vt_sleep_ms(50);
		err = again_one(kvc, cmd, &call, io);
		again = true;
	}
	return again && err == done ? 0 : err;
}

unsigned int vt_objects_put(struct kvc *kvc, struct vt_object *o, unsigned int n)
{
	struct kvcache_io io;
	unsigned int i, done = 0;

	for (i = 0; i < n; i++) {
		room_for(o[i].len);
		vt_fill(scratch, o[i].seed, 0, o[i].len);
		kvc_prep_data(&io, o[i].key, strlen(o[i].key), scratch,
			      o[i].len);
		o[i].status = stubborn(kvc, KVCACHE_IOC_PUT, &io, -EEXIST);
		if (io.out_flags & KVCACHE_IO_BUSY)
			leave_room();
		o[i].answer = o[i].status ? VT_ERROR : VT_HIT;
		done += !o[i].status;
	}
	return done;
}

int vt_object_delete(struct kvc *kvc, struct vt_object *o)
{
	struct kvcache_io io;

	kvc_prep(&io, o->key, strlen(o->key));
	o->status = stubborn(kvc, KVCACHE_IOC_DELETE, &io, -ENOENT);
	return o->status;
}

static enum vt_answer judge(const struct vt_object *o, const struct kvcache_io *io,
			    const uint8_t *buf)
{
	switch (io->status) {
	case 0:
		break;
	case -ENOENT:
		return VT_MISS;
	case -EBADMSG:
		return VT_ROTTEN;
	case -EAGAIN:
		return VT_BUSY;
	case -ETIMEDOUT:
		return VT_LATE;
	default:
		return VT_ERROR;
	}
	if (io->length != o->len || io->transferred != o->len)
		return VT_WRONG;
	if (vt_differs(buf, o->seed, 0, o->len) < 0)
		return VT_HIT;
	if (o->former && vt_differs(buf, o->former, 0, o->len) < 0)
		return VT_FORMER;
	return VT_WRONG;
}

static void get_some(struct kvc *kvc, struct vt_object *o, unsigned int n,
		     unsigned int deadline_ms)
{
	const struct kvc_call call = { .deadline_ms = deadline_ms };
	struct kvcache_io io[BATCH];
	size_t at[BATCH], len = 0;
	bool busy = false;
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < n; i++) {
		at[i] = len;
		len += o[i].len;
	}
	memset(room_for(len), 0xa5, len);
	for (i = 0; i < n; i++)
		kvc_prep_data(&io[i], o[i].key, strlen(o[i].key), scratch + at[i],
			      o[i].len);
	ret = kvc_batch_get(kvc, &call, io, n);
	for (i = 0; i < n; i++) {
		if (ret < 0) {
			o[i].status = (int)ret;
			o[i].answer = VT_ERROR;
			continue;
		}
		o[i].status = io[i].status;
		o[i].answer = judge(&o[i], &io[i], scratch + at[i]);
		busy |= io[i].out_flags & KVCACHE_IO_BUSY;
	}
	if (busy)
		leave_room();
}

void vt_objects_get(struct kvc *kvc, struct vt_object *o, unsigned int n,
		    unsigned int deadline_ms, struct vt_tally *tally)
{
	unsigned int at, i, some;

	memset(tally, 0, sizeof(*tally));
	for (at = 0; at < n; at += some) {
		some = n - at < BATCH ? n - at : BATCH;
		get_some(kvc, o + at, some, deadline_ms);
		for (i = 0; i < some; i++)
			tally->n[o[at + i].answer]++;
	}
}

enum vt_answer vt_object_get(struct kvc *kvc, struct vt_object *o,
			     unsigned int deadline_ms)
{
	get_some(kvc, o, 1, deadline_ms);
	return o->answer;
}

const char *vt_tally_text(const struct vt_tally *tally)
{
	static __thread char text[256];
	size_t at = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < VT_NR_ANSWERS; i++)
		if (tally->n[i])
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%u %s", at ? ", " : "",
					       tally->n[i], vt_answer_name[i]);
	return text;
}
