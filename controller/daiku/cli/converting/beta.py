"""v1beta1 NodePools and EC2NodeClasses as v1.

What v1beta1 filled in by itself and v1 fills in otherwise (where consolidation begins, the hop limit of the metadata
service, the image of a family) is written out, so that nothing changes but the version.

Source: Karpenter's upgrade guide, v1beta1 to v1.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from daiku.cli.converting.tree import Tree, child, listed, make, move

GROUP: Final = "karpenter.k8s.aws"
POOL: Final = "karpenter.sh/v1"
CLASS: Final = f"{GROUP}/v1"
KUBELET: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
ALIASES: Final[Mapping[str, str]] = {
    "AL2": "al2@latest",
    "AL2023": "al2023@latest",
    "Bottlerocket": "bottlerocket@latest",
    "Windows2019": "windows2019@latest",
    "Windows2022": "windows2022@latest",
}
"""Family -> the alias that takes the images which v1beta1 took for it."""
EXPIRE: Final = "720h"
HOPS: Final = 2


def node_pool(old: Tree, notes: list[str]) -> Tree:
    """A NodePool; its kubelet settings stay where they are until `settle_kubelets`."""
    name = old.get("metadata", {}).get("name", "")
    where, spec = f"NodePool {name}", child(old, "spec")
    inner = child(child(spec, "template"), "spec")
    _reference(inner)
    disruption = child(spec, "disruption")
    if not move(disruption, "expireAfter", inner):
        inner["expireAfter"] = EXPIRE
    if disruption.get("consolidationPolicy", "WhenUnderutilized") == "WhenUnderutilized":
        disruption["consolidationPolicy"] = "WhenEmptyOrUnderutilized"
    if "consolidateAfter" not in disruption:
        disruption["consolidateAfter"] = "0s"
    if inner.pop("resources", None) is not None:
        notes.append(f"{where}: spec.template.spec.resources never had an effect; left out")
    if inner["expireAfter"] != "Never":
        notes.append(
            f"{where}: nodes older than expireAfter {inner['expireAfter']} are drained at once in v1, without waiting "
            "for a replacement; terminationGracePeriod and a PodDisruptionBudget limit what that does"
        )
    old["apiVersion"] = POOL
    return old


def node_class(old: Tree, notes: list[str], node_role: str) -> Tree:
    """An EC2NodeClass.

    Args:
        old: It as v1beta1.
        notes: Takes what cannot be kept.
        node_role: Role of one that names neither role nor instance profile; empty: none is known.
    """
    name = old.get("metadata", {}).get("name", "")
    where, spec = f"EC2NodeClass {name}", child(old, "spec")
    _images(spec, where, notes)
    if not (spec.get("role") or spec.get("instanceProfile")):
        if node_role:
            spec["role"] = node_role
        else:
            notes.append(
                f"{where}: names neither a role nor an instance profile, and v1 has no default for all: give "
                "the nodes' role with --node-role"
            )
    metadata = child(spec, "metadataOptions")
    if "httpPutResponseHopLimit" not in metadata:
        metadata["httpPutResponseHopLimit"] = HOPS
    old["apiVersion"] = CLASS
    return old


def settle_kubelets(objects: Sequence[Tree], notes: list[str]) -> list[Tree]:
    """Move kubelet settings from NodePools to their node classes; gives the node classes that had to be made.

    Pools that ask one class for different settings get copies of it, one for each setting.
    """
    classes = {_name(each): each for each in objects if _is(each, "EC2NodeClass")}
    users: dict[str, list[tuple[Tree, Any]]] = {}
    for pool in (each for each in objects if _is(each, "NodePool")):
        inner = child(child(child(pool, "spec"), "template"), "spec")
        wanted = str(child(inner, "nodeClassRef").get("name", ""))
        users.setdefault(wanted, []).append((pool, inner.pop("kubelet", None)))
    made: list[Tree] = []
    for wanted, asks in users.items():
        if all(asked is None for _, asked in asks):
            continue
        if wanted in classes:
            made += _settle(classes[wanted], asks, notes)
        else:
            notes += [
                f"NodePool {_name(pool)}: kubelet settings belong to the node class in v1; write them into "
                f"spec.kubelet of EC2NodeClass {wanted}, which is not in the input: {json.dumps(_plain(asked))}"
                for pool, asked in asks
                if asked is not None
            ]
    return made


def _settle(node_class: Tree, asks: Sequence[tuple[Tree, Any]], notes: list[str]) -> Sequence[Tree]:
    """Give a class the settings of its first pool; gives a copy for every other setting."""
    first = asks[0][1]
    if first is not None:
        child(node_class, "spec")["kubelet"] = first
    copies: dict[str, Tree] = {}
    for pool, asked in asks[1:]:
        if _plain(asked) == _plain(first):
            continue
        setting = json.dumps(_plain(asked), sort_keys=True)
        if setting not in copies:
            copies[setting] = _copied(node_class, f"{_name(node_class)}-{_name(pool)}", asked)
        copy = _name(copies[setting])
        inner = child(child(child(pool, "spec"), "template"), "spec")
        child(inner, "nodeClassRef")["name"] = copy
        notes.append(
            f"NodePool {_name(pool)}: other pools of EC2NodeClass {_name(node_class)} have other kubelet settings, "
            f"which belong to the node class in v1: it uses the copy {copy}"
        )
    return list(copies.values())


def _copied(old: Tree, name: str, kubelet: Any) -> Tree:
    spec = make(**{k: v for k, v in child(old, "spec").items() if k != "kubelet"})
    if kubelet is not None:
        spec["kubelet"] = kubelet
    metadata = make(**{**child(old, "metadata"), "name": name})
    return make(apiVersion=CLASS, kind="EC2NodeClass", metadata=metadata, spec=spec)


def _reference(inner: Tree) -> None:
    ref = child(inner, "nodeClassRef")
    version = str(ref.pop("apiVersion", "") or "")
    ref["group"] = ref.get("group") or version.partition("/")[0] or GROUP
    ref["kind"] = ref.get("kind") or "EC2NodeClass"


def _images(spec: Tree, where: str, notes: list[str]) -> None:
    family = str(spec.get("amiFamily", "AL2"))
    if family == "Ubuntu":
        notes.append(
            f"{where}: amiFamily Ubuntu is gone; it is booted as AL2 is, with the same encrypted root volume"
            + (
                ""
                if spec.get("amiSelectorTerms")
                else ", and needs amiSelectorTerms that name Ubuntu's images"
            )
        )
        spec["amiFamily"] = family = "AL2"
        if "blockDeviceMappings" not in spec:
            volume = make(encrypted=True, volumeSize="20Gi", volumeType="gp3")
            spec["blockDeviceMappings"] = listed(
                make(deviceName="/dev/sda1", rootVolume=True, ebs=volume)
            )
        return
    if spec.get("amiSelectorTerms"):
        return
    if family in ALIASES:
        spec["amiSelectorTerms"] = listed(make(alias=ALIASES[family]))
        spec.pop("amiFamily", None)
    else:
        notes.append(
            f"{where}: amiFamily {family} has no images of its own; v1 asks for amiSelectorTerms that say which"
        )


def _is(tree: Tree, kind: str) -> bool:
    return tree.get("kind") == kind and str(tree.get("apiVersion", "")).endswith("/v1")


def _name(tree: Tree) -> str:
    return str(child(tree, "metadata").get("name", ""))


def _plain(value: Any) -> Any:
    """A tree without its comments, to compare and to print."""
    if isinstance(value, Tree):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]
