"""Objects for tests: valid by default, keywords override what a test is about."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from daiku import events
from daiku.cloud.provider import Instance
from daiku.events import Object
from daiku.model import labels, nodepool_hash, resources
from daiku.model.budget import Budget
from daiku.model.condition import Condition
from daiku.model.daemonset import DaemonSet
from daiku.model.instance_type import Catalogue, InstanceType, NodeClassRef, Offering
from daiku.model.meta import Meta, Owner
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool, NodeTemplate
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirement, Requirements
from daiku.model.taints import Taint, Toleration
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""A Monday at noon."""
REF = NodeClassRef(group="karpenter.kwok.sh", kind="KWOKNodeClass", name="default")
READY = Condition(type="Ready", status="True", last_transition=NOW)

_versions = itertools.count(1)


def require(key: str, operator: str, *values: str, min_values: int | None = None) -> Requirement:
    return Requirement.parse(key, operator, values, min_values)


def needs(*requirements: Requirement) -> Requirements:
    return Requirements.of(*requirements)


def meta(name: str, **fields: Any) -> Meta:
    version = str(next(_versions))
    defaults: dict[str, Any] = {
        "uid": f"uid-{name}",
        "resource_version": version,
        "created": NOW,
        "generation": 1,
    }
    return Meta(name=name, **{**defaults, **fields})


def pod(
    name: str = "web-1",
    *,
    cpu: str = "1",
    memory: str = "1Gi",
    extra: Mapping[str, str] | None = None,
    node: str = "",
    owner: str = "ReplicaSet",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    deleted: datetime | None = None,
    tolerations: Iterable[Toleration] = (),
    **fields: Any,
) -> Pod:
    """A pending, unschedulable pod; with `node`, one that runs there."""
    requests = resources.parse({"cpu": cpu, "memory": memory, **(extra or {})})
    asked = {r: amount for r, amount in requests.items() if amount}
    bound: dict[str, Any] = (
        {"phase": "Running", "ready": True, "scheduled": NOW} if node else {"unschedulable": True}
    )
    owners = (
        (Owner(api_version="v1", kind=owner, name="owner", uid="uid-owner", controller=True),)
        if owner
        else ()
    )
    return Pod(
        meta=meta(
            name,
            namespace="default",
            owners=owners,
            annotations=annotations or {},
            labels=labels or {},
            deleted=deleted,
        ),
        requests={**asked, "pods": 1},
        node_name=node,
        tolerations=tuple(tolerations),
        **{**bound, **fields},
    )


def pods(count: int, prefix: str = "web", **fields: Any) -> list[Pod]:
    return [pod(f"{prefix}-{i:05d}", **fields) for i in range(count)]


def offering(
    price: float, zone: str = "zone-a", capacity_type: str = "on-demand", *, available: bool = True
) -> Offering:
    return Offering(
        requirements=needs(
            require(labels.ZONE, "In", zone), require(labels.CAPACITY_TYPE, "In", capacity_type)
        ),
        zone=zone,
        capacity_type=capacity_type,
        price_usd_per_hour=price,
        available=available,
    )


