"""A new node as the NodeClaim that asks for it.

The list of instance types is cut to what one launch can offer, cheapest first. The name is made from what is being
decided and when, so that the same decision makes the same name and no two decisions share one.

Source: Karpenter's NodeClaimTemplate.ToNodeClaim.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from daiku import reasons
from daiku.commands import CreateNodeClaim
from daiku.model import labels, memo, nodepool_hash
from daiku.model.instance_type import InstanceType
from daiku.model.meta import Meta, Owner
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.requirements import Requirement, Requirements
from daiku.reason import Reason
from daiku.scheduling.problem import template_requirements
from daiku.scheduling.solution import NewNode, RankedType
from daiku.settings import Settings

_RELAXED: Final = {labels.MIN_VALUES_RELAXED: "true"}
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_TYPES_MOST: Final = 600
"""How far the list may grow for the sake of `minValues`."""


def create(
    node: NewNode,
    types: Sequence[InstanceType],
    settings: Settings,
    now: datetime,
    *,
    given: frozenset[str],
    taken: Container[str],
    purpose: str,
    annotations: Mapping[str, str] | None = None,
    reason: Reason = reasons.PROVISIONED,
) -> CreateNodeClaim:
    """The command that asks for `node`.

    Args:
        node: What is wanted.
        types: Every instance type of its node class.
        settings: How many types one launch offers.
        now: Part of what the name is made from.
        given: What `given_labels` says of `types`.
        taken: Names that exist.
        purpose: What sets it apart from every other node of this tick; part of what the name is made from.
        annotations: More annotations for it.
        reason: Why it is made.
    """
    kept = _cut(node, types, settings.instance_types_per_launch_max)
    requirements = node.requirements & Requirements.of(
        Requirement.parse(labels.INSTANCE_TYPE, "In", [t.name for t in kept]),
        Requirement.parse(labels.CAPACITY_TYPE, "In", node.capacity_types),
    )
    by_name = {t.name: t for t in types}
    reachable = _reachable(requirements, [by_name[t.name] for t in kept])
    meta = _meta(
        node.pool,
        _name(node.pool, now, purpose, taken),
        _custom_labels(requirements, given),
        {**(annotations or {}), **(_RELAXED if reachable != requirements else {})},
        now,
    )
    requirements = reachable
    claim = _claim(node.pool, meta, requirements, node.requests)
    return CreateNodeClaim(node_claim=claim, pods=node.pods, reason=reason)


def bare(
    pool: NodePool, now: datetime, *, given: frozenset[str], taken: Container[str], purpose: str
) -> CreateNodeClaim:
    """The command that asks for a node of a static pool: whatever the pool allows, for nobody in particular.

    Args:
        pool: The pool.
        now: Part of what the name is made from.
        given: What `given_labels` says of the types of its node class.
        taken: Names that exist.
        purpose: What sets it apart from every other node of this tick.
    """
    requirements = template_requirements(pool)
    own = _custom_labels(requirements, given)
    meta = _meta(pool, _name(pool, now, purpose, taken), own, {}, now)
    return CreateNodeClaim(node_claim=_claim(pool, meta, requirements, {}))


def _meta(
    pool: NodePool,
    name: str,
    own_labels: Mapping[str, str],
    own_annotations: Mapping[str, str],
    now: datetime,
) -> Meta:
    template, ref = pool.template, pool.template.node_class
    return Meta(
        name=name,
        labels={
            **own_labels,
            **template.labels,
            labels.NODEPOOL: pool.meta.name,
            labels.node_class_label(ref.group, ref.kind): ref.name,
        },
        annotations={
            **template.annotations,
            labels.NODEPOOL_HASH: nodepool_hash.of(template),
            labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION,
            **own_annotations,
        },
        finalizers=(labels.TERMINATION_FINALIZER,),
        owners=(
            Owner(
                api_version="karpenter.sh/v1",
                kind="NodePool",
                name=pool.meta.name,
                uid=pool.meta.uid,
                block_owner_deletion=True,
            ),
        ),
        created=now,
    )


def _claim(
    pool: NodePool, meta: Meta, requirements: Requirements, requests: Mapping[str, int]
) -> NodeClaim:
    template = pool.template
    return NodeClaim(
        meta=meta,
        requirements=requirements,
        requests=requests,
        node_class=template.node_class,
        taints=template.taints,
        startup_taints=template.startup_taints,
        expire_after=template.expire_after,
        termination_grace_period=template.termination_grace_period,
    )


def _reachable(requirements: Requirements, kept: Sequence[InstanceType]) -> Requirements:
    """`requirements` with no more `minValues` than `kept` has; the policy Strict makes no node that has fewer."""
    return Requirements.of(
        *(
            replace(r, min_values=min(r.min_values, _distinct(kept, r)) or None)
            if r.min_values
            else r
            for r in requirements
        )
    )


def _cut(node: NewNode, types: Sequence[InstanceType], most: int) -> Sequence[RankedType]:
    """The cheapest types, as many as one launch offers, or as many more as `minValues` needs."""
    by_name = {t.name: t for t in types}
    for count in range(min(most, len(node.types)), min(len(node.types), _TYPES_MOST)):
        kept = [by_name[t.name] for t in node.types[:count]]
        if all(_distinct(kept, r) >= (r.min_values or 0) for r in node.requirements):
            return node.types[:count]
    return node.types[: max(most, _TYPES_MOST) if len(node.types) > most else most]


def _distinct(types: Sequence[InstanceType], requirement: Requirement) -> int:
    values = (v for t in types for v in (t.requirements.get(requirement.key) & requirement).values)
    return len(dict.fromkeys(values))


# As long as a pod fits nowhere it is asked with every tick, of every type that is sold.
@memo.by_identity(8)
def given_labels(types: Sequence[InstanceType]) -> frozenset[str]:
    """Label keys that a node gets by its type, its offering or its kubelet, without being told."""
    of_types = (r.key for t in types for r in t.requirements)
    of_offerings = (r.key for t in types for o in t.offerings for r in o.requirements)
    return frozenset((*of_types, *of_offerings, *labels.WELL_KNOWN))


def _custom_labels(requirements: Requirements, given: frozenset[str]) -> Mapping[str, str]:
    """A label for every requirement that nothing else gives the node."""
    return {
        r.key: _some_value(r)
        for r in requirements
        if not (r.absent or r.key in given or labels.is_restricted(r.key))
    }


def _some_value(requirement: Requirement) -> str:
    """A value that `requirement` allows, the same one each time: its first, or the least number."""
    if not requirement.complement:
        return requirement.sorted_values()[0]
    least = requirement.gte if requirement.gte is not None else min(0, requirement.lte or 0)
    numbers = map(str, range(least, least + len(requirement.values) + 1))
    return next((number for number in numbers if requirement.has(number)), str(least))


def _name(pool: NodePool, now: datetime, purpose: str, taken: Container[str]) -> str:
    """`<pool>-<five letters or digits>`, of no NodeClaim that exists."""
    attempt = 0
    while True:
        seed = f"{pool.meta.name}/{pool.meta.uid}/{now.isoformat()}/{purpose}/{attempt}"
        number = int.from_bytes(sha256(seed.encode()).digest()[:8], "big")
        suffix = ""
        for _ in range(5):
            number, letter = divmod(number, len(_LETTERS))
            suffix += _LETTERS[letter]
        name = f"{pool.meta.name}-{suffix}"
        if name not in taken:
            return name
        attempt += 1
