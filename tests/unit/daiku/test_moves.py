"""Nodes make place for fewer or cheaper ones, and nothing is lost on the way, wherever it is interrupted."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.commands import Command, CreateNodeClaim
from daiku.events import Object
from daiku.model import labels, nodepool_hash, taints
from daiku.model.budget import Budget
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod

KEEP = {labels.DO_NOT_DISRUPT: "true"}


def half_full() -> list[Object]:
    """Two nodes of four cores, one core asked of each."""
    return [
        *running("default-aaaaa"),
        *running("default-bbbbb"),
        build.pod("one", node="node-default-aaaaa"),
        build.pod("two", node="node-default-bbbbb"),
    ]


def oversized() -> list[Object]:
    """One node of eight cores for a pod that needs one."""
    return [
        *running("default-aaaaa", "c-8x", cpu="8"),
        build.pod("one", node="node-default-aaaaa"),
    ]


def settled(made: Moving) -> None:
    assert made.tainted() == []
    assert all(p.node_name for p in made.all(Pod))
    assert len(made.all(Node)) == len(made.all(NodeClaim)) == len(made.instances)


def test_two_nodes_that_are_half_empty_become_one_and_it_is_cheaper() -> None:
    made = world(*half_full())
    made.step()
    before = made.price()

    made.run(240)

    settled(made)
    assert len(made.nodes()) == 1
    assert made.price() < before


def test_the_old_node_goes_only_when_the_new_one_is_ready() -> None:
    made = world(*oversized(), boot=60)
    made.run(60)
    assert sorted(made.kept().values()) == ["Disrupting", "NotInitialized"]
    assert made.tainted() == ["node-default-aaaaa"]
    assert made.evicted == 0

    made.run(120)

    settled(made)
    assert list(made.nodes().values()) == ["c-1x"]
    assert made.evicted == 1


def test_a_replacement_is_made_for_the_reason_of_the_disruption() -> None:
    """Source: Karpenter's nodeclaims_created_total has the reasons provisioned, drifted and underutilized."""
    why: list[str] = []

    class Creating(Moving):
        def carry_out(self, command: Command) -> None:
            why.extend([command.reason] if isinstance(command, CreateNodeClaim) else [])
            super().carry_out(command)

    made = world(*oversized(), kind=Creating)
    made.run(60)

    assert why == ["Underutilized"]


def test_a_decision_rests_and_is_checked_again_before_anything_is_done() -> None:
    made = world(*oversized())
    made.run(12)
    assert made.last.report.proposals
    assert made.tainted() == []

    made.put(build.pod("two", cpu="6", node="node-default-aaaaa"))
    made.run(10)

    assert made.last.report.proposals == ()
    assert made.tainted() == []


def test_a_replacement_that_does_not_come_up_in_time_is_given_up_and_the_node_let_off() -> None:
    made = world(*oversized(), boot=100_000, registration_ttl=timedelta(hours=1))
    made.run(11 * 60, step=5)

    told = made.told("default-aaaaa")
    assert told is not None
    assert (told.status, told.reason) == ("False", "ReplacementFailed")
    assert "not ready within 10 minutes" in told.message
    assert made.tainted() == []
    (kept,) = [k for k in made.last.report.kept if k.node_claim == "default-aaaaa"]
    assert kept.reason == "LetOff"
    assert f"ReplacementFailed: {told.message}" in kept.message
    assert made.evicted == 0


def test_a_replacement_that_is_deleted_is_no_reason_to_evict_anybody() -> None:
    made = world(*oversized(), boot=100_000)
    made.run(30)
    (new,) = [c.meta.name for c in made.all(NodeClaim) if c.meta.name != "default-aaaaa"]
    made.delete(NodeClaim, new)
    made.run(120, step=2)

    told = made.told("default-aaaaa")
    assert told is not None
    assert told.reason == "ReplacementFailed"
    assert (made.tainted(), made.evicted) == ([], 0)


