"""Pods that constraints between pods concern, but whose new nodes can be chosen together with everybody else's.

The problem: a node that is opened as soon as one class needs it is seldom the cheapest for all. The idea: where pods
may go is settled class by class (`quotas`), and if what they mind on a node is no more than "so many of us", then which
nodes to buy need not be: it is a class with a cap that must be in certain domains, which the packer understands.

That is so when, for each counter of nodes that matters, whoever minds it is counted by it and the other way round:
host spread and anti-affinity among equals. If it is not so for all pods, none is postponed, because those that
are not make nodes on which the others would find cheap places.

Letters in shapes: C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daiku.model.requirements import Requirements
from daiku.scheduling import caps as caps_of
from daiku.scheduling.caps import Caps
from daiku.scheduling.classes import Counted
from daiku.scheduling.hosting import Hosting
from daiku.scheduling.packed import PackedNode
from daiku.scheduling.problem import Problem, Template
from daiku.scheduling.topology.bays import UNLIMITED, HostRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """How many pods a new node takes."""

    most: int = UNLIMITED
    group: int = -1
    """Classes of one group, counted together; -1: nobody else is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """Pods of a class that need new nodes in certain domains."""

    row: int
    pins: Requirements
    """The domains."""
    count: int
    cap: Cap


def at_first(host_rules: Sequence[HostRules], counts: Sequence[int]) -> list[Cap] | None:
    """What `of_classes` says as long as only classes have pods that have some now, shapes (C,).

    The others are what pods become that give up a preference: they are counted where they mind no more.
    """
    rows = [row for row, count in enumerate(counts) if count]
    found = of_classes([host_rules[row] for row in rows])
    if found is None:
        return None
    caps = [Cap()] * len(counts)
    for row, cap in zip(rows, found, strict=True):
        caps[row] = cap
    return caps


def of_classes(host_rules: Sequence[HostRules]) -> list[Cap] | None:
    """The cap of each class, shape (C,); None when caps do not say all that is minded on a node."""
    distinct = {id(rules): rules for rules in host_rules}
    if any(rules.above_zero for rules in distinct.values()):
        return None
    bounds = {key: _bounds(rules) for key, rules in distinct.items()}
    minded = {row for bound in bounds.values() for row in bound}
    adds = {key: minded.intersection(rules.adds.tolist()) for key, rules in distinct.items()}
    if any(adds[key] != bound.keys() for key, bound in bounds.items()):
        return None
    # Each counter belongs to one set of classes, and all of these mind the same counters.
    own: dict[frozenset[int], int] = {}
    of_counter: dict[int, frozenset[int]] = {}
    found: dict[int, Cap] = {}
    for key, bound in bounds.items():
        rows = frozenset(bound)
        if any(of_counter.setdefault(row, rows) != rows for row in rows):
            return None
        group = own.setdefault(rows, len(own)) if rows else -1
        found[key] = Cap(most=min(bound.values(), default=UNLIMITED), group=group)
    most: dict[int, int] = {}
    for cap in found.values():
        if cap.group >= 0 and most.setdefault(cap.group, cap.most) != cap.most:
            return None
    return [found[id(rules)] for rules in host_rules]


def _bounds(rules: HostRules) -> dict[int, int]:
    """The most that each counter may be on a node with a pod of the class."""
    bounds = dict.fromkeys(rules.zero, 1)
    for row, most, _ in rules.at_most:
        bounds[row] = min(bounds.get(row, most), most)
    for guard, row, most in rules.guarded:
        bounds[row] = min(bounds.get(row, most), most)
        bounds[guard] = min(bounds.get(guard, most), most)
    return bounds


def extended(problem: Problem, postponed: Sequence[Postponed]) -> Problem:
    """`problem` with another class for each of `postponed`, after all others."""
    if not postponed:
        return problem
    rows = [each.row for each in postponed]
    return replace(
        problem,
        counted=(
            *problem.counted,
            *(Counted(pod_class=problem.counted[row].pod_class, pods=()) for row in rows),
        ),
        requests=np.hstack([problem.requests, problem.requests[:, rows]]),
        counts=np.append(problem.counts, [each.count for each in postponed]),
        templates=tuple(
            replace(t, hostings=(*t.hostings, *(_pinned(t, each) for each in postponed)))
            for t in problem.templates
        ),
    )


def _pinned(template: Template, postponed: Postponed) -> Hosting:
    own = template.hostings[postponed.row]
    if not len(postponed.pins):
        return own
    joint = own.requirements & postponed.pins
    # A custom label that the NodePool does not declare is on none of its nodes, whatever pods ask of it.
    undeclared = template.requirements.compatible(postponed.pins, template.types.known)
    if undeclared or joint.is_empty or own.requirements.intersects(postponed.pins):
        return own.at(own.requirements, np.full(len(own.prices), np.inf))
    return own.at(joint, template.types.prices(joint))


def returned(
    nodes: Sequence[PackedNode], problem: Problem, postponed: Sequence[Postponed]
) -> list[PackedNode]:
    """Nodes of the extended problem as those of `problem`."""
    first = len(problem.counts)
    found: list[PackedNode] = []
    for node in nodes:
        counts: dict[int, int] = {}
        for row, count in node.counts.items():
            own = row if row < first else postponed[row - first].row
            counts[own] = counts.get(own, 0) + count
        found.append(replace(node, counts={row: counts[row] for row in sorted(counts)}))
    return found


def limits(postponed: Sequence[Postponed], classes: int) -> Caps:
    """The caps of the extended problem.

    Args:
        postponed: Further classes.
        classes: How many there were before.
    """
    before = caps_of.none(classes)
    numbers = {g: n for n, g in enumerate(sorted({p.cap.group for p in postponed} - {-1}))}
    of_group = np.zeros(len(numbers), dtype=np.int64)
    for each in postponed:
        if each.cap.group >= 0:
            of_group[numbers[each.cap.group]] = each.cap.most
    most = np.array([each.cap.most for each in postponed], dtype=np.int64)
    groups = np.array([numbers.get(each.cap.group, -1) for each in postponed], dtype=np.int64)
    return Caps(np.append(before.most, most), np.append(before.groups, groups), of_group)
