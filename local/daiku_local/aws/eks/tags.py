"""Tags of clusters and of everything that belongs to one, by ARN."""

from collections.abc import Iterator
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import errors


def _resources(cloud: Cloud) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ARN and the description of everything that can be tagged."""
    for cluster in cloud.clusters.by_name.values():
        yield cluster.description["arn"], cluster.description
        for entry in cluster.access_entries.values():
            yield entry.description["accessEntryArn"], entry.description
        for group in cluster.node_groups.values():
            yield group.description["nodegroupArn"], group.description
        for addon in cluster.addons.values():
            yield addon["addonArn"], addon
        for association in cluster.associations.values():
            yield association["associationArn"], association


def _find(cloud: Cloud, arn: str) -> dict[str, Any]:
    for known, description in _resources(cloud):
        if known == arn:
            return description
    raise errors.not_found(f"The resource {arn} does not exist")


def tag(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """TagResource."""
    _find(cloud, asked["resourceArn"])["tags"].update(asked["tags"])
    return {}


def untag(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """UntagResource."""
    tags = _find(cloud, asked["resourceArn"])["tags"]
    for key in asked["tagKeys"]:
        tags.pop(key, None)
    return {}


def list_tags(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListTagsForResource."""
    return {"tags": _find(cloud, asked["resourceArn"])["tags"]}


HANDLERS = {"TagResource": tag, "UntagResource": untag, "ListTagsForResource": list_tags}
