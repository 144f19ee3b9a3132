"""Workloads that have no pods yet, turned into the pods that their controllers would make.

A Deployment, StatefulSet, ReplicaSet, ReplicationController, Job or Rollout of Argo is counted against the pods of the
input that it owns; what is missing is made from its template, named and labelled as its controller would. Names follow
from the workload's name and the pod's number alone, so that two plans of one workload speak of the same pods. A
DaemonSet needs nothing here: the solver itself counts its pods on every node. A CronJob makes no pods now.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec

from daiku.api import decode, wire
from daiku.api.manifests import Document
from daiku.model import workload
from daiku.model.pod import Pod

GROUPS: Final = frozenset({"apps", "extensions", "batch"})
"""Any version of these: what is read here has been the same in all of them."""
_GROUPS_OF: Final = {
    **dict.fromkeys(("Deployment", "StatefulSet", "ReplicaSet", "Job"), GROUPS),
    "ReplicationController": frozenset({""}),
    "Rollout": frozenset({"argoproj.io"}),
}
KINDS: Final = frozenset(_GROUPS_OF)
_ABOVE: Final = {"Deployment": workload.HASH_LABEL, "Rollout": workload.ROLLOUT_HASH_LABEL}
"""Kinds whose pods belong to a ReplicaSet, and the label with its hash."""
PODS_MAX: Final = 200_000
"""Pods that all workloads of a plan may make together."""

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes makes names of these, so that none becomes a word."""

Key = tuple[str, str, str]
"""Kind, namespace, name."""


class _TemplateMeta(wire.Wire):
    name: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Template(wire.Wire):
    metadata: _TemplateMeta | None = None
    spec: msgspec.Raw = wire.ABSENT


class _ClaimTemplate(wire.Wire):
    metadata: _TemplateMeta = msgspec.field(default_factory=_TemplateMeta)
    spec: dict[str, Any] | None = None


class _Ordinals(wire.Wire):
    start: int | None = None


class _Reference(wire.Wire):
    kind: str = ""
    name: str = ""


class _Spec(wire.Wire):
    workload_ref: _Reference | None = None
    replicas: int | None = None
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    ordinals: _Ordinals | None = None
    template: _Template = msgspec.field(default_factory=_Template)
    volume_claim_templates: list[_ClaimTemplate] | None = None


class _Status(wire.Wire):
    succeeded: int | None = None
    completion_time: str | None = None
    conditions: list[wire.Condition] | None = None


class _Workload(wire.Wire):
    metadata: wire.ObjectMeta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


