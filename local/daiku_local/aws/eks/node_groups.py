# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Managed node groups: create, describe, list, scale, update, delete.

A group is ACTIVE once its instances run; the real service waits until their Nodes are Ready. Labels and taints
that change later reach new instances only, and deleting a group drains no Node.
"""

import uuid
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import access, errors, fleet, identity, lookup, network, updates, versions
from daiku_local.aws.eks.records import Cluster, NodeGroup

SCALING = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
AMI_TYPE = "AL2023_x86_64_STANDARD"
LOOK_AGAIN_SECONDS = 1.0


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateNodegroup."""
    cluster_name, name = asked["clusterName"], asked["nodegroupName"]
    found = lookup.ready_cluster(cloud, cluster_name)
    if name in found.node_groups:
        raise errors.in_use(
            f"NodeGroup already exists with name {name} and cluster name {cluster_name}",
            clusterName=cluster_name,
            nodegroupName=name,
        )
    role = identity.check_role(cloud, asked["nodeRole"], "ec2.amazonaws.com")
    vpc_id = network.vpc_of(cloud, asked["subnets"], zones_least=1)
    if vpc_id != found.description["resourcesVpcConfig"]["vpcId"]:
        raise errors.bad_parameter(f"Subnets {asked['subnets']} are not in the cluster's VPC")
    group = NodeGroup(description=_description(cloud, found, asked))
    fleet.check(cloud, found, group)
    group.profile_name = _make_profile(cloud, role)
    found.node_groups[name] = group
    if access.uses_api(found) and asked["nodeRole"] not in found.access_entries:
        access.add(cloud, found, asked["nodeRole"], "EC2_LINUX")
    fleet.reconcile(cloud, found, group)
    _watch(cloud, found, group)
    return {"nodegroup": group.description}


def _description(cloud: Cloud, found: Cluster, asked: Asked) -> dict[str, Any]:
    world = cloud.world
    cluster_name, name = asked["clusterName"], asked["nodegroupName"]
    unique = str(uuid.uuid4())
    version = versions.check(str(asked.get("version") or found.description["version"]))
    description: dict[str, Any] = {
        "nodegroupName": name,
        "nodegroupArn": f"arn:aws:eks:{world.region}:{world.account}:nodegroup/"
        f"{cluster_name}/{name}/{unique}",
        "clusterName": cluster_name,
        "version": version,
        "releaseVersion": fleet.release_version(version),
        "createdAt": cloud.now(),
        "modifiedAt": cloud.now(),
        "status": "CREATING",
        "capacityType": asked.get("capacityType") or "ON_DEMAND",
        "scalingConfig": _scaling(SCALING, asked.get("scalingConfig")),
        "subnets": asked["subnets"],
        "amiType": asked.get("amiType") or AMI_TYPE,
        "nodeRole": asked["nodeRole"],
        "labels": dict(asked.get("labels") or {}),
        "taints": list(asked.get("taints") or []),
        "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{unique}"}]},
        "health": {"issues": []},
        "updateConfig": asked.get("updateConfig") or {"maxUnavailable": 1},
        "nodeRepairConfig": asked.get("nodeRepairConfig") or {"enabled": False},
        "tags": dict(asked.get("tags") or {}),
    }
    if template := asked.get("launchTemplate"):
        description["launchTemplate"] = fleet.template_of(cloud, template)
    else:
        description["diskSize"] = asked.get("diskSize") or 20
    if asked.get("instanceTypes") or not template:
        description["instanceTypes"] = asked.get("instanceTypes") or ["t3.medium"]
    if asked.get("remoteAccess"):
        description["remoteAccess"] = asked["remoteAccess"]
    return description


def _scaling(before: dict[str, int], wanted: dict[str, int] | None) -> dict[str, int]:
    scaling = {**before, **(wanted or {})}
    if not 0 <= scaling["minSize"] <= scaling["desiredSize"] <= scaling["maxSize"]:
        raise errors.bad_parameter(
            f"minSize {scaling['minSize']} <= desiredSize {scaling['desiredSize']} <= "
            f"maxSize {scaling['maxSize']} does not hold"
        )
    return scaling


def _make_profile(cloud: Cloud, role: Any) -> str:
    name = f"eks-{uuid.uuid4()}"
    cloud.iam.create_instance_profile(name=name, path="/", role_names=[role.name], tags=[])
    return name


def _watch(cloud: Cloud, found: Cluster, group: NodeGroup) -> None:
    """Keep the group at its size, as its auto scaling group does, until it is deleted."""
    description = group.description

    def look() -> None:
        if description["status"] == "DELETING":
            _finish_deletion(cloud, found, group)
        else:
            fleet.reconcile(cloud, found, group)
            if description["status"] == "CREATING" and fleet.is_complete(cloud, group):
                description["status"] = "ACTIVE"
        if found.node_groups.get(description["nodegroupName"]) is group:
            steady = description["status"] == "ACTIVE"
            step = (
                LOOK_AGAIN_SECONDS if steady else cloud.weather.forecast.control_plane_seconds / 2
            )
            cloud.timeline.after(max(step, 0.05), look)

    cloud.timeline.after(cloud.weather.forecast.control_plane_seconds, look)


