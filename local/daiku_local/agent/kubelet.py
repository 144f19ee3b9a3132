"""How a kubelet that nodeadm has configured sees its machine: labels, taints, capacity, allocatable.

nodeadm writes its defaults, the user data's kubelet config goes over them key by key, and command
line flags go over both. A kubelet refuses to start with labels that are not its to set; so does
this one. Not here: what the cloud provider adds to the Node (node.py).
"""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from daiku_local.agent import quantities
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.objects import Json, items, mapping
from daiku_local.agent.user_data import NodeConfig

VM_MEMORY_OVERHEAD = 0.04
"""Part of the nominal memory that firmware, hypervisor and kernel keep. Real instances show 2 to 7
percent less than EC2 sells; Karpenter assumes 7.5, so that a node has at least what was planned."""
EVICTION_HARD = {"memory.available": "100Mi", "nodefs.available": "10%"}
"""nodeadm's default thresholds below which the kubelet evicts; allocatable keeps them free."""

# Source: kubernetes, pkg/kubelet/apis/well_known_labels.go: what a kubelet may set of the reserved
# domains. It ends itself when --node-labels holds any other label of kubernetes.io or k8s.io.
_OWN_LABELS = {
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
}
_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")


class KubeletRefusedError(Exception):
    """The kubelet would end itself at start, or not understand its settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a node offers, in the units of its Node object."""

    capacity: dict[str, str]
    """Resource name to quantity, everything the machine has."""
    allocatable: dict[str, str]
    """Resource name to quantity, what pods may ask for."""


def labels(config: NodeConfig) -> dict[str, str]:
    """Give the labels of every --node-labels flag, the last one winning.

    Raises:
        KubeletRefusedError: A label is malformed, or of a domain that is not the kubelet's.
    """
    found: dict[str, str] = {}
    for value in _flag_values(config, "--node-labels"):
        for pair in filter(None, value.split(",")):
            key, separator, text = pair.partition("=")
            if not separator:
                raise KubeletRefusedError(f"--node-labels holds {pair!r}: write key=value")
            found[key.strip()] = text.strip()
    foreign = sorted(key for key in found if not _is_own(key))
    if foreign:
        raise KubeletRefusedError(
            f"--node-labels sets {', '.join(foreign)}: of kubernetes.io and k8s.io a kubelet may set "
            f"only {', '.join(_OWN_DOMAINS)} and the well-known node labels"
        )
    return found


def taints(config: NodeConfig) -> list[Json]:
    """Give the taints that the node registers with: those of the flag, else those of the config.

    Raises:
        KubeletRefusedError: A taint is malformed.
    """
    flags = _flag_values(config, "--register-with-taints")
    if not flags:
        return [mapping(taint) for taint in items(config.kubelet_config, "registerWithTaints")]
    found: list[Json] = []
    for text in filter(None, ",".join(flags).split(",")):
        pair, separator, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        if not separator or not key:
            raise KubeletRefusedError(
                f"--register-with-taints holds {text!r}: write key=value:Effect or key:Effect"
            )
        found.append({"key": key, "effect": effect} | ({"value": value} if value else {}))
    return found


def resources(config: NodeConfig, machine: InstanceType, root_volume_bytes: int) -> Resources:
    """Give capacity, and allocatable = capacity - kubeReserved - systemReserved - eviction thresholds.

    Args:
        config: The node's settings.
        machine: Its instance type.
        root_volume_bytes: Size of its root disk, on which pods write unless local disks are joined.

    Raises:
        KubeletRefusedError: A quantity or a number of the config cannot be read.
    """
    try:
        capacity = _capacity(config, machine, root_volume_bytes)
        reserved = _reserved(config, machine, capacity)
    except (quantities.QuantityError, ValueError) as error:
        raise KubeletRefusedError(f"the kubelet config cannot be used: {error}") from None
    left = {name: max(0, amount - reserved.get(name, 0)) for name, amount in capacity.items()}
    return Resources(capacity=_written(capacity), allocatable=_written(left))


