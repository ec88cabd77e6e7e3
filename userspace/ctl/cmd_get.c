// SPDX-License-Identifier: MIT
/* kvcachectl get: read an object. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

#define FIRST_TRY (1UL << 20)	/* most objects fit: one call is enough */

static const struct ctl_option options[] = {
	CALL_OPTION_POOL,
	CALL_OPTION_TENANT,
	CALL_OPTION_HEX,
	CALL_OPTION_DEADLINE,
	{ 'r', "range", "OFFSET[:LENGTH]", "only these bytes, up to the end of the object" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] KEY [FILE]",
	.about = "Write an object to FILE, or to standard output. FILE is made anew only when all\n"
		 "of the object has been read and has proved sound. A miss is exit status 3.",
	.options = options,
};

/**
 * struct range - what is wanted of the object
 * @given: --range was given; else all of it
 * @offset: first byte
 * @length: how many at most
 */
struct range {
	bool given;
	u64 offset;
	u64 length;
};

static bool parse_range(const char *text, struct range *range)
{
	char *copy = ctl_strdup(text);
	char *colon = strchr(copy, ':');
	bool ok;

	if (colon)
		*colon = '\0';
	range->given = true;
	range->length = U64_MAX;
	ok = ctl_parse_size(copy, &range->offset) &&
	     (!colon || (ctl_parse_size(colon + 1, &range->length) &&
			 range->length));
	free(copy);
	return ok;
}

/* A buffer for @len bytes; NULL with a message. */
static void *make_buffer(struct ctl *ctl, const struct call_key *key, u64 len)
{
	size_t room = ((size_t)len + KVC_BLOCK_SIZE - 1) &
			~(size_t)(KVC_BLOCK_SIZE - 1);
	void *data = aligned_alloc(KVC_BLOCK_SIZE, room ? room : KVC_BLOCK_SIZE);

	if (!data)
		ctl_err(ctl, key->text, "Read it in ranges: --range.",
			"out of memory for %llu bytes", (unsigned long long)len);
	return data;
}

/*
 * Bytes that were read into *data, or a negative errno; 0 bytes: there was no
 * memory, with a message. *length is set to the object's size.
 */
static ssize_t read_object(struct ctl *ctl, struct call *call,
			   const struct call_key *key, const struct range *range,
			   void **data, uint64_t *length)
{
	u64 room = FIRST_TRY;
	ssize_t got;
	int error;

	if (range->given) {
		error = kvc_exists(call->kvc, &call->call, key->bytes, key->len,
				   length);
		if (error)
			return error;
		if (range->offset >= *length)
			return -ERANGE;
		room = *length - range->offset;
		if (room > range->length)
			room = range->length;
	}
	for (;;) {
		*data = make_buffer(ctl, key, room);
		if (!*data)
			return 0;
		if (range->given)
			got = kvc_get_range(call->kvc, &call->call, key->bytes,
					    key->len, range->offset, *data,
					    (size_t)room, length);
		else
			got = kvc_get(call->kvc, &call->call, key->bytes,
				      key->len, *data, (size_t)room, length);
		/* Memory under I/O stays as it is until the process ends. */
		if (got >= 0 || got == -EINPROGRESS)
			return got;
		free(*data);
		*data = NULL;
		if (got != -EMSGSIZE || *length <= room)
			return got;
		room = *length;
	}
}

static int write_all(struct ctl *ctl, const char *path, const char *data,
		     size_t len)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDOUT_FILENO :
		 open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ssize_t put = 0;

	if (fd < 0)
		return ctl_err(ctl, path, NULL, "can't open: %s", strerror(errno));
	while (len && put >= 0) {
		put = write(fd, data, len);
		if (put > 0) {
			data += put;
			len -= (size_t)put;
		} else if (put < 0 && errno == EINTR) {
			put = 0;
		}
	}
	if (put < 0)
		ctl_err(ctl, standard ? "standard output" : path, NULL,
			"can't write: %s", strerror(errno));
	if (!standard && close(fd) && put >= 0) {
		ctl_err(ctl, path, NULL, "can't write: %s", strerror(errno));
		put = -1;
	}
	return put < 0 ? CTL_FAIL : CTL_OK;
}

static int get(struct ctl *ctl, struct call *call, const struct call_key *key,
	       const struct range *range, const char *path)
{
	uint64_t length = 0;
	void *data = NULL;
	cJSON *object;
	ssize_t got;
	int status;

	got = read_object(ctl, call, key, range, &data, &length);
	if (got == -ERANGE) {
		ctl_err(ctl, key->text, "Choose an offset within the object.",
			"the object has only %llu bytes",
			(unsigned long long)length);
		return CTL_FAIL;
	}
	if (got < 0)
		return call_failed(ctl, key->text, (int)got);
	if (!data)
		return CTL_FAIL;
	status = write_all(ctl, path, data, (size_t)got);
	free(data);
	if (!status && ctl->json) {
		object = cJSON_CreateObject();
		ctl_json_key(object, key->bytes, key->len);
		ctl_json_u64(object, "tenant", call->call.tenant);
		ctl_json_u64(object, "length", length);
		ctl_json_u64(object, "bytes", (u64)got);
		ctl_json_print(object);
	}
	return status;
}

int cmd_get(struct ctl *ctl, int argc, char **argv)
{
	struct range range = { 0 };
	struct call call = { 0 };
	struct call_key key;
	const char *path;
	int c, status;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1)
		if (!call_option(ctl, &call, c) && c == 'r' &&
		    !parse_range(ctl_optarg, &range))
			ctl_usage_error(ctl, "'%s' is no range: OFFSET or OFFSET:LENGTH",
					ctl_optarg);
	if (argc - ctl_optind < 1 || argc - ctl_optind > 2)
		ctl_usage_error(ctl, "give a key and at most one file");
	path = argc - ctl_optind == 2 ? argv[ctl_optind + 1] : "-";
	if (ctl->json && !strcmp(path, "-"))
		ctl_usage_error(ctl, "with -o json, give a file for the object");
	call_key(ctl, &call, argv[ctl_optind], &key);
	status = call_open(ctl, &call);
	if (!status)
		status = get(ctl, &call, &key, &range, path);
	call_close(&call);
	return status;
}
