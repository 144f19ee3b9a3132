"""Places on new nodes that are kept for pods which run elsewhere and are about to move.

The problem: a node was made for certain pods, packed so that it is full with them. When they are evicted they are gone,
and their owners make others of other names. The idea: each pod's place goes to one that waits, has the same owner and
asks for the same.

A cache: after a restart pods are planned onto these nodes anew.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.model.pod import Pod
from daiku.state.statenode import StateNode

SUCCESSION: Final = timedelta(seconds=5)
"""How long the successor of a pod that has gone is waited for: ReplicaSets need a second or two to make hundreds."""
OPEN_AFTER: Final = timedelta(seconds=30)
"""Nodes that are kept closed for pods that move open this long after the first of them was asked to leave."""

_Kin = tuple[str, tuple[tuple[str, int], ...]]


@dataclass(slots=True)
class Places:
    """Those that are kept. Part of `Cluster`."""

    _of: dict[str, dict[str, Pod]] = field(default_factory=dict[str, dict[str, Pod]])
    """NodeClaim -> key of a pod -> the pod as it was when the decision was made."""
    _given: dict[str, str] = field(default_factory=dict[str, str])
    """Key of a pod that waits -> the NodeClaim on which it was given a place."""
    _gone: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """Uid of a pod that has gone -> when that was seen first."""

    def keep(self, claim: str, pods: Iterable[Pod]) -> None:
        """A NodeClaim is made for these pods."""
        self._of[claim] = {pod.meta.key: pod for pod in pods if pod.meta.controller_uid}

    def kept(self, now: datetime) -> Mapping[str, tuple[Pod, ...]]:
        """NodeClaim -> pods that still run and are to move there, or have gone a moment ago.

        Others may have the room of those that went before: not all successors wait, some find room elsewhere.
        """
        return {
            claim: tuple(
                pod for pod in pods.values() if now - self._gone.get(pod.meta.uid, now) < SUCCESSION
            )
            for claim, pods in self._of.items()
        }

    def expect(
        self,
        waiting: Sequence[Pod],
        known: Mapping[str, Pod],
        nodes: Mapping[str, StateNode],
        now: datetime,
    ) -> Mapping[str, str]:
        """Pods that wait or are about to -> the NodeClaims on which they have a place. Forgets nodes that are open.

        Args:
            waiting: Pods without a node, in order.
            known: Every pod that is there, by its key.
            nodes: What there is, by the name of NodeClaims and Nodes.
            now: The time.
        """
        self._of = {c: pods for c, pods in self._of.items() if _is_closed(nodes.get(c))}
        if not self._of:
            self._given.clear()
            self._gone.clear()
            return {}
        left: dict[_Kin, list[tuple[str, str]]] = {}
        # One place for each: those that become free later are for others.
        expected = {
            key: claim
            for pod in waiting
            if (claim := self._given.get(key := pod.meta.key)) in self._of
        }
        self._given = dict(expected)
        for claim, pods in self._of.items():
            for key, pod in pods.items():
                if _is_gone(pod, known.get(key)):
                    self._gone.setdefault(pod.meta.uid, now)
                    left.setdefault(_kin(pod), []).append((claim, key))
                elif (node := nodes.get(pod.node_name)) is not None and node.is_leaving:
                    expected[key] = claim
        for pod in waiting if left else ():
            if pod.meta.key not in self._given and (places := left.get(_kin(pod))):
                claim, key = places.pop(0)
                del self._of[claim][key]
                expected[pod.meta.key] = self._given[pod.meta.key] = claim
        return expected


def _is_gone(pod: Pod, now: Pod | None) -> bool:
    """Whether it has been evicted, or is done; a successor may have its name already."""
    return now is None or now.meta.uid != pod.meta.uid or not now.is_active


def _kin(pod: Pod) -> _Kin:
    """Its owner and what it asks for: those who share both can take each other's place."""
    return pod.meta.controller_uid, tuple(sorted(pod.requests.items()))


def _is_closed(state_node: StateNode | None) -> bool:
    """Whether pods cannot come to it yet, and may some day."""
    return state_node is not None and state_node.is_closed and not state_node.is_leaving
