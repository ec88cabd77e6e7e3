// SPDX-License-Identifier: GPL-2.0
/*
 * Several pools at once, and pools that are left and attached again.
 *
 * usage: ops_pools two POOL POOL	two pools that are attached
 *	  ops_pools fill POOL NAME	objects of which some are deleted
 *	  ops_pools check POOL NAME	they are all there, and no others
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "again.h"

#define COUNT 600

static const struct kvc_call call = { .deadline_ms = 30000 };
static uint8_t *buf;

static struct kvc *open_pool(const char *number)
{
	struct kvc *kvc = kvc_open(NULL, (unsigned int)atoi(number));

	vt_need(kvc, "open " KVC_DEVICE ": errno %d", errno);
	return kvc;
}

/* --- two pools --- */

static int put(struct kvc *kvc, const char *key, uint64_t seed, size_t len)
{
	vt_fill(buf, seed, 0, len);
	return again_put(kvc, &call, key, strlen(key), buf, len);
}

static void same(struct kvc *kvc, const char *key, uint64_t seed, size_t len)
{
	ssize_t got = again_get(kvc, &call, key, strlen(key), buf, 1 << 20, NULL);

	vt_expect(got == (ssize_t)len && vt_differs(buf, seed, 0, len) < 0,
		  "pool %u: get %s: %zd, or wrong bytes", kvc_pool(kvc), key, got);
}

static void two(const char *a_number, const char *b_number)
{
	struct kvc *a = open_pool(a_number), *b = open_pool(b_number);
	struct kvc *none = open_pool("0");
	struct kvcache_info ia, ib, id;
	uint32_t pools[8];
	unsigned int i;
	char key[24];
	int n, err;

	vt_begin("two pools at once: each has objects of its own under the same keys");
	n = kvc_pools(none, pools, 8);
	vt_expect(n == 2 && pools[0] == kvc_pool(a) && pools[1] == kvc_pool(b),
		  "pools: %d, the first is %u", n, pools[0]);
	vt_expect(!kvc_info(a, &ia, NULL, 0) && !kvc_info(b, &ib, NULL, 0) &&
		  ia.pool == kvc_pool(a) && ib.pool == kvc_pool(b) &&
		  memcmp(ia.uuid, ib.uuid, 16), "info");
	/* The default is the lowest. */
	vt_expect(!kvc_info(none, &id, NULL, 0) && id.pool == ia.pool, "default");
	for (i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "both-%u", i);
		err = put(a, key, i, 1000 + i * 100);
		vt_expect(!err, "put %s: %d", key, err);
		vt_expect(again_exists(b, &call, key, strlen(key), NULL) == -ENOENT,
			  "%s is in the other pool", key);
		err = put(b, key, 5000 + i, 20000 - i);
		vt_expect(!err, "put %s: %d", key, err);
	}
	for (i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "both-%u", i);
		same(a, key, i, 1000 + i * 100);
		same(b, key, 5000 + i, 20000 - i);
		same(none, key, i, 1000 + i * 100);
		err = again_delete(i & 1 ? a : b, &call, key, strlen(key));
		vt_expect(!err, "delete %s: %d", key, err);
		if (i & 1)
			same(b, key, 5000 + i, 20000 - i);
		else
			same(a, key, i, 1000 + i * 100);
		again_delete(i & 1 ? b : a, &call, key, strlen(key));
	}
	vt_end();
}

/* --- fill and check --- */

struct object {
	char key[80];
	size_t key_len;
	size_t len;
	struct kvc_call call;
	uint64_t expiry;
	uint16_t depth;
	uint64_t seed;
	bool deleted;
};

static void object(struct object *o, const char *name, unsigned int i)
{
	uint64_t h = vt_mix(i, strlen(name) + (uint8_t)name[0]);

	memset(o, 0, sizeof(*o));
	o->key_len = (size_t)snprintf(o->key, sizeof(o->key), "%s/%u/%.*s", name, i,
				      (int)(h % 40),
				      "................................................");
	o->len = i % 50 ? 1 + (h >> 8) % 12000 : 1 + (h >> 8) % 400000;
	o->call.tenant = i % 3 ? 0 : (uint32_t)(h >> 32) % 3;
	o->call.deadline_ms = 30000;
	o->expiry = i % 11 ? 0 : 4000000000UL + i;
	o->depth = (uint16_t)(h >> 40);
	o->seed = h;
	o->deleted = i % 7 == 3;
}

static void fill(const char *number, const char *name)
{
	struct kvc *kvc = open_pool(number);
	struct kvcache_io io;
	struct object o;
	unsigned int i;
	int err;

	vt_begin("%d objects are put into pool %s, and one in seven is deleted", COUNT,
		 number);
	for (i = 0; i < COUNT; i++) {
		object(&o, name, i);
		vt_fill(buf, o.seed, 0, o.len);
		kvc_prep_data(&io, o.key, o.key_len, buf, o.len);
		kvc_set_expiry(&io, o.expiry);
		kvc_set_depth(&io, o.depth);
		err = again_one(kvc, KVCACHE_IOC_PUT, &o.call, &io);
		vt_expect(!err, "put %s: %d", o.key, err);
	}
	for (i = 0; i < COUNT; i++) {
		object(&o, name, i);
		if (!o.deleted)
			continue;
		err = again_delete(kvc, &o.call, o.key, o.key_len);
		vt_expect(!err, "delete %s: %d", o.key, err);
	}
	vt_end();
}

static void check(const char *number, const char *name)
{
	struct kvc *kvc = open_pool(number);
	unsigned int i, listed = 0, there = 0;
	struct kvc_list *list;
	struct kvc_object entry;
	struct object o;
	ssize_t got;
	int err;

	vt_begin("pool %s holds what was put there, with all that is to be known of it",
		 number);
	for (i = 0; i < COUNT; i++) {
		object(&o, name, i);
		got = again_get(kvc, &o.call, o.key, o.key_len, buf, 1 << 20, NULL);
		if (o.deleted) {
			vt_expect(got == -ENOENT, "%s was deleted: %zd", o.key, got);
			continue;
		}
		there++;
		vt_expect(got == (ssize_t)o.len &&
			  vt_differs(buf, o.seed, 0, o.len) < 0,
			  "get %s: %zd, or wrong bytes", o.key, got);
	}
	list = kvc_list_open(kvc, &call, name, strlen(name), KVC_LIST_ALL_TENANTS);
	vt_need(list, "open a listing");
	while ((err = kvc_list_next(list, &entry)) == 1) {
		listed++;
		if (!vt_expect(sscanf((const char *)entry.key + strlen(name), "/%u/",
				      &i) == 1 && i < COUNT, "an unknown key"))
			continue;
		object(&o, name, i);
		vt_expect(!o.deleted && entry.key_len == o.key_len &&
			  !memcmp(entry.key, o.key, o.key_len) &&
			  entry.length == o.len && entry.tenant == o.call.tenant &&
			  entry.depth == o.depth && entry.expiry == o.expiry,
			  "%s is listed wrongly", o.key);
	}
	vt_expect(!err, "list: %d", err);
	vt_expect(listed == there, "%u objects are listed, %u are there", listed, there);
	kvc_list_close(list);
	vt_end();
}

int main(int argc, char **argv)
{
	vt_need(argc == 4, "usage: ops_pools two|fill|check POOL POOL|NAME");
	buf = vt_map(1 << 20);
	if (!strcmp(argv[1], "two"))
		two(argv[2], argv[3]);
	else if (!strcmp(argv[1], "fill"))
		fill(argv[2], argv[3]);
	else
		check(argv[2], argv[3]);
	vt_exit();
}
