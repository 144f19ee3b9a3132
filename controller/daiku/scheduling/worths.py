"""What room on new nodes is worth, and what pods must cost at least, by the NodePools that can host them.

Letters in shapes: R resources, C classes, T instance types.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from daiku.scheduling import bound, reservations
from daiku.scheduling.bound import Bound
from daiku.scheduling.columns import Floats, Ints
from daiku.scheduling.problem import Problem, Template

_FEWEST_WORTH: Final = 0.02
"""Worth of a resource that does not bind, as a share of its price alone: every pod is worth something."""


def worth_of(problem: Problem, residual: Ints, templates: Sequence[int]) -> Bound:
    """The lower bound of all pods that `templates` can host, and from it what each resource is worth.

    Args:
        problem: What is to be solved.
        residual: Pods of each class that need new nodes, shape (C,).
        templates: NodePools that are equally welcome.
    """
    hostable = np.zeros(len(problem.counts), dtype=np.bool_)
    allocatable: list[Ints] = []
    prices: list[Floats] = []
    rows: list[int] = np.flatnonzero(residual).tolist()
    reserved = [index for index in templates if problem.templates[index].reservation]
    # Where there are few of the cheapest machines, the others say what room is worth.
    for index in [i for i in templates if i not in reserved] or templates:
        template = problem.templates[index]
        cheapest = np.full(len(template.types.types), np.inf)
        # Classes of one price list are looked at together.
        alike: dict[int, list[int]] = {}
        for row in rows:
            alike.setdefault(id(template.hostings[row].prices), []).append(row)
        for members in alike.values():
            types = np.array([template.hostings[row].types for row in members])
            hostable[members] |= types.any(axis=1)
            listed = template.hostings[members[0]].prices
            np.minimum(cheapest, np.where(types.any(axis=0), listed, np.inf), out=cheapest)
        allocatable.append(template.allocatable)
        prices.append(cheapest)
    if not hostable.any():
        return Bound(0.0, np.zeros(len(problem.resources)))
    demand = problem.requests @ np.where(hostable, residual, 0)
    least = bound.lower_bound(np.hstack(allocatable), np.hstack(prices), demand)
    every = np.hstack(prices)
    offers = np.maximum(np.hstack(allocatable)[:, np.isfinite(every)], 0)
    alone = every[np.isfinite(every)] / np.maximum(offers, 1)
    worth = np.where(offers.max(axis=1) > 0, alone.min(axis=1) * _FEWEST_WORTH, 0)
    saved = sum(_saved(problem.templates[index], least.worth) for index in reserved)
    return Bound(max(0.0, least.usd_per_hour - saved), np.maximum(least.worth, worth))


def _saved(template: Template, worth: Floats) -> float:
    """What the machines of a capacity reservation are worth at most beyond their price, in USD per hour."""
    row = template.limited.index(reservations.LIMIT + template.reservation)
    cheapest = np.full(len(template.types.types), np.inf)
    for hosting in template.hostings:
        np.minimum(cheapest, np.where(hosting.types, hosting.prices, np.inf), out=cheapest)
    sold = np.isfinite(cheapest)
    each = worth @ np.maximum(template.allocatable[:, sold], 0) - cheapest[sold]
    return float(max(each.max(initial=0.0), 0.0) * max(int(template.left[row]), 0))
