"""A set of nodes under construction.

Letters in shapes: C classes, N nodes, M classes on a node.
"""

from dataclasses import dataclass, field

import numpy as np

from daiku.scheduling.packer import fill
from daiku.scheduling.packer.demand import Floats, Ints
from daiku.scheduling.packer.tables import Tables


@dataclass(slots=True, eq=False)
class Fleet:
    """Nodes as lists: column, classes and pods of each."""

    columns: list[int] = field(default_factory=list[int])
    classes: list[Ints] = field(default_factory=list[Ints])
    """Ascending for each node, shape (M,)."""
    pods: list[Floats] = field(default_factory=list[Floats])
    """Shape (M,)."""

    def add(self, column: int, pods: Floats, copies: int = 1) -> None:
        """Add `copies` nodes with `pods` of each class, shape (C,)."""
        classes = np.flatnonzero(pods)
        self.columns += [column] * copies
        self.classes += [classes] * copies
        self.pods += [pods[classes]] * copies

    def usd_per_hour(self, tables: Tables) -> float:
        """Price of all nodes."""
        return float(tables.prices[self.columns].sum()) if self.columns else 0.0

    def dense(self, nodes: Ints, classes: int) -> Floats:
        """Pods of each class on each of `nodes`, shape (N, C)."""
        pods = np.zeros((len(nodes), classes))
        for row, node in enumerate(nodes):
            pods[row, self.classes[node]] = self.pods[node]
        return pods


def recolumned(tables: Tables, fleet: Fleet) -> Fleet:
    """The same nodes, each of the cheapest column that holds it."""
    pods = fleet.dense(np.arange(len(fleet.columns)), len(tables.counts))
    classes = np.broadcast_to(np.arange(len(tables.counts)), pods.shape)
    columns = fill.cheapest(tables, classes, pods)
    return Fleet([int(column) for column in columns], fleet.classes, fleet.pods)
