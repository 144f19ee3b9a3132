"""What happened: everything that can change what the controller believes.

Watchers, pollers and the executor put these in the inbox; only `state.cluster.Cluster.apply` reads
them. Every failure is an event with a name. Objects arrive parsed (`daiku.api` does that at the door).
"""

from dataclasses import dataclass
from datetime import datetime

from daiku.cloud.errors import CloudError
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.commands import Command
from daiku.model.daemonset import DaemonSet
from daiku.model.deployment import Deployment
from daiku.model.instance_type import Catalogue
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.pod_owner import Job, ReplicaSet, StatefulSet
from daiku.model.volume import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

Object = (
    Pod
    | Node
    | NodePool
    | NodeClaim
    | NodeClass
    | DaemonSet
    | Deployment
    | PodDisruptionBudget
    | Namespace
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CsiNode
    | VolumeAttachment
    | ReplicaSet
    | StatefulSet
    | Job
)
"""Every kind of object that is watched."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An object exists and looks like this (added, modified, or found in a list)."""

    object: Object


@dataclass(frozen=True, slots=True)
class Gone:
    """An object no longer exists. `key` is namespace/name, or the name."""

    kind: type[Object]
    key: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A whole list of one kind arrived: what is not in `keys` does not exist any more."""

    kind: type[Object]
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outdated:
    """The API server no longer says what changed of one kind: what is known of it may be wrong until it is Listed."""

    kind: type[Object]


@dataclass(frozen=True, slots=True)
class CatalogueRefreshed:
    """Instance types, offerings and prices as they are now."""

    catalogue: Catalogue


@dataclass(frozen=True, slots=True)
class InstancesListed:
    """Every instance of this cluster that the cloud knows, and the time before the call began."""

    instances: tuple[Instance, ...]
    asked: datetime


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The cloud says that an instance will not stay."""

    instance_id: str
    """The last part of its provider id."""
    kind: str
    """One of `model.interruption`."""
    message: str = ""
    """Identity of the message that said so, which is kept until this is settled; empty when there is none."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A NodeClaim has its instance."""

    node_claim: str
    instance: LaunchedInstance


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    """A NodeClaim got no instance; `error` says what to do next."""

    node_claim: str
    error: CloudError


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A Deployment was read."""

    key: str
    """namespace/name."""
    deployment: Deployment | None
    """None: there is none of that name."""
    autoscaler: str = ""
    """HorizontalPodAutoscaler that says how many replicas it has; empty when none does."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Done:
    """A command was carried out; its effect on the cluster comes as other events."""

    command: Command
    finished: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """What a command wrote last of its object; it is known as soon as a watch brings this version or a later one."""

    key: str
    """Of the command."""
    version: str
    """Resource version; empty when nothing was written."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A command was not carried out, and will not be unless it is planned again."""

    command: Command
    error: Exception
    finished: datetime
    retry_after_seconds: float | None = None
    """How long to leave it alone when the other side said so."""
    unsure: bool = False
    """There was no answer: it may have been carried out all the same."""


Event = (
    Seen
    | Gone
    | Listed
    | Outdated
    | CatalogueRefreshed
    | InstancesListed
    | Interrupted
    | Launched
    | LaunchFailed
    | Inspected
    | Written
    | Done
    | Failed
)
