"""Which nodes go, and why the others stay."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import PatchNodeClaim
from daiku.disruption import plan
from daiku.disruption.context import MethodResult
from daiku.events import Object
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.taints import AWAITING_PODS
from daiku.settings import Settings

LATER = NOW + timedelta(minutes=1)
LONG_AGO = build.NOW - timedelta(hours=1)
NODE = "node-default-aaaaa"
CLAIM = build.node_claim()
EMPTY = build.node(claim=CLAIM)
KEEP = {labels.DO_NOT_DISRUPT: "true"}
APP = {"app": "web"}


def disrupt(
    *objects: Object, placements: dict[str, str] | None = None, pool: Object | None = None
) -> MethodResult:
    cluster = build.cluster(*objects, pool or build.node_pool(), build.node_class())
    snapshot = cluster.snapshot(LATER)
    return plan.plan(snapshot, build.catalogue(), Settings(), placements or {}, LATER)


def begun(made: MethodResult) -> list[str]:
    """NodeClaims on which a disruption is written down."""
    return [
        c.name
        for c in made.commands
        if isinstance(c, PatchNodeClaim) and labels.DISRUPTION_COMMAND in (c.annotations or {})
    ]


def fleet(count: int, **fields: object) -> list[Object]:
    claims = [build.node_claim(f"default-{i:05d}") for i in range(count)]
    return [*claims, *(build.node(claim=claim, **fields) for claim in claims)]  # type: ignore[arg-type]


def test_an_empty_node_goes() -> None:
    (command,) = disrupt(CLAIM, EMPTY).commands

    assert isinstance(command, PatchNodeClaim)
    (condition,) = command.conditions
    assert (condition.type, condition.status, condition.reason) == (
        "DisruptionReason",
        "True",
        "Empty",
    )


@pytest.mark.parametrize(
    "pod",
    [
        build.pod(node=NODE, owner="DaemonSet"),
        build.pod(node=NODE, owner="Node"),
        build.pod(node=NODE, phase="Succeeded"),
        build.pod(node=NODE, deleted=NOW),
    ],
    ids=["daemon", "static", "finished", "going"],
)
def test_a_node_whose_pods_need_no_other_place_is_empty(pod: Object) -> None:
    assert begun(disrupt(CLAIM, EMPTY, pod)) == ["default-aaaaa"]


def test_a_pod_of_a_stateful_set_needs_its_place_until_it_is_gone() -> None:
    pod = build.pod(node=NODE, owner="StatefulSet", deleted=NOW)

    assert begun(disrupt(CLAIM, EMPTY, pod)) == []


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param(
            [CLAIM, EMPTY, replace(build.pod(node=NODE, cpu="4"), scheduled=LONG_AGO)],
            "Unconsolidatable",
            id="pods need it",
        ),
        pytest.param([CLAIM], "NotInitialized", id="it has no node"),
        pytest.param(
            [CLAIM, build.node(claim=CLAIM, initialized=False)], "NotInitialized", id="it comes up"
        ),
        pytest.param(
            [CLAIM, build.node(claim=CLAIM, taints=[AWAITING_PODS])],
            "Nominated",
            id="it is closed until pods wait for it",
        ),
        pytest.param(
            [CLAIM, build.node(claim=CLAIM, annotations=KEEP)], "DoNotDisrupt", id="its annotation"
        ),
        pytest.param(
            [CLAIM, EMPTY, build.pod(node=NODE, owner="DaemonSet", annotations=KEEP)],
            "PodDoNotDisrupt",
            id="a pod's",
        ),
        pytest.param(
            [CLAIM, EMPTY, build.pod(node=NODE, labels=APP), build.pdb(match=APP)],
            "PodDisruptionBudget",
            id="a budget",
        ),
        pytest.param(
            [
                CLAIM,
                EMPTY,
                build.pod(node=NODE, labels=APP),
                build.pdb("one", match=APP, allowed=1),
                build.pdb("two", match=APP, allowed=1),
            ],
            "SeveralBudgets",
            id="two budgets",
        ),
        pytest.param([build.node_claim(since=LATER), EMPTY], "TooYoung", id="it is new"),
    ],
)
def test_a_node_is_kept_and_the_reason_is_told(objects: list[Object], reason: str) -> None:
    made = disrupt(*objects)

    assert begun(made) == []
    assert [k.reason for k in made.kept] == [reason]


def test_a_node_on_which_a_pod_is_expected_is_kept() -> None:
    made = disrupt(CLAIM, EMPTY, placements={"default/web-1": NODE})

    assert made.kept[0].reason == "Nominated"
    assert "default/web-1" in made.kept[0].message


def test_consolidate_after_never_means_never() -> None:
    assert (
        disrupt(CLAIM, EMPTY, pool=build.node_pool(consolidate_after=None)).kept[0].reason
        == "ConsolidationDisabled"
    )


def test_a_static_pool_keeps_its_number() -> None:
    assert (
        disrupt(CLAIM, EMPTY, pool=build.node_pool(replicas=1)).kept[0].reason == "StaticNodePool"
    )


def test_a_node_of_a_pool_that_is_gone_is_kept() -> None:
    assert disrupt(CLAIM, EMPTY, pool=build.node_pool("other")).kept[0].reason == "NodePoolNotFound"


def test_a_young_node_is_looked_at_again_when_its_time_has_come() -> None:
    made = disrupt(build.node_claim(since=LATER), EMPTY)

    assert made.wakes == [LATER + timedelta(seconds=30)]


def test_a_pod_that_left_makes_the_node_young_again() -> None:
    claim = build.node_claim(last_pod_event=LATER - timedelta(seconds=10))

    assert disrupt(claim, build.node(claim=claim)).kept[0].reason == "TooYoung"


def test_a_node_that_is_going_is_no_candidate() -> None:
    claim = build.node_claim(deleted=NOW)

    assert disrupt(claim, build.node(claim=claim)) == MethodResult()


@pytest.mark.parametrize(
    ("budgets", "count"),
    [
        pytest.param([Budget(nodes="10%")], 1, id="a tenth of five rounds up"),
        pytest.param([Budget(nodes="3")], 3, id="a count"),
        pytest.param([Budget(nodes="0")], 0, id="none"),
        pytest.param([Budget(nodes="0", reasons=("Drifted",))], 5, id="none for another reason"),
        pytest.param(
            [Budget(nodes="0", reasons=("Empty",)), Budget(nodes="100%")],
            0,
            id="none for this reason",
        ),
        pytest.param([], 5, id="without budgets nothing limits"),
        pytest.param(
            [Budget(nodes="0", schedule="0 12 * * *", duration=timedelta(hours=1))],
            0,
            id="at this hour",
        ),
        pytest.param(
            [Budget(nodes="0", schedule="0 9 * * *", duration=timedelta(hours=1))],
            5,
            id="at another hour",
        ),
    ],
)
def test_budgets_are_kept(budgets: list[Budget], count: int) -> None:
    made = disrupt(*fleet(5), pool=build.node_pool(budgets=budgets))

    assert len(begun(made)) == count
    assert [k.reason for k in made.kept] == ["Budget"] * (5 - count)


def test_nodes_that_are_going_or_ill_use_up_the_budget() -> None:
    going = build.node_claim("default-going", deleted=NOW)
    ill = build.node_claim("default-ill")
    objects = [*fleet(3), going, build.node(claim=going), ill, build.node(claim=ill, ready=False)]

    made = disrupt(*objects, pool=build.node_pool(budgets=[Budget(nodes="3")]))

    assert len(begun(made)) == 1


def test_the_longest_quiet_goes_first() -> None:
    old = build.node_claim("default-zzzzz", since=NOW - timedelta(hours=1))

    made = disrupt(
        *fleet(2), old, build.node(claim=old), pool=build.node_pool(budgets=[Budget(nodes="1")])
    )

    assert begun(made) == ["default-zzzzz"]
