"""Places pods that constraints between pods concern, class by class.

For each class: divide its pods among domains (`division`), then in each domain use room on existing nodes, then on
nodes that are planned already, then plan new ones. A domain that has no more place is left out and the rest is divided
again. Classes that force nodes of their own come first, those that must be near others last.

Letters in shapes: R resources, C classes, N existing nodes, T instance types.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from daiku.model.requirements import Requirements
from daiku.scheduling.columns import Floats, Ints
from daiku.scheduling.problem import Problem
from daiku.scheduling.topology.bays import UNLIMITED, ExistingBay
from daiku.scheduling.topology.counts import Topology
from daiku.scheduling.topology.division import Division
from daiku.scheduling.topology.ledger import Ledger, Place
from daiku.scheduling.topology.postponed import Cap
from daiku.scheduling.topology.rules import Rules
from daiku.scheduling.topology.templates import Bay, Templates


@dataclass(slots=True, eq=False)
class Placer:
    """One solve of the classes that constraints concern. Changes `free` and `left`."""

    problem: Problem
    topology: Topology
    templates: Templates
    ledger: Ledger
    grow: bool
    cells: list[Place]
    """Every cell there is, in numbers."""
    existing: list[list[tuple[ExistingBay, frozenset[int]]]]
    """For each cell, its bays of existing nodes, each with the counters for which they do not count."""
    sizes: Floats
    """What a pod of each class is worth, shape (C,)."""
    division: Division
    load: list[float]
    """What each cell carries; the division looks at it too."""
    failed: dict[int, int] = field(default_factory=dict[int, int])
    """Class -> its pods without a place."""
    order: dict[int, None] = field(default_factory=dict[int, None])
    """Classes in the order in which their first pod found a place."""
    careful: bool = False
    """Whether pods that are spread are placed one by one, so that none goes where others then come short."""
    short: bool = False
    """Whether a domain could not take its share of pods that are spread: the others' shares are too large then."""
    unyielding: bool = False
    """Whether the caps hold only as long as no pod gives up a preference."""
    yielded: bool = False
    """Whether one would have to although they do; what was placed is of no use then."""
    caps: list[Cap] | None = None
    """The cap of each class; None when new nodes are made here and nothing is postponed."""
    postponed: dict[tuple[int, Requirements], int] = field(
        default_factory=dict[tuple[int, Requirements], int]
    )
    """Class and the domains in which it is to have new nodes -> pods."""

    def place_all(self, counts: Ints) -> Ints:
        """Place all pods that constraints concern; those of each class that none concerns, shape (C,).

        Args:
            counts: Pods of each class, shape (C,).
        """
        left = counts.copy()
        concerned = [row for row in map(int, np.flatnonzero(counts)) if not self._is_free(row)]
        fed = self._fed(concerned)
        order = sorted(concerned, key=lambda row: self._rank(row, fed))
        waiting = order
        while waiting:
            before = int(left.sum())
            held: list[int] = []
            for row in waiting:
                self._descend(row, left, held)
                if self.yielded:
                    return left
            waiting = held if int(left.sum()) < before else []
        for row, pod_count in enumerate(left.tolist()):
            if pod_count and not self._is_free(row):
                self.failed[row] = pod_count
                left[row] = 0
        return left

    def _descend(self, row: int, left: Ints, held: list[int]) -> None:
        """Place a class; what has no place gives up one preference after the other."""
        while True:
            left[row] = self.place(row, int(left[row]))
            following = int(self.problem.relaxed[row])
            if not left[row]:
                return
            if following < 0:
                held.append(row)
                return
            if self.unyielding:
                self.yielded = True
                return
            left[following] += left[row]
            left[row] = 0
            if self._is_free(following):
                return
            row = following

    def _is_free(self, row: int) -> bool:
        return self.topology.rules[row].is_free

    def _fed(self, concerned: Iterable[int]) -> frozenset[int]:
        """Counters of affinity and of spread that classes raise which do not mind them."""
        found: dict[int, None] = {}
        distinct = {id(r): r for r in (self.topology.rules[row] for row in concerned)}
        for rules in distinct.values():
            minded = {i for r in rules.near for i in r.counters}
            found |= dict.fromkeys(i for i in rules.adds if i not in minded)
        return frozenset(found)

    def _rank(self, row: int, fed: frozenset[int]) -> tuple[bool, bool, bool, int]:
        """The order of classes: whoever depends on where others are comes after them.

        Pods that look for company come last, since those that they look for go anywhere. Pods that have little choice
        of a domain come before pods that are spread over them. Pods that force nodes of their own come first among
        the rest.
        """
        rules, host = self.topology.rules[row], self.topology.host_rules[row]
        waits = any(not r.may_start or any(i in fed for i in r.counters) for r in rules.near)
        # Room on existing nodes ends, so only where new nodes can be counts as choice.
        own = frozenset(r.counter for r in rules.spread)
        others = any(
            i not in own and i in self.ledger.position and self._is_spread_over(i)
            for i in rules.adds
        )
        narrow = others and len(self.templates.growing(row)) < len(self.cells)
        return waits, not narrow, host.most_on_new > 1 or bool(host.at_most), row

    def _is_spread_over(self, index: int) -> bool:
        return self.topology.counters[index].sort == "selected"

    def join_all(self, residual: Ints, *, at_any_price: bool = False) -> None:
        """Place pods that no constraint concerns on planned nodes where that costs no more than their worth.

        Args:
            residual: Pods of each class without a place, shape (C,); it goes down.
            at_any_price: There are no other nodes for them.
        """
        for row in map(int, np.flatnonzero(residual)):
            price_most = np.inf if at_any_price else float(self.sizes[row])
            residual[row] -= self.join(row, int(residual[row]), price_most)

    def write_back(self, free: Ints) -> None:
        """Take what was placed from `free`, shape (R, N)."""
        for each in self.existing:
            for bay, _ in each:
                free[:, bay.nodes] = bay.free

    def place(self, row: int, count: int) -> int:
        """Place up to `count` pods of class `row`; how many are left over."""
        rules = self.topology.rules[row]
        if self.ledger.starts(rules) is None:
            return count
        stuck: dict[int, None] = {}
        is_spread = any(r.counter in self.ledger.position for r in rules.spread)
        while count:
            tasks = self.division.divide(row, 1 if self.careful and is_spread else count, stuck)
            if not tasks:
                break
            for among, quota in tasks:
                placed = self._put(row, quota, among)
                count -= placed
                if placed < quota:
                    stuck |= dict.fromkeys(among)
                    self.short |= is_spread
        return count

    def join(self, row: int, count: int, price_most: float) -> int:
        """Place pods that no constraint concerns on nodes that are planned already; how many found a place."""
        left = count
        for index, bays in sorted(self.templates.bays(row).items()):
            for bay in bays:
                if left and bay.nodes.size:
                    left -= self._note(row, index, bay.nodes.join(bay.ask, left, price_most))
        return count - left

    def _put(self, row: int, count: int, among: Sequence[int]) -> int:
        """Place up to `count` pods in any of the cells; how many found a place."""
        host = self.topology.host_rules[row]
        rules = self.topology.rules[row]
        left = count
        rows = self.topology.host_rows
        starts = self.ledger.starts(rules) or ()
        begins = any(i in rows for group in starts for i in group)
        if begins:
            left -= self._begin_on_one_node(row, left, among)
            if left == count:
                return 0
        requests = self.problem.requests[:, row]
        hostable = self.problem.nodes.hostable[row]
        for index in among:
            for bay, passed in self.existing[index]:
                if left:
                    taken = bay.take(row, requests, left, hostable, host, nodes=UNLIMITED)
                    left -= self._note(row, index, taken, passed)
        if left and self.grow and self.caps is not None:
            left -= self._postpone(row, left, among)
        if left and self.grow:
            may_open = not host.above_zero
            left -= self._put_on_new(row, left, among, may_open=may_open)
        return count - left

    def _postpone(self, row: int, count: int, among: Sequence[int]) -> int:
        """Settle that pods get new nodes in cells of `among`, without making them; how many."""
        rules = self.topology.rules[row]
        of_row = self.templates.bays(row)
        possible = [
            index
            for index in among
            if any(not bay.uncounted.intersection(rules.adds) for bay in of_row.get(index, ()))
        ]
        positions = self.touched(rules)
        domains = {tuple(self.cells[index][p] for p in positions) for index in possible}
        if len(domains) != 1 or any(domain < 0 for each in domains for domain in each):
            # Where they count is not settled yet, or that it is nowhere cannot be asked of a node.
            return 0
        pins = self.templates.pins(possible[0], positions)
        self.postponed[row, pins] = self.postponed.get((row, pins), 0) + count
        self.division.spare.awaited[possible[0]] += count * float(self.sizes[row])
        return self._note(row, possible[0], count)

    def touched(self, rules: Rules) -> tuple[int, ...]:
        """Positions of keys that matter to a class."""
        near = (i for r in rules.near for i in r.counters)
        own = (r.counter for r in rules.spread)
        position = self.ledger.position
        every = (*near, *own, *rules.apart, *rules.adds)
        return tuple(sorted({position[i] for i in every if i in position}))

    def _put_on_new(self, row: int, count: int, among: Sequence[int], *, may_open: bool) -> int:
        left = count
        for heavy in self.templates.by_weight:
            bays = self._bays(row, among, heavy)
            if not bays or not left:
                continue
            for index, bay in bays:
                if left and bay.nodes.size:
                    taken = bay.nodes.join_free(bay.ask, left)
                    left -= self._note(row, index, taken, bay.uncounted)
            if not left:
                break
            # A few pods are weighed one by one against a node of their own, many against nodes that they fill.
            together = left if left > sum(bay.nodes.size for _, bay in bays) else 1
            offers = self._offers(bays, together) if may_open else [np.inf] * len(bays)
            least = min(offers)
            for index, bay in bays:
                if left and bay.nodes.size:
                    taken = bay.nodes.enlarge(bay.ask, left, least)
                    left -= self._note(row, index, taken, bay.uncounted)
            while left and may_open and np.isfinite(least):
                cheapest = [b for b, o in zip(bays, offers, strict=True) if o <= least + 1e-12]
                cheapest.sort(key=lambda b: self.load[b[0]])
                share = -(-left // len(cheapest))
                opened = 0
                for index, bay in cheapest:
                    taken = bay.nodes.open(bay.ask, min(share, left - opened))
                    opened += self._note(row, index, taken, bay.uncounted)
                left -= opened
                if not opened:
                    bays = [b for b in bays if b not in cheapest]
                if left:
                    offers = self._offers(bays, left)
                    least = min(offers, default=np.inf)
        return count - left

    def _bays(self, row: int, among: Sequence[int], heavy: range) -> list[tuple[int, Bay]]:
        of_row = self.templates.bays(row)
        return [
            (index, bay)
            for index in among
            if index in of_row
            for bay in of_row[index]
            if bay.template in heavy
        ]

    def _offers(self, bays: Iterable[tuple[int, Bay]], count: int) -> list[float]:
        return [bay.nodes.opening(bay.ask, count)[0] for _, bay in bays]

    def _begin_on_one_node(self, row: int, count: int, among: Sequence[int]) -> int:
        """Put the first pods of an affinity within one node on that node."""
        rules = self.topology.host_rules[row]
        free = type(rules)(
            zero=rules.zero,
            at_most=rules.at_most,
            guarded=rules.guarded,
            adds=rules.adds,
            most_on_new=rules.most_on_new,
        )
        requests = self.problem.requests[:, row]
        hostable = self.problem.nodes.hostable[row]
        for index in among:
            for bay, passed in self.existing[index]:
                taken = bay.take(row, requests, count, hostable, free, nodes=1)
                if taken:
                    return self._note(row, index, taken, passed)
        if not self.grow:
            return 0
        for heavy in self.templates.by_weight:
            for index, bay in self._bays(row, among, heavy):
                taken = bay.nodes.open(bay.ask, count, 1)
                if taken:
                    return self._note(row, index, taken, bay.uncounted)
        return 0

    def _note(self, row: int, index: int, count: int, passed: frozenset[int] = frozenset()) -> int:
        if count:
            self.ledger.note(self.topology.rules[row], self.cells[index], count, passed)
            self.load[index] += count * float(self.sizes[row])
            self.order.setdefault(row)
        return count
