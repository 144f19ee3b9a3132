"""What a new machine is told at its first boot, so that it joins the cluster as the right node.

AL2023: a MIME message; the user's own parts first, our NodeConfig last so that it wins. Custom: the user's text alone.
Pure: text in, text out; golden files in the tests.
"""

import base64
import email
import email.policy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import yaml

from daiku.cloud import errors
from daiku.cloud.aws.cluster import Cluster
from daiku.model import labels
from daiku.model.taints import Taint

BOUNDARY: Final = "//"
NODE_CONFIG: Final = "application/node.eks.aws"
SHELL: Final = 'text/x-shellscript; charset="us-ascii"'
BYTES_MAX: Final = 16384
"""EC2 takes no more, decoded."""
NOT_OURS: Final = ("kubernetes.io", "k8s.io", "node-restriction.kubernetes.io")
"""Label domains that a kubelet may not set on itself; the cloud provider or the API server does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """Everything that decides what the machine becomes."""

    cluster: Cluster
    family: str
    user_data: str
    """The user's own; empty: none."""
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    kubelet: Mapping[str, Any]
    """spec.kubelet of the node class."""
    pods_max: int
    raid0: bool


def render(boot: Boot) -> str:
    """User data in base64, as EC2 takes it.

    Raises:
        LaunchRefused: It is too long.
    """
    text = boot.user_data if boot.family == "Custom" else _al2023(boot)
    raw = text.encode()
    if len(raw) > BYTES_MAX:
        raise errors.LaunchRefused(
            f"user data has {len(raw)} bytes; EC2 takes {BYTES_MAX}: shorten spec.userData",
            code="InvalidUserData.Malformed",
        )
    return base64.b64encode(raw).decode()


def node_labels(wanted: Mapping[str, str]) -> dict[str, str]:
    """The labels that a kubelet may set on its own node."""
    return {key: value for key, value in sorted(wanted.items()) if not _is_foreign(key)}


def _is_foreign(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(domain == d or domain.endswith(f".{d}") for d in NOT_OURS)


def _al2023(boot: Boot) -> str:
    parts = [*_users_parts(boot.user_data), (NODE_CONFIG, _node_config(boot))]
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"', ""]
    for kind, content in parts:
        lines += [f"--{BOUNDARY}", f"Content-Type: {kind}", "", content.rstrip("\n"), ""]
    return "\n".join([*lines, f"--{BOUNDARY}--", ""])


def _users_parts(text: str) -> list[tuple[str, str]]:
    text = text.replace("\r", "")
    if not text.strip():
        return []
    if text.lstrip().lower().startswith(("mime-version:", "content-type:")):
        message = email.message_from_string(text.lstrip(), policy=email.policy.default)
        leaves = [part for part in message.walk() if not part.is_multipart()]
        return [(str(part["Content-Type"]), _payload(part)) for part in leaves]
    try:
        found: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        found = None
    return [(NODE_CONFIG if isinstance(found, dict) else SHELL, text)]


def _payload(part: Any) -> str:
    content = cast("bytes", part.get_payload(decode=True))
    return content.decode("utf-8", errors="replace")


def _node_config(boot: Boot) -> str:
    cluster = boot.cluster
    config: dict[str, Any] = {
        **boot.kubelet,
        "maxPods": boot.pods_max,
        "clusterDNS": boot.kubelet.get("clusterDNS") or [cluster.dns_address],
        "registerWithTaints": [_taint(t) for t in _with_unregistered(boot.taints)],
    }
    # podsPerCore is already in maxPods; kubelet would apply it once more.
    config.pop("podsPerCore", None)
    flags = ",".join(f"{key}={value}" for key, value in node_labels(boot.labels).items())
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


def _with_unregistered(taints: Sequence[Taint]) -> list[Taint]:
    unregistered = Taint(labels.UNREGISTERED_TAINT, "NoExecute")
    known = [t for t in taints if (t.key, t.effect) != (unregistered.key, unregistered.effect)]
    return [*known, unregistered]


def _taint(taint: Taint) -> dict[str, str]:
    body = {"key": taint.key, "effect": taint.effect}
    return body | {"value": taint.value} if taint.value else body
