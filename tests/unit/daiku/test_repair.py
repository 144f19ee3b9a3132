"""Broken machines are replaced by their cloud's policies, unless too many are broken at once.

Source: Karpenter's suite of node.health, row by row.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import Announce, Command, DeleteNodeClaim, PatchNodeClaim
from daiku.events import Object
from daiku.lifecycle import plan
from daiku.model import labels
from daiku.model.condition import Condition, Status
from daiku.model.node import Node
from daiku.model.repair import RepairPolicy
from daiku.settings import Settings

MINUTE = timedelta(minutes=1)
POLICIES = (
    RepairPolicy(condition="Ready", status="False", toleration=30 * MINUTE),
    RepairPolicy(condition="KernelReady", status="False", toleration=10 * MINUTE),
)
OVER = {labels.TERMINATION_TIMESTAMP: "2026-03-02T11:00:00Z"}
DECIDED = {labels.TERMINATION_TIMESTAMP: "2026-03-02T12:10:00Z"}


def pair(
    number: int = 0,
    *,
    kind: str = "KernelReady",
    status: Status = "False",
    pool: str = "default",
    annotations: dict[str, str] | None = None,
) -> list[Object]:
    """A NodeClaim and its Node, which has a condition since NOW."""
    claim = build.node_claim(f"{pool}-{number}", pool=pool, annotations=annotations)
    node = build.node(claim=claim)
    return [claim, with_condition(node, kind, status)]


def with_condition(node: Node, kind: str, status: Status) -> Node:
    said = Condition(type=kind, status=status, last_transition=NOW)
    return replace(node, conditions=(*(c for c in node.conditions if c.type != kind), said))


def healthy(count: int, pool: str = "default") -> list[Object]:
    made: list[Object] = []
    for number in range(100, 100 + count):
        claim = build.node_claim(f"{pool}-{number}", pool=pool)
        made += [claim, build.node(claim=claim)]
    return made


def decide(*objects: Object, at: datetime = NOW + 10 * MINUTE) -> plan.Lifecycle:
    cluster = build.cluster(*objects, build.node_pool(), build.node_class())
    return plan.plan(
        cluster.snapshot(at), cluster.catalogue, Settings(repair_policies=POLICIES), at
    )


def given_up(made: plan.Lifecycle) -> list[str]:
    return [c.name for c in made.commands if isinstance(c, DeleteNodeClaim)]


def deadlines(made: plan.Lifecycle) -> list[str]:
    return [
        c.annotations[labels.TERMINATION_TIMESTAMP]
        for c in made.commands
        if isinstance(c, PatchNodeClaim)
        and c.annotations is not None
        and labels.TERMINATION_TIMESTAMP in c.annotations
    ]


def told(commands: list[Command], reason: str) -> list[Announce]:
    return [c for c in commands if isinstance(c, Announce) and c.reason == reason]


def test_first_its_deadline_is_now_and_then_it_is_given_up() -> None:
    first = decide(*pair())
    second = decide(*pair(annotations=DECIDED))

    assert deadlines(first) == ["2026-03-02T12:10:00Z"]
    assert given_up(first) == []
    assert given_up(second) == ["default-0"]
    (deletion,) = [c for c in second.commands if isinstance(c, DeleteNodeClaim)]
    assert deletion.reason == "unhealthy"


def test_a_deadline_that_is_over_stays_as_it_is() -> None:
    made = decide(*pair(annotations=OVER))

    assert deadlines(made) == []
    assert given_up(made) == ["default-0"]


@pytest.mark.parametrize(
    ("pair_of", "at"),
    [
        pytest.param(pair(kind="DiskPressure"), NOW + 60 * MINUTE, id="another condition"),
        pytest.param(pair(status="Unknown"), NOW + 60 * MINUTE, id="another status"),
        pytest.param(pair(), NOW + 9 * MINUTE, id="too short a time"),
        pytest.param(pair(kind="Ready"), NOW + 29 * MINUTE, id="the longer time of its condition"),
    ],
)
def test_a_node_that_is_not_broken_stays(pair_of: list[Object], at: datetime) -> None:
    made = decide(*pair_of, at=at)

    assert (given_up(made), deadlines(made)) == ([], [])


def test_it_is_looked_at_again_when_the_nearest_time_is_over() -> None:
    claim, node = pair(kind="Ready")
    assert isinstance(node, Node)

    made = decide(claim, with_condition(node, "KernelReady", "False"), at=NOW + MINUTE)

    assert min(t for t in made.wakes if t > NOW + MINUTE) == NOW + 10 * MINUTE


def test_neither_its_own_wish_nor_a_budget_keeps_it() -> None:
    claim, node = pair(annotations=DECIDED)
    assert isinstance(node, Node)
    wish = replace(node, meta=replace(node.meta, annotations={labels.DO_NOT_DISRUPT: "true"}))

    assert given_up(decide(claim, wish)) == ["default-0"]


@pytest.mark.parametrize(
    ("broken", "others", "replaced"),
    [
        pytest.param(1, 9, 1, id="one of ten"),
        pytest.param(2, 8, 2, id="a fifth"),
        pytest.param(3, 7, 0, id="more than a fifth"),
        pytest.param(1, 0, 1, id="the only one, because a fifth of it rounds up"),
        pytest.param(2, 1, 0, id="two of three"),
    ],
)
def test_when_too_many_are_broken_none_is_replaced(broken: int, others: int, replaced: int) -> None:
    nodes = [each for number in range(broken) for each in pair(number, annotations=DECIDED)]

    made = decide(*nodes, *healthy(others))

    assert len(given_up(made)) == replaced
    blocked = told(made.commands, "NodeRepairBlocked")
    assert len(blocked) == (0 if replaced else broken)
    assert all("NodePool default" in event.message for event in blocked)


def test_other_pools_do_not_dilute_the_share() -> None:
    nodes = [each for number in range(2) for each in pair(number, annotations=DECIDED)]

    assert given_up(decide(*nodes, *healthy(20, pool="another"))) == []


def test_a_claim_of_no_pool_is_measured_by_the_whole_cluster() -> None:
    claim, node = pair(pool="", annotations=DECIDED)

    assert given_up(decide(claim, node, *healthy(9))) == ["-0"]


def test_without_policies_nothing_is_repaired() -> None:
    cluster = build.cluster(*pair(annotations=DECIDED), build.node_pool(), build.node_class())
    at = NOW + 60 * MINUTE

    made = plan.plan(cluster.snapshot(at), cluster.catalogue, Settings(), at)

    assert given_up(made) == []
