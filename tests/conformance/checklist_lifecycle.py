"""What Karpenter's suites of lifecycle controllers look at, and the tests that look at it here: see test_checklist.py.

pkg/controllers: nodeclaim (lifecycle, disruption, expiration, garbagecollection, consistency, podevents, hydration),
node (termination, health, hydration), nodepool (counter, hash, readiness, registrationhealth, validation), static and
metrics.
"""

_U = "unit/daiku/"
_TABLE = "conformance/test_lifecycle_table.py: "
_LIFE, _END = f"{_U}test_lifecycle.py: ", f"{_U}test_termination.py: "
_DRAIN = f"{_U}test_drain.py: "
_KEEP, _POOL, _LAUNCH = f"{_U}test_upkeep.py: ", f"{_U}test_nodepools.py: ", f"{_U}test_launch.py: "
_STATIC, _WAIT, _REPAIR = f"{_U}test_static.py: ", f"{_U}test_waits.py: ", f"{_U}test_repair.py: "
_FOREIGN = f"{_TABLE}test_what_belongs_to_another_controller_is_left_alone_in_every_state"

ROWS: dict[str, list[str] | str] = {
    "lifecycle: the finalizer is added; claims of others are left alone": [
        f"{_LIFE}test_a_claim_without_its_finalizer_gets_it",
        f"{_KEEP}test_what_belongs_to_another_kind_of_node_class_does_not_exist_here",
        _FOREIGN,
    ],
    "lifecycle: conditions follow the generation, also while the claim is going": [
        f"{_LIFE}test_a_settled_claim_follows_a_new_generation",
        f"{_TABLE}test_a_claim_that_is_going_keeps_its_conditions_at_its_generation",
    ],
    "launch: an instance, the condition, what an error says, given up when there is no capacity": [
        f"{_LAUNCH}test_a_new_claim_is_launched_with_the_cheapest_first",
        f"{_LAUNCH}test_what_was_launched_is_written_down",
        f"{_LAUNCH}test_another_error_is_shown_and_tried_again",
        f"{_LAUNCH}test_a_claim_is_given_up_when_everything_it_allows_is_sold_out",
        f"{_LAUNCH}test_a_claim_whose_node_class_cannot_launch_is_given_up",
    ],
    "registration: by provider id, owner once, label, taint of birth": [
        f"{_LIFE}test_a_node_that_joins_gets_what_its_claim_says_and_loses_the_taint_of_its_birth",
        f"{_LIFE}test_a_node_that_joins_without_the_taint_of_its_birth_is_reported",
        f"{_LIFE}test_a_labelled_node_makes_its_claim_registered",
        "unit/daiku_edge/test_encode.py: test_a_node_is_owned_by_its_claim_once",
    ],
    "registration: taints and startup taints are synced unless the node says so, and never again": [
        f"{_TABLE}test_taints_and_startup_taints_reach_a_node_unless_it_forbids_it",
        f"{_TABLE}test_a_startup_taint_that_was_taken_off_is_never_put_back",
    ],
    "registration: health of the NodePool, from and to each value": [
        f"{_KEEP}test_a_pool_is_as_healthy_as_its_last_four_launches",
        f"{_KEEP}test_a_change_of_the_pool_or_of_its_class_begins_anew",
        f"{_KEEP}test_after_a_restart_the_condition_is_remembered",
    ],
    "registration hooks": "a cloud here says what a node needs at its launch; there are no hooks",
    "initialization: ready, resources, startup taints, taints that go by themselves": [
        f"{_LIFE}test_a_node_is_not_initialized_while_something_is_missing",
        f"{_LIFE}test_a_complete_node_is_labelled_and_then_its_claim_is_ready",
        f"{_TABLE}test_an_initialized_node_has_no_taints_that_go_away_by_themselves",
        f"{_TABLE}test_a_resource_that_a_claim_asks_for_and_its_node_shows_later_is_waited_for",
    ],
    "liveness: limits of launch and registration, from the conditions' times": [
        f"{_LIFE}test_a_claim_that_gets_no_instance_is_given_up_after_five_minutes",
        f"{_LIFE}test_a_claim_may_take_so_long",
        f"{_TABLE}test_how_long_a_claim_may_live",
    ],
    "termination of a claim: its Nodes, then its instance; unlaunched; still there; refused": [
        f"{_END}test_a_deleted_claim_takes_its_node_along",
        f"{_END}test_without_a_node_the_claim_goes_straight_to_its_instance",
        f"{_END}test_a_claim_goes_only_when_it_is_sure_that_nobody_launched_anything_for_it",
        f"{_END}test_a_node_that_was_never_registered_is_held_until_its_machine_is_gone",
        f"{_WAIT}test_a_machine_that_the_cloud_does_not_end_is_told_and_never_let_go",
    ],
    "termination of a claim: the deadline is written once": [
        f"{_END}test_the_deadline_is_written_on_the_claim"
    ],
    "termination of a Node: with its claim, without one, of nobody": [
        f"{_END}test_a_deleted_node_takes_its_claim_along",
        f"{_END}test_a_node_without_a_claim_is_emptied_and_let_go",
        f"{_END}test_a_node_that_is_nobody_s_is_left_alone",
        f"{_END}test_a_going_node_is_closed_to_pods_and_load_balancers_first",
    ],
    "termination of a Node: who is asked to leave, by uid, and who is not": [
        f"{_TABLE}test_who_is_asked_to_leave",
        f"{_DRAIN}test_a_pod_that_need_not_leave_is_left_alone",
    ],
    "termination of a Node: tiers, grace periods, deadlines, pods that hang": [
        f"{_DRAIN}test_pods_leave_tier_by_tier",
        f"{_DRAIN}test_a_tier_waits_while_one_before_it_is_still_going",
        f"{_DRAIN}test_past_its_time_a_pod_of_any_tier_goes_at_once",
        f"{_DRAIN}test_a_deadline_overrules_everything_early_enough_for_the_pod_s_own_grace",
        f"{_DRAIN}test_past_the_deadline_a_pod_gets_one_second",
        f"{_END}test_an_empty_node_waits_a_moment_for_late_arrivals",
    ],
    "termination of a Node: the instance is gone, the Node answers or not": [
        f"{_END}test_a_dead_node_whose_instance_is_gone_is_let_go_without_a_drain",
        f"{_END}test_the_node_is_held_until_its_instance_is_gone",
    ],
    "termination of a Node: volumes, only of pods that leave, until the deadline": [
        f"{_WAIT}test_volumes_are_detached_before_the_machine_ends",
        f"{_WAIT}test_an_attachment_that_is_not_awaited",
        f"{_WAIT}test_past_the_deadline_volumes_are_not_waited_for",
    ],
    "eviction: budgets, two of them, not found, another uid; what it waits for is said": [
        f"{_WAIT}test_what_a_pod_waits_for_is_named",
        f"{_WAIT}test_two_budgets_of_one_pod_are_named_because_no_eviction_can_pass_them",
        f"{_WAIT}test_a_blocked_drain_is_told_on_the_node_and_one_that_goes_on_is_not",
    ],
    "repair: type, status, time, shares, rounding; wishes and budgets do not count": [
        f"{_REPAIR}test_first_its_deadline_is_now_and_then_it_is_given_up",
        f"{_REPAIR}test_a_deadline_that_is_over_stays_as_it_is",
        f"{_REPAIR}test_a_node_that_is_not_broken_stays",
        f"{_REPAIR}test_it_is_looked_at_again_when_the_nearest_time_is_over",
        f"{_REPAIR}test_neither_its_own_wish_nor_a_budget_keeps_it",
        f"{_REPAIR}test_when_too_many_are_broken_none_is_replaced",
        f"{_REPAIR}test_a_claim_of_no_pool_is_measured_by_the_whole_cluster",
    ],
    "drift: of the pool's fields, its requirements, types and offerings; versions of the hash": [
        "conformance/test_disruption_rules.py: test_what_drifts",
        "conformance/test_nodepool_hash.py: test_the_hash_is_karpenter_s",
        f"{_KEEP}test_claims_get_the_new_version_before_their_pool_does",
        f"{_KEEP}test_a_drifted_claim_keeps_its_hash",
    ],
    "Consolidatable: since it is initialized and quiet; never; not initialized; no pool": [
        f"{_LIFE}test_a_claim_is_consolidatable_once_it_has_been_quiet",
        f"{_TABLE}test_a_claim_that_is_not_consolidatable",
    ],
    "expiration: expired, not yet, never, not twice": [
        f"{_TABLE}test_how_long_a_claim_may_live",
        f"{_LIFE}test_the_next_limit_is_waited_for",
    ],
    "garbage collection: gone and silent, gone and alive, not registered, orphans": [
        f"{_LIFE}test_a_claim_whose_instance_vanished_is_given_up",
        f"{_LIFE}test_an_instance_that_vanished_before_it_joined_is_not_waited_for",
        f"{_LIFE}test_a_registered_claim_whose_node_was_removed_by_force_is_given_up",
        f"{_LIFE}test_an_orphan_is_ended",
    ],
    "consistency: a node with less than was bought": [
        f"{_KEEP}test_a_node_that_has_less_than_nine_tenths_of_what_was_bought_is_told",
        f"{_KEEP}test_a_lie_is_told_once",
    ],
    "times of pods are written, and not too often": [
        f"{_LIFE}test_the_time_of_the_last_pod_is_written_down"
    ],
    "hydration: the label of the node class": [
        f"{_KEEP}test_the_label_of_the_node_class_is_added_where_it_is_missing"
    ],
    "claims in the cache that nobody made": "the state is what was listed; nothing is put there by hand",
    "counters of a NodePool: nodes and resources, zero too": [
        f"{_POOL}test_it_counts_its_nodes_and_what_they_have"
    ],
    "the hash of a NodePool is written; versions": [
        f"{_POOL}test_it_carries_the_hash_of_its_template",
        f"{_KEEP}test_a_pool_gets_the_new_version_when_its_claims_have_it",
        f"{_KEEP}test_a_claim_s_hash_stays_while_the_versions_match",
    ],
    "readiness and validation of a NodePool": [
        f"{_POOL}test_it_says_whether_it_can_be_used",
        f"{_POOL}test_a_pool_that_is_going_is_left_alone",
        f"{_POOL}test_a_pool_that_no_instance_type_suits_says_which_wish_is_to_blame",
    ],
    "static pools: to the number wanted, limits, refusals, not ready, the template": [
        f"{_STATIC}test_it_has_as_many_nodes_as_replicas_say",
        f"{_STATIC}test_the_limit_of_nodes_holds",
        f"{_STATIC}test_a_pool_that_cannot_have_nodes_makes_no_claims",
        f"{_STATIC}test_after_a_refusal_it_waits_before_it_asks_again",
        f"{_STATIC}test_its_claims_carry_the_template_and_leave_the_type_open",
        f"{_STATIC}test_the_gate_is_closed_by_default",
    ],
    "static pools: who goes first, going ones count once": [
        f"{_STATIC}test_who_costs_least_goes_first",
        f"{_STATIC}test_nodes_on_their_way_out_count_for_the_limit_and_not_for_the_number",
    ],
    "metrics: of pods, nodes, NodePools, disruptions; every name is documented": [
        "unit/daiku_edge/test_metrics_page.py: test_the_page_of_metrics_is_what_the_code_has",
        "unit/daiku_edge/test_gauges.py: test_a_new_claim_is_counted_by_why_it_was_made",
    ],
    "events: deduplicated, paced": [
        f"{_U}test_cluster.py: test_an_announcement_is_not_repeated_for_two_minutes"
    ],
    "options: flags over environment, gates, wrong values": [
        "unit/daiku_edge/test_options.py: test_a_flag_beats_the_environment_which_beats_the_default",
        "unit/daiku_edge/test_options.py: test_all_mistakes_are_reported_together_with_what_is_allowed",
    ],
    "virtual pods, overlays and shared devices": "parts that Daiku does not have (docs/compatibility.md)",
}
