"""Consolidation one command at a time, as the peer does it: what a repack of the same nodes is held against.

Source: karpenter-core v1.15, `disruption/multinodeconsolidation.go`, `singlenodeconsolidation.go` and
`consolidation.go`: empty nodes go; then the most of the first hundred nodes, those with the fewest pods first, that
binary search finds whose pods fit onto the others and at most one cheaper node; then the first single node for which
that holds; and again, until nothing is left to do. A replacement of a type that goes must be cheaper than that
type's cheapest node. Pods are placed first fit, the largest first. Nothing is in its way: no budget, no time limit.

It knows resources only, which is all that the pods of `repack-1200` ask for.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.whatif import WhatIf

_NODES_MOST: Final = 100
"""Nodes among which binary search looks."""
_LESS: Final = 1e-9


@dataclass
class Cluster:
    """Nodes and what is on them. Letters in shapes: N nodes, C pod classes, R resources, T instance types."""

    held: Ints
    """Shape (N, C)."""
    free: Ints
    """Shape (N, R)."""
    kind: NDArray[np.intp]
    """Index among the instance types of each node, -1 for unknown, shape (N,)."""
    usd_per_hour: Floats
    """Shape (N,)."""
    requests: Ints
    """Shape (C, R)."""
    allocatable: Ints
    """Shape (T, R)."""
    prices: Floats
    """Of the cheapest offering of each type, in USD per hour, infinite where there is none, shape (T,)."""
    evictions: int = 0
    launched: int = 0
    commands: int = 0

    def settle(self) -> None:
        """Consolidate until there is nothing to do."""
        while True:
            if (empty := ~self.held.any(axis=1)).any():
                self._keep(~empty)
                self.commands += 1
            if not (self._of_many() or self._of_one()):
                return

    def _of_many(self) -> bool:
        """Consolidate the most nodes together that binary search finds."""
        ranked = self._ranked()[:_NODES_MOST]
        least, most, best = 2, len(ranked), 0
        while least <= most:
            middle = (least + most) // 2
            if self._without(ranked[:middle]) is not None:
                best, least = middle, middle + 1
            else:
                most = middle - 1
        return best > 0 and self._tried(ranked[:best])

    def _of_one(self) -> bool:
        return any(self._tried(np.array([one])) for one in self._ranked().tolist())

    def _ranked(self) -> NDArray[np.intp]:
        return np.argsort(self.held.sum(axis=1), kind="stable")

    def _tried(self, gone: NDArray[np.intp]) -> bool:
        """Take these nodes away if that can be done."""
        found = self._without(gone)
        if found is None:
            return False
        taken, left, kind = found
        self.commands += 1
        self.evictions += int(self.held[gone].sum())
        self.held, self.free = self.held + taken, self.free - taken @ self.requests
        stays = np.ones(len(self.held), dtype=np.bool_)
        stays[gone] = False
        self._keep(stays)
        if kind is not None:
            self.launched += 1
            self.held = np.vstack([self.held, left])
            self.free = np.vstack([self.free, self.allocatable[kind] - left @ self.requests])
            self.kind = np.append(self.kind, kind)
            self.usd_per_hour = np.append(self.usd_per_hour, self.prices[kind])
        return True

    def _keep(self, stays: Mask) -> None:
        self.held, self.free = self.held[stays], self.free[stays]
        self.kind, self.usd_per_hour = self.kind[stays], self.usd_per_hour[stays]

    def _without(self, gone: NDArray[np.intp]) -> tuple[Ints, Ints, int | None] | None:
        """Pods that the other nodes take, shape (N, C), those left, shape (C,), and the type of a node for these."""
        free = self.free.copy()
        free[gone] = 0
        taken, left = np.zeros_like(self.held), self.held[gone].sum(axis=0)
        by_size = np.lexsort(tuple(-self.requests.T[::-1]))
        for row in by_size[left[by_size] > 0].tolist():
            asked = np.flatnonzero(self.requests[row])
            fits = np.maximum((free[:, asked] // self.requests[row, asked]).min(axis=1), 0)
            fits[gone] = 0
            more = np.minimum(np.maximum(left[row] - (fits.cumsum() - fits), 0), fits)
            free[:, asked] -= more[:, None] * self.requests[row, asked]
            taken[:, row] = more
            left[row] -= more.sum()
        if not left.any():
            return taken, left, None
        kind = self._replacement(gone, left)
        return None if kind is None else (taken, left, kind)

    def _replacement(self, gone: NDArray[np.intp], left: Ints) -> int | None:
        """The cheapest type that takes all that is left and costs less than the nodes that go."""
        fits: Mask = (self.allocatable >= left @ self.requests).all(axis=1)
        most = float(self.usd_per_hour[gone].sum())
        if len(gone) > 1:
            same = [k for k in self.kind[gone].tolist() if k >= 0 and fits[k]]
            most = min([most, *self.prices[same].tolist()])
        prices: Floats = np.where(fits & (self.prices < most - _LESS), self.prices, np.inf)
        best = int(prices.argmin())
        return best if np.isfinite(prices[best]) else None


def cluster(world: WhatIf) -> Cluster:
    """The nodes of a what-if whose pods mind nothing but resources, in the order of names."""
    names = sorted(world.usd_per_hour)
    usd_per_hour = np.array([world.usd_per_hour[name] for name in names])
    held = np.array([world.counts_of(world.pods_on(name)) for name in names])
    (template,) = world.whole.templates
    hosting = template.hostings[int(held.sum(axis=0).argmax())]
    prices = np.full(template.allocatable.shape[1], np.inf)
    prices[hosting.types] = hosting.prices[hosting.types]
    alike = np.isclose(usd_per_hour[:, None], prices)
    return Cluster(
        held=held,
        free=world.free_on(names).T,
        kind=np.where(alike.any(axis=1), alike.argmax(axis=1), -1),
        usd_per_hour=usd_per_hour,
        requests=world.whole.requests.T,
        allocatable=template.allocatable.T,
        prices=prices,
    )
