"""Where nodes can be: every combination of values of the labels over which pods are spread or kept together.

The idea: a *cell* is one value for each such label (hostname apart), such as zone a with capacity type spot. An
existing node is in one cell. A new node is made in a cell too, so all that pods ask of domains is decided before any
node is looked at; if it turns out that none of its pods cares about a label, the node is let off again.

Letters in shapes: N nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from daiku.model.requirements import Requirement, Requirements
from daiku.scheduling.catalogue import Types

Cell = tuple[str | None, ...]
"""A value for each key, in the order of keys; None where the node has no such label."""

CELLS_MAX: Final = 2000
"""Cells of one NodePool; more occur only when pods are spread over something like instance types and zones at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of a problem."""

    keys: tuple[str, ...]
    of_template: tuple[tuple[Cell, ...], ...]
    """For each NodePool, the cells in which it could make nodes, in order."""

    def pins(self, cell: Cell, among: Iterable[int]) -> Requirements:
        """What keeps a node in `cell`, for the keys at the positions `among`."""
        return Requirements.of(
            *(
                Requirement.parse(self.keys[position], "In", (value,))
                for position in among
                if (value := cell[position]) is not None
            )
        )


def of_labels(keys: Sequence[str], known: Mapping[str, str]) -> Cell:
    """The cell of a node whose decided labels are `known`; one that is not decided yet is as good as absent."""
    return tuple(known.get(key) for key in keys)


def of_template(keys: Sequence[str], requirements: Requirements, types: Types) -> tuple[Cell, ...]:
    """The cells in which a NodePool could make nodes of `types`."""
    if not keys:
        return ((),)
    found: dict[Cell, None] = {}
    sold = types.offered(requirements)
    for index in map(int, np.flatnonzero(sold)):
        offering = types.offerings[index].requirements
        own = types.types[int(types.offering_type[index])].requirements
        values = [_values(key, offering, own, requirements) for key in keys]
        for cell in product(*values):
            found[cell] = None
            if len(found) >= CELLS_MAX:
                return _in_order(found)
    return _in_order(found)


def _in_order(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(sorted(cells, key=lambda cell: tuple(value or "" for value in cell)))


def _values(
    key: str, offering: Requirements, own: Requirements, template: Requirements
) -> tuple[str | None, ...]:
    """The values that the label could have on such a node; None alone when there is none to name."""
    asked = template.get(key)
    for known in (offering, own):
        if key in known:
            both = known.get(key) & asked
            return both.sorted_values() if not both.complement and both.values else (None,)
    return asked.sorted_values() if not asked.complement and asked.values else (None,)
