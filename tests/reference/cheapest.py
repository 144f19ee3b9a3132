"""The solver that tries everything: for a handful of pods, the least that new nodes can cost, or that there is no way.

It knows what `solver` knows, and of what pods ask of each other hard spread and required anti-affinity among their own
kind. Slower than anything, and easy to believe.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.reference import solver

from daiku.model import labels, resources, taints
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint
from daiku.state.snapshot import Snapshot


@dataclass
class Site:
    """A node that is there, or one that could be made."""

    labels: dict[str, str]
    taints: tuple[Taint, ...]
    free: Mapping[str, int]
    usd_per_hour: float = 0.0
    pods: list[Pod] = field(default_factory=list)
    """With those that run there."""
    placed: list[Pod] = field(default_factory=list)


def cheapest(pods: Sequence[Pod], snapshot: Snapshot, catalogue: Catalogue) -> float | None:
    """What the cheapest new nodes cost with which every pod has a place; None if there is no way. Tries them all.

    It knows hard spread and required anti-affinity of pods that select their own kind, and nothing else between pods.
    """
    sites = [
        Site(
            dict(s.labels),
            s.taints,
            solver.room(s, snapshot),
            pods=[p for p in s.pods if not p.is_daemon],
        )
        for s in snapshot.state_nodes
        if not s.is_deleting and s.node is not None
    ]
    kinds = [k for pool in snapshot.node_pools for k in _kinds(pool, snapshot, catalogue)]
    zones = {k.labels[labels.ZONE] for k in kinds for p in pods if _fits_site(p, k)}
    search = _Search(kinds, zones)
    search.place(list(pods), sites, 0.0)
    return search.best if search.best < float("inf") else None


def _kinds(pool: NodePool, snapshot: Snapshot, catalogue: Catalogue) -> list[Site]:
    found: list[Site] = []
    for instance_type in catalogue.instance_types.get(pool.template.node_class, ()):
        for offering in instance_type.offerings:
            becomes = solver.labels_of(pool, instance_type, offering.requirements)
            if offering.available and not becomes.is_empty:
                own = dict(becomes.single_values())
                made = Site(own, pool.template.taints, instance_type.allocatable)
                daemons = [d.template for d in snapshot.daemon_sets if _fits_site(d.template, made)]
                taken = resources.add(*(d.requests for d in daemons))
                made.free = resources.subtract(instance_type.allocatable, taken)
                made.usd_per_hour = offering.price_usd_per_hour
                found.append(made)
    return found


@dataclass
class _Search:
    """The cheapest plan found so far."""

    kinds: list[Site]
    """What could be made."""
    zones: set[str]
    """In which some pod could have a new node."""
    best: float = float("inf")

    def place(self, left: list[Pod], sites: list[Site], cost: float) -> None:
        """Put the first pod wherever it can be, then the others."""
        if cost >= self.best:
            return
        if not left:
            if all(_is_even(pod, at, sites, self.zones) for at in sites for pod in at.placed):
                self.best = cost
            return
        pod, *others = left
        for site in sites:
            if _fits_site(pod, site) and not _is_refused(pod, site, sites):
                _with(pod, site, lambda: self.place(others, sites, cost))
        for kind in self.kinds:
            name = {labels.HOSTNAME: f"new-{len(sites)}"}
            new = Site({**kind.labels, **name}, kind.taints, kind.free, kind.usd_per_hour)
            more = [*sites, new]
            if _fits_site(pod, new) and not _is_refused(pod, new, more):
                after = cost + new.usd_per_hour
                _with(pod, new, lambda m=more, c=after: self.place(others, m, c))


def _with(pod: Pod, site: Site, follow: Callable[[], None]) -> None:
    before = site.free
    site.free = resources.subtract(before, pod.requests)
    site.pods.append(pod)
    site.placed.append(pod)
    follow()
    site.placed.pop()
    site.pods.pop()
    site.free = before


def _fits_site(pod: Pod, site: Site) -> bool:
    return (
        taints.untolerated(site.taints, pod.tolerations) is None
        and solver.wants(pod, Requirements.from_labels(site.labels))
        and resources.fits(pod.requests, site.free)
    )


def _is_refused(pod: Pod, site: Site, sites: list[Site]) -> bool:
    return any(
        term.key in site.labels
        and site.labels[term.key] == other.labels.get(term.key)
        and _means(term.selector, company if owner is pod else pod)
        for other in sites
        for company in other.pods
        for owner in (pod, company)
        for term in owner.pod_anti_affinity
    )


def _is_even(pod: Pod, site: Site, sites: list[Site], zones: set[str]) -> bool:
    """Whether the last of its kind could come to where it is, when all others are there."""
    for spread in pod.spread:
        counts: dict[str, int] = {}
        for other in sites:
            if spread.key in other.labels and solver.wants(
                pod, Requirements.from_labels(other.labels)
            ):
                alike = sum(_means(spread.selector, p) for p in other.pods)
                domain = other.labels[spread.key]
                counts[domain] = counts.get(domain, 0) + alike
        if spread.key == labels.ZONE:
            wanted = pod.node_selector.get(labels.ZONE)
            counts = dict.fromkeys((z for z in zones if wanted in {None, z}), 0) | counts
        domain = site.labels.get(spread.key, "")
        if domain not in counts or counts[domain] - min(counts.values()) > spread.max_skew:
            return False
    return True


def _means(selector: Requirements | None, pod: Pod) -> bool:
    return selector is not None and not Requirements.from_labels(pod.meta.labels).compatible(
        selector
    )
