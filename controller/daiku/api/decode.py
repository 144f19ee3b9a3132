"""From bytes of the API server to values of `daiku.model`, once, at the door.

A kind is decoded in two steps: msgspec reads the fields of `wire`, a function here makes the model value. Pods of
one owner spell their resources alike, so each spelling is read once and the value shared.
Anything that cannot be read is `Unreadable`, one object at a time: one broken object never costs the others.
Not here: what a pod asks of its place (`constraints`), Karpenter's kinds (`decode_karpenter`), which kinds there
are (`kinds`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, cast

import msgspec

from daiku.api import constraints, wire
from daiku.model import resources
from daiku.model.condition import Condition, Status
from daiku.model.daemonset import DaemonSet
from daiku.model.meta import Meta, Owner
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.pod_owner import Job, PodOwner, ReplicaSet, StatefulSet
from daiku.model.taints import Taint

T = TypeVar("T")
W = TypeVar("W", bound=PodOwner)

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
"""Labels or annotations of an object that has none; shared, because thousands have none."""
POD_ANNOTATIONS: Final = (
    "karpenter.sh/",
    "daiku.dev/",
    "kubernetes.io/config.",
    "controller.kubernetes.io/pod-deletion-cost",
)
"""Beginnings of the annotations of pods that are read; the rest would only cost memory."""

_list_decoder = msgspec.json.Decoder(wire.RawList)
_line_decoder = msgspec.json.Decoder(wire.WatchLine)
_status_decoder = msgspec.json.Decoder(wire.Status)
_meta_decoder = msgspec.json.Decoder(wire.OnlyMeta)
_owners_decoder = msgspec.json.Decoder(list[wire.OwnerReference] | None)


class Unreadable(Exception):
    """An object is not what its kind promises; it is left out and the message says why."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: Sequence[msgspec.Raw]
    resource_version: str
    """Version of the whole list; the same on every page."""
    next_page: str
    """Token that asks for the next page; empty on the last."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


def page(content: bytes) -> Page:
    """Read one page of a list.

    Raises:
        Unreadable: It is no list.
    """
    try:
        found = _list_decoder.decode(content)
    except msgspec.DecodeError as error:
        raise Unreadable(f"a list of the API server cannot be read: {error}") from error
    return Page(found.items or (), found.metadata.resource_version, found.metadata.continue_ or "")


def line(content: bytes) -> Line:
    """Read one line of a watch.

    Raises:
        Unreadable: It is no watch event.
    """
    try:
        found = _line_decoder.decode(content)
    except msgspec.DecodeError as error:
        raise Unreadable(f"a line of a watch cannot be read: {error}") from error
    return Line(cast("Any", found.type), found.object)


def status(content: bytes) -> wire.Status:
    """Read why a request was refused; empty when the answer says nothing that can be read."""
    try:
        return _status_decoder.decode(content)
    except msgspec.DecodeError:
        return wire.Status()


def metadata(content: bytes) -> wire.ObjectMeta:
    """Read the metadata of any object.

    Raises:
        Unreadable: It has none.
    """
    try:
        return _meta_decoder.decode(content).metadata
    except msgspec.DecodeError as error:
        raise Unreadable(f"an object's metadata cannot be read: {error}") from error


def pod(content: bytes) -> Pod:
    """Read a pod."""
    found = _PODS.decode(content)
    return _pod(found.metadata, found.spec, found.status)


def node(content: bytes) -> Node:
    """Read a node."""
    found = _NODES.decode(content)
    return Node(
        meta=meta(found.metadata),
        provider_id=found.spec.provider_id or "",
        taints=taints(found.spec.taints),
        capacity=resources.parse(found.status.capacity),
        allocatable=resources.parse(found.status.allocatable),
        conditions=conditions(found.status.conditions),
        unschedulable=bool(found.spec.unschedulable),
    )


def daemon_set(content: bytes) -> DaemonSet:
    """Read a DaemonSet."""
    found = _DAEMON_SETS.decode(content)
    template = found.spec.template
    template.metadata.namespace = found.metadata.namespace
    return DaemonSet(
        meta=meta(found.metadata), template=_pod(template.metadata, template.spec, wire.PodStatus())
    )


def replica_set(content: bytes) -> ReplicaSet:
    """Read a ReplicaSet."""
    return _workload(content, ReplicaSet)


def stateful_set(content: bytes) -> StatefulSet:
    """Read a StatefulSet."""
    return _workload(content, StatefulSet)


def job(content: bytes) -> Job:
    """Read a Job."""
    return _workload(content, Job)


def _workload(content: bytes, kind: type[W]) -> W:
    found = _WORKLOADS.decode(content)
    known, wanted = meta(found.metadata, NOTHING), _wanted(found, kind.__name__)
    # There are ten times as many ReplicaSets of old revisions as of present ones.
    template = _template(found, known, kind.__name__) if wanted else None
    return kind(meta=replace(known, labels=NOTHING), wanted=wanted, template=template)


def _template(found: wire.Workload, known: Meta, kind: str) -> Pod:
    template = found.spec.template
    template.metadata.namespace = found.metadata.namespace
    made = _pod(template.metadata, template.spec, wire.PodStatus())
    # Its pods name it as their owner, which a template cannot.
    owner = Owner(api_version="", kind=kind, name=known.name, uid=known.uid, controller=True)
    return replace(made, meta=replace(made.meta, owners=(owner,)))


def _wanted(found: wire.Workload, kind: str) -> int:
    """How many active pods it keeps, as far as they start together and without being held back."""
    spec, state = found.spec, found.status
    if (
        found.metadata.deletion_timestamp is not None
        or spec.suspend
        or spec.template.spec.scheduling_gates
        or any(c.type == "ReplicaFailure" and c.status == "True" for c in state.conditions or ())
    ):
        return 0
    if kind == "Job":
        parallel = 1 if spec.parallelism is None else spec.parallelism
        left = parallel if spec.completions is None else spec.completions - (state.succeeded or 0)
        is_over = any(
            c.type in {"Complete", "Failed", "FailureTarget"} and c.status == "True"
            for c in state.conditions or ()
        )
        return 0 if is_over else max(min(parallel, left), 0)
    # The claims of a StatefulSet's pods are made with them, so where these may run is not known before.
    if kind == "StatefulSet" and (
        spec.pod_management_policy != "Parallel" or spec.volume_claim_templates
    ):
        return 0
    return max(1 if spec.replicas is None else spec.replicas, 0)


def pod_disruption_budget(content: bytes) -> PodDisruptionBudget:
    """Read a PodDisruptionBudget."""
    found = _BUDGETS.decode(content)
    return PodDisruptionBudget(
        meta=meta(found.metadata),
        selector=found.spec.selector,
        disruptions_allowed=found.status.disruptions_allowed or 0,
        lets_unready_go=found.spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
        is_closed=found.spec.max_unavailable in {0, "0%"} or found.spec.min_available == "100%",
    )


def namespace(content: bytes) -> Namespace:
    """Read a namespace."""
    return Namespace(meta=meta(_meta_decoder.decode(content).metadata))


def meta(found: wire.ObjectMeta, annotations: Mapping[str, str] | None = None) -> Meta:
    """The metadata of an object; `annotations` are those to keep, by default all."""
    kept = found.annotations if annotations is None else annotations
    return Meta(
        name=found.name,
        namespace=found.namespace or "",
        uid=found.uid or "",
        resource_version=found.resource_version or "",
        generation=found.generation or 0,
        labels=found.labels or NOTHING,
        annotations=kept or NOTHING,
        finalizers=tuple(found.finalizers or ()),
        owners=owners(bytes(found.owner_references)),
        created=found.creation_timestamp,
        deleted=found.deletion_timestamp,
    )


@lru_cache(maxsize=constraints.DISTINCT_SPECS_MAX)
def owners(raw: bytes) -> tuple[Owner, ...]:
    """The owners of an object, in their order."""
    return tuple(
        Owner(
            api_version=o.api_version,
            kind=o.kind,
            name=o.name,
            uid=o.uid,
            controller=bool(o.controller),
            block_owner_deletion=bool(o.block_owner_deletion),
        )
        for o in (_owners_decoder.decode(raw) if raw else None) or ()
    )


def conditions(found: Sequence[wire.Condition] | None) -> tuple[Condition, ...]:
    """The conditions of an object; a status that is not True or False is Unknown."""
    return tuple(
        Condition(
            type=c.type,
            status=cast("Status", c.status if c.status in {"True", "False"} else "Unknown"),
            reason=c.reason or "",
            message=c.message or "",
            last_transition=c.last_transition_time,
            observed_generation=c.observed_generation or 0,
        )
        for c in found or ()
    )


def taints(found: Sequence[wire.Taint] | None) -> tuple[Taint, ...]:
    """The taints of a node or of a template, in their order."""
    return tuple(Taint(t.key, t.effect, t.value or "") for t in found or ())


def guarded(decoder: Callable[[bytes], T], content: bytes) -> T:
    """Decode one object.

    Raises:
        Unreadable: It is not what its kind promises; the message names it.
    """
    try:
        return decoder(content)
    except (msgspec.DecodeError, ValueError) as error:
        raise Unreadable(f"{_name(content)} cannot be read: {error}") from error


def _name(content: bytes) -> str:
    try:
        found = metadata(content)
    except Unreadable:
        return f"an object of {len(content)} bytes"
    return f"{found.namespace}/{found.name}" if found.namespace else repr(found.name)


def _pod(metadata: wire.ObjectMeta, spec: wire.PodSpec, state: wire.PodStatus) -> Pod:
    known = {c.type: c for c in state.conditions or ()}
    scheduled, ready = known.get("PodScheduled"), known.get("Ready")
    is_ready = ready is not None and ready.status == "True"
    names, namespace = metadata.labels or NOTHING, metadata.namespace or ""
    affinity = constraints.affinity(bytes(spec.affinity), namespace, names)
    spread = constraints.spread(bytes(spec.topology_spread_constraints), names)
    host_ports = constraints.host_ports(spec)
    claims = constraints.volume_claims(spec, metadata.name)
    kept = NOTHING
    if metadata.annotations:
        kept = {k: v for k, v in metadata.annotations.items() if k.startswith(POD_ANNOTATIONS)}
    return Pod(
        meta=meta(metadata, kept),
        requests=_requests(
            tuple([bytes(c.resources) for c in spec.containers or ()]),
            tuple([(c.restart_policy or "", bytes(c.resources)) for c in spec.init_containers])
            if spec.init_containers
            else (),
            bytes(spec.overhead),
            bytes(spec.resources),
        ),
        node_name=spec.node_name or "",
        nominated_node_name=state.nominated_node_name or "",
        phase=state.phase or "Pending",
        unschedulable=scheduled is not None
        and scheduled.status == "False"
        and scheduled.reason == "Unschedulable",
        gated=bool(spec.scheduling_gates),
        ready=is_ready,
        ready_since=ready.last_transition_time if ready is not None and is_ready else None,
        scheduled=scheduled.last_transition_time
        if scheduled is not None and scheduled.status == "True"
        else None,
        node_selector=spec.node_selector or NOTHING,
        required_node_affinity=affinity.required_nodes,
        tolerations=constraints.tolerations(bytes(spec.tolerations)),
        preferred_node_affinity=affinity.preferred_nodes,
        spread=spread,
        pod_affinity=affinity.required_pods,
        pod_anti_affinity=affinity.required_anti,
        preferred_pod_affinity=affinity.preferred_pods,
        preferred_pod_anti_affinity=affinity.preferred_anti,
        host_ports=host_ports,
        volume_claims=claims,
        priority=spec.priority or 0,
        priority_class=spec.priority_class_name or "",
        scheduler_name=spec.scheduler_name or "default-scheduler",
        termination_grace_seconds=30
        if spec.termination_grace_period_seconds is None
        else spec.termination_grace_period_seconds,
        resource_claims=tuple(sorted([c.name for c in spec.resource_claims]))
        if spec.resource_claims
        else (),
    )


@lru_cache(maxsize=constraints.DISTINCT_SPECS_MAX)
def _requests(
    containers: tuple[bytes, ...],
    init_containers: tuple[tuple[str, bytes], ...],
    overhead: bytes,
    whole_pod: bytes,
) -> Mapping[str, int]:
    return resources.pod_requests(
        {
            "containers": [{"resources": _plain(raw)} for raw in containers],
            "initContainers": [
                {"resources": _plain(raw), "restartPolicy": policy}
                for policy, raw in init_containers
            ],
            "overhead": _plain(overhead),
            "resources": _plain(whole_pod),
        }
    )


def _plain(raw: bytes) -> Any:
    return msgspec.json.decode(raw) if raw else None


_PODS = msgspec.json.Decoder(wire.Pod)
_NODES = msgspec.json.Decoder(wire.Node)
_DAEMON_SETS = msgspec.json.Decoder(wire.DaemonSet)
_WORKLOADS = msgspec.json.Decoder(wire.Workload)
_BUDGETS = msgspec.json.Decoder(wire.PodDisruptionBudget)
