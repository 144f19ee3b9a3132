# ruff: noqa: SLF001
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Making and unmaking instances in moto's model, the one place that reaches into its private parts.

Three defects of moto 5.2.5 are worked around here: a network interface outlives its instance, an address
is given out again at once (its old Node may still be known by it), and an instance that is
garbage collected frees its address a second time, under the feet of the next one that has it.
"""

import base64
import binascii
from typing import Any

from moto.core.types import Base64EncodedString

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2.placement import Place


def decode(text: str) -> bytes:
    """What a base64 text holds.

    Raises:
        ValueError: It is not base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def make(
    cloud: Cloud,
    image: Any,
    merged: dict[str, Any],
    *,
    instance_type: str,
    place: Place,
    count: int,
) -> list[Any]:
    """Make instances without volumes, running, in one reservation."""
    text = merged.get("UserData")
    user_data = Base64EncodedString(text) if text else None
    monitored = (merged.get("Monitoring") or {}).get("Enabled")
    reservation = cloud.ec2.run_instances(
        image.id,
        count,
        user_data,
        [],
        instance_type=instance_type,
        is_instance_type_default=False,
        region_name=cloud.world.region,
        subnet_id=place.subnet.id,
        security_group_ids=list(place.group_ids),
        private_ip=place.private_ip,
        associate_public_ip=place.public_address,
        key_name=merged.get("KeyName"),
        ebs_optimized=bool(merged.get("EbsOptimized")),
        disable_api_termination=bool(merged.get("DisableApiTermination")),
        disable_api_stop=bool(merged.get("DisableApiStop")),
        instance_initiated_shutdown_behavior=merged.get("InstanceInitiatedShutdownBehavior"),
        monitoring_state="enabled" if monitored else "disabled",
        metadata_options=merged.get("MetadataOptions") or {},
        block_device_mappings=[],
    )
    for instance in reservation.instances:
        instance.nics[0].delete_on_termination = True
        instance.reservation_id = reservation.id
    return list(reservation.instances)


def terminate(instance: Any) -> dict[Any, list[str]]:
    """Terminate an instance; gives the addresses, by subnet, that must not be given out again yet."""
    held: dict[Any, list[str]] = {}
    for interface in instance.nics.values():
        subnet = interface.subnet
        held.setdefault(subnet, []).append(str(interface.private_ip_address))
    instance.terminate()
    instance._private_ips.clear()
    instance.nics.clear()
    for subnet, addresses in held.items():
        subnet._unused_ips.difference_update(addresses)
    return held


def forget(cloud: Cloud, instance: Any, held: dict[Any, list[str]]) -> None:
    """Drop a terminated instance, and let its addresses be given out again."""
    reservation = cloud.ec2.reservations.get(instance.reservation_id)
    if reservation is not None:
        reservation.instances.remove(instance)
        if not reservation.instances:
            del cloud.ec2.reservations[reservation.id]
    cloud.ec2.tags.pop(instance.id, None)
    for subnet, addresses in held.items():
        subnet._unused_ips.update(addresses)
