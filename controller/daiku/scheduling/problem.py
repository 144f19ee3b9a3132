"""From names to numbers: pods, nodes and NodePools as index spaces and arrays. The only door into the solver.

Letters in shapes: R resources, C pod classes, N existing nodes, T instance types, L limited resources. Index
spaces are made here, and leave in `solution`. Resources are rows, and only those that occur are there.

Existing nodes are those with a Node, and those whose NodeClaim is on its way; the latter with what is certain about
them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from daiku import reasons
from daiku.model import labels, memo, resources
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import HostPort
from daiku.scheduling import attachments, classes, columns, existing, hosting, reservations
from daiku.scheduling import catalogue as catalogue_columns
from daiku.scheduling.attachments import Attachments
from daiku.scheduling.catalogue import Types
from daiku.scheduling.classes import Counted, PodClass
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.hosting import Hosting
from daiku.scheduling.preferences import Policy
from daiku.scheduling.reservations import Variant
from daiku.scheduling.topology import cells, counts, rules, sites
from daiku.scheduling.topology.counts import Topology
from daiku.state import readiness
from daiku.state.snapshot import Snapshot


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
    """A NodePool from which nodes can be made, or the part of it that makes them of one capacity reservation."""

    pool: NodePool
    requirements: Requirements
    """Its requirements, labels, name and node class together."""
    types: Types
    allocatable: Ints
    """What a new node of each type has for pods, DaemonSets already taken off, shape (R, T)."""
    overhead: Ints
    """What DaemonSets take of each type, shape (R, T)."""
    limited: tuple[str, ...]
    """Resources with a limit, and capacity reservations: the order of L, which templates of one NodePool share."""
    capacity: Ints
    """What a node of each type takes from the limits, shape (L, T)."""
    left: Ints
    """What the limits still allow, shape (L,)."""
    hostings: tuple[Hosting, ...]
    """One per class, shape (C,)."""
    reservation: str = ""
    """The capacity reservation that its nodes use; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Pods to be placed, and where they could go."""

    resources: tuple[str, ...]
    """The order of R."""
    counted: tuple[Counted, ...]
    """The order of C. Classes that others turn into when preferences are given up follow right after these."""
    requests: Ints
    """What a pod of each class asks for, shape (R, C)."""
    counts: Ints
    """Pods of each class, shape (C,); 0 for those that others turn into."""
    nodes: Nodes
    templates: tuple[Template, ...]
    """The heaviest NodePool first, then by name; of one NodePool its capacity reservations first."""
    origin: Ints
    """For each class the one whose pods it places: itself, or the class before it gave up preferences, shape (C,)."""
    relaxed: Ints
    """For each class what its pods ask for next when there is no place for them, -1 for nothing, shape (C,)."""
    daemons: tuple[tuple[str, PodClass], ...] = ()
    """DaemonSets by namespace/name."""
    topology: Topology | None = None
    """Constraints between pods; None when there are none."""
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
    """In the order of the snapshot's DaemonSets."""
    volumes: Attachments
    named: bool
    """Whether any pod asks for a node by its name."""


