"""Instance types as one node class would run them: labels, what pods can have, and every way to buy them.

What depends only on the type and the node class's sizing is made once and shared; a new price or another subnet only
makes new offerings. Requirements are shared too: there are thousands of offerings and a dozen different ones.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from daiku.cloud.aws import capacity, compatibility, families, node_class, reserved_offerings
from daiku.cloud.aws.capacity import Sizing
from daiku.cloud.aws.families import Family
from daiku.cloud.aws.instance_types import PREFIX, Facts
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.placement_groups import PARTITION_LABEL
from daiku.cloud.aws.pricing import Prices
from daiku.model import labels
from daiku.model.instance_type import InstanceType, Offering
from daiku.model.nodeclass import NodeClass
from daiku.model.requirements import Requirement, Requirements

ZONE_ID: Final = reserved_offerings.ZONE_ID
TENANCY: Final = f"{PREFIX}instance-tenancy"
BUYABLE: Final = (labels.ON_DEMAND, labels.SPOT)
OPTIONAL: Final = tuple(
    f"{PREFIX}{suffix}"
    for suffix in (
        "instance-category",
        "instance-generation",
        "instance-cpu-manufacturer",
        "instance-cpu-sustained-clock-speed-mhz",
        "instance-ebs-bandwidth",
        "instance-network-bandwidth",
        "instance-local-nvme",
        "instance-gpu-name",
        "instance-gpu-manufacturer",
        "instance-gpu-count",
        "instance-gpu-memory",
        "instance-accelerator-name",
        "instance-accelerator-manufacturer",
        "instance-accelerator-count",
        "capacity-reservation-id",
        "capacity-reservation-type",
        "capacity-reservation-interruptible",
        "placement-group-id",
        "placement-group-partition",
    )
)
"""Labels that some nodes do not have; said as DoesNotExist where they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What changes while machines run."""

    left: Callable[[str], int] = lambda _: 0
    """Machines left in a capacity reservation, by its id."""
    shifted: frozenset[str] = frozenset()
    """Ids of zones that the cluster is shifted away from: nothing is bought there."""


FRESH: Final = Moment()
_ShapeKey = tuple[str, Sizing, tuple[Requirement, ...]]
"""Instance type, sizing, and what nodes of the class say of themselves."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What of an instance type does not depend on zones or prices."""

    requirements: tuple[Requirement, ...]
    capacity: Mapping[str, int]
    overhead: Mapping[str, int]
    allocatable: Mapping[str, int]


@dataclass(slots=True)
class Offerings:
    """Makes instance types for node classes, remembering what can be shared. One thread uses it."""

    region: str
    measured: Measured
    _shapes: dict[_ShapeKey, tuple[Facts, int | None, _Shape]] = field(
        default_factory=dict[_ShapeKey, tuple[Facts, int | None, _Shape]]
    )

    def make(
        self,
        types: Mapping[str, Facts],
        prices: Prices,
        found: NodeClass,
        sizing: Sizing,
        now: Moment = FRESH,
    ) -> tuple[InstanceType, ...]:
        """Every instance type as `found` would run it, sorted by name."""
        reserved: dict[str, list[node_class.Reserved]] = {}
        for each in node_class.reservations(found):
            reserved.setdefault(each.instance_type, []).append(each)
        zone_ids = {s.zone: s.zone_id for s in node_class.subnets(found)}
        images, group = node_class.images(found), node_class.placement_group(found)
        strategy = group.strategy if group else ""
        partitions = tuple(str(n + 1) for n in range(group.partitions if group else 0))
        own = (
            *(_one(key, value) for key, value in node_class.own_labels(found).items()),
            *_set(PARTITION_LABEL, partitions),
        )
        made: list[InstanceType] = []
        for facts in types.values():
            image = next((i.id for i in images if compatibility.boots(i, facts)), "")
            shape = self._shape(facts, sizing, own, image)
            usable = bool(image) and not compatibility.obstacle(facts, found, strategy=strategy)
            open_zones = {z: i for z, i in zone_ids.items() if usable and i not in now.shifted}
            one = _instance_type(facts, shape, prices, zone_ids, open_zones)
            if mine := [r for r in reserved.get(facts.name, ()) if r.zone in zone_ids]:
                price = prices.on_demand_price(facts)
                one = reserved_offerings.add(one, mine, price, zone_ids, open_zones, left=now.left)
            made.append(one)
        return tuple(made)

    def _shape(
        self, facts: Facts, sizing: Sizing, own: tuple[Requirement, ...], image: str
    ) -> _Shape:
        key = (facts.name, sizing, own)
        memory = self.measured.memory(facts.name, image)
        known = self._shapes.get(key)
        if known is not None and known[0] is facts and known[1] == memory:
            return known[2]
        has = capacity.capacity(facts, sizing, memory)
        kept = capacity.overhead(facts, sizing, has)
        shape = _Shape(
            _fixed(facts, self.region, own, sizing.family),
            has,
            kept,
            {r: max(0, amount - kept.get(r, 0)) for r, amount in has.items()},
        )
        self._shapes[key] = (facts, memory, shape)
        return shape


