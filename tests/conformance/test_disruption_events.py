"""What a disruption tells, and whom: the events of Karpenter's table, in scenarios that live through them.

Source: sigs.k8s.io/karpenter pkg/controllers/disruption/events and pkg/controllers/state/podresources/events, restated.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku import moving_world
from tests.unit.daiku.moving_world import Moving, running

from daiku.commands import Announce, Command
from daiku.events import Object
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod

Told = dict[tuple[str, str, str], str]
"""Reason, type and kind of object -> what was said first."""
OLD = build.NOW - timedelta(hours=2)
POOL = build.node_pool(budgets=[Budget(nodes="100%")])
BALANCED = build.node_pool(budgets=[Budget(nodes="100%")], consolidation_policy="Balanced")


class Listening(Moving):
    """Hears what is announced."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.heard: Told = {}

    def carry_out(self, command: Command) -> None:
        if isinstance(command, Announce):
            self.heard.setdefault((command.reason, command.type, command.kind), command.message)
        super().carry_out(command)


def listening(*objects: Object, pool: NodePool = POOL) -> Listening:
    """A world in which `objects` are there, that hears what is announced."""
    made = moving_world.world(*objects, pool=pool, kind=Listening)
    assert isinstance(made, Listening)
    return made


def heard(*objects: Object, pool: NodePool = POOL, seconds: int = 120) -> Told:
    """What is told while these live for so long."""
    made = listening(*objects, pool=pool)
    made.run(seconds)
    return made.heard


def half_empty(count: int, **fields: Any) -> list[Object]:
    """Nodes of eight cores, each with one pod that leaves no room for another."""
    return [
        each
        for n in range(count)
        for each in (*running(f"default-{n:05d}", "c-8x", cpu="8"), _pod(n, **fields))
    ]


def _pod(number: int, **fields: Any) -> Pod:
    asks = {"cpu": "4500m", **fields}
    there = build.pod(f"web-{number}", node=f"node-default-{number:05d}", **asks)
    return replace(there, scheduled=OLD)


@pytest.mark.parametrize(
    ("reason", "kinds", "message"),
    [
        ("ConsolidationCandidate", ("Node", "NodeClaim"), "Consolidation candidate: "),
        ("DisruptionLaunching", ("NodeClaim",), "Launching NodeClaim: Underutilized"),
        (
            "DisruptionWaitingReadiness",
            ("NodeClaim",),
            "Waiting on readiness to continue disruption",
        ),
        ("DisruptionTerminating", ("Node", "NodeClaim"), "Disrupting {kind}: Underutilized"),
    ],
)
def test_a_consolidation_is_told_step_by_step(
    reason: str, kinds: tuple[str, ...], message: str
) -> None:
    told = heard(*half_empty(6))

    assert [kind for (said, _, kind) in sorted(told) if said == reason] == list(kinds)
    for kind in kinds:
        assert told[reason, "Normal", kind].startswith(message.format(kind=kind))


def test_a_consolidation_that_is_not_right_any_more_is_told_to_be_rejected() -> None:
    made = listening(*half_empty(6))
    made.run(5)
    for number in range(6):
        made.put(_pod(number, annotations={labels.DO_NOT_DISRUPT: "true"}))
    made.run(20)

    told = made.heard["ConsolidationRejected", "Normal", "Node"]
    assert told.startswith("Consolidation rejected: ")
    assert "reason: " in told


def test_what_a_balanced_pool_takes_is_told_to_be_approved() -> None:
    told = heard(*half_empty(6, cpu="500m"), pool=BALANCED)

    assert {kind for reason, _, kind in told if reason == "ConsolidationApproved"} <= {
        "Node", "NodeClaim", "NodePool",
    }  # fmt: skip
    assert "score" in next(
        v for (reason, _, _), v in told.items() if reason == "ConsolidationApproved"
    )


@pytest.mark.parametrize(
    ("wish", "reason", "type_", "message"),
    [
        (
            "soon",
            "InvalidDoNotDisruptAnnotation",
            "Warning",
            "'soon' is neither true nor a duration",
        ),
        ("-5m", "InvalidDoNotDisruptAnnotation", "Warning", "'-5m' is neither true nor a duration"),
        (
            "24h",
            "DoNotDisruptUntil",
            "Normal",
            "the 24h of its karpenter.sh/do-not-disrupt end at ",
        ),
        (
            "130m",
            "DoNotDisruptGracePeriodElapsed",
            "Normal",
            "the 130m of its karpenter.sh/do-not-disrupt are over",
        ),
    ],
)
def test_a_pod_is_told_what_its_do_not_disrupt_comes_to(
    wish: str, reason: str, type_: str, message: str
) -> None:
    told = heard(*half_empty(1, annotations={labels.DO_NOT_DISRUPT: wish}))

    assert message in told[reason, type_, "Pod"]
    assert {kind for said, _, kind in told if said == reason} == {"Pod"}


@pytest.mark.parametrize("wish", ["true", "5m"])
def test_a_pod_whose_wish_is_plain_or_long_over_is_told_nothing(wish: str) -> None:
    told = heard(*half_empty(1, annotations={labels.DO_NOT_DISRUPT: wish}))

    assert not [reason for reason, _, kind in told if kind == "Pod"]
