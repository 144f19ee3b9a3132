"""Every behaviour that Karpenter's suites look at, and the tests that look at it here.

The left side names blocks of cases of karpenter-core (pkg/controllers/provisioning, .../scheduling,
pkg/controllers/state, pkg/scheduling) in our words; the right side the tests, as `file: function`, or why there is
nothing to test. Reading it is the way to see what is missing; the tests below keep it from naming what is not there.
"""

import ast
from functools import cache
from pathlib import Path

import pytest
from tests.conformance import checklist_api, checklist_disruption, checklist_lifecycle

TESTS = Path(__file__).resolve().parents[1]

PROVISIONING = {
    "a batch closes when no new pod comes, or at its longest": [
        "unit/daiku/test_provisioning.py: test_a_batch_closes"
    ],
    "one pod, many pods; NodePools that are going, not ready, static or missing": [
        "unit/daiku/test_solver.py: test_no_pods_need_no_nodes",
        "conformance/test_limits_in_plans.py: test_the_node_pool_is_chosen",
    ],
    "a NodeClaim carries template, requirements, owner, finalizer, requests; grace period": [
        "unit/daiku/test_provisioning.py: test_the_claim_carries_its_pool_s_template",
        "unit/daiku/test_provisioning.py: test_the_claim_is_born_with_its_finalizer_and_owner",
        "unit/daiku/test_provisioning.py: test_the_claim_asks_for_what_its_pods_and_daemon_sets_ask_for",
        "unit/daiku/test_provisioning.py: test_the_claim_names_the_cheapest_types_that_one_launch_can_offer",
        "unit/daiku/test_provisioning.py: test_the_claim_says_in_which_capacity_types_it_can_be_had",
        "unit/daiku/test_provisioning.py: test_a_custom_requirement_becomes_a_label",
    ],
    "selectors and affinity for architecture, system, zone, type; accelerators; pods per node": [
        "conformance/test_labels_in_plans.py: test_which_type_it_is",
        "conformance/test_labels_in_plans.py: test_a_label_that_everybody_knows",
        "conformance/test_sizes_in_plans.py: test_pods_get_nodes_of_this_size",
    ],
    "requests of init, sidecar and main containers, overhead, pod level": [
        "conformance/test_quantities.py: test_a_pod_asks_for"
    ],
    "limits: reached, exceeded, in part, of accelerators, of nodes, in a second round": [
        "conformance/test_limits_in_plans.py: test_a_limit_holds",
        "unit/daiku/test_audit.py: test_two_claims_share_one_limit",
        "conformance/test_limits_in_plans.py: test_the_bound_is_about_pods_that_get_a_node",
    ],
    "DaemonSets: room, ports, taints, labels, terms, preferences, real pods": [
        "conformance/test_daemon_sets_in_plans.py: test_on_a_new_node",
        "conformance/test_daemon_sets_in_plans.py: test_on_an_existing_node",
        "conformance/test_daemon_sets_in_plans.py: test_a_real_pod_says_more_than_the_template",
        "conformance/test_daemon_sets_in_plans.py: test_what_they_ask_is_part_of_the_claim_and_counted_once",
        "conformance/test_quantities.py: test_a_pod_asks_for",
    ],
    "volumes: what is not valid, zones of volumes and classes, local ones; neighbours unharmed": [
        "conformance/test_volumes.py: test_volumes_let_a_pod_run",
        "conformance/test_volumes.py: test_volumes_keep_a_pod_waiting",
        "conformance/test_volumes_in_plans.py: test_a_pod_whose_volumes_are_nowhere_waits_and_is_told_why",
        "conformance/test_volumes_in_plans.py: test_the_zone_of_a_volume_is_never_given_up",
    ],
    "preferences are given up in order, or ignored by policy; what is required stays": [
        "conformance/test_preferences_in_plans.py: test_preferences_are_given_up_in_this_order",
        "conformance/test_preferences_in_plans.py: test_a_preference_is_respected_or_ignored",
        "conformance/test_preferences_in_plans.py: test_what_is_required_is_never_given_up",
        "conformance/test_preferences_in_plans.py: test_of_alternatives_that_are_required_any_will_do",
        "conformance/test_preferences_in_plans.py: test_taints_that_only_prefer",
    ],
    "several NodePools: by name, by label, by weight, away from PreferNoSchedule": [
        "conformance/test_limits_in_plans.py: test_the_node_pool_is_chosen",
        "conformance/test_preferences_in_plans.py: test_taints_that_only_prefer",
    ],
    "minValues, strict and best effort": [
        "conformance/test_limits_in_plans.py: test_strict_min_values",
        "conformance/test_limits_in_plans.py: test_best_effort_asks_for_as_many_values_as_there_are",
        "conformance/test_limits_in_plans.py: test_min_values_outlive_the_cut_of_the_list",
    ],
    "virtual pods of capacity buffers": "CapacityBuffer is not there yet (docs/compatibility.md)",
    "device allocation": "pods with resourceClaims wait and are told why: unit/daiku/test_solver.py",
}

