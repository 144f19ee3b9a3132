"""How many pods of some classes a new node takes, whatever room it has.

Letters in shapes: C classes, G groups.
"""

from dataclasses import dataclass

import numpy as np

from daiku.scheduling.columns import Ints, Mask
from daiku.scheduling.packer.demand import UNLIMITED


@dataclass(frozen=True, slots=True, eq=False)
class Caps:
    """Most pods of each class and each group of classes on one node."""

    most: Ints
    """Of each class, shape (C,)."""
    groups: Ints
    """Classes that are counted together have the same number, shape (C,); -1 for the others."""
    most_of_group: Ints
    """Of each group, shape (G,)."""

    @property
    def capped(self) -> Mask:
        """Classes for which there is any cap, shape (C,)."""
        return (self.most < UNLIMITED) | (self.groups >= 0)

    def allow(self, counts: Ints) -> bool:
        """Whether a node may hold so many pods of each class, shape (C,)."""
        grouped = self.groups >= 0
        of_group = np.zeros(len(self.most_of_group), dtype=np.int64)
        np.add.at(of_group, self.groups[grouped], counts[grouped])
        return bool((counts <= self.most).all() and (of_group <= self.most_of_group).all())


def none(classes: int) -> Caps:
    """No cap for so many classes."""
    return Caps(
        np.full(classes, UNLIMITED, dtype=np.int64),
        np.full(classes, -1, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )
