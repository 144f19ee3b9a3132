"""A set of nodes under construction.

Letters in shapes: C classes, N nodes, M classes on a node.
"""

from dataclasses import dataclass, field

import numpy as np

from daiku.scheduling.packer import fill
from daiku.scheduling.packer.demand import Floats, Ints, Mask
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

    def price(self, tables: Tables) -> float:
        """Price of all nodes, as the search counts it."""
        return float(tables.prices[self.columns].sum()) if self.columns else 0.0

    def used(self, tables: Tables) -> Floats:
        """What the pods of each node ask for together, shape (R, N)."""
        asked = tables.requests[:, np.concatenate(self.classes)] * np.concatenate(self.pods)
        return np.add.reduceat(asked, self._starts(), axis=1)

    def shut(self, tables: Tables) -> Mask:
        """Profiles that are not open to all classes on each node, shape (N, F)."""
        present = tables.open_to[:, np.concatenate(self.classes)]
        return ~np.logical_and.reduceat(present, self._starts(), axis=1).T

    def _starts(self) -> Ints:
        sizes = [len(classes) for classes in self.classes]
        return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def recolumned(tables: Tables, fleet: Fleet) -> Fleet:
    """The same nodes, each of the cheapest column that holds it."""
    if not fleet.columns:
        return fleet
    columns = fill.cheapest(tables, fleet.used(tables), fleet.shut(tables))
    return Fleet([int(column) for column in columns], fleet.classes, fleet.pods)
