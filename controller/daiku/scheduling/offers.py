"""Which instance types would do, and in which ways they are sold, whether they can be had now or not."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from daiku.model import resources
from daiku.model.instance_type import InstanceType, Offering
from daiku.model.requirements import Requirements

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


def that_would_do(
    types: Sequence[InstanceType], asked: Requirements, requests: Mapping[str, int] = _NOTHING
) -> Iterator[tuple[InstanceType, Offering]]:
    """Every offering of a type that meets requirements and holds requests, in the order of `types`.

    Args:
        types: Instance types of one node class.
        asked: What type and offering have to meet.
        requests: What the type has to hold, in millicores, bytes and counts.
    """
    for each in types:
        if not resources.fits(requests, each.allocatable) or each.requirements.intersects(asked):
            continue
        for offering in each.offerings:
            if not asked.intersects(offering.requirements):
                yield each, offering
