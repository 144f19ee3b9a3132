"""Whether equal nodes are cheaper than the tightest packing, once kube-scheduler has placed the pods.

A packing says which pod goes where, and kube-scheduler does not follow it: it levels nodes. On nodes of several shapes
that are packed to the brim some pods then find no room, and small nodes have to be bought for them later. So the
packing is compared with the fewest equal nodes, of the shapes that it uses most, on which all pods land (`landing`).
Each set is judged by its price and by what the pods cost that find no room on it.

Letters in shapes: R resources, C classes, H nodes, S numbers of nodes that are tried.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from daiku.scheduling import landing, solution, worths
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.landing import Landing
from daiku.scheduling.min_values import minds_min_values
from daiku.scheduling.packed import PackedNode
from daiku.scheduling.problem import Problem, Template
from daiku.scheduling.solution import NewNode, Solution

NODES_LEAST: Final = 8
"""With fewer new nodes than this a small gain is not worth a comparison."""
SHAPES_MOST: Final = 3
"""How many instance types are tried by themselves."""
_MORE: Final = 0.1
"""How many more nodes than the pods need in sum are tried at most, as a share of them."""
_AS_GOOD: Final = 0.99
"""Types that carry this share of the most for their price are tried as well: fewer, larger nodes level better."""
_ALIKE: Final = 0.97
"""A type with this share of what another has for pods stands in for it."""


def cheapest(problem: Problem, packed: Solution) -> Solution:
    """`packed`, or equal nodes for the same pods where these cost less in the end.

    Args:
        problem: Pods, nodes and NodePools.
        packed: Its tightest packing.
    """
    template = _template(problem, packed)
    if template is None:
        return packed
    counts = _counts(problem, packed)
    worth = worths.worth_of(problem, counts, range(len(problem.templates))).worth
    found = [(_cost(problem, packed, counts, template, worth @ problem.requests), packed)]
    for name in _shapes(problem.templates[template], packed.new_nodes, worth):
        tried = _equal(problem, packed, counts, template, name)
        found += [(tried.usd_per_hour, tried)] if tried is not None else []
    # Of sets that cost the same, the one with fewer nodes: they are up sooner, and level better.
    return min(found, key=lambda each: (round(each[0], 6), len(each[1].new_nodes)))[1]


def _template(problem: Problem, packed: Solution) -> int | None:
    """The one template of which all new nodes are; None where equal nodes are no choice."""
    if problem.topology is not None or len(packed.new_nodes) < NODES_LEAST:
        return None
    pools = {node.pool.meta.name: True for node in packed.new_nodes}
    found = [i for i, t in enumerate(problem.templates) if t.pool.meta.name in pools]
    # A limit may allow the one set and not the other, and minValues was looked at for the packing only.
    if len(found) != 1 or problem.templates[found[0]].limited:
        return None
    return None if minds_min_values(problem.templates[found[0]].requirements) else found[0]


def _shapes(template: Template, nodes: Sequence[NewNode], worth: Floats) -> list[str]:
    """Types on which most is spent, and the largest that carry as much for their price; ties end in the name."""
    spent: dict[str, float] = {}
    for node in nodes:
        name = node.types[0].name
        spent[name] = spent.get(name, 0.0) + node.usd_per_hour
    used = sorted(spent, key=lambda name: (-spent[name], name))[:SHAPES_MOST]
    prices = np.min([h.prices for h in template.hostings], axis=0)
    carries = worth @ np.maximum(template.allocatable, 0)
    names = [each.name for each in template.types.types]
    per_dollar: Floats = np.where(np.isfinite(prices), carries / np.maximum(prices, 1e-9), 0.0)
    good = max(per_dollar[names.index(name)] for name in used) * _AS_GOOD
    large = sorted(
        (i for i in range(len(names)) if per_dollar[i] >= good),
        key=lambda i: (-carries[i], names[i]),
    )
    return list(dict.fromkeys([*used, *(names[i] for i in large[:SHAPES_MOST])]))


def _counts(problem: Problem, packed: Solution) -> Ints:
    """Pods of each class that have a place, shape (C,)."""
    stuck = {pod: True for each in packed.unschedulable for pod in each.pods}
    rows = zip(problem.counted, problem.counts.tolist(), strict=True)
    found = [sum(pod not in stuck for pod in each.pods) if count else 0 for each, count in rows]
    return np.array(found, dtype=np.int64)


def _cost(problem: Problem, found: Solution, counts: Ints, index: int, worth: Floats) -> float:
    """Price of the new nodes, and what the pods are worth that do not land, in USD per hour."""
    template = problem.templates[index]
    numbers = {each.name: i for i, each in enumerate(template.types.types)}
    kinds = [numbers[node.types[0].name] for node in found.new_nodes]
    asked = _landing(problem, template.allocatable[:, kinds], _hosts(template, kinds))
    return found.usd_per_hour + float(worth @ asked.left_over(counts[None])[0])


def _equal(
    problem: Problem, packed: Solution, counts: Ints, index: int, name: str
) -> Solution | None:
    """The fewest nodes of one type on which all pods land; None where there are none."""
    template = problem.templates[index]
    kind = next(i for i, each in enumerate(template.types.types) if each.name == name)
    rows = np.flatnonzero(counts)
    if not all(template.hostings[row].types[kind] for row in rows):
        return None
    joint, *others = dict.fromkeys(template.hostings[row].requirements for row in rows)
    for other in others:
        joint &= other
    if joint.is_empty:
        return None
    prices = template.types.prices(joint)
    room = template.allocatable[:, kind]
    if not np.isfinite(prices[kind]):
        return None
    new = problem.requests @ counts - _used(problem, packed)
    share = new[room > 0] / room[room > 0]
    fewest = max(int(np.ceil(share.max(initial=0.0))), 1)
    tries = range(fewest, fewest + max(int(fewest * _MORE), 1) + 1)
    asked = _landing(
        problem,
        np.repeat(room[:, None], tries[-1], axis=1),
        np.repeat(_hosts(template, [kind]), tries[-1], axis=1),
    )
    there = problem.nodes.free.shape[1]
    ends: Ints = there + np.array(tries, dtype=np.int64)
    columns: Ints = np.arange(there + tries[-1], dtype=np.int64)
    stays: Mask = np.less(columns[None, :], ends[:, None])
    left: Ints = asked.left_over(np.repeat(counts[None], len(tries), axis=0), stays)
    enough = np.flatnonzero(left.sum(axis=1) == 0)
    if not enough.size:
        return None
    chosen: Mask = stays[int(enough[0])]
    holds: Mask = np.all(template.allocatable >= _ALIKE * room[:, None], axis=0)
    types: Mask = holds & np.isfinite(prices)
    placed = list[tuple[int, int, int]]()
    nodes = [dict[int, int]() for _ in range(tries[int(enough[0])])]
    for row, (amounts,) in asked.landed(counts[None], chosen[None]):
        for column, amount in enumerate(amounts.tolist()):
            if amount and column < there:
                placed.append((row, column, amount))
            elif amount:
                nodes[column - there][row] = amount
    made = [
        PackedNode(index, joint, dict(sorted(each.items())), types, prices)
        for each in nodes
        if each
    ]
    bound = packed.lower_bound_usd_per_hour
    return solution.name(problem, placed, made, bound)


def _used(problem: Problem, packed: Solution) -> Ints:
    """What pods ask for that the packing put on nodes that are there, shape (R,)."""
    row_of = {pod: row for row, each in enumerate(problem.counted) for pod in each.pods}
    rows = [row_of[pod] for pod in packed.placements if pod in row_of]
    return problem.requests[:, rows].sum(axis=1)


def _landing(problem: Problem, new: Ints, hosts: Mask) -> Landing:
    """Pods in their order, on nodes that are there and new ones; `new`: what these have, shape (R, H)."""
    free = np.hstack([problem.nodes.free, new])
    hostable = np.hstack([problem.nodes.hostable, hosts])
    asked = landing.of(
        problem.resources,
        free=free,
        held=np.zeros_like(free),
        hostable=hostable,
        requests=problem.requests,
        kin=np.zeros(hostable.shape, dtype=np.int64),
    )
    return replace(asked, order=np.arange(len(problem.counts), dtype=np.intp))


def _hosts(template: Template, kinds: Sequence[int]) -> Mask:
    """Which classes nodes of these types may host, shape (C, H)."""
    return np.array([h.types[kinds] for h in template.hostings], dtype=np.bool_)
