"""What a NodePool says about itself: its hash, its nodes, what they add up to, and whether it can be used.

Source: Karpenter's nodepool.hash, nodepool.counter, nodepool.validation and nodepool.readiness.
"""

from datetime import datetime
from typing import Final

from daiku.commands import PatchNodePool
from daiku.lifecycle import conditions
from daiku.model import labels, nodepool_hash, resources
from daiku.model.condition import Condition, Status, find
from daiku.model.nodepool import NodePool
from daiku.state import readiness
from daiku.state.snapshot import Snapshot

_COUNTED: Final = (
    resources.CPU,
    resources.MEMORY,
    resources.PODS,
    resources.EPHEMERAL_STORAGE,
    resources.NODES,
)
"""Always part of `status.resources`, zero or not."""


def patch(pool: NodePool, snapshot: Snapshot, now: datetime) -> PatchNodePool | None:
    """The command that writes what has changed, or None when nothing has."""
    nodes = [s for s in snapshot.state_nodes if s.nodepool == pool.meta.name and not s.is_deleting]
    total = resources.add(dict.fromkeys(_COUNTED, 0), *(s.capacity for s in nodes))
    annotations = {
        labels.NODEPOOL_HASH: nodepool_hash.of(pool.template),
        labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION,
    }
    wanted = PatchNodePool(
        name=pool.meta.name,
        resource_version=pool.meta.resource_version,
        annotations=(
            annotations
            if any(pool.meta.annotations.get(k) != v for k, v in annotations.items())
            else None
        ),
        conditions=_conditions(pool, snapshot, now),
        nodes=len(nodes) if len(nodes) != pool.status_nodes else None,
        resources=total if total != pool.status_resources else None,
    )
    nothing = PatchNodePool(name=wanted.name, resource_version=wanted.resource_version)
    return None if wanted == nothing or pool.meta.deleted is not None else wanted


def _conditions(pool: NodePool, snapshot: Snapshot, now: datetime) -> tuple[Condition, ...]:
    parts = [
        _condition(pool, "ValidationSucceeded", _invalid(pool), now),
        _condition(pool, "NodeClassReady", readiness.node_class_problem(pool, snapshot), now),
    ]
    ready = conditions.root(pool.conditions, parts, generation=pool.meta.generation, now=now)
    return tuple(c for c in (*parts, ready) if c != find(pool.conditions, c.type))


def _condition(
    pool: NodePool, kind: str, problem: readiness.Reason | None, now: datetime
) -> Condition:
    status: Status = "False" if problem is not None else "True"
    reason, message = problem or ("", "")
    return conditions.make(
        pool.conditions,
        kind=kind,
        status=status,
        reason=reason,
        message=message,
        generation=pool.meta.generation,
        now=now,
    )


def _invalid(pool: NodePool) -> readiness.Reason | None:
    return ("NodePoolValidationFailed", pool.invalid) if pool.invalid else None
