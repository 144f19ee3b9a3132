"""Do pods get the company that they require, and no company that somebody refuses?

Affinity must be reachable: starting with the pods that are bound or need nobody, pods are let in one after the other
as soon as all that they require is there, as kube-scheduler would bind them. The first of a group that asks for
itself may go anywhere, as long as no pod that the group asks for is anywhere.

Anti-affinity is looked at from both sides: pods that come must not be refused by those that are there, nor refuse
them, nor each other.

Source: kube-scheduler, interpodaffinity: for affinity only pods count that match all terms together; for
anti-affinity each term stands alone, and a node without the label refuses nobody. Pods that are on their way out
still refuse and are refused, but are no company to rely on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm
from daiku.scheduling.audit import crowd
from daiku.scheduling.audit.crowd import Crowd, Kind
from daiku.scheduling.audit.ground import Ground, Place
from daiku.scheduling.audit.violation import Violation

Terms = tuple[AffinityTerm, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class _Reach:
    """Where pods are that match all terms of a group."""

    terms: Terms
    domains: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    """Topology key and value of which it is sure that one is there."""
    places: dict[int, bool] = field(default_factory=dict[int, bool])
    """Index of every place with one."""
    is_anywhere: bool = False
    """One is on some node that has one of the labels."""

    def add(self, place: Place) -> None:
        """Such a pod is at `place`."""
        self.places[place.index] = True
        for term in self.terms:
            domains = place.domains(term.key)
            self.is_anywhere |= bool(domains)
            if len(domains) == 1:
                self.domains[term.key, domains[0]] = True

    def covers(self, place: Place) -> bool:
        """Whether all terms are met at `place`, in whichever domain it ends up."""
        return all(
            bool(domains)
            and (place.index in self.places or all((term.key, d) in self.domains for d in domains))
            for term in self.terms
            for domains in (place.domains(term.key),)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Arrival:
    """Equal pods that come to one place and require company."""

    place: Place
    kind: Kind
    pod: Pod
    """One of them."""
    reach: _Reach
    """Of what they require."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Company:
    """Who requires whom."""

    arrivals: list[_Arrival]
    sought: dict[Kind, list[_Reach]]
    """Pods of a kind -> the groups that are looking for them."""

    def let_in(self, kind: Kind, place: Place) -> None:
        """A pod of `kind` is at `place`."""
        for reach in self.sought.get(kind, ()):
            if place.index not in reach.places:
                reach.add(place)

    def step(self, waiting: list[_Arrival]) -> list[_Arrival]:
        """Let in whoever finds company; those who do not are given back."""
        left: list[_Arrival] = []
        for arrival in waiting:
            if arrival.reach.covers(arrival.place):
                self.let_in(arrival.kind, arrival.place)
            else:
                left.append(arrival)
        return left

    def may_be_first(self, arrival: _Arrival) -> bool:
        """Whether it asks for its own kind, and nobody of whom it asks is anywhere."""
        return (
            not arrival.reach.is_anywhere
            and arrival.reach in self.sought.get(arrival.kind, ())
            and all(arrival.place.domains(term.key) for term in arrival.reach.terms)
        )


def check(ground: Ground) -> Iterator[Violation]:
    """Pods without the company that they require, or with company that is refused."""
    refusing = _refusing(ground)
    requiring = [pod for _, pod in ground.coming if pod.pod_affinity]
    if not refusing and not requiring:
        return
    required = dict.fromkeys(t for pod in requiring for t in pod.pod_affinity)
    everyone = crowd.gather(ground, (t.selector for t in (*refusing, *required)))
    if requiring:
        yield from _required(ground, everyone)
    for term, owners in refusing.items():
        yield from _refused(term, owners, ground, everyone)