def instance_type(
    name: str = "c-4x",
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: int = 110,
    price: float | None = None,
    arch: str = "amd64",
    zones: Sequence[str] = ("zone-a", "zone-b"),
    capacity_types: Sequence[str] = ("on-demand",),
    overhead: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
    extra_labels: Mapping[str, str] | None = None,
    offerings: Sequence[Offering] | None = None,
) -> InstanceType:
    """A type whose price is by default what its cpu and memory are worth; spot costs 40 % of on-demand."""
    capacity = resources.parse({"cpu": cpu, "memory": memory, "pods": str(pods), **(extra or {})})
    kept = resources.parse(overhead or {})
    full = (
        price
        if price is not None
        else capacity["cpu"] * 0.00004 + capacity["memory"] / 2**30 * 0.004
    )
    sold = (
        tuple(offerings)
        if offerings is not None
        else tuple(
            offering(full * (0.4 if kind == "spot" else 1.0), zone, kind)
            for zone in zones
            for kind in capacity_types
        )
    )
    return InstanceType(
        name=name,
        requirements=needs(
            require(labels.INSTANCE_TYPE, "In", name),
            require(labels.ARCH, "In", arch),
            require(labels.OS, "In", "linux"),
            require(labels.ZONE, "In", *dict.fromkeys(o.zone for o in sold))
            if sold
            else require(labels.ZONE, "DoesNotExist"),
            require(labels.CAPACITY_TYPE, "In", *dict.fromkeys(o.capacity_type for o in sold))
            if sold
            else require(labels.CAPACITY_TYPE, "DoesNotExist"),
            *(require(key, "In", value) for key, value in (extra_labels or {}).items()),
        ),
        offerings=sold,
        capacity=capacity,
        overhead=kept,
        allocatable={r: max(a - kept.get(r, 0), 0) for r, a in capacity.items()},
    )


def family(
    prefix: str = "c",
    gib_per_cpu: int = 2,
    sizes: Sequence[int] = (1, 2, 4, 8, 16, 32),
    **fields: Any,
) -> list[InstanceType]:
    """Types of one memory ratio in several sizes, priced in proportion."""
    return [
        instance_type(
            f"{prefix}-{size}x", cpu=str(size), memory=f"{size * gib_per_cpu}Gi", **fields
        )
        for size in sizes
    ]


def catalogue(*types: InstanceType, ref: NodeClassRef = REF, version: int = 1) -> Catalogue:
    chosen = types or tuple(family())
    return Catalogue(
        version=version, instance_types={ref: tuple(sorted(chosen, key=lambda t: t.name))}
    )


def node_class(ref: NodeClassRef = REF, *, ready: bool = True, **fields: Any) -> NodeClass:
    return NodeClass(meta=meta(ref.name), ref=ref, ready=ready, **fields)


def node_pool(
    name: str = "default",
    *,
    requirements: Requirements = NO_REQUIREMENTS,
    template_labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    startup_taints: Sequence[Taint] = (),
    limits: Mapping[str, str] | None = None,
    budgets: Sequence[Budget] = (Budget(nodes="100%"),),
    consolidate_after: timedelta | None = timedelta(seconds=30),
    ref: NodeClassRef = REF,
    termination_grace_period: timedelta | None = None,
    deleted: datetime | None = None,
    **fields: Any,
) -> NodePool:
    return NodePool(
        meta=meta(name, deleted=deleted),
        template=NodeTemplate(
            labels=template_labels or {},
            taints=tuple(taints),
            startup_taints=tuple(startup_taints),
            requirements=requirements,
            node_class=ref,
            expire_after=timedelta(hours=720),
            termination_grace_period=termination_grace_period,
        ),
        limits=resources.parse(limits) if limits is not None else None,
        budgets=tuple(budgets),
        consolidate_after=consolidate_after,
        **fields,
    )


