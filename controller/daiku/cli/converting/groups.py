"""Auto Scaling groups of Cluster Autoscaler as NodePools and EC2NodeClasses: a proposal for a person to look over.

Read is what the AWS CLI prints: `aws autoscaling describe-auto-scaling-groups` and, for groups whose launch templates
say more, `aws ec2 describe-launch-template-versions`. Every guess is a note.

Source: Cluster Autoscaler's AWS provider, for the tags that describe a group's nodes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from daiku.cli.converting import tree
from daiku.cli.converting.tree import Tree
from daiku.model import labels

GROUPS: Final = "AutoScalingGroups"
VERSIONS: Final = "LaunchTemplateVersions"
LABEL_TAG: Final = "k8s.io/cluster-autoscaler/node-template/label/"
TAINT_TAG: Final = "k8s.io/cluster-autoscaler/node-template/taint/"
_NOT_OURS: Final = ("aws:", "eks:", "k8s.io/", "kubernetes.io/", "Name", "eksctl.", "alpha.eksctl.")
"""Beginnings of tags that belong to whoever made the group."""
_UNNEEDED: Final = "10m"
"""How long Cluster Autoscaler waits by default before it takes a node away (scale-down-unneeded-time)."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An Auto Scaling group, as far as nodes come of it."""

    name: str
    instance_types: tuple[str, ...]
    zones: tuple[str, ...]
    capacity_types: tuple[str, ...]
    """on-demand, spot, or both."""
    most: int
    least: int
    running: tuple[tuple[str, str], ...]
    """Instance type and zone of each instance that is there."""
    subnets: tuple[str, ...]
    tags: Mapping[str, str]
    template: Json
    """Data of its launch template; empty when it was not given."""


def is_ours(document: object) -> bool:
    """Whether a document is an answer of the AWS CLI that is read here."""
    return isinstance(document, dict) and (GROUPS in document or VERSIONS in document)


class UnreadableError(Exception):
    """An answer is not what the AWS CLI prints; the message says where."""


def read(documents: Sequence[Json]) -> list[Group]:
    """Every group, in order of names, with its launch template where that was given too.

    Raises:
        UnreadableError: A group is not as AWS describes it, or there is none.
    """
    versions = [v for d in documents for v in _parts(d, VERSIONS)]
    found = [g for d in documents for g in _parts(d, GROUPS)]
    if documents and not found:
        raise UnreadableError(
            "no Auto Scaling group is described; add what `aws autoscaling describe-auto-scaling-groups` prints"
        )
    groups: list[Group] = []
    for each in found:
        try:
            groups.append(_group(each, versions))
        except (KeyError, TypeError, ValueError) as error:
            name = each.get("AutoScalingGroupName", "without a name")
            raise UnreadableError(
                f"group {name}: is not as the AWS CLI describes one: {error!r}"
            ) from error
    return sorted(groups, key=lambda g: g.name)


def propose(groups: Sequence[Group], notes: list[str]) -> list[Tree]:
    """A NodePool for each group, and an EC2NodeClass for each different launch template."""
    objects: list[Tree] = []
    classes: dict[str, Tree] = {}
    for group in groups:
        spec = _class_spec(group, notes)
        name = next((n for n, known in classes.items() if known == spec), _dns(group.name))
        if name not in classes:
            classes[name] = spec
            objects.append(
                tree.make(
                    apiVersion="karpenter.k8s.aws/v1",
                    kind="EC2NodeClass",
                    metadata=tree.make(name=name),
                    spec=spec,
                )
            )
        objects.append(_pool(group, name, notes))
    return objects


