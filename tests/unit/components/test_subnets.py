import ipaddress
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daiku_infra import subnets
from daiku_infra.subnets import AddressPlanError, NatGateways

ZONES = ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"]
ranges = st.builds(
    lambda number, prefix: str(
        ipaddress.ip_network((number >> (32 - prefix) << (32 - prefix), prefix))
    ),
    st.integers(0, 2**32 - 1),
    st.integers(subnets.VPC_PREFIX_MIN, subnets.VPC_PREFIX_MAX),
)
zone_lists = st.integers(1, 4).map(lambda count: ZONES[:count])


def networks(plan: list[subnets.ZoneSubnets]) -> list[ipaddress.IPv4Network]:
    return [ipaddress.IPv4Network(text) for zone in plan for text in (zone.private, zone.public)]


@given(ranges, zone_lists)
def test_every_subnet_is_inside_the_vpc(cidr: str, zones: list[str]) -> None:
    vpc = ipaddress.IPv4Network(cidr)

    assert all(network.subnet_of(vpc) for network in networks(subnets.divide(cidr, zones)))


@given(ranges, zone_lists)
def test_no_two_subnets_overlap(cidr: str, zones: list[str]) -> None:
    plan = sorted(networks(subnets.divide(cidr, zones)))

    assert all(
        left.broadcast_address < right.network_address for left, right in itertools.pairwise(plan)
    )


@given(ranges, zone_lists)
def test_a_zone_that_is_appended_moves_no_other(cidr: str, zones: list[str]) -> None:
    assert subnets.divide(cidr, ZONES)[: len(zones)] == subnets.divide(cidr, zones)


@given(ranges, zone_lists)
def test_private_subnets_are_large_and_public_ones_small(cidr: str, zones: list[str]) -> None:
    for private, public in zip(
        networks(subnets.divide(cidr, zones))[::2],
        networks(subnets.divide(cidr, zones))[1::2],
        strict=True,
    ):
        assert private.num_addresses * 8 == ipaddress.IPv4Network(cidr).num_addresses
        assert public.prefixlen <= subnets.SUBNET_PREFIX_MAX
        assert public.num_addresses * 2 <= private.num_addresses


@given(ranges)
def test_the_last_quarter_of_each_zones_quarter_stays_free(cidr: str) -> None:
    vpc = ipaddress.IPv4Network(cidr)
    taken = networks(subnets.divide(cidr, ZONES))

    for quarter in vpc.subnets(prefixlen_diff=2):
        *_, last = quarter.subnets(prefixlen_diff=2)
        assert not any(last.overlaps(network) for network in taken)


def test_the_plan_of_a_sixteen_reads_like_this() -> None:
    assert [(z.zone, z.private, z.public) for z in subnets.divide("10.0.0.0/16", ZONES[:3])] == [
        ("us-west-2a", "10.0.0.0/19", "10.0.32.0/22"),
        ("us-west-2b", "10.0.64.0/19", "10.0.96.0/22"),
        ("us-west-2c", "10.0.128.0/19", "10.0.160.0/22"),
    ]


def test_node_addresses_leave_out_the_five_that_aws_keeps() -> None:
    assert subnets.divide("10.0.0.0/16", ["us-west-2a"])[0].node_addresses == 8187


@pytest.mark.parametrize(
    ("cidr", "zones", "part"),
    [
        pytest.param("10.0.0.0/25", ZONES[:2], "/16 to /24", id="too small"),
        pytest.param("10.0.0.0/8", ZONES[:2], "16,777,216 addresses", id="too large"),
        pytest.param("10.0.128.0/16", ZONES[:2], "write 10.0.0.0/16", id="bits beyond the prefix"),
        pytest.param("10.0.0.0", ZONES[:2], "/16 to /24", id="no prefix"),
        pytest.param("fd00::/56", ZONES[:2], "not an IPv4 range", id="IPv6"),
        pytest.param("ten", ZONES[:2], "such as 10.0.0.0/16", id="not a range at all"),
        pytest.param("10.0.0.0/16", [], "none", id="no zone"),
        pytest.param("10.0.0.0/16", [*ZONES, "us-west-2e"], "5 were asked", id="five zones"),
        pytest.param("10.0.0.0/16", ["us-west-2a"] * 2, "listed twice", id="a zone twice"),
    ],
)
def test_a_plan_that_cannot_be_made_says_what_can(cidr: str, zones: list[str], part: str) -> None:
    with pytest.raises(AddressPlanError, match=part):
        subnets.divide(cidr, zones)


@pytest.mark.parametrize(
    ("gateways", "expected"),
    [
        pytest.param(NatGateways.NONE, {}, id="none"),
        pytest.param(NatGateways.SINGLE, {"a": "a", "b": "a"}, id="one for all, in the first zone"),
        pytest.param(NatGateways.PER_ZONE, {"a": "a", "b": "b"}, id="each zone its own"),
    ],
)
def test_nat_gateways_stand_where_asked(gateways: NatGateways, expected: dict[str, str]) -> None:
    assert subnets.nat_zones(gateways, ["a", "b"]) == expected
