"""The network interfaces of a machine: those that the node class lists, or one EFA per card, or just one.

Source: Karpenter's launch templates; EC2's rules for Elastic Fabric Adapters.
"""

from typing import Any, Final

from daiku.cloud.aws import node_class
from daiku.cloud.aws.answers import part, parts
from daiku.model.nodeclass import NodeClass

TIMEOUTS: Final = {
    "tcpEstablishedTimeout": "TcpEstablishedTimeout",
    "udpStreamTimeout": "UdpStreamTimeout",
    "udpTimeout": "UdpTimeout",
}
"""Field of connectionTracking -> its name in EC2."""

Json = dict[str, Any]


def requests(found: NodeClass, *, efas: int, is_ipv6: bool) -> list[Json]:
    """NetworkInterfaces of a launch template; `efas`: how many EFAs the claim wants of the type."""
    groups = node_class.security_groups(found)
    if listed := parts(found.spec, "networkInterfaces"):
        made = [
            _of(i["networkCardIndex"], i["deviceIndex"], groups, i["interfaceType"]) for i in listed
        ]
    elif efas:
        made = [_of(card, min(card, 1), groups, "efa") for card in range(efas)]
    else:
        made = [_of(0, 0, groups, "")]
    return [
        each
        if each.get("InterfaceType") == "efa-only"
        else {**each, **_addressed(found, is_ipv6=is_ipv6)}
        for each in made
    ]


def _of(card: int, device: int, groups: list[str], kind: str) -> Json:
    made: Json = {
        "DeviceIndex": device,
        "NetworkCardIndex": card,
        "Groups": groups,
        "DeleteOnTermination": True,
    }
    return made | ({"InterfaceType": kind} if kind else {})


def _addressed(found: NodeClass, *, is_ipv6: bool) -> Json:
    """What only an interface with addresses has."""
    spec, made = found.spec, Json()
    if spec.get("associatePublicIPAddress") is not None:
        made["AssociatePublicIpAddress"] = spec["associatePublicIPAddress"]
    if is_ipv6:
        made |= {"PrimaryIpv6": True, "Ipv6AddressCount": 1}
    if prefixes := spec.get("ipPrefixCount"):
        made["Ipv6PrefixCount" if is_ipv6 else "Ipv4PrefixCount"] = prefixes
    if tracking := part(spec, "connectionTracking"):
        made["ConnectionTrackingSpecification"] = {
            TIMEOUTS[k]: v for k, v in tracking.items() if k in TIMEOUTS
        }
    return made
