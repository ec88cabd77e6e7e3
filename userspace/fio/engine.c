// SPDX-License-Identifier: GPL-2.0
/*
 * A fio engine: I/O on the objects of a pool.
 *
 * A fio file is a range of keys: what is at offset O of it is the object whose key
 * is prefix, file name and O. Without kvc_object_size an I/O is one object, as
 * large as the I/O; with it the file is cut into objects of that size, and an I/O
 * is a batch of them. Objects do not change, so an overwrite is a delete and a put.
 *
 * Built against the headers of exactly the fio that loads it, whose licence it
 * therefore has; libkvcache is linked into it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fio.h>
#include <optgroup.h>

#include <kvcache.h>

#define AGAIN_US	1000	/* between two tries of what answered EAGAIN */

/**
 * struct settings - the engine's options, filled in by fio
 * @pad: fio takes an option at offset 0 for one without a place
 * @device: node, NULL: /dev/kvcache
 * @prefix: keys begin with it
 * @object_size: bytes of an object, 0: as large as the I/O
 * @pool: number, 0: the default pool
 * @tenant: tenant
 * @key_size: bytes that keys have at least
 * @deadline: of a call, in ms; 0: the kernel's default
 * @again: for how long an answer EAGAIN is tried again, in ms
 * @sync: by ioctl, not by io_uring
 * @registered: register fio's memory with the ring
 * @miss_zero: a read of what isn't there gives zeroes
 */
struct settings {
	void *pad;
	char *device;
	char *prefix;
	unsigned long long object_size;
	unsigned int pool;
	unsigned int tenant;
	unsigned int key_size;
	unsigned int deadline;
	unsigned int again;
	unsigned int sync;
	unsigned int registered;
	unsigned int miss_zero;
};

/* What a request has to do next. */
enum step { STEP_GET, STEP_PUT, STEP_REPLACE, STEP_TRIM };

/**
 * struct piece - the part of an I/O that one object has
 * @object: offset of the object in its file
 * @data: its memory
 * @len: bytes of memory
 * @from: read: first byte of the object that is wanted
 * @part: read: not the whole object
 */
struct piece {
	uint64_t object;
	char *data;
	uint64_t len;
	uint64_t from;
	bool part;
};

/**
 * struct request - an I/O under way; belongs to its struct io_u
 * @io_u: whose it is
 * @step: what is being done
 * @pieces: what is not done yet
 * @left: how many
 * @ios: for the kernel, one for each piece
 * @keys: their keys, of struct engine's key_room bytes each
 * @give_up: when EAGAIN becomes an error, 0: none was seen
 */
struct request {
	struct io_u *io_u;
	enum step step;
	struct piece *pieces;
	unsigned int left;
	struct kvcache_io *ios;
	char *keys;
	uint64_t give_up;
};

/**
 * struct engine - of one job
 * @kvc: handle
 * @queue: NULL if sync
 * @call: of every call
 * @settings: options
 * @max_pieces: of one I/O
 * @key_room: bytes of the longest key
 * @done: completions, iodepth of them
 * @events: requests that have completed, for fio to fetch
 */
struct engine {
	struct kvc *kvc;
	struct kvc_queue *queue;
	struct kvc_call call;
	const struct settings *settings;
	unsigned int max_pieces;
	unsigned int key_room;
	struct kvc_done *done;
	struct io_u **events;
};

#define PLACE(member) .off1 = offsetof(struct settings, member)
#define GROUP .category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID

