"""Does every hard topology spread constraint hold once all pods are where the plan puts them?

For each domain to which the plan adds a pod with the constraint: the pods there that the constraint counts are at most
`maxSkew` more than in the emptiest domain. That is stricter than kube-scheduler, which takes pods one by one and does
not mind what comes after; a plan that passes can be carried out in an order that kube-scheduler agrees with.

Source: kube-scheduler, podtopologyspread: nodes without one of the pod's keys count for none of its constraints, and a
selector that selects everything counts nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from daiku.model import taints
from daiku.model.pod import Pod
from daiku.model.topology import Spread
from daiku.scheduling.audit import crowd, suitability
from daiku.scheduling.audit.crowd import Crowd
from daiku.scheduling.audit.ground import Ground, Place
from daiku.scheduling.audit.violation import Violation


@dataclass(slots=True, kw_only=True, eq=False)
class _Group:
    """Pods for which every constraint counts alike."""

    pod: Pod
    """One of them."""
    at: dict[int, Pod] = field(default_factory=dict[int, Pod])
    """Index of a place -> one that comes there."""


def check(ground: Ground) -> Iterator[Violation]:
    """Constraints that do not hold."""
    groups: dict[tuple[object, ...], _Group] = {}
    for place, pod in ground.coming:
        if _hard(pod):
            group = groups.setdefault(_key(pod), _Group(pod=pod))
            group.at.setdefault(place.index, pod)
    if not groups:
        return
    everyone = crowd.gather(ground, (c.selector for g in groups.values() for c in _hard(g.pod)))
    for group in groups.values():
        yield from _check_group(group, ground, everyone)


def _hard(pod: Pod) -> tuple[Spread, ...]:
    return tuple(c for c in pod.spread if c.hard)


def _key(pod: Pod) -> tuple[object, ...]:
    asked = tuple(pod.node_selector.items()), pod.required_node_affinity
    return pod.meta.namespace, pod.spread, asked, pod.tolerations


def _check_group(group: _Group, ground: Ground, everyone: Crowd) -> Iterator[Violation]:
    constraints = _hard(group.pod)
    keyed = {
        place.index: place
        for place in ground.places
        if all(place.domains(c.key) for c in constraints)
    }
    admitted: dict[int, bool] = {}
    asked = suitability.alternatives(group.pod)
    if any(c.honors_affinity for c in constraints) and any(asked):
        admitted = {index: place.may_suit(asked) for index, place in keyed.items()}
    for constraint in constraints:
        eligible = {
            index: place
            for index, place in keyed.items()
            if (not constraint.honors_affinity or admitted.get(index, True))
            and (
                not constraint.honors_taints
                or taints.untolerated(place.taints, group.pod.tolerations) is None
            )
        }
        yield from _check_constraint(group, constraint, ground, eligible, everyone)


def _check_constraint(
    group: _Group,
    constraint: Spread,
    ground: Ground,
    eligible: Mapping[int, Place],
    everyone: Crowd,
) -> Iterator[Violation]:
    key = constraint.key
    counted = _count(group.pod, constraint, eligible, everyone)
    lasting = [p.domains(key) for p in eligible.values() if not p.is_leaving]
    sure = dict.fromkeys(domains[0] for domains in lasting if len(domains) == 1)
    possible = dict.fromkeys(domain for domains in lasting for domain in domains)
    least = min((counted.get(domain, 0) for domain in possible), default=0)
    if len(sure) < constraint.min_domains:
        least = 0
    told: dict[str, bool] = {}
    for index, pod in group.at.items():
        place = ground.places[index]
        domains = place.domains(key)
        if len(domains) != 1:
            choice = f"may have {len(domains)} values" if domains else "is missing"
            message = f"its label {key} {choice}, by which the pod is to be spread"
            yield _violation(place, pod, message, found=len(domains), allowed=1)
        elif counted.get(domains[0], 0) - least > constraint.max_skew and domains[0] not in told:
            told[domains[0]] = True
            count = counted[domains[0]]
            message = (
                f"{key}={domains[0]} would have {count} of its pods and the emptiest of {len(possible)} "
                f"domains {least}; maxSkew is {constraint.max_skew}"
            )
            yield _violation(place, pod, message, found=count - least, allowed=constraint.max_skew)


def _count(
    pod: Pod, constraint: Spread, eligible: Mapping[int, Place], everyone: Crowd
) -> dict[str, int]:
    """Pods that the constraint of `pod` counts, by the domain that they are sure to be in."""
    counted: dict[str, int] = {}
    if not constraint.selector:
        return counted
    for pods in (everyone.there, everyone.coming):
        for kind, at in pods.items():
            if kind[0] != pod.meta.namespace or not crowd.selects(
                constraint.selector, dict(kind[1])
            ):
                continue
            for index, number in at.items():
                domains = eligible[index].domains(constraint.key) if index in eligible else ()
                if len(domains) == 1:
                    counted[domains[0]] = counted.get(domains[0], 0) + number
    return counted


def _violation(place: Place, pod: Pod, message: str, *, found: int, allowed: int) -> Violation:
    return Violation(
        command=place.command,
        rule="TopologySpread",
        node=place.name,
        pod=pod.meta.key,
        found=found,
        allowed=allowed,
        message=f"pod {pod.meta.key} on {place.name}: {message}",
    )
