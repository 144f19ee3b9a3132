"""What the controller would do with a set of objects: its own decision, made once, without a cluster.

The objects go through the same `Cluster`, problem, solver, limits and audit as in the live loop; only waiting is left
out: no batch has to close, and a pod without a node counts as pending although no scheduler has said so.
Not here: reading files (`api.configuration`), saying it to people (`cli`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from daiku import events, static_nodes
from daiku.commands import CreateNodeClaim
from daiku.disruption import candidates, global_consolidation
from daiku.disruption.context import DisruptionContext
from daiku.disruption.global_consolidation import Repack
from daiku.events import Object
from daiku.model import labels, resources, workload
from daiku.model.instance_type import Catalogue
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.workload import Workload
from daiku.report import Blocker, Unschedulable
from daiku.scheduling import audit, claims, expected, limits, prices, problem, solver, whatif
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.solution import NewNode, Solution
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

AT: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When a forecast is made. Nothing in it depends on the time, so that equal input gives equal output."""
_OBJECTIONS_MOST: Final = 5
"""Audit findings that are shown; one is enough to distrust a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNode:
    """A node that would be made."""

    nodepool: str
    instance_types: tuple[str, ...]
    """Every type that would do, cheapest first. Never empty."""
    capacity_type: str
    """What would be bought: reserved, spot or on-demand."""
    zones: tuple[str, ...]
    pods: tuple[str, ...]
    """namespace/name of each."""
    requests: Mapping[str, int]
    """What its pods and its DaemonSets ask for."""
    allocatable: Mapping[str, int]
    """What the cheapest type has for them."""
    usd_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNode:
    """A node of the input, with the pods that would go there."""

    name: str
    nodepool: str
    """Empty when it belongs to none."""
    instance_type: str
    zone: str
    capacity_type: str
    pods: int
    """How many pods run on it."""
    added: tuple[str, ...]
    """namespace/name of the pods that would be added."""
    requests: Mapping[str, int]
    """What all of these ask for."""
    allocatable: Mapping[str, int]
    usd_per_hour: float | None
    """None when the catalogue has no price for its type, zone and capacity type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would become of the pods, and what it would cost."""

    new_nodes: tuple[PlannedNode, ...]
    existing_nodes: tuple[ExistingNode, ...]
    unschedulable: tuple[Unschedulable, ...]
    workloads: Mapping[str, Workload]
    """Pod that was planned -> what it belongs to."""
    lower_bound_usd_per_hour: float
    notes: tuple[str, ...]
    repack: Repack | None = None
    """How the nodes of the input could be repacked; None when that was not asked."""
    objections: tuple[str, ...] = ()
    """What the audit has against the plan; the live controller would not carry these parts out."""

    @property
    def is_sound(self) -> bool:
        """Every pod has a place, and nothing speaks against any of the places."""
        return not (self.unschedulable or self.objections)

    @property
    def placements(self) -> dict[str, str]:
        """Pod -> existing node that it would go to."""
        pairs = ((pod, node.name) for node in self.existing_nodes for pod in node.added)
        return dict(sorted(pairs))

    @property
    def new_usd_per_hour(self) -> float:
        """What the new nodes cost."""
        return sum(node.usd_per_hour for node in self.new_nodes)

    @property
    def existing_usd_per_hour(self) -> float:
        """What the nodes of the input cost, as far as their price is known."""
        return sum(node.usd_per_hour or 0.0 for node in self.existing_nodes)

    @property
    def gap(self) -> float:
        """By which share the new nodes cost more than the lower bound; 0 when there are none."""
        bound = self.lower_bound_usd_per_hour
        return max(0.0, self.new_usd_per_hour / bound - 1) if bound > 0 else 0.0

    @property
    def homeless(self) -> tuple[str, ...]:
        """Pods that fit nowhere, in order."""
        return tuple(sorted(pod for each in self.unschedulable for pod in each.pods))


def forecast(
    objects: Sequence[Object],
    catalogue: Catalogue,
    settings: Settings,
    *,
    repacked: bool = False,
    stop: Stop | None = None,
) -> Forecast:
    """Decide on the pods among `objects` that have no node.

    Args:
        objects: Pods, nodes, NodePools and whatever else is watched; one of each kind and key.
        catalogue: What can be bought, for the node classes of the NodePools.
        settings: How to decide.
        repacked: Whether to say how the nodes of the input could be repacked.
        stop: Asked now and then whether what is best so far must do.
    """
    static_notes: list[str] = []
    static = static_nodes.missing(objects, catalogue, settings, static_notes)
    objects = [*objects, *(node for node, _ in static.values())]
    snapshot = _snapshot(objects, catalogue, settings)
    pods = snapshot.provisionable
    asked = problem.build(pods, snapshot, catalogue, preference_policy=settings.preference_policy)
    solved = solver.solve(
        asked,
        per_node_usd_per_hour=settings.per_node_cost_usd_per_hour,
        min_values_policy=settings.min_values_policy,
        stop=stop,
    )
    made = _creations(solved, snapshot, catalogue, settings)
    allowed = {
        creation.node_claim.meta.name: True
        for creation in limits.within([creation for _, creation in made], snapshot, catalogue)
    }
    kept = [(n, c) for n, c in made if c.node_claim.meta.name in allowed]
    refused = [n for n, c in made if c.node_claim.meta.name not in allowed]
    existing = _existing(solved.placements, pods, snapshot, catalogue)
    stood = [_static(e, static[e.name][1]) for e in existing if e.name in static]
    return Forecast(
        new_nodes=_sorted([*_planned([node for node, _ in kept], catalogue), *stood]),
        existing_nodes=tuple(each for each in existing if each.name not in static),
        unschedulable=(*solved.unschedulable, *map(_over_limit, refused)),
        workloads={pod.meta.key: workload.of(pod.meta) for pod in pods},
        # Nodes that are ordered whatever pods ask for cannot be saved.
        lower_bound_usd_per_hour=solved.lower_bound_usd_per_hour
        + sum(n.usd_per_hour for n in stood),
        notes=(*static_notes, *_left_out(objects, snapshot)),
        repack=_repack(snapshot, catalogue, settings, stop) if repacked else None,
        objections=_objections([creation for _, creation in kept], solved, snapshot, catalogue),
    )


def cluster(objects: Sequence[Object], catalogue: Catalogue, settings: Settings) -> Cluster:
    """What the controller would believe if these were all the objects that there are."""
    made = Cluster(settings)
    keys: dict[type[Object], dict[str, None]] = {kind: {} for kind in KINDS}
    for each in objects:
        keys[type(each)][each.meta.key] = None
        made.apply(events.Seen(each))
    for kind in KINDS:
        made.apply(events.Listed(kind, frozenset(keys[kind])))
    made.apply(events.CatalogueRefreshed(catalogue))
    return made


def _snapshot(objects: Sequence[Object], catalogue: Catalogue, settings: Settings) -> Snapshot:
    pending = [
        replace(each, unschedulable=True)
        if isinstance(each, Pod) and not each.node_name and not each.is_finished
        else each
        for each in objects
    ]
    return cluster(pending, catalogue, settings).snapshot(AT)


def _creations(
    solved: Solution, snapshot: Snapshot, catalogue: Catalogue, settings: Settings
) -> list[tuple[NewNode, CreateNodeClaim]]:
    """Each new node with the command that the live controller would give for it."""
    given = {ref: claims.given_labels(types) for ref, types in catalogue.instance_types.items()}
    taken = dict.fromkeys(snapshot.by_name)
    made: list[tuple[NewNode, CreateNodeClaim]] = []
    for ordinal, node in enumerate(solved.new_nodes):
        ref = node.pool.template.node_class
        creation = claims.create(
            node,
            catalogue.instance_types[ref],
            settings,
            AT,
            given=given[ref],
            taken=taken,
            purpose=str(ordinal),
        )
        taken[creation.node_claim.meta.name] = None
        made.append((node, creation))
    return made


def _repack(
    snapshot: Snapshot, catalogue: Catalogue, settings: Settings, stop: Stop | None
) -> Repack:
    """How nodes could be repacked once their pods have been quiet for long enough; pods that wait are left out."""
    context = DisruptionContext(
        snapshot=snapshot,
        catalogue=catalogue,
        settings=settings,
        placements={},
        moves=(),
        now=AT,
    )
    world = whatif.prepare(snapshot, catalogue, settings, {}, stop=stop)
    found, _ = candidates.find(snapshot, {}, {}, AT)
    return global_consolidation.search(
        world,
        global_consolidation.movable(found, world, snapshot, None),
        stop=stop,
        allows=lambda step: global_consolidation.is_worth_it(step, context),
    )


def _planned(nodes: Sequence[NewNode], catalogue: Catalogue) -> list[PlannedNode]:
    known = {
        (ref, t.name): t.allocatable
        for ref, types in catalogue.instance_types.items()
        for t in types
    }
    return [
        PlannedNode(
            nodepool=node.pool.meta.name,
            instance_types=tuple(t.name for t in node.types),
            capacity_type=node.capacity_types[0],
            zones=node.zones,
            pods=node.pods,
            requests=node.requests,
            allocatable=known[node.pool.template.node_class, node.types[0].name],
            usd_per_hour=node.usd_per_hour,
        )
        for node in nodes
    ]


def _static(found: ExistingNode, usd_per_hour: float) -> PlannedNode:
    """A node of a static NodePool, with the pods that found room on it."""
    return PlannedNode(
        nodepool=found.nodepool,
        instance_types=(found.instance_type,),
        capacity_type=found.capacity_type,
        zones=(found.zone,),
        pods=found.added,
        requests=found.requests,
        allocatable=found.allocatable,
        usd_per_hour=usd_per_hour,
    )


def _sorted(nodes: Sequence[PlannedNode]) -> tuple[PlannedNode, ...]:
    return tuple(
        sorted(nodes, key=lambda n: (n.nodepool, n.instance_types[0], n.capacity_type, n.pods))
    )


def _existing(
    placements: Mapping[str, str], pods: Sequence[Pod], snapshot: Snapshot, catalogue: Catalogue
) -> tuple[ExistingNode, ...]:
    added: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.meta.key in placements:
            added.setdefault(placements[pod.meta.key], []).append(pod)
    known = prices.in_any_class(catalogue)
    return tuple(
        _existing_node(state_node, added.get(state_node.name, []), known, catalogue)
        for state_node in snapshot.state_nodes
    )


def _existing_node(
    state_node: StateNode,
    added: Sequence[Pod],
    usd_per_hour: Mapping[tuple[str, str, str], float],
    catalogue: Catalogue,
) -> ExistingNode:
    known = state_node.labels
    instance_type, zone = known.get(labels.INSTANCE_TYPE, ""), known.get(labels.ZONE, "")
    capacity_type = labels.capacity_type(known)
    return ExistingNode(
        name=state_node.name,
        nodepool=state_node.nodepool,
        instance_type=instance_type,
        zone=zone,
        capacity_type=capacity_type,
        pods=sum(1 for pod in state_node.pods if not pod.is_finished),
        added=tuple(pod.meta.key for pod in added),
        requests=resources.add(state_node.used(), *(pod.requests for pod in added)),
        allocatable=expected.allocatable(state_node, catalogue),
        usd_per_hour=usd_per_hour.get((instance_type, zone, capacity_type)),
    )


def _over_limit(node: NewNode) -> Unschedulable:
    """The pods of a node that its NodePool's limits refuse after all."""
    blocker = Blocker(
        nodepool=node.pool.meta.name,
        reason="LimitExceeded",
        asked="one more node",
        offered="the nodes planned before it use the limits up",
    )
    return Unschedulable(pods=node.pods, blockers=(blocker,))


