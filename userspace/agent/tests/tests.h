/* SPDX-License-Identifier: MIT */
/* Unit tests of kvcached; each one's name says what it checks. */
#ifndef KVC_AGENT_TESTS_H
#define KVC_AGENT_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ALL_TESTS(X)						\
	X(test_plan_first_host_gets_all)			\
	X(test_plan_hosts_that_have_not_joined_get_nothing)	\
	X(test_plan_join_moves_only_the_share)			\
	X(test_plan_release_waits_for_the_owner)		\
	X(test_plan_a_stale_report_confirms_nothing)		\
	X(test_plan_death_moves_only_the_dead_hosts)		\
	X(test_plan_lost_groups_are_nobodys_share)		\
	X(test_plan_a_new_incarnation_is_another_host)		\
	X(test_plan_leave_hands_over)				\
	X(test_plan_the_last_host_may_leave)			\
	X(test_plan_equal_shares_stay)				\
	X(test_plan_refused_epochs_go_up)			\
	X(test_plan_refusal_of_another_epoch_is_old)		\
	X(test_plan_floors_are_kept)				\
	X(test_plan_quiet_areas_are_left_alone)			\
	X(test_plan_waits_when_all_areas_are_quiet)		\
	X(test_plan_without_q_no_area_is_quiet)			\
	X(test_plan_spreads_homes)				\
	X(test_plan_large_steps_are_cut)			\
	X(test_plan_random_clusters)				\
	X(test_slot_prefers_unused_ones)			\
	X(test_slot_waits_for_strangers_to_stand_still)		\
	X(test_incarnations_only_increase)			\
	X(test_deadline_is_before_the_leases_end)		\
	X(test_deadline_leaves_q_to_the_slot)			\
	X(test_ttl_covers_lease_and_q)				\
	X(test_config_reads_everything)				\
	X(test_config_has_defaults)				\
	X(test_config_errors_name_file_and_line)		\
	X(test_config_needs_a_pool)				\
	X(test_cluster_reads_what_agents_write)			\
	X(test_cluster_keeps_64_bits)				\
	X(test_cluster_ignores_rubbish)				\
	X(test_cluster_a_rotten_map_is_told)			\
	X(test_base64)

#define DECLARE_TEST(name) void name(void **state);
ALL_TESTS(DECLARE_TEST)

#endif
