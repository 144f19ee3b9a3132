"""What checks look at: the objects of a cluster, decoded as the controller does, or as JSON where it does not."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from daiku.api import configuration, manifests
from daiku.api.manifests import Document
from daiku.events import Object
from daiku.model import workload
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.workload import Workload

Json = Mapping[str, Any]
T = TypeVar("T", Pod, Node, NodePool, NodeClaim, NodeClass, PodDisruptionBudget)


@dataclass(frozen=True)
class Evidence:
    """A cluster at one instant."""

    objects: tuple[Object, ...]
    documents: tuple[Document, ...]

    @cached_property
    def pods(self) -> list[Pod]:
        """Those that have not finished."""
        return [pod for pod in self._of(Pod) if not pod.is_finished]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node, by name."""
        return self._of(Node)

    @cached_property
    def node_pools(self) -> list[NodePool]:
        """Every NodePool, by name."""
        return self._of(NodePool)

    @cached_property
    def node_claims(self) -> list[NodeClaim]:
        """Every NodeClaim, by name."""
        return self._of(NodeClaim)

    @cached_property
    def node_classes(self) -> list[NodeClass]:
        """Every node class, by name."""
        return self._of(NodeClass)

    @cached_property
    def budgets(self) -> list[PodDisruptionBudget]:
        """Every PodDisruptionBudget, by name."""
        return self._of(PodDisruptionBudget)

    @cached_property
    def by_workload(self) -> dict[Workload, list[Pod]]:
        """Pods under what made them, DaemonSets left out."""
        found: dict[Workload, list[Pod]] = {}
        for pod in self.pods:
            if not (pod.is_daemon or pod.is_mirror):
                found.setdefault(workload.of(pod.meta), []).append(pod)
        return {each: found[each] for each in sorted(found)}

    def raw(self, kind: str) -> list[Json]:
        """Objects of a kind as JSON, in the order of their keys."""
        found = sorted((d for d in self.documents if d.kind == kind), key=lambda d: d.key)
        return [msgspec.json.decode(each.content) for each in found]

    def _of(self, kind: type[T]) -> list[T]:
        return sorted(
            (each for each in self.objects if isinstance(each, kind)),
            key=lambda each: each.meta.key,
        )


def of(documents: Sequence[Document], problems: list[str]) -> Evidence:
    """What documents are evidence of.

    Args:
        documents: Objects of a cluster.
        problems: Takes a line for each that cannot be used.
    """
    live = [each for each in documents if each.kind not in UNEXPANDED]
    return Evidence(
        objects=configuration.build(live, problems).objects,
        documents=tuple({each.key: each for each in documents}.values()),
    )


def section(found: Json, *path: str) -> Json:
    """A mapping inside a mapping; empty where there is none."""
    inner: Any = found
    for key in path:
        inner = inner.get(key) or {}
    return inner


def pods_of(value: object, total: int) -> int:
    """Pods of a count or a percentage, rounded up as the API server does."""
    text = str(value)
    if text.endswith("%"):
        return math.ceil(int(text.removesuffix("%")) * total / 100)
    return int(text)


UNEXPANDED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"})
"""Kinds whose pods are seen by themselves in a cluster."""


def read(contents: Iterable[tuple[str, bytes]], problems: list[str]) -> Evidence:
    """Evidence from files."""
    return of(
        [d for name, text in contents for d in manifests.read(name, text, problems)], problems
    )
