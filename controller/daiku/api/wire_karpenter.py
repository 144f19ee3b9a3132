"""NodePool, NodeClaim and node classes as the API server sends them, cut down to the fields that are read.

Wire shapes only, as in `wire`; `decode_karpenter` turns them into values of `daiku.model`.
"""

from datetime import datetime
from typing import Any

import msgspec

from daiku.api.wire import (
    Condition,
    ObjectMeta,
    Quantities,
    SelectorRequirement,
    Taint,
    Wire,
)


class NodeClassReference(Wire):
    """nodeClassRef."""

    group: str = ""
    kind: str = ""
    name: str = ""


class Budget(Wire):
    """spec.disruption.budgets[]."""

    nodes: str = "10%"
    reasons: list[str] | None = None
    schedule: str | None = None
    duration: str | None = None


class Disruption(Wire):
    """spec.disruption."""

    consolidate_after: str | None = None
    consolidation_policy: str | None = None
    budgets: list[Budget] | None = None


class NodeTemplateSpec(Wire):
    """spec.template.spec."""

    taints: list[Taint] | None = None
    startup_taints: list[Taint] | None = None
    requirements: list[SelectorRequirement] | None = None
    node_class_ref: NodeClassReference = msgspec.field(default_factory=NodeClassReference)
    expire_after: str | None = None
    termination_grace_period: str | None = None


class NodeTemplate(Wire):
    """spec.template."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NodeTemplateSpec = msgspec.field(default_factory=NodeTemplateSpec)


class NodePoolSpec(Wire):
    """spec of a NodePool."""

    template: NodeTemplate = msgspec.field(default_factory=NodeTemplate)
    disruption: Disruption = msgspec.field(default_factory=Disruption)
    limits: Quantities | None = None
    weight: int | None = None
    replicas: int | None = None


class NodePoolStatus(Wire):
    """status of a NodePool."""

    nodes: int | None = None
    node_class_observed_generation: int | None = None
    resources: Quantities | None = None
    conditions: list[Condition] | None = None


class NodePool(Wire):
    """karpenter.sh/v1 NodePool."""

    metadata: ObjectMeta
    spec: NodePoolSpec = msgspec.field(default_factory=NodePoolSpec)
    status: NodePoolStatus = msgspec.field(default_factory=NodePoolStatus)


class Resources(Wire):
    """spec.resources of a NodeClaim."""

    requests: Quantities | None = None


class NodeClaimSpec(NodeTemplateSpec):
    """spec of a NodeClaim."""

    resources: Resources = msgspec.field(default_factory=Resources)


class NodeClaimStatus(Wire):
    """status of a NodeClaim."""

    node_name: str | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    image_id: str | None = msgspec.field(default=None, name="imageID")
    capacity: Quantities | None = None
    allocatable: Quantities | None = None
    conditions: list[Condition] | None = None
    last_pod_event_time: datetime | None = None


class NodeClaim(Wire):
    """karpenter.sh/v1 NodeClaim."""

    metadata: ObjectMeta
    spec: NodeClaimSpec = msgspec.field(default_factory=NodeClaimSpec)
    status: NodeClaimStatus = msgspec.field(default_factory=NodeClaimStatus)


class NodeClass(Wire):
    """An EC2NodeClass or KWOKNodeClass; its spec belongs to its cloud provider."""

    metadata: ObjectMeta
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
