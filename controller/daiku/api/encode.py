"""From commands to bodies: what is sent to the API server, as plain JSON values.

Changes are merge patches that carry the resource version the decision was made on, so that a decision on an old
state of an object is refused instead of overwriting a newer one. A merge patch replaces lists whole; what is already in
a list that is to be changed comes in as `Current`, read just before.
Not here: sending them (`daiku.runtime.carrier`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from daiku import commands
from daiku.api import wire
from daiku.model import labels, units
from daiku.model.condition import Condition
from daiku.model.meta import Meta, Owner
from daiku.model.nodeclaim import NodeClaim
from daiku.model.taints import Taint

API_VERSION: Final = "karpenter.sh/v1"
Json = dict[str, Any]


class CurrentSpec(wire.Wire):
    """The lists of a spec that a patch may have to keep parts of."""

    taints: list[Json] | None = None


class CurrentStatus(wire.Wire):
    """What of a status a patch may have to keep or take away parts of."""

    conditions: list[Json] | None = None
    resources: Json | None = None
    capacity: Json | None = None
    allocatable: Json | None = None


class CurrentMeta(wire.Wire):
    """The lists of metadata that a patch may have to keep parts of."""

    resource_version: str = ""
    generation: int = 0
    finalizers: list[str] | None = None
    owner_references: list[Json] | None = None


class Current(wire.Wire):
    """An object as it is now, cut down to its lists."""

    metadata: CurrentMeta
    spec: CurrentSpec = msgspec.field(default_factory=CurrentSpec)
    status: CurrentStatus = msgspec.field(default_factory=CurrentStatus)


_current_decoder = msgspec.json.Decoder(Current)


def current(content: bytes) -> Current:
    """Read the lists of an object."""
    return _current_decoder.decode(content)


@dataclass(frozen=True, slots=True)
class Patches:
    """What a command comes to; None where a part stays as it is."""

    metadata: Json | None
    """Merge patch of the object itself."""
    status: Json | None
    """Merge patch of its status, to be sent to the subresource."""


def node_claim(claim: NodeClaim) -> Json:
    """The body that creates a NodeClaim."""
    spec: Json = {
        "nodeClassRef": {
            "group": claim.node_class.group,
            "kind": claim.node_class.kind,
            "name": claim.node_class.name,
        },
        "requirements": claim.requirements.to_wire(),
        "resources": {"requests": quantities(claim.requests)},
        "expireAfter": _duration(claim.expire_after),
    }
    if claim.taints:
        spec["taints"] = [taint(t) for t in claim.taints]
    if claim.startup_taints:
        spec["startupTaints"] = [taint(t) for t in claim.startup_taints]
    if claim.termination_grace_period is not None:
        spec["terminationGracePeriod"] = _duration(claim.termination_grace_period)
    return {
        "apiVersion": API_VERSION,
        "kind": "NodeClaim",
        "metadata": metadata(claim.meta),
        "spec": spec,
    }


def metadata(meta: Meta) -> Json:
    """The metadata of an object that is to be created."""
    body: Json = {"name": meta.name, "labels": dict(meta.labels)}
    if meta.namespace:
        body["namespace"] = meta.namespace
    if meta.annotations:
        body["annotations"] = dict(meta.annotations)
    if meta.finalizers:
        body["finalizers"] = list(meta.finalizers)
    if meta.owners:
        body["ownerReferences"] = [owner(o) for o in meta.owners]
    return body


def node_claim_patches(command: commands.PatchNodeClaim, found: Current, now: datetime) -> Patches:
    """What a PatchNodeClaim comes to on the NodeClaim `found`."""
    status: Json = {}
    for field, value in (
        ("providerID", command.provider_id),
        ("nodeName", command.node_name),
        ("imageID", command.image_id),
        ("capacity", _replacing(found.status.capacity, command.capacity)),
        ("allocatable", _replacing(found.status.allocatable, command.allocatable)),
        (
            "lastPodEventTime",
            None if command.last_pod_event is None else time(command.last_pod_event),
        ),
    ):
        if value is not None:
            status[field] = value
    if command.conditions:
        status["conditions"] = merged_conditions(found, command.conditions, now)
    changes: Json = {}
    if command.labels is not None:
        changes["labels"] = dict(command.labels)
    if command.annotations is not None:
        changes["annotations"] = dict(command.annotations)
    changes |= _finalizers(command, found)
    return _patches(command.resource_version, changes, {}, status)


def node_pool_patches(command: commands.PatchNodePool, found: Current, now: datetime) -> Patches:
    """What a PatchNodePool comes to on the NodePool `found`."""
    status: Json = {}
    if command.nodes is not None:
        status["nodes"] = command.nodes
    if command.resources is not None:
        status["resources"] = _replacing(found.status.resources, command.resources)
    if command.class_generation is not None:
        status["nodeClassObservedGeneration"] = command.class_generation
    if command.conditions:
        status["conditions"] = merged_conditions(found, command.conditions, now)
    changes: Json = {}
    if command.annotations is not None:
        changes["annotations"] = dict(command.annotations)
    return _patches(command.resource_version, changes, {}, status)


def node_patches(command: commands.PatchNode, found: Current) -> Patches:
    """What a PatchNode comes to on the Node `found`."""
    changes: Json = {}
    if command.labels is not None:
        changes["labels"] = dict(command.labels)
    if command.annotations is not None:
        changes["annotations"] = dict(command.annotations)
    changes |= _finalizers(command, found)
    if command.owner is not None:
        changes["ownerReferences"] = _with_owner(found, command.owner)
    spec: Json = {}
    known = {
        (t.get("key"), t.get("effect"), t.get("value", "")): t for t in found.spec.taints or ()
    }
    if command.taints is not None:
        # timeAdded of a taint that stays is not ours to lose.
        spec["taints"] = [known.get((t.key, t.effect, t.value)) or taint(t) for t in command.taints]
    return _patches(command.resource_version, changes, spec, {})


def node_operations(command: commands.PatchNode) -> list[Json] | None:
    """A JSON patch that does the same to a newer version of the Node; None where only one version will do.

    The server applies it to the Node as it is then, so it never conflicts with a kubelet's own writes. It fails when a
    taint that is to go is not where it was: somebody else has changed the list.
    """
    node = command.before
    if node is None or command.remove_finalizer:
        return None
    made: list[Json] = []
    for place, changes in (("labels", command.labels), ("annotations", command.annotations)):
        known = getattr(node.meta, place)
        if changes and not known:
            made.append(_operation("add", f"metadata/{place}", {}))
        for key, value in (changes or {}).items():
            if value is not None:
                made.append(_operation("add", f"metadata/{place}/{_escaped(key)}", value))
            elif key in known:
                made.append(_operation("remove", f"metadata/{place}/{_escaped(key)}"))
    if command.add_finalizer and labels.TERMINATION_FINALIZER not in node.meta.finalizers:
        made += _appended("metadata/finalizers", labels.TERMINATION_FINALIZER, node.meta.finalizers)
    if command.owner is not None and all(o.uid != command.owner.meta.uid for o in node.meta.owners):
        made += _appended(
            "metadata/ownerReferences", owner(_owner_of(command.owner)), node.meta.owners
        )
    if command.taints is not None:
        made += _taint_operations(node.taints, command.taints)
    return made


def _taint_operations(before: Sequence[Taint], after: Sequence[Taint]) -> Iterator[Json]:
    kept = list(before)
    # From the end, so that the places of the others stay what they are.
    for index in range(len(before) - 1, -1, -1):
        each = before[index]
        if each not in after:
            for name, value in (("key", each.key), ("effect", each.effect)):
                yield _operation("test", f"spec/taints/{index}/{name}", value)
            yield _operation("remove", f"spec/taints/{index}")
            del kept[index]
    for each in after:
        if each not in before:
            yield from _appended("spec/taints", taint(each), kept or before)
            kept.append(each)


def _appended(path: str, value: object, known: Sequence[object]) -> Iterator[Json]:
    """Put `value` at the end of a list, which is made if there is none."""
    if not known:
        yield _operation("test", path, None)
        yield _operation("add", path, [])
    yield _operation("add", f"{path}/-", value)


_NOTHING: Final = object()


def _operation(kind: str, path: str, value: object = _NOTHING) -> Json:
    operation: Json = {"op": kind, "path": f"/{path}"}
    return operation if value is _NOTHING else operation | {"value": value}


def _escaped(key: str) -> str:
    """A key as a part of a path.

    Source: RFC 6901.
    """
    return key.replace("~", "~0").replace("/", "~1")


def merged_conditions(found: Current, wanted: Sequence[Condition], now: datetime) -> list[Json]:
    """The conditions of `found` with `wanted` in the place of those of the same type.

    A condition whose status stays keeps the time of its last transition.
    """
    merged = {str(c.get("type")): c for c in found.status.conditions or ()}
    for each in wanted:
        known = merged.get(each.type, {})
        stays = known.get("status") == each.status and "lastTransitionTime" in known
        merged[each.type] = {
            "type": each.type,
            "status": each.status,
            "reason": each.reason or each.type,
            "message": each.message[:32768],
            "lastTransitionTime": known["lastTransitionTime"]
            if stays
            else time(each.last_transition or now),
            "observedGeneration": each.observed_generation or found.metadata.generation,
        }
    return list(merged.values())


def deletion(uid: str, grace_seconds: int | None = None) -> Json:
    """The options that delete this very object and no later one of its name."""
    options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options


def eviction(command: commands.Evict) -> Json:
    """The body that asks for a pod's eviction."""
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": command.name, "namespace": command.namespace},
        "deleteOptions": {"preconditions": {"uid": command.uid}},
    }


