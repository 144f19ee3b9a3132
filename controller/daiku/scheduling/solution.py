"""From numbers to names: what a solve decided. The only door out of the solver.

A new node keeps every instance type that holds its pods, ranked by price; cutting the list down is left to whoever
launches it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.model.requirements import Requirements
from daiku.report import Unschedulable
from daiku.scheduling import blockers
from daiku.scheduling.columns import Ints
from daiku.scheduling.packing import PackedNode
from daiku.scheduling.problem import Problem, Template


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
    unschedulable: tuple[Unschedulable, ...] = ()
    lower_bound_usd_per_hour: float = 0.0
    """No packing of the pods on new nodes can cost less."""
    notes: tuple[str, ...] = ()

    @property
    def usd_per_hour(self) -> float:
        """What all new nodes cost."""
        return sum(node.usd_per_hour for node in self.new_nodes)


def name(problem: Problem, placed: Ints, packed: list[PackedNode], lower_bound: float) -> Solution:
    """The solution in names.

    Args:
        problem: What was asked.
        placed: Pods of each class on each existing node, shape (C, N).
        packed: New nodes.
        lower_bound: USD per hour.
    """
    taken = [0] * len(problem.counted)

    def draw(class_index: int, count: int) -> tuple[str, ...]:
        first = taken[class_index]
        taken[class_index] += count
        return problem.counted[class_index].pods[first : first + count]

    placements: dict[str, str] = {}
    for row, column in zip(*np.nonzero(placed), strict=True):
        for pod in draw(int(row), int(placed[row, column])):
            placements[pod] = problem.nodes.names[column]
    new_nodes: list[NewNode] = []
    for node in packed:
        pods = [
            p for row in np.flatnonzero(node.counts) for p in draw(int(row), int(node.counts[row]))
        ]
        new_nodes.append(_new_node(problem, node, tuple(sorted(pods))))
    left = [
        Unschedulable(pods=counted.pods[taken[row] :], blockers=blockers.of_class(problem, row))
        for row, counted in enumerate(problem.counted)
        if taken[row] < len(counted.pods)
    ]
    return Solution(
        placements=placements,
        new_nodes=tuple(new_nodes),
        unschedulable=tuple(left),
        lower_bound_usd_per_hour=lower_bound,
        notes=_notes(problem),
    )


def _new_node(problem: Problem, node: PackedNode, pods: tuple[str, ...]) -> NewNode:
    template = problem.templates[node.template]
    kept = np.flatnonzero(node.types)
    ranked = sorted(
        (
            RankedType(name=template.types.types[t].name, usd_per_hour=float(node.prices[t]))
            for t in kept
        ),
        key=lambda r: (r.usd_per_hour, r.name),
    )
    zones, capacity_types = _offered(template, node)
    asked = problem.requests @ node.counts + template.overhead[:, kept].min(axis=1)
    return NewNode(
        pool=template.pool,
        requirements=node.requirements,
        types=tuple(ranked),
        zones=zones,
        capacity_types=capacity_types,
        pods=pods,
        requests={r: int(a) for r, a in zip(problem.resources, asked, strict=True) if a > 0},
    )


def _offered(template: Template, node: PackedNode) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Zones and capacity types of the offerings that the node's types and requirements leave."""
    types = template.types
    offered = types.offered(node.requirements) & node.types[types.offering_type]
    offerings = [types.offerings[index] for index in np.flatnonzero(offered)]
    zones = dict.fromkeys(o.zone for o in offerings)
    capacity_types = dict.fromkeys(o.capacity_type for o in offerings)
    order = (labels.RESERVED, labels.SPOT, labels.ON_DEMAND)
    return tuple(sorted(zones)), tuple(c for c in order if c in capacity_types)


def _notes(problem: Problem) -> tuple[str, ...]:
    """What was left out of the plan, so that nobody takes it for more than it is."""
    left_out: dict[tuple[str, ...], int] = {}
    for counted in problem.counted:
        unsupported = counted.pod_class.unsupported
        if unsupported:
            left_out[unsupported] = left_out.get(unsupported, 0) + len(counted.pods)
    return tuple(
        f"{count} pods are planned without their {' and '.join(what)}, which is not modelled yet"
        for what, count in sorted(left_out.items())
    )
