"""From bytes to volumes, their claims, classes and attachments, and the limits of nodes.

Source: core/v1 and storage.k8s.io/v1; the zone labels of old volumes as kube-scheduler's volumezone reads them.
"""

from typing import Any, Final

import msgspec

from daiku.api import constraints, decode, wire
from daiku.model import labels
from daiku.model.requirements import Requirement, Requirements
from daiku.model.volume import (
    DRIVERS,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""Without it, kube-scheduler takes a live claim for one that waits. A manifest without status is taken at its word."""
_ZONE_SEPARATOR: Final = "__"
"""Between the zones of a volume that is in several, in its label."""


class _VolumeAffinity(wire.Wire):
    required: wire.NodeSelector | None = None


class _CsiSource(wire.Wire):
    driver: str = ""
    volume_handle: str = ""


class _EbsSource(wire.Wire):
    volume_id: str = msgspec.field(default="", name="volumeID")


class _VolumeSpec(wire.Wire):
    node_affinity: _VolumeAffinity | None = None
    storage_class_name: str | None = None
    csi: _CsiSource | None = None
    aws_elastic_block_store: _EbsSource | None = None
    claim_ref: dict[str, Any] | None = None


class _Volume(wire.Wire):
    metadata: wire.ObjectMeta
    spec: _VolumeSpec = msgspec.field(default_factory=_VolumeSpec)


class _ClaimSpec(wire.Wire):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None


class _ClaimStatus(wire.Wire):
    phase: str | None = None


class _Claim(wire.Wire):
    metadata: wire.ObjectMeta
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)


class _TopologyExpression(wire.Wire):
    key: str
    values: list[str] | None = None


class _TopologyTerm(wire.Wire):
    match_label_expressions: list[_TopologyExpression] | None = None


class _StorageClass(wire.Wire):
    metadata: wire.ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[_TopologyTerm] | None = None


class _Allocatable(wire.Wire):
    count: int | None = None


class _Driver(wire.Wire):
    name: str
    allocatable: _Allocatable | None = None


class _CsiNodeSpec(wire.Wire):
    drivers: list[_Driver] | None = None


class _CsiNode(wire.Wire):
    metadata: wire.ObjectMeta
    spec: _CsiNodeSpec = msgspec.field(default_factory=_CsiNodeSpec)


class _AttachmentSource(wire.Wire):
    persistent_volume_name: str | None = None


class _AttachmentSpec(wire.Wire):
    node_name: str = ""
    source: _AttachmentSource = msgspec.field(default_factory=_AttachmentSource)


class _Attachment(wire.Wire):
    metadata: wire.ObjectMeta
    spec: _AttachmentSpec = msgspec.field(default_factory=_AttachmentSpec)


_VOLUMES: Final = msgspec.json.Decoder(_Volume)
_CLAIMS: Final = msgspec.json.Decoder(_Claim)
_CLASSES: Final = msgspec.json.Decoder(_StorageClass)
_CSI_NODES: Final = msgspec.json.Decoder(_CsiNode)
_ATTACHMENTS: Final = msgspec.json.Decoder(_Attachment)


def persistent_volume(content: bytes) -> PersistentVolume:
    """Read a PersistentVolume."""
    found = _VOLUMES.decode(content)
    spec = found.spec
    required = spec.node_affinity.required if spec.node_affinity is not None else None
    terms = constraints.alternatives(required) if required is not None else ()
    zones = _of_labels(found.metadata.labels or {})
    if zones:
        terms = tuple(zones & term for term in terms) or (zones,)
    ebs = spec.aws_elastic_block_store
    return PersistentVolume(
        meta=decode.meta(found.metadata),
        alternatives=terms,
        storage_class=spec.storage_class_name or "",
        driver=spec.csi.driver if spec.csi else DRIVERS["kubernetes.io/aws-ebs"] if ebs else "",
        handle=spec.csi.volume_handle if spec.csi else ebs.volume_id if ebs else "",
        is_available=spec.claim_ref is None,
    )


def persistent_volume_claim(content: bytes) -> PersistentVolumeClaim:
    """Read a PersistentVolumeClaim."""
    found = _CLAIMS.decode(content)
    return PersistentVolumeClaim(
        meta=decode.meta(found.metadata),
        volume=found.spec.volume_name or "",
        storage_class=found.spec.storage_class_name or "",
        is_lost=found.status.phase == "Lost",
        is_being_bound=found.status.phase == "Pending"
        and _BIND_COMPLETED not in (found.metadata.annotations or {}),
        is_shared=not {"ReadWriteMany", "ReadOnlyMany"}.isdisjoint(found.spec.access_modes or ()),
    )


def storage_class(content: bytes) -> StorageClass:
    """Read a StorageClass."""
    found = _CLASSES.decode(content)
    return StorageClass(
        meta=decode.meta(found.metadata),
        provisioner=DRIVERS.get(found.provisioner, found.provisioner),
        waits_for_pod=found.volume_binding_mode == "WaitForFirstConsumer",
        alternatives=tuple(
            Requirements.of(
                *(
                    Requirement.parse(e.key, "In", e.values or ())
                    for e in term.match_label_expressions or ()
                )
            )
            for term in found.allowed_topologies or ()
        ),
    )


def csi_node(content: bytes) -> CsiNode:
    """Read a CSINode."""
    found = _CSI_NODES.decode(content)
    return CsiNode(
        meta=decode.meta(found.metadata),
        limits={
            d.name: d.allocatable.count
            for d in found.spec.drivers or ()
            if d.allocatable is not None and d.allocatable.count is not None
        },
    )


def volume_attachment(content: bytes) -> VolumeAttachment:
    """Read a VolumeAttachment."""
    found = _ATTACHMENTS.decode(content)
    return VolumeAttachment(
        meta=decode.meta(found.metadata),
        node=found.spec.node_name,
        volume=found.spec.source.persistent_volume_name or "",
    )


def _of_labels(own: dict[str, str]) -> Requirements:
    """Zones and region that the labels of a volume name."""
    known = {labels.ALIASES.get(key, key): value for key, value in own.items()}
    return Requirements.of(
        *(
            Requirement.parse(key, "In", known[key].split(_ZONE_SEPARATOR))
            for key in (labels.ZONE, labels.REGION)
            if key in known
        )
    )
