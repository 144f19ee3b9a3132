"""Many classes packed as a few.

The problem: the search takes time for every class, and there can be thousands that differ by a few millicores. The
idea: classes that may go on the same columns and ask for nearly the same are one cluster, an average pod; a packing of
clusters says which nodes to buy and how many pods of each cluster go on each. Then the real pods are dealt out, largest
first, to nodes that still expect one of their cluster; those that do not fit go wherever there is room, or onto nodes
of their own.

Letters in shapes: R resources, C classes, Q clusters, N nodes, G exclusion groups.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from daiku.scheduling.packer import rounding
from daiku.scheduling.packer.demand import Floats, Ints, Mask
from daiku.scheduling.packer.fleet import Fleet, recolumned
from daiku.scheduling.packer.tables import Tables

CLUSTERS_MAX: Final = 64
"""Clusters are made coarser until there are no more, if coarser helps at all."""
_WIDTHS: Final = (1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 5.0)
"""How much larger than another a pod of the same cluster may be, in each resource; tried in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Classes, grouped."""

    tables: Tables
    """The problem with clusters as its classes; its `members` are not filled in."""
    of_class: Ints
    """The cluster of each class, shape (C,)."""


def clusters(tables: Tables) -> Clusters:
    """Group the classes of `tables`."""
    of_class = _similar(tables)
    count = int(of_class.max()) + 1
    first = np.array([int(np.argmax(of_class == cluster)) for cluster in range(count)])
    counts = np.bincount(of_class, tables.counts, count)
    requests = np.stack(
        [np.bincount(of_class, row * tables.counts, count) / counts for row in tables.requests]
    )
    # What is between a pod that needs one column and a pod that needs another may fit neither.
    fits = tables.open_to[tables.profiles][:, first].T
    for row, room in zip(requests, tables.room, strict=True):
        fits &= np.ceil(row)[:, None] <= room
    requests = np.where(fits.any(axis=1), np.ceil(requests), tables.requests[:, first])
    # A cluster of capped classes comes in layers: one node takes a pod of each, as often as the largest class allows.
    nodes = np.zeros(count)
    np.maximum.at(nodes, of_class, tables.counts / tables.limits)
    coarse = replace(
        tables,
        requests=requests,
        counts=counts,
        limits=np.maximum(np.floor(counts / nodes), 1.0),
        groups=tables.groups[first],
        open_to=tables.open_to[:, first],
        members=(),
        shares=(),
    )
    return Clusters(coarse, of_class)


def _similar(tables: Tables) -> Ints:
    """A number for each class, the same for classes that are much alike, shape (C,)."""
    capped = tables.limits < tables.counts
    logs = np.log(np.maximum(tables.requests, 0.5))
    found = np.arange(len(capped))
    for width in _WIDTHS:
        steps = np.floor(logs / np.log(width)).astype(np.int64)
        keys = np.vstack([steps, capped, tables.groups, tables.open_to]).T
        found = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        if found.max() < CLUSTERS_MAX:
            break
    return found


@dataclass(slots=True, eq=False)
class _Nodes:
    """Nodes that are being filled with real pods."""

    columns: Ints
    room: Floats
    """Shape (R, N)."""
    group_room: Floats
    """Shape (G + 1, N)."""
    placed: list[tuple[int, Ints, Floats]]
    """Class, nodes, pods on each."""


def dealt(tables: Tables, grouped: Clusters, plan: Fleet, values: Floats) -> Fleet:
    """Nodes as `plan` has them for clusters, with the pods of classes on them, and more nodes for those left over.

    Args:
        tables: The problem.
        grouped: Its clusters.
        plan: Nodes for the clusters' pods.
        values: What a pod of each class is worth, shape (C,).
    """
    columns = np.array(plan.columns, dtype=np.int64)
    nodes = _Nodes(
        columns,
        tables.room[:, columns],
        np.repeat(tables.group_room[:, None], len(columns), axis=1),
        [],
    )
    expected = np.zeros((len(grouped.tables.counts), len(columns)))
    for node, (classes, pods) in enumerate(zip(plan.classes, plan.pods, strict=True)):
        expected[classes, node] = pods
    order = np.argsort(-values, kind="stable")
    left = tables.counts.copy()
    for number in map(int, order):
        left[number] = _deal(
            tables, nodes, number, float(left[number]), expected[grouped.of_class[number]]
        )
    open_to = tables.open_to[tables.profiles[columns]]
    held = {number: (able, taken) for number, able, taken in nodes.placed}
    for number in map(int, order[left[order] > 0]):
        welcome = np.where(open_to[:, number], tables.limits[number], 0.0)
        if number in held:
            welcome[held[number][0]] -= held[number][1]
        left[number] = _deal(tables, nodes, number, float(left[number]), welcome)
    fleet = _fleet(tables, nodes)
    more = rounding.greedy(tables, values, left)
    return Fleet(fleet.columns + more.columns, fleet.classes + more.classes, fleet.pods + more.pods)


def _deal(tables: Tables, nodes: _Nodes, number: int, left: float, expected: Floats) -> float:
    """Put pods of one class where they are `expected`, shape (N,), which is lowered; how many are left."""
    group = tables.groups[number]
    pods = np.minimum(np.minimum(expected, tables.limits[number]), nodes.group_room[group])
    for asked, room in zip(tables.requests[:, number], nodes.room, strict=True):
        if asked:
            np.minimum(pods, np.floor(room / asked), out=pods)
    able = np.flatnonzero(pods > 0)
    if not able.size:
        return left
    # Most room first: the largest pods come first and are larger than was expected.
    share = (nodes.room[:, able] / tables.room[:, nodes.columns[able]]).sum(axis=0)
    able = able[np.argsort(-share, kind="stable")]
    taken = np.clip(left - (np.cumsum(pods[able]) - pods[able]), 0, pods[able])
    able, taken = able[taken > 0], taken[taken > 0]
    nodes.room[:, able] -= tables.requests[:, number][:, None] * taken
    nodes.group_room[group, able] -= taken
    expected[able] -= taken
    nodes.placed.append((number, able, taken))
    return left - float(taken.sum())


def _fleet(tables: Tables, nodes: _Nodes) -> Fleet:
    """The nodes that got pods, each of the cheapest column that holds it."""
    where = np.concatenate([able for _, able, _ in nodes.placed])
    classes = np.concatenate([np.full(len(able), number) for number, able, _ in nodes.placed])
    pods = np.concatenate([taken for _, _, taken in nodes.placed])
    order = np.lexsort((classes, where))
    where, classes, pods = where[order], classes[order], pods[order]
    # A class may have come to a node twice: as expected, and as left over.
    new: Mask = np.append(True, (np.diff(where) != 0) | (np.diff(classes) != 0))
    starts = np.flatnonzero(new)
    pods = np.add.reduceat(pods, starts)
    where, classes = where[starts], classes[starts]
    cuts = np.flatnonzero(np.diff(where)) + 1
    occupied = [int(node) for node in where[np.append(0, cuts)]]
    fleet = Fleet(
        [int(nodes.columns[node]) for node in occupied],
        np.split(classes, cuts),
        np.split(pods, cuts),
    )
    return recolumned(tables, fleet)
