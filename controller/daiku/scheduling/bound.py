"""What the pods must cost at least, and what each resource is worth.

The idea: give every unit of every resource a price such that no instance type offers more worth than it costs.
Then pods worth W together cannot be had for less than W, however they are packed: a lower bound. Directions
between the resources are tried on a grid, scaled up until the first type breaks the rule; the best one bounds, and
its prices tell which pods are worth a place. It is the dual of the packing's linear relaxation, solved on a grid.

Letters in shapes: R resources, T instance types, D directions.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from daiku.scheduling.columns import Floats, Ints

_STEPS: Final = 64
"""Directions between the two resources that cost most; the bound is within about 1 % of the exact one."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A lower bound and the prices that prove it."""

    usd_per_hour: float
    worth: Floats
    """USD per hour and unit of each resource, shape (R,)."""


def lower_bound(allocatable: Ints, prices: Floats, demand: Ints) -> Bound:
    """The least that `demand` can cost on any number of nodes.

    Args:
        allocatable: What each type offers pods, shape (R, T).
        prices: USD per hour of each type, infinity where it cannot be had, shape (T,).
        demand: What all pods ask for together, shape (R,).
    """
    usable = np.isfinite(prices)
    asked = demand > 0
    if not usable.any() or not asked.any():
        return Bound(0.0, np.zeros(len(demand)))
    offers = np.maximum(allocatable[:, usable], 0).astype(np.float64)
    directions = _directions(np.where(asked, demand, 0).astype(np.float64))
    # Worth per type for each direction, shape (D, T): the largest one limits how far it can be scaled.
    with np.errstate(divide="ignore", invalid="ignore"):
        # What costs nothing gives any worth per dollar, but none where it offers nothing.
        per_dollar = np.nan_to_num((directions @ offers) / prices[usable], posinf=np.inf)
    scale = 1.0 / np.maximum(per_dollar.max(axis=1), np.finfo(np.float64).tiny)
    worths = directions * scale[:, None]
    bounds = worths @ demand.astype(np.float64)
    bounds[~np.isfinite(bounds)] = 0.0
    best = int(np.argmax(bounds))
    return Bound(float(bounds[best]), worths[best])


def _directions(demand: Floats) -> Floats:
    """Ways to divide worth among resources, each row giving the whole demand a worth of 1, shape (D, R)."""
    asked = np.flatnonzero(demand)
    singles = np.zeros((len(asked), len(demand)))
    singles[np.arange(len(asked)), asked] = 1.0 / demand[asked]
    shares = np.arange(1, _STEPS)[:, None] / _STEPS
    pairs = [
        singles[first] * shares + singles[second] * (1 - shares)
        for first in range(len(asked))
        for second in range(first + 1, len(asked))
    ]
    return np.concatenate([singles, *pairs])
