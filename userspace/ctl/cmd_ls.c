// SPDX-License-Identifier: MIT
/* kvcachectl ls: list objects. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "call.h"

#define PATIENCE 10	/* times that "not this moment" is asked again */

static const struct ctl_option options[] = {
	CALL_OPTION_POOL,
	CALL_OPTION_TENANT,
	CALL_OPTION_HEX,
	CALL_OPTION_DEADLINE,
	{ 'A', "all-tenants", NULL, "objects of all tenants" },
	{ 'l', "long", NULL, "length, tenant, depth and expiry, too" },
	{}
};

static const struct ctl_usage usage = {
	.args = "[options] [PREFIX]",
	.about = "List the keys of objects, of those that begin with PREFIX, in no order. This\n"
		 "reads from media: it is for management. A key that is not printable UTF-8 without\n"
		 "blanks, or that begins with 0x, is shown as 0x and hex digits. An object that is\n"
		 "moved meanwhile may be listed twice.",
	.options = options,
};

static void tell_json(struct ctl_json_array *array, const struct kvc_object *o)
{
	cJSON *item = cJSON_CreateObject();

	ctl_json_key(item, o->key, o->key_len);
	ctl_json_u64(item, "tenant", o->tenant);
	ctl_json_u64(item, "length", o->length);
	ctl_json_u64(item, "depth", o->depth);
	ctl_json_u64(item, "expiry", o->expiry);
	ctl_json_array_item(array, item);
}

static void tell_text(const struct kvc_object *o, bool details)
{
	char text[CTL_KEY_TEXT];

	if (details)
		printf("%12" PRIu64 " %10" PRIu32 " %5u %10" PRIu64 " ",
		       o->length, o->tenant, o->depth, o->expiry);
	printf("%s\n", ctl_key(text, o->key, o->key_len));
}

static int list(struct ctl *ctl, struct call *call,
		const struct call_key *prefix, unsigned int flags, bool details)
{
	struct ctl_json_array array;
	struct kvc_object object;
	struct kvc_list *listing;
	int result, patience = PATIENCE;

	listing = kvc_list_open(call->kvc, &call->call, prefix->bytes,
				prefix->len, flags);
	if (!listing)
		return call_failed(ctl, NULL, errno);
	if (ctl->json)
		ctl_json_array_begin(&array);
	else if (details && !ctl->quiet)
		printf("%12s %10s %5s %10s %s\n", "LENGTH", "TENANT", "DEPTH",
		       "EXPIRY", "KEY");
	for (;;) {
		result = kvc_list_next(listing, &object);
		if ((result == -EAGAIN || result == -ETIMEDOUT) && patience--)
			continue;
		if (result <= 0)
			break;
		patience = PATIENCE;
		if (ctl->json)
			tell_json(&array, &object);
		else
			tell_text(&object, details);
	}
	if (ctl->json)
		ctl_json_array_end(&array);
	kvc_list_close(listing);
	if (result < 0) {
		ctl_err(ctl, call->pool, kvc_next_step(result),
			"the listing is not complete: %s", kvc_strerror(result));
		return call_exit_code(result);
	}
	return CTL_OK;
}

int cmd_ls(struct ctl *ctl, int argc, char **argv)
{
	struct call_key prefix = { 0 };
	struct call call = { 0 };
	unsigned int flags = 0;
	bool details = false;
	int c, status;

	while ((c = ctl_getopt(ctl, &usage, argc, argv)) != -1) {
		if (call_option(ctl, &call, c))
			continue;
		if (c == 'A')
			flags |= KVC_LIST_ALL_TENANTS;
		else if (c == 'l')
			details = true;
	}
	if (argc - ctl_optind > 1)
		ctl_usage_error(ctl, "give at most one prefix");
	if (argc - ctl_optind == 1 && *argv[ctl_optind])
		call_key(ctl, &call, argv[ctl_optind], &prefix);
	status = call_open(ctl, &call);
	if (!status)
		status = list(ctl, &call, &prefix, flags, details);
	call_close(&call);
	return status;
}
