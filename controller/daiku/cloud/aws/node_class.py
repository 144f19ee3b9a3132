"""An EC2NodeClass as the AWS provider reads it: its spec and status with names, defaults and mistakes.

Everything that shapes a machine is here; what is resolved from AWS (subnets, images, …) is read from the status, so
that a launch never asks AWS again what the status already says.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from daiku.cloud.aws import families
from daiku.cloud.aws.answers import part, parts, words
from daiku.cloud.aws.families import Family
from daiku.cloud.aws.placement_groups import Group
from daiku.lifecycle.node_class_drift import PLACEMENT_GROUP, RESOLVED_GROUP
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
NODE_CLASS: Final = "karpenter.k8s.aws/ec2nodeclass"
BLOCK: Final = "capacity-block"
"""Kind of a reservation that begins and ends at a time that was bought."""
_RELEASE: Final = re.compile(r"-v(\d+\.\d+\.\d+)(?:-|$)")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """One entry of status.capacityReservations."""

    id: str
    zone: str
    instance_type: str
    kind: str
    """default or capacity-block."""
    interruptible: bool
    usable: bool
    """Not about to end."""


def family(node_class: NodeClass) -> Family:
    """AMI family: amiFamily, else the alias's."""
    given = families.BY_NAME.get(node_class.spec.get("amiFamily") or "")
    return given or families.BY_ALIAS.get(alias(node_class)[0], families.CUSTOM)


def alias(node_class: NodeClass) -> tuple[str, str]:
    """Family and version of the alias among its image terms; empty when there is none."""
    given = next((t["alias"] for t in terms(node_class, "ami") if t.get("alias")), "")
    name, _, version = given.partition("@")
    return name, version


def bottlerocket_version(node_class: NodeClass) -> str:
    """Release of its Bottlerocket images, as far as terms and status tell: "1.46.0", "latest" or nothing.

    Source: Karpenter asks the alias, then the name of a term, then the names of the images that were found.
    """
    version = alias(node_class)[1]
    names = [str(term["name"]) for term in terms(node_class, "ami") if term.get("name")]
    names += [str(image.get("name", "")) for image in parts(node_class.status, "amis")]
    found = (match[1] for name in names if (match := _RELEASE.search(name)))
    return version or next(found, "")


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


def reservations(node_class: NodeClass) -> tuple[Reserved, ...]:
    """The capacity reservations of its status, by id."""
    return tuple(
        Reserved(
            id=r["id"],
            zone=r["availabilityZone"],
            instance_type=r["instanceType"],
            kind=r.get("reservationType") or "default",
            interruptible=bool(r.get("interruptible")),
            usable=r.get("state", "active") == "active",
        )
        for r in parts(node_class.status, "capacityReservations")
    )


def placement_group(node_class: NodeClass) -> Group | None:
    """The group that its machines go in, as last resolved; there is no place for it in the status."""
    if not node_class.spec.get("placementGroupSelector"):
        return None
    return Group.read(node_class.meta.annotations.get(RESOLVED_GROUP, ""))


def own_labels(node_class: NodeClass) -> dict[str, str]:
    """Labels that its nodes have because of the class itself."""
    group = placement_group(node_class)
    return {NODE_CLASS: node_class.meta.name, **({PLACEMENT_GROUP: group.id} if group else {})}


def security_groups(node_class: NodeClass) -> list[str]:
    """Ids of the security groups of its status."""
    return [g["id"] for g in parts(node_class.status, "securityGroups")]


def static_hash(node_class: NodeClass, certificate_authority: str) -> str:
    """What changes when machines made from the node class would come out differently.

    Neither the order of lists counts nor what is empty; of the kubelet's settings every letter does.
    """
    hashed = {k: v for k, v in node_class.spec.items() if k not in NOT_HASHED}
    settings: Json = hashed.pop("kubelet", None) or {}
    read: list[Any] = [_canonical(hashed), family(node_class).name, certificate_authority, settings]
    text = json.dumps(read, sort_keys=True, separators=(",", ":"))
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


def _canonical(value: Any) -> Any:
    """The same for values that mean the same: without what is empty, lists sorted. False is a wish, not nothing."""
    if isinstance(value, Mapping):
        known = cast("Json", value)
        made = {key: _canonical(each) for key, each in known.items()}
        return {key: each for key, each in made.items() if each not in ("", [], {}, None)}
    if isinstance(value, list):
        items = [_canonical(each) for each in cast("list[Any]", value)]
        return sorted(items, key=lambda each: json.dumps(each, sort_keys=True))
    return value
