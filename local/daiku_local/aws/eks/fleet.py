# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The instances of a managed node group: how many there should be, and what they are launched with."""

import base64
from collections import Counter
from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2 import facts, images, instances, launch, lifecycle, templates
from daiku_local.aws.eks import errors, node_config, versions
from daiku_local.aws.eks.records import Cluster, NodeGroup
from daiku_local.aws.errors import AwsError
from daiku_local.aws.moto_door import ServiceException

FORBIDDEN = ("IamInstanceProfile", "InstanceMarketOptions", "HibernationOptions")
"""What a launch template of a node group may not hold, since EKS sets it."""
PATTERNS = {
    "AL2023_x86_64_STANDARD": "amazon-eks-node-al2023-x86_64-standard-{version}-v{date}",
    "AL2023_ARM_64_STANDARD": "amazon-eks-node-al2023-arm64-standard-{version}-v{date}",
    "AL2023_x86_64_NVIDIA": "amazon-eks-node-al2023-x86_64-nvidia-{version}-v{date}",
    "AL2023_ARM_64_NVIDIA": "amazon-eks-node-al2023-arm64-nvidia-{version}-v{date}",
    "AL2023_x86_64_NEURON": "amazon-eks-node-al2023-x86_64-neuron-{version}-v{date}",
}
"""Name of the image of each AMI type that is played."""


def release_version(version: str) -> str:
    """Release of the images of a version, such as "1.36.0-20261105"."""
    return f"{versions.patch(version)}-{images.DATES[-1]}"


def template_of(cloud: Cloud, wanted: dict[str, str]) -> dict[str, str]:
    """The launch template that a group names, as its description shows it.

    Raises:
        AwsError: It does not exist, or holds what EKS sets itself.
    """
    version = _resolve(cloud, wanted)
    if held := [name for name in FORBIDDEN if version.content.get(name)]:
        raise errors.bad_request(
            f"Launch template {version.template_id} should not specify {', '.join(held)}: "
            "EKS sets it for the node group"
        )
    return {
        "id": version.template_id,
        "name": version.template_name,
        "version": str(version.number),
    }


def _resolve(cloud: Cloud, wanted: dict[str, str]) -> templates.Version:
    specification = {"Version": wanted.get("version") or "$Default"}
    if "id" in wanted:
        specification["LaunchTemplateId"] = wanted["id"]
    else:
        specification["LaunchTemplateName"] = wanted["name"]
    try:
        return templates.resolve(cloud, specification)
    except AwsError as error:
        raise errors.bad_request(error.message) from error


def check(cloud: Cloud, found: Cluster, group: NodeGroup) -> None:
    """Refuse a group whose instances could never be launched.

    Raises:
        AwsError: The AMI type is not played, or an instance type does not exist or does not suit it.
    """
    merged = _merged(cloud, found, group, "t3.medium")
    image = cloud.ec2.amis.get(merged["ImageId"])
    for name in _types(group, merged):
        if facts.description(name) is None:
            raise errors.bad_request(f"[{name}] is not a valid instance type")
        if image is not None and image.architecture not in facts.architectures(name):
            raise errors.bad_parameter(
                f"[{name}] is not a valid instance type for requested amiType "
                f"{group.description['amiType']}"
            )


def _types(group: NodeGroup, merged: dict[str, Any]) -> list[str]:
    named: list[str] = group.description.get("instanceTypes") or []
    return named or [str(merged.get("InstanceType") or "t3.medium")]


def living(cloud: Cloud, group: NodeGroup, *, also_ending: bool = False) -> list[Any]:
    """Moto's instances of the group that still live, oldest first."""
    known = {
        str(instance.id): instance
        for reservation in cloud.ec2.reservations.values()
        for instance in reservation.instances
    }
    gone = ("terminated",) if also_ending else lifecycle.ENDED
    return [
        known[instance_id]
        for instance_id in group.instance_ids
        if instance_id in known and known[instance_id].state not in gone
    ]


def is_complete(cloud: Cloud, group: NodeGroup) -> bool:
    """Whether as many instances run as are wanted."""
    running = [one for one in living(cloud, group) if one.state == "running"]
    return len(running) >= group.description["scalingConfig"]["desiredSize"]


def end_all(cloud: Cloud, doomed: list[Any]) -> None:
    """Terminate instances."""
    for instance in doomed:
        lifecycle.end(cloud, instance)


def reconcile(cloud: Cloud, found: Cluster, group: NodeGroup) -> None:
    """Launch what is missing, terminate what is too much, the oldest first."""
    alive = living(cloud, group)
    wanted = group.description["scalingConfig"]["desiredSize"]
    if len(alive) > wanted:
        end_all(cloud, alive[: len(alive) - wanted])
    elif len(alive) < wanted and group.description["status"] != "UPDATING":
        launch_more(cloud, found, group, wanted - len(alive))


