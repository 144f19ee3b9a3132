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
from daiku.cloud.aws.node_class import BLOCK, Reserved
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.instance_type import LaunchOption

OVERRIDES_MAX: Final = 300
"""Of one request; the cheapest stay."""

INTERRUPTIBLE: Final = "reserved-capacity"

Pool = tuple[str, str, str]
"""instance type, zone, capacity type."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One pool that would do, and how a machine is made there."""

    option: LaunchOption
    image: str
    template: str
    """Name of its launch template."""
    pods: int
    """Pods that the machine takes, each with an address."""
    subnet: str = ""
    """Empty: not chosen yet."""
    reservation: Reserved | None = None
    """The capacity reservation that its template names."""

    @property
    def pool(self) -> Pool:
        """The pool that it is about."""
        return self.option.instance_type, self.option.zone, self.option.capacity_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The instance that EC2 chose."""

    instance_id: str
    override: Override


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What EC2 could not get, and why."""

    code: str
    message: str
    overrides: tuple[Override, ...]
    """Those it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a fleet."""

    made: tuple[Made, ...]
    problems: tuple[Problem, ...]


def create(
    session: Session,
    overrides: Sequence[Override],
    *,
    token: str,
    tags: Sequence[Mapping[str, str]],
    context: str,
    count: int = 1,
) -> Answer:
    """Launch up to `count` instances in the pools; none is an answer too.

    Raises:
        CloudError: EC2 refused the call; ResourceNotFound when a launch template is gone.
    """
    chosen = sorted(
        overrides,
        key=lambda o: (o.option.price_usd_per_hour, o.option.instance_type, o.option.zone),
    )[:OVERRIDES_MAX]
    request = _request(chosen, token, tags, count)
    if context:
        request["Context"] = context
    answer = session.call("ec2", "create_fleet", **request)
    made = [
        Made(instance_id=instance_id, override=_chosen(instances, chosen))
        for instances in parts(answer, "Instances")
        for instance_id in words(instances, "InstanceIds")
    ]
    problems = tuple(_problem(told, chosen) for told in parts(answer, "Errors"))
    return Answer(made=tuple(made[:count]), problems=problems)


def refusal(
    problems: Sequence[Problem], sold_out: tuple[Pool, ...], *, made: int
) -> cloud_errors.CloudError:
    """The error for a claim that got no instance; `made` were launched for others of the same call."""
    if not problems:
        return cloud_errors.LaunchRefused(
            f"EC2 launched {made} instances, fewer than were asked for together"
            if made
            else "EC2 created a fleet without an instance and without a reason"
        )
    said = list(dict.fromkeys(f"{p.code}: {p.message}" for p in problems))
    message = "; ".join(said[:5]) + (f"; and {len(said) - 5} more" if len(said) > 5 else "")
    rows = [errors.meaning(p.code, p.message) for p in problems]
    capacity = cloud_errors.InsufficientCapacity
    for problem, row in zip(problems, rows, strict=True):
        if not issubclass(row.kind, capacity):
            return errors.of_code(problem.code, message, row=row)
    if not sold_out:
        # Another subnet of the same zone is left: the same launch finds it.
        return cloud_errors.LaunchRefused(message, code=problems[0].code, reason=rows[0].reason)
    remedies = "; ".join(dict.fromkeys(row.remedy for row in rows if row.remedy))
    return capacity(
        f"{message}; {remedies}" if remedies else message,
        code=problems[0].code,
        reason=rows[0].reason,
        sold_out=sold_out,
    )


def _request(
    chosen: Sequence[Override], token: str, tags: Sequence[Mapping[str, str]], count: int
) -> Json:
    capacity_type = _target(chosen[0])
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
    if capacity_type == INTERRUPTIBLE:
        kinds = ["interruptible-capacity-reservation"]
        request["ReservedCapacityOptions"] = {"ReservationTypes": kinds}
    elif capacity_type == labels.SPOT:
        request["SpotOptions"] = {"AllocationStrategy": "price-capacity-optimized"}
    elif capacity_type == labels.ON_DEMAND:
        request["OnDemandOptions"] = {"AllocationStrategy": "lowest-price"}
    return request


def _target(override: Override) -> str:
    """How EC2 is asked for the capacity type of an override; an ordinary reservation is an on-demand launch."""
    reservation = override.reservation
    if reservation is None:
        return override.option.capacity_type
    if reservation.kind == BLOCK:
        return BLOCK
    return INTERRUPTIBLE if reservation.interruptible else labels.ON_DEMAND


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


def _problem(told: Json, overrides: Sequence[Override]) -> Problem:
    where: Json = part(told, "LaunchTemplateAndOverrides").get("Overrides") or {}
    return Problem(
        code=str(told.get("ErrorCode", "")),
        message=str(told.get("ErrorMessage", "")),
        overrides=tuple(
            o
            for o in overrides
            if where.get("InstanceType") in {None, o.option.instance_type}
            and where.get("AvailabilityZone") in {None, o.option.zone}
            and where.get("SubnetId") in {None, o.subnet}
        ),
    )
