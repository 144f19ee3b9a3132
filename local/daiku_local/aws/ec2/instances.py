# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""DescribeInstances and RunInstances.

The description is written from moto's model and the record of the launch; moto's own takes 0.4 s for
200 instances and leaves out what a launch template said.
"""

import hashlib
import itertools
import json
from collections.abc import Sequence
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import facts, filters, launch, lifecycle, reservations, templates
from daiku_local.aws.ec2.records import Launch
from daiku_local.aws.errors import AwsError
from daiku_local.aws.wire import models, xml

at = filters.at
FILTERS = {
    "architecture": at("Architecture"),
    "availability-zone": at("Placement", "AvailabilityZone"),
    "block-device-mapping.volume-id": at("BlockDeviceMappings", "Ebs", "VolumeId"),
    "client-token": at("ClientToken"),
    "dns-name": at("PublicDnsName"),
    "iam-instance-profile.arn": at("IamInstanceProfile", "Arn"),
    "iam-instance-profile.id": at("IamInstanceProfile", "Id"),
    "image-id": at("ImageId"),
    "instance-id": at("InstanceId"),
    "instance-lifecycle": at("InstanceLifecycle"),
    "instance-state-code": at("State", "Code"),
    "instance-state-name": at("State", "Name"),
    "instance-type": at("InstanceType"),
    "instance.group-id": at("SecurityGroups", "GroupId"),
    "instance.group-name": at("SecurityGroups", "GroupName"),
    "ip-address": at("PublicIpAddress"),
    "key-name": at("KeyName"),
    "metadata-options.http-tokens": at("MetadataOptions", "HttpTokens"),
    "network-interface.group-id": at("NetworkInterfaces", "Groups", "GroupId"),
    "network-interface.network-interface-id": at("NetworkInterfaces", "NetworkInterfaceId"),
    "network-interface.subnet-id": at("NetworkInterfaces", "SubnetId"),
    "network-interface.vpc-id": at("NetworkInterfaces", "VpcId"),
    "placement-group-name": at("Placement", "GroupName"),
    "private-dns-name": at("PrivateDnsName"),
    "private-ip-address": at("PrivateIpAddress"),
    "reservation-id": at("ReservationId"),
    "spot-instance-request-id": at("SpotInstanceRequestId"),
    "subnet-id": at("SubnetId"),
    "tenancy": at("Placement", "Tenancy"),
    "vpc-id": at("VpcId"),
}


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeInstances."""
    wanted: list[str] = asked.get("InstanceIds", [])
    if wanted and asked.get("MaxResults"):
        raise AwsError(
            "InvalidParameterCombination",
            "The parameter instancesSet cannot be used with the parameter maxResults",
        )
    lifecycle.check_dry_run(asked)
    instances = (
        lifecycle.find_seen(cloud, wanted)
        if wanted
        else [
            one
            for reservation in cloud.ec2.reservations.values()
            for one in reservation.instances
            if lifecycle.is_seen(cloud, one)
        ]
    )
    rows = [{**show(cloud, one), "ReservationId": _reservation_id(one)} for one in instances]
    rows = filters.keep(rows, asked.get("Filters", []), FILTERS)
    result: dict[str, Any] = {}
    if after := asked.get("NextToken"):
        # Launches are numbered, so that an instance forgotten between two pages hides no other.
        rows = [row for row in rows if _number(cloud, row) > int(after)]
    if size := int(asked.get("MaxResults") or 0):
        if len(rows) > size:
            result["NextToken"] = str(_number(cloud, rows[size - 1]))
        rows = rows[:size]
    result["Reservations"] = [
        _reservation(cloud, str(reservation_id), [_written(cloud, row) for row in members])
        for reservation_id, members in itertools.groupby(rows, lambda row: row["ReservationId"])
    ]
    return result


def _reservation_id(instance: Any) -> str:
    return str(getattr(instance, "reservation_id", "r-00000000"))


def _number(cloud: Cloud, row: dict[str, Any]) -> int:
    launched = cloud.launches.by_instance.get(str(row["InstanceId"]))
    return launched.number if launched else 0


def _reservation(cloud: Cloud, reservation_id: str, rows: Sequence[Any]) -> dict[str, Any]:
    return {
        "ReservationId": reservation_id,
        "OwnerId": cloud.world.account,
        "Groups": [],
        "Instances": rows,
    }


