"""The least that the pods can cost, and what a pod is worth.

The idea: forget that pods are whole and which of them share a node. What is left is a small linear program: buy
columns so that they offer what all pods ask for together. Its optimum is a lower bound, and its dual prices say what
each pod is worth. More rows make it tighter. Each is a rule that every packing keeps:

- the pods that can only use some columns must be paid for by those columns;
- a node takes no more pods of a class than its cap, and no more than fit when whole;
- a node takes few pods that ask for much: as many as `room // amount` of those that ask for `amount` or more.

Letters in shapes: R resources, C classes, K columns, Q rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from daiku.scheduling.packer import lp
from daiku.scheduling.packer.demand import Floats, Mask
from daiku.scheduling.packer.tables import Tables

_REACHES_MAX: Final = 16
"""Sets of columns with rows of their own; those whose classes ask for most are taken."""
_CLASSES_MAX: Final = 96
"""Classes with a rule of their own; those that need most nodes are taken."""
_AMOUNTS_MAX: Final = 12
"""Thresholds of "much" per resource."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A lower bound and the values that prove it."""

    usd_per_hour: float
    values: Floats
    """What a pod of each class is worth in USD per hour, shape (C,)."""
    resource_values: Floats
    """What a unit of each resource is worth, shape (R,)."""


def bound(tables: Tables) -> Bound:
    """The bound of all pods of `tables`."""
    if not len(tables.counts):
        return Bound(0.0, np.zeros(0), np.zeros(len(tables.requests)))
    rules = list(_resource_rules(tables)) + list(_class_rules(tables)) + list(_amount_rules(tables))
    asked = np.array([asked for asked, _ in rules])
    offered = np.array([offered for _, offered in rules])
    # Rows are counted in what all pods ask for, so that the program's numbers are of one size.
    sizes = np.maximum(asked @ tables.counts, 1.0)
    covering = lp.Covering(asked @ tables.counts / sizes)
    covering.add((offered / sizes[:, None]).T, tables.prices)
    solved = covering.solve()
    worth = solved.values / sizes
    return Bound(
        _proven(worth, asked, offered, tables),
        _positive(worth @ asked),
        worth[: len(tables.requests)],
    )


def _proven(worth: Floats, asked: Floats, offered: Floats, tables: Tables) -> float:
    """The bound that `worth` proves without trusting the solver's tolerances: no column offers more than it costs."""
    excess = float(((worth @ offered) / np.maximum(tables.usd, 1e-12)).max())
    return float(worth @ (asked @ tables.counts)) / max(excess, 1.0)


def _positive(values: Floats) -> Floats:
    """`values`, none of them nothing: a pod that costs nothing more still wants a place."""
    return np.maximum(values, 1e-6 * values.max())


def _resource_rules(tables: Tables) -> Iterator[tuple[Floats, Floats]]:
    """Requests and room: of all, first, then of the classes that reach only some columns."""
    reaches = tables.open_to[tables.profiles].T
    keys = [reach.tobytes() for reach in reaches]
    distinct: dict[bytes, Mask] = dict(zip(keys, reaches, strict=True))
    shares = tables.requests * tables.counts
    shares = (shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)).sum(axis=0)
    for asked, offered in zip(tables.requests, tables.room, strict=True):
        yield asked, offered
    within = {
        key: np.array([not (other & ~reach).any() for other in reaches])
        for key, reach in list(distinct.items())[: 4 * _REACHES_MAX]
        if not reach.all()
    }
    order = sorted(within, key=lambda key: -float(shares[within[key]].sum()))
    for key in order[:_REACHES_MAX]:
        for asked, offered in zip(tables.requests, tables.room, strict=True):
            if asked[within[key]].any():
                yield asked * within[key], offered * distinct[key]


def _class_rules(tables: Tables) -> Iterator[tuple[Floats, Floats]]:
    """How many whole pods of one class, or of one exclusion group, a node takes."""
    largest = tables.room.max(axis=1, keepdims=True)
    shares = np.max(tables.requests / np.maximum(largest, 1.0), axis=0)
    needed = tables.counts * np.maximum(shares, 1.0 / tables.limits)
    open_to = tables.open_to[tables.profiles].T
    for row in np.argsort(-needed, kind="stable")[:_CLASSES_MAX]:
        whole = np.full(len(tables.prices), tables.limits[row])
        for amount, room in zip(tables.requests[:, row], tables.room, strict=True):
            if amount:
                whole = np.minimum(whole, np.floor(room / amount))
        yield np.eye(1, len(needed), row)[0], whole * open_to[row]
    for group, most in enumerate(tables.group_room[:-1]):
        members = tables.groups == group
        if members.any():
            yield members.astype(np.float64), most * open_to[members].any(axis=0)


def _amount_rules(tables: Tables) -> Iterator[tuple[Floats, Floats]]:
    """How many pods that ask for an amount or more a node takes."""
    for asked, room in zip(tables.requests, tables.room, strict=True):
        amounts = np.unique(asked[asked > 0])
        for amount in amounts[:: len(amounts) // _AMOUNTS_MAX + 1]:
            yield (asked >= amount).astype(np.float64), np.floor(room / amount)
