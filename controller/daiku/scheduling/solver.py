"""Where every pod goes: existing nodes first, then new ones from the heaviest NodePools down.

Existing nodes are filled class by class in a fixed order, all nodes of a class at once. What is left goes to
`packing`, which chooses new nodes by price among NodePools of equal weight; a lighter NodePool gets only what heavier
ones cannot host.

Not here: preferences and their relaxation, topology spread, pod affinity, volumes.

Letters in shapes: R resources, C classes, N existing nodes.
"""

from itertools import groupby

import numpy as np

from daiku.scheduling import columns, packing, solution
from daiku.scheduling.columns import Ints
from daiku.scheduling.problem import Problem
from daiku.scheduling.solution import Solution


def solve(problem: Problem, *, per_node_usd_per_hour: float = 0.0, grow: bool = True) -> Solution:
    """Place the pods of `problem`.

    Args:
        problem: Pods, nodes and NodePools.
        per_node_usd_per_hour: What a node costs beside its instance.
        grow: Whether new nodes may be made; without, only room that is there is used.
    """
    placed, residual = _place_on_existing(problem)
    packed = packing.start(problem, residual, per_node_usd_per_hour)
    if grow:
        by_weight = groupby(
            range(len(problem.templates)), key=lambda i: problem.templates[i].pool.weight
        )
        for _, templates in by_weight:
            packed.fill(tuple(templates))
    return solution.name(problem, placed, packed.nodes, packed.lower_bound)


def _place_on_existing(problem: Problem) -> tuple[Ints, Ints]:
    """Pods of each class on each node, shape (C, N), and those left of each class, shape (C,)."""
    free = problem.nodes.free.copy()
    placed = np.zeros(problem.nodes.hostable.shape, dtype=np.int64)
    for row, count in enumerate(problem.counts):
        hostable = problem.nodes.hostable[row]
        if not hostable.any():
            continue
        requests = problem.requests[:, row]
        fits = np.where(hostable, np.minimum(columns.copies(free, requests), count), 0)
        # First fit of all its pods in one go: each node takes what the nodes before it have left.
        before = np.cumsum(fits) - fits
        placed[row] = np.clip(count - before, 0, fits)
        free -= requests[:, None] * placed[row]
    return placed, problem.counts - placed.sum(axis=1)
