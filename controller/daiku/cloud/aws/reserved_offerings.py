"""What a type's capacity reservations add to the ways of buying it: machines that are paid for already.

Their price is next to nothing, so that they are used first, and in the order of what they would cost otherwise.

Source: Karpenter's reserved offerings and their labels.
"""

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final

from daiku.cloud.aws.instance_types import PREFIX
from daiku.cloud.aws.node_class import BLOCK, Reserved
from daiku.model import labels
from daiku.model.instance_type import InstanceType, LaunchOption, Offering
from daiku.model.requirements import Requirement, Requirements

ID: Final = f"{PREFIX}capacity-reservation-id"
KIND: Final = f"{PREFIX}capacity-reservation-type"
INTERRUPTIBLE: Final = f"{PREFIX}capacity-reservation-interruptible"
ZONE_ID: Final = "topology.k8s.aws/zone-id"
PAID_FOR: Final = 10_000_000
"""What the on-demand price is divided by."""
_NOT_RESERVED: Final = tuple(
    Requirement.parse(key, "DoesNotExist") for key in (ID, KIND, INTERRUPTIBLE)
)


def labels_of(reserved: Reserved) -> dict[str, str]:
    """What the nodes of a reservation say of it."""
    return {
        ID: reserved.id,
        KIND: reserved.kind,
        INTERRUPTIBLE: "true" if reserved.interruptible else "false",
    }


def add(
    found: InstanceType,
    mine: Sequence[Reserved],
    price: float | None,
    zone_ids: Mapping[str, str],
    open_zones: Container[str],
    *,
    left: Callable[[str], int],
) -> InstanceType:
    """The type with its reservations on offer as well.

    Args:
        found: The type without them.
        mine: Its reservations in zones that the node class has a subnet in.
        price: On demand, in dollars an hour.
        zone_ids: Zone -> zone id.
        open_zones: Zones in which its machines can be made now.
        left: Machines left in a reservation.
    """
    own = [
        Offering(
            requirements=Requirements.from_labels(
                {
                    labels.ZONE: each.zone,
                    labels.CAPACITY_TYPE: labels.RESERVED,
                    **({ZONE_ID: zone_ids[each.zone]} if zone_ids[each.zone] else {}),
                    **labels_of(each),
                }
            ),
            zone=each.zone,
            capacity_type=labels.RESERVED,
            price_usd_per_hour=(price or 0.0) / PAID_FOR,
            available=each.zone in open_zones and each.usable and left(each.id) > 0,
            reservation=each.id,
            left=left(each.id),
        )
        for each in mine
    ]
    others = [
        dataclasses.replace(o, requirements=o.requirements & Requirements.of(*_NOT_RESERVED))
        for o in found.offerings
    ]
    ways = found.requirements.get(labels.CAPACITY_TYPE).sorted_values()
    known = found.requirements.without(ID, KIND, INTERRUPTIBLE, labels.CAPACITY_TYPE)
    each_label = {
        key: sorted({labels_of(r)[key] for r in mine}) for key in (ID, KIND, INTERRUPTIBLE)
    }
    return dataclasses.replace(
        found,
        offerings=(*others, *own),
        requirements=known
        & Requirements.of(
            Requirement.parse(labels.CAPACITY_TYPE, "In", (*ways, labels.RESERVED)),
            *(Requirement.parse(key, "In", values) for key, values in each_label.items()),
        ),
    )


def choose(
    reservations: Sequence[Reserved], instance_type: str, zone: str, left: Callable[[str], int]
) -> Reserved | None:
    """The reservation that a machine is launched in: the one with most left, then by id."""
    fit = [
        r for r in reservations if (r.instance_type, r.zone) == (instance_type, zone) and r.usable
    ]
    return min(fit, key=lambda r: (-left(r.id), r.id), default=None)


def of_one_call(
    found: Sequence[tuple[LaunchOption, Reserved | None]],
) -> Sequence[LaunchOption]:
    """Those that one call can ask for: EC2 takes reservations of one kind at a time, and one capacity block.

    The kind that has the cheapest is taken; of several, ordinary ones before blocks before interruptible ones.

    Source: Karpenter's filters capacity-reservation-type and capacity-block.
    """

    def kind(each: tuple[LaunchOption, Reserved | None]) -> int:
        reserved = each[1]
        if reserved is None or (reserved.kind != BLOCK and not reserved.interruptible):
            return 0
        return 1 if reserved.kind == BLOCK else 2

    def rank(each: tuple[LaunchOption, Reserved | None]) -> tuple[float, int, str, str]:
        option = each[0]
        return option.price_usd_per_hour, kind(each), option.instance_type, option.zone

    found = [each for each in found if each[1] or each[0].capacity_type != labels.RESERVED]
    best = min(found, key=rank, default=None)
    if best is None:
        return ()
    if kind(best) == 1:
        return (best[0],)
    return tuple(each[0] for each in found if kind(each) == kind(best))
