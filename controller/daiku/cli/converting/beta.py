"""v1beta1 NodePools and EC2NodeClasses as v1.

What v1beta1 filled in by itself and v1 fills in otherwise (where consolidation begins, the hop limit of the metadata
service, the image of a family) is written out, so that nothing changes but the version.

Source: Karpenter's upgrade guide, v1beta1 to v1.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from daiku.cli.converting.tree import (
    Tree,
    at,
    child,
    copied,
    listed,
    make,
    move,
    named,
    of_plain,
    plain,
    put,
    reach,
)

GROUP: Final = "karpenter.k8s.aws"
POOL: Final = "karpenter.sh/v1"
CLASS: Final = f"{GROUP}/v1"
KUBELET: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
"""Annotation of NodePools: kubelet settings as JSON, from Karpenter's own conversion; they win over the class's."""
_WHOLE: Final = ("amiFamily", "subnetSelectorTerms", "securityGroupSelectorTerms")
"""What every EC2NodeClass of v1beta1 has; a manifest with none of them is a patch of one."""
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
    where = f"NodePool {named(old)}"
    if reach(old, "spec", "template", "spec", "nodeClassRef") is None:
        return _part_of_pool(old, where, notes)
    spec = child(old, "spec")
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
    where = f"EC2NodeClass {named(old)}"
    old["apiVersion"] = CLASS
    if old.get("spec") is None or not any(field in child(old, "spec") for field in _WHOLE):
        notes.append(
            f"{where}: is part of an EC2NodeClass, as for a patch; only its apiVersion is changed"
        )
        return old
    spec = child(old, "spec")
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
    return old


def settle_kubelets(objects: Sequence[Any], notes: list[str]) -> list[Tree]:
    """Move kubelet settings from NodePools to their node classes; gives the node classes that had to be made.

    Pools that ask one class for different settings get copies of it, one for each setting. Where the class is not in
    the input, the settings stay on the pool, in the annotation that Karpenter's own conversion writes.
    """
    classes = {named(each): each for each in objects if _is(each, "EC2NodeClass")}
    users: dict[str, list[tuple[Tree, Any]]] = {}
    for pool in (each for each in objects if _is(each, "NodePool")):
        ref = at(pool, "spec", "template", "spec", "nodeClassRef")
        if ref is not None and ref.get("kind", "EC2NodeClass") == "EC2NodeClass":
            wanted = str(ref.get("name", ""))
            asked = _asked(pool, notes, taken=wanted in classes)
            users.setdefault(wanted, []).append((pool, asked))
    taken = dict.fromkeys(classes)
    made: list[Tree] = []
    for wanted, asks in users.items():
        if all(asked is None for _, asked in asks):
            continue
        if wanted in classes:
            made += _settle(classes[wanted], asks, taken, notes)
            continue
        for pool, asked in asks:
            if asked is None:
                continue
            said = json.dumps(_plain(asked), default=str)
            metadata = child(pool, "metadata")
            child(metadata, "annotations")[KUBELET] = said
            notes.append(
                f"NodePool {named(pool)}: kubelet settings belong to the node class in v1; write them into "
                f"spec.kubelet of EC2NodeClass {wanted}, which is not in the input: {said}"
            )
    return made


def _asked(pool: Tree, notes: list[str], *, taken: bool) -> Any:
    """The kubelet settings of a pool, which are taken from it; None: it has none."""
    inner = at(pool, "spec", "template", "spec")
    kubelet = inner.pop("kubelet", None) if inner is not None else None
    annotations = at(pool, "metadata", "annotations")
    if kubelet is not None or annotations is None or KUBELET not in annotations:
        return kubelet
    try:
        found = json.loads(str(annotations[KUBELET]))
    except ValueError as error:
        notes.append(f"NodePool {named(pool)}: annotation {KUBELET} is no JSON ({error}); it stays")
        return None
    if not isinstance(found, dict):
        notes.append(f"NodePool {named(pool)}: annotation {KUBELET} holds no settings; it stays")
        return None
    if taken:
        del annotations[KUBELET]
        if not annotations:
            del child(pool, "metadata")["annotations"]
    return of_plain(found)


def _settle(
    node_class: Tree, asks: Sequence[tuple[Tree, Any]], taken: dict[str, None], notes: list[str]
) -> Sequence[Tree]:
    """Give a class the settings of its first pool; gives a copy for every other setting."""
    own = at(node_class, "spec", "kubelet")
    wanted = [own if asked is None else asked for _, asked in asks]
    first = wanted[0]
    copies: dict[str, Tree] = {}
    for (pool, _), asked in zip(asks[1:], wanted[1:], strict=True):
        if _same(asked, first):
            continue
        setting = json.dumps(_plain(asked), sort_keys=True, default=str)
        if setting not in copies:
            copies[setting] = _copied(node_class, named(pool), asked, taken)
        copy = named(copies[setting])
        inner = child(child(child(pool, "spec"), "template"), "spec")
        child(inner, "nodeClassRef")["name"] = copy
        notes.append(
            f"NodePool {named(pool)}: other pools of EC2NodeClass {named(node_class)} have other kubelet settings, "
            f"which belong to the node class in v1: it uses the copy {copy}"
        )
    if first is not None:
        put(child(node_class, "spec"), "kubelet", first)
    return list(copies.values())


def _copied(old: Tree, pool: str, kubelet: Any, taken: dict[str, None]) -> Tree:
    name = f"{named(old)}-{pool}"
    while name in taken:
        name += "-kubelet"
    taken[name] = None
    made = copied(old)
    made["metadata"]["name"] = name
    made["spec"].pop("kubelet", None)
    if kubelet is not None:
        made["spec"]["kubelet"] = copied(kubelet)
    return made


def _part_of_pool(old: Tree, where: str, notes: list[str]) -> Tree:
    """A NodePool that cannot be whole, as in a patch: what is there is brought to v1, and nothing is filled in."""
    old["apiVersion"] = POOL
    disruption = reach(old, "spec", "disruption")
    if disruption is not None:
        if "expireAfter" in disruption:
            template = child(child(old, "spec"), "template")
            move(disruption, "expireAfter", child(template, "spec"))
        if disruption.get("consolidationPolicy") == "WhenUnderutilized":
            disruption["consolidationPolicy"] = "WhenEmptyOrUnderutilized"
    inner = at(old, "spec", "template", "spec")
    if inner is not None and "kubelet" in inner:
        notes.append(f"{where}: kubelet settings belong to the node class in v1; move them there")
    notes.append(
        f"{where}: names no node class, so it is part of a NodePool, as for a patch: nothing is filled in"
    )
    return old


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


def _is(value: Any, kind: str) -> bool:
    version = POOL if kind == "NodePool" else CLASS
    return (
        isinstance(value, Tree) and value.get("kind") == kind and value.get("apiVersion") == version
    )


def _same(one: Any, other: Any) -> bool:
    return plain(one) == plain(other)


def _plain(value: Any) -> Any:
    """A tree without its comments, to print."""
    if isinstance(value, Tree):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]
