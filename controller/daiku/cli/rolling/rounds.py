"""A roll as it stands in the cluster: which nodes are to be replaced, which have been, which are going.

All of it is one annotation on each NodeClaim, so that whoever looks next, from wherever, sees the same. The controller
takes a NodeClaim with it for drifted (`lifecycle.drift`), so budgets, waves, PodDisruptionBudgets and replacements are
those of every drift.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from daiku.api import encode, kinds, wire
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.model import labels

PAUSED: Final = labels.ROLL_PAUSED
ENDING: Final = ("Drained", "VolumesDetached")
"""Conditions of a NodeClaim that goes, in the order in which they become True."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The annotation's value."""

    started: str
    """When the roll began, as metav1.Time spells it. NodeClaims that came later are what it makes."""
    total: int
    """How many nodes it was to replace."""
    paused: bool = False

    @classmethod
    def read(cls, text: str) -> "Mark | None":
        """What an annotation says; None when it says nothing that was written here."""
        parts = text.split("/")
        paused = parts[0] == PAUSED
        rest = parts[1:] if paused else parts
        if len(rest) != 2 or not rest[1].isdigit():
            return None
        return cls(started=rest[0], total=int(rest[1]), paused=paused)

    def __str__(self) -> str:
        """As it is written."""
        head = f"{PAUSED}/" if self.paused else ""
        return f"{head}{self.started}/{self.total}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A NodeClaim and its Node, as far as a roll looks at them."""

    name: str
    node: str
    """Name of its Node; empty while it has none."""
    pool: str
    kubelet: str
    """Version of its kubelet, such as v1.35.4; empty while it has no Node."""
    created: str
    going: bool
    """Its deletion has been asked for."""
    mark: Mark | None
    held: str = ""
    """What it waits for while it goes, such as "waits for PDB web: 0 disruptions allowed (default/web-1)"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which nodes are meant."""

    pools: tuple[str, ...] = ()
    kubelet: str = ""
    """The beginning of a kubelet's version, such as 1.35; empty: any."""

    def has(self, member: Member) -> bool:
        """Whether a node is meant."""
        return (not self.pools or member.pool in self.pools) and is_version(
            member.kubelet, self.kubelet
        )


def is_version(version: str, wanted: str) -> bool:
    """Whether v1.35.4-eks-1 is of 1.35, or of v1.35.4, and not of 1.3."""
    have, asked = version.lstrip("v"), wanted.lstrip("v")
    return not asked or have == asked or have.startswith((f"{asked}.", f"{asked}-", f"{asked}+"))


def read(client: Client) -> list[Member]:
    """Every node with a NodeClaim, the oldest first.

    Raises:
        KubeError: The cluster cannot be read.
    """
    kubelets = {
        each.metadata.name: each.status.node_info.kubelet_version
        for each in _all(client, kinds.NODES.path)
    }
    members = [_member(each, kubelets) for each in _all(client, kinds.NODE_CLAIMS.path)]
    return sorted(members, key=lambda m: (m.created, m.name))


def begin(members: Sequence[Member], now: datetime) -> Mapping[str, Mark]:
    """What is to be written to begin a roll of these, or to go on with one: NodeClaim -> mark."""
    marks = [m.mark for m in members if m.mark is not None]
    if marks:
        # One roll at a time: what was begun is gone on with, nodes that it made are left alone.
        first = min(marks, key=lambda m: m.started)
        resumed = Mark(started=first.started, total=first.total)
        return {
            m.name: resumed
            for m in members
            if not m.going and (m.mark or m.created <= first.started)
        }
    fresh = [m for m in members if not m.going]
    mark = Mark(started=encode.time(now), total=len(fresh))
    return {m.name: mark for m in fresh}


def paused(members: Iterable[Member]) -> Mapping[str, Mark]:
    """What is to be written so that no more nodes are replaced for now."""
    return {
        m.name: Mark(started=m.mark.started, total=m.mark.total, paused=True)
        for m in members
        if m.mark is not None and not m.going
    }


def write(client: Client, marks: Mapping[str, Mark | None]) -> int:
    """Write marks on NodeClaims, None takes one away; how many are there to be written on.

    Raises:
        KubeError: Some could not be written.
    """
    written = 0
    for name, mark in marks.items():
        value = str(mark) if mark is not None else None
        body = {"metadata": {"annotations": {labels.ROLL: value}}}
        try:
            client.patch(kinds.NODE_CLAIMS.object_path(name), body)
        except errors.NotFound:
            continue
        written += 1
    return written


class _NodeInfo(wire.Wire):
    kubelet_version: str = ""


class _Status(wire.Wire):
    node_name: str | None = None
    conditions: list[wire.Condition] | None = None
    node_info: _NodeInfo = msgspec.field(default_factory=_NodeInfo)


class _Object(wire.Wire):
    """A Node or a NodeClaim."""

    metadata: wire.ObjectMeta
    status: _Status = msgspec.field(default_factory=_Status)


def _all(client: Client, path: str) -> list[_Object]:
    return [_objects.decode(bytes(raw)) for page in client.list(path) for raw in page.items]


def _member(found: _Object, kubelets: Mapping[str, str]) -> Member:
    meta, node = found.metadata, found.status.node_name or ""
    return Member(
        name=meta.name,
        node=node,
        pool=(meta.labels or {}).get(labels.NODEPOOL, ""),
        kubelet=kubelets.get(node, ""),
        created=encode.time(meta.creation_timestamp) if meta.creation_timestamp else "",
        going=meta.deletion_timestamp is not None,
        mark=Mark.read((meta.annotations or {}).get(labels.ROLL, "")),
        held=_held(found.status.conditions or ()),
    )


def _held(conditions: Sequence[wire.Condition]) -> str:
    """What stands between a node that goes and its end, by the first condition that says so."""
    said = {each.type: each.message or "" for each in conditions if each.status != "True"}
    return next((said[kind] for kind in ENDING if said.get(kind)), "")


_objects = msgspec.json.Decoder(_Object)
