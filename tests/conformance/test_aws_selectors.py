"""What the selector terms of an EC2NodeClass ask EC2: terms are alternatives, tags of a term hold together.

Source: Karpenter AWS v1.14.1, pkg/providers/subnet and pkg/providers/securitygroup (filters, union, order).
"""

from collections.abc import Iterator
from typing import Any

import pytest

from daiku.cloud.aws import selectors

Filters = list[dict[str, Any]]


class Ec2:
    """Remembers what was asked; every question finds the same two."""

    def __init__(self) -> None:
        self.asked: list[Filters] = []

    def pages(self, service: str, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        assert service == "ec2"
        self.asked.append(parameters["Filters"])
        if operation == "describe_subnets":
            rows = [("subnet-b", 10), ("subnet-c", 20), ("subnet-a", 10)]
            yield {
                "Subnets": [
                    {
                        "SubnetId": name,
                        "AvailabilityZone": "us-west-2a",
                        "AvailableIpAddressCount": free,
                    }
                    for name, free in rows
                ]
            }
        else:
            yield {"SecurityGroups": [{"GroupId": i, "GroupName": i} for i in ("sg-2", "sg-1")]}


def _filter(name: str, *values: str) -> dict[str, Any]:
    return {"Name": name, "Values": list(values)}


TERMS: dict[str, tuple[list[dict[str, Any]], list[Filters]]] = {
    "one id": ([{"id": "x-1"}], [[_filter("ID", "x-1")]]),
    "ids are one question": ([{"id": "x-2"}, {"id": "x-1"}], [[_filter("ID", "x-1", "x-2")]]),
    "tags of a term hold together": (
        [{"tags": {"b": "2", "a": "1"}}],
        [[_filter("tag:a", "1"), _filter("tag:b", "2")]],
    ),
    "any value of a tag": ([{"tags": {"a": "*"}}], [[_filter("tag-key", "a")]]),
    "terms are alternatives": (
        [{"tags": {"a": "1"}}, {"tags": {"a": "2"}}],
        [[_filter("tag:a", "1")], [_filter("tag:a", "2")]],
    ),
    "ids and tags": (
        [{"tags": {"a": "1"}}, {"id": "x-1"}],
        [[_filter("ID", "x-1")], [_filter("tag:a", "1")]],
    ),
    "an id beside tags means the id": (
        [{"id": "x-1", "tags": {"a": "1"}}],
        [[_filter("ID", "x-1")]],
    ),
}


def _named(asked: list[Filters], name: str) -> list[Filters]:
    return [[{**f, "Name": name if f["Name"] == "ID" else f["Name"]} for f in q] for q in asked]


@pytest.mark.parametrize("what", TERMS)
def test_a_term_selects(what: str) -> None:
    terms, asked = TERMS[what]
    of_subnets: Any = Ec2()
    of_groups: Any = Ec2()

    subnets = selectors.subnets(of_subnets, terms)
    groups = selectors.security_groups(of_groups, terms)

    assert of_subnets.asked == _named(asked, "subnet-id")
    assert of_groups.asked == _named(asked, "group-id")
    assert [s.id for s in subnets] == ["subnet-c", "subnet-a", "subnet-b"], "most free first"
    assert [g.id for g in groups] == ["sg-1", "sg-2"]


def test_a_group_is_selected_by_the_name_that_ec2_has_for_it() -> None:
    ec2: Any = Ec2()

    selectors.security_groups(ec2, [{"name": "nodes"}, {"id": "sg-1"}])

    assert ec2.asked == [[_filter("group-id", "sg-1")], [_filter("group-name", "nodes")]]
