"""One CreateFleet call of type instant: the request, and what its answer means.

EC2 chooses among the overrides by price or, for spot, by price and capacity. What it could not get it names pool by
pool, also when it got an instance elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import errors
from daiku.cloud.aws.answers import part, parts, words
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.instance_type import LaunchOption

OVERRIDES_MAX: Final = 300
"""Of one request; the cheapest stay."""

Pool = tuple[str, str, str]
"""instance type, zone, capacity type."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One pool that would do, and how a machine is made there."""

    option: LaunchOption
    subnet: str
    image: str
    template: str
    """Name of its launch template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The instance that EC2 chose."""

    instance_id: str
    override: Override
    sold_out: tuple[Pool, ...]


def create(
    session: Session,
    overrides: Sequence[Override],
    *,
    token: str,
    tags: Sequence[Mapping[str, str]],
    context: str,
    count: int = 1,
) -> list[Made]:
    """Launch up to `count` instances in the pools, one at least.

    Raises:
        InsufficientCapacity: None of them has an instance now.
        ResourceNotFound: A launch template is gone.
        CloudError: EC2 refused.
    """
    chosen = sorted(
        overrides,
        key=lambda o: (o.option.price_usd_per_hour, o.option.instance_type, o.option.zone),
    )[:OVERRIDES_MAX]
    request = _request(chosen, token, tags, count)
    if context:
        request["Context"] = context
    answer = session.call("ec2", "create_fleet", **request)
    problems: list[Json] = parts(answer, "Errors")
    sold_out = _sold_out(problems, chosen)
    made = [
        Made(
            instance_id=instance_id,
            override=_chosen(instances, chosen),
            sold_out=sold_out,
        )
        for instances in parts(answer, "Instances")
        for instance_id in words(instances, "InstanceIds")
    ]
    if not made:
        raise _refusal(problems, sold_out)
    return made[:count]


def too_few(made: Sequence[Made]) -> cloud_errors.CloudError:
    """The error for a claim that got none of the instances of its fleet, though others did."""
    sold_out = tuple(dict.fromkeys(pool for each in made for pool in each.sold_out))
    message = f"EC2 launched {len(made)} instances, fewer than were asked for together"
    if sold_out:
        return cloud_errors.InsufficientCapacity(message, sold_out=sold_out)
    return cloud_errors.LaunchRefused(message)


def _request(
    chosen: Sequence[Override], token: str, tags: Sequence[Mapping[str, str]], count: int
) -> Json:
    capacity_type = chosen[0].option.capacity_type
    templates = list(dict.fromkeys(o.template for o in chosen))
    request: Json = {
        "Type": "instant",
        "ClientToken": token,
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": count,
            "DefaultTargetCapacityType": capacity_type,
        },
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": name, "Version": "$Latest"},
                "Overrides": [_override(o) for o in chosen if o.template == name],
            }
            for name in templates
        ],
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": list(tags)} for kind in ("instance", "volume", "fleet")
        ],
    }
    if capacity_type == labels.SPOT:
        request["SpotOptions"] = {"AllocationStrategy": "price-capacity-optimized"}
    else:
        request["OnDemandOptions"] = {"AllocationStrategy": "lowest-price"}
    return request


def _override(override: Override) -> Json:
    return {
        "InstanceType": override.option.instance_type,
        "SubnetId": override.subnet,
        "ImageId": override.image,
        "AvailabilityZone": override.option.zone,
        "Priority": override.option.price_usd_per_hour,
    }


def _chosen(instances: Json, overrides: Sequence[Override]) -> Override:
    told: Json = part(instances, "LaunchTemplateAndOverrides").get("Overrides") or {}
    kind = instances.get("InstanceType") or told.get("InstanceType")
    for override in overrides:
        zone_agrees = told.get("AvailabilityZone") in {None, override.option.zone}
        subnet_agrees = told.get("SubnetId") in {None, override.subnet}
        if override.option.instance_type == kind and zone_agrees and subnet_agrees:
            return override
    raise cloud_errors.Unreachable(
        f"EC2 launched a {kind} in {told.get('AvailabilityZone')}, which was not asked for; "
        "it is found by its tags at the next try"
    )


def _sold_out(problems: Sequence[Json], overrides: Sequence[Override]) -> tuple[Pool, ...]:
    pools = [_pool(o.option) for o in overrides]
    found: list[Pool] = []
    for problem in problems:
        code = problem.get("ErrorCode", "")
        if code == errors.SPOT_FORBIDDEN:
            found.extend(pool for pool in pools if pool[2] == labels.SPOT)
        elif code in errors.SOLD_OUT:
            told: Json = part(problem, "LaunchTemplateAndOverrides").get("Overrides") or {}
            found.extend(
                _pool(o.option)
                for o in overrides
                if told.get("InstanceType") in {None, o.option.instance_type}
                and told.get("AvailabilityZone") in {None, o.option.zone}
                and told.get("SubnetId") in {None, o.subnet}
            )
    return tuple(dict.fromkeys(found))


def _pool(option: LaunchOption) -> Pool:
    return option.instance_type, option.zone, option.capacity_type


def _refusal(problems: Sequence[Json], sold_out: tuple[Pool, ...]) -> cloud_errors.CloudError:
    if not problems:
        return cloud_errors.LaunchRefused(
            "EC2 created a fleet without an instance and without a reason"
        )
    said = list(
        dict.fromkeys(f"{p.get('ErrorCode', '')}: {p.get('ErrorMessage', '')}" for p in problems)
    )
    message = "; ".join(said[:5]) + (f"; and {len(said) - 5} more" if len(said) > 5 else "")
    codes = [str(p.get("ErrorCode", "")) for p in problems]
    other = [c for c in codes if errors.BY_CODE.get(c) is not cloud_errors.InsufficientCapacity]
    if other:
        return errors.of_code(other[0], message)
    return cloud_errors.InsufficientCapacity(message, code=codes[0], sold_out=sold_out)
