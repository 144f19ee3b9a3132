"""What a NodeClaim asks of EC2: the pools that would do, each with its image and its launch template.

Types that differ in what the template must say (image, number of pods) need templates of their own. Which subnet a pool
uses is left open: that is chosen when the call is made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import (
    capacity,
    compatibility,
    fleet,
    launch_templates,
    node_class,
    reserved_offerings,
    user_data,
)
from daiku.cloud.aws.capacity import Sizing
from daiku.cloud.aws.cluster import Cluster
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.node_class import Reserved
from daiku.cloud.aws.offerings import TENANCY
from daiku.cloud.aws.placement_groups import PARTITION_LABEL
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a launch is made of."""

    claim: NodeClaim
    node_class: NodeClass
    sizing: Sizing
    options: Sequence[LaunchOption]
    types: Mapping[str, Facts]
    cluster: Cluster
    left: Callable[[str], int] | None = None
    """Machines left in a capacity reservation; None: reservations are not used."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What machines must differ in to need launch templates of their own."""

    image: str
    pods: int
    efas: int
    reservation: Reserved | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a claim asks of EC2; claims of equal wishes can be launched by one call."""

    overrides: tuple[fleet.Override, ...]
    """Without subnets."""
    subnets: tuple[node_class.Subnet, ...]
    """Those of the node class."""
    tags: tuple[tuple[str, str], ...]
    context: str


def make(plan: Plan, templates: LaunchTemplates) -> Wish:
    """What the claim of `plan` asks for; launch templates are made where they are missing.

    Raises:
        CloudError: EC2 refused, or nothing would do.
    """
    context = str(plan.node_class.spec.get("context") or "")
    if plan.claim.meta.annotations.get(labels.MIN_VALUES_RELAXED) == "true":
        context = ""
    return Wish(
        overrides=tuple(overrides(plan, templates)),
        subnets=node_class.subnets(plan.node_class),
        tags=tuple((t["Key"], t["Value"]) for t in tags(plan)),
        context=context,
    )


def overrides(plan: Plan, templates: LaunchTemplates) -> list[fleet.Override]:
    """The pools that would do.

    Raises:
        CloudError: EC2 refused a template, or nothing would do.
    """
    zones = {s.zone for s in node_class.subnets(plan.node_class)}
    images = node_class.images(plan.node_class)
    wants_efa = plan.claim.requests.get(capacity.EFA, 0) > 0
    contents: dict[_Key, dict[str, Any]] = {}
    chosen: list[tuple[LaunchOption, _Key]] = []
    for option in reserved_offerings.of_one_call(
        [(o, _reservation(plan, o)) for o in plan.options]
    ):
        facts = plan.types.get(option.instance_type)
        if facts is None or option.zone not in zones:
            continue
        image = next((i.id for i in images if compatibility.boots(i, facts)), "")
        if not image:
            continue
        reservation = _reservation(plan, option)
        if reservation is None and option.capacity_type == labels.RESERVED:
            continue
        efas = facts.efa_max if wants_efa else 0
        key = _Key(image, capacity.pods(facts, plan.sizing), efas, reservation)
        if key not in contents:
            contents[key] = _content(plan, key, option.capacity_type, templates.session.region)
        chosen.append((option, key))
    if not chosen:
        raise cloud_errors.InsufficientCapacity(
            f"none of {len(plan.options)} offerings of NodeClaim {plan.claim.meta.name!r} has an image "
            f"and a subnet in EC2NodeClass {plan.node_class.meta.name!r}"
        )
    nodepool = plan.claim.meta.labels.get(labels.NODEPOOL, "")
    made = templates.ensure(list(contents.values()), plan.node_class, nodepool)
    names = dict(zip(contents, made, strict=True))
    return [
        fleet.Override(
            option=o,
            image=key.image,
            template=names[key],
            pods=key.pods,
            reservation=key.reservation,
        )
        for o, key in chosen
    ]


def tenancy(claim: NodeClaim) -> str:
    """Whether machines share their host: default if the claim allows that, else dedicated."""
    return DEFAULT if claim.requirements.get(TENANCY).has(DEFAULT) else "dedicated"


def tags(plan: Plan, more: Mapping[str, str] | None = None) -> list[dict[str, str]]:
    """Tags of instance, volume and fleet."""
    nodepool = plan.claim.meta.labels.get(labels.NODEPOOL, "")
    own = {labels.NODEPOOL: nodepool, **(more or {})}
    return launch_templates.tags(plan.cluster.name, plan.node_class, own)


def partition(plan: Plan) -> int:
    """The partition of its placement group that the machine goes in; 0: there are none."""
    group = node_class.placement_group(plan.node_class)
    if group is None:
        return 0
    return group.partition_for(plan.claim.meta.uid, plan.claim.requirements.get(PARTITION_LABEL))


def _reservation(plan: Plan, option: LaunchOption) -> Reserved | None:
    if option.capacity_type != labels.RESERVED or plan.left is None:
        return None
    known = node_class.reservations(plan.node_class)
    return reserved_offerings.choose(known, option.instance_type, option.zone, plan.left)


def _content(plan: Plan, key: _Key, capacity_type: str, region: str) -> dict[str, Any]:
    claim, found = plan.claim, plan.node_class
    boot = user_data.Boot(
        cluster=plan.cluster,
        family=node_class.family(found).name,
        user_data=str(found.spec.get("userData") or ""),
        labels={
            **claim.meta.labels,
            labels.CAPACITY_TYPE: capacity_type,
            labels.DO_NOT_SYNC_TAINTS: "true",
        },
        taints=(*claim.taints, *claim.startup_taints),
        kubelet=node_class.kubelet(found),
        pods_max=key.pods,
        raid0=plan.sizing.raid0,
        image_version=node_class.bottlerocket_version(found),
    )
    return launch_templates.content(
        found=found,
        cluster=plan.cluster.name,
        image_id=key.image,
        user_data=user_data.render(boot),
        capacity_type=capacity_type,
        nodepool=claim.meta.labels.get(labels.NODEPOOL, ""),
        efas=key.efas,
        reservation=key.reservation,
        opts_out=plan.left is not None,
        tenancy=tenancy(claim),
        partition=partition(plan),
        region=region,
        is_ipv6=plan.cluster.is_ipv6,
    )
