"""Where kube-scheduler would put pods that have to move: it does not pack, it levels and spreads.

A plan may find room for every pod by choosing well who goes where. Nobody carries that choice out: pods that are
evicted are bound within milliseconds, each to the node that is then the least full and has the fewest of its kind. So
before many pods are moved it is asked what is left over when they are put up to a common level, the largest first.
Constraints between pods are not looked at here; whoever decides has looked at them.

Source: kube-scheduler's LeastAllocated and BalancedAllocation, which weigh the same: of two resources, a node's score
is 200 - 100 max(cpu used, memory used), the pod included. PodTopologySpread weighs twice as much, and pods of
ReplicaSets and StatefulSets that say nothing are spread by its defaults over nodes (maxSkew 3) and zones (maxSkew 5):
a node's pods of the same kind count ln(nodes + 2) each, and 100 goes to where the sum is least. Beside a real one 73 %
of 177 pods went where these together say, 97 % to one of the best three, and by the resources alone 33 and 64 %.
Zones are left aside: what they add is the same for all nodes of a zone.
That is kube-scheduler before 1.36, and was measured beside 1.34. From 1.36 on BalancedAllocation gives 75 and half of
what the pod improves the balance by, not the balance that it leaves; this is not modelled.

Letters in shapes: S questions asked at once, R resources, C pod classes, H nodes that take pods.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.model import resources
from daiku.scheduling.columns import Floats, Ints, Mask

_LEVELS: Final = 10
"""Halvings by which the level is found."""
_SCORED: Final = tuple(resources.SIZES)
"""Resources by which kube-scheduler ranks nodes."""
_SPREAD: Final = 2.0
"""What spreading weighs against the resources."""
_SKEWS: Final = (3 - 1) + (5 - 1)
"""What every node's sum has, by the defaults of spreading."""
_LEAST: Final = 1e-9
_ONE_ZONE: Final = float(np.log(1 + 2))
"""What a pod of the same kind counts when all nodes are in one zone."""


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
    kin: Ints
    """Pods of each class that each has, shape (C, H)."""
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
            fits = np.minimum(np.maximum(copies, 0), count) * (stays & self.hostable[row])
            taken = self._levelled(fits, count, free, asks, self.kin[row] * stays)
            free[asked] -= amounts * taken
            yield row, taken

    def _levelled(self, fits: Ints, count: Ints, free: Ints, asks: Ints, kin: Ints) -> Ints:
        """How many of `count` equal pods, shape (S, 1), each node gets.

        Args:
            fits: For how many of them each node has room, shape (S, H).
            count: How many there are, shape (S, 1).
            free: What each node has left, shape (R, S, H).
            asks: What each of them asks for, shape (R,).
            kin: Pods of their kind that each node has, shape (S, H).
        """
        rows = self.scored[asks[self.scored] > 0]
        taken = fits
        if len(rows) and (fits.sum(axis=1, keepdims=True) > count).any():
            per = asks[rows][:, None]
            whole: Floats = np.maximum(self.total[rows] / per, _LEAST)[:, None, :]
            crowd = crowding(kin, fits)
            # One pod more makes a node fuller by its share, and more crowded.
            already: Floats = 1.0 - free[rows] / per[:, :, None] / whole + crowd * kin
            rise: Floats = 1.0 / whole + crowd
            low: Floats = np.zeros(count.shape)
            high: Floats = 1.0 + crowd * (kin.max(axis=1)[:, None] + count)
            for _ in range(_LEVELS):
                level = (low + high) / 2
                more: Floats = ((level - already) / rise).min(axis=0)
                filled = np.minimum(np.maximum(more.astype(np.int64), 0), fits)
                enough = filled.sum(axis=1, keepdims=True) >= count
                low, high = np.where(enough, low, level), np.where(enough, level, high)
                taken = np.where(enough, filled, taken)
        return np.minimum(np.maximum(count - (taken.cumsum(axis=1) - taken), 0), taken)


def homes(
    asked: Landing,
    names: Sequence[str],
    pods: Mapping[int, Sequence[str]],
    stays: Mask | None = None,
) -> tuple[dict[str, str], dict[int, tuple[str, ...]]]:
    """Where each pod would land, and by class those that would not, the last of their class.

    Args:
        asked: The question.
        names: Of its nodes, shape (H,).
        pods: Class -> its pods.
        stays: Nodes that take them, shape (H,); None: all do.
    """
    counts = np.zeros((1, asked.requests.shape[1]), dtype=np.int64)
    counts[0, list(pods)] = [len(each) for each in pods.values()]
    takes: Mask = np.ones(len(names), dtype=np.bool_) if stays is None else stays
    found, left = dict[str, str](), {row: tuple(each) for row, each in pods.items()}
    for row, (amounts,) in asked.landed(counts, takes[None]):
        waiting = iter(left[row])
        for name, amount in zip(names, amounts.tolist(), strict=True):
            found |= dict.fromkeys(islice(waiting, amount), name)
        left[row] = tuple(waiting)
    return found, {row: each for row, each in left.items() if each}


def crowding(kin: Ints, fits: Ints) -> Floats:
    """By how much of a node's room one pod of the same kind more makes it less welcome, shape (S, 1).

    Args:
        kin: Pods of that kind that each node has, shape (S, H).
        fits: For how many more each has room, shape (S, H).
    """
    each: Floats = np.log((fits > 0).sum(axis=1, keepdims=True) + 2.0)
    most: Floats = _ONE_ZONE * kin.sum(axis=1, keepdims=True) + each * kin.max(axis=1)[:, None]
    return _SPREAD * each / (_SKEWS + most)


def of(
    names: tuple[str, ...], *, free: Ints, held: Ints, hostable: Mask, requests: Ints, kin: Ints
) -> Landing:
    """The question what lands where.

    Args:
        names: Of the resources, shape (R,).
        free: What nodes have left, shape (R, H).
        held: What their pods ask for, shape (R, H).
        hostable: Which class each may host, shape (C, H).
        requests: What a pod of each class asks for, shape (R, C).
        kin: Pods of each class, or of the same owners, that each has, shape (C, H).
    """
    total = np.maximum(free, 0) + held
    scored = np.flatnonzero([name in _SCORED for name in names])
    unit = np.array([resources.SIZES[names[row]] for row in scored], dtype=np.float64)
    shares: Floats = np.round(requests[scored] / unit[:, None], 9)
    largest: NDArray[np.intp] = np.argsort(-shares.max(axis=0, initial=0.0), kind="stable")
    return Landing(free, total, hostable, requests, kin, scored, largest)
