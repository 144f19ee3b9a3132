"""Instance types with their prices as JSON, and back: what a snapshot of a cluster keeps of its cloud.

Nothing is lost on the way, so that a plan from a file is the plan of the live controller. Amounts are whole numbers:
cpu in millicores, everything else in base units. Node classes that offer the same share one entry.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from daiku.api import wire
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType, NodeClassRef, Offering
from daiku.model.requirements import Requirement, Requirements

API_VERSION: Final = "daiku.dev/v1alpha1"
KIND: Final = "Catalogue"

Offered = dict[NodeClassRef, tuple[InstanceType, ...]]
"""Instance types per node class."""


class _Ref(wire.Wire):
    group: str = ""
    kind: str = ""
    name: str = ""


class _Offering(wire.Wire):
    usd_per_hour: float
    requirements: list[wire.SelectorRequirement]
    available: bool = True
    reservation: str = ""
    left: int | None = None


class _InstanceType(wire.Wire):
    name: str
    capacity: dict[str, int]
    allocatable: dict[str, int]
    requirements: list[wire.SelectorRequirement]
    offerings: list[_Offering]
    overhead: dict[str, int] = msgspec.field(default_factory=dict[str, int])


class _Body(wire.Wire):
    instance_types: list[_InstanceType]
    node_classes: list[_Ref] = msgspec.field(default_factory=list[_Ref])


def encode(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Objects that hold the whole catalogue, one for each set of instance types."""
    shared: list[tuple[tuple[InstanceType, ...], list[NodeClassRef]]] = []
    for ref, types in sorted(catalogue.instance_types.items(), key=lambda item: _order(item[0])):
        same = next((refs for known, refs in shared if known is types or known == types), None)
        if same is None:
            shared.append((types, [ref]))
        else:
            same.append(ref)
    return [
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": f"{refs[0].kind.lower()}-{refs[0].name}"},
            "nodeClasses": [{"group": r.group, "kind": r.kind, "name": r.name} for r in refs],
            "instanceTypes": [_type(each) for each in types],
        }
        for types, refs in shared
    ]


def read(content: bytes) -> Offered:
    """The instance types of one object.

    Raises:
        ValueError: It is not what `encode` writes; the message says where.
    """
    try:
        body = _bodies.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"cannot be read: {error}") from error
    types = tuple(sorted((_instance_type(each) for each in body.instance_types), key=_name))
    refs = [NodeClassRef(group=r.group, kind=r.kind, name=r.name) for r in body.node_classes]
    return dict.fromkeys(refs, types)


def _order(ref: NodeClassRef) -> tuple[str, str, str]:
    return ref.group, ref.kind, ref.name


def _name(instance_type: InstanceType) -> str:
    return instance_type.name


def _type(instance_type: InstanceType) -> Mapping[str, Any]:
    return {
        "name": instance_type.name,
        "capacity": _sorted(instance_type.capacity),
        "overhead": _sorted(instance_type.overhead),
        "allocatable": _sorted(instance_type.allocatable),
        "requirements": instance_type.requirements.to_wire(),
        "offerings": [
            {
                "usdPerHour": offering.price_usd_per_hour,
                "available": offering.available,
                "requirements": offering.requirements.to_wire(),
                **(
                    {"reservation": offering.reservation, "left": offering.left}
                    if offering.reservation
                    else {}
                ),
            }
            for offering in instance_type.offerings
        ],
    }


def _sorted(amounts: Mapping[str, int]) -> dict[str, int]:
    return {resource: amounts[resource] for resource in sorted(amounts)}


def _instance_type(found: _InstanceType) -> InstanceType:
    return InstanceType(
        name=found.name,
        requirements=_requirements(found.requirements),
        offerings=tuple(_offerings(found.name, found.offerings)),
        capacity=found.capacity,
        overhead=found.overhead,
        allocatable=found.allocatable,
    )


def _requirements(found: Sequence[wire.SelectorRequirement]) -> Requirements:
    return Requirements.of(
        *(Requirement.parse(r.key, r.operator, r.values or (), r.min_values) for r in found)
    )


def _offerings(name: str, found: Sequence[_Offering]) -> Iterable[Offering]:
    for each in found:
        requirements = _requirements(each.requirements)
        single = requirements.single_values()
        if labels.ZONE not in single or labels.CAPACITY_TYPE not in single:
            raise ValueError(
                f"instance type {name!r} has an offering without exactly one value of {labels.ZONE} "
                f"and of {labels.CAPACITY_TYPE}"
            )
        if not each.usd_per_hour >= 0:
            raise ValueError(
                f"instance type {name!r} has an offering at {each.usd_per_hour} $/h; a price is at least 0"
            )
        yield Offering(
            requirements=requirements,
            zone=single[labels.ZONE],
            capacity_type=single[labels.CAPACITY_TYPE],
            price_usd_per_hour=each.usd_per_hour,
            available=each.available,
            reservation=each.reservation,
            left=each.left,
        )


_bodies = msgspec.json.Decoder(_Body)