static struct fio_option options[] = {
	{
		.name = "kvc_device", .lname = "kvcache device",
		.type = FIO_OPT_STR_STORE, PLACE(device), GROUP,
		.help = "Character device; default: /dev/kvcache",
	}, {
		.name = "kvc_pool", .lname = "kvcache pool",
		.type = FIO_OPT_INT, PLACE(pool), .def = "0", GROUP,
		.help = "Number of the pool; 0: the default pool",
	}, {
		.name = "kvc_tenant", .lname = "kvcache tenant",
		.type = FIO_OPT_INT, PLACE(tenant), .def = "0", GROUP,
		.help = "Tenant that the keys belong to",
	}, {
		.name = "kvc_object_size", .lname = "kvcache object size",
		.type = FIO_OPT_STR_VAL, PLACE(object_size), .def = "0", GROUP,
		.help = "Bytes of an object; 0: each I/O is one object",
	}, {
		.name = "kvc_prefix", .lname = "kvcache key prefix",
		.type = FIO_OPT_STR_STORE, PLACE(prefix), .def = "fio/", GROUP,
		.help = "What keys begin with",
	}, {
		.name = "kvc_key_size", .lname = "kvcache key size",
		.type = FIO_OPT_INT, PLACE(key_size), .def = "0",
		.maxval = KVCACHE_KEY_MAX, GROUP,
		.help = "Bytes that keys have at least",
	}, {
		.name = "kvc_deadline", .lname = "kvcache deadline",
		.type = FIO_OPT_INT, PLACE(deadline), .def = "0",
		.maxval = KVCACHE_DEADLINE_MAX_MS, GROUP,
		.help = "Deadline of a call in milliseconds; 0: the kernel's default",
	}, {
		.name = "kvc_again", .lname = "kvcache again",
		.type = FIO_OPT_INT, PLACE(again), .def = "30000", GROUP,
		.help = "How long EAGAIN is tried again, in milliseconds",
	}, {
		.name = "kvc_sync", .lname = "kvcache sync",
		.type = FIO_OPT_BOOL, PLACE(sync), .def = "0", GROUP,
		.help = "One call at a time by ioctl, instead of io_uring",
	}, {
		.name = "kvc_registered", .lname = "kvcache registered memory",
		.type = FIO_OPT_BOOL, PLACE(registered), .def = "0", GROUP,
		.help = "Pin the memory once, at the beginning",
	}, {
		.name = "kvc_miss_zero", .lname = "kvcache miss is zero",
		.type = FIO_OPT_BOOL, PLACE(miss_zero), .def = "0", GROUP,
		.help = "A read of what is not there gives zeroes, not ENOENT",
	}, {
		.name = NULL,
	},
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- keys and pieces --- */

static size_t prefix_len(const struct settings *s)
{
	return s->prefix ? strlen(s->prefix) : 0;
}

/* Without the offset's zeroes in front, with which keys get their size. */
#define KEY_DIGITS	16

static size_t key_len(const struct settings *s, const struct fio_file *f)
{
	size_t len = prefix_len(s) + strlen(f->file_name) + 1 + KEY_DIGITS;

	return len < s->key_size ? s->key_size : len;
}

/* Prefix, file name, '@', hexadecimal offset. Return: its length. */
static size_t key_of(const struct settings *s, const struct fio_file *f,
		     uint64_t offset, char *key)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = key_len(s, f), at = len, prefix = prefix_len(s);
	size_t name = strlen(f->file_name);

	memcpy(key, s->prefix, prefix);
	memcpy(key + prefix, f->file_name, name);
	key[prefix + name] = '@';
	while (at > prefix + name + 1) {
		key[--at] = digits[offset & 15];
		offset >>= 4;
	}
	return len;
}

/* Cut an I/O into objects. Return: 0 or an errno. */
static int cut(const struct engine *e, struct request *r)
{
	const struct io_u *io_u = r->io_u;
	uint64_t size = e->settings->object_size, at = io_u->offset;
	uint64_t end = at + io_u->xfer_buflen;
	char *data = io_u->xfer_buf;

	r->left = 0;
	if (!size) {
		r->pieces[r->left++] = (struct piece) {
			.object = at, .data = data, .len = end - at,
		};
		return 0;
	}
	/* Objects are written and trimmed as a whole. */
	if (io_u->ddir != DDIR_READ && (at % size || end % size)) {
		log_err("kvcache: %llu bytes at %llu are not whole objects of %llu: choose other block sizes\n",
			(unsigned long long)(end - at), (unsigned long long)at,
			(unsigned long long)size);
		return EINVAL;
	}
	while (at < end) {
		uint64_t from = at % size;
		uint64_t len = size - from < end - at ? size - from : end - at;

		if (r->left == e->max_pieces)
			return EINVAL;
		r->pieces[r->left++] = (struct piece) {
			.object = at - from, .data = data, .len = len,
			.from = from, .part = len != size,
		};
		at += len;
		data += len;
	}
	return 0;
}

/* --- a request, step by step --- */

