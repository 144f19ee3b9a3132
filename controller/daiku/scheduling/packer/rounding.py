"""Whole nodes out of fractions.

The program of patterns buys 3.4 nodes of this kind and 0.7 of that. The idea: take the whole part; when there is none,
take the pattern that is bought most fully and worth most; ask the program again for the pods that are left,
with a few more rounds of new patterns made for exactly these; repeat. Early choices are thus made knowing what the
rest will cost, which is what a greedy choice lacks.

Letters in shapes: C classes, P patterns.
"""

from typing import Final

import numpy as np

from daiku.scheduling.packer import fill, fleet
from daiku.scheduling.packer.demand import Floats
from daiku.scheduling.packer.effort import Effort
from daiku.scheduling.packer.fill import Trials
from daiku.scheduling.packer.fleet import Fleet
from daiku.scheduling.packer.patterns import Patterns
from daiku.scheduling.packer.tables import Tables

_ROUNDS: Final = 4
"""Rounds of new patterns after each choice."""
_GREEDY_TRIALS_MAX: Final = 256
"""Trials per choice of the greedy filling."""
_WHOLE: Final = 1 - 1e-9


def rounded(patterns: Patterns, effort: Effort, rounds: int = _ROUNDS) -> Fleet | None:
    """Nodes for all pods; None when the effort ends before. Leaves the program asking for all pods again."""
    tables = patterns.tables
    nodes = Fleet()
    left = tables.counts.copy()
    solved = patterns.ask(left)
    while True:
        left = _take(patterns, solved.amounts, solved.values, left, nodes)
        if not left.any():
            break
        solved = patterns.ask(left)
        for _ in range(rounds):
            if effort.spent():
                patterns.ask(tables.counts)
                return None
            solved = patterns.improve(solved.values)
    patterns.ask(tables.counts)
    return fleet.recolumned(tables, nodes)


def _take(
    patterns: Patterns, amounts: Floats, values: Floats, left: Floats, nodes: Fleet
) -> Floats:
    """Move whole patterns, or else one, from `left` to `nodes`; what is left then."""
    whole = np.floor(amounts + 1e-9)
    if not whole.any():
        worth = np.minimum(patterns.pods, left) @ values / patterns.prices
        whole[int(np.argmax(amounts * worth))] = 1
    for pattern in np.argsort(-whole * patterns.prices, kind="stable"):
        if whole[pattern] < _WHOLE:
            break
        column, pods = int(patterns.columns[pattern]), patterns.pods[pattern]
        asked = pods > 0
        full = min(whole[pattern], float((left[asked] // pods[asked]).min()))
        if full:
            nodes.add(column, pods, int(full))
            left = left - full * pods
        rest = np.minimum(pods, left)
        if full < whole[pattern] and rest.any():
            nodes.add(column, rest)
            left = left - rest
    return left


def greedy(tables: Tables, values: Floats, left: Floats) -> Fleet:
    """Nodes for `left` pods of each class, each the one whose pods are worth most per dollar; no program asked."""
    random = np.random.Generator(np.random.PCG64(len(values)))
    nodes = Fleet()
    while left.any():
        active = np.flatnonzero(left)
        count = min(_GREEDY_TRIALS_MAX, 5 * len(tables.prices))
        columns = random.permutation(np.arange(count) % len(tables.prices))
        weights = random.random((len(tables.requests), count))
        ranks = fill.ranks(tables, columns, weights, values)[:, active]
        classes = np.broadcast_to(active, ranks.shape)
        limits = np.broadcast_to(np.minimum(left, tables.limits)[active], ranks.shape)
        taken = fill.fill(tables, Trials(columns, classes, limits, ranks))
        columns = fill.cheapest(tables, classes, taken)
        best = int(np.argmax(taken @ values[active] / tables.prices[columns]))
        pods = np.zeros(len(left))
        pods[active] = taken[best]
        copies = int((left[active] // np.maximum(taken[best], 1e-9)).min())
        nodes.add(int(columns[best]), pods, copies)
        left = left - copies * pods
    return nodes
