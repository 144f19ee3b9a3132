"""What a set of manifests says, as values that the core can decide on without a cluster.

Objects are decoded by the same code as those of the API server. What a cluster would have added to plain manifests is
added here: pods of workloads, the readiness of node classes, classes that are not there, and a NodePool where there is
none and one is asked for. Each such guess is a note, so that nobody takes it for a fact.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from daiku.api import admission, catalogue, expand, kinds, wire
from daiku.api.catalogue import Offered
from daiku.api.kinds import Kind
from daiku.api.manifests import Document
from daiku.events import Object
from daiku.model import labels, units
from daiku.model.daemonset import DaemonSet
from daiku.model.instance_type import InstanceType, NodeClassRef
from daiku.model.meta import Meta
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool, NodeTemplate
from daiku.model.pod import Pod
from daiku.model.requirements import Requirement, Requirements
from daiku.model.volume import PersistentVolumeClaim, StorageClass

DEFAULT_NODE_CLASS: Final = NodeClassRef(
    group="karpenter.kwok.sh", kind="KWOKNodeClass", name="default"
)
SETTINGS: Final = "Settings"
"""Kind of a document that says how the controller decides, in its environment's names."""
WORKLOADS: Final = expand.KINDS | {"CronJob", "DaemonSet", "Pod"}
OLD_KINDS: Final = {
    "AWSNodeTemplate": "karpenter.k8s.aws",
    "Machine": "karpenter.sh",
    "Provisioner": "karpenter.sh",
}
"""Kinds of Karpenter before v1beta1, and their groups."""
_BROKEN: Final = (
    msgspec.DecodeError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    RecursionError,
    OverflowError,
)
"""What decoding an object can end in that no API server has checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything that a plan is made from, except the settings."""

    objects: tuple[Object, ...]
    """One of each kind and key."""
    offered: Mapping[NodeClassRef, tuple[InstanceType, ...]]
    """Instance types that the input itself holds, per node class."""
    environment: Mapping[str, str]
    """How the controller decides, in its environment's names; what is left out is the default."""
    settings_of: str
    """Who says so; empty: nobody, so everything is the default."""
    notes: tuple[str, ...]
    """What was guessed or left out."""

    @property
    def node_pools(self) -> tuple[NodePool, ...]:
        """Every NodePool that is there."""
        return tuple(each for each in self.objects if isinstance(each, NodePool))

    @property
    def node_classes(self) -> tuple[NodeClassRef, ...]:
        """Every node class that is there, in order."""
        refs = {each.ref for each in self.objects if isinstance(each, NodeClass)}
        return tuple(sorted(refs, key=lambda r: (r.group, r.kind, r.name)))


@dataclass(slots=True)
class _Work:
    documents: Sequence[Document]
    problems: list[str]
    objects: list[Object] = field(default_factory=list[Object])
    offered: Offered = field(default_factory=Offered)
    notes: list[str] = field(default_factory=list[str])
    around: admission.Surroundings = field(default_factory=admission.Surroundings)
    environment: dict[str, str] = field(default_factory=dict[str, str])
    settings_of: list[str] = field(default_factory=list[str])
    gated: dict[str, int] = field(default_factory=dict[str, int])
    """What pods that wait for their scheduling gates are of -> how many of them."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Kind -> how many objects of it are not used."""


def overlay(first: Sequence[Document], second: Sequence[Document]) -> list[Document]:
    """The documents of a second configuration, completed by those of the first that it says nothing about.

    Its NodePools stand in for all of the first's, its workloads for all that are not from a live cluster; a second
    cluster for the first one. Anything else replaces what has its kind and name.
    """
    pools = any(each.kind == "NodePool" for each in second)
    authored = any(each.kind in WORKLOADS and not each.live for each in second)
    live = any(each.kind in {"Node", "Pod"} and each.live for each in second)
    kept = [
        each
        for each in first
        if not (pools and each.kind == "NodePool")
        and not (authored and each.kind in WORKLOADS and not each.live)
        and not (live and each.live)
    ]
    return [*kept, *second]


