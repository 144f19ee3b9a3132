"""What the pods of DaemonSets really ask for: admission may have changed what their templates say.

A LimitRange, a webhook or a vertical autoscaler gives pods other requests than the template has, and the next node will
carry such a pod. So the newest pod of a DaemonSet stands for those to come. Required node affinity stays the
template's: the DaemonSet controller ties each pod to its node by it.

Source: Karpenter's DaemonSet cache (state/cluster.go).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from daiku.model.daemonset import DaemonSet
from daiku.model.pod import Pod

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class DaemonIndex:
    """Pods of DaemonSets by the uid of their DaemonSet. Part of `Cluster`."""

    _of: dict[str, dict[str, Pod]] = field(default_factory=dict[str, dict[str, Pod]])
    _newest: dict[str, Pod] = field(default_factory=dict[str, Pod])
    _owner: dict[str, str] = field(default_factory=dict[str, str])
    """Pod -> uid of its DaemonSet."""
    _resolved: dict[str, tuple[DaemonSet, Pod, DaemonSet]] = field(
        default_factory=dict[str, tuple[DaemonSet, Pod, DaemonSet]]
    )
    """By uid: what was last made of which DaemonSet and pod."""

    def see(self, pod: Pod) -> None:
        """A pod looks like this; those of no DaemonSet are passed over."""
        uid = next((o.uid for o in pod.meta.owners if o.kind == "DaemonSet"), "")
        if not uid:
            return
        key = pod.meta.key
        self._owner[key] = uid
        self._of.setdefault(uid, {})[key] = pod
        newest = self._newest.get(uid)
        if newest is None or newest.meta.key == key or _age(pod) > _age(newest):
            self._newest[uid] = pod

    def lose(self, key: str) -> None:
        """A pod no longer exists."""
        uid = self._owner.pop(key, None)
        if uid is None:
            return
        left = self._of[uid]
        del left[key]
        if not left:
            del self._of[uid], self._newest[uid]
            self._resolved.pop(uid, None)
        elif self._newest[uid].meta.key == key:
            self._newest[uid] = max(left.values(), key=_age)

    def resolve(self, daemon_sets: Iterable[DaemonSet]) -> tuple[DaemonSet, ...]:
        """`daemon_sets`, each with what its newest pod asks for where it has any."""
        return tuple(map(self._resolve, daemon_sets))

    def _resolve(self, daemon_set: DaemonSet) -> DaemonSet:
        uid = daemon_set.meta.uid
        pod = self._newest.get(uid)
        if pod is None:
            return daemon_set
        known = self._resolved.get(uid)
        if known is None or known[0] is not daemon_set or known[1] is not pod:
            template = replace(
                daemon_set.template,
                requests=pod.requests,
                node_selector=pod.node_selector,
                tolerations=pod.tolerations,
                host_ports=pod.host_ports,
            )
            known = self._resolved[uid] = daemon_set, pod, replace(daemon_set, template=template)
        return known[2]


def _age(pod: Pod) -> tuple[datetime, str]:
    return pod.meta.created or _LONG_AGO, pod.meta.key
