"""A new node with fewer choices: of one capacity type, or below a price.

A launch takes whichever of a node's types, in whichever of its zones, the cloud has. So a node is cheaper than another
only when each of its types is, at the dearest price that a launch could pay.

Source: Karpenter's WorstLaunchPrice and RemoveInstanceTypeOptionsByPriceAndMinValues.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daiku.model import labels
from daiku.model.requirements import Requirement, Requirements
from daiku.scheduling import solution
from daiku.scheduling.catalogue import Types
from daiku.scheduling.min_values import keeps_min_values
from daiku.scheduling.solution import NewNode, RankedType


def of_capacity_type(
    node: NewNode, types: Types, capacity_type: str, below: float, *, min_values_bind: bool
) -> NewNode | None:
    """`node` with the types that can be had as `capacity_type`, each for less than `below` wherever it is launched.

    Args:
        node: What was planned.
        types: The instance types of its NodePool.
        capacity_type: reserved, spot or on-demand.
        below: USD per hour; infinity for any price.
        min_values_bind: Whether `minValues` is strict.

    Returns:
        None when no type is left, or too few for `minValues`.
    """
    requirements = node.requirements & Requirements.of(
        Requirement.parse(labels.CAPACITY_TYPE, "In", (capacity_type,))
    )
    named = frozenset(each.name for each in node.types)
    kept = np.array([each.name in named for each in types.types], dtype=np.bool_)
    offered = types.offered(requirements) & kept[types.offering_type]
    dearest = np.full(len(kept), -np.inf)
    np.maximum.at(dearest, types.offering_type[offered], types.offering_price[offered])
    kept &= np.isfinite(dearest) & (dearest < below)
    if not kept.any() or (
        min_values_bind and not keeps_min_values(requirements, types.types, kept)
    ):
        return None
    prices = types.prices(requirements)
    # Types are in the order of their names, so a stable order by price ends ties in the name.
    order = np.flatnonzero(kept)
    order = order[np.argsort(prices[order], kind="stable")]
    zones, capacity_types = solution.offered(types, requirements, kept)
    return replace(
        node,
        requirements=requirements,
        types=tuple(
            RankedType(name=types.types[t].name, usd_per_hour=float(prices[t]))
            for t in map(int, order)
        ),
        zones=zones,
        capacity_types=capacity_types,
    )


def below(
    node: NewNode, types: Types, usd_per_hour: float, *, min_values_bind: bool
) -> NewNode | None:
    """`node` as something cheaper than `usd_per_hour`, of the capacity type that is cheapest; None if there is none."""
    found = [
        of_capacity_type(node, types, each, usd_per_hour, min_values_bind=min_values_bind)
        for each in node.capacity_types
    ]
    return min((each for each in found if each is not None), key=_price, default=None)


def all_below(
    nodes: Sequence[NewNode],
    types: Mapping[str, Types],
    usd_per_hour: float,
    *,
    min_values_bind: bool,
) -> tuple[NewNode, ...] | None:
    """The nodes with types that keep their price together below `usd_per_hour`; None when there is no such choice.

    What is left below is shared out among them, so that it holds for any choice of their types.
    """
    total = sum(node.usd_per_hour for node in nodes)
    kept: list[NewNode] = []
    for node in nodes:
        ceiling = usd_per_hour * (node.usd_per_hour / total) if total > 0 else usd_per_hour
        of_pool = types[node.pool.meta.name]
        cheaper = below(node, of_pool, ceiling, min_values_bind=min_values_bind)
        if cheaper is None:
            return None
        kept.append(cheaper)
    return tuple(kept)


def _price(node: NewNode) -> float:
    return node.usd_per_hour
