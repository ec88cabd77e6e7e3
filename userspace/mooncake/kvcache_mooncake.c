// SPDX-License-Identifier: MIT
/* Mooncake's calls on libkvcache. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kvcache.h>
#include "kvcache_mooncake.h"

#define GET_DEADLINE_MS 60000
#define PUT_DEADLINE_MS 10000
/* Objects that a scan tells at a time. */
#define SCAN_BATCH 256
/* Of keys that have gone and were not asked for yet: some 100,000. */
#define WATCH_BYTES (16U << 20)

/* Memory that was registered. */
struct buffer {
	struct buffer *next;
	void *address;
	size_t len;
	bool locked;
};

/**
 * struct kvcm - a store
 * @kvc: handle; pools come and go, it stays
 * @get: of gets
 * @put: of all other calls
 * @lock: guards @buffers
 * @buffers: what is registered
 * @watch: stream of what the pool drops, -1: not begun
 */
struct kvcm {
	struct kvc *kvc;
	struct kvc_call get;
	struct kvc_call put;
	pthread_mutex_t lock;
	struct buffer *buffers;
	int watch;
};

enum operation { PUT, GET, EXISTS, DELETE };

static const struct {
	enum kvcm_error error;
	const char *text;
} texts[] = {
	{ KVCM_OK, "OK" },
	{ KVCM_INTERNAL_ERROR, "INTERNAL_ERROR" },
	{ KVCM_BUFFER_OVERFLOW, "BUFFER_OVERFLOW" },
	{ KVCM_SEGMENT_NOT_FOUND, "SEGMENT_NOT_FOUND" },
	{ KVCM_NO_AVAILABLE_HANDLE, "NO_AVAILABLE_HANDLE" },
	{ KVCM_INVALID_KEY, "INVALID_KEY" },
	{ KVCM_INVALID_PARAMS, "INVALID_PARAMS" },
	{ KVCM_OBJECT_NOT_FOUND, "OBJECT_NOT_FOUND" },
	{ KVCM_OBJECT_ALREADY_EXISTS, "OBJECT_ALREADY_EXISTS" },
	{ KVCM_TRANSFER_FAIL, "TRANSFER_FAIL" },
	{ KVCM_CHECKSUM_MISMATCH, "CHECKSUM_MISMATCH" },
	{ KVCM_FILE_OPEN_FAIL, "FILE_OPEN_FAIL" },
	{ KVCM_FILE_READ_FAIL, "FILE_READ_FAIL" },
	{ KVCM_FILE_WRITE_FAIL, "FILE_WRITE_FAIL" },
};

const char *kvcm_strerror(int64_t error)
{
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].error == error)
			return texts[i].text;
	}
	return error > 0 ? "OK" : "unknown error";
}

/*
 * Never KEYS_ULTRA_LIMIT, though Mooncake has it for a full device: it would
 * stop to offload for good, and a pool that is full now evicts.
 */
static int error_of(int error, enum operation operation)
{
	bool writes = operation == PUT || operation == DELETE;

	switch (-error) {
	case 0:
		return KVCM_OK;
	case ENOENT:
		return KVCM_OBJECT_NOT_FOUND;
	case EEXIST:
		return KVCM_OBJECT_ALREADY_EXISTS;
	case EAGAIN:
		return operation == PUT ? KVCM_NO_AVAILABLE_HANDLE :
					  KVCM_TRANSFER_FAIL;
	case EDQUOT:
		return KVCM_NO_AVAILABLE_HANDLE;
	case ETIMEDOUT:
	case ECANCELED:
	case EINTR:
	case ESTALE:
		return KVCM_TRANSFER_FAIL;
	case EMSGSIZE:
		return KVCM_BUFFER_OVERFLOW;
	case EBADMSG:
		return KVCM_CHECKSUM_MISMATCH;
	case EIO:
		return writes ? KVCM_FILE_WRITE_FAIL : KVCM_FILE_READ_FAIL;
	case ENODEV:
		return KVCM_SEGMENT_NOT_FOUND;
	case EINVAL:
	case EFBIG:
	case EFAULT:
		return KVCM_INVALID_PARAMS;
	default:
		return KVCM_INTERNAL_ERROR;
	}
}

/* --- store --- */