def _fixed(
    facts: Facts, region: str, own: tuple[Requirement, ...], family: Family
) -> tuple[Requirement, ...]:
    known = {
        **facts.labels,
        labels.REGION: region,
        **families.labels_of(family),
    }
    said = {*known, *(requirement.key for requirement in own)}
    absent = (label for label in (*OPTIONAL, labels.WINDOWS_BUILD) if label not in said)
    return (
        *own,
        *(_one(key, value) for key, value in known.items()),
        *(_none(label) for label in absent),
        Requirement.parse(TENANCY, "In", ("default", "dedicated")),
    )


def _instance_type(
    facts: Facts,
    shape: _Shape,
    prices: Prices,
    zone_ids: Mapping[str, str],
    open_zones: Container[str],
) -> InstanceType:
    zones = tuple(zone for zone in facts.zones if zone in zone_ids)
    ways = tuple(way for way in BUYABLE if way in facts.usage_classes)
    offerings = tuple(
        offering
        for zone in zones
        for way in ways
        if (
            offering := _offering(
                facts, prices, zone, zone_ids[zone], way, usable=zone in open_zones
            )
        )
        is not None
    )
    requirements = Requirements.of(
        *shape.requirements,
        *_set(labels.ZONE, zones),
        *_set(ZONE_ID, tuple(sorted({zone_ids[z] for z in zones if zone_ids[z]}))),
        *_set(labels.CAPACITY_TYPE, ways),
    )
    return InstanceType(
        name=facts.name,
        requirements=requirements,
        offerings=offerings,
        capacity=shape.capacity,
        overhead=shape.overhead,
        allocatable=shape.allocatable,
    )


def _offering(
    facts: Facts, prices: Prices, zone: str, zone_id: str, way: str, *, usable: bool
) -> Offering | None:
    price = prices.spot_price(facts, zone) if way == labels.SPOT else prices.on_demand_price(facts)
    if price is None:
        return None
    return Offering(
        requirements=_way(zone, zone_id, way),
        zone=zone,
        capacity_type=way,
        price_usd_per_hour=price,
        available=usable,
    )


@lru_cache(maxsize=1024)
def _way(zone: str, zone_id: str, way: str) -> Requirements:
    known = {labels.ZONE: zone, labels.CAPACITY_TYPE: way} | ({ZONE_ID: zone_id} if zone_id else {})
    return Requirements.from_labels(known)


@lru_cache(maxsize=32768)
def _one(key: str, value: str) -> Requirement:
    return Requirement.parse(key, "In", (value,))


@lru_cache(maxsize=64)
def _none(key: str) -> Requirement:
    return Requirement.parse(key, "DoesNotExist")


@lru_cache(maxsize=1024)
def _set(key: str, values: tuple[str, ...]) -> Sequence[Requirement]:
    return (Requirement.parse(key, "In", values),) if values else ()
