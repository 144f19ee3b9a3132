"""Names that changed: labels, annotations and taints, wherever a manifest has them.

Source: Karpenter's upgrade guide, v1alpha5 to v1beta1 and v1beta1 to v1.
"""

from collections.abc import Mapping
from typing import Any, Final

from daiku.cli.converting.tree import Tree, move

RENAMED: Final[Mapping[str, str]] = {
    "karpenter.sh/provisioner-name": "karpenter.sh/nodepool",
    "karpenter.sh/do-not-evict": "karpenter.sh/do-not-disrupt",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
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
                if new in value:
                    del value[old]
                else:
                    move(value, old, value, new)
        if value.get("key") in RENAMED:
            value["key"] = RENAMED[value["key"]]
        if value.get("key") == GONE:
            notes.append(f"{where}: no node has the label {GONE} any more: no pod will match it")
        for each in value.values():
            rename(each, where, notes)
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            rename(each, where, notes)


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
