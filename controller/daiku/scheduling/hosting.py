"""Which instance types can host a class of pods, and which existing nodes can.

Label questions are asked once per class and NodePool, or class and node, and kept as masks; from then on only
numbers and masks are looked at. The masks stay apart, so that "why not" can be answered from them later.

Letters in shapes: R resources, T instance types, C classes, N nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from daiku.model import taints
from daiku.model.requirements import NO_REQUIREMENTS, Requirement, Requirements
from daiku.model.taints import Taint
from daiku.scheduling import columns
from daiku.scheduling.catalogue import Types
from daiku.scheduling.classes import PodClass
from daiku.scheduling.columns import Floats, Ints, Labels, Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hosting:
    """How one NodePool could host one class: each mask has shape (T,)."""

    requirements: Requirements
    """The NodePool's and the pods' together: what a node for them has to be."""
    refused: str
    """Why labels or taints of the NodePool already rule it out; empty when they do not."""
    compatible: Mask
    """Its labels meet the requirements."""
    fits: Mask
    """It holds one such pod beside its DaemonSets."""
    prices: Floats
    """USD per hour of the cheapest offering that meets the requirements, infinity when there is none."""
    types: Mask
    """Types that pass every test."""

    def at(self, requirements: Requirements, prices: Floats) -> "Hosting":
        """The same under further requirements, where types cost `prices`, shape (T,)."""
        types = self.compatible & self.fits & np.isfinite(prices)
        return replace(self, requirements=requirements, prices=prices, types=types)


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """One alternative of a class under a NodePool that is possible by its labels."""

    requirements: Requirements
    compatible: Mask
    prices: Floats
    sold: Mask
    """Compatible types that can be had, shape (T,)."""


def of_classes(
    classes: Sequence[PodClass],
    requests: Ints,
    *,
    template: Requirements,
    template_taints: Sequence[Taint],
    types: Types,
    allocatable: Ints,
    prices: Mapping[Requirements, Floats],
    barred: Mapping[int, Mask],
) -> tuple[Hosting, ...]:
    """How `types` under a NodePool's template could host each of `classes`.

    The first alternative that any type can host is taken, as the API's order suggests; if none can, the last one is
    shown. Classes that differ in nothing but amounts are looked at together.

    Args:
        classes: What the pods ask for.
        requests: Their amounts, shape (R, C).
        template: Requirements and labels of the NodePool.
        template_taints: Taints of the NodePool; startup taints go away by themselves.
        types: What its node class offers.
        allocatable: What each type has left for pods, shape (R, T).
        prices: A memo of `types.prices`, which looks up what it does not have.
        barred: Index of a class -> types on which DaemonSets hold host ports that it needs, shape (T,).
    """
    fits = _fits(allocatable, requests)
    for row, types_barred in barred.items():
        fits[row] &= ~types_barred
    alike: dict[object, list[int]] = {}
    for row, each in enumerate(classes):
        # By identity, which is quick: classes made of equal selectors share what was made of them.
        key = id(each.alternatives), each.tolerations, each.minds_preferences
        alike.setdefault(key, []).append(row)
    nothing = np.zeros(len(types.types), dtype=np.bool_)
    infinite = np.full(len(types.types), np.inf)
    hostings: dict[int, Hosting] = {}
    for rows in alike.values():
        found = _candidates(classes[rows[0]], template, template_taints, types, prices)
        refused = found if isinstance(found, str) else ""
        candidates = (
            [_Candidate(template, nothing, infinite, nothing)] if isinstance(found, str) else found
        )
        left = rows
        for candidate in candidates:
            hosting_types = fits[left] & candidate.sold
            hosted: list[bool] = np.any(hosting_types, axis=1).tolist()
            missed: list[int] = []
            for row, own, is_hosted in zip(left, hosting_types, hosted, strict=True):
                if not is_hosted:
                    missed.append(row)
                    if candidate is not candidates[-1]:
                        continue
                hostings[row] = Hosting(
                    requirements=candidate.requirements,
                    refused=refused,
                    compatible=candidate.compatible,
                    fits=fits[row],
                    prices=candidate.prices,
                    types=own,
                )
            left = missed
    return tuple(hostings[row] for row in range(len(classes)))


def _fits(allocatable: Ints, requests: Ints) -> Mask:
    """Which types hold one pod of which class, shape (C, T).

    A type that cannot even hold its DaemonSets (negative room) holds no pod, whatever the pod asks for: no launch would
    be given it. Source: Karpenter's resources.Fits.
    """
    fits = np.ones((requests.shape[1], allocatable.shape[1]), dtype=np.bool_)
    for room, asked in zip(allocatable, requests, strict=True):
        fits &= asked[:, None] <= room
    return fits


def _candidates(
    pod_class: PodClass,
    template: Requirements,
    template_taints: Sequence[Taint],
    types: Types,
    prices: Mapping[Requirements, Floats],
) -> list[_Candidate] | str:
    """The alternatives that labels and taints of the NodePool allow, in order; or why they allow none."""
    taint = keeps_away(template_taints, pod_class)
    if taint is not None:
        value = f"={taint.value}" if taint.value else ""
        return f"taint {taint.key}{value}:{taint.effect}"
    if template.is_empty:
        return "the NodePool's own requirements and labels contradict each other"
    refused = "node selector and affinity contradict each other"
    found: list[_Candidate] = []
    for alternative in pod_class.alternatives:
        problems = template.compatible(alternative, types.known)
        if problems:
            refused = "; ".join(problems)
            continue
        joint = template & alternative
        compatible = types.labels.meets(joint, only_known=True)
        own = prices[joint]
        found.append(_Candidate(joint, compatible, own, compatible & np.isfinite(own)))
    return found or refused


def keeps_away(marks: Sequence[Taint], pod_class: PodClass) -> Taint | None:
    """The first taint that keeps the class away, or None; those of effect PreferNoSchedule only if it minds them."""
    taint = taints.untolerated(marks, pod_class.tolerations)
    if taint is None and pod_class.minds_preferences:
        for mark in marks:
            if not taints.tolerates(pod_class.tolerations, mark):
                return mark
    return taint


def daemon_types(
    pod_class: PodClass, template: Requirements, taint: Sequence[Taint], types: Types
) -> Mask:
    """Instance types whose nodes would carry a DaemonSet's pod, shape (T,)."""
    runs = np.zeros(len(types.types), dtype=np.bool_)
    if taints.untolerated(taint, pod_class.tolerations) is None:
        for alternative in pod_class.alternatives:
            if not template.compatible(alternative, types.known):
                runs |= types.labels.meets(template & alternative, only_known=True)
    return runs


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What nodes are, as far as labels and taints of pods ask for it."""

    nodes: Sequence[Requirements]
    """Labels of each node; for one that is not launched yet, everything it may still become."""
    labels: Labels
    """Of those that are settled, shape (N,)."""
    unsettled: tuple[int, ...]
    """Nodes whose labels are not final: pods are let in only if they suit whatever becomes of it."""
    taints: tuple[tuple[Taint, ...], ...]
    """Every different set of taints."""
    taints_of: NDArray[np.intp]
    """Which of them each node has, shape (N,)."""


def ground(
    nodes: Sequence[Requirements], node_taints: Sequence[tuple[Taint, ...]], settled: Sequence[bool]
) -> Ground:
    """What `of_nodes` looks at.

    Args:
        nodes: Labels of each node.
        node_taints: Taints of each node.
        settled: Whether the node's labels are final.
    """
    kinds = {marks: i for i, marks in enumerate(dict.fromkeys(node_taints))}
    known = [n if done else NO_REQUIREMENTS for n, done in zip(nodes, settled, strict=True)]
    return Ground(
        nodes=nodes,
        labels=columns.stack(known),
        unsettled=tuple(position for position, done in enumerate(settled) if not done),
        taints=tuple(kinds),
        taints_of=np.array([kinds[marks] for marks in node_taints], dtype=np.intp),
    )


def of_nodes(classes: Sequence[PodClass], ground: Ground) -> Mask:
    """Which nodes' labels and taints let which class in, shape (C, N)."""
    masks = np.zeros((len(classes), len(ground.nodes)), dtype=np.bool_)
    for row, pod_class in enumerate(classes):
        for alternative in pod_class.alternatives:
            masks[row] |= ground.labels.meets(alternative)
        for position in ground.unsettled:
            node = ground.nodes[position]
            masks[row, position] = any(_covers(a, node) for a in pod_class.alternatives)
        if ground.taints:
            passed = [keeps_away(marks, pod_class) is None for marks in ground.taints]
            masks[row] &= np.array(passed, dtype=np.bool_)[ground.taints_of]
    return masks


def _covers(asked: Requirements, undecided: Requirements) -> bool:
    """Whether `asked` is met whatever `undecided` turns into."""
    return all(_within(undecided.by_key.get(r.key), r) for r in asked)


def _within(open_range: Requirement | None, asked: Requirement) -> bool:
    if open_range is None:
        return asked.absent
    both = open_range & asked
    mine = (
        open_range.complement,
        open_range.values,
        open_range.gte,
        open_range.lte,
        open_range.absent,
    )
    return mine == (both.complement, both.values, both.gte, both.lte, both.absent)
