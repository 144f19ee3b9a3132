"""Limits of NodePools, their order by weight, and `minValues`.

Source: karpenter-core, provisioning/suite_test.go, "Limits", "Multiple NodePools", "MinValuesPolicy", and
scheduling/instance_selection_test.go, "MinValues".
"""

from typing import Any

import pytest
from tests import build, plans
from tests.plans import Small

from daiku.events import Object
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint, Toleration
from daiku.settings import Settings

BEST_EFFORT = Settings(min_values_policy="BestEffort")
FOURS = build.family(sizes=(4,))
GPUS = [build.instance_type("gpu", extra={"nvidia.com/gpu": "1"}), *FOURS]
CLAIM = build.node_claim()
FULL: list[Object] = [
    CLAIM,
    build.node(claim=CLAIM),
    build.pod("old", cpu="4", node="node-default-aaaaa"),
]
YOUNG = build.node_claim("default-young", launched=False, registered=False, initialized=False)
GOING = build.node_claim("default-going", deleted=build.NOW)


def pool(**limits: str) -> NodePool:
    return build.node_pool(limits=limits)


@pytest.mark.parametrize(
    ("pods", "limited", "there", "types", "told"),
    [
        pytest.param(
            build.pods(4), pool(cpu="4"), [], FOURS, ["4 on new c-4x"], id="reached exactly"
        ),
        pytest.param(
            build.pods(4), pool(cpu="3"), [], FOURS, ["4 LimitExceeded"], id="smaller than any node"
        ),
        pytest.param(
            build.pods(9),
            pool(cpu="8"),
            [],
            FOURS,
            ["1 LimitExceeded", "4 on new c-4x", "4 on new c-4x"],
            id="as far as it goes",
        ),
        pytest.param(
            build.pods(8), pool(cpu="8"), [], None, ["8 on new c-8x"], id="no larger than it allows"
        ),
        pytest.param(
            build.pods(4),
            pool(memory="10Gi"),
            [],
            FOURS,
            ["4 on new c-4x"],
            id="memory, reached",
        ),
        pytest.param(
            build.pods(8),
            pool(memory="10Gi"),
            [],
            FOURS,
            ["4 LimitExceeded", "4 on new c-4x"],
            id="memory, exceeded",
        ),
        pytest.param(
            build.pods(4), pool(cpu="7"), FULL, FOURS, ["4 LimitExceeded"], id="nodes there count"
        ),
        pytest.param(
            build.pods(8),
            pool(cpu="8"),
            [YOUNG],
            FOURS,
            ["4 on default-young", "4 on new c-4x"],
            id="nodes on their way count",
        ),
        pytest.param(
            build.pods(4),
            pool(cpu="4"),
            [GOING, build.node(claim=GOING)],
            FOURS,
            ["4 on new c-4x"],
            id="nodes on their way out do not",
        ),
        pytest.param(
            build.pods(2, cpu="10m", extra={"nvidia.com/gpu": "1"}),
            build.node_pool(limits={"nvidia.com/gpu": "1"}),
            [],
            GPUS,
            ["1 LimitExceeded", "1 on new gpu"],
            id="accelerators",
        ),
        pytest.param(
            build.pods(4),
            build.node_pool(limits={"nvidia.com/gpu": "0"}),
            [],
            GPUS,
            ["4 on new c-4x"],
            id="none of a resource: types without it",
        ),
        pytest.param(
            build.pods(9),
            pool(nodes="2"),
            [],
            FOURS,
            ["1 LimitExceeded", "4 on new c-4x", "4 on new c-4x"],
            id="nodes are counted within a pass",
        ),
        pytest.param(
            build.pods(9),
            pool(nodes="1"),
            [],
            None,
            ["9 on new c-16x"],
            id="one node, so a larger one",
        ),
        pytest.param(
            build.pods(40),
            pool(nodes="2"),
            [],
            None,
            ["32 on new c-32x", "8 on new c-8x"],
            id="two nodes, as large as it takes",
        ),
        pytest.param(
            build.pods(40),
            pool(nodes="1"),
            [],
            None,
            ["32 on new c-32x", "8 LimitExceeded"],
            id="one node, the largest",
        ),
        pytest.param(
            build.pods(1),
            pool(nodes="1"),
            FULL,
            FOURS,
            ["1 LimitExceeded"],
            id="nodes that are there",
        ),
        pytest.param(
            build.pods(1), pool(nodes="0"), [], FOURS, ["1 LimitExceeded"], id="no nodes at all"
        ),
        pytest.param(
            build.pods(1), pool(cpu="0"), [], FOURS, ["1 LimitExceeded"], id="nothing at all"
        ),
    ],
)
def test_a_limit_holds(
    pods: list[Pod],
    limited: NodePool,
    there: list[Object],
    types: list[InstanceType] | None,
    told: list[str],
) -> None:
    small = Small(pods=pods, pools=[limited], there=there, types=types or build.family())

    assert small.told() == told


