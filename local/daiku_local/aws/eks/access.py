"""Access entries: which IAM principal is whom in the cluster.

An entry of type EC2_LINUX is what lets an instance of that role join; the boot of the laptop world asks for it.
The rights of access policies are not enforced by the laptop's API server.
"""

import re
import uuid
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import errors, identity, lookup
from daiku_local.aws.eks.records import AccessEntry, Cluster

POLICY_PREFIX = "arn:aws:eks::aws:cluster-access-policy/"
POLICIES = [
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSAutoNodePolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSComputeClusterPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
]
ADMIN = f"{POLICY_PREFIX}AmazonEKSClusterAdminPolicy"
PRINCIPAL = re.compile(r"^arn:aws[\w-]*:iam::\d{12}:(?P<kind>role|user)/(?:.*/)?(?P<name>[^/]+)$")
NODE_TYPES = {
    "EC2_LINUX": ["system:nodes"],
    "EC2_WINDOWS": ["eks:kube-proxy-windows", "system:nodes"],
    "EC2": ["system:nodes"],
    "FARGATE_LINUX": ["system:node-proxier", "system:nodes"],
    "HYBRID_LINUX": ["system:nodes"],
}
"""Groups of the entry types that EKS gives nodes; such entries take no groups of their own."""
MODES = ["CONFIG_MAP", "API_AND_CONFIG_MAP", "API"]
"""Authentication modes, each of which can only be followed by a later one."""


def uses_api(found: Cluster) -> bool:
    """Whether the cluster looks at access entries."""
    return found.description["accessConfig"]["authenticationMode"] != "CONFIG_MAP"