def pod_patch(command: commands.PatchPod) -> Json:
    """The patch of a pod's annotations; of this very pod and no later one of its name."""
    return {"metadata": {"uid": command.uid, "annotations": dict(command.annotations)}}


def nomination(pod: commands.PodRef, node: str) -> Json:
    """The patch of a pod's status that tells kube-scheduler to try `node` first."""
    return {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}}


def deployment_patch(command: commands.PatchDeployment) -> tuple[str, Json]:
    """What is behind a Deployment's path, and the patch that is sent there.

    The number of replicas goes through the scale subresource, as an autoscaler's does.
    """
    precondition = {"resourceVersion": command.resource_version}
    if command.replicas is not None:
        return "/scale", {"metadata": precondition, "spec": {"replicas": command.replicas}}
    parts = {"labels": command.labels, "annotations": command.annotations}
    changes: Json = {name: dict(part) for name, part in parts.items() if part is not None}
    return "", {"metadata": precondition | changes}


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts in the API's notation."""
    return {name: units.format_quantity(name, amount) for name, amount in amounts.items()}


def taint(value: Taint) -> Json:
    """A taint."""
    body = {"key": value.key, "effect": value.effect}
    return body | {"value": value.value} if value.value else body


def owner(value: Owner) -> Json:
    """An owner reference."""
    body: Json = {
        "apiVersion": value.api_version,
        "kind": value.kind,
        "name": value.name,
        "uid": value.uid,
    }
    flags = {"controller": value.controller, "blockOwnerDeletion": value.block_owner_deletion}
    return body | {name: True for name, on in flags.items() if on}