DEDICATED = Taint("dedicated", "NoSchedule")
TEAM_X = {"node_selector": {"team": "x"}}


@pytest.mark.parametrize(
    ("asked", "pools", "told"),
    [
        pytest.param(
            {"node_selector": {labels.NODEPOOL: "b"}},
            [build.node_pool("a", weight=10), build.node_pool("b")],
            ["1 on new c-1x of b"],
            id="chosen by name, whatever the weights",
        ),
        pytest.param(
            TEAM_X,
            [build.node_pool("a", weight=10), build.node_pool("b", template_labels={"team": "x"})],
            ["1 on new c-1x of b"],
            id="chosen by a label",
        ),
        pytest.param(
            {},
            [build.node_pool("a"), build.node_pool("b", weight=10), build.node_pool("c", weight=5)],
            ["1 on new c-1x of b"],
            id="the heaviest",
        ),
        pytest.param(
            {},
            [build.node_pool("a", weight=10, limits={"cpu": "0"}), build.node_pool("b")],
            ["1 on new c-1x of b"],
            id="a lighter one when the heavier is at its limit",
        ),
        pytest.param(
            {},
            [build.node_pool("a", weight=10, taints=[DEDICATED]), build.node_pool("b")],
            ["1 on new c-1x of b"],
            id="a lighter one when the heavier's taint is not tolerated",
        ),
        pytest.param(
            {"tolerations": [Toleration(key="dedicated", operator="Exists")]},
            [build.node_pool("a", weight=10, taints=[DEDICATED]), build.node_pool("b")],
            ["1 on new c-1x of a"],
            id="the heavier whose taint is tolerated",
        ),
        pytest.param(
            {},
            [build.node_pool("a", weight=10, deleted=build.NOW), build.node_pool("b")],
            ["1 on new c-1x of b"],
            id="not one that is being deleted",
        ),
        pytest.param(
            {},
            [build.node_pool("a", weight=10, invalid="wrong"), build.node_pool("b")],
            ["1 on new c-1x of b"],
            id="not one that is not ready",
        ),
        pytest.param(
            {},
            [build.node_pool("a", replicas=3), build.node_pool("b")],
            ["1 on new c-1x of b"],
            id="not a static one beside one that is not",
        ),
        pytest.param(
            {}, [build.node_pool("a", replicas=3)], ["1 NodePoolNotReady"], id="never a static one"
        ),
        pytest.param({}, [], ["1 NoNodePool"], id="none at all"),
        pytest.param(
            {},
            [build.node_pool(deleted=build.NOW)],
            ["1 NodePoolNotReady"],
            id="none that is ready",
        ),
    ],
)
def test_the_node_pool_is_chosen(
    asked: dict[str, Any], pools: list[NodePool], told: list[str]
) -> None:
    assert Small(pods=[build.pod(**asked)], pools=pools).told() == told


def flexible(key: str, least: int, operator: str = "Exists", *values: str) -> Requirements:
    return build.needs(build.require(key, operator, *values, min_values=least))


SIZED = [
    build.instance_type(
        f"c-{n}x", cpu=str(n), memory="64Gi", price=n, extra_labels={"cpus": str(n)}
    )
    for n in (1, 2, 4, 8)
]


@pytest.mark.parametrize(
    ("asked", "requirements", "types"),
    [
        pytest.param("1", flexible("cpus", 2, "In", "2", "4", "8"), ["2", "4", "8"], id="In"),
        pytest.param("1", flexible("cpus", 2, "Gt", "2"), ["4", "8"], id="Gt"),
        pytest.param("1", flexible("cpus", 2, "Lt", "4"), ["1", "2"], id="Lt"),
        pytest.param("1", flexible("cpus", 3, "NotIn", "1"), ["2", "4", "8"], id="NotIn"),
        pytest.param("4", flexible("cpus", 2), ["4", "8"], id="as many as hold the pod"),
        pytest.param("4", flexible("cpus", 3), [], id="one too few hold the pod"),
        pytest.param("1", flexible("cpus", 3, "Gt", "2"), [], id="too few are allowed"),
        pytest.param(
            "1",
            flexible("cpus", 2, "In", "2", "4") & flexible("cpus", 3, "In", "2", "4", "8"),
            [],
            id="of two the larger counts",
        ),
        pytest.param(
            "1",
            flexible("cpus", 2) & flexible(labels.ZONE, 2),
            ["1", "2", "4", "8"],
            id="several keys, all kept",
        ),
        pytest.param(
            "1", flexible("cpus", 2) & flexible(labels.ZONE, 3), [], id="several keys, one not"
        ),
        pytest.param("1", flexible(labels.INSTANCE_TYPE, 4), ["1", "2", "4", "8"], id="types"),
    ],
)
def test_strict_min_values(asked: str, requirements: Requirements, types: list[str]) -> None:
    small = Small(
        pods=[build.pod(cpu=asked)],
        pools=[build.node_pool(requirements=requirements)],
        types=SIZED,
    )

    solved = small.solve()

    assert [t.name for n in solved.new_nodes for t in n.types] == [f"c-{n}x" for n in types]
    reasons = [b.reason for u in solved.unschedulable for b in u.blockers]
    assert reasons == ([] if types else ["MinValuesNotMet"])


