"""Where kube-scheduler would put pods that have to move: it does not pack, it levels.

A plan may find room for every pod by choosing well who goes where. Nobody carries that choice out: pods that are
evicted are bound within milliseconds, each to the node that is then the least full. So before many pods are moved it
is asked what is left over when they are put up to a common level, the largest first. Constraints between pods are not
looked at here; whoever decides has looked at them.

Source: kube-scheduler's LeastAllocated and BalancedAllocation, which weigh the same: of two resources, a node's score
is 200 - 100 max(cpu used, memory used), the pod included.

Letters in shapes: S questions asked at once, R resources, C pod classes, H nodes that take pods.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.model import resources
from daiku.scheduling.columns import Floats, Ints, Mask

_LEVELS: Final = 8
"""Halvings by which the level is found."""
_SCORED: Final = (resources.CPU, resources.MEMORY)
"""Resources by which kube-scheduler ranks nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class Landing:
    """Nodes, and pods that could come to them. Made by `of`."""

    free: Ints
    """Shape (R, H)."""
    total: Ints
    """What each has for pods, with those that it has, shape (R, H)."""
    hostable: Mask
    """Which class each may host, shape (C, H)."""
    requests: Ints
    """Shape (R, C)."""
    scored: NDArray[np.intp]
    """Which of R rank nodes."""
    order: NDArray[np.intp]
    """Classes, those of the largest pods first, shape (C,)."""

    def left_over(self, moved: Ints, stays: Mask | None = None) -> Ints:
        """How many pods of each class find no room, shape (S, C).

        Args:
            moved: Pods of each class that have to land, shape (S, C).
            stays: Nodes that take them, shape (S, H); None: all do.
        """
        everywhere: Mask = np.ones((len(moved), len(self.free.T)), dtype=np.bool_)
        left = moved.copy()
        for row, taken in self.landed(moved, everywhere if stays is None else stays):
            left[:, row] -= taken.sum(axis=1)
        return left

    def landed(self, moved: Ints, stays: Mask) -> Iterator[tuple[int, Ints]]:
        """Class by class how many of its pods each node gets, shape (S, H); for arguments see `left_over`."""
        free = np.repeat(self.free[:, None, :], len(moved), axis=1)
        for row in self.order[moved[:, self.order].any(axis=0)].tolist():
            count, asks = moved[:, row, None], self.requests[:, row]
            asked = np.flatnonzero(asks)
            amounts = asks[asked][:, None, None]
            copies = (free[asked] // amounts).min(axis=0, initial=int(count.max()))
            fits = np.clip(copies, 0, count) * (stays & self.hostable[row])
            taken = self._levelled(fits, count, free, asks)
            free[asked] -= amounts * taken
            yield row, taken

    def _levelled(self, fits: Ints, count: Ints, free: Ints, asks: Ints) -> Ints:
        """How many of `count` equal pods, shape (S, 1), each node gets that has room for `fits`, shape (S, H)."""
        rows = self.scored[asks[self.scored] > 0]
        taken = fits
        if len(rows) and (fits.sum(axis=1, keepdims=True) > count).any():
            per = asks[rows][:, None]
            whole: Floats = (self.total[rows] / per)[:, None, :]
            used: Floats = whole - free[rows] / per[:, :, None]
            low, high = np.zeros(count.shape), np.ones(count.shape)
            for _ in range(_LEVELS):
                level = (low + high) / 2
                filled = np.clip((level * whole - used).min(axis=0).astype(np.int64), 0, fits)
                enough = filled.sum(axis=1, keepdims=True) >= count
                low, high = np.where(enough, low, level), np.where(enough, level, high)
                taken = np.where(enough, filled, taken)
        return np.clip(count - (taken.cumsum(axis=1) - taken), 0, taken)


def of(names: tuple[str, ...], free: Ints, held: Ints, hostable: Mask, requests: Ints) -> Landing:
    """The question what lands where.

    Args:
        names: Of the resources, shape (R,).
        free: What nodes have left, shape (R, H).
        held: What their pods ask for, shape (R, H).
        hostable: Which class each may host, shape (C, H).
        requests: What a pod of each class asks for, shape (R, C).
    """
    total = np.maximum(free, 0) + held
    scored = np.flatnonzero([name in _SCORED for name in names])
    mean: Floats = np.maximum(total.sum(axis=1) / max(total.shape[1], 1), 1.0)
    shares: Floats = np.round(requests[scored] / mean[scored, None], 9)
    largest: NDArray[np.intp] = np.argsort(-shares.max(axis=0, initial=0.0), kind="stable")
    return Landing(free, total, hostable, requests, scored, largest)
