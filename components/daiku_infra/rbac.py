"""What the controller may do in Kubernetes: its rules, as one table.

It reads what a scheduler reads, writes the objects that are its own, taints and removes nodes, and
evicts pods. It reads no Secret and no ConfigMap. For a surge, which a workload asks for by annotation,
it gives a Deployment one replica more for a while and says so on it; no other workload is changed. Pods get a deletion
cost where a surge or scale-ins by node are asked for.
No Pulumi in here.
"""

from collections.abc import Sequence
from typing import Any

LEASE = "karpenter-leader-election"
"""Lease of the leader. The name is Karpenter's, so that only one of the two can run in a cluster."""

Rule = dict[str, Any]

_READ = ("get", "list", "watch")


def cluster_rules(*, makes_nodes: bool = False) -> list[Rule]:
    """Rules for the whole cluster.

    Args:
        makes_nodes: Nodes are objects that the controller writes itself (the kwok cloud), where on AWS
            they register themselves.
    """
    own = [_rule("", ["nodes"], ["create"])] if makes_nodes else []
    return [
        *own,
        *_read_rules(),
        _rule("karpenter.sh", ["nodeclaims"], ["create", "delete", "patch", "update"]),
        # The hash that drift is judged by is an annotation on the NodePool itself.
        _rule("karpenter.sh", ["nodepools"], ["patch"]),
        _rule(
            "karpenter.sh",
            ["nodeclaims/status", "nodepools/status"],
            ["get", "patch", "update"],
        ),
        _rule("karpenter.sh", ["nodeclaims/finalizers", "nodepools/finalizers"], ["update"]),
        _rule("karpenter.k8s.aws", ["ec2nodeclasses"], ["patch", "update"]),
        _rule("karpenter.k8s.aws", ["ec2nodeclasses/status"], ["get", "patch", "update"]),
        _rule("karpenter.k8s.aws", ["ec2nodeclasses/finalizers"], ["update"]),
        _rule("", ["nodes"], ["delete", "patch", "update"]),
        _rule("", ["pods/eviction"], ["create"]),
        # Where kube-scheduler tries a pod first: on the node that was made for it.
        _rule("", ["pods/status"], ["patch"]),
        # Which pod goes first when a Deployment that asked for a surge is scaled back, or one whose scale-ins are to
        # empty one node after the other.
        _rule("", ["pods"], ["delete", "patch"]),
        _rule("apps", ["deployments"], ["patch"]),
        _rule("apps", ["deployments/scale"], ["patch"]),
        _rule("autoscaling", ["horizontalpodautoscalers"], ["list"]),
        _rule("", ["events"], ["create", "patch"]),
        _rule("events.k8s.io", ["events"], ["create", "patch"]),
    ]


def lease_rules() -> list[Rule]:
    """Rules for the controller's own namespace: its Lease. RBAC cannot name what is to be created."""
    group = "coordination.k8s.io"
    return [
        _rule(group, ["leases"], ["create"]),
        _rule(group, ["leases"], ["get", "patch", "update"], names=[LEASE]),
    ]


def _read_rules() -> list[Rule]:
    """What a decision depends on."""
    core = [
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "replicationcontrollers",
    ]
    return [
        _rule("", core, _READ),
        _rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], _READ),
        _rule("batch", ["jobs"], _READ),
        _rule("policy", ["poddisruptionbudgets"], _READ),
        _rule("storage.k8s.io", ["csinodes", "storageclasses", "volumeattachments"], _READ),
        _rule("karpenter.sh", ["nodeclaims", "nodepools"], _READ),
        _rule("karpenter.k8s.aws", ["ec2nodeclasses"], _READ),
        _rule("karpenter.kwok.sh", ["kwoknodeclasses"], _READ),
    ]


def _rule(
    group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()
) -> Rule:
    """Write one rule as Kubernetes reads it."""
    rule: Rule = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    if names:
        rule["resourceNames"] = list(names)
    return rule
