# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""CreateFleet of type instant, and what shows of it afterwards.

Pools are tried in the order of the allocation strategy; a pool that is sold out, or refuses for another
reason, becomes an entry of `Errors`, and the next one is tried for what is still missing. Not
played: fleets that maintain themselves, weights, attribute-based selection.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daiku_local.aws import clock
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import (
    allocation,
    facts,
    instances,
    launch,
    lifecycle,
    reservations,
    spot_prices,
    templates,
)
from daiku_local.aws.ec2.records import Fleet
from daiku_local.aws.errors import AwsError
from daiku_local.aws.moto_door import ServiceException

OVERRIDDEN = ("InstanceType", "ImageId", "SubnetId", "Placement")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One override of a fleet's request, with the template that it overrides."""

    version: templates.Version
    """Launch template version."""
    override: dict[str, Any]
    """The override as it was sent."""
    merged: dict[str, Any]
    """What RunInstances would be asked for."""
    pool: allocation.Pool
    """Its pool, for the capacity type in question."""

    @property
    def echo(self) -> dict[str, Any]:
        """The candidate as `Errors` and `Instances` name it."""
        override = {**self.override, "AvailabilityZone": self.pool.zone}
        override["InstanceType"] = self.pool.instance_type
        return {"LaunchTemplateSpecification": self.version.specification, "Overrides": override}


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateFleet."""
    token = str(asked.get("ClientToken") or "")
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    if token and token in cloud.fleets.by_token:
        earlier, fleet_id = cloud.fleets.by_token[token]
        if earlier != digest:
            raise AwsError(
                "IdempotentParameterMismatch",
                f"The client token {token} was used with other parameters before",
            )
        return cloud.fleets.by_id[fleet_id].answer
    if asked.get("Type", "maintain") != "instant":
        raise AwsError(
            "UnsupportedOperation",
            f"Fleets of type {asked.get('Type', 'maintain')!r} are not played here, only 'instant'",
        )
    target = asked.get("TargetCapacitySpecification") or {}
    if int(target.get("TotalTargetCapacity") or 0) < 1:
        raise AwsError("InvalidParameterValue", "TotalTargetCapacity must be 1 or more")
    versions = [
        (templates.resolve(cloud, config["LaunchTemplateSpecification"]), config.get("Overrides"))
        for config in asked.get("LaunchTemplateConfigs") or ()
    ]
    if not versions:
        raise AwsError(
            "MissingParameter", "The request must contain the parameter LaunchTemplateConfigs"
        )
    strategies = _strategies(asked)
    lifecycle.check_dry_run(asked)
    fleet_id = f"fleet-{uuid.uuid4()}"
    answer = _fulfil(cloud, asked, fleet_id, versions, strategies)
    _record(cloud, asked, fleet_id, answer)
    if token:
        cloud.fleets.by_token[token] = (digest, fleet_id)
    return answer


def _strategies(asked: Asked) -> dict[str, str]:
    """The allocation strategy of each capacity type.

    Raises:
        AwsError: One is not a strategy of its type.
    """
    spot = (asked.get("SpotOptions") or {}).get("AllocationStrategy") or allocation.LOWEST_PRICE
    on_demand = (asked.get("OnDemandOptions") or {}).get("AllocationStrategy")
    chosen = {facts.SPOT: str(spot), facts.ON_DEMAND: str(on_demand or allocation.LOWEST_PRICE)}
    known = {
        facts.SPOT: allocation.SPOT_STRATEGIES,
        facts.ON_DEMAND: allocation.ON_DEMAND_STRATEGIES,
    }
    for capacity_type, strategy in chosen.items():
        if strategy not in known[capacity_type]:
            raise AwsError(
                "InvalidParameterValue",
                f"{strategy!r} is not an allocation strategy of {capacity_type}: "
                f"{', '.join(known[capacity_type])}",
            )
    return chosen


def _fulfil(
    cloud: Cloud,
    asked: Asked,
    fleet_id: str,
    versions: list[tuple[templates.Version, list[dict[str, Any]] | None]],
    strategies: Mapping[str, str],
) -> dict[str, Any]:
    target = asked["TargetCapacitySpecification"]
    wanted = allocation.demand(
        int(target["TotalTargetCapacity"]),
        target.get("OnDemandTargetCapacity"),
        target.get("SpotTargetCapacity"),
        str(target.get("DefaultTargetCapacityType") or facts.ON_DEMAND),
    )
    answer: dict[str, Any] = {"FleetId": fleet_id, "Errors": [], "Instances": []}
    for capacity_type, count in ((facts.ON_DEMAND, wanted.on_demand), (facts.SPOT, wanted.spot)):
        if count:
            candidates = _candidates(cloud, asked, versions, capacity_type)
            ranked = allocation.rank([one.pool for one in candidates], strategies[capacity_type])
            ordered = [candidates[pool.position] for pool in ranked]
            _take(cloud, ordered, answer, capacity_type=capacity_type, count=count)
    return answer


def _candidates(
    cloud: Cloud,
    asked: Asked,
    versions: list[tuple[templates.Version, list[dict[str, Any]] | None]],
    capacity_type: str,
) -> list[Candidate]:
    now = cloud.now()
    zones = {
        str(subnet.id): str(subnet.availability_zone)
        for in_zone in cloud.ec2.subnets.values()
        for subnet in in_zone.values()
    }
    request_tags = {"TagSpecifications": asked.get("TagSpecifications") or []}
    found: list[Candidate] = []
    for version, overrides in versions:
        base = templates.merge(version.content, request_tags)
        for override in overrides or [{}]:
            merged = {**base, **{key: override[key] for key in OVERRIDDEN if key in override}}
            if zone := override.get("AvailabilityZone"):
                placement = {**(merged.get("Placement") or {}), "AvailabilityZone": zone}
                merged["Placement"] = placement
            zone = zones.get(str(_subnet_id(merged)), str(zone or ""))
            name = str(merged.get("InstanceType") or "")
            known = facts.description(name) is not None
            price = _usd(cloud, name, zone, capacity_type, now) if known else 0.0
            pool = allocation.Pool(
                position=len(found),
                instance_type=name,
                zone=zone,
                price_usd_per_hour=price,
                priority=override.get("Priority"),
            )
            found.append(Candidate(version=version, override=override, merged=merged, pool=pool))
    return found


def _usd(cloud: Cloud, name: str, zone: str, capacity_type: str, now: float) -> float:
    if capacity_type == facts.SPOT:
        return spot_prices.usd(cloud, name, zone, now)
    return facts.on_demand_usd(name)


def _subnet_id(merged: Mapping[str, Any]) -> str | None:
    interfaces = merged.get("NetworkInterfaces") or [{}]
    return merged.get("SubnetId") or interfaces[0].get("SubnetId")


def _take(
    cloud: Cloud,
    ordered: list[Candidate],
    answer: dict[str, Any],
    *,
    capacity_type: str,
    count: int,
) -> None:
    """Launch up to `count` instances from the candidates in their order; note what went wrong."""
    contested = min(cloud.weather.forecast.contested_pools, len(ordered) - 1)
    for rank, candidate in enumerate(ordered):
        if count == 0:
            return
        try:
            if rank < contested:
                raise instances.sold_out(candidate.pool.instance_type, candidate.pool.zone)
            launched = _launch(cloud, answer["FleetId"], candidate, capacity_type, count)
        except (AwsError, ServiceException) as error:
            answer["Errors"].append(
                {
                    "LaunchTemplateAndOverrides": candidate.echo,
                    "Lifecycle": capacity_type,
                    "ErrorCode": error.code,
                    "ErrorMessage": error.message,
                }
            )
            continue
        count -= len(launched)
        answer["Instances"].append(
            {
                "LaunchTemplateAndOverrides": candidate.echo,
                "Lifecycle": capacity_type,
                "InstanceIds": launched,
                "InstanceType": candidate.pool.instance_type,
            }
        )


def _launch(
    cloud: Cloud, fleet_id: str, candidate: Candidate, capacity_type: str, count: int
) -> list[str]:
    tags = {**candidate.version.tags, "aws:ec2:fleet-id": fleet_id}
    order = launch.prepare(cloud, candidate.merged, capacity_type=capacity_type, extra_tags=tags)
    zone = order.place.zone
    scarce = cloud.weather.shortage(order.instance_type, zone, capacity_type)
    left = count if scarce is None else cloud.weather.left(scarce)
    if scarce is not None and left == 0:
        raise instances.sold_out(order.instance_type, zone, scarce.code, scarce.message)
    room = reservations.admitted(cloud, order.merged, order.instance_type, zone)
    left = left if room is None else min(left, room)
    free = max(1, min(count, left, int(order.place.subnet.available_ip_address_count)))
    launched = [str(instance.id) for instance in launch.perform(cloud, order, free)]
    cloud.weather.use(scarce, len(launched))
    return launched


def _record(cloud: Cloud, asked: Asked, fleet_id: str, answer: dict[str, Any]) -> None:
    ids = [one for group in answer["Instances"] for one in group["InstanceIds"]]
    tags = templates.tags_for(asked, "fleet")
    if tags:
        cloud.ec2.create_tags([fleet_id], tags)
    target = asked["TargetCapacitySpecification"]
    description: dict[str, Any] = {
        "FleetId": fleet_id,
        "FleetState": "active",
        "ActivityStatus": "fulfilled" if ids else "error",
        "CreateTime": clock.moment(cloud.now()),
        "ClientToken": asked.get("ClientToken"),
        "Type": "instant",
        "TargetCapacitySpecification": {
            name: target.get(name) for name in ("TotalTargetCapacity", "DefaultTargetCapacityType")
        },
        "FulfilledCapacity": float(len(ids)),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        "Errors": answer["Errors"],
        "Instances": answer["Instances"],
    }
    fleet = Fleet(description=description, answer=answer, instance_ids=ids)
    cloud.fleets.by_id[fleet_id] = fleet


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeFleets; an instant fleet is shown only when its id is given, as in reality."""
    return {
        "Fleets": [_find(cloud, fleet_id).description for fleet_id in asked.get("FleetIds", [])]
    }


