"""Counts of domains while a solve goes on, and what a class may do about them.

Hostnames are not here: they are rows of the bays. Domains are values of a label; in cells they are numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from daiku.scheduling.topology.cells import Cell
from daiku.scheduling.topology.counts import Topology
from daiku.scheduling.topology.quotas import Level
from daiku.scheduling.topology.rules import Rules

Place = tuple[int, ...]
"""A cell in numbers: the domain of each key, -1 where the node has no such label."""


@dataclass(slots=True, eq=False)
class Ledger:
    """The counts of one solve."""

    topology: Topology
    numbers: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    """For each key, the number of each of its values."""
    counts: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])
    """For each counter that is not of nodes, the count of each domain."""
    existing: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    totals: dict[int, int] = field(default_factory=dict[int, int])
    position: dict[int, int] = field(default_factory=dict[int, int])
    """For each counter that is not of nodes, the position of its key in cells."""

    def place(self, cell: Cell) -> Place:
        """`cell` in numbers."""
        return tuple(
            -1 if value is None else numbers[value]
            for value, numbers in zip(cell, self.numbers, strict=True)
        )

    def starts(self, rules: Rules) -> tuple[tuple[int, ...], ...] | None:
        """Counters of affinities that begin with this class; None when it has to wait for others."""
        begun = [r for r in rules.near if not any(self.totals.get(i, 0) for i in r.counters)]
        if any(not r.may_start for r in begun):
            return None
        return tuple(r.counters for r in begun)

    def admits(self, rules: Rules, place: Place) -> bool:
        """Whether anti-affinity, affinity and the labels that spread needs let a pod into a cell."""
        for index in rules.apart:
            position = self.position.get(index)
            if position is not None and self.counts[index].get(place[position], 0):
                return False
        for rule in rules.near:
            begun = any(self.totals.get(i, 0) for i in rule.counters)
            for index in rule.counters:
                position = self.position.get(index)
                if position is None:
                    continue
                if place[position] < 0 or (begun and not self.counts[index].get(place[position])):
                    return False
        return all(
            place[self.position[r.counter]] >= 0 for r in rules.spread if r.counter in self.position
        )

    def levels(self, rules: Rules, domains: Callable[[int], frozenset[int]]) -> list[Level]:
        """Counters that the class must keep level, and those it should because others are spread over it.

        Args:
            rules: Of the class.
            domains: Those that matter to a counter.
        """
        found: list[Level] = []
        owned: dict[int, None] = {}
        for rule in rules.spread:
            position = self.position.get(rule.counter)
            if position is None:
                continue
            owned[rule.counter] = None
            found.append(
                Level(
                    position=position,
                    counts=self.counts[rule.counter],
                    universe=domains(rule.counter),
                    max_skew=rule.spread.max_skew,
                    min_domains=rule.spread.min_domains,
                    adds=rule.counts_itself,
                )
            )
        for index in rules.adds:
            position = self.position.get(index)
            if position is None or index in owned:
                continue
            if self.topology.counters[index].sort == "selected":
                counts = self.counts[index]
                found.append(Level(position=position, counts=counts, universe=domains(index)))
        return found

    def exclusive(self, rules: Rules) -> tuple[int, ...]:
        """Positions of keys of whose domains each takes one pod of the class at most."""
        adds = frozenset(rules.adds)
        both = (self.position[i] for i in rules.apart if i in adds and i in self.position)
        return tuple(dict.fromkeys(both))

    def note(self, rules: Rules, place: Place, count: int, passed: frozenset[int]) -> None:
        """Count `count` pods of a class in a cell.

        Args:
            rules: Of the class.
            place: The cell.
            count: Pods.
            passed: Counters whose filter does not let nodes of that sort count.
        """
        for index in rules.adds:
            if index in passed:
                continue
            self.totals[index] = self.totals.get(index, 0) + count
            position = self.position.get(index)
            if position is not None and place[position] >= 0:
                counts = self.counts[index]
                counts[place[position]] = counts.get(place[position], 0) + count


def start(topology: Topology) -> Ledger:
    """The ledger of a problem before anything is placed."""
    ledger = Ledger(topology, totals=dict(topology.totals))
    keys = topology.cells.keys
    for position, key in enumerate(keys):
        values: dict[str, None] = {}
        for cells in (*topology.cells.of_template, topology.of_site):
            values |= dict.fromkeys(v for c in cells if (v := c[position]) is not None)
        for index, counter in enumerate(topology.counters):
            if counter.key == key:
                ledger.position[index] = position
                values |= dict.fromkeys(topology.existing[index])
                values |= dict.fromkeys(topology.in_domains.get(index, ()))
        ledger.numbers.append({value: n for n, value in enumerate(sorted(values))})
    for index, position in ledger.position.items():
        numbers = ledger.numbers[position]
        known = topology.in_domains.get(index, {})
        ledger.counts[index] = {numbers[value]: count for value, count in known.items()}
        ledger.existing[index] = frozenset(numbers[v] for v in topology.existing[index])
    return ledger
