# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Clusters: create, describe, list, update, delete.

Every cluster shows the endpoint, certificate authority, issuer and service addresses of the laptop's one
control plane. The subnets are looked at as EKS does; the control plane's own interfaces in
them are no more than placeholders.
"""

import base64
import re
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import access, errors, identity, lookup, network, updates, versions
from daiku_local.aws.eks.records import Cluster
from daiku_local.aws.errors import AwsError

NAME = re.compile(r"^[0-9A-Za-z][A-Za-z0-9\-_]{0,99}$")
SERVICES_V6 = "fd00:ec2:0:1::/108"
"""Range of Services of IPv6 clusters; EKS chooses one of fc00::/7 for each."""
LOG_TYPES = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
UPDATE_KINDS = {
    "resourcesVpcConfig": "EndpointAccessUpdate",
    "logging": "LoggingUpdate",
    "accessConfig": "AccessConfigUpdate",
    "upgradePolicy": "UpgradePolicyUpdate",
    "zonalShiftConfig": "ZonalShiftConfigUpdate",
    "deletionProtection": "DeletionProtectionUpdate",
    "controlPlaneScalingConfig": "ControlPlaneScalingConfigUpdate",
}


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateCluster."""
    name = str(asked["name"])
    if not NAME.match(name):
        raise errors.bad_parameter(
            f"The cluster name {name!r} must match {NAME.pattern}", clusterName=name
        )
    if name in cloud.clusters.by_name:
        raise errors.in_use(f"Cluster already exists with name: {name}", clusterName=name)
    version = versions.check(str(asked.get("version") or versions.DEFAULT))
    identity.check_role(cloud, asked["roleArn"], "eks.amazonaws.com")
    wanted: dict[str, Any] = asked["resourcesVpcConfig"]
    vpc_id = network.vpc_of(cloud, wanted.get("subnetIds", []), zones_least=2)
    authority = _certificate_authority(cloud)
    group_id = network.make_security_group(cloud, name, vpc_id)
    description = {
        **_fixed(cloud, asked, name, version),
        "resourcesVpcConfig": _vpc_config(wanted, vpc_id, group_id),
        "certificateAuthority": {"data": authority},
    }
    interface_ids = network.make_interfaces(cloud, name, wanted["subnetIds"], group_id)
    found = Cluster(
        description=description, security_group_id=group_id, interface_ids=interface_ids
    )
    cloud.clusters.by_name[name] = found
    access.bootstrap(cloud, found, asked)

    def finish() -> None:
        if description["status"] == "CREATING":
            description["status"] = "ACTIVE"

    cloud.timeline.after(cloud.weather.forecast.control_plane_seconds, finish)
    return describe(cloud, asked)


def _fixed(cloud: Cloud, asked: Asked, name: str, version: str) -> dict[str, Any]:
    world = cloud.world
    access_config = {
        "bootstrapClusterCreatorAdminPermissions": True,
        "authenticationMode": "CONFIG_MAP",
        **(asked.get("accessConfig") or {}),
    }
    optional = ("zonalShiftConfig", "remoteNetworkConfig", "controlPlaneScalingConfig")
    return {
        "name": name,
        "arn": f"arn:aws:eks:{world.region}:{world.account}:cluster/{name}",
        "createdAt": cloud.now(),
        "version": version,
        "endpoint": world.kubernetes_endpoint,
        "roleArn": asked["roleArn"],
        "kubernetesNetworkConfig": _addresses(asked, world.service_cidr),
        "logging": _logging(asked.get("logging"), None),
        "identity": {"oidc": {"issuer": world.service_account_issuer}},
        "status": "CREATING",
        "platformVersion": versions.PLATFORM,
        "tags": dict(asked.get("tags") or {}),
        "encryptionConfig": asked.get("encryptionConfig") or [],
        "health": {"issues": []},
        "accessConfig": access_config,
        "upgradePolicy": {"supportType": "EXTENDED", **(asked.get("upgradePolicy") or {})},
        "deletionProtection": bool(asked.get("deletionProtection")),
        **{member: asked[member] for member in optional if member in asked},
    }


def _addresses(asked: Asked, service_cidr: str) -> dict[str, Any]:
    """Addresses of pods and Services; those of IPv6 are of AWS' own unique local range."""
    family = (asked.get("kubernetesNetworkConfig") or {}).get("ipFamily") or "ipv4"
    services = (
        {"serviceIpv6Cidr": SERVICES_V6} if family == "ipv6" else {"serviceIpv4Cidr": service_cidr}
    )
    return {"ipFamily": family, **services, "elasticLoadBalancing": {"enabled": False}}


