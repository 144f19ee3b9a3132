"""Do pods get no company that somebody refuses?

Anti-affinity is looked at from both sides: pods that come must not be refused by those that are there, nor refuse
them, nor each other.

Source: kube-scheduler, interpodaffinity: each term stands alone, and a node without the label refuses nobody. Pods that
are on their way out still refuse and are refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm
from daiku.scheduling.audit import crowd
from daiku.scheduling.audit.crowd import Crowd, Kind
from daiku.scheduling.audit.ground import Ground, Place
from daiku.scheduling.audit.violation import Violation


def check(ground: Ground) -> Iterator[Violation]:
    """Pods with company that is refused."""
    refusing = _refusing(ground)
    if refusing:
        everyone = crowd.gather(ground, (t.selector for t in refusing))
        for term, owners in refusing.items():
            yield from _refused(term, owners, ground, everyone)


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
    found: dict[tuple[AffinityTerm, ...], list[_Owner]] = {}
    for index, place in enumerate(ground.places):
        for pods, comes in ((place.there, False), (place.coming, True)):
            seen: dict[tuple[AffinityTerm, ...], bool] = {}
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
