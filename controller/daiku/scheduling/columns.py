"""Labels and amounts of many things at once, as columns.

The problem: "which of 800 instance types has a value of this label that suits?" must not be asked 800 times. The idea:
things share values, so each distinct value of a label is asked once, and the answer is spread by index.

Letters in shapes: R resources, K things (instance types, offerings or nodes).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.model.requirements import Requirement, Requirements

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

AMOUNT_MAX: Final = 2**60
"""Larger amounts are cut to this, so that a few can be added up within 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """What one label is for each thing."""

    distinct: tuple[Requirement, ...]
    """Every different value, or set of values; the first stands for absence."""
    index: NDArray[np.intp]
    """Which of them each thing has, shape (K,)."""

    def meets(self, requirement: Requirement) -> Mask:
        """Things whose label can have a value that `requirement` allows, shape (K,)."""
        return np.array([value.intersects(requirement) for value in self.distinct])[self.index]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of K things."""

    size: int
    by_key: Mapping[str, LabelColumn]

    def meets(self, requirements: Requirements, *, only_known: bool = False) -> Mask:
        """Things that meet all of `requirements`, shape (K,).

        Args:
            requirements: What is asked.
            only_known: Leave out keys that none of the things has.
        """
        met = np.ones(self.size, dtype=np.bool_)
        for requirement in requirements:
            column = self.by_key.get(requirement.key)
            if column is not None:
                met &= column.meets(requirement)
            elif not only_known and not requirement.absent:
                met[:] = False
        return met


def stack(things: Sequence[Requirements]) -> Labels:
    """The labels of `things` as columns."""
    distinct: dict[str, dict[Requirement, int]] = {}
    by_identity: dict[str, dict[int, int]] = {}
    indices: dict[str, list[int]] = {}
    for position, requirements in enumerate(things):
        for key, requirement in requirements.by_key.items():
            if key not in distinct:
                distinct[key] = {_absence(key): 0}
                by_identity[key] = {}
                indices[key] = [0] * len(things)
            # Things mostly share the very same values, and looking at those again costs more than at their identity.
            index = by_identity[key].get(id(requirement))
            if index is None:
                known = distinct[key]
                index = known.setdefault(requirement, len(known))
                by_identity[key][id(requirement)] = index
            indices[key][position] = index
    columns = {
        key: LabelColumn(tuple(known), np.array(indices[key], dtype=np.intp))
        for key, known in distinct.items()
    }
    return Labels(len(things), columns)


def amounts(resources: Sequence[str], things: Sequence[Mapping[str, int]]) -> Ints:
    """Amounts of `things`, one row per resource, shape (R, K)."""
    rows = np.zeros((len(resources), len(things)), dtype=np.int64)
    for row, resource in enumerate(resources):
        rows[row] = [max(-AMOUNT_MAX, min(thing.get(resource, 0), AMOUNT_MAX)) for thing in things]
    return rows


def copies(room: Ints, requests: Ints) -> Ints:
    """How often `requests` fits into each column of `room`, at least 0, shape (K,).

    Args:
        room: What is free, shape (R, K).
        requests: What one pod asks for, shape (R,); a resource that is not asked for never blocks.
    """
    asked = np.flatnonzero(requests)
    times = np.full(room.shape[1], AMOUNT_MAX, dtype=np.int64)
    for resource in asked:
        np.minimum(times, room[resource] // requests[resource], out=times)
    return np.maximum(times, 0)


def _absence(key: str) -> Requirement:
    return Requirement(key, complement=False, absent=True)
