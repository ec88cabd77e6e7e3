/* SPDX-License-Identifier: MIT */
/*
 * etcd v3 through its JSON gateway: reads, transactions, leases, one watch. One
 * thread uses a client at a time.
 *
 * Functions return 0 or a negative errno, and etcd_error() tells more:
 *
 *	EHOSTUNREACH	no endpoint answered in time, or etcd has no leader
 *	ENOENT		no such lease
 *	EACCES		not allowed, or the password is wrong
 *	ENOSPC		etcd's quota is used up
 *	EPROTO		the answer is none of etcd's
 *	EIO		anything else
 */
#ifndef KVC_AGENT_ETCD_H
#define KVC_AGENT_ETCD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

struct etcd;

/**
 * struct etcd_kv - a key
 * @key: its name
 * @value: its value, as text
 * @create: revision that created it
 * @mod: revision that changed it last
 * @lease: that it is bound to, 0: none
 */
struct etcd_kv {
	char *key;
	char *value;
	int64_t create;
	int64_t mod;
	int64_t lease;
};

/**
 * struct etcd_kvs - what stood under a prefix
 * @kvs: keys in order
 * @count: how many
 * @revision: at which that was so
 */
struct etcd_kvs {
	struct etcd_kv *kvs;
	size_t count;
	int64_t revision;
};

/**
 * struct etcd_compare - what must hold for a transaction: revisions are equal
 * @key: its name
 * @create: compare the revision that created it, else the one that changed it
 * @revision: 0: the key is not there
 */
struct etcd_compare {
	const char *key;
	bool create;
	int64_t revision;
};

/**
 * struct etcd_op - what a transaction does
 * @key: its name
 * @value: NULL: delete the key
 * @lease: to bind it to, 0: none
 */
struct etcd_op {
	const char *key;
	const char *value;
	int64_t lease;
};

/* @timeout_ms: of each request. */
struct etcd *etcd_open(const struct config *config, unsigned int timeout_ms);
void etcd_close(struct etcd *e);
void etcd_set_timeout(struct etcd *e, unsigned int timeout_ms);
/* What went wrong last. */
const char *etcd_error(const struct etcd *e);
/* The endpoint in use. */
const char *etcd_endpoint(const struct etcd *e);

int etcd_read(struct etcd *e, const char *prefix, struct etcd_kvs *out);
void etcd_kvs_free(struct etcd_kvs *kvs);
/* *@done: the comparisons held, and it was done. */
int etcd_transact(struct etcd *e, const struct etcd_compare *compares,
		  size_t nr_compares, const struct etcd_op *ops, size_t nr_ops,
		  bool *done);

/* The time to live that etcd gives, which may be more than what was asked for. */
int etcd_grant(struct etcd *e, uint32_t ttl_s, int64_t *lease, uint64_t *ttl_ms);
int etcd_keep_alive(struct etcd *e, int64_t lease, uint64_t *ttl_ms);
int etcd_revoke(struct etcd *e, int64_t lease);

/* Follow all keys under @prefix from @revision on; one watch at a time. */
void etcd_watch(struct etcd *e, const char *prefix, int64_t revision);
bool etcd_watching(const struct etcd *e);

/*
 * Wait for the watch, for @fds to become readable, or for @timeout_ms. True:
 * keys may have changed, or the watch broke, so that nobody knows: read anew,
 * and call etcd_watch().
 */
bool etcd_wait(struct etcd *e, const int *fds, size_t nr_fds, int timeout_ms);

/* Base64: a string to free(); decoded, its length in *@len, with a NUL behind. */
char *base64_encode(const void *data, size_t len);
char *base64_decode(const char *text, size_t *len);

#endif
