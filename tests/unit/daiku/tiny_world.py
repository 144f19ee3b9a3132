"""A cluster and a cloud of a few lines: carries out commands at once, and moves nodes and pods on as real ones do.

It has no watches that lag and no faults but those a test asks for. What it refuses is what the real parts refuse: a
change on an old version, a deletion past a finalizer, a pod on a node that does not let it in.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from daiku import commands, events
from daiku.cloud.errors import CloudError, InstanceNotFound
from daiku.cloud.provider import Instance, LaunchedInstance, LaunchOption
from daiku.commands import Command
from daiku.events import Object
from daiku.model import labels, resources, taints
from daiku.model.condition import Condition
from daiku.model.instance_type import Catalogue
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster
from daiku.tick import Plan, tick

Key = tuple[type[Object], str]


@dataclass
class World:
    """Everything outside of the controller, and the controller's belief about it."""

    now: datetime
    catalogue: Catalogue
    settings: Settings = field(default_factory=Settings)
    boot: timedelta = timedelta(seconds=20)
    """From launch to a Node that is ready."""
    objects: dict[Key, Object] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    launches: dict[str, LaunchedInstance] = field(default_factory=dict)
    """Client token -> what came of it."""
    refusals: dict[str, CloudError] = field(default_factory=dict)
    """Error of the next launches, by capacity type or "any"."""
    log: list[str] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)
    """Announcements: reason, name and message."""
    versions: Iterator[int] = field(default_factory=lambda: itertools.count(1000))

    def __post_init__(self) -> None:
        self.cluster = Cluster(self.settings)

    def put(self, thing: Object) -> None:
        stored = replace(thing, meta=replace(thing.meta, resource_version=str(next(self.versions))))
        self.objects[type(thing), thing.meta.key] = stored
        self.cluster.apply(events.Seen(stored))

    def drop(self, kind: type[Object], key: str) -> None:
        self.objects.pop((kind, key), None)
        self.cluster.apply(events.Gone(kind, key))

    def all(self, kind: Any) -> list[Any]:
        return [o for (k, _), o in sorted(self.objects.items(), key=lambda e: e[0][1]) if k is kind]

    def restart(self) -> None:
        """The controller dies, and a new one lists everything."""
        self.cluster = Cluster(self.settings)
        for thing in self.objects.values():
            self.cluster.apply(events.Seen(thing))
        for kind in KINDS:
            self.cluster.apply(
                events.Listed(kind, frozenset(k for t, k in self.objects if t is kind))
            )
        self.cluster.apply(events.CatalogueRefreshed(self.catalogue))

    def delete(self, kind: type[Object], key: str) -> None:
        thing = self.objects.get((kind, key))
        if thing is None:
            return
        if not thing.meta.finalizers:
            self.drop(kind, key)
        elif thing.meta.deleted is None:
            self.put(replace(thing, meta=replace(thing.meta, deleted=self.now)))

    def step(self, *, crash_after: int | None = None) -> Plan:
        """Decide once and carry everything out; or only so many commands, and then die."""
        self.cluster.apply(events.InstancesListed(tuple(self.instances.values()), self.now))
        plan = tick(
            self.cluster.snapshot(self.now), self.cluster.catalogue, self.settings, self.now
        )
        for count, command in enumerate(plan.commands):
            if count == crash_after:
                self.restart()
                return plan
            self.cluster.begin(command, self.now)
            self.log.append(f"{type(command).__name__} {command.key}")
            try:
                self.carry_out(command)
            except Exception as error:  # noqa: BLE001 - the executor turns every failure into an event
                self.cluster.apply(events.Failed(command, error, self.now))
            else:
                self.cluster.apply(events.Done(command, self.now))
        self.cluster.planned(plan.report, self.now)
        return plan

    def run(self, seconds: int, *, step: int = 1) -> None:
        for _ in range(0, seconds, step):
            self.step()
            self.now += timedelta(seconds=step)
            self.live()

    def live(self) -> None:
        """Kubelets, scheduler and garbage collection do their part."""
        for instance in list(self.instances.values()):
            if instance.terminating:
                del self.instances[instance.provider_id]
            elif self.now - instance.launched >= self.boot:
                self._join(instance)
        for pod in self.all(Pod):
            if pod.node_name and (Node, pod.node_name) not in self.objects:
                self.drop(Pod, pod.meta.key)
        for pod in sorted(self.all(Pod), key=lambda p: not p.nominated_node_name):
            if not pod.node_name:
                self._schedule(pod)

    def carry_out(self, command: Command) -> None:
        match command:
            case commands.CreateNodeClaim():
                meta = command.node_claim.meta
                assert (NodeClaim, meta.name) not in self.objects, "AlreadyExists"
                born = replace(meta, uid=f"uid-{meta.name}", generation=1)
                self.put(replace(command.node_claim, meta=born))
            case commands.Launch():
                self._launch(command)
            case commands.PatchNodeClaim():
                self._patch_claim(command)
            case commands.PatchNode():
                for pod in command.nominates:
                    self._nominate(pod, command.name)
                self._patch_node(command)
            case commands.PatchNodePool():
                self._patch_pool(command)
            case commands.DeleteNodeClaim():
                self.delete(NodeClaim, command.name)
            case commands.DeleteNode():
                self.delete(Node, command.name)
            case commands.Evict() | commands.DeletePod():
                self.drop(Pod, f"{command.namespace}/{command.name}")
            case commands.PatchPod():
                pod: Any = self.objects[Pod, f"{command.namespace}/{command.name}"]
                self.put(replace(pod, meta=annotated(pod.meta, command.annotations)))
            case commands.TerminateInstance():
                known = self.instances.get(command.provider_id)
                if known is None:
                    raise InstanceNotFound(command.provider_id)
                self.instances[command.provider_id] = replace(known, terminating=True)
            case commands.Announce():
                self.announced.append(f"{command.reason} {command.name}: {command.message}")
            case _:
                raise AssertionError(f"nobody here carries out {command}")

    def _launch(self, command: commands.Launch) -> None:
        claim = command.node_claim
        known = self.launches.get(claim.meta.uid)
        if known is None:
            known = self._launched(claim, command.options)
            self.launches[claim.meta.uid] = known
            self.instances[known.provider_id] = Instance(
                provider_id=known.provider_id,
                node_claim=claim.meta.name,
                nodepool=claim.nodepool,
                launched=self.now,
                terminating=False,
            )
        self.cluster.apply(events.Launched(claim.meta.name, known))

    def _launched(self, claim: NodeClaim, options: Sequence[LaunchOption]) -> LaunchedInstance:
        """An instance by the first option; none at all when there is nothing to be launched, only to be found."""
        if not options:
            raise InstanceNotFound(claim.meta.name)
        option = options[0]
        error = self.refusals.get(option.capacity_type) or self.refusals.get("any")
        if error is not None:
            self.cluster.apply(events.LaunchFailed(claim.meta.name, error))
            raise error
        types = self.catalogue.instance_types[claim.node_class]
        chosen = next(t for t in types if t.name == option.instance_type)
        return LaunchedInstance(
            provider_id=f"aws:///{option.zone}/i-{claim.meta.name}",
            instance_type=chosen.name,
            zone=option.zone,
            capacity_type=option.capacity_type,
            image_id="ami-1",
            labels={
                labels.INSTANCE_TYPE: chosen.name,
                labels.ZONE: option.zone,
                labels.CAPACITY_TYPE: option.capacity_type,
                labels.ARCH: "amd64",
                labels.OS: "linux",
            },
            annotations={},
            capacity=chosen.capacity,
            allocatable=chosen.allocatable,
        )

    def _join(self, instance: Instance) -> None:
        name = f"ip-{instance.node_claim}"
        made = (i for i in self.launches.values() if i.provider_id == instance.provider_id)
        launched = next(made, None)
        if (
            launched is None
            or (Node, name) in self.objects
            or any(n.provider_id == instance.provider_id for n in self.all(Node))
        ):
            return
        meta = _meta(name, {**launched.labels, labels.HOSTNAME: name}, self.now)
        self.put(
            Node(
                meta=meta,
                provider_id=instance.provider_id,
                taints=(taints.UNREGISTERED,),
                capacity=launched.capacity,
                allocatable=launched.allocatable,
                conditions=(Condition(type="Ready", status="True", last_transition=self.now),),
            )
        )

    def _schedule(self, pod: Pod) -> None:
        for node in sorted(self.all(Node), key=lambda n: n.meta.name != pod.nominated_node_name):
            here = [p for p in self.all(Pod) if p.node_name == node.meta.name]
            used = resources.add(pod.requests, *(p.requests for p in here))
            if (
                node.is_ready
                and node.meta.deleted is None
                and taints.untolerated(node.taints, pod.tolerations) is None
                and resources.fits(used, node.allocatable)
                and not Requirements.from_labels(node.meta.labels).compatible(
                    Requirements.from_labels(pod.node_selector)
                )
            ):
                self.put(
                    replace(
                        pod,
                        node_name=node.meta.name,
                        phase="Running",
                        unschedulable=False,
                        scheduled=self.now,
                    )
                )
                return

    def _patch_claim(self, patch: commands.PatchNodeClaim) -> None:
        claim = self._current(NodeClaim, patch.name, patch.resource_version)
        meta = _patched(claim.meta, patch.add_finalizer, patch.remove_finalizer)
        if claim.meta.deleted is not None and not meta.finalizers:
            self.drop(NodeClaim, patch.name)
            return
        meta = replace(
            meta,
            labels={**meta.labels, **(patch.labels or {})},
            annotations={
                k: v
                for k, v in {**meta.annotations, **(patch.annotations or {})}.items()
                if v is not None
            },
        )
        changed = {c.type: c for c in (*claim.conditions, *patch.conditions)}
        fields = (
            "provider_id",
            "node_name",
            "image_id",
            "capacity",
            "allocatable",
            "last_pod_event",
        )
        wanted = {f: getattr(patch, f) for f in fields if getattr(patch, f) is not None}
        self.put(replace(claim, meta=meta, conditions=tuple(changed.values()), **wanted))

    def _patch_node(self, patch: commands.PatchNode) -> None:
        node = self._current(Node, patch.name, patch.resource_version)
        meta = _patched(node.meta, patch.add_finalizer, patch.remove_finalizer)
        if node.meta.deleted is not None and not meta.finalizers:
            self.drop(Node, patch.name)
            return
        merged = {**meta.labels, **(patch.labels or {})}
        meta = replace(meta, labels={k: v for k, v in merged.items() if v is not None})
        marks = node.taints if patch.taints is None else patch.taints
        self.put(replace(node, meta=meta, taints=marks))

    def _nominate(self, pod: commands.PodRef, node: str) -> None:
        found = self.objects.get((Pod, f"{pod.namespace}/{pod.name}"))
        if isinstance(found, Pod) and found.meta.uid == pod.uid and not found.node_name:
            self.put(replace(found, nominated_node_name=node))

    def _patch_pool(self, patch: commands.PatchNodePool) -> None:
        pool = self._current(NodePool, patch.name, patch.resource_version)
        changed = {c.type: c for c in (*pool.conditions, *patch.conditions)}
        merged = {**pool.meta.annotations, **(patch.annotations or {})}
        meta = replace(pool.meta, annotations={k: v for k, v in merged.items() if v is not None})
        self.put(
            replace(
                pool,
                meta=meta,
                conditions=tuple(changed.values()),
                status_class_generation=pool.status_class_generation
                if patch.class_generation is None
                else patch.class_generation,
                status_nodes=pool.status_nodes if patch.nodes is None else patch.nodes,
                status_resources=pool.status_resources
                if patch.resources is None
                else patch.resources,
            )
        )

    def _current(self, kind: Any, name: str, version: str) -> Any:
        found = self.objects[kind, name]
        assert found.meta.resource_version == version, "Conflict"
        return found


def _patched(meta: Any, add: bool, remove: bool) -> Any:
    kept = tuple(f for f in meta.finalizers if not (remove and f == labels.TERMINATION_FINALIZER))
    more = (
        (labels.TERMINATION_FINALIZER,) if add and labels.TERMINATION_FINALIZER not in kept else ()
    )
    return replace(meta, finalizers=(*kept, *more))


def _meta(name: str, known: dict[str, str], now: datetime) -> Any:
    from daiku.model.meta import Meta  # noqa: PLC0415 - only this function builds one

    return Meta(name=name, uid=f"uid-{name}", labels=known, created=now)


def annotated(meta: Any, wanted: Any) -> Any:
    merged = {**meta.annotations, **wanted}
    return replace(meta, annotations={k: v for k, v in merged.items() if v is not None})
