"""Volumes, as far as they say where a pod can run, how many of them a node takes, and what a node still holds.

Source: core/v1 PersistentVolume and PersistentVolumeClaim, storage.k8s.io/v1 StorageClass, CSINode and
VolumeAttachment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from daiku.model.meta import Meta
from daiku.model.requirements import Requirements

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""Of classes whose volumes are made by hand; a claim waits for one of those."""
DRIVERS: Final = {"kubernetes.io/aws-ebs": "ebs.csi.aws.com"}
"""Provisioner of old -> the CSI driver that does its work today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolume:
    """A volume that exists."""

    meta: Meta
    alternatives: tuple[Requirements, ...] = ()
    """Nodes that can reach it must meet one of these; empty: every node can."""
    storage_class: str = ""
    driver: str = ""
    """CSI driver that attaches it; empty when none does."""
    handle: str = ""
    """The driver's name for it."""
    is_available: bool = False
    """No claim has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentVolumeClaim:
    """What a pod mounts."""

    meta: Meta
    volume: str = ""
    """Name of its PersistentVolume; empty while it has none."""
    storage_class: str = ""
    """Empty when it has none and so is never provisioned for."""
    is_lost: bool = False
    """Its volume is gone."""
    is_being_bound: bool = False
    """It names a volume that has not been given to it yet."""
    is_shared: bool = False
    """Several nodes can mount it at once (ReadWriteMany or ReadOnlyMany)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClass:
    """How volumes are made."""

    meta: Meta
    provisioner: str
    """CSI driver, already in its spelling of today, or `NO_PROVISIONER`."""
    waits_for_pod: bool = False
    """volumeBindingMode WaitForFirstConsumer: a volume is made where its pod is put."""
    alternatives: tuple[Requirements, ...] = ()
    """allowedTopologies: volumes are made where one of these holds; empty: anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsiNode:
    """How many volumes a node takes; it has the Node's name."""

    meta: Meta
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """CSI driver -> most volumes; a driver without a limit is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeAttachment:
    """A volume is attached to a node, or is to be; it goes when the volume has been detached."""

    meta: Meta
    node: str
    """Name of the Node."""
    volume: str = ""
    """Name of the PersistentVolume; empty for a volume that is written into the pod itself."""