def build(
    documents: Sequence[Document], problems: list[str], *, built_in: bool = False
) -> Configuration:
    """What `documents` say; the last one of a kind and name counts.

    Args:
        documents: Objects of the input.
        problems: Takes what cannot be used.
        built_in: Whether a NodePool is made up when there is none.
    """
    last = {_identity(each): each for each in documents}
    work = _Work(list(last.values()), problems)
    if len(last) < len(documents):
        work.notes.append(_repeated(documents))
    work.around = admission.surroundings(work.documents)
    workloads = [each for each in work.documents if not _take(each, work)]
    _expand(workloads, work)
    _complete(work, built_in=built_in)
    _complete_volumes(work)
    work.notes += work.around.notes
    if work.gated:
        count = units.counted(sum(work.gated.values()), "pod")
        work.notes.append(
            f"held back by scheduling gates and not planned: {count} ({units.listed(work.gated)})"
        )
    daemons = [_called(d) for d in work.documents if not d.live and _kind(d) is kinds.DAEMON_SETS]
    if daemons:
        work.notes.append(
            f"counted on each planned node that takes their pods, and making none: {units.listed(daemons)}"
        )
    if work.left_out:
        listed = ", ".join(f"{kind} {count}" for kind, count in sorted(work.left_out.items()))
        work.notes.append(f"not used here: {listed}")
    return Configuration(
        objects=tuple(work.objects),
        offered=work.offered,
        environment=work.environment,
        settings_of=" and ".join(work.settings_of),
        notes=tuple(dict.fromkeys(work.notes)),
    )


def _identity(document: Document) -> tuple[str, ...]:
    """What two documents of one object have in common; a version that was moved to another group is the same."""
    is_read = expand.is_workload(document) or _kind(document) is not None
    return (*document.key, "" if is_read else document.group)


def _repeated(documents: Sequence[Document]) -> str:
    counts = Counter(_identity(each) for each in documents)
    names = [_called(each) for each in documents if counts[_identity(each)] > 1]
    # What is planned is missed first.
    ordered = sorted(dict.fromkeys(names), key=lambda name: name.split()[0] not in WORKLOADS)
    extra = units.counted(len(documents) - len(counts), "object")
    return f"given more than once, of which the last one counts: {extra} ({units.listed(ordered)})"


def _called(document: Document) -> str:
    """Kind and name, for people."""
    name = f"{document.namespace}/{document.name}" if document.namespace else document.name
    return f"{document.kind} {name}"


def instance_types(documents: Sequence[Document], problems: list[str]) -> Offered:
    """The instance types that a snapshot holds, whatever else there is in it."""
    work = _Work([each for each in documents if each.kind == catalogue.KIND], problems)
    for each in work.documents:
        _take(each, work)
    return work.offered


def _take(document: Document, work: _Work) -> bool:
    """Use one document; False leaves it to `_expand`."""
    if expand.is_workload(document):
        return False
    kind = _kind(document)
    if kind is not None:
        _decode(document, kind, work)
    elif document.kind == catalogue.KIND and document.api_version == catalogue.API_VERSION:
        try:
            work.offered |= catalogue.read(document.content)
        except ValueError as error:
            work.problems.append(f"{document.where}: {error}; take the snapshot again")
    elif document.kind == SETTINGS and document.group == "daiku.dev":
        try:
            said = _settings.decode(document.content).spec
        except (msgspec.DecodeError, RecursionError) as error:
            work.problems.append(f"{document.where}: {error}")
        else:
            work.environment |= said.env
            work.settings_of.append(said.of or document.where)
    elif _is_old(document):
        work.problems.append(
            f"{document.where}: is of {document.api_version}; v1 is read here, convert it first"
        )
    elif document.kind == "CronJob":
        work.notes.append(
            f"CronJob {document.namespace}/{document.name}: makes no pods now, so it is not planned"
        )
    elif document.kind not in admission.KINDS:
        # Others have kinds of the same name.
        is_known = document.kind in WORKLOADS or document.kind in kinds.BY_NAME
        kind = f"{document.kind} of {document.api_version}" if is_known else document.kind
        work.left_out[kind] = work.left_out.get(kind, 0) + 1
    return True


