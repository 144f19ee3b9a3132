"""EKS add-ons: which ones a cluster gets, with which settings, and what each one waits for.

An add-on that makes nodes ready (the CNI) must be there before nodes; one that runs as pods needs
nodes. No Pulumi in here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

LATEST = "latest"
"""Version of an add-on that means the newest one that EKS has for the cluster's version."""
CNI = "vpc-cni"
EBS = "aws-ebs-csi-driver"
POD_IDENTITY = "eks-pod-identity-agent"
NEEDS_NODES = frozenset({"coredns", "metrics-server", EBS})
"""Add-ons that are ready only when their pods run."""
TOLERATED: Mapping[str, Sequence[str]] = {
    "coredns": (),
    "metrics-server": (),
    EBS: ("controller",),
}
"""Add-ons whose pods must be told to tolerate system nodes, and where in their settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonArgs:
    """One EKS add-on."""

    name: str
    """Its name, such as vpc-cni."""
    version: str | None = None
    """Its version, such as v1.20.0-eksbuild.1, or latest; EKS' default for the cluster when absent."""
    configuration: dict[str, Any] | None = None
    """Its settings, by the add-on's own schema, merged over those that the cluster gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CniArgs:
    """How the VPC CNI gives addresses to pods."""

    prefix_delegation: bool = False
    """Take addresses by the /28: more pods on a node, of subnets that are not fragmented."""
    pod_security_groups: bool = False
    """Let pods have security groups of their own (branch interfaces)."""
    network_policies: bool = False
    """Enforce NetworkPolicies."""
    environment: dict[str, str] = field(default_factory=dict[str, str])
    """Further settings by their environment names."""


def default_addons() -> list[AddonArgs]:
    """The add-ons that every cluster needs."""
    return [AddonArgs(name=name) for name in (CNI, "kube-proxy", POD_IDENTITY, "coredns")]


def configuration(addon: AddonArgs, cni: CniArgs, system_taint: str) -> dict[str, Any]:
    """Settings of an add-on: what the cluster needs of it, and over that what its author wrote.

    Args:
        addon: The add-on.
        cni: How pods get addresses.
        system_taint: Key of the taint of system nodes.
    """
    settings: dict[str, Any] = {}
    if addon.name == CNI:
        settings = _cni_settings(cni)
    elif addon.name in TOLERATED:
        settings = {"tolerations": [{"key": system_taint, "operator": "Exists"}]}
        for key in TOLERATED[addon.name]:
            settings = {key: settings}
    return _merged(settings, addon.configuration or {})


def _cni_settings(cni: CniArgs) -> dict[str, Any]:
    """The VPC CNI's settings; empty where its own defaults are meant."""
    environment: dict[str, str] = {}
    if cni.prefix_delegation:
        # One spare prefix: a /28 is 16 addresses, and a second one would be wasted on most nodes.
        environment |= {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    if cni.pod_security_groups:
        environment |= {"ENABLE_POD_ENI": "true", "POD_SECURITY_GROUP_ENFORCING_MODE": "standard"}
    environment |= cni.environment
    settings: dict[str, Any] = {"env": environment} if environment else {}
    return settings | ({"enableNetworkPolicy": "true"} if cni.network_policies else {})


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings; where both have one, merged inside, else the second one's value."""
    result = {**base}
    for key, value in over.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            value = _merged(cast("dict[str, Any]", before), cast("dict[str, Any]", value))  # noqa: PLW2901
        result[key] = value
    return result