def node_claim(
    name: str = "default-aaaaa",
    *,
    pool: str = "default",
    launched: bool = True,
    registered: bool = True,
    initialized: bool = True,
    cpu: str = "4",
    memory: str = "8Gi",
    instance_type: str = "c-4x",
    zone: str = "zone-a",
    capacity_type: str = "on-demand",
    deleted: datetime | None = None,
    since: datetime = NOW,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> NodeClaim:
    """A NodeClaim whose node is up and running; the flags turn the clock back."""
    room = resources.parse({"cpu": cpu, "memory": memory, "pods": "110"})
    identity = {labels.NODEPOOL: pool, f"{REF.group}/{REF.kind.lower()}": REF.name}
    known = {
        labels.INSTANCE_TYPE: instance_type,
        labels.ZONE: zone,
        labels.CAPACITY_TYPE: capacity_type,
    }
    stages = {"Launched": launched, "Registered": registered, "Initialized": initialized}
    consistent = {"ConsistentStateFound": True} if initialized else {}
    status: dict[str, Any] = {}
    if launched:
        status = {"provider_id": f"kwok://{name}", "capacity": room, "allocatable": room}
    return NodeClaim(
        meta=meta(
            name,
            labels={**identity, **(known if launched else {})},
            annotations={
                labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION,
                **(annotations or {}),
            },
            finalizers=(labels.TERMINATION_FINALIZER,),
            deleted=deleted,
            created=since,
        ),
        requirements=fields.pop("requirements", None)
        or needs(
            require(labels.NODEPOOL, "In", pool),
            require(labels.INSTANCE_TYPE, "In", instance_type),
            require(labels.CAPACITY_TYPE, "In", capacity_type),
        ),
        requests=fields.pop("requests", {"cpu": 1000, "pods": 1}),
        node_class=REF,
        node_name=f"node-{name}" if registered else "",
        conditions=fields.pop(
            "conditions",
            tuple(
                Condition(
                    type=kind,
                    status="True" if done else "Unknown",
                    reason=kind if done else "AwaitingReconciliation",
                    last_transition=since,
                    observed_generation=1,
                )
                for kind, done in {**stages, **consistent, "Ready": initialized}.items()
            ),
        ),
        **{**status, **fields},
    )


def node(
    name: str = "",
    *,
    claim: NodeClaim | None = None,
    registered: bool = True,
    initialized: bool = True,
    ready: bool = True,
    cpu: str = "4",
    memory: str = "8Gi",
    labels_of: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    deleted: datetime | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Node:
    """A node that is ready; with `claim`, the one that came of it."""
    room = (
        claim.capacity
        if claim is not None
        else resources.parse({"cpu": cpu, "memory": memory, "pods": "110"})
    )
    stages = (
        {labels.REGISTERED: registered, labels.INITIALIZED: initialized}
        if claim is not None
        else {}
    )
    known = dict(claim.meta.labels) if claim is not None else {}
    name = name or (f"node-{claim.meta.name}" if claim is not None else "other")
    return Node(
        meta=meta(
            name,
            labels={
                labels.HOSTNAME: name,
                **known,
                **{k: "true" for k, on in stages.items() if on},
                **(labels_of or {}),
            },
            finalizers=(labels.TERMINATION_FINALIZER,) if claim is not None and registered else (),
            annotations=annotations or {},
            deleted=deleted,
        ),
        provider_id=fields.pop("provider_id", claim.provider_id if claim is not None else ""),
        taints=tuple(taints),
        capacity=fields.pop("capacity", room),
        allocatable=fields.pop("allocatable", room),
        conditions=(
            Condition(type="Ready", status="True" if ready else "False", last_transition=NOW),
        ),
        **fields,
    )


def instance(claim: NodeClaim) -> Instance:
    """The instance of a NodeClaim, as the cloud lists it."""
    return Instance(
        provider_id=claim.provider_id,
        node_claim=claim.meta.name,
        nodepool=claim.nodepool,
        launched=claim.meta.created or NOW,
        terminating=False,
    )


def daemon_set(name: str = "agent", **fields: Any) -> DaemonSet:
    return DaemonSet(
        meta=meta(name, namespace="kube-system"), template=pod(name, owner="DaemonSet", **fields)
    )


def pdb(
    name: str = "web", *, allowed: int = 0, match: Mapping[str, str] | None = None
) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        meta=meta(name, namespace="default"),
        selector={"matchLabels": dict(match)} if match is not None else None,
        disruptions_allowed=allowed,
    )


def cluster(
    *objects: Object, settings: Settings | None = None, catalogue_of: Catalogue | None = None
) -> Cluster:
    """A cluster that has just listed `objects`."""
    made = Cluster(settings or Settings())
    for each in objects:
        made.apply(events.Seen(each))
    for kind in KINDS:
        made.apply(
            events.Listed(kind, frozenset(o.meta.key for o in objects if isinstance(o, kind)))
        )
    made.apply(events.CatalogueRefreshed(catalogue_of or catalogue()))
    return made
