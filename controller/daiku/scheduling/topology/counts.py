"""What the constraints between pods of one problem come to: counters, domains, and how high each count is now.

Counters of nodes (key hostname) and counters of other domains are numbered apart: the former are rows of arrays over
nodes, the latter are small mappings.

Letters in shapes: H counters of nodes, N existing nodes that take pods.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from daiku.model import labels, taints
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint
from daiku.model.topology import AffinityTerm, Spread
from daiku.scheduling import columns
from daiku.scheduling.classes import PodClass
from daiku.scheduling.columns import Ints, Mask
from daiku.scheduling.topology import cells
from daiku.scheduling.topology.bays import UNLIMITED, HostRules
from daiku.scheduling.topology.cells import Cell, Cells
from daiku.scheduling.topology.rules import Compiler, Counter, Filter, Rules
from daiku.state.derived import Changed, Derived
from daiku.state.statenode import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node with the pods on it."""

    labels: Requirements
    single_values: Mapping[str, str]
    """Of `labels`, those that are decided."""
    taints: tuple[Taint, ...]
    groups: Sequence[Group]
    """Pods that run or are expected there and do not want another place."""
    column: int
    """Its index among the nodes that take pods, -1 when it takes none."""
    is_leaving: bool
    """It is being deleted, so its domain may go with it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topology:
    """Constraints between pods, in indices."""

    counters: tuple[Counter, ...]
    rules: tuple[Rules, ...]
    """One per class, by index of `counters`."""
    host_rules: tuple[HostRules, ...]
    """One per class."""
    cells: Cells
    of_site: tuple[Cell, ...]
    """The cell of each existing node that takes pods, in their order."""
    on_nodes: Ints
    """How high the counters of nodes are, shape (H, N)."""
    in_domains: Mapping[int, Mapping[str, int]]
    """How high all other counters are, by value of their key."""
    existing: Mapping[int, frozenset[str]]
    """For each such counter, the domains in which there are nodes that count."""
    passing: Mapping[Filter, Mask]
    """For each filter, existing nodes that pass it, shape (N,)."""
    totals: Mapping[int, int]
    """Pods that each counter counts, wherever they are."""
    host_rows: Mapping[int, int]
    """Row of H of each counter of nodes."""
    survey: "Survey"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What the counts were made from, so that those of a few nodes can be taken off again."""

    sites: Sequence[Site]
    masks: Mapping[Filter, Mask]
    """For each filter, sites that pass it."""
    compiler: Compiler
    seen: frozenset[str]
    """Labels of pods that selectors look at."""
    domains: Mapping[int, Mapping[str, int]]
    """For each counter that is not of nodes, how many nodes each domain has that count."""


@dataclass(slots=True, eq=False)
class _Tally:
    counters: tuple[Counter, ...]
    rows: Mapping[int, int]
    on_nodes: Ints
    in_domains: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    totals: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counted:
    """Everything about counters that depends on nodes; see `Topology` and `Survey`."""

    sites: Sequence[Site]
    tally: _Tally
    masks: Mapping[Filter, Mask]
    passing: Mapping[Filter, Mask]
    of_site: tuple[Cell, ...]
    domains: Mapping[int, dict[str, int]]


