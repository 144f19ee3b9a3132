"""What the controller believes: events in, snapshots out. The only mutable object of the core, with one owner.

Objects are kept by kind and key as the watches bring them. Beside them stands what only events tell: which commands are
under way, what was launched and not yet written down, what is sold out, when pods came and went. All of that may be
lost in a restart; the objects and the cloud's list are enough to go on.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, TypeVar, cast, get_args

from daiku import commands, events
from daiku.cloud import errors
from daiku.cloud.errors import CloudError
from daiku.commands import Command
from daiku.events import Event, Object
from daiku.model import labels, memo
from daiku.model.daemonset import DaemonSet
from daiku.model.deployment import Deployment
from daiku.model.instance_type import Catalogue, NodeClassRef
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.pod_owner import PodOwner
from daiku.model.volume import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from daiku.report import Report
from daiku.settings import Settings
from daiku.state import asking, ownership, standing
from daiku.state.daemons import DaemonIndex
from daiku.state.deciding import Deciding
from daiku.state.fleet import Fleet
from daiku.state.inflight import Inflight
from daiku.state.inspections import Inspections
from daiku.state.nominations import Nominations
from daiku.state.places import Places
from daiku.state.pods import PodIndex
from daiku.state.registrations import Registrations
from daiku.state.scale_outs import ScaleOuts
from daiku.state.snapshot import Snapshot
from daiku.state.standing import Standing
from daiku.state.volumes import OF_VOLUMES, Volumes

KINDS: Final[tuple[type[Object], ...]] = get_args(Object)
"""Every kind that has to be listed before anything is decided."""

_EXPECTED: Final = timedelta(minutes=1)
"""How long a NodeClaim, or its deletion, may take to appear in the watch after it was asked for, answered or not."""
_EMPTY: Final = Catalogue(version=0, instance_types={})

_Kind = TypeVar("_Kind", bound=Object)


class Cluster:
    """The current belief. Not thread-safe: one thread applies events and takes snapshots."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # Read by the loop, which hands it to the tick; empty until the first refresh.
        self.catalogue = _EMPTY
        self._objects: dict[type[Object], dict[str, Object]] = {kind: {} for kind in KINDS}
        # Kinds that have to be listed, for the first time or again.
        self._unlisted: dict[type[Object], None] = dict.fromkeys(KINDS)
        self._sorted: dict[type[Object], tuple[Object, ...]] = {}
        # None once anything but pods may have changed about nodes; `_touched` are Nodes whose pods have.
        self._standing: Standing | None = None
        self._touched: dict[str, None] = {}
        self._stood: Standing | None = None
        self._pods = PodIndex()
        self._daemons = DaemonIndex()
        self._volumes: Volumes | None = None
        self._inflight = Inflight()
        self._fleet = Fleet()
        self._registrations = Registrations()
        self._expected: dict[str, tuple[NodeClaim, datetime]] = {}
        self._ending: dict[str, datetime] = {}
        self._nominations = Nominations()
        self._scale_outs = ScaleOuts()
        self._places = Places()
        self._inspections = Inspections()
        self._deciding = Deciding()

    @property
    def synced(self) -> bool:
        """Whether every kind has been listed, and none has to be listed again."""
        return not self._unlisted

    @property
    def again_at(self) -> datetime | None:
        """When something may be decided anew because of what `apply` said is of no account now."""
        times = (self._inflight.again_at, self._scale_outs.ends_at)
        return min((at for at in times if at is not None), default=None)

    def apply(self, event: Event) -> bool:
        """Take in what happened. Applying an event twice changes nothing.

        Returns:
            Whether it can change what is decided now. Most cannot: heartbeats, and answers whose effect is yet to come.
        """
        if self._standing is not None:
            nodes = self._nodes_touched(event)
            if nodes is None:
                self._standing = None
            else:
                self._touched |= dict.fromkeys(nodes)
        match event:
            case events.Seen():
                return ownership.is_ours(event.object, self.settings) and self._see(event.object)
            case events.Gone():
                return self._lose(event.kind, event.key)
            case events.Listed():
                lost = [k for k in self._objects[event.kind] if k not in event.keys]
                for key in lost:
                    self._lose(event.kind, key)
                is_first = event.kind in self._unlisted
                self._unlisted.pop(event.kind, None)
                return bool(lost) or is_first
            case events.Outdated():
                self._unlisted[event.kind] = None
            case events.CatalogueRefreshed():
                if event.catalogue.version != self.catalogue.version:
                    self._deciding.unschedulable = ()
                    self._deciding.changes += 1
                self.catalogue = event.catalogue
            case events.InstancesListed():
                return self._fleet.see_list(event, self._all(NodeClaim))
            case events.Interrupted():
                self._fleet.warn(event, self._all(NodeClaim))
            case events.Launched():
                self._inflight.running.pop(f"Launch/{event.node_claim}", None)
                self._fleet.see_launch(event, self._objects[NodeClaim])
            case events.LaunchFailed():
                self._fleet.see_failure(event.node_claim, event.error)
            case events.Written():
                self._inflight.written(event.key, event.version)
                return False
            case events.Inspected():
                self._inspections.see(event)
            case events.Done() | events.Failed():
                # With as many under way as may be, others were left out.
                crowded = len(self._inflight.running) >= self.settings.commands_in_flight_max
                return self._answer(event) or crowded
        return True

    def begin(self, command: Command, now: datetime) -> None:
        """A command of a plan is handed to the executor; nothing is planned for its key until it comes back."""
        self._inflight.begin(command, now)
        self._deciding.begin(command, self._objects[Pod], now)
        match command:
            case commands.CreateNodeClaim():
                self._standing = None
                claim = command.node_claim
                self._expected[claim.meta.name] = (claim, now + _EXPECTED)
                self._nominations.make(
                    claim.meta.name, command.pods, self._pods.waiting_keys(), now
                )
                if labels.AWAITING_PODS in claim.meta.annotations:
                    known = cast("dict[str, Pod]", self._objects[Pod])
                    self._places.keep(
                        claim.meta.name, (known[k] for k in command.pods if k in known)
                    )
            case commands.DeleteNodeClaim():
                self._standing = None
                self._ending[command.name] = now + _EXPECTED
                self._registrations.gave_up(self._objects[NodeClaim].get(command.name), command)
            case commands.Launch():
                self._fleet.failures.pop(command.node_claim.meta.name, None)
            case commands.PatchDeployment():
                self._inspections.change(command)
            case _:
                pass

    def planned(self, report: Report, now: datetime) -> None:
        """Remember what a tick decided beside its commands: where pods are expected, which have no place.

        To be called once per tick, after its commands were begun.
        """
        self._nominations.planned(report.placements, now)
        self._fleet.interruptions.settle(report.settled)
        self._deciding.planned(report, now)

    def snapshot(self, now: datetime) -> Snapshot:
        """Everything that is believed at `now`."""
        expected = {n: (c, until) for n, (c, until) in self._expected.items() if now < until}
        ending = {name: until for name, until in self._ending.items() if now < until}
        if len(expected) + len(ending) < len(self._expected) + len(self._ending):
            self._standing = None
        self._expected, self._ending = expected, ending
        self._pods.stamp(now)
        self._scale_outs.stamp(now)
        waiting = self._scale_outs.with_announced(self._pods.waiting())
        keys = frozenset(pod.meta.key for pod in waiting)
        said = self._standing = self._stood = self._stand()
        leaving = [p.meta.key for s in said.state_nodes if s.is_leaving for p in s.pods]
        self._nominations.keep(keys.union(leaving) if leaving else keys, waiting)
        known = cast("dict[str, Pod]", self._objects[Pod])
        self._nominations.place(self._places.expect(waiting, known, said.by_name, now), now)
        fleet = self._fleet
        fleet.keep(s.provider_id for s in said.state_nodes)
        return Snapshot(
            at=now,
            synced=self.synced,
            waiting=waiting,
            state_nodes=said.state_nodes,
            of_nodes=said.derived,
            node_pools=self._all(NodePool),
            node_classes=_by_ref(self._all(NodeClass)),
            daemon_sets=self._daemons.resolve(self._all(DaemonSet)),
            pdbs=self._all(PodDisruptionBudget),
            namespaces=_labels_of(self._all(Namespace)),
            asking_namespaces=asking.of_namespaces(self._all(Namespace)),
            deployments=_by_key(self._all(Deployment)),
            inspections=dict(self._inspections.at(now)),
            volumes=self._all_volumes(),
            by_name=said.by_name,
            nodes_of=said.nodes_of,
            instances=fleet.instances,
            gone_instances=fleet.gone,
            launched=dict(fleet.launched),
            unnamed=fleet.unnamed(),
            launch_failures=dict(fleet.failures),
            sold_out=fleet.sold_out.at(now),
            interruptions=fleet.interruptions.all(),
            registrations=self._registrations.all(),
            holds=self._inflight.held(now),
            nominations=self._nominations.all(),
            places=self._places.kept(now),
            unneeded=self._nominations.unneeded(),
            arrivals={**self._pods.arrivals(), **self._scale_outs.arrivals(waiting)},
            scale_out_since=self._scale_outs.since,
            last_pass=self._deciding.last_pass,
            unschedulable=self._deciding.still_unschedulable(keys),
            proposals=self._deciding.proposals,
            looks=dict(self._deciding.looks),
            changes=self._deciding.changes,
            past=self._deciding.past.at(now),
        )

    def _see(self, seen: Object) -> bool:
        kind, key = type(seen), seen.meta.key
        before = self._objects[kind].get(key)
        self._objects[kind][key] = seen
        changed = self._deciding.see(before, seen)
        self._sorted.pop(kind, None)
        self._volumes = None if kind in OF_VOLUMES else self._volumes
        if before is None or before.meta.resource_version != seen.meta.resource_version:
            changed |= self._inflight.observed(f"{kind.__name__}/{key}", seen.meta.resource_version)
        if isinstance(seen, NodePool | NodeClass) and not (
            isinstance(before, NodePool | NodeClass)
            and before.meta.generation == seen.meta.generation
            and before.conditions == seen.conditions
        ):
            # What was in the way of these pods may just have been changed by hand: do not make them wait.
            self._deciding.unschedulable = ()
        if isinstance(seen, Pod):
            self._scale_outs.see_pod(before if isinstance(before, Pod) else None, seen)
            self._pods.see(seen, live=Pod not in self._unlisted)
            self._daemons.see(seen)
        elif isinstance(seen, PodOwner):
            self._scale_outs.see(seen, live=kind not in self._unlisted)
        elif isinstance(seen, NodePool):
            self._registrations.see_pool(seen)
        elif isinstance(seen, NodeClass):
            self._registrations.see_class(seen)
        elif isinstance(seen, NodeClaim):
            self._registrations.see_claim(before, seen)
            self._expected.pop(key, None)
            if seen.provider_id:
                self._nominations.forget(key)
                self._fleet.forget(key)
        return changed

    def _lose(self, kind: type[Object], key: str) -> bool:
        """An object is gone; whether it, or the hope for it, was there."""
        hoped = kind is NodeClaim and self._expected.pop(key, None) is not None
        lost = self._objects[kind].pop(key, None)
        if lost is None:
            return hoped
        self._sorted.pop(kind, None)
        self._inflight.forget(f"{kind.__name__}/{key}")
        self._deciding.lose(lost)
        self._volumes = None if kind in OF_VOLUMES else self._volumes
        if isinstance(lost, Pod):
            self._scale_outs.see_pod(lost, None)
            self._pods.lose(key)
            self._daemons.lose(key)
        elif isinstance(lost, PodOwner):
            self._scale_outs.lose(lost.meta.uid)
        elif kind is NodeClaim:
            self._nominations.forget(key)
            self._fleet.forget(key)
            self._inflight.forget(f"Launch/{key}")
        elif kind is Node:
            self._pods.forget_node(key)
        elif kind is NodePool:
            self._registrations.lose_pool(lost.meta.uid)
        return True

    def _answer(self, event: events.Done | events.Failed) -> bool:
        if isinstance(event, events.Done):
            return self._inflight.done(event.command, event.finished)
        self._fail(event)
        return not isinstance(event.command, commands.WRITES)

    def _fail(self, event: events.Failed) -> None:
        command, error = event.command, event.error
        seconds = event.retry_after_seconds
        retry_after = timedelta(seconds=seconds) if seconds is not None else None
        self._inflight.failed(command.key, error, event.finished, retry_after)
        match command:
            case commands.CreateNodeClaim():
                expected = self._expected.pop(command.node_claim.meta.name, None)
                if expected is not None and event.unsure:
                    until = event.finished + _EXPECTED
                    self._expected[command.node_claim.meta.name] = (command.node_claim, until)
                # Its name will not be used again, so the pause is kept for the pool: whatever refused
                # this claim refuses the next one too.
                self._inflight.failed(
                    f"Create/{command.node_claim.nodepool}", error, event.finished, retry_after
                )
            case commands.DeleteNodeClaim():
                if self._ending.pop(command.name, None) is not None and event.unsure:
                    self._ending[command.name] = event.finished + _EXPECTED
            case commands.TerminateInstance() if isinstance(error, errors.InstanceNotFound):
                claim = self._objects[NodeClaim].get(command.node_claim)
                self._fleet.denied(command, event, claim)
            case commands.Launch() if isinstance(error, CloudError):
                self._fleet.refused(command, error)
                if isinstance(error, errors.NodeClassNotReady):
                    pool = command.node_claim.nodepool
                    self._inflight.failed(f"Create/{pool}", error, event.finished, retry_after)
            case _:
                pass

    def _all(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        if kind not in self._sorted:
            found = self._objects[kind]
            self._sorted[kind] = tuple(found[key] for key in sorted(found))
        return cast("tuple[_Kind, ...]", self._sorted[kind])

    def _all_volumes(self) -> Volumes:
        """Made anew only when something about volumes has changed: there may be thousands."""
        if self._volumes is None:
            self._volumes = Volumes(
                claims={c.meta.key: c for c in self._all(PersistentVolumeClaim)},
                volumes={v.meta.name: v for v in self._all(PersistentVolume)},
                classes={c.meta.name: c for c in self._all(StorageClass)},
                csi_nodes={n.meta.name: n for n in self._all(CsiNode)},
                attachments=self._all(VolumeAttachment),
            )
        return self._volumes

    def _nodes_touched(self, event: Event) -> list[str] | None:
        """Nodes whose pods the event may change; None when it may change anything else about nodes."""
        if isinstance(event, events.Seen) and isinstance(event.object, Pod):
            key, now = event.object.meta.key, event.object.node_name
        elif isinstance(event, events.Gone) and event.kind is Pod:
            key, now = event.key, ""
        elif isinstance(event, events.Seen) and not isinstance(event.object, Node | NodeClaim):
            return []
        else:
            return [] if isinstance(event, events.Done) else None
        before = self._objects[Pod].get(key)
        was = before.node_name if isinstance(before, Pod) else ""
        return [name for name in (was, now) if name]

    def _stand(self) -> Standing:
        """What is said of nodes now."""
        touched, self._touched = self._touched, {}
        if self._standing is not None:
            known = self._standing
            return standing.with_pods(known, touched, self._pods) if touched else known
        claims = [(claim, False) for claim in self._all(NodeClaim)]
        claims += [(claim, True) for _, (claim, _) in sorted(self._expected.items())]
        return standing.stand(
            self._all(Node),
            claims,
            self._pods,
            unnamed=self._fleet.unnamed(),
            ending=self._ending,
            before=self._stood,
        )


# Most snapshots find the very same objects of these kinds.


@memo.by_identity(8)
def _by_ref(classes: tuple[NodeClass, ...]) -> Mapping[NodeClassRef, NodeClass]:
    return {each.ref: each for each in classes}


@memo.by_identity(8)
def _labels_of(namespaces: tuple[Namespace, ...]) -> Mapping[str, Mapping[str, str]]:
    return {each.meta.name: each.meta.labels for each in namespaces}


@memo.by_identity(8)
def _by_key(deployments: tuple[Deployment, ...]) -> Mapping[str, Deployment]:
    return {each.meta.key: each for each in deployments}
