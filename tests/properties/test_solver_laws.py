"""The solver against the audit, the obvious solver, and itself."""

import random
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import build, plans, strategies
from tests.reference import solver as reference

from daiku.model.instance_type import InstanceType
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.scheduling import problem, solver
from daiku.scheduling.solution import Solution
from daiku.state.snapshot import Snapshot

SEARCH = settings(deadline=None, max_examples=100, derandomize=True)


@dataclass(frozen=True)
class Case:
    """One small world."""

    pods: list[Pod]
    types: list[InstanceType]
    pools: list[NodePool]
    nodes: list[Node]
    daemons: bool

    def snapshot(self) -> Snapshot:
        agents = [build.daemon_set(cpu="100m", memory="64Mi")] if self.daemons else []
        objects = [*self.pods, *self.pools, *self.nodes, *agents, build.node_class()]
        return build.cluster(*objects, catalogue_of=build.catalogue(*self.types)).snapshot(
            build.NOW
        )

    def solve(self) -> Solution:
        return solver.solve(problem.build(self.pods, self.snapshot(), build.catalogue(*self.types)))


CASES = st.builds(
    Case,
    pods=strategies.pods(),
    types=strategies.instance_types(),
    pools=strategies.node_pools(),
    nodes=strategies.nodes(),
    daemons=st.booleans(),
)


@SEARCH
@given(CASES)
def test_every_pod_is_placed_or_has_a_blocker_never_both(case: Case) -> None:
    solved = case.solve()

    placed = [*solved.placements, *(p for n in solved.new_nodes for p in n.pods)]
    stuck = [p for u in solved.unschedulable for p in u.pods]
    assert sorted(placed + stuck) == sorted(p.meta.key for p in case.pods)
    assert all(str(b) for u in solved.unschedulable for b in u.blockers)
    assert all(u.blockers for u in solved.unschedulable)


@SEARCH
@given(CASES)
def test_the_audit_finds_nothing_to_object_to(case: Case) -> None:
    solved = case.solve()

    assert plans.objections(solved, case.snapshot(), case.types) == []


@SEARCH
@given(CASES)
def test_it_agrees_with_the_obvious_solver(case: Case) -> None:
    solved = case.solve()
    obvious = reference.solve(case.pods, case.snapshot(), build.catalogue(*case.types))

    assert dict(solved.placements) == obvious.placements
    assert {p for n in solved.new_nodes for p in n.pods} == obvious.growable
    assert {p for u in solved.unschedulable for p in u.pods} == obvious.stuck


@SEARCH
@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_what_comes_in_does_not_matter(case: Case, shuffler: random.Random) -> None:
    shuffled = replace(case, pods=case.pods[:], types=case.types[:], nodes=case.nodes[:])
    for each in (shuffled.pods, shuffled.types, shuffled.nodes):
        shuffler.shuffle(each)

    assert case.solve() == shuffled.solve()


@SEARCH
@given(CASES)
def test_new_nodes_never_cost_less_than_the_lower_bound(case: Case) -> None:
    solved = case.solve()

    assert solved.usd_per_hour >= solved.lower_bound_usd_per_hour * (1 - 1e-9)
