"""Whether a NodePool can be used: it is valid, its node class is there and ready, and nobody is deleting it.

Source: Karpenter's nodepool.validation and nodepool.readiness.
"""

from daiku import reasons
from daiku.model import condition
from daiku.model.nodepool import NodePool
from daiku.reason import Reason
from daiku.state.snapshot import Snapshot

Problem = tuple[Reason, str]
"""A reason of kind CONDITION, or the word of whoever judges the node class, and a sentence."""


def node_class_problem(pool: NodePool, snapshot: Snapshot) -> Problem | None:
    """Why the node class of `pool` cannot launch anything, or None when it can."""
    ref = pool.template.node_class
    node_class = snapshot.node_classes.get(ref)
    if node_class is None:
        return (
            reasons.NODE_CLASS_NOT_FOUND,
            f"there is no {ref.kind} {ref.name!r}: create it, or name another one",
        )
    if node_class.meta.deleted is not None:
        return reasons.NODE_CLASS_TERMINATING, f"{ref.kind} {ref.name!r} is being deleted"
    if not node_class.ready:
        said = condition.find(node_class.conditions, "Ready")
        why = node_class.why_not_ready or "its condition Ready is not True yet"
        failed = said is not None and said.status == "False"
        reason = (
            Reason(said.reason)
            if said is not None and failed
            else reasons.NODE_CLASS_READINESS_UNKNOWN
        )
        return (
            reason or reasons.NODE_CLASS_NOT_READY,
            f"{ref.kind} {ref.name!r} is not ready: {why}",
        )
    return None


def problem(pool: NodePool, snapshot: Snapshot) -> Problem | None:
    """Why no node can be made from `pool` for pending pods, or None when some can."""
    if pool.meta.deleted is not None:
        return reasons.NODE_POOL_TERMINATING, reasons.means(reasons.NODE_POOL_TERMINATING)
    if pool.invalid:
        return reasons.NODE_POOL_VALIDATION_FAILED, pool.invalid
    if pool.replicas is not None:
        return (
            reasons.STATIC_NODE_POOL,
            f"it is static ({pool.replicas} replicas) and does not follow pods",
        )
    return node_class_problem(pool, snapshot)
