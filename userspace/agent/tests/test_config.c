// SPDX-License-Identifier: MIT
/* Settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tests.h"

void test_config_reads_everything(void **state)
{
	static const char *const lines[] = {
		"# a comment", "", "   ", "pool = kv0", "  etcd=http://a:2379 , http://b:2379",
		"etcd = https://c:2379", "member = /dev/nvme0n1", "member = /dev/nvme1n1\r\n",
		"subsystem = nqn.x", "prefix = /some/where", "cacert = ca.pem",
		"cert = c.pem", "key = k.pem", "user = me", "password_file = /p",
		"ttl = 15", "node = n1", "hostnqn = nqn.h", "max_staleness = 20ms",
		"degraded = yes", "fence = yes", "number = 3", "device = /dev/other",
		"run_dir = /tmp/x", "leave_timeout = 2m", "detach = no",
		"verbose = yes",
	};
	char error[CONFIG_ERROR] = "";
	struct config c;
	size_t i;

	(void)state;
	config_init(&c);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_true(config_line(&c, lines[i], error));
	assert_true(config_finish(&c, error));
	assert_string_equal(c.pool, "kv0");
	assert_int_equal(c.etcd.count, 3);
	assert_string_equal(c.etcd.values[1], "http://b:2379");
	assert_int_equal(c.members.count, 2);
	assert_string_equal(c.members.values[1], "/dev/nvme1n1");
	assert_string_equal(c.subsystems.values[0], "nqn.x");
	assert_int_equal(c.ttl_s, 15);
	assert_int_equal(c.max_staleness_ms, 20);
	assert_true(c.degraded);
	assert_true(c.fence);
	assert_int_equal(c.number, 3);
	assert_int_equal(c.leave_ms, 120000);
	assert_int_equal(c.detach, CONFIG_DETACH_NO);
	assert_true(c.verbose);
	/* A later line wins. */
	assert_true(config_line(&c, "detach = yes", error));
	assert_true(config_line(&c, "pool = kv1", error));
	assert_int_equal(c.detach, CONFIG_DETACH_YES);
	assert_string_equal(c.pool, "kv1");
	config_free(&c);
}

void test_config_has_defaults(void **state)
{
	char error[CONFIG_ERROR];
	struct config c;

	(void)state;
	config_init(&c);
	assert_true(config_line(&c, "pool = kv0", error));
	assert_true(config_finish(&c, error));
	assert_int_equal(c.etcd.count, 1);
	assert_string_equal(c.etcd.values[0], "http://127.0.0.1:2379");
	assert_string_equal(c.prefix, "/kvcache");
	assert_int_equal(c.leave_ms, 30000);
	assert_int_equal(c.detach, CONFIG_DETACH_AUTO);
	config_free(&c);
}

void test_config_errors_name_file_and_line(void **state)
{
	static const struct {
		const char *line;
		const char *error;
	} cases[] = {
		{ "pool", "not of the form" },
		{ "pools = x", "no setting 'pools'" },
		{ "pool =", "has no value" },
		{ "ttl = 0", "whole seconds" },
		{ "ttl = 1500ms", "whole seconds" },
		{ "ttl = 3601", "at most 3600s" },
		{ "max_staleness = 61s", "at most 60s" },
		{ "max_staleness = -1", "at most 60s" },
		{ "degraded = true", "yes or no" },
		{ "detach = never", "auto, yes or no" },
		{ "number = 0", "from 1" },
		{ "number = 4294967296", "from 1" },
	};
	char path[] = "/tmp/kvcached-test-XXXXXX";
	char error[CONFIG_ERROR], place[64];
	struct config c;
	size_t i;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(place, sizeof(place), "%s:2: ", path);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fprintf(file, "# settings\n%s\n", cases[i].line);
		fclose(file);
		config_init(&c);
		assert_false(config_file(&c, path, error));
		assert_int_equal(strncmp(error, place, strlen(place)), 0);
		assert_non_null(strstr(error, cases[i].error));
		config_free(&c);
	}
	close(fd);
	unlink(path);
	config_init(&c);
	assert_false(config_file(&c, path, error));
	assert_non_null(strstr(error, "can't read it"));
	config_free(&c);
}

void test_config_needs_a_pool(void **state)
{
	static const struct {
		const char *line;
		const char *error;
	} cases[] = {
		{ "node = x", "no pool is named" },
		{ "pool = a/b", "no name of a pool" },
		{ "etcd = localhost:2379", "must be URLs" },
		{ "prefix = x", "begin" },
		{ "prefix = /x/", "begin" },
		{ "cert = x", "need each other" },
		{ "user = x", "need each other" },
	};
	char error[CONFIG_ERROR];
	struct config c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		config_init(&c);
		if (i)
			assert_true(config_line(&c, "pool = kv0", error));
		assert_true(config_line(&c, cases[i].line, error));
		assert_false(config_finish(&c, error));
		assert_non_null(strstr(error, cases[i].error));
		config_free(&c);
	}
}
