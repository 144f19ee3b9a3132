"""Where pods go, and which nodes are made for them."""

import pytest
from tests import build

from daiku.events import Object
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.pod import Pod
from daiku.model.taints import Taint, Toleration
from daiku.scheduling import problem, solver
from daiku.scheduling.solution import Solution

GPU = Taint("dedicated", "NoSchedule", "gpu")


def solve(pods: list[Pod], *objects: Object, types: list[InstanceType] | None = None) -> Solution:
    catalogue = build.catalogue(*(types or build.family()))
    snapshot = build.cluster(*pods, *objects, build.node_class(), catalogue_of=catalogue).snapshot(
        build.NOW
    )
    return solver.solve(problem.build(pods, snapshot, catalogue))


def cheapest(solved: Solution) -> list[str]:
    return [node.types[0].name for node in solved.new_nodes]


def reasons(solved: Solution) -> list[str]:
    return [blocker.reason for each in solved.unschedulable for blocker in each.blockers]


def test_no_pods_need_no_nodes() -> None:
    assert solve([], build.node_pool()) == Solution()


def test_pods_go_to_a_node_that_has_room() -> None:
    solved = solve(build.pods(3), build.node_pool(), build.node())

    assert set(solved.placements.values()) == {"other"}
    assert solved.new_nodes == ()


def test_pods_that_are_there_take_their_room() -> None:
    there = [build.pod(f"old-{i}", node="other") for i in range(3)]

    solved = solve(build.pods(2), *there, build.node())

    assert len(solved.placements) == 1
    assert len(solved.unschedulable[0].pods) == 1


def test_finished_pods_take_no_room() -> None:
    there = [build.pod(f"old-{i}", node="other", phase="Succeeded") for i in range(4)]

    assert len(solve(build.pods(4), *there, build.node()).placements) == 4


def test_initialized_nodes_are_filled_before_those_that_come_up() -> None:
    young = build.node_claim("default-young")
    nodes = [build.node(claim=young, initialized=False), build.node("a-node")]

    solved = solve(build.pods(1), young, *nodes, build.node_pool())

    assert list(solved.placements.values()) == ["a-node"]


def test_a_node_claim_on_its_way_counts_with_the_least_its_types_offer() -> None:
    types = build.needs(build.require(labels.INSTANCE_TYPE, "In", "c-4x", "c-8x"))
    claim = build.node_claim(
        "default-young", launched=False, registered=False, initialized=False, requirements=types
    )

    solved = solve(build.pods(6), claim, build.node_pool())

    assert sum(1 for target in solved.placements.values() if target == "default-young") == 4


def test_a_node_claim_on_its_way_takes_no_pod_that_only_some_of_its_zones_suit() -> None:
    zones = build.needs(
        build.require(labels.INSTANCE_TYPE, "In", "c-4x"),
        build.require(labels.ZONE, "In", "zone-a", "zone-b"),
    )
    claim = build.node_claim(
        "default-young", launched=False, registered=False, initialized=False, requirements=zones
    )
    pods = [build.pod("pinned", node_selector={labels.ZONE: "zone-a"})]

    assert solve(pods, claim, build.node_pool()).placements == {}


@pytest.mark.parametrize(
    "node",
    [
        build.node(taints=[GPU]),
        build.node(unschedulable=True),
        build.node(deleted=build.NOW),
        build.node(cpu="500m"),
    ],
    ids=["tainted", "cordoned", "going", "full"],
)
def test_a_node_that_lets_nobody_in_is_left_alone(node: Object) -> None:
    assert solve(build.pods(1), node, build.node_pool()).placements == {}


def test_taints_of_a_node_that_comes_up_do_not_count() -> None:
    claim = build.node_claim(startup_taints=(GPU,))
    marks = [GPU, Taint("node.kubernetes.io/not-ready", "NoSchedule")]

    solved = solve(
        build.pods(1),
        claim,
        build.node(claim=claim, initialized=False, taints=marks),
        build.node_pool(),
    )

    assert len(solved.placements) == 1


def test_daemon_sets_keep_their_room_on_nodes_where_they_are_not_yet() -> None:
    solved = solve(build.pods(4), build.daemon_set(cpu="500m"), build.node())

    assert len(solved.placements) == 3


def test_daemon_sets_that_are_there_are_not_counted_twice() -> None:
    there = build.pod("agent-x", cpu="500m", node="other", owner="DaemonSet")

    assert (
        len(solve(build.pods(3), there, build.daemon_set(cpu="500m"), build.node()).placements) == 3
    )


def test_daemon_sets_take_their_room_of_new_nodes() -> None:
    solved = solve(
        build.pods(4),
        build.daemon_set(cpu="500m"),
        build.node_pool(),
        types=build.family(sizes=(4,)),
    )

    assert len(solved.new_nodes) == 2
    assert solved.new_nodes[0].requests["cpu"] == 3500


