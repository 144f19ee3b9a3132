"""From an instance to a Node that carries everything its NodeClaim says.

The Node is found by provider id, given the claim's labels, annotations, taints, owner and finalizer, and freed of the
taint that kept pods away. Startup taints are put on once, here; whoever removes them removes them for good.

Nodes come up one after the other, and kube-scheduler fills whichever is there with whatever waits; a plan that is
tight on several kinds of nodes falls apart so. So before the taint is taken off, the pods for which the node was made
are nominated to it: kube-scheduler then tries them there first, and keeps their room from others. Where all that wait
ask for the same it does not matter who goes where.

Source: Karpenter's nodeclaim.lifecycle, registration; KEP 5278 for nominations by others than kube-scheduler.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import Command, PatchNode, PodRef
from daiku.lifecycle.draft import Draft
from daiku.model import labels, memo, taints
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot

NOMINATED_MOST: Final = 2_000
"""With more pods waiting than this none is nominated: each costs a call, and kube-scheduler some work. 2,000 of 40
sizes ran no later for it, and cost 5 % more than the bound and not 33; of more nothing has been measured."""
_PATIENCE: Final = timedelta(seconds=10)
"""How long other Nodes wait for one that is being opened."""


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


def one_at_a_time(
    commands: Sequence[Command], snapshot: Snapshot, now: datetime
) -> Iterator[Command]:
    """The same without those that nominate pods to a second Node before the first is open.

    Whenever a Node opens, kube-scheduler tries all pods that wait, and before 1.35 it takes the nominations off those
    whose own Node is still closed.
    """
    busy = any(h.nominates and now - h.since < _PATIENCE for h in snapshot.holds.values())
    for command in commands:
        if isinstance(command, PatchNode) and command.nominates:
            if busy or snapshot.is_held(command.key):
                continue
            busy = True
        yield command


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
        taints_before=node.taints,
        nominates=_guests(node, claim, snapshot),
    )


def _guests(node: Node, claim: NodeClaim, snapshot: Snapshot) -> tuple[PodRef, ...]:
    """Pods that wait and are expected on it, in the order of their keys."""
    if len(snapshot.waiting) > NOMINATED_MOST or _is_alike(snapshot.waiting):
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


# Asked for every node that has just joined; those that wait are the same for all of them.
@memo.by_identity(1)
def _is_alike(pods: Sequence[Pod]) -> bool:
    """Whether all ask for the same amounts, so that it does not matter who goes where."""
    return all(pod.requests == pods[0].requests for pod in pods)
