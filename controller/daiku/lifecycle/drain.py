"""Emptying a node: who is asked to leave, in which order, and who is waited for.

Pods leave through the eviction API, which keeps PodDisruptionBudgets; critical ones are asked only when the others
are gone. A deadline, if the NodeClaim has one, overrules budgets and do-not-disrupt: a pod is then deleted early enough
for its own grace period to end in time.

Left alone: finished pods, static pods, pods of DaemonSets, and those that tolerate the taint of a draining node.

Source: Karpenter's terminator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import Command, DeletePod, Evict
from daiku.model import taints
from daiku.model.pod import Pod

_STUCK: Final = timedelta(minutes=1)
"""A pod that should have ended this long ago is not waited for: its kubelet does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Where a drain stands."""

    waiting: tuple[Pod, ...] = ()
    """Pods that still have to leave."""
    commands: tuple[Command, ...] = ()
    wake_at: datetime | None = None
    """When the next pod must be deleted for the sake of the deadline."""


def plan(pods: Sequence[Pod], deadline: datetime | None, now: datetime) -> Drain:
    """Ask the next pods to leave.

    Args:
        pods: All pods of the node.
        deadline: When the node must be gone; None: when its pods are.
        now: The time.
    """
    waiting = tuple(pod for pod in pods if _must_leave(pod, now))
    late = [p for p in waiting if deadline is not None and _is_late(p, deadline, now)]
    commands: list[Command] = [_delete(p, deadline, now) for p in late if deadline is not None]
    willing = [
        p for p in waiting if p not in late and p.is_active and not p.must_not_be_disrupted(now)
    ]
    ordinary = [p for p in waiting if not p.is_critical]
    asked = [p for p in willing if not p.is_critical] if ordinary else willing
    commands += [Evict(namespace=p.meta.namespace, name=p.meta.name, uid=p.meta.uid) for p in asked]
    return Drain(
        waiting=waiting, commands=tuple(commands), wake_at=_next(waiting, late, deadline, now)
    )


def _must_leave(pod: Pod, now: datetime) -> bool:
    stuck = pod.meta.deleted is not None and now > pod.meta.deleted + _STUCK
    return not (
        pod.is_finished
        or pod.is_mirror
        or pod.is_daemon
        or stuck
        or taints.tolerates(pod.tolerations, taints.DISRUPTED)
    )


def _is_late(pod: Pod, deadline: datetime, now: datetime) -> bool:
    """Whether the pod would outlive the deadline unless it is deleted now."""
    if pod.meta.deleted is not None:
        return pod.meta.deleted > deadline
    return now >= deadline - timedelta(seconds=pod.termination_grace_seconds)


def _delete(pod: Pod, deadline: datetime, now: datetime) -> DeletePod:
    left = int((deadline - now).total_seconds())
    return DeletePod(
        namespace=pod.meta.namespace,
        name=pod.meta.name,
        uid=pod.meta.uid,
        grace_seconds=max(left, 1),
    )


def _next(
    waiting: Sequence[Pod], late: Sequence[Pod], deadline: datetime | None, now: datetime
) -> datetime | None:
    times = [p.meta.deleted + _STUCK for p in waiting if p.meta.deleted is not None]
    times += [
        deadline - timedelta(seconds=p.termination_grace_seconds)
        for p in waiting
        if deadline is not None and p not in late and p.meta.deleted is None
    ]
    return min((t for t in times if t > now), default=None)