def launch_more(cloud: Cloud, found: Cluster, group: NodeGroup, count: int) -> None:
    """Launch instances over the group's subnets, evenly; what fails is tried again by the next look."""
    issues: list[dict[str, Any]] = []
    for _ in range(count):
        here = Counter(str(one.subnet_id) for one in living(cloud, group))
        subnets = sorted(group.description["subnets"], key=lambda subnet_id: here[subnet_id])
        refusal = _launch_one(cloud, found, group, subnets)
        if refusal is not None:
            issues = [
                {
                    "code": "AsgInstanceLaunchFailures",
                    "message": f"Could not launch On-Demand Instances. {refusal}",
                    "resourceIds": [group.description["resources"]["autoScalingGroups"][0]["name"]],
                }
            ]
            break
    group.description["health"] = {"issues": issues}


def _launch_one(cloud: Cloud, found: Cluster, group: NodeGroup, subnets: list[str]) -> str | None:
    """Launch one instance in the first subnet and type that allow it; gives the last refusal, or None."""
    spot = group.description["capacityType"] == "SPOT"
    capacity_type = facts.SPOT if spot else facts.ON_DEMAND
    refusal: str | None = None
    for name in _types(group, _merged(cloud, found, group, "t3.medium")):
        merged = _merged(cloud, found, group, name)
        for subnet_id in subnets:
            try:
                order = launch.prepare(
                    cloud,
                    {**merged, "SubnetId": subnet_id},
                    capacity_type=capacity_type,
                    extra_tags=_tags(group),
                )
                if cloud.weather.is_sold_out(name, order.place.zone, capacity_type):
                    raise instances.sold_out(name, order.place.zone)
                launched = launch.perform(cloud, order, 1)
            except (AwsError, ServiceException) as error:
                refusal = error.message
                continue
            group.instance_ids.extend(str(one.id) for one in launched)
            return None
    return refusal


def _tags(group: NodeGroup) -> dict[str, str]:
    cluster_name, name = group.description["clusterName"], group.description["nodegroupName"]
    return {
        "eks:cluster-name": cluster_name,
        "eks:nodegroup-name": name,
        "aws:eks:cluster-name": cluster_name,
        "aws:autoscaling:groupName": group.description["resources"]["autoScalingGroups"][0]["name"],
        f"kubernetes.io/cluster/{cluster_name}": "owned",
        f"k8s.io/cluster-autoscaler/{cluster_name}": "owned",
    }


def _merged(cloud: Cloud, found: Cluster, group: NodeGroup, name: str) -> dict[str, Any]:
    """What RunInstances is asked for: EKS's own choices, and the group's launch template on top."""
    description = group.description
    content: dict[str, Any] = {}
    if "launchTemplate" in description:
        content = dict(_resolve(cloud, description["launchTemplate"]).content)
    interfaces = [{"DeviceIndex": 0, **one} for one in content.pop("NetworkInterfaces", [])]
    groups = interfaces[0].get("Groups") if interfaces else content.pop("SecurityGroupIds", None)
    device = {"VolumeSize": description.get("diskSize", 20), "VolumeType": "gp3"}
    own: dict[str, Any] = {
        "SecurityGroupIds": groups or [found.security_group_id],
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": device}],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        "IamInstanceProfile": {"Name": group.profile_name} if group.profile_name else None,
        "InstanceType": name,
    }
    if content.get("ImageId"):
        description["amiType"] = "CUSTOM"
        return {**templates.merge(own, content), "InstanceType": name}
    image = _image(description)
    extra = base64.b64decode(content.pop("UserData", None) or "").decode()
    labels = {
        **description["labels"],
        "eks.amazonaws.com/nodegroup": description["nodegroupName"],
        "eks.amazonaws.com/nodegroup-image": image.image_id,
        "eks.amazonaws.com/capacityType": description["capacityType"],
    }
    user_data = node_config.render(
        found.description,
        instance_type=name,
        labels=labels,
        taints=description["taints"],
        extra=extra,
    )
    merged = templates.merge(own, content)
    merged["InstanceType"] = name
    merged["ImageId"] = image.image_id
    merged["UserData"] = base64.b64encode(user_data.encode()).decode()
    return merged


def _image(description: dict[str, Any]) -> images.Image:
    pattern = PATTERNS.get(description["amiType"])
    if pattern is None:
        raise errors.bad_parameter(
            f"AMI type {description['amiType']!r} is not played here: {', '.join(PATTERNS)}"
        )
    name = pattern.format(version=description["version"], date=images.DATES[-1])
    return next(image for image in images.catalogue() if image.name == name)