@pytest.mark.parametrize("after", range(0, 60, 3))
def test_a_new_leader_finishes_what_the_last_one_began(after: int) -> None:
    made = world(*oversized(), *running("default-ccccc"), boot=15)
    made.run(after)
    made.step(crash_after=1)
    made.run(5)
    made.restart()
    made.run(200)

    settled(made)
    assert list(made.nodes().values()) == ["c-1x"]


def test_a_budget_that_closes_on_the_way_calls_the_move_off() -> None:
    made = world(*oversized(), boot=60)
    made.run(40)
    made.put(build.node_pool(budgets=[Budget(nodes="0")]))
    made.run(60)

    told = made.told("default-aaaaa")
    assert told is not None
    assert told.reason == "Budget"
    assert (made.tainted(), made.evicted) == ([], 0)


def test_a_wish_that_comes_on_the_way_calls_the_move_off() -> None:
    made = world(*oversized(), boot=60)
    made.run(40)
    (pod,) = made.all(Pod)
    made.put(replace(pod, meta=replace(pod.meta, annotations=KEEP)))
    made.run(60)

    told = made.told("default-aaaaa")
    assert told is not None
    assert told.reason == "PodDoNotDisrupt"
    assert (made.tainted(), made.evicted) == ([], 0)


def test_a_pod_that_comes_to_an_empty_node_in_the_last_moment_stays() -> None:
    made = world(*running("default-aaaaa"))
    made.step()
    made.step()
    assert made.tainted() == ["node-default-aaaaa"]

    made.put(build.pod("late", cpu="4", node="node-default-aaaaa"))
    made.run(10)

    assert (made.tainted(), made.evicted) == ([], 0)
    assert made.claim("default-aaaaa").meta.deleted is None


def test_a_taint_that_nobody_knows_of_is_taken_off() -> None:
    claim, node = running("default-aaaaa")
    full = build.pod("one", cpu="4", node=node.meta.name)
    made = world(claim, replace(node, taints=(taints.DISRUPTED,)), full)
    made.run(3)

    assert made.tainted() == []


@pytest.mark.parametrize(("mode", "reason"), [("dry-run", "DryRun"), ("paused", "Paused")])
@pytest.mark.parametrize("pods", [True, False], ids=["with pods", "empty"])
def test_a_pool_may_ask_what_would_be_done_or_for_nothing_at_all(
    mode: str, reason: str, *, pods: bool
) -> None:
    pool = build.node_pool()
    pool = replace(pool, meta=replace(pool.meta, annotations={labels.DISRUPTION_MODE: mode}))
    made = world(*(oversized() if pods else running("default-aaaaa", "c-8x", cpu="8")), pool=pool)
    made.run(60)

    assert made.kept() == {"default-aaaaa": reason}
    assert (made.tainted(), len(made.nodes())) == ([], 1)


@pytest.mark.parametrize(
    ("policy", "count"),
    [("WhenEmpty", 2), ("WhenEmptyOrUnderutilized", 1), ("Balanced", 1)],
)
def test_the_policy_says_who_may_be_consolidated(policy: str, count: int) -> None:
    made = world(*half_full(), pool=build.node_pool(consolidation_policy=policy))
    made.run(240)

    assert len(made.nodes()) == count


def spot(*names: str, kind: str) -> list[Object]:
    found: list[Object] = []
    for name in names:
        found += running(name, kind, cpu="8", capacity_type="spot")
    return found


@pytest.mark.parametrize(
    ("gate", "sizes", "becomes"),
    [
        pytest.param("false", 20, "c-8x", id="the gate is off"),
        pytest.param("true", 4, "c-8x", id="too few cheaper types"),
        pytest.param("true", 20, "c-1x", id="enough cheaper types"),
    ],
)
def test_spot_gives_way_to_spot_only_by_the_gate_and_with_width(
    gate: str, sizes: int, becomes: str
) -> None:
    kinds = [*build.family(capacity_types=("spot",), sizes=(1, 8))]
    kinds += [
        build.instance_type(f"d-{i:02d}", price=0.06 + i / 1000, capacity_types=("spot",))
        for i in range(sizes)
    ]
    pod = build.pod("one", node="node-default-aaaaa")
    made = world(
        *spot("default-aaaaa", kind="c-8x"),
        pod,
        types=kinds,
        extra={"SpotToSpotConsolidation": gate},
    )
    made.run(240)

    assert list(made.nodes().values()) == [becomes]


