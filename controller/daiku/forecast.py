"""What the controller would do with a set of objects: its own `tick`, told of them, and its commands in words.

Static NodePools get their nodes in a first tick, as they do while a batch of pods is open; a second one, with the batch
closed, plans for the pods. A pod without a node counts as pending although no scheduler has said so.

What a live controller knows and no object says is not known here: which launches failed a moment ago, and which pods
were planned before. Nor is anything carried out: a plan of more than `commands_in_flight_max` nodes is begun in parts
there, and what is left is planned anew for each.
Not here: reading files (`api.configuration`), saying it to people (`cli`).
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from daiku import events, reasons
from daiku.commands import CreateNodeClaim
from daiku.disruption import candidates, global_consolidation
from daiku.disruption.context import DisruptionContext
from daiku.disruption.global_consolidation import Repack
from daiku.events import Object
from daiku.lifecycle import launch
from daiku.model import labels, resources, units, workload
from daiku.model.instance_type import Catalogue, LaunchOption
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.workload import Workload
from daiku.provisioning import static
from daiku.report import Unschedulable
from daiku.scheduling import expected, prices, whatif
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.tick import tick

AT: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When a forecast is made of objects that tell no time."""
_OBJECTIONS_MOST: Final = 5
"""Audit findings that are shown; one is enough to distrust a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNode:
    """A node that would be made."""

    nodepool: str
    instance_types: tuple[str, ...]
    """What its launch would be given, cheapest first. Never empty."""
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
    later: tuple[str, ...] = ()
    """Pods that are decided on only once nodes are there that come first."""
    objections: tuple[str, ...] = ()
    """What the audit has against the plan; these parts are not carried out, and not among the nodes."""

    @property
    def is_sound(self) -> bool:
        """Every pod has a place, and nothing speaks against any of the places."""
        return not (self.unschedulable or self.later or self.objections)

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
    now: datetime | None = None,
    repacked: bool = False,
    stop: Stop | None = None,
) -> Forecast:
    """Decide on the pods among `objects` that have no node.

    Args:
        objects: Pods, nodes, NodePools and whatever else is watched; one of each kind and key.
        catalogue: What can be bought, for the node classes of the NodePools.
        settings: How to decide.
        now: The time; None: that of the last thing that `objects` tell, so that equal input gives equal output.
        repacked: Whether to say how the nodes of the input could be repacked.
        stop: Asked now and then whether what is best so far must do.
    """
    settings = replace(settings, commands_in_flight_max=sys.maxsize)
    found = _decide(objects, catalogue, settings, now or _last_told(objects), stop)
    snapshot = found.snapshot
    pods = {each.meta.key: each for each in objects if isinstance(each, Pod)}
    on: dict[str, list[Pod]] = {}
    for key, name in sorted(found.placements.items()):
        on.setdefault(name, []).append(pods[key])
    buyer = _Buyer(snapshot, catalogue, settings)
    bought = {name: buyer.planned(claim, on.get(name, ())) for name, claim in found.made.items()}
    new = {name: node for name, node in bought.items() if node is not None}
    given_up = {name: _given_up(found.made[name]) for name in bought if name not in new}
    known = prices.in_any_class(catalogue)
    homeless = {pod: True for each in found.unschedulable for pod in each.pods}
    planned = [pod.meta.key for pod in snapshot.provisionable]
    placed = {pod: True for pod, name in found.placements.items() if name not in given_up}
    later = tuple(pod for pod in planned if not (pod in placed or pod in homeless))
    return Forecast(
        new_nodes=tuple(sorted(new.values(), key=_rank)),
        existing_nodes=tuple(
            _existing_node(each, on.get(each.name, ()), known, catalogue)
            for each in snapshot.state_nodes
            if each.name not in found.made
        ),
        unschedulable=found.unschedulable,
        later=later,
        workloads={key: workload.of(pods[key].meta) for key in (*planned, *found.placements)},
        # Nodes that are ordered whatever pods ask for cannot be saved.
        lower_bound_usd_per_hour=found.lower_bound_usd_per_hour
        + sum(node.usd_per_hour for node in new.values() if _is_static(node.nodepool, snapshot)),
        notes=(
            *_unbuyable(snapshot, catalogue, settings),
            *_left_out(objects, snapshot),
            *_undecided([pods[key] for key in later]),
        ),
        repack=_repack(snapshot, catalogue, settings, stop) if repacked else None,
        objections=_objections([*dict.fromkeys(given_up.values()), *found.objections]),
    )


@dataclass(slots=True)
class _Decided:
    """What ticks decided about pods, one after the other."""

    snapshot: Snapshot
    """Of the last one."""
    made: dict[str, NodeClaim] = field(default_factory=dict[str, NodeClaim])
    placements: dict[str, str] = field(default_factory=dict[str, str])
    unschedulable: tuple[Unschedulable, ...] = ()
    lower_bound_usd_per_hour: float = 0.0
    objections: list[str] = field(default_factory=list[str])


def _decide(
    objects: Sequence[Object],
    catalogue: Catalogue,
    settings: Settings,
    now: datetime,
    stop: Stop | None,
) -> _Decided:
    """Tick when the batch of pods opens, if anything is decided then, and when it is closed for sure."""
    believed = cluster([*map(_as_pending, objects)], catalogue, settings)
    found = _Decided(believed.snapshot(now))
    opens = [now] if any(pool.replicas is not None for pool in found.snapshot.node_pools) else []
    for at in (*opens, now + settings.batch_max):
        found.snapshot = _with_arrivals(believed.snapshot(at), now)
        plan = tick(
            found.snapshot,
            catalogue,
            settings,
            at,
            # What else could be found about nodes that run is not asked here.
            lambda: True,
            hurry=stop or (lambda: False),
        )
        for command in plan.commands:
            # One that replaces a node is part of a disruption.
            if isinstance(command, CreateNodeClaim) and command.reason == reasons.PROVISIONED:
                found.made[command.node_claim.meta.name] = command.node_claim
                believed.begin(command, at)
                believed.apply(events.Seen(command.node_claim))
        believed.planned(plan.report, at)
        # Who was planned first is placed anew by each tick; what was bought for it stays the same.
        found.placements = {**plan.report.placements, **found.placements}
        found.unschedulable = plan.report.unschedulable
        found.lower_bound_usd_per_hour += plan.report.lower_bound_usd_per_hour
        found.objections += plan.report.notes
    return found


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


def _as_pending(found: Object) -> Object:
    if isinstance(found, Pod) and not found.node_name and not found.is_finished:
        return replace(found, unschedulable=True)
    return found


def _with_arrivals(snapshot: Snapshot, opened: datetime) -> Snapshot:
    """The same once a batch is closed, as if its pods had been seen when they were made, `opened` at the latest."""
    if snapshot.at <= opened:
        return snapshot
    made = {pod.meta.key: min(pod.meta.created or opened, opened) for pod in snapshot.waiting}
    return replace(snapshot, arrivals={key: made[key] for key in snapshot.arrivals})


def _last_told(objects: Sequence[Object]) -> datetime:
    """The latest time that any of the objects tells of itself."""
    times = [at for each in objects for at in (each.meta.created, each.meta.deleted) if at]
    times += [
        condition.last_transition
        for each in objects
        if isinstance(each, NodeClaim)
        for condition in each.conditions
        if condition.last_transition
    ]
    return max(times, default=AT)


class _Buyer:
    """NodeClaims as the nodes that their launches would buy."""

    def __init__(self, snapshot: Snapshot, catalogue: Catalogue, settings: Settings) -> None:
        self._snapshot, self._catalogue, self._settings = snapshot, catalogue, settings
        self._allocatable = {
            (ref, each.name): each.allocatable
            for ref, types in catalogue.instance_types.items()
            for each in types
        }
        self._options: dict[object, tuple[LaunchOption, ...]] = {}
        """Most NodeClaims of a plan are alike, and each could be one of a thousand types."""

    def planned(self, claim: NodeClaim, pods: Sequence[Pod]) -> PlannedNode | None:
        """The node that a NodeClaim becomes if the cloud has what is cheapest; None when nothing can be launched."""
        asked = claim.node_class, claim.requirements, tuple(sorted(claim.requests.items()))
        if asked not in self._options:
            self._options[asked] = launch.options(
                claim, self._snapshot, self._catalogue, self._settings
            )
        options = self._options[asked]
        if not options:
            return None
        return PlannedNode(
            nodepool=claim.nodepool,
            instance_types=tuple(dict.fromkeys(each.instance_type for each in options)),
            capacity_type=options[0].capacity_type,
            zones=tuple(sorted(dict.fromkeys(each.zone for each in options))),
            pods=tuple(pod.meta.key for pod in pods),
            requests=claim.requests or resources.add(*(pod.requests for pod in pods)),
            allocatable=self._allocatable[claim.node_class, options[0].instance_type],
            usd_per_hour=options[0].price_usd_per_hour,
        )


def _rank(node: PlannedNode) -> tuple[str, str, str, tuple[str, ...]]:
    return node.nodepool, node.instance_types[0], node.capacity_type, node.pods


def _repack(
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
    stop: Stop | None,
) -> Repack:
    """How nodes could be repacked once their pods have been quiet for long enough; pods that wait are left out."""
    context = DisruptionContext(
        snapshot=snapshot,
        catalogue=catalogue,
        settings=settings,
        placements={},
        moves=(),
        now=snapshot.at,
    )
    world = whatif.prepare(snapshot, catalogue, settings, {}, stop=stop)
    found, _ = candidates.find(snapshot, {}, {}, snapshot.at)
    return global_consolidation.search(
        world,
        global_consolidation.movable(found, world, snapshot, None),
        stop=stop,
        allows=lambda step: global_consolidation.is_worth_it(step, context),
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


def _unbuyable(snapshot: Snapshot, catalogue: Catalogue, settings: Settings) -> Iterator[str]:
    """Static NodePools that cannot have their nodes."""
    for pool in snapshot.node_pools if settings.is_on(static.GATE) else ():
        if pool.replicas and static.cheapest(pool, snapshot, catalogue) is None:
            yield f"NodePool {pool.meta.name}: nothing that it allows can be bought"


def _is_static(nodepool: str, snapshot: Snapshot) -> bool:
    pool = snapshot.node_pool(nodepool)
    return pool is not None and pool.replicas is not None


def _left_out(objects: Sequence[Object], snapshot: Snapshot) -> list[str]:
    """What the input holds and the plan does not count on."""
    names = {each.meta.name: True for each in objects if isinstance(each, Node)}
    pods = [each for each in objects if isinstance(each, Pod) and not each.is_finished]
    astray = [pod for pod in pods if pod.node_name and pod.node_name not in names]
    planned = {pod.meta.key: True for pod in snapshot.provisionable}
    nominated = [p for p in snapshot.waiting if p.is_provisionable and p.meta.key not in planned]
    notes: list[str] = []
    if astray:
        owners = dict.fromkeys(str(workload.of(pod.meta)) for pod in astray)
        notes.append(
            f"pods on nodes that are not in the input, not planned: {len(astray)} of {units.listed(owners)}, "
            f"such as {astray[0].meta.key} on {astray[0].node_name}"
        )
    if nominated:
        notes.append(
            f"pods for which kube-scheduler makes room itself, not planned: {len(nominated)}"
        )
    unclaimed = [
        each.name
        for each in snapshot.state_nodes
        if each.claim is None and _is_static(each.nodepool, snapshot)
    ]
    if unclaimed:
        notes.append(
            f"nodes of static NodePools without a NodeClaim in the input, not counted as theirs: {len(unclaimed)}, "
            f"such as {unclaimed[0]}"
        )
    return notes


def _undecided(pods: Sequence[Pod]) -> Iterator[str]:
    """Pods that are neither placed nor refused, by workload."""
    counts = Counter(workload.of(pod.meta) for pod in pods)
    if counts:
        each = units.listed(f"{made_by} {count}" for made_by, count in sorted(counts.items()))
        yield (
            "pods without a decision yet, because nodes before them must be made or opened first, or because something "
            f"speaks against theirs: {units.counted(len(pods), 'pod')} ({each})"
        )


def _given_up(claim: NodeClaim) -> str:
    asked = ", ".join(
        f"{resource} {units.format_quantity(resource, amount)}"
        for resource, amount in sorted(claim.requests.items())
    )
    return (
        f"NodePool {claim.nodepool}: a NodeClaim would be made that no launch can satisfy, and be given up; for its "
        f"pods and DaemonSets it asks for {asked or 'nothing'}"
    )


def _objections(found: Sequence[str]) -> tuple[str, ...]:
    """What the audit has against the plan, the first few of it."""
    more = len(found) - _OBJECTIONS_MOST
    shown = tuple(found[:_OBJECTIONS_MOST])
    return (*shown, f"audit: {more} more objections") if more > 0 else shown
