"""Which type a new node would be, for many nodes at once.

A node's *signature* is what all its pods and its NodePool require together; it decides which types are left and what
they cost. Asking every type for every node is too much, so types are looked up in a table by the rank of the cpu and
the memory that a node needs; the cheapest type that has both is in the cell. Other resources are checked on that type,
and where it lacks them all types are asked.

Letters in shapes: R resources, T instance types, N nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daiku.model.requirements import Requirements
from daiku.scheduling.columns import Floats, Ints, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The cheapest type for any amount of two resources."""

    axes: tuple[int, int]
    """Rows of the two resources."""
    ranks: tuple[Ints, Ints]
    """The amounts of each that some type has, ascending."""
    cheapest: NDArray[np.int16]
    """Type by rank of both, -1 where no type has as much; one row and column more than there are amounts."""
    others: tuple[int, ...]
    """Rows of all other resources."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What new nodes of one sort have to be, and the types that can be that."""

    requirements: Requirements
    """Without what the cell adds."""
    pinned: Requirements
    """With what the cell adds."""
    usable: Mask
    """Types that meet `pinned` and can be had, shape (T,)."""
    prices: Floats
    """USD per hour, infinity for all others, shape (T,)."""
    order: NDArray[np.intp]
    """Usable types, the cheapest first."""
    table: Table
    priced: Floats
    """`prices` with infinity behind them, so that index -1, no type, costs that, shape (T + 1,)."""

    def smallest(self, need: Ints, allocatable: Ints) -> int:
        """As `cheapest`, for one node: shape (R,)."""
        return int(self.cheapest(need[:, None], allocatable)[0])

    def cheapest(self, need: Ints, allocatable: Ints) -> NDArray[np.int16]:
        """The cheapest type that offers `need`, -1 where there is none, shape (N,).

        Args:
            need: What each node's pods ask for together, shape (R, N).
            allocatable: What each type offers, shape (R, T).
        """
        table = self.table
        one = np.asarray(np.searchsorted(table.ranks[0], need[table.axes[0]]), dtype=np.intp)
        other = np.asarray(np.searchsorted(table.ranks[1], need[table.axes[1]]), dtype=np.intp)
        cell: NDArray[np.intp] = one * table.cheapest.shape[1] + other
        found = table.cheapest.take(cell)
        lacking: Mask | None = None
        for row in table.others:
            short = allocatable[row].take(found) < need[row]
            lacking = short if lacking is None else lacking | short
        if lacking is None or not lacking.any():
            return found
        for position in np.flatnonzero(lacking & (found >= 0)):
            holds = (allocatable[:, self.order] >= need[:, position][:, None]).all(axis=0)
            found[position] = self.order[int(np.argmax(holds))] if holds.any() else -1
        return found


def table(allocatable: Ints, prices: Floats, axes: tuple[int, int]) -> Table:
    """The table of all types with a finite price."""
    order = np.flatnonzero(np.isfinite(prices))
    order = order[np.lexsort((-order, -prices[order]))]
    ranks = [np.unique(allocatable[axis][order]) for axis in axes]
    cheapest = np.full([len(r) + 1 for r in ranks], -1, dtype=np.int16)
    one = np.asarray(np.searchsorted(ranks[0], allocatable[axes[0]][order]), dtype=np.intp)
    other = np.asarray(np.searchsorted(ranks[1], allocatable[axes[1]][order]), dtype=np.intp)
    # From dear to cheap: what is cheaper overwrites what it can stand in for.
    for type_index, rank, other_rank in zip(order, map(int, one), map(int, other), strict=True):
        cheapest[: rank + 1, : other_rank + 1] = type_index
    others = tuple(row for row in range(len(allocatable)) if row not in axes)
    return Table(axes, (ranks[0], ranks[1]), cheapest, others)


def axes_of(resources: Sequence[str]) -> tuple[int, int]:
    """Rows of the two resources that tell types apart best: cpu and memory if they occur."""
    wanted = [resources.index(r) for r in ("cpu", "memory") if r in resources]
    wanted += [row for row in range(len(resources)) if row not in wanted]
    return wanted[0], wanted[1 if len(wanted) > 1 else 0]
