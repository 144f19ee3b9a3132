"""Capacity reservations: made, listed and cancelled, and used by launches that name one.

moto has none. A launch that wants a reservation only gets an instance in it or an error; one that wants none never
fills an open one here, whatever it says of its preference. Capacity blocks are bought; one that has begun is for sale
too, so that an experiment need not wait for a day to see one end.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from daiku_local.aws import clock
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import facts, filters, lifecycle, templates
from daiku_local.aws.errors import AwsError

BLOCK = "capacity-block"
ENDS_BEFORE = timedelta(minutes=30)
"""So long before the end of a capacity block EC2 terminates the instances in it."""
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


def is_active(cloud: Cloud, reservation_id: str) -> bool:
    """Whether a reservation holds capacity now."""
    found = cloud.launches.reserved.get(reservation_id)
    return found is not None and _state(cloud, found) == "active"


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
    options: dict[str, Any] = merged.get("InstanceMarketOptions") or {}
    market = options.get("MarketType")
    if (found["ReservationType"] == BLOCK) != (market == BLOCK):
        raise AwsError(
            "InvalidParameterCombination",
            f"The market type {market or 'on-demand'} does not go with the reservation {target}, which is of type "
            f"{found['ReservationType']}",
        )
    count = left(cloud, target)
    if not is_active(cloud, target) or not count:
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
    made = _keep(
        cloud,
        asked,
        InstanceType=kind,
        InstancePlatform=asked.get("InstancePlatform", "Linux/UNIX"),
        AvailabilityZone=zone,
        Tenancy=asked.get("Tenancy", "default"),
        TotalInstanceCount=int(asked["InstanceCount"]),
        EndDateType="limited" if asked.get("EndDate") else "unlimited",
        EndDate=_moment(asked.get("EndDate")),
        InstanceMatchCriteria=asked.get("InstanceMatchCriteria", "open"),
        ReservationType="default",
    )
    return {"CapacityReservation": _shown(cloud, made)}


def _keep(cloud: Cloud, asked: Asked, **fields: Any) -> dict[str, Any]:
    tags = templates.tags_for(asked, "capacity-reservation")
    made: dict[str, Any] = {
        "CapacityReservationId": f"cr-{secrets.token_hex(8)}0",
        "OwnerId": cloud.world.account,
        "State": "active",
        "CreateDate": clock.moment(cloud.now()),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        **fields,
    }
    cloud.launches.reserved[made["CapacityReservationId"]] = made
    return made


def block_offerings(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeCapacityBlockOfferings: one in each zone that has the type, from when it is asked for."""
    kind = str(asked["InstanceType"])
    known = facts.description(kind) or {}
    zones = facts.zones_of(cloud.world.region).get(kind, frozenset())
    sold = BLOCK in known.get("SupportedUsageClasses", ())
    begins = _moment(asked.get("StartDateRange")) or datetime.fromtimestamp(cloud.now(), UTC)
    hours = int(asked["CapacityDurationHours"])
    offered: list[dict[str, Any]] = [
        {
            "CapacityBlockOfferingId": f"cb-{secrets.token_hex(8)}0",
            "InstanceType": kind,
            "AvailabilityZone": zone,
            "InstanceCount": int(asked.get("InstanceCount") or 1),
            "StartDate": begins,
            "EndDate": begins + timedelta(hours=hours),
            "CapacityBlockDurationHours": hours,
            "UpfrontFee": f"{facts.on_demand_usd(kind) * hours:.2f}",
            "CurrencyCode": "USD",
            "Tenancy": "default",
        }
        for zone in (sorted(zones) if sold else ())
    ]
    cloud.launches.block_offerings |= {each["CapacityBlockOfferingId"]: each for each in offered}
    return {"CapacityBlockOfferings": offered}


def purchase_block(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """PurchaseCapacityBlock: it is active at once; its instances end half an hour before it."""
    offered = cloud.launches.block_offerings.get(str(asked["CapacityBlockOfferingId"]))
    if offered is None:
        raise AwsError(
            "InvalidCapacityBlockOfferingId.NotFound",
            f"The capacity block offering '{asked['CapacityBlockOfferingId']}' does not exist",
        )
    made = _keep(
        cloud,
        asked,
        InstanceType=offered["InstanceType"],
        InstancePlatform=asked["InstancePlatform"],
        AvailabilityZone=offered["AvailabilityZone"],
        Tenancy="default",
        TotalInstanceCount=offered["InstanceCount"],
        StartDate=offered["StartDate"],
        EndDateType="limited",
        EndDate=offered["EndDate"],
        InstanceMatchCriteria="targeted",
        ReservationType=BLOCK,
    )
    stops = (offered["EndDate"] - ENDS_BEFORE).timestamp() - cloud.now()

    def stop() -> None:
        used = [
            instance_id
            for instance_id, launched in cloud.launches.by_instance.items()
            if wanted(launched.template).target == made["CapacityReservationId"]
        ]
        for instance in lifecycle.find(cloud, used):
            lifecycle.end(cloud, instance)

    cloud.timeline.after(max(0.0, stops), stop)
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


def _moment(text: str | None) -> datetime | None:
    """A time as it comes over the wire."""
    return datetime.fromisoformat(text) if text else None


def _state(cloud: Cloud, found: Mapping[str, Any]) -> str:
    ends: Any = found["EndDate"]
    moment = datetime.fromtimestamp(cloud.now(), UTC)
    over = isinstance(ends, datetime) and ends <= moment
    return "expired" if over else str(found["State"])


def _shown(cloud: Cloud, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **found,
        "State": _state(cloud, found),
        "AvailableInstanceCount": left(cloud, found["CapacityReservationId"]),
    }


HANDLERS = {
    "CreateCapacityReservation": create,
    "CancelCapacityReservation": cancel,
    "DescribeCapacityBlockOfferings": block_offerings,
    "PurchaseCapacityBlock": purchase_block,
    "DescribeCapacityReservations": describe,
}
