"""Whether machines of a type can be made as a node class wants them at all: a type that cannot is never for sale.

Source: Karpenter's filters of instance types by EC2NodeClass; EC2's limits of network cards.
"""

from typing import Any, Final

from daiku.cloud.aws import node_class
from daiku.cloud.aws.answers import part, parts
from daiku.cloud.aws.instance_types import Facts
from daiku.model import labels
from daiku.model.nodeclass import NodeClass

NESTED: Final = "nested-virtualization"


def obstacle(facts: Facts, found: NodeClass, *, strategy: str = "") -> str:
    """Why none of these machines can be had; empty when they can. `strategy` is that of its placement group."""
    family = node_class.family(found)
    if family.name == "AL2023" and facts.name.startswith("a1."):
        return "EKS has no AL2023 image that boots on a1"
    if family.is_windows and facts.architecture != "amd64":
        return "Windows runs on amd64 only"
    nested = part(found.spec, "cpuOptions").get("nestedVirtualization") == "enabled"
    if nested and NESTED not in facts.features:
        return "it has no nested virtualization"
    if found.spec.get("connectionTracking") and "nitro" not in facts.features:
        return "connectionTracking needs the nitro hypervisor"
    if strategy and strategy not in facts.features:
        return f"it cannot be in a placement group of strategy {strategy}"
    if listed := parts(found.spec, "networkInterfaces"):
        return _interfaces(facts, found, listed)
    return ""


def _interfaces(facts: Facts, found: NodeClass, listed: list[dict[str, Any]]) -> str:
    if not facts.cards or "ena" not in facts.features:
        return "it has no network cards with ENA"
    for each in listed:
        card, device = each["networkCardIndex"], each["deviceIndex"]
        if card >= len(facts.cards):
            return f"networkInterfaces wants card {card}; it has {len(facts.cards)}"
        if device >= facts.cards[card]:
            return f"networkInterfaces wants device {device}; card {card} takes {facts.cards[card]}"
    efas = sum(1 for each in listed if each["interfaceType"] == "efa-only")
    if efas > facts.efa_max:
        return f"networkInterfaces wants {efas} EFAs; it takes {facts.efa_max}"
    prefixes = found.spec.get("ipPrefixCount") or 0
    room = facts.addresses_per_interface - 1
    if prefixes > room:
        return f"ipPrefixCount is {prefixes}; an interface has room for {room}"
    return ""


def boots(image: node_class.Image, facts: Facts) -> bool:
    """Whether machines of this type can boot the image; its operating system is its family's matter."""
    return all(
        r.has(facts.labels[r.key]) if r.key in facts.labels else r.absent
        for r in image.requirements
        if r.key not in {labels.OS, labels.WINDOWS_BUILD}
    )
