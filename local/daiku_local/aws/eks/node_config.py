"""User data of a managed node group's instances: a NodeConfig for Amazon Linux 2023, in MIME."""

import email
from collections.abc import Mapping
from typing import Any

import yaml

from daiku_local.aws.ec2 import facts

BOUNDARY = "//"
TAINT_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


def pods_most(instance_type: str) -> int:
    """Pods a node of that type can give an address to, by its network interfaces."""
    known = facts.description(instance_type) or {}
    network: Mapping[str, int] = known.get("NetworkInfo", {})
    interfaces = network.get("MaximumNetworkInterfaces", 3)
    return interfaces * (network.get("Ipv4AddressesPerInterface", 10) - 1) + 2


def dns_address(service_cidr: str) -> str:
    """Address of the cluster's DNS: the tenth of the service range."""
    return ".".join([*service_cidr.split("/", maxsplit=1)[0].split(".")[:3], "10"])


def render(
    cluster: Mapping[str, Any],
    *,
    instance_type: str,
    labels: Mapping[str, str],
    taints: list[dict[str, str]],
    extra: str = "",
) -> str:
    """The user data of one instance.

    Args:
        cluster: The cluster as DescribeCluster shows it.
        instance_type: Its type, from which the most pods follow.
        labels: Labels of the Node.
        taints: Taints as EKS's API has them.
        extra: User data of the group's launch template, plain; it comes first.
    """
    network = cluster["kubernetesNetworkConfig"]
    kubelet: dict[str, Any] = {
        "maxPods": pods_most(instance_type),
        "clusterDNS": [dns_address(network["serviceIpv4Cidr"])],
    }
    if taints:
        kubelet["registerWithTaints"] = [
            {
                "key": taint["key"],
                "value": taint.get("value", ""),
                "effect": TAINT_EFFECTS[taint["effect"]],
            }
            for taint in taints
        ]
    flat = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    content = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": cluster["name"],
                "apiServerEndpoint": cluster["endpoint"],
                "certificateAuthority": cluster["certificateAuthority"]["data"],
                "cidr": network["serviceIpv4Cidr"],
            },
            "kubelet": {"config": kubelet, "flags": [f"--node-labels={flat}"]},
        },
    }
    parts = [*_parts(extra), ("application/node.eks.aws", _yaml(content))]
    body = "".join(
        f"--{BOUNDARY}\nContent-Type: {kind}\n\n{text.rstrip()}\n\n" for kind, text in parts
    )
    head = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{BOUNDARY}"\n\n'
    return f"{head}{body}--{BOUNDARY}--\n"


def _parts(extra: str) -> list[tuple[str, str]]:
    """The parts of a launch template's user data: MIME is taken apart, anything else is a script."""
    if not extra.strip():
        return []
    if not extra.lower().startswith(("mime-version:", "content-type:")):
        return [('text/x-shellscript; charset="us-ascii"', extra)]
    message = email.message_from_string(extra)
    return [
        (part.get_content_type(), str(part.get_payload()))
        for part in message.walk()
        if not part.is_multipart()
    ]


def _yaml(content: dict[str, Any]) -> str:
    # One line a value: a wrapped flag would be read as two words by simpler parsers.
    return yaml.safe_dump(content, sort_keys=False, width=100_000)
