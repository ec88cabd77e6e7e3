// SPDX-License-Identifier: MIT
/* Attach modes, grants, AGs and slots. */
#include <errno.h>
#include <string.h>

#include "tests.h"

static const char *const one_path[] = { "/dev/nvme0n1" };

static void answer_mode(void *argument, void *context)
{
	struct kvcache_attach *a = argument;
	const struct kvcache_attach *want = context;

	assert_int_equal(a->flags, want->flags);
	assert_int_equal(a->mode, want->mode);
	assert_int_equal(a->host, want->host);
	assert_int_equal(a->hosts, want->hosts);
	assert_int_equal(a->max_staleness_ms, want->max_staleness_ms);
	a->pool = 1;
}

static void attach_and_see(const struct kvc_attach_options *options,
			   struct kvcache_attach *want)
{
	const struct mock_call call = {
		.command = KVCACHE_IOC_ATTACH,
		.answer = answer_mode,
		.context = want,
	};
	struct kvc *kvc = mock_handle(0);

	mock_expect(&call);
	assert_int_equal(kvc_attach(kvc, options, NULL, 0), 1);
	mock_done();
	kvc_close(kvc);
}

void test_attach_passes_the_mode(void **state)
{
	struct kvc_attach_options options = {
		.paths = one_path,
		.nr_members = 1,
		.flags = KVC_ATTACH_SHARED,
		.mode = KVCACHE_MODE_STATIC,
		.host = 1,
		.hosts = 3,
		.max_staleness_ms = 20,
	};
	struct kvcache_attach want = {
		.mode = KVCACHE_MODE_STATIC,
		.host = 1,
		.hosts = 3,
		.max_staleness_ms = 20,
	};

	(void)state;
	attach_and_see(&options, &want);
}

/* A program that was built before there were modes has other things there. */
void test_attach_without_the_flag_reads_no_mode(void **state)
{
	struct kvc_attach_options options = {
		.paths = one_path,
		.nr_members = 1,
		.flags = KVCACHE_ATTACH_DEGRADED,
		.mode = 0xdeadbeef,
		.host = 0xdeadbeef,
		.hosts = 0xdeadbeef,
		.max_staleness_ms = 0xdeadbeef,
	};
	struct kvcache_attach want = { .flags = KVCACHE_ATTACH_DEGRADED };

	(void)state;
	attach_and_see(&options, &want);
}

void test_grant_passes_everything(void **state)
{
	static const struct kvcache_grant_ag ags[] = {
		{ .ag = 1, .epoch = 7 }, { .ag = 4, .epoch = 1ULL << 40 },
	};
	const struct kvcache_grant want = {
		.size = sizeof(want),
		.pool = 6,
		.slot = 3,
		.incarnation = 1ULL << 33,
		.deadline_ns = 1ULL << 50,
		.ags = (uintptr_t)ags,
		.nr_ags = 2,
	};
	const struct mock_call call = {
		.command = KVCACHE_IOC_GRANT,
		.want = &want,
		.len = sizeof(want),
		.result = ESTALE,
	};
	struct kvc *kvc = mock_handle(6);

	(void)state;
	mock_expect(&call);
	assert_int_equal(kvc_grant(kvc, 3, 1ULL << 33, 1ULL << 50, ags, 2),
			 -ESTALE);
	mock_done();
	kvc_close(kvc);
}

void test_grant_of_nothing(void **state)
{
	static const struct kvcache_grant_ag left_over;
	static const struct kvcache_grant want = {
		.size = sizeof(want),
		.pool = 6,
		.slot = 3,
		.incarnation = 2,
		.deadline_ns = 5,
	};
	static const struct mock_call call = {
		.command = KVCACHE_IOC_GRANT,
		.want = &want,
		.len = sizeof(want),
	};
	struct kvc *kvc = mock_handle(6);

	(void)state;
	mock_expect(&call);
	assert_int_equal(kvc_grant(kvc, 3, 2, 5, &left_over, 0), 0);
	mock_done();
	kvc_close(kvc);
}

/**
 * struct piece - what the kernel gives in one call
 * @first: expected
 * @room: expected
 * @count: answer
 * @total: answer
 */
struct piece {
	uint32_t first;
	uint32_t room;
	uint32_t count;
	uint32_t total;
};

