"""Divides one IPv4 range among availability zones.

Every zone owns a quarter of the VPC, whether it is used or not, so that a zone appended later takes
a quarter that nobody had and moves nothing. In a quarter:

    |- private: one half -|- public: 1/16, at least /28 -|- free -|- intra: 1/16 -|- free -|

Private subnets are large, because every pod has an address there; public ones hold load balancers
and NAT gateways only; no gateway reaches the intra ones, which begin at the last quarter. Pods may
have a range of their own, of which each zone again owns a quarter, and every subnet may have one /64
of the VPC's 256. No Pulumi in here.
"""

import ipaddress
import itertools
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
POD_PREFIX_MIN = 16
"""AWS takes no range larger than a /16, a further one included."""
POD_PREFIX_MAX = 26
"""Below a /26 a zone's quarter would be smaller than a /28."""
RESERVED_ADDRESSES = 5
"""Addresses of each subnet that AWS keeps to itself."""

_BENCHMARK = "198.19.0.0/16"
_NOT_TOGETHER = [
    (ipaddress.IPv4Network(home), ipaddress.IPv4Network(refused))
    for home, ranges in {
        "10.0.0.0/8": ["172.16.0.0/12", "192.168.0.0/16", _BENCHMARK],
        "172.16.0.0/12": ["10.0.0.0/8", "192.168.0.0/16", "172.31.0.0/16", _BENCHMARK],
        "192.168.0.0/16": ["10.0.0.0/8", "172.16.0.0/12", _BENCHMARK],
    }.items()
    for refused in ranges
]
"""Where a VPC begins, and which ranges AWS then does not add to it.

Source: the VPC user guide, "IPv4 CIDR block association restrictions".
"""
_TIERS_MAX = 8
"""IPv6 ranges kept for each zone: more than there are tiers."""


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
    REGIONAL = "regional"
    """One gateway that AWS spreads over the zones in use; it stands in no subnet."""


class Tier(StrEnum):
    """The subnets of one zone. Append only: the position decides a subnet's IPv6 range."""

    PRIVATE = "private"
    PUBLIC = "public"
    INTRA = "intra"
    PODS = "pods"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneSubnets:
    """The ranges of one availability zone."""

    zone: str
    """Name of the zone, such as us-west-2a."""
    private: str
    """Range of nodes and pods, such as 10.0.0.0/19."""
    public: str
    """Range of load balancers and NAT gateways, such as 10.0.32.0/22."""
    intra: str
    """Range of what no gateway may reach, such as 10.0.48.0/22."""
    pods: str | None
    """Range of pods alone, where they have one, such as 100.64.0.0/18."""

    @property
    def node_addresses(self) -> int:
        """Addresses that nodes and pods of this zone can have."""
        ranges = [self.private, *([self.pods] if self.pods else [])]
        return sum(ipaddress.IPv4Network(r).num_addresses - RESERVED_ADDRESSES for r in ranges)


def divide(
    cidr_block: str, zones: Sequence[str], pod_cidr_block: str | None = None
) -> list[ZoneSubnets]:
    """Give each zone its ranges.

    Args:
        cidr_block: IPv4 range of the VPC, /16 to /24.
        zones: 1 to 4 different zones. The position of a zone decides its ranges.
        pod_cidr_block: A further range for pods alone, /16 to /26, such as 100.64.0.0/16.

    Raises:
        AddressPlanError: The range or the zones are not as above.
    """
    vpc = _range(cidr_block, (VPC_PREFIX_MIN, VPC_PREFIX_MAX), example="10.0.0.0/16")
    pods = _pod_range(vpc, pod_cidr_block) if pod_cidr_block else None
    if not 1 <= len(zones) <= ZONES_MAX:
        raise AddressPlanError(
            f"an address plan spans 1 to {ZONES_MAX} zones, and {len(zones)} were asked for: "
            f"{', '.join(zones) or 'none'}"
        )
    if len(set(zones)) < len(zones):
        raise AddressPlanError(f"a zone is listed twice: {', '.join(zones)}; list each one once")
    pod_quarters = [str(q) for q in pods.subnets(prefixlen_diff=2)] if pods else [None] * ZONES_MAX
    quarters = vpc.subnets(prefixlen_diff=2)
    return [
        _zone_subnets(zone, quarter, pod_quarter)
        for zone, quarter, pod_quarter in zip(zones, quarters, pod_quarters, strict=False)
    ]


