"""The beginning of a solve with constraints between pods: cells, existing nodes by cell, and nothing placed yet.

Letters in shapes: R resources, C classes, N existing nodes, L limited resources.
"""

from collections.abc import Sequence

import numpy as np

from daiku.scheduling import worths
from daiku.scheduling.columns import Ints
from daiku.scheduling.problem import Problem
from daiku.scheduling.topology import ledger as ledgers
from daiku.scheduling.topology import postponed
from daiku.scheduling.topology.bays import ExistingBay
from daiku.scheduling.topology.cells import Cell
from daiku.scheduling.topology.counts import Topology
from daiku.scheduling.topology.division import Division
from daiku.scheduling.topology.place import Placer
from daiku.scheduling.topology.spare import Spare
from daiku.scheduling.topology.templates import Templates


def start(
    problem: Problem,
    left: Sequence[Ints],
    per_node_usd_per_hour: float,
    *,
    grow: bool,
    min_values_bind: bool,
    careful: bool,
    at_first: bool,
) -> Placer | None:
    """A solve that has placed nothing yet; None when no constraint concerns any pod.

    Args:
        problem: What is to be solved.
        left: What the limits of each NodePool still allow, shape (L,) each; it goes down.
        per_node_usd_per_hour: What a node costs beside its instance.
        grow: Whether new nodes may be made.
        min_values_bind: Whether `minValues` is strict.
        careful: Whether pods are placed one by one, and no new node is left to the packer.
        at_first: Whether it is tried first whether no pod has to give up a preference.
    """
    topology = problem.topology
    if topology is None:
        return None
    worth = worths.worth_of(problem, problem.counts, range(len(problem.templates))).worth
    ledger = ledgers.start(topology)
    every = dict.fromkeys(cell for cells in topology.cells.of_template for cell in cells)
    cells = list(every | dict.fromkeys(topology.of_site))
    existing = _bays(problem, topology, cells)
    hostable = problem.nodes.hostable
    nobody = np.zeros(len(problem.counted), dtype=np.bool_)
    templates = Templates(
        problem=problem,
        topology=topology,
        left=left,
        weights=worth,
        per_node_usd_per_hour=per_node_usd_per_hour,
        min_values_bind=min_values_bind,
        cell_index={cell: index for index, cell in enumerate(cells)},
        hosts_existing=[
            np.logical_or.reduce([hostable[:, bay.nodes].any(axis=1) for bay, _ in bays])
            if bays
            else nobody
            for bays in existing
        ],
    )
    places = [ledger.place(cell) for cell in cells]
    load, sizes = [0.0] * len(cells), worth @ problem.requests
    spare = Spare(problem, topology, templates, existing, sizes, awaited=[0.0] * len(cells))
    caps = None if careful else postponed.of_classes(topology.host_rules)
    unyielding = caps is None and at_first and not careful
    if unyielding:
        caps = postponed.at_first(topology.host_rules, problem.counts.tolist())
    return Placer(
        problem=problem,
        topology=topology,
        templates=templates,
        ledger=ledger,
        grow=grow,
        cells=places,
        existing=existing,
        sizes=sizes,
        load=load,
        division=Division(topology, templates, ledger, places, load, spare),
        careful=careful,
        caps=caps,
        unyielding=unyielding and caps is not None,
    )


def _bays(
    problem: Problem, topology: Topology, cells: Sequence[Cell]
) -> list[list[tuple[ExistingBay, frozenset[int]]]]:
    """For each cell, its existing nodes, those that count for the same constraints together."""
    filtered = [(i, c.filter) for i, c in enumerate(topology.counters) if c.filter is not None]
    uncounted = np.zeros((len(filtered), len(topology.of_site)), dtype=np.bool_)
    for row, (_, kept) in enumerate(filtered):
        uncounted[row] = ~topology.passing[kept]
    keys = [column.tobytes() for column in np.ascontiguousarray(uncounted.T)]
    groups: dict[Cell, dict[bytes, list[int]]] = {cell: {} for cell in cells}
    for node, (cell, key) in enumerate(zip(topology.of_site, keys, strict=True)):
        groups[cell].setdefault(key, []).append(node)
    bays: list[list[tuple[ExistingBay, frozenset[int]]]] = []
    for of_cell in groups.values():
        bays.append([])
        for members in of_cell.values():
            nodes = np.array(members, dtype=np.intp)
            free, counts = problem.nodes.free[:, nodes], topology.on_nodes[:, nodes]
            of_first = np.flatnonzero(uncounted[:, members[0]])
            indices = frozenset(filtered[row][0] for row in of_first.tolist())
            bays[-1].append((ExistingBay(nodes, free, counts), indices))
    return bays
