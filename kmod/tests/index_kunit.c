// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include "kvc_kunit.h"
#include "kvc_fixture.h"
#include "index.h"

#define OBJECTS	20000

static struct kvc_index x;
static struct kvc_chunk *chunks;
static struct kvc_chunk *spare;
/* Only its address counts: the index knows nothing of segments. */
static u64 somewhere[2];
#define SEGMENT(i)	((struct kvc_segment *)&somewhere[i])

static int setup(struct kunit *test)
{
	chunks = NULL;
	return kvc_index_init(&x);
}

static void teardown(struct kunit *test)
{
	struct kvc_chunk *c;
	u32 i;

	for (c = chunks; c; c = c->next)
		for (i = 0; i < c->used; i++)
			kvc_index_remove(&x, &c->entries[i]);
	kvc_chunks_free(&x, chunks);
	if (spare)
		free_page((unsigned long)spare);
	spare = NULL;
	rcu_barrier();
	kvc_index_destroy(&x);
}

static struct kvc_entry *add(struct kunit *test, u64 id, u32 offset, u32 flags,
			     u64 expiry)
{
	struct kvc_hash h = { id * 0x9e3779b97f4a7c15ULL, id << 32 | id };
	struct kvc_entry *e;

	if (!spare)
		spare = (struct kvc_chunk *)get_zeroed_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, spare);
	e = kvc_entry_alloc(&x, SEGMENT(0), &chunks, &spare);
	KUNIT_ASSERT_NOT_NULL(test, e);
	kvc_entry_init(e, h, offset, 4096, 5, expiry);
	atomic_or(flags, &e->where);
	KUNIT_ASSERT_EQ(test, 0, kvc_index_add(&x, e));
	return e;
}

static struct kvc_entry *find(const struct kvc_entry *e, u64 now)
{
	struct kvc_entry *found;

	rcu_read_lock();
	found = kvc_index_find(&x, &e->hash, now);
	rcu_read_unlock();
	return found;
}

static void finds_what_can_be_hit(struct kunit *test)
{
	struct kvc_entry *live = add(test, 1, 10, KVC_ENTRY_LIVE, 0);
	struct kvc_entry *pending = add(test, 2, 11, 0, 0);
	struct kvc_entry *dead = add(test, 3, 12,
				     KVC_ENTRY_LIVE | KVC_ENTRY_DEAD, 0);
	struct kvc_entry *expiring = add(test, 4, 13, KVC_ENTRY_LIVE, 100);

	KUNIT_EXPECT_PTR_EQ(test, find(live, 0), live);
	KUNIT_EXPECT_EQ(test, kvc_entry_offset(live), 10);
	KUNIT_EXPECT_EQ(test, kvc_entry_depth(live), 5);
	KUNIT_EXPECT_PTR_EQ(test, kvc_entry_segment(live), SEGMENT(0));
	KUNIT_EXPECT_NULL(test, find(pending, 0));
	KUNIT_EXPECT_NULL(test, find(dead, 0));
	KUNIT_EXPECT_PTR_EQ(test, find(expiring, 99), expiring);
	KUNIT_EXPECT_NULL(test, find(expiring, 100));
}

static void passes_over_dead_copies(struct kunit *test)
{
	struct kvc_entry *a = add(test, 1, 10, KVC_ENTRY_LIVE, 50);
	struct kvc_entry *b = add(test, 1, 20, KVC_ENTRY_LIVE, 0);
	struct kvc_entry *c = add(test, 1, 30, KVC_ENTRY_DEAD, 0);
	struct kvc_exact exact = {
		.hash = a->hash, .segment = SEGMENT(0), .offset = 30,
	};

	KUNIT_EXPECT_PTR_EQ(test, find(a, 60), b);
	rcu_read_lock();
	KUNIT_EXPECT_PTR_EQ(test, kvc_index_find_exact(&x, &exact), c);
	exact.segment = SEGMENT(1);
	KUNIT_EXPECT_NULL(test, kvc_index_find_exact(&x, &exact));
	rcu_read_unlock();
	KUNIT_EXPECT_TRUE(test, kvc_index_remove(&x, b));
	KUNIT_EXPECT_FALSE(test, kvc_index_remove(&x, b));
	KUNIT_EXPECT_NULL(test, find(a, 60));
}

