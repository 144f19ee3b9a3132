"""Small random clusters of manifests with every constraint there is: the audit finds nothing against any plan.

They are those that kube-scheduler judges in `tests/e2e/test_scheduler_oracle.py`, with more NodePools.
"""

import json
import random
from dataclasses import replace

import pytest
from tests import build, plans
from tests.e2e import oracle

from daiku.api import decode
from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.model.taints import Taint
from daiku.scheduling import problem, solver

TYPES = build.family(sizes=(1, 2, 4), gib_per_cpu=4, zones=oracle.ZONES)
CATALOGUE = build.catalogue(*TYPES)
CLUSTERS = 125
"""Per test and number of pods."""


def random_pools(rng: random.Random) -> list[NodePool]:
    """NodePools over some of the zones, some tainted, some with the label that pods select."""
    return [
        build.node_pool(
            f"pool-{number}",
            weight=rng.choice([0, 0, 10]),
            template_labels=rng.choice([{}, {"disk": "ssd"}, {"disk": "hdd"}]),
            taints=rng.choice([(), (), (Taint("dedicated", "NoSchedule"),)]),
            requirements=build.needs(
                build.require(labels.ZONE, "In", *rng.sample(oracle.ZONES, rng.randint(1, 3)))
            ),
        )
        for number in range(rng.randint(1, 3))
    ]


def objections(seed: int, size: int) -> list[str]:
    """What the audit has against the plan of one cluster."""
    rng = random.Random(seed)
    nodes = [decode.node(json.dumps(m).encode()) for m in oracle.random_nodes(rng, f"there-{seed}")]
    drawn = [oracle.random_pod(rng, f"pod-{index}") for index in range(size)]
    pods = [replace(decode.pod(json.dumps(m).encode()), unschedulable=True) for m in drawn]
    pools = random_pools(rng)
    world = build.cluster(*nodes, *pods, *pools, build.node_class(), catalogue_of=CATALOGUE)
    snapshot = world.snapshot(build.NOW)

    solved = solver.solve(problem.build(pods, snapshot, CATALOGUE))

    found = plans.objections(solved, snapshot, TYPES)
    return [f"seed {seed}, {size} pods: {objection}" for objection in found]


@pytest.mark.parametrize(
    ("first", "size"),
    [*((first, 10) for first in range(0, 1000, CLUSTERS)), (1000, 30), (1125, 30)],
)
def test_the_audit_finds_nothing_against_any_plan(first: int, size: int) -> None:
    found = [o for seed in range(first, first + CLUSTERS) for o in objections(seed, size)]

    assert found == []
