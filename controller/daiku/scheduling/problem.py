"""From names to numbers: pods, nodes and NodePools as index spaces and arrays. The only door into the solver.

Letters in shapes: R resources, C pod classes, N existing nodes, T instance types, L limited resources. Index
spaces are made here, and leave in `solution`. Resources are rows, and only those that occur are there.

Existing nodes are those with a Node, and those whose NodeClaim is on its way; the latter with what is certain about
them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daiku.model import labels, resources
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.scheduling import catalogue as catalogue_columns
from daiku.scheduling import classes, columns, expected, hosting
from daiku.scheduling.catalogue import Types
from daiku.scheduling.classes import Counted, PodClass
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.hosting import Hosting
from daiku.state import readiness
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nodes:
    """Nodes that are there or on their way, in the order in which they are filled: initialized ones first."""

    names: tuple[str, ...]
    free: Ints
    """What pods can still have, shape (R, N); negative where DaemonSets or pods took more than there was."""
    hostable: Mask
    """Whether labels and taints let a class in, shape (C, N)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Template:
    """A NodePool from which nodes can be made."""

    pool: NodePool
    requirements: Requirements
    """Its requirements, labels, name and node class together."""
    types: Types
    allocatable: Ints
    """What a new node of each type has for pods, DaemonSets already taken off, shape (R, T)."""
    overhead: Ints
    """What DaemonSets take of each type, shape (R, T)."""
    limited: tuple[str, ...]
    """Resources with a limit: the order of L."""
    capacity: Ints
    """What a node of each type takes from the limits, shape (L, T)."""
    left: Ints
    """What the limits still allow, shape (L,)."""
    hostings: tuple[Hosting, ...]
    """One per class, shape (C,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Pods to be placed, and where they could go."""

    resources: tuple[str, ...]
    """The order of R."""
    counted: tuple[Counted, ...]
    """The order of C."""
    requests: Ints
    """What a pod of each class asks for, shape (R, C)."""
    counts: Ints
    """Pods of each class, shape (C,)."""
    nodes: Nodes
    templates: tuple[Template, ...]
    """The heaviest NodePool first, then by name."""
    unusable: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """NodePools from which no node can be made -> reason and sentence."""


class _Prices(dict[Requirements, Floats]):
    """Prices by requirements, worked out when first asked for: many classes ask the same."""

    def __init__(self, types: Types) -> None:
        super().__init__()
        self._types = types

    def __missing__(self, key: Requirements) -> Floats:
        self[key] = self._types.prices(key)
        return self[key]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Frame:
    """What every part of the problem is built against."""

    snapshot: Snapshot
    catalogue: Catalogue
    axis: tuple[str, ...]
    counted: tuple[Counted, ...]
    requests: Ints
    daemons: tuple[PodClass, ...]


def build(
    pods: Iterable[Pod],
    snapshot: Snapshot,
    catalogue: Catalogue,
    *,
    taken: Mapping[str, Mapping[str, int]] | None = None,
) -> Problem:
    """The problem of placing `pods`.

    Args:
        pods: Pods to be placed.
        snapshot: Nodes, NodePools and DaemonSets.
        catalogue: Instance types and offerings.
        taken: What pods that are expected on a node already will ask of it, by the node's name.
    """
    counted = classes.count(pods)
    daemons = tuple(classes.class_of(d.template) for d in snapshot.daemon_sets)
    occurring = [r for c in (*(c.pod_class for c in counted), *daemons) for r, _ in c.requests]
    axis = tuple(sorted(dict.fromkeys(occurring)))
    requests = columns.amounts(axis, [dict(c.pod_class.requests) for c in counted])
    frame = _Frame(
        snapshot=snapshot,
        catalogue=catalogue,
        axis=axis,
        counted=counted,
        requests=requests,
        daemons=daemons,
    )
    usable, unusable = _usable(snapshot, catalogue)
    return Problem(
        resources=axis,
        counted=counted,
        requests=requests,
        counts=np.array([len(c.pods) for c in counted], dtype=np.int64),
        nodes=_nodes(frame, taken or {}),
        templates=tuple(_template(pool, frame) for pool in usable),
        unusable=unusable,
    )


def template_requirements(pool: NodePool) -> Requirements:
    """Everything that is certain about the labels of a node of `pool`."""
    ref = pool.template.node_class
    fixed = {
        labels.NODEPOOL: pool.meta.name,
        labels.node_class_label(ref.group, ref.kind): ref.name,
    }
    return pool.template.requirements & Requirements.from_labels({**pool.template.labels, **fixed})


