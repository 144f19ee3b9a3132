"""What decides how a machine boots, and what of it every family says alike: labels, taints, settings of the kubelet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud.aws.answers import words
from daiku.cloud.aws.cluster import Cluster
from daiku.model import labels
from daiku.model.taints import Taint

NOT_OURS: Final = ("kubernetes.io", "k8s.io", "node-restriction.kubernetes.io")
"""Label domains that a kubelet may not set on itself; the cloud provider or the API server does."""


class Malformed(ValueError):  # named by what is wrong, like the condition's reason
    """User data of the user's that its family cannot read; the message says where and what to do."""


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
    image_version: str = ""
    """Release of a Bottlerocket image, such as "1.46.0" or "latest"; empty: nobody knows."""

    @property
    def dns_addresses(self) -> list[str]:
        """Where its pods look names up."""
        return words(self.kubelet, "clusterDNS") or [self.cluster.dns_address]

    @property
    def own_labels(self) -> dict[str, str]:
        """Its labels that a kubelet may set, by name."""
        return node_labels(self.labels)

    @property
    def all_taints(self) -> list[Taint]:
        """Its taints, with the one that holds pods off until it is registered."""
        unregistered = Taint(labels.UNREGISTERED_TAINT, "NoExecute")
        same = (unregistered.key, unregistered.effect)
        return [*(t for t in self.taints if (t.key, t.effect) != same), unregistered]


def node_labels(wanted: Mapping[str, str]) -> dict[str, str]:
    """The labels that a kubelet may set on its own node."""
    return {key: value for key, value in sorted(wanted.items()) if not _is_foreign(key)}


def _is_foreign(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(domain == d or domain.endswith(f".{d}") for d in NOT_OURS)
