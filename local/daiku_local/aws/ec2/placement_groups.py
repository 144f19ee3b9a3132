"""Placement groups: made, listed and deleted. Where an instance of one really runs, nobody can see here."""

import secrets
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import filters, templates
from daiku_local.aws.errors import AwsError

FILTERS = {"group-name": filters.at("GroupName"), "strategy": filters.at("Strategy")}


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreatePlacementGroup."""
    name = str(asked["GroupName"])
    if name in cloud.launches.groups:
        raise AwsError(
            "InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists."
        )
    tags = templates.tags_for(asked, "placement-group")
    made: dict[str, Any] = {
        "GroupName": name,
        "GroupId": f"pg-{secrets.token_hex(8)}0",
        "State": "available",
        "Strategy": asked.get("Strategy", "cluster"),
        "PartitionCount": asked.get("PartitionCount"),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    cloud.launches.groups[name] = made
    return {"PlacementGroup": made}


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeletePlacementGroup."""
    if cloud.launches.groups.pop(str(asked["GroupName"]), None) is None:
        raise _unknown(str(asked["GroupName"]))
    return {}


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribePlacementGroups."""
    names, ids = asked.get("GroupNames", []), asked.get("GroupIds", [])
    rows = list(cloud.launches.groups.values())
    for field, wanted in (("GroupName", names), ("GroupId", ids)):
        if missing := [each for each in wanted if each not in {row[field] for row in rows}]:
            raise _unknown(missing[0])
        rows = [row for row in rows if not wanted or row[field] in wanted]
    return {"PlacementGroups": filters.keep(rows, asked.get("Filters", []), FILTERS)}


def _unknown(name: str) -> AwsError:
    return AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")


HANDLERS = {
    "CreatePlacementGroup": create,
    "DeletePlacementGroup": delete,
    "DescribePlacementGroups": describe,
}
