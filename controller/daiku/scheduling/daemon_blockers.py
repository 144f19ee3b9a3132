"""Which DaemonSets keep every pod from a NodePool, because no node could hold them, in numbers.

A node carries each DaemonSet's pod that its labels and taints let in. Where an instance type does not have what these
ask for, a NodeClaim for it could never be launched; so no pod goes there, whatever it asks for itself.

Source: Karpenter adds the requests of compatible DaemonSets to those of the pods before it looks at instance types.
"""

from typing import Final

import numpy as np

from daiku import reasons
from daiku.model import units
from daiku.report import Blocker
from daiku.scheduling import columns, hosting
from daiku.scheduling.columns import Mask
from daiku.scheduling.problem import Problem, Template

_SHOWN: Final = 3
"""DaemonSets that are named; the others are counted."""


def keep_away(problem: Problem, template: Template, class_index: int) -> Mask:
    """Types that would hold a pod of the class, but not their DaemonSets, shape (T,).

    None if another type would hold the pod and its DaemonSets, each by themselves: then they ask for too much together.
    """
    asked = problem.requests[:, class_index]
    there = template.allocatable + template.overhead
    holding = template.hostings[class_index].compatible & (columns.copies(there, asked) > 0)
    barred = (template.allocatable < 0).any(axis=0)
    return holding & barred & (not (holding & ~barred).any())


def of_types(problem: Problem, template: Template, types: Mask) -> Blocker:
    """What the DaemonSets ask for that the type which comes closest does not have.

    Args:
        problem: What was asked.
        template: The NodePool.
        types: Types that would do but for their DaemonSets, shape (T,); at least one.
    """
    found = np.flatnonzero(types)
    overhead = template.overhead[:, found]
    there = template.allocatable[:, found] + overhead
    lacking = overhead > there
    short = np.where(lacking, overhead / np.maximum(there, 1), 0.0)
    closest = int(np.lexsort((short.max(axis=0), lacking.sum(axis=0)))[0])
    name = template.types.types[int(found[closest])].name
    told: list[str] = []
    for row in np.flatnonzero(lacking[:, closest]).tolist():
        resource = problem.resources[row]
        amounts = units.format_quantity(resource, int(overhead[row, closest]))
        if there[row].max() <= 0:
            has = "no instance type that would do has any"
        else:
            most = units.format_quantity(resource, int(there[row, closest]))
            has = f"{name}, which comes closest, has {most}"
        owners = _asking(problem, template, row, int(found[closest]))
        asks = "asks" if len(owners) == 1 else "together ask"
        sets = "DaemonSet" if len(owners) == 1 else "DaemonSets"
        listed = units.listed(owners, _SHOWN)
        told.append(f"{sets} {listed} {asks} for {resource} {amounts} on each node; {has}")
    return Blocker(
        nodepool=template.pool.meta.name,
        reason=reasons.DAEMON_SET_DOES_NOT_FIT,
        asked="",
        offered="; ".join(told),
    )


def _asking(problem: Problem, template: Template, row: int, type_index: int) -> list[str]:
    """DaemonSets on nodes of the type that ask for a resource, by namespace/name, in order."""
    resource = problem.resources[row]
    return sorted(
        key
        for key, daemon in problem.daemons
        if daemon.amount(resource)
        and hosting.daemon_types(
            daemon, template.requirements, template.pool.template.taints, template.types
        )[type_index]
    )
