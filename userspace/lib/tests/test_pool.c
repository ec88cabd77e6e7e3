// SPDX-License-Identifier: MIT
/* Handles, pools, lists and words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

/* --- handles --- */

void test_open_takes_the_default_device(void **state)
{
	struct kvc *kvc = mock_handle(3);

	(void)state;
	assert_string_equal(mock_opened, "/dev/kvcache");
	assert_int_equal(kvc_fd(kvc), MOCK_FD);
	assert_int_equal(kvc_pool(kvc), 3);
	assert_int_equal(kvc_caps(kvc)->version, KVCACHE_API_VERSION);
	assert_int_equal(kvc_caps(kvc)->features, KVCACHE_FEAT_RANGE);
	kvc_close(kvc);
	assert_int_equal(mock_closed, 1);
	kvc_close(NULL);
	mock_done();
}

void test_open_fails_with_errno(void **state)
{
	(void)state;
	mock_open_error = EACCES;
	assert_null(kvc_open("/dev/other", 0));
	assert_int_equal(errno, EACCES);
	assert_string_equal(mock_opened, "/dev/other");
	mock_done();
}

void test_open_of_something_else_is_enotty(void **state)
{
	static const struct mock_call call = {
		.command = KVCACHE_IOC_CAPS,
		.result = ENOTTY,
	};

	(void)state;
	mock_expect(&call);
	assert_null(kvc_open("/dev/null", 0));
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(mock_closed, 1);
	mock_done();
}

/* --- attach --- */

/**
 * struct attach - an attach that is expected
 * @paths: members
 * @hashes: of their identifiers
 * @count: how many
 * @nqn: expected
 * @node: expected; NULL: not looked at
 * @boot_id: expected; NULL: any but zero
 * @pool: answer
 * @reason: answer; NULL: none
 */
struct attach {
	const char *const *paths;
	const uint64_t *hashes;
	unsigned int count;
	const char *nqn;
	const char *node;
	const uint8_t *boot_id;
	unsigned int pool;
	const char *reason;
};

static void answer_attach(void *argument, void *context)
{
	static const uint8_t zero[16];
	struct kvcache_attach *a = argument;
	const struct kvcache_attach_member *members =
		(void *)(uintptr_t)a->members;
	const struct attach *want = context;
	unsigned int i;

	assert_int_equal(a->size, sizeof(*a));
	assert_int_equal(a->flags, KVCACHE_ATTACH_DEGRADED);
	assert_int_equal(a->pool, 5);
	assert_int_equal(a->reserved, 0);
	assert_int_equal(a->nr_members, want->count);
	for (i = 0; i < want->count; i++) {
		assert_string_equal((char *)(uintptr_t)members[i].path,
				    want->paths[i]);
		assert_int_equal(members[i].wwid_hash,
				 want->hashes ? want->hashes[i] : 0);
	}
	if (want->nqn)
		assert_string_equal((char *)a->nqn, want->nqn);
	if (want->node)
		assert_string_equal((char *)a->node, want->node);
	if (want->boot_id)
		assert_memory_equal(a->boot_id, want->boot_id, 16);
	else
		assert_memory_not_equal(a->boot_id, zero, 16);
	if (want->reason)
		snprintf((char *)(uintptr_t)a->reason, a->reason_len, "%s",
			 want->reason);
	a->pool = want->pool;
}

static const char *const two_paths[] = { "/dev/nvme0n1", "/dev/nvme1n1" };
static const uint64_t two_hashes[] = { 7, 1ULL << 63 };

/* What these tests attach; the rest is left to the library. */
static const struct kvc_attach_options two_members = {
	.paths = two_paths,
	.nr_members = 2,
	.flags = KVCACHE_ATTACH_DEGRADED,
	.pool = 5,
};

/* Attach with these options: the result; the kernel must see @want. */
static int try_attach(const struct kvc_attach_options *options,
		      struct attach *want, int result, char *reason,
		      size_t reason_len)
{
	struct kvc *kvc = mock_handle(0);
	const struct mock_call call = {
		.command = KVCACHE_IOC_ATTACH,
		.answer = answer_attach,
		.context = want,
		.result = result,
	};
	int number;

	want->paths = two_paths;
	want->count = 2;
	want->pool = 5;
	mock_expect(&call);
	number = kvc_attach(kvc, options, reason, reason_len);
	mock_done();
	kvc_close(kvc);
	return number;
}

