# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The volumes of an instance: those of its image, changed by the block device mappings of its launch."""

from collections.abc import Mapping
from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2 import templates


def attach(cloud: Cloud, merged: Mapping[str, Any], image: Any, instance: Any) -> None:
    """Make and attach every EBS volume that the launch asks for; instance store is left out."""
    devices: dict[str, dict[str, Any]] = {
        str(one["DeviceName"]): dict(one["Ebs"]) for one in image.block_device_mappings
    }
    for mapping in merged.get("BlockDeviceMappings") or ():
        name = str(mapping["DeviceName"])
        if "NoDevice" in mapping:
            devices.pop(name, None)
        elif "Ebs" in mapping:
            devices[name] = {**devices.get(name, {}), **mapping["Ebs"]}
    tags = templates.tags_for(merged, "volume")
    for name, ebs in devices.items():
        volume = _make(cloud, ebs, instance.placement.zone)
        volume.add_tags(tags)
        on_termination = bool(ebs.get("DeleteOnTermination", True))
        cloud.ec2.attach_volume(volume.id, instance.id, name, on_termination)
    instance.root_device_name = image.root_device_name


def _make(cloud: Cloud, ebs: Mapping[str, Any], zone: str) -> Any:
    kind = str(ebs.get("VolumeType") or "gp2")
    encrypted = bool(ebs.get("Encrypted"))
    return cloud.ec2.create_volume(
        size=int(ebs.get("VolumeSize") or 8),
        zone_name=zone,
        encrypted=encrypted,
        kms_key_id=ebs.get("KmsKeyId") if encrypted else None,
        volume_type=kind,
        iops=ebs.get("Iops") if kind in ("gp3", "io1", "io2") else None,
        throughput=ebs.get("Throughput") if kind == "gp3" else None,
    )