def build(
    asked: Sequence[PodClass],
    sites: Sequence[Site],
    templates: Sequence[tuple[Cell, ...]],
    keys: tuple[str, ...],
    *,
    edited: Mapping[int, Site],
    seen: frozenset[str],
    names: tuple[str, ...],
    namespaces: Mapping[str, Mapping[str, str]],
    derived: Derived,
) -> Topology:
    """The constraints of classes `asked`, and what they count on `sites` now.

    Args:
        asked: Classes of the problem, in order.
        sites: All nodes, whether they take pods or not, with the pods that run there.
        templates: Cells of each NodePool.
        keys: What `keys_of` says.
        edited: Sites with other pods than those that run there, by position.
        seen: Labels of pods that selectors look at.
        names: Nodes that take pods, in order.
        namespaces: Labels of namespaces.
        derived: What is known of `sites` already.
    """
    compiler = Compiler(namespaces)
    owned = dict.fromkeys((*_owned_there(sites, seen, derived), *_owned(edited.values())))
    rules = compiler.compile(asked, owned)
    counters = tuple(compiler.counters)
    rows = _host_rows(counters)
    known = tuple((name, tuple(sorted(own.items()))) for name, own in sorted(namespaces.items()))

    def mend(before: _Counted, changed: Changed) -> _Counted | None:
        return _recounted(before, {p: sites[p] for p in changed}, compiler)

    counted = derived.once(
        ("counted", counters, keys, seen, known, names),
        lambda: _counted(counters, keys, sites, compiler),
        mend,
    )
    if edited:
        others = [edited.get(position, site) for position, site in enumerate(sites)]
        counted = _recounted(counted, edited, compiler) or _counted(
            counters, keys, others, compiler
        )
    # Classes of equal rules share them, and so what is made of them.
    distinct = {id(r): r for r in rules}
    of_nodes = {key: _host_rules(r, counters, rows) for key, r in distinct.items()}
    return Topology(
        counters=counters,
        rules=tuple(rules),
        host_rules=tuple(of_nodes[id(r)] for r in rules),
        cells=Cells(keys=keys, of_template=tuple(templates)),
        of_site=counted.of_site,
        on_nodes=counted.tally.on_nodes,
        in_domains=counted.tally.in_domains,
        existing={index: frozenset(nodes) for index, nodes in counted.domains.items()},
        passing=counted.passing,
        totals=counted.tally.totals,
        host_rows=rows,
        survey=Survey(
            sites=counted.sites,
            masks=counted.masks,
            compiler=compiler,
            seen=seen,
            domains=counted.domains,
        ),
    )


def _owned(sites: Iterable[Site]) -> tuple[AffinityTerm, ...]:
    """Anti-affinity terms of pods that run, each once."""
    every = (t for site in sites for group in site.groups for t in group.pod.pod_anti_affinity)
    return tuple(dict.fromkeys(every))


def _owned_there(
    sites: Sequence[Site], seen: frozenset[str], derived: Derived
) -> tuple[AffinityTerm, ...]:
    """What `_owned` says of `sites`, worked out when it has not been asked before."""

    def mend(known: tuple[AffinityTerm, ...], changed: Changed) -> tuple[AffinityTerm, ...] | None:
        for position, old in changed.items():
            before = [g.pod.pod_anti_affinity for g in old.groups(seen)]
            if before != [g.pod.pod_anti_affinity for g in sites[position].groups]:
                return None
        return known

    return derived.once(("owned", seen), lambda: _owned(sites), mend)


def _counted(
    counters: tuple[Counter, ...], keys: tuple[str, ...], sites: Sequence[Site], compiler: Compiler
) -> _Counted:
    """What `counters` count on all of `sites`."""
    rows = _host_rows(counters)
    open_sites = sorted((s for s in sites if s.column >= 0), key=lambda s: s.column)
    tally = _Tally(counters, rows, np.zeros((len(rows), len(open_sites)), dtype=np.int64))
    known = columns.stack([s.labels for s in sites])
    filters = dict.fromkeys(c.filter for c in counters if c.filter is not None)
    masks = {f: _passing(f, sites, known) for f in filters}
    for position, site in enumerate(sites):
        passed = {f for f, m in masks.items() if m[position]} if site.groups else set[Filter]()
        _count(tally, site, compiler, passed)
    of_column = [p for p, s in enumerate(sites) if s.column >= 0]
    of_column.sort(key=lambda p: sites[p].column)
    return _Counted(
        sites=sites,
        tally=tally,
        masks=masks,
        passing={f: m[of_column] for f, m in masks.items()},
        of_site=tuple(cells.of_labels(keys, s.single_values) for s in open_sites),
        domains=_domains(
            {index: c for index, c in enumerate(counters) if index not in rows},
            sites,
            masks,
            range(len(sites)),
        ),
    )


