"""A new node, in indices: what packing and topology hand over to `solution`.

Letters in shapes: T instance types.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from daiku.model.requirements import Requirements
from daiku.scheduling.columns import Floats, Mask


@dataclass(frozen=True, slots=True, eq=False)
class PackedNode:
    """A new node, in indices."""

    template: int
    requirements: Requirements
    """The NodePool's and all its pods' together."""
    counts: Mapping[int, int]
    """Pods of each class on it, at least 1 each, in the order of classes."""
    types: Mask
    """Instance types that hold them all, shape (T,)."""
    prices: Floats
    """What each type costs in USD per hour, shape (T,)."""