def test_a_daemon_set_that_does_not_run_on_a_pool_takes_nothing_of_it() -> None:
    solved = solve(
        build.pods(4, tolerations=[Toleration(operator="Exists")]),
        build.daemon_set(cpu="500m"),
        build.node_pool(taints=[GPU]),
        types=build.family(sizes=(4,)),
    )

    assert len(solved.new_nodes) == 1


def test_the_cheapest_way_to_carry_the_pods_is_taken() -> None:
    dear, cheap = build.instance_type("dear", price=1.0), build.instance_type("cheap", price=0.5)

    assert cheapest(solve(build.pods(4), build.node_pool(), types=[dear, cheap])) == ["cheap"]


def test_a_large_node_that_costs_less_per_pod_wins_when_it_can_be_filled() -> None:
    types = [
        build.instance_type("small", cpu="1", price=0.1),
        build.instance_type("large", cpu="8", price=0.6),
    ]

    assert cheapest(solve(build.pods(8), build.node_pool(), types=types)) == ["large"]
    assert cheapest(solve(build.pods(1), build.node_pool(), types=types)) == ["small"]


def test_memory_heavy_and_cpu_heavy_pods_share_a_node_of_even_shape() -> None:
    heavy = [build.pod("memory", cpu="1", memory="7Gi"), build.pod("cpu", cpu="7", memory="1Gi")]
    types = [
        build.instance_type("even", cpu="8", memory="8Gi", price=0.3),
        *build.family("c"),
        *build.family("r", 8),
    ]

    assert cheapest(solve(heavy, build.node_pool(), types=types)) == ["even"]


def test_every_type_that_holds_the_pods_is_kept_cheapest_first() -> None:
    (node,) = solve(build.pods(3), build.node_pool()).new_nodes[:1]

    prices = [t.usd_per_hour for t in node.types]
    assert prices == sorted(prices)
    assert "c-32x" in [t.name for t in node.types]


def test_a_cost_per_node_makes_fewer_nodes() -> None:
    pods = build.pods(5)
    catalogue = build.catalogue()
    snapshot = build.cluster(*pods, build.node_pool(), build.node_class()).snapshot(build.NOW)
    asked = problem.build(pods, snapshot, catalogue)

    assert len(solver.solve(asked, per_node_usd_per_hour=1.0).new_nodes) == 1


def test_sold_out_and_unavailable_offerings_are_not_counted_on() -> None:
    gone = build.instance_type("gone", price=0.1, offerings=[build.offering(0.1, available=False)])

    assert cheapest(
        solve(build.pods(1), build.node_pool(), types=[gone, build.instance_type("there")])
    ) == ["there"]


def test_a_zone_that_a_pod_asks_for_binds_the_node() -> None:
    (node,) = solve([build.pod(node_selector={labels.ZONE: "zone-b"})], build.node_pool()).new_nodes

    assert node.zones == ("zone-b",)


def test_pods_that_cannot_share_get_nodes_of_their_own() -> None:
    pods = [
        build.pod("a", node_selector={labels.ZONE: "zone-a"}),
        build.pod("b", node_selector={labels.ZONE: "zone-b"}),
    ]

    assert sorted(n.zones for n in solve(pods, build.node_pool()).new_nodes) == [
        ("zone-a",),
        ("zone-b",),
    ]


def test_a_pod_without_wishes_joins_one_that_has_some() -> None:
    pods = [build.pod("a", cpu="3", node_selector={labels.ZONE: "zone-a"}), build.pod("b", cpu="1")]

    assert len(solve(pods, build.node_pool(), types=build.family(sizes=(4,))).new_nodes) == 1


def test_the_first_affinity_term_that_can_be_met_is_taken() -> None:
    terms = tuple(
        build.needs(build.require(labels.ZONE, "In", zone)) for zone in ("zone-x", "zone-b")
    )

    (node,) = solve([build.pod(required_node_affinity=terms)], build.node_pool()).new_nodes

    assert node.zones == ("zone-b",)


def test_the_heavier_pool_is_taken_even_if_it_costs_more() -> None:
    spot = build.needs(build.require(labels.CAPACITY_TYPE, "In", "spot"))
    pools = [build.node_pool("heavy", weight=10), build.node_pool("cheap", requirements=spot)]

    solved = solve(build.pods(1), *pools, types=build.family(capacity_types=("spot", "on-demand")))

    assert solved.new_nodes[0].pool.meta.name == "heavy"


def test_among_pools_of_equal_weight_the_price_decides() -> None:
    on_demand = build.needs(build.require(labels.CAPACITY_TYPE, "In", "on-demand"))
    pools = [build.node_pool("a", requirements=on_demand), build.node_pool("b")]

    solved = solve(build.pods(1), *pools, types=build.family(capacity_types=("spot", "on-demand")))

    assert solved.new_nodes[0].pool.meta.name == "b"


