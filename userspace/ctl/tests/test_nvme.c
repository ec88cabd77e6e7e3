// SPDX-License-Identifier: MIT
/* Connections: read from a tree like sysfs, and judged. */
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvme_path.h"
#include "tests.h"

static const struct nvme_timeouts safe = {
	.fast_io_fail = NVME_FAST_IO_FAIL_TMO,
	.reconnect_delay = NVME_RECONNECT_DELAY,
	.keep_alive = NVME_KEEP_ALIVE_TMO,
	.ctrl_loss = NVME_CTRL_LOSS_TMO,
};

/* --- judging --- */

void test_safe_timeouts_are_ok(void **state)
{
	struct nvme_finding findings[NVME_FINDINGS_MAX];
	struct nvme_timeouts t = safe;

	(void)state;
	assert_int_equal(nvme_judge_timeouts(&t, 5000, findings), 0);
	t.ctrl_loss = NVME_OFF;
	assert_int_equal(nvme_judge_timeouts(&t, 5000, findings), 0);
	/* What this kernel does not tell is not judged. */
	t = (struct nvme_timeouts) { NVME_UNKNOWN, NVME_UNKNOWN, NVME_UNKNOWN,
				     NVME_UNKNOWN };
	assert_int_equal(nvme_judge_timeouts(&t, 5000, findings), 0);
}

void test_unsafe_timeouts_fail(void **state)
{
	struct nvme_finding findings[NVME_FINDINGS_MAX];
	struct nvme_timeouts t = safe;

	(void)state;
	t.fast_io_fail = NVME_OFF;
	assert_int_equal(nvme_judge_timeouts(&t, 0, findings), 1);
	assert_int_equal(findings[0].verdict, CTL_VERDICT_FAIL);
	assert_non_null(strstr(findings[0].next, "fast_io_fail_tmo=3"));
	t = safe;
	t.keep_alive = 0;
	assert_int_equal(nvme_judge_timeouts(&t, 0, findings), 1);
	assert_int_equal(findings[0].verdict, CTL_VERDICT_FAIL);
	t = safe;
	t.ctrl_loss = 2;
	assert_int_equal(nvme_judge_timeouts(&t, 0, findings), 1);
	assert_int_equal(findings[0].verdict, CTL_VERDICT_FAIL);
	t = safe;
	t.ctrl_loss = 30;
	assert_int_equal(nvme_judge_timeouts(&t, 0, findings), 1);
	assert_int_equal(findings[0].verdict, CTL_VERDICT_WARN);
}

void test_timeouts_against_the_lease(void **state)
{
	struct nvme_finding findings[NVME_FINDINGS_MAX];
	/* The initiator's defaults. */
	const struct nvme_timeouts t = { NVME_OFF, 10, 5, 600 };

	(void)state;
	assert_int_equal(nvme_judge_timeouts(&t, 0, findings), 1);
	assert_int_equal(nvme_judge_timeouts(&t, 5000, findings), 3);
	assert_int_equal(findings[1].verdict, CTL_VERDICT_WARN);
	assert_int_equal(findings[2].verdict, CTL_VERDICT_WARN);
	assert_int_equal(nvme_judge_timeouts(&t, 20000, findings), 1);
}

void test_life_of_a_write(void **state)
{
	struct nvme_path path = { .t = safe, .io_timeout_ms = 30000 };

	(void)state;
	assert_int_equal(nvme_write_life_ms(&path), 30000 + 3000 + 2000);
	path.io_timeout_ms = 1000;
	assert_int_equal(nvme_write_life_ms(&path), 4000 + 3000 + 2000);
	path.io_timeout_ms = 0;
	assert_int_equal(nvme_write_life_ms(&path), 0);
	path.io_timeout_ms = 30000;
	path.t.fast_io_fail = NVME_OFF;
	assert_int_equal(nvme_write_life_ms(&path), 0);
}

/* --- reading --- */

static void make(const char *root, const char *path, const char *value)
{
	char full[600], *slash;
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", value);
	fclose(file);
}

