"""Why pods have no place: numbers, the nearest miss first, and what was perhaps meant."""

from typing import Any

import pytest
from tests import build

from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.taints import Taint
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