def _required(ground: Ground, everyone: Crowd) -> Iterator[Violation]:
    company = _company(ground, everyone)
    for kind, at in everyone.there.items():
        for index in at:
            company.let_in(kind, ground.places[index])
    for place, pod in ground.coming:
        if not pod.pod_affinity and pod.meta.deleted is None:
            company.let_in(everyone.kind(pod), place)
    waiting = company.arrivals
    while waiting:
        left = company.step(waiting)
        if len(left) == len(waiting):
            first = next((a for a in left if company.may_be_first(a)), None)
            if first is None:
                break
            company.let_in(first.kind, first.place)
            left.remove(first)
        waiting = left
    for arrival in waiting:
        place, pod = arrival.place, arrival.pod
        keys = " and ".join(dict.fromkeys(t.key for t in arrival.reach.terms))
        yield Violation(
            command=place.command,
            rule="PodAffinity",
            node=place.name,
            pod=pod.meta.key,
            found=0,
            message=f"pod {pod.meta.key} on {place.name}: no pod that it requires is sure to be in its {keys}",
        )


def _company(ground: Ground, everyone: Crowd) -> _Company:
    """The pods that come and require company, those of one kind and place once."""
    reaches: dict[Terms, _Reach] = {}
    arrivals: list[_Arrival] = []
    for place in ground.places:
        seen: dict[tuple[Kind, Terms], bool] = {}
        for pod in place.coming:
            terms = pod.pod_affinity
            if terms and (kind := everyone.kind(pod), terms) not in seen:
                seen[kind, terms] = True
                reach = reaches.setdefault(terms, _Reach(terms=terms))
                arrivals.append(_Arrival(place=place, kind=kind, pod=pod, reach=reach))
    sought = {
        kind: [r for r in reaches.values() if all(everyone.is_meant(t, kind) for t in r.terms)]
        for kind in {**everyone.there, **everyone.coming}
    }
    return _Company(arrivals=arrivals, sought=sought)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Owner:
    """A pod that refuses company; it stands for all at its place that refuse the same."""

    index: int
    """Of its place."""
    pod: Pod
    comes: bool
    """By the plan."""


def _refusing(ground: Ground) -> dict[AffinityTerm, list[_Owner]]:
    """Who refuses what."""
    found: dict[Terms, list[_Owner]] = {}
    for index, place in enumerate(ground.places):
        for pods, comes in ((place.there, False), (place.coming, True)):
            seen: dict[Terms, bool] = {}
            for pod in pods:
                terms = pod.pod_anti_affinity
                if terms and terms not in seen:
                    seen[terms] = True
                    found.setdefault(terms, []).append(_Owner(index=index, pod=pod, comes=comes))
    by_term: dict[AffinityTerm, list[_Owner]] = {}
    for terms, owners in found.items():
        for term in terms:
            by_term.setdefault(term, []).extend(owners)
    return by_term


def _refused(
    term: AffinityTerm, owners: list[_Owner], ground: Ground, everyone: Crowd
) -> Iterator[Violation]:
    """Pods in a domain of `term` with an owner of it, where one of the two comes by the plan."""
    there = _by_domain(term, ground, everyone, everyone.there, everyone.ending)
    coming = _by_domain(term, ground, everyone, everyone.coming)
    for owner in owners:
        own = 1 if everyone.is_meant(term, everyone.kind(owner.pod)) else 0
        for domain in ground.places[owner.index].domains(term.key):
            found = sum(coming.get(domain, {}).values())
            if owner.comes:
                found += sum(there.get(domain, {}).values()) - own
            if found > 0:
                culprit = owner.index if owner.comes else min(coming[domain])
                yield _refusal(term, owner, ground.places[culprit], domain, found)
                break


def _by_domain(
    term: AffinityTerm, ground: Ground, everyone: Crowd, *crowds: dict[Kind, dict[int, int]]
) -> dict[str, dict[int, int]]:
    """Pods that `term` means, by every domain that they may end up in, and by place."""
    found: dict[str, dict[int, int]] = {}
    for kind, at in (item for pods in crowds for item in pods.items()):
        if everyone.is_meant(term, kind):
            for index, number in at.items():
                for domain in ground.places[index].domains(term.key):
                    by_place = found.setdefault(domain, {})
                    by_place[index] = by_place.get(index, 0) + number
    return found


def _refusal(
    term: AffinityTerm, owner: _Owner, culprit: Place, domain: str, found: int
) -> Violation:
    return Violation(
        command=culprit.command,
        rule="PodAntiAffinity",
        node=culprit.name,
        pod=owner.pod.meta.key,
        found=found,
        allowed=0,
        message=f"pod {owner.pod.meta.key} refuses {found} other pods in its {term.key} {domain}, "
        f"with what comes to {culprit.name}",
    )
