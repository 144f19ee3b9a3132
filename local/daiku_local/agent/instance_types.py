"""What the kubelet of an instance type finds on its machine, from EC2's own description."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from daiku_local.agent.objects import dig, items

_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_GPU_RESOURCES = {
    "NVIDIA": "nvidia.com/gpu",
    "AMD": "amd.com/gpu",
    "Habana": "habana.ai/gaudi",
}


def _no_devices() -> MappingProxyType[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One EC2 instance type, as far as a node shows it."""

    name: str
    """Such as m5.large."""
    architecture: str
    """amd64 or arm64."""
    cpu_count: int
    """Virtual CPUs."""
    memory_bytes: int
    """Nominal memory, as EC2 sells it."""
    pod_count: int
    """Pods that get an address of their own: secondary addresses of all interfaces, plus two."""
    local_storage_bytes: int = 0
    """All local disks together."""
    devices: MappingProxyType[str, int] = field(default_factory=_no_devices)
    """Extended resource name to number of devices, as the device plugins would report them."""


def decode(description: Any) -> InstanceType:
    """Read one entry of DescribeInstanceTypes."""
    architectures = items(description, "ProcessorInfo", "SupportedArchitectures")
    return InstanceType(
        name=dig(description, "InstanceType"),
        architecture=next(
            (_ARCHITECTURES[name] for name in architectures if name in _ARCHITECTURES), "amd64"
        ),
        cpu_count=dig(description, "VCpuInfo", "DefaultVCpus"),
        memory_bytes=dig(description, "MemoryInfo", "SizeInMiB") * 2**20,
        pod_count=_pod_count(dig(description, "NetworkInfo")),
        local_storage_bytes=(dig(description, "InstanceStorageInfo", "TotalSizeInGB") or 0) * 10**9,
        devices=MappingProxyType(_devices(description)),
    )


def _pod_count(network: Any) -> int:
    """Source: the EKS image's table of pods per type, n x (addresses - 1) + 2 over one card's interfaces."""
    card = dig(network, "DefaultNetworkCardIndex") or 0
    interfaces = dig(network, "NetworkCards", card, "MaximumNetworkInterfaces") or dig(
        network, "MaximumNetworkInterfaces"
    )
    addresses = dig(network, "Ipv4AddressesPerInterface")
    if not interfaces or not addresses:
        return 110  # the kubelet's own default, where EC2 tells nothing
    return interfaces * (addresses - 1) + 2


def _devices(description: Any) -> dict[str, int]:
    devices: dict[str, int] = {}
    for gpu in items(description, "GpuInfo", "Gpus"):
        if name := _GPU_RESOURCES.get(dig(gpu, "Manufacturer") or ""):
            devices[name] = devices.get(name, 0) + (dig(gpu, "Count") or 0)
    for device in items(description, "NeuronInfo", "NeuronDevices"):
        count = dig(device, "Count") or 0
        cores = count * (dig(device, "CoreInfo", "Count") or 0)
        devices["aws.amazon.com/neuron"] = devices.get("aws.amazon.com/neuron", 0) + count
        devices["aws.amazon.com/neuroncore"] = devices.get("aws.amazon.com/neuroncore", 0) + cores
    if interfaces := dig(description, "NetworkInfo", "EfaInfo", "MaximumEfaInterfaces"):
        devices["vpc.amazonaws.com/efa"] = interfaces
    return devices
