"""Repacking at work: several nodes make place for fewer, step by step, and the cluster is whole after each."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.disruption import disruption_commands, eviction_cost
from daiku.disruption.context import DisruptionContext
from daiku.disruption.evaluation import Evaluator
from daiku.events import Object
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

OLD = build.NOW - timedelta(hours=2)


def half_empty(count: int, cpu: str = "4500m") -> list[Object]:
    """Nodes of eight cores, each with one pod that leaves no room for another."""
    return [
        each
        for n in range(count)
        for each in (
            *running(f"default-{n:05d}", "c-8x", cpu="8"),
            replace(build.pod(f"web-{n}", cpu=cpu, node=f"node-default-{n:05d}"), scheduled=OLD),
        )
    ]


def proposed(made: Moving) -> set[str]:
    """By which methods moves are about to begin, or under way."""
    written = (disruption_commands.read(claim) for claim in made.all(NodeClaim))
    resting = {each.method for each in made.last.report.proposals}
    return resting | {each.method for each in written if each is not None}


def settled(made: Moving) -> None:
    assert made.tainted() == []
    assert all(p.node_name for p in made.all(Pod))
    assert len(made.all(Node)) == len(made.all(NodeClaim)) == len(made.instances)


def allows(nodes: str) -> NodePool:
    return build.node_pool(budgets=[Budget(nodes=nodes)])


def watched(made: Moving, seconds: int) -> list[float]:
    """Run, and look at each second that no evicted pod is without a place; what the nodes cost at each."""
    prices: list[float] = []
    for _ in range(seconds):
        made.run(1)
        assert all(pod.node_name for pod in made.all(Pod))
        prices.append(round(made.price(), 9))
    return prices


def test_six_nodes_become_one_and_each_pod_has_a_place_before_it_is_asked_to_leave() -> None:
    made = world(*half_empty(6), pool=allows("100%"))
    made.run(2)
    before = made.price()
    assert proposed(made) == {"repack"}

    watched(made, 240)

    settled(made)
    assert len(made.nodes()) == 1
    assert made.evicted == 6
    assert made.price() < before


def test_what_budgets_do_not_let_go_at_once_goes_in_smaller_parts() -> None:
    made = world(*half_empty(6), pool=allows("3"))
    made.run(2)
    (first,) = made.last.report.proposals
    assert (first.method, len(first.claims), first.new_nodes) == ("repack", 3, 1)

    prices = watched(made, 600)

    settled(made)
    assert sorted(made.nodes().values()) == ["c-16x", "c-16x"]
    assert made.evicted == 6
    # Dearer only while both the old nodes and their replacement are there.
    assert prices[-1] == min(prices)


def thin(count: int) -> list[Object]:
    """Nodes of eight cores with one small pod each, and one that has room for all of them."""
    full = replace(build.pod("big", cpu="23", node="node-default-big"), scheduled=OLD)
    return [
        *running("default-big", "c-32x", cpu="32"),
        full,
        *half_empty(count, cpu="1"),
    ]


def test_many_nodes_go_at_once_when_their_pods_fit_on_others() -> None:
    made = world(*thin(8), pool=allows("100%"))
    made.run(16)
    assert len(made.tainted()) == 0
    made.run(4)

    ends = [line for line in made.log if line.startswith("DeleteNodeClaim")]
    assert len(ends) == 8
    assert not [line for line in made.log if line.startswith("CreateNodeClaim")]
    watched(made, 120)
    settled(made)


def one_with_room(
    pool: NodePool, *, others: int, came: datetime = OLD
) -> tuple[Evaluator, Snapshot]:
    """Each of the others could be emptied into the room of one node, to which a pod came at `came`, and not two."""
    there = [
        *running("default-host", "c-4x", cpu="4"),
        replace(build.pod("host", cpu="2", node="node-default-host"), scheduled=came),
        *half_empty(others, cpu="2"),
    ]
    snapshot = world(*there, pool=pool).cluster.snapshot(build.NOW + timedelta(minutes=15))
    context = DisruptionContext(
        snapshot=snapshot,
        catalogue=build.catalogue(),
        settings=Settings(),
        placements={},
        moves=(),
        now=snapshot.at,
    )
    return Evaluator(context), snapshot


def test_a_step_that_does_not_pay_back_is_refused() -> None:
    together, snapshot = one_with_room(annotated(**{eviction_cost.HORIZON: "1s"}), others=2)

    found = together.evaluate((snapshot.by_name["default-00000"],), "repack")

    assert "over the payback horizon" in str(found.refusal)


def test_nobody_is_moved_onto_a_node_that_is_to_be_left_in_peace() -> None:
    pool = with_policy(consolidate_after=timedelta(minutes=5))
    quiet, snapshot = one_with_room(pool, others=1)
    busy, same = one_with_room(pool, others=1, came=build.NOW + timedelta(minutes=14))

    onto_it = quiet.evaluate((snapshot.by_name["default-00000"],), "repack")
    elsewhere = busy.evaluate((same.by_name["default-00000"],), "repack")

    assert onto_it.new_nodes == ()
    assert len(elsewhere.new_nodes) == 1


def test_steps_that_begin_together_do_not_count_on_the_same_room() -> None:
    together, snapshot = one_with_room(allows("100%"), others=2)
    one, two = (snapshot.by_name[f"default-{n:05d}"] for n in range(2))
    first = together.evaluate((one,), "repack")
    alone = together.evaluate((two,), "repack")
    together.take((one,), first)

    beside = together.evaluate((two,), "repack")

    assert (first.new_nodes, alone.new_nodes) == ((), ())
    assert len(beside.new_nodes) == 1
    assert beside.saves_usd_per_hour < alone.saves_usd_per_hour


def test_a_cluster_with_nothing_to_gain_is_not_searched_again_and_nobody_is_evicted() -> None:
    made = world(*half_empty(6), pool=allows("100%"))
    made.run(300)
    seen, evicted = made.last.report.looks, made.evicted

    for _ in range(30):
        made.run(1)
        assert made.last.report.looks == {}
    assert seen == {}
    assert made.evicted == evicted


@pytest.mark.parametrize("after", range(0, 60, 4))
def test_a_new_leader_finishes_a_repack_or_leaves_it(after: int) -> None:
    made = world(*half_empty(6), pool=allows("100%"))
    made.run(after)
    made.step(crash_after=after % 3)
    made.run(300)

    settled(made)
    assert made.price() < 6 * 0.384


def test_a_replacement_that_never_comes_up_costs_nobody_his_place() -> None:
    made = world(
        *half_empty(6), pool=allows("100%"), boot=100_000, registration_ttl=timedelta(hours=1)
    )
    made.run(11 * 60, step=5)

    assert made.evicted == 0
    assert made.tainted() == []
    assert {made.kept()[f"default-{n:05d}"] for n in range(6)} == {"LetOff"}


def test_a_node_that_dies_in_the_middle_of_a_repack_does_not_stop_the_cluster_from_settling() -> (
    None
):
    made = world(*half_empty(6), pool=allows("100%"), boot=30)
    made.run(30)
    made.delete(NodeClaim, "default-00003")
    made.run(600)

    settled(made)
    assert made.price() < 6 * 0.384


def test_a_budget_that_closes_in_the_middle_of_a_repack_calls_it_off() -> None:
    made = world(*half_empty(6), pool=allows("100%"), boot=60)
    made.run(40)
    assert len(made.tainted()) == 6
    made.put(allows("0"))
    made.run(60)

    assert made.evicted == 0
    assert made.tainted() == []
    told = made.told("default-00000")
    assert told is not None
    assert told.reason == "Budget"


def with_policy(**fields: Any) -> NodePool:
    return build.node_pool(budgets=[Budget(nodes="100%")], **fields)


def annotated(**annotations: str) -> NodePool:
    pool = allows("100%")
    return replace(pool, meta=replace(pool.meta, annotations=annotations))


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(with_policy(consolidation_policy="WhenEmpty"), id="WhenEmpty"),
        pytest.param(with_policy(consolidate_after=None), id="Never"),
        pytest.param(with_policy(consolidate_after=timedelta(hours=3)), id="too young"),
        pytest.param(annotated(**{labels.DISRUPTION_MODE: "paused"}), id="paused"),
        pytest.param(annotated(**{labels.DISRUPTION_MODE: "dry-run"}), id="dry run"),
        pytest.param(annotated(**{eviction_cost.HORIZON: "1s"}), id="not paid back"),
    ],
)
def test_a_pool_that_is_not_to_be_repacked_is_not(pool: NodePool) -> None:
    made = world(*half_empty(6), pool=pool)
    made.run(60)

    assert made.tainted() == []
    assert made.last.report.proposals == ()


def test_a_pod_that_objects_keeps_its_node_and_the_others_go() -> None:
    there = half_empty(6)
    keep = {labels.DO_NOT_DISRUPT: "true"}
    for number in (2, 4):
        pod = there[number * 3 + 2]
        there[number * 3 + 2] = replace(pod, meta=replace(pod.meta, annotations=keep))
    made = world(*there, pool=allows("100%"))
    made.run(300)

    assert {"node-default-00002", "node-default-00004"} <= made.nodes().keys()
    assert sorted(made.nodes().values()) == ["c-16x", "c-8x", "c-8x", "c-8x"]
    assert made.evicted == 3


def test_pods_of_one_budget_leave_only_as_it_allows() -> None:
    there = [
        replace(each, meta=replace(each.meta, labels={"app": "web"}))
        if isinstance(each, Pod)
        else each
        for each in half_empty(6)
    ]
    made = world(*there, build.pdb(match={"app": "web"}, allowed=0), pool=allows("100%"))
    made.run(60)

    assert made.tainted() == []
    assert set(made.kept().values()) == {"PodDisruptionBudget"}


def test_what_all_nodes_could_become_is_in_the_report() -> None:
    made = world(*half_empty(6), pool=allows("100%"))
    made.step()

    found = made.last.report.looks["consolidation"].repacked
    assert found is not None
    assert (found.considered, found.gone, found.made, found.moved) == (6, 6, 1, 6)
    assert found.usd_per_hour_before == pytest.approx(6 * 0.384)
    assert found.lower_bound_usd_per_hour <= found.usd_per_hour_after < found.usd_per_hour_before


@pytest.mark.parametrize("gate", ["true", "false"])
def test_spot_nodes_are_repacked_into_spot_nodes_only_by_the_gate(gate: str) -> None:
    spot = replace(
        allows("100%"),
        template=replace(
            allows("100%").template,
            requirements=build.needs(build.require(labels.CAPACITY_TYPE, "In", "spot")),
        ),
    )
    there = [
        each
        for n in range(6)
        for each in (
            *running(f"default-{n:05d}", "c-8x", cpu="8", capacity_type="spot"),
            replace(
                build.pod(f"web-{n}", cpu="4500m", node=f"node-default-{n:05d}"), scheduled=OLD
            ),
        )
    ]
    made = world(
        *there,
        pool=spot,
        types=build.family(capacity_types=("spot", "on-demand")),
        extra={"SpotToSpotConsolidation": gate},
    )
    made.run(240)

    assert len(made.nodes()) == (1 if gate == "true" else 6)
