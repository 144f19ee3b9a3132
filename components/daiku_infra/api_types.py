"""NodePools and node classes as typed Python arguments: every field of the API, in the words of the API.

The names are those of the manifests, so that what is written here, in a stack file and in YAML is the same, and so are
they in every language of Pulumi. What a field may hold is in the CustomResourceDefinitions, whose rules
`api_rules` asks at preview; a test compares these classes with them, field by field. Values that are often
made by the same program, such as ids, may be known late.
"""

from typing import Any, Required, TypedDict

import pulumi


class DisruptionBudget(TypedDict, total=False):
    """How many nodes may be disrupted at once, and when that holds."""

    nodes: str
    """A count such as "3", or a share such as "10%" which rounds up."""
    reasons: list[str]
    """Which reasons the budget holds for: Underutilized, Empty, Drifted; absent means all."""
    schedule: str
    """Cron line, in UTC, at which the budget begins to hold."""
    duration: str
    """How long the budget holds from each hit of the schedule, such as 8h30m."""


class NodePoolDisruption(TypedDict, total=False):
    """When and how many nodes may be disrupted."""

    budgets: list[DisruptionBudget]
    """How many nodes may be disrupted at once; the smallest active budget counts."""
    consolidateAfter: str
    """How long a node must have been quiet before it may be consolidated; Never turns consolidation off."""
    consolidationPolicy: str
    """Which nodes may be consolidated: WhenEmpty, WhenEmptyOrUnderutilized or Balanced."""


class NodeMetadata(TypedDict, total=False):
    """What a node is labelled and annotated with."""

    annotations: dict[str, str]
    """Annotations of every node."""
    labels: dict[str, str]
    """Labels of every node."""


class NodeClassReference(TypedDict, total=False):
    """A node class, by name."""

    group: Required[str]
    """Its API group, such as karpenter.k8s.aws."""
    kind: Required[str]
    """Its kind, such as EC2NodeClass."""
    name: Required[str]
    """Its name."""


class NodeRequirement(TypedDict, total=False):
    """One requirement on a label of nodes."""

    key: Required[str]
    """The label, such as kubernetes.io/arch."""
    minValues: int
    """A plan must leave at least this many different values open. Alpha."""
    operator: Required[str]
    """In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte."""
    values: list[str]
    """What the label is compared with, as texts."""


class NodeTaint(TypedDict, total=False):
    """A taint of nodes."""

    effect: Required[str]
    """NoSchedule, PreferNoSchedule or NoExecute."""
    key: Required[str]
    """Its key."""
    timeAdded: str
    """When it was added; not of use here."""
    value: str
    """Its value."""


class NodeTemplateSpec(TypedDict, total=False):
    """Which nodes a NodePool may make."""

    expireAfter: str
    """Age at which a node is replaced; Never keeps it."""
    nodeClassRef: Required[NodeClassReference]
    """Which node class says how its machines are made."""
    requirements: Required[list[NodeRequirement]]
    """Which labels its nodes may have, instance types, zones and capacity types among them."""
    startupTaints: list[NodeTaint]
    """Taints that something else takes away once the node is ready."""
    taints: list[NodeTaint]
    """Taints that every node keeps."""
    terminationGracePeriod: str
    """How long a drain may take before pods are deleted past their PodDisruptionBudgets."""


class NodePoolTemplate(TypedDict, total=False):
    """What every node of a NodePool is made from."""

    metadata: NodeMetadata
    """What every node is labelled and annotated with."""
    spec: Required[NodeTemplateSpec]
    """What every node is."""


class NodePoolSpec(TypedDict, total=False):
    """Which nodes may be made, how many, and when they may be taken away again."""

    disruption: NodePoolDisruption
    """When and how many nodes may be disrupted."""
    limits: dict[str, Any]
    """The most that the pool's nodes may have together; "nodes" counts them."""
    replicas: int
    """Keep this many nodes whatever pods ask for; makes the pool static."""
    weight: int
    """Heavier pools are tried first."""
    template: Required[NodePoolTemplate]
    """What every node of the pool is made from."""


class ImageSelectorTerm(TypedDict, total=False):
    """Which images a node may boot from."""

    alias: str
    """An EKS optimized image, as family@version, such as al2023@latest."""
    id: pulumi.Input[str]
    """Id of the image."""
    name: str
    """Name of the image, with * where any will do."""
    owner: str
    """Account that owns it, or self, or amazon."""
    ssmParameter: str
    """Parameter of Systems Manager that holds its id."""
    tags: dict[str, str]
    """Tags to have; "*" as value means any."""