static void prepare(const struct engine *e, struct request *r)
{
	const struct fio_file *f = r->io_u->file;
	unsigned int i;

	for (i = 0; i < r->left; i++) {
		const struct piece *p = &r->pieces[i];
		char *key = r->keys + (size_t)i * e->key_room;
		size_t len = key_of(e->settings, f, p->object, key);

		if (r->step == STEP_REPLACE || r->step == STEP_TRIM)
			kvc_prep(&r->ios[i], key, len);
		else
			kvc_prep_data(&r->ios[i], key, len, p->data, p->len);
		if (p->part && r->step == STEP_GET)
			kvc_set_range(&r->ios[i], p->from);
	}
}

static int begin(const struct engine *e, struct request *r)
{
	static const enum step first[] = {
		[DDIR_READ] = STEP_GET,
		[DDIR_WRITE] = STEP_PUT,
		[DDIR_TRIM] = STEP_TRIM,
	};

	r->step = first[r->io_u->ddir];
	r->give_up = 0;
	return cut(e, r);
}

/* Is EAGAIN to be tried again? */
static bool again(const struct engine *e, struct request *r)
{
	uint64_t now = now_ms();

	if (!r->give_up)
		r->give_up = now + e->settings->again;
	return now < r->give_up;
}

/* Is the read of a piece over? Return: 0: yes, EAGAIN: not yet, an errno. */
static int judge_get(const struct engine *e, struct piece *p,
		     const struct kvcache_io *io)
{
	uint64_t got = io->status ? 0 : io->transferred;

	/* It is larger than what is wanted of it. */
	if (io->status == -EMSGSIZE && !p->part) {
		p->part = true;
		return EAGAIN;
	}
	if (io->status && io->status != -ENOENT)
		return -io->status;
	if (got == p->len)
		return 0;
	if (!e->settings->miss_zero)
		return io->status ? ENOENT : ENODATA;
	memset(p->data + got, 0, p->len - got);
	return 0;
}

static int judge(const struct engine *e, const struct request *r,
		 struct piece *p, const struct kvcache_io *io)
{
	if (r->step == STEP_GET)
		return judge_get(e, p, io);
	if (io->status == -ENOENT && r->step == STEP_TRIM)
		return 0;
	/* What was deleted, or was not there, has to be put now. */
	if (r->step == STEP_REPLACE && (!io->status || io->status == -ENOENT))
		return EAGAIN;
	return -io->status;
}

/*
 * A call has ended. Return: true: the request is over, with an error or without;
 * false: there is more to do. @wait: but after a while.
 */
static bool step(const struct engine *e, struct request *r, int64_t result,
		 bool *wait)
{
	bool replace = false, answered = false;
	unsigned int i, kept = 0;

	*wait = false;
	for (i = 0; i < r->left; i++) {
		int status = result < 0 ? (int)-result :
					  judge(e, r, &r->pieces[i], &r->ios[i]);
		int said = result < 0 ? (int)result : r->ios[i].status;

		if (!status)
			continue;
		if (status == EEXIST && r->step == STEP_PUT)
			replace = true;
		else if (status != EAGAIN)
			r->io_u->error = (unsigned int)status;
		else if (said == -EAGAIN)
			*wait = true;
		else
			answered = true;
		r->pieces[kept++] = r->pieces[i];
	}
	r->left = kept;
	if (r->io_u->error || !kept)
		return true;
	if (*wait && !again(e, r)) {
		r->io_u->error = EAGAIN;
		return true;
	}
	if (replace)
		r->step = STEP_REPLACE;
	else if (r->step == STEP_REPLACE && answered)
		r->step = STEP_PUT;
	return false;
}

static ssize_t run(struct engine *e, struct request *r)
{
	if (r->step == STEP_GET)
		return kvc_batch_get(e->kvc, &e->call, r->ios, r->left);
	if (r->step == STEP_PUT)
		return kvc_batch_put(e->kvc, &e->call, r->ios, r->left);
	return kvc_batch_delete(e->kvc, &e->call, r->ios, r->left);
}

static enum fio_q_status carry_out(struct engine *e, struct request *r)
{
	bool wait = false;

	do {
		if (wait)
			usleep(AGAIN_US);
		prepare(e, r);
	} while (!step(e, r, run(e, r), &wait));
	return FIO_Q_COMPLETED;
}

static int enqueue(struct engine *e, struct request *r)
{
	uint64_t user = (uint64_t)(uintptr_t)r;

	prepare(e, r);
	if (r->step == STEP_GET)
		return kvc_queue_get(e->queue, &e->call, r->ios, r->left, user);
	if (r->step == STEP_PUT)
		return kvc_queue_put(e->queue, &e->call, r->ios, r->left, user);
	return kvc_queue_delete(e->queue, &e->call, r->ios, r->left, user);
}

