# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Where an instance goes: its subnet, zone and security groups, from a request merged with its template."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.errors import AwsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place for instances."""

    subnet: Any
    """moto's subnet."""
    zone: str
    """Its availability zone."""
    group_ids: tuple[str, ...]
    """Security groups of the interface, at least one."""
    public_address: bool
    """Whether the interface gets a public address."""
    private_ip: str | None
    """The address asked for, None for the next free one."""


def find(cloud: Cloud, merged: Mapping[str, Any]) -> Place:
    """The place that a merged request names.

    Raises:
        AwsError: Subnet or group do not exist or lie in different VPCs.
    """
    interface: Mapping[str, Any] = next(
        (one for one in merged.get("NetworkInterfaces") or () if not one.get("DeviceIndex")), {}
    )
    subnet = _subnet(cloud, merged, interface)
    groups = _groups(cloud, merged, interface, str(subnet.vpc_id))
    public = interface.get("AssociatePublicIpAddress")
    return Place(
        subnet=subnet,
        zone=str(subnet.availability_zone),
        group_ids=groups,
        public_address=bool(subnet.map_public_ip_on_launch if public is None else public),
        private_ip=interface.get("PrivateIpAddress") or merged.get("PrivateIpAddress"),
    )


def _subnet(cloud: Cloud, merged: Mapping[str, Any], interface: Mapping[str, Any]) -> Any:
    subnet_id = merged.get("SubnetId") or interface.get("SubnetId")
    zone = (merged.get("Placement") or {}).get("AvailabilityZone") or ""
    subnets = {
        subnet.id: subnet for in_zone in cloud.ec2.subnets.values() for subnet in in_zone.values()
    }
    if subnet_id:
        if subnet_id not in subnets:
            raise AwsError(
                "InvalidSubnetID.NotFound", f"The subnet ID '{subnet_id}' does not exist"
            )
        found = subnets[subnet_id]
        if zone and zone != found.availability_zone:
            raise AwsError(
                "InvalidParameterValue",
                f"The availability zone {zone} and the subnet {subnet_id} "
                f"({found.availability_zone}) do not match",
            )
        return found
    defaults = [
        subnet
        for subnet in subnets.values()
        if str(subnet.default_for_az).lower() == "true" and zone in ("", subnet.availability_zone)
    ]
    if not defaults:
        raise AwsError(
            "MissingInput", f"No subnets found for the default VPC in zone {zone or 'any'}"
        )
    return min(defaults, key=lambda subnet: str(subnet.availability_zone))


def _groups(
    cloud: Cloud, merged: Mapping[str, Any], interface: Mapping[str, Any], vpc_id: str
) -> tuple[str, ...]:
    wanted: list[str] = [*(interface.get("Groups") or merged.get("SecurityGroupIds") or ())]
    for name in merged.get("SecurityGroups") or ():
        group = cloud.ec2.get_security_group_from_name(name, vpc_id)
        if group is None:
            raise AwsError("InvalidGroup.NotFound", f"The security group '{name}' does not exist")
        wanted.append(str(group.id))
    if not wanted:
        return (str(cloud.ec2.get_default_security_group(vpc_id).id),)
    for group_id in wanted:
        group = cloud.ec2.get_security_group_from_id(group_id)
        if group is None:
            raise AwsError(
                "InvalidGroup.NotFound", f"The security group '{group_id}' does not exist"
            )
        if group.vpc_id != vpc_id:
            raise AwsError(
                "InvalidParameter",
                f"Security group {group_id} and the subnet belong to different networks.",
            )
    return tuple(wanted)


def check_addresses(place: Place, count: int) -> None:
    """Refuse when the subnet has too few free addresses.

    Raises:
        AwsError: InsufficientFreeAddressesInSubnet.
    """
    free = int(place.subnet.available_ip_address_count)
    if free < count:
        raise AwsError(
            "InsufficientFreeAddressesInSubnet",
            f"There are not enough free addresses in subnet '{place.subnet.id}' "
            f"to satisfy the requested number of instances.",
        )
