"""Pods that no rule can tell apart, counted once.

Thousands of pods come from a few dozen templates. Everything that follows is decided per class, not per pod; which of
its pods lands where does not matter.

A pod's labels tell classes apart only as far as some constraint between pods looks at them: names of single pods are
often among the labels. Every field of `Pod` is either part of the class or named in `IGNORED`; a test holds the two
together.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby
from operator import attrgetter
from typing import Final, TypeVar, cast

from daiku import reasons
from daiku.model import resources
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import Toleration
from daiku.model.topology import AffinityTerm, HostPort, Spread
from daiku.reason import Reason
from daiku.scheduling import attachments, preferences
from daiku.scheduling.attachments import Ask
from daiku.scheduling.preferences import Policy

IGNORED: Final[Mapping[str, str]] = {
    "node_name": "only pods without a node are classed",
    "nominated_node_name": "a hint for kube-scheduler; a pod for which it makes room is not provisionable",
    "phase": "provisionable pods are pending",
    "unschedulable": "true of every provisionable pod",
    "gated": "false of every provisionable pod",
    "ready": "false of every provisionable pod",
    "ready_since": "none of any provisionable pod",
    "scheduled": "None for every provisionable pod",
    "priority": "every pod that fits somewhere is placed, whatever its rank",
    "priority_class": "as priority",
    "scheduler_name": "any scheduler is free to bind to the nodes that are made",
    "termination_grace_seconds": "matters when a node is drained",
}
"""Fields of a pod on which no scheduling decision depends -> why not."""

_SHARED: Final[Callable[[Pod], tuple[object, ...]]] = attrgetter(
    *(
        f.name
        for f in fields(Pod)
        if f.name not in IGNORED and f.name not in {"meta", "requests", "node_selector"}
    )
)
"""Values that pods of one template share when they have been decoded by one process."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClass:
    """What a set of equal pods asks for."""

    requests: tuple[tuple[str, int], ...]
    """Resource and amount, in the order of names."""
    alternatives: tuple[Requirements, ...]
    """Node selector together with each term of the required node affinity; any one will do. Empty: they contradict
    each other, so no node can do."""
    tolerations: tuple[Toleration, ...]
    blocked: tuple[Reason, str, str] | None = None
    """Why no node whatever can do: reason, what is asked, and what was found."""
    admitting: tuple[Requirements, ...] = ()
    """As `alternatives`, without what its volumes ask: by these it is told which nodes count for its spread."""
    namespace: str = ""
    """Empty when no constraint between pods is about."""
    labels: tuple[tuple[str, str], ...] = ()
    """Those that some constraint between pods looks at, in the order of keys."""
    spread: tuple[Spread, ...] = ()
    """Each has to hold, whether it was a wish or not."""
    near: tuple[tuple[AffinityTerm, ...], ...] = ()
    """For each group, a pod that matches all its terms must be in the domain of every term."""
    apart: tuple[AffinityTerm, ...] = ()
    """For each, no matching pod may be in the domain, whoever comes first."""
    shuns: tuple[AffinityTerm, ...] = ()
    """As `apart`, but pods that come later may join: a preference that has not been given up."""
    host_ports: tuple[HostPort, ...] = ()
    minds_preferences: bool = False
    """Whether taints of effect PreferNoSchedule keep it away."""

    def amount(self, resource: str) -> int:
        """How much of `resource` each of its pods asks for."""
        return dict(self.requests).get(resource, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A class and its pods."""

    pod_class: PodClass
    pods: tuple[str, ...]
    """namespace/name of each, in order."""
    relaxed: tuple[PodClass, ...] = ()
    """What they ask for instead if there is no place for them, one preference less each."""


def seen_labels(pods: Iterable[Pod], bound: Iterable[Pod] = ()) -> frozenset[str] | None:
    """Label keys that some constraint between pods looks at; None when there is no such constraint.

    Args:
        pods: Pods to be placed.
        bound: Pods that run; of theirs only anti-affinity still matters.
    """
    terms: dict[int, AffinityTerm | Spread] = {}
    for pod in pods:
        if pod.spread or pod.pod_affinity or pod.pod_anti_affinity:
            for term in (*pod.spread, *pod.pod_affinity, *pod.pod_anti_affinity):
                terms[id(term)] = term
        if pod.preferred_pod_affinity or pod.preferred_pod_anti_affinity:
            for wish in (*pod.preferred_pod_affinity, *pod.preferred_pod_anti_affinity):
                if wish.pods is not None:
                    terms[id(wish.pods)] = wish.pods
    for pod in bound:
        for term in pod.pod_anti_affinity:
            terms[id(term)] = term
    if not terms:
        return None
    return frozenset(r.key for t in terms.values() for r in t.selector or ())


def count(
    pods: Iterable[Pod],
    seen: frozenset[str] | None = None,
    policy: Policy = "Respect",
    *,
    taints_preferred: bool = False,
    asks: Mapping[str, Ask] | None = None,
) -> tuple[Counted, ...]:
    """The classes that `pods` fall into: the largest cpu request first, then memory, then by what they ask.

    Args:
        pods: Pods to be placed.
        seen: What `seen_labels` says.
        policy: Whether preferences count.
        taints_preferred: Whether any node or NodePool has a taint of effect PreferNoSchedule.
        asks: What their volumes ask, by namespace/name, for those that have any.
    """
    keys = _Keys(seen, asks or {})
    found: dict[tuple[object, ...], tuple[Pod, list[str]]] = {}
    for pod in pods:
        found.setdefault(keys.quick(pod), (pod, []))[1].append(pod.meta.key)
    merged: dict[tuple[object, ...], tuple[Pod, list[str]]] = {}
    for representative, names in found.values():
        key = keys.in_order(representative)
        merged.setdefault(key, (representative, []))[1].extend(names)
    maker = _Maker(seen, policy, taints_preferred=taints_preferred, asks=asks or {})
    counted: list[Counted] = []
    for representative, names in merged.values():
        first, *rest = maker.rungs(representative)
        counted.append(Counted(pod_class=first, pods=tuple(sorted(names)), relaxed=tuple(rest)))
    counted.sort(key=_size)
    descriptions = _Descriptions()
    # Most classes differ in size, and a description is only made where they do not.
    ordered = (list(equal) for _, equal in groupby(counted, key=_size))
    return tuple(
        each
        for equal in ordered
        for each in (sorted(equal, key=descriptions.rank) if len(equal) > 1 else equal)
    )


def _size(counted: Counted) -> tuple[int, int]:
    amounts = dict(counted.pod_class.requests)
    return -amounts.get(resources.CPU, 0), -amounts.get(resources.MEMORY, 0)


def class_of(pod: Pod) -> PodClass:
    """The class of one pod on its own, with nobody looking at its labels and no preferences."""
    return _Maker(None, "Ignore", taints_preferred=False, asks={}).rungs(pod)[0]


def of_daemon(template: Pod) -> PodClass:
    """The class of a DaemonSet's pods: on every node that their labels and taints let them on.

    kube-scheduler, not Daiku, finds the devices of their ResourceClaims. Where there are such devices the pods take
    their room, and before others do; so room is kept for them.
    """
    return class_of(replace(template, resource_claims=()))


class _Keys:
    """Keys that are equal for pods that are plainly of one class; cheaper to make than the class itself.

    Pods of one template mostly share the very same parsed values, so those are told apart by identity first.
    """

    def __init__(self, seen: frozenset[str] | None, asks: Mapping[str, Ask]) -> None:
        self._seen = seen
        self._looked_at = sorted(seen or ())
        self._asks = asks
        self._number_of: dict[object, int] = {}
        self._known: dict[int, tuple[int, object]] = {}

    def quick(self, pod: Pod) -> tuple[object, ...]:
        """Tells apart all that may differ, and some that do not: `in_order` brings those together again."""
        return (
            *pod.requests.items(),
            *pod.node_selector.items(),
            *map(id, _SHARED(pod)),
            pod.meta.namespace,
            *map(pod.meta.labels.get, self._looked_at),
        )

    def _of(self, pod: Pod) -> tuple[object, ...]:
        number = self._number
        labels = pod.meta.labels
        return (
            tuple(pod.requests.items()),
            tuple(pod.node_selector.items()) if pod.node_selector else None,
            number(pod.required_node_affinity),
            number(pod.tolerations),
            number(pod.spread),
            number(pod.pod_affinity),
            number(pod.pod_anti_affinity),
            number(pod.preferred_node_affinity),
            number(pod.preferred_pod_affinity),
            number(pod.preferred_pod_anti_affinity),
            number(pod.host_ports),
            pod.resource_claims,
            self._asks.get(pod.meta.key) if pod.volume_claims else None,
            None
            if self._seen is None
            else (
                pod.meta.namespace,
                *(item for item in labels.items() if item[0] in self._seen),
            ),
        )

    def in_order(self, pod: Pod) -> tuple[object, ...]:
        """The same for a pod whose labels, amounts or tolerations come in another order."""
        requests, selector, affinity, _, *rest, labels = self._of(pod)
        tolerations = tuple(sorted(pod.tolerations))
        return (
            frozenset(pod.requests.items()) if requests else None,
            frozenset(pod.node_selector.items()) if selector else None,
            affinity,
            self._number_of.setdefault(tolerations, len(self._number_of)) if tolerations else -1,
            *rest,
            frozenset(cast("tuple[object, ...]", labels)) if isinstance(labels, tuple) else None,
            pod.meta.namespace if labels else None,
        )

    def _number(self, value: tuple[object, ...]) -> int:
        if not value:
            return -1
        known = self._known.get(id(value))
        if known is None:
            # The value is kept, so that its id stays its own.
            known = self._number_of.setdefault(value, len(self._number_of)), value
            self._known[id(value)] = known
        return known[0]


class _Maker:
    """Makes classes; node selectors and affinities recur, so what was made of them is kept."""

    def __init__(
        self,
        seen: frozenset[str] | None,
        policy: Policy,
        *,
        taints_preferred: bool,
        asks: Mapping[str, Ask],
    ) -> None:
        self._seen = seen
        self._asks = asks
        self._policy: Policy = policy
        self._taints_preferred = taints_preferred
        self._alternatives: dict[object, tuple[Requirements, ...]] = {}

    def rungs(self, pod: Pod) -> tuple[PodClass, ...]:
        """What a pod asks for, then what is left of it after each preference it gives up."""
        wishes = preferences.rungs(pod, self._policy, taints_preferred=self._taints_preferred)
        return tuple(self._class(pod, wish) for wish in wishes)

    def _class(self, pod: Pod, wish: preferences.Wishes) -> PodClass:
        seen = self._seen
        required = (tuple(pod.pod_affinity),) if pod.pod_affinity else ()
        volumes = self._asks.get(pod.meta.key, attachments.NOTHING)
        admitting = self._alternatives_of(pod, wish.node)
        blocked = _blocked(pod, volumes)
        reachable = self._reachable(admitting, volumes.alternatives)
        return PodClass(
            requests=tuple(sorted((*pod.requests.items(), *volumes.attached))),
            alternatives=() if blocked else reachable,
            tolerations=tuple(sorted(pod.tolerations)),
            blocked=blocked,
            admitting=admitting,
            namespace="" if seen is None else pod.meta.namespace,
            labels=()
            if seen is None
            else tuple(sorted(item for item in pod.meta.labels.items() if item[0] in seen)),
            spread=wish.spread,
            near=(*required, *((term,) for term in wish.near)),
            apart=pod.pod_anti_affinity,
            shuns=wish.shuns,
            host_ports=pod.host_ports,
            minds_preferences=wish.minds_preferred_taints,
        )

    def _reachable(
        self, admitting: tuple[Requirements, ...], volumes: tuple[Requirements, ...]
    ) -> tuple[Requirements, ...]:
        """Both together; each combination is made once."""
        if volumes == (NO_REQUIREMENTS,):
            return admitting
        key = admitting, volumes
        if key not in self._alternatives:
            made = dict.fromkeys(one & other for one in admitting for other in volumes)
            self._alternatives[key] = tuple(a for a in made if not a.is_empty)
        return self._alternatives[key]

    def _alternatives_of(self, pod: Pod, wish: Requirements | None) -> tuple[Requirements, ...]:
        key = (tuple(sorted(pod.node_selector.items())), pod.required_node_affinity, wish)
        if key not in self._alternatives:
            asked = Requirements.from_labels(pod.node_selector) if key[0] else NO_REQUIREMENTS
            if wish is not None:
                asked &= wish
            terms = pod.required_node_affinity or (NO_REQUIREMENTS,)
            made = dict.fromkeys(asked & term for term in terms)
            self._alternatives[key] = tuple(a for a in made if not a.is_empty)
        return self._alternatives[key]


def _blocked(pod: Pod, volumes: Ask) -> tuple[Reason, str, str] | None:
    if pod.resource_claims:
        asked = f"devices of {_listed('ResourceClaim', pod.resource_claims)}"
        return reasons.RESOURCE_CLAIMS_NOT_SUPPORTED, asked, "Daiku does not allocate devices"
    if volumes.problem:
        asked = f"the volumes of {_listed('claim', pod.volume_claims)}"
        return reasons.VOLUME_NOT_READY, asked, volumes.problem
    return None


def _listed(kind: str, names: tuple[str, ...]) -> str:
    return f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names)}"


class _Descriptions:
    """Classes in words that order them, the same whatever order their parts came in."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, object]] = {}

    def rank(self, counted: Counted) -> tuple[str, str, str]:
        asked = counted.pod_class
        tolerations = self._of(asked.tolerations, str)
        alternatives = self._of(asked.alternatives, lambda a: str([str(each) for each in a]))
        return (
            f"{asked.requests} {alternatives} {tolerations} {asked.blocked or ''}",
            self._between(asked),
            counted.pods[0],
        )

    def _between(self, asked: PodClass) -> str:
        parts = (
            self._of(asked.spread, lambda v: str([_spread(each) for each in v])),
            self._of(asked.near, lambda v: str([[_term(t) for t in group] for group in v])),
            self._of(asked.apart, lambda v: str([_term(each) for each in v])),
            self._of(asked.shuns, lambda v: str([_term(each) for each in v])),
        )
        return (
            f"{asked.namespace} {asked.labels} {parts} {asked.host_ports} {asked.minds_preferences}"
        )

    def _of(self, value: tuple[_T, ...], describe: Callable[[tuple[_T, ...]], str]) -> str:
        if not value:
            return ""
        known = self._known.get(id(value))
        if known is None:
            # The value is kept, so that its id stays its own.
            known = self._known[id(value)] = describe(value), value
        return known[0]


def _spread(spread: Spread) -> str:
    return (
        f"{spread.key} {spread.max_skew} {spread.selector} {spread.min_domains} "
        f"{spread.honors_affinity} {spread.honors_taints}"
    )


def _term(term: AffinityTerm) -> str:
    return f"{term.key} {term.selector} {term.namespaces} {term.namespace_selector}"