/* --- what fio calls --- */

static enum fio_q_status engine_queue(struct thread_data *td, struct io_u *io_u)
{
	struct engine *e = td->io_ops_data;
	struct request *r = io_u->engine_data;
	int error;

	fio_ro_check(td, io_u);
	/* A put that has returned is durable. */
	if (ddir_sync(io_u->ddir))
		return FIO_Q_COMPLETED;
	error = begin(e, r);
	if (error) {
		io_u->error = (unsigned int)error;
		return FIO_Q_COMPLETED;
	}
	if (!e->queue)
		return carry_out(e, r);
	error = enqueue(e, r);
	if (error == -EAGAIN)
		return FIO_Q_BUSY;
	if (!error)
		return FIO_Q_QUEUED;
	io_u->error = (unsigned int)-error;
	return FIO_Q_COMPLETED;
}

static int engine_commit(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;
	int ret = e->queue ? kvc_queue_submit(e->queue) : 0;

	return ret < 0 ? ret : 0;
}

/* Go on with what has completed. Return: true if all of it is done. */
static bool completed(struct engine *e, const struct kvc_done *done)
{
	struct request *r = (struct request *)(uintptr_t)done->user_data;
	bool wait;
	int error;

	if (step(e, r, done->result, &wait))
		return true;
	if (wait)
		usleep(AGAIN_US);
	/* It had a place in the queue, which is free again. */
	error = enqueue(e, r);
	if (error)
		r->io_u->error = (unsigned int)-error;
	return error;
}

static int engine_getevents(struct thread_data *td, unsigned int min,
			    unsigned int max, const struct timespec *t)
{
	unsigned int timeout = t ? (unsigned int)(t->tv_sec * 1000 +
						  t->tv_nsec / 1000000) : 0;
	struct engine *e = td->io_ops_data;
	unsigned int nr = 0;
	int i, got;

	if (!e->queue)
		return 0;
	do {
		got = kvc_queue_wait(e->queue, e->done, max - nr,
				     min > nr ? min - nr : 0, timeout);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return got;
		for (i = 0; i < got; i++)
			if (completed(e, &e->done[i]))
				e->events[nr++] = ((struct request *)(uintptr_t)
						   e->done[i].user_data)->io_u;
		if (!got && timeout)
			break;
	} while (nr < min);
	return (int)nr;
}

static struct io_u *engine_event(struct thread_data *td, int event)
{
	struct engine *e = td->io_ops_data;

	return e->events[event];
}

static char *engine_errdetails(struct io_u *io_u)
{
	const char *next = kvc_next_step((int)io_u->error);
	char *text;

	if (asprintf(&text, "kvcache: %s%s%s", kvc_strerror((int)io_u->error),
		     *next ? ": " : "", next) < 0)
		return NULL;
	return text;
}

static void request_free(struct request *r)
{
	if (!r)
		return;
	free(r->pieces);
	free(r->ios);
	free(r->keys);
	free(r);
}

static int engine_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	struct engine *e = td->io_ops_data;
	struct request *r = calloc(1, sizeof(*r));

	io_u->engine_data = r;
	if (!r)
		return ENOMEM;
	r->io_u = io_u;
	r->pieces = calloc(e->max_pieces, sizeof(*r->pieces));
	r->ios = calloc(e->max_pieces, sizeof(*r->ios));
	r->keys = calloc(e->max_pieces, e->key_room);
	return r->pieces && r->ios && r->keys ? 0 : ENOMEM;
}

static void engine_io_u_free(struct thread_data *td, struct io_u *io_u)
{
	(void)td;
	request_free(io_u->engine_data);
	io_u->engine_data = NULL;
}

