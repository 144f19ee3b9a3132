"""From a registered Node to one that pods can rely on.

It is ready, the taints of its coming up are gone, and every resource that was asked for is reported.

Source: Karpenter's nodeclaim.lifecycle, initialization.
"""

from daiku import reasons
from daiku.commands import PatchNode
from daiku.lifecycle.draft import Draft
from daiku.model import labels, taints, units
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.reason import Reason
from daiku.state.snapshot import Snapshot


def advance(draft: Draft, snapshot: Snapshot) -> None:
    """Bring the NodeClaim nearer to being initialized."""
    claim = draft.claim
    node = next(iter(snapshot.nodes_of.get(claim.provider_id, ())), None)
    if claim.is_true("Initialized"):
        draft.set("Initialized", "True")
        # Somebody may have taken the label off, or a restored backup; without it the node would never be disrupted.
        if node is not None and node.meta.deleted is None and not node.is_initialized:
            draft.commands.append(_label(node))
        return
    if not draft.is_true("Registered"):
        return
    if node is None:
        draft.wait("Initialized", reasons.NODE_NOT_FOUND, reasons.means(reasons.NODE_NOT_FOUND))
        return
    missing = _missing(node, claim)
    if missing is not None:
        draft.wait("Initialized", *missing)
    elif node.is_initialized:
        draft.set("Initialized", "True")
    else:
        draft.commands.append(_label(node))


def _label(node: Node) -> PatchNode:
    return PatchNode(
        name=node.meta.name,
        resource_version=node.meta.resource_version,
        labels={labels.INITIALIZED: "true"},
        before=node,
    )


def _missing(node: Node, claim: NodeClaim) -> tuple[Reason, str] | None:
    """Reason and message of the first thing that is not there yet."""
    if not node.is_ready:
        return reasons.NODE_NOT_READY, f"Node {node.meta.name} is not ready"
    for taint in node.taints:
        if taints.includes(claim.startup_taints, taint):
            return (
                reasons.STARTUP_TAINTS_EXIST,
                f"startup taint {taint.key}:{taint.effect} is still there",
            )
    for taint in node.taints:
        if taints.is_ephemeral(taint):
            return (
                reasons.EPHEMERAL_TAINTS_EXIST,
                f"taint {taint.key}:{taint.effect} is still there",
            )
    for resource, amount in sorted(claim.requests.items()):
        if amount and not node.allocatable.get(resource, 0):
            wanted = units.format_quantity(resource, amount)
            return (
                reasons.RESOURCE_NOT_REGISTERED,
                f"resource {resource} ({wanted} asked for) is not reported yet",
            )
    return None
