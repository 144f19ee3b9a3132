"""Pods by where they are: waiting, or on a node. Kept up to date one pod at a time.

It also keeps what only changes tell: since when a pod has been waiting for a node, and when a pod last came to or
left a node. Pods of DaemonSets do not count as coming or going: they are there because the node is.
"""

from bisect import bisect_right
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from daiku.model.pod import Pod


@dataclass(slots=True)
class PodIndex:
    """Every pod that is known. Part of `Cluster`."""

    _pods: dict[str, Pod] = field(default_factory=dict[str, Pod])
    _waiting: dict[str, Pod] = field(default_factory=dict[str, Pod])
    _on: dict[str, tuple[Pod, ...]] = field(default_factory=dict[str, tuple[Pod, ...]])
    _arrived: dict[str, datetime | None] = field(default_factory=dict[str, datetime | None])
    """None: since the next snapshot, because events carry no time."""
    _events: dict[str, datetime | None] = field(default_factory=dict[str, datetime | None])

    def see(self, pod: Pod, *, live: bool) -> None:
        """A pod looks like this.

        Args:
            pod: The pod.
            live: Whether this is a change that happens now, and not part of the first list.
        """
        key = pod.meta.key
        before = self._pods.get(key)
        self._pods[key] = pod
        if before is not None:
            self._remove(before, keep=pod.node_name)
        if pod.node_name:
            others = self._on.get(pod.node_name, ())
            if before is not None:
                others = tuple(p for p in others if p.meta.key != key)
            at = bisect_right(others, pod.meta.name, key=_name)
            self._on[pod.node_name] = (*others[:at], pod, *others[at:])
        elif not pod.is_finished:
            self._waiting[key] = pod
        if pod.is_provisionable:
            self._arrived.setdefault(key, None)
        else:
            self._arrived.pop(key, None)
        self._note(before, pod, live=live)

    def lose(self, key: str) -> None:
        """A pod no longer exists."""
        pod = self._pods.pop(key, None)
        if pod is None:
            return
        self._remove(pod, keep="")
        self._arrived.pop(key, None)
        if pod.node_name and not pod.is_daemon:
            self._events[pod.node_name] = None

    def forget_node(self, name: str) -> None:
        """A Node no longer exists."""
        self._events.pop(name, None)

    def stamp(self, now: datetime) -> None:
        """Give everything that happened since the last call the time `now`."""
        for times in (self._arrived, self._events):
            for key in [k for k, at in times.items() if at is None]:
                times[key] = now

    def waiting(self) -> tuple[Pod, ...]:
        """Unfinished pods without a node, in the order of their keys."""
        return tuple(self._waiting[key] for key in sorted(self._waiting))

    def waiting_keys(self) -> Container[str]:
        """Keys of unfinished pods without a node."""
        return self._waiting.keys()

    def on(self, node: str) -> tuple[Pod, ...]:
        """Pods bound to a node, in the order of their names."""
        return self._on.get(node, ())

    def arrivals(self) -> Mapping[str, datetime]:
        """Provisionable pod -> since when it waits."""
        return {key: at for key, at in self._arrived.items() if at is not None}

    def last_event(self, node: str) -> datetime | None:
        """When a pod last came to or left a node; None when that was not seen."""
        return self._events.get(node)

    def _remove(self, pod: Pod, *, keep: str) -> None:
        self._waiting.pop(pod.meta.key, None)
        if pod.node_name and pod.node_name != keep:
            left = tuple(p for p in self._on.get(pod.node_name, ()) if p.meta.key != pod.meta.key)
            if left:
                self._on[pod.node_name] = left
            else:
                self._on.pop(pod.node_name, None)

    def _note(self, before: Pod | None, pod: Pod, *, live: bool) -> None:
        """Remember the time when `pod` came to its node, ended, or began to."""
        if not pod.node_name or pod.is_daemon:
            return
        if before is None or not before.node_name:
            known = self._events.get(pod.node_name)
            if pod.scheduled is None:
                if live:
                    self._events[pod.node_name] = None
            elif known is None and pod.node_name in self._events:
                return
            elif known is None or pod.scheduled > known:
                self._events[pod.node_name] = pod.scheduled
        elif before.is_active and not pod.is_active:
            self._events[pod.node_name] = None


def _name(pod: Pod) -> str:
    return pod.meta.name
