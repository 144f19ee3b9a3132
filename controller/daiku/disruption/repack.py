"""N nodes become M: the cheapest end state, and the way there in steps that are each worth taking.

Karpenter looks at one node at a time, or at a prefix of a list. What a person sees by eye, that these five could be
those three, it finds by luck. Here the whole set is looked at: which nodes are worth keeping, where everybody else
goes, and which nodes to make for those who find no room.

    found = repack.search(world, payback.movable(candidates, world, snapshot, now))

How: a node is worth keeping when it is cheap for what it offers, is full already, and is dear to empty. Nodes are
ranked by that, the best are kept in several numbers, and each number is weighed without looking at new nodes: what is
left over is counted at the price that the lower bound gives it. The best is improved by taking single nodes out of
it or into it, then solved in earnest, and so is everything anew. All places come from `scheduling.whatif`, so every
constraint that holds for pods that wait holds here.

`disruption.steps` makes the way there.

Letters in shapes: R resources, N movable nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from daiku.disruption import steps
from daiku.disruption.steps import Movable, Step
from daiku.report import Repacked
from daiku.scheduling.columns import Floats
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.whatif import WhatIf

Stop = Callable[[], bool]
"""Whether the best so far will do."""
_SHARES: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4)
"""How many nodes are kept, as a share of those whose room would do for all pods."""
_CONTENT: Final = 0.3
"""How much what a node holds now counts towards keeping it, against what it could hold."""
_NEW_LOSS: Final = 1.01
"""What new nodes cost, over what the lower bound says of their pods."""
_CHANGES: Final = 8
"""Nodes taken out of the set, or into it, in one try of the improvement, at most."""
_PENNY: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Repack:
    """The cheapest end state that was found, and the way there."""

    steps: tuple[Step, ...]
    """In order; each leaves the cluster cheaper and no pod without a place."""
    usd_per_hour_before: float
    """All launched nodes, now."""
    usd_per_hour_after: float
    """The same after all steps."""
    lower_bound_usd_per_hour: float
    """No cluster that holds the pods that run can cost less."""
    moved: int
    """Pods that are evicted on the way."""
    considered: int
    """Nodes that could have gone."""

    @property
    def figures(self) -> Repacked:
        """The same in numbers."""
        return Repacked(
            considered=self.considered,
            gone=sum(len(step.gone) for step in self.steps),
            made=sum(len(step.launched) for step in self.steps),
            steps=len(self.steps),
            moved=self.moved,
            usd_per_hour_before=self.usd_per_hour_before,
            usd_per_hour_after=self.usd_per_hour_after,
            lower_bound_usd_per_hour=self.lower_bound_usd_per_hour,
        )

    def __str__(self) -> str:
        """One sentence for a person."""
        return str(self.figures)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """One search."""

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

    def weighed(self, gone: Sequence[int]) -> float:
        """About what it would cost if these went: new nodes at the price of the lower bound, moves included."""
        names = self._names(gone)
        outcome = self.world.without(names, new_nodes_most=0, closed=self.closed - names)
        rest = self.world.requests_of([p for u in outcome.unschedulable for p in u.pods])
        kept = float(self.price.sum() - self.price[list(gone)].sum())
        return kept + _NEW_LOSS * float(self.worth @ rest) + float(self.moving[list(gone)].sum())

    def solved(self, gone: Sequence[int]) -> tuple[float, Outcome]:
        """What it would cost, and how."""
        names = self._names(gone)
        outcome = self.world.without(names, closed=self.closed - names)
        if outcome.refusal is not None:
            return np.inf, outcome
        left = float(self.price.sum() - self.price[list(gone)].sum())
        return left + outcome.new_usd_per_hour + float(self.moving[list(gone)].sum()), outcome

    def _names(self, gone: Sequence[int]) -> frozenset[str]:
        return frozenset(self.movable[index].name for index in gone)


def search(
    world: WhatIf,
    movable: Sequence[Movable],
    *,
    closed: frozenset[str] = frozenset(),
    tries: int = 24,
    stop: Stop | None = None,
) -> Repack:
    """The cheapest end state that is found.

    Args:
        world: The snapshot, ready to be asked.
        movable: Nodes that may go, in the order of names.
        closed: Nodes that shall take no pod while they stay.
        tries: How many changes of the best set are tried.
        stop: Asked between two tries whether the best so far will do.
    """
    least = world.bound()
    found = _search(world, movable, least.worth, closed)
    before = world.total_usd_per_hour
    way: tuple[Step, ...] = ()
    if movable and least.usd_per_hour > 0:
        order, kept = _sets(found)
        gone = _improved(found, order, kept[0], tries, stop)
        # Everything anew is weighed too well or too badly at times, so it is always solved in earnest.
        sets = dict.fromkeys(
            (tuple(gone), tuple(sorted(order[kept[0] :])), tuple(range(len(order))))
        )
        best = min((found.solved(each) for each in sets), key=lambda each: each[0])
        if np.isfinite(best[0]):
            way = steps.ordered(best[1], movable, world)
    saved = sum(step.saved_usd_per_hour for step in way)
    return Repack(
        steps=way,
        usd_per_hour_before=before,
        usd_per_hour_after=before - saved,
        lower_bound_usd_per_hour=least.usd_per_hour,
        moved=sum(len(step.moves) for step in way),
        considered=len(movable),
    )


def ranked(world: WhatIf, movable: Sequence[Movable]) -> list[Movable]:
    """The nodes that are least worth keeping first."""
    return [movable[i] for i in reversed(_order(_search(world, movable, world.bound().worth)))]


def _search(
    world: WhatIf,
    movable: Sequence[Movable],
    worth: Floats,
    closed: frozenset[str] = frozenset(),
) -> _Search:
    return _Search(
        world,
        movable,
        np.array([each.usd_per_hour for each in movable]),
        np.array([each.moving_usd_per_hour for each in movable]),
        worth,
        closed,
    )


def _values(search: _Search) -> tuple[Floats, Floats]:
    """What the room of each movable node, and what its pods take of it, is worth in USD per hour, shape (N,)."""
    names = [each.name for each in search.movable]
    world = search.world
    content = np.array([search.worth @ world.requests_of(world.pods_on(n)) for n in names])
    return search.worth @ world.free_on(names) + content, content


def _order(search: _Search) -> list[int]:
    """Nodes, those that are most worth keeping first."""
    room, content = _values(search)
    price = np.maximum(search.price, _PENNY)
    score: Floats = np.round((room + _CONTENT * content + search.moving) / price, 9)
    return np.argsort(-score, kind="stable").tolist()


def _sets(search: _Search) -> tuple[list[int], list[int]]:
    """Nodes, those that are most worth keeping first, and how many to keep, the most promising number first."""
    room, content = _values(search)
    order = _order(search)
    covered: Floats = np.cumsum(room[order])
    enough = int(np.count_nonzero(covered < content.sum())) + 1
    weighed: dict[int, float] = {}
    for share in _SHARES:
        kept = min(round(share * enough), len(order))
        if kept not in weighed:
            weighed[kept] = search.weighed(order[kept:])
    return order, sorted(weighed, key=lambda kept: (weighed[kept], -kept))


def _improved(
    search: _Search, order: list[int], kept: int, tries: int, stop: Stop | None
) -> list[int]:
    """All but the first `kept` of `order`, with single nodes taken out or in where that looks cheaper."""
    random = np.random.Generator(np.random.PCG64(len(order)))
    gone = set(order[kept:])
    cost = search.weighed(sorted(gone))
    for _ in range(tries):
        if stop is not None and stop():
            break
        changed = set(gone)
        size = int(random.integers(1, _CHANGES + 1))
        # Nodes near the border between kept and gone are those about which the ranking knows least.
        border = len(order) - len(gone)
        near = np.abs(np.arange(len(order)) - border) + 1.0
        picks = random.choice(
            len(order), min(size, len(order)), replace=False, p=(1 / near) / (1 / near).sum()
        )
        for pick in picks:
            changed ^= {order[int(pick)]}
        other = search.weighed(sorted(changed))
        if other < cost - _PENNY:
            gone, cost = changed, other
    return sorted(gone)