def _usable(
    snapshot: Snapshot, catalogue: Catalogue
) -> tuple[list[NodePool], dict[str, tuple[str, str]]]:
    usable: list[NodePool] = []
    unusable: dict[str, tuple[str, str]] = {}
    for pool in sorted(snapshot.node_pools, key=lambda p: (-p.weight, p.meta.name)):
        problem = readiness.problem(pool, snapshot)
        if problem is None and not catalogue.instance_types.get(pool.template.node_class):
            problem = "NoInstanceTypes", "the cloud has no instance types for its node class (yet)"
        if problem is None and snapshot.is_held(f"Create/{pool.meta.name}"):
            hold = snapshot.holds[f"Create/{pool.meta.name}"]
            problem = "NodeClaimRefused", f"its last NodeClaim could not be created: {hold.why}"
        if problem is None:
            usable.append(pool)
        else:
            unusable[pool.meta.name] = problem
    return usable, unusable


def _nodes(frame: _Frame, taken: Mapping[str, Mapping[str, int]]) -> Nodes:
    open_ones = [s for s in frame.snapshot.state_nodes if _takes_pods(s)]
    ordered = sorted(open_ones, key=lambda s: (not s.is_initialized, s.node is None, s.name))
    count = len(frame.counted)
    hostable = hosting.of_nodes(
        [*(c.pod_class for c in frame.counted), *frame.daemons],
        [_labels_of(s) for s in ordered],
        [s.taints for s in ordered],
        settled=[_is_settled(s) for s in ordered],
    )
    axis = frame.axis
    free = columns.amounts(axis, [expected.allocatable(s, frame.catalogue) for s in ordered])
    free -= columns.amounts(axis, [s.used() for s in ordered])
    free -= columns.amounts(axis, [taken.get(s.name, {}) for s in ordered])
    # A DaemonSet's pod that is not there yet still needs its room; one that is there is part of `used`.
    each = columns.amounts(axis, [dict(d.requests) for d in frame.daemons])
    due = each @ hostable[count:].astype(np.int64)
    present = columns.amounts(axis, [_used_by_daemons(s) for s in ordered])
    free -= np.maximum(due - present, 0)
    return Nodes(names=tuple(s.name for s in ordered), free=free, hostable=hostable[:count])


def _template(pool: NodePool, frame: _Frame) -> Template:
    offered = frame.catalogue.instance_types[pool.template.node_class]
    types = catalogue_columns.build(offered, frame.snapshot.sold_out)
    requirements = template_requirements(pool)
    marks = pool.template.taints
    overhead = np.zeros((len(frame.axis), len(types.types)), dtype=np.int64)
    for daemon in frame.daemons:
        runs = hosting.daemon_types(daemon, requirements, marks, types)
        overhead += columns.amounts(frame.axis, [dict(daemon.requests)]) * runs.astype(np.int64)
    allocatable = columns.amounts(frame.axis, [t.allocatable for t in types.types]) - overhead
    prices = _Prices(types)
    limits = pool.limits or {}
    limited = tuple(sorted(limits))
    used = expected.pool_usage(frame.snapshot.state_nodes, pool.meta.name, frame.catalogue)
    each = [{**t.capacity, resources.NODES: 1} for t in types.types]
    return Template(
        pool=pool,
        requirements=requirements,
        types=types,
        allocatable=allocatable,
        overhead=overhead,
        limited=limited,
        capacity=columns.amounts(limited, each),
        left=columns.amounts(limited, [resources.subtract(limits, used)])[:, 0],
        hostings=tuple(
            hosting.of_class(
                counted.pod_class,
                frame.requests[:, row],
                template=requirements,
                template_taints=marks,
                types=types,
                allocatable=allocatable,
                prices=prices,
            )
            for row, counted in enumerate(frame.counted)
        ),
    )


def _takes_pods(state_node: StateNode) -> bool:
    node = state_node.node
    return not state_node.is_leaving and (node is None or not node.unschedulable)


def _is_settled(state_node: StateNode) -> bool:
    """Whether its labels are known: it is launched, or was never anything but a Node."""
    return state_node.claim is None or bool(state_node.provider_id)


def _labels_of(state_node: StateNode) -> Requirements:
    known = Requirements.from_labels(state_node.labels)
    if state_node.claim is None or _is_settled(state_node):
        return known
    return state_node.claim.requirements & known


def _used_by_daemons(state_node: StateNode) -> dict[str, int]:
    return resources.add(
        *(p.requests for p in state_node.pods if p.is_daemon and not p.is_finished)
    )
