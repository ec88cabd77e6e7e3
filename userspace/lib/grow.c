// SPDX-License-Identifier: MIT
/* Pools that get more members, or fewer. */
#include <errno.h>

#include "internal.h"

/* As the kernel wants them; 0 or -EINVAL. */
static int list_members(struct kvcache_attach_member *members,
			const char *const *paths, const uint64_t *wwid_hashes,
			unsigned int nr_members)
{
	unsigned int i;

	if (!nr_members || nr_members > KVCACHE_MEMBERS_MAX)
		return -EINVAL;
	for (i = 0; i < nr_members; i++) {
		members[i].path = (uint64_t)(uintptr_t)paths[i];
		members[i].wwid_hash = wwid_hashes ? wwid_hashes[i] : 0;
	}
	return 0;
}

int kvc_grow(struct kvc *kvc, const struct kvc_grow_request *request,
	     struct kvcache_grow *grown, char *reason, size_t reason_len)
{
	struct kvcache_attach_member members[KVCACHE_MEMBERS_MAX] = { 0 };
	struct kvcache_grow grow = {
		.size = sizeof(grow),
		.pool = kvc->pool,
		.nr_members = request->nr_members,
		.members = (uint64_t)(uintptr_t)members,
		.nr_ags = request->nr_ags,
		.width = request->width,
		.reason = (uint64_t)(uintptr_t)reason,
		.reason_len = reason ? (uint32_t)reason_len : 0,
	};
	int error;

	if (reason && reason_len)
		reason[0] = '\0';
	error = list_members(members, request->paths, request->wwid_hashes,
			     request->nr_members);
	if (!error)
		error = kvc_ioctl(kvc, KVCACHE_IOC_GROW, &grow);
	if (!error && grown)
		*grown = grow;
	return error;
}

int kvc_refresh(struct kvc *kvc, const char *const *paths,
		const uint64_t *wwid_hashes, unsigned int nr_members,
		char *reason, size_t reason_len)
{
	struct kvcache_attach_member members[KVCACHE_MEMBERS_MAX] = { 0 };
	struct kvcache_refresh refresh = {
		.size = sizeof(refresh),
		.pool = kvc->pool,
		.nr_members = nr_members,
		.members = (uint64_t)(uintptr_t)members,
		.reason = (uint64_t)(uintptr_t)reason,
		.reason_len = reason ? (uint32_t)reason_len : 0,
	};
	int error;

	if (reason && reason_len)
		reason[0] = '\0';
	error = list_members(members, paths, wwid_hashes, nr_members);
	return error ? error : kvc_ioctl(kvc, KVCACHE_IOC_REFRESH, &refresh);
}

int kvc_member(struct kvc *kvc, unsigned int member, unsigned int op,
	       unsigned int flags, struct kvcache_member *seen, char *reason,
	       size_t reason_len)
{
	struct kvcache_member ask = {
		.size = sizeof(ask),
		.flags = flags,
		.pool = kvc->pool,
		.member = member,
		.op = op,
		.reason = (uint64_t)(uintptr_t)reason,
		.reason_len = reason ? (uint32_t)reason_len : 0,
	};
	int error;

	if (reason && reason_len)
		reason[0] = '\0';
	error = kvc_ioctl(kvc, KVCACHE_IOC_MEMBER, &ask);
	if (!error && seen)
		*seen = ask;
	return error;
}
