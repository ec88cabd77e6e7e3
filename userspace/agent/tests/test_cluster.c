// SPDX-License-Identifier: MIT
/* What stands in etcd: written by one agent, read by another. */
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "tests.h"

#define PREFIX "/kvcache/uuid/"

/* The cluster that stands in @kvs. */
static void parse(struct cluster *c, struct etcd_kv *kvs, size_t count)
{
	const struct etcd_kvs all = {
		.kvs = kvs,
		.count = count,
		.revision = 99,
	};

	cluster_parse(c, PREFIX, &all);
}

static struct etcd_kv key(const char *name, const char *value)
{
	return (struct etcd_kv) {
		.key = (char *)name,
		.value = (char *)value,
		.create = 5,
		.mod = 7,
		.lease = 11,
	};
}

void test_cluster_reads_what_agents_write(void **state)
{
	static struct plan_epoch held[] = { { .ag = 1, .epoch = 4 } };
	static struct plan_epoch refused[] = { { .ag = 2, .epoch = 5, .next = 9 } };
	static struct plan_epoch floors[] = { { .ag = 0, .epoch = 3 } };
	const struct cluster_slot slot = {
		.incarnation = 17,
		.node = "n1",
		.nqn = "nqn.x",
		.boot = "b",
	};
	const struct cluster_report report = {
		.host = {
			.incarnation = 17,
			.joined = true,
			.leaving = true,
			.seen = 12,
			.nr_held = 1,
			.nr_refused = 1,
		},
		.held = held,
		.refused = refused,
		.floors = floors,
		.nr_floors = 1,
		.lost = floors,
		.nr_lost = 1,
	};
	const struct plan_ag ags[] = {
		{ .slot = PLAN_NOBODY, .epoch = 2, .since = 1 },
		{ .slot = 3, .incarnation = 17, .epoch = 4, .since = 6,
		  .release = true },
	};
	char *texts[4] = {
		cluster_slot_value(&slot),
		cluster_report_value(&report),
		cluster_map_value(8, ags, 2),
		cluster_leader_value(3, 17),
	};
	struct etcd_kv kvs[] = {
		key(PREFIX "hosts/3", texts[1]),
		key(PREFIX "incarnation", "17"),
		key(PREFIX "leader", texts[3]),
		key(PREFIX "map", texts[2]),
		key(PREFIX "quiet/1/3", ""),
		key(PREFIX "reserved/3", texts[0]),
		key(PREFIX "reserved/4", texts[0]),
		key(PREFIX "slots/3", texts[0]),
	};
	static struct cluster c;
	int i;

	(void)state;
	parse(&c, kvs, sizeof(kvs) / sizeof(kvs[0]));
	assert_false(c.bad);
	assert_int_equal(c.revision, 99);
	assert_true(c.slots[3].taken && c.slots[3].reserved);
	assert_true(!c.slots[4].taken && c.slots[4].reserved);
	assert_int_equal(c.slots[3].incarnation, 17);
	assert_int_equal(c.slots[3].lease, 11);
	assert_string_equal(c.slots[3].node, "n1");
	assert_string_equal(c.slots[3].nqn, "nqn.x");
	assert_string_equal(c.slots[3].boot, "b");
	assert_true(c.reports[3].there);
	assert_int_equal(c.reports[3].host.slot, 3);
	assert_true(c.reports[3].host.joined && c.reports[3].host.leaving);
	assert_int_equal(c.reports[3].host.seen, 12);
	assert_int_equal(c.reports[3].host.held[0].epoch, 4);
	assert_int_equal(c.reports[3].host.refused[0].next, 9);
	assert_int_equal(c.reports[3].floors[0].epoch, 3);
	assert_int_equal(c.reports[3].nr_lost, 1);
	assert_int_equal(c.reports[3].lost[0].ag, c.reports[3].floors[0].ag);
	assert_int_equal(c.counter, 17);
	assert_int_equal(c.counter_mod, 7);
	assert_int_equal(c.leader_create, 5);
	assert_int_equal(c.leader_lease, 11);
	assert_int_equal(c.leader_slot, 3);
	assert_int_equal(c.map_mod, 7);
	assert_int_equal(c.version, 8);
	assert_int_equal(c.nr_ags, 2);
	assert_memory_equal(c.ags, ags, sizeof(ags));
	assert_int_equal(c.nr_quiet, 1);
	assert_int_equal(c.quiet[0].ag, 1);
	assert_int_equal(c.quiet[0].epoch, 3);
	cluster_free(&c);
	for (i = 0; i < 4; i++)
		free(texts[i]);
}

