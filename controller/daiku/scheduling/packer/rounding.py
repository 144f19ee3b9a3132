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

_GREEDY_TRIALS_MAX: Final = 256
"""Trials per choice of the greedy filling."""
_ACTIVE_MAX: Final = 64
"""Classes that one greedy choice looks at: those whose pods are worth most together."""
_FULL: Final = 0.98
"""Least share of a pattern's worth that must be left of it when it is taken after others."""
_AT_ONCE: Final = 0.25
"""Share of what is left that is taken at once when no pattern is bought whole."""


def rounded(patterns: Patterns, effort: Effort, rounds: int) -> Fleet | None:
    """Nodes for all pods, with so many rounds of new patterns after each choice; None when the effort ends before.

    The program asks for all pods again afterwards.
    """
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
    for place, pattern in enumerate(map(int, order)):
        least = 0.0 if place == 0 else _FULL * float(patterns.pods[pattern] @ values)
        while copies[pattern] and enough > 0:
            # Patterns may hold more than is left: the program covers, it does not divide.
            pods = np.minimum(patterns.pods[pattern], left)
            if not pods.any() or pods @ values < least:
                break
            times = min(copies[pattern], float((left[pods > 0] // pods[pods > 0]).min()))
            nodes.add(int(patterns.columns[pattern]), pods, int(times))
            left = left - times * pods
            copies[pattern] -= times
            enough -= times * patterns.prices[pattern]
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
