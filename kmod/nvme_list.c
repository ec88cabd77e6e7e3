// SPDX-License-Identifier: GPL-2.0
/*
 * List: the keys from a given one on, in order. Keys stand on media, in the
 * order in which they came, so each command goes through all of them and keeps
 * the lowest that fit.
 */
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/kvcache.h>
#include "list.h"
#include "nvme_kv.h"

#define KVC_LIST_BYTES_MAX	(1U << 20)	/* of one command's answer */
#define KVC_LIST_PIECE		(64U << 10)	/* of a listing, at a time */
#define KVC_LIST_PIECE_MS	1000

/**
 * struct kvc_listed_key - a key that is to be told
 * @node: in order of keys
 * @len: of @key
 * @key: key
 */
struct kvc_listed_key {
	struct rb_node node;
	u8 len;
	u8 key[KVC_NVME_KEY_MAX];
};

struct kvc_key_list {
	struct rb_root root;
	struct kvc_listed_key start;
	u32 room;
	u32 used;
	u32 count;
	bool full;	/* keys have been left out: those above the last */
};

static int kvc_key_cmp(const struct kvc_listed_key *a,
		       const struct kvc_listed_key *b)
{
	int diff = memcmp(a->key, b->key, min(a->len, b->len));

	return diff ?: (int)a->len - (int)b->len;
}

#define kvc_listed_of(rb) rb_entry(rb, struct kvc_listed_key, node)

static int kvc_key_order(struct rb_node *a, const struct rb_node *b)
{
	return kvc_key_cmp(kvc_listed_of(a), kvc_listed_of(b));
}

/* As it stands in the answer: length, key, padding. */
static u32 kvc_key_bytes(const struct kvc_listed_key *k)
{
	return ALIGN(2 + k->len, 4);
}

static void kvc_key_remove(struct kvc_key_list *l, struct kvc_listed_key *k)
{
	rb_erase(&k->node, &l->root);
	l->used -= kvc_key_bytes(k);
	l->count--;
	kfree(k);
}

static int kvc_key_add(struct kvc_key_list *l, const u8 *bytes, u32 len)
{
	struct kvc_listed_key *k, *last;

	k = kzalloc(sizeof(*k), GFP_KERNEL);
	if (!k)
		return -ENOMEM;
	k->len = len;
	memcpy(k->key, bytes, len);
	last = l->full && l->count ? kvc_listed_of(rb_last(&l->root)) : NULL;
	if (kvc_key_cmp(k, &l->start) < 0 ||
	    (last && kvc_key_cmp(k, last) > 0) ||
	    rb_find_add(&k->node, &l->root, kvc_key_order)) {
		kfree(k);
		return 0;
	}
	l->used += kvc_key_bytes(k);
	l->count++;
	while (l->used > l->room) {
		kvc_key_remove(l, kvc_listed_of(rb_last(&l->root)));
		l->full = true;
	}
	return 0;
}

static int kvc_keys_add(struct kvc_key_list *l, const struct kvc_list_args *a)
{
	u32 at = 0;
	int err = 0;

	while (at < a->used && !err) {
		const struct kvcache_list_entry *e = (void *)(a->buf + at);

		/* Others may have used the tenant for longer keys. */
		if (e->key_len <= KVC_NVME_KEY_MAX)
			err = kvc_key_add(l, (const u8 *)(e + 1), e->key_len);
		at += e->entry_len;
	}
	return err;
}

static int kvc_keys_collect(struct kvc_nvme_io *io, struct kvc_key_list *l)
{
	struct kvc_list_args *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int err;

	if (!a)
		return -ENOMEM;
	a->tenant = KVCACHE_TENANT_NVME;
	a->room = KVC_LIST_PIECE;
	a->buf = kvmalloc(a->room, GFP_KERNEL);
	err = a->buf ? 0 : -ENOMEM;
	while (!err) {
		a->deadline = jiffies + msecs_to_jiffies(KVC_LIST_PIECE_MS);
		err = kvc_list(io->op.join, a);
		if (!err) {
			err = kvc_keys_add(l, a);
			if (!a->cookie)
				break;
		} else if (err == -ETIMEDOUT) {
			err = 0;	/* only the piece's own: once more */
		}
		if (err)
			break;
		if (fatal_signal_pending(current))
			err = -EINTR;
		else if (READ_ONCE(io->pool->state) != KVC_POOL_UP)
			err = -ESTALE;	/* it waits for us */
		else if (time_after(jiffies, io->op.deadline))
			err = -ETIMEDOUT;
	}
	kvfree(a->buf);
	kfree(a);
	return err;
}

static int kvc_keys_tell(struct kvc_nvme_io *io, const struct kvc_key_list *l)
{
	u8 *buf = kvzalloc(sizeof(__le32) + l->used, GFP_KERNEL);
	u32 at = sizeof(__le32);
	struct rb_node *rb;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	*(__le32 *)buf = cpu_to_le32(l->count);
	for (rb = rb_first(&l->root); rb; rb = rb_next(rb)) {
		const struct kvc_listed_key *k = kvc_listed_of(rb);

		*(__le16 *)(buf + at) = cpu_to_le16(k->len);
		memcpy(buf + at + 2, k->key, k->len);
		at += kvc_key_bytes(k);
	}
	if (copy_to_user(io->addr, buf, at))
		err = -EFAULT;
	kvfree(buf);
	return err;
}

int kvc_nvme_list(struct kvc_nvme_io *io)
{
	struct kvc_listed_key *k, *next;
	struct kvc_key_list l = { .root = RB_ROOT };
	int err;

	if (io->size < sizeof(__le32))
		return KVC_NVME_INVALID_FIELD;
	l.room = min(io->size, KVC_LIST_BYTES_MAX) - sizeof(__le32);
	l.start.len = io->key.len;
	memcpy(l.start.key, io->key.bytes, io->key.len);
	err = kvc_keys_collect(io, &l);
	if (!err)
		err = kvc_keys_tell(io, &l);
	rbtree_postorder_for_each_entry_safe(k, next, &l.root, node)
		kfree(k);
	switch (err) {
	case -EAGAIN:
	case -ESTALE:
		return KVC_NVME_NOT_READY;
	case -EIO:
		return KVC_NVME_UNRECOVERED;
	case -ETIMEDOUT:
		return KVC_NVME_ABORTED_BY_HOST;
	}
	return err;
}
