"""Covering programs: buy columns at least cost so that every row is covered.

    minimise  costs · x   subject to   sum of columns · x >= demand,   x >= 0

A thin wall around HiGHS: rows first, then columns in any number of rounds; each solve starts from the last one's basis.
One thread always: HiGHS wants the same number in every instance of a process, and answers must not depend on it.
"""

from dataclasses import dataclass
from typing import Any, Final

import highspy
import numpy as np

from daiku.scheduling.packer.demand import Floats

_OPTIONS: Final = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",  # it would throw the basis away
    "simplex_strategy": 4,  # primal: new columns leave the basis feasible
}


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """An optimum."""

    amounts: Floats
    """How much of each column is bought."""
    values: Floats
    """What one more unit of each row's demand would cost; at least 0."""


class Covering:
    """A program that can grow."""

    def __init__(self, demand: Floats) -> None:
        """Start with rows of `demand` and no column."""
        # The binding's own type lacks some of its methods.
        self._highs: Any = highspy.Highs()
        for option, value in _OPTIONS.items():
            self._highs.setOptionValue(option, value)
        rows = len(demand)
        self._rows = np.arange(rows, dtype=np.int32)
        self._endless = np.full(rows, highspy.kHighsInf)
        none = np.zeros(0, dtype=np.int32)
        self._highs.addRows(
            rows, demand, self._endless, 0, np.zeros(rows, np.int32), none, np.zeros(0)
        )

    def add(self, columns: Floats, costs: Floats) -> None:
        """Add columns, given as rows of `columns`, shape (new, rows of the program)."""
        places, rows = np.nonzero(columns)
        starts = np.searchsorted(places, np.arange(len(costs)))
        self._highs.addCols(
            len(costs),
            costs,
            np.zeros(len(costs)),
            np.full(len(costs), highspy.kHighsInf),
            len(rows),
            starts.astype(np.int32),
            rows.astype(np.int32),
            columns[places, rows],
        )

    def change(self, demand: Floats) -> None:
        """Ask for another amount of each row."""
        self._highs.changeRowsBounds(len(demand), self._rows, demand, self._endless)

    def solve(self) -> Solved:
        """Solve; every row must have a column that covers it."""
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # A basis can be numerically stuck; a solve from nothing is not.
            self._highs.clearSolver()
            self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the covering program has no optimum: {status.name}")
        solution = self._highs.getSolution()
        return Solved(
            np.array(solution.col_value, dtype=np.float64),
            np.maximum(np.array(solution.row_dual, dtype=np.float64), 0.0),
        )
