"""What one refusal says of other pools, and which subnet of a zone is taken."""

from typing import Any

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import unavailable
from daiku.cloud.aws.addresses import FULL_SECONDS, Addresses
from daiku.cloud.aws.fleet import Override, Problem
from daiku.cloud.aws.node_class import Subnet
from daiku.model.instance_type import LaunchOption

TYPES = {
    t.name: t
    for t in (
        aws_facts.facts("m5.large", zones=("us-west-2a", "us-west-2b")),
        aws_facts.facts("m5.xlarge", 4, 16384, zones=("us-west-2a",)),
        aws_facts.facts("c6i.large", zones=("us-west-2a",)),
        aws_facts.facts("c6i.4xlarge", 16, 32768, zones=("us-west-2b",)),
        aws_facts.facts("g5.xlarge", 4, 16384, zones=("us-west-2a",)),
    )
}


def problem(code: str, kind: str, zone: str = "us-west-2a", way: str = "spot") -> Problem:
    option = LaunchOption(instance_type=kind, zone=zone, capacity_type=way, price_usd_per_hour=0.1)
    override = Override(option=option, image="ami-1", template="t", pods=29, subnet=f"s-{zone}")
    return Problem(code=code, message="no", overrides=(override,))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("InsufficientInstanceCapacity", {("m5.xlarge", "us-west-2a")}),
        ("InsufficientFreeAddressesInSubnet", set[tuple[str, str]]()),
        ("RequestLimitExceeded", set[tuple[str, str]]()),
        (
            "MaxSpotInstanceCountExceeded",
            {("m5.xlarge", "us-west-2a"), ("c6i.4xlarge", "us-west-2b")},
        ),
        (
            "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
            {(t.name, zone) for t in TYPES.values() for zone in t.zones},
        ),
    ],
)
def test_a_refusal_is_true_of(code: str, expected: set[tuple[str, str]]) -> None:
    found = unavailable.pools([problem(code, "m5.xlarge")], TYPES)

    assert {(kind, zone) for kind, zone, _ in found} == expected
    assert {way for _, _, way in found} <= {"spot"}


def test_when_a_great_many_types_are_sold_out_larger_ones_of_their_families_are_too() -> None:
    families = [f"a{number}" for number in range(unavailable.MANY)]
    types = {
        t.name: t
        for family in families
        for t in (
            aws_facts.facts(f"{family}.medium", 1, 4096, zones=("us-west-2a",)),
            aws_facts.facts(f"{family}.large", 2, 8192, zones=("us-west-2a",)),
            aws_facts.facts(f"{family}.xlarge", 4, 16384, zones=("us-west-2a", "us-west-2b")),
        )
    }
    refused = [problem("InsufficientInstanceCapacity", f"{family}.large") for family in families]

    def closed(problems: list[Problem], *, nothing_made: bool) -> set[tuple[str, str]]:
        found = unavailable.pools(problems, types, nothing_made=nothing_made)
        return {(kind.partition(".")[2], zone) for kind, zone, way in found if way == "spot"}

    all_of_them = closed(refused, nothing_made=True)
    assert all_of_them == {("large", "us-west-2a"), ("xlarge", "us-west-2a")}
    assert closed(refused, nothing_made=False) == {("large", "us-west-2a")}
    assert closed(refused[1:], nothing_made=True) == {("large", "us-west-2a")}


@pytest.mark.parametrize(
    ("name", "quota"),
    [
        ("m5.large", "Standard"),
        ("im4gn.large", "Standard"),
        ("t3.micro", "Standard"),
        ("g5.xlarge", "G and VT"),
        ("vt1.3xlarge", "G and VT"),
        ("p4d.24xlarge", "P"),
        ("inf2.xlarge", "Inf"),
        ("trn1.2xlarge", "Trn"),
        ("x2gd.large", "X"),
        ("u-6tb1.metal", "High Memory"),
    ],
)
def test_a_type_counts_against(name: str, quota: str) -> None:
    """Source: Service Quotas of EC2, "Running On-Demand ... instances"."""
    assert unavailable.quota(name) == quota


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def subnets(*ids: str) -> list[Subnet]:
    return [Subnet(id=i, zone=f"us-west-2{i[0]}", zone_id="") for i in ids]


def addresses(**free: int) -> tuple[Addresses, Clock]:
    clock = Clock()
    made = Addresses(clock)
    made.described(free)
    return made, clock


def test_the_subnet_with_most_free_addresses_is_taken_in_each_zone() -> None:
    made, _ = addresses(a1=10, a2=200, b1=5)

    assert made.choose(subnets("a1", "a2", "b1")) == {"us-west-2a": "a2", "us-west-2b": "b1"}


def test_launches_under_way_move_the_next_ones_to_another_subnet() -> None:
    made, _ = addresses(a1=100, a2=110)

    made.take({"a2": 29})

    assert made.choose(subnets("a1", "a2")) == {"us-west-2a": "a1"}


def test_what_a_launch_did_not_use_is_free_again() -> None:
    made, _ = addresses(a1=100, a2=110)
    taken = made.take({"a2": 58})

    made.give_back(taken, {"a2": 0})

    assert made.choose(subnets("a1", "a2")) == {"us-west-2a": "a2"}


def test_a_new_description_replaces_every_guess() -> None:
    made, _ = addresses(a1=100, a2=110)
    taken = made.take({"a2": 29})
    made.described({"a1": 100, "a2": 105})

    made.give_back(taken, {})

    assert made.choose(subnets("a1", "a2")) == {"us-west-2a": "a2"}
    made.take({"a2": 6})
    assert made.choose(subnets("a1", "a2")) == {"us-west-2a": "a1"}


def test_a_full_subnet_is_left_out_for_three_minutes_and_its_zone_with_the_last_one() -> None:
    made, clock = addresses(a1=100, a2=110)
    made.full(frozenset({"a2"}))
    assert made.choose(subnets("a1", "a2")) == {"us-west-2a": "a1"}

    made.full(frozenset({"a1"}))
    assert made.choose(subnets("a1", "a2")) == {}

    clock.seconds = FULL_SECONDS + 1
    assert made.choose(subnets("a1", "a2")) == {"us-west-2a": "a1"}


def test_before_the_first_description_the_order_of_the_status_counts() -> None:
    made: Any = Addresses(Clock())

    assert made.choose(subnets("a2", "a1")) == {"us-west-2a": "a2"}
