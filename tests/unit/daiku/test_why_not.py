"""Why pods have no place: numbers, the nearest miss first, and what was perhaps meant."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests import build

from daiku.cloud.errors import InsufficientCapacity
from daiku.events import LaunchFailed, Object
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.taints import Taint
from daiku.model.topology import AffinityTerm, Spread
from daiku.scheduling import problem, solver

WEST = ("us-west-2a", "us-west-2b")
TYPES = build.family(sizes=(4, 32), zones=WEST)


def why(
    pod: dict[str, Any], *pools: NodePool, types: list[InstanceType] = TYPES, **agent: str
) -> list[str]:
    """The blockers of one pod, in order."""
    waiting = build.pod(**pod)
    daemons = [build.daemon_set(**agent)] if agent else []
    catalogue = build.catalogue(*types)
    objects = [waiting, *(pools or [build.node_pool()]), *daemons, build.node_class()]
    snapshot = build.cluster(*objects, catalogue_of=catalogue).snapshot(build.NOW)
    solved = solver.solve(problem.build([waiting], snapshot, catalogue))
    return [str(blocker) for each in solved.unschedulable for blocker in each.blockers]


def of(rule: str, sentence: str) -> list[str]:
    return [f"NodePool default: {rule}: {sentence}"]


LESS = build.node_pool(requirements=build.needs(build.require(labels.ZONE, "In", *WEST[:1])))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            {"cpu": "99"},
            of("InsufficientResources", "asks for cpu 99; the most on one node is 32 (c-32x)"),
        ),
        (
            {"cpu": "32", "memory": "65Gi"},
            of(
                "InsufficientResources",
                "asks for memory 65Gi; the most on one node is 64Gi (c-32x)",
            ),
        ),
        (
            {"extra": {"nvidia.com/gpu": "1"}},
            of("InsufficientResources", "asks for nvidia.com/gpu 1; no instance type has any"),
        ),
        (
            {"node_selector": {labels.ZONE: "us-west-2z"}},
            of(
                "RequirementsNotMet",
                "asks for topology.kubernetes.io/zone In [us-west-2z]; its instance types have us-west-2a, us-west-2b "
                "(did you mean us-west-2a?)",
            ),
        ),
        (
            {"node_selector": {labels.ARCH: "amd-64"}},
            of(
                "RequirementsNotMet",
                "asks for kubernetes.io/arch In [amd-64]; its instance types have amd64 (did you mean amd64?)",
            ),
        ),
        (
            {"node_selector": {"topology.kubernets.io/zone": "us-west-2a"}},
            of(
                "RequirementsNotMet",
                "asks for topology.kubernets.io/zone In [us-west-2a]; no node of it has label "
                "topology.kubernets.io/zone (did you mean topology.kubernetes.io/zone?)",
            ),
        ),
        (
            {"node_selector": {"instance-type": "c-4x"}},
            of(
                "RequirementsNotMet",
                "asks for instance-type In [c-4x]; no node of it has label instance-type (did you mean "
                "node.kubernetes.io/instance-type?)",
            ),
        ),
        (
            {"node_selector": {"team": "x"}},
            of("RequirementsNotMet", "asks for team In [x]; no node of it has label team"),
        ),
        (
            {"node_selector": {labels.HOSTNAME: "a"}},
            of(
                "RequirementsNotMet",
                "asks for kubernetes.io/hostname In [a]; the name of a new node is not known before it is there",
            ),
        ),
        (
            {
                "required_node_affinity": (
                    build.needs(build.require("a", "Exists"), build.require("b", "Exists")),
                    build.needs(build.require("c", "Exists")),
                )
            },
            of("RequirementsNotMet", "asks for c Exists; no node of it has label c"),
        ),
    ],
    ids=[
        "too large",
        "memory",
        "none at all",
        "zone",
        "arch",
        "key",
        "short key",
        "unknown",
        "one node",
        "the nearer alternative",
    ],
)
def test_what_is_asked_and_what_there_is(asked: dict[str, Any], expected: list[str]) -> None:
    assert why(asked) == expected


@pytest.mark.parametrize(
    ("asked", "pool", "expected"),
    [
        (
            {},
            build.node_pool(taints=[Taint("dedicated", "NoSchedule", "db")]),
            of("TaintNotTolerated", "does not tolerate taint dedicated=db:NoSchedule"),
        ),
        (
            {},
            build.node_pool(taints=[Taint("dedicated", "NoExecute")]),
            of("TaintNotTolerated", "does not tolerate taint dedicated:NoExecute"),
        ),
        (
            {"node_selector": {labels.ZONE: "us-west-2b"}},
            LESS,
            of(
                "RequirementsNotMet",
                "asks for topology.kubernetes.io/zone In [us-west-2b]; the NodePool has In [us-west-2a]",
            ),
        ),
        (
            {},
            build.node_pool(limits={"cpu": "3"}),
            of(
                "LimitExceeded",
                "asks for a node of at least cpu 4 (c-4x); 3 of the limit of 3 is left",
            ),
        ),
        ({}, build.node_pool(invalid="x"), of("NodePoolNotReady", "x")),
    ],
    ids=["taint", "taint without value", "zone", "limit", "not ready"],
)
def test_what_the_node_pool_keeps_away(
    asked: dict[str, Any], pool: NodePool, expected: list[str]
) -> None:
    assert why(asked, pool) == expected


def test_the_room_of_daemon_sets_is_told() -> None:
    assert why({"cpu": "32"}, cpu="300m") == of(
        "InsufficientResources",
        "asks for cpu 32; the most on one node is 31700m beside 300m of DaemonSets (c-32x)",
    )


def test_what_no_type_has_together_is_told_in_whole() -> None:
    types = [
        build.instance_type("big", cpu="16", memory="16Gi", zones=WEST),
        build.instance_type("wide", cpu="4", memory="64Gi", zones=WEST),
    ]

    assert why({"cpu": "8", "memory": "32Gi"}, types=types) == of(
        "InsufficientResources",
        "asks for cpu 8, memory 32Gi, pods 1; big, which comes closest, has 16Gi of memory",
    )


def test_the_nearest_miss_comes_first() -> None:
    pools = [
        build.node_pool("away", taints=[Taint("dedicated", "NoSchedule")]),
        build.node_pool("near", limits={"cpu": "1"}),
        build.node_pool("off", requirements=build.needs(build.require(labels.ARCH, "In", "arm64"))),
    ]

    found = why({"node_selector": {labels.ARCH: "amd64"}}, *pools)

    assert [each.split(":")[0].removeprefix("NodePool ") for each in found] == [
        "near",
        "off",
        "away",
    ]


def told(
    pods: Sequence[Pod],
    pool: NodePool,
    *there: Object,
    types: list[InstanceType] = TYPES,
    sold_out: Sequence[tuple[str, str, str]] = (),
) -> list[str]:
    """The blockers of pods beside nodes, with what is sold out, in order."""
    catalogue = build.catalogue(*types)
    made = build.cluster(*pods, pool, *there, build.node_class(), catalogue_of=catalogue)
    made.apply(LaunchFailed("x", InsufficientCapacity("none", sold_out=tuple(sold_out))))
    solved = solver.solve(problem.build(pods, made.snapshot(build.NOW), catalogue))
    return [str(blocker) for each in solved.unschedulable for blocker in each.blockers]


FOURS = build.family(sizes=(4,), zones=WEST)
WEB = build.needs(build.require("app", "In", "web"))


def web(count: int, **fields: Any) -> list[Pod]:
    return build.pods(count, labels={"app": "web"}, cpu="100m", memory="64Mi", **fields)


def apart(key: str) -> dict[str, Any]:
    return {
        "pod_anti_affinity": (AffinityTerm(key=key, selector=WEB, namespaces=("default",)),),
    }


def test_what_the_plan_itself_takes_from_a_limit_is_told() -> None:
    assert told(build.pods(12), build.node_pool(limits={"cpu": "10"}), types=FOURS) == of(
        "LimitExceeded",
        "asks for a node of at least cpu 4 (c-4x); 2 of the limit of 10 is left beside the nodes of this plan, "
        "which take 8",
    )


@pytest.mark.parametrize(
    ("pods", "limits", "first"),
    [
        (web(3, **apart(labels.HOSTNAME)), {"nodes": "2"}, "LimitExceeded"),
        (web(2, **apart(labels.ZONE)), {"nodes": "1"}, "LimitExceeded"),
        (web(3, **apart(labels.ZONE)), {"nodes": "9"}, "PodAntiAffinityNotMet"),
        (
            web(3, spread=(Spread(key=labels.HOSTNAME, max_skew=1, hard=True, selector=WEB),)),
            {"nodes": "2"},
            "LimitExceeded",
        ),
    ],
    ids=["hosts", "zones, one node", "zones, no limit", "spread over hosts"],
)
def test_a_limit_comes_before_rules_between_pods_where_one_more_node_would_do(
    pods: list[Pod], limits: dict[str, str], first: str
) -> None:
    found = told(pods, build.node_pool(limits=limits), types=FOURS)

    assert first in found[0]
    assert any("PodAntiAffinityNotMet" in b or "TopologySpreadNotMet" in b for b in found)


SOLD_OUT = [("c-4x", zone, "on-demand") for zone in WEST]


def test_what_is_sold_out_is_told_with_its_zones() -> None:
    assert told(build.pods(1), build.node_pool(), types=FOURS, sold_out=SOLD_OUT) == of(
        "NoOffering",
        "asks for any zone and capacity type; c-4x would do; sold out: on-demand in us-west-2a, us-west-2b",
    )


def test_a_limit_that_only_larger_types_exceed_names_what_is_sold_out() -> None:
    small = build.node_pool(limits={"cpu": "8"})

    assert told(build.pods(1), small, sold_out=SOLD_OUT) == of(
        "LimitExceeded",
        "asks for a node of at least cpu 32 (c-32x); 8 of the limit of 8 is left; smaller types are sold out: "
        "on-demand in us-west-2a, us-west-2b",
    )


def test_a_zone_that_is_sold_out_is_told_to_pods_that_are_spread() -> None:
    spread = Spread(key=labels.ZONE, max_skew=1, hard=True, selector=WEB)
    full = build.node("full", provider_id="full", cpu="0", labels_of={labels.ZONE: WEST[1]})

    (found,) = told(
        web(3, spread=(spread,)), build.node_pool(), full, types=FOURS, sold_out=SOLD_OUT[1:]
    )

    assert found.startswith("TopologySpreadNotMet")
    assert found.endswith("; sold out in us-west-2b")


CATEGORY = "karpenter.k8s.aws/instance-category"


def test_a_resource_that_labels_rule_out_is_told_with_the_label() -> None:
    types = [
        build.instance_type("c", extra_labels={CATEGORY: "c"}),
        build.instance_type("g", extra={"nvidia.com/gpu": "1"}, extra_labels={CATEGORY: "g"}),
    ]
    pool = build.node_pool(requirements=build.needs(build.require(CATEGORY, "In", "c", "m")))

    assert why({"extra": {"nvidia.com/gpu": "1"}}, pool, types=types) == of(
        "InsufficientResources",
        "asks for nvidia.com/gpu 1; no instance type that the NodePool allows has any; g has, and its "
        "karpenter.k8s.aws/instance-category is g, not In [c m]",
    )


def test_a_label_that_no_node_has_is_told_to_pods_that_are_spread_by_it() -> None:
    spread = Spread(key="rack", max_skew=1, hard=True, selector=WEB)

    assert told(web(1, spread=(spread,)), build.node_pool(), types=FOURS) == [
        "TopologySpreadNotMet: asks for spread over rack maxSkew 1; no node that it could be on has label rack"
    ]
