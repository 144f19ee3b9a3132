"""Writes the instance types that `daiku plan` knows without a cluster: `python -m tests.known_types`.

They are what EC2 says of its types, as moto has recorded it, less what nobody reads, for those with a known list price.
"""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import moto

from daiku.cloud.aws import known_types, list_prices

RECORDED: Final = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
READ: Final[Mapping[str, Any]] = {
    "InstanceType": None,
    "Hypervisor": None,
    "NitroEnclavesSupport": None,
    "SupportedUsageClasses": None,
    "ProcessorInfo": None,
    "VCpuInfo": {"DefaultVCpus": None},
    "MemoryInfo": None,
    "InstanceStorageInfo": {"TotalSizeInGB": None, "NvmeSupport": None},
    "EbsInfo": {"EbsOptimizedSupport": None, "EbsOptimizedInfo": {"MaximumBandwidthInMbps": None}},
    "NetworkInfo": {
        "NetworkCards": {
            "NetworkCardIndex": None,
            "MaximumNetworkInterfaces": None,
            "BaselineBandwidthInGbps": None,
        },
        "DefaultNetworkCardIndex": None,
        "MaximumNetworkInterfaces": None,
        "Ipv4AddressesPerInterface": None,
        "EncryptionInTransitSupported": None,
        "EnaSupport": None,
        "EfaInfo": {"MaximumEfaInterfaces": None},
    },
    "GpuInfo": {"Gpus": None},
    "NeuronInfo": None,
    "InferenceAcceleratorInfo": None,
    "PlacementGroupInfo": {"SupportedStrategies": None},
}
"""Fields of DescribeInstanceTypes that are read, and of those what of them."""


def recorded() -> list[dict[str, Any]]:
    """The types with a known price that run today's images, whole."""
    found: dict[str, dict[str, Any]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return [
        each
        for name, each in sorted(found.items())
        if list_prices.knows(name) and "hvm" in each["SupportedVirtualizationTypes"]
    ]


def content() -> bytes:
    """What the file should hold."""
    kept = [_part(each, READ) for each in recorded()]
    return gzip.compress(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode(), mtime=0)


def _part(value: Any, wanted: Mapping[str, Any] | None) -> Any:
    if wanted is None:
        return value
    if isinstance(value, list):
        return [_part(each, wanted) for each in value]
    return {key: _part(value[key], inner) for key, inner in wanted.items() if key in value}


if __name__ == "__main__":
    known_types.FILE.write_bytes(content())