void test_attach_passes_members_and_identity(void **state)
{
	static const uint8_t boot_id[16] = "0123456789abcde";
	struct kvc_attach_options options = two_members;
	struct attach want = {
		.hashes = two_hashes,
		.nqn = "nqn.2014-08.org.example:host",
		.node = "node-1",
		.boot_id = boot_id,
	};

	(void)state;
	options.wwid_hashes = two_hashes;
	options.nqn = want.nqn;
	options.node = want.node;
	options.boot_id = boot_id;
	assert_int_equal(try_attach(&options, &want, 0, NULL, 0), 5);
}

void test_attach_finds_out_who_this_host_is(void **state)
{
	char node[KVCACHE_NAME_MAX] = "";
	struct attach want = { .node = node };

	(void)state;
	gethostname(node, sizeof(node) - 1);
	assert_int_equal(try_attach(&two_members, &want, 0, NULL, 0), 5);
}

void test_attach_passes_the_kernels_reason_on(void **state)
{
	struct attach want = { .reason = "host node-2 holds the pool" };
	char reason[16] = "left over";

	(void)state;
	assert_int_equal(try_attach(&two_members, &want, EBUSY, reason,
				    sizeof(reason)), -EBUSY);
	assert_string_equal(reason, "host node-2 hol");
}

void test_attach_checks_what_does_not_fit(void **state)
{
	struct kvc *kvc = mock_handle(0);
	struct kvc_attach_options options = { .paths = two_paths };
	char nqn[KVCACHE_NQN_MAX + 1];

	(void)state;
	assert_int_equal(kvc_attach(kvc, &options, NULL, 0), -EINVAL);
	options.nr_members = KVCACHE_MEMBERS_MAX + 1;
	assert_int_equal(kvc_attach(kvc, &options, NULL, 0), -EINVAL);
	options.nr_members = 2;
	memset(nqn, 'n', sizeof(nqn));
	nqn[KVCACHE_NQN_MAX] = '\0';
	options.nqn = nqn;
	assert_int_equal(kvc_attach(kvc, &options, NULL, 0), -ENAMETOOLONG);
	mock_done();
	kvc_close(kvc);
}

/* --- detach, info, pools --- */

void test_detach_passes_pool_and_timeout(void **state)
{
	static const struct kvcache_detach want = {
		.size = sizeof(want),
		.pool = 4,
		.timeout_ms = 1500,
	};
	static const struct mock_call call = {
		.command = KVCACHE_IOC_DETACH,
		.want = &want,
		.len = sizeof(want),
		.result = ETIMEDOUT,
	};
	struct kvc *kvc = mock_handle(0);

	(void)state;
	mock_expect(&call);
	assert_int_equal(kvc_detach(kvc, 4, 1500), -ETIMEDOUT);
	mock_done();
	kvc_close(kvc);
}

static void answer_info(void *argument, void *context)
{
	struct kvcache_info *info = argument;

	(void)context;
	info->nr_members = 12;
	info->objects = 99;
}

void test_info_asks_for_the_handles_pool(void **state)
{
	struct kvcache_member_info members[2];
	const struct kvcache_info want = {
		.size = sizeof(want),
		.pool = 6,
		.nr_members = 2,
		.members = (uintptr_t)members,
	};
	const struct mock_call call = {
		.command = KVCACHE_IOC_INFO,
		.want = &want,
		.len = sizeof(want),
		.answer = answer_info,
	};
	struct kvc *kvc = mock_handle(6);
	struct kvcache_info info;

	(void)state;
	memset(&info, 0xff, sizeof(info));
	mock_expect(&call);
	assert_int_equal(kvc_info(kvc, &info, members, 2), 0);
	assert_int_equal(info.nr_members, 12);
	assert_int_equal(info.objects, 99);
	mock_done();
	kvc_close(kvc);
}