def build(
    pods: Sequence[Pod],
    snapshot: Snapshot,
    catalogue: Catalogue,
    *,
    taken: Mapping[str, Mapping[str, int]] | None = None,
    expected_on: Mapping[str, str] | None = None,
    preference_policy: Policy = "Respect",
    stay: bool = False,
) -> Problem:
    """The problem of placing `pods`.

    Args:
        pods: Pods to be placed.
        snapshot: Nodes, NodePools and DaemonSets.
        catalogue: Instance types and offerings.
        taken: What pods that are expected on a node already will ask of it, by the node's name.
        expected_on: Those pods, by namespace/name, and the name of their node.
        preference_policy: Whether preferences count.
        stay: Whether `pods` count where they run: they may be asked to move later (`editing`).
    """
    usable, unusable = _usable(snapshot, catalogue)
    bound = list(existing.keeping_others_away(snapshot))
    bound += [p for p in snapshot.waiting if p.pod_anti_affinity and expected_on]
    seen = classes.seen_labels(pods, bound)
    volumes = attachments.survey(pods, snapshot, expected_on or {})
    counted = classes.count(
        pods,
        seen,
        preference_policy,
        taints_preferred=_are_preferred(snapshot, usable),
        asks=volumes.asks,
    )
    rows, origin, relaxed = _rungs(counted)
    frame = _frame(snapshot, catalogue, rows, volumes)
    templates = tuple(template for pool in usable for template in _templates(pool, frame))
    sizes = [
        len(c.pods) if i == o else 0 for i, (c, o) in enumerate(zip(rows, origin, strict=True))
    ]
    topology: Topology | None = None
    if seen is not None or any(c.pod_class.host_ports for c in counted):
        topology = _topology(
            frame,
            templates,
            bound,
            moving=() if stay else pods,
            expected_on=expected_on or {},
            seen=seen or frozenset(),
        )
    return Problem(
        resources=frame.axis,
        counted=rows,
        requests=frame.requests,
        counts=np.array(sizes, dtype=np.int64),
        nodes=_nodes(frame, taken or {}),
        templates=templates,
        origin=np.array(origin, dtype=np.int64),
        relaxed=np.array(relaxed, dtype=np.int64),
        daemons=tuple(
            (each.meta.key, daemon)
            for each, daemon in zip(snapshot.daemon_sets, frame.daemons, strict=True)
        ),
        topology=topology,
        unusable=unusable,
    )


def _frame(
    snapshot: Snapshot, catalogue: Catalogue, rows: tuple[Counted, ...], volumes: Attachments
) -> _Frame:
    daemons = tuple(classes.of_daemon(d.template) for d in snapshot.daemon_sets)
    occurring = [r for c in (*(c.pod_class for c in rows), *daemons) for r, _ in c.requests]
    axis = tuple(sorted(dict.fromkeys(occurring)))
    return _Frame(
        snapshot=snapshot,
        catalogue=catalogue,
        axis=axis,
        counted=rows,
        requests=columns.amounts(axis, [dict(c.pod_class.requests) for c in rows]),
        daemons=daemons,
        volumes=volumes,
        named=any(labels.NODE_NAME in a for c in rows for a in c.pod_class.alternatives),
    )


def _topology(
    frame: _Frame,
    templates: Iterable[Template],
    bound: Sequence[Pod],
    *,
    moving: Sequence[Pod],
    expected_on: Mapping[str, str],
    seen: frozenset[str],
) -> Topology:
    asked = [c.pod_class for c in frame.counted]
    keys = counts.keys_of(asked, bound)
    order = existing.order(frame.snapshot)
    as_it_is = sites.as_it_is(
        frame.snapshot, order.names, order.column_of, seen=seen, named=frame.named
    )
    return counts.build(
        asked,
        as_it_is,
        [cells.of_template(keys, t.requirements, t.types) for t in templates],
        keys,
        edited=sites.edited(frame.snapshot, as_it_is, moving, expected_on, seen=seen),
        seen=seen,
        names=order.names,
        namespaces=frame.snapshot.namespaces,
        derived=frame.snapshot.derived(),
    )


def _rungs(counted: Sequence[Counted]) -> tuple[tuple[Counted, ...], list[int], list[int]]:
    """Classes with what they turn into right after them, the origin of each, and what each turns into."""
    rows: list[Counted] = []
    origin: list[int] = []
    relaxed: list[int] = []
    for each in counted:
        first = len(rows)
        rungs = (each.pod_class, *each.relaxed)
        rows += [Counted(pod_class=rung, pods=each.pods) for rung in rungs]
        origin += [first] * len(rungs)
        relaxed += [*range(first + 1, first + len(rungs)), -1]
    return tuple(rows), origin, relaxed


def _are_preferred(snapshot: Snapshot, pools: Iterable[NodePool]) -> bool:
    """Whether any taint only asks pods to stay away."""
    return existing.has_preferred_taints(snapshot) or any(
        existing.prefers(p.template.taints) for p in pools
    )


@memo.by_identity(1000)
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
            problem = (
                reasons.NO_INSTANCE_TYPES,
                reasons.means(reasons.NO_INSTANCE_TYPES),
            )
        if problem is None and snapshot.is_held(f"Create/{pool.meta.name}"):
            hold = snapshot.holds[f"Create/{pool.meta.name}"]
            problem = (
                reasons.NODE_CLAIM_REFUSED,
                f"its last NodeClaim could not be created: {hold.why}",
            )
        if problem is None:
            usable.append(pool)
        else:
            unusable[pool.meta.name] = problem
    return usable, unusable


