/* SPDX-License-Identifier: MIT */
/* Unit tests of kvcachectl; each one's name says what it checks. */
#ifndef KVC_CTL_TESTS_H
#define KVC_CTL_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl.h"

#define ALL_TESTS(X)				\
	X(test_sizes)				\
	X(test_sizes_that_are_none)		\
	X(test_numbers)				\
	X(test_times)				\
	X(test_hex)				\
	X(test_uuids)				\
	X(test_sizes_as_text)			\
	X(test_keys_as_text)			\
	X(test_json_keeps_64_bits)		\
	X(test_safe_timeouts_are_ok)		\
	X(test_unsafe_timeouts_fail)		\
	X(test_timeouts_against_the_lease)	\
	X(test_life_of_a_write)			\
	X(test_path_of_a_namespace)		\
	X(test_paths_of_a_multipath_namespace)	\
	X(test_other_devices_have_no_paths)	\
	X(test_probe_of_a_sound_pool)		\
	X(test_probe_finds_a_clone)		\
	X(test_probe_finds_an_old_copy)		\
	X(test_probe_tolerates_an_interrupted_attach)	\
	X(test_probe_finds_a_pool_that_split)	\
	X(test_probe_uses_the_sound_label)	\
	X(test_probe_tells_pools_apart)		\
	X(test_slots_of_a_fresh_pool_are_unused)	\
	X(test_slots_that_stand_still_use_nothing)	\
	X(test_slots_that_move_name_their_host)

#define DECLARE_TEST(name) void name(void **state);
ALL_TESTS(DECLARE_TEST)

#endif
