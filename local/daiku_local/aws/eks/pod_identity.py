"""Pod Identity associations: which role the pods of a ServiceAccount get. Only the API is played."""

import secrets
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import errors, identity, lookup
from daiku_local.aws.eks.records import Cluster

SERVICE = "pods.eks.amazonaws.com"
SUMMARY = (
    "clusterName",
    "namespace",
    "serviceAccount",
    "associationArn",
    "associationId",
    "ownerArn",
)


def add(cloud: Cloud, found: Cluster, asked: Asked, *, owner: str = "") -> dict[str, Any]:
    """A new association.

    Raises:
        AwsError: The ServiceAccount has one already, or the role cannot be assumed by pods.
    """
    for one in found.associations.values():
        if all(one[name] == asked[name] for name in ("namespace", "serviceAccount")):
            raise errors.in_use(f"Association already exists: {one['associationId']}")
    identity.check_role(cloud, asked["roleArn"], SERVICE)
    world, cluster_name = cloud.world, found.description["name"]
    association_id = f"a-{secrets.token_hex(9)[:17]}"
    association: dict[str, Any] = {
        "clusterName": cluster_name,
        "namespace": asked["namespace"],
        "serviceAccount": asked["serviceAccount"],
        "roleArn": asked["roleArn"],
        "associationArn": f"arn:aws:eks:{world.region}:{world.account}:podidentityassociation/"
        f"{cluster_name}/{association_id}",
        "associationId": association_id,
        "tags": dict(asked.get("tags") or {}),
        "createdAt": cloud.now(),
        "modifiedAt": cloud.now(),
        "disableSessionTags": bool(asked.get("disableSessionTags")),
    }
    if owner:
        association["ownerArn"] = owner
    if asked.get("targetRoleArn"):
        association["targetRoleArn"] = asked["targetRoleArn"]
        association["externalId"] = (
            f"{world.region}/{world.account}/{cluster_name}/{association_id}"
        )
    found.associations[association_id] = association
    return association


def remove_owned(found: Cluster, owner: str) -> None:
    """Remove the associations that an add-on made."""
    owned = [key for key, one in found.associations.items() if one.get("ownerArn") == owner]
    for key in owned:
        del found.associations[key]


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreatePodIdentityAssociation."""
    found = lookup.ready_cluster(cloud, asked["clusterName"])
    return {"association": add(cloud, found, asked)}


def _find(cloud: Cloud, asked: Asked) -> tuple[Cluster, dict[str, Any]]:
    found = lookup.cluster(cloud, asked["clusterName"])
    association = found.associations.get(asked["associationId"])
    if association is None:
        raise errors.not_found(f"No association found for id: {asked['associationId']}")
    return found, association


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribePodIdentityAssociation."""
    return {"association": _find(cloud, asked)[1]}


def list_summaries(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListPodIdentityAssociations."""
    found = lookup.cluster(cloud, asked["clusterName"])
    ids = [
        key
        for key, one in found.associations.items()
        if asked.get("namespace") in (None, one["namespace"])
        and asked.get("serviceAccount") in (None, one["serviceAccount"])
    ]
    result = lookup.page(ids, asked, "associations")
    page: list[str] = result["associations"]
    result["associations"] = [
        {name: found.associations[key][name] for name in SUMMARY if name in found.associations[key]}
        for key in page
    ]
    return result


def update(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UpdatePodIdentityAssociation."""
    _, association = _find(cloud, asked)
    if asked.get("roleArn"):
        identity.check_role(cloud, asked["roleArn"], SERVICE)
    for name in ("roleArn", "targetRoleArn", "disableSessionTags"):
        if name in asked:
            association[name] = asked[name]
    association["modifiedAt"] = cloud.now()
    return {"association": association}


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeletePodIdentityAssociation."""
    found, association = _find(cloud, asked)
    del found.associations[association["associationId"]]
    return {"association": association}


HANDLERS = {
    "CreatePodIdentityAssociation": create,
    "DescribePodIdentityAssociation": describe,
    "ListPodIdentityAssociations": list_summaries,
    "UpdatePodIdentityAssociation": update,
    "DeletePodIdentityAssociation": delete,
}