def _capacity(config: NodeConfig, machine: InstanceType, root_volume_bytes: int) -> dict[str, int]:
    """Capacity by resource; cpu in millicores, everything else in whole units."""
    use_local_disks = config.raid0 and machine.local_storage_bytes > 0
    return {
        "cpu": machine.cpu_count * 1000,
        "memory": math.floor(machine.memory_bytes * (1 - VM_MEMORY_OVERHEAD)),
        "ephemeral-storage": machine.local_storage_bytes if use_local_disks else root_volume_bytes,
        "pods": _pod_count(config, machine),
        "hugepages-1Gi": 0,
        "hugepages-2Mi": 0,
        **machine.devices,
    }


def _pod_count(config: NodeConfig, machine: InstanceType) -> int:
    flags = _flag_values(config, "--max-pods")
    configured = config.kubelet_config.get("maxPods")
    count = (
        int(flags[-1]) if flags else int(machine.pod_count if configured is None else configured)
    )
    per_core = int(config.kubelet_config.get("podsPerCore") or 0)
    return min(count, per_core * machine.cpu_count) if per_core > 0 else count


def _reserved(
    config: NodeConfig, machine: InstanceType, capacity: Mapping[str, int]
) -> dict[str, int]:
    # nodeadm reserves for as many pods as the type has addresses, whatever maxPods says.
    kube: dict[str, str] = {
        "cpu": f"{_reserved_cpu_millis(machine.cpu_count)}m",
        "memory": f"{11 * machine.pod_count + 255}Mi",
        "ephemeral-storage": "1Gi",
        **mapping(config.kubelet_config, "kubeReserved"),
    }
    system = mapping(config.kubelet_config, "systemReserved")
    eviction = EVICTION_HARD | mapping(config.kubelet_config, "evictionHard")
    amounts: dict[str, int] = {}
    for name in ("cpu", "memory", "ephemeral-storage"):
        measure = quantities.millis if name == "cpu" else quantities.units
        amounts[name] = measure(kube[name]) + measure(system.get(name, 0))
    amounts["memory"] += _threshold(eviction["memory.available"], capacity["memory"])
    amounts["ephemeral-storage"] += _threshold(
        eviction["nodefs.available"], capacity["ephemeral-storage"]
    )
    return amounts


def _reserved_cpu_millis(cpu_count: int) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    tiers = ((1000, 0.06), (1000, 0.01), (2000, 0.005), (math.inf, 0.0025))
    left, reserved = float(cpu_count * 1000), 0
    for width, part in tiers:
        reserved += int(min(left, width) * part)
        left = max(0.0, left - width)
    return reserved


def _threshold(text: str, capacity: int) -> int:
    if not str(text).endswith("%"):
        return quantities.units(text)
    percent = quantities.parse(str(text)[:-1])
    # At 100 % and at 0 % a kubelet does not watch the signal at all.
    return 0 if percent >= 100 else math.ceil(capacity * percent / 100)


def _written(amounts: Mapping[str, int]) -> dict[str, str]:
    """Write amounts as a kubelet does: cores whole where possible, memory in Ki."""
    written = {name: str(amount) for name, amount in amounts.items()}
    cpu = amounts["cpu"]
    written["cpu"] = str(cpu // 1000) if cpu % 1000 == 0 else f"{cpu}m"
    written["memory"] = f"{amounts['memory'] // 1024}Ki"
    return written


def _flag_values(config: NodeConfig, name: str) -> list[str]:
    """Values of one flag in order, written as --flag=value or as --flag value, quoted or not."""
    values: list[str] = []
    try:
        words = [word for flag in config.kubelet_flags for word in shlex.split(flag)]
    except ValueError as error:
        raise KubeletRefusedError(
            f"the kubelet flags {list(config.kubelet_flags)} cannot be read: {error}"
        ) from None
    for position, word in enumerate(words):
        flag, separator, value = word.partition("=")
        if flag != name:
            continue
        if separator:
            values.append(value)
        elif position + 1 < len(words):
            values.append(words[position + 1])
    return values


def _is_own(key: str) -> bool:
    domain, separator, _ = key.rpartition("/")
    if not separator or key in _OWN_LABELS:
        return True
    if _is_within(domain, _OWN_DOMAINS):
        return True
    return not _is_within(domain, _RESERVED_DOMAINS)


def _is_within(domain: str, parents: tuple[str, ...]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)
