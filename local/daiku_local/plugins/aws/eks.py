"""EKS: the cluster and everything that is asked of the EKS API."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from collections.abc import Mapping
from typing import Any

import botocore.exceptions

from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud
from daiku_local.plugins.aws.kind import Kind, kind, names
from daiku_local.plugins.errors import ProviderError
from daiku_local.plugins.values import UNKNOWN, Plain

READY_SECONDS = 1200.0
"""EKS takes ten minutes for a cluster; the laptop's is there at once unless the weather says so."""


def api(cloud: Cloud) -> Any:
    """Give the client of EKS."""
    return cloud.client("eks")


def optional(inputs: Plain, names_of: Mapping[str, str]) -> dict[str, Any]:
    """Give the inputs that were given, under EKS's names."""
    return {
        theirs: inputs[ours] for ours, theirs in names_of.items() if inputs.get(ours) is not None
    }


def same(*words: str) -> dict[str, str]:
    """Give names that EKS and the SDK share."""
    return {word: word for word in words}


def await_status(read: Any, *, wanted: str, what: str) -> None:
    """Wait for a status; a failed one ends the waiting at once.

    Raises:
        ProviderError: It failed, or took too long.
    """

    def look() -> tuple[str, Any]:
        seen = clouds.eventually(read)
        return seen["status"], (seen.get("health") or {}).get("issues") or ""

    def done(answer: tuple[str, Any]) -> bool:
        if answer[0].endswith("FAILED") or answer[0] == "DEGRADED":
            raise ProviderError(f"{what} became {answer[0]} {answer[1]}")
        return answer[0] == wanted

    clouds.until(look, done, what=f"{what} is not {wanted}", seconds=READY_SECONDS)


def await_gone(read: Any, what: str) -> None:
    """Wait until EKS no longer knows it."""
    clouds.until(
        lambda: clouds.found(read),
        lambda seen: seen is None,
        what=f"{what} is not deleted",
        seconds=READY_SECONDS,
    )


class EksKind(Kind):
    """A resource type of EKS: they all are tagged by ARN."""

    tagged = True

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        del identifier
        if added:
            api(cloud).tag_resource(resourceArn=state["arn"], tags=added)
        if removed:
            api(cloud).untag_resource(resourceArn=state["arn"], tagKeys=removed)


