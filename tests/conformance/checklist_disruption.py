"""What Karpenter's suites of disruption look at (pkg/controllers/disruption): see test_checklist.py."""

_RULES = "conformance/test_disruption_rules.py: "
_WHO = "conformance/test_consolidation_rules.py: "
_MOVES = "unit/daiku/test_moves.py: "
_REPACK = "unit/daiku/test_repack_moves.py: "
_JOINT = "unit/daiku/test_joint_repacks.py: "

ROWS: dict[str, list[str] | str] = {
    "disruption, candidates: what pods, budgets, annotations and states of a node forbid": [
        _RULES + "test_which_pods_object",
        _RULES + "test_which_budgets_object",
        _RULES + "test_which_nodes_are_candidates",
        _RULES + "test_a_node_that_is_going_is_neither_candidate_nor_kept",
        "unit/daiku/test_disruption.py: test_a_node_is_kept_and_the_reason_is_told",
        "unit/daiku/test_disruption.py: test_a_node_on_which_a_pod_is_expected_is_kept",
    ],
    "disruption, cost of an eviction: deletion cost, priority, bounds": [
        _RULES + "test_what_it_costs_to_move_a_pod",
        _RULES + "test_a_node_costs_one_and_what_its_pods_cost_and_never_less",
    ],
    "disruption, budgets: who counts, going and not ready ones, never below none": [
        _RULES + "test_what_a_budget_leaves",
        _RULES + "test_nodes_that_wait_for_their_replacements_use_up_the_budget",
        _RULES + "test_a_budget_holds_by_its_schedule",
    ],
    "consolidation, events: disabled, WhenEmpty, Never, labels and types that are missing": [
        _WHO + "test_what_the_node_pool_says_keeps_a_node",
        _WHO + "test_a_node_without_a_label_of_its_price_is_kept",
        _WHO + "test_a_node_of_a_type_that_is_not_known_is_kept",
    ],
    "consolidation, budgets: three of ten, all, none, per NodePool, by reason": [
        _WHO + "test_no_more_nodes_are_decided_upon_than_budgets_allow",
        _WHO + "test_budgets_are_each_node_pool_s_own",
        _WHO + "test_a_budget_for_another_reason_keeps_nobody",
    ],
    "consolidation, what only a budget keeps is looked at again": [
        _REPACK + "test_what_budgets_do_not_let_go_at_once_goes_in_smaller_parts",
    ],
    "consolidation, replace: cheaper, not dearer, not its like, minValues after the price": [
        _MOVES + "test_the_old_node_goes_only_when_the_new_one_is_ready",
        _WHO + "test_a_node_that_could_only_make_place_for_its_like_stays",
        "unit/daiku/test_whatif.py: test_a_type_is_cheaper_only_if_it_is_in_every_zone",
    ],
    "consolidation, replace: spot by spot, the gate and the width": [
        _MOVES + "test_spot_gives_way_to_spot_only_by_the_gate_and_with_width",
        _REPACK + "test_spot_nodes_are_repacked_into_spot_nodes_only_by_the_gate",
    ],
    "consolidation, replace and delete: PDBs, do-not-disrupt of pods and nodes, no owner": [
        _WHO + "test_what_its_pods_say",
        _WHO + "test_a_deadline_of_the_node_does_not_make_a_pod_s_objection_void",
        _REPACK + "test_a_pod_that_objects_keeps_its_node_and_the_others_go",
        _REPACK + "test_pods_of_one_budget_leave_only_as_it_allows",
    ],
    "consolidation, delete: not onto nodes that come up, beside pods that fit nowhere": [
        _WHO + "test_pods_count_only_on_room_of_nodes_that_are_ready",
        _WHO + "test_what_its_pods_say",
    ],
    "consolidation, delete: never into pods that become pending": [
        "properties/test_whatif_laws.py: test_every_evicted_pod_has_a_place_or_a_reason",
        "properties/test_repack_laws.py: test_after_each_step_every_pod_that_moved_has_room",
    ],
    "consolidation, time to live: consolidateAfter and what interrupts it": [
        "unit/daiku/test_disruption.py: test_a_young_node_is_looked_at_again_when_its_time_has_come",
        "unit/daiku/test_disruption.py: test_a_pod_that_left_makes_the_node_young_again",
        _MOVES + "test_a_decision_rests_and_is_checked_again_before_anything_is_done",
    ],
    "consolidation, several at once: three become one; many delete; several replacements": [
        _WHO + "test_three_nodes_become_one",
        _REPACK + "test_many_nodes_go_at_once_when_their_pods_fit_on_others",
        _JOINT + "test_moves_that_begin_together_buy_no_more_than_they_were_planned_with",
    ],
    "consolidation, topology: spread is kept by what is moved": [
        "properties/test_whatif_laws.py: test_places_are_legal_once_the_nodes_are_gone",
    ],
    "consolidation, parallel: nodes that go already count as gone, new ones are not used twice": [
        _MOVES + "test_pools_are_looked_at_in_turn",
        _REPACK + "test_many_nodes_go_at_once_when_their_pods_fit_on_others",
    ],
    "consolidation, memo: nothing is looked at again while nothing has changed": [
        _REPACK + "test_a_cluster_with_nothing_to_gain_is_not_searched_again_and_nobody_is_evicted",
    ],
    "consolidation, policies": [_MOVES + "test_the_policy_says_who_may_be_consolidated"],
    "consolidation of static NodePools": [_WHO + "test_what_the_node_pool_says_keeps_a_node"],
    "consolidation, buffer pods": "CapacityBuffer is not there: docs/compatibility.md says so",
    "consolidation, devices": "pods with resourceClaims wait; docs/compatibility.md says so",
    "emptiness: budgets, annotations, several nodes, daemons, StatefulSets, time, static": [
        "unit/daiku/test_disruption.py: test_an_empty_node_goes",
        "unit/daiku/test_disruption.py: test_budgets_are_kept",
        "unit/daiku/test_disruption.py: test_a_node_whose_pods_need_no_other_place_is_empty",
        "unit/daiku/test_disruption.py: test_a_pod_of_a_stateful_set_needs_its_place_until_it_is_gone",
        "unit/daiku/test_disruption.py: test_a_static_pool_keeps_its_number",
    ],
    "queue: tainted until all replacements are initialized; let off when one fails or is late": [
        _MOVES
        + "test_a_replacement_that_does_not_come_up_in_time_is_given_up_and_the_node_let_off",
        _MOVES + "test_a_replacement_that_is_deleted_is_no_reason_to_evict_anybody",
        _REPACK + "test_a_replacement_that_never_comes_up_costs_nobody_his_place",
        _MOVES + "test_a_taint_that_nobody_knows_of_is_taken_off",
    ],
    "validation: churn, budgets, no place any more": [
        _MOVES + "test_a_decision_rests_and_is_checked_again_before_anything_is_done",
        _MOVES + "test_a_budget_that_closes_on_the_way_calls_the_move_off",
        _MOVES + "test_a_wish_that_comes_on_the_way_calls_the_move_off",
        _REPACK + "test_a_budget_that_closes_in_the_middle_of_a_repack_calls_it_off",
    ],
    "balanced: scores, shares, zeros, infinities": [_RULES + "test_the_score_of_a_move"],
    "the order in which nodes are looked at: savings per cost, NodePools in turn": [
        _MOVES + "test_pools_are_looked_at_in_turn",
    ],
}
