"""What EC2 says of its instance types, reduced to the facts that decide anything.

Facts are the same for every node class; what a node class makes of them (pods, disk, reserved memory) is in `capacity`,
what they cost in `offerings`.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from daiku.cloud import errors
from daiku.cloud.aws import branch_interfaces, concurrently
from daiku.cloud.aws.answers import Json, part, parts, words
from daiku.cloud.aws.session import Session
from daiku.model import labels

ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
PREFIX: Final = "karpenter.k8s.aws/"
_NAME: Final = re.compile(r"(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """An instance type."""

    name: str
    architecture: str
    """amd64 or arm64."""
    vcpus: int
    memory_mib: int
    interfaces_max: int
    """Network interfaces of the default network card."""
    addresses_per_interface: int
    """IPv4 addresses."""
    local_disk_gb: int
    """Instance store, decimal gigabytes; 0: none."""
    usage_classes: tuple[str, ...]
    """spot, on-demand, capacity-block."""
    zones: tuple[str, ...] = ()
    """Zones that offer it, sorted."""
    cards: tuple[int, ...] = ()
    """Network interfaces that each network card takes, by the card's index."""
    efa_max: int = 0
    """Interfaces that can be EFAs."""
    features: frozenset[str] = frozenset()
    """ena, nitro, nested-virtualization, and cluster, partition, spread for the placement groups it may be in."""
    extended: Mapping[str, int] = field(default_factory=dict[str, int])
    """Extended resources, such as nvidia.com/gpu; without zeros."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels that follow from the type alone; a label that is absent does not exist on its nodes."""

    @property
    def accelerators(self) -> int:
        """GPUs and the like: what makes a machine dear."""
        return sum(n for r, n in self.extended.items() if r.endswith(("/gpu", "/gaudi", "/neuron")))


def fetch(session: Session) -> dict[str, Facts]:
    """Every instance type of the region, by name.

    Raises:
        CloudError: EC2 does not answer, or answers with nothing.
    """
    found, zones = concurrently.both(lambda: _described(session), lambda: _offered(session))
    if not found or not zones:
        raise errors.Unreachable(
            f"EC2 of {session.region} lists {len(found)} instance types and {len(zones)} with offerings; "
            "what was known before stays"
        )
    return {
        name: dataclasses.replace(found[name], zones=tuple(sorted(zones.get(name, ()))))
        for name in sorted(found)
    }


def _offered(session: Session) -> dict[str, list[str]]:
    """Zones that offer a type, by its name."""
    zones: dict[str, list[str]] = {}
    for page in session.pages(
        "ec2", "describe_instance_type_offerings", LocationType="availability-zone"
    ):
        for each in page["InstanceTypeOfferings"]:
            zones.setdefault(each["InstanceType"], []).append(each["Location"])
    return zones


def _described(session: Session) -> dict[str, Facts]:
    """Types as they are anywhere, by name."""
    filters = [
        {"Name": "supported-virtualization-type", "Values": ["hvm"]},
        {"Name": "processor-info.supported-architecture", "Values": list(ARCHITECTURES)},
    ]
    pages = session.pages("ec2", "describe_instance_types", Filters=filters)
    found = (read(each) for page in pages for each in page["InstanceTypes"])
    return {facts.name: facts for facts in found if facts is not None}


def read(info: Mapping[str, Any]) -> Facts | None:
    """The facts in EC2's description of a type; None: no image of ours boots there."""
    known = [
        ARCHITECTURES[a]
        for a in info["ProcessorInfo"]["SupportedArchitectures"]
        if a in ARCHITECTURES
    ]
    network = part(info, "NetworkInfo")
    cards = parts(network, "NetworkCards")
    default_card = network.get("DefaultNetworkCardIndex", 0)
    none: Json = {}
    card = next((c for c in cards if c.get("NetworkCardIndex") == default_card), none)
    if not known:
        return None
    return Facts(
        name=info["InstanceType"],
        architecture=known[0],
        vcpus=info["VCpuInfo"]["DefaultVCpus"],
        memory_mib=info["MemoryInfo"]["SizeInMiB"],
        interfaces_max=card.get(
            "MaximumNetworkInterfaces", network.get("MaximumNetworkInterfaces", 0)
        ),
        addresses_per_interface=network.get("Ipv4AddressesPerInterface", 0),
        local_disk_gb=part(info, "InstanceStorageInfo").get("TotalSizeInGB", 0),
        usage_classes=tuple(words(info, "SupportedUsageClasses")),
        cards=tuple(c.get("MaximumNetworkInterfaces", 0) for c in cards),
        efa_max=part(network, "EfaInfo").get("MaximumEfaInterfaces", 0),
        features=_features(info),
        extended={r: n for r, n in _extended(info).items() if n},
        labels=_labels(info, known[0]),
    )