def drifting(count: int) -> list[Object]:
    """Nodes of a template that has changed, each filled by one pod."""
    found: list[Object] = []
    for number in range(count):
        name = f"default-{number:05d}"
        old = {labels.NODEPOOL_HASH: "1", labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION}
        found += running(name, annotations=old)
        found.append(build.pod(f"pod-{number}", cpu="4", node=f"node-{name}"))
    return found


def test_drifted_nodes_are_replaced_one_then_a_tenth_then_the_rest() -> None:
    made = world(*drifting(12))
    most_at: list[tuple[int, int]] = []
    for second in range(400):
        made.run(1)
        old = [c for c in made.all(NodeClaim) if c.meta.annotations[labels.NODEPOOL_HASH] == "1"]
        most_at.append((second, 12 - sum(1 for c in old if c.meta.deleted is None)))

    assert max(gone for second, gone in most_at if second < 80) == 1
    assert max(gone for second, gone in most_at if second < 150) <= 3
    made.run(400)
    settled(made)
    assert all(c.meta.annotations[labels.NODEPOOL_HASH] != "1" for c in made.all(NodeClaim))


@pytest.mark.parametrize(("limits", "most"), [(None, 4), ({"nodes": "3"}, 3)])
def test_nodes_of_a_static_pool_are_replaced_one_at_a_time_when_there_is_room_for_one_more(
    limits: dict[str, str] | None, most: int
) -> None:
    pool = build.node_pool(replicas=3, limits=limits)
    made = world(*drifting(3), pool=pool, extra={"StaticCapacity": "true"})
    seen: list[int] = []
    for _ in range(400):
        made.run(1)
        seen.append(sum(1 for c in made.all(NodeClaim) if c.meta.deleted is None))

    old = [c for c in made.all(NodeClaim) if c.meta.annotations[labels.NODEPOOL_HASH] == "1"]
    assert (max(seen), min(seen)) == (most, 3)
    assert len(old) == (0 if most > 3 else 3)
    assert made.tainted() == []


def test_a_rollout_whose_new_nodes_do_not_come_up_stops_and_takes_nobody_with_it() -> None:
    made = world(*drifting(5), boot=100_000, registration_ttl=timedelta(hours=1))
    made.run(12 * 60, step=5)

    assert made.evicted == 0
    assert {made.kept()[f"default-{n:05d}"] for n in range(1, 5)} == {"DriftStopped"}


def test_a_pool_that_cannot_replace_its_nodes_holds_up_no_other() -> None:
    stuck = build.node_pool("stuck", limits={"nodes": "1"})
    old = {labels.NODEPOOL_HASH: "1", labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION}
    claim = build.node_claim("stuck-aaaaa", pool="stuck", annotations=old)
    held = build.pod(
        "held", cpu="4", node="node-stuck-aaaaa", node_selector={labels.NODEPOOL: "stuck"}
    )
    made = world(stuck, claim, build.node(claim=claim), held, *drifting(1))
    made.run(240)

    assert made.kept()["stuck-aaaaa"] == "NoPlace"
    assert not [c for c in made.all(NodeClaim) if c.meta.name == "default-00000"]


def test_pools_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daiku.disruption.consolidation.TRIALS_MOST", 2)
    mine = {labels.NODEPOOL: "default"}
    many = [
        thing
        for n in range(5)
        for thing in (
            *running(f"default-{n:05d}"),
            build.pod(f"p{n}", cpu="4", node=f"node-default-{n:05d}", node_selector=mine),
        )
    ]
    claim = build.node_claim(
        "other-aaaaa", pool="other", instance_type="c-8x", cpu="8", memory="16Gi"
    )
    pool = build.node_pool("other")
    pod = build.pod("small", node="node-other-aaaaa", node_selector={labels.NODEPOOL: "other"})
    made = world(*many, pool, claim, build.node(claim=claim), pod)
    made.run(3)

    assert [p.claims for p in made.last.report.proposals] == [("other-aaaaa",)]
