"""Which instance types would do, and in which ways they are sold, whether they can be had now or not."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from daiku.model import labels, memo, resources
from daiku.model.instance_type import InstanceType, Offering
from daiku.model.requirements import Requirements

Offer = tuple[InstanceType, Offering]

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


def of(types: Iterable[InstanceType]) -> Iterator[Offer]:
    """Every way in which types are sold, in their order."""
    return ((each, offering) for each in types for offering in each.offerings)


# Asked for every new node, and by most the first few offers are the answer.
@memo.by_identity(8)
def on_demand(types: tuple[InstanceType, ...]) -> tuple[Offer, ...]:
    """Those on demand, the cheapest first."""
    found = (offer for offer in of(types) if offer[1].capacity_type == labels.ON_DEMAND)
    return tuple(sorted(found, key=lambda offer: offer[1].price_usd_per_hour))


def that_would_do(
    offers: Iterable[Offer], asked: Requirements, requests: Mapping[str, int] = _NOTHING
) -> Iterator[Offer]:
    """Those of a type that meets requirements and holds requests, in the order of `offers`.

    Args:
        offers: Instance types of one node class, and how they are sold.
        asked: What type and offering have to meet.
        requests: What the type has to hold, in millicores, bytes and counts.
    """
    for each, offering in offers:
        if (
            resources.fits(requests, each.allocatable)
            and not each.requirements.intersects(asked)
            and not asked.intersects(offering.requirements)
        ):
            yield each, offering
