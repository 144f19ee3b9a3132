"""The Node object of an instance: what its kubelet registers and the cloud provider completes.

Real EKS makes it in two steps, the kubelet first and the cloud provider seconds later; here it
appears complete. Conditions are left to kwok, which keeps the node alive from then on.
"""

from dataclasses import dataclass

from daiku_local.agent import kubelet
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.objects import Json
from daiku_local.agent.user_data import NodeConfig

KWOK_ANNOTATION = "kwok.x-k8s.io/node"
PROVIDER_PREFIX = "aws:///"
KUBELET_HOST = "localhost"
"""The machine on which the kubelet of every node is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An EC2 instance, as far as its node shows it."""

    instance_id: str
    """Such as i-0abc."""
    state: str
    """pending, running, shutting-down, stopping or stopped."""
    type_name: str
    """Instance type, such as m5.large."""
    zone: str
    """Availability zone, such as us-west-2a."""
    private_dns_name: str
    """What the node will be called."""
    private_ip: str
    """Primary private address."""
    public_ip: str | None = None
    """Public address, if it has one."""
    profile_arn: str | None = None
    """ARN of its instance profile, if it has one."""
    root_volume_id: str | None = None
    """EBS volume that it boots from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an instance is and what runs there, beyond what EC2 says of the instance."""

    region: str
    """AWS region."""
    zone_id: str | None
    """The zone's id, the same in every account, such as usw2-az1."""
    kubelet_version: str
    """Such as v1.36.0."""
    root_volume_bytes: int
    """Size of the root disk."""


def provider_id(instance: Instance) -> str:
    """What ties a Node to its instance."""
    return f"{PROVIDER_PREFIX}{instance.zone}/{instance.instance_id}"


def instance_id(provider: str | None) -> str | None:
    """Instance id within a provider id, None when it is not one of AWS."""
    if not provider or not provider.startswith(PROVIDER_PREFIX):
        return None
    return provider.rpartition("/")[2] or None


def build(instance: Instance, machine: InstanceType, config: NodeConfig, place: Place) -> Json:
    """Give the Node object that this machine registers.

    Raises:
        KubeletRefusedError: Its kubelet would not start with these settings.
    """
    resources = kubelet.resources(config, machine, place.root_volume_bytes)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": instance.private_dns_name,
            "labels": _labels(instance, machine, place) | kubelet.labels(config),
            "annotations": {KWOK_ANNOTATION: "fake"},
        },
        "spec": {"providerID": provider_id(instance), "taints": kubelet.taints(config)},
        "status": {
            "capacity": resources.capacity,
            "allocatable": resources.allocatable,
            "addresses": _addresses(instance),
            "nodeInfo": _node_info(instance, machine, place),
        },
    }


def _labels(instance: Instance, machine: InstanceType, place: Place) -> dict[str, str]:
    labels = {
        # the kubelet
        "kubernetes.io/arch": machine.architecture,
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": instance.private_dns_name,
        "beta.kubernetes.io/arch": machine.architecture,
        "beta.kubernetes.io/os": "linux",
        # the cloud provider
        "node.kubernetes.io/instance-type": instance.type_name,
        "beta.kubernetes.io/instance-type": instance.type_name,
        "topology.kubernetes.io/region": place.region,
        "topology.kubernetes.io/zone": instance.zone,
        "failure-domain.beta.kubernetes.io/region": place.region,
        "failure-domain.beta.kubernetes.io/zone": instance.zone,
    }
    if place.zone_id:
        labels["topology.k8s.aws/zone-id"] = place.zone_id
    return labels


def _addresses(instance: Instance) -> list[Json]:
    addresses = [
        {"type": "InternalIP", "address": instance.private_ip},
        {"type": "InternalDNS", "address": instance.private_dns_name},
        {"type": "Hostname", "address": instance.private_dns_name},
        # Where its kubelet really is, for the API server.
        {"type": "ExternalDNS", "address": KUBELET_HOST},
    ]
    if instance.public_ip:
        addresses.insert(1, {"type": "ExternalIP", "address": instance.public_ip})
    return addresses


def _node_info(instance: Instance, machine: InstanceType, place: Place) -> Json:
    # A machine has ids of its own; the instance id gives ones that stay the same.
    digits = instance.instance_id.removeprefix("i-").ljust(32, "0")[:32]
    return {
        "architecture": machine.architecture,
        "operatingSystem": "linux",
        "osImage": "Amazon Linux 2023 (laptop)",
        "kernelVersion": "6.12.0-laptop.amzn2023",
        "containerRuntimeVersion": "containerd://2.1.5",
        "kubeletVersion": place.kubelet_version,
        "kubeProxyVersion": "",
        "machineID": digits,
        "systemUUID": f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}",
        "bootID": f"{digits[20:28]}-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:24]}",
    }
