"""Launch templates: everything about a machine but its type and zone, under a name that is a hash of the content.

The same content has the same name, so a template is looked up before it is made, and two controllers make it once. A
template is never changed; one that nobody used for a while is removed, and those of a node class go with it.
"""

import contextlib
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import block_devices, errors, network_interfaces, node_class
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.node_class import BLOCK, Reserved
from daiku.cloud.aws.search import ONLY_RESERVED
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.nodeclass import NodeClass

PREFIX: Final = "karpenter.k8s.aws/"
UNUSED_SECONDS: Final = 600.0
"""How long after its last use a template is kept. Karpenter: one minute, which makes them anew for every burst."""
COLLECT_SECONDS: Final = 60.0
"""How often unused ones are looked for."""
ALREADY_THERE: Final = "InvalidLaunchTemplateName.AlreadyExistsException"

WITHOUT_METADATA_IPV6: Final = frozenset(
    {
        "us-iso-east-1",
        "us-iso-west-1",
        "us-isob-east-1",
        "us-isob-west-1",
        "us-isof-east-1",
        "us-isof-south-1",
    }
)
"""Regions whose EC2 refuses a template that says anything of it (source: Karpenter)."""

Json = dict[str, Any]


@dataclass(slots=True)
class LaunchTemplates:
    """The launch templates of this cluster. Any thread may use it."""

    session: Session
    cluster: str
    _known: dict[str, bool] = field(default_factory=dict[str, bool])
    """Names of templates that EC2 has."""
    _used: dict[str, float] = field(default_factory=dict[str, float])
    """Name -> last use, or when it was first seen, by the clock of the pace."""
    _collected: float | None = None
    """When unused ones were looked for last."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ensure(self, contents: Sequence[Json], found: NodeClass, nodepool: str) -> list[str]:
        """Names of the templates of `contents`, made where they are missing.

        Raises:
            CloudError: EC2 refused.
        """
        names = [name_of(content) for content in contents]
        # One at a time: claims of one batch want the same templates.
        with self._lock:
            unknown = [name for name in dict.fromkeys(names) if name not in self._known]
            if unknown:
                self._known |= dict.fromkeys(self._described(unknown), True)
            for name, content in zip(names, contents, strict=True):
                if name not in self._known:
                    self._create(
                        name, content, tags(self.cluster, found, {labels.NODEPOOL: nodepool})
                    )
                    self._known[name] = True
            self._used |= dict.fromkeys(names, self.session.pace.monotonic())
        return names

    def collect(self) -> int:
        """Remove the templates of this cluster that nobody used for UNUSED_SECONDS; how many.

        Those that another process left are seen first, and go when this one has not used them for as long. EC2 is asked
        once in COLLECT_SECONDS, however often this is called.

        Raises:
            CloudError: EC2 refused.
        """
        now = self.session.pace.monotonic()
        if self._collected is not None and now - self._collected < COLLECT_SECONDS:
            return 0
        self._collected = now
        filters = [{"Name": "tag:eks:eks-cluster-name", "Values": [self.cluster]}]
        # While a template goes nobody may be told that it is there.
        with self._lock:
            found = {
                t["LaunchTemplateName"]: t["LaunchTemplateId"]
                for page in self.session.pages("ec2", "describe_launch_templates", Filters=filters)
                for t in page["LaunchTemplates"]
                if t["LaunchTemplateName"].startswith(PREFIX)
            }
            self._used = {name: self._used.get(name, now) for name in found}
            unused = [name for name, at in self._used.items() if now - at >= UNUSED_SECONDS]
            for name in unused:
                self._known.pop(name, None)
                self._used.pop(name, None)
                self._delete(found[name])
        return len(unused)

    def forget(self, names: Sequence[str]) -> None:
        """EC2 does not know these any more: look again before the next use."""
        with self._lock:
            for name in names:
                self._known.pop(name, None)

    def remove(self, name: str) -> None:
        """Remove one template; it is no error when it is gone already.

        Raises:
            CloudError: EC2 refused.
        """
        self.forget([name])
        with contextlib.suppress(errors.ResourceNotFound):
            self.session.call("ec2", "delete_launch_template", LaunchTemplateName=name)

    def remove_all(self, node_class_name: str) -> None:
        """Remove every template of a node class.

        Raises:
            CloudError: EC2 refused.
        """
        filters = [
            {"Name": "tag:eks:eks-cluster-name", "Values": [self.cluster]},
            {"Name": f"tag:{PREFIX}ec2nodeclass", "Values": [node_class_name]},
        ]
        for page in self.session.pages("ec2", "describe_launch_templates", Filters=filters):
            for template in page["LaunchTemplates"]:
                self.forget([template["LaunchTemplateName"]])
                self._delete(template["LaunchTemplateId"])

    def _delete(self, template_id: str) -> None:
        with contextlib.suppress(errors.ResourceNotFound):
            self.session.call("ec2", "delete_launch_template", LaunchTemplateId=template_id)

    def _described(self, names: Sequence[str]) -> list[str]:
        filters = [{"Name": "launch-template-name", "Values": list(names)}]
        pages = self.session.pages("ec2", "describe_launch_templates", Filters=filters)
        return [t["LaunchTemplateName"] for page in pages for t in page["LaunchTemplates"]]

    def _create(self, name: str, content: Json, own_tags: list[dict[str, str]]) -> None:
        try:
            self.session.call(
                "ec2",
                "create_launch_template",
                LaunchTemplateName=name,
                LaunchTemplateData=content,
                TagSpecifications=[{"ResourceType": "launch-template", "Tags": own_tags}],
            )
        except cloud_errors.LaunchRefused as error:
            if error.code != ALREADY_THERE:
                raise


def content(
    *,
    found: NodeClass,
    cluster: str,
    image_id: str,
    user_data: str,
    capacity_type: str,
    nodepool: str,
    efas: int = 0,
    is_ipv6: bool = False,
    reservation: Reserved | None = None,
    opts_out: bool = False,
    tenancy: str = "default",
    partition: int = 0,
    region: str = "",
) -> Json:
    """The data of a launch template.

    Args:
        found: The node class, with its status.
        cluster: Name of the cluster.
        image_id: Image of the machines.
        user_data: In base64.
        capacity_type: reserved, spot or on-demand.
        nodepool: Name of the NodePool.
        efas: Elastic Fabric Adapters that the claim wants of the type.
        is_ipv6: Pods have IPv6 addresses.
        reservation: The capacity reservation that machines are launched in.
        opts_out: Machines outside reservations leave open ones alone.
        tenancy: default or dedicated.
        partition: Number of the placement group's partition; 0: it has none.
        region: Where; some regions know less.
    """
    spec = found.spec
    made: Json = {
        "ImageId": image_id,
        "UserData": user_data,
        "IamInstanceProfile": {"Name": found.status["instanceProfile"]},
        "Monitoring": {"Enabled": bool(spec.get("detailedMonitoring"))},
        "BlockDeviceMappings": block_devices.requests(found),
        "MetadataOptions": _metadata_options(part(spec, "metadataOptions"), region),
        "NetworkInterfaces": network_interfaces.requests(found, efas=efas, is_ipv6=is_ipv6),
        "TagSpecifications": _tag_specifications(cluster, found, capacity_type, nodepool),
    }
    group = node_class.placement_group(found)
    placement: Json = {"GroupId": group.id} if group else {}
    if partition:
        placement["PartitionNumber"] = partition
    if tenancy != "default":
        placement["Tenancy"] = tenancy
    if placement:
        made["Placement"] = placement
    if reservation is not None:
        made["CapacityReservationSpecification"] = {
            "CapacityReservationPreference": ONLY_RESERVED,
            "CapacityReservationTarget": {"CapacityReservationId": reservation.id},
        }
    elif opts_out:
        made["CapacityReservationSpecification"] = {"CapacityReservationPreference": "none"}
    if market := _market(reservation):
        made["InstanceMarketOptions"] = {"MarketType": market}
    if virtualization := part(spec, "cpuOptions").get("nestedVirtualization"):
        made["CpuOptions"] = {"NestedVirtualization": virtualization}
    return made


def _market(reservation: Reserved | None) -> str:
    """The market of a reservation that is none of the ordinary ones."""
    if reservation is None:
        return ""
    if reservation.kind == BLOCK:
        return BLOCK
    return "interruptible-capacity-reservation" if reservation.interruptible else ""


def tags(cluster: str, found: NodeClass, more: Mapping[str, str]) -> list[dict[str, str]]:
    """The user's tags, with those that say whose it is on top: the controller may only touch what carries them."""
    known = {
        **part(found.spec, "tags"),
        f"kubernetes.io/cluster/{cluster}": "owned",
        "eks:eks-cluster-name": cluster,
        f"{PREFIX}ec2nodeclass": found.meta.name,
        **more,
    }
    return [{"Key": k, "Value": v} for k, v in sorted(known.items())]


def name_of(content: Json) -> str:
    """The name that a template of this content has."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"{PREFIX}{int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])}"


def _tag_specifications(
    cluster: str, found: NodeClass, capacity_type: str, nodepool: str
) -> list[Json]:
    kinds = ["network-interface"]
    if capacity_type == labels.SPOT:
        kinds.append("spot-instances-request")
    known = tags(cluster, found, {labels.NODEPOOL: nodepool})
    return [{"ResourceType": kind, "Tags": known} for kind in kinds]


def _metadata_options(given: Mapping[str, Any], region: str) -> Json:
    ipv6 = {"HttpProtocolIpv6": given.get("httpProtocolIPv6", "disabled")}
    return {
        "HttpEndpoint": given.get("httpEndpoint", "enabled"),
        **({} if region in WITHOUT_METADATA_IPV6 else ipv6),
        "HttpPutResponseHopLimit": given.get("httpPutResponseHopLimit", 1),
        "HttpTokens": given.get("httpTokens", "required"),
        "InstanceMetadataTags": "disabled",
    }
