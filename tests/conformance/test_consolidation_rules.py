"""Which nodes consolidation decides to take away, and what it says of the others: Karpenter's cases in rows.

Source: sigs.k8s.io/karpenter pkg/controllers/disruption (consolidation_test, validation_test), restated. Of a row one
tick is made; what follows a decision is tested in unit/daiku/test_moves.py and test_repack_moves.py.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.events import Object
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.report import Proposal

NODE = "node-default-aaaaa"
APP = {"app": "web"}
KEEP = {labels.DO_NOT_DISRUPT: "true"}
LONG_AGO = build.NOW - timedelta(hours=1)
ALL = [Budget(nodes="100%")]


def pod(name: str = "one", node: str = NODE, **fields: Any) -> Object:
    """A pod that has long been where it is."""
    return replace(build.pod(name, node=node, **fields), scheduled=LONG_AGO)


def big() -> tuple[Object, Node]:
    """A node of eight cores; a pod of one leaves it worth replacing."""
    return running("default-aaaaa", "c-8x", cpu="8")


def decided(*objects: Object, pool: NodePool | None = None, **how: Any) -> Moving:
    made = world(*objects, pool=pool or build.node_pool(budgets=ALL), **how)
    made.step()
    return made


def names(proposals: Sequence[Proposal]) -> list[str]:
    return sorted(name for p in proposals for name in p.claims)


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        pytest.param({"consolidation_policy": "WhenEmpty"}, "NotEmpty", id="WhenEmpty"),
        pytest.param({"consolidate_after": None}, "ConsolidationDisabled", id="consolidateAfter Never"),
        pytest.param({"consolidate_after": timedelta(days=1)}, "TooYoung", id="consolidateAfter not over"),
        pytest.param({"replicas": 1}, "StaticNodePool", id="a static NodePool"),
        pytest.param({"budgets": [Budget(nodes="0")]}, "Budget", id="a budget of none"),
        pytest.param({"budgets": [Budget(nodes="0", reasons=("Underutilized",))]}, "Budget",
                     id="a budget of none for this reason"),
    ],
)  # fmt: skip
def test_what_the_node_pool_says_keeps_a_node(pool: dict[str, Any], reason: str) -> None:
    made = decided(*big(), pod(), pool=build.node_pool(**{"budgets": ALL, **pool}))

    assert made.last.report.proposals == ()
    assert made.kept() == {"default-aaaaa": reason}


def test_a_budget_for_another_reason_keeps_nobody() -> None:
    drift_only = [Budget(nodes="0", reasons=("Drifted",)), *ALL]

    made = decided(*big(), pod(), pool=build.node_pool(budgets=drift_only))

    assert names(made.last.report.proposals) == ["default-aaaaa"]


@pytest.mark.parametrize("missing", [labels.INSTANCE_TYPE, labels.CAPACITY_TYPE, labels.ZONE])
def test_a_node_without_a_label_of_its_price_is_kept(missing: str) -> None:
    claim, node = big()
    bare = {k: v for k, v in node.meta.labels.items() if k != missing}

    made = decided(claim, replace(node, meta=replace(node.meta, labels=bare)), pod())

    (kept,) = made.last.report.kept
    assert (kept.reason, missing in kept.message) == ("Unconsolidatable", True)


def test_a_node_of_a_type_that_is_not_known_is_kept() -> None:
    made = decided(*running("default-aaaaa", "x-9x", cpu="8"), pod())

    (kept,) = made.last.report.kept
    assert (kept.reason, "x-9x" in kept.message) == ("Unconsolidatable", True)


@pytest.mark.parametrize(
    ("objects", "goes"),
    [
        pytest.param([pod()], True, id="a pod that says nothing"),
        pytest.param([pod(labels=APP), build.pdb(match=APP, allowed=0)], False, id="a budget of none left"),
        pytest.param([pod(labels=APP), build.pdb(match=APP, allowed=1)], True, id="a budget of one left"),
        pytest.param([pod(annotations=KEEP)], False, id="do-not-disrupt"),
        pytest.param([pod(), pod("d", owner="DaemonSet", annotations=KEEP)], False, id="on a daemon"),
        pytest.param([pod(owner="")], True, id="a pod without an owner"),
        pytest.param([pod(), build.pod("waits", cpu="64")], True, id="beside a pod that fits nowhere"),
    ],
)  # fmt: skip
def test_what_its_pods_say(objects: list[Object], goes: bool) -> None:
    made = decided(*big(), *objects)

    assert names(made.last.report.proposals) == (["default-aaaaa"] if goes else [])


def test_a_deadline_of_the_node_does_not_make_a_pod_s_objection_void() -> None:
    claim, node = big()
    claim = replace(claim, termination_grace_period=timedelta(minutes=5))

    made = decided(claim, node, pod(annotations=KEEP))

    assert made.last.report.proposals == ()


def half(name: str, **fields: Any) -> list[Object]:
    """A node of four cores that is as good as any for its pods of two."""
    return [*running(f"default-{name}", **fields), pod(name, f"node-default-{name}", cpu="2")]


@pytest.mark.parametrize(
    ("budgets", "count"),
    [
        pytest.param([Budget(nodes="100%")], 5, id="all of ten, and five can go"),
        pytest.param([Budget(nodes="3")], 3, id="three of ten"),
        pytest.param([Budget(nodes="20%")], 2, id="a fifth"),
        pytest.param([Budget(nodes="3"), Budget(nodes="1")], 1, id="the strictest of two"),
        pytest.param([Budget(nodes="0")], 0, id="none"),
    ],
)
def test_no_more_nodes_are_decided_upon_than_budgets_allow(
    budgets: list[Budget], count: int
) -> None:
    ten = [each for n in range(10) for each in half(f"{n:05d}")]

    made = decided(*ten, pool=build.node_pool(budgets=budgets))

    assert len(names(made.last.report.proposals)) == count


def test_budgets_are_each_node_pool_s_own() -> None:
    def of(pool: str) -> list[Object]:
        claims = [running(f"{pool}-{n:05d}", pool=pool) for n in range(4)]
        return [
            each
            for claim, node in claims
            for each in (claim, node, pod(claim.meta.name, node.meta.name, cpu="2"))
        ]

    one = replace(build.node_pool("a"), budgets=(Budget(nodes="1"),))
    two = replace(build.node_pool("b"), budgets=(Budget(nodes="2"),))
    made = decided(*of("a"), *of("b"), one, two)

    found = Counter(name[0] for name in names(made.last.report.proposals))
    assert sum(found.values()) > 0
    assert (found["a"] <= 1, found["b"] <= 2) == (True, True)


@pytest.mark.parametrize("ready", [True, False], ids=["ready", "still coming up"])
def test_pods_count_only_on_room_of_nodes_that_are_ready(ready: bool) -> None:
    only = [t for t in build.catalogue().instance_types[build.REF] if t.name == "c-4x"]
    claim, _ = running("default-zzzzz")
    other = build.node(claim=claim, initialized=ready)
    there = pod("other", other.meta.name, cpu="2")

    made = decided(*half("aaaaa"), claim, other, there, types=only)

    assert len(names(made.last.report.proposals)) == (1 if ready else 0)


def test_a_node_that_could_only_make_place_for_its_like_stays() -> None:
    only = [t for t in build.catalogue().instance_types[build.REF] if t.name == "c-8x"]

    made = decided(*big(), pod(), types=only)

    assert made.last.report.proposals == ()
    (kept,) = made.last.report.kept
    assert "none costs less than" in kept.message


def test_three_nodes_become_one() -> None:
    three = [
        each
        for n in range(3)
        for each in (
            *running(f"default-{n:05d}", "c-4x"),
            pod(f"p{n}", f"node-default-{n:05d}", cpu="2500m"),
        )
    ]
    types = [
        build.instance_type("c-4x", price=0.20),
        build.instance_type("c-8x", cpu="8", memory="16Gi", price=0.30),
    ]

    made = decided(*three, types=types)

    (found,) = made.last.report.proposals
    assert (len(found.claims), found.new_nodes, found.detail) == (3, 1, "c-8x")
