"""The cheapest new nodes for pods that need some.

The answer is searched in passes, and the best one so far is always legal:

1. `bound`: a small linear program gives a lower bound, and what a pod of each class is worth.
2. `rounding.greedy`: the node whose pods are worth most per dollar, again and again.
3. `patterns`: good ways to fill a node are collected; a linear program says how often to buy each.
4. `rounding.rounded`: whole nodes are made of that, a few at a time.
5. `repair`: a few nodes are ruined and made again.

Steps 3 to 5 repeat with more effort until the effort is spent. With few pods `exact` replaces them all.
"""

from dataclasses import dataclass
from typing import Final

from daiku.scheduling.packer import answer, bound, clusters, exact, rounding, tables
from daiku.scheduling.packer.bound import Bound
from daiku.scheduling.packer.demand import Demand, Packing
from daiku.scheduling.packer.effort import Effort, Stop
from daiku.scheduling.packer.fleet import Fleet
from daiku.scheduling.packer.patterns import Patterns
from daiku.scheduling.packer.repair import Repair
from daiku.scheduling.packer.tables import Tables


@dataclass(frozen=True, slots=True)
class _Pass:
    """How much each part does in one pass."""

    rounds: int
    """Rounds of new patterns."""
    rounds_per_choice: int
    """More of them after each choice of the rounding."""
    repairs: int


_FIRST_REPAIRS: Final = 6
"""Repairs of the first answer: all that a handful of nodes needs. With more classes patterns take longer, so first
there are more repairs."""
_PASSES: Final = (_Pass(16, 1, 10), _Pass(48, 3, 40), _Pass(64, 3, 80))
"""The last one is repeated."""
_CLASSES_MAX: Final = 256
"""Classes up to which patterns are worth their time; more are packed as clusters and repaired."""
_CLASS_STEPS: Final = 20_000
"""Steps times classes that the search makes by default; about a second."""
_PROVEN: Final = 1 + 1e-6
"""Price over bound at which there is nothing left to find."""


def pack(demand: Demand, stop: Stop | None = None, steps: int | None = None) -> Packing:
    """The cheapest nodes found for all pods of `demand` that fit a column.

    Args:
        demand: What to pack, and the columns on offer.
        stop: Asked every few milliseconds whether the best so far must do.
        steps: Steps of the search at most. Without it, what suits the size of the problem; so the answer is the same
            each time unless `stop` cuts it short.
    """
    reduced = tables.tables(demand)
    if not len(reduced.counts):
        return answer.packing(reduced, Fleet(), None)
    if exact.states(reduced) <= exact.STATES_MAX:
        return answer.packing(reduced, exact.packed(reduced), None)
    least = bound.bound(reduced)
    fleet = search(reduced, least, Effort(_steps(reduced) if steps is None else steps, stop))
    return answer.packing(reduced, fleet, least.usd_per_hour)


def search(reduced: Tables, least: Bound, effort: Effort) -> Fleet:
    """The cheapest nodes found for all pods of `reduced` before `effort` is spent."""
    fleet = _first(reduced, least, effort)
    repairs = _FIRST_REPAIRS + len(reduced.counts) // 4
    fleet = _repaired(reduced, fleet, least, repairs, effort)
    patterns: Patterns | None = None
    number = 0
    while not effort.ended and len(reduced.counts) > _CLASSES_MAX:
        fleet = _repaired(reduced, fleet, least, _PASSES[-1].repairs, effort)
    while not effort.ended and fleet.price(reduced) > _PROVEN * least.usd_per_hour:
        work = _PASSES[min(number, len(_PASSES) - 1)]
        number += 1
        patterns = patterns or Patterns(reduced, least.resource_values, len(reduced.counts))
        values = least.values if patterns.solved is None else patterns.solved.values
        for _ in range(work.rounds):
            if effort.spent():
                return fleet
            values = patterns.improve(values).values
        rounded = rounding.rounded(patterns, effort, work.rounds_per_choice)
        if rounded is None:
            return fleet
        # Repairing what is a little dearer now may end cheaper, so each pass repairs its own answer.
        other = _repaired(reduced, rounded, least, work.repairs, effort)
        fleet = min(fleet, other, key=lambda nodes: nodes.price(reduced))
    return fleet


def _steps(reduced: Tables) -> int:
    """Enough for the second pass with many pods, for repairs only with few; a step takes longer with more classes."""
    return int(min(reduced.counts.sum() // 4, 250, _CLASS_STEPS // len(reduced.counts)))


def _first(reduced: Tables, least: Bound, effort: Effort) -> Fleet:
    """An answer at once; it takes no steps of the effort, but asks whether to stop."""
    if len(reduced.counts) <= clusters.CLUSTERS_MAX:
        return rounding.greedy(reduced, least.values, reduced.counts.copy())
    grouped = clusters.clusters(reduced)
    plan = _planned(grouped.tables, Effort(2**62, effort.stop))
    return clusters.dealt(reduced, grouped, plan, least.values)


def _planned(coarse: Tables, effort: Effort) -> Fleet:
    """Nodes for clusters: a first pass over patterns, or without them when there are many clusters nonetheless."""
    least = bound.bound(coarse)
    values = least.values
    plan = None
    if len(values) <= 2 * clusters.CLUSTERS_MAX:
        patterns = Patterns(coarse, least.resource_values, len(values))
        for _ in range(_PASSES[0].rounds):
            if not effort.spent():
                values = patterns.improve(values).values
        plan = rounding.rounded(patterns, effort, _PASSES[0].rounds_per_choice)
    return plan or rounding.greedy(coarse, values, coarse.counts.copy())


def _repaired(reduced: Tables, fleet: Fleet, least: Bound, steps: int, effort: Effort) -> Fleet:
    repair = Repair(reduced, fleet, least.values, len(fleet.columns))
    for _ in range(steps):
        if effort.spent():
            break
        repair.step()
    return repair.fleet
