"""Whether a node is still what its NodePool and node class ask for: the condition Drifted, and in which respect not.

Everything is compared with what is written: hashes on the objects, labels of the NodeClaim, the node class's status
(which images, subnets and security groups it resolves to now), and what the cloud's list says of the instance. Beside
that, people may ask for a node's replacement (`daiku roll`).

Source: Karpenter's nodeclaim.disruption (drift), and its AWS provider's IsDrifted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Final

from daiku import reasons
from daiku.cloud.provider import Instance
from daiku.lifecycle import node_class_drift
from daiku.lifecycle.draft import Draft
from daiku.model import labels, memo, nodepool_hash
from daiku.model.condition import find
from daiku.model.instance_type import Catalogue, InstanceType, NodeClassRef
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.requirements import Requirements
from daiku.reason import Reason
from daiku.state.snapshot import Snapshot

_SETTLED: Final = timedelta(hours=1)
"""How old a node is before the cloud's list of instance types says anything about it (Karpenter's figure)."""

Difference = tuple[Reason, str]
"""A reason of kind DRIFT and a sentence."""


@dataclass(slots=True)
class Standard:
    """What nodes are compared with, worked out once per tick. Made and used up within it."""

    snapshot: Snapshot
    catalogue: Catalogue
    pools: dict[str, NodePool] = field(default_factory=dict[str, NodePool])
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    """NodePool -> hash of its template."""
    instances: dict[str, Instance] = field(default_factory=dict[str, Instance])
    """By provider id."""
    types: Mapping[NodeClassRef, Mapping[str, InstanceType]] = field(
        default_factory=dict[NodeClassRef, Mapping[str, InstanceType]]
    )

    @classmethod
    def of(cls, snapshot: Snapshot, catalogue: Catalogue) -> "Standard":
        """The standard of one tick."""
        listed = snapshot.instances.instances if snapshot.instances is not None else ()
        return cls(
            snapshot=snapshot,
            catalogue=catalogue,
            pools={pool.meta.name: pool for pool in snapshot.node_pools},
            hashes={p.meta.name: nodepool_hash.of(p.template) for p in snapshot.node_pools},
            instances={i.provider_id: i for i in listed},
            types=_by_name(catalogue),
        )


def advance(draft: Draft, standard: Standard) -> None:
    """Say whether the NodeClaim has drifted."""
    claim = draft.claim
    pool = standard.pools.get(claim.nodepool)
    if pool is None:
        return
    # What a launch brings is on the NodeClaim together with the condition, so the draft's word is too early.
    reason = _reason(draft, pool, standard) if claim.is_true("Launched") else None
    if reason is not None:
        draft.set("Drifted", "True", *reason)
    elif find(claim.conditions, "Drifted") is not None:
        draft.set("Drifted", "False", reasons.NOT_DRIFTED, reasons.means(reasons.NOT_DRIFTED))


def _reason(draft: Draft, pool: NodePool, standard: Standard) -> Difference | None:
    claim = draft.claim
    roll = claim.meta.annotations.get(labels.ROLL, "")
    if roll and not roll.startswith(labels.ROLL_PAUSED):
        return reasons.ROLL_REQUESTED, reasons.means(reasons.ROLL_REQUESTED)
    if labels.REBALANCE in claim.meta.annotations:
        return (
            reasons.REBALANCE_RECOMMENDED,
            reasons.means(reasons.REBALANCE_RECOMMENDED),
        )
    now, then = standard.hashes[pool.meta.name], claim.meta.annotations.get(labels.NODEPOOL_HASH)
    version = claim.meta.annotations.get(labels.NODEPOOL_HASH_VERSION)
    if then is not None and version == nodepool_hash.VERSION and then != now:
        return reasons.NODE_POOL_DRIFTED, f"the template of NodePool {pool.meta.name} has changed"
    differs = _beside(claim)(pool.template.requirements)
    if differs:
        return reasons.REQUIREMENTS_DRIFTED, f"NodePool {pool.meta.name} asks for {differs} now"
    types = standard.types.get(pool.template.node_class)
    instance_type = (types or {}).get(claim.meta.labels.get(labels.INSTANCE_TYPE, ""))
    born = claim.meta.created or draft.now
    if types and draft.now - born >= _SETTLED and not _is_sold(claim, instance_type):
        name = claim.meta.labels.get(labels.INSTANCE_TYPE, "")
        return (
            reasons.INSTANCE_TYPE_NOT_FOUND,
            f"instance type {name!r} is not sold like this any more",
        )
    node_class = standard.snapshot.node_classes.get(pool.template.node_class)
    if node_class is None:
        return None
    instance = standard.instances.get(claim.provider_id)
    of_class = node_class_drift.drift_reason(claim, node_class, instance)
    named = f"{node_class.ref.kind} {node_class.ref.name}"
    return (of_class, f"it is no longer what {named} asks for") if of_class else None


@memo.by_identity(4)
def _by_name(catalogue: Catalogue) -> Mapping[NodeClassRef, Mapping[str, InstanceType]]:
    return {ref: {t.name: t for t in types} for ref, types in catalogue.instance_types.items()}


@memo.by_identity(16_384)
def _beside(claim: NodeClaim) -> Callable[[Requirements], str]:
    """What a NodeClaim does not meet, asked once of each template."""
    known = tuple(sorted(claim.meta.labels.items()))
    return memo.by_identity(8)(lambda asked: _differs(known, asked))


@lru_cache(maxsize=16384)
def _differs(known: tuple[tuple[str, str], ...], asked: Requirements) -> str:
    """What a node with these labels does not meet; empty when it meets all."""
    have = Requirements.from_labels(dict(known))
    wanted = Requirements.of(*(r for r in asked if r.key != labels.NODEPOOL))
    return "; ".join(have.compatible(wanted))


def _is_sold(claim: NodeClaim, instance_type: InstanceType | None) -> bool:
    """Whether there is still an offering like the one it came from, sold out or not."""
    zone = claim.meta.labels.get(labels.ZONE, "")
    bought = claim.meta.labels.get(labels.CAPACITY_TYPE, "")
    ways = {bought, labels.ON_DEMAND} if bought == labels.RESERVED else {bought}
    offered = instance_type.offerings if instance_type is not None else ()
    return any(o.zone == zone and o.capacity_type in ways for o in offered)
