"""Every constraint between pods as a count per domain that must be zero, not zero, or not too high.

The idea: a *counter* counts pods of one sort in each domain of one key: pods that a spread constraint selects, pods
that match all terms of an affinity, pods that own an anti-affinity term, pods that hold a port. Then placing a pod asks
only three things: some counters must be 0 in the domain (anti-affinity in both directions, ports), some must not be 0
(affinity), some must stay within `max_skew` of the emptiest domain (spread); and it adds 1 to the counters of the sorts
it belongs to.

A *subject* is a namespace and labels, as far as selectors look at them; whether it is of a sort is asked once.

Source: kube-scheduler, podtopologyspread and interpodaffinity filtering.go, nodeports.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Toleration
from daiku.model.topology import AffinityTerm, HostPort, Spread
from daiku.scheduling.classes import PodClass

Subject = tuple[str, tuple[tuple[str, str], ...]]
"""Namespace and the labels that selectors look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which nodes count for a spread constraint."""

    alternatives: tuple[Requirements, ...] | None
    """Labels that a node must have, any of these; None when all nodes count."""
    tolerations: tuple[Toleration, ...] | None
    """What the pod puts up with; None when taints do not matter."""
    keys: tuple[str, ...]
    """Labels that a node must have, whatever their value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A sort of pods, counted per domain of `key`."""

    key: str
    sort: Literal["selected", "near", "matching", "owner", "port", "spreader"]
    what: Spread | tuple[AffinityTerm, ...] | AffinityTerm | HostPort
    filter: Filter | None = None
    namespace: str = ""
    """Of the owner; only where `what` does not name namespaces itself."""

    @property
    def counts_leaving(self) -> bool:
        """Whether pods that are being deleted count: they still keep others away, and attract no one."""
        return self.sort in {"matching", "owner", "port"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRule:
    """A spread constraint of a class."""

    counter: int
    spread: Spread
    counts_itself: bool
    spreaders: int = -1
    """On nodes, the counter of pods with this constraint; -1 elsewhere, and for a wish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearRule:
    """An affinity of a class: every counter must be above 0."""

    counters: tuple[int, ...]
    may_start: bool
    """Whether it matches itself, so that the first pod may go anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one class minds and changes, by index of counters."""

    spread: tuple[SpreadRule, ...] = ()
    near: tuple[NearRule, ...] = ()
    apart: tuple[int, ...] = ()
    adds: tuple[int, ...] = ()

    @property
    def is_free(self) -> bool:
        """No constraint concerns it."""
        return not (self.spread or self.near or self.apart or self.adds)


