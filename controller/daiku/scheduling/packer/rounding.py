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
_ACTIVE_MAX: Final = 64
"""Classes that one greedy choice looks at: those whose pods are worth most together."""
_AT_ONCE: Final = 0.12
"""Share of what is left that is taken at once when no pattern is bought whole."""


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
    """Move whole patterns, or else some that are nearly so, from `left` to `nodes`; what is left then."""
    copies = np.floor(amounts + 1e-9)
    order = np.argsort(-copies * patterns.prices, kind="stable")
    order = order[copies[order] > 0]
    enough = np.inf
    if not order.size:
        per_dollar = np.minimum(patterns.pods, left) @ values / patterns.prices
        order = np.argsort(-amounts * per_dollar, kind="stable")[: np.count_nonzero(amounts)]
        copies[order] = 1
        enough = _AT_ONCE * float(left @ values)
    for place, pattern in enumerate(order):
        column, pods = int(patterns.columns[pattern]), patterns.pods[pattern]
        asked = pods > 0
        full = min(copies[pattern], float((left[asked] // pods[asked]).min()))
        if full:
            nodes.add(column, pods, int(full))
            left = left - full * pods
        elif place == 0:
            rest = np.minimum(pods, left)
            nodes.add(column, rest)
            left = left - rest
        enough -= full * patterns.prices[pattern]
        if enough <= 0:
            break
    return left


def greedy(tables: Tables, values: Floats, left: Floats) -> Fleet:
    """Nodes for `left` pods of each class, each the one whose pods are worth most per dollar; no program asked."""
    random = np.random.Generator(np.random.PCG64(len(values)))
    nodes = Fleet()
    while left.any():
        worth = left * values
        active = np.sort(
            np.argsort(-worth, kind="stable")[: min(_ACTIVE_MAX, np.count_nonzero(left))]
        )
        count = max(len(tables.prices), min(_GREEDY_TRIALS_MAX, 5 * len(tables.prices)))
        columns = np.arange(count) % len(tables.prices)
        weights = random.random((len(tables.requests), count))
        ranks = fill.ranks(tables, columns, weights, values)[:, active]
        classes = np.broadcast_to(active, ranks.shape)
        limits = np.broadcast_to(np.minimum(left, tables.limits)[active], ranks.shape)
        taken = fill.fill(tables, Trials(columns, classes, limits, ranks))
        columns = fill.cheapest(
            tables, fill.used(tables, classes, taken), fill.shut(tables, classes, taken)
        )
        best = int(np.argmax(taken @ values[active] / tables.prices[columns]))
        pods = np.zeros(len(left))
        pods[active] = taken[best]
        copies = int((left[active] // np.maximum(taken[best], 1e-9)).min())
        nodes.add(int(columns[best]), pods, copies)
        left = left - copies * pods
    return nodes
