"""Repacking random clusters: whatever the way there, it only ever gets cheaper, and nobody is left behind."""

from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests import build

from daiku.disruption import candidates, eviction_cost, global_consolidation, removal_search
from daiku.disruption.global_consolidation import Repack
from daiku.events import Object
from daiku.model import resources
from daiku.model.pod import Pod
from daiku.scheduling import problem, solver, whatif
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

SEARCH = settings(deadline=None, max_examples=40, derandomize=True, phases=[Phase.generate])
TYPES = {
    t.name: t
    for t in (
        build.instance_type("small", cpu="2", memory="4Gi", price=0.10),
        build.instance_type("medium", cpu="4", memory="16Gi", price=0.25),
        build.instance_type("large", cpu="8", memory="16Gi", price=0.38),
    )
}
CATALOGUE = build.catalogue(*TYPES.values())
CHEAPEST = 0.10
LATER = build.NOW + timedelta(hours=1)
PODS = {"tiny": ("250m", "512Mi"), "lean": ("1", "512Mi"), "fat": ("500m", "3Gi")}


@dataclass(frozen=True)
class World:
    """Nodes, each with its type and its pods."""

    nodes: list[tuple[str, list[str]]]
    horizon: str

    def objects(self) -> tuple[list[Object], list[Pod]]:
        machines: list[Object] = []
        pods: list[Pod] = []
        for number, (kind, shapes) in enumerate(self.nodes):
            claim = build.node_claim(f"n{number}", instance_type=kind)
            of = TYPES[kind]
            claim = replace(claim, capacity=of.capacity, allocatable=of.allocatable)
            machines += [claim, build.node(claim=claim)]
            room = dict(of.allocatable)
            for i, shape in enumerate(shapes):
                cpu, memory = PODS[shape]
                pod = build.pod(
                    f"{shape}-{number}-{i}", cpu=cpu, memory=memory, node=f"node-n{number}"
                )
                if resources.fits(pod.requests, room):
                    room = resources.subtract(room, pod.requests)
                    pods.append(pod)
        return machines, pods

    def snapshot(self) -> Snapshot:
        machines, pods = self.objects()
        pool = build.node_pool()
        pool = replace(
            pool, meta=replace(pool.meta, annotations={eviction_cost.HORIZON: self.horizon})
        )
        every = [*machines, *pods, pool, build.node_class()]
        return build.cluster(*every, catalogue_of=CATALOGUE).snapshot(LATER)

    def repacked(self) -> Repack:
        snapshot = self.snapshot()
        world = whatif.prepare(snapshot, CATALOGUE, Settings(), {})
        found, _ = candidates.find(snapshot, {}, {}, LATER)
        return global_consolidation.search(
            world, global_consolidation.movable(found, world, snapshot, LATER)
        )


WORLDS = st.builds(
    World,
    nodes=st.lists(
        st.tuples(
            st.sampled_from(sorted(TYPES)), st.lists(st.sampled_from(sorted(PODS)), max_size=4)
        ),
        min_size=1,
        max_size=8,
    ),
    horizon=st.sampled_from(["0", "1h", "5m"]),
)


@SEARCH
@given(WORLDS)
def test_the_price_falls_strictly_with_every_step_and_by_more_than_the_moves_cost(
    world: World,
) -> None:
    found = world.repacked()

    assert all(s.saved_usd_per_hour > max(s.moving_usd_per_hour, 0.0) for s in found.steps)
    assert found.figures.usd_per_hour_after <= found.figures.usd_per_hour_before
    assert found.figures.usd_per_hour_after >= found.figures.lower_bound_usd_per_hour - 1e-9


@SEARCH
@given(WORLDS, st.data())
def test_a_set_is_weighed_as_its_pods_would_land_in_several_orders(
    world: World, data: st.DataObject
) -> None:
    snapshot = world.snapshot()
    asked = whatif.prepare(snapshot, CATALOGUE, Settings(), {})
    found, _ = candidates.find(snapshot, {}, {}, LATER)
    movable = global_consolidation.movable(found, asked, snapshot, LATER)
    goes = data.draw(st.lists(st.booleans(), min_size=len(movable), max_size=len(movable)))
    gone = np.array(goes, dtype=np.bool_)

    question = removal_search.question(asked, movable)

    names = frozenset(m.name for m, leaves in zip(movable, goes, strict=True) if leaves)
    moved = asked.counts_of(pod for name in sorted(names) for pod in asked.pods_on(name))
    there = asked.takers(frozenset())
    stays_of = np.array([[name not in names for name in there]], dtype=np.bool_)
    landing, rests = asked.landing(there), list[float]()
    for order in question.orders:
        assert sorted(order) == list(range(len(moved)))
        (left_over,) = replace(landing, order=order).left_over(moved[None], stays_of)
        worth = 1.01 * float(asked.bound().worth @ (asked.whole.requests @ left_over))
        # The smallest node takes any of the pods, and nothing is cheaper.
        rests.append(max(worth, CHEAPEST) if left_over.any() else 0.0)
    stays = sum(m.usd_per_hour for m in movable if m.name not in names)
    moves = sum(m.moving_usd_per_hour for m in movable if m.name in names)
    left = question.friction * sum(rests) / len(rests)
    assert question.weighed(gone) == pytest.approx(stays + moves + left)


@SEARCH
@given(WORLDS)
def test_exactly_the_pods_of_nodes_that_go_move_and_each_once(world: World) -> None:
    found = world.repacked()

    _, pods = world.objects()
    gone = [name for step in found.steps for name in step.gone]
    moved = sorted(pod for step in found.steps for pod in step.moves)
    assert len(gone) == len({*gone})
    assert moved == sorted(p.meta.key for p in pods if p.node_name in gone)


@SEARCH
@given(WORLDS)
def test_after_each_step_every_pod_that_moved_has_room(world: World) -> None:
    found = world.repacked()

    machines, pods = world.objects()
    gone: dict[str, None] = {}
    hosted: dict[str, None] = {}
    for step in found.steps:
        gone |= dict.fromkeys(step.gone)
        for node in step.launched:
            hosted |= dict.fromkeys(node.pods)
            room = TYPES[node.types[0].name].allocatable
            held = [p for p in pods if p.meta.key in node.pods]
            assert all(sum(p.requests[r] for p in held) <= room[r] for r in ("cpu", "memory"))
        waiting = [
            replace(p, node_name="", unschedulable=True, phase="Pending")
            for p in pods
            if p.node_name in gone and p.meta.key not in hosted
        ]
        staying = [p for p in pods if p.node_name not in gone]
        left = [m for m in machines if m.meta.name.removeprefix("node-") not in _claims(gone)]
        every = [*left, *staying, *waiting, build.node_pool(), build.node_class()]
        snapshot = build.cluster(*every, catalogue_of=CATALOGUE).snapshot(LATER)
        solved = solver.solve(problem.build(waiting, snapshot, CATALOGUE), grow=False)
        assert solved.unschedulable == ()


def _claims(names: dict[str, None]) -> list[str]:
    return [name.removeprefix("node-") for name in names]
