"""The AWS cloud as the controller sees it: what can be bought, launch, terminate, list.

Slow answers (types, prices, the cluster) are kept for as long as they stay true; a call that only needs them costs
nothing. Not here: the status of EC2NodeClasses (`status`), how a launch is made (`launcher`).
"""

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.cloud import errors
from daiku.cloud.aws import (
    capacity,
    cluster,
    concurrently,
    families,
    instance_types,
    launcher,
    names,
    node_class,
    pricing,
    repair,
    reserved_offerings,
    search,
    terminator,
    wishes,
    zonal_shift,
)
from daiku.cloud.aws.addresses import Addresses
from daiku.cloud.aws.answers import parts
from daiku.cloud.aws.batching import Batcher
from daiku.cloud.aws.capacity import Sizing
from daiku.cloud.aws.cluster import Cluster
from daiku.cloud.aws.images import Parameters
from daiku.cloud.aws.instance_types import PREFIX, Facts
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.names import Names
from daiku.cloud.aws.node_class import placement_group, reservations
from daiku.cloud.aws.offerings import TENANCY, ZONE_ID, Moment, Offerings
from daiku.cloud.aws.placement_groups import PARTITION_LABEL
from daiku.cloud.aws.reservations import Counts
from daiku.cloud.aws.session import Session
from daiku.cloud.aws.trial import Trials
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.lifecycle.node_class_drift import HASH, HASH_VERSION
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType, LaunchOption, NodeClassRef
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.repair import RepairPolicy
from daiku.telemetry import log

TYPES_EVERY: Final = timedelta(hours=12)
CLUSTER_EVERY: Final = timedelta(minutes=5)
TAGGED_MOST: Final = 50
"""Instances that are tagged with their claims after each list: half of EC2's bucket of CreateTags."""
PROFILE: Final = f"{PREFIX}instance-profile-name"
"""Annotation of a NodeClaim: the profile that its machine was launched with."""
OFFERED: Final = ("amis", "capacityReservations")
"""Parts of a node class's status that decide what is on offer, besides its subnets."""
LISTED: Final = ("pending", "running", "stopping", "stopped", "shutting-down")

_log = log.get("aws")


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsOptions:
    """What the provider is told from outside."""

    cluster_name: str
    cluster_endpoint: str = ""
    """Empty: ask EKS."""
    cluster_ca_bundle: str = ""
    """Empty: ask EKS."""
    isolated_vpc: bool = False
    dry_run: bool = True
    """Whether a node class is tried before it is Ready."""
    reserved_capacity: bool = True
    """Whether capacity reservations are used, as Karpenter's gate ReservedCapacity says."""
    memory_overhead: float = 0.075
    """Share of the memory that the hypervisor keeps, 0 to 1."""
    reserved_interfaces: int = 0
    zonal_shift: bool = False
    """Whether zones that the cluster is shifted away from are left alone."""