def _group(found: Json, versions: Sequence[Json]) -> Group:
    mixed = _part(found, "MixedInstancesPolicy")
    inner = _part(mixed, "LaunchTemplate")
    named = _part(inner, "LaunchTemplateSpecification") or _part(found, "LaunchTemplate")
    template = _template(named, versions)
    overrides = [str(o["InstanceType"]) for o in _parts(inner, "Overrides") if "InstanceType" in o]
    instances = [
        (str(i.get("InstanceType", "")), str(i.get("AvailabilityZone", "")))
        for i in _parts(found, "Instances")
        if i.get("LifecycleState", "InService") == "InService"
    ]
    types = (
        overrides or [str(template["InstanceType"])]
        if overrides or "InstanceType" in template
        else []
    )
    return Group(
        name=str(found.get("AutoScalingGroupName", "group")),
        instance_types=tuple(dict.fromkeys(types or [kind for kind, _ in instances if kind])),
        zones=tuple(sorted(_texts(found, "AvailabilityZones"))),
        capacity_types=_capacity_types(mixed, template),
        most=int(found.get("MaxSize", 0)),
        least=int(found.get("MinSize", 0)),
        running=tuple(instances),
        subnets=tuple(s for s in str(found.get("VPCZoneIdentifier", "")).split(",") if s),
        tags={str(t["Key"]): str(t.get("Value", "")) for t in _parts(found, "Tags")},
        template=template,
    )


def _template(named: Json, versions: Sequence[Json]) -> Json:
    """Data of the version of a launch template that a group uses."""
    keys = ("LaunchTemplateId", "LaunchTemplateName")
    mine = [v for v in versions if any(named.get(k) and v.get(k) == named[k] for k in keys)]
    wanted = str(named.get("Version", "$Default"))
    for version in mine:
        is_it = {
            "$Default": version.get("DefaultVersion") is True,
            "$Latest": version is max(mine, key=lambda v: int(v.get("VersionNumber", 0))),
        }
        if is_it.get(wanted, str(version.get("VersionNumber")) == wanted):
            return _part(version, "LaunchTemplateData")
    return _part(mine[-1], "LaunchTemplateData") if mine else {}


def _capacity_types(mixed: Json, template: Json) -> tuple[str, ...]:
    shares = _part(mixed, "InstancesDistribution")
    market = _part(template, "InstanceMarketOptions")
    if market.get("MarketType") == "spot":
        return (labels.SPOT,)
    base, above = (
        shares.get("OnDemandBaseCapacity", 0),
        shares.get("OnDemandPercentageAboveBaseCapacity", 100),
    )
    if above == 100:
        return (labels.ON_DEMAND,)
    return (labels.SPOT,) if not (base or above) else (labels.ON_DEMAND, labels.SPOT)


def _pool(group: Group, class_name: str, notes: list[str]) -> Tree:
    where = f"group {group.name}"
    wanted = [
        (labels.OS, ("linux",)),
        (labels.CAPACITY_TYPE, group.capacity_types),
        (labels.INSTANCE_TYPE, group.instance_types),
        (labels.ZONE, group.zones),
    ]
    own = {
        key.removeprefix(LABEL_TAG): v for key, v in group.tags.items() if key.startswith(LABEL_TAG)
    }
    template = tree.make(
        metadata=tree.make(labels=tree.make(**own)) if own else None,
        spec=tree.make(
            nodeClassRef=tree.make(group="karpenter.k8s.aws", kind="EC2NodeClass", name=class_name),
            requirements=tree.listed(
                *(
                    tree.make(key=key, operator="In", values=tree.listed(*values))
                    for key, values in wanted
                    if values
                )
            ),
            taints=_taints(group, notes),
        ),
    )
    if not group.instance_types:
        notes.append(
            f"{where}: its instance types are not known; give its launch template too, or name some"
        )
    if len(group.capacity_types) > 1:
        notes.append(
            f"{where}: had a share of on-demand; the NodePool may buy both and takes what costs less. For a floor make "
            "a second NodePool of on-demand with a higher weight and a limit"
        )
    if group.least:
        notes.append(f"{where}: kept {group.least} instances without pods too; NodePools keep none")
    if len(group.instance_types) == 1:
        notes.append(
            f"{where}: has one instance type; more of them make nodes cheaper and spot steadier"
        )
    return tree.make(
        apiVersion="karpenter.sh/v1",
        kind="NodePool",
        metadata=tree.make(name=_dns(group.name)),
        spec=tree.make(
            template=template,
            limits=tree.make(nodes=str(group.most)) if group.most else None,
            disruption=tree.make(
                consolidationPolicy="WhenEmptyOrUnderutilized", consolidateAfter=_UNNEEDED
            ),
        ),
    )


