// SPDX-License-Identifier: MIT
/* What the commands that talk to the module share. */
#include "call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool call_option(struct ctl *ctl, struct call *call, int id)
{
	u64 value;

	switch (id) {
	case 'p':
		call->pool = ctl_optarg;
		return true;
	case 'x':
		call->hex = true;
		return true;
	case 't':
		if (!ctl_parse_u64(ctl_optarg, U32_MAX, &value))
			ctl_usage_error(ctl, "'%s' is no tenant number", ctl_optarg);
		call->call.tenant = (u32)value;
		return true;
	case 'D':
		if (!ctl_parse_ms(ctl_optarg, 1000, &value) || !value ||
		    value > KVCACHE_DEADLINE_MAX_MS)
			ctl_usage_error(ctl, "'%s' is no time between 1ms and 10m",
					ctl_optarg);
		call->call.deadline_ms = (u32)value;
		return true;
	}
	return false;
}

int call_exit_code(int error)
{
	switch (abs(error)) {
	case 0:
		return CTL_OK;
	case ENOENT:
	case ENODEV:
		return CTL_MISS;
	case EEXIST:
		return CTL_EXISTS;
	case EAGAIN:
	case ETIMEDOUT:
	case EINPROGRESS:
	case EINTR:
	case ECANCELED:
		return CTL_BUSY;
	case EBADMSG:
		return CTL_DAMAGE;
	default:
		return CTL_FAIL;
	}
}

int call_failed(struct ctl *ctl, const char *subject, int error)
{
	ctl_err(ctl, subject, kvc_next_step(error), "%s", kvc_strerror(error));
	return call_exit_code(error);
}

struct kvc *call_device(struct ctl *ctl)
{
	struct kvc *kvc = kvc_open(ctl->device, 0);
	const char *next;
	int error = errno;

	if (kvc)
		return kvc;
	if (error == ENOENT || error == ENXIO || error == ENODEV)
		next = "Load the module with 'modprobe kvcache', then run 'kvcachectl check'.";
	else
		next = kvc_next_step(error);
	/* ENOENT means something else for keys. */
	ctl_err(ctl, ctl->device, next, "can't open the device: %s",
		error == ENOENT ? "it is not there" : kvc_strerror(error));
	return NULL;
}

/* All attached pools; *count of them; NULL with a message. */
static u32 *list_pools(struct ctl *ctl, struct kvc *kvc, int *count)
{
	u32 *pools = NULL;
	int room = 0;

	for (;;) {
		*count = kvc_pools(kvc, pools, (unsigned int)room);
		if (*count < 0) {
			call_failed(ctl, ctl->device, *count);
			free(pools);
			return NULL;
		}
		if (pools && *count <= room)
			return pools;
		free(pools);
		room = *count + 8;
		pools = ctl_alloc((size_t)room * sizeof(*pools));
	}
}

const char *call_mode_name(u32 mode)
{
	switch (mode) {
	case KVCACHE_MODE_EXCLUSIVE:
		return "exclusive";
	case KVCACHE_MODE_STATIC:
		return "static";
	case KVCACHE_MODE_GRANTED:
		return "granted";
	default:
		return "unknown";
	}
}

bool call_pool_matches(struct ctl *ctl, unsigned int pool, const char *text)
{
	struct kvc *kvc = kvc_open(ctl->device, pool);
	struct kvcache_info info;
	char uuid[CTL_TEXT];
	bool match;

	if (!kvc)
		return false;
	match = !kvc_info(kvc, &info, NULL, 0) &&
		(!strcmp((char *)info.name, text) ||
		 !strcasecmp(ctl_uuid(uuid, info.uuid), text));
	kvc_close(kvc);
	return match;
}

unsigned int call_find_pool(struct ctl *ctl, struct kvc *kvc, const char *text)
{
	unsigned int found = 0;
	u32 *pools;
	u64 number;
	int count, i;

	if (ctl_parse_u64(text, U32_MAX, &number) && number)
		return (unsigned int)number;
	pools = list_pools(ctl, kvc, &count);
	if (!pools)
		return 0;
	for (i = 0; i < count; i++) {
		if (!call_pool_matches(ctl, pools[i], text))
			continue;
		if (found) {
			ctl_err(ctl, text, "Give the pool's number or UUID.",
				"two attached pools have this name");
			free(pools);
			return 0;
		}
		found = pools[i];
	}
	free(pools);
	if (!found)
		ctl_err(ctl, text, kvc_next_step(ENODEV), "%s",
			kvc_strerror(ENODEV));
	return found;
}

int call_open(struct ctl *ctl, struct call *call)
{
	unsigned int pool;

	call->kvc = call_device(ctl);
	if (!call->kvc)
		return CTL_FAIL;
	if (!call->pool)
		return CTL_OK;
	pool = call_find_pool(ctl, call->kvc, call->pool);
	kvc_close(call->kvc);
	call->kvc = NULL;
	if (!pool)
		return CTL_MISS;
	call->kvc = kvc_open(ctl->device, pool);
	if (!call->kvc)
		return call_failed(ctl, ctl->device, errno);
	return CTL_OK;
}

void call_close(struct call *call)
{
	kvc_close(call->kvc);
	call->kvc = NULL;
}

void call_key(struct ctl *ctl, const struct call *call, const char *text,
	      struct call_key *key)
{
	ssize_t len;

	if (call->hex) {
		len = ctl_parse_hex(text, key->bytes, sizeof(key->bytes));
		if (len < 0)
			ctl_usage_error(ctl, "'%.80s' is not an even number of hex digits, at most %d",
					text, 2 * KVCACHE_KEY_MAX);
		key->len = (size_t)len;
	} else {
		key->len = strlen(text);
		if (key->len > sizeof(key->bytes))
			ctl_usage_error(ctl, "the key '%.40s...' is longer than %d bytes",
					text, KVCACHE_KEY_MAX);
		memcpy(key->bytes, text, key->len);
	}
	if (!key->len)
		ctl_usage_error(ctl, "the key is empty");
	ctl_key(key->text, key->bytes, key->len);
}

bool call_parse_moment(const char *text, u64 *seconds)
{
	u64 ms;

	if (*text != '+')
		return ctl_parse_u64(text, U64_MAX, seconds);
	if (!ctl_parse_ms(text + 1, 1000, &ms))
		return false;
	*seconds = (u64)time(NULL) + (ms + 999) / 1000;
	return true;
}
