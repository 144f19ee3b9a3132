# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportPrivateUsage=false
"""DescribeInstanceTypes and DescribeInstanceTypeOfferings.

moto needs two seconds for a listing and ignores the size of a page. Here the XML of each type is
written once and kept, so that a page is a join of texts.
"""

import functools
from collections.abc import Mapping
from typing import Any

from moto.ec2.models.instance_types import InstanceType

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import facts, filters
from daiku_local.aws.errors import AwsError
from daiku_local.aws.wire import models, xml

PAGE = 100
FILTERS = {name: filters.at(*path) for name, path in InstanceType._filter_attributes.items()}  # noqa: SLF001 moto's table of filter names and where each is read
OFFERING_FILTERS = {
    "instance-type": filters.at("InstanceType"),
    "location": filters.at("Location"),
}


def describe(_cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeInstanceTypes."""
    wanted: list[str] = asked.get("InstanceTypes") or facts.names()
    found = {name: facts.description(name) for name in wanted}
    if missing := [name for name, description in found.items() if description is None]:
        raise AwsError(
            "InvalidInstanceType",
            f"The following supplied instance types do not exist: [{', '.join(missing)}]",
        )
    rows = [description for description in found.values() if description is not None]
    rows = filters.keep(rows, asked.get("Filters", []), FILTERS)
    page = _page(rows, asked, "InstanceTypes", PAGE)
    page["InstanceTypes"] = [_fragment(str(row["InstanceType"])) for row in page["InstanceTypes"]]
    return page


@functools.cache
def _fragment(name: str) -> xml.Fragment:
    shape: Any = models.operation("ec2", "DescribeInstanceTypes").output_shape
    member = shape.members["InstanceTypes"].member
    return xml.Fragment(xml.write(member, _known(member, facts.description(name) or {})))


def _known(shape: Any, value: Mapping[str, Any]) -> dict[str, Any]:
    """The members that the description of the API has; the facts may be newer than it."""
    kept: dict[str, Any] = {}
    for name, content in value.items():
        member = shape.members.get(name)
        if member is None:
            continue
        if member.type_name == "structure":
            content = _known(member, content)  # noqa: PLW2901 the same member, cleaned
        elif member.type_name == "list" and member.member.type_name == "structure":
            content = [_known(member.member, entry) for entry in content]  # noqa: PLW2901 as above
        kept[name] = content
    return kept


def describe_offerings(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeInstanceTypeOfferings."""
    kind = asked.get("LocationType") or "region"
    rows = [
        {"InstanceType": instance_type, "LocationType": kind, "Location": location}
        for instance_type, location in facts.offerings(kind, cloud.world.region)
    ]
    rows = filters.keep(rows, asked.get("Filters", []), OFFERING_FILTERS)
    return _page(rows, asked, "InstanceTypeOfferings", 1000)


def _page(rows: list[dict[str, Any]], asked: Asked, member: str, most: int) -> dict[str, Any]:
    size = min(int(asked.get("MaxResults") or most), most)
    start = int(asked.get("NextToken") or 0)
    page: dict[str, Any] = {member: rows[start : start + size]}
    if start + size < len(rows):
        page["NextToken"] = str(start + size)
    return page


HANDLERS = {
    "DescribeInstanceTypes": describe,
    "DescribeInstanceTypeOfferings": describe_offerings,
}
