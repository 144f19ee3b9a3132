"""What the packer is asked, and what its answer means: pods and NodePools as columns that can be bought.

A column is an instance type of one NodePool together with the set of requirements that some of its offerings meet:
two classes may share a node exactly when an offering meets what both ask. Offerings that meet the same are one column,
at the price of the cheapest.

Letters in shapes: R resources, C classes, S distinct requirements, O offerings, T instance types, K columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.scheduling.caps import Caps
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.packer import demand, pack
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.problem import Problem, Template

_PRICE_LEAST: Final = 1e-9
"""USD per hour, for offerings that are free."""


@dataclass(frozen=True, slots=True, eq=False)
class Bought:
    """Equal nodes that the packer chose."""

    template: int
    type_index: int
    """The cheapest type that holds the pods."""
    price: float
    """USD per hour of one of them, per-node cost included, more than 0."""
    copies: int
    counts: Ints
    """Pods of each class on one of them, shape (C,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Purchase:
    """The cheapest nodes that were found, and the least that they could cost."""

    nodes: tuple[Bought, ...]
    lower_bound_usd_per_hour: float
    """Per-node cost included."""


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Columns of one NodePool."""

    template: int
    types: NDArray[np.intp]
    """Shape (K,)."""
    prices: Floats
    """USD per hour, shape (K,)."""
    allowed: Mask
    """Which class may go where, shape (C, K)."""


def cheapest(
    problem: Problem,
    residual: Ints,
    templates: Sequence[int],
    per_node_usd_per_hour: float,
    caps: Caps,
    *,
    within: Mapping[int, Mask],
    stop: Stop | None = None,
) -> Purchase:
    """The cheapest nodes of `templates` for the pods that are left, as if there were enough of each type.

    Args:
        problem: Where pods may go.
        residual: Pods of each class that have no place yet, shape (C,).
        templates: Equally welcome NodePools, as indices.
        per_node_usd_per_hour: What a node costs beside its instance.
        caps: How many pods of a class a node takes.
        within: Template -> types of which its limits allow another node, shape (T,).
        stop: Asked now and then whether the best so far must do.
    """
    rows = np.flatnonzero(residual)
    offered = [_columns(problem.templates[t], t, rows, within[t]) for t in templates]
    if not rows.size or not sum(len(o.types) for o in offered):
        return Purchase((), 0.0)
    allocatable = [problem.templates[o.template].allocatable[:, o.types] for o in offered]
    packed = pack.pack(
        demand.demand(
            np.ascontiguousarray(problem.requests[:, rows]),
            residual[rows],
            np.maximum(np.hstack(allocatable), 0),
            np.hstack([o.prices for o in offered]) + per_node_usd_per_hour,
            allowed=np.hstack([o.allowed for o in offered]),
            caps=caps.most[rows],
            groups=caps.groups[rows],
            group_caps=caps.most_of_group,
        ),
        stop,
    )
    owners = [
        (o.template, int(kind), max(float(price) + per_node_usd_per_hour, _PRICE_LEAST))
        for o in offered
        for kind, price in zip(o.types, o.prices, strict=True)
    ]
    bought: list[Bought] = []
    for nodes in packed.nodes:
        counts = np.zeros(len(residual), dtype=np.int64)
        counts[rows[nodes.classes]] = nodes.pods
        bought.append(Bought(*owners[nodes.column], nodes.copies, counts))
    return Purchase(tuple(bought), packed.lower_bound_usd_per_hour)


def _columns(template: Template, index: int, rows: NDArray[np.intp], within: Mask) -> _Columns:
    hostings = [template.hostings[int(row)] for row in rows]
    signatures = {h.requirements: None for h in hostings if h.types.any()}
    numbers = {requirements: number for number, requirements in enumerate(signatures)}
    types = template.types
    meets = np.zeros((len(numbers), len(types.offerings)), dtype=np.bool_)
    for requirements, number in numbers.items():
        meets[number] = types.offered(requirements)
    useful = np.flatnonzero(meets.any(axis=0) & within[types.offering_type])
    # Offerings of one type that meet the same are one column: they are numbered by their type, then eight bits at a
    # time by what they meet, in the order of both.
    first, column = np.arange(len(useful)), types.offering_type[useful].astype(np.int64)
    for bits in np.packbits(meets[:, useful], axis=0):
        _, first, column = np.unique(column * 256 + bits, return_index=True, return_inverse=True)
    prices = np.full(len(first), np.inf)
    np.minimum.at(prices, column, types.offering_price[useful])
    open_to = meets[:, useful[first]]
    allowed = np.zeros((len(rows), len(first)), dtype=np.bool_)
    for position, hosting in enumerate(hostings):
        if hosting.types.any():
            allowed[position] = open_to[numbers[hosting.requirements]]
    return _Columns(index, types.offering_type[useful[first]].astype(np.intp), prices, allowed)