def _vpc_config(wanted: dict[str, Any], vpc_id: str, group_id: str) -> dict[str, Any]:
    config = {
        "subnetIds": list(wanted["subnetIds"]),
        "securityGroupIds": list(wanted.get("securityGroupIds") or []),
        "clusterSecurityGroupId": group_id,
        "vpcId": vpc_id,
        "endpointPublicAccess": wanted.get("endpointPublicAccess", True),
        "endpointPrivateAccess": wanted.get("endpointPrivateAccess", False),
        "publicAccessCidrs": list(wanted.get("publicAccessCidrs") or ["0.0.0.0/0"]),
    }
    if not config["endpointPublicAccess"]:
        config["publicAccessCidrs"] = []
        if not config["endpointPrivateAccess"]:
            raise errors.bad_parameter("Private and public endpoint access cannot be false")
    return config


def _logging(wanted: dict[str, Any] | None, current: dict[str, Any] | None) -> dict[str, Any]:
    """Which log types are on: what was on before, changed by what is asked for."""
    on = {
        kind
        for setup in (current or {}).get("clusterLogging", [])
        if setup["enabled"]
        for kind in setup["types"]
    }
    for setup in (wanted or {}).get("clusterLogging", []):
        kinds = set(setup.get("types", []))
        on = on | kinds if setup.get("enabled") else on - kinds
    groups = [(True, [kind for kind in LOG_TYPES if kind in on])]
    groups.append((False, [kind for kind in LOG_TYPES if kind not in on]))
    return {
        "clusterLogging": [
            {"types": kinds, "enabled": enabled} for enabled, kinds in groups if kinds
        ]
    }


def _certificate_authority(cloud: Cloud) -> str:
    path = cloud.world.pki / "ca.crt"
    try:
        return base64.b64encode(path.read_bytes()).decode()
    except FileNotFoundError:
        raise AwsError(
            "ServerException",
            f"the laptop's control plane has no certificate authority at {path}: is it up?",
            status=500,
        ) from None


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeCluster."""
    description = lookup.cluster(cloud, asked["name"]).description
    if description["status"] != "CREATING":
        return {"cluster": description}
    late = ("endpoint", "identity")
    shown = {name: value for name, value in description.items() if name not in late}
    return {"cluster": {**shown, "certificateAuthority": {}}}


def list_names(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListClusters."""
    return lookup.page(sorted(cloud.clusters.by_name), asked, "clusters")


def update_config(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdateClusterConfig: one kind of change a call."""
    found = lookup.ready_cluster(cloud, asked["name"])
    changed = [member for member in UPDATE_KINDS if member in asked]
    if not changed:
        raise errors.bad_parameter("The type for cluster update was not provided.")
    if len(changed) > 1:
        raise errors.bad_parameter("Only one type of update can be allowed.")
    member = changed[0]
    wanted = asked[member]
    description = found.description
    if member == "resourcesVpcConfig":
        before = description[member]
        description[member] = _vpc_config(
            {**before, **wanted}, before["vpcId"], found.security_group_id
        )
    elif member == "logging":
        description[member] = _logging(wanted, description[member])
    elif member == "accessConfig":
        access.check_mode_change(description[member], wanted)
        description[member] = {**description[member], **wanted}
    else:
        description[member] = wanted
    name = member[0].upper() + member[1:]
    return updates.begin(
        cloud, found, kind=UPDATE_KINDS[member], parameters={name: wanted}, resource=description
    )


def update_version(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdateClusterVersion."""
    found = lookup.ready_cluster(cloud, asked["name"])
    current = found.description["version"]
    wanted = versions.check(str(asked["version"]))
    if not versions.is_next(current, wanted):
        raise errors.bad_parameter(
            f"Unsupported Kubernetes minor version update from {current} to {wanted}",
            clusterName=asked["name"],
        )
    found.description["version"] = wanted
    return updates.begin(
        cloud,
        found,
        kind="VersionUpdate",
        parameters={"Version": wanted, "PlatformVersion": versions.PLATFORM},
        resource=found.description,
    )


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeleteCluster."""
    name = asked["name"]
    found = lookup.cluster(cloud, name)
    description = found.description
    if description["deletionProtection"]:
        raise errors.bad_request(
            f"Cluster {name} has deletion protection enabled: disable it first", clusterName=name
        )
    if found.node_groups:
        raise errors.in_use("Cluster has nodegroups attached", clusterName=name)
    if description["status"] in ("CREATING", "UPDATING"):
        raise errors.in_use(
            f"Cluster has status {description['status']}, cannot be deleted now", clusterName=name
        )
    if description["status"] != "DELETING":
        description["status"] = "DELETING"

        def finish() -> None:
            network.remove_interfaces(cloud, found.interface_ids)
            network.remove_security_group(cloud, found.security_group_id)
            cloud.clusters.by_name.pop(name, None)

        cloud.timeline.after(cloud.weather.forecast.control_plane_seconds, finish)
    return {"cluster": description}


HANDLERS = {
    "CreateCluster": create,
    "DescribeCluster": describe,
    "ListClusters": list_names,
    "UpdateClusterConfig": update_config,
    "UpdateClusterVersion": update_version,
    "DeleteCluster": delete,
}
