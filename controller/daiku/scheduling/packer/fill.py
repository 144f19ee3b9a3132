"""Many trial nodes filled at once.

The only inner loop of the search. Every trial has a column, some room, a ranking of the classes and a limit for each.
All trials take their best-ranked class, as many pods of it as fit; then their second-best; and so on: one pass over the
classes, each step an operation on all trials. First ideas, changed patterns, ruined nodes and leftovers
all go through here and differ only in ranking and room.

Letters in shapes: R resources, C classes, K columns, F profiles, P trials, M classes that a trial may take.
"""

from dataclasses import dataclass

import numpy as np

from daiku.scheduling.packer.demand import Floats, Ints, Mask
from daiku.scheduling.packer.tables import Tables


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Nodes to fill, P of them."""

    columns: Ints
    """Shape (P,)."""
    classes: Ints
    """What each may take, shape (P, M)."""
    limits: Floats
    """Most pods of each of `classes`, shape (P, M)."""
    ranks: Floats
    """The higher, the earlier a class is taken, shape (P, M)."""


def fill(tables: Tables, trials: Trials, held: Floats | None = None) -> Floats:
    """Pods that each trial takes of each of its classes, shape (P, M).

    Args:
        tables: The problem.
        trials: The nodes.
        held: Pods of each class that are on the nodes already, shape (P, M); the answer includes them.
    """
    every = np.arange(len(trials.columns))
    limits = (
        trials.limits * tables.open_to[tables.profiles[trials.columns][:, None], trials.classes]
    )
    room = tables.room[:, trials.columns]
    group_room = np.tile(tables.group_room[:, None], len(every)) if tables.grouped else None
    if held is not None:
        limits = np.maximum(limits - held, 0)
        for row, requests in enumerate(tables.requests):
            room[row] -= (requests[trials.classes] * held).sum(axis=1)
        if group_room is not None:
            np.subtract.at(group_room, (tables.groups[trials.classes], every[:, None]), held)
    order = np.argsort(np.where(limits > 0, -trials.ranks, np.inf), axis=1, kind="stable")
    steps = int((limits > 0).sum(axis=1).max(initial=0))
    order = np.ascontiguousarray(order[:, :steps].T)
    classes = trials.classes[every, order]
    asked = tables.requests[:, classes]
    wanted = limits[every, order]
    taken = np.zeros_like(limits) if held is None else held.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        for step, places in enumerate(order):
            pods = wanted[step]
            for row, requests in enumerate(asked[:, step]):
                # 0 / 0 is "not a number", which fmin passes over: what is not asked for never blocks.
                np.fmin(pods, np.floor(room[row] / requests), out=pods)
            if group_room is not None:
                np.minimum(pods, group_room[tables.groups[classes[step]], every], out=pods)
                group_room[tables.groups[classes[step]], every] -= pods
            room -= asked[:, step] * pods
            taken[every, places] += pods
    return taken


def used(tables: Tables, classes: Ints, pods: Floats) -> Floats:
    """What the pods of each node ask for together, shape (R, P); `classes` and `pods` have shape (P, M)."""
    return np.stack([(requests[classes] * pods).sum(axis=1) for requests in tables.requests])


def shut(tables: Tables, classes: Ints, pods: Floats) -> Mask:
    """Profiles that are not open to all classes on each node, shape (P, F)."""
    if tables.open_to.all():
        return np.zeros((len(pods), len(tables.open_to)), dtype=np.bool_)
    present = pods > 0
    return np.stack(
        [(present & ~of_profile[classes]).any(axis=1) for of_profile in tables.open_to], axis=1
    )


def cheapest(tables: Tables, used: Floats, shut: Mask) -> Ints:
    """The cheapest column that holds what each node has on it, -1 where none does, shape (P,)."""
    fits = ~shut[:, tables.profiles]
    for asked, room in zip(used, tables.room, strict=True):
        fits &= asked[:, None] <= room
    return np.where(fits.any(axis=1), fits.argmax(axis=1), -1)


def ranks(tables: Tables, columns: Ints, weights: Floats, values: Floats) -> Floats:
    """What a pod is worth for the room it takes, when `weights` say how scarce each resource is.

    Args:
        tables: The problem.
        columns: One per trial, shape (P,).
        weights: Shape (R, P).
        values: Worth of a pod of each class, shape (C,).

    Returns:
        Shape (P, C).
    """
    scarcity = weights / np.maximum(tables.room[:, columns], 1.0)
    return values / np.maximum(scarcity.T @ tables.requests, 1e-12)