static void answer_ags(void *argument, void *context)
{
	struct kvcache_ags *a = argument;
	struct kvcache_ag_info *out = (void *)(uintptr_t)a->ags;
	const struct piece *p = context;
	uint32_t i;

	assert_int_equal(a->size, sizeof(*a));
	assert_int_equal(a->flags, 0);
	assert_int_equal(a->pool, 2);
	assert_int_equal(a->first, p->first);
	assert_int_equal(a->count, p->room);
	for (i = 0; i < p->count && i < p->room; i++)
		out[i].ag = p->first + i;
	a->count = p->count;
	a->total = p->total;
}

static void answer_slots(void *argument, void *context)
{
	struct kvcache_slots *s = argument;
	struct kvcache_slot_info *out = (void *)(uintptr_t)s->slots;
	const struct piece *p = context;
	uint32_t i;

	assert_int_equal(s->size, sizeof(*s));
	assert_int_equal(s->flags, 0);
	assert_int_equal(s->pool, 2);
	assert_int_equal(s->first, p->first);
	assert_int_equal(s->count, p->room);
	for (i = 0; i < p->count && i < p->room; i++)
		out[i].slot = p->first + i;
	s->count = p->count;
	s->total = p->total;
}

static void expect_piece(struct mock_call *call, struct piece *piece, bool slots)
{
	*call = (struct mock_call) {
		.command = slots ? KVCACHE_IOC_SLOTS : KVCACHE_IOC_AGS,
		.answer = slots ? answer_slots : answer_ags,
		.context = piece,
	};
	mock_expect(call);
}

void test_ags_asks_until_all_are_there(void **state)
{
	struct piece pieces[] = { { 0, 8, 3, 5 }, { 3, 5, 2, 5 } };
	struct kvc *kvc = mock_handle(2);
	struct kvcache_ag_info ags[8];
	struct mock_call calls[2];
	uint32_t i;

	(void)state;
	expect_piece(&calls[0], &pieces[0], false);
	expect_piece(&calls[1], &pieces[1], false);
	assert_int_equal(kvc_ags(kvc, ags, 8), 5);
	for (i = 0; i < 5; i++)
		assert_int_equal(ags[i].ag, i);
	mock_done();
	kvc_close(kvc);
}

void test_slots_asks_until_all_are_there(void **state)
{
	struct piece pieces[] = { { 0, 4, 1, 4 }, { 1, 3, 3, 4 } };
	struct kvc *kvc = mock_handle(2);
	struct kvcache_slot_info slots[4];
	struct mock_call calls[2];
	uint32_t i;

	(void)state;
	expect_piece(&calls[0], &pieces[0], true);
	expect_piece(&calls[1], &pieces[1], true);
	assert_int_equal(kvc_slots(kvc, slots, 4), 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(slots[i].slot, i);
	mock_done();
	kvc_close(kvc);
}

void test_ags_and_slots_count_more_than_fit(void **state)
{
	struct piece pieces[] = { { 0, 2, 2, 9 }, { 0, 0, 0, 9 }, { 0, 0, 0, 16 } };
	struct kvc *kvc = mock_handle(2);
	struct kvcache_ag_info ags[2];
	struct mock_call calls[3];

	(void)state;
	expect_piece(&calls[0], &pieces[0], false);
	assert_int_equal(kvc_ags(kvc, ags, 2), 9);
	expect_piece(&calls[1], &pieces[1], false);
	assert_int_equal(kvc_ags(kvc, NULL, 64), 9);
	expect_piece(&calls[2], &pieces[2], true);
	assert_int_equal(kvc_slots(kvc, NULL, 0), 16);
	mock_done();
	kvc_close(kvc);
}

/* A kernel that says more than there is room for, or nothing for ever. */
void test_ags_does_not_trust_the_kernels_counts(void **state)
{
	struct piece pieces[] = { { 0, 2, 3, 9 }, { 0, 2, 0, 9 } };
	struct kvc *kvc = mock_handle(2);
	struct kvcache_ag_info ags[2];
	struct mock_call calls[2];

	(void)state;
	expect_piece(&calls[0], &pieces[0], false);
	assert_int_equal(kvc_ags(kvc, ags, 2), -EPROTO);
	expect_piece(&calls[1], &pieces[1], false);
	assert_int_equal(kvc_ags(kvc, ags, 2), -EPROTO);
	mock_done();
	kvc_close(kvc);
}