void test_info_without_members(void **state)
{
	static const struct kvcache_info want = { .size = sizeof(want) };
	static const struct mock_call call = {
		.command = KVCACHE_IOC_INFO,
		.want = &want,
		.len = sizeof(want),
		.result = ENODEV,
	};
	struct kvc *kvc = mock_handle(0);
	struct kvcache_info info;

	(void)state;
	mock_expect(&call);
	assert_int_equal(kvc_info(kvc, &info, NULL, 64), -ENODEV);
	mock_done();
	kvc_close(kvc);
}

static void answer_pools(void *argument, void *context)
{
	struct kvcache_pools *pools = argument;

	(void)context;
	*(uint32_t *)(uintptr_t)pools->pools = 8;
	pools->count = 3;
}

void test_pools_counts_more_than_fit(void **state)
{
	uint32_t list[1];
	const struct kvcache_pools want = {
		.size = sizeof(want),
		.count = 1,
		.pools = (uintptr_t)list,
	};
	const struct mock_call call = {
		.command = KVCACHE_IOC_POOLS,
		.want = &want,
		.len = sizeof(want),
		.answer = answer_pools,
	};
	struct kvc *kvc = mock_handle(0);

	(void)state;
	mock_expect(&call);
	assert_int_equal(kvc_pools(kvc, list, 1), 3);
	assert_int_equal(list[0], 8);
	mock_done();
	kvc_close(kvc);
}

/* --- lists --- */

/**
 * struct page - one bufferful of a listing
 * @cookie_in: expected
 * @cookie_out: answer
 * @keys: answer, NULL at the end
 * @broken: spoil the first entry's length
 */
struct page {
	uint64_t cookie_in;
	uint64_t cookie_out;
	const char *keys[4];
	bool broken;
};

static void answer_list(void *argument, void *context)
{
	struct kvcache_list *list = argument;
	const struct page *page = context;
	uint8_t *at = (void *)(uintptr_t)list->buffer;
	unsigned int i;

	assert_int_equal(list->size, sizeof(*list));
	assert_int_equal(list->flags, KVCACHE_LIST_ALL_TENANTS);
	assert_int_equal(list->pool, 2);
	assert_int_equal(list->tenant, 11);
	assert_int_equal(list->deadline_ms, 700);
	assert_true(list->buffer_len >= 4096);
	assert_int_equal(list->used, 0);
	assert_int_equal(list->count, 0);
	assert_int_equal(list->reserved, 0);
	assert_int_equal(list->cookie, page->cookie_in);
	assert_int_equal(list->prefix_len, 2);
	assert_memory_equal((void *)(uintptr_t)list->prefix, "k\0", 2);
	for (i = 0; page->keys[i]; i++) {
		uint16_t len = (uint16_t)strlen(page->keys[i]);
		struct kvcache_list_entry entry = {
			.entry_len = (uint16_t)((sizeof(entry) + len + 7) & ~7U),
			.key_len = len,
			.depth = 3,
			.tenant = 11,
			.length = 1000 + i,
			.expiry = 2000,
		};

		memcpy(at, &entry, sizeof(entry));
		memcpy(at + sizeof(entry), page->keys[i], len);
		at += entry.entry_len;
		list->count++;
	}
	list->used = (uint32_t)(at - (uint8_t *)(uintptr_t)list->buffer);
	list->cookie = page->cookie_out;
	if (page->broken)
		((struct kvcache_list_entry *)(uintptr_t)list->buffer)->entry_len += 8;
}

static struct kvc_list *open_list(struct kvc *kvc)
{
	static const struct kvc_call how = { .tenant = 11, .deadline_ms = 700 };
	struct kvc_list *list = kvc_list_open(kvc, &how, "k\0", 2,
					      KVC_LIST_ALL_TENANTS);

	assert_non_null(list);
	return list;
}

static void expect_page(struct mock_call *call, struct page *page, int result)
{
	*call = (struct mock_call) {
		.command = KVCACHE_IOC_LIST,
		.answer = result ? NULL : answer_list,
		.context = page,
		.result = result,
	};
	mock_expect(call);
}