def _kind(document: Document) -> Kind | None:
    """The kind of a document that the core knows, or None."""
    kind = kinds.BY_NAME.get(document.kind)
    if kind is None:
        return None
    if kind.api_version == document.api_version:
        return kind
    old_apps = document.kind == "DaemonSet" and document.group in expand.GROUPS
    return kind if old_apps else None


def _is_old(document: Document) -> bool:
    if OLD_KINDS.get(document.kind) == document.group:
        return True
    kind = kinds.BY_NAME.get(document.kind)
    return (
        kind is not None
        and "karpenter" in document.group
        and kind.api_version.rpartition("/")[0] == document.group
    )


def _decode(document: Document, kind: Kind, work: _Work, owner: str = "") -> None:
    """Use an object of a known kind; `owner` says what it was made for."""
    if kind is kinds.PODS and _is_gated(document):
        name = owner or _called(document)
        work.gated[name] = work.gated.get(name, 0) + 1
        return
    try:
        found = kind.decode(work.around.created(document).content)
    except _BROKEN as error:
        work.problems.append(f"{document.where}: cannot be read: {_said(error)}")
        return
    if isinstance(found, NodePool) and not document.live:
        if found.invalid:
            work.problems.append(f"{document.where}: {found.invalid}")
        elif not found.template.node_class.kind:
            work.problems.append(
                f"{document.where}: names no node class; set spec.template.spec.nodeClassRef"
            )
    if isinstance(found, NodeClass) and not found.conditions:
        # Nobody has looked at a class that is only a manifest: it is planned as if it will work.
        found = replace(found, ready=True, why_not_ready="")
    work.objects.append(_named(found, document))
    for each in admission.ephemeral_claims(document) if kind is kinds.PODS else ():
        _decode(each, kinds.PERSISTENT_VOLUME_CLAIMS, work)


def _named(found: Object, document: Document) -> Object:
    """`found` with the name and namespace of its document, which a manifest may leave out."""
    meta = found.meta
    if meta.namespace == document.namespace and meta.name == document.name:
        return found
    named = replace(found, meta=replace(meta, name=document.name, namespace=document.namespace))
    if isinstance(named, DaemonSet):
        template = named.template
        placed = replace(template.meta, namespace=document.namespace)
        return replace(named, template=replace(template, meta=placed))
    return named


def _expand(workloads: Sequence[Document], work: _Work) -> None:
    """Add the pods that workloads still lack."""
    if not workloads:
        return
    deployment_of = expand.deployments(work.documents)
    owned = expand.Owned()
    for each in work.objects:
        if isinstance(each, Pod):
            owned.add(each, deployment_of)
    room = expand.PODS_MAX
    for workload in workloads:
        if workload.key in deployment_of:
            continue
        try:
            expansion = expand.expand(work.around.created(workload), owned, room)
        except ValueError as error:
            work.problems.append(f"{workload.where}: {error}")
            continue
        if expansion.note:
            work.notes.append(expansion.note)
        room -= sum(1 for each in expansion.documents if each.kind == "Pod")
        if not _decode_pods(expansion.documents, _called(workload), work):
            work.problems.append(_template_problem(workload, work))


def _decode_pods(documents: Sequence[Document], owner: str, work: _Work) -> bool:
    """Decode what a workload was turned into; False at the first that cannot be read."""
    for each in documents:
        kind = _kind(each)
        if kind is not None:
            known = len(work.problems)
            _decode(each, kind, work, owner)
            if len(work.problems) > known:
                return False
    return True


def _template_problem(workload: Document, work: _Work) -> str:
    """What is wrong with a pod, said of the template that it was made from."""
    problem = work.problems.pop()
    return f"{workload.where}: its pod template cannot be read: {problem.rpartition(': cannot be read: ')[2]}"


