// SPDX-License-Identifier: MIT
/* kvcachectl refresh: take up on this host that a pool has got or lost members. */
#include "refresh.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct ctl_option options[] = {
	{}
};

static const struct ctl_usage usage = {
	.args = "POOL [DEVICE...]",
	.about = "Take up on this host that an attached pool has got members, or that one is drained or\n"
		 "removed, by 'kvcachectl grow', 'drain' or 'remove' on another host. Without devices\n"
		 "all block devices are searched for its members. Unless one is only drained the host\n"
		 "leaves the pool in good order and joins it anew; meanwhile its puts are refused and\n"
		 "its gets miss, and other hosts go on.",
	.options = options,
};

int pool_open(struct ctl *ctl, const char *text, struct kvc **kvc,
	      struct pool_members *m)
{
	struct kvc *device = call_device(ctl);
	unsigned int number;
	int error;

	*kvc = NULL;
	if (!device)
		return CTL_FAIL;
	number = call_find_pool(ctl, device, text);
	kvc_close(device);
	if (!number)
		return CTL_MISS;
	*kvc = kvc_open(ctl->device, number);
	if (!*kvc)
		return call_failed(ctl, ctl->device, errno);
	error = kvc_info(*kvc, &m->info, m->members, KVC_MAX_MEMBERS);
	return error ? call_failed(ctl, text, error) : CTL_OK;
}

int pool_refused(struct ctl *ctl, const char *text, const char *what, int error,
		 const char *reason)
{
	const char *next = kvc_next_step(error);
	int status = CTL_FAIL;

	switch (-error) {
	case EBUSY:
		next = "Try again when it is done, or look with 'kvcachectl slots'.";
		status = CTL_BUSY;
		break;
	case ESTALE:
		next = "Run 'kvcachectl refresh' here, or wait until this host has joined again.";
		status = CTL_BUSY;
		break;
	case EEXIST:
	case EUCLEAN:
	case ENXIO:
		next = "Look at the devices with 'kvcachectl info DEVICE...'.";
		status = CTL_REFUSED;
		break;
	case ENOTTY:
		next = "Load a newer module.";
		reason = "the module is too old for that";
		break;
	case ETIMEDOUT:
	case EINTR:
	case ENODEV:
		status = call_exit_code(error);
		break;
	}
	ctl_err(ctl, text, next, "can't %s the pool: %s", what,
		*reason ? reason : kvc_strerror(error));
	return status;
}

int pool_refresh(struct ctl *ctl, struct kvc *kvc, const char *text,
		 char *const *paths, u32 nr)
{
	uint64_t hashes[KVC_MAX_MEMBERS];
	char reason[512] = "", wwid[512];
	u32 i;
	int error;

	for (i = 0; i < nr; i++) {
		struct ctl_dev dev;

		error = ctl_dev_open(ctl, &dev, paths[i], CTL_DEV_READ);
		if (error)
			return CTL_FAIL;
		ctl_wwid(&dev, wwid, sizeof(wwid));
		hashes[i] = kvc_wwid_hash(wwid);
		ctl_dev_close(&dev);
	}
	error = kvc_refresh(kvc, (const char *const *)paths, hashes, nr, reason,
			    sizeof(reason));
	return error ? pool_refused(ctl, text, "refresh", error, reason) : CTL_OK;
}

static void tell(struct ctl *ctl, const struct kvcache_info *before,
		 const struct kvcache_info *now)
{
	char size[CTL_TEXT];
	cJSON *object;

	if (!ctl->json) {
		if (!ctl->quiet)
			printf("pool '%s': %u members, %u allocation groups, %s%s\n",
			       now->name, now->nr_members, now->nr_ags,
			       ctl_size(size, now->capacity),
			       before->nr_members == now->nr_members ?
			       ": nothing has changed" :
			       now->mode == KVCACHE_MODE_GRANTED ?
			       "; it waits for a grant" : "");
		return;
	}
	object = cJSON_CreateObject();
	ctl_json_u64(object, "pool", now->pool);
	cJSON_AddStringToObject(object, "name", (const char *)now->name);
	cJSON_AddBoolToObject(object, "changed",
			      before->nr_members != now->nr_members);
	ctl_json_u64(object, "members", now->nr_members);
	ctl_json_u64(object, "ags", now->nr_ags);
	ctl_json_u64(object, "capacity", now->capacity);
	ctl_json_print(object);
}

static int refresh(struct ctl *ctl, const char *text, char **paths, u32 nr)
{
	struct pool_members m;
	struct kvcache_info now;
	char uuid[CTL_TEXT];
	char **found = NULL;
	struct kvc *kvc;
	int status, count;
	u32 i;

	status = pool_open(ctl, text, &kvc, &m);
	if (!status && !nr) {
		count = pool_scan(ctl, ctl_uuid(uuid, m.info.uuid), &found);
		status = count < 0 ? CTL_FAIL : CTL_OK;
		nr = count < 0 ? 0 : (u32)count;
		paths = found;
		if (!status && (!nr || nr > KVC_MAX_MEMBERS)) {
			ctl_err(ctl, text, "Give the devices.",
				"%" PRIu32 " block devices carry its label", nr);
			status = CTL_REFUSED;
		}
	}
	if (!status)
		status = pool_refresh(ctl, kvc, text, paths, nr);
	if (!status) {
		int error = kvc_info(kvc, &now, NULL, 0);

		if (error)
			status = call_failed(ctl, text, error);
		else
			tell(ctl, &m.info, &now);
	}
	for (i = 0; found && i < nr; i++)
		free(found[i]);
	free(found);
	kvc_close(kvc);
	return status;
}

int cmd_refresh(struct ctl *ctl, int argc, char **argv)
{
	int nr;

	while (ctl_getopt(ctl, &usage, argc, argv) != -1)
		;
	nr = argc - ctl_optind - 1;
	if (nr < 0)
		ctl_usage_error(ctl, "no pool is given: number, name or UUID");
	if (nr > KVC_MAX_MEMBERS)
		ctl_usage_error(ctl, "%d devices, but a pool has at most %d members",
				nr, KVC_MAX_MEMBERS);
	return refresh(ctl, argv[ctl_optind], argv + ctl_optind + 1, (u32)nr);
}