_ACCESS = same("authenticationMode", "bootstrapClusterCreatorAdminPermissions")
_NETWORK = same("ipFamily", "serviceIpv4Cidr")
_ENDPOINT = same("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
_LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def _logging(enabled: list[str]) -> dict[str, Any]:
    groups = [{"types": sorted(enabled), "enabled": True}] if enabled else []
    rest = [word for word in _LOG_TYPES if word not in enabled]
    groups += [{"types": rest, "enabled": False}] if rest else []
    return {"clusterLogging": groups}


@kind("aws:eks/cluster:Cluster")
class Cluster(EksKind):
    """A cluster: on the laptop, the one control plane under the name that the program gives it."""

    fixed = names(
        "name roleArn encryptionConfig kubernetesNetworkConfig bootstrapSelfManagedAddons"
    )
    live = names(
        "vpcConfig accessConfig enabledClusterLogTypes version upgradePolicy deletionProtection "
        "zonalShiftConfig"
    )
    ignored = names("forceUpdateVersion defaultAddonsToRemoves")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        network = inputs["vpcConfig"]
        encryption = inputs.get("encryptionConfig")
        parameters = {
            **optional(inputs, same("version", "deletionProtection", "upgradePolicy")),
            **optional(inputs, same("bootstrapSelfManagedAddons", "zonalShiftConfig")),
            "kubernetesNetworkConfig": optional(
                inputs.get("kubernetesNetworkConfig") or {}, _NETWORK
            ),
            "accessConfig": optional(inputs.get("accessConfig") or {}, _ACCESS),
            "encryptionConfig": [encryption] if encryption else [],
        }
        answer = api(cloud).create_cluster(
            name=inputs["name"],
            roleArn=inputs["roleArn"],
            resourcesVpcConfig={
                "subnetIds": network["subnetIds"],
                "securityGroupIds": network.get("securityGroupIds") or [],
                **optional(network, _ENDPOINT),
            },
            logging=_logging(inputs.get("enabledClusterLogTypes") or []),
            tags=inputs.get("tagsAll") or {},
            **{key: value for key, value in parameters.items() if value not in ({}, [])},
        )
        return answer["cluster"]["name"]

    def preview(self, inputs: Plain) -> Plain:
        network = inputs.get("vpcConfig")
        if not isinstance(network, dict):
            return inputs
        made = {"clusterSecurityGroupId": UNKNOWN, "vpcId": UNKNOWN}
        return {**inputs, "vpcConfig": {**made, **network}}

    @staticmethod
    def _describe(cloud: Cloud, name: str) -> Any:
        return api(cloud).describe_cluster(name=name)["cluster"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        await_status(
            lambda: self._describe(cloud, identifier),
            wanted="ACTIVE",
            what=f"EKS cluster {identifier}",
        )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        network = new["vpcConfig"]
        changes: dict[str, dict[str, Any]] = {
            "vpcConfig": {
                "resourcesVpcConfig": optional(network, _ENDPOINT)
                | {
                    "subnetIds": network["subnetIds"],
                    "securityGroupIds": network.get("securityGroupIds") or [],
                }
            },
            "accessConfig": {
                "accessConfig": optional(new.get("accessConfig") or {}, same("authenticationMode"))
            },
            "enabledClusterLogTypes": {
                "logging": _logging(new.get("enabledClusterLogTypes") or [])
            },
            "upgradePolicy": {
                "upgradePolicy": new.get("upgradePolicy") or {"supportType": "EXTENDED"}
            },
            "deletionProtection": {"deletionProtection": bool(new.get("deletionProtection"))},
            "zonalShiftConfig": {
                "zonalShiftConfig": new.get("zonalShiftConfig") or {"enabled": False}
            },
        }
        # EKS takes one kind of change at a time, and the next one when that is done.
        for name in sorted(changed & changes.keys()):
            api(cloud).update_cluster_config(name=identifier, **changes[name])
            self.settle(cloud, identifier, new)
        if "version" in changed and new.get("version"):
            api(cloud).update_cluster_version(name=identifier, version=str(new["version"]))

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        cluster = self._describe(cloud, identifier)
        if cluster["status"] == "DELETING":
            return None
        network: Any = cluster.get("resourcesVpcConfig") or {}
        logged = [
            word
            for group in cluster.get("logging", {}).get("clusterLogging", ())
            if group.get("enabled")
            for word in group["types"]
        ]
        addresses = cluster.get("kubernetesNetworkConfig") or {}
        encryption = cluster.get("encryptionConfig") or [None]
        issuer = (cluster.get("identity") or {}).get("oidc", {}).get("issuer")
        return {
            "arn": cluster["arn"],
            "name": cluster["name"],
            "clusterId": None,
            "createdAt": str(cluster.get("createdAt")),
            "endpoint": cluster.get("endpoint"),
            "platformVersion": cluster.get("platformVersion"),
            "status": cluster["status"],
            "version": str(cluster["version"]),
            "roleArn": cluster["roleArn"],
            "certificateAuthority": cluster.get("certificateAuthority"),
            "certificateAuthorities": [cluster["certificateAuthority"]]
            if cluster.get("certificateAuthority")
            else None,
            "identities": [{"oidcs": [{"issuer": issuer}]}] if issuer else [],
            "vpcConfig": {
                "subnetIds": network.get("subnetIds", []),
                "securityGroupIds": network.get("securityGroupIds", []),
                "clusterSecurityGroupId": network.get("clusterSecurityGroupId"),
                "vpcId": network.get("vpcId"),
                **{name: network.get(name) for name in _ENDPOINT},
            },
            "accessConfig": cluster.get("accessConfig") or known.get("accessConfig"),
            "kubernetesNetworkConfig": {
                "ipFamily": addresses.get("ipFamily", "ipv4"),
                "serviceIpv4Cidr": addresses.get("serviceIpv4Cidr"),
                "serviceIpv6Cidr": addresses.get("serviceIpv6Cidr"),
            },
            "encryptionConfig": encryption[0],
            "enabledClusterLogTypes": sorted(logged),
            "upgradePolicy": cluster.get("upgradePolicy"),
            "deletionProtection": cluster.get("deletionProtection"),
            "zonalShiftConfig": cluster.get("zonalShiftConfig"),
            "tagsAll": cluster.get("tags") or {},
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        try:
            api(cloud).delete_cluster(name=identifier)
        except botocore.exceptions.ClientError as error:
            if not clouds.is_absent(error):
                raise
            return
        await_gone(lambda: self._describe(cloud, identifier), f"EKS cluster {identifier}")


_TAINTS = same("key", "value", "effect")
_SCALING = same("minSize", "maxSize", "desiredSize")
_UPDATE = same("maxUnavailable", "maxUnavailablePercentage", "updateStrategy")
_TEMPLATE = same("id", "name", "version")


@kind("aws:eks/nodeGroup:NodeGroup")
class NodeGroup(EksKind):
    """A managed node group."""

    fixed = names(
        "clusterName nodeGroupName nodeGroupNamePrefix nodeRoleArn subnetIds amiType capacityType "
        "diskSize instanceTypes remoteAccess"
    )
    live = names(
        "scalingConfig labels taints updateConfig version releaseVersion launchTemplate "
        "nodeRepairConfig"
    )
    ignored = names("forceUpdateVersion")
    named = "nodeGroupName"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        parameters = {
            **optional(inputs, same("amiType", "capacityType", "diskSize", "instanceTypes")),
            **optional(inputs, same("labels", "releaseVersion", "version", "nodeRepairConfig")),
            "updateConfig": optional(inputs.get("updateConfig") or {}, _UPDATE),
            "launchTemplate": optional(inputs.get("launchTemplate") or {}, _TEMPLATE),
            "taints": [optional(taint, _TAINTS) for taint in inputs.get("taints") or ()],
        }
        api(cloud).create_nodegroup(
            clusterName=inputs["clusterName"],
            nodegroupName=inputs["nodeGroupName"],
            nodeRole=inputs["nodeRoleArn"],
            subnets=inputs["subnetIds"],
            scalingConfig=optional(inputs["scalingConfig"], _SCALING),
            tags=inputs.get("tagsAll") or {},
            **{key: value for key, value in parameters.items() if value not in ({}, [])},
        )
        return f"{inputs['clusterName']}:{inputs['nodeGroupName']}"

    @staticmethod
    def _describe(cloud: Cloud, identifier: str) -> Any:
        cluster, _, name = identifier.partition(":")
        return api(cloud).describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        await_status(
            lambda: self._describe(cloud, identifier),
            wanted="ACTIVE",
            what=f"node group {identifier}",
        )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        cluster, _, name = identifier.partition(":")
        which = {"clusterName": cluster, "nodegroupName": name}
        if changed & {"scalingConfig", "labels", "taints", "updateConfig", "nodeRepairConfig"}:
            seen = self._describe(cloud, identifier)
            labels, taints = new.get("labels") or {}, new.get("taints") or []
            wanted = [optional(taint, _TAINTS) for taint in taints]
            parameters = {
                "updateConfig": optional(new.get("updateConfig") or {}, _UPDATE),
                "nodeRepairConfig": new.get("nodeRepairConfig"),
            }
            api(cloud).update_nodegroup_config(
                **which,
                labels={
                    "addOrUpdateLabels": labels,
                    "removeLabels": sorted((seen.get("labels") or {}).keys() - labels.keys()),
                },
                taints={
                    "addOrUpdateTaints": wanted,
                    "removeTaints": [t for t in seen.get("taints") or () if t not in wanted],
                },
                scalingConfig=optional(new["scalingConfig"], _SCALING),
                **{key: value for key, value in parameters.items() if value},
            )
        if changed & {"version", "releaseVersion", "launchTemplate"}:
            parameters = optional(new, same("version", "releaseVersion"))
            if new.get("launchTemplate"):
                parameters["launchTemplate"] = optional(new["launchTemplate"], _TEMPLATE)
            api(cloud).update_nodegroup_version(**which, **parameters)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        group = self._describe(cloud, identifier)
        if group["status"] == "DELETING":
            return None
        groups = (group.get("resources") or {}).get("autoScalingGroups") or []
        return {
            "arn": group["nodegroupArn"],
            "clusterName": group["clusterName"],
            "nodeGroupName": group["nodegroupName"],
            "nodeRoleArn": group["nodeRole"],
            "subnetIds": group["subnets"],
            "status": group["status"],
            "version": str(group.get("version")),
            "releaseVersion": group.get("releaseVersion"),
            "amiType": group.get("amiType"),
            "capacityType": group.get("capacityType"),
            "diskSize": group.get("diskSize"),
            "instanceTypes": group.get("instanceTypes") or [],
            "labels": group.get("labels") or {},
            "taints": group.get("taints") or [],
            "scalingConfig": group.get("scalingConfig"),
            "updateConfig": group.get("updateConfig"),
            "nodeRepairConfig": group.get("nodeRepairConfig"),
            "launchTemplate": group.get("launchTemplate"),
            "resources": [{"autoscalingGroups": [{"name": g["name"]} for g in groups]}],
            "tagsAll": group.get("tags") or {},
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cluster, _, name = identifier.partition(":")
        try:
            api(cloud).delete_nodegroup(clusterName=cluster, nodegroupName=name)
        except botocore.exceptions.ClientError as error:
            if not clouds.is_absent(error):
                raise
            return
        await_gone(lambda: self._describe(cloud, identifier), f"node group {identifier}")