void test_cluster_keeps_64_bits(void **state)
{
	const struct cluster_slot slot = { .incarnation = UINT64_MAX - 1 };
	const struct plan_ag ag = {
		.slot = 0,
		.incarnation = UINT64_MAX - 1,
		.epoch = PLAN_EPOCH_MAX,
	};
	char *texts[2] = {
		cluster_slot_value(&slot),
		cluster_map_value(UINT64_MAX, &ag, 1),
	};
	struct etcd_kv kvs[] = {
		key(PREFIX "incarnation", "18446744073709551614"),
		key(PREFIX "map", texts[1]),
		key(PREFIX "slots/0", texts[0]),
	};
	static struct cluster c;

	(void)state;
	parse(&c, kvs, 3);
	assert_false(c.bad);
	assert_true(c.counter == UINT64_MAX - 1);
	assert_true(c.slots[0].incarnation == UINT64_MAX - 1);
	assert_true(c.ags[0].incarnation == UINT64_MAX - 1);
	assert_true(c.ags[0].epoch == PLAN_EPOCH_MAX);
	assert_true(c.version == UINT64_MAX);
	cluster_free(&c);
	free(texts[0]);
	free(texts[1]);
}

void test_cluster_ignores_rubbish(void **state)
{
	static const char good[] = "{\"incarnation\":\"1\",\"joined\":true,"
		"\"seen\":\"1\",\"held\":[],\"refused\":[],\"floors\":[]}";
	struct etcd_kv kvs[] = {
		key("/other/uuid/slots/0", "{\"incarnation\":\"1\"}"),
		key(PREFIX, ""), key(PREFIX "other", "x"),
		key(PREFIX "slots/256", "{\"incarnation\":\"1\"}"),
		key(PREFIX "slots/-1", "{\"incarnation\":\"1\"}"),
		key(PREFIX "slots/", "{\"incarnation\":\"1\"}"),
		key(PREFIX "slots/1", "{\"incarnation\":\"1\"}"),
		key(PREFIX "slots/2", "{\"incarnation\":\"1\"}"),
		key(PREFIX "hosts/0", good),	/* nobody has that slot */
		key(PREFIX "hosts/1", "{\"incarnation\":\"1\",\"seen\":\"1\","
		    "\"held\":[[1]],\"refused\":[],\"floors\":[]}"),
		key(PREFIX "hosts/2", "[[[[[["),
		key(PREFIX "quiet/1", ""), key(PREFIX "quiet/x/1", ""),
		key(PREFIX "quiet/1/y", ""), key(PREFIX "quiet/4294967296/1", ""),
	};
	static struct cluster c;
	uint32_t i;

	(void)state;
	parse(&c, kvs, sizeof(kvs) / sizeof(kvs[0]));
	assert_false(c.bad);
	for (i = 0; i < CLUSTER_SLOTS; i++) {
		assert_int_equal(c.slots[i].taken, i == 1 || i == 2);
		assert_false(c.reports[i].there);
	}
	assert_int_equal(c.nr_quiet, 0);
	cluster_free(&c);
}

/* Planning on from such a map, or such a slot, would do harm. */
void test_cluster_a_rotten_map_is_told(void **state)
{
	static const char *const maps[] = {
		"", "{}", "[]", "{\"version\":\"1\",\"ags\":[]}",
		"{\"version\":\"x\",\"ags\":[{\"epoch\":1,\"since\":\"1\"}]}",
		"{\"version\":\"1\",\"ags\":[{\"since\":\"1\"}]}",
		"{\"version\":\"1\",\"ags\":[{\"epoch\":-1,\"since\":\"1\"}]}",
		"{\"version\":\"1\",\"ags\":[{\"epoch\":4294967296,\"since\":\"1\"}]}",
		"{\"version\":\"1\",\"ags\":[{\"epoch\":1,\"since\":\"1\",\"slot\":256}]}",
		"{\"version\":\"1\",\"ags\":[{\"epoch\":1,\"since\":\"1\",\"slot\":1}]}",
	};
	static struct cluster c;
	struct etcd_kv kv;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		kv = key(PREFIX "map", maps[i]);
		parse(&c, &kv, 1);
		assert_true(c.bad);
		cluster_free(&c);
	}
	kv = key(PREFIX "slots/1", "{\"incarnation\":\"\"}");
	parse(&c, &kv, 1);
	assert_true(c.bad && c.slots[1].taken);
	cluster_free(&c);
	kv = key(PREFIX "incarnation", "many");
	parse(&c, &kv, 1);
	assert_true(plan_incarnation(c.counter, 0) == 0);
	cluster_free(&c);
}

void test_base64(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "/kvcache/", "L2t2Y2FjaGUv" },
	};
	size_t i, len;
	char *text;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = base64_encode(cases[i][0], strlen(cases[i][0]));
		assert_string_equal(text, cases[i][1]);
		free(text);
		text = base64_decode(cases[i][1], &len);
		assert_string_equal(text, cases[i][0]);
		assert_int_equal(len, strlen(cases[i][0]));
		free(text);
	}
	assert_null(base64_decode("Zm9*", &len));
}
