"""Ways to fill one node, and the program that says how many of each to buy.

The idea: a *pattern* is a column with pods on it. A linear program buys patterns so that every pod is covered; its dual
prices say what a pod is worth next to the patterns known so far; a new pattern whose pods are worth more than
its node costs makes the program cheaper. New ones come from two places: nodes filled afresh, and good
patterns with a part of their pods thrown out and the hole filled again. The second finds what the first never does: a
node filled to the last unit of two resources.

Letters in shapes: R resources, C classes, K columns, P patterns.
"""

from typing import Final

import numpy as np

from daiku.scheduling.packer import fill, lp
from daiku.scheduling.packer.demand import Floats, Ints
from daiku.scheduling.packer.fill import Trials
from daiku.scheduling.packer.tables import Tables

_MIXES: Final = 9
"""Trials of each column in a fresh round, each with its own weights of resources."""
_FRESH_MAX: Final = 512
"""Trials in a fresh round; of more columns a sample is tried."""
_FRESH_EVERY: Final = 8
"""One round in so many fills afresh; the others change patterns."""
_PARENTS: Final = 60
"""Best patterns that a round changes."""
_CHILDREN: Final = 6
"""Changes of each."""
_BEST: Final = 100
"""New patterns that a round keeps at most."""
_BETTER: Final = 1 + 1e-6
"""Worth per dollar from which a pattern improves the program."""
_PATTERNS_MAX: Final = 2000
"""Patterns from which the program is started again with the best half of them: solving gets slower with each. It is
several times the most classes that are packed this way, each of which has a pattern of its own."""
_UNBINDING: Final = 0.05
"""Weight of a resource that is worth nothing, against one that is worth something."""


class Patterns:
    """A growing collection of patterns and its program."""

    def __init__(self, tables: Tables, resource_values: Floats, seed: int) -> None:
        """Start with one pattern per class, which alone makes the program feasible."""
        self.tables = tables
        self.columns: Ints = np.zeros(0, dtype=np.int64)
        self.pods: Floats = np.zeros((0, len(tables.counts)))
        self.left: Floats = tables.counts.copy()
        self.solved: lp.Solved | None = None
        self._binding = np.where(resource_values > 0, 1.0, _UNBINDING)
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._known: dict[bytes, None] = {}
        self._rounds = 0
        self._covering = lp.Covering(self.left)
        self._add(*self._alone())

    @property
    def prices(self) -> Floats:
        """Shape (P,)."""
        return self.tables.prices[self.columns]

    def ask(self, left: Floats) -> lp.Solved:
        """Cover only `left` pods of each class from now on, shape (C,)."""
        self.left = left
        self._covering.change(left)
        self.solved = self._covering.solve()
        return self.solved

    def improve(self, values: Floats) -> lp.Solved:
        """One round: new patterns, judged by what a pod is worth, and the program solved with them."""
        fresh = self._rounds % _FRESH_EVERY == 0
        self._rounds += 1
        columns, pods = self._fresh(values) if fresh else self._changed(values)
        per_dollar = (pods @ values) / self.tables.prices[columns]
        best = np.argsort(-per_dollar, kind="stable")[:_BEST]
        best = best[per_dollar[best] > _BETTER]
        if self._add(columns[best], pods[best]) or self.solved is None:
            self.solved = self._covering.solve()
        if len(self.columns) > _PATTERNS_MAX:
            self._shrink(self.solved)
        return self.solved

    def _limits(self) -> Floats:
        return np.minimum(self.left, self.tables.limits)

    def _alone(self) -> tuple[Ints, Floats]:
        """For each class, the column that is cheapest per pod when filled with nothing else."""
        tables = self.tables
        classes, columns = np.indices((len(tables.counts), len(tables.prices))).reshape(2, -1)
        limits = np.minimum(tables.counts, tables.limits)[classes][:, None]
        trials = Trials(columns, classes[:, None], limits, np.ones_like(limits))
        taken = fill.fill(tables, trials).reshape(len(tables.counts), -1)
        best = np.argmin(tables.prices / np.maximum(taken, 1e-9), axis=1)
        return best, np.diag(taken[np.arange(len(best)), best])

    def _fresh(self, values: Floats) -> tuple[Ints, Floats]:
        """Empty nodes of every column, filled in several mixes of the resources."""
        columns = np.repeat(np.arange(len(self.tables.prices)), _MIXES)
        if len(columns) > _FRESH_MAX:
            columns = self._random.choice(columns, _FRESH_MAX, replace=False)
        weights = self._random.random((len(self._binding), len(columns))) * self._binding[:, None]
        ranks = fill.ranks(self.tables, columns, weights, values)
        return columns, fill.fill(self.tables, self._trials(columns, ranks))

    def _changed(self, values: Floats) -> tuple[Ints, Floats]:
        """The best patterns, each with some of its pods exchanged for others."""
        random = self._random
        pods = np.minimum(self.pods, self.left)
        best = np.argsort(-(pods @ values) / self.prices, kind="stable")[:_PARENTS]
        parents = np.repeat(best, _CHILDREN)
        columns, held = self.columns[parents], pods[parents]
        touched = random.random(held.shape) < random.random((len(held), 1))
        held = np.floor(held * (1 - touched * random.random(held.shape)))
        weights = random.random((len(self._binding), len(columns))) * self._binding[:, None]
        ranks = fill.ranks(self.tables, columns, weights, values)
        ranks *= random.lognormal(0, 0.5, ranks.shape)
        return columns, fill.fill(self.tables, self._trials(columns, ranks), held)

    def _trials(self, columns: Ints, ranks: Floats) -> Trials:
        classes: Ints = np.broadcast_to(np.arange(ranks.shape[1], dtype=np.int64), ranks.shape)
        return Trials(columns, classes, np.broadcast_to(self._limits(), ranks.shape), ranks)

    def _add(self, columns: Ints, pods: Floats) -> bool:
        """Keep those that are new; whether there is any."""
        new: list[int] = []
        for place, (column, row) in enumerate(zip(columns, pods, strict=True)):
            key = row.tobytes() + int(column).to_bytes(4)
            if key not in self._known and row.any():
                self._known[key] = None
                new.append(place)
        if not new:
            return False
        self._covering.add(pods[new], self.tables.prices[columns[new]])
        self.columns = np.concatenate([self.columns, columns[new]])
        self.pods = np.vstack([self.pods, pods[new]])
        return True

    def _shrink(self, solved: lp.Solved) -> None:
        """Forget the patterns that are worth least; those that are bought and the first, one per class, stay."""
        worth = (self.pods @ solved.values) / self.prices + (solved.amounts > 0)
        worth[: len(self.left)] = np.inf
        kept = np.sort(np.argsort(-worth, kind="stable")[: _PATTERNS_MAX // 2])
        columns, pods = self.columns[kept], self.pods[kept]
        self.columns, self.pods, self._known = self.columns[:0], self.pods[:0], {}
        self._covering = lp.Covering(self.left)
        self._add(columns, pods)
        self.solved = self._covering.solve()
