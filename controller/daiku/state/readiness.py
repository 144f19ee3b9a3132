"""Whether a NodePool can be used: it is valid, its node class is there and ready, and nobody is deleting it.

Source: Karpenter's nodepool.validation and nodepool.readiness.
"""

from daiku.model import condition
from daiku.model.nodepool import NodePool
from daiku.state.snapshot import Snapshot

Reason = tuple[str, str]
"""PascalCase reason and a sentence."""


def node_class_problem(pool: NodePool, snapshot: Snapshot) -> Reason | None:
    """Why the node class of `pool` cannot launch anything, or None when it can."""
    ref = pool.template.node_class
    node_class = snapshot.node_classes.get(ref)
    if node_class is None:
        return (
            "NodeClassNotFound",
            f"there is no {ref.kind} {ref.name!r}: create it, or name another one",
        )
    if node_class.meta.deleted is not None:
        return "NodeClassTerminating", f"{ref.kind} {ref.name!r} is being deleted"
    if not node_class.ready:
        said = condition.find(node_class.conditions, "Ready")
        why = node_class.why_not_ready or "its condition Ready is not True yet"
        failed = said is not None and said.status == "False"
        reason = said.reason if said is not None and failed else "NodeClassReadinessUnknown"
        return reason or "NodeClassNotReady", f"{ref.kind} {ref.name!r} is not ready: {why}"
    return None


def problem(pool: NodePool, snapshot: Snapshot) -> Reason | None:
    """Why no node can be made from `pool` for pending pods, or None when some can."""
    if pool.meta.deleted is not None:
        return "NodePoolTerminating", "it is being deleted"
    if pool.invalid:
        return "NodePoolValidationFailed", pool.invalid
    if pool.replicas is not None:
        return "StaticNodePool", f"it is static ({pool.replicas} replicas) and does not follow pods"
    return node_class_problem(pool, snapshot)
