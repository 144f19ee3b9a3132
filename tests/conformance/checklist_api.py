"""What Karpenter's suites of its API look at (pkg/apis), and the tests that look at it here: see test_checklist.py.

The tables of manifests that the API server takes and refuses are tests/conformance/crds; they run against a real one.
"""

_TAKEN = "world/test_crds.py: test_is_accepted"
_REFUSED = "world/test_crds.py: test_is_refused_in_words_that_name_the_mistake"
_SAID = "conformance/test_nodepool_validation.py: test_a_mistake_is_said"
_RIGHT = "conformance/test_nodepool_validation.py: test_what_is_right_is_taken"
_CHANGED = "world/test_crds.py: test_what_may_change_and_what_may_not"

ROWS: dict[str, list[str] | str] = {
    "API, NodePool: expireAfter, consolidateAfter, terminationGracePeriod": [
        _TAKEN,
        _REFUSED,
        _SAID,
    ],
    "API, NodePool: consolidateAfter is 0s when it is omitted, the disruption stanza has defaults": [
        "world/test_crds.py: test_defaults_are_karpenters",
        "unit/daiku_edge/test_decode.py: test_a_node_pool_has_karpenters_defaults",
        "unit/daiku_edge/test_decode.py: test_never_is_no_duration",
    ],
    "API, NodePool: policies of consolidation": [_TAKEN, _REFUSED, _RIGHT],
    "API, NodePool: budgets, their schedules, durations and reasons": [_TAKEN, _REFUSED],
    "API, NodePool: taints": [_TAKEN, _REFUSED, _SAID],
    "API, NodePool: requirements: keys, operators, values, bounds, minValues": [
        _TAKEN,
        _REFUSED,
        _SAID,
    ],
    "API, NodePool: labels: own, restricted, well known, of kOps": [_TAKEN, _REFUSED, _SAID],
    "API, NodePool: nodeClassRef: all fields, group and kind never change": [_REFUSED, _CHANGED],
    "API, NodePool: replicas, what a static pool may not have, never to and from a dynamic one": [
        _TAKEN,
        _REFUSED,
        _CHANGED,
        "world/test_crds.py: test_a_static_pool_is_scaled_like_a_deployment",
    ],
    "API, NodePool: what passes the API server passes at runtime": [
        "conformance/test_nodepool_validation.py: test_whatever_the_api_server_takes_here_is_valid"
    ],
    "API, NodeClaim: taints, nodeClassRef, requirements, their number, grace period, expiry": [
        _TAKEN,
        _REFUSED,
        _CHANGED,
    ],
    "API, budgets: all reasons, none active, other reasons, the least, what cannot be read": [
        "conformance/test_budgets.py: test_a_budget_allows",
        "conformance/test_budgets.py: test_the_strictest_budget_decides",
        "conformance/test_budgets.py: test_a_budget_for_another_reason_does_not_count",
    ],
    "API, budgets: UTC, active, not, in between, longer than the next, over; cron": [
        "conformance/test_budgets.py: test_a_budget_with_a_schedule_holds",
        "conformance/test_budgets.py: test_a_cron_line_is_next_due",
        "conformance/test_budgets.py: test_what_is_no_cron_line_is_refused",
    ],
    "API, order of NodePools by weight, then by name": [
        "conformance/test_limits_in_plans.py: test_the_node_pool_is_chosen"
    ],
    "API, the hash of a NodePool": [
        "conformance/test_nodepool_hash.py: test_the_hash_is_karpenter_s",
        "conformance/test_nodepool_hash.py: test_the_order_of_taints_does_not_count",
        "conformance/test_nodepool_hash.py: test_requirements_are_not_part_of_it",
    ],
    "API, NodeOverlay": "NodeOverlay is not there yet (docs/compatibility.md)",
    "API, CapacityBuffer": "CapacityBuffer is not there yet (docs/compatibility.md)",
}
