"""Amazon Linux 2023: nodeadm reads every NodeConfig of a MIME message, and the last one wins.

So the user's documents come first, as they are, and ours last.

Source: awslabs/amazon-eks-ami, nodeadm; Karpenter's merge rules for AL2023.
"""

from typing import Any, Final

import yaml

from daiku.cloud.aws.user_data import mime
from daiku.cloud.aws.user_data.boot import Boot, Malformed
from daiku.model.taints import Taint

NODE_CONFIG: Final = "application/node.eks.aws"


def render(boot: Boot) -> str:
    """The whole message.

    Raises:
        Malformed: The user's part cannot be read.
    """
    return mime.compose(
        [*parse(boot.user_data), mime.Part(NODE_CONFIG, node_config(boot))],
    )


def parse(users: str) -> list[mime.Part]:
    """The user's documents: those of a MIME message, a NodeConfig, or else a script.

    Raises:
        Malformed: It is neither.
    """
    text = users.replace("\r", "")
    if not text.strip():
        return []
    if not mime.is_mime(text):
        return [mime.Part(NODE_CONFIG if _is_mapping(text) else mime.SHELL, text)]
    parts = mime.parse(text)
    for part in parts:
        if part.kind.partition(";")[0].strip() == NODE_CONFIG and not _is_mapping(part.content):
            raise Malformed(f"a part of type {NODE_CONFIG} is no YAML mapping: nodeadm cannot read")
    return parts


def node_config(boot: Boot) -> str:
    """Our NodeConfig, as YAML."""
    cluster = boot.cluster
    config: dict[str, Any] = {
        **boot.kubelet,
        "maxPods": boot.pods_max,
        "clusterDNS": boot.dns_addresses,
        "registerWithTaints": [_taint(t) for t in boot.all_taints],
    }
    # podsPerCore is already in maxPods; kubelet would apply it once more.
    config.pop("podsPerCore", None)
    flags = ",".join(f"{key}={value}" for key, value in boot.own_labels.items())
    spec: dict[str, Any] = {
        "cluster": {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        },
        "kubelet": {"config": config, "flags": [f'--node-labels="{flags}"']},
    }
    if boot.raid0:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    document = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    return "# Written by Daiku; what it sets wins over the parts before.\n" + yaml.safe_dump(
        document, sort_keys=True, width=10_000
    )


def _is_mapping(text: str) -> bool:
    try:
        found: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    return isinstance(found, dict)


def _taint(taint: Taint) -> dict[str, str]:
    body = {"key": taint.key, "effect": taint.effect}
    return body | {"value": taint.value} if taint.value else body
