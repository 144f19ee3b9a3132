"""Capacity reservations and placement groups: there are none, and they are listed as none.

moto has neither. They cannot be made here yet; a controller that looks for them finds an account without.
"""

from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError


def describe_capacity_reservations(_cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeCapacityReservations."""
    if wanted := asked.get("CapacityReservationIds"):
        raise AwsError(
            "InvalidCapacityReservationId.NotFound",
            f"The capacity reservation ID '{', '.join(wanted)}' does not exist",
        )
    return {"CapacityReservations": []}


def describe_placement_groups(_cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribePlacementGroups."""
    if wanted := [*asked.get("GroupNames", []), *asked.get("GroupIds", [])]:
        raise AwsError(
            "InvalidPlacementGroup.Unknown", f"The Placement Group '{wanted[0]}' is unknown."
        )
    return {"PlacementGroups": []}


HANDLERS = {
    "DescribeCapacityReservations": describe_capacity_reservations,
    "DescribePlacementGroups": describe_placement_groups,
}