def test_pods_share_a_node_only_as_far_as_min_values_allow() -> None:
    small = Small(
        pods=build.pods(8),
        pools=[build.node_pool(requirements=flexible(labels.INSTANCE_TYPE, 2))],
        types=SIZED,
    )

    assert small.told() == ["4 on new c-4x", "4 on new c-4x"]


def test_min_values_outlive_the_cut_of_the_list() -> None:
    few = Settings(instance_types_per_launch_max=1)
    small = Small(
        pods=build.pods(1),
        pools=[build.node_pool(requirements=flexible(labels.INSTANCE_TYPE, 3))],
        types=SIZED,
        settings=few,
    )

    (made,) = plans.creations(small.solve(), SIZED, few)

    named = made.node_claim.requirements.get(labels.INSTANCE_TYPE)
    assert named.values == {"c-1x", "c-2x", "c-4x"}
    assert named.min_values == 3


@pytest.mark.parametrize(
    ("requirements", "left"),
    [
        pytest.param(flexible(labels.INSTANCE_TYPE, 5), {labels.INSTANCE_TYPE: 4}, id="types"),
        pytest.param(flexible(labels.ZONE, 3), {labels.ZONE: 2}, id="zones"),
        pytest.param(
            flexible(labels.INSTANCE_TYPE, 5) & flexible(labels.ZONE, 3),
            {labels.INSTANCE_TYPE: 4, labels.ZONE: 2},
            id="both",
        ),
        pytest.param(
            flexible(labels.INSTANCE_TYPE, 5) & flexible(labels.ZONE, 2),
            {labels.INSTANCE_TYPE: 4, labels.ZONE: 2},
            id="one is kept",
        ),
    ],
)
def test_best_effort_asks_for_as_many_values_as_there_are(
    requirements: Requirements, left: dict[str, int]
) -> None:
    pools = [
        build.node_pool("heavy", weight=10, requirements=requirements),
        build.node_pool("light"),
    ]
    small = Small(pods=[build.pod()], pools=pools, types=SIZED, settings=BEST_EFFORT)

    assert small.told() == ["1 on new c-1x of heavy"]
    (made,) = plans.creations(small.solve(), SIZED, BEST_EFFORT)
    claim = made.node_claim
    assert {k: claim.requirements.get(k).min_values for k in left} == left
    assert claim.meta.annotations[labels.MIN_VALUES_RELAXED] == "true"


@pytest.mark.parametrize("settings", [Settings(), BEST_EFFORT], ids=["Strict", "BestEffort"])
def test_min_values_that_can_be_kept_are_not_relaxed(settings: Settings) -> None:
    small = Small(
        pods=build.pods(8),
        pools=[build.node_pool(requirements=flexible(labels.INSTANCE_TYPE, 2))],
        types=SIZED,
        settings=settings,
    )

    assert small.told() == ["4 on new c-4x", "4 on new c-4x"]
    for made in plans.creations(small.solve(), SIZED, settings):
        assert made.node_claim.requirements.get(labels.INSTANCE_TYPE).min_values == 2
        assert labels.MIN_VALUES_RELAXED not in made.node_claim.meta.annotations


@pytest.mark.parametrize(
    "pools",
    [
        pytest.param([build.node_pool("a", limits={"cpu": "4"})], id="nothing else"),
        pytest.param(
            [build.node_pool("a", weight=1, limits={"cpu": "4"}), build.node_pool("b")],
            id="a lighter NodePool takes the rest",
        ),
        pytest.param(
            [build.node_pool("a", weight=1, limits={"cpu": "0"}), build.node_pool("b")],
            id="a NodePool that takes nothing",
        ),
    ],
)
def test_the_bound_is_about_pods_that_get_a_node(pools: list[NodePool]) -> None:
    solved = Small(pods=build.pods(8), pools=pools).solve()

    assert 0 < solved.lower_bound_usd_per_hour <= solved.usd_per_hour
