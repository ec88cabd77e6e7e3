// SPDX-License-Identifier: MIT
/* Listing: one entry at a time out of bufferfuls from the kernel. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "internal.h"

#define LIST_BUFFER (256 * 1024)

/**
 * struct kvc_list - a listing under way
 * @kvc: handle
 * @call: tenant and deadline
 * @flags: KVCACHE_LIST_*
 * @cookie: where the kernel goes on
 * @begun: the kernel was asked at least once
 * @used: bytes of @buffer that hold entries
 * @at: the next of them
 * @prefix_len: bytes of @prefix
 * @prefix: own copy
 * @buffer: entries
 */
struct kvc_list {
	struct kvc *kvc;
	struct kvc_call call;
	unsigned int flags;
	uint64_t cookie;
	bool begun;
	uint32_t used;
	uint32_t at;
	uint32_t prefix_len;
	uint8_t prefix[KVCACHE_KEY_MAX];
	uint8_t buffer[LIST_BUFFER] __attribute__((aligned(8)));
};

struct kvc_list *kvc_list_open(struct kvc *kvc, const struct kvc_call *call,
			       const void *prefix, size_t prefix_len,
			       unsigned int flags)
{
	struct kvc_list *list;

	if (prefix_len > KVCACHE_KEY_MAX || (prefix_len && !prefix) ||
	    (call && call->reserved)) {
		errno = EINVAL;
		return NULL;
	}
	list = malloc(sizeof(*list));
	if (!list)
		return NULL;
	memset(list, 0, offsetof(struct kvc_list, buffer));
	list->kvc = kvc;
	if (call)
		list->call = *call;
	list->flags = flags;
	list->prefix_len = (uint32_t)prefix_len;
	if (prefix_len)
		memcpy(list->prefix, prefix, prefix_len);
	return list;
}

/* 0: there may be entries now; -errno: nothing was changed. */
static int fill(struct kvc_list *list)
{
	struct kvcache_list ask = {
		.size = sizeof(ask),
		.flags = list->flags,
		.pool = list->kvc->pool,
		.tenant = list->call.tenant,
		.buffer = (uint64_t)(uintptr_t)list->buffer,
		.buffer_len = LIST_BUFFER,
		.deadline_ms = list->call.deadline_ms,
		.cookie = list->cookie,
		.prefix = list->prefix_len ?
				(uint64_t)(uintptr_t)list->prefix : 0,
		.prefix_len = list->prefix_len,
	};
	int error = kvc_ioctl(list->kvc, KVCACHE_IOC_LIST, &ask);

	if (error)
		return error;
	if (ask.used > LIST_BUFFER)
		return -EPROTO;
	list->cookie = ask.cookie;
	list->used = ask.used;
	list->at = 0;
	list->begun = true;
	return 0;
}

int kvc_list_next(struct kvc_list *list, struct kvc_object *object)
{
	const struct kvcache_list_entry *entry;
	uint32_t left;
	int error;

	/* A bufferful may be empty before the end. */
	while (list->at == list->used) {
		if (list->begun && !list->cookie)
			return 0;
		error = fill(list);
		if (error)
			return error;
	}
	left = list->used - list->at;
	entry = (const void *)(list->buffer + list->at);
	if (left < sizeof(*entry) || entry->entry_len > left ||
	    entry->entry_len < sizeof(*entry) + entry->key_len ||
	    entry->entry_len % 8)
		return -EPROTO;
	*object = (struct kvc_object) {
		.key = entry + 1,
		.key_len = entry->key_len,
		.length = entry->length,
		.expiry = entry->expiry,
		.tenant = entry->tenant,
		.depth = entry->depth,
	};
	list->at += entry->entry_len;
	return 1;
}

void kvc_list_close(struct kvc_list *list)
{
	free(list);
}