static void claims_once(struct kunit *test)
{
	struct kvc_entry *first = add(test, 1, 10, 0, 0);
	struct kvc_entry *second;

	if (!spare)
		spare = (struct kvc_chunk *)get_zeroed_page(GFP_KERNEL);
	second = kvc_entry_alloc(&x, SEGMENT(0), &chunks, &spare);
	kvc_entry_init(second, first->hash, 20, 1, 0, 0);
	rcu_read_lock();
	KUNIT_EXPECT_PTR_EQ(test, kvc_index_claim(&x, second), first);
	rcu_read_unlock();
	KUNIT_EXPECT_TRUE(test, kvc_index_remove(&x, first));
	rcu_read_lock();
	KUNIT_EXPECT_NULL(test, kvc_index_claim(&x, second));
	rcu_read_unlock();
}

static void replaces_in_one_step(struct kunit *test)
{
	struct kvc_entry *old = add(test, 1, 10, KVC_ENTRY_LIVE, 0);
	struct kvc_entry *new;

	if (!spare)
		spare = (struct kvc_chunk *)get_zeroed_page(GFP_KERNEL);
	new = kvc_entry_alloc(&x, SEGMENT(0), &chunks, &spare);
	kvc_entry_init(new, old->hash, 77, 4096, 0, 0);
	atomic_or(KVC_ENTRY_LIVE, &new->where);
	KUNIT_EXPECT_EQ(test, 0, kvc_index_replace(&x, old, new));
	KUNIT_EXPECT_PTR_EQ(test, find(new, 0), new);
	KUNIT_EXPECT_NE(test, 0, kvc_index_replace(&x, old, new));
}

static void stays_within_64_bytes_an_object(struct kunit *test)
{
	struct kvc_entry *e = NULL;
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		e = add(test, i + 1, i, KVC_ENTRY_LIVE, 0);
	KUNIT_EXPECT_PTR_EQ(test, find(e, 0), e);
	KUNIT_EXPECT_LE(test, kvc_index_bytes(&x), 64ULL * OBJECTS);
	KUNIT_EXPECT_GE(test, kvc_index_bytes(&x), 40ULL * OBJECTS);
}

static void mark(struct kvc_entry *e, void *arg)
{
	u32 *removed = arg;

	e->present = 1;
	/* What goes meanwhile must not hide what stays. */
	if (e->hash.lo % 3 == 0 && kvc_index_remove(&x, e))
		(*removed)++;
}

static void walks_over_all(struct kunit *test)
{
	u32 i, removed = 0, missed = 0;
	struct kvc_chunk *c;

	for (i = 0; i < OBJECTS; i++)
		add(test, i + 1, i, KVC_ENTRY_LIVE, 0);
	KUNIT_EXPECT_EQ(test, 0, kvc_index_walk(&x, mark, &removed));
	for (c = chunks; c; c = c->next)
		for (i = 0; i < c->used; i++)
			missed += !c->entries[i].present;
	KUNIT_EXPECT_EQ(test, missed, 0U);
	KUNIT_EXPECT_GT(test, removed, OBJECTS / 4U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(finds_what_can_be_hit),
	KUNIT_CASE(passes_over_dead_copies),
	KUNIT_CASE(claims_once),
	KUNIT_CASE(replaces_in_one_step),
	KUNIT_CASE(stays_within_64_bytes_an_object),
	KUNIT_CASE(walks_over_all),
	{}
};

struct kunit_suite kvc_index_suite = {
	.name = "kvc_index",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};
