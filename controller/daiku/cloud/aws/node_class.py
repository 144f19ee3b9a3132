"""An EC2NodeClass as the AWS provider reads it: its spec and status with names, defaults and mistakes.

Everything that shapes a machine is here; what is resolved from AWS (subnets, images, …) is read from the status, so
that a launch never asks AWS again what the status already says.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud.aws.answers import part, parts, words
from daiku.model import resources
from daiku.model.nodeclass import NodeClass
from daiku.model.requirements import Requirement, Requirements

HASH_VERSION: Final = "daiku-1"
"""Changes when the hash of the same spec does; claims of another version are stamped anew instead of drifting."""
NOT_HASHED: Final = frozenset(
    {
        "subnetSelectorTerms",
        "securityGroupSelectorTerms",
        "capacityReservationSelectorTerms",
        "amiSelectorTerms",
        "amiFamily",
        "ipPrefixCount",
    }
)
"""What these select is compared with the machine itself."""
FAMILIES: Final = ("AL2023", "Custom")
"""AMI families that machines can be made of."""
UNSUPPORTED: Final = (
    "placementGroupSelector",
    "capacityReservationSelectorTerms",
    "networkInterfaces",
)
"""Fields that are not honoured: refused rather than ignored."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """One entry of status.subnets."""

    id: str
    zone: str
    zone_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One entry of status.amis."""

    id: str
    requirements: Requirements
    """Which instance types can boot it."""


def family(node_class: NodeClass) -> str:
    """AMI family: amiFamily, else the alias's."""
    given = node_class.spec.get("amiFamily")
    if given:
        return str(given)
    alias = next((t["alias"] for t in terms(node_class, "ami") if t.get("alias")), "")
    names = {name.lower(): name for name in (*FAMILIES, "AL2", "Bottlerocket")}
    return names.get(alias.partition("@")[0], alias.partition("@")[0] or "Custom")


def terms(node_class: NodeClass, kind: str) -> Sequence[Json]:
    """The selector terms of "subnet", "securityGroup" or "ami"."""
    return node_class.spec.get(f"{kind}SelectorTerms") or ()


def kubelet(node_class: NodeClass) -> Json:
    """spec.kubelet as it stands."""
    return part(node_class.spec, "kubelet")


def subnets(node_class: NodeClass) -> tuple[Subnet, ...]:
    """The subnets of its status, most free addresses first."""
    return tuple(
        Subnet(id=s["id"], zone=s["zone"], zone_id=s.get("zoneID") or "")
        for s in parts(node_class.status, "subnets")
    )


def images(node_class: NodeClass) -> tuple[Image, ...]:
    """The images of its status, newest first."""
    return tuple(
        Image(
            id=a["id"],
            requirements=Requirements.of(
                *(
                    Requirement.parse(r["key"], r["operator"], words(r, "values"))
                    for r in parts(a, "requirements")
                )
            ),
        )
        for a in parts(node_class.status, "amis")
    )


def security_groups(node_class: NodeClass) -> list[str]:
    """Ids of the security groups of its status."""
    return [g["id"] for g in parts(node_class.status, "securityGroups")]


def static_hash(node_class: NodeClass) -> str:
    """What changes when machines made from the node class would come out differently."""
    hashed = {k: v for k, v in node_class.spec.items() if k not in NOT_HASHED}
    text = json.dumps([hashed, family(node_class)], sort_keys=True, separators=(",", ":"))
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


def problems(node_class: NodeClass) -> list[tuple[str, str]]:
    """Why no machine can be made from it: (reason, sentence) pairs; empty when one can."""
    found: list[tuple[str, str]] = []
    if family(node_class) not in FAMILIES:
        found.append(
            (
                "UnsupportedAMIFamily",
                f"amiFamily {family(node_class)} is not supported: use an al2023 alias, or Custom",
            )
        )
    found.extend(
        ("UnsupportedField", f"spec.{field} is not supported: take it out")
        for field in UNSUPPORTED
        if node_class.spec.get(field)
    )
    sentences = _kubelet_problems(kubelet(node_class))
    if sentences:
        found.append(("InvalidKubeletConfiguration", "; ".join(sentences)))
    return found


def _kubelet_problems(config: Json) -> list[str]:
    found: list[str] = []
    if "registerWithTaints" in config:
        found.append("kubelet.registerWithTaints is set by Daiku: use taints of the NodePool")
    for name in ("maxPods", "podsPerCore", "evictionMaxPodGracePeriod"):
        value = config.get(name, 0)
        if not isinstance(value, int) or value < 0:
            found.append(f"kubelet.{name} is {value!r}; it must be a whole number, 0 or more")
    for name in ("kubeReserved", "systemReserved"):
        found.extend(_reserved_problems(name, config.get(name) or {}))
    return found


def _reserved_problems(name: str, amounts: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for resource, quantity in amounts.items():
        if resource not in {"cpu", "memory", "ephemeral-storage", "pid"}:
            found.append(
                f"kubelet.{name}.{resource}: only cpu, memory, ephemeral-storage and pid can be reserved"
            )
            continue
        try:
            if resources.parse({resource: quantity})[resource] < 0:
                found.append(f"kubelet.{name}.{resource} is {quantity}; it may not be negative")
        except ValueError as error:
            found.append(f"kubelet.{name}.{error}")
    return found