def describe_instances(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeFleetInstances: those that still live."""
    fleet = _find(cloud, asked["FleetId"])
    living = set(fleet.instance_ids) & set(cloud.launches.by_instance)
    active = [
        {
            "InstanceId": str(instance.id),
            "InstanceType": instance.instance_type,
            "SpotInstanceRequestId": cloud.launches.by_instance[str(instance.id)].spot_request_id,
            "InstanceHealth": "healthy",
        }
        for instance in lifecycle.find(cloud, [one for one in fleet.instance_ids if one in living])
        if instance.state not in lifecycle.ENDED
    ]
    return {"ActiveInstances": active, "FleetId": asked["FleetId"]}


def delete(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DeleteFleets: an instant fleet takes its instances with it."""
    deleted: list[dict[str, Any]] = []
    for fleet_id in asked.get("FleetIds", []):
        fleet = _find(cloud, fleet_id)
        if not asked.get("TerminateInstances"):
            raise AwsError(
                "InvalidParameterValue", "An instant fleet is deleted with its instances only"
            )
        living = [one for one in fleet.instance_ids if one in cloud.launches.by_instance]
        for instance in lifecycle.find(cloud, living):
            lifecycle.end(cloud, instance)
        before = fleet.description["FleetState"]
        fleet.description["FleetState"] = "deleted-terminating"
        deleted.append(
            {
                "FleetId": fleet_id,
                "CurrentFleetState": "deleted-terminating",
                "PreviousFleetState": before,
            }
        )
    return {"SuccessfulFleetDeletions": deleted, "UnsuccessfulFleetDeletions": []}


def _find(cloud: Cloud, fleet_id: str) -> Fleet:
    fleet = cloud.fleets.by_id.get(fleet_id)
    if fleet is None:
        raise AwsError("InvalidFleetId.NotFound", f"The fleet ID '{fleet_id}' does not exist")
    return fleet


HANDLERS = {
    "CreateFleet": create,
    "DescribeFleets": describe,
    "DescribeFleetInstances": describe_instances,
    "DeleteFleets": delete,
}
