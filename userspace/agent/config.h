/* SPDX-License-Identifier: MIT */
/* What kvcached(8) is told: a file of "key = value" lines, and -o options. */
#ifndef KVC_AGENT_CONFIG_H
#define KVC_AGENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_LIST_MAX 64

/**
 * struct config_list - values of a key that may be given many times
 * @values: each
 * @count: how many
 */
struct config_list {
	char *values[CONFIG_LIST_MAX];
	unsigned int count;
};

/* When the pool is detached at the end. */
enum config_detach {
	CONFIG_DETACH_AUTO,	/* if kvcached attached it */
	CONFIG_DETACH_YES,
	CONFIG_DETACH_NO,
};

/**
 * struct config - all settings; each is described in kvcached(8)
 * @pool: name or UUID
 * @members: paths of the members; none: they are looked for
 * @subsystems: look for members only among namespaces of these NQNs
 * @etcd: endpoints
 * @prefix: of the keys in etcd
 * @cacert: certificates that etcd's is checked against
 * @cert: client certificate
 * @key: and its key
 * @user: etcd user
 * @password_file: file that holds the password
 * @ttl_s: seconds of the lease in etcd; 0: by the pool's lease
 * @node: host name; NULL: of gethostname()
 * @hostnqn: NULL: of /etc/nvme/hostnqn
 * @max_staleness_ms: for attach
 * @degraded: attach although members are missing
 * @fence: register with the members, so that dead hosts can be fenced
 * @number: that the pool shall have, 0: the lowest that is free
 * @device: of the module
 * @run_dir: for the status file and the lock
 * @leave_ms: how long handing over may take at the end
 * @detach: see above
 * @verbose: debugging messages
 */
struct config {
	char *pool;
	struct config_list members;
	struct config_list subsystems;
	struct config_list etcd;
	char *prefix;
	char *cacert;
	char *cert;
	char *key;
	char *user;
	char *password_file;
	uint32_t ttl_s;
	char *node;
	char *hostnqn;
	uint32_t max_staleness_ms;
	bool degraded;
	bool fence;
	uint32_t number;
	char *device;
	char *run_dir;
	uint32_t leave_ms;
	enum config_detach detach;
	bool verbose;
};

#define CONFIG_ERROR 256

void config_init(struct config *c);
void config_free(struct config *c);
/* "key = value", a comment or nothing; false and @error: what is wrong. */
bool config_line(struct config *c, const char *line, char error[CONFIG_ERROR]);
/* All lines of a file; the error begins with file and line. */
bool config_file(struct config *c, const char *path, char error[CONFIG_ERROR]);
/* Defaults, and whether it can be worked with. */
bool config_finish(struct config *c, char error[CONFIG_ERROR]);

#endif
