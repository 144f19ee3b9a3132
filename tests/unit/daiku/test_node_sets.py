"""Equal nodes are bought where a tight packing would leave pods without room once kube-scheduler levels nodes."""

from dataclasses import replace

import numpy as np
import pytest
from tests import build
from tests.performance import bench_solve, measured

from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.scheduling import node_sets, problem, solver
from daiku.scheduling.problem import Problem
from daiku.scheduling.solution import Solution

TYPES = build.catalogue(*bench_solve.instance_types())


def asked(
    pods: list[Pod], pool: NodePool | None = None, *objects: object
) -> tuple[Problem, Solution]:
    """The problem of these pods on real types, and its tightest packing."""
    cluster = build.cluster(
        *pods, pool or build.node_pool(), build.node_class(), *objects, catalogue_of=TYPES
    )
    found = problem.build(pods, cluster.snapshot(build.NOW), TYPES)
    return found, solver.solve(found)


def mix(seed: int = 7, pods: int = 800) -> list[Pod]:
    return bench_solve.deployments(pods, seed, mixed=False)


@pytest.mark.parametrize("seed", [1, 3, 7])
def test_the_set_that_is_chosen_never_costs_more_in_the_end(seed: int) -> None:
    wanted, packed = asked(mix(seed))
    counts = node_sets._counts(wanted, packed)

    chosen = node_sets.cheapest(wanted, packed)

    worth = np.full(len(wanted.resources), 1e-12)
    left = node_sets._cost(wanted, chosen, counts, 0, worth @ wanted.requests) - chosen.usd_per_hour
    assert chosen is packed or left == pytest.approx(0), "all pods land on equal nodes"


def test_equal_nodes_hold_every_pod_and_break_no_rule() -> None:
    pods = mix(3, 2000)
    wanted, packed = asked(pods)

    chosen = node_sets.cheapest(wanted, packed)

    assert chosen is not packed
    assert len({node.types[0].name for node in chosen.new_nodes}) == 1
    assert len(chosen.new_nodes) < len(packed.new_nodes)
    assert sorted(p for n in chosen.new_nodes for p in n.pods) == sorted(p.meta.key for p in pods)
    assert chosen.lower_bound_usd_per_hour == packed.lower_bound_usd_per_hour
    cluster = build.cluster(*pods, build.node_pool(), build.node_class(), catalogue_of=TYPES)
    assert measured.objections(chosen, cluster.snapshot(build.NOW), TYPES) == 0


def test_room_that_is_there_is_filled_first() -> None:
    pods = mix(3, 2000)
    there = [build.node(f"n{i}", cpu="90", memory="360Gi") for i in range(4)]
    wanted, packed = asked(pods, None, *there)

    chosen = node_sets.cheapest(wanted, packed)

    placed = {*chosen.placements, *(p for n in chosen.new_nodes for p in n.pods)}
    assert placed == {pod.meta.key for pod in pods}
    assert {*chosen.placements.values()} == {node.meta.name for node in there}


@pytest.mark.parametrize(
    ("pods", "pool"),
    [
        pytest.param(mix(3, 40), None, id="few nodes"),
        pytest.param(mix(3), build.node_pool(limits={"cpu": "100000"}), id="a limit"),
        pytest.param(bench_solve.deployments(800, 3, mixed=True), None, id="constraints"),
    ],
)
def test_a_packing_stays_where_equal_nodes_are_no_choice(
    pods: list[Pod], pool: NodePool | None
) -> None:
    wanted, packed = asked(pods, pool)

    assert node_sets.cheapest(wanted, packed) is packed


def test_a_packing_whose_pods_all_land_stays() -> None:
    pods = build.pods(300, "web", cpu="1900m", memory="7Gi")
    wanted, packed = asked([replace(p, unschedulable=True) for p in pods])

    chosen = node_sets.cheapest(wanted, packed)

    assert chosen.usd_per_hour == pytest.approx(packed.usd_per_hour)
