"""Which pods kube-scheduler is told to try on a Node that was kept closed for them.

The Nodes that a repack makes are kept closed until the pods that move wait for them (`disruption.opening`). Before they
open, each of these pods is nominated to its Node: kube-scheduler tries it there first, and keeps its room from others.
Where all that wait ask for the same it does not matter who goes where.

Source: KEP 5278 for nominations by others than kube-scheduler.
"""

from collections.abc import Sequence
from typing import Final

from daiku.commands import PodRef
from daiku.model import memo
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot

NOMINATED_MOST: Final = 2_000
"""With more pods waiting than this none is nominated: each costs a call, and kube-scheduler some work. 2,000 of 40
sizes ran no later for it, and cost 5 % more than the bound and not 33; of more nothing has been measured."""


def guests(node: Node, claim: NodeClaim, snapshot: Snapshot) -> tuple[PodRef, ...]:
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
