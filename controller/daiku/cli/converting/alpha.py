"""v1alpha5 Provisioners and v1alpha1 AWSNodeTemplates as v1beta1.

What v1alpha5 filled in by itself (on-demand, linux, amd64, categories c, m and r newer than the second generation; no
consolidation; no expiry) is written out, because v1beta1 and v1 fill in something else.

Source: Karpenter's upgrade guide, v1alpha5 to v1beta1, and the defaulting of Provisioners in its release 0.31.
"""

import itertools
from collections.abc import Mapping
from typing import Any, Final

from daiku.cli.converting.tree import Tree, child, items, listed, make, move, named
from daiku.model import labels

CLASS_BETA: Final = "karpenter.k8s.aws/v1beta1"
POOL_BETA: Final = "karpenter.sh/v1beta1"
CATEGORY: Final = "karpenter.k8s.aws/instance-category"
GENERATION: Final = "karpenter.k8s.aws/instance-generation"
SHAPE: Final = (
    labels.INSTANCE_TYPE,
    "karpenter.k8s.aws/instance-family",
    CATEGORY,
    GENERATION,
)
"""Keys of which one was enough to say what machines are meant; a size was not."""
IDS: Final = ("aws-ids", "aws::ids")
NAMES: Final = ("aws::name", "aws::names")
OWNERS: Final = "aws::owners"
_ON: Final = frozenset({"true", "yes", "on"})
"""What kubectl reads as true."""


def node_pool(old: Tree, notes: list[str], made: list[Tree]) -> Tree:
    """A Provisioner as a NodePool; `made` takes the node class of one with an inline provider."""
    name = named(old)
    where, spec = f"Provisioner {name}", child(old, "spec")
    template, inner, disruption = make(), make(), make()
    held = make()
    for field in ("labels", "annotations"):
        move(spec, field, held)
    if held:
        template["metadata"] = held
    inner["nodeClassRef"] = make(
        apiVersion=CLASS_BETA, kind="EC2NodeClass", name=_class_of(spec, name, where, notes, made)
    )
    for field in ("requirements", "taints", "startupTaints"):
        move(spec, field, inner)
    inner["requirements"] = listed(*items(inner, "requirements"), *_implied(inner))
    if move(spec, "kubeletConfiguration", inner, "kubelet"):
        child(inner, "kubelet").pop("containerRuntime", None)
    template["spec"] = inner
    _disruption(spec, disruption, where, notes)
    new = make(template=template, disruption=disruption)
    if "limits" in spec:
        limits = child(spec, "limits")
        move(limits, "resources", new, "limits")
        if not limits:
            del spec["limits"]
    move(spec, "weight", new)
    _leftover(spec, where, notes)
    return make(apiVersion=POOL_BETA, kind="NodePool", metadata=child(old, "metadata"), spec=new)


def node_class(old: Tree, notes: list[str], *, name: str = "") -> Tree:
    """An AWSNodeTemplate, or the inline provider of a Provisioner, as an EC2NodeClass."""
    metadata = child(old, "metadata") if not name else make(name=name)
    where = f"AWSNodeTemplate {named(old)}" if not name else f"Provisioner {name}"
    spec = old if name else child(old, "spec")
    new = make()
    if not move(spec, "amiFamily", new):
        new["amiFamily"] = "AL2"
    for old_field, field in (
        ("subnetSelector", "subnetSelectorTerms"),
        ("securityGroupSelector", "securityGroupSelectorTerms"),
        ("amiSelector", "amiSelectorTerms"),
    ):
        if spec.get(old_field) is not None:
            new[field] = terms(child(spec, old_field))
        spec.pop(old_field, None)
    for field in (
        "instanceProfile",
        "userData",
        "tags",
        "metadataOptions",
        "blockDeviceMappings",
        "detailedMonitoring",
        "context",
    ):
        move(spec, field, new)
    notes += [
        f"{where}: {field} {spec[field]!r} cannot be kept: launch templates are made from the node class; say what it "
        "held in amiSelectorTerms, userData, blockDeviceMappings and securityGroupSelectorTerms"
        for field in ("launchTemplate", "launchTemplateName")
        if field in spec
    ]
    for field in (
        "launchTemplate",
        "launchTemplateName",
        *(("apiVersion", "kind") if name else ()),
    ):
        spec.pop(field, None)
    _leftover(spec, where, notes)
    return make(apiVersion=CLASS_BETA, kind="EC2NodeClass", metadata=metadata, spec=new)


