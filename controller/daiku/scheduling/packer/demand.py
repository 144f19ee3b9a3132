"""What must be packed, and the packing that answers.

The problem: pods of some classes must go on new nodes; which nodes, with which contents, cost least? A node is bought
as a *column*: one instance type as one NodePool offers it (and in one zone, where that matters). Whatever decides that
a class may not go on a column (requirements, taints, zones) is settled before, as a mask, so nothing here knows a
label. Two classes may share a node when some column is open to both and has room for both.

Letters in shapes: R resources, C classes, K columns, G exclusion groups, N nodes, M classes on one node.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNLIMITED = 2**31
"""More pods of one class than any node takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Classes of pods that need new nodes, and the columns that can be bought.

    The order of classes and columns decides ties, so the caller gives both in an order of its own that does not
    depend on hashing.
    """

    requests: Ints
    """What one pod of each class asks for, at least 0, shape (R, C)."""
    counts: Ints
    """Pods of each class, at least 0, shape (C,)."""
    allocatable: Ints
    """What each column offers pods, daemon overhead already taken off, shape (R, K)."""
    prices: Floats
    """USD per hour of one node of each column, per-node cost included; infinity where none can be had, shape (K,)."""
    allowed: Mask
    """Which class may go on which column, shape (C, K)."""
    caps: Ints
    """Most pods of each class on one node, shape (C,). Host spread and anti-affinity within a class are caps."""
    groups: Ints
    """The exclusion group of each class, -1 for none, shape (C,)."""
    group_caps: Ints
    """Most pods of all classes of each group together on one node, shape (G,)."""

    def __post_init__(self) -> None:
        resources, classes = self.requests.shape
        columns = len(self.prices)
        if not resources:
            raise ValueError("requests has no row; at least one resource is needed")
        shapes = {
            "counts": (self.counts.shape, (classes,)),
            "allocatable": (self.allocatable.shape, (resources, columns)),
            "allowed": (self.allowed.shape, (classes, columns)),
            "caps": (self.caps.shape, (classes,)),
            "groups": (self.groups.shape, (classes,)),
        }
        for name, (found, wanted) in shapes.items():
            if found != wanted:
                raise ValueError(f"{name} has shape {found}; requests and prices make it {wanted}")
        if classes and (self.requests.min(initial=0) < 0 or self.counts.min() < 0):
            raise ValueError("requests and counts must be at least 0")
        if classes and not -1 <= self.groups.min() <= self.groups.max() < len(self.group_caps):
            raise ValueError(f"groups must be -1 or below {len(self.group_caps)}")
        if np.isnan(self.prices).any() or self.prices.min(initial=0) < 0:
            raise ValueError("prices must be at least 0; infinity marks what cannot be had")


def demand(
    requests: Ints,
    counts: Ints,
    allocatable: Ints,
    prices: Floats,
    *,
    allowed: Mask | None = None,
    caps: Ints | None = None,
    groups: Ints | None = None,
    group_caps: Ints | None = None,
) -> Demand:
    """A demand in which every class may go anywhere, in any number, unless the arguments say otherwise."""
    classes = len(counts)
    return Demand(
        requests=requests,
        counts=counts,
        allocatable=allocatable,
        prices=prices,
        allowed=np.ones((classes, len(prices)), dtype=np.bool_) if allowed is None else allowed,
        caps=np.full(classes, UNLIMITED, dtype=np.int64) if caps is None else caps,
        groups=np.full(classes, -1, dtype=np.int64) if groups is None else groups,
        group_caps=np.zeros(0, dtype=np.int64) if group_caps is None else group_caps,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewNodes:
    """Nodes that are equal: of one column, with the same number of pods of each class."""

    column: int
    """Index of the cheapest column that holds the pods."""
    copies: int
    """How many such nodes."""
    classes: Ints
    """Indices of the classes on each, ascending, shape (M,)."""
    pods: Ints
    """Pods of each of `classes` on one of the nodes, at least 1, shape (M,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Packing:
    """New nodes for all pods that fit a column."""

    nodes: tuple[NewNodes, ...]
    """In order of column, then of contents."""
    unplaced: Ints
    """Pods of each class that no column holds, shape (C,); a class is placed whole or not at all."""
    usd_per_hour: float
    """Price of all nodes."""
    lower_bound_usd_per_hour: float
    """No packing of the placed pods costs less; equal to the price when the packing is proven cheapest."""

    @property
    def node_count(self) -> int:
        """Nodes, copies included."""
        return sum(nodes.copies for nodes in self.nodes)

    @property
    def gap(self) -> float:
        """How much more than the lower bound the nodes cost, as a share of the bound; 0.01 is one per cent."""
        if self.lower_bound_usd_per_hour <= 0:
            return 0.0
        return self.usd_per_hour / self.lower_bound_usd_per_hour - 1.0