def _recounted(known: _Counted, changed: Mapping[int, Site], compiler: Compiler) -> _Counted | None:
    """What the same counters count once sites have other pods; None when more than that is new about one."""
    sites, tally = list(known.sites), known.tally
    tally = replace(
        tally,
        on_nodes=tally.on_nodes.copy(),
        in_domains={index: dict(own) for index, own in tally.in_domains.items()},
        totals=dict(tally.totals),
    )
    for position, site in changed.items():
        if replace(site, groups=()) != replace(sites[position], groups=()):
            return None
        passed = {f for f, m in known.masks.items() if m[position]}
        _count(tally, sites[position], compiler, passed, sign=-1)
        _count(tally, site, compiler, passed)
        sites[position] = site
    # What counts nothing is not there, as if it had never been.
    left = {i: {v: n for v, n in own.items() if n} for i, own in tally.in_domains.items()}
    tally.in_domains = {index: own for index, own in left.items() if own}
    tally.totals = {index: n for index, n in tally.totals.items() if n}
    return replace(known, sites=sites, tally=tally)


def without(topology: Topology, gone: Sequence[int]) -> Topology:
    """The same constraints, with what they count once some nodes and all pods on them are gone.

    Args:
        topology: The constraints and their counts.
        gone: Positions of the nodes among the sites; nodes that take pods keep their places in arrays of shape (N,).
    """
    survey = topology.survey
    less = _Tally(topology.counters, topology.host_rows, np.zeros_like(topology.on_nodes))
    for position in gone:
        passed = {f for f, m in survey.masks.items() if m[position]}
        _count(less, survey.sites[position], survey.compiler, passed)
    existing = dict(topology.existing)
    looked_at = {index: topology.counters[index] for index in survey.domains}
    for index, ended in _domains(looked_at, survey.sites, survey.masks, gone).items():
        nodes = survey.domains[index]
        existing[index] -= {value for value, count in ended.items() if count == nodes[value]}
    return replace(
        topology,
        on_nodes=topology.on_nodes - less.on_nodes,
        in_domains={
            index: {
                value: n - less.in_domains.get(index, {}).get(value, 0) for value, n in own.items()
            }
            for index, own in topology.in_domains.items()
        },
        existing=existing,
        totals={index: n - less.totals.get(index, 0) for index, n in topology.totals.items()},
    )


def keys_of(asked: Iterable[PodClass], bound: Iterable[Pod]) -> tuple[str, ...]:
    """Labels, hostname apart, whose values are domains of some constraint, in order."""
    found: dict[str, None] = {}
    for pod_class in asked:
        terms = (*(t for group in pod_class.near for t in group), *pod_class.apart)
        found |= dict.fromkeys(t.key for t in (*terms, *pod_class.shuns, *pod_class.spread))
    found |= dict.fromkeys(t.key for pod in bound for t in pod.pod_anti_affinity)
    return tuple(sorted(key for key in found if key != labels.HOSTNAME))


def _host_rows(counters: Sequence[Counter]) -> dict[int, int]:
    on_nodes = (index for index, c in enumerate(counters) if c.key == labels.HOSTNAME)
    return {index: row for row, index in enumerate(on_nodes)}


def _passing(kept: Filter, sites: Sequence[Site], known: columns.Labels) -> Mask:
    """Sites that count for a spread constraint."""
    passed = np.ones(len(sites), dtype=np.bool_)
    if kept.alternatives is not None:
        passed[:] = False
        for alternative in kept.alternatives:
            passed |= known.meets(alternative)
    for position, site in enumerate(sites):
        if passed[position] and kept.tolerations is not None:
            passed[position] = taints.untolerated(site.taints, kept.tolerations) is None
        if passed[position] and kept.keys:
            own = site.single_values
            passed[position] = all(k in own or k == labels.HOSTNAME for k in kept.keys)
    return passed


