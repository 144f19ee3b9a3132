"""Emptying a node: who is asked to leave, in which order, and who is waited for.

Pods leave through the eviction API, which keeps PodDisruptionBudgets, in four tiers: ordinary pods, ordinary pods of
DaemonSets, critical pods, critical pods of DaemonSets; a tier is asked only when the one before it has left. A
deadline, if the NodeClaim has one, overrules tiers, budgets and do-not-disrupt: a pod is then deleted early enough for
its own grace period to end in time.

Left alone: finished pods, static pods, and those that tolerate the taint of a draining node.

Source: Karpenter's terminator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command, DeletePod, Evict
from daiku.model import labels, resources, taints
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

MARKS: Final = {labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"}
"""Labels that a Node gets before its pods leave."""
STUCK: Final = timedelta(minutes=1)
"""A pod that should have ended this long ago is not waited for: its kubelet does not answer."""
_FIRST: Final = timedelta(seconds=3)
"""How long pods that are expected on closed nodes leave the way to others, which may come to open ones: their owners
take a second to make successors, and times of deletion are whole seconds."""
_LANDING: Final = timedelta(seconds=6)
"""How long they do so while these have not all been placed."""
_GATHERING: Final = timedelta(seconds=2)
"""How long pods wait until other nodes that go at the same time can be emptied as well."""
FORCEFUL: Final = reasons.FORCEFUL
"""Why pods are evicted from a node that nobody chose to disrupt (Karpenter's words)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Where a drain stands."""

    waiting: tuple[Pod, ...] = ()
    """Pods that still have to leave."""
    commands: tuple[Command, ...] = ()
    wake_at: datetime | None = None
    """When the next pod can be asked, or must be deleted for the sake of the deadline."""


def plan(
    pods: Sequence[Pod], deadline: datetime | None, now: datetime, reason: str = FORCEFUL
) -> Drain:
    """Ask the next pods to leave.

    Args:
        pods: All pods of the node.
        deadline: When the node must be gone; None: when its pods are.
        now: The time.
        reason: Why the node goes, for its pods.
    """
    waiting = tuple(pod for pod in pods if must_leave(pod, now))
    late = [p for p in waiting if deadline is not None and _is_late(p, deadline, now)]
    commands: list[Command] = []
    if deadline is not None:
        commands += [c for p in late for c in _delete(p, deadline, now)]
    left = [p for p in waiting if p not in late]
    first = min(map(_tier, left), default=0)
    commands += [
        Evict(namespace=p.meta.namespace, name=p.meta.name, uid=p.meta.uid, reason=reason)
        for p in left
        if _tier(p) == first and p.is_active and not p.must_not_be_disrupted(now)
    ]
    return Drain(
        waiting=waiting, commands=tuple(commands), wake_at=_next(waiting, late, deadline, now)
    )


def in_turn(
    commands: Sequence[Command], snapshot: Snapshot, now: datetime
) -> tuple[list[Command], list[datetime]]:
    """The same with evictions in the order that suits kube-scheduler, and when to look at those again that wait.

    It places pods one by one as they come: a small pod finds room after a large one, and not the other way. So nodes
    that go at the same time are emptied together. Pods that are to go to nodes which are closed until they wait would
    take the room elsewhere that was meant for others; so these others leave first, and are given a moment to land.
    """
    evictions = {c.uid: c for c in commands if isinstance(c, Evict)}
    if len(evictions) < 2:
        return list(commands), []
    leaving = [(pod, s) for s in snapshot.state_nodes if s.is_leaving for pod in s.pods]
    size = {pod.meta.uid: _size(pod) for pod, _ in leaving}
    ranked = sorted(evictions.values(), key=lambda c: (-size.get(c.uid, 0.0), c.key))
    placed = {pod.meta.uid: True for pods in snapshot.places.values() for pod in pods}
    began = {pod.meta.uid: _began(s, now) for pod, s in leaving}
    since = {uid: at for uid, at in began.items() if uid in placed}
    least = now - (_LANDING if _are_landing(ranked, placed, snapshot) else _FIRST)
    held = {c.uid: since[c.uid] for c in ranked if c.uid in since and since[c.uid] > least}
    wakes = [at + wait for at in held.values() for wait in (_FIRST, _LANDING)]
    if any(s.is_leaving and not _is_told(s) for s in snapshot.state_nodes):
        early = {c.uid: at for c in ranked if (at := began.get(c.uid, now)) > now - _GATHERING}
        held |= early
        wakes += [at + _GATHERING for at in early.values()]
    going = iter(c for c in ranked if c.uid not in held)
    kept = [c for c in commands if not (isinstance(c, Evict) and c.uid in held)]
    return [next(going) if isinstance(c, Evict) else c for c in kept], wakes


def is_marked(node: Node) -> bool:
    """Whether pods and load balancers are kept away from a Node: its pods can be asked to leave."""
    labelled = all(node.meta.labels.get(key) == value for key, value in MARKS.items())
    return labelled and taints.includes(node.taints, taints.DISRUPTED)


def _is_told(state_node: StateNode) -> bool:
    """Whether the pods of a node that goes can be asked to leave; one that never came, or is gone, has none."""
    node = state_node.node
    return node is None or (node.meta.deleted is not None and is_marked(node))


def _are_landing(
    evictions: Sequence[Evict], placed: Mapping[str, bool], snapshot: Snapshot
) -> bool:
    """Whether pods that are to go to open nodes have not left yet, or have not been placed."""
    return any(c.uid not in placed for c in evictions) or any(
        not pod.unschedulable for pod in snapshot.waiting
    )


def _began(state_node: StateNode, now: datetime) -> datetime:
    """When its pods could first be asked to leave."""
    node = state_node.node
    return node.meta.deleted or now if node is not None else now


def _size(pod: Pod) -> float:
    """About which share of a node it takes."""
    return max(pod.requests.get(name, 0) / unit for name, unit in resources.SIZES.items())


def must_leave(pod: Pod, now: datetime) -> bool:
    """Whether a node waits for the pod before it goes."""
    return is_drainable(pod, now) and not pod.is_finished


def is_drainable(pod: Pod, now: datetime) -> bool:
    """Whether the pod, and what it holds, goes away in a drain."""
    stuck = pod.meta.deleted is not None and now > pod.meta.deleted + STUCK
    return not (pod.is_mirror or stuck or taints.tolerates(pod.tolerations, taints.DISRUPTED))


def _tier(pod: Pod) -> int:
    """Which of the four tiers it leaves in."""
    return 2 * pod.is_critical + pod.is_daemon


def _is_late(pod: Pod, deadline: datetime, now: datetime) -> bool:
    """Whether the pod would outlive the deadline unless it is deleted now."""
    if pod.meta.deleted is not None:
        return pod.meta.deleted > deadline
    return now >= deadline - timedelta(seconds=pod.termination_grace_seconds)


def _delete(pod: Pod, deadline: datetime, now: datetime) -> tuple[DeletePod, Announce]:
    meta = pod.meta
    left = max(int((deadline - now).total_seconds()), 1)
    deletion = DeletePod(namespace=meta.namespace, name=meta.name, uid=meta.uid, grace_seconds=left)
    told = Announce.on(
        "Pod",
        meta,
        type_="Normal",
        reason=reasons.POD_DISRUPTED,
        message=f"its node must be gone by {deadline.isoformat(timespec='seconds')}: it is deleted with {left} s "
        f"of its {pod.termination_grace_seconds} s of grace, whatever its PodDisruptionBudget and do-not-disrupt say",
    )
    return deletion, told


def _next(
    waiting: Sequence[Pod], late: Sequence[Pod], deadline: datetime | None, now: datetime
) -> datetime | None:
    times = [p.meta.deleted + STUCK for p in waiting if p.meta.deleted is not None]
    times += [
        deadline - timedelta(seconds=p.termination_grace_seconds)
        for p in waiting
        if deadline is not None and p not in late and p.meta.deleted is None
    ]
    times += [until for p in waiting if (until := p.protected_until()) is not None]
    return min((t for t in times if t > now), default=None)
