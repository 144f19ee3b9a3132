"""The time box: a search that is cut short answers with what is best by then, and that is as legal as any answer."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import build
from tests.performance import bench_solve, measured

from daiku.model.pod import Pod
from daiku.scheduling import problem, solver, whatif
from daiku.scheduling.solution import Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

FEW = settings(deadline=None, max_examples=20, derandomize=True)
CATALOGUE = build.catalogue(*bench_solve.instance_types())


def stop_after(asks: int) -> Callable[[], bool]:
    """Say stop when asked for the `asks`-th time."""
    left = iter(range(asks))
    return lambda: next(left, None) is None


def world(pods: list[Pod]) -> Snapshot:
    objects = (*pods, build.node_pool(), build.node_class())
    return build.cluster(*objects, catalogue_of=CATALOGUE).snapshot(build.NOW)


def solved(pods: list[Pod], snapshot: Snapshot, stop: Callable[[], bool] | None) -> Solution:
    return solver.solve(problem.build(pods, snapshot, CATALOGUE), stop=stop)


@FEW
@given(st.integers(0, 120), st.integers(1, 50), st.booleans())
def test_a_plan_is_legal_and_complete_however_early_its_search_ends(
    asks: int, seed: int, mixed: bool
) -> None:
    pods = bench_solve.deployments(200, seed, mixed=mixed)
    snapshot = world(pods)

    answer = solved(pods, snapshot, stop_after(asks))

    assert measured.objections(answer, snapshot, CATALOGUE) == 0
    assert not answer.unschedulable
    assert answer.usd_per_hour >= answer.lower_bound_usd_per_hour - 1e-6


def test_a_box_that_never_ends_changes_nothing_and_one_that_has_ended_costs_a_little() -> None:
    pods = bench_solve.deployments(400, 1, mixed=True)
    snapshot = world(pods)

    free, boxed = solved(pods, snapshot, None), solved(pods, snapshot, lambda: False)
    hasty = solved(pods, snapshot, lambda: True)

    assert boxed == free
    assert free.usd_per_hour < hasty.usd_per_hour < 1.15 * free.usd_per_hour


def test_a_what_if_is_boxed_too() -> None:
    claim = build.node_claim("default-0", cpu="96", memory="700Gi", instance_type="r5.96")
    node = build.node(claim=claim)
    bound = [
        replace(pod, node_name=node.meta.name)
        for pod in bench_solve.deployments(120, 1, mixed=False)
    ]
    objects = (*bound, node, claim, build.node_pool(), build.node_class())
    snapshot = build.cluster(*objects, catalogue_of=CATALOGUE).snapshot(build.NOW)
    asked: list[None] = []

    def stop() -> bool:
        asked.append(None)
        return True

    boxed = whatif.prepare(snapshot, CATALOGUE, Settings(), {}, stop=stop)

    assert boxed.without(frozenset({node.meta.name})).refusal is None
    assert asked