SCHEDULING = {
    "labels that people choose and that everybody knows, each operator, undefined keys": [
        "conformance/test_labels_in_plans.py: test_a_label_that_somebody_chose",
        "conformance/test_labels_in_plans.py: test_a_label_that_everybody_knows",
        "conformance/test_labels_in_plans.py: test_a_label_that_is_a_number",
    ],
    "who shares a node; a chosen value is not undone by Exists": [
        "conformance/test_labels_in_plans.py: test_who_shares_a_node",
        "conformance/test_labels_in_plans.py: test_a_value_that_one_pod_chose_is_not_undone_by_one_that_takes_any",
        "conformance/test_labels_in_plans.py: test_resources_that_no_type_has_together_get_a_node_each",
    ],
    "bin packing": [
        "conformance/test_sizes_in_plans.py: test_pods_get_nodes_of_this_size",
        "conformance/test_sizes_in_plans.py: test_the_cheapest_is_taken",
    ],
    "the cheapest type for each combination of architecture, zone and capacity type": [
        "conformance/test_sizes_in_plans.py: test_of_what_is_asked_the_cheapest_is_taken",
        "conformance/test_sizes_in_plans.py: test_what_is_not_for_sale_is_not_made",
    ],
    "nodes that are there and that come up: taints, labels, room, order, ports, accelerators": [
        "conformance/test_existing_nodes_in_plans.py: test_a_pod_goes_to",
        "conformance/test_existing_nodes_in_plans.py: test_pods_go_to",
        "conformance/test_existing_nodes_in_plans.py: test_accelerators_that_a_kubelet_has_not_found_yet_count",
        "conformance/test_daemon_sets_in_plans.py: test_on_an_existing_node",
    ],
    "nothing is bound before its node is there": [
        "unit/daiku/test_provisioning.py: test_pods_that_are_expected_somewhere_are_not_planned_again"
    ],
    "attach limits, several volumes, the same claim twice, drivers of old": [
        "conformance/test_volumes_in_plans.py: test_a_node_attaches_so_many",
        "conformance/test_volumes.py: test_a_node_takes_so_many_volumes",
        "conformance/test_volumes.py: test_a_node_attaches_by_driver_and_old_drivers_count_as_those_of_today",
    ],
    "pods of nodes that are going": [
        "unit/daiku/test_provisioning.py: test_a_pod_whose_node_is_going_is_planned_anew"
    ],
    "error texts: what is asked, what there is, typos, the nearest miss": [
        "unit/daiku/test_why_not.py: test_what_is_asked_and_what_there_is",
        "unit/daiku/test_why_not.py: test_what_the_node_pool_keeps_away",
        "unit/daiku/test_why_not.py: test_the_nearest_miss_comes_first",
    ],
    "spread by zone, host, capacity type and others, alone and together; minDomains; policies": [
        "conformance/test_spread_in_plans.py: test_by_zone",
        "conformance/test_spread_by_other_keys.py: test_by_host",
        "conformance/test_spread_by_other_keys.py: test_by_capacity_type",
        "conformance/test_spread_by_other_keys.py: test_by_several_keys_at_once",
        "conformance/test_spread_in_plans.py: test_node_taints_policy",
        "conformance/test_spread_by_other_keys.py: test_revisions_do_not_count_each_other",
        "conformance/test_audit_of_pods.py: test_spread",
    ],
    "pod affinity and anti-affinity, the inverse, chains, namespaces, revisions": [
        "conformance/test_company_in_plans.py: test_by_host",
        "conformance/test_company_in_plans.py: test_by_zone",
        "conformance/test_company_of_whom.py: test_of_which_namespaces",
        "conformance/test_company_of_whom.py: test_revisions",
        "conformance/test_audit_of_pods.py: test_affinity",
        "conformance/test_audit_of_pods_apart.py: test_anti_affinity",
    ],
    "how constraints are read: selectors, nil and empty, matchLabelKeys, mismatchLabelKeys": [
        "conformance/test_pod_constraints.py: test_a_spread_constraint_is_read",
        "conformance/test_pod_constraints.py: test_a_term_of_pod_affinity_is_read",
    ],
    "minValues with In, Gt, Lt, NotIn; several keys; after the cut": [
        "conformance/test_limits_in_plans.py: test_strict_min_values",
        "conformance/test_limits_in_plans.py: test_pods_share_a_node_only_as_far_as_min_values_allow",
    ],
    "default spread constraints of a scheduler configuration": "not there yet (docs/compatibility.md)",
    "a reservation manager that can be over-reserved": "there is none: reserved offerings have counts",
}

