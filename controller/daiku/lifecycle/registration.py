"""From an instance to a Node that carries everything its NodeClaim says.

The Node is found by provider id, given the claim's labels, annotations, taints, owner and finalizer, and freed of the
taint that kept pods away. Startup taints are put on once, here; whoever removes them removes them for good.

Nodes come up one after the other, and kube-scheduler fills whichever is there with whatever waits; a plan that is
tight on several kinds of nodes falls apart so. So before the taint is taken off, the pods for which the node was made
are nominated to it: kube-scheduler then tries them there first, and keeps their room from others.

Source: Karpenter's nodeclaim.lifecycle, registration; KEP 5278 for nominations by others than kube-scheduler.
"""

from typing import Final

from daiku.commands import PatchNode, PodRef
from daiku.lifecycle.draft import Draft
from daiku.model import labels, taints
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.state.snapshot import Snapshot

NOMINATED_MOST: Final = 1_000
"""With more pods waiting than this none is nominated. Before 1.35 kube-scheduler takes a nomination off when it tries
the pod too early, and tries all others again: 800 pods run after 21 s in place of 16, 4,000 after 174 and not 63."""


def advance(draft: Draft, snapshot: Snapshot) -> None:
    """Bring the NodeClaim nearer to being registered."""
    claim = draft.claim
    if not claim.provider_id:
        return
    if claim.is_true("Registered"):
        draft.set("Registered", "True")
        nodes = snapshot.nodes_of.get(claim.provider_id, ())
        # A restored backup may know the claim as registered and its Node as it was born.
        draft.commands += [_sync(n, claim, snapshot) for n in nodes if _is_newborn(n)]
        return
    nodes = snapshot.nodes_of.get(claim.provider_id, ())
    node = next(iter(nodes), None)
    if node is None:
        draft.set("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster")
    elif len(nodes) > 1:
        names = ", ".join(each.meta.name for each in nodes)
        message = f"Invariant violated, matched multiple nodes: {names}"
        draft.set("Registered", "False", "MultipleNodesFound", message)
    elif node.is_registered:
        draft.node_name = node.meta.name
        draft.set("Registered", "True")
    elif node.meta.deleted is None:
        if not taints.includes(node.taints, taints.UNREGISTERED):
            draft.announce(
                "Warning",
                "UnregisteredTaintMissing",
                f"Node {node.meta.name} joined without taint {labels.UNREGISTERED_TAINT}: pods may have been "
                "placed on it too early; let its user data register it with that taint",
            )
        draft.commands.append(_sync(node, claim, snapshot))


def _is_newborn(node: Node) -> bool:
    """Whether nobody has registered it yet, by its own word."""
    return (
        node.meta.deleted is None
        and not node.is_registered
        and taints.includes(node.taints, taints.UNREGISTERED)
    )


def _sync(node: Node, claim: NodeClaim, snapshot: Snapshot) -> PatchNode:
    marks = node.taints
    if node.meta.labels.get(labels.DO_NOT_SYNC_TAINTS) != "true":
        marks = taints.merge(taints.merge(marks, claim.taints), claim.startup_taints)
    return PatchNode(
        name=node.meta.name,
        resource_version=node.meta.resource_version,
        add_finalizer=True,
        owner=claim,
        labels={**claim.meta.labels, labels.REGISTERED: "true"},
        annotations=dict(claim.meta.annotations),
        taints=taints.without(marks, (taints.UNREGISTERED,)),
        nominates=_guests(node, claim, snapshot),
    )


def _guests(node: Node, claim: NodeClaim, snapshot: Snapshot) -> tuple[PodRef, ...]:
    """Pods that wait and are expected on it, in the order of their keys."""
    if len(snapshot.waiting) > NOMINATED_MOST:
        return ()
    names, nominations = (claim.meta.name, node.meta.name), snapshot.nominations
    expected = {p: True for p, n in nominations.items() if n.target in names and n.lost is None}
    return tuple(
        PodRef(namespace=pod.meta.namespace, name=pod.meta.name, uid=pod.meta.uid)
        for pod in (snapshot.waiting if expected else ())
        if pod.meta.key in expected
        and pod.nominated_node_name != node.meta.name
        and snapshot.is_provisionable(pod)
    )
