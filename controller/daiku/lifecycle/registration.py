"""From an instance to a Node that carries everything its NodeClaim says.

The Node is found by provider id, given the claim's labels, annotations, taints, owner and finalizer, and freed of the
taint that kept pods away. Startup taints are put on once, here; whoever removes them removes them for good.

Source: Karpenter's nodeclaim.lifecycle, registration.
"""

from datetime import timedelta
from typing import Final

from daiku import reasons
from daiku.commands import PatchNode
from daiku.lifecycle.draft import Draft
from daiku.model import labels, taints
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.state.snapshot import Snapshot

_INITIALIZES: Final = timedelta(seconds=5)
"""How long after its Node was made a NodeClaim waits for Initialized, to be written together with Registered."""


def advance(draft: Draft, snapshot: Snapshot) -> None:
    """Bring the NodeClaim nearer to being registered."""
    claim = draft.claim
    if not claim.provider_id:
        return
    if claim.is_true("Registered"):
        draft.set("Registered", "True")
        nodes = snapshot.nodes_of.get(claim.provider_id, ())
        # A restored backup may know the claim as registered and its Node as it was born.
        draft.commands += [_sync(n, claim) for n in nodes if _is_newborn(n)]
        return
    nodes = snapshot.nodes_of.get(claim.provider_id, ())
    node = next(iter(nodes), None)
    if node is None:
        draft.wait("Registered", reasons.NODE_NOT_FOUND, reasons.means(reasons.NODE_NOT_FOUND))
    elif len(nodes) > 1:
        names = ", ".join(each.meta.name for each in nodes)
        message = f"Invariant violated, matched multiple nodes: {names}"
        draft.set("Registered", "False", reasons.MULTIPLE_NODES_FOUND, message)
    elif node.is_registered:
        draft.node_name = node.meta.name
        draft.set("Registered", "True")
        if node.meta.created is not None and claim.meta.deleted is None:
            draft.defer_until = node.meta.created + _INITIALIZES
    elif node.meta.deleted is None:
        if not taints.includes(node.taints, taints.UNREGISTERED):
            draft.announce(
                "Warning",
                reasons.UNREGISTERED_TAINT_MISSING,
                f"Node {node.meta.name} joined without taint {labels.UNREGISTERED_TAINT}: pods may have been "
                "placed on it too early; let its user data register it with that taint",
            )
        draft.commands.append(_sync(node, claim))


def _is_newborn(node: Node) -> bool:
    """Whether nobody has registered it yet, by its own word."""
    return (
        node.meta.deleted is None
        and not node.is_registered
        and taints.includes(node.taints, taints.UNREGISTERED)
    )


def _sync(node: Node, claim: NodeClaim) -> PatchNode:
    marks = node.taints
    if node.meta.labels.get(labels.DO_NOT_SYNC_TAINTS) != "true":
        marks = taints.merge(taints.merge(marks, claim.taints), claim.startup_taints)
    if labels.AWAITING_PODS in claim.meta.annotations:
        marks = taints.merge(marks, (taints.AWAITING_PODS,))
    return PatchNode(
        name=node.meta.name,
        resource_version=node.meta.resource_version,
        add_finalizer=True,
        owner=claim,
        labels={**claim.meta.labels, labels.REGISTERED: "true"},
        annotations=dict(claim.meta.annotations),
        taints=taints.without(marks, (taints.UNREGISTERED,)),
        before=node,
    )
