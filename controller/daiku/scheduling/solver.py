"""Where every pod goes: existing nodes first, then new ones from the heaviest NodePools down.

Pods that constraints between pods concern are placed first, by `topology`. Then the others: existing nodes are filled
class by class in a fixed order, all nodes of a class at once; what is left joins nodes that are planned already where
that is cheap, and the rest goes to `packing`, which chooses new nodes by price among NodePools of equal weight; a
lighter NodePool gets only what heavier ones cannot host. Pods for which there is no place give up a preference and are
tried again.

Not here: volumes.

Letters in shapes: R resources, C classes, N existing nodes.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby

import numpy as np

from daiku.scheduling import columns, packing, solution, worths
from daiku.scheduling.columns import Ints
from daiku.scheduling.min_values import Policy as MinValuesPolicy
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.problem import Problem
from daiku.scheduling.solution import Solution
from daiku.scheduling.topology import begin, postponed, results, why_not
from daiku.scheduling.topology.place import Placer
from daiku.scheduling.topology.postponed import Postponed

_Placed = list[tuple[int, int, int]]


def solve(
    problem: Problem,
    *,
    per_node_usd_per_hour: float = 0.0,
    grow: bool = True,
    min_values_policy: MinValuesPolicy = "Strict",
    together: bool = False,
    careful: bool = False,
    at_first: bool = True,
    stop: Stop | None = None,
) -> Solution:
    """Place the pods of `problem`.

    Args:
        problem: Pods, nodes and NodePools.
        per_node_usd_per_hour: What a node costs beside its instance.
        grow: Whether new nodes may be made; without, only room that is there is used.
        min_values_policy: Whether a node is made although too few types are left for its `minValues`.
        together: Whether what existing nodes have no room for must share one new node. Pods that cannot have no
            place; those that constraints between pods concern may still get more nodes.
        careful: Whether pods that constraints between pods concern are placed one by one, with nodes of their own. That
            is slow and dear, and done when something comes short that others relied on.
        at_first: Whether new nodes for pods that constraints between pods concern are chosen as if all that these
            would like were required: cheaper by far where none of them has to give up any of it.
        stop: Asked every few milliseconds of the search for cheaper nodes whether the best so far must do. Without it
            the same problem has the same solution each time.
    """
    again = partial(
        solve,
        problem,
        per_node_usd_per_hour=per_node_usd_per_hour,
        grow=grow,
        min_values_policy=min_values_policy,
        together=together,
        stop=stop,
    )
    limits = _limits(problem)
    free = problem.nodes.free.copy()
    residual = problem.counts.copy()
    placer = begin.start(
        problem,
        limits,
        per_node_usd_per_hour,
        grow=grow,
        min_values_bind=min_values_policy == "Strict",
        careful=careful,
        at_first=at_first and grow and not together,
    )
    if placer is not None:
        residual = placer.place_all(residual)
        if placer.yielded:
            return again(at_first=False)
        placer.write_back(free)
    placed: _Placed = [] if placer is None else results.on_existing(placer)
    waiting = [] if placer is None else results.waiting(placer)
    packed = _packing(problem, residual, waiting, limits, per_node=per_node_usd_per_hour, stop=stop)
    residual = packed.residual[: len(residual)]
    while True:
        _place_on_existing(problem, free, residual, placed)
        if grow:
            _place_on_new(problem, placer, packed, min_values_policy, together=together)
        if not _relax(problem, residual, hopeless_only=together):
            break
    relied = packed.residual[len(residual) :].any() and not together
    if not careful and (relied or (placer is not None and placer.short)):
        # What is left was counted where it cannot be, so whatever relied on it is not to be relied on.
        return again(careful=True)
    return _named(problem, placed, packed, placer, waiting)


def _packing(
    problem: Problem,
    residual: Ints,
    waiting: Sequence[Postponed],
    limits: list[Ints],
    *,
    per_node: float,
    stop: Stop | None,
) -> packing.Packing:
    """The choice of new nodes for `residual`, shape (C,), and for pods that are `waiting` for theirs."""
    return packing.start(
        postponed.extended(problem, waiting),
        np.append(residual, np.array([each.count for each in waiting], dtype=np.int64)),
        per_node,
        limits,
        min_values_bind=True,
        caps=postponed.limits(waiting, len(residual)),
        stop=stop,
    )


def _limits(problem: Problem) -> list[Ints]:
    """What the limits of each template leave, shape (L,); templates of one NodePool share an array."""
    of_pool: dict[str, Ints] = {}
    return [of_pool.setdefault(t.pool.meta.name, t.left.copy()) for t in problem.templates]


def _named(
    problem: Problem,
    placed: _Placed,
    packed: packing.Packing,
    placer: Placer | None,
    waiting: Sequence[Postponed],
) -> Solution:
    if placer is None:
        return solution.name(problem, placed, packed.nodes, packed.lower_bound)
    bought = postponed.returned(packed.nodes, problem, waiting)
    least = worths.worth_of(problem, results.on_new(placer, bought), range(len(problem.templates)))
    return solution.name(
        problem,
        placed,
        [*results.packed(placer), *bought],
        least.usd_per_hour,
        why_not=lambda row, own: why_not.of_class(placer, row, own),
        order=placer.order,
    )


def _place_on_new(
    problem: Problem,
    placer: Placer | None,
    packed: packing.Packing,
    min_values_policy: MinValuesPolicy,
    *,
    together: bool,
) -> None:
    if placer is not None:
        placer.join_all(packed.residual[: len(problem.counts)])
    templates = range(len(problem.templates))
    for _, equal in groupby(templates, key=lambda i: problem.templates[i].pool.weight):
        pools = tuple(equal)
        fill = packed.fill_one if together else packed.fill
        fill(pools)
        if min_values_policy == "BestEffort" and packed.residual.any():
            # Only for pods that cannot have a node otherwise, but before they go to a lighter NodePool.
            packed.min_values_bind = False
            fill(pools)
            packed.min_values_bind = True
    if together:
        return
    # What is left may not have nodes of its own; nodes that others have may still become larger.
    if placer is not None:
        placer.join_all(packed.residual[: len(problem.counts)], at_any_price=True)
    packed.join()


def _relax(problem: Problem, residual: Ints, *, hopeless_only: bool) -> bool:
    """Let pods without a place give up a preference; whether any did.

    Args:
        problem: What is asked.
        residual: Pods of each class without a place, shape (C,).
        hopeless_only: Only those that no new node would suit: the others want for nothing but more nodes.
    """
    moved = False
    for row in np.flatnonzero(residual):
        if hopeless_only and any(t.hostings[row].types.any() for t in problem.templates):
            continue
        following = int(problem.relaxed[row])
        if following >= 0 and (problem.topology is None or problem.topology.rules[row].is_free):
            residual[following] += residual[row]
            residual[row] = 0
            moved = True
    return moved


def _place_on_existing(problem: Problem, free: Ints, residual: Ints, placed: _Placed) -> None:
    """Place what fits; `free`, shape (R, N), and `residual`, shape (C,), go down."""
    topology = problem.topology
    for row in map(int, np.flatnonzero(residual)):
        hostable = problem.nodes.hostable[row]
        if not hostable.any() or (topology is not None and not topology.rules[row].is_free):
            continue
        count = int(residual[row])
        requests = problem.requests[:, row]
        fits = np.where(hostable, np.minimum(columns.copies(free, requests), count), 0)
        # First fit of all its pods in one go: each node takes what the nodes before it have left.
        before = np.cumsum(fits) - fits
        taken = np.clip(count - before, 0, fits)
        free -= requests[:, None] * taken
        residual[row] -= taken.sum()
        placed += [(row, c, int(taken[c])) for c in map(int, np.flatnonzero(taken))]