def _complete(work: _Work, *, built_in: bool) -> None:
    """Add what NodePools need to be planned with, and a NodePool when there is none and one is asked for."""
    pools = [each for each in work.objects if isinstance(each, NodePool)]
    known = {each.ref: True for each in work.objects if isinstance(each, NodeClass)}
    if not pools and built_in:
        work.notes.append(
            "no NodePool in the input: planned with a built-in one (linux, amd64, on-demand)"
        )
        pools = [_default_node_pool()]
        work.objects.extend(pools)
        known[DEFAULT_NODE_CLASS] = True
        work.objects.append(_ready(DEFAULT_NODE_CLASS))
    for pool in pools:
        ref = pool.template.node_class
        if ref in known or not ref.kind:
            continue
        known[ref] = True
        work.objects.append(_ready(ref))
        work.notes.append(f"{ref.kind} {ref.name} is not in the input: taken for ready")


def _complete_volumes(work: _Work) -> None:
    """Add the StorageClasses that claims name and the input lacks, and let volumes be made where their pods go.

    What a cluster says of itself is believed: if one of its classes is in the input, all of them are.
    """
    live = {d.name: d.live for d in work.documents if d.kind == "StorageClass"}
    if any(live.values()):
        return
    for number, each in enumerate(work.objects):
        if isinstance(each, StorageClass) and not each.waits_for_pod:
            work.objects[number] = replace(each, waits_for_pod=True)
            work.notes.append(
                f"StorageClass {each.meta.name} makes volumes before their pods have nodes; planned as if after that"
            )
    claims = [each for each in work.objects if isinstance(each, PersistentVolumeClaim)]
    wanted = {c.storage_class: True for c in claims if not c.volume and c.storage_class}
    for name in sorted(wanted):
        if name not in live:
            work.objects.append(
                StorageClass(meta=Meta(name=name), provisioner="", waits_for_pod=True)
            )
            what = name if name == admission.ASSUMED else f"StorageClass {name}"
            work.notes.append(
                f"{what} is not in the input: taken for a class that makes volumes in any zone"
            )


def _default_node_pool() -> NodePool:
    wanted = (
        (labels.ARCH, "amd64"),
        (labels.CAPACITY_TYPE, labels.ON_DEMAND),
        (labels.OS, "linux"),
    )
    return NodePool(
        meta=Meta(name="default"),
        template=NodeTemplate(
            requirements=Requirements.of(*(Requirement.parse(k, "In", (v,)) for k, v in wanted)),
            node_class=DEFAULT_NODE_CLASS,
        ),
    )


def _ready(ref: NodeClassRef) -> NodeClass:
    return NodeClass(meta=Meta(name=ref.name), ref=ref, ready=True)


class _GatedSpec(wire.Wire):
    scheduling_gates: list[msgspec.Raw] | None = None


class _Gated(wire.Wire):
    spec: _GatedSpec = msgspec.field(default_factory=_GatedSpec)


def _is_gated(document: Document) -> bool:
    """Whether kube-scheduler leaves a pod alone until someone takes its gates away."""
    if b'"schedulingGates"' not in document.content:
        return False
    try:
        return bool(_gated.decode(document.content).spec.scheduling_gates)
    except (msgspec.DecodeError, RecursionError):
        return False


def _said(error: BaseException) -> str:
    """One line, whatever kind of error it is."""
    text = " ".join(str(error).split())
    return f"{error} is missing" if isinstance(error, KeyError) else text or type(error).__name__


class _SettingsSpec(msgspec.Struct, forbid_unknown_fields=True):
    env: dict[str, str] = {}
    of: str = ""


class _Settings(wire.Wire):
    spec: _SettingsSpec = msgspec.field(default_factory=_SettingsSpec)


_settings = msgspec.json.Decoder(_Settings)
_gated = msgspec.json.Decoder(_Gated)