def _taints(group: Group, notes: list[str]) -> list[Any] | None:
    found: list[Tree] = []
    for key, value in group.tags.items():
        if not key.startswith(TAINT_TAG):
            continue
        text, _, effect = value.rpartition(":")
        if effect not in {"NoSchedule", "PreferNoSchedule", "NoExecute"}:
            notes.append(f"group {group.name}: tag {key}={value} names no taint effect; left out")
            continue
        found.append(tree.make(key=key.removeprefix(TAINT_TAG), value=text or None, effect=effect))
    return tree.listed(*found) if found else None


def _class_spec(group: Group, notes: list[str]) -> Tree:
    """The node class of a group; equal ones are one."""
    where, data = f"group {group.name}", group.template
    profile = _part(data, "IamInstanceProfile")
    name = str(profile.get("Name") or str(profile.get("Arn", "")).rpartition("/")[2])
    security = _texts(data, "SecurityGroupIds")
    for interface in _parts(data, "NetworkInterfaces"):
        security += _texts(interface, "Groups")
    if not data:
        notes.append(
            f"{where}: its launch template was not given: profile and security groups are to be filled in"
        )
    if data.get("ImageId"):
        notes.append(
            f"{where}: image {data['ImageId']} is proposed as al2023@latest; pin or select your own"
        )
    if data.get("UserData"):
        notes.append(
            f"{where}: its user data is not taken over; what nodes need beyond joining belongs in spec.userData"
        )
    kept = {k: v for k, v in group.tags.items() if not k.startswith(_NOT_OURS)}
    return tree.make(
        amiSelectorTerms=tree.listed(tree.make(alias="al2023@latest")),
        instanceProfile=name or "FILL-IN",
        subnetSelectorTerms=_by_id(group.subnets, "subnet-FILL-IN"),
        securityGroupSelectorTerms=_by_id(tuple(dict.fromkeys(security)), "sg-FILL-IN"),
        blockDeviceMappings=_devices(data),
        tags=tree.make(**kept) if kept else None,
    )


def _by_id(ids: Sequence[str], otherwise: str) -> list[Any]:
    return tree.listed(*(tree.make(id=each) for each in ids or (otherwise,)))


def _devices(data: Json) -> list[Any] | None:
    found: list[Tree] = []
    for device in _parts(data, "BlockDeviceMappings"):
        ebs = _part(device, "Ebs")
        if not ebs:
            continue
        size = ebs.get("VolumeSize")
        found.append(
            tree.make(
                deviceName=device.get("DeviceName"),
                ebs=tree.make(
                    volumeSize=f"{size}Gi" if size else None,
                    volumeType=ebs.get("VolumeType"),
                    iops=ebs.get("Iops"),
                    throughput=ebs.get("Throughput"),
                    encrypted=ebs.get("Encrypted"),
                    deleteOnTermination=ebs.get("DeleteOnTermination"),
                ),
            )
        )
    return tree.listed(*found) if found else None


def _part(found: Json, key: str) -> Json:
    """The mapping at `key`; empty when there is none."""
    value = found.get(key)
    return cast("Json", value) if isinstance(value, dict) else {}


def _parts(found: Json, key: str) -> list[Json]:
    """The mappings in the list at `key`."""
    value = found.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Json", each) for each in items if isinstance(each, dict)]


def _texts(found: Json, key: str) -> list[str]:
    """The list of texts at `key`."""
    value = found.get(key)
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _dns(name: str) -> str:
    """A group's name as a name of Kubernetes."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:63] or "group"
