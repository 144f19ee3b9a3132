"""How many pods of a class find room in a cell without another node.

Where constraints leave a choice of domains, such room decides: a pod that goes to a domain without it makes a node that
nobody else needs, and of few pods each has a large share in the price.

Letters in shapes: C classes; cells are numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daiku.scheduling.columns import Floats
from daiku.scheduling.problem import Problem
from daiku.scheduling.topology.bays import ExistingBay
from daiku.scheduling.topology.counts import Topology
from daiku.scheduling.topology.templates import Templates

_ROUNDING = 1e-9
"""Shares of a node below which it is full."""


@dataclass(frozen=True, slots=True, eq=False)
class Spare:
    """Room as things stand. Changes nothing."""

    problem: Problem
    topology: Topology
    templates: Templates
    existing: list[list[tuple[ExistingBay, frozenset[int]]]]
    """For each cell, its bays of existing nodes."""
    sizes: Floats
    """What a pod of each class is worth, shape (C,)."""
    awaited: list[float]
    """What the pods are worth that get nodes later, by cell."""

    def of(self, row: int, cells: Sequence[int]) -> int:
        """Pods of class `row` for which `cells` have room together."""
        return sum(self._of_cell(row, index) for index in cells)

    def _of_cell(self, row: int, index: int) -> int:
        requests, rules = self.problem.requests[:, row], self.topology.host_rules[row]
        hostable = self.problem.nodes.hostable[row]
        room = sum(
            int(bay.room(requests, hostable, rules).sum()) for bay, _ in self.existing[index]
        )
        for bay in self.templates.bays(row).get(index, ()):
            room += bay.nodes.room(bay.ask)
        return room + self._on_awaited(row, index)

    def _on_awaited(self, row: int, index: int) -> int:
        """The same on nodes that are chosen later, as long as all their pods fit the cheapest one that there is."""
        size, asked = float(self.sizes[row]), self.awaited[index]
        if not asked or not size:
            return 0
        bays = self.templates.bays(row).get(index, ())
        node = min((bay.nodes.opening(bay.ask, 1)[0] for bay in bays), default=np.inf)
        if not asked < node < np.inf:
            return 0
        return math.floor((node - asked) / size + _ROUNDING)