def test_a_lighter_pool_takes_what_the_heavier_one_cannot_host() -> None:
    pools = [build.node_pool("heavy", weight=10, taints=[GPU]), build.node_pool("light")]

    assert solve(build.pods(1), *pools).new_nodes[0].pool.meta.name == "light"


def test_limits_count_every_node_of_the_plan() -> None:
    solved = solve(
        build.pods(9), build.node_pool(limits={"cpu": "8"}), types=build.family(sizes=(4,))
    )

    assert len(solved.new_nodes) == 2
    assert len(solved.unschedulable[0].pods) == 1
    assert reasons(solved) == ["LimitExceeded"]


def test_limits_count_the_nodes_that_are_there() -> None:
    claim = build.node_claim()
    full = build.pod("full", cpu="4", node="node-default-aaaaa")

    solved = solve(
        build.pods(4), claim, build.node(claim=claim), full, build.node_pool(limits={"cpu": "4"})
    )

    assert reasons(solved) == ["LimitExceeded"]


def test_min_values_are_kept() -> None:
    flexible = build.needs(build.require(labels.INSTANCE_TYPE, "Exists", min_values=3))

    (node,) = solve(
        build.pods(4), build.node_pool(requirements=flexible), types=build.family(sizes=(4, 8, 16))
    ).new_nodes

    assert len(node.types) == 3


def test_min_values_that_cannot_be_kept_are_said() -> None:
    flexible = build.needs(build.require(labels.INSTANCE_TYPE, "Exists", min_values=3))

    solved = solve(
        build.pods(1), build.node_pool(requirements=flexible), types=build.family(sizes=(4, 8))
    )

    assert reasons(solved) == ["MinValuesNotMet"]


def test_a_pod_that_asks_for_devices_waits_and_is_told_why() -> None:
    solved = solve([build.pod(resource_claims=("gpu",))], build.node_pool())

    assert reasons(solved) == ["ResourceClaimsNotSupported"]
    assert str(solved.unschedulable[0].blockers[0]) == (
        "ResourceClaimsNotSupported: asks for devices of ResourceClaim gpu; Daiku does not allocate devices"
    )


OTHER_TEAM = {"node_selector": {"team": "x"}}
OTHER_ARCH = {"node_selector": {labels.ARCH: "arm64"}}
ONE_NODE = {"node_selector": {labels.HOSTNAME: "other"}}
UNKNOWN = "no node of it has label team"


@pytest.mark.parametrize(
    ("pod", "pool", "reason", "says"),
    [
        (
            {"cpu": "99"},
            {},
            "InsufficientResources",
            "asks for cpu 99; the most on one node is 32 (c-32x)",
        ),
        ({}, {"taints": [GPU]}, "TaintNotTolerated", "dedicated=gpu:NoSchedule"),
        (OTHER_TEAM, {}, "RequirementsNotMet", UNKNOWN),
        (OTHER_ARCH, {}, "RequirementsNotMet", "its instance types have amd64"),
        (ONE_NODE, {}, "RequirementsNotMet", "hostname"),
        ({}, {"invalid": "spec is wrong"}, "NodePoolNotReady", "spec is wrong"),
        ({}, {"replicas": 3}, "NodePoolNotReady", "static"),
        ({}, {"deleted": build.NOW}, "NodePoolNotReady", "being deleted"),
    ],
    ids=["too large", "taint", "label", "arch", "one node", "invalid", "static", "going"],
)
def test_the_reason_is_told_in_numbers(
    pod: dict[str, object], pool: dict[str, object], reason: str, says: str
) -> None:
    solved = solve([build.pod(**pod)], build.node_pool(**pool))  # type: ignore[arg-type]

    (blocker,) = solved.unschedulable[0].blockers
    assert blocker.reason == reason
    assert says in str(blocker)


def test_the_room_that_daemon_sets_take_is_part_of_the_reason() -> None:
    solved = solve([build.pod(cpu="32")], build.node_pool(), build.daemon_set(cpu="300m"))

    assert "31700m beside 300m of DaemonSets (c-32x)" in str(solved.unschedulable[0].blockers[0])


def test_without_any_node_pool_that_is_said() -> None:
    assert reasons(solve(build.pods(1))) == ["NoNodePool"]


def test_a_large_batch_stays_near_the_lower_bound() -> None:
    shapes = [("100m", "256Mi"), ("500m", "3Gi"), ("1", "1Gi"), ("2", "12Gi"), ("4", "8Gi")]
    pods = [
        p
        for i, (cpu, memory) in enumerate(shapes)
        for p in build.pods(100, f"d{i}", cpu=cpu, memory=memory)
    ]
    types = [
        t for prefix, ratio in (("c", 2), ("m", 4), ("r", 8)) for t in build.family(prefix, ratio)
    ]

    solved = solve(pods, build.node_pool(), types=types)

    assert solved.unschedulable == ()
    assert solved.usd_per_hour < 1.1 * solved.lower_bound_usd_per_hour
