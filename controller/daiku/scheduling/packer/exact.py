"""The cheapest packing, proven, when there are few ways to take pods out of the demand.

The idea: what is left of the demand is a *state*, a number of pods of each class. The cheapest way to a state is the
cheapest last node plus the cheapest way to what remains without it. With a few hundred states all are tried.

Letters in shapes: C classes, S states.
"""

import math
from typing import Final

import numpy as np

from daiku.scheduling.packer import fill
from daiku.scheduling.packer.demand import Floats, Mask
from daiku.scheduling.packer.fleet import Fleet
from daiku.scheduling.packer.tables import Tables

STATES_MAX: Final = 600
"""States up to which the exact answer takes a few milliseconds."""


def states(tables: Tables) -> int:
    """How many states the demand has."""
    return math.prod(int(count) + 1 for count in tables.counts)


def packed(tables: Tables) -> Fleet:
    """The cheapest nodes for all pods of `tables`."""
    shape = (tables.counts + 1).astype(np.int64)
    taken = np.array(np.unravel_index(np.arange(states(tables)), shape), dtype=np.float64).T
    classes = np.broadcast_to(np.arange(len(shape)), taken.shape)
    columns = fill.cheapest(
        tables, fill.used(tables, classes, taken), fill.shut(tables, classes, taken)
    )
    nodes = np.flatnonzero((columns >= 0) & _legal(tables, taken) & taken.any(axis=1))
    prices = tables.prices[columns[nodes]]
    cost = np.zeros(len(taken))
    last = np.zeros(len(taken), dtype=np.int64)
    fits = np.ones((len(taken), len(nodes)), dtype=np.bool_)
    for amounts in taken.T:
        fits &= amounts[nodes] <= amounts[:, None]
    for state in range(1, len(taken)):
        # States are numbered in mixed radix, so the number of what remains is a difference; where a node does not fit
        # it is a number that means nothing.
        total = np.where(fits[state], prices + cost[state - nodes], np.inf)
        best = int(np.argmin(total))
        cost[state], last[state] = total[best], nodes[best]
    fleet = Fleet()
    state = len(taken) - 1
    while state:
        node = int(last[state])
        fleet.add(int(columns[node]), taken[node])
        state -= node
    return fleet


def _legal(tables: Tables, taken: Floats) -> Mask:
    """Whether a node may hold so many of each class and of each exclusion group, shape (S,)."""
    legal = np.all(taken <= tables.limits, axis=1)
    for group, room in enumerate(tables.group_room):
        legal = legal & (taken[:, tables.groups == group].sum(axis=1) <= room)
    return legal