STATE_AND_PRIMITIVES = {
    "what an operator allows; every pair of requirements; bounds; absence; aliases": [
        "conformance/test_requirements.py: test_a_value_is_allowed",
        "conformance/test_requirements.py: test_two_requirements_together",
        "conformance/test_requirements.py: test_an_old_key_means_its_successor",
        "conformance/test_requirements.py: test_every_pair_of_operators_means_what_its_values_say",
        "properties/test_requirement_laws.py: test_sets_of_requirements_intersect_like_their_members",
    ],
    "labels that a NodePool defines or not, strictly and leniently; typos": [
        "conformance/test_requirements.py: test_a_pod_meets_a_node_pool"
    ],
    "what is written is read back, both bounds included": [
        "properties/test_requirement_laws.py: test_what_is_written_and_read_again_is_the_same"
    ],
    "tolerations, numeric ones too; taints that go away by themselves; merging": [
        "conformance/test_taints.py: test_a_toleration_matches",
        "conformance/test_taints.py: test_taints_of_a_node_that_comes_up_go_away_by_themselves",
        "conformance/test_taints.py: test_merging_keeps_the_value_that_is_there",
    ],
    "host ports: addresses, protocols, unspecified address": [
        "conformance/test_audit_of_pods_apart.py: test_host_ports",
        "conformance/test_pod_constraints.py: test_host_ports_are_read",
    ],
    "resources of nodes as pods come, end and go; daemons apart": [
        "unit/daiku/test_cluster.py: test_a_pod_moves_from_waiting_to_its_node",
        "conformance/test_existing_nodes_in_plans.py: test_pods_go_to",
        "properties/test_snapshot_laws.py: test_a_problem_is_the_same_whether_its_nodes_were_known_before_or_not",
    ],
    "anti-affinity of pods that run is known; only what is required": [
        "conformance/test_company_in_plans.py: test_by_host",
        "properties/test_snapshot_laws.py: test_a_pod_on_a_node_leaves_the_other_nodes_as_they_are",
    ],
    "nothing before everything is listed; a node and its claim are one; order of events": [
        "unit/daiku/test_cluster.py: test_nothing_is_synced_before_every_kind_was_listed",
        "unit/daiku/test_cluster.py: test_a_node_and_its_claim_are_one_by_provider_id",
        "unit/daiku/test_cluster.py: test_an_event_that_comes_twice_changes_nothing",
        "unit/daiku/test_cluster.py: test_a_claim_that_was_asked_for_counts_before_it_is_seen",
    ],
    "nominations and how they end": [
        "unit/daiku/test_cluster.py: test_nominations_end_with_their_pod",
        "unit/daiku/test_provisioning.py: test_a_pod_that_an_initialized_node_did_not_get_is_planned_anew",
    ],
    "the DaemonSet cache: absent, created, newest, deleted, of others": [
        "conformance/test_daemon_sets_in_plans.py: test_the_newest_pod_counts_as_pods_come_and_go",
        "conformance/test_daemon_sets_in_plans.py: test_a_real_pod_says_more_than_the_template",
    ],
    "resources and numbers of NodePools; static pools": [
        "unit/daiku/test_nodepools.py: test_it_counts_its_nodes_and_what_they_have",
        "unit/daiku/test_static.py: test_nodes_on_their_way_out_count_for_the_limit_and_not_for_the_number",
    ],
    "health of a NodePool": [
        "unit/daiku/test_upkeep.py: test_a_pool_is_as_healthy_as_its_last_four_launches"
    ],
    "data races": "one thread owns the state (docs/decisions/0002-threads-not-asyncio.md)",
    "prediction, vertical autoscaling, shared devices": "parts that Daiku does not have",
}

ROWS = {
    **PROVISIONING,
    **SCHEDULING,
    **STATE_AND_PRIMITIVES,
    **checklist_api.ROWS,
    **checklist_disruption.ROWS,
    **checklist_lifecycle.ROWS,
}


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("row", [row for row, tests in ROWS.items() if not isinstance(tests, str)])
def test_what_looks_at_it_is_there(row: str) -> None:
    named = [tuple(each.split(": ")) for each in ROWS[row]]

    assert named
    assert [f"{path}: {name}" for path, name in named if name not in functions(path)] == []


def test_what_is_not_looked_at_has_a_reason() -> None:
    reasons = [tests for tests in ROWS.values() if isinstance(tests, str)]

    assert all(len(reason.split()) > 3 for reason in reasons)