def _left_out(objects: Sequence[Object], snapshot: Snapshot) -> list[str]:
    """What the input holds and the plan does not count on."""
    names = {each.meta.name: True for each in objects if isinstance(each, Node)}
    pods = [each for each in objects if isinstance(each, Pod) and not each.is_finished]
    astray = [pod for pod in pods if pod.node_name and pod.node_name not in names]
    planned = {pod.meta.key: True for pod in snapshot.provisionable}
    nominated = [p for p in snapshot.waiting if p.is_provisionable and p.meta.key not in planned]
    notes: list[str] = []
    if astray:
        notes.append(
            f"pods on nodes that are not in the input, not planned: {len(astray)}, "
            f"such as {astray[0].meta.key} on {astray[0].node_name}"
        )
    if nominated:
        notes.append(
            f"pods for which kube-scheduler makes room itself, not planned: {len(nominated)}"
        )
    return notes


def _objections(
    creations: Sequence[CreateNodeClaim],
    solved: Solution,
    snapshot: Snapshot,
    catalogue: Catalogue,
) -> tuple[str, ...]:
    """What the audit has against the plan, the first few of it."""
    made = {pod: c.node_claim.meta.name for c in creations for pod in c.pods}
    found = audit.audit(creations, solved.homes(made), snapshot, catalogue)
    shown = tuple(f"audit, rule {v.rule}: {v.message}" for v in found[:_OBJECTIONS_MOST])
    more = len(found) - len(shown)
    return (*shown, f"audit: {more} more objections") if more else shown
