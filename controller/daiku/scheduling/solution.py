"""From numbers to names: what a solve decided. The only door out of the solver.

A new node keeps every instance type that holds its pods, ranked by price; cutting the list down is left to whoever
launches it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.model.requirements import Requirements
from daiku.report import Blocker, Unschedulable
from daiku.scheduling import attachments, blockers, columns
from daiku.scheduling.catalogue import Types
from daiku.scheduling.packed import PackedNode
from daiku.scheduling.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedType:
    """An instance type that would do, with its cheapest price."""

    name: str
    usd_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    """A node that is to be made."""

    pool: NodePool
    requirements: Requirements
    """What it has to be, for its NodePool and all its pods."""
    types: tuple[RankedType, ...]
    """Every type that holds its pods, cheapest first, then by name. Never empty."""
    zones: tuple[str, ...]
    """Zones in which one of the types can be had."""
    capacity_types: tuple[str, ...]
    """Capacity types in which one of the types can be had."""
    pods: tuple[str, ...]
    """namespace/name of the pods that it is made for."""
    requests: Mapping[str, int]
    """What its pods and its DaemonSets ask for; of the DaemonSets the least that any type carries."""

    @property
    def usd_per_hour(self) -> float:
        """What it costs if its cheapest type can be had."""
        return self.types[0].usd_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Where every pod of a problem goes, or why it goes nowhere."""

    placements: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pod namespace/name -> name of an existing node."""
    new_nodes: tuple[NewNode, ...] = ()
    order: tuple[str, ...] = ()
    """Pods that constraints between pods concern, in an order in which kube-scheduler could bind them."""
    unschedulable: tuple[Unschedulable, ...] = ()
    lower_bound_usd_per_hour: float = 0.0
    """No packing of the pods on new nodes can cost less."""

    @property
    def usd_per_hour(self) -> float:
        """What all new nodes cost."""
        return sum(node.usd_per_hour for node in self.new_nodes)

    def homes(self, made: Mapping[str, str]) -> dict[str, str]:
        """Pods -> existing nodes and those that they are `made` for, in an order in which they could be bound."""
        found = {**self.placements, **made}
        first = {pod: found[pod] for pod in self.order if pod in found}
        return {**first, **found}


def name(
    problem: Problem,
    placed: Iterable[tuple[int, int, int]],
    packed: Iterable[PackedNode],
    lower_bound: float,
    *,
    why_not: Callable[[int, tuple[Blocker, ...]], tuple[Blocker, ...]] | None = None,
    order: Iterable[int] = (),
) -> Solution:
    """The solution in names.

    Args:
        problem: What was asked.
        placed: Class, existing node, and how many pods of the one are on the other.
        packed: New nodes.
        lower_bound: USD per hour.
        why_not: All reasons why a class has no place, of those that NodePools give.
        order: Classes whose order matters, in that order.
    """
    taken = [0] * len(problem.counted)
    drawn: dict[int, list[str]] = {row: [] for row in order}
    origins: list[int] = problem.origin.tolist()

    def draw(class_index: int, count: int) -> tuple[str, ...]:
        origin = origins[class_index]
        first = taken[origin]
        taken[origin] += count
        pods = problem.counted[origin].pods[first : first + count]
        if class_index in drawn:
            drawn[class_index] += pods
        return pods

    placements: dict[str, str] = {}
    for row, column, count in placed:
        for pod in draw(row, count):
            placements[pod] = problem.nodes.names[column]
    namer = _Namer(problem)
    new_nodes: list[NewNode] = []
    planned: dict[str, columns.Ints] = {}
    for node in packed:
        template = problem.templates[node.template]
        charge = template.capacity[:, node.types].max(axis=1)
        pool = template.pool.meta.name
        planned[pool] = planned[pool] + charge if pool in planned else charge
        pods = [p for row, count in node.counts.items() for p in draw(row, count)]
        new_nodes.append(namer.name(node, tuple(sorted(pods))))
    left: list[Unschedulable] = []
    for row, counted in enumerate(problem.counted):
        if origins[row] != row or taken[row] == len(counted.pods):
            continue
        last = _last(problem, row)
        why = blockers.of_class(problem, last, planned)
        why = why if why_not is None else why_not(last, why)
        left.append(Unschedulable(pods=counted.pods[taken[row] :], blockers=why))
    return Solution(
        placements=placements,
        new_nodes=tuple(new_nodes),
        order=tuple(pod for pods in drawn.values() for pod in pods),
        unschedulable=tuple(left),
        lower_bound_usd_per_hour=lower_bound,
    )


def _last(problem: Problem, row: int) -> int:
    """What is left of a class once it has given up all its preferences."""
    while problem.relaxed[row] >= 0:
        row = int(problem.relaxed[row])
    return row


class _Namer:
    """Names new nodes; most are alike, so ranked types and offerings are looked up once for all that are."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._ranked: dict[
            tuple[int, Requirements, bytes],
            tuple[tuple[RankedType, ...], tuple[str, ...], tuple[str, ...], columns.Ints],
        ] = {}
        self._types: dict[tuple[int, int, float], RankedType] = {}

    def name(self, node: PackedNode, pods: tuple[str, ...]) -> NewNode:
        template = self._problem.templates[node.template]
        key = node.template, node.requirements, node.types.tobytes()
        if key not in self._ranked:
            kept = np.flatnonzero(node.types)
            zones, capacity_types = offered(template.types, node.requirements, node.types)
            overhead = template.overhead[:, kept].min(axis=1)
            self._ranked[key] = self._rank(node), zones, capacity_types, overhead
        ranked, zones, capacity_types, overhead = self._ranked[key]
        rows = list(node.counts)
        counts = np.array(list(node.counts.values()), dtype=np.int64)
        asked = self._problem.requests[:, rows] @ counts + overhead
        return NewNode(
            pool=template.pool,
            requirements=node.requirements,
            types=ranked,
            zones=zones,
            capacity_types=capacity_types,
            pods=pods,
            requests={
                r: a
                for r, a in zip(self._problem.resources, asked.tolist(), strict=True)
                if a > 0 and not r.startswith(attachments.PREFIX)
            },
        )

    def _rank(self, node: PackedNode) -> tuple[RankedType, ...]:
        # Types are in the order of their names, so a stable order by price ends ties in the name.
        kept = np.flatnonzero(node.types)
        kept = kept[np.argsort(node.prices[kept], kind="stable")]
        prices = node.prices[kept].tolist()
        return tuple(
            self._type(node.template, t, p) for t, p in zip(kept.tolist(), prices, strict=True)
        )

    def _type(self, template: int, type_index: int, price: float) -> RankedType:
        key = template, type_index, price
        if key not in self._types:
            name = self._problem.templates[template].types.types[type_index].name
            self._types[key] = RankedType(name=name, usd_per_hour=price)
        return self._types[key]


def offered(
    types: Types, requirements: Requirements, kept: columns.Mask
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Zones, and capacity types in the order in which they are launched, of what types and requirements leave.

    Args:
        types: The instance types of a NodePool.
        requirements: What the node has to be.
        kept: Types that it may be, shape (T,).
    """
    left = types.offered(requirements) & kept[types.offering_type]
    offerings = [types.offerings[index] for index in np.flatnonzero(left)]
    zones = dict.fromkeys(o.zone for o in offerings)
    capacity_types = dict.fromkeys(o.capacity_type for o in offerings)
    order = (labels.RESERVED, labels.SPOT, labels.ON_DEMAND)
    return tuple(sorted(zones)), tuple(c for c in order if c in capacity_types)
