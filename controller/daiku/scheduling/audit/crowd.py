"""Pods by what selectors can see of them: counting is per kind of pod, not per pod.

Two pods are of one kind when they are of one namespace and agree in every label that any selector in question names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm
from daiku.scheduling.audit.ground import Ground

_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has by itself."""

Kind = tuple[str, tuple[tuple[str, str], ...]]
"""Namespace, and the labels that matter."""


@dataclass(slots=True, kw_only=True, eq=False)
class Crowd:
    """How many pods of each kind are where."""

    keys: tuple[str, ...]
    """The labels that matter."""
    namespaces: Mapping[str, Mapping[str, str]]
    """Labels of namespaces, by name."""
    there: dict[Kind, dict[int, int]] = field(default_factory=dict[Kind, dict[int, int]])
    """Bound pods: kind -> index of the place -> how many."""
    ending: dict[Kind, dict[int, int]] = field(default_factory=dict[Kind, dict[int, int]])
    """Bound pods that are on their way out, alike: they still refuse company, but are none to rely on."""
    coming: dict[Kind, dict[int, int]] = field(default_factory=dict[Kind, dict[int, int]])
    """Pods that the plan places, alike."""

    def kind(self, pod: Pod) -> Kind:
        """The kind of `pod`."""
        own = pod.meta.labels
        return pod.meta.namespace, tuple((key, own[key]) for key in self.keys if key in own)

    def is_meant(self, term: AffinityTerm, kind: Kind) -> bool:
        """Whether a term of pod affinity means pods of `kind`."""
        namespace, own = kind
        known = {_NAMESPACE_NAME: namespace, **self.namespaces.get(namespace, {})}
        near = namespace in term.namespaces or selects(term.namespace_selector, known)
        return near and selects(term.selector, dict(own))


def gather(ground: Ground, selectors: Iterable[Requirements | None]) -> Crowd:
    """All pods, by what `selectors` can see."""
    named = (key for s in selectors if s is not None for key in s.by_key)
    old = {new: old for old, new in labels.ALIASES.items()}
    keys = sorted(dict.fromkeys(k for key in named for k in (key, old.get(key, key))))
    crowd = Crowd(keys=tuple(keys), namespaces=ground.namespaces)
    for index, place in enumerate(ground.places):
        for pods, steady in ((place.there, crowd.there), (place.coming, crowd.coming)):
            for pod in pods:
                counted = steady if pod.meta.deleted is None else crowd.ending
                at = counted.setdefault(crowd.kind(pod), {})
                at[index] = at.get(index, 0) + 1
    return crowd


def selects(selector: Requirements | None, own: Mapping[str, str]) -> bool:
    """Whether a selector means an object with the labels `own`; None means nothing."""
    if selector is None:
        return False
    known = {labels.ALIASES.get(key, key): value for key, value in own.items()}
    return all(
        r.has(known[r.key]) if r.key in known else r.absent for r in selector.by_key.values()
    )
