// SPDX-License-Identifier: MIT
/* kvcachectl exists, rm: ask for objects, delete objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

enum {
	OPT_PIN = 1000,
};

static const struct ctl_option exists_options[] = {
	CALL_OPTION_POOL,
	CALL_OPTION_TENANT,
	CALL_OPTION_HEX,
	CALL_OPTION_DEADLINE,
	{ OPT_PIN, "pin", "WHEN", "keep what is there until this time: seconds since 1970, or +1h from now" },
	{}
};

static const struct ctl_usage exists_usage = {
	.args = "[options] KEY...",
	.about = "Ask whether objects are there, and print their lengths. Exit status 3 if at least\n"
		 "one is not.",
	.options = exists_options,
};

static const struct ctl_option rm_options[] = {
	CALL_OPTION_POOL,
	CALL_OPTION_TENANT,
	CALL_OPTION_HEX,
	CALL_OPTION_DEADLINE,
	{ 'f', "force", NULL, "an object that is not there is no error" },
	{}
};

static const struct ctl_usage rm_usage = {
	.args = "[options] KEY...",
	.about = "Delete objects. Exit status 3 if at least one was not there.",
	.options = rm_options,
};

/**
 * struct keys - the keys of one command line, as a batch
 * @keys: parsed
 * @ios: for the library
 * @count: how many
 */
struct keys {
	struct call_key *keys;
	struct kvcache_io *ios;
	u32 count;
};

static void take_keys(struct ctl *ctl, const struct call *call,
		      struct keys *k, int argc, char **argv)
{
	u32 i;

	k->count = (u32)(argc - ctl_optind);
	if (!k->count)
		ctl_usage_error(ctl, "no key is given");
	k->keys = ctl_alloc(k->count * sizeof(*k->keys));
	k->ios = ctl_alloc(k->count * sizeof(*k->ios));
	for (i = 0; i < k->count; i++) {
		call_key(ctl, call, argv[ctl_optind + (int)i], &k->keys[i]);
		kvc_prep(&k->ios[i], k->keys[i].bytes, k->keys[i].len);
	}
}

static void free_keys(struct keys *k)
{
	free(k->keys);
	free(k->ios);
}

/* What happened to each key, as JSON. */
static void tell_json(const struct keys *k)
{
	cJSON *array = cJSON_CreateArray();
	u32 i;

	for (i = 0; i < k->count; i++) {
		cJSON *item = cJSON_CreateObject();
		int status = k->ios[i].status;

		ctl_json_key(item, k->keys[i].bytes, k->keys[i].len);
		cJSON_AddStringToObject(item, "status", status ?
					strerrorname_np(-status) : "OK");
		if (!status)
			ctl_json_u64(item, "length", k->ios[i].length);
		cJSON_AddItemToArray(array, item);
	}
	ctl_json_print(array);
}

/*
 * The exit code for all keys: the first failure that is none of @harmless, else
 * CTL_MISS if one missed.
 */
static int tell_failures(struct ctl *ctl, const struct keys *k, bool miss_is_told,
			 bool miss_is_fine)
{
	int status = CTL_OK, missed = CTL_OK;
	u32 i;

	for (i = 0; i < k->count; i++) {
		int error = k->ios[i].status;

		if (!error)
			continue;
		if (error == -ENOENT) {
			if (miss_is_fine)
				continue;
			missed = CTL_MISS;
			if (miss_is_told)
				ctl_err(ctl, k->keys[i].text, NULL, "%s",
					kvc_strerror(error));
			continue;
		}
		call_failed(ctl, k->keys[i].text, error);
		if (!status)
			status = call_exit_code(error);
	}
	return status ? status : missed;
}

int cmd_exists(struct ctl *ctl, int argc, char **argv)
{
	struct call call = { 0 };
	struct keys k;
	ssize_t done;
	int c, status;
	u64 pin = 0;
	u32 i;

	while ((c = ctl_getopt(ctl, &exists_usage, argc, argv)) != -1)
		if (!call_option(ctl, &call, c) && c == OPT_PIN &&
		    (!call_parse_moment(ctl_optarg, &pin) || !pin))
			ctl_usage_error(ctl, "'%s' is no time", ctl_optarg);
	take_keys(ctl, &call, &k, argc, argv);
	for (i = 0; pin && i < k.count; i++)
		kvc_set_pin(&k.ios[i], pin);
	status = call_open(ctl, &call);
	if (status)
		goto out;
	done = kvc_batch_exists(call.kvc, &call.call, k.ios, k.count);
	if (done < 0) {
		status = call_failed(ctl, call.pool, (int)done);
		goto out;
	}
	if (ctl->json)
		tell_json(&k);
	for (i = 0; i < k.count && !ctl->json && !ctl->quiet; i++) {
		if (!k.ios[i].status)
			printf("%llu %s\n", (unsigned long long)k.ios[i].length,
			       k.keys[i].text);
		else if (k.ios[i].status == -ENOENT)
			printf("- %s\n", k.keys[i].text);
	}
	status = tell_failures(ctl, &k, false, false);
out:
	call_close(&call);
	free_keys(&k);
	return status;
}

int cmd_rm(struct ctl *ctl, int argc, char **argv)
{
	struct call call = { 0 };
	bool force = false;
	struct keys k;
	ssize_t done;
	int c, status;

	while ((c = ctl_getopt(ctl, &rm_usage, argc, argv)) != -1)
		if (!call_option(ctl, &call, c) && c == 'f')
			force = true;
	take_keys(ctl, &call, &k, argc, argv);
	status = call_open(ctl, &call);
	if (status)
		goto out;
	done = kvc_batch_delete(call.kvc, &call.call, k.ios, k.count);
	if (done < 0) {
		status = call_failed(ctl, call.pool, (int)done);
		goto out;
	}
	if (ctl->json)
		tell_json(&k);
	status = tell_failures(ctl, &k, true, force);
out:
	call_close(&call);
	free_keys(&k);
	return status;
}
