"""What the API server sends, cut down to the fields that are read; everything else is skipped unparsed.

These are wire shapes only: `decode` turns them into values of `daiku.model`. Parts that many pods of one owner have
in common (resources, tolerations, affinity, spread) stay raw bytes here, so that each spelling of them is read once.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec

ABSENT = msgspec.Raw(b"")
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Quantities = dict[str, str | int | float]


class Wire(msgspec.Struct, rename="camel", gc=False):
    """Field names are camelCase on the wire; unknown fields are skipped."""


class OwnerReference(Wire):
    """metadata.ownerReferences[]."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire):
    """metadata."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: msgspec.Raw = ABSENT
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class Condition(Wire):
    """status.conditions[]."""

    type: str
    status: str = "Unknown"
    reason: str | None = None
    message: str | None = None
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class Taint(Wire):
    """spec.taints[]."""

    key: str
    effect: str = ""
    value: str | None = None


class Toleration(Wire):
    """spec.tolerations[]."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SelectorRequirement(Wire):
    """One requirement on a label (or, of a pod's matchFields, on a field)."""

    key: str
    operator: str
    values: list[str] | None = None
    min_values: int | None = None


class NodeSelectorTerm(Wire):
    """One alternative of a pod's required node affinity."""

    match_expressions: list[SelectorRequirement] | None = None
    match_fields: list[SelectorRequirement] | None = None


class NodeSelector(Wire):
    """requiredDuringSchedulingIgnoredDuringExecution of a node affinity."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(Wire):
    """preferredDuringSchedulingIgnoredDuringExecution[] of a node affinity."""

    weight: int = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(Wire):
    """spec.affinity.nodeAffinity."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = (
        None
    )


class LabelSelector(Wire):
    """Which objects are meant, by their labels."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[SelectorRequirement] | None = None


class PodAffinityTerm(Wire):
    """One term of pod affinity or anti-affinity."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Wire):
    """preferredDuringSchedulingIgnoredDuringExecution[] of a pod affinity or anti-affinity."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(Wire):
    """spec.affinity.podAffinity or podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = (
        None
    )


class Affinity(Wire):
    """spec.affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class ContainerPort(Wire):
    """ports[]."""

    container_port: int | None = None
    host_port: int | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class Container(Wire):
    """containers[] and initContainers[]."""

    resources: msgspec.Raw = ABSENT
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None


class ClaimSource(Wire):
    """volumes[].persistentVolumeClaim."""

    claim_name: str = ""


class Volume(Wire):
    """volumes[]."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: msgspec.Raw = ABSENT


class SpreadConstraint(Wire):
    """topologySpreadConstraints[]."""

    topology_key: str = ""
    max_skew: Int32 = 1
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ResourceClaim(Wire):
    """An entry of spec.resourceClaims."""

    name: str = ""


class PodSpec(Wire):
    """spec of a pod or of a pod template."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: msgspec.Raw = ABSENT
    tolerations: msgspec.Raw = ABSENT
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: msgspec.Raw = ABSENT
    resources: msgspec.Raw = ABSENT
    priority: int | None = None
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    termination_grace_period_seconds: int | None = None
    topology_spread_constraints: msgspec.Raw = ABSENT
    host_network: bool | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[ResourceClaim] | None = None
    scheduling_gates: list[dict[str, str]] | None = None


class PodStatus(Wire):
    """status of a pod."""

    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None


class Pod(Wire):
    """core/v1 Pod."""

    metadata: ObjectMeta
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class NodeSpec(Wire):
    """spec of a node."""

    provider_id: str | None = msgspec.field(default=None, name="providerID")
    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeStatus(Wire):
    """status of a node."""

    capacity: Quantities | None = None
    allocatable: Quantities | None = None
    conditions: list[Condition] | None = None


class Node(Wire):
    """core/v1 Node."""

    metadata: ObjectMeta
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class PodTemplate(Wire):
    """spec.template of a workload."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class DaemonSetSpec(Wire):
    """spec of a DaemonSet."""

    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class DaemonSet(Wire):
    """apps/v1 DaemonSet."""

    metadata: ObjectMeta
    spec: DaemonSetSpec = msgspec.field(default_factory=DaemonSetSpec)


class WorkloadSpec(Wire):
    """spec of a ReplicaSet, a StatefulSet or a Job, of each the fields that it has."""

    replicas: int | None = None
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    pod_management_policy: str | None = None
    volume_claim_templates: list[msgspec.Raw] | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class WorkloadStatus(Wire):
    """status of the same."""

    succeeded: int | None = None
    conditions: list[Condition] | None = None


class Workload(Wire):
    """apps/v1 ReplicaSet and StatefulSet, batch/v1 Job."""

    metadata: ObjectMeta
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)


class BudgetSpec(Wire):
    """spec of a PodDisruptionBudget."""

    selector: dict[str, Any] | None = None
    max_unavailable: int | str | None = None
    min_available: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class BudgetStatus(Wire):
    """status of a PodDisruptionBudget."""

    disruptions_allowed: int | None = None


class PodDisruptionBudget(Wire):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)


class ListMeta(Wire):
    """metadata of a list."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class RawList(Wire):
    """A list of any kind, its items unparsed."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class WatchLine(Wire):
    """One line of a watch."""

    type: str
    object: msgspec.Raw = ABSENT


class Status(Wire):
    """meta/v1 Status: why a request was refused."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None


class OnlyMeta(Wire):
    """Any object, cut down to its metadata."""

    metadata: ObjectMeta
