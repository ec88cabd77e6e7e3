// SPDX-License-Identifier: MIT
/* kvcachectl put: store an object. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"

enum {
	OPT_DEPTH = 1000,
	OPT_EXPIRY,
	OPT_PIN,
};

static const struct ctl_option options[] = {
	CALL_OPTION_POOL,
	CALL_OPTION_TENANT,
	CALL_OPTION_HEX,
	CALL_OPTION_DEADLINE,
	{ OPT_DEPTH, "depth", "N", "place in its prefix: of two cold objects the deeper one is evicted first" },
	{ OPT_EXPIRY, "expiry", "WHEN", "gone at this time: seconds since 1970, or +1h from now" },
	{ OPT_PIN, "pin", "WHEN", "not evicted before this time" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] KEY [FILE]",
	.about = "Store the contents of FILE, or of standard input, under KEY. A key that is there\n"
		 "already is left alone: exit status 4.",
	.options = options,
};

/**
 * struct value - what is to be stored
 * @data: memory for direct I/O
 * @len: bytes
 */
struct value {
	void *data;
	size_t len;
};

/* Aligned memory, so that the kernel needs no bounce pages. */
static void *grow(struct value *value, size_t room)
{
	void *bigger = aligned_alloc(KVC_BLOCK_SIZE, room);

	if (bigger && value->len)
		memcpy(bigger, value->data, value->len);
	free(value->data);
	value->data = bigger;
	return bigger;
}

/* All of a file of any kind, but not more than @max: CTL_OK or an exit code. */
static int read_all(struct ctl *ctl, const char *path, u64 max,
		    struct value *value)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 1 << 20;
	struct stat st;
	ssize_t got = -1;

	*value = (struct value) { 0 };
	if (fd < 0)
		return ctl_err(ctl, path, "Check the file's name.", "can't open: %s",
			       strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (u64)st.st_size <= max)
		room = ((size_t)st.st_size + KVC_BLOCK_SIZE) &
			~(size_t)(KVC_BLOCK_SIZE - 1);
	while (grow(value, room)) {
		do {
			got = read(fd, (char *)value->data + value->len,
				   room - value->len);
			if (got > 0)
				value->len += (size_t)got;
		} while (got > 0 && value->len < room);
		if (got <= 0 || value->len > max)
			break;
		room *= 2;
	}
	if (!standard)
		close(fd);
	if (!value->data)
		return ctl_err(ctl, path, NULL, "out of memory");
	if (got < 0)
		return ctl_err(ctl, path, NULL, "can't read: %s", strerror(errno));
	if (value->len > max)
		return call_failed(ctl, path, -EFBIG);
	if (!value->len)
		return ctl_err(ctl, path, "Give at least one byte.",
			       "an object can't be empty");
	return CTL_OK;
}

/* @call is open: put, and tell. */
static int put(struct ctl *ctl, struct call *call, struct kvcache_io *io,
	       const struct call_key *key, const char *path)
{
	struct kvcache_info info;
	struct value value;
	cJSON *object;
	ssize_t done;
	int status;

	status = kvc_info(call->kvc, &info, NULL, 0);
	if (status)
		return call_failed(ctl, call->pool, status);
	status = read_all(ctl, path, info.max_object, &value);
	if (status) {
		free(value.data);
		return status;
	}
	io->data = (uintptr_t)value.data;
	io->data_len = value.len;
	done = kvc_batch_put(call->kvc, &call->call, io, 1);
	if (done < 0 || io->status) {
		status = call_failed(ctl, key->text,
				     done < 0 ? (int)done : io->status);
	} else if (ctl->json) {
		object = cJSON_CreateObject();
		ctl_json_key(object, key->bytes, key->len);
		ctl_json_u64(object, "tenant", call->call.tenant);
		ctl_json_u64(object, "length", value.len);
		ctl_json_print(object);
	}
	/* Memory that is still under I/O must outlive this: the process ends. */
	if (!(io->out_flags & KVCACHE_IO_BUSY))
		free(value.data);
	return status;
}

int cmd_put(struct ctl *ctl, int argc, char **argv)
{
	struct call call = { 0 };
	struct call_key key;
	struct kvcache_io io = { 0 };
	u64 depth, pin = 0;
	bool pinned = false;
	int c, status;
	u64 expiry = 0;

	depth = 0;
	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		if (call_option(ctl, &call, c))
			continue;
		if (c == OPT_DEPTH && !ctl_parse_u64(ctl_optarg, U16_MAX, &depth))
			ctl_usage_error(ctl, "'%s' is no depth between 0 and 65535",
					ctl_optarg);
		if (c == OPT_EXPIRY && (!call_parse_moment(ctl_optarg, &expiry) || !expiry))
			ctl_usage_error(ctl, "'%s' is no time", ctl_optarg);
		if (c == OPT_PIN) {
			if (!call_parse_moment(ctl_optarg, &pin) || !pin)
				ctl_usage_error(ctl, "'%s' is no time", ctl_optarg);
			pinned = true;
		}
	}
	if (argc - ctl_optind < 1 || argc - ctl_optind > 2)
		ctl_usage_error(ctl, "give a key and at most one file");
	call_key(ctl, &call, argv[ctl_optind], &key);
	kvc_prep(&io, key.bytes, key.len);
	kvc_set_depth(&io, (uint16_t)depth);
	kvc_set_expiry(&io, expiry);
	if (pinned)
		kvc_set_pin(&io, pin);
	status = call_open(ctl, &call);
	if (!status)
		status = put(ctl, &call, &io, &key,
			     argc - ctl_optind == 2 ? argv[ctl_optind + 1] : "-");
	call_close(&call);
	return status;
}
