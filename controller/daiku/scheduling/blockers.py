"""Why a class of pods fits nowhere, NodePool by NodePool, in numbers.

The masks of `hosting` say which rule left nothing; here they are put into words that a person can act on. Nearest miss
first: what a limit or a sold-out pool withholds is nearer than what no NodePool allows at all, and of two NodePools
that lack something, the one that lacks less.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from daiku.model import units
from daiku.report import Blocker
from daiku.scheduling import misses
from daiku.scheduling.problem import Problem, Template

_NEARNESS: Final = (
    "MinValuesNotMet",
    "LimitExceeded",
    "NoOffering",
    "InsufficientResources",
    "RequirementsNotMet",
    "TaintNotTolerated",
    "NodePoolNotReady",
    "NoNodePool",
)


def of_class(problem: Problem, class_index: int) -> tuple[Blocker, ...]:
    """What keeps the class from each NodePool, nearest miss first."""
    blocked = problem.counted[class_index].pod_class.blocked
    if blocked is not None:
        reason, asked, offered = blocked
        return (Blocker(nodepool="", reason=reason, asked=asked, offered=offered),)
    # What keeps it from a NodePool's reserved machines is said only where there are no others.
    of_pool = {template.pool.meta.name: template for template in problem.templates}
    found = [_of_template(problem, template, class_index) for template in of_pool.values()]
    found += [
        (0.0, _blocker(pool, "NodePoolNotReady", why))
        for pool, (_, why) in problem.unusable.items()
    ]
    if not found:
        found.append((0.0, _blocker("", "NoNodePool", "there is no NodePool")))
    found.sort(key=lambda f: (_NEARNESS.index(f[1].reason), f[0], f[1].nodepool))
    return tuple(blocker for _, blocker in found)


def _of_template(problem: Problem, template: Template, class_index: int) -> tuple[float, Blocker]:
    """How far the class is from the NodePool, and what is in the way."""
    hosting = template.hostings[class_index]
    pod_class = problem.counted[class_index].pod_class
    pool = template.pool.meta.name
    if hosting.refused.startswith("taint "):
        return 1.0, _blocker(pool, "TaintNotTolerated", f"does not tolerate {hosting.refused}")
    if hosting.refused or not hosting.compatible.any():
        miss = misses.nearest(pod_class.alternatives, template.requirements, template.types)
        if miss is None or template.requirements.is_empty:
            return 0.0, _blocker(pool, "RequirementsNotMet", hosting.refused)
        return miss.count, _blocker(pool, "RequirementsNotMet", miss.offered, miss.asked)
    would_do = hosting.compatible & hosting.fits
    if not would_do.any():
        return _lacking(problem, template, class_index)
    if not hosting.types.any():
        return 1.0, _sold_out(problem, template, class_index)
    return 1.0, _limited(template, class_index)


def _sold_out(problem: Problem, template: Template, class_index: int) -> Blocker:
    hosting = template.hostings[class_index]
    would_do = np.flatnonzero(hosting.compatible & hosting.fits)
    first = template.types.types[int(would_do[0])].name
    others = f" and {would_do.size - 1} others" if would_do.size > 1 else ""
    asked = " or ".join(str(a) for a in problem.counted[class_index].pod_class.alternatives)
    offered = f"{first}{others} would do, and none of them can be had there now"
    return _blocker(
        template.pool.meta.name, "NoOffering", offered, asked or "any zone and capacity type"
    )


def _lacking(problem: Problem, template: Template, class_index: int) -> tuple[float, Blocker]:
    """The resource that is short by the largest factor, and the type that has most of it."""
    requests = problem.requests[:, class_index]
    compatible = np.flatnonzero(template.hostings[class_index].compatible)
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
    most = units.format_quantity(resource, int(offers[row, closest]))
    if offers[row, closest] <= 0 and not overhead:
        offered = "no instance type has any"
    elif together:
        offered = f"{name}, which comes closest, has {most}{kept}"
    else:
        offered = f"the most on one node is {most}{kept} ({name})"
    asked = " ".join((resource, units.format_quantity(resource, int(requests[row]))))
    if together:
        asked = ", ".join(_amounts(problem, class_index))
        offered = f"{offered} of {resource}"
    pool = template.pool.meta.name
    return factor, _blocker(pool, "InsufficientResources", offered, asked)


def _amounts(problem: Problem, class_index: int) -> Iterator[str]:
    for row, amount in enumerate(problem.requests[:, class_index].tolist()):
        if amount:
            resource = problem.resources[row]
            yield f"{resource} {units.format_quantity(resource, amount)}"


def _limited(template: Template, class_index: int) -> Blocker:
    """Types would do, but the limits are used up, or too few types are left for `minValues`."""
    pool = template.pool.meta.name
    would_do = np.flatnonzero(template.hostings[class_index].types)
    if not template.limited:
        asked = f"as many values as minValues says of {template.requirements}"
        return _blocker(pool, "MinValuesNotMet", f"{would_do.size} instance types would do", asked)
    limits = template.pool.limits or {}
    for row, resource in enumerate(template.limited):
        if resource not in limits:
            continue
        smallest = int(would_do[np.argmin(template.capacity[row, would_do])])
        needed, left = int(template.capacity[row, smallest]), max(int(template.left[row]), 0)
        if needed > left:
            name = template.types.types[smallest].name
            limit = units.format_quantity(resource, limits[resource])
            rest = units.format_quantity(resource, left)
            asked = (
                f"a node of at least {resource} {units.format_quantity(resource, needed)} ({name})"
            )
            return _blocker(pool, "LimitExceeded", f"{rest} of the limit of {limit} is left", asked)
    left_over = ", ".join(
        f"{resource} {units.format_quantity(resource, max(int(amount), 0))}"
        for resource, amount in zip(template.limited, template.left, strict=True)
    )
    offered = f"the nodes planned before it use the limits up; left before this plan: {left_over}"
    return _blocker(pool, "LimitExceeded", offered, "one more node")


def _blocker(pool: str, reason: str, offered: str, asked: str = "") -> Blocker:
    return Blocker(nodepool=pool, reason=reason, asked=asked, offered=offered)
