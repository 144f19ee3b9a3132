"""Why a class of pods fits nowhere, NodePool by NodePool, in numbers.

The masks of `hosting` say which rule left nothing; here they are put into words that a person can act on. Nearest miss
first: what a limit or a sold-out pool withholds is nearer than what no NodePool allows at all, and of two NodePools
that lack something, the one that lacks less.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from daiku import reasons
from daiku.model import units
from daiku.reason import Reason
from daiku.report import Blocker
from daiku.scheduling import daemon_blockers, misses
from daiku.scheduling.columns import Ints, Mask
from daiku.scheduling.hosting import Hosting
from daiku.scheduling.problem import Problem, Template

_NEARNESS: Final = (
    reasons.MIN_VALUES_NOT_MET,
    reasons.LIMIT_EXCEEDED,
    reasons.NO_OFFERING,
    reasons.INSUFFICIENT_RESOURCES,
    reasons.DAEMON_SET_DOES_NOT_FIT,
    reasons.REQUIREMENTS_NOT_MET,
    reasons.TAINT_NOT_TOLERATED,
    reasons.NODE_POOL_NOT_READY,
    reasons.NO_NODE_POOL,
)


def of_class(
    problem: Problem, class_index: int, planned: Mapping[str, Ints] | None = None
) -> tuple[Blocker, ...]:
    """What keeps the class from each NodePool, nearest miss first.

    Args:
        problem: What was asked.
        class_index: The class.
        planned: By NodePool, what the nodes of the plan take from its limits, shape (L,).
    """
    blocked = problem.counted[class_index].pod_class.blocked
    if blocked is not None:
        reason, asked, offered = blocked
        return (Blocker(nodepool="", reason=reason, asked=asked, offered=offered),)
    # What keeps it from a NodePool's reserved machines is said only where there are no others.
    of_pool = {template.pool.meta.name: template for template in problem.templates}
    found = [
        _of_template(problem, template, class_index, (planned or {}).get(pool))
        for pool, template in of_pool.items()
    ]
    found += [
        (0.0, _blocker(pool, reasons.NODE_POOL_NOT_READY, why))
        for pool, (_, why) in problem.unusable.items()
    ]
    if not found:
        found.append((0.0, _blocker("", reasons.NO_NODE_POOL, reasons.means(reasons.NO_NODE_POOL))))
    found.sort(key=lambda f: (_NEARNESS.index(f[1].reason), f[0], f[1].nodepool))
    return tuple(blocker for _, blocker in found)


def _of_template(
    problem: Problem, template: Template, class_index: int, planned: Ints | None
) -> tuple[float, Blocker]:
    """How far the class is from the NodePool, and what is in the way."""
    hosting = template.hostings[class_index]
    pod_class = problem.counted[class_index].pod_class
    pool = template.pool.meta.name
    if hosting.refused.startswith("taint "):
        return 1.0, _blocker(
            pool, reasons.TAINT_NOT_TOLERATED, f"does not tolerate {hosting.refused}"
        )
    if hosting.refused or not hosting.compatible.any():
        miss = misses.nearest(pod_class.alternatives, template.requirements, template.types)
        if miss is None or template.requirements.is_empty:
            return 0.0, _blocker(pool, reasons.REQUIREMENTS_NOT_MET, hosting.refused)
        return miss.count, _blocker(pool, reasons.REQUIREMENTS_NOT_MET, miss.offered, miss.asked)
    would_do = hosting.compatible & hosting.fits
    if not would_do.any():
        barred = daemon_blockers.keep_away(problem, template, class_index)
        if barred.any():
            return 1.0, daemon_blockers.of_types(problem, template, barred)
        return _lacking(problem, template, class_index)
    if not hosting.types.any():
        return 1.0, _sold_out(problem, template, class_index)
    return 1.0, _limited(template, class_index, planned)


def _sold_out(problem: Problem, template: Template, class_index: int) -> Blocker:
    hosting = template.hostings[class_index]
    would_do = np.flatnonzero(hosting.compatible & hosting.fits)
    first = template.types.types[int(would_do[0])].name
    others = f" and {would_do.size - 1} others" if would_do.size > 1 else ""
    asked = " or ".join(str(a) for a in problem.counted[class_index].pod_class.alternatives)
    gone = _in_words(offerings_gone(template, hosting))
    why = f"sold out: {gone}" if gone else "none of them is offered like that"
    return _blocker(
        template.pool.meta.name,
        reasons.NO_OFFERING,
        f"{first}{others} would do; {why}",
        asked or "any zone and capacity type",
    )


def offerings_gone(
    template: Template, hosting: Hosting, types: Mask | None = None
) -> dict[str, list[str]]:
    """Capacity types with the zones in which types would do that cannot be had there now.

    Args:
        template: The NodePool.
        hosting: How it could host a class.
        types: Only these, shape (T,).
    """
    would_do = hosting.compatible & hosting.fits & (True if types is None else types)
    there = {id(offering) for offering in template.types.offerings}
    found: dict[str, dict[str, None]] = {}
    for index in map(int, np.flatnonzero(would_do)):
        for offering in template.types.types[index].offerings:
            if id(offering) in there or hosting.requirements.intersects(offering.requirements):
                continue
            found.setdefault(offering.capacity_type, {})[offering.zone] = None
    return {kind: sorted(found[kind]) for kind in sorted(found)}


def _in_words(gone: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{kind} in {', '.join(zones)}" for kind, zones in gone.items())


def _lacking(problem: Problem, template: Template, class_index: int) -> tuple[float, Blocker]:
    """The resource that is short by the largest factor, and the type that has most of it."""
    requests = problem.requests[:, class_index]
    allowed = template.hostings[class_index].compatible
    holding = allowed & (template.allocatable >= 0).all(axis=0)
    compatible = np.flatnonzero(holding if holding.any() else allowed)
    offers = template.allocatable[:, compatible]
    most_of = offers.max(axis=1)
    times = [
        (requests[row] / most_of[row] if most_of[row] > 0 else np.inf, row)
        for row in np.flatnonzero(requests)
    ]
    factor, row = max(times)
    together = factor <= 1
    if together:
        # Each resource alone is to be had, but no type has all of them: show the type that comes closest.
        ratios = requests[:, None] / np.maximum(offers, 1)
        closest = int(np.argmin(ratios.max(axis=0)))
        row = int(np.argmax(ratios[:, closest]))
        factor = float(ratios[row, closest])
    else:
        closest = int(np.argmax(offers[row]))
    resource = problem.resources[row]
    name = template.types.types[int(compatible[closest])].name
    overhead = int(template.overhead[row, compatible[closest]])
    kept = f" beside {units.format_quantity(resource, overhead)} of DaemonSets" if overhead else ""
    # Less than nothing is left where DaemonSets ask for more than there is.
    most = units.format_quantity(resource, max(int(offers[row, closest]), 0))
    if offers[row, closest] + overhead <= 0:
        offered = (
            _elsewhere(template, class_index, int(row), requests) or "no instance type has any"
        )
    elif together:
        offered = f"{name}, which comes closest, has {most}{kept}"
    else:
        offered = f"the most on one node is {most}{kept} ({name})"
    asked = " ".join((resource, units.format_quantity(resource, int(requests[row]))))
    if together:
        asked = ", ".join(_amounts(problem, class_index))
        offered = f"{offered} of {resource}"
    pool = template.pool.meta.name
    return factor, _blocker(pool, reasons.INSUFFICIENT_RESOURCES, offered, asked)


def _amounts(problem: Problem, class_index: int) -> Iterator[str]:
    for row, amount in enumerate(problem.requests[:, class_index].tolist()):
        if amount:
            resource = problem.resources[row]
            yield f"{resource} {units.format_quantity(resource, amount)}"


def _elsewhere(template: Template, class_index: int, row: int, requests: Ints) -> str:
    """A type that has what is asked, and the label by which it is ruled out; empty when there is none."""
    has = np.flatnonzero(template.allocatable[row] >= requests[row])
    if not has.size:
        return ""
    found = template.types.types[int(has[0])]
    for asked, owner in (
        (template.requirements, "the NodePool allows"),
        (template.hostings[class_index].requirements, "the pods ask for"),
    ):
        key = next((r.key for r in found.requirements if not asked.get(r.key).intersects(r)), "")
        if key:
            values = ", ".join(found.requirements.get(key).sorted_values())
            condition = str(asked.get(key)).removeprefix(f"{key} ")
            return (
                f"no instance type that {owner} has any; {found.name} has, and its {key} is {values}, "
                f"not {condition}"
            )
    return ""


def _limited(template: Template, class_index: int, planned: Ints | None) -> Blocker:
    """Types would do, but the limits are used up, or too few types are left for `minValues`."""
    pool = template.pool.meta.name
    hosting = template.hostings[class_index]
    would_do = np.flatnonzero(hosting.types)
    limits = template.pool.limits or {}
    taken = np.zeros(len(template.limited), dtype=np.int64) if planned is None else planned
    for row, resource in enumerate(template.limited):
        if resource not in limits:
            continue
        smallest = int(would_do[np.argmin(template.capacity[row, would_do])])
        needed, before = int(template.capacity[row, smallest]), max(int(template.left[row]), 0)
        left = max(before - int(taken[row]), 0)
        if needed > left:
            limit, rest, made = (
                units.format_quantity(resource, amount)
                for amount in (limits[resource], left, int(taken[row]))
            )
            offered = f"{rest} of the limit of {limit} is left"
            offered += f" beside the nodes of this plan, which take {made}" if taken[row] else ""
            smaller = ~hosting.types & (template.capacity[row] <= left)
            gone = _in_words(offerings_gone(template, hosting, smaller))
            offered += f"; smaller types are sold out: {gone}" if gone else ""
            name = template.types.types[smallest].name
            asked = (
                f"a node of at least {resource} {units.format_quantity(resource, needed)} ({name})"
            )
            return _blocker(pool, reasons.LIMIT_EXCEEDED, offered, asked)
    if any(r.min_values is not None for r in template.requirements):
        asked = f"as many values as minValues says of {template.requirements}"
        return _blocker(
            pool, reasons.MIN_VALUES_NOT_MET, f"{would_do.size} instance types would do", asked
        )
    if template.limited:
        left = zip(template.limited, template.left.tolist(), strict=True)
        amounts = ", ".join(f"{name} {units.format_quantity(name, most)}" for name, most in left)
        offered = f"this plan takes what its limits leave: {amounts}"
        return _blocker(pool, reasons.LIMIT_EXCEEDED, offered, "one more node")
    offered = f"{would_do.size} instance types hold one such pod, and none all that need a place"
    return _blocker(pool, reasons.INSUFFICIENT_RESOURCES, offered)


def _blocker(pool: str, reason: Reason, offered: str, asked: str = "") -> Blocker:
    return Blocker(nodepool=pool, reason=reason, asked=asked, offered=offered)