def _features(info: Mapping[str, Any]) -> frozenset[str]:
    ena = part(info, "NetworkInfo").get("EnaSupport", "unsupported") != "unsupported"
    nitro = info.get("Hypervisor") == "nitro"
    return frozenset(
        {
            *words(part(info, "PlacementGroupInfo"), "SupportedStrategies"),
            *words(part(info, "ProcessorInfo"), "SupportedFeatures"),
            *(["ena"] if ena else []),
            *(["nitro"] if nitro else []),
        }
    )


def _extended(info: Mapping[str, Any]) -> dict[str, int]:
    gpus = parts(part(info, "GpuInfo"), "Gpus")
    neurons = parts(part(info, "NeuronInfo"), "NeuronDevices")
    first = neurons[0] if neurons else {}
    cores = part(first, "CoreInfo").get("Count", 0) * first.get("Count", 0)

    def count(maker: str) -> int:
        return sum(g.get("Count", 0) for g in gpus if g.get("Manufacturer") == maker)

    branches = branch_interfaces.count(
        info["InstanceType"],
        info["VCpuInfo"]["DefaultVCpus"],
        part(info, "NetworkInfo").get("MaximumNetworkInterfaces", 0),
    )
    return {
        branch_interfaces.RESOURCE: branches,
        "nvidia.com/gpu": count("NVIDIA"),
        "amd.com/gpu": count("AMD"),
        "habana.ai/gaudi": count("Habana"),
        "aws.amazon.com/neuron": sum(n.get("Count", 0) for n in neurons),
        "aws.amazon.com/neuroncore": cores,
    }


def _labels(info: Mapping[str, Any], architecture: str) -> dict[str, str]:
    name: str = info["InstanceType"]
    family, _, size = name.partition(".")
    processor = info["ProcessorInfo"]
    network = part(info, "NetworkInfo")
    clock = processor.get("SustainedClockSpeedInGhz")
    known: dict[str, Any] = {
        "instance-family": family,
        "instance-size": size,
        "instance-capability-flex": _truth("-flex" in family),
        "instance-hypervisor": info.get("Hypervisor", ""),
        "instance-encryption-in-transit-supported": _truth(
            bool(network.get("EncryptionInTransitSupported"))
        ),
        "nitro-sandbox": _truth(info.get("NitroEnclavesSupport") == "supported"),
        "instance-cpu": info["VCpuInfo"]["DefaultVCpus"],
        "instance-cpu-manufacturer": _kebab(processor.get("Manufacturer")),
        "instance-cpu-sustained-clock-speed-mhz": None if clock is None else round(clock * 1000),
        "instance-memory": info["MemoryInfo"]["SizeInMiB"],
        "instance-network-bandwidth": _bandwidth(network),
        **_ebs(info),
        **_devices(info),
    }
    if found := _NAME.match(name):
        known |= {"instance-category": found[1], "instance-generation": found[3]}
    disk = part(info, "InstanceStorageInfo")
    if disk.get("NvmeSupport", "unsupported") != "unsupported":
        known["instance-local-nvme"] = disk.get("TotalSizeInGB")
    return {
        labels.INSTANCE_TYPE: name,
        labels.ARCH: architecture,
        **{f"{PREFIX}{key}": str(value) for key, value in known.items() if value is not None},
    }


def _ebs(info: Mapping[str, Any]) -> dict[str, Any]:
    ebs = part(info, "EbsInfo")
    if ebs.get("EbsOptimizedSupport") != "default":
        return {}
    optimized = part(ebs, "EbsOptimizedInfo")
    return {"instance-ebs-bandwidth": optimized.get("MaximumBandwidthInMbps")}


def _devices(info: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    gpus = parts(part(info, "GpuInfo"), "Gpus")
    if len(gpus) == 1:
        gpu = gpus[0]
        found |= {
            "instance-gpu-name": _kebab(gpu.get("Name")),
            "instance-gpu-manufacturer": _kebab(gpu.get("Manufacturer")),
            "instance-gpu-count": gpu.get("Count"),
            "instance-gpu-memory": part(gpu, "MemoryInfo").get("SizeInMiB"),
        }
    neurons = parts(part(info, "NeuronInfo"), "NeuronDevices")
    inference = parts(part(info, "InferenceAcceleratorInfo"), "Accelerators")
    device = (
        neurons if len(neurons) == 1 else inference if len(inference) == 1 and not neurons else []
    )
    if device:
        maker = "aws" if neurons else _kebab(device[0].get("Manufacturer"))
        found |= {
            "instance-accelerator-name": _kebab(device[0].get("Name")),
            "instance-accelerator-manufacturer": maker,
            "instance-accelerator-count": device[0].get("Count"),
        }
    return found


def _bandwidth(network: Mapping[str, Any]) -> int | None:
    """Baseline of all cards together, in Mbit/s."""
    each = [card.get("BaselineBandwidthInGbps") for card in parts(network, "NetworkCards")]
    known = [gbps for gbps in each if gbps is not None]
    return round(sum(known) * 1000) if known else None


def _kebab(text: str | None) -> str | None:
    return None if text is None else text.lower().replace(" ", "-")


def _truth(value: bool) -> str:  # noqa: FBT001  # a pure conversion
    return "true" if value else "false"
