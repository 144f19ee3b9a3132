"""Divides one IPv4 range among availability zones.

Every zone owns a quarter of the VPC, whether it is used or not, so that a zone appended later takes
a quarter that nobody had and moves nothing. In a quarter:

    |- private: one half -|- public: 1/16, at least /28 -|- free, the last quarter of it whole -|

Private subnets are large, because every pod has an address there; public ones hold load balancers
and NAT gateways only. What is free is for subnets that no gateway reaches. No Pulumi in here.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

ZONES_MAX = 4
"""Zones that an address plan has room for: the quarters of the VPC."""
VPC_PREFIX_MIN = 16
"""AWS takes no VPC larger than a /16."""
VPC_PREFIX_MAX = 24
"""Below a /24 a zone's public subnet would be smaller than the /28 that AWS takes."""
SUBNET_PREFIX_MAX = 28
"""AWS takes no subnet smaller than a /28."""
RESERVED_ADDRESSES = 5
"""Addresses of each subnet that AWS keeps to itself."""


class AddressPlanError(ValueError):
    """The range cannot be divided as asked. The message holds the remedy."""


class NatGateways(StrEnum):
    """How private subnets reach the internet."""

    NONE = "none"
    """They do not."""
    SINGLE = "single"
    """One gateway in the first zone: the cheapest; other zones pay for traffic to it and fall with it."""
    PER_ZONE = "perZone"
    """One gateway in each zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneSubnets:
    """The ranges of one availability zone."""

    zone: str
    """Name of the zone, such as us-west-2a."""
    private: str
    """Range of nodes and pods, such as 10.0.0.0/19."""
    public: str
    """Range of load balancers and NAT gateways, such as 10.0.32.0/22."""

    @property
    def node_addresses(self) -> int:
        """Addresses that nodes and pods of this zone can have."""
        return ipaddress.IPv4Network(self.private).num_addresses - RESERVED_ADDRESSES


def divide(cidr_block: str, zones: Sequence[str]) -> list[ZoneSubnets]:
    """Give each zone its private and its public range.

    Args:
        cidr_block: IPv4 range of the VPC, /16 to /24.
        zones: 1 to 4 different zones. The position of a zone decides its ranges.

    Raises:
        AddressPlanError: The range or the zones are not as above.
    """
    vpc = _vpc_range(cidr_block)
    if not 1 <= len(zones) <= ZONES_MAX:
        raise AddressPlanError(
            f"an address plan spans 1 to {ZONES_MAX} zones, and {len(zones)} were asked for: "
            f"{', '.join(zones) or 'none'}"
        )
    if len(set(zones)) < len(zones):
        raise AddressPlanError(f"a zone is listed twice: {', '.join(zones)}; list each one once")
    quarters = vpc.subnets(prefixlen_diff=2)
    return [_zone_subnets(zone, quarter) for zone, quarter in zip(zones, quarters, strict=False)]


def nat_zones(gateways: NatGateways, zones: Sequence[str]) -> dict[str, str]:
    """Tell in which zone the NAT gateway of each zone stands; empty without gateways."""
    match gateways:
        case NatGateways.NONE:
            return {}
        case NatGateways.SINGLE:
            return dict.fromkeys(zones, zones[0])
        case NatGateways.PER_ZONE:
            return {zone: zone for zone in zones}


def _vpc_range(cidr_block: str) -> ipaddress.IPv4Network:
    """Parse the VPC's range, and say what would be right where it is not."""
    try:
        interface = ipaddress.IPv4Interface(cidr_block)
    except ValueError as error:
        raise AddressPlanError(
            f"{cidr_block!r} is not an IPv4 range ({error}); write one such as 10.0.0.0/16"
        ) from error
    network = interface.network
    if "/" not in cidr_block or not VPC_PREFIX_MIN <= network.prefixlen <= VPC_PREFIX_MAX:
        raise AddressPlanError(
            f"{cidr_block} has {network.num_addresses:,} addresses; a VPC that is divided among "
            f"{ZONES_MAX} zones is /{VPC_PREFIX_MIN} to /{VPC_PREFIX_MAX}, such as 10.0.0.0/16"
        )
    if interface.ip != network.network_address:
        raise AddressPlanError(
            f"{cidr_block} has bits set beyond its /{network.prefixlen}; write {network} "
            f"if that range is meant"
        )
    return network


def _zone_subnets(zone: str, quarter: ipaddress.IPv4Network) -> ZoneSubnets:
    """Cut a zone's quarter: the lower half private, the start of the upper half public."""
    private, upper_half = quarter.subnets(prefixlen_diff=1)
    public_prefix = min(quarter.prefixlen + 4, SUBNET_PREFIX_MAX)
    public = next(upper_half.subnets(new_prefix=public_prefix))
    return ZoneSubnets(zone=zone, private=str(private), public=str(public))
