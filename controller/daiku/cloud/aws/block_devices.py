"""The volumes of a machine: what the node class lists, else what its family needs."""

from collections.abc import Mapping
from typing import Any, Final

from daiku.cloud.aws import node_class
from daiku.cloud.aws.answers import part
from daiku.model import units
from daiku.model.nodeclass import NodeClass

GIB: Final = 2**30
PASSED_ON: Final = {
    "deleteOnTermination": "DeleteOnTermination",
    "encrypted": "Encrypted",
    "iops": "Iops",
    "throughput": "Throughput",
    "kmsKeyID": "KmsKeyId",
    "snapshotID": "SnapshotId",
    "volumeType": "VolumeType",
    "volumeInitializationRate": "VolumeInitializationRate",
}
"""Field of blockDeviceMappings[].ebs -> its name in EC2."""

Json = dict[str, Any]


def requests(found: NodeClass) -> list[Json]:
    """BlockDeviceMappings of a launch template."""
    given = found.spec.get("blockDeviceMappings")
    if given is None:
        return [_usual(device, gib) for device, gib in node_class.family(found).disks]
    return [{"DeviceName": m.get("deviceName", ""), "Ebs": _ebs(part(m, "ebs"))} for m in given]


def _usual(device: str, gib: int) -> Json:
    ebs = {"volumeSize": f"{gib}Gi", "volumeType": "gp3"}
    return {
        "DeviceName": device,
        "Ebs": _ebs({**ebs, "encrypted": True, "deleteOnTermination": True}),
    }


def _ebs(given: Mapping[str, Any]) -> Json:
    made = {PASSED_ON[k]: v for k, v in given.items() if k in PASSED_ON and v not in {0, ""}}
    made |= {PASSED_ON[k]: v for k, v in given.items() if k in PASSED_ON and v is False}
    if size := given.get("volumeSize"):
        made["VolumeSize"] = -(-units.parse_bytes_or_count(size) // GIB)
    return made
