"""Files of manifests, from bytes to single objects whose kind and name are known.

YAML with any number of documents, JSON, and lists of any kind, nested too, all end as the same thing: one object's
JSON, as the API server would hold it, with the place it came from. Whatever is wrong is a line in `problems`, and the
rest is read on, so that a person sees every mistake at once. No input makes anything but objects and such lines.
Not here: what the objects mean (`configuration`).
"""

from hashlib import sha256
from typing import Any, Final

import msgspec

from daiku.api import wire

NESTING_MAX: Final = 10
"""Lists in lists; `kubectl get` makes one."""
DEFAULT_NAMESPACE: Final = "default"
CLUSTER_WIDE: Final = frozenset(
    {
        "AWSNodeTemplate",
        "CSINode",
        "Catalogue",
        "EC2NodeClass",
        "KWOKNodeClass",
        "Machine",
        "Namespace",
        "Node",
        "NodeClaim",
        "NodePool",
        "PersistentVolume",
        "PriorityClass",
        "Provisioner",
        "RuntimeClass",
        "Settings",
        "StorageClass",
    }
)
"""Kinds without a namespace, among those that are read."""
NAMED: Final = CLUSTER_WIDE | {
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "LimitRange",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "ReplicationController",
    "Rollout",
    "StatefulSet",
}
"""Kinds that are read, of which an object without a name is a mistake."""
_UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)
"""What msgspec answers to bytes that are no such value, among them broken UTF-8 and endless nesting."""


class ManifestError(Exception):
    """Some of the input cannot be used; each problem is one line that says where, what, and what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        """At least one, in the order of the input."""


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One object of the input, not decoded yet. Made a hundred thousand times, so by msgspec."""

    place: str
    """File, document and item, such as "web.yaml, document 2, item 7"."""
    api_version: str
    kind: str
    name: str
    namespace: str
    """Filled in where a manifest leaves it out; empty for kinds without one."""
    live: bool
    """It comes from a cluster, not from an author: it has a uid."""
    content: bytes
    """JSON."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.kind, self.namespace, self.name

    @property
    def group(self) -> str:
        """API group; empty for core kinds."""
        return self.api_version.rpartition("/")[0]

    @property
    def where(self) -> str:
        """The place and the object, for messages."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.place}, {self.kind} {name}"


class _Meta(wire.Wire):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class _Head(wire.Wire):
    api_version: str | None = None
    kind: str | None = None
    metadata: _Meta | None = None
    items: msgspec.Raw = wire.ABSENT
    status: msgspec.Raw = wire.ABSENT


def read(
    source: str, content: bytes, problems: list[str], foreign: list[str] | None = None
) -> list[Document]:
    """The objects of one file.

    Args:
        source: Name of the file.
        content: What it holds.
        problems: Takes what cannot be read.
        foreign: Takes what is no object of Kubernetes, such as values of a chart; None: that is a problem too.
    """
    foreign = problems if foreign is None else foreign
    content = content.removeprefix(b"\xef\xbb\xbf")
    found: list[Document] = []
    if content.lstrip()[:1] == b"{" and _is_json(content):
        _take(f"{source}, document 1", content, problems, found, foreign)
        return found
    # A snapshot is JSON; who reads no YAML need not wait for its library.
    from daiku.api import yaml_values  # noqa: PLC0415

    number = 0
    try:
        for number, value in enumerate(yaml_values.documents(content), 1):
            if value is not None:
                _take_value(f"{source}, document {number}", value, problems, found, foreign)
    except yaml_values.YamlError as error:
        problems.append(f"{source}, document {number + 1}: {error}")
    return found


def _is_json(content: bytes) -> bool:
    """Whether it is one JSON value. Anything else, JSON with comments among it, may still be YAML."""
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except _UNREADABLE:
        return False
    return True


def _take_value(
    place: str, value: Any, problems: list[str], found: list[Document], foreign: list[str]
) -> None:
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else f"the value {str(value)[:40]!r}"
        foreign.append(
            f"{place}: is {what}; a manifest is a mapping with apiVersion, kind and metadata"
            + (" (instance types are given with --instance-types)" if what == "a list" else "")
        )
        return
    try:
        content = msgspec.json.encode(value)
    except _UNREADABLE as error:
        problems.append(f"{place}: cannot be written as JSON: {error}")
        return
    _take(place, content, problems, found, foreign)


def _take(
    place: str,
    content: bytes,
    problems: list[str],
    found: list[Document],
    foreign: list[str],
    *,
    listed: tuple[str, str] = ("", ""),
    depth: int = 0,
) -> None:
    """Find the object in `content`, or those in the list that it is.

    Args:
        place: Where it comes from.
        content: JSON.
        problems: Problems so far.
        found: Objects so far.
        foreign: What is no object of Kubernetes, so far.
        listed: apiVersion and kind that the list around it promises for its items.
        depth: Lists around it.
    """
    try:
        head = _heads.decode(content)
    except _UNREADABLE as error:
        problems.append(f"{place}: is no Kubernetes object: {error}")
        return
    api_version, kind = head.api_version or listed[0], head.kind or listed[1]
    if not kind or not api_version:
        missing = "apiVersion" if kind else "kind"
        foreign.append(f"{place}: has no {missing}; is it a manifest of Kubernetes?")
        return
    # A kind of somebody's own may end in List too; its objects have names, which lists have not.
    named = head.metadata is not None and head.metadata.name
    if not (kind.endswith("List") and bytes(head.items)) or named:
        if bytes(head.status) == b"null":
            # As tools write it that have none; an API server takes it for nothing.
            whole = msgspec.json.decode(content)
            content = msgspec.json.encode({k: v for k, v in whole.items() if k != "status"})
        whose = api_version, kind, head.metadata or _Meta()
        # Files of settings, such as those of kubelets, have no name; objects that are read here have.
        _take_object(place, content, problems if kind in NAMED else foreign, found, whose)
        return
    if depth >= NESTING_MAX:
        problems.append(f"{place}: is a list within {depth} lists; at most {NESTING_MAX} are read")
        return
    try:
        items = _items.decode(head.items) or ()
    except _UNREADABLE as error:
        problems.append(f"{place}: its items are no list: {error}")
        return
    promised = api_version, kind.removesuffix("List")
    for number, item in enumerate(items, 1):
        where = f"{place}, item {number}"
        _take(where, bytes(item), problems, found, foreign, listed=promised, depth=depth + 1)


def _take_object(
    place: str,
    content: bytes,
    problems: list[str],
    found: list[Document],
    head: tuple[str, str, _Meta],
) -> None:
    api_version, kind, metadata = head
    name = metadata.name or ""
    if not name and metadata.generate_name:
        # Each time that such a manifest is created it is another object.
        number = sum(each.content == content for each in found)
        name = metadata.generate_name + sha256(content + b"#" * number).hexdigest()[:5]
    if not name:
        problems.append(f"{place}, {kind}: has no name; give it a metadata.name")
        return
    found.append(
        Document(
            place=place,
            api_version=api_version,
            kind=kind,
            name=name,
            namespace="" if kind in CLUSTER_WIDE else metadata.namespace or DEFAULT_NAMESPACE,
            live=bool(metadata.uid),
            content=content,
        )
    )


_heads = msgspec.json.Decoder(_Head)
_items = msgspec.json.Decoder(list[msgspec.Raw] | None)
