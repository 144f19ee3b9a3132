"""A set of manifests, brought to v1 together, because kubelet settings move between objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cli.converting import alpha, beta, keys, settings
from daiku.cli.converting.tree import Tree, comments, head

MADE_BY_CONTROLLER: Final = frozenset({"Machine", "NodeClaim"})
GROUPS: Final = ("karpenter.sh/", "karpenter.k8s.aws/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Manifests of v1."""

    objects: tuple[Tree, ...]
    notes: tuple[str, ...]
    """What means something else than before, was made up, or was left out; one line each."""


def convert(documents: Sequence[Any], node_role: str) -> Converted:
    """Bring manifests to v1.

    Args:
        documents: Objects and lists of them, as `tree.read` gives them; they are changed.
        node_role: IAM role for node classes that name none; empty: none is known.
    """
    notes: list[str] = []
    objects: list[Tree] = []
    for each in _flat(documents):
        said = dict.fromkeys(comments(each))
        made: list[Tree] = []
        new = _one(each, notes, made, node_role)
        found = [*made, *([new] if new is not None else [])]
        kept = {line for tree in found for line in comments(tree)}
        if found:
            head(found[-1], [line for line in said if line not in kept])
        objects += found
    objects += beta.settle_kubelets(objects, notes)
    return Converted(objects=tuple(objects), notes=tuple(dict.fromkeys(notes)))


def _flat(documents: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in documents:
        if isinstance(each, Tree) and str(each.get("kind", "")).endswith("List"):
            found += _flat(each.get("items") or ())
        else:
            found.append(each)
    return found


def _one(each: Any, notes: list[str], made: list[Tree], node_role: str) -> Tree | None:
    """One object as v1; None: it is left out. `made` takes what it needs beside."""
    if not isinstance(each, Tree):
        notes.append(f"a document that is no object is left out: {str(each)[:40]!r}")
        return None
    kind, version = str(each.get("kind", "")), str(each.get("apiVersion", ""))
    metadata = each.get("metadata")
    where = f"{kind} {metadata.get('name', '') if isinstance(metadata, Tree) else ''}"
    keys.rename(each, where, notes)
    if version.startswith(GROUPS):
        keys.as_manifest(each)
        if kind in MADE_BY_CONTROLLER:
            notes.append(f"{where}: belongs to the controller, which makes its own; left out")
            return None
    if settings.is_settings(each):
        notes += settings.notes(each)
        return None
    beside: list[Tree] = []
    if kind == "Provisioner":
        each = alpha.node_pool(each, notes, beside)
    elif kind == "AWSNodeTemplate":
        each = alpha.node_class(each, notes)
    made += [beta.node_class(other, notes, node_role) for other in beside]
    if each.get("apiVersion") == alpha.POOL_BETA and each.get("kind") == "NodePool":
        return beta.node_pool(each, notes)
    if each.get("apiVersion") == alpha.CLASS_BETA and each.get("kind") == "EC2NodeClass":
        return beta.node_class(each, notes, node_role)
    return each