def _finish_deletion(cloud: Cloud, found: Cluster, group: NodeGroup) -> None:
    if fleet.living(cloud, group, also_ending=True):
        return
    profile = cloud.iam.get_instance_profile(group.profile_name)
    for role in list(profile.roles):
        cloud.iam.remove_role_from_instance_profile(group.profile_name, role.name)
    cloud.iam.delete_instance_profile(group.profile_name)
    del found.node_groups[group.description["nodegroupName"]]


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeNodegroup."""
    found = lookup.cluster(cloud, asked["clusterName"])
    return {"nodegroup": lookup.node_group(found, asked["nodegroupName"]).description}


def list_names(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListNodegroups."""
    found = lookup.cluster(cloud, asked["clusterName"])
    return lookup.page(sorted(found.node_groups), asked, "nodegroups")


def _changeable(cloud: Cloud, asked: Asked) -> tuple[Cluster, NodeGroup]:
    found = lookup.cluster(cloud, asked["clusterName"])
    group = lookup.node_group(found, asked["nodegroupName"])
    status = group.description["status"]
    if status not in ("ACTIVE", "DEGRADED"):
        raise errors.in_use(
            f"Nodegroup {asked['nodegroupName']} has status {status}: it cannot be changed now",
            nodegroupName=asked["nodegroupName"],
        )
    return found, group


def update_config(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdateNodegroupConfig."""
    found, group = _changeable(cloud, asked)
    description = group.description
    parameters: dict[str, Any] = {}
    if wanted := asked.get("scalingConfig"):
        description["scalingConfig"] = _scaling(description["scalingConfig"], wanted)
        parameters.update({key[0].upper() + key[1:]: value for key, value in wanted.items()})
    if wanted := asked.get("labels"):
        kept = {**description["labels"], **wanted.get("addOrUpdateLabels", {})}
        for key in wanted.get("removeLabels", []):
            kept.pop(key, None)
        description["labels"] = kept
        parameters["LabelsToAdd"] = wanted
    if wanted := asked.get("taints"):
        description["taints"] = _taints(description["taints"], wanted)
        parameters["TaintsToAdd"] = wanted
    for member in ("updateConfig", "nodeRepairConfig"):
        if asked.get(member):
            description[member] = asked[member]
    description["modifiedAt"] = cloud.now()
    fleet.reconcile(cloud, found, group)
    return updates.begin(
        cloud,
        found,
        kind="ConfigUpdate",
        parameters=parameters,
        resource=description,
        part=asked["nodegroupName"],
    )


def _taints(before: list[dict[str, str]], wanted: dict[str, Any]) -> list[dict[str, str]]:
    """Taints after a change; key and effect together name one."""
    kept = {(taint["key"], taint["effect"]): taint for taint in before}
    for taint in wanted.get("removeTaints", []):
        kept.pop((taint["key"], taint["effect"]), None)
    for taint in wanted.get("addOrUpdateTaints", []):
        kept[taint["key"], taint["effect"]] = taint
    return list(kept.values())


def update_version(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdateNodegroupVersion: every instance is replaced at once, new ones first."""
    found, group = _changeable(cloud, asked)
    description = group.description
    version = versions.check(str(asked.get("version") or found.description["version"]))
    description["version"] = version
    description["releaseVersion"] = fleet.release_version(version)
    if template := asked.get("launchTemplate"):
        description["launchTemplate"] = fleet.template_of(cloud, template)
    old = fleet.living(cloud, group)
    fleet.launch_more(cloud, found, group, description["scalingConfig"]["desiredSize"])
    return updates.begin(
        cloud,
        found,
        kind="VersionUpdate",
        parameters={"Version": version, "ReleaseVersion": description["releaseVersion"]},
        resource=description,
        part=asked["nodegroupName"],
        done=lambda: fleet.end_all(cloud, old),
    )


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeleteNodegroup."""
    found = lookup.cluster(cloud, asked["clusterName"])
    group = lookup.node_group(found, asked["nodegroupName"])
    if group.description["status"] != "DELETING":
        group.description["status"] = "DELETING"
        fleet.end_all(cloud, fleet.living(cloud, group))
    return {"nodegroup": group.description}


HANDLERS = {
    "CreateNodegroup": create,
    "DescribeNodegroup": describe,
    "ListNodegroups": list_names,
    "UpdateNodegroupConfig": update_config,
    "UpdateNodegroupVersion": update_version,
    "DeleteNodegroup": delete,
}