int kvcm_open(const struct kvcm_options *options, struct kvcm **store)
{
	static const struct kvcm_options none;
	struct kvcm *s;

	if (!store)
		return KVCM_INVALID_PARAMS;
	*store = NULL;
	if (!options)
		options = &none;
	s = calloc(1, sizeof(*s));
	if (!s)
		return KVCM_INTERNAL_ERROR;
	s->get.tenant = options->tenant;
	s->get.flags = KVC_SETTLE;
	s->get.deadline_ms = options->get_deadline_ms ? options->get_deadline_ms :
							GET_DEADLINE_MS;
	s->put.tenant = options->tenant;
	s->put.flags = KVC_SETTLE;
	s->put.deadline_ms = options->put_deadline_ms ? options->put_deadline_ms :
							PUT_DEADLINE_MS;
	s->kvc = kvc_open(options->device, options->pool);
	if (!s->kvc) {
		free(s);
		return KVCM_FILE_OPEN_FAIL;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->watch = -1;
	*store = s;
	return KVCM_OK;
}

static void buffer_free(struct buffer *b)
{
	if (b->locked)
		munlock(b->address, b->len);
	free(b);
}

void kvcm_close(struct kvcm *store)
{
	struct buffer *b;

	if (!store)
		return;
	while ((b = store->buffers)) {
		store->buffers = b->next;
		buffer_free(b);
	}
	pthread_mutex_destroy(&store->lock);
	if (store->watch >= 0)
		close(store->watch);
	kvc_close(store->kvc);
	free(store);
}

/* --- batches --- */

static void prepare(struct kvcache_io *io, const struct kvcm_item *item,
		    enum operation operation)
{
	if (operation == EXISTS || operation == DELETE)
		kvc_prep(io, item->key, item->key_len);
	else if (item->nr_slices == 1)
		kvc_prep_data(io, item->key, item->key_len,
			      item->slices->iov_base, item->slices->iov_len);
	else
		kvc_prep_iovec(io, item->key, item->key_len, item->slices,
			       item->nr_slices);
}

static uint64_t memory_of(const struct kvcm_item *item)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < item->nr_slices; i++)
		total += item->slices[i].iov_len;
	return total;
}

/* Is the result what was asked for? */
static bool settle(struct kvcm_item *item, const struct kvcache_io *io,
		   int status, enum operation operation)
{
	bool bad_key = !item->key_len || item->key_len > KVCACHE_KEY_MAX;

	item->size = io->length;
	item->result = error_of(status, operation);
	if (status == -EINVAL && bad_key)
		item->result = KVCM_INVALID_KEY;
	switch (operation) {
	case PUT:
		if (status == -EEXIST && io->length == memory_of(item))
			item->result = KVCM_OK;
		return item->result == KVCM_OK;
	case GET:
		if (!status)
			item->result = (int64_t)io->transferred;
		return !status;
	case EXISTS:
		if (!status || status == -ENOENT)
			item->result = !status;
		return !status;
	default:
		return !status;
	}
}

static int64_t batch(struct kvcm *store, struct kvcm_item *items, size_t count,
		     enum operation operation)
{
	static ssize_t (*const functions[])(struct kvc *, const struct kvc_call *,
					    struct kvcache_io *, size_t) = {
		[PUT] = kvc_batch_put,
		[GET] = kvc_batch_get,
		[EXISTS] = kvc_batch_exists,
		[DELETE] = kvc_batch_delete,
	};
	struct kvcache_io *ios;
	int64_t good = 0;
	ssize_t done;
	size_t i;

	if (!count)
		return 0;
	ios = calloc(count, sizeof(*ios));
	if (!ios)
		return KVCM_INTERNAL_ERROR;
	for (i = 0; i < count; i++)
		prepare(&ios[i], &items[i], operation);
	done = functions[operation](store->kvc, operation == GET ? &store->get :
								   &store->put,
				    ios, count);
	for (i = 0; i < count; i++)
		good += settle(&items[i], &ios[i],
			       done < 0 ? (int)done : ios[i].status, operation);
	free(ios);
	return good;
}

int64_t kvcm_batch_put(struct kvcm *store, struct kvcm_item *items, size_t count)
{
	return batch(store, items, count, PUT);
}

int64_t kvcm_batch_get(struct kvcm *store, struct kvcm_item *items, size_t count)
{
	return batch(store, items, count, GET);
}

int64_t kvcm_batch_exists(struct kvcm *store, struct kvcm_item *items,
			  size_t count)
{
	return batch(store, items, count, EXISTS);
}

int64_t kvcm_batch_delete(struct kvcm *store, struct kvcm_item *items,
			  size_t count)
{
	return batch(store, items, count, DELETE);
}

int64_t kvcm_prefix(struct kvcm *store, struct kvcm_item *items, size_t count)
{
	int64_t found = batch(store, items, count, EXISTS);
	size_t i;

	if (found < 0)
		return found;
	for (i = 0; i < count && items[i].result == 1; i++)
		;
	return (int64_t)i;
}

/* --- scan --- */

struct scan {
	struct kvcm_entry entries[SCAN_BATCH];
	uint8_t keys[SCAN_BATCH][KVCACHE_KEY_MAX];
};

static void scan_keep(struct scan *scan, size_t at,
		      const struct kvc_object *object)
{
	memcpy(scan->keys[at], object->key, object->key_len);
	scan->entries[at] = (struct kvcm_entry) {
		.key = scan->keys[at],
		.key_len = object->key_len,
		.size = object->length,
	};
}

int kvcm_scan(struct kvcm *store, const void *prefix, size_t prefix_len,
	      kvcm_scan_handler handler, void *context)
{
	struct scan *scan = malloc(sizeof(*scan));
	struct kvc_object object;
	struct kvc_list *list;
	int more, err = KVCM_OK;
	size_t n = 0;

	if (!scan)
		return KVCM_INTERNAL_ERROR;
	list = kvc_list_open(store->kvc, &store->put, prefix, prefix_len, 0);
	if (!list) {
		err = error_of(-errno, GET);
		goto out_free;
	}
	while ((more = kvc_list_next(list, &object)) > 0) {
		scan_keep(scan, n++, &object);
		if (n < SCAN_BATCH)
			continue;
		err = handler(context, scan->entries, n);
		if (err)
			goto out_close;
		n = 0;
	}
	if (more < 0)
		err = error_of(more, GET);
	else if (n)
		err = handler(context, scan->entries, n);
out_close:
	kvc_list_close(list);
out_free:
	free(scan);
	return err;
}