def _nodes(frame: _Frame, taken: Mapping[str, Mapping[str, int]]) -> Nodes:
    count, axis = len(frame.counted), frame.axis
    ground = existing.ground(frame.snapshot, named=frame.named)
    hostable = hosting.of_nodes([*(c.pod_class for c in frame.counted), *frame.daemons], ground)
    free, present = existing.amounts(frame.snapshot, frame.catalogue, axis)
    names = existing.order(frame.snapshot).names
    free = free - columns.amounts(axis, [taken.get(name, {}) for name in names]) if taken else free
    # A DaemonSet's pod that is not there yet still needs its room; one that is there is part of what is used.
    each = columns.amounts(axis, [dict(d.requests) for d in frame.daemons])
    due = each @ hostable[count:].astype(np.int64)
    free = free - np.maximum(due - present, 0)
    attachments.fill(free, axis, [frame.volumes.of_nodes.get(name, {}) for name in names])
    return Nodes(names=names, free=free, hostable=hostable[:count])


def _templates(pool: NodePool, frame: _Frame) -> Iterator[Template]:
    offered = frame.catalogue.instance_types[pool.template.node_class]
    types = catalogue_columns.build(offered, frame.snapshot.sold_out)
    variants, left = reservations.of_pool(template_requirements(pool), offered, frame.snapshot)
    for variant in variants:
        yield _template(pool, variant, left, types, frame)


def _template(
    pool: NodePool, variant: Variant, reserved: Mapping[str, int], types: Types, frame: _Frame
) -> Template:
    requirements = variant.requirements
    marks = pool.template.taints
    overhead = np.zeros((len(frame.axis), len(types.types)), dtype=np.int64)
    ports: list[tuple[tuple[HostPort, ...], Mask]] = []
    for daemon in frame.daemons:
        runs = hosting.daemon_types(daemon, requirements, marks, types)
        ports += [(daemon.host_ports, runs)] if daemon.host_ports else []
        overhead += columns.amounts(frame.axis, [dict(daemon.requests)]) * runs.astype(np.int64)
    allocatable = catalogue_columns.allocatable(types, frame.axis) - overhead
    of_types = frame.volumes.of_types
    attachments.fill(allocatable, frame.axis, [of_types.get(t.name, {}) for t in types.types])
    # Nothing could be launched that cannot even hold its DaemonSets.
    lacking: Mask = np.any(allocatable < 0, axis=0)
    types = catalogue_columns.without(types, lacking)
    own = {reservations.LIMIT + id_: count for id_, count in reserved.items()}
    limits = {**(pool.limits or {}), **own}
    limited = tuple(sorted(limits))
    used = existing.usage(frame.snapshot, frame.catalogue, pool.meta.name)
    capacity = catalogue_columns.capacity(types, limited)
    for one in (resources.NODES, reservations.LIMIT + variant.reservation):
        if one in limited:
            capacity[limited.index(one)] = 1
    return Template(
        pool=pool,
        requirements=requirements,
        types=types,
        allocatable=allocatable,
        overhead=overhead,
        limited=limited,
        capacity=capacity,
        left=columns.amounts(limited, [resources.subtract(limits, used)])[:, 0],
        hostings=hosting.of_classes(
            [each.pod_class for each in frame.counted],
            frame.requests,
            template=requirements,
            template_taints=marks,
            types=types,
            allocatable=allocatable,
            prices=_Prices(types),
            barred={
                row: barred
                for row, rung in enumerate(frame.counted)
                if (barred := _barred(rung.pod_class, ports)) is not None
            },
        ),
        reservation=variant.reservation,
    )


def _barred(pod_class: PodClass, ports: Iterable[tuple[tuple[HostPort, ...], Mask]]) -> Mask | None:
    """Types on which DaemonSets hold a host port that the class needs; None when there are none."""
    barred: Mask | None = None
    for held, runs in ports if pod_class.host_ports else ():
        if any(rules.conflict(p, q) for p in pod_class.host_ports for q in held):
            barred = runs if barred is None else barred | runs
    return barred
