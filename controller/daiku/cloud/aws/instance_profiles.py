"""Instance profiles: the user's own are taken as they are; for a role, one of ours is made and later removed.

The name follows from region, node class and role, so that a changed role gives another profile while machines still run
under the old one. Ours lie under a path of cluster and node class, which is how they are found again.
"""

import hashlib
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

from daiku.cloud.aws import errors
from daiku.cloud.aws.answers import part, parts
from daiku.cloud.aws.session import Session
from daiku.model.nodeclass import NodeClass

NAME_MAX: Final = 128
"""Characters that IAM takes in a profile's name."""
PROTECTED_FOR: Final = timedelta(hours=1)
"""How old a profile is at least when it is collected."""


def resolve(session: Session, cluster: str, found: NodeClass) -> str:
    """Name of the instance profile of a node class, made when it is missing.

    Raises:
        CloudError: IAM refused; ResourceNotFound when the role does not exist.
    """
    given = found.spec.get("instanceProfile")
    if given:
        return str(given)
    role = str(found.spec["role"]).rpartition("/")[2]
    name = _name(session.region, cluster, found.meta.name, role)
    try:
        profile = session.call("iam", "get_instance_profile", InstanceProfileName=name)[
            "InstanceProfile"
        ]
    except errors.ResourceNotFound:
        profile = session.call(
            "iam",
            "create_instance_profile",
            InstanceProfileName=name,
            Path=_path(session, cluster, found),
            Tags=_tags(session, cluster, found),
        )["InstanceProfile"]
    if role not in {r["RoleName"] for r in parts(profile, "Roles")}:
        session.call("iam", "add_role_to_instance_profile", InstanceProfileName=name, RoleName=role)
    return name


def remove(session: Session, cluster: str, found: NodeClass) -> None:
    """Remove every profile that was made for a node class; one that is gone already is no error.

    Raises:
        CloudError: IAM refused.
    """
    path = _path(session, cluster, found)
    for page in session.pages("iam", "list_instance_profiles", PathPrefix=path):
        for profile in page["InstanceProfiles"]:
            if profile["Path"] == path:
                _remove(session, profile)


def collect(session: Session, cluster: str, used: Collection[str], now: datetime) -> list[str]:
    """Remove this cluster's own profiles that nobody uses, but no young one: its user may not be written down yet.

    Returns:
        Names of what was removed.

    Raises:
        CloudError: IAM refused.
    """
    prefix = f"/karpenter/{session.region}/{cluster}/"
    removed: list[str] = []
    for page in session.pages("iam", "list_instance_profiles", PathPrefix=prefix):
        for profile in page["InstanceProfiles"]:
            name = profile["InstanceProfileName"]
            young = now - profile["CreateDate"] < PROTECTED_FOR
            if profile["Path"].startswith(prefix) and name not in used and not young:
                _remove(session, profile)
                removed.append(name)
    return removed


def _remove(session: Session, profile: dict[str, Any]) -> None:
    name = profile["InstanceProfileName"]
    try:
        for role in parts(profile, "Roles"):
            session.call(
                "iam",
                "remove_role_from_instance_profile",
                InstanceProfileName=name,
                RoleName=role["RoleName"],
            )
        session.call("iam", "delete_instance_profile", InstanceProfileName=name)
    except errors.ResourceNotFound:
        return


def _name(region: str, cluster: str, node_class: str, role: str) -> str:
    digest = hashlib.sha256(f"{region}/{node_class}/{role}".encode()).hexdigest()[:20]
    return f"{cluster[: NAME_MAX - 21]}_{digest}"


def _path(session: Session, cluster: str, found: NodeClass) -> str:
    return f"/karpenter/{session.region}/{cluster}/{found.meta.uid}/"


def _tags(session: Session, cluster: str, found: NodeClass) -> list[dict[str, str]]:
    known = {
        **part(found.spec, "tags"),
        f"kubernetes.io/cluster/{cluster}": "owned",
        "eks:eks-cluster-name": cluster,
        "karpenter.k8s.aws/ec2nodeclass": found.meta.name,
        "topology.kubernetes.io/region": session.region,
    }
    return [{"Key": k, "Value": v} for k, v in sorted(known.items())]
