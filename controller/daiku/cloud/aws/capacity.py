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
from daiku.cloud.aws.families import Family
from daiku.cloud.aws.instance_types import Facts
from daiku.model import resources, units
from daiku.model.nodeclass import NodeClass

MIB: Final = 2**20
GIB: Final = 2**30
PODS_DEFAULT: Final = 110
"""kubelet's own limit, where addresses are none."""
EFA: Final = "vpc.amazonaws.com/efa"
WINDOWS_ADDRESS: Final = "vpc.amazonaws.com/PrivateIPv4Address"
CPU_TIERS: Final = ((1000, 60), (1000, 10), (2000, 5))
"""(millicores of the tier, per mille reserved); 2.5 per mille of everything above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """How a node class sizes its machines. Equal values give equal capacities, so they can be shared."""

    family: Family
    kubelet: str
    """spec.kubelet as sorted JSON, for equality; `config` is the same as a value."""
    config: Mapping[str, Any]
    root_bytes: int
    """Size of the volume that pods live on, unless local disks take its place."""
    raid0: bool
    memory_overhead: float
    """Share of the memory that the hypervisor keeps."""
    reserved_interfaces: int
    efa_only: int | None = None
    """Interfaces of the node class that are EFAs and nothing else; None: it lists no interfaces."""
    efa_only_first_card: int = 0
    """How many of them are on card 0, where pods' addresses would be."""

    def __hash__(self) -> int:
        return hash(
            (
                self.family.name,
                self.kubelet,
                self.root_bytes,
                self.raid0,
                self.memory_overhead,
                self.reserved_interfaces,
                self.efa_only,
            )
        )


def pods(facts: Facts, sizing: Sizing) -> int:
    """How many pods kubelet is told to take."""
    most = sizing.config.get("maxPods")
    if most is not None:
        limit = int(most)
    elif sizing.family.pods_by_interfaces:
        kept = sizing.reserved_interfaces + sizing.efa_only_first_card
        limit = _by_interfaces(facts, kept)
    else:
        limit = PODS_DEFAULT
    per_core = (sizing.config.get("podsPerCore") or 0) if sizing.family.pods_per_core else 0
    return min(limit, per_core * facts.vcpus) if per_core else limit


def capacity(facts: Facts, sizing: Sizing, measured: int | None = None) -> dict[str, int]:
    """What the machine has, as its node will report it.

    Args:
        facts: The type.
        sizing: How the node class sets it up.
        measured: Bytes of memory that a node of it has shown; None: an estimate.
    """
    mib = facts.memory_mib - (64 if facts.architecture == "arm64" else 0)
    estimate = mib * MIB - math.ceil(mib * MIB * sizing.memory_overhead / MIB) * MIB
    memory = estimate if measured is None else measured
    disk = (
        facts.local_disk_gb * 10**9 if sizing.raid0 and facts.local_disk_gb else sizing.root_bytes
    )
    return {
        resources.CPU: facts.vcpus * 1000,
        resources.MEMORY: memory,
        resources.EPHEMERAL_STORAGE: disk,
        resources.PODS: pods(facts, sizing),
        **facts.extended,
        **_interfaces(facts, sizing),
    }


def overhead(facts: Facts, sizing: Sizing, has: Mapping[str, int]) -> dict[str, int]:
    """What kubelet and system keep of the capacity `has`."""
    by_interfaces = sizing.family.memory_by_interfaces
    counted = _by_interfaces(facts, 0) if by_interfaces else has[resources.PODS]
    kube = {
        resources.CPU: _reserved_cpu(facts.vcpus * 1000),
        resources.MEMORY: (11 * counted + 255) * MIB,
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
    listed = parts(found.spec, "networkInterfaces")
    efa_only = [i for i in listed if i.get("interfaceType") == "efa-only"]
    return Sizing(
        family=node_class.family(found),
        kubelet=repr(sorted(config.items(), key=lambda item: item[0])),
        config=config,
        root_bytes=_root_bytes(found),
        raid0=found.spec.get("instanceStorePolicy") == "RAID0",
        memory_overhead=memory_overhead,
        reserved_interfaces=reserved_interfaces,
        efa_only=len(efa_only) if listed else None,
        efa_only_first_card=sum(1 for i in efa_only if i.get("networkCardIndex") == 0),
    )


def _root_bytes(found: NodeClass) -> int:
    """Size of the volume for pods: the flagged one, else the one that the family uses, else its usual size."""
    family = node_class.family(found)
    mappings = parts(found.spec, "blockDeviceMappings")
    flagged = (_size(m) for m in mappings if m.get("rootVolume"))
    if size := next(filter(None, flagged), ""):
        return units.parse_bytes_or_count(size)
    if not family.owns_user_data:
        # Nobody knows the device of the user's own image: the last one it is.
        size = _size(mappings[-1]) if mappings else ""
    else:
        size = next((_size(m) for m in mappings if m.get("deviceName") == family.pod_device), "")
    return units.parse_bytes_or_count(size) if size else family.pod_bytes


def _size(mapping: Mapping[str, Any]) -> str:
    return part(mapping, "ebs").get("volumeSize") or ""


def _interfaces(facts: Facts, sizing: Sizing) -> dict[str, int]:
    """Resources that network interfaces are counted by; without zeros."""
    efa = facts.efa_max if sizing.efa_only is None else sizing.efa_only
    addresses = facts.addresses_per_interface - 1 if sizing.family.is_windows else 0
    return {r: n for r, n in ((EFA, efa), (WINDOWS_ADDRESS, addresses)) if n > 0}


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