def _domains(
    counters: Mapping[int, Counter],
    sites: Sequence[Site],
    masks: Mapping[Filter, Mask],
    among: Sequence[int],
) -> dict[int, dict[str, int]]:
    """For each counter, domains of the sites at the positions `among` that count, and how many of these each has."""
    alike: dict[tuple[str, Filter | None], dict[str, int]] = {}
    found: dict[int, dict[str, int]] = {}
    for index, counter in counters.items():
        # Hundreds of counters differ only in the pods that they count.
        look = counter.key, counter.filter
        if look not in alike:
            passed = masks[counter.filter] if counter.filter is not None else None
            alike[look] = _nodes_by_domain(counter.key, sites, passed, among)
        found[index] = alike[look]
    return found


def _nodes_by_domain(
    key: str, sites: Sequence[Site], passed: Mask | None, among: Sequence[int]
) -> dict[str, int]:
    """Values of `key` at the positions `among`, as far as these pass, and how often each occurs."""
    found: dict[str, int] = {}
    for position in among:
        site = sites[position]
        value = site.single_values.get(key) if not site.is_leaving else None
        if value is not None and (passed is None or passed[position]):
            found[value] = found.get(value, 0) + 1
    return found


def _count(
    tally: _Tally, site: Site, compiler: Compiler, passed: set[Filter], sign: int = 1
) -> None:
    own = site.single_values
    for group in site.groups:
        pod, number = group.pod, sign * group.count
        for index in compiler.adds_of_pod(pod, (pod.meta.namespace, group.labels)):
            counter = tally.counters[index]
            if pod.meta.deleted is not None and not counter.counts_leaving:
                continue
            if counter.filter is not None and counter.filter not in passed:
                continue
            tally.totals[index] = tally.totals.get(index, 0) + number
            row = tally.rows.get(index)
            if row is not None:
                if site.column >= 0:
                    tally.on_nodes[row, site.column] += number
            elif counter.key in own:
                counts = tally.in_domains.setdefault(index, {})
                counts[own[counter.key]] = counts.get(own[counter.key], 0) + number


def _host_rules(rules: Rules, counters: Sequence[Counter], rows: Mapping[int, int]) -> HostRules:
    adds = [rows[index] for index in rules.adds if index in rows]
    at_most = tuple(
        (rows[r.counter], r.spread.max_skew, r.counts_itself)
        for r in rules.spread
        if r.counter in rows
    )
    zero = tuple(rows[index] for index in rules.apart if index in rows)
    most = min(
        [1 for row in zero if row in adds] + [m for _, m, itself in at_most if itself],
        default=UNLIMITED,
    )
    return HostRules(
        zero=zero,
        above_zero=tuple(rows[i] for r in rules.near for i in r.counters if i in rows),
        at_most=at_most,
        guarded=_guarded(rules, counters, rows),
        adds=np.array(adds, dtype=np.intp),
        most_on_new=most,
    )


def _guarded(
    rules: Rules, counters: Sequence[Counter], rows: Mapping[int, int]
) -> tuple[tuple[int, int, int], ...]:
    """Spread of others over pods of this class: where their pods are, it must not push the count over their skew."""
    found: list[tuple[int, int, int]] = []
    for index in rules.adds:
        selected = counters[index]
        if (
            selected.sort != "selected"
            or index not in rows
            or not isinstance(selected.what, Spread)
        ):
            continue
        for other, spreader in enumerate(counters):
            if (
                spreader.sort == "spreader"
                and isinstance(spreader.what, Spread)
                and spreader.namespace == selected.namespace
                and spreader.what.selector == selected.what.selector
            ):
                found.append((rows[other], rows[index], spreader.what.max_skew))
    return tuple(found)
