/* SPDX-License-Identifier: MIT */
/* The library's tests; each one's name says what it checks. */
#ifndef KVC_TESTS_H
#define KVC_TESTS_H

#include <stdbool.h>
#include <time.h>

#include "mock.h"

#define ALL_TESTS(X) \
	X(test_put_passes_key_and_data) \
	X(test_put_answers_the_keys_status) \
	X(test_get_returns_bytes_and_length) \
	X(test_get_of_a_small_buffer_tells_the_length) \
	X(test_get_tells_memory_under_io) \
	X(test_get_range_sets_flag_and_offset) \
	X(test_exists_moves_no_data) \
	X(test_pin_is_an_exists_with_a_pin) \
	X(test_delete_of_a_miss_is_enoent) \
	X(test_a_call_that_is_refused_returns_its_errno) \
	X(test_pool_tenant_and_deadline_are_passed) \
	X(test_reserved_fields_and_empty_batches_are_refused) \
	X(test_prep_fills_in_every_field) \
	X(test_prep_refuses_keys_that_are_too_long) \
	X(test_large_batches_are_split) \
	X(test_split_refused_at_once_touches_no_key) \
	X(test_split_refused_later_marks_the_rest) \
	X(test_split_stops_at_a_signal_between_parts) \
	X(test_split_stops_at_a_part_cut_short) \
	X(test_split_ends_at_the_deadline) \
	X(test_open_takes_the_default_device) \
	X(test_open_fails_with_errno) \
	X(test_open_of_something_else_is_enotty) \
	X(test_attach_passes_members_and_identity) \
	X(test_attach_finds_out_who_this_host_is) \
	X(test_attach_passes_the_kernels_reason_on) \
	X(test_attach_checks_what_does_not_fit) \
	X(test_attach_passes_the_mode) \
	X(test_attach_without_the_flag_reads_no_mode) \
	X(test_detach_passes_pool_and_timeout) \
	X(test_info_asks_for_the_handles_pool) \
	X(test_info_without_members) \
	X(test_pools_counts_more_than_fit) \
	X(test_grant_passes_everything) \
	X(test_grant_of_nothing) \
	X(test_ags_asks_until_all_are_there) \
	X(test_slots_asks_until_all_are_there) \
	X(test_ags_and_slots_count_more_than_fit) \
	X(test_ags_does_not_trust_the_kernels_counts) \
	X(test_map_needs_a_kernel_that_can) \
	X(test_map_answers_by_the_table) \
	X(test_map_asks_where_the_table_can_not_tell) \
	X(test_map_finds_the_next_table) \
	X(test_map_does_not_trust_the_number_of_lines) \
	X(test_list_goes_on_over_pages_and_errors) \
	X(test_list_does_not_trust_entry_lengths) \
	X(test_list_refuses_a_long_prefix) \
	X(test_every_answer_has_words) \
	X(test_wwid_hash_is_what_labels_hold)

#define DECLARE_TEST(name) void name(void **state);
ALL_TESTS(DECLARE_TEST)

#endif