class BlockDevice(TypedDict, total=False):
    """A volume."""

    deleteOnTermination: bool
    """Delete it with its instance."""
    encrypted: bool
    """Encrypt it."""
    iops: int
    """Operations per second."""
    kmsKeyID: pulumi.Input[str]
    """Key that encrypts it."""
    snapshotID: pulumi.Input[str]
    """Snapshot that it begins as."""
    throughput: int
    """MiB per second."""
    volumeInitializationRate: int
    """MiB per second at which it is filled from its snapshot."""
    volumeSize: str
    """Gi up to 59000, G up to 64000, Ti up to 58, T up to 64."""
    volumeType: str
    """Its type, such as gp3."""


class BlockDeviceMapping(TypedDict, total=False):
    """A disk of instances."""

    deviceName: str
    """Its device, such as /dev/xvda."""
    rootVolume: bool
    """Whether it is the one that kubelet's data lies on."""
    ebs: BlockDevice
    """The volume."""


class ReservationSelectorTerm(TypedDict, total=False):
    """Which capacity reservations may be used."""

    id: pulumi.Input[str]
    """Its id."""
    instanceMatchCriteria: str
    """open or targeted."""
    ownerID: str
    """Account that owns it."""
    tags: dict[str, str]
    """Tags to have; "*" as value means any."""


class ConnectionTracking(TypedDict, total=False):
    """When idle connections are forgotten."""

    tcpEstablishedTimeout: int
    """Seconds for TCP."""
    udpStreamTimeout: int
    """Seconds for UDP that went both ways more than once."""
    udpTimeout: int
    """Seconds for other UDP."""


class CpuOptions(TypedDict, total=False):
    """Settings of the processor."""

    nestedVirtualization: str
    """enabled or disabled."""


class MetadataOptions(TypedDict, total=False):
    """How instances reach their metadata."""

    httpEndpoint: str
    """enabled or disabled."""
    httpProtocolIPv6: str
    """enabled or disabled."""
    httpPutResponseHopLimit: int
    """Hops that an answer may take; 1 keeps it from pods."""
    httpTokens: str
    """required or optional."""


class NetworkInterface(TypedDict, total=False):
    """An interface of instances."""

    deviceIndex: Required[int]
    """Its index on the card."""
    interfaceType: Required[str]
    """interface or efa-only."""
    networkCardIndex: Required[int]
    """Its card."""


class PlacementGroupSelector(TypedDict, total=False):
    """A placement group."""

    id: pulumi.Input[str]
    """Its id."""
    name: str
    """Its name."""


class SecurityGroupSelectorTerm(TypedDict, total=False):
    """Which security groups nodes are in."""

    id: pulumi.Input[str]
    """Its id."""
    name: str
    """Its name."""
    tags: dict[str, str]
    """Tags to have; "*" as value means any."""


class SubnetSelectorTerm(TypedDict, total=False):
    """Which subnets nodes are in."""

    id: pulumi.Input[str]
    """Its id."""
    tags: dict[str, str]
    """Tags to have; "*" as value means any."""


class NodeClassSpec(TypedDict, total=False):
    """How EC2 instances are made for nodes."""

    amiFamily: str
    """How user data is written, such as AL2023; follows from the alias when there is one."""
    amiSelectorTerms: Required[list[ImageSelectorTerm]]
    """Which images nodes boot from; any term that matches adds images."""
    associatePublicIPAddress: bool
    """Give instances a public address, whatever their subnet says."""
    blockDeviceMappings: list[BlockDeviceMapping]
    """Disks of instances."""
    capacityReservationSelectorTerms: list[ReservationSelectorTerm]
    """Which capacity reservations may be used; any term that matches adds reservations."""
    connectionTracking: ConnectionTracking
    """When idle connections are forgotten."""
    context: str
    """Context of the fleet request, where AWS gave one."""
    cpuOptions: CpuOptions
    """Settings of the processor."""
    detailedMonitoring: bool
    """Have CloudWatch measure instances every minute."""
    instanceProfile: pulumi.Input[str]
    """An instance profile of the user's own; instead of role."""
    instanceStorePolicy: str
    """RAID0 joins the local disks to one."""
    ipPrefixCount: int
    """Prefixes that the first interface begins with."""
    kubelet: dict[str, Any]
    """Settings of the kubelet, by their names in KubeletConfiguration; checked by the controller."""
    metadataOptions: MetadataOptions
    """How instances reach their metadata."""
    networkInterfaces: list[NetworkInterface]
    """Interfaces of instances, where the usual one is not enough."""
    placementGroupSelector: PlacementGroupSelector
    """Placement group of instances."""
    role: pulumi.Input[str]
    """Name of the nodes' IAM role; instead of instanceProfile."""
    securityGroupSelectorTerms: list[SecurityGroupSelectorTerm]
    """Which security groups nodes are in; those of the cluster when absent."""
    subnetSelectorTerms: list[SubnetSelectorTerm]
    """Which subnets nodes are in; those of the cluster when absent."""
    tags: dict[str, str]
    """Tags of everything that is made for its nodes."""
    userData: pulumi.Input[str]
    """Merged with what the family needs."""
