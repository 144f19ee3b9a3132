"""Ruin and recreate: a few nodes are emptied and their pods packed again, a little cheaper if luck has it.

Several ruins are tried side by side, so that the filling works on all of them at once. Which nodes are ruined: those
that cost more than their pods are worth, mostly. How they are packed again: node by node, the trial whose pods are
worth most per dollar, with values and ranking shaken. Equal price is accepted half of the time, because the way to
something cheaper often leads over something equal.

Letters in shapes: C classes, N nodes, B ruins, Q trials per ruin, M classes in a ruin.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from daiku.scheduling.packer import fill
from daiku.scheduling.packer.demand import Floats, Ints
from daiku.scheduling.packer.fill import Trials
from daiku.scheduling.packer.fleet import Fleet
from daiku.scheduling.packer.tables import Tables

_RUINS: Final = 16
"""Ruins side by side."""
_TRIALS: Final = 16
"""Trials per node that is made again."""
_NODES_MAX: Final = 6
"""Nodes emptied in one ruin, at most."""
_CLASSES_MAX: Final = 120
"""Classes on the nodes of one ruin, about: filling takes time for each, so of crowded nodes fewer are emptied."""
_WINDOW: Final = 400
"""Nodes looked at in one step; of a larger fleet, a sample."""
_PENNY: Final = 1e-9
"""Differences in USD per hour that are not differences."""


@dataclass(slots=True, eq=False)
class _Ruins:
    """B ruins of one step."""

    nodes: list[Ints]
    """Nodes that each has emptied."""
    before: Floats
    """What they cost, shape (B,)."""
    classes: Ints
    """Classes on them, shape (B, M); filled up with others of which there are no pods."""
    left: Floats
    """Pods of each of `classes` without a node yet, shape (B, M)."""
    after: Floats
    """What the nodes made so far cost, shape (B,)."""
    made: list[Fleet]


class Repair:
    """Improves one fleet, step by step."""

    def __init__(self, tables: Tables, fleet: Fleet, values: Floats, seed: int) -> None:
        """Start from `fleet`, with `values` of a pod of each class, shape (C,)."""
        self.tables = tables
        self.fleet = fleet
        self._values = values
        self._random = np.random.Generator(np.random.PCG64(seed))

    def step(self) -> None:
        """Ruin and recreate once; the fleet's price never rises."""
        ruins = self._ruined()
        active = np.arange(len(ruins.nodes))
        while len(active):
            self._make(ruins, active)
            going = ruins.left[active].any(axis=1) & (
                ruins.after[active] < ruins.before[active] - _PENNY
            )
            active = active[going]
        self._accept(ruins)

    def _ruined(self) -> _Ruins:
        fleet, random = self.fleet, self._random
        count = len(fleet.columns)
        window = np.arange(count)
        if count > _WINDOW:
            window = random.choice(count, _WINDOW, replace=False)
        prices = self.tables.prices[np.array(fleet.columns)[window]]
        worth = np.array(
            [fleet.pods[node] @ self._values[fleet.classes[node]] for node in map(int, window)]
        )
        waste = 1.02 - np.clip(worth / prices, 0.0, 1.0)
        # The largest of u^(1/w) is a choice with weights w.
        keys = random.random((_RUINS, len(window))) ** (waste.mean() / waste)
        order = np.argsort(-keys, axis=1, kind="stable")
        crowd = float(np.mean([len(fleet.classes[node]) for node in map(int, window)]))
        sizes = random.integers(1, int(np.clip(_CLASSES_MAX / crowd, 2, _NODES_MAX)) + 1, _RUINS)
        chosen = [row[:size] for row, size in zip(order, sizes, strict=True)]
        nodes = [window[places] for places in chosen]
        classes, left = self._pooled(nodes)
        before = np.array([prices[places].sum() for places in chosen])
        made = [Fleet() for _ in range(_RUINS)]
        return _Ruins(nodes, before, classes, left, np.zeros(_RUINS), made)

    def _columns(self, ruins: _Ruins, active: Ints) -> Ints:
        """A column for each trial; half of them those of the emptied nodes, so that every pod finds one."""
        random = self._random
        columns = random.integers(0, len(self.tables.prices), (len(active), _TRIALS))
        for row, ruin in enumerate(map(int, active)):
            own = [self.fleet.columns[node] for node in map(int, ruins.nodes[ruin])]
            columns[row, : _TRIALS // 2] = random.choice(own, _TRIALS // 2)
        return columns.reshape(-1)

    def _pooled(self, nodes: list[Ints]) -> tuple[Ints, Floats]:
        """Pods of each ruin's nodes together: classes and how many of each, shape (B, M)."""
        fleet, total = self.fleet, len(self.tables.counts)
        pooled = np.zeros((len(nodes), total))
        for ruin, places in enumerate(nodes):
            for node in map(int, places):
                pooled[ruin, fleet.classes[node]] += fleet.pods[node]
        most = int((pooled > 0).sum(axis=1).max())
        classes = np.argsort(pooled == 0, axis=1, kind="stable")[:, :most]
        return classes, pooled[np.arange(len(nodes))[:, None], classes]

    def _make(self, ruins: _Ruins, active: Ints) -> None:
        """One more node for each of the `active` ruins."""
        tables, random = self.tables, self._random
        own = np.repeat(active, _TRIALS)
        classes, left = ruins.classes[own], ruins.left[own]
        columns = self._columns(ruins, active)
        weights = random.random((len(tables.requests), len(own)))
        scarcity = (weights / np.maximum(tables.room[:, columns], 1.0))[:, :, None]
        size: Floats = (scarcity * tables.requests[:, classes]).sum(axis=0)
        shaken: Floats = self._values[classes] * random.lognormal(0, 0.02, ruins.left.shape)[own]
        ranks: Floats = shaken / np.maximum(size, 1e-12) * random.lognormal(0, 0.4, size.shape)
        limits = np.minimum(left, tables.limits[classes])
        taken = fill.fill(tables, Trials(columns, classes, limits, ranks))
        columns = fill.cheapest(
            tables, fill.used(tables, classes, taken), fill.shut(tables, classes, taken)
        )
        per_dollar = (taken * shaken).sum(axis=1) / tables.prices[columns]
        best = per_dollar.reshape(-1, _TRIALS).argmax(axis=1) + np.arange(len(active)) * _TRIALS
        ruins.left[active] -= taken[best]
        ruins.after[active] += tables.prices[columns[best]] * taken[best].any(axis=1)
        for ruin, place in zip(map(int, active), map(int, best), strict=True):
            kept = np.flatnonzero(taken[place])
            if kept.size:
                made = ruins.made[ruin]
                made.columns.append(int(columns[place]))
                made.classes.append(classes[place][kept])
                made.pods.append(taken[place][kept])

    def _accept(self, ruins: _Ruins) -> None:
        """Replace nodes by what was made of them, where that costs no more."""
        gain = np.where(ruins.left.any(axis=1), -1.0, ruins.before - ruins.after)
        coins = self._random.random(len(gain)) < 0.5
        gone: dict[int, None] = {}
        for ruin in map(int, np.argsort(-gain, kind="stable")):
            if gain[ruin] < -_PENNY:
                break
            nodes = [int(node) for node in ruins.nodes[ruin]]
            if any(node in gone for node in nodes) or (gain[ruin] < _PENNY and coins[ruin]):
                continue
            gone |= dict.fromkeys(nodes)
            made = ruins.made[ruin]
            self.fleet.columns += made.columns
            self.fleet.classes += made.classes
            self.fleet.pods += made.pods
        if gone:
            kept = [node for node in range(len(self.fleet.columns)) if node not in gone]
            self.fleet.columns = [self.fleet.columns[node] for node in kept]
            self.fleet.classes = [self.fleet.classes[node] for node in kept]
            self.fleet.pods = [self.fleet.pods[node] for node in kept]
