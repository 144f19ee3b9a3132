# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Launching instances: what a request and its launch template ask for, applied to the letter.

moto makes the instance, its interface and its address; its volumes, profile, groups, tags and first state are
set here, since moto drops most of what a launch template says. One interface only: those
beyond device 0 are not made.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2 import facts, lifecycle, moto_instance, placement, templates, volumes
from daiku_local.aws.ec2.records import Launch
from daiku_local.aws.errors import AwsError

USER_DATA_BYTES_MOST = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be launched, complete and checked."""

    merged: dict[str, Any]
    """Request and template, as RunInstances names its parameters."""
    instance_type: str
    """Type, known to exist and offered in the zone."""
    capacity_type: str
    """"on-demand" or "spot"."""
    image: Any
    """moto's image."""
    place: placement.Place
    """Subnet, zone, groups, public address."""
    profile: Any
    """moto's instance profile, None for none."""
    extra_tags: dict[str, str]
    """Tags that AWS itself sets."""
    client_token: str = ""
    """Token of the request."""


def prepare(
    cloud: Cloud,
    merged: dict[str, Any],
    *,
    capacity_type: str,
    extra_tags: Mapping[str, str] | None = None,
    client_token: str = "",
) -> Order:
    """Check a merged request against everything it names.

    Raises:
        AwsError: Something it names does not exist, or does not go together.
    """
    image = _image(cloud, merged.get("ImageId"))
    instance_type = str(merged.get("InstanceType") or "m1.small")
    runs = facts.architectures(instance_type)
    if not runs:
        raise AwsError(
            "InvalidParameterValue", f"Invalid value '{instance_type}' for InstanceType."
        )
    if image.architecture not in runs:
        raise AwsError(
            "InvalidParameterValue",
            f"The architecture '{','.join(runs)}' of the specified instance type does not match "
            f"the architecture '{image.architecture}' of the specified AMI. Specify an instance "
            "type and an AMI that have matching architectures, and try again.",
        )
    place = placement.find(cloud, merged)
    offered = facts.zones_of(cloud.world.region).get(instance_type, frozenset())
    if place.zone not in offered:
        raise AwsError(
            "Unsupported",
            f"Your requested instance type ({instance_type}) is not supported in your requested "
            f"Availability Zone ({place.zone}). Please retry your request by not specifying an "
            f"Availability Zone or choosing {', '.join(sorted(offered))}.",
        )
    _check_user_data(merged.get("UserData"))
    return Order(
        merged=merged,
        instance_type=instance_type,
        capacity_type=capacity_type,
        image=image,
        place=place,
        profile=_profile(cloud, merged.get("IamInstanceProfile")),
        extra_tags=dict(extra_tags or {}),
        client_token=client_token,
    )


def _image(cloud: Cloud, image_id: str | None) -> Any:
    if not image_id:
        raise AwsError("MissingParameter", "The request must contain the parameter ImageId")
    if not image_id.startswith("ami-"):
        raise AwsError("InvalidAMIID.Malformed", f'Invalid id: "{image_id}" (expecting "ami-...")')
    image = cloud.ec2.amis.get(image_id)
    if image is None:
        raise AwsError("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
    return image


def _profile(cloud: Cloud, wanted: Mapping[str, str] | None) -> Any:
    if not wanted:
        return None
    for profile in cloud.iam.instance_profiles.values():
        if profile.name == wanted.get("Name") or profile.arn == wanted.get("Arn"):
            return profile
    field, value = ("name", wanted["Name"]) if "Name" in wanted else ("arn", wanted.get("Arn"))
    raise AwsError(
        "InvalidParameterValue",
        f"Value ({value}) for parameter iamInstanceProfile.{field} is invalid. "
        "Invalid IAM Instance Profile name"
        if field == "name"
        else f"Value ({value}) for parameter iamInstanceProfile.arn is invalid.",
    )


def _check_user_data(text: str | None) -> None:
    if text is None:
        return
    try:
        size = len(moto_instance.decode(text))
    except ValueError:
        raise AwsError(
            "InvalidUserData.Malformed", "Invalid BASE64 encoding of user data."
        ) from None
    if size > USER_DATA_BYTES_MOST:
        raise AwsError(
            "InvalidUserData.Malformed", f"User data is limited to {USER_DATA_BYTES_MOST} bytes"
        )


def perform(cloud: Cloud, order: Order, count: int) -> list[Any]:
    """Launch instances, all in one reservation; gives moto's instances.

    Raises:
        AwsError: The subnet has too few free addresses, or moto refused.
    """
    placement.check_addresses(order.place, count)
    instances = moto_instance.make(
        cloud,
        order.image,
        order.merged,
        instance_type=order.instance_type,
        place=order.place,
        count=count,
    )
    instance_tags = {**templates.tags_for(order.merged, "instance"), **order.extra_tags}
    interface_tags = templates.tags_for(order.merged, "network-interface")
    for instance in instances:
        _dress(cloud, order, instance)
        instance.add_tags(instance_tags)
        instance.nics[0].add_tags(interface_tags)
        volumes.attach(cloud, order.merged, order.image, instance)
        lifecycle.begin(cloud, instance)
    return instances


def _dress(cloud: Cloud, order: Order, instance: Any) -> None:
    """Give an instance what moto has no place for or leaves out."""
    spot = order.capacity_type == facts.SPOT
    instance.lifecycle = facts.SPOT if spot else None
    instance.placement.tenancy = (order.merged.get("Placement") or {}).get("Tenancy") or "default"
    instance.placement.group_name = (order.merged.get("Placement") or {}).get("GroupName") or ""
    launch = Launch(
        capacity_type=order.capacity_type,
        spot_request_id=f"sir-{secrets.token_hex(4)}" if spot else None,
        template=order.merged,
        client_token=order.client_token,
        number=next(cloud.launches.numbers),
        at=cloud.now(),
    )
    if order.profile is not None:
        launch.profile_arn, launch.profile_id = str(order.profile.arn), str(order.profile.id)
        cloud.ec2.associate_iam_instance_profile(
            instance_id=instance.id, iam_instance_profile_name=order.profile.name
        )
    cloud.launches.by_instance[str(instance.id)] = launch
