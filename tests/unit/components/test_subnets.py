import ipaddress
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daiku_infra import subnets
from daiku_infra.subnets import AddressPlanError, NatGateways, Tier

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
    return [
        ipaddress.IPv4Network(text)
        for zone in plan
        for text in (zone.private, zone.public, zone.intra)
    ]


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
    all_of_them = networks(subnets.divide(cidr, zones))
    for private, public in zip(all_of_them[::3], all_of_them[1::3], strict=True):
        assert private.num_addresses * 8 == ipaddress.IPv4Network(cidr).num_addresses
        assert public.prefixlen <= subnets.SUBNET_PREFIX_MAX
        assert public.num_addresses * 2 <= private.num_addresses


@given(zone_lists, st.integers(16, 26))
def test_pods_have_a_range_of_their_own_that_moves_as_little(zones: list[str], prefix: int) -> None:
    pods = f"100.64.0.0/{prefix}"
    plan = subnets.divide("10.0.0.0/16", zones, pods)
    own = [ipaddress.IPv4Network(zone.pods or "") for zone in plan]

    assert all(network.subnet_of(ipaddress.IPv4Network(pods)) for network in own)
    assert all(left.broadcast_address < right[0] for left, right in itertools.pairwise(own))
    assert subnets.divide("10.0.0.0/16", ZONES, pods)[: len(zones)] == plan


def test_every_subnet_has_an_ipv6_range_of_its_own() -> None:
    ranges = {
        subnets.ipv6_subnet("2600:1f14:1::/56", zone, tier)
        for zone in range(subnets.ZONES_MAX)
        for tier in Tier
    }

    assert len(ranges) == subnets.ZONES_MAX * len(Tier)
    assert subnets.ipv6_subnet("2600:1f14:1::/56", 1, Tier.PUBLIC) == "2600:1f14:1:9::/64"


def test_the_plan_of_a_sixteen_reads_like_this() -> None:
    assert [
        (z.zone, z.private, z.public, z.intra) for z in subnets.divide("10.0.0.0/16", ZONES[:3])
    ] == [
        ("us-west-2a", "10.0.0.0/19", "10.0.32.0/22", "10.0.48.0/22"),
        ("us-west-2b", "10.0.64.0/19", "10.0.96.0/22", "10.0.112.0/22"),
        ("us-west-2c", "10.0.128.0/19", "10.0.160.0/22", "10.0.176.0/22"),
    ]


def test_node_addresses_leave_out_the_five_that_aws_keeps() -> None:
    [zone] = subnets.divide("10.0.0.0/16", ["us-west-2a"])
    [with_pods] = subnets.divide("10.0.0.0/16", ["us-west-2a"], "100.64.0.0/16")

    assert (zone.node_addresses, with_pods.node_addresses) == (8187, 8187 + 16379)


@pytest.mark.parametrize(
    ("pods", "part"),
    [
        pytest.param("10.0.64.0/18", "overlaps the VPC's 10.0.0.0/16", id="inside the VPC's own"),
        pytest.param("100.64.0.0/10", "/16 to /26", id="too large"),
    ],
)
def test_a_range_of_pods_that_cannot_be_had_says_why(pods: str, part: str) -> None:
    with pytest.raises(AddressPlanError, match=part):
        subnets.divide("10.0.0.0/16", ZONES[:2], pods)


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
        pytest.param(NatGateways.REGIONAL, {}, id="in no zone"),
        pytest.param(NatGateways.PER_ZONE, {"a": "a", "b": "b"}, id="each zone its own"),
    ],
)
def test_nat_gateways_stand_where_asked(gateways: NatGateways, expected: dict[str, str]) -> None:
    assert subnets.nat_zones(gateways, ["a", "b"]) == expected
