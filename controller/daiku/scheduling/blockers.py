"""Why a class of pods fits nowhere, NodePool by NodePool, in numbers.

The masks of `hosting` say which rule left nothing; here they are put into words that a person can act on. Nearest miss
first: what a limit or a sold-out pool withholds is nearer than what no NodePool allows at all.
"""

from typing import Final

import numpy as np

from daiku.model import units
from daiku.report import Blocker
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
    found = [_of_template(problem, template, class_index) for template in problem.templates]
    found += [
        Blocker(
            nodepool=pool, reason="NodePoolNotReady", asked="a NodePool that is ready", offered=why
        )
        for pool, (_, why) in problem.unusable.items()
    ]
    if not found:
        found.append(
            Blocker(nodepool="", reason="NoNodePool", asked="a NodePool", offered="none exists")
        )
    return tuple(sorted(found, key=lambda b: (_NEARNESS.index(b.reason), b.nodepool)))


def _of_template(problem: Problem, template: Template, class_index: int) -> Blocker:
    hosting = template.hostings[class_index]
    pod_class = problem.counted[class_index].pod_class
    pool = template.pool.meta.name
    asked = (
        " or ".join(str(a) for a in pod_class.alternatives) or "labels that contradict each other"
    )
    if hosting.refused:
        tainted = hosting.refused.startswith("taint ")
        return Blocker(
            nodepool=pool,
            reason="TaintNotTolerated" if tainted else "RequirementsNotMet",
            asked="a node without taints that it does not tolerate" if tainted else asked,
            offered=hosting.refused,
        )
    if not hosting.compatible.any():
        return Blocker(
            nodepool=pool,
            reason="RequirementsNotMet",
            asked=asked,
            offered="no instance type has these labels",
        )
    compatible_fits = hosting.compatible & hosting.fits
    if not compatible_fits.any():
        return _lacking(problem, template, class_index)
    if not hosting.types.any():
        return Blocker(
            nodepool=pool,
            reason="NoOffering",
            asked=asked or "any zone and capacity type",
            offered=f"{int(compatible_fits.sum())} instance types would do, none of them can be had now",
        )
    return _limited(template, class_index)


def _lacking(problem: Problem, template: Template, class_index: int) -> Blocker:
    """The resource that is short by the largest factor, and the type that has most of it."""
    requests = problem.requests[:, class_index]
    compatible = np.flatnonzero(template.hostings[class_index].compatible)
    offers = template.allocatable[:, compatible]
    times = [
        (requests[row] / max(int(offers[row].max()), 1), row) for row in np.flatnonzero(requests)
    ]
    factor, row = max(times)
    if factor <= 1:
        # Each resource alone is to be had, but no type has all of them: show the type that comes closest.
        closest = int(np.argmin((requests[:, None] / np.maximum(offers, 1)).max(axis=0)))
        row = int(np.argmax(requests / np.maximum(offers[:, closest], 1)))
    else:
        closest = int(np.argmax(offers[row]))
    resource = problem.resources[row]
    overhead = int(template.overhead[row, compatible[closest]])
    kept = f" after {units.format_quantity(resource, overhead)} of DaemonSets" if overhead else ""
    most = units.format_quantity(resource, int(offers[row, closest]))
    return Blocker(
        nodepool=template.pool.meta.name,
        reason="InsufficientResources",
        asked=f"{resource} {units.format_quantity(resource, int(requests[row]))}",
        offered=f"{resource} {most}{kept} ({template.types.types[int(compatible[closest])].name})",
    )


def _limited(template: Template, class_index: int) -> Blocker:
    """Types would do, but the limits are used up, or too few types are left for `minValues`."""
    types = template.hostings[class_index].types
    if template.limited:
        left = ", ".join(
            f"{resource} {units.format_quantity(resource, max(int(amount), 0))}"
            for resource, amount in zip(template.limited, template.left, strict=True)
        )
        return Blocker(
            nodepool=template.pool.meta.name,
            reason="LimitExceeded",
            asked="a node within the limits",
            offered=f"left before this plan: {left}",
        )
    return Blocker(
        nodepool=template.pool.meta.name,
        reason="MinValuesNotMet",
        asked=f"as many values as minValues says of {template.requirements}",
        offered=f"{int(types.sum())} instance types",
    )