def time(value: datetime) -> str:
    """A time as metav1.Time spells it: whole seconds, UTC."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _replacing(known: Json | None, wanted: Mapping[str, int] | None) -> Json | None:
    """A merge patch that leaves exactly `wanted`: what is known and not wanted is taken away by null."""
    if wanted is None:
        return None
    return {**dict.fromkeys(known or ()), **quantities(wanted)}


def _duration(value: timedelta | None) -> str:
    """A duration that the CRDs' pattern takes: whole seconds at most."""
    if value is None:
        return "Never"
    minutes, seconds = divmod(int(value.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"


def _finalizers(command: commands.PatchNodeClaim | commands.PatchNode, found: Current) -> Json:
    if not (command.add_finalizer or command.remove_finalizer):
        return {}
    kept = [f for f in found.metadata.finalizers or () if f != labels.TERMINATION_FINALIZER]
    return {"finalizers": [*kept, labels.TERMINATION_FINALIZER] if command.add_finalizer else kept}


def _with_owner(found: Current, claim: NodeClaim) -> list[Json]:
    others = [o for o in found.metadata.owner_references or () if o.get("uid") != claim.meta.uid]
    return [*others, owner(_owner_of(claim))]


def _owner_of(claim: NodeClaim) -> Owner:
    return Owner(
        api_version=API_VERSION,
        kind="NodeClaim",
        name=claim.meta.name,
        uid=claim.meta.uid,
        block_owner_deletion=True,
    )


def _patches(version: str, changes: Json, spec: Json, status: Json) -> Patches:
    precondition = {"resourceVersion": version}
    body = {"metadata": precondition | changes} | ({"spec": spec} if spec else {})
    return Patches(
        metadata=body if changes or spec else None,
        status={"metadata": precondition, "status": status} if status else None,
    )
