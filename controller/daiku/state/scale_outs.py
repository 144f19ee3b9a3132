"""Scale-outs: pods that a workload wants and that do not exist yet, or that kube-scheduler has not tried yet.

A ReplicaSet that is scaled out makes its pods over seconds, and kube-scheduler tries them one by one. Nodes that are
planned for the first of them do not suit the rest. So as soon as a workload wants more pods than it has, the missing
ones wait like any other pod, as copies of its template, and so do those that kube-scheduler has not tried.

A quota or an admission webhook may keep pods from coming. So a scale-out is over when no pod of any workload has come
or been bound for `PATIENCE`, or none of this workload for `PATIENCE_MOST`. Only growth that is seen as it happens
counts: after a restart pods are planned when they wait.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from daiku.model.pod import Pod
from daiku.model.pod_owner import PodOwner

PATIENCE: Final = timedelta(seconds=5)
"""How long after the last pod of any workload came or was bound others are still expected: kube-controller-manager
makes the pods of five ReplicaSets at a time, and kube-scheduler may be behind."""
PATIENCE_MOST: Final = timedelta(seconds=60)
"""How long after its own last pod a workload is believed to make more, while others make theirs."""
_MARK: Final = "~"
"""Stands in the name of an announced pod, between those of its workload and its number; no real name can have it."""


@dataclass(slots=True)
class _Open:
    """A scale-out that goes on."""

    workload: PodOwner
    began: datetime | None = None
    """None: since the next snapshot, because events carry no time."""
    progress: datetime | None = None
    """When a pod of it came or was bound last; None as above."""
    pods: list[Pod] = field(default_factory=list[Pod])
    """Announced pods that were made so far, by their number; kept because equal pods must be the same object."""


@dataclass(slots=True)
class ScaleOuts:
    """Scale-outs that go on. Part of `Cluster`."""

    _wanted: dict[str, int] = field(default_factory=dict[str, int])
    """Uid of a workload -> how many pods it wants, where that is any."""
    _active: Counter[str] = field(default_factory=Counter[str])
    """Uid of a controller -> its active pods."""
    _open: dict[str, _Open] = field(default_factory=dict[str, _Open])
    """By uid."""
    _tried: dict[str, tuple[Pod, Pod]] = field(default_factory=dict[str, tuple[Pod, Pod]])
    """Pod that was not tried yet -> itself and its copy that waits."""

    def see(self, workload: PodOwner, *, live: bool) -> None:
        """A workload looks like this.

        Args:
            workload: The workload.
            live: Whether this is a change that happens now, and not part of the first list.
        """
        uid, before = workload.meta.uid, self._wanted.get(workload.meta.uid, 0)
        if workload.wanted:
            self._wanted[uid] = workload.wanted
        else:
            self._wanted.pop(uid, None)
        known = self._open.get(uid)
        if workload.wanted > max(before, self._active[uid]) and live:
            began = known.began if known is not None else None
            self._open[uid] = _Open(workload, began)
        elif known is not None:
            known.workload = workload

    def lose(self, uid: str) -> None:
        """A workload no longer exists."""
        self._wanted.pop(uid, None)
        self._open.pop(uid, None)

    def see_pod(self, before: Pod | None, pod: Pod | None) -> None:
        """A pod came, changed, or (None) went."""
        for each, change in ((before, -1), (pod, 1)):
            uid = each.meta.controller_uid if each is not None and each.is_active else ""
            if uid:
                self._active[uid] += change
                if not self._active[uid]:
                    del self._active[uid]
        uid = pod.meta.controller_uid if pod is not None and self._open else ""
        is_new = before is None or pod is None or before.node_name != pod.node_name
        if is_new and uid in self._open:
            self._open[uid].progress = None

    def stamp(self, now: datetime) -> None:
        """Give everything that happened since the last call the time `now`, and end what makes no progress."""
        for each in self._open.values():
            each.began = each.began or now
            each.progress = each.progress or now
        latest = max((each.progress or now for each in self._open.values()), default=now)
        for uid, each in list(self._open.items()):
            if now >= min(latest + PATIENCE, (each.progress or now) + PATIENCE_MOST):
                del self._open[uid]
        if not self._open:
            self._tried.clear()

    @property
    def ends_at(self) -> datetime | None:
        """When the first scale-out is given up if no pod comes."""
        times = [each.progress for each in self._open.values() if each.progress is not None]
        return min(max(times) + PATIENCE, min(times) + PATIENCE_MOST) if times else None

    @property
    def since(self) -> datetime | None:
        """When the first of them began; None when none goes on."""
        return min((at for each in self._open.values() if (at := each.began)), default=None)

    def with_announced(self, waiting: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """`waiting` with pods that are announced, in the order of their keys; `stamp` comes before."""
        if not self._open:
            return waiting
        pods = [*map(self._as_waiting, waiting), *self._missing()]
        return tuple(sorted(pods, key=lambda pod: pod.meta.key))

    def arrivals(self, waiting: Iterable[Pod]) -> Mapping[str, datetime]:
        """Pods of scale-outs -> when these began."""
        return {
            pod.meta.key: each.began
            for pod in waiting
            if (each := self._open.get(pod.meta.controller_uid)) and each.began is not None
        }

    def _as_waiting(self, pod: Pod) -> Pod:
        """The same, as if kube-scheduler had tried it, when it is part of a scale-out."""
        if pod.unschedulable or pod.gated or pod.meta.controller_uid not in self._open:
            return pod
        known = self._tried.get(pod.meta.key)
        if known is None or known[0] is not pod:
            known = self._tried[pod.meta.key] = pod, replace(pod, unschedulable=True)
        return known[1]

    def _missing(self) -> Iterator[Pod]:
        for uid, each in self._open.items():
            missing = self._wanted.get(uid, 0) - self._active[uid]
            while len(each.pods) < missing:
                each.pods.append(_announced(each, len(each.pods)))
            yield from each.pods[: max(missing, 0)]


def _announced(scale_out: _Open, number: int) -> Pod:
    workload, template = scale_out.workload, scale_out.workload.template
    if template is None:
        raise ValueError(f"{workload.meta.key} wants pods and has no template")
    meta = replace(
        template.meta,
        name=f"{workload.meta.name}{_MARK}{number:05d}",
        namespace=workload.meta.namespace,
        created=scale_out.began,
    )
    return replace(template, meta=meta, unschedulable=True)


def is_announced(key: str) -> bool:
    """Whether this is the key of a pod that is not there yet."""
    return _MARK in key


def workload_of(key: str) -> str:
    """Namespace and name of the workload that announced the pod `key`."""
    return key.partition(_MARK)[0]
