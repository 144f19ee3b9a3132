"""Owners that make pods of one template, all at once: ReplicaSets, parallel StatefulSets and Jobs."""

from dataclasses import dataclass

from daiku.model.meta import Meta
from daiku.model.pod import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOwner:
    """How many pods a controller of Kubernetes is to keep running, and what they look like."""

    meta: Meta
    wanted: int
    """Active pods that it keeps; 0 where their number or their start cannot be known beforehand."""
    template: Pod | None
    """The pod that it makes, unbound and without a name of its own; None where none is wanted."""


class ReplicaSet(PodOwner):
    """apps/v1 ReplicaSet."""

    __slots__ = ()


class StatefulSet(PodOwner):
    """apps/v1 StatefulSet."""

    __slots__ = ()


class Job(PodOwner):
    """batch/v1 Job."""

    __slots__ = ()
