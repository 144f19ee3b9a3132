"""Back from reduced classes and columns to those of the demand."""

import numpy as np

from daiku.scheduling.packer.demand import Ints, NewNodes, Packing
from daiku.scheduling.packer.fleet import Fleet
from daiku.scheduling.packer.tables import Tables


def packing(tables: Tables, fleet: Fleet, lower_bound: float | None) -> Packing:
    """The fleet in the demand's indices, equal nodes together; with no lower bound it is known to be the cheapest."""
    dealt = [_Deal(tables, number) for number in range(len(tables.members))]
    copies: dict[tuple[int, bytes, bytes], int] = {}
    for column, classes, pods in zip(fleet.columns, fleet.classes, fleet.pods, strict=True):
        own: dict[int, int] = {}
        for number, count in zip(map(int, classes), pods, strict=True):
            own |= dealt[number].take(int(count))
        members = np.array(sorted(own), dtype=np.int64)
        counts = np.array([own[int(member)] for member in members], dtype=np.int64)
        key = (int(tables.sources[column]), members.tobytes(), counts.tobytes())
        copies[key] = copies.get(key, 0) + 1
    nodes = tuple(
        NewNodes(
            column=column,
            copies=copies[column, classes, pods],
            classes=np.frombuffer(classes, dtype=np.int64),
            pods=np.frombuffer(pods, dtype=np.int64),
        )
        for column, classes, pods in sorted(copies)
    )
    price = float(tables.usd[fleet.columns].sum()) if fleet.columns else 0.0
    return Packing(
        nodes=nodes,
        unplaced=tables.unplaced,
        usd_per_hour=price,
        lower_bound_usd_per_hour=price if lower_bound is None else min(lower_bound, price),
    )


class _Deal:
    """Hands out the pods of the classes that a reduced class stands for, one class after the other."""

    def __init__(self, tables: Tables, number: int) -> None:
        self._members: Ints = tables.members[number]
        self._left = [int(count) for count in tables.shares[number]]
        self._next = 0

    def take(self, count: int) -> dict[int, int]:
        taken: dict[int, int] = {}
        while count:
            part = min(count, self._left[self._next])
            if part:
                taken[int(self._members[self._next])] = part
                self._left[self._next] -= part
                count -= part
            else:
                self._next += 1
        return taken