static void make_controller(const char *root, const char *name, const char *kato)
{
	static const char *const attributes[][2] = {
		{ "transport", "rdma" },
		{ "address", "traddr=10.0.0.1,trsvcid=4420" },
		{ "state", "live" },
		{ "hostnqn", "nqn.2014-08.org.example:a" },
		{ "fast_io_fail_tmo", "off" },
		{ "reconnect_delay", "10" },
		{ "ctrl_loss_tmo", "600" },
	};
	char path[300];
	size_t i;

	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		snprintf(path, sizeof(path), "class/nvme/%s/%s", name,
			 attributes[i][0]);
		make(root, path, attributes[i][1]);
	}
	snprintf(path, sizeof(path), "class/nvme/%s/kato", name);
	make(root, path, kato);
}

static void make_link(const char *root, const char *path, const char *target)
{
	char full[600];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	assert_int_equal(symlink(target, full), 0);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_tree(const char *root)
{
	nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void test_path_of_a_namespace(void **state)
{
	char root[] = "/tmp/kvcachectl-sysfs-XXXXXX";
	struct nvme_paths paths;

	(void)state;
	assert_non_null(mkdtemp(root));
	make_controller(root, "nvme3", "5");
	make(root, "class/block/nvme3n1/queue/io_timeout", "30000");
	make_link(root, "class/block/nvme3n1/device", "../../nvme3");
	nvme_paths_read(root, "nvme3n1", &paths);
	remove_tree(root);

	assert_int_equal(paths.count, 1);
	assert_false(paths.multipath);
	assert_string_equal(paths.path[0].controller, "nvme3");
	assert_string_equal(paths.path[0].state, "live");
	assert_string_equal(paths.path[0].hostnqn, "nqn.2014-08.org.example:a");
	assert_true(nvme_is_fabric(&paths.path[0]));
	assert_int_equal(paths.path[0].t.fast_io_fail, NVME_OFF);
	assert_int_equal(paths.path[0].t.reconnect_delay, 10);
	assert_int_equal(paths.path[0].t.keep_alive, 5);
	assert_int_equal(paths.path[0].t.ctrl_loss, 600);
	assert_int_equal(paths.path[0].io_timeout_ms, 30000);
}

void test_paths_of_a_multipath_namespace(void **state)
{
	char root[] = "/tmp/kvcachectl-sysfs-XXXXXX";
	struct nvme_paths paths;

	(void)state;
	assert_non_null(mkdtemp(root));
	make_controller(root, "nvme2", "2");
	make_controller(root, "nvme10", "3");
	make(root, "class/nvme-subsystem/nvme-subsys1/iopolicy", "numa");
	make_link(root, "class/nvme-subsystem/nvme-subsys1/nvme2", "../nvme2");
	make_link(root, "class/nvme-subsystem/nvme-subsys1/nvme10", "../nvme10");
	make_link(root, "class/nvme-subsystem/nvme-subsys1/nvme1n4", "../nvme1n4");
	make(root, "class/block/nvme1c2n4/queue/io_timeout", "7000");
	make(root, "class/block/nvme1n4/size", "8");
	make_link(root, "class/block/nvme1n4/device", "../../nvme-subsys1");
	nvme_paths_read(root, "nvme1n4", &paths);
	remove_tree(root);

	assert_int_equal(paths.count, 2);
	assert_true(paths.multipath);
	assert_string_equal(paths.path[0].controller, "nvme2");
	assert_int_equal(paths.path[0].io_timeout_ms, 7000);
	assert_string_equal(paths.path[1].controller, "nvme10");
	assert_int_equal(paths.path[1].t.keep_alive, 3);
	assert_int_equal(paths.path[1].io_timeout_ms, NVME_UNKNOWN);
}

void test_other_devices_have_no_paths(void **state)
{
	struct nvme_paths paths;

	(void)state;
	nvme_paths_read("/nonexistent", "nvme0n1", &paths);
	assert_int_equal(paths.count, 0);
	nvme_paths_read("/sys", "sda", &paths);
	assert_int_equal(paths.count, 0);
}
