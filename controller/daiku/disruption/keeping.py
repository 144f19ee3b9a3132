"""Which nodes had better go: a set is weighed in well under a millisecond, so thousands of sets can be tried.

A node is worth keeping when it is cheap for what it offers, is full already, and is dear to empty. Nodes are ranked by
that, and the best are kept in several numbers. From the most promising number on, single nodes are taken out of the
set, put into it, or exchanged; a change for the worse is accepted now and then, less and less often, because what fits
where makes many sets that no single change improves.

A set is weighed by putting the pods of the nodes that go into the room of those that stay, class by class, each node
taking what those before it leave. What is left over counts at the price that the lower bound gives it. Only the best
set is solved in earnest, by whoever asks.

Letters in shapes: R resources, C pod classes, N movable nodes, H nodes that take pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.disruption.steps import Movable
from daiku.scheduling import columns
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.whatif import WhatIf

_SHARES: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4)
"""How many nodes are kept, as a share of those whose room would do for all pods."""
_CONTENT: Final = 0.3
"""How much what a node holds now counts towards keeping it, against what it could hold."""
_NEW_LOSS: Final = 1.01
"""What new nodes cost, over what the lower bound says of their pods."""
_WARMTH: Final = 0.01
"""How much worse a set may be that is still looked at in the beginning, as a share of its cost; shared by the root of
the number of nodes, because a set of many changes by less at a time."""
_CYCLE: Final = 4000
"""Changes after which it begins anew from the best set."""
_EXCHANGES: Final = 0.6
"""Share of changes that exchange one node for another."""
_EMPTIES: Final = 0.75
"""Share of changes in which a node goes that stayed."""
_PENNY: Final = 1e-9


@dataclass(slots=True, eq=False)
class Keeping:
    """One question. Made by `question`."""

    world: WhatIf
    movable: Sequence[Movable]
    price: Floats
    """USD per hour of each node, shape (N,)."""
    moving: Floats
    """What emptying each costs, as USD per hour over its horizon, shape (N,)."""
    worth: Floats
    """USD per hour of a unit of each resource, shape (R,)."""
    closed: frozenset[str]
    """Nodes that shall take no pod."""
    tried: int = 0
    """Sets that were weighed."""
    _held: Ints = field(init=False)
    """Pods of each class on each node, shape (N, C)."""
    _takers: NDArray[np.intp] = field(init=False)
    """Index among the nodes that take pods of each movable node, -1 for those that take none, shape (N,)."""
    _free: Ints = field(init=False)
    """Shape (R, H)."""
    _hostable: Mask = field(init=False)
    """Shape (C, H)."""

    def __post_init__(self) -> None:
        """Take out of the question what every set is weighed with."""
        names = [each.name for each in self.movable]
        held = [self.world.counts_of(self.world.pods_on(name)) for name in names]
        self._held = np.array(held, dtype=np.int64).reshape(len(names), -1)
        there = self.world.takers(self.closed)
        place = {name: index for index, name in enumerate(there)}
        self._takers = np.array([place.get(name, -1) for name in names], dtype=np.intp)
        self._free, self._hostable = self.world.room_on(there)

    def order(self) -> list[int]:
        """Nodes, those that are most worth keeping first."""
        content = self._content()
        price = np.maximum(self.price, _PENNY)
        score: Floats = np.round((self._room() + _CONTENT * content + self.moving) / price, 9)
        return np.argsort(-score, kind="stable").tolist()

    def first(self, order: Sequence[int]) -> Mask:
        """The most promising number of the best nodes is kept; the others, which go, are True, shape (N,)."""
        covered: Floats = np.cumsum(self._room()[list(order)])
        enough = int(np.count_nonzero(covered < self._content().sum())) + 1
        numbers = dict.fromkeys(min(round(share * enough), len(order)) for share in _SHARES)
        sets = {kept: self._all_but(order[:kept]) for kept in numbers}
        return sets[min(numbers, key=lambda kept: (self.weighed(sets[kept]), kept))]

    def improved(self, gone: Mask, tries: int, stop: Stop | None) -> Mask:
        """The best set that is found by changing `gone` here and there."""
        random = np.random.Generator(np.random.PCG64(len(gone)))
        cost = self.weighed(gone)
        best, least = gone, cost
        warmth = _WARMTH * cost / np.sqrt(len(gone))
        cycle = min(tries, _CYCLE)
        for number in range(tries):
            if stop is not None and stop():
                break
            if number % cycle == 0:
                gone, cost = best, least
            other = _changed(gone, random)
            weighed = self.weighed(other)
            worse = max(weighed - cost, 0.0)
            if worse <= 0 or random.random() < np.exp(
                -worse / (warmth * (1 - number % cycle / cycle) ** 2 + _PENNY)
            ):
                gone, cost = other, weighed
                if cost < least - _PENNY:
                    best, least = gone, cost
        return best

    def weighed(self, gone: Mask) -> float:
        """About what all would cost per hour if these went, moves included."""
        self.tried += 1
        kept = float(self.price[~gone].sum()) + float(self.moving[gone].sum())
        if self.world.whole.topology is not None:
            names = frozenset(m.name for m, goes in zip(self.movable, gone, strict=True) if goes)
            outcome = self.world.without(names, new_nodes_most=0, closed=self.closed - names)
            rest = self.world.requests_of([p for u in outcome.unschedulable for p in u.pods])
            return kept + _NEW_LOSS * float(self.worth @ rest)
        return kept + _NEW_LOSS * float(self.worth @ self._left_over(gone))

    def _left_over(self, gone: Mask) -> Ints:
        """What the pods ask for that find no room, shape (R,)."""
        moved: Ints = self._held[gone].sum(axis=0)
        stays = np.ones(self._free.shape[1], dtype=np.bool_)
        leaving = self._takers[gone]
        stays[leaving[leaving >= 0]] = False
        free = np.ascontiguousarray(self._free[:, stays])
        hostable = self._hostable[:, stays]
        requests = self.world.whole.requests
        for row in map(int, np.flatnonzero(moved)):
            count = int(moved[row])
            copies = columns.copies(free, requests[:, row])
            fits = np.where(hostable[row], np.minimum(copies, count), 0)
            taken = np.clip(count - (np.cumsum(fits) - fits), 0, fits)
            free -= requests[:, row][:, None] * taken
            moved[row] -= taken.sum()
        return requests @ moved

    def _content(self) -> Floats:
        """What the pods of each node take is worth in USD per hour, shape (N,)."""
        return self.worth @ (self.world.whole.requests @ self._held.T)

    def _room(self) -> Floats:
        """What the room of each node is worth that takes pods, with or without them, shape (N,)."""
        free = self.worth @ self.world.free_on([each.name for each in self.movable])
        return free + self._content()

    def _all_but(self, kept: Sequence[int]) -> Mask:
        gone = np.ones(len(self.movable), dtype=np.bool_)
        gone[list(kept)] = False
        return gone


def question(
    world: WhatIf, movable: Sequence[Movable], closed: frozenset[str] = frozenset()
) -> Keeping:
    """The question which of `movable` had better go.

    Args:
        world: The snapshot, ready to be asked.
        movable: Nodes that may go, in the order of names.
        closed: Nodes that shall take no pod while they stay.
    """
    return Keeping(
        world,
        movable,
        np.array([each.usd_per_hour for each in movable], dtype=np.float64),
        np.array([each.moving_usd_per_hour for each in movable], dtype=np.float64),
        world.bound().worth,
        closed,
    )


def _changed(gone: Mask, random: np.random.Generator) -> Mask:
    """The set with one node exchanged for another, put in, or taken out."""
    other = gone.copy()
    staying, going = np.flatnonzero(~gone), np.flatnonzero(gone)
    dice = random.random()
    empties = bool(staying.size) and (dice < _EMPTIES or not going.size)
    keeps = bool(going.size) and (dice < _EXCHANGES or dice >= _EMPTIES or not empties)
    if empties:
        other[random.choice(staying)] = True
    if keeps:
        other[random.choice(going)] = False
    return other