def ipv6_subnet(vpc_cidr_block: str, zone_index: int, tier: Tier) -> str:
    """Give the /64 of one subnet; its place depends on the zone's position and the tier only.

    Args:
        vpc_cidr_block: The VPC's /56.
        zone_index: Position of the zone, from 0.
        tier: Which of the zone's subnets.
    """
    number = zone_index * _TIERS_MAX + list(Tier).index(tier)
    ranges = ipaddress.IPv6Network(vpc_cidr_block).subnets(new_prefix=64)
    return str(next(itertools.islice(ranges, number, None)))


def nat_zones(gateways: NatGateways, zones: Sequence[str]) -> dict[str, str]:
    """Tell in which zone the NAT gateway of each zone stands; empty where none stands in a zone."""
    match gateways:
        case NatGateways.NONE | NatGateways.REGIONAL:
            return {}
        case NatGateways.SINGLE:
            return dict.fromkeys(zones, zones[0])
        case NatGateways.PER_ZONE:
            return {zone: zone for zone in zones}


def _pod_range(vpc: ipaddress.IPv4Network, text: str) -> ipaddress.IPv4Network:
    """Parse the range of pods, which may not overlap the VPC's first one."""
    pods = _range(text, (POD_PREFIX_MIN, POD_PREFIX_MAX), example="100.64.0.0/16")
    if pods.overlaps(vpc):
        raise AddressPlanError(
            f"the range of pods {pods} overlaps the VPC's {vpc}; choose one apart from it, such as "
            f"100.64.0.0/16"
        )
    refused = [r for home, r in _NOT_TOGETHER if vpc.subnet_of(home) and pods.overlaps(r)]
    if refused:
        raise AddressPlanError(
            f"to a VPC of {vpc} AWS adds none of {refused[0]}, where the range of pods {pods} is; choose one such as "
            f"100.64.0.0/16"
        )
    return pods


def _range(text: str, prefixes: tuple[int, int], *, example: str) -> ipaddress.IPv4Network:
    """Parse a range of the VPC, and say what would be right where it is not."""
    try:
        interface = ipaddress.IPv4Interface(text)
    except ValueError as error:
        raise AddressPlanError(
            f"{text!r} is not an IPv4 range ({error}); write one such as {example}"
        ) from error
    network = interface.network
    shortest, longest = prefixes
    if "/" not in text or not shortest <= network.prefixlen <= longest:
        raise AddressPlanError(
            f"{text} has {network.num_addresses:,} addresses; a range that is divided among "
            f"{ZONES_MAX} zones is /{shortest} to /{longest}, such as {example}"
        )
    if interface.ip != network.network_address:
        raise AddressPlanError(
            f"{text} has bits set beyond its /{network.prefixlen}; write {network} "
            f"if that range is meant"
        )
    return network


def _zone_subnets(zone: str, quarter: ipaddress.IPv4Network, pods: str | None) -> ZoneSubnets:
    """Cut a zone's quarter: the lower half private, the start of either half of the rest."""
    private, upper_half = quarter.subnets(prefixlen_diff=1)
    small = min(quarter.prefixlen + 4, SUBNET_PREFIX_MAX)
    public, intra = (next(part.subnets(new_prefix=small)) for part in upper_half.subnets())
    return ZoneSubnets(
        zone=zone, private=str(private), public=str(public), intra=str(intra), pods=pods
    )