def _written(cloud: Cloud, row: dict[str, Any]) -> Any:
    """The row on the wire; written again only when it changed, since that is most of a listing."""
    row.pop("ReservationId")
    launched = cloud.launches.by_instance.get(str(row["InstanceId"]))
    if launched is None:
        return row
    if launched.written is None or launched.written[0] != row:
        shape: Any = models.service("ec2").shape_for("Instance")
        launched.written = (row, xml.write(shape, row))
    return xml.Fragment(launched.written[1])


def show(cloud: Cloud, instance: Any) -> dict[str, Any]:
    """An instance as DescribeInstances shows it."""
    launched = cloud.launches.by_instance.get(str(instance.id)) or Launch(
        capacity_type=facts.ON_DEMAND
    )
    tags: dict[str, str] = cloud.ec2.tags.get(instance.id, {})
    shown: dict[str, Any] = {
        "AmiLaunchIndex": int(instance.ami_launch_index),
        "ImageId": instance.image_id,
        "InstanceId": instance.id,
        "InstanceType": instance.instance_type,
        "KeyName": instance.key_name,
        "LaunchTime": instance.launch_time,
        "Monitoring": {"State": instance.monitoring_state},
        "Placement": {
            "AvailabilityZone": instance.placement.zone,
            "GroupName": instance.placement.group_name,
            "GroupId": (launched.template.get("Placement") or {}).get("GroupId"),
            "PartitionNumber": (launched.template.get("Placement") or {}).get("PartitionNumber"),
            "Tenancy": instance.placement.tenancy,
        },
        "State": lifecycle.state_of(instance),
        "StateTransitionReason": instance.state_transition_reason or "",
        "Architecture": instance.architecture,
        "BlockDeviceMappings": _devices(instance),
        "ClientToken": launched.client_token,
        "EbsOptimized": bool(instance.ebs_optimized),
        "EnaSupport": True,
        "Hypervisor": "xen",
        "RootDeviceName": instance.root_device_name,
        "RootDeviceType": "ebs",
        "SecurityGroups": [],
        "SourceDestCheck": bool(instance.source_dest_check),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        "VirtualizationType": "hvm",
        "MetadataOptions": _metadata(instance),
        "PlatformDetails": "Linux/UNIX",
        "UsageOperation": "RunInstances",
        "InstanceLifecycle": facts.SPOT if launched.capacity_type == facts.SPOT else None,
        "SpotInstanceRequestId": launched.spot_request_id,
        "NetworkInterfaces": [],
        "PrivateDnsName": "",
        "PublicDnsName": "",
    }
    if instance.state_reason.code:
        reason = instance.state_reason
        shown["StateReason"] = {"Code": reason.code, "Message": reason.message}
    shown |= _reserved(cloud, launched)
    if launched.profile_arn:
        shown["IamInstanceProfile"] = {"Arn": launched.profile_arn, "Id": launched.profile_id}
    if 0 in instance.nics:
        shown.update(_network(cloud, instance))
    return shown


def _reserved(cloud: Cloud, launched: Launch) -> dict[str, Any]:
    """What an instance says of reservations; one that is over has let go of it, whatever it was launched for."""
    wanted = reservations.wanted(launched.template)
    specification: dict[str, Any] = {"CapacityReservationPreference": wanted.preference}
    if not wanted.target:
        return {"CapacityReservationSpecification": specification}
    target = {"CapacityReservationId": wanted.target}
    inside = reservations.is_active(cloud, wanted.target)
    return {
        **({"CapacityReservationId": wanted.target} if inside else {}),
        "CapacityReservationSpecification": {
            **specification,
            "CapacityReservationTarget": target,
        },
    }


