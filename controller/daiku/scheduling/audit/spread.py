"""What every hard topology spread constraint counts, and whether it lets one pod more into a domain.

A *watch* is one constraint of equal pods. It counts the pods that its selector means on the nodes that are eligible for
it, by domain, and lets a pod in when its domain then has at most `maxSkew` more than the emptiest one. It judges the
pod that comes, as kube-scheduler does: what comes later may be as uneven as it likes, unless it has the constraint too.

Source: kube-scheduler, podtopologyspread: nodes without one of the pod's keys count for none of its constraints, and a
selector that selects everything counts nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daiku.model import taints
from daiku.model.pod import Pod
from daiku.model.topology import Spread
from daiku.scheduling.audit import crowd, suitability
from daiku.scheduling.audit.crowd import Crowd, Kind
from daiku.scheduling.audit.ground import Ground, Place


@dataclass(slots=True, kw_only=True, eq=False)
class Watch:
    """One constraint of equal pods, and what it counts so far."""

    constraint: Spread
    namespace: str
    domain_of: Mapping[int, str]
    """Index of each place that counts and whose domain is sure -> that domain."""
    sure: frozenset[str]
    """Domains that are sure to be there."""
    possible: frozenset[str]
    """Those and domains that may come to be: the emptiest is among them."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Pods by domain."""
    _lowest: int = 0
    """The count of the emptiest possible domain."""
    _as_high: dict[int, int] = field(default_factory=dict[int, int])
    """How many possible domains have a count, by count: so that the lowest need not be searched."""
    _selected: dict[Kind, bool] = field(default_factory=dict[Kind, bool])

    def means(self, kind: Kind) -> bool:
        """Whether it counts pods of `kind`, where they count at all."""
        known = self._selected.get(kind)
        if known is None:
            known = self._selected[kind] = (
                bool(self.constraint.selector)
                and kind[0] == self.namespace
                and crowd.selects(self.constraint.selector, dict(kind[1]))
            )
        return known

    def note(self, kind: Kind, index: int, number: int = 1) -> None:
        """So many pods of `kind` come to the place of that index; fewer than 0 go."""
        domain = self.domain_of.get(index)
        if domain is None or not self.means(kind):
            return
        before = self.counts.get(domain, 0)
        self.counts[domain] = after = before + number
        if domain not in self.possible:
            return
        heights = self._as_high or {0: len(self.possible)}
        self._as_high = heights
        heights[before] -= 1
        heights[after] = heights.get(after, 0) + 1
        self._lowest = min(self._lowest, after)
        while not heights.get(self._lowest):
            self._lowest += 1

    @property
    def least(self) -> int:
        """The count of the emptiest domain; 0 when there are fewer than there should be."""
        return 0 if len(self.sure) < self.constraint.min_domains else self._lowest

    def skew(self, domain: str, *, more: int = 0) -> int:
        """What `domain` has over the emptiest one with so many pods more."""
        return self.counts.get(domain, 0) + more - self.least


def hard(pod: Pod) -> tuple[Spread, ...]:
    """The constraints of `pod` that a plan must keep."""
    return tuple(c for c in pod.spread if c.hard)


@dataclass(frozen=True, slots=True, eq=False)
class Watches:
    """The watches of all pods, made once for pods for which every constraint counts alike."""

    ground: Ground
    everyone: Crowd
    made: dict[object, tuple[Watch, ...]] = field(default_factory=dict[object, tuple[Watch, ...]])

    def of(self, pod: Pod) -> tuple[Watch, ...]:
        """One watch for each hard constraint of `pod`, with the pods that are bound already."""
        constraints = hard(pod)
        if not constraints:
            return ()
        asked = tuple(pod.node_selector.items()), pod.required_node_affinity
        key = pod.meta.namespace, constraints, asked, pod.tolerations
        if key not in self.made:
            self.made[key] = self._make(pod, constraints)
        return self.made[key]

    def _make(self, pod: Pod, constraints: tuple[Spread, ...]) -> tuple[Watch, ...]:
        keyed = [p for p in self.ground.places if all(p.domains(c.key) for c in constraints)]
        asked = suitability.alternatives(pod)
        admitting = keyed
        if any(c.honors_affinity for c in constraints) and any(asked):
            admitting = [place for place in keyed if place.may_suit(asked)]
        made: list[Watch] = []
        for constraint in constraints:
            eligible = admitting if constraint.honors_affinity else keyed
            if constraint.honors_taints:
                eligible = [
                    p for p in eligible if taints.untolerated(p.taints, pod.tolerations) is None
                ]
            made.append(self._watch(pod.meta.namespace, constraint, eligible))
        return tuple(made)

    def _watch(self, namespace: str, constraint: Spread, eligible: list[Place]) -> Watch:
        domains = {p.index: p.domains(constraint.key) for p in eligible}
        lasting = [domains[p.index] for p in eligible if not p.is_leaving]
        watch = Watch(
            constraint=constraint,
            namespace=namespace,
            domain_of={index: each[0] for index, each in domains.items() if len(each) == 1},
            sure=frozenset(each[0] for each in lasting if len(each) == 1),
            possible=frozenset(domain for each in lasting for domain in each),
        )
        for kind, at in self.everyone.there.items():
            if watch.means(kind):
                for index, number in at.items():
                    watch.note(kind, index, number)
        return watch
