"""Among which cells the pods of a class are divided, as things stand.

Not here: how many pods each domain gets by its counts (`quotas`), and whether there is room (`place`).

Letters in shapes: none; cells are numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from daiku.scheduling.topology import quotas
from daiku.scheduling.topology.counts import Topology
from daiku.scheduling.topology.ledger import Ledger, Place
from daiku.scheduling.topology.rules import Rules
from daiku.scheduling.topology.spare import Spare
from daiku.scheduling.topology.templates import Templates


@dataclass(slots=True, eq=False)
class Division:
    """Divides the pods of one class after the other. Changes nothing."""

    topology: Topology
    templates: Templates
    ledger: Ledger
    cells: list[Place]
    """Every cell there is, in numbers."""
    load: list[float]
    """What each cell carries."""
    spare: Spare
    _levels: dict[int, list[quotas.Level]] = field(default_factory=dict[int, list[quotas.Level]])
    """By identity of rules, which the topology keeps."""
    _known_domains: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])

    def divide(
        self, row: int, count: int, stuck: dict[int, None]
    ) -> list[tuple[Sequence[int], int]]:
        """Sets of cells, and how many pods each set should take."""
        rules = self.topology.rules[row]
        usable = self.templates.usable(row)
        allowed = [
            index
            for index in usable
            if index not in stuck and self.ledger.admits(rules, self.cells[index])
        ]
        if not allowed:
            return []
        starting = self.ledger.starts(rules) or ()
        allowed = self._begun(row, allowed, starting)
        exclusive = self.ledger.exclusive(rules)
        levels = self._levels_of(rules)
        if exclusive or len({level.position for level in levels}) > 1:
            return self._singly(row, allowed, count, levels, exclusive)
        if not levels:
            return [(allowed, count)]
        return self._by_domain(row, allowed, count, levels)

    def _levels_of(self, rules: Rules) -> list[quotas.Level]:
        """Levels show counts as they are now, so they are made once for all classes of these rules."""
        known = self._levels.get(id(rules))
        if known is None:
            known = self._levels[id(rules)] = self.ledger.levels(rules, self._domains)
        return known

    def _domains(self, index: int) -> frozenset[int]:
        """Domains of a spread counter: those of nodes, and those in which nodes for any pods may be made yet.

        A new node opens its domain for pods that were placed before it too, whoever it is made for.
        """
        if index not in self._known_domains:
            position = self.ledger.position[index]
            opened = (self.cells[i][position] for i in self.templates.opening(index))
            self._known_domains[index] = self.ledger.existing[index] | {d for d in opened if d >= 0}
        return self._known_domains[index]

    def _begun(
        self, row: int, allowed: list[int], starting: Sequence[tuple[int, ...]]
    ) -> list[int]:
        """Of `allowed` those in the domains in which affinities begin: those of the least loaded cell with room."""
        positions = [
            self.ledger.position[i]
            for group in starting
            for i in group
            if i in self.ledger.position
        ]
        if not positions:
            return allowed
        first = min(allowed, key=lambda i: (not self.spare.of(row, [i]), self.load[i], i))
        chosen = self.cells[first]
        return [i for i in allowed if all(self.cells[i][p] == chosen[p] for p in positions)]

    def _by_domain(
        self, row: int, allowed: list[int], count: int, levels: list[quotas.Level]
    ) -> list[tuple[Sequence[int], int]]:
        """The division when all counters are about one key."""
        position = levels[0].position
        members: dict[int, list[int]] = {}
        for index in allowed:
            members.setdefault(self.cells[index][position], []).append(index)
        load = {d: sum(self.load[i] for i in indices) for d, indices in members.items()}
        for level in levels:
            if not level.adds:
                least = level.least()
                for domain in tuple(members):
                    if level.counts.get(domain, 0) - least > level.max_skew:
                        del members[domain]
        adding = [level for level in levels if level.adds]
        if not adding:
            return [([i for each in members.values() for i in each], count)] if members else []
        if len(adding) == 1:
            filled = quotas.fill(
                count,
                adding[0],
                tuple(sorted(members)),
                load,
                lambda domain: self.spare.of(row, members[domain]),
            )
        else:
            domains = sorted(members)
            places = [(-1,) * position + (d,) for d in domains]
            loads = [load[d] for d in domains]
            room = [self.spare.of(row, members[d]) for d in domains]
            chosen = quotas.one_by_one(count, adding, places, loads, room)
            filled = {domains[i]: n for i, n in chosen.items()}
        return [(members[domain], quota) for domain, quota in filled.items()]

    def _singly(
        self,
        row: int,
        allowed: list[int],
        count: int,
        levels: list[quotas.Level],
        exclusive: tuple[int, ...],
    ) -> list[tuple[Sequence[int], int]]:
        """The division when several keys matter; only as far as it can be decided without looking again."""
        if exclusive:
            count = 1
        places = [self.cells[i] for i in allowed]
        loads = [self.load[i] for i in allowed]
        room = [self.spare.of(row, [i]) for i in allowed]
        if not levels:
            first = min(range(len(allowed)), key=lambda i: (not room[i], loads[i], i))
            return [([allowed[first]], 1)]
        chosen = quotas.one_by_one(count, levels, places, loads, room)
        return [([allowed[i]], quota) for i, quota in chosen.items()]
