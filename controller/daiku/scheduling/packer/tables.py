"""The demand as the search reads it: fewer classes, fewer columns, small whole numbers in floats.

Three reductions, none of which changes the answer. Classes that ask for the same and may go on the same columns are one
class, unless a cap or a group tells them apart. A column is left out when another is no dearer, no smaller and open to
every class that it is open to. Amounts are counted in the greatest common divisor of what pods ask for: then whatever
of a node no sum of requests can reach is gone, the bound is tighter, and every amount is exact in a float.

Letters in shapes: R resources, C classes, K columns, F profiles, G exclusion groups.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from daiku.scheduling.packer.demand import Demand, Floats, Ints, Mask

_EXACT_MAX: Final = 2.0**50
"""Amounts above this are rounded to fewer digits (requests up, room down), so that quotients of floats stay exact."""
_NODE_USD: Final = 1e-6
"""What the search adds to the price of a node: of equally cheap answers the one with fewer nodes is taken, and worth
per dollar of a node that costs nothing stays finite."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tables:
    """The reduced problem. Columns are in order of price, classes in order of their requests, largest first."""

    requests: Floats
    """Shape (R, C)."""
    counts: Floats
    """Shape (C,)."""
    limits: Floats
    """Most pods of each class on one node: its cap, its group's cap, its count, shape (C,)."""
    groups: Ints
    """Exclusion group of each class; G, whose room never ends, for none, shape (C,)."""
    group_room: Floats
    """Shape (G + 1,)."""
    room: Floats
    """What each column offers, shape (R, K)."""
    prices: Floats
    """What the search minimises: USD per hour and very little per node; ascending, shape (K,)."""
    usd: Floats
    """USD per hour, shape (K,)."""
    profiles: Ints
    """Columns that are open to the same classes have the same profile, shape (K,)."""
    open_to: Mask
    """Whether columns of a profile are open to a class, shape (F, C)."""
    members: tuple[Ints, ...]
    """For each class, the classes of the demand that it stands for."""
    shares: tuple[Ints, ...]
    """For each class, how many pods each of `members` has."""
    sources: Ints
    """For each column, its index in the demand, shape (K,)."""
    unplaced: Ints
    """Pods of each class of the demand that no column holds."""

    @property
    def grouped(self) -> bool:
        """Whether any class is in an exclusion group."""
        return len(self.group_room) > 1


def tables(demand: Demand) -> Tables:
    """Reduce `demand`."""
    usable = np.flatnonzero(np.isfinite(demand.prices))
    usable = usable[np.lexsort((*-demand.allocatable[:, usable], demand.prices[usable]))]
    allowed = demand.allowed[:, usable]
    shared = np.append(demand.group_caps, demand.counts.max(initial=1) + 1)[demand.groups]
    limits = np.minimum(np.minimum(demand.caps, shared), demand.counts)
    active = np.flatnonzero((demand.counts > 0) & _placeable(demand, usable) & (limits > 0))
    unplaced = demand.counts.copy()
    unplaced[active] = 0
    # From here on order comes from what is asked, not from who asks first, so that renaming changes nothing.
    asked = [-row for row in demand.requests[::-1, active]]
    active = active[np.lexsort((limits[active], demand.counts[active], *asked))]
    members = _merged(demand, allowed, limits, active)
    first = np.array([member[0] for member in members], dtype=np.int64)
    counts = np.array([demand.counts[member].sum() for member in members], dtype=np.float64)
    free = np.array([limits[m[0]] >= demand.counts[m[0]] for m in members], dtype=np.bool_)
    requests, room = _scaled(demand.requests[:, first], demand.allocatable[:, usable])
    open_to, profiles = _profiles(allowed[first])
    kept = _undominated(room, profiles, open_to)
    groups = np.where(demand.groups[first] < 0, len(demand.group_caps), demand.groups[first])
    return Tables(
        requests=requests,
        counts=counts,
        limits=np.where(free & (demand.groups[first] < 0), counts, limits[first]),
        groups=groups,
        group_room=np.append(demand.group_caps.astype(np.float64), np.inf),
        room=np.ascontiguousarray(room[:, kept]),
        prices=demand.prices[usable[kept]] + _NODE_USD,
        usd=demand.prices[usable[kept]],
        profiles=profiles[kept],
        open_to=open_to,
        members=tuple(members),
        shares=tuple(demand.counts[member] for member in members),
        sources=usable[kept],
        unplaced=unplaced,
    )


def _placeable(demand: Demand, usable: Ints) -> Mask:
    """Whether one pod of a class fits an empty node of some column, shape (C,)."""
    fits = demand.allowed[:, usable].copy()
    for asked, offered in zip(demand.requests, demand.allocatable[:, usable], strict=True):
        fits &= (asked[:, None] <= offered[None, :]) | (asked == 0)[:, None]
    return np.any(fits, axis=1)


def _merged(demand: Demand, allowed: Mask, limits: Ints, active: Ints) -> list[Ints]:
    """Active classes, those that nothing tells apart together."""
    by_key: dict[tuple[bytes, bytes, int], list[int]] = {}
    packed = np.packbits(allowed, axis=1)
    for row in active:
        own = demand.groups[row] >= 0 or limits[row] < demand.counts[row]
        key = (demand.requests[:, row].tobytes(), packed[row].tobytes(), int(row) if own else -1)
        by_key.setdefault(key, []).append(int(row))
    return [np.array(rows, dtype=np.int64) for rows in by_key.values()]


def _scaled(requests: Ints, allocatable: Ints) -> tuple[Floats, Floats]:
    """Requests and room in units of each resource's greatest common divisor; resources nobody asks for left out."""
    asked = np.flatnonzero(requests.any(axis=1))
    asked = asked if asked.size else np.zeros(1, dtype=np.int64)
    units = np.maximum(np.gcd.reduce(requests[asked], axis=1), 1)[:, None]
    wanted, offered = requests[asked] // units, np.maximum(allocatable[asked], 0) // units
    offered = np.minimum(offered, 2**62)
    coarse = np.maximum(1, -(-offered.max(axis=1, initial=1) // int(_EXACT_MAX)))[:, None]
    return (-(-wanted // coarse)).astype(np.float64), (offered // coarse).astype(np.float64)


def _profiles(allowed: Mask) -> tuple[Mask, Ints]:
    """Distinct columns of `allowed` as rows, shape (F, C), and which of them each column is, shape (K,)."""
    known: dict[bytes, int] = {}
    rows = np.ascontiguousarray(allowed.T)
    profiles = np.array(
        [known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.int64
    )
    first = [int(np.flatnonzero(profiles == profile)[0]) for profile in range(len(known))]
    return rows[first], profiles


def _undominated(room: Floats, profiles: Ints, open_to: Mask) -> Ints:
    """Columns that no cheaper one replaces for any class; they come cheapest first, of equal price largest first."""
    narrower = open_to.astype(np.float32) @ (~open_to).T.astype(np.float32)
    wider = narrower == 0
    useful: Mask = np.logical_or.reduce(open_to, axis=1)
    kept: list[int] = []
    for column in np.flatnonzero(useful[profiles]):
        larger = np.all(room[:, kept] >= room[:, [column]], axis=0)
        if not np.any(larger & wider[profiles[column], profiles[kept]]):
            kept.append(int(column))
    return np.array(kept, dtype=np.int64)