def _network(cloud: Cloud, instance: Any) -> dict[str, Any]:
    interface = instance.nics[0]
    seen = {group.id: group.name for group in interface.group_set}
    groups = [{"GroupId": key, "GroupName": name} for key, name in sorted(seen.items())]
    address = interface.private_ip_address
    dns_name = instance.private_dns_name
    return {
        "PrivateDnsName": dns_name,
        "PrivateIpAddress": address,
        "PublicDnsName": instance.public_dns_name or "",
        "PublicIpAddress": instance.public_ip,
        "SubnetId": interface.subnet.id,
        "VpcId": interface.subnet.vpc_id,
        "SecurityGroups": groups,
        "NetworkInterfaces": [
            {
                "NetworkInterfaceId": interface.id,
                "Attachment": {
                    "AttachmentId": interface.attachment_id,
                    "AttachTime": interface.attach_time,
                    "DeleteOnTermination": bool(interface.delete_on_termination),
                    "DeviceIndex": 0,
                    "NetworkCardIndex": 0,
                    "Status": "attached",
                },
                "Description": interface.description,
                "Groups": groups,
                "InterfaceType": "interface",
                "MacAddress": interface.mac_address,
                "OwnerId": cloud.world.account,
                "PrivateDnsName": dns_name,
                "PrivateIpAddress": address,
                "PrivateIpAddresses": [
                    {"Primary": True, "PrivateIpAddress": address, "PrivateDnsName": dns_name}
                ],
                "SourceDestCheck": True,
                "Status": "in-use",
                "SubnetId": interface.subnet.id,
                "VpcId": interface.subnet.vpc_id,
            }
        ],
    }


def _devices(instance: Any) -> list[dict[str, Any]]:
    return [
        {
            "DeviceName": name,
            "Ebs": {
                "AttachTime": device.attach_time,
                "DeleteOnTermination": bool(device.delete_on_termination),
                "Status": "attached",
                "VolumeId": device.volume_id,
            },
        }
        for name, device in instance.get_block_device_mapping
    ]


def _metadata(instance: Any) -> dict[str, Any]:
    options = instance.metadata_options
    return {
        "State": "applied",
        "HttpTokens": options.http_tokens,
        "HttpPutResponseHopLimit": int(options.http_put_response_hop_limit),
        "HttpEndpoint": options.http_endpoint,
        "HttpProtocolIpv6": options.http_protocol_ipv6,
        "InstanceMetadataTags": options.instance_metadata_tags,
    }


def run(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """RunInstances."""
    token = str(asked.get("ClientToken") or "")
    digest = hashlib.sha256(
        json.dumps({**asked, "DryRun": None}, sort_keys=True).encode()
    ).hexdigest()
    if token and token in cloud.launches.by_token:
        return _again(cloud, token, digest)
    request = {
        name: value
        for name, value in asked.items()
        if name not in ("LaunchTemplate", "MinCount", "MaxCount", "ClientToken", "DryRun")
    }
    merged, extra = request, {}
    if specification := asked.get("LaunchTemplate"):
        version = templates.resolve(cloud, specification)
        merged, extra = templates.merge(version.content, request), version.tags
    market = (merged.get("InstanceMarketOptions") or {}).get("MarketType")
    capacity_type = facts.SPOT if market == facts.SPOT else facts.ON_DEMAND
    order = launch.prepare(
        cloud, merged, capacity_type=capacity_type, extra_tags=extra, client_token=token
    )
    lifecycle.check_dry_run(asked)
    if cloud.weather.is_sold_out(order.instance_type, order.place.zone, capacity_type):
        raise sold_out(order.instance_type, order.place.zone)
    reservations.admitted(cloud, merged, order.instance_type, order.place.zone)
    instances = launch.perform(cloud, order, int(asked.get("MaxCount") or 1))
    pool = order.instance_type, order.place.zone, capacity_type
    cloud.weather.use(cloud.weather.shortage(*pool), len(instances))
    reservation_id = _reservation_id(instances[0])
    if token:
        cloud.launches.by_token[token] = (digest, reservation_id)
    return _reservation(cloud, reservation_id, [show(cloud, one) for one in instances])


def _again(cloud: Cloud, token: str, digest: str) -> dict[str, Any]:
    earlier, reservation_id = cloud.launches.by_token[token]
    if earlier != digest:
        raise AwsError(
            "IdempotentParameterMismatch",
            "The client token you have provided is associated with a resource but the request "
            "parameters do not match those of the earlier request.",
        )
    reservation = cloud.ec2.reservations.get(reservation_id)
    instances = reservation.instances if reservation is not None else []
    return _reservation(cloud, reservation_id, [show(cloud, one) for one in instances])


def sold_out(instance_type: str, zone: str, code: str = "", message: str = "") -> AwsError:
    """The error of a pool that has no capacity, or of one that says no otherwise."""
    usual = (
        f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you "
        f"requested ({zone}). Our system will be working on provisioning additional capacity."
    )
    return AwsError(code or "InsufficientInstanceCapacity", message or usual, status=500)


HANDLERS = {"DescribeInstances": describe, "RunInstances": run}
