"""Finding things by name, and the refusals when they are not there or not ready."""

from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.eks import errors
from daiku_local.aws.eks.records import AccessEntry, Cluster, NodeGroup


def cluster(cloud: Cloud, name: str) -> Cluster:
    """The cluster of that name, in whatever state."""
    found = cloud.clusters.by_name.get(name)
    if found is None:
        raise errors.not_found(f"No cluster found for name: {name}.", clusterName=name)
    return found


def ready_cluster(cloud: Cloud, name: str) -> Cluster:
    """The cluster of that name, if it can be changed now."""
    found = cluster(cloud, name)
    status = found.description["status"]
    if status == "UPDATING":
        raise errors.in_use(f"Cluster currently has update in progress: {name}", clusterName=name)
    if status != "ACTIVE":
        raise errors.bad_request(f"Cluster '{name}' is not in ACTIVE status", clusterName=name)
    return found


def node_group(found: Cluster, name: str) -> NodeGroup:
    """The node group of that name."""
    group = found.node_groups.get(name)
    if group is None:
        raise errors.not_found(
            f"No node group found for name: {name}.",
            clusterName=found.description["name"],
            nodegroupName=name,
        )
    return group


def access_entry(found: Cluster, principal: str) -> AccessEntry:
    """The access entry of a principal."""
    entry = found.access_entries.get(principal)
    if entry is None:
        raise errors.not_found(
            f"The specified principalArn could not be found: {principal}. "
            f"You can view your available access entries with 'list-access-entries'."
        )
    return entry


def addon(found: Cluster, name: str) -> dict[str, Any]:
    """The add-on of that name."""
    description = found.addons.get(name)
    if description is None:
        cluster_name = found.description["name"]
        raise errors.not_found(
            f"No addon: {name} found in cluster: {cluster_name}",
            clusterName=cluster_name,
            addonName=name,
        )
    return description


def page(names: list[str], asked: dict[str, Any], member: str) -> dict[str, Any]:
    """One page of a list of names, as the List operations give it."""
    size = int(asked.get("maxResults") or 100)
    start = int(asked.get("nextToken") or 0)
    result: dict[str, Any] = {member: names[start : start + size]}
    if start + size < len(names):
        result["nextToken"] = str(start + size)
    return result