def check_mode_change(current: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse to go back to an earlier authentication mode."""
    before, after = current["authenticationMode"], wanted.get("authenticationMode", MODES[-1])
    if MODES.index(after) < MODES.index(before):
        raise errors.bad_parameter(
            f"Unsupported authentication mode update from {before} to {after}"
        )


def bootstrap(cloud: Cloud, found: Cluster, asked: Asked) -> None:
    """Make whoever creates a cluster its administrator, unless that was declined."""
    wanted = found.description["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]
    if not wanted or not uses_api(found):
        return
    principal = identity.principal_of(cloud, asked.access_key)
    entry = add(cloud, found, principal, "STANDARD")
    entry.policies[ADMIN] = _association(cloud, ADMIN, {"type": "cluster", "namespaces": []})


def add(cloud: Cloud, found: Cluster, principal: str, kind: str) -> AccessEntry:
    """A new entry with the defaults of its type."""
    world = cloud.world
    parts = PRINCIPAL.match(principal)
    if parts is None:
        raise errors.bad_parameter("The principalArn parameter format is not valid")
    cluster_name = found.description["name"]
    path = (
        f"{cluster_name}/{parts['kind']}/{principal.split(':')[4]}/{parts['name']}/{uuid.uuid4()}"
    )
    is_node = kind in NODE_TYPES
    session = f"arn:aws:sts::{principal.split(':')[4]}:assumed-role/{parts['name']}"
    username = "system:node:{{EC2PrivateDNSName}}" if is_node else f"{session}/{{{{SessionName}}}}"
    if parts["kind"] == "user":
        username = principal
    entry = AccessEntry(
        description={
            "clusterName": cluster_name,
            "principalArn": principal,
            "kubernetesGroups": list(NODE_TYPES.get(kind, [])),
            "accessEntryArn": f"arn:aws:eks:{world.region}:{world.account}:access-entry/{path}",
            "createdAt": cloud.now(),
            "modifiedAt": cloud.now(),
            "tags": {},
            "username": username,
            "type": kind,
        }
    )
    found.access_entries[principal] = entry
    return entry


def _of_api_cluster(cloud: Cloud, name: str) -> Cluster:
    found = lookup.cluster(cloud, name)
    if not uses_api(found):
        raise errors.bad_request(
            "The cluster's authentication mode must be set to one of "
            "[API, API_AND_CONFIG_MAP] to perform this operation."
        )
    return found


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateAccessEntry."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    principal, kind = asked["principalArn"], asked.get("type") or "STANDARD"
    if principal in found.access_entries:
        raise errors.in_use(
            "The specified access entry resource is already in use on this cluster.",
            clusterName=asked["clusterName"],
        )
    if kind != "STANDARD" and kind not in NODE_TYPES:
        raise errors.bad_parameter(f"The specified access entry type {kind!r} is not valid")
    if kind in NODE_TYPES and (asked.get("kubernetesGroups") or asked.get("username")):
        raise errors.bad_parameter(
            f"Access entries of type {kind} take neither kubernetesGroups nor a username"
        )
    groups: list[str] = asked.get("kubernetesGroups") or []
    if any(group.startswith("system:") for group in groups):
        raise errors.bad_parameter("The kubernetes group name cannot start with system:")
    if identity.role_by_arn(cloud, principal) is None and ":role/" in principal:
        raise errors.bad_parameter(
            f"The specified principalArn is invalid: invalid principal {principal}"
        )
    entry = add(cloud, found, principal, kind).description
    entry["tags"] = dict(asked.get("tags") or {})
    _change(entry, asked)
    return {"accessEntry": entry}


def _change(entry: dict[str, Any], asked: Asked) -> None:
    if asked.get("kubernetesGroups") is not None:
        entry["kubernetesGroups"] = list(asked["kubernetesGroups"])
    if asked.get("username"):
        entry["username"] = asked["username"]


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeAccessEntry."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    return {"accessEntry": lookup.access_entry(found, asked["principalArn"]).description}


def list_principals(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListAccessEntries."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    policy = asked.get("associatedPolicyArn")
    principals = [
        principal
        for principal, entry in found.access_entries.items()
        if policy is None or policy in entry.policies
    ]
    return lookup.page(principals, asked, "accessEntries")


def update(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdateAccessEntry."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    entry = lookup.access_entry(found, asked["principalArn"]).description
    _change(entry, asked)
    entry["modifiedAt"] = cloud.now()
    return {"accessEntry": entry}


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeleteAccessEntry."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    lookup.access_entry(found, asked["principalArn"])
    del found.access_entries[asked["principalArn"]]
    return {}


def associate(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """AssociateAccessPolicy."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    entry = lookup.access_entry(found, asked["principalArn"])
    arn = asked["policyArn"]
    if arn.removeprefix(POLICY_PREFIX) not in POLICIES:
        raise errors.not_found(f"The policyArn {arn} could not be found")
    if entry.description["type"] in NODE_TYPES and entry.description["type"] != "EC2":
        raise errors.bad_request(
            "The specified access entry type does not support access policies: "
            f"{entry.description['type']}"
        )
    scope: dict[str, Any] = {"namespaces": [], **asked["accessScope"]}
    if (scope["type"] == "namespace") != bool(scope["namespaces"]):
        raise errors.bad_parameter(
            "Namespaces go with the access scope type namespace, and only then"
        )
    entry.policies[arn] = _association(cloud, arn, scope)
    return {
        "clusterName": asked["clusterName"],
        "principalArn": asked["principalArn"],
        "associatedAccessPolicy": entry.policies[arn],
    }


def _association(cloud: Cloud, arn: str, scope: dict[str, Any]) -> dict[str, Any]:
    now = cloud.now()
    return {"policyArn": arn, "accessScope": scope, "associatedAt": now, "modifiedAt": now}


def disassociate(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DisassociateAccessPolicy."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    entry = lookup.access_entry(found, asked["principalArn"])
    if entry.policies.pop(asked["policyArn"], None) is None:
        raise errors.not_found(f"The policyArn {asked['policyArn']} is not associated")
    return {}


def list_associated(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListAssociatedAccessPolicies."""
    found = _of_api_cluster(cloud, asked["clusterName"])
    entry = lookup.access_entry(found, asked["principalArn"])
    result = lookup.page(list(entry.policies), asked, "associatedAccessPolicies")
    arns: list[str] = result["associatedAccessPolicies"]
    result["associatedAccessPolicies"] = [entry.policies[arn] for arn in arns]
    return {"clusterName": asked["clusterName"], "principalArn": asked["principalArn"], **result}


def list_policies(_cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListAccessPolicies."""
    result = lookup.page(POLICIES, asked, "accessPolicies")
    names: list[str] = result["accessPolicies"]
    result["accessPolicies"] = [{"name": name, "arn": f"{POLICY_PREFIX}{name}"} for name in names]
    return result


HANDLERS = {
    "CreateAccessEntry": create,
    "DescribeAccessEntry": describe,
    "ListAccessEntries": list_principals,
    "UpdateAccessEntry": update,
    "DeleteAccessEntry": delete,
    "AssociateAccessPolicy": associate,
    "DisassociateAccessPolicy": disassociate,
    "ListAssociatedAccessPolicies": list_associated,
    "ListAccessPolicies": list_policies,
}