@dataclass(slots=True)
class AwsProvider:
    """Instances of EC2. Any thread may use it; `catalogue` is called by one."""

    session: Session
    options: AwsOptions
    now: Callable[[], datetime]
    name: str = "aws"
    node_class_kind: str = "EC2NodeClass"
    repair_policies: tuple[RepairPolicy, ...] = repair.POLICIES
    templates: LaunchTemplates = field(init=False)
    addresses: Addresses = field(init=False)
    parameters: Parameters = field(init=False)
    trials: Trials = field(init=False)
    measured: Measured = field(default_factory=Measured)
    """Memory that nodes have shown."""
    names: Names = field(default_factory=Names)
    reserved: Counts = field(default_factory=Counts)
    _launcher: launcher.Launcher = field(init=False)
    _offerings: Offerings = field(init=False)
    _terminator: Batcher[str, str, str] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cluster: tuple[Cluster, datetime] | None = None
    _shifted: frozenset[str] = frozenset()
    _types: tuple[Mapping[str, Facts], datetime] | None = None
    _prices: pricing.PriceBook = field(init=False)
    _made: dict[NodeClassRef, tuple[object, tuple[InstanceType, ...]]] = field(
        default_factory=dict[NodeClassRef, tuple[object, tuple[InstanceType, ...]]]
    )

    def __post_init__(self) -> None:
        self.templates = LaunchTemplates(self.session, self.options.cluster_name)
        self.addresses = Addresses(self.session.pace.monotonic)
        self.parameters = Parameters(self.session, self.now)
        self.trials = Trials(self.session, self.templates, self.now)
        self._launcher = launcher.Launcher(self.session, self.templates, self.now(), self.addresses)
        self._offerings = Offerings(self.session.region, self.measured)
        self._prices = pricing.PriceBook(self.session, isolated=self.options.isolated_vpc)
        self._terminator = terminator.make(self.session)

    def cluster(self) -> Cluster:
        """The cluster that machines join.

        Raises:
            CloudError: EKS does not know it, and never did.
        """
        with self._lock:
            known = self._cluster
            if known is None or self.now() - known[1] > CLUSTER_EVERY:
                try:
                    known = (self._describe_cluster(), self.now())
                except errors.CloudError:
                    if known is None:
                        raise
                self._cluster = known
            return known[0]

    def catalogue(self, node_classes: Sequence[NodeClass], version: int) -> Catalogue:
        """List every instance type for each node class that is ready; the very same tuples when nothing changed."""
        ready = [each for each in node_classes if each.ready and each.meta.deleted is None]
        types, prices = self._fetch()
        moment = Moment(left=self.reserved.left, shifted=self._shifted_now())
        made: dict[NodeClassRef, tuple[object, tuple[InstanceType, ...]]] = {}
        for each in ready:
            key = (
                each.meta.uid,
                repr(each.spec),
                # Their order is that of their free addresses, which changes all the time.
                frozenset(node_class.subnets(each)),
                repr([each.status.get(name) for name in OFFERED]),
                node_class.placement_group(each),
                moment.shifted,
                tuple(self.reserved.left(r.id) for r in node_class.reservations(each)),
                id(types),
                id(prices),
                self.measured.version,
            )
            known = self._made.get(each.ref)
            if known is None or known[0] != key:
                sizing = self.sizing(each)
                known = (key, self._offerings.make(types, prices, each, sizing, moment))
            made[each.ref] = known
        self._made = made
        return Catalogue(version=version, instance_types={ref: t for ref, (_, t) in made.items()})

    def launch(
        self, node_claim: NodeClaim, node_class: NodeClass, options: Sequence[LaunchOption]
    ) -> LaunchedInstance:
        """Launch the instance of a claim, or find the one that an earlier call launched."""
        if not node_class.ready or node_class.meta.deleted is not None:
            why = node_class.why_not_ready or "it is being deleted"
            raise errors.NodeClassNotReady(f"EC2NodeClass {node_class.meta.name!r}: {why}")
        if node_class.spec.get("placementGroupSelector") and placement_group(node_class) is None:
            raise errors.NodeClassNotReady(
                f"EC2NodeClass {node_class.meta.name!r}: its placement group is not known yet"
            )
        plan = wishes.Plan(
            claim=node_claim,
            node_class=node_class,
            sizing=self.sizing(node_class),
            options=options,
            types=self._known(),
            cluster=self.cluster(),
            left=self.reserved.left if self.options.reserved_capacity else None,
        )
        try:
            instance = self._launcher.launch(plan)
        except errors.InsufficientCapacity as error:
            self.reserved.exhaust(reservations(node_class), error.sold_out)
            raise
        if instance.reservation:
            self.reserved.take(instance.reservation)
        return self._launched(instance, plan)

    def terminate(self, provider_id: str) -> None:
        """Begin to end an instance.

        Raises:
            InstanceNotFound: It is gone.
            CloudError: Anything else.
        """
        instance_id = provider_id.rpartition("/")[2]
        if not provider_id.startswith("aws:///") or not instance_id.startswith("i-"):
            raise errors.InstanceNotFound(
                f"{provider_id!r} is no instance of EC2: expected aws:///<zone>/<instance id>"
            )
        if self._terminator.call("", instance_id) == "terminated":
            raise errors.InstanceNotFound(f"instance {instance_id} is terminated")

    def list_instances(self) -> Sequence[Instance]:
        """Every instance with this cluster's ownership tags that is not terminated yet."""
        filters = [
            {"Name": "tag-key", "Values": [labels.NODEPOOL]},
            {"Name": "tag-key", "Values": [f"{PREFIX}ec2nodeclass"]},
            {"Name": "tag:eks:eks-cluster-name", "Values": [self.options.cluster_name]},
            {"Name": "instance-state-name", "Values": list(LISTED)},
        ]
        found: list[Instance] = []
        tagged: dict[str, Collection[str]] = {}
        for page in self.session.pages("ec2", "describe_instances", Filters=filters):
            for reservation in page["Reservations"]:
                for each in reservation["Instances"]:
                    tags = {t["Key"]: t["Value"] for t in parts(each, "Tags")}
                    tagged[each["InstanceId"]] = tags
                    found.append(
                        Instance(
                            provider_id=_provider_id(
                                each["Placement"]["AvailabilityZone"], each["InstanceId"]
                            ),
                            node_claim=tags.get(search.NODE_CLAIM_TAG, ""),
                            nodepool=tags.get(labels.NODEPOOL, ""),
                            launched=each["LaunchTime"],
                            terminating=each["State"]["Name"] == "shutting-down",
                            subnet=each.get("SubnetId", ""),
                            security_groups=tuple(
                                sorted(g["GroupId"] for g in parts(each, "SecurityGroups"))
                            ),
                            reserved=bool(search.reservation_of(each)),
                        )
                    )
        # What was launched together says afterwards whose it is; a refusal only means later.
        with contextlib.suppress(errors.CloudError):
            self._launcher.tag_some(TAGGED_MOST)
            self._name_some(tagged)
        return found

    def _name_some(self, tagged: Mapping[str, Collection[str]]) -> None:
        """Call instances as their nodes; `tagged`: keys of the tags of each."""
        for instance_id, node in self.names.due(tagged)[:TAGGED_MOST]:
            tag = {"Key": names.TAG, "Value": node}
            with contextlib.suppress(errors.InstanceNotFound):
                self.session.call("ec2", "create_tags", Resources=[instance_id], Tags=[tag])
            self.names.forget(instance_id)

    def sizing(self, found: NodeClass) -> Sizing:
        """How a node class sizes its machines."""
        return capacity.sizing_of(
            found,
            memory_overhead=self.options.memory_overhead,
            reserved_interfaces=self.options.reserved_interfaces,
        )

    def types(self) -> Mapping[str, Facts]:
        """Every instance type of the region, as last fetched; empty before that."""
        return self._types[0] if self._types is not None else {}

    def shifted_zones(self) -> frozenset[str]:
        """Ids of the zones that the cluster is shifted away from now.

        Raises:
            CloudError: The cluster is not known to zonal shift, or nobody answers.
        """
        self._shifted = zonal_shift.away_from(self.session, self.cluster().arn, self.now())
        return self._shifted

    def _shifted_now(self) -> frozenset[str]:
        if self.options.zonal_shift:
            # When nobody answers, what was true a minute ago is the best that is known.
            with contextlib.suppress(errors.CloudError):
                return self.shifted_zones()
        return self._shifted

    def _describe_cluster(self) -> Cluster:
        return cluster.describe(
            self.session,
            self.options.cluster_name,
            endpoint=self.options.cluster_endpoint,
            ca_bundle=self.options.cluster_ca_bundle,
        )

    def _fetch(self) -> tuple[Mapping[str, Facts], pricing.Prices]:
        now = self.now()
        return concurrently.both(lambda: self._types_at(now), lambda: self._prices.refresh(now))

    def _types_at(self, now: datetime) -> Mapping[str, Facts]:
        if self._types is None or now - self._types[1] > TYPES_EVERY:
            try:
                self._types = (instance_types.fetch(self.session), now)
            except errors.CloudError as error:
                if self._types is None:
                    raise
                _log.warning("instance types not refreshed", error=str(error))
        return self._types[0]

    def _known(self) -> Mapping[str, Facts]:
        if self._types is None:
            raise errors.Unreachable("the instance types of the region have not been fetched yet")
        return self._types[0]

    def _launched(self, instance: search.Instance, plan: wishes.Plan) -> LaunchedInstance:
        facts = plan.types.get(instance.instance_type)
        if facts is None:
            raise errors.LaunchRefused(f"instance type {instance.instance_type!r} is not known")
        memory = self.measured.memory(instance.instance_type, instance.image)
        has = capacity.capacity(facts, plan.sizing, memory)
        kept = capacity.overhead(facts, plan.sizing, has)
        if plan.sizing.efa_only is None and not plan.claim.requests.get(capacity.EFA):
            # The launch made no EFA, though the type could have some.
            has.pop(capacity.EFA, None)
        zone_ids = {s.zone: s.zone_id for s in node_class.subnets(plan.node_class)}
        own = {
            **facts.labels,
            **families.labels_of(plan.sizing.family),
            labels.REGION: self.session.region,
            labels.ZONE: instance.zone,
            labels.CAPACITY_TYPE: instance.capacity_type,
            **node_class.own_labels(plan.node_class),
            TENANCY: wishes.tenancy(plan.claim),
            PARTITION_LABEL: str(wishes.partition(plan) or ""),
            ZONE_ID: zone_ids.get(instance.zone, ""),
            labels.NODEPOOL: plan.claim.meta.labels.get(labels.NODEPOOL, ""),
        }
        known = node_class.reservations(plan.node_class)
        if used := next((r for r in known if r.id == instance.reservation), None):
            own |= reserved_offerings.labels_of(used)
        return LaunchedInstance(
            provider_id=_provider_id(instance.zone, instance.instance_id),
            instance_type=instance.instance_type,
            zone=instance.zone,
            capacity_type=instance.capacity_type,
            image_id=instance.image,
            labels={k: v for k, v in own.items() if v},
            annotations={
                HASH: node_class.static_hash(plan.node_class, plan.cluster.certificate_authority),
                HASH_VERSION: node_class.HASH_VERSION,
                PROFILE: str(plan.node_class.status["instanceProfile"]),
            },
            capacity={r: a for r, a in has.items() if a},
            allocatable={r: max(0, a - kept.get(r, 0)) for r, a in has.items() if a},
            sold_out=instance.sold_out,
        )


def _provider_id(zone: str, instance_id: str) -> str:
    return f"aws:///{zone}/{instance_id}"
