"""Existing nodes of one cell, and what every node is asked: how many pods of a class do the counts on it allow?

Letters in shapes: R resources, H counters of nodes, N nodes of the bay.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.scheduling import columns
from daiku.scheduling.columns import Ints, Mask

UNLIMITED: Final = 2**31
"""More pods of one class than any node takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostRules:
    """What a class minds and changes on a node, by row of H."""

    zero: tuple[int, ...] = ()
    """Counters that must be 0."""
    above_zero: tuple[int, ...] = ()
    """Counters that must not be 0."""
    at_most: tuple[tuple[int, int, bool], ...] = ()
    """Counter, the most that it may be, and whether the class is counted itself."""
    guarded: tuple[tuple[int, int, int], ...] = ()
    """Counter of pods that guard another counter, that counter, and the most that it may be if there are any."""
    adds: NDArray[np.intp]
    """Counters that each pod raises by 1."""
    most_on_new: int = UNLIMITED
    """Pods of the class that an empty node takes."""

    @property
    def is_free(self) -> bool:
        """Nothing on a node is minded."""
        return not (self.zero or self.above_zero or self.at_most or self.guarded)

    def admits(self, counts: Ints) -> Mask:
        """Nodes that may take one pod by these rules, shape (N,).

        Args:
            counts: Shape (H, N).
        """
        admits = np.ones(counts.shape[1], dtype=np.bool_)
        for row in self.zero:
            admits &= counts[row] == 0
        for row in self.above_zero:
            admits &= counts[row] > 0
        for row, most, counts_itself in self.at_most:
            admits &= counts[row] <= most - counts_itself
        for guard, row, most in self.guarded:
            admits &= (counts[guard] == 0) | (counts[row] < most)
        return admits

    def room(self, counts: Ints) -> Ints:
        """Pods that each node may take by these rules, shape (N,).

        The form is final: it holds in whatever order the pods come, because counts only grow.

        Args:
            counts: Shape (H, N).
        """
        room = np.full(counts.shape[1], UNLIMITED, dtype=np.int64)
        adds: list[int] = self.adds.tolist()
        for row in self.zero:
            most = 1 if row in adds else UNLIMITED
            np.minimum(room, np.where(counts[row] == 0, most, 0), out=room)
        for row in self.above_zero:
            room[counts[row] == 0] = 0
        for row, most, counts_itself in self.at_most:
            left = most - counts[row]
            np.minimum(room, left if counts_itself else np.where(left >= 0, UNLIMITED, 0), out=room)
        for guard, row, most in self.guarded:
            np.minimum(room, np.where(counts[guard] > 0, most - counts[row], UNLIMITED), out=room)
        return np.maximum(room, 0)


@dataclass(slots=True, eq=False)
class Placed:
    """Pods of classes on nodes, as they were placed."""

    rows: list[int] = field(default_factory=list[int])
    nodes: list[Ints] = field(default_factory=list[Ints])
    counts: list[Ints] = field(default_factory=list[Ints])

    def add(self, row: int, nodes: Ints, counts: Ints) -> None:
        """Note that each of `nodes` got so many pods of class `row`."""
        self.rows.append(row)
        self.nodes.append(nodes)
        self.counts.append(counts)

    def by_node(self, size: int) -> list[dict[int, int]]:
        """For each node, the pods of each class on it."""
        found: list[dict[int, int]] = [{} for _ in range(size)]
        for row, nodes, counts in zip(self.rows, self.nodes, self.counts, strict=True):
            for node, count in zip(map(int, nodes), map(int, counts), strict=True):
                found[node][row] = found[node].get(row, 0) + count
        return found


@dataclass(slots=True, eq=False)
class ExistingBay:
    """Existing nodes of one cell, in the order in which they are filled."""

    nodes: NDArray[np.intp]
    """Which nodes of the problem they are, shape (N,)."""
    free: Ints
    """Shape (R, N)."""
    counts: Ints
    """Shape (H, N)."""
    placed: Placed = field(default_factory=Placed)

    def room(self, requests: Ints, hostable: Mask, rules: HostRules) -> Ints:
        """Pods of a class that each node takes, shape (N,).

        Args:
            requests: What each asks for, shape (R,).
            hostable: Which nodes of the problem let them in.
            rules: What they mind.
        """
        fits = np.where(hostable[self.nodes], columns.copies(self.free, requests), 0)
        if not rules.is_free:
            np.minimum(fits, rules.room(self.counts), out=fits)
        return fits

    def take(
        self, row: int, requests: Ints, count: int, hostable: Mask, rules: HostRules, *, nodes: int
    ) -> int:
        """Place up to `count` pods of class `row` on at most `nodes` nodes; how many found a place."""
        fits = self.room(requests, hostable, rules)
        if nodes == 1 and fits.any():
            roomiest = int(np.argmax(np.minimum(fits, count)))
            fits[np.arange(len(fits)) != roomiest] = 0
        before = np.cumsum(np.minimum(fits, count)) - np.minimum(fits, count)
        taken = np.clip(count - before, 0, fits)
        chosen = np.flatnonzero(taken)
        if not chosen.size:
            return 0
        counts = taken[chosen]
        self.free[:, chosen] -= requests[:, None] * counts
        if rules.adds.size:
            self.counts[np.ix_(rules.adds, chosen)] += counts
        self.placed.add(row, chosen, counts)
        return int(counts.sum())