@dataclass(slots=True, eq=False)
class Compiler:
    """Finds the counters of a problem and the rules of its classes."""

    namespaces: Mapping[str, Mapping[str, str]]
    """Labels of namespaces."""
    counters: dict[Counter, int] = field(default_factory=dict[Counter, int])
    _terms: dict[tuple[int, Subject], bool] = field(default_factory=dict[tuple[int, Subject], bool])
    _kept: dict[int, AffinityTerm] = field(default_factory=dict[int, AffinityTerm])
    _adds: dict[Subject, tuple[int, ...]] = field(default_factory=dict[Subject, tuple[int, ...]])
    _inverse: dict[Subject, tuple[int, ...]] = field(default_factory=dict[Subject, tuple[int, ...]])
    _about: dict[str, list[tuple[Counter, int]]] = field(
        default_factory=dict[str, list[tuple[Counter, int]]]
    )
    """Namespace -> counters that may select pods there by their labels."""
    _taken: dict[tuple[HostPort, ...], tuple[int, ...]] = field(
        default_factory=dict[tuple[HostPort, ...], tuple[int, ...]]
    )

    def compile(self, asked: Sequence[PodClass], owned: Iterable[AffinityTerm]) -> list[Rules]:
        """The rules of each class.

        Args:
            asked: All classes of the problem.
            owned: Anti-affinity terms of pods that run.
        """
        for term in owned:
            self._index(Counter(key=term.key, sort="owner", what=term))
        for pod_class in asked:
            for term in pod_class.apart:
                self._index(Counter(key=term.key, sort="owner", what=term))
        # Many classes differ in nothing but what they ask of a node.
        alike: dict[object, PodClass] = {}
        keys = [_constraints_of(pod_class) for pod_class in asked]
        for key, pod_class in zip(keys, asked, strict=True):
            alike.setdefault(key, pod_class)
        own = {key: self._own(pod_class) for key, pod_class in alike.items()}
        rules = {key: self._rules(alike[key], own[key]) for key in alike}
        return [rules[key] for key in keys]

    def adds(self, subject: Subject) -> tuple[int, ...]:
        """Counters of the sorts that pods of `subject` belong to by their labels."""
        known = self._adds.get(subject)
        if known is None:
            known = self._adds[subject] = tuple(
                index
                for counter, index in self._counters_about(subject[0])
                if self._is_of(counter, subject)
            )
        return known

    def adds_of_pod(self, pod: Pod, subject: Subject) -> tuple[int, ...]:
        """Counters of the sorts that a running pod belongs to."""
        found = self.adds(subject)
        if pod.pod_anti_affinity:
            owners = (Counter(key=t.key, sort="owner", what=t) for t in pod.pod_anti_affinity)
            found += tuple(self.counters[c] for c in dict.fromkeys(owners) if c in self.counters)
        return found + self._ports(pod.host_ports) if pod.host_ports else found

    def _own(self, pod_class: PodClass) -> Rules:
        subject = pod_class.namespace, pod_class.labels
        spread: list[SpreadRule] = []
        if pod_class.spread:
            keys = tuple(sorted({s.key for s in pod_class.spread}))
            spread = [self._spread(pod_class, s, keys) for s in pod_class.spread]
        near = tuple(
            NearRule(
                counters=tuple(
                    self._index(Counter(key=key, sort="near", what=group))
                    for key in dict.fromkeys(t.key for t in group)
                ),
                may_start=all(self._matches(t, subject) for t in group),
            )
            for group in pod_class.near
        )
        apart = [
            self._index(Counter(key=t.key, sort="matching", what=t))
            for t in (*pod_class.apart, *pod_class.shuns)
        ]
        apart += [
            self._index(Counter(key=labels.HOSTNAME, sort="port", what=port))
            for port in pod_class.host_ports
        ]
        return Rules(spread=tuple(spread), near=near, apart=tuple(apart))

    def _spread(self, pod_class: PodClass, spread: Spread, keys: tuple[str, ...]) -> SpreadRule:
        on_nodes = spread.key == labels.HOSTNAME
        kept = Filter(
            alternatives=pod_class.admitting
            if spread.honors_affinity and any(len(a) for a in pod_class.admitting)
            else None,
            tolerations=pod_class.tolerations if spread.honors_taints else None,
            keys=keys,
        )
        selected = Spread(key=spread.key, max_skew=1, hard=True, selector=spread.selector)
        counter = Counter(
            key=spread.key,
            sort="selected",
            what=selected,
            filter=None if on_nodes else kept,
            namespace=pod_class.namespace,
        )
        spreaders = -1
        # A wish guards nothing: pods that have given up the same one may join.
        if on_nodes and spread.hard:
            bounded = Spread(
                key=spread.key, max_skew=spread.max_skew, hard=True, selector=spread.selector
            )
            spreaders = self._index(
                Counter(
                    key=spread.key, sort="spreader", what=bounded, namespace=pod_class.namespace
                )
            )
        return SpreadRule(
            counter=self._index(counter),
            spread=spread,
            counts_itself=self._is_of(counter, (pod_class.namespace, pod_class.labels)),
            spreaders=spreaders,
        )

    def _rules(self, pod_class: PodClass, own: Rules) -> Rules:
        subject = pod_class.namespace, pod_class.labels
        adds = dict.fromkeys(self.adds(subject))
        for term in pod_class.apart:
            adds[self.counters[Counter(key=term.key, sort="owner", what=term)]] = None
        adds |= dict.fromkeys(r.spreaders for r in own.spread if r.spreaders >= 0)
        adds |= dict.fromkeys(self._ports(pod_class.host_ports))
        apart = dict.fromkeys((*own.apart, *self._keeping_away(subject)))
        return Rules(
            spread=own.spread, near=own.near, apart=tuple(sorted(apart)), adds=tuple(sorted(adds))
        )

    def _keeping_away(self, subject: Subject) -> tuple[int, ...]:
        """Counters of pods that do not want `subject` near them."""
        known = self._inverse.get(subject)
        if known is None:
            known = self._inverse[subject] = tuple(
                index
                for counter, index in self._counters_about(subject[0])
                if counter.sort == "owner"
                and isinstance(counter.what, AffinityTerm)
                and self._matches(counter.what, subject)
            )
        return known

    def _ports(self, ports: tuple[HostPort, ...]) -> tuple[int, ...]:
        """Counters of ports that are taken once `ports` are."""
        known = self._taken.get(ports)
        if known is None:
            known = self._taken[ports] = tuple(
                index
                for counter, index in self.counters.items()
                if isinstance(counter.what, HostPort)
                and any(conflict(counter.what, p) for p in ports)
            )
        return known

    def _counters_about(self, namespace: str) -> list[tuple[Counter, int]]:
        """Counters whose namespaces include `namespace`; asked only once all counters are known."""
        known = self._about.get(namespace)
        if known is None:
            known = self._about[namespace] = [
                (counter, index)
                for counter, index in self.counters.items()
                if self._includes(counter, namespace)
            ]
        return known

    def _includes(self, counter: Counter, namespace: str) -> bool:
        what = counter.what
        if isinstance(what, Spread):
            return counter.namespace == namespace
        if isinstance(what, HostPort):
            return False
        terms = what if isinstance(what, tuple) else (what,)
        return all(self._covers(term, namespace) for term in terms)

    def _index(self, counter: Counter) -> int:
        return self.counters.setdefault(counter, len(self.counters))

    def _is_of(self, counter: Counter, subject: Subject) -> bool:
        what = counter.what
        if counter.sort == "selected" and isinstance(what, Spread):
            return subject[0] == counter.namespace and _selects(what.selector, subject)
        if counter.sort == "matching" and isinstance(what, AffinityTerm):
            return self._matches(what, subject)
        if counter.sort == "near" and isinstance(what, tuple):
            return all(self._matches(term, subject) for term in what)
        return False

    def _matches(self, term: AffinityTerm, subject: Subject) -> bool:
        key = id(term), subject
        known = self._terms.get(key)
        if known is None:
            # The term is kept, so that its id stays its own.
            self._kept[id(term)] = term
            known = self._terms[key] = self._covers(term, subject[0]) and _selects(
                term.selector, subject
            )
        return known

    def _covers(self, term: AffinityTerm, namespace: str) -> bool:
        if namespace in term.namespaces:
            return True
        if term.namespace_selector is None:
            return False
        named = {"kubernetes.io/metadata.name": namespace, **self.namespaces.get(namespace, {})}
        return not Requirements.from_labels(named).compatible(term.namespace_selector)


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether a node cannot give both ports."""
    return (
        one.port == other.port
        and one.protocol == other.protocol
        and (one.ip == other.ip or "0.0.0.0" in {one.ip, other.ip})  # noqa: S104 - compared, not bound
    )


def _constraints_of(pod_class: PodClass) -> tuple[object, ...]:
    """Equal only for classes of equal rules; by identity, which is quick, and whose values outlive the key."""
    return (
        pod_class.namespace,
        pod_class.labels,
        id(pod_class.spread),
        tuple(id(term) for group in pod_class.near for term in group),
        id(pod_class.apart),
        tuple(id(term) for term in pod_class.shuns),
        pod_class.host_ports,
        pod_class.spread and (id(pod_class.admitting), pod_class.tolerations),
    )


def _selects(selector: Requirements | None, subject: Subject) -> bool:
    if selector is None:
        return False
    return not Requirements.from_labels(dict(subject[1])).compatible(selector)
