"""What Karpenter's own suites of its AWS provider look at, row by row, and which tests of ours look at the same.

Source: the suites of Karpenter AWS v1.14.1 (1,270 cases) and its end-to-end suites, by area. What an area has that is
not supported here is on docs/compatibility-aws.md, by the words that the row names.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGES = (
    TESTS.parent / "docs" / "compatibility-aws.md",
    TESTS.parent / "docs" / "compatibility.md",
)
C, E, U, W = "conformance", "unit/daiku_edge", "unit/daiku", "world"

ROWS: dict[str, tuple[str, ...]] = {
    "hash of the node class": (
        f"{C}/test_node_class_hash::test_drifts",
        f"{C}/test_node_class_hash::test_does_not_drift",
        f"{C}/test_node_class_hash::test_every_change_has_a_hash_of_its_own",
    ),
    "validation by the CRD": (
        f"{W}/test_crds::test_is_accepted",
        f"{W}/test_crds::test_is_refused_in_words_that_name_the_mistake",
        f"{W}/test_crds::test_role_and_profile_can_be_changed_for_each_other",
        f"{W}/test_crds::test_defaults_are_karpenters",
    ),
    "kubelet settings": (
        f"{C}/test_kubelet_settings::test_is_taken",
        f"{C}/test_kubelet_settings::test_is_refused_in_words_that_name_the_mistake",
        f"{W}/test_crds::test_kubelet_settings_that_nobody_knows_are_kept",
    ),
    "batchers": (
        f"{E}/test_aws_pace::test_calls_of_equal_key_become_one_and_each_gets_its_own_answer",
        f"{E}/test_aws_pace::test_a_call_takes_no_more_than_its_limit",
        f"{E}/test_aws_shared_launch::test_when_there_are_too_few_the_others_learn_what_was_sold_out",
        f"{W}/test_aws_bursts::test_a_burst_of_launches_and_ends_keeps_to_the_limits_of_ec2",
    ),
    "unavailable offerings": (
        f"{E}/test_aws_unavailable::test_a_refusal_is_true_of",
        f"{E}/test_aws_unavailable::test_a_full_subnet_is_left_out_for_three_minutes_and_its_zone_with_the_last_one",
        f"{W}/test_aws_launch_errors::test_without_the_role_of_spot_there_is_no_spot_and_on_demand_is_launched",
        f"{U}/test_fleet::test_what_is_sold_out_is_remembered_for_three_minutes",
    ),
    "kubelet expressions": ("NodeClassCEL",),
    "partition of a placement group": (
        f"{W}/test_capacity_reservations::test_a_machine_of_a_partitioned_group_is_where_its_claim_says",
        f"{C}/test_aws_resources_in_plans::test_pods_that_are_kept_apart_by_partition_go_to_one_each",
    ),
    "create, drift and prices of the cloud provider": (
        f"{C}/test_node_class_drift::test_drifts_for_this_reason",
        f"{C}/test_launch_errors::test_a_code_means",
        f"{E}/test_aws_launch::test_the_instance_says_whose_it_is",
        f"{E}/test_aws_unavailable::test_the_subnet_with_most_free_addresses_is_taken_in_each_zone",
        f"{E}/test_aws_compatibility::test_a_claim_that_wants_efas_gets_one_per_card",
    ),
    "zonal shift": (
        f"{W}/test_zonal_shift::test_nothing_is_for_sale_in_a_shifted_zone_until_the_shift_ends",
        f"{E}/test_aws_zonal_shift::test_a_shift_counts_while_it_is_applied_and_not_over",
    ),
    "capacity reservations": (
        f"{U}/test_reserved::test_a_capacity_block_is_left_before_it_ends_and_people_are_told",
        f"{U}/test_reserved::test_a_machine_whose_reservation_is_over_is_an_on_demand_one_from_then_on",
        f"{U}/test_reserved::test_a_node_that_was_left_behind_follows_its_claim",
        f"{W}/test_capacity_reservations::test_a_capacity_block_near_its_end_takes_no_new_machine",
    ),
    "interruption": (
        f"{C}/test_interruption_messages::test_a_message_means",
        f"{E}/test_interruptions::test_a_message_that_nobody_can_read_is_deleted_and_counted",
        f"{E}/test_interruptions::test_an_episode_is_counted_once_and_told_as_long_as_it_lasts",
        f"{U}/test_interruption::test_the_claim_of_an_instance_that_goes_is_deleted_at_once",
        f"{W}/test_interruption_queue::test_a_queue_that_does_not_exist_is_an_error_with_its_code",
    ),
    "metrics of offerings": (
        f"{W}/test_instance_types_command::test_json_has_plain_integers_and_prices",
        "instance_type_offering_available",
    ),
    "node classes that cannot be launched": (
        f"{W}/test_bad_node_classes::test_a_node_class_says_what_is_wrong_and_what_to_do",
        f"{W}/test_bad_node_classes::test_nothing_is_asked_hot_and_nothing_is_left_half_made",
    ),
    "garbage collection": (
        f"{U}/test_lifecycle::test_an_orphan_is_ended",
        f"{W}/test_aws_upkeep::test_only_instances_with_all_ownership_tags_of_this_cluster_are_ever_listed",
    ),
    "tags of instances": (
        f"{E}/test_aws_names::test_an_instance_is_called_as_its_node",
        f"{E}/test_aws_shared_launch::test_what_was_launched_together_is_tagged_with_its_claim_afterwards",
    ),
    "status of the node class": (
        f"{W}/test_node_class_status::test_what_is_wrong_is_a_condition_with_a_reason_and_a_remedy",
        f"{W}/test_node_class_status::test_profiles_that_nobody_uses_are_collected_after_an_hour_and_no_others",
        f"{E}/test_aws_trial::test_a_denied_call_has_its_own_reason_and_a_remedy",
        f"{E}/test_aws_trial::test_when_no_subnet_would_do_the_first_one_says_why",
        f"{E}/test_aws_trial::test_which_type_is_tried",
        f"{E}/test_node_class_keeper::test_claims_of_another_version_get_our_hash_so_that_none_drifts_by_it",
    ),
    "measured memory": (
        f"{E}/test_measurements::test_a_node_and_its_claim_tell_the_memory_of_a_type_and_image",
        f"{E}/test_aws_offerings::test_memory_that_nodes_have_shown_is_preferred_to_the_estimate_for_their_image_only",
    ),
    "prices": (
        f"{W}/test_aws_upkeep::test_prices_come_from_aws_and_spot_is_asked_for_every_five_minutes",
        f"{W}/test_aws_upkeep::test_where_the_pricing_api_cannot_be_reached_the_list_stands_in",
        f"{W}/test_aws_upkeep::test_a_price_list_without_one_half_replaces_nothing",
    ),
    "image parameters": (
        f"{E}/test_aws_images::test_how_long_a_parameter_is_believed",
        f"{C}/test_image_aliases::test_which_parameters_may_name_another_image_tomorrow",
    ),
    "settings": (f"{E}/test_options::test_a_flag_beats_the_environment_which_beats_the_default",),
    "user data": (
        f"{E}/test_user_data::test_a_machine_is_told_what_is_written_down",
        f"{E}/test_user_data::test_which_bottlerocket_knows_what_to_bind",
        f"{E}/test_user_data::test_mime_is_read_by_others_without_a_defect",
    ),
    "images": (
        f"{C}/test_image_aliases::test_an_alias_stands_for_these_parameters",
        f"{E}/test_aws_images::test_a_term_is_one_question",
        f"{E}/test_aws_images::test_of_images_for_the_same_machines_one_wins",
        f"{C}/test_launch_templates::test_regions_that_know_no_ipv6_of_metadata_are_not_told_of_it",
    ),
    "filters of a launch": (
        f"{C}/test_launch_choice::test_an_exotic_type_is_left_out_however_cheap",
        f"{C}/test_launch_choice::test_spot_that_costs_more_than_the_cheapest_on_demand_is_left_out",
        f"{C}/test_launch_choice::test_the_cheapest_60_types_are_kept",
        f"{W}/test_capacity_reservations::test_of_reservations_of_two_kinds_one_call_asks_for_one",
    ),
    "compatibility of types": (
        f"{E}/test_aws_compatibility::test_a_type_that_cannot_be_made_so_says_why",
        f"{E}/test_aws_compatibility::test_a1_boots_no_al2023",
    ),
    "prioritized strategies and overlays": ("NodeOverlay",),
    "labels of types": (
        f"{C}/test_documented_instance_types::test_labels_are_what_is_documented",
        f"{C}/test_documented_instance_types::test_accelerators_of_aws_are_named_and_counted",
        f"{E}/test_aws_offerings::test_labels_that_a_type_does_not_have_do_not_exist",
    ),
    "capacity and overhead of types": (
        f"{C}/test_instance_capacity::test_capacity_and_overhead_of_a_type_in_a_family",
        f"{C}/test_instance_capacity::test_branch_interfaces_are_those_of_the_published_table",
        f"{C}/test_instance_capacity::test_local_disks_joined_are_the_room_of_pods",
        f"{C}/test_instance_sizing::test_the_node_class_decides_what_is_left",
        f"{C}/test_instance_sizing::test_reserved_interfaces_have_no_pods",
        f"{C}/test_documented_instance_types::test_allocatable_is_what_is_documented",
        f"{C}/test_aws_resources_in_plans::test_a_pod_gets_a_machine_that_has_what_it_asks_for",
    ),
    "launch templates": (
        f"{C}/test_launch_templates::test_whatever_shapes_a_machine_makes_another_template",
        f"{C}/test_launch_templates::test_what_a_template_says_of_reservations",
        f"{C}/test_launch_templates::test_what_a_template_tags",
        f"{C}/test_launch_templates::test_a_public_address_and_efas_go_together",
        f"{E}/test_user_data::test_labels_that_a_kubelet_may_not_set_are_left_to_others",
        f"{E}/test_aws_compatibility::test_volumes_are_passed_on_with_sizes_rounded_up_and_zeros_left_out",
        f"{E}/test_aws_launch::test_a_template_that_somebody_removed_is_made_again",
    ),
    "selectors": (
        f"{C}/test_aws_selectors::test_a_term_selects",
        f"{W}/test_capacity_reservations::test_reservations_are_found_by_id_tags_owner_and_criteria",
        f"{W}/test_capacity_reservations::test_a_placement_group_is_found_and_its_machines_are_in_it",
    ),
    "permissions": (
        f"{C}/test_iam_policy::test_every_call_is_allowed",
        f"{W}/test_denied_calls::test_no_call_of_the_controller_is_left_out",
        f"{W}/test_denied_calls::test_a_denied_call_is_a_condition_of_the_node_class",
        f"{W}/test_denied_controller::test_denied_everything_it_says_so_and_waits_and_then_goes_on",
    ),
    "end to end: scale, drift, consolidation, interruption": (
        "e2e/test_first_light::test_five_pending_pods_become_instances_nodes_and_running_pods",
        "e2e/test_first_light::test_with_the_cheapest_pool_sold_out_the_same_call_took_the_next",
        "e2e/test_consolidation::test_after_a_scale_down_nodes_become_fewer_and_cheaper_and_every_pod_keeps_a_place",
        "e2e/test_consolidation::test_drifted_nodes_are_replaced_although_the_controller_dies_on_the_way",
        "e2e/test_interruption::test_an_interrupted_instance_is_left_before_it_goes",
    ),
}


@cache
def _functions(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / f"{path}.py").read_text())
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_each_row_is_looked_at_or_said_not_to_be_supported(row: str) -> None:
    for named in ROWS[row]:
        path, found, name = named.partition("::")
        if found:
            assert name in _functions(path), f"{path}.py has no {name}"
        else:
            assert any(named in page.read_text() for page in PAGES), f"no page speaks of {named}"
