"""Which nodes had better go: a set is weighed in well under a millisecond, so thousands of sets can be tried.

A node is worth keeping when it is cheap for what it offers, is full already, and is dear to empty. Nodes are ranked by
that, and the best are kept in several numbers. From the most promising number on, single nodes are taken out of the
set, put into it, or exchanged; a change for the worse is accepted now and then, less and less often, because what fits
where makes many sets that no single change improves.

A set is weighed by putting the pods of the nodes that go into the room of those that stay. What is left over counts at
the price that the lower bound gives it, and no less than that of a node that takes it. At a glance each node takes what
those before it leave; a set that is not too dear then is weighed once more, as kube-scheduler would place its pods
(`landing`), or if they mind company by the whole what-if. Pods leave by size (`lifecycle.drain`) and come back about
in that order, but each owner makes its own anew, and a set that is full to the brim in one order leaves pods without
room in others; so landings are asked for in several. Only the best set is solved in earnest, by whoever asks.

The longer no change is accepted, the more are weighed at once, which costs little more than one.

Letters in shapes: S sets, R resources, C pod classes, N movable nodes, H nodes that take pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.disruption import eviction_cost
from daiku.disruption.sequencing import Movable
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.landing import Landing
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.problem import Problem
from daiku.scheduling.whatif import WhatIf

_SHARES: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4)
"""How many nodes are kept, as a share of those whose room would do for all pods."""
_CONTENT: Final = 0.3
"""How much what a node holds now counts towards keeping it, against what it could hold."""
_NEW_LOSS: Final = 1.01
"""What new nodes cost when they are packed, over what the lower bound says of their pods."""
_WARMTH: Final = 0.01
"""How much worse a set may be that is still looked at in the beginning, as a share of its cost; shared by the root of
the number of nodes, because a set of many changes by less at a time."""
_CYCLE: Final = 4000
"""Changes after which it begins anew from the best set."""
_GLANCE: Final = 4
"""Part of the changes after which it ends when every node had better stay: a cluster that is as it should be."""
_AT_ONCE: Final = 2048
"""Nodes in all sets together that are weighed at once."""
_EXCHANGES: Final = 0.6
"""Share of changes that exchange one node for another."""
_EMPTIES: Final = 0.75
"""Share of changes in which a node goes that stayed."""
_ORDERS: Final = 2
"""Orders in which pods may come beside that of their sizes."""
_LATE: Final = 8
"""Up to how many of the classes after it one may be behind in these: a few ReplicaSets make successors at a time."""
_PENNY: Final = 1e-9


@dataclass(slots=True, eq=False)
class RemovalSearch:
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
    may_grow: bool = True
    """Whether there may be new nodes."""
    tried: int = 0
    """Sets that were weighed."""
    _held: Ints = field(init=False)
    """Pods of each class on each node, shape (N, C)."""
    _takers: NDArray[np.intp] = field(init=False)
    """Index among the nodes that take pods of each movable node, -1 for those that take none, shape (N,)."""
    _free: Ints = field(init=False)
    """Shape (R, H)."""
    _hostable: Mask = field(init=False)
    """Which nodes may host each class, whatever of its preferences it gives up, shape (C, H)."""
    _minding: Mask = field(init=False)
    """Nodes with pods that mind company even when they have given up all preferences, shape (N,)."""
    _asked: list[NDArray[np.intp]] = field(init=False)
    """Resources that each class asks for."""
    _landings: tuple[Landing, ...] = field(init=False)
    """The same question with pods that come in several orders, that by size first."""
    _least: Floats = field(init=False)
    """What a new node for one pod of each class costs at least, in USD per hour, shape (C,)."""

    def __post_init__(self) -> None:
        """Take out of the question what every set is weighed with."""
        names = [each.name for each in self.movable]
        held = [self.world.counts_of(self.world.pods_on(name)) for name in names]
        self._held = np.array(held, dtype=np.int64).reshape(len(names), -1)
        there = self.world.takers(self.closed)
        place = {name: index for index, name in enumerate(there)}
        self._takers = np.array([place.get(name, -1) for name in names], dtype=np.intp)
        landing, random = self.world.landing(there), np.random.Generator(np.random.PCG64(0))
        self._free, self._hostable = landing.free, landing.hostable
        late = np.arange(len(landing.order)) + _LATE * random.random((_ORDERS, len(landing.order)))
        others = (landing.order[each] for each in np.argsort(late, axis=1, kind="stable"))
        self._landings = (landing, *(replace(landing, order=each) for each in others))
        self._least = _least_for_one(self.world.whole)
        self._minding = self._held[:, _company(self.world.whole)].sum(axis=1) > 0
        self._asked = [np.flatnonzero(each) for each in self.world.whole.requests.T]

    def order(self) -> list[int]:
        """Nodes, those that are most worth keeping first."""
        content = self._content()
        price = np.maximum(self.price, _PENNY)
        score: Floats = np.round((self._room() + _CONTENT * content + self.moving) / price, 9)
        return np.argsort(-score, kind="stable").tolist()

    def first(self, order: Sequence[int], stop: Stop | None = None) -> Mask:
        """The most promising number of the best nodes is kept; the others, which go, are True, shape (N,).

        Args:
            order: Nodes, those that are most worth keeping first.
            stop: Asked after each number whether the best so far will do: of thousands of nodes one takes seconds.
        """
        covered: Floats = np.cumsum(self._room()[list(order)])
        enough = int(np.count_nonzero(covered < self._content().sum())) + 1
        numbers = dict.fromkeys(min(round(share * enough), len(order)) for share in _SHARES)
        best, least = self._all_but(()), np.inf
        # The likeliest first, because time may be up.
        for kept in sorted(numbers, key=lambda number: (abs(number - enough), number)):
            gone = self._all_but(order[:kept])
            cost = self.weighed(gone, least)
            if cost < least:
                best, least = gone, cost
            if stop is not None and stop():
                break
        return best

    def improved(self, gone: Mask, tries: int, stop: Stop | None) -> Mask:
        """The best set that is found by changing `gone` here and there."""
        random = np.random.Generator(np.random.PCG64(len(gone)))
        best, least = gone, self.weighed(gone)
        nobody = np.zeros_like(gone)
        if (kept := self.weighed(nobody, least)) < least:
            best, least = nobody, kept
        glance = min(tries, _CYCLE) // _GLANCE
        best, least = self._cooled(best, least, glance, random, stop)
        left = tries - glance if best.any() else 0
        while left > 0 and not (stop is not None and stop()):
            best, least = self._cooled(best, least, min(left, _CYCLE), random, stop)
            left -= _CYCLE
        return best

    def _cooled(
        self, gone: Mask, cost: float, tries: int, random: np.random.Generator, stop: Stop | None
    ) -> tuple[Mask, float]:
        """The best set that so many changes lead to, less and less for the worse, and what it costs."""
        best, least = gone, cost
        warmth = _WARMTH * cost / np.sqrt(len(gone))
        number, width, widest = 0, 1, max(1, _AT_ONCE // max(self._free.shape[1], 1))
        while number < tries and not (stop is not None and stop()):
            others = np.array([_changed(gone, random) for _ in range(min(width, tries - number))])
            width = min(2 * width, widest)
            # What chance lets the next sets cost: most often little more than this one.
            cold = (1 - (number + np.arange(len(others))) / tries) ** 2
            most = cost - np.log1p(-random.random(len(others))) * (warmth * cold + _PENNY)
            weighed = self._in_earnest(others, most)
            will_do = np.flatnonzero(weighed <= most)
            number += int(will_do[0]) + 1 if len(will_do) else len(others)
            if len(will_do):
                gone, cost, width = others[will_do[0]], float(weighed[will_do[0]]), 1
                if cost < least - _PENNY:
                    best, least = gone, cost
        return best, least

    def weighed(self, gone: Mask, most: float = np.inf) -> float:
        """About what all would cost per hour if these went, moves included; above `most` it may be said too low."""
        return float(self._in_earnest(gone[None], np.array([most]))[0])

    def _in_earnest(self, gone: Mask, most: Floats) -> Floats:
        """What a glance says of each of S sets; of those that could cost at most `most` what landings or what-ifs say.

        Args:
            gone: Shape (S, N).
            most: Shape (S,).
        """
        self.tried += len(gone)
        cost = self._glances(gone)
        kept = np.where(gone, self.moving, self.price).sum(axis=1)
        minding: Mask = np.asarray((gone & self._minding).any(axis=1), dtype=np.bool_)
        for row in np.flatnonzero(minding & (cost <= most)).tolist():
            cost[row] = kept[row] + self.friction * self._rest_of_what_if(gone[row])
            if cost[row] <= most[row]:
                # Those after it are not asked about.
                minding[row + 1 :] = True
                break
        known = np.zeros(len(gone))
        for count, landing in enumerate(self._landings, start=1):
            open_ones = np.flatnonzero(~minding & (cost <= most))
            if not len(open_ones):
                break
            known[open_ones] += self._rests(gone[open_ones], landing)
            cost[open_ones] = kept[open_ones] + self.friction * known[open_ones] / count
        return cost

    def _rest_of_what_if(self, gone: Mask) -> float:
        """What pods that find no room will cost by the whole what-if, in USD per hour; `gone` is of shape (N,)."""
        names = frozenset(m.name for m, goes in zip(self.movable, gone, strict=True) if goes)
        outcome = self.world.without(names, new_nodes_most=0, closed=self.closed - names)
        left = self.world.counts_of(p for u in outcome.unschedulable for p in u.pods)
        return float(self._rest(left[None])[0])

    @property
    def orders(self) -> tuple[NDArray[np.intp], ...]:
        """Orders of classes in which pods may land, that by size first, each of shape (C,)."""
        return tuple(landing.order for landing in self._landings)

    def _rests(self, gone: Mask, landing: Landing) -> Floats:
        """What pods of each of S sets cost that find no room, in USD per hour, shape (S,)."""
        return self._rest(landing.left_over(gone @ self._held, self._stays(gone)))

    def _rest(self, left: Ints) -> Floats:
        """What new nodes for so many pods of each class cost, in USD per hour; `left` is of shape (S, C)."""
        if not self.may_grow:
            return np.where(left.any(axis=1), np.inf, 0.0)
        worth: Floats = self.worth @ (self.world.whole.requests @ left.T)
        least: Floats = np.where(left > 0, self._least, 0.0).max(axis=1, initial=0.0)
        return np.maximum(_NEW_LOSS * worth, least)

    def _glances(self, gone: Mask) -> Floats:
        """What each of S sets costs if nobody minded company, shape (S,); `gone` is of shape (S, N)."""
        kept = np.where(gone, self.moving, self.price).sum(axis=1)
        return kept + _NEW_LOSS * self.friction * (self.worth @ self._left_over(gone))

    @property
    def friction(self) -> float:
        """How much dearer than on paper new nodes are."""
        return eviction_cost.friction(float(self.moving.max(initial=0.0)))

    def _left_over(self, gone: Mask) -> Ints:
        """What the pods of each set ask for that find no room, rules of company left aside, shape (R, S)."""
        moved, stays = gone @ self._held, self._stays(gone)
        free = np.repeat(self._free[:, None, :], len(gone), axis=1)
        requests = self.world.whole.requests
        for row in np.flatnonzero(moved.any(axis=0)).tolist():
            count, asked = moved[:, row, None], self._asked[row]
            amounts = requests[asked, row][:, None, None]
            copies = (free[asked] // amounts).min(axis=0, initial=int(count.max()))
            fits = np.maximum(copies, 0) * (stays & self._hostable[row])
            taken = np.minimum(np.maximum(count - (fits.cumsum(axis=1) - fits), 0), fits)
            free[asked] -= amounts * taken
            moved[:, row] -= taken.sum(axis=1)
        return requests @ moved.T

    def _stays(self, gone: Mask) -> Mask:
        """Nodes that take pods while those of each set are gone, shape (S, H)."""
        stays = np.ones((len(gone), len(self._free.T)), dtype=np.bool_)
        takes = self._takers >= 0
        stays[:, self._takers[takes]] = ~gone[:, takes]
        return stays

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


def _least_for_one(whole: Problem) -> Floats:
    """What a node costs at least that can be made for a pod of each class, in USD per hour, 0 for none, shape (C,)."""
    least = np.full(len(whole.counts), np.inf)
    for template in whole.templates:
        for row, hosting in enumerate(template.hostings):
            least[row] = min(least[row], hosting.prices[hosting.types].min(initial=np.inf))
    return np.where(np.isfinite(least), least, 0.0)


def _company(whole: Problem) -> Mask:
    """Classes whose last rung still minds other pods, by the class that is placed first, shape (C,)."""
    minds = np.zeros(len(whole.counts), dtype=np.bool_)
    if whole.topology is not None:
        rules = zip(whole.topology.rules, whole.topology.host_rules, strict=True)
        for row, (mine, on_hosts) in enumerate(rules):
            if whole.relaxed[row] < 0:
                among = bool(mine.spread or mine.near or mine.apart)
                minds[whole.origin[row]] = among or not on_hosts.is_free
    return minds


def question(
    world: WhatIf,
    movable: Sequence[Movable],
    closed: frozenset[str] = frozenset(),
    *,
    may_grow: bool = True,
) -> RemovalSearch:
    """The question which of `movable` had better go.

    Args:
        world: The snapshot, ready to be asked.
        movable: Nodes that may go, in the order of names.
        closed: Nodes that shall take no pod while they stay.
        may_grow: Whether there may be new nodes.
    """
    return RemovalSearch(
        world,
        movable,
        np.array([each.usd_per_hour for each in movable], dtype=np.float64),
        np.array([each.moving_usd_per_hour for each in movable], dtype=np.float64),
        world.bound().worth,
        closed,
        may_grow,
    )


def _changed(gone: Mask, random: np.random.Generator) -> Mask:
    """The set with one node exchanged for another, put in, or taken out."""
    other = gone.copy()
    staying, going = np.flatnonzero(~gone), np.flatnonzero(gone)
    dice = random.random()
    empties = bool(staying.size) and (dice < _EMPTIES or not going.size)
    keeps = bool(going.size) and (dice < _EXCHANGES or dice >= _EMPTIES or not empties)
    if empties:
        other[staying[random.integers(staying.size)]] = True
    if keeps:
        other[going[random.integers(going.size)]] = False
    return other