static void assert_next(struct kvc_list *list, const char *key, uint64_t length)
{
	struct kvc_object object;

	assert_int_equal(kvc_list_next(list, &object), 1);
	assert_int_equal(object.key_len, strlen(key));
	assert_memory_equal(object.key, key, object.key_len);
	assert_int_equal(object.length, length);
	assert_int_equal(object.expiry, 2000);
	assert_int_equal(object.tenant, 11);
	assert_int_equal(object.depth, 3);
}

/* Several bufferfuls, an empty one among them, an error in between. */
void test_list_goes_on_over_pages_and_errors(void **state)
{
	struct kvc *kvc = mock_handle(2);
	struct page pages[] = {
		{ 0, 100, { "ka", "kbcdefghi" }, false },
		{ 100, 200, { NULL }, false },
		{ 200, 0, { "kz" }, false },
	};
	struct kvc_object object;
	struct mock_call calls[4];
	struct kvc_list *list;

	(void)state;
	list = open_list(kvc);
	expect_page(&calls[0], &pages[0], 0);
	expect_page(&calls[1], NULL, EAGAIN);
	expect_page(&calls[2], &pages[1], 0);
	expect_page(&calls[3], &pages[2], 0);
	assert_next(list, "ka", 1000);
	assert_next(list, "kbcdefghi", 1001);
	assert_int_equal(kvc_list_next(list, &object), -EAGAIN);
	assert_next(list, "kz", 1000);
	assert_int_equal(kvc_list_next(list, &object), 0);
	assert_int_equal(kvc_list_next(list, &object), 0);
	mock_done();
	kvc_list_close(list);
	kvc_close(kvc);
}

void test_list_does_not_trust_entry_lengths(void **state)
{
	struct kvc *kvc = mock_handle(2);
	struct page page = { 0, 0, { "ka" }, true };
	struct kvc_object object;
	struct mock_call call;
	struct kvc_list *list;

	(void)state;
	list = open_list(kvc);
	expect_page(&call, &page, 0);
	assert_int_equal(kvc_list_next(list, &object), -EPROTO);
	mock_done();
	kvc_list_close(list);
	kvc_close(kvc);
}

void test_list_refuses_a_long_prefix(void **state)
{
	static const char prefix[KVCACHE_KEY_MAX + 1];
	struct kvc *kvc = mock_handle(2);

	(void)state;
	assert_null(kvc_list_open(kvc, NULL, prefix, sizeof(prefix), 0));
	assert_int_equal(errno, EINVAL);
	mock_done();
	kvc_close(kvc);
}

/* --- words --- */

/* Every answer that the interface documents has words of its own. */
void test_every_answer_has_words(void **state)
{
	static const int answers[] = {
		ENOENT, EEXIST, EAGAIN, ETIMEDOUT, EDQUOT, EMSGSIZE, EBADMSG,
		EIO, ESTALE, ENODEV, EINVAL, EFBIG, ECANCELED, EFAULT, EBUSY,
		EUCLEAN, EOPNOTSUPP, ENXIO, ENOMEM, EINTR, EINPROGRESS,
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		assert_string_not_equal(kvc_strerror(answers[i]),
					strerror(answers[i]));
		assert_string_equal(kvc_strerror(answers[i]),
				    kvc_strerror(-answers[i]));
		assert_true(strlen(kvc_next_step(answers[i])) > 0);
	}
	assert_string_equal(kvc_strerror(-ENOSPC), strerror(ENOSPC));
	assert_string_equal(kvc_strerror(123456), "unknown error");
	assert_string_equal(kvc_next_step(123456), "");
}

/* Labels hold these values: they must never change. */
void test_wwid_hash_is_what_labels_hold(void **state)
{
	(void)state;
	assert_true(kvc_wwid_hash("") == 0);
	assert_true(kvc_wwid_hash("  \n") == 0);
	assert_true(kvc_wwid_hash("a") == 0xaf63dc4c8601ec8cULL);
	assert_true(kvc_wwid_hash("foobar") == 0x85944171f73967e8ULL);
	assert_true(kvc_wwid_hash("foobar \n") == kvc_wwid_hash("foobar"));
	assert_true(kvc_wwid_hash("uuid.1") != kvc_wwid_hash("uuid.2"));
}
