"""Add-ons: the API around them. Their pods are not run; an add-on is ACTIVE after a moment."""

import uuid
from typing import Any

import yaml

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import errors, identity, lookup, pod_identity, updates, versions
from daiku_local.aws.eks.records import Cluster

CATALOGUE: dict[str, tuple[str, tuple[str, ...]]] = {
    "vpc-cni": ("networking", ("v1.21.1-eksbuild.1", "v1.20.4-eksbuild.2")),
    "coredns": ("networking", ("v1.13.1-eksbuild.1", "v1.12.4-eksbuild.1")),
    "kube-proxy": ("networking", ("v{version}.4-eksbuild.2", "v{version}.1-eksbuild.2")),
    "eks-pod-identity-agent": ("security", ("v1.3.10-eksbuild.1", "v1.3.9-eksbuild.3")),
    "aws-ebs-csi-driver": ("storage", ("v1.53.0-eksbuild.1", "v1.52.1-eksbuild.1")),
    "metrics-server": ("observability", ("v0.8.0-eksbuild.5", "v0.8.0-eksbuild.3")),
}
"""For each add-on: its type and its versions, the newest first; the second is the default."""


def versions_of(name: str, version: str) -> list[str]:
    """Versions of an add-on for a version of Kubernetes, the newest first."""
    return [text.format(version=version) for text in CATALOGUE[name][1]]


def _checked_version(found: Cluster, name: str, wanted: str | None) -> str:
    kubernetes = found.description["version"]
    if name not in CATALOGUE:
        raise errors.bad_parameter(f"Addon {name} specified is not supported", addonName=name)
    known = versions_of(name, kubernetes)
    if wanted and wanted not in known:
        raise errors.bad_parameter(
            f"Addon version {wanted} of {name} is not supported in {kubernetes}: {', '.join(known)}",
            addonName=name,
        )
    return wanted or known[1]


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateAddon."""
    world = cloud.world
    found = lookup.ready_cluster(cloud, asked["clusterName"])
    cluster_name, name = asked["clusterName"], asked["addonName"]
    if name in found.addons:
        raise errors.in_use(
            f"Addon already exists: {name}", clusterName=cluster_name, addonName=name
        )
    addon: dict[str, Any] = {
        "addonName": name,
        "clusterName": cluster_name,
        "status": "CREATING",
        "addonVersion": _checked_version(found, name, asked.get("addonVersion")),
        "health": {"issues": []},
        "addonArn": f"arn:aws:eks:{world.region}:{world.account}:addon/{cluster_name}/{name}/"
        f"{uuid.uuid4()}",
        "createdAt": cloud.now(),
        "modifiedAt": cloud.now(),
        "tags": dict(asked.get("tags") or {}),
        "podIdentityAssociations": [],
        "namespaceConfig": asked.get("namespaceConfig") or {"namespace": "kube-system"},
    }
    _configure(cloud, found, addon, asked)
    found.addons[name] = addon

    def finish() -> None:
        if addon["status"] == "CREATING":
            addon["status"] = "ACTIVE"

    cloud.timeline.after(cloud.weather.forecast.control_plane_seconds, finish)
    return {"addon": addon}


def _configure(cloud: Cloud, found: Cluster, addon: dict[str, Any], asked: Asked) -> None:
    if arn := asked.get("serviceAccountRoleArn"):
        if identity.role_by_arn(cloud, arn) is None:
            raise errors.bad_parameter(f"The role {arn} does not exist")
        addon["serviceAccountRoleArn"] = arn
    if (text := asked.get("configurationValues")) is not None:
        _check_configuration(text, addon["addonName"])
        addon["configurationValues"] = text
    if (wanted := asked.get("podIdentityAssociations")) is not None:
        pod_identity.remove_owned(found, addon["addonArn"])
        namespace = addon["namespaceConfig"]["namespace"]
        addon["podIdentityAssociations"] = [
            pod_identity.add(
                cloud, found, Asked({"namespace": namespace, **one}), owner=addon["addonArn"]
            )["associationArn"]
            for one in wanted
        ]


def _check_configuration(text: str, name: str) -> None:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise errors.bad_parameter(
            f"configurationValues of {name} cannot be read: {error}"
        ) from error
    if content is not None and not isinstance(content, dict):
        raise errors.bad_parameter(f"configurationValues of {name} must be an object: {text!r}")


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeAddon."""
    found = lookup.cluster(cloud, asked["clusterName"])
    return {"addon": lookup.addon(found, asked["addonName"])}


def list_names(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListAddons."""
    found = lookup.cluster(cloud, asked["clusterName"])
    return lookup.page(sorted(found.addons), asked, "addons")


def update(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdateAddon."""
    found = lookup.cluster(cloud, asked["clusterName"])
    addon = lookup.addon(found, asked["addonName"])
    if addon["status"] != "ACTIVE":
        raise errors.in_use(f"Addon {asked['addonName']} has status {addon['status']}")
    wanted = asked.get("addonVersion") or addon["addonVersion"]
    addon["addonVersion"] = _checked_version(found, asked["addonName"], wanted)
    _configure(cloud, found, addon, asked)
    addon["modifiedAt"] = cloud.now()
    return updates.begin(
        cloud,
        found,
        kind="AddonUpdate",
        parameters={"AddonVersion": addon["addonVersion"]},
        resource=addon,
        part=asked["addonName"],
    )


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeleteAddon."""
    found = lookup.cluster(cloud, asked["clusterName"])
    addon = lookup.addon(found, asked["addonName"])
    if addon["status"] != "DELETING":
        addon["status"] = "DELETING"
        pod_identity.remove_owned(found, addon["addonArn"])

        def finish() -> None:
            found.addons.pop(asked["addonName"], None)

        cloud.timeline.after(
            cloud.weather.forecast.control_plane_seconds,
            finish,
        )
    return {"addon": addon}


def describe_versions(_cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeAddonVersions."""
    wanted = asked.get("kubernetesVersion")
    names = [asked["addonName"]] if asked.get("addonName") else sorted(CATALOGUE)
    kubernetes = [wanted] if wanted else list(versions.SUPPORT)
    known = [name for name in names if name in CATALOGUE]
    page = lookup.page(known, asked, "addons")
    page["addons"] = [_info(name, kubernetes) for name in page["addons"]]
    return page


def _info(name: str, kubernetes: list[str]) -> dict[str, Any]:
    compatible: dict[str, list[dict[str, Any]]] = {}
    for version in kubernetes:
        for position, text in enumerate(versions_of(name, version)):
            compatible.setdefault(text, []).append(
                {
                    "clusterVersion": version,
                    "platformVersions": ["*"],
                    "defaultVersion": position == 1,
                }
            )
    return {
        "addonName": name,
        "type": CATALOGUE[name][0],
        "publisher": "eks",
        "owner": "aws",
        "defaultNamespace": "kube-system",
        "addonVersions": [
            {
                "addonVersion": text,
                "architecture": ["amd64", "arm64"],
                "computeTypes": ["ec2", "fargate"],
                "compatibilities": rows,
                "requiresConfiguration": False,
                "requiresIamPermissions": name in ("vpc-cni", "aws-ebs-csi-driver"),
            }
            for text, rows in compatible.items()
        ],
    }


HANDLERS = {
    "CreateAddon": create,
    "DescribeAddon": describe,
    "ListAddons": list_names,
    "UpdateAddon": update,
    "DeleteAddon": delete,
    "DescribeAddonVersions": describe_versions,
}
