"""Spot nodes and their repacks: what the gate forbids is not planned, takes no budget, and hides nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world
from tests.unit.daiku.test_repack_moves import OLD, settled

from daiku.disruption import candidates, evaluation, global_consolidation
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.context import DisruptionContext, propose
from daiku.disruption.evaluation import GATE
from daiku.disruption.global_consolidation import Repack
from daiku.disruption.sequencing import Step
from daiku.events import Object
from daiku.forecast import forecast
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.nodepool import NodePool
from daiku.scheduling import whatif
from daiku.settings import Settings

TYPES = build.family(capacity_types=("spot", "on-demand"))


def pool_of(*capacity_types: str, nodes: str = "100%") -> NodePool:
    made = build.node_pool(budgets=[Budget(nodes=nodes)])
    wanted = build.needs(build.require(labels.CAPACITY_TYPE, "In", *capacity_types))
    return replace(made, template=replace(made.template, requirements=wanted))


def nodes(capacity_type: str, *cpus: str, first: int = 0) -> list[Object]:
    """Nodes of eight cores, each with one pod that asks for so much."""
    return [
        each
        for n, cpu in enumerate(cpus, start=first)
        for each in (
            *running(f"default-{n:05d}", "c-8x", cpu="8", capacity_type=capacity_type),
            replace(build.pod(f"web-{n}", cpu=cpu, node=f"node-default-{n:05d}"), scheduled=OLD),
        )
    ]


def spot_world(*cpus: str, gate: str = "false", budget: str = "100%") -> Moving:
    return world(
        *nodes("spot", *cpus),
        pool=pool_of("spot", nodes=budget),
        types=TYPES,
        extra={GATE: gate},
    )


def reasons(made: Moving, seconds: int) -> set[str]:
    """Why nodes were kept at one time or another."""
    found: set[str] = set()
    for _ in range(seconds):
        made.run(1)
        found |= set(made.kept().values())
    return found


@pytest.mark.parametrize("budget", ["100%", "1"])
def test_two_spot_nodes_of_six_percent_become_one_though_the_gate_forbids_a_cheaper_one(
    budget: str,
) -> None:
    made = spot_world("500m", "500m", budget=budget)

    told = reasons(made, 300)

    settled(made)
    assert list(made.nodes().values()) == ["c-8x"]
    assert "Budget" not in told or budget == "1"
    assert made.kept() == {name.removeprefix("node-"): "Unconsolidatable" for name in made.nodes()}


def test_many_spot_nodes_become_as_few_as_their_pods_need_in_one_repack() -> None:
    made = spot_world(*["500m"] * 20)

    made.run(16)
    assert {each.method for each in made.last.report.proposals} <= {"repack"}
    made.run(280)

    settled(made)
    assert list(made.nodes().values()) == ["c-8x"] * 2
    assert made.evicted <= 20


@pytest.mark.parametrize("gate", ["false", "true"])
def test_a_spot_node_that_may_not_be_replaced_says_so_and_not_that_a_budget_keeps_it(
    gate: str,
) -> None:
    """With the gate on one node alone needs more types than this family has; two of them may become one."""
    cpus = ["7", "7"] if gate == "false" else ["500m"]
    made = spot_world(*cpus, gate=gate)

    assert "Budget" not in reasons(made, 60)

    told = {k.message for k in made.last.report.kept if k.reason == "Unconsolidatable"}
    assert len(made.nodes()) == len(cpus)
    assert told
    if gate == "true":
        assert any(GATE in each for each in told), told


def searched(gate: str, *objects: Object, pool: NodePool) -> Repack:
    settings = Settings(extra={GATE: gate})
    catalogue = build.catalogue(*TYPES)
    every = [*objects, pool, build.node_class()]
    snapshot = build.cluster(*every, catalogue_of=catalogue).snapshot(build.NOW)
    there = whatif.prepare(snapshot, catalogue, settings, {})
    found, _ = candidates.find(snapshot, {}, {}, build.NOW)
    return global_consolidation.search(
        there, global_consolidation.movable(found, there, snapshot, None)
    )


def launched(found: Repack) -> Sequence[tuple[str, ...]]:
    return [node.capacity_types for step in found.steps for node in step.launched]


def test_a_search_promises_no_new_spot_node_for_spot_nodes_when_the_gate_is_off() -> None:
    there, pool = nodes("spot", *["4500m"] * 6), pool_of("spot")

    assert launched(searched("true", *there, pool=pool))
    found = searched("false", *there, pool=pool)

    assert found.steps == ()
    assert found.figures.usd_per_hour_after == found.figures.usd_per_hour_before


def test_a_search_finds_the_removals_that_need_no_new_node_when_the_gate_is_off() -> None:
    found = searched("false", *nodes("spot", *["500m"] * 6), pool=pool_of("spot"))

    assert sum(len(step.gone) for step in found.steps) == 5
    assert launched(found) == []


def test_a_search_promises_no_replacement_of_one_spot_node_with_too_few_cheaper_types() -> None:
    found = searched("true", *nodes("spot", "500m"), pool=pool_of("spot"))

    assert found.steps == ()


def test_on_demand_nodes_are_replaced_with_spot_beside_spot_nodes_that_only_go() -> None:
    there = [*nodes("on-demand", *["4500m"] * 4), *nodes("spot", *["500m"] * 3, first=4)]

    found = searched("false", *there, pool=pool_of("spot", "on-demand"))

    for step in found.steps:
        on_demand = any(int(name.rsplit("-")[-1]) < 4 for name in step.gone)
        assert on_demand or not step.launched
    assert found.figures.usd_per_hour_after < 0.5 * found.figures.usd_per_hour_before


def refused_and_right() -> tuple[DisruptionContext, list[Candidate], tuple[Step, ...]]:
    """Spot nodes; a step that the gate forbids for three of them comes before one that needs no new node."""
    there = [*nodes("spot", *["4500m"] * 3, "500m"), pool_of("spot"), build.node_class()]
    catalogue = build.catalogue(*TYPES)
    snapshot = build.cluster(*there, catalogue_of=catalogue).snapshot(
        build.NOW + timedelta(hours=1)
    )
    context = DisruptionContext(
        snapshot=snapshot,
        catalogue=catalogue,
        settings=Settings(),
        placements={},
        moves=(),
        now=snapshot.at,
    )
    found, _ = candidates.find(snapshot, {}, {}, context.now)
    (forbidden,) = searched("true", *there[:9], pool=pool_of("spot")).steps
    assert (len(forbidden.gone), len(forbidden.launched)) == (3, 1)
    right = replace(forbidden, gone=("node-default-00003",), launched=(), saved_usd_per_hour=0.1)
    return context, found, (forbidden, right)


def test_a_step_that_is_refused_leaves_the_budget_to_those_after_it_and_to_other_methods() -> None:
    context, found, steps = refused_and_right()
    members = [[c for c in found if c.state_node.name in step.gone] for step in steps]
    begins = [
        (propose(going, context, reason="Underutilized", method="repack", new_nodes=()), going)
        for going in members
    ]
    left = Allowance({"default": 3})

    admitted, refused = evaluation.admit(begins, context, left)

    assert [proposal.claims for proposal in admitted] == [("default-00003",)]
    assert GATE in refused[begins[0][0].id]
    assert left == Allowance({"default": 2})


def test_what_has_rested_and_is_refused_leaves_the_budget_to_what_comes_after_it() -> None:
    made = spot_world("7600m", "7", "500m", budget="1")
    made.run(1)
    (right,) = made.last.report.proposals
    assert right.claims == ("default-00002",)
    wrong = replace(right, id="before", claims=("default-00000",))
    made.cluster.planned(replace(made.last.report, proposals=(wrong, right)), made.now)

    made.run(16)

    assert made.told("default-00002") is not None
    assert made.told("default-00000") is None


def test_a_search_promises_nothing_that_a_balanced_node_pool_refuses() -> None:
    """Six nodes in one of two thirds of their price: a third is saved, and every pod moves."""
    pool = pool_of("on-demand")
    steps: list[int] = []
    for policy in ("WhenEmptyOrUnderutilized", "Balanced"):
        mine = replace(pool, consolidation_policy=policy)
        made = world(*nodes("on-demand", *["4500m"] * 6), pool=mine, types=TYPES)
        made.step()
        found = made.last.report.looks["consolidation"].repacked
        assert found is not None
        steps.append(found.steps)

    assert steps == [1, 0]
    told = forecast(
        list(made.objects.values()), build.catalogue(*TYPES), Settings(), repacked=True
    ).repack
    assert told is not None
    assert told.steps == ()