/* Look at the options, and say what is wrong with them. Return: 0 or an errno. */
static int look_at_options(struct thread_data *td, struct engine *e)
{
	const struct settings *s = e->settings;
	struct kvcache_info info;
	unsigned long long max_bs = td_max_bs(td);
	struct fio_file *f;
	unsigned int i;
	int error = kvc_info(e->kvc, &info, NULL, 0);

	if (error) {
		log_err("kvcache: pool %u: %s\n", s->pool, kvc_strerror(error));
		return -error;
	}
	if ((s->object_size ? s->object_size : max_bs) > info.max_object) {
		log_err("kvcache: the pool's largest object has %llu bytes: choose a smaller %s\n",
			(unsigned long long)info.max_object,
			s->object_size ? "kvc_object_size" : "bs");
		return EFBIG;
	}
	e->max_pieces = 1;
	if (s->object_size && max_bs / s->object_size + 2 > kvc_caps(e->kvc)->batch_max) {
		log_err("kvcache: an I/O of %llu bytes has more than %u objects: choose a larger kvc_object_size\n",
			max_bs, kvc_caps(e->kvc)->batch_max - 2);
		return EINVAL;
	}
	if (s->object_size)
		e->max_pieces = (unsigned int)(max_bs / s->object_size + 2);
	for_each_file(td, f, i) {
		size_t len = key_len(s, f);

		if (len > KVCACHE_KEY_MAX) {
			log_err("kvcache: kvc_prefix, the name '%s' and an offset make more than %d bytes\n",
				f->file_name, KVCACHE_KEY_MAX);
			return ENAMETOOLONG;
		}
		if (len > e->key_room)
			e->key_room = (unsigned int)len;
	}
	return 0;
}

static void engine_cleanup(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;

	if (!e)
		return;
	kvc_queue_close(e->queue);
	kvc_close(e->kvc);
	free(e->done);
	free(e->events);
	free(e);
	td->io_ops_data = NULL;
}

/* Return: 0 or an errno, told. */
static int open_queue(struct thread_data *td, struct engine *e)
{
	unsigned int depth = td->o.iodepth;

	e->done = calloc(depth, sizeof(*e->done));
	e->events = calloc(depth, sizeof(*e->events));
	if (!e->done || !e->events)
		return ENOMEM;
	e->queue = kvc_queue_open(e->kvc, depth);
	if (e->queue)
		return 0;
	log_err("kvcache: no queue of %u calls (%s): kvc_sync=1 works without\n",
		depth, kvc_strerror(errno));
	return errno;
}

static int engine_init(struct thread_data *td)
{
	const struct settings *s = td->eo;
	struct engine *e = calloc(1, sizeof(*e));
	int error = ENOMEM;

	if (!e)
		goto failed;
	td->io_ops_data = e;
	e->settings = s;
	e->call.tenant = s->tenant;
	e->call.deadline_ms = s->deadline;
	/* fio uses its memory again. */
	e->call.flags = KVC_SETTLE;
	e->kvc = kvc_open(s->device, s->pool);
	if (!e->kvc) {
		error = errno;
		log_err("kvcache: %s: %s\n", s->device ? s->device : KVC_DEVICE,
			strerror(error));
		goto failed;
	}
	error = look_at_options(td, e);
	if (!error && !s->sync)
		error = open_queue(td, e);
	if (error)
		goto failed;
	/* fio takes the time of issue before a synchronous engine's call. */
	if (s->sync)
		td->flags |= (unsigned long long)FIO_SYNCIO << TD_ENG_FLAG_SHIFT;
	return 0;

failed:
	td_verror(td, error, "kvcache");
	return 1;
}

/* Now fio's memory is there. */
static int engine_post_init(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;
	struct iovec memory = {
		.iov_base = td->orig_buffer,
		.iov_len = td->orig_buffer_size,
	};
	int error;

	if (!e->queue || !e->settings->registered || !td->orig_buffer)
		return 0;
	error = kvc_queue_register(e->queue, &memory, 1);
	if (!error)
		return 0;
	log_err("kvcache: %zu bytes can't be registered: %s: see ulimit -l\n",
		memory.iov_len, kvc_strerror(error));
	td_verror(td, -error, "kvc_queue_register");
	return 1;
}

static int engine_open_file(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

static int engine_invalidate(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

/* fio finds it by this name. */
struct ioengine_ops ioengine = {
	.name = "kvcache",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL,
	.init = engine_init,
	.post_init = engine_post_init,
	.io_u_init = engine_io_u_init,
	.io_u_free = engine_io_u_free,
	.queue = engine_queue,
	.commit = engine_commit,
	.getevents = engine_getevents,
	.event = engine_event,
	.errdetails = engine_errdetails,
	.cleanup = engine_cleanup,
	.open_file = engine_open_file,
	.close_file = engine_open_file,
	.invalidate = engine_invalidate,
	.options = options,
	.option_struct_size = sizeof(struct settings),
};
