"""What a solve of pods that constraints concern has come to: where they are, on which new nodes, who still waits.

Letters in shapes: C classes.
"""

from collections.abc import Iterable

import numpy as np

from daiku.scheduling.columns import Ints
from daiku.scheduling.packed import PackedNode
from daiku.scheduling.topology.place import Placer
from daiku.scheduling.topology.postponed import Postponed


def waiting(placer: Placer) -> list[Postponed]:
    """Pods that are to have new nodes and have none yet."""
    return [
        Postponed(row=row, pins=pins, count=count, cap=(placer.caps or ())[row])
        for (row, pins), count in sorted(
            placer.postponed.items(), key=lambda each: (each[0][0], str(each[0][1]))
        )
    ]


def on_existing(placer: Placer) -> list[tuple[int, int, int]]:
    """Class, existing node, and how many pods of the one are on the other."""
    found: list[tuple[int, int, int]] = []
    for each in placer.existing:
        for bay, _ in each:
            for position, contents in enumerate(bay.placed.by_node(len(bay.nodes))):
                node = int(bay.nodes[position])
                found += [(row, node, count) for row, count in contents.items()]
    return sorted(found, key=lambda f: (f[1], f[0]))


def packed(placer: Placer) -> list[PackedNode]:
    """The new nodes."""
    touched: dict[int, frozenset[int]] = {}
    for rules in placer.topology.rules:
        if id(rules) not in touched:
            touched[id(rules)] = frozenset(placer.touched(rules))
    return list(placer.templates.packed([touched[id(r)] for r in placer.topology.rules]))


def on_new(placer: Placer, packed: Iterable[PackedNode]) -> Ints:
    """Pods of each class on nodes that were planned here, and on those that were `packed`, shape (C,)."""
    total = np.zeros(len(placer.problem.counted), dtype=np.int64)
    for node in packed:
        for row, count in node.counts.items():
            total[row] += count
    for bay in placer.templates.opened():
        placed = bay.placed
        for row, counts in zip(placed.rows, placed.counts, strict=True):
            total[row] += counts.sum()
    return total
