"""Capacity reservations: made, listed and cancelled, and used by launches that name one.

moto has none. A launch that wants a reservation only gets an instance in it or an error; one that wants none never
fills an open one here, whatever it says of its preference.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from daiku_local.aws import clock
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import facts, filters, templates
from daiku_local.aws.errors import AwsError

ONLY = "capacity-reservations-only"
FILTERS = {
    "state": filters.at("State"),
    "owner-id": filters.at("OwnerId"),
    "instance-type": filters.at("InstanceType"),
    "availability-zone": filters.at("AvailabilityZone"),
    "instance-match-criteria": filters.at("InstanceMatchCriteria"),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a launch says of reservations."""

    preference: str
    """capacity-reservations-only, none or open."""
    target: str
    """Id of the reservation that it wants; empty: none."""


def wanted(merged: Mapping[str, Any]) -> Wanted:
    """What a merged request says of reservations."""
    specification: dict[str, Any] = merged.get("CapacityReservationSpecification") or {}
    target: dict[str, Any] = specification.get("CapacityReservationTarget") or {}
    return Wanted(
        preference=str(specification.get("CapacityReservationPreference") or "open"),
        target=str(target.get("CapacityReservationId") or ""),
    )


def left(cloud: Cloud, reservation_id: str) -> int:
    """Instances that can still be launched in a reservation."""
    used = sum(
        wanted(launched.template).target == reservation_id
        for launched in cloud.launches.by_instance.values()
    )
    total = int(cloud.launches.reserved[reservation_id]["TotalInstanceCount"])
    return max(0, total - used)


def admitted(cloud: Cloud, merged: Mapping[str, Any], instance_type: str, zone: str) -> int | None:
    """How many instances the reservation that a launch wants has left; None: it wants none.

    Raises:
        AwsError: There is no such reservation, or it is for others, or full.
    """
    target = wanted(merged).target
    if not target:
        return None
    _check_known(cloud, [target])
    found = cloud.launches.reserved[target]
    if (found["InstanceType"], found["AvailabilityZone"]) != (instance_type, zone):
        raise AwsError(
            "InvalidParameterValue",
            f"The capacity reservation {target} is for {found['InstanceType']} in {found['AvailabilityZone']}, "
            f"not for {instance_type} in {zone}",
        )
    count = left(cloud, target)
    if found["State"] != "active" or not count:
        raise AwsError(
            "ReservationCapacityExceeded",
            f"The requested reservation {target} does not have sufficient compatible and available capacity",
        )
    return count


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateCapacityReservation."""
    kind, zone = str(asked["InstanceType"]), str(asked["AvailabilityZone"])
    if zone not in facts.zones_of(cloud.world.region).get(kind, frozenset()):
        raise AwsError("Unsupported", f"The instance type {kind} is not supported in {zone}")
    tags = templates.tags_for(asked, "capacity-reservation")
    made: dict[str, Any] = {
        "CapacityReservationId": f"cr-{secrets.token_hex(8)}0",
        "OwnerId": cloud.world.account,
        "InstanceType": kind,
        "InstancePlatform": asked.get("InstancePlatform", "Linux/UNIX"),
        "AvailabilityZone": zone,
        "Tenancy": asked.get("Tenancy", "default"),
        "TotalInstanceCount": int(asked["InstanceCount"]),
        "State": "active",
        "EndDateType": "limited" if asked.get("EndDate") else "unlimited",
        "EndDate": asked.get("EndDate"),
        "InstanceMatchCriteria": asked.get("InstanceMatchCriteria", "open"),
        "CreateDate": clock.moment(cloud.now()),
        "ReservationType": "default",
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    cloud.launches.reserved[made["CapacityReservationId"]] = made
    return {"CapacityReservation": _shown(cloud, made)}


def cancel(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CancelCapacityReservation: instances in it go on."""
    reservation_id = str(asked["CapacityReservationId"])
    _check_known(cloud, [reservation_id])
    cloud.launches.reserved[reservation_id]["State"] = "cancelled"
    return {"Return": True}


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeCapacityReservations."""
    ids: list[str] = asked.get("CapacityReservationIds", [])
    _check_known(cloud, ids)
    known = cloud.launches.reserved
    rows = [_shown(cloud, known[each]) for each in ids or known]
    return {"CapacityReservations": filters.keep(rows, asked.get("Filters", []), FILTERS)}


def _check_known(cloud: Cloud, ids: list[str]) -> None:
    if missing := [each for each in ids if each not in cloud.launches.reserved]:
        raise AwsError(
            "InvalidCapacityReservationId.NotFound",
            f"The capacity reservation ID '{', '.join(missing)}' does not exist",
        )


def _shown(cloud: Cloud, found: Mapping[str, Any]) -> dict[str, Any]:
    ends: Any = found["EndDate"]
    moment = datetime.fromtimestamp(cloud.now(), UTC)
    over = isinstance(ends, datetime) and ends <= moment
    return {
        **found,
        "State": "expired" if over else found["State"],
        "AvailableInstanceCount": left(cloud, found["CapacityReservationId"]),
    }


HANDLERS = {
    "CreateCapacityReservation": create,
    "CancelCapacityReservation": cancel,
    "DescribeCapacityReservations": describe,
}
