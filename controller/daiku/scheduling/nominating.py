"""Telling kube-scheduler which pods a Node is for that is about to open.

Nodes come up one after the other, and kube-scheduler fills whichever is there with whatever waits; a plan that is
tight on several kinds of nodes falls apart so. So before the taint is taken off that keeps pods away, the pods that
are expected on the Node are nominated to it: kube-scheduler then tries them there first, and keeps their room from
others. Where all that wait ask for the same it does not matter who goes where.

Source: KEP 5278 for nominations by others than kube-scheduler.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import Command, PatchNode, PodRef
from daiku.model import memo
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot

NOMINATED_MOST: Final = 2_000
"""With more pods waiting than this none is nominated: each costs a call, and kube-scheduler some work. 2,000 of 40
sizes ran no later for it, and cost 5 % more than the bound and not 33; of more nothing has been measured."""
_PATIENCE: Final = timedelta(seconds=10)
"""How long other Nodes wait for one that is being opened."""


def one_at_a_time(
    commands: Sequence[Command], snapshot: Snapshot, now: datetime
) -> Iterator[Command]:
    """The same without those that nominate pods to a second Node before the first is open.

    Whenever a Node opens, kube-scheduler tries all pods that wait, and before 1.35 it takes the nominations off those
    whose own Node is still closed.
    """
    busy = any(h.nominates and now - h.since < _PATIENCE for h in snapshot.holds.values())
    for command in commands:
        if isinstance(command, PatchNode) and command.nominates and not command.only_nominates:
            if busy or snapshot.is_held(command.key):
                continue
            busy = True
        yield command


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
