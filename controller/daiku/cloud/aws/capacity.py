"""What a machine of a type gives to pods, as its node class sets it up.

capacity less kube reserved, system reserved and eviction threshold is allocatable. Everything is whole millicores,
bytes and counts.

Source: Amazon EKS node sizing (nodeadm, max-pods) as Karpenter models it; its documented values are the test table.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud.aws import node_class
from daiku.cloud.aws.answers import part, parts
from daiku.cloud.aws.instance_types import Facts
from daiku.model import resources, units
from daiku.model.nodeclass import NodeClass

MIB: Final = 2**20
GIB: Final = 2**30
ROOT_DEVICE: Final = "/dev/xvda"
ROOT_BYTES: Final = 20 * GIB
"""Size of the root volume when the node class names none."""
PODS_DEFAULT: Final = 110
CPU_TIERS: Final = ((1000, 60), (1000, 10), (2000, 5))
"""(millicores of the tier, per mille reserved); 2.5 per mille of everything above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """How a node class sizes its machines. Equal values give equal capacities, so they can be shared."""

    kubelet: str
    """spec.kubelet as sorted JSON, for equality; `config` is the same as a value."""
    config: Mapping[str, Any]
    root_bytes: int
    raid0: bool
    memory_overhead: float
    """Share of the memory that the hypervisor keeps."""
    reserved_interfaces: int

    def __hash__(self) -> int:
        return hash(
            (
                self.kubelet,
                self.root_bytes,
                self.raid0,
                self.memory_overhead,
                self.reserved_interfaces,
            )
        )


def pods(facts: Facts, sizing: Sizing) -> int:
    """How many pods kubelet is told to take."""
    most = sizing.config.get("maxPods")
    limit = int(most) if most is not None else _by_interfaces(facts, sizing.reserved_interfaces)
    per_core = sizing.config.get("podsPerCore") or 0
    return min(limit, per_core * facts.vcpus) if per_core else limit


def capacity(facts: Facts, sizing: Sizing) -> dict[str, int]:
    """What the machine has, as its node will report it."""
    mib = facts.memory_mib - (64 if facts.architecture == "arm64" else 0)
    memory = mib * MIB - math.ceil(mib * MIB * sizing.memory_overhead / MIB) * MIB
    disk = (
        facts.local_disk_gb * 10**9 if sizing.raid0 and facts.local_disk_gb else sizing.root_bytes
    )
    return {
        resources.CPU: facts.vcpus * 1000,
        resources.MEMORY: memory,
        resources.EPHEMERAL_STORAGE: disk,
        resources.PODS: pods(facts, sizing),
        **facts.extended,
    }


def overhead(facts: Facts, sizing: Sizing, has: Mapping[str, int]) -> dict[str, int]:
    """What kubelet and system keep of the capacity `has`."""
    kube = {
        resources.CPU: _reserved_cpu(facts.vcpus * 1000),
        resources.MEMORY: (11 * _by_interfaces(facts, 0) + 255) * MIB,
        resources.EPHEMERAL_STORAGE: GIB,
        **resources.parse(_amounts(sizing, "kubeReserved")),
    }
    system = resources.parse(_amounts(sizing, "systemReserved"))
    hard: Mapping[str, str] = part(sizing.config, "evictionHard")
    eviction = {
        resources.MEMORY: _threshold(hard.get("memory.available", "100Mi"), has[resources.MEMORY]),
        resources.EPHEMERAL_STORAGE: _threshold(
            hard.get("nodefs.available", "10%"), has[resources.EPHEMERAL_STORAGE]
        ),
    }
    return {r: a for r, a in resources.add(kube, system, eviction).items() if r != "pid"}


def sizing_of(found: NodeClass, *, memory_overhead: float, reserved_interfaces: int) -> Sizing:
    """How `found` sizes its machines."""
    config = node_class.kubelet(found)
    return Sizing(
        kubelet=repr(sorted(config.items(), key=lambda item: item[0])),
        config=config,
        root_bytes=_root_bytes(found),
        raid0=found.spec.get("instanceStorePolicy") == "RAID0",
        memory_overhead=memory_overhead,
        reserved_interfaces=reserved_interfaces,
    )


def _root_bytes(found: NodeClass) -> int:
    mappings = parts(found.spec, "blockDeviceMappings")
    sizes = {m.get("deviceName", ""): part(m, "ebs").get("volumeSize") for m in mappings}
    flagged = next(
        (
            m["ebs"]["volumeSize"]
            for m in mappings
            if m.get("rootVolume") and part(m, "ebs").get("volumeSize")
        ),
        None,
    )
    last = next(reversed(sizes.values()), None) if node_class.family(found) == "Custom" else None
    size = flagged or last or sizes.get(ROOT_DEVICE)
    return units.parse_bytes_or_count(size) if size else ROOT_BYTES


def _by_interfaces(facts: Facts, reserved: int) -> int:
    """Pods that can have an address of the VPC."""
    usable = max(0, facts.interfaces_max - reserved)
    return usable * (facts.addresses_per_interface - 1) + 2 if usable else 0


def _reserved_cpu(millis: int) -> int:
    reserved = 0
    for tier, per_mille in CPU_TIERS:
        part = min(millis, tier)
        reserved += part * per_mille // 1000
        millis -= part
    return reserved + millis * 25 // 10_000


def _amounts(sizing: Sizing, name: str) -> dict[str, str]:
    given: Mapping[str, str] = sizing.config.get(name) or {}
    return dict(given)


def _threshold(text: str, total: int) -> int:
    """An eviction threshold: a quantity, or a share of `total`; 100% turns it off."""
    if not text.endswith("%"):
        return units.parse_bytes_or_count(text)
    share = float(text.removesuffix("%"))
    return 0 if share >= 100 else math.ceil(total * share / 100)
