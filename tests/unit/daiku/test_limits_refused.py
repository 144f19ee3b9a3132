"""What a last look at limits refuses: pods are told the limit, what is used of it and what was asked."""

from dataclasses import replace
from typing import Any

import pytest
from tests import answers, build
from tests.build import NOW

from daiku.commands import Announce, CreateNodeClaim
from daiku.provisioning import plan
from daiku.scheduling import limits, solver
from daiku.scheduling.problem import Problem
from daiku.scheduling.solution import Solution
from daiku.settings import Settings

POOL = build.node_pool(limits={"cpu": "10", "memory": "100Gi"})
THERE = build.node_claim()
LATER = NOW + Settings().batch_max
SAYS = (
    "NodePool default: LimitExceeded: asks for a node that may have cpu 4; nodes that are there and those of this plan "
    "take 8 of the limit of 10"
)


def test_pods_of_a_refused_node_claim_get_the_limit_as_their_reason() -> None:
    new = build.node_claim("new", launched=False, registered=False, initialized=False)
    creations = [
        answers.creation(replace(new, meta=replace(new.meta, name=name)), f"default/{name}")
        for name in ("a", "b")
    ]
    objects = [POOL, build.node_class(), THERE, build.node(claim=THERE)]
    cluster = build.cluster(*objects)

    found = limits.divide(creations, cluster.snapshot(NOW), cluster.catalogue)

    assert found.within == (creations[0],)
    (refused,) = found.refused
    assert refused.pods == ("default/b",)
    assert [str(blocker) for blocker in refused.blockers] == [SAYS]
    assert limits.within(creations, cluster.snapshot(NOW), cluster.catalogue) == found.within


def test_a_plan_leaves_no_pod_of_a_refused_node_claim_without_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solve = solver.solve

    def overlooking(problem: Problem, **fields: Any) -> Solution:
        """A solver that makes what limits do not allow."""
        templates = tuple(replace(t, left=t.left + 2**40) for t in problem.templates)
        return solve(replace(problem, templates=templates), **fields)

    monkeypatch.setattr(solver, "solve", overlooking)
    pods = build.pods(3, cpu="3500m")
    types = build.catalogue(build.instance_type())
    cluster = build.cluster(*pods, POOL, build.node_class(), catalogue_of=types)
    cluster.snapshot(NOW)

    made = plan.plan(cluster.snapshot(LATER), types, Settings(), LATER)

    claims = [c for c in made.commands if isinstance(c, CreateNodeClaim)]
    assert len(claims) == 2
    (refused,) = made.unschedulable
    assert [str(blocker) for blocker in refused.blockers] == [SAYS]
    assert {*made.placements, *refused.pods} == {pod.meta.key for pod in pods}
    assert [c.message for c in made.commands if isinstance(c, Announce)] == [SAYS]
    price = types.instance_types[build.REF][0].offerings[0].price_usd_per_hour
    assert made.new_usd_per_hour == pytest.approx(2 * price)
