"""New nodes of one NodePool in one cell, while they are being planned.

A new node grows: it is the cheapest type that holds its pods so far, and one pod more may make it a dearer one; that
difference is what the place costs. So places that cost nothing are taken first, the tightest of them first; then nodes
are made larger as long as that costs no more than a new node; then nodes are made.

Letters in shapes: R resources, T instance types, L limited resources, H counters of nodes, N nodes of the bay.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.scheduling import columns
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.topology.bays import UNLIMITED, HostRules, Placed
from daiku.scheduling.topology.signature import Signature

_FIRST_CAPACITY: Final = 16
_PRICE_FIRST: Final = 1e6
"""A dollar of price outweighs any slack; slack only breaks ties."""
_ROUNDING: Final = 1e-12
"""USD per hour below which two prices are equal."""
_PRICE_MOST: Final = 1e300
_TIE: Final = 1e-5
"""USD per hour that slack can outweigh: no more than ten dollars' worth of a node is unused."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ask:
    """Pods of one class that look for a place on new nodes."""

    row: int
    requests: Ints
    """Shape (R,)."""
    asked: tuple[int, ...]
    """Rows of R that are not 0."""
    signature: int
    rules: HostRules


@dataclass(slots=True, eq=False)
class NewBay:
    """Nodes that are being planned, of one NodePool in one cell."""

    allocatable: Ints
    """What each type offers pods, shape (R, T)."""
    capacity: Ints
    """What each type takes from the limits, shape (L, T)."""
    left: Ints
    """What the limits still allow, shape (L,); shared by all bays of the NodePool."""
    signatures: list[Signature]
    """Shared by all bays of the NodePool in the same cell."""
    merge: Callable[[int, int], int]
    """Two signatures as one, -1 when no type meets both."""
    keeps: Callable[[Signature, Ints], bool] | None
    """Whether enough types are left that hold pods of these amounts, shape (R,); None when that is never asked."""
    weights: Floats
    """What a unit of each resource is worth, shape (R,)."""
    per_node_usd_per_hour: float
    size: int = 0
    used: Ints = field(init=False)
    """What the pods of each node ask for, shape (R, N); columns from `size` on are spare, as in all that follow."""
    free: Ints = field(init=False)
    """What is left of the type that each node is now, shape (R, N)."""
    counts: Ints = field(init=False)
    """Shape (H, N)."""
    type_of: NDArray[np.intp] = field(init=False)
    price: Floats = field(init=False)
    signature_of: NDArray[np.intp] = field(init=False)
    occurring: dict[int, int] = field(default_factory=dict[int, int])
    """Signatures of the nodes -> how many have it."""
    placed: Placed = field(default_factory=Placed)
    _counters: int = 0

    def start(self, counters: int) -> "NewBay":
        """Make the arrays, for so many counters."""
        self._counters = counters
        resources = len(self.allocatable)
        self.used = np.zeros((resources, _FIRST_CAPACITY), dtype=np.int64)
        self.free = np.zeros((resources, _FIRST_CAPACITY), dtype=np.int64)
        self.counts = np.zeros((counters, _FIRST_CAPACITY), dtype=np.int64)
        self.type_of = np.zeros(_FIRST_CAPACITY, dtype=np.intp)
        self.price = np.zeros(_FIRST_CAPACITY)
        self.signature_of = np.zeros(_FIRST_CAPACITY, dtype=np.intp)
        return self

    def opening(self, ask: Ask, count: int) -> tuple[float, int, int]:
        """What a place on a new node costs at least, with how many pods on it, and which type; infinity if none can be.

        Args:
            ask: The class.
            count: Pods there are.
        """
        signature = self.signatures[ask.signature]
        most = min(count, ask.rules.most_on_new)
        if most == 1:
            # One pod alone: what the table says, unless limits forbid that type.
            chosen = signature.smallest(ask.requests, self.allocatable)
            if chosen < 0:
                return np.inf, 0, -1
            if not len(self.capacity) or (self.capacity[:, chosen] <= self.left).all():
                return float(signature.prices[chosen]) + self.per_node_usd_per_hour, 1, chosen
        order = signature.order
        if not order.size:
            return np.inf, 0, -1
        fits = np.minimum(columns.copies(self.allocatable[:, order], ask.requests), most)
        if len(self.capacity):
            fits[(self.capacity[:, order] > self.left[:, None]).any(axis=0)] = 0
        if not fits.any():
            return np.inf, 0, -1
        costs = signature.prices[order] + self.per_node_usd_per_hour
        each = np.where(fits > 0, costs / np.maximum(fits, 1), np.inf)
        # Of types that are equally good the one that holds most, so that few nodes are made.
        least = float(each.min())
        chosen = int(np.argmax(np.where(each <= least + _ROUNDING, fits, 0)))
        return float(each[chosen]), int(fits[chosen]), int(order[chosen])

    def join(self, ask: Ask, count: int, price_most: float) -> int:
        """Place up to `count` pods on nodes of the bay, none dearer than `price_most`; how many found a place."""
        taken = self.join_free(ask, count)
        return taken + self.enlarge(ask, count - taken, price_most) if taken < count else taken

    def enlarge(self, ask: Ask, count: int, price_most: float) -> int:
        """As `join`, when `join_free` has no place left."""
        left = count
        while left and self.size:
            taken = self._enlarge(ask, left, price_most)
            if not taken:
                break
            left -= taken
            left -= self.join_free(ask, left) if left else 0
        return count - left

    def open(self, ask: Ask, count: int, nodes_most: int = UNLIMITED) -> int:
        """Make nodes for up to `count` pods; how many found a place."""
        left = count
        while left and nodes_most:
            _, each, chosen = self.opening(ask, left)
            if not each or not self._keeps(ask.signature, ask.requests * each):
                break
            times = self._affordable(chosen, min(left // each, nodes_most))
            if not times:
                break
            self._make(ask, chosen, times, each)
            left -= times * each
            nodes_most -= times
        return count - left

    def _affordable(self, type_index: int, times: int) -> int:
        charge = self.capacity[:, type_index]
        for amount, allowed in zip(charge.tolist(), self.left.tolist(), strict=True):
            if amount > 0:
                times = min(times, max(allowed, 0) // amount)
        return times

    def _make(self, ask: Ask, type_index: int, times: int, each: int) -> None:
        first, self.size = self.size, self.size + times
        self._grow()
        new = slice(first, self.size)
        need = ask.requests * each
        self.used[:, new] = need[:, None]
        self.free[:, new] = (self.allocatable[:, type_index] - need)[:, None]
        self.counts[ask.rules.adds, new] += each
        self.type_of[new] = type_index
        self.price[new] = self.signatures[ask.signature].prices[type_index]
        self.signature_of[new] = ask.signature
        self.occurring[ask.signature] = self.occurring.get(ask.signature, 0) + times
        self.left -= self.capacity[:, type_index] * times
        nodes = np.arange(first, self.size)
        self.placed.add(ask.row, nodes, np.full(times, each, dtype=np.int64))

    def join_free(self, ask: Ask, count: int) -> int:
        """Place up to `count` pods on nodes that need not become anything else for it, the tightest first."""
        if not self.size:
            return 0
        where = self._unchanged(ask)
        if where.size and not ask.rules.is_free:
            where = where[ask.rules.admits(self.counts.take(where, axis=1))]
        if not where.size:
            return 0
        slack = self.weights @ self.free.take(where, axis=1)
        if where.size > count:
            where = where[slack.argpartition(count - 1)[:count]]
            each = np.ones(count, dtype=np.int64)
        else:
            where = where[slack.argsort(kind="stable")]
            each = columns.copies(self.free.take(where, axis=1), ask.requests)
            if not ask.rules.is_free:
                np.minimum(each, ask.rules.room(self.counts.take(where, axis=1)), out=each)
            each = np.clip(count - (np.cumsum(each) - each), 0, each)
        if self.keeps is not None:
            kept = self._kept(ask, where, each, self._merged(ask, where))
            where, each = where[kept], each[kept]
        kept = each > 0
        if not kept.all():
            where, each = where[kept], each[kept]
        self._put(ask, where, each)
        return int(each.sum())

    def room(self, ask: Ask) -> int:
        """Pods of a class that nodes of the bay take as they are."""
        where = self._unchanged(ask) if self.size else np.zeros(0, dtype=np.intp)
        if not where.size:
            return 0
        each = columns.copies(self.free.take(where, axis=1), ask.requests)
        return int(np.minimum(each, ask.rules.room(self.counts.take(where, axis=1))).sum())

    def _unchanged(self, ask: Ask) -> NDArray[np.intp]:
        """Nodes that hold one more pod as the type that they are."""
        size = self.size
        fits = np.ones(size, dtype=np.bool_)
        for row in ask.asked:
            fits &= self.free[row, :size] >= ask.requests[row]
        for kind in self.occurring:
            if self.merge(kind, ask.signature) != kind:
                fits &= self.signature_of[:size] != kind
        return fits.nonzero()[0]

    def _put(self, ask: Ask, where: NDArray[np.intp], each: Ints) -> None:
        amounts = ask.requests[:, None] * each
        self.used[:, where] += amounts
        self.free[:, where] -= amounts
        for counter in ask.rules.adds.tolist():
            self.counts[counter, where] += each
        self.placed.add(ask.row, where, each)

    def _enlarge(self, ask: Ask, count: int, price_most: float) -> int:
        """One pod more for each of the nodes that become least dearer by it, as long as that is worth it."""
        where: NDArray[np.intp] | None = None
        if not ask.rules.is_free:
            where = ask.rules.admits(self.counts[:, : self.size]).nonzero()[0]
            if not where.size:
                return 0
        offers = [
            o for kind in self.occurring if (o := self._offer(ask, kind, where, count, price_most))
        ]
        if not offers:
            return 0
        nodes, scores, types, kinds = (
            offers[0] if len(offers) == 1 else map(np.concatenate, zip(*offers, strict=True))
        )
        many = nodes.size > count
        first = scores.argpartition(count - 1)[:count] if many else scores.argsort(kind="stable")
        nodes, types, kinds = nodes[first], types[first], kinds[first]
        more = self.capacity.take(types, axis=1) - self.capacity.take(self.type_of[nodes], axis=1)
        grown = np.maximum(more, 0)
        if self.keeps is not None or (grown.sum(axis=1) > self.left).any():
            kept = (np.cumsum(grown, axis=1) <= self.left[:, None]).all(axis=0)
            kept |= (more <= 0).all(axis=0)
            if self.keeps is not None:
                kept &= self._kept(ask, nodes, np.ones(len(nodes), dtype=np.int64), kinds)
            nodes, types, kinds, more = nodes[kept], types[kept], kinds[kept], more[:, kept]
        if nodes.size:
            self.left -= more.sum(axis=1)
            self._become(ask, nodes, types, kinds)
        return len(nodes)

    def _offer(
        self,
        ask: Ask,
        kind: int,
        where: NDArray[np.intp] | None,
        count: int,
        price_most: float,
    ) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp], NDArray[np.intp]] | None:
        """Nodes of signature `kind` that could be larger: which, how good, as which type, with which signature.

        All that are worth it, or at least the `count` best of them.
        """
        merged = self.merge(kind, ask.signature)
        if merged < 0:
            return None
        nodes = where
        if len(self.occurring) > 1:
            of_kind = self.signature_of[: self.size] == kind
            nodes = of_kind.nonzero()[0] if where is None else where[of_kind[where]]
        used = self.used[:, : self.size] if nodes is None else self.used.take(nodes, axis=1)
        price = self.price[: self.size] if nodes is None else self.price.take(nodes)
        signature = self.signatures[merged]
        need = used + ask.requests[:, None]
        types = signature.cheapest(need, self.allocatable)
        # A type of -1 finds the infinity at the end, which is more than anybody pays.
        dearer = signature.priced.take(types) - price
        worth = (dearer <= min(price_most + _ROUNDING, _PRICE_MOST)).nonzero()[0]
        if worth.size > count:
            # Slack only breaks ties, so it is worked out for what may be among the best only.
            costs = dearer.take(worth)
            worth = worth[costs <= np.partition(costs, count - 1)[count - 1] + _TIE]
        if not worth.size:
            return None
        types = types.take(worth).astype(np.intp)
        slack = self.weights @ (self.allocatable.take(types, axis=1) - need.take(worth, axis=1))
        scores = dearer.take(worth) * _PRICE_FIRST + slack
        chosen = worth if nodes is None else nodes.take(worth)
        return chosen, scores, types, np.full(worth.size, merged, dtype=np.intp)

    def _become(
        self,
        ask: Ask,
        nodes: NDArray[np.intp],
        types: NDArray[np.intp],
        kinds: NDArray[np.intp],
    ) -> None:
        """Make `nodes` the given types and put a pod on each."""
        if len(self.occurring) > 1 or (kinds != next(iter(self.occurring))).any():
            self.signature_of[nodes] = kinds
            kinds_left, counts = np.unique(self.signature_of[: self.size], return_counts=True)
            self.occurring = dict(zip(kinds_left.tolist(), counts.tolist(), strict=True))
        self.free[:, nodes] = self.allocatable.take(types, axis=1) - self.used.take(nodes, axis=1)
        self.type_of[nodes] = types
        distinct: list[int] = kinds.tolist()
        for kind in dict.fromkeys(distinct):
            mine = kinds == kind
            self.price[nodes[mine]] = self.signatures[kind].prices.take(types[mine])
        self._put(ask, nodes, np.ones(len(nodes), dtype=np.int64))

    def _merged(self, ask: Ask, where: NDArray[np.intp]) -> NDArray[np.intp]:
        kinds = self.signature_of[where].tolist()
        return np.array([self.merge(kind, ask.signature) for kind in kinds], dtype=np.intp)

    def _kept(self, ask: Ask, where: NDArray[np.intp], each: Ints, kinds: NDArray[np.intp]) -> Mask:
        """Nodes that would be left with enough types."""
        return np.array(
            [
                self._keeps(kind, self.used[:, node] + ask.requests * count)
                for node, count, kind in zip(
                    where.tolist(), each.tolist(), kinds.tolist(), strict=True
                )
            ],
            dtype=np.bool_,
        )

    def _keeps(self, kind: int, need: Ints) -> bool:
        return self.keeps is None or self.keeps(self.signatures[kind], need)

    def _grow(self) -> None:
        spare = max(self.size - len(self.price), 0)
        if not spare:
            return
        spare = max(spare, len(self.price))
        for name in ("used", "free", "counts", "type_of", "price", "signature_of"):
            array = getattr(self, name)
            more = np.zeros((*array.shape[:-1], spare), dtype=array.dtype)
            setattr(self, name, np.concatenate([array, more], axis=-1))
