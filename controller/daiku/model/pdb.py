"""PodDisruptionBudgets: how many more pods of a set may be evicted now, according to the API server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from daiku.model import memo, selectors
from daiku.model.meta import Meta
from daiku.model.pod import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisruptionBudget:
    """A PodDisruptionBudget."""

    meta: Meta
    selector: Mapping[str, Any] | None
    """`spec.selector` as on the wire (matchLabels, matchExpressions); None selects nothing."""
    disruptions_allowed: int
    """`status.disruptionsAllowed`."""
    lets_unready_go: bool = False
    """`spec.unhealthyPodEvictionPolicy` is AlwaysAllow: pods that are not ready may be evicted whatever it allows."""
    is_closed: bool = False
    """No eviction can ever pass, however many pods are healthy: `maxUnavailable` 0 or 0%, `minAvailable` 100%."""

    def keeps(self, pod: Pod) -> bool:
        """Whether it never lets `pod`, which it selects, be evicted as it is now."""
        return self.is_closed and (pod.ready or not self.lets_unready_go)


_KNOWN_MOST: Final = 10_000
"""Sets of labels that are remembered: budgets stay while pods with labels of their own come and go."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """PodDisruptionBudgets by the pods they select; each namespace and set of labels is looked up once."""

    _by_namespace: Mapping[str, tuple[PodDisruptionBudget, ...]]
    _known: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[PodDisruptionBudget, ...]] = field(
        default_factory=dict[
            tuple[str, tuple[tuple[str, str], ...]], "tuple[PodDisruptionBudget, ...]"
        ]
    )

    @staticmethod
    @memo.by_identity(8)
    def of(pdbs: tuple[PodDisruptionBudget, ...]) -> "Budgets":
        """All budgets of a cluster."""
        by_namespace: dict[str, list[PodDisruptionBudget]] = {}
        for pdb in pdbs:
            by_namespace.setdefault(pdb.meta.namespace, []).append(pdb)
        return Budgets({name: tuple(each) for name, each in by_namespace.items()})

    def concern(self, namespaces: Iterable[str]) -> bool:
        """Whether there is any in one of `namespaces`."""
        return any(namespace in self._by_namespace for namespace in namespaces)

    def about(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Those that select `pod`."""
        there = self._by_namespace.get(pod.meta.namespace, ())
        if not there:
            return ()
        key = pod.meta.namespace, tuple(sorted(pod.meta.labels.items()))
        if key not in self._known:
            if len(self._known) >= _KNOWN_MOST:
                self._known.clear()
            self._known[key] = tuple(
                p for p in there if selectors.selects(p.selector, pod.meta.labels)
            )
        return self._known[key]
