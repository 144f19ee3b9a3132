"""Which pods a ReplicaSet gives up when it is scaled in: all those on one node before any on the next.

The problem: left to itself a ReplicaSet gives up pods where most of its kind run, so that a scale-in leaves every node
half empty, and most of the pods that stay have to move before nodes can go. The idea: pods on one node have the same
deletion cost, and each node has another, so all ReplicaSets empty the same nodes first and hardly anybody has to
move. Which nodes come first matters little (docs/decisions/0010); a node's place in the order follows from its name, so
it never changes and each pod is written once.

Only where it is asked for (`daiku.dev/scale-in-by-node`), because what stays runs on fewer nodes then. Pods that say
where others of their kind may run keep the choice of their ReplicaSet, which spreads, and so do those that have a
deletion cost already. Where it is asked no more the costs are taken back.

Source: kubernetes.io/docs/concepts/workloads/controllers/replicaset, pod deletion cost.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from zlib import crc32

from daiku.commands import PatchPod
from daiku.disruption.context import MethodResult
from daiku.model import labels, memo, waking
from daiku.model.pod import Pod
from daiku.state.asking import Asking
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

PLACES: Final = 10_000
"""Places in the order of nodes. Costs are too small for one of them to make a pod dearer to evict (`cost`)."""
REST: Final = timedelta(minutes=1)
"""For how long a pod has had its node: what comes in a wave is written when the wave is over, and who is gone by then
need not be written at all."""
AT_ONCE: Final = 50
"""Pods that are being written at a time: this may take a while, and nothing waits for it."""
_AGAIN: Final = timedelta(seconds=1)
"""When the next are written, if nothing happens before."""


def plan(snapshot: Snapshot, now: datetime) -> MethodResult:
    """Have pods given up with the others on their nodes where that is asked, and as before where it is no more."""
    # Evictions that a budget refuses rest under the same keys, for as long as it does.
    busy = sum(h.until is None and key.startswith("Pod/") for key, h in snapshot.holds.items())
    room = max(0, AT_ONCE - busy)
    made = MethodResult()
    for pod, wanted in _unwritten(snapshot):
        if f"Pod/{pod.meta.key}" in snapshot.holds:
            continue
        due = waking.shared((pod.scheduled or now) + REST, REST)
        if due > now:
            made.wakes.append(due)
        elif len(made.commands) < room:
            made.commands.append(PatchPod.with_deletion_cost(pod.meta, wanted))
        else:
            made.wakes.append(now + _AGAIN)
            break
    return made


def cost_on(node: str) -> int:
    """The deletion cost of pods on this node, from -10,000 to -1: pods on nodes of others cost 0, and stay longest."""
    return -1 - crc32(node.encode()) % PLACES


def _unwritten(snapshot: Snapshot) -> Iterator[tuple[Pod, str | None]]:
    """Pods whose deletion cost is not what is asked for, and what it is to be; None: none."""
    asking = Asking.of(snapshot, labels.SCALE_IN_BY_NODE)
    acting = {
        p.meta.name: True
        for p in snapshot.node_pools
        if p.disruption_mode not in {"dry-run", "paused"}
    }
    for state_node in snapshot.state_nodes:
        pool = state_node.nodepool
        if state_node.is_leaving or pool not in acting:
            continue
        without, with_ours = _able(state_node)
        name = state_node.name
        yield from ((pod, str(cost_on(name))) for pod in without if asking.asks(pod, pool))
        yield from ((pod, None) for pod in with_ours if not asking.asks(pod, pool))


@memo.by_identity(16_384)
def _able(state_node: StateNode) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """Pods on a node of ours that may be given a deletion cost, and those that have been."""
    if state_node.claim is None:
        return (), ()
    ours = str(cost_on(state_node.name))
    costs = [(p, p.meta.annotations.get(labels.POD_DELETION_COST)) for p in state_node.pods]
    return (
        tuple(pod for pod, cost in costs if cost is None and _is_able(pod)),
        tuple(pod for pod, cost in costs if cost == ours and pod.is_active),
    )


def _is_able(pod: Pod) -> bool:
    return (
        pod.is_active
        and any(o.controller and o.kind == "ReplicaSet" for o in pod.meta.owners)
        and not (
            pod.spread
            or pod.pod_affinity
            or pod.pod_anti_affinity
            or pod.preferred_pod_affinity
            or pod.preferred_pod_anti_affinity
        )
    )