struct removal {
	struct kvcm *store;
	int64_t deleted;
};

static int remove_some(void *context, const struct kvcm_entry *entries,
		       size_t count)
{
	struct kvcm_item items[SCAN_BATCH] = { 0 };
	struct removal *removal = context;
	int64_t deleted;
	size_t i;

	for (i = 0; i < count; i++) {
		items[i].key = entries[i].key;
		items[i].key_len = entries[i].key_len;
	}
	deleted = kvcm_batch_delete(removal->store, items, count);
	if (deleted < 0)
		return (int)deleted;
	removal->deleted += deleted;
	for (i = 0; i < count; i++) {
		/* Told twice, or somebody else was faster. */
		if (items[i].result && items[i].result != KVCM_OBJECT_NOT_FOUND)
			return (int)items[i].result;
	}
	return 0;
}

int64_t kvcm_remove_all(struct kvcm *store, const void *prefix,
			size_t prefix_len)
{
	struct removal removal = { .store = store };
	int err = kvcm_scan(store, prefix, prefix_len, remove_some, &removal);

	return err ? err : removal.deleted;
}

/* --- what has gone --- */

static int watch_begin(struct kvcm *store)
{
	int fd = kvc_watch(store->kvc, &store->put, KVC_WATCH_NONBLOCK,
			   WATCH_BYTES);

	if (fd < 0)
		return error_of(fd, GET);
	store->watch = fd;
	return KVCM_OK;
}

/* The pool was detached. What goes until it is followed again is not told. */
static int watch_anew(struct kvcm *store)
{
	int err;

	close(store->watch);
	store->watch = -1;
	err = watch_begin(store);
	return err ? err : 1;
}

int kvcm_gone(struct kvcm *store, kvcm_gone_handler handler, void *context)
{
	uint8_t buffer[16384] __attribute__((aligned(8)));
	const struct kvcache_event *event;
	int more = 0, err;
	ssize_t got;

	if (store->watch < 0)
		return watch_begin(store);
	while ((got = kvc_watch_read(store->watch, buffer, sizeof(buffer))) > 0) {
		for (event = NULL;
		     (event = kvc_event_next(buffer, (size_t)got, event));) {
			if (event->what == KVCACHE_EVENT_RESCAN) {
				more = 1;
				continue;
			}
			err = handler(context, kvc_event_key(event),
				      event->key_len);
			if (err)
				return err;
		}
	}
	if (!got)
		return watch_anew(store);
	return got == -EAGAIN || got == -EINTR ? more : error_of((int)got, GET);
}

/* --- the pool --- */

int kvcm_usage(struct kvcm *store, struct kvcm_usage *usage)
{
	struct kvcache_info info;
	int err = kvc_info(store->kvc, &info, NULL, 0);

	if (err)
		return error_of(err, GET);
	*usage = (struct kvcm_usage) {
		.capacity = info.capacity,
		.used = info.used,
		.live = info.live,
		.objects = info.objects,
		.max_object = info.max_object,
	};
	return KVCM_OK;
}

/* --- memory --- */

int kvcm_register_buffer(struct kvcm *store, void *address, size_t len)
{
	struct buffer *b, *other;
	int err = KVCM_OK;

	if (!address || !len)
		return KVCM_INVALID_PARAMS;
	b = calloc(1, sizeof(*b));
	if (!b)
		return KVCM_INTERNAL_ERROR;
	b->address = address;
	b->len = len;
	pthread_mutex_lock(&store->lock);
	for (other = store->buffers; other; other = other->next) {
		if (other->address == address)
			err = KVCM_INVALID_PARAMS;
	}
	if (!err) {
		b->locked = !mlock(address, len);
		/* Asks for whole pages; those at the ends are ours, too. */
		if (!b->locked) {
			uintptr_t page = (uintptr_t)address & 4095;

			if (madvise((char *)address - page, len + page,
				    MADV_POPULATE_WRITE))
				err = KVCM_INVALID_PARAMS;
		}
	}
	if (!err) {
		b->next = store->buffers;
		store->buffers = b;
	}
	pthread_mutex_unlock(&store->lock);
	if (err)
		free(b);
	return err;
}

int kvcm_unregister_buffer(struct kvcm *store, void *address)
{
	struct buffer **at, *b;

	pthread_mutex_lock(&store->lock);
	for (at = &store->buffers; (b = *at); at = &b->next) {
		if (b->address == address) {
			*at = b->next;
			break;
		}
	}
	pthread_mutex_unlock(&store->lock);
	if (!b)
		return KVCM_INVALID_PARAMS;
	buffer_free(b);
	return KVCM_OK;
}