@dataclass(slots=True)
class Owned:
    """The pods of the input, by what owns them."""

    counts: dict[Key, int] = field(default_factory=dict[Key, int])
    """Owner -> how many of its pods still run or wait to."""
    names: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    """Namespace and name of every pod."""

    def add(self, pod: Pod, deployment_of: Mapping[Key, Key]) -> None:
        """Count a pod for whatever owns it.

        Args:
            pod: The pod.
            deployment_of: ReplicaSet -> its Deployment, as far as the input has them.
        """
        meta = pod.meta
        self.names[meta.namespace, meta.name] = True
        for owner in meta.owners if pod.is_active else ():
            key = (owner.kind, meta.namespace, owner.name)
            above = deployment_of.get(key)
            if above is None:
                top = workload.of(meta)
                above = (top.kind, top.namespace, top.name)
            for each in dict.fromkeys((key, above)):
                self.counts[each] = self.counts.get(each, 0) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What a workload adds to the input."""

    documents: tuple[Document, ...] = ()
    """Its pods, and the claims for volumes that come with them."""
    note: str = ""
    """What a person may be surprised by; empty when nothing is."""


def is_workload(document: Document) -> bool:
    """Whether pods are made of it here."""
    return document.group in _GROUPS_OF.get(document.kind, ())


def deployments(documents: Sequence[Document]) -> dict[Key, Key]:
    """ReplicaSet -> its Deployment or Rollout, for those of which the input has both."""
    known = {each.key for each in documents if each.kind in _ABOVE}
    found: dict[Key, Key] = {}
    for each in documents:
        if each.kind != "ReplicaSet":
            continue
        try:
            owners = decode.owners(bytes(_metas.decode(each.content).metadata.owner_references))
        except (msgspec.DecodeError, ValueError):
            continue
        for owner in owners:
            key = (owner.kind, each.namespace, owner.name)
            if key in known:
                found[each.key] = key
    return found


def expand(document: Document, owned: Owned, room: int) -> Expansion:
    """The pods that are missing of a workload.

    Args:
        document: A workload of one of `KINDS`.
        owned: The pods that are there.
        room: How many pods may still be made.

    Raises:
        ValueError: It cannot be read, or asks for more pods than there is room for; the message says which.
    """
    try:
        return _expand(document, _workloads.decode(document.content), owned, room)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"cannot be read: {error}") from error


def _expand(document: Document, found: _Workload, owned: Owned, room: int) -> Expansion:
    kind, spec = document.kind, found.spec
    wanted, note = _wanted(kind, found)
    if wanted < 0:
        raise ValueError(f"asks for {wanted} pods; write 0 or more")
    there = owned.counts.get(document.key, 0)
    missing = max(0, wanted - there)
    if missing > room:
        raise ValueError(
            f"asks for {wanted} pods; {PODS_MAX} are planned at once in all. Lower its replicas"
        )
    if missing and spec.workload_ref is not None:
        ref = spec.workload_ref
        missing = 0
        note = f"its pods are made like those of {ref.kind} {ref.name}, which is planned with its own replicas"
    if missing and not bytes(spec.template.spec):
        raise ValueError("has no spec.template.spec, so its pods cannot be made")
    if not wanted and not note:
        note = "asks for 0 pods"
    elif missing and there:
        note = f"{there} of its {wanted} pods are in the input, {missing} are added"
    made = tuple(_documents(document, spec, missing, owned.names))
    return Expansion(
        documents=made, note=f"{kind} {document.namespace}/{document.name}: {note}" if note else ""
    )


def _wanted(kind: str, found: _Workload) -> tuple[int, str]:
    """How many pods there should be, and what is special about that."""
    spec, status = found.spec, found.status
    if kind != "Job":
        return 1 if spec.replicas is None else spec.replicas, ""
    ended = any(
        c.type in {"Complete", "Failed"} and c.status == "True" for c in status.conditions or ()
    )
    if ended or status.completion_time:
        return 0, "has ended"
    if spec.suspend:
        return 0, "is suspended and makes no pods"
    parallel = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return parallel, ""
    return min(parallel, max(0, spec.completions - (status.succeeded or 0))), ""


def _documents(
    document: Document, spec: _Spec, missing: int, taken: Container[tuple[str, str]]
) -> Iterator[Document]:
    template = spec.template.metadata or _TemplateMeta()
    labels = dict(template.labels or {})
    owner, owner_kind = document.name, document.kind
    if document.kind in _ABOVE:
        suffix = _suffix(f"{document.kind}/{document.namespace}/{document.name}", 10)
        owner, owner_kind = f"{document.name}-{suffix}", "ReplicaSet"
        labels[_ABOVE[document.kind]] = suffix
    reference = {
        "apiVersion": {"Job": "batch/v1", "ReplicationController": "v1"}.get(owner_kind, "apps/v1"),
        "kind": owner_kind,
        "name": owner,
        "controller": True,
    }
    for name, own_labels in _names(document, owner, spec, missing, taken):
        body = {
            "metadata": {
                "name": name,
                "namespace": document.namespace,
                "labels": {**labels, **own_labels},
                "annotations": template.annotations,
                "ownerReferences": [reference],
            },
            "spec": _with_volumes(spec, name),
        }
        yield msgspec.structs.replace(
            document,
            api_version="v1",
            kind="Pod",
            name=name,
            live=False,
            content=msgspec.json.encode(body),
        )
        for claim in spec.volume_claim_templates or ():
            yield _claim(document, claim, name)


def _names(
    document: Document, owner: str, spec: _Spec, missing: int, taken: Container[tuple[str, str]]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Names of the missing pods, and the labels that their controller adds to each."""
    used: dict[str, bool] = {}
    number = 0
    start = (spec.ordinals.start or 0) if spec.ordinals is not None else 0
    while len(used) < missing:
        own: Mapping[str, str] = {}
        if document.kind == "StatefulSet":
            name = f"{owner}-{start + number}"
            own = {
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(start + number),
            }
        elif document.kind == "Job":
            own = {"batch.kubernetes.io/job-name": owner, "job-name": owner}
            index = ""
            if spec.completion_mode == "Indexed":
                index = f"-{number}"
                own["batch.kubernetes.io/job-completion-index"] = str(number)
            name = f"{owner}{index}-{_suffix(f'{owner}/{number}', 5)}"
        else:
            name = f"{owner}-{_suffix(f'{owner}/{number}', 5)}"
        number += 1
        if name not in used and (document.namespace, name) not in taken:
            used[name] = True
            yield name, own


def _with_volumes(spec: _Spec, pod: str) -> Any:
    """The template's spec; for a StatefulSet with the volumes that its claim templates give `pod`."""
    if not spec.volume_claim_templates:
        return spec.template.spec
    whole: dict[str, Any] = _plain.decode(spec.template.spec)
    volumes = msgspec.convert(whole.get("volumes") or [], list[dict[str, Any]])
    names = [claim.metadata.name or "" for claim in spec.volume_claim_templates]
    own = [volume for volume in volumes if volume.get("name") not in names]
    claimed = [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}} for name in names
    ]
    return {**whole, "volumes": [*own, *claimed]}


def _claim(document: Document, claim: _ClaimTemplate, pod: str) -> Document:
    name = f"{claim.metadata.name or ''}-{pod}"
    body = {
        "metadata": {
            "name": name,
            "namespace": document.namespace,
            "labels": claim.metadata.labels,
            "annotations": claim.metadata.annotations,
        },
        "spec": claim.spec or {},
    }
    return msgspec.structs.replace(
        document,
        api_version="v1",
        kind="PersistentVolumeClaim",
        name=name,
        live=False,
        content=msgspec.json.encode(body),
    )


def _suffix(seed: str, length: int) -> str:
    number = int.from_bytes(sha256(seed.encode()).digest()[:8], "big")
    letters = ""
    for _ in range(length):
        number, letter = divmod(number, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters


_workloads = msgspec.json.Decoder(_Workload)
_metas = msgspec.json.Decoder(wire.OnlyMeta)
_plain = msgspec.json.Decoder(dict[str, Any])
