"""Finding subnets and security groups by the selector terms of an EC2NodeClass.

Terms are alternatives; the tags inside one are conditions that hold together. "*" as a tag's value means any.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daiku.cloud.aws.session import Session

Term = Mapping[str, Any]
Filter = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSubnet:
    """A subnet that a term selects."""

    id: str
    zone: str
    zone_id: str
    free_addresses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSecurityGroup:
    """A security group that a term selects."""

    id: str
    name: str


def subnets(session: Session, terms: Sequence[Term]) -> list[FoundSubnet]:
    """Subnets that any term selects, most free addresses first, then by id.

    Raises:
        CloudError: EC2 refused to say.
    """
    found = {
        s["SubnetId"]: FoundSubnet(
            id=s["SubnetId"],
            zone=s["AvailabilityZone"],
            zone_id=s.get("AvailabilityZoneId", ""),
            free_addresses=s.get("AvailableIpAddressCount", 0),
        )
        for filters in _queries(terms, {"id": "subnet-id"})
        for page in session.pages("ec2", "describe_subnets", Filters=filters)
        for s in page["Subnets"]
    }
    return sorted(found.values(), key=lambda s: (-s.free_addresses, s.id))


def security_groups(session: Session, terms: Sequence[Term]) -> list[FoundSecurityGroup]:
    """Security groups that any term selects, by id.

    Raises:
        CloudError: EC2 refused to say.
    """
    found = {
        g["GroupId"]: FoundSecurityGroup(id=g["GroupId"], name=g.get("GroupName", ""))
        for filters in _queries(terms, {"id": "group-id", "name": "group-name"})
        for page in session.pages("ec2", "describe_security_groups", Filters=filters)
        for g in page["SecurityGroups"]
    }
    return sorted(found.values(), key=lambda g: g.id)


def tag_filters(tags: Mapping[str, str]) -> list[Filter]:
    """EC2 filters that hold together for these tags."""
    return [
        {"Name": "tag-key", "Values": [key]}
        if value == "*"
        else {"Name": f"tag:{key}", "Values": [value]}
        for key, value in sorted(tags.items())
    ]


def _queries(terms: Sequence[Term], names: Mapping[str, str]) -> Iterator[list[Filter]]:
    """One query for all ids together, one per other term."""
    for field, filter_name in names.items():
        values = sorted({term[field] for term in terms if term.get(field)})
        if values:
            yield [{"Name": filter_name, "Values": values}]
    for term in terms:
        # A term that mixes them, which the schema lets pass beside others, means its id or name.
        if term.get("tags") and not any(term.get(field) for field in names):
            yield tag_filters(term["tags"])
