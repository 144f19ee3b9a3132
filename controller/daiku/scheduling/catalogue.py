"""Instance types and their offerings as columns, and what each type costs under given requirements.

An offering counts when it is for sale, not sold out, and meets the requirements; a type costs what its cheapest such
offering costs, and infinity when it has none.

Letters in shapes: T instance types, O offerings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from daiku.model import memo
from daiku.model.instance_type import InstanceType, Offering
from daiku.model.requirements import Requirements
from daiku.scheduling import columns
from daiku.scheduling.columns import Floats, Ints, Labels, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """The instance types of one node class."""

    types: tuple[InstanceType, ...]
    """In the order of their names, which is the order of every array of shape (T,)."""
    labels: Labels
    """Of the types, shape (T,)."""
    offerings: tuple[Offering, ...]
    """Those that can be had, type by type: the order of every array of shape (O,)."""
    offering_labels: Labels
    """Of the offerings, shape (O,)."""
    offering_type: NDArray[np.intp]
    """Which type each offering is of, shape (O,)."""
    offering_price: Floats
    """USD per hour, infinity for what is for sale and must not be bought, shape (O,)."""

    @property
    def known(self) -> frozenset[str]:
        """Label keys that a node gets because of its type or offering."""
        return frozenset((*self.labels.by_key, *self.offering_labels.by_key))

    def offered(self, requirements: Requirements) -> Mask:
        """Offerings that meet `requirements`, by their own labels and their type's, shape (O,)."""
        types = self.labels.meets(requirements, only_known=True)
        return self.offering_labels.meets(requirements, only_known=True) & types[self.offering_type]

    def prices(self, requirements: Requirements) -> Floats:
        """What each type costs in USD per hour, infinity where it cannot be had, shape (T,)."""
        offered = self.offered(requirements)
        cheapest = np.full(len(self.types), np.inf)
        np.minimum.at(cheapest, self.offering_type[offered], self.offering_price[offered])
        return cheapest


def build(types: Sequence[InstanceType], sold_out: Mapping[tuple[str, str, str], object]) -> Types:
    """The columns of `types`, without offerings in pools that are `sold_out`."""
    whole = _whole(types)
    if not sold_out:
        return whole
    rows = cast("list[int]", whole.offering_type.tolist())
    owners = [whole.types[row].name for row in rows]
    left = [
        position
        for position, (name, offering) in enumerate(zip(owners, whole.offerings, strict=True))
        if (name, offering.zone, offering.capacity_type) not in sold_out
    ]
    if len(left) == len(owners):
        return whole
    offerings = tuple(whole.offerings[position] for position in left)
    return replace(
        whole,
        offerings=offerings,
        offering_labels=columns.stack([o.requirements for o in offerings]),
        offering_type=whole.offering_type[left],
        offering_price=whole.offering_price[left],
    )


def without(types: Types, barred: Mask) -> Types:
    """The same where some types, `barred` of shape (T,), must not be bought; their labels are still known."""
    if not barred.any():
        return types
    prices = np.where(barred[types.offering_type], np.inf, types.offering_price)
    return replace(types, offering_price=prices)


def allocatable(types: Types, resources: Sequence[str]) -> Ints:
    """What a node of each type has for pods, DaemonSets among them, shape (R, T)."""
    return _amounts(types.types).allocatable.of(resources)


def capacity(types: Types, resources: Sequence[str]) -> Ints:
    """What a node of each type has altogether, shape (R, T)."""
    return _amounts(types.types).capacity.of(resources)


class _Rows:
    """Amounts of each type, one row per resource, made when first asked for."""

    def __init__(self, each: Sequence[Mapping[str, int]]) -> None:
        self._each = each
        self._known: dict[str, Ints] = {}

    def of(self, resources: Sequence[str]) -> Ints:
        """Rows in the order of `resources`, the caller's own, shape (R, T)."""
        rows = np.zeros((len(resources), len(self._each)), dtype=np.int64)
        for row, resource in enumerate(resources):
            if resource not in self._known:
                self._known[resource] = columns.amounts((resource,), self._each)[0]
            rows[row] = self._known[resource]
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class _Amounts:
    allocatable: _Rows
    capacity: _Rows


@memo.by_identity(8)
def _amounts(types: tuple[InstanceType, ...]) -> _Amounts:
    return _Amounts(_Rows([t.allocatable for t in types]), _Rows([t.capacity for t in types]))


# A catalogue stays for a minute and is asked for with every batch: making its columns was half of a small batch.
@memo.by_identity(8)
def _whole(types: Sequence[InstanceType]) -> Types:
    """The columns of `types`, whatever is sold out."""
    ordered = tuple(sorted(types, key=lambda t: t.name))
    offerings: list[Offering] = []
    owners: list[int] = []
    for position, instance_type in enumerate(ordered):
        for offering in instance_type.offerings:
            if offering.available:
                offerings.append(offering)
                owners.append(position)
    return Types(
        types=ordered,
        labels=columns.stack([t.requirements for t in ordered]),
        offerings=tuple(offerings),
        offering_labels=columns.stack([o.requirements for o in offerings]),
        offering_type=np.array(owners, dtype=np.intp),
        offering_price=np.array([o.price_usd_per_hour for o in offerings], dtype=np.float64),
    )
