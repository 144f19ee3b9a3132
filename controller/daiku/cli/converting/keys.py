"""Names that changed: labels, annotations and taints, wherever a manifest has them.

Source: Karpenter's upgrade guide, v1alpha4 to v1alpha5, v1alpha5 to v1beta1 and v1beta1 to v1.
"""

from collections.abc import Mapping
from typing import Any, Final

from daiku.cli.converting import tree as trees
from daiku.cli.converting.tree import Tree

RENAMED: Final[Mapping[str, str]] = {
    "karpenter.sh/provisioner-name": "karpenter.sh/nodepool",
    "karpenter.sh/do-not-evict": "karpenter.sh/do-not-disrupt",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
    "node.k8s.aws/capacity-type": "karpenter.sh/capacity-type",
}
"""Old key -> the key that means the same today."""
DROPPED: Final = frozenset(
    {
        "karpenter.sh/provisioner-hash",
        "karpenter.sh/nodepool-hash",
        "karpenter.sh/nodepool-hash-version",
        "karpenter.k8s.aws/nodetemplate-hash",
        "karpenter.k8s.aws/ec2nodeclass-hash",
        "karpenter.k8s.aws/ec2nodeclass-hash-version",
        "kubectl.kubernetes.io/last-applied-configuration",
    }
)
"""Annotations that a controller wrote and writes again."""
NAMING: Final = ("key", "topologyKey")
"""Fields whose value is such a key: of requirements, selectors, taints, tolerations, spread and affinity."""
DISRUPTED: Final = ("karpenter.sh/disruption", "karpenter.sh/disrupted")
"""Key of the taint on a node that goes: of v1beta1, with the value `disrupting`, and of v1, without a value."""
GONE: Final = "karpenter.k8s.aws/instance-pods"
"""A label that no node has any more."""
BY_SERVER: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "ownerReferences",
    "finalizers",
    "deletionTimestamp",
)
"""Metadata that belongs to a live object, not to a manifest."""


def rename(value: Any, where: str, notes: list[str]) -> None:
    """Bring every old name in a tree up to date; `notes` takes what has no successor."""
    if isinstance(value, Tree):
        for old, new in RENAMED.items():
            if old in value:
                _rename(value, old, new, where, notes)
        for field in NAMING:
            key = value.get(field)
            if isinstance(key, str) and key in RENAMED:
                value[field] = RENAMED[key]
        if value.get("key") == DISRUPTED[0]:
            value["key"] = DISRUPTED[1]
            if value.pop("value", None) is not None and value.get("operator", "Equal") == "Equal":
                value["operator"] = "Exists"
        if value.get("key") == GONE:
            notes.append(f"{where}: no node has the label {GONE} any more: no pod will match it")
        for each in value.values():
            rename(each, where, notes)
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            rename(each, where, notes)


def _rename(tree: Tree, old: str, new: str, where: str, notes: list[str]) -> None:
    if new not in tree:
        trees.rename(tree, old, new)
        return
    if tree[old] != tree[new]:
        notes.append(
            f"{where}: has {old}: {tree[old]!r} and {new}: {tree[new]!r}, which are one today; the second is kept"
        )
    del tree[old]


def as_manifest(tree: Tree) -> None:
    """Leave out what only a live object has."""
    tree.pop("status", None)
    metadata = tree.get("metadata")
    if isinstance(metadata, Tree):
        for field in BY_SERVER:
            metadata.pop(field, None)
        annotations = metadata.get("annotations")
        if isinstance(annotations, Tree):
            for key in DROPPED:
                annotations.pop(key, None)
            if not annotations:
                del metadata["annotations"]