def terms(selector: Mapping[str, Any]) -> list[Any]:
    """A selector of tags, ids, names and owners as terms of which one must match."""
    ids = [part for key in IDS for part in _parts(selector.get(key))]
    if ids:
        return listed(*(make(id=each) for each in ids))
    names = [part for key in NAMES for part in _parts(selector.get(key))]
    owners = _parts(selector.get(OWNERS))
    tags = {k: v for k, v in selector.items() if k not in {*IDS, *NAMES, OWNERS}}
    choices: list[list[tuple[str, str]]] = [
        [("name", each) for each in names] or [("", "")],
        [("owner", each) for each in owners] or [("", "")],
        *([(key, part) for part in _parts(value)] for key, value in tags.items()),
    ]
    found: list[Tree] = []
    for name, owner, *chosen in itertools.product(*choices):
        found.append(
            make(
                name=name[1] or None,
                owner=owner[1] or None,
                tags=make(**dict(chosen)) if chosen else None,
            )
        )
    return listed(*found)


def _class_of(spec: Tree, name: str, where: str, notes: list[str], made: list[Tree]) -> str:
    if spec.get("provider") is not None:
        provider = child(spec, "provider")
        notes.append(f"{where}: its inline provider became EC2NodeClass {name}")
        made.append(node_class(provider, notes, name=name))
        del spec["provider"]
        return name
    ref = child(spec, "providerRef") if spec.get("providerRef") is not None else make()
    spec.pop("providerRef", None)
    if not ref.get("name"):
        notes.append(f"{where}: names no node template; EC2NodeClass {name} is named instead")
    return str(ref.get("name") or name)


def _leftover(spec: Tree, where: str, notes: list[str]) -> None:
    """Say what is left in a spec from which everything that has a successor was taken."""
    notes += [
        f"{where}: {key} has no successor; left out: {str(value)[:60]}"
        for key, value in spec.items()
        if value is not None
    ]


def _implied(inner: Tree) -> list[Tree]:
    """Requirements that v1alpha5 added by itself."""
    named_keys = [str(each.get("key")) for each in items(inner, "requirements")]
    keys = [labels.ALIASES.get(key, key) for key in named_keys]

    def need(key: str, operator: str, *values: str) -> Tree:
        return make(key=key, operator=operator, values=listed(*values))

    found = [
        need(key, "In", value)
        for key, value in (
            (labels.CAPACITY_TYPE, labels.ON_DEMAND),
            (labels.OS, "linux"),
            (labels.ARCH, "amd64"),
        )
        if key not in keys
    ]
    if not any(key in SHAPE for key in keys):
        found += [need(CATEGORY, "In", "c", "m", "r"), need(GENERATION, "Gt", "2")]
    return found


def _disruption(spec: Tree, new: Tree, where: str, notes: list[str]) -> None:
    consolidation = child(spec, "consolidation")
    empty = spec.get("ttlSecondsAfterEmpty")
    if str(consolidation.get("enabled")).lower() in _ON:
        new["consolidationPolicy"] = "WhenUnderutilized"
        if empty is not None:
            notes.append(
                f"{where}: ttlSecondsAfterEmpty has no effect beside consolidation; left out"
            )
    else:
        new["consolidationPolicy"] = "WhenEmpty"
        new["consolidateAfter"] = f"{empty}s" if empty is not None else "Never"
    expired = spec.get("ttlSecondsUntilExpired")
    new["expireAfter"] = f"{expired}s" if expired is not None else "Never"
    for field in ("consolidation", "ttlSecondsAfterEmpty", "ttlSecondsUntilExpired"):
        spec.pop(field, None)


def _parts(value: Any) -> list[str]:
    """Values of a list that v1alpha5 wrote with commas."""
    text = "" if value is None else str(value)
    return [part.strip() for part in text.split(",") if part.strip()]
