"""The obvious packing: every way to divide a handful of pods among nodes, in plain Python; and a check of any packing.

It takes pods one by one, knows no classes, no arrays and no bound, and is exact. Up to eight pods it is fast enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from daiku.scheduling.packer.demand import Demand, Packing


@dataclass(frozen=True)
class PlainDemand:
    """A demand as lists."""

    requests: list[list[int]]
    """Of each class, each resource."""
    counts: list[int]
    allocatable: list[list[int]]
    """Of each column, each resource."""
    prices: list[float]
    allowed: list[list[bool]]
    caps: list[int]
    groups: list[int]
    group_caps: list[int]


def plain(demand: Demand) -> PlainDemand:
    """`demand` without arrays."""
    return PlainDemand(
        requests=demand.requests.T.tolist(),
        counts=demand.counts.tolist(),
        allocatable=demand.allocatable.T.tolist(),
        prices=demand.prices.tolist(),
        allowed=demand.allowed.tolist(),
        caps=demand.caps.tolist(),
        groups=demand.groups.tolist(),
        group_caps=demand.group_caps.tolist(),
    )


def cheapest(demand: Demand) -> float:
    """What the cheapest nodes for all pods that fit a column cost; each set of pods from its parts."""
    asked = plain(demand)
    pods = [
        number
        for number, count in enumerate(asked.counts)
        for _ in range(count)
        if node_price(asked, [number]) is not None
    ]
    best: dict[tuple[int, ...], float] = {(): 0.0}

    def price_of(left: tuple[int, ...]) -> float:
        if left not in best:
            first, others = left[0], left[1:]
            best[left] = min(
                price + price_of(_without(others, more))
                for size in range(len(others) + 1)
                for more in sorted(set(combinations(others, size)))
                if (price := node_price(asked, [first, *more])) is not None
            )
        return best[left]

    return price_of(tuple(pods))


def node_price(asked: PlainDemand, pods: Sequence[int]) -> float | None:
    """The price of the cheapest column that may hold pods of these classes together, None when there is none."""
    if breaks_a_cap(asked, pods):
        return None
    prices = [
        price
        for column, price in enumerate(asked.prices)
        if price != float("inf") and holds(asked, column, pods)
    ]
    return min(prices, default=None)


def holds(asked: PlainDemand, column: int, pods: Sequence[int]) -> bool:
    """Whether a column is open to all these pods and has room for them; what nobody asks for never blocks."""
    total = [
        sum(asked.requests[pod][resource] for pod in pods)
        for resource in range(len(asked.allocatable[column]))
    ]
    return all(asked.allowed[pod][column] for pod in pods) and all(
        need == 0 or need <= room
        for need, room in zip(total, asked.allocatable[column], strict=True)
    )


def breaks_a_cap(asked: PlainDemand, pods: Sequence[int]) -> bool:
    """Whether there are too many of a class, or of an exclusion group, for one node."""
    classes = [pods.count(pod) > asked.caps[pod] for pod in pods]
    groups = [
        sum(asked.groups[pod] == group for pod in pods) > cap
        for group, cap in enumerate(asked.group_caps)
    ]
    return any(classes) or any(groups)


def problems(demand: Demand, packing: Packing) -> list[str]:
    """What is wrong with a packing; nothing when it is legal."""
    asked = plain(demand)
    found: list[str] = []
    placed = [0] * len(asked.counts)
    price = 0.0
    for nodes in packing.nodes:
        pods = [
            int(number)
            for number, count in zip(nodes.classes, nodes.pods, strict=True)
            for _ in range(int(count))
        ]
        for pod in pods:
            placed[pod] += nodes.copies
        price += nodes.copies * asked.prices[nodes.column]
        if not pods or nodes.copies < 1:
            found.append(f"an empty node of column {nodes.column}")
        if not holds(asked, nodes.column, pods):
            found.append(f"column {nodes.column} cannot hold {pods}")
        if breaks_a_cap(asked, pods):
            found.append(f"too many on one node: {pods}")
    for number, count in enumerate(asked.counts):
        unplaced = int(packing.unplaced[number])
        if placed[number] + unplaced != count:
            found.append(f"class {number}: {placed[number]} + {unplaced} of {count} pods")
        if unplaced and node_price(asked, [number]) is not None:
            found.append(f"class {number} fits a column, but was left out")
    if abs(price - packing.usd_per_hour) > 1e-4 * max(1.0, price):
        found.append(f"the nodes cost {price}, not {packing.usd_per_hour}")
    if packing.lower_bound_usd_per_hour > packing.usd_per_hour + 1e-9:
        found.append("the lower bound is above the price")
    return found


def _without(pods: tuple[int, ...], taken: tuple[int, ...]) -> tuple[int, ...]:
    left = list(pods)
    for pod in taken:
        left.remove(pod)
    return tuple(left)
